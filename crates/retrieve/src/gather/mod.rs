//! Gathering: which pieces of the files and of the conversation bear on a question.
//!
//! Files are cut into chunks and ranked by BM25, words of headings and paths counting as well. Only chunks that share a
//! word with the question are kept, and of those only the best, so memory does not grow with the folder.

mod limits;
mod search;

use serde::{Deserialize, Serialize};

pub use limits::GatherLimits;
use loopwright_base::sources::{Source, SourceKind};
pub(crate) use search::tells_changes;
use search::{Candidate, OTHERS, Search};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gathered {
    /// The sources, best first.
    pub sources: Vec<Source>,
    /// What else the files hold, where all of it is no longer than what may be handed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Source>,
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
    search.mend_spelling();
    search.rank();
    gathered.support = (search.seen > 0).then(|| search.support(question));
    (gathered.sources, gathered.beside) = search.best(limits);
    gathered
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
