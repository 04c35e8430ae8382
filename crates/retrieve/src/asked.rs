//! The kind of thing that a question asks for, and whether a text holds one: a number, a span of time, a person.
//!
//! Understands nothing: "how long" asks for a number with a unit of time behind it, "who" for a name.

use loopwright_lexicon::{stem::stem, words::is_stop_word};

/// The kind of thing that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A number.
    Number,
    /// A number with a unit of size.
    Size,
    /// A span of time.
    Duration,
    /// A date or time.
    When,
    /// A place, path or address.
    Where,
    /// A person or team.
    Who,
    /// A reason.
    Why,
    /// A way to do something.
    How,
    /// What a thing is.
    Meaning,
}

/// The word behind each number of a text in lower case: `30 s`, `5ms`, `a few minutes`, `two of them`.
fn amounts(lower: &str) -> impl Iterator<Item = &str> {
    let mut all = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '-' | '(' | ')' | '/'))
        .filter(|one| !one.is_empty())
        .peekable();
    std::iter::from_fn(move || {
        loop {
            let one = all.next()?;
            // `page=3` and `v2` are names.
            let bare = one.trim_matches(|c: char| !c.is_alphanumeric());
            let digits =
                bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')).len();
            let unit = bare.get(digits..).unwrap_or_default();
            let next = all.peek().map_or("", |next| next.trim_matches(|c: char| !c.is_alphanumeric()));
            if digits > 0 && unit.is_empty() || NUMBERS.contains(&bare) {
                return Some(next);
            }
            // `1990s` is a time, and no span of it.
            if digits > 0 && !(digits == 4 && unit == "s") {
                return Some(unit);
            }
        }
    })
}

/// How many words behind a number the thing stands that it counts, at most, or before it: `three failed attempts`,
/// `attempts are 3`.
const NEAR: usize = 2;
/// Words of what is counted, at most.
const COUNTED: usize = 3;

/// What a question, in lower case, wants counted, stemmed: of "how many failed attempts does it make" the attempts.
/// That is the first word with the ending of more than one, else the first word.
pub(super) fn counted(question: &str) -> Option<String> {
    let (_, after) = question.split_once("how many ").or_else(|| question.split_once("number of "))?;
    let words = || after.split(|c: char| !c.is_alphanumeric()).take_while(|word| !is_stop_word(word)).take(COUNTED);
    let many = |word: &&str| word.ends_with('s') && !word.ends_with("ss");
    words().find(many).or_else(|| words().next()).filter(|word| !word.is_empty()).map(stemmed)
}

fn stemmed(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}

/// Whether a number of `text` stands with `thing`, and so may count it; the parts of identifiers are words.
pub(super) fn counts(text: &str, thing: &str) -> bool {
    let lower = text.to_lowercase();
    // The last number, and the last thing, by their places among the words.
    let (mut number, mut named) = (None, None);
    let near = |last: Option<usize>, at: usize| last.is_some_and(|last| at - last <= NEAR);
    for (at, word) in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).enumerate() {
        if word.starts_with(|c: char| c.is_ascii_digit()) || (NUMBERS.contains(&word) && word != "once") {
            if near(named, at) {
                return true;
            }
            number = Some(at);
        } else if stemmed(word) == thing {
            if near(number, at) {
                return true;
            }
            named = Some(at);
        }
    }
    false
}

/// Whether a question, in lower case, asks how far something may go: "how long may it take".
pub(super) fn asks_bound(question: &str) -> bool {
    let words = || question.split(|c: char| !c.is_alphanumeric());
    question.trim_start().starts_with("how ")
        && (words().any(|word| matches!(word, "may" | "can" | "allowed")) || question.contains("at most"))
}

