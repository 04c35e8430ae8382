//! Placement of a statement in what it cites: its words, its subject and its quantities must stand together there, and
//! not be denied.
//!
//! A statement that repeats its source needs none of this. Of any other the nearest statement of the source is looked
//! for. What is only said of something else, what takes the place of another word, and a clause of which little stands
//! in the source are unsupported; so is one that denies what the nearest statement says, or says what that denies.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use super::{roles, verify::Reader};
use loopwright_lexicon::{
    meanings::{self, Terms},
    words,
};
use loopwright_verify::polarity::opposed;
use loopwright_verify::{
    facts::{self, Claimed, Facts},
    form,
    held::{self, Statement},
    lexicon::{alike, is_light, list},
    numbers::numbers,
    quantity::Quantity,
    units::Unit,
};

/// The share of a statement that must stand in what it cites.
const MIN_SHARED: f64 = 0.5;
/// The weight below which words are a manner of speaking.
const MIN_INVENTED_WEIGHT: f64 = 1.3;
/// The share of a statement that must stand in one statement of the source for that to speak against it.
const MIN_NEAREST: f64 = 0.5;
/// The share of common words from which two statements say the same of different things.
const PARALLEL: f64 = 0.4;
/// Pieces before the first clause that may answer a question.
const PARTICLES: usize = 3;
/// Words of a statement that is none of one sentence.
const LONG_STATEMENT: usize = 60;
/// The distance between a negation and what it denies, in words.
const NEGATION_REACH: usize = 4;
/// Statements that are looked at for one clause.
const MAX_STATEMENTS: usize = 2_048;

/// A word of a claim with its surroundings.
struct ClaimWord<'a> {
    written: &'a str,
    term: String,
    /// The word before it, of any kind, in lower case.
    before: String,
    /// An article or the like right behind it.
    next: &'a str,
}

fn words_of(text: &str) -> Vec<ClaimWord<'_>> {
    let mut all = Vec::new();
    let mut before = String::new();
    let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_' | '.'));
    for written in text.split(ends).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())) {
        if written.is_empty() {
            continue;
        }
        let determiner = list("objects").contains(written.to_lowercase().as_str());
        if let Some(last) = all.last_mut().filter(|last: &&mut ClaimWord<'_>| determiner && last.next.is_empty()) {
            last.next = written;
        }
        if let Some(term) = words::terms(written).into_iter().next()
            && !written.starts_with(|c: char| c.is_ascii_digit())
        {
            all.push(ClaimWord { written, term, before: before.clone(), next: "" });
        }
        before = written.to_lowercase();
        if let Some(last) =
            all.last_mut().filter(|last: &&mut ClaimWord<'_>| last.next.is_empty() && last.written != written)
        {
            // Something else stands behind it.
            last.next = if determiner { last.next } else { "-" };
        }
    }
    all
}

