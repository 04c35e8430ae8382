//! What stands inside a value of a broken call is data: whatever broke the call, a whole call of any dialect in its
//! value runs nothing, none of it is prose, and the call that stands behind the broken one is read.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Dialect, Grammar, dialects, render_calls};
use serde_json::json;

use crate::reading::{Reading, Setup, each, pieces, read};

fn call(name: &str, arguments: &serde_json::Value) -> ToolUse {
    ToolUse::from_text("", name, arguments.to_string())
}

/// Whether values stand raw between elements.
fn raw(dialect: &Dialect) -> bool {
    matches!(dialect.grammar, Grammar::Tags(_) | Grammar::Nested { .. } | Grammar::Attributes | Grammar::Pairs { .. })
}

/// A call that is to be broken and one behind it, in one section and in two. The value stands last of the first one's.
fn texts(dialect: &Dialect) -> Vec<String> {
    let first = call("ff", &json!({"d": "DEEP", "v": "VALUE"}));
    let second = call("hh", &json!({"c": "w"}));
    let one = render_calls(std::slice::from_ref(&first), dialect).unwrap();
    let other = render_calls(std::slice::from_ref(&second), dialect).unwrap();
    vec![render_calls(&[first, second], dialect).unwrap(), format!("{one}\n{other}")]
}

/// Where the elements of the first parameter begin, and where its name stands.
fn first_parameter(dialect: &Dialect, text: &str) -> (usize, String) {
    let open = match dialect.grammar {
        Grammar::Tags(tags) => tags.parameter.0.to_owned(),
        Grammar::Nested { prefix } => format!("{prefix}<d>"),
        Grammar::Attributes => "<|open|>argument".to_owned(),
        Grammar::Pairs { key, .. } => key.0.to_owned(),
        _ => unreachable!("a dialect without elements"),
    };
    (text.find(&open).unwrap(), open)
}

/// All the ways a call is broken between its elements.
fn broken_raw(dialect: &Dialect, text: &str) -> Vec<String> {
    let (at, open) = first_parameter(dialect, text);
    let (before, behind) = text.split_at(at);
    let words = |junk: &str| format!("{before}{junk}{behind}");
    let once = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}: {text}");
        text.replacen(from, to, 1)
    };
    // A parameter without a name, the one whose value matters; and words before the first.
    match dialect.grammar {
        Grammar::Pairs { key, value, .. } => vec![
            // A bare name with anything else behind it than a pair is no call at all.
            once(value.0, &format!("words {}", value.0)),
            once(key.1, &format!("{}{}", key.0, key.0)),
        ],
        Grammar::Nested { prefix } => {
            vec![words("words "), words("x"), words("a < b "), once(&format!("{prefix}<v>"), &format!("{prefix}<>"))]
        }
        Grammar::Attributes => vec![words("words "), words("<b>"), once("key=\"v\"", "kee=\"v\"")],
        _ => {
            let mut all = vec![words("words "), words("x"), words("<b>"), words("a < b ")];
            // A bare `<parameter>` behind a value is the value's.
            if let Some(open) = open.strip_suffix("name=\"") {
                all.push(once(&format!("{open}name=\"v\""), &format!("{open}nme=\"v\"")));
            }
            all
        }
    }
}

/// What is put for the value that stands raw or in a string of JSON.
fn within(dialect: &Dialect, value: &str) -> String {
    if raw(dialect) || matches!(dialect.grammar, Grammar::Loose { .. }) {
        return value.to_owned();
    }
    let text = json!(value).to_string();
    text[1..text.len() - 1].to_owned()
}

fn runs(reading: &Reading) -> bool {
    reading.calls.iter().any(|call| call.name == "gg" && call.complete)
}

/// In one piece, and byte by byte where that is quick.
fn twice(text: &str, setup: &Setup) -> Reading {
    let whole = pieces([text.as_bytes()], setup);
    if text.len() > 800 {
        return whole;
    }
    assert_eq!(pieces(text.as_bytes().chunks(1), setup), whole, "{text}");
    whole
}

/// Nothing in the first call runs, and but for the words behind nothing is prose.
#[track_caller]
fn inert(text: &str, setup: &Setup) {
    let reading = twice(text, setup);
    assert!(!runs(&reading), "{text}: {reading:?}");
    let [first, .., last] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
    assert!(first.name == "ff" && !first.complete, "{text}: {reading:?}");
    assert_eq!(
        (last.name.as_str(), last.arguments.as_str(), last.complete, last.repaired),
        ("hh", "{\"c\":\"w\"}", !reading.in_doubt(), false),
        "{text}: {reading:?}"
    );
    assert_eq!(reading.prose.trim_start(), "hi", "{text}: {reading:?}");
}

