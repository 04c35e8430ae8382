//! The arguments of native calls: what a provider hands over in a field of its own. Where they are no object, the
//! automaton that reads the arguments of calls written as text mends them, under the same limits; an object is not
//! touched.

use super::{
    arguments::{Arguments, Leave, Verdict},
    json::Mend,
    merged::QUOTES,
    next::Next,
    policy::Policy,
};
use loopwright_base::{
    json::Raw,
    message::{Block, Message, is_empty_arguments},
};

const FENCE: &str = "```";

/// A call whose arguments were repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedCall {
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// What was done, in the words of [`Mend::describe`], sorted.
    pub repairs: Vec<String>,
}

/// Mends the arguments of a reply's native calls and gives the calls that needed a repair: an object in a string, and a
/// word for nothing, need none. What can't be mended without a guess stays as it was written.
pub fn mend_calls(message: &mut Message) -> Vec<RepairedCall> {
    let mut repaired = Vec::new();
    for block in &mut message.content {
        let Block::ToolUse(call) = block else { continue };
        let written = call.arguments_text();
        if is_empty_arguments(written) || (call.invalid.is_none() && call.input.is_object()) {
            continue;
        }
        let Some((json, repairs)) = mend(written) else { continue };
        let Ok(input) = Raw::parse(json) else { continue };
        (call.input, call.invalid) = (input, None);
        if !repairs.is_empty() {
            let mut repairs: Vec<String> = repairs.into_iter().map(str::to_owned).collect();
            repairs.sort();
            repaired.push(RepairedCall { name: call.name.clone(), repairs });
        }
    }
    repaired
}

/// The object that arguments stand for, and what was done to them; `None` where they are cut off, hold something else,
/// or go on behind the object.
fn mend(written: &str) -> Option<(String, Vec<&'static str>)> {
    let policy = Policy::default();
    let leave = Leave { room: policy.max_argument_bytes, repairs: true };
    let written = written.trim_ascii();
    let fenced = written.strip_prefix(FENCE);
    let text = fenced.map_or(written, |inside| inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    let text = text.trim_ascii_start();
    if !text.starts_with(|c: char| matches!(c, '{' | '[' | '"' | '\'') || c.is_ascii_alphabetic()) {
        return None;
    }

    let closers: &[&str] = if fenced.is_some() { &[FENCE] } else { &[] };
    let mut arguments = Arguments::new(policy.max_depth, closers, Next::default());
    let mut json = String::new();
    let (read, verdict) = arguments.step(text.as_bytes(), true, leave, &mut |piece, _| json.push_str(piece));
    if verdict != Verdict::Done || arguments.spoilt().is_some() || json.len() > leave.room {
        return None;
    }

    let mut repairs = Vec::new();
    arguments.tell(leave.repairs, |how| repairs.push(how));
    if repairs.iter().any(|how| QUOTES.contains(how)) && swallowed(&json) {
        return None;
    }
    let behind = text.get(read..)?;
    let end = behind.trim_start_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '}' | ']'));
    if behind.trim_ascii_start().len() > end.len() {
        repairs.push(Mend::ExtraCloser.describe());
    }
    let end = if fenced.is_some() {
        repairs.push(Mend::Fence.describe());
        end.strip_prefix(FENCE)?
    } else {
        end
    };
    end.is_empty().then_some((json, repairs))
}

/// Whether a string whose end was missing holds the next object of the same form: two calls never run as one.
fn swallowed(json: &str) -> bool {
    json.split('"').nth(1).is_some_and(|key| json.contains(&format!("{{\\\"{key}\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::{Role, ToolUse};
    use loopwright_testing::growth::grows_in_line;
    use proptest::prelude::*;

    fn told(written: &str) -> Option<(String, Vec<String>)> {
        let call = ToolUse::from_text("a", "look", written.to_owned());
        let mut message = Message::new(Role::Assistant, vec![Block::ToolUse(call.clone())]);
        let repairs = mend_calls(&mut message).pop().map(|call| call.repairs).unwrap_or_default();
        let mended = message.tool_uses().next().cloned()?;
        (mended != call).then(|| (mended.input.text().to_owned(), repairs))
    }

    #[test]
    fn w5_arguments_are_mended_as_in_text() {
        let oslo = r#"{"city":"Oslo"}"#;
        for (written, json, repairs) in [
            (r#""{\"city\":\"Oslo\"}""#, oslo, vec![]),
            ("\"null\"", "{}", vec![]),
            ("[]", "{}", vec![Mend::NoArguments]),
            ("{'city':'Oslo'}", oslo, vec![Mend::Quotes]),
            (r#"'{"city":"Oslo"}'"#, oslo, vec![Mend::Quotes]),
            ("{\"city\":\"Os\nlo\"}", r#"{"city":"Os\nlo"}"#, vec![Mend::Control]),
            (r#"{"city":"Oslo"}]}"#, oslo, vec![Mend::ExtraCloser]),
            ("```json\n{\"city\":\"Oslo\"}\n```", oslo, vec![Mend::Fence]),
            ("```\n{\"at\": [1\n```", "{\"at\": [1\n]}", vec![Mend::MissingCloser, Mend::Fence]),
        ] {
            let mut repairs: Vec<_> = repairs.into_iter().map(|mend: Mend| mend.describe().to_owned()).collect();
            repairs.sort();
            assert_eq!(told(written), Some((json.to_owned(), repairs)), "{written}");
        }
    }

    #[test]
    fn w5_what_is_an_object_or_a_guess_stays() {
        let deep = format!("{{'a': {}", "[".repeat(200));
        for written in [
            r#"{ "city":  "Oslo", "city": 1.50 }"#,
            "",
            "null",
            r#"{"city":"Os"#,
            r#"{"city":"Oslo""#,
            r#"{"city": "#,
            r#"{"city":"Oslo"}{"city":"Rome"}"#,
            r#"{"city":"Oslo}{"city":"Rome"}"#,
            r#"{"city":"Oslo"} and so on"#,
            r#"Here: {"city":"Oslo"}"#,
            r#"{"city": {}}, "more": 1}"#,
            "```json\n{\"city\":\"Oslo\"}",
            "```json\n{\"city\":\"Oslo\"}\n``` and so on",
            "[1]",
            r#"[{"city":"Oslo"}]"#,
            "\"Oslo\"",
            "5",
            "true",
            "}",
            ",",
            &deep,
        ] {
            assert_eq!(told(written), None, "{written}");
        }
    }

    #[test]
    fn w5_mending_takes_linear_time() {
        for piece in
            ["{", "{'a':", "{'a':\"", "\\\"", "\"{\\\"a\\\":", "'{", "[", "]", "```", "\\u12", "{'a': 'b\"', ", "\n"]
        {
            for front in ["", "{", "\"{", "{'a': \"", "```json\n{"] {
                grows_in_line(&format!("{front}{piece}"), 20_000 / piece.len(), |times| {
                    let _ = mend(&format!("{front}{}", piece.repeat(times)));
                });
            }
        }
    }

    proptest! {
        #[test]
        fn w5_what_is_mended_is_an_object(text in "[`{}\\[\\]\",:'\\\\ \nnula1é]{0,40}") {
            let is_object = |text: &str| matches!(serde_json::from_str(text), Ok(serde_json::Value::Object(_)));
            if is_object(&text) {
                prop_assert_eq!(told(&text), None);
            } else if let Some((json, _)) = told(&text) {
                prop_assert!(is_object(&json), "{} became {}", text, json);
            }
        }
    }
}
