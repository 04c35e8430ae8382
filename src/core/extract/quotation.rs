//! Calls that a reply quotes: the rendered form of such a call, markers and name included, stands in a text that the model was
//! shown (a tool's result, a page, a source, a memory, the user's paste). It stays prose and never runs; a call without markers of
//! its own, whose form may be anybody's words, is marked to be asked about.
//!
//! Instructions, tools' descriptions and what the model said itself are no such texts: few-shot examples and polling repeat them.

use std::sync::OnceLock;

use super::{
    call::{Call, Source},
    dialect::{Dialect, First, Grammar, dialect_named, reasoning_markups, turn_ends},
    event::{Event, Events, Span},
    parser::Parser,
};
use crate::core::{
    context::memory_in,
    message::{self, Block, Message, Role},
    request::Request,
};

/// The letters of what the model was shown with a request. Made when they are first asked for.
#[derive(Debug)]
pub struct Shown<'a> {
    request: &'a Request,
    text: OnceLock<Letters>,
}

/// The letters of texts behind each other, and where each text ends.
#[derive(Debug, Default)]
struct Letters {
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// How many letters may stand between two pages of a form: what a tool says below a page and above the next.
const LONGEST_NOTE: usize = 400;
/// At how many places the first line of a form is looked for.
const MOST_PLACES: usize = 32;

impl<'a> Shown<'a> {
    /// What `request` shows.
    pub const fn new(request: &'a Request) -> Self {
        Self { request, text: OnceLock::new() }
    }

    /// Whether this form stands in it, in one piece or in pages.
    fn holds(&self, form: &[u8]) -> bool {
        let mut plain = Vec::with_capacity(form.len());
        plain_into(form, &mut plain);
        let shown = self.text.get_or_init(|| shown(self.request));
        !plain.is_empty() && (memchr::memmem::find(&shown.text, &plain).is_some() || shown.holds_in_pages(form))
    }
}

impl Letters {
    /// Whether the lines of a form stand behind each other, where one text may end between two of them, with a note below,
    /// and the next go on.
    fn holds_in_pages(&self, form: &[u8]) -> bool {
        let lines: Vec<Vec<u8>> = form
            .split(|byte| *byte == b'\n')
            .map(|line| {
                let mut plain = Vec::new();
                plain_into(line, &mut plain);
                plain
            })
            .filter(|line| !line.is_empty())
            .collect();
        let [first, rest @ ..] = lines.as_slice() else { return false };
        !rest.is_empty()
            && memchr::memmem::find_iter(&self.text, first)
                .take(MOST_PLACES)
                .any(|at| rest.iter().try_fold(at + first.len(), |at, line| self.next_line(at, line)).is_some())
    }

