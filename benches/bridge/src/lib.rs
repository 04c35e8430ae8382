//! The smallest awaitables that `future_into_py` can make, on a tokio runtime with two workers.
//!
//! `bench.py` awaits them one by one and a thousand at a time, beside futures that never leave asyncio.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::future_into_py;

/// An awaitable that is ready as soon as a worker polls it.
#[pyfunction]
fn ready(py: Python<'_>, value: u64) -> PyResult<Bound<'_, PyAny>> {
    future_into_py(py, async move { Ok(value) })
}

/// An awaitable that is ready after some milliseconds, as an answer from the network would be.
#[pyfunction]
fn later(py: Python<'_>, value: u64, milliseconds: u64) -> PyResult<Bound<'_, PyAny>> {
    future_into_py(py, async move {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        Ok(value)
    })
}

/// A plain call, for scale.
#[pyfunction]
fn call(value: u64) -> u64 {
    value
}

/// The baseline.
#[pymodule]
fn bridge_baseline(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all();
    pyo3_async_runtimes::tokio::init(runtime);
    module.add_function(wrap_pyfunction!(ready, module)?)?;
    module.add_function(wrap_pyfunction!(later, module)?)?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    Ok(())
}
