//! What a reply without tool calls says about the next step: words, not models.

/// The last sentence-like piece of a reply, lowercased.
fn last_piece(reply: &str) -> String {
    let trimmed = reply.trim_end();
    let end = trimmed.trim_end_matches(['.', '!', ':', '…', '?']).len();
    let start = trimmed[..end].rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    trimmed[start..].trim().to_lowercase()
}

/// Whether the reply ends by stating what the model is about to do, without doing it.
pub fn states_next_step(reply: &str) -> bool {
    const OPENINGS: [&str; 9] = [
        "i'll ",
        "i’ll ",
        "i will ",
        "i am going to ",
        "i'm going to ",
        "let me ",
        "next, i",
        "now i'll ",
        "now, i will ",
    ];
    const NOT_STEPS: [&str; 6] = ["let me know", "i will be ", "i'll be ", "i’ll be ", "i will not ", "i will always "];
    let last = last_piece(reply);
    !last.ends_with('?')
        && OPENINGS.iter().any(|opening| last.starts_with(opening))
        && !NOT_STEPS.iter().any(|other| last.starts_with(other))
}

/// What the reply says it will do next, in its own words.
pub fn stated_step(reply: &str) -> Option<String> {
    const OPENINGS: [&str; 13] = [
        "now, i will ",
        "now i'll ",
        "now i’ll ",
        "next, i'll ",
        "next, i’ll ",
        "next, i will ",
        "next, i ",
        "i am going to ",
        "i'm going to ",
        "i'll ",
        "i’ll ",
        "i will ",
        "let me ",
    ];
    if !states_next_step(reply) {
        return None;
    }
    let trimmed = reply.trim_end().trim_end_matches(['.', '!', ':', '…', '?']);
    let start = trimmed.rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    let piece = trimmed.get(start..)?.trim();
    let lower = piece.to_ascii_lowercase();
    let opening = OPENINGS.iter().find(|opening| lower.starts_with(*opening))?;
    piece.get(opening.len()..).map(|step| step.trim().to_owned()).filter(|step| !step.is_empty())
}

/// Whether the reply asks which of several things is meant.
pub fn asks_which(reply: &str) -> bool {
    const OPENINGS: [&str; 5] = ["do you mean ", "did you mean ", "which of ", "which one ", "which "];
    let last = last_piece(reply);
    let meant = last.contains(" mean") || last.contains(" should i") || last.contains(" do you want");
    last.ends_with('?') && meant && OPENINGS.iter().any(|opening| last.starts_with(opening))
}

/// Whether the reply asks the person for something it needs.
pub fn asks_for_input(reply: &str) -> bool {
    const PHRASES: [&str; 12] = [
        "could you clarify",
        "can you clarify",
        "please clarify",
        "could you specify",
        "please specify",
        "could you provide",
        "can you provide",
        "please provide",
        "would you like me to",
        "do you want me to",
        "which one do you mean",
        "before i proceed",
    ];
    let last = last_piece(reply);
    (last.ends_with('?') || last.starts_with("please")) && PHRASES.iter().any(|phrase| last.contains(phrase))
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
