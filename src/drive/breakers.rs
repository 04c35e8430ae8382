//! A circuit breaker for each host, and permits to call it.
//!
//! Only hosts in trouble are remembered. A permit that is dropped without an outcome (a cancelled call) gives the
//! probe's slot back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use super::options::ClientOptions;
use crate::core::{
    breaker::{Breaker, Verdict},
    error::{Failure, FailureKind},
};

/// More hosts in trouble than this, and the first closed one is forgotten.
const MAX_HOSTS: usize = 1024;

#[derive(Debug)]
pub(super) struct Breakers {
    hosts: Mutex<HashMap<Arc<str>, Breaker>>,
    epoch: Instant,
    threshold: u32,
    cooldown: f64,
}

impl Breakers {
    pub(super) fn new(options: &ClientOptions) -> Self {
        Self {
            hosts: Mutex::default(),
            epoch: Instant::now(),
            threshold: options.breaker_threshold,
            cooldown: options.breaker_cooldown,
        }
    }

    /// Leave to call `host`, or why not.
    pub(super) fn enter<'a>(&'a self, host: &'a Arc<str>) -> Result<Permit<'a>, Failure> {
        let verdict =
            self.with(|hosts| hosts.get_mut(host).map_or(Verdict::Closed, |breaker| breaker.check(self.now())));
        match verdict {
            Verdict::Closed => Ok(Permit { breakers: self, host, probe: false, open: true }),
            Verdict::Probe => Ok(Permit { breakers: self, host, probe: true, open: true }),
            Verdict::Open { retry_after } => {
                let mut failure = Failure::new(
                    FailureKind::BreakerOpen,
                    format!(
                        "{host} failed {} times in a row and is left alone for now: nothing was sent",
                        self.threshold
                    ),
                );
                // While another call probes there is no telling when; asking all the time would not help.
                failure.retry_after = Some(if retry_after > 0.0 { retry_after } else { 0.5 });
                Err(failure)
            }
        }
    }

    fn now(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Arc<str>, Breaker>) -> T) -> T {
        act(&mut self.hosts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Leave to make one call.
pub(super) struct Permit<'a> {
    breakers: &'a Breakers,
    host: &'a Arc<str>,
    probe: bool,
    open: bool,
}

impl Permit<'_> {
    /// The host answered, be it that it declined.
    pub(super) fn answered(mut self) {
        self.open = false;
        self.breakers.with(|hosts| {
            if let Some(breaker) = hosts.get_mut(self.host)
                && (self.probe || breaker.is_closed())
            {
                breaker.success();
                if breaker.is_fresh() {
                    hosts.remove(self.host);
                }
            }
        });
    }

    /// The call failed: counts, if the failure says something about the host's health.
    pub(super) fn failed(mut self, failure: &Failure) {
        use FailureKind as Kind;
        let declined = failure.status.is_some_and(|status| (300..500).contains(&status));
        match failure.kind {
            _ if declined => self.answered(),
            Kind::Connect | Kind::Timeout | Kind::Server | Kind::Overloaded | Kind::Cut => {
                self.open = false;
                let now = self.breakers.now();
                self.breakers.with(|hosts| {
                    if hosts.len() >= MAX_HOSTS
                        && !hosts.contains_key(self.host)
                        && let Some(old) = hosts.iter().find(|(_, old)| old.is_closed()).map(|(host, _)| host.clone())
                    {
                        hosts.remove(&old);
                    }
                    let breaker = hosts
                        .entry(self.host.clone())
                        .or_insert_with(|| Breaker::new(self.breakers.threshold, self.breakers.cooldown));
                    // A straggler from before the breaker opened must not pass for the probe.
                    if self.probe || breaker.is_closed() {
                        breaker.failure(now);
                    }
                });
            }
            Kind::RateLimited | Kind::BadRequest | Kind::Auth | Kind::Quota => self.answered(),
            // Says nothing about the host; dropping the permit frees the slot.
            _ => {}
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.open && self.probe {
            self.breakers.with(|hosts| {
                if let Some(breaker) = hosts.get_mut(self.host) {
                    breaker.cancelled();
                }
            });
        }
    }
}
