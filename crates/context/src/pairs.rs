//! Legal histories: what a provider would refuse is repaired, and said.
//!
//! After this every tool use has its result directly behind it and every result its use, no id stands twice, results
//! stand first in their message, and no message is empty. A history that is legal already is left alone, to the byte;
//! tool uses at the very end may still wait for their results.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashSet},
    hash::BuildHasherDefault,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Block, Form, Message, ProviderBlock, Role, ToolFailure, ToolResult, Wire},
};
use loopwright_wire::{anthropic, openai_chat};

use super::{
    facts::{Facts, are_legal},
    ids::{Call, Ids, Open, said, with_names},
    terms::{self, Set},
};

/// A message of a history, and the place it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The message.
    pub message: Arc<Message>,
    /// Its index in the history given; `None` for one that had to be made.
    pub origin: Option<usize>,
    /// Whether it is no longer as it was given.
    pub changed: bool,
}

/// What had to be put right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The message, by its index in the history given.
    pub message: usize,
    /// What was wrong, and what was done about it.
    pub what: String,
}

/// How a history that had to be put right ends: what may still come for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// The uses at the very end, which wait for their results.
    pub(super) open: Open,
    /// The ids of uses that were said to have none.
    pub(super) given_up: HashSet<String>,
    /// All that was done.
    pub(super) repairs: Vec<Repair>,
}

/// A history that was put right: the messages, what was done, and how it ends where uses and results were paired anew.
pub(super) type Repaired = (Vec<Placed>, Vec<Repair>, Option<Rest>);

const MISSING: &str = "no result was recorded for this tool use";
pub(super) const SPOKE_FIRST: &str = "a model spoke first; a line of the user stands before it";
const OPENING: &str = "[The conversation goes on from here.]";

/// The same where much is known of the messages already: those that are legal are not looked at again.
pub(super) fn repair_known(messages: &[Arc<Message>], facts: &[Facts], wire: Option<Wire>) -> Result<Repaired> {
    if !are_legal(facts, wire) {
        return repair_all(messages, wire);
    }
    let placed = |(index, message): (usize, &Arc<Message>)| Placed {
        message: message.clone(),
        origin: Some(index),
        changed: false,
    };
    Ok((messages.iter().enumerate().map(placed).collect(), Vec::new(), None))
}

/// Trims an answer that the model is to go on with: Anthropic refuses one that ends in white space. Whether it did.
pub(super) fn trim_end(placed: &mut [Placed], repairs: &mut Vec<Repair>, wire: Option<Wire>) -> bool {
    let Some(last) = placed.last_mut() else { return false };
    let Some(trimmed) = trimmed(&last.message, wire) else { return false };
    last.message = trimmed;
    last.changed = true;
    if let Some(message) = last.origin {
        repairs.push(said_trimmed(message));
        repairs.sort_by_key(|repair| repair.message);
    }
    true
}

/// An answer without the white space at its end, with which Anthropic would not let the model go on from it.
pub(super) fn trimmed(message: &Message, wire: Option<Wire>) -> Option<Arc<Message>> {
    if wire != Some(Wire::Anthropic) || message.role != Role::Assistant {
        return None;
    }
    let Some(Block::Text(text)) = message.content.last() else { return None };
    let kept = text.text.trim_end().len();
    if kept == 0 || kept == text.text.len() {
        return None;
    }
    let mut message = message.clone();
    if let Some(Block::Text(text)) = message.content.last_mut() {
        text.text.truncate(kept);
    }
    Some(Arc::new(message))
}

/// What is said of it.
pub(super) fn said_trimmed(message: usize) -> Repair {
    let what = "white space at its end, with which the provider would not go on from it, is left out";
    Repair { message, what: what.into() }
}

/// The history as a provider takes it, and what had to be done for that.
pub fn repair(messages: &[Arc<Message>], wire: Option<Wire>) -> Result<(Vec<Placed>, Vec<Repair>)> {
    repair_all(messages, wire).map(|(placed, repairs, _)| (placed, repairs))
}

