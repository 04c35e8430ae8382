//! Ids that stand twice: every tool use gets one of its own, and results are paired with their uses by position.
//!
//! Many local servers answer `call_0` in every turn, and some models number from 0 in every message. Such a history is
//! whole but for its ids, so a window follows it message by message, and gives the names that a repair of all of it
//! gives.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use super::{
    facts::{Facts, stands},
    pairs::{Repair, call_id, renamed},
};
use loopwright_base::message::{Block, Message, Role, Wire};

/// The ids that were used, and where.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    /// For an id, the place of the message whose tool use was named so last.
    last: HashMap<String, usize>,
    /// For an id that is used again, the number that the next one gets.
    numbers: HashMap<String, usize>,
}

impl Ids {
    /// The id that a use at `place` gets which came as `was`.
    pub(super) fn give(&mut self, was: &str, place: usize) -> String {
        let mut id = was.to_owned();
        while self.last.contains_key(&id) {
            let number = self.numbers.entry(was.to_owned()).or_insert(1);
            *number += 1;
            id = format!("{was}_{number}");
        }
        self.last.insert(was.to_owned(), place);
        if id != was {
            self.last.insert(id.clone(), place);
        }
        id
    }

    /// The place whose use is named so.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.last.get(id).copied()
    }
}

/// A use that waits for its result.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Its id in the history given.
    pub(super) was: String,
    /// The id it gets.
    pub(super) id: String,
    pub(super) name: String,
}

/// The uses of one message that wait for their results.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    /// By their places.
    calls: BTreeMap<usize, Call>,
    /// The places of those that came with an id, in order, …
    came: HashMap<String, VecDeque<usize>>,
    /// … and of those that got another.
    got: HashMap<String, usize>,
}

impl Open {
    pub(super) fn add(&mut self, place: usize, call: Call) {
        self.came.entry(call.was.clone()).or_default().push_back(place);
        if call.id != call.was {
            self.got.insert(call.id.clone(), place);
        }
        self.calls.insert(place, call);
    }

    /// The use that a result with this id answers: the first that came with it and is open.
    pub(super) fn answer(&mut self, id: &str) -> Option<Call> {
        while let Some(place) = self.came.get_mut(id).and_then(VecDeque::pop_front) {
            // One that is gone was answered by the id it got.
            if let Some(call) = self.calls.remove(&place) {
                return Some(call);
            }
        }
        self.calls.remove(self.got.get(id)?)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// In order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values()
    }
}

/// New ids of a message's blocks, by their places.
pub(super) type Names = Arc<[(usize, Box<str>)]>;

/// A message some of whose blocks get other ids.
#[derive(Clone, Debug)]
struct Renamed {
    message: usize,
    names: Names,
    /// How many uses were renamed, up to here.
    calls: usize,
}

/// A history that a provider would take but for ids that stand twice, while it grows.
#[derive(Clone, Debug)]
pub(super) struct Renaming {
    strict: bool,
    begun: bool,
    ids: Ids,
    open: Open,
    /// Something else is wrong with it, too.
    broken: bool,
    /// Whether the model spoke last.
    answered: bool,
    renamed: Vec<Renamed>,
}

impl Renaming {
    pub(super) fn of(wire: Option<Wire>, messages: &[Arc<Message>], facts: &[Facts]) -> Self {
        let mut new = Self {
            strict: wire == Some(Wire::Anthropic),
            begun: false,
            ids: Ids::default(),
            open: Open::default(),
            broken: false,
            answered: false,
            renamed: Vec::new(),
        };
        for (index, (message, facts)) in messages.iter().zip(facts).enumerate() {
            new.goes_on(index, message, facts);
        }
        new
    }

    /// Whether nothing else is wrong.
    pub(super) const fn holds(&self) -> bool {
        !self.broken
    }

    /// Whether the history may end here.
    pub(super) fn may_end(&self) -> bool {
        !self.broken && (self.open.is_empty() || self.answered)
    }

