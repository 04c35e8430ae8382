//! Where sources say the same of the same thing, but with other numbers or the other way about.

use std::collections::HashSet;

use super::{
    choose::leans_on,
    units::{Unit, sum},
};
use loopwright_base::sources::Source;
use loopwright_lexicon::{
    contrast::{Stance, disagree},
    sentences::Kind,
};

/// At most this many sides of a disagreement are told.
const MOST_SIDES: usize = 4;

/// Where others say the same as what is quoted with other numbers, or the other way about: a sentence that lists them.
pub(super) fn conflicts(sources: &[Source], units: &[Unit], chosen: &[usize], weights: &[f64]) -> Option<String> {
    numbers(sources, units, chosen, weights).or_else(|| words(sources, units, chosen))
}

/// Where a sentence says the opposite of a quote.
fn words(sources: &[Source], units: &[Unit], chosen: &[usize]) -> Option<String> {
    let place = |unit: &Unit| sources.get(unit.source).map(|source| source.reference.as_str());
    for at in chosen {
        let Some(quoted) = units.get(*at).filter(|unit| unit.kind == Kind::Prose) else { continue };
        let Some(stance) = Stance::read(&quoted.text) else { continue };
        let says_otherwise = |unit: &&Unit| {
            // Under another heading a file may speak of something else.
            let elsewhere =
                place(unit) == place(quoted) && under(unit, units, sources) != under(quoted, units, sources);
            unit.kind == Kind::Prose
                && !elsewhere
                && !unit.terms.is_disjoint(&quoted.terms)
                && Stance::read(&unit.text).is_some_and(|other| disagree(&stance, &other))
        };
        let others: Vec<&Unit> = units.iter().filter(says_otherwise).take(MOST_SIDES - 1).collect();
        if others.is_empty() {
            continue;
        }
        let told: Vec<String> = std::iter::once(quoted)
            .chain(others)
            .filter_map(|unit| {
                let said = unit.text.trim_end_matches('.');
                Some(format!("\u{201c}{said}\u{201d} [{}]", sources.get(unit.source)?.range(unit.line, unit.end_line)))
            })
            .collect();
        return Some(format!("\n\nThe sources disagree: {}.", told.join(", ")));
    }
    None
}

/// The heading that a unit stands under.
fn under<'a>(unit: &Unit, units: &'a [Unit], sources: &'a [Source]) -> &'a str {
    match unit.heading.and_then(|at| units.get(at)) {
        Some(heading) => &heading.text,
        None => sources.get(unit.source).and_then(|source| source.heading.rsplit(" > ").next()).unwrap_or_default(),
    }
}

/// Where others say the same as the best quote with other numbers.
fn numbers(sources: &[Source], units: &[Unit], chosen: &[usize], weights: &[f64]) -> Option<String> {
    let best = chosen.first().and_then(|at| units.get(*at))?;
    let numbers = numbers_of(&best.text);
    if numbers.is_empty() {
        return None;
    }
    let (own, direct) = spoken_of(units, *chosen.first()?);
    let said = sum(&direct, weights);
    let mut sides: Vec<(Vec<String>, &Unit)> = vec![(numbers, best)];
    for (at, unit) in units.iter().enumerate() {
        let other = numbers_of(&unit.text);
        let near = unit.source == best.source && unit.line.abs_diff(best.line) <= 1;
        if near || other.is_empty() || unit.kind != best.kind {
            continue;
        }
        let (theirs, direct) = spoken_of(units, at);
        if sum(&direct, weights) < 0.9 * said {
            continue;
        }
        let shared = own.intersection(&theirs).count();
        let alike = shared >= 2 && shared * 10 >= own.len().max(theirs.len()) * 6;
        if alike && sides.len() < MOST_SIDES && sides.iter().all(|(known, _)| known.iter().all(|n| !other.contains(n)))
        {
            sides.push((other, unit));
        }
    }
    if sides.len() < 2 {
        return None;
    }
    let told: Vec<String> = sides
        .into_iter()
        .filter_map(|(numbers, unit)| {
            Some(format!("{} [{}]", numbers.join(" and "), sources.get(unit.source)?.range(unit.line, unit.end_line)))
        })
        .collect();
    Some(format!("\n\nThe sources disagree: {}.", told.join(", ")))
}

/// The words of a unit without its numbers, and how much of each word of the question it holds; of one that leans on
/// the sentence before it ("It takes 90 minutes.") what that speaks of, too.
fn spoken_of(units: &[Unit], at: usize) -> (HashSet<String>, Vec<f64>) {
    let Some(unit) = units.get(at) else { return (HashSet::new(), Vec::new()) };
    let (mut terms, mut direct) = (unit.terms.clone(), unit.direct.clone());
    if let Some(before) = leans_on(units, at) {
        terms.extend(before.terms.iter().cloned());
        for (mine, theirs) in direct.iter_mut().zip(&before.direct) {
            *mine = mine.max(*theirs);
        }
    }
    terms.retain(|term| !term.bytes().any(|byte| byte.is_ascii_digit()));
    (terms, direct)
}

/// The numbers of a sentence as written.
fn numbers_of(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))) {
        let number = word.trim_matches(['.', ',']);
        if !number.is_empty() && number.len() <= 20 && all.len() < 4 && !all.iter().any(|known| known == number) {
            all.push(number.to_owned());
        }
    }
    all
}
