//! Answers, both ways.
//!
//! A whole answer and the chunks of a stream have one shape and are gathered by one reader, so both give the same
//! response. Extra fields hold only what writing would not bring back by itself.

use super::{
    WIRE,
    content::write_parts,
    members_of, own, parsed,
    part::{CallIds, PartPlace, decode_part},
    stream::ChunkDecoder,
};
use crate::{
    Decode, excerpt,
    failure::ErrorWords,
    invalid,
    notes::{NOTE, note, wire_key},
    object::Object,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, Usage},
    request::Response,
};

/// A whole answer to `generateContent`; a list of chunks is what `streamGenerateContent` answers without `alt=sse`.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    if let Some(chunks) = Raw::parse(body.trim()).ok().filter(Raw::is_array) {
        let chunks: Vec<Raw> = chunks.to().unwrap_or_default();
        let mut decoder = ChunkDecoder::default();
        for chunk in &chunks {
            decoder.event("", chunk.text(), &mut Vec::new())?;
        }
        if chunks.is_empty() {
            return Err(invalid("the answer is an empty list"));
        }
        return decoder.finish();
    }
    let fields =
        Fields::parse(body).map_err(|_| invalid(format!("the answer is no JSON object: {}", excerpt(body))))?;
    let mut answer = GatheredAnswer::default();
    answer.take(fields, body)?;
    if !answer.has_candidate && !answer.is_blocked() {
        return Err(invalid(format!("the answer has no candidates: {}", excerpt(body))));
    }
    Ok(answer.response())
}

/// An error that came with status 200: as an event of a stream, or in place of an answer.
fn carried_failure(fields: &Fields, text: &str) -> Option<Failure> {
    fields.get("error").filter(|raw| !raw.is_null())?;
    let said = ErrorWords::read(text);
    let status = said.status;
    let words = if said.code.is_empty() { "an error" } else { &said.code };
    let message = format!("the provider broke off with {words}: {}", said.message);
    Some(Failure { status, ..said.failure(status.unwrap_or(200), message) })
}

/// Words for an end at which the model wrote nothing that could be used: sampling again may do.
const FAILED_SAMPLING: [&str; 3] = ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"];

/// What has come of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct GatheredAnswer {
    /// The fields beside the candidates.
    pub(super) top: Fields,
    /// The fields of the candidate beside its content.
    pub(super) candidate: Fields,
    /// The fields of the content beside its parts; they hold `role`.
    content: Fields,
    pub(super) blocks: Vec<Block>,
    /// Candidates behind the first.
    others: Vec<Raw>,
    ids: Option<CallIds>,
    has_list: bool,
    pub(super) has_candidate: bool,
    has_content: bool,
    has_parts: bool,
}

impl GatheredAnswer {
    /// Takes an answer, or a chunk of one. Gives the parts of its content, which are not yet among the blocks, to
    /// `place`.
    pub(super) fn take(&mut self, fields: Fields, text: &str) -> Result<(), Failure> {
        let parts = self.take_chunk(fields, text)?;
        for part in &parts {
            let block = self.decode(part);
            self.blocks.push(block);
        }
        Ok(())
    }

    /// The block that a part is.
    pub(super) fn decode(&mut self, part: &Raw) -> Block {
        let top = &self.top;
        let ids = self.ids.get_or_insert_with(|| CallIds::of_answer(&top.get_str("responseId").unwrap_or_default()));
        decode_part(part, ids)
    }

