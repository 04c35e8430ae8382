//! Streamed answers.
//!
//! The last event carries the whole answer, and that is what counts: the same response as without streaming. What was
//! shown before must be the beginning of it; what was not shown yet is, so that the joined deltas are the answer.
//! Servers whose last event is thin get their answer put together from the items.

mod event;
mod so_far;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::value::RawValue;

use self::event::{Event, index, index_or_first, object, string};
use super::{
    failure_of, is_marked, item,
    item::PARAGRAPH,
    part::{REFUSAL, text_key},
    response::decode_fields,
};
use crate::{Decode, invalid, searches};
use loopwright_base::{
    error::{Failure, FailureKind, Result},
    json::{Fields, Raw},
    message::{Block, is_empty_arguments},
    request::{Delta, ProviderSearch, Response},
};

/// Events in, deltas out, one response at the end.
#[derive(Debug, Default)]
pub struct StreamDecoder {
    /// By their place in the output, which the server chooses.
    items: BTreeMap<u64, Item>,
    /// The places of items by their ids, for servers whose events do not say the place.
    places: HashMap<String, u64>,
    shown: Vec<Shown>,
    /// What the first event said of the answer.
    created: Option<Raw>,
    /// The ids of searches whose beginning was told.
    searching: HashSet<String>,
    end: End,
}

#[derive(Debug, Default)]
enum End {
    #[default]
    Open,
    Done(Box<Response>),
    Failed(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Reasoning,
    Call,
    Provider,
}

/// What has been shown of a block.
#[derive(Debug)]
struct Shown {
    kind: Kind,
    text: String,
    /// The text is held back: it came before the call that it belongs to.
    held: bool,
}

impl Shown {
    fn is_of(&self, kind: Kind) -> bool {
        self.kind == kind || (self.kind == Kind::Refusal && kind == Kind::Text)
    }
}

#[derive(Clone, Debug)]
struct Item {
    /// What its blocks are; `Text` stands for a message.
    kind: Kind,
    /// The item as it began, and as it was when it was done.
    added: Option<Raw>,
    done: Option<Raw>,
    /// The blocks, by the place of their part.
    parts: BTreeMap<u64, usize>,
    /// The part of the reasoning that was shown last: whether summary, and its place.
    paragraph: Option<(bool, u64)>,
    /// Whether a call has been announced.
    announced: bool,
}

fn contradiction() -> Failure {
    invalid("the answer at the end of the stream is not the one that was streamed")
}

impl Decode for StreamDecoder {
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        match &self.end {
            End::Open => {}
            // Nothing of interest follows the last event.
            End::Done(_) => return Ok(()),
            End::Failed(failure) => return Err(failure.clone()),
        }
        self.take(name, data, deltas).inspect_err(|failure| self.end = End::Failed(failure.clone()))
    }

    fn is_done(&self) -> bool {
        !matches!(self.end, End::Open)
    }

    /// The last event holds the answer: before it nothing says that the model has ended.
    fn is_ended(&self) -> bool {
        matches!(self.end, End::Done(_))
    }

    fn finish(&mut self) -> Result<Response, Failure> {
        match &self.end {
            End::Done(response) => Ok((**response).clone()),
            End::Failed(failure) => Err(failure.clone()),
            End::Open => Err(Failure::new(FailureKind::Cut, "the stream broke off before the answer was complete")),
        }
    }

    fn partial(&self) -> Option<Response> {
        let End::Done(response) = &self.end else { return self.so_far() };
        // A whole answer may hold nothing at all; there is nothing of it to keep either.
        (!response.message.content.is_empty()).then(|| (**response).clone())
    }
}

