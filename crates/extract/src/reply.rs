//! Replies and histories of models that write their calls as text. A reply's text becomes blocks: prose, reasoning,
//! calls; a history's calls and results become text again, in the model's own dialect, so that both sides of a
//! conversation agree.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    call::Call,
    dialect::{Dialect, dialect_named, expected},
    members::NESTED,
    native::RepairedCall,
    parser::Parser,
    policy::{Policy, UnknownTool},
    quotation::{Read, ReplyReader, Shown},
    render::{render_call, render_results},
    signature::Signatures,
};
use loopwright_base::{
    json::Raw,
    message::{Block, Message, Text, Thinking, ToolUse, is_empty_arguments},
    request::{FunctionTool, History, Request, Tool},
};

/// What was found in a reply's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Calls that now stand in the message.
    pub calls: usize,
    /// Calls that were left out, because the reply has native ones: a provider may hand out one call both ways.
    pub doubled: usize,
    /// The tools of calls that quote what the model was shown, and stayed prose.
    pub quoted: Vec<String>,
    /// Which of the message's calls a person has to be asked about: without markers of their own, they stand in what it
    /// was shown.
    pub asked: BTreeSet<usize>,
    /// The calls whose arguments could only be read repaired.
    pub repaired: Vec<RepairedCall>,
    /// Which of the message's calls aren't clear and must not run, and why.
    pub unclear: BTreeMap<usize, String>,
    /// Markers that open calls, behind which none could be read; no words of a sentence follow on them.
    pub unread: Vec<String>,
}

