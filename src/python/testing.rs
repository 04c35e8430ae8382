//! The wire server for tests, and fetching of pages.

use pyo3::{prelude::*, types::PyBytes};

use super::{convert, errors, runtime};
use crate::drive::{
    fetch::{self, FetchOptions},
    wire_server::{Reply, Script, WireServer as Server},
};

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

/// A page: where it was at last, status, content type, body, and whether there was more. Blocks, with the
/// interpreter free for others.
#[pyfunction]
#[pyo3(signature = (url, *, timeout=20.0, max_bytes=2_097_152, allow_private=false))]
#[allow(clippy::type_complexity)]
pub(super) fn fetch_page<'py>(
    py: Python<'py>,
    url: &str,
    timeout: f64,
    max_bytes: usize,
    allow_private: bool,
) -> PyResult<(String, u16, Option<String>, Bound<'py, PyBytes>, bool)> {
    let options = FetchOptions { max_bytes, timeout, allow_private, ..FetchOptions::default() };
    let handle = runtime::handle(py)?;
    let client = runtime::client(py)?;
    let page = py
        .detach(|| handle.block_on(fetch::fetch_page(&client, url, &options)))
        .map_err(|error| errors::exception(&error))?;
    Ok((page.url, page.status, page.content_type, PyBytes::new(py, &page.body), page.truncated))
}
