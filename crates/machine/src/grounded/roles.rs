//! Roles of words in a statement: its subject, and the objects of its prepositions.
//!
//! A claim may say all the words of a statement and something else: `Marco takes it over from Lena`. Its words are held
//! against those of the statement by the places where they stand; what stands in neither text, or in the same place of
//! both, says nothing here.

use super::placed::{is_word, parts};
use loopwright_lexicon::{
    meanings::{self, Terms},
    words,
};
use loopwright_verify::{lexicon::list, units::Unit};

/// The place of the words that a clause begins with.
const SUBJECT: &str = "^";

/// A word and its role.
struct WordRole {
    term: String,
    written: String,
    /// The preposition before it; [`SUBJECT`] for the beginning of the clause, empty for other words.
    place: String,
    /// The number of the phrase; words that stand together share it.
    phrase: usize,
    /// The word is a participle whose object stands before it.
    passive: bool,
}

/// The words of a clause with their places.
fn roles(clause: &str) -> Vec<WordRole> {
    let mut all = Vec::new();
    let (mut place, mut phrase, mut passive) = (SUBJECT.to_owned(), 0, false);
    for token in clause.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = word.to_lowercase();
        if list("determiners").contains(&lower) {
            // "Mr Brandt the permits, Mrs Osei the keys".
            if place == SUBJECT && !all.is_empty() {
                (place, phrase) = (String::new(), phrase + 1);
            }
            continue;
        }
        if list("titles").contains(&lower) {
            continue;
        }
        match words::terms(word).into_iter().next() {
            _ if list("prepositions").contains(&lower) => (place, phrase) = (lower.clone(), phrase + 1),
            None => (place, phrase) = (String::new(), phrase + 1),
            Some(term) if is_word(&term) => {
                all.push(WordRole { term, written: word.to_owned(), place: place.clone(), phrase, passive });
            }
            Some(_) => {}
        }
        passive = list("passive").contains(&lower);
        if token.ends_with([',', ';', ':', '.', '!', '?', ')']) {
            phrase += 1;
            place.clear();
        }
    }
    all
}

fn holds(all: &[WordRole], term: &str) -> bool {
    all.iter().any(|one| one.term == term)
}

fn at<'a>(all: &'a [WordRole], place: &'a str) -> impl Iterator<Item = &'a WordRole> {
    all.iter().filter(move |one| one.place == place)
}

/// The reason why a claim says something of another than the statement nearest to it. `elsewhere` tells whether a word
/// stands in what is cited, but not with this statement.
pub(super) fn exchanged(
    clause: &str,
    said: &str,
    elsewhere: impl Fn(&str) -> bool,
    foreign: impl Fn(&str) -> bool,
) -> Option<String> {
    let (mine, theirs) = (roles(clause), roles(said));
    // "Locking up: the driver locks it."
    let labelled = roles(clause.rsplit(": ").next().unwrap_or(clause));
    swapped_words(&mine, &theirs)
        .or_else(|| foreign_subject(&labelled, said, foreign))
        .or_else(|| reversed(&mine, &theirs))
        .or_else(|| mixed_parts(&mine, said))
        .or_else(|| other(&mine, &theirs, elsewhere))
}

/// Two words in each other's place: `from Lena`, where the statement says `Lena … from Marco`.
fn swapped_words(mine: &[WordRole], theirs: &[WordRole]) -> Option<String> {
    let has = |place: &str| !place.is_empty() && place != SUBJECT;
    let moved =
        |one: &WordRole, all: &[WordRole]| holds(all, &one.term) && at(all, &one.place).all(|x| x.term != one.term);
    // Where one stands there, the other stands here.
    let places = |all: &'_ [WordRole], term: &str| -> Vec<String> {
        all.iter().filter(|x| x.term == term && !x.place.is_empty()).map(|x| x.place.clone()).collect()
    };
    let trades = |one: &WordRole, other: &WordRole| {
        let here = places(mine, &other.term);
        places(theirs, &one.term).iter().any(|place| here.contains(place))
    };
    mine.iter().filter(|one| has(&one.place) && moved(one, theirs)).find_map(|one| {
        let foreign_phrase = at(theirs, &one.place).find(|other| moved(other, mine) && trades(one, other))?;
        Some(format!("what it cites says {:?} where it says {:?}", foreign_phrase.written, one.written))
    })
}

