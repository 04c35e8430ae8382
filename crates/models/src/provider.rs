//! Providers by name: their wires, addresses and keys, and what their hosts take, from `providers.toml`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use loopwright_base::{message::Wire, parameter::Parameter};

use super::{
    batches::BatchRules,
    embeddings::EmbeddingRules,
    profile::Profile,
    quirks::{Sampling, longest_beginning, refused, served_by},
};

/// A provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The name, before the colon of a model's.
    #[serde(skip)]
    pub name: String,
    /// The wire at the provider's own address.
    #[serde(deserialize_with = "wire_named")]
    pub wire: Wire,
    /// The address of the provider's own server; empty where nothing is sent.
    pub base: String,
    /// The variable of the environment that names another address.
    pub base_variable: Option<String>,
    /// That variable may hold a host without scheme and port.
    #[serde(default)]
    pub base_is_host: bool,
    /// The variables that may hold the key; none where a key is sent only if it is given by hand.
    #[serde(default)]
    pub keys: Vec<String>,
    /// Domains at which this provider is met, whatever name it was called by.
    #[serde(default)]
    domains: Vec<String>,
    /// The wire at addresses that are not the provider's.
    #[serde(default, deserialize_with = "some_wire_named")]
    elsewhere: Option<Wire>,
    /// Other names that people try.
    #[serde(default)]
    aliases: Vec<String>,
    /// What it serves costs nothing.
    #[serde(default)]
    pub free: bool,
    /// The provider whose prices hold, where that is another.
    prices_of: Option<String>,
    /// Models are called by their vendors, `vendor/model`: one that is so called is probably meant to be served here.
    #[serde(default)]
    pub names_vendors: bool,
    /// The members of the profile that differ from the wire's.
    #[serde(default)]
    pub(super) takes: Map<String, Value>,
    /// The same for other wires that the provider's hosts speak, by their names.
    #[serde(default)]
    pub(super) over: Map<String, Value>,
    /// How requests are authorised, beyond a bearer's key.
    #[serde(default)]
    pub auth: AuthRules,
    /// How addresses are made, beyond a base.
    #[serde(default)]
    pub address: AddressRules,
}

/// How requests to a provider are authorised.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthRules {
    /// The header that holds the key; `None`: `authorization`, as a bearer's.
    pub header: Option<String>,
    /// The variables that may hold a token, which goes out as a bearer's; they win over keys of the environment.
    #[serde(default)]
    pub tokens: Vec<String>,
    /// The source of credentials where there is no key.
    pub source: Option<CredentialSource>,
    /// The name by which requests are signed for the service.
    #[serde(default)]
    pub service: String,
}

/// A source of credentials that are more than a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialSource {
    /// AWS: keys from variables, a profile's file or a container; each request is signed.
    Aws,
    /// Google: a file of an account, against which tokens are given out.
    Google,
}

/// How the addresses of a provider are made. Names in braces are settings, and `{model}` the model's.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressRules {
    /// The base of one's own, as an example: there is none that all share.
    pub example: Option<String>,
    /// What stands behind the base; the first counts whose settings are known.
    #[serde(default)]
    paths: Vec<String>,
    /// Other bases, by the value of a setting.
    #[serde(default)]
    bases: Vec<OtherBase>,
    /// The settings.
    #[serde(default)]
    settings: BTreeMap<String, Setting>,
    /// Models that are spoken to in another way.
    #[serde(default)]
    pub(super) families: Vec<Family>,
}

/// A value that is part of addresses.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The variables that may hold it, the first that is set counts.
    pub variables: Vec<String>,
    /// The value where none is set.
    pub usual: Option<String>,
}

/// A base for some values of a setting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherBase {
    setting: String,
    /// The value; with `*` at its end, its beginning.
    value: String,
    base: String,
}

/// Models that a provider serves over another wire.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    /// Beginnings of their names.
    models: Vec<String>,
    #[serde(deserialize_with = "wire_named")]
    wire: Wire,
    paths: Vec<String>,
    #[serde(default)]
    pub(super) takes: Map<String, Value>,
}

