//! The pace of requests to one host with one key: which of those that wait may be sent, and when the next may.
//!
//! There is no clock in here; whoever asks says what time it is, in seconds.
//!
//! A request counts from the moment it is sent until its answer has begun and a minute has passed since. Wherever in
//! between the server has counted it, no window of a minute there, fixed or sliding, ever holds more than the limit.
//! Tokens count from the sending until a minute after the end: some servers count an answer when it is whole.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::rate_headers::{Quota, Unit};
use loopwright_base::message::Usage;

/// The most that may be asked of a host with a key, by all runs of a process together; `None`: as much as one likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests that are under way at once.
    pub concurrency: Option<u64>,
    /// Requests of a minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens of a minute, of prompts and answers.
    pub tokens_per_minute: Option<u64>,
}

impl Limits {
    /// Both together: of each limit the smaller one.
    pub(super) fn and(self, other: Self) -> Self {
        let least = |one: Option<u64>, two: Option<u64>| one.into_iter().chain(two).min();
        Self {
            concurrency: least(self.concurrency, other.concurrency),
            requests_per_minute: least(self.requests_per_minute, other.requests_per_minute),
            tokens_per_minute: least(self.tokens_per_minute, other.tokens_per_minute),
        }
    }
}

/// A request that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The host, `name:port`.
    pub host: Arc<str>,
    /// The limit that it waits for: `concurrency`, `requests_per_minute`, `tokens_per_minute`; or `provider`, where the
    /// provider itself has said that nothing is left.
    pub reason: &'static str,
    /// Seconds that it waits at least, where that is known.
    pub seconds: Option<f64>,
}

/// The tokens that a request is expected to take of a minute's limit, known before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// The tokens of its prompt and of its answer.
    pub tokens: u64,
    /// Those that the host counts when the request arrives, where it counts then: as many must be left.
    pub arrival: u64,
    /// The limit of its answer, where the host counts that: a short answer gives nothing back.
    pub limit: u64,
}

/// The tokens that an answered request has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) prompt: u64,
    pub(super) answer: u64,
}

impl Spent {
    pub(super) fn of(usage: &Usage) -> Self {
        Self { prompt: usage.total().saturating_sub(usage.output), answer: usage.output }
    }
}

/// The reason where the provider itself wants it.
const PROVIDER: &str = "provider";
/// Seconds that a provider may ask for at most; a longer wait is a failure, about which a run decides.
const PATIENCE: f64 = 60.0;
/// Seconds after which a provider is asked again in any case: who raises a limit does not wait for a day.
const LONGEST: f64 = 300.0;
/// Seconds within which requests that count as one are the last of them: the log of a minute stays short.
const GRAIN: f64 = 0.01;

/// Amounts that count for a while after they were added.
#[derive(Debug, Default)]
struct Window {
    /// The times of the first and the last that stand together, and the amount.
    spent: VecDeque<(f64, f64, u64)>,
    sum: u64,
}

impl Window {
    fn add(&mut self, amount: u64, now: f64) {
        self.sum += amount;
        match self.spent.back_mut() {
            Some((first, last, sum)) if now - *first < GRAIN => (*last, *sum) = (now.max(*last), *sum + amount),
            _ => self.spent.push_back((now, now, amount)),
        }
    }

    /// Forgets what was added longer than `span` ago.
    fn forget(&mut self, span: f64, now: f64) {
        while let Some((_, last, amount)) = self.spent.front()
            && last + span <= now
        {
            self.sum -= amount;
            self.spent.pop_front();
        }
    }

    /// The time at which so much of it has been forgotten; `None` if there is not so much.
    fn less_by(&self, amount: u64, span: f64) -> Option<f64> {
        let mut left = amount;
        for (_, last, amount) in &self.spent {
            left = left.saturating_sub(*amount);
            if left == 0 {
                return Some(last + span);
            }
        }
        None
    }
}

