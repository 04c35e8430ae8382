//! The act stage: searches, pages, and the chunks of them that can be cited.

use serde::{Deserialize, Serialize};

use super::{
    ResearchMachine, StageWork,
    state::{Action, AskedQuery, Chunk, SearchHit, SourcePage, Topic, Vector},
};
use crate::Command;
use loopwright_base::{
    error::{Error, Result},
    text::{clip, first, floor_boundary},
};
use loopwright_lexicon::lines::Format;
use loopwright_retrieve::passages::passages;

/// Chunks of a cycle that are read at most.
const MOST_CHUNKS: usize = 10_000;
/// Bytes of a chunk that go to an embedder.
const MAX_EMBEDDED: usize = 8_191;
/// The length of the shortest chunk, in characters.
const MIN_CHUNK: usize = 40;

/// The prefix of the addresses of tool results.
pub(super) const TOOL: &str = "tool:";

/// A hit of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hit {
    /// The title.
    pub title: String,
    /// The address, or the path of a file.
    pub url: String,
    /// The excerpt of the search.
    pub snippet: String,
    /// The whole text, where the search has it: then nothing is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The date of publication, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

/// A page as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageText {
    /// The last address, after redirections; empty where nobody looked.
    pub url: String,
    /// The title.
    pub title: String,
    /// The text.
    pub text: String,
    /// The date of publication, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

/// A hit that is worth reading, and its page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingPage {
    pub(super) query: String,
    pub(super) target: String,
    pub(super) hit: Hit,
    pub(super) page: Option<PageText>,
    pub(super) problem: Option<String>,
    /// The section whose reviewer wanted it.
    pub(super) section: Option<usize>,
    /// The hit has become a source, or nothing.
    #[serde(default)]
    pub(super) taken: bool,
    /// The text came with the hit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) given: bool,
}

/// A chunk that has not been judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UnjudgedChunk {
    pub(super) chunk: Chunk,
    pub(super) vector: Vector,
    pub(super) section: Option<usize>,
}

impl ResearchMachine {
    /// Sends the searches of a plan.
    pub(super) fn act(&mut self, actions: &[Action], out: &mut Vec<Command>) {
        let cycle = self.state.cycles + 1;
        self.begin("act", cycle, out);
        self.hits.clear();
        let mut queries = Vec::new();
        for action in actions {
            let Action::Search { query, target_outline_topic } = action else { continue };
            let vector = self.query_vectors.get(query).cloned();
            self.state.queries.push(AskedQuery {
                query: query.clone(),
                topic: target_outline_topic.clone(),
                cycle,
                hits: 0,
                pages: 0,
                vector,
            });
            queries.push(clip(query, 80));
            let at = self.hits.len();
            if self.config.without_search {
                continue;
            }
            self.hits.push(None);
            self.searched.push(self.state.queries.len() - 1);
            self.search(StageWork::Hits { at }, self.config.limits.hits, out);
        }
        self.call_tools(actions, out);
        if !queries.is_empty() {
            self.status(format!("Searching for {}.", queries.join("; ")), out);
        }
    }

    pub(super) fn hits(&mut self, at: usize, hits: Result<Vec<Hit>>, out: &mut Vec<Command>) {
        let most = self.config.limits.hits;
        let place = self.searched.get(at).copied().unwrap_or(usize::MAX);
        let query = self.state.queries.get(place).map(|one| one.query.clone()).unwrap_or_default();
        let hits = hits.map(|mut hits| {
            hits.truncate(most);
            hits
        });
        self.search_ended(&StageWork::Hits { at }, &hits, out);
        let hits = match hits {
            Ok(hits) => hits,
            Err(error) => {
                self.failed_searches += 1;
                self.problem(format!("the search for {:?} failed: {error}", clip(&query, 80)), out);
                self.search_error = Some(error);
                Vec::new()
            }
        };
        if let Some(asked) = self.state.queries.get_mut(place) {
            asked.hits = hits.len();
        }
        if let Some(slot) = self.hits.get_mut(at) {
            *slot = Some(hits);
        }
    }

    /// Reads the new hits, in the order of the plan, after all searches have answered.
    pub(super) fn fetch(&mut self, out: &mut Vec<Command>) {
        let places = std::mem::take(&mut self.searched);
        let all = std::mem::take(&mut self.hits);
        for (place, hits) in places.into_iter().zip(all) {
            let Some(asked) = self.state.queries.get(place) else { continue };
            let (query, target) = (asked.query.clone(), asked.topic.clone());
            let before = self.slots.len();
            for hit in hits.unwrap_or_default() {
                self.take_hit(hit, &query, &target, None, out);
            }
            if let Some(asked) = self.state.queries.get_mut(place) {
                asked.pages = self.slots.len() - before;
            }
        }
        self.slots.append(&mut self.called);
    }

    /// Reads a hit unless it was read before.
    pub(super) fn take_hit(
        &mut self,
        mut hit: Hit,
        query: &str,
        target: &str,
        section: Option<usize>,
        out: &mut Vec<Command>,
    ) -> bool {
        let url = super::plan::one_line(hit.url.split('#').next().unwrap_or_default(), 2_000);
        // What could not be read once is not tried again either.
        let known = self.state.results.iter().any(|found| found.url == url)
            || self.state.url_to_source_index.contains_key(&url)
            || self.slots.iter().any(|slot| slot.hit.url == url);
        // What tools gave is known by its name; nobody else speaks in it.
        if url.is_empty() || known || url.starts_with(TOOL) {
            return false;
        }
        hit.url = url;
        hit.title = super::plan::one_line(&hit.title, 300);
        let text = hit.text.take();
        let slot = self.slots.len();
        let page = text.map(|text| PageText { text, ..PageText::default() });
        let given = page.is_some();
        let wanted = (!given).then(|| hit.url.clone());
        self.slots.push(PendingPage {
            query: query.to_owned(),
            target: target.to_owned(),
            hit,
            page,
            problem: None,
            section,
            taken: false,
            given,
        });
        if let Some(url) = wanted {
            let id = self.issue(StageWork::Page { slot });
            out.push(Command::Fetch { id, url, max_chars: self.config.limits.page_chars });
        }
        true
    }

