//! What is kept of the steps so far: enough to name the members of a pattern, and to know what was there before.

use loopwright_base::text::head;
use serde::{Deserialize, Serialize};

use super::{
    policy::{StuckPolicy, ToolRules},
    verdict::Member,
};

const LONGEST: usize = super::periods::LONGEST;
/// Steps that are known again: three rounds of the longest cycle.
const KNOWN: usize = 3 * LONGEST;
/// Tools that are told apart by name.
const MOST_TOOLS: usize = 256;
const MOST_NAME: usize = 64;
/// Bytes of arguments that are shown.
const SHOWN: usize = 120;

/// A round that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    print: u64,
    exact: u64,
    call: u64,
    slot: u16,
    calls: u16,
    shown: String,
}

impl Entry {
    pub(super) fn new(print: u64, exact: u64, call: u64, slot: u16, calls: usize) -> Self {
        Self { print, exact, call, slot, calls: calls.min(usize::from(u16::MAX)) as u16, shown: String::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    hash: u64,
    name: String,
    rules: ToolRules,
}

/// The last steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Past {
    /// The last 64 rounds; round `n` stands at `n % 64`.
    entries: Vec<Entry>,
    tools: Vec<Slot>,
    known: Vec<u32>,
    next: usize,
}

impl Past {
    /// The place of a tool among those known.
    pub(super) fn slot(&mut self, hash: u64, name: &str, policy: &StuckPolicy) -> u16 {
        if let Some(at) = self.tools.iter().position(|tool| tool.hash == hash) {
            return at as u16;
        }
        if self.tools.len() >= MOST_TOOLS && !policy.tools.contains_key(name) {
            // A model that invents names without end shares one.
            return (MOST_TOOLS - 1) as u16;
        }
        let rules = policy.tools.get(name).cloned().unwrap_or_default();
        self.tools.push(Slot { hash, name: head(name, MOST_NAME).to_owned(), rules });
        (self.tools.len() - 1).min(usize::from(u16::MAX)) as u16
    }

    pub(super) fn rules(&self, slot: u16) -> &ToolRules {
        self.tools.get(usize::from(slot)).map_or(ToolRules::usual(), |tool| &tool.rules)
    }

    /// Whether a step was among the last.
    pub(super) fn knows(&self, print: u64) -> bool {
        let print = print as u32;
        self.known
            .chunks(16)
            .any(|chunk| chunk.iter().fold(0_u32, |found, known| found | u32::from(*known == print)) != 0)
    }

    pub(super) fn remember(&mut self, print: u64) {
        if self.known.len() < KNOWN {
            self.known.push(print as u32);
        } else if let Some(known) = self.known.get_mut(self.next) {
            *known = print as u32;
            self.next = (self.next + 1) % KNOWN;
        }
    }

    /// Takes round `at`.
    pub(super) fn push(&mut self, at: u64, mut entry: Entry, arguments: &str) {
        let shown = excerpt(arguments);
        if self.entries.len() < LONGEST {
            shown.clone_into(&mut entry.shown);
            self.entries.push(entry);
        } else if let Some(old) = self.entries.get_mut((at % LONGEST as u64) as usize) {
            // The text's memory is used again.
            entry.shown = std::mem::take(&mut old.shown);
            entry.shown.clear();
            entry.shown.push_str(shown);
            *old = entry;
        }
    }

    /// The round `back` rounds before the next.
    fn entry(&self, count: u64, back: usize) -> Option<&Entry> {
        let at = count.checked_sub(back as u64)?;
        self.entries.get((at % LONGEST as u64) as usize)
    }

    /// The rounds that a cycle of the last `period` steps needs; `None` if any number is fine.
    pub(super) fn needed(&self, count: u64, period: usize, usual: u32) -> Option<u32> {
        let mut most = 0;
        for entry in (1..=period).filter_map(|back| self.entry(count, back)) {
            let rules = self.rules(entry.slot);
            let needed = rules.repeats.unwrap_or(usual);
            if rules.polling || needed == 0 {
                return None;
            }
            most = most.max(needed);
        }
        Some(most)
    }

    /// Whether the rounds of a cycle were the same to the letter; and what tells the cycle from others, wherever in it
    /// the run stands.
    pub(super) fn compare(&self, count: u64, period: usize, rounds: u64) -> (bool, u64) {
        let known = (rounds as usize).saturating_mul(period).min(LONGEST);
        let same = (1..=known.saturating_sub(period)).all(|back| {
            let exact = |back| self.entry(count, back).map(|entry| entry.exact);
            exact(back) == exact(back + period)
        });
        let sum = (1..=period)
            .filter_map(|back| self.entry(count, back))
            .fold(0_u64, |sum, entry| sum.wrapping_add(entry.print));
        (same, sum)
    }

    /// Whether the last `rounds` rounds made the same call.
    pub(super) fn calls_alike(&self, count: u64, rounds: usize) -> bool {
        let last = self.call(count, 1);
        last.is_some() && (2..=rounds.min(LONGEST)).all(|back| self.call(count, back) == last)
    }

    /// Whether the last two rounds made the same call to the letter.
    pub(super) fn ends_alike(&self, count: u64) -> bool {
        self.entry(count, 1).map(|entry| entry.exact) == self.entry(count, 2).map(|entry| entry.exact)
    }

    /// The last `period` rounds, in order.
    pub(super) fn members(&self, count: u64, period: usize) -> Vec<Member> {
        let entries = (1..=period).rev().filter_map(|back| self.entry(count, back));
        entries
            .map(|entry| {
                let name = self.tools.get(usize::from(entry.slot)).map_or("", |tool| tool.name.as_str());
                let tool = match entry.calls {
                    0 | 1 => name.to_owned(),
                    calls => format!("{name} and {} more", calls - 1),
                };
                Member { tool, arguments: entry.shown.clone() }
            })
            .collect()
    }

    /// The call hash of the round `back` rounds before the next.
    pub(super) fn call(&self, count: u64, back: usize) -> Option<u64> {
        self.entry(count, back).map(|entry| entry.call)
    }
}

/// The beginning of a text, as it is shown.
pub(super) fn excerpt(text: &str) -> &str {
    head(text, SHOWN)
}