impl AddressRules {
    /// The settings by name.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings.iter().map(|(name, setting)| (name.as_str(), setting))
    }

    /// The setting of that name.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.get(name)
    }

    fn family(&self, model: &str) -> Option<&Family> {
        let model = model.to_ascii_lowercase();
        self.families.iter().find(|family| family.models.iter().any(|beginning| model.starts_with(beginning)))
    }
}

/// The tables of `providers.toml`.
#[derive(Debug, Default)]
struct Tables {
    /// The profile of each wire.
    wires: Map<String, Value>,
    /// The providers, in the order of their names.
    providers: Vec<Provider>,
    /// The interfaces for vectors, by provider.
    embeddings: BTreeMap<String, EmbeddingRules>,
    /// The interfaces for batches, by provider.
    batches: BTreeMap<String, BatchRules>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    // A test holds that the table can be read; were it broken, no provider would be known.
    Tables::parse(include_str!("providers.toml")).unwrap_or_default()
});

impl Tables {
    fn parse(text: &str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?;
        let table = table.get_ref();
        let section = |name: &str| match table.get(name).map(|section| json(section.get_ref())) {
            Some(Value::Object(members)) => Ok(members),
            _ => Err(format!("there is no section {name}")),
        };
        let mut providers = Vec::new();
        for (name, members) in section("provider")? {
            providers.push(Provider::read(&name, members).map_err(|error| format!("{name}: {error}"))?);
        }
        let embeddings = serde_json::from_value(Value::Object(section("embeddings")?));
        let embeddings = embeddings.map_err(|error| format!("embeddings: {error}"))?;
        let batches = serde_json::from_value(Value::Object(section("batches")?));
        let batches = batches.map_err(|error| format!("batches: {error}"))?;
        Ok(Self { wires: section("wire")?, providers, embeddings, batches })
    }
}

/// The members of a provider of the table, as they stand there.
pub(super) fn members_of(name: &str) -> Map<String, Value> {
    let table = DeTable::parse(include_str!("providers.toml")).ok();
    let section =
        table.as_ref().and_then(|table| table.get_ref().get("provider")).map(|section| json(section.get_ref()));
    section.and_then(|all| all.get(name)?.as_object().cloned()).unwrap_or_default()
}

/// A table of TOML as JSON.
pub(super) fn json_of(text: &str) -> Result<Value, toml::de::Error> {
    DeTable::parse(text).map(|table| json(&DeValue::Table(table.into_inner())))
}

/// A value of TOML as JSON; numbers are whole.
pub(super) fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Table(table) => {
            table.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect()
        }
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(number) => number.as_str().parse::<u64>().map_or(Value::Null, Value::from),
        value => value.as_str().map_or(Value::Null, Value::from),
    }
}

/// The members of a profile that a wire has by itself.
pub(super) fn members_of_wire(wire: Wire) -> Map<String, Value> {
    match TABLES.wires.get(wire.name()) {
        Some(Value::Object(members)) => members.clone(),
        _ => Map::new(),
    }
}

fn wire_named<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Wire, D::Error> {
    let name = String::deserialize(deserializer)?;
    Wire::named(&name).ok_or_else(|| serde::de::Error::custom(format!("there is no wire {name}")))
}

fn some_wire_named<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Wire>, D::Error> {
    wire_named(deserializer).map(Some)
}

/// All providers, in the order of their names.
pub fn providers() -> &'static [Provider] {
    &TABLES.providers
}

/// The interfaces for vectors, by the names of their providers.
pub(super) fn embedding_tables() -> &'static BTreeMap<String, EmbeddingRules> {
    &TABLES.embeddings
}

/// The interfaces for batches, by the names of their providers.
pub(super) fn batch_tables() -> &'static BTreeMap<String, BatchRules> {
    &TABLES.batches
}

