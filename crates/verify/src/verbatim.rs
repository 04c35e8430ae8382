//! Whether a sentence repeats another one, or a clause of it, word for word but for a negation or an opposite.
//!
//! Where nearly every word is the same no grammar is needed: conditions, doubts and relative clauses stand in both, so
//! that one more negation, or `open` for `closed`, is all that sets them apart. Half a sentence is compared only where
//! it begins and ends with a clause and nothing around it says on what it hangs.

use super::negations::{ANY, BOUNDS, CONDITIONS, DOUBTS, FAILS, FAILS_FORMS, HELPERS, NONE, NOT, OPPOSITES, SOFTENED};
use loopwright_lexicon::{
    contrast::{Token, are_opposites, tokens},
    words,
};

/// What stands behind so many words of a sentence is not compared.
const MOST_WORDS: usize = 80;
/// Fewer words that carry something are no repetition.
const LEAST: usize = 3;
/// So much of a sentence must be repeated where the rest of it may say on what that hangs.
const MOST_OF_IT: f64 = 0.6;

/// A word that is compared.
#[derive(Clone, Debug)]
struct Piece {
    /// Its stem, or the word itself where it only shapes a sentence.
    key: String,
    /// As it is written, in lower case.
    word: String,
    /// How many negations stand right before it.
    turns: usize,
    /// Whether a clause may begin here.
    begins: bool,
    means: bool,
    /// Whether nothing was left out between it and the word before it.
    touches: bool,
    /// Whether it makes a condition, a doubt or a bound of what stands beside it.
    hedges: bool,
}

/// A sentence as a row of words, its negations beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Wording {
    pieces: Vec<Piece>,
    /// Negations behind the last word.
    trailing: usize,
}

/// How one sentence repeats another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeats {
    /// It says the same.
    Same,
    /// It is the same but for a negation.
    Denied,
    /// It is the same but for an opposite.
    Opposite,
    /// It is the same but for an opposite that may say which of two things is meant: "The north tower is high."
    Other,
}

impl Wording {
    pub(super) fn read(sentence: &str) -> Self {
        let found = tokens(sentence, MOST_WORDS);
        let mut wording = Self::default();
        if found.len() > MOST_WORDS {
            return wording;
        }
        let word = |at: usize| found.get(at).map_or("", |token: &Token| token.word.as_str());
        let (mut turns, mut begins, mut touches, mut at) = (0, true, false, 0);
        while let Some(token) = found.get(at) {
            let now = token.word.as_str();
            let then = word(at + 1);
            let apart = token.after_comma || token.after_mark || token.after_stop;
            begins |= apart;
            // A negation at the end of a clause belongs to that clause.
            if let Some(last) = wording.pieces.last_mut().filter(|_| apart) {
                last.turns += std::mem::take(&mut turns);
            }
            let (turned, length) = negation(&found, at);
            turns += usize::from(turned);
            let carried = contracted(now).filter(|_| turned);
            if length > 0 && carried.is_none_or(|verb| HELPERS.contains(&verb)) {
                at += length;
                touches = false;
                continue;
            }
            let now = carried.unwrap_or(now);
            let is_helper = HELPERS.contains(&now) && (turns > 0 || negation(&found, at + 1).1 > 0 || at > 0);
            let is_empty = ANY.contains(&now) || is_helper || (now == "able" && then == "to");
            if is_empty {
                at += 1;
                touches = false;
                continue;
            }
            let term = words::terms(carried.unwrap_or(&token.surface)).into_iter().next();
            let hedges = CONDITIONS.contains(&now) || DOUBTS.contains(&now) || BOUNDS.contains(&now);
            let joins = matches!(now, "and" | "but" | "or" | "so");
            wording.pieces.push(Piece {
                means: term.is_some(),
                key: term.unwrap_or_else(|| now.to_owned()),
                word: now.to_owned(),
                turns: std::mem::take(&mut turns),
                begins: std::mem::take(&mut begins) || joins,
                hedges,
                touches: std::mem::replace(&mut touches, true) && !apart,
            });
            // What follows `and` may be a clause of its own.
            begins = joins;
            at += 1;
        }
        wording.trailing = turns;
        wording
    }

