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
use crate::{asked::Asked, gather::tells_changes};
use choose::{choose, lift};
use disagree::conflicts;
use loopwright_base::sources::Source;
use loopwright_lexicon::{meanings, sentences::Kind};
use noise::is_boilerplate;
pub use topics::topics;
use units::{
    BY_NEIGHBOUR, NAMED, Unit, announces, columns_of, give_context, introduced, lead_of, mend_spelling, read_meanings,
    read_units, score, sum, weigh,
};

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
    /// Whether what does not hold enough of the question, or nothing of the kind that it asks for, is no answer.
    pub strict: bool,
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
            strict: true,
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
    let mut asked = Question::read(question);
    if sources.is_empty() {
        return nothing(&asked, &[], 0, None);
    }
    let mut units = read_units(&asked, sources, options);
    mend_spelling(&mut asked, &mut units);
    let is_met =
        |units: &[Unit], need: usize| units.iter().any(|unit| unit.direct.get(need).is_some_and(|met| *met > 0.0));
    let literal: Vec<bool> = (0..asked.needs.len()).map(|need| is_met(&units, need)).collect();
    read_meanings(&asked, &mut units);
    let asked = asked;
    let weights = weigh(&asked, &units);
    give_context(&asked, sources, &mut units, &weights);
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
    let says_it = |unit: &Unit| {
        unit.score > 0.0
            && !avoid.contains(unit.text.as_str())
            && !is_boilerplate(&unit.text)
            && fits(unit)
            && shares(unit)
    };
    let places: Vec<bool> = units.iter().map(says_it).collect();
    let speaks = |at: usize| places.get(at) == Some(&true);
    let is_new = |at: usize| {
        units.get(at).and_then(|unit| repeats.get(unit.text.as_str())).is_none_or(|places| places.len() < 3)
    };
    // Of what speaks of the question only that answers it which holds what it asks for.
    let lack = |at: usize| lacks(&asked, sources, &units, at, &weights, options);
    let mut lacking: Option<Asked> = None;
    let mut usable: Vec<bool> = (0..units.len())
        .map(|at| {
            speaks(at)
                && match lack(at) {
                    Ok(()) => true,
                    Err(kind) => {
                        lacking = lacking.or(kind);
                        false
                    }
                }
        })
        .collect();
    // Better what is said everywhere, or was changed once, than nothing.
    let is_so = |at: usize| units.get(at).is_some_and(|unit| !tells_change(&asked, sources, unit));
    let kinds: [&dyn Fn(usize) -> bool; 2] = [&is_new, &is_so];
    for better in kinds {
        if (0..units.len()).any(|at| usable.get(at) == Some(&true) && better(at)) {
            for (at, usable) in usable.iter_mut().enumerate() {
                *usable &= better(at);
            }
        }
    }
    let chosen = choose(&units, &weights, total, options, |at| usable.get(at) == Some(&true));
    let coverage = options.support.unwrap_or_else(|| support::of_sources(question, sources));
    let headed = chosen.first().and_then(|at| units.get(*at)).is_some_and(|unit| is_headed(&units, unit, &weights));
    let weak = coverage < options.least_support && !(options.strict && headed);
    if total <= 0.0 || chosen.is_empty() || (weak && !options.trusted) {
        // What only has the meaning of another word is no word that stands there.
        let stands =
            |(need, found): (usize, &bool)| *found && (literal.get(need) == Some(&true) || !is_met(&units, need));
        let found: Vec<bool> = found.iter().enumerate().map(stands).collect();
        return Answer { coverage, ..nothing(&asked, &found, sources.len(), lacking) };
    }
    let chosen = lift(&units, chosen, &weights, asked.is(Asked::How));
    let disagree = conflicts(sources, &units, &chosen, &weights);
    let mut answer = finish(&asked, &weights, sources, &units, chosen, &found, options);
    if let Some(disagree) = disagree {
        answer.text.push_str(&disagree);
    }
    Answer { coverage, ..answer }
}

/// Whether the heading of a unit asks the question.
fn is_headed(units: &[Unit], unit: &Unit, weights: &[f64]) -> bool {
    let heading = unit.heading.and_then(|at| units.get(at));
    heading.is_some_and(|heading| sum(&heading.direct, weights) >= NAMED * weights.iter().sum::<f64>())
}

