//! Turns of requests: all calls of a client to one host with one key keep one pace.
//!
//! A call asks for its turn before anything of it begins: no time limit of it runs yet, and no attempt is made. Who
//! drops the future that waits leaves the line; who drops a turn gives it back.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use reqwest::header::{HeaderMap, HeaderValue};
use tokio::{runtime::Handle, sync::oneshot, time::Instant};

use super::{
    answer,
    endpoint::{Endpoint, KEY_HEADERS},
    pace::{Demand, Held, Limits, Pace, Spent, Verdict},
    rate_headers,
};
use loopwright_base::error::{Failure, FailureKind};

/// Hosts and keys that are remembered; beyond that those are forgotten whose pace holds nobody.
const MAX_LINES: usize = 1024;

/// A host, and a hash of the key that requests carry: the key itself is not kept.
type Account = (Arc<str>, u64);

/// The lines in which calls wait, one for each host and key.
#[derive(Debug)]
pub(super) struct Lines {
    known: Mutex<HashMap<Account, Arc<Line>>>,
    /// Hashes of this process alone: nobody can look a key up by them.
    hasher: RandomState,
    minute: f64,
}

impl Lines {
    /// Lines whose minute has so many seconds.
    pub(super) fn new(minute: f64) -> Self {
        Self { known: Mutex::default(), hasher: RandomState::new(), minute }
    }

    /// Waits until a request to `endpoint` may be sent, which with its answer takes so many tokens; `tell` hears of it
    /// where it really waits.
    pub(super) async fn turn(
        &self,
        endpoint: &Endpoint,
        demand: Demand,
        tell: impl FnOnce(Held) + Send,
    ) -> Result<Turn, Failure> {
        let line = self.of(endpoint);
        let (mut turn, waits) = line.enter(endpoint, demand);
        let verdict = match waits {
            Ok(verdict) => verdict,
            Err((held, answer)) => {
                tell(held);
                // Whoever tells is the line, which the turn keeps.
                answer.await.unwrap_or(Verdict::Go)
            }
        };
        match verdict {
            Verdict::Go => Ok(turn),
            Verdict::Refused(seconds) => {
                turn.left = true;
                let message = format!(
                    "{} was refused and is to be left alone for {seconds:.0} s more: nothing was sent",
                    endpoint.breaker
                );
                let mut failure = Failure::new(FailureKind::RateLimited, message);
                failure.retry_after = Some(seconds);
                Err(failure)
            }
        }
    }

    /// Forgets what the hosts that are meant were asked and have said; those that wait go on where they stand.
    pub(super) fn forget(&self, is_meant: &impl Fn(&str) -> bool) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _), _| !is_meant(known));
    }

    fn of(&self, endpoint: &Endpoint) -> Arc<Line> {
        let keys = KEY_HEADERS.each_ref().map(|name| endpoint.headers.get(name).map(HeaderValue::as_bytes));
        let account = (endpoint.host.clone(), self.hasher.hash_one(keys));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_LINES && !known.contains_key(&account) {
            known.retain(|_, line| Arc::strong_count(line) > 1 || !line.is_idle());
        }
        let line = || Arc::new(Line { state: Mutex::new(LineState::new(self.minute)), epoch: Instant::now() });
        known.entry(account).or_insert_with(line).clone()
    }
}

/// A line of calls to a host with a key.
#[derive(Debug)]
struct Line {
    state: Mutex<LineState>,
    epoch: Instant,
}

#[derive(Debug)]
struct LineState {
    pace: Pace,
    /// The limits of all endpoints that have called and are still there.
    said: Vec<Weak<Limits>>,
    waiting: BTreeMap<u64, oneshot::Sender<Verdict>>,
    /// The time at which somebody looks again.
    alarm: Option<f64>,
}

impl LineState {
    fn new(minute: f64) -> Self {
        Self { pace: Pace::new(minute), said: Vec::new(), waiting: BTreeMap::new(), alarm: None }
    }

    /// Of what all say the smallest.
    fn limits(&mut self) -> Limits {
        self.said.retain(|said| said.strong_count() > 0);
        self.said.iter().filter_map(Weak::upgrade).fold(Limits::default(), |all, one| all.and(*one))
    }
}

/// What a call waits for, and where it hears that it waits no longer.
type Waits = (Held, oneshot::Receiver<Verdict>);