impl StreamDecoder {
    fn take(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        if !data.trim_start().starts_with('{') {
            return Err(invalid("an event of the stream is no JSON object"));
        }
        let event: Event<'_> = serde_json::from_str(data)
            .map_err(|error| invalid(format!("an event of the stream is no JSON object: {error}")))?;
        let kind = match event.kind {
            Some(kind) => serde_json::from_str::<String>(kind.get()).unwrap_or_default(),
            None if event.error.is_some() => "error".to_owned(),
            None => name.to_owned(),
        };
        match kind.as_str() {
            "response.created" | "response.queued" | "response.in_progress" => {
                if self.created.is_none()
                    && let Some(response) = event.response
                {
                    self.created = Raw::parse(response.get()).ok();
                }
                Ok(())
            }
            "response.output_item.added" => self.item_added(&event, deltas),
            "response.output_item.done" => self.item_done(&event, deltas),
            "response.content_part.added" => self.part_added(&event, deltas),
            "response.output_text.delta" => self.text(&event, Kind::Text, event.delta, deltas),
            "response.refusal.delta" => self.text(&event, Kind::Refusal, event.delta, deltas),
            "response.output_text.done" => self.text_done(&event, Kind::Text, event.text, deltas),
            "response.refusal.done" => self.text_done(&event, Kind::Refusal, event.refusal, deltas),
            "response.function_call_arguments.delta" => {
                let block = self.call_block(&event)?;
                if event.delta.is_some() {
                    let text = string(event.delta, "delta")?;
                    self.show(block, &text, deltas);
                }
                Ok(())
            }
            "response.function_call_arguments.done" => {
                if event.arguments.is_some() {
                    let text = string(event.arguments, "arguments")?;
                    let block = self.call_block(&event)?;
                    self.catch_up_text(block, &text, deltas)?;
                }
                Ok(())
            }
            "response.reasoning_summary_text.delta" => self.reasoning(&event, true, deltas),
            "response.reasoning_text.delta" => self.reasoning(&event, false, deltas),
            kind if kind.contains("_search_call.") => {
                self.search_goes_on(kind, &event, deltas);
                Ok(())
            }
            "response.completed" | "response.incomplete" => self.last(&kind, &event, deltas),
            "response.failed" => {
                let response = event.response.and_then(|response| Fields::parse(response.get()).ok());
                let error = response.and_then(|response| response.get("error")?.to().ok()).unwrap_or_default();
                Err(failure_of(&error, "the model's answer failed"))
            }
            "error" => {
                let nested = event.error.and_then(|error| Fields::parse(error.get()).ok());
                let error = nested.unwrap_or_else(|| {
                    let mut fields = Fields::parse(data).unwrap_or_default();
                    fields.take("type");
                    fields
                });
                Err(failure_of(&error, "the provider ended the stream"))
            }
            _ => Ok(()),
        }
    }

    fn block(&mut self, kind: Kind) -> usize {
        self.shown.push(Shown { kind, text: String::new(), held: false });
        self.shown.len() - 1
    }

    fn show(&mut self, block: usize, text: &str, deltas: &mut Vec<Delta>) {
        let Some(shown) = self.shown.get_mut(block) else { return };
        if text.is_empty() {
            return;
        }
        shown.text.push_str(text);
        if shown.held {
            return;
        }
        let text = text.to_owned();
        deltas.push(match shown.kind {
            Kind::Text | Kind::Refusal => Delta::Text { block, text },
            Kind::Reasoning => Delta::Reasoning { block, text },
            Kind::Call => Delta::Arguments { block, text },
            Kind::Provider => return,
        });
    }

    /// Shows what is missing of `text`, which must begin with what was shown.
    fn catch_up_text(&mut self, block: usize, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let Some(shown) = self.shown.get(block) else { return Ok(()) };
        match text.strip_prefix(shown.text.as_str()) {
            Some(missing) => {
                self.show(block, missing, deltas);
                Ok(())
            }
            // Thin events repeat nothing of what was streamed.
            None if text.is_empty() => Ok(()),
            // Some servers trim what they have streamed.
            None if shown.text.trim() == text.trim() => Ok(()),
            // What was streamed stands for no arguments.
            None if shown.kind == Kind::Call && is_empty_arguments(&shown.text) && text == "{}" => Ok(()),
            // Its paragraphs may come in another order than they stand in; nobody acts on them.
            None if shown.kind == Kind::Reasoning => Ok(()),
            None => Err(contradiction()),
        }
    }

