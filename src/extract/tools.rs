//! Tools as a parser takes them: their schemas are compiled once, for as many replies as there are.

use pyo3::{
    gc::{PyTraverseError, PyVisit},
    prelude::*,
    types::{PyIterator, PyTuple},
};

use super::errors;
use loopwright_extract::Signatures;

/// Tools whose schemas are compiled.
#[pyclass(frozen, subclass, name = "PreparedTools", module = "loopwright.extraction")]
pub(crate) struct PreparedTools {
    pub(super) signatures: Signatures,
    names: Vec<String>,
    tools: Py<PyTuple>,
}

#[pymethods]
impl PreparedTools {
    #[new]
    fn new(pairs: Vec<(String, String)>, tools: Py<PyTuple>) -> PyResult<Self> {
        let mut signatures = Signatures::default();
        let mut names = Vec::with_capacity(pairs.len());
        for (name, schema) in pairs {
            let schema = serde_json::from_str(&schema).map_err(|error| {
                errors::usage(
                    "invalid_tool",
                    format!("the schema of {name:?} can't be read: {error}"),
                    "give the schema as JSON: a dict, or true",
                )
            })?;
            signatures.declare(&name, &schema).map_err(|error| errors::exception(&error))?;
            names.push(name);
        }
        Ok(Self { signatures, names, tools })
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (Py<PyTuple>,) {
        (self.tools.clone_ref(py),)
    }

    /// The names of the tools, in order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.names)
    }

    fn __len__(&self) -> usize {
        self.names.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.tools.bind(py).try_iter()
    }

    fn __repr__(&self) -> String {
        format!("PreparedTools([{}])", self.names.join(", "))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.tools)
    }
}