/// Whether a text, in lower case, says how far something may go.
pub(super) fn bounds(lower: &str) -> bool {
    const WORDS: [&str; 16] = [
        "limit", "limits", "limited", "timeout", "time-out", "most", "maximum", "max", "longest", "within", "deadline",
        "lapses", "exceed", "cap", "beyond", "longer",
    ];
    lower.contains("up to ") || lower.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// What a question, in lower case, asks for.
pub(super) fn asked(question: &str) -> Vec<Asked> {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| question.contains(phrase));
    let mut all = Vec::new();
    if has(&["how long", "how often", "timeout", "time-out", "interval", "duration", "how soon", "how fast", "delay"]) {
        all.push(Asked::Duration);
    } else if has(&["how large", "how big", "how small", "size"]) {
        all.push(Asked::Size);
    } else if has(&[
        "how many",
        "how much",
        "how old",
        "how far",
        "how high",
        "how deep",
        "how wide",
        "how tall",
        "how heavy",
        "which port",
        "what port",
        "number of",
        "maximum",
        "minimum",
        "limit",
        "which version",
        "what version",
        "price",
        "cost",
        "percent",
        "what is the port",
    ]) || (has(&["version", "port"]) && has(&["which", "what"]))
    {
        all.push(Asked::Number);
    }
    let starts = |words: &[&str]| words.iter().any(|word| question.trim_start().starts_with(word));
    if starts(&["when "]) || has(&["what time", "which day", "what date", "which date", "since when"]) {
        all.push(Asked::When);
    }
    if starts(&["where ", "in which", "which file", "which folder", "which directory"]) || has(&[" where "]) {
        all.push(Asked::Where);
    }
    if starts(&["who ", "whom ", "whose "]) {
        all.push(Asked::Who);
    }
    if starts(&["why "]) || has(&["reason", "what for"]) {
        all.push(Asked::Why);
    }
    if starts(&["how do ", "how can ", "how to ", "how does one ", "how is ", "how are "])
        || has(&["which command", "what command", "how do i"])
    {
        all.push(Asked::How);
    }
    all
}

/// Whether a text holds a thing of that kind.
pub(super) fn holds(asked: Asked, text: &str) -> bool {
    let lower = text.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let number = || amounts(&lower).next().is_some();
    match asked {
        Asked::Number => number(),
        Asked::Size => amounts(&lower).any(|unit| SIZES.contains(&unit)),
        Asked::Duration => {
            amounts(&lower).any(|unit| TIMES.contains(&unit))
                || has(&[
                    "every ", "hourly", "daily", "weekly", "monthly", "forever", "never", " times", "once", "twice",
                ])
        }
        Asked::When => {
            number()
                || has(&["when ", "after ", "before ", "during ", "every ", "once ", "day", "until ", "as soon as"])
        }
        Asked::Where => {
            has(&["/", "://", ".toml", ".json", ".md", " in ", " at ", " under ", " on ", "folder", "director"])
        }
        Asked::Who => {
            has(&[" by ", "@", "team", "owner", "maintain"]) || {
                let mut words = text.split_whitespace().skip(1);
                words.any(|word| word.chars().next().is_some_and(char::is_uppercase))
            }
        }
        Asked::Why => has(&[
            "because",
            "since ",
            "so that",
            "therefore",
            "reason",
            "in order to",
            "otherwise",
            "to avoid",
            "prevent",
        ]),
        Asked::Meaning => false,
        Asked::How => has(&["`", "run ", "set ", "use ", "with ", "add ", "--", "call "]),
    }
}

const NUMBERS: [&str; 28] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "twenty", "thirty", "forty", "fifty", "sixty", "ninety", "hundred", "thousand", "million", "billion", "dozen",
    "once", "twice", "few", "several",
];

/// Units of size.
const SIZES: [&str; 30] = [
    "b",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "byte",
    "bytes",
    "kilobytes",
    "megabytes",
    "gigabytes",
    "bits",
    "characters",
    "tokens",
    "words",
    "lines",
    "pages",
    "m",
    "cm",
    "mm",
    "km",
    "metres",
    "meters",
    "feet",
    "miles",
    "acres",
    "hectares",
    "inches",
];

/// Verbs with which a question for a time asks for nothing else: "How long does it last?".
pub(super) const LASTING: [&str; 12] =
    ["wait", "waits", "last", "lasts", "stay", "stays", "remain", "remains", "live", "lives", "kept", "keep"];

const TIMES: [&str; 24] = [
    "s",
    "ms",
    "us",
    "sec",
    "second",
    "seconds",
    "millisecond",
    "milliseconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
    "d",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
];
