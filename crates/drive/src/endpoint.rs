//! Endpoints: from a model's name such as `anthropic:claude-sonnet-4-5` to an address, headers and a wire.
//!
//! All that can be wrong with a name, a key or an address is said here, before anything is sent. Keys are held in a
//! type that never prints itself.

use std::{
    borrow::Cow,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{
    Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};

use super::{
    batch::{BatchOptions, Batching},
    continued::{Continuation, ContinuedOver},
    credentials::{self, Credentials},
    own,
    pace::Limits,
    provider::{beside, streaming_url, url_of_host},
    route::{self, Route},
};
use loopwright_base::{
    error::{Error, Result},
    message::Wire,
    parameter::Parameter,
};
use loopwright_guard::sensitivity::{OwnSecrets, is_secret_variable, is_telling};
use loopwright_models::{
    own_profile::OwnProfile,
    profile::{AnswerForm, Profile},
    provider::{Provider, guess, nearest, provider, providers},
};

/// Text that must not be seen: a key. `Debug` prints `***`, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps `text` from being seen.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Options that a caller may set beside the model's name.
#[derive(Clone, Default)]
pub struct EndpointOptions {
    /// Another server than the provider's own: with or without a slash at the end, with or without `/v1`.
    pub base_url: Option<String>,
    /// The key, if it shall not come from the environment.
    pub api_key: Option<String>,
    /// Headers to add or to replace. Their values count as secrets.
    pub headers: Vec<(String, String)>,
    /// The key is given before each request ([`Endpoint::with_key`]).
    pub key_comes_later: bool,
    /// Profiles and providers that the caller defines.
    pub profile: Arc<OwnProfile>,
    /// Requests go in batches, in this way.
    pub batch: Option<BatchOptions>,
    /// The most that may be asked of the host with the key, by all runs of the process.
    pub limits: Limits,
    /// Requests go on from the answers that the provider has kept, and hold only what is new; in this way.
    pub continued: Option<ContinuedOver>,
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| (name, Hidden)).collect();
        f.debug_struct("EndpointOptions")
            .field("base_url", &self.base_url.as_deref().map(without_secrets))
            .field("api_key", &self.api_key.as_ref().map(|_| Hidden))
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

struct Hidden;

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The address of a model and the protocol to speak with it. Parsed once, used for every call.
#[derive(Clone)]
pub struct Endpoint {
    /// The protocol.
    pub wire: Wire,
    /// The provider's name, for messages.
    pub name: Arc<str>,
    /// The full address that requests go to, where no stream is asked for; `None` for the offline model.
    pub url: Option<Url>,
    /// `host:port`.
    pub host: Arc<str>,
    /// The key of the circuit breaker, `model at host:port`: one model of a gateway may be down while others answer.
    pub breaker: Arc<str>,
    /// The profile of the host and the model, from the tables of providers: which parameters and forms are taken.
    known: Arc<Profile>,
    /// Profiles and providers that the caller defines.
    own: Arc<OwnProfile>,
    /// Refusals by hosts that the profile does not know of: the breaker's key, the parameter, the form of an answer.
    /// All models of an endpoint share them, for as long as one of them lives.
    refused: Arc<Mutex<Vec<Refused>>>,
    /// The most that may be asked of the host with the key, where that is limited; it holds for as long as one of the
    /// endpoints that share it lives.
    pub(super) limits: Option<Arc<Limits>>,
    /// The way to the models of the provider; `None` for the offline model.
    route: Option<Arc<Route>>,
    /// The credentials that sign each request or give its token, where there is no key.
    pub(super) credentials: Option<Credentials>,
    /// Requests go in batches.
    pub(super) batching: Option<Batching>,
    /// The answers that requests go on from, if they do: those of the run that has set its own; and how.
    pub(super) continuation: Option<(Continuation, ContinuedOver)>,
    pub(crate) headers: HeaderMap,
    pub(crate) secrets: Vec<Secret>,
}

const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// Headers that carry keys.
pub(super) static KEY_HEADERS: [HeaderName; 4] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];
type Refused = (Arc<str>, Parameter, Option<AnswerForm>);

/// Refusals that are remembered at most.
const MOST_REFUSED: usize = 256;

