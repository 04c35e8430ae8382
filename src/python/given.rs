//! Histories as Python gives them: dicts of a wire, or the classes of `loopwright.messages`.
//!
//! What most messages are made of is read from the objects as they are. Anything else goes through JSON text, one
//! message at a time, so that what is wrong with one is said of that one; both ways give the same message.

use std::sync::Arc;

use pyo3::{
    exceptions::PyUnicodeError,
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap, SerializeSeq},
};

use super::{context::decode, errors};
use crate::core::{
    error::Error,
    json::{Fields, Raw},
    message::{Block, Extra, Form, Message, ProviderBlock, Role, Text, Thinking, ToolResult, ToolUse, Wire},
};

/// Arguments nested deeper go through Python's own JSON.
const DEPTH: usize = 32;

/// Reads messages of one shape.
pub(super) struct Reader<'a, 'py> {
    /// The wire; our own form without.
    shape: Option<Wire>,
    classes: &'a Classes,
    /// Gives the JSON text of a message, from the message and its place.
    written: &'a Bound<'py, PyAny>,
}

/// The classes of our own messages.
struct Classes {
    message: Py<PyAny>,
    text: Py<PyAny>,
    thinking: Py<PyAny>,
    tool_use: Py<PyAny>,
    tool_result: Py<PyAny>,
}

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || {
        let module = py.import("loopwright.messages")?;
        let class = |name: &str| module.getattr(name).map(Bound::unbind);
        Ok(Classes {
            message: class("Message")?,
            text: class("Text")?,
            thinking: class("Thinking")?,
            tool_use: class("ToolUse")?,
            tool_result: class("ToolResult")?,
        })
    })
}

impl<'a, 'py> Reader<'a, 'py> {
    pub(super) fn new(shape: Option<Wire>, written: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self { shape, classes: classes(written.py())?, written })
    }

    /// All messages of a list.
    pub(super) fn all(&self, given: &Bound<'py, PyList>) -> PyResult<Vec<Arc<Message>>> {
        let mut messages = Vec::with_capacity(given.len());
        for (at, message) in given.iter().enumerate() {
            messages.push(Arc::new(self.one(&message, at)?));
        }
        Ok(messages)
    }

    /// The message that stands at place `at`.
    pub(super) fn one(&self, given: &Bound<'py, PyAny>, at: usize) -> PyResult<Message> {
        let plain = match self.shape {
            None => self.ours(given),
            Some(Wire::Anthropic) => anthropic(given),
            Some(Wire::OpenaiChat) => chat(given),
            Some(_) => None,
        };
        plain.map_or_else(|| self.by_text(given, at), Ok)
    }

    fn by_text(&self, given: &Bound<'py, PyAny>, at: usize) -> PyResult<Message> {
        let written = self.written.call1((given, at))?;
        let text = written.cast::<PyString>()?.to_str().map_err(|error| {
            if !error.is_instance_of::<PyUnicodeError>(given.py()) {
                return error;
            }
            let what = format!("message {at} holds half of a character (a lone surrogate), which no UTF-8 can carry");
            errors::exception(&Error::usage("invalid_text", what).hint("decode its bytes with errors='replace'"))
        })?;
        let named = |what: &str, hint: Option<String>| {
            let error = Error::usage("invalid_message", format!("message {at}: {what}"));
            errors::exception(&error.hint(hint.unwrap_or_else(|| "give messages of one shape".to_owned())))
        };
        let raw = Raw::parse(text).map_err(|error| named(&error.to_string(), None))?;
        if let Some(what) = no_content(given) {
            return Err(named(&what, Some("give text, or a list of parts".to_owned())));
        }
        let message = decode(self.shape, &raw).map_err(|error| named(&error.message, error.hint.clone()))?;
        match foreign(self.shape, &message) {
            Some(what) => Err(named(&what, None)),
            None => Ok(message),
        }
    }

    fn ours(&self, given: &Bound<'py, PyAny>) -> Option<Message> {
        let py = given.py();
        if !given.get_type().is(&self.classes.message) {
            return None;
        }
        nothing(given, intern!(py, "extra"))?;
        let content = given.getattr(intern!(py, "content")).ok()?;
        let content = content.cast_exact::<PyTuple>().ok()?;
        let blocks: Option<Vec<Block>> = content.iter().map(|block| self.block(&block)).collect();
        Some(Message {
            role: Role::named(&attribute(given, intern!(py, "role"))?)?,
            content: blocks?,
            form: form(given)?,
            extra: None,
        })
    }

    fn block(&self, given: &Bound<'py, PyAny>) -> Option<Block> {
        let py = given.py();
        let class = given.get_type();
        nothing(given, intern!(py, "extra"))?;
        if class.is(&self.classes.text) {
            return Some(Block::text(attribute(given, intern!(py, "text"))?));
        }
        if class.is(&self.classes.tool_use) {
            return Some(Block::ToolUse(ToolUse {
                id: attribute(given, intern!(py, "id"))?,
                name: attribute(given, intern!(py, "name"))?,
                input: whole(attribute(given, intern!(py, "input_json"))?)?,
                invalid: perhaps(given, intern!(py, "invalid")).ok()?,
                extra: None,
            }));
        }
        if class.is(&self.classes.tool_result) {
            nothing(given, intern!(py, "failure"))?;
            let content = given.getattr(intern!(py, "content")).ok()?;
            let content = content.cast_exact::<PyTuple>().ok()?;
            let words = |part: Bound<'py, PyAny>| {
                if !part.get_type().is(&self.classes.text) {
                    return None;
                }
                self.block(&part)
            };
            let content: Option<Vec<Block>> = content.iter().map(words).collect();
            return Some(Block::ToolResult(ToolResult {
                id: attribute(given, intern!(py, "id"))?,
                name: attribute(given, intern!(py, "name"))?,
                content: content?,
                form: form(given)?,
                is_error: given.getattr(intern!(py, "is_error")).ok()?.cast_exact::<PyBool>().ok()?.is_true(),
                failure: None,
                extra: None,
            }));
        }
        if class.is(&self.classes.thinking) {
            return Some(Block::Thinking(Thinking {
                text: attribute(given, intern!(py, "text"))?,
                signature: perhaps(given, intern!(py, "signature")).ok()?,
                redacted: perhaps(given, intern!(py, "redacted")).ok()?,
                extra: None,
            }));
        }
        None
    }
}