/// A word of the claim with the same verb and a subject that is `foreign` to what is cited, which has another there:
/// "the oven has reached 96 °C", where the core has.
fn foreign_subject(mine: &[WordRole], said: &str, foreign: impl Fn(&str) -> bool) -> Option<String> {
    let own: Terms = mine.iter().map(|role| role.term.clone()).collect();
    // What a part begins with, up to the first word that the other one says as well.
    let subject = |all: &[WordRole], other: &Terms| -> usize {
        all.iter().take_while(|role| role.place == SUBJECT && !other.say(&role.term)).count()
    };
    let things = |all: &[WordRole], length: usize| {
        (1..=MOST_OF_SUBJECT).contains(&length)
            && all
                .get(length - 1)
                .is_some_and(|role| meanings::names_first(&role.term) && Unit::named(&role.written, true).0.is_none())
    };
    parts(said).into_iter().take(MOST_PARTS).find_map(|part| {
        let theirs = roles(part);
        let held: Terms = theirs.iter().map(|role| role.term.clone()).collect();
        let (length, other) = (subject(mine, &held), subject(&theirs, &own));
        let shared = mine.iter().skip(length).filter(|role| held.say(&role.term)).count();
        let verb = |all: &[WordRole], at: usize| all.get(at).map(|role| role.term.clone());
        let same = shared > 0 && verb(mine, length) == verb(&theirs, other)
            || shared > 1 && shared as f64 >= SAME_REST * (mine.len() - length) as f64;
        let strange = mine.iter().take(length).all(|role| foreign(&role.term));
        let (said, written) = (theirs.get(other.checked_sub(1)?)?, mine.get(length.checked_sub(1)?)?);
        (same && strange && things(mine, length) && things(&theirs, other))
            .then(|| format!("what it cites says it of {:?}, not of {:?}", said.written, written.written))
    })
}

/// Words of a subject.
const MOST_OF_SUBJECT: usize = 3;

/// A word of the claim whose subject and object are exchanged: the same verb in the same voice, between the same two.
fn reversed(mine: &[WordRole], theirs: &[WordRole]) -> Option<String> {
    let plain = |one: &&WordRole| one.place.is_empty() || one.place == SUBJECT;
    let around = |all: &[WordRole], verb: usize| {
        let before = verb.checked_sub(1).and_then(|at| all.get(at)).filter(plain).map(|one| one.term.clone());
        // The next word that is no name's title: "train Dr Haas".
        let behind: Vec<String> = all.iter().skip(verb + 1).take(2).filter(plain).map(|one| one.term.clone()).collect();
        before.map(|before| (before, behind))
    };
    for (at, verb) in mine.iter().enumerate() {
        let Some((subject, object)) = around(mine, at) else { continue };
        for (there, other) in theirs.iter().enumerate() {
            let verbs = verb.place == SUBJECT && other.place == SUBJECT;
            if !verbs || other.term != verb.term || other.passive != verb.passive {
                continue;
            }
            let Some((their_subject, their_object)) = around(theirs, there) else { continue };
            if subject != their_subject && their_object.contains(&subject) && object.contains(&their_subject) {
                return Some(format!("what it cites says it of {their_subject:?}, not of {subject:?}"));
            }
        }
    }
    None
}

