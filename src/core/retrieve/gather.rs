//! Gathering: which pieces of the files and of the conversation bear on a question.
//!
//! Files are cut into chunks and ranked by BM25, words of headings and paths counting as well. Only chunks that share a
//! word with the question are kept, and of those only the best, so memory does not grow with the folder.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{
    bm25::{self, Parameters},
    chunks::{Format, chunks},
    sources::{Source, SourceKind},
    support::{Asked, SUPPORTING},
    words,
};

/// A heading's word counts as this many words of the text.
const HEADING_WEIGHT: f64 = 1.5;
/// A path's word counts as this many words of the text.
const PATH_WEIGHT: f64 = 1.0;
/// A chunk below this part of the best score is noise.
const LEAST_SHARE: f64 = 0.12;
/// A shorter piece may stand twice.
const SHORT: usize = 40;
/// When more candidates than this are waiting, the worst go.
const MAX_CANDIDATES: usize = 16_384;

/// How much is read and how much is handed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatherLimits {
    /// At most this many messages of the conversation.
    pub thread_messages: usize,
    /// Whether the latest of the fitting messages are taken, not the best.
    pub thread_latest: bool,
    /// At most this many pieces of files.
    pub file_sources: usize,
    /// At most this many pieces of one file.
    pub per_file: usize,
    /// At most this many characters of one source.
    pub source_chars: usize,
    /// At most this many characters of all sources.
    pub total_chars: usize,
    /// Characters of a source shown in a list of sources.
    pub excerpt_chars: usize,
    /// At most this many files are read.
    pub max_files: usize,
    /// Larger files are left out.
    pub max_file_bytes: u64,
    /// Reading stops when this many bytes have been read.
    pub max_total_bytes: u64,
    /// Folders deeper than this are left out.
    pub max_depth: usize,
    /// Only files with these extensions, without the dot; empty is every text file.
    pub extensions: Vec<String>,
    /// At most this many pieces of what memory, functions and pages gave.
    pub other_sources: usize,
    /// Larger PDF files are left out; of what is read of one, its text counts.
    pub max_pdf_bytes: u64,
}

impl Default for GatherLimits {
    fn default() -> Self {
        Self {
            thread_messages: 5,
            thread_latest: false,
            file_sources: 5,
            per_file: 5,
            source_chars: 1_200,
            total_chars: 8_000,
            excerpt_chars: 100,
            max_files: 50,
            max_file_bytes: 100_000,
            max_total_bytes: 250_000,
            max_depth: 6,
            extensions: Vec::new(),
            other_sources: 5,
            max_pdf_bytes: 10_000_000,
        }
    }
}

impl GatherLimits {
    /// Limits for a whole repository or a large folder of documents.
    pub fn wide() -> Self {
        Self {
            file_sources: 12,
            per_file: 6,
            max_files: 2_000,
            max_file_bytes: 1_000_000,
            max_total_bytes: 64_000_000,
            max_depth: 16,
            ..Self::default()
        }
    }

