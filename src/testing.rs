//! The wire server for tests.

use pyo3::prelude::*;

use super::convert;
use loopwright_drive::wire_server::{Reply, Script, WireServer as Server};

/// A server that speaks the protocols of the providers on a real socket.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct WireServer(Server);

#[pymethods]
impl WireServer {
    #[new]
    fn new(script: &Bound<'_, PyAny>) -> PyResult<Self> {
        let script: Script = convert::parse(script, "script")?;
        Ok(Self(Server::start(script)?))
    }

    /// `http://127.0.0.1:PORT`.
    #[getter]
    fn url(&self) -> String {
        self.0.url()
    }

    /// What was received: JSON text of a list of `method`, `path`, `headers` and `body`; keys are left out.
    fn requests(&self) -> String {
        serde_json::to_string(&self.0.requests()).unwrap_or_default()
    }

    /// Adds a reply.
    fn push(&self, reply: &Bound<'_, PyAny>) -> PyResult<()> {
        let reply: Reply = convert::parse(reply, "reply")?;
        self.0.push(reply);
        Ok(())
    }

    /// Replies that have not been given yet.
    #[getter]
    fn pending(&self) -> usize {
        self.0.pending()
    }

    /// Connections: open now, and opened in all.
    #[getter]
    fn connections(&self) -> (usize, usize) {
        let connections = self.0.connections();
        (connections.open, connections.total)
    }

    /// Stops it; connections are closed.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}
