//! The tokio runtime of this process: made when first needed, one for each process, gone before the interpreter is.
//!
//! A forked child has its own (the threads of its parent did not come along). At exit the package calls [`shutdown`];
//! no thread of ours ever takes the interpreter, so that none can be caught inside it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use super::errors;
use crate::core::error::Error;

static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// The runtime of this process.
pub(super) fn handle() -> PyResult<Handle> {
    let process = std::process::id();
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, runtime)) = &*slot
        && *owner == process
    {
        return Ok(runtime.handle().clone());
    }
    // One thread carries tens of thousands of turns a second. A second one is woken for each call just to find
    // nothing to do, which costs a lone run a third more CPU.
    let workers = std::env::var("LOOPWRIGHT_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_usize);
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers.clamp(1, 64))
        .thread_name("loopwright")
        .enable_all()
        .build()
        .map_err(|error| {
            errors::exception(&Error::internal("no_runtime", format!("the I/O threads can't start: {error}")))
        })?;
    let handle = runtime.handle().clone();
    // The runtime of a parent has no threads here; dropping it would wait for them for ever.
    std::mem::forget(slot.replace((process, runtime)));
    Ok(handle)
}

/// Ends the I/O threads; called at exit.
#[pyfunction]
pub(super) fn shutdown(py: Python<'_>) {
    let taken = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((owner, runtime)) = taken {
        if owner == std::process::id() {
            py.detach(|| runtime.shutdown_timeout(Duration::from_millis(100)));
        } else {
            std::mem::forget(runtime);
        }
    }
}
