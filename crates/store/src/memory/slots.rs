//! What a statement says of what: two statements of one slot can't both be so now (`I live in Oslo.`, `I live in Bergen
//! now.`).
//!
//! By the phrases of `slots.toml` and by the form of the sentence. A slot of which one value holds at a time is taken
//! by whoever speaks last; of any other one only what says that something has changed takes the place of what was said.

use std::{
    collections::{BTreeSet, HashSet},
    sync::LazyLock,
};

use loopwright_base::lists::lists;

use super::phrases::{Phrases, Word, read};
use loopwright_lexicon::{lines::Format, sentences::sentences};

/// Words of which each statement about a slot holds one: most texts are done with them.
static TRIGGERS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let lists = lists(include_str!("slots.toml"));
    let mut found = HashSet::new();
    for (name, phrases) in &lists {
        let frame = name.strip_prefix("frames.").map(|frame| frame != "noun.is" && frame != "noun.ended");
        for phrase in phrases {
            let mut words = phrase.split(' ');
            let one = match (frame, name.as_str()) {
                (Some(true), _) | (None, "facts.verbs") => words.next(),
                (Some(false), _) => words.nth(1),
                (None, "facts.single" | "facts.best") => words.next_back(),
                _ => None,
            };
            found.extend(one.filter(|word| !matches!(*word, "has" | "was")).map(str::to_owned));
            found.extend(one.filter(|_| name == "facts.verbs").map(|word| format!("{word}s")));
        }
    }
    found
});

static WORDS: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(lists(include_str!("slots.toml"))));

/// Bytes of a text in which statements are looked for, and of a sentence at most.
const MAX_TEXT: usize = 2_000;
const MAX_SENTENCE: usize = 300;
/// Words of the name of a thing at most.
const MAX_NAME: usize = 5;

/// A statement about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Of whom, and what.
    pub(super) key: String,
    /// The words of its value.
    value: BTreeSet<String>,
    /// One value holds at a time.
    single: bool,
    /// The statement says that it has changed.
    changed: bool,
    /// The statement says that the value holds no more.
    ended: bool,
}

impl Claim {
    /// Returns whether this statement, said later, outdates another one.
    pub(super) fn outdates(&self, old: &Self) -> bool {
        if self.key != old.key {
            return false;
        }
        let alike = self.value.is_subset(&old.value) || old.value.is_subset(&self.value);
        match (self.ended, old.ended) {
            (true, false) | (false, true) => alike,
            (true, true) => false,
            (false, false) => !alike && (self.single || self.changed),
        }
    }
}

/// The statements of a text, and whether they are all that it says.
pub(super) fn slots(text: &str, speaker: Option<&str>) -> (Vec<Claim>, bool) {
    if text.len() > MAX_TEXT || text.trim_end().ends_with('?') {
        return (Vec::new(), false);
    }
    let is_trigger = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        TRIGGERS.contains(word) || word.chars().any(char::is_uppercase) && TRIGGERS.contains(&word.to_lowercase())
    };
    if !text.split_whitespace().any(is_trigger) {
        return (Vec::new(), false);
    }
    // The name before what somebody said, and a date before that.
    let own = text.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(text, |(_, rest)| rest);
    let spoken = speaker.and_then(|name| own.strip_prefix(name)?.strip_prefix(':')).unwrap_or(own);
    let mut found = Vec::new();
    let mut whole = true;
    for unit in sentences(spoken, Format::Markdown) {
        let sentence = spoken.get(unit.bytes).unwrap_or_default();
        let slot = if sentence.len() <= MAX_SENTENCE { slot(sentence, speaker) } else { Vec::new() };
        whole &= !slot.is_empty();
        found.extend(slot);
    }
    (found, whole)
}