impl Line {
    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }

    fn is_idle(&self) -> bool {
        let now = self.now();
        self.lock().pace.is_idle(now)
    }

    fn enter(self: &Arc<Self>, endpoint: &Endpoint, demand: Demand) -> (Turn, Result<Verdict, Waits>) {
        let mut state = self.lock();
        if let Some(said) = &endpoint.limits
            && !state.said.iter().any(|known| known.as_ptr() == Arc::as_ptr(said))
        {
            state.said.push(Arc::downgrade(said));
        }
        let id = state.pace.ask(&endpoint.breaker, demand);
        let turn = Turn { line: self.clone(), id, limit: demand.limit, sent: false, used: None, left: false };
        if let Some(verdict) = self.settle(&mut state, Some(id)) {
            return (turn, Ok(verdict));
        }
        let (limits, now) = (state.limits(), self.now());
        let (reason, until) = state.pace.hold(id, limits, now).unwrap_or(("concurrency", None));
        let seconds = until.map(|until| (until - now).max(0.0));
        let (tell, heard) = oneshot::channel();
        state.waiting.insert(id, tell);
        (turn, Err((Held { host: endpoint.host.clone(), reason, seconds }, heard)))
    }

    /// Tells all who wait no longer; gives what has become of `own`, which is told itself.
    fn settle(self: &Arc<Self>, state: &mut LineState, own: Option<u64>) -> Option<Verdict> {
        if state.pace.is_free() {
            return None;
        }
        let (limits, now) = (state.limits(), self.now());
        let (settled, due) = state.pace.settle(limits, now);
        let mut found = None;
        for (id, verdict) in settled {
            if own == Some(id) {
                found = Some(verdict);
            } else if let Some(tell) = state.waiting.remove(&id) {
                // Whoever has gone meanwhile gives the turn back.
                let _ = tell.send(verdict);
            }
        }
        if let Some(due) = due.filter(|due| state.alarm.is_none_or(|alarm| *due < alarm || alarm <= now)) {
            state.alarm = self.look_again(due, now);
        }
        found
    }

    /// Has the line looked at again at a time; `None` where nobody is there to do it.
    fn look_again(self: &Arc<Self>, due: f64, now: f64) -> Option<f64> {
        let (line, wait) = (Arc::downgrade(self), Duration::from_secs_f64((due - now).clamp(1e-3, 3600.0)));
        Handle::try_current().ok()?.spawn(async move {
            tokio::time::sleep(wait).await;
            if let Some(line) = line.upgrade() {
                let mut state = line.lock();
                state.alarm = None;
                line.settle(&mut state, None);
            }
        });
        Some(due)
    }
}

/// A place in a line, and then the turn to send a request. Dropping it ends either.
#[derive(Debug)]
pub(super) struct Turn {
    line: Arc<Line>,
    id: u64,
    /// The limit of the answer, where that counts.
    limit: u64,
    sent: bool,
    used: Option<u64>,
    /// The line has let go of it already.
    left: bool,
}

impl Turn {
    /// From here on the request may reach the provider.
    pub(super) const fn begin(&mut self) {
        self.sent = true;
    }

    /// The answer begins, with these headers.
    pub(super) fn answered(&self, status: u16, headers: &HeaderMap) {
        let now = self.line.now();
        let refused = (status == 429).then(|| answer::retry_after(headers).unwrap_or_default());
        let quotas = rate_headers::quotas(headers, now);
        let mut state = self.line.lock();
        state.pace.answered(self.id, quotas, refused, now);
        self.line.settle(&mut state, None);
    }

    /// The request has ended: with the tokens of its prompt and of its answer, or with a failure.
    pub(super) fn end(mut self, outcome: Result<Spent, &Failure>) {
        use FailureKind as Kind;
        match outcome {
            Ok(Spent { prompt, answer }) => {
                self.used = (prompt + answer > 0).then(|| prompt.saturating_add(answer.max(self.limit)));
            }
            Err(failure) => {
                // The provider has heard nothing of it.
                let unsent = matches!(failure.kind, Kind::Connect | Kind::Tls | Kind::TooManyOpenFiles);
                self.sent &= !unsent || failure.status.is_some();
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.left {
            return;
        }
        let now = self.line.now();
        let mut state = self.line.lock();
        state.waiting.remove(&self.id);
        state.pace.end(self.id, self.sent, self.used, now);
        self.line.settle(&mut state, None);
    }
}
