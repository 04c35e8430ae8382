//! Drift of the last rounds away from the request, by the words and the made up names of both.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{CheckedRound, ConcernKind, MAX_USER_TEXT, SanityResult, start_of};
use crate::role::plain_line;
use loopwright_base::text::head;
use loopwright_lexicon::words::each_term;

/// Rounds in a row without relation to the request, before that is a concern.
const MIN_ASTRAY: usize = 3;
/// Rounds whose names are compared together, and the names that it takes to say something.
const NAME_ROUNDS: RangeInclusive<usize> = 4..=8;
const MIN_NAMES: usize = 10;
/// Names of a run that are kept.
const MOST_NAMES: usize = 20_000;

/// Stems of words that any work is told with.
const COMMON: [&str; 44] = [
    "let", "look", "check", "read", "file", "find", "need", "use", "run", "make", "see", "start", "first", "next",
    "now", "good", "great", "work", "try", "get", "go", "code", "add", "chang", "updat", "creat", "write", "test",
    "done", "fix", "help", "want", "know", "think", "new", "also", "ok", "okay", "step", "continu", "sure", "pleas",
    "project", "result",
];

fn stems_of(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    each_term(start_of(text), |term| {
        if term.len() > 2 && !COMMON.contains(&term) && words.len() < 400 {
            words.insert(term.to_owned());
        }
    });
    words
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Names that somebody has made up: they have an underscore or a capital inside, and stand for one thing.
fn made_up_names<'a>(text: &'a str, into: &mut BTreeSet<&'a str>) {
    for word in text.split(|c: char| !is_word(c)).filter(|word| word.len() > 4) {
        let bytes = word.as_bytes();
        let inner = word.trim_matches('_').contains('_');
        let hump =
            || bytes.windows(2).any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
        if into.len() < MOST_NAMES && (inner || hump()) {
            into.insert(word);
        }
    }
}

/// The number of last rounds about things that have made up names, of which hardly one was heard of before.
fn other_things(asked: &[String], rounds: &[CheckedRound<'_>]) -> Option<usize> {
    let working: Vec<&CheckedRound<'_>> = rounds.iter().filter(|round| !round.calls.is_empty()).collect();
    let results: Vec<String> = working
        .iter()
        .map(|round| {
            let results = round.calls.iter().filter_map(|(_, result)| *result);
            results.map(|result| start_of(&result.prose()).to_owned() + "\n").collect()
        })
        .collect();
    let own: Vec<BTreeSet<&str>> = working
        .iter()
        .map(|round| {
            let mut names = BTreeSet::new();
            made_up_names(start_of(&round.said), &mut names);
            round.calls.iter().for_each(|(call, _)| made_up_names(start_of(call.arguments_text()), &mut names));
            names
        })
        .collect();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for text in asked {
        known.extend(head(text, MAX_USER_TEXT).split(|c: char| !is_word(c)).take(MOST_NAMES));
    }
    for (at, (names, results)) in own.iter().zip(&results).enumerate() {
        let rest = working.len() - at;
        if at > 0 && NAME_ROUNDS.contains(&rest) {
            let now: BTreeSet<&str> = own.iter().skip(at).flatten().copied().collect();
            let common = now.iter().filter(|name| known.contains(*name)).count();
            if now.len() >= MIN_NAMES && common * 20 <= now.len() {
                return Some(rest);
            }
        }
        if known.len() < MOST_NAMES {
            known.extend(names);
            made_up_names(results, &mut known);
        }
    }
    None
}

/// Adds a concern if the last rounds have nothing to do with the request, nor with its results.
pub(super) fn drift(asked: &[String], rounds: &[CheckedRound<'_>], result: &mut SanityResult) {
    let mut matter: BTreeSet<String> = asked.iter().flat_map(|text| stems_of(text)).collect();
    if matter.len() < 2 {
        return;
    }
    if let Some(count) = other_things(asked, rounds) {
        let goal = asked.last().map(|text| plain_line(text, 90)).unwrap_or_default();
        let text = format!("the last {count} rounds are about names that nobody spoke of before; asked was {goal:?}");
        return result.concern(ConcernKind::Drift, text, "go back to what the user asked for");
    }
    let mut astray: Vec<&CheckedRound<'_>> = Vec::new();
    for round in rounds {
        let mut about = stems_of(&round.said);
        for (call, _) in &round.calls {
            about.extend(stems_of(call.arguments_text()));
        }
        // A few words say nothing about where it goes.
        if about.len() < 4 {
            continue;
        }
        if about.is_disjoint(&matter) {
            astray.push(round);
            continue;
        }
        astray.clear();
        matter.extend(about);
        for result in round.calls.iter().filter_map(|(_, result)| *result) {
            matter.extend(stems_of(&plain_line(&result.prose(), 400)));
        }
    }
    if astray.len() >= MIN_ASTRAY {
        let last = astray.last().map(|round| plain_line(&round.said, 90)).unwrap_or_default();
        let goal = asked.last().map(|text| plain_line(text, 90)).unwrap_or_default();
        let text = format!("the last {} rounds share no word with what was asked ({goal:?}): {last:?}", astray.len());
        result.concern(ConcernKind::Drift, text, "go back to what the user asked for");
    }
}
