//! Profiles and providers of users: a file or a dict that says what a host takes beyond the built-in tables.
//!
//! A file of TOML has `[takes]`, which holds for whichever provider is asked, and sections `[provider.NAME]` as
//! `providers.toml` has them: of a provider that is known they replace single fields, another one is new.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use toml::de::DeTable;

use loopwright_base::{
    error::{Error, Result},
    message::Wire,
};

use super::provider::{Provider, edits, json, json_of, members_of, put_over};

/// The fields of profiles and providers, in order, each with its kind and the values that it may have.
static FIELDS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // A test holds that the table can be read.
    match json_of(include_str!("profile_fields.toml")) {
        Ok(Value::Object(sections)) => sections,
        _ => Map::new(),
    }
});

/// A user's additions to the table of providers.
#[derive(Debug, Default)]
pub struct OwnProfile {
    takes: Map<String, Value>,
    providers: Vec<Provider>,
}

impl OwnProfile {
    /// The profile of a dict, as JSON: the fields of `takes`.
    pub fn of_json(text: &str) -> Result<Self> {
        let Ok(Value::Object(takes)) = serde_json::from_str(text) else {
            return Err(wrong("the profile is no dict", "give a dict of fields, or the path of a TOML file"));
        };
        check("takes", "the profile", &takes)?;
        Ok(Self { takes, providers: Vec::new() })
    }

    /// The profile of a file of TOML; errors name the file.
    pub fn of_toml(text: &str, file: &str) -> Result<Self> {
        let table = DeTable::parse(text).map_err(|error| {
            let line =
                error.span().and_then(|span| text.get(..span.start)).map_or(0, |read| read.matches('\n').count());
            let said = error.message().lines().next().unwrap_or_default();
            wrong(format!("{file}, line {}: {said}", line + 1), "write it as TOML")
        })?;
        let mut own = Self::default();
        for (name, value) in table.into_inner() {
            match (&*name.into_inner(), json(value.get_ref())) {
                ("takes", Value::Object(takes)) => {
                    check("takes", &format!("{file}: takes"), &takes)?;
                    own.takes = takes;
                }
                ("provider", Value::Object(sections)) => {
                    for (name, members) in sections {
                        own.providers.push(own_provider(file, &name, &members)?);
                    }
                }
                (name, _) => {
                    return Err(wrong(
                        format!("{file} has {name:?} at its top level, which is no section of a profile"),
                        "write [takes], or [provider.NAME] with its wire and base",
                    ));
                }
            }
        }
        Ok(own)
    }

    /// The provider of that name, where it is defined or changed here.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|known| known.name == name)
    }

    /// The fields that hold for a provider, whatever the tables say.
    pub fn takes(&self, provider: &str) -> Map<String, Value> {
        let mut takes = self.provider(provider).map(|own| own.takes.clone()).unwrap_or_default();
        takes.extend(self.takes.clone());
        takes
    }

    /// The names of the providers that are defined or changed here.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|known| known.name.as_str())
    }
}

fn own_provider(file: &str, name: &str, section: &Value) -> Result<Provider> {
    let place = format!("{file}: provider.{name}");
    let Value::Object(section) = section else {
        return Err(wrong(format!("{place} is no section"), format!("write [provider.{name}] and its fields below")));
    };
    check("provider", &place, section)?;
    let mut members = members_of(name);
    if let Some(Value::Object(takes)) = section.get("takes") {
        check("takes", &format!("{place}.takes"), takes)?;
        let mut all = members.get("takes").and_then(Value::as_object).cloned().unwrap_or_default();
        put_over(&mut all, takes);
        members.insert("takes".to_owned(), Value::Object(all));
    }
    members.extend(
        section.iter().filter(|(field, _)| *field != "takes").map(|(field, value)| (field.clone(), value.clone())),
    );
    for field in ["wire", "base"] {
        if !members.contains_key(field) {
            return Err(wrong(
                format!("{place} has no {field}"),
                "a provider of one's own needs its wire and its base, the address of its server",
            ));
        }
    }
    if name.is_empty() || name.contains(|c: char| c == ':' || c.is_whitespace()) {
        return Err(wrong(format!("{place} is no name for a provider"), "use a name without colons and blanks"));
    }
    Provider::read(name, Value::Object(members)).map_err(|error| wrong(format!("{place}: {error}"), "mend that field"))
}

/// Checks the fields of a section, by the table of what they may be.
fn check(section: &str, place: &str, members: &Map<String, Value>) -> Result<()> {
    let Some(Value::Object(known)) = FIELDS.get(section) else { return Ok(()) };
    for (field, value) in members {
        let Some(Value::Array(form)) = known.get(field) else {
            let near = known.keys().map(|name| (edits(field, name), name)).min();
            let meant = near
                .filter(|(far, name)| *far <= 1 + name.len() / 3)
                .map_or_else(String::new, |(_, name)| format!("did you mean {name}? "));
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(wrong(
                format!("{place} has no field {field:?}"),
                format!("{meant}there are {}", names.join(", ")),
            ));
        };
        let form: Vec<&str> = form.iter().filter_map(Value::as_str).collect();
        let Some((kind, values)) = form.split_first() else { continue };
        if !fits(kind, values, value) {
            let shown: String = value.to_string().chars().take(100).collect();
            return Err(wrong(format!("{place}: {field} can't be {shown}"), format!("give {}", words(kind, values))));
        }
        if let (&"fields", [section], Value::Object(members)) = (kind, values, value) {
            check(section, &format!("{place}.{field}"), members)?;
        }
    }
    Ok(())
}