/// The limit that keeps a request from being sent, and the time at which it no longer does; `None` where that is when
/// others are answered or end.
type Hold = (&'static str, Option<f64>);

/// What a provider has said of a model, and what has been sent to it since.
#[derive(Debug)]
struct Learned {
    quotas: Vec<Quota>,
    /// Nothing is sent before.
    until: f64,
    /// The most requests that may be unanswered. After a refusal it begins at one and grows with each answer, so that
    /// not all who waited are refused again.
    most: u64,
    /// Requests that were sent and not answered yet, and their tokens.
    requests: u64,
    tokens: u64,
}

impl Default for Learned {
    fn default() -> Self {
        Self { quotas: Vec::new(), until: 0.0, most: u64::MAX, requests: 0, tokens: 0 }
    }
}

impl Learned {
    /// What keeps a request from being sent.
    fn hold(&self, arrival: u64, now: f64) -> Option<Hold> {
        if now < self.until {
            return Some((PROVIDER, Some(self.until)));
        }
        if self.requests >= self.most {
            return Some((PROVIDER, None));
        }
        // What is there again much later is no limit of a minute: the provider's refusal says more than a guess.
        self.quotas.iter().filter(|quota| quota.until - now <= PATIENCE).find_map(|quota| {
            // What is larger than the whole limit goes alone.
            let (sent, wanted) = match quota.unit {
                Unit::Requests => (self.requests, 1),
                Unit::Tokens => (self.tokens, arrival.min(quota.limit.unwrap_or(u64::MAX)).max(1)),
            };
            let said = now < quota.until;
            let left = if said { quota.left } else { quota.limit? };
            match (sent, said) {
                _ if sent.saturating_add(wanted) <= left => None,
                (0, true) => Some((PROVIDER, Some(quota.until))),
                (0, false) => None,
                // Some of those that are not answered yet may have been counted already; their answers will say.
                _ => Some((PROVIDER, None)),
            }
        })
    }

    fn sent(&mut self, tokens: u64) {
        (self.requests, self.tokens) = (self.requests + 1, self.tokens + tokens);
    }

    fn heard(&mut self, tokens: u64) {
        (self.requests, self.tokens) = (self.requests.saturating_sub(1), self.tokens.saturating_sub(tokens));
    }
}

/// A request that was admitted.
#[derive(Debug)]
struct UnderWay {
    model: Arc<str>,
    tokens: u64,
    answered: bool,
}

#[derive(Debug)]
struct Queued {
    id: u64,
    model: Arc<str>,
    demand: Demand,
}

/// What has become of a request that waited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// It may be sent.
    Go,
    /// Its provider wants to be left alone for so many seconds, which is too long to wait here.
    Refused(f64),
}

/// The pace of requests to a host with a key.
#[derive(Debug)]
pub(super) struct Pace {
    /// Seconds of a minute, and a little more: clocks differ.
    span: f64,
    requests: Window,
    tokens: Window,
    under_way: BTreeMap<u64, UnderWay>,
    /// Of those under way: how many have no answer yet, and the tokens of all.
    unanswered: u64,
    reserved: u64,
    queue: VecDeque<Queued>,
    learned: BTreeMap<Arc<str>, Learned>,
    last: u64,
}

impl Pace {
    /// A pace whose minute has so many seconds.
    pub(super) fn new(minute: f64) -> Self {
        Self {
            span: minute * 1.001 + GRAIN,
            requests: Window::default(),
            tokens: Window::default(),
            under_way: BTreeMap::new(),
            unanswered: 0,
            reserved: 0,
            queue: VecDeque::new(),
            learned: BTreeMap::new(),
            last: 0,
        }
    }

    /// A request to `model` stands in line; its number.
    pub(super) fn ask(&mut self, model: &Arc<str>, demand: Demand) -> u64 {
        self.last += 1;
        self.queue.push_back(Queued { id: self.last, model: model.clone(), demand });
        self.last
    }

