//! Threads of this machine, for work of `core` that can be done at the same time.

use std::{num::NonZero, sync::OnceLock, thread};

use loopwright_base::workers::Workers;

/// As many threads as there are processors for, or fewer. They live as long as the work does.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    many: usize,
}

/// With more of them the memory is the bottleneck.
const MOST: usize = 8;

impl Threads {
    /// At most so many.
    pub fn at_most(many: usize) -> Self {
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        let processors = *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get));
        Self { many: many.min(processors).max(1) }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self::at_most(MOST)
    }
}

impl Workers for Threads {
    fn many(&self) -> usize {
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