/// The same, and how it ends.
pub(super) fn repair_all(messages: &[Arc<Message>], wire: Option<Wire>) -> Result<Repaired> {
    let mut mended: BTreeSet<usize> = BTreeSet::new();
    let mut work = Work::default();
    let mut taken: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let (refused, blank) = (is_refused(message), holds_blanks(message, wire));
        let message = if refused || blank {
            mended.insert(index);
            work.mend(index, message, blank)
        } else {
            message.clone()
        };
        check(index, &message)?;
        taken.push(message);
    }
    let (mut placed, mut repairs, mut rest) = if is_legal(&taken, wire) {
        let placed = |(index, message): (usize, Arc<Message>)| Placed { message, origin: Some(index), changed: false };
        (taken.into_iter().enumerate().map(placed).collect(), work.repairs, None)
    } else {
        for (index, message) in taken.iter().enumerate() {
            work.take(index, message);
        }
        let rest = work.rest();
        let (placed, repairs) = work.finish(wire);
        (placed, repairs, Some(rest))
    };
    if !mended.is_empty() {
        for placed in &mut placed {
            placed.changed |= placed.origin.is_some_and(|origin| mended.contains(&origin));
        }
    }
    trim_end(&mut placed, &mut repairs, wire);
    if let Some(rest) = &mut rest {
        rest.repairs.clone_from(&repairs);
    }
    Ok((placed, repairs, rest))
}

/// A message without what a provider would refuse of it wherever it stands, and what was done for that.
pub(super) fn mended_alone(index: usize, message: &Arc<Message>, wire: Option<Wire>) -> (Arc<Message>, Vec<Repair>) {
    let blank = holds_blanks(message, wire);
    if !blank && !is_refused(message) {
        return (message.clone(), Vec::new());
    }
    let mut work = Work::default();
    let mended = work.mend(index, message, blank);
    (mended, work.repairs)
}

/// What stands before a history that the model begins, where the provider wants that.
pub(super) fn opening(wire: Option<Wire>) -> Option<Message> {
    wants_user_first(wire).then(|| Message::user(OPENING))
}

/// A tool use or result that a wire could only keep as it stands: with an id or arguments that it would refuse.
fn mend(block: &Block) -> Option<Block> {
    match block {
        Block::Provider(provider) if may_be_refused(provider) => anthropic::mended(provider),
        _ => None,
    }
}

fn may_be_refused(block: &ProviderBlock) -> bool {
    block.wire == Wire::Anthropic && block.raw.text().contains("\"tool_")
}

/// Whether a provider would refuse the message for what it holds, wherever it stands.
pub(super) fn is_refused(message: &Message) -> bool {
    message.content.iter().any(|block| mend(block).is_some()) || openai_chat::mended(message).is_some()
}

/// What can't be put right without guessing what was meant.
pub fn check(index: usize, message: &Message) -> Result<()> {
    let wrong = |what: &str| {
        let message = format!("message {index} ({}): {what}", message.role.name());
        Err(Error::usage("invalid_message", message)
            .hint("put the block into a message of its own role, or leave it out"))
    };
    for block in &message.content {
        match block {
            Block::ToolUse(_) if message.role != Role::Assistant => {
                return wrong("only a model's message may hold a tool use");
            }
            Block::Thinking(_) if message.role != Role::Assistant => {
                return wrong("only a model's message may hold reasoning");
            }
            Block::ToolUse(call) if call.id.is_empty() => return wrong("a tool use has no id"),
            Block::ToolResult(_) if message.role != Role::User => {
                return wrong("only a user's message may hold a tool result");
            }
            Block::ToolResult(result) if result.id.is_empty() => return wrong("a tool result has no id"),
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn is_empty(message: &Message) -> bool {
    message.content.iter().all(is_blank) && !openai_chat::says_beside(message)
}

pub(super) fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.text.trim_start().is_empty())
}

/// Whether something stands beside other things that the provider refuses there.
fn holds_blanks(message: &Message, wire: Option<Wire>) -> bool {
    wire == Some(Wire::Anthropic) && holds_more(message)
}

/// Whether blank text stands beside other things or among the parts of a result, or reasoning at the end of a model's
/// message as it was written. Of one that nobody wrote yet, the wire leaves it out.
pub(super) fn holds_more(message: &Message) -> bool {
    let ends_in_thought = || {
        let last = message.content.iter().rev().find(|block| !is_blank(block));
        message.role == Role::Assistant && message.form == Form::Parts && matches!(last, Some(Block::Thinking(_)))
    };
    let is_refused_here = |block: &Block| is_blank(block) || holds_blank_parts(block);
    !is_empty(message) && (message.content.iter().any(is_refused_here) || ends_in_thought())
}

/// Whether a result lists blank text among its parts. Of one that nobody wrote yet, the wire leaves it out.
fn holds_blank_parts(block: &Block) -> bool {
    matches!(block, Block::ToolResult(result) if result.form == Form::Parts && result.content.iter().any(is_blank))
}

fn wants_user_first(wire: Option<Wire>) -> bool {
    matches!(wire, Some(Wire::Anthropic))
}

/// The id of a block that wants a result: of a tool use, or of a call on Chat Completions that is no function's.
pub(super) fn call_id(block: &Block) -> Option<Cow<'_, str>> {
    match block {
        Block::ToolUse(call) => Some(Cow::Borrowed(&call.id)),
        Block::Provider(block) if block.wire == Wire::OpenaiChat && block.raw.text().contains("\"custom\"") => {
            let fields = Fields::parse(block.raw.text()).ok()?;
            fields.get("custom").filter(|custom| custom.is_object())?;
            fields.get_str("id").filter(|id| !id.is_empty()).map(Cow::Owned)
        }
        _ => None,
    }
}

