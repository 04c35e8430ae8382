//! JSON text to Python objects and back, by Python's own `json`: integers stay exact, and it is fast.
//!
//! Its C parts are called directly. A daemon thread that runs Python code when the interpreter ends is unwound there
//! and then, which no frame of Rust below it survives; C code never gives the interpreter away.

use pyo3::{exceptions::PyValueError, prelude::*, sync::PyOnceLock, types::PyString};
use serde::{Deserialize, de::DeserializeOwned};

use super::errors;
use loopwright_base::error::Error;

struct Json {
    /// The C scanner of a `JSONDecoder`.
    scan: Py<PyAny>,
    /// `json.encoder.c_make_encoder` and what it takes; none where Python has none.
    make_encoder: Option<(Py<PyAny>, Py<PyAny>, Py<PyAny>)>,
    dumps: Py<PyAny>,
}

fn json(py: Python<'_>) -> PyResult<&Json> {
    static JSON: PyOnceLock<Json> = PyOnceLock::new();
    JSON.get_or_try_init(py, || {
        let module = py.import("json")?;
        let encoder = py.import("json.encoder")?;
        let make = encoder.getattr("c_make_encoder")?;
        let strings = encoder.getattr("c_encode_basestring_ascii")?;
        let default = module.getattr("JSONEncoder")?.call0()?.getattr("default")?;
        let whole = !make.is_none() && !strings.is_none();
        Ok(Json {
            scan: module.getattr("JSONDecoder")?.call0()?.getattr("scan_once")?.unbind(),
            make_encoder: whole.then(|| (make.unbind(), default.unbind(), strings.unbind())),
            dumps: module.getattr("dumps")?.unbind(),
        })
    })
}

/// Finds what is needed, while the module is loaded.
pub(super) fn prepare(py: Python<'_>) -> PyResult<()> {
    json(py).map(|_| ())
}

/// The Python object for JSON text, which must be well formed. Whoever wrote it, a number that Python does not read
/// is an error of this package's tree.
pub(super) fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    // The scanner wants the value at the very place.
    let found = json(py)?.scan.bind(py).call1((text.trim_start(), 0)).map_err(|error| {
        if !error.is_instance_of::<PyValueError>(py) {
            return error;
        }
        let message = format!("the JSON can't be read by Python: {}", error.value(py));
        errors::exception(&Error::model("unreadable_json", message).hint("ask for shorter numbers, or read its text"))
    })?;
    found.get_item(0)
}

/// JSON text for a Python object; text is taken as JSON already.
pub(super) fn dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return text.extract();
    }
    let py = value.py();
    let json = json(py)?;
    if let Some((make, default, strings)) = &json.make_encoder {
        // The markers, against circles, then no indent, separators, and no sorting, skipping or NaN.
        let markers = pyo3::types::PyDict::new(py);
        let arguments = (markers, default, strings, py.None(), ":", ",", false, false, false);
        if let Ok(encoder) = make.bind(py).call1(arguments) {
            let mut text = String::new();
            for piece in encoder.call1((value, 0))?.try_iter()? {
                text.push_str(piece?.cast::<PyString>()?.to_str()?);
            }
            return Ok(text);
        }
    }
    json.dumps.bind(py).call1((value,))?.extract()
}

/// JSON text for a Python object that stands for a value of ours; `what` names it in the error.
pub(super) fn text_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    dumps(value).map_err(|error| {
        let message = format!("the {what} can't be written as JSON: {}", error.value(value.py()));
        errors::usage(
            "invalid_value",
            message,
            "give dicts with text as keys, lists, text, numbers, true, false and null",
        )
    })
}

/// A value of ours from its JSON text. What is none is an error with this code, which says `refused` and why, and
/// what to do instead.
pub(super) fn from_json<'a, T: Deserialize<'a>>(
    text: &'a str,
    (code, refused): (&'static str, &str),
    hint: &str,
) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| errors::usage(code, format!("{refused}: {error}"), hint))
}

/// [`parse`] for a value that may be left out.
pub(super) fn parse_some<T: DeserializeOwned>(value: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Option<T>> {
    value.map(|value| parse(value, what)).transpose()
}

/// A value of ours from a Python object or JSON text; `what` names it in the error.
pub(super) fn parse<T: DeserializeOwned>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let refused = format!("invalid {what}");
    from_json(&text_of(value, what)?, ("invalid_value", &refused), "mend what is named there, or leave it out")
}
