//! A run as it stood at one event, so that going on need not begin at the first.
//!
//! What is saved is bound to the journal by the number and the sum of the line it was taken behind: the lines that
//! follow are checked and fed as ever.

use serde::{Deserialize, Serialize};

use super::{
    read::Journal,
    resume::{Continued, Open, go_on},
};
use crate::core::{
    error::{Error, Result},
    machine::Tree,
};

/// A run as it stood behind one line of its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The number of the event.
    pub seq: u64,
    /// The sum of its line.
    pub sum: u64,
    /// The machine and what waits for an answer, as JSON.
    pub state: String,
}

#[derive(Serialize)]
pub(super) struct State<'a> {
    pub(super) tree: &'a Tree,
    pub(super) open: &'a Open,
}

#[derive(Deserialize)]
struct Restored {
    tree: Tree,
    open: Open,
}

/// As [`super::resume`], from a saved state: the journal holds the lines behind it ([`Journal::behind`]).
pub fn resume_saved(journal: Journal, state: &str) -> Result<Continued> {
    let restored: Restored = serde_json::from_str(state).map_err(|error| {
        Error::usage("invalid_journal", format!("what was saved of the run can't be read: {error}"))
    })?;
    go_on(journal, restored.tree, restored.open)
}
