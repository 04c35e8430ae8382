//! The outcome of a run, for Python: read member by member, so that who asks for the answer alone pays for no more.

use std::sync::Arc;

use pyo3::{IntoPyObjectExt as _, exceptions::PyKeyError, prelude::*, sync::PyOnceLock, types::PyDict};

use super::{convert, history::History};
use loopwright_base::json::Raw;
use loopwright_machine::{Command, Outcome};

/// How a run ended. Reads like the dict that `Command.outcome` gives.
#[pyclass(frozen, mapping, module = "loopwright._core")]
pub(super) struct Ended {
    command: Arc<Command>,
    /// The whole outcome, once some member was asked for that is more than a word or a number.
    whole: PyOnceLock<Py<PyDict>>,
}

impl Ended {
    /// The outcome of a command, if it is a `finish`.
    pub(super) fn of(command: &Arc<Command>) -> Option<Self> {
        matches!(**command, Command::Finish { .. }).then(|| Self { command: command.clone(), whole: PyOnceLock::new() })
    }

    pub(super) fn from_outcome(outcome: Outcome) -> Self {
        Self { command: Arc::new(Command::Finish { outcome: Box::new(outcome) }), whole: PyOnceLock::new() }
    }

    fn outcome(&self) -> Option<&Outcome> {
        match &*self.command {
            Command::Finish { outcome } => Some(outcome),
            _ => None,
        }
    }

    fn whole<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let whole = self.whole.get_or_try_init(py, || {
            let text = self.outcome().map_or_else(Raw::empty_object, Raw::of);
            Ok::<_, PyErr>(convert::loads(py, text.text())?.cast_into::<PyDict>()?.unbind())
        })?;
        Ok(whole.bind(py))
    }

    fn member<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(outcome) = self.outcome() else { return Ok(None) };
        let value = match name {
            "stop" => outcome.stop.name().into_bound_py_any(py),
            "final" => outcome.r#final.as_deref().into_bound_py_any(py),
            "transcript" => outcome.transcript.as_str().into_bound_py_any(py),
            "best_draft" => outcome.best_draft.as_deref().into_bound_py_any(py),
            "verified" => outcome.verified.into_bound_py_any(py),
            "attempts" => outcome.attempts.into_bound_py_any(py),
            "searches" => outcome.searches.into_bound_py_any(py),
            "duration" => outcome.duration.into_bound_py_any(py),
            "dropped" => outcome.dropped.into_bound_py_any(py),
            "message" => outcome.words().into_bound_py_any(py),
            // Left out where there are none.
            "children" if outcome.children.is_empty() => return Ok(None),
            "acted" if outcome.acted.is_none() => return Ok(None),
            "error" if outcome.error.is_none() => Ok(py.None().into_bound(py)),
            _ => return self.whole(py)?.get_item(name),
        };
        value.map(Some)
    }
}

#[pymethods]
impl Ended {
    /// The end that the JSON of an outcome tells of.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let outcome = convert::from_json(
            text,
            ("invalid_value", "this is no outcome of a run"),
            "give the outcome of a `finish` command, unchanged",
        )?;
        Ok(Self::from_outcome(outcome))
    }

    /// Its sub-agents: name, path, call, task, messages and end of each. Messages are as they were written.
    #[getter]
    fn children(&self) -> Vec<(String, String, String, String, History, Self)> {
        let children = self.outcome().map(|outcome| outcome.children.as_slice()).unwrap_or_default();
        let told = children.iter().map(|child| {
            let ended = Self::from_outcome((*child.outcome).clone());
            let messages = History(child.messages.clone());
            (child.name.clone(), child.path.clone(), child.call.clone(), child.task.clone(), messages, ended)
        });
        told.collect()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// A member, or `default` where there is none.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.member(py, name)?.or(default))
    }
}
