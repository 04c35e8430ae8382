//! A page of HTML as text: headings, lists, tables, quotes and code as Markdown; menus, banners and what is hidden
//! gone.
//!
//! No tree is built: a tree of hostile tags can grow with the square of the page, while this goes over it once.
//! Elements may be nested as deep as they like, and ended in any order.

mod about;
mod table;
mod text;

use about::one_line;
use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};
use loopwright_base::text::head;
use reqwest::Url;

use super::{
    blocks::{Blocks, Kind, MAX_LINKS, RenderedText},
    element::{
        MAX_DEPTH, OpenElement, REACH, Role, attribute, ended_by, ended_silently, is_around, is_empty, is_foreign,
        is_inline, language, raw, role,
    },
    hidden::{Look, hides},
    sheet::Sheet,
    tokens::{self, Syntax},
};

const MAX_TITLE: usize = 500;

/// A place in a text, and the target of its link.
type Place = (std::ops::Range<usize>, String);

/// A page as text, and its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The title.
    pub title: String,
    /// The text, as Markdown.
    pub text: String,
    /// Links in the text: their place, and their target. Empty where links are written out.
    pub links: Vec<(std::ops::Range<usize>, String)>,
    /// The date of publication that the page states.
    pub published: Option<String>,
    /// The page's description of itself.
    pub description: Option<String>,
    /// The language that the page states.
    pub language: Option<String>,
    /// The canonical address that the page states.
    pub canonical: Option<String>,
}

/// Reads `html`; links are made whole with `url`, and written out if `inline`.
pub fn read_html(html: &str, url: Option<&str>, inline: bool) -> Document {
    read_as(Syntax::Html, html, url, inline)
}

/// Reads a page whose server says whether it is HTML or XHTML.
pub(super) fn read_as(syntax: Syntax, html: &str, url: Option<&str>, inline: bool) -> Document {
    let base = url.and_then(|url| Url::parse(url).ok());
    tokens::read(syntax, html, PageReader::new(base, Sheet::of(syntax, html))).finish(inline)
}

/// The row of a table that is being read.
#[derive(Default)]
struct Row {
    cells: Vec<(String, Vec<Place>)>,
    /// The table is a layout: its cells are read as they come.
    layout: bool,
}

struct PageReader {
    base: Option<Url>,
    /// The rules of the page's own style sheets.
    sheet: Sheet,
    stack: Vec<OpenElement>,
    blocks: Blocks,
    document: Document,
    /// The text of the block that is being read.
    line: String,
    links: Vec<Place>,
    /// A space is written before the next word.
    space: bool,
    /// Bytes of links that were made absolute; each may be longer than all of its tag.
    absolute_bytes: usize,
    /// The start and the target of the link that is being read.
    link: Option<(usize, String)>,
    /// The start of a link within the page.
    anchor: Option<usize>,
    heading: Option<u8>,
    /// The item that begins with the next block.
    item: Option<(usize, Option<u32>)>,
    code: Option<String>,
    raised: bool,
    row: Option<Row>,
    first_row: bool,
    social_title: Option<String>,
    /// The title has been read.
    has_title: bool,
}

impl tokens::TokenHandler for PageReader {
    fn start(&mut self, name: LocalName, attributes: &[Attribute], self_closing: bool) -> TokenSinkResult<()> {
        let role = role(&name);
        let ended = ended_silently(&name, role, self.stack.iter().rev().map(|open| (&*open.name, open.role)));
        for _ in 0..ended {
            self.pop();
        }
        let (skipped, literal) = self.stack.last().map_or((false, false), |top| (top.skipped, top.literal));
        match role {
            Role::Meta => self.meta(attributes),
            Role::BaseUrl => self.base_url(attributes),
            Role::LinkTag => self.link_tag(attributes),
            Role::Break if !skipped => self.line_break(),
            Role::Rule if !skipped => {
                self.flush();
                self.push(Kind::Rule, String::new(), Vec::new());
            }
            Role::Picture if self.shows(&name, attributes) => self.picture(attributes),
            _ => {}
        }
        if is_empty(role) {
            return TokenSinkResult::Continue;
        }
        if &*name == "html"
            && let Some(language) = attribute(attributes, "lang").filter(|lang| lang.len() < 36 && !lang.is_empty())
        {
            self.document.language.get_or_insert_with(|| language.to_owned());
        }
        if role == Role::Code && !skipped && !literal {
            self.word("`");
        }
        let opened = self.opened(name, role, attributes);
        if !opened.skipped {
            self.begin(&opened, attributes);
        }
        let names = || self.stack.iter().rev().map(|open| &*open.name);
        let raw = raw(&opened.name, names());
        let foreign = self_closing && is_foreign(&opened.name, names());
        // However deep it stands, what is hidden stays hidden; in it nothing goes deeper.
        let hides = opened.skipped && !self.stack.last().is_some_and(|top| top.skipped);
        if !foreign && (self.stack.len() < MAX_DEPTH || raw.is_some() || hides) {
            self.stack.push(opened);
            return raw.unwrap_or(TokenSinkResult::Continue);
        }
        TokenSinkResult::Continue
    }

