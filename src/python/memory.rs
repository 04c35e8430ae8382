//! Memory, for `loopwright.memory`: notes, queries and hits cross as JSON text, and no call holds the interpreter
//! while it waits for the file.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use pyo3::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

use super::errors;
use crate::{
    core::error::{Error, Result},
    store::{
        memory::{self, MAX_TEXT, Note, Query, RELATIONS, Relation, Rules, Shape, Trust},
        open::Options,
    },
};

/// The memory in a file, until it is closed.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct MemoryStore(RwLock<Option<Arc<memory::Memory>>>);

impl MemoryStore {
    /// What is under way when the memory is closed goes on to its end.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&memory::Memory) -> Result<T> + Send) -> PyResult<T> {
        apart(py, || {
            let memory = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
            let memory =
                memory.ok_or_else(|| Error::usage("store_closed", "the memory was closed").hint("open it anew"))?;
            work(&memory)
        })
    }
}

fn parsed<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        // The place in our own JSON says nothing to a caller.
        let said = said.split(" at line ").next().unwrap_or_default();
        Error::usage("invalid_value", format!("invalid {what}: {said}"))
    })
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("store_failed", error.to_string()))
}

fn trust_of(name: &str) -> Result<Trust> {
    parsed("trust", &format!("{name:?}"))
}

/// Runs `work` without the interpreter.
fn apart<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| errors::exception(&error))
}

#[pymethods]
impl MemoryStore {
    #[new]
    fn new(py: Python<'_>, path: &str, session: &str, read_only: bool, patience: f64) -> PyResult<Self> {
        apart(py, || {
            let patience = Duration::try_from_secs_f64(patience).map_err(|_| {
                Error::usage("invalid_value", "patience is a number of seconds").hint("give one from 0 up")
            })?;
            let options = Options { read_only, patience, ..Options::new(path) };
            let memory = memory::Memory::open(&options, session)?;
            Ok(Self(RwLock::new(Some(Arc::new(memory)))))
        })
    }

    /// Remembers notes, a JSON list; with `vectors`, what `embedder` made of them.
    #[pyo3(signature = (notes, embedder=None, vectors=None))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn remember(
        &self,
        py: Python<'_>,
        notes: &str,
        embedder: Option<&str>,
        vectors: Option<Vec<Vec<f32>>>,
    ) -> PyResult<Vec<i64>> {
        self.with(py, |memory| {
            let notes: Vec<Note> = parsed("note", notes)?;
            memory.remember_with(&notes, embedder.zip(vectors.as_deref()))
        })
    }

    /// The hits for a query, both JSON.
    fn recall(&self, py: Python<'_>, query: &str) -> PyResult<String> {
        self.with(py, |memory| json(&memory.recall(&parsed::<Query>("query", query)?)?))
    }

    /// The text for a model, and its hits as JSON.
    fn inject(&self, py: Python<'_>, query: &str, hits: usize, characters: usize) -> PyResult<(String, String)> {
        self.with(py, |memory| {
            let injection = memory.inject(&parsed::<Query>("query", query)?, Shape { hits, characters })?;
            Ok((injection.text, json(&injection.hits)?))
        })
    }

    /// Where a memory comes from, as JSON.
    fn why(&self, py: Python<'_>, id: i64) -> PyResult<String> {
        self.with(py, |memory| json(&memory.why(id)?))
    }

    /// Forgets a memory; gives the numbers of all that went with it.
    fn forget(&self, py: Python<'_>, id: i64, erase: bool) -> PyResult<Vec<i64>> {
        self.with(py, |memory| memory.forget(id, erase))
    }

    /// Keeps a relation between two entities.
    #[pyo3(signature = (subject, relation, object, source, memory, trust))]
    #[allow(clippy::too_many_arguments)] // as Python gives them
    fn relate(
        &self,
        py: Python<'_>,
        subject: &str,
        relation: &str,
        object: &str,
        source: Option<&str>,
        memory: Option<i64>,
        trust: &str,
    ) -> PyResult<()> {
        self.with(py, |store| {
            let trust = trust_of(trust)?;
            store.relate(&Relation { subject, relation, object, source, memory, trust })
        })
    }

    /// The entities around one, as JSON.
    #[pyo3(signature = (entity, relation, distance, limit))]
    fn neighbours(
        &self,
        py: Python<'_>,
        entity: &str,
        relation: Option<&str>,
        distance: usize,
        limit: usize,
    ) -> PyResult<String> {
        self.with(py, |memory| json(&memory.neighbours(entity, relation, distance, limit)?))
    }

    /// Merges and promotes by rule; what was done, as JSON.
    fn consolidate(&self, py: Python<'_>, repeats: usize) -> PyResult<String> {
        self.with(py, |memory| json(&memory.consolidate(Rules { repeats, ..Rules::default() })?))
    }

    /// When that was done last.
    fn consolidated_at(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, memory::Memory::consolidated_at)
    }

    /// How much there is, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |memory| json(&memory.stats()?))
    }

    /// Lets go of the file.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.write().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// The relations that there are.
    #[staticmethod]
    fn relations() -> Vec<&'static str> {
        RELATIONS.to_vec()
    }

    /// The name under which vectors of feature hashing are kept, and those of some texts.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn hashed(py: Python<'_>, texts: Vec<String>) -> (&'static str, Vec<Vec<f32>>) {
        (memory::HASHING, py.detach(|| texts.iter().map(|text| memory::hashed(text)).collect()))
    }

    /// The longest text, in bytes.
    #[staticmethod]
    const fn longest_text() -> usize {
        MAX_TEXT
    }
}
