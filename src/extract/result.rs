//! What a whole text holds, for Python: its calls, its prose and reasoning, what went wrong, and whose each byte is.

use pyo3::{exceptions::PyRecursionError, prelude::*, types::PyTuple};

use super::{
    errors,
    events::{Place, Word, dropped_name, hashed, owner_name, place, problem_object, source_name},
    known_dialect,
};
use crate::convert;
use loopwright_base::error::Error;
use loopwright_extract::{self as extract, Event, Events, Owner, Source, Span};

/// A tool call found in text.
#[pyclass(frozen, eq, hash, name = "ExtractedCall", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ExtractedCall(pub(super) extract::Call);

/// A stretch of the text and whose it is.
#[pyclass(frozen, get_all, eq, hash, name = "Region", module = "loopwright.extraction")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Region {
    /// The first byte.
    start: usize,
    /// The byte after the last one.
    end: usize,
    /// `text`, `reasoning`, `call`, `markup` or `dropped`.
    owner: Word,
    /// Why it was dropped.
    reason: Option<Word>,
}

impl ExtractedCall {
    pub(super) fn repr(&self) -> String {
        let call = &self.0;
        let mut repr = format!("ExtractedCall({:?}, {}, span={:?}", call.name, call.arguments, place(call.span));
        for (is, word) in [(call.repaired, "repaired"), (!call.complete, "incomplete")] {
            if is {
                repr.push_str(", ");
                repr.push_str(word);
            }
        }
        repr + ")"
    }
}

#[pymethods]
impl ExtractedCall {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        index: usize,
        name: String,
        arguments_json: String,
        call_id: Option<String>,
        dialect: &str,
        source: &str,
        span: Place,
        repaired: bool,
        complete: bool,
    ) -> PyResult<Self> {
        let source = [Source::Tagged, Source::Fenced, Source::Bare].into_iter().find(|one| source_name(*one) == source);
        let source = source
            .ok_or_else(|| errors::usage("invalid_value", "a source is tagged, fenced or bare", "give one of these"))?;
        let dialect = known_dialect(dialect)?.name;
        let span = Span { start: span.0, end: span.1 };
        let arguments = arguments_json;
        Ok(Self(extract::Call { index, name, arguments, id: call_id, dialect, source, span, repaired, complete }))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let call = &self.0;
        let (source, span) = (source_name(call.source), place(call.span));
        let (name, arguments, id) = (call.name.as_str(), call.arguments.as_str(), call.id.as_deref());
        (call.index, name, arguments, id, call.dialect, source, span, call.repaired, call.complete).into_pyobject(py)
    }

    /// Its place among the calls of the text, from 0.
    #[getter]
    fn index(&self) -> usize {
        self.0.index
    }

    /// The tool's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The arguments as JSON text: exactly the argument deltas joined.
    #[getter]
    fn arguments_json(&self) -> &str {
        &self.0.arguments
    }

    /// The arguments, parsed; `None` if the call is not complete.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.0.complete {
            return Ok(None);
        }
        convert::loads(py, &self.0.arguments).map(Some).map_err(|error| {
            // Python's reader takes a frame for each level, of which the caller's own may have left too few.
            if error.is_instance_of::<PyRecursionError>(py) {
                let message = "the arguments are nested deeper than Python's stack has room for here";
                errors::exception(
                    &Error::usage("too_deep", message).hint("read arguments_json, or give a lower max_depth"),
                )
            } else {
                error
            }
        })
    }

    /// The id that the model gave it, where its dialect has one.
    #[getter]
    fn call_id(&self) -> Option<&str> {
        self.0.id.as_deref()
    }

    /// The dialect it is written in.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.0.dialect
    }

    /// `tagged`, `fenced` or `bare`.
    #[getter]
    fn source(&self) -> &'static str {
        source_name(self.0.source)
    }

    /// The bytes it came from, markers included.
    #[getter]
    fn span(&self) -> Place {
        place(self.0.span)
    }

    /// Whether its arguments were mended.
    #[getter]
    fn repaired(&self) -> bool {
        self.0.repaired
    }

    /// Whether its last byte was seen.
    #[getter]
    fn complete(&self) -> bool {
        self.0.complete
    }

    fn __repr__(&self) -> String {
        self.repr()
    }
}

#[pymethods]
impl Region {
    #[new]
    #[pyo3(signature = (start, end, owner, reason=None))]
    fn new(start: usize, end: usize, owner: String, reason: Option<String>) -> Self {
        Self { start, end, owner: owner.into(), reason: reason.map(Word::from) }
    }

