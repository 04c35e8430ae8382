//! Streams in both directions: chunks without names, then `[DONE]`.
//!
//! Servers differ in how they cut tool calls: by index, by id, whole calls under one index, without any of the two. All
//! of that gives the calls that a whole answer would have had. A stream ends well once a finish reason was seen, also
//! without `[DONE]`; the usage may come before or after it. Blocks stand in the order in which they began.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::{Decode, failure::decode_inner_failure, searches};
use loopwright_base::{
    error::{Failure, FailureKind, Result},
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, ToolUse},
    request::{Delta, Response},
};

use super::{
    WIRE,
    gather::{Gathered, join_details},
    message::{refusal_text, thinking},
    object::{kept, kept_key},
    parse::{self, Answer, Body, Call, Choice, Obj, Part, string},
    response::{Ids, WANTED_BACK, carried_failure, choice_failure, invalid, stop_reason},
};

/// The events of an answer may not be longer than this together.
const MAX_STREAM_BYTES: usize = 256 << 20;
/// How often the arguments of one call are looked at to tell a next call from a repeated name.
const MAX_LOOKS: u8 = 16;

/// A block that is being written.
#[derive(Debug)]
enum Slot {
    Text(String),
    Refusal(String),
    Thinking { field: &'static str, text: String },
    Call(usize),
}

/// A tool call that is being written.
#[derive(Debug, Default)]
struct Pending {
    /// The server's id, to know the call again.
    id: Option<String>,
    /// Our id and the place of the block, once the call was shown.
    shown: Option<(String, usize)>,
    name: String,
    arguments: String,
    looks: u8,
    rest: Gathered,
    function: Gathered,
}

impl Pending {
    fn tool_use(&self) -> ToolUse {
        let id = self.shown.as_ref().map(|(id, _)| id.clone()).unwrap_or_default();
        let mut call = ToolUse::from_text(id, self.name.clone(), self.arguments.clone());
        let mut extra = kept(&self.rest.fields());
        if !self.function.is_empty() {
            extra.set("function", kept(&self.function.fields()).to_raw());
        }
        call.extra = Extra::of(WIRE, extra);
        call
    }
}

/// The usage that was reported.
#[derive(Debug, Default)]
struct Reported {
    own: Option<Raw>,
    /// What stood in another member.
    elsewhere: Option<Raw>,
}

/// Decodes a stream of chunks.
#[derive(Debug, Default)]
pub struct StreamDecoder {
    id: String,
    model: String,
    top: Gathered,
    usage: Reported,
    choice: Gathered,
    message: Gathered,
    logprobs: Gathered,
    slots: Vec<Slot>,
    text: Option<usize>,
    refusal: Option<usize>,
    thinking: Option<usize>,
    calls: Vec<Pending>,
    by_index: HashMap<usize, usize>,
    by_id: HashMap<String, usize>,
    ids: Ids,
    finish: Option<String>,
    /// Whether a page was cited: the provider has searched.
    cited: bool,
    bytes: usize,
    done: bool,
    failed: Option<Failure>,
}

impl Decode for StreamDecoder {
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.done {
            return Ok(());
        }
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        let ended = self.is_ended();
        let taken = self.take(name, data, deltas);
        if let Err(failure) = &taken
            && !ended
        {
            self.failed = Some(failure.clone());
        }
        taken
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_ended(&self) -> bool {
        self.finish.is_some() && self.failed.is_none()
    }

    fn finish(&mut self) -> Result<Response, Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        let Some(finish) = self.finish.as_deref() else {
            return Err(Failure::new(FailureKind::Cut, "the stream ended without a finish reason"));
        };
        let message = self.message();
        let stop = stop_reason(Some(finish), &message);
        Ok(self.response(message, stop))
    }

    /// Text only: reasoning on this wire has no end of its own, and a tool call is whole when the answer is.
    fn partial(&self) -> Option<Response> {
        let text = self.slots.iter().filter_map(|slot| match slot {
            Slot::Text(text) => Some(Block::text(text.clone())),
            Slot::Refusal(text) => Some(Block::Text(refusal_text(text.clone()))),
            Slot::Thinking { .. } | Slot::Call(_) => None,
        });
        let message = Message::new(Role::Assistant, text.collect());
        if message.content.is_empty() {
            return None;
        }
        Some(self.response(message, StopReason::Other("cut".to_owned())))
    }
}

