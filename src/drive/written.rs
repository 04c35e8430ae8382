//! Deltas of replies in which calls may be written as text: markup never reaches who watches, calls and reasoning arrive as
//! what they are. The reply itself is not touched here; the machine reads it the same way.

use crate::core::{
    extract::{self, Event, Events, Parser},
    request::{Delta, Request, Tool},
};

/// What a piece of a reply is, and from which block of the provider.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Text(usize),
    Reasoning(usize),
    Call(usize, usize),
    Other(usize),
}

/// Reads the text of a reply while it streams.
pub(super) struct Written<'a> {
    request: &'a Request,
    /// The text block that is being read.
    parser: Option<(usize, Parser)>,
    events: Events,
    /// The blocks so far, in the numbering of who watches.
    blocks: Vec<Piece>,
}

impl<'a> Written<'a> {
    /// A reader for the reply to `request`; `None` if there is nothing to read.
    pub(super) fn new(request: &'a Request) -> Option<Self> {
        let reads = request.read_markup && request.tools.iter().any(|tool| matches!(tool, Tool::Function(_)));
        reads.then(|| Self { request, parser: None, events: Events::new(), blocks: Vec::new() })
    }

    /// What who watches is shown for these deltas.
    pub(super) fn read(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        let mut shown = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match delta {
                Delta::Text { block, text } => {
                    if self.parser.as_ref().is_some_and(|(read, _)| *read != block) {
                        self.finish_block(&mut shown);
                    }
                    let (_, parser) = self.parser.get_or_insert_with(|| (block, parser(self.request)));
                    parser.feed(text.as_bytes(), &mut self.events);
                    self.show(block, &mut shown);
                }
                other => {
                    self.finish_block(&mut shown);
                    shown.push(self.renumber(other));
                }
            }
        }
        shown
    }

    /// What was held back, once nothing follows.
    pub(super) fn finish(&mut self) -> Vec<Delta> {
        let mut shown = Vec::new();
        self.finish_block(&mut shown);
        shown
    }

    fn finish_block(&mut self, shown: &mut Vec<Delta>) {
        if let Some((block, mut parser)) = self.parser.take() {
            parser.finish(&mut self.events);
            self.show(block, shown);
        }
    }

    fn show(&mut self, source: usize, shown: &mut Vec<Delta>) {
        let events = std::mem::take(&mut self.events);
        for event in events.iter() {
            match event {
                Event::Text { text, .. } => {
                    let block = self.block(Piece::Text(source));
                    shown.push(Delta::Text { block, text: text.to_owned() });
                }
                Event::Reasoning { text, .. } => {
                    let block = self.block(Piece::Reasoning(source));
                    shown.push(Delta::Reasoning { block, text: text.to_owned() });
                }
                Event::CallStarted { index, name, .. } => {
                    let block = self.block(Piece::Call(source, index));
                    shown.push(Delta::ToolUse { block, id: String::new(), name: name.to_owned() });
                }
                Event::Arguments { index, json, .. } => {
                    let block = self.block(Piece::Call(source, index));
                    shown.push(Delta::Arguments { block, text: json.to_owned() });
                }
                Event::CallFinished { .. } | Event::Markup { .. } | Event::Problem(_) => {}
            }
        }
        self.events = events;
        self.events.clear();
    }

    fn block(&mut self, piece: Piece) -> usize {
        let known = match piece {
            // Deltas of calls made at once may alternate.
            Piece::Other(_) => self.blocks.iter().rposition(|known| *known == piece),
            // Prose behind a call is a block of its own.
            _ => self.blocks.last().filter(|last| **last == piece).map(|_| self.blocks.len() - 1),
        };
        known.unwrap_or_else(|| {
            self.blocks.push(piece);
            self.blocks.len() - 1
        })
    }

    fn renumber(&mut self, delta: Delta) -> Delta {
        match delta {
            Delta::Text { block, text } => Delta::Text { block: self.block(Piece::Text(block)), text },
            Delta::Reasoning { block, text } => Delta::Reasoning { block: self.block(Piece::Other(block)), text },
            Delta::ToolUse { block, id, name } => Delta::ToolUse { block: self.block(Piece::Other(block)), id, name },
            Delta::Arguments { block, text } => Delta::Arguments { block: self.block(Piece::Other(block)), text },
            Delta::Provider { block, kind, name } => {
                Delta::Provider { block: self.block(Piece::Other(block)), kind, name }
            }
        }
    }
}

fn parser(request: &Request) -> Parser {
    let format = request.tool_format.as_deref().and_then(extract::dialect_named);
    Parser::new(Some(extract::signatures(&request.tools)), None, extract::reply_policy(format))
}
