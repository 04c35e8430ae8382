//! Much memory that nobody needs any more: it is freed on a thread of its own, so that nobody waits for it.

use std::thread;

/// Frees a value that holds nothing of Python.
pub(super) fn let_go(value: impl Send + 'static) {
    // Where no thread can begin, it is freed here.
    let _begun = thread::Builder::new().spawn(move || drop(value));
}
