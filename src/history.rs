//! Messages as Python sees them: a sequence that stays in Rust until one is looked at.

use pyo3::{exceptions::PyIndexError, prelude::*, sync::PyOnceLock};

use super::{convert, errors};
use loopwright_base::{message::Message, request};

/// Messages in order, kept in Rust. `json(i)` gives one in the canonical form.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct History(pub(super) request::History);

#[pymethods]
impl History {
    #[new]
    fn new(messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(messages_of(messages)?.into_iter().collect()))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// One message, or those of a slice, as `loopwright.messages.Message`.
    fn __getitem__<'py>(this: &Bound<'py, Self>, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        shown(this)?.get_item(at)
    }

    /// The messages in order, each a `loopwright.messages.Message`.
    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(shown(this)?.try_iter()?.into_any())
    }

    /// The messages, the last one first.
    fn __reversed__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(this)?.call_method0("__reversed__")
    }

    /// One message as JSON text.
    fn json(&self, at: usize) -> PyResult<String> {
        let json = self.0.json_of(at).map(std::borrow::Cow::into_owned);
        json.ok_or_else(|| PyIndexError::new_err("no such message"))
    }

    /// All messages as JSON text.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| {
            errors::usage("invalid_value", error.to_string(), "build the messages anew from what their provider sent")
        })
    }

    /// These messages and, after them, those of a list of dicts or JSON text; these are shared, not copied.
    fn extended(&self, messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut history = self.0.clone();
        messages_of(messages)?.into_iter().for_each(|message| history.push(message));
        Ok(Self(history))
    }

    /// These messages and, after them, a user's words.
    fn said(&self, words: String) -> Self {
        let mut history = self.0.clone();
        history.push(Message::user(words));
        Self(history)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        self.0.digest()
    }

    fn __repr__(&self) -> String {
        format!("<History of {} messages>", self.0.len())
    }
}

/// The history as the sequence of messages that people are given.
fn shown<'py>(history: &Bound<'py, History>) -> PyResult<Bound<'py, PyAny>> {
    static MESSAGES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = history.py();
    let class = || py.import("loopwright.result")?.getattr("Messages").map(Bound::unbind);
    MESSAGES.get_or_try_init(py, class)?.bind(py).call1((history,))
}

/// Messages from a `History`, a list of dicts, or JSON text.
pub(super) fn messages_of(messages: &Bound<'_, PyAny>) -> PyResult<Vec<Message>> {
    match messages.cast::<History>() {
        Ok(history) => Ok(history.get().0.iter().cloned().collect()),
        Err(_) => convert::parse(messages, "messages"),
    }
}
