//! What a model was shown, by who wrote it: an index that grows with the history and is asked where a value stands.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use loopwright_base::{
    sources::{parse_feedback, parse_prompt},
    text::{clip, head, tail},
};
use percent_encoding::percent_decode_str;
use regex::Regex;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    address::{is_address, is_fact},
    plain::{day_of, is_short_number, joined, near_number, plain, words},
};
use crate::{authority::MOST_TEXT, names, own_words, policy::subject::words_of};

/// Words that stand one behind the other in a text of others: so many are no chance.
pub(super) const RUN: usize = 6;
/// Entries of a broken structure that are tried and can't be read.
const MOST_TRIES: usize = 64;
/// Longer values of a structure are texts.
const LONGEST_LEAF: usize = 80;
/// Characters of what a call was about that are told.
const ABOUT: usize = 80;
/// What parts short values of structures from each other.
const APART: &str = "\u{1} ";

/// A text that others may have written: the result of a call, or what came without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The tool that gave it; empty for what no tool gave.
    pub tool: String,
    /// The id of the call.
    pub call_id: String,
    /// The answer of the model, from 1, that called it.
    pub round: usize,
    /// The first argument of the call.
    pub about: String,
}

impl Origin {
    /// The result of a call.
    pub fn of_call(tool: &str, call_id: &str, round: usize, input: &Value) -> Self {
        let about = input.as_object().and_then(|input| input.values().find_map(Value::as_str)).unwrap_or_default();
        Self { tool: tool.to_owned(), call_id: call_id.to_owned(), round, about: clip(about, ABOUT) }
    }

    /// What it is, for people.
    pub(super) fn told(&self) -> String {
        let about = if self.about.is_empty() { String::new() } else { format!(" for {:?}", self.about) };
        if self.tool.is_empty() {
            return format!("the {}", if self.about.is_empty() { "text the model was given" } else { &self.about });
        }
        format!("what {:?} gave{about} in round {}", self.tool, self.round)
    }
}

/// A text of others.
#[derive(Clone, Debug)]
struct Prose {
    plain: String,
    source: usize,
}

/// A value of a structure: an id, a name, an address that a system gives.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) source: usize,
    /// Where it stands in the structure, the same for all entries of a list.
    pub(super) path: String,
    /// How the user's words name the entry that it stands in.
    pub(super) meant: Meant,
}

/// How the user's words name an entry of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meant {
    /// Not at all.
    #[default]
    No,
    /// By a number in it.
    ByNumber,
    /// By a name that it has.
    ByName,
}

impl Leaf {
    /// Whether the user's words name the entry that it stands in.
    pub(super) fn is_meant(&self) -> bool {
        self.meant != Meant::No
    }

    /// The key under which it stands; lists of the same things may be wrapped in other ways.
    fn key(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

/// Where a value stands in a text of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// The number of the text; `usize::MAX` for a part of a value of a structure.
    pub(super) text: usize,
    /// The place in it, in bytes of its plain form.
    pub(super) at: usize,
    pub(super) source: usize,
}

/// Whether a message of the user holds texts of others: documents, quotes, results.
pub fn quotes_others(text: &str) -> bool {
    // What the machines write to a model says itself what of it are sources.
    if let Some((sources, ..)) = parse_prompt(text) {
        return !sources.is_empty();
    }
    let read = tail(text, MOST_TEXT);
    parse_feedback(text).is_none() && own_words(read).len() != read.len()
}

/// What a model was shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The user's words.
    said: String,
    said_words: HashSet<String>,
    /// What the system and trusted tools say.
    known: String,
    known_words: HashSet<String>,
    prose: Vec<Prose>,
    /// Words with a sign or a digit in them, and days, by the text that holds them.
    signs: HashMap<String, usize>,
    runs: HashMap<u64, usize>,
    leaves: HashMap<String, Vec<Leaf>>,
    /// All short values, and where those of a source begin.
    short: String,
    begins: Vec<(usize, usize)>,
    sources: Vec<Origin>,
}

