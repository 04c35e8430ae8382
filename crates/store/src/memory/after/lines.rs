//! The lines of a file of preferences, read as Markdown and whatever a formatter made of them.
//!
//! An item is one whatever it begins with (indent, bullet, number, checkbox, `>`), over how many lines it was wrapped,
//! and wherever its mark went: behind it, onto the next line, escaped, or with its dashes corrected. What nobody
//! changed is written as it stands.

use std::collections::{HashMap, HashSet};

use super::super::identity::identity;

/// The heading of our lines.
pub(super) const HEADING: &str = "## Preferences";

/// A mark: a comment of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The number of a memory, and the tag of its owner.
    Of(i64, String),
    /// A number alone, as an older version wrote it.
    Number(i64),
    /// The end of the lines of the owner that the tag names.
    End(String),
}

impl Mark {
    pub(super) fn written(&self) -> String {
        match self {
            Self::Of(id, tag) => format!("<!-- {id} {tag} -->"),
            Self::Number(id) => format!("<!-- {id} -->"),
            Self::End(tag) => format!("<!-- end {tag} -->"),
        }
    }
}

/// A text and the mark behind it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) mark: Option<Mark>,
    /// The piece is one of those that are synced.
    pub(super) ours: bool,
    /// The mark stands there as we write it.
    pub(super) neat: bool,
    /// The piece has to be written anew.
    pub(super) changed: bool,
}

impl Piece {
    fn new(text: &str, mark: Option<Mark>, neat: bool) -> Self {
        Self { text: plain(text), mark, ours: false, neat, changed: false }
    }

    /// The number of the memory that the mark names.
    pub(super) const fn id(&self) -> Option<i64> {
        match self.mark {
            Some(Mark::Of(id, _) | Mark::Number(id)) => Some(id),
            _ => None,
        }
    }

    /// Sets or removes the mark.
    pub(super) fn set_mark(&mut self, mark: Option<Mark>) {
        self.changed |= self.mark != mark;
        self.mark = mark;
    }

    pub(super) fn is_end_of(&self, tag: &str) -> bool {
        matches!(&self.mark, Some(Mark::End(of)) if of == tag)
    }
}

/// Lines that belong together: an item, a paragraph, a heading, a blank line.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The lines as they stand.
    raw: Vec<String>,
    /// The prefix of the first line.
    lead: String,
    /// The text behind the prefix, on one line, with its marks.
    pub(super) body: String,
    /// The block is an item of a list.
    pub(super) listed: bool,
    /// The block stands under our heading.
    pub(super) under: bool,
    pub(super) pieces: Vec<Piece>,
    /// The number of pieces that were read.
    count: usize,
}

impl Block {
    /// A line that is no text of anybody.
    pub(super) fn bare(line: &str) -> Self {
        let raw = vec![line.to_owned()];
        let (lead, body) = (String::new(), String::new());
        Self { raw, lead, body, listed: false, under: false, pieces: Vec::new(), count: 0 }
    }

    /// A new item, or the end of items.
    pub(super) fn new(text: &str, mark: Mark) -> Self {
        let ours = !matches!(mark, Mark::End(_));
        let piece = Piece { text: text.to_owned(), mark: Some(mark), ours, neat: true, changed: true };
        Self { raw: Vec::new(), lead: "- ".to_owned(), pieces: vec![piece], count: 1, ..Self::bare("") }
    }

    pub(super) fn is_heading(&self) -> bool {
        self.pieces.is_empty() && self.raw.first().is_some_and(|line| line.trim_matches(is_space) == HEADING)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.pieces.is_empty() && self.raw.iter().all(|line| line.trim_matches(is_space).is_empty())
    }

    /// Returns whether all that the block held was taken out of it.
    pub(super) const fn is_gone(&self) -> bool {
        self.count > 0 && self.pieces.is_empty()
    }

    pub(super) fn is_only_ends(&self) -> bool {
        let is_end = |piece: &Piece| matches!(piece.mark, Some(Mark::End(_))) && piece.text.is_empty();
        !self.pieces.is_empty() && self.pieces.iter().all(is_end)
    }

    pub(super) fn is_ours(&self) -> bool {
        self.pieces.iter().any(|piece| piece.ours)
    }

    /// Returns whether the block is the beginning of a written one, and was cut.
    pub(super) fn begins(&self, written: &str) -> bool {
        let (own, all) = (squeezed(&shown(&self.body)), squeezed(&shown(written)));
        (self.listed || !own.is_empty()) && own.len() < all.len() && all.starts_with(&own)
    }

