//! A circuit breaker for each model at a host, and permits to call it.
//!
//! Only those in trouble are remembered. A permit that is dropped without an outcome (a cancelled call) gives the
//! probe's slot back. A request whose own attempts opened a breaker may be its probe at once: three short failures
//! would else end a run that has an attempt left. So may one whose probe, for which it had waited, has failed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use super::options::ClientOptions;
use loopwright_base::{
    breaker::{Breaker, Verdict},
    error::{Failure, FailureKind},
};

/// Models with failures that are remembered at most; beyond that the first closed breaker is forgotten.
const MAX_MODELS: usize = 1024;

#[derive(Debug)]
struct ModelBreaker {
    breaker: Breaker,
    /// The breaker is open, and neither a call that was in flight when it opened nor the one whose probe failed has
    /// been tried again yet.
    early_probe_left: bool,
    /// The probe that is under way was made before its time.
    probes_early: bool,
}

impl ModelBreaker {
    fn check(&mut self, attempt: u32, now: f64) -> Verdict {
        let verdict = self.breaker.check(now);
        let early = matches!(verdict, Verdict::Open { .. }) && attempt > 1 && self.early_probe_left;
        if early && self.breaker.probe_early() {
            (self.early_probe_left, self.probes_early) = (false, true);
            return Verdict::Probe;
        }
        if verdict == Verdict::Probe {
            self.probes_early = false;
        }
        verdict
    }

    fn record_failure(&mut self, now: f64) {
        let was_early = !self.breaker.is_closed() && self.probes_early;
        self.breaker.failure(now);
        // Who has waited for its turn, and failed, tries again in its own time and not after another cooldown.
        self.early_probe_left = !was_early && !self.breaker.is_closed();
    }
}

#[derive(Debug)]
pub(super) struct Breakers {
    known: Mutex<HashMap<Arc<str>, ModelBreaker>>,
    epoch: Instant,
    threshold: u32,
    cooldown: f64,
}

impl Breakers {
    pub(super) fn new(options: &ClientOptions) -> Self {
        Self {
            known: Mutex::default(),
            epoch: Instant::now(),
            threshold: options.breaker_threshold,
            cooldown: options.breaker_cooldown,
        }
    }

    /// Returns a permit to call `model` for the `attempt`-th time with the same request, or the failure that says why
    /// not.
    pub(super) fn permit<'a>(&'a self, whom: &'a Arc<str>, attempt: u32) -> Result<Permit<'a>, Failure> {
        let verdict =
            self.with(|known| known.get_mut(whom).map_or(Verdict::Closed, |known| known.check(attempt, self.now())));
        match verdict {
            Verdict::Closed => Ok(Permit { breakers: self, whom, probe: false, open: true }),
            Verdict::Probe => Ok(Permit { breakers: self, whom, probe: true, open: true }),
            Verdict::Open { retry_after } => {
                let mut failure = Failure::new(
                    FailureKind::BreakerOpen,
                    format!(
                        "{whom} failed {} times in a row and is left alone for now: nothing was sent",
                        self.threshold
                    ),
                );
                // While another call probes there is no telling when; asking all the time would not help.
                failure.retry_after = Some(if retry_after > 0.0 { retry_after } else { 0.5 });
                Err(failure)
            }
        }
    }

    /// Forgets the failures of all models at the hosts that are meant.
    pub(super) fn forget(&self, is_meant: &impl Fn(&str) -> bool) {
        self.with(|known| known.retain(|whom, _| whom.rsplit_once(" at ").is_none_or(|(_, at)| !is_meant(at))));
    }

    fn now(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Arc<str>, ModelBreaker>) -> T) -> T {
        act(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A permit to make one call.
pub(super) struct Permit<'a> {
    breakers: &'a Breakers,
    whom: &'a Arc<str>,
    probe: bool,
    open: bool,
}

impl Permit<'_> {
    /// Records an answer, also one that declined the request.
    pub(super) fn record_answer(mut self) {
        self.open = false;
        self.breakers.with(|known| {
            if let Some(ModelBreaker { breaker, .. }) = known.get_mut(self.whom)
                && (self.probe || breaker.is_closed())
            {
                breaker.success();
                if breaker.is_fresh() {
                    known.remove(self.whom);
                }
            }
        });
    }

    /// Records a failed call; it counts if the failure says something about the health of the model.
    pub(super) fn record_failure(mut self, failure: &Failure) {
        use FailureKind as Kind;
        let declined = failure.status.is_some_and(|status| (300..500).contains(&status));
        match failure.kind {
            _ if declined => self.record_answer(),
            Kind::Connect | Kind::Timeout | Kind::Server | Kind::Overloaded | Kind::Cut => {
                self.open = false;
                let now = self.breakers.now();
                self.breakers.with(|known| {
                    if known.len() >= MAX_MODELS
                        && !known.contains_key(self.whom)
                        && let Some(old) =
                            known.iter().find(|(_, old)| old.breaker.is_closed()).map(|(whom, _)| whom.clone())
                    {
                        known.remove(&old);
                    }
                    let model = known.entry(self.whom.clone()).or_insert_with(|| ModelBreaker {
                        breaker: Breaker::new(self.breakers.threshold, self.breakers.cooldown),
                        early_probe_left: false,
                        probes_early: false,
                    });
                    // A straggler from before the breaker opened must not pass for the probe.
                    if self.probe || model.breaker.is_closed() {
                        model.record_failure(now);
                    }
                });
            }
            Kind::RateLimited | Kind::BadRequest | Kind::Auth | Kind::Quota => self.record_answer(),
            // Says nothing about its health; dropping the permit frees the slot.
            _ => {}
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.open && self.probe {
            self.breakers.with(|known| {
                if let Some(ModelBreaker { breaker, .. }) = known.get_mut(self.whom) {
                    breaker.cancelled();
                }
            });
        }
    }
}
