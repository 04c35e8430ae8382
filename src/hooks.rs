//! Answers of hooks, and commands as the next hook sees them.

use std::sync::Arc;

use pyo3::PyResult;

use super::{convert, errors};
use loopwright_base::{error::Result, json::Raw, request::Request};
use loopwright_machine::{self as machine, Command, HookStage, HookSubject};

/// The answer of that kind.
pub(super) fn answer_of(kind: &str, text: String, stop: bool) -> PyResult<machine::HookAnswer> {
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

/// The command after an answer: a `hook` with another subject after a `replace`, a `generate` with another request as
/// at the stage before it.
pub(super) fn after(command: &Arc<Command>, answer: &machine::HookAnswer) -> PyResult<Arc<Command>> {
    let stage = match &**command {
        Command::Hook { stage, .. } => *stage,
        Command::Generate { .. } => HookStage::PreLlm,
        _ => {
            return Err(errors::usage(
                "invalid_value",
                "only a `hook` and a `generate` command have answers",
                "give a command whose `kind` is \"hook\" or \"generate\"",
            ));
        }
    };
    machine::check_answer(stage, answer).map_err(|error| errors::exception(&error))?;
    let machine::HookAnswer::Replace { value } = answer else { return Ok(command.clone()) };
    let mut new = (**command).clone();
    match &mut new {
        Command::Hook { subject, .. } => subject.replace(value),
        Command::Generate { request, .. } => replace_request(request, value),
        _ => Ok(()),
    }
    .map_err(|error| errors::exception(&error))?;
    Ok(Arc::new(new))
}

fn replace_request(request: &mut Box<Request>, value: &Raw) -> Result<()> {
    let mut subject = HookSubject::Request { request: request.clone() };
    subject.replace(value)?;
    if let HookSubject::Request { request: new } = subject {
        *request = new;
    }
    Ok(())
}