/// What of a message can only be of another shape, or is nothing that any provider takes.
fn foreign(shape: Option<Wire>, message: &Message) -> Option<String> {
    let shape = shape.filter(|shape| matches!(shape, Wire::Anthropic | Wire::OpenaiChat))?;
    let extra = message.extra.as_ref().map(|extra| &extra.fields);
    let of_message = match shape {
        Wire::OpenaiChat => extra.and_then(|fields| fields.get("tool_calls")).and_then(|calls| {
            let none = calls.is_null() || calls.is_array();
            (!none).then(|| format!("its tool_calls are {}, and no list of calls", shown(calls)))
        }),
        _ => ["tool_calls", "tool_call_id"]
            .into_iter()
            .find(|key| extra.is_some_and(|fields| fields.get(key).is_some()))
            .map(|key| format!("it has {key}, which is Chat Completions', among messages of Anthropic")),
    };
    of_message.or_else(|| {
        message.content.iter().find_map(|block| match block {
            Block::Provider(block) => foreign_block(shape, block),
            _ => None,
        })
    })
}

fn foreign_block(shape: Wire, block: &ProviderBlock) -> Option<String> {
    let kind = block.kind();
    if !block.raw.is_object() {
        return Some(format!("a part of it is {}, and no dict", shown(&block.raw)));
    }
    let fields = Fields::parse(block.raw.text()).ok()?;
    if shape == Wire::OpenaiChat && matches!(kind.as_str(), "tool_use" | "tool_result") {
        return Some(format!("it holds a {kind} block, which is Anthropic's, among messages of Chat Completions"));
    }
    if fields.get("type").is_some_and(|kind| kind.string().is_none())
        || (fields.get("type").is_none() && shape == Wire::Anthropic)
    {
        return Some(format!("a part of it has no type: {}", shown(&block.raw)));
    }
    let lacks = |key: &str| fields.get(key).is_none_or(|value| value.string().is_none());
    let wanted = match kind.as_str() {
        "text" => ["text"].as_slice(),
        "tool_use" => &["id", "name"],
        "tool_result" => &["tool_use_id"],
        _ => &[],
    };
    let key = wanted.iter().find(|key| lacks(key))?;
    Some(format!("its {kind} block has no {key} that is text: {}", shown(&block.raw)))
}

/// The beginning of JSON text.
fn shown(raw: &Raw) -> String {
    raw.text().chars().take(100).collect()
}

