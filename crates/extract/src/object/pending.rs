//! One call on its way: its name, its id and its arguments, whichever comes first, and what was mended so far.

use serde_json::Value;

use super::super::{
    arguments::{Arguments, BROKEN},
    body::{Sink, Step},
    json::Mend,
};
use super::guard::{Guard, is_word};

/// One call on its way.
#[allow(clippy::struct_excessive_bools)] // each says one thing of a call
#[derive(Debug, Default, Clone)]
pub(super) struct Pending {
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    pub(super) started: bool,
    pub(super) arguments: Option<Arguments>,
    /// The arguments are at their end.
    pub(super) whole: bool,
    /// Why it must not run, whatever follows.
    pub(super) spoilt: Option<&'static str>,
    /// Arguments that came before the name.
    pub(super) held: String,
    /// What was mended, each kind once.
    pub(super) mends: Vec<&'static str>,
    /// The object isn't put together as one should be: arguments that weren't found may have stood in it.
    pub(super) odd: bool,
    /// It may be the definition of a tool: it isn't said before its end.
    pub(super) guarded: bool,
    /// Whether its arguments are a schema, as far as that is known.
    pub(super) guard: Guard,
    /// How many bytes stood before its arguments that nobody spoke for.
    pub(super) before: usize,
    /// And up to where what is held of them stands.
    pub(super) held_to: usize,
    /// What had to be mended made a name of it that no tool has: it is none.
    pub(super) withheld: bool,
    /// It has members that no call has.
    pub(super) beside: bool,
    /// It began in a string of the call before, which had no end.
    pub(super) resumed: bool,
    /// A quotation mark stood where none can: what follows may stand in a string.
    pub(super) doubt: bool,
    /// It has a description.
    pub(super) described: bool,
    /// A brace stands in a key of it. If anything had to be mended, that key's own end is missing, and the next call's
    /// beginning is in it.
    pub(super) braced: bool,
}

impl Pending {
    /// Whether anything of it was read.
    pub(super) fn is_begun(&self) -> bool {
        self.started
            || self.whole
            || self.name.is_some()
            || self.id.is_some()
            || self.spoilt.is_some()
            || !self.mends.is_empty()
    }

    /// Starts the call if its name is known.
    pub(super) fn start(&mut self, bytes: usize, sink: &mut dyn Sink) -> bool {
        let Some(name) = self.name.as_deref().filter(|_| !self.started && !self.guarded && !self.withheld) else {
            return false;
        };
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

    /// Whether it is a tool's definition, echoed: its parameters are a schema, or it describes itself. What the tool
    /// has parameters for shows no schema by itself.
    pub(super) fn is_definition(&self, sink: &dyn Sink) -> bool {
        let declared = |key: &str| self.name.as_deref().is_some_and(|name| sink.declares(name, key));
        let schema = || {
            let Ok(Value::Object(held)) = serde_json::from_str(&self.held) else { return false };
            let typed = held.get("type").is_some_and(|kind| kind == "object");
            let properties = held.get("properties").and_then(Value::as_object);
            let described = match (declared("type"), declared("properties")) {
                (false, false) => typed || properties.is_some(),
                (true, false) => properties.is_some(),
                (false, true) => typed,
                (true, true) => typed && properties.is_some_and(|each| each.values().all(Value::is_object)),
            };
            described && held.keys().all(|key| is_word(key))
        };
        self.guarded && (self.described || schema())
    }

    /// Lets the call begin if what is held of its arguments shows that it is one. Gives how many bytes that speaks for.
    pub(super) fn let_go(&mut self, sink: &mut dyn Sink) -> usize {
        if !self.guarded || self.described || self.started {
            return 0;
        }
        let (guard, name) = (&mut self.guard, self.name.as_deref());
        let declared = |key: &str| name.is_some_and(|name| sink.declares(name, key));
        let mut looked = 0;
        let is_call = guard.is_call(&self.held, declared, &mut looked);
        sink.looked(looked);
        if !is_call {
            return 0;
        }
        self.guarded = false;
        let (before, all) = (self.before, self.held_to.max(self.before));
        if !self.start(before, sink) {
            return 0;
        }
        sink.arguments("", all - before);
        all
    }

    /// Something was given once more, and other than before. Where nothing may be mended, whoever hears of it sees to
    /// that.
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
