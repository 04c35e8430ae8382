//! Slips of models that cost nothing: markers written twice, closers forgotten where no wrapper stands around a call,
//! and markup that is talked about within values and within reasoning. Each text whole, at every cut and byte by byte.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Grammar, ProblemKind, dialects, render_calls, repair_json};
use serde_json::{Value, json};

use crate::reading::{Setup, each, pieces, read};

fn call(name: &str, arguments: &Value) -> ToolUse {
    ToolUse::from_text("", name, arguments.to_string())
}

fn elements() -> impl Iterator<Item = &'static loopwright_extract::Dialect> {
    dialects().iter().filter(|dialect| {
        matches!(
            dialect.grammar,
            Grammar::Tags(_) | Grammar::Nested { .. } | Grammar::Pairs { .. } | Grammar::Attributes
        )
    })
}

#[test]
fn d08_a_marker_written_twice_is_no_prose() {
    each(elements(), |dialect| {
        let text = render_calls(&[call("ff", &json!({"a": "x"})), call("gg", &json!({"b": "y"}))], dialect).unwrap();
        let section = dialect.section.iter().flat_map(|section| section.0.iter().chain(section.1));
        let mut marks: Vec<&str> = dialect.open.iter().chain(dialect.close).chain(section).copied().collect();
        if let Grammar::Tags(tags) = dialect.grammar {
            marks.push(tags.call_end);
        }
        marks.retain(|mark| mark.len() > 3 && text.contains(mark));
        for mark in marks {
            for (at, _) in text.match_indices(mark) {
                // What a longer opener begins with isn't written twice.
                let longer = dialect.open.iter().any(|open| open.len() > mark.len() && open.starts_with(mark));
                // The opener of a title stands before the tool's name, no call of its own.
                if longer || (!dialect.title.is_empty() && at == 0) {
                    continue;
                }
                let text = format!("Hi. {}{mark}{} Bye.", &text[..at], &text[at..]);
                let reading = read(&text, &Setup::names(&["ff", "gg"]));
                assert_eq!(
                    reading.called(),
                    [("ff", json!({"a": "x"})), ("gg", json!({"b": "y"}))],
                    "{mark} {text}: {reading:?}"
                );
                assert!(reading.calls.iter().all(|call| call.complete), "{mark} {text}: {reading:?}");
                assert_eq!(
                    reading.prose.split_whitespace().collect::<Vec<_>>(),
                    ["Hi.", "Bye."],
                    "{mark} {text}: {reading:?}"
                );
            }
        }
    });
}

#[test]
fn d08_words_behind_a_call_whose_value_is_open_are_prose() {
    for (open, parameter, end) in [
        ("<function=NAME>", "<parameter=a>", "</function>"),
        ("<invoke name=\"NAME\">", "<parameter name=\"a\">", "</invoke>"),
        ("<function name=\"NAME\">", "<param name=\"a\">", "</function>"),
    ] {
        let (first, second) = (open.replace("NAME", "ff"), open.replace("NAME", "gg"));
        for (before, between) in [("1", " then "), ("\n1\n", "\nthen more.\n"), ("1", " a < b, <b>then</b> ")] {
            let text = format!("{first}{parameter}{before}{end}{between}{second}{end} bye");
            let reading = read(&text, &Setup::names(&["ff", "gg"]));
            assert_eq!(reading.called(), [("ff", json!({"a": 1})), ("gg", json!({}))], "{text}: {reading:?}");
            assert!(reading.calls[0].repaired && !reading.calls[1].repaired, "{text}: {reading:?}");
            assert_eq!(reading.prose, format!("{between} bye"), "{text}: {reading:?}");
            // The second may stand in the first one's value, which nothing closed.
            let strict = read(&text, &Setup::names(&["ff", "gg"]).with(|policy| policy.repair = false));
            for reading in [&reading, &strict] {
                assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
            }
            // With no other call behind the words it isn't known where the value ended.
            let alone = read(&format!("{first}{parameter}{before}{end}{between}"), &Setup::names(&["ff"]));
            assert!(!alone.calls[0].complete && alone.prose == between, "{alone:?}");
        }
        // A value that talks of the closer is closed itself.
        let close = if parameter.starts_with("<param ") { "</param>" } else { "</parameter>" };
        let text = format!("{first}{parameter}use {end} and so on{close}{end} bye");
        let reading = read(&text, &Setup::names(&["ff", "gg"]));
        assert_eq!(reading.called(), [("ff", json!({"a": format!("use {end} and so on")}))], "{reading:?}");
        assert!(reading.calls[0].complete && !reading.calls[0].repaired && reading.prose == " bye", "{reading:?}");
    }
}

