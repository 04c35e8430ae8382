//! Gathers from a folder: walks it, reads its text files, and hands them to the ranking.
//!
//! `.gitignore` is honoured, hidden files and symbolic links are left out, and the order is that of names, so the same
//! folder always gives the same sources; files whose names speak of the question come first. What can't be read is
//! reported, never fatal.

use std::{
    collections::HashSet,
    fs::File,
    io::Read as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ignore::{DirEntry, Walk, WalkBuilder};

use super::{page::visible_lines, pdf};
use loopwright_base::error::{Error, Result};
use loopwright_lexicon::words::terms;
use loopwright_retrieve::{
    gather::{Document, GatherLimits, Gathered, gather_documents},
    plain::{decoded, notebook_cells, plain_text},
};

/// Files passed over that are named in a problem.
const MAX_NAMED: usize = 5;
/// Problems that are kept; more are only counted.
const MAX_PROBLEMS: usize = 50;

/// Endings of files that hold no text; they are not even opened.
const BINARY_ENDINGS: [&str; 43] = [
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tif", "tiff", "zip", "gz", "bz2", "xz", "zst", "7z", "tar",
    "jar", "whl", "so", "dll", "dylib", "a", "o", "rlib", "exe", "bin", "class", "pyc", "woff", "woff2", "ttf", "otf",
    "eot", "mp3", "mp4", "mov", "avi", "wav", "ogg", "db", "sqlite", "parquet", "npy",
];

/// Endings of documents that hold text, in forms that are not read: they are named.
const UNREAD_DOCUMENTS: [&str; 11] = ["docx", "doc", "pptx", "ppt", "xlsx", "xls", "odt", "ods", "odp", "epub", "rtf"];

/// Names of files of ignore rules.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The size of the longest file of ignore rules that is read.
const MAX_RULES_BYTES: u64 = 1 << 20;

/// Names of folders of dependencies and build output: left out even where no `.gitignore` says so.
const SKIPPED_FOLDERS: [&str; 16] = [
    "node_modules",
    "__pycache__",
    "target",
    "venv",
    ".venv",
    ".git",
    ".hg",
    ".svn",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".cache",
    ".idea",
];

/// Finds passages about `question` in the files under `root` and in the messages of `thread`, oldest first. `root` may
/// be a single file. Fails with guilt `usage` and code `folder_not_found` if there is nothing at `root`.
pub fn gather_folder(root: &Path, question: &str, thread: &[String], limits: &GatherLimits) -> Result<Gathered> {
    gather_folders(&[root], question, thread, limits)
}

/// [`gather_folder`] for several folders, ranked together: the limits are those of all, and references begin with the
/// name of their folder. Folders of the same name are told apart by a number.
pub fn gather_folders<P: AsRef<Path>>(
    roots: &[P],
    question: &str,
    thread: &[String],
    limits: &GatherLimits,
) -> Result<Gathered> {
    gather_all(roots, Vec::new(), question, thread, limits)
}

/// [`gather_folders`] with `others`, which came from elsewhere, ranked together with the files.
pub fn gather_all<P: AsRef<Path>>(
    roots: &[P],
    others: Vec<Document>,
    question: &str,
    thread: &[String],
    limits: &GatherLimits,
) -> Result<Gathered> {
    let mut folders = Vec::with_capacity(roots.len());
    let mut names = HashSet::new();
    for root in roots {
        let root = root.as_ref();
        let place = root.canonicalize().map_err(|error| {
            Error::usage("folder_not_found", format!("the folder {} can't be read: {error}", root.display()))
                .hint("check the path of the folder")
        })?;
        let prefix = if roots.len() > 1 { prefix_of(&place, &mut names) } else { String::new() };
        folders.push((place, prefix));
    }
    let mut tally = Tally::new(limits);
    // Files whose names speak of the question come first: the limits shall not cut them off.
    let asked: HashSet<String> = terms(question).into_iter().collect();
    let mut waiting = [true, false].into_iter().flat_map(|speaks| folders.iter().map(move |folder| (speaks, folder)));
    let mut walk: Option<(bool, Folder<'_>, Walk)> = None;
    let (strange, known) = (UnreadableRules::default(), UnreadableRules::default());
    let mut ready = std::collections::VecDeque::from(others);
    let documents = std::iter::from_fn(|| {
        loop {
            if let Some(document) = ready.pop_front() {
                return Some(document);
            }
            let Some((first, folder, entries)) = &mut walk else {
                let (first, (root, prefix)) = waiting.next()?;
                let unreadable = if first { &known } else { &strange };
                walk = Some((first, Folder { root, prefix }, entries_of(root, limits.max_depth, false, unreadable)));
                continue;
            };
            match entries.next() {
                Some(Ok(entry)) if folder.is_about(&asked, entry.path()) != *first => {}
                Some(Ok(entry)) => match folder.read(&entry, &mut tally) {
                    FileOutcome::Text(parts) => {
                        let document = |(reference, text)| Document { reference, text, ..Document::default() };
                        ready.extend(parts.into_iter().map(document));
                    }
                    FileOutcome::Skip => {}
                    FileOutcome::Stop => return None,
                },
                Some(Err(error)) if !*first => tally.problems.add(error.to_string()),
                Some(Err(_)) => {}
                None => walk = None,
            }
        }
    });
    let mut gathered = gather_documents(question, documents, thread, limits);
    gathered.problems = tally.finish(&strange);
    Ok(gathered)
}

/// The reference of a file, and its text.
pub type FileText = (String, String);

/// The text of all files under `roots` that gathering would read, each with its reference, and what could not be read.
pub fn read_folders<P: AsRef<Path>>(roots: &[P], limits: &GatherLimits) -> Result<(Vec<FileText>, Vec<String>)> {
    let mut tally = Tally::new(limits);
    let strange = UnreadableRules::default();
    let (mut names, mut all) = (HashSet::new(), Vec::new());
    'folders: for root in roots {
        let root = root.as_ref();
        let place = root.canonicalize().map_err(|error| {
            Error::usage("folder_not_found", format!("the folder {} can't be read: {error}", root.display()))
                .hint("check the path of the folder")
        })?;
        let prefix = if roots.len() > 1 { prefix_of(&place, &mut names) } else { String::new() };
        let folder = Folder { root: &place, prefix: &prefix };
        for entry in entries_of(&place, limits.max_depth, false, &strange) {
            match entry.map(|entry| folder.read(&entry, &mut tally)) {
                Ok(FileOutcome::Text(texts)) => all.extend(texts),
                Ok(FileOutcome::Skip) => {}
                Ok(FileOutcome::Stop) => break 'folders,
                Err(error) => tally.problems.add(error.to_string()),
            }
        }
    }
    Ok((all, tally.finish(&strange)))
}

/// Files of ignore rules that can't be read, collected during a walk.
#[derive(Clone, Default)]
pub(super) struct UnreadableRules(Arc<Mutex<Vec<String>>>);

impl UnreadableRules {
    /// Returns whether the rules in `folder` can be read: a pipe or a device in their place would hold up the walk for
    /// ever.
    fn can_read_rules(&self, folder: &Path) -> bool {
        let strange = RULE_FILES.iter().map(|name| folder.join(name)).find(|path| {
            path.metadata().is_ok_and(|rules| !(rules.is_dir() || rules.is_file() && rules.len() <= MAX_RULES_BYTES))
        });
        let Some(path) = strange else { return true };
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() <= MAX_PROBLEMS {
            found.push(format!("{}: not rules that can be read", path.display()));
        }
        false
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The entries of `root`, `depth` folders deep, without ignored ones. With `hidden` hidden files are there, too, and
/// folders that nobody looks into are named. `root` itself is walked whatever it is.
pub(super) fn entries_of(root: &Path, depth: usize, hidden: bool, strange: &UnreadableRules) -> Walk {
    // The walk reads the rules of the folders around it, too. Without them it goes on; folders below are left out.
    let rules = root.ancestors().all(|folder| strange.can_read_rules(folder));
    // Rules of a repository hold in it, and none from around it do; elsewhere rules hold without one.
    let is_repository = root.ancestors().any(|folder| folder.join(".git").exists());
    let below = strange.clone();
    WalkBuilder::new(root)
        .hidden(!hidden)
        .parents(rules)
        .ignore(rules)
        .git_ignore(rules)
        .git_exclude(false)
        .max_depth(Some(depth))
        .follow_links(false)
        .require_git(is_repository)
        .git_global(false)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let around = entry.path().parent().filter(|_| entry.depth() > 1).and_then(Path::file_name);
            let closed = if hidden { around } else { Some(entry.file_name()).filter(|_| is_folder) };
            !SKIPPED_FOLDERS.iter().any(|name| closed.is_some_and(|closed| closed == *name))
                && (!is_folder || below.can_read_rules(entry.path()))
        })
        .build()
}

/// The name of a folder among others; that of the folder that holds it if it is a single file.
fn prefix_of(root: &Path, names: &mut HashSet<String>) -> String {
    let folder = if root.is_file() { root.parent().unwrap_or(root) } else { root };
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut prefix = name.clone();
    let mut number = 1_usize;
    while !names.insert(prefix.clone()) {
        number += 1;
        prefix = format!("{name}-{number}");
    }
    prefix.push('/');
    prefix
}

enum FileOutcome {
    /// Names and texts: one, or one for each page or cell.
    Text(Vec<(String, String)>),
    Skip,
    Stop,
}

#[derive(Default)]
struct Problems {
    all: Vec<String>,
    more: usize,
}

impl Problems {
    fn add(&mut self, problem: String) {
        if self.all.len() < MAX_PROBLEMS {
            self.all.push(problem);
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.all.push(format!("and {} more", self.more));
        }
        self.all
    }
}

/// Counts and problems of all files that were read.
struct Tally<'a> {
    limits: &'a GatherLimits,
    files: usize,
    bytes: u64,
    /// There are folders deeper than the limit.
    deeper: bool,
    /// Files that hold no text, or are not of the kinds that were asked for; the first few by name.
    skipped: usize,
    passed_names: Vec<String>,
    problems: Problems,
}

