//! Marks of the cache: the provider takes four in a request, the automatic one counted in, and refuses a fifth
//! (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>).
//!
//! Marks beyond that are left out, the first ones of the history first: a later one covers what an earlier one would.

use std::iter::once;

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Message, Wire},
    request::{Request, Tool},
};

use super::own;

/// The marks that a request may have.
const MOST: usize = 4;
pub(super) const MARK: &str = "cache_control";

/// A mark, as it is written: for an hour, or for the usual five minutes.
pub(super) const fn mark(hour: bool) -> &'static str {
    if hour { r#"{"type":"ephemeral","ttl":"1h"}"# } else { r#"{"type":"ephemeral"}"# }
}

/// The request without the marks that are too many; `None` if there are none.
pub(crate) fn limited(request: &Request) -> Option<Request> {
    let automatic = !request.cache.is_off() || mark_of_end(request).is_some();
    let history: Vec<usize> = request.messages.iter().map(|message| marks_in(message).count()).collect();
    let system = request.system.as_deref().map_or(0, |message| marks_in(message).count());
    let tools = request.tools.iter().filter_map(mark_of_tool).count();
    let all = usize::from(automatic) + history.iter().sum::<usize>() + system + tools;
    let mut excess = all.checked_sub(MOST).filter(|excess| *excess > 0)?;
    let mut of_history = Vec::with_capacity(history.len());
    for own in history {
        of_history.push(own.min(excess));
        excess -= own.min(excess);
    }
    let mut limited = request.clone();
    let fewer = |at: usize, message: &Message| of_history.get(at).filter(|n| **n > 0).map(|n| without(message, *n));
    if let Some(messages) = request.messages.rewritten(fewer) {
        limited.messages = messages;
    }
    if let Some(message) = request.system.as_deref() {
        limited.system = Some(without(message, system.min(excess)).into());
        excess -= system.min(excess);
    }
    let mut tools = request.tools.to_vec();
    for tool in tools.iter_mut().filter(|tool| mark_of_tool(tool).is_some()).take(excess) {
        match tool {
            Tool::Function(tool) => unmark(&mut tool.extra),
            Tool::Provider { raw, .. } => unmark_raw(raw),
            Tool::WebSearch(_) => {}
        }
    }
    limited.tools = tools.into();
    Some(limited)
}

/// The mark on the request itself, which moves with its end.
pub(super) fn mark_of_end(request: &Request) -> Option<Raw> {
    mark_of(request.extra.as_deref()).or_else(|| mark_among(request.passed()?))
}

/// The mark on a tool.
pub(super) fn mark_of_tool(tool: &Tool) -> Option<Raw> {
    match tool {
        Tool::Function(tool) => mark_of(tool.extra.as_deref()),
        Tool::Provider { wire, raw } => mark_of_raw(raw).filter(|_| *wire == Wire::Anthropic),
        Tool::WebSearch(_) => None,
    }
}

/// The marks on the blocks of a message and on the parts of its results.
pub(super) fn marks_in(message: &Message) -> impl Iterator<Item = Raw> {
    message.content.iter().flat_map(|block| parts_of(block).iter().chain(once(block))).filter_map(mark_of_block)
}

/// The parts of a result.
fn parts_of(block: &Block) -> &[Block] {
    match block {
        Block::ToolResult(result) => &result.content,
        _ => &[],
    }
}

fn mark_of_block(block: &Block) -> Option<Raw> {
    match block {
        Block::Provider(block) => mark_of_raw(&block.raw).filter(|_| block.wire == Wire::Anthropic),
        Block::Text(block) => mark_of(block.extra.as_deref()),
        Block::Image(block) | Block::Document(block) => mark_of(block.extra.as_deref()),
        Block::Thinking(block) => mark_of(block.extra.as_deref()),
        Block::ToolUse(block) => mark_of(block.extra.as_deref()),
        Block::ToolResult(block) => mark_of(block.extra.as_deref()),
    }
}

fn mark_of(extra: Option<&Extra>) -> Option<Raw> {
    mark_among(own(extra)?)
}

fn mark_among(fields: &Fields) -> Option<Raw> {
    fields.get(MARK).filter(|mark| mark.is_object()).cloned()
}

fn mark_of_raw(raw: &Raw) -> Option<Raw> {
    // Few have one, and all would be parsed for each request.
    raw.text().contains(MARK).then(|| Fields::parse(raw.text()).ok()).flatten().and_then(|fields| mark_among(&fields))
}

