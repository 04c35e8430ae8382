//! What left the request, under handles.
//!
//! Every message that was shortened, summarised, replaced by a reference or dropped is here as it was. A handle is made
//! of the message's content, so the same message has the same handle everywhere; the model gets it back with the tool
//! `recall`, whole, by lines, or by a search over everything.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    facts::Facts,
    table::head_of,
    terms::{self, Map},
};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
    message::{Block, Media, MediaSource, Message},
    text::{head, tail},
};

/// Messages by handle. A copy is one pointer, until the one or the other changes.
#[derive(Clone, Debug, Default)]
pub struct Archive(Arc<Kept>);

#[derive(Clone, Debug, Default)]
struct Kept {
    entries: Vec<(Arc<str>, Arc<Message>)>,
    by_handle: Map<usize>,
}

/// The names of the tool that asks it back: the usual one, and the one beside a tool of the caller's that has that.
pub const RECALL_NAMES: [&str; 2] = ["recall", "recall_context"];

/// The bytes that one recall gives at most, unless asked otherwise.
pub const RECALL_BYTES: usize = 16_000;

impl Archive {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the message and gives its handle; one that is here already keeps its own.
    pub fn put(&mut self, message: &Arc<Message>) -> Arc<str> {
        self.put_known(message, &digits_of(message, true))
    }

    /// The same for a message whose first letters are known.
    pub(super) fn put_known(&mut self, message: &Arc<Message>, known: &[u8; 13]) -> Arc<str> {
        match handle_of(message, known, &[self]) {
            Ok(handle) => handle,
            Err(new) => self.insert(&new, message),
        }
    }

    fn insert(&mut self, handle: &str, message: &Arc<Message>) -> Arc<str> {
        let handle: Arc<str> = handle.into();
        self.add(handle.clone(), message.clone());
        handle
    }

    fn add(&mut self, handle: Arc<str>, message: Arc<Message>) {
        let kept = Arc::make_mut(&mut self.0);
        kept.by_handle.insert(terms::key(&handle), kept.entries.len());
        kept.entries.push((handle, message));
    }

    /// Takes what was put in beside it.
    pub(super) fn take(&mut self, added: Self) {
        if self.is_empty() {
            *self = added;
            return;
        }
        for (handle, message) in &added.0.entries {
            self.add(handle.clone(), message.clone());
        }
    }

    /// The handle of a message that is here.
    pub(super) fn known(&self, message: &Arc<Message>, known: &[u8; 13]) -> Option<Arc<str>> {
        handle_of(message, known, &[self]).ok()
    }

    /// The message under `handle`.
    pub fn get(&self, handle: &str) -> Option<&Arc<Message>> {
        self.at(handle).map(|(_, message)| message)
    }

    fn at(&self, handle: &str) -> Option<&(Arc<str>, Arc<Message>)> {
        self.0
            .by_handle
            .get(&terms::key(handle))
            .and_then(|at| self.0.entries.get(*at))
            .filter(|(known, _)| &**known == handle)
    }