    /// Takes all but the parts, which it gives.
    pub(super) fn take_chunk(&mut self, mut fields: Fields, text: &str) -> Result<Vec<Raw>, Failure> {
        if let Some(failure) = carried_failure(&fields, text) {
            return Err(failure);
        }
        let list = fields.take("candidates");
        self.has_list |= list.is_some();
        merge(&mut self.top, &fields);
        let candidates: Vec<Raw> = match list {
            Some(raw) if !raw.is_null() => {
                raw.to().map_err(|_| invalid(format!("the candidates are no list: {}", excerpt(text))))?
            }
            _ => Vec::new(),
        };
        let mut all = None;
        for raw in candidates {
            let mut fields =
                parsed(&raw).ok_or_else(|| invalid(format!("a candidate is no object: {}", excerpt(text))))?;
            if self.has_candidate && (index_of(&fields) != index_of(&self.candidate) || all.is_some()) {
                self.other(raw, &index_of(&fields));
                continue;
            }
            self.has_candidate = true;
            let parts = all.insert(Vec::new());
            if let Some(mut content) = fields.get("content").and_then(parsed) {
                fields.take("content");
                self.has_content = true;
                if let Some(list) = content.take_as::<Vec<Raw>>("parts") {
                    self.has_parts = true;
                    *parts = list;
                }
                merge(&mut self.content, &content);
            }
            merge(&mut self.candidate, &fields);
        }
        let finish = self.candidate.get_str("finishReason").filter(|word| FAILED_SAMPLING.contains(&word.as_str()));
        if let Some(finish) = finish {
            let said = self.candidate.get_str("finishMessage").unwrap_or_else(|| "no details given".to_owned());
            let what = format!("the model wrote nothing that can be used ({finish}): {}", excerpt(&said));
            let hint = "try again, or offer tools with fewer and simpler parameters";
            return Err(Failure::new(FailureKind::InvalidBody, what).hint(hint));
        }
        Ok(all.unwrap_or_default())
    }

    /// Takes a candidate behind the first; a chunk of one that is there goes over it.
    fn other(&mut self, raw: Raw, index: &str) {
        let same = |known: &&mut Raw| index != FIRST && parsed(known).is_some_and(|fields| index_of(&fields) == index);
        match self.others.iter_mut().find(same) {
            Some(known) => *known = raw,
            None => self.others.push(raw),
        }
    }

    /// Whether the prompt was blocked: there is no answer then.
    pub(super) fn is_blocked(&self) -> bool {
        let reason = members_of(Some(&self.top), "promptFeedback").get_str("blockReason");
        !self.has_candidate && reason.is_some_and(|reason| !reason.is_empty())
    }

    /// Whether the reason why the answer stops has come.
    pub(super) fn is_ended(&self) -> bool {
        self.is_blocked() || self.candidate.get_str("finishReason").is_some_and(|word| !word.is_empty())
    }

    /// The usage so far.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.top.get("usageMetadata").and_then(parsed).map(|counts| read_usage(&counts))
    }

    /// The response of all that has come.
    pub(super) fn response(mut self) -> Response {
        let absent = self.absent();
        let id = self.top.take_str("responseId").unwrap_or_default();
        let model = self.top.take_str("modelVersion").unwrap_or_default();
        let mut usage = Usage::default();
        if let Some(counts) = self.top.get("usageMetadata").and_then(parsed) {
            usage = read_usage(&counts);
            if counts.to_raw().value() == write_usage(&usage).value() {
                self.top.take("usageMetadata");
            }
        }
        let message = Message::new(Role::Assistant, std::mem::take(&mut self.blocks));
        let finish = self.candidate.get_str("finishReason");
        let stop = stop_reason(finish.as_deref(), &message, self.is_blocked());
        if finish.as_deref() == Some(finish_name(&stop)) {
            self.candidate.take("finishReason");
        }
        self.candidate.take_if("index", &serde_json::json!(0));
        self.content.take_if("role", &serde_json::json!("model"));
        if !self.content.is_empty() {
            self.candidate.set("content", self.content.to_raw());
        }
        if !self.candidate.is_empty() || !self.others.is_empty() {
            let all: Vec<Raw> = std::iter::once(in_order(&self.candidate).to_raw()).chain(self.others).collect();
            self.top.put("candidates", &all);
        }
        if !absent.is_empty() {
            self.top.put(NOTE, &serde_json::json!({ "absent": absent }));
        }
        let extra = Extra::of(WIRE, in_order(&self.top));
        Response { id, model, message, stop, usage, extra, adapted: Vec::new() }
    }

    /// The members that an answer usually has, and this one has not.
    fn absent(&self) -> Vec<&'static str> {
        let of = |fields: &Fields, key: &'static str| fields.get(key).is_none().then_some(key);
        let mut absent: Vec<&'static str> =
            ["responseId", "modelVersion", "usageMetadata"].into_iter().filter_map(|key| of(&self.top, key)).collect();
        if !self.has_candidate {
            absent.push(if self.has_list { "candidate" } else { "candidates" });
            return absent;
        }
        absent.extend(["finishReason", "index"].into_iter().filter_map(|key| of(&self.candidate, key)));
        if !self.has_content {
            absent.push("content");
            return absent;
        }
        absent.extend(of(&self.content, "role"));
        if !self.has_parts {
            absent.push("parts");
        }
        absent
    }
}