    /// Shows what is missing of a finished block.
    fn catch_up(&mut self, at: usize, block: &Block, new: bool, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let Some(shown) = self.shown.get(at) else { return Ok(()) };
        match (shown.kind, block) {
            (Kind::Text | Kind::Refusal, Block::Text(text)) => self.catch_up_text(at, &text.text, deltas),
            (Kind::Reasoning, Block::Thinking(thinking)) => self.catch_up_text(at, &thinking.text, deltas),
            (Kind::Call, Block::ToolUse(call)) => {
                if new || shown.held {
                    self.announce_call(at, call.id.clone(), call.name.clone(), deltas);
                }
                self.catch_up_text(at, call.arguments_text(), deltas)
            }
            (Kind::Provider, Block::Provider(block)) => {
                if new {
                    let fields = Fields::parse(block.raw.text()).unwrap_or_default();
                    deltas.push(announce(at, &fields));
                }
                Ok(())
            }
            _ => Err(contradiction()),
        }
    }

    /// Where the event belongs in the output. Servers that leave the index out (llama.cpp is one) name the item, or
    /// mean the last one, or one that they did not announce.
    fn place(&self, event: &Event<'_>, kind: Kind) -> Result<u64, Failure> {
        if event.output_index.is_some() {
            return index(event.output_index, "output_index");
        }
        let name = event.item_id.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        if let Some(place) = name.and_then(|name| self.places.get(&name)) {
            return Ok(*place);
        }
        Ok(match self.items.last_key_value() {
            Some((last, item)) if item.kind == kind && item.done.is_none() => *last,
            _ => self.next_place(),
        })
    }

    fn next_place(&self) -> u64 {
        self.items.last_key_value().map_or(0, |(last, _)| last.saturating_add(1))
    }

    /// The same for events that hold the item itself.
    fn place_of(&self, event: &Event<'_>, item: &Fields) -> Result<u64, Failure> {
        if event.output_index.is_some() {
            return index(event.output_index, "output_index");
        }
        let known = names(item).find_map(|name| self.places.get(&name).copied());
        Ok(known.unwrap_or_else(|| self.next_place()))
    }

    /// The item at that place, which begins now if it is not there.
    fn item(&mut self, at: u64, kind: Kind) -> Result<&mut Item, Failure> {
        let item = self.items.entry(at).or_insert_with(|| Item {
            kind,
            added: None,
            done: None,
            parts: BTreeMap::new(),
            paragraph: None,
            announced: false,
        });
        if item.kind == kind { Ok(item) } else { Err(contradiction()) }
    }

    /// The block of a part of an item, which begins now if it is not there.
    fn part(&mut self, at: u64, item: Kind, part: u64, kind: Kind) -> Result<usize, Failure> {
        let next = self.shown.len();
        let block = *self.item(at, item)?.parts.entry(part).or_insert(next);
        if block == next {
            self.block(kind);
        }
        Ok(block)
    }

    fn item_added(&mut self, event: &Event<'_>, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let (raw, fields) = object(event.item, "item")?;
        let kind = kind_of(&fields);
        let at = self.place_of(event, &fields)?;
        for name in names(&fields) {
            self.places.insert(name, at);
        }
        let item = self.item(at, kind)?;
        item.added = Some(raw);
        if kind == Kind::Text {
            return Ok(());
        }
        let new = item.parts.is_empty();
        let block = self.part(at, kind, 0, kind)?;
        if kind == Kind::Provider && new {
            deltas.push(announce(block, &fields));
            if let Some(search) = searches::of_block(&fields, block).filter(knows_query) {
                self.tell_search(search, deltas);
            }
        }
        if kind == Kind::Call
            && let (Some(id), Some(name)) = (item::call_name(&fields), fields.get_str("name"))
        {
            let item = self.item(at, kind)?;
            if !std::mem::replace(&mut item.announced, true) {
                self.announce_call(block, id, name, deltas);
            }
            // Some servers send a call in one piece.
            let arguments = fields.get_str("arguments").unwrap_or_default();
            if self.shown.get(block).is_some_and(|shown| shown.text.is_empty()) {
                self.show(block, &arguments, deltas);
            }
        }
        Ok(())
    }

    /// A search begins as soon as its query is known; one whose query comes only with its end, when it is under way.
    fn search_goes_on(&mut self, kind: &str, event: &Event<'_>, deltas: &mut Vec<Delta>) {
        let named = event.item_id.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        let Some(id) = named.filter(|id| !id.is_empty()) else { return };
        let mut item = Fields::new();
        item.put("type", "web_search_call");
        item.put("id", &id);
        if let Some(action) = event.action {
            item.set("action", Raw::copied(action));
        }
        if let Some(search) = searches::of_block(&item, 0)
            && (knows_query(&search) || kind.ends_with(".searching") || kind.ends_with(".completed"))
        {
            self.tell_search(search, deltas);
        }
    }

