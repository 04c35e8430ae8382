//! The blocks of a page, which of them are its content, and the text that they make.

use std::{fmt::Write as _, ops::Range};

/// Blocks of a page that are told apart at most.
const MAX_BLOCKS: usize = 100_000;
/// Links of a page that are kept at most.
pub(super) const MAX_LINKS: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Paragraph,
    Heading(u8),
    /// An item of a list: the number of lists it is in, and its number in an ordered one.
    Item(usize, Option<u32>),
    /// The second and later paragraphs of an item.
    More(usize),
    Code(String),
    /// A row of a table; `true` for the first.
    Row(bool),
    Rule,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Links: places in `text`, and their targets.
    pub(super) links: Vec<(Range<usize>, String)>,
    pub(super) quoted: bool,
    pub(super) around: bool,
    pub(super) main: bool,
}

impl Block {
    fn linked(&self) -> usize {
        self.links.iter().map(|(place, _)| place.len()).sum()
    }

    /// Returns whether the block is short, and little but a link: an entry of a menu.
    fn is_menu_entry(&self) -> bool {
        matches!(self.kind, Kind::Item(..) | Kind::Paragraph | Kind::More(_))
            && self.text.len() < 120
            && self.linked() * 10 > self.text.len() * 8
    }
}

/// The blocks of a page, in order.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: Vec<Block>,
}

/// Text, and the links in it.
#[derive(Debug, Default)]
pub(super) struct RenderedText {
    pub(super) text: String,
    pub(super) links: Vec<(Range<usize>, String)>,
}

impl Blocks {
    pub(super) fn push(&mut self, block: Block) {
        if self.all.len() < MAX_BLOCKS {
            self.all.push(block);
        } else if let Some(last) = self.all.last_mut() {
            last.text.push('\n');
            last.text.push_str(&block.text);
        }
    }

    pub(super) fn first_heading(&self) -> Option<&str> {
        self.all.iter().find(|block| block.kind == Kind::Heading(1)).map(|block| block.text.as_str())
    }

    /// Drops everything but the content; keeps all if nothing else would be left.
    pub(super) fn keep_content(&mut self) {
        let length = |wanted: &dyn Fn(&Block) -> bool| -> usize {
            self.all.iter().filter(|block| wanted(block)).map(|block| block.text.len()).sum()
        };
        let all = length(&|_| true);
        let own = length(&|block| !block.around);
        let main = length(&|block| block.main && !block.around);
        let prose_around = length(&|block| block.around && block.linked() * 2 < block.text.len());
        if main >= 200 || main > 0 && main * 4 >= own {
            self.all.retain(|block| block.main && !block.around);
        } else if own * 5 >= prose_around && own >= all.min(25) {
            self.all.retain(|block| !block.around);
            self.drop_menus(own);
        } else {
            // What looked like the frame holds the picture.
            self.drop_menus(all);
        }
    }

    /// Drops runs of entries, unless the page is a list of links.
    fn drop_menus(&mut self, all: usize) {
        let mut menu = vec![false; self.all.len()];
        let mut dropped = 0;
        let mut at = 0;
        while at < self.all.len() {
            let run = self.all.iter().skip(at).take_while(|block| block.is_menu_entry()).count();
            if run >= 4 {
                menu.iter_mut().skip(at).take(run).for_each(|entry| *entry = true);
                dropped += self.all.iter().skip(at).take(run).map(|block| block.text.len()).sum::<usize>();
            }
            at += run.max(1);
        }
        if dropped * 10 > all * 7 {
            return;
        }
        let mut menu = menu.into_iter();
        self.all.retain(|_| !menu.next().unwrap_or(false));
    }

    /// The text, with links written out if `inline`.
    pub(super) fn write(&self, inline: bool) -> RenderedText {
        let mut out = RenderedText::default();
        let mut before: Option<&Block> = None;
        for block in &self.all {
            if let Some(before) = before {
                let tight = matches!(
                    (&before.kind, &block.kind),
                    (Kind::Item(..) | Kind::More(_), Kind::Item(..) | Kind::More(_)) | (Kind::Row(_), Kind::Row(false))
                );
                out.text.push_str(if tight { "\n" } else { "\n\n" });
            }
            block.write(inline, &mut out);
            before = Some(block);
        }
        out
    }
}

impl Block {
    fn write(&self, inline: bool, out: &mut RenderedText) {
        let (mut first, mut later) = (String::new(), String::new());
        if self.quoted {
            first.push_str("> ");
            later.push_str("> ");
        }
        let indent = |lists: usize| "  ".repeat(lists.saturating_sub(1).min(8));
        match &self.kind {
            Kind::Heading(level) => {
                first.push_str(&"#".repeat(usize::from(*level)));
                first.push(' ');
            }
            Kind::Item(lists, number) => {
                first.push_str(&indent(*lists));
                match number {
                    Some(number) => {
                        let _ = write!(first, "{number}. ");
                    }
                    None => first.push_str("- "),
                }
                later.push_str(&indent(*lists));
                later.push_str("  ");
            }
            Kind::More(lists) => {
                first.push_str(&indent(*lists));
                first.push_str("  ");
                later.clone_from(&first);
            }
            Kind::Code(language) => {
                out.text.push_str(&first);
                // A fence that the code itself can't end.
                let longest = self.text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
                let fence = "`".repeat(longest.max(2) + 1);
                let _ = write!(out.text, "{fence}{language}\n{later}");
                self.lines(&later, inline, out);
                let _ = write!(out.text, "\n{later}{fence}");
                return;
            }
            Kind::Rule => {
                out.text.push_str("---");
                return;
            }
            Kind::Paragraph | Kind::Row(_) => {}
        }
        out.text.push_str(&first);
        self.lines(&later, inline, out);
        if self.kind == Kind::Row(true) {
            let columns = self.text.matches(" | ").count() + 1;
            let _ = write!(out.text, "\n{later}|{}", " --- |".repeat(columns.min(100)));
        }
    }

    /// The text with `later` before each line but the first.
    fn lines(&self, later: &str, inline: bool, out: &mut RenderedText) {
        let mut links = self.links.iter().filter(|(place, _)| !place.is_empty()).peekable();
        let mut open: Option<(usize, usize, &str)> = None;
        let mut written = 0;
        let mut copy = |out: &mut RenderedText, to: usize| {
            let part = self.text.get(written..to).unwrap_or_default();
            if later.is_empty() {
                out.text.push_str(part);
            } else {
                let mut rows = part.split('\n');
                out.text.push_str(rows.next().unwrap_or_default());
                for line in rows {
                    out.text.push('\n');
                    out.text.push_str(later);
                    out.text.push_str(line);
                }
            }
            written = written.max(to);
        };
        loop {
            match (open, links.peek()) {
                (Some((start, end, url)), _) => {
                    copy(out, end);
                    if inline {
                        let _ = write!(out.text, "]({url})");
                    } else if out.links.len() < MAX_LINKS {
                        out.links.push((start..out.text.len(), url.to_owned()));
                    }
                    open = None;
                }
                (None, Some((place, url))) => {
                    copy(out, place.start);
                    if inline {
                        out.text.push('[');
                    }
                    open = Some((out.text.len(), place.end, url));
                    links.next();
                }
                (None, None) => break,
            }
        }
        copy(out, self.text.len());
    }
}
