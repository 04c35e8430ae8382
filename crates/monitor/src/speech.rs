//! What the turn machine wants to know of a reply without tool calls: words, not models.

use super::{
    next_step::{next_step, next_step_in},
    signals::{SignalKind, signals, signals_in},
};
use loopwright_lexicon::reading::{Reading, Side};

/// What decides how a run goes on behind a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// It asks the person for something.
    pub asks: bool,
    /// It ends by stating what the model is about to do, without doing it.
    pub states_next_step: bool,
}

/// What the reply says, read once.
pub fn said(reply: &str) -> Said {
    let reading = Reading::of(reply, Side::Tail);
    let step = next_step_in(&reading);
    Said { asks: signals_in(&reading, step.as_ref()).asks, states_next_step: step.is_some() }
}

/// What the reply says it will do next, in its own words.
pub fn stated_step(reply: &str) -> Option<String> {
    let step = reply.get(next_step(reply)?.step)?;
    let step = step.trim_end().trim_end_matches(['.', '!', ':', '…']).trim_end();
    (!step.is_empty()).then(|| step.to_owned())
}

/// Whether the reply asks which of several things is meant.
pub fn asks_which(reply: &str) -> bool {
    asked(reply).is_some_and(is_which)
}

fn is_which(question: &str) -> bool {
    let question = question.to_lowercase();
    let opens = ["do you mean ", "did you mean ", "which "].iter().any(|opening| question.starts_with(opening));
    opens && ["mean", "should i", "do you want"].iter().any(|words| question.contains(words))
}

/// Whether the reply asks the person for something it needs.
pub fn asks_for_input(reply: &str) -> bool {
    asked(reply).is_some_and(|question| !is_which(question))
}

/// The last question that the reply puts to the person.
fn asked(reply: &str) -> Option<&str> {
    let all = signals(reply);
    let asks = |kind| matches!(kind, SignalKind::Clarification | SignalKind::Offer);
    let last = all.found.iter().rev().find(|signal| asks(signal.kind)).filter(|_| all.asks)?;
    reply.get(last.sentence.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x03_next_steps() {
        for reply in ["I'll read the file.", "Found it. Let me check the tests", "Ok.\nNext, I run it:"] {
            assert!(said(reply).states_next_step, "{reply}");
        }
        for reply in [
            "Done.",
            "Let me know if you need more.",
            "The answer is 4.",
            "I'll read it. It says 4.",
            "",
            "…",
            "Shall I go on? I will be here.",
        ] {
            assert!(!said(reply).states_next_step, "{reply}");
        }
    }

    #[test]
    fn c23_questions_to_the_person() {
        for (reply, asks) in [
            ("There are two. Could you clarify which file you mean?", true),
            ("Which file do you mean?", true),
            ("It is 4. Is there anything else?", false),
            ("I'll read it.", false),
            ("", false),
        ] {
            assert_eq!(said(reply).asks, asks, "{reply}");
            assert_eq!(asked(reply).is_some(), asks, "{reply}");
        }
        assert!(asks_for_input("There are two. Could you clarify which file you mean?"));
        assert!(asks_for_input("Please provide the path."));
        assert!(!asks_for_input("It is 4. Is there anything else?"));
        assert!(!asks_for_input("You could clarify butter."));
        assert!(asks_which("There are two. Which file do you mean?") && !asks_which("Which way? I took the left."));
    }

    #[test]
    fn c19_the_stated_step_in_its_own_words() {
        assert_eq!(stated_step("Found it. Let me check the tests:").as_deref(), Some("check the tests"));
        assert_eq!(stated_step("Done."), None);
    }
}
