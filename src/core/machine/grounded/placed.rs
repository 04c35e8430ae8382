//! Whether a statement of an answer stands together in what it cites: its words, its subject and its quantities in one
//! place, and not denied there.
//!
//! A statement that repeats its source needs none of this. Of any other the nearest statement of the source is looked
//! for. What is only said of something else, what takes the place of another word, and a clause of which little stands in
//! the source are unsupported; so is one that denies what the nearest statement says, or says what that denies.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use super::{
    facts::{Claimed, Facts},
    form,
    held::{self, Statement},
    lexicon::{alike, list},
    quantity::{Quantity, quantities},
    roles,
    units::Unit,
    verify::Reader,
};
use crate::core::retrieve::{polarity::opposed, words};

/// So much of a statement must stand in what it cites.
const SHARED: f64 = 0.5;
/// So much of it must stand in one statement for that to speak against it.
const NEAREST: f64 = 0.6;
/// Two statements that have so many of their words in common are said of different things in the same way.
const PARALLEL: f64 = 0.4;
/// Statements that are looked at for one clause.
const MOST: usize = 2_048;

/// A word of a claim with what stands around it.
struct Word<'a> {
    written: &'a str,
    term: String,
    /// The word before it, of any kind, in lower case.
    before: String,
    /// An article or the like right behind it.
    next: &'a str,
}

fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut all = Vec::new();
    let mut before = String::new();
    let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_' | '.'));
    for written in text.split(ends).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())) {
        if written.is_empty() {
            continue;
        }
        let determiner = list("objects").contains(written.to_lowercase().as_str());
        if let Some(last) = all.last_mut().filter(|last: &&mut Word<'_>| determiner && last.next.is_empty()) {
            last.next = written;
        }
        if let Some(term) = words::terms(written).into_iter().next()
            && !written.starts_with(|c: char| c.is_ascii_digit())
        {
            all.push(Word { written, term, before: before.clone(), next: "" });
        }
        before = written.to_lowercase();
        if let Some(last) =
            all.last_mut().filter(|last: &&mut Word<'_>| last.next.is_empty() && last.written != written)
        {
            // Something else stands behind it.
            last.next = if determiner { last.next } else { "-" };
        }
    }
    all
}

/// A text with blanks in the place of its quantities, which are compared by themselves.
fn uncounted(text: &str, counted: impl Iterator<Item = Range<usize>>) -> String {
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

/// What stands between the joints of a sentence.
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

/// Whether a word is said of something rather than being something: a verb or an adverb, by its form and what stands
/// before it.
fn is_verb(word: &Word<'_>) -> bool {
    let helper = list("helpers").contains(&word.before);
    let lower = word.written.to_lowercase();
    if list("determiners").contains(&word.before) && !lower.ends_with("ly") {
        return false;
    }
    let object = !word.next.is_empty() && word.next != "-";
    helper || object || lower.ends_with("ed") || lower.ends_with("ing") || lower.ends_with("ly")
}

/// How many words of a clause deny; what the `other` one says as well, in whatever form, turns nothing around.
fn denials(text: &str, other: &str) -> usize {
    let held: HashSet<String> = words::terms(other).into_iter().collect();
    let mut lower = text.to_lowercase().replace('’', "'");
    for bound in ["more", "less", "later", "earlier", "fewer", "longer", "sooner", "only"] {
        lower = lower.replace(&format!("no {bound}"), " ").replace(&format!("not {bound}"), " ");
    }
    let negative = list("negative");
    let deny = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        (negative.contains(bare) && !words::terms(bare).iter().any(|term| held.contains(term)))
            || bare.ends_with("n't")
            || bare == "cannot"
    };
    lower.split_whitespace().filter(deny).count()
}

/// A word without what turns it around: `ineligible`, `unpaid`, `non-smoking`.
fn unturned(term: &str) -> Option<&str> {
    ["non", "un", "in", "im", "ir", "dis"]
        .iter()
        .find_map(|prefix| term.strip_prefix(prefix))
        .filter(|rest| rest.len() >= 4)
}

