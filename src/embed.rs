//! Vectors of texts, for `loopwright.embeddings.embed`.

use pyo3::prelude::*;

use super::{bridge::Endpoint, convert, errors, runtime};
use loopwright_base::error::Result as CoreResult;
use loopwright_drive::{
    embed::{EmbedOptions, Embedded, embed},
    http::Client,
};

/// What a call for vectors needs, taken from Python before anything is sent.
pub(super) struct EmbedCall {
    client: Client,
    endpoint: Endpoint,
    keyed: std::sync::Arc<loopwright_drive::endpoint::Endpoint>,
    texts: Vec<String>,
    options: EmbedOptions,
}

impl EmbedCall {
    pub(super) fn new(
        py: Python<'_>,
        endpoint: &Endpoint,
        texts: Vec<String>,
        options: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let options: EmbedOptions = convert::parse(options, "options")?;
        let keyed = endpoint.keyed(py)?.map_err(|failure| errors::exception(&failure.to_error()))?;
        Ok(Self { client: runtime::client(py)?, endpoint: endpoint.clone(), keyed, texts, options })
    }

    pub(super) async fn run(self) -> CoreResult<Embedded> {
        let (timeouts, model) = (self.endpoint.timeouts(), self.endpoint.model_name());
        embed(&self.client, &self.keyed, model, timeouts, &self.texts, &self.options).await
    }
}

/// The vectors, and the tokens that were counted.
pub(super) fn embedded_object(py: Python<'_>, made: CoreResult<Embedded>) -> PyResult<Bound<'_, PyAny>> {
    let made = made.map_err(|error| errors::exception(&error))?;
    Ok((made.vectors, made.tokens).into_pyobject(py)?.into_any())
}

/// Makes vectors of texts. Blocks, with the interpreter free for others.
#[pyfunction]
pub(super) fn embed_texts<'py>(
    py: Python<'py>,
    endpoint: &Endpoint,
    texts: Vec<String>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let call = EmbedCall::new(py, endpoint, texts, options)?;
    let handle = runtime::handle(py)?;
    let made = py.detach(|| handle.block_on(call.run()));
    embedded_object(py, made)
}
