//! The report: one section a topic, every statement with its sources, a bibliography of what is cited and nothing else,
//! and a closing that says why it stopped, what was not found, and which sources contradict each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    check::{Statement, source_of, unsupported},
    claims::{Contradiction, contradictions},
    config::Style,
    state::{AskedQuery, CycleRecord, ResearchState, Topic},
};
use loopwright_base::sources::Source;
use loopwright_lexicon::words;

/// Standard deviations above strangers below which a topic counts as not covered.
const MIN_COVERAGE: f32 = 2.0;

/// A statement with its citations: numbers of the bibliography.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedStatement {
    /// The statement as it is printed, `[n]` before the full stop.
    pub text: String,
    /// The citations.
    pub cites: Vec<usize>,
}

/// Statements that belong together.
pub type Paragraph = Vec<CitedStatement>;

/// A section: a topic of the outline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The topic.
    pub topic: String,
    /// The subtopics.
    pub subtopics: Vec<String>,
    /// The text.
    pub paragraphs: Vec<Paragraph>,
    /// The number of rewrites.
    pub rewrites: u32,
    /// The last review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Statements that were left out because nothing supports them, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
}

/// A source that is cited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The number in the report, from 1.
    pub number: usize,
    /// The number in the state, from 0.
    pub source: usize,
    /// The address or path.
    pub url: String,
    /// The title.
    pub title: String,
    /// The date of publication, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

/// The reason for the end of a research.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// A stable name.
    pub rule: String,
    /// In words.
    pub words: String,
}

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The question.
    pub query: String,
    /// The title.
    pub title: String,
    /// The abstract.
    pub r#abstract: Vec<CitedStatement>,
    /// The sections.
    pub sections: Vec<Section>,
    /// The sources that are cited.
    pub bibliography: Vec<Reference>,
    /// The reason for the end.
    pub stopped: StopReport,
    /// Topics, and words of the question, that were not found.
    pub not_found: Vec<String>,
    /// The contradictions of sources.
    pub contradictions: Vec<Contradiction>,
    /// The model that wrote it, as it is shown.
    pub model: String,
    /// Rules wrote it: nothing but quotes.
    pub without_model: bool,
    /// The level of detail.
    pub style: Style,
    /// The record of each cycle.
    pub cycles: Vec<CycleRecord>,
    /// The queries.
    pub queries: Vec<AskedQuery>,
    /// The number of sources that were read.
    pub sources_read: usize,
    /// Problems on the way, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Report {
    /// Returns whether the report says nothing.
    pub fn is_empty(&self) -> bool {
        self.sections.iter().all(|section| section.paragraphs.is_empty())
    }

    /// All statements, abstract first.
    pub fn lines(&self) -> impl Iterator<Item = &CitedStatement> {
        self.r#abstract.iter().chain(self.sections.iter().flat_map(|section| section.paragraphs.iter().flatten()))
    }
}

/// A section as it was written: statements that cite its own passages by number.
pub(super) struct SectionDraft<'a> {
    pub(super) topic: &'a Topic,
    /// The chunks behind the numbers, by their places in the state.
    pub(super) passages: Vec<super::state::Chunk>,
    pub(super) statements: Vec<Statement>,
    pub(super) rewrites: u32,
    pub(super) review: Option<String>,
    pub(super) dropped: Vec<String>,
}

/// Puts sections together: numbers of passages become numbers of sources, in the order in which they are cited first.
pub(super) fn assemble(drafts: Vec<SectionDraft<'_>>, state: &ResearchState) -> (Vec<Section>, Vec<Reference>) {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut sections = Vec::new();
    for draft in drafts {
        for statement in &draft.statements {
            for cited in &statement.cites {
                if let Some(chunk) = draft.passages.get(cited - 1) {
                    let next = numbers.len() + 1;
                    numbers.entry(chunk.source).or_insert(next);
                }
            }
        }
        let number = |cited: usize| {
            draft.passages.get(cited - 1).and_then(|chunk| numbers.get(&chunk.source)).copied().unwrap_or(0)
        };
        let mut paragraphs: Vec<Paragraph> = Vec::new();
        let mut open = false;
        for statement in &draft.statements {
            let line = line_of(statement, number);
            match paragraphs.last_mut() {
                Some(paragraph) if open => paragraph.push(line),
                _ => paragraphs.push(vec![line]),
            }
            open = !statement.ends_paragraph;
        }
        sections.push(Section {
            topic: draft.topic.topic.clone(),
            subtopics: draft.topic.subtopics.clone(),
            paragraphs,
            rewrites: draft.rewrites,
            review: draft.review,
            dropped: draft.dropped,
        });
    }
    let mut references: Vec<Reference> = numbers
        .into_iter()
        .map(|(source, number)| {
            let page = state.sources.get(source).cloned().unwrap_or_default();
            Reference { number, source, url: page.url, title: page.title, published: page.published }
        })
        .collect();
    references.sort_by_key(|reference| reference.number);
    (sections, references)
}

