//! What words mean, by `WordNet`: whether one says what another says, or its opposite, or names another thing of the
//! same kind, and how common it is.
//!
//! The table `crates/lexicon/src/wordnet.txt` (made by `benches/answers/wordnet.py`) is searched as it stands; nothing
//! of it is read before a word is asked for. Words are compared as terms.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    ops::Deref,
    rc::Rc,
    sync::OnceLock,
};

const TABLE: &str = include_str!("wordnet.txt");
/// Words that are remembered at a time.
const MOST: usize = 8_192;
/// How many steps above a noun still say of what it speaks: a poodle is a dog.
const STEPS: usize = 2;
/// Meanings that tell of what kind a thing is, and what its opposite is: the most common ones.
const MAIN: usize = 3;

/// The rest of the line of the table that begins with `key`.
fn line(key: &str) -> Option<&'static str> {
    let (mut low, mut high) = (0, TABLE.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let start = TABLE.get(low..middle)?.rfind('\n').map_or(low, |end| low + end + 1);
        let end = TABLE.get(start..)?.find('\n').map_or(TABLE.len(), |end| start + end);
        let (head, rest) = TABLE.get(start..end)?.split_once(' ')?;
        match head.cmp(key) {
            std::cmp::Ordering::Equal => return Some(rest),
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
        }
    }
    None
}

/// The number of a meaning.
type Meaning = u32;

fn number(text: &str) -> Option<Meaning> {
    Meaning::from_str_radix(text, 36).ok()
}

/// What the number of a meaning tells of it.
const fn is_noun(meaning: Meaning) -> bool {
    meaning.is_multiple_of(4)
}

/// What the table tells of a meaning: those above it, its opposites, and those that are derived from it.
#[derive(Default)]
struct Links {
    above: Vec<Meaning>,
    opposite: Vec<Meaning>,
    derived: Vec<Meaning>,
}

fn links(meaning: Meaning) -> Links {
    let mut links = Links::default();
    let mut key = String::from(":");
    let (mut rest, mut digits) = (meaning, Vec::new());
    while rest > 0 || digits.is_empty() {
        digits.extend(char::from_digit(rest % 36, 36));
        rest /= 36;
    }
    key.extend(digits.iter().rev());
    for link in line(&key).into_iter().flat_map(str::split_whitespace) {
        if let Some(opposite) = link.strip_prefix('!') {
            links.opposite.extend(number(opposite));
        } else if let Some(derived) = link.strip_prefix('+') {
            links.derived.extend(number(derived));
        } else {
            links.above.extend(number(link));
        }
    }
    links
}

/// The meanings of a word.
#[derive(Debug, Default)]
struct Senses {
    /// How common it is, as a logarithm; `None` of a word that is unknown.
    common: Option<u32>,
    /// Its own meanings, and those that are derived from them: `pay`, `payment`.
    own: Vec<Meaning>,
    /// What a word that it is said with may say instead: those above too.
    wide: Vec<Meaning>,
    /// Of verbs and adjectives what stands right above.
    near: Vec<Meaning>,
    /// The most common of its own, with the heads of their clusters, and their opposites.
    main: Vec<Meaning>,
    opposite: Vec<Meaning>,
    /// Of what kind the thing is that a noun names.
    kinds: Vec<Meaning>,
}

impl Senses {
    fn read(term: &str) -> Self {
        let Some((common, rest)) = line(term).and_then(|rest| rest.split_once(' ')) else { return Self::default() };
        let own: Vec<Meaning> = rest.split_whitespace().filter_map(number).collect();
        let mut word = Self { common: number(common), own: own.clone(), ..Self::default() };
        let is_thing = own.first().is_some_and(|meaning| is_noun(*meaning));
        for (at, meaning) in own.into_iter().enumerate() {
            let links = links(meaning);
            if at < MAIN {
                word.main.push(meaning);
                word.opposite.extend(&links.opposite);
                word.kinds.extend(links.above.iter().filter(|_| is_thing && is_noun(meaning)));
            }
            if !is_noun(meaning) {
                // What a satellite is opposed to, its cluster is.
                for head in links.above.iter().filter(|_| at < MAIN) {
                    word.main.push(*head);
                    word.opposite.extend(self::links(*head).opposite);
                }
                word.near.extend(&links.above);
            }
            let mut above = links.above;
            for _ in 0..if is_noun(meaning) { STEPS } else { 1 } {
                word.wide.extend(&above);
                above = above.into_iter().flat_map(|one| self::links(one).above).collect();
            }
            word.own.extend(links.derived);
        }
        word.wide.extend(&word.own);
        word
    }

    fn of(term: &str) -> Rc<Self> {
        thread_local! {
            static READ: RefCell<HashMap<String, Rc<Senses>>> = RefCell::default();
        }
        READ.with_borrow_mut(|read| {
            if let Some(word) = read.get(term) {
                return word.clone();
            }
            if read.len() >= MOST {
                read.clear();
            }
            let word = Rc::new(Self::read(term));
            read.insert(term.to_owned(), word.clone());
            word
        })
    }
}

