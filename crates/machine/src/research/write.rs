//! The report stage: each section is written, checked sentence by sentence, and reviewed; unsupported statements are
//! rewritten, and in the end left out.

use std::{collections::HashSet, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ModelQuestion, ResearchMachine, StageWork,
    analyse::Measuring,
    check::{Statement, source_of, statements, unsupported},
    emit,
    hashing::cosine,
    plan, prompts,
    report::{self, Report, SectionDraft, StopReport},
    rules,
    state::{Chunk, Topic, Vector},
};
use crate::{Command, Notice};
use loopwright_base::{error::Result, sources::Source, text::clip};
use loopwright_extract::extract_json;

/// Passages that a search of the reviewer adds.
const MAX_ADDED: usize = 4;
/// Words of an abstract.
const ABSTRACT_WORDS: std::ops::RangeInclusive<usize> = 200..=250;
/// Unsupported statements that a model is told.
const MAX_NAMED: usize = 12;

/// A section that is being written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SectionWork {
    pub(super) topic: Topic,
    pub(super) passages: Vec<Chunk>,
    pub(super) draft: String,
    pub(super) kept: Vec<(String, Vec<usize>, bool)>,
    pub(super) dropped: Vec<String>,
    pub(super) rewrites: u32,
    pub(super) review: Option<String>,
    pub(super) query: String,
    pub(super) done: bool,
}

impl ResearchMachine {
    /// Starts the report.
    pub(super) fn write(&mut self, out: &mut Vec<Command>) {
        self.begin("report", 1, out);
        let topics = if self.state.outline.is_empty() { self.topics() } else { self.state.outline.clone() };
        self.sections = topics
            .into_iter()
            .map(|topic| SectionWork { passages: self.passages(&topic), topic, ..SectionWork::default() })
            .collect();
        self.status(format!("Writing the report: {} sections.", self.sections.len()), out);
        for at in 0..self.sections.len() {
            let empty = self.sections.get(at).is_none_or(|section| section.passages.is_empty());
            if self.config.without_model || empty || self.limit.is_some() {
                self.write_by_rules(at, out);
            } else {
                self.draft(at, None, out);
            }
        }
    }

