//! Configurations and options as Python gives them: what can't be is named with its place, its value and what would do.

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::{convert, errors};
use loopwright_base::error::Error;
use loopwright_machine::turn::TurnConfig;

/// Options that an agent has under other names than its machine.
const NAMES: [(&str, &str); 3] =
    [("budget.iterations", "budget.rounds"), ("children.most", "budget.children"), ("children.depth", "budget.depth")];

/// A configuration from a dict or JSON text; what can't be is an error of this code, but for limits of a budget.
pub(super) fn parse<T: DeserializeOwned>(given: &Bound<'_, PyAny>, code: &'static str) -> PyResult<T> {
    let text = convert::text_of(given, "configuration")?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| errors::exception(&wrong(&error.path().to_string(), error.inner(), code)))
}

/// The error about the value at a place.
fn wrong(place: &str, error: &serde_json::Error, code: &'static str) -> Error {
    let place = NAMES.iter().find(|(ours, _)| *ours == place).map_or(place, |(_, theirs)| theirs);
    let code = if place.starts_with("budget") { "invalid_budget" } else { code };
    if error.classify() != Category::Data {
        return Error::usage(code, format!("{place} is no finite number")).hint("give a finite number");
    }
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let Some((got, wanted)) = said.split_once(", expected ") else {
        return Error::usage(code, format!("{place}: {said}")).hint("mend what is named there, or leave it out");
    };
    let message = match got.split_once(": ") {
        Some(("invalid type" | "invalid value", got)) => format!("{place} can't be {}", value(got)),
        _ => format!("{place}: {}", got.replace('`', "")),
    };
    Error::usage(code, message).hint(format!("give {}", words(wanted)))
}

/// A value as it was written, without the name of its type.
fn value(got: &str) -> &str {
    let quoted = |mark: char| got.find(mark).and_then(|at| got.get(at..)).filter(|text| text.len() > 1);
    match got {
        "map" => "a dict",
        "sequence" => "a list",
        "null" => "None",
        "boolean `true`" => "True",
        "boolean `false`" => "False",
        _ => quoted('"').unwrap_or_else(|| quoted('`').unwrap_or(got).trim_matches('`')),
    }
}

/// What would do, for people.
fn words(wanted: &str) -> String {
    if let Some(bits) = wanted.strip_prefix('u') {
        let bits: u32 = bits.parse().unwrap_or(usize::BITS);
        return format!("a whole number from 0 up, and below 2**{bits}");
    }
    match wanted {
        "f32" | "f64" => "a finite number".to_owned(),
        "a boolean" => "True or False".to_owned(),
        "a string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ if wanted.starts_with("struct ") => "a dict".to_owned(),
        _ => wanted.replace('`', ""),
    }
}

/// Checks options that are those of a turn: each may be left out. Raises a `UsageError` that names the first that can't
/// be.
#[pyfunction]
pub(super) fn check_options(options: &Bound<'_, PyAny>) -> PyResult<()> {
    parse::<TurnConfig>(options, "invalid_option")?.check_numbers().map_err(|error| errors::exception(&error))
}
