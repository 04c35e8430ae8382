//! A history that no provider would take, put right message by message as it grows.
//!
//! A repair of all of it may move what came long before; this never does, so that a view of it only grows and a
//! provider's cache keeps hitting. What differs is a result that comes after its tool use was said to have none: it
//! stands as words where it came, until a plan moves it to its use.

use std::{collections::HashSet, sync::Arc};

use super::{
    ids::{Call, Ids, Open, said, with_names},
    pairs::{self, Repair, Rest},
};
use loopwright_base::message::{Block, Message, Role, ToolResult, Wire};

/// What was put right of a history so far.
#[derive(Clone, Debug)]
pub(super) struct Mended {
    wire: Option<Wire>,
    seen: usize,
    begun: bool,
    ids: Ids,
    open: Open,
    /// Tool uses that were said to have no result.
    given_up: HashSet<String>,
    /// What stands for a message that can't stand as it came.
    made: Vec<(usize, Vec<Arc<Message>>)>,
    repairs: Vec<Repair>,
}

impl Mended {
    pub(super) fn new(wire: Option<Wire>) -> Self {
        Self {
            wire,
            seen: 0,
            begun: false,
            ids: Ids::default(),
            open: Open::default(),
            given_up: HashSet::new(),
            made: Vec::new(),
            repairs: Vec::new(),
        }
    }

    /// Goes on to the end of the history.
    pub(super) fn follow(&mut self, messages: &[Arc<Message>]) {
        for (index, message) in messages.iter().enumerate().skip(self.seen) {
            if let Some(made) = self.take(index, message) {
                self.made.push((index, made));
            }
        }
        self.seen = messages.len();
    }

    /// What stands for a message, if not the message.
    pub(super) fn get(&self, message: usize) -> Option<&[Arc<Message>]> {
        let at = self.made.binary_search_by_key(&message, |(index, _)| *index).ok()?;
        self.made.get(at).map(|(_, made)| made.as_slice())
    }

    /// A plan was made of all that was seen, and the view is its: what came late stands at its use now, the last uses
    /// may wait again, and others that have no result have one that says so. Gives how it ended before.
    pub(super) fn take_over(&mut self, rest: Rest) -> Rest {
        let Rest { open, given_up, repairs } = rest;
        Rest {
            open: std::mem::replace(&mut self.open, open),
            given_up: std::mem::replace(&mut self.given_up, given_up),
            repairs: std::mem::replace(&mut self.repairs, repairs),
        }
    }

    /// What was wrong, and what was done about it.
    pub(super) fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    fn say(&mut self, message: usize, what: impl Into<String>) {
        self.repairs.push(Repair { message, what: what.into() });
    }

    fn take(&mut self, index: usize, given: &Arc<Message>) -> Option<Vec<Arc<Message>>> {
        let (mut message, repairs) = pairs::mended_alone(index, given, self.wire);
        if pairs::check(index, &message).is_err() {
            // A plan will say so.
            return None;
        }
        self.repairs.extend(repairs);
        if pairs::is_empty(&message) {
            self.say(index, "it was empty and is left out");
            return Some(Vec::new());
        }
        let mut out = Vec::new();
        if message.tool_results().next().is_some() {
            match self.take_results(index, &message, &mut out) {
                Some(changed) => message = changed,
                None => return Some(out),
            }
        } else {
            let missing = self.missing();
            self.push_results(missing, &mut out);
        }
        let talks = matches!(message.role, Role::User | Role::Assistant);
        if talks
            && !std::mem::replace(&mut self.begun, true)
            && message.role == Role::Assistant
            && let Some(opening) = pairs::opening(self.wire)
        {
            self.say(index, pairs::SPOKE_FIRST);
            out.push(Arc::new(opening));
        }
        if pairs::calls(&message) {
            message = self.take_calls(index, &message);
        }
        out.push(message);
        let as_given = out.len() == 1 && out.first().is_some_and(|only| Arc::ptr_eq(only, given));
        (!as_given).then_some(out)
    }

    fn take_calls(&mut self, index: usize, message: &Arc<Message>) -> Arc<Message> {
        let mut names: Vec<(usize, Box<str>)> = Vec::new();
        self.open = Open::default();
        for (at, block) in message.content.iter().enumerate() {
            let Some(was) = pairs::call_id(block) else { continue };
            let name = if let Block::ToolUse(call) = block { call.name.clone() } else { String::new() };
            let id = self.ids.give(&was, index);
            if id != was {
                self.repairs.push(said(index, &was, &id));
                names.push((at, id.as_str().into()));
            }
            self.open.add(at, Call { was: was.into_owned(), id, name });
        }
        if names.is_empty() { message.clone() } else { with_names(message, &names) }
    }

