//! It fell over.

use loopwright_extract::{Events, ProblemKind};
use serde_json::json;

use super::{hermes, no_call, one};
use crate::reading::{Setup, pieces, read};

/// Reads what would overflow a stack and says whether a call came out whole.
fn survives(text: &str) -> bool {
    for bare in [false, true] {
        let setup = Setup::names(&["f"]);
        let setup = if bare { setup.bare() } else { setup };
        let reading = pieces(text.as_bytes().chunks(1 << 16), &setup);
        if reading.calls.iter().any(|call| call.complete) {
            return true;
        }
    }
    false
}

#[test]
fn json_repair_160_depth_is_no_recursion() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[", "]}]")] {
        for depth in [200, 100_000] {
            let nest = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let text = format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{\"a\": {nest}}}}}</tool_call>");
            assert!(!survives(&text), "deeper than allowed");
            let reading = pieces([text.as_bytes()], &Setup::auto());
            assert!(reading.has(ProblemKind::TooDeep), "{:?}", reading.problems);
        }
    }
}

#[test]
fn json_repair_54_broken_depth_is_none_either() {
    for open in ["[", "{", "{'a':", "[{", "(", "f(a=[", "<a>"] {
        let nest = open.repeat(100_000);
        survives(&format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{'a': {nest}"));
        survives(&format!("<|tool_call_start|>[f(a={nest}"));
        survives(&format!("<|tool_call>call:f{{a:{nest}"));
        survives(&format!("<tool_call><function=f><parameter=a>{nest}"));
        survives(&nest);
    }
}

#[test]
fn jsonrepair_19_no_stack_overflows() {
    let nest = "{\"a\":[".repeat(200_000);
    survives(&format!("[TOOL_CALLS]f[ARGS]{nest}"));
    survives(&format!("<|channel|>commentary to=functions.f<|message|>{nest}"));
    survives(&format!(
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">{}",
        "]<]minimax[>[<a>".repeat(100_000)
    ));
}

#[test]
fn llama_cpp_12379_nothing_said_is_taken_back() {
    let text = format!("Say <tool <tool_call {} <tool_call>{{\"nam", hermes("f", &json!({"a": [1, {"b": "c"}]})));
    let mut parser = Setup::auto().parser();
    let (mut prose, mut arguments) = (String::new(), String::new());
    for byte in text.as_bytes().chunks(1) {
        let mut events = Events::new();
        parser.feed(byte, &mut events);
        for event in events.iter() {
            match event {
                loopwright_extract::Event::Text { text, .. } => prose.push_str(text),
                loopwright_extract::Event::Arguments { json, .. } => arguments.push_str(json),
                _ => {}
            }
        }
    }
    let whole = read(&text, &Setup::auto());
    assert!(whole.prose.starts_with(&prose) && whole.calls[0].arguments == arguments, "{prose} {arguments} {whole:?}");
}

#[test]
fn llama_cpp_15713_a_list_of_no_calls() {
    for text in ["<|tool_call|>[\"1025202362\"]", "<|tool_call|>[]", "<|tool_call|>[1, 2]", "<tool_call>[\"a\"]"] {
        let reading = read(text, &Setup::auto());
        assert_eq!(reading.calls, [], "{text}");
    }
}

#[test]
fn llama_cpp_20260_a_bracket_in_reasoning_is_no_end_of_it() {
    let reading = read("<think>see <interface> and < and </thin and </ think></think>Yes.", &Setup::auto());
    assert_eq!(reading.reasoning, "see <interface> and < and </thin and </ think>");
    assert_eq!(reading.prose, "Yes.");
}

/// A header of gpt-oss, its message and its end.
fn harmony(header: &str) -> String {
    format!("{header}<|message|>{{\"a\":1}}<|call|>")
}

#[test]
fn llama_cpp_27720_odd_headers_are_read() {
    for header in [
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|channel|>commentary to=functions.f<|constrain|>json",
        "<|channel|>commentary to=functions.f json",
        "<|channel|>commentary to=functions.f code",
        "<|channel|>commentary to=functions.f",
        "<|channel|>analysis to=functions.f <|constrain|>json",
        "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json",
        "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json",
        " to=functions.f<|channel|>commentary <|constrain|>json",
    ] {
        one(&harmony(header), "f", &json!({"a": 1}));
    }
}

#[test]
fn llama_cpp_27720_odd_headers_without_a_tool_leak_nothing() {
    for header in [
        "<|channel|>final <|constrain|>json<|message|>",
        "<|channel|>final json<|message|>",
        "<|channel|>commentary <|constrain|>json<|message|>",
        "<|start|>assistant<|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|channel|>final<|message|>",
        "<|channel|>analysis code<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    ] {
        let reading = read(&format!("{header}{{\"x\":1}}<|return|>"), &Setup::auto());
        assert_eq!((reading.prose.as_str(), reading.calls.len()), ("{\"x\":1}", 0), "{header}");
    }
    let talk = "The <|channel|> marker stands before <|message|>, <|start|> at the front.";
    assert_eq!(read(talk, &Setup::auto()).prose, talk);
}

#[test]
fn harmony_33_the_text_ends_in_a_header() {
    for text in [
        "<|start|>",
        "<|start|>assistant",
        "<|start|>assistant<|channel|>",
        "<|channel|>commentary to=functions.f <|constrain|>js",
    ] {
        let reading = read(text, &Setup::auto());
        assert!(reading.calls.iter().all(|call| !call.complete), "{text}");
    }
}

#[test]
fn harmony_38_words_left_in_a_header() {
    for header in [
        "<|channel|>commentary––commentary to=functions.f <|constrain|>json",
        "<|channel|>commentary to=functions.f ––commentary <|constrain|>json",
        "<|start|>assistant to=functions.f<|channel|>commentary––commentary",
    ] {
        // Read or left as text, whole in either case.
        let reading = read(&harmony(header), &Setup::auto());
        match reading.calls.as_slice() {
            [] => assert_eq!(reading.prose, harmony(header)),
            calls => assert!(calls.len() == 1 && calls[0].name == "f", "{reading:?}"),
        }
    }
}

#[test]
fn harmony_48_text_between_two_messages() {
    let text = format!(
        "<|channel|>final<|message|>One.<|end|>stray{}",
        harmony("<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json")
    );
    let reading = one(&text, "f", &json!({"a": 1}));
    assert_eq!(reading.prose, "One.stray");
}

#[test]
fn harmony_60_a_text_that_begins_with_no_header() {
    no_call("Plain words first.");
    assert_eq!(read("Words.<|channel|>final<|message|>More.<|return|>", &Setup::auto()).prose, "Words.More.");
}

#[test]
fn harmony_80_a_message_after_its_end() {
    let text = format!("{}<|end|><|return|>", harmony("<|channel|>commentary to=functions.f <|constrain|>json"));
    one(&text, "f", &json!({"a": 1}));
}

#[test]
fn vllm_51977_a_name_with_a_hyphen_in_a_header() {
    one(
        &harmony("<|channel|>commentary to=functions.web-browsing <|constrain|>json"),
        "web-browsing",
        &json!({"a": 1}),
    );
    one(
        &harmony("<|start|>assistant to=functions.web-browsing<|channel|>commentary"),
        "web-browsing",
        &json!({"a": 1}),
    );
}

#[test]
fn vllm_46464_no_text_is_lost_after_an_error() {
    let text = "<|channel|>commentary to=<|message|>{\"a\":1}<|call|>Still here.";
    let reading = read(text, &Setup::auto());
    assert!(reading.prose.ends_with("Still here."), "{reading:?}");
}
