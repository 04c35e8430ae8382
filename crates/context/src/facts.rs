//! What a plan wants to know of a message, found in one look.
//!
//! The messages of a long history lie scattered over memory, and whoever looks at one waits for it; so each is looked
//! at once, when it comes, and plans go by what was noted then. The same message always gives the same facts.

use super::{
    archive::{RECALL_NAMES, digits_of},
    chunks, pairs, terms, units,
};
use loopwright_base::{
    message::{Block, Message, Role, Wire},
    text::{head, tail},
};

/// Keys of ids, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Ids {
    #[default]
    None,
    One(u64),
    Many(Box<[u64]>),
}

impl Ids {
    fn of(keys: impl Iterator<Item = u64>) -> Self {
        let mut keys = keys;
        let Some(first) = keys.next() else { return Self::None };
        let Some(second) = keys.next() else { return Self::One(first) };
        Self::Many([first, second].into_iter().chain(keys).collect())
    }

    fn as_slice(&self) -> &[u64] {
        match self {
            Self::None => &[],
            Self::One(key) => std::slice::from_ref(key),
            Self::Many(keys) => keys,
        }
    }
}

/// Bytes of what a message with at most one of each holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) text: Option<u32>,
    pub(super) thinking: Option<u32>,
    /// Of the arguments.
    pub(super) call: Option<u32>,
    pub(super) result: Option<u32>,
}

/// What is known of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) role: Role,
    marks: u16,
    calls: Ids,
    results: Ids,
    plain: Plain,
    /// The letters of its handle.
    pub(super) digits: [u8; 13],
}

const EMPTY: u16 = 1;
const REFUSED: u16 = 1 << 1;
const BLANK: u16 = 1 << 2;
const WRONG: u16 = 1 << 3;
const WORDS: u16 = 1 << 4;
/// Words stand before a result.
const LATE: u16 = 1 << 5;
const BOUND: u16 = 1 << 6;
const PROVIDER: u16 = 1 << 7;
const RESPONSES: u16 = 1 << 8;
const SUMMARY: u16 = 1 << 9;
const PLAIN: u16 = 1 << 10;
const DEMANDS: u16 = 1 << 11;
const FAILS: u16 = 1 << 12;
/// Nobody looked whether it tells of a failure.
const UNREAD: u16 = 1 << 13;
/// Words that are not blank.
const SAYS: u16 = 1 << 14;
/// All its tool uses ask something back.
const RECALLS: u16 = 1 << 15;
/// A demand stands near the beginning, or nobody reads it.
const READ: usize = 8_192;

impl Facts {
    pub(super) fn of(message: &Message) -> Self {
        Self::looked(message, true)
    }

    /// The same of a message that a plan is not likely to look at closely: what its outputs say is not read.
    pub(super) fn of_old(message: &Message) -> Self {
        Self::looked(message, false)
    }

    fn looked(message: &Message, reads: bool) -> Self {
        let mut marks = 0;
        let mut mark = |bit: u16, on: bool| marks |= if on { bit } else { 0 };
        let mut plain = Plain::default();
        let mut is_plain = true;
        let mut put = |slot: &mut Option<u32>, bytes: usize| {
            is_plain &= slot.is_none() && bytes < u32::MAX as usize;
            *slot = Some(bytes as u32);
        };
        let (mut words, mut simple) = (false, true);
        for block in &message.content {
            match block {
                Block::Text(text) => {
                    put(&mut plain.text, text.text.len());
                    mark(DEMANDS, message.role == Role::User && terms::demands(head(&text.text, READ)));
                }
                Block::Thinking(thinking) => {
                    let bytes = thinking.text.len()
                        + thinking.signature.as_ref().map_or(0, String::len)
                        + thinking.redacted.as_ref().map_or(0, String::len);
                    put(&mut plain.thinking, bytes);
                    mark(BOUND, true);
                    mark(RESPONSES, thinking.extra.as_ref().is_some_and(|extra| extra.wire == Wire::OpenaiResponses));
                }
                Block::ToolUse(call) => put(&mut plain.call, call.arguments_text().len()),
                Block::ToolResult(result) => {
                    mark(LATE, words);
                    mark(FAILS, result.is_error || (reads && result.content.iter().any(tells_of_failure)));
                    mark(UNREAD, !reads);
                    match chunks::only_text(result) {
                        Some(text) => put(&mut plain.result, text.len()),
                        None => simple = false,
                    }
                }
                Block::Image(_) | Block::Document(_) => simple = false,
                Block::Provider(_) => {
                    simple = false;
                    mark(BOUND | PROVIDER, true);
                }
            }
            words |= !matches!(block, Block::ToolResult(_));
            mark(SAYS, !matches!(block, Block::ToolResult(_)) && !pairs::is_blank(block));
        }
        mark(RECALLS, message.tool_uses().all(|call| RECALL_NAMES.contains(&call.name.as_str())));
        let empty = pairs::is_empty(message);
        mark(EMPTY, empty);
        mark(WORDS, words);
        mark(PLAIN, simple && is_plain);
        mark(BLANK, pairs::holds_more(message));
        mark(REFUSED, pairs::is_refused(message));
        mark(WRONG, pairs::check(0, message).is_err());
        mark(SUMMARY, units::starts_as_summary(message));
        Self {
            role: message.role,
            marks,
            calls: Ids::of(message.content.iter().filter_map(pairs::call_id).map(|id| terms::key(&id))),
            results: Ids::of(message.tool_results().map(|result| terms::key(&result.id))),
            plain,
            digits: digits_of(message, true),
        }
    }