    /// How a claim repeats a sentence; `None` if it does not. With the place among the claim's words on which they
    /// part.
    pub(super) fn repeats(&self, said: &Self) -> Option<(Repeats, &str)> {
        let (claim, said_pieces) = (self.body(), said.body());
        let length = claim.len();
        if claim.iter().filter(|piece| piece.means).count() < 2 || length < LEAST || length > said_pieces.len() {
            return None;
        }
        let mut found = None;
        for start in 0..=said_pieces.len() - length {
            let Some(window) = said_pieces.get(start..start + length) else { continue };
            let Some(other) = differs(claim, window) else { continue };
            if !stands_alone(said_pieces, start, length) {
                continue;
            }
            let end = start + length == said_pieces.len();
            let theirs = window.iter().map(|piece| piece.turns).sum::<usize>() + if end { said.trailing } else { 0 };
            let mine = claim.iter().map(|piece| piece.turns).sum::<usize>() + self.trailing;
            let apart = (0..length)
                .find(|at| claim.get(*at).map(|piece| piece.turns) != window.get(*at).map(|piece| piece.turns));
            let odd = (mine + theirs + usize::from(other.is_some())) % 2 == 1;
            if !odd {
                return Some((Repeats::Same, ""));
            }
            // The word that the negation turns around, or the next that means something.
            let from = other.or(apart).unwrap_or(length - 1);
            let on = claim.iter().skip(from).chain(claim).find(|piece| piece.means);
            let how = match other {
                None => Repeats::Denied,
                Some(at) if claim.get(at + 1).is_some_and(|next| next.means && next.touches) => Repeats::Other,
                Some(_) => Repeats::Opposite,
            };
            found = Some((how, on.map_or("", |piece| piece.key.as_str())));
        }
        found
    }

    /// Its words without the `and` or `but` that it begins with.
    fn body(&self) -> &[Piece] {
        let leads = self.pieces.first().is_some_and(|first| {
            first.turns == 0 && matches!(first.word.as_str(), "and" | "but" | "so" | "however" | "then" | "yes")
        });
        self.pieces.get(usize::from(leads)..).unwrap_or_default()
    }
}

/// Whether a window is the sentence, most of it, or a clause that nothing around makes a condition of.
fn stands_alone(pieces: &[Piece], start: usize, length: usize) -> bool {
    let end = start + length;
    let behind = pieces.get(end);
    let begins = start == 0 || pieces.get(start).is_some_and(|piece| piece.begins);
    let ends = behind.is_none_or(|piece| piece.begins);
    let hedged = pieces.iter().enumerate().any(|(at, piece)| (at < start || at >= end) && piece.hedges);
    begins && ends && (!hedged || length as f64 >= MOST_OF_IT * pieces.len() as f64)
}

/// Whether two rows of words are the same but for one opposite at most, and its place.
#[allow(clippy::option_option, reason = "no repetition, one without an opposite, one with it")]
fn differs(claim: &[Piece], window: &[Piece]) -> Option<Option<usize>> {
    let mut other = None;
    for (at, (mine, theirs)) in claim.iter().zip(window).enumerate() {
        if mine.key == theirs.key {
            continue;
        }
        if other.is_some() || !opposed(&mine.word, &theirs.word) {
            return None;
        }
        other = Some(at);
    }
    Some(other)
}

/// Whether two words, in lower case, are opposites.
pub fn opposed(one: &str, other: &str) -> bool {
    are_opposites(one, other)
        || OPPOSITES.iter().any(|(first, second)| {
            first.contains(&one) && second.contains(&other) || first.contains(&other) && second.contains(&one)
        })
}

/// The verb of `isn't`, `cannot`.
fn contracted(word: &str) -> Option<&str> {
    match word {
        "cannot" | "cant" => Some("can"),
        "wont" => Some("will"),
        "shant" => Some("shall"),
        "dont" => Some("do"),
        "aint" => None,
        _ => word.strip_suffix("nt").filter(|_| NOT.contains(&word)),
    }
}

