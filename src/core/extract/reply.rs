//! Replies and histories of models that write their calls as text. A reply's text becomes blocks: prose, reasoning, calls; a
//! history's calls and results become text again, in the model's own dialect, so that both sides of a conversation agree.

use super::{
    call::Call,
    dialect::{Dialect, dialect_named},
    event::Event,
    parser::extract,
    policy::Policy,
    render::{render_call, render_results},
    signature::Signatures,
};
use crate::core::{
    json::Raw,
    message::{Block, Message, Text, Thinking, ToolUse},
    request::{FunctionTool, History, Request, Tool},
};

/// What was found in a reply's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Calls that now stand in the message.
    pub calls: usize,
    /// Calls that were left out, because the reply has native ones: a provider may hand out one call both ways.
    pub doubled: usize,
}

/// The declared tools of a request, as the parser wants them.
pub fn signatures(tools: &[Tool]) -> Signatures {
    let mut signatures = Signatures::default();
    for tool in tools {
        if let Tool::Function(function) = tool {
            signatures.add(&function.name, &function.schema.value());
        }
    }
    signatures
}

/// What may count as a call in a reply: with `format`, the model was told to write calls that way. Servers keep Llama's marker, a
/// special token, to themselves, and the model itself may leave it out: what is left is bare JSON.
pub fn reply_policy(format: Option<&Dialect>) -> Policy {
    let bare = |dialect: &Dialect| dialect.bare || dialect.name == "llama-3";
    Policy { bare_json: format.is_some_and(bare), ..Policy::default() }
}

/// Turns what is written in the text blocks of a reply into blocks: calls into tool uses, reasoning into thinking. Prose stays
/// as it is, byte for byte; a message without markup is not touched.
pub fn read_reply(message: &mut Message, tools: &Signatures, format: Option<&Dialect>) -> Reading {
    let mut reading = Reading::default();
    let native = message.tool_uses().next().is_some();
    let mut blocks = Vec::with_capacity(message.content.len());
    for block in std::mem::take(&mut message.content) {
        match block {
            Block::Text(text) => read_text(text, tools, format, native, &mut blocks, &mut reading),
            other => blocks.push(other),
        }
    }
    message.content = blocks;
    reading
}

fn read_text(
    text: Text,
    tools: &Signatures,
    format: Option<&Dialect>,
    native: bool,
    blocks: &mut Vec<Block>,
    reading: &mut Reading,
) {
    let events = extract(text.text.as_bytes(), Some(tools.clone()), None, reply_policy(format));
    if events.iter().all(|event| matches!(event, Event::Text { .. })) {
        return blocks.push(Block::Text(text));
    }
    let mut extra = text.extra;
    for event in events.iter() {
        match event {
            Event::Text { text, .. } => match blocks.last_mut() {
                Some(Block::Text(last)) if extra.is_none() && last.extra.is_none() => last.text.push_str(text),
                _ => blocks.push(Block::Text(Text { text: text.to_owned(), extra: extra.take() })),
            },
            Event::Reasoning { text, .. } => match blocks.last_mut() {
                Some(Block::Thinking(last)) if last.signature.is_none() && last.redacted.is_none() => {
                    last.text.push_str(text);
                }
                _ => blocks.push(Block::Thinking(Thinking { text: text.to_owned(), ..Thinking::default() })),
            },
            Event::CallFinished { .. } if native => reading.doubled += 1,
            Event::CallFinished { call, .. } => {
                reading.calls += 1;
                blocks.push(Block::ToolUse(tool_use(call)));
            }
            Event::CallStarted { .. } | Event::Arguments { .. } | Event::Markup { .. } | Event::Problem(_) => {}
        }
    }
}

/// A call that isn't complete has no arguments that could run: the model is told so.
fn tool_use(call: &Call) -> ToolUse {
    let id = call.id.clone().unwrap_or_default();
    if call.complete {
        return ToolUse::from_text(id, &call.name, call.arguments.clone());
    }
    let invalid = Some(call.arguments.clone());
    ToolUse { id, name: call.name.clone(), input: Raw::empty_object(), invalid, extra: None }
}

/// The request as a model gets it that writes its calls as text: tools as instructions, calls and results as text. A request
/// for a model with native calls is given back as `None`.
pub fn spoken(request: &Request) -> Option<Request> {
    let dialect = dialect_named(request.tool_format.as_deref()?)?;
    let mut spoken = request.clone();
    spoken.tool_format = None;
    spoken.tool_choice = None;
    spoken.parallel_tool_calls = None;
    let functions: Vec<&FunctionTool> = request
        .tools
        .iter()
        .filter_map(|tool| if let Tool::Function(function) = tool { Some(function) } else { None })
        .collect();
    spoken.tools = request.tools.iter().filter(|tool| !matches!(tool, Tool::Function(_))).cloned().collect();
    if !functions.is_empty() {
        spoken.instruct(&tool_instructions(&functions, dialect));
    }
    spoken.messages = History::spoken(&request.messages, dialect.name, |message| spoken_message(message, dialect));
    Some(spoken)
}

/// What a model is told of its tools, and how to call them.
pub fn tool_instructions(tools: &[&FunctionTool], dialect: &Dialect) -> String {
    let mut text = String::from("You can call these tools:\n");
    for tool in tools {
        let shown = serde_json::json!({
            "name": tool.name,
            "description": tool.description.as_deref().unwrap_or_default(),
            "parameters": tool.schema.value(),
        });
        text.push_str(&shown.to_string());
        text.push('\n');
    }
    text.push_str("\nTo call one, write exactly this, with its name and arguments, and stop:\n");
    text.push_str(&dialect.example());
    text.push_str("\n\nSeveral calls may follow each other. The results come with the next message.");
    text
}

/// A message with its calls and results as text.
fn spoken_message(message: &Message, dialect: &Dialect) -> Message {
    let mut spoken = message.clone();
    spoken.content = Vec::with_capacity(message.content.len());
    let mut results = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolUse(call) => {
                let id = Some(call.id.as_str()).filter(|id| !id.is_empty());
                // A name or value that the dialect can't write: JSON between the best known markers says it as well.
                let written = render_call(&call.name, &call.input, id, dialect)
                    .or_else(|_| render_call(&call.name, &call.input, None, dialect))
                    .unwrap_or_else(|_| {
                        let call = serde_json::json!({ "name": call.name, "arguments": call.input.value() });
                        format!("<tool_call>\n{call}\n</tool_call>")
                    });
                spoken.content.push(Block::text(written));
            }
            Block::ToolResult(result) => results.push(result.clone()),
            other => spoken.content.push(other.clone()),
        }
    }
    if !results.is_empty() {
        spoken.content.insert(0, Block::text(render_results(&results, Some(dialect))));
    }
    spoken
}