/// Whether the message wants results.
pub(super) fn calls(message: &Message) -> bool {
    message.role == Role::Assistant && message.content.iter().any(|block| call_id(block).is_some())
}

/// Whether a provider would take the history as it is; one pass.
pub fn is_legal(messages: &[Arc<Message>], wire: Option<Wire>) -> bool {
    // By a hash: two ids with the same would only have the history looked at again, id by id.
    let mut seen = Set::with_capacity_and_hasher(messages.len() / 2, BuildHasherDefault::default());
    let mut open: BTreeSet<Cow<'_, str>> = BTreeSet::new();
    let mut begun = false;
    for message in messages {
        if is_empty(message) || is_refused(message) || holds_blanks(message, wire) {
            return false;
        }
        let speaks = matches!(message.role, Role::User | Role::Assistant);
        if speaks && !std::mem::replace(&mut begun, true) && wants_user_first(wire) && message.role == Role::Assistant {
            return false;
        }
        let mut said = false;
        for block in &message.content {
            if let Block::ToolResult(result) = block {
                if said || !open.remove(result.id.as_str()) {
                    return false;
                }
            } else {
                said = true;
                if !open.is_empty() && message.role != Role::Assistant {
                    return false;
                }
            }
        }
        if message.role != Role::User && !open.is_empty() {
            return false;
        }
        for id in message.content.iter().filter_map(call_id) {
            if !seen.insert(terms::key(&id)) {
                return false;
            }
            open.insert(id);
        }
    }
    // What is open now stands in the last message, or has some of its results: the rest are to come.
    open.is_empty() || messages.last().is_some_and(|last| last.role == Role::Assistant)
}

/// A message with the messages of results that must stay behind it.
struct Slot {
    placed: Placed,
    results: Vec<Placed>,
    open: Open,
    /// Whether its results are no longer in the messages that brought them.
    moved: bool,
}

impl Slot {
    fn new(placed: Placed) -> Self {
        Self { placed, results: Vec::new(), open: Open::default(), moved: false }
    }

    /// Whether its uses are still at work: they stand last, and none has its result.
    const fn waits(&self, is_last: bool) -> bool {
        is_last && self.results.is_empty()
    }
}

#[derive(Default)]
struct Work {
    slots: Vec<Slot>,
    /// The ids of tool uses, by their slots.
    ids: Ids,
    repairs: Vec<Repair>,
}

impl Work {
    fn say(&mut self, message: usize, what: impl Into<String>) {
        self.repairs.push(Repair { message, what: what.into() });
    }

