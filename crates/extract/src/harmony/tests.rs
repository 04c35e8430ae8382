//! Messages to tools in every split, and headers however garbled.

use proptest::prelude::*;
use serde_json::json;

use super::{
    super::{
        recorder::{Fed, Recorder, everywhere, feed},
        signature::Signatures,
    },
    *,
};

fn signatures() -> Signatures {
    let mut signatures = Signatures::default();
    let parameters = [("cmd".to_owned(), Kind::String)];
    signatures.insert("shell", Signature { parameters: parameters.into_iter().collect(), ..Signature::default() });
    signatures
}

fn read(text: &str) -> Fed {
    everywhere(&|| Box::new(Harmony::new()), &|| Recorder::new(signatures()), text.as_bytes())
}

/// What a header says, which must not depend on how it comes.
fn head(text: &str) -> Head {
    let whole = Header::default().read(text.as_bytes(), true);
    for cut in 0..=text.len() {
        let mut header = Header::default();
        let mut head = header.read(&text.as_bytes()[..cut], false);
        if head == Head::More {
            head = header.read(text.as_bytes(), true);
        }
        assert_eq!(head, whole, "cut at {cut}: {text}");
    }
    let mut header = Header::default();
    let bytewise = (0..=text.len()).map(|cut| header.read(&text.as_bytes()[..cut], cut == text.len()));
    assert_eq!(bytewise.into_iter().find(|head| *head != Head::More), Some(whole.clone()), "{text}");
    whole
}

#[test]
fn headers_say_whose_the_content_is() {
    for text in [
        "<|channel|>final<|message|>",
        "<|start|>assistant<|channel|>final<|message|>",
        "<|start|>assistant<|channel|>commentary<|message|>",
        "<|start|>assistant<|message|>",
        "<|channel|>final <|constrain|>json<|message|>",
        "<|channel|>final json<|message|>",
        "<|channel|>commentary <|constrain|>json<|message|>",
        "<|start|>assistant<|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|channel|>final<|message|>",
        "<|channel|>commentary\u{2013}\u{2013}commentary<|message|>",
    ] {
        assert_eq!(head(text), Head::Text(text.len()), "{text}");
    }
    for text in ["<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>analysis code<|message|>"] {
        assert_eq!(head(text), Head::Reasoning(text.len()), "{text}");
    }
    assert_eq!(head("<|channel|>final<|end|>"), Head::Text(16));
    assert_eq!(head("<|start|>assistant<|chan"), Head::Text(24));
    assert_eq!(head("<|start|>assistant<|channel|>"), Head::Text(29));
    for text in [
        "",
        "<|channel|> marks a channel",
        "<|start|>user<|message|>",
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>",
        "<|channel|>nonsense<|message|>",
        "<|message|>",
        "<|channel|>{",
    ] {
        assert_eq!(head(text), Head::No, "{text}");
    }
    assert_eq!(head(&format!("<|channel|>final{}<|message|>", " x".repeat(300))), Head::No);
    assert_eq!(head(&format!("<|channel|>final{}<|message|>", "x".repeat(300))), Head::No);
}

#[test]
fn calls_wherever_the_recipient_stands() {
    for header in [
        "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        "<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.get_weather<|message|>",
        " to=functions.get_weather <|constrain|>json<|message|>",
        "to=get_weather<|channel|>commentary json<|message|>",
        "<|channel|>analysis to=functions.get_weather code<|message|>",
        "<|channel|>commentary to= functions.get_weather json",
        "<|channel|>commentary to=functions.get_weather json ",
        "<|channel|>commentary to=functions.get_weather<|channel|>commentary<|constrain|><|constrain|>json<|message|>\n",
        "<|channel|>commentary\nto=functions.get_weather",
        "<|channel|>tool to=functions.get_weather<|message|>",
    ] {
        let text = format!("{header}{{\"city\": \"<|call|> \\\"x\\\"\", \"n\": [1]}}<|call|>");
        let fed = read(&text);
        assert_eq!((fed.step, fed.told.bytes), (Step::Done, text.len() - 8), "{text}");
        let call = &fed.told.calls[0];
        assert_eq!((call.name.as_str(), call.complete), ("get_weather", Some(true)), "{text}");
        assert_eq!(call.value(), json!({"city": "<|call|> \"x\"", "n": [1]}), "{text}");
        assert!(call.repaired.is_empty());
    }
}