/// Bytes at the beginning of a key that are treated as the key itself when a provider's words are scrubbed.
const SECRET_PREFIX: usize = 12;
/// Bytes of the shortest secret that a provider's words are scrubbed of.
const SHORTEST_SECRET: usize = 6;

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values are marked sensitive where they may be secret, and print as `Sensitive`.
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("url", &self.url.as_ref().map(|url| without_secrets(url.as_str())))
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// The key of the circuit breaker of a model at a host.
fn breaker_of(model: &str, host: &str) -> Arc<str> {
    format!("{model} at {host}").into()
}

impl Endpoint {
    /// The endpoint and the model's own name for `provider:model`, with what `env` gives for the usual variables.
    pub fn resolve(
        model: &str,
        options: &EndpointOptions,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<(Self, String)> {
        let (provider, model) = split(model, &options.profile)?;
        let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        if provider.wire == Wire::Offline {
            if model != "extractive" {
                return Err(Error::usage("unknown_model", format!("there is no offline model {model:?}"))
                    .hint("the offline model is offline:extractive"));
            }
            return Ok((Self::offline(), model.to_owned()));
        }
        let known = |name: &str| credentials::setting(provider.auth.source?, name, &env);
        let settings = route::settings(provider, env, known);
        let own = provider.base_variable.as_deref();
        let base = options
            .base_url
            .clone()
            .map(|text| ("base_url", text))
            .or_else(|| own.and_then(|name| env(name).map(|text| (name, text))));
        let (from, text) = match base {
            Some((name, text)) if provider.base_is_host && Some(name) == own => {
                (name, url_of_host(&text, &provider.base))
            }
            Some(base) => base,
            None => (provider.name.as_str(), route::usual_base(provider, &settings)?),
        };
        let route = Route::new(parse_base(from, &text)?, settings);
        let wire = provider.wire_at(route.host(), model);
        let takes = options.profile.takes(&provider.name);
        let profile = Arc::new(provider.profile_with(route.host(), model, &takes));
        if let Some(over) = options.continued {
            Continuation::check(&provider.name, wire, options.batch.is_some(), over)?;
        }
        let url = route.url(provider, model)?;
        let host = host_key(&url);

        let mut endpoint = Self {
            wire,
            name: provider.name.as_str().into(),
            url: None,
            breaker: breaker_of(model, &host),
            host,
            known: profile,
            own: options.profile.clone(),
            refused: Arc::default(),
            limits: (options.limits != Limits::default()).then(|| Arc::new(options.limits)),
            route: Some(Arc::new(route)),
            credentials: None,
            batching: options.batch.map(|options| Batching::of(&provider.name, options)).transpose()?,
            continuation: options.continued.map(|over| (Continuation::default(), over)),
            headers: HeaderMap::with_capacity(8),
            secrets: Vec::new(),
        };
        endpoint.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        endpoint.speak(wire);
        let own_auth = options
            .headers
            .iter()
            .any(|(name, _)| KEY_HEADERS.iter().any(|known| name.trim().eq_ignore_ascii_case(known.as_str())));
        let set = |variables: &[String]| {
            variables.iter().find_map(|variable| env(variable).map(|key| (variable.clone(), key)))
        };
        let given = options.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
        let token = set(&provider.auth.tokens).filter(|_| given.is_none());
        let key = given.map(|key| ("api_key".to_owned(), key.to_owned())).or_else(|| set(&provider.keys));
        match (token, key, provider.keys.first()) {
            (Some((from, token)), ..) => endpoint.set_key(&from, &token, None)?,
            (None, Some((from, key)), _) => endpoint.set_key(&from, &key, provider.auth.header.as_deref())?,
            (None, None, variable) if !own_auth && !options.key_comes_later => {
                let source = provider.auth.source;
                let region = endpoint.route.as_ref().and_then(|route| route.setting("region"));
                let find = |source| Credentials::find(source, &env, &provider.auth.service, region);
                let found = source.map(find).transpose()?.flatten();
                if let (None, Some(variable), false) = (&found, variable, is_loopback(&url)) {
                    let others = source.map(credentials::hint).unwrap_or_default();
                    let lacks = format!("{} needs a key: {variable} is not set", provider.name);
                    let hint = format!(
                        "export {variable}=..., {others}{}or give Model(..., api_key=...)",
                        if others.is_empty() { "" } else { ", " }
                    );
                    return Err(Error::usage("missing_key", lacks).hint(hint));
                }
                endpoint.credentials = found;
            }
            _ => {}
        }
        for (name, value) in &options.headers {
            endpoint.set_header(name, value)?;
        }
        endpoint.url = Some(url);
        own::keep(endpoint.own_keys());
        Ok((endpoint, model.to_owned()))
    }

    /// [`resolve`](Self::resolve) with the environment of the process.
    pub fn from_env(model: &str, options: &EndpointOptions) -> Result<(Self, String)> {
        Self::resolve(model, options, |name| std::env::var(name).ok())
    }

    /// Returns this endpoint for another model.
    #[must_use]
    pub fn for_model(&self, model: &str) -> Self {
        let mut other = Self { breaker: breaker_of(model, &self.host), ..self.clone() };
        if let (Some(provider), Some(route)) = (self.provider(), &self.route) {
            let takes = self.own.takes(&self.name);
            other.known = provider.profile_with(route.host(), model, &takes).into();
            other.url = route.url(provider, model).ok().or(other.url);
            other.speak(provider.wire_at(route.host(), model));
        }
        other
    }

    /// The provider, a user's own among them.
    fn provider(&self) -> Option<&Provider> {
        self.own.provider(&self.name).or_else(|| provider(&self.name))
    }

    /// Sets the wire, and the header that it wants.
    fn speak(&mut self, wire: Wire) {
        self.wire = wire;
        if wire == Wire::Anthropic && !self.headers.contains_key(ANTHROPIC_VERSION) {
            self.headers.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
        }
    }

    /// Whether the address names the model.
    pub(super) fn names_model(&self) -> bool {
        self.wire == Wire::Gemini || self.provider().is_some_and(|own| !own.paths("").is_empty())
    }

    /// The origin of answers of `model`, by which reasoning and the like find back: the host, and at a router the
    /// vendor.
    pub(super) fn origin(&self, model: &str) -> String {
        let vendor = model.split_once('/').filter(|_| provider(&self.name).is_some_and(|own| own.names_vendors));
        vendor.map_or_else(|| self.host.to_string(), |(vendor, _)| format!("{}/{vendor}", self.host))
    }

    /// The address of a request, which for a streamed answer may be another one.
    pub(super) fn address(&self, stream: bool) -> Option<Url> {
        let url = self.url.clone()?;
        Some(if stream { streaming_url(url, self.wire) } else { url })
    }

    /// Whether requests go in batches.
    pub const fn is_batched(&self) -> bool {
        self.batching.is_some()
    }

    /// The endpoint for one request, which bears this name in its batch, and went into the batch `known` before.
    #[must_use]
    pub fn with_ticket(&self, name: String, known: Option<String>) -> Self {
        let batching = self.batching.clone().map(|own| Batching { ticket: Some((name, known)), ..own });
        Self { batching, ..self.clone() }
    }

    /// Whether requests go on from answers that the provider has kept.
    pub const fn is_continued(&self) -> bool {
        self.continuation.is_some()
    }

    /// The endpoint whose requests go on from the answers of one run; `None` where they go on from none.
    #[must_use]
    pub fn within(&self, run: &Continuation) -> Option<Self> {
        self.continuation.as_ref().map(|(_, over)| Self { continuation: Some((run.clone(), *over)), ..self.clone() })
    }

    /// The address of another interface of the provider, whose end stands in place of that of its wire.
    pub(super) fn beside(&self, end: &str) -> Option<Url> {
        beside(self.url.clone()?, self.wire, end)
    }

    /// The endpoint of the offline model: nothing is ever sent.
    pub fn offline() -> Self {
        Self {
            wire: Wire::Offline,
            name: "offline".into(),
            url: None,
            host: "offline".into(),
            breaker: "offline".into(),
            refused: Arc::default(),
            limits: None,
            own: Arc::default(),
            route: None,
            credentials: None,
            batching: None,
            continuation: None,
            known: Arc::new(provider("offline").map(|own| own.profile_at("", "")).unwrap_or_default()),
            headers: HeaderMap::new(),
            secrets: Vec::new(),
        }
    }

    /// The profile of the host and the model, less the parameters and forms that the host has refused until now.
    pub fn profile(&self) -> Arc<Profile> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut profile = self.known.clone();
        for (_, parameter, form) in refused.iter().filter(|(whom, ..)| *whom == self.breaker) {
            Arc::make_mut(&mut profile).learn(*parameter, *form);
        }
        profile
    }

