//! Policies and approvals, for `loopwright.guard`: calls come as JSON, judgements go as JSON.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyType},
};
use serde_json::Value;

use super::{convert, errors, guard_risk::Commands};
use loopwright_guard::{
    Authority, Cautious, Declared, GuardConfig, Links, RiskLevel,
    approval::{self, Answer, Asked, Question},
    judge,
    origin::{ToolFlow, Trust},
    policy::{self, PolicySource, Surroundings, Tier},
};

fn policy_error(error: policy::PolicyError) -> PyErr {
    Python::attach(|py| {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let message = error.to_string();
        let made = CLASS.import(py, "loopwright.guard", "PolicyError").and_then(|class| {
            let made = class.call1((message, error.code, error.hint))?;
            made.setattr("file", error.file)?;
            made.setattr("line", error.line)?;
            made.setattr("column", error.column)?;
            made.setattr("rule", error.rule)?;
            Ok(made)
        });
        made.map_or_else(|failed| failed, PyErr::from_value)
    })
}

fn tier_of(name: &str) -> PyResult<Tier> {
    Tier::named(name).ok_or_else(|| {
        let message = format!("there is no tier named {name:?}");
        errors::usage("invalid_value", message, "use \"built_in\", \"project\", \"user\" or \"admin\"")
    })
}

fn level_of(name: &str) -> PyResult<RiskLevel> {
    RiskLevel::named(name).ok_or_else(|| {
        let message = format!("there is no level named {name:?}");
        errors::usage("unknown_level", message, "use \"safe\", \"cautious\", \"confirm\" or \"dangerous\"")
    })
}

/// What a tool brings in and does, as its author declares it, else as its name says: `trust` and `effects`.
#[pyfunction]
pub(super) fn tool_flow<'py>(
    py: Python<'py>,
    name: &str,
    read_only: bool,
    trust: Option<&str>,
    effects: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let by_name = ToolFlow::by_name(name, read_only);
    let trust = trust.unwrap_or_else(|| if by_name.trust == Trust::Trusted { "trusted" } else { "untrusted" });
    let effects = effects.unwrap_or_else(|| by_name.effects.iter().map(|effect| effect.name().to_owned()).collect());
    let found = PyDict::new(py);
    found.set_item("trust", trust)?;
    found.set_item("effects", effects)?;
    Ok(found)
}

/// Rules for calls.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Policy(policy::Policy);

#[pymethods]
impl Policy {
    /// The rules of these files: tier, name and text of each.
    #[new]
    fn new(sources: Vec<(String, String, String)>) -> PyResult<Self> {
        let mut all = Vec::with_capacity(sources.len());
        for (tier, name, text) in sources {
            all.push(PolicySource { tier: tier_of(&tier)?, name, text });
        }
        policy::Policy::of(all).map(Self).map_err(policy_error)
    }

    /// The rules that the package ships.
    #[staticmethod]
    fn built_in() -> Self {
        Self(policy::Policy::built_in())
    }

    /// The files: tier, name and text of each.
    #[getter]
    fn sources(&self) -> Vec<(&'static str, &str, &str)> {
        self.0.sources().iter().map(|source| (source.tier.name(), source.name.as_str(), source.text.as_str())).collect()
    }

    /// What all the text comes to.
    #[getter]
    fn digest(&self) -> &str {
        self.0.digest()
    }

    /// The rules, as JSON text.
    fn rules(&self) -> String {
        serde_json::to_string(&self.0.rules().collect::<Vec<_>>()).unwrap_or_default()
    }

    /// Whether commands run fenced, by the tier that says so; `None` where no file does.
    #[getter]
    fn sandbox(&self) -> Option<(&'static str, bool)> {
        self.0.sandbox().map(|(tier, on)| (tier.name(), on))
    }

    /// The policy as configurations of machines hold it.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// What may be done with a call, as JSON text.
    #[allow(clippy::too_many_arguments)] // as Python gives them
    #[pyo3(signature = (tool, arguments, *, risk, by_arguments, home, workspace, cautious, task, commands=None))]
    fn decide(
        &self,
        tool: &str,
        arguments: &Bound<'_, PyAny>,
        risk: &str,
        by_arguments: bool,
        home: Option<String>,
        workspace: Option<String>,
        cautious: &str,
        task: Option<&str>,
        commands: Option<&Commands>,
    ) -> PyResult<String> {
        let input: Value = convert::parse(arguments, "arguments")?;
        let config = GuardConfig {
            policy: self.0.clone(),
            around: Surroundings { home, workspace, commands: commands.map(|commands| commands.0) },
            cautious: cautious_of(cautious)?,
            ..GuardConfig::default()
        };
        let authority = task.map(Authority::of_text).unwrap_or_default();
        let declared = Declared { risk: level_of(risk)?, by_arguments };
        let judged = judge(&config, &authority, tool, &input, declared);
        Ok(serde_json::to_string(&judged).unwrap_or_default())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(self.0.digest().get(..15).unwrap_or_default(), 16).unwrap_or_default()
    }
}