impl<'a> Tally<'a> {
    fn new(limits: &'a GatherLimits) -> Self {
        Self {
            limits,
            files: 0,
            bytes: 0,
            deeper: false,
            skipped: 0,
            passed_names: Vec::new(),
            problems: Problems::default(),
        }
    }

    fn skip(&mut self, name: String) -> FileOutcome {
        self.skipped += 1;
        if self.passed_names.len() < MAX_NAMED {
            self.passed_names.push(name);
        }
        FileOutcome::Skip
    }

    /// Reports the files without text, if nothing was read: beside files that were read, pictures and programs are
    /// nothing to speak of.
    fn report_skipped(&mut self) {
        if self.files > 0 || self.skipped == 0 {
            return;
        }
        let mut names = self.passed_names.join(", ");
        if self.skipped > self.passed_names.len() {
            names.push_str(", …");
        }
        let kinds = &self.limits.extensions;
        let why = if kinds.is_empty() { "holds no text".to_owned() } else { format!("is not {}", kinds.join(", ")) };
        self.problems.add(match self.skipped {
            1 => format!("{names}: {why}, so nothing was read"),
            many => format!("none of {many} files was read, each {why}: {names}"),
        });
    }

    fn finish(mut self, strange: &UnreadableRules) -> Vec<String> {
        self.report_skipped();
        strange.take().into_iter().for_each(|problem| self.problems.add(problem));
        if self.deeper {
            self.problems.add(format!("folders more than {} deep were not read", self.limits.max_depth));
        }
        self.problems.finish()
    }
}

