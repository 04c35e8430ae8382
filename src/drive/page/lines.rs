//! The text of an HTML file, line by line: each line of the text is the line of that number in the file, so that
//! citations lead to the right place.
//!
//! The tokenizer is that of fetched pages, and so is what counts as hidden; menus and banners stay. One pass over the
//! file, whatever is in it.

use std::cell::RefCell;

use html5ever::{
    Attribute, LocalName,
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts, states::RawKind,
    },
};

use super::{
    element::{Role, ends, holds, is_hidden, role},
    hidden::Sheet,
    html::is_invisible,
};
use crate::core::retrieve::passages::head;

/// The file is handed to the tokenizer in pieces of this many bytes.
const PIECE: usize = 2 << 10;
/// A tag that is longer is no tag: comparing each of its attributes with all others would take long.
const LONGEST_TAG: usize = 16 << 10;
/// Elements within elements; deeper ones are read as if they stood here.
const MAX_DEPTH: usize = 1_000;
/// An end tag looks this far for its beginning.
const REACH: usize = 200;

/// What readers see of `html`, each word in its line.
pub fn visible_lines(html: &str) -> String {
    let html = html.replace("\r\n", "\n").replace('\r', " ");
    let mut out = String::with_capacity(html.len() / 2);
    let mut tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    let (mut rest, mut unfinished) = (html.as_str(), 0);
    while !rest.is_empty() {
        // Up to the next '<': a piece holds one tag and the text behind it.
        let next = rest.bytes().skip(1).take(PIECE).position(|byte| byte == b'<').map_or(PIECE, |at| at + 1);
        let cut = head(rest, next).len();
        let (piece, after) = rest.split_at(if cut == 0 { rest.len().min(4) } else { cut });
        rest = after;
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from(piece));
        let before = tokenizer.sink.0.borrow().tokens;
        // Scripts are never run, so it never stops in between.
        let _ = tokenizer.feed(&queue);
        let stuck = tokenizer.sink.0.borrow().tokens == before;
        unfinished = if stuck { unfinished + piece.len() } else { 0 };
        tokenizer.sink.0.borrow_mut().give(piece, &mut out);
        // A comment may be long; a tag may not.
        if unfinished > LONGEST_TAG && !rest.is_empty() {
            let reader = tokenizer.sink.0.take();
            let end = rest.find('>').map_or(rest.len(), |at| at + 1);
            let (skipped, after) = rest.split_at(end);
            out.extend(std::iter::repeat_n('\n', skipped.matches('\n').count()));
            rest = after;
            tokenizer = Tokenizer::new(Sink(RefCell::new(reader)), TokenizerOpts::default());
            unfinished = 0;
        }
    }
    tokenizer.end();
    tokenizer.sink.0.borrow_mut().give("", &mut out);
    out
}

