//! Interfaces for vectors of texts, by provider: the section `embeddings` of `providers.toml`.

use serde::Deserialize;

use loopwright_base::message::Wire;

use super::provider::{embedding_tables, provider};

/// The shape of requests for vectors and of their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingForm {
    /// OpenAI's `/embeddings`, which most servers follow.
    #[default]
    Openai,
    /// Gemini's `batchEmbedContents`.
    Gemini,
}

impl EmbeddingForm {
    /// The end of the address, in place of that of the provider's own wire.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Openai => "/embeddings",
            Self::Gemini => ":batchEmbedContents",
        }
    }
}

/// An interface for vectors.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingRules {
    /// The shape of requests.
    #[serde(default)]
    pub form: EmbeddingForm,
    /// Texts of one request at most.
    pub texts: usize,
    /// Tokens of one request at most.
    #[serde(default = "unlimited")]
    pub tokens: usize,
    /// The member that says how long vectors shall be; `None` where that can't be chosen.
    pub dimensions: Option<String>,
}

const fn unlimited() -> usize {
    usize::MAX
}

/// The interface of a provider for vectors, whose models speak `wire`; `None` if it has none that is known. A provider
/// that a user defines has that of the servers whose wire it speaks.
pub fn embeddings_of(name: &str, wire: Wire) -> Option<EmbeddingRules> {
    let own = || EmbeddingRules {
        form: EmbeddingForm::Openai,
        texts: 128,
        tokens: unlimited(),
        dimensions: Some("dimensions".to_owned()),
    };
    let speaks = matches!(wire, Wire::OpenaiChat | Wire::OpenaiResponses);
    embedding_tables().get(name).cloned().or_else(|| (speaks && provider(name).is_none()).then(own))
}

/// The providers that have an interface for vectors.
pub fn providers_with_embeddings() -> impl Iterator<Item = &'static str> {
    embedding_tables().keys().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_is_of_a_provider_and_takes_something() {
        for (name, rules) in embedding_tables() {
            assert!(provider(name).is_some() && rules.texts > 0 && rules.tokens > 1_000, "{name}");
        }
        assert_eq!(embeddings_of("openai", Wire::OpenaiResponses).map(|rules| rules.texts), Some(2_048));
        assert_eq!(embeddings_of("mine", Wire::OpenaiChat).map(|rules| rules.form), Some(EmbeddingForm::Openai));
        for (name, wire) in [("anthropic", Wire::Anthropic), ("groq", Wire::OpenaiChat), ("mine", Wire::Bedrock)] {
            assert_eq!(embeddings_of(name, wire), None, "{name}");
        }
    }
}