    fn tell_search(&mut self, search: ProviderSearch, deltas: &mut Vec<Delta>) {
        if self.searching.insert(search.id.clone()) || search.end.is_some() {
            deltas.push(Delta::Search(search));
        }
    }

    /// A call begins, with the arguments that came before it.
    fn announce_call(&mut self, block: usize, id: String, name: String, deltas: &mut Vec<Delta>) {
        deltas.push(Delta::ToolUse { block, id, name });
        let Some(shown) = self.shown.get_mut(block) else { return };
        if std::mem::take(&mut shown.held) && !shown.text.is_empty() {
            deltas.push(Delta::Arguments { block, text: shown.text.clone() });
        }
    }

    /// The block of the call that an event's arguments belong to; they are held back until the call has come.
    fn call_block(&mut self, event: &Event<'_>) -> Result<usize, Failure> {
        let at = self.place(event, Kind::Call)?;
        if let Some(name) = event.item_id.and_then(|name| serde_json::from_str::<String>(name.get()).ok()) {
            self.places.entry(name).or_insert(at);
        }
        let block = self.part(at, Kind::Call, 0, Kind::Call)?;
        let is_announced = self.item(at, Kind::Call)?.announced;
        if let Some(shown) = self.shown.get_mut(block) {
            shown.held = !is_announced;
        }
        Ok(block)
    }

    fn item_done(&mut self, event: &Event<'_>, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let (raw, mut fields) = object(event.item, "item")?;
        let mut blocks = Vec::new();
        let kind = kind_of(&fields);
        let place = self.place_of(event, &fields)?;
        let raw = self.filled(place, raw);
        item::decode_output(&raw, &mut blocks).map_err(invalid)?;
        let item = self.item(place, kind)?;
        let announced = std::mem::replace(&mut item.announced, true);
        item.done = Some(raw);
        let known: Vec<usize> = item.parts.values().copied().collect();
        let last = item.parts.keys().next_back().copied();
        if known.len() > blocks.len() {
            return Err(contradiction());
        }
        for (n, block) in blocks.iter().enumerate() {
            if let Some(at) = known.get(n) {
                self.catch_up(*at, block, kind == Kind::Call && !announced, deltas)?;
            } else {
                // Parts that were never announced stand behind those that were.
                let part = last.map_or(0, |last| last.saturating_add(1)).saturating_add((n - known.len()) as u64);
                let at = self.part(place, kind, part, shown_kind(block))?;
                self.catch_up(at, block, true, deltas)?;
            }
        }
        let block = self.item(place, kind)?.parts.values().next().copied();
        if kind == Kind::Provider
            && let Some(block) = block
        {
            if fields.get("status").is_none() {
                fields.put("status", "completed");
            }
            if let Some(search) = searches::of_block(&fields, block) {
                self.tell_search(search, deltas);
            }
        }
        Ok(())
    }

    fn part_added(&mut self, event: &Event<'_>, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        // A part of unknown shape is nothing to show.
        let Some(fields) = event.part.and_then(|part| Fields::parse(part.get()).ok()) else { return Ok(()) };
        let at = self.place(event, Kind::Text)?;
        let kind = fields.get_str("type").unwrap_or_default();
        let is_message = self.items.get(&at).is_none_or(|item| item.kind == Kind::Text);
        let Some(key) = text_key(&kind).filter(|_| is_message) else { return Ok(()) };
        let part = index_or_first(event.content_index, "content_index")?;
        let block = self.part(at, Kind::Text, part, if key == REFUSAL { Kind::Refusal } else { Kind::Text })?;
        let text = fields.get_str(key).unwrap_or_default();
        if self.shown.get(block).is_some_and(|shown| shown.text.is_empty()) {
            self.show(block, &text, deltas);
        }
        Ok(())
    }

    fn text(
        &mut self,
        event: &Event<'_>,
        kind: Kind,
        delta: Option<&RawValue>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        let text = string(delta, "delta")?;
        let part = index_or_first(event.content_index, "content_index")?;
        let at = self.place(event, Kind::Text)?;
        let block = self.part(at, Kind::Text, part, kind)?;
        self.show(block, &text, deltas);
        Ok(())
    }

