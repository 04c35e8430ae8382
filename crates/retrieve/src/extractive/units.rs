//! What can be quoted, and how well each piece fits a question.

use std::collections::HashSet;

use super::Options;
use crate::{asked::Asked, bm25, marks::clean, question::Question};
use loopwright_base::sources::{Source, SourceKind};
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, sentences},
    words,
};

/// At most this many units of all sources are looked at.
const MAX_UNITS: usize = 20_000;

/// What a word of the question counts that stands not in a unit itself but near it.
const BY_QUESTION: f64 = 0.85;
const BY_HEADING: f64 = 0.55;
const BY_NEIGHBOUR: f64 = 0.35;
const BY_PATH: f64 = 0.3;

/// A heading with this part of what is asked for holds it.
const NAMED: f64 = 0.75;

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
        let mut under = None;
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
            let heading = under;
            if kind == Kind::Heading {
                under = Some(units.len());
            }
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
                asks,
                score,
            });
        }
    }
    units
}

/// Words of the question that stand near a unit count for it as well, but less.
pub(super) fn give_context(asked: &Question, sources: &[Source], units: &mut [Unit]) {
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
    for unit in units {
        let direct = sum(&unit.direct, weights);
        let mut score = sum(&unit.credit, weights);
        let holds = unit.kind == Kind::Heading && direct >= NAMED * meant;
        let follows = std::mem::replace(&mut after_heading, holds);
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
            // One that holds what is asked for, and more, names it; so does one right below it.
            Kind::Heading if asked.asks_name && ((holds && says_more(unit)) || follows) => 1.3,
            Kind::Heading | Kind::Columns => 0.3,
            Kind::Code if !asked.is(Asked::How) => 0.7,
            // A row leans on its columns; one of many words lists what belongs to something.
            Kind::Row if asked.asks_table => 1.6,
            Kind::Row if unit.length > LONG_ROW => 0.4,
            Kind::Row => 0.9,
            _ if unit.asks => 0.3,
            _ => 1.0,
        };
        unit.score = score / (0.9 + 0.1 * (unit.length.max(6) as f64 / average.max(6.0)));
        // A sentence of a word or two says nothing by itself, unless something around it asked for it.
        if unit.length < 2 && sum(&unit.credit, weights) <= direct {
            unit.score *= 0.6;
        }
    }
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
