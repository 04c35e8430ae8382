//! The tokenizer, for all readers of a page: in pieces, so that a tag without an end can't take long.
//!
//! The tokenizer is html5ever's, so that characters, comments and scripts are read as browsers read them. It compares
//! each attribute of a tag with all others; a tag with too many is passed over.

use std::cell::{Cell, RefCell};

use html5ever::{
    Attribute, LocalName,
    tendril::StrTendril,
    tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
};
use loopwright_base::text::head;

use super::element::{is_empty, role};

/// Bytes of the pieces that the tokenizer gets.
const PIECE: usize = 2 << 10;
/// Marks between a tag's attributes above which it is no tag: comparing each with all others would take long.
const MAX_MARKS: usize = 3_000;

/// A handler of a page's tokens.
pub(super) trait TokenHandler {
    /// Begins an element; returns how its content is read.
    fn start(&mut self, name: LocalName, attributes: &[Attribute], self_closing: bool) -> TokenSinkResult<()>;
    /// Ends an element.
    fn end(&mut self, name: &str);
    /// Takes text of the element that began last.
    fn text(&mut self, text: &str);
    /// Ends a piece of the page, read or passed over.
    fn passed(&mut self, _piece: &str) {}
}

/// The form of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Html,
    /// XML, where a slash ends any element.
    Xhtml,
}

/// Reads all of `html`.
pub(super) fn read<R: TokenHandler>(syntax: Syntax, html: &str, reader: R) -> R {
    let begin = |reader| {
        let sink = Sink { syntax, reader: RefCell::new(reader), seen: Cell::default() };
        Tokenizer::new(sink, TokenizerOpts::default())
    };
    let mut tokenizer = begin(reader);
    let mut rest = html;
    let mut open = OpenConstruct::Nothing;
    while !rest.is_empty() {
        // Up to the next '<': then what is unfinished began where a piece begins.
        let next = rest.bytes().skip(1).take(PIECE).position(|byte| byte == b'<').map_or(PIECE, |at| at + 1);
        let cut = head(rest, next).len();
        let (piece, after) = rest.split_at(if cut == 0 { rest.len().min(4) } else { cut });
        rest = after;
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from(piece));
        let before = tokenizer.sink.seen.get();
        // Scripts are never run, so it never stops in between.
        let _ = tokenizer.feed(&queue);
        let seen = tokenizer.sink.seen.get();
        tokenizer.sink.reader.borrow_mut().passed(piece);
        open = match open {
            _ if seen.markup > before.markup => OpenConstruct::Nothing,
            OpenConstruct::Nothing if seen.tokens > before.tokens => OpenConstruct::Nothing,
            OpenConstruct::Nothing if piece.starts_with("<!") || piece.starts_with("<?") => OpenConstruct::Comment,
            OpenConstruct::Comment => OpenConstruct::Comment,
            OpenConstruct::Nothing => OpenConstruct::Tag(marks(piece)),
            OpenConstruct::Tag(before) => OpenConstruct::Tag(before + marks(piece)),
        };
        if matches!(open, OpenConstruct::Tag(marks) if marks > MAX_MARKS) {
            let mut reader = tokenizer.sink.reader.into_inner();
            let (skipped, after) = rest.split_at(rest.find('>').map_or(rest.len(), |at| at + 1));
            reader.passed(skipped);
            rest = after;
            tokenizer = begin(reader);
            open = OpenConstruct::Nothing;
        }
    }
    tokenizer.end();
    let mut reader = tokenizer.sink.reader.into_inner();
    reader.passed("");
    reader
}

/// The construct that the tokenizer is in the middle of.
#[derive(Clone, Copy)]
enum OpenConstruct {
    Nothing,
    /// A comment, which may be as long as it likes.
    Comment,
    /// A tag, with so many marks between its attributes.
    Tag(usize),
}

fn marks(piece: &str) -> usize {
    piece.bytes().filter(|byte| byte.is_ascii_whitespace() || b"=/\"'".contains(byte)).count()
}

/// The tokens that came, and those of them that are markup.
#[derive(Clone, Copy, Default)]
struct TokenCounts {
    tokens: u64,
    markup: u64,
}

struct Sink<R> {
    syntax: Syntax,
    reader: RefCell<R>,
    seen: Cell<TokenCounts>,
}

impl<R: TokenHandler> TokenSink for Sink<R> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let TokenCounts { tokens, markup } = self.seen.get();
        let is_markup = matches!(token, Token::TagToken(_) | Token::CommentToken(_) | Token::DoctypeToken(_));
        self.seen.set(TokenCounts {
            tokens: tokens + u64::from(!matches!(token, Token::ParseError(_))),
            markup: markup + u64::from(is_markup),
        });
        let mut reader = self.reader.borrow_mut();
        match token {
            Token::TagToken(Tag { kind: TagKind::StartTag, name, attrs, self_closing, .. }) => {
                if self_closing && self.syntax == Syntax::Xhtml && !is_empty(role(&name)) {
                    let _ = reader.start(name.clone(), &attrs, false);
                    reader.end(&name);
                    return TokenSinkResult::Continue;
                }
                return reader.start(name, &attrs, self_closing);
            }
            Token::TagToken(Tag { name, .. }) => reader.end(&name),
            Token::CharacterTokens(text) => reader.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}
