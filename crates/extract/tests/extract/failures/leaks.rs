//! Markup came out as text.

use serde_json::json;

use super::{coder, hermes};
use crate::reading::{Setup, read};

/// No bracketed markup is in the text.
#[track_caller]
fn clean(text: &str, prose: &str, calls: usize) {
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.prose, prose, "{text}");
    assert_eq!(reading.calls.len(), calls, "{text}");
}

#[test]
fn d21_vllm_40911_no_marker_of_a_read_call_is_text() {
    let call = hermes("f", &json!({"a": 1}));
    clean(&format!("Hi.{call}"), "Hi.", 1);
    clean(&format!("Hi.{call}{call}"), "Hi.", 2);
    clean(&format!("<think>so</think>Hi.{call}Bye."), "Hi.Bye.", 1);
    clean(&coder("f", &[("a", "1")]), "", 1);
    // Nor where the reply ends inside the call.
    clean("Hi.<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1", "Hi.", 1);
    clean("Hi.<tool_call>\n<function=f>\n<parameter=a>\n1", "Hi.", 1);
}

#[test]
fn rapid_mlx_1592_section_markers_are_no_text() {
    let kimi = "Now.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>";
    clean(kimi, "Now.", 1);
    let deepseek =
        "Now.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    clean(deepseek, "Now.", 1);
    let harmony = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";
    let reading = read(harmony, &Setup::auto());
    assert_eq!((reading.prose.as_str(), reading.reasoning.as_str(), reading.calls.len()), ("", "Hm.", 1));
    clean("<|channel|>final<|message|>Hello.<|return|>", "Hello.", 0);
}

#[test]
fn claude_code_64179_markup_in_text_is_a_call_and_not_silence() {
    let call = "<invoke name=\"Bash\">\n<parameter name=\"command\">ls -la</parameter>\n</invoke>";
    for text in [
        format!("I'll look.\n<function_calls>\n{call}\n</function_calls>"),
        format!("I'll look.\n{call}"),
        format!("I'll look.\n<function_calls>\n{call}"),
    ] {
        let reading = read(&text, &Setup::names(&["Bash"]));
        assert_eq!(reading.called(), [("Bash", json!({"command": "ls -la"}))], "{text}");
        assert_eq!(reading.prose.trim_end(), "I'll look.");
    }
}

#[test]
fn claude_code_64179_so_is_the_one_with_a_namespace() {
    let ns = ["ant", "ml:"].concat();
    let text = format!(
        "<{ns}function_calls>\n<{ns}invoke name=\"Bash\">\n<{ns}parameter name=\"command\">ls</{ns}parameter>\n</{ns}invoke>\n</{ns}function_calls>"
    );
    let reading = read(&text, &Setup::auto());
    assert_eq!(reading.called(), [("Bash", json!({"command": "ls"}))]);
    assert_eq!(reading.prose, "");
}
