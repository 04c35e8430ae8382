//! Tool results as text: bounded.

use loopwright_base::message::{Block, ToolResult};

/// Characters of a result's text where its tool sets no limit of its own.
const DEFAULT_OUTPUT: usize = 20_000;

/// `text` if it has at most `most` characters; else its head and tail, and a line that says what was left out.
pub fn limit_output(text: &str, most: usize) -> String {
    let total = if text.len() <= most { return text.to_owned() } else { text.chars().count() };
    if total <= most {
        return text.to_owned();
    }
    let head = most * 2 / 3;
    let tail = most - head;
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    format!("{}\n[… {} characters left out …]\n{}", &text[..at(head)], total - most, &text[at(total - tail)..])
}

/// Characters of a failure's message, and of its hint.
const FAILURE: (usize, usize) = (4_000, 1_000);

/// A failure is read as JSON, which must stay whole: its words are shortened, and not the JSON. `false` for what is no
/// failure of that form.
fn limit_failure(result: &mut ToolResult) -> bool {
    let Some(failure) = &result.failure else { return false };
    if ToolResult::failed("", "", failure.clone()).content != result.content {
        return false;
    }
    let mut short = failure.clone();
    short.message = limit_output(&short.message, FAILURE.0);
    short.hint = short.hint.map(|hint| limit_output(&hint, FAILURE.1));
    if short != *failure {
        result.content = ToolResult::failed("", "", short.clone()).content;
        result.failure = Some(short);
    }
    true
}

/// Applies the limit to the texts of a result, all together: the first text that passes it is shortened, later ones
/// are left out.
pub(super) fn limit_result(result: &mut ToolResult, most: Option<usize>) {
    if limit_failure(result) {
        return;
    }
    let mut left = most.unwrap_or(DEFAULT_OUTPUT);
    let mut dropped = 0;
    result.content.retain_mut(|block| {
        let Block::Text(text) = block else { return true };
        if left == 0 && !text.text.is_empty() {
            dropped += text.text.chars().count();
            return false;
        }
        let length = text.text.chars().count();
        if length > left {
            text.text = limit_output(&text.text, left);
        }
        left = left.saturating_sub(length);
        true
    });
    if dropped > 0 {
        result.content.push(Block::text(format!("[… {dropped} characters left out …]")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::ToolFailure;

    #[test]
    fn long_output_keeps_head_and_tail() {
        let text = "ä".repeat(100);
        let short = limit_output(&text, 10);
        assert!(short.starts_with("ääääää\n[… 90 characters left out …]\n") && short.ends_with("ääää"), "{short}");
        assert_eq!(limit_output(&text, 100), text);
        assert_eq!(limit_output("", 0), "");
        assert!(limit_output(&text, 0).contains("100 characters left out"));
    }

    #[test]
    fn a_failure_stays_whole_json() {
        for length in [10, 100_000] {
            let (message, hint) = ("\u{e4}\"".repeat(length), Some("h".repeat(length)));
            let failure = ToolFailure { kind: "exception".into(), message, hint };
            let mut result = ToolResult::failed("c", "f", failure);
            limit_result(&mut result, Some(5));
            let read: serde_json::Value = serde_json::from_str(&result.prose()).unwrap();
            let failure = result.failure.unwrap();
            assert_eq!(read["error"]["message"], failure.message.as_str());
            assert!(failure.message.chars().count() < 4_100 && failure.hint.unwrap().len() < 1_100);
            assert_eq!((result.id.as_str(), result.is_error), ("c", true));
        }
    }

    #[test]
    fn the_limit_holds_for_all_texts_of_a_result_together() {
        let mut result = ToolResult::text("c", "f", "12345678");
        for _ in 0..1_000 {
            result.content.push(Block::text("abcdefgh"));
        }
        limit_result(&mut result, Some(10));
        let text = result.prose();
        assert!(
            text.starts_with("12345678\na\n[… 6 characters left out …]\nh\n[… 7992 characters left out …]"),
            "{text}"
        );
        // Characters are counted, not their bytes.
        let mut result = ToolResult::text("c", "f", "äbc");
        result.content.push(Block::text("…"));
        limit_result(&mut result, Some(4));
        assert_eq!(result.prose(), "äbc\n…");
    }
}