/// The extra fields of a block of the common shape.
pub(super) fn extra_of(block: &mut Block) -> Option<&mut Option<Box<Extra>>> {
    Some(match block {
        Block::Text(block) => &mut block.extra,
        Block::Image(block) | Block::Document(block) => &mut block.extra,
        Block::Thinking(block) => &mut block.extra,
        Block::ToolUse(block) => &mut block.extra,
        Block::ToolResult(block) => &mut block.extra,
        Block::Provider(_) => return None,
    })
}

/// The message without its first `count` marks.
fn without(message: &Message, mut count: usize) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        if let Block::ToolResult(result) = block {
            result.content.iter_mut().for_each(|part| unmark_block(part, &mut count));
        }
        unmark_block(block, &mut count);
    }
    message
}

fn unmark_block(block: &mut Block, count: &mut usize) {
    if *count == 0 || mark_of_block(block).is_none() {
        return;
    }
    *count -= 1;
    if let Block::Provider(block) = block {
        unmark_raw(&mut block.raw);
    } else if let Some(extra) = extra_of(block) {
        unmark(extra);
    }
}

fn unmark(extra: &mut Option<Box<Extra>>) {
    if let Some(extra) = extra {
        extra.fields.take(MARK);
    }
}

fn unmark_raw(raw: &mut Raw) {
    if let Ok(mut fields) = Fields::parse(raw.text()) {
        fields.take(MARK);
        *raw = fields.to_raw();
    }
}

#[cfg(test)]
mod tests {
    use loopwright_base::{
        message::Role,
        request::{Caching, FunctionTool},
    };

    use super::*;

    fn marked() -> Option<Box<Extra>> {
        Extra::of(Wire::Anthropic, Fields::parse(r#"{"cache_control":{"type":"ephemeral"}}"#).unwrap())
    }

    fn text(words: &str, mark: bool) -> Block {
        let Block::Text(mut text) = Block::text(words) else { return Block::text(words) };
        text.extra = marked().filter(|_| mark);
        Block::Text(text)
    }

    fn sent(request: &Request) -> String {
        crate::encode_to_send(Wire::Anthropic, request).unwrap()
    }

    /// A request of `turns` marked turns behind marked instructions and a marked tool.
    fn request(turns: usize, cache: Caching) -> Request {
        let tool = FunctionTool {
            name: "f".into(),
            description: None,
            schema: Raw::empty_object(),
            strict: None,
            extra: marked(),
        };
        let turn = |at: usize| Message::new(Role::User, vec![text(&format!("turn {at}"), true)]);
        Request {
            model: "m".into(),
            system: Some(Message::new(Role::System, vec![text("rules", true)]).into()),
            messages: (0..turns).map(turn).collect(),
            tools: [Tool::Function(tool)].into_iter().collect(),
            cache,
            ..Request::default()
        }
    }

    #[test]
    fn w22_a_request_has_four_marks_of_the_cache_at_most() {
        for (turns, cache, kept) in
            [(2, Caching::Off, vec![0, 1]), (6, Caching::Off, vec![4, 5]), (6, Caching::Usual, vec![5])]
        {
            let body = sent(&request(turns, cache));
            assert_eq!(body.matches(MARK).count(), 4, "{body}");
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            let marked = |at: &usize| body["messages"][*at]["content"][0].get(MARK).is_some();
            assert_eq!((0..turns).filter(marked).collect::<Vec<_>>(), kept, "{body}");
            assert!(body["tools"][0].get(MARK).is_some() && body["system"][0].get(MARK).is_some(), "{body}");
        }
    }

    #[test]
    fn w22_marks_inside_results_and_on_tools_count_too() {
        let result = |at: usize| {
            let mut result = loopwright_base::message::ToolResult::text(format!("c{at}"), "f", "");
            (result.content, result.extra) = (vec![text("one", true)], marked());
            Block::ToolResult(result)
        };
        let mut own = request(0, Caching::Off);
        own.messages.push(Message::new(Role::User, (0..3).map(result).collect()));
        let body: serde_json::Value = serde_json::from_str(&sent(&own)).unwrap();
        assert_eq!(body.to_string().matches(MARK).count(), 4, "{body}");
        assert!(body["messages"][0]["content"][2].get(MARK).is_some(), "the last ones stay: {body}");
        let mut tools = request(0, Caching::Usual);
        tools.tools = tools.tools.iter().cycle().take(6).cloned().collect();
        assert_eq!(sent(&tools).matches(MARK).count(), 4);
    }
}