#[test]
fn d08_parameters_on_one_line_end_each_other() {
    for (open, end) in [("<tool_call>", "</tool_call>"), ("", ""), ("<seed:tool_call>", "</seed:tool_call>")] {
        let text = format!("{open}<function=ff><parameter=a>1<parameter=b>2</parameter></function>{end} bye");
        for setup in [
            Setup::auto(),
            Setup::names(&["ff"]),
            Setup::tools(&[("ff", json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}))]),
        ] {
            let reading = read(&text, &setup);
            assert_eq!(reading.called(), [("ff", json!({"a": 1, "b": 2}))], "{text}: {reading:?}");
            assert!(reading.calls[0].complete && reading.calls[0].repaired, "{text}: {reading:?}");
            let strict = read(&text, &setup.with(|policy| policy.repair = false));
            assert!(!strict.calls[0].complete, "{text}: {strict:?}");
        }
    }
    // What stands apart is talked about.
    let talk = "<function=ff><parameter=a>say <parameter=b> here</parameter></function>";
    assert_eq!(read(talk, &Setup::auto()).called(), [("ff", json!({"a": "say <parameter=b> here"}))]);
}

#[test]
fn d21_a_call_in_a_fence_within_a_value_is_data() {
    for (open, end, parameter, close, inner) in [
        ("<function=ff>", "</function>", "<parameter=a>", "</parameter>", "<function=gg></function>"),
        (
            "<invoke name=\"ff\">",
            "</invoke>",
            "<parameter name=\"a\">",
            "</parameter>",
            "<invoke name=\"gg\"></invoke>",
        ),
        (
            "<tool_call>ff\n<arg_key>a</arg_key>",
            "</tool_call>",
            "<arg_value>",
            "</arg_value>",
            "<tool_call>gg\n</tool_call>",
        ),
    ] {
        let value = format!("See:\n```xml\n{inner}\n```\nso");
        let text = format!("{open}{parameter}{value}{close}{end} bye");
        for names in [&["ff", "gg"][..], &["gg"], &["ff"]] {
            let reading = read(&text, &Setup::names(names));
            assert!(reading.calls.iter().all(|call| call.name == "ff"), "{text}: {reading:?}");
            if names.contains(&"ff") {
                assert_eq!(reading.called(), [("ff", json!({ "a": value }))], "{text}: {reading:?}");
                assert_eq!(reading.prose, " bye");
            } else {
                assert_eq!(reading.prose, text);
            }
        }
    }
}

#[test]
fn d21_quoted_calls_in_reasoning_are_quoted() {
    let call = "<tool_call>{\"name\":\"ff\",\"arguments\":{}}</tool_call>";
    let run = || Setup::auto().with(|policy| policy.reasoning_calls = true);
    for (open, close) in [("<think>", "</think>"), ("<thought>", "</thought>"), ("[THINK]", "[/THINK]")] {
        for quoted in [
            format!("say `{call}` to call"),
            format!("so:\n```\n{call}\n```\nthen"),
            format!("so:\n> {call}\nthen"),
            format!("write “{call}” there"),
            format!("write \"{call}\" there"),
        ] {
            let text = format!("{open}{quoted}{close}done");
            let reading = read(&text, &run());
            assert!(reading.calls.is_empty(), "{text}: {reading:?}");
            assert_eq!((reading.reasoning.as_str(), reading.prose.as_str()), (quoted.as_str(), "done"), "{text}");
            let both = read(&text, &run().quoted_run());
            assert_eq!(both.calls.len(), 1, "{text}: {both:?}");
        }
        for stray in ["a ` b ", "a \"b ", "```\nx\n```\n", "don't "] {
            let reading = read(&format!("{open}{stray}{call}{close}do`ne\""), &run());
            assert_eq!(reading.calls.len(), 1, "{stray}: {reading:?}");
            assert_eq!(reading.prose, "do`ne\"", "{stray}: {reading:?}");
        }
        // A fence that nobody closes ends with the reasoning.
        let reading = read(&format!("{open}so:\n```\nx{close}{call}"), &run());
        assert_eq!(reading.calls.len(), 1, "{reading:?}");
    }
}

#[test]
fn a20_every_name_that_a_dialect_writes_is_read_back() {
    each(dialects(), |dialect| {
        for name in
            ["a$b", "$a", "a@b", "a/b", "a:b", "a.b", "a-b", "_a", "é", "a1", "工具", "a b", "a,b", "a{b", "a\"b"]
        {
            let Ok(text) = render_calls(&[call(name, &json!({"k": "v"}))], dialect) else { continue };
            let setup = Setup::names(&[name]).only(&[dialect.name]);
            let reading = pieces([text.as_bytes()], &if dialect.bare { setup.bare() } else { setup });
            assert_eq!(reading.called(), [(name, json!({"k": "v"}))], "{text}: {reading:?}");
            assert!(reading.calls[0].complete && !reading.has(ProblemKind::Repaired), "{text}: {reading:?}");
        }
    });
}

