//! What the parser says, in the order of the input, and which bytes each thing came from. Events that own bytes tile
//! the input.

use std::ops::Range;

use super::call::{Call, Source};

/// Bytes `start..end` of the input, counted from the first byte ever fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

/// Why bytes belong to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// An echoed tool result: inert, never text, never a call.
    ToolResult,
    /// A call over one of the policy's limits.
    Limit,
    /// A call's remains after it broke beyond repair.
    Malformed,
}

/// Whose a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Prose for people.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// A tool call: its name and arguments.
    Call,
    /// Markers and the white space between them.
    Markup,
    /// Nobody, for this reason.
    Dropped(Dropped),
}

/// What went wrong, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// A call for a tool that wasn't declared; its bytes stayed text.
    UnknownTool,
    /// The text ended inside a call.
    Incomplete,
    /// Arguments were repaired.
    Repaired,
    /// Arguments were broken beyond repair.
    Malformed,
    /// More calls than `max_calls`.
    TooManyCalls,
    /// Arguments over `max_argument_bytes`.
    ArgumentsTooLarge,
    /// Arguments nested deeper than `max_depth`.
    TooDeep,
    /// A value that doesn't fit its declared type: it was kept, or said as what it plainly means.
    WrongType,
    /// Bytes that are no UTF-8; U+FFFD stands in their place.
    InvalidUtf8,
    /// An echoed tool result was dropped.
    ToolResult,
    /// What opens a call stands where a line begins, and none can be read behind it; it stayed text.
    Unread,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::UnknownTool,
        Self::Incomplete,
        Self::Repaired,
        Self::Malformed,
        Self::TooManyCalls,
        Self::ArgumentsTooLarge,
        Self::TooDeep,
        Self::WrongType,
        Self::InvalidUtf8,
        Self::ToolResult,
        Self::Unread,
    ];

    /// Its name, as programs compare it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::Incomplete => "incomplete",
            Self::Repaired => "repaired",
            Self::Malformed => "malformed",
            Self::TooManyCalls => "too_many_calls",
            Self::ArgumentsTooLarge => "arguments_too_large",
            Self::TooDeep => "too_deep",
            Self::WrongType => "wrong_type",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::ToolResult => "tool_result",
            Self::Unread => "unread",
        }
    }
}

/// Something a person or a log should hear of. It owns bytes only if `dropped` says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What, for programs.
    pub kind: ProblemKind,
    /// What, where and what to do, for people.
    pub message: String,
    /// The bytes it is about.
    pub span: Span,
    /// The call it is about.
    pub call: Option<usize>,
    /// Set if these bytes belong to nothing else.
    pub dropped: Option<Dropped>,
}

impl Problem {
    /// The call that isn't complete for this reason, also where it was told complete before: a value that is closed in
    /// the prose behind it, or another call that breaks, shows that what closed it may have stood in a value.
    pub fn takes_back(&self) -> Option<usize> {
        self.call.filter(|_| self.kind == ProblemKind::Malformed && self.dropped.is_none())
    }
}

/// One event. Never taken back, but for what [`Problem::takes_back`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// More prose.
    Text {
        /// The prose.
        text: &'a str,
        /// The bytes it came from.
        span: Span,
    },
    /// More reasoning.
    Reasoning {
        /// The reasoning.
        text: &'a str,
        /// The bytes it came from.
        span: Span,
    },
    /// A call began and its tool is known. Owns the bytes of its opening up to the name's end (owner: call).
    CallStarted {
        /// The call's place among the calls.
        index: usize,
        /// The tool's name.
        name: &'a str,
        /// The dialect's name.
        dialect: &'static str,
        /// How it was found.
        source: Source,
        /// The bytes it came from.
        span: Span,
    },
    /// More of a call's arguments, as JSON text.
    Arguments {
        /// The call's place among the calls.
        index: usize,
        /// JSON text that follows what came before it.
        json: &'a str,
        /// The bytes it came from.
        span: Span,
    },
    /// A call ended, complete or not. Owns the bytes from its last argument to its closing marker.
    CallFinished {
        /// The whole call.
        call: &'a Call,
        /// The bytes it came from.
        span: Span,
    },
    /// Markers that belong to no one call: of reasoning, of a section of calls.
    Markup {
        /// The bytes it came from.
        span: Span,
    },
    /// Something to hear of.
    Problem(&'a Problem),
}

#[derive(Debug, Clone)]
pub(super) enum Item {
    Text(Range<usize>, Span),
    Reasoning(Range<usize>, Span),
    CallStarted { index: usize, name: Range<usize>, dialect: &'static str, source: Source, span: Span },
    Arguments { index: usize, json: Range<usize>, span: Span },
    CallFinished(Box<Call>, Span),
    Markup(Span),
    Problem(Box<Problem>),
}

/// A batch of events, to be cleared and used again so that a delta costs no allocation.
#[derive(Debug, Clone, Default)]
pub struct Events {
    pub(super) text: String,
    pub(super) items: Vec<Item>,
}

impl Events {
    /// No events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.items.clear();
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The events in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event<'_>> {
        self.items.iter().map(|item| match item {
            Item::Text(text, span) => {
                Event::Text { text: self.text.get(text.clone()).unwrap_or_default(), span: *span }
            }
            Item::Reasoning(text, span) => {
                Event::Reasoning { text: self.text.get(text.clone()).unwrap_or_default(), span: *span }
            }
            Item::CallStarted { index, name, dialect, source, span } => Event::CallStarted {
                index: *index,
                name: self.text.get(name.clone()).unwrap_or_default(),
                dialect,
                source: *source,
                span: *span,
            },
            Item::Arguments { index, json, span } => {
                Event::Arguments { index: *index, json: self.text.get(json.clone()).unwrap_or_default(), span: *span }
            }
            Item::CallFinished(call, span) => Event::CallFinished { call, span: *span },
            Item::Markup(span) => Event::Markup { span: *span },
            Item::Problem(problem) => Event::Problem(problem),
        })
    }
}
