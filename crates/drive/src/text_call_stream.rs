//! Deltas of replies in which calls may be written as text: markup never reaches the listener, calls and reasoning
//! arrive as what they are. The reply itself is not touched here; the machine reads it the same way.

use loopwright_base::request::{Delta, Request};
use loopwright_extract::{self as extract, Read, ReplyReader, Shown, Signatures};

/// The kind of a piece of a reply, and the provider's block it comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Text(usize),
    Reasoning(usize),
    Call(usize, usize),
    Other(usize),
}

/// A reader of a reply's text while it streams.
pub(super) struct TextCallStream<'a> {
    tools: Signatures,
    shown: Shown<'a>,
    /// The text block that is being read.
    reader: Option<(usize, ReplyReader)>,
    read: Vec<Read>,
    /// The blocks so far, in the listener's numbering.
    blocks: Vec<Piece>,
}

impl<'a> TextCallStream<'a> {
    /// A reader for the reply to `request`; `None` if there are no calls to read.
    pub(super) fn new(request: &'a Request) -> Option<Self> {
        extract::reads_reply(request).then(|| Self::of(Shown::new(request)))
    }

    /// The same, which keeps the request.
    pub(super) fn keeping(request: Request) -> Option<TextCallStream<'static>> {
        extract::reads_reply(&request).then(|| TextCallStream::of(Shown::kept(request)))
    }

    fn of(shown: Shown<'a>) -> Self {
        let tools = extract::reply_signatures(shown.request());
        Self { tools, shown, reader: None, read: Vec::new(), blocks: Vec::new() }
    }

    /// Returns the deltas that the listener is shown for these.
    pub(super) fn read(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        let mut shown = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match delta {
                Delta::Text { block, text } => {
                    if self.reader.as_ref().is_some_and(|(read, _)| *read != block) {
                        self.finish_block(&mut shown);
                    }
                    let reader = || (block, ReplyReader::new(extract::reply_parser(self.shown.request(), &self.tools)));
                    let (_, reader) = self.reader.get_or_insert_with(reader);
                    reader.feed(text.as_bytes(), &self.shown, &mut self.read);
                    self.show(block, &mut shown);
                }
                // Of no block, and so the end of none.
                Delta::Search(_) | Delta::Batch { .. } => shown.push(delta),
                other => {
                    self.finish_block(&mut shown);
                    shown.push(self.renumber(other));
                }
            }
        }
        shown
    }

    /// Returns the deltas that were held back, once nothing follows.
    pub(super) fn finish(&mut self) -> Vec<Delta> {
        let mut shown = Vec::new();
        self.finish_block(&mut shown);
        shown
    }

    fn finish_block(&mut self, shown: &mut Vec<Delta>) {
        if let Some((block, mut reader)) = self.reader.take() {
            reader.finish(&self.shown, &mut self.read);
            self.show(block, shown);
        }
    }

    fn show(&mut self, source: usize, shown: &mut Vec<Delta>) {
        for read in std::mem::take(&mut self.read) {
            match read {
                Read::Text(text) => {
                    let block = self.block(Piece::Text(source));
                    shown.push(Delta::Text { block, text });
                }
                Read::Reasoning(text) => {
                    let block = self.block(Piece::Reasoning(source));
                    shown.push(Delta::Reasoning { block, text });
                }
                Read::Started { index, name } => {
                    let block = self.block(Piece::Call(source, index));
                    shown.push(Delta::ToolUse { block, id: String::new(), name });
                }
                Read::Arguments { index, json } => {
                    let block = self.block(Piece::Call(source, index));
                    shown.push(Delta::Arguments { block, text: json });
                }
                Read::Called { .. } | Read::TakenBack { .. } | Read::Quoted { .. } | Read::Unread { .. } => {}
            }
        }
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
            Delta::Search(_) | Delta::Batch { .. } => delta,
        }
    }
}
