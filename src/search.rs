//! What search providers share, for `loopwright.search`: a circuit breaker, and a corpus in memory.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use pyo3::prelude::*;

use super::errors;
use loopwright_base::breaker::{self, Verdict};
use loopwright_drive::gather;
use loopwright_lexicon::lines::Format;
use loopwright_retrieve::{
    gather::GatherLimits,
    index::{Index, Ways},
    passages::{Passage, passages},
};

/// Leaves a service alone for a while after failures in a row.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Breaker(Mutex<breaker::Breaker>);

impl Breaker {
    fn with<T>(&self, work: impl FnOnce(&mut breaker::Breaker) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Breaker {
    /// Opens after `threshold` failures in a row, for `cooldown` seconds.
    #[new]
    #[pyo3(signature = (threshold=3, cooldown=30.0))]
    fn new(threshold: u32, cooldown: f64) -> Self {
        Self(Mutex::new(breaker::Breaker::new(threshold, cooldown)))
    }

    /// `None` if a call may be made at `now`, else the seconds until one may be tried. A call that may be made after
    /// the breaker was open is the one probe: say what came of it.
    fn check(&self, now: f64) -> Option<f64> {
        match self.with(|breaker| breaker.check(now)) {
            Verdict::Closed | Verdict::Probe => None,
            Verdict::Open { retry_after } => Some(retry_after),
        }
    }

    /// A call went well.
    fn success(&self) {
        self.with(breaker::Breaker::success);
    }

    /// A call failed.
    fn failure(&self, now: f64) {
        self.with(|breaker| breaker.failure(now));
    }

    /// A call was given up: nothing is known.
    fn cancelled(&self) {
        self.with(breaker::Breaker::cancelled);
    }
}

/// Sentences in a passage that documents are found by.
const SENTENCES: usize = 8;
/// Passages looked at for each document that is wanted.
const DEPTH: usize = 12;

/// Documents to search in by their passages.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct LocalIndex {
    documents: Vec<(String, String)>,
    passages: Vec<(usize, Passage)>,
    index: Index,
    problems: Vec<String>,
}

/// Which document, its score, where its best passage stands in characters, its headings, its line.
type Hit = (usize, f64, (usize, usize), String, usize);

impl LocalIndex {
    fn of(documents: Vec<(String, String)>, problems: Vec<String>) -> Self {
        let mut all = Vec::new();
        let mut index = Index::default();
        for (at, (name, text)) in documents.iter().enumerate() {
            let format = match Format::of_path(name) {
                Format::Text => Format::Markdown,
                format => format,
            };
            for passage in passages(text, format, SENTENCES) {
                // What a document is called says what it is about.
                let body = format!("{name}\n{}\n{}", passage.heading, passage.text(text));
                if index.add(&body, None).is_ok() {
                    all.push((at, passage));
                }
            }
        }
        index.prepare();
        Self { documents, passages: all, index, problems }
    }
}

#[pymethods]
impl LocalIndex {
    /// Pairs of a name and a text.
    #[new]
    fn new(py: Python<'_>, documents: Vec<(String, String)>) -> Self {
        py.detach(|| Self::of(documents, Vec::new()))
    }

    /// The text files of folders, as gathering reads them: ignore files honoured, markup left out.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // what Python gives is converted
    fn of_folders(py: Python<'_>, folders: Vec<PathBuf>) -> PyResult<Self> {
        let read = py.detach(|| {
            let limits = GatherLimits::wide();
            gather::read_folders(&folders, &limits).map(|(documents, problems)| Self::of(documents, problems))
        });
        read.map_err(|error| errors::exception(&error))
    }

    fn __len__(&self) -> usize {
        self.documents.len()
    }

    /// What could not be read: path and reason.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// The name and text of a document.
    fn document(&self, at: usize) -> Option<(String, String)> {
        self.documents.get(at).cloned()
    }

    /// The documents whose passages fit a query best.
    fn search(&self, py: Python<'_>, query: &str, k: usize) -> Vec<Hit> {
        py.detach(|| {
            let mut best: HashMap<usize, usize> = HashMap::new();
            let mut hits: Vec<Hit> = Vec::new();
            let most = k.saturating_mul(DEPTH).saturating_add(DEPTH);
            // Without vectors there is nothing that a search could fail at.
            for found in self.index.search(query, None, Ways::default(), most).unwrap_or_default() {
                let Some((document, passage)) = self.passages.get(found.passage) else { continue };
                // What has no word of the query is near it, but says nothing about it.
                if hits.len() >= k || best.contains_key(document) || !self.index.shares_word(query, found.passage) {
                    continue;
                }
                best.insert(*document, hits.len());
                let Some((_, text)) = self.documents.get(*document) else { continue };
                let characters = |to: usize| text.get(..to).map_or(0, |part| part.chars().count());
                let place = (characters(passage.bytes.start), characters(passage.bytes.end));
                hits.push((*document, found.score, place, passage.heading.clone(), passage.line));
            }
            hits
        })
    }
}