/// How many words of two clauses are opposites of each other; those that deny are counted by themselves.
fn opposites(one: &str, other: &str) -> usize {
    let of = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        let counts =
            |word: &String| !word.is_empty() && !list("negative").contains(word) && !list("light").contains(word);
        words.filter(counts).collect()
    };
    // What stands on both sides, in whatever form, turns nothing around.
    let only = |text: &str, other: &str| -> Vec<String> {
        let held: HashSet<String> = words::terms(other).into_iter().collect();
        let stands = |word: &String| words::terms(word).iter().any(|term| held.contains(term));
        let said = of(other);
        of(text).into_iter().filter(|word| !said.contains(word) && !stands(word)).collect()
    };
    let (mine, theirs) = (only(one, other), only(other, one));
    mine.iter().filter(|word| theirs.iter().any(|other| opposed(word, other))).count()
}

impl Reader<'_> {
    /// Why a statement does not stand in the sources `own` that it cites; nothing if it does.
    pub(super) fn misplaced(
        &self,
        text: &str,
        own: &BTreeSet<usize>,
        numbers: &[Claimed],
        question: &Facts,
    ) -> Option<String> {
        let facts: Vec<&Facts> = own.iter().filter_map(|at| self.facts.get(*at)).collect();
        // "No, it is not": the first word answers, and denies nothing.
        let start = text.len() - text.trim_start_matches(|c: char| !c.is_alphabetic()).len();
        let answers = list("truth").iter().find_map(|word| {
            let end = start + word.len();
            let same = text.get(start..end).is_some_and(|first| first.eq_ignore_ascii_case(word));
            (same
                && text.get(end..).is_some_and(|rest| {
                    rest.starts_with([',', '.', ':', '!', ' ']) && !(word == "no" && rest.starts_with(' '))
                }))
            .then_some(start..end)
        });
        let plain = form::plain(text.get(answers.as_ref().map_or(0, |word| word.end)..).unwrap_or_default());
        let bare = plain.trim_matches(|c: char| !c.is_alphanumeric());
        let repeats = |one: &Statement| !bare.is_empty() && one.plain.contains(bare);
        if facts.iter().any(|facts| facts.held.all.iter().take(MOST).any(repeats)) {
            let whole = |one: &Statement| one.plain.trim_matches(|c: char| !c.is_alphanumeric()) == bare;
            if facts.iter().any(|facts| facts.held.all.iter().take(MOST).any(whole)) {
                return None;
            }
        }
        let known = |term: &str| {
            facts.iter().any(|facts| {
                facts.terms.contains(term)
                    || alike(term, &facts.terms)
                    || unturned(term).is_some_and(|rest| facts.terms.iter().any(|one| one.starts_with(rest)))
            })
        };
        let stands = |word: &Word<'_>| {
            known(&word.term)
                || question.terms.contains(&word.term)
                || words::terms(word.written)
                    .iter()
                    .skip(1)
                    .any(|part| part.len() > 2 && known(part) && word.written.contains(['.', '_', '/']))
        };
        let said = uncounted(text, numbers.iter().map(|one| one.bytes().clone()).chain(answers));
        let mut prior: Option<&Statement> = None;
        for clause in clauses(&said) {
            let at = clause.as_ptr() as usize - said.as_ptr() as usize;
            let here = at..at + clause.len();
            let said = words_of(clause);
            let content: Vec<&Word<'_>> = said.iter().filter(|word| !alike(&word.term, &HashSet::new())).collect();
            // Units are compared with their quantities.
            let is_unit = |word: &Word<'_>| word.written.len() > 1 && Unit::named(word.written, true).0.is_some();
            // What is pointed to stands elsewhere in the answer.
            let points = |word: &Word<'_>| list("pointing").contains(&word.before);
            let strange: Vec<&&Word<'_>> =
                content.iter().filter(|word| !stands(word) && !is_unit(word) && !points(word)).collect();
            if strange.len() >= 2 && ((content.len() - strange.len()) as f64) < SHARED * content.len() as f64 {
                let shown: Vec<&str> = strange.iter().map(|word| word.written).take(4).collect();
                return Some(format!("what it cites does not speak of {}", shown.join(", ")));
            }
            let terms: Vec<String> = held::terms(clause)
                .into_iter()
                .filter(|term| !term.starts_with(|c: char| c.is_ascii_digit()))
                .collect();
            let terms: Vec<&str> =
                terms.iter().map(String::as_str).filter(|term| !alike(term, &HashSet::new())).collect();
            let counted: Vec<&Claimed> = numbers.iter().filter(|one| here.contains(&one.bytes().start)).collect();
            for number in &counted {
                if let Some(why) = elsewhere(number, &counted, &terms, &facts) {
                    return Some(format!("{} is said of {why:?}", number.shown(text)));
                }
            }
            // What goes on about the same subject must stand with it: "and is owned by Nadia".
            let first = clause.split_whitespace().next().unwrap_or_default();
            let apart = |one: &Statement| terms.iter().all(|term| met(&[term], one) == 0);
            if let (Some(word), true) = (strange.first(), prior.is_some_and(apart))
                && list("passive").contains(first)
            {
                return Some(format!("what it cites does not speak of {}", word.written));
            }
            let Some((best, near)) = nearest(&terms, &facts) else { continue };
            prior = prior.or(Some(best));
            if let Some(why) = replaced(&said, &strange, best) {
                return Some(why);
            }
            if let Some(why) = swapped(clause, &terms, best, &facts) {
                return Some(why);
            }
            let elsewhere = |term: &str| {
                met(&[term], best) == 0 && is_word(term) && facts.iter().any(|facts| facts.terms.contains(term))
            };
            if let Some(why) = roles::exchanged(clause, &best.said, elsewhere) {
                return Some(why);
            }
            let all = terms
                .iter()
                .filter(|term| !question.terms.contains(**term) || best.around.terms.contains(**term))
                .count();
            if near as f64 >= NEAREST * all as f64 && near >= 2 && Self::is_turned(clause, &terms, near, &facts) {
                return Some(format!("what it cites says the opposite: {:?}", best.plain));
            }
        }
        None
    }

    /// Whether all that stands as near as the nearest statement is denied where the clause is not, or the other way about.
    fn is_turned(clause: &str, terms: &[&str], near: usize, facts: &[&Facts]) -> bool {
        let unturned_mine = terms
            .iter()
            .filter(|term| unturned(term).is_some_and(|rest| facts.iter().any(|facts| facts.terms.contains(rest))))
            .count();
        let mut found = false;
        for one in facts.iter().flat_map(|facts| &facts.held.all).take(MOST) {
            // A cell of a row denies nothing that stands in another.
            if met(terms, one) < near || one.table.is_some() {
                continue;
            }
            // The clause of it that speaks of this.
            let speaks_of = |part: &&str| {
                let held: HashSet<String> = words::terms(part).into_iter().collect();
                terms.iter().filter(|term| held.contains(**term) || alike(term, &held)).count()
            };
            let parts = clauses(&one.plain);
            let most = parts.iter().map(speaks_of).max().unwrap_or(0);
            for part in parts.iter().filter(|part| speaks_of(part) == most) {
                let mine = denials(clause, part) + unturned_mine;
                let theirs = denials(part, clause)
                    + words::terms(part)
                        .iter()
                        .filter(|term| unturned(term).is_some_and(|rest| terms.contains(&rest)))
                        .count()
                    + opposites(clause, part);
                if theirs % 2 == mine % 2 {
                    return false;
                }
                found = true;
            }
        }
        found
    }
}