#[derive(Default)]
struct Sink(RefCell<Reader>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reader = self.0.borrow_mut();
        reader.tokens += u64::from(!matches!(token, Token::ParseError(_)));
        match token {
            Token::TagToken(Tag { kind: TagKind::StartTag, name, attrs, self_closing, .. }) => {
                return reader.start(name, &attrs, self_closing);
            }
            Token::TagToken(Tag { name, .. }) => reader.end(&name),
            Token::CharacterTokens(text) => reader.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

struct Open {
    name: LocalName,
    role: Role,
    hidden: bool,
}

#[derive(Default)]
struct Reader {
    tokens: u64,
    stack: Vec<Open>,
    sheet: Sheet,
    /// What the piece shows, and how many line breaks of text were in it.
    shown: String,
    breaks: usize,
}

impl Reader {
    /// Hands over what a piece showed, with the line breaks that stood in its tags before it.
    fn give(&mut self, piece: &str, out: &mut String) {
        let all = piece.bytes().filter(|byte| *byte == b'\n').count();
        out.extend(std::iter::repeat_n('\n', all.saturating_sub(self.breaks)));
        out.push_str(&self.shown);
        self.shown.clear();
        self.breaks = 0;
    }

    fn hidden(&self) -> bool {
        self.stack.last().is_some_and(|top| top.hidden)
    }

    fn start(&mut self, name: LocalName, attributes: &[Attribute], self_closing: bool) -> TokenSinkResult<()> {
        let role = role(&name);
        self.close_silently(role);
        let hidden =
            self.hidden() || role == Role::Skipped || is_hidden(attributes) || self.sheet.hides(&name, attributes);
        if !hidden {
            match role {
                Role::Heading(level) => {
                    self.part();
                    self.shown.extend(std::iter::repeat_n('#', usize::from(level)));
                    self.shown.push(' ');
                }
                Role::Item => {
                    self.part();
                    self.shown.push_str("- ");
                }
                Role::Inline | Role::Code | Role::Link | Role::Raised => {}
                _ => self.part(),
            }
        }
        let empty = matches!(
            role,
            Role::Meta | Role::BaseUrl | Role::LinkTag | Role::Break | Role::Rule | Role::Picture | Role::Void
        );
        let foreign = self_closing && matches!(&*name, "svg" | "math");
        let raw = match &*name {
            "script" => Some(TokenSinkResult::RawData(RawKind::ScriptData)),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(TokenSinkResult::RawData(RawKind::Rawtext)),
            "title" | "textarea" => Some(TokenSinkResult::RawData(RawKind::Rcdata)),
            "plaintext" => Some(TokenSinkResult::Plaintext),
            _ => None,
        };
        if !empty && !foreign && (self.stack.len() < MAX_DEPTH || raw.is_some()) {
            self.stack.push(Open { name, role, hidden });
            return raw.unwrap_or(TokenSinkResult::Continue);
        }
        TokenSinkResult::Continue
    }

    /// Ends what a new element ends without an end tag of its own.
    fn close_silently(&mut self, new: Role) {
        if matches!(new, Role::Inline | Role::Link | Role::Code | Role::Void | Role::Break) {
            return;
        }
        let mut found = None;
        for (back, open) in self.stack.iter().rev().take(REACH).enumerate() {
            if ends(new, &open.name) {
                found = Some(back);
                break;
            }
            if holds(open.role) && !matches!(&*open.name, "p" | "thead" | "tbody" | "tfoot") {
                break;
            }
        }
        if let Some(back) = found {
            self.stack.truncate(self.stack.len().saturating_sub(back + 1));
        }
    }

    fn end(&mut self, name: &str) {
        let found = self.stack.iter().rev().take(REACH).position(|open| &*open.name == name);
        if let Some(back) = found {
            self.stack.truncate(self.stack.len().saturating_sub(back + 1));
        }
        if !self.hidden() && !matches!(role(name), Role::Inline | Role::Code | Role::Link | Role::Raised) {
            self.part();
        }
    }

    /// Words of two elements are two words.
    fn part(&mut self) {
        if !self.shown.ends_with([' ', '\n', '#', '-']) {
            self.shown.push(' ');
        }
    }

    fn text(&mut self, text: &str) {
        self.breaks += text.bytes().filter(|byte| *byte == b'\n').count();
        if self.hidden() {
            if self.stack.last().is_some_and(|top| &*top.name == "style") {
                self.sheet.read(text);
            }
            self.shown.extend(text.chars().filter(|c| *c == '\n'));
        } else {
            self.shown.extend(text.chars().filter(|c| *c == '\n' || !is_invisible(*c)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_keeps_its_lines() {
        let html = "<html><head><style>\nb {}\n</style></head>\n<body><!-- a\nb --><p class=\n'x'>One &amp; <b>two</b>.</p>\n<script>if (a < b) {}\n</SCRIPT>1 < 2\r\n<h2>Then</h2>\n";
        let text = visible_lines(html);
        assert_eq!(text.matches('\n').count(), html.matches('\n').count(), "{text:?}");
        assert_eq!(text.lines().nth(5).map(str::trim), Some("One & two."));
        assert_eq!(text.lines().nth(7).map(str::trim), Some("1 < 2"));
        assert_eq!(text.lines().last().map(str::trim), Some("## Then"));
        assert!(!text.contains("if ("));
    }

    #[test]
    fn x15_what_nobody_sees_is_no_evidence() {
        let html = "<style>.ghost { display: none }</style><p>Seen one.</p>\n\
             <p style='display:none'>secret</p><div hidden><p>secret</p>\n<span>secret</span></div>\
             <p aria-hidden=true>secret</p><!-- secret --><script>secret</script><template>secret</template>\
             <noscript>secret</noscript><p class=ghost>secret<p>Seen two.\n\
             <span style='font-size:0'>secret</span><i style='position:absolute;left:-9999px'>secret</i>\
             <b style='color:#fff;background:#fff'>secret</b><p hidden>secret<br>secret<p>Seen three.";
        let text = visible_lines(html);
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("Seen one.") && text.contains("Seen two.") && text.contains("Seen three."), "{text}");
        assert_eq!(text.matches('\n').count(), html.matches('\n').count());
    }

    #[test]
    #[allow(clippy::disallowed_methods)] // the test has a clock, what it tests has none
    fn hostile_files_take_no_time() {
        let started = std::time::Instant::now();
        for piece in ["<", "<script>", "<p>", "<p hidden>", "<a b=", "<!--", "</p>", "<style>", "<a \n", "&", "<li><b>"]
        {
            visible_lines(&piece.repeat(300_000 / piece.len()));
        }
        visible_lines(&format!("<a {}>x", "b=1 ".repeat(100_000)));
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }
}
