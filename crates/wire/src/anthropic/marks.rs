//! Marks of the cache: the provider takes four in a request, the automatic one counted in, and refuses a fifth
//! (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>).
//!
//! Marks beyond that are left out, the first ones of the history first: a later one covers what an earlier one would.

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Message, Wire},
    request::{Request, Tool},
};

use super::own;

/// The marks that a request may have.
const MOST: usize = 4;
const MARK: &str = "cache_control";

/// The request without the marks that are too many; `None` if there are none.
pub(crate) fn limited(request: &Request) -> Option<Request> {
    let automatic = request.cache || is_marked(request.extra.as_deref());
    let history: usize = request.messages.iter().map(marks).sum();
    let system = request.system.as_deref().map_or(0, marks);
    let tools = request.tools.iter().filter(|tool| is_marked_tool(tool)).count();
    let all = usize::from(automatic) + history + system + tools;
    let mut excess = all.checked_sub(MOST).filter(|excess| *excess > 0)?;
    let mut of_history = Vec::with_capacity(request.messages.len());
    for own in request.messages.iter().map(marks) {
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
    for tool in tools.iter_mut().filter(|tool| is_marked_tool(tool)).take(excess) {
        match tool {
            Tool::Function(tool) => unmark(&mut tool.extra),
            Tool::Provider { raw, .. } => unmark_raw(raw),
            Tool::WebSearch(_) => {}
        }
    }
    limited.tools = tools.into();
    Some(limited)
}

fn has_mark(fields: &Fields) -> bool {
    fields.get(MARK).is_some_and(Raw::is_object)
}

fn is_marked(extra: Option<&Extra>) -> bool {
    own(extra).is_some_and(has_mark)
}

fn is_marked_raw(raw: &Raw) -> bool {
    raw.text().contains(MARK) && Fields::parse(raw.text()).is_ok_and(|fields| has_mark(&fields))
}

fn is_marked_tool(tool: &Tool) -> bool {
    match tool {
        Tool::Function(tool) => is_marked(tool.extra.as_deref()),
        Tool::Provider { wire, raw } => *wire == Wire::Anthropic && is_marked_raw(raw),
        Tool::WebSearch(_) => false,
    }
}

/// The marks of a message.
fn marks(message: &Message) -> usize {
    message.content.iter().map(block_marks).sum()
}

fn block_marks(block: &Block) -> usize {
    let inside = match block {
        Block::ToolResult(result) => result.content.iter().filter(|part| is_marked_block(part)).count(),
        _ => 0,
    };
    inside + usize::from(is_marked_block(block))
}

fn is_marked_block(block: &Block) -> bool {
    match block {
        Block::Text(block) => is_marked(block.extra.as_deref()),
        Block::Image(block) | Block::Document(block) => is_marked(block.extra.as_deref()),
        Block::Thinking(block) => is_marked(block.extra.as_deref()),
        Block::ToolUse(block) => is_marked(block.extra.as_deref()),
        Block::ToolResult(block) => is_marked(block.extra.as_deref()),
        Block::Provider(block) => block.wire == Wire::Anthropic && is_marked_raw(&block.raw),
    }
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
    if *count == 0 || !is_marked_block(block) {
        return;
    }
    *count -= 1;
    match block {
        Block::Text(block) => unmark(&mut block.extra),
        Block::Image(block) | Block::Document(block) => unmark(&mut block.extra),
        Block::Thinking(block) => unmark(&mut block.extra),
        Block::ToolUse(block) => unmark(&mut block.extra),
        Block::ToolResult(block) => unmark(&mut block.extra),
        Block::Provider(block) => unmark_raw(&mut block.raw),
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
    use loopwright_base::{message::Role, request::FunctionTool};

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
    fn request(turns: usize, cache: bool) -> Request {
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
        for (turns, cache, kept) in [(2, false, vec![0, 1]), (6, false, vec![4, 5]), (6, true, vec![5])] {
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
        let mut own = request(0, false);
        own.messages.push(Message::new(Role::User, (0..3).map(result).collect()));
        let body: serde_json::Value = serde_json::from_str(&sent(&own)).unwrap();
        assert_eq!(body.to_string().matches(MARK).count(), 4, "{body}");
        assert!(body["messages"][0]["content"][2].get(MARK).is_some(), "the last ones stay: {body}");
        let mut tools = request(0, true);
        tools.tools = tools.tools.iter().cycle().take(6).cloned().collect();
        assert_eq!(sent(&tools).matches(MARK).count(), 4);
    }
}
