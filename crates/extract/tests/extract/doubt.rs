//! What is doubtful is said: things given twice, bytes that are no text, words where none belong, limits in the middle
//! of a character, calls in quotation marks. Each text whole, at every cut and byte by byte.

use loopwright_base::message::ToolUse;
use loopwright_extract::{
    Call, Dropped, Event, Events, Parser, Policy, ProblemKind, Signatures, UnknownTool, render_calls,
};
use serde_json::json;

use crate::reading::{Owner, Reading, Setup, each, pieces, read};

/// Reads bytes whole, byte by byte and in threes: all the same.
#[track_caller]
fn bytes(text: &[u8], setup: &Setup) -> Reading {
    let whole = pieces([text], setup);
    assert_eq!(pieces(text.chunks(1), setup), whole, "byte by byte");
    assert_eq!(pieces(text.chunks(3), setup), whole, "in threes");
    whole
}

/// Texts in which something is given twice, and which of both is kept.
const TWICE: &[(&str, &str)] = &[
    ("<function=f><parameter=b>1</parameter><parameter=b>2</parameter></function>", r#"{"b":1}"#),
    (
        "<invoke name=\"f\"><parameter name=\"b\">1</parameter><parameter name=\"b\">2</parameter></invoke>",
        r#"{"b":1}"#,
    ),
    (
        "<tool_call>f<arg_key>b</arg_key><arg_value>1</arg_value><arg_key>b</arg_key><arg_value>2</arg_value></tool_call>",
        r#"{"b":1}"#,
    ),
    (
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"f\"><steptml:parameter name=\"b\">1</steptml:parameter><steptml:parameter name=\"b\">2</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        r#"{"b":1}"#,
    ),
    (
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<b>1]<]minimax[>[</b>]<]minimax[>[<b>2]<]minimax[>[</b>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
        r#"{"b":1}"#,
    ),
    (
        "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"b\" type=\"number\"<|sep|>1<|close|>argument<|sep|><|open|>argument key=\"b\" type=\"number\"<|sep|>2<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        r#"{"b":1}"#,
    ),
    ("<invoke name=\"f\" name=\"g\"><parameter name=\"b\">1</parameter></invoke>", r#"{"b":1}"#),
    ("<invoke name=\"f\"><parameter name=\"b\" name=\"c\">1</parameter></invoke>", r#"{"b":1}"#),
    (r#"<tool_call>{"name":"f","arguments":{"b":1},"arguments":{"b":2}}</tool_call>"#, r#"{"b":1}"#),
    (r#"<tool_call>{"name":"f","arguments":{"b":1},"parameters":{"b":2}}</tool_call>"#, r#"{"b":1}"#),
    (r#"<tool_call>{"arguments":{"b":1},"arguments":{"b":2},"name":"f"}</tool_call>"#, r#"{"b":1}"#),
    (r#"<tool_call>{"name":"f","name":"g","arguments":{"b":1}}</tool_call>"#, r#"{"b":1}"#),
    (r#"<tool_call>{"name":"f","arguments":{"b":1},"name":"g"}</tool_call>"#, r#"{"b":1}"#),
    (r#"<tool_call>{"name":"f","function":{"name":"g"},"arguments":{"b":1}}</tool_call>"#, r#"{"b":1}"#),
    (r#"[TOOL_CALLS] [{"name":"f","arguments":{"b":1},"arguments":{"b":2}}]"#, r#"{"b":1}"#),
    (r#"<|python_tag|>{"name":"f","name":"g","parameters":{"b":1}}"#, r#"{"b":1}"#),
    (r#"<|START_ACTION|>[{"tool_name":"f","tool_name":"g","parameters":{"b":1}}]<|END_ACTION|>"#, r#"{"b":1}"#),
    (r#"<|tool_call>call:f{b:<|"|>x<|"|>,b:<|"|>rm<|"|>}<tool_call|>"#, r#"{"b":"x"}"#),
    (r#"<|tool_call>call:f{b:1,"b":{c:[<|"|>}<|"|>]}}<tool_call|>"#, r#"{"b":1}"#),
    ("<|tool_call>call:f{b:1,b:2,c:3,b:4,d:5}<tool_call|>", r#"{"b":1,"c":3,"d":5}"#),
    ("<start_function_call>call:f{b:1,b:2}<end_function_call>", r#"{"b":1}"#),
    (r#"<|tool_call_start|>[f(b="x", b="y")]<|tool_call_end|>"#, r#"{"b":"x"}"#),
    (
        r#"<|tool_call_start|>[f(b=1, b={"c": (1, [2])}, c={"d": 2}, b={1}, d=5)]<|tool_call_end|>"#,
        r#"{"b":1,"c":{"d":2},"d":5}"#,
    ),
];

#[test]
fn d08_what_stands_beside_a_name_without_arguments_is_said() {
    let text = r#"<tool_call>{"name":"bash","command":"ls"}</tool_call>"#;
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.calls[0].arguments, "{}");
    assert!(!reading.calls[0].complete && reading.has(ProblemKind::Malformed), "{reading:?}");
    let reading = read(text, &Setup::auto().with(|policy| policy.repair = false));
    assert!(reading.calls.iter().all(|call| !call.complete), "{reading:?}");
    for plain in [
        r#"{"name":"f"}"#,
        r#"{"type":"function","name":"f"}"#,
        r#"{"type":"function","id":"1","function":{"name":"f"}}"#,
    ] {
        let reading = read(&format!("<tool_call>{plain}</tool_call>"), &Setup::auto());
        assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{reading:?}");
    }
}

#[test]
fn d08_an_empty_array_for_arguments_is_called_that() {
    let text = r#"<tool_call>{"name":"f","arguments":[]}</tool_call>"#;
    assert_eq!(read(text, &Setup::auto()).calls[0].arguments, "{}");
    let (mut parser, mut events) = (Parser::new(None, None, Policy::default()), Events::new());
    parser.feed(text.as_bytes(), &mut events);
    parser.finish(&mut events);
    let said = events.iter().any(
        |event| matches!(event, Event::Problem(problem) if problem.message.contains("put an empty object where no arguments stood")),
    );
    assert!(said);
}

#[test]
fn b09_a_reply_begins_behind_its_byte_order_mark() {
    let call = r#"{"name":"f","arguments":{}}"#;
    let setup = || Setup::names(&["f"]).bare();
    assert_eq!(read(&format!("\u{feff}{call}"), &setup()).calls.len(), 1);
    assert_eq!(read(&format!("\u{feff} \n{call}"), &setup()).calls.len(), 1);
    assert_eq!(read(&format!("a\u{feff}{call}"), &setup()).calls.len(), 0);
    assert_eq!(read(&format!("\u{feff}，{call}"), &setup()).calls.len(), 0);
}

#[test]
fn d08_what_is_given_twice_keeps_the_first_and_is_said() {
    for (text, arguments) in TWICE {
        let reading = read(text, &Setup::auto());
        let [call] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("f", *arguments), "{text}");
        assert!(call.complete && call.repaired && reading.has(ProblemKind::Repaired), "{text}: {reading:?}");
        // Once more, just the same: nothing is in doubt.
        assert_eq!(reading.prose, "", "{text}");
    }
    let same = r#"<tool_call>{"name":"f","name":"f","arguments":{}}</tool_call>"#;
    assert!(!read(same, &Setup::auto()).calls[0].repaired);
}

#[test]
fn d08_without_repair_what_is_given_twice_must_not_run() {
    for (text, _) in TWICE {
        let reading = read(text, &Setup::auto().with(|policy| policy.repair = false));
        assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
        assert!(!reading.problems.is_empty(), "{text}");
    }
}

#[test]
fn d09_bytes_that_are_no_text_are_said_in_every_dialect() {
    each(loopwright_extract::dialects(), |dialect| {
        let call = ToolUse::from_text("", "f", json!({"city": "AxB"}).to_string());
        let text = render_calls(&[call], dialect).unwrap();
        let at = text.find("AxB").unwrap() + 1;
        let setup = |repair: bool| {
            let setup = Setup::names(&["f"]).only(&[dialect.name]).bare();
            setup.with(|policy| policy.repair = repair)
        };
        for bad in [&b"\xff"[..], b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98"] {
            let broken = [&text.as_bytes()[..at], bad, &text.as_bytes()[at + 1..]].concat();
            let reading = bytes(&broken, &setup(true));
            let [call] = reading.calls.as_slice() else { panic!("{reading:?}") };
            assert!(call.complete && call.repaired && reading.has(ProblemKind::InvalidUtf8), "{reading:?}");
            assert!(call.arguments.contains('\u{fffd}'), "{call:?}");
            let reading = bytes(&broken, &setup(false));
            assert!(reading.calls.iter().all(|call| !call.complete), "{reading:?}");
        }
        let whole = bytes(text.replace("AxB", "A\u{fffd}B").as_bytes(), &setup(true));
        assert!(!whole.calls[0].repaired && !whole.has(ProblemKind::InvalidUtf8), "{whole:?}");
    });
}

#[test]
fn d08_no_limit_cuts_a_character() {
    let texts = [
        "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\">\n</｜o",
        "<｜DSML｜invoke name=\"f\">\n<｜T",
        "<function=f>\nééééé more prose",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"ééééééé 🌍🌍🌍🌍🌍🌍\"}}</tool_call> ok é",
        "<function=f><parameter=a>é🌍é🌍é🌍</parameter></function>é",
        "<tool_call>f<arg_key>é</arg_key><arg_value>{\"é\": \"🌍\"}</arg_value></tool_call>",
        "<tool_call>{\"arguments\":{\"é\":\"🌍🌍🌍🌍🌍\"},\"name\":\"f\"}</tool_call>",
        "<|python_start|>[f(a=\"é🌍é🌍é🌍\")]<|python_end|>",
        "<|tool_call>call:f{a:<|\"|>é🌍é🌍é🌍<|\"|>}<tool_call|>",
    ];
    for text in texts {
        for most in 0..60 {
            let reading = read(text, &Setup::auto().with(|policy| policy.max_argument_bytes = most));
            assert!(!reading.has(ProblemKind::InvalidUtf8), "{text} at {most}: {reading:?}");
            assert!(!reading.prose.contains('\u{fffd}'), "{text} at {most}: {reading:?}");
            for (_, start, end) in &reading.owned {
                assert!(text.is_char_boundary(*start) && text.is_char_boundary(*end), "{text} at {most}: {reading:?}");
            }
            assert!(reading.calls.iter().all(|call| !call.repaired), "{text} at {most}: {reading:?}");
        }
    }
}

#[test]
fn d21_words_before_a_closer_stay_and_the_closer_goes() {
    each(loopwright_extract::dialects(), |dialect| {
        let call = ToolUse::from_text("", "f", json!({"a": 1}).to_string());
        let text = render_calls(&[call], dialect).unwrap();
        let closers = dialect.close.iter().chain(dialect.section.iter().flat_map(|section| section.1));
        for closer in closers.filter(|closer| !closer.is_empty()) {
            let Some(at) = text.rfind(closer).filter(|at| *at > 0) else { continue };
            for words in [" hmm ", " // a comment\n", ".\n\nSo be it. "] {
                let junk = format!("Before. {}{words}{} After.", &text[..at], &text[at..]);
                let setup = Setup::names(&["f"]).only(&[dialect.name]);
                let reading = read(&junk, &setup);
                assert_eq!(reading.calls.len(), 1, "{junk}: {reading:?}");
                assert!(!reading.prose.contains(closer), "{junk}: {reading:?}");
                // The words are text, or they broke the call and went with its remains.
                let kept = reading.prose.contains(words.trim());
                assert!(
                    kept || reading.dropped(Dropped::Malformed) > 0 || !reading.calls[0].complete,
                    "{junk}: {reading:?}"
                );
                // Behind the end of a raw value they may be more of it, but the call ends with its closer.
                assert!(reading.prose.starts_with("Before. "), "{reading:?}");
                assert!(reading.prose.ends_with(" After."), "{reading:?}");
            }
        }
    });
    let text = "<tool_call>{\"name\":\"f\",\"arguments\":{}} x</tool_call> as in `</tool_call>` and </tool_call>";
    assert_eq!(read(text, &Setup::auto()).prose, " x as in `</tool_call>` and </tool_call>");
}

#[test]
fn d21_an_unknown_call_in_a_list_leaves_no_marks_of_the_list() {
    let call = |name: &str| format!("{{\"name\":\"{name}\",\"arguments\":{{}}}}");
    let list = |names: &[&str]| {
        let calls: Vec<String> = names.iter().map(|name| call(name)).collect();
        format!("A <tool_call>[{}]</tool_call> B", calls.join(", "))
    };
    let setup = Setup::names(&["f"]);
    for (names, prose) in [
        (&["f", "nope", "f"][..], format!("A {} B", call("nope"))),
        (&["f", "nope"], format!("A {} B", call("nope"))),
        (&["f", "nope", "no"], format!("A {}{} B", call("nope"), call("no"))),
        // What opens stands before it is known what follows: it goes with the first.
        (&["nope", "f"], format!("A <tool_call>[{} B", call("nope"))),
        (&["nope"], format!("A <tool_call>[{}]</tool_call> B", call("nope"))),
    ] {
        assert_eq!(read(&list(names), &setup).prose, prose, "{names:?}");
    }
}

fn hermes() -> String {
    "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"b \\\"c\\\" d\"}}</tool_call>".to_owned()
}

#[track_caller]
fn calls(text: &str) -> Vec<Call> {
    let reading = read(text, &Setup::auto());
    if reading.calls.is_empty() {
        assert_eq!(reading.prose, text);
        assert!(reading.owned.iter().all(|(owner, ..)| *owner == Owner::Text));
    }
    reading.calls
}

#[test]
fn d21_a_call_in_quotation_marks_is_talk() {
    let xml = "<function=f>\n<parameter=a>\nsay \"hi\"\n</parameter>\n</function>";
    for call in [hermes().as_str(), xml, "<think>", "</think>", "<tool_response>", "<tool_call>", "[TOOL_CALLS]f{}"] {
        for (open, close) in [
            ("\"", "\""),
            ("“", "”"),
            ("„", "“"),
            ("«", "»"),
            ("« ", " »"),
            ("‘", "’"),
            ("'", "'"),
            ("「", "」"),
            ("‹", "›"),
        ] {
            for text in [
                format!("You can write {open}{call}{close} to call it."),
                format!("{open}{call}{close}"),
                format!("So ({open}{call}{close})."),
                format!("A quoted {open}word{close} first, then {open}{call}{close}!\nAnd more."),
            ] {
                assert!(calls(&text).is_empty(), "{text}");
            }
        }
        for (open, close) in [("\"", "\""), ("“", "”"), ("„", "“"), ("«", "»")] {
            let text = format!("The manual says {open}first write {call} and then stop{close}, I think.");
            assert!(calls(&text).is_empty(), "{text}");
        }
    }
}

#[test]
fn d21_several_calls_in_one_pair_of_quotation_marks_are_talk() {
    each(loopwright_extract::dialects(), |dialect| {
        let call = |value: &str| ToolUse::from_text("", "f", json!({"a": value}).to_string());
        let text = render_calls(&[call("x"), call("y"), call("x")], dialect).unwrap();
        if dialect.bare || text.contains('\n') {
            return;
        }
        for (open, close) in [("\"", "\""), ("“", "”"), ("'", "'"), ("`", "`")] {
            let text = format!("Write {open}{text}{close} for it.");
            if !text.contains("<escape>") {
                assert!(calls(&text).is_empty(), "{text}");
            }
        }
    });
}

#[test]
fn d21_brackets_further_off_are_prose() {
    for call in [
        "[TOOL_CALLS]f[ARGS]{}",
        "<tool_call> [{\"name\":\"f\",\"arguments\":{}}]",
        "<|python_tag|>{\"name\":\"f\",\"parameters\":{}}",
    ] {
        for after in ["\n\n}\n]", " ] and", "\n}"] {
            let reading = read(&format!("A {call}{after}"), &Setup::auto());
            assert_eq!((reading.calls.len(), reading.prose), (1, format!("A {after}")), "{call}");
        }
        assert_eq!(read(&format!("A {call}}}] so"), &Setup::auto()).prose, "A  so", "right behind it is one too many");
    }
}

#[test]
fn d21_quotation_marks_elsewhere_hide_no_call() {
    let call = hermes();
    for before in [
        "The word \"rust\": ",
        "The \"rust\"",
        "don't ",
        "the users' ",
        "5\" wide ",
        "\" ",
        "an open \"quote before ",
        "„so“ ",
        "« oui » ",
        "It said \"yes\".\n",
        "\"Opened on another line\n",
        "'",
    ] {
        for after in ["", "\n", " and so on", "\nwith \"words\" later", " \"and\" more", " it's done", "\n\n\"more\""] {
            let text = format!("{before}{call}{after}");
            let reading = read(&text, &Setup::auto());
            assert_eq!(reading.calls.len(), 1, "{text}: {reading:?}");
            assert_eq!(reading.prose, format!("{before}{after}"), "{text}");
        }
    }
    // A quoted one, and then a real one.
    let text = format!("Not \"{call}\" but\n{call}");
    assert_eq!(calls(&text).len(), 1);
    let text = format!("Not \"{call}\" but {call}");
    assert_eq!(calls(&text).len(), 1);
    let far = format!("\"{} {call}\"", "far away ".repeat(80));
    assert_eq!(read(&far, &Setup::auto()).calls.len(), 1);
    let asked = Setup::auto().quoted_run();
    assert_eq!(read(&format!("say \"{call}\"."), &asked).calls.len(), 1);
}

#[test]
fn d21_unknown_tools_in_a_list_may_still_be_asked_for() {
    let text = "<tool_call>[{\"name\":\"f\",\"arguments\":{}}, {\"name\":\"nope\",\"arguments\":{}}]</tool_call>";
    let mut signatures = Signatures::default();
    signatures.add("f", &json!({}));
    let setup = Setup { tools: Some(signatures), ..Setup::auto() };
    let setup = setup.with(|policy| policy.unknown_tools = UnknownTool::Call);
    assert_eq!(read(text, &setup).calls.len(), 2);
}

#[test]
fn d08_a_bare_call_with_parameters_streams() {
    let tool = json!({"type": "object", "properties": {"city": {"type": "string"}, "to": {"type": "object"}}});
    let mut signatures = Signatures::default();
    signatures.add("f", &tool);
    let long = "x".repeat(200 * 1024);
    for begin in [
        "{\"name\": \"f\", \"parameters\": {\"city\": \"",
        "{\"name\": \"f\", \"parameters\": {\"to\": {\"city\": \"x\"}, \"city\": \"",
        "{\"name\": \"f\", \"parameters\": {\"type\": \"objects\", \"city\": \"",
    ] {
        let policy = Policy { bare_json: true, ..Policy::default() };
        let mut parser = Parser::new(Some(signatures.clone()), None, policy);
        let mut events = Events::default();
        parser.feed(begin.as_bytes(), &mut events);
        let started = |events: &Events| events.iter().any(|event| matches!(event, Event::CallStarted { .. }));
        assert!(started(&events), "{begin}");
        let mut streamed = 0;
        for piece in long.as_bytes().chunks(1024) {
            let mut events = Events::default();
            parser.feed(piece, &mut events);
            streamed += events.iter().filter(|event| matches!(event, Event::Arguments { .. })).count();
        }
        assert!(streamed > 150, "{begin}");
        let mut events = Events::default();
        parser.feed(b"\"}}", &mut events);
        parser.finish(&mut events);
        assert!(events.iter().any(|event| matches!(event, Event::CallFinished { call, .. } if call.complete)));
    }
}

#[test]
fn d08_a_tool_may_have_parameters_named_like_the_words_of_a_schema() {
    let text = r#"{"name": "f", "parameters": {"type": "object", "title": "x"}}"#;
    let tool = |names: &[&str]| {
        let each: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        Setup::tools(&[("f", json!({"type": "object", "properties": each}))]).bare()
    };
    assert_eq!(read(text, &tool(&["type", "title"])).calls.len(), 1);
    assert_eq!(read(text, &tool(&["city"])).calls.len(), 0);
    let echoed = r#"{"name": "f", "parameters": {"type": "object", "properties": {"type": {"type": "string"}}}}"#;
    assert_eq!(read(echoed, &tool(&["type", "title"])).calls.len(), 0);
    assert_eq!(read(echoed, &tool(&["type", "properties"])).calls.len(), 0);
}

#[test]
fn d08_a_bare_definition_of_a_tool_is_no_call_of_it() {
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
    let setup = Setup::tools(&[("f", json!({"type": "object", "properties": {"city": {"type": "string"}}}))]).bare();
    for text in [
        format!(r#"{{"name": "f", "description": "The weather.", "parameters": {schema}}}"#),
        format!(r#"{{"name": "f", "parameters": {schema}}}"#),
        format!(r#"{{"name": "f", "parameters": {schema}, "description": "The weather."}}"#),
        format!(r#"{{"parameters": {schema}, "name": "f"}}"#),
        format!(r#"{{"type": "function", "function": {{"name": "f", "description": "d", "parameters": {schema}}}}}"#),
        format!(r#"[{{"type": "function", "function": {{"name": "f", "parameters": {schema}}}}}]"#),
        r#"{"name": "f", "description": "Nothing to say", "parameters": {}}"#.to_owned(),
        r#"{"name": "f", "parameters": {"type": "object", "properties": {}}}"#.to_owned(),
        format!(r#"{{"name": "f", "description": "d", "input_schema": {schema}}}"#),
    ] {
        for text in [text.clone(), format!("Tools:\n{text}\n"), format!("{}\n", text.replace(", ", ",\n  "))] {
            let reading = read(&text, &setup);
            assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, text.as_str()), "{reading:?}");
        }
    }
    for text in [
        r#"{"name": "f", "parameters": {"city": "Oslo"}}"#,
        r#"{"parameters": {"city": "Oslo"}, "name": "f"}"#,
        r#"{"type": "function", "function": {"name": "f", "parameters": {"city": "Oslo"}}}"#,
        r#"{"name": "f", "parameters": {"city": "Oslo", "type": "object"}}"#,
        r#"{"name": "f", "description": "why", "arguments": {"city": "Oslo"}}"#,
        r#"{"name": "f", "parameters": {}}"#,
    ] {
        let reading = read(text, &setup);
        assert_eq!(reading.calls.len(), 1, "{text}");
        assert!(reading.calls[0].complete, "{text}");
    }
}

#[test]
fn d17_what_is_declared_outdoes_the_type_that_the_markup_says() {
    let dsml = |string: &str, value: &str| {
        format!(
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"{string}\">{value}\
             </｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"
        )
    };
    let kimi = |kind: &str, value: &str| {
        format!(
            "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"{kind}\"<|sep|>\
             {value}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
        )
    };
    for (text, declared, made, misfit) in [
        (dsml("false", "12"), "string", json!("12"), false),
        (dsml("false", "[1]"), "string", json!("[1]"), false),
        (dsml("false", &"[".repeat(200)), "string", json!("[".repeat(200)), false),
        (dsml("false", "Oslo "), "string", json!("Oslo "), false),
        (dsml("false", "\"Oslo\""), "string", json!("Oslo"), false),
        (dsml("false", "12"), "integer", json!(12), false),
        (dsml("false", "[12]"), "integer", json!([12]), true),
        (dsml("false", "\"12\""), "integer", json!(12), true),
        (dsml("true", "12"), "integer", json!(12), true),
        (dsml("true", "12"), "string", json!("12"), false),
        (kimi("number", "12"), "string", json!("12"), false),
        (kimi("array", "[1]"), "string", json!("[1]"), false),
        (kimi("number", "12"), "integer", json!(12), false),
        (kimi("boolean", "true"), "integer", json!(true), true),
        (kimi("boolean", "True"), "integer", json!(true), true),
        (kimi("string", "12"), "integer", json!(12), true),
        (kimi("string", "12"), "string", json!("12"), false),
        // A string that may be something else too: what it can't be it isn't.
        (dsml("false", "12"), "string null", json!("12"), false),
        (dsml("false", "{\"x\": 1}"), "string null", json!("{\"x\": 1}"), false),
        (dsml("false", "Oslo"), "string null", json!("Oslo"), false),
        (dsml("false", "\"Oslo\""), "string null", json!("Oslo"), false),
        (dsml("false", "null"), "string null", json!(null), false),
        (dsml("false", "None"), "string null", json!(null), false),
        (dsml("false", "12"), "string integer", json!(12), false),
        (dsml("false", "1.5"), "string integer", json!("1.5"), false),
        (dsml("false", "[1]"), "string array", json!([1]), false),
        (kimi("number", "12"), "string null", json!("12"), false),
        (kimi("object", "{\"x\": 1}"), "string null", json!("{\"x\": 1}"), false),
        (kimi("boolean", "True"), "string boolean", json!(true), false),
        (kimi("boolean", "true"), "string null", json!("true"), false),
        (kimi("null", "null"), "string null", json!(null), false),
        (kimi("number", "twelve"), "string null", json!("twelve"), false),
        // Words of Python where the markup says JSON.
        (dsml("false", "True"), "boolean", json!(true), false),
        (dsml("false", "None"), "null", json!(null), false),
        (dsml("false", "True"), "integer", json!(true), true),
        ("<|tool_call>call:f{a:12}<tool_call|>".into(), "string null", json!("12"), false),
        ("<|tool_call>call:f{a:null}<tool_call|>".into(), "string null", json!(null), false),
        ("<|tool_call>call:f{a:12}<tool_call|>".into(), "string integer", json!(12), false),
    ] {
        let types: Vec<&str> = declared.split(' ').collect();
        let kind = if types.len() == 1 { json!(declared) } else { json!(types) };
        let setup = Setup::tools(&[("f", json!({"properties": {"a": {"type": kind}}}))]);
        let reading = read(&text, &setup);
        assert_eq!(reading.called(), [("f", json!({"a": made}))], "{text}: {reading:?}");
        assert!(reading.calls[0].complete, "{text}: {reading:?}");
        assert_eq!(reading.has(ProblemKind::WrongType), misfit, "{text}: {reading:?}");
        assert_eq!(reading.prose, "");
    }
}