    /// How many messages are here.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether nothing is here.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// All messages with their handles, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Message>)> {
        self.0.entries.iter().map(|(handle, message)| (&**handle, message))
    }

    /// Takes over what another archive holds.
    pub fn merge(&mut self, other: &Self) {
        for (_, message) in &other.0.entries {
            self.put(message);
        }
    }

    /// What is under `handle`, as text: from line `from` (1 is the first), at most `bytes` bytes. Very long lines count
    /// as several, so that all of them can be reached.
    pub fn recall(&self, handle: &str, from: usize, bytes: usize) -> Result<String> {
        let handle = plain(handle);
        let message = self.get(handle).ok_or_else(|| {
            Error::new(
                loopwright_base::error::Fault::Tool,
                "unknown_handle",
                format!("nothing is kept under {handle:?}"),
            )
            .hint("handles stand in notes such as [… recall(\"k3f9qab\")]; or search with `find`")
        })?;
        let text = shown(message);
        let lines: Vec<&str> = rows(&text).map(|(_, row)| row).collect();
        let from = from.saturating_sub(1);
        // Rows of a table come under its head.
        let titles = head_of(&lines, from).filter(|_| from < lines.len()).and_then(|rows| lines.get(rows));
        let titles = titles.filter(|rows| rows.iter().map(|row| row.len()).sum::<usize>() <= bytes / 5);
        let mut out: String = titles.into_iter().flatten().copied().collect();
        let shown = page(lines.get(from..).unwrap_or_default(), bytes - out.len());
        out.extend(shown.iter().map(|row| head(row, bytes)));
        let next = from + shown.len();
        if next < lines.len() {
            let _ = write!(out, "\n[goes on: recall(\"{handle}\", from_line={})]", next + 1);
        }
        Ok(out)
    }

    /// The lines that hold `words` (case ignored), newest message first, each with its handle; at most `bytes` bytes.
    /// Where none holds them as they stand, those that hold each of them.
    pub fn find(&self, words: &str, bytes: usize) -> String {
        self.find_in(words, bytes, |_| true)
    }

    fn find_in(&self, words: &str, bytes: usize, wanted: impl Fn(&Arc<Message>) -> bool) -> String {
        for sought in Sought::ways(words) {
            let mut out = String::new();
            for (handle, message) in self.0.entries.iter().rev().filter(|(_, message)| wanted(message)) {
                let text = shown(message);
                for (number, row) in sought.rows(&text) {
                    if out.len() + row.len().min(400) + 24 > bytes {
                        out.push_str("[more lines match]\n");
                        return out;
                    }
                    let _ = writeln!(out, "{handle}:{number}: {}", head(row.trim_end(), 400));
                }
            }
            if !out.is_empty() {
                return out;
            }
        }
        String::new()
    }

    /// What a model is told that asks for something back: what is under a handle from a line on, the lines under it
    /// that hold `find`, or such lines of all messages that are `wanted`.
    pub fn answer(
        &self,
        handle: &str,
        find: &str,
        from: usize,
        bytes: usize,
        wanted: impl Fn(&Arc<Message>) -> bool,
    ) -> Result<String> {
        let (handle, find) = (plain(handle), find.trim());
        match (handle.is_empty(), find.is_empty()) {
            (true, true) => Err(Error::usage("invalid_value", "recall wants a handle, or words to find")
                .hint("give the handle that stands in the place of what left, or words of it")),
            (false, true) => self.recall(handle, from, bytes),
            (true, false) => {
                let found = self.find_in(find, bytes, wanted);
                Ok(if found.is_empty() { format!("nothing that left holds {find:?}") } else { found })
            }
            (false, false) => {
                let whole = self.recall(handle, 1, usize::MAX)?;
                for sought in Sought::ways(find) {
                    let mut out = String::new();
                    for (number, row) in sought.rows(&whole).skip_while(|(number, _)| *number < from) {
                        if out.len() + row.len() + 12 > bytes {
                            let _ = writeln!(out, "[more lines match from line {number} on]");
                            break;
                        }
                        let _ = writeln!(out, "{number}: {}", row.trim_end_matches(['\r', '\n']));
                    }
                    if !out.is_empty() {
                        return Ok(out);
                    }
                }
                Ok(format!("no line of {handle} holds {find:?}"))
            }
        }
    }
}

/// A handle as models write it, with or without what stands around it.
fn plain(handle: &str) -> &str {
    let inside = handle.trim();
    let inside = inside.strip_prefix("recall(").map_or(inside, |rest| rest.strip_suffix(')').unwrap_or(rest));
    inside.trim().trim_matches(['"', '\'', '`'])
}

/// The rows from the first on that take no more than `bytes`, one at least; the last of them ends a line, where any
/// does.
fn page<'a, 'b>(rows: &'b [&'a str], bytes: usize) -> &'b [&'a str] {
    let mut used = 0;
    let fits = rows.iter().take_while(|row| {
        used += row.len();
        used <= bytes
    });
    let fits = fits.count();
    let shown = rows.get(..fits.max(1)).unwrap_or(rows);
    if fits == rows.len() {
        return shown;
    }
    let whole = shown.iter().rposition(|row| row.ends_with('\n')).map_or(shown.len(), |last| last + 1);
    shown.get(..whole).unwrap_or(shown)
}

/// The first page of a text that stands behind so many rows of the message under `handle`, and how to go on.
pub(super) fn first_page<'a>(text: &'a str, before: usize, bytes: usize, handle: &str) -> (&'a str, String) {
    let lines: Vec<&str> = rows(text).map(|(_, row)| row).collect();
    let shown = page(&lines, bytes);
    let (next, all) = (before + shown.len() + 1, before + lines.len());
    let note =
        format!("[lines {} to {} of {all}; goes on: recall(\"{handle}\", from_line={next})]", before + 1, next - 1);
    (head(text, shown.iter().map(|row| row.len()).sum()), note)
}

