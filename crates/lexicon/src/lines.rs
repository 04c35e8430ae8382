//! The lines of a text with their places, and what Markdown makes of them: headings and code fences.

use loopwright_base::text::PARAGRAPH;

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Headings, lists, fences.
    Markdown,
    /// A program or configuration: lines matter.
    Code,
    /// Paragraphs.
    Text,
}

impl Format {
    /// The format that the end of `path` tells.
    pub fn of_path(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let Some((_, extension)) = name.rsplit_once('.') else {
            return match name {
                "Makefile" | "Dockerfile" | "Justfile" | "justfile" | "Containerfile" => Self::Code,
                _ => Self::Text,
            };
        };
        match extension.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdx" | "rst" | "adoc" | "ipynb" => Self::Markdown,
            "rs" | "py" | "pyi" | "js" | "mjs" | "cjs" | "ts" | "tsx" | "jsx" | "go" | "c" | "h" | "cc" | "cpp"
            | "hpp" | "cs" | "java" | "kt" | "kts" | "rb" | "php" | "sh" | "bash" | "zsh" | "fish" | "ps1" | "sql"
            | "css" | "scss" | "less" | "swift" | "scala" | "lua" | "pl" | "r" | "jl" | "ex" | "exs" | "erl" | "hs"
            | "ml" | "clj" | "dart" | "zig" | "nim" | "vue" | "svelte" | "toml" | "yaml" | "yml" | "json" | "jsonl"
            | "ini" | "cfg" | "conf" | "env" | "xml" | "proto" | "graphql" | "tf" | "cmake" | "gradle" | "csv"
            | "tsv" => Self::Code,
            _ => Self::Text,
        }
    }
}

/// A line of a text.
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Where it starts.
    pub start: usize,
    /// The line with its end.
    pub text: &'a str,
}

impl Line<'_> {
    /// Where it ends.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The lines of a text, with their places; [`PARAGRAPH`] ends one, too, and what follows has the same number.
pub struct Lines<'a> {
    rest: std::str::SplitInclusive<'a, [char; 2]>,
    number: usize,
    start: usize,
    counted: bool,
}

impl<'a> Lines<'a> {
    /// The lines of `text`, from its first.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text.split_inclusive(['\n', PARAGRAPH]), number: 0, start: 0, counted: true }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let text = self.rest.next()?;
        let start = self.start;
        self.start += text.len();
        self.number += usize::from(self.counted);
        self.counted = text.ends_with('\n');
        Some(Line { number: self.number, start, text })
    }
}

/// Whether lines stand inside a code fence.
#[derive(Default)]
pub struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Whether the lines read so far end inside a fence.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes a line; `true` if it opens or closes a fence.
    pub fn read(&mut self, line: &str) -> bool {
        let line = line.trim();
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else { return false };
        let count = line.chars().take_while(|&c| c == mark).count();
        match self.open {
            None if count >= 3 && !(mark == '`' && line[count..].contains('`')) => self.open = Some((mark, count)),
            Some((kept, least)) if kept == mark && count >= least && line.len() == count => self.open = None,
            _ => return false,
        }
        true
    }
}

/// The level and title of a heading line.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|&b| b == b'#').count();
    let title = line.get(level..)?;
    ((1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t'])))
        .then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

/// A heading that is a line of text with a line of `=` or `-` under it.
pub fn underlined<'a>(line: &'a str, after_blank: bool, next: Option<&str>) -> Option<(usize, &'a str)> {
    let next = next?;
    let first = next.chars().next()?;
    let rule = matches!(first, '=' | '-') && next.len() >= 3 && next.chars().all(|c| c == first);
    let title = line.trim();
    let is_title = after_blank && title.chars().any(char::is_alphanumeric) && !title.starts_with(['|', '-', '*', '>']);
    (rule && is_title).then_some((if first == '=' { 1 } else { 2 }, title))
}
