//! Tool output that stands there twice: whole results, and lines that a later result repeats.
//!
//! The newest copy stays and older ones refer to it, so that what is kept is what the model saw last. A run of repeated
//! lines is worth a reference only where the note is shorter than the run.

use std::{collections::HashMap, ops::Range};

use xxhash_rust::xxh3::xxh3_64;

use super::{
    fold::lines_of,
    pace::Hand,
    pairs::Placed,
    terms::Set,
    units::{Kind, Unit},
};
use loopwright_base::message::{Block, ToolResult};

/// Shorter lines do not make a reference by themselves.
const LINE: usize = 12;
/// Shorter runs of lines are cheaper to keep than to refer to.
const RUN: usize = 72;
/// Two results of the same call are the same thing read twice if this share of lines is.
const SUPERSEDED: f64 = 0.5;

/// What a result has in common with later ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Nothing.
    #[default]
    Nothing,
    /// A later result says the very same.
    Whole,
    /// The same call was made again, with much the same result.
    Superseded,
    /// These lines stand in later results.
    Lines(Vec<Range<usize>>),
}

/// The repeats of every result, by message and block; `None` for messages without any.
pub(super) type Table = Vec<Option<Box<[(Repeats, usize)]>>>;

/// The only text of a result, where it has one that may be edited.
pub(super) fn only_text(result: &ToolResult) -> Option<&str> {
    match result.content.as_slice() {
        [Block::Text(text)] => Some(&text.text),
        _ => None,
    }
}

/// Compares every result with those after it. Gives the repeats and how many bytes they save.
pub(super) async fn repeats(messages: &[Placed], units: &[Unit], attention: usize, hand: &mut impl Hand) -> Table {
    let mut table: Table = vec![None; messages.len()];
    let oldest = messages.len().saturating_sub(attention);
    let (mut texts, mut calls, mut lines) = (Set::default(), Set::default(), Set::default());
    let mut hashes: Vec<u64> = Vec::new();
    for unit in units.iter().rev().filter(|unit| unit.kind == Kind::Exchange) {
        if unit.messages.start < oldest {
            break;
        }
        let mut made: HashMap<&str, u64> = HashMap::new();
        let mut work = 150;
        for placed in messages.get(unit.messages.clone()).into_iter().flatten() {
            for call in placed.message.tool_uses() {
                made.insert(&call.id, xxh3_64(call.arguments_text().as_bytes()) ^ xxh3_64(call.name.as_bytes()));
            }
        }
        for index in unit.messages.clone().rev() {
            let Some(placed) = messages.get(index) else { continue };
            if placed.message.tool_results().next().is_none() {
                continue;
            }
            let mut row: Vec<(Repeats, usize)> = vec![(Repeats::Nothing, 0); placed.message.content.len()];
            for (at, block) in placed.message.content.iter().enumerate().rev() {
                let Block::ToolResult(result) = block else { continue };
                let Some(text) = only_text(result) else { continue };
                work += text.len();
                let again = made.get(result.id.as_str()).is_some_and(|key| calls.contains(key));
                if let Some(slot) = row.get_mut(at) {
                    *slot = one(text, again, &mut texts, &mut lines, &mut hashes);
                }
            }
            if let Some(slot) = table.get_mut(index) {
                *slot = Some(row.into_boxed_slice());
            }
        }
        calls.extend(made.into_values());
        hand.pause(work).await;
    }
    table
}

fn one(text: &str, again: bool, texts: &mut Set, lines: &mut Set, hashes: &mut Vec<u64>) -> (Repeats, usize) {
    if text.len() < RUN {
        return (Repeats::Nothing, 0);
    }
    if !texts.insert(xxh3_64(text.as_bytes())) {
        return (Repeats::Whole, text.len());
    }
    hashes.clear();
    let (mut runs, mut saved, mut repeated) = (Vec::new(), 0, 0);
    let (mut start, mut bytes) = (None::<usize>, 0);
    let mut close = |start: &mut Option<usize>, bytes: &mut usize, end: usize| {
        if let Some(first) = start.take()
            && *bytes >= RUN
        {
            runs.push(first..end);
            saved += *bytes - 12;
        }
        *bytes = 0;
    };
    let mut count = 0;
    for (number, line) in lines_of(text).enumerate() {
        count = number + 1;
        let body = line.trim_ascii();
        let (known, neutral) = if body.len() < LINE {
            (false, true)
        } else {
            let hash = xxh3_64(body.as_bytes());
            hashes.push(hash);
            (lines.contains(&hash), false)
        };
        if known {
            repeated += line.len();
            start.get_or_insert(number);
            bytes += line.len();
        } else if neutral && start.is_some() {
            bytes += line.len();
        } else {
            close(&mut start, &mut bytes, number);
        }
    }
    close(&mut start, &mut bytes, count);
    lines.extend(hashes.iter().copied());
    if again && repeated as f64 >= SUPERSEDED * text.len() as f64 {
        return (Repeats::Superseded, text.len());
    }
    let json = matches!(text.trim_ascii_start().as_bytes().first(), Some(b'{' | b'['));
    if runs.is_empty() || json { (Repeats::Nothing, 0) } else { (Repeats::Lines(runs), saved) }
}

/// The text with its repeated lines as references.
pub(super) fn refer(text: &str, runs: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut runs = runs.iter();
    let mut next = runs.next();
    for (number, line) in lines_of(text).enumerate() {
        while next.is_some_and(|run| run.end <= number) {
            next = runs.next();
        }
        match next {
            Some(run) if run.contains(&number) => {
                if run.start == number {
                    out.push_str("[=");
                    out.push_str(&run.len().to_string());
                    out.push_str("]\n");
                }
            }
            _ => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // one run of lines is what is meant
mod tests {
    use super::*;

    #[test]
    fn repeated_lines_are_found_in_the_older_text() {
        let (mut texts, mut lines, mut hashes) = (Set::default(), Set::default(), Vec::new());
        let body = (0..20).fold(String::new(), |text, n| format!("{text}a line of code number {n}\n"));
        let newer = format!("{body}and an end of its own, too\n");
        let older = format!("something of its own at first\n{body}\nand something at last, too\n");
        assert_eq!(one(&newer, false, &mut texts, &mut lines, &mut hashes), (Repeats::Nothing, 0));
        let (repeats, saved) = one(&older, false, &mut texts, &mut lines, &mut hashes);
        assert_eq!(repeats, Repeats::Lines(vec![1..22]));
        assert!(saved > body.len() - 20);
        assert_eq!(refer(&older, &[1..22]), "something of its own at first\n[=21]\nand something at last, too\n");
        assert_eq!(one(&older, true, &mut texts, &mut lines, &mut hashes).0, Repeats::Whole);
    }
}