impl StreamDecoder {
    fn take(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let data = data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            self.show_all(deltas);
            // Some servers say that the stream is over, and not why: what they said by then is the answer.
            let says = |slot: &Slot| !matches!(slot, Slot::Thinking { .. });
            if self.finish.is_none() && self.slots.iter().any(says) {
                self.finish = Some(String::new());
            }
            return Ok(());
        }
        self.take_room(data.len(), data)?;
        let Obj(body): Obj<Body<'_>> = serde_json::from_str(data)
            .map_err(|error| invalid(format_args!("a chunk is not what the protocol says ({error})"), data))?;
        if let Some(failure) = carried_failure(&body, data) {
            return Err(failure);
        }
        if name == "error" {
            return Err(decode_inner_failure(data));
        }
        for (slot, key, value) in [(&mut self.id, "id", body.id), (&mut self.model, "model", body.model)] {
            match value.map(|raw| (raw, string(raw))) {
                // Some servers give every chunk an id of its own: the first one names the answer.
                _ if !slot.is_empty() => {}
                Some((_, Some(text))) if !text.is_empty() => *slot = text.into_owned(),
                Some((raw, _)) => self.top.add(key, raw.get(), false)?,
                None => {}
            }
        }
        for (key, value) in &body.rest {
            match key.as_ref() {
                "obfuscation" => {}
                "object" => self.top.add("object", "\"chat.completion\"", false)?,
                key => self.top.add(&kept_key(key), value.get(), false)?,
            }
        }
        if let Some(usage) = body.usage.filter(|usage| usage.get() != "null") {
            self.usage.own = Some(Raw::copied(usage));
        }
        let first = body.choices.as_ref().and_then(|choices| choices.first.as_ref());
        let elsewhere = parse::usage_elsewhere(first, &body.rest);
        self.usage.elsewhere = elsewhere.or(self.usage.elsewhere.take());
        let Some(choices) = body.choices else { return Ok(()) };
        // Choices may come in any order, and each chunk may hold another one.
        let Some(first) = choices.first else { return Ok(()) };
        self.choice(&first, data, deltas)?;
        for other in choices.others {
            let Obj(other): Obj<Choice<'_>> = serde_json::from_str(other.get())
                .map_err(|error| invalid(format_args!("a choice is not what the protocol says ({error})"), data))?;
            self.choice(&other, data, deltas)?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Choice<'_>, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if choice.rest.iter().any(|(key, value)| key == "index" && !matches!(value.get(), "0" | "null")) {
            return Ok(());
        }
        if let Some(failure) = choice_failure(choice) {
            return Err(failure);
        }
        for (key, value) in &choice.rest {
            if key == "logprobs" && value.get().starts_with('{') {
                let fields = Fields::parse(value.get()).unwrap_or_default();
                fields.iter().try_for_each(|(key, value)| self.logprobs.add(key, value.text(), true))?;
            } else {
                self.choice.add(&kept_key(key), value.get(), false)?;
            }
        }
        let whole = choice.message.as_ref().filter(|_| self.slots.is_empty());
        if let Some(delta) = choice.delta.as_ref().or(whole) {
            self.delta(delta, data, deltas)?;
        }
        if let Some(finish) = choice.finish.filter(|finish| finish.get() != "null") {
            let finish = string(finish).ok_or_else(|| invalid("the finish reason is no string", data))?;
            if !finish.is_empty() {
                let first = self.finish.replace(finish.into_owned()).is_none();
                self.show_all(deltas);
                if self.cited && first {
                    let all = self.message.fields();
                    let results = all.get("annotations").and_then(searches::cited_in).unwrap_or_default();
                    deltas.push(Delta::Search(searches::of_citations(&self.id, Some(results))));
                }
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Answer<'_>, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if let Some((field, raw)) = delta.reasoning
            && let Some(text) = string(raw)
        {
            self.reason(field, &text, deltas);
        }
        if let Some(content) = delta.content {
            match string(content) {
                Some(text) => self.say(&text, deltas),
                None if content.get() == "null" => {}
                None => self.parts(content, deltas).ok_or_else(|| invalid("content is no text", data))?,
            }
        }
        if let Some(refusal) = delta.refusal {
            match string(refusal) {
                Some(text) => self.refuse(&text, deltas),
                None if refusal.get() == "null" => self.message.add("refusal", "null", false)?,
                None => return Err(invalid("a refusal is no text", data)),
            }
        }
        for call in &delta.calls {
            self.call(call, data, deltas)?;
        }
        if let Some(function) = &delta.function_call {
            // The form before there were tool calls: one call, without an id.
            let at = if self.calls.is_empty() { self.new_call(data)? } else { 0 };
            self.function(at, function, deltas)?;
        }
        for (key, value) in &delta.rest {
            if key == "annotations" && !self.cited && searches::cited_in(&Raw::copied(value)).is_some() {
                self.cited = true;
                deltas.push(Delta::Search(searches::of_citations(&self.id, None)));
            }
            // A second spelling of the reasoning repeats it.
            if !matches!(key.as_ref(), "reasoning" | "reasoning_content") {
                self.message.add(&kept_key(key), value.get(), true)?;
            }
        }
        Ok(())
    }

    /// The block of a kind, begun if need be.
    fn slot(slots: &mut Vec<Slot>, place: &mut Option<usize>, begin: impl FnOnce() -> Slot) -> usize {
        *place.get_or_insert_with(|| {
            slots.push(begin());
            slots.len() - 1
        })
    }

    fn say(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        self.show_named(self.calls.len().checked_sub(1), deltas);
        let block = Self::slot(&mut self.slots, &mut self.text, || Slot::Text(String::new()));
        if let Some(Slot::Text(all)) = self.slots.get_mut(block) {
            all.push_str(text);
        }
        deltas.push(Delta::Text { block, text: text.to_owned() });
    }

    fn refuse(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        self.show_named(self.calls.len().checked_sub(1), deltas);
        let block = Self::slot(&mut self.slots, &mut self.refusal, || Slot::Refusal(String::new()));
        if let Some(Slot::Refusal(all)) = self.slots.get_mut(block) {
            all.push_str(text);
        }
        deltas.push(Delta::Text { block, text: text.to_owned() });
    }

    fn reason(&mut self, field: &'static str, text: &str, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        self.show_named(self.calls.len().checked_sub(1), deltas);
        let begin = || Slot::Thinking { field, text: String::new() };
        let block = Self::slot(&mut self.slots, &mut self.thinking, begin);
        if let Some(Slot::Thinking { text: all, .. }) = self.slots.get_mut(block) {
            all.push_str(text);
        }
        deltas.push(Delta::Reasoning { block, text: text.to_owned() });
    }

    /// Content as a list of parts, as some servers stream it.
    fn parts(&mut self, content: &RawValue, deltas: &mut Vec<Delta>) -> Option<()> {
        for part in parse::parts(content)? {
            match part {
                Part::Text(text) => self.say(&text, deltas),
                Part::Thinking(text) => self.reason(parse::CONTENT, &text, deltas),
            }
        }
        Some(())
    }

    fn take_room(&mut self, bytes: usize, data: &str) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_STREAM_BYTES { Err(invalid("the stream is too long", data)) } else { Ok(()) }
    }