/// How many rows a message has before what stands behind these blocks.
pub(super) fn rows_before<'a>(blocks: impl Iterator<Item = &'a Block>) -> usize {
    let mut out = String::new();
    blocks.for_each(|block| show(&mut out, block));
    rows(&out).count()
}

/// A longer line is counted as several.
const ROW: usize = 512;

/// The beginning of a longer line, which ends behind an item of a list or at a space where one stands in its second
/// half.
fn piece(line: &str) -> &str {
    let most = head(line, ROW);
    if most.len() == line.len() {
        return most;
    }
    let half = most.len() / 2;
    let ends = ["},", "],", " "].iter().find_map(|end| Some(most.rfind(end).filter(|at| *at >= half)? + end.len()));
    ends.and_then(|end| line.get(..end)).unwrap_or(most)
}

/// The lines of a text with their numbers, long ones in pieces.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let pieces = text.split_inclusive('\n').flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let piece = piece(rest);
            rest = rest.get(piece.len()..).unwrap_or_default();
            // A line break alone is no row.
            if rest.len() <= 2 && rest.trim_end_matches(['\r', '\n']).is_empty() && !piece.is_empty() {
                let end = line.get(line.len() - rest.len() - piece.len()..).unwrap_or_default();
                rest = "";
                return Some(end);
            }
            (!piece.is_empty()).then_some(piece)
        })
    });
    pieces.enumerate().map(|(at, row)| (at + 1, row))
}

/// What is looked for: words as they stand, or each of them.
struct Sought(Vec<String>);

impl Sought {
    fn ways(words: &str) -> Vec<Self> {
        let whole = words.trim().to_lowercase();
        if whole.is_empty() {
            return Vec::new();
        }
        let each: Vec<String> = whole.split_whitespace().map(ToOwned::to_owned).collect();
        let several = each.len() > 1;
        let mut ways = vec![Self(vec![whole])];
        if several {
            ways.push(Self(each));
        }
        ways
    }

    /// The rows of a text that hold it; of a long line also where it begins in one and ends in the next.
    fn rows<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, Cow<'a, str>)> {
        // So much of the next row that no word stands in that alone, for then it is the next row that holds it.
        let longest = self.0.iter().map(String::len).max().unwrap_or(0);
        let overlap = longest.saturating_sub(1);
        let mut all = rows(text).peekable();
        std::iter::from_fn(move || {
            loop {
                let (number, row) = all.next()?;
                if self.stands_in(row) {
                    return Some((number, Cow::Borrowed(row)));
                }
                let Some((_, next)) = all.peek().filter(|_| !row.ends_with('\n')) else { continue };
                let seam = format!("{}{}", tail(row, 2 * longest), head(next, overlap));
                if self.stands_in(&seam) {
                    return Some((number, Cow::Owned(format!("{}{}", tail(row, 300), head(next, overlap)))));
                }
            }
        })
    }

    fn stands_in(&self, row: &str) -> bool {
        let row = row.to_lowercase();
        self.0.iter().all(|words| row.contains(words.as_str()))
    }
}

/// The handle that a message has in one of the archives, or else the one that it gets.
fn handle_of(message: &Arc<Message>, known: &[u8; 13], archives: &[&Archive]) -> Result<Arc<str>, String> {
    // Long enough to be unique among millions; longer, and of every byte, where another message has the same.
    for (length, sampled) in [(7, true), (9, false), (13, false)] {
        let digits = if sampled { *known } else { digits_of(message, false) };
        let handle = digits.get(..length).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default();
        match archives.iter().find_map(|archive| archive.at(handle)) {
            Some((known, kept)) if Arc::ptr_eq(kept, message) || kept == message => return Ok(known.clone()),
            Some(_) => {}
            None => return Err(handle.to_owned()),
        }
    }
    let digits = digits_of(message, false);
    let number: usize = archives.iter().map(|archive| archive.len()).sum();
    Err(format!("{}{number}", String::from_utf8_lossy(&digits)))
}

