//! Questions that lean on what was said before: they are searched for with it.

use loopwright_lexicon::words;

/// Words of a question that does not stand alone, at most.
const FEW: usize = 4;
/// Characters of what was said last that are searched for.
const SAID: usize = 200;

/// The question as it is searched for: one that leans on the conversation, with the last question of that and what was
/// said last.
pub(super) fn searched(question: &str, thread: &[String]) -> String {
    if thread.is_empty() || !leans(question) {
        return question.to_owned();
    }
    let mut before = Vec::new();
    let asked = thread.iter().rev().find(|said| said.trim_end().ends_with('?'));
    let last = thread.last().filter(|last| asked.is_none_or(|asked| asked != *last));
    for said in asked.into_iter().chain(last) {
        before.push(said.chars().take(SAID).collect::<String>());
    }
    before.push(question.to_owned());
    before.join("\n")
}

/// Whether a question has hardly a word of its own, goes on, or points at something that it does not name.
fn leans(question: &str) -> bool {
    let own = words::terms(question).len();
    let mut said = question.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let goes_on =
        said.clone().next().is_some_and(|word| matches!(word.as_str(), "and" | "but" | "or" | "so" | "also" | "then"));
    let about = said.clone().nth(1).is_some_and(|word| word == "about");
    let points = said.any(|word| {
        matches!(
            word.as_str(),
            "that"
                | "this"
                | "it"
                | "its"
                | "they"
                | "them"
                | "their"
                | "those"
                | "these"
                | "he"
                | "she"
                | "him"
                | "her"
                | "there"
                | "one"
        )
    });
    own <= 1 || (own <= FEW && (goes_on || about || points))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e06_a_question_that_leans_is_searched_for_with_its_thread() {
        let thread = ["How many vacation days do I get?".to_owned(), "You get 25 days. [1]".to_owned()];
        for question in ["And who approves that?", "Who approves it?", "Why?", "What about contractors?"] {
            let found = searched(question, &thread);
            assert!(
                found.contains("vacation days") && found.contains("25 days") && found.ends_with(question),
                "{found}"
            );
            assert_eq!(searched(question, &[]), question);
        }
        let whole = "Which form does the finance team need for the travel refund of an intern?";
        assert_eq!(searched(whole, &thread), whole);
    }
}