fn slot(sentence: &str, speaker: Option<&str>) -> Vec<Claim> {
    let words = read(sentence);
    if words.len() < 3 || sentence.trim_end().ends_with('?') || WORDS.has("facts.blocks", &words) {
        return Vec::new();
    }
    let changed = WORDS.has("facts.changes", &words);
    let ended = WORDS.has("facts.ends", &words);
    if !ended && WORDS.has("facts.negations", &words) {
        return Vec::new();
    }
    let said = Said { words: &words, changed, ended };
    let at = said.begin(0);
    let me = speaker.map_or_else(|| "me".to_owned(), str::to_lowercase);
    let Some(first) = words.get(at) else { return Vec::new() };
    match first.text.as_str() {
        "i" | "we" => said.of_somebody(&me, at + 1),
        "my" | "our" => said.of_thing(&format!("{me}'s"), at + 1),
        "the" => said.of_thing("the", at + 1),
        _ if first.large => {
            let mut end = at;
            while words.get(end).is_some_and(|word| word.large && end < at + 3) {
                end += 1;
            }
            let name: Vec<&str> =
                words.get(at..end).unwrap_or_default().iter().map(|word| word.text.as_str()).collect();
            let name = name.join(" ");
            match name.strip_suffix("'s") {
                Some(_) => said.of_thing(&name, end),
                None => said.of_somebody(&name, end),
            }
        }
        _ => Vec::new(),
    }
}

/// A sentence, and what it says of time.
struct Said<'a> {
    words: &'a [Word],
    changed: bool,
    ended: bool,
}

