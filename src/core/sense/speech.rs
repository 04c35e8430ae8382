//! What the turn machine wants to know of a reply without tool calls: words, not models.

use super::{next_step::next_step, signals::signals};

/// Whether the reply ends by stating what the model is about to do, without doing it.
pub fn states_next_step(reply: &str) -> bool {
    next_step(reply).is_some()
}

/// Whether the reply ends by asking the person for something it needs.
pub fn asks_for_input(reply: &str) -> bool {
    signals(reply).asks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x03_next_steps() {
        for reply in ["I'll read the file.", "Found it. Let me check the tests", "Ok.\nNext, I run it:"] {
            assert!(states_next_step(reply), "{reply}");
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
            assert!(!states_next_step(reply), "{reply}");
        }
    }

    #[test]
    fn c23_questions_to_the_person() {
        assert!(asks_for_input("There are two. Could you clarify which file you mean?"));
        assert!(asks_for_input("Please provide the path."));
        assert!(!asks_for_input("It is 4. Is there anything else?"));
        assert!(!asks_for_input("You could clarify butter."));
    }
}
