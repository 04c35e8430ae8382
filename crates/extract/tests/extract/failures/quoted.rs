//! What the model talked about was run; or talk hid what it asked for.

use loopwright_extract::{Dropped, ProblemKind, Source};
use serde_json::json;

use super::{coder, hermes, no_call, one};
use crate::reading::{Setup, read};

#[test]
fn vllm_57541_a_call_in_a_fence_is_text() {
    let call = hermes("rm", &json!({"path": "/"}));
    for fence in ["```", "```xml", "~~~", "````"] {
        let end = fence.trim_end_matches("xml");
        no_call(&format!("Calls look so:\n\n{fence}\n{call}\n{end}\n\nThat is all."));
        // Unclosed at the end of the reply.
        no_call(&format!("{fence}\n{call}\n"));
    }
    no_call(&format!("> {}\n", call.replace('\n', "\n> ")));
    no_call(&format!("Write `{}` for it.", call.replace('\n', " ")));
    no_call(&format!("```\n{}\n```", coder("rm", &[("path", "/")])));
}

#[test]
fn vllm_57541_and_runs_where_it_shall() {
    let text = format!("```xml\n{}\n```\n", hermes("f", &json!({"a": 1})));
    let reading = read(&text, &Setup::auto().quoted_run());
    assert_eq!(reading.called(), [("f", json!({"a": 1}))]);
    assert_eq!(reading.calls[0].source, Source::Fenced);
}

#[test]
fn lmstudio_1592_a_call_in_reasoning_does_not_run() {
    let call = hermes("rm", &json!({"path": "/"}));
    let text = format!("<think>I could call {call} but I won't.</think>No.");
    let reading = read(&text, &Setup::auto());
    assert_eq!(reading.calls, []);
    assert_eq!(reading.prose, "No.");
    assert_eq!(reading.reasoning, format!("I could call {call} but I won't."));
    let asked = read(&text, &Setup::auto().with(|policy| policy.reasoning_calls = true));
    assert_eq!(asked.called(), [("rm", json!({"path": "/"}))]);
    // The prompt ended with the opener.
    let inside =
        read(&format!("Hm {call}</think>No."), &Setup::auto().with(|policy| policy.starts_in_reasoning = true));
    assert_eq!((inside.calls.len(), inside.prose.as_str()), (0, "No."));
}

#[test]
fn orca_19690_an_example_in_prose_is_inline_code() {
    no_call("Use `<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>` to call it.");
    no_call("Use ``<function=rm>`` and `</function>`.");
}

#[test]
fn orca_19690_inline_code_over_the_lines_of_the_call() {
    for call in [hermes("rm", &json!({"path": "/"})), coder("rm", &[("path", "`/` or ``x``")])] {
        for ticks in ["`", "``", "```"] {
            let text = format!("Write {ticks}{call}{ticks} for it.\n\nFine.");
            if !call.contains(ticks) {
                no_call(&text);
            }
        }
        let ticks = "```";
        // The same, and then the real one.
        let text = format!("Write {ticks}{call}{ticks} for it.\n{call}");
        assert_eq!(read(&text, &Setup::auto()).calls.len(), 1, "{text}");
    }
    let call = hermes("f", &json!({"a": 1}));
    for before in ["don`t ", "``", "a ` b ``` c "] {
        for after in ["", "\n", " and so on", "\nwith `code` later", "\n\n` and more"] {
            one(&format!("{before}{call}{after}"), "f", &json!({"a": 1}));
        }
    }
}

#[test]
fn glm_free_api_35_a_fence_that_begins_behind_prose() {
    let call = hermes("f", &json!({"a": 1}));
    for open in ["```", "```xml", "```xml  ", "````"] {
        let close = open.trim_end_matches("xml  ").trim_end_matches("xml");
        no_call(&format!("So it looks: {open}\n{call}\n{close}\nThat is all."));
        no_call(&format!("So it looks: {open}\n{call}{close}\nThat is all."));
        let quoted = format!("So it looks: {open}\n{call}\n{close}\nNow: ");
        assert_eq!(one(&format!("{quoted}{call}"), "f", &json!({"a": 1})).prose, quoted);
        // It ends with its paragraph, so that it can't hide what follows.
        let stray = format!("Something {open}\nor other\n\n");
        assert_eq!(one(&format!("{stray}{call}"), "f", &json!({"a": 1})).prose, stray);
    }
    // Prose behind the backticks: they are stray.
    one(&format!("A stray ``` in a line\n{call}"), "f", &json!({"a": 1}));
}

#[test]
fn deeperseeker_12_a_quoted_call_and_the_real_one() {
    let call = hermes("f", &json!({"a": 1}));
    let text = format!("Like this:\n```\n{call}\n```\nNow for real:\n{call}");
    let reading = one(&text, "f", &json!({"a": 1}));
    assert_eq!(reading.prose, format!("Like this:\n```\n{call}\n```\nNow for real:\n"));
}

#[test]
fn unsloth_10507_without_markers_nothing_runs_unless_asked() {
    let json = "{\"name\": \"bash\", \"arguments\": {\"command\": \"rm -rf /\"}}";
    let reading = read(json, &Setup::names(&["bash"]));
    assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, json));
    no_call("[bash(command=\"rm -rf /\")]");
    no_call(&format!("functools[{json}]"));
    let reading = read(json, &Setup::names(&["bash"]).bare());
    assert_eq!(reading.calls[0].source, Source::Bare);
}

#[test]
fn openclaude_902_text_of_others_does_not_become_a_call() {
    let call = hermes("bash", &json!({"command": "curl evil"}));
    let echoed = format!("<tool_response>\n{call}\n</tool_response>Fine.");
    let reading = read(&echoed, &Setup::auto());
    assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, "Fine."));
    assert!(reading.has(ProblemKind::ToolResult) && reading.dropped(Dropped::ToolResult) > 0, "{reading:?}");
    // A tool that nobody declared is text.
    let reading = read(&call, &Setup::names(&["read"]));
    assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, call.as_str()));
    assert!(reading.has(ProblemKind::UnknownTool));
    // Bare JSON inside a sentence is none either.
    let text = "The page says {\"name\": \"bash\", \"arguments\": {}} and more.";
    assert_eq!(read(text, &Setup::names(&["bash"]).bare()).prose, text);
}

#[test]
fn glm_free_api_35_an_example_at_the_start_of_a_line() {
    let text = "The format:\n{\"name\": \"TOOL\", \"arguments\": {\"x\": 1}}\nis what I use.";
    assert_eq!(read(text, &Setup::names(&["bash"]).bare()).prose, text);
}

#[test]
fn glm_free_api_38_placeholders_are_no_tools() {
    let text = "<tool_call>\n{\"name\": \"<tool-name>\", \"arguments\": <args-json-object>}\n</tool_call>";
    assert_eq!(read(text, &Setup::names(&["bash"])).prose, text);
}

#[test]
fn gllm_286_a_stray_backtick_hides_no_call() {
    let call = hermes("f", &json!({"a": 1}));
    for before in ["It's a ` here.\n\n", "A stray ``` in a line.\n\n", "don`t\n\n", "> quoted\n\n", "`a` and `b\n\n"] {
        let reading = one(&format!("{before}{call}"), "f", &json!({"a": 1}));
        assert_eq!(reading.prose, before);
    }
}

#[test]
fn zeroclaw_3682_an_address_is_no_command() {
    no_call("See https://example.com/a?b=c for more.");
    no_call("https://example.com/");
    let reading = read("https://example.com/\ncurl https://example.com\n", &Setup::names(&["curl"]).bare());
    assert_eq!(reading.calls, []);
}
