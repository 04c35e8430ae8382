//! Contradictions of an agent's words with its actions, with prohibitions, and with its earlier words.

use std::collections::BTreeSet;

use super::{CheckedRound, ConcernKind, MAX_USER_TEXT, SanityResult, start_of};
use crate::role::{plain_line, summary::sentences};
use loopwright_base::{message::ToolUse, text::head};
use loopwright_context::names;
use loopwright_lexicon::words::each_term;
use loopwright_monitor::signals::signals;

/// The contradictions of an agent's words with its actions, with prohibitions, and with its earlier words.
pub(super) fn contradictions(
    asked: &[String],
    rounds: &[CheckedRound<'_>],
    last_failed: Option<bool>,
    result: &mut SanityResult,
) {
    let says_done = rounds.last().is_some_and(|round| signals(&round.said).complete);
    if says_done && last_failed == Some(true) {
        let text = "the work is said to be done, and the last calls failed".to_owned();
        result.concern(ConcernKind::Contradiction, text, "check the result before saying that it is done");
    }
    let forbidden = forbidden(asked);
    for (call, outcome) in rounds.iter().flat_map(|round| &round.calls) {
        if outcome.is_none_or(|outcome| outcome.is_error) || !changes(call) {
            continue;
        }
        let arguments = call.arguments_text();
        if let Some((name, sentence)) = forbidden.iter().find(|(name, _)| mentions(arguments, name)) {
            let text = format!("the user said {:?}, and {} was called on {name}", plain_line(sentence, 100), call.name);
            result.concern(ConcernKind::Contradiction, text, "undo it, or ask the user");
            result.should_pause = true;
            break;
        }
    }
    let mut claims_so_far: Vec<(BTreeSet<String>, bool, String)> = Vec::new();
    for round in rounds.iter().rev().take(20).rev() {
        for sentence in sentences(start_of(&round.said)).take(20).filter(|sentence| sentence.len() <= 200) {
            let (words, negated) = claim(sentence);
            if words.len() < 3 {
                continue;
            }
            let other = claims_so_far.iter().find(|(known, sign, _)| *sign != negated && share_words(known, &words));
            if let Some((_, _, before)) = other {
                let text = format!("first {:?}, then {:?}", plain_line(before, 90), plain_line(sentence, 90));
                result.concern(ConcernKind::Contradiction, text, "find out which of the two holds");
                return;
            }
            claims_so_far.push((words, negated, sentence.to_owned()));
        }
    }
}

/// Names that the user wants left alone, each with the sentence that says so.
pub(super) fn forbidden(asked: &[String]) -> Vec<(String, String)> {
    const NO: [&str; 12] = [
        "never ",
        "don't ",
        "do not ",
        " not to ",
        "must not ",
        "mustn't ",
        "may not ",
        "not allowed to ",
        "avoid ",
        "leave ",
        "hands off ",
        "no changes to ",
    ];
    const WITHOUT: &str = "without ";
    const TOUCHED: [&str; 12] = [
        "touch",
        "chang",
        "modif",
        "edit",
        "writ",
        "delet",
        "remov",
        "alter",
        "alone",
        "hands off",
        "away from",
        "leave",
    ];
    let mut found = Vec::new();
    for text in asked {
        // Each sentence by itself: the next one may name what is meant to be touched.
        for sentence in sentences(head(text, MAX_USER_TEXT)) {
            let sentence = &sentence.replace('’', "'");
            let lower = sentence.to_lowercase();
            if let Some(kept) = unchanged_subject(&lower).and_then(|kept| sentence.get(kept)) {
                names(kept, |name| found.push((name.to_owned(), sentence.to_owned())));
            }
            let without = lower.match_indices(WITHOUT).map(|(at, _)| at).find(|at| {
                let next = lower.get(at + WITHOUT.len()..).unwrap_or_default();
                TOUCHED.iter().any(|word| next.starts_with(word))
            });
            let at = NO.iter().filter_map(|word| lower.find(word)).chain(without).min();
            let Some(behind) = at.and_then(|at| sentence.get(at..)) else { continue };
            // What is excepted is meant to be touched.
            let behind = behind.split(" except ").next().unwrap_or_default();
            let behind = behind.split(" but ").next().unwrap_or_default();
            if TOUCHED.iter().any(|word| lower.contains(word)) {
                names(behind, |name| found.push((name.to_owned(), sentence.to_owned())));
            }
            found.truncate(40);
        }
    }
    found
}

/// The range before words such as `must stay as it is` in `config.py must stay as it is`.
fn unchanged_subject(sentence: &str) -> Option<std::ops::Range<usize>> {
    const STAYS: [&str; 11] = [
        " off limits",
        " off-limits",
        " as it is",
        " as they are",
        " unchanged",
        " untouched",
        " intact",
        " not be touched",
        " not be changed",
        " not be modified",
        " not be edited",
    ];
    const MUST: [&str; 7] = ["must", "should", "shall", "stay", "remain", "keep", "off"];
    if ["if ", "when ", "whether ", "check ", "make sure "].iter().any(|word| sentence.starts_with(word)) {
        return None;
    }
    let at = STAYS.iter().filter_map(|word| sentence.find(word)).min()?;
    let (before, behind) = sentence.split_at_checked(at)?;
    // What is changed so that something stays is meant to be touched.
    let clause = [" so that ", " such that ", " and ", " but ", " while ", ", ", "; ", ": "];
    let from = clause.iter().filter_map(|word| before.rfind(word).map(|at| at + word.len())).max().unwrap_or(0);
    let clause = before.get(from..)?;
    let must = MUST.iter().any(|word| clause.contains(word)) || behind.starts_with(" off");
    must.then_some(from..at)
}

/// Returns whether a call may change something, by its name and its words.
fn changes(call: &ToolUse) -> bool {
    const WORDS: [&str; 14] = [
        "write", "edit", "delete", "remove", "rm ", "mv ", "create", "update", "replace", "append", "patch", "insert",
        "move", "rename",
    ];
    let name = call.name.to_lowercase();
    let command = call.input.value().get("command").and_then(|value| value.as_str()).map(str::to_lowercase);
    let command = command.unwrap_or_default();
    WORDS.iter().any(|word| name.contains(word.trim()) || (!command.is_empty() && starts_a_command(&command, word)))
        || command.contains("> ")
        || command.contains("sed -i")
}

fn starts_a_command(line: &str, word: &str) -> bool {
    line.split(['|', ';', '&', '\n']).any(|part| part.trim_start().starts_with(word))
}

fn mentions(arguments: &str, name: &str) -> bool {
    let mut found = false;
    names(arguments, |other| {
        let end = |longer: &str, shorter: &str| {
            longer.strip_suffix(shorter).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        found |= end(other, name);
    });
    found
}

/// The significant words of a sentence, and whether it denies something.
fn claim(sentence: &str) -> (BTreeSet<String>, bool) {
    const NO: [&str; 10] = ["not", "no", "never", "cannot", "n't", "without", "neither", "isnt", "doesnt", "none"];
    let lower = sentence.to_lowercase().replace('’', "'");
    let negated = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .any(|word| NO.contains(&word) || word.ends_with("n't"));
    let mut words = BTreeSet::new();
    each_term(&lower, |term| {
        let plain = !matches!(term, "not" | "never" | "cannot" | "none" | "now" | "still" | "yet");
        if plain && !term.ends_with("n't") {
            words.insert(term.to_owned());
        }
    });
    (words, negated)
}

fn share_words(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    // Two sentences on the same matter: nearly the same words, whatever else they are.
    common >= 3 && common * 5 >= all * 4
}
