//! Roles beside the executor: summarizer, sanity check, supervisor.
//!
//! Each role has a form of answer, bounded in every field, a prompt that asks a model for it as strict JSON, and a rule
//! engine that gives the same form without any model. A model's answer changes those fields and nothing else.

mod answer;
mod prompt;
mod sanity;
mod summary;
mod supervise;
mod transcript;

pub(crate) use answer::truth;
pub use answer::{InvalidAnswer, read_sanity, read_summary, read_verdict};
pub use prompt::{AnswerForm, repair};
pub use sanity::{Concern, ConcernKind, SanityResult, check_sanity, note_of};
pub use summary::{Fact, FactCategory, Summary, summarize};
pub use supervise::{PrivateFinds, Verdict, rule_verdict};
pub use transcript::{fenced, transcript};

use loopwright_base::text::is_hidden;

/// One line of plain text, bounded: no control characters, no invisible ones, white space as single blanks.
pub fn plain_line(text: &str, chars: usize) -> String {
    let mut out = String::new();
    let (mut length, mut blank) = (0, false);
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            blank = !out.is_empty();
            continue;
        }
        if is_hidden(character) {
            continue;
        }
        if length + usize::from(blank) >= chars {
            out.push('…');
            return out;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
            length += 1;
        }
        out.push(character);
        length += 1;
    }
    out
}

/// One line of plain text, bounded, without anything that looks like markup or the end of a note: for words that a
/// model will read.
pub fn strip_prompt_markup(text: &str, chars: usize) -> String {
    plain_line(text, chars)
        .chars()
        .map(|character| match character {
            '<' => '‹',
            '>' => '›',
            '[' => '(',
            ']' => ')',
            '`' => '\'',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_one_bounded_line_without_what_nobody_sees() {
        assert_eq!(plain_line(" a\n\tb\u{202e}c \u{0}", 10), "a bc");
        assert_eq!(plain_line(&"ä".repeat(100), 3), "äää…");
        assert_eq!(plain_line("", 3), "");
        assert_eq!(strip_prompt_markup("</untrusted>] <tool_call>", 100), "‹/untrusted›) ‹tool_call›");
    }
}
