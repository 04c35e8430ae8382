//! One marker of the middle one of three calls is left out, written twice or changed with the next, in every dialect of
//! elements: the calls around it are read as they stand, and of the damaged one nothing wrong counts that isn't said to
//! be mended.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Dialect, Grammar, dialects, render_calls};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::reading::{Owner, Reading, Setup, pieces};

fn call(name: &str, arguments: &Value) -> ToolUse {
    ToolUse::from_text("", name, arguments.to_string())
}

fn elements() -> Vec<&'static Dialect> {
    let is = |grammar: &Grammar| {
        matches!(grammar, Grammar::Tags(_) | Grammar::Nested { .. } | Grammar::Pairs { .. } | Grammar::Attributes)
    };
    dialects().iter().filter(|dialect| is(&dialect.grammar)).collect()
}

/// The markers of the middle call, in their order.
fn markers(dialect: &Dialect, text: &str) -> Vec<(usize, usize)> {
    let mut all: Vec<String> = dialect.open.iter().chain(dialect.close).map(|mark| (*mark).to_owned()).collect();
    match dialect.grammar {
        Grammar::Tags(tags) => {
            all.push(format!("{}gg{}", tags.call.0, tags.call.1));
            for key in ["k", "m"] {
                all.push(format!("{}{key}{}", tags.parameter.0, tags.parameter.1));
                all.push(format!("{}{key}\" string=\"true\">", tags.parameter.0));
            }
            all.extend([tags.parameter_end.to_owned(), tags.call_end.to_owned()]);
        }
        Grammar::Nested { prefix } => {
            all.extend(
                ["<invoke name=\"gg\">", "<k>", "</k>", "<m>", "</m>", "</invoke>"].map(|tag| format!("{prefix}{tag}")),
            );
        }
        Grammar::Pairs { key, value, .. } => all.extend([key.0, key.1, value.0, value.1].map(str::to_owned)),
        _ => {
            all.extend(["k", "m"].map(|key| format!("<|open|>argument key=\"{key}\" type=\"string\"<|sep|>")));
            all.push("<|close|>argument<|sep|>".to_owned());
        }
    }
    all.retain(|mark| !mark.is_empty());
    let (from, to) = (text.find("FIRST").unwrap(), text.find("THIRD").unwrap());
    let middle = text.find("MIDDLE").unwrap();
    // Of the middle call: behind the first one's closers, before the third one's openers.
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        let rest = &text[at..];
        match all.iter().filter(|mark| rest.starts_with(mark.as_str())).map(String::len).max() {
            Some(length) => {
                found.push((at, at + length));
                at += length;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    // Behind the last of the first call and before the first of the third.
    let begin = text[..middle].rfind("gg").unwrap();
    let end = text[middle..].find("hh").map_or(to, |at| middle + at);
    let own = |(start, stop): &(usize, usize)| (*start <= begin && *stop > begin) || (*start > begin && *stop < end);
    let mut own: Vec<_> = found.into_iter().filter(own).collect();
    while let Some((start, stop)) = own.last().copied() {
        let opens = dialect.open.contains(&&text[start..stop])
            || matches!(dialect.grammar, Grammar::Tags(tags) if text[start..stop].starts_with(tags.call.0) && start > middle);
        if !opens {
            break;
        }
        own.pop();
    }
    own
}

fn damaged(text: &str, marks: &[(usize, usize)], at: usize, how: u8) -> String {
    let (start, end) = marks[at];
    let mark = &text[start..end];
    match how {
        0 => format!("{}{}", &text[..start], &text[end..]),
        1 => format!("{}{mark}{mark}{}", &text[..start], &text[end..]),
        _ => match marks.get(at + 1) {
            Some((from, to)) => {
                format!("{}{}{}{mark}{}", &text[..start], &text[*from..*to], &text[end..*from], &text[*to..])
            }
            None => text.to_owned(),
        },
    }
}

fn wrong(text: &str, mark: &str, reading: &Reading, arguments: &Value, value: &str) -> Option<String> {
    let named = |name: &str| reading.calls.iter().filter(|call| call.name == name).collect::<Vec<_>>();
    let said = |name: &str| named(name).into_iter().filter(|call| call.complete).collect::<Vec<_>>();
    let complete = !reading.in_doubt();
    for (name, own) in [("ff", json!({"a": "FIRST"})), ("hh", json!({"z": "THIRD"}))] {
        let [call] = named(name)[..] else { return Some(format!("{name} isn't read once")) };
        if call.complete != complete {
            return Some(format!("{name} is complete beside a call that broke, or isn't though none did"));
        }
        if serde_json::from_str::<Value>(&call.arguments).ok() != Some(own) || call.repaired {
            return Some(format!("{name} isn't what it was"));
        }
    }
    for call in said("gg").into_iter().filter(|call| !call.repaired) {
        // Values escape nothing: a marker in a place where none ends it is a value's.
        let found: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let kept = |key: &String, value: &Value| {
            *value == arguments[key]
                || value.as_str().is_some_and(|value| value.contains('<') && text.contains(value.trim()))
        };
        let own = |(key, value): (&String, &Value)| ["k", "m"].contains(&key.as_str()) && kept(key, value);
        if !found.as_object().is_some_and(|found| !found.is_empty() && found.iter().all(own)) {
            return Some("gg is wrong, and nobody says so".to_owned());
        }
    }
    if reading.calls.iter().any(|call| !["ff", "gg", "hh"].contains(&call.name.as_str())) {
        return Some("what stands in a value was a call".to_owned());
    }
    // What stands before a call's opening is no call's: it is text.
    let began = reading.calls.iter().find(|call| call.name == "gg").map(|call| call.span.start);
    let spans = reading.owned.iter().filter(|(owner, start, _)| *owner == Owner::Text && Some(*start) > began);
    let leaked = began.is_some()
        && !mark.contains("gg")
        && spans
            .map(|(_, start, end)| &text[*start..*end])
            .any(|text| text.replace(value, "").contains(['<', '>', '|']));
    leaked.then(|| "markup is prose".to_owned())
}

fn check(dialect: &'static Dialect, value: &str, at: usize, how: u8) -> Option<String> {
    let arguments = json!({"k": value, "m": "MIDDLE"});
    let calls = [call("ff", &json!({"a": "FIRST"})), call("gg", &arguments), call("hh", &json!({"z": "THIRD"}))];
    let whole = render_calls(&calls, dialect).unwrap();
    let marks = markers(dialect, &whole);
    let text = damaged(&whole, &marks, at % marks.len(), how);
    let mark = &whole[marks[at % marks.len()].0..marks[at % marks.len()].1];
    let reading = pieces([text.as_bytes()], &Setup::auto());
    let again = pieces(text.as_bytes().chunks(1), &Setup::auto());
    if again != reading {
        return Some(format!("{}: cut otherwise it is another: {text}", dialect.name));
    }
    wrong(&text, mark, &reading, &arguments, value).map(|wrong| {
        format!(
            "{}: {how} {wrong}: {:?}\n{text}\n{:?} {:?} {:?}",
            dialect.name,
            &whole[marks[at % marks.len()].0..marks[at % marks.len()].1],
            reading.called(),
            reading.prose,
            reading.problems
        )
    })
}

#[test]
fn d08_a_damaged_call_costs_no_other_and_says_nothing_wrong() {
    let mut failed = 0;
    let mut tried = 0;
    for dialect in elements() {
        for value in ["plain", "[get_me(a=1)]"] {
            for at in 0..16 {
                for how in 0..3 {
                    tried += 1;
                    if let Some(wrong) = check(dialect, value, at, how) {
                        failed += 1;
                        println!("{wrong}\n");
                    }
                }
            }
        }
    }
    assert_eq!(failed, 0, "of {tried}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn d08_a_damaged_call_around_any_value_costs_no_other(
        dialect in prop::sample::select(elements()),
        value in "[a-z \\n\"'`{}\\[\\],:=]{0,24}",
        at in 0..16_usize,
        how in 0..3_u8,
    ) {
        let wrong = check(dialect, &format!("v{value}w"), at, how);
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }
}

/// Values escape nothing: a second opening, or half of a second closer, may be the value's own, a piece of a call that
/// it quotes. So nothing is mended, and the call doesn't run.
#[test]
fn d21_a_parameter_that_is_opened_or_closed_twice_is_not_complete() {
    let minimax = "]<]minimax[>[";
    for text in [
        "<tool_call>\n<function=f>\n<parameter=a>\n<parameter=a>\nV\n</parameter>\n</function>\n</tool_call>".to_owned(),
        "<function=f><parameter=a><parameter=a><parameter=a>V</parameter></function>".to_owned(),
        "<function_calls><invoke name=\"f\"><parameter name=\"a\"><parameter name=\"a\">V</parameter></invoke></function_calls>"
            .to_owned(),
        "<minimax:tool_call><invoke name=\"f\">\n<parameter name=\"a\"><parameter name='a'>V</parameter></invoke></minimax:tool_call>"
            .to_owned(),
        "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\"><｜DSML｜parameter name=\"a\" \
         string=\"true\">V</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>"
            .to_owned(),
        "<function name=\"f\"><param name=\"a\"><param name=\"a\">V</param></function>".to_owned(),
        "<tool_call>f<arg_key>a</arg_key><arg_value><arg_value>V</arg_value></tool_call>".to_owned(),
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>\n<arg_value>V</arg_value>\n</tool_call>".to_owned(),
        "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>\
         <|sep|>V<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            .to_owned(),
        "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>\
         V<|close|><|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            .to_owned(),
    ] {
        for repair in [true, false] {
            let setup = Setup::names(&["f"]).with(|policy| policy.repair = repair);
            let reading = crate::reading::read(&format!("Hi. {text} bye"), &setup);
            let [call] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
            assert_eq!((call.arguments.as_str(), call.complete), (r#"{"a":"V"}"#, false), "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.  bye", "{text}: {reading:?}");
        }
    }
    // What only begins so is data, and said to be mended, or broken too.
    let text = "<tool_call>f<arg_key>a</arg_key><arg_value><arg_key>a</arg_key><arg_value>V</arg_value></tool_call>";
    let reading = crate::reading::read(text, &Setup::names(&["f"]));
    assert!(reading.calls[0].repaired || !reading.calls[0].complete, "{reading:?}");
    let text = format!(
        "{minimax}<tool_call>{minimax}<invoke name=\"f\">{minimax}<a>{minimax}<a>V{minimax}</a>{minimax}</invoke>{minimax}</tool_call>"
    );
    let reading = crate::reading::read(&text, &Setup::names(&["f"]));
    assert!(reading.calls[0].repaired || !reading.calls[0].complete, "{reading:?}");
}

#[test]
fn d21_a_separator_of_kimi_written_twice_leaks_nothing() {
    let calls = |section: &str, open: &str, close: &str, over: &str| {
        let one = |name: &str| {
            format!(
                "{open} tool=\"{name}\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>V<|close|>argument<|sep|>{close}"
            )
        };
        format!("Hi. {section}{}{}{over} bye", one("f"), one("g"))
    };
    let (section, open, close) = ("<|open|>tools<|sep|>", "<|open|>call", "<|close|>call<|sep|>");
    let over = "<|close|>tools<|sep|>";
    let twice = |marker: &str| format!("{marker}<|sep|>");
    for text in [
        calls(&twice(section), open, close, over),
        calls(section, open, &twice(close), over),
        calls(section, open, close, &twice(over)),
        calls(section, "<|open|><|open|>call", close, over),
        calls(&twice(section), open, &twice(close), &twice(over)),
    ] {
        let reading = crate::reading::read(&text, &Setup::names(&["f", "g"]));
        assert!(reading.calls.len() == 2 && reading.calls.iter().all(|call| call.complete), "{text}: {reading:?}");
        assert_eq!(reading.prose, "Hi.  bye", "{text}");
    }
}

/// A call of the same dialect stands in a value: it may be read or not, but the rest of the value and its closers are
/// nobody's text, and no call runs with parameters of the other one.
#[test]
fn d21_a_call_in_a_value_of_its_own_dialect_leaks_nothing() {
    for dialect in elements() {
        let inner = render_calls(&[call("gg", &json!({"b": "INNER"}))], dialect).unwrap();
        let outer =
            render_calls(&[call("ff", &json!({"a": "VALUE"})), call("hh", &json!({"z": "THIRD"}))], dialect).unwrap();
        if dialect.open.contains(&"") && dialect.section.is_none() && !outer.starts_with(dialect.open[0]) {
            // Nothing closes these but what closes each call.
            continue;
        }
        for value in [format!("x {inner} y"), format!("x\n{inner}\ny")] {
            let text = format!("Hi. {} Bye.", outer.replace("VALUE", &value));
            let reading = crate::reading::read(&text, &Setup::names(&["ff", "gg", "hh"]));
            let third = reading.calls.iter().filter(|call| call.name == "hh" && call.complete).count();
            assert_eq!(third, 1, "{}: {text}: {reading:?}", dialect.name);
            for call in reading.calls.iter().filter(|call| call.name == "ff" && call.complete) {
                assert!(
                    call.repaired || call.arguments.contains(" y") || call.arguments.contains("\\ny"),
                    "{text}: {call:?}"
                );
                assert!(!call.arguments.contains("\"b\""), "{text}: {call:?}");
            }
        }
    }
}

#[test]
fn d21_the_rest_of_a_torn_value_is_no_text() {
    for text in [
        "<tool_call>\n<function=ff>\n<parameter=a>\nx <tool_call>\n<function=gg>\n<parameter=b>\n1\n</parameter>\n</function>\n\
         </tool_call> y\n</parameter>\n</function>\n</tool_call>",
        "<function_calls><invoke name=\"ff\"><parameter name=\"a\">x <invoke name=\"gg\"><parameter name=\"b\">1</parameter></invoke> \
         y</parameter></invoke></function_calls>",
        "<tool_call>ff<arg_key>a</arg_key><arg_value>x <tool_call>gg<arg_key>b</arg_key><arg_value>1</arg_value></tool_call> \
         y</arg_value></tool_call>",
        "<|open|>tools<|sep|><|open|>call tool=\"ff\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>x <|open|>call \
         tool=\"gg\" index=\"1\"<|sep|><|open|>argument key=\"b\" type=\"number\"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|> \
         y<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        "<|tool_call>call:ff{a:<|tool_call>call:gg{b:1}<tool_call|>,d:2}<tool_call|>",
        "<|tool_call>call:ff{a:x <|tool_call>call:gg{b:1}<tool_call|>,d:2}<tool_call|>",
    ] {
        let reading = crate::reading::read(&format!("Hi. {text} Bye."), &Setup::names(&["ff", "gg"]));
        assert_eq!(reading.prose, "Hi.  Bye.", "{text}: {reading:?}");
        // What is complete holds the other call whole.
        let hybrid = |call: &&loopwright_extract::Call| {
            call.name == "ff"
                && call.complete
                && !call.repaired
                && !(call.arguments.contains("gg") && call.arguments.contains(" y"))
        };
        assert!(!reading.calls.iter().any(|call| hybrid(&call)), "{text}: {reading:?}");
    }
    // Where the closers of the outer one were forgotten it isn't known that the other stands in its value: neither
    // runs.
    let text = "<tool_call>\n<function=ff>\n<parameter=a>\nx\n<tool_call>\n<function=gg>\n</function>\n</tool_call> That is all.";
    let reading = crate::reading::read(text, &Setup::names(&["ff", "gg"]));
    assert!(reading.calls.iter().all(|call| !call.complete), "{reading:?}");
}

/// An attribute's quotation mark is missing, and the element's end with it: the next call's parameters are not this
/// one's.
#[test]
fn d21_an_opening_element_that_swallowed_another_call_does_not_run() {
    let dsml = |attribute: &str| {
        format!(
            "<tools><invoke name=\"ff\">\n<parameter name=\"b\" string={attribute}>x</parameter>\n</invoke>\n<invoke name=\"gg\">\n\
             <parameter name=\"b\" string=\"true\">y</parameter>\n<parameter name=\"c\" string=\"true\">z</parameter>\n</invoke>\n</tools>"
        )
        .replace("<tools>", "<tool_calls>")
        .replace("</tools>", "</tool_calls>")
        .replace("</", "</｜DSML｜")
        .replace("<i", "<｜DSML｜i")
        .replace("<p", "<｜DSML｜p")
        .replace("<t", "<｜DSML｜t")
    };
    let reading = crate::reading::read(&dsml("\"true"), &Setup::names(&["ff", "gg"]));
    assert!(reading.calls.iter().all(|call| call.name != "ff" || !call.complete), "{reading:?}");
    let reading = crate::reading::read(&dsml("\"true\""), &Setup::names(&["ff", "gg"]));
    assert!(reading.calls.len() == 2 && reading.calls.iter().all(|call| call.complete), "{reading:?}");
}