/// How many of the words a statement holds, itself or above it.
fn met(terms: &[&str], one: &Statement) -> usize {
    let holds = |term: &&&str| {
        one.around.terms.contains(**term)
            || alike(term, &one.around.terms)
            || unturned(term).is_some_and(|rest| one.around.terms.contains(rest))
            || one.around.terms.iter().any(|other| unturned(other) == Some(**term))
    };
    terms.iter().filter(holds).count()
}

/// The statement that holds most of the words, and how many.
fn nearest<'a>(terms: &[&str], facts: &[&'a Facts]) -> Option<(&'a Statement, usize)> {
    let all = facts.iter().flat_map(|facts| &facts.held.all).take(MOST);
    let mut best: Option<(&Statement, usize)> = None;
    for one in all {
        let near = met(terms, one);
        if best.is_none_or(|(_, most)| near > most) {
            best = Some((one, near));
        }
    }
    best.filter(|(_, near)| *near > 0)
}

/// The part of a statement that holds what is written at a place, and its words.
fn part_at(said: &str, at: usize) -> (HashSet<String>, bool) {
    let parts = parts(said);
    let start = |part: &&str| part.as_ptr() as usize - said.as_ptr() as usize;
    let part = parts.iter().find(|part| (start(part)..start(part) + part.len()).contains(&at)).copied().unwrap_or(said);
    (words::terms(part).into_iter().collect(), parts.len() > 1)
}