    /// One more message.
    pub(super) fn goes_on(&mut self, index: usize, message: &Message, it: &Facts) {
        if self.broken {
            return;
        }
        self.answered = it.role == Role::Assistant;
        match self.takes(index, message, it) {
            Some(names) if names.is_empty() => {}
            Some(names) => {
                let calls = if self.answered { names.len() } else { 0 };
                let calls = calls + self.renamed.last().map_or(0, |last| last.calls);
                self.renamed.push(Renamed { message: index, names: names.into(), calls });
            }
            None => {
                // What was renamed so far still tells of the plans that were made.
                self.broken = true;
                (self.ids, self.open) = (Ids::default(), Open::default());
            }
        }
    }

    /// The names of its blocks: of a model's message those of tool uses, of any other those of results.
    fn takes(&mut self, index: usize, message: &Message, it: &Facts) -> Option<Vec<(usize, Box<str>)>> {
        if !stands(it, self.strict, &mut self.begun) {
            return None;
        }
        let mut names: Vec<(usize, Box<str>)> = Vec::new();
        if it.answers() {
            for (at, block) in message.content.iter().enumerate() {
                let Block::ToolResult(result) = block else { continue };
                let id = self.open.answer(&result.id)?.id;
                if id != result.id {
                    names.push((at, id.into()));
                }
            }
        }
        if !self.open.is_empty() && (it.role != Role::User || it.speaks()) {
            return None;
        }
        if !it.names_calls() {
            return Some(names);
        }
        if it.role != Role::Assistant {
            return None;
        }
        self.open = Open::default();
        for (at, block) in message.content.iter().enumerate() {
            let Some(was) = call_id(block) else { continue };
            let id = self.ids.give(&was, index);
            if id != was {
                names.push((at, id.as_str().into()));
            }
            self.open.add(at, Call { was: was.into_owned(), id, name: String::new() });
        }
        Some(names)
    }

    /// The new ids of a message, where it gets any.
    pub(super) fn names(&self, message: usize) -> Option<Names> {
        let at = self.renamed.binary_search_by_key(&message, |renamed| renamed.message).ok()?;
        self.renamed.get(at).map(|renamed| renamed.names.clone())
    }

    fn first(&self, messages: usize) -> &[Renamed] {
        let end = self.renamed.partition_point(|renamed| renamed.message < messages);
        self.renamed.get(..end).unwrap_or_default()
    }

    /// How many tool uses of the first `messages` got another id.
    pub(super) fn count(&self, messages: usize) -> usize {
        self.first(messages).last().map_or(0, |last| last.calls)
    }

    /// The same, as repairs.
    pub(super) fn repairs(&self, messages: usize, all: &[Arc<Message>]) -> Vec<Repair> {
        let named = self.first(messages).iter().flat_map(|renamed| {
            let message = all.get(renamed.message);
            renamed.names.iter().filter_map(move |(at, id)| {
                let was = call_id(message?.content.get(*at)?)?;
                Some(said(renamed.message, &was, id))
            })
        });
        named.collect()
    }
}

/// What is said of a tool use that got another id.
pub(super) fn said(message: usize, was: &str, id: &str) -> Repair {
    Repair { message, what: format!("its tool use {was:?} has an id that was used before; it is {id:?} now") }
}

