//! Cuts a text into pieces small enough to rank and to show, with exact line numbers.
//!
//! The pieces of a text, one after the other, are the text: no line is lost and none stands in two pieces. Markdown is
//! cut at headings and paragraphs, code at empty lines, anything else at paragraphs.

use loopwright_base::text::floor_boundary;
use loopwright_lexicon::lines::Format;
use std::ops::Range;

use loopwright_lexicon::lines::{Fence, Line, Lines, heading, underlined};

/// At most this many lines in a chunk.
pub const MAX_LINES: usize = 30;
/// At most this many bytes in a chunk.
pub const MAX_BYTES: usize = 1_200;
/// At most this many bytes of headings are kept for a chunk.
const MAX_HEADING: usize = 300;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The headings it stands under, outermost first, joined by ` > `; empty outside Markdown.
    pub heading: String,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// Its place in the text.
    pub bytes: Range<usize>,
}

impl Chunk {
    /// The piece of `text`, which must be the text that was cut.
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.bytes.clone()).unwrap_or_default()
    }
}

/// Cuts `text` into chunks, in order.
pub fn chunks(text: &str, format: Format) -> Vec<Chunk> {
    let mut cutter = Cutter { all: Vec::new(), open: None, block: None, headings: Vec::new(), fresh: true };
    let mut fence = Fence::default();
    let (mut after_blank, mut is_rule, mut leads) = (true, false, false);
    let mut lines = Lines::new(text).peekable();
    while let Some(line) = lines.next() {
        let content = line.text.trim_end();
        let blank = content.is_empty();
        let was_inside = fence.is_open();
        let has_headings = format.has_headings();
        // The line under a heading opens no fence.
        if has_headings && !std::mem::take(&mut is_rule) {
            fence.read(content);
        }
        let inside = was_inside || fence.is_open();
        let next = lines.peek().map(|next| next.text.trim_end());
        let under = underlined(content, after_blank, next).filter(|_| has_headings && !inside);
        is_rule = under.is_some();
        let heading = if has_headings && !inside { heading(content).or(under) } else { None };
        // What a line introduces stays with it, and what stands further in with what it belongs to.
        let belongs = has_headings && (leads || content.starts_with([' ', '\t'])) && !cutter.is_long();
        if let Some((level, title)) = heading {
            cutter.section(level, title);
        } else if !blank && after_blank && !was_inside && !belongs {
            cutter.end_block();
        }
        cutter.line(&line, text, blank || heading.is_some());
        after_blank = blank;
        leads = if blank { leads } else { content.ends_with(':') };
    }
    cutter.finish()
}

struct Open {
    line: usize,
    end_line: usize,
    bytes: Range<usize>,
    heading: String,
}

struct Cutter {
    all: Vec<Chunk>,
    /// The chunk that is being filled with whole blocks.
    open: Option<Open>,
    /// The block that is being read.
    block: Option<Open>,
    headings: Vec<(usize, String)>,
    /// Whether nothing but headings and empty lines has come since the last cut.
    fresh: bool,
}

impl Cutter {
    fn path(&self) -> String {
        let mut path = String::new();
        for (_, title) in &self.headings {
            if path.len() + title.len() > MAX_HEADING {
                break;
            }
            if !path.is_empty() {
                path.push_str(" > ");
            }
            path.push_str(title);
        }
        path
    }

    /// A heading: what follows belongs to a new chunk, unless only headings have come so far.
    fn section(&mut self, level: usize, title: &str) {
        if self.fresh {
            self.end_block();
        } else {
            self.flush();
        }
        while self.headings.last().is_some_and(|(above, _)| *above >= level) {
            self.headings.pop();
        }
        self.headings.push((level, title.chars().take(MAX_HEADING / 3).collect()));
    }

    /// Whether the block that is being read fills more than half a chunk.
    fn is_long(&self) -> bool {
        self.block.as_ref().is_some_and(|block| 2 * block.bytes.len() > MAX_BYTES)
    }

    fn line(&mut self, line: &Line<'_>, text: &str, is_quiet: bool) {
        if line.text.len() > MAX_BYTES {
            self.long_line(line, text);
            return;
        }
        let full = self
            .block
            .as_ref()
            .is_some_and(|block| line.end() - block.bytes.start > MAX_BYTES || line.number - block.line >= MAX_LINES);
        if full {
            self.end_block();
        }
        let heading = if self.block.is_none() || self.fresh { Some(self.path()) } else { None };
        let block = self.block.get_or_insert_with(|| Open {
            line: line.number,
            end_line: line.number,
            bytes: line.start..line.start,
            heading: String::new(),
        });
        block.end_line = line.number;
        block.bytes.end = line.end();
        if let Some(heading) = heading {
            block.heading = heading;
        }
        self.fresh &= is_quiet;
    }

