//! Batches: requests that need not be answered at once go to the provider together, for half the money.
//!
//! Requests of all runs of the process that come within a short time, to one model at one place, are one batch. It is
//! looked after at growing intervals until the provider has done with it; each request then has its answer, or a
//! failure of its own. A run that broke off meanwhile names the batch that its request went into, and waits for that
//! again.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep_until, timeout_at},
};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    batch_forms::{cancel, create, look},
    endpoint::Endpoint,
    http::{CallFailure, Client, Timeouts},
    in_flight::{Watch, whole_deltas},
};
use loopwright_base::{
    error::{Error, Failure, FailureKind},
    request::{Delta, Response},
};
use loopwright_models::batches::{BatchRules, batches_of, providers_with_batches};

/// Polls in a row that may fail before a batch is given up.
const FAILED_POLLS: u32 = 20;
/// How much longer each pause between two polls is than the one before.
const GROWTH: f64 = 1.5;
/// Seconds that one exchange about a batch may take: files are large.
const EXCHANGE: f64 = 900.0;

/// How requests are gathered into batches, and how a batch is looked after. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchOptions {
    /// How long requests are gathered from the first on.
    pub gather: f64,
    /// The first pause between two polls.
    pub poll: f64,
    /// The longest one.
    pub longest_poll: f64,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self { gather: 1.0, poll: 10.0, longest_poll: 300.0 }
    }
}

/// The batching of an endpoint: its requests go in batches, as these options and the provider's rules say.
#[derive(Clone, Debug)]
pub struct Batching {
    pub(super) options: BatchOptions,
    pub(super) rules: BatchRules,
    /// The name of the request in its batch, and the batch that it went into before; made up where nobody says.
    pub(super) ticket: Option<(String, Option<String>)>,
}

impl Batching {
    /// Batches of a provider, where it has an interface for them.
    pub(super) fn of(provider: &str, options: BatchOptions) -> Result<Self, Error> {
        let Some(rules) = batches_of(provider) else {
            let known: Vec<&str> = providers_with_batches().collect();
            let message = format!("{provider} has no interface for batches that is known");
            return Err(
                Error::usage("no_batches", message).hint(format!("leave batch out; {} have one", known.join(", ")))
            );
        };
        let numbers = [("gather", options.gather), ("poll", options.poll), ("longest_poll", options.longest_poll)];
        let wrong = numbers
            .iter()
            .find(|(name, seconds)| !seconds.is_finite() || *seconds < f64::from(*name != "gather") * 1e-3);
        if let Some((name, seconds)) = wrong {
            let message = format!("batch.{name} can't be {seconds}");
            return Err(Error::usage("invalid_option", message).hint("give a number of seconds above 0"));
        }
        Ok(Self { options, rules, ticket: None })
    }
}

/// The name of a request in its batch, the same whenever the run asks for it: its run, its command and its attempt, in
/// the letters that providers take.
pub fn ticket(run: &str, command: u64, attempt: u32) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let run = if run.len() <= 24 && run.chars().all(plain) {
        run.to_owned()
    } else {
        format!("{:016x}", xxh3_64(run.as_bytes()))
    };
    format!("{run}-{command}-{attempt}")
}

/// A request that waits for its answer.
pub(super) struct Waiter {
    pub(super) ticket: String,
    pub(super) body: String,
    heard: UnboundedSender<Told>,
}

/// News for the request that waits: the batch it went into, then its answer.
enum Told {
    /// The batch that it went into.
    Batch(String),
    Answer(Box<Result<Response, Failure>>),
}

impl Waiter {
    fn tell(&self, told: Told) {
        // One that is gone hears nothing any more.
        let _ = self.heard.send(told);
    }

    fn answer(&self, answer: Result<Response, Failure>) {
        self.tell(Told::Answer(Box::new(answer)));
    }
}

/// The ways to the batches of a client: by place, those that are being gathered, with the id of a batch those that are
/// looked after.
#[derive(Default)]
pub(super) struct BatchDesk(Mutex<HashMap<(String, String), UnboundedSender<Waiter>>>);

impl BatchDesk {
    fn ways(&self) -> MutexGuard<'_, HashMap<(String, String), UnboundedSender<Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way is closed: nobody comes any more, and whoever came until now is in the queue.
    fn close(&self, key: &(String, String)) {
        self.ways().remove(key);
    }
}

