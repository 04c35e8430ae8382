//! Whether the last rounds have left what was asked for: told by the words and the made up names of both.
//! A few words say nothing; it takes several rounds in a row that share none with the wish or with what came of it.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{ConcernKind, Round, SanityResult, WISHES, start_of};
use crate::role::plain;
use loopwright_base::text::head;
use loopwright_lexicon::words::each_term;

/// Rounds in a row that have nothing to do with what was asked, before that is a concern.
const ASTRAY: usize = 3;
/// Rounds whose names are looked at together, and how many names it takes to say something.
const ELSEWHERE: RangeInclusive<usize> = 4..=8;
const ENOUGH_NAMES: usize = 10;
/// Names of a run that are kept.
const MOST_NAMES: usize = 20_000;

/// Words that any work is told with, as stems.
const COMMON: [&str; 44] = [
    "let", "look", "check", "read", "file", "find", "need", "use", "run", "make", "see", "start", "first", "next",
    "now", "good", "great", "work", "try", "get", "go", "code", "add", "chang", "updat", "creat", "write", "test",
    "done", "fix", "help", "want", "know", "think", "new", "also", "ok", "okay", "step", "continu", "sure", "pleas",
    "project", "result",
];

fn telling(text: &str) -> BTreeSet<String> {
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
fn made_up<'a>(text: &'a str, into: &mut BTreeSet<&'a str>) {
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

/// How many of the last rounds are about things that have made up names, of which hardly one was heard of before.
fn other_things(asked: &[String], rounds: &[Round<'_>]) -> Option<usize> {
    let working: Vec<&Round<'_>> = rounds.iter().filter(|round| !round.calls.is_empty()).collect();
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
            made_up(start_of(&round.said), &mut names);
            round.calls.iter().for_each(|(call, _)| made_up(start_of(call.arguments_text()), &mut names));
            names
        })
        .collect();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for text in asked {
        known.extend(head(text, WISHES).split(|c: char| !is_word(c)).take(MOST_NAMES));
    }
    for (at, (names, results)) in own.iter().zip(&results).enumerate() {
        let rest = working.len() - at;
        if at > 0 && ELSEWHERE.contains(&rest) {
            let now: BTreeSet<&str> = own.iter().skip(at).flatten().copied().collect();
            let common = now.iter().filter(|name| known.contains(*name)).count();
            if now.len() >= ENOUGH_NAMES && common * 20 <= now.len() {
                return Some(rest);
            }
        }
        if known.len() < MOST_NAMES {
            known.extend(names);
            made_up(results, &mut known);
        }
    }
    None
}

/// Whether the last rounds have nothing to do with what was asked, nor with anything that came of it.
pub(super) fn drift(asked: &[String], rounds: &[Round<'_>], result: &mut SanityResult) {
    let mut matter: BTreeSet<String> = asked.iter().flat_map(|text| telling(text)).collect();
    if matter.len() < 2 {
        return;
    }
    if let Some(count) = other_things(asked, rounds) {
        let goal = asked.last().map(|text| plain(text, 90)).unwrap_or_default();
        let text = format!("the last {count} rounds are about names that nobody spoke of before; asked was {goal:?}");
        return result.concern(ConcernKind::Drift, text, "go back to what the user asked for");
    }
    let mut astray: Vec<&Round<'_>> = Vec::new();
    for round in rounds {
        let mut about = telling(&round.said);
        for (call, _) in &round.calls {
            about.extend(telling(call.arguments_text()));
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
            matter.extend(telling(&plain(&result.prose(), 400)));
        }
    }
    if astray.len() >= ASTRAY {
        let last = astray.last().map(|round| plain(&round.said, 90)).unwrap_or_default();
        let goal = asked.last().map(|text| plain(text, 90)).unwrap_or_default();
        let text = format!("the last {} rounds share no word with what was asked ({goal:?}): {last:?}", astray.len());
        result.concern(ConcernKind::Drift, text, "go back to what the user asked for");
    }
}