    /// Results for all that wait for one, which say that there was none.
    fn missing(&mut self) -> Vec<Block> {
        let open = std::mem::take(&mut self.open);
        let mut missing = Vec::new();
        for call in open.calls() {
            // The use stands before this message; whoever looks for it finds it by its id.
            let place = self.ids.place(&call.was).unwrap_or_default();
            self.say(place, format!("its tool use {:?} had no result; one that says so was added", call.was));
            missing.push(pairs::missing(&call.id, &call.name));
            self.given_up.insert(call.was.clone());
        }
        missing
    }

    fn push_results(&self, results: Vec<Block>, out: &mut Vec<Arc<Message>>) {
        let made = |content| Arc::new(Message::new(Role::User, content));
        if results.is_empty() {
            return;
        }
        if self.wire == Some(Wire::OpenaiChat) {
            // There each result is a message.
            out.extend(results.into_iter().map(|block| made(vec![block])));
        } else {
            out.push(made(results));
        }
    }

    /// A message with results, as it may stand; nothing where nothing of it may.
    fn take_results(
        &mut self,
        index: usize,
        message: &Arc<Message>,
        out: &mut Vec<Arc<Message>>,
    ) -> Option<Arc<Message>> {
        let (mut results, mut late, mut words) = (Vec::new(), Vec::new(), Vec::new());
        let (mut same, mut behind) = (true, false);
        for block in &message.content {
            let Block::ToolResult(result) = block else {
                words.push(block.clone());
                continue;
            };
            behind |= !words.is_empty();
            if let Some(call) = self.open.answer(&result.id) {
                same &= call.id == result.id;
                results.push(Block::ToolResult(ToolResult { id: call.id, ..result.clone() }));
                continue;
            }
            same = false;
            if self.given_up.remove(&result.id) {
                self.say(index, format!("its result {:?} came late; it stands as words where it came", result.id));
                late.push(Block::text(format!("[The result of the tool use {:?}, which came late:]", result.id)));
                let shown = |part: &&Block| matches!(part, Block::Text(_) | Block::Image(_) | Block::Document(_));
                late.extend(result.content.iter().filter(shown).filter(|part| !pairs::is_blank(part)).cloned());
            } else {
                let what = if self.ids.place(&result.id).is_some() {
                    "answers a tool use that has its result"
                } else {
                    "answers no tool use"
                };
                self.say(index, format!("its result {:?} {what}; it is in the archive alone", result.id));
            }
        }
        if behind && !results.is_empty() {
            self.say(index, "its results stand before its text now");
        }
        if words.iter().all(pairs::is_blank) && !same {
            words.clear();
        }
        if !(late.is_empty() && words.is_empty()) {
            let missing = self.missing();
            if self.wire == Some(Wire::OpenaiChat) {
                self.push_results(missing, out);
            } else {
                same &= missing.is_empty();
                results.extend(missing);
            }
        }
        if same && !behind {
            return Some(message.clone());
        }
        let answers = !results.is_empty();
        results.append(&mut late);
        results.append(&mut words);
        if results.is_empty() {
            return None;
        }
        // Without results it is not what it was written as.
        let kept = if answers { (message.form, message.extra.clone()) } else { Default::default() };
        Some(Arc::new(Message { form: kept.0, extra: kept.1, ..Message::new(Role::User, results) }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use loopwright_base::message::ToolUse;

    fn message() -> impl Strategy<Value = Arc<Message>> {
        let id = || prop::sample::select(vec!["a", "b", "a_2"]);
        let call = id().prop_map(|id| Block::ToolUse(ToolUse::from_text(id, "f", "{}".into())));
        let result = id().prop_map(|id| Block::ToolResult(ToolResult::text(id, "f", "out")));
        let words = prop::sample::select(vec!["", " ", "words"]).prop_map(Block::text);
        let asked = prop::collection::vec(prop_oneof![call, words.clone()], 0..4)
            .prop_map(|content| Message::new(Role::Assistant, content));
        let said = prop::collection::vec(prop_oneof![result.clone(), result, words.clone()], 0..4)
            .prop_map(|content| Message::new(Role::User, content));
        let told = words.prop_map(|words| Message::new(Role::System, vec![words]));
        prop_oneof![4 => asked, 4 => said, 1 => told].prop_map(Arc::new)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn c26_what_grows_is_one_that_a_provider_takes_at_any_time(all in prop::collection::vec(message(), 1..9)) {
            for wire in [None, Some(Wire::Anthropic), Some(Wire::OpenaiChat)] {
                let mut mended = Mended::new(wire);
                let mut view: Vec<Arc<Message>> = Vec::new();
                for (index, message) in all.iter().enumerate() {
                    mended.follow(&all[..=index]);
                    match mended.get(index) {
                        Some(made) => view.extend(made.iter().cloned()),
                        None => view.push(message.clone()),
                    }
                    // Some results of a model's message may still be to come.
                    let waits = !mended.open.is_empty();
                    prop_assert!(waits || pairs::is_legal(&view, wire), "{:?} {:#?}", wire, view);
                }
                view.push(Arc::new(Message::user("end")));
                let missing = mended.missing();
                if missing.is_empty() {
                    prop_assert!(pairs::is_legal(&view, wire));
                }
            }
        }
    }
}
