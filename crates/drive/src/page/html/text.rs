//! The text of the block that is being read: its words, the white space between them, links and code in them, and its
//! end.

use html5ever::Attribute;

use super::{
    super::{
        blocks::{Block, Kind},
        element::{OpenElement, Role, attribute},
    },
    PageReader, Place,
    about::one_line,
    shows,
};

impl PageReader {
    /// Separates the lines of a piece of code: blocks in it are lines.
    pub(super) fn separate_lines(&mut self, role: Role) {
        if !matches!(role, Role::Inline | Role::Code | Role::Raised | Role::Link | Role::Cell { .. })
            && !self.line.is_empty()
            && !self.line.ends_with('\n')
        {
            self.line.push('\n');
        }
    }

    /// The mark beside a heading that leads to itself is not part of it.
    pub(super) fn end_anchor(&mut self) {
        let Some(start) = self.anchor.take() else { return };
        let anchor_text = self.line.get(start..).unwrap_or_default().trim();
        if matches!(anchor_text, "§" | "¶" | "#" | "🔗" | "⚓") {
            self.line.truncate(start);
        }
    }

    pub(super) fn words(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_whitespace() && c != '\u{3000}' {
                self.space = true;
            } else if shows(c, if self.space { None } else { self.line.chars().next_back() }) {
                if std::mem::take(&mut self.raised) && (c.is_ascii_digit() || "+-−".contains(c)) && !self.space {
                    self.line.push('^');
                }
                self.write_space();
                self.line.push(c);
            }
        }
    }

    /// Writes the space before a word.
    pub(super) fn write_space(&mut self) {
        if std::mem::take(&mut self.space) && !self.line.is_empty() && !self.line.ends_with(['\n', ' ']) {
            self.line.push(' ');
            // A link does not begin with white space.
            let end = self.line.len();
            if let Some((start, _)) = self.link.as_mut().filter(|(start, _)| *start + 1 == end) {
                *start = end;
            }
        }
    }

    pub(super) fn word(&mut self, word: &str) {
        self.write_space();
        self.line.push_str(word);
    }

    pub(super) fn end_code(&mut self) {
        if self.line.ends_with('`') && !self.line.ends_with("``") {
            // There was nothing in it.
            self.line.pop();
        } else {
            self.line.push('`');
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.stack.last().is_some_and(|top| top.skipped) {
            return;
        }
        self.space = false;
        if self.stack.last().is_some_and(|top| top.literal)
            || !self.line.is_empty() && self.row.is_none() && self.heading.is_none()
        {
            self.line.push('\n');
        } else {
            self.space = true;
        }
    }

    pub(super) fn picture(&mut self, attributes: &[Attribute]) {
        let text = one_line(attribute(attributes, "alt").unwrap_or_default(), 200);
        if !text.is_empty() {
            self.word("[picture: ");
            self.line.push_str(&text);
            self.line.push(']');
        }
    }

    pub(super) fn end_link(&mut self) {
        if let Some((start, url)) = self.link.take()
            && self.line.len() > start
        {
            self.links.push((start..self.line.len(), url));
        }
    }

    /// Ends the block that is being read.
    pub(super) fn flush(&mut self) {
        if self.row.as_ref().is_some_and(|row| !row.layout) {
            // Blocks in a cell are words in a row.
            self.space = true;
            return;
        }
        let link = self.link.as_ref().map(|(_, url)| url.clone());
        self.end_link();
        self.space = false;
        let heading = self.heading.take();
        let code = self.code.take();
        let text = std::mem::take(&mut self.line);
        let mut links = std::mem::take(&mut self.links);
        // A link may go on in the next block.
        self.link = link.map(|url| (0, url));
        let blank = if code.is_some() { text.trim_matches('\n') } else { text.trim_end() };
        if blank.trim().is_empty() {
            return;
        }
        let (text, kind) = match (code, heading) {
            (Some(language), _) => {
                links.clear();
                let rows: Vec<&str> = blank.split('\n').map(str::trim_end).collect();
                (rows.join("\n"), Kind::Code(language))
            }
            (None, Some(level)) => (blank.to_owned(), Kind::Heading(level)),
            (None, None) => {
                let lists = self.stack.last().map_or(0, |top| top.lists);
                let kind = match self.item.take() {
                    Some((lists, number)) => Kind::Item(lists, number),
                    None if lists > 0 => Kind::More(lists),
                    None => Kind::Paragraph,
                };
                (blank.to_owned(), kind)
            }
        };
        self.push(kind, text, links);
    }

    pub(super) fn push(&mut self, kind: Kind, text: String, links: Vec<Place>) {
        let top = self.stack.last();
        let of = |flag: fn(&OpenElement) -> bool| top.is_some_and(flag);
        let (quoted, around, main) = (of(|top| top.quoted), of(|top| top.around), of(|top| top.main));
        self.blocks.push(Block { kind, text, links, quoted, around, main });
    }
}
