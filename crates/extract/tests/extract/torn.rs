//! What a cut leaves of a marker is no prose where the dialect's next call stands right behind it, and costs that call
//! nothing. Each text whole, at every cut and byte by byte.

use loopwright_base::json::Raw;
use loopwright_extract::{Call, Dialect, Grammar, ProblemKind, dialects, render_call};
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
    let sound = |call: &Call| call.complete != reading.in_doubt() && !call.repaired;
    matches!(found[..], [call] if sound(call) && call.arguments == "{\"a\":\"gg\"}")
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
                        assert!(reading.calls[1].complete == reading.calls[0].complete, "{text}: {reading:?}");
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
    let text =
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ff:0<|tool_call_end|><|tool_calls_section_end|>";
    let reading = read(text, &Setup::auto());
    assert!(reading.calls[0].complete && reading.calls[0].repaired, "{reading:?}");
}

/// Where the opening of the first parameter begins, and where it ends.
fn opening(dialect: &Dialect, text: &str) -> Option<(usize, usize)> {
    let (open, end) = match dialect.grammar {
        Grammar::Tags(tags) => (tags.parameter.0, ">"),
        Grammar::Attributes => ("<|open|>argument", "<|sep|>"),
        _ => return None,
    };
    let from = text.find(open)?;
    Some((from, from + text[from..].find(end)? + end.len()))
}

#[test]
fn d08_an_opening_that_a_cut_left_without_its_end_costs_no_other_call() {
    each(rows().filter(|row| matches!(row.grammar, Grammar::Tags(_) | Grammar::Attributes)), |dialect| {
        let [first, second] = two(dialect);
        let (from, to) = opening(dialect, &first).unwrap();
        for cut in (from + 1..to).filter(|cut| first.is_char_boundary(*cut)) {
            for between in ["", "\n"] {
                let text = format!("Hi. {}{between}{second} Bye.", &first[..cut]);
                for setup in setups() {
                    let reading = read_twice(text.as_bytes(), &setup);
                    assert!(!reading.calls[0].complete && reading.calls[0].name == "ff", "{text}: {reading:?}");
                    assert!(has_second(&reading), "{text}: {reading:?}");
                    let prose: Vec<&str> = reading.prose.split_whitespace().collect();
                    assert_eq!(prose, ["Hi.", "Bye."], "{text}: {reading:?}");
                }
            }
        }
    });
}

#[test]
fn d08_a_calls_opening_without_its_end_costs_no_other_call() {
    for (text, prose) in [
        ("<function=ff<function=gg><parameter=a>gg</parameter></function> t", " t"),
        ("<function=f<function=gg><parameter=a>gg</parameter></function> t", " t"),
        ("<invoke name=\"ff<invoke name=\"gg\"><parameter name=\"a\">gg</parameter></invoke> t", " t"),
        ("<invoke name=\"f\n<invoke name=\"gg\"><parameter name=\"a\">gg</parameter></invoke> t", " t"),
        ("<invoke name=\"<invoke name=\"gg\"><parameter name=\"a\">gg</parameter></invoke> t", " t"),
        ("<function name=\"ff<function name=\"gg\"><param name=\"a\">gg</param></function> t", " t"),
        (
            "<function_calls><invoke name=\"ff<parameter name=\"a\">x</parameter></invoke><invoke name=\"gg\">\
             <parameter name=\"a\">gg</parameter></invoke></function_calls> t",
            " t",
        ),
        (
            "<tool_call>\n<function=ff\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=gg>\n\
             <parameter=a>\ngg\n</parameter>\n</function>\n</tool_call> t",
            "\n t",
        ),
        (
            "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f<｜DSML｜invoke name=\"gg\"><｜DSML｜parameter name=\"a\" string=\"true\">gg\
             </｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls> t",
            " t",
        ),
        (
            "<|open|>tools<|sep|><|open|>call tool=\"ff\" ind<|open|>call tool=\"gg\" index=\"2\"<|sep|><|open|>argument key=\"a\" \
             type=\"string\"<|sep|>gg<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|> t",
            " t",
        ),
    ] {
        for setup in setups() {
            let reading = read(text, &setup);
            assert!(has_second(&reading), "{text}: {reading:?}");
            assert!(reading.calls.iter().all(|call| call.name == "gg" || !call.complete), "{text}: {reading:?}");
            assert_eq!(reading.prose, prose, "{text}: {reading:?}");
        }
    }
    let talk = "Write <function= or <function=ff> there.";
    assert!(read(talk, &Setup::names(&["ff"])).prose.starts_with("Write <function= or "));
}

