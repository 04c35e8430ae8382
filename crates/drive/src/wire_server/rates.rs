//! Limits of the server: which requests are one too many, and what the headers of providers say of that.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::script::{Answer, Rates, Reply};
use loopwright_base::{json::Fields, message::Wire};
use loopwright_lexicon::months::date_of;
use loopwright_tokens::o200k_base;

/// The members of a body that are its prompt, whatever its wire.
const PROMPT: [&str; 8] =
    ["tools", "toolConfig", "system", "systemInstruction", "instructions", "messages", "input", "contents"];
/// Those that hold the limit of its answer.
const LIMITS: [&str; 4] = ["max_completion_tokens", "max_tokens", "max_output_tokens", "inferenceConfig"];

/// The requests that count now. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct Counter(Arc<Mutex<Counted>>);

#[derive(Debug)]
struct Counted {
    rates: Rates,
    began: Instant,
    /// When those of this minute arrived.
    arrived: VecDeque<Instant>,
    /// The tokens of this minute, and when they were counted.
    spent: VecDeque<(Instant, u64)>,
    under_way: usize,
    refused: usize,
}

/// A request that was counted, under way until this is dropped; what is left beside it.
#[derive(Debug)]
pub(super) struct Arrival {
    counter: Counter,
    /// The request is not one too many, and so under way.
    pub(super) accepted: bool,
    requests: Option<Level>,
    /// Until one is there again.
    again: Duration,
}

/// The state of one limit of the server: its size, its rest, and when the whole is there again.
#[derive(Clone, Copy, Debug)]
struct Level {
    most: u64,
    left: u64,
    /// Until all of it is there again.
    reset: Duration,
}

/// The tokens that a request takes of a minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    wire: Wire,
    /// Tokens of the prompt.
    input: u64,
    /// Tokens that are taken when the request arrives.
    first: u64,
}

/// A request that was refused for its tokens: what its answer says, and the headers.
#[derive(Debug)]
pub(super) struct TooManyTokens {
    pub(super) words: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Taken {
    /// The tokens of a request. `OpenAI` and Azure count the answer by its limit, Bedrock begins with that
    /// (<https://platform.openai.com/docs/guides/rate-limits>,
    /// <https://learn.microsoft.com/azure/ai-foundry/openai/how-to/quota>,
    /// <https://docs.aws.amazon.com/bedrock/latest/userguide/quotas-token-burndown.html>).
    pub(super) fn of(wire: Wire, fields: &Fields) -> Self {
        let encoding = o200k_base();
        let parts = PROMPT.iter().filter_map(|key| fields.get(key));
        let input = parts.map(|part| encoding.count(part.text()) as u64).sum();
        let number = |key: &&str| {
            let value: serde_json::Value = serde_json::from_str(fields.get(key)?.text()).ok()?;
            value.get("maxTokens").unwrap_or(&value).as_u64()
        };
        let counts = !matches!(wire, Wire::Anthropic | Wire::Gemini);
        let limit = LIMITS.iter().filter(|_| counts).find_map(number);
        Self { wire, input, first: input + limit.unwrap_or_default() }
    }

    /// The tokens once the answer is known. Gemini counts prompts alone
    /// (<https://ai.google.dev/gemini-api/docs/rate-limits>); `OpenAI` gives nothing back.
    fn in_the_end(self, input: u64, output: u64) -> u64 {
        match self.wire {
            Wire::Gemini => input,
            Wire::Anthropic | Wire::Bedrock => input + output,
            Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Offline => self.first.max(input + output),
        }
    }
}

impl Counter {
    pub(super) fn new(rates: Rates) -> Self {
        let counted = Counted {
            rates,
            began: Instant::now(),
            arrived: VecDeque::new(),
            spent: VecDeque::new(),
            under_way: 0,
            refused: 0,
        };
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
        let Rates { concurrency, requests_per_minute, fixed, silent, .. } = counted.rates;
        let (minute, end) = counted.forget(now);
        let fits = requests_per_minute.is_none_or(|most| counted.arrived.len() < most);
        let accepted = fits && concurrency.is_none_or(|most| counted.under_way < most);
        if accepted {
            counted.arrived.push_back(now);
            counted.under_way += 1;
        } else {
            counted.refused += 1;
        }
        let until = |at: Option<&Instant>| at.map_or(Duration::ZERO, |at| minute.saturating_sub(now - *at));
        let (reset, again) = match (fixed, fits) {
            (true, _) => (end, end),
            (false, true) => (until(counted.arrived.back()), Duration::ZERO),
            (false, false) => (until(counted.arrived.back()), until(counted.arrived.front())),
        };
        let requests = requests_per_minute.filter(|_| !silent).map(|most| Level {
            most: most as u64,
            left: most.saturating_sub(counted.arrived.len()) as u64,
            reset,
        });
        drop(counted);
        Arrival { counter: self.clone(), accepted, requests, again }
    }
}

impl Counted {
    /// Forgets what is of no minute that still counts; how long a minute is, and until the next one begins.
    fn forget(&mut self, now: Instant) -> (Duration, Duration) {
        let Rates { minute, fixed, .. } = self.rates;
        let minute = Duration::from_secs_f64(minute.clamp(1e-3, 1e6));
        // A minute that follows others began a whole number of them ago.
        let began = Duration::from_secs_f64((now - self.began).as_secs_f64() % minute.as_secs_f64());
        let over = |at: Instant| now.saturating_duration_since(at) >= if fixed { began } else { minute };
        while self.arrived.front().is_some_and(|at| over(*at)) {
            self.arrived.pop_front();
        }
        while self.spent.front().is_some_and(|(at, _)| over(*at)) {
            self.spent.pop_front();
        }
        (minute, minute.saturating_sub(began))
    }

