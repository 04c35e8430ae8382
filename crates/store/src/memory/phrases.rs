//! The words of a sentence, and phrases from a table of them.

use std::collections::HashMap;

use loopwright_base::lists::Lists;

/// A word of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The word in small letters, without signs around it.
    pub(super) text: String,
    /// A clause ends behind it.
    pub(super) ends: bool,
    /// The word is written large.
    pub(super) large: bool,
    /// The place of the word in the sentence, in bytes.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Endings that are words of their own: `I'm`, `we've`.
const JOINED: [(&str, &str); 3] = [("'m", "am"), ("'ve", "have"), ("'re", "are")];
/// The words between two quotation marks at least that are somebody else's.
const QUOTED: usize = 3;

/// The words of a sentence, without those of others that it quotes.
pub(super) fn read(sentence: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut opened: Option<usize> = None;
    for piece in sentence.split_whitespace() {
        let from = piece.as_ptr().addr() - sentence.as_ptr().addr();
        let opens = piece.starts_with(['"', '“', '„', '«']);
        if opens && opened.is_none() {
            opened = Some(words.len());
        }
        let bare = piece.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '#' | '%' | '€' | '$')));
        if !bare.is_empty() {
            let text = bare.to_lowercase().replace('’', "'");
            let ends = piece.ends_with([',', ';', ':', '.', '!', '?', ')']) || piece.ends_with("—");
            let large = bare.chars().next().is_some_and(char::is_uppercase);
            let word =
                |text: &str, ends: bool| Word { text: text.to_owned(), ends, large, from, to: from + piece.len() };
            let joined = JOINED.iter().find_map(|(end, word)| Some((text.strip_suffix(end)?, *word)));
            match joined {
                Some((start, second)) => words.extend([word(start, false), word(second, ends)]),
                None => words.push(word(&text, ends)),
            }
        }
        let closes = piece.trim_end_matches(['.', ',', '!', '?', ';', ':']).ends_with(['"', '”', '“', '»']);
        if closes
            && let Some(at) = opened.take()
            && words.len() - at >= QUOTED
        {
            words.truncate(at);
        }
    }
    words
}

/// Phrases of a table, by the names of their lists.
pub(super) struct Phrases(HashMap<String, Vec<Vec<String>>>);

impl Phrases {
    /// Sorts the lists of a table: the longest phrase is the one that is meant.
    pub(super) fn of(lists: Lists) -> Self {
        let sorted = |phrases: std::collections::HashSet<String>| {
            let mut all: Vec<Vec<String>> =
                phrases.iter().map(|phrase| phrase.split(' ').map(str::to_owned).collect()).collect();
            all.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
            all
        };
        Self(lists.into_iter().map(|(name, phrases)| (name, sorted(phrases))).collect())
    }

    /// The names of the lists that begin so, in order.
    pub(super) fn names(&self, begin: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.keys().map(String::as_str).filter(|name| name.starts_with(begin)).collect();
        names.sort_unstable();
        names
    }

    /// The words of the phrase of a list that stands at a place; none if there is none.
    pub(super) fn at(&self, list: &str, words: &[Word], at: usize) -> Option<usize> {
        let rest = words.get(at..).filter(|rest| !rest.is_empty())?;
        let stands = |phrase: &&Vec<String>| {
            rest.len() >= phrase.len()
                && phrase.iter().zip(rest).all(|(wanted, word)| match wanted.strip_suffix('*') {
                    Some(start) => word.text.starts_with(start),
                    None => *wanted == word.text,
                })
        };
        self.0.get(list)?.iter().find(stands).map(Vec::len)
    }

    /// The first place of a phrase of a list.
    pub(super) fn find(&self, list: &str, words: &[Word]) -> Option<usize> {
        (0..words.len()).find(|at| self.at(list, words, *at).is_some())
    }

    /// Returns whether a phrase of a list stands somewhere.
    pub(super) fn has(&self, list: &str, words: &[Word]) -> bool {
        self.find(list, words).is_some()
    }

    /// Skips phrases of a list; returns the place behind them.
    pub(super) fn skip(&self, list: &str, words: &[Word], mut at: usize) -> usize {
        while let Some(length) = self.at(list, words, at) {
            at += length;
        }
        at
    }
}