/// A text with blanks in the place of its quantities, which are compared by themselves.
fn without_quantities(text: &str, counted: impl Iterator<Item = Range<usize>>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in counted {
        // Whole characters go, so that text is left.
        bytes.get_mut(range).into_iter().flatten().for_each(|byte| *byte = b' ');
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The clauses of a sentence; what is too short to say anything alone belongs to one beside it.
fn clauses(text: &str) -> Vec<&str> {
    let mut joined: Vec<&str> = Vec::new();
    for part in parts(text) {
        let short = words_of(part).len() < 2;
        match joined.last_mut() {
            Some(last) if short || words_of(last).len() < 2 => {
                let from = last.as_ptr() as usize - text.as_ptr() as usize;
                let to = part.as_ptr() as usize - text.as_ptr() as usize + part.len();
                *last = text.get(from..to).unwrap_or(last);
            }
            _ => joined.push(part),
        }
    }
    joined
}

/// The parts between the joints of a sentence.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let joints = list("joints");
    let mut all = Vec::new();
    let mut start = 0;
    while let Some((at, joint)) =
        joints.iter().filter_map(|joint| text.get(start..)?.find(joint).map(|at| (start + at, joint.len()))).min()
    {
        all.extend(text.get(start..at));
        start = at + joint;
    }
    all.extend(text.get(start..));
    all
}

/// Returns whether a word is said of something rather than being something: a verb or an adverb, by its form and its
/// surroundings.
fn is_verb(word: &ClaimWord<'_>) -> bool {
    let helper = list("helpers").contains(&word.before);
    let lower = word.written.to_lowercase();
    if list("determiners").contains(&word.before) && !lower.ends_with("ly") {
        return false;
    }
    let object = !word.next.is_empty() && word.next != "-";
    helper || object || lower.ends_with("ed") || lower.ends_with("ing") || lower.ends_with("ly")
}

/// The place of an answer that stands before the rest: "No, …", "Sorry, no: …", "Not yet – …".
fn particle(text: &str) -> Option<Range<usize>> {
    let start = text.len() - text.trim_start_matches(|c: char| !c.is_alphabetic()).len();
    let mut end = start;
    let mut rest = text.get(start..)?;
    let mut found = None;
    for _ in 0..PARTICLES {
        let length = rest.find([',', '.', ':', ';', '!', '–', '—', '-'])?;
        let words: Vec<&str> = rest.get(..length)?.split_whitespace().collect();
        let is = |word: &&str| list("truth").contains(word.to_lowercase().trim_matches(['*', '_']));
        let opens = words.len() <= 3 && (words.iter().any(is) || (found.is_none() && words.len() == 1));
        if !opens {
            break;
        }
        end += length + rest.get(length..)?.chars().next().map_or(0, char::len_utf8);
        found = words.iter().any(is).then_some(start..end).or(found);
        rest = text.get(end..)?;
    }
    found
}

/// A part of a sentence with its denials.
struct ClausePart {
    terms: Terms,
    denies: bool,
    /// The part limits when or for whom something is so: `only`, `unless`.
    hedges: bool,
    /// The words that are denied.
    heads: Vec<String>,
    said: BTreeSet<String>,
}

impl ClausePart {
    /// The parts of a text; words that the `other` one says as well, such as `cancelled`, deny nothing.
    fn all(text: &str, other: &str) -> Vec<Self> {
        let held: HashSet<String> = words::terms(other).into_iter().collect();
        parts(text).into_iter().map(|part| Self::read(part, &held)).collect()
    }

    fn read(text: &str, held: &HashSet<String>) -> Self {
        let mut lower = text.to_lowercase().replace('’', "'");
        for bound in ["more", "less", "later", "earlier", "fewer", "longer", "sooner", "only"] {
            lower = lower.replace(&format!("no {bound} than"), " ").replace(&format!("not {bound} than"), " ");
        }
        // "Sugar-free", "a no-go".
        let lower = lower.replace("-free", " free").replace(" no-", " no ").replace(" non-", " not ");
        let words = lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-')));
        let words: Vec<&str> = words.map(|word| word.trim_matches('-')).filter(|word| !word.is_empty()).collect();
        let is_number = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_digit()) || numbers(word).iter().any(|number| number.in_words)
        };
        // A word that says something, as a term.
        let stem_of = |word: &str| {
            let unit = Unit::named(word, true).0.is_some();
            let term = words::terms(word).into_iter().next();
            term.filter(|term| !unit && !term.starts_with(|c: char| c.is_ascii_digit()))
        };
        let hedges = words.iter().any(|word| list("hedges").contains(*word));
        let mut part = Self {
            terms: words::terms(text).into_iter().collect(),
            denies: false,
            hedges,
            heads: Vec::new(),
            said: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        for (at, word) in words.iter().enumerate() {
            let behind = words.get(at + 1..).unwrap_or_default();
            let before = words.get(..at).unwrap_or_default();
            let denies = word.ends_with("n't") || list("deny").contains(*word);
            // "Can't be over 30", "must not go past 3": a bound.
            let bound = behind.iter().take(3).position(|word| list("bounds").contains(*word));
            if denies && bound.is_some_and(|at| behind.iter().skip(at + 1).take(2).any(is_number)) {
                continue;
            }
            // "A free place" is no place that lacks something.
            let lacks = *word != "free" || behind.first().is_none_or(|next| words::is_stop_word(next));
            if denies {
                let count = part.heads.len();
                part.heads.extend(behind.iter().take(NEGATION_REACH).filter_map(|word| stem_of(word)).take(2));
                if part.heads.len() == count {
                    part.heads.extend(before.iter().rev().take(NEGATION_REACH).find_map(|word| stem_of(word)));
                }
                part.denies = true;
            } else if list("negative").contains(*word)
                && lacks
                && !words::terms(word).iter().any(|term| held.contains(term))
            {
                part.heads.extend(before.iter().rev().take(NEGATION_REACH).find_map(|word| stem_of(word)));
                part.denies = true;
            }
        }
        // "Unpaid", "non-smoking".
        let turns = |term: &String| {
            without_negation(term).is_some_and(|rest| term.starts_with("non") || meanings::opposed(term, rest))
        };
        part.denies |= part.terms.iter().any(turns);
        part
    }

    /// Returns whether another part says of the same the opposite of this one.
    fn opposes(&self, other: &Self) -> bool {
        let only = |one: &Self, other: &Self| -> Vec<String> {
            let counts = |word: &&String| !list("negative").contains(*word) && !list("light").contains(*word);
            let stands = |word: &String| words::terms(word).iter().any(|term| other.terms.contains(term));
            one.said
                .iter()
                .filter(counts)
                .filter(|word| !other.said.contains(*word) && !stands(word))
                .cloned()
                .collect()
        };
        let theirs = only(other, self);
        self.denies == other.denies
            && only(self, other).iter().any(|word| theirs.iter().any(|other| opposed(word, other)))
    }
}

