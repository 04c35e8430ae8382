//! What a text holds that not everybody may see, for `loopwright.guard`: spans count characters here.

use std::{borrow::Cow, collections::HashMap};

use pyo3::{prelude::*, types::PyString};

use super::errors;
use loopwright_drive::{endpoint::Secret, own};
use loopwright_guard::sensitivity::{self, Hit, Labels, Level};

/// A hit: detector, weight, first character, the one behind the last, reason.
type HitRow = (&'static str, &'static str, usize, usize, &'static str);

/// The length from which others may run while a text is read.
const LONG: usize = 16 * 1024;

fn level(name: &str) -> PyResult<Level> {
    Level::named(name).ok_or_else(|| {
        let message = format!("no level is named {name:?}: public, normal, sensitive and secret are");
        errors::usage("invalid_value", message, "give one of these")
    })
}

fn with_characters(text: &str, hits: &[Hit]) -> Vec<HitRow> {
    let ascii = text.is_ascii();
    let (mut bytes, mut characters) = (0, 0);
    let mut place = |to: usize| {
        if ascii || to < bytes {
            return to;
        }
        characters += text.get(bytes..to).map_or(0, |between| between.chars().count());
        bytes = to;
        characters
    };
    hits.iter()
        .map(|hit| {
            let (start, end) = (place(hit.span.start), place(hit.span.end));
            (hit.detector, hit.level.name(), start, end, hit.why)
        })
        .collect()
}

fn away<T: Send>(py: Python<'_>, text: &str, work: impl FnOnce() -> T + Send) -> T {
    if text.len() < LONG { work() } else { py.detach(work) }
}

/// The class of a text, the label of its source, and what was found.
#[pyfunction]
pub(super) fn classify_sensitivity(
    py: Python<'_>,
    text: &str,
    source: Option<&str>,
    labels: Option<HashMap<String, String>>,
) -> PyResult<(&'static str, Option<&'static str>, Vec<HitRow>)> {
    let mut known = Labels::default();
    for (name, label) in labels.into_iter().flatten() {
        known.set(name, level(&label)?);
    }
    let label = source.and_then(|source| Level::named(source).or_else(|| known.of(source)));
    let class = away(py, text, || sensitivity::classify_from(text, label));
    let hits = with_characters(text, &class.hits);
    Ok((class.level.name(), class.label.map(Level::name), hits))
}

/// The text without keys of this process and without its hits.
pub(super) fn redacted(text: &str) -> String {
    sensitivity::redact(&own::scrub(text))
}

/// The text without keys of this process; the very same object if there are none.
#[pyfunction]
pub(super) fn without_own_keys<'py>(text: &Bound<'py, PyString>) -> Bound<'py, PyString> {
    // Text with lone surrogates is nobody's key.
    match text.to_str().map(own::scrub) {
        Ok(Cow::Owned(clean)) => PyString::new(text.py(), &clean),
        Ok(Cow::Borrowed(_)) | Err(_) => text.clone(),
    }
}

/// Remembers a key of this process that no endpoint holds: texts are scrubbed of it.
#[pyfunction]
pub(super) fn keep_own_key(key: &str) {
    if sensitivity::is_telling(key) {
        own::keep(vec![Secret::new(key)]);
    }
}

/// The text without keys of this process and without its hits; the very same object if there are none.
#[pyfunction]
pub(super) fn redact<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let whole = text.to_str()?;
    let redacted = away(text.py(), whole, || redacted(whole));
    Ok(if redacted == whole { text.clone() } else { PyString::new(text.py(), &redacted) })
}

/// The text without its hits, and what they were.
#[pyfunction]
pub(super) fn redact_with_hits(py: Python<'_>, text: &str) -> (String, Vec<HitRow>) {
    let redacted = away(py, text, || sensitivity::redact_with_hits(text));
    let hits = with_characters(text, &redacted.hits);
    (redacted.text, hits)
}

/// JSON, or lines of JSON, without its hits.
#[pyfunction]
pub(super) fn redact_json(py: Python<'_>, text: &str) -> String {
    away(py, text, || sensitivity::redact_json(&own::scrub(text)))
}

/// All detectors: the name, the level, what a hit is.
#[pyfunction]
pub(super) fn sensitivity_detectors() -> Vec<(&'static str, &'static str, &'static str)> {
    sensitivity::detectors().map(|detector| (&*detector.id, detector.level.name(), &*detector.why)).collect()
}

/// Whether a variable of the environment holds something that opens something, or a key of this process.
#[pyfunction]
pub(super) fn is_secret_variable(name: &Bound<'_, PyString>, value: &Bound<'_, PyString>) -> bool {
    // Bytes that are no UTF-8 stand in names and values as lone surrogates.
    let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
    own::keys().is_some_and(|own| own.is_in(value.as_bytes())) || sensitivity::is_secret_variable(&name, &value)
}