    /// The message without what a provider would refuse.
    fn mend(&mut self, index: usize, message: &Message, blank: bool) -> Arc<Message> {
        let whole = openai_chat::mended(message);
        for what in whole.iter().flat_map(|(_, said)| said) {
            self.say(index, *what);
        }
        let message = whole.as_ref().map_or(message, |(message, _)| message);
        let kept = message.content.iter().filter(|block| !blank || !is_blank(block));
        let (mut refused, mut parts_left) = (false, false);
        let content = kept.map(|block| {
            let mended = mend(block);
            refused |= mended.is_some();
            let mut block = mended.unwrap_or_else(|| block.clone());
            if blank
                && holds_blank_parts(&block)
                && let Block::ToolResult(result) = &mut block
            {
                result.content.retain(|part| !is_blank(part));
                parts_left = true;
            }
            block
        });
        let mut content: Vec<Block> = content.collect();
        if refused {
            self.say(
                index,
                "a tool use or result of it that the provider would refuse has an id, arguments and content it takes now",
            );
        }
        if blank && content.len() < message.content.len() {
            self.say(index, "blank text of it, which the provider would refuse, is left out");
        }
        if parts_left {
            self.say(index, "blank text in a result of it, which the provider would refuse, is left out");
        }
        if blank && message.role == Role::Assistant && matches!(content.last(), Some(Block::Thinking(_))) {
            while content.pop_if(|block| matches!(block, Block::Thinking(_))).is_some() {}
            self.say(index, "reasoning at its end, where the provider would refuse it, is left out");
        }
        with_content(index, message, content).message
    }

    fn push(&mut self, message: Arc<Message>, origin: usize, changed: bool) {
        let placed = Placed { message, origin: Some(origin), changed };
        self.slots.push(Slot::new(placed));
    }

    fn take(&mut self, index: usize, message: &Arc<Message>) {
        if is_empty(message) {
            self.say(index, "it was empty and is left out");
        } else if message.tool_results().next().is_some() {
            self.take_results(index, message);
        } else if calls(message) {
            self.take_calls(index, message);
        } else {
            self.push(message.clone(), index, false);
        }
    }

    fn take_calls(&mut self, index: usize, message: &Arc<Message>) {
        let mut names: Vec<(usize, Box<str>)> = Vec::new();
        let mut open = Open::default();
        let slot = self.slots.len();
        for (at, block) in message.content.iter().enumerate() {
            let Some(was) = call_id(block).map(Cow::into_owned) else { continue };
            let name = if let Block::ToolUse(call) = block { call.name.clone() } else { String::new() };
            let id = self.ids.give(&was, slot);
            if id != was {
                self.repairs.push(said(index, &was, &id));
                names.push((at, id.as_str().into()));
            }
            open.add(at, Call { was, id, name });
        }
        let changed = !names.is_empty();
        let message = if changed { with_names(message, &names) } else { message.clone() };
        self.push(message, index, changed);
        if let Some(slot) = self.slots.last_mut() {
            slot.open = open;
        }
    }

