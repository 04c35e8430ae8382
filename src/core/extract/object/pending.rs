//! One call on its way: its name, its id and its arguments, whichever comes first, and what was mended so far.

use serde_json::Value;

use super::super::{
    arguments::{Arguments, BROKEN},
    body::{Sink, Step},
    json::Mend,
};

/// One call on its way.
#[derive(Debug, Default, Clone)]
pub(super) struct Pending {
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    pub(super) started: bool,
    pub(super) arguments: Option<Arguments>,
    /// The arguments are at their end.
    pub(super) whole: bool,
    /// Arguments that came before the name.
    pub(super) held: String,
    /// What was mended, each kind once.
    pub(super) mends: Vec<&'static str>,
    /// The object isn't put together as one should be: arguments that weren't found may have stood in it.
    pub(super) odd: bool,
    /// It may be the definition of a tool: it isn't said before its end.
    pub(super) guarded: bool,
    /// It has a description.
    pub(super) described: bool,
}

/// What a schema of parameters is made of.
const SCHEMA: [&str; 12] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "description",
    "title",
    "$schema",
    "$defs",
    "definitions",
    "anyOf",
    "oneOf",
    "allOf",
];

impl Pending {
    /// Starts the call if its name is known.
    pub(super) fn start(&mut self, bytes: usize, sink: &mut dyn Sink) -> bool {
        let Some(name) = self.name.as_deref().filter(|_| !self.started && !self.guarded) else { return false };
        sink.start(name, self.id.as_deref(), bytes);
        self.started = true;
        for &how in &self.mends {
            sink.repaired(how);
        }
        if !self.held.is_empty() {
            sink.arguments(&self.held, 0);
            self.held = String::new();
        }
        true
    }

    /// Whether it is a tool's definition, echoed: its parameters are a schema, or it describes itself.
    pub(super) fn is_definition(&self) -> bool {
        let schema = || {
            let Ok(Value::Object(held)) = serde_json::from_str(&self.held) else { return false };
            let typed = held.get("type").is_some_and(|kind| kind == "object");
            (typed || held.get("properties").is_some_and(Value::is_object))
                && held.keys().all(|key| SCHEMA.contains(&key.as_str()))
        };
        self.guarded && (self.described || schema())
    }

    /// Something was given once more, and other than before. Where nothing may be mended, whoever hears of it sees to that.
    pub(super) fn doubled(&mut self, how: &'static str, sink: &mut dyn Sink) {
        if !self.mends.contains(&how) {
            self.mends.push(how);
            if self.started {
                sink.repaired(how);
            }
        }
    }

    pub(super) fn mended(&mut self, what: Mend, sink: &mut dyn Sink) -> Result<(), Step> {
        if !sink.repairs() {
            return Err(Step::Failed(BROKEN));
        }
        self.odd |= matches!(what, Mend::MissingColon | Mend::MissingComma | Mend::Stray);
        if !self.mends.contains(&what.describe()) {
            self.mends.push(what.describe());
            if self.started {
                sink.repaired(what.describe());
            }
        }
        Ok(())
    }
}

/// Where a step stands: bytes spoken for, bytes read.
pub(super) struct Cursor<'a> {
    pub(super) input: &'a [u8],
    pub(super) from: usize,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn rest(&self) -> &'a [u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    /// The bytes read and not yet spoken for, which now are.
    pub(super) fn speak(&mut self) -> usize {
        let bytes = self.at - self.from;
        self.from = self.at;
        bytes
    }
}