    /// The requests that wait no longer, in order, and the time at which the next may be one of them, where that is
    /// known: else it is when another one is answered or ends.
    pub(super) fn settle(&mut self, limits: Limits, now: f64) -> (Vec<(u64, Verdict)>, Option<f64>) {
        self.requests.forget(self.span, now);
        self.tokens.forget(self.span, now);
        let (mut settled, mut due, mut place) = (Vec::new(), None::<f64>, 0);
        // Models of which somebody is held: who is behind and asks less does not overtake.
        let mut held = Vec::<Arc<str>>::new();
        while let Some(queued) = self.queue.get(place) {
            let verdict = match self.held_by_provider(queued, now) {
                Some((_, Some(until))) if until - now > PATIENCE => Verdict::Refused(until - now),
                // Those behind it that ask other models may go.
                Some((_, until)) => {
                    due = due.into_iter().chain(until).reduce(f64::min);
                    if !held.contains(&queued.model) {
                        held.push(queued.model.clone());
                    }
                    place += 1;
                    continue;
                }
                None if held.contains(&queued.model) => {
                    place += 1;
                    continue;
                }
                None => match self.held_by_limits(queued.demand.tokens, 0, limits) {
                    Some((_, until)) => {
                        due = due.into_iter().chain(until).reduce(f64::min);
                        break;
                    }
                    None => Verdict::Go,
                },
            };
            let Some(Queued { id, model, demand: Demand { tokens, .. } }) = self.queue.remove(place) else { break };
            settled.push((id, verdict));
            if verdict == Verdict::Go {
                self.learned.entry(model.clone()).or_default().sent(tokens);
                (self.unanswered, self.reserved) = (self.unanswered + 1, self.reserved + tokens);
                self.under_way.insert(id, UnderWay { model, tokens, answered: false });
            }
        }
        (settled, due)
    }

    /// Whether no request waits for its turn.
    pub(super) fn is_free(&self) -> bool {
        self.queue.is_empty()
    }

    /// What a request that stands in line waits for.
    pub(super) fn hold(&self, id: u64, limits: Limits, now: f64) -> Option<Hold> {
        let place = self.queue.iter().position(|queued| queued.id == id)?;
        let held = |queued: &&Queued| self.held_by_provider(queued, now).is_some();
        let same = |queued: &&Queued| queued.model == self.queue[place].model;
        let in_front = || self.queue.iter().take(place).filter(same).any(|queued| held(&queued));
        let provider = self.held_by_provider(&self.queue[place], now);
        let provider = provider.or_else(|| in_front().then_some((PROVIDER, None)));
        let before = self.queue.iter().take(place).filter(|queued| self.held_by_provider(queued, now).is_none());
        let ahead = before.clone().count() as u64;
        let own = || self.held_by_limits(self.queue[place].demand.tokens, ahead, limits);
        // Those before it may be held by what would not hold this one.
        let others =
            || self.held_by_limits(before.clone().next()?.demand.tokens, 0, limits).map(|(why, _)| (why, None));
        match (provider, own().or_else(others)) {
            (Some((_, Some(said))), Some((limit, Some(until)))) if until >= said => Some((limit, Some(until))),
            (provider, own) => provider.or(own),
        }
    }

    fn held_by_provider(&self, queued: &Queued, now: f64) -> Option<Hold> {
        self.learned.get(&queued.model)?.hold(queued.demand.arrival, now)
    }

    /// What keeps a request of so many tokens from being sent, with so many before it in line.
    fn held_by_limits(&self, tokens: u64, ahead: u64, limits: Limits) -> Option<Hold> {
        if limits.concurrency.is_some_and(|most| self.under_way.len() as u64 + ahead >= most) {
            return Some(("concurrency", None));
        }
        let counted = self.requests.sum + self.unanswered + ahead;
        if let Some(most) = limits.requests_per_minute.filter(|most| counted >= *most) {
            // So many more must have been forgotten first, a window's worth at a time.
            let (windows, over) = ((counted - most) / most.max(1), (counted - most) % most.max(1));
            let first = self.requests.less_by(over + 1, self.span);
            return Some(("requests_per_minute", first.map(|first| first + windows as f64 * self.span)));
        }
        let used = self.tokens.sum + self.reserved;
        // One that is larger than the limit goes alone.
        if let Some(most) = limits.tokens_per_minute.filter(|most| used > 0 && used.saturating_add(tokens) > *most) {
            let over = used.saturating_add(tokens).saturating_sub(most).min(used);
            return Some(("tokens_per_minute", self.tokens.less_by(over, self.span)));
        }
        None
    }

