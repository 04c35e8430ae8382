//! Names in text, by rule: who speaks, and whom and what a text is about.

use crate::core::retrieve::words::is_stop_word;

/// At most this many names are taken from one text.
const MOST: usize = 16;
/// A head such as `[8 May 2023] Ann:` is at most this long, in bytes.
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

/// Who speaks, by the head that the text begins with: `Ann: …`, `[8 May 2023] Ann: …`, `Ann (8 May): …`.
pub(super) fn speaker(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(inside) = rest.strip_prefix(open)
            && let Some(end) = inside.find(close).filter(|&end| end <= LONGEST_HEAD)
        {
            rest = inside.get(end + 1..)?.trim_start();
        }
    }
    let end = rest.find(':').filter(|&end| end <= LONGEST_HEAD)?;
    let (head, after) = rest.split_at(end);
    // A clock or an address is no name.
    if !after[1..].is_empty() && !after[1..].starts_with(char::is_whitespace) {
        return None;
    }
    let name = head.split(['(', '[']).next().unwrap_or(head).trim();
    let name = name.trim_matches(['*', '_', '"']);
    let mut words = name.split_whitespace();
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '\'' | '’' | '_'))
            && !NO_NAMES.contains(&word.to_lowercase().as_str())
    };
    let fits = !name.is_empty()
        && name.len() <= 48
        && (matches!(name, "user" | "assistant" | "system") || (words.clone().count() <= 4 && words.all(is_name)));
    fits.then_some(name)
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

/// Whether the word `raw`, a part of `text`, is followed by one that is written large too.
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