/// Returns whether a claim denies something, and what it cites denies something that the claim speaks of.
pub(super) fn denies_too(claim: &str, cited: &[&Facts]) -> bool {
    let mine = ClausePart::all(claim, "");
    let terms: Terms = words::terms(claim).into_iter().collect();
    // Of nothing but that: "but not batteries".
    let says = |word: &String| {
        list("negative").contains(word) || words::terms(word).iter().all(|term| !is_word(term) || terms.say(term))
    };
    let speaks = |part: &ClausePart| part.denies && part.said.iter().all(says);
    mine.iter().any(|part| part.denies)
        && cited
            .iter()
            .flat_map(|facts| &facts.held.all)
            .take(MAX_STATEMENTS)
            .any(|one| ClausePart::all(&one.plain, "").iter().any(speaks))
}

/// A word without its negating prefix: `ineligible`, `unpaid`, `non-smoking`.
fn without_negation(term: &str) -> Option<&str> {
    ["non", "un", "in", "im", "ir", "dis"]
        .iter()
        .find_map(|prefix| term.strip_prefix(prefix))
        .filter(|rest| rest.len() >= 4)
}

impl Reader<'_> {
    /// The reason why a statement does not stand in the sources `own` that it cites; `None` if it does.
    pub(super) fn misplaced(
        &self,
        text: &str,
        own: &BTreeSet<usize>,
        numbers: &[Claimed],
        question: &Facts,
    ) -> Option<String> {
        let facts: Vec<&Facts> = own.iter().filter_map(|at| self.facts.get(*at)).collect();
        let sources: BTreeSet<usize> = own.iter().map(|at| self.source_of(*at)).collect();
        let whole: Vec<&Facts> = sources.iter().filter_map(|at| self.facts.get(*at)).collect();
        let answers = particle(text);
        let plain = form::plain(text.get(answers.as_ref().map_or(0, |word| word.end)..).unwrap_or_default());
        let bare = plain.trim_matches(|c: char| !c.is_alphanumeric());
        let repeats = |one: &Statement| !bare.is_empty() && one.plain.contains(bare);
        if facts.iter().any(|facts| facts.held.all.iter().take(MAX_STATEMENTS).any(repeats)) {
            let whole = |one: &Statement| one.plain.trim_matches(|c: char| !c.is_alphanumeric()) == bare;
            if facts.iter().any(|facts| facts.held.all.iter().take(MAX_STATEMENTS).any(whole)) {
                return None;
            }
        }
        let known = |term: &str| {
            facts.iter().any(|facts| {
                facts.terms.contains(term)
                    || alike(term, &facts.terms)
                    || without_negation(term).is_some_and(|rest| facts.terms.iter().any(|one| one.starts_with(rest)))
            })
        };
        let stands = |word: &ClaimWord<'_>| {
            known(&word.term)
                || question.terms.contains(&word.term)
                || words::terms(word.written)
                    .iter()
                    .skip(1)
                    .any(|part| part.len() > 2 && known(part) && word.written.contains(['.', '_', '/']))
        };
        let counting = without_quantities(text, answers.clone().into_iter());
        let said = without_quantities(text, numbers.iter().map(|one| one.bytes().clone()).chain(answers));
        let claim: Terms = words::terms(text).into_iter().collect();
        let mut prior: Option<&Statement> = None;
        for clause in clauses(&said) {
            let at = clause.as_ptr() as usize - said.as_ptr() as usize;
            let here = at..at + clause.len();
            let said = words_of(clause);
            let counts =
                |word: &&ClaimWord<'_>| !is_light(&word.term) && !list("deny").contains(&word.written.to_lowercase());
            let content: Vec<&ClaimWord<'_>> = said.iter().filter(counts).collect();
            // Units are compared with their quantities.
            let is_unit = |word: &ClaimWord<'_>| word.written.len() > 1 && Unit::named(word.written, true).0.is_some();
            // What is pointed to stands elsewhere in the answer.
            let points = |word: &ClaimWord<'_>| list("pointing").contains(&word.before);
            let strange: Vec<&&ClaimWord<'_>> =
                content.iter().filter(|word| !stands(word) && !is_unit(word) && !points(word)).collect();
            let counted: Vec<&Claimed> = numbers.iter().filter(|one| here.contains(&one.bytes().start)).collect();
            let weighs = |words: &[&&ClaimWord<'_>]| words.iter().map(|word| weight(&word.term)).sum::<f64>();
            let (missing, all) = (weighs(&strange), weighs(&content.iter().collect::<Vec<_>>()) + counted.len() as f64);
            let leads = text.trim_end().ends_with(':');
            if !leads && strange.len() >= 2 && missing >= MIN_INVENTED_WEIGHT && all - missing < MIN_SHARED * all {
                let shown: Vec<&str> = strange.iter().map(|word| word.written).take(4).collect();
                return Some(format!("what it cites does not speak of {}", shown.join(", ")));
            }
            let terms: Vec<String> = held::terms(clause)
                .into_iter()
                .filter(|term| !term.starts_with(|c: char| c.is_ascii_digit()))
                .collect();
            let terms: Vec<&str> = terms.iter().map(String::as_str).filter(|term| !is_light(term)).collect();
            for number in &counted {
                if let Some(why) = elsewhere(number, &counted, &terms, &facts, &question.terms) {
                    return Some(format!("{} is said of {why:?}", number.shown(text)));
                }
            }
            // What goes on about the same subject must stand with it: "and is owned by Nadia".
            let first = clause.split_whitespace().next().unwrap_or_default();
            let apart = |one: &Statement| terms.iter().all(|term| shared_words(&[term], one) == 0);
            if let (Some(word), true) = (strange.first(), prior.is_some_and(apart))
                && list("passive").contains(first)
            {
                return Some(format!("what it cites does not speak of {}", word.written));
            }
            let Some((best, near)) = nearest(&terms, &facts) else { continue };
            prior = prior.or(Some(best));
            let foreign: Vec<&ClaimWord<'_>> =
                content.iter().filter(|word| !best.own.say(&word.term)).copied().collect();
            let elsewhere = |term: &str| {
                let other = |one: &Statement| !one.own.is_empty() && one.plain != best.plain;
                is_word(term)
                    && !best.own.say(term)
                    && whole.iter().any(|facts| {
                        facts.held.holding(term).iter().any(|at| facts.held.all.get(*at).is_some_and(other))
                    })
            };
            if let Some(why) = replaced(&said, &claim, &foreign, best, elsewhere) {
                return Some(why);
            }
            if let Some(why) = swapped(clause, &terms, best, &whole) {
                return Some(why);
            }
            let foreign = |term: &str| is_word(term) && shared_words(&[term], best) == 0;
            if let Some(why) = roles::exchanged(clause, &best.said, elsewhere, foreign) {
                return Some(why);
            }
            let all = terms
                .iter()
                .filter(|term| !question.terms.contains(**term) || best.around.terms.contains(**term))
                .count();
            if near as f64 >= MIN_NEAREST * all as f64
                && Self::is_turned(counting.get(here.clone()).unwrap_or(clause), &counting, &terms, near, &facts)
            {
                return Some(format!("what it cites says the opposite: {:?}", best.plain));
            }
        }
        None
    }

    /// Returns whether a clause of a claim denies what is stated where it is said, or states what is denied there.
    fn is_turned(clause: &str, claim: &str, terms: &[&str], near: usize, facts: &[&Facts]) -> bool {
        let nearest: Vec<&Statement> = facts
            .iter()
            .flat_map(|facts| &facts.held.all)
            .take(MAX_STATEMENTS)
            // A cell of a row denies nothing that stands in another.
            .filter(|one| one.table.is_none() && shared_words(terms, one) + 1 >= near)
            // In what runs on it is not told what is denied.
            .filter(|one| one.said.split_whitespace().nth(LONG_STATEMENT).is_none())
            .collect();
        let said = nearest.iter().map(|one| one.plain.as_str()).collect::<Vec<_>>().join(" ");
        let (mine, all) = (ClausePart::all(clause, &said), ClausePart::all(claim, &said));
        let theirs: Vec<ClausePart> = nearest.iter().flat_map(|one| ClausePart::all(&one.plain, claim)).collect();
        let shares =
            |one: &ClausePart, other: &ClausePart| one.terms.iter().any(|term| is_word(term) && other.terms.say(term));
        let turns = |denying: &[ClausePart], stating: &[ClausePart]| {
            denying.iter().filter(|part| !part.hedges).any(|part| {
                part.heads.iter().any(|head| {
                    let bare = without_negation(head).unwrap_or(head);
                    let same = |term: &String| {
                        term == bare
                            || term == head
                            || (is_word(head) && is_word(term) && meanings::are_same(term, head))
                    };
                    let says = |other: &&ClausePart| other.terms.iter().any(same);
                    let mut holding = stating.iter().filter(says).peekable();
                    holding.peek().is_some() && holding.all(|other| !other.denies && !other.hedges)
                })
            })
        };
        // What denies something else says nothing of this.
        let denies = theirs.iter().any(|other| other.denies && all.iter().any(|one| shares(one, other)));
        let plainly = all.iter().all(|one| !one.denies && !one.hedges);
        (!denies && turns(&mine, &theirs))
            || (plainly && turns(&theirs, &mine))
            || mine.iter().any(|one| {
                let mut near = theirs.iter().filter(|other| shares(one, other)).peekable();
                near.peek().is_some() && near.all(|other| one.opposes(other))
            })
    }
}