/// How common a word is, as a logarithm of how often it was met; 0 of one that is unknown.
pub fn commonness(term: &str) -> u32 {
    Senses::of(term).common.unwrap_or(0)
}

/// Whether a word names a thing where it is used most; one that is unknown may.
pub fn names_first(term: &str) -> bool {
    Senses::of(term).main.first().is_none_or(|meaning| is_noun(*meaning))
}

/// Whether a word may name a thing rather than what is done or how something is.
pub fn is_thing(term: &str) -> bool {
    let word = Senses::of(term);
    word.common.is_none() || word.main.iter().any(|meaning| is_noun(*meaning))
}

/// Whether two words mean the same where they are used most.
pub fn are_same(one: &str, other: &str) -> bool {
    let (one, other) = (Senses::of(one), Senses::of(other));
    one.main.iter().any(|meaning| other.main.contains(meaning))
}

/// Whether two words are opposites of each other.
pub fn opposed(one: &str, other: &str) -> bool {
    let (one, other) = (Senses::of(one), Senses::of(other));
    let turns = |one: &Senses, other: &Senses| one.opposite.iter().any(|meaning| other.main.contains(meaning));
    turns(&one, &other) || turns(&other, &one)
}

/// Whether two words name different things of one kind: `kitchen` and `storeroom`.
pub fn are_sisters(one: &str, other: &str) -> bool {
    let (one, other) = (Senses::of(one), Senses::of(other));
    one.kinds.iter().any(|kind| other.kinds.contains(kind))
        && !one.own.iter().any(|meaning| other.wide.contains(meaning))
        && !other.own.iter().any(|meaning| one.wide.contains(meaning))
}

/// Terms, and what they mean.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    all: HashSet<String>,
    /// Each meaning that a word may have which says what one of them says; whether it is one of its own.
    meanings: OnceLock<HashMap<Meaning, bool>>,
}

impl Terms {
    /// Adds a term.
    pub fn insert(&mut self, term: &str) {
        if !self.all.contains(term) {
            self.all.insert(term.to_owned());
            self.meanings = OnceLock::new();
        }
    }

    /// Whether a word says what one of these says: it is the same, one that is derived from it, or a more general one.
    pub fn say(&self, term: &str) -> bool {
        if self.all.contains(term) {
            return true;
        }
        let word = Senses::of(term);
        if word.own.is_empty() {
            return false;
        }
        let meanings = self.meanings.get_or_init(|| {
            let mut all = HashMap::new();
            for term in &self.all {
                let word = Senses::of(term);
                all.extend(word.wide.iter().map(|meaning| (*meaning, false)));
            }
            for term in &self.all {
                all.extend(Senses::of(term).own.iter().map(|meaning| (*meaning, true)));
            }
            all
        });
        word.own.iter().any(|meaning| meanings.contains_key(meaning))
            || word.near.iter().any(|meaning| meanings.get(meaning) == Some(&true))
    }
}

impl Deref for Terms {
    type Target = HashSet<String>;

    fn deref(&self) -> &HashSet<String> {
        &self.all
    }
}

impl FromIterator<String> for Terms {
    fn from_iter<I: IntoIterator<Item = String>>(terms: I) -> Self {
        Self { all: terms.into_iter().collect(), meanings: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    fn term(word: &str) -> String {
        words::terms(word).remove(0)
    }

    #[test]
    fn x16_words_that_say_the_same() {
        for (claim, source) in [
            ("payment", "pay"),
            ("begins", "start"),
            ("purchase", "buy"),
            ("dog", "poodle"),
            ("quick", "fast"),
            ("vehicle", "car"),
        ] {
            let terms: Terms = words::terms(source).into_iter().collect();
            assert!(terms.say(&term(claim)), "{claim} | {source}");
        }
        for (claim, source) in [("poodle", "dog"), ("storeroom", "kitchen"), ("cat", "dog"), ("open", "closed")] {
            let terms: Terms = words::terms(source).into_iter().collect();
            assert!(!terms.say(&term(claim)), "{claim} | {source}");
        }
    }

    #[test]
    fn x16_opposites_and_things_of_one_kind() {
        for (one, other) in [("increase", "decrease"), ("buy", "sell"), ("legal", "illegal"), ("present", "absent")] {
            assert!(opposed(&term(one), &term(other)) && opposed(&term(other), &term(one)), "{one} {other}");
        }
        for (one, other) in [("kitchen", "storeroom"), ("Monday", "Tuesday")] {
            assert!(are_sisters(&term(one), &term(other)), "{one} {other}");
        }
        assert!(!are_sisters(&term("dog"), &term("poodle")) && !are_sisters(&term("car"), &term("automobile")));
        assert!(commonness("thing") > 6 && commonness("labrador") < 4 && commonness("qzx") == 0);
    }

    #[test]
    fn the_table_is_sorted_and_small() {
        let keys: Vec<&str> = TABLE.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(keys.is_sorted() && TABLE.len() < 1_500_000);
        assert!(keys.iter().step_by(97).all(|key| line(key).is_some()) && line("zzzz").is_none());
    }
}