/// The provider of that name.
pub fn provider(name: &str) -> Option<&'static Provider> {
    providers().iter().find(|known| known.name == name)
}

impl Provider {
    /// The provider that these members of a section describe.
    pub(super) fn read(name: &str, members: Value) -> Result<Self, serde_json::Error> {
        Ok(Self { name: name.to_owned(), ..serde_json::from_value(members)? })
    }

    /// Returns whether `host` (without its port) is the provider's.
    fn is_at(&self, host: &str) -> bool {
        let is_of = |domain: &String| {
            host.strip_suffix(domain.as_str()).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
        };
        self.domains.iter().any(is_of)
    }

    /// The wire that is spoken to `model` at `host`: those who follow a provider may speak another one than it does.
    pub fn wire_at(&self, host: &str, model: &str) -> Wire {
        let family = self.address.family(model).map(|family| family.wire);
        family.or_else(|| self.elsewhere.filter(|_| !self.is_at(host))).unwrap_or(self.wire)
    }

    /// What stands behind the base in addresses of `model`; none: what its wire has.
    pub fn paths(&self, model: &str) -> &[String] {
        self.address.family(model).map_or(&self.address.paths, |family| &family.paths)
    }

    /// The base of addresses, with names of settings in braces; `value` gives those that are known.
    pub fn base_for(&self, value: impl Fn(&str) -> Option<String>) -> &str {
        let holds = |other: &&OtherBase| {
            value(&other.setting).is_some_and(|value| match other.value.strip_suffix('*') {
                Some(beginning) => value.starts_with(beginning),
                None => value == other.value,
            })
        };
        self.address.bases.iter().find(holds).map_or(&self.base, |other| &other.base)
    }

    /// What `host` takes of requests to `model`. The host decides where it is known; a provider that is reached at
    /// another address (a proxy, a double) takes what it takes.
    pub fn profile_at(&self, host: &str, model: &str) -> Profile {
        self.profile_with(host, model, &Map::new())
    }

    /// The profile of [`Provider::profile_at`] with members that somebody has set.
    pub fn profile_with(&self, host: &str, model: &str, own: &Map<String, Value>) -> Profile {
        let wire = self.wire_at(host, model);
        let known = providers().iter().filter(|known| known.is_at(host)).find_map(|known| known.taken(wire));
        let takes = match self.address.family(model) {
            Some(family) => Some(&family.takes),
            None => known.or_else(|| self.taken(wire).filter(|_| self.elsewhere.is_none())),
        };
        let mut members = members_of_wire(wire);
        // The wire has no place for what it refuses.
        let placeless = members.get("refuses").and_then(Value::as_array).cloned().unwrap_or_default();
        if let Some(takes) = takes {
            put_over(&mut members, takes);
        }
        let profile: Profile = serde_json::from_value(Value::Object(members)).unwrap_or_default();
        let mut profile = profile.of_model(wire, model);
        let unified = profile.effort == "reasoning";
        let is_effort = |parameter: &&str| *parameter == Parameter::Effort.name();
        // A router that has one parameter for all models leaves it out itself.
        profile.refuses.extend(refused(model).filter(|name| !(unified && is_effort(name))).map(str::to_owned));
        // What somebody has set goes before all that a name decides.
        if let (false, Ok(Value::Object(mut known))) = (own.is_empty(), serde_json::to_value(&profile)) {
            put_over(&mut known, own);
            let sampling = if own.contains_key("refuses") { Sampling::Taken } else { profile.sampling };
            profile = serde_json::from_value(Value::Object(known)).unwrap_or(profile);
            profile.sampling = sampling;
            profile.reasoning.models.retain(|beginning| begins_with_any(model, std::slice::from_ref(beginning)));
        }
        profile.refuses.extend(placeless.iter().filter_map(Value::as_str).map(str::to_owned));
        profile
    }

    /// What the provider's hosts take over a wire; `None` if they do not speak it.
    fn taken(&self, wire: Wire) -> Option<&Map<String, Value>> {
        if self.wire == wire { Some(&self.takes) } else { self.over.get(wire.name())?.as_object() }
    }