/// The statement, or part of one, of another quantity that a clause speaks of rather than of those with its own.
fn elsewhere(number: &Claimed, all: &[&Claimed], terms: &[&str], facts: &[&Facts]) -> Option<String> {
    let Claimed::Quantity(claimed) = number else { return None };
    // A name says more of what is spoken of than any other word.
    let says = |held: &HashSet<String>, said: &str| {
        let stands = |term: &&&str| held.contains(**term) || alike(term, held);
        let is_name = |term: &str| {
            words_of(said).iter().any(|word| word.term == *term && word.written.starts_with(char::is_uppercase))
        };
        terms.iter().filter(stands).map(|term| if is_name(term) { 2 } else { 1 }).sum::<usize>()
    };
    let names_another =
        |held: &HashSet<String>| held.iter().any(|term| is_word(term) && !claimed.context.contains(term));
    let mut own: Option<usize> = None;
    let mut holders: HashSet<(usize, usize)> = HashSet::new();
    let (mut parts, mut another) = (Vec::new(), true);
    for (of, facts) in facts.iter().enumerate() {
        for at in facts.held.with(claimed, alike) {
            let Some(one) = facts.held.all.get(at) else { continue };
            holders.insert((of, at));
            own = own.max(Some(met(terms, one)));
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
    let own = own?;
    if let (true, Some((_, one))) = (parts.iter().all(|(nearer, _)| *nearer), parts.first()) {
        return Some(one.plain.chars().take(120).collect());
    }
    if own >= terms.len() || !another {
        return None;
    }
    for (of, facts) in facts.iter().enumerate() {
        for (at, one) in facts.held.all.iter().enumerate().take(MOST) {
            let rival = !holders.contains(&(of, at)) && one.quantities.iter().any(|other| other.measures_as(claimed));
            if rival && met(terms, one) > own {
                return Some(one.plain.chars().take(120).collect());
            }
        }
    }
    None
}

/// Whether a term is a word that says something.
pub(super) fn is_word(term: &str) -> bool {
    !term.starts_with(|c: char| c.is_ascii_digit()) && !alike(term, &HashSet::new())
}

/// A word that takes the place of another: it stands nowhere, and in the nearest statement its neighbour goes with a
/// word that the claim does not say.
fn replaced(said: &[Word<'_>], strange: &[&&Word<'_>], best: &Statement) -> Option<String> {
    let plain = uncounted(&best.plain, quantities(&best.plain).into_iter().map(|one| one.number.bytes));
    let theirs = words_of(&plain);
    let mine: HashSet<String> = said.iter().map(|word| word.term.clone()).collect();
    for word in strange.iter().filter(|word| !is_verb(word)) {
        let at = said.iter().position(|one| std::ptr::eq(one, **word))?;
        // The next word on either side that the statement holds as well.
        let stands = |one: &&Word<'_>| best.own.contains(&one.term);
        let left = said.get(..at)?.iter().rev().take(2).find(stands);
        let right = said.get(at + 1..)?.iter().take(2).find(stands);
        let other = |one: Option<&Word<'_>>| {
            one.filter(|one| !mine.contains(&one.term) && !alike(&one.term, &mine) && !is_verb(one))
                .map(|one| one.written.to_owned())
        };
        let place = |term: &str| theirs.iter().position(|one| one.term == term);
        let behind = left.and_then(|left| other(theirs.get(place(&left.term)? + 1)));
        let ahead = right.and_then(|right| other(theirs.get(place(&right.term)?.checked_sub(1)?)));
        if let Some(other) = behind.or(ahead) {
            return Some(format!("what it cites says {other:?} where it says {:?}", word.written));
        }
    }
    None
}

/// Something that is said of another in a statement like the nearest one.
fn swapped(clause: &str, terms: &[&str], best: &Statement, facts: &[&Facts]) -> Option<String> {
    let lower = clause.to_lowercase();
    let names = |text: &str| -> Vec<String> {
        let names = words_of(text).into_iter().filter(|word| word.written.starts_with(char::is_uppercase));
        names.map(|word| word.term).filter(|term| is_word(term)).collect()
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
    for missing in terms.iter().filter(|term| met(&[term], best) == 0) {
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
