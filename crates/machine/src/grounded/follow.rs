//! Follow-up questions: those that lean on the conversation are searched for together with it.

use loopwright_lexicon::words;

/// Words of a question that does not stand alone, at most.
const MAX_WORDS: usize = 4;
/// Characters of the last message that are searched for.
const LAST_CHARS: usize = 200;

/// The query for a question: one that leans on the conversation, with its last question and its last message.
pub(super) fn query_of(question: &str, thread: &[String]) -> String {
    if thread.is_empty() || !is_follow_up(question) {
        return question.to_owned();
    }
    let mut before = Vec::new();
    let asked = thread.iter().rev().find(|said| said.trim_end().ends_with('?'));
    let last = thread.last().filter(|last| asked.is_none_or(|asked| asked != *last));
    for said in asked.into_iter().chain(last) {
        before.push(said.chars().take(LAST_CHARS).collect::<String>());
    }
    before.push(question.to_owned());
    before.join("\n")
}

/// Returns whether a question has hardly a word of its own, goes on, or points at something that it does not name.
fn is_follow_up(question: &str) -> bool {
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
    own <= 1 || (own <= MAX_WORDS && (goes_on || about || points))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e06_a_question_that_leans_is_searched_for_with_its_thread() {
        let thread = ["How many vacation days do I get?".to_owned(), "You get 25 days. [1]".to_owned()];
        for question in ["And who approves that?", "Who approves it?", "Why?", "What about contractors?"] {
            let found = query_of(question, &thread);
            assert!(
                found.contains("vacation days") && found.contains("25 days") && found.ends_with(question),
                "{found}"
            );
            assert_eq!(query_of(question, &[]), question);
        }
        let whole = "Which form does the finance team need for the travel refund of an intern?";
        assert_eq!(query_of(whole, &thread), whole);
    }
}
