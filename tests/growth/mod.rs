//! How the time that something takes grows with what it is given. No test says how long anything may take: machines differ, and
//! have other work. What takes the square of its input's length takes sixteen times as long for four times as much, on any of them.

use std::time::{Duration, Instant};

/// Panics if four times as much takes much more than four times as long. The shortest of several tries counts.
#[allow(clippy::disallowed_methods, reason = "the test has a clock, what it tests has none")]
pub(crate) fn grows_in_line(what: &str, small: usize, work: impl Fn(usize)) {
    let took = |size: usize| {
        let began = spent().ok_or_else(Instant::now);
        work(size);
        match began {
            Ok(began) => spent().unwrap_or_default().saturating_sub(began),
            Err(began) => began.elapsed(),
        }
    };
    let (mut less, mut more) = (Duration::MAX, Duration::MAX);
    for _ in 0..12 {
        less = less.min(took(small));
        more = more.min(took(small * 4));
        if more < less * 8 + Duration::from_millis(5) {
            return;
        }
    }
    panic!("{what:?}: {less:?} for {small}, {more:?} for four times as much");
}

/// The processor time of this thread, where the system tells it.
#[allow(clippy::disallowed_methods, reason = "the test reads how long it took, what it tests reads nothing")]
fn spent() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let spent = told.split(' ').next()?.parse().ok()?;
    (spent > 0).then(|| Duration::from_nanos(spent))
}
