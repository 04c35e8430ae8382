//! Search for files by name and for lines by pattern, as tools of a model do: over the walk that gathering makes, in
//! time that is bounded by the lengths of pattern and text.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use globset::GlobBuilder;
use ignore::Walk;
use regex::{Regex, RegexBuilder};

use super::gather::{UnreadableRules, entries_of};
use loopwright_base::{
    error::{Error, Fault, Result},
    text::head,
};
use loopwright_retrieve::plain::decoded;

/// The length of the longest pattern of paths that is accepted, in characters.
const LONGEST_GLOB: usize = 500;
/// The length of the longest expression that is accepted, in characters.
const LONGEST_EXPRESSION: usize = 1_000;
/// The memory that an expression may take, in bytes; the time that a text takes grows with it.
const LARGEST_EXPRESSION: usize = 10 << 20;
/// Bytes of a line that are searched before the clock is read.
const FIRST_PIECE: usize = 512;
/// Characters of a matching line that are shown.
const SHOWN: usize = 300;
/// The longest character, in bytes.
const CHARACTER: usize = 4;

fn invalid(message: String, hint: &str) -> Error {
    Error::new(Fault::Tool, "invalid_pattern", message).hint(hint)
}

/// A pattern of paths: `*` and `?` and `[...]` stay within a name, `**` goes over folders, `{a,b}` is either, and `\`
/// takes the meaning off what follows.
struct Glob {
    expression: Regex,
    /// The pattern may match the name alone, in any folder.
    anywhere: bool,
}

impl Glob {
    fn new(text: &str, anywhere: bool) -> Result<Self> {
        let wrong = |why: &str| {
            let start: String = text.chars().take(60).collect();
            invalid(format!("{start:?} is no pattern of paths: {why}"), "use *, **, ?, [abc] and {a,b}")
        };
        if text.is_empty() || text.chars().count() > LONGEST_GLOB || text.contains('\0') {
            return Err(wrong(&format!("a pattern has 1 to {LONGEST_GLOB} characters")));
        }
        let glob = GlobBuilder::new(text.trim_start_matches("./").trim_matches('/'))
            .literal_separator(true)
            .empty_alternates(true)
            .allow_unclosed_class(true)
            .build()
            .map_err(|error| wrong(&error.kind().to_string()))?;
        let expression = RegexBuilder::new(&in_characters(glob.regex()))
            .dot_matches_new_line(true)
            .build()
            .map_err(|error| wrong(&reason(&error)))?;
        Ok(Self { expression, anywhere })
    }

    fn fits(&self, path: &Path) -> bool {
        let name = || path.file_name().is_some_and(|name| self.expression.is_match(&name.to_string_lossy()));
        self.expression.is_match(&path.to_string_lossy()) || self.anywhere && name()
    }
}

/// A glob's expression, which is about bytes, as one about characters: `?` is one, of however many bytes.
fn in_characters(expression: &str) -> String {
    let mut bytes = Vec::with_capacity(expression.len());
    let mut rest = expression.strip_prefix("(?-u)").unwrap_or(expression).as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.strip_prefix(b"x").and_then(|hex| hex.get(..2)).filter(|_| *first == b'\\');
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        let used = match (byte, first) {
            (Some(_), _) => 4,
            (None, b'\\') => 2,
            (None, _) => 1,
        };
        let (piece, after) = rest.split_at(used.min(rest.len()));
        bytes.extend_from_slice(byte.as_ref().map_or(piece, std::slice::from_ref));
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The reason why an expression is invalid, in a line.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::Syntax(text) => text.rsplit("error: ").next().unwrap_or(text).trim().to_owned(),
        regex::Error::CompiledTooBig(_) => "it is too large, with its repeats written out".to_owned(),
        other => other.to_string(),
    }
}

/// The paths in a folder, relative to it, folders before what they hold, in order of names.
pub struct FolderWalk {
    root: PathBuf,
    walk: Walk,
    glob: Option<Glob>,
    left: usize,
}

impl FolderWalk {
    /// Walks `depth` folders deep, over `most` entries at most. With `glob` only matching paths that are no folders are
    /// yielded; with `anywhere` it is enough that the name alone matches. Error `invalid_pattern`: the glob is invalid.
    pub fn new(root: PathBuf, depth: usize, most: usize, glob: Option<&str>, anywhere: bool) -> Result<Self> {
        let glob = glob.map(|glob| Glob::new(glob, anywhere)).transpose()?;
        let walk = entries_of(&root, depth, true, &UnreadableRules::default());
        Ok(Self { root, walk, glob, left: most })
    }
}

