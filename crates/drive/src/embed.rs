//! Vectors of texts, from a provider's interface for them: in as few requests as it takes, some of them at once, each
//! tried again as a model's is.

use std::ops::Range;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    endpoint::Endpoint,
    exchange::{MOST_BYTES, Outgoing, SentBody, unreadable},
    http::{Client, Timeouts},
};
use loopwright_base::error::{Error, Failure, FailureKind, Result};
use loopwright_machine::RetryPolicy;
use loopwright_models::embeddings::{EmbeddingForm, EmbeddingRules, embeddings_of, providers_with_embeddings};

/// Requests of one call that are in flight at once.
const AT_ONCE: usize = 4;

/// How texts are embedded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedOptions {
    /// The length of the vectors, where it can be chosen.
    pub dimensions: Option<u32>,
    /// Texts of one request, where that shall be fewer than the provider takes.
    pub batch: Option<usize>,
    /// Attempts at each request.
    pub retry: RetryPolicy,
    /// Members that are put over those of each body; over Gemini's, of each text.
    pub extra_body: Map<String, Value>,
}

/// Vectors of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// One vector for each text, in their order.
    pub vectors: Vec<Vec<f64>>,
    /// The tokens that the provider has counted.
    pub tokens: u64,
}

/// The vectors of `texts` by `model` at `endpoint`.
pub async fn embed(
    client: &Client,
    endpoint: &Endpoint,
    model: &str,
    timeouts: &Timeouts,
    texts: &[String],
    options: &EmbedOptions,
) -> Result<Embedded> {
    let asking = Asking { client, endpoint, model, timeouts, options, rules: rules(endpoint, texts, options)? };
    let parts = parts(texts, &asking.rules, options.batch);
    let calls: Vec<_> = parts.into_iter().map(|part| asking.part(part.start, texts.get(part).unwrap_or(&[]))).collect();
    let parts: Vec<Embedded> =
        stream::iter(calls).buffered(AT_ONCE).try_collect().await.map_err(|failure: Failure| failure.to_error())?;
    let mut all = Embedded { vectors: Vec::with_capacity(texts.len()), tokens: 0 };
    for mut part in parts {
        all.vectors.append(&mut part.vectors);
        all.tokens = all.tokens.saturating_add(part.tokens);
    }
    let length = all.vectors.first().map_or(1, Vec::len);
    if length == 0 || all.vectors.iter().any(|vector| vector.len() != length) {
        let message = format!("{model} at {} gave vectors of different lengths, or empty ones", endpoint.host);
        return Err(Failure::new(FailureKind::InvalidBody, message).to_error());
    }
    Ok(all)
}

/// The rules of the endpoint's interface for vectors, where what is asked for can be had.
fn rules(endpoint: &Endpoint, texts: &[String], options: &EmbedOptions) -> Result<EmbeddingRules> {
    let name = &endpoint.name;
    let Some(rules) = embeddings_of(name, endpoint.wire) else {
        let known: Vec<&str> = providers_with_embeddings().collect();
        let hint = format!(
            "{} have one; any other server with OpenAI's /embeddings is openai-chat:MODEL with base_url",
            known.join(", ")
        );
        return Err(Error::usage("no_embeddings", format!("{name} has no interface for embeddings")).hint(hint));
    };
    if options.dimensions.is_some() && rules.dimensions.is_none() {
        let message = format!("the length of vectors can't be chosen at {name}");
        return Err(Error::usage("invalid_option", message).hint("leave dimensions out"));
    }
    if let Some(place) = texts.iter().position(String::is_empty) {
        let message = format!("text number {place} (from 0) is empty, and no provider makes a vector of nothing");
        return Err(Error::usage("empty_text", message).hint("leave empty texts out"));
    }
    Ok(rules)
}

/// The texts of each request: not more of them, and not more tokens, than may go together. A token has a byte at least,
/// so that bytes count as tokens: no request is refused for a wrong guess.
fn parts(texts: &[String], rules: &EmbeddingRules, batch: Option<usize>) -> Vec<Range<usize>> {
    let most = batch.unwrap_or(usize::MAX).clamp(1, rules.texts.max(1));
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0_usize;
    for (place, text) in texts.iter().enumerate() {
        bytes = bytes.saturating_add(text.len());
        match parts.last_mut() {
            Some(part) if part.len() < most && bytes <= rules.tokens => part.end = place + 1,
            _ => {
                parts.push(place..place + 1);
                bytes = text.len();
            }
        }
    }
    parts
}

/// What all requests of a call have in common.
struct Asking<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    model: &'a str,
    timeouts: &'a Timeouts,
    options: &'a EmbedOptions,
    rules: EmbeddingRules,
}

