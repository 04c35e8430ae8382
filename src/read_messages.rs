//! Messages from Python: dicts of a wire, or the classes of `loopwright.messages`.
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
use serde_json::value::RawValue;

use super::{
    context::decode,
    draft::{CHUNK, Draft, DraftPart, DraftText},
    errors,
};
use loopwright_base::{
    error::Error,
    json::{Fields, Raw},
    message::{Block, Form, Message, ProviderBlock, Role, Wire},
};

/// Arguments nested deeper go through Python's own JSON.
const DEPTH: usize = 32;

/// A reader of messages of one shape.
pub(super) struct MessageReader<'a, 'py> {
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

impl<'a, 'py> MessageReader<'a, 'py> {
    pub(super) fn new(shape: Option<Wire>, written: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self { shape, classes: classes(written.py())?, written })
    }

    /// All messages of a list.
    pub(super) fn all(&self, given: &Bound<'py, PyList>) -> PyResult<Vec<Arc<Message>>> {
        let mut messages = Vec::with_capacity(given.len());
        let mut draft = Draft::with_capacity(CHUNK);
        for (at, message) in given.iter().enumerate() {
            self.add(&message, at, &mut draft)?;
            if draft.len() == CHUNK {
                messages.append(&mut std::mem::replace(&mut draft, Draft::with_capacity(CHUNK)).messages());
            }
        }
        messages.append(&mut draft.messages());
        Ok(messages)
    }

    /// The message that stands at place `at`.
    pub(super) fn one(&self, given: &Bound<'py, PyAny>, at: usize) -> PyResult<Arc<Message>> {
        let mut draft = Draft::default();
        self.add(given, at, &mut draft)?;
        draft.messages().pop().map_or_else(|| self.by_text(given, at).map(Arc::new), Ok)
    }

