//! The built-in extractive model: no network, no key, no language model.
//!
//! It reads the prompt that real models get, quotes the sentences that answer it, and names what it did not find. Its
//! name says what it is wherever a model's name is shown. Bodies on this wire are our own types as JSON.

use std::borrow::Cow;

use crate::core::{
    error::{Error, Failure, FailureKind, Result},
    message::{Block, Message, Role, Source as Place, StopReason, Usage},
    request::{Request, Response},
    retrieve::{
        extractive::{self, Answer, Options},
        sources::{Source, SourceKind, parse_prompt},
    },
};

/// The name of the model, as it is shown.
pub const MODEL: &str = "offline-extractive (not an LLM)";

/// What it says where it was given nothing to quote from.
const NO_SOURCES: &str = "I am the offline extractive model, not an LLM: I can only quote sentences from sources that \
come with the question (files, messages, results of tools), and none came.";

/// The request as JSON.
pub fn encode_request(request: &Request) -> Result<String> {
    serde_json::to_string(request)
        .map_err(|error| Error::internal("encode", format!("the request could not be written as JSON: {error}")))
}

/// A request from JSON.
pub fn decode_request(body: &str) -> Result<Request> {
    serde_json::from_str(body)
        .map_err(|error| Error::usage("invalid_body", format!("the body is no request of the offline wire: {error}")))
}

/// An answer from JSON.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    serde_json::from_str(body).map_err(|error| {
        Failure::new(FailureKind::InvalidBody, format!("the body is no answer of the offline wire: {error}"))
    })
}

/// The answer as JSON.
pub fn encode_response(response: &Response) -> String {
    // Our own types serialise without failing.
    serde_json::to_string(response).unwrap_or_default()
}

/// Answers `request` with quotes. Total: any request has an answer.
pub fn answer(request: &Request) -> Response {
    let text = answer_text(request);
    // There is no tokenizer and no bill: four characters count as a token.
    let input: usize =
        request.system.iter().map(|system| chars(system)).chain(request.messages.iter().map(chars)).sum();
    let usage =
        Usage { input: input.div_ceil(4) as u64, output: text.chars().count().div_ceil(4) as u64, ..Usage::default() };
    Response {
        id: String::new(),
        model: MODEL.to_owned(),
        message: Message::assistant(text),
        stop: StopReason::EndTurn,
        usage,
        extra: None,
    }
}

fn chars(message: &Message) -> usize {
    let of_block = |block: &Block| match block {
        Block::Text(text) => text.text.chars().count(),
        Block::ToolResult(result) => result.prose().chars().count(),
        Block::ToolUse(call) => call.arguments_text().chars().count(),
        _ => 0,
    };
    message.content.iter().map(of_block).sum()
}

fn answer_text(request: &Request) -> String {
    let messages: Vec<&Message> = request.messages.iter().collect();
    let asking = messages.iter().rposition(|message| message.role == Role::User && !message.prose().trim().is_empty());
    let Some(asking) = asking else { return NO_SOURCES.to_owned() };
    let prose = messages.get(asking).map(|message| message.prose()).unwrap_or_default();
    let (mut sources, question, feedback) = parse_prompt(&prose).unwrap_or_else(|| (Vec::new(), prose.clone(), None));
    let given = prose != question;
    for message in messages.iter().skip(asking) {
        sources.extend(more_sources(message));
    }
    if sources.is_empty() && !given {
        return NO_SOURCES.to_owned();
    }
    let drafts: Vec<String> =
        messages.iter().filter(|message| message.role == Role::Assistant).map(|message| message.prose()).collect();
    attempt(&question, &sources, feedback.as_deref(), &drafts)
}

/// Documents and results of tools that came with a message.
fn more_sources(message: &Message) -> Vec<Source> {
    let source = |kind, reference: &str, text: Cow<'_, str>| Source {
        kind,
        reference: reference.to_owned(),
        line: 1,
        end_line: text.trim_end_matches('\n').matches('\n').count() + 1,
        text: text.into_owned(),
        ..Source::default()
    };
    let mut sources = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolResult(result) if !result.is_error && !result.prose().trim().is_empty() => {
                let name = if result.name.is_empty() { &result.id } else { &result.name };
                sources.push(source(SourceKind::Tool, name, result.prose().into()));
            }
            Block::Document(media) => {
                if let Place::Text { data, .. } = &media.source {
                    let name = media.name.as_deref().unwrap_or("document");
                    sources.push(source(SourceKind::File, name, data.as_str().into()));
                }
            }
            _ => {}
        }
    }
    sources
}

/// Answers, and after a failed attempt answers differently where the sources allow it.
fn attempt(question: &str, sources: &[Source], feedback: Option<&str>, drafts: &[String]) -> String {
    let first = extractive::answer(question, sources, &Options::default());
    let Some(feedback) = feedback else { return first.text };
    let failed = |answer: &Answer| answer.text == first.text || drafts.contains(&answer.text);
    let mut options = options_for(feedback, &first);
    // What was asked for first; then more and more that is merely different.
    for step in 0..5 {
        let answer = extractive::answer(question, sources, &options);
        if !failed(&answer) && (step == 0 || !answer.quotes.is_empty()) {
            return answer.text;
        }
        match step {
            0 => options.list_sources = true,
            1 => (options.least, options.most) = (options.least.max(2), 5),
            2 => (options.least, options.avoid) = (5, Vec::new()),
            _ => options.avoid = first.quotes.iter().map(|quote| quote.text.clone()).collect(),
        }
    }
    first.text
}

/// What the words of the feedback ask for.
fn options_for(feedback: &str, first: &Answer) -> Options {
    let feedback = feedback.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| feedback.contains(word));
    let mut options = Options::default();
    if says(&["short", "length", "brief", "character", "longer", "detail", "incomplete", "empty", "more"]) {
        (options.least, options.most) = (first.quotes.len() + 2, 5);
    }
    if says(&["bold", "markdown", "blockquote", "format", "plain"]) {
        options.plain = true;
    }
    if says(&["cite", "citation", "source", "reference"]) {
        options.list_sources = true;
    }
    if says(&[
        "unsupported",
        "irrelevant",
        "relevan",
        "overlap",
        "off topic",
        "off-topic",
        "keyword",
        "does not answer",
        "wrong",
    ]) {
        options.avoid = first.quotes.iter().map(|quote| quote.text.clone()).collect();
    }
    options
}
