//! The way of requests to a provider: from the rules of its addresses, a base and settings to the address of a model.

use std::{collections::BTreeMap, fmt::Write as _};

use reqwest::Url;

use super::provider::full_url;
use loopwright_base::error::{Error, Result};
use loopwright_models::provider::Provider;

/// The name of the model in templates.
const MODEL: &str = "model";

/// The base of a provider's addresses, and the settings that are parts of them.
#[derive(Clone)]
pub(super) struct Route {
    base: Url,
    settings: BTreeMap<String, String>,
}

/// The settings of a provider: those of the environment, else of its credentials (`known`), else the usual ones.
pub(super) fn settings(
    provider: &Provider,
    env: impl Fn(&str) -> Option<String>,
    known: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let value = |name: &str, setting: &loopwright_models::provider::Setting| {
        let set = setting.variables.iter().find_map(|variable| env(variable));
        set.or_else(|| known(name)).or_else(|| setting.usual.clone())
    };
    let all = provider.address.settings();
    all.filter_map(|(name, setting)| Some((name.to_owned(), value(name, setting)?))).collect()
}

/// The base of a provider's addresses where nobody has given another.
pub(super) fn usual_base(provider: &Provider, settings: &BTreeMap<String, String>) -> Result<String> {
    let template = provider.base_for(|name| settings.get(name).cloned());
    if template.is_empty() {
        let variable = provider.base_variable.as_deref().unwrap_or("base_url");
        let example = provider.address.example.as_deref().unwrap_or("https://HOST");
        return Err(Error::usage(
            "missing_endpoint",
            format!("{} has no address that all share: {variable} is not set", provider.name),
        )
        .hint(format!("export {variable}={example}, or give Model(..., base_url=...)")));
    }
    filled(template, |name| settings.get(name).map(String::as_str), escape).map_err(|name| missing(provider, name))
}

impl Route {
    pub(super) const fn new(base: Url, settings: BTreeMap<String, String>) -> Self {
        Self { base, settings }
    }

    /// A setting that is known.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// The host of the base, without its port.
    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The address of a model, where no stream is asked for.
    pub(super) fn url(&self, provider: &Provider, model: &str) -> Result<Url> {
        let wire = provider.wire_at(self.host(), model);
        let mut tried = provider.paths(model).iter().map(|template| Joined::new(self, template, model));
        let Some(mut best) = tried.next() else { return Ok(full_url(self.base.clone(), wire, model)) };
        for other in tried {
            // What the base holds already says which of them is meant, even if something lacks there.
            let fits = other.shared.cmp(&best.shared).then(best.lacks.is_some().cmp(&other.lacks.is_some()));
            if fits.is_gt() {
                best = other;
            }
        }
        match best.lacks {
            Some(name) => Err(missing(provider, &name)),
            None => Ok(best.url),
        }
    }
}

/// A base and a template that were put together.
struct Joined {
    url: Url,
    /// Segments of the template that stood in the base already.
    shared: usize,
    /// A setting that lacks.
    lacks: Option<String>,
}

impl Joined {
    fn new(route: &Route, template: &str, model: &str) -> Self {
        let value = |name: &str| match name {
            MODEL => Some(model),
            name => route.settings.get(name).map(String::as_str),
        };
        let (path, query) = template.split_once('?').unwrap_or((template, ""));
        let wanted: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let given: Vec<&str> = route.base.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let overlaps = |count: &usize| {
            given[given.len() - count..].iter().zip(&wanted).all(|(given, wanted)| is_filled(wanted, given))
        };
        let shared = (0..=given.len().min(wanted.len())).rev().find(overlaps).unwrap_or_default();
        let mut joined = Self { url: route.base.clone(), shared, lacks: None };
        joined.url.set_fragment(None);
        let mut whole = given.iter().fold(String::new(), |whole, segment| whole + "/" + segment);
        for segment in &wanted[shared..] {
            whole.push('/');
            match filled(segment, value, escape) {
                Ok(segment) => whole.push_str(&segment),
                Err(name) => joined.lacks = Some(name.to_owned()),
            }
        }
        joined.url.set_path(&whole);
        for (key, template) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if route.base.query_pairs().any(|(given, _)| given == key) {
                continue;
            }
            match filled(template, value, String::push_str) {
                Ok(value) => {
                    joined.url.query_pairs_mut().append_pair(key, &value);
                }
                Err(name) => joined.lacks = Some(name.to_owned()),
            }
        }
        joined
    }
}

/// Returns whether a segment is one of the template's, filled with anything.
fn is_filled(template: &str, segment: &str) -> bool {
    match (template.split_once('{'), template.rsplit_once('}')) {
        (Some((before, _)), Some((_, after))) => {
            segment.len() > before.len() + after.len() && segment.starts_with(before) && segment.ends_with(after)
        }
        _ => template == segment,
    }
}

/// A template with its values, as `write` writes them, in place of their names; the name of the first that is unknown.
fn filled<'t, 'v>(
    template: &'t str,
    value: impl Fn(&str) -> Option<&'v str>,
    write: impl Fn(&mut String, &str),
) -> Result<String, &'t str> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        write(&mut out, value(name).ok_or(name)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Appends a value as it stands in a segment of a path; `@` is legal there, and in names of versions.
fn escape(out: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

fn missing(provider: &Provider, name: &str) -> Error {
    let variables = provider.address.setting(name).map(|setting| setting.variables.as_slice()).unwrap_or_default();
    let variable = variables.first().map_or(name, String::as_str);
    let words = name.replace('_', " ");
    Error::usage(
        "missing_setting",
        format!("{} needs the {words} of its addresses: {} is not set", provider.name, variables.join(" or ")),
    )
    .hint(format!("export {variable}=..., or write it into base_url"))
}