    fn new_call(&mut self, data: &str) -> Result<usize, Failure> {
        // A call takes up more than the few bytes that announce it.
        self.take_room(size_of::<Pending>(), data)?;
        self.calls.push(Pending::default());
        Ok(self.calls.len() - 1)
    }

    /// The call that a piece belongs to.
    fn find_call(&mut self, call: &Call<'_>, data: &str) -> Result<usize, Failure> {
        let index = match call.index.filter(|index| index.get() != "null") {
            None => None,
            Some(raw) => {
                let index = serde_json::from_str::<usize>(raw.get());
                Some(index.map_err(|_| invalid("the index of a tool call is no number", data))?)
            }
        };
        let id = call.id.and_then(string).filter(|id| !id.is_empty());
        let function = call.function.as_ref();
        let named = function.and_then(|function| function.name).is_some_and(|name| name.get().len() > 2);
        // The id says whose a piece is; without one that is known the index does, and without both it goes on.
        let by_index = index.and_then(|index| self.by_index.get(&index).copied());
        let by_id = id.as_ref().and_then(|id| self.by_id.get(id.as_ref()).copied());
        // A name at another place, behind a whole call with that id, begins a call that was given the same id.
        let elsewhere = |at: usize| named && index.is_some() && by_index != Some(at);
        let by_id = by_id.filter(|at| !(elsewhere(*at) && self.calls.get_mut(*at).is_some_and(Pending::is_whole)));
        let last = self.calls.len().checked_sub(1);
        let goes_on = !named && function.is_some_and(|function| !parse::arguments(function.arguments).is_empty());
        let unknown = by_id.or(by_index).is_none() && (index.is_some() || id.is_some());
        if unknown && goes_on && last.and_then(|at| self.calls.get_mut(at)).is_some_and(Pending::may_go_on) {
            return Ok(last.unwrap_or_default());
        }
        if by_id.is_some() {
            return Ok(by_id.unwrap_or_default());
        }
        let known = by_index.or_else(|| last.filter(|_| index.is_none() && id.is_none()));
        let known = known.filter(|at| {
            let Some(pending) = self.calls.get_mut(*at) else { return false };
            match (&id, &pending.id) {
                // Whole calls one after the other, all under one index.
                (Some(new), Some(old)) => new == old,
                (None, _) if named && !pending.name.is_empty() => !pending.is_whole(),
                _ => true,
            }
        });
        let at = match known {
            Some(at) => at,
            None => self.new_call(data)?,
        };
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        if let Some(id) = id
            && let Some(pending) = self.calls.get_mut(at)
            && pending.id.is_none()
        {
            self.by_id.insert(id.to_string(), at);
            pending.id = Some(id.into_owned());
        }
        Ok(at)
    }

