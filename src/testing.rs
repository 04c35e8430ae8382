//! The wire server for tests.

use pyo3::prelude::*;

use super::convert;
use loopwright_drive::{
    http::Client,
    wire_server::{AnswerBefore, Reply, Script, WireServer as Server},
};

/// Forgets the failures and the limits of all servers of this machine.
#[pyfunction]
pub(super) fn forget_this_machine() {
    Client::forget_this_machine();
}

/// A server that speaks the protocols of the providers on a real socket.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct WireServer(Server);

#[pymethods]
impl WireServer {
    /// `before` is given the path and the body of each request, and may answer it with a status and JSON text.
    #[new]
    #[pyo3(signature = (script, before=None))]
    fn new(script: &Bound<'_, PyAny>, before: Option<Py<PyAny>>) -> PyResult<Self> {
        let script: Script = convert::parse(script, "script")?;
        let before = before.map(|before| -> AnswerBefore {
            Box::new(move |path, body| {
                Python::attach(|py| match before.call1(py, (path, body)).and_then(|answer| answer.extract(py)) {
                    Ok(answer) => answer,
                    Err(error) => {
                        error.write_unraisable(py, None);
                        None
                    }
                })
            })
        });
        Ok(Self(Server::start_with(script, before)?))
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

    /// The status and the body with which the script answers a request at `path`; nothing is sent.
    fn answer(&self, py: Python<'_>, path: &str, body: &str) -> (u16, String) {
        py.detach(|| self.0.answer(path, body))
    }

    /// Adds a reply.
    fn push(&self, reply: &Bound<'_, PyAny>) -> PyResult<()> {
        let reply: Reply = convert::parse(reply, "reply")?;
        self.0.push(reply);
        Ok(())
    }

    /// The conversations of the answers that are kept, by their ids: JSON text.
    fn stored(&self) -> String {
        self.0.stored()
    }

    /// Forgets an answer that was kept, or all.
    #[pyo3(signature = (id=None))]
    fn forget(&self, id: Option<&str>) {
        self.0.forget(id);
    }

    /// Replies that have not been given yet.
    #[getter]
    fn pending(&self) -> usize {
        self.0.pending()
    }

    /// Requests that were over a limit.
    #[getter]
    fn limited(&self) -> usize {
        self.0.limited()
    }

    /// Connections: open now, and opened in all.
    #[getter]
    fn connections(&self) -> (usize, usize) {
        let connections = self.0.connections();
        (connections.open, connections.total)
    }

    /// WebSocket connections: open now, and opened in all.
    #[getter]
    fn sockets(&self) -> (usize, usize) {
        let connections = self.0.connections();
        (connections.sockets, connections.total_sockets)
    }

    /// Bytes that were read, heads of requests and frames among them.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }

    /// Cuts each WebSocket that is open.
    fn cut_sockets(&self) {
        self.0.cut_sockets();
    }

    /// Stops it; connections are closed.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}

impl Drop for WireServer {
    fn drop(&mut self) {
        // Its thread may wait for the interpreter.
        Python::attach(|py| py.detach(|| self.0.stop()));
    }
}
