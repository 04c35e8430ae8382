//! Extraction for Python: the parser, its events as objects, what a whole text holds, calls written in a dialect.
//! An event costs one small object; a long text is read with the interpreter free for others.

mod events;
mod json;
mod result;
mod tools;

use std::{borrow::Cow, sync::Mutex};

use pyo3::{
    prelude::*,
    sync::MutexExt,
    types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString},
};

pub(super) use json::{FoundJson, Repair, Repaired, find_json, repair_json, schema_fault};

use self::events::{Place, object};
pub(super) use self::{
    events::{ArgumentsDelta, CallFinished, CallStarted, Markup, Problem, ReasoningDelta, TextDelta, problem_kinds},
    result::{ExtractedCall, Extraction, Region},
    tools::PreparedTools,
};
use super::errors;
use loopwright_base::message::{ToolResult, ToolUse};
use loopwright_extract::{self as extract, Events, Parser, Policy, Quoted, UnknownTool};

/// Texts longer than this are read with the interpreter free for others.
const LONG: usize = 64 * 1024;

/// The bytes of text or bytes. Lone surrogates, which UTF-8 can't carry, become bytes that are no UTF-8.
fn bytes<'a>(data: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = data.cast::<PyString>() {
        if let Ok(text) = text.to_str() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
        return Ok(Cow::Owned(encoded.cast_into::<PyBytes>()?.as_bytes().to_vec()));
    }
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    if let Ok(bytes) = data.cast::<PyByteArray>() {
        return Ok(Cow::Owned(bytes.to_vec()));
    }
    if data.cast::<PyMemoryView>().is_ok() {
        let copied = data.call_method0("tobytes")?;
        return Ok(Cow::Owned(copied.cast_into::<PyBytes>()?.as_bytes().to_vec()));
    }
    let message = format!("a parser takes str or bytes, not {}", data.get_type().name()?);
    Err(errors::usage("invalid_value", message, "give a str, or the bytes of one"))
}

fn choice(value: &str, knob: &str, usual: &str, other: &str) -> PyResult<bool> {
    if value == usual || value == other {
        return Ok(value == other);
    }
    let message = format!("{knob} is {usual:?} or {other:?}, not {value:?}");
    Err(errors::usage("invalid_value", message, "give one of these two"))
}

fn known_dialect(name: &str) -> PyResult<&'static extract::Dialect> {
    extract::known_dialect(name).map_err(|error| errors::exception(&error))
}

struct ParserState {
    parser: Parser,
    events: Events,
    finished: bool,
    /// Whether it was fed.
    fed: bool,
}

/// What a parser is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Piece,
    End,
    Whole,
}

/// Reads a reply in pieces, as it is written.
#[pyclass(frozen, subclass, name = "ToolCallParser", module = "loopwright.extraction")]
pub(super) struct ToolCallParser(Mutex<ParserState>);

