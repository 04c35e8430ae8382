//! A window as it is saved.
//!
//! What can be made again from the history is left out: facts, and how far a compaction is prepared.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    super::{
        ahead::{Ahead, History, Made},
        archive::Archive,
        facts::{Facts, Waiting},
        marks::Marks,
        policy::Policy,
        report::Report,
    },
    ContextWindow,
};
use loopwright_base::message::Message;

/// A window as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    policy: Policy,
    high: f64,
    low: f64,
    marks: Marks,
    given: Vec<Arc<Message>>,
    counts: Vec<usize>,
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    left_out: usize,
    view: Vec<Arc<Message>>,
    tokens: usize,
    #[serde(default)]
    fresh: usize,
    #[serde(default)]
    archived: Option<usize>,
    #[serde(default)]
    archive: Archive,
    #[serde(default)]
    report: Option<Report>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unprepared: bool,
}

impl From<ContextWindow> for Saved {
    fn from(window: ContextWindow) -> Self {
        let report = window.report().cloned();
        let ContextWindow { policy, high, low, marks, history, left_out, view, .. } = window;
        let (given, counts) = history.into_parts();
        let ContextWindow { tokens, fresh, archived, archive, prepares, .. } = window;
        let unprepared = !prepares;
        Self {
            policy,
            high,
            low,
            marks,
            given,
            counts,
            left_out,
            view,
            tokens,
            fresh,
            archived,
            archive,
            report,
            unprepared,
        }
    }
}

impl From<Saved> for ContextWindow {
    fn from(saved: Saved) -> Self {
        let Saved { policy, high, low, marks, given, counts, left_out, view, tokens, .. } = saved;
        let Saved { fresh, archived, archive, report, unprepared, .. } = saved;
        let (mut history, mut waiting) = (History::new(policy.wire), Waiting::default());
        for (message, tokens) in given.into_iter().zip(counts) {
            let facts = Facts::of(&message);
            waiting.note(&facts);
            history.push(message, tokens, facts);
        }
        if let Some(point) = marks.point {
            let rest = history.rest(point.messages);
            history.planned(point.messages, rest);
        }
        let report = report.map(Made::whole);
        let ahead = Ahead::default();
        Self {
            policy,
            high,
            low,
            marks,
            history,
            left_out,
            waiting,
            view,
            tokens,
            fresh,
            archived,
            archive,
            report,
            ahead,
            prepares: !unprepared,
        }
    }
}
