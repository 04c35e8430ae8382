//! What a sentence denies: its negations, what they turn around, how far they reach, and of what that is said.
//!
//! No grammar is known here, only words and commas. What stands near a negation without being what it turns around is
//! open: it may be denied or not. Doubts (`may`, `only`), conditions and bounds (`not until`) deny nothing.

use std::{collections::BTreeSet, ops::Range};

use super::negations::{
    BOUNDS, CONDITIONS, DENIES, DOUBTS, DUTIES, FAILS, HARD, NONE, NOT, PRONOUNS, SOFT, SOFTENED, TRUE, VERBS,
};
use loopwright_lexicon::{
    contrast::{Token, tokens},
    words,
};

/// What stands behind so many words of a sentence is not read.
const MOST_WORDS: usize = 80;
/// A parenthesis within a denial (`did not, however, open`) has so many words at most.
const ASIDE: usize = 6;

/// How a word stands in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Stated,
    Denied,
    /// It may be either.
    Open,
}

/// A word with a meaning.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) term: String,
    standing: Standing,
    /// Whether it is a number or a name, for which nothing else will do.
    exact: bool,
    /// The first word of its clause.
    clause: usize,
    /// Whether somebody is to do it: then it is not done yet.
    meant: bool,
    /// Whether nothing else than a pronoun needs to stand before it: its clause is the first, or begins with one.
    bare: bool,
}

/// Something that is denied.
#[derive(Clone, Debug)]
pub(super) struct Denial {
    /// What is turned around.
    pub(super) heads: Vec<usize>,
    /// All that is denied together.
    pub(super) scope: Range<usize>,
    /// What it is said of.
    pub(super) subject: Range<usize>,
    /// Its numbers and names are looked for in here.
    reach: Range<usize>,
    /// For `…, not X` what stands before that, of which a part must be spoken of.
    pub(super) beside: Range<usize>,
    /// Whether nothing but the whole of it is denied: `not X but Y`, `without X`.
    pub(super) whole: bool,
    /// Whether it says what must not be.
    pub(super) duty: bool,
}

/// A sentence, read.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) words: Vec<Said>,
    pub(super) denials: Vec<Denial>,
    pub(super) duty: bool,
    pub(super) begins_with_pronoun: bool,
}

/// What kind of negation a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Negation {
    Not,
    None,
    Fails,
    Denies,
    Without,
}

impl Told {
    /// Reads a sentence; `None` for one without words, or with too many.
    pub(super) fn read(sentence: &str) -> Option<Self> {
        Reader::new(sentence)?.read(false)
    }

    /// Reads a question to which the answer is no.
    pub(super) fn read_denied(question: &str) -> Option<Self> {
        Reader::new(question)?.read(true)
    }

    pub(super) fn terms(&self) -> BTreeSet<&str> {
        self.words.iter().map(|word| word.term.as_str()).collect()
    }

    pub(super) fn terms_of(&self, range: &Range<usize>) -> BTreeSet<&str> {
        self.words.get(range.clone()).into_iter().flatten().map(|word| word.term.as_str()).collect()
    }

    /// How a word stands here; open if it stands here in several ways.
    pub(super) fn standing(&self, term: &str) -> Standing {
        let mut all = self.standings(term);
        let first = all.next().unwrap_or(Standing::Open);
        if all.all(|other| other == first) { first } else { Standing::Open }
    }

    /// Each way in which a word stands here.
    pub(super) fn standings(&self, term: &str) -> impl Iterator<Item = Standing> {
        let stands = |word: &Said| match word.standing {
            Standing::Stated if word.meant => Standing::Open,
            standing => standing,
        };
        self.words.iter().filter(move |word| word.term == term).map(stands)
    }

    /// The words that are stated.
    pub(super) fn stated(&self) -> BTreeSet<&str> {
        let stated = self.words.iter().filter(|word| word.standing == Standing::Stated);
        stated.map(|word| word.term.as_str()).collect()
    }

    /// The words before a word in its clause; `None` if it is not known what the word is said of.
    pub(super) fn about(&self, term: &str) -> Option<BTreeSet<&str>> {
        let (at, word) = self.words.iter().enumerate().find(|(_, word)| word.term == term)?;
        (word.bare || at > word.clause).then(|| self.terms_of(&(word.clause..at)))
    }

