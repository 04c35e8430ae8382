//! Searches, ours and the provider's: told when they begin and end, counted, and left alone where they fail in a row.
//!
//! What the provider searches for is told while its answer streams, as far as it does, and the rest behind the answer;
//! each search once. A run of which nothing is left but searches that fail gives its answer without them.

use serde::{Deserialize, Serialize};

use super::{
    super::{Command, Notice},
    TurnMachine, emit,
};
use loopwright_base::{
    error::FailureKind,
    request::{ProviderSearch, Response, SearchEnd, Tool},
};
use loopwright_wire::searches;

/// Stands for the provider's search among the breakers of tools. No tool has such a name.
const PROVIDER: &str = "provider:search";
/// What is wrong with a search of the provider's that the answer ended without.
const CUT: &str = "cut";

/// A search of the provider's that was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Searching {
    id: String,
    query: String,
    ended: bool,
}

/// Whether the name is that of a search.
pub(super) fn is_search(name: &str) -> bool {
    name.contains("search")
}

/// Whether a failure says that what was called is not well, rather than what was asked of it. Tools have words of their
/// own for what goes wrong; those of a search that asks a service are the service's.
pub(super) fn is_outage(name: &str, failure: &str) -> bool {
    use FailureKind as Kind;
    let services = [
        Kind::Auth,
        Kind::Permission,
        Kind::RateLimited,
        Kind::Overloaded,
        Kind::Server,
        Kind::Quota,
        Kind::Connect,
        Kind::Tls,
        Kind::Cut,
        Kind::InvalidBody,
        Kind::BreakerOpen,
    ];
    let is_services = || failure == "search_failed" || services.iter().any(|kind| kind.name() == failure);
    matches!(failure, "exception" | "timeout") || (is_search(name) && is_services())
}

/// Whether a provider's word for what went wrong with its search means the search, and not how it was asked or a limit
/// that was set.
pub fn search_is_down(error: &str) -> bool {
    !matches!(
        error,
        CUT | "max_uses_exceeded" | "query_too_long" | "request_too_large" | "invalid_input" | "invalid_tool_input"
    )
}

impl TurnMachine {
    pub(super) fn search_began(&self, id: String, query: String, out: &mut Vec<Command>) {
        let (round, at) = (self.round(), self.now.since(self.started));
        emit(out, Notice::SearchStarted { call_id: id, round, query, at });
    }

    pub(super) fn search_ended(
        &mut self,
        id: String,
        query: String,
        results: Option<u64>,
        error: Option<String>,
        out: &mut Vec<Command>,
    ) {
        self.outcome.searches += 1;
        let (round, count, at) = (self.round(), self.outcome.searches, Some(self.now.since(self.started)));
        emit(out, Notice::SearchCompleted { call_id: id, round, query, count, error, results, at });
    }

    /// What the provider says of a search. What was told is not told again.
    pub(super) fn search_seen(&mut self, seen: ProviderSearch, out: &mut Vec<Command>) {
        let ProviderSearch { id, query, end } = seen;
        let at = match (self.searching.iter().position(|known| known.id == id), &query) {
            (Some(at), _) => at,
            (None, Some(query)) => {
                self.search_began(id.clone(), query.clone(), out);
                self.searching.push(Searching { id: id.clone(), query: query.clone(), ended: false });
                self.searching.len() - 1
            }
            // The result of nothing that was asked for.
            (None, None) => return,
        };
        let Some(search) = self.searching.get_mut(at) else { return };
        if search.query.is_empty() {
            search.query = query.unwrap_or_default();
        }
        let Some(SearchEnd { results, error }) = end.filter(|_| !search.ended) else { return };
        search.ended = true;
        let query = search.query.clone();
        let now = self.now.seconds();
        let breaker = self.breakers.entry(PROVIDER.to_owned()).or_default();
        if error.as_deref().is_some_and(search_is_down) {
            breaker.failure(now);
        } else {
            breaker.success();
        }
        self.search_ended(id, query, results, error, out);
    }

    /// An answer is in: what it says of searches that was not told yet. What goes on in the next answer stays open.
    pub(super) fn searches_read(&mut self, response: &Response, goes_on: bool, out: &mut Vec<Command>) {
        let seen = searches::of_response(response);
        let whole: Vec<String> = seen.iter().map(|search| search.id.clone()).collect();
        for search in seen {
            self.search_seen(search, out);
        }
        if goes_on {
            self.searching.retain(|search| !search.ended);
            return;
        }
        self.end_searches(|id| (!whole.iter().any(|seen| seen == id)).then(|| CUT.to_owned()), out);
    }

    /// No more comes of searches that are open: each ends with what `error` gives for its id.
    pub(super) fn end_searches(&mut self, error: impl Fn(&str) -> Option<String>, out: &mut Vec<Command>) {
        for search in std::mem::take(&mut self.searching) {
            if !search.ended {
                let error = error(&search.id);
                self.search_ended(search.id, search.query, None, error, out);
            }
        }
    }

    /// No more comes of the answer.
    pub(super) fn cut_searches(&mut self, out: &mut Vec<Command>) {
        self.end_searches(|_| Some(CUT.to_owned()), out);
    }

    fn is_down(&self, name: &str) -> bool {
        self.breakers.get(name).is_some_and(|breaker| !breaker.is_closed())
    }

    /// A word to the model where searches are left alone from here on: the provider's, once it failed in a row or there
    /// is but one request left after a failure; ours, where there is no other tool.
    pub(super) fn leave_searches(&mut self, out: &mut Vec<Command>) -> Option<&'static str> {
        let last = self.spent.iterations.saturating_add(1) >= self.config.budget.iterations;
        let failing = last && self.breakers.get(PROVIDER).is_some_and(|breaker| !breaker.is_fresh());
        let providers = !self.search_off && self.searches_itself() && (failing || self.is_down(PROVIDER));
        self.search_off |= providers;
        let ours = self.fails_searching();
        self.tools_off |= ours;
        if !providers && !ours {
            return None;
        }
        self.warn(out, "search_down", "the search failed again and again: the next request goes without it");
        let word = "[The search does not work now and is left alone. Answer with what you have, and say what you could not check.]";
        Some(word)
    }

    /// Whether the model still has tools, of which none is anything but a search that failed in a row.
    pub(super) fn fails_searching(&self) -> bool {
        let tools = &self.config.tools;
        let dead = !tools.is_empty() && tools.iter().all(|tool| is_search(&tool.name) && self.is_down(&tool.name));
        dead && !self.tools_off && (self.search_off || !self.searches_itself())
    }

    /// The tools of a request, without a search that is left alone.
    pub(super) fn without_search(&self, tools: &[Tool]) -> Option<Vec<Tool>> {
        self.search_off.then(|| tools.iter().filter(|tool| !matches!(tool, Tool::WebSearch(_))).cloned().collect())
    }
}