    /// The lines of the block.
    pub(super) fn written(&self) -> Vec<String> {
        if self.count == self.pieces.len() && !self.pieces.iter().any(|piece| piece.changed) {
            return self.raw.clone();
        }
        let line = |(at, piece): (usize, &Piece)| match &piece.mark {
            Some(end @ Mark::End(_)) => end.written(),
            mark => {
                let lead = if at == 0 || self.listed { self.lead.as_str() } else { "- " };
                let mark = mark.as_ref().map(|mark| format!(" {}", mark.written())).unwrap_or_default();
                format!("{lead}{}{mark}", piece.text)
            }
        };
        self.pieces.iter().enumerate().map(line).collect()
    }

    /// Adds one more line.
    fn take(&mut self, lines: impl IntoIterator<Item = String>, body: &str) {
        self.raw.extend(lines);
        let before = self.body.trim_end_matches('\\').len();
        self.body.truncate(before);
        format!("{} {body}", self.body.trim_end()).trim().clone_into(&mut self.body);
        self.read_pieces();
    }

    fn read_pieces(&mut self) {
        self.pieces = pieces(&self.body);
        self.count = self.pieces.len();
    }

    /// Returns whether the text is still without the mark behind it, or the mark without its text.
    fn is_open(&self) -> bool {
        self.pieces.last().is_some_and(|last| last.mark.is_none() || (last.text.is_empty() && last.id().is_some()))
    }

    fn lacks_mark(&self) -> bool {
        self.pieces.last().is_some_and(|last| last.mark.is_none())
    }
}

/// Lines of ours, by their text.
pub(super) struct KnownTexts {
    shown: HashMap<String, Vec<i64>>,
    squeezed: HashMap<String, Vec<i64>>,
}

impl KnownTexts {
    pub(super) fn of<'a>(lines: impl IntoIterator<Item = (i64, &'a str)>) -> Self {
        let mut known = Self { shown: HashMap::new(), squeezed: HashMap::new() };
        for (id, line) in lines {
            let text = shown(line);
            known.squeezed.entry(squeezed(&text)).or_default().push(id);
            known.shown.entry(text).or_default().push(id);
            // What begins as an item does is read without that.
            let item = format!("- {line}");
            let read = item.get(lead_of(&item).0.len()..).unwrap_or_default();
            if read != line {
                known.shown.entry(shown(read)).or_default().push(id);
            }
        }
        known
    }

    /// Returns whether one of the lines is this, without white space.
    pub(super) fn has(&self, squeezed: &str) -> bool {
        self.squeezed.contains_key(squeezed)
    }

    /// The numbers of the lines with the text of a piece of a block.
    pub(super) fn matching_ids(&self, block: &Block, piece: &Piece) -> Vec<i64> {
        let text = shown(&piece.text);
        let mut said = self.shown.get(&text).cloned().unwrap_or_default();
        if block.raw.len() > 1 && !text.is_empty() {
            // A formatter may have cut it anywhere; without a bullet, other lines of the paragraph stand before what a
            // mark is of.
            let text = squeezed(&text);
            let tail = !block.listed && piece.mark.is_some();
            let same = |known: &str| known == text || (tail && text.ends_with(known));
            let all = self.squeezed.iter().filter(|(known, _)| same(known));
            said.extend(all.flat_map(|(_, ids)| ids));
        }
        said
    }
}

/// Beginnings of lines that are no text: code, and the signs of a merge.
const NON_TEXT_STARTS: [&str; 5] = ["```", "~~~", "<<<<<<<", "=======", ">>>>>>>"];

/// The blocks of a text.
pub(super) fn read(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut under = false;
    for line in text.lines() {
        let bare = line.trim_matches(is_space);
        let is_heading = line.trim_start_matches('\u{feff}').starts_with('#') || bare == HEADING;
        if is_heading || bare.is_empty() || NON_TEXT_STARTS.iter().any(|sign| bare.starts_with(sign)) {
            under = if is_heading { bare == HEADING } else { under };
            blocks.push(Block::bare(line));
            continue;
        }
        let (lead, listed) = lead_of(line);
        let mut body = line.get(lead.len()..).unwrap_or_default().trim_matches(is_space);
        let cells = |text: &str| text.trim_end().trim_end_matches('|').trim_end().to_owned();
        if lead.contains('|') {
            body = body.trim_end_matches('|').trim_end();
        }
        let said = pieces(body);
        let is_mark = !said.is_empty() && !listed && said.iter().all(|piece| piece.text.is_empty());
        let is_end = is_mark && said.iter().all(|piece| piece.id().is_none());
        // A mark may stand behind the blank line behind its text.
        let blank =
            if is_mark && !is_end { blocks.iter().rev().take_while(|block| block.is_blank()).count() } else { 0 };
        let open = blocks.len().checked_sub(blank + 1).filter(|at| {
            blocks.get(*at).is_some_and(|block| {
                !listed && !is_end && if blank > 0 { block.listed && block.lacks_mark() } else { block.is_open() }
            })
        });
        if let Some(at) = open {
            let between: Vec<String> = blocks.drain(at + 1..).flat_map(|block| block.raw).collect();
            if let Some(block) = blocks.get_mut(at) {
                block.take(between.into_iter().chain([line.to_owned()]), body);
            }
            continue;
        }
        let mut block = Block { lead: lead.to_owned(), body: body.to_owned(), listed, under, ..Block::bare(line) };
        block.read_pieces();
        if lead.contains('|') {
            block.pieces.iter_mut().for_each(|piece| piece.text = cells(&piece.text));
        }
        blocks.push(block);
    }
    blocks
}