    /// The answer to a request has begun, with what the provider says of what is left; `refused`: it was one too many,
    /// and the provider wants to be left alone for so many seconds.
    pub(super) fn answered(&mut self, id: u64, quotas: Vec<Quota>, refused: Option<f64>, now: f64) {
        let Some(sent) = self.under_way.get_mut(&id).filter(|sent| !sent.answered) else { return };
        sent.answered = true;
        self.unanswered -= 1;
        self.requests.add(1, now);
        let learned = self.learned.entry(sent.model.clone()).or_default();
        learned.heard(sent.tokens);
        if !quotas.is_empty() {
            learned.quotas = quotas;
        }
        match refused {
            Some(after) => {
                learned.most = 1;
                learned.until = learned.until.max(now + after.min(LONGEST));
            }
            None => learned.most = learned.most.saturating_add(1),
        }
    }

    /// A request has ended, or nobody waits for it any more; `sent`: it may have reached the provider. `used`: the
    /// tokens that it took in the end.
    pub(super) fn end(&mut self, id: u64, sent: bool, used: Option<u64>, now: f64) {
        self.queue.retain(|queued| queued.id != id);
        let Some(ended) = self.under_way.remove(&id) else { return };
        self.reserved -= ended.tokens;
        if !ended.answered {
            self.unanswered -= 1;
            self.learned.entry(ended.model).or_default().heard(ended.tokens);
        }
        if sent {
            self.requests.add(u64::from(!ended.answered), now);
            self.tokens.add(used.unwrap_or(ended.tokens), now);
        }
    }

