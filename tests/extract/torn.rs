//! What a cut leaves of a marker is no prose where the dialect's next call stands right behind it, and costs that call nothing. Each
//! text whole, at every cut and byte by byte.

use loopwright::core::extract::{Dialect, Grammar, dialects, render_call};
use loopwright::core::json::Raw;
use serde_json::json;

use crate::reading::{Reading, Setup, each, read, read_twice};

fn rows() -> impl Iterator<Item = &'static Dialect> {
    dialects().iter().filter(|row| !row.bare)
}

/// A call of `ff` and one of `gg`, each with its own markers.
fn two(dialect: &'static Dialect) -> [String; 2] {
    ["ff", "gg"].map(|name| render_call(name, &Raw::of(&json!({"a": name})), None, dialect).unwrap())
}

fn setups() -> [Setup; 2] {
    [Setup::auto(), Setup::names(&["ff", "gg"])]
}

/// `gg` is read as it stands.
fn has_second(reading: &Reading) -> bool {
    let found: Vec<_> = reading.calls.iter().filter(|call| call.name == "gg").collect();
    matches!(found[..], [call] if call.complete && !call.repaired && call.arguments == "{\"a\":\"gg\"}")
}

#[test]
fn d21_what_a_cut_leaves_of_a_closer_is_no_prose() {
    each(rows(), |dialect| {
        let [first, second] = two(dialect);
        let whole = read(&first, &Setup::auto());
        assert!(whole.calls[0].complete, "{first}");
        let section = dialect.section.map_or(&[][..], |section| section.1);
        let mut closers: Vec<&str> = dialect.close.iter().chain(section).copied().collect();
        closers.retain(|closer| !closer.is_empty() && first.ends_with(closer));
        for closer in closers {
            let from = first.len() - closer.len();
            for cut in (from + 1..first.len()).filter(|cut| first.is_char_boundary(*cut)) {
                for between in ["", "\n"] {
                    let text = format!("Hi. {}{between}{second} Bye.", &first[..cut]);
                    for setup in setups() {
                        let reading = read_twice(text.as_bytes(), &setup);
                        assert_eq!(reading.calls.len(), 2, "{text}: {reading:?}");
                        // Behind the end of a value that escapes nothing it may be the value's: then it is in doubt.
                        let pairs = matches!(dialect.grammar, Grammar::Pairs { .. });
                        assert!(reading.calls[0].complete || pairs, "{text}: {reading:?}");
                        assert!(has_second(&reading), "{text}: {reading:?}");
                        let prose: Vec<&str> = reading.prose.split_whitespace().collect();
                        assert_eq!(prose, ["Hi.", "Bye."], "{text}: {reading:?}");
                    }
                }
            }
        }
    });
}

#[test]
fn d21_closers_that_changed_places_are_no_prose() {
    each(rows().filter(|row| row.section.is_some() && row.grammar != Grammar::Harmony), |dialect| {
        let [first, _] = two(dialect);
        let (close, over) = (dialect.close[0], dialect.section.unwrap().1[0]);
        let at = first.rfind(close).unwrap();
        let text = format!("Hi. {}{over}{close} Bye.", &first[..at]);
        for setup in setups() {
            let reading = read(&text, &setup);
            assert!(reading.calls.len() == 1 && reading.calls[0].complete, "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.  Bye.", "{text}: {reading:?}");
        }
    });
}

#[test]
fn d21_a_bracket_behind_its_calls_closer_is_no_prose() {
    let rows = rows().filter(|row| {
        matches!(row.grammar, Grammar::Named { .. } | Grammar::Object { array: false, .. }) && !row.close.contains(&"")
    });
    each(rows, |dialect| {
        let [first, second] = two(dialect);
        let close = dialect.close[0];
        let at = first.rfind(close).unwrap();
        let (before, behind) = (&first[..at], &first[at + close.len()..]);
        let bracket = before.rfind('}').unwrap();
        let text = format!("Hi. {}{}{close}}}{behind}\n{second} Bye.", &before[..bracket], &before[bracket + 1..]);
        for setup in setups() {
            let reading = read(&text, &setup);
            assert!(has_second(&reading) && reading.calls[0].repaired, "{text}: {reading:?}");
            let prose: Vec<&str> = reading.prose.split_whitespace().collect();
            let left = if behind.is_empty() { vec!["Hi.", "}", "Bye."] } else { vec!["Hi.", "Bye."] };
            assert!(prose == left || prose == ["Hi.", "Bye."], "{text}: {reading:?}");
        }
    });
}

#[test]
fn d21_a_name_with_the_front_of_a_marker_behind_it_is_no_call_without_arguments() {
    let text = "<|tool_calls_section_begin|><|tool_call_begin|>functions.ff:0<|\n<|tool_call_begin|>functions.gg:1\
                <|tool_call_argument_begin|>{\"a\":\"gg\"}<|tool_call_end|><|tool_calls_section_end|> Bye.";
    for setup in setups() {
        let reading = read(text, &setup);
        assert!(!reading.calls[0].complete && has_second(&reading), "{reading:?}");
        assert_eq!(reading.prose, " Bye.", "{reading:?}");
    }
    // Its closer in their place shows that there are none.
    let text = "<|tool_calls_section_begin|><|tool_call_begin|>functions.ff:0<|tool_call_end|><|tool_calls_section_end|>";
    let reading = read(text, &Setup::auto());
    assert!(reading.calls[0].complete && reading.calls[0].repaired, "{reading:?}");
}