    /// Remembers that the host refuses a parameter, or a form of an answer.
    pub(super) fn remember_refusal(&self, parameter: Parameter, form: Option<AnswerForm>) {
        let refusal = (self.breaker.clone(), parameter, form);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_REFUSED && !refused.contains(&refusal) {
            refused.push(refusal);
        }
    }

    /// The headers that every request carries; secret values are marked as sensitive.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// `text` with every key of this endpoint replaced by `***`, in whatever form, also where only its beginning is
    /// left of it.
    pub fn scrub(&self, text: String) -> String {
        let secrets = self.all_secrets();
        // Shorter values stand in ordinary words, and are no keys.
        let keys = secrets.iter().map(Secret::reveal).filter(|key| key.len() >= SHORTEST_SECRET);
        match OwnSecrets::new(keys, SECRET_PREFIX).scrub(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    fn all_secrets(&self) -> Vec<Secret> {
        let given = self.credentials.as_ref().map(Credentials::secrets).unwrap_or_default();
        self.secrets.iter().cloned().chain(given).collect()
    }

    /// The keys of this endpoint that may be looked for in any text. Of headers those count whose name promises one:
    /// `x-proxy-token`, not `anthropic-beta`.
    pub fn own_keys(&self) -> Vec<Secret> {
        let named =
            self.headers.iter().filter(|(name, value)| value.is_sensitive() && is_secret_variable(name.as_str(), ""));
        let values: Vec<&str> = named.filter_map(|(_, value)| value.to_str().ok()).collect();
        let given = self.credentials.as_ref().map(Credentials::secrets).unwrap_or_default();
        let own = |secret: &Secret| values.iter().any(|value| value.contains(secret.reveal()));
        let keys = self.secrets.iter().filter(|secret| own(secret)).cloned().chain(given);
        keys.filter(|key| is_telling(key.reveal())).collect()
    }

    /// The endpoint with this key, in place of one that it has.
    pub fn with_key(&self, key: &str) -> Result<Self> {
        let mut keyed = self.clone();
        let header = self.provider().and_then(|own| own.auth.header.clone());
        keyed.set_key("api_key", key.trim(), header.as_deref())?;
        own::keep(keyed.own_keys());
        Ok(keyed)
    }

    /// Has requests carry a key, in the header of that name or as a bearer's.
    fn set_key(&mut self, from: &str, key: &str, header: Option<&str>) -> Result<()> {
        self.secrets.push(Secret::new(key));
        let bearer = header.is_none().then(|| format!("Bearer {key}"));
        let name = header.and_then(|name| HeaderName::try_from(name).ok()).unwrap_or(header::AUTHORIZATION);
        let value = secret_value(bearer.as_deref().unwrap_or(key)).ok_or_else(|| bad_key(from))?;
        self.headers.insert(name, value);
        Ok(())
    }

    fn set_header(&mut self, name: &str, value: &str) -> Result<()> {
        let key = HeaderName::try_from(name.trim()).map_err(|_| {
            Error::usage("invalid_header", format!("{name:?} is no name of a header"))
                .hint("use letters, digits and dashes")
        })?;
        let held = secret_value(value.trim()).ok_or_else(|| {
            Error::usage("invalid_header", format!("the value of the header {key} has bytes that no header may have"))
                .hint("look for line breaks and characters beyond ASCII")
        })?;
        // `Bearer` and its like stand before the secret, and in ordinary words.
        for part in value.split_whitespace().filter(|part| !["Bearer", "Basic"].contains(part)) {
            self.secrets.push(Secret::new(part));
        }
        self.headers.insert(key, held);
        Ok(())
    }
}

fn secret_value(text: &str) -> Option<HeaderValue> {
    // Visible ASCII alone: others pass the type but no server.
    let mut value = HeaderValue::from_str(text).ok().filter(|_| text.is_ascii())?;
    value.set_sensitive(true);
    Some(value)
}

fn bad_key(from: &str) -> Error {
    Error::usage("invalid_key", format!("the key from {from} has bytes that no header may have"))
        .hint("look for line breaks, quotes and spaces that were copied along")
}

fn split<'a>(model: &'a str, own: &'a OwnProfile) -> Result<(&'a Provider, &'a str)> {
    let text = model.trim();
    let Some((named, name)) = text.split_once(':') else {
        let guessed =
            guess(text).map_or_else(|| "anthropic:claude-sonnet-4-5".to_owned(), |name| format!("{name}:{text}"));
        // Some write the provider before a slash, as OpenRouter does the vendor.
        let example = match text.split_once('/').and_then(|(vendor, name)| Some((provider(vendor)?, name))) {
            Some((found, name)) => format!("{}:{name}, or {guessed}", found.name),
            None => guessed,
        };
        return Err(Error::usage("unknown_model", format!("{text:?} does not say which provider serves it"))
            .hint(format!("write provider:model, such as {example}")));
    };
    let named = named.trim();
    let found = own.provider(named).or_else(|| provider(named)).ok_or_else(|| unknown_provider(named, name, own))?;
    if name.trim().is_empty() {
        return Err(Error::usage("unknown_model", format!("{text:?} names no model"))
            .hint(format!("write {}:model", found.name)));
    }
    Ok((found, name.trim()))
}

/// The error about a provider that nobody knows: the nearest, all there are, and the way to any other server.
fn unknown_provider(named: &str, model: &str, own: &OwnProfile) -> Error {
    let mut known: Vec<&str> = own.names().chain(providers().iter().map(|known| known.name.as_str())).collect();
    known.dedup();
    let near = nearest(named, own.names());
    let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    let model = if model.trim().is_empty() { "model" } else { model.trim() };
    let elsewhere = format!(
        "any other server that speaks OpenAI's chat is openai-chat:{model} with base_url=\"http://HOST/v1\"; \
        its name can be defined in a file, Model({:?}, profile=\"hosts.toml\")",
        format!("{named}:{model}")
    );
    Error::usage("unknown_provider", format!("there is no provider {named:?}"))
        .hint(format!("{hint}known are {}; {elsewhere}", known.join(", ")))
}

fn parse_base(from: &str, text: &str) -> Result<Url> {
    let shown = without_secrets(text);
    let wrong = |why: &str| {
        Error::usage("invalid_url", format!("{from} {shown:?} {why}"))
            .hint("give http:// or https:// and a host, such as http://localhost:8000/v1")
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&format!("is no URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is neither http nor https"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::usage("invalid_url", format!("{from} {shown:?} holds a user name or a password"))
            .hint("send them in an authorization header instead"));
    }
    Ok(url)
}

/// A URL as it may be shown: without user, password, query and fragment.
pub(crate) fn without_secrets(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let text = &text[..end];
    match text.rfind('@') {
        Some(at) => {
            let scheme = text.find("://").map_or(0, |colon| colon + 3);
            format!("{}***{}", &text[..scheme.min(at)], &text[at..])
        }
        None => text.to_owned(),
    }
}

/// `host:port` of a URL.
pub(crate) fn host_key(url: &Url) -> Arc<str> {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default()).into()
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-very-secret-123";

