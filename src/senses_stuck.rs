//! Repetition and momentum, for `loopwright.monitor`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::{errors, messages::read};
use loopwright_machine::Stop;
use loopwright_monitor::{
    breakpoint::Breakpoint,
    continuation::{Standing, continuation as say},
    momentum::{self, MomentumPolicy},
    stuck::{self, StuckPolicy},
};

/// Pattern, members, rounds, first and last record, the sentence for people and the one for the model.
type VerdictRow = (&'static str, Vec<(String, String)>, u64, u64, u64, String, String);

/// Name, arguments as JSON text, result, whether it failed, and the kind of failure.
type Pair = (String, String, String, bool, Option<String>);

/// Finds repetition in what a run does and says.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct StuckDetector(Mutex<stuck::StuckDetector>);

impl StuckDetector {
    fn with<T>(&self, work: impl FnOnce(&mut stuck::StuckDetector) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn verdict_of(detector: &stuck::StuckDetector) -> Option<VerdictRow> {
    let verdict = detector.verdict()?;
    let advice = verdict.advice();
    let members = verdict.members.into_iter().map(|member| (member.tool, member.arguments)).collect();
    Some((verdict.pattern.name(), members, verdict.rounds, verdict.first, verdict.last, verdict.sentence, advice))
}

#[pymethods]
impl StuckDetector {
    #[new]
    #[pyo3(signature = (policy=None))]
    fn new(policy: Option<&str>) -> PyResult<Self> {
        let policy: StuckPolicy = policy.map_or_else(|| Ok(StuckPolicy::default()), |text| read(text, "policy"))?;
        policy.check().map_err(|error| errors::exception(&error))?;
        Ok(Self(Mutex::new(stuck::StuckDetector::new(policy))))
    }

    /// A detector from what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(Mutex::new(read(text, "detector")?)))
    }

    /// The detector as JSON text.
    fn to_json(&self) -> String {
        self.with(|detector| serde_json::to_string(detector).unwrap_or_default())
    }

    /// Takes a call and its result.
    #[pyo3(signature = (name, arguments, result, failed=false, kind=None, state=None))]
    fn record(
        &self,
        name: &str,
        arguments: &str,
        result: &str,
        failed: bool,
        kind: Option<&str>,
        state: Option<&str>,
    ) -> Option<VerdictRow> {
        self.with(|detector| {
            let step = detector.step_of_text((name, arguments), result, failed, kind);
            detector.record_step(name, arguments, &step, state.map(|state| xxh3_64(state.as_bytes())));
            verdict_of(detector)
        })
    }

    /// Takes the calls of one round, with their results.
    #[pyo3(signature = (pairs, state=None))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn record_round(&self, pairs: Vec<Pair>, state: Option<&str>) -> Option<VerdictRow> {
        self.with(|detector| {
            let steps = pairs.iter().map(|(name, arguments, result, failed, kind)| {
                let step = detector.step_of_text((name, arguments), result, *failed, kind.as_deref());
                (step, name.as_str(), arguments.as_str())
            });
            let steps = stuck::distinct_steps(steps);
            detector.record_steps(&steps, state.map(|state| xxh3_64(state.as_bytes())));
            verdict_of(detector)
        })
    }

    /// Takes a reply that holds no call.
    fn record_text(&self, text: &str) -> Option<VerdictRow> {
        self.with(|detector| {
            detector.record_text(text);
            verdict_of(detector)
        })
    }

    /// Takes a piece of a reply as it streams.
    fn feed(&self, delta: &str) -> Option<VerdictRow> {
        self.with(|detector| if detector.feed(delta) { verdict_of(detector) } else { None })
    }

    /// The reply that streamed has ended.
    fn end_reply(&self) {
        self.with(stuck::StuckDetector::end_reply);
    }

    /// Forgets everything.
    fn reset(&self) {
        self.with(stuck::StuckDetector::reset);
    }

    /// What was found last.
    fn verdict(&self) -> Option<VerdictRow> {
        self.with(|detector| verdict_of(detector))
    }
}

/// How well things go.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Momentum {
    policy: MomentumPolicy,
    momentum: Mutex<momentum::Momentum>,
}

impl Momentum {
    fn with<T>(&self, work: impl FnOnce(&mut momentum::Momentum) -> T) -> T {
        work(&mut self.momentum.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Momentum {
    #[new]
    #[pyo3(signature = (policy=None, momentum=None))]
    fn new(policy: Option<&str>, momentum: Option<&str>) -> PyResult<Self> {
        let policy: MomentumPolicy =
            policy.map_or_else(|| Ok(MomentumPolicy::default()), |text| read(text, "policy"))?;
        policy.check().map_err(|error| errors::exception(&error))?;
        let momentum = momentum.map_or_else(|| Ok(momentum::Momentum::default()), |text| read(text, "momentum"))?;
        Ok(Self { policy, momentum: Mutex::new(momentum) })
    }

    /// The momentum as JSON text.
    fn to_json(&self) -> String {
        self.with(|momentum| serde_json::to_string(momentum).unwrap_or_default())
    }

    /// Takes the next result.
    fn record(&self, succeeded: bool) {
        self.with(|momentum| momentum.record(succeeded));
    }

    /// From 0 to 1.
    fn score(&self) -> f64 {
        self.with(|momentum| momentum.score(&self.policy))
    }

    /// `good`, `slow` or `pause`.
    fn pace(&self) -> &'static str {
        self.with(|momentum| momentum.pace(&self.policy).name())
    }

    /// Successes and results in the window.
    fn seen(&self) -> (u32, u32) {
        self.with(|momentum| momentum.seen(&self.policy))
    }
}

/// Whether a limit of the budget is what a stop reason names.
#[pyfunction]
pub(super) fn is_limit(stop_reason: &str) -> bool {
    serde_json::from_value(stop_reason.into()).is_ok_and(Stop::is_limit)
}

/// The name of the breakpoint that a stop reason is, if it is one.
#[pyfunction]
pub(super) fn breakpoint_of(stop_reason: &str) -> PyResult<Option<&'static str>> {
    let stop: Stop = serde_json::from_value(stop_reason.into()).map_err(|_| {
        errors::usage(
            "invalid_value",
            format!("there is no stop reason named {stop_reason:?}"),
            "give the `stop_reason` of a result",
        )
    })?;
    Ok(stop.breakpoint().map(Breakpoint::name))
}

/// What to say so that a model goes on; `standing` as JSON text.
#[pyfunction]
pub(super) fn continuation(standing: &str) -> PyResult<Option<String>> {
    let standing: Standing = read(standing, "standing")?;
    Ok(say(&standing))
}