    fn text_done(
        &mut self,
        event: &Event<'_>,
        kind: Kind,
        text: Option<&RawValue>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Failure> {
        if text.is_none() {
            return Ok(());
        }
        let text = string(text, "text")?;
        let part = index_or_first(event.content_index, "content_index")?;
        let at = self.place(event, Kind::Text)?;
        let block = self.part(at, Kind::Text, part, kind)?;
        self.catch_up_text(block, &text, deltas)
    }

    fn reasoning(&mut self, event: &Event<'_>, summary: bool, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let text = string(event.delta, "delta")?;
        let place = if summary {
            index_or_first(event.summary_index, "summary_index")?
        } else {
            index_or_first(event.content_index, "content_index")?
        };
        let at = self.place(event, Kind::Reasoning)?;
        let block = self.part(at, Kind::Reasoning, 0, Kind::Reasoning)?;
        if text.is_empty() {
            return Ok(());
        }
        let before = self.item(at, Kind::Reasoning)?.paragraph.replace((summary, place));
        if before.is_some_and(|before| before != (summary, place)) {
            self.show(block, PARAGRAPH, deltas);
        }
        self.show(block, &text, deltas);
        Ok(())
    }

    fn last(&mut self, kind: &str, event: &Event<'_>, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let mut fields = match event.response {
            Some(response) => {
                Fields::parse(response.get()).map_err(|_| invalid("the answer of the stream is no object"))?
            }
            None => Fields::new(),
        };
        let is_thin = fields.get("output").is_none_or(|output| output.is_null() || output.is_empty_array());
        if is_thin && !self.items.is_empty() {
            self.fill(kind, &mut fields);
        } else if let Some(output) = fields.get("output").and_then(|output| output.to::<Vec<Raw>>().ok()) {
            let filled: Vec<Raw> = (0..).zip(output).map(|(at, raw)| self.filled(at, raw)).collect();
            fields.put("output", &filled);
        }
        let response = decode_fields(fields)?;
        let blocks = &response.message.content;
        let is_aligned = self.shown.len() <= blocks.len()
            && self.shown.iter().zip(blocks).all(|(shown, block)| shown.is_of(shown_kind(block)));
        if is_aligned {
            for (at, block) in blocks.iter().enumerate() {
                let new = at >= self.shown.len();
                if new {
                    self.block(shown_kind(block));
                }
                self.catch_up(at, block, new, deltas)?;
            }
        } else {
            // Some gateways do not announce reasoning and the like. What was shown must be there, in that order.
            let mut rest = blocks.iter();
            for at in 0..self.shown.len() {
                let block = rest.find(|block| self.shown.get(at).is_some_and(|shown| shown.is_of(shown_kind(block))));
                self.catch_up(at, block.ok_or_else(contradiction)?, false, deltas)?;
            }
        }
        self.end = End::Done(Box::new(response));
        Ok(())
    }
}

/// The names by which events may call an item.
fn names(item: &Fields) -> impl Iterator<Item = String> {
    ["id", "call_id"].into_iter().filter_map(|key| item.get_str(key))
}

/// What the blocks of an item are.
fn kind_of(item: &Fields) -> Kind {
    if is_marked(item) {
        return Kind::Provider;
    }
    match item.get_str("type").as_deref() {
        Some("message") if item.get("role").is_none_or(|role| role.string().as_deref() == Some("assistant")) => {
            Kind::Text
        }
        Some("function_call") => Kind::Call,
        Some("reasoning") => Kind::Reasoning,
        _ => Kind::Provider,
    }
}

fn shown_kind(block: &Block) -> Kind {
    match block {
        Block::Text(_) => Kind::Text,
        Block::Thinking(_) => Kind::Reasoning,
        Block::ToolUse(_) => Kind::Call,
        Block::Image(_) | Block::Document(_) | Block::ToolResult(_) | Block::Provider(_) => Kind::Provider,
    }
}

fn knows_query(search: &ProviderSearch) -> bool {
    search.query.as_ref().is_some_and(|query| !query.is_empty())
}

fn announce(block: usize, item: &Fields) -> Delta {
    Delta::Provider {
        block,
        kind: item.get_str("type").unwrap_or_default(),
        name: item.get_str("name").unwrap_or_default(),
    }
}