    /// A line too long for a chunk is cut after white space, or anywhere if there is none.
    fn long_line(&mut self, line: &Line<'_>, text: &str) {
        self.flush();
        let mut start = line.start;
        while start < line.end() {
            let mut end = floor_boundary(text, line.end().min(start + MAX_BYTES));
            if end < line.end()
                && let Some(at) = text.get(start..end).and_then(|piece| piece.rfind([' ', '\t']))
                && at > MAX_BYTES / 2
            {
                end = start + at + 1;
            }
            let (line, heading) = (line.number, self.path());
            self.all.push(Chunk { heading, line, end_line: line, bytes: start..end });
            start = end;
        }
        self.fresh = false;
    }

    /// The block is whole: it joins the open chunk if it fits, or starts the next one.
    fn end_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        match &mut self.open {
            Some(open) if block.bytes.end - open.bytes.start <= MAX_BYTES && block.end_line - open.line < MAX_LINES => {
                open.bytes.end = block.bytes.end;
                open.end_line = block.end_line;
                open.heading = block.heading;
            }
            _ => {
                self.close();
                self.open = Some(block);
            }
        }
    }

    fn close(&mut self) {
        if let Some(Open { line, end_line, bytes, heading }) = self.open.take() {
            self.all.push(Chunk { heading, line, end_line, bytes });
        }
    }

    fn flush(&mut self) {
        self.end_block();
        self.close();
        self.fresh = true;
    }

    fn finish(mut self) -> Vec<Chunk> {
        self.flush();
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str, format: Format) -> Vec<Chunk> {
        let all = chunks(text, format);
        let mut at = 0;
        for chunk in &all {
            assert_eq!(chunk.bytes.start, at);
            at = chunk.bytes.end;
            assert!(chunk.bytes.len() <= MAX_BYTES && chunk.end_line - chunk.line < MAX_LINES);
            assert_eq!(chunk.line, 1 + text[..chunk.bytes.start].matches('\n').count());
            let last = chunk.text(text).trim_end_matches('\n').len() + chunk.bytes.start;
            assert!(chunk.end_line > text[..last].matches('\n').count());
        }
        assert_eq!(at, text.len());
        all
    }

    #[test]
    fn markdown_is_cut_at_headings() {
        let text =
            "# Guide\n\n## Install\n\nRun it.\n\n```sh\n# no heading\n\nrun\n```\n\n## Use\nGo.\n\nOld\n---\n\nText.\n";
        let all = whole(text, Format::Markdown);
        let seen: Vec<_> = all.iter().map(|chunk| (chunk.heading.as_str(), chunk.line, chunk.end_line)).collect();
        assert_eq!(seen, [("Guide > Install", 1, 12), ("Guide > Use", 13, 15), ("Guide > Old", 16, 19)]);
    }

    #[test]
    fn paragraphs_within_a_line_have_its_number() {
        let text = "# One\u{2029}\u{2029}First.\u{2029}\u{2029}\n## Two\u{2029}\u{2029}Second.\n";
        let all = whole(text, Format::Markdown);
        let seen: Vec<_> = all.iter().map(|chunk| (chunk.heading.as_str(), chunk.line)).collect();
        assert_eq!(seen, [("One", 1), ("One > Two", 2)]);
    }

    #[test]
    fn long_things_are_cut() {
        let all = whole(&"word ".repeat(1_000), Format::Text);
        assert!(all.len() >= 5 && all.iter().all(|chunk| chunk.line == 1));
        whole(&"é".repeat(5_000), Format::Markdown);
        assert_eq!(whole(&"x = 1\n".repeat(100), Format::Code).len(), 4);
        let paragraphs = format!("{}\n\n", "One line of a paragraph.\n".repeat(10)).repeat(10);
        assert!(whole(&paragraphs, Format::Text).iter().all(|chunk| chunk.text(&paragraphs).starts_with("One")));
        assert!(whole("", Format::Text).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_is_lost(text in "([#=`~|> a-z-]{0,12}\n|é|\u{2029}|\u{2029}\u{2029}|\r\n|\n\n|```\n|## [A-Z]\n|[a-z ]{200,300}){0,60}") {
            for format in [Format::Markdown, Format::Code, Format::Text] {
                whole(&text, format);
            }
        }
    }
}