fn nothing(given: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<()> {
    given.getattr(name).ok()?.is_none().then_some(())
}

fn string(value: &Bound<'_, PyAny>) -> Option<String> {
    value.cast::<PyString>().ok()?.to_str().ok().map(ToOwned::to_owned)
}

/// Who speaks.
fn role_of(value: &Bound<'_, PyAny>) -> Option<Role> {
    Role::named(value.cast::<PyString>().ok()?.to_str().ok()?)
}

fn attribute(given: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<String> {
    string(&given.getattr(name).ok()?)
}

/// Text, or nothing.
fn perhaps(given: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    given.getattr(name)?.extract()
}

fn form(given: &Bound<'_, PyAny>) -> Option<Form> {
    let value = given.getattr(intern!(given.py(), "form")).ok()?;
    match value.cast::<PyString>().ok()?.to_str().ok()? {
        "auto" => Some(Form::Auto),
        "text" => Some(Form::Text),
        "parts" => Some(Form::Parts),
        _ => None,
    }
}

/// JSON text with nothing around it.
fn whole(text: String) -> Option<Raw> {
    if text.trim().len() != text.len() {
        return None;
    }
    Raw::parse(text).ok()
}

fn member<'py>(dict: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    dict.get_item(key).ok()?
}

fn text_of(dict: &Bound<'_, PyDict>, key: &Bound<'_, PyString>) -> Option<String> {
    string(&member(dict, key)?)
}

fn is(value: &Bound<'_, PyAny>, word: &str) -> bool {
    value.cast::<PyString>().is_ok_and(|text| text.to_str().is_ok_and(|text| text == word))
}

/// What stands where a message's content should, if that is neither text nor a list, which no provider takes.
fn no_content(given: &Bound<'_, PyAny>) -> Option<String> {
    let content = member(given.cast::<PyDict>().ok()?, intern!(given.py(), "content"))?;
    let odd = content.is_instance_of::<PyBool>()
        || content.is_instance_of::<PyInt>()
        || content.is_instance_of::<PyFloat>()
        || content.is_instance_of::<PyDict>();
    let shown =
        odd.then(|| content.repr().map_or_else(|_| "odd".to_owned(), |shown| shown.to_string_lossy().into_owned()))?;
    Some(format!("its content is {}", shown.chars().take(100).collect::<String>()))
}

/// A message of Chat Completions that has nothing beside what every such message has.
fn chat(given: &Bound<'_, PyAny>) -> Option<Message> {
    let py = given.py();
    let dict = given.cast_exact::<PyDict>().ok()?;
    let role = member(dict, intern!(py, "role"))?;
    let content = member(dict, intern!(py, "content"))?;
    if is(&role, "tool") {
        let id = text_of(dict, intern!(py, "tool_call_id"))?;
        let text = string(&content)?;
        let content = if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
        let (name, form) = (String::new(), Form::Auto);
        let result = ToolResult { id, name, content, form, is_error: false, failure: None, extra: None };
        return (dict.len() == 3).then(|| Message::new(Role::User, vec![Block::ToolResult(result)]));
    }
    let role = role_of(&role)?;
    let mut blocks = Vec::new();
    if let Some(text) = string(&content) {
        if text.is_empty() {
            return None;
        }
        blocks.push(Block::text(text));
    }
    if dict.len() == 2 {
        return (!blocks.is_empty()).then(|| Message::new(role, blocks));
    }
    if dict.len() != 3 || role != Role::Assistant || (blocks.is_empty() && !content.is_none()) {
        return None;
    }
    let calls = member(dict, intern!(py, "tool_calls"))?;
    let calls = calls.cast_exact::<PyList>().ok()?;
    if calls.is_empty() {
        return None;
    }
    for call in calls.iter() {
        let call = call.cast_exact::<PyDict>().ok()?;
        let function = member(call, intern!(py, "function"))?;
        let function = function.cast_exact::<PyDict>().ok()?;
        if call.len() != 3 || function.len() != 2 || !is(&member(call, intern!(py, "type"))?, "function") {
            return None;
        }
        let input = text_of(function, intern!(py, "arguments"))?;
        blocks.push(Block::ToolUse(ToolUse {
            id: text_of(call, intern!(py, "id"))?,
            name: text_of(function, intern!(py, "name"))?,
            input: whole(input)?,
            invalid: None,
            extra: None,
        }));
    }
    Some(Message::new(role, blocks))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_legal(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A message of Anthropic that has nothing beside what every such message has.
fn anthropic(given: &Bound<'_, PyAny>) -> Option<Message> {
    let py = given.py();
    let dict = given.cast_exact::<PyDict>().ok()?;
    if dict.len() != 2 {
        return None;
    }
    let role = match role_of(&member(dict, intern!(py, "role"))?)? {
        role @ (Role::User | Role::Assistant) => role,
        // What the wire itself wrote has a mark.
        Role::System | Role::Developer => return None,
    };
    let content = member(dict, intern!(py, "content"))?;
    if let Some(text) = string(&content) {
        let blocks = vec![Block::text(text)];
        let blank = matches!(blocks.first(), Some(Block::Text(text)) if is_blank(&text.text));
        return (!blank).then_some(Message { role, content: blocks, form: Form::Text, extra: None });
    }
    let parts = content.cast_exact::<PyList>().ok()?;
    if parts.is_empty() {
        return None;
    }
    let blocks: Option<Vec<Block>> = parts.iter().map(|part| part_of(&part)).collect();
    Some(Message { role, content: blocks?, form: Form::Parts, extra: None })
}

fn words_of(dict: &Bound<'_, PyDict>) -> Option<Block> {
    let text = text_of(dict, intern!(dict.py(), "text"))?;
    (dict.len() == 2 && !is_blank(&text)).then_some(Block::Text(Text { text, extra: None }))
}

fn part_of(given: &Bound<'_, PyAny>) -> Option<Block> {
    let py = given.py();
    let dict = given.cast_exact::<PyDict>().ok()?;
    let kind = member(dict, intern!(py, "type"))?;
    match kind.cast::<PyString>().ok()?.to_str().ok()? {
        "text" => words_of(dict),
        "tool_use" => {
            let id = text_of(dict, intern!(py, "id"))?;
            let name = text_of(dict, intern!(py, "name"))?;
            let input = member(dict, intern!(py, "input"))?;
            if dict.len() != 4 || !is_legal(&id) || !input.is_exact_instance_of::<PyDict>() {
                return None;
            }
            let input = Raw::written(&Plain { value: &input, depth: 0 }).ok()?;
            Some(Block::ToolUse(ToolUse { id, name, input, invalid: None, extra: None }))
        }
        "tool_result" => {
            let id = text_of(dict, intern!(py, "tool_use_id"))?;
            let content = member(dict, intern!(py, "content"))?;
            let error = member(dict, intern!(py, "is_error"));
            let is_error = match &error {
                None => false,
                Some(value) => value.cast_exact::<PyBool>().ok()?.is_true().then_some(true)?,
            };
            if dict.len() != 3 + usize::from(is_error) || !is_legal(&id) {
                return None;
            }
            let (content, form) = if let Some(text) = string(&content) {
                (vec![Block::text(text)], Form::Text)
            } else {
                let parts = content.cast_exact::<PyList>().ok()?;
                let words = |part: Bound<'_, PyAny>| {
                    let dict = part.cast_exact::<PyDict>().ok()?;
                    is(&member(dict, intern!(py, "type"))?, "text").then(|| words_of(dict)).flatten()
                };
                let blocks: Option<Vec<Block>> = parts.iter().map(words).collect();
                (blocks?, Form::Parts)
            };
            let name = String::new();
            Some(Block::ToolResult(ToolResult { id, name, content, form, is_error, failure: None, extra: None }))
        }
        "thinking" => {
            let text = text_of(dict, intern!(py, "thinking"))?;
            let signature = text_of(dict, intern!(py, "signature")).filter(|signature| !signature.is_empty())?;
            let mark = Extra { wire: Wire::Anthropic, fields: Fields::new() };
            (dict.len() == 3).then(|| {
                let (signature, extra) = (Some(signature), Some(Box::new(mark)));
                Block::Thinking(Thinking { text, signature, redacted: None, extra })
            })
        }
        _ => None,
    }
}

/// Written as Python's own `json` would write it, without white space; what is not plain is an error.
struct Plain<'a, 'py> {
    value: &'a Bound<'py, PyAny>,
    depth: usize,
}

impl Serialize for Plain<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let odd = || S::Error::custom("not plain");
        let Self { value, depth } = *self;
        if depth > DEPTH {
            return Err(odd());
        }
        let depth = depth + 1;
        if let Ok(text) = value.cast_exact::<PyString>() {
            return serializer.serialize_str(text.to_str().map_err(|_| odd())?);
        }
        if value.is_none() {
            return serializer.serialize_unit();
        }
        if let Ok(truth) = value.cast_exact::<PyBool>() {
            return serializer.serialize_bool(truth.is_true());
        }
        if value.is_exact_instance_of::<PyInt>() {
            return serializer.serialize_i64(value.extract().map_err(|_| odd())?);
        }
        if value.is_exact_instance_of::<PyFloat>() {
            let finite = value.extract::<f64>().is_ok_and(f64::is_finite);
            let shown = value.repr().ok().filter(|_| finite).and_then(|shown| whole(shown.to_str().ok()?.to_owned()));
            return shown.ok_or_else(odd)?.serialize(serializer);
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            let mut out = serializer.serialize_seq(None)?;
            for each in list.iter() {
                out.serialize_element(&Plain { value: &each, depth })?;
            }
            return out.end();
        }
        let dict = value.cast_exact::<PyDict>().map_err(|_| odd())?;
        let mut out = serializer.serialize_map(None)?;
        for (key, each) in dict.iter() {
            let key = key.cast_exact::<PyString>().map_err(|_| odd())?;
            out.serialize_entry(key.to_str().map_err(|_| odd())?, &Plain { value: &each, depth })?;
        }
        out.end()
    }
}