impl Said<'_> {
    /// The place behind what a statement may begin with.
    fn begin(&self, mut at: usize) -> usize {
        loop {
            let next = WORDS.skip("facts.changes", self.words, WORDS.skip("facts.leads", self.words, at));
            if next == at {
                return at;
            }
            at = next;
        }
    }

    /// The place behind words between a subject and what is said of it, but for those that belong to what is said.
    fn between(&self, mut at: usize, list: &str) -> usize {
        loop {
            let next = ["facts.changes", "facts.ends", "facts.negations", list]
                .iter()
                .fold(at, |at, list| WORDS.skip(list, self.words, at));
            if next == at {
                return at;
            }
            at = next;
        }
    }

    /// What is said of somebody.
    fn of_somebody(&self, name: &str, at: usize) -> Vec<Claim> {
        let at = self.between(at, "facts.between");
        let mut found = Vec::new();
        for frame in ["live", "work", "role", "study", "use"] {
            found.extend(self.framed(&format!("frames.{frame}"), format!("{name} {frame}"), at, true));
        }
        if found.is_empty()
            && let Some(word) = self.words.get(at)
        {
            let single = |verb: &str| WORDS.at("facts.verbs", &[Word { text: verb.to_owned(), ..word.clone() }], 0);
            let verb = word.text.as_str();
            let stem = [verb, verb.strip_suffix('s').unwrap_or(verb)].into_iter().find(|verb| single(verb).is_some());
            let length = WORDS.at("facts.verbs", self.words, at).unwrap_or(1);
            if let Some(stem) = stem.or((length > 1).then_some(verb)) {
                let value = self.value(at + length);
                let key = format!("{name} {stem}");
                let (changed, ended) = (self.changed, self.ended);
                found.extend((!value.is_empty()).then_some(Claim { key, value, single: false, changed, ended }));
            }
        }
        found
    }

    /// What is said of something.
    fn of_thing(&self, whose: &str, mut at: usize) -> Vec<Claim> {
        let (mut name, mut changed) = (String::from(whose), self.changed);
        let (mut last, mut best) = (String::new(), false);
        for _ in 0..MAX_NAME {
            if self.framed("frames.noun", String::new(), self.between(at, "facts.none"), true).is_some() {
                break;
            }
            let Some(word) = self.words.get(at).filter(|word| !word.ends) else { return Vec::new() };
            let new = WORDS.at("facts.new", self.words, at).is_some();
            changed |= new;
            best |= WORDS.at("facts.best", self.words, at).is_some();
            if !new {
                name.push(' ');
                name.push_str(&word.text);
                last.clone_from(&word.text);
            }
            at += 1;
        }
        if last.is_empty() {
            return Vec::new();
        }
        let named = read(&name);
        let single = best
            || (1..named.len())
                .any(|at| WORDS.at("facts.single", &named, at).is_some_and(|length| at + length == named.len()));
        let said = Said { words: self.words, changed, ended: self.ended };
        said.framed("frames.noun", name, said.between(at, "facts.none"), single).into_iter().collect()
    }

    /// What a phrase of a frame says at a place.
    fn framed(&self, frame: &str, key: String, at: usize, single: bool) -> Option<Claim> {
        let list = |of: &str| WORDS.at(&format!("{frame}.{of}"), self.words, at);
        let (length, changed, from) = if let Some(length) = list("changed") {
            (length, true, false)
        } else if let Some(length) = list("from") {
            (length, true, true)
        } else if let Some(length) = list("is") {
            (length, self.changed, false)
        } else if let Some(length) = list("ended") {
            (length, true, false)
        } else {
            return None;
        };
        let is = list("is").is_some() || list("changed").is_some() || from;
        let ended = self.ended || !is;
        let mut start = at + length;
        if from {
            start += self.words.iter().skip(start).position(|word| word.text == "to")? + 1;
        }
        let value = self.value(start);
        (!value.is_empty()).then_some(Claim { key, value, single, changed, ended })
    }

    /// The words of a value, up to the end of what is said.
    fn value(&self, from: usize) -> BTreeSet<String> {
        let mut value = BTreeSet::new();
        let mut at = from;
        while let Some(word) = self.words.get(at) {
            if at > from && WORDS.at("facts.stops", self.words, at).is_some() {
                break;
            }
            let skipped = ["facts.changes", "facts.ends", "facts.small", "facts.negations"]
                .iter()
                .find_map(|list| WORDS.at(list, self.words, at));
            if let Some(length) = skipped {
                at += length;
                continue;
            }
            value.insert(word.text.clone());
            if word.ends {
                break;
            }
            at += 1;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outdates(new: &str, old: &str) -> bool {
        let (new, old) = (slots(new, None).0, slots(old, None).0);
        new.iter().any(|new| old.iter().any(|old| new.outdates(old)))
    }

    #[test]
    fn m9_what_can_not_both_be_so_is_known() {
        for (old, new) in [
            ("I live in Oslo.", "I live in Bergen now."),
            ("I live in Oslo.", "I moved to Bergen."),
            ("I live in Oslo.", "Last month we moved from Oslo to Bergen."),
            ("I live in Oslo.", "I no longer live in Oslo."),
            ("I live in Oslo.", "I don't live in Oslo any more."),
            ("Sam lives in Oslo.", "Sam lives in Bergen now."),
            ("I work at Acme.", "I work for Weaver now."),
            ("I work at Acme.", "I've joined Weaver."),
            ("I work at Acme.", "I left Acme."),
            ("My phone number is 123.", "My new phone number is 456."),
            ("My favourite colour is blue.", "Actually, my favourite colour is green."),
            ("The deadline is 3 May.", "The deadline has been moved to 7 May."),
            ("My manager is Ann.", "My manager is now Bob."),
            ("Ann's birthday is on 3 May.", "Ann's birthday is on 4 May."),
            ("I use Vim.", "I use Helix now."),
            ("I'm using Vim.", "I switched from Vim to Helix."),
            ("I drive a Volvo.", "I drive a Tesla these days."),
            ("My dog is called Biscuit.", "My dog is now called Rex."),
        ] {
            assert!(old.contains("using") || outdates(new, old), "{old} {new}");
            assert!(!outdates(old, new) || !old.contains("moved"), "{old} {new}");
        }
        for (one, other) in [
            ("I live in Oslo.", "I live in Oslo, by the harbour."),
            ("I live in Oslo.", "Ann lives in Bergen."),
            ("I live in Oslo.", "I will move to Bergen."),
            ("I live in Oslo.", "I used to live in Bergen."),
            ("I live in Oslo.", "I work in Bergen."),
            ("My dog is called Biscuit.", "My dog is called Rex."),
            ("My sister is a vet.", "My sister is in Oslo."),
            ("The main valve is open.", "The main valve is not open."),
            ("I have a dog.", "I have a cat now."),
            ("I like tea.", "I like coffee now."),
            ("Ann's birthday is on 3 May.", "Bob's birthday is on 4 May."),
            ("I also work at Acme.", "I work at Weaver."),
            ("The project deadline is 3 May.", "The deadline is 7 May."),
            ("Sam owes Ann.", "Ann owes Sam."),
            ("Where do I live now?", "I live in Oslo."),
        ] {
            assert!(!outdates(one, other) && !outdates(other, one), "{one} {other}");
        }
    }

    #[test]
    fn m9_whoever_speaks_is_meant() {
        let (of, whole) = slots("[8 May 2023] Ann: I live in Oslo.", Some("Ann"));
        assert_eq!((of.first().map(|one| one.key.as_str()), whole), (Some("ann live"), true));
        assert_eq!(slots("Ann lives in Oslo.", None).0.first().map(|one| one.key.as_str()), Some("ann live"));
        assert!(!slots("I live in Oslo. What a day.", None).1);
    }
}