/// A name of which no more is met is another one: `frob.open` is no `frob.close`.
const HALF: f64 = 0.5;
/// What a word weighs that stands in no source.
const ABSENT: f64 = 0.5;
/// A word with this part of the question's weight must stand in what answers it.
const HEAVY: f64 = 0.3;
/// How much of the question code must hold that no sentence introduces.
const LEAST_IN_CODE: f64 = 0.7;
/// How much of the question what is quoted must hold, with what stands above it.
const LEAST_COVERED: f64 = 0.55;
/// How much of it must stand in the quote itself, unless its heading holds the question.
const LEAST_OWN: f64 = 0.2;

/// Whether the unit at a place holds enough of the question, with what it introduces, and what the question asks for;
/// with what of it is missing where it only speaks of the subject.
fn lacks(
    asked: &Question,
    sources: &[Source],
    units: &[Unit],
    at: usize,
    weights: &[f64],
    options: &Options,
) -> Result<(), Option<Asked>> {
    let Some(unit) = units.get(at) else { return Err(None) };
    if !options.strict {
        return Ok(());
    }
    // What stands nowhere is told.
    let stands = |need: usize| units.iter().any(|unit| unit.credit.get(need).is_some_and(|credit| *credit > 0.0));
    // What only shapes the question is no part of what must be held.
    let weigh = |(at, weight): (usize, &f64)| match asked.needs.get(at) {
        Some(need) if !need.nameable => 0.0,
        _ if stands(at) => *weight,
        _ => weight * ABSENT,
    };
    let weights: &[f64] = &weights.iter().enumerate().map(weigh).collect::<Vec<_>>();
    let total: f64 = weights.iter().sum();
    // "For example:" says nothing itself.
    let says = |lead: &usize| units.get(*lead).is_some_and(|lead| sum(&lead.direct, weights) >= HEAVY * total);
    let is_bare = unit.kind == Kind::Code && lead_of(units, at).is_none_or(|lead| !says(&lead));
    let is_bare = is_bare || (unit.text.ends_with(':') && !says(&at));
    let least = if is_bare || tells_change(asked, sources, unit) { LEAST_IN_CODE } else { LEAST_COVERED };
    if misses_name(asked, units, unit) || misses_pair(asked, units, unit) {
        return Err(None);
    }
    // The word that says most is what the question is about, if it stands anywhere.
    let mut heavy = (0..asked.needs.len()).filter(|need| {
        let matters = weights.get(*need).is_some_and(|weight| *weight >= HEAVY * total);
        let met = |unit: &Unit| unit.credit.get(*need).is_some_and(|credit| *credit > BY_NEIGHBOUR);
        matters && !met(unit) && units.iter().any(met)
    });
    let above = [Some(at), unit.term, lead_of(units, at)];
    // A word in code is as often chance.
    let speaks = |at: &usize| units.get(*at).is_some_and(|one| one.kind != Kind::Code || is_bare);
    let own =
        above.into_iter().flatten().filter(speaks).filter_map(|at| units.get(at)).map(|one| sum(&one.direct, weights));
    let is_own = own.fold(0.0, f64::max) >= LEAST_OWN * total || is_headed(units, unit, weights);
    if sum(&unit.credit, weights) < least * total || heavy.next().is_some() || !is_own {
        return Err(None);
    }
    let body = introduced(units, at);
    let is_code = unit.kind == Kind::Code
        || units.get(body.clone()).is_some_and(|all| all.iter().any(|one| one.kind == Kind::Code));
    let columns = Some(columns_of(units, at)).filter(|_| unit.kind == Kind::Row);
    let above = [unit.term, lead_of(units, at), columns];
    let around = || body.clone().chain(above.into_iter().flatten()).filter_map(|at| units.get(at));
    let joined = |with_code: bool| {
        let others = around().filter(|one| with_code || one.kind != Kind::Code).map(|one| one.text.as_str());
        std::iter::once(unit.text.as_str()).chain(others).collect::<Vec<_>>().join("\n")
    };
    // The numbers in code count nothing.
    let counts = asked.may_stand_in_code() || unit.kind != Kind::Code;
    let text = if counts { joined(asked.may_stand_in_code()) } else { String::new() };
    let asks = is_headed(units, unit, weights);
    match asked.lacks(&text, is_code) {
        // What stands under a heading that asks for a reason or a way is one.
        Some(Asked::Why | Asked::How) if asks => Ok(()),
        Some(kind) => Err(Some(kind)),
        None => Ok(()),
    }
}

