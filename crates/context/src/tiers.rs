//! A message as it stands at each level: whole, tidied, shortened, or gone.
//!
//! A block that a provider signed or that only it understands is kept whole or leaves whole. Every edited result says
//! under which handle the original is.

use std::sync::Arc;

use super::{
    archive::{self, Handles},
    chunks::{self, Repeats, Table},
    fold::{fold, lines_of},
    pairs::Placed,
    prune::shorten_json,
    shorten::{shorten, shorten_behind},
    terms::Map,
    units::{Kind, Unit},
    weigh::Name,
};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Message, Role, Thinking, ToolResult, ToolUse, Wire},
};

/// How much of a unit is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Level {
    Full,
    Tidy,
    Short,
    Shorter,
    Stub,
    Gone,
}

pub(super) const LEVELS: [Level; 6] =
    [Level::Full, Level::Tidy, Level::Short, Level::Shorter, Level::Stub, Level::Gone];

impl Level {
    /// The limit of text at this level.
    pub(super) fn limit(self, limits: [usize; 3]) -> usize {
        let [short, shorter, stub] = limits;
        match self {
            Self::Full | Self::Tidy => usize::MAX,
            Self::Short => short,
            Self::Shorter => shorter,
            Self::Stub => stub,
            Self::Gone => 0,
        }
    }
}

/// A message at a level.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Same,
    Changed(Arc<Message>),
    Gone,
}

/// How much of a result that does not fit alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page {
    /// Bytes of its first lines, …
    pub(super) bytes: usize,
    /// … and of what matters behind these.
    pub(super) rest: usize,
}

/// What shapes need.
pub(super) struct Tiers<'a> {
    pub(super) messages: &'a [Placed],
    pub(super) units: &'a [Unit],
    pub(super) owners: &'a [[Option<usize>; 2]],
    pub(super) table: &'a Table,
    pub(super) weights: &'a Map<Name<'a>>,
    pub(super) limits: [usize; 3],
}