    /// The chunks of a section, best first: for each query that served its topic the nearest, up to half of all; then
    /// those that are nearest to the topic.
    fn passages(&self, topic: &Topic) -> Vec<Chunk> {
        let all = &self.state.all_chunks;
        let least = self.config.select.least.and_then(|cut| cut.at(self.state.background.as_ref()).ok());
        let is_near = |cosine: f32| least.is_none_or(|least| cosine >= least);
        let vectors = self.state.kept_vectors();
        let cosines = |row: &[f32]| vectors.iter().map(|vector| cosine(vector, row)).collect::<Vec<f32>>();
        let most = self.config.limits.section_chunks;
        let served = self.state.queries.iter().filter(|asked| asked.topic == topic.topic);
        let nearest =
            |asked| cosines(&self.query_vector(asked)?).into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let mut answers: Vec<(usize, f32)> = served.filter_map(nearest).filter(|one| is_near(one.1)).collect();
        answers.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut chosen: Vec<usize> = Vec::new();
        for (at, _) in answers {
            if chosen.len() < most / 2 && !chosen.contains(&at) {
                chosen.push(at);
            }
        }
        let scores = cosines(&self.state.topic_vector(&topic.topic));
        let mut order: Vec<(f32, usize, &Chunk)> =
            scores.into_iter().zip(all).enumerate().map(|(at, (score, chunk))| (score, at, chunk)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut room = most - chosen.len();
        order.retain(|(score, at, chunk)| {
            let fits = room > 0 && (chunk.topic == topic.topic || is_near(*score)) && !chosen.contains(at);
            room -= usize::from(fits);
            fits || chosen.contains(at)
        });
        order.into_iter().map(|(score, _, chunk)| Chunk { score, ..chunk.clone() }).collect()
    }

    fn sources(&self, passages: &[Chunk]) -> Vec<Source> {
        let url = |chunk: &Chunk| self.state.sources.get(chunk.source).map_or("", |source| source.url.as_str());
        passages.iter().map(|chunk| source_of(chunk, url(chunk))).collect()
    }

    /// Writes a section without a model: quotes.
    pub(super) fn write_by_rules(&mut self, at: usize, out: &mut Vec<Command>) {
        let used: HashSet<String> =
            self.sections.iter().flat_map(|one| one.kept.iter().map(|(text, ..)| text.clone())).collect();
        let Some(section) = self.sections.get(at) else { return };
        let sources = self.sources(&section.passages);
        let all = self.sections.iter().map(|one| one.topic.topic.clone());
        let others: Vec<String> = all.filter(|one| *one != section.topic.topic).collect();
        let asked = (&section.topic, &others[..], self.state.query.as_str());
        let found = rules::section(asked, &section.passages, &sources, &used);
        self.drop_unsupported(at, &found, out);
    }

    /// Settles a section that can't get better: unsupported statements are left out.
    fn drop_unsupported(&mut self, at: usize, found: &[Statement], out: &mut Vec<Command>) {
        let Some(section) = self.sections.get(at) else { return };
        let sources = self.sources(&section.passages);
        let mut kept: Vec<(String, Vec<usize>, bool)> = Vec::new();
        let mut dropped = Vec::new();
        for statement in found {
            match unsupported(statement, &sources, &self.state.query) {
                None => kept.push((statement.text.clone(), statement.cites.clone(), statement.ends_paragraph)),
                Some(why) => {
                    dropped.push(format!("{}: {}", clip(&statement.text, 160), clip(&why, 200)));
                    if let Some(before) = kept.last_mut() {
                        before.2 |= statement.ends_paragraph;
                    }
                }
            }
        }
        if let Some(section) = self.sections.get_mut(at) {
            (section.kept, section.dropped, section.done) = (kept, dropped, true);
            let lines = section.kept.iter().map(|(text, cites, ends)| {
                Statement { text: text.clone(), cites: cites.clone(), ends_paragraph: *ends }.written(|number| number)
            });
            let text = format!("{}\n\n{}", section.topic.topic, lines.collect::<Vec<_>>().join(" "));
            let attempt = section.rewrites + 1;
            emit(out, Notice::Draft { text, attempt, verified: false });
        }
    }

    fn draft(&mut self, at: usize, feedback: Option<String>, out: &mut Vec<Command>) {
        let Some(section) = self.sections.get(at) else { return };
        let mut prompt = prompts::passages(&self.state.query, &section.topic, &section.passages, &self.state);
        if let Some(feedback) = feedback {
            prompt.push_str("\nYour last draft:\n");
            prompts::quote(&mut prompt, &section.draft);
            prompt.push_str("\nWrite the section anew. What was wrong with it:\n");
            prompt.push_str(&feedback);
        }
        let work = StageWork::Write { section: at };
        let ask = ModelQuestion {
            work,
            system: prompts::writer(),
            prompt,
            temperature: 0.4,
            max_tokens: 1_500,
            output: None,
        };
        self.ask(ask, out);
    }

    /// The flaws of a draft, statement by statement.
    fn flaws(&self, section: &SectionWork) -> Vec<String> {
        let sources = self.sources(&section.passages);
        let all = statements(&section.draft);
        let flaws = all.iter().filter_map(|one| {
            let why = unsupported(one, &sources, &self.state.query)?;
            Some(format!("- {:?}: {}", clip(&one.text, 160), clip(&why, 200)))
        });
        flaws.take(MAX_NAMED).collect()
    }

    /// Takes a section from a model, or its failure.
    pub(super) fn written(&mut self, at: usize, draft: Option<String>, out: &mut Vec<Command>) {
        let Some(draft) = draft.filter(|draft| !statements(draft).is_empty()) else {
            return match self.sections.get(at).map(|section| section.draft.clone()) {
                // An earlier draft is better than quotes.
                Some(earlier) if !earlier.is_empty() => self.drop_unsupported(at, &statements(&earlier), out),
                _ => self.write_by_rules(at, out),
            };
        };
        let most = self.config.limits.rewrites;
        let Some(section) = self.sections.get_mut(at) else { return };
        section.draft = draft;
        if section.rewrites >= most {
            let found = statements(&section.draft);
            return self.drop_unsupported(at, &found, out);
        }
        let Some(section) = self.sections.get(at) else { return };
        let mut prompt = prompts::passages(&self.state.query, &section.topic, &section.passages, &self.state);
        prompt.push_str("\nDraft:\n");
        prompts::quote(&mut prompt, &section.draft);
        let flaws = self.flaws(section);
        if !flaws.is_empty() {
            prompt.push_str("\nThe citation check found statements without support:\n");
            prompt.push_str(&flaws.join("\n"));
        }
        let schema = serde_json::json!({
            "type": "object", "required": ["verdict", "critique"],
            "properties": {
                "verdict": {"type": "string", "enum": ["NONE", "REWRITE", "SEARCH"]},
                "critique": {"type": "string"}, "query": {"type": "string"},
            },
        });
        let ask = ModelQuestion {
            work: StageWork::Review { section: at },
            system: prompts::reviewer(),
            prompt,
            temperature: 0.2,
            max_tokens: 512,
            output: Some(plan::output("review", &schema)),
        };
        self.ask(ask, out);
    }

    /// Takes the answer of a reviewer, or its failure.
    pub(super) fn reviewed(&mut self, at: usize, answer: Option<&str>, out: &mut Vec<Command>) {
        let object = answer.and_then(object_of).unwrap_or_default();
        let text = |key: &str| {
            object.get(key).and_then(Value::as_str).map(|text| plan::one_line(text, 2_000)).unwrap_or_default()
        };
        let verdict = text("verdict").to_ascii_uppercase();
        let Some(section) = self.sections.get(at) else { return };
        let flaws = self.flaws(section);
        let query = text("query");
        let Some(section) = self.sections.get_mut(at) else { return };
        section.review = Some(clip(&text("critique"), 500)).filter(|text| !text.is_empty());
        let wants_search = verdict == "SEARCH" && query.chars().any(char::is_alphanumeric);
        // What the rules found stands, whatever the reviewer says of it.
        if !wants_search && verdict != "REWRITE" && flaws.is_empty() {
            let found = statements(&section.draft);
            return self.drop_unsupported(at, &found, out);
        }
        section.rewrites += 1;
        if wants_search {
            section.query = clip(&query, 300);
            let looking = format!("Looking for what a section lacks: {}.", clip(&section.query, 80));
            self.status(looking, out);
            self.search(StageWork::SectionHits { section: at }, self.config.limits.review_hits, out);
        } else {
            self.rewrite(at, out);
        }
    }

    fn rewrite(&mut self, at: usize, out: &mut Vec<Command>) {
        let Some(section) = self.sections.get(at) else { return };
        let mut feedback: Vec<String> = section.review.iter().map(|critique| format!("- {critique}")).collect();
        feedback.extend(self.flaws(section));
        self.draft(at, Some(feedback.join("\n")), out);
    }

    pub(super) fn section_hits(&mut self, at: usize, hits: Result<Vec<super::Hit>>, out: &mut Vec<Command>) {
        let Some(section) = self.sections.get(at) else { return };
        let (query, topic) = (section.query.clone(), section.topic.topic.clone());
        self.search_ended(&StageWork::SectionHits { section: at }, &hits, out);
        match hits {
            Ok(hits) => {
                for hit in hits.into_iter().take(self.config.limits.review_hits) {
                    self.take_hit(hit, &query, &topic, Some(at), out);
                }
            }
            Err(error) => self.problem(format!("the search for {:?} failed: {error}", clip(&query, 80)), out),
        }
        self.section_pages(at, out);
    }

    /// Measures the chunks of the pages that a reviewer wanted, once all are there.
    pub(super) fn section_pages(&mut self, at: usize, out: &mut Vec<Command>) {
        let slots = &self.slots;
        let waits = self.pending.values().any(
            |work| matches!(work, StageWork::Page { slot } if slots.get(*slot).is_some_and(|slot| slot.section == Some(at))),
        );
        if waits {
            return;
        }
        self.ingest(Some(at), out);
        let texts: Vec<String> = self
            .fresh
            .iter()
            .filter(|fresh| fresh.section == Some(at))
            .map(|fresh| Self::embedded_text(&fresh.chunk))
            .collect();
        if texts.is_empty() {
            return self.rewrite(at, out);
        }
        self.embed(texts, StageWork::SectionEmbed { section: at }, out);
    }

    /// Adds the best of what a reviewer wanted, and rewrites the section.
    pub(super) fn section_embedded(&mut self, at: usize, vectors: Result<Vec<Vec<f32>>>, out: &mut Vec<Command>) {
        let (ours, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.fresh).into_iter().partition(|fresh| fresh.section == Some(at));
        self.fresh = others;
        let Some(topic) = self.sections.get(at).map(|section| section.topic.topic.clone()) else { return };
        match vectors {
            Ok(vectors) => {
                let wanted = self.state.topic_vector(&topic);
                let mut scored: Vec<(f32, Chunk, Vec<f32>)> = ours
                    .into_iter()
                    .zip(vectors)
                    .map(|(fresh, vector)| (cosine(&vector, &wanted), fresh.chunk, vector))
                    .collect();
                scored.sort_by(|a, b| b.0.total_cmp(&a.0));
                let rest = scored.split_off(MAX_ADDED.min(scored.len()));
                for (_, chunk, vector) in rest {
                    let one = self.unkept(chunk, vector);
                    self.state.unkept_chunks.push(one);
                }
                for (score, chunk, vector) in scored {
                    let cycle = self.state.cycles;
                    let chunk = Chunk { topic: topic.clone(), cycle, score, ..chunk };
                    self.state.chunk_embedding_cache.insert(chunk.key(), Vector(vector));
                    self.state.all_chunks.push(chunk.clone());
                    if let Some(section) = self.sections.get_mut(at) {
                        section.passages.push(chunk);
                    }
                }
            }
            Err(error) => self.problem(format!("some passages could not be embedded: {error}"), out),
        }
        self.rewrite(at, out);
    }

    /// Puts the finished sections together, and writes the front.
    pub(super) fn front(&mut self, out: &mut Vec<Command>) {
        let report = self.assemble_report();
        let empty = report.is_empty();
        let mut prompt = format!("Question: {}\n", report.query);
        for section in &report.sections {
            let _ = writeln!(prompt, "\nSection: {}", section.topic);
            for line in section.paragraphs.iter().flatten() {
                prompts::quote(&mut prompt, &line.text);
            }
        }
        self.report = Some(Box::new(report));
        if self.config.without_model || empty || self.limit.is_some() {
            return;
        }
        self.ask_front(prompt, out);
    }

    fn ask_front(&mut self, prompt: String, out: &mut Vec<Command>) {
        let schema = serde_json::json!({
            "type": "object", "required": ["title", "abstract"],
            "properties": {"title": {"type": "string"}, "abstract": {"type": "string"}},
        });
        self.front_prompt.clone_from(&prompt);
        let ask = ModelQuestion {
            work: StageWork::Front,
            system: prompts::FRONT.to_owned(),
            prompt,
            temperature: 0.4,
            max_tokens: 1_024,
            output: Some(plan::output("front", &schema)),
        };
        self.ask(ask, out);
    }

    pub(super) fn take_front(&mut self, answer: Option<&str>, out: &mut Vec<Command>) {
        let Some(object) = answer.and_then(object_of) else { return };
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(mut report) = self.report.take() else { return };
        let title = plan::one_line(text("title"), 160);
        if title.chars().any(char::is_alphanumeric) {
            report.title = title;
        }
        let found = statements(text("abstract"));
        let lines = report::supported_abstract(&found, &report.bibliography, &self.state);
        let length: usize = lines.iter().map(|line| words_of(&line.text)).sum();
        let better = report.r#abstract.iter().map(|line| words_of(&line.text)).sum::<usize>();
        let again = !ABSTRACT_WORDS.contains(&length) && self.front_prompts == 0;
        if !lines.is_empty() && (self.front_prompts == 0 || distance(length) <= distance(better)) {
            report.r#abstract = first_within(lines, *ABSTRACT_WORDS.end());
        }
        self.report = Some(report);
        if again {
            self.front_prompts += 1;
            let mut prompt = std::mem::take(&mut self.front_prompt);
            let _ = write!(
                prompt,
                "\nYour last abstract came to {length} words that the sections support; 200 to 250 are wanted. \
                 Cite [n] in every sentence, and keep to what the sections say."
            );
            self.ask_front(prompt, out);
        }
    }

    /// The report as far as it has come; sections that are not done are written by rules.
    pub(super) fn assemble_report(&mut self) -> Report {
        if self.sections.is_empty() && !self.state.all_chunks.is_empty() {
            let topics = self.topics();
            self.sections = topics
                .into_iter()
                .map(|topic| SectionWork { passages: self.passages(&topic), topic, ..SectionWork::default() })
                .collect();
        }
        let mut unheard = Vec::new();
        for at in 0..self.sections.len() {
            let Some(section) = self.sections.get(at).filter(|section| !section.done) else { continue };
            let draft = section.draft.clone();
            if draft.is_empty() {
                self.write_by_rules(at, &mut unheard);
            } else {
                self.drop_unsupported(at, &statements(&draft), &mut unheard);
            }
        }
        let drafts = self.sections.iter().map(|section| SectionDraft {
            topic: &section.topic,
            passages: section.passages.clone(),
            statements: section
                .kept
                .iter()
                .map(|(text, cites, ends)| Statement {
                    text: text.clone(),
                    cites: cites.clone(),
                    ends_paragraph: *ends,
                })
                .collect(),
            rewrites: section.rewrites,
            review: section.review.clone(),
            dropped: section.dropped.clone(),
        });
        let (sections, bibliography) = report::assemble(drafts.collect(), &self.state);
        let without_model = self.config.without_model;
        let mut queries = self.state.queries.clone();
        for query in &mut queries {
            // Vectors are the state's affair.
            query.vector = None;
        }
        Report {
            query: self.state.query.clone(),
            title: rules::title_case(&clip(&plan::one_line(&self.state.query, 300), 120)),
            r#abstract: self.quoted_abstract(&sections, &bibliography),
            not_found: report::not_found(&self.state, &sections),
            contradictions: report::conflicts(&self.state),
            sections,
            bibliography,
            stopped: self.stop_words.clone().unwrap_or_else(|| StopReport {
                rule: "interrupted".to_owned(),
                words: "it was interrupted".to_owned(),
            }),
            model: if without_model {
                loopwright_wire::offline::MODEL.to_owned()
            } else {
                self.config.turn.model.clone()
            },
            without_model,
            style: self.config.style,
            cycles: self.state.history.clone(),
            queries,
            sources_read: self.state.sources.len(),
            problems: self.state.problems.clone(),
        }
    }

    /// The abstract of quotes: those that answer the question most directly, without any the first statement of each
    /// section.
    fn quoted_abstract(
        &self,
        sections: &[report::Section],
        references: &[report::Reference],
    ) -> Vec<report::CitedStatement> {
        let relevant = rules::relevance(&self.state.query, &self.state.all_chunks);
        let cited = |chunk: &Chunk| references.iter().find(|one| one.source == chunk.source).map(|one| one.number);
        let mut best: Vec<(f32, &Chunk, usize)> = self
            .state
            .all_chunks
            .iter()
            .zip(relevant)
            .filter_map(|(chunk, score)| Some((score, chunk, cited(chunk)?)))
            .collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(self.config.limits.section_chunks);
        let chunks: Vec<Chunk> =
            best.iter().map(|(score, chunk, _)| Chunk { score: *score, ..(*chunk).clone() }).collect();
        let sources = self.sources(&chunks);
        let quotes = rules::answer(&self.state.query, &sources).into_iter().filter_map(|(at, text)| {
            let number = best.get(at)?.2;
            Some(Statement { text, cites: vec![number], ends_paragraph: false })
        });
        let quotes: Vec<Statement> = quotes.collect();
        let lines = report::supported_abstract(&quotes, references, &self.state);
        if lines.is_empty() { report::first_lines(sections) } else { lines }
    }

    /// Returns whether a first outline has been drawn.
    pub(super) fn is_set_up(&self) -> bool {
        self.pass() != Measuring::First
    }
}

/// The distance of a length from the wanted one.
fn distance(length: usize) -> usize {
    ABSTRACT_WORDS.start().saturating_sub(length) + length.saturating_sub(*ABSTRACT_WORDS.end())
}

fn words_of(text: &str) -> usize {
    text.split_whitespace().filter(|word| !word.starts_with('[')).count()
}

/// The first lines that come to no more than `most` words.
fn first_within(lines: Vec<report::CitedStatement>, most: usize) -> Vec<report::CitedStatement> {
    let mut left = most;
    let fits = |line: &report::CitedStatement| {
        let words = words_of(&line.text);
        let fits = words <= left;
        left = left.saturating_sub(words);
        fits
    };
    let first = lines.first().cloned();
    let short: Vec<report::CitedStatement> = lines.into_iter().take_while(fits).collect();
    if short.is_empty() { first.into_iter().collect() } else { short }
}

/// The JSON object in an answer.
pub(super) fn object_of(answer: &str) -> Option<serde_json::Map<String, Value>> {
    let found = extract_json(answer, None).ok()?;
    match serde_json::from_str(&found.json) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}
