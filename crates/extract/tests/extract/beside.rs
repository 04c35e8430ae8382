//! Calls beside a damaged one. Of three calls written one after the other as JSON, a token of one is left out, doubled
//! or swapped with the next: the other two are read with their arguments, nothing of any of them is in the prose, and
//! what runs unrepaired is what stands there. The same for what stands between them.

use std::ops::Range;

use loopwright_base::message::ToolUse;
use loopwright_extract::{Dialect, Grammar, dialects, render_calls};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::reading::{Reading, Setup, each, pieces};

const NAMES: [&str; 3] = ["ff", "gg", "hh"];

fn given() -> [Value; 3] {
    [json!({"alpha": "x y", "o": {"k": [1, "p"]}}), json!({"beta": 2.5, "s": "B1"}), json!({"gamma": null, "t": true})]
}

/// Three calls, and where each of them stands: its object, or its arguments where a name stands in front.
fn written(dialect: &'static Dialect) -> (String, Vec<Range<usize>>) {
    let calls: Vec<ToolUse> =
        NAMES.iter().zip(given()).map(|(name, given)| ToolUse::from_text("", *name, given.to_string())).collect();
    let text = render_calls(&calls, dialect).unwrap();
    let object = matches!(dialect.grammar, Grammar::Object { .. } | Grammar::Keyed);
    let ranges = NAMES.iter().zip(given()).map(|(name, given)| {
        let given = given.to_string();
        let arguments = text.find(&given).unwrap();
        if object {
            let name = text[..arguments].rfind(&format!("\"{name}\"")).unwrap();
            let start = text[..name].rfind('{').unwrap();
            start..arguments + given.len() + 1
        } else {
            arguments..arguments + given.len()
        }
    });
    let ranges = ranges.collect();
    (text, ranges)
}

/// The tokens of JSON.
fn tokens(text: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = within.start;
    while at < within.end {
        let start = at;
        at += 1;
        match bytes[start] {
            b'"' => {
                while bytes[at] != b'"' {
                    at += 1;
                }
                at += 1;
            }
            byte if byte.is_ascii_whitespace() => continue,
            byte if byte.is_ascii_alphanumeric() => {
                while at < within.end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                    at += 1;
                }
            }
            _ => {}
        }
        found.push(start..at);
    }
    found
}

/// The text with a token left out, doubled, swapped with the next.
fn damages(text: &str, tokens: &[Range<usize>]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let (head, own, tail) = (&text[..token.start], &text[token.clone()], &text[token.end..]);
        all.push(format!("{head}{tail}"));
        all.push(format!("{head}{own}{own}{tail}"));
        if let Some(next) = tokens.get(at + 1) {
            let between = &text[token.end..next.start];
            all.push(format!("{head}{}{between}{own}{}", &text[next.clone()], &text[next.end..]));
        }
        if let Some(rest) = own.strip_prefix('"') {
            // A quote of it alone.
            all.push(format!("{head}{rest}{tail}"));
        }
    }
    all
}

/// All dialects are armed.
fn setup() -> Setup {
    Setup::names(&NAMES)
}

/// Whether each call stands between markers of its own.
fn apart(dialect: &Dialect) -> bool {
    written_apart(dialect).is_some_and(|gap| dialect.open.iter().any(|open| !open.is_empty() && gap.contains(open)))
}

/// What stands between two calls.
fn written_apart(dialect: &Dialect) -> Option<String> {
    let row = dialects().iter().find(|row| row.name == dialect.name)?;
    let (text, calls) = written(row);
    Some(text[calls[0].end..calls[1].start].to_owned())
}