    fn resolve(model: &str, base: Option<&str>, env: &[(&str, &str)]) -> Result<(Endpoint, String)> {
        let options = EndpointOptions { base_url: base.map(str::to_owned), ..EndpointOptions::default() };
        Endpoint::resolve(model, &options, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn url(model: &str, base: Option<&str>, env: &[(&str, &str)]) -> (String, Wire) {
        let (endpoint, _) = resolve(model, base, env).unwrap();
        (endpoint.url.as_ref().unwrap().to_string(), endpoint.wire)
    }

    #[test]
    fn own_keys_are_those_that_no_ordinary_text_holds() {
        let own = |options: EndpointOptions, env: &[(&str, &str)]| -> Vec<String> {
            let find = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            let (endpoint, _) = Endpoint::resolve("openai-chat:m", &options, find).unwrap();
            endpoint.own_keys().iter().map(|key| key.reveal().to_owned()).collect()
        };
        let with = |key: &str, headers: &[(&str, &str)]| EndpointOptions {
            base_url: Some("http://localhost:1".to_owned()),
            api_key: (!key.is_empty()).then(|| key.to_owned()),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..EndpointOptions::default()
        };
        assert_eq!(own(with(KEY, &[]), &[]), [KEY]);
        assert_eq!(own(with("", &[]), &[("OPENAI_API_KEY", KEY)]), [KEY]);
        assert_eq!(own(with("", &[("x-proxy-token", KEY)]), &[]), [KEY]);
        for word in ["ollama", "sk-no-key-required"] {
            assert!(own(with(word, &[("anthropic-beta", "context-1m-2025-08-07")]), &[]).is_empty(), "{word}");
        }
    }

    #[test]
    fn names_become_addresses() {
        let keys =
            [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY), ("OPENROUTER_API_KEY", KEY), ("GOOGLE_API_KEY", KEY)];
        for (model, address, wire) in [
            ("anthropic:m", "https://api.anthropic.com/v1/messages", Wire::Anthropic),
            ("openai:m", "https://api.openai.com/v1/responses", Wire::OpenaiResponses),
            ("openai-chat:m", "https://api.openai.com/v1/chat/completions", Wire::OpenaiChat),
            ("openai-responses:m", "https://api.openai.com/v1/responses", Wire::OpenaiResponses),
            (
                "gemini:gemini-2.5-flash",
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
                Wire::Gemini,
            ),
            ("openrouter:a/b:free", "https://openrouter.ai/api/v1/chat/completions", Wire::OpenaiChat),
            ("ollama:llama3:8b", "http://localhost:11434/v1/chat/completions", Wire::OpenaiChat),
            ("vllm:m", "http://localhost:8000/v1/chat/completions", Wire::OpenaiChat),
            ("llamacpp:m", "http://localhost:8080/v1/chat/completions", Wire::OpenaiChat),
        ] {
            assert_eq!(url(model, None, &keys), (address.to_owned(), wire), "{model}");
        }
        assert_eq!(resolve("ollama:llama3:8b", None, &[]).unwrap().1, "llama3:8b");
        let (offline, model) = resolve("offline:extractive", None, &[]).unwrap();
        assert_eq!((offline.wire, offline.url, model.as_str()), (Wire::Offline, None, "extractive"));
    }

    #[test]
    fn base_urls_come_in_every_form() {
        let keys = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
        for base in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", " http://h:1/v1 "] {
            assert_eq!(url("anthropic:m", Some(base), &keys).0, "http://h:1/v1/messages");
            let chat = ("http://h:1/v1/chat/completions".to_owned(), Wire::OpenaiChat);
            assert_eq!(url("openai:m", Some(base), &keys), chat, "compatible servers speak chat completions");
            assert_eq!(url("openai-responses:m", Some(base), &keys).0, "http://h:1/v1/responses");
        }
        let own = url("openai:m", Some("https://api.openai.com/v1/"), &keys);
        assert_eq!(own, ("https://api.openai.com/v1/responses".to_owned(), Wire::OpenaiResponses));
        for (base, address) in [
            ("https://g.example/v1beta/openai/", "https://g.example/v1beta/openai/chat/completions"),
            ("https://g.example/custom", "https://g.example/custom/chat/completions"),
            ("https://g.example/x/chat/completions", "https://g.example/x/chat/completions"),
            ("https://a.example/openai/v1?api-version=2", "https://a.example/openai/v1/chat/completions?api-version=2"),
        ] {
            assert_eq!(url("openai:m", Some(base), &keys).0, address);
        }
        let gateway = url("anthropic:m", Some("https://gate.example/anthropic"), &keys).0;
        assert_eq!(gateway, "https://gate.example/anthropic/v1/messages");
    }

