//! Names in text, by rule: the speaker, and the people and things a text is about.

use loopwright_lexicon::words::is_stop_word;

/// Names that are taken from one text at most.
const MOST: usize = 16;
/// The length of the longest head such as `[8 May 2023] Ann:`, in bytes.
const LONGEST_HEAD: usize = 96;

/// Words that begin sentences or name times, written large without being names.
const NO_NAMES: [&str; 81] = [
    "absolutely",
    "actually",
    "agreed",
    "also",
    "april",
    "august",
    "awesome",
    "bye",
    "cheers",
    "congrats",
    "congratulations",
    "cool",
    "dear",
    "december",
    "definitely",
    "exactly",
    "february",
    "friday",
    "glad",
    "good",
    "great",
    "haha",
    "happy",
    "hello",
    "hey",
    "hi",
    "hmm",
    "hope",
    "i",
    "i'd",
    "i'll",
    "i'm",
    "i've",
    "it's",
    "january",
    "july",
    "june",
    "last",
    "later",
    "let's",
    "lol",
    "many",
    "march",
    "maybe",
    "monday",
    "new",
    "next",
    "nice",
    "nope",
    "november",
    "october",
    "ok",
    "okay",
    "omg",
    "oh",
    "perhaps",
    "really",
    "right",
    "saturday",
    "september",
    "since",
    "sorry",
    "sounds",
    "sunday",
    "sure",
    "take",
    "thank",
    "thanks",
    "that's",
    "there's",
    "thursday",
    "today",
    "tomorrow",
    "totally",
    "tuesday",
    "wednesday",
    "well",
    "what's",
    "wow",
    "yeah",
    "yes",
];

/// Words that may stand before a name in a head, beside whatever holds a digit.
const DATING: [&str; 6] = ["am", "at", "of", "on", "pm", "the"];

/// The speaker, by the head that the text begins with: `Ann: …`, `[8 May 2023] Ann: …`, `D1:3 Ann (8 May): …`.
pub(super) fn speaker(text: &str) -> Option<&str> {
    // A colon inside a clock or an address ends no head.
    let ends = text.bytes().take(LONGEST_HEAD).enumerate().filter(|(_, b)| *b == b':').map(|(at, _)| at);
    let blank = |at: usize| text.as_bytes().get(at + 1).is_none_or(u8::is_ascii_whitespace);
    let mut head = text.get(..ends.into_iter().find(|&at| blank(at))?)?.trim();
    while let Some(open) = head.strip_suffix([')', ']']).and_then(|inside| inside.rfind(['(', '['])) {
        head = head.get(..open)?.trim_end();
    }
    if let Some(at) = head.rfind([')', ']', '|']) {
        head = head.get(at + 1..)?;
    }
    let head = head.trim().trim_matches(['*', '_', '"', '-', ' ']);
    if matches!(head, "user" | "assistant" | "system") {
        return Some(head);
    }
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && !word.chars().any(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '\'' | '’' | '_'))
            && !NO_NAMES.contains(&word.to_lowercase().as_str())
    };
    let mut start = head.len();
    for word in head.split_whitespace().rev() {
        let at = (word.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize);
        if start >= at + word.len() && is_name(word) && head.get(at..).is_some_and(|name| name.len() <= 48) {
            start = at;
        } else if !is_dating(word) {
            return None;
        } else {
            // Before the name there is only a date, a number, or nothing.
            let rest = head.get(..at)?;
            if !rest.split_whitespace().all(is_dating) {
                return None;
            }
            break;
        }
    }
    let name = head.get(start..)?;
    (!name.is_empty() && name.split_whitespace().count() <= 4).then_some(name)
}

/// Returns whether a word belongs to a number or a date.
fn is_dating(word: &str) -> bool {
    let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    plain.is_empty()
        || plain.chars().any(|c| c.is_ascii_digit())
        || DATING.contains(&plain.as_str())
        || NO_NAMES.contains(&plain.as_str())
        || plain == "may"
}

