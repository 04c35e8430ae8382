//! Responses of models written in Python, read from their objects.
//!
//! Everything in an answer that is plain (exact text, numbers, dicts and lists) is read where it stands and comes to
//! the very event that its canonical form would give; anything else is left to that form, with its errors.

use std::fmt::Write as _;

use pyo3::{
    intern,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

use loopwright_base::{
    json::Raw,
    message::{Block, Message, Role, StopReason, Thinking, ToolUse, Usage},
    request::Response,
};

/// The depth of arguments up to which they are read from objects; deeper ones go through JSON.
const MAX_DEPTH: usize = 32;

/// The response in a `loopwright.models.Response`, or text; `None` if not all of it is plain.
pub(super) fn response(answer: &Bound<'_, PyAny>, turn: usize) -> Option<Response> {
    let py = answer.py();
    let mut content = Vec::with_capacity(2);
    let (mut stop, mut model, mut usage) = (StopReason::EndTurn, String::new(), Usage::default());
    if answer.is_exact_instance_of::<PyString>() {
        prose(answer, &mut content)?;
    } else {
        let reasoning = text(&answer.getattr(intern!(py, "reasoning")).ok()?)?;
        if !reasoning.is_empty() {
            content.push(Block::Thinking(Thinking { text: reasoning, ..Thinking::default() }));
        }
        prose(&answer.getattr(intern!(py, "text")).ok()?, &mut content)?;
        let calls = answer.getattr(intern!(py, "calls")).ok()?;
        if calls.is_exact_instance_of::<PyList>() || calls.is_exact_instance_of::<PyTuple>() {
            for (place, call) in calls.try_iter().ok()?.enumerate() {
                content.push(Block::ToolUse(tool_use(&call.ok()?, turn, place)?));
                stop = StopReason::ToolUse;
            }
        } else {
            return None;
        }
        let said = answer.getattr(intern!(py, "stop")).ok()?;
        if !said.is_none() {
            let said = text(&said)?;
            if !said.is_empty() {
                stop = serde_json::from_value(said.as_str().into()).unwrap_or(StopReason::Other(said));
            }
        }
        model = text(&answer.getattr(intern!(py, "model")).ok()?)?;
        usage.input = count(&answer.getattr(intern!(py, "input_tokens")).ok()?)?;
        usage.output = count(&answer.getattr(intern!(py, "output_tokens")).ok()?)?;
    }
    let message = Message::new(Role::Assistant, content);
    Some(Response { id: format!("response_{turn}"), model, message, stop, usage, extra: None, adapted: Vec::new() })
}

fn prose(value: &Bound<'_, PyAny>, content: &mut Vec<Block>) -> Option<()> {
    let said = text(value)?;
    if !said.is_empty() {
        content.push(Block::text(said));
    }
    Some(())
}

fn tool_use(call: &Bound<'_, PyAny>, turn: usize, place: usize) -> Option<ToolUse> {
    let py = call.py();
    let mut id = text(&call.getattr(intern!(py, "call_id")).ok()?)?;
    if id.is_empty() {
        id = format!("call_{turn}_{place}");
    }
    let name = text(&call.getattr(intern!(py, "name")).ok()?)?;
    let arguments = call.getattr(intern!(py, "arguments")).ok()?;
    if arguments.is_exact_instance_of::<PyString>() {
        return None;
    }
    let mut json = String::with_capacity(64);
    write(&arguments, &mut json, 0)?;
    Some(ToolUse { id, name, input: Raw::parse(json).ok()?, invalid: None, extra: None })
}

fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    let text = value.cast_exact::<PyString>().ok()?;
    // Halves of characters have no UTF-8.
    text.to_str().ok().map(str::to_owned)
}

fn count(value: &Bound<'_, PyAny>) -> Option<u64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// JSON as Python's own `json.dumps` writes it.
fn write(value: &Bound<'_, PyAny>, json: &mut String, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return quote(text.to_str().ok()?, json);
    }
    if let Ok(members) = value.cast_exact::<PyDict>() {
        json.push('{');
        for (at, (key, member)) in members.iter().enumerate() {
            if at > 0 {
                json.push_str(", ");
            }
            quote(key.cast_exact::<PyString>().ok()?.to_str().ok()?, json)?;
            json.push_str(": ");
            write(&member, json, depth + 1)?;
        }
        json.push('}');
    } else if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
        json.push('[');
        for (at, item) in value.try_iter().ok()?.enumerate() {
            if at > 0 {
                json.push_str(", ");
            }
            write(&item.ok()?, json, depth + 1)?;
        }
        json.push(']');
    } else if value.is_none() {
        json.push_str("null");
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        json.push_str(if flag.is_true() { "true" } else { "false" });
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        write!(json, "{}", number.extract::<i64>().ok()?).ok()?;
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        if !number.value().is_finite() {
            return None;
        }
        json.push_str(number.repr().ok()?.to_str().ok()?);
    } else {
        return None;
    }
    Some(())
}

fn quote(text: &str, json: &mut String) -> Option<()> {
    json.push('"');
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"' && *byte != b'\\';
    if text.as_bytes().iter().all(plain) {
        json.push_str(text);
    } else {
        let mut units = [0; 2];
        for sign in text.chars() {
            match sign {
                '"' => json.push_str("\\\""),
                '\\' => json.push_str("\\\\"),
                '\n' => json.push_str("\\n"),
                '\r' => json.push_str("\\r"),
                '\t' => json.push_str("\\t"),
                '\u{c}' => json.push_str("\\f"),
                '\u{8}' => json.push_str("\\b"),
                ' '..='~' => json.push(sign),
                _ => {
                    for unit in sign.encode_utf16(&mut units) {
                        write!(json, "\\u{unit:04x}").ok()?;
                    }
                }
            }
        }
    }
    json.push('"');
    Some(())
}
