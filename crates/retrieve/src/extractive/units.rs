//! What can be quoted, and how well each piece fits a question.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use super::Options;
use crate::{asked::Asked, bm25, gather::tells_changes, marks::clean, question::Question};
use loopwright_base::sources::{Source, SourceKind};
use loopwright_lexicon::{
    lines::Format,
    meanings,
    sentences::{Kind, sentences},
    words::{self, is_misspelt},
};

/// At most this many units of all sources are looked at.
const MAX_UNITS: usize = 20_000;

/// What a word of the question counts that stands not in a unit itself but near it.
const BY_QUESTION: f64 = 0.85;
const BY_HEADING: f64 = 0.55;
pub(super) const BY_NEIGHBOUR: f64 = 0.35;
const BY_PATH: f64 = 0.3;

/// A heading with this part of what is asked for holds it.
pub(super) const NAMED: f64 = 0.69;

/// What is worth less that tells of a change.
const CHANGED: f64 = 0.5;

/// What is worth more that stands under a heading which asks the question.
const UNDER_QUESTION: f64 = 1.4;

/// Units that belong together because they tell of one term, at most.
const LONG_ENTRY: usize = 24;

/// A row of a table with more words than these is a list.
const LONG_ROW: usize = 40;

/// A piece of a source that can be quoted.
pub(super) struct Unit {
    pub(super) source: usize,
    pub(super) block: usize,
    pub(super) line: usize,
    pub(super) end_line: usize,
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) terms: HashSet<String>,
    pub(super) length: usize,
    /// How much of each word of the question stands in the unit itself.
    pub(super) direct: Vec<f64>,
    /// The same with headings, neighbours and the path.
    pub(super) credit: Vec<f64>,
    /// The place of the heading that it stands under, where that is a unit of its source.
    pub(super) heading: Option<usize>,
    /// The place of the term that it tells of.
    pub(super) term: Option<usize>,
    /// Blanks before it on its line.
    pub(super) indent: usize,
    /// Whether it begins or goes on an item of a list.
    pub(super) item: bool,
    /// Whether it asks instead of saying.
    pub(super) asks: bool,
    pub(super) score: f64,
}

/// The units of all sources; a place that stands in two sources gives its units once.
pub(super) fn read_units(asked: &Question, sources: &[Source], options: &Options) -> Vec<Unit> {
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
        let mut under: Option<usize> = None;
        let mut term: Option<(usize, usize, usize)> = None;
        let mut item = (usize::MAX, false);
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
            let asks = text.ends_with('?') && matches!(sentence.kind, Kind::Prose | Kind::Term);
            let (block, kind, credit, score) = (sentence.block, sentence.kind, Vec::new(), 0.0);
            let before = source.text.get(..sentence.bytes.start).unwrap_or_default();
            let before = before.rsplit('\n').next().unwrap_or_default();
            let indent = before.len() - before.trim_start().len();
            if item.0 != block {
                item = (block, kind == Kind::Prose && !before.trim().is_empty());
            }
            let (heading, told) = (under, term.filter(|(_, out, row)| indent > *out || line == *row).map(|one| one.0));
            match kind {
                Kind::Heading => (under, term) = (Some(units.len()), None),
                Kind::Term => term = Some((units.len(), indent, line)),
                _ if told.is_none() => term = None,
                _ => {}
            }
            let (item, term_of) = (item.1, told);
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
                heading,
                term: term_of,
                indent,
                item,
                asks,
                score,
            });
        }
    }
    units
}

/// What a word counts that means what one of the question means.
const BY_MEANING: f64 = 0.5;
/// What is left of two words, where they stand apart, that are written as one elsewhere: "auto restart", `autorestart`.
const APART: f64 = 0.5;