/// The number of the words that a statement holds, itself or above it.
fn shared_words(terms: &[&str], one: &Statement) -> usize {
    let holds = |term: &&&str| {
        one.around.terms.contains(**term)
            || alike(term, &one.around.terms)
            || without_negation(term).is_some_and(|rest| one.around.terms.contains(rest))
            || one.around.terms.iter().any(|other| without_negation(other) == Some(**term))
    };
    terms.iter().filter(holds).count()
}

/// The statement that holds most of the words, and how many.
fn nearest<'a>(terms: &[&str], facts: &[&'a Facts]) -> Option<(&'a Statement, usize)> {
    let all = facts.iter().flat_map(|facts| &facts.held.all).take(MAX_STATEMENTS);
    let mut best: Option<(&Statement, usize)> = None;
    for one in all {
        let near = shared_words(terms, one);
        if best.is_none_or(|(_, most)| near > most) {
            best = Some((one, near));
        }
    }
    best.filter(|(_, near)| *near > 0)
}

/// The part of a statement at a place, and its words.
fn part_at(said: &str, at: usize) -> (Terms, bool) {
    let has_words = |part: &&str| words::terms(part).iter().any(|term| is_word(term));
    let parts = parts(said);
    let mut before = parts.iter().filter(|part| part.as_ptr() as usize - said.as_ptr() as usize <= at);
    // "On weekdays 8–12 and 14–19": what has no word of its own belongs to what stands before it.
    let part = before.rfind(|part| has_words(part)).copied().unwrap_or(said);
    (words::terms(part).into_iter().collect(), parts.iter().filter(|part| has_words(part)).count() > 1)
}