/// The declared tools of a request as the parser of its reply wants them: none where calls aren't read in texts.
pub fn reply_signatures(request: &Request) -> Signatures {
    if request.read_markup { signatures(&request.tools) } else { Signatures::default() }
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

/// What may count as a call in a reply. A call of a tool that was not declared is answered as a native one is. JSON
/// without markers counts: models leave theirs out, and servers keep them to themselves. How many run is not for the
/// parser to say.
fn reply_policy() -> Policy {
    Policy { bare_json: true, unknown_tools: UnknownTool::Call, max_calls: usize::MAX, ..Policy::default() }
}

/// The parser of one text of the reply to `request`, for whoever reads it whole and whoever reads it as it comes.
/// Reasoning is told from prose; calls are read where the request says so. `tools`: the [`reply_signatures`] of it.
pub fn reply_parser(request: &Request, tools: &Signatures) -> Parser {
    if request.read_markup {
        let format = request.tool_format.as_deref().and_then(dialect_named);
        // A model that was told to write calls without markers may write any of these.
        let dialects = if format.is_some_and(|dialect| dialect.bare) { None } else { Some(expected()) };
        return Parser::new(Some(tools.clone()), dialects, reply_policy());
    }
    Parser::new(Some(Signatures::default()), Some(&[]), Policy::default())
}

/// Whether the texts of the reply are looked through at all.
pub fn reads_reply(request: &Request) -> bool {
    request.tools.iter().any(|tool| matches!(tool, Tool::Function(_)))
}

/// Turns what is written in the text blocks of a reply into blocks: calls into tool uses, reasoning into thinking.
/// Prose stays as it is, byte for byte, and so does a call that quotes what `request` shows; a message without markup
/// is not touched.
pub fn read_reply(message: &mut Message, request: &Request, tools: &Signatures) -> Reading {
    let shown = Shown::new(request);
    let mut reading = Reading::default();
    let native = message.tool_uses().next().is_some();
    let mut blocks = Vec::with_capacity(message.content.len());
    for block in std::mem::take(&mut message.content) {
        match block {
            Block::Text(text) => {
                let mut reader = ReplyReader::new(reply_parser(request, tools));
                let mut read = Vec::new();
                reader.feed(text.text.as_bytes(), &shown, &mut read);
                reader.finish(&shown, &mut read);
                put(text, read, native, &mut blocks, &mut reading);
            }
            other => blocks.push(other),
        }
    }
    message.content = blocks;
    reading
}

/// Whether a value is closed behind a call, opened there or not: what was read as calls may stand in a value then.
fn unbalanced(read: &[Read]) -> bool {
    let dialect = |read: &Read| if let Read::Called { call, .. } = read { dialect_named(call.dialect) } else { None };
    let marks: BTreeSet<_> = read.iter().filter_map(dialect).flat_map(Dialect::value_marks).collect();
    let closes = |text: &str| marks.iter().any(|(mark, opens)| *opens < 0 && text.contains(mark));
    let behind = read.iter().skip_while(|read| !matches!(read, Read::Called { .. }));
    !marks.is_empty() && behind.into_iter().any(|read| matches!(read, Read::Text(text) if closes(text)))
}

/// Puts what was read in the place of a text.
fn put(text: Text, mut read: Vec<Read>, native: bool, blocks: &mut Vec<Block>, reading: &mut Reading) {
    let all = unbalanced(&read);
    let back: BTreeSet<_> =
        read.iter().filter_map(|read| if let Read::TakenBack { index } = read { Some(*index) } else { None }).collect();
    for read in &mut read {
        if let Read::Called { call, .. } = read {
            call.complete &= !all && !back.contains(&call.index);
        }
    }
    let texts = read.iter().zip(read.iter().skip(1)).filter_map(|(read, next)| match (read, next) {
        (Read::Unread { marker }, Read::Text(text)) => text.strip_prefix(marker.as_str()).map(|rest| (marker, rest)),
        (Read::Unread { marker }, _) => Some((marker, "")),
        _ => None,
    });
    reading.unread.extend(texts.filter(|(_, rest)| !talks(rest)).map(|(marker, _)| marker.clone()));
    let is_prose = |read: &Read| matches!(read, Read::Text(_) | Read::Quoted { .. } | Read::Unread { .. });
    let length = |read: &Read| if let Read::Text(text) = read { text.len() } else { 0 };
    if read.iter().all(is_prose) && read.iter().map(length).sum::<usize>() == text.text.len() {
        let names =
            read.into_iter().filter_map(|read| if let Read::Quoted { name } = read { Some(name) } else { None });
        reading.quoted.extend(names);
        return blocks.push(Block::Text(text));
    }
    let mut extra = text.extra;
    for read in read {
        match read {
            Read::Text(text) => match blocks.last_mut() {
                Some(Block::Text(last)) if extra.is_none() && last.extra.is_none() => last.text.push_str(&text),
                _ => blocks.push(Block::Text(Text { text, extra: extra.take() })),
            },
            Read::Reasoning(text) => match blocks.last_mut() {
                Some(Block::Thinking(last)) if last.signature.is_none() && last.redacted.is_none() => {
                    last.text.push_str(&text);
                }
                _ => blocks.push(Block::Thinking(Thinking { text, ..Thinking::default() })),
            },
            Read::Called { .. } if native => reading.doubled += 1,
            Read::Called { call, asks, repairs, unclear } => {
                if call.complete && !repairs.is_empty() {
                    reading.repaired.push(RepairedCall { name: call.name.clone(), repairs });
                }
                if !call.complete {
                    let reason = unclear.into_iter().next().unwrap_or_else(|| NESTED.to_owned());
                    reading.unclear.insert(reading.calls, reason);
                }
                if asks {
                    reading.asked.insert(reading.calls);
                }
                reading.calls += 1;
                blocks.push(Block::ToolUse(tool_use(&call)));
            }
            Read::Quoted { name } => reading.quoted.push(name),
            Read::Started { .. } | Read::Arguments { .. } | Read::TakenBack { .. } | Read::Unread { .. } => {}
        }
    }
}

/// Whether a sentence goes on behind what opens a call: it is talked about.
fn talks(behind: &str) -> bool {
    let words = behind.trim_start_matches([' ', '\t']);
    words.len() < behind.len() && words.starts_with(char::is_alphabetic)
}

/// A call that isn't complete has no arguments that could run, nor does it say that it has none: the model is told so.
fn tool_use(call: &Call) -> ToolUse {
    let id = call.id.clone().unwrap_or_default();
    if call.complete {
        return ToolUse::from_text(id, &call.name, call.arguments.clone());
    }
    let nothing = is_empty_arguments(&call.arguments);
    let invalid = if nothing { "the call broke off".to_owned() } else { call.arguments.clone() };
    ToolUse { id, name: call.name.clone(), input: Raw::empty_object(), invalid: Some(invalid), extra: None }
}

/// The request as a model gets it that writes its calls as text: tools as instructions, calls and results as text. A
/// request for a model with native calls is given back as `None`.
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
    spoken.messages = History::in_dialect(&request.messages, dialect.name, |message| spoken_message(message, dialect));
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