    /// The provider whose prices hold for this one's models.
    pub fn price_provider(&self) -> &str {
        self.prices_of.as_deref().unwrap_or(&self.name)
    }
}

/// The provider that probably serves a model of this name.
pub fn guess(model: &str) -> Option<&'static str> {
    let maker = served_by(model).and_then(provider);
    let router = || providers().iter().find(|known| known.names_vendors && model.contains('/'));
    match maker {
        Some(maker) if !maker.free => Some(&maker.name),
        local => router().or(local).map(|found| &*found.name),
    }
}

/// The names that are nearest to a mistyped one, the nearest first; `own` are names beside those of the table.
pub fn nearest<'n>(name: &str, own: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let lower: String = name.to_lowercase().chars().take(32).collect();
    // Two slips of eight letters still say what was meant.
    let near = |known: &str| (edits(&lower, known), 1 + known.len() / 4);
    let distance = |known: &Provider| {
        let names = std::iter::once(&known.name).chain(&known.aliases);
        names.map(|name| near(name)).filter(|(far, most)| far <= most).min()
    };
    let mut found: Vec<(usize, &str)> =
        providers().iter().filter_map(|known| Some((distance(known)?.0, &*known.name))).collect();
    found.extend(
        own.filter_map(|known| Some(near(known)).filter(|(far, most)| far <= most).map(|(far, _)| (far, known))),
    );
    found.sort_unstable();
    found.dedup();
    // Where a name is hit, others that are near are none.
    let hit = found.first().is_some_and(|(far, _)| *far == 0);
    found.into_iter().take(if hit { 1 } else { 3 }).map(|(_, name)| name).collect()
}