impl Iterator for FolderWalk {
    type Item = OsString;

    fn next(&mut self) -> Option<OsString> {
        while self.left > 0 {
            self.left -= 1;
            // What can't be read is not there.
            let Ok(entry) = self.walk.next()? else { continue };
            let Some(path) = entry.path().strip_prefix(&self.root).ok().filter(|_| entry.depth() > 0) else { continue };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if self.glob.as_ref().is_none_or(|glob| !is_folder && glob.fits(path)) {
                return Some(path.as_os_str().to_owned());
            }
        }
        None
    }
}

/// An expression that lines are searched for. It has neither look-around nor back-references, and is never slow for
/// what it says, only for how long it is.
pub struct LinePattern(Regex);

/// The reason why a search stopped before the end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// More lines match than were asked for.
    More,
    /// The time limit passed.
    Over,
}

/// Matching lines, each with its number, counted from 1.
pub type Lines = Vec<(usize, String)>;

impl LinePattern {
    /// Compiles an expression in the syntax of the crate `regex`. Error `invalid_pattern`: it is invalid, or uses a
    /// feature that the crate does not have.
    pub fn new(text: &str, ignore_case: bool) -> Result<Self> {
        if text.is_empty() || text.chars().count() > LONGEST_EXPRESSION || text.contains('\0') {
            return Err(invalid(format!("a pattern has 1 to {LONGEST_EXPRESSION} characters"), "shorten it"));
        }
        let compiled = RegexBuilder::new(text).case_insensitive(ignore_case).size_limit(LARGEST_EXPRESSION).build();
        compiled.map(Self).map_err(|error| {
            let start: String = text.chars().take(100).collect();
            invalid(
                format!("{start:?} is no regular expression that can be searched for: {}", reason(&error)),
                "there is no look-ahead, look-behind or back-reference: search for a plainer expression and read the \
                 lines it finds; write \\ before ( ) [ ] { } . * + ? that mean themselves",
            )
        })
    }

    /// The first `most` matching lines of a file, and why there are no others; `None` if the file is no text. Before
    /// each line, and within long ones, `is_over` says whether to stop there.
    pub fn lines(
        &self,
        bytes: &[u8],
        most: usize,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Option<(Lines, Option<SearchStop>)> {
        let (text, _) = decoded(bytes)?;
        let mut found = Lines::new();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            if is_over() {
                return Some((found, Some(SearchStop::Over)));
            }
            let line = line.trim_end_matches(['\r', '\n']);
            match self.place(line, is_over) {
                Ok(None) => {}
                Ok(Some(_)) if found.len() >= most => return Some((found, Some(SearchStop::More))),
                Ok(Some(place)) => found.push((at + 1, around(line, place))),
                Err(ended) => return Some((found, Some(ended))),
            }
        }
        Some((found, None))
    }

    /// The place where the expression matches a line, in bytes. Of a long line first a piece is searched, then one of
    /// twice the length: the time that a piece takes is known before the next one is begun.
    fn place(&self, line: &str, is_over: &mut dyn FnMut() -> bool) -> Result<Option<usize>, SearchStop> {
        let mut length = FIRST_PIECE;
        loop {
            let piece = head(line, length);
            let is_whole = piece.len() == line.len();
            // What fits at the end of a piece may do so only because the piece ends there.
            let fits = self.0.find(piece).filter(|fits| is_whole || fits.end() + CHARACTER <= piece.len());
            if is_whole || fits.is_some() {
                return Ok(fits.map(|fits| fits.start()));
            }
            if is_over() {
                return Err(SearchStop::Over);
            }
            length = length.saturating_mul(2);
        }
    }
}

/// A matching line as it is shown: the text around the match.
fn around(line: &str, place: usize) -> String {
    let before = line.get(..place).unwrap_or_default().chars().count();
    let skipped = if line.len() <= SHOWN { 0 } else { before.saturating_sub(SHOWN / 3) };
    let mut rest = line.chars().skip(skipped);
    let mut shown = if skipped > 0 { "…".to_owned() } else { String::new() };
    shown.extend(rest.by_ref().take(SHOWN));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}