#[test]
fn content_that_is_no_object() {
    let fed = read("<|channel|>commentary to=functions.now<|message|><|call|>");
    assert_eq!((fed.step, fed.told.calls[0].value()), (Step::Done, json!({})));
    let fed = read("<|channel|>analysis to=python code<|message|>if 1 < 2:\n    print(\"\\n<|x\")\n<|call|>");
    assert_eq!(fed.told.calls[0].value(), json!({"code": "if 1 < 2:\n    print(\"\\n<|x\")\n"}));
    assert!(fed.told.calls[0].repaired.is_empty());
    let fed = read("<|channel|>commentary to=functions.shell<|message|>ls -la é<|end|>");
    assert_eq!(fed.told.calls[0].value(), json!({"cmd": "ls -la é"}));
    assert_eq!(fed.told.calls[0].repaired, ["named the one argument"]);
    let fed = read("<|channel|>commentary to=functions.f<|message|>[1]<|call|>");
    assert_eq!((fed.step, fed.told.calls[0].complete), (Step::Done, Some(false)));
    let fed = read("<|channel|>commentary to=functions.f<|message|>[1] and so on");
    assert!(matches!(fed.step, Step::Failed(_)));
}

#[test]
fn messages_to_nobody_are_given_back_and_cut_ones_end_incomplete() {
    for text in
        ["", "<|channel|>final<|message|>x", "<|channel|>analysis<|message|>x", "to be<|message|>", "commentary"]
    {
        let fed = read(text);
        assert!(matches!(fed.step, Step::Failed(_)), "{text}");
        assert_eq!((fed.told.bytes, fed.told.calls.len()), (0, 0), "{text}");
    }
    let fed = read("<|start|>assistant to=search<|message|>\n<atem:function_calls>");
    assert_eq!((fed.step, fed.told.markup, fed.told.calls.len()), (Step::Done, 39, 0));
    for text in [
        "<|channel|>commentary to=functions.f <|constr",
        "<|channel|>commentary to=functions.f <|message|>",
        "<|channel|>commentary to=functions.f <|message|>{\"a\": \"x",
        "<|channel|>commentary to=python <|message|>print(1)<|ca",
    ] {
        let fed = read(text);
        let complete = fed.told.calls.first().and_then(|call| call.complete);
        assert_eq!((fed.step, complete, fed.told.bytes), (Step::Done, Some(false), text.len()), "{text}");
    }
}

#[test]
fn long_content_flows() {
    for (to, content) in
        [("python", "print(1 < 2)\n".repeat(20_000)), ("functions.f", format!("{{\"a\": \"{}", "x".repeat(200_000)))]
    {
        let text = format!("<|channel|>commentary to={to}<|message|>{content}");
        let fed = feed(&mut Harmony::new(), Recorder::new(signatures()), text.as_bytes().chunks(4));
        assert!(fed.held < 80 && fed.told.deltas > 20_000, "{} {}", fed.held, fed.told.deltas);
    }
}

#[test]
fn an_end_behind_a_marker_too_many_is_waited_for() {
    let fed = read("to=python<|start|><|message|><|constrain|><|end|><|end|>");
    assert_eq!(fed.told.calls.iter().map(|call| call.complete).collect::<Vec<_>>(), [Some(true)]);
}

proptest! {
    #[test]
    fn garbled_headers_are_never_errors(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "<|start|>", "assistant", "<|channel|>", "commentary", "analysis", " ", "to=", "functions.f", "<|constrain|>",
            "json", "<|message|>", "{\"a\":1}", "<|call|>", "<|end|>", "<|", "to=python", "x\u{e9}",
        ]), 0..12),
    ) {
        let text = pieces.concat();
        head(&text.replace('\u{e9}', ""));
        let fed = read(&text);
        for call in fed.told.calls.iter().filter(|call| call.complete == Some(true)) {
            prop_assert!(call.value().is_object());
        }
    }
}
