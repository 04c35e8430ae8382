//! The lines of a text with their places, and what Markdown makes of them: headings and code fences.

use std::sync::LazyLock;

use loopwright_base::{
    lists::{self, Lists},
    text::PARAGRAPH,
};

static DIRECTIVES: LazyLock<Lists> = LazyLock::new(|| lists::lists(include_str!("directives.toml")));

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Headings, lists, fences.
    Markdown,
    /// Files of documentation in Markdown, `MyST` or reStructuredText: directives and definitions, too.
    Markup,
    /// A program or configuration: lines matter.
    Code,
    /// Paragraphs.
    Text,
}

impl Format {
    /// Returns whether texts of the format have headings and fences.
    pub const fn has_headings(self) -> bool {
        matches!(self, Self::Markdown | Self::Markup)
    }

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
            "md" | "markdown" | "mdx" | "rst" | "adoc" | "ipynb" => Self::Markup,
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

/// The signs that underline a heading, each a level deeper than the last: those of Markdown, and what reStructuredText
/// commonly uses besides.
const UNDERLINES: [char; 8] = ['=', '-', '~', '^', '"', '\'', '+', '#'];

/// A heading that is a line of text with a line of one sign under it; of those that Markdown does not know as long as
/// the text.
pub fn underlined<'a>(line: &'a str, after_blank: bool, next: Option<&str>) -> Option<(usize, &'a str)> {
    let next = next?;
    let first = next.chars().next()?;
    let level = UNDERLINES.iter().position(|sign| *sign == first)? + 1;
    let title = line.trim();
    let least = if level <= 2 { 3 } else { title.chars().count().max(4) };
    let rule = next.chars().all(|c| c == first) && next.len() >= least;
    let is_title = after_blank && title.chars().any(char::is_alphanumeric) && !title.starts_with(['|', '-', '*', '>']);
    (rule && is_title).then_some((level, title))
}

/// A directive of reStructuredText or `MyST`: its name, and what stands behind it on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    /// The name, such as `code-block`.
    pub name: &'a str,
    /// The text behind the name, such as the language of a code block.
    pub argument: &'a str,
}

/// How the lines that belong to a directive are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// They are code.
    Code,
    /// They are read as any other lines.
    Prose,
    /// They tell about versions, and begin with the number of one.
    Version,
    /// They tell what the argument is.
    Described,
    /// They say nothing to a reader.
    Nothing,
}

impl<'a> Directive<'a> {
    /// The directive that a line opens: `.. note:: text`; of a comment or a link's target the name is empty.
    pub fn read(line: &'a str) -> Option<Self> {
        let rest = line.trim().strip_prefix("..").filter(|rest| rest.is_empty() || rest.starts_with(' '))?.trim();
        let named = rest.split_once("::").filter(|(name, _)| is_directive(name));
        Some(named.map_or(Self { name: "", argument: "" }, |(name, argument)| Self { name, argument: argument.trim() }))
    }

    /// The directive that the line of a fence opens: three backticks and `{note} text`.
    pub fn of_fence(line: &'a str) -> Option<Self> {
        let rest = line.trim().trim_start_matches(['`', '~', ':']).strip_prefix('{')?;
        let (name, argument) = rest.split_once('}').filter(|(name, _)| is_directive(name))?;
        Some(Self { name, argument: argument.trim() })
    }

    /// How the lines of the directive are read, by its name.
    pub fn content(&self) -> Content {
        let name = self.name.rsplit(':').next().unwrap_or(self.name);
        let is = |kind: &str| lists::list(&DIRECTIVES, kind).contains(name);
        match () {
            () if is("code") => Content::Code,
            () if is("version") => Content::Version,
            () if name.is_empty() || is("nothing") => Content::Nothing,
            () if is("prose") => Content::Prose,
            () => Content::Described,
        }
    }
}

fn is_directive(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'+'))
}

/// Whether a line borders a table of reStructuredText: `=====  ===`, `+-----+---+`.
pub fn is_border(line: &str) -> bool {
    let line = line.trim();
    let grid = line.starts_with("+-") || line.starts_with("+=");
    let simple = line.starts_with("==") && line.contains(' ');
    (grid && line.bytes().all(|b| matches!(b, b'+' | b'-' | b'=')))
        || (simple && line.bytes().all(|b| matches!(b, b'=' | b' ')))
}
