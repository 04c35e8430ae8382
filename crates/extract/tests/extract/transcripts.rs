//! Replies as the models' templates frame them, where the prompt ended in the middle of a frame and where a turn ends.

use loopwright_extract::turn_ends;
use serde_json::json;

use crate::reading::{Setup, read};

const ATEM: &str = "<atem:function_calls>\n<atem:invoke name=\"f\">\n<atem:parameter name=\"q\">x</atem:parameter>\n</atem:invoke>\n</atem:function_calls>";

/// Prose, reasoning and how many calls.
#[track_caller]
fn parts(text: &str, prose: &str, reasoning: &str, calls: usize) {
    let reading = read(text, &Setup::auto());
    let found = (reading.prose.as_str(), reasoning, reading.calls.iter().filter(|call| call.complete).count());
    assert_eq!(found, (prose, reading.reasoning.as_str(), calls), "{text}");
    assert_eq!(reading.calls.len(), calls, "{text}");
}

#[test]
fn d17_a_reply_of_muse_begins_behind_the_role_that_the_prompt_ended_with() {
    let thought = format!("to=self<|message|>I could write {ATEM} but won't.<|eom|>");
    parts(&thought, "", &format!("I could write {ATEM} but won't."), 0);
    parts(
        &format!("{thought}<|start|>assistant to=user<|message|>Done.<|eot|>"),
        "Done.",
        &format!("I could write {ATEM} but won't."),
        0,
    );
    parts("to=user<|message|>Hi.<|eot|>", "Hi.", "", 0);
    for end in ["", "<|eom|>", "<|eot|>"] {
        parts(&format!("to=f<|message|>{ATEM}{end}"), "", "", 1);
        parts(&format!("<|start|>assistant to=f<|message|>{ATEM}{end}"), "", "", 1);
        let unwrapped = ATEM.replace("<atem:function_calls>\n", "").replace("\n</atem:function_calls>", "");
        parts(&format!("to=f<|message|>{unwrapped}{end}"), "", "", 1);
    }
}

#[test]
fn d21_what_muse_says_between_calls_is_text() {
    let text = format!(
        "<|start|>assistant to=commentary<|message|>Checking.<|eom|><|start|>assistant to=f<|message|>{ATEM}<|eom|><|start|>assistant to=user<|message|>Sunny.<|eot|>"
    );
    parts(&text, "Checking.Sunny.", "", 1);
}

#[test]
fn d21_words_before_a_call_of_gigachat_end_with_a_marker() {
    let call = "function call<|role_sep|>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
    parts(&format!("I'll look.<|message_sep|>\n\n{call}"), "I'll look.", "", 1);
    parts(&format!("<|message_sep|>\n\n{call}"), "", "", 1);
}

#[test]
fn d21_a_separator_between_two_calls_of_step_3_is_no_text() {
    let call = "<｜tool_call_begin｜><steptml:invoke name=\"f\"><steptml:parameter name=\"a\">b</steptml:parameter></steptml:invoke><｜tool_call_end｜>";
    parts(&format!("<｜tool_calls_begin｜>{call}<｜tool_sep｜>{call}<｜tool_calls_end｜>"), "", "", 2);
}

#[test]
fn d21_the_end_of_a_turn_of_inkling_is_no_text() {
    let call = "<|message_model|>f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{}}<|end_message|>";
    parts(&format!("{call}{call}<|content_model_end_sampling|>"), "", "", 2);
    let text =
        "<|message_model|><|content_thinking|>Hm.<|end_message|><|message_model|><|content_text|>Hi.<|end_message|>";
    parts(&format!("{text}<|content_model_end_sampling|>"), "Hi.", "Hm.", 0);
}

#[test]
fn d21_any_channel_of_gemma_is_reasoning() {
    parts("<|channel>Hm.<channel|>Hi.", "Hi.", "Hm.", 0);
    parts("<|channel>thought\nHm.<channel|>Hi.", "Hi.", "Hm.", 0);
}

#[test]
fn d17_the_section_of_hunyuan_4_has_no_separator_in_its_calls() {
    let text = "Hi.<tool_calls><tool_call>f<arg_key>q</arg_key><arg_value>x</arg_value></tool_call><tool_call>g</tool_call></tool_calls>";
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.called(), [("f", json!({"q": "x"})), ("g", json!({}))]);
    assert_eq!(reading.prose, "Hi.");
}

