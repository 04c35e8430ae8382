//! Interfaces for batches of requests, by provider: the section `batches` of `providers.toml`.

use serde::Deserialize;

use super::provider::batch_tables;

/// The shape of a provider's interface for batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchForm {
    /// OpenAI's: a file of requests goes up, files of answers and of errors come back.
    Openai,
    /// Anthropic's: requests stand in the call itself, and answers at an address.
    Anthropic,
}

/// An interface for batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRules {
    /// Its shape.
    pub form: BatchForm,
    /// Requests of one batch at most.
    pub requests: usize,
    /// Bytes of one batch at most.
    pub bytes: usize,
}

/// The interface of a provider for batches; `None` if none is known.
pub fn batches_of(name: &str) -> Option<BatchRules> {
    batch_tables().get(name).copied()
}

/// The providers that have an interface for batches.
pub fn providers_with_batches() -> impl Iterator<Item = &'static str> {
    batch_tables().keys().map(String::as_str)
}