/// Words of the question that are said with others count for what those say.
pub(super) fn read_meanings(asked: &Question, units: &mut [Unit]) {
    let said: HashSet<String> = units.iter().flat_map(|unit| unit.terms.iter().cloned()).collect();
    for (at, need) in asked.needs.iter().enumerate() {
        if need.nameable && need.word.parts.is_empty() && !need.word.is_name() {
            let same: Vec<&String> = said.iter().filter(|term| meanings::are_same(&need.word.whole, term)).collect();
            for unit in units.iter_mut().filter(|unit| same.iter().any(|term| unit.terms.contains(*term))) {
                if let Some(direct) = unit.direct.get_mut(at) {
                    *direct = direct.max(BY_MEANING);
                }
            }
        }
        let next = asked.needs.get(at + 1).filter(|_| asked.are_neighbours(at));
        let one = next.map(|next| words::terms(&format!("{}{}", need.word.surface, next.word.surface)));
        if let Some(one) = one.and_then(|one| one.into_iter().next()).and_then(|one| said.get(&one)) {
            for unit in units.iter_mut() {
                let holds = unit.terms.contains(one);
                for met in unit.direct.iter_mut().skip(at).take(2) {
                    *met = if holds { 1.0 } else { *met * APART };
                }
            }
        }
    }
}

/// A word of the question that stands nowhere is taken for the one within a letter of it that stands most often; names
/// are taken as they are written.
pub(super) fn mend_spelling(asked: &mut Question, units: &mut [Unit]) {
    for (at, need) in asked.needs.iter_mut().enumerate() {
        let stands = units.iter().any(|unit| unit.direct.get(at).is_some_and(|met| *met > 0.0));
        if stands || need.word.is_name() {
            continue;
        }
        let mut near: BTreeMap<&str, usize> = BTreeMap::new();
        for term in units.iter().flat_map(|unit| &unit.terms).filter(|term| is_misspelt(term, &need.word.whole)) {
            *near.entry(term).or_default() += 1;
        }
        let best = near.into_iter().max_by_key(|(_, count)| *count).map(|(term, _)| term.to_owned());
        let Some(best) = best else { continue };
        need.word.whole = best;
        for unit in &mut *units {
            let met = need.met_in(&unit.text, &unit.terms);
            if let Some(direct) = unit.direct.get_mut(at) {
                *direct = met;
            }
        }
    }
}