    fn take_results(&mut self, index: usize, message: &Arc<Message>) {
        // The uses that the results of this message answer.
        let mut wanted: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
        let mut others: Vec<Block> = Vec::new();
        let (mut same, mut late, mut strays) = (true, false, false);
        for block in &message.content {
            let Block::ToolResult(result) = block else {
                others.push(block.clone());
                continue;
            };
            late |= !others.is_empty();
            let slot = self.ids.place(&result.id);
            let id = slot.and_then(|slot| Some(self.slots.get_mut(slot)?.open.answer(&result.id)?.id));
            let (Some(slot), Some(id)) = (slot, id) else {
                (same, strays) = (false, true);
                let what =
                    if slot.is_some() { "answers a tool use that has its result" } else { "answers no tool use" };
                self.say(index, format!("its result {:?} {what}; it is in the archive alone", result.id));
                continue;
            };
            let mut block = block.clone();
            if let Block::ToolResult(result) = &mut block
                && result.id != id
            {
                same = false;
                result.id = id;
            }
            wanted.entry(slot).or_default().push(block);
        }
        let last = self.slots.len().wrapping_sub(1);
        if wanted.len() == 1
            && let Some((&slot, blocks)) = wanted.iter_mut().next()
        {
            let closed = others.is_empty() || self.slots.get(slot).is_some_and(|slot| slot.open.is_empty());
            if slot == last && closed {
                if same && !late {
                    let placed = Placed { message: message.clone(), origin: Some(index), changed: false };
                    self.answer(slot, placed);
                    return;
                }
                if late {
                    self.say(index, "its results stand before its text now");
                }
                let mut content = std::mem::take(blocks);
                content.append(&mut others);
                self.answer(slot, with_content(index, message, content));
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.moved |= late || strays;
                }
                return;
            }
        }
        if others.iter().all(is_blank) {
            // What is left of a message whose results went elsewhere is no message.
            others.clear();
        }
        let moved = wanted.len();
        for (slot, blocks) in wanted {
            self.say(index, "its results stand directly behind their tool uses now");
            self.answer(slot, with_content(index, message, blocks));
            if let Some(slot) = self.slots.get_mut(slot) {
                slot.moved = true;
            }
        }
        if !others.is_empty() {
            let rest = with_content(index, message, others);
            if moved > 0 || !same {
                self.slots.push(Slot::new(rest));
            }
        }
    }

    fn answer(&mut self, slot: usize, placed: Placed) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.results.push(placed);
        }
    }

    /// How it ends: with no result at all and nothing behind them, the last uses are still at work.
    fn rest(&self) -> Rest {
        let mut rest = Rest::default();
        let last = self.slots.len().wrapping_sub(1);
        for (at, slot) in self.slots.iter().enumerate() {
            if slot.waits(at == last) {
                rest.open = slot.open.clone();
            } else {
                rest.given_up.extend(slot.open.calls().map(|call| call.was.clone()));
            }
        }
        rest
    }

    fn finish(mut self, wire: Option<Wire>) -> (Vec<Placed>, Vec<Repair>) {
        let mut out: Vec<Placed> = Vec::new();
        let last = self.slots.len().wrapping_sub(1);
        let mut begun = false;
        for (at, slot) in std::mem::take(&mut self.slots).into_iter().enumerate() {
            let role = slot.placed.message.role;
            let speaks = matches!(role, Role::User | Role::Assistant);
            if speaks && !std::mem::replace(&mut begun, true) && wants_user_first(wire) && role == Role::Assistant {
                self.say(slot.placed.origin.unwrap_or(0), SPOKE_FIRST);
                out.push(Placed { message: Arc::new(Message::user(OPENING)), origin: None, changed: true });
            }
            let index = slot.placed.origin.unwrap_or(0);
            let waiting = slot.waits(at == last);
            let (mut results, mut moved) = (slot.results, slot.moved);
            if !slot.open.is_empty() && !waiting {
                moved = true;
                let missing: Vec<Block> = slot.open.calls().map(|call| missing(&call.id, &call.name)).collect();
                for call in slot.open.calls() {
                    self.say(index, format!("its tool use {:?} had no result; one that says so was added", call.was));
                }
                // Before results that bring other words with them, for those must come last.
                let placed = |content| Placed {
                    message: Arc::new(Message::new(Role::User, content)),
                    origin: None,
                    changed: true,
                };
                if wire == Some(Wire::OpenaiChat) {
                    // There each result is a message.
                    results.splice(0..0, missing.into_iter().map(|block| placed(vec![block])));
                } else {
                    results.insert(0, placed(missing));
                }
            }
            let split = results
                .iter()
                .position(|placed| placed.message.content.iter().any(|block| !matches!(block, Block::ToolResult(_))));
            if let Some(split) = split
                && split + 1 < results.len()
            {
                let spoken = results.remove(split);
                results.push(spoken);
            }
            out.push(slot.placed);
            if wire == Some(Wire::Anthropic) && results.len() > 1 && moved {
                results = vec![joined(&results)];
            }
            out.append(&mut results);
        }
        self.repairs.sort_by_key(|repair| repair.message);
        (out, self.repairs)
    }
}

/// One message of several with results, as a provider wants them that looks at the message right behind the uses.
fn joined(results: &[Placed]) -> Placed {
    let origin = results.iter().find_map(|placed| placed.origin);
    let first = results.iter().find(|placed| placed.origin.is_some()).or(results.first());
    let (form, extra) =
        first.map_or((Form::default(), None), |placed| (placed.message.form, placed.message.extra.clone()));
    let blocks = results.iter().flat_map(|placed| &placed.message.content).cloned();
    let (mut content, words): (Vec<Block>, Vec<Block>) =
        blocks.partition(|block| matches!(block, Block::ToolResult(_)));
    content.extend(words);
    Placed { message: Arc::new(Message { form, extra, ..Message::new(Role::User, content) }), origin, changed: true }
}

pub(super) fn renamed(raw: &Raw, id: &str) -> Raw {
    Fields::parse(raw.text()).map_or_else(
        |_| raw.clone(),
        |fields| {
            let other =
                |(key, value): (&str, &Raw)| (key.to_owned(), if key == "id" { Raw::of(&id) } else { value.clone() });
            fields.iter().map(other).collect::<Fields>().to_raw()
        },
    )
}

