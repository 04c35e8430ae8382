//! Which pieces are quoted: the best, then those that say something else.

use super::{
    Options,
    units::{Unit, announces, introduced, sum},
};
use crate::{asked::identifiers, way::instructs};
use loopwright_lexicon::sentences::{Kind, leans};

/// The places of the quotes, best first.
pub(super) fn choose(
    units: &[Unit],
    weights: &[f64],
    total: f64,
    options: &Options,
    usable: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).filter(|&at| usable(at)).collect();
    let score = |at: usize| units.get(at).map_or(0.0, |unit| unit.score);
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
    order.truncate(256);
    let Some(best) = order.first().and_then(|&at| units.get(at)) else { return Vec::new() };
    let mut chosen: Vec<usize> = order.first().copied().into_iter().collect();
    let mut covered = best.direct.clone();
    while chosen.len() < options.most {
        let wanted = chosen.len() < options.least;
        let next = order.iter().copied().filter(|at| !chosen.contains(at)).filter_map(|at| {
            let unit = units.get(at)?;
            let alike = chosen.iter().filter_map(|&at| units.get(at)).map(|one| overlap(one, unit)).fold(0.0, f64::max);
            let gain: f64 = unit
                .direct
                .iter()
                .zip(&covered)
                .zip(weights)
                .map(|((direct, covered), weight)| (direct - covered).max(0.0) * weight)
                .sum();
            let share = unit.score / best.score;
            let says_more = gain > 0.15 * total && share > if options.strict { 0.7 } else { 0.45 };
            let held = sum(&best.direct, weights);
            // What holds no word of the question itself goes with what stands right beside it.
            let belongs = held > 0.0 || chosen.iter().filter_map(|&at| units.get(at)).any(|one| beside(one, unit));
            let is_as_good = share > 0.9 && sum(&unit.direct, weights) >= 0.9 * held && belongs;
            let fills = wanted && share > 0.15 && unit.kind != Kind::Heading;
            (alike < 0.65 && (says_more || is_as_good || fills)).then_some((at, share + gain / total - 0.5 * alike))
        });
        // The first of equals, so that the order of the sources decides.
        let next = next.fold(None, |best: Option<(usize, f64)>, one| match best {
            Some(best) if best.1 >= one.1 => Some(best),
            _ => Some(one),
        });
        let Some((at, _)) = next else { break };
        chosen.push(at);
        if let Some(unit) = units.get(at) {
            for (covered, direct) in covered.iter_mut().zip(&unit.direct) {
                *covered = covered.max(*direct);
            }
        }
    }
    chosen
}

/// Whether two units are of one paragraph or list, under one heading.
fn beside(a: &Unit, b: &Unit) -> bool {
    let (first, second) = if a.line <= b.line { (a, b) } else { (b, a) };
    a.source == b.source && a.heading == b.heading && second.line <= first.end_line + 1
}

fn overlap(a: &Unit, b: &Unit) -> f64 {
    let both = a.terms.intersection(&b.terms).count();
    both as f64 / a.terms.len().min(b.terms.len()).max(1) as f64
}

/// A sentence that leans on the one before it says little alone: the one before comes with it.
pub(super) fn lift(units: &[Unit], chosen: Vec<usize>, weights: &[f64], asks_way: bool) -> Vec<usize> {
    let mut all = chosen.clone();
    for at in chosen {
        // What is only known to answer by its heading says little without it.
        if let Some(heading) = units.get(at).and_then(|unit| told_by_heading(units, unit, weights))
            && !all.contains(&heading)
        {
            all.push(heading);
        }
        // What shows a way may lean on what says that there is one: "This can be done by …".
        let shows = |next: &usize| leans_on(units, *next).is_some_and(|_| shows_way(units, *next));
        all.extend(Some(at + 1).filter(|next| asks_way && shows(next) && !all.contains(next)));
        // The code that shows a way, and what follows, stand at the end of their paragraph.
        if let Some(last) = shown_by(units, at).filter(|_| asks_way || announces(units, at)) {
            let between = (at + 1..=last).filter(|one| !all.contains(one)).collect::<Vec<_>>();
            all.extend(between);
        }
        let mut at = at;
        // A passage is no longer than three sentences.
        for _ in 0..2 {
            if leans_on(units, at).is_none() {
                break;
            }
            at -= 1;
            if !all.contains(&at) {
                all.push(at);
            }
        }
    }
    all
}

/// The place of the sentence that ends a paragraph and introduces code, at most two behind the one at a place.
fn shown_by(units: &[Unit], at: usize) -> Option<usize> {
    let unit = units.get(at).filter(|unit| unit.kind == Kind::Prose)?;
    let alike = |one: &&Unit| one.kind == Kind::Prose && one.block == unit.block && one.source == unit.source;
    let last = at + units.get(at + 1..)?.iter().take_while(alike).count();
    let code = units.get(introduced(units, last).start).filter(|one| one.kind == Kind::Code || announces(units, at));
    (last > at && last <= at + 2 && !introduced(units, last).is_empty()).then_some(last).filter(|_| code.is_some())
}

/// Whether a sentence tells what to do, with a name of the program.
fn shows_way(units: &[Unit], at: usize) -> bool {
    units.get(at).is_some_and(|unit| instructs(&unit.text) && !identifiers(&unit.text).is_empty())
}

/// The sentence before a unit that leans on it.
pub(super) fn leans_on(units: &[Unit], at: usize) -> Option<&Unit> {
    let unit = units.get(at)?;
    let leans = unit.kind == Kind::Prose && leans(&unit.text);
    let before = units.get(at.checked_sub(1)?)?;
    let fits = before.source == unit.source && before.block == unit.block && before.kind == Kind::Prose;
    (leans && fits).then_some(before)
}

/// The term or heading of a unit, where that holds most of what the unit is quoted for.
fn told_by_heading(units: &[Unit], unit: &Unit, weights: &[f64]) -> Option<usize> {
    let own = sum(&unit.direct, weights);
    let tells = |at: &usize| {
        units.get(*at).is_some_and(|above| {
            let adds = above.direct.iter().zip(&unit.direct).any(|(above, own)| above > own);
            let held = sum(&above.direct, weights);
            held > 0.0 && (own < 0.5 * held || (above.kind == Kind::Term && adds))
        })
    };
    let above = [unit.term, unit.heading].into_iter().flatten().find(tells);
    above.filter(|_| !matches!(unit.kind, Kind::Heading | Kind::Term))
}
