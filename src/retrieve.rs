//! Passages to search in, for `loopwright.retrieve`, and the check of citations, for
//! `loopwright.grounded.check_citations`. No call holds the interpreter while it works.

use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;

use super::{convert, errors};
use loopwright_base::{error::Error, sources::Source};
use loopwright_machine::grounded::{Evidence, Lengths, Profile, verify};
use loopwright_retrieve::{
    extractive::{self, Options},
    index::{Index, Ways, fuse_ranks},
    support::ANSWERABLE,
};

/// Passages to search in.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct RetrieveIndex(RwLock<Index>);

#[pymethods]
impl RetrieveIndex {
    #[new]
    fn new() -> Self {
        Self(RwLock::default())
    }

    /// Adds passages, with the vectors of an embedder if there is one.
    #[pyo3(signature = (texts, vectors=None))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn add(&self, py: Python<'_>, texts: Vec<String>, vectors: Option<Vec<Vec<f32>>>) -> PyResult<()> {
        py.detach(|| {
            let mut index = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if vectors.as_ref().is_some_and(|vectors| vectors.len() != texts.len()) {
                return Err(Error::usage("invalid_value", "there must be a vector for each text")
                    .hint("give as many vectors as texts, or none"));
            }
            for (at, text) in texts.iter().enumerate() {
                index.add(text, vectors.as_ref().and_then(|all| all.get(at)).map(Vec::as_slice))?;
            }
            Ok(())
        })
        .map_err(|error| errors::exception(&error))
    }

    /// Looks for the directions of the corpus, if that was not done since the last passage came.
    fn prepare(&self, py: Python<'_>) {
        py.detach(|| self.0.write().unwrap_or_else(PoisonError::into_inner).prepare());
    }

    /// Numbers and scores of the best `k` passages.
    #[pyo3(signature = (query, k, vector=None, *, feedback=true, lsa=true))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn search(
        &self,
        py: Python<'_>,
        query: &str,
        k: usize,
        vector: Option<Vec<f32>>,
        feedback: bool,
        lsa: bool,
    ) -> PyResult<Vec<(usize, f64)>> {
        let found = py.detach(|| {
            let index = self.0.read().unwrap_or_else(PoisonError::into_inner);
            index.search(query, vector.as_deref(), Ways { feedback, lsa }, k)
        });
        let found = found.map_err(|error| errors::exception(&error))?;
        Ok(found.into_iter().map(|one| (one.passage, one.score)).collect())
    }

    /// How likely the passages hold an answer, and from what on they are taken to.
    fn support(&self, py: Python<'_>, query: &str) -> (f64, f64) {
        let support = py.detach(|| self.0.read().unwrap_or_else(PoisonError::into_inner).support(query));
        (support, ANSWERABLE)
    }

    /// The words of a query that stand in no passage.
    fn missing(&self, query: &str) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).missing(query)
    }

    fn __len__(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Joins rankings by reciprocal rank.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python gives them
pub(super) fn retrieve_fuse(rankings: Vec<(Vec<usize>, f64)>, k: usize) -> Vec<(usize, f64)> {
    fuse_ranks(&rankings, k)
}

/// Holds a text against sources (JSON, as journals hold them); gives what is wrong and what is cited, as JSON.
#[pyfunction]
#[pyo3(signature = (text, sources, question="", profile="plain"))]
pub(super) fn check_citations(
    py: Python<'_>,
    text: &str,
    sources: &str,
    question: &str,
    profile: &str,
) -> PyResult<String> {
    let invalid = |what: &str, why: String| {
        errors::usage("invalid_value", format!("invalid {what}: {why}"), "mend what is named there, or leave it out")
    };
    let sources: Vec<Source> = serde_json::from_str(sources).map_err(|error| invalid("sources", error.to_string()))?;
    let profile: Profile =
        serde_json::from_value(profile.into()).map_err(|error| invalid("profile", error.to_string()))?;
    let found = py.detach(|| {
        let evidence = Evidence { question, sources: &sources, tools: &[], unseen: false };
        verify(text, &evidence, profile, &Lengths { short: 0, long: 0, long_question: 0 })
    });
    let found = serde_json::json!({
        "passed": found.passed(),
        "abstains": found.abstains,
        "issues": found.issues,
        "claims": found.claims,
        "cited": found.cited,
        "feedback": found.feedback(),
    });
    Ok(found.to_string())
}

/// An answer made of quotes from sources (JSON), as JSON.
#[pyfunction]
#[pyo3(signature = (question, sources, least_coverage=None, most=3, trusted=false))]
pub(super) fn quote_sources(
    py: Python<'_>,
    question: &str,
    sources: &str,
    least_coverage: Option<f64>,
    most: usize,
    trusted: bool,
) -> PyResult<String> {
    let sources: Vec<Source> = convert::from_json(
        sources,
        ("invalid_value", "invalid sources"),
        "give a list of sources as a search gives them",
    )?;
    let mut options = Options { most, trusted, ..Options::default() };
    if let Some(least) = least_coverage {
        options.least_support = least;
    }
    let answer = py.detach(|| extractive::answer(question, &sources, &options));
    let quotes: Vec<_> = answer
        .quotes
        .iter()
        .map(|quote| {
            serde_json::json!({
                "source": quote.source + 1, "line": quote.line, "end_line": quote.end_line,
                "text": quote.text, "score": quote.score,
            })
        })
        .collect();
    let said = serde_json::json!({
        "text": answer.text, "quotes": quotes, "missing": answer.missing, "coverage": answer.coverage,
    });
    Ok(said.to_string())
}

/// The words that mark texts, most telling first.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python gives them
pub(super) fn retrieve_topics(texts: Vec<String>, most: usize) -> Vec<String> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    extractive::topics(&texts, most)
}
