//! The built-in model: answers made of sentences quoted from sources.
//!
//! It promises three things: every statement is a quote with its `[path:line]`, the same input gives the same answer,
//! and what it did not find it names. It understands nothing; it compares words.

use std::{collections::HashSet, fmt::Write as _, sync::LazyLock};

use aho_corasick::AhoCorasick;

use super::{
    bm25,
    chunks::Format,
    marks::clean,
    question::{Asked, Question},
    sentences::{Kind, sentences},
    sources::{Source, SourceKind},
    support::{self, ANSWERABLE},
    words,
};

/// At most this many units of all sources are looked at.
const MAX_UNITS: usize = 20_000;

/// What to do differently from the first attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// At most this many quotes.
    pub most: usize,
    /// At least this many, where the sources have them.
    pub least: usize,
    /// Whether marks like `**` and backticks are left out.
    pub plain: bool,
    /// Whether the sources are listed at the end.
    pub list_sources: bool,
    /// Quotes that must not be used again.
    pub avoid: Vec<String>,
    /// With less support than this the sources hold no answer.
    pub least_support: f64,
    /// The support that was measured where more than these sources was known; without it they are all there is.
    pub support: Option<f64>,
    /// Whether somebody who knows more than these sources has found that they hold an answer.
    pub trusted: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            most: 3,
            least: 1,
            plain: false,
            list_sources: false,
            avoid: Vec::new(),
            least_support: ANSWERABLE,
            support: None,
            trusted: false,
        }
    }
}

/// A quote.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    /// The place of its source in the list.
    pub source: usize,
    /// Its first line in the source's own file.
    pub line: usize,
    /// Its last line there.
    pub end_line: usize,
    /// The sentence, without the marks of Markdown around it.
    pub text: String,
    /// How well it fits.
    pub score: f64,
}

/// An answer made of quotes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The answer as it is shown.
    pub text: String,
    /// The quotes, in the order of the sources; empty if nothing answers the question.
    pub quotes: Vec<Quote>,
    /// Words of the question that stand in no source.
    pub missing: Vec<String>,
    /// How much of the question, weighted by rarity, stands together: the support of the sources, from 0 to 1.
    pub coverage: f64,
}

/// What a word of the question counts that stands not in a unit itself but near it.
const BY_QUESTION: f64 = 0.85;
const BY_HEADING: f64 = 0.55;
const BY_NEIGHBOUR: f64 = 0.35;
const BY_PATH: f64 = 0.3;

struct Unit {
    source: usize,
    block: usize,
    line: usize,
    end_line: usize,
    kind: Kind,
    text: String,
    terms: HashSet<String>,
    length: usize,
    /// How much of each word of the question stands in the unit itself.
    direct: Vec<f64>,
    /// The same with headings, neighbours and the path.
    credit: Vec<f64>,
    /// Whether it asks instead of saying.
    asks: bool,
    score: f64,
}

/// Answers `question` from `sources`.
pub fn answer(question: &str, sources: &[Source], options: &Options) -> Answer {
    let asked = Question::read(question);
    if sources.is_empty() {
        return nothing(&asked, &[], 0);
    }
    let mut units = read_units(&asked, sources, options);
    give_context(&asked, sources, &mut units);
    let weights = weigh(&asked, &units);
    let total: f64 = weights.iter().sum();
    score(&asked, sources, &mut units, &weights);
    let found: Vec<bool> = (0..asked.needs.len())
        .map(|need| units.iter().any(|unit| unit.credit.get(need).is_some_and(|credit| *credit > 0.0)))
        .collect();
    let avoid: HashSet<&str> = options.avoid.iter().map(String::as_str).collect();
    // What three pages of their own say word for word stands on each page of its place.
    let mut repeats: std::collections::HashMap<&str, HashSet<usize>> = std::collections::HashMap::new();
    for unit in &units {
        repeats.entry(unit.text.as_str()).or_default().insert(unit.source);
    }
    let usable = |unit: &Unit| {
        let repeated = repeats.get(unit.text.as_str()).is_some_and(|places| places.len() >= 3);
        unit.score > 0.0 && !avoid.contains(unit.text.as_str()) && !repeated && !is_boilerplate(&unit.text)
    };
    let mut chosen = choose(&units, &weights, total, options, usable);
    if chosen.is_empty() {
        // Better what is said everywhere than nothing.
        let usable =
            |unit: &Unit| unit.score > 0.0 && !avoid.contains(unit.text.as_str()) && !is_boilerplate(&unit.text);
        chosen = choose(&units, &weights, total, options, usable);
    }
    let coverage = options.support.unwrap_or_else(|| support::of_sources(question, sources));
    let weak = coverage < options.least_support;
    if total <= 0.0 || chosen.is_empty() || (weak && !options.trusted) {
        return Answer { coverage, ..nothing(&asked, &found, sources.len()) };
    }
    let chosen = lift(&units, chosen);
    let disagree = conflicts(sources, &units, &chosen, &weights);
    let mut answer = finish(&asked, &weights, sources, &units, chosen, &found, options);
    if let Some(disagree) = disagree {
        answer.text.push_str(&disagree);
    }
    Answer { coverage, ..answer }
}