/// The statement, or part of one, of another quantity that a clause speaks of rather than of those with its own.
fn elsewhere(
    number: &Claimed,
    all: &[&Claimed],
    terms: &[&str],
    facts: &[&Facts],
    asked: &HashSet<String>,
) -> Option<String> {
    let Claimed::Quantity(claimed) = number else { return None };
    // A name says more of what is spoken of than any other word; what is asked about may be named by the question.
    let mine: Terms = terms.iter().map(|term| (*term).to_owned()).collect();
    let says = |held: &Terms, said: &str| {
        let words = words_of(said);
        let is_name =
            |term: &str| words.iter().any(|word| word.term == *term && word.written.starts_with(char::is_uppercase));
        let weighs = |term: &&String| match mine.say(term) {
            true if terms.contains(&term.as_str()) && is_name(term) => 2,
            said => usize::from(said || asked.contains(*term)),
        };
        held.iter().map(|term| weighs(&term)).sum::<usize>()
    };
    let names_another = |held: &Terms| held.iter().any(|term| is_word(term) && !claimed.context.contains(term));
    let mut own: Option<usize> = None;
    let mut holders: HashSet<(usize, usize)> = HashSet::new();
    let (mut parts, mut another) = (Vec::new(), true);
    for (of, facts) in facts.iter().enumerate() {
        for at in facts.held.with(claimed) {
            let Some(one) = facts.held.all.get(at) else { continue };
            holders.insert((of, at));
            own = own.max(Some(shared_words(terms, one)));
            another &= names_another(&one.own);
            // Of a statement with several such quantities the part counts that holds this one.
            let around = |word: &str| alike(word, &one.around.terms);
            for mine in one.quantities.iter().filter(|mine| claimed.is(mine, &one.around, around)) {
                let (held, several) = part_at(&one.said, mine.number.bytes.start);
                // What the clause says as well has its own words there.
                let says_it = |other: &Quantity| {
                    all.iter().any(
                        |one| matches!(one, Claimed::Quantity(one) if one.number.readings == other.number.readings),
                    )
                };
                let others = one
                    .quantities
                    .iter()
                    .filter(|other| other.measures_as(claimed) && other.number.bytes.end > 0 && !says_it(other));
                let mut others = others.map(|other| part_at(&one.said, other.number.bytes.start).0);
                let nearer = others.any(|other| {
                    // One part may leave out what another says, "the south gate at 9 am".
                    let all = other.iter().all(|term| !is_word(term) || claimed.context.contains(term));
                    (all || says(&other, &one.said) > says(&held, &one.said))
                        && terms.iter().any(|term| other.contains(*term) && !held.contains(*term))
                });
                parts.push((several && names_another(&held) && nearer, one));
            }
        }
    }
    let said_as_well = |other: &Quantity| {
        all.iter().any(|one| matches!(one, Claimed::Quantity(one) if one.number.readings == other.number.readings))
    };
    let own = own?;
    if let (true, Some((_, one))) = (parts.iter().all(|(nearer, _)| *nearer), parts.first()) {
        return Some(one.plain.chars().take(120).collect());
    }
    if own >= terms.len() || !another {
        return None;
    }
    for (of, facts) in facts.iter().enumerate() {
        for (at, one) in facts.held.all.iter().enumerate().take(MAX_STATEMENTS) {
            let rival = !holders.contains(&(of, at))
                && one.quantities.iter().any(|other| other.measures_as(claimed))
                && !one.quantities.iter().any(said_as_well);
            // Only words that it says itself speak for another.
            if rival && terms.iter().filter(|term| one.around.terms.contains(**term)).count() > own {
                return Some(one.plain.chars().take(120).collect());
            }
        }
    }
    None
}

