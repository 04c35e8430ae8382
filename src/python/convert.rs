//! JSON text to Python objects and back, by Python's own `json`: integers stay exact, and it is fast.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyString};
use serde::de::DeserializeOwned;

use super::errors;

fn json_function<'py>(
    py: Python<'py>,
    slot: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    slot.get_or_try_init(py, || py.import("json")?.getattr(name).map(Bound::unbind)).map(|function| function.bind(py))
}

/// The Python object for JSON text.
pub(super) fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    json_function(py, &LOADS, "loads")?.call1((text,))
}

/// JSON text for a Python object; text is taken as JSON already.
pub(super) fn dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Ok(text) = value.cast::<PyString>() {
        return text.extract();
    }
    json_function(value.py(), &DUMPS, "dumps")?.call1((value,))?.extract()
}

/// A value of ours from a Python object or JSON text; `what` names it in the error.
pub(super) fn parse<T: DeserializeOwned>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let text = dumps(value)?;
    serde_json::from_str(&text).map_err(|error| errors::usage("invalid_value", format!("invalid {what}: {error}")))
}
