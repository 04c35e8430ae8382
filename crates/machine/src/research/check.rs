//! Checks of a draft, sentence by sentence: its statements, their citations, and whether those support them.
//!
//! The rules are those of the grounded answer, applied to each statement alone. In a report every statement must cite,
//! and its words must stand in what it cites: what passes here may be printed, all else is rewritten or dropped.

use std::collections::{BTreeSet, HashSet};

use crate::grounded::{Evidence, Lengths, Profile, Severity, verify};
use loopwright_base::sources::{Source, SourceKind};
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, sentences},
    words,
};
use loopwright_verify::citation::{Place, citations};

/// The share of a statement's words that must stand in what it cites.
const MIN_SHARED: f64 = 0.3;
/// Statements that are read at most; more are left out.
const MAX_STATEMENTS: usize = 200;

/// A statement of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The words, without citations, on one line.
    pub(super) text: String,
    /// The citations: numbers from 1, in order.
    pub(super) cites: Vec<usize>,
    /// The statement ends a paragraph.
    pub(super) ends_paragraph: bool,
}

impl Statement {
    /// The statement with its citations before the full stop, numbered by `number`.
    pub(super) fn written(&self, number: impl Fn(usize) -> usize) -> String {
        let marks: BTreeSet<usize> = self.cites.iter().map(|one| number(*one)).collect();
        let marks: Vec<String> = marks.into_iter().map(|one| format!("[{one}]")).collect();
        let marks = marks.concat();
        let bare = self.text.trim_end_matches(['.', '!', '?', '…']);
        let stop = self.text.get(bare.len()..).filter(|stop| !stop.is_empty()).unwrap_or(".");
        if marks.is_empty() { format!("{bare}{stop}") } else { format!("{} {marks}{stop}", bare.trim_end()) }
    }
}

/// The statements of a draft. A citation behind a full stop belongs to the sentence before it.
pub(super) fn statements(draft: &str) -> Vec<Statement> {
    let found = citations(draft, |_| false).citations;
    let mut masked = String::with_capacity(draft.len());
    let mut at = 0;
    for one in &found {
        masked.push_str(draft.get(at..one.bytes.start).unwrap_or_default());
        masked.extend(std::iter::repeat_n(' ', one.bytes.len()));
        at = one.bytes.end;
    }
    masked.push_str(draft.get(at..).unwrap_or_default());
    let units = sentences(&masked, Format::Markdown);
    let mut all: Vec<Statement> = Vec::new();
    let mut starts = Vec::new();
    let mut blocks = Vec::new();
    for unit in
        units.iter().filter(|unit| matches!(unit.kind, Kind::Prose | Kind::Row | Kind::Code)).take(MAX_STATEMENTS)
    {
        let words = masked.get(unit.bytes.clone()).unwrap_or_default();
        let text = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.trim_start_matches(['*', '_', '#', '>', '-', ' ']).trim_end_matches(['*', '_', ' ']);
        let text = text.replace(" .", ".").replace(" ,", ",");
        if text.chars().any(char::is_alphanumeric) {
            all.push(Statement { text, cites: Vec::new(), ends_paragraph: false });
            starts.push(unit.bytes.start);
            blocks.push(unit.block);
        }
    }
    for one in &found {
        let Some(before) = starts.partition_point(|start| *start <= one.bytes.start).checked_sub(1) else { continue };
        let Some(statement) = all.get_mut(before) else { continue };
        for place in &one.places {
            if let Place::Number(number) = place
                && !statement.cites.contains(number)
            {
                statement.cites.push(*number);
            }
        }
    }
    let next = blocks.iter().skip(1).map(Some).chain([None]);
    let ends: Vec<bool> = blocks.iter().zip(next).map(|(block, next)| next != Some(block)).collect();
    for (statement, ends) in all.iter_mut().zip(ends) {
        statement.ends_paragraph = ends;
    }
    all
}