struct Folder<'a> {
    root: &'a Path,
    prefix: &'a str,
}

impl Folder<'_> {
    /// Returns whether the name of a file, or of a folder that holds it, has a word of the question.
    fn is_about(&self, asked: &HashSet<String>, path: &Path) -> bool {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        terms(&relative.to_string_lossy()).iter().any(|term| asked.contains(term))
    }

    fn read(&self, entry: &DirEntry, tally: &mut Tally<'_>) -> FileOutcome {
        let path = entry.path();
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            if entry.file_type().is_some_and(|kind| kind.is_dir()) && entry.depth() >= tally.limits.max_depth {
                tally.deeper = true;
            }
            return FileOutcome::Skip;
        }
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let mut name =
            relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        if name.is_empty() {
            name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        name.insert_str(0, self.prefix);
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
        let wanted = if tally.limits.extensions.is_empty() {
            !BINARY_ENDINGS.contains(&extension.as_str())
        } else {
            tally.limits.extensions.iter().any(|one| one.trim_start_matches('.').eq_ignore_ascii_case(&extension))
        };
        if wanted && UNREAD_DOCUMENTS.contains(&extension.as_str()) {
            let advice = "save it as text, Markdown, HTML or PDF";
            tally.problems.add(format!("{name}: .{extension} files are not read; {advice}"));
            return FileOutcome::Skip;
        }
        if !wanted {
            return tally.skip(name);
        }
        if tally.files >= tally.limits.max_files {
            tally.problems.add(format!("only the first {} files were read", tally.limits.max_files));
            return FileOutcome::Stop;
        }
        if tally.bytes >= tally.limits.max_total_bytes {
            tally.problems.add(format!("only the first {} bytes were read", tally.limits.max_total_bytes));
            return FileOutcome::Stop;
        }
        let is_pdf = extension == "pdf";
        let most = if is_pdf { tally.limits.max_pdf_bytes } else { tally.limits.max_file_bytes };
        if entry.metadata().is_ok_and(|file| file.len() > most) {
            tally.problems.add(format!("{name}: larger than {most} bytes"));
            return FileOutcome::Skip;
        }
        let mut bytes = Vec::new();
        // A file may grow while it is read: what counts is what was read.
        let outcome = File::open(path).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes));
        if let Err(error) = outcome {
            tally.problems.add(format!("{name}: {error}"));
            return FileOutcome::Skip;
        }
        if bytes.len() as u64 > most {
            tally.problems.add(format!("{name}: larger than {most} bytes"));
            return FileOutcome::Skip;
        }
        let part = |kind: &str, at: usize| format!("{name}#{kind}={}", at + 1);
        let parts = if is_pdf {
            match pdf::pages(bytes) {
                Ok(pages) => pages.into_iter().enumerate().map(|(at, page)| (part("page", at), page)).collect(),
                Err(why) => {
                    tally.problems.add(format!("{name}: {why}"));
                    return FileOutcome::Skip;
                }
            }
        } else if extension == "ipynb" {
            let Some(cells) = decoded(&bytes).and_then(|(text, _)| notebook_cells(&text)) else {
                tally.problems.add(format!("{name}: a broken notebook"));
                return FileOutcome::Skip;
            };
            cells.into_iter().enumerate().map(|(at, cell)| (part("cell", at), cell)).collect()
        } else {
            let Some(text) = plain_text(&name, &bytes) else { return tally.skip(name) };
            let is_page = matches!(extension.as_str(), "html" | "htm" | "xhtml");
            let text = if is_page { visible_lines(&text) } else { text };
            if decoded(&bytes).is_some_and(|(_, exact)| !exact) {
                tally.problems.add(format!("{name}: not UTF-8, read as Windows-1252"));
            }
            vec![(name, text)]
        };
        let read: usize = parts.iter().map(|(_, text)| text.len()).sum();
        tally.bytes = tally.bytes.saturating_add(read as u64);
        tally.files += 1;
        FileOutcome::Text(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::PathBuf};

    /// A folder of its own for a test, gone afterwards.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
            let root = std::env::temp_dir().join(format!("loopwright-gather-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).unwrap();
            for (path, bytes) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            Self(root)
        }

        fn ask(&self, limits: &GatherLimits) -> Gathered {
            gather_folder(&self.0, "Where is the cache?", &[], limits).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn names(gathered: &Gathered) -> Vec<&str> {
        let mut names: Vec<&str> = gathered.sources.iter().map(|source| source.reference.as_str()).collect();
        names.sort_unstable();
        names
    }

    const TEXT: &[u8] = b"The cache is here.";

    #[test]
    fn s16_e07_a_file_that_is_named_by_the_question_is_read_whatever_the_limit() {
        let mut files: Vec<(String, Vec<u8>)> =
            (0..80).map(|at| (format!("animals/a{at:02}.md"), b"A horse runs over the plain.".to_vec())).collect();
        files.push(("animals/zebras.md".into(), b"They have stripes, and live in herds.".to_vec()));
        files.push(("zebra/habits.md".into(), b"At dawn the herd drinks.".to_vec()));
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        let scratch = Scratch::new("named", &files);
        let found =
            gather_folder(&scratch.0, "What stripes does a zebra have?", &[], &GatherLimits::default()).unwrap();
        assert!(names(&found).contains(&"animals/zebras.md"), "{:?}", names(&found));
        assert_eq!(found.problems, ["only the first 50 files were read"]);
    }

    #[test]
    fn e07_a_folder_without_any_text_says_why_nothing_was_read() {
        let two = Scratch::new("no-text", &[("a b.png", b"\x89PNG\r\n\x1a\n\0\0"), ("sub/c.dat", b"a\0b\0c")]);
        let gathered = two.ask(&GatherLimits::default());
        assert_eq!(gathered.files_seen, 0);
        assert_eq!(gathered.problems, ["none of 2 files was read, each holds no text: a b.png, sub/c.dat"]);
        let one = Scratch::new("one-no-text", &[("c.dat", b"a\0b\0c")]);
        assert_eq!(one.ask(&GatherLimits::default()).problems, ["c.dat: holds no text, so nothing was read"]);
        let other = Scratch::new("other-kind", &[("a.txt", TEXT)]);
        let only = GatherLimits { extensions: vec!["md".into(), "rst".into()], ..GatherLimits::default() };
        assert_eq!(other.ask(&only).problems, ["a.txt: is not md, rst, so nothing was read"]);
        let names: Vec<String> = (0..9).map(|at| format!("{at}.png")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"\0"[..])).collect();
        let many = Scratch::new("many-no-text", &files);
        let said = &many.ask(&GatherLimits::default()).problems[0];
        assert!(said.starts_with("none of 9 files") && said.ends_with("4.png, …"), "{said}");
        let mixed = Scratch::new("mixed", &[("a.md", TEXT), ("c.dat", b"a\0b\0c")]);
        assert!(mixed.ask(&GatherLimits::default()).problems.is_empty(), "beside text it goes without saying");
        assert!(Scratch::new("empty", &[]).ask(&GatherLimits::default()).problems.is_empty());
    }

    #[test]
    fn a3_documents_that_are_not_read_are_named() {
        let folder =
            Scratch::new("documents", &[("a.md", TEXT), ("report.docx", b"PK\x03\x04\0"), ("b.epub", b"PK\0")]);
        let gathered = folder.ask(&GatherLimits::default());
        assert_eq!(names(&gathered), ["a.md"]);
        let advice = "files are not read; save it as text, Markdown, HTML or PDF";
        assert_eq!(gathered.problems, [format!("b.epub: .epub {advice}"), format!("report.docx: .docx {advice}")]);
    }

    #[test]
    fn e07_a_folder_is_searched() {
        let large = vec![b'x'; 2_000_000];
        let folder = Scratch::new(
            "searched",
            &[
                ("a.md", TEXT),
                ("sub/deep/b.rs", b"// The cache is here.\nfn cache() {}\n"),
                ("page.html", b"<script>cache</script>\n<p>The cache is <b>here</b>.</p>"),
                (".hidden.md", TEXT),
                (".gitignore", b"ignored.md\n"),
                ("ignored.md", TEXT),
                ("node_modules/x.md", TEXT),
                ("target/doc/x.md", TEXT),
                ("image.png", TEXT),
                ("blob.dat", b"cache\0cache"),
                ("latin.txt", b"The cache is caf\xE9."),
                ("large.txt", &large),
            ],
        );
        let gathered = folder.ask(&GatherLimits::default());
        assert_eq!(names(&gathered), ["a.md", "latin.txt", "page.html", "sub/deep/b.rs"]);
        assert_eq!(gathered.sources.iter().find(|one| one.reference == "page.html").unwrap().line, 2);
        assert_eq!(
            gathered.problems,
            ["large.txt: larger than 100000 bytes", "latin.txt: not UTF-8, read as Windows-1252"]
        );
        assert_eq!(gathered, folder.ask(&GatherLimits::default()));
    }

    #[test]
    fn e10_what_lies_too_deep_is_told() {
        let folder = Scratch::new("deep", &[("a/b.md", TEXT), ("a/b/c/d.md", TEXT)]);
        let limits = GatherLimits { max_depth: 2, ..GatherLimits::default() };
        let gathered = folder.ask(&limits);
        assert_eq!(names(&gathered), ["a/b.md"]);
        assert_eq!(gathered.problems, ["folders more than 2 deep were not read"]);
        assert!(folder.ask(&GatherLimits::default()).problems.is_empty());
    }

    #[test]
    fn missing_is_an_error_and_empty_is_nothing() {
        let folder = Scratch::new("empty", &[]);
        assert_eq!(folder.ask(&GatherLimits::default()), Gathered::default());
        let missing = gather_folder(&folder.0.join("none"), "cache", &[], &GatherLimits::default()).unwrap_err();
        assert_eq!((missing.code.as_ref(), missing.guilt), ("folder_not_found", loopwright_base::error::Fault::Usage));
    }

    #[test]
    fn a_single_file_will_do() {
        let folder = Scratch::new("single", &[("a.md", TEXT)]);
        let gathered = gather_folder(&folder.0.join("a.md"), "cache", &[], &GatherLimits::default()).unwrap();
        assert_eq!(names(&gathered), ["a.md"]);
    }

    #[test]
    fn e10_small_limits_hold() {
        let folder = Scratch::new("small", &[("1/2/3/4/5/6/deep.md", TEXT), ("a.md", TEXT), ("b.rs", TEXT)]);
        assert_eq!(names(&folder.ask(&GatherLimits::seed())), ["a.md"]);
        let one = GatherLimits { max_files: 1, ..GatherLimits::default() };
        let gathered = folder.ask(&one);
        assert_eq!(gathered.files_seen, 1);
        assert_eq!(gathered.problems, ["only the first 1 files were read", "folders more than 6 deep were not read"]);
    }

    #[test]
    fn e07_several_folders_are_ranked_together_by_name() {
        let first = Scratch::new("several-1", &[("docs/a.md", TEXT), ("other/b.md", b"Nothing.")]);
        let second = Scratch::new("several-2", &[("docs/a.md", TEXT), ("one.md", TEXT)]);
        let roots = [first.0.join("docs"), second.0.join("docs"), second.0.join("one.md"), first.0.join("other")];
        let gathered = gather_folders(&roots, "Where is the cache?", &[], &GatherLimits::default()).unwrap();
        let parent = second.0.file_name().unwrap().to_string_lossy();
        let mut expected = ["docs-2/a.md".to_owned(), "docs/a.md".to_owned(), format!("{parent}/one.md")];
        expected.sort();
        assert_eq!(names(&gathered), expected);
        assert_eq!((gathered.files_seen, gathered.files_matched), (4, 3));
        let two = GatherLimits { max_files: 2, ..GatherLimits::default() };
        let gathered = gather_folders(&roots, "Where is the cache?", &[], &two).unwrap();
        assert_eq!((gathered.files_seen, gathered.problems.len()), (2, 1), "the limits are those of all");
        let missing = gather_folders(&[&roots[0], &first.0.join("none")], "cache", &[], &two).unwrap_err();
        assert_eq!(missing.code, "folder_not_found");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_hold_nobody_up() {
        let folder = Scratch::new("pipes", &[("a.md", TEXT), ("sub/b.md", TEXT), ("c\nd.md", TEXT)]);
        let pipe = |path: &str| {
            assert!(std::process::Command::new("mkfifo").arg(folder.0.join(path)).status().unwrap().success());
        };
        pipe("pipe.md");
        std::os::unix::fs::symlink("/dev/zero", folder.0.join("sub/.gitignore")).unwrap();
        let gathered = folder.ask(&GatherLimits::default());
        assert_eq!(names(&gathered), ["a.md", "c\nd.md"]);
        assert!(gathered.problems[0].ends_with("sub/.gitignore: not rules that can be read"), "{gathered:?}");
        pipe(".gitignore");
        let gathered = folder.ask(&GatherLimits::default());
        assert_eq!((names(&gathered).len(), gathered.problems.len()), (2, 2));
        let single = gather_folder(&folder.0.join("pipe.md"), "cache", &[], &GatherLimits::default()).unwrap();
        assert_eq!(single.sources, []);
    }

    #[cfg(unix)]
    #[test]
    fn odd_names_and_loops_are_fine() {
        use std::os::unix::ffi::OsStrExt;
        let folder = Scratch::new("odd", &[("a/b/c.md", TEXT)]);
        std::os::unix::fs::symlink(&folder.0, folder.0.join("a/b/loop")).unwrap();
        fs::write(folder.0.join(std::ffi::OsStr::from_bytes(b"\xff.md")), TEXT).unwrap();
        assert_eq!(names(&folder.ask(&GatherLimits::default())), ["a/b/c.md", "\u{fffd}.md"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out() {
        let outside = Scratch::new("outside", &[("secret.md", TEXT)]);
        let folder = Scratch::new("inside", &[("a.md", TEXT)]);
        std::os::unix::fs::symlink(outside.0.join("secret.md"), folder.0.join("link.md")).unwrap();
        std::os::unix::fs::symlink(&outside.0, folder.0.join("folder")).unwrap();
        assert_eq!(names(&folder.ask(&GatherLimits::default())), ["a.md"]);
    }
}
