//! `stems`: lines to their terms, for `pack.py`. `drift`: pairs of requests, separated by a tab, to their scores.
//! `speed`: how long each sense takes, and on how long a text.

use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use loopwright::core::{
    retrieve::words,
    sense::drift::{DriftPolicy, GoalDrift},
};

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
        _ => eprintln!("stems | drift | speed"),
    }
    Ok(())
}