/// A word of the claim that joins the subject of one part of a statement with the words of another.
fn mixed_parts(mine: &[WordRole], said: &str) -> Option<String> {
    let parts: Vec<Vec<WordRole>> = parts(said).into_iter().take(MOST_PARTS).map(roles).collect();
    // What one part alone says at a place, where the claim says nothing of what the other has there.
    let only = |one: &[WordRole], other: &[WordRole]| -> Vec<(String, String)> {
        let lone = |role: &&WordRole| {
            holds(mine, &role.term)
                && !holds(other, &role.term)
                && !role.place.is_empty()
                && at(other, &role.place).next().is_some()
                && at(other, &role.place).all(|x| !holds(mine, &x.term))
        };
        one.iter().filter(lone).map(|role| (role.place.clone(), role.written.clone())).collect()
    };
    let any = |one: &[WordRole], other: &[WordRole]| -> Option<String> {
        let lone = one.iter().find(|role| !holds(other, &role.term) && holds(mine, &role.term));
        lone.map(|role| role.written.clone())
    };
    // Some of what one part alone says, and not all of it.
    let some = |one: &[WordRole], other: &[WordRole]| -> Option<String> {
        let lone = || one.iter().filter(|role| !holds(other, &role.term));
        let said = lone().find(|role| holds(mine, &role.term))?;
        lone().any(|role| !holds(mine, &role.term)).then(|| said.written.clone())
    };
    for (number, one) in parts.iter().enumerate() {
        for other in parts.iter().skip(number + 1) {
            let shared = one.iter().filter(|role| holds(other, &role.term)).count();
            if shared > 0
                && shared as f64 >= PARALLEL * one.len().min(other.len()) as f64
                && let Some((word, stranger)) = some(one, other)
                    .zip(any(other, one))
                    // "The north gate opens at 7, the south gate at 9": what a shorter part leaves out, the one before
                    // says.
                    .filter(|_| other.len() >= one.len())
                    .or_else(|| any(one, other).zip(some(other, one)))
            {
                return Some(format!("what it cites does not say {word:?} of {stranger:?}"));
            }
            let theirs = only(other, one);
            for (place, word) in only(one, other) {
                if let Some((_, stranger)) = theirs.iter().find(|(there, _)| *there != place) {
                    return Some(format!("what it cites does not say {word:?} of {stranger:?}"));
                }
            }
        }
    }
    None
}

/// The share of common words from which parts say the same of different things.
const PARALLEL: f64 = 0.4;
/// Parts of one statement that are held against each other.
const MOST_PARTS: usize = 12;

/// A phrase that only other statements hold, in the place of one of this: behind the same word and preposition, or as
/// the subject.
fn other(mine: &[WordRole], theirs: &[WordRole], elsewhere: impl Fn(&str) -> bool) -> Option<String> {
    let phrases = |all: &[WordRole]| -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (at, role) in all.iter().enumerate() {
            match found.last_mut() {
                Some((start, end)) if all.get(*start).is_some_and(|first| first.phrase == role.phrase) => *end = at + 1,
                _ => found.push((at, at + 1)),
            }
        }
        found
    };
    let head =
        |all: &[WordRole], start: usize| start.checked_sub(1).and_then(|at| all.get(at)).map(|one| one.term.clone());
    let common = mine.iter().filter(|one| holds(theirs, &one.term)).count();
    let same = |others: usize| common > 0 && common as f64 >= SAME_REST * others as f64;
    for (start, end) in phrases(mine) {
        let Some([first, rest @ ..]) = mine.get(start..end) else { continue };
        let subject = first.place == SUBJECT;
        let strange = elsewhere(&first.term) && (!subject || rest.iter().all(|one| !holds(theirs, &one.term)));
        if !strange || first.place.is_empty() || (subject && !same(mine.len() + start - end)) {
            continue;
        }
        let rival = phrases(theirs).into_iter().find(|(at, _)| {
            theirs.get(*at).is_some_and(|one| one.place == first.place)
                && (subject || head(theirs, *at) == head(mine, start))
        });
        let rival = rival.and_then(|(start, end)| theirs.get(start..end)).unwrap_or_default();
        if let Some(said) = rival
            .first()
            .filter(|_| rival.iter().take(if subject { rival.len() } else { 1 }).all(|one| !holds(mine, &one.term)))
        {
            return Some(format!("what it cites says {:?} where it says {:?}", said.written, first.written));
        }
    }
    None
}

/// The share of the rest of a claim that stands in a statement with another subject.
const SAME_REST: f64 = 0.6;