    /// Has what was taken last as `first` count as `end` tokens. What is more counts from now.
    fn correct(&mut self, first: u64, end: u64) {
        if let Some((_, tokens)) = self.spent.iter_mut().rev().find(|(_, tokens)| *tokens == first) {
            *tokens = first.min(end);
        }
        if end > first {
            self.spent.push_back((Instant::now(), end - first));
        }
    }

    /// Tokens that were taken of this minute.
    fn sum(&self) -> u64 {
        self.spent.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The state of the limit of tokens, and how long it takes until `wanted` of them are there.
    fn tokens(&mut self, most: u64, wanted: u64) -> (Level, Duration) {
        let now = Instant::now();
        let ((minute, end), fixed) = (self.forget(now), self.rates.fixed);
        let until = |at: &Instant| if fixed { end } else { minute.saturating_sub(now - *at) };
        let mut left = most.saturating_sub(self.sum());
        let reset = self.spent.back().map_or(Duration::ZERO, |(at, _)| until(at));
        let level = Level { most, left, reset };
        let mut again = Duration::ZERO;
        for (at, tokens) in &self.spent {
            if left >= wanted {
                break;
            }
            (left, again) = (left + tokens, until(at));
        }
        (level, again)
    }
}

impl Arrival {
    /// The headers that tell of its requests.
    pub(super) fn headers(&self, wire: Wire) -> Vec<(String, String)> {
        let mut headers = self.requests.map(|level| headers_of(wire, "requests", level)).unwrap_or_default();
        if !self.accepted {
            headers.extend(come_again(self.again));
        }
        headers
    }

    /// Takes the tokens of a request; `None` where nobody counts them.
    pub(super) fn take(&self, wire: Wire, fields: &Fields) -> Result<Option<Taken>, TooManyTokens> {
        let Some(most) = self.counter.lock().rates.tokens_per_minute else { return Ok(None) };
        let taken = Taken::of(wire, fields);
        let mut counted = self.counter.lock();
        let (level, again) = counted.tokens(most, taken.first);
        if taken.first > level.left {
            counted.refused += 1;
            let silent = counted.rates.silent;
            drop(counted);
            let mut headers = if silent { Vec::new() } else { token_headers(wire, level) };
            headers.extend(come_again(again));
            let (used, first, seconds) = (most - level.left, taken.first, again.as_secs_f64());
            let words = match wire {
                Wire::Bedrock => "Too many tokens, please wait before trying again.".to_owned(),
                _ => format!(
                    "Rate limit reached on tokens per min (TPM): Limit {most}, Used {used}, Requested {first}. \
                     Please try again in {seconds:.3}s."
                ),
            };
            return Err(TooManyTokens { words, headers });
        }
        counted.spent.push_back((Instant::now(), taken.first));
        drop(counted);
        Ok(Some(taken))
    }

    /// The reply to a request, with a usage that says what was counted, where its script says nothing else; and the
    /// headers that tell of its tokens.
    pub(super) fn settle(&self, taken: Taken, mut reply: Reply) -> (Reply, Vec<(String, String)>) {
        let mut counted = self.counter.lock();
        if let Some(mut response) = reply.answer.response() {
            if !matches!(reply.answer, Answer::Message(_)) {
                response.usage.input = taken.input;
            }
            let (output, total) = (response.usage.output, response.usage.total());
            let end = taken.in_the_end(total.saturating_sub(output), output);
            // A refusal of the script has no answer.
            if reply.fault.is_none() {
                counted.correct(taken.first, end);
            }
            reply.answer = Answer::Message(Box::new(response));
        }
        let Rates { tokens_per_minute, silent, .. } = counted.rates;
        let level = counted.tokens(tokens_per_minute.unwrap_or(u64::MAX), 0).0;
        drop(counted);
        (reply, if silent { Vec::new() } else { token_headers(taken.wire, level) })
    }
}

fn headers_of(wire: Wire, unit: &str, level: Level) -> Vec<(String, String)> {
    let name = |part: &str| match wire {
        Wire::Anthropic => format!("anthropic-ratelimit-{unit}-{part}"),
        _ => format!("x-ratelimit-{part}-{unit}"),
    };
    let reset = if wire == Wire::Anthropic { date_in(level.reset) } else { length(level.reset) };
    let Level { most, left, .. } = level;
    vec![(name("limit"), most.to_string()), (name("remaining"), left.to_string()), (name("reset"), reset)]
}

/// The headers that tell of tokens. Anthropic counts those of prompts and of answers apart, and tells of the tighter
/// limit as `tokens`; here one is for both.
fn token_headers(wire: Wire, level: Level) -> Vec<(String, String)> {
    let units: &[&str] =
        if wire == Wire::Anthropic { &["tokens", "input-tokens", "output-tokens"] } else { &["tokens"] };
    units.iter().flat_map(|unit| headers_of(wire, unit, level)).collect()
}

fn come_again(time: Duration) -> [(String, String); 2] {
    let milliseconds = time.as_millis() + 1;
    [
        ("retry-after".to_owned(), time.as_secs_f64().ceil().to_string()),
        ("retry-after-ms".to_owned(), milliseconds.to_string()),
    ]
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