    /// Small limits for small contexts: five messages, three files of 500 characters.
    pub fn seed() -> Self {
        Self {
            thread_messages: 5,
            thread_latest: true,
            file_sources: 3,
            per_file: 1,
            source_chars: 500,
            total_chars: 4_000,
            excerpt_chars: 100,
            max_files: 50,
            max_file_bytes: 100_000,
            max_total_bytes: 250_000,
            max_depth: 6,
            extensions: ["md", "txt", "yaml", "yml", "json"].map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gathered {
    /// The sources, best first.
    pub sources: Vec<Source>,
    /// How many files were looked at.
    pub files_seen: usize,
    /// How many of them share a word with the question.
    pub files_matched: usize,
    /// How many messages of the conversation share a word with the question.
    pub thread_matched: usize,
    /// What could not be read, or was left out by a limit: path and reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// How likely what was looked at holds an answer; see [`support`](super::support).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<f64>,
    /// Sources that were asked and gave nothing: which, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// A text to search in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Document {
    /// Where it comes from.
    pub kind: SourceKind,
    /// Its path, address or name; a page or cell of a file as `path#page=2`, `path#cell=3`.
    pub reference: String,
    /// The text.
    pub text: String,
    /// Whether whoever gave it has searched already: then it is kept whatever its words are.
    pub found: bool,
}

/// The path of the file that a page or cell belongs to.
fn file_of(reference: &str) -> &str {
    let Some((path, part)) = reference.rsplit_once('#') else { return reference };
    if part.starts_with("page=") || part.starts_with("cell=") { path } else { reference }
}

/// What a file is worth before it is read: documents answer questions better than tests and lists of changes do.
fn prior(path: &str) -> f64 {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if name.rsplit('.').next() == Some("lock")
        || name.ends_with("-lock.json")
        || name.contains(".min.")
        || starts(&["license", "copying"])
    {
        0.5
    } else if starts(&["changelog", "changes.", "history.", "news.", "releases."]) {
        0.7
    } else if lower
        .split('/')
        .any(|part| matches!(part, "test" | "tests" | "testdata" | "fixtures" | "vendor" | "benches"))
    {
        0.75
    } else if Format::of_path(path) == Format::Code {
        0.9
    } else {
        1.0
    }
}

/// Finds what bears on `question` in `documents` (path and text) and in the messages of `thread`, oldest first.
pub fn gather(
    question: &str,
    documents: impl IntoIterator<Item = (String, String)>,
    thread: &[String],
    limits: &GatherLimits,
) -> Gathered {
    let documents = documents.into_iter().map(|(reference, text)| Document { reference, text, ..Document::default() });
    gather_documents(question, documents, thread, limits)
}

/// [`gather`] for documents of any kind.
pub fn gather_documents(
    question: &str,
    documents: impl IntoIterator<Item = Document>,
    thread: &[String],
    limits: &GatherLimits,
) -> Gathered {
    let mut search = Search::new(question);
    let mut gathered = Gathered::default();
    for (at, message) in thread.iter().enumerate() {
        let mut counts = search.no_counts();
        let length = search.count(message, 1.0, &mut counts);
        search.saw(length, &counts);
        if counts.iter().any(|count| *count > 0.0) {
            gathered.thread_matched += 1;
            let end_line = message.trim_end_matches('\n').matches('\n').count() + 1;
            let source = Source {
                kind: SourceKind::Thread,
                reference: format!("thread#{}", at + 1),
                line: 1,
                end_line,
                text: message.clone(),
                ..Source::default()
            };
            search.candidates.push(Candidate {
                order: search.seen,
                file: usize::MAX,
                prior: 1.0,
                length,
                counts,
                copy: false,
                source,
            });
        }
    }
    let mut last = String::new();
    let mut matched = false;
    for Document { kind, reference, text, found } in documents {
        // What somebody has found already is not ranked against what shares words with the question.
        if kind != SourceKind::File || found {
            search.file(OTHERS, &reference, &text, kind, found);
            continue;
        }
        // Pages and cells of a file follow each other.
        let path = file_of(&reference);
        if gathered.files_seen == 0 || path != last || path == reference {
            path.clone_into(&mut last);
            gathered.files_seen += 1;
            matched = false;
        }
        let fits = search.file(gathered.files_seen, &reference, &text, kind, found);
        gathered.files_matched += usize::from(fits && !matched);
        matched |= fits;
    }
    search.rank();
    gathered.support = (search.seen > 0).then(|| search.support(question));
    gathered.sources = search.best(limits);
    gathered
}

/// What is said in place of a file's number of all that is no file.
const OTHERS: usize = usize::MAX - 1;

struct Candidate {
    order: usize,
    file: usize,
    prior: f64,
    length: f64,
    counts: Vec<f64>,
    /// Whether the same text was read before, elsewhere.
    copy: bool,
    source: Source,
}

struct Search {
    parameters: Parameters,
    terms: HashMap<String, usize>,
    /// The first bytes of the terms.
    wanted: [bool; 256],
    holding: Vec<usize>,
    seen: usize,
    length: f64,
    candidates: Vec<Candidate>,
    /// The texts of files that were read: a copy says nothing more.
    texts: HashSet<u64>,
}

impl Search {
    fn new(question: &str) -> Self {
        let mut terms = HashMap::new();
        words::each_term(question, |term| {
            let next = terms.len();
            if next < bm25::MAX_QUERY_TERMS {
                terms.entry(term.to_owned()).or_insert(next);
            }
        });
        let holding = vec![0; terms.len()];
        let mut wanted = [false; 256];
        for term in terms.keys() {
            if let Some(wanted) = term.bytes().next().and_then(|first| wanted.get_mut(usize::from(first))) {
                *wanted = true;
            }
        }
        Self {
            parameters: Parameters::default(),
            terms,
            wanted,
            holding,
            seen: 0,
            length: 0.0,
            candidates: Vec::new(),
            texts: HashSet::new(),
        }
    }

    fn no_counts(&self) -> Vec<f64> {
        vec![0.0; self.terms.len()]
    }

    /// Adds the question's terms in `text` to `counts`; gives the number of all terms.
    fn count(&self, text: &str, weight: f64, counts: &mut [f64]) -> f64 {
        let mut length = 0_usize;
        words::each_term_starting(text, &self.wanted, |term| {
            length += 1;
            if let Some(count) = term.and_then(|term| self.terms.get(term)).and_then(|&at| counts.get_mut(at)) {
                *count += weight;
            }
        });
        length as f64
    }

    /// A chunk or message has been read.
    fn saw(&mut self, length: f64, counts: &[f64]) {
        self.seen += 1;
        self.length += length;
        for (holding, count) in self.holding.iter_mut().zip(counts) {
            *holding += usize::from(*count > 0.0);
        }
    }

    /// Reads a file; `true` if it shares a word with the question.
    fn file(&mut self, file: usize, reference: &str, text: &str, kind: SourceKind, keep: bool) -> bool {
        let path = file_of(reference);
        let mut of_path = self.no_counts();
        self.count(path, PATH_WEIGHT, &mut of_path);
        let is_file = kind == SourceKind::File;
        let format = if is_file { Format::of_path(path) } else { Format::Markdown };
        let prior = if is_file { prior(path) } else { 1.0 };
        let mut found = of_path.iter().any(|count| *count > 0.0);
        let mut counts = self.no_counts();
        for chunk in chunks(text, format) {
            let body = chunk.text(text);
            let bare = body.trim();
            if bare.is_empty() {
                continue;
            }
            // Short lines are alike by chance, and stand under headings of their own.
            let copy = bare.len() >= SHORT && !self.texts.insert(xxhash_rust::xxh3::xxh3_64(bare.as_bytes()));
            counts.copy_from_slice(&of_path);
            self.count(&chunk.heading, HEADING_WEIGHT, &mut counts);
            let length = self.count(body, 1.0, &mut counts);
            if !copy {
                self.saw(length, &counts);
            }
            if !keep && counts.iter().all(|count| *count == 0.0) {
                continue;
            }
            found = true;
            let (text, line) = trimmed(body, chunk.line);
            let end_line = line + text.matches('\n').count();
            let (reference, heading) = (reference.to_owned(), chunk.heading);
            let source = Source { kind, reference, line, end_line, heading, text, ..Source::default() };
            let (order, counts) = (self.seen, counts.clone());
            self.candidates.push(Candidate { order, file, prior, length, counts, copy, source });
            if self.candidates.len() >= MAX_CANDIDATES {
                self.rank();
                self.candidates.truncate(MAX_CANDIDATES / 2);
            }
        }
        found
    }

    /// Scores all candidates and puts the best first; equal ones stay in the order of reading.
    fn rank(&mut self) {
        let idf: Vec<f64> = self.holding.iter().map(|&holding| bm25::idf(self.seen, holding)).collect();
        let average = self.length / self.seen.max(1) as f64;
        let total: f64 = idf.iter().sum();
        for candidate in &mut self.candidates {
            let (mut score, mut covered) = (0.0, 0.0);
            for (idf, count) in idf.iter().zip(&candidate.counts).filter(|(_, count)| **count > 0.0) {
                score += self.parameters.weight(*idf, *count, candidate.length, average);
                covered += idf;
            }
            // A chunk that holds all of the question's words beats one that repeats a few of them.
            let coverage = if total > 0.0 { covered / total } else { 0.0 };
            candidate.source.score = (score * candidate.prior * (0.6 + 0.4 * coverage) * 1_000.0).round() / 1_000.0;
        }
        // Copies fill the places that are left.
        let better = |a: &Candidate, b: &Candidate| {
            a.copy.cmp(&b.copy).then(b.source.score.total_cmp(&a.source.score)).then(a.order.cmp(&b.order))
        };
        self.candidates.sort_by(better);
    }

    /// The support of the best pieces; what was only asked before supports nothing.
    fn support(&self, question: &str) -> f64 {
        let asked = Asked::read(question);
        let places: Vec<Option<usize>> = asked.terms().iter().map(|term| self.terms.get(term).copied()).collect();
        let holding: Vec<usize> =
            places.iter().map(|place| place.and_then(|at| self.holding.get(at)).copied().unwrap_or(0)).collect();
        let says = |one: &&Candidate| {
            !one.copy && (one.source.kind != SourceKind::Thread || !one.source.text.trim().ends_with('?'))
        };
        let best = self.candidates.iter().filter(says).take(SUPPORTING).map(|one| {
            let has = |place: &Option<usize>| place.and_then(|at| one.counts.get(at)).is_some_and(|count| *count > 0.0);
            places.iter().map(has).collect()
        });
        asked.support(self.seen, &holding, best)
    }

    fn best(self, limits: &GatherLimits) -> Vec<Source> {
        let least = self.candidates.first().map_or(0.0, |best| best.source.score * LEAST_SHARE);
        let mut messages: Vec<usize> =
            self.candidates.iter().filter(|one| one.file == usize::MAX).map(|one| one.order).collect();
        if limits.thread_latest {
            messages.sort_unstable_by(|a, b| b.cmp(a));
        }
        messages.truncate(limits.thread_messages);
        let (mut files, mut others) = (0, 0);
        let mut of_file: HashMap<usize, usize> = HashMap::new();
        let mut left = limits.total_chars;
        let mut sources = Vec::new();
        for candidate in self.candidates {
            if left == 0 {
                break;
            }
            if candidate.file == usize::MAX {
                if !messages.contains(&candidate.order) {
                    continue;
                }
            } else if candidate.file == OTHERS {
                if others >= limits.other_sources {
                    continue;
                }
                others += 1;
            } else {
                let taken = of_file.entry(candidate.file).or_default();
                if files >= limits.file_sources || *taken >= limits.per_file || candidate.source.score < least {
                    continue;
                }
                *taken += 1;
                files += 1;
            }
            let mut source = candidate.source;
            let most = limits.source_chars.min(left);
            if let Some((end, _)) = source.text.char_indices().nth(most) {
                source.text.truncate(end);
                source.text.truncate(source.text.trim_end().len());
                source.end_line = source.line + source.text.matches('\n').count();
            }
            left -= source.text.chars().count().min(left);
            if !source.text.is_empty() {
                sources.push(source);
            }
        }
        sources.sort_by(|a: &Source, b: &Source| b.score.total_cmp(&a.score));
        sources
    }
}

/// A chunk without empty lines around it, and its first line then.
fn trimmed(body: &str, line: usize) -> (String, usize) {
    let body = body.trim_end();
    let start = body.len() - body.trim_start().len();
    let head = body.get(..start).unwrap_or_default();
    // The indent of the first line stays.
    let kept = head.rfind('\n').map_or(0, |at| at + 1);
    let text = body.get(kept..).unwrap_or_default();
    (text.replace("\r\n", "\n"), line + head.matches('\n').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn x15_lines_and_headings_are_exact() {
        let text =
            "# Transport\r\n\r\n## Retries\r\n\r\nA failed request is tried again.\r\n\r\n## Logs\r\n\r\nNone.\r\n";
        let gathered = gather(
            "How often is a request retried?",
            documents(&[("docs/transport.md", text), ("docs/other.md", "Nothing.")]),
            &[],
            &GatherLimits::default(),
        );
        assert_eq!((gathered.files_seen, gathered.files_matched), (2, 1));
        let source = &gathered.sources[0];
        assert_eq!((source.line, source.end_line, source.heading.as_str()), (1, 5, "Transport > Retries"));
        assert!(source.text.ends_with("tried again.") && !source.text.contains('\r'));
    }

    #[test]
    fn paths_and_headings_count() {
        let all = documents(&[
            ("a.md", "# Cache\n\nIt holds ten entries of a kind."),
            ("b.md", "# Other\n\nIt holds ten entries of a kind."),
            ("cache.md", "It holds ten entries of a kind."),
        ]);
        let gathered = gather("How many entries does the cache hold?", all, &[], &GatherLimits::default());
        assert_eq!(gathered.sources.len(), 3);
        assert_eq!(gathered.sources[2].reference, "b.md");
    }

    #[test]
    fn e10_limits_of_the_small_preset() {
        let limits = GatherLimits::seed();
        let files: Vec<_> = (0..10).map(|n| (format!("{n}.md"), "cache size here. ".repeat(200))).collect();
        let thread: Vec<String> = (0..20).map(|n| format!("message {n} about the cache")).collect();
        let gathered = gather("What is the cache size?", files, &thread, &limits);
        let of = |kind| gathered.sources.iter().filter(move |source| source.kind == kind);
        assert_eq!(of(SourceKind::File).count(), 3);
        assert!(of(SourceKind::File).all(|source| source.text.chars().count() <= 500));
        let mut latest: Vec<&str> = of(SourceKind::Thread).map(|source| source.reference.as_str()).collect();
        latest.sort_unstable();
        assert_eq!(latest, ["thread#16", "thread#17", "thread#18", "thread#19", "thread#20"]);
        assert_eq!(gathered.thread_matched, 20);
    }

    #[test]
    fn e07_nothing_found_is_nothing() {
        let gathered = gather("zebra?", documents(&[("a.md", "Text."), ("b.md", "")]), &[], &GatherLimits::default());
        assert_eq!((gathered.sources.len(), gathered.files_seen, gathered.files_matched), (0, 2, 0));
        assert!(
            gather("", documents(&[("a.md", "Text.")]), &["x".into()], &GatherLimits::default()).sources.is_empty()
        );
    }

    #[test]
    fn total_is_bounded_and_order_is_stable() {
        let files: Vec<_> = (0..40).map(|n| (format!("{n:02}.txt"), "the cache ".repeat(100))).collect();
        let limits = GatherLimits::default();
        let first = gather("cache", files.clone(), &[], &limits);
        assert!(first.sources.iter().map(|source| source.text.chars().count()).sum::<usize>() <= limits.total_chars);
        assert_eq!(first, gather("cache", files, &[], &limits));
        assert!(first.sources.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }
}