/// Words of the question that stand near a unit count for it as well, but less.
pub(super) fn give_context(asked: &Question, sources: &[Source], units: &mut [Unit], weights: &[f64]) {
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
    let all: f64 = weights.iter().sum();
    // A heading that says nearly all of the question asks it: what stands under it is the answer.
    let share_of = |of_heading: &[f64]| {
        if sum(of_heading, weights) >= NAMED * all && (asked.needs.len() > 1 || asked.is_vague()) {
            BY_QUESTION
        } else {
            BY_HEADING
        }
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
        if let Some(place) = unit.term {
            for told in units.iter().skip(place).take(LONG_ENTRY).filter(|one| one.term == Some(place)) {
                add(&mut credit, &told.direct, BY_HEADING);
            }
            add(&mut credit, units.get(place).map_or(&[][..], |term| &term.direct), BY_QUESTION);
        }
        if let Some(lead) = lead_of(units, at).and_then(|lead| units.get(lead)) {
            add(&mut credit, &lead.direct, BY_QUESTION);
        }
        let share = if unit.direct.iter().any(|met| *met > 0.0) { BY_HEADING } else { BY_NEIGHBOUR };
        for introduced in introduced(units, at).filter_map(|one| units.get(one)) {
            add(&mut credit, &introduced.direct, share);
        }
        let leans =
            ["It ", "This ", "They ", "These ", "That ", "Its ", "Their "].iter().any(|w| unit.text.starts_with(w));
        let before = at.checked_sub(1).and_then(|before| units.get(before)).filter(|one| one.source == unit.source);
        if let Some(before) = before.filter(|before| before.kind != Kind::Heading) {
            let share = if before.asks || leans {
                BY_QUESTION
            } else if unit.kind == Kind::Heading {
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
        if unit.kind == Kind::Row
            && let Some(first) = units.get(columns_of(units, at))
        {
            add(&mut credit, &first.direct, BY_HEADING);
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
pub(super) fn weigh(asked: &Question, units: &[Unit]) -> Vec<f64> {
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

pub(super) fn score(asked: &Question, sources: &[Source], units: &mut [Unit], weights: &[f64]) {
    let average = units.iter().map(|unit| unit.length).sum::<usize>() as f64 / units.len().max(1) as f64;
    let top = sources.iter().map(|source| source.score).fold(0.0, f64::max);
    let meant: f64 = asked.needs.iter().zip(weights).filter(|(need, _)| need.nameable).map(|(_, weight)| weight).sum();
    // Whether the unit before is a heading that holds what is asked for.
    let mut after_heading = false;
    let opens: Vec<bool> = (0..units.len()).map(|at| !introduced(units, at).is_empty()).collect();
    let above = |unit: &Unit| unit.heading.and_then(|at| units.get(at)).map_or(0.0, |one| sum(&one.direct, weights));
    let headings: Vec<f64> = units.iter().map(above).collect();
    // What is told of a term need not name it again.
    let with_term = |unit: &Unit| {
        let term = unit.term.and_then(|at| units.get(at)).map(|term| term.direct.as_slice()).unwrap_or_default();
        let held = |(at, own): (usize, &f64)| own.max(BY_QUESTION * term.get(at).copied().unwrap_or(0.0));
        sum(&unit.direct.iter().enumerate().map(held).collect::<Vec<_>>(), weights)
    };
    let told: Vec<f64> = units.iter().map(with_term).collect();
    for (at, unit) in units.iter_mut().enumerate() {
        let direct = told.get(at).copied().unwrap_or(0.0);
        let mut score = sum(&unit.credit, weights);
        let holds = unit.kind == Kind::Heading && direct >= NAMED * meant;
        let follows = std::mem::replace(&mut after_heading, holds);
        if score <= 0.0 {
            continue;
        }
        score = 0.5 * score + 0.5 * direct.max(score * 0.6);
        // What was changed once is seldom what is so.
        if !asked.asks_change && sources.get(unit.source).is_some_and(|one| tells_changes(&one.reference)) {
            score *= CHANGED;
        }
        // What ranked high as a whole is more likely to be about the question.
        if top > 0.0 && top.is_finite() {
            let rank = sources.get(unit.source).map_or(0.0, |source| (source.score / top).clamp(0.0, 1.0));
            score *= 0.7 + 0.3 * rank;
        }
        let leads = opens.get(at).copied().unwrap_or(false) && unit.kind == Kind::Prose;
        score *= asked.fit(&unit.text, unit.kind == Kind::Code || leads);
        score *= match unit.kind {
            // One that holds what is asked for, and more, names it; so does one right below it.
            // A heading may say what is the default: "`capture="sys"` (default)".
            Kind::Heading if asked.is(Asked::Default) && asked.lacks(&unit.text, false).is_none() => 1.2,
            Kind::Heading if asked.asks_name && ((holds && says_more(unit)) || follows) => 1.3,
            Kind::Heading | Kind::Columns => 0.3,
            Kind::Term if !unit.asks => 0.8,
            Kind::Code if !asked.is(Asked::How) => 0.7,
            // A row leans on its columns; one of many words lists what belongs to something.
            Kind::Row if asked.asks_table => 1.6,
            Kind::Row if asked.names_a_thing() => 1.1,
            Kind::Row if unit.length > LONG_ROW => 0.4,
            Kind::Row => 0.9,
            _ if unit.asks => 0.3,
            // What leads to something is worth what it leads to.
            Kind::Prose if unit.text.ends_with(':') && !opens.get(at).copied().unwrap_or(false) => 0.3,
            _ => 1.0,
        };
        let (heading, all) = (headings.get(at).copied().unwrap_or(0.0), weights.iter().sum::<f64>());
        if heading >= NAMED * all && asked.needs.len() > 1 && unit.kind != Kind::Heading {
            score *= UNDER_QUESTION;
        }
        unit.score = score / (0.9 + 0.1 * (unit.length.max(6) as f64 / average.max(6.0)));
        // A sentence of a word or two says nothing by itself, unless something around it asked for it.
        if unit.length < 2 && sum(&unit.credit, weights) <= direct {
            unit.score *= 0.6;
        }
    }
}

/// Lines between two units that still belong together.
const GAP: usize = 4;
/// What a unit introduces is no longer than this many units.
const MAX_INTRODUCED: usize = 20;

/// The places of the units that one introduces: the code right behind a sentence, the items of a list or the rows of a
/// table behind a colon.
pub(super) fn introduced(units: &[Unit], at: usize) -> Range<usize> {
    let none = at + 1..at + 1;
    let (Some(lead), Some(first)) = (units.get(at), units.get(at + 1)) else { return none };
    let ends = lead.text.ends_with(':') || announces(units, at);
    let follows = first.source == lead.source && first.line <= lead.end_line + GAP;
    if lead.kind != Kind::Prose || !follows || first.block == lead.block && first.kind == Kind::Prose && !first.item {
        return none;
    }
    let belongs: &dyn Fn(&Unit, &Unit) -> bool = match first.kind {
        Kind::Code if ends || !lead.item => &|one, before| one.kind == Kind::Code && one.line <= before.end_line + 2,
        Kind::Prose if ends && first.item => &|one, before| {
            one.kind == Kind::Prose && one.item && one.indent >= first.indent && one.line <= before.end_line + 2
        },
        Kind::Row | Kind::Columns if ends => &|one, _| matches!(one.kind, Kind::Row | Kind::Columns),
        _ => return none,
    };
    let mut end = at + 2;
    while let (Some(one), Some(before)) = (units.get(end), units.get(end - 1))
        && one.source == first.source
        && belongs(one, before)
        && end - at <= MAX_INTRODUCED
    {
        end += 1;
    }
    at + 1..end
}

/// Whether a sentence, or the one before it in its paragraph, speaks of "the following" that stands behind it.
pub(super) fn announces(units: &[Unit], at: usize) -> bool {
    let block = units.get(at).map(|unit| (unit.source, unit.block));
    let says = |one: &Unit| one.text.contains("following") && Some((one.source, one.block)) == block;
    units.get(at.saturating_sub(1)..=at).is_some_and(|two| two.iter().any(says))
}

/// The place of the first row of a table, which names its columns.
pub(super) fn columns_of(units: &[Unit], at: usize) -> usize {
    let source = units.get(at).map(|unit| unit.source);
    let is_row = |one: &&Unit| matches!(one.kind, Kind::Row | Kind::Columns) && Some(one.source) == source;
    let above = units.get(at.saturating_sub(64)..at).unwrap_or_default();
    at - above.iter().rev().take_while(is_row).count()
}

/// The place of the sentence that introduces a unit.
pub(super) fn lead_of(units: &[Unit], at: usize) -> Option<usize> {
    let unit = units.get(at)?;
    if matches!(unit.kind, Kind::Heading | Kind::Term) || (unit.kind == Kind::Prose && !unit.item) {
        return None;
    }
    let alike = |one: &Unit| one.kind == unit.kind || (unit.kind == Kind::Row && one.kind == Kind::Columns);
    let back = units.get(at.saturating_sub(MAX_INTRODUCED)..at)?.iter().rev().take_while(|one| alike(one)).count();
    let lead = (at - back).checked_sub(1)?;
    // An item may stand behind items that are none of its list.
    let leads = (lead..at).rev().find(|lead| introduced(units, *lead).contains(&at))?;
    Some(leads)
}

/// Whether more stands in a unit than what is asked for.
fn says_more(unit: &Unit) -> bool {
    unit.terms.len() > unit.direct.iter().filter(|met| **met > 0.0).count()
}

pub(super) fn sum(credit: &[f64], weights: &[f64]) -> f64 {
    credit.iter().zip(weights).map(|(credit, weight)| credit * weight).sum()
}

#[cfg(test)]
mod tests {
    use crate::{
        extractive::{Options, answer},
        support::{self, ANSWERABLE},
    };
    use loopwright_base::sources::Source;

    fn source(name: &str, text: &str) -> Source {
        Source { reference: name.to_owned(), line: 1, text: text.to_owned(), ..Source::default() }
    }

    fn first(question: &str, text: &str) -> String {
        let quotes = answer(question, &[source("a.md", text)], &Options { trusted: true, ..Options::default() }).quotes;
        let best = quotes.into_iter().max_by(|a, b| a.score.total_cmp(&b.score));
        best.map(|quote| quote.text).unwrap_or_default()
    }

    #[test]
    fn x15_what_is_asked_for_by_its_kind_is_preferred() {
        for (question, text, wanted) in [
            (
                "How long does an approval wait?",
                "An approval waits in `pending` until somebody decides.\n\nAn approval lapses after 60 seconds.",
                "60 seconds",
            ),
            (
                "How large may a report be?",
                "A report may be large: `report?page=3` shows one part.\n\nReports end at 10 MB.",
                "10 MB",
            ),
            (
                "How many retries of a request are made?",
                "Retries of a request are made by the client.\n\nA request has 4 retries.",
                "4 retries",
            ),
            (
                "How many attempts does a grounded answer have?",
                "Of the last hundred grounded answers those are told that needed another attempt.\n\n\
                 | name | default | what |\n| --- | --- | --- |\n| `verify_attempts` | 3 | drafts of a grounded answer |\n",
                "`verify_attempts` | 3",
            ),
            (
                "How many searches run at once?",
                "All 40 threads run searches that are due at once.\n\nUp to six searches run at once.",
                "six searches",
            ),
            (
                "How long may a hook take?",
                "A hook takes 15 microseconds, which a hook of 2 ms hides.\n\nA hook that hangs is left after its time limit (5 seconds).",
                "5 seconds",
            ),
            (
                "How large can a page be?",
                "A page of 300 kB is a large page.\n\nA page is cut where it is longer than 2 MB.",
                "2 MB",
            ),
            (
                "How long was the reign of the queen?",
                "The reign of the queen was in the 1990s.\n\nThe queen had a reign of twelve years.",
                "twelve years",
            ),
        ] {
            let found = first(question, text);
            assert!(found.contains(wanted), "{question}: {found}");
        }
    }

    fn told(question: &str, name: &str, text: &str) -> String {
        answer(question, &[source(name, text)], &Options { trusted: true, ..Options::default() }).text
    }

    #[test]
    fn a1_a_sentence_comes_with_what_it_introduces() {
        let text = "Install\n-------\n\nInstall the newest frob using pip:\n\n\
                    .. code-block:: text\n\n    $ pip install frob\n\n\
                    After installing it, frob is there.\n";
        assert_eq!(
            told("How do I install frob?", "a.rst", text),
            "Install the newest frob using pip: [a.rst:4-8]\n```\n$ pip install frob\n```"
        );
        let text = "Use frob because:\n\n- it is small\n- it is fast\n\nIt is old.\n";
        assert_eq!(
            told("Why should I use frob?", "a.md", text),
            "Use frob because: [a.md:1]\n- it is small [a.md:3]\n- it is fast [a.md:4]"
        );
    }

    #[test]
    fn a1_a_term_is_context_of_what_defines_it() {
        let text = "``frob.delay``:\n    Sets the delay of a frob.  The default\n    is `5`.\n\n\
                    ``frob.size``:\n    The default is `7`.\n";
        let said = told("What is the default of frob.delay?", "a.rst", text);
        assert!(said.contains("`5`") && !said.contains("`7`"), "{said}");
    }

    #[test]
    fn a1_what_has_not_the_form_that_is_asked_for_is_no_answer() {
        for (question, text) in [
            ("What is the default timeout of a request?", "A request has a timeout. Requests are retried by default."),
            ("How much memory does a frob need?", "A frob needs memory for its pages."),
            ("Which exception does a frob raise?", "A frob may raise a flag on the roof."),
            ("Why is the frob slow?", "The frob is slow and old."),
            ("Which option hides the frob?", "The frob hides in its box, an option of last resort."),
        ] {
            assert!(told(question, "a.md", text).starts_with("I found nothing"), "{question}");
        }
    }

    #[test]
    fn a1_words_meet_as_people_write_them() {
        for (question, text) in [
            ("Is http2 supported?", "HTTP/2 is supported by the client."),
            ("Is HTTP/2 supported?", "The client supports `http2`."),
            ("What does max_turns do?", "The max turns limit how long a run goes on."),
            ("How is the screan cleared?", "The screen is cleared by a call."),
        ] {
            assert!(!told(question, "a.md", text).starts_with("I found nothing"), "{question}");
        }
    }

    #[test]
    fn a1_entries_of_settings_and_fields_are_read_with_their_names() {
        for (question, text, wanted) in [
            (
                "What is the default of stopsecs?",
                "``stopsecs``\n\n  The seconds to wait.\n\n  *Default*: 10\n\n\
                 ``startsecs``\n\n  *Default*: 1\n",
                ["stopsecs", "10"],
            ),
            (
                "What is the default of frob_w0?",
                ":param frob_w0: How a frob is cut. The default value\n    is 0.75.\n\
                 :param frob_size: The default is 7.\n",
                ["frob_w0", "0.75"],
            ),
            (
                "Which package do I need where frob.h is not found?",
                "I can't build frob: it says *frob.h: not found*. What is missing in the package?\n    Install it: \
                 it is usually called ``frob-dev``.\n",
                ["called", "frob-dev"],
            ),
            (
                "In which places is frob.conf looked for?",
                "Looked for is :file:`frob.conf` in the following places. The first wins.\n\n\
                 #. :file:`../etc/frob.conf`\n\n#. :file:`/etc/frob.conf`\n",
                ["../etc/frob.conf", "- `/etc/frob.conf`"],
            ),
        ] {
            let said = told(question, "a.rst", text);
            assert!(wanted.iter().all(|wanted| said.contains(wanted)), "{question}: {said}");
        }
    }

    #[test]
    fn a1_nothing_stands_in_for_a_name_and_what_was_changed_for_what_is_so() {
        let text = "You can send a frob to a friend by `send()`.\n";
        assert!(told("How do I send a frob to a friend by zorkmail?", "a.md", text).starts_with("I found nothing"));
        assert!(!told("How do I send a frob to a friend?", "a.md", text).starts_with("I found nothing"));
        let changed = source("CHANGES.md", "The frob gained a default size of 5.\n");
        let is_so = source("a.md", "The default size of a frob is 7.\n");
        let options = Options { trusted: true, ..Options::default() };
        let said = answer("What is the default size of a frob?", &[changed, is_so], &options).text;
        assert!(said.contains("is 7") && !said.contains("gained"), "{said}");
    }

    #[test]
    fn a1_a_default_has_its_value_beside_it() {
        let text = "Unlike `frob.pages` this cache is, as was said above, limited in its size by default.\n";
        assert!(told("What is the default size of the cache?", "a.md", text).starts_with("I found nothing"));
    }

    #[test]
    fn x15_how_deep_is_answered_by_a_depth() {
        let text = "The channel was dredged in 2019.\n\nThe depth of the channel is 7.5 metres.";
        assert!(first("How deep is the channel?", text).contains("7.5 metres"));
        assert!(support::of_sources("How deep is the channel?", &[source("a.md", text)]) >= ANSWERABLE);
    }

    #[test]
    fn x15_a_sentence_that_leans_on_another_disagrees_for_it() {
        let old = source("old.md", "The ferry to Husum takes 75 minutes.");
        let new = source("new.md", "The ferry to Husum leaves at noon. It takes 90 minutes.");
        let bus = source("bus.md", "The bus to Husum leaves at noon. It takes 60 minutes.");
        let asked =
            |sources: &[Source]| answer("How long does the ferry to Husum take?", sources, &Options::default()).text;
        assert!(asked(&[old.clone(), new]).contains("The sources disagree: 75 [old.md:1], 90 [new.md:1]."));
        assert!(!asked(&[old, bus]).contains("disagree"));
    }

    #[test]
    fn x15_long_rows_of_tables_stand_behind_prose() {
        let tests = "`tests/a.py: a_failed_request_is_retried` ".repeat(20);
        let text = format!(
            "| Row | What | Tests |\n| --- | --- | --- |\n| A1 | A failed request is retried | {tests} |\n\n\
             A request that failed is retried after a second, up to 3 times.\n"
        );
        assert!(first("When is a failed request retried?", &text).contains("up to 3 times"));
        assert!(first("Which row of the table says that a failed request is retried?", &text).contains("A1"));
        let short = "| Setting | Default |\n| --- | --- |\n| `server.port` | 7420 |\n\nThe server listens on it.\n";
        assert!(first("What is the default port?", short).contains("7420"));
    }
}