pub(super) fn missing(id: &str, name: &str) -> Block {
    let failure = ToolFailure { kind: "not_run".into(), message: MISSING.into(), hint: None };
    Block::ToolResult(ToolResult::failed(id, name, failure))
}

fn with_content(index: usize, message: &Message, content: Vec<Block>) -> Placed {
    Placed { message: Arc::new(message.with_content(content)), origin: Some(index), changed: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::ToolUse;

    fn call(ids: &[&str]) -> Arc<Message> {
        let calls = ids.iter().map(|id| Block::ToolUse(ToolUse::from_text(*id, "read", "{}".into())));
        Arc::new(Message::new(Role::Assistant, calls.collect()))
    }

    fn results(ids: &[&str]) -> Arc<Message> {
        let results = ids.iter().map(|id| Block::ToolResult(ToolResult::text(*id, "read", "ok")));
        Arc::new(Message::new(Role::User, results.collect()))
    }

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text))
    }

    fn repaired(messages: &[Arc<Message>]) -> (Vec<Arc<Message>>, usize) {
        let (placed, repairs) = repair(messages, Some(Wire::Anthropic)).unwrap();
        let out: Vec<Arc<Message>> = placed.into_iter().map(|placed| placed.message).collect();
        assert!(is_legal(&out, Some(Wire::Anthropic)), "{out:#?}");
        (out, repairs.len())
    }

    #[test]
    fn legal_is_left_alone() {
        let messages = [user("go"), call(&["a", "b"]), results(&["a"]), results(&["b"]), user("more"), call(&["c"])];
        assert_eq!(repaired(&messages), (messages.to_vec(), 0));
    }

    #[test]
    fn c26_a_result_that_was_missing_stands_in_one_message_with_the_others() {
        let (out, said) = repaired(&[user("go"), call(&["a", "b", "c"]), results(&["b"]), user("more")]);
        assert_eq!((out.len(), said), (4, 2), "{out:#?}");
        let ids: Vec<&str> = out[2].tool_results().map(|result| result.id.as_str()).collect();
        assert_eq!(ids, ["a", "c", "b"]);
        // Chat Completions wants them apart.
        let history = [user("go"), call(&["a", "b"]), results(&["b"]), user("more")];
        let (placed, _) = repair(&history, Some(Wire::OpenaiChat)).unwrap();
        assert_eq!(placed.len(), 5);
        // So it does where none came at all.
        let (placed, _) = repair(&[user("go"), call(&["a", "b"]), user("more")], Some(Wire::OpenaiChat)).unwrap();
        assert_eq!(placed.len(), 5);
    }

    #[test]
    fn c26_pairs_are_repaired() {
        // A result too late, a use without one, one for nothing, an id used twice, and an empty message.
        let (out, repairs) = repaired(&[
            user("go"),
            call(&["a", "b"]),
            user("meanwhile"),
            results(&["a", "x"]),
            call(&["a"]),
            results(&["a"]),
            user("  "),
            user("end"),
        ]);
        assert!(repairs >= 5);
        assert_eq!(out.len(), 7, "{out:#?}");
        assert_eq!(out[3].prose(), "meanwhile");
    }

    #[test]
    fn c26_blank_text_is_left_out_where_it_is_refused() {
        let mut answered = (*results(&["a"])).clone();
        answered.content.push(Block::text(" \n"));
        let mut orphaned = (*results(&["x"])).clone();
        orphaned.content.push(Block::text("\n"));
        let (out, repairs) = repaired(&[user("go"), call(&["a"]), Arc::new(answered.clone()), Arc::new(orphaned)]);
        assert_eq!((out.len(), out[2].content.len()), (3, 1), "{out:#?}");
        assert!(repairs >= 2);
        // Chat Completions takes it.
        let messages = [user("go"), call(&["a"]), Arc::new(answered)];
        assert!(repair(&messages, Some(Wire::OpenaiChat)).unwrap().1.is_empty());
    }

    #[test]
    fn c26_the_first_word_is_the_users() {
        let (out, repairs) = repaired(&[Arc::new(Message::assistant("hi")), user("go")]);
        assert_eq!((out.len(), repairs), (3, 1));
    }

    #[test]
    fn c26_what_makes_no_sense_is_named() {
        let wrong = Arc::new(Message::new(Role::User, call(&["a"]).content.clone()));
        let error = repair(&[user("go"), wrong], None).unwrap_err();
        assert!(error.message.contains("message 1"), "{error}");
    }
}