/// Found by fuzzing: inputs of which something depended on the cuts.
#[test]
fn d17_what_stands_behind_a_bracket_too_many_is_the_same_at_every_cut() {
    for text in [
        "{\"s\": <|tool_call_begin|>r {}}:",
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\":1}}: x<|tool_call_end|> bye",
        "[TOOL_CALLS]f[ARGS]{\"a\":1}}:{\"b\":2}",
        "[TOOL_CALLS]f[ARGS]{\"a\":1}},\"b\":2}",
    ] {
        read(text, &Setup::names(&["f"]));
        read(text, &Setup::auto());
    }
}

#[test]
fn d22_a_key_that_lost_its_first_quote_or_has_one_too_many_is_a_key() {
    let mended = [
        (r#"{"city":"x",days":3}"#, r#"{"city":"x","days":3}"#),
        (r#"{"city":"x", days" : "3", "far":true}"#, r#"{"city":"x","days":"3","far":true}"#),
        (r#"{"city":"x""#, r#"{"city":"x"}"#),
        (r#"{"city"":"x","days":3}"#, r#"{"city":"x","days":3}"#),
        (r#"{"city":"x","days"" :3}"#, r#"{"city":"x","days":3}"#),
    ];
    for (text, wanted) in mended {
        let found: Value = serde_json::from_str(&repair_json(text).json).unwrap();
        assert_eq!(found, serde_json::from_str::<Value>(wanted).unwrap(), "{text}");
    }
    // A string that says so stays one.
    for text in [r#"{"a":"x, days: \"3\""}"#, r#"{"a":"say \"b\",c"}"#, r#"{"a" "b"}"#] {
        let found: Value = serde_json::from_str(&repair_json(text).json).unwrap();
        assert_eq!(found.as_object().map(serde_json::Map::len), Some(1), "{text}: {found}");
    }
}

#[test]
fn d22_a_quote_missing_or_too_many_costs_no_sibling() {
    let rows = || {
        dialects()
            .iter()
            .filter(|row| !row.bare && matches!(row.grammar, Grammar::Named { .. } | Grammar::Object { .. }))
    };
    each(rows(), |dialect| {
        let text =
            render_calls(&[call("ff", &json!({"a": "x", "b": 3})), call("gg", &json!({"c": "y"}))], dialect).unwrap();
        for (sound, broken) in [("\"b\"", "b\""), ("\"b\"", "\"b\"\"")] {
            let text = text.replacen(sound, broken, 1);
            for setup in [Setup::auto(), Setup::names(&["ff", "gg"])] {
                let reading = read(&text, &setup);
                let called = reading.called();
                assert_eq!(
                    called,
                    [("ff", json!({"a": "x", "b": 3})), ("gg", json!({"c": "y"}))],
                    "{text}: {reading:?}"
                );
                assert!(reading.calls.iter().all(|call| call.complete), "{text}: {reading:?}");
                assert_eq!(
                    [reading.calls[0].repaired, reading.calls[1].repaired],
                    [true, false],
                    "{text}: {reading:?}"
                );
                assert_eq!(reading.prose.trim(), "", "{text}: {reading:?}");
            }
        }
    });
}

#[test]
fn d08_arguments_that_a_marker_or_a_bracket_broke_in_two_do_not_run() {
    let head = "<|channel|>commentary to=functions.ff <|constrain|>json";
    for content in [
        "{<|message|>\"a\": \"x\", \"b\": 3}",
        "{\"a\": \"x\"<|message|>, \"b\": 3}",
        "<|message|>{\"a\": \"x\", \"b\":}3",
    ] {
        let text = format!("Hi. {head}{content}<|call|> Bye.");
        for setup in [Setup::auto(), Setup::names(&["ff"])] {
            let reading = read(&text, &setup);
            assert!(!reading.calls.iter().any(|call| call.complete), "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.  Bye.", "{text}: {reading:?}");
        }
    }
}

#[test]
fn d17_a_section_behind_a_stray_mark_and_words_before_its_call_is_read_at_every_cut() {
    let long = "x".repeat(120);
    for (before, call) in [
        ("<function_calls>", format!("<invoke name=\"ff\">\n<parameter name=\"a\">{long}</parameter>\n</invoke>")),
        ("<minimax:tool_call>", format!("<invoke name=\"ff\">\n<parameter name=\"a\">{long}</parameter>\n</invoke>")),
        (
            "<tool_calls>",
            format!("<tool_call>ff<tool_sep><arg_key>a</arg_key><arg_value>{long}</arg_value></tool_call>"),
        ),
    ] {
        for mark in ["\"", "`", "\u{201c}"] {
            let text = format!("So: {mark}{before}, now:\n{call}");
            let reading = read(&text, &Setup::names(&["ff"]));
            assert_eq!(reading.called(), [("ff", json!({"a": long}))], "{text}: {reading:?}");
        }
    }
}
