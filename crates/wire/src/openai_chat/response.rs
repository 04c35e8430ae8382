//! Whole answers in both directions.
//!
//! An answer in the usual form is kept as its message and what stands beside it. One in any other form (`stop` beside
//! tool calls, arguments as an object, a call without an id) keeps its choices as they were, so that nothing is lost
//! and the message is still what a loop needs.

use std::{borrow::Cow, collections::HashMap};

use serde_json::value::RawValue;

use crate::{
    excerpt,
    failure::decode_inner_failure,
    object::{Object, push_list},
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, Message, ProviderBlock, Role, StopReason, ToolUse, Usage},
    request::Response,
};

use super::{
    WIRE,
    message::{answer, is_refusal, read_content, refusal_text, thinking},
    object::{keep, kept_key, wire_key},
    own,
    parse::{self, Answer, Body, Call, Choice, Choices, Obj, Part, Rest, string},
};

/// Note: the choices as they were, where they had not the usual form.
const CHOICES: &str = "@choices";
/// Members of a message which a server wants back.
pub(super) const WANTED_BACK: [&str; 2] = ["reasoning_details", "thinking_blocks"];

/// An answer that is not what the protocol says; `text` is quoted, shortened.
pub(super) fn invalid(what: impl std::fmt::Display, text: &str) -> Failure {
    Failure::new(FailureKind::InvalidBody, format!("{what}: {}", excerpt(text)))
}

/// The error that a body or chunk carries, if any.
pub(super) fn carried_failure(body: &Body<'_>, text: &str) -> Option<Failure> {
    if let Some(error) = body.error.filter(|error| error.get() != "null") {
        return Some(decode_inner_failure(error.get()));
    }
    let is_error = |(key, value): &(Cow<'_, str>, &RawValue)| key == "object" && value.get() == "\"error\"";
    (body.choices.is_none() && body.rest.iter().any(is_error)).then(|| decode_inner_failure(text))
}

/// The error that a choice carries: routers put there what broke off behind them.
pub(super) fn choice_failure(choice: &Choice<'_>) -> Option<Failure> {
    let error = choice.rest.iter().find(|(key, value)| key == "error" && value.get() != "null");
    let breaks_off = || choice.finish.and_then(string).is_some_and(|finish| finish == BROKEN);
    error.map(|(_, error)| decode_inner_failure(error.get())).or_else(|| breaks_off().then(broken))
}

/// Gives every tool call of one answer an id of its own.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The ids given, each with the number of the last one derived from it.
    given: HashMap<String, usize>,
}

impl Ids {
    /// `id` if it is one and new; else one made of it, or of `place`.
    pub(super) fn give(&mut self, id: Option<Cow<'_, str>>, place: usize) -> String {
        let wanted = match id {
            Some(id) if !id.is_empty() => id.into_owned(),
            _ => format!("call_{place}"),
        };
        let Some(&last) = self.given.get(&wanted) else {
            self.given.insert(wanted.clone(), 1);
            return wanted;
        };
        // Ends: there are fewer ids than numbers. The number is remembered, so a thousand doubles take a thousand
        // steps.
        let mut number = last;
        let id = loop {
            number += 1;
            let id = format!("{wanted}_{number}");
            if !self.given.contains_key(&id) {
                break id;
            }
        };
        self.given.insert(wanted, number);
        self.given.insert(id.clone(), 1);
        id
    }
}

/// The reason that routers give where the provider behind them failed in the middle of an answer.
const BROKEN: &str = "error";

/// The failure that it means: what was said until then is no answer.
fn broken() -> Failure {
    Failure::new(FailureKind::Server, "the provider broke the answer off (its finish reason is `error`)")
}

