//! What a parser says, as objects for Python: small, frozen, equal where they say the same, and fit to be copied and
//! pickled.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher},
};

use pyo3::{prelude::*, types::PyTuple};

use super::result::ExtractedCall;
use loopwright_extract::{self as extract, Dropped, Event, Owner, ProblemKind, Source, Span};

/// Where something begins and ends, in bytes.
pub(crate) type Place = (usize, usize);
/// A name of which there are few.
pub(crate) type Word = Cow<'static, str>;

pub(super) const fn place(span: Span) -> Place {
    (span.start, span.end)
}

pub(super) const fn source_name(source: Source) -> &'static str {
    match source {
        Source::Tagged => "tagged",
        Source::Fenced => "fenced",
        Source::Bare => "bare",
    }
}

pub(super) const fn dropped_name(dropped: Dropped) -> &'static str {
    match dropped {
        Dropped::ToolResult => "tool_result",
        Dropped::Limit => "limit",
        Dropped::Malformed => "malformed",
    }
}

pub(super) const fn owner_name(owner: Owner) -> &'static str {
    match owner {
        Owner::Text => "text",
        Owner::Reasoning => "reasoning",
        Owner::Call => "call",
        Owner::Markup => "markup",
        Owner::Dropped(_) => "dropped",
    }
}

/// The kinds of problems, by name.
#[pyfunction]
pub(crate) fn problem_kinds() -> Vec<&'static str> {
    ProblemKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// New prose.
#[pyclass(frozen, get_all, eq, hash, name = "TextDelta", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct TextDelta {
    /// What is new.
    text: String,
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// New reasoning.
#[pyclass(frozen, get_all, eq, hash, name = "ReasoningDelta", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ReasoningDelta {
    /// What is new.
    text: String,
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// A call began; its tool is known.
#[pyclass(frozen, get_all, eq, hash, name = "CallStarted", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct CallStarted {
    /// The call's place among the calls of the text, from 0.
    index: usize,
    /// The tool's name.
    name: String,
    /// The dialect it is written in.
    dialect: Word,
    /// `tagged`, `fenced` or `bare`.
    source: Word,
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// More of a call's arguments, as JSON text.
#[pyclass(frozen, get_all, eq, hash, name = "ArgumentsDelta", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ArgumentsDelta {
    /// The call's place among the calls of the text, from 0.
    index: usize,
    /// What is new.
    text: String,
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// A call ended.
#[pyclass(frozen, get_all, name = "CallFinished", module = "loopwright.extraction")]
pub(crate) struct CallFinished {
    /// The whole call.
    call: Py<ExtractedCall>,
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// Markers that belong to no one call.
#[pyclass(frozen, get_all, eq, hash, name = "Markup", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Markup {
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// Something to hear of.
#[pyclass(frozen, get_all, eq, hash, name = "Problem", module = "loopwright.extraction")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Problem {
    /// What went wrong, for programs.
    kind: Word,
    /// What went wrong, for people.
    message: String,
    /// The index of the call it is about.
    call: Option<usize>,
    /// Set if these bytes belong to nothing else: `tool_result`, `limit` or `malformed`.
    dropped: Option<Word>,
    /// The bytes it came from: where they begin, where they end.
    span: Place,
}

/// What every event has besides its fields: a name for its kind, a constructor, so that it can be copied and pickled,
/// and words.
macro_rules! event {
    ($name:ident, $type:literal, ($($field:ident: $as:ty),*), |$it:ident| $repr:expr) => {
        #[pymethods]
        impl $name {
            #[classattr]
            #[pyo3(name = "type")]
            fn kind() -> &'static str {
                $type
            }

            #[new]
            fn new($($field: $as),*) -> Self {
                Self { $($field: $field.into()),* }
            }

            fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                ($(self.$field.clone(),)*).into_pyobject(py)
            }

            fn __repr__(&self) -> String {
                let $it = self;
                $repr
            }
        }
    };
}