/// Whether a unit tells what was changed, for a question that asks for what is so.
fn tells_change(asked: &Question, sources: &[Source], unit: &Unit) -> bool {
    !asked.asks_change && sources.get(unit.source).is_some_and(|one| tells_changes(&one.reference))
}

/// Whether two words of the question that stand together there, and elsewhere, both are missed.
fn misses_pair(asked: &Question, units: &[Unit], unit: &Unit) -> bool {
    let holds = |credit: &[f64], at: usize| credit.get(at).is_some_and(|credit| *credit > BY_NEIGHBOUR);
    (1..asked.needs.len()).any(|at| {
        let pair = [at - 1, at];
        let meant = pair.iter().all(|at| asked.needs.get(*at).is_some_and(|need| need.nameable));
        meant
            && asked.are_neighbours(at - 1)
            && !pair.iter().any(|at| holds(&unit.credit, *at))
            && units.iter().any(|one| pair.iter().all(|at| holds(&one.direct, *at)))
    })
}

/// Whether a name of the question stands neither in the passage of a unit nor above it: nothing else can be said for a
/// name. One that stands in most sources is what all of them are about; of a known one that stands nowhere the answer
/// says so.
fn misses_name(asked: &Question, units: &[Unit], unit: &Unit) -> bool {
    let all: HashSet<usize> = units.iter().map(|unit| unit.source).collect();
    asked.needs.iter().enumerate().any(|(at, need)| {
        if !need.nameable || !(need.word.is_name() || meanings::commonness(&need.word.whole) == 0) {
            return false;
        }
        let met = |unit: &&Unit| unit.direct.get(at).is_some_and(|met| *met > HALF);
        let holding: HashSet<usize> = units.iter().filter(met).map(|unit| unit.source).collect();
        let above = unit.credit.get(at).is_some_and(|credit| *credit > HALF);
        if holding.is_empty() && meanings::commonness(&need.word.whole) > 0 {
            return false;
        }
        !above && !holding.contains(&unit.source) && 2 * holding.len() < all.len()
    })
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
    // Units stand in the order of sources and lines; code stands as a whole behind what introduces it.
    chosen.sort_unstable();
    let mut text = String::new();
    let mut quotes: Vec<Quote> = Vec::new();
    let mut next = 0;
    for at in chosen {
        let at = lead_of(units, at).filter(|lead| *lead >= next && !options.plain).unwrap_or(at);
        if at < next {
            continue;
        }
        let body = if units.get(at).is_some_and(|unit| unit.kind == Kind::Code) {
            code(units, at)
        } else {
            introduced(units, at)
        };
        let wanted = units.get(at).is_some_and(|unit| {
            let shows = unit.kind == Kind::Prose && (asked.is(Asked::How) || asked.lacks(&unit.text, false).is_some());
            unit.text.ends_with(':') || unit.kind == Kind::Code || shows || announces(units, at)
        });
        let body = if wanted && !options.plain { body } else { at + 1..at + 1 };
        next = body.end.max(at + 1);
        quotes.extend(write_quote(&mut text, sources, units, at, &body, options.plain));
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
        let _ = write!(text, "\nNot in these lines, only elsewhere in the sources: {}.", quoted(&elsewhere));
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

/// The places of the lines of code that stand together with the one at a place.
fn code(units: &[Unit], at: usize) -> std::ops::Range<usize> {
    let joins = |a: usize| match (units.get(a), units.get(a + 1)) {
        (Some(one), Some(next)) => {
            next.kind == Kind::Code
                && one.kind == Kind::Code
                && one.source == next.source
                && next.line <= one.end_line + 2
        }
        _ => false,
    };
    let (mut start, mut end) = (at, at + 1);
    while start > 0 && joins(start - 1) && at - start < MAX_CODE / 2 {
        start -= 1;
    }
    while joins(end - 1) && end - start < MAX_CODE {
        end += 1;
    }
    start..end
}

/// Lines of code in a quote, at most.
const MAX_CODE: usize = 20;

/// Writes what is quoted of one place: a sentence, and what it introduces behind it.
fn write_quote(
    text: &mut String,
    sources: &[Source],
    units: &[Unit],
    at: usize,
    body: &std::ops::Range<usize>,
    plain: bool,
) -> Option<Quote> {
    let unit = units.get(at)?;
    let source = sources.get(unit.source)?;
    let rest = units.get(body.clone()).unwrap_or_default();
    let is_code = rest.first().is_some_and(|first| first.kind == Kind::Code);
    let first = if unit.kind == Kind::Code { rest.first().unwrap_or(unit) } else { unit };
    let last = rest.last().filter(|_| is_code).unwrap_or(unit);
    let place = source.range(first.line, last.end_line.max(unit.end_line));
    if !text.is_empty() {
        text.push('\n');
    }
    let single = unit.kind == Kind::Code && rest.len() < 2;
    if single && !plain && !unit.text.contains('`') {
        let _ = write!(text, "`{}` [{place}]", unit.text);
    } else if unit.kind != Kind::Code || single {
        let _ = write!(text, "{} [{place}]", unit.text);
    }
    let quote = Quote {
        source: unit.source,
        line: first.line,
        end_line: last.end_line.max(unit.end_line),
        text: unit.text.clone(),
        score: unit.score,
    };
    if single || rest.is_empty() {
        return Some(quote);
    }
    if is_code {
        let start = rest.first().map_or(unit.line, |one| one.line).saturating_sub(source.line);
        let count = last.end_line.saturating_sub(source.line) + 1 - start.min(last.end_line - source.line);
        let lines: Vec<&str> = source.text.split('\n').skip(start).take(count).map(str::trim_end).collect();
        let indent = |line: &&&str| line.len() - line.trim_start().len();
        let margin = lines.iter().filter(|line| !line.is_empty()).map(|line| indent(&line)).min().unwrap_or(0);
        let fence = if lines.iter().any(|line| line.contains("```")) { "````" } else { "```" };
        text.push_str(if text.is_empty() { "" } else { "\n" });
        let _ = writeln!(text, "{fence}");
        for line in lines {
            let _ = writeln!(text, "{}", line.get(margin..).unwrap_or_default());
        }
        text.push_str(fence);
        if unit.kind == Kind::Code {
            let _ = write!(text, "\n[{place}]");
        }
        return Some(quote);
    }
    for item in
        rest.chunk_by(|one, next| one.kind == Kind::Prose && next.kind == Kind::Prose && one.block == next.block)
    {
        let said: Vec<&str> = item.iter().map(|one| one.text.as_str()).collect();
        if let (Some(first), Some(last)) = (item.first(), item.last()) {
            let _ = write!(text, "\n- {} [{}]", said.join(" "), source.range(first.line, last.end_line));
        }
    }
    Some(quote)
}

/// The answer where there is none; `lacking` is what nothing holds that speaks of the subject.
fn nothing(asked: &Question, found: &[bool], sources: usize, lacking: Option<Asked>) -> Answer {
    let missing = asked.names(|at| !found.get(at).copied().unwrap_or(false));
    let all = asked.names(|_| true);
    let place = match sources {
        0 => "in any source".to_owned(),
        1 => "in 1 source".to_owned(),
        n => format!("in {n} sources"),
    };
    let text = if all.is_empty() {
        format!("I found nothing {place}: the question holds no word to look for.")
    } else if !missing.is_empty() {
        format!("I found nothing about {} {place}.", quoted(&missing))
    } else {
        let how = match lacking {
            _ if asked.is_vague() => "nothing there says how".to_owned(),
            Some(Asked::How) => "nothing there says how".to_owned(),
            Some(kind) => format!("nothing there tells {}", kind.noun()),
            None => "nothing there answers it".to_owned(),
        };
        let word = if all.len() == 1 { "stands" } else { "stand" };
        format!("I found nothing that answers this {place}: {} {word} there, but {how}.", quoted(&all))
    };
    Answer { text, quotes: Vec::new(), missing, coverage: 0.0 }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