    fn end(&mut self, name: &str) {
        if name == "br" {
            self.line_break();
        } else if name == "p" && !self.stack.iter().rev().take(REACH).any(|open| &*open.name == "p") {
            // An end without a beginning is an empty paragraph.
            if !self.stack.last().is_some_and(|top| top.skipped) {
                self.flush();
            }
        } else if let Some(back) = ended_by(name, self.stack.iter().rev().map(|open| (&*open.name, open.role))) {
            if is_inline(role(name)) && self.stack.iter().rev().take(back).any(|open| !is_inline(open.role)) {
                // What is of a sentence does not end the paragraphs that began in it.
                let open = self.stack.remove(self.stack.len() - 1 - back);
                match open.role {
                    Role::Link => self.end_link(),
                    Role::Code if !open.skipped && !open.literal => self.end_code(),
                    Role::Raised => self.raised = false,
                    _ => {}
                }
                return;
            }
            for _ in 0..=back {
                self.pop();
            }
        }
    }

    fn text(&mut self, text: &str) {
        let Some(top) = self.stack.last() else { return self.words(text) };
        if top.role == Role::Title && !top.skipped {
            // The first of several is the page's.
            if self.has_title {
                return;
            }
            let room = MAX_TITLE.saturating_sub(self.document.title.len());
            self.document.title.push_str(head(text, room));
        } else if top.literal && !top.skipped {
            // The first line break after the tag is not meant.
            let text = if self.line.is_empty() { text.strip_prefix('\n').unwrap_or(text) } else { text };
            self.line.extend(visible(text).chars().filter(|c| *c != '\r'));
        } else if !top.skipped && &*top.name != "head" {
            self.words(text);
        }
    }
}

impl PageReader {
    fn new(base: Option<Url>, sheet: Sheet) -> Self {
        Self {
            base,
            sheet,
            stack: Vec::new(),
            blocks: Blocks::default(),
            document: Document::default(),
            line: String::new(),
            links: Vec::new(),
            space: false,
            absolute_bytes: 0,
            link: None,
            anchor: None,
            heading: None,
            item: None,
            code: None,
            raised: false,
            row: None,
            first_row: false,
            social_title: None,
            has_title: false,
        }
    }

    fn opened(&self, name: LocalName, role: Role, attributes: &[Attribute]) -> OpenElement {
        let top = self.stack.last();
        let inherits = |of: fn(&OpenElement) -> bool| top.is_some_and(of);
        let whole = matches!(&*name, "html" | "body" | "main" | "article" | "head");
        let main = inherits(|top| top.main) || role == Role::Main || attribute(attributes, "role") == Some("main");
        let (hidden, mut look) = self.hides(&name, attributes);
        look.veiled = if whole { inherits(|top| top.look.veiled) } else { look.veiled };
        let hidden = !whole && hidden
            || role == Role::Raised && attribute(attributes, "class").is_some_and(|class| class.contains("reference"));
        let gone = match role {
            Role::Skipped | Role::Math => true,
            Role::Formula => {
                // The source of a formula, once.
                let tex = attribute(attributes, "encoding").is_some_and(|encoding| encoding.contains("tex"));
                !(tex
                    && inherits(|top| top.skipped)
                    && self.stack.iter().rev().take(16).any(|open| open.role == Role::Math))
            }
            _ => inherits(|top| top.unread) || hidden,
        };
        let container = matches!(
            role,
            Role::Block | Role::List { .. } | Role::Around | Role::Table | Role::Item | Role::Cell { .. }
        );
        let around =
            inherits(|top| top.around) || role == Role::Around && !main || container && !whole && is_around(attributes);
        let in_lists = top.map_or(0, |top| top.lists);
        OpenElement {
            skipped: gone || look.veiled,
            unread: gone,
            around,
            main,
            literal: inherits(|top| top.literal) || role == Role::Literal,
            quoted: inherits(|top| top.quoted) || role == Role::Quote,
            number: (role == (Role::List { ordered: true }))
                .then(|| attribute(attributes, "start").and_then(|start| start.trim().parse().ok()).unwrap_or(1)),
            lists: in_lists + usize::from(matches!(role, Role::List { .. })),
            look,
            name,
            role,
        }
    }

    /// Returns whether nothing of an element is shown, and its look.
    fn hides(&self, name: &str, attributes: &[Attribute]) -> (bool, Look) {
        let around = Look::default();
        hides(name, attributes, &self.sheet, self.stack.last().map_or(&around, |top| &top.look))
    }