/// The message with other ids.
pub(super) fn with_names(message: &Message, names: &[(usize, Box<str>)]) -> Arc<Message> {
    let mut out = message.clone();
    for (at, id) in names {
        match out.content.get_mut(*at) {
            Some(Block::ToolUse(call)) => id.as_ref().clone_into(&mut call.id),
            Some(Block::ToolResult(result)) => id.as_ref().clone_into(&mut result.id),
            Some(Block::Provider(block)) => block.raw = renamed(&block.raw, id),
            _ => {}
        }
    }
    Arc::new(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pairs::repair;
    use super::*;
    use loopwright_base::message::{ToolResult, ToolUse};

    fn call(ids: &[usize]) -> Arc<Message> {
        let calls = ids.iter().map(|id| Block::ToolUse(ToolUse::from_text(name(*id), "f", "{}".into())));
        Arc::new(Message::new(Role::Assistant, calls.collect()))
    }

    fn results(ids: &[usize]) -> Arc<Message> {
        let results = ids.iter().map(|id| Block::ToolResult(ToolResult::text(name(*id), "f", "out")));
        Arc::new(Message::new(Role::User, results.collect()))
    }

    /// Some of them are what others would become.
    fn name(id: usize) -> &'static str {
        ["a", "b", "a_2", "a_2_2", "b_3"][id % 5]
    }

    /// Exchanges whose results come in one message or several, in any order; now and then something is wrong.
    fn exchange() -> impl Strategy<Value = Vec<Arc<Message>>> {
        (prop::collection::vec(0_usize..5, 1..4), any::<u8>(), 0_u8..24).prop_map(|(ids, turn, odd)| {
            let mut answered = ids.clone();
            answered.rotate_left(usize::from(turn) % ids.len());
            if odd == 0 {
                answered.pop();
            }
            if odd == 1 {
                answered.push(0);
            }
            let mut out = vec![call(&ids)];
            match turn % 3 {
                0 => out.push(results(&answered)),
                1 => out.extend(answered.iter().map(|id| results(&[*id]))),
                _ => {
                    let mut last = (*results(&answered)).clone();
                    last.content.push(Block::text("and go on"));
                    out.push(Arc::new(last));
                }
            }
            if turn % 5 == 0 {
                out.push(Arc::new(Message::user("go on")));
            }
            out
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn c26_names_given_one_by_one_are_those_of_a_repair_of_all(exchanges in prop::collection::vec(exchange(), 1..6)) {
            let mut all = vec![Arc::new(Message::user("go"))];
            all.extend(exchanges.into_iter().flatten());
            let facts: Vec<Facts> = all.iter().map(|message| Facts::of(message)).collect();
            for wire in [None, Some(Wire::Anthropic), Some(Wire::OpenaiChat)] {
                let mut renaming = Renaming::of(wire, &[], &[]);
                for (index, (message, facts)) in all.iter().zip(&facts).enumerate() {
                    renaming.goes_on(index, message, facts);
                    if !renaming.may_end() {
                        continue;
                    }
                    let (placed, repairs) = repair(&all[..=index], wire).unwrap();
                    prop_assert_eq!(&renaming.repairs(index + 1, &all), &repairs);
                    prop_assert_eq!(renaming.count(index + 1), repairs.len());
                    prop_assert_eq!(placed.len(), index + 1);
                    for (at, placed) in placed.iter().enumerate() {
                        let names = renaming.names(at);
                        prop_assert_eq!(placed.changed, names.is_some());
                        let own = names.map_or_else(|| all[at].clone(), |names| with_names(&all[at], &names));
                        prop_assert_eq!(&placed.message, &own);
                    }
                }
            }
        }
    }

    #[test]
    fn c26_two_uses_with_one_id_in_a_message_are_answered_in_order() {
        let text = |text: &str| Block::ToolResult(ToolResult::text("a", "f", text));
        let both = Arc::new(Message::new(Role::User, vec![text("first"), text("second")]));
        let (placed, repairs) = repair(&[Arc::new(Message::user("go")), call(&[0, 0]), both], None).unwrap();
        assert_eq!(repairs.len(), 1, "{repairs:?}");
        let want = [("a", "first"), ("a_2", "second")].map(|(id, text)| ToolResult::text(id, "f", text));
        assert!(placed[2].message.tool_results().eq(&want), "{placed:#?}");
    }

    #[test]
    fn c26_results_of_ten_thousand_uses_with_one_id_take_no_time() {
        let ids = vec![0; 10_000];
        let mut last = (*results(&ids)).clone();
        last.content.reverse();
        let (placed, repairs) = repair(&[Arc::new(Message::user("go")), call(&ids), Arc::new(last)], None).unwrap();
        assert_eq!((placed.len(), repairs.len()), (3, 9_999));
    }
}