    /// Where a line ends that goes on at `at`, in the same text or in the next one.
    fn next_line(&self, at: usize, line: &[u8]) -> Option<usize> {
        if self.text.get(at..)?.starts_with(line) {
            return Some(at + line.len());
        }
        let end = *self.ends.get(self.ends.partition_point(|end| *end < at))?;
        let page = self.text.get(end..self.text.len().min(end + LONGEST_NOTE + line.len()))?;
        let found = (end - at <= LONGEST_NOTE).then(|| memchr::memmem::find(page, line)).flatten()?;
        Some(end + found + line.len())
    }
}

fn shown(request: &Request) -> Letters {
    let mut shown = Letters::default();
    // What is trusted of memory stands among the instructions.
    if let Some(memory) = request.system.as_deref().map(Message::prose).as_deref().and_then(memory_in) {
        take(memory, &mut shown);
    }
    for message in request.messages.iter() {
        blocks(&message.content, message.role == Role::User, &mut shown);
    }
    shown
}

/// Takes what is not the model's own, and no instruction.
fn blocks(content: &[Block], users: bool, shown: &mut Letters) {
    for block in content {
        match block {
            Block::Text(own) if users => take(&own.text, shown),
            Block::Document(media) => {
                if let message::Source::Text { data, .. } = &media.source {
                    take(data, shown);
                }
            }
            Block::ToolResult(result) => blocks(&result.content, true, shown),
            // Pages that the provider has read stand in the model's own message.
            Block::Provider(block) if !block.is_tool_use() => take(block.raw.text(), shown),
            _ => {}
        }
    }
}

fn take(own: &str, shown: &mut Letters) {
    plain_into(own.as_bytes(), &mut shown.text);
    shown.ends.push(shown.text.len());
}

/// The letters and digits of a text, without what tools and people put around or between them: white space, marks before
/// lines (numbers, `> `, `+`, `file:3:`), colours of a terminal, and the escapes of JSON and of markup however often they
/// were put on. A result may be JSON, a memory stands escaped, a file comes with its lines numbered.
fn plain_into(text: &[u8], plain: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    let mut rest = without_line_number(&text);
    while let Some(c) = rest.chars().next() {
        let (taken, new_line) = match c {
            '\n' => (1, true),
            '\\' => unescaped(rest.as_bytes(), plain),
            '&' => (entity(rest, plain), false),
            '\u{1b}' => (terminal_sequence(rest), false),
            c => {
                letter(c, plain);
                (c.len_utf8(), false)
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
        if new_line {
            rest = without_line_number(rest);
        }
    }
}

fn letter(c: char, plain: &mut Vec<u8>) {
    if c.is_alphanumeric() {
        plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// The longest name of a file before the number of a line, in bytes.
const LONGEST_PATH: usize = 200;

/// A line without its number, alone or behind the name of its file, as `cat -n`, `grep -n` and the like write them.
fn without_line_number(line: &str) -> &str {
    let start = line.trim_start_matches([' ', '\t']);
    let behind_number = |text: &'_ str| -> Option<usize> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let next = text.get(digits..)?.chars().next()?;
        ((1..10).contains(&digits) && !next.is_alphanumeric()).then_some(digits)
    };
    if let Some(digits) = behind_number(start) {
        return start.get(digits..).unwrap_or_default();
    }
    let no_path = b" \t\n\"<>{}[]()|&;\\\x1b";
    let path = start.bytes().take(LONGEST_PATH).position(|byte| byte == b':' || no_path.contains(&byte));
    let behind_path = path.and_then(|at| start.get(at..)?.strip_prefix(':'));
    match behind_path.and_then(|text| Some((text, behind_number(text)?))) {
        Some((text, digits)) => text.get(digits..).unwrap_or_default(),
        None => line,
    }
}

/// How many bytes a sequence takes that colours the text of a terminal.
fn terminal_sequence(rest: &str) -> usize {
    let Some(inside) = rest.strip_prefix("\u{1b}[") else { return 1 };
    let digits = inside.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    digits + 2 + usize::from(inside.as_bytes().get(digits).is_some_and(u8::is_ascii_alphabetic))
}

/// What a backslash, or several, escape. Gives how many bytes that takes, and whether it ends a line.
fn unescaped(rest: &[u8], plain: &mut Vec<u8>) -> (usize, bool) {
    let mut units = Vec::new();
    let (mut at, mut new_line) = (0, false);
    loop {
        let slashes = rest.iter().skip(at).take_while(|byte| **byte == b'\\').count();
        let behind = rest.get(at + slashes..).unwrap_or_default();
        let unit = |digits: usize| {
            let digits = std::str::from_utf8(behind.get(1..=digits)?).ok()?;
            u16::from_str_radix(digits, 16).ok()
        };
        match behind.first() {
            Some(b'u')
                if slashes > 0
                    && let Some(unit) = unit(4) =>
            {
                units.push(unit);
                at += slashes + 5;
            }
            Some(b'x')
                if slashes > 0
                    && let Some(unit) = unit(2) =>
            {
                units.push(unit);
                at += slashes + 3;
            }
            Some(end @ (b'n' | b'r' | b't')) if slashes > 0 => {
                at += slashes + 1;
                new_line = *end == b'n';
                break;
            }
            _ => {
                at += slashes;
                break;
            }
        }
    }
    char::decode_utf16(units).flatten().for_each(|c| letter(c, plain));
    (at, new_line)
}

/// The longest entity, in bytes, without its ampersand.
const LONGEST_ENTITY: usize = 10;

/// What an entity of markup stands for; a named one stands for no letter. Gives how many bytes that takes.
fn entity(rest: &str, plain: &mut Vec<u8>) -> usize {
    let mut at = 1;
    while rest.get(at..).is_some_and(|rest| rest.starts_with("amp;")) {
        at += 4;
    }
    let behind = rest.get(at..).unwrap_or_default();
    let Some(end) = behind.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';') else { return at };
    let name = behind.get(..end).unwrap_or_default();
    let number = match name.strip_prefix('#').map(|number| (number, number.strip_prefix(['x', 'X']))) {
        Some((_, Some(digits))) => u32::from_str_radix(digits, 16).ok(),
        Some((digits, None)) => digits.parse().ok(),
        None if matches!(name, "lt" | "gt" | "quot" | "apos" | "nbsp") => return at + end + 1,
        None => None,
    };
    let Some(c) = number.and_then(char::from_u32) else { return at };
    letter(c, plain);
    at + end + 1
}

/// What stands in the text of a reply, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// Prose.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A call begins.
    Started {
        /// Its place among the calls that were found.
        index: usize,
        /// The tool's name.
        name: String,
    },
    /// More of its arguments, as JSON.
    Arguments {
        /// Its place among the calls that were found.
        index: usize,
        /// JSON text that follows what came before it.
        json: String,
    },
    /// A call ended.
    Called {
        /// The call.
        call: Box<Call>,
        /// Whether a person has to be asked: it has no markers of its own, and stands in what the model was shown.
        asks: bool,
    },
    /// The prose that was given last is a quoted call.
    Quoted {
        /// The name of its tool.
        name: String,
    },
}

/// Reads the text of a reply in pieces, and tells calls from quotations. What may be a quotation is held until it is known.
#[derive(Debug)]
pub struct ReplyReader {
    parser: Parser,
    events: Events,
    source: Vec<u8>,
    /// Where the form of the calls begins that are being read: the marker that opened them.
    form: usize,
    held: Option<Held>,
    /// The markup that stands right before the next event.
    markup: Option<Span>,
    /// The dialect of the quoted call that stands right before it.
    behind: Option<&'static Dialect>,
}

/// A call that may be a quotation.
#[derive(Debug)]
struct Held {
    /// Where its prose begins, if it is one: its marker, or that of its section.
    start: usize,
    read: Vec<Read>,
}

impl ReplyReader {
    /// A reader of what `parser` finds.
    pub fn new(parser: Parser) -> Self {
        Self { parser, events: Events::new(), source: Vec::new(), form: 0, held: None, markup: None, behind: None }
    }

    /// Takes the next bytes of the text, and appends what they say.
    pub fn feed(&mut self, bytes: &[u8], shown: &Shown<'_>, out: &mut Vec<Read>) {
        self.source.extend_from_slice(bytes);
        self.parser.feed(bytes, &mut self.events);
        self.read(shown, out);
    }

    /// Says that nothing follows.
    pub fn finish(&mut self, shown: &Shown<'_>, out: &mut Vec<Read>) {
        self.parser.finish(&mut self.events);
        self.read(shown, out);
    }

    fn read(&mut self, shown: &Shown<'_>, out: &mut Vec<Read>) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.iter() {
            self.event(&event, shown, out);
        }
        events.clear();
        self.events = events;
    }

    fn event(&mut self, event: &Event<'_>, shown: &Shown<'_>, out: &mut Vec<Read>) {
        match *event {
            Event::Text { text, .. } => {
                (self.behind, self.markup) = (None, None);
                out.push(Read::Text(text.to_owned()));
            }
            Event::Reasoning { text, .. } => {
                (self.behind, self.markup) = (None, None);
                out.push(Read::Reasoning(text.to_owned()));
            }
            Event::Markup { span } => self.behind(span, out),
            Event::CallStarted { index, name, dialect, source, span } => {
                let read = Read::Started { index, name: name.to_owned() };
                match self.candidate(dialect, source, span, shown) {
                    Some(held) => self.held.insert(held).read.push(read),
                    None => out.push(read),
                }
                self.behind = None;
            }
            Event::Arguments { index, json, .. } => {
                let read = Read::Arguments { index, json: json.to_owned() };
                self.held.as_mut().map_or(out, |held| &mut held.read).push(read);
            }
            Event::CallFinished { call, span } => self.finished(call, span, shown, out),
            Event::Problem(_) => {}
        }
    }

    fn text(&self, start: usize, end: usize) -> &[u8] {
        self.source.get(start..end).unwrap_or_default()
    }

    /// A call that begins, if it is to be held: what is seen of it stands in what was shown.
    fn candidate(&mut self, dialect: &str, source: Source, span: Span, shown: &Shown<'_>) -> Option<Held> {
        let dialect = dialect_named(dialect)?;
        let markup = self.markup.take().filter(|markup| markup.end == span.start);
        if is_bare(dialect, source) || is_marked(dialect, self.text(span.start, span.end)) {
            self.form = span.start;
        }
        if is_bare(dialect, source) || !shown.holds(self.text(self.form, span.end)) {
            return None;
        }
        let opened = markup.and_then(|markup| {
            let text = self.text(markup.start, markup.end);
            let at = |open: &&str| memchr::memmem::rfind(text, open.as_bytes());
            let openers = dialect.section.iter().flat_map(|section| section.0);
            openers.filter_map(at).min().map(|at| markup.start + at)
        });
        Some(Held { start: opened.unwrap_or(span.start), read: Vec::new() })
    }

    fn finished(&mut self, call: &Call, span: Span, shown: &Shown<'_>, out: &mut Vec<Read>) {
        let Some(dialect) = dialect_named(call.dialect) else { return };
        let end = span.end.max(call.span.end);
        let Some(held) = self.held.take() else {
            let asks = is_bare(dialect, call.source) && shown.holds(self.text(self.form, end));
            return out.push(Read::Called { call: Box::new(call.clone()), asks });
        };
        if !shown.holds(self.text(self.form, end)) {
            out.extend(held.read);
            return out.push(Read::Called { call: Box::new(call.clone()), asks: false });
        }
        out.push(Read::Text(String::from_utf8_lossy(self.text(held.start, end)).into_owned()));
        out.push(Read::Quoted { name: call.name.clone() });
        self.behind = Some(dialect);
    }

    /// Markers that belong to no call: behind a quoted one they are prose as it is, up to what opens something else or ends the turn.
    fn behind(&mut self, span: Span, out: &mut Vec<Read>) {
        self.markup = Some(span);
        let Some(dialect) = self.behind else { return };
        let text = self.text(span.start, span.end);
        let openers = dialect.open.iter().chain(dialect.section.iter().flat_map(|section| section.0));
        let others = reasoning_markups().iter().flat_map(|reasoning| reasoning.open).chain(turn_ends());
        let marks = openers.chain(others).filter(|mark| !mark.is_empty());
        let own = marks.filter_map(|mark| memchr::memmem::find(text, mark.as_bytes())).min().unwrap_or(text.len());
        if own > 0 {
            out.push(Read::Text(String::from_utf8_lossy(text.get(..own).unwrap_or_default()).into_owned()));
        }
        if own < text.len() {
            self.markup = Some(Span { start: span.start + own, end: span.end });
            self.behind = None;
        } else {
            self.markup = None;
        }
    }
}

/// Whether what such a call looks like may be anybody's words.
const fn is_bare(dialect: &Dialect, source: Source) -> bool {
    matches!(source, Source::Bare) || dialect.bare
}

/// Whether a call has a marker of its own, and isn't a further one behind the marker of a list.
fn is_marked(dialect: &Dialect, text: &[u8]) -> bool {
    let begins = |opener: &&str| !opener.is_empty() && text.starts_with(opener.as_bytes());
    let element = match dialect.grammar {
        Grammar::Tags(_) => text.starts_with(b"<"),
        Grammar::Nested { prefix } => text.starts_with(prefix.as_bytes()),
        Grammar::Harmony => matches!(dialect.first, First::OneOf(all) if all.iter().any(begins)),
        _ => false,
    };
    element || dialect.open.iter().any(begins)
}