    #[test]
    fn the_name_of_a_gemini_model_belongs_to_the_address() {
        let keys = [("GEMINI_API_KEY", KEY), ("GOOGLE_API_KEY", "sk-another-one-4567")];
        for base in ["http://h:1", "http://h:1/", "http://h:1/v1beta/", "http://h:1/v1beta/models/x:generateContent"] {
            assert_eq!(url("gemini:m", Some(base), &keys).0, "http://h:1/v1beta/models/m:generateContent", "{base}");
        }
        for (model, base, address) in [
            ("gemini:models/m", "http://h:1/v1", "http://h:1/v1/models/m:generateContent"),
            (
                "gemini:../a b?c#d",
                "http://h:1/gate",
                "http://h:1/gate/v1beta/models/..%2Fa%20b%3Fc%23d:generateContent",
            ),
            ("gemini:m", "http://h:1/v1?x=1", "http://h:1/v1/models/m:generateContent?x=1"),
        ] {
            assert_eq!(url(model, Some(base), &keys).0, address, "{model}");
        }
        let (endpoint, _) = resolve("gemini:m", Some("http://h:1/v1?x=1"), &keys).unwrap();
        let address = |endpoint: &Endpoint, stream| endpoint.address(stream).unwrap().to_string();
        assert_eq!(address(&endpoint, true), "http://h:1/v1/models/m:streamGenerateContent?x=1&alt=sse");
        let other = endpoint.for_model("n");
        assert_eq!(address(&other, false), "http://h:1/v1/models/n:generateContent?x=1");
        assert_eq!(address(&other, true), "http://h:1/v1/models/n:streamGenerateContent?x=1&alt=sse");
        assert_eq!(endpoint.headers["x-goog-api-key"], KEY, "the first variable that is set");
        assert!(!endpoint.headers.contains_key("authorization"));
        assert!(!address(&endpoint, true).contains(KEY));
        let error = resolve("gemini:m", None, &[]).unwrap_err();
        assert!(error.code == "missing_key" && error.to_string().contains("GEMINI_API_KEY"), "{error}");
        let (chat, _) = resolve("openai:m", Some("http://h:1"), &[("OPENAI_API_KEY", KEY)]).unwrap();
        assert_eq!(chat.address(true), chat.url);
    }