/// The handles of a history's messages, each made when it is first asked for. What is not in the archive yet is put
/// beside it, so that the archive may be read meanwhile.
pub(super) struct Handles<'a> {
    archive: &'a Archive,
    pub(super) added: Archive,
    given: &'a [Arc<Message>],
    facts: &'a [Facts],
    known: Vec<Option<Arc<str>>>,
}

impl<'a> Handles<'a> {
    pub(super) fn new(archive: &'a Archive, given: &'a [Arc<Message>], facts: &'a [Facts]) -> Self {
        Self { archive, added: Archive::new(), given, facts, known: vec![None; given.len()] }
    }

    /// So many more will come.
    pub(super) fn expect(&mut self, more: usize) {
        let kept = Arc::make_mut(&mut self.added.0);
        kept.entries.reserve(more);
        kept.by_handle.reserve(more);
    }

    fn put(&mut self, message: &Arc<Message>, digits: &[u8; 13]) -> Arc<str> {
        match handle_of(message, digits, &[self.archive, &self.added]) {
            Ok(handle) => handle,
            Err(new) => self.added.insert(&new, message),
        }
    }

    /// Puts the message `index` into the archive and gives its handle.
    pub(super) fn of(&mut self, index: usize) -> Arc<str> {
        let Some(message) = self.given.get(index) else { return "".into() };
        if let Some(Some(known)) = self.known.get(index) {
            return known.clone();
        }
        let handle = match self.facts.get(index) {
            Some(facts) => self.put(message, &facts.digits),
            None => self.put(message, &digits_of(message, true)),
        };
        if let Some(slot) = self.known.get_mut(index) {
            *slot = Some(handle.clone());
        }
        handle
    }

    /// The same for a message that is not among those given.
    pub(super) fn of_other(&mut self, message: &Arc<Message>) -> Arc<str> {
        self.put(message, &digits_of(message, true))
    }
}

/// A message as text: what was said, asked of tools and given by them.
pub fn shown(message: &Message) -> String {
    let mut out = String::new();
    for block in &message.content {
        show(&mut out, block);
    }
    out
}

fn show(out: &mut String, block: &Block) {
    let line = |out: &mut String| {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    };
    line(out);
    match block {
        Block::Text(text) => out.push_str(&text.text),
        Block::Thinking(thinking) => out.push_str(&thinking.text),
        Block::ToolUse(call) => {
            let _ = write!(out, "{}({})", call.name, call.arguments_text());
        }
        Block::ToolResult(result) => {
            for part in result.content.iter().filter(|part| !matches!(part, Block::ToolResult(_))) {
                show(out, part);
            }
        }
        Block::Image(media) | Block::Document(media) => {
            let _ = write!(out, "[{}: {}]", block.kind(), described(media));
        }
        Block::Provider(block) => out.push_str(block.raw.text()),
    }
}

fn described(media: &Media) -> String {
    match &media.source {
        MediaSource::Base64 { media_type, data } => format!("{media_type}, {} characters of base64", data.len()),
        MediaSource::Text { data, .. } => data.clone(),
        MediaSource::Url(url) => url.clone(),
        MediaSource::File(id) => id.clone(),
    }
}

/// The digits of handles: none that looks like another.
const DIGITS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Of a longer text that is sampled, this much of its beginning and end is looked at.
const SAMPLE: usize = 64;

/// Text of a tool's result.
const RESULT: u64 = 5;

/// The message's content as 13 letters and digits.
pub(super) fn digits_of(message: &Message, sampled: bool) -> [u8; 13] {
    let mut hash = 0;
    let mut add = |tag: u64, parts: &[&str]| {
        for part in parts {
            let bytes = part.as_bytes();
            // A seed for each length, so that no two ways to cut the same bytes are alike.
            hash = (hash ^ tag).wrapping_add((bytes.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            if !sampled || bytes.len() <= 2 * SAMPLE {
                hash = xxh3_64_with_seed(bytes, hash);
                continue;
            }
            // Two that are alike there get longer handles, made of every byte. A result has an id of its own, too, so
            // its end, which lies far off in memory, is not needed.
            let starts: &[usize] = if tag == RESULT { &[0] } else { &[0, bytes.len() - SAMPLE] };
            for start in starts {
                hash = xxh3_64_with_seed(bytes.get(*start..start + SAMPLE).unwrap_or_default(), hash);
            }
        }
    };
    add(0, &[message.role.name()]);
    for block in &message.content {
        match block {
            Block::Text(text) => add(1, &[&text.text]),
            Block::Thinking(it) => {
                add(2, &[&it.text, it.signature.as_deref().unwrap_or(""), it.redacted.as_deref().unwrap_or("")]);
            }
            Block::ToolUse(call) => add(3, &[&call.id, &call.name, call.arguments_text()]),
            Block::ToolResult(result) => {
                add(4, &[&result.id, &result.name]);
                for part in &result.content {
                    match part {
                        Block::Text(text) => add(RESULT, &[&text.text]),
                        other => add(6, &[Raw::of(other).text()]),
                    }
                }
            }
            other => add(7, &[Raw::of(other).text()]),
        }
    }
    let mut value = hash;
    let mut out = [b'a'; 13];
    for digit in &mut out {
        *digit = DIGITS.get((value & 31) as usize).copied().unwrap_or(b'a');
        value >>= 5;
    }
    out
}

impl Serialize for Archive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.entries.iter().map(|(handle, message)| (&**handle, &**message)))
    }
}