/// The edit distance of two names.
pub(super) fn edits(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (above, a) in left.chars().enumerate() {
        let mut corner = above;
        let mut before = above + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(right.chars()) {
            let best = (corner + usize::from(a != b)).min(before + 1).min(*cell + 1);
            corner = *cell;
            *cell = best;
            before = best;
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Returns whether a name begins with one of these.
/// Puts fields over those of a profile; fields of a table replace single ones of it.
pub(super) fn put_over(members: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (name, value) in over {
        match (members.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                old.extend(new.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            _ => {
                members.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Whether a name begins with one of these.
pub(super) fn begins_with_any(name: &str, beginnings: &[String]) -> bool {
    longest_beginning(name, beginnings.iter().map(String::as_str)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{AnswerForm, MediaForm};

    #[test]
    fn the_table_of_providers_can_be_read() {
        let tables = Tables::parse(include_str!("providers.toml")).unwrap();
        assert_eq!(tables.providers.len(), 26);
        for known in &tables.providers {
            assert!(known.base.is_empty() || known.base.starts_with("http"), "{}", known.name);
            let all = || std::iter::once(&known.base).chain(known.address.bases.iter().map(|other| &other.base));
            let paths = known.address.families.iter().flat_map(|family| &family.paths).chain(&known.address.paths);
            for template in all().chain(paths) {
                for name in template.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name) {
                    assert!(name == "model" || known.address.setting(name).is_some(), "{}: {name}", known.name);
                }
            }
            for family in &known.address.families {
                let mut members = tables.wires[family.wire.name()].as_object().unwrap().clone();
                members.extend(family.takes.clone());
                let read: Result<Profile, _> = serde_json::from_value(Value::Object(members));
                read.unwrap_or_else(|error| panic!("{}: {error}", known.name));
            }
            assert!(known.free || !known.keys.is_empty(), "{} needs a key", known.name);
            let mut members = tables.wires[known.wire.name()].as_object().unwrap().clone();
            members.extend(known.takes.clone());
            let read: Result<Profile, _> = serde_json::from_value(Value::Object(members));
            read.unwrap_or_else(|error| panic!("{}: {error}", known.name));
        }
        for wrong in ["", "[provider.x]\nwire = \"none\"\nbase = \"\"\n[wire]", "[provider.x]\nother = 1\n[wire]"] {
            assert!(Tables::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_host_decides_what_is_taken_and_else_the_name() {
        let at = |name: &str, host: &str| provider(name).unwrap().profile_at(host, "m");
        for (name, host) in [("mistral", "127.0.0.1"), ("openai-chat", "api.mistral.ai"), ("openai", "eu.mistral.ai")] {
            assert_eq!(at(name, host).call_id, Some(9), "{name} at {host}");
        }
        for (name, host) in [("openai-chat", "127.0.0.1"), ("openai-chat", "notmistral.ai"), ("vllm", "localhost")] {
            let profile = at(name, host);
            assert_eq!((profile.call_id, profile.instructions_inside), (None, false), "{name} at {host}");
        }
        assert!(at("openai-chat", "api.openai.com").instructions_inside);
        assert!(at("openai-chat", "mine.openai.azure.com").instructions_inside);
        assert_eq!(at("deepseek", "api.deepseek.com").output, [AnswerForm::Json]);
        assert_eq!(at("ollama", "localhost").media.pictures, [MediaForm::Bytes]);
        let wire = |name: &str, host: &str| provider(name).unwrap().wire_at(host, "m");
        assert_eq!(wire("openai", "api.openai.com"), Wire::OpenaiResponses);
        assert_eq!(wire("openai", "localhost"), Wire::OpenaiChat);
        assert_eq!(wire("openai-responses", "localhost"), Wire::OpenaiResponses);
    }

    #[test]
    fn a_family_of_models_has_a_wire_and_an_address_of_its_own() {
        let vertex = provider("vertex").unwrap();
        let at = |model| (vertex.wire_at("h", model), vertex.paths(model)[0].rsplit_once('/').unwrap().1);
        assert_eq!(at("gemini-2.5-pro"), (Wire::Gemini, "{model}:generateContent"));
        assert_eq!(at("claude-sonnet-4-5@20250929"), (Wire::Anthropic, "{model}:rawPredict"));
        let profile = vertex.profile_at("h", "claude-sonnet-4-5");
        assert!(profile.body.model_in_address && profile.body.fixed["anthropic_version"] == "vertex-2023-10-16");
        assert!(!provider("anthropic").unwrap().profile_at("h", "claude-sonnet-4-5").body.model_in_address);
        for (location, base) in [
            (Some("europe-west1"), "https://{location}-aiplatform.googleapis.com"),
            (Some("global"), "https://aiplatform.googleapis.com"),
            (Some("us"), "https://aiplatform.us.rep.googleapis.com"),
            (None, "https://{location}-aiplatform.googleapis.com"),
        ] {
            assert_eq!(vertex.base_for(|_| location.map(str::to_owned)), base, "{location:?}");
        }
    }

    #[test]
    fn mistyped_names_are_near_to_what_was_meant() {
        for (typed, meant) in [
            ("antropic", &["anthropic"][..]),
            ("Claude", &["anthropic"]),
            ("grok", &["xai"]),
            ("kimi", &["moonshot"]),
            ("llama.cpp", &["llamacpp"]),
            ("zzzzzz", &[]),
        ] {
            assert_eq!(nearest(typed, std::iter::empty()), meant, "{typed}");
        }
        assert!(nearest("opena", std::iter::empty()).contains(&"openai"));
        assert_eq!(nearest("mycompani", std::iter::once("mycompany")), ["mycompany"]);
        assert!(nearest(&"x".repeat(100_000), std::iter::empty()).is_empty());
    }

    #[test]
    fn models_without_a_provider_are_guessed() {
        for (model, serves) in [
            ("gpt-5", Some("openai")),
            ("claude-x", Some("anthropic")),
            ("qwen3", Some("ollama")),
            ("qwen/qwen3", Some("openrouter")),
            ("meta-llama/x", Some("openrouter")),
            ("nobody", None),
        ] {
            assert_eq!(guess(model), serves, "{model}");
        }
    }
}
