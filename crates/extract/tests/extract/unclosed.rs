//! What ends a value whose closer is missing, and what becomes of words behind one: no call swallows what follows it,
//! none that is broken runs as if it were whole. Each text whole, at every cut and byte by byte.

use loopwright_base::json::Raw;
use loopwright_extract::{Dropped, Grammar, ProblemKind, dialects, render_call};
use serde_json::{Value, json};

use crate::reading::{Reading, Setup, each, pieces, read};

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "n": {"type": "integer"}}})
}

fn declared() -> Setup {
    Setup::tools(&[("f", schema()), ("g", schema())])
}

/// A dialect of raw values: how a call opens, a value, what closes it, what closes the call, what stands around calls.
#[derive(Clone, Copy)]
struct Row {
    around: (&'static str, &'static str),
    call: (&'static str, &'static str, &'static str),
    value: (&'static str, &'static str, &'static str),
}

const ROWS: &[Row] = &[
    Row {
        around: ("<tool_call>\n", "\n</tool_call>"),
        call: ("<function=", ">\n", "</function>"),
        value: ("<parameter=", ">\n", "\n</parameter>\n"),
    },
    Row {
        around: ("<seed:tool_call>\n", "\n</seed:tool_call>"),
        call: ("<function=", ">\n", "</function>"),
        value: ("<parameter=", ">", "</parameter>\n"),
    },
    Row {
        around: ("<function_calls>\n", "\n</function_calls>"),
        call: ("<invoke name=\"", "\">\n", "</invoke>"),
        value: ("<parameter name=\"", "\">", "</parameter>\n"),
    },
    Row {
        around: ("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
        call: ("<invoke name=\"", "\">\n", "</invoke>"),
        value: ("<parameter name=\"", "\">", "</parameter>\n"),
    },
    Row {
        around: ("<｜DSML｜function_calls>\n", "\n</｜DSML｜function_calls>"),
        call: ("<｜DSML｜invoke name=\"", "\">\n", "</｜DSML｜invoke>"),
        value: ("<｜DSML｜parameter name=\"", "\" string=\"true\">", "</｜DSML｜parameter>\n"),
    },
    Row {
        around: ("", ""),
        call: ("<function name=\"", "\">", "</function>"),
        value: ("<param name=\"", "\">", "</param>"),
    },
    Row {
        around: ("", ""),
        call: ("<tool_call>", "\n", "</tool_call>"),
        value: ("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"),
    },
    Row {
        around: ("<tool_calls>", "</tool_calls>"),
        call: ("<tool_call>", "<tool_sep>", "</tool_call>"),
        value: ("<arg_key>", "</arg_key><arg_value>", "</arg_value>"),
    },
    Row {
        around: ("<ifm|tool_calls>", "</ifm|tool_calls>"),
        call: ("<ifm|tool_call>", "\n", "</ifm|tool_call>"),
        value: ("<ifm|arg_key>", "</ifm|arg_key>\n<ifm|arg_value>", "</ifm|arg_value>\n"),
    },
    Row {
        around: ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        call: ("<|open|>call tool=\"", "\" index=\"1\"<|sep|>", "<|close|>call<|sep|>"),
        value: ("<|open|>argument key=\"", "\" type=\"string\"<|sep|>", "<|close|>argument<|sep|>"),
    },
    Row {
        around: ("]<]minimax[>[<tool_call>\n", "\n]<]minimax[>[</tool_call>"),
        call: ("]<]minimax[>[<invoke name=\"", "\">", "]<]minimax[>[</invoke>"),
        value: ("]<]minimax[>[<", ">", "]<]minimax[>[</KEY>"),
    },
];

impl Row {
    /// A parameter; with `junk` behind its closer, or without that.
    fn value(&self, key: &str, value: &str, closed: bool, junk: &str) -> String {
        let end = self.value.2.replace("KEY", key);
        let (open, head, end) = (self.value.0, self.value.1, if closed { &*end } else { "\n" });
        format!("{open}{key}{head}{value}{end}{junk}")
    }

    fn call(&self, name: &str, inside: &str) -> String {
        format!("{}{name}{}{inside}{}", self.call.0, self.call.1, self.call.2)
    }

    fn around(&self, calls: &str) -> String {
        format!("{}{calls}{}", self.around.0, self.around.1)
    }

    /// A whole call of `g`.
    fn next(&self) -> String {
        self.call("g", &self.value("a", "whole", true, ""))
    }
}

/// That `g` came out whole, and nothing of the markup as prose.
#[track_caller]
fn next_is_whole(reading: &Reading, text: &str) {
    let last = reading.calls.last().unwrap_or_else(|| panic!("{text}: {reading:?}"));
    let complete = !reading.in_doubt();
    assert_eq!((last.name.as_str(), last.complete, last.repaired), ("g", complete, false), "{text}: {reading:?}");
    assert_eq!(serde_json::from_str::<Value>(&last.arguments).unwrap(), json!({"a": "whole"}), "{text}");
    assert_eq!(reading.calls.len(), 2, "{text}: {reading:?}");
    assert!(!reading.prose.contains(['<', '>', '[']), "{text}: {reading:?}");
}

/// That the call was mended to these arguments; where nothing may be mended, or another call follows a value that
/// nothing closed, that it doesn't run.
#[track_caller]
fn mended(text: &str, setup: &Setup, arguments: &Value, next: bool) {
    let reading = read(text, setup);
    let call = reading.calls.first().unwrap_or_else(|| panic!("{text}: {reading:?}"));
    let made: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| panic!("{text}: {reading:?}"));
    let trimmed: serde_json::Map<String, Value> = made
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| (key.clone(), value.as_str().map_or(value.clone(), |text| text.trim().into())))
        .collect();
    assert_eq!(&Value::Object(trimmed), arguments, "{text}: {reading:?}");
    assert!(call.complete != reading.in_doubt() && call.repaired, "{text}: {reading:?}");
    assert!(reading.has(ProblemKind::Repaired) && (next || call.complete), "{text}: {reading:?}");
    let strict = read(text, &setup.clone().with(|policy| policy.repair = false));
    assert!(!strict.calls[0].complete, "{text}: {strict:?}");
    assert!(strict.problems.iter().any(|(_, call)| *call == Some(0)), "{text}: {strict:?}");
    for reading in [reading, strict] {
        if next {
            next_is_whole(&reading, text);
        } else {
            assert_eq!((reading.calls.len(), reading.prose.trim()), (1, ""), "{text}: {reading:?}");
        }
    }
}

#[test]
fn d08_a_value_without_its_closer_ends_with_the_call() {
    for row in ROWS {
        for setup in [declared(), Setup::auto(), Setup::names(&["f", "g"])] {
            let f = row.call("f", &row.value("a", "x", false, ""));
            mended(&row.around(&f), &setup, &json!({"a": "x"}), false);
            let two = row.call("f", &(row.value("b", "y", true, "") + &row.value("a", "x", false, "")));
            mended(&row.around(&two), &setup, &json!({"a": "x", "b": "y"}), false);
            let together = format!("{f}\n{}", row.next());
            let apart = format!("{}\n{}", row.around(&f), row.around(&row.next()));
            for text in [row.around(&together), apart] {
                mended(&text, &setup, &json!({"a": "x"}), true);
                assert!(read(&text, &setup).in_doubt(), "{text}");
            }
        }
    }
}

#[test]
fn d08_a_value_without_its_closer_ends_with_the_next() {
    for row in ROWS {
        let f = row.call("f", &(row.value("a", "x", false, "") + &row.value("b", "y", true, "")));
        mended(&row.around(&f), &declared(), &json!({"a": "x", "b": "y"}), false);
        mended(
            &format!("{}\n{}", row.around(&f), row.around(&row.next())),
            &declared(),
            &json!({"a": "x", "b": "y"}),
            true,
        );
        if !row.call.0.contains("minimax[") {
            mended(&row.around(&f), &Setup::auto(), &json!({"a": "x", "b": "y"}), false);
        }
    }
}

#[test]
fn d08_a_call_without_its_closer_ends_with_the_next_call() {
    for row in ROWS {
        let open = format!("{}f{}{}", row.call.0, row.call.1, row.value("a", "x", true, ""));
        mended(&row.around(&format!("{open}{}", row.next())), &declared(), &json!({"a": "x"}), true);
    }
}

#[test]
fn e5_a_value_that_nothing_closes_before_the_next_call_runs_neither() {
    for row in ROWS {
        // Whether the second call is quoted in the value is not known.
        let open = format!("{}f{}{}", row.call.0, row.call.1, row.value("a", "x", false, ""));
        let text = row.around(&format!("{open}{}", row.next()));
        for setup in [declared(), Setup::auto()] {
            let reading = read(&text, &setup);
            assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
            assert_eq!(reading.calls[0].name, "f", "{text}: {reading:?}");
        }
    }
}

#[test]
fn d08_a_number_without_its_closer_ends_at_any_closer() {
    for row in ROWS {
        let f = row.call("f", &row.value("n", "12", false, "")).replace("string=\"true\"", "");
        let f = f.replace(" type=\"string\"", "");
        let text = format!("{} And so on.", row.around(&f));
        let reading = read(&text, &declared());
        assert_eq!(reading.called(), [("f", json!({"n": 12}))], "{text}: {reading:?}");
        assert!(reading.calls[0].complete && reading.calls[0].repaired, "{text}: {reading:?}");
        assert_eq!(reading.prose, " And so on.", "{text}");
    }
}

#[test]
fn d08_words_behind_a_value_break_the_call_and_nothing_else() {
    for row in ROWS {
        for setup in [declared(), Setup::auto()] {
            for junk in [" so ", "so", " so \n", "// comment\n"] {
                for more in [String::new(), row.value("b", "y", true, "")] {
                    let f = row.around(&row.call("f", &(row.value("a", "x", true, junk) + &more)));
                    for text in [f.clone(), format!("{f}\n{}", row.around(&row.next())), format!("{f} bye")] {
                        if more.is_empty() && text.ends_with("bye") && !row.around.1.is_empty() {
                            assert_eq!(read(&text, &setup).prose, " bye", "{text}");
                        }
                        for repair in [true, false] {
                            let reading = read(&text, &setup.clone().with(|policy| policy.repair = repair));
                            let call = &reading.calls[0];
                            assert!(!call.complete, "{text}: {reading:?}");
                            assert!(reading.has(ProblemKind::Malformed), "{text}: {reading:?}");
                            assert!(!reading.has(ProblemKind::Repaired), "{text}: {reading:?}");
                            if text.contains("whole") {
                                next_is_whole(&reading, &text);
                            } else {
                                assert_eq!(reading.calls.len(), 1, "{text}: {reading:?}");
                            }
                            assert_eq!(reading.dropped(Dropped::Malformed), 0, "{text}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn d17_values_that_talk_of_markers_stay_whole() {
    for row in ROWS {
        let end = row.value.2.replace("KEY", "a");
        let (end, call_end) = (end.trim(), row.call.2);
        for talk in [
            format!("see {end} there"),
            format!("see {call_end} there"),
            format!("{call_end} first"),
            format!("if x == \"{call_end}\":\n  pass"),
            format!("if x == \"{end}\":\n  pass"),
            format!("so {} and so", row.call.0.trim()),
        ] {
            let text = row.around(&row.call("f", &row.value("a", &talk, true, "")));
            let reading = read(&text, &declared());
            assert_eq!(reading.called(), [("f", json!({"a": talk}))], "{text}");
            assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{text}: {reading:?}");
            assert_eq!(reading.prose, "");
        }
    }
}

#[test]
fn d08_a_string_without_its_end_makes_no_call_of_two() {
    let json = |row: &&loopwright_extract::Dialect| {
        matches!(row.grammar, Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. } | Grammar::Harmony)
            && !row.bare
    };
    each(dialects().iter().filter(json), |dialect| {
        let call = |name: &str, value: &str| render_call(name, &Raw::of(&json!({"a": value})), None, dialect).unwrap();
        let open = call("f", "x").replacen("\"x\"", "\"x", 1);
        for between in ["", "\n", " "] {
            let text = format!("{open}{between}{}", call("g", "whole"));
            let reading = read(&text, &Setup::names(&["f", "g"]).only(&[dialect.name]));
            let first = reading.calls.iter().find(|call| call.name == "f").unwrap();
            assert!(!first.complete, "{text}: {reading:?}");
        }
    });
}

#[test]
fn d21_a_closer_that_the_end_cuts_short_is_no_text() {
    // A closer that goes on with the message's end is one without it, and the frame's end is prose's matter.
    each(dialects().iter().filter(|row| !row.bare && row.title.is_empty()), |dialect| {
        let text = render_call("f", &Raw::of(&json!({"a": "x", "b": "y"})), None, dialect).unwrap();
        let closers =
            dialect.close.iter().take(1).chain(dialect.section.iter().flat_map(|section| section.1.iter().take(1)));
        for closer in closers.filter(|closer| !closer.is_empty()) {
            let at = text.rfind(closer).unwrap();
            for end in (at + 2..at + closer.len()).filter(|end| text.is_char_boundary(*end)) {
                let setup = declared().only(&[dialect.name]);
                let reading = pieces([&text.as_bytes()[..end]], &setup);
                assert_eq!(reading, pieces(text.as_bytes()[..end].chunks(1), &setup));
                assert_eq!((reading.calls.len(), reading.prose.trim()), (1, ""), "{}: {reading:?}", &text[..end]);
            }
        }
    });
}

/// A string whose quote is missing, between quotes of the dialect's own: the next call's first quote isn't its end.
#[test]
fn d21_a_string_between_own_quotes_without_its_end_swallows_no_call() {
    let setup = Setup::names(&["f", "g", "h"]);
    for (quote, open, close) in
        [("<|\"|>", "<|tool_call>", "<tool_call|>"), ("<escape>", "<start_function_call>", "<end_function_call>")]
    {
        let string = |text: &str| format!("{quote}{text}{quote}");
        let call = |name: &str, inside: &str| format!("{open}call:{name}{{{inside}}}{close}");
        let next = call("g", &format!("n:5,b:{}", string("x")));
        for inside in [format!("a:{quote}V1"), format!("a:{quote}V1,n:4"), format!("a:{},c:{quote}V2", string("V1"))] {
            let text = format!("Hi. {}{next} bye", call("f", &inside));
            let reading = read(&text, &setup);
            let found: Vec<_> = reading.calls.iter().map(|call| (call.name.as_str(), call.complete)).collect();
            assert_eq!(found, [("f", false), ("g", false)], "{text}: {reading:?}");
            assert_eq!(reading.calls[1].arguments, r#"{"n":5,"b":"x"}"#);
            assert_eq!(reading.prose, "Hi.  bye", "{text}");
            let text = format!("Hi. {} bye", call("f", &inside));
            let reading = read(&text, &setup);
            assert!(reading.calls.len() == 1 && !reading.calls[0].complete, "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.  bye", "{text}");
        }
        // What stands in a string is data, and runs nothing where something is amiss behind it.
        for held in [call("g", ""), format!("}}{close}{open}call:g{{b:"), format!("}}{close}{}", call("h", "n:1"))] {
            for behind in [",n:4", " n:4", ""] {
                let text = call("f", &format!("a:{}{behind}", string(&held)));
                let reading = read(&text, &setup);
                assert!(reading.calls.iter().all(|call| call.name == "f" || !call.complete), "{text}: {reading:?}");
                let data = reading.calls[0].arguments.contains(&held.replace('"', "\\\""));
                assert_eq!(reading.calls[0].complete, behind != " n:4", "{text}: {reading:?}");
                assert!(data || !reading.calls[0].complete, "{text}: {reading:?}");
            }
        }
    }
}
