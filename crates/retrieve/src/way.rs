//! Questions for a way to do something ("How do I …"), and sentences that tell one.
//!
//! Where such a question has hardly a word of its own, nearly any sentence holds it; then only what gives instructions
//! answers it, or what stands under a heading that asks the same.

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
        const POLITE: [&str; 12] = [
            "please",
            "hi",
            "hello",
            "hey",
            "so",
            "and",
            "ok",
            "okay",
            "well",
            "could you tell me",
            "can you tell me",
            "tell me",
        ];
        const DEEDS: [&str; 26] = [
            "how do i ",
            "how do we ",
            "how do you ",
            "how do one ",
            "how can i ",
            "how can we ",
            "how can you ",
            "how can one ",
            "how should i ",
            "how should we ",
            "how would i ",
            "how could i ",
            "how does one ",
            "how to ",
            "how must i ",
            "how might i ",
            "what do i ",
            "what should i ",
            "what must i ",
            "what can i do",
            "what is the best way to ",
            "what's the best way to ",
            "what is the way to ",
            "what are the steps ",
            "which steps ",
            "where do i ",
        ];
        let mut rest = question.trim_start();
        while let Some(after) = POLITE.iter().find_map(|word| rest.strip_prefix(word)) {
            let after = after.trim_start_matches([',', '!', '.', ' ']);
            if after.len() == rest.len() {
                break;
            }
            rest = after;
        }
        if DEEDS.iter().any(|start| rest.starts_with(start)) {
            return Some(Self::Deed);
        }
        rest.starts_with("how ").then_some(Self::Working)
    }
}

/// Words that a sentence begins with which tells somebody what to do.
const IMPERATIVES: &[&str] = &[
    "add",
    "adjust",
    "allow",
    "append",
    "apply",
    "ask",
    "attach",
    "begin",
    "boil",
    "book",
    "bring",
    "browse",
    "build",
    "call",
    "change",
    "check",
    "choose",
    "clean",
    "click",
    "clone",
    "close",
    "combine",
    "commit",
    "compile",
    "configure",
    "connect",
    "consider",
    "contact",
    "copy",
    "create",
    "cut",
    "declare",
    "define",
    "delete",
    "deploy",
    "disable",
    "download",
    "drag",
    "drop",
    "edit",
    "enable",
    "ensure",
    "enter",
    "execute",
    "export",
    "fill",
    "find",
    "follow",
    "fork",
    "get",
    "give",
    "go",
    "head",
    "heat",
    "hold",
    "import",
    "include",
    "insert",
    "install",
    "join",
    "keep",
    "launch",
    "let",
    "log",
    "make",
    "mix",
    "modify",
    "mount",
    "move",
    "name",
    "open",
    "override",
    "pass",
    "paste",
    "pick",
    "place",
    "plug",
    "point",
    "pour",
    "press",
    "provide",
    "pull",
    "push",
    "put",
    "read",
    "register",
    "remove",
    "rename",
    "replace",
    "restart",
    "run",
    "save",
    "select",
    "send",
    "set",
    "sign",
    "specify",
    "start",
    "stop",
    "switch",
    "tap",
    "turn",
    "unpack",
];
const MORE_IMPERATIVES: &[&str] = &[
    "type", "update", "upgrade", "upload", "use", "verify", "visit", "wait", "wrap", "write", "see", "take", "test",
    "try", "submit", "request",
];

/// Beginnings of what is said to somebody who asks how.
const ADDRESSED: &[&str] = &[
    "you can ",
    "you must ",
    "you should ",
    "you need to ",
    "you have to ",
    "you may ",
    "you will need",
    "you'll need",
    "is done by ",
    "are done by ",
    "is done with ",
    "by running ",
    "by using ",
];

/// Whether a sentence tells somebody what to do.
pub(super) fn instructs(text: &str) -> bool {
    if text.contains('`') {
        return true;
    }
    let lower = text.to_lowercase();
    if ADDRESSED.iter().any(|words| lower.contains(words)) {
        return true;
    }
    // "First, open …", "To build it, run …".
    let clauses = lower.split([',', ';', ':']).take(3);
    clauses.into_iter().any(|clause| {
        let mut words = clause.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
        let first = words.find(|word| {
            !matches!(
                *word,
                "first" | "then" | "next" | "now" | "finally" | "please" | "just" | "simply" | "and" | "always"
            )
        });
        first.is_some_and(|first| IMPERATIVES.contains(&first) || MORE_IMPERATIVES.contains(&first))
    })
}

/// Whether a sentence says what does the thing that is asked for: "A push deploys the site" for `deploy`.
pub(super) fn does(verb: &str, text: &str) -> bool {
    const OBJECTS: [&str; 16] = [
        "the", "a", "an", "it", "them", "all", "your", "this", "these", "every", "each", "to", "its", "their", "any",
        "our",
    ];
    let verb = verb.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let mut before = words.next().unwrap_or_default();
    for word in words {
        let acts = before.strip_prefix(verb.as_str()).is_some_and(|end| matches!(end, "s" | "es"));
        if acts && OBJECTS.contains(&word.as_str()) {
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