#[test]
fn d21_what_is_left_of_a_call_that_nothing_stands_around_is_no_prose_where_another_tore_its_value() {
    for (head, parameter, end, close) in [
        ("<function=NAME>", "<parameter=a>", "</parameter>", "</function>"),
        ("<invoke name=\"NAME\">", "<parameter name=\"a\">", "</parameter>", "</invoke>"),
        ("<function name=\"NAME\">", "<param name=\"a\">", "</param>", "</function>"),
        (
            "<｜DSML｜invoke name=\"NAME\">",
            "<｜DSML｜parameter name=\"a\" string=\"true\">",
            "</｜DSML｜parameter>",
            "</｜DSML｜invoke>",
        ),
    ] {
        let [first, second] = ["ff", "gg"].map(|name| head.replace("NAME", name));
        let inner = format!("{second}{parameter}gg{end}{close}");
        for gap in ["", "\n"] {
            let text = format!("Hi. {first}{parameter}x\n{inner}{gap} y{gap}{end}{gap}{close} t\n{inner} u");
            for setup in setups() {
                let reading = read(&text, &setup);
                // A call that opens and closes before the value's own closing element is quoted in it and never runs.
                let found = reading.called();
                assert_eq!(found.iter().map(|call| call.0).collect::<Vec<_>>(), ["ff", "gg"], "{text}: {reading:?}");
                let value = found[0].1["a"].as_str().unwrap();
                assert_eq!(value.trim_end(), format!("x\n{inner}{gap} y"), "{text}: {reading:?}");
                assert!(reading.calls[0].complete && has_second(&reading), "{text}: {reading:?}");
                assert_eq!(reading.prose, "Hi.  t\n u", "{text}: {reading:?}");
            }
        }
        // A torn closer and the next call stand behind the value's closing element: what is left is no prose.
        for torn in ["<", "</", "\n</\n"] {
            let text = format!("Hi. {first}{parameter}x{end}{torn}{inner} y{end}{close} t\n{inner} u");
            for setup in setups() {
                let reading = read(&text, &setup);
                let found: Vec<_> = reading.calls.iter().map(|call| call.name.as_str()).collect();
                assert_eq!(found, ["ff", "gg", "gg"], "{text}: {reading:?}");
                assert_eq!(reading.prose, "Hi.  t\n u", "{text}: {reading:?}");
                assert!(reading.dropped(loopwright_extract::Dropped::Malformed) > 0, "{text}: {reading:?}");
            }
        }
        // Words behind a call whose value had no closer are words.
        let text = format!("{first}{parameter}x{close} y, and more.\n\nThe end. </b>");
        let reading = read(&text, &Setup::names(&["ff", "gg"]));
        assert_eq!(reading.prose, " y, and more.\n\nThe end. </b>", "{text}: {reading:?}");
        // Words behind a quoted call may be the value's, as nothing closes it: they stay there, and neither call runs.
        let text = format!("{first}{parameter}x\n{inner} y, and more.\n\nThe end. </b>");
        let reading = read(&text, &Setup::names(&["ff", "gg"]));
        assert!(matches!(&reading.calls[..], [call] if call.name == "ff" && !call.complete), "{text}: {reading:?}");
        assert!(reading.prose.is_empty() && reading.has(ProblemKind::Incomplete), "{text}: {reading:?}");
    }
}

#[test]
fn d22_python_arguments_nested_too_deep_cost_no_other_call_however_long() {
    let deep = format!("{}{}", "[1, ".repeat(700), "]".repeat(700));
    for (open, close) in [
        ("<|tool_call_start|>[", "]<|tool_call_end|>"),
        ("<|python_start|>[", "]<|python_end|>"),
        ("<function_calls>\n", "\n</function_calls>"),
    ] {
        let text = format!("Hi. {open}ff(a={deep}, b=2), gg(a=\"gg\"){close} t");
        for setup in setups() {
            let reading = read_twice(text.as_bytes(), &setup);
            assert!(!reading.calls[0].complete && has_second(&reading), "{:?}", reading.problems);
            assert_eq!(reading.prose, "Hi.  t");
        }
    }
}

#[test]
fn d08_a_separator_that_a_bracket_stands_before_makes_no_call_without_arguments() {
    each(rows().filter(|row| matches!(row.grammar, Grammar::Named { fenced: false, .. })), |dialect| {
        let [first, second] = two(dialect);
        let at = first.find('{').unwrap();
        let head = first[..at].trim_end();
        let name = head.find("ff").unwrap();
        // Behind the name and its number.
        let from = name + head[name..].find(|c: char| "<[`\n".contains(c)).unwrap_or(head.len() - name);
        let separator = &first[from..at];
        if separator.trim().len() < 2 {
            return;
        }
        let text = format!("Hi. {}{{{separator}{}{second} Bye.", &first[..from], &first[at + 1..]);
        for setup in setups() {
            let reading = read_twice(text.as_bytes(), &setup);
            assert!(reading.calls.iter().all(|call| call.name != "ff" || !call.complete), "{text}: {reading:?}");
            assert!(has_second(&reading), "{text}: {reading:?}");
            // Where nothing of it is a call, it is text.
            if reading.calls.len() == 2 {
                let prose: Vec<&str> = reading.prose.split_whitespace().collect();
                assert_eq!(prose, ["Hi.", "Bye."], "{text}: {reading:?}");
            }
        }
    });
}

#[test]
fn d08_a_number_behind_the_bracket_of_the_object_that_lacks_it_is_not_lost_in_silence() {
    let text = "<|tool_calls_section_begin|><|tool_call_begin|>functions.ff:0<|tool_call_argument_begin|>{\"a\":}-37\
                <|tool_call_end|><|tool_call_begin|>functions.gg:1<|tool_call_argument_begin|>{\"a\":\"gg\"}\
                <|tool_call_end|><|tool_calls_section_end|> Bye.";
    for setup in setups() {
        let reading = read_twice(text.as_bytes(), &setup);
        assert!(!reading.calls[0].complete && has_second(&reading), "{reading:?}");
        assert_eq!(reading.prose, " Bye.", "{reading:?}");
    }
}