/// Why the model stopped. `finish` is the wire's word, if it gave one.
pub(super) fn stop_reason(finish: Option<&str>, message: &Message) -> StopReason {
    let calls = message.tool_uses().next().is_some();
    match finish {
        // Some servers say `stop` although they call tools, some say nothing.
        None | Some("stop" | "") if calls => StopReason::ToolUse,
        None | Some("stop" | "") if refuses(message) => StopReason::Refusal,
        None | Some("stop" | "") => StopReason::EndTurn,
        Some("tool_calls" | "function_call") => StopReason::ToolUse,
        Some("length") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::ContentFilter,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Whether a refusal is all that was said.
fn refuses(message: &Message) -> bool {
    let mut texts = message.content.iter().filter_map(|block| match block {
        Block::Text(text) => Some(is_refusal(text)),
        _ => None,
    });
    let first = texts.next();
    first == Some(true) && texts.all(|refusal| refusal)
}

/// The wire's word for it.
pub(super) fn finish_name(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::PauseTurn | StopReason::Refusal => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        StopReason::ContentFilter => "content_filter",
        StopReason::Other(other) => other,
    }
}

/// The tool use that a call is; `None` for calls of a kind that is not ours.
pub(super) fn tool_use(call: &Call<'_>, id: String) -> ToolUse {
    let function = call.function.as_ref();
    let name = function.and_then(|function| function.name).and_then(string).unwrap_or_default();
    let arguments = parse::arguments(function.and_then(|function| function.arguments));
    let mut extra = parse::kept(&call.rest);
    if let Some(function) = function.filter(|function| !function.rest.is_empty()) {
        extra.set("function", parse::kept(&function.rest).to_raw());
    }
    let mut tool_use = ToolUse::from_text(id, name, arguments.into_owned());
    tool_use.extra = Extra::of(WIRE, extra);
    tool_use
}

/// A choice in our shape.
struct Read {
    message: Message,
    stop: StopReason,
    /// What stands beside the message, where all that was read will be written as it was.
    beside: Option<String>,
}

/// Reads the first choice, or says what is wrong with it.
fn read_choices(choices: &Choices<'_>) -> Result<Read, &'static str> {
    let choice = choices.first.as_ref().ok_or("the answer has no choices")?;
    let said = choice.message.as_ref().or(choice.delta.as_ref()).ok_or("the first choice has no message")?;
    for (raw, wrong) in [(said.refusal, "a refusal is no text"), (choice.finish, "the finish reason is no string")] {
        if raw.is_some_and(|raw| raw.get() != "null" && string(raw).is_none()) {
            return Err(wrong);
        }
    }
    let mut usual = choice.message.is_some() && choice.delta.is_none();
    let mut message = Message::new(Role::Assistant, Vec::with_capacity(1 + said.calls.len()));
    usual &= said.role.is_some_and(|role| role.get() == "\"assistant\"");

    if let Some((field, text)) = said.reasoning.and_then(|(field, raw)| Some((field, string(raw)?))) {
        message.content.push(Block::Thinking(thinking(text.into_owned(), field)));
    }
    // What `answer` writes where nothing was said.
    let silent = !said.calls.is_empty() || said.function_call.is_some() || refusal(said).is_some();
    match said.content.map(|raw| (raw, string(raw))) {
        Some((_, Some(text))) if !text.is_empty() => message.content.push(Block::text(text)),
        Some((_, Some(_))) => usual &= !silent,
        Some((raw, None)) if raw.get() == "null" => usual &= silent,
        Some((raw, None)) if raw.get().starts_with('[') => {
            usual = false;
            read_parts(raw, &mut message);
        }
        Some((_, None)) => return Err("content is no text"),
        None => usual = false,
    }
    if let Some(text) = refusal(said) {
        message.content.push(Block::Text(refusal_text(text.into_owned())));
    }
    usual &= read_calls(said, &mut message);

    let wanted: Fields = said
        .rest
        .iter()
        .filter(|member| is_wanted_back(member))
        .map(|(key, value)| (key.clone().into_owned(), Raw::copied(value)))
        .collect();
    message.extra = Extra::of(WIRE, wanted);

    let finish = choice.finish.and_then(string);
    let stop = stop_reason(finish.as_deref(), &message);
    usual &= finish.is_some_and(|finish| finish == finish_name(&stop));
    let beside = usual.then(|| beside(choice, said, &choices.others));
    Ok(Read { message, stop, beside })
}

/// Content as a list of parts: its text and its reasoning, or the parts as they are if there is more in it.
fn read_parts(content: &RawValue, message: &mut Message) {
    let Some(parts) = parse::parts(content) else {
        let (form, mut blocks) = read_content(&Raw::copied(content), false);
        message.form = form;
        message.content.append(&mut blocks);
        return;
    };
    let (mut prose, mut reasoning) = (String::new(), String::new());
    for part in parts {
        match part {
            Part::Text(text) => prose.push_str(&text),
            Part::Thinking(text) => reasoning.push_str(&text),
        }
    }
    if !reasoning.is_empty() {
        message.content.push(Block::Thinking(thinking(reasoning, parse::CONTENT)));
    }
    if !prose.is_empty() {
        message.content.push(Block::text(prose));
    }
}

fn refusal<'a>(said: &Answer<'a>) -> Option<Cow<'a, str>> {
    said.refusal.and_then(string).filter(|text| !text.is_empty())
}