    /// Returns whether an element that stands alone is shown.
    fn shows(&self, name: &str, attributes: &[Attribute]) -> bool {
        let (hidden, look) = self.hides(name, attributes);
        !hidden && !look.veiled && !self.stack.last().is_some_and(|top| top.unread)
    }

    /// Begins an element that is read.
    fn begin(&mut self, opened: &OpenElement, attributes: &[Attribute]) {
        if opened.literal && !matches!(opened.role, Role::Literal | Role::Code | Role::Link) {
            return self.separate_lines(opened.role);
        }
        match opened.role {
            Role::Heading(level) => {
                self.flush();
                self.treat_as_layout();
                self.heading = Some(level);
            }
            Role::Item => {
                self.flush();
                self.treat_as_layout();
                let list = self.stack.iter_mut().rev().take(REACH).find(|open| matches!(open.role, Role::List { .. }));
                let number = list.and_then(|list| {
                    let number = list.number;
                    list.number = number.map(|number| number.saturating_add(1));
                    number
                });
                self.item = Some((opened.lists.max(1), number));
            }
            Role::Literal => {
                self.flush();
                self.treat_as_layout();
                self.code = Some(language(attributes).unwrap_or_default().to_owned());
            }
            Role::Code if opened.literal => {
                if let (Some(code), Some(language)) = (&mut self.code, language(attributes)) {
                    language.clone_into(code);
                }
            }
            Role::Table => {
                self.flush();
                self.treat_as_layout();
                self.row = None;
                self.first_row = true;
            }
            Role::Row => {
                self.end_row();
                self.flush();
                self.row = Some(Row::default());
            }
            // What stands before the first cell of a row is one too.
            Role::Cell { .. } if !self.line.is_empty() => self.end_cell(),
            Role::List { .. } | Role::Quote => {
                self.flush();
                self.treat_as_layout();
            }
            Role::Block | Role::Around | Role::Main | Role::Term | Role::Definition => self.flush(),
            Role::Raised => self.raised = true,
            Role::Formula => self.word("$"),
            Role::Link => {
                self.end_link();
                let href = attribute(attributes, "href").unwrap_or_default();
                self.anchor = href.starts_with('#').then_some(self.line.len());
                if self.absolute_bytes < MAX_LINKS
                    && let Some(url) = self.absolute_url(href)
                {
                    self.absolute_bytes += 1;
                    self.link = Some((self.line.len(), url));
                }
            }
            _ => {}
        }
    }

    fn pop(&mut self) {
        let Some(open) = self.stack.last() else { return };
        let (role, skipped, literal) = (open.role, open.skipped, open.literal);
        if !skipped && literal && !matches!(role, Role::Literal | Role::Link) {
            self.separate_lines(role);
        } else if !skipped {
            match role {
                Role::Link => {
                    self.end_anchor();
                    self.end_link();
                }
                Role::Code if !literal => self.end_code(),
                Role::Formula => self.line.push('$'),
                Role::Raised => self.raised = false,
                Role::Cell { .. } => self.end_cell(),
                Role::Row => self.end_row(),
                Role::Table => {
                    self.end_row();
                    self.flush();
                    // The rest of a row around it is no data.
                    self.row = None;
                }
                Role::Title => self.has_title |= !self.document.title.trim().is_empty(),
                Role::Inline => {}
                _ => self.flush(),
            }
            if role == Role::Item {
                self.item = None;
            }
        }
        self.stack.pop();
    }

    fn finish(mut self, inline: bool) -> Document {
        while !self.stack.is_empty() {
            self.pop();
        }
        self.end_row();
        self.flush();
        let mut document = self.document;
        document.title = one_line(&document.title, MAX_TITLE);
        if document.title.is_empty() {
            let heading = || self.blocks.first_heading().map(|heading| one_line(heading, MAX_TITLE));
            document.title = self.social_title.take().or_else(heading).unwrap_or_default();
        }
        self.blocks.keep_content();
        let RenderedText { text, links } = self.blocks.write(inline);
        document.text = text;
        document.links = links;
        document
    }
}

/// The text without characters that show nothing.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        if shows(c, before) {
            out.push(c);
            before = Some(c);
        }
    }
    out
}

/// Returns whether a character is shown behind another. Joiners and marks of a direction shape letters beyond ASCII,
/// and sequences of pictures; anywhere else, or one behind the other, they show nothing.
fn shows(c: char, before: Option<char>) -> bool {
    let shapes = |c: char| matches!(c, '\u{200c}'..='\u{200f}');
    let has_letter = before.is_some_and(|before| !before.is_ascii() && !shapes(before));
    !is_invisible(c) && (has_letter || !shapes(c))
}

/// Returns whether a character shows nothing, or turns the direction of others: text is not hidden in such characters.
fn is_invisible(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags, and the selectors of variants: a byte each.
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