impl Shown {
    /// Takes words of the user; what they paste of others is a text of others.
    pub fn user(&mut self, text: &str) {
        // Of a long message the end is read as what it is, and the beginning with it.
        let beginning = if text.len() > MOST_TEXT { own_words(head(text, MOST_TEXT / 4)) } else { String::new() };
        let own = own_words(text);
        let said: Vec<String> = words(&beginning).into_iter().chain(words(&own)).collect();
        self.said.push_str(&joined(&said));
        // `owner/project#12` names a project, too.
        let parts = |word: &String| word.split(['/', '#', ':', '=']).map(str::to_owned).collect::<Vec<_>>();
        self.said_words.extend(said.iter().flat_map(parts).filter(|part| part.chars().count() > 2));
        self.said_words.extend(said);
        if quotes_others(text) {
            self.untrusted(text, Origin { about: "text in your message".to_owned(), ..Origin::default() });
        }
    }

    /// Takes words of the system.
    pub fn trusted(&mut self, text: &str) {
        self.know(words(text));
    }

    /// Takes the result of a trusted call: what it only repeats of the call says nothing new.
    pub fn trusted_result(&mut self, text: &str, input: &Value) {
        let mut given = HashSet::new();
        given_words(input, &mut given);
        self.know(words(text).into_iter().filter(|word| !given.contains(word)).collect());
    }

    fn know(&mut self, known: Vec<String>) {
        self.known.push_str(&joined(&known));
        self.known_words.extend(known);
    }

    /// Takes a text that others may have written.
    pub fn untrusted(&mut self, text: &str, source: Origin) {
        let is_page = words_of(&source.tool).any(|word| names::has("flows.pages", &word));
        self.sources.push(source);
        if is_page || !text.trim_start().starts_with(['{', '[']) {
            self.take_prose(text);
        } else if let Ok(value) = serde_json::from_str::<Value>(text) {
            self.walk(&value, "", Meant::No);
        } else {
            self.take_pieces(text);
        }
        if text.contains('%') {
            let read = percent_decode_str(text).decode_utf8_lossy();
            if read != text {
                self.take_prose(&read);
            }
        }
    }