fn line_of(statement: &Statement, number: impl Fn(usize) -> usize) -> CitedStatement {
    let mut cites: Vec<usize> = statement.cites.iter().map(|one| number(*one)).collect();
    cites.sort_unstable();
    cites.dedup();
    CitedStatement { text: statement.written(number), cites }
}

/// The kept chunks of the sources of a bibliography, by number.
pub(super) fn evidence(references: &[Reference], state: &ResearchState) -> Vec<Source> {
    references
        .iter()
        .map(|reference| {
            let chunks = state.all_chunks.iter().filter(|chunk| chunk.source == reference.source);
            let mut all = chunks.clone();
            let mut source = all.next().map(|chunk| source_of(chunk, &reference.url)).unwrap_or_default();
            for chunk in all {
                source.text.push_str("\n\n");
                source.text.push_str(&chunk.text);
                source.end_line = source.end_line.max(chunk.end_line);
            }
            source
        })
        .collect()
}

/// The statements of an abstract that the sources support.
pub(super) fn supported_abstract(
    statements: &[Statement],
    references: &[Reference],
    state: &ResearchState,
) -> Vec<CitedStatement> {
    let sources = evidence(references, state);
    let good = statements.iter().filter(|one| unsupported(one, &sources, &state.query).is_none());
    good.map(|statement| line_of(statement, |number| number)).collect()
}

/// The first statement of each section.
pub(super) fn first_lines(sections: &[Section]) -> Vec<CitedStatement> {
    let mut lines: Vec<CitedStatement> = Vec::new();
    for line in sections.iter().filter_map(|section| section.paragraphs.first()?.first()) {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    lines
}

/// Topics that are thin or empty, and words of the question that stand in nothing that is kept.
pub(super) fn not_found(state: &ResearchState, sections: &[Section]) -> Vec<String> {
    let mut all = Vec::new();
    let mut held: std::collections::HashSet<String> = std::collections::HashSet::new();
    for chunk in &state.all_chunks {
        words::each_term(&chunk.text, |term| {
            held.insert(term.to_owned());
        });
        words::each_term(&chunk.heading, |term| {
            held.insert(term.to_owned());
        });
    }
    for word in state.query.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()) {
        let terms = words::terms(word);
        let shown = format!("the word {word:?} of the question");
        if !terms.is_empty() && terms.iter().all(|term| !held.contains(term)) && !all.contains(&shown) {
            all.push(shown);
        }
    }
    let statements = sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let said: Vec<std::collections::HashSet<String>> =
        statements.map(|one| words::terms(&one.text).into_iter().collect()).collect();
    for topic in &state.outline {
        // What is told under another topic was found.
        let terms = words::terms(&topic.topic);
        let elsewhere = !terms.is_empty() && said.iter().any(|said| terms.iter().all(|term| said.contains(term)));
        let none = sections.iter().any(|section| section.topic == topic.topic && section.paragraphs.is_empty());
        let empty = none && !elsewhere;
        let covered = state
            .last_coverage_vector
            .as_ref()
            .and_then(|coverage| coverage.topics.iter().find(|one| one.name == topic.topic).map(|one| one.covered));
        let z = covered.zip(state.background).map(|(covered, background)| background.z(covered));
        if empty {
            all.push(format!("anything on \u{201c}{}\u{201d} that could be cited", topic.topic));
        } else if z.is_some_and(|z| z < MIN_COVERAGE) {
            all.push(format!("much on \u{201c}{}\u{201d}: what was found is barely related", topic.topic));
        }
    }
    all
}

/// The contradictions of kept chunks.
pub(super) fn conflicts(state: &ResearchState) -> Vec<Contradiction> {
    contradictions(&state.all_chunks)
}
