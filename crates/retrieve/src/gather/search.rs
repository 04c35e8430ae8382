//! One search: candidates as they are read, ranked by BM25 once all is read.

use std::collections::{HashMap, HashSet};

use super::{GatherLimits, file_of};
use crate::{
    asked::list,
    bm25::{self, Parameters},
    chunks::chunks,
    question::Question,
    support::{Asked, SUPPORTING},
};
use loopwright_base::sources::{Source, SourceKind};
use loopwright_lexicon::{
    lines::Format,
    words::{self, is_misspelt},
};

/// A word that stands for one of the question counts as this part of it.
const INSTEAD: f64 = 0.5;
/// What a piece is worth more whose heading asks the question.
const HEADED: f64 = 2.0;
/// A heading's word counts as this many words of the text.
const HEADING_WEIGHT: f64 = 1.5;
/// A path's word counts as this many words of the text.
const PATH_WEIGHT: f64 = 1.0;
/// A chunk below this part of the best score is noise.
const LEAST_SHARE: f64 = 0.12;
/// Characters that are kept of pieces without a word of the question.
const MOST_SPARE: usize = 2_000;
/// A shorter piece may stand twice.
const SHORT: usize = 40;
/// When more candidates than this are waiting, the worst go.
const MAX_CANDIDATES: usize = 16_384;

/// What is said in place of a file's number of all that is no file.
pub(super) const OTHERS: usize = usize::MAX - 1;

/// A piece that may be handed on.
pub(super) struct Candidate {
    pub(super) order: usize,
    pub(super) file: usize,
    pub(super) prior: f64,
    pub(super) length: f64,
    pub(super) counts: Vec<f64>,
    /// Whether the same text was read before, elsewhere.
    pub(super) copy: bool,
    pub(super) source: Source,
}

/// A search that reads one document after the other.
pub(super) struct Search {
    pub(super) parameters: Parameters,
    pub(super) terms: HashMap<String, usize>,
    /// Words that documentation uses in place of one that is asked for.
    others: HashMap<&'static str, usize>,
    /// The terms that may be misspelt: behind the counts of all terms stand those of what is within a letter of them.
    misspelt: Vec<String>,
    /// The first bytes of the terms.
    pub(super) wanted: [bool; 256],
    pub(super) holding: Vec<usize>,
    pub(super) seen: usize,
    pub(super) length: f64,
    pub(super) candidates: Vec<Candidate>,
    /// The texts of files that were read: a copy says nothing more.
    pub(super) texts: HashSet<u64>,
    /// Pieces of files that hold no word of the question, as long as they are few.
    spare: Spare,
}

/// What is known beside what was found, where it is little: an answer may rest on a page that the question does not
/// name.
#[derive(Default)]
struct Spare {
    all: Vec<Source>,
    chars: usize,
}

impl Spare {
    /// Keeps a piece; too many are too much for all of them.
    fn keep(&mut self, source: Source) {
        self.chars = self.chars.saturating_add(source.text.chars().count());
        if self.chars > MOST_SPARE {
            self.all.clear();
        } else {
            self.all.push(source);
        }
    }
}

impl Search {
    pub(super) fn new(question: &str) -> Self {
        let mut terms = HashMap::new();
        words::each_term(question, |term| {
            let next = terms.len();
            if next < bm25::MAX_QUERY_TERMS {
                terms.entry(term.to_owned()).or_insert(next);
            }
        });
        let question = Question::read(question);
        let (mut others, mut misspelt) = (HashMap::new(), Vec::new());
        for need in question.needs.iter().filter(|need| need.nameable) {
            let Some(at) = terms.get(&need.word.whole) else { continue };
            for other in need.others.iter().flat_map(|group| group.iter()).filter(|other| !terms.contains_key(*other)) {
                others.entry(other.as_str()).and_modify(|known: &mut usize| *known = (*known).min(*at)).or_insert(*at);
            }
            if !need.word.is_name() && !misspelt.contains(&need.word.whole) {
                misspelt.push(need.word.whole.clone());
            }
        }
        let holding = vec![0; terms.len() + misspelt.len()];
        let mut wanted = [false; 256];
        for term in terms.keys().map(String::as_str).chain(others.keys().copied()) {
            if let Some(wanted) = term.bytes().next().and_then(|first| wanted.get_mut(usize::from(first))) {
                *wanted = true;
            }
        }
        Self {
            parameters: Parameters::default(),
            terms,
            others,
            misspelt,
            wanted,
            holding,
            seen: 0,
            length: 0.0,
            candidates: Vec::new(),
            texts: HashSet::new(),
            spare: Spare::default(),
        }
    }