impl<'de> Deserialize<'de> for Archive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries: Vec<(String, Message)> = Vec::deserialize(deserializer)?;
        let mut archive = Self::new();
        for (handle, message) in entries {
            if archive.get(&handle).is_none() {
                archive.insert(&handle, &Arc::new(message));
            }
        }
        Ok(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_of_the_content() {
        let (mut one, mut two) = (Archive::new(), Archive::new());
        let message = Arc::new(Message::user("some words\nand a second line"));
        let handle = one.put(&message);
        two.put(&Arc::new(Message::user("other")));
        assert_eq!(two.put(&Arc::new((*message).clone())), handle);
        assert_eq!(one.put(&message), handle);
        assert_eq!(one.len(), 1);
        assert_eq!(two.recall(&handle, 2, 100).unwrap(), "and a second line");
        assert_eq!(two.find("SECOND", 1_000), format!("{handle}:2: and a second line\n"));
        assert_eq!(two.recall("nothing", 1, 9).unwrap_err().code, "unknown_handle");
        assert_eq!(two.recall(&format!(" recall(\"{handle}\") "), 2, 100).unwrap(), "and a second line");
        assert_eq!(two.find("line second", 1_000), format!("{handle}:2: and a second line\n"));
    }

    #[test]
    fn c26_every_byte_of_a_long_line_can_be_reached() {
        for text in
            ["x".repeat(5_000), "é世".repeat(3_000), format!("{}\n{}\r\n\n\nend", "a".repeat(512), "b".repeat(1_024))]
        {
            let mut archive = Archive::new();
            let handle = archive.put(&Arc::new(Message::user(text.as_str())));
            let (mut whole, mut from) = (String::new(), 1);
            loop {
                let part = archive.recall(&handle, from, 1_000).unwrap();
                let Some((shown, note)) = part.rsplit_once("\n[goes on: ") else {
                    whole.push_str(&part);
                    break;
                };
                whole.push_str(shown);
                from = note.split("from_line=").nth(1).unwrap().trim_end_matches(")]").parse().unwrap();
            }
            assert_eq!(whole, text);
            assert_eq!(archive.recall(&handle, 1, usize::MAX).unwrap(), text);
        }
    }

    #[test]
    fn c26_what_stands_across_the_rows_of_a_long_line_is_found() {
        let mut archive = Archive::new();
        for at in 480..530 {
            let line = format!("{}open_error_4711 {}", "é ".repeat(at / 3), "x ".repeat(700));
            let handle = archive.put(&Arc::new(Message::user(format!("{at}: {line}"))));
            assert!(archive.find("open_error_4711", 100_000).contains(&format!("{handle}:")), "{at}");
            let found = archive.answer(&handle, "OPEN_error_4711", 1, 1_000, |_| true).unwrap();
            assert!(found.contains("open_error_4711"), "{at}: {found}");
            assert_eq!(found.lines().count(), 1, "{found}");
        }
        assert_eq!(archive.find("no_such_name", 1_000), "");
    }

    #[test]
    fn the_archive_survives_being_saved() {
        let mut archive = Archive::new();
        let handle = archive.put(&Arc::new(Message::user("kept")));
        let back: Archive = serde_json::from_str(&serde_json::to_string(&archive).unwrap()).unwrap();
        assert_eq!(back.get(&handle), archive.get(&handle));
    }
}
