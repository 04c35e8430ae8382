//! What is text, reasoning, markup, a call or dropped: one test for each decision.

use loopwright_extract::{Dropped, Policy, ProblemKind, Quoted, Source, Span, UnknownTool};

use crate::support::{Told, check, parse, plain, tools};

const CALL: &str = "<tool_call>\n<function=look>\n<parameter=at>\nsea\n</parameter>\n</function>\n</tool_call>";
const LINE: &str = "<tool_call><function=look><parameter=at>`sea`</parameter></function></tool_call>";

#[test]
fn d08_a_call_is_taken_out_of_prose_and_the_prose_is_byte_identical() {
    let parsed = plain(&format!("Before. {CALL}\n\nAfter <b>."));
    assert_eq!(parsed.text(), "Before. \n\nAfter <b>.");
    let calls = parsed.calls();
    assert_eq!((calls.len(), calls[0].name.as_str(), calls[0].complete), (1, "look", true));
    assert_eq!(calls[0].arguments, r#"{"at":"sea"}"#);
    assert_eq!(calls[0].span, Span { start: 8, end: 8 + CALL.len() });
    assert_eq!((calls[0].source, calls[0].dialect), (Source::Tagged, "qwen3-coder"));
    assert!(parsed.problems().is_empty());
}

#[test]
fn d08_calls_repeat_and_are_all_kept() {
    let parsed = plain(&format!("{CALL}{CALL} {CALL}"));
    assert_eq!(parsed.names(), ["look"; 3]);
    assert_eq!(parsed.text(), " ");
}

#[test]
fn d08_beginnings_of_markers_are_never_lost() {
    for text in
        ["a <", "a <tool_cal", "<", "``", "~~", "[TOOL_CALLS", "a </think", "\u{ff5c}", "<\u{ff5c}DSML", "]<]mini"]
    {
        let parsed = plain(text);
        assert_eq!(parsed.text(), text);
    }
}

#[test]
fn d08_a_marker_that_nothing_follows_up_is_text() {
    for text in ["The <tool_call> tag opens a call.", "<tool_call>", "<tool_call></tool_call>x", "a <tool_calls> b"] {
        let parsed = plain(text);
        assert_eq!(parsed.text(), text);
        assert!(parsed.calls().is_empty());
    }
    let parsed = plain(&format!("The <tool_call> tag, as in {CALL}"));
    assert_eq!(parsed.text(), "The <tool_call> tag, as in ");
    assert_eq!(parsed.names(), ["look"]);
}

#[test]
fn d09_fences_quote() {
    for (open, close) in [
        ("```\n", "\n```"),
        ("```xml\n", "\n```\n"),
        ("~~~\n", "\n~~~"),
        ("````\n```\n", "\n```\n````"),
        ("   ```\n", "\n```"),
        ("- a list\n\n  ```\n", "\n  ```\n"),
        ("1. ```\n", "\n   ```\n"),
        ("> ```\n> ", "\n> ```"),
        ("~~~ `info`\n```\n", "\n~~~"),
        ("a\n```\n", ""),
    ] {
        let text = format!("Like so:\n{open}{CALL}{close}");
        let parsed = plain(&text);
        assert_eq!(parsed.text(), text, "{open:?}");
        assert!(parsed.calls().is_empty());
        let parsed = check(text.as_bytes(), None, &Policy { quoted_calls: Quoted::Run, ..Policy::default() });
        assert_eq!(parsed.names(), ["look"], "{open:?}");
        assert_eq!(parsed.calls()[0].source, Source::Fenced, "{open:?}");
    }
}

#[test]
fn d09_what_comes_after_a_fence_is_meant() {
    for fence in [
        "```\n<tool_call>\n```\n",
        "```a b\n x\n``` \t\n",
        "~~~\n```\n~~~\n",
        "````\n```\nx\n````\n",
        "```\n  ``` x\n```\n",
        "> ```\n> x\n\n",
        "> ```\n> x\nplain\n",
        "```inline``` ",
        "text ``` text\n",
        "``` a `b` c\n",
    ] {
        let parsed = plain(&format!("{fence}{CALL}."));
        assert_eq!(parsed.names(), ["look"], "{fence:?}");
        assert_eq!(parsed.text(), format!("{fence}."), "{fence:?}");
    }
}

#[test]
fn d09_inline_code_quotes() {
    for text in [
        format!("Write `{}`.", LINE.replace('`', "")),
        format!("Write ``{LINE}`` so."),
        "The `<tool_call>` and the `</think>` markers, `<think>` too.".to_owned(),
        format!("Write ```{LINE}``` so."),
        "A `<tool_response>` is inert.".to_owned(),
    ] {
        let parsed = plain(&text);
        assert_eq!(parsed.text(), text);
        assert!(parsed.calls().is_empty());
    }
}

#[test]
fn d09_a_stray_backtick_hides_no_call() {
    for before in ["It's a ` tick ", "A ` b ``c`` ", "`a` and ` b ", "`` ", "The ` key.\n\n", "x ```js ", "- ` "] {
        for call in [CALL, LINE] {
            let parsed = plain(&format!("{before}{call} done\nand ` more"));
            assert_eq!(parsed.names(), ["look"], "{before:?}{call}");
            assert_eq!(parsed.text(), format!("{before} done\nand ` more"));
        }
    }
}

#[test]
fn d09_a_stray_backtick_is_given_up_on_a_long_line() {
    let long = "x".repeat(9000);
    let parsed = plain(&format!("a ` {} {long}` b", LINE.replace('`', "")));
    assert_eq!(parsed.names(), ["look"]);
}

#[test]
fn d09_block_quotes_quote() {
    let quoted = format!("> {}\n", CALL.replace('\n', "\n> "));
    let parsed = plain(&quoted);
    assert_eq!(parsed.text(), quoted);
    let parsed = plain(&format!("> said he\n\n{CALL}"));
    assert_eq!(parsed.names(), ["look"]);
    let parsed = plain(&format!("> said he\n{CALL}"));
    assert_eq!(parsed.names(), ["look"]);
}

#[test]
fn d22_reasoning_is_told_apart_and_its_calls_are_inert() {
    let parsed = plain(&format!("<think>I could {CALL} `` ` </b> </think>Hello"));
    assert_eq!(parsed.reasoning(), format!("I could {CALL} `` ` </b> "));
    assert_eq!(parsed.text(), "Hello");
    assert!(parsed.calls().is_empty());
    let policy = Policy { reasoning_calls: true, ..Policy::default() };
    let parsed = check(format!("<think>Now {CALL} so</think>Hello").as_bytes(), None, &policy);
    assert_eq!((parsed.names(), parsed.reasoning(), parsed.text()), (vec!["look"], "Now  so".into(), "Hello".into()));
}

#[test]
fn d22_reasoning_that_began_in_the_prompt() {
    let policy = Policy { starts_in_reasoning: true, ..Policy::default() };
    for opener in ["", "<think>"] {
        let parsed = check(format!("{opener}hm {CALL}</think>\n\nHello").as_bytes(), None, &policy);
        assert_eq!(parsed.reasoning(), format!("hm {CALL}"));
        assert_eq!(parsed.text(), "\n\nHello");
    }
    // Nobody said so: what was written is out, but the closer is no text.
    let parsed = plain("hm</think>Hello");
    assert_eq!((parsed.text(), parsed.markup()), ("hmHello".into(), vec![Span { start: 2, end: 10 }]));
}

#[test]
fn d22_reasoning_may_stay_open_and_hold_its_own_opener() {
    let parsed = plain("<think>a <think> b");
    assert_eq!((parsed.reasoning(), parsed.text()), ("a <think> b".into(), String::new()));
    let parsed = plain("<think>a [/THINK] b</think>c");
    assert_eq!((parsed.reasoning(), parsed.text()), ("a [/THINK] b".into(), "c".into()));
}

#[test]
fn d21_frames_go_and_what_they_hold_stays() {
    let parsed =
        plain("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello <|return|>");
    assert_eq!((parsed.reasoning(), parsed.text()), ("Hm.".into(), "Hello ".into()));
}

#[test]
fn d21_echoed_results_are_inert() {
    let echo = format!("<tool_response>{CALL} </tool_result> \u{fffd}</tool_response>");
    let parsed = plain(&format!("a{echo}b"));
    assert_eq!(parsed.text(), "ab");
    assert!(parsed.calls().is_empty());
    assert_eq!(parsed.dropped(Dropped::ToolResult), [Span { start: 1, end: 1 + echo.len() }]);
    assert_eq!(parsed.problems().len(), 1);
    let parsed = plain("a<tool_result name=\"x\">never closed <think>");
    assert_eq!((parsed.text(), parsed.dropped(Dropped::ToolResult).len()), ("a".into(), 1));
}

#[test]
fn d21_an_unknown_tool_stays_text_with_all_that_it_holds() {
    let known = tools(&["look"]);
    let call = CALL.replace("look", "rm").replace("sea", CALL);
    let text = format!("a {call} b");
    let parsed = check(text.as_bytes(), Some(&known), &Policy::default());
    assert_eq!(parsed.text(), text);
    assert_eq!(parsed.problems().len(), 1);
    assert_eq!(parsed.problems()[0].kind, ProblemKind::UnknownTool);
    let policy = Policy { unknown_tools: UnknownTool::Call, ..Policy::default() };
    assert_eq!(check(text.as_bytes(), Some(&known), &policy).names(), ["rm"]);
}

#[test]
fn d21_unknown_and_known_tools_side_by_side() {
    let known = tools(&["look"]);
    let text = "<function_calls>\n<invoke name=\"rm\">\n<parameter name=\"a\">b</parameter>\n</invoke>\n\
                <invoke name=\"look\">\n<parameter name=\"at\">x</parameter>\n</invoke>\n</function_calls>";
    let parsed = check(text.as_bytes(), Some(&known), &Policy::default());
    assert_eq!(parsed.names(), ["look"]);
    assert!(parsed.text().contains("rm") && !parsed.text().contains("look"));
}

#[test]
fn the_number_of_calls_is_limited() {
    let policy = Policy { max_calls: 2, ..Policy::default() };
    let parsed = check(format!("{CALL}a{CALL}b{CALL}c{CALL}d").as_bytes(), None, &policy);
    assert_eq!((parsed.names().len(), parsed.text()), (2, "abcd".into()));
    assert_eq!(parsed.dropped(Dropped::Limit).len(), 2);
    assert!(parsed.problems().iter().all(|problem| problem.kind == ProblemKind::TooManyCalls));
}

#[test]
fn the_size_of_arguments_is_limited() {
    let policy = Policy { max_argument_bytes: 60, ..Policy::default() };
    let parsed = check(format!("a{}b{CALL}c", CALL.replace("sea", &"sea ".repeat(50))).as_bytes(), None, &policy);
    let calls = parsed.calls();
    assert_eq!((calls.len(), calls[0].complete, calls[1].complete), (2, false, true));
    assert_eq!(parsed.text(), "abc");
    assert_eq!(parsed.problems()[0].kind, ProblemKind::ArgumentsTooLarge);
    assert_eq!(parsed.dropped(Dropped::Limit).len(), 1);
}

#[test]
fn a_call_that_is_cut_off_is_incomplete() {
    for end in [CALL.len() - 60, CALL.len() - 40, CALL.len() - 30] {
        let parsed = plain(&CALL[..end]);
        let calls = parsed.calls();
        assert!(calls.is_empty() || !calls[0].complete, "{}", &CALL[..end]);
        assert!(parsed.problems().iter().any(|problem| problem.kind == ProblemKind::Incomplete), "{}", &CALL[..end]);
    }
}

#[test]
fn bytes_that_are_no_utf8_are_replaced_once_told_for_each_run() {
    for (input, text, runs) in [
        (&b"a\xff\xfe b\xe2\x82 c"[..], "a\u{fffd}\u{fffd} b\u{fffd} c", 2),
        (b"\xf0\x9f\x92", "\u{fffd}", 1),
        (b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa9", "\u{e9}\u{20ac}\u{1f4a9}", 0),
        (b"\xed\xa0\x80\xed\xb0\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}", 1),
        (b"x\xe2\x82\n<think>y\xc3</think>", "x\u{fffd}\n", 2),
    ] {
        let parsed = check(input, None, &Policy::default());
        assert_eq!(parsed.text(), text);
        assert_eq!(parsed.problems().len(), runs, "{parsed:?}");
        assert!(parsed.problems().iter().all(|problem| problem.kind == ProblemKind::InvalidUtf8));
    }
}

#[test]
fn bare_calls_run_only_where_asked_at_a_line_start_with_a_declared_name() {
    let known = tools(&["look"]);
    let policy = Policy { bare_json: true, ..Policy::default() };
    let call = "[look(at=\"sea\")]";
    for (text, count) in [
        (call.to_owned(), 1),
        (format!("\n  {call}"), 1),
        (format!("So:\n{call}\nand"), 1),
        (format!("So: {call}"), 0),
        (format!("- {call}"), 0),
        (format!("> {call}"), 0),
        (format!("```\n{call}\n```"), 0),
        ("[rm(at=1)]".to_owned(), 0),
        (format!("[a\n{call}]"), 0),
        (format!("[1, 2]\n{call}"), 1),
        (format!("[a\n\n{call}"), 1),
    ] {
        let parsed = check(text.as_bytes(), Some(&known), &policy);
        assert_eq!(parsed.calls().len(), count, "{text:?} {parsed:?}");
        assert!(parsed.calls().iter().all(|call| call.source == Source::Bare));
        if count == 0 {
            assert_eq!(parsed.text(), text);
        }
        assert!(check(text.as_bytes(), Some(&known), &Policy::default()).calls().is_empty());
        assert!(check(text.as_bytes(), None, &policy).calls().is_empty());
    }
}

#[test]
fn an_event_waits_no_longer_than_it_must() {
    let (parsed, _) = crate::support::parse([&b"Hello <"[..]], None, &Policy::default());
    assert!(matches!(&parsed.told[0], Told::Text(text, _) if text == "Hello <"));
    let mut parser = loopwright_extract::Parser::new(None, None, Policy::default());
    let mut events = loopwright_extract::Events::new();
    parser.feed(b"Hello <b>, x <", &mut events);
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            loopwright_extract::Event::Text { text, .. } => Some(text.to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "Hello <b>, x ");
}

#[test]
fn a_marker_inside_an_array_that_is_no_call_opens_nothing_however_it_is_cut() {
    let policy = Policy { bare_json: true, ..Policy::default() };
    let parsed = check(b"[J\n[TOOL_CALLS]a\n[TOOL_CALLS]\n\n\n", Some(&tools(&["f"])), &policy);
    assert_eq!(parsed.text(), "[J\n[TOOL_CALLS]a\n[TOOL_CALLS]\n\n\n");
    assert!(parsed.problems().iter().all(|problem| problem.kind == ProblemKind::Unread));
}

#[test]
fn what_follows_a_call_that_nothing_closes_is_read_from_its_first_byte_however_it_is_cut() {
    let call = "<tool_call><function=f><parameter=a>x</parameter></function>";
    for begun in ["<", "</", "</func", "</tool_", "<funct"] {
        for next in ["<function=f></function>", "</function>", "</tool_call>", call] {
            // A value is closed there that nothing opened.
            let text = format!("{call}{begun}{next} x</parameter> bye");
            let parsed = check(text.as_bytes(), Some(&tools(&["f"])), &Policy::default());
            assert_eq!(parsed.calls()[0].arguments, r#"{"a":"x"}"#, "{text}");
            assert!(!parsed.calls()[0].complete, "{text}");
        }
    }
}

#[test]
fn what_a_string_of_arguments_holds_behind_its_object_is_cut_off_at_the_same_byte() {
    let known = tools(&["f"]);
    for repair in [true, false] {
        let policy = Policy { bare_json: true, repair, ..Policy::default() };
        for inside in [
            "{f$r<|start|>assistant<|channel|>analysis<|message|>",
            "{\\\"a\\\": 1} and some more words of it",
            "{\\\"a\\\": \\\"x\\\" \\\"y\\\"<\\u003c</",
            "{a<\\u007c x",
            "{\\n\\\"a\\\"\\u003d\\ud83d 1",
        ] {
            for end in ["\"\u{b}\n", "\" x", "", "\"}}</tool_call> y"] {
                for head in ["<|tool_call_begin|>f", "<tool_call>{\"name\":\"f\",\"arguments\":"] {
                    check(format!("{head}\"{inside}{end}").as_bytes(), Some(&known), &policy);
                }
            }
        }
    }
}

#[test]
fn d08_a_call_in_a_code_fence_inside_its_markers_is_a_call() {
    for (open, close) in [
        ("```json\n", "\n```"),
        ("```\n", "\n```\n"),
        ("\n```json\n", "```"),
        ("```json\r\n", "\r\n```"),
        ("```json\n", ""),
    ] {
        let call = format!("{open}{{\"name\": \"look\", \"arguments\": {{\"at\": \"```\"}}}}{close}");
        let parsed = plain(&format!("a <tool_call>{call}</tool_call> b"));
        assert_eq!((parsed.names(), parsed.text()), (vec!["look"], "a  b".into()), "{open:?}{close:?}");
        assert_eq!(parsed.calls()[0].arguments, "{\"at\": \"```\"}");
        // A fence that nobody closed is said.
        assert_eq!(parsed.problems().len(), usize::from(close.is_empty()), "{open:?}{close:?}");
        // Bare, a fence quotes it.
        assert!(plain(&call).calls().is_empty());
    }
    let parsed = plain("<tool_call>```json\n{\"name\": \"look\", \"arguments\": {\"at\": [1\n```</tool_call>x");
    assert_eq!((parsed.calls()[0].arguments.as_str(), parsed.text()), ("{\"at\": [1\n]}", "x".into()));
    assert_eq!(plain("<tool_call>```json").text(), "<tool_call>```json");
}

#[test]
fn d08_a_marker_written_twice_opens_once() {
    for text in [
        format!("a {}{CALL} b", "<tool_call>"),
        "a <tool_call>\n<tool_call>{\"name\":\"look\",\"arguments\":{\"at\":\"sea\"}}</tool_call></tool_call> b"
            .to_owned(),
        "a <tool_call><tool_call>{\"name\":\"look\",\"arguments\":{\"at\":\"sea\"}}</tool_call> b".to_owned(),
    ] {
        let parsed = plain(&text);
        assert_eq!((parsed.names(), parsed.text()), (vec!["look"], "a  b".into()), "{text}");
        assert_eq!(parsed.calls()[0].arguments, "{\"at\":\"sea\"}");
    }
    let parsed = plain("The <tool_call> <tool_call> tags");
    assert_eq!(parsed.text(), "The <tool_call> <tool_call> tags");
}

#[test]
fn d08_a_namespace_before_a_known_name_is_not_part_of_it() {
    let call = "<tool_call>{\"name\": \"functions.look\", \"arguments\": {}}</tool_call>";
    for (known, name) in
        [(vec!["look"], Some("look")), (vec!["look", "functions.look"], Some("functions.look")), (vec!["rm"], None)]
    {
        let parsed = check(call.as_bytes(), Some(&tools(&known)), &Policy::default());
        assert_eq!(parsed.names(), name.into_iter().collect::<Vec<_>>());
    }
    assert_eq!(plain(call).names(), ["functions.look"]);
}

#[test]
fn d08_arguments_that_are_lost_make_no_complete_call() {
    for inside in [
        "\"name\":\"look\",\"argument- {\"at\": 1}",
        "\"name\":\"look\",\"argument\": {\"at\": 1}",
        "\"name\":\"look\" {\"at\": 1}",
        "\"name\":\"look\",\"arguments {\"at\": 1}",
    ] {
        let parsed = plain(&format!("<tool_call>{{{inside}}}</tool_call>"));
        assert!(parsed.calls().iter().all(|call| !call.complete), "{inside}: {:?}", parsed.calls());
        assert!(!parsed.problems().is_empty(), "{inside}");
    }
    // Nothing is lost where there is nothing.
    for inside in ["\"name\":\"look\"", "\"name\":\"look\",\"type\":\"function\"", "name:\"look\""] {
        let parsed = plain(&format!("<tool_call>{{{inside}}}</tool_call>"));
        assert!(parsed.calls().len() == 1 && parsed.calls()[0].complete, "{inside}");
    }
}

#[test]
fn what_is_known_at_the_end_does_not_depend_on_how_often_it_was_asked() {
    let known = tools(&["f"]);
    for repair in [true, false] {
        let policy = Policy { bare_json: true, repair, ..Policy::default() };
        for text in [
            &b"{\"\":<|"[..],
            b"{\"\",\"arguments\":{\xc2\xa0",
            b"<|tool_call_begin|>0{\"\":\"\xe2\"g",
            b"<tool_call>{\"name\":\"f\" \"argu",
            b"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\" \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ] {
            check(text, None, &policy);
            check(text, Some(&known), &policy);
        }
    }
}

#[test]
fn every_region_that_is_tried_at_the_end_is_asked_for_all_it_knows() {
    // The first region fails only when it is asked at the end, and so does the one that is tried in its place.
    let known = tools(&["f", "look"]);
    for repair in [true, false] {
        let policy = Policy { bare_json: true, repair, ..Policy::default() };
        for text in [
            &b"[\n\n{\":[\n\n{\":``\"</fuction_results>s\"suls>s\""[..],
            b"[\x8c\n\n[\n\n{\":[\n\n{\":``\"</fuction_results>s\"suls>s\"",
            b"[\n[\n[\n{\":[\n{\":``\"</fuction_results>s\"suls>s\"[{\":``\"</b>s\"",
            b"[(<|tool_ll_argu\x8c\xce\x8e\n\n[\n\n{\":[\n\n{\":``\"</function_results>s\"sults>s\"",
        ] {
            check(text, Some(&known), &policy);
        }
    }
}

#[test]
fn the_word_behind_a_fence_is_as_long_however_it_is_cut() {
    for letters in 0..24 {
        let word = "y".repeat(letters);
        for end in ["", "\n{\"at\": 1}\n```<|tool_call_end|>", "{\"at\": 1}```", "\u{feff}{}"] {
            plain(&format!("<|tool_call_begin|>look```{word}{end}"));
            plain(&format!("<tool_call>```{word}{{\"name\": \"look\", \"arguments\": {{}}}}{end}"));
            plain(&format!("<｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```{word}{end}<｜tool▁call▁end｜>"));
        }
    }
    check(b"<|tool_call_begin|>\xcc```4yyyyyyyyyy4funun", None, &Policy::default());
}

#[test]
fn where_a_bare_call_is_known_to_be_one_shows_in_no_span() {
    let policy = Policy { bare_json: true, ..Policy::default() };
    let known = tools(&["f"]);
    for arguments in ["{\"city\": \"x\"}", "{\"type\": \"ob\", \"n\": 1}", "{\"to\": {\"a\": [1]}}", "{\"title\": 1}"] {
        let text = format!("{{\"name\": \"f\", \"parameters\": {arguments}}} and so on");
        let (whole, _) = parse([text.as_bytes()], Some(&known), &policy);
        assert_eq!(whole.calls().len(), 1, "{text}");
        for cut in 0..text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            assert_eq!(parse([a, b], Some(&known), &policy).0, whole, "{text} at {cut}");
        }
        assert_eq!(parse(text.as_bytes().chunks(1), Some(&known), &policy).0, whole, "{text}");
    }
}
