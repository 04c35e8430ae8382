//! Nothing lost is silent (row E4 of the faults): other spellings of markers are read, and what opens a call behind
//! which none can be read is a problem with its place.

use loopwright_extract::{Event, Events, ProblemKind, dialects, extract};
use serde_json::json;

use crate::reading::{Setup, each, read};

fn setups() -> [Setup; 3] {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}});
    [Setup::tools(&[("look", schema)]), Setup::names(&["look"]), Setup::auto()]
}

#[track_caller]
fn reads(text: &str, dialect: &str) {
    let text = format!("Hi.\n{text}\nbye");
    for setup in setups() {
        for setup in [setup.clone(), setup.bare()] {
            let reading = read(&text, &setup);
            let [call] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
            assert_eq!((&*call.name, &*call.arguments, call.dialect), ("look", r#"{"q":"x y"}"#, dialect), "{text}");
            assert!(call.complete && !call.repaired, "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.\n\nbye", "{text}: {reading:?}");
        }
    }
}

#[test]
fn e4_bars_of_any_kind_and_width_are_read() {
    for bar in ["｜", "｜｜", "|", "||", "‖", "￨", "∥", "│", "∣", "ǀ", "❘"] {
        for (dialect, wrapper, space) in [
            ("deepseek-v3.2", "function_calls", ""),
            ("deepseek-v4", "tool_calls", ""),
            ("deepseek-v4.1", "calls", " "),
        ] {
            let tag = format!("{bar}DSML{bar}{space}");
            let parameter = format!("<{tag}parameter name=\"q\" string=\"true\">x y</{tag}parameter>");
            let call = format!("<{tag}invoke name=\"look\">\n{parameter}\n</{tag}invoke>");
            reads(&format!("<{tag}{wrapper}>\n{call}\n</{tag}{wrapper}>"), dialect);
        }
    }
    for (bar, join) in [("｜", "▁"), ("|", "▁"), ("|", "_")] {
        let mark = |words: &str| format!("<{bar}{}{bar}>", words.replace(' ', join));
        let (begin, end) =
            (mark("tool calls begin") + &mark("tool call begin"), mark("tool call end") + &mark("tool calls end"));
        let sep = mark("tool sep");
        reads(&format!("{begin}look{sep}{{\"q\":\"x y\"}}{end}"), "deepseek-v3.1");
        reads(&format!("{begin}function{sep}look\n```json\n{{\"q\":\"x y\"}}\n```{end}"), "deepseek-v3");
    }
}

#[test]
fn e4_a_missing_opener_and_other_hosts_forms_are_read() {
    let kimi = "functions.look:0<|tool_call_argument_begin|>{\"q\":\"x y\"}<|tool_call_end|>";
    reads(kimi, "kimi-k2");
    reads(&format!("{kimi}<|tool_calls_section_end|>"), "kimi-k2");
    reads(&format!("<|tool_calls_section_begin|>{kimi}<|tool_calls_section_end|>"), "kimi-k2");
    let json = "{\"name\": \"look\", \"arguments\": {\"q\":\"x y\"}}";
    reads(&format!("[TOOL_REQUEST]{json}[END_TOOL_REQUEST]"), "lm-studio");
    reads(&format!("[TOOL_REQUEST]\n{json}\n[END_TOOL_REQUEST]"), "lm-studio");
    reads(&format!("[TOOL_CALL]{json}[/TOOL_CALL]"), "lm-studio");
    reads(&format!("<tool_use>\n{json}\n</tool_use>"), "tool-use");
    reads(&format!("<TOOL_CALL>{json}</TOOL_CALL>"), "tool-use");
    reads("<tool_code>\nlook(q=\"x y\")\n</tool_code>", "tool-code");
    reads("<function_call>look(q=\"x y\")</function_call>", "granite-20b");
    reads(&format!("<|tool_call>{json}<tool_call|>"), "gemma-4");
}

/// The spans of what is said to be unread.
fn unread(text: &str, setup: &Setup) -> Vec<String> {
    read(text, setup);
    let events: Events = extract(text.as_bytes(), setup.tools.clone(), None, setup.policy.clone());
    let spans = events.iter().filter_map(|event| match event {
        Event::Problem(problem) if problem.kind == ProblemKind::Unread => Some(problem.span),
        _ => None,
    });
    spans.map(|span| text[span.start..span.end].to_owned()).collect()
}

#[test]
fn e4_an_opener_behind_which_nothing_can_be_read_is_a_problem() {
    let marked = dialects().iter().filter(|row| !row.bare && row.name != "harmony" && row.name != "harmony-recipient");
    each(marked, |dialect| {
        let opener = dialect.section.map_or(dialect.open[0], |(open, _)| open[0]);
        // What opens a message of any kind is no opener of calls alone.
        if opener.starts_with("<|start|>") || !opener.starts_with(['<', '[', ']']) {
            return;
        }
        for (before, behind) in
            [("", "\nplease call it"), ("I will.\n", " ?? !!\nBye."), ("Hi.\n  ", "\n\nwords. "), ("", "")]
        {
            let text = format!("{before}{opener}{behind}");
            for setup in [Setup::auto(), Setup::names(&["look"]), Setup::names(&["look"]).bare()] {
                let said = read(&text, &setup);
                assert_eq!(said.prose, text, "{said:?}");
                let found = unread(&text, &setup);
                let cut = said.has(ProblemKind::Incomplete);
                assert!(found == [opener] || (cut && found.is_empty()), "{text}: {found:?} {said:?}");
            }
        }
    });
}

#[test]
fn e4_talk_of_openers_is_no_problem() {
    for text in [
        "The marker <tool_call> opens a call.",
        "Write `<tool_call>` first.",
        "`<tool_call>` opens one.",
        "> <tool_call>\n\nas quoted",
        "```\n<tool_call>\nno call\n```",
        "<think>\n<tool_call>\nno call\n</think>Done.",
        "say \"<tool_call>\" there",
        "- <tool_call> opens one",
    ] {
        assert!(unread(text, &Setup::auto()).is_empty(), "{text}");
    }
    let call = "<tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>";
    assert!(unread(call, &Setup::auto()).is_empty() && unread(call, &Setup::names(&["look"])).is_empty());
}

#[test]
fn e4_what_stands_only_within_calls_is_a_problem_wherever_it_stands() {
    let text = "look<|tool_call_argument_begin|>{\"q\":\"x\"}<|tool_call_end|>";
    assert_eq!(unread(text, &Setup::auto()), ["<|tool_call_argument_begin|>"]);
}