    pub(super) fn page(&mut self, slot: usize, page: Result<PageText>) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        match page {
            Ok(page) => slot.page = Some(page),
            Err(error) => slot.problem = Some(problem_of(&error)),
        }
    }

    /// Turns all pages into sources and fresh chunks, in the order of the plan. Returns how many were read.
    pub(super) fn ingest(&mut self, section: Option<usize>, out: &mut Vec<Command>) -> usize {
        let cycle = self.state.cycles + u32::from(section.is_none());
        let mut read = 0;
        // Others may wait for pages of theirs: places stay as they are.
        let mut ours = Vec::new();
        for slot in self.slots.iter_mut().filter(|slot| slot.section == section && !slot.taken) {
            slot.taken = true;
            let page = slot.page.take();
            ours.push(PendingPage { page, ..slot.clone() });
        }
        if section.is_none() {
            self.slots.clear();
        }
        for slot in ours {
            let mut found = SearchHit {
                query: slot.query,
                cycle,
                url: slot.hit.url.clone(),
                title: slot.hit.title.clone(),
                published: slot.hit.published.clone(),
                source: None,
                problem: slot.problem,
            };
            let limits = &self.config.limits;
            let (mut page, mut excerpt) = (slot.page.unwrap_or_default(), false);
            // A tool may say all in a word, and a note in a sentence; a page that was fetched and is as short is an
            // error page.
            let given = slot.given || slot.hit.url.starts_with(TOOL);
            let enough = if given { 0 } else { limits.least_chars };
            if page.text.trim().chars().count() <= enough {
                // What the search itself shows is better than nothing.
                if found.problem.is_none() {
                    found.problem = Some("it holds hardly any text".to_owned());
                }
                page.text.clone_from(&slot.hit.snippet);
                excerpt = true;
            }
            let text = first(&page.text, limits.page_chars);
            if text.trim().chars().count() > enough {
                let number = self.state.sources.len();
                let title = [&page.title, &slot.hit.title].into_iter().find(|title| !title.trim().is_empty());
                let title = super::plan::one_line(title.map_or("", String::as_str), 300);
                found.source = Some(number);
                found.title.clone_from(&title);
                self.state.url_to_source_index.insert(slot.hit.url.clone(), number);
                let last = super::plan::one_line(&page.url, 2_000);
                if !last.is_empty() {
                    self.state.url_to_source_index.entry(last).or_insert(number);
                }
                self.state.sources.push(SourcePage {
                    url: slot.hit.url.clone(),
                    title: if title.is_empty() { slot.hit.url.clone() } else { title },
                    published: page.published.or(slot.hit.published),
                    characters: text.chars().count(),
                    excerpt,
                });
                read += 1;
                self.split_page(text, &slot.hit.url, number, section);
            }
            if let Some(problem) = found.problem.as_ref().filter(|_| found.source.is_none()) {
                let message = format!("{}: {problem}", clip(&found.url, 120));
                self.problem(message, out);
            }
            self.state.results.push(found);
        }
        read
    }

    /// Splits a text into chunks of some sentences each, with their places.
    fn split_page(&mut self, text: &str, url: &str, source: usize, section: Option<usize>) {
        let format = match Format::of_path(url) {
            Format::Code if url.starts_with("http") => Format::Markdown,
            format => format,
        };
        for passage in passages(text, format, self.config.limits.chunk_sentences) {
            let words = passage.text(text);
            // What is all of a text is no scrap of it.
            let whole = words.trim().len() == text.trim().len();
            let short = words.chars().count() < MIN_CHUNK && !whole && !url.starts_with(TOOL);
            if short || self.fresh.len() >= MOST_CHUNKS {
                continue;
            }
            if !self.texts.insert(digest(words)) {
                continue;
            }
            let chunk = Chunk {
                text: words.to_owned(),
                source,
                start: passage.bytes.start,
                end: passage.bytes.end,
                line: passage.line,
                end_line: passage.end_line,
                heading: passage.heading,
                ..Chunk::default()
            };
            self.fresh.push(UnjudgedChunk { chunk, vector: Vector::default(), section });
        }
    }

    /// The text of a fresh chunk for the embedder.
    pub(super) fn embedded_text(chunk: &Chunk) -> String {
        let mut text = format!("{}\n{}", chunk.heading, chunk.text);
        text.truncate(floor_boundary(&text, MAX_EMBEDDED));
        text
    }
}

/// The hash that equal texts share, whatever stands between their words.
pub(super) fn digest(text: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(text.split_whitespace().collect::<String>().as_bytes())
}

/// The topic of an action, as the outline knows it: by name, else the nearest.
pub(super) fn topic_of<'a>(outline: &'a [Topic], named: &str) -> Option<&'a Topic> {
    let exact = outline.iter().find(|topic| topic.topic.eq_ignore_ascii_case(named.trim()));
    exact.or_else(|| outline.iter().find(|topic| named.to_lowercase().contains(&topic.topic.to_lowercase())))
}

fn problem_of(error: &Error) -> String {
    super::plan::one_line(&error.to_string(), 200)
}
