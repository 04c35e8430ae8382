//! Drivers: they carry the commands of machines out and feed back what happened.

pub mod queue;
pub mod sim;

/// What the queue is made of; a model checker puts its own in its place.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
}