    #[test]
    fn the_environment_names_servers_and_keys() {
        let env = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "http://10.0.0.5:9/v1")];
        let (endpoint, _) = resolve("openai:m", None, &env).unwrap();
        assert_eq!(endpoint.url.as_ref().unwrap().as_str(), "http://10.0.0.5:9/v1/chat/completions");
        assert_eq!(endpoint.host.as_ref(), "10.0.0.5:9");
        assert_eq!(endpoint.headers["authorization"], format!("Bearer {KEY}").as_str());
        for (value, address) in [
            ("0.0.0.0", "http://127.0.0.1:11434/v1/chat/completions"),
            ("box:99", "http://box:99/v1/chat/completions"),
            (":99", "http://localhost:99/v1/chat/completions"),
            ("https://box.example", "https://box.example/v1/chat/completions"),
        ] {
            assert_eq!(url("ollama:m", None, &[("OLLAMA_HOST", value)]).0, address, "{value}");
        }
        let (vllm, _) = resolve("vllm:m", None, &env).unwrap();
        assert!(!vllm.headers.contains_key("authorization"), "OPENAI_API_KEY belongs to OpenAI");
    }

    #[test]
    fn providers_are_reached_by_name_with_keys_from_the_environment() {
        for (model, variable, address) in [
            ("mistral:m", "MISTRAL_API_KEY", "https://api.mistral.ai/v1/chat/completions"),
            ("groq:m", "GROQ_API_KEY", "https://api.groq.com/openai/v1/chat/completions"),
            ("deepseek:m", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1/chat/completions"),
            ("xai:m", "XAI_API_KEY", "https://api.x.ai/v1/chat/completions"),
            ("together:m", "TOGETHER_API_KEY", "https://api.together.xyz/v1/chat/completions"),
            ("fireworks:m", "FIREWORKS_API_KEY", "https://api.fireworks.ai/inference/v1/chat/completions"),
            ("cerebras:m", "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1/chat/completions"),
            ("moonshot:m", "MOONSHOTAI_API_KEY", "https://api.moonshot.ai/v1/chat/completions"),
            ("zhipu:m", "ZHIPU_API_KEY", "https://open.bigmodel.cn/api/paas/v4/chat/completions"),
            ("minimax:m", "MINIMAX_API_KEY", "https://api.minimax.io/v1/chat/completions"),
            ("nvidia:m", "NVIDIA_API_KEY", "https://integrate.api.nvidia.com/v1/chat/completions"),
            ("huggingface:m", "HF_TOKEN", "https://router.huggingface.co/v1/chat/completions"),
        ] {
            let (endpoint, _) = resolve(model, None, &[(variable, KEY)]).unwrap();
            assert_eq!(endpoint.url.as_ref().unwrap().as_str(), address);
            assert_eq!(endpoint.headers["authorization"], format!("Bearer {KEY}").as_str(), "{model}");
            assert_eq!(resolve(model, None, &[]).unwrap_err().code, "missing_key", "{model}");
        }
        assert_eq!(url("lmstudio:m", None, &[]).0, "http://localhost:1234/v1/chat/completions");
    }

    #[test]
    fn keys_are_needed_away_from_this_machine() {
        let error = resolve("anthropic:m", None, &[("ANTHROPIC_API_KEY", " ")]).unwrap_err();
        assert_eq!(error.code, "missing_key");
        assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
        for base in ["http://localhost:1", "http://127.0.0.1:1/v1", "http://[::1]:1"] {
            let (endpoint, _) = resolve("openai:m", Some(base), &[]).unwrap();
            assert!(!endpoint.headers.contains_key("authorization"));
            let (endpoint, _) = resolve("anthropic:m", Some(base), &[("ANTHROPIC_API_KEY", KEY)]).unwrap();
            assert_eq!(endpoint.headers["x-api-key"], KEY);
            assert_eq!(endpoint.headers["anthropic-version"], "2023-06-01");
        }
        assert_eq!(resolve("openai:m", Some("http://localhost.example.org"), &[]).unwrap_err().code, "missing_key");
    }

    #[test]
    fn mistakes_are_told_with_what_to_do() {
        for (model, base, code, says) in [
            ("gpt-5", None, "unknown_model", "openai:gpt-5"),
            ("claude-x", None, "unknown_model", "anthropic:claude-x"),
            ("gemini-2.5-pro", None, "unknown_model", "gemini:gemini-2.5-pro"),
            ("google:gemini-2.5-pro", None, "unknown_provider", "did you mean gemini?"),
            ("foo", None, "unknown_model", "provider:model"),
            ("antropic:m", None, "unknown_provider", "did you mean anthropic?"),
            ("zzz:m", None, "unknown_provider", "known are anthropic, "),
            ("zzz:m", None, "unknown_provider", "openai-chat:m with base_url="),
            ("grok:m", None, "unknown_provider", "did you mean xai?"),
            ("mistral:mistral-large-latest", None, "missing_key", "MISTRAL_API_KEY"),
            ("ollama:", None, "unknown_model", "names no model"),
            ("offline:x", None, "unknown_model", "offline:extractive"),
            ("ollama:m", Some("localhost:8000"), "invalid_url", "http"),
            ("ollama:m", Some("ftp://h/"), "invalid_url", "neither http nor https"),
            ("ollama:m", Some("http://"), "invalid_url", "no URL"),
            ("ollama:m", Some("http://me:hunter22@h/"), "invalid_url", "user name"),
        ] {
            let error = resolve(model, base, &[]).unwrap_err();
            assert_eq!(error.code, code, "{model}: {error}");
            assert!(error.to_string().contains(says), "{error}");
            assert!(!error.to_string().contains("hunter22"), "{error}");
        }
    }

    #[test]
    fn keys_are_never_printed() {
        let options = EndpointOptions {
            api_key: Some(KEY.into()),
            headers: vec![("X-Team".into(), "team-secret".into())],
            base_url: Some("https://h.example/v1?sig=url-secret".into()),
            ..EndpointOptions::default()
        };
        let (endpoint, _) = Endpoint::resolve("openai:m", &options, |_| None).unwrap();
        for text in [format!("{options:?}"), format!("{endpoint:?}"), format!("{:#?}", endpoint.headers())] {
            assert!(!text.contains("secret"), "{text}");
        }
        assert_eq!(endpoint.scrub(format!("bad key {KEY} of team-secret")), "bad key *** of ***");
        assert_eq!(endpoint.scrub(format!("{KEY}{KEY}, cut: {}", &KEY[..14])), "******, cut: ***");
        assert_eq!(endpoint.scrub("sk-very-other".to_owned()), "sk-very-other");

        for bad in ["sk-se\ncret", "sk-s\u{e9}cret"] {
            let options = EndpointOptions { api_key: Some(bad.into()), ..EndpointOptions::default() };
            let error = Endpoint::resolve("openai:m", &options, |_| None).unwrap_err();
            assert_eq!(error.code, "invalid_key");
            assert!(!format!("{error:?}").contains("sk-s"), "{error}");
        }
        // A line break at the end, as `cat key.txt` gives it, does no harm.
        let options = EndpointOptions { api_key: Some(format!("{KEY}\n")), ..EndpointOptions::default() };
        assert!(Endpoint::resolve("openai:m", &options, |_| None).is_ok());
    }
}
