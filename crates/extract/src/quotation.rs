//! Calls that a reply quotes: the rendered form of such a call, markers and name included, stands in a text that the
//! model was shown (a tool's result, a page, a source, a memory, the user's paste). It stays prose and never runs; a
//! call without markers of its own, whose form may be anybody's words, is marked to be asked about.
//!
//! Instructions, tools' descriptions and what the model said itself are no such texts: few-shot examples and polling
//! repeat them.

mod lines;
mod plain;
mod shown;

pub use shown::Shown;

use super::{
    call::{Call, Source},
    dialect::{Dialect, First, Grammar, dialect_named, reasoning_markups, turn_ends},
    event::{Event, Events, ProblemKind, Span},
    parser::Parser,
};

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
        /// What was done to its arguments, so that they could be read.
        repairs: Vec<String>,
        /// Why it isn't complete, where that is known.
        unclear: Vec<String>,
    },
    /// What opens a call stands at the front of the prose that follows, and none can be read behind it.
    Unread {
        /// The marker.
        marker: String,
    },
    /// A call that ended before isn't complete: what follows shows that it may stand in a value.
    TakenBack {
        /// Its place among the calls that were found.
        index: usize,
    },
    /// The prose that was given last is a quoted call.
    Quoted {
        /// The name of its tool.
        name: String,
    },
}

/// Reads the text of a reply in pieces, and tells calls from quotations. What may be a quotation is held until it is
/// known.
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
    /// How many calls ended.
    ended: usize,
    /// The repairs of the call that ends next, and what is unclear in it.
    repairs: Vec<String>,
    unclear: Vec<String>,
}

/// A call that may be a quotation.
#[derive(Debug)]
pub(crate) struct Held {
    /// Where its prose begins, if it is one: its marker, or that of its section.
    start: usize,
    read: Vec<Read>,
}

impl ReplyReader {
    /// A reader of what `parser` finds.
    pub fn new(parser: Parser) -> Self {
        Self {
            parser,
            events: Events::new(),
            source: Vec::new(),
            form: 0,
            held: None,
            markup: None,
            behind: None,
            repairs: Vec::new(),
            unclear: Vec::new(),
            ended: 0,
        }
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
            Event::Problem(problem) if problem.kind == ProblemKind::Repaired => {
                self.repairs.push(problem.message.clone());
            }
            Event::Problem(problem) if problem.kind == ProblemKind::Unread => {
                let marker = String::from_utf8_lossy(self.text(problem.span.start, problem.span.end)).into_owned();
                out.push(Read::Unread { marker });
            }
            Event::Problem(problem) if problem.call.is_some_and(|index| self.ended <= index) => {
                self.unclear.push(problem.message.clone());
            }
            Event::Problem(problem) => out.extend(problem.takes_back().map(|index| Read::TakenBack { index })),
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
        if is_bare(dialect, source) || !shown.holds(self.text(self.form, span.end), dialect) {
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
        let repairs = std::mem::take(&mut self.repairs);
        let unclear = std::mem::take(&mut self.unclear);
        self.ended = call.index + 1;
        let Some(dialect) = dialect_named(call.dialect) else { return };
        let end = span.end.max(call.span.end);
        let Some(held) = self.held.take() else {
            let asks = is_bare(dialect, call.source) && shown.holds(self.text(self.form, end), dialect);
            return out.push(Read::Called { call: Box::new(call.clone()), asks, repairs, unclear });
        };
        if !shown.holds(self.text(self.form, end), dialect) {
            out.extend(held.read);
            return out.push(Read::Called { call: Box::new(call.clone()), asks: false, repairs, unclear });
        }
        out.push(Read::Text(String::from_utf8_lossy(self.text(held.start, end)).into_owned()));
        out.push(Read::Quoted { name: call.name.clone() });
        self.behind = Some(dialect);
    }

    /// Markers that belong to no call: behind a quoted one they are prose as it is, up to what opens something else or
    /// ends the turn.
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