    const fn is(&self, mark: u16) -> bool {
        self.marks & mark != 0
    }

    /// Whether it holds tool uses that want results.
    pub(super) fn calls(&self) -> bool {
        self.role == Role::Assistant && self.calls != Ids::None
    }

    /// True for a message whose tool calls are all `recall`: it only asks back what left the window.
    pub(super) fn recalls(&self) -> bool {
        self.calls() && self.is(RECALLS)
    }

    /// Whether it names tool uses, whoever speaks.
    pub(super) fn names_calls(&self) -> bool {
        self.calls != Ids::None
    }

    /// Whether it holds results.
    pub(super) fn answers(&self) -> bool {
        self.results != Ids::None
    }

    /// Whether it holds anything but results.
    pub(super) const fn speaks(&self) -> bool {
        self.is(WORDS)
    }

    /// Whether any of that is more than blank text.
    pub(super) const fn says(&self) -> bool {
        self.is(SAYS)
    }

    /// Whether it begins as a summary of ours does.
    pub(super) const fn is_summary(&self) -> bool {
        self.is(SUMMARY)
    }

    /// Whether a person demands something in it.
    pub(super) const fn demands(&self) -> bool {
        self.is(DEMANDS)
    }

    /// Whether a result of it tells of a failure.
    pub(super) fn fails(&self, message: &Message) -> bool {
        let told = || message.tool_results().any(|result| result.content.iter().any(tells_of_failure));
        self.is(FAILS) || (self.is(UNREAD) && told())
    }

    /// Whether it holds reasoning or a provider's own blocks.
    pub(super) const fn is_bound(&self) -> bool {
        self.is(BOUND)
    }

    /// Whether what stands beside reasoning may change; `live`: after the user's last words.
    pub(super) fn is_loose(&self, live: bool) -> bool {
        !self.is(BOUND) || !(self.is(PROVIDER) || live || self.is(RESPONSES)) && self.role == Role::Assistant
    }

    /// The bytes of what it holds, where it holds at most one of each.
    pub(super) const fn plain(&self) -> Option<Plain> {
        if self.is(PLAIN) { Some(self.plain) } else { None }
    }
}

/// Outputs tell of a failure at their beginning or at their end.
fn tells_of_failure(part: &Block) -> bool {
    let Block::Text(text) = part else { return false };
    terms::tells_of_error(head(&text.text, 300)) || terms::tells_of_error(tail(&text.text, 600))
}

/// The uses that wait for their results, by what was said last.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// How many have an id.
    open: terms::Map<usize>,
    /// Whether the model spoke last.
    answered: bool,
}