event!(TextDelta, "text", (text: String, span: Place), |it| format!("TextDelta({:?}, span={:?})", it.text, it.span));
event!(ReasoningDelta, "reasoning", (text: String, span: Place), |it| format!(
    "ReasoningDelta({:?}, span={:?})",
    it.text, it.span
));
event!(
    CallStarted,
    "call_started",
    (index: usize, name: String, dialect: String, source: String, span: Place),
    |it| format!(
        "CallStarted({}, {:?}, dialect={:?}, source={:?}, span={:?})",
        it.index, it.name, it.dialect, it.source, it.span
    )
);
event!(ArgumentsDelta, "arguments", (index: usize, text: String, span: Place), |it| format!(
    "ArgumentsDelta({}, {:?}, span={:?})",
    it.index, it.text, it.span
));
event!(Markup, "markup", (span: Place), |it| format!("Markup(span={:?})", it.span));

#[pymethods]
impl CallFinished {
    #[classattr]
    #[pyo3(name = "type")]
    fn kind() -> &'static str {
        "call_finished"
    }

    #[new]
    fn new(call: Py<ExtractedCall>, span: Place) -> Self {
        Self { call, span }
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (Py<ExtractedCall>, Place) {
        (self.call.clone_ref(py), self.span)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.span == other.span && self.call.get() == other.call.get()
    }

    fn __hash__(&self) -> u64 {
        hashed(&(self.call.get(), self.span))
    }

    fn __repr__(&self) -> String {
        format!("CallFinished({}, span={:?})", self.call.get().repr(), self.span)
    }
}

#[pymethods]
impl Problem {
    #[classattr]
    #[pyo3(name = "type")]
    fn event() -> &'static str {
        "problem"
    }

    #[new]
    fn new(kind: String, message: String, call: Option<usize>, dropped: Option<String>, span: Place) -> Self {
        Self { kind: kind.into(), message, call, dropped: dropped.map(Word::from), span }
    }

    fn __getnewargs__(&self) -> (Word, String, Option<usize>, Option<Word>, Place) {
        (self.kind.clone(), self.message.clone(), self.call, self.dropped.clone(), self.span)
    }

    fn __repr__(&self) -> String {
        format!("Problem({:?}, {:?}, span={:?})", self.kind, self.message, self.span)
    }
}

/// A hash that Python may use.
pub(super) fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn object<'py>(py: Python<'py>, event: Event<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match event {
        Event::Text { text, span } => {
            Bound::new(py, TextDelta { text: text.to_owned(), span: place(span) })?.into_any()
        }
        Event::Reasoning { text, span } => {
            Bound::new(py, ReasoningDelta { text: text.to_owned(), span: place(span) })?.into_any()
        }
        Event::CallStarted { index, name, dialect, source, span } => {
            let (name, source, span) = (name.to_owned(), source_name(source).into(), place(span));
            Bound::new(py, CallStarted { index, name, dialect: dialect.into(), source, span })?.into_any()
        }
        Event::Arguments { index, json, span } => {
            Bound::new(py, ArgumentsDelta { index, text: json.to_owned(), span: place(span) })?.into_any()
        }
        Event::CallFinished { call, span } => {
            let call = Py::new(py, ExtractedCall(call.clone()))?;
            Bound::new(py, CallFinished { call, span: place(span) })?.into_any()
        }
        Event::Markup { span } => Bound::new(py, Markup { span: place(span) })?.into_any(),
        Event::Problem(problem) => Bound::new(py, problem_object(problem))?.into_any(),
    })
}

pub(super) fn problem_object(problem: &extract::Problem) -> Problem {
    Problem {
        kind: problem.kind.name().into(),
        message: problem.message.clone(),
        call: problem.call,
        dropped: problem.dropped.map(|dropped| dropped_name(dropped).into()),
        span: place(problem.span),
    }
}
