//! JSON in a model's answer, found and mended, as objects.

use pyo3::{prelude::*, types::PyTuple};

use super::{
    Place,
    events::{Word, hashed, place},
};
use crate::{convert, errors};
use loopwright_extract::{self as extract, FoundJson as Found};

/// One thing that was put right.
#[pyclass(frozen, get_all, name = "Repair", module = "loopwright.extraction", eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Repair {
    /// What was done.
    what: Word,
    /// The bytes of the text that it was done to; empty where something was added.
    span: Place,
}

#[pymethods]
impl Repair {
    #[new]
    fn new(what: String, span: Place) -> Self {
        Self { what: what.into(), span }
    }

    fn __getnewargs__(&self) -> (Word, Place) {
        (self.what.clone(), self.span)
    }

    fn __repr__(&self) -> String {
        format!("Repair({:?}, span={:?})", self.what, self.span)
    }
}

fn repairs(py: Python<'_>, repairs: &[extract::Repair]) -> PyResult<Py<PyTuple>> {
    let made = repairs.iter().map(|repair| Repair { what: repair.what.describe().into(), span: place(repair.span) });
    Ok(PyTuple::new(py, made.map(|repair| Py::new(py, repair)).collect::<PyResult<Vec<_>>>()?)?.unbind())
}

/// What became of a text that should have been JSON.
#[pyclass(frozen, name = "Repaired", module = "loopwright.extraction")]
pub(crate) struct Repaired {
    json: String,
    repairs: Py<PyTuple>,
    complete: bool,
}

#[pymethods]
impl Repaired {
    #[new]
    fn new(json: String, repairs: Py<PyTuple>, complete: bool) -> Self {
        Self { json, repairs, complete }
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (String, Py<PyTuple>, bool) {
        (self.json.clone(), self.repairs.clone_ref(py), self.complete)
    }

    fn __eq__(&self, other: &Self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.json == other.json && self.complete == other.complete && self.repairs.bind(py).eq(&other.repairs)?)
    }

    fn __hash__(&self) -> u64 {
        hashed(&(&self.json, self.complete))
    }

    /// Valid JSON.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    /// The JSON, parsed.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::loads(py, &self.json)
    }

    /// What was put right, in the order of the text; empty if it was valid.
    #[getter]
    fn repairs(&self, py: Python<'_>) -> Py<PyTuple> {
        self.repairs.clone_ref(py)
    }

    /// Whether the JSON had come to its end. If not, the text was cut off.
    #[getter]
    const fn complete(&self) -> bool {
        self.complete
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Repaired({:?}, repairs={})", self.json, self.repairs.bind(py).repr()?))
    }
}

/// Makes valid JSON of what should be JSON, and says what it repaired.
#[pyfunction]
pub(crate) fn repair_json(py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Repaired> {
    let bytes = super::bytes(text)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let message = format!("the text is no UTF-8 at byte {}", error.valid_up_to());
        errors::usage("invalid_value", message, "decode it first, with errors='replace'")
    })?;
    let mended = py.detach(|| extract::repair_json(text));
    Ok(Repaired { repairs: repairs(py, &mended.repairs)?, json: mended.json, complete: mended.complete })
}

const fn place_name(place: extract::Place) -> &'static str {
    match place {
        extract::Place::Whole => "whole",
        extract::Place::Fenced => "fenced",
        extract::Place::Embedded => "embedded",
    }
}

/// The JSON of an answer.
#[pyclass(frozen, name = "FoundJson", module = "loopwright.extraction")]
pub(crate) struct FoundJson {
    found: Found,
    repairs: Py<PyTuple>,
}

#[pymethods]
impl FoundJson {
    #[new]
    fn new(json: String, place: &str, span: Place, repairs: Py<PyTuple>, complete: bool) -> PyResult<Self> {
        let places = [extract::Place::Whole, extract::Place::Fenced, extract::Place::Embedded];
        let place = places.into_iter().find(|one| place_name(*one) == place);
        let place = place.ok_or_else(|| {
            errors::usage("invalid_value", "a place is whole, fenced or embedded", "give one of these")
        })?;
        let span = extract::Span { start: span.0, end: span.1 };
        Ok(Self { found: Found { json, span, place, repairs: Vec::new(), complete }, repairs })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let found = &self.found;
        (&found.json, place_name(found.place), place(found.span), self.repairs.clone_ref(py), found.complete)
            .into_pyobject(py)
    }

    fn __eq__(&self, other: &Self, py: Python<'_>) -> PyResult<bool> {
        let (one, two) = (&self.found, &other.found);
        let same = (&one.json, one.span, one.place, one.complete) == (&two.json, two.span, two.place, two.complete);
        Ok(same && self.repairs.bind(py).eq(&other.repairs)?)
    }

    fn __hash__(&self) -> u64 {
        hashed(&(&self.found.json, self.found.place, self.found.complete))
    }

    /// The JSON as it was written, or mended.
    #[getter]
    fn json(&self) -> &str {
        &self.found.json
    }

    /// The JSON, parsed.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::loads(py, &self.found.json)
    }

    /// The bytes of the text it came from.
    #[getter]
    const fn span(&self) -> Place {
        place(self.found.span)
    }

    /// Where it stood: `whole`, `fenced` or `embedded`.
    #[getter]
    const fn place(&self) -> &'static str {
        place_name(self.found.place)
    }

    /// What was put right.
    #[getter]
    fn repairs(&self, py: Python<'_>) -> Py<PyTuple> {
        self.repairs.clone_ref(py)
    }

    /// Whether the JSON had come to its end. If not, the text was cut off.
    #[getter]
    const fn complete(&self) -> bool {
        self.found.complete
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repairs = self.repairs.bind(py).repr()?;
        Ok(format!(
            "FoundJson({:?}, place={:?}, span={:?}, repairs={repairs})",
            self.found.json,
            self.place(),
            self.span()
        ))
    }
}

fn read_schema(schema: &str) -> PyResult<serde_json::Value> {
    serde_json::from_str(schema).map_err(|error| {
        errors::usage(
            "invalid_schema",
            format!("the schema can't be read: {error}"),
            "give the schema as JSON: a dict, or true",
        )
    })
}

/// What is wrong with a JSON schema (JSON text): where, what, and what to do; `None` if it is one.
#[pyfunction]
pub(crate) fn schema_fault(schema: &str) -> PyResult<Option<(String, String, String)>> {
    let fault = extract::check_schema(&read_schema(schema)?).err();
    Ok(fault.map(|fault| (fault.at, fault.what, fault.hint)))
}

/// The JSON in an answer; with a schema (JSON text), the first that fits.
#[pyfunction]
#[pyo3(signature = (text, schema=None))]
pub(crate) fn find_json(py: Python<'_>, text: &str, schema: Option<&str>) -> PyResult<FoundJson> {
    let schema = schema.map(read_schema).transpose()?;
    if let Some(fault) = schema.as_ref().and_then(|schema| extract::check_schema(schema).err()) {
        let message = format!("the schema of the answer is no JSON schema: {fault}");
        let error = loopwright_base::error::Error::usage("invalid_schema", message);
        return Err(errors::exception(&error.hint(fault.hint)));
    }
    let found = py.detach(|| extract::extract_json(text, schema.as_ref()));
    match found {
        Ok(found) => Ok(FoundJson { repairs: repairs(py, &found.repairs)?, found }),
        Err(none) => {
            let error = loopwright_base::error::Error::model("no_json", format!("the answer holds {none}"));
            Err(errors::exception(&error.hint("ask the model again, and say what is wrong")))
        }
    }
}