    /// Whether it holds nothing that another one would not.
    pub(super) fn is_idle(&mut self, now: f64) -> bool {
        self.requests.forget(self.span, now);
        self.tokens.forget(self.span, now);
        let free = |known: &Learned| known.until <= now && known.quotas.iter().all(|quota| quota.until <= now);
        let empty = self.requests.spent.is_empty() && self.tokens.spent.is_empty();
        empty && self.queue.is_empty() && self.under_way.is_empty() && self.learned.values().all(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Limits = Limits { concurrency: None, requests_per_minute: None, tokens_per_minute: None };

    fn model(name: &str) -> Arc<str> {
        name.into()
    }

    fn takes(tokens: u64) -> Demand {
        Demand { tokens, ..Demand::default() }
    }

    fn went(settled: &(Vec<(u64, Verdict)>, Option<f64>)) -> Vec<u64> {
        settled
            .0
            .iter()
            .map(|(id, verdict)| (*verdict == Verdict::Go).then_some(*id).expect("none is refused"))
            .collect()
    }

    fn quota(unit: Unit, left: u64, limit: u64, until: f64) -> Quota {
        Quota { unit, left, limit: Some(limit), until }
    }

    /// Runs of some requests each, in a world whose clock is a number: when each request arrived at the provider, with
    /// its tokens, the most that were under way at once, and when all was over.
    fn simulate(runs: usize, rounds: usize, tokens: u64, limits: Limits) -> (Vec<(f64, u64)>, usize, f64) {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        enum Happens {
            Ask { rounds: usize },
            Arrive,
            Answer { id: u64 },
            End { id: u64, rounds: usize },
            Look,
        }
        let (mut pace, name) = (Pace::new(60.0), model("m"));
        let mut seed = 7_u64;
        let mut random = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        // By microseconds, and the order in which they were foreseen.
        let mut future = BTreeMap::new();
        let mut foreseen = 0..;
        let mut foresee = |future: &mut BTreeMap<_, _>, at: u64, what| {
            future.insert((at, foreseen.next().unwrap_or(u64::MAX)), what);
        };
        let mut left = BTreeMap::new();
        for _ in 0..runs {
            foresee(&mut future, random(3_000_000), Happens::Ask { rounds });
        }
        let (mut arrived, mut under_way, mut most, mut end) = (Vec::new(), 0, 0, 0.0);
        let mut alarm = None;
        while let Some(((at, _), what)) = future.pop_first() {
            let now = at as f64 / 1e6;
            match what {
                Happens::Ask { rounds } => {
                    left.insert(pace.ask(&name, takes(tokens)), rounds);
                }
                Happens::Arrive => arrived.push((now, tokens)),
                Happens::Answer { id } => pace.answered(id, Vec::new(), None, now),
                Happens::End { id, rounds } => {
                    (under_way, end) = (under_way - 1, now);
                    pace.end(id, true, None, now);
                    if rounds > 1 {
                        foresee(&mut future, at + random(1_000_000), Happens::Ask { rounds: rounds - 1 });
                    }
                }
                Happens::Look => {}
            }
            let settled = pace.settle(limits, now);
            for id in went(&settled) {
                under_way += 1;
                most = most.max(under_way);
                let arrive = at + random(2_000_000);
                let answer = arrive + random(4_000_000);
                foresee(&mut future, arrive, Happens::Arrive);
                foresee(&mut future, answer, Happens::Answer { id });
                foresee(&mut future, answer + random(8_000_000), Happens::End { id, rounds: left[&id] });
            }
            if let Some(due) = settled.1.filter(|due| alarm != Some(*due)) {
                alarm = Some(due);
                foresee(&mut future, ((due * 1e6).ceil() as u64).max(at + 1), Happens::Look);
            }
        }
        assert_eq!(arrived.len(), runs * rounds, "all of them are sent, and none twice");
        (arrived, most, end)
    }

    /// The most that arrives in any minute, and in any of the minutes of any clock.
    fn busiest(arrived: &[(f64, u64)], amount: impl Fn(u64) -> u64) -> u64 {
        let within = |from: f64| arrived.iter().filter(move |(at, _)| (from..from + 60.0).contains(at));
        let sum = |from: f64| within(from).map(|(_, tokens)| amount(*tokens)).sum::<u64>();
        let sliding = arrived.iter().map(|(at, _)| sum(*at)).max();
        let fixed =
            (0..60).flat_map(|phase| (0..60).map(move |n| f64::from(phase) + 60.0 * f64::from(n))).map(sum).max();
        sliding.max(fixed).unwrap_or_default()
    }

    #[test]
    fn a_thousand_runs_against_sixty_a_minute_are_never_one_too_many() {
        let limits = Limits { requests_per_minute: Some(60), ..NONE };
        let (arrived, _, end) = simulate(1_000, 1, 0, limits);
        assert!(busiest(&arrived, |_| 1) <= 60, "{}", busiest(&arrived, |_| 1));
        assert!(end < 1_000.0 / 60.0 * 67.0, "and little of what may be sent is not: {end}");
        let (arrived, ..) = simulate(70, 4, 0, limits);
        assert!(busiest(&arrived, |_| 1) <= 60);
        for most in [1, 2, 7] {
            let (arrived, ..) = simulate(25, 1, 0, Limits { requests_per_minute: Some(most), ..NONE });
            assert!(busiest(&arrived, |_| 1) <= most, "{most}");
        }
    }

    #[test]
    fn tokens_and_what_is_under_way_are_limited_as_well() {
        let limits = Limits { tokens_per_minute: Some(10_000), concurrency: Some(5), ..NONE };
        let (arrived, most, _) = simulate(150, 2, 900, limits);
        assert!(busiest(&arrived, |tokens| tokens) <= 10_000);
        assert_eq!(most, 5);
        let (arrived, ..) = simulate(5, 1, 20_000, limits);
        assert!(busiest(&arrived, |_| 1) <= 1, "what is larger than the limit goes alone");
    }

    #[test]
    fn whoever_came_first_goes_first_and_a_place_that_is_left_is_free() {
        let (mut pace, name) = (Pace::new(60.0), model("m"));
        let limits = Limits { concurrency: Some(2), ..NONE };
        let ids: Vec<u64> = (0..6).map(|_| pace.ask(&name, takes(0))).collect();
        assert_eq!(went(&pace.settle(limits, 0.0)), ids[..2]);
        assert_eq!(pace.hold(ids[5], limits, 0.0), Some(("concurrency", None)));
        // The third leaves while it waits; the first was never sent, the second breaks off.
        pace.end(ids[2], false, None, 1.0);
        pace.end(ids[0], false, None, 1.0);
        assert_eq!(went(&pace.settle(limits, 1.0)), ids[3..4]);
        pace.answered(ids[1], Vec::new(), None, 2.0);
        assert!(went(&pace.settle(limits, 2.0)).is_empty(), "an answer that streams is under way");
        pace.end(ids[1], true, None, 2.0);
        assert_eq!(went(&pace.settle(limits, 2.0)), ids[4..5]);
        pace.end(ids[3], true, None, 3.0);
        pace.end(ids[4], true, None, 3.0);
        assert_eq!(went(&pace.settle(NONE, 3.0)), ids[5..], "nobody limits it any more");
        assert!(!pace.is_idle(3.0));
        pace.end(ids[5], false, None, 3.0);
        assert!(!pace.is_idle(62.0) && pace.is_idle(64.0));
        assert_eq!((pace.unanswered, pace.reserved), (0, 0));
    }

    #[test]
    fn how_long_it_takes_is_said_where_it_is_known() {
        let (mut pace, name) = (Pace::new(60.0), model("m"));
        let limits = Limits { requests_per_minute: Some(2), ..NONE };
        let ids: Vec<u64> = (0..7).map(|_| pace.ask(&name, takes(0))).collect();
        assert_eq!(went(&pace.settle(limits, 0.0)), ids[..2]);
        assert_eq!(pace.hold(ids[2], limits, 0.0), Some(("requests_per_minute", None)), "they are not answered yet");
        pace.answered(ids[0], Vec::new(), None, 1.0);
        pace.answered(ids[1], Vec::new(), None, 3.0);
        assert_eq!(pace.settle(limits, 3.0), (vec![], Some(1.0 + pace.span)));
        let waits = |place: usize| pace.hold(ids[place], limits, 3.0).unwrap().1.unwrap();
        for (place, began, windows) in [(2, 1.0, 1.0), (4, 1.0, 2.0), (5, 3.0, 2.0)] {
            assert!((waits(place) - began - windows * pace.span).abs() < 1e-9, "{place}");
        }
        // What is used in the end stands in place of what was set aside.
        let limits = Limits { tokens_per_minute: Some(1_000), ..NONE };
        let mut pace = Pace::new(60.0);
        let (one, two, three) = (pace.ask(&name, takes(800)), pace.ask(&name, takes(800)), pace.ask(&name, takes(100)));
        assert_eq!(went(&pace.settle(limits, 0.0)), [one]);
        assert_eq!(pace.hold(two, limits, 0.0), Some(("tokens_per_minute", None)));
        assert_eq!(pace.hold(three, limits, 0.0), Some(("tokens_per_minute", None)), "it waits behind the other");
        pace.end(one, true, Some(150), 2.0);
        assert_eq!(went(&pace.settle(limits, 2.0)), [two]);
    }

    #[test]
    fn a_refusal_holds_all_that_ask_the_model_and_lets_them_go_little_by_little() {
        let (mut pace, one, other) = (Pace::new(60.0), model("m at h"), model("n at h"));
        let first = pace.ask(&one, takes(0));
        assert_eq!(went(&pace.settle(NONE, 0.0)), [first]);
        pace.answered(first, Vec::new(), Some(20.0), 1.0);
        pace.end(first, true, None, 1.0);
        let ids: Vec<u64> = (0..4).map(|_| pace.ask(&one, takes(0))).collect();
        let apart = pace.ask(&other, takes(0));
        assert_eq!(pace.settle(NONE, 1.0), (vec![(apart, Verdict::Go)], Some(21.0)));
        assert_eq!(pace.hold(ids[3], NONE, 1.0), Some(("provider", Some(21.0))));
        assert_eq!(went(&pace.settle(NONE, 21.0)), ids[..1]);
        pace.answered(ids[0], Vec::new(), None, 22.0);
        assert_eq!(went(&pace.settle(NONE, 22.0)), ids[1..3]);
        pace.answered(ids[1], Vec::new(), Some(0.0), 23.0);
        pace.answered(ids[2], Vec::new(), Some(61.0), 23.0);
        let far = pace.ask(&one, takes(0));
        let refused = |id| (id, Verdict::Refused(61.0));
        assert_eq!(pace.settle(NONE, 23.0), (vec![refused(ids[3]), refused(far)], None), "that is for a run to decide");
    }

    #[test]
    fn what_a_provider_says_is_left_is_not_asked_for_twice() {
        let (mut pace, name) = (Pace::new(60.0), model("m"));
        let first = pace.ask(&name, takes(0));
        pace.settle(NONE, 0.0);
        pace.answered(first, vec![quota(Unit::Requests, 2, 3, 30.0), quota(Unit::Tokens, 0, 9, 86_400.0)], None, 1.0);
        let ids: Vec<u64> = (0..9).map(|_| pace.ask(&name, takes(0))).collect();
        assert_eq!(went(&pace.settle(NONE, 1.0)), ids[..2], "two are left, and what comes back tomorrow holds nobody");
        pace.answered(ids[0], vec![quota(Unit::Requests, 1, 3, 30.0)], None, 2.0);
        assert_eq!(pace.settle(NONE, 2.0), (vec![], None), "the other may be that one");
        pace.answered(ids[1], vec![quota(Unit::Requests, 0, 3, 30.0)], None, 3.0);
        assert_eq!(pace.settle(NONE, 3.0), (vec![], Some(30.0)));
        assert_eq!(went(&pace.settle(NONE, 30.0)), ids[2..5], "all of it is there again");
    }

    #[test]
    fn what_is_left_must_hold_all_that_counts_on_arrival() {
        let (mut pace, name) = (Pace::new(60.0), model("m"));
        let counts = |tokens: u64| Demand { tokens, arrival: tokens, limit: 0 };
        let first = pace.ask(&name, counts(100));
        pace.settle(NONE, 0.0);
        pace.answered(first, vec![quota(Unit::Tokens, 250, 1_000, 30.0)], None, 1.0);
        let ids = [200, 100, 5_000, 400].map(|tokens| pace.ask(&name, counts(tokens)));
        assert_eq!(went(&pace.settle(NONE, 1.0)), ids[..1], "the next one may not fit beside the first");
        pace.answered(ids[0], vec![quota(Unit::Tokens, 50, 1_000, 30.0)], None, 2.0);
        assert_eq!(pace.settle(NONE, 2.0), (vec![], Some(30.0)), "less is left than any takes");
        assert_eq!(went(&pace.settle(NONE, 30.0)), ids[1..2], "what is larger than all of it goes alone");
        assert_eq!(pace.hold(ids[3], NONE, 30.0), Some((PROVIDER, None)), "and nobody overtakes it");
        pace.answered(ids[1], vec![quota(Unit::Tokens, 900, 1_000, 60.0)], None, 31.0);
        assert_eq!(pace.settle(NONE, 31.0), (vec![], Some(60.0)));
        assert_eq!(went(&pace.settle(NONE, 60.0)), ids[2..3]);
        pace.answered(ids[2], vec![quota(Unit::Tokens, 500, 1_000, 90.0)], None, 61.0);
        assert_eq!(went(&pace.settle(NONE, 61.0)), ids[3..]);
    }

    #[test]
    fn the_log_of_a_minute_stays_short_and_two_limits_are_the_smaller() {
        let mut window = Window::default();
        for millisecond in 0..120_000 {
            let now = f64::from(millisecond) / 1e3;
            window.forget(60.0, now);
            window.add(5, now);
        }
        assert!(window.spent.len() <= 6_001 && (300_000..301_000).contains(&window.sum), "{}", window.sum);
        let one = Limits { concurrency: Some(4), requests_per_minute: Some(60), ..NONE };
        let two = Limits { requests_per_minute: Some(30), tokens_per_minute: Some(9), ..NONE };
        let both = Limits { concurrency: Some(4), requests_per_minute: Some(30), tokens_per_minute: Some(9) };
        assert_eq!((one.and(two), two.and(one), one.and(NONE)), (both, both, one));
    }
}