/// The reason why a statement may not be printed; `None` if it may. `sources` are the numbered passages.
pub(super) fn unsupported(statement: &Statement, sources: &[Source], question: &str) -> Option<String> {
    if statement.cites.is_empty() {
        return Some("it cites nothing".to_owned());
    }
    if let Some(unknown) = statement.cites.iter().find(|number| **number == 0 || **number > sources.len()) {
        return Some(format!("[{unknown}] is none of the passages"));
    }
    // The passages that it cites, and nothing else, must carry it.
    let cited: Vec<Source> = statement.cites.iter().filter_map(|number| sources.get(number - 1)).cloned().collect();
    let numbers: Vec<usize> = (1..=cited.len()).collect();
    let alone = Statement { cites: numbers, ..statement.clone() }.written(|number| number);
    let evidence = Evidence { question, sources: &cited, tools: &[], unseen: false };
    let verification = verify(&alone, &evidence, Profile::Plain, &Lengths { short: 0, long: 0, long_question: 0 });
    let grave = |severity: Severity, code: &str| severity == Severity::Error || code == "NAME_NOT_IN_SOURCES";
    if let Some(issue) = verification.issues.iter().find(|issue| grave(issue.severity, issue.code)) {
        return Some(issue.message.clone());
    }
    let said: HashSet<String> = words::terms(&statement.text).into_iter().collect();
    let held: HashSet<String> =
        cited.iter().flat_map(|source| words::terms(&format!("{} {}", source.heading, source.text))).collect();
    let shared = said.intersection(&held).count() as f64;
    if !said.is_empty() && shared < MIN_SHARED * said.len() as f64 {
        return Some("what it cites does not speak of it".to_owned());
    }
    None
}

/// A passage as the rules see it.
pub(super) fn source_of(chunk: &super::state::Chunk, url: &str) -> Source {
    let web = url.starts_with("http://") || url.starts_with("https://");
    Source {
        kind: match web {
            true => SourceKind::Web,
            false if url.starts_with(super::act::TOOL) => SourceKind::Tool,
            false => SourceKind::File,
        },
        reference: url.to_owned(),
        line: chunk.line,
        end_line: chunk.end_line,
        heading: chunk.heading.clone(),
        text: chunk.text.clone(),
        score: f64::from(chunk.score),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { reference: "a".into(), line: 1, end_line: 1, text: text.into(), ..Source::default() }
    }

    #[test]
    fn citations_find_their_sentences() {
        let draft =
            "# Head\n\nThe cache holds ten pages [1]. Pages have 4,096 bytes. [2][3]\n\nAll is kept in Husum [1, 2].";
        let found = statements(draft);
        let shown: Vec<(String, bool)> = found.iter().map(|one| (one.written(|n| n), one.ends_paragraph)).collect();
        assert_eq!(
            shown,
            [
                ("The cache holds ten pages [1].".to_owned(), false),
                ("Pages have 4,096 bytes [2][3].".to_owned(), true),
                ("All is kept in Husum [1][2].".to_owned(), true),
            ]
        );
    }

    #[test]
    fn x16_what_the_cited_passage_does_not_hold_is_refused() {
        let sources = [source("The cache holds ten pages of 4096 bytes."), source("Water boils at 100 degrees.")];
        let check = |draft: &str| {
            let found = statements(draft);
            assert_eq!(found.len(), 1, "{draft}");
            unsupported(&found[0], &sources, "How large is the cache?")
        };
        assert_eq!(check("The cache holds 10 pages [1]."), None);
        assert_eq!(check("Each page of the cache has 4,096 bytes [1]."), None);
        for wrong in [
            "The cache holds 11 pages [1].",
            "The cache holds ten pages [2].",
            "The cache holds ten pages [3].",
            "The cache holds ten pages.",
            "Elvis lives quietly on a farm beyond the mountains [1].",
            "The cache of Zanzibar holds ten pages [1].",
        ] {
            assert!(check(wrong).is_some(), "{wrong}");
        }
    }
}