/// What isn't as it should be. `damaged`: which call is.
fn wrong(dialect: &Dialect, text: &str, damaged: Option<usize>, damage: &str, reading: &Reading) -> Option<String> {
    let given = given();
    for (at, (name, given)) in NAMES.iter().zip(&given).enumerate() {
        if damaged == Some(at) {
            continue;
        }
        let same = |call: &&loopwright_extract::Call| {
            call.name == *name && serde_json::from_str::<Value>(&call.arguments).is_ok_and(|value| value == *given)
        };
        let found: Vec<_> = reading.calls.iter().filter(same).collect();
        if found.len() != 1 || !found[0].complete {
            return Some(format!("{name} is lost"));
        }
    }
    let prose = reading.prose.trim();
    // What can't be seen to be a call stays text, markers and all, where each call has its own.
    let left = prose.strip_suffix("bye").map(str::trim).filter(|left| text.contains(left));
    let alone = left.is_some_and(|left| {
        let mut openers = dialect.open.iter().chain(dialect.section.iter().flat_map(|section| section.0));
        damaged.is_some() && openers.any(|open| !open.is_empty() && left.starts_with(open)) && apart(dialect)
    });
    // Where no marker closes calls, the last one without its bracket has no end but the text's.
    let open =
        damaged == Some(2) && dialect.close.contains(&"") && reading.calls.last().is_some_and(|call| !call.complete);
    if prose != "bye" && !alone && !(prose.is_empty() && open) {
        return Some(format!("prose {prose:?}"));
    }
    for call in reading.calls.iter().filter(|call| call.complete && !call.repaired) {
        let value: Value = serde_json::from_str(&call.arguments).unwrap();
        let so = NAMES.iter().zip(&given).any(|(name, given)| call.name == *name && value == *given);
        // What a strict reader finds in the damaged text is there.
        let strict = serde_json::from_str::<Value>(damage).is_ok() || damage.contains(&call.arguments);
        if !so && !strict {
            return Some(format!("{} {} runs unrepaired", call.name, call.arguments));
        }
    }
    None
}

fn json_dialects() -> impl Iterator<Item = &'static Dialect> {
    dialects().iter().filter(|row| {
        !row.bare && matches!(row.grammar, Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. })
    })
}

/// Every damage of this dialect's text: which call, and the text.
fn every(dialect: &'static Dialect) -> Vec<(Option<usize>, String, String)> {
    let (text, calls) = written(dialect);
    let mut all = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let mut tokens = tokens(&text, call.clone());
        if matches!(dialect.grammar, Grammar::Named { .. }) {
            // A word behind the whole arguments is prose.
            tokens.pop();
        }
        for damaged in damages(&text, &tokens) {
            let own = damaged.len() + call.end - text.len();
            all.push((Some(at), damaged[call.start..own.max(call.start)].to_owned(), damaged));
        }
    }
    let plain = |text: &str| text.chars().all(|c| matches!(c, '[' | ']' | ',' | ';') || c.is_whitespace());
    for pair in calls.windows(2) {
        let gap = pair[0].end..pair[1].start;
        if plain(&text[gap.clone()]) {
            for damaged in damages(&text, &tokens(&text, gap)) {
                all.push((None, String::new(), damaged));
            }
        }
    }
    let (first, last) = (calls[0].start, calls[2].end);
    if text[..first].ends_with('[') {
        all.push((None, String::new(), format!("{}{}", &text[..first - 1], &text[first..])));
        all.push((None, String::new(), format!("{}[{}", &text[..first], &text[first..])));
    }
    if text[last..].starts_with(']') {
        all.push((None, String::new(), format!("{}{}", &text[..last], &text[last + 1..])));
        all.push((None, String::new(), format!("{}]{}", &text[..last], &text[last..])));
    }
    all
}

#[test]
fn d08_a_damaged_token_costs_no_other_call() {
    each(json_dialects(), |dialect| {
        let mut failed = Vec::new();
        let all = every(dialect);
        let count = all.len();
        for (damaged, own, text) in all {
            let text = format!("{text} bye");
            let reading = pieces([text.as_bytes()], &setup());
            assert_eq!(pieces(text.as_bytes().chunks(1), &setup()), reading, "{text}");
            if let Some(why) = wrong(dialect, &text, damaged, &own, &reading) {
                failed.push(format!("{why}: {text}"));
            }
            let strict = pieces([text.as_bytes()], &setup().with(|policy| policy.repair = false));
            if strict.calls.iter().any(|call| call.complete && call.repaired) {
                failed.push(format!("mended: {text}"));
            }
        }
        assert!(failed.is_empty(), "{}: {} of {count}\n{}", dialect.name, failed.len(), failed.join("\n"));
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn d08_no_cut_shows_in_a_damaged_list(
        row in any::<prop::sample::Index>(),
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        repair in any::<bool>(),
    ) {
        let rows: Vec<_> = json_dialects().collect();
        let dialect = rows[row.index(rows.len())];
        let all = every(dialect);
        let text = format!("{} bye", all[which.index(all.len())].2);
        let setup = setup().with(|policy| policy.repair = repair);
        let whole = pieces([text.as_bytes()], &setup);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let mut parts = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            parts.push(&text.as_bytes()[from..cut]);
            from = cut;
        }
        prop_assert_eq!(pieces(parts, &setup), whole, "{}", text);
    }
}
