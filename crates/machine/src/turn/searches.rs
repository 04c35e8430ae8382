//! Searches, ours and the provider's: told when they begin and end, counted, and left alone where they fail in a row.
//!
//! What the provider searches for is told while its answer streams, as far as it does, and the rest behind the answer;
//! each search once. A run of which nothing is left but searches that fail gives its answer without them.

use serde::{Deserialize, Serialize};

use super::{
    super::{Command, Notice, Time},
    emit,
    tools::Tools,
};
use loopwright_base::{
    error::FailureKind,
    request::{ProviderSearch, Response, SearchEnd},
};
use loopwright_wire::searches;

/// Stands for the provider's search among the breakers of tools. No tool has such a name.
pub(super) const PROVIDER: &str = "provider:search";
/// What is wrong with a search of the provider's that the answer ended without.
pub(crate) const CUT: &str = "cut";

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

/// Tells of searches, and counts them.
pub(super) struct SearchTeller<'a> {
    pub(super) round: u32,
    /// Seconds since the turn began.
    pub(super) at: f64,
    pub(super) now: Time,
    pub(super) count: &'a mut u64,
    pub(super) out: &'a mut Vec<Command>,
}

impl SearchTeller<'_> {
    pub(super) fn began(&mut self, id: String, query: String) {
        emit(self.out, Notice::SearchStarted { call_id: id, round: self.round, query, at: self.at });
    }

    pub(super) fn ended(&mut self, id: String, query: String, results: Option<u64>, error: Option<String>) {
        *self.count += 1;
        let (round, count, at) = (self.round, *self.count, Some(self.at));
        emit(self.out, Notice::SearchCompleted { call_id: id, round, query, count, error, results, at });
    }
}

impl Tools {
    /// What the provider says of a search. What was told is not told again.
    pub(super) fn search_seen(&mut self, seen: ProviderSearch, teller: &mut SearchTeller) {
        let ProviderSearch { id, query, end } = seen;
        let at = match (self.searching.iter().position(|known| known.id == id), &query) {
            (Some(at), _) => at,
            (None, Some(query)) => {
                teller.began(id.clone(), query.clone());
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
        self.learn(PROVIDER, error.as_deref().is_some_and(search_is_down), teller.now);
        teller.ended(id, query, results, error);
    }

    /// An answer is in: what it says of searches that was not told yet. What goes on in the next answer stays open.
    pub(super) fn searches_read(&mut self, response: &Response, goes_on: bool, teller: &mut SearchTeller) {
        let seen = searches::of_response(response);
        let whole: Vec<String> = seen.iter().map(|search| search.id.clone()).collect();
        for search in seen {
            self.search_seen(search, teller);
        }
        if goes_on {
            self.searching.retain(|search| !search.ended);
            return;
        }
        self.end_searches(|id| (!whole.iter().any(|seen| seen == id)).then_some(CUT), teller);
    }

    /// No more comes of searches that are open: each ends with what `error` gives for its id.
    pub(super) fn end_searches<'a>(&mut self, error: impl Fn(&str) -> Option<&'a str>, teller: &mut SearchTeller) {
        for search in std::mem::take(&mut self.searching).into_iter().filter(|search| !search.ended) {
            let error = error(&search.id).map(str::to_owned);
            teller.ended(search.id, search.query, None, error);
        }
    }
}