fn fits(kind: &str, values: &[&str], value: &Value) -> bool {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| values.is_empty() || values.contains(&text));
    match kind {
        "text" => is_text(value),
        "texts" => value.as_array().is_some_and(|items| items.iter().all(is_text)),
        "flag" => value.is_boolean(),
        // None takes a count back.
        "count" => value.is_u64() || value.is_null(),
        "tables" => value.as_array().is_some_and(|items| items.iter().all(Value::is_object)),
        "wire" => value.as_str().is_some_and(|name| Wire::named(name).is_some()),
        _ => value.is_object(),
    }
}

fn words(kind: &str, values: &[&str]) -> String {
    let these = values.join(", ");
    match kind {
        "text" if values.is_empty() => "text".to_owned(),
        "text" => format!("one of {these}"),
        "texts" if values.is_empty() => "a list of texts".to_owned(),
        "texts" => format!("a list of these: {these}"),
        "flag" => "true or false".to_owned(),
        "count" => "a whole number from 0 up".to_owned(),
        "wire" => "the name of a wire, as openai_chat or anthropic".to_owned(),
        _ => "a table of fields, or a list of them".to_owned(),
    }
}

fn wrong(message: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::usage("invalid_profile", message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        profile::Profile,
        provider::{provider, providers},
    };

    #[test]
    fn the_table_of_fields_knows_all_of_a_profile_and_the_built_in_tables_fit_it() {
        let Ok(Value::Object(all)) = serde_json::to_value(Profile::default()) else { panic!("no object") };
        let known = FIELDS["takes"].as_object().unwrap();
        let names = |table: &Map<String, Value>| table.keys().cloned().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(names(&all), names(known));
        for known in providers() {
            check("provider", &known.name, &members_of(&known.name)).unwrap();
            check("takes", &known.name, &known.takes).unwrap();
            let families = known.address.families.iter().map(|family| &family.takes);
            for takes in families.chain(known.over.values().filter_map(Value::as_object)) {
                check("takes", &known.name, takes).unwrap();
            }
        }
    }

    #[test]
    fn w20_a_user_changes_a_host_and_adds_one() {
        let file = "[takes]\nrefuses = [\"stream_options\"]\n[provider.mine]\nwire = \"openai_chat\"\n\
            base = \"http://gpu:8000/v1\"\nkeys = [\"MY_KEY\"]\ntakes = { limit = \"max_completion_tokens\" }\n\
            [provider.groq]\nbase = \"http://proxy/v1\"\n";
        let own = OwnProfile::of_toml(file, "hosts.toml").unwrap();
        let mine = own.provider("mine").unwrap();
        assert_eq!(
            (mine.wire, &*mine.base, &mine.keys[..]),
            (Wire::OpenaiChat, "http://gpu:8000/v1", &["MY_KEY".to_owned()][..])
        );
        let profile = mine.profile_with("gpu", "llama", &own.takes("mine"));
        assert_eq!(
            (&*profile.limit, &profile.refuses[..]),
            ("max_completion_tokens", &["stream_options".to_owned()][..])
        );
        let groq = own.provider("groq").unwrap();
        assert_eq!((&*groq.base, &groq.keys[..]), ("http://proxy/v1", &provider("groq").unwrap().keys[..]));
        assert_eq!(own.names().collect::<Vec<_>>().len(), 2);
        // What a wire has no place for is refused whoever says what.
        let gemini = provider("gemini").unwrap().profile_with("", "m", &own.takes("gemini"));
        assert_eq!(gemini.refuses, ["stream_options", "parallel_tool_calls"]);
        assert!(
            !gemini.refuses("seed", false) && provider("anthropic").unwrap().profile_at("", "m").refuses("seed", false)
        );
    }

    #[test]
    fn w20_errors_name_the_file_the_field_and_what_would_do() {
        for (text, message, hint) in [
            ("[takes]\nlimt = \"max_tokens\"", "f: takes has no field \"limt\"", "did you mean limit?"),
            ("[takes]\nlimit = \"most\"", "f: takes: limit can't be \"most\"", "one of max_tokens"),
            ("[takes]\nrefuses = [\"warmth\"]", "refuses can't be", "a list of these: temperature"),
            ("[takes]\ncall_id = \"nine\"", "call_id can't be \"nine\"", "a whole number"),
            ("[takes]\njson_with_tools = 1", "json_with_tools can't be 1", "true or false"),
            ("x = 1", "\"x\" at its top level", "[provider.NAME]"),
            ("[provider.a]\nwire = \"morse\"\nbase = \"\"", "f: provider.a: wire can't be \"morse\"", "openai_chat"),
            ("[provider.a]\nbase = \"http://x\"", "provider.a has no wire", "its wire and its base"),
            ("[provider.a]\ntakes = { x = 1 }", "f: provider.a.takes has no field \"x\"", "there are"),
            ("[takes]\n\nlimit =", "f, line 3", "TOML"),
        ] {
            let error = OwnProfile::of_toml(text, "f").unwrap_err();
            assert_eq!(error.code, "invalid_profile");
            assert!(
                error.message.contains(message) && error.hint.as_ref().unwrap().contains(hint),
                "{text}: {error:?}"
            );
        }
        assert!(OwnProfile::of_json("[]").is_err() && OwnProfile::of_json(r#"{"limits":1}"#).is_err());
        let own = OwnProfile::of_json(r#"{"call_id":null,"effort":"reasoning"}"#).unwrap();
        assert_eq!(provider("mistral").unwrap().profile_with("", "m", &own.takes("mistral")).call_id, None);
    }
}
