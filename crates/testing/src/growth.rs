//! How the time that something takes grows with what it is given. No test says how long anything may take: machines differ, and
//! have other work. What takes the square of its input's length takes sixteen times as long for four times as much, on any of them.

use std::time::Duration;

use cpu_time::ThreadTime;

/// Panics if four times as much takes much more than four times as long, by the processor time of this thread. The shortest of
/// several tries counts.
///
/// # Panics
/// If it does in each of twelve tries.
pub fn grows_in_line(what: &str, small: usize, work: impl Fn(usize)) {
    let took = |size: usize| {
        let began = ThreadTime::now();
        work(size);
        began.elapsed()
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
