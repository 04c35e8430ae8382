//! The clock of a run.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use loopwright_machine::Time;

/// A run's clock, which stands still while the run waits for whoever reads of it.
pub(super) struct Clock {
    started: Instant,
    /// The time at which it goes on; 0 for a run that begins.
    from: Time,
    /// How long it has stood still, and since when it does.
    still: Mutex<(Duration, Option<Instant>)>,
}

impl Clock {
    pub(super) fn new(from: Time) -> Self {
        Self { started: Instant::now(), from, still: Mutex::default() }
    }

    pub(super) fn now(&self) -> f64 {
        let still = self.still.lock().unwrap_or_else(PoisonError::into_inner);
        let went = still.1.unwrap_or_else(Instant::now).saturating_duration_since(self.started);
        self.from.seconds() + went.saturating_sub(still.0).as_secs_f64()
    }

    pub(super) fn hold(&self) {
        self.still.lock().unwrap_or_else(PoisonError::into_inner).1.get_or_insert_with(Instant::now);
    }

    pub(super) fn go_on(&self) {
        let mut still = self.still.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = still.1.take() {
            still.0 += since.elapsed();
        }
    }
}