#[test]
fn d21_a_frame_of_text_of_cohere_is_no_text() {
    let call = "<|START_ACTION|>{\"tool_name\": \"f\", \"parameters\": {}}<|END_ACTION|>";
    parts(&format!("<|START_TEXT|>Hi.<|END_TEXT|>{call}<|START_TEXT|>Done.<|END_TEXT|>"), "Hi.Done.", "", 1);
}

#[test]
fn d21_a_list_of_mistral_may_have_a_closer() {
    parts("[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}][/TOOL_CALLS]", "", "", 1);
}

#[test]
fn d17_brackets_are_no_name() {
    for text in [
        "<|tool_call_begin|>functions.[{\"name\": \"f\", \"arguments\": {}}]",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f}{\"a\": \"b\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ] {
        assert!(!read(text, &Setup::auto()).calls.iter().any(|call| call.complete), "{text}");
    }
}

#[test]
fn d17_phi_4_leaves_out_the_bracket_of_its_list() {
    let text = "functools{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
    let reading = read(text, &Setup::names(&["f"]).bare());
    assert_eq!(reading.called(), [("f", json!({"a": 1}))]);
}

#[test]
fn d21_what_ends_a_turn_is_no_text_at_a_reply_s_end() {
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    for end in turn_ends() {
        parts(&format!("Hi.{end}"), "Hi.", "", 0);
        parts(&format!("Hi.{call}{end}"), "Hi.", "", 1);
        parts(&format!("Hi.{call}\n{end}\n"), "Hi.\n\n", "", 1);
        parts(&format!("Hi.{end}{end}"), "Hi.", "", 0);
        parts(&format!("<think>Hm.</think>Hi.{end}"), "Hi.", "Hm.", 0);
    }
    for text in
        ["It writes <|im_end|> there.", "`<|im_end|>`", "Say \"<|im_end|>\".", "<|im_end|> <|im_end|> <|im_end|> so"]
    {
        parts(text, text, "", 0);
    }
}

#[test]
fn e8_what_ends_a_turn_of_any_family_is_no_text() {
    for end in [
        "</s>",
        "<eos>",
        "<EOS>",
        "<|end|>",
        "<|return|>",
        "<|im_end|>",
        "<|eot_id|>",
        "<|EOT|>",
        "[EOS]",
        "<end_of_turn>",
        "[|endofturn|]",
        "<|role_end|>",
        "<|eos|>",
        "<pad>",
        "<｜end▁of▁sentence｜>",
        "<|end▁of▁sentence|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|message_sep|>",
    ] {
        for behind in ["", "\n", "</s>", "<|im_end|>", "\n<|im_start|>"] {
            let reading = read(&format!("Hi.{end}{behind}"), &Setup::auto());
            assert_eq!(reading.prose.trim_end(), "Hi.", "{end}{behind}: {reading:?}");
        }
        // In the middle of a text it is talked about.
        let text = format!("The token {end} ends a turn.");
        assert_eq!(read(&text, &Setup::auto()).prose, text);
    }
}

#[test]
fn e8_a_stray_closer_is_no_text_and_talk_of_one_is() {
    for close in
        ["</tool_call>", "</function_calls>", "<|tool_call_end|>", "</tool_calls>", "<|tool_calls_section_end|>"]
    {
        for (text, prose) in
            [(format!("Done.{close} Bye."), "Done. Bye.".to_owned()), (format!("Done.{close}"), "Done.".to_owned())]
        {
            assert_eq!(read(&text, &Setup::auto()).prose, prose, "{text}");
        }
        for text in [
            format!("The marker {close} closes it."),
            format!("Write `{close}` there."),
            format!("({close})"),
            format!("\"{close}\""),
            format!("{close} is what closes it."),
            format!("a {close}"),
            format!("Done.\n{close}\nBye."),
            format!("```\nDone.{close}\n```"),
        ] {
            assert_eq!(read(&text, &Setup::auto()).prose, text, "{text}");
        }
    }
    // What opened it stands in the text too.
    let text = "Write <tool_call>what it is</tool_call> there.";
    assert_eq!(read(text, &Setup::auto()).prose, text);
}