/// Words with which a sentence leans on the one before it.
const LEANING: [&str; 16] = [
    "it ",
    "this ",
    "they ",
    "these ",
    "those ",
    "that ",
    "its ",
    "their ",
    "he ",
    "she ",
    "however",
    "therefore",
    "then ",
    "such ",
    "both ",
    "thus ",
];

/// A sentence that leans on the one before it says little alone: the one before comes with it.
fn lift(units: &[Unit], chosen: Vec<usize>) -> Vec<usize> {
    let mut all = chosen.clone();
    for at in chosen {
        let mut at = at;
        // A passage is no longer than three sentences.
        for _ in 0..2 {
            let Some(unit) = units.get(at) else { break };
            let start: String = unit.text.chars().take(12).collect::<String>().to_lowercase();
            let leans = unit.kind == Kind::Prose && LEANING.iter().any(|word| start.starts_with(word));
            let before = at.checked_sub(1).and_then(|before| units.get(before));
            let fits = before
                .is_some_and(|one| one.source == unit.source && one.block == unit.block && one.kind == Kind::Prose);
            if !leans || !fits {
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

/// At most this many sides of a disagreement are told.
const MOST_SIDES: usize = 4;

/// Where others say the same as the best quote with other numbers: a sentence that lists them.
fn conflicts(sources: &[Source], units: &[Unit], chosen: &[usize], weights: &[f64]) -> Option<String> {
    let best = chosen.first().and_then(|at| units.get(*at))?;
    let numbers = numbers_of(&best.text);
    if numbers.is_empty() {
        return None;
    }
    let words = |unit: &Unit| -> HashSet<String> {
        unit.terms.iter().filter(|term| !term.bytes().any(|byte| byte.is_ascii_digit())).cloned().collect()
    };
    let own = words(best);
    let said = sum(&best.direct, weights);
    let mut sides: Vec<(Vec<String>, &Unit)> = vec![(numbers, best)];
    for unit in units {
        let other = numbers_of(&unit.text);
        let near = unit.source == best.source && unit.line.abs_diff(best.line) <= 1;
        if near || other.is_empty() || unit.kind != best.kind || sum(&unit.direct, weights) < 0.9 * said {
            continue;
        }
        let theirs = words(unit);
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
            Some(format!("{} [{}]", numbers.join(" and "), sources.get(unit.source)?.citation(unit.line)))
        })
        .collect();
    Some(format!("\n\nThe sources disagree: {}.", told.join(", ")))
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

/// What stands on every page and says nothing.
static BOILERPLATE: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    const SIGNS: [&str; 20] = [
        "all rights reserved",
        "copyright ©",
        "© 20",
        "copyright (c)",
        "click here",
        "cookie policy",
        "privacy policy",
        "terms of service",
        "terms of use",
        "subscribe to our",
        "sign up for",
        "log in to",
        "skip to content",
        "table of contents",
        "back to top",
        "last updated",
        "share this",
        "follow us",
        "read more",
        "powered by",
    ];
    AhoCorasick::builder().ascii_case_insensitive(true).build(SIGNS).ok()
});

fn is_boilerplate(text: &str) -> bool {
    text.len() < 160 && BOILERPLATE.as_ref().is_some_and(|signs| signs.is_match(text))
}

/// The words that mark a text among others, for naming what it is about: most telling first.
pub fn topics(texts: &[&str], most: usize) -> Vec<String> {
    use std::collections::BTreeMap;
    let mut seen: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    for text in texts {
        let mut here = HashSet::new();
        for word in words::words(text) {
            let long = word.surface.chars().count() >= 4 && word.surface.chars().any(char::is_alphabetic);
            if !long || !word.surface.chars().all(|c| c.is_alphanumeric() || c == '-') {
                continue;
            }
            let surface = word.surface.to_lowercase();
            let entry = seen.entry(word.whole.clone()).or_insert((0, 0, surface.clone()));
            entry.0 += 1;
            entry.1 += usize::from(here.insert(word.whole));
            if surface.len() < entry.2.len() {
                entry.2 = surface;
            }
        }
    }
    let mut ranked: Vec<(f64, String)> = seen
        .into_values()
        .filter(|(count, _, _)| *count > 1 || texts.len() == 1)
        .map(|(count, holding, surface)| ((count as f64).ln_1p() * (holding as f64).sqrt(), surface))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    ranked.into_iter().take(most).map(|(_, surface)| surface).collect()
}

fn sum(credit: &[f64], weights: &[f64]) -> f64 {
    credit.iter().zip(weights).map(|(credit, weight)| credit * weight).sum()
}

/// The units of all sources; a place that stands in two sources gives its units once.
fn read_units(asked: &Question, sources: &[Source], options: &Options) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut seen: HashSet<(&str, usize, String)> = HashSet::new();
    let mut texts: HashSet<&str> = HashSet::new();
    for (at, source) in sources.iter().enumerate() {
        // The same text from another place says nothing more.
        if !texts.insert(source.text.trim()) {
            continue;
        }
        let format = match source.kind {
            SourceKind::File => Format::of_path(&source.reference),
            SourceKind::Thread | SourceKind::Web | SourceKind::Tool | SourceKind::Memory => Format::Markdown,
        };
        for sentence in sentences(&source.text, format) {
            if units.len() >= MAX_UNITS {
                return units;
            }
            let raw = source.text.get(sentence.bytes.clone()).unwrap_or_default();
            let text = clean(raw, sentence.kind, options.plain);
            let line = source.line.saturating_add(sentence.line - 1);
            if text.is_empty() || !seen.insert((source.reference.as_str(), line, text.clone())) {
                continue;
            }
            let mut terms = HashSet::new();
            let mut length = 0;
            words::each_term(raw, |term| {
                length += 1;
                terms.insert(term.to_owned());
            });
            let direct = asked.needs.iter().map(|need| need.met_in(&text, &terms)).collect();
            let end_line = source.line.saturating_add(sentence.end_line - 1);
            let asks = text.ends_with('?') && sentence.kind == Kind::Prose;
            let (block, kind, credit, score) = (sentence.block, sentence.kind, Vec::new(), 0.0);
            units.push(Unit {
                source: at,
                block,
                line,
                end_line,
                kind,
                text,
                terms,
                length,
                direct,
                credit,
                asks,
                score,
            });
        }
    }
    units
}

/// Words of the question that stand near a unit count for it as well, but less.
fn give_context(asked: &Question, sources: &[Source], units: &mut [Unit]) {
    let of_source: Vec<(Vec<f64>, Vec<f64>)> = sources
        .iter()
        .map(|source| {
            let met = |text: &str| {
                let terms: HashSet<String> = words::terms(text).into_iter().collect();
                asked.needs.iter().map(|need| need.met_by(&terms)).collect::<Vec<_>>()
            };
            let path = if source.kind == SourceKind::File { met(&source.reference) } else { met("") };
            (met(&source.heading), path)
        })
        .collect();
    let plain = asked.plain_weights();
    let all: f64 = plain.iter().sum();
    // A heading that says nearly all of the question asks it: what stands under it is the answer.
    let share_of = |of_heading: &[f64]| {
        if sum(of_heading, &plain) >= 0.75 * all && asked.needs.len() > 1 { BY_QUESTION } else { BY_HEADING }
    };
    let mut heading: (usize, Vec<f64>) = (usize::MAX, Vec::new());
    for at in 0..units.len() {
        let Some(unit) = units.get(at) else { break };
        let mut credit = unit.direct.clone();
        let add = |credit: &mut Vec<f64>, from: &[f64], share: f64| {
            for (credit, more) in credit.iter_mut().zip(from) {
                *credit = credit.max(more * share);
            }
        };
        if let Some((of_heading, of_path)) = of_source.get(unit.source) {
            add(&mut credit, of_heading, share_of(of_heading));
            add(&mut credit, of_path, BY_PATH);
        }
        if heading.0 == unit.source {
            add(&mut credit, &heading.1, share_of(&heading.1));
        }
        let leans =
            ["It ", "This ", "They ", "These ", "That ", "Its ", "Their "].iter().any(|w| unit.text.starts_with(w));
        let before = at.checked_sub(1).and_then(|before| units.get(before)).filter(|one| one.source == unit.source);
        if let Some(before) = before.filter(|before| before.kind != Kind::Heading) {
            let share = if before.asks {
                BY_QUESTION
            } else if leans || (unit.kind == Kind::Code && before.kind == Kind::Prose) {
                BY_HEADING
            } else if before.block == unit.block || unit.kind == Kind::Prose {
                BY_NEIGHBOUR
            } else {
                0.0
            };
            add(&mut credit, &before.direct, share);
        }
        if let Some(after) = units.get(at + 1).filter(|after| after.source == unit.source && after.block == unit.block)
        {
            add(&mut credit, &after.direct, BY_NEIGHBOUR);
        }
        if unit.kind == Kind::Row {
            // The first row of a table names its columns.
            let mut first = at;
            while first > 0
                && units
                    .get(first - 1)
                    .is_some_and(|one| matches!(one.kind, Kind::Row | Kind::Columns) && one.source == unit.source)
                && at - first < 64
            {
                first -= 1;
            }
            if let Some(first) = units.get(first) {
                add(&mut credit, &first.direct, BY_HEADING);
            }
        }
        if unit.kind == Kind::Heading {
            heading = (unit.source, unit.direct.clone());
        }
        if let Some(unit) = units.get_mut(at) {
            unit.credit = credit;
        }
    }
}

/// What each word of the question weighs: rare ones more, empty ones little.
fn weigh(asked: &Question, units: &[Unit]) -> Vec<f64> {
    asked
        .needs
        .iter()
        .enumerate()
        .map(|(at, need)| {
            let holding = units.iter().filter(|unit| unit.direct.get(at).is_some_and(|met| *met > 0.3)).count();
            // In a handful of units a word is quickly in half of them: rarity is damped.
            let rarity = bm25::idf(units.len() + 8, holding).max(0.25).sqrt();
            need.weight * rarity
        })
        .collect()
}

fn score(asked: &Question, sources: &[Source], units: &mut [Unit], weights: &[f64]) {
    let average = units.iter().map(|unit| unit.length).sum::<usize>() as f64 / units.len().max(1) as f64;
    let top = sources.iter().map(|source| source.score).fold(0.0, f64::max);
    for unit in units {
        let direct = sum(&unit.direct, weights);
        let mut score = sum(&unit.credit, weights);
        if score <= 0.0 {
            continue;
        }
        score = 0.5 * score + 0.5 * direct.max(score * 0.6);
        // What ranked high as a whole is more likely to be about the question.
        if top > 0.0 && top.is_finite() {
            let rank = sources.get(unit.source).map_or(0.0, |source| (source.score / top).clamp(0.0, 1.0));
            score *= 0.7 + 0.3 * rank;
        }
        score *= asked.fit(&unit.text, unit.kind == Kind::Code);
        score *= match unit.kind {
            Kind::Heading | Kind::Columns => 0.3,
            Kind::Code if !asked.is(Asked::How) => 0.7,
            _ if unit.asks => 0.3,
            _ => 1.0,
        };
        unit.score = score / (0.9 + 0.1 * (unit.length.max(6) as f64 / average.max(6.0)));
        // A sentence of a word or two says nothing by itself.
        if unit.length < 2 {
            unit.score *= 0.6;
        }
    }
}

/// The places of the quotes, best first.
fn choose(
    units: &[Unit],
    weights: &[f64],
    total: f64,
    options: &Options,
    usable: impl Fn(&Unit) -> bool,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).filter(|&at| units.get(at).is_some_and(&usable)).collect();
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
            let says_more = gain > 0.15 * total && share > 0.45;
            let is_as_good = share > 0.9 && sum(&unit.direct, weights) >= 0.9 * sum(&best.direct, weights);
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

fn overlap(a: &Unit, b: &Unit) -> f64 {
    let both = a.terms.intersection(&b.terms).count();
    both as f64 / a.terms.len().min(b.terms.len()).max(1) as f64
}

fn finish(
    asked: &Question,
    weights: &[f64],
    sources: &[Source],
    units: &[Unit],
    mut chosen: Vec<usize>,
    found: &[bool],
    options: &Options,
) -> Answer {
    let total: f64 = weights.iter().sum();
    let mut met = vec![0.0_f64; asked.needs.len()];
    for unit in chosen.iter().filter_map(|&at| units.get(at)) {
        for (met, credit) in met.iter_mut().zip(&unit.credit) {
            *met = met.max(*credit);
        }
    }
    // Units stand in the order of sources and lines.
    chosen.sort_unstable();
    let mut text = String::new();
    let mut quotes: Vec<Quote> = Vec::new();
    for unit in chosen.into_iter().filter_map(|at| units.get(at)) {
        let Some(source) = sources.get(unit.source) else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        if unit.kind == Kind::Code && !options.plain && !unit.text.contains('`') {
            text.push('`');
            text.push_str(&unit.text);
            text.push('`');
        } else {
            text.push_str(&unit.text);
        }
        let _ = write!(text, " [{}]", source.citation(unit.line));
        quotes.push(Quote {
            source: unit.source,
            line: unit.line,
            end_line: unit.end_line,
            text: unit.text.clone(),
            score: unit.score,
        });
    }
    let missing = asked.names(|at| !found.get(at).copied().unwrap_or(true));
    let elsewhere = asked.names(|at| {
        let heavy = weights.get(at).is_some_and(|weight| *weight >= 0.15 * total);
        heavy && found.get(at).copied().unwrap_or(false) && met.get(at).is_some_and(|met| *met <= 0.0)
    });
    if !missing.is_empty() || !elsewhere.is_empty() {
        text.push('\n');
    }
    if !missing.is_empty() {
        let _ = write!(text, "\nNot found in the sources: {}.", quoted(&missing));
    }
    if !elsewhere.is_empty() {
        let _ = write!(text, "\nNot in these lines, though elsewhere in the sources: {}.", quoted(&elsewhere));
    }
    if options.list_sources {
        let mut names: Vec<String> = Vec::new();
        for quote in &quotes {
            let name = sources.get(quote.source).map(|source| source.citation(quote.line)).unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let word = if names.len() == 1 { "Source" } else { "Sources" };
        let _ = write!(text, "\n\n{word}: {}.", names.join(", "));
    }
    Answer { text, quotes, missing, coverage: 0.0 }
}

/// The answer where there is none.
fn nothing(asked: &Question, found: &[bool], sources: usize) -> Answer {
    let missing = asked.names(|at| !found.get(at).copied().unwrap_or(false));
    let all = asked.names(|_| true);
    let place = match sources {
        1 => "in 1 source".to_owned(),
        n => format!("in {n} sources"),
    };
    let text = if all.is_empty() {
        format!("I found nothing {place}: the question holds no word to look for.")
    } else if missing.is_empty() {
        format!("I found nothing that answers this {place}: {} occur there, but not together.", quoted(&all))
    } else {
        format!("I found nothing about {} {place}.", quoted(&missing))
    };
    Answer { text, quotes: Vec::new(), missing, coverage: 0.0 }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
