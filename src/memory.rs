//! Memory, for `loopwright.memory`: notes, queries and hits cross as JSON text, and no call holds the interpreter
//! while it waits for the file.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use pyo3::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    errors,
    run::{MOST_NOTICES, Run},
};
use loopwright_base::{
    error::{Error, Result},
    request::History,
};
use loopwright_guard::sensitivity::without_secrets;
use loopwright_machine::{
    Command, EventKind, Machine, Notice, Outcome, Tree,
    journal::{Journal, JournalLine},
    turn::RecalledHit,
};
use loopwright_store::{
    audit::{self, EventFilter},
    memory::{
        self, InjectionLimits, MAX_TEXT, Note, Query, RELATIONS, Relation, Rules, Trust,
        after::{After, Thought, Turn, instructions},
    },
    open::Options,
    work::{Job, LostRun},
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
        let named = if what == "note" { "remember" } else { "recall" };
        Error::usage("invalid_value", format!("invalid {what}: {said}"))
            .hint(format!("`help(Memory.{named})` says what it takes"))
    })
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("store_failed", error.to_string()))
}

/// The data of a turn beside those that its run has.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TurnData {
    run: String,
    session: Option<String>,
    user: Option<String>,
    started_at: f64,
    ended_at: f64,
    prompt_at: Option<usize>,
    after: After,
}

/// The turn of a run that has ended.
fn turn_of(run: &Run, about: TurnData) -> Result<Turn> {
    run.told(|tree, notices, recalled| {
        let outcome = tree
            .outcome()
            .ok_or_else(|| Error::usage("not_finished", "the run has not ended").hint("queue its work when it has"))?;
        Ok(turn_from(&tree.history(), outcome, notices, recalled, about))
    })
}

/// The turn of a run that has ended, from the lines of its journal; `None` if it has not.
fn turn_in(text: &str, mut about: TurnData) -> Result<Option<Turn>> {
    let Journal { machine, lines, .. } = Journal::read(text)?;
    let mut tree = Tree::new(machine);
    let (mut notices, mut recalled, mut last) = (Vec::new(), Vec::new(), 0.0);
    for JournalLine { event, .. } in lines {
        last = event.at.seconds();
        if let EventKind::Recalled { found: Ok(found), .. } = &event.kind {
            recalled.clone_from(&found.hits);
        }
        let told = tree.step(event).into_iter().filter_map(|command| match command {
            Command::Emit { notice } if about.after.audit => Some((last, notice)),
            _ => None,
        });
        let room = MOST_NOTICES.saturating_sub(notices.len());
        notices.extend(told.take(room));
    }
    about.ended_at = about.started_at + last;
    let outcome = tree.outcome().cloned();
    Ok(outcome.map(|outcome| turn_from(&tree.history(), &outcome, &notices, &recalled, about)))
}

fn turn_from(
    history: &History,
    outcome: &Outcome,
    notices: &[(f64, Notice)],
    recalled: &[RecalledHit],
    about: TurnData,
) -> Turn {
    let mut turn = Turn::of(history, outcome, about.prompt_at);
    turn.events = notices.iter().map(|(at, notice)| audit_event(about.started_at + at, notice)).collect();
    let detail = serde_json::json!({
        "stop": turn.stop, "tokens": outcome.spent.usage.total(), "cost": outcome.spent.whole_cost(),
        "seconds": outcome.duration, "tools": outcome.tool_calls.len(), "rounds": outcome.spent.iterations,
    });
    let ended = |kind: &str, detail: &serde_json::Value| audit::Event {
        at: about.ended_at,
        kind: kind.to_owned(),
        detail: detail.to_string(),
    };
    turn.events.push(ended("run_finished", &detail));
    if let Some(error) = &outcome.error {
        turn.events.push(ended("run_failed", &serde_json::json!({"code": error.code})));
    }
    turn.outside |= recalled.iter().any(|hit| hit.trust == "untrusted");
    turn.recalled = recalled.iter().map(|hit| hit.id).collect();
    (turn.started_at, turn.ended_at) = (about.started_at, about.ended_at);
    turn.run = about.run;
    turn.session = about.session.unwrap_or_else(|| "default".to_owned());
    turn.user = about.user;
    turn.after = about.after;
    turn
}

