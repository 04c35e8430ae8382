//! Limits of the server: which requests are one too many, and what the headers of providers say of that.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::script::Rates;
use loopwright_base::message::Wire;
use loopwright_lexicon::months::date_of;

/// The requests that count now. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct Counter(Arc<Mutex<Counted>>);

#[derive(Debug)]
struct Counted {
    rates: Rates,
    began: Instant,
    /// When those of this minute arrived.
    arrived: VecDeque<Instant>,
    under_way: usize,
    refused: usize,
}

/// A request that was counted, under way until this is dropped; what is left beside it.
#[derive(Debug)]
pub(super) struct Arrival {
    counter: Counter,
    /// The request is not one too many, and so under way.
    pub(super) accepted: bool,
    /// Of the requests of a minute: all, and how many are left.
    requests: Option<(usize, usize)>,
    /// Until all of them are there again.
    reset: Duration,
    /// Until one is there again.
    again: Duration,
}

impl Counter {
    pub(super) fn new(rates: Rates) -> Self {
        let counted = Counted { rates, began: Instant::now(), arrived: VecDeque::new(), under_way: 0, refused: 0 };
        Self(Arc::new(Mutex::new(counted)))
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that were one too many.
    pub(super) fn refused(&self) -> usize {
        self.lock().refused
    }

    /// Counts a request that arrives now.
    pub(super) fn arrive(&self) -> Arrival {
        let (mut counted, now) = (self.lock(), Instant::now());
        let Rates { concurrency, requests_per_minute, minute, fixed, silent } = counted.rates;
        let minute = Duration::from_secs_f64(minute.clamp(1e-3, 1e6));
        // A minute that follows others began a whole number of them ago.
        let began = Duration::from_secs_f64((now - counted.began).as_secs_f64() % minute.as_secs_f64());
        while counted.arrived.front().is_some_and(|at| now - *at >= if fixed { began } else { minute }) {
            counted.arrived.pop_front();
        }
        let fits = requests_per_minute.is_none_or(|most| counted.arrived.len() < most);
        let accepted = fits && concurrency.is_none_or(|most| counted.under_way < most);
        if accepted {
            counted.arrived.push_back(now);
            counted.under_way += 1;
        } else {
            counted.refused += 1;
        }
        let until = |at: Option<&Instant>| at.map_or(Duration::ZERO, |at| minute.saturating_sub(now - *at));
        let end = minute.saturating_sub(began);
        let (reset, again) = match (fixed, fits) {
            (true, _) => (end, end),
            (false, true) => (until(counted.arrived.back()), Duration::ZERO),
            (false, false) => (until(counted.arrived.back()), until(counted.arrived.front())),
        };
        let requests =
            requests_per_minute.filter(|_| !silent).map(|most| (most, most.saturating_sub(counted.arrived.len())));
        drop(counted);
        Arrival { counter: self.clone(), accepted, requests, reset, again }
    }
}

impl Arrival {
    /// The headers that tell of it.
    pub(super) fn headers(&self, wire: Wire) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if let Some((most, left)) = self.requests {
            let name = |part: &str| match wire {
                Wire::Anthropic => format!("anthropic-ratelimit-requests-{part}"),
                _ => format!("x-ratelimit-{part}-requests"),
            };
            let reset = if wire == Wire::Anthropic { date_in(self.reset) } else { length(self.reset) };
            headers.extend([
                (name("limit"), most.to_string()),
                (name("remaining"), left.to_string()),
                (name("reset"), reset),
            ]);
        }
        if !self.accepted {
            headers.push(("retry-after".to_owned(), self.again.as_secs_f64().ceil().to_string()));
            headers.push(("retry-after-ms".to_owned(), (self.again.as_millis() + 1).to_string()));
        }
        headers
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if self.accepted {
            self.counter.lock().under_way -= 1;
        }
    }
}

/// A length as OpenAI writes it: `6m0s`, `1.5s`, `20ms`.
fn length(time: Duration) -> String {
    match time.as_millis() + 1 {
        milliseconds @ 0..1_000 => format!("{milliseconds}ms"),
        milliseconds @ 1_000..60_000 => format!("{}s", milliseconds as f64 / 1e3),
        milliseconds => format!("{}m{}s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
    }
}

/// The date in so long, as Anthropic writes it.
fn date_in(time: Duration) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + time + Duration::from_millis(1);
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date_of(i64::try_from(days).unwrap_or_default());
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}
