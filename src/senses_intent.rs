//! Words: the next step, signals of a reply, intent and drift, for `loopwright.monitor`. Places count characters.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use pyo3::prelude::*;

use super::{convert, errors};
use loopwright_monitor::{
    drift::{BACKGROUND, Drift, DriftPolicy, GoalDrift as Core, Vectors},
    intent::assess_intent as assess,
    next_step::next_step as find_step,
    signals::signals,
};

/// A place in characters.
type Place = (usize, usize);

/// Places in bytes to places in characters: each byte is passed once, whatever the number of places.
struct Characters(Vec<(usize, usize)>);

impl Characters {
    fn of<'a>(text: &str, places: impl Iterator<Item = &'a Range<usize>>) -> Self {
        let mut bytes: Vec<usize> = places.flat_map(|place| [place.start, place.end]).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let (mut from, mut count) = (0, 0);
        let counted = bytes.into_iter().map(|byte| {
            count += text.get(from..byte).map_or(0, |part| part.chars().count());
            from = byte.max(from);
            (byte, count)
        });
        Self(counted.collect())
    }

    fn place(&self, bytes: &Range<usize>) -> Place {
        let at = |byte: usize| {
            self.0
                .binary_search_by_key(&byte, |(byte, _)| *byte)
                .ok()
                .and_then(|at| self.0.get(at))
                .map_or(0, |(_, count)| *count)
        };
        (at(bytes.start), at(bytes.end))
    }
}

/// What a reply says the model will do next: the places of the sentence, of the cue, and of the step.
#[pyfunction]
pub(super) fn find_next_step(text: &str) -> Option<(Place, Place, Place)> {
    let step = find_step(text)?;
    let places = Characters::of(text, [&step.sentence, &step.cue, &step.step].into_iter());
    Some((places.place(&step.sentence), places.place(&step.cue), places.place(&step.step)))
}

/// Kind, rule, place of the words, place of the sentence.
type Signal = (&'static str, &'static str, Place, Place);

/// Whether a reply claims to be done, whether it asks, and all that was found.
#[pyfunction]
pub(super) fn reply_signals(text: &str) -> (bool, bool, Vec<Signal>) {
    let all = signals(text);
    let places = Characters::of(text, all.found.iter().flat_map(|signal| [&signal.words, &signal.sentence]));
    let one = all
        .found
        .iter()
        .map(|signal| (signal.kind.name(), signal.rule, places.place(&signal.words), places.place(&signal.sentence)));
    let found = one.collect();
    (all.complete, all.asks, found)
}

/// Decision, confidence, names of the signals that hold, evidence, scores, sub-agents, question, escalated, plan.
type Intent = (
    &'static str,
    f32,
    Vec<String>,
    Vec<(String, Place)>,
    Vec<(&'static str, f32)>,
    Vec<String>,
    Option<String>,
    bool,
    bool,
);

/// How to take up a request.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python gives them
pub(super) fn assess_intent(message: &str, history: Vec<String>, sub_agents: Vec<String>) -> Intent {
    let history: Vec<&str> = history.iter().map(String::as_str).collect();
    let sub_agents: Vec<&str> = sub_agents.iter().map(String::as_str).collect();
    let intent = assess(message, &history, &sub_agents);
    let places = Characters::of(message, intent.evidence.iter().map(|one| &one.words));
    let evidence = intent.evidence.iter().map(|one| (one.signal.clone(), places.place(&one.words))).collect();
    (
        intent.decision.name(),
        intent.confidence,
        intent.signals.names().into_iter().map(str::to_owned).collect(),
        evidence,
        intent.votes().into_iter().map(|(decision, score)| (decision.name(), score)).collect(),
        intent.sub_agents,
        intent.question,
        intent.escalated,
        intent.plan,
    )
}

/// Step, anchor, state, changed, evidence, phrases with their weights, shared words.
type Seen = (f32, f32, &'static str, bool, f32, Vec<(Place, f32)>, Vec<String>);

fn seen(message: &str, drift: Drift) -> Seen {
    let places = Characters::of(message, drift.phrases.iter().map(|phrase| &phrase.words));
    let phrases = drift.phrases.iter().map(|phrase| (places.place(&phrase.words), phrase.weight)).collect();
    (drift.step, drift.anchor, drift.state.name(), drift.changed, drift.evidence, phrases, drift.shared)
}

/// The goal of a conversation, and how its messages stand to it.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct GoalDrift(Mutex<(Core, Option<Vectors>)>);

impl GoalDrift {
    fn with<T>(&self, work: impl FnOnce(&mut Core, &mut Option<Vectors>) -> T) -> T {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (core, vectors) = &mut *both;
        work(core, vectors)
    }
}

#[pymethods]
impl GoalDrift {
    #[new]
    fn new(goal: &str, enter: f32, leave: f32) -> PyResult<Self> {
        let core = Core::new(goal, DriftPolicy { enter, leave }).map_err(|error| errors::exception(&error))?;
        Ok(Self(Mutex::new((core, None))))
    }

    /// A conversation from what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let core = convert::from_json(
            text,
            ("invalid_value", "invalid conversation"),
            "give what `to_json` of a conversation gave, unchanged",
        )?;
        Ok(Self(Mutex::new((core, None))))
    }

    /// The conversation as JSON text.
    fn to_json(&self) -> String {
        self.with(|core, _| serde_json::to_string(core).unwrap_or_default())
    }

    /// Texts that have nothing to do with each other.
    #[staticmethod]
    fn background() -> Vec<&'static str> {
        BACKGROUND.to_vec()
    }

    /// From now on vectors are given: these are of the background texts, of the goal, and of the last message.
    #[pyo3(signature = (background, goal, last=None))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn use_vectors(&self, background: Vec<Vec<f32>>, goal: Vec<f32>, last: Option<Vec<f32>>) -> PyResult<()> {
        let made = Vectors::new(&background, goal, last).map_err(|error| errors::exception(&error))?;
        self.with(|_, vectors| *vectors = Some(made));
        Ok(())
    }

    /// Takes the next message.
    #[pyo3(signature = (message, vector=None))]
    fn observe(&self, message: &str, vector: Option<Vec<f32>>) -> PyResult<Seen> {
        let drift = self.with(|core, vectors| match (vector, vectors) {
            (Some(vector), Some(vectors)) => core.observe_vector(message, vector, vectors),
            _ => Ok(core.observe(message)),
        });
        drift.map(|drift| seen(message, drift)).map_err(|error| errors::exception(&error))
    }

    /// The user has another goal now.
    #[pyo3(signature = (goal, vector=None))]
    fn revise(&self, goal: &str, vector: Option<Vec<f32>>) -> PyResult<()> {
        let done = self.with(|core, vectors| {
            if let (Some(vector), Some(vectors)) = (vector, vectors) {
                vectors.revise(vector)?;
            }
            core.revise(goal)
        });
        done.map_err(|error| errors::exception(&error))
    }

    /// The goal.
    fn goal(&self) -> String {
        self.with(|core, _| core.goal().to_owned())
    }

    /// The message before: the goal at first.
    fn last(&self) -> String {
        self.with(|core, _| core.last().to_owned())
    }

    /// Goals that the user gave up, oldest first.
    fn former_goals(&self) -> Vec<String> {
        self.with(|core, _| core.former_goals().to_vec())
    }

    /// `on_goal` or `drifted`.
    fn state(&self) -> &'static str {
        self.with(|core, _| core.state().name())
    }

    /// Messages so far.
    fn seen(&self) -> u64 {
        self.with(|core, _| core.seen())
    }
}
