//! Messages as they were taken from Python's objects, before they are made.
//!
//! Only the thread that has the interpreter may read objects, so it does no more than that: it copies short texts, and
//! takes hold of long ones. Whoever has time makes the messages of that, on any thread.

use std::{io, ops::Range, sync::Arc};

use pyo3::{prelude::*, pybacked::PyBackedStr, types::PyString};
use serde::Serialize;

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Form, Message, Role, Text, Thinking, ToolResult, ToolUse, Wire},
};
use loopwright_context::weight;

/// The length up to which a text is copied while others wait for the interpreter.
const SHORT: usize = 192;
/// The weight of a message beside its text, in bytes of text.
const MESSAGE: usize = 64;
/// Messages that are read, and handed over, at a time.
pub(super) const CHUNK: usize = 64;

/// A text of a draft.
pub(super) enum DraftText {
    /// A copy, by its place among all copies of the draft.
    Short(Range<u32>),
    /// A text that stands where Python has it.
    Long(PyBackedStr),
}

/// A block, or a part of the result before it.
pub(super) enum DraftPart {
    Text(DraftText),
    Thinking {
        text: DraftText,
        signature: Option<DraftText>,
        redacted: Option<DraftText>,
        /// The wire that the block came from.
        from: Option<Wire>,
    },
    Use {
        id: DraftText,
        name: DraftText,
        input: DraftText,
        invalid: Option<DraftText>,
    },
    Result {
        id: DraftText,
        name: Option<DraftText>,
        /// The number of the following parts that belong to it.
        parts: usize,
        form: Form,
        is_error: bool,
    },
}

enum DraftMessage {
    /// A message whose parts end before this one.
    Parts(Role, Form, usize),
    /// A message that was read by way of its JSON text.
    Made(Message),
}

/// Some messages, one behind the other.
#[derive(Default)]
pub(super) struct Draft {
    messages: Vec<DraftMessage>,
    parts: Vec<DraftPart>,
    text: String,
    weight: usize,
}

impl Draft {
    /// One with room for so many messages.
    pub(super) fn with_capacity(messages: usize) -> Self {
        Self {
            messages: Vec::with_capacity(messages),
            parts: Vec::with_capacity(messages * 2),
            text: String::with_capacity(messages * 64),
            weight: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.messages.len()
    }

    /// The work of looking at them, in bytes of text.
    pub(super) const fn weight(&self) -> usize {
        self.weight
    }

    /// Adds a message whose parts `read` adds; where it returns none, that is as if it had not been.
    pub(super) fn add(&mut self, read: impl FnOnce(&mut Self) -> Option<(Role, Form)>) -> bool {
        let (parts, text, weight) = (self.parts.len(), self.text.len(), self.weight);
        if let Some((role, form)) = read(self) {
            self.weight = self.weight.saturating_add(MESSAGE);
            self.messages.push(DraftMessage::Parts(role, form, self.parts.len()));
            return true;
        }
        self.parts.truncate(parts);
        self.text.truncate(text);
        self.weight = weight;
        false
    }

    /// Adds a message that was made already.
    pub(super) fn add_made(&mut self, message: Message) {
        self.weight = self.weight.saturating_add(weight(&message));
        self.messages.push(DraftMessage::Made(message));
    }

    pub(super) fn push(&mut self, part: DraftPart) {
        self.parts.push(part);
    }

    /// The text, if the value is one and `fits`.
    pub(super) fn words(&mut self, value: Bound<'_, PyAny>, fits: impl FnOnce(&str) -> bool) -> Option<DraftText> {
        let value = value.cast_into::<PyString>().ok()?;
        let text = value.to_str().ok()?;
        if !fits(text) {
            return None;
        }
        self.weight = self.weight.saturating_add(text.len());
        if text.len() > SHORT {
            return PyBackedStr::try_from(value).ok().map(DraftText::Long);
        }
        let from = u32::try_from(self.text.len()).ok()?;
        self.text.push_str(text);
        Some(DraftText::Short(from..u32::try_from(self.text.len()).ok()?))
    }

    /// The JSON text of a value.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Option<DraftText> {
        let from = self.text.len();
        serde_json::to_writer(StringWriter(&mut self.text), value).ok()?;
        self.weight = self.weight.saturating_add(self.text.len() - from);
        Some(DraftText::Short(u32::try_from(from).ok()?..u32::try_from(self.text.len()).ok()?))
    }

    /// The messages. The draft still holds Python's objects, which are best dropped where the interpreter is.
    pub(super) fn messages(&mut self) -> Vec<Arc<Message>> {
        let (mut at, parts, text) = (0, self.parts.as_slice(), self.text.as_str());
        let one = |outline: DraftMessage| match outline {
            DraftMessage::Made(message) => Arc::new(message),
            DraftMessage::Parts(role, form, end) => {
                let mut content = Vec::with_capacity(end - at);
                while let Some(part) = parts.get(at).filter(|_| at < end) {
                    at += 1;
                    let own = if let DraftPart::Result { parts, .. } = part { *parts } else { 0 };
                    content.push(block(part, parts.get(at..at + own).unwrap_or_default(), text));
                    at += own;
                }
                Arc::new(Message { form, ..Message::new(role, content) })
            }
        };
        std::mem::take(&mut self.messages).into_iter().map(one).collect()
    }
}

fn block(part: &DraftPart, inner: &[DraftPart], all: &str) -> Block {
    let own = |words: &DraftText| match words {
        DraftText::Short(range) => all.get(range.start as usize..range.end as usize).unwrap_or_default().to_owned(),
        DraftText::Long(text) => text.to_string(),
    };
    match part {
        DraftPart::Text(words) => Block::Text(Text { text: own(words), extra: None }),
        DraftPart::Thinking { text, signature, redacted, from } => Block::Thinking(Thinking {
            text: own(text),
            signature: signature.as_ref().map(own),
            redacted: redacted.as_ref().map(own),
            extra: from.map(|wire| Box::new(Extra { wire, fields: Fields::new() })),
        }),
        DraftPart::Use { id, name, input, invalid: Some(invalid) } => Block::ToolUse(ToolUse {
            id: own(id),
            name: own(name),
            input: Raw::parse(own(input)).unwrap_or_default(),
            invalid: Some(own(invalid)),
            extra: None,
        }),
        DraftPart::Use { id, name, input, invalid: None } => {
            Block::ToolUse(ToolUse::from_text(own(id), own(name), own(input)))
        }
        DraftPart::Result { id, name, form, is_error, .. } => Block::ToolResult(ToolResult {
            id: own(id),
            name: name.as_ref().map(own).unwrap_or_default(),
            content: inner.iter().map(|part| block(part, &[], all)).collect(),
            form: *form,
            is_error: *is_error,
            failure: None,
            extra: None,
        }),
    }
}

/// Writes at the end of a text.
struct StringWriter<'a>(&'a mut String);

impl io::Write for StringWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push_str(std::str::from_utf8(bytes).map_err(io::Error::other)?);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