/// Sends a request in a batch, and waits for its answer; with `show` it is shown as one that came whole.
pub(super) async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    batching: &Batching,
    body: String,
    show: bool,
    timeouts: &Timeouts,
    mut watch: impl Watch,
) -> Result<Response, CallFailure> {
    let (heard, mut told) = unbounded_channel();
    let (name, known) = batching.ticket.clone().unwrap_or_else(|| (made_up(), None));
    let waiter = Waiter { ticket: name, body, heard };
    let secrets: String = endpoint.secrets.iter().map(super::endpoint::Secret::reveal).collect();
    let place = format!(
        "{} {} {:x}",
        endpoint.breaker,
        endpoint.url.as_ref().map_or("", reqwest::Url::as_str),
        xxh3_64(secrets.as_bytes())
    );
    let follower = Follower {
        client: client.clone(),
        endpoint: endpoint.clone(),
        options: batching.options,
        rules: batching.rules,
        limits: Timeouts { total: timeouts.total.max(EXCHANGE), ..*timeouts },
        place,
    };
    follower.enter(waiter, known);
    loop {
        match told.recv().await {
            Some(Told::Batch(id)) => watch.deltas(vec![Delta::Batch { id }]),
            Some(Told::Answer(answer)) => {
                let response = (*answer).map_err(CallFailure::from)?;
                if show {
                    watch.deltas(whole_deltas(&response.message));
                }
                return Ok(response);
            }
            None => return Err(Failure::new(FailureKind::Internal, "the batch was lost").into()),
        }
    }
}

/// A name that no other request has, for one that no run has named.
fn made_up() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("r{:x}-{}-{}", since.as_nanos(), std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Whoever carries a batch from its first request to its last answer.
#[derive(Clone)]
pub(super) struct Follower {
    pub(super) client: Client,
    pub(super) endpoint: Endpoint,
    options: BatchOptions,
    pub(super) rules: BatchRules,
    pub(super) limits: Timeouts,
    place: String,
}

impl Follower {
    /// A request joins those that are gathered, or those that wait for the batch that it went into before.
    fn enter(self, waiter: Waiter, known: Option<String>) {
        let client = self.client.clone();
        let key = self.key(known.as_deref());
        let mut ways = client.batches().ways();
        let waiter = match ways.get(&key) {
            None => waiter,
            Some(way) => match way.send(waiter) {
                Ok(()) => return,
                Err(back) => back.0,
            },
        };
        let (way, queue) = unbounded_channel();
        ways.insert(key, way);
        drop(ways);
        tokio::spawn(async move {
            match known {
                Some(id) => self.follow(id, vec![waiter], queue, 0.0).await,
                None => self.gather(waiter, queue).await,
            }
        });
    }

    fn key(&self, id: Option<&str>) -> (String, String) {
        (self.place.clone(), id.unwrap_or_default().to_owned())
    }

    /// Takes the requests that come in time, and sends them off.
    async fn gather(self, first: Waiter, mut queue: UnboundedReceiver<Waiter>) {
        let until = Instant::now() + seconds(self.options.gather);
        let mut bytes = first.body.len();
        let mut waiting = vec![first];
        while waiting.len() < self.rules.requests && bytes < self.rules.bytes {
            let Ok(Some(next)) = timeout_at(until, queue.recv()).await else { break };
            bytes += next.body.len();
            waiting.push(next);
        }
        self.client.batches().close(&self.key(None));
        while let Ok(late) = queue.try_recv() {
            waiting.push(late);
        }
        waiting.retain(|one| !one.heard.is_closed());
        for part in parts(waiting, &self.rules) {
            tokio::spawn(self.clone().send(part));
        }
    }

    async fn send(self, waiting: Vec<Waiter>) {
        match create(&self, &waiting).await {
            Err(failure) => fail(&waiting, &failure),
            Ok(id) => {
                let (way, queue) = unbounded_channel();
                self.client.batches().ways().insert(self.key(Some(&id)), way);
                for one in &waiting {
                    one.tell(Told::Batch(id.clone()));
                }
                let pause = self.options.poll;
                self.follow(id, waiting, queue, pause).await;
            }
        }
    }

    /// Looks after a batch until the provider has done with it, or until nobody waits for it any more.
    async fn follow(self, id: String, mut waiting: Vec<Waiter>, mut queue: UnboundedReceiver<Waiter>, first: f64) {
        let key = self.key(Some(&id));
        let mut pause = self.options.poll;
        let mut next = Instant::now() + seconds(first);
        let mut failed = 0;
        let answers = loop {
            tokio::select! {
                biased;
                Some(joined) = queue.recv() => {
                    waiting.push(joined);
                    continue;
                }
                () = all_gone(&waiting) => {
                    self.client.batches().close(&key);
                    // Whoever has come in the same moment waits alone.
                    let Ok(joined) = queue.try_recv() else { return cancel(&self, &id).await };
                    waiting.push(joined);
                }
                () = sleep_until(next) => {}
            }
            match look(&self, &id, &waiting).await {
                Ok(Some(answers)) => break Ok(answers),
                Ok(None) => failed = 0,
                Err(failure) if failure.is_transient() && failed < FAILED_POLLS => failed += 1,
                Err(failure) => break Err(failure),
            }
            next = Instant::now() + seconds(pause);
            pause = (pause * GROWTH).min(self.options.longest_poll.max(self.options.poll));
        };
        self.client.batches().close(&key);
        while let Ok(late) = queue.try_recv() {
            waiting.push(late);
        }
        match answers {
            Ok(mut answers) => {
                for one in waiting {
                    let own = answers.known.remove(&one.ticket).unwrap_or_else(|| Err(answers.rest.clone()));
                    one.answer(own);
                }
            }
            Err(failure) => {
                let gone = failure.kind == FailureKind::NotFound;
                let message = format!("the batch {id} is not there any more");
                let failure = if gone { Failure::new(FailureKind::Server, message) } else { failure };
                fail(&waiting, &failure);
            }
        }
    }
}

fn fail(waiting: &[Waiter], failure: &Failure) {
    for one in waiting {
        one.answer(Err(failure.clone()));
    }
}

/// A pause, of a day at most.
fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))
}