/// Lines that begin as items do, into which an item is cut at most.
const MOST_CUTS: usize = 8;

/// Joins items that are one item, which a formatter cut before a dash or a number: all of them together are a known
/// line, without white space.
pub(super) fn rejoin(blocks: &mut Vec<Block>, is_known: impl Fn(&str) -> bool) {
    let mut at = 0;
    while at < blocks.len() {
        let mut whole = blocks.get(at).filter(|block| block.listed && block.lacks_mark()).cloned();
        for next in at + 1..=at + MOST_CUTS {
            let (Some(block), Some(more)) = (whole.as_mut(), blocks.get(next).filter(|block| block.listed)) else {
                break;
            };
            let skipped = |c: char| is_space(c) || c == '>';
            let lead = more.lead.trim_matches(skipped);
            block.take(more.raw.iter().cloned(), &format!("{lead} {}", more.body));
            let text = block.pieces.first().map(|piece| squeezed(&shown(&piece.text)));
            if block.pieces.len() == 1 && text.is_some_and(|text| is_known(&text)) {
                blocks.splice(at..=next, whole);
                break;
            }
            if !block.lacks_mark() {
                break;
            }
        }
        at += 1;
    }
}

/// The prefix of a line, and whether it makes the line an item of a list.
fn lead_of(line: &str) -> (&str, bool) {
    let skip = |rest: &str, more: &[char]| -> usize {
        rest.len() - rest.trim_start_matches(|c: char| is_space(c) || more.contains(&c)).len()
    };
    let mut at = skip(line, &['>', '|']);
    let rest = line.get(at..).unwrap_or_default();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let sign = if (1..=3).contains(&digits) { digits + 1 } else { rest.chars().next().map_or(0, char::len_utf8) };
    let bullet = match rest.get(..sign).and_then(|sign| sign.chars().next_back()) {
        Some('.' | ')') => (1..=3).contains(&digits),
        Some('-' | '*' | '+' | '•' | '–' | '—' | '·') => digits == 0,
        _ => false,
    };
    let gap = |at: usize| skip(line.get(at..).unwrap_or_default(), &[]);
    let mut listed = bullet && (gap(at + sign) > 0 || line.len() == at + sign);
    if listed {
        at += sign + gap(at + sign);
    }
    let checkbox = line.get(at..at + 3).is_some_and(|sign| ["[ ]", "[x]", "[X]", "[-]"].contains(&sign));
    if checkbox && gap(at + 3) > 0 {
        at += 3 + gap(at + 3);
        listed = true;
    }
    (line.get(..at).unwrap_or_default(), listed)
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}')
}

/// Forms of a comment's beginning, of its dashes and of its end, beside a backslash before each.
const COMMENT_OPENS: [&str; 5] = ["<", "&lt;", "&#60;", "&#x3c;", "‹"];
const DASHES: [&str; 10] = ["-", "–", "—", "−", "‐", "‑", "&ndash;", "&mdash;", "&#8211;", "&#8212;"];
const COMMENT_CLOSES: [&str; 5] = [">", "&gt;", "&#62;", "&#x3e;", "›"];

/// The mark that a text begins with, and its length.
fn mark_at(text: &str) -> Option<(usize, Mark)> {
    fn after<'a>(text: &'a str, signs: &[&str]) -> Option<&'a str> {
        let text = text.strip_prefix('\\').unwrap_or(text);
        signs.iter().find_map(|sign| text.strip_prefix(sign))
    }
    fn dashes(text: &str) -> Option<&str> {
        let mut rest = after(text, &DASHES)?;
        while let Some(next) = after(rest, &DASHES) {
            rest = next;
        }
        Some(rest)
    }
    fn word(text: &str) -> (&str, &str) {
        let text = text.trim_start();
        text.split_at(text.bytes().take_while(u8::is_ascii_alphanumeric).count())
    }
    let rest = after(after(text, &COMMENT_OPENS)?.trim_start(), &["!"])?.trim_start();
    let (first, rest) = word(dashes(rest)?);
    let (second, end) = word(rest);
    let is_tag = second.len() == 8 && second.bytes().all(|b| b.is_ascii_hexdigit());
    let tag = second.to_ascii_lowercase();
    let mark = match first.parse::<i64>() {
        Ok(id) if is_tag => Mark::Of(id, tag),
        Ok(id) if second.is_empty() => Mark::Number(id),
        Err(_) if is_tag && first.eq_ignore_ascii_case("end") => Mark::End(tag),
        _ => return None,
    };
    let rest = after(dashes(end.trim_start())?.trim_start(), &COMMENT_CLOSES)?;
    Some((text.len() - rest.len(), mark))
}

