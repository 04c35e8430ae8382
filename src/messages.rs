//! Messages as JSON text taken apart, for the classes in `loopwright.messages`.
//!
//! Python's own `json` would write numbers of a provider anew (`1.50` as `1.5`). So Python gets the members of what
//! it looks at as text, and gives text back; what is not looked at passes through as it was written.

use pyo3::prelude::*;

use super::errors;
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Message},
};

fn invalid(what: &str, error: &serde_json::Error) -> PyErr {
    errors::usage("invalid_value", format!("invalid {what}: {error}"), "mend what is named there, or leave it out")
}

/// What serde says of JSON, in words for people, without its place in a text that they have not seen.
pub(super) fn words_of(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    if let Some(field) = said.strip_prefix("missing field ") {
        return format!("it has no {field}");
    }
    let types = said.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "));
    types.map_or_else(
        || said.to_owned(),
        |(found, wanted)| {
            let wanted = match wanted {
                "a sequence" => "a list",
                "a map" => "an object",
                other => other,
            };
            format!("{found} stands where {wanted} should")
        },
    )
}

/// A value from its JSON text.
pub(super) fn read<'a, T: serde::Deserialize<'a>>(text: &'a str, what: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| invalid(what, &error))
}

/// The JSON text of a value of ours, which is written without failing.
pub(super) fn json_of<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn canonical<T: serde::Serialize + serde::de::DeserializeOwned>(text: &str, what: &str) -> PyResult<String> {
    let wrong = |error| {
        errors::usage("invalid_value", format!("invalid {what}: {}", words_of(&error)), "mend what is named there")
    };
    let value: T = serde_json::from_str(text).map_err(wrong)?;
    serde_json::to_string(&value).map_err(|error| invalid(what, &error))
}

/// A message, checked and in the canonical form.
#[pyfunction]
pub(super) fn canonical_message(py: Python<'_>, text: &str) -> PyResult<String> {
    py.detach(|| canonical::<Message>(text, "message"))
}

/// A block, checked and in the canonical form.
#[pyfunction]
pub(super) fn canonical_block(py: Python<'_>, text: &str) -> PyResult<String> {
    py.detach(|| canonical::<Block>(text, "block"))
}

/// The members of a JSON object, in order, each value as it was written.
#[pyfunction]
pub(super) fn json_members(text: &str) -> PyResult<Vec<(String, String)>> {
    let fields = Fields::parse(text).map_err(|error| invalid("JSON object", &error))?;
    Ok(fields.iter().map(|(key, value)| (key.to_owned(), value.text().to_owned())).collect())
}

/// The elements of a JSON array, each as it was written.
#[pyfunction]
pub(super) fn json_elements(text: &str) -> PyResult<Vec<String>> {
    let elements: Vec<Raw> = read(text, "JSON array")?;
    Ok(elements.iter().map(|element| element.text().to_owned()).collect())
}

/// Whether the text is one JSON value; if not, an error that says where it goes wrong.
#[pyfunction]
pub(super) fn check_json(text: &str, what: &str) -> PyResult<()> {
    Raw::parse(text).map(drop).map_err(|error| invalid(what, &error))
}
