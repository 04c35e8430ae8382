//! What breaks a call off between its parameters goes with what is left of it, and with nothing else: no marker of it
//! is prose, and the call behind it is read. Each text whole, at every cut and byte by byte.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Dialect, Dropped, Grammar, ProblemKind, dialects, render_calls};
use serde_json::json;

use crate::reading::{Setup, each, read};

/// What opens a parameter, what is needed to write one, and what ends a call.
fn written(dialect: &Dialect) -> Option<(String, String, String)> {
    match dialect.grammar {
        Grammar::Tags(tags) => Some((tags.parameter.0.into(), tags.parameter.1.into(), tags.call_end.into())),
        Grammar::Nested { prefix } => Some((format!("{prefix}<a>"), String::new(), format!("{prefix}</invoke>"))),
        // A bare name with anything else behind it than a pair is no call at all.
        Grammar::Attributes => Some(("<|open|>argument".into(), "<|sep|>".into(), dialect.close[0].into())),
        _ => None,
    }
}

fn raw() -> impl Iterator<Item = &'static Dialect> {
    dialects().iter().filter(|dialect| !dialect.bare && written(dialect).is_some())
}

fn call(name: &str) -> ToolUse {
    ToolUse::from_text("", name, json!({"a": name}).to_string())
}

fn setups() -> [Setup; 3] {
    [
        Setup::auto(),
        Setup::tools(&[("ff", json!({"properties": {"a": {"type": "string"}}})), ("gg", json!({"properties": {}}))]),
        Setup::names(&["ff", "gg"]).with(|policy| policy.repair = false),
    ]
}

/// `ff` broke, `gg` is whole, and nothing but `prose` is.
#[track_caller]
fn broke(text: &str, prose: &str) {
    for setup in setups() {
        let reading = read(text, &setup);
        let [first, second] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
        assert!(first.name == "ff" && !first.complete, "{text}: {reading:?}");
        assert_eq!(
            (second.name.as_str(), second.arguments.as_str(), second.complete, second.repaired),
            ("gg", "{\"a\":\"gg\"}", false, false),
            "{text}: {reading:?}"
        );
        // Regions that are written one after the other stand on lines of their own.
        assert_eq!(reading.prose.trim_start_matches('\n'), prose, "{text}: {reading:?}");
        assert!(reading.has(ProblemKind::Malformed) && reading.dropped(Dropped::Malformed) > 0, "{text}: {reading:?}");
    }
}

#[test]
fn d08_words_before_the_first_parameter_break_one_call() {
    each(raw(), |dialect| {
        let (open, _, _) = written(dialect).unwrap();
        let both = render_calls(&[call("ff"), call("gg")], dialect).unwrap();
        let one = render_calls(&[call("ff")], dialect).unwrap();
        let other = render_calls(&[call("gg")], dialect).unwrap();
        for text in [both, format!("{one}{other}")] {
            let at = text.find(&open).unwrap();
            for junk in ["words ", "x", "<b>", "a < b "] {
                broke(&format!("{}{junk}{} hi", &text[..at], &text[at..]), " hi");
            }
        }
    });
}

#[test]
fn d08_a_parameter_without_its_opening_breaks_one_call() {
    each(raw(), |dialect| {
        let (open, head, end) = written(dialect).unwrap();
        let both = render_calls(&[call("ff"), call("gg")], dialect).unwrap();
        let at = both.find(&open).unwrap();
        let inside = at + open.len();
        let to = inside + both[inside..].find(&head).unwrap() + head.len();
        broke(&format!("{}x{} hi", &both[..at], &both[to..]), " hi");
        // Nor does it matter whether the broken call is closed, where the next one stands in the same section.
        if let Grammar::Tags(_) | Grammar::Nested { .. } = dialect.grammar {
            let close = to + both[to..].find(&end).unwrap();
            broke(&format!("{}x{}{} hi", &both[..at], &both[to..close], &both[close + end.len()..]), " hi");
        }
    });
}

#[test]
fn d08_a_call_that_breaks_alone_is_dropped_with_its_remains() {
    each(raw(), |dialect| {
        let (open, _, _) = written(dialect).unwrap();
        let one = render_calls(&[call("ff")], dialect).unwrap();
        let at = one.find(&open).unwrap();
        let text = format!("{}x y{} hi", &one[..at], &one[at..]);
        for setup in setups() {
            let reading = read(&text, &setup);
            assert!(reading.calls.len() == 1 && !reading.calls[0].complete, "{text}: {reading:?}");
            assert_eq!(reading.prose, " hi", "{text}: {reading:?}");
        }
    });
}

#[test]
fn d22_the_remains_of_a_call_that_is_text_are_text() {
    let parameter = "<parameter name=\"a\">1</parameter></invoke>";
    let known = format!("<invoke name=\"ff\">{parameter}");
    let unknown = format!("<invoke name=\"rm\">so {parameter}");
    let setup = Setup::names(&["ff"]);
    for (text, prose, calls) in [
        (format!("<function_calls>{unknown}</function_calls>"), None, 0),
        (format!("<function_calls>{known}{unknown}{known}</function_calls>"), Some(unknown.as_str()), 2),
        (format!("<function_calls>{known}{unknown}</function_calls>"), Some(unknown.as_str()), 1),
    ] {
        let reading = read(&text, &setup);
        assert_eq!(reading.prose, prose.unwrap_or(&text), "{reading:?}");
        assert_eq!(reading.calls.len(), calls, "{reading:?}");
    }
}

#[test]
fn d21_talk_of_two_openings_stays_prose() {
    let reading = read("Write <function=ff> or <function=gg> there.", &Setup::auto());
    assert!(reading.prose.contains(" or ") && reading.prose.ends_with(" there."), "{reading:?}");
    assert!(reading.calls.iter().all(|call| !call.complete));
    // What is nowhere near its end is prose too.
    let far = "words ".repeat(400);
    let reading = read(&format!("<function_calls><invoke name=\"ff\">{far}</invoke></function_calls>"), &Setup::auto());
    assert!(reading.prose.contains(&far), "{reading:?}");
}

#[test]
fn d08_a_key_without_its_closer_ends_at_any_marker() {
    let pair = |key: &str, value: &str| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>");
    let next = format!("<tool_call>gg{}</tool_call>", pair("a", "gg"));
    for broken in [
        "<arg_key>a",
        "<arg_key>a</arg_value>",
        "<arg_key>a<arg_key>b",
        "<arg_key>a</arg_value><arg_value>x</arg_value>",
    ] {
        for before in ["", &pair("b", "y")] {
            broke(&format!("<tool_call>ff{before}{broken}</tool_call>{next} hi"), " hi");
        }
    }
    let mended = read(
        &format!("<tool_call>ff<arg_key>a<arg_value>x</arg_value></tool_call>{next} hi"),
        &Setup::names(&["ff", "gg"]),
    );
    assert_eq!(mended.called(), [("ff", json!({"a": "x"})), ("gg", json!({"a": "gg"}))]);
    assert!(mended.calls[0].complete && mended.calls[0].repaired && !mended.calls[1].repaired, "{mended:?}");
    assert_eq!(mended.prose, " hi");
}