/// The index of the first candidate, which may be left out.
const FIRST: &str = "0";

fn index_of(fields: &Fields) -> String {
    fields.get("index").map_or(FIRST, Raw::text).to_owned()
}

/// Sets the members of `new`; a `null` does not hide what was known.
fn merge(fields: &mut Fields, new: &Fields) {
    for (key, value) in new.iter() {
        if !value.is_null() || fields.get(key).is_none() {
            fields.set(key, value.clone());
        }
    }
}

/// The members in one order, whatever the order of the answer or of a stream's chunks.
fn in_order(fields: &Fields) -> Fields {
    let mut members: Vec<(String, Raw)> = fields.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    members.into_iter().collect()
}

fn stop_reason(finish: Option<&str>, message: &Message, blocked: bool) -> StopReason {
    let calls = message.tool_uses().next().is_some();
    match finish {
        // The wire has one word for the end of a turn, whether it calls tools or not.
        None | Some("STOP") if calls => StopReason::ToolUse,
        Some("STOP") => StopReason::EndTurn,
        Some("MAX_TOKENS") => StopReason::MaxTokens,
        Some(
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => StopReason::ContentFilter,
        None if blocked => StopReason::ContentFilter,
        finish => StopReason::Other(finish.unwrap_or_default().to_owned()),
    }
}

fn finish_name(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::PauseTurn => "STOP",
        StopReason::MaxTokens | StopReason::ContextWindow => "MAX_TOKENS",
        StopReason::Refusal | StopReason::ContentFilter => "SAFETY",
        StopReason::Other(name) => name,
    }
}

/// The wire counts thoughts beside the answer, and what a tool of the provider read beside the prompt.
fn read_usage(counts: &Fields) -> Usage {
    let count = |key: &str| counts.get(key).and_then(|raw| raw.to::<u64>().ok()).unwrap_or_default();
    let thoughts = count("thoughtsTokenCount");
    Usage {
        input: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output: count("candidatesTokenCount").saturating_add(thoughts),
        cache_read: count("cachedContentTokenCount"),
        cache_write: 0,
        cache_write_hour: 0,
        reasoning: thoughts,
        provider_tool_uses: 0,
    }
}

fn write_usage(usage: &Usage) -> Raw {
    let mut counts = Fields::new();
    counts.put("promptTokenCount", &usage.input);
    counts.put("candidatesTokenCount", &usage.output.saturating_sub(usage.reasoning));
    counts.put("totalTokenCount", &usage.total());
    if usage.cache_read > 0 {
        counts.put("cachedContentTokenCount", &usage.cache_read);
    }
    if usage.reasoning > 0 {
        counts.put("thoughtsTokenCount", &usage.reasoning);
    }
    counts.to_raw()
}

/// The answer as `generateContent` would write it.
pub fn encode_response(response: &Response) -> String {
    let write = AnswerWriter::new(response);
    let mut parts = String::new();
    write_parts(&mut parts, &response.message.content, PartPlace::AsItCame);
    let content = write.content(Some(&parts), true);
    write.chunk(write.candidate(content.as_deref(), true).as_deref(), true)
}

/// Writes an answer, or chunks of one, as it was, where it was something unusual.
pub(super) struct AnswerWriter<'a> {
    response: &'a Response,
    extra: Option<&'a Fields>,
    /// The fields of the candidate that were kept.
    candidate: Fields,
    others: Vec<Raw>,
    absent: Vec<String>,
}