/// The audit's event of a notice: what happened, without what was said.
fn audit_event(at: f64, notice: &Notice) -> audit::Event {
    let mut value = serde_json::to_value(notice).unwrap_or_default();
    let mut kind = String::from("other");
    if let Some(members) = value.as_object_mut() {
        if let Some(serde_json::Value::String(name)) = members.remove("type") {
            kind = name;
        }
        for key in ["input", "excerpt", "query", "evidence", "question", "goal", "saw", "output", "text", "span"] {
            if let Some(serde_json::Value::String(text)) = members.remove(key) {
                members.insert(format!("{key}_characters"), text.chars().count().into());
            }
        }
    }
    audit::Event { at, kind, detail: value.to_string() }
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
            let injection = memory.inject(&parsed::<Query>("query", query)?, InjectionLimits { hits, characters })?;
            Ok((injection.text, json(&injection.hits)?))
        })
    }

    /// What a run is given for a prompt: JSON with what is trusted, the rest, and the hits.
    fn recollect(&self, py: Python<'_>, query: &str, hits: usize, characters: usize) -> PyResult<String> {
        self.with(py, |memory| {
            json(&memory.recollect(&parsed::<Query>("query", query)?, InjectionLimits { hits, characters })?)
        })
    }

    /// The preferences that stand, oldest first, as JSON.
    #[pyo3(signature = (user=None))]
    fn preferences(&self, py: Python<'_>, user: Option<&str>) -> PyResult<String> {
        self.with(py, |memory| json(&memory.preferences(user)?))
    }

    /// The memories that live, newest first, as JSON.
    fn newest(&self, py: Python<'_>, query: &str) -> PyResult<String> {
        self.with(py, |memory| json(&memory.list(&parsed::<Query>("query", query)?)?))
    }

    /// The turn of a run that has ended, as JSON without its secrets. `about` is JSON: what a turn has beside what the
    /// run knows, and where its prompt stands (`prompt_at`).
    #[staticmethod]
    fn turn(py: Python<'_>, run: &Run, about: &str) -> PyResult<String> {
        apart(py, || json(&turn_of(run, parsed("turn", about)?)?.cleaned()))
    }

    /// Queues the work that follows a turn; gives the numbers of its pieces.
    fn queue_turn(&self, py: Python<'_>, turn: &str) -> PyResult<Vec<i64>> {
        self.with(py, |memory| memory.queue_turn(&parsed("turn", turn)?))
    }

    /// Notes down that a run begins, and where its journal is, in place of an attempt before it.
    fn expect_turn(
        &self,
        py: Python<'_>,
        run: &str,
        instead: Option<&str>,
        journal: &str,
        about: &str,
    ) -> PyResult<()> {
        self.with(py, |memory| memory.expect_turn(run, instead, journal, about))
    }

    /// The runs of processes that are gone whose turns may be missing, as JSON.
    fn lost_turns(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |memory| json(&memory.lost_turns()?))
    }

    /// Queues the turn of a lost run (JSON, one of `lost_turns`), which is in the lines of its journal, if it has
    /// ended; without these, forgets that there was one. Whether that was done, and by nobody else before.
    fn settle_turn(&self, py: Python<'_>, lost: &str, text: Option<&str>) -> PyResult<bool> {
        self.with(py, |memory| {
            let lost: LostRun = parsed("turn", lost)?;
            let Some(text) = text else { return memory.settle_turn(&lost, None) };
            match turn_in(text, parsed("turn", &lost.about)?)? {
                Some(turn) => memory.settle_turn(&lost, Some(&turn.cleaned())),
                None => Ok(false),
            }
        })
    }

    /// Takes the next piece of work for so many seconds, as JSON.
    fn claim(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<String>> {
        self.with(py, |memory| memory.claim(seconds)?.map(|job| json(&job)).transpose())
    }

    /// Does a piece of work by rule; gives the numbers of the memories that came of it.
    fn perform(&self, py: Python<'_>, job: &str) -> PyResult<Vec<i64>> {
        self.with(py, |memory| memory.perform(&parsed("job", job)?))
    }

    /// Ends the work of looking back with what somebody thought, a JSON list.
    fn reflect(&self, py: Python<'_>, job: &str, thoughts: &str) -> PyResult<Vec<i64>> {
        self.with(py, |memory| {
            let thoughts: Vec<Thought> = parsed("reflection", thoughts)?;
            memory.reflect(&parsed("job", job)?, Some(&thoughts))
        })
    }

    /// What a model is asked that looks back on the turn of a piece of work.
    #[staticmethod]
    #[pyo3(signature = (job, adversarial, in_object=false))]
    fn reflection_prompt(job: &str, adversarial: bool, in_object: bool) -> PyResult<String> {
        let job: Job = parsed("job", job).map_err(|error| errors::exception(&error))?;
        let turn: Turn = parsed("turn", &job.payload).map_err(|error| errors::exception(&error))?;
        Ok(instructions(&turn, adversarial, in_object))
    }

    /// A piece of work failed; gives where it stands then, or nothing if this process no longer held it.
    fn work_failed(&self, py: Python<'_>, job: &str, error: &str, for_good: bool) -> PyResult<Option<String>> {
        self.with(py, |memory| {
            let state = memory.work_failed(&parsed("job", job)?, error, for_good)?;
            state.map(|state| json(&state)).transpose()
        })
    }

    /// The work that is known, as JSON; in one state alone, if given.
    #[pyo3(signature = (state=None))]
    fn work(&self, py: Python<'_>, state: Option<&str>) -> PyResult<String> {
        self.with(py, |memory| {
            let state = state.map(|state| parsed("state", &format!("{state:?}"))).transpose()?;
            json(&memory.work(state)?)
        })
    }

    /// Seconds until the next piece of work is due.
    fn work_due(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, memory::Memory::work_due)
    }

    /// Queues tidying up if the last time is so many seconds ago.
    fn queue_consolidation(&self, py: Python<'_>, every: f64) -> PyResult<bool> {
        self.with(py, |memory| memory.queue_consolidation(every))
    }

    /// What the audit holds, as JSON.
    fn audit(&self, py: Python<'_>, wanted: &str) -> PyResult<String> {
        self.with(py, |memory| json(&memory.audit(&parsed::<EventFilter>("query", wanted)?)?))
    }

    /// The episodes that are kept, newest first, as JSON.
    #[pyo3(signature = (session, limit))]
    fn episodes(&self, py: Python<'_>, session: Option<&str>, limit: usize) -> PyResult<String> {
        self.with(py, |memory| json(&memory.episodes(session, limit)?))
    }

    /// What was learned from looking back, as JSON.
    #[pyo3(signature = (category))]
    fn reflections(&self, py: Python<'_>, category: Option<&str>) -> PyResult<String> {
        self.with(py, |memory| json(&memory.reflections(category)?))
    }

    /// Brings a file of preferences and memory in step; what was done, as JSON.
    #[pyo3(signature = (path, user))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn sync_file(&self, py: Python<'_>, path: std::path::PathBuf, user: Option<&str>) -> PyResult<String> {
        self.with(py, |memory| json(&memory.sync_file(&path, user)?))
    }

    /// Those of these memories of which no embedder has made a vector.
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn without_vectors(&self, py: Python<'_>, ids: Vec<i64>) -> PyResult<Vec<(i64, String)>> {
        self.with(py, |memory| memory.without_vectors(&ids))
    }

    /// Keeps what an embedder made of memories that are there.
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn keep_vectors(&self, py: Python<'_>, embedder: &str, vectors: Vec<(i64, Vec<f32>)>) -> PyResult<()> {
        self.with(py, |memory| memory.keep_vectors(embedder, &vectors))
    }

    /// A user's name without what people overlook: case, white space and composition.
    #[staticmethod]
    fn user_key(name: &str) -> String {
        loopwright_store::memory::user_key(name)
    }

    /// The types of events of the audit, and what each says.
    #[staticmethod]
    fn audit_types() -> Vec<(&'static str, &'static str)> {
        audit::TYPES.to_vec()
    }

    /// Texts without what must not be kept.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn admitted(py: Python<'_>, texts: Vec<String>) -> Vec<String> {
        py.detach(|| texts.iter().map(|text| without_secrets(text).0.into_owned()).collect())
    }

    /// Where a memory comes from, as JSON.
    fn why(&self, py: Python<'_>, id: i64) -> PyResult<String> {
        self.with(py, |memory| json(&memory.why(id)?))
    }

    /// Forgets a memory; gives what went with it, as JSON.
    fn forget(&self, py: Python<'_>, id: i64, erase: bool) -> PyResult<String> {
        self.with(py, |memory| json(&memory.forget_with_report(id, erase)?))
    }

    /// Forgets a user and erases what was kept of that one; gives what went, as JSON.
    fn forget_user(&self, py: Python<'_>, user: &str) -> PyResult<String> {
        self.with(py, |memory| json(&memory.forget_user(user)?))
    }

    /// What `forget_user` would give; nothing is changed.
    fn preview_user(&self, py: Python<'_>, user: &str) -> PyResult<String> {
        self.with(py, |memory| json(&memory.preview_user(user)?))
    }

    /// Keeps a relation between two entities.
    #[pyo3(signature = (subject, relation, object, source, memory, trust, user))]
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
        user: Option<&str>,
    ) -> PyResult<()> {
        self.with(py, |store| {
            let trust = trust_of(trust)?;
            store.relate(&Relation { subject, relation, object, source, memory, trust, user })
        })
    }

    /// The entities around one, as JSON.
    #[pyo3(signature = (entity, relation, distance, limit, user))]
    fn neighbours(
        &self,
        py: Python<'_>,
        entity: &str,
        relation: Option<&str>,
        distance: usize,
        limit: usize,
        user: Option<&str>,
    ) -> PyResult<String> {
        self.with(py, |memory| json(&memory.neighbours(entity, relation, distance, limit, user)?))
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
