//! Questions for a way to do something ("How do I …"), and sentences that tell one.
//!
//! Where such a question has hardly a word of its own, nearly any sentence holds it; then only what gives instructions
//! answers it, or what stands under a heading that asks the same.

use super::asked::{identifiers, list, says};

/// How a question asks for a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// What to do: "How do I start?"
    Deed,
    /// How something is: "How does it work?"
    Working,
}

impl Way {
    /// How a question, in lower case, asks for a way.
    pub(super) fn of(question: &str) -> Option<Self> {
        let mut rest = question.trim_start();
        while let Some(after) = list("polite").iter().find_map(|word| rest.strip_prefix(word.as_str())) {
            let after = after.trim_start_matches([',', '!', '.', ' ']);
            if after.len() == rest.len() {
                break;
            }
            rest = after;
        }
        let begins = |start: &String| rest.strip_prefix(start.as_str()).is_some_and(|rest| rest.starts_with(' '));
        if list("deeds").iter().any(begins) {
            return Some(Self::Deed);
        }
        rest.starts_with("how ").then_some(Self::Working)
    }
}

/// Whether a sentence tells somebody what to do.
pub(super) fn instructs(text: &str) -> bool {
    if says(text, "addressed") || (says(text, "means") && !identifiers(text).is_empty()) {
        return true;
    }
    let lower = text.to_lowercase();
    // "First, open …", "To build it, run …".
    let clauses = lower.split([',', ';', ':']).take(3);
    clauses.into_iter().any(|clause| {
        let mut words = clause.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
        let first = words.find(|word| !list("then").contains(*word));
        first.is_some_and(|first| list("imperatives").contains(first))
    })
}

/// Whether a sentence says what does the thing that is asked for: "A push deploys the site" for `deploy`.
pub(super) fn does(verb: &str, text: &str) -> bool {
    let verb = verb.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let mut before = words.next().unwrap_or_default();
    for word in words {
        let acts = before.strip_prefix(verb.as_str()).is_some_and(|end| matches!(end, "s" | "es"));
        if acts && list("objects").contains(&word) {
            return true;
        }
        before = word;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_a_way_and_sentences_that_tell_one() {
        assert_eq!(Way::of("how do i start?"), Some(Way::Deed));
        assert_eq!(Way::of("hi, please tell me, how to start?"), Some(Way::Deed));
        assert_eq!(Way::of("how does it work?"), Some(Way::Working));
        assert_eq!(Way::of("what is it?"), None);
        for text in ["Run it twice.", "First, open the box.", "To build it, call Ann.", "Type `x`.", "You can ask."] {
            assert!(instructs(text), "{text}");
        }
        for text in ["It was started in 2019.", "The team used Perl at first.", "They get together."] {
            assert!(!instructs(text), "{text}");
        }
        assert!(does("deploy", "A push to main deploys the site."));
        assert!(!does("test", "The tests are slow.") && !does("start", "It started the fire."));
    }
}
