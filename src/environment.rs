//! The variables of the environment, as `os.environ` has them.
//!
//! The C library hands out pointers into a table that `os.environ[...] = ...` moves while another thread reads it; the
//! interpreter's own copy is safe to read. Its dict is looked into directly: no Python code runs below a frame of Rust.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};

/// Looks variables up; those that are no text are not there.
pub(super) fn variables(py: Python<'_>) -> PyResult<impl Fn(&str) -> Option<String>> {
    let environ = py.import("os")?.getattr("environ")?;
    let table = environ.getattr("_data").ok().and_then(|data| data.cast_into::<PyDict>().ok());
    Ok(move |name: &str| match &table {
        Some(table) => {
            let value = table.get_item(PyBytes::new(py, name.as_bytes())).ok()??;
            String::from_utf8(value.extract().ok()?).ok()
        }
        // Somebody has put another mapping in its place.
        None => environ.call_method1("get", (name,)).ok()?.extract().ok(),
    })
}