impl Waiting {
    pub(super) fn note(&mut self, it: &Facts) {
        self.answered = it.role == Role::Assistant;
        if self.answered {
            self.open.clear();
            for key in it.calls.as_slice() {
                *self.open.entry(*key).or_default() += 1;
            }
        }
        for key in it.results.as_slice() {
            if let Some(many) = self.open.get_mut(key) {
                *many -= 1;
                if *many == 0 {
                    self.open.remove(key);
                }
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty()
    }
}

/// Whether a history that is otherwise legal may end with the last of these: no tool use has its result and another
/// not.
pub(super) fn may_end(facts: &[Facts]) -> bool {
    let from = facts.iter().rposition(|it| it.role == Role::Assistant).unwrap_or(0);
    let mut waiting = Waiting::default();
    for it in facts.get(from..).unwrap_or_default() {
        waiting.note(it);
    }
    waiting.is_over() || waiting.answered
}

/// Whether a provider would take the message where it stands, as far as this does not hang on ids.
pub(super) fn stands(it: &Facts, strict: bool, begun: &mut bool) -> bool {
    if it.is(EMPTY | REFUSED | WRONG | LATE) || (strict && it.is(BLANK)) {
        return false;
    }
    let talks = matches!(it.role, Role::User | Role::Assistant);
    !(talks && !std::mem::replace(begun, true) && strict && it.role == Role::Assistant)
}

/// Whether a provider would take a history of these as it is: the same as [`pairs::is_legal`] says of the messages,
/// where none makes no sense at all. Ids are told apart by a hash of 64 bits.
pub(super) fn are_legal(facts: &[Facts], wire: Option<Wire>) -> bool {
    let mut order = Order::new(wire);
    order.seen.reserve(facts.len() / 2);
    facts.iter().all(|it| order.goes_on(it)) && order.may_end()
}

/// The same for a history that grows.
#[derive(Clone, Debug)]
pub(super) struct Order {
    strict: bool,
    seen: terms::Set,
    open: terms::Set,
    begun: bool,
    broken: bool,
    /// Whether the model spoke last.
    answered: bool,
}

impl Order {
    pub(super) fn new(wire: Option<Wire>) -> Self {
        let strict = wire == Some(Wire::Anthropic);
        Self {
            strict,
            seen: terms::Set::default(),
            open: terms::Set::default(),
            begun: false,
            broken: false,
            answered: false,
        }
    }

    /// Whether a provider would take none that goes on from here.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether the history may end here.
    pub(super) fn may_end(&self) -> bool {
        !self.broken && (self.open.is_empty() || self.answered)
    }

    /// One more message; gives whether it may stand there.
    pub(super) fn goes_on(&mut self, it: &Facts) -> bool {
        if self.broken {
            return false;
        }
        self.answered = it.role == Role::Assistant;
        self.broken |= !self.takes(it);
        !self.broken
    }

    fn takes(&mut self, it: &Facts) -> bool {
        if !stands(it, self.strict, &mut self.begun) {
            return false;
        }
        for key in it.results.as_slice() {
            if !self.open.remove(key) {
                return false;
            }
        }
        if !self.open.is_empty() && (it.role != Role::User || it.speaks()) {
            return false;
        }
        for key in it.calls.as_slice() {
            if !self.seen.insert(*key) {
                return false;
            }
            self.open.insert(*key);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use loopwright_base::message::{ToolResult, ToolUse};

    fn block() -> impl Strategy<Value = Block> {
        prop_oneof![
            (0_u8..4).prop_map(|n| Block::text(["", " ", "words", "more"][usize::from(n)])),
            (0_u8..3).prop_map(|n| Block::ToolUse(ToolUse::from_text(format!("c{n}"), "f", "{}".into()))),
            (0_u8..3).prop_map(|n| Block::ToolResult(ToolResult::text(format!("c{n}"), "f", "out"))),
        ]
    }

    fn message() -> impl Strategy<Value = Arc<Message>> {
        let role = prop::sample::select(vec![Role::User, Role::User, Role::Assistant, Role::Assistant, Role::System]);
        (role, prop::collection::vec(block(), 0..4)).prop_map(|(role, content)| {
            let fits = |block: &Block| match block {
                Block::ToolUse(_) => role == Role::Assistant,
                Block::ToolResult(_) => role == Role::User,
                _ => true,
            };
            Arc::new(Message::new(role, content.into_iter().filter(fits).collect()))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn what_was_noted_says_the_same_as_a_look_at_the_messages(messages in prop::collection::vec(message(), 0..6)) {
            let facts: Vec<Facts> = messages.iter().map(|message| Facts::of(message)).collect();
            for wire in [None, Some(Wire::Anthropic), Some(Wire::OpenaiChat)] {
                prop_assert_eq!(are_legal(&facts, wire), pairs::is_legal(&messages, wire), "{:?}", wire);
            }
            for (facts, message) in facts.iter().zip(&messages) {
                prop_assert_eq!(facts.calls(), pairs::calls(message));
                prop_assert_eq!(facts.answers(), message.tool_results().next().is_some());
            }
        }
    }
}