/// Waits until nobody waits for an answer any more.
async fn all_gone(waiting: &[Waiter]) {
    for one in waiting {
        one.heard.closed().await;
    }
}

/// Requests in as few batches as the provider's limits allow.
fn parts(waiting: Vec<Waiter>, rules: &BatchRules) -> Vec<Vec<Waiter>> {
    let mut parts: Vec<Vec<Waiter>> = Vec::new();
    let mut bytes = 0;
    for one in waiting {
        // What stands around a request in a batch.
        let size = one.body.len() + one.ticket.len() + 128;
        bytes += size;
        match parts.last_mut() {
            Some(part) if part.len() < rules.requests && bytes <= rules.bytes => part.push(one),
            _ => {
                parts.push(vec![one]);
                bytes = size;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_models::batches::BatchForm;

    #[test]
    fn names_of_requests_are_those_that_providers_take() {
        assert_eq!(ticket("0123abcd", 7, 1), "0123abcd-7-1");
        for run in ["a run", "\u{e4}", &"x".repeat(100), "a.b", "a/b"] {
            let name = ticket(run, u64::MAX, u32::MAX);
            assert!(name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        }
        assert_ne!(ticket("a.b", 1, 1), ticket("a/b", 1, 1));
    }

    #[test]
    fn requests_are_parted_by_number_and_by_size() {
        let waiters = |sizes: &[usize]| -> Vec<Waiter> {
            let one =
                |size: &usize| Waiter { ticket: String::new(), body: "x".repeat(*size), heard: unbounded_channel().0 };
            sizes.iter().map(one).collect()
        };
        let rules = BatchRules { form: BatchForm::Openai, requests: 2, bytes: 1_000 };
        let sizes = |sizes| parts(waiters(sizes), &rules).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&[1, 1, 1]), [2, 1]);
        assert_eq!(sizes(&[500, 500, 1]), [1, 2]);
        assert_eq!(sizes(&[5_000]), [1], "one that is too large is the provider's to refuse");
        assert!(sizes(&[]).is_empty());
        assert_eq!(batches_of("openai").unwrap().requests, 50_000);
        assert_eq!(batches_of("ollama"), None);
    }
}
