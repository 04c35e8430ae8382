//! What a tool brings in, and what it does outside: as its author declares it, or as its name says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{names, policy::subject::words_of};

/// The list of words that call something off.
pub(super) const CANCELS: &str = "flows.cancels";

/// Who can have written what a tool gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The user alone, or a system of theirs.
    #[default]
    Trusted,
    /// Others, too.
    Untrusted,
}

/// What a call does beside giving information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Nothing: it reads.
    Reads,
    /// Something is made or changed that stays.
    Writes,
    /// Something is removed or cancelled.
    Deletes,
    /// Words go to somebody.
    Sends,
    /// Words go to everybody.
    Publishes,
    /// Somebody is given access.
    Shares,
    /// Money is spent, or something is booked.
    Pays,
}

impl ToolEffect {
    /// All effects.
    pub const ALL: [Self; 7] =
        [Self::Reads, Self::Writes, Self::Deletes, Self::Sends, Self::Publishes, Self::Shares, Self::Pays];

    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Deletes => "deletes",
            Self::Sends => "sends",
            Self::Publishes => "publishes",
            Self::Shares => "shares",
            Self::Pays => "pays",
        }
    }

    /// The list of words that ask for it, in the user's words and in names of tools.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Reads => "flows.reads",
            Self::Writes => "flows.writes",
            Self::Deletes => "flows.deletes",
            Self::Sends => "flows.sends",
            Self::Publishes => "flows.publishes",
            Self::Shares => "flows.shares",
            Self::Pays => "flows.pays",
        }
    }

    /// Whether it can't be taken back, or reaches somebody.
    pub(super) const fn reaches(self) -> bool {
        !matches!(self, Self::Reads | Self::Writes)
    }
}

/// What a tool brings in and does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFlow {
    /// Who can have written what it gives.
    #[serde(default)]
    pub trust: Trust,
    /// What its calls do.
    #[serde(default)]
    pub effects: BTreeSet<ToolEffect>,
}

impl ToolFlow {
    /// What the name of a tool says, where its author says nothing: a verb of reading comes first in the names of tools
    /// that only read; one that names none of the effects changes something.
    pub fn by_name(name: &str, read_only: bool) -> Self {
        let words: Vec<String> = words_of(name).collect();
        let any = |list: &str| words.iter().any(|word| names::has(list, word));
        let reads = read_only || words.first().is_some_and(|word| names::has(ToolEffect::Reads.words(), word));
        let mut acts = false;
        let effects = if reads {
            BTreeSet::from([ToolEffect::Reads])
        } else {
            let named =
                ToolEffect::ALL.into_iter().filter(|effect| *effect != ToolEffect::Reads && any(effect.words()));
            let mut named: BTreeSet<ToolEffect> = named.collect();
            named.extend(any(CANCELS).then_some(ToolEffect::Deletes));
            acts = !named.is_empty();
            if named.is_empty() { BTreeSet::from([ToolEffect::Writes]) } else { named }
        };
        // What acts gives no more than that it did.
        let brings = any("flows.others") && (reads || !acts);
        Self { trust: if brings { Trust::Untrusted } else { Trust::Trusted }, effects }
    }

    /// Whether its calls do more than to read.
    pub fn acts(&self) -> bool {
        self.effects.iter().any(|effect| *effect != ToolEffect::Reads)
    }
}
