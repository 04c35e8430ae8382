//! Dropping of large values on a thread of their own, so that nobody waits for it.

use std::thread;

/// Drops a value that holds nothing of Python.
pub(super) fn drop_later(value: impl Send + 'static) {
    // Where no thread can begin, it is freed here.
    let _begun = thread::Builder::new().spawn(move || drop(value));
}
