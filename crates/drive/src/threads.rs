//! Threads for work of the engine that can be done at the same time.

use std::{num::NonZero, sync::OnceLock, thread};

use loopwright_base::workers::Workers;

/// A pool with one thread for each processor, or fewer. The threads live as long as the work does.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    many: usize,
}

/// Threads at most; with more of them the memory is the bottleneck.
const MAX_THREADS: usize = 8;

impl Threads {
    /// Limits the pool to so many threads.
    pub fn at_most(many: usize) -> Self {
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        let processors = *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get));
        Self { many: many.min(processors).max(1) }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self::at_most(MAX_THREADS)
    }
}

impl Workers for Threads {
    fn count(&self) -> usize {
        self.many
    }

    fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        thread::scope(|scope| {
            for number in 1..self.many {
                // Where there is no room for another thread, those that are there do all of it.
                if thread::Builder::new().spawn_scoped(scope, move || work(number)).is_err() {
                    break;
                }
            }
            work(0);
        });
    }
}