fn cautious_of(name: &str) -> PyResult<Cautious> {
    match name {
        "run" => Ok(Cautious::Run),
        "intent" => Ok(Cautious::Intent),
        "ask" => Ok(Cautious::Ask),
        _ => Err(errors::usage(
            "invalid_value",
            format!("cautious can't be {name:?}"),
            "use \"run\", \"intent\" or \"ask\"",
        )),
    }
}

/// Requests that are open, and yeses that are kept. Who asks says what time it is.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct ApprovalDesk(Mutex<approval::Approvals>);

impl ApprovalDesk {
    fn desk(&self) -> MutexGuard<'_, approval::Approvals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
fn raised(error: loopwright_base::error::Error) -> PyErr {
    errors::exception(&error)
}

#[pymethods]
impl ApprovalDesk {
    #[new]
    fn new(session: &str, timeout: f64, ttl: f64) -> PyResult<Self> {
        let desk = approval::Approvals::new(session, timeout, ttl, Surroundings::default()).map_err(raised)?;
        Ok(Self(Mutex::new(desk)))
    }

    /// Asks about a call: the number of a request, or the words of a yes that was kept.
    #[allow(clippy::too_many_arguments)] // as Python gives them
    #[pyo3(signature = (tool, arguments, *, risk, why, hash, secret, home, workspace, now, timeout, links=None))]
    fn ask(
        &self,
        tool: String,
        arguments: &Bound<'_, PyAny>,
        risk: &str,
        why: String,
        hash: Option<String>,
        secret: bool,
        home: Option<String>,
        workspace: Option<String>,
        now: f64,
        timeout: Option<f64>,
        links: Option<Links>,
    ) -> PyResult<(Option<u64>, Option<String>)> {
        let input: Value = convert::parse(arguments, "arguments")?;
        let question = Question { tool, input, hash, risk: level_of(risk)?, secret, why };
        let mut desk = self.desk();
        desk.set_surroundings(Surroundings { home, workspace, commands: None });
        desk.set_links(links.unwrap_or_default());
        match desk.ask(question, now, timeout).map_err(raised)? {
            Asked::Remembered(words) => Ok((None, Some(words))),
            Asked::Pending(id) => Ok((Some(id), None)),
        }
    }

    /// Decides: `allow`, `once`, `deny`, `abort` or `edit`. Gives what the yes is kept for, if it is.
    #[pyo3(signature = (id, decision, hash, now))]
    fn decide(&self, id: u64, decision: &str, hash: Option<&str>, now: f64) -> PyResult<Option<String>> {
        let answer = match decision {
            "allow" => Answer::Allow { keep: true },
            "once" => Answer::Allow { keep: false },
            "deny" | "abort" => Answer::Deny,
            "edit" => Answer::Edit,
            other => {
                let message = format!("{other:?} is no decision");
                return Err(errors::usage(
                    "invalid_value",
                    message,
                    "use \"allow\", \"once\", \"deny\", \"edit\" or \"abort\"",
                ));
            }
        };
        self.desk().decide(id, &answer, hash, now).map(|settled| settled.kept).map_err(raised)
    }

    /// What a yes would be kept for, in words.
    fn describe(&self, id: u64) -> PyResult<String> {
        self.desk().describe(id).map_err(raised)
    }

    /// "Run again?" for an expired request.
    fn again(&self, id: u64, now: f64) -> PyResult<String> {
        self.desk().again(id, now).map_err(raised)
    }

    /// The time of a request is over.
    fn lapse(&self, id: u64) {
        self.desk().lapse(id);
    }

    /// A request is taken back.
    fn withdraw(&self, id: u64) {
        self.desk().withdraw(id);
    }

    /// All requests, open and expired, as JSON text.
    fn requests(&self, now: f64) -> String {
        serde_json::to_string(&self.desk().requests(now)).unwrap_or_default()
    }

    /// The yeses that are kept, as JSON text.
    fn kept(&self, now: f64) -> String {
        serde_json::to_string(&self.desk().kept(now)).unwrap_or_default()
    }

    /// Forgets every yes.
    fn forget(&self) {
        self.desk().forget();
    }
}