impl Asking<'_> {
    /// The vectors of the texts of one request, the first of which has the number `place`.
    async fn part(&self, place: usize, texts: &[String]) -> Result<Embedded, Failure> {
        let url = self.endpoint.beside(self.rules.form.path()).ok_or_else(|| {
            let message = format!("the base URL of {} is no place for embeddings", self.endpoint.name);
            Failure::new(FailureKind::Usage, message).hint("give the address above /chat/completions")
        })?;
        let body = SentBody::from(self.body(texts).to_string());
        let out = Outgoing { demand: body.demand, ..Outgoing::post(url, body.bytes) };
        let mut attempt = 1;
        loop {
            let answer = self.client.exchange::<MOST_BYTES>(self.endpoint, &out, attempt, self.timeouts).await;
            let read = answer.and_then(|body| self.read(&body, texts.len()));
            let Err(failure) = read else { return read };
            let Some(seconds) = self.options.retry.delay(&failure, attempt, false, place as u64) else {
                return Err(failure);
            };
            tokio::time::sleep(std::time::Duration::from_secs_f64(seconds)).await;
            attempt += 1;
        }
    }

    fn body(&self, texts: &[String]) -> Value {
        let length = self.rules.dimensions.as_ref().zip(self.options.dimensions);
        let with_options = |mut body: Value| {
            if let Some(members) = body.as_object_mut() {
                if let Some((member, dimensions)) = length {
                    members.insert(member.clone(), dimensions.into());
                }
                members.extend(self.options.extra_body.clone());
            }
            body
        };
        match self.rules.form {
            EmbeddingForm::Openai => with_options(json!({"model": self.model, "input": texts})),
            EmbeddingForm::Gemini => {
                let name = format!("models/{}", self.model.strip_prefix("models/").unwrap_or(self.model));
                let one = |text| with_options(json!({"model": name, "content": {"parts": [{"text": text}]}}));
                json!({"requests": texts.iter().map(one).collect::<Vec<_>>()})
            }
        }
    }

    /// The vectors in an answer, in the order of their texts.
    fn read(&self, body: &[u8], texts: usize) -> Result<Embedded, Failure> {
        let wrong = |why: String| unreadable(self.endpoint, body, &why);
        let not = |error: serde_json::Error| wrong(format!("the answer holds no vectors ({error})"));
        let mut tokens = 0;
        let vectors: Vec<Vec<f64>> = match self.rules.form {
            EmbeddingForm::Openai => {
                let answer: OpenaiAnswer = serde_json::from_slice(body).map_err(not)?;
                tokens = counted(&answer.usage);
                let mut placed: Vec<(usize, Vec<f64>)> = answer
                    .data
                    .into_iter()
                    .enumerate()
                    .map(|(place, one)| (one.index.unwrap_or(place), one.embedding))
                    .collect();
                placed.sort_by_key(|(place, _)| *place);
                if placed.iter().enumerate().any(|(at, (place, _))| at != *place) {
                    return Err(wrong("the answer numbers its vectors wrongly".to_owned()));
                }
                placed.into_iter().map(|(_, vector)| vector).collect()
            }
            EmbeddingForm::Gemini => {
                let answer: GeminiAnswer = serde_json::from_slice(body).map_err(not)?;
                answer.embeddings.into_iter().map(|one| one.values).collect()
            }
        };
        if vectors.len() != texts {
            return Err(wrong(format!("the answer holds {} vectors for {texts} texts", vectors.len())));
        }
        Ok(Embedded { vectors, tokens })
    }
}

#[derive(Deserialize)]
struct OpenaiAnswer {
    data: Vec<OpenaiVector>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct OpenaiVector {
    index: Option<usize>,
    embedding: Vec<f64>,
}

/// The tokens of a usage: servers write numbers in several ways, and vectors are good whatever was counted.
fn counted(usage: &Value) -> u64 {
    let number = |name: &str| {
        let count = usage.get(name)?;
        count.as_f64().or_else(|| count.as_str()?.trim().parse().ok()).filter(|count| *count >= 0.0)
    };
    number("prompt_tokens").or_else(|| number("total_tokens")).unwrap_or_default() as u64
}

#[derive(Deserialize)]
struct GeminiAnswer {
    embeddings: Vec<GeminiVector>,
}

#[derive(Deserialize)]
struct GeminiVector {
    values: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::EndpointOptions;

    fn rules(texts: usize, tokens: usize) -> EmbeddingRules {
        EmbeddingRules { form: EmbeddingForm::Openai, texts, tokens, dimensions: None }
    }

    #[test]
    fn requests_hold_what_may_go_together() {
        let texts: Vec<String> = ["aaaa", "bb", "cccc", "dddddddddd", "e"].map(str::to_owned).into();
        assert_eq!(parts(&texts, &rules(2, 100), None), [0..2, 2..4, 4..5]);
        assert_eq!(parts(&texts, &rules(9, 6), None), [0..2, 2..3, 3..4, 4..5], "a long one goes alone");
        assert_eq!(parts(&texts, &rules(9, 100), Some(4)), [0..4, 4..5]);
        assert_eq!(parts(&texts, &rules(2, 100), Some(usize::MAX)).len(), 3, "never more than the provider takes");
        assert!(parts(&[], &rules(2, 100), None).is_empty());
    }

    #[test]
    fn addresses_stand_beside_those_of_models() {
        for (model, base, address) in [
            ("openai:m", None, "https://api.openai.com/v1/embeddings"),
            ("openai:m", Some("http://h:1/v1/chat/completions"), "http://h:1/v1/embeddings"),
            ("mistral:m", None, "https://api.mistral.ai/v1/embeddings"),
            ("ollama:m", None, "http://localhost:11434/v1/embeddings"),
            ("azure:m", Some("https://n.openai.azure.com"), "https://n.openai.azure.com/openai/v1/embeddings"),
            ("gemini:m", Some("http://h:1"), "http://h:1/v1beta/models/m:batchEmbedContents"),
        ] {
            let options = EndpointOptions { base_url: base.map(str::to_owned), ..EndpointOptions::default() };
            let key = |name: &str| name.contains("KEY").then(|| "k".repeat(9));
            let (endpoint, _) = Endpoint::resolve(model, &options, key).unwrap();
            let form = embeddings_of(&endpoint.name, endpoint.wire).unwrap().form;
            assert_eq!(endpoint.beside(form.path()).unwrap().as_str(), address, "{model}");
        }
    }
}
