//! How a turn stands with its tools: what fails in a row is left alone, and a run of which nothing is left but searches
//! that fail gives its answer without them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    TurnConfig,
    calls::CallIds,
    searches::{PROVIDER, Searching, is_search},
};
use crate::Time;
use loopwright_base::{breaker::Breaker, request::Tool};

/// How the turn stands with its tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tools {
    /// By the names of tools, and the provider's search.
    pub(super) breakers: BTreeMap<String, Breaker>,
    pub(super) ids: CallIds,
    /// No call may follow: the model is offered tools, and told to use none.
    pub(super) off: bool,
    /// Requests go without tools: the provider does not take them, or does not come to an end with them.
    pub(super) left_out: bool,
    /// Searches of the provider's that the answer under way has told of, and those that go on from the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) searching: Vec<Searching>,
    /// The provider's search is left alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) search_off: bool,
    /// Answers that were not taken.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) wrong_answers: u32,
    /// Nothing is left to do but a call that is the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) answer_due: bool,
    /// The tool that finds others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finder: Option<String>,
    /// Tools that came since the turn began, found or asked for, in the order in which they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) loaded: Vec<String>,
    /// Tools that are asked for before each request, and whether they are on offer now.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) asked: BTreeMap<String, bool>,
}

impl Tools {
    /// Takes note of whether a tool was well.
    pub(super) fn learn(&mut self, name: &str, failed: bool, now: Time) {
        let breaker = self.breakers.entry(name.to_owned()).or_default();
        if failed {
            breaker.failure(now.seconds());
        } else {
            breaker.success();
        }
    }

    fn is_down(&self, name: &str) -> bool {
        self.breakers.get(name).is_some_and(|breaker| !breaker.is_closed())
    }

    /// A word to the model where searches are left alone from here on: the provider's, once it failed in a row or there
    /// is but one request left after a failure; ours, where there is no other tool.
    pub(super) fn leave_searches(&mut self, config: &TurnConfig, last: bool) -> Option<&'static str> {
        let failing = last && self.breakers.get(PROVIDER).is_some_and(|breaker| !breaker.is_fresh());
        let providers = !self.search_off && config.searches_itself() && (failing || self.is_down(PROVIDER));
        self.search_off |= providers;
        let ours = self.fails_searching(config);
        self.off |= ours;
        let word = "[The search does not work now and is left alone. Answer with what you have, and say what you could \
                    not check.]";
        (providers || ours).then_some(word)
    }

    /// Whether the model still has tools, of which none is anything but a search that failed in a row.
    pub(super) fn fails_searching(&self, config: &TurnConfig) -> bool {
        let tools = &config.tools;
        let dead = !tools.is_empty() && tools.iter().all(|tool| is_search(&tool.name) && self.is_down(&tool.name));
        dead && !self.off && (self.search_off || !config.searches_itself())
    }

    /// The tools of a request, without a search that is left alone.
    pub(super) fn without_search(&self, tools: &[Tool]) -> Option<Vec<Tool>> {
        self.search_off.then(|| tools.iter().filter(|tool| !matches!(tool, Tool::WebSearch(_))).cloned().collect())
    }
}
