//! Threads that whoever calls has to give: `core` has none of its own.
//!
//! What can be done in any order and at the same time is laid out here as one piece of work that each worker takes its
//! share of; what comes out must not hang on how many there are.

/// Whoever works at the same time.
pub trait Workers: Sync {
    /// How many there are, the one that calls included.
    fn many(&self) -> usize;

    /// Calls `work` on as many as there are, and at least on the one that calls, each with a number of its own below
    /// [`Self::many`]; comes back when all are done.
    fn run(&self, work: &(dyn Fn(usize) + Sync));
}

/// Nobody but the one that calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Workers for Alone {
    fn many(&self) -> usize {
        1
    }

    fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        work(0);
    }
}