/// The names in a text: runs of words written large, without those that only begin a sentence.
pub(super) fn entities(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut run = String::new();
    let mut starts = true;
    for raw in text.split_whitespace().take(4_000) {
        let word = raw.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        let opens = raw.starts_with(['"', '(', '“', '[']);
        if opens {
            keep(&mut all, &mut run);
        }
        let lower = word.to_lowercase();
        let large = word.chars().next().is_some_and(char::is_uppercase);
        let dull = word.chars().count() < 2 || is_stop_word(&lower) || NO_NAMES.contains(&lower.as_str());
        // At the start of a sentence a large letter says nothing, unless others follow.
        let certain = !starts || word.chars().skip(1).any(char::is_uppercase);
        if large && !dull && (certain || next_is_name(text, raw)) && word.len() <= 48 {
            if !run.is_empty() {
                run.push(' ');
            }
            run.push_str(word);
        } else {
            keep(&mut all, &mut run);
        }
        starts = raw.ends_with(['.', '!', '?', ':', '…']);
        if starts || raw.ends_with([',', ';', ')', '"', '”', ']']) {
            keep(&mut all, &mut run);
        }
        if all.len() >= MOST {
            break;
        }
    }
    keep(&mut all, &mut run);
    all.truncate(MOST);
    all
}

/// Returns whether the word `raw`, a part of `text`, is followed by another one written large.
fn next_is_name(text: &str, raw: &str) -> bool {
    let end = (raw.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize).wrapping_add(raw.len());
    if raw.ends_with(|c: char| !c.is_alphanumeric()) {
        return false;
    }
    text.get(end..).and_then(|rest| rest.split_whitespace().next()).is_some_and(|next| {
        let lower = next.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        next.chars().next().is_some_and(char::is_uppercase)
            && !is_stop_word(&lower)
            && !NO_NAMES.contains(&lower.as_str())
    })
}

fn keep(all: &mut Vec<String>, run: &mut String) {
    let name = std::mem::take(run);
    if !name.is_empty() && !all.contains(&name) {
        all.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_who_speaks() {
        for text in [
            "Ann: hi",
            "[8 May 2023] Ann: hi",
            "(1:56 pm on 8 May, 2023) Ann: hi",
            "Ann (8 May): hi",
            "D1:3 Ann: hi",
            "D1:3 Ann (1:56 pm on 8 May, 2023): hi",
            "1:56 pm on 8 May, 2023 | Ann: hi",
            "[D1:3] [8 May] Ann:\nhi",
            "8 May 2023 - Ann: hi",
            "**Ann**: hi",
            "Ann [D1:3]: hi",
        ] {
            assert_eq!(speaker(text), Some("Ann"), "{text}");
        }
        assert_eq!(speaker("Maria del Mar: hi"), None);
        assert_eq!(speaker("Maria O'Hara-Lee: hi"), Some("Maria O'Hara-Lee"));
        assert_eq!(speaker("user: hi"), Some("user"));
        assert_eq!(speaker("Zoë: hi"), Some("Zoë"));
        for text in [
            "",
            ":",
            ": x",
            "hello: x",
            "I told Ann: hi",
            "http://x.y",
            "at 10:30 Ann left",
            "Thanks: bye",
            "8 May 2023: x",
            "Ann and Bob went: home",
            "][)(: x",
            "(((: x",
            "Monday: x",
        ] {
            assert_eq!(speaker(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_runs_of_large_words() {
        assert_eq!(entities("We saw Anna Karenina, then Oslo's harbour with NASA."), ["Anna Karenina", "Oslo", "NASA"]);
        assert_eq!(entities("Great! Thanks. The end. I will. May I? On Friday in June."), Vec::<String>::new());
        assert_eq!(entities("Maria Lopez came. Paris is far."), ["Maria Lopez"]);
        assert!(entities(&"Name Other. ".repeat(10_000)).len() <= MOST);
        assert!(entities(&"X".repeat(100_000)).is_empty());
    }
}
