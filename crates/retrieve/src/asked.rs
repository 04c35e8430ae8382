//! The kind of thing that a question asks for, and whether a text holds one: a number, a default, a name, a reason.
//!
//! Understands nothing: "how long" asks for a number with a unit of time behind it, "which option" for a name as
//! programs have it. The words stand in `questions.toml`.

use std::{collections::HashSet, sync::LazyLock};

use super::way::Way;
use loopwright_base::lists::{self, Lists};
use loopwright_lexicon::{stem::stem, words::is_stop_word};

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists::lists(include_str!("questions.toml")));

/// The list of that name.
pub(super) fn list(name: &str) -> &'static HashSet<String> {
    lists::list(&LISTS, name)
}

/// The groups of words, stemmed, that stand for each other.
pub(super) fn synonyms() -> impl Iterator<Item = &'static HashSet<String>> {
    LISTS.iter().filter(|(name, _)| name.starts_with("synonyms.")).map(|(_, group)| group)
}

/// A text in lower case with a blank for all that is no letter, digit or joiner, and around it.
fn spaced(text: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-');
    let lower = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower.split(|c: char| !part(c)).filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

/// Whether one of the phrases of a list stands in a text, as whole words.
pub(super) fn says(text: &str, name: &str) -> bool {
    let text = spaced(text);
    list(name).iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

/// The kind of thing that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A number.
    Number,
    /// A number with a unit of size.
    Size,
    /// A span of time.
    Duration,
    /// The number of a version.
    Version,
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
    /// The value that holds where none is given.
    Default,
    /// An exception.
    Exception,
    /// The name of an option, a function and the like; with whether that may be a word like others.
    Name(bool),
}

impl Asked {
    /// What is missing where no passage holds it.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Number | Self::Size => "a number",
            Self::Duration => "a time",
            Self::Version => "a version",
            Self::When => "when",
            Self::Where => "where",
            Self::Who => "who",
            Self::Why => "why",
            Self::How => "how",
            Self::Meaning => "what it is",
            Self::Default => "a default",
            Self::Exception => "an exception",
            Self::Name(_) => "a name",
        }
    }

    /// Whether what does not hold it is no answer.
    pub(super) const fn must_be_held(self) -> bool {
        !matches!(self, Self::Where | Self::When | Self::Meaning | Self::How)
    }
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
            if digits > 0 && unit.is_empty() || list("numbers").contains(bare) {
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
/// Words between "which" and the kind of thing that it asks for, at most.
const BETWEEN: usize = 2;

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
        if word.starts_with(|c: char| c.is_ascii_digit()) || (list("numbers").contains(word) && word != "once") {
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
    words().any(|word| matches!(word, "maximum" | "minimum" | "limit"))
        || question.trim_start().starts_with("how ")
            && (words().any(|word| matches!(word, "may" | "can" | "allowed")) || question.contains("at most"))
}

/// Whether a text says how far something may go.
pub(super) fn bounds(text: &str) -> bool {
    says(text, "bounds")
}

/// The kind of thing whose name a question, in lower case, asks for: "which undefined type", not "what is the type of".
pub(super) fn noun(question: &str) -> Option<String> {
    let text = spaced(question);
    let behind = text.split_whitespace().skip_while(|word| !matches!(*word, "which" | "what")).skip(1);
    let mut behind = behind.take(BETWEEN + 1).take_while(|word| !is_stop_word(word));
    behind.find(|word| list("named").contains(*word)).map(str::to_owned)
}

/// What a question, in lower case, asks for.
pub(super) fn asked(question: &str) -> Vec<Asked> {
    let text = spaced(question);
    let words: Vec<&str> = text.split_whitespace().collect();
    let starts = |one: &[&str]| words.first().is_some_and(|first| one.contains(first));
    let which = words.iter().position(|word| matches!(*word, "which" | "what"));
    let noun = noun(question);
    let mut all = Vec::new();
    if says(question, "asks.exception") && which.is_some() && says(question, "asks.raised") {
        all.push(Asked::Exception);
        return all;
    }
    let has = |name: &str| says(question, name);
    let default = |word: &&str| list("asks.default").contains(*word);
    let opens = which.is_some() || words.first().is_some_and(default);
    if opens && words.iter().any(default) && noun.is_none() {
        all.push(Asked::Default);
        return all;
    }
    // "How do I count how many …" asks for a way.
    let is_how = text.starts_with(" how ");
    if is_how && Way::of(question) == Some(Way::Deed) {
        all.push(Asked::How);
        return all;
    }
    if has("asks.version") {
        all.push(Asked::Version);
    } else if has("asks.duration") {
        all.push(Asked::Duration);
    } else if has("asks.size") && noun.is_none() {
        all.push(Asked::Size);
    } else if has("asks.number") && noun.is_none() {
        all.push(Asked::Number);
    }
    if starts(&["when"]) || has("asks.when") {
        all.push(Asked::When);
    }
    if has("asks.where") && noun.is_none() {
        all.push(Asked::Where);
    }
    if starts(&["who", "whom", "whose"]) {
        all.push(Asked::Who);
    }
    if has("asks.why") {
        all.push(Asked::Why);
    }
    if is_how && !matches!(words.get(1), Some(&("many" | "much" | "long" | "often" | "large" | "big")))
        || text.contains(" how do i ")
    {
        all.push(Asked::How);
    }
    if let Some(noun) = noun.filter(|_| all.is_empty()) {
        all.push(Asked::Name(list("proper").contains(&noun)));
    }
    all
}

/// The names of a text as programs write them: in backticks, with `_`, `(`, `--`, points or capitals inside.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, piece) in text.split('`').enumerate() {
        let in_ticks = at % 2 == 1 && !piece.trim().is_empty();
        if in_ticks && piece.split_whitespace().count() <= 6 {
            all.push(piece.trim().to_owned());
            continue;
        }
        for word in piece.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '=' | '[' | ']')) {
            let bare = word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '\'' | '{' | '}'));
            let inner = bare.get(1..).unwrap_or_default();
            let hump = bare.chars().zip(inner.chars()).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
            let joined = inner.contains(['_', '(', '@']) || bare.starts_with("--") || bare.starts_with('@');
            let dotted = inner.split_once('.').is_some_and(|(_, end)| end.starts_with(char::is_alphabetic));
            if bare.chars().any(char::is_alphabetic) && (hump || joined || dotted) {
                all.push(bare.to_owned());
            }
        }
    }
    all
}

