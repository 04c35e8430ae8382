//! What the words of a claim say of the work that checking it takes, by the English phrases of `claims.toml`.

use std::sync::LazyLock;

use loopwright_base::{
    lists::{Lists, lists},
    text::head,
};
use loopwright_lexicon::sentences::of_whole;

/// Bytes of a claim that are read.
const LONGEST: usize = 20_000;

/// What was seen in a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimSignals {
    /// News: what is true changes while one looks.
    pub is_news: bool,
    /// Words.
    pub words: usize,
    /// Sentences.
    pub sentences: usize,
    /// Phrases that compare, explain or count.
    pub sides: usize,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("claims.toml")));

/// Reads a claim.
pub fn read_claim(claim: &str) -> ClaimSignals {
    let claim = head(claim, LONGEST);
    let mut seen = ClaimSignals {
        words: claim.split_whitespace().count(),
        sentences: of_whole(claim).len(),
        ..ClaimSignals::default()
    };
    let lower = claim.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    seen.is_news = times("claims.news", &words) > 0;
    seen.sides = times("claims.sides", &words);
    seen
}

/// How often phrases of a list stand among the words.
fn times(list: &str, words: &[&str]) -> usize {
    let phrases: Vec<Vec<&str>> = LISTS.get(list).into_iter().flatten().map(|text| text.split(' ').collect()).collect();
    let begins = |phrase: &&Vec<&str>, rest: &[&str]| {
        rest.len() >= phrase.len() && phrase.iter().zip(rest).all(|(wanted, word)| is(wanted, word))
    };
    let (mut found, mut at) = (0, 0);
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let phrase = phrases.iter().find(|phrase| begins(phrase, rest));
        found += usize::from(phrase.is_some());
        at += phrase.map_or(1, Vec::len);
    }
    found
}

/// Whether a word is the one of a phrase, which may leave its ending open.
fn is(wanted: &str, word: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == word, |stem| word.starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a14_a_claim_is_read_by_its_words() {
        let seen = |claim| {
            let ClaimSignals { is_news, words, sentences, sides } = read_claim(claim);
            (is_news, words, sentences, sides)
        };
        assert_eq!(seen("Oslo is the capital of Norway."), (false, 6, 1, 0));
        assert_eq!(seen("It's mostly wet. More than\nhalf of all days, on average!"), (false, 11, 2, 3));
        assert_eq!(seen("The minister resigned two HOURS ago; breaking."), (true, 7, 1, 0));
        assert_eq!(seen("Smoking correlates with it, and leads to nothing."), (false, 8, 1, 2));
        assert_eq!(seen(""), (false, 0, 0, 0));
        assert_eq!(read_claim(&"é ".repeat(20_000)).words, 6_667);
    }
}