    fn call(&mut self, call: &Call<'_>, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let foreign = call.kind.is_some_and(|kind| !matches!(kind.get(), "\"function\"" | "\"\"" | "null"));
        if foreign && call.function.is_none() {
            return Err(invalid("a stream calls a tool of a kind that is not offered", data));
        }
        let last = self.calls.len().checked_sub(1);
        let at = self.find_call(call, data)?;
        self.show_named(last.filter(|last| *last != at), deltas);
        if let Some(pending) = self.calls.get_mut(at) {
            pending.rest.add_all(&call.rest, true)?;
        }
        match &call.function {
            Some(function) => self.function(at, function, deltas),
            None => Ok(()),
        }
    }

    fn function(&mut self, at: usize, function: &parse::Function<'_>, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let Some(pending) = self.calls.get_mut(at) else { return Ok(()) };
        pending.function.add_all(&function.rest, true)?;
        if pending.shown.is_none()
            && let Some(name) = function.name.and_then(string)
        {
            pending.take_name(&name);
        }
        let arguments = parse::arguments(function.arguments);
        pending.arguments.push_str(&arguments);
        match &pending.shown {
            Some((_, block)) if !arguments.is_empty() => {
                deltas.push(Delta::Arguments { block: *block, text: arguments.into_owned() });
            }
            // More of the name may come, until there are arguments.
            None if !pending.name.is_empty() && !pending.arguments.is_empty() => self.show(at, deltas),
            _ => {}
        }
        Ok(())
    }

    /// Shows a call of which only the name has come, since something else begins.
    fn show_named(&mut self, at: Option<usize>, deltas: &mut Vec<Delta>) {
        if let Some(at) = at.filter(|at| self.calls.get(*at).is_some_and(|call| !call.name.is_empty())) {
            self.show(at, deltas);
        }
    }

