//! How the time that something takes grows with what it is given. No test says how long anything may take: machines
//! differ, and have other work. What takes the square of its input's length takes sixteen times as long for four times
//! as much, on any of them.

use std::time::Duration;

use cpu_time::ThreadTime;

/// Compares how long `work` takes for `small` and for four times as much, by the processor time of this thread.
///
/// # Panics
/// If the larger takes much more than four times as long, by the shortest of twelve tries.
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