    pub(super) fn no_counts(&self) -> Vec<f64> {
        vec![0.0; self.terms.len() + self.misspelt.len()]
    }

    /// Adds the question's terms in `text` to `counts`; gives the number of all terms.
    pub(super) fn count(&self, text: &str, weight: f64, counts: &mut [f64]) -> f64 {
        let mut length = 0_usize;
        words::each_term_starting(text, &self.wanted, |term| {
            length += 1;
            let Some(term) = term else { return };
            let (at, share) = match self.terms.get(term) {
                Some(at) => (*at, 1.0),
                None => match self.others.get(term) {
                    Some(at) => (*at, INSTEAD),
                    None => match self.misspelt.iter().position(|one| is_misspelt(one, term)) {
                        Some(at) => (self.terms.len() + at, 1.0),
                        None => return,
                    },
                },
            };
            if let Some(count) = counts.get_mut(at) {
                *count += share * weight;
            }
        });
        length as f64
    }

    /// Whether a heading holds nearly all words of the question.
    fn is_asked_by(&self, title: &str) -> bool {
        let mut held = self.no_counts();
        self.count(title, 1.0, &mut held);
        let met = held.iter().take(self.terms.len()).filter(|count| **count > 0.0).count();
        met > 0 && 4 * met >= 3 * self.terms.len()
    }

    /// A chunk or message has been read.
    pub(super) fn saw(&mut self, length: f64, counts: &[f64]) {
        self.seen += 1;
        self.length += length;
        for (holding, count) in self.holding.iter_mut().zip(counts) {
            *holding += usize::from(*count > 0.0);
        }
    }

    /// Reads a file; `true` if it shares a word with the question.
    pub(super) fn file(&mut self, file: usize, reference: &str, text: &str, kind: SourceKind, keep: bool) -> bool {
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
            // What stands under a heading that asks the question is about it.
            let headed = chunk.heading.rsplit(" > ").next().is_some_and(|title| self.is_asked_by(title));
            let prior = if headed { HEADED * prior } else { prior };
            let length = self.count(body, 1.0, &mut counts);
            if !copy {
                self.saw(length, &counts);
            }
            // What only looks like a word of the question counts where the word itself stands nowhere.
            let strange = !keep && counts.iter().all(|count| *count == 0.0);
            if strange && (!is_file || copy || self.spare.chars > MOST_SPARE) {
                continue;
            }
            let (text, line) = trimmed(body, chunk.line);
            let end_line = line + text.matches('\n').count();
            let (reference, heading) = (reference.to_owned(), chunk.heading);
            let source = Source { kind, reference, line, end_line, heading, text, ..Source::default() };
            if strange {
                self.spare.keep(source);
                continue;
            }
            found = true;
            let (order, counts) = (self.seen, counts.clone());
            self.candidates.push(Candidate { order, file, prior, length, counts, copy, source });
            if self.candidates.len() >= MAX_CANDIDATES {
                self.rank();
                self.candidates.truncate(MAX_CANDIDATES / 2);
            }
        }
        found
    }

    /// Takes a term that stands nowhere for what is within a letter of it.
    pub(super) fn mend_spelling(&mut self) {
        for (near, term) in self.misspelt.iter().enumerate() {
            let (Some(&at), near) = (self.terms.get(term), self.terms.len() + near) else { continue };
            if self.holding.get(at) != Some(&0) {
                continue;
            }
            self.holding.swap(at, near);
            self.candidates.iter_mut().for_each(|one| one.counts.swap(at, near));
        }
    }

    /// Scores all candidates and puts the best first; equal ones stay in the order of reading.
    pub(super) fn rank(&mut self) {
        let known = self.terms.len();
        let idf: Vec<f64> = self.holding.iter().take(known).map(|&holding| bm25::idf(self.seen, holding)).collect();
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
    pub(super) fn support(&self, question: &str) -> f64 {
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

    /// The best pieces, and what else the files hold.
    pub(super) fn best(self, limits: &GatherLimits) -> (Vec<Source>, Vec<Source>) {
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
        let mut spare = self.spare;
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
                    if !candidate.copy {
                        spare.keep(candidate.source);
                    }
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
        (sources, spare.all)
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

/// Whether a file tells what was changed, version by version.
pub(crate) fn tells_changes(path: &str) -> bool {
    let lower = path.to_lowercase();
    lower.split('/').any(|part| list("changelogs").contains(part.split('.').next().unwrap_or(part)))
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
    } else if tells_changes(path) {
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