/// The place of a text's first mark, its length, and the mark.
fn first_mark(text: &str) -> Option<(usize, usize, Mark)> {
    let starts = |c: char| matches!(c, '<' | '&' | '‹' | '\\');
    text.match_indices(starts).find_map(|(at, _)| {
        let (length, mark) = mark_at(text.get(at..)?)?;
        Some((at, length, mark))
    })
}

/// The texts of a line, each with its mark. Text behind the last mark belongs to the text before it.
fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = line;
    while let Some((at, length, mark)) = first_mark(rest) {
        let (before, behind) = (rest.get(..at).unwrap_or_default(), rest.get(at + length..).unwrap_or_default());
        let neat = rest.get(at..at + length) == Some(mark.written().as_str());
        if matches!(mark, Mark::End(_)) {
            if !before.trim().is_empty() {
                pieces.push(Piece::new(before, None, true));
            }
            pieces.push(Piece::new("", Some(mark), neat));
        } else {
            pieces.push(Piece::new(before, Some(mark), neat));
        }
        rest = behind;
    }
    let tail = plain(rest);
    match pieces.last_mut().filter(|last| last.id().is_some()) {
        _ if tail.is_empty() || tail == "\\" => {}
        Some(last) => format!("{} {tail}", last.text).trim().clone_into(&mut last.text),
        None => pieces.push(Piece::new(&tail, None, true)),
    }
    pieces
}

/// A text on one line, without what would be a mark.
pub(super) fn plain(text: &str) -> String {
    let one = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut plain = one(&text.replace("<!--", "").replace("-->", ""));
    while let Some((at, length, _)) = first_mark(&plain) {
        let sign = plain.get(at..at + length).and_then(|mark| mark.find('!')).unwrap_or(0);
        plain.remove(at + sign);
    }
    plain
}

/// The pairs of numbers and tags in a text, as in marks, however they are written.
pub(super) fn named(text: &str) -> HashSet<(i64, String)> {
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let pair = |two: &[&str]| Some((two.first()?.parse().ok()?, two.get(1)?.to_ascii_lowercase()));
    words.windows(2).filter_map(pair).collect()
}

/// Signs that formatters and editors write in several forms.
const SIGN_FORMS: [(&str, &str); 22] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    ("&ndash;", "-"),
    ("&mdash;", "--"),
    ("&hellip;", "..."),
    ("&amp;", "&"),
    ("—", "--"),
    ("–", "-"),
    ("−", "-"),
    ("‐", "-"),
    ("‑", "-"),
    ("‘", "'"),
    ("’", "'"),
    ("“", "\""),
    ("”", "\""),
    ("„", "\""),
    ("…", "..."),
    ("\u{200b}", ""),
];

/// A text as it is shown, by which lines are compared: without escapes, with plain quotation marks and dashes.
pub(super) fn shown(text: &str) -> String {
    let mut plain = text.to_owned();
    for (written, meant) in SIGN_FORMS {
        if plain.contains(written) {
            plain = plain.replace(written, meant);
        }
    }
    let mut out = String::with_capacity(plain.len());
    let mut signs = plain.chars().peekable();
    while let Some(c) = signs.next() {
        match c {
            '\\' if signs.peek().is_some_and(char::is_ascii_punctuation) => {}
            c => out.push(c),
        }
    }
    // `_so_` and `*so*` are one emphasis.
    let is_edge = |at: usize| {
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let (before, after) = (out.get(..at).unwrap_or_default(), out.get(at + 1..).unwrap_or_default());
        !(word(before.chars().next_back()) && word(after.chars().next()))
    };
    let edges: Vec<usize> = out.match_indices(['_', '*']).map(|(at, _)| at).filter(|at| is_edge(*at)).collect();
    if edges.len() > 1 {
        out = out.char_indices().map(|(at, c)| if edges.contains(&at) { '*' } else { c }).collect();
    }
    identity(&out).into_owned()
}

/// A text without its white space.
pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Returns whether a text stands in another one, both as they are shown, and not inside of longer words.
pub(super) fn is_part(text: &str, of: &str) -> bool {
    !text.is_empty()
        && of.match_indices(text).any(|(at, found)| {
            let before = of.get(..at).and_then(|text| text.chars().next_back());
            let after = of.get(at + found.len()..).and_then(|text| text.chars().next());
            ![before, after].into_iter().flatten().any(char::is_alphanumeric)
        })
}