    /// Whether a text of others was shown.
    pub const fn has_untrusted(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Takes a structure that is not whole, as a long result without its middle: the entries that are whole are read,
    /// and what stands between them is a text.
    fn take_pieces(&mut self, text: &str) {
        let (mut at, mut prose, mut tries) = (0, 0, 0);
        while let Some(found) = text.get(at..).and_then(|rest| rest.find('{')).filter(|_| tries < MOST_TRIES) {
            let begins = at + found;
            let mut entries = serde_json::Deserializer::from_str(&text[begins..]).into_iter::<Value>();
            let Some(Ok(entry)) = entries.next() else {
                (at, tries) = (begins + 1, tries + 1);
                continue;
            };
            at = begins + entries.byte_offset();
            self.take_rest(&text[prose..begins]);
            self.walk(&entry, "[]", Meant::No);
            prose = at;
        }
        self.take_rest(&text[prose..]);
    }

    /// Takes what is left of entries that were cut: their members that are whole are values, all else is a text. A
    /// quote within a value is escaped, so none of them is a part of another value.
    fn take_rest(&mut self, text: &str) {
        static MEMBER: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r#"(^|[^\\])"(\w{1,64})"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.]*)"#).ok());
        let Some(member) = MEMBER.as_ref() else { return self.take_prose(text) };
        for found in member.captures_iter(text) {
            let key = found.get(2).map_or("", |key| key.as_str());
            let value = found.get(3).and_then(|value| serde_json::from_str(value.as_str()).ok()).unwrap_or_default();
            self.walk(&value, &format!("[].{key}"), Meant::No);
        }
        self.take_prose(&member.replace_all(text, "$1 "));
    }

    fn take_prose(&mut self, text: &str) {
        let words = words(text);
        let at = self.prose.len();
        for word in &words {
            let day = day_of(word);
            if let Some(word) = day.or_else(|| is_sign(word).then_some(word)) {
                self.signs.entry(word.to_owned()).or_insert(at);
            }
        }
        for run in words.windows(RUN) {
            self.runs.entry(xxh3_64(joined(run).as_bytes())).or_insert(at);
        }
        self.prose.push(Prose { plain: joined(&words), source: self.sources.len() - 1 });
    }

    fn walk(&mut self, value: &Value, path: &str, meant: Meant) {
        match value {
            Value::Object(members) => {
                let meant = self.entry(members);
                // Many keys, or keys that are no words, are data.
                let names = members.keys().all(|key| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
                for (key, member) in members {
                    let data = !names || members.len() > 40 || key.bytes().all(|byte| byte.is_ascii_digit());
                    if data || key.starts_with(|c: char| c.is_uppercase()) {
                        self.leaf(key, &format!("{path}{{}}"), meant);
                    }
                    let below = if data { format!("{path}{{}}=") } else { format!("{path}.{key}") };
                    self.walk(member, &below, meant);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, &format!("{path}[]"), meant)),
            Value::String(text) => self.leaf(text, path, meant),
            Value::Number(number) => self.leaf(&number.to_string(), path, meant),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn leaf(&mut self, text: &str, path: &str, meant: Meant) {
        let found = words(text);
        if found.is_empty() {
            return;
        }
        if found.len() > RUN || text.len() > LONGEST_LEAF {
            return self.take_prose(text);
        }
        let source = self.sources.len() - 1;
        if self.begins.last().is_none_or(|(_, last)| *last != source) {
            self.begins.push((self.short.len(), source));
        }
        let plain = joined(&found);
        self.short.push_str(&plain);
        self.short.push_str(APART);
        let leaf = Leaf { source, path: path.to_owned(), meant };
        // Behind the name of somebody stands their address: `Ann Lee <ann@example.com>`.
        if found.len() > 1 && words_of(leaf.key()).any(|word| names::has("flows.identity", &word)) {
            for address in found.iter().filter(|word| word.contains('@')) {
                self.leaves.entry(joined(std::slice::from_ref(address))).or_default().push(leaf.clone());
            }
        }
        self.leaves.entry(plain).or_default().push(leaf);
    }

    /// How the user names the entry of a list: by a name that it has, or by a number of two digits or more.
    fn entry(&self, members: &Map<String, Value>) -> Meant {
        let says = |text: &str, least: usize| {
            let found = words(text);
            found.len() <= RUN && found.iter().any(|word| word.len() > least && self.said_words.contains(word))
        };
        let how = |(key, member): (&String, &Value)| match member {
            Value::String(text) => {
                let identity = words_of(key).any(|word| names::has("flows.identity", &word));
                if identity && says(text, 2) { Meant::ByName } else { Meant::No }
            }
            Value::Number(number) if says(&number.to_string(), 1) => Meant::ByNumber,
            _ => Meant::No,
        };
        members.iter().map(how).max().unwrap_or_default()
    }

    /// Whether a word of the user goes on where this one ends, as names do in many languages.
    pub(super) fn says_a_form_of(&self, word: &str) -> bool {
        word.chars().count() > 3 && self.said.contains(&format!(" {word}"))
    }

    /// Whether the user says these signs, which no blanks part.
    pub(super) fn says_signs(&self, text: &str) -> bool {
        !text.is_ascii() && self.said.contains(&plain(text))
    }

    /// Whether the user's words hold a word.
    pub(super) fn said(&self, word: &str) -> bool {
        self.said_words.contains(word)
    }

    /// Whether the user, the system or a trusted tool says these words: one behind the other, or each of them.
    pub(super) fn names(&self, words: &[String], beside: &[String]) -> bool {
        if let [word] = words
            && is_short_number(word)
            && !beside.is_empty()
        {
            return [&self.said, &self.known].into_iter().any(|text| near_number(text, word, beside).is_some());
        }
        let each = words.iter().all(|word| {
            let day = day_of(word).is_some_and(|day| self.said.contains(&format!("-{day} ")));
            day || self.said_words.contains(word) || self.known_words.contains(word)
        });
        each || [&self.said, &self.known].into_iter().any(|text| text.contains(&joined(words)))
    }

    /// Whether the user or the system says the host of an address.
    pub(super) fn names_host(&self, host: &str) -> bool {
        let bare = host.strip_prefix("www.").unwrap_or(host);
        [&self.said, &self.known].into_iter().any(|text| {
            text.match_indices(bare).any(|(at, _)| {
                let before = text.get(..at).and_then(|text| text.chars().next_back());
                let behind = text.get(at + bare.len()..).and_then(|text| text.chars().next());
                let begins = before.is_none_or(|c| matches!(c, ' ' | '/' | '@')) || text[..at].ends_with("www.");
                begins && behind.is_none_or(|c| matches!(c, ' ' | '/' | ':' | '?' | '#'))
            })
        })
    }

    /// Where these words stand in a text of others, one behind the other.
    pub(super) fn in_prose(&self, words: &[String], beside: &[String]) -> Option<Spot> {
        let wanted = joined(words);
        if let [word] = words {
            if let Some(day) = day_of(word) {
                let text = *self.signs.get(day)?;
                let prose = self.prose.get(text)?;
                return Some(Spot { text, at: prose.plain.find(day).unwrap_or_default(), source: prose.source });
            }
            if is_short_number(word) && !beside.is_empty() {
                return self.prose.iter().enumerate().find_map(|(text, prose)| {
                    let at = near_number(&prose.plain, word, beside)?;
                    Some(Spot { text, at, source: prose.source })
                });
            }
        }
        self.prose.iter().enumerate().find_map(|(text, prose)| {
            let at = memchr::memmem::find(prose.plain.as_bytes(), wanted.as_bytes())?;
            Some(Spot { text, at, source: prose.source })
        })
    }

    /// Where a word with a sign in it, or a run of words, of a longer text stands in a text of others; with `facts`
    /// words that lead nowhere don't count: numbers, times, versions.
    pub(super) fn in_prose_partly(&self, words: &[String], facts: bool) -> Option<(String, Spot)> {
        let spot = |text: usize, words: &[String]| {
            let prose = self.prose.get(text)?;
            let at = prose.plain.find(&joined(words)).unwrap_or_default();
            Some((joined(words).trim().to_owned(), Spot { text, at, source: prose.source }))
        };
        let known = |word: &str| self.said_words.contains(word) || self.known_words.contains(word);
        let leads = |word: &str| is_sign(word) && (!facts || is_address(word) && !is_fact(word));
        let sign = words
            .iter()
            .filter(|word| leads(word) && !known(word))
            .find_map(|word| self.signs.get(word).and_then(|text| spot(*text, std::slice::from_ref(word))));
        sign.or_else(|| {
            words.windows(RUN).find_map(|run| {
                let plain = joined(run);
                let text = *self.runs.get(&xxh3_64(plain.as_bytes()))?;
                let told =
                    run.iter().all(|word| self.said(word)) || self.said.contains(&plain) || self.known.contains(&plain);
                if told { None } else { spot(text, run) }
            })
        })
    }

    /// The values of structures that are just these words.
    pub(super) fn leaves(&self, words: &[String]) -> &[Leaf] {
        self.leaves.get(&joined(words)).map_or(&[], Vec::as_slice)
    }

    /// Where these words stand within a value of a structure that holds more.
    pub(super) fn in_leaf(&self, words: &[String]) -> Option<Spot> {
        let at = self.short.find(&joined(words))?;
        let begins = self.begins.partition_point(|(begins, _)| *begins <= at);
        let (_, source) = self.begins.get(begins.checked_sub(1)?)?;
        Some(Spot { text: usize::MAX, at, source: *source })
    }

    /// Whether the user names another value that stands in the same place of what the same tool gave, or its entry.
    pub(super) fn names_another(&self, leaf: &Leaf) -> Option<&str> {
        let tool = |leaf: &Leaf| self.sources.get(leaf.source).map(|source| source.tool.as_str());
        self.leaves.iter().find_map(|(plain, leaves)| {
            let mut beside =
                leaves.iter().filter(|other| other.key() == leaf.key() && tool(other) == tool(leaf)).peekable();
            beside.peek()?;
            let said = plain.trim().len() > 3 && self.said.contains(plain.as_str());
            (said || beside.any(|other| other.meant == Meant::ByName)).then(|| plain.trim())
        })
    }

    pub(super) fn source(&self, at: usize) -> Option<&Origin> {
        self.sources.get(at)
    }

    /// Whether a word stands in anything that tools gave.
    pub(super) fn holds(&self, word: &str) -> bool {
        let wanted = plain(word);
        self.known.contains(&wanted)
            || self.short.contains(&wanted)
            || self.prose.iter().any(|prose| prose.plain.contains(&wanted))
    }
}

/// Whether a word names something by its looks: it has five characters or more, and a sign or a digit in it.
pub(super) fn is_sign(word: &str) -> bool {
    word.len() > 4 && word.chars().any(|c| !c.is_alphabetic() && c != '\'' && c != '’')
}

/// The words of all texts and numbers of a value.
fn given_words(value: &Value, found: &mut HashSet<String>) {
    match value {
        Value::String(text) => found.extend(words(text)),
        Value::Number(number) => found.extend(words(&number.to_string())),
        Value::Array(items) => items.iter().for_each(|item| given_words(item, found)),
        Value::Object(members) => members.values().for_each(|member| given_words(member, found)),
        Value::Bool(_) | Value::Null => {}
    }
}