    fn __getnewargs__(&self) -> (usize, usize, Word, Option<Word>) {
        (self.start, self.end, self.owner.clone(), self.reason.clone())
    }

    fn __repr__(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(", reason={reason:?}")).unwrap_or_default();
        format!("Region({}, {}, {:?}{reason})", self.start, self.end, self.owner)
    }
}

/// What a whole text holds.
#[pyclass(frozen, name = "Extraction", module = "loopwright.extraction")]
pub(crate) struct Extraction {
    calls: Py<PyTuple>,
    problems: Py<PyTuple>,
    prose: String,
    reasoning: String,
    regions: Vec<Region>,
}

impl Extraction {
    pub(super) fn of(py: Python<'_>, events: &Events) -> PyResult<Self> {
        let (mut calls, mut problems) = (Vec::new(), Vec::new());
        let (mut prose, mut reasoning, mut regions) = (String::new(), String::new(), Vec::<Region>::new());
        let mut own = |span: Span, owner: Owner| {
            let reason = if let Owner::Dropped(dropped) = owner { Some(dropped_name(dropped)) } else { None };
            let owner = owner_name(owner);
            match regions.last_mut() {
                Some(last) if last.end == span.start && last.owner == owner && last.reason.as_deref() == reason => {
                    last.end = span.end;
                }
                _ if span.start == span.end => {}
                _ => regions.push(Region {
                    start: span.start,
                    end: span.end,
                    owner: owner.into(),
                    reason: reason.map(Word::from),
                }),
            }
        };
        for event in events.iter() {
            match event {
                Event::Text { text, span } => {
                    prose.push_str(text);
                    own(span, Owner::Text);
                }
                Event::Reasoning { text, span } => {
                    reasoning.push_str(text);
                    own(span, Owner::Reasoning);
                }
                Event::CallStarted { span, .. } | Event::Arguments { span, .. } => own(span, Owner::Call),
                Event::CallFinished { call, span } => {
                    own(span, Owner::Call);
                    calls.push(call.clone());
                }
                Event::Markup { span } => own(span, Owner::Markup),
                Event::Problem(problem) => {
                    let index = problem.takes_back();
                    for call in calls.iter_mut().filter(|call| Some(call.index) == index) {
                        call.complete = false;
                    }
                    if let Some(dropped) = problem.dropped {
                        own(problem.span, Owner::Dropped(dropped));
                    }
                    problems.push(Py::new(py, problem_object(problem))?);
                }
            }
        }
        let calls = calls.into_iter().map(|call| Py::new(py, ExtractedCall(call))).collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            calls: PyTuple::new(py, calls)?.unbind(),
            problems: PyTuple::new(py, problems)?.unbind(),
            prose,
            reasoning,
            regions,
        })
    }
}

#[pymethods]
impl Extraction {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        calls: Py<PyTuple>,
        prose: String,
        reasoning: String,
        problems: Py<PyTuple>,
        spans: Vec<PyRef<'_, Region>>,
    ) -> Self {
        Self { calls, problems, prose, reasoning, regions: spans.iter().map(|region| (**region).clone()).collect() }
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (calls, problems) = (self.calls.clone_ref(py), self.problems.clone_ref(py));
        (calls, &self.prose, &self.reasoning, problems, self.regions.clone()).into_pyobject(py)
    }

    fn __eq__(&self, other: &Self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.prose == other.prose
            && self.reasoning == other.reasoning
            && self.regions == other.regions
            && self.calls.bind(py).eq(&other.calls)?
            && self.problems.bind(py).eq(&other.problems)?)
    }

    fn __hash__(&self) -> u64 {
        hashed(&(&self.prose, &self.reasoning, &self.regions))
    }

    /// The calls, in order.
    #[getter]
    fn calls(&self, py: Python<'_>) -> Py<PyTuple> {
        self.calls.clone_ref(py)
    }

    /// What is for people, byte for byte.
    #[getter]
    fn prose(&self) -> &str {
        &self.prose
    }

    /// The model's reasoning.
    #[getter]
    fn reasoning(&self) -> &str {
        &self.reasoning
    }

    /// What went wrong.
    #[getter]
    fn problems(&self, py: Python<'_>) -> Py<PyTuple> {
        self.problems.clone_ref(py)
    }

    /// Whose each byte is: regions that tile the text.
    #[getter]
    fn spans(&self) -> Vec<Region> {
        self.regions.clone()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let calls = self.calls.bind(py).repr()?;
        Ok(format!("Extraction(calls={calls}, prose={:?}, {} problems)", self.prose, self.problems.bind(py).len()))
    }
}