/// Returns whether a term is a word that says something.
pub(super) fn is_word(term: &str) -> bool {
    !term.starts_with(|c: char| c.is_ascii_digit()) && !is_light(term)
}

/// The weight of a word: the more common, the less.
fn weight(term: &str) -> f64 {
    (1.0 - f64::from(meanings::commonness(term)) / 12.0).max(0.15)
}

/// A word that takes the place of another: what is cited does not hold it, and the nearest statement names another
/// thing of its kind, or its opposite, that the claim does not say.
fn replaced(
    said: &[ClaimWord<'_>],
    mine: &Terms,
    foreign: &[&ClaimWord<'_>],
    best: &Statement,
    elsewhere: impl Fn(&str) -> bool,
) -> Option<String> {
    let theirs = words_of(&best.said);
    // Units are compared with their quantities.
    let counts = |word: &ClaimWord<'_>| word.written.len() > 1 && Unit::named(word.written, true).0.is_some();
    let unsaid = || theirs.iter().filter(|word| is_word(&word.term) && !counts(word) && !mine.say(&word.term));
    foreign.iter().filter(|word| !counts(word)).find_map(|word| {
        let kin = unsaid()
            .filter(|_| !best.around.terms.say(&word.term))
            .find(|other| meanings::are_sisters(&word.term, &other.term) || meanings::opposed(&word.term, &other.term));
        // What another statement speaks of, beside the same word as another thing here.
        let beside = || {
            let at = said.iter().position(|one| std::ptr::eq(one, *word))?;
            let there = |one: &ClaimWord<'_>| {
                let same = |other: &ClaimWord<'_>| other.term == one.term || meanings::are_same(&other.term, &one.term);
                theirs.iter().position(same)
            };
            let other = |at: usize| {
                let unsaid = |other: &&ClaimWord<'_>| is_word(&other.term) && !counts(other) && !mine.say(&other.term);
                theirs.get(at).filter(unsaid).filter(|other| meanings::is_thing(&other.term) && !is_verb(other))
            };
            let ahead = said.get(at + 1).and_then(there).and_then(|at| at.checked_sub(1)).and_then(other);
            ahead.or_else(|| at.checked_sub(1).and_then(|at| said.get(at)).and_then(there).and_then(|at| other(at + 1)))
        };
        // "The hidden drawer", where the statement has the upper one.
        let attribute = || {
            let at = said.iter().position(|one| std::ptr::eq(one, *word))?;
            let thing = said.get(at + 1).filter(|thing| meanings::is_thing(&thing.term) && !is_verb(thing))?;
            let there = theirs.iter().position(|one| one.term == thing.term)?;
            let other = theirs.get(there.checked_sub(1)?)?;
            let describe = [*word, other].iter().all(|one| !meanings::names_first(&one.term) && !is_verb(one));
            (describe && !best.around.terms.say(&word.term) && !mine.say(&other.term)).then_some(other)
        };
        let strange = meanings::names_first(&word.term) && elsewhere(&word.term) && !is_verb(word);
        let other = kin.or_else(|| if strange { beside() } else { None }).or_else(attribute)?;
        Some(format!("what it cites says {:?} where it says {:?}", other.written, word.written))
    })
}

/// Something that is said of another in a statement like the nearest one.
fn swapped(clause: &str, terms: &[&str], best: &Statement, facts: &[&Facts]) -> Option<String> {
    let lower = clause.to_lowercase();
    let names = |text: &str| -> Vec<String> {
        facts::names(text).into_iter().map(|(_, term)| term).filter(|term| is_word(term)).collect()
    };
    // Of one statement with several parts: a name of another part stands in the place of that of the nearest.
    let held: Vec<(&str, HashSet<String>)> =
        parts(&best.said).into_iter().map(|part| (part, words::terms(part).into_iter().collect())).collect();
    let near = |held: &HashSet<String>, name: &str| {
        terms.iter().filter(|term| **term != name && held.contains(**term)).count()
    };
    for name in names(clause) {
        let Some((part, own)) = held.iter().max_by_key(|(_, held)| near(held, &name)) else { continue };
        let theirs = held.iter().filter(|(_, held)| held.contains(&name)).map(|(_, held)| near(held, &name)).max();
        let other = names(part).into_iter().find(|other| !terms.contains(&other.as_str()));
        if let (true, false, Some(_)) =
            (theirs.is_some_and(|theirs| near(own, &name) >= theirs + 2), own.contains(&name), other)
        {
            return Some(format!("{name:?} is not said of {part:?}"));
        }
    }
    for missing in terms.iter().filter(|term| shared_words(&[term], best) == 0) {
        for facts in facts {
            for at in facts.held.holding(missing) {
                let Some(rival) = facts.held.all.get(*at) else { continue };
                let both: Vec<&String> = rival.own.intersection(&best.own).collect();
                let spoken = both.iter().any(|term| terms.contains(&term.as_str()));
                let least = rival.own.len().min(best.own.len()).max(1);
                let another =
                    |one: &Statement| one.own.iter().any(|term| is_word(term) && !terms.contains(&term.as_str()));
                let rows = (rival.table.is_some() && rival.table == best.table)
                    || (rival.item.is_some() && rival.item == best.item);
                if another(rival)
                    && another(best)
                    && (rows || (spoken && both.len() as f64 >= PARALLEL * least as f64))
                    && !lower.contains(" and ")
                    && !lower.contains(" or ")
                {
                    return Some(format!(
                        "{missing:?} is said of {:?}",
                        rival.plain.chars().take(120).collect::<String>()
                    ));
                }
            }
        }
    }
    None
}
