//! The built-in model: answers made of sentences quoted from sources.
//!
//! It promises three things: every statement is a quote with its `[path:line]`, the same input gives the same answer,
//! and what it did not find it names. It understands nothing; it compares words.

mod choose;
mod disagree;
mod noise;
mod topics;
mod units;

use std::{collections::HashSet, fmt::Write as _};

use super::{
    question::Question,
    support::{self, ANSWERABLE},
};
use choose::{choose, lift};
use disagree::conflicts;
use loopwright_base::sources::Source;
use loopwright_lexicon::sentences::Kind;
use noise::is_boilerplate;
pub use topics::topics;
use units::{Unit, give_context, read_units, score, sum, weigh};

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

/// Answers `question` from `sources`.
pub fn answer(question: &str, sources: &[Source], options: &Options) -> Answer {
    let asked = Question::read(question);
    if sources.is_empty() {
        return nothing(&asked, &[], 0, false);
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
    let fits = |unit: &Unit| !asked.is_vague() || shows_a_way(&asked, &units, unit, &weights);
    // Where the best quotes were refused, the next best must at least speak of what is asked.
    let shares = |unit: &Unit| avoid.is_empty() || sum(&unit.direct, &weights) > 0.0;
    let usable = |unit: &Unit| {
        let repeated = repeats.get(unit.text.as_str()).is_some_and(|places| places.len() >= 3);
        unit.score > 0.0
            && !avoid.contains(unit.text.as_str())
            && !repeated
            && !is_boilerplate(&unit.text)
            && fits(unit)
            && shares(unit)
    };
    let mut chosen = choose(&units, &weights, total, options, usable);
    if chosen.is_empty() {
        // Better what is said everywhere than nothing.
        let usable = |unit: &Unit| {
            shares(unit)
                && unit.score > 0.0
                && !avoid.contains(unit.text.as_str())
                && !is_boilerplate(&unit.text)
                && fits(unit)
        };
        chosen = choose(&units, &weights, total, options, usable);
    }
    let coverage = options.support.unwrap_or_else(|| support::of_sources(question, sources));
    let weak = coverage < options.least_support;
    if total <= 0.0 || chosen.is_empty() || (weak && !options.trusted) {
        let together = units.iter().any(|unit| unit.credit.iter().all(|credit| *credit > 0.0));
        return Answer { coverage, ..nothing(&asked, &found, sources.len(), together) };
    }
    let chosen = lift(&units, chosen, &weights);
    let disagree = conflicts(sources, &units, &chosen, &weights);
    let mut answer = finish(&asked, &weights, sources, &units, chosen, &found, options);
    if let Some(disagree) = disagree {
        answer.text.push_str(&disagree);
    }
    Answer { coverage, ..answer }
}

/// Whether a unit tells how something is done, or stands under a heading that asks for it.
fn shows_a_way(asked: &Question, units: &[Unit], unit: &Unit, weights: &[f64]) -> bool {
    let heading = unit.heading.and_then(|at| units.get(at));
    let is_asked = heading.is_some_and(|heading| sum(&heading.direct, weights) >= 0.5 * weights.iter().sum::<f64>());
    is_asked || (sum(&unit.direct, weights) > 0.0 && asked.tells_a_way(&unit.text, unit.kind == Kind::Code))
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
        let _ = write!(text, " [{}]", source.range(unit.line, unit.end_line));
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
            let name =
                sources.get(quote.source).map(|source| source.range(quote.line, quote.end_line)).unwrap_or_default();
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
fn nothing(asked: &Question, found: &[bool], sources: usize, together: bool) -> Answer {
    let missing = asked.names(|at| !found.get(at).copied().unwrap_or(false));
    let all = asked.names(|_| true);
    let place = match sources {
        0 => "in any source".to_owned(),
        1 => "in 1 source".to_owned(),
        n => format!("in {n} sources"),
    };
    let text = if all.is_empty() {
        format!("I found nothing {place}: the question holds no word to look for.")
    } else if missing.is_empty() && (all.len() == 1 || asked.is_vague() || together) {
        let how = if asked.is_vague() { "nothing there says how" } else { "nothing there answers it" };
        let word = if all.len() == 1 { "stands" } else { "stand" };
        format!("I found nothing that answers this {place}: {} {word} there, but {how}.", quoted(&all))
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
