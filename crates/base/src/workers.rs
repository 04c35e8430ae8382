//! Worker threads, which the caller provides: this crate has none of its own.
//!
//! Work that can be done in any order and at the same time is one function that each worker takes its share of; the
//! result must not depend on the number of workers.

/// A pool of workers.
pub trait Workers: Sync {
    /// The number of workers, the calling thread included.
    fn count(&self) -> usize;

    /// Calls `work` on all workers, and at least on the calling thread, each with a number of its own below
    /// [`Self::many`]; returns when all are done.
    fn run(&self, work: &(dyn Fn(usize) + Sync));
}

/// A pool of the calling thread alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleThread;

impl Workers for SingleThread {
    fn count(&self) -> usize {
        1
    }

    fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        work(0);
    }
}
