//! Characters were cut.

use loopwright_extract::ProblemKind;
use serde_json::json;

use super::{coder, hermes, no_call, one};
use crate::reading::{Setup, pieces, read, read_bytes};

#[test]
fn imp_1554_holding_back_cuts_no_character() {
    no_call("日本語 <日本語 🚀<🚀 é<｜ä▁ <｜tool▁ 終");
    let text = format!("日本語🚀{}🚀日本語", hermes("f", &json!({"a": "日本語🚀</tool_call>"})));
    assert_eq!(one(&text, "f", &json!({"a": "日本語🚀</tool_call>"})).prose, "日本語🚀🚀日本語");
}

#[test]
fn imp_1667_no_replacement_character_appears() {
    let value = "ß</parämeter>🚀</parameter 語";
    let text = coder("f", &[("a", value)]);
    let reading = pieces(text.as_bytes().chunks(1), &Setup::auto());
    assert_eq!(reading.called(), [("f", json!({"a": value}))]);
    assert!(!reading.calls[0].arguments.contains('\u{fffd}'));
}

#[test]
fn imp_1667_nor_where_arguments_are_given_up() {
    for word in [
        "<｜tool▁call▁begin｜>",
        "日本語日本語日本語",
        "aé aaé aaé aaé aaé aa🚀",
        "123456789012345é",
        "12345678901234🚀",
    ] {
        for text in [
            format!("<|tool_call_begin|>f\"{word}\""),
            format!("<tool_call>{{\"name\": \"f\", \"arguments\": \"{word}\"}}</tool_call>{word}"),
            format!("[TOOL_CALLS]f[ARGS]{word}"),
        ] {
            let reading = read(&text, &Setup::auto());
            assert!(!reading.has(ProblemKind::InvalidUtf8), "{text}: {reading:?}");
            assert!(!reading.prose.contains('\u{fffd}'), "{text}: {reading:?}");
        }
    }
}

#[test]
fn openclaw_115536_emoji_in_every_place() {
    let text = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"🚀\": \"👩‍👩‍👧\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>✅";
    assert_eq!(one(text, "f", &json!({"🚀": "👩‍👩‍👧"})).prose, "✅");
}

#[test]
fn eliza_30904_a_pair_of_surrogates_is_one_character() {
    let text = "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\\uD83D\\uDE80 go\"}}</tool_call>";
    let reading = one(text, "f", &json!({"a": "🚀 go"}));
    assert!(!reading.calls[0].repaired);
    // In the name as well, and where arguments come first.
    let text = "<tool_call>{\"arguments\": {\"a\": \"\\uD83D\\uDE80\"}, \"name\": \"\\uD83D\\uDE80\"}</tool_call>";
    one(text, "🚀", &json!({"a": "🚀"}));
}

#[test]
fn eliza_30904_deltas_of_an_escape_are_never_cut_in_two() {
    let text = "<|tool_call_start|>[f(a=\"\\U0001F680\", b='\\ud83d\\ude80')]<|tool_call_end|>";
    one(text, "f", &json!({"a": "🚀", "b": "🚀"}));
}

#[test]
fn bytes_that_are_no_text_are_said_and_replaced() {
    let reading = read_bytes(b"ab\xff\xfecd\xe2\x82", &Setup::auto());
    assert!(reading.prose.starts_with("ab\u{fffd}") && reading.prose.contains("cd"), "{reading:?}");
    assert!(reading.has(ProblemKind::InvalidUtf8));
    let reading =
        read_bytes(b"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\xff\"}}</tool_call>", &Setup::auto());
    assert_eq!(reading.called(), [("f", json!({"a": "\u{fffd}"}))]);
    let reading = read("\u{0}\u{feff}", &Setup::auto());
    assert_eq!(reading.prose, "\u{0}\u{feff}");
}