/// Values that hold a whole call of another dialect, near and far from their beginning.
fn values(other: &Dialect) -> Vec<String> {
    let inner = render_calls(&[call("gg", &json!({"k": "v"}))], other).unwrap();
    vec![format!("{inner} z"), format!("{}\n{inner}", "so ".repeat(500))]
}

/// Whether a sound call of this dialect keeps such a value whole: one that holds a call of its own dialect reads as its
/// end.
fn kept(dialect: &Dialect, text: &str, value: &str, setup: &Setup) -> bool {
    let reading = pieces([text.replace("VALUE", &within(dialect, value)).as_bytes()], setup);
    let [first, _] = reading.calls.as_slice() else { return false };
    let arguments: serde_json::Value = serde_json::from_str(&first.arguments).unwrap_or_default();
    first.complete && arguments["v"] == value
}

fn setup() -> Setup {
    Setup::auto()
}

#[test]
fn d22_a_value_of_a_call_that_words_broke_is_data() {
    each(dialects().iter().filter(|dialect| raw(dialect)), |dialect| {
        let mut held = 0;
        for text in texts(dialect) {
            for other in dialects() {
                for value in values(other) {
                    if !kept(dialect, &text, &value, &setup()) {
                        continue;
                    }
                    held += 1;
                    for broken in broken_raw(dialect, &text) {
                        let text = broken.replace("VALUE", &within(dialect, &value)) + " hi";
                        inert(&text, &setup());
                        inert(&text, &setup().with(|policy| policy.repair = false));
                    }
                }
            }
        }
        assert!(held > 150, "{held}");
    });
}

#[test]
fn d22_a_value_behind_a_limit_is_data() {
    // Python's own reading of its lists is told of elsewhere.
    let rows = dialects().iter().filter(|dialect| !dialect.bare && !matches!(dialect.grammar, Grammar::Python { .. }));
    each(rows, |dialect| {
        let deep = "[".repeat(40) + &"]".repeat(40);
        let long = "x".repeat(300);
        let mut held = 0;
        for text in texts(dialect) {
            for other in dialects() {
                for value in values(other).into_iter().take(1) {
                    if !kept(dialect, &text, &value, &setup()) {
                        continue;
                    }
                    held += 1;
                    let text = text.replace("VALUE", &within(dialect, &value)) + " hi";
                    inert(&text.replace("DEEP", &long), &setup().with(|policy| policy.max_argument_bytes = 120));
                    let quoted = match dialect.grammar {
                        Grammar::Loose { quote } => format!("{quote}DEEP{quote}"),
                        _ if raw(dialect) => "DEEP".to_owned(),
                        _ => "\"DEEP\"".to_owned(),
                    };
                    let typed = text.replacen("key=\"d\" type=\"string\"", "key=\"d\" type=\"array\"", 1).replacen(
                        "name=\"d\" string=\"true\"",
                        "name=\"d\" string=\"false\"",
                        1,
                    );
                    inert(&typed.replace(&quoted, &deep), &setup().with(|policy| policy.max_depth = 8));
                }
            }
        }
        assert!(held > 75, "{held}");
    });
}

#[test]
fn d22_a_call_within_a_value_runs_no_more_where_the_call_around_it_broke() {
    let text = "<invoke name=\"f\">junk <parameter name=\"a\"><function=g></function></parameter></invoke> t";
    let reading = read(text, &setup());
    assert!(reading.calls.len() == 1 && !reading.calls[0].complete, "{reading:?}");
    assert_eq!(reading.prose, " t");
}

#[test]
fn e5_a_call_behind_a_value_that_nothing_closes_does_not_run() {
    each(dialects().iter().filter(|dialect| raw(dialect)), |dialect| {
        let text = &texts(dialect)[1];
        let (at, _) = first_parameter(dialect, text);
        let cut = text.find("VALUE").unwrap() + 3;
        let next = text.rfind('\n').map_or(cut, |_| {
            let other = render_calls(&[call("hh", &json!({"c": "w"}))], dialect).unwrap();
            text.len() - other.len()
        });
        // Nothing of the first call is closed, nor is its value.
        for junk in ["", "words "] {
            if !junk.is_empty() && matches!(dialect.grammar, Grammar::Pairs { .. }) {
                continue;
            }
            let text = format!("{}{junk}{}\n{} hi", &text[..at], &text[at..cut], &text[next..]);
            let reading = twice(&text, &setup());
            assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
        }
    });
}