impl ToolCallParser {
    fn with<T>(
        &self,
        py: Python<'_>,
        long: bool,
        part: Part,
        work: impl FnOnce(&mut Parser, &mut Events) + Send,
        tell: impl FnOnce(Python<'_>, &Events) -> PyResult<T>,
    ) -> PyResult<T> {
        // Whoever waits here lets the interpreter go: the one inside may need it to go on.
        let mut guard = self.0.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        let state = &mut *guard;
        if state.finished {
            return Err(errors::usage("finished", "the parser has finished", "make a new parser for the next reply"));
        }
        if part == Part::Whole && state.fed {
            let hint = "call finish() for the rest, or make a new parser for another text";
            return Err(errors::usage(
                "in_use",
                "whole() reads a text from its beginning, and this parser was fed",
                hint,
            ));
        }
        state.fed = true;
        state.finished = part != Part::Piece;
        state.events.clear();
        if long {
            py.detach(|| work(&mut state.parser, &mut state.events));
        } else {
            work(&mut state.parser, &mut state.events);
        }
        tell(py, &state.events)
    }
}

fn objects(py: Python<'_>, events: &Events) -> PyResult<Py<PyList>> {
    let objects = PyList::empty(py);
    for event in events.iter() {
        objects.append(object(py, event)?)?;
    }
    Ok(objects.unbind())
}

#[pymethods]
impl ToolCallParser {
    #[new]
    #[pyo3(signature = (tools=None, dialects=None, *, quoted_calls="ignore", reasoning_calls="ignore", unknown_tool="text", bare_json=false, starts_in_reasoning=false, repair=true, max_calls=128, max_argument_bytes=16_777_216, max_depth=128))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn new(
        tools: Option<&Bound<'_, PreparedTools>>,
        dialects: Option<Vec<String>>,
        quoted_calls: &str,
        reasoning_calls: &str,
        unknown_tool: &str,
        bare_json: bool,
        starts_in_reasoning: bool,
        repair: bool,
        max_calls: usize,
        max_argument_bytes: usize,
        max_depth: usize,
    ) -> PyResult<Self> {
        let policy = Policy {
            quoted_calls: if choice(quoted_calls, "quoted_calls", "ignore", "run")? {
                Quoted::Run
            } else {
                Quoted::Ignore
            },
            reasoning_calls: choice(reasoning_calls, "reasoning_calls", "ignore", "run")?,
            unknown_tools: if choice(unknown_tool, "unknown_tool", "text", "call")? {
                UnknownTool::Call
            } else {
                UnknownTool::Text
            },
            bare_json,
            starts_in_reasoning,
            repair,
            max_calls,
            max_argument_bytes,
            max_depth,
        };
        let tools = tools.map(|tools| tools.get().signatures.clone());
        let names: Option<Vec<&str>> = dialects.as_ref().map(|names| names.iter().map(String::as_str).collect());
        for name in names.iter().flatten() {
            known_dialect(name)?;
        }
        let parser = Parser::new(tools, names.as_deref(), policy);
        Ok(Self(Mutex::new(ParserState { parser, events: Events::new(), finished: false, fed: false })))
    }

    /// Takes the next piece, cut anywhere; gives the events it completes.
    fn feed(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Py<PyList>> {
        let bytes = bytes(data)?;
        self.with(py, bytes.len() > LONG, Part::Piece, |parser, events| parser.feed(&bytes, events), objects)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let state = self.0.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        format!("<ToolCallParser {}>", if state.finished { "finished" } else { "in use" })
    }

    /// Takes a whole text: fed once, and finished.
    fn whole(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Extraction> {
        let bytes = bytes(text)?;
        let work = |parser: &mut Parser, events: &mut Events| {
            parser.feed(&bytes, events);
            parser.finish(events);
        };
        self.with(py, bytes.len() > LONG, Part::Whole, work, Extraction::of)
    }

    /// Says that nothing follows; gives the last events.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        self.with(py, false, Part::End, Parser::finish, objects)
    }
}

/// Calls (JSON text of a list of tool uses) as a dialect writes them.
#[pyfunction]
pub(super) fn render_calls(calls: &str, dialect: &str) -> PyResult<String> {
    let calls: Vec<ToolUse> = serde_json::from_str(calls).map_err(|error| {
        errors::usage("invalid_value", format!("these are no tool calls: {error}"), "give a list of tool_use blocks")
    })?;
    extract::render_calls(&calls, known_dialect(dialect)?).map_err(|error| {
        errors::usage(
            "unwritable",
            format!("{error} ({dialect})"),
            "choose a dialect that can write it; `dialects()` tells them",
        )
    })
}

/// Results (JSON text of a list of tool results) as the models of a dialect are given them; `None`: as `<tool_result>`.
#[pyfunction]
#[pyo3(signature = (results, dialect=None))]
pub(super) fn render_results(results: &str, dialect: Option<&str>) -> PyResult<String> {
    let results: Vec<ToolResult> = serde_json::from_str(results).map_err(|error| {
        errors::usage(
            "invalid_value",
            format!("these are no tool results: {error}"),
            "give a list of tool_result blocks",
        )
    })?;
    let dialect = dialect.map(known_dialect).transpose()?;
    Ok(extract::render_results(&results, dialect))
}

/// The name of the dialect that a model is known to write.
#[pyfunction]
pub(super) fn dialect_for(model: &str) -> Option<&'static str> {
    extract::dialect_for(model).map(|dialect| dialect.name)
}

/// Whether a model's raw reply is known to begin inside reasoning.
#[pyfunction]
pub(super) fn reasoning_for(model: &str) -> bool {
    extract::starts_in_reasoning(model)
}

/// Every dialect: its name, who writes it, and a call as it writes it.
#[pyfunction]
pub(super) fn dialects() -> Vec<(&'static str, &'static str, String)> {
    extract::dialects().iter().map(|dialect| (dialect.name, dialect.models, dialect.example())).collect()
}