    /// The numbers and names that a denial holds.
    pub(super) fn exact(&self, denial: &Denial) -> BTreeSet<&str> {
        let words = self.words.get(denial.reach.clone()).into_iter().flatten();
        words.filter(|word| word.exact).map(|word| word.term.as_str()).collect()
    }
}

struct Reader {
    tokens: Vec<Token>,
    /// For each word of the sentence how many with a meaning stand before it.
    counts: Vec<usize>,
    told: Told,
}

impl Reader {
    fn new(sentence: &str) -> Option<Self> {
        let tokens = tokens(sentence, MOST_WORDS);
        (1..=MOST_WORDS).contains(&tokens.len()).then(|| Self { tokens, counts: Vec::new(), told: Told::default() })
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.word.as_str())
    }

    /// Whether the word at a place carries a meaning.
    fn means(&self, at: usize) -> bool {
        let count = |at: usize| self.counts.get(at).copied().unwrap_or(self.told.words.len());
        at < self.tokens.len() && count(at + 1) > count(at)
    }

    fn count(&self, at: usize) -> usize {
        self.counts.get(at).copied().unwrap_or(self.told.words.len())
    }

    fn is_hard(&self, at: usize) -> bool {
        self.tokens.get(at).is_none_or(|token| token.after_comma || token.after_mark || token.after_stop)
            || HARD.contains(&self.word(at)) && !(self.word(at) == "so" && self.word(at + 1) == "as")
    }

    fn read(mut self, is_denied: bool) -> Option<Told> {
        let (mut clause, mut bare) = (0, true);
        for (at, token) in self.tokens.iter().enumerate() {
            self.counts.push(self.told.words.len());
            let word = token.word.as_str();
            if self.is_hard(at) && at > 0 || SOFT.contains(&word) {
                clause = self.told.words.len();
                bare = PRONOUNS.contains(&word) && !SOFT.contains(&word);
            } else if self.told.words.len() == clause && PRONOUNS.contains(&word) {
                bare = true;
            }
            let is_negation = NOT.contains(&word) || NONE.contains(&word) || word == "without";
            if let Some(term) = words::terms(&token.surface).into_iter().next().filter(|_| !is_negation) {
                let exact = term.starts_with(|c: char| c.is_ascii_digit())
                    || (at > 0 && token.surface.starts_with(char::is_uppercase));
                let meant = at > 0
                    && self.word(at - 1) == "to"
                    && !matches!(self.word(at.wrapping_sub(2)), "has" | "have" | "had" | "need" | "needs" | "needed");
                let standing = Standing::Stated;
                self.told.words.push(Said { term, standing, exact, clause, meant, bare });
            }
        }
        if self.told.words.is_empty() {
            return None;
        }
        let any = |list: &[&str]| self.tokens.iter().any(|token| list.contains(&token.word.as_str()));
        self.told.begins_with_pronoun = PRONOUNS.contains(&self.word(0));
        self.told.duty = any(&DUTIES) || self.is_needed();
        if any(&DOUBTS) || self.may_be() {
            self.open(0..self.told.words.len());
            return Some(self.told);
        }
        if is_denied {
            let all = 0..self.told.words.len();
            let heads = all.clone().collect();
            self.deny(heads, all.clone(), all.clone(), 0..0, all, true);
        } else {
            self.negations();
        }
        Some(self.told)
    }

    /// `could`, but for `could not`.
    fn may_be(&self) -> bool {
        (0..self.tokens.len()).any(|at| self.word(at) == "could" && !matches!(self.word(at + 1), "not" | "never"))
    }

    /// `has to`, `needs to`, or an order: it begins with what is to be done.
    fn is_needed(&self) -> bool {
        const NEEDS: [&str; 6] = ["has", "have", "had", "need", "needs", "needed"];
        (0..self.tokens.len()).any(|at| NEEDS.contains(&self.word(at)) && self.word(at + 1) == "to")
            || matches!((self.word(0), self.word(1)), ("do", "not"))
            || matches!(self.word(0), "dont" | "never")
    }

    fn open(&mut self, range: Range<usize>) {
        for word in self.told.words.get_mut(range).into_iter().flatten() {
            if word.standing == Standing::Stated {
                word.standing = Standing::Open;
            }
        }
    }

    fn deny(
        &mut self,
        heads: Vec<usize>,
        scope: Range<usize>,
        near: Range<usize>,
        subject: Range<usize>,
        reach: Range<usize>,
        whole: bool,
    ) {
        for at in &heads {
            if let Some(word) = self.told.words.get_mut(*at) {
                word.standing = Standing::Denied;
            }
        }
        self.open(near.clone());
        let duty = self.told.duty;
        let fragment = whole && subject.is_empty() && scope.start > 0 && scope.start == near.start;
        let beside = if fragment { 0..scope.start } else { 0..0 };
        self.told.denials.push(Denial { heads, scope, subject, reach, beside, whole, duty });
    }

    /// The negation at a place, and how many words it has.
    fn negation(&self, at: usize) -> Option<(Negation, usize)> {
        let (word, next) = (self.word(at), self.word(at + 1));
        let ends =
            self.tokens.get(at + 1).is_none_or(|token| token.after_comma || token.after_mark || token.after_stop);
        if NOT.contains(&word) {
            // "Or not" leaves it open.
            let either = at > 0 && self.word(at - 1) == "or";
            return (!either).then_some((Negation::Not, 1));
        }
        if NONE.contains(&word) {
            // "No, it is" answers; "no. 5" counts; "no longer" denies what is done.
            let other = word == "no" && (ends || next.starts_with(|c: char| c.is_ascii_digit()));
            return match (word, next) {
                ("no", "longer") => Some((Negation::Not, 2)),
                ("no", "one") | ("none", "of") => Some((Negation::None, 2)),
                _ if other => None,
                _ => Some((Negation::None, 1)),
            };
        }
        if word == "without" {
            return Some((Negation::Without, 1));
        }
        if FAILS.contains(&word) && next == "to" {
            return Some((Negation::Fails, 2));
        }
        // "Denied that", "denied having": what else is denied is a thing.
        if DENIES.contains(&word) && (next == "that" || next.ends_with("ing")) {
            return Some((Negation::Denies, if next == "that" { 2 } else { 1 }));
        }
        (TRUE.contains(&word) && next == "that").then_some((Negation::Denies, 0))
    }

    fn negations(&mut self) {
        let mut at = 0;
        let mut condition = false;
        while at < self.tokens.len() {
            if self.is_hard(at) || self.word(at) == "then" {
                condition = false;
            }
            if CONDITIONS.contains(&self.word(at)) {
                condition = true;
            }
            if condition {
                self.condition(at);
            }
            at = match self.negation(at) {
                Some((kind, length)) if length > 0 => self.negated(at, kind, length, condition),
                _ => at + 1,
            };
        }
    }

    /// What stands in a condition is not said; only of `when` it may be.
    fn condition(&mut self, at: usize) {
        if matches!(self.word(at), "if" | "whether" | "unless" | "suppose") {
            let end = self.end(at + 1);
            self.open(self.count(at)..self.count(end));
        }
    }

    /// Where what begins at a place ends.
    fn end(&self, from: usize) -> usize {
        (from..self.tokens.len()).find(|at| self.is_hard(*at)).unwrap_or(self.tokens.len())
    }

    /// Reads one negation, or several that stand together; gives the place to go on from.
    fn negated(&mut self, at: usize, first: Negation, length: usize, condition: bool) -> usize {
        let (mut kind, mut odd, mut from) = (first, true, at + length);
        // "Did not, however, open".
        if self.tokens.get(from).is_some_and(|token| token.after_comma) && kind == Negation::Not && from > at {
            let again =
                (from + 1..=from + ASIDE).find(|at| self.tokens.get(*at).is_some_and(|token| token.after_comma));
            from = again.unwrap_or(from);
        }
        let begins = from;
        // Negations of negations, up to what is turned around.
        let mut seek = from;
        while seek < self.tokens.len() && (seek == begins || !self.is_hard(seek)) {
            if let Some((other, length)) = self.negation(seek) {
                if other == Negation::None && self.word(seek) == "nor" {
                    break;
                }
                if length > 0 {
                    odd = !odd;
                }
                kind = other;
                from = seek + length.max(2);
                seek = from;
                continue;
            }
            if self.means(seek) {
                break;
            }
            seek += 1;
        }
        let from = from.min(self.tokens.len());
        // "Neither … nor" is one: its second half goes on behind it.
        let mut end = self.end(from.max(begins + usize::from(begins == from)));
        if self.word(at) == "neither" {
            while self.word(end) == "nor" {
                end = self.end(end + 1);
            }
        }
        if self.is_hard(from) && from == begins && from == at + length {
            end = from;
        }
        let start = (0..=at).rev().find(|at| *at == 0 || self.is_hard(*at) || SOFT.contains(&self.word(*at)));
        let start = start.unwrap_or(0);
        let near = self.count(start)..self.count(end);
        let relative = matches!(self.word(start), "that" | "which" | "who")
            && !self.tokens.get(start).is_some_and(|token| token.after_comma)
            && VERBS.contains(&self.word(start + 1));
        if condition || relative || self.is_softened(at, length, from, end) {
            self.open(near);
            return end.max(at + 1);
        }
        if !odd {
            // "Did not fail to open": it opened.
            for at in self.heads(kind, at, from, end, start) {
                if let Some(word) = self.told.words.get_mut(at) {
                    (word.standing, word.meant) = (Standing::Stated, false);
                }
            }
            return end.max(at + 1);
        }
        let heads = self.heads(kind, at, from, end, start);
        let and = (from..end).find(|at| *at > seek && matches!(self.word(*at), "and" | "und" | "y"));
        let scope = self.count(from)..self.count(and.unwrap_or(end));
        let (mut subject, mut reach) = (self.count(start)..self.count(at), self.leading(start)..near.end);
        if kind == Negation::Denies {
            // Who denies it is not what it is about.
            (subject, reach) = (scope.start..scope.start, scope.clone());
        }
        let apart = start == at || (start + 1 == at && self.word(start) == "and");
        let fragment = apart && kind == Negation::Not && at > 0;
        if fragment {
            reach = scope.clone();
        }
        let whole = kind == Negation::Without || fragment || matches!(self.word(end), "but" | "sondern");
        if heads.is_empty() {
            self.open(near);
        } else {
            self.deny(heads, scope, near, subject, reach, whole);
        }
        // A negation behind the next `and` is one of its own.
        let next = (from..end).find(|at| *at > seek && self.negation(*at).is_some_and(|(_, length)| length > 0));
        next.unwrap_or(end).max(at + 1)
    }

    /// The first word that counts for numbers and names: of a clause that a short one leads, its own.
    fn leading(&self, start: usize) -> usize {
        let lead = (1..start).find(|at| self.is_hard(*at)).unwrap_or(start);
        if lead == start { 0 } else { self.count(start) }
    }

    /// Whether a negation only bounds: "not until", "not all", "no more than".
    fn is_softened(&self, at: usize, length: usize, from: usize, end: usize) -> bool {
        let next = self.word(at + length);
        let soft = SOFTENED.contains(&next) && self.word(at) != "without";
        let have_to = matches!((next, self.word(at + length + 1)), ("have" | "need" | "needs", "to"));
        let as_as = (from..end).filter(|at| self.word(*at) == "as").count() > 1;
        let bound = as_as || (from..=end).any(|at| BOUNDS.contains(&self.word(at)));
        soft || have_to || bound
    }

    /// What a negation turns around.
    fn heads(&self, kind: Negation, at: usize, from: usize, end: usize, start: usize) -> Vec<usize> {
        let behind = (from..end).filter(|at| self.means(*at));
        let adverb = |at: &usize| self.word(*at).ends_with("ly") || matches!(self.word(*at), "ever" | "even" | "still");
        let mut heads: Vec<usize> = match kind {
            Negation::Denies => behind.collect(),
            Negation::None => behind.take(if self.word(at) == "neither" { 4 } else { 2 }).collect(),
            Negation::Not | Negation::Fails | Negation::Without => {
                let first: Vec<usize> = behind.filter(|at| !adverb(at)).take(1).collect();
                let other = first.first().filter(|at| matches!(self.word(**at + 1), "or" | "nor"));
                let other = other.and_then(|at| (at + 2..end).find(|at| self.means(*at)));
                first.into_iter().chain(other).collect()
            }
        };
        if heads.is_empty() && kind != Negation::Without {
            // "It supports nothing": what stands before it.
            heads = (start..at).rev().filter(|at| self.means(*at)).take(1).collect();
        }
        heads.into_iter().map(|at| self.count(at)).collect()
    }
}
