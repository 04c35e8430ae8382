//! `stems`: lines to their terms, for `pack.py`. `drift`: pairs of requests, separated by a tab, to their scores.
//! `speed`: how long each sense takes, and on how long a text.

use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use std::time::Instant;

use loopwright_lexicon::words;
use loopwright_monitor::{drift::{DriftPolicy, GoalDrift}, intent::{SUB_AGENTS, assess_intent}, next_step::next_step, signals::signals};

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    match std::env::args().nth(1).as_deref() {
        Some("stems") => {
            for line in stdin().lock().lines() {
                writeln!(out, "{}", words::terms(&line?).join(" "))?;
            }
        }
        Some("drift") => {
            for line in stdin().lock().lines() {
                let line = line?;
                let (before, after) = line.split_once('\t').unwrap_or((&line, ""));
                if let Ok(mut drift) = GoalDrift::new(before, DriftPolicy::default()) {
                    let seen = drift.observe(after);
                    let announced: f32 = seen.phrases.iter().map(|phrase| phrase.weight).sum();
                    writeln!(out, "{} {} {} {announced}", seen.anchor, seen.state.name(), seen.evidence)?;
                }
            }
        }
        Some("speed") => {
            let reply = "I looked at the parser: the index starts at 1, not at 0. I've updated `parse` and added a test, but two \
                of the old tests still fail. Let me look at the fixtures and run them again.";
            let request = "Find where the session tokens are refreshed in src/auth, fix the race between two refreshes, and then add a \
                test that fails without the fix.";
            let goal = "Refactor the authentication module to use signed tokens";
            for times in [1, 10, 100, 1_000, 10_000] {
                let reply = format!("{reply}\n\n").repeat(times);
                let request = format!("{request} ").repeat(times);
                let mut drift = GoalDrift::new(goal, DriftPolicy::default()).map_err(std::io::Error::other)?;
                writeln!(
                    out,
                    "{:>8} bytes: next_step {:>8.1} us, signals {:>8.1} us, assess_intent {:>8.1} us, observe {:>8.1} us",
                    reply.len(),
                    timed(|| next_step(&reply)),
                    timed(|| signals(&reply)),
                    timed(|| assess_intent(&request, &[], &SUB_AGENTS)),
                    timed(|| drift.observe(&request)),
                )?;
            }
        }
        _ => eprintln!("stems | drift | speed"),
    }
    Ok(())
}

/// The median of some runs, in microseconds.
fn timed<T>(mut work: impl FnMut() -> T) -> f64 {
    std::hint::black_box(work());
    let mut all: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[50]
}