impl<'a> AnswerWriter<'a> {
    pub(super) fn new(response: &'a Response) -> Self {
        let extra = own(response.extra.as_deref());
        let mut kept: Vec<Raw> = extra.and_then(|fields| fields.get("candidates")?.to().ok()).unwrap_or_default();
        let others = kept.split_off(kept.len().min(1));
        let candidate = kept.first().and_then(parsed).unwrap_or_default();
        Self { response, extra, candidate, others, absent: note(extra).take_as("absent").unwrap_or_default() }
    }

    fn lacks(&self, key: &str) -> bool {
        self.absent.iter().any(|absent| absent == key)
    }

    fn lacks_candidate(&self) -> bool {
        self.lacks("candidates") || self.lacks("candidate")
    }

    /// The content of a candidate, whole or (`rest`: with what goes beside all parts) a piece of it.
    pub(super) fn content(&self, parts: Option<&str>, rest: bool) -> Option<String> {
        let lacks_content = self.lacks("content") || self.lacks_candidate();
        let parts = parts.filter(|parts| *parts != "[]" || !(self.lacks("parts") || lacks_content));
        let kept = members_of(Some(&self.candidate), "content");
        if parts.is_none() && (lacks_content || (kept.is_empty() && !self.lacks("parts"))) {
            return None;
        }
        let mut content = Object::new();
        if let Some(parts) = parts {
            content.raw("parts", parts);
        }
        if !self.lacks("role") && kept.get("role").is_none() {
            content.text("role", "model");
        }
        content.rest(Some(&kept).filter(|_| rest), wire_key);
        Some(content.end())
    }

    /// A candidate; with `ends`, what is told at the end alone.
    pub(super) fn candidate(&self, content: Option<&str>, ends: bool) -> Option<String> {
        if self.lacks_candidate() && content.is_none() {
            return None;
        }
        let mut candidate = Object::new();
        if let Some(content) = content {
            candidate.raw("content", content);
        } else if let Some(raw) = self.candidate.get("content").filter(|raw| ends && !raw.is_object()) {
            candidate.raw("content", raw.text());
        }
        if ends {
            let stop = &self.response.stop;
            let kept = self.candidate.get_str("finishReason");
            let same = kept.filter(|word| stop_reason(Some(word), &self.response.message, false) == *stop);
            let word = same.as_deref().unwrap_or_else(|| finish_name(stop));
            if !(self.lacks("finishReason") || self.candidate.get("finishReason").is_some_and(|raw| !is_word(raw))) {
                candidate.text("finishReason", word);
            }
        }
        if let Some(index) = self.candidate.get("index") {
            candidate.raw("index", index.text());
        } else if !self.lacks("index") {
            candidate.raw("index", "0");
        }
        if ends {
            candidate.rest(Some(&self.candidate), |key| wire_key(key).filter(|key| *key != "content"));
        }
        Some(candidate.end())
    }

    /// An answer of one candidate, or a chunk; with `ends`, what is told at the end alone.
    pub(super) fn chunk(&self, candidate: Option<&str>, ends: bool) -> String {
        let mut object = Object::new();
        if candidate.is_some() || !self.lacks("candidates") {
            let others = self.others.iter().filter(|_| ends).map(Raw::text);
            object.list("candidates", candidate.into_iter().chain(others));
        }
        if ends {
            let usage = &self.response.usage;
            let kept = self.extra.and_then(|fields| fields.get("usageMetadata"));
            let same =
                kept.filter(|raw| parsed(raw).map_or_else(Usage::default, |counts| read_usage(&counts)) == *usage);
            if let Some(raw) = same {
                object.raw("usageMetadata", raw.text());
            } else if !self.lacks("usageMetadata") || *usage != Usage::default() {
                object.raw("usageMetadata", write_usage(usage).text());
            }
        }
        for (key, text) in [("modelVersion", &self.response.model), ("responseId", &self.response.id)] {
            if let Some(raw) = self.extra.and_then(|fields| fields.get(key)) {
                object.raw(key, raw.text());
            } else if !(text.is_empty() && self.lacks(key)) {
                object.text(key, text);
            }
        }
        if ends {
            object.rest(self.extra, |key| wire_key(key).filter(|key| *key != "candidates"));
        }
        object.end()
    }
}

fn is_word(raw: &Raw) -> bool {
    raw.text().starts_with('"')
}