impl Tiers<'_> {
    /// The message `index`, its units being at `levels`.
    pub(super) fn shape(&self, index: usize, levels: &[Level], page: Page, handles: &mut Handles<'_>) -> Shape {
        let (Some(placed), Some(owners)) = (self.messages.get(index), self.owners.get(index)) else {
            return Shape::Gone;
        };
        let at = |owner: Option<usize>| {
            owner.and_then(|unit| Some((self.units.get(unit)?, levels.get(unit).copied().unwrap_or(Level::Full))))
        };
        let owners = [at(owners[0]), at(owners[1])];
        let held = || owners.into_iter().flatten();
        if held().all(|(_, level)| level == Level::Full) {
            return Shape::Same;
        }
        let handle = match placed.origin {
            Some(origin) => handles.of(origin),
            None => handles.of_other(&placed.message),
        };
        if held().all(|(_, level)| level == Level::Gone) {
            return Shape::Gone;
        }
        let message = &*placed.message;
        let mut content = Vec::with_capacity(message.content.len());
        for (place, block) in message.content.iter().enumerate() {
            // Where a message has results and words, the words are a unit of their own.
            let words = message.role == Role::User && !matches!(block, Block::ToolResult(_));
            let Some((unit, level)) = held().find(|(unit, _)| !words || unit.kind != Kind::Exchange) else {
                content.push(block.clone());
                continue;
            };
            if let (Block::ToolResult(result), true) = (block, unit.is_paged(level)) {
                content.push(Block::ToolResult(self.first_page(message, place, result, page, &handle)));
                continue;
            }
            let repeats = self.table.get(index).and_then(Option::as_ref).and_then(|row| row.get(place));
            if let Some(block) = self.block(message, unit, block, level, repeats.map(|(repeats, _)| repeats), &handle) {
                content.push(block);
            }
        }
        if content.is_empty() {
            return Shape::Gone;
        }
        if content == message.content {
            return Shape::Same;
        }
        Shape::Changed(Arc::new(message.with_content(content)))
    }

    fn block(
        &self,
        message: &Message,
        unit: &Unit,
        block: &Block,
        level: Level,
        repeats: Option<&Repeats>,
        handle: &str,
    ) -> Option<Block> {
        let limit = level.limit(self.limits);
        match (block, level) {
            (_, Level::Gone) => None,
            (_, Level::Full) => Some(block.clone()),
            (Block::ToolResult(result), _) => Some(Block::ToolResult(self.result(result, limit, repeats, handle))),
            (Block::Thinking(_), _) => (!loose(message, unit)).then(|| block.clone()),
            (_, Level::Tidy) => Some(block.clone()),
            _ if unit.bound && !loose(message, unit) => Some(block.clone()),
            (Block::Text(text), _) => {
                let mut text = text.clone();
                if text.text.len() > limit {
                    text.text = noted(&text.text, shorten(&text.text, limit, self.weights), handle);
                }
                Some(Block::Text(text))
            }
            (Block::ToolUse(call), _) => Some(Block::ToolUse(self.call(call, limit))),
            (Block::Image(_) | Block::Document(_), Level::Shorter | Level::Stub) => {
                Some(Block::text(format!("[{}: recall(\"{handle}\")]", block.kind())))
            }
            _ => Some(block.clone()),
        }
    }

    /// A result whose texts are cut to their first pages, with what matters of the rest; `place` is that of its block
    /// in the message.
    fn first_page(&self, message: &Message, place: usize, result: &ToolResult, page: Page, handle: &str) -> ToolResult {
        let mut out = result.clone();
        let blocks = message.content.get(..place).unwrap_or_default();
        for (at, part) in out.content.iter_mut().enumerate() {
            let Block::Text(text) = part else { continue };
            if text.text.len() <= page.bytes {
                continue;
            }
            let before = archive::rows_before(blocks.iter().chain(result.content.iter().take(at)));
            let (shown, note) = archive::first_page(&text.text, before, page.bytes, handle);
            let mut short = shown.to_owned();
            if shown.ends_with('\n') && page.rest > 0 {
                let lines = lines_of(shown).count();
                short.extend(shorten_behind(&text.text, lines, page.rest, self.weights));
            }
            let gap = if short.ends_with('\n') { "" } else { "\n" };
            text.text = shorter(&text.text, format!("{short}{gap}{note}"));
        }
        out
    }

    fn result(&self, result: &ToolResult, limit: usize, repeats: Option<&Repeats>, handle: &str) -> ToolResult {
        let mut out = result.clone();
        if result.content.iter().any(|part| matches!(part, Block::Provider(_))) {
            return out;
        }
        let stub = limit <= self.limits[1];
        for part in &mut out.content {
            match part {
                Block::Text(text) => text.text = self.output(&text.text, limit, repeats, handle),
                Block::Image(_) | Block::Document(_) if stub => {
                    *part = Block::text(format!("[{}: recall(\"{handle}\")]", part.kind()));
                }
                _ => {}
            }
        }
        out
    }

    /// A tool's output, tidied and no longer than about `limit`.
    fn output(&self, text: &str, limit: usize, repeats: Option<&Repeats>, handle: &str) -> String {
        let tidy = match repeats {
            Some(Repeats::Whole) => return shorter(text, format!("[same as a later result; recall(\"{handle}\")]")),
            Some(Repeats::Superseded) => {
                return shorter(text, format!("[the same call was made again later; recall(\"{handle}\")]"));
            }
            Some(Repeats::Lines(runs)) => fold(&chunks::refer(text, runs)).into_owned(),
            Some(Repeats::Nothing) | None => fold(text).into_owned(),
        };
        let tidy = if tidy.len() > limit { shorten(&tidy, limit, self.weights) } else { tidy };
        if tidy == *text { tidy } else { noted(text, tidy, handle) }
    }

    /// A tool use whose long arguments are cut; they stay valid JSON.
    fn call(&self, call: &ToolUse, limit: usize) -> ToolUse {
        let mut out = call.clone();
        if call.arguments_text().len() <= limit {
            return out;
        }
        if let Some(invalid) = &call.invalid {
            out.invalid = Some(shorten(invalid, limit, self.weights));
            return out;
        }
        if let Ok(fields) = Fields::parse(call.input.text()) {
            let each = (limit / fields.len().max(1)).max(24);
            out.input = fields
                .iter()
                .map(|(key, value)| (key.to_owned(), self.argument(value, each)))
                .collect::<Fields>()
                .to_raw();
        }
        if out.input.text().len() >= call.input.text().len() {
            out.input = call.input.clone();
        }
        out
    }

    fn argument(&self, value: &Raw, limit: usize) -> Raw {
        if value.text().len() <= limit {
            return value.clone();
        }
        if let Some(text) = value.string() {
            return Raw::of(&shorten(&text, limit, self.weights));
        }
        shorten_json(value.text(), limit).and_then(|text| Raw::parse(text).ok()).unwrap_or_else(|| value.clone())
    }
}

/// The short text with a note on what went and how to get it back.
fn noted(text: &str, short: String, handle: &str) -> String {
    let gap = if short.ends_with('\n') || short.is_empty() { "" } else { "\n" };
    if text.trim_start().starts_with(['{', '[']) && short.starts_with(['{', '[']) {
        // Valid JSON is worth more than the note: the handle stands in the summary's header as well.
        return shorter(text, short);
    }
    let lines = text.lines().count();
    shorter(text, format!("{short}{gap}[of {lines} lines: recall(\"{handle}\")]"))
}

fn shorter(text: &str, short: String) -> String {
    if short.len() < text.len() { short } else { text.to_owned() }
}

/// Whether the blocks beside reasoning may change: reasoning that leaves is no longer bound to them.
fn loose(message: &Message, unit: &Unit) -> bool {
    message.content.iter().all(|block| match block {
        Block::Thinking(thinking) => may_leave(message, unit, thinking),
        Block::Provider(_) => false,
        _ => true,
    })
}

/// Whether reasoning may leave while what stands beside it stays: behind the user's last words the provider wants it
/// back, and on the Responses wire a tool use needs the reasoning it came with.
pub(super) fn may_leave(message: &Message, unit: &Unit, thinking: &Thinking) -> bool {
    let responses = thinking.extra.as_ref().is_some_and(|extra| extra.wire == Wire::OpenaiResponses);
    !unit.live && !responses && message.role == Role::Assistant
}
