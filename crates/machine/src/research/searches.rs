//! Searches of a research: each is told when it begins and when its results are there, like those of a turn, by one id
//! and with its own time. A search that is given up is told as cut.

use super::{Hit, ResearchMachine, emit, stage::StageWork};
use crate::{Command, Notice, turn::CUT};
use loopwright_base::error::Result;

impl ResearchMachine {
    /// Sends a search.
    pub(super) fn search(&mut self, work: StageWork, k: usize, out: &mut Vec<Command>) {
        let (call_id, query) = self.searched_for(&work).unwrap_or_default();
        let round = self.search_round(&work);
        if self.config.search_events {
            emit(out, Notice::SearchStarted { call_id, round, query: query.clone(), at: self.elapsed() });
        }
        let id = self.issue(work);
        out.push(Command::Query { id, query, k });
    }

    /// Tells what came of a search, and counts it.
    pub(super) fn search_ended(&mut self, work: &StageWork, hits: &Result<Vec<Hit>>, out: &mut Vec<Command>) {
        self.outcome.searches += 1;
        let error = hits.as_ref().err().map(|error| error.code.to_string());
        let results = hits.as_ref().ok().map(|hits| hits.len() as u64);
        self.tell_end(work, results, error, out);
    }

    /// Tells of a search that nobody waits for any more.
    pub(super) fn search_cut(&mut self, work: &StageWork, out: &mut Vec<Command>) {
        if self.config.search_events && self.searched_for(work).is_some() {
            self.outcome.searches += 1;
            self.tell_end(work, None, Some(CUT.to_owned()), out);
        }
    }

    fn tell_end(&self, work: &StageWork, results: Option<u64>, error: Option<String>, out: &mut Vec<Command>) {
        let (id, query) = self.searched_for(work).unwrap_or_default();
        let (round, count) = (self.search_round(work), self.outcome.searches);
        let told = self.config.search_events;
        let (call_id, results, at) =
            if told { (id, results, Some(self.elapsed())) } else { (String::new(), None, None) };
        emit(out, Notice::SearchCompleted { call_id, round, query, count, error, results, at });
    }

    /// The id of a search and its query; nothing for other work.
    fn searched_for(&self, work: &StageWork) -> Option<(String, String)> {
        match work {
            StageWork::Hits { at } => {
                let place = *self.searched.get(*at)?;
                Some((format!("query_{}", place + 1), self.state.queries.get(place)?.query.clone()))
            }
            StageWork::SectionHits { section } => {
                let one = self.sections.get(*section)?;
                Some((format!("review_{}_{}", section + 1, one.rewrites), one.query.clone()))
            }
            _ => None,
        }
    }

    /// The cycle of a search; reviewers search when the cycles are over.
    fn search_round(&self, work: &StageWork) -> u32 {
        self.state.cycles + u32::from(matches!(work, StageWork::Hits { .. }))
    }
}