/// Whether the words at a place negate, and how many they are; none if they are no negation at all.
fn negation(found: &[Token], at: usize) -> (bool, usize) {
    let word = |at: usize| found.get(at).map_or("", |token| token.word.as_str());
    let (now, then) = (word(at), word(at + 1));
    let before = at.checked_sub(1).map_or("", &word);
    let ends = found.get(at + 1).is_none_or(|next| next.after_comma || next.after_mark || next.after_stop);
    // "Or not", "if not": they leave it open, and stay where they are.
    if NOT.contains(&now) {
        let addition = matches!(then, "only" | "just" | "merely" | "simply") && now == "not";
        return match before {
            "or" | "if" | "whether" => (false, 0),
            _ if addition => (false, 0),
            _ => (true, 1),
        };
    }
    if now == "no" && then == "longer" {
        return (true, 2);
    }
    if NONE.contains(&now) {
        let counts = then.starts_with(|c: char| c.is_ascii_digit());
        let bounds = SOFTENED.contains(&then) && now == "no";
        let answers = ends && now == "no";
        return if counts || bounds || answers || matches!(now, "neither" | "nor") { (false, 0) } else { (true, 1) };
    }
    if FAILS.contains(&now) && then == "to" && FAILS_FORMS.iter().any(|form| now.starts_with(form)) {
        return (true, 2);
    }
    (false, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(claim: &str, said: &str) -> Option<Repeats> {
        let (claim, said) = (Wording::read(claim), Wording::read(said));
        claim.repeats(&said).map(|(how, _)| how)
    }

    #[test]
    fn one_more_negation_turns_a_repeated_sentence_around() {
        for (claim, said) in [
            ("When Mary never got home, her mother was sad.", "When Mary got home, her mother was sad."),
            ("It may not have opened in 1932.", "It may have opened in 1932."),
            ("If it was not a ball, it would have been round.", "If it was a ball, it would have been round."),
            ("They could wait to see the zoo.", "They couldn't wait to see the zoo."),
            ("He no longer works in Rome.", "He works in Rome."),
            ("She failed to open the door with the key.", "She opened the door with the key."),
            ("The tool which is not signed is run first.", "The tool which is signed is run first."),
            ("Tom doesn't like the dog.", "Tom likes the dog."),
            ("He had any seeds left.", "He had no seeds left."),
            ("Only admins cannot delete pages.", "Only admins can delete pages."),
            ("The engine was cold at that time.", "In 1932 it rained, and the engine was not cold at that time."),
        ] {
            assert_eq!(repeats(claim, said), Some(Repeats::Denied), "{claim} | {said}");
            assert_eq!(repeats(said, said), Some(Repeats::Same), "{said}");
            assert_eq!(repeats(claim, claim), Some(Repeats::Same), "{claim}");
        }
    }

    #[test]
    fn an_opposite_turns_a_repeated_sentence_around() {
        for (claim, said) in [
            ("The engine was cold before the start.", "The engine was cold after the start."),
            ("The lift decreases with the angle.", "The lift increases with the angle."),
            ("The store was closed on Sunday.", "The store was open on Sunday."),
            ("It works without a key.", "It works with a key."),
        ] {
            assert_eq!(repeats(claim, said), Some(Repeats::Opposite), "{claim} | {said}");
        }
        assert_eq!(
            repeats("The store was not closed on Sunday.", "The store was open on Sunday."),
            Some(Repeats::Same)
        );
        let tower = repeats("The north tower is high.", "The south tower is high.");
        assert_eq!(tower, Some(Repeats::Other));
    }

    #[test]
    fn half_a_sentence_repeats_nothing() {
        for (claim, said) in [
            ("The tool supports Windows.", "The tool does not support Windows 7."),
            ("The requests are retried.", "Failed requests are not retried."),
            ("The server answers within a second.", "If the server does not answer within a second, we wait."),
            ("It would rain in May.", "He hoped that it would not rain in May."),
            ("The server answers the client.", "The server does not answer the client when it is busy."),
            ("It opened in 1932.", "It did not open in 1931 but in 1932."),
            ("It opened.", "It did not open."),
            ("They said no.", "They said no."),
        ] {
            assert_ne!(repeats(claim, said), Some(Repeats::Denied), "{claim} | {said}");
        }
    }

    #[test]
    fn what_only_looks_like_a_negation_turns_nothing() {
        for (claim, said) in [
            ("He asked them to come, but they said no.", "He asked them to come, but they said no. He went home."),
            ("It opened in 1932 and was painted.", "It not only opened in 1932 and was painted."),
            ("She asked whether it opened or not in May.", "She asked whether it opened or not in May."),
            ("No, the bridge opened in 1932.", "The bridge opened in 1932."),
        ] {
            assert_ne!(repeats(claim, said), Some(Repeats::Denied), "{claim} | {said}");
        }
    }
}
