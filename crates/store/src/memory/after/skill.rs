//! Skills: procedures, with the tools in their order and the arguments left out.

use loopwright_base::text::clip;
use serde_json::Value;

use super::{Turn, language::Sentence};

/// Steps that are stored.
const MOST_STEPS: usize = 20;

/// The procedure of a turn, if it is worth repeating: the turn reached its end and was not found wanting, with two
/// calls or more of two tools or more, the last of which succeeded.
pub(super) fn skill(turn: &Turn, sentences: &[Sentence]) -> Option<String> {
    let reached = turn.success
        && turn.verified != Some(false)
        && !matches!(turn.stop.as_str(), "needs_user_input" | "ambiguous" | "abstained");
    let succeeded = || turn.calls.iter().filter(|call| call.failure.is_none());
    if !reached || succeeded().count() < 2 || turn.calls.last()?.failure.is_some() {
        return None;
    }
    let first = &succeeded().next()?.name;
    if succeeded().all(|call| call.name == *first) {
        return None;
    }
    let goal =
        sentences.iter().find(|one| !one.states && !one.prefers).map_or(turn.prompt.as_str(), |one| one.text.as_str());
    let goal = without_values(goal);
    let mut steps: Vec<String> = Vec::new();
    for call in succeeded() {
        let step = format!("{}({})", call.name, shape(&call.input));
        // The same step again and again is one.
        if steps.last() != Some(&step) && steps.len() < MOST_STEPS {
            steps.push(step);
        }
    }
    let steps: Vec<String> = steps.iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)).collect();
    Some(format!("To do this: {}\n{}", clip(&goal, 200), steps.join("\n")))
}

/// The names of arguments, and the kind of each: never a value.
fn shape(input: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(input) else { return String::new() };
    let kind = |value: &Value| match value {
        Value::Null => "nothing",
        Value::Bool(_) => "yes or no",
        Value::Number(_) => "number",
        Value::String(text) if text.contains("://") => "address",
        Value::String(text) if text.contains(['/', '\\']) && !text.contains(char::is_whitespace) => "path",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    let steps: Vec<String> =
        members.iter().take(12).map(|(name, value)| format!("{}=<{}>", clip(name, 40), kind(value))).collect();
    steps.join(", ")
}

/// A goal without the parts of one occasion: addresses, numbers, marks of removed secrets.
fn without_values(goal: &str) -> String {
    let word = |word: &str| {
        if word.contains("://") {
            "<address>".to_owned()
        } else if word.contains('@') || word.contains("[redacted") {
            "<…>".to_owned()
        } else if word.chars().filter(char::is_ascii_digit).count() > 3 {
            "<number>".to_owned()
        } else {
            word.to_owned()
        }
    };
    goal.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}