/// Whether a name is more than what the question says already.
fn is_new(name: &str, question: &str) -> bool {
    let said = spaced(question);
    // A sign such as `{#` has no word.
    (spaced(name).trim().is_empty() && !question.contains(name))
        || spaced(name).split_whitespace().any(|word| !said.contains(&format!(" {word} ")) && !is_stop_word(word))
}

/// Whether a text holds a thing of that kind, and not only what the question says.
pub(super) fn holds(asked: Asked, text: &str, question: &str, is_code: bool) -> bool {
    let lower = text.to_lowercase();
    let number = || amounts(&lower).next().is_some();
    let new_name = || identifiers(text).iter().any(|name| is_new(name, question));
    match asked {
        Asked::Number => {
            text.bytes().any(|byte| byte.is_ascii_digit()) || says(text, "numbers") && !says(text, "vague")
        }
        Asked::Size => amounts(&lower).any(|unit| list("sizes").contains(unit)),
        Asked::Duration => {
            let often = says(question, "asks.often") && says(text, "often");
            amounts(&lower).any(|unit| list("times").contains(unit)) || says(text, "spans") || often
        }
        Asked::Version => {
            let mut words = lower.split(|c: char| !(c.is_ascii_digit() || c == '.')).map(|word| word.trim_matches('.'));
            words.any(|word| word.contains('.') && is_new(word, question)) || number() && lower.contains("version")
        }
        Asked::When => number() || says(text, "whens"),
        Asked::Where => text.contains(['/', '`']) || says(text, "wheres"),
        Asked::Who => {
            says(text, "whos") || text.contains('@') || {
                let mut words = text.split_whitespace().skip(1);
                words.any(|word| word.starts_with(char::is_uppercase) && is_new(word, question))
            }
        }
        Asked::Why => says(text, "reasons"),
        Asked::Meaning => false,
        Asked::How => text.contains('`') || is_code || says(text, "means") || text.contains("--"),
        Asked::Default => has_default(text, question) || (is_code && text.contains('=')),
        Asked::Exception => {
            let named = |name: &String| {
                ["Error", "Exception", "Warning", "Exit", "Abort", "Interrupt"].iter().any(|end| name.contains(end))
            };
            let raises = lower.contains("raise") || lower.contains("throw");
            let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_')).map(str::to_owned);
            words.any(|word| word.len() > 7 && named(&word) && is_new(&word, question)) || (raises && new_name())
        }
        Asked::Name(may_be_word) => {
            let capital = || {
                let mut words = text.split_whitespace().skip(1);
                words.any(|word| word.starts_with(char::is_uppercase) && is_new(word, question))
            };
            new_name()
                || (is_code && says(question, "asks.command"))
                || (may_be_word && (capital() || text.contains(['"', '“'])))
        }
    }
}

/// Where the example begins that a question, in lower case, gives: what follows "such as".
pub(super) fn example(question: &str) -> Option<usize> {
    list("exemplars").iter().filter_map(|words| question.find(words.as_str())).min()
}

/// Whether a question asks for what was changed.
pub(super) fn asks_change(question: &str) -> bool {
    says(question, "changes")
}

/// Words between "default" and its value, at most.
const BESIDE: usize = 6;

/// Whether a value stands close to the word "default".
fn has_default(text: &str, question: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().enumerate().filter(|(_, word)| word.to_lowercase().contains("default")).map(|(at, _)| at);
    // A column of that name holds values, however long its row is.
    let beside = if text.contains(" | ") { words.len() } else { BESIDE };
    at.into_iter().any(|at| {
        let near = words.get(at.saturating_sub(beside)..words.len().min(at + beside + 1)).unwrap_or_default();
        let (near, word) = (near.join(" "), words.get(at).copied().unwrap_or_default());
        // "Readonly (default)": what is told is the default.
        word.to_lowercase().contains("(default)")
            || amounts(&near.to_lowercase()).next().is_some()
            || says(&near, "values")
            || near.contains(['"', '“'])
            || identifiers(&near).iter().any(|name| is_new(name, question))
    })
}