    /// Takes the message that stands at place `at` into a draft.
    pub(super) fn add(&self, given: &Bound<'py, PyAny>, at: usize, draft: &mut Draft) -> PyResult<()> {
        let plain = draft.add(|draft| match self.shape {
            None => self.ours(given, draft),
            Some(Wire::Anthropic) => anthropic(given, draft),
            Some(Wire::OpenaiChat) => chat(given, draft),
            Some(_) => None,
        });
        if !plain {
            draft.add_made(self.by_text(given, at)?);
        }
        Ok(())
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

    fn ours(&self, given: &Bound<'py, PyAny>, draft: &mut Draft) -> Option<(Role, Form)> {
        let py = given.py();
        if !given.get_type().is(&self.classes.message) {
            return None;
        }
        nothing(given, intern!(py, "extra"))?;
        nothing(given, intern!(py, "host"))?;
        let content = given.getattr(intern!(py, "content")).ok()?;
        for block in content.cast_exact::<PyTuple>().ok()? {
            self.block(&block, draft)?;
        }
        Some((role_of(&given.getattr(intern!(py, "role")).ok()?)?, form(given)?))
    }

    fn block(&self, given: &Bound<'py, PyAny>, draft: &mut Draft) -> Option<()> {
        let py = given.py();
        let class = given.get_type();
        nothing(given, intern!(py, "extra"))?;
        if class.is(&self.classes.text) {
            let words = attribute(given, intern!(py, "text"), draft, any)?;
            draft.push(DraftPart::Text(words));
        } else if class.is(&self.classes.tool_use) {
            let part = DraftPart::Use {
                id: attribute(given, intern!(py, "id"), draft, any)?,
                name: attribute(given, intern!(py, "name"), draft, any)?,
                input: attribute(given, intern!(py, "input_json"), draft, |text| {
                    is_bare(text) && serde_json::from_str::<&RawValue>(text).is_ok()
                })?,
                invalid: optional_text(given, intern!(py, "invalid"), draft)?,
            };
            draft.push(part);
        } else if class.is(&self.classes.tool_result) {
            nothing(given, intern!(py, "failure"))?;
            let content = given.getattr(intern!(py, "content")).ok()?;
            let content = content.cast_exact::<PyTuple>().ok()?;
            let part = DraftPart::Result {
                id: attribute(given, intern!(py, "id"), draft, any)?,
                name: Some(attribute(given, intern!(py, "name"), draft, any)?),
                parts: content.len(),
                form: form(given)?,
                is_error: given.getattr(intern!(py, "is_error")).ok()?.cast_exact::<PyBool>().ok()?.is_true(),
            };
            draft.push(part);
            for part in content {
                if !part.get_type().is(&self.classes.text) {
                    return None;
                }
                self.block(&part, draft)?;
            }
        } else if class.is(&self.classes.thinking) {
            let part = DraftPart::Thinking {
                text: attribute(given, intern!(py, "text"), draft, any)?,
                signature: optional_text(given, intern!(py, "signature"), draft)?,
                redacted: optional_text(given, intern!(py, "redacted"), draft)?,
                from: None,
            };
            draft.push(part);
        } else {
            return None;
        }
        Some(())
    }
}

/// The part of a message that can only be of another shape, or is nothing that any provider takes.
fn foreign(shape: Option<Wire>, message: &Message) -> Option<String> {
    let shape = shape.filter(|shape| matches!(shape, Wire::Anthropic | Wire::OpenaiChat))?;
    let extra = message.extra.as_ref().map(|extra| &extra.fields);
    let of_message = match shape {
        Wire::OpenaiChat => extra.and_then(|fields| fields.get("tool_calls")).and_then(|calls| {
            let none = calls.is_null() || calls.is_array();
            let some = message.role != Role::Assistant && calls.to::<Vec<Raw>>().is_ok_and(|calls| !calls.is_empty());
            if some {
                return Some("it has tool_calls, which only an assistant's message may have".to_owned());
            }
            (!none).then(|| format!("its tool_calls are {}, and no list of calls", shown(calls)))
        }),
        _ => ["tool_calls", "tool_call_id"]
            .into_iter()
            .find(|key| extra.is_some_and(|fields| fields.get(key).is_some()))
            .map(|key| format!("it has {key}, which is Chat Completions', among messages of Anthropic")),
    };
    of_message.or_else(|| {
        message.content.iter().find_map(|block| match block {
            Block::Provider(block) => foreign_block(shape, block).or_else(|| misplaced(shape, message.role, block)),
            Block::ToolUse(call) if call.name.is_empty() => Some("a tool use of it has no name".to_owned()),
            Block::ToolResult(result) => result.content.iter().find_map(|part| match part {
                Block::Provider(part) => foreign_part(part).or_else(|| match shape {
                    Wire::OpenaiChat => shown_by_users(part),
                    _ => sourceless(part),
                }),
                Block::Image(_) if shape == Wire::OpenaiChat => Some(only_users("image_url")),
                Block::Document(_) if shape == Wire::OpenaiChat => Some(only_users("file")),
                _ => None,
            }),
            _ => None,
        })
    })
}

/// A block that only users show.
fn misplaced(shape: Wire, role: Role, block: &ProviderBlock) -> Option<String> {
    if shape == Wire::OpenaiChat && role != Role::User { shown_by_users(block) } else { None }
}

fn shown_by_users(block: &ProviderBlock) -> Option<String> {
    let kind = block.kind();
    matches!(kind.as_str(), "image_url" | "input_audio" | "file").then(|| only_users(&kind))
}

fn only_users(kind: &str) -> String {
    format!("a part of it is {kind}, which only a user's message may hold")
}

/// The missing part of a picture or document of Anthropic's. Kinds of sources that nobody here knows are let be.
fn sourceless(block: &ProviderBlock) -> Option<String> {
    let kind = block.kind();
    if !matches!(kind.as_str(), "image" | "document") {
        return None;
    }
    let fields = Fields::parse(block.raw.text()).ok()?;
    let source = fields.get("source").and_then(|source| Fields::parse(source.text()).ok());
    let Some(source) = source else {
        return Some(format!("its {kind} block has no source that is a dict: {}", shown(&block.raw)));
    };
    let wanted = match source.get_str("type").as_deref() {
        None => ["type"].as_slice(),
        Some("base64" | "text") => &["media_type", "data"],
        Some("url") => &["url"],
        Some("file") => &["file_id"],
        Some(_) => &[],
    };
    let key = wanted.iter().find(|key| source.get_str(key).is_none())?;
    Some(format!("the source of its {kind} block has no {key} that is text: {}", shown(&block.raw)))
}

/// The reason why a block can be no part of a result.
fn foreign_part(part: &ProviderBlock) -> Option<String> {
    if !part.raw.is_object() {
        return Some(format!("a part of its result is {}, and no dict", shown(&part.raw)));
    }
    let kind = part.kind();
    matches!(kind.as_str(), "tool_use" | "tool_result" | "tool_calls")
        .then(|| format!("a part of its result is {kind}, which no result may hold"))
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
    let content = fields.get("content").filter(|_| kind == "tool_result");
    if let Some(content) = content.filter(|raw| !raw.is_null() && !raw.is_array() && raw.string().is_none()) {
        return Some(format!("its tool_result holds {}, and neither text nor a list", shown(content)));
    }
    let lacks = |key: &str| fields.get(key).is_none_or(|value| value.string().is_none());
    let wanted = match kind.as_str() {
        "text" => ["text"].as_slice(),
        "tool_use" => &["id", "name"],
        "tool_result" => &["tool_use_id"],
        _ => &[],
    };
    let Some(key) = wanted.iter().find(|key| lacks(key)) else {
        return if shape == Wire::Anthropic { sourceless(block) } else { None };
    };
    Some(format!("its {kind} block has no {key} that is text: {}", shown(&block.raw)))
}

/// The beginning of JSON text.
fn shown(raw: &Raw) -> String {
    raw.text().chars().take(100).collect()
}

fn nothing(given: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<()> {
    given.getattr(name).ok()?.is_none().then_some(())
}

/// The role of the author.
fn role_of(value: &Bound<'_, PyAny>) -> Option<Role> {
    Role::named(value.cast::<PyString>().ok()?.to_str().ok()?)
}

/// Accepts any text.
const fn any(_: &str) -> bool {
    true
}

fn attribute(
    given: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    draft: &mut Draft,
    fits: impl FnOnce(&str) -> bool,
) -> Option<DraftText> {
    draft.words(given.getattr(name).ok()?, fits)
}

/// A text, or none.
#[allow(clippy::option_option)] // no text where there is none, and what is neither
fn optional_text(given: &Bound<'_, PyAny>, name: &Bound<'_, PyString>, draft: &mut Draft) -> Option<Option<DraftText>> {
    let value = given.getattr(name).ok()?;
    if value.is_none() { Some(None) } else { draft.words(value, any).map(Some) }
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

/// Returns whether there is text with nothing around it.
fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.trim().len() == text.len()
}

fn member<'py>(dict: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    dict.get_item(key).ok()?
}

fn text_of(
    dict: &Bound<'_, PyDict>,
    key: &Bound<'_, PyString>,
    draft: &mut Draft,
    fits: impl FnOnce(&str) -> bool,
) -> Option<DraftText> {
    draft.words(member(dict, key)?, fits)
}

fn is(value: &Bound<'_, PyAny>, word: &str) -> bool {
    value.cast::<PyString>().is_ok_and(|text| text.to_str().is_ok_and(|text| text == word))
}

/// The value in place of a message's content, if that is neither text nor a list, which no provider takes.
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
fn chat(given: &Bound<'_, PyAny>, draft: &mut Draft) -> Option<(Role, Form)> {
    let py = given.py();
    let dict = given.cast_exact::<PyDict>().ok()?;
    let role = member(dict, intern!(py, "role"))?;
    let content = member(dict, intern!(py, "content"))?;
    let members = dict.len();
    if members == 3 && is(&role, "tool") {
        let id = text_of(dict, intern!(py, "tool_call_id"), draft, any)?;
        let mut parts = 0;
        let words = draft.words(content, |text| {
            parts = usize::from(!text.is_empty());
            true
        })?;
        draft.push(DraftPart::Result { id, name: None, parts, form: Form::Auto, is_error: false });
        if parts > 0 {
            draft.push(DraftPart::Text(words));
        }
        return Some((Role::User, Form::Auto));
    }
    let role = role_of(&role)?;
    if content.is_none() {
        if members == 2 {
            return None;
        }
    } else {
        let words = draft.words(content, |text| !text.is_empty())?;
        draft.push(DraftPart::Text(words));
    }
    if members == 2 {
        return Some((role, Form::Auto));
    }
    if members != 3 || role != Role::Assistant {
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
        let part = DraftPart::Use {
            id: text_of(call, intern!(py, "id"), draft, any)?,
            name: text_of(function, intern!(py, "name"), draft, |name| !name.is_empty())?,
            input: text_of(function, intern!(py, "arguments"), draft, is_bare)?,
            invalid: None,
        };
        draft.push(part);
    }
    Some((Role::Assistant, Form::Auto))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_legal(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A message of Anthropic that has nothing beside what every such message has.
fn anthropic(given: &Bound<'_, PyAny>, draft: &mut Draft) -> Option<(Role, Form)> {
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
    let Ok(parts) = content.cast_exact::<PyList>() else {
        let words = draft.words(content, |text| !is_blank(text))?;
        draft.push(DraftPart::Text(words));
        return Some((role, Form::Text));
    };
    if parts.is_empty() {
        return None;
    }
    for part in parts.iter() {
        part_of(&part, draft)?;
    }
    Some((role, Form::Parts))
}

fn words_of(dict: &Bound<'_, PyDict>, draft: &mut Draft) -> Option<()> {
    if dict.len() != 2 {
        return None;
    }
    let words = text_of(dict, intern!(dict.py(), "text"), draft, |text| !is_blank(text))?;
    draft.push(DraftPart::Text(words));
    Some(())
}

fn part_of(given: &Bound<'_, PyAny>, draft: &mut Draft) -> Option<()> {
    let py = given.py();
    let dict = given.cast_exact::<PyDict>().ok()?;
    let kind = member(dict, intern!(py, "type"))?;
    match kind.cast::<PyString>().ok()?.to_str().ok()? {
        "text" => words_of(dict, draft)?,
        "tool_use" => {
            let input = member(dict, intern!(py, "input"))?;
            if dict.len() != 4 || !input.is_exact_instance_of::<PyDict>() {
                return None;
            }
            let part = DraftPart::Use {
                id: text_of(dict, intern!(py, "id"), draft, is_legal)?,
                name: text_of(dict, intern!(py, "name"), draft, |name| !name.is_empty())?,
                input: draft.json(&PlainJson { value: &input, depth: 0 })?,
                invalid: None,
            };
            draft.push(part);
        }
        "tool_result" => {
            let id = text_of(dict, intern!(py, "tool_use_id"), draft, is_legal)?;
            let content = member(dict, intern!(py, "content"))?;
            let members = dict.len();
            let is_error = members == 4 && {
                let error = member(dict, intern!(py, "is_error"))?;
                error.cast_exact::<PyBool>().ok()?.is_true().then_some(true)?
            };
            if members != 3 + usize::from(is_error) {
                return None;
            }
            let Ok(parts) = content.cast_exact::<PyList>() else {
                let words = draft.words(content, any)?;
                draft.push(DraftPart::Result { id, name: None, parts: 1, form: Form::Text, is_error });
                draft.push(DraftPart::Text(words));
                return Some(());
            };
            draft.push(DraftPart::Result { id, name: None, parts: parts.len(), form: Form::Parts, is_error });
            for part in parts.iter() {
                let dict = part.cast_exact::<PyDict>().ok()?;
                if !is(&member(dict, intern!(py, "type"))?, "text") {
                    return None;
                }
                words_of(dict, draft)?;
            }
        }
        "thinking" => {
            if dict.len() != 3 {
                return None;
            }
            let part = DraftPart::Thinking {
                text: text_of(dict, intern!(py, "thinking"), draft, any)?,
                signature: Some(text_of(dict, intern!(py, "signature"), draft, |text| !text.is_empty())?),
                redacted: None,
                from: Some(Wire::Anthropic),
            };
            draft.push(part);
        }
        _ => return None,
    }
    Some(())
}

/// A serializer that writes as Python's own `json` would, without white space; an object that is not plain is an error.
struct PlainJson<'a, 'py> {
    value: &'a Bound<'py, PyAny>,
    depth: usize,
}

impl Serialize for PlainJson<'_, '_> {
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
            let shown = value.repr().ok().filter(|_| finite);
            let shown = shown.and_then(|shown| Raw::parse(shown.to_str().ok()?.to_owned()).ok());
            return shown.ok_or_else(odd)?.serialize(serializer);
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            let mut out = serializer.serialize_seq(None)?;
            for each in list.iter() {
                out.serialize_element(&PlainJson { value: &each, depth })?;
            }
            return out.end();
        }
        let dict = value.cast_exact::<PyDict>().map_err(|_| odd())?;
        let mut out = serializer.serialize_map(None)?;
        for (key, each) in dict.iter() {
            let key = key.cast_exact::<PyString>().map_err(|_| odd())?;
            out.serialize_entry(key.to_str().map_err(|_| odd())?, &PlainJson { value: &each, depth })?;
        }
        out.end()
    }
}