/// Whether the member goes back with the message: empty ones tell nothing, and some servers refuse them.
fn is_wanted_back((key, value): &(Cow<'_, str>, &RawValue)) -> bool {
    WANTED_BACK.contains(&key.as_ref()) && !matches!(value.get(), "null" | "[]")
}

/// Appends the tool uses; tells whether they will be written as they were.
fn read_calls(said: &Answer<'_>, message: &mut Message) -> bool {
    let mut usual = true;
    let mut ids = Ids::default();
    for (place, call) in said.calls.iter().enumerate() {
        let kind = call.kind.map(RawValue::get);
        if call.function.is_none() && kind.is_some_and(|kind| kind != "\"function\"") {
            usual = false;
            message.content.push(Block::Provider(ProviderBlock { wire: WIRE, raw: foreign_call(call) }));
            continue;
        }
        let id = call.id.and_then(string);
        let given = ids.give(id.clone(), place);
        usual &= kind == Some("\"function\"") && call.index.is_none() && id.is_some_and(|id| id == given);
        let use_ = tool_use(call, given);
        let function = call.function.as_ref();
        usual &=
            function.and_then(|function| function.arguments).and_then(string).as_deref() == Some(use_.arguments_text());
        usual &= function.is_some_and(|function| function.name.is_some_and(|name| name.get().starts_with('"')));
        message.content.push(Block::ToolUse(use_));
    }
    if let Some(function) = &said.function_call {
        // The form before there were tool calls.
        usual = false;
        let name = function.name.and_then(string).unwrap_or_default();
        let arguments = parse::arguments(function.arguments).into_owned();
        let id = ids.give(None, said.calls.len());
        message.content.push(Block::ToolUse(ToolUse::from_text(id, name, arguments)));
    }
    usual
}

/// A call that only its provider understands, put together again.
fn foreign_call(call: &Call<'_>) -> Raw {
    let mut object = Object::new();
    if let Some(id) = call.id {
        object.raw("id", id.get());
    }
    if let Some(kind) = call.kind {
        object.raw("type", kind.get());
    }
    keep(&mut object, &call.rest);
    Raw::parse(object.end()).unwrap_or_default()
}

/// What stands beside the message: a list like `choices`, with the members that nothing else holds.
fn beside(choice: &Choice<'_>, said: &Answer<'_>, others: &[&RawValue]) -> String {
    let mut message = Object::with_capacity(64);
    let rest: Rest<'_> = said.rest.iter().filter(|member| !is_wanted_back(member)).cloned().collect();
    keep(&mut message, &rest);
    if let Some(raw) = said.refusal.filter(|_| refusal(said).is_none()) {
        message.raw("refusal", raw.get());
    }
    if let Some(none) = said.no_calls {
        message.raw("tool_calls", none);
    }
    let mut first = Object::with_capacity(96);
    keep(&mut first, &choice.rest);
    if !message.is_empty() {
        first.raw("message", &message.end());
    }
    let mut out = String::new();
    push_list(&mut out, std::iter::once(&*first.end()).chain(others.iter().map(|other| other.get())));
    out
}

pub(super) fn decode(text: &str) -> Result<Response, Failure> {
    let Obj(body): Obj<Body<'_>> = serde_json::from_str(text)
        .map_err(|error| invalid(format_args!("the answer is not what the protocol says ({error})"), text))?;
    if let Some(failure) = carried_failure(&body, text) {
        return Err(failure);
    }
    let choices = body.choices.as_ref().ok_or_else(|| invalid("the answer has no choices", text))?;
    if let Some(failure) = choices.first.as_ref().and_then(choice_failure) {
        return Err(failure);
    }
    let read = read_choices(choices).map_err(|wrong| invalid(wrong, text))?;

    let mut members: Vec<(String, Raw)> =
        body.rest.iter().map(|(key, value)| (kept_key(key).into_owned(), Raw::copied(value))).collect();
    let mut named = |key: &str, raw: Option<&RawValue>| match raw.map(|raw| (raw, string(raw))) {
        Some((_, Some(text))) if !text.is_empty() => text.into_owned(),
        Some((raw, _)) => {
            members.push((key.to_owned(), Raw::copied(raw)));
            String::new()
        }
        None => String::new(),
    };
    let (id, model) = (named("id", body.id), named("model", body.model));
    if let Some(usage) = body.usage {
        members.push(("usage".to_owned(), Raw::copied(usage)));
    }
    match &read.beside {
        Some(beside) => members.push(("choices".to_owned(), Raw::parse(beside.as_str()).unwrap_or_default())),
        None => {
            if let Some(choices) = Fields::parse(text).ok().and_then(|mut fields| fields.take("choices")) {
                members.push((CHOICES.to_owned(), choices));
            }
        }
    }
    Ok(Response {
        id,
        model,
        message: read.message,
        stop: read.stop,
        usage: match body.usage.filter(|raw| raw.get() != "null") {
            Some(raw) => parse::usage(raw.get()),
            None => parse::usage_elsewhere(choices.first.as_ref(), &body.rest)
                .map_or_else(Usage::default, |raw| parse::usage(raw.text())),
        },
        // Always there, also when empty: it tells that nothing is to be made up.
        extra: Some(Box::new(Extra { wire: WIRE, fields: members.into_iter().collect() })),
        adapted: Vec::new(),
    })
}

/// What stands beside the message of a decoded answer: the members of the choice, those of its message, other choices.
pub(super) fn beside_message(extra: Option<&Fields>) -> (Fields, Fields, Vec<Raw>) {
    let list = extra.and_then(|fields| fields.get("choices")).and_then(|raw| raw.to::<Vec<Raw>>().ok());
    let mut list = list.unwrap_or_default().into_iter();
    let mut choice = list.next().and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
    let message = choice.take("message").and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
    (choice, message, list.collect())
}

pub(super) fn encode(response: &Response) -> String {
    let extra = own(response.extra.as_deref());
    let mut object = Object::with_capacity(1024);
    if !response.id.is_empty() {
        object.text("id", &response.id);
    }
    if extra.is_none() {
        object.raw("object", "\"chat.completion\"");
        object.raw("created", "0");
    }
    if !response.model.is_empty() {
        object.text("model", &response.model);
    }
    match extra.and_then(|fields| original(fields, response)) {
        Some(choices) => object.raw("choices", choices),
        None => object.raw("choices", &encode_choices(response, extra)),
    }
    if let Some(usage) = usage_text(response, extra) {
        object.raw("usage", &usage);
    }
    object.rest(extra, |key| wire_key(key).filter(|key| !matches!(*key, "usage" | "choices")));
    object.end()
}

/// The choices as they were, if they still say the same.
fn original<'a>(extra: &'a Fields, response: &Response) -> Option<&'a str> {
    let text = extra.get(CHOICES)?.text();
    let read = read_choices(&serde_json::from_str::<Choices<'_>>(text).ok()?).ok()?;
    (read.message == response.message && read.stop == response.stop).then_some(text)
}

