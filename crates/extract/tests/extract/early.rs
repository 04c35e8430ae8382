//! Closers that stand before what they close.

use loopwright_extract::Policy;
use serde_json::json;

use crate::reading::{Setup, read};

/// One call with these arguments comes out, mended, and nothing else.
#[track_caller]
fn mended(text: &str) {
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.called(), [("ff", json!({"a": "x"}))], "{text}: {reading:?}");
    assert_eq!(reading.prose.trim(), "Bye.", "{text}: {reading:?}");
    assert!(reading.calls[0].repaired && reading.calls[0].complete, "{text}: {reading:?}");
    let strict = Setup::auto().with(|policy: &mut Policy| policy.repair = false);
    assert!(!read(text, &strict).calls[0].complete, "{text}");
}

#[test]
fn d17_a_call_whose_parameters_stand_behind_its_closer_does_not_run_without_them() {
    mended(
        "<function_calls><invoke name=\"ff\"></invoke><parameter name=\"a\">x</parameter></invoke></function_calls>Bye.",
    );
    mended("<invoke name=\"ff\">\n</invoke>\n<parameter name=\"a\">x</parameter>\n</invoke>Bye.");
    mended("<tool_call>\n<function=ff>\n</function>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>Bye.");
    mended(
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"ff\"></｜DSML｜invoke><｜DSML｜parameter name=\"a\" string=\"true\">x</｜DSML｜parameter></｜DSML｜invoke>\n</｜DSML｜tool_calls>Bye.",
    );
    mended(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ff:0<|tool_call_end|><|tool_call_argument_begin|>{\"a\": \"x\"}<|tool_call_end|><|tool_calls_section_end|>Bye.",
    );
    mended("<tool_call>ff</tool_call>\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>Bye.");
}

#[test]
fn d17_a_call_without_parameters_needs_none() {
    for text in [
        "<function_calls><invoke name=\"ff\"></invoke><invoke name=\"ff\"></invoke></function_calls>Bye.",
        "<tool_call>\n<function=ff>\n</function>\n</tool_call><tool_call>\n<function=ff>\n</function>\n</tool_call>Bye.",
        "<tool_call>ff</tool_call><tool_call>ff</tool_call>Bye.",
        "<invoke name=\"ff\"></invoke></invoke><invoke name=\"ff\"></invoke>Bye.",
    ] {
        let reading = read(text, &Setup::auto());
        assert_eq!(reading.called(), [("ff", json!({})), ("ff", json!({}))], "{text}: {reading:?}");
        assert!(reading.calls.iter().all(|call| call.complete && !call.repaired), "{text}: {reading:?}");
        assert_eq!(reading.prose, "Bye.", "{text}");
    }
}

#[test]
fn d21_what_goes_to_the_user_is_text_on_any_channel() {
    let text = "<|start|>assistant to=user<|channel|>final<|message|>Hi.<|end|>";
    let reading = read(text, &Setup::auto());
    assert_eq!((reading.prose.as_str(), reading.calls.len()), ("Hi.", 0));
}

#[test]
fn d17_a_value_that_talks_of_closers_and_openers_goes_on() {
    let value = "before </tool_call><tool_call> after";
    let text =
        format!("<tool_call>ff<arg_key>a</arg_key><arg_value>{value}</arg_value></tool_call><tool_call>gg</tool_call>");
    let reading = read(&text, &Setup::auto());
    assert_eq!(reading.called(), [("ff", json!({"a": value})), ("gg", json!({}))], "{reading:?}");
    // They don't balance within it, and another call follows: the bytes could be those of three calls.
    assert!(reading.calls.iter().all(|call| !call.complete && !call.repaired), "{reading:?}");
    let last = text.strip_suffix("<tool_call>gg</tool_call>").unwrap();
    let reading = read(last, &Setup::auto());
    assert_eq!(reading.called(), [("ff", json!({"a": value}))], "{reading:?}");
    assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{reading:?}");
    // Where a call does follow, the value is over.
    let text = "<tool_call>ff<arg_key>a</arg_key><arg_value>x</tool_call>\n<tool_call>gg\n<arg_key>b</arg_key><arg_value>y</arg_value></tool_call>";
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.called(), [("ff", json!({"a": "x"})), ("gg", json!({"b": "y"}))], "{reading:?}");
}
