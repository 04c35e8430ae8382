//! When repetition counts, and for which tools it does not.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::{role::reads, verdict::Pattern};
use loopwright_base::error::{Error, Result};

/// Thresholds of the detector. 0 turns a pattern off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StuckPolicy {
    /// So often the same call with the same result.
    pub repeats: u32,
    /// So often the same class of error.
    pub errors: u32,
    /// So many rounds of a cycle of 2 to 64 calls.
    pub rounds: u32,
    /// So many rounds without a change of state.
    pub no_change: u32,
    /// So many replies in a row without a call.
    pub monologue: u32,
    /// So often the same piece of text in one reply; short pieces need more.
    pub text: u32,
    /// Whether the model is told once before the run ends.
    pub warn: bool,
    /// What happens where a pattern is found, if not what `warn` says.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<Pattern, Action>,
    /// What differs for single tools.
    pub tools: BTreeMap<String, ToolRules>,
}

/// What happens where a pattern is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The model is told once; if it goes on, the run ends.
    Warn,
    /// The run ends at once.
    End,
    /// The model is told, and the run goes on.
    Tell,
}

/// What differs for one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRules {
    /// Its calls are not looked at.
    pub ignore: bool,
    /// It waits for something: the same call with the same result is no repetition, alone or in a cycle. Its errors
    /// count.
    pub polling: bool,
    /// So many repeats instead of the policy's; 0 for any number.
    pub repeats: Option<u32>,
    /// It does something: with a new id of a request it is asked for one more act, and not for the same answer again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acts: bool,
    /// Names of values in its results that are new at every call and say nothing, beside those that are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

impl ToolRules {
    /// The rules of a tool of which nothing is said.
    pub(super) fn usual() -> &'static Self {
        static USUAL: LazyLock<ToolRules> = LazyLock::new(ToolRules::default);
        &USUAL
    }
}

impl Default for StuckPolicy {
    fn default() -> Self {
        Self {
            repeats: 3,
            errors: 3,
            rounds: 3,
            no_change: 5,
            monologue: 3,
            text: 8,
            warn: true,
            on: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }
}

impl StuckPolicy {
    /// A policy that finds nothing.
    pub fn off() -> Self {
        Self { repeats: 0, errors: 0, rounds: 0, no_change: 0, monologue: 0, text: 0, ..Self::default() }
    }

    /// What happens where a pattern is found.
    pub fn action(&self, pattern: Pattern) -> Action {
        let usual = if self.warn { Action::Warn } else { Action::End };
        self.on.get(&pattern).copied().unwrap_or(usual)
    }

    /// The same policy, with tools that are not declared to only read: they act, unless their names say otherwise.
    #[must_use]
    pub fn with_acting<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Self {
        for name in names.filter(|name| !reads(name)) {
            self.tools.entry(name.to_owned()).or_default().acts = true;
        }
        self
    }

    /// The same policy, with what tools declare to be new in their results at every call.
    #[must_use]
    pub fn with_volatile<'a>(mut self, tools: impl Iterator<Item = (&'a str, &'a [String])>) -> Self {
        for (name, names) in tools {
            self.tools.entry(name.to_owned()).or_default().volatile.extend_from_slice(names);
        }
        self
    }

    /// Checks that no threshold is 1: nothing repeats itself the first time.
    pub fn check(&self) -> Result<()> {
        let own = [
            ("repeats", self.repeats),
            ("errors", self.errors),
            ("rounds", self.rounds),
            ("no_change", self.no_change),
            ("monologue", self.monologue),
            ("text", self.text),
        ];
        let own = own.map(|(name, number)| (name.to_owned(), number)).into_iter();
        let tools =
            self.tools.iter().map(|(name, rules)| (format!("tools.{name}.repeats"), rules.repeats.unwrap_or(0)));
        match own.chain(tools).find(|(_, number)| *number == 1) {
            None => Ok(()),
            Some((name, _)) => Err(Error::usage("invalid_number", format!("stuck.{name} is 1"))
                .hint("give at least 2, or 0 to turn it off")),
        }
    }
}