    /// Shows a call, with what is there of it.
    fn show(&mut self, at: usize, deltas: &mut Vec<Delta>) {
        let Some(pending) = self.calls.get_mut(at) else { return };
        if pending.shown.is_some() {
            return;
        }
        let block = self.slots.len();
        let id = self.ids.give(pending.id.as_deref().map(Into::into), at);
        self.slots.push(Slot::Call(at));
        pending.shown = Some((id.clone(), block));
        deltas.push(Delta::ToolUse { block, id, name: pending.name.clone() });
        if !pending.arguments.is_empty() {
            deltas.push(Delta::Arguments { block, text: pending.arguments.clone() });
        }
    }

    /// Shows calls that never got a name; no name is the model's mistake, which it will be told.
    fn show_all(&mut self, deltas: &mut Vec<Delta>) {
        for at in 0..self.calls.len() {
            self.show(at, deltas);
        }
    }

    fn message(&self) -> Message {
        let block = |slot: &Slot| match slot {
            Slot::Text(text) => Some(Block::text(text.clone())),
            Slot::Refusal(text) => Some(Block::Text(refusal_text(text.clone()))),
            Slot::Thinking { field, text } => Some(Block::Thinking(thinking(text.clone(), field))),
            Slot::Call(at) => self.calls.get(*at).map(|call| Block::ToolUse(call.tool_use())),
        };
        let mut message = Message::new(Role::Assistant, self.slots.iter().filter_map(block).collect());
        let gathered = self.message.fields();
        let wanted = gathered.iter().filter(|(key, value)| WANTED_BACK.contains(key) && is_full(value));
        let back = |(key, value): (&str, &Raw)| {
            let value = if key == "reasoning_details" { join_details(value) } else { value.clone() };
            (key.to_owned(), value)
        };
        message.extra = Extra::of(WIRE, wanted.map(back).collect());
        message
    }

    /// The answer in the form in which a whole one is kept.
    fn response(&self, message: Message, stop: StopReason) -> Response {
        let mut fields = self.top.fields();
        if !self.id.is_empty() {
            fields.take("id");
        }
        if !self.model.is_empty() {
            fields.take("model");
        }
        if let Some(usage) = &self.usage.own {
            fields.set("usage", usage.clone());
        }
        let mut beside = self.message.fields();
        for key in ["role", "refusal"] {
            if key == "role" || self.refusal.is_some() {
                beside.take(key);
            }
        }
        for key in WANTED_BACK {
            if beside.get(key).is_some_and(is_full) {
                beside.take(key);
            }
        }
        let mut choice = self.choice.fields();
        if !self.logprobs.is_empty() {
            choice.set("logprobs", self.logprobs.fields().to_raw());
        }
        if !beside.is_empty() {
            choice.set("message", beside.to_raw());
        }
        if !choice.is_empty() {
            fields.set("choices", Raw::of(&[choice]));
        }
        let reported = self.usage.own.as_ref().or(self.usage.elsewhere.as_ref());
        Response {
            id: self.id.clone(),
            model: self.model.clone(),
            message,
            stop,
            usage: reported.map(|usage| parse::usage(usage.text())).unwrap_or_default(),
            extra: Some(Box::new(Extra { wire: WIRE, fields })),
            adapted: Vec::new(),
        }
    }
}

impl Pending {
    /// Takes a name, or more of it: some servers repeat it, some send it in pieces.
    fn take_name(&mut self, name: &str) {
        if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else if self.arguments.is_empty() {
            self.name.push_str(name);
        }
    }

    /// Whether a piece without a name may be more of it.
    fn may_go_on(&mut self) -> bool {
        !self.name.is_empty() && !self.is_whole()
    }

    /// Whether the arguments are all there. Asked only where a name comes again, and not for ever: a server that
    /// repeats the name beside every piece must not make us read the arguments each time.
    fn is_whole(&mut self) -> bool {
        if !self.arguments.ends_with('}') || self.looks >= MAX_LOOKS {
            return false;
        }
        self.looks += 1;
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

fn is_full(raw: &Raw) -> bool {
    !matches!(raw.text(), "null" | "[]")
}