fn encode_choices(response: &Response, extra: Option<&Fields>) -> String {
    let (choice, beside, others) = beside_message(extra);
    let mut message = Object::with_capacity(512);
    message.raw("role", "\"assistant\"");
    answer(&mut message, &response.message, true);
    message.rest(own(response.message.extra.as_deref()), wire_key);
    message.rest(Some(&beside), wire_key);
    let mut first = Object::with_capacity(640);
    if extra.is_none() {
        first.raw("index", "0");
    }
    first.raw("message", &message.end());
    first.text("finish_reason", finish_name(&response.stop));
    first.rest(Some(&choice), wire_key);
    let mut out = String::new();
    push_list(&mut out, std::iter::once(&*first.end()).chain(others.iter().map(Raw::text)));
    out
}

/// The usage as it came, if it still says the same; else ours. `None` where a server gave none.
pub(super) fn usage_text<'a>(response: &Response, extra: Option<&'a Fields>) -> Option<Cow<'a, str>> {
    match extra.map(|fields| fields.get("usage")) {
        Some(Some(kept)) if parse::usage(kept.text()) == response.usage => Some(kept.text().into()),
        Some(Some(kept)) if kept.is_null() && is_elsewhere(extra, &response.usage) => Some(kept.text().into()),
        Some(None) if response.usage == Usage::default() || is_elsewhere(extra, &response.usage) => None,
        _ => Some(write_usage(&response.usage).into()),
    }
}

