//! What a hook answered, as Python names it.

use pyo3::PyResult;

use super::{convert, errors};
use loopwright_base::json::Raw;
use loopwright_machine as machine;

/// The answer of a hook, from its name and its text.
pub(super) fn hook_answer(kind: &str, text: String, stop: bool) -> PyResult<machine::HookAnswer> {
    use machine::HookAnswer as A;
    Ok(match kind {
        "continue" => A::Continue,
        "replace" => A::Replace {
            value: Raw::parse(text).map_err(|error| {
                errors::usage(
                    "invalid_value",
                    format!("the replacement is no JSON: {error}"),
                    "give JSON of the kind that the stage gives",
                )
            })?,
        },
        "veto" => A::Veto { reason: text },
        "add_context" => A::AddContext { text },
        "ask" => A::Ask { reason: text },
        "offer" => {
            A::Offer { tools: convert::from_json(&text, ("invalid_answer", "invalid tools"), "give a list of tools")? }
        }
        "failed" => A::Failed { error: text, stop },
        other => {
            return Err(errors::usage(
                "invalid_value",
                format!("{other:?} is no answer of a hook"),
                "use \"continue\", \"replace\", \"veto\" or \"add_context\"",
            ));
        }
    })
}
