//! Two calls, and one closer of the first left out, each in turn, in every dialect of the table: the second call is
//! whole, the first counts only where it is said that it was mended, and no marker is in the prose.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Dialect, Grammar, ProblemKind, dialects, render_calls};
use serde_json::{Value, json};

use crate::reading::{Reading, Setup, each, pieces};

/// What closes something inside a call, as this dialect writes it: where one is missing the call is mended or broken.
fn inner(dialect: &Dialect) -> Vec<String> {
    match dialect.grammar {
        Grammar::Tags(tags) => vec![tags.parameter_end.to_owned(), tags.call_end.to_owned()],
        Grammar::Pairs { key, value, .. } => vec![key.1.to_owned(), value.1.to_owned()],
        Grammar::Nested { prefix } => vec![format!("{prefix}</city>"), format!("{prefix}</invoke>")],
        Grammar::Attributes => vec!["<|close|>argument<|sep|>".to_owned()],
        // Without a parenthesis the next call of a list stands within the first one, as Python reads it: see below.
        Grammar::Python { .. } => Vec::new(),
        // The quote behind a string is missed nowhere: whatever follows, markers too, may stand in a string.
        Grammar::Loose { .. } | Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. } | Grammar::Harmony => {
            vec!["}".to_owned()]
        }
    }
}

/// What closes a call, or all of them, from without.
fn outer(dialect: &Dialect) -> Vec<String> {
    let section = dialect.section.iter().flat_map(|section| section.1);
    let mut all: Vec<_> = dialect.close.iter().chain(section).map(|close| (*close).to_owned()).collect();
    if let Grammar::Named { fenced: true, .. } = dialect.grammar {
        all.push("```".to_owned());
    }
    if let Grammar::Object { array: true, .. } | Grammar::Python { brackets: true } | Grammar::Keyed = dialect.grammar {
        all.push("]".to_owned());
    }
    all.retain(|close| !close.is_empty());
    all
}

/// All that must not be in prose.
fn marks(dialect: &Dialect) -> Vec<String> {
    let mut all: Vec<String> = inner(dialect).into_iter().chain(outer(dialect)).filter(|mark| mark.len() > 1).collect();
    all.extend(dialect.open.iter().filter(|open| !open.is_empty()).map(|open| (*open).to_owned()));
    all.extend(["weather", "bash", "Oslo", "command"].map(str::to_owned));
    all
}

/// The text without the closer that stands at a place, for each that stands in the first call.
fn without(text: &str, closer: &str, end: usize) -> Vec<String> {
    let from = text.find("city").unwrap();
    let places = text.match_indices(closer).map(|(at, _)| at).filter(|at| *at >= from && at + closer.len() <= end);
    places.map(|at| format!("{}{}", &text[..at], &text[at + closer.len()..])).collect()
}

fn call(name: &str, key: &str, value: &str) -> ToolUse {
    ToolUse::from_text("", name, json!({ key: value }).to_string())
}

/// The two calls, written together and one after the other; up to where the first reaches.
fn texts(dialect: &Dialect) -> Vec<(String, usize)> {
    let (first, second) = (call("weather", "city", "Oslo"), call("bash", "command", "ls -l"));
    let both = render_calls(&[first.clone(), second.clone()], dialect).unwrap();
    let (one, other) = (render_calls(&[first], dialect).unwrap(), render_calls(&[second], dialect).unwrap());
    let end = both.find("bash").unwrap();
    let mut texts = vec![(both, end), (format!("{one}\n{other}"), one.len())];
    if !dialect.bare {
        // Without markers a call begins a line.
        texts.push((format!("{one}{other}"), one.len()));
    }
    texts
}

/// Whole, and byte by byte.
fn twice(text: &str, setup: &Setup) -> Reading {
    let whole = pieces([text.as_bytes()], setup);
    assert_eq!(pieces(text.as_bytes().chunks(1), setup), whole, "{text}");
    whole
}

fn setups(dialect: &'static Dialect) -> Vec<Setup> {
    let string = |key: &str| json!({"type": "object", "properties": {key: {"type": "string"}}});
    let typed = Setup::tools(&[("weather", string("city")), ("bash", string("command"))]);
    let only = Setup::names(&["weather", "bash"]).only(&[dialect.name]);
    if dialect.bare { vec![typed.bare(), only.bare()] } else { vec![typed, only, Setup::auto()] }
}

#[test]
fn d08_a_closer_forgotten_in_one_call_is_not_lost_in_the_next() {
    each(dialects(), |dialect| {
        let mut failed = 0;
        for (text, end) in texts(dialect) {
            let missing = inner(dialect).into_iter().map(|mark| (mark, true));
            for (closer, inside) in missing.chain(outer(dialect).into_iter().map(|mark| (mark, false))) {
                for text in without(&text, &closer, end) {
                    for setup in setups(dialect) {
                        let reading = twice(&text, &setup);
                        let second = reading.calls.last().is_some_and(|call| {
                            call.name == "bash"
                                && call.arguments == r#"{"command":"ls -l"}"#
                                && call.complete != reading.in_doubt()
                                && !call.repaired
                        });
                        let first = match reading.calls.as_slice() {
                            [first, _] if first.complete => {
                                let value: Value = serde_json::from_str(&first.arguments).unwrap();
                                // White space between elements is a raw value's when its end is missing.
                                first.name == "weather"
                                    && value["city"].as_str().is_some_and(|city| city.trim_end() == "Oslo")
                                    && (!inside || (first.repaired && reading.has(ProblemKind::Repaired)))
                            }
                            [first, _] => first.name == "weather",
                            _ => false,
                        };
                        let leaked = marks(dialect).into_iter().find(|mark| reading.prose.contains(mark.as_str()));
                        if !second || !first || leaked.is_some() {
                            failed += 1;
                            println!(
                                "{}: without {closer:?}: {text:?}\n  second {second}, first {first}, leaked {leaked:?}\n  {:?} {:?} {:?}",
                                dialect.name,
                                reading
                                    .calls
                                    .iter()
                                    .map(|call| (&call.name, &call.arguments, call.complete, call.repaired))
                                    .collect::<Vec<_>>(),
                                reading.prose,
                                reading.problems
                            );
                        }
                    }
                }
            }
        }
        assert_eq!(failed, 0);
    });
}

#[test]
fn d08_a_parenthesis_forgotten_in_python_runs_nothing_and_leaks_nothing() {
    each(dialects().iter().filter(|dialect| matches!(dialect.grammar, Grammar::Python { .. })), |dialect| {
        for (text, end) in texts(dialect) {
            for text in without(&text, ")", end) {
                for setup in setups(dialect) {
                    let reading = twice(&text, &setup);
                    let [first, rest @ ..] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
                    assert!(first.name == "weather" && !first.complete, "{text}: {reading:?}");
                    assert!(rest.iter().all(|call| call.name == "bash" && call.complete), "{text}: {reading:?}");
                    assert_eq!(reading.prose.trim(), "", "{text}: {reading:?}");
                }
            }
        }
    });
}
