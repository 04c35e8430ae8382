//! The tokio runtime of this process: made when first needed, one for each process, gone before the interpreter is.
//!
//! A forked child has its own (the threads of its parent did not come along). At exit the package calls [`shutdown`];
//! no thread of ours ever takes the interpreter, so that none can be caught inside it.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use pyo3::prelude::*;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

use super::{environment, errors};
use loopwright_base::error::Error;
use loopwright_drive::http::{Client, ClientOptions};

/// The time that the end of the process waits for work in flight.
const PATIENCE: Duration = Duration::from_millis(100);

static RUNTIME: Mutex<Option<(u32, Threads)>> = Mutex::new(None);

/// The runtime of the I/O.
enum Threads {
    /// One thread that does nothing else: no stealing, no bookkeeping for it, which a lone run would pay for.
    One { handle: Handle, end: oneshot::Sender<()>, thread: JoinHandle<()> },
    /// Several that share the work.
    Several(Runtime),
}

impl Threads {
    fn start(count: usize) -> std::io::Result<Self> {
        if count > 1 {
            let mut builder = Builder::new_multi_thread();
            return builder.worker_threads(count).thread_name("loopwright").enable_all().build().map(Self::Several);
        }
        let runtime = Builder::new_current_thread().thread_name("loopwright").enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("loopwright".to_owned()).spawn(move || {
            // A sender that is gone says the same.
            let _ = runtime.block_on(ended);
            runtime.shutdown_timeout(PATIENCE);
        })?;
        Ok(Self::One { handle, end, thread })
    }

    fn handle(&self) -> &Handle {
        match self {
            Self::One { handle, .. } => handle,
            Self::Several(runtime) => runtime.handle(),
        }
    }

    fn end(self) {
        match self {
            Self::One { end, thread, .. } => {
                let _ = end.send(());
                let _ = thread.join();
            }
            Self::Several(runtime) => runtime.shutdown_timeout(PATIENCE),
        }
    }
}

type Slot = MutexGuard<'static, Option<(u32, Threads)>>;

/// Nothing of Python is touched under it: a thread that is halted inside would halt whoever waits for the lock, and so
/// the whole interpreter.
fn lock() -> Slot {
    RUNTIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime of this process.
pub(super) fn handle(py: Python<'_>) -> PyResult<Handle> {
    if let Some(handle) = ours(&lock()) {
        return Ok(handle);
    }
    // One thread carries tens of thousands of turns a second. A second one is woken for each call just to find
    // nothing to do, which costs a lone run a third more CPU.
    let wanted = environment::variables(py)?("LOOPWRIGHT_THREADS");
    let workers = wanted.and_then(|text| text.parse().ok()).unwrap_or(1_usize).clamp(1, 64);
    start(workers).map_err(|error| {
        errors::exception(&Error::internal("no_runtime", format!("the I/O threads can't start: {error}")))
    })
}

fn ours(slot: &Slot) -> Option<Handle> {
    match &**slot {
        Some((owner, threads)) if *owner == std::process::id() => Some(threads.handle().clone()),
        _ => None,
    }
}

fn start(workers: usize) -> std::io::Result<Handle> {
    let mut slot = lock();
    if let Some(handle) = ours(&slot) {
        return Ok(handle);
    }
    let threads = Threads::start(workers)?;
    let handle = threads.handle().clone();
    // The runtime of a parent has no threads here; dropping it would wait for them for ever.
    std::mem::forget(slot.replace((std::process::id(), threads)));
    Ok(handle)
}

/// The HTTP client of this process.
pub(super) fn client(py: Python<'_>) -> PyResult<Client> {
    Client::shared_or(|| environment::variables(py).map(|env| Client::new(ClientOptions::from_env(env))))
}

/// Ends the I/O threads; called at exit.
#[pyfunction]
pub(super) fn shutdown(py: Python<'_>) {
    py.detach(loopwright_store::journal::Store::close_all);
    let taken = lock().take();
    if let Some((owner, threads)) = taken {
        if owner == std::process::id() {
            py.detach(|| threads.end());
        } else {
            std::mem::forget(threads);
        }
    }
}