/// Whether the usage stands in another member, which is kept.
fn is_elsewhere(extra: Option<&Fields>, usage: &Usage) -> bool {
    let inside = |fields: &Fields, key: &str| fields.get(key).map(|raw| parse::usage(raw.text()));
    let groq = extra.and_then(|fields| Fields::parse(fields.get("x_groq")?.text()).ok());
    let choices = extra.and_then(|fields| fields.get("choices").or_else(|| fields.get(CHOICES)));
    let choice = choices.and_then(|raw| raw.to::<Vec<Fields>>().ok()).and_then(|all| all.into_iter().next());
    [groq, choice].into_iter().flatten().any(|fields| inside(&fields, "usage").as_ref() == Some(usage))
}

fn write_usage(usage: &Usage) -> String {
    let mut object = Object::with_capacity(160);
    object.raw("prompt_tokens", &usage.input.to_string());
    object.raw("completion_tokens", &usage.output.to_string());
    object.raw("total_tokens", &usage.total().to_string());
    let mut prompt = Object::new();
    prompt.raw("cached_tokens", &usage.cache_read.to_string());
    if usage.cache_write > 0 {
        prompt.raw("cache_write_tokens", &usage.cache_write.to_string());
    }
    object.raw("prompt_tokens_details", &prompt.end());
    object.raw("completion_tokens_details", &format!(r#"{{"reasoning_tokens":{}}}"#, usage.reasoning));
    if usage.provider_tool_uses > 0 {
        object.raw("server_tool_use", &format!(r#"{{"web_search_requests":{}}}"#, usage.provider_tool_uses));
    }
    object.end()
}

/// The kept members of a chunk or answer, without those that are written by themselves.
pub(super) fn top_members(extra: Option<&Fields>) -> Fields {
    extra
        .into_iter()
        .flat_map(Fields::iter)
        .filter(|(key, _)| !matches!(*key, "usage" | "choices" | CHOICES | "object"))
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}
