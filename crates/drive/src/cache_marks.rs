//! Marks up to which a provider keeps a prompt, for hosts that keep only what is marked: the end of the request, the
//! end of the request before (from a mark back, only some blocks are searched for what was kept), the instructions and
//! the tools. Marks of the user's own count, and stay.

use std::sync::Arc;

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Form, Message, Role, Wire},
    request::{Request, Tool},
};
use loopwright_models::profile::Profile;

const MARK: &str = "cache_control";

/// Places of marks, in the order in which a prompt is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Tools,
    Instructions,
    /// The message with this place in the history.
    Message(usize),
    End,
}

/// The request with marks of its own; `None` where the host wants none, or may set none.
pub(super) fn with_marks(profile: &Profile, wire: Wire, request: &Request) -> Option<Request> {
    if wire != Wire::Anthropic || !request.cache || profile.body.cache_marks == 0 {
        return None;
    }
    let own = own_marks(request);
    let room = profile.body.cache_marks.saturating_sub(own.len());
    let last = request.messages.len().checked_sub(1)?;
    let answered = request.messages.iter().rposition(|message| message.role == Role::Assistant);
    let before = answered.and_then(|at| at.checked_sub(1)).map(Place::Message);
    let end = (!own.iter().any(|(place, _)| *place == Place::End)).then_some(Place::Message(last));
    let wanted = [end, before, Some(Place::Instructions), Some(Place::Tools)];
    // What is kept for an hour has to stand before what is kept for minutes.
    let hour = own.iter().filter(|(_, hour)| *hour).map(|(place, _)| *place).max();

    let messages = request.messages.in_dialect("texts in parts", in_parts);
    let mut marked = Request { cache: false, messages, ..request.clone() };
    let mut left = room;
    for place in wanted.into_iter().flatten() {
        if left == 0 {
            break;
        }
        if own.iter().all(|(taken, _)| *taken != place) && set(&mut marked, place, hour.is_some_and(|at| place < at)) {
            left -= 1;
        }
    }
    Some(marked)
}

/// The message with its text as a part, which can bear a mark: so its bytes stay when the mark moves on.
fn in_parts(message: &Message) -> Message {
    let mut message = message.clone();
    if message.role == Role::User && matches!(message.content.as_slice(), [Block::Text(_)]) {
        message.form = Form::Parts;
    }
    message
}

/// The user's own marks, and whether each lasts for an hour.
fn own_marks(request: &Request) -> Vec<(Place, bool)> {
    let tools = request.tools.iter().filter_map(|tool| match tool {
        Tool::Function(tool) => mark_of(tool.extra.as_deref()),
        Tool::Provider { wire: Wire::Anthropic, raw } => is_hour(Fields::parse(raw.text()).ok()?.get(MARK)?),
        _ => None,
    });
    let system = request.system.iter().flat_map(|message| marks_in(message));
    let messages = request.messages.iter().enumerate();
    tools
        .map(|hour| (Place::Tools, hour))
        .chain(system.map(|hour| (Place::Instructions, hour)))
        .chain(messages.flat_map(|(at, message)| marks_in(message).map(move |hour| (Place::Message(at), hour))))
        .chain(mark_of(request.extra.as_deref()).map(|hour| (Place::End, hour)))
        .collect()
}

fn marks_in(message: &Message) -> impl Iterator<Item = bool> {
    message.content.iter().filter_map(|block| match block {
        Block::Provider(block) if block.wire == Wire::Anthropic => {
            is_hour(Fields::parse(block.raw.text()).ok()?.get(MARK)?)
        }
        Block::Text(_) | Block::Image(_) | Block::Document(_) | Block::ToolUse(_) | Block::ToolResult(_) => {
            mark_of(extra_of(block))
        }
        _ => None,
    })
}

/// Whether the mark among these fields lasts for an hour; `None` without one.
fn mark_of(extra: Option<&Extra>) -> Option<bool> {
    is_hour(Extra::for_wire(extra, Wire::Anthropic)?.get(MARK)?)
}

fn is_hour(mark: &Raw) -> Option<bool> {
    let fields = Fields::parse(mark.text()).ok()?;
    Some(fields.get_str("ttl").as_deref() == Some("1h"))
}

fn extra_of(block: &Block) -> Option<&Extra> {
    match block {
        Block::Text(text) => text.extra.as_deref(),
        Block::Image(media) | Block::Document(media) => media.extra.as_deref(),
        Block::ToolUse(call) => call.extra.as_deref(),
        Block::ToolResult(result) => result.extra.as_deref(),
        Block::Thinking(_) | Block::Provider(_) => None,
    }
}

/// Sets a mark; false where nothing there can bear one.
fn set(request: &mut Request, place: Place, hour: bool) -> bool {
    match place {
        Place::Tools => {
            let mut tools = request.tools.to_vec();
            let Some(Tool::Function(tool)) = tools.last_mut() else { return false };
            tool.extra = Some(Box::new(marked(tool.extra.take(), hour)));
            request.tools = tools.into();
        }
        Place::Instructions => {
            let Some(system) = request.system.as_deref().and_then(|message| with_mark(message, hour)) else {
                return false;
            };
            request.system = Some(Arc::new(system));
        }
        Place::Message(at) => {
            let mark = |place: usize, message: &Message| (place == at).then(|| with_mark(message, hour)).flatten();
            let Some(messages) = request.messages.rewritten(mark) else { return false };
            request.messages = messages;
        }
        Place::End => return false,
    }
    true
}

/// The message with a mark on its last block that can bear one.
fn with_mark(message: &Message, hour: bool) -> Option<Message> {
    let bears = |block: &Block| match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::Image(_) | Block::Document(_) | Block::ToolUse(_) | Block::ToolResult(_) => true,
        Block::Thinking(_) | Block::Provider(_) => false,
    };
    let at = message.content.iter().rposition(bears)?;
    let mut message = message.clone();
    let extra = match message.content.get_mut(at)? {
        Block::Text(text) => &mut text.extra,
        Block::Image(media) | Block::Document(media) => &mut media.extra,
        Block::ToolUse(call) => &mut call.extra,
        Block::ToolResult(result) => &mut result.extra,
        Block::Thinking(_) | Block::Provider(_) => return None,
    };
    *extra = Some(Box::new(marked(extra.take(), hour)));
    Some(message)
}

/// The fields with a mark. Fields of another wire would not be sent, and give way to it.
fn marked(extra: Option<Box<Extra>>, hour: bool) -> Extra {
    let own = extra.filter(|extra| extra.wire == Wire::Anthropic);
    let mut extra = own.map_or_else(|| Extra { wire: Wire::Anthropic, fields: Fields::new() }, |own| *own);
    let mark = if hour { r#"{"type":"ephemeral","ttl":"1h"}"# } else { r#"{"type":"ephemeral"}"# };
    if let Ok(mark) = Fields::parse(mark) {
        extra.fields.set(MARK, mark.to_raw());
    }
    extra
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use loopwright_base::message::{ToolResult, ToolUse};
    use loopwright_models::profile::BodyRules;
    use loopwright_wire::anthropic::{decode_request, encode_request};

    /// The places of marks in the body of this request.
    fn places(request: &Request, marks: usize) -> Vec<String> {
        let profile = Profile { body: BodyRules { cache_marks: marks, ..BodyRules::default() }, ..Profile::default() };
        let own = with_marks(&profile, Wire::Anthropic, request).unwrap();
        let body: Value = serde_json::from_str(&encode_request(&BodyRules::default(), &own).unwrap()).unwrap();
        let mut found = Vec::new();
        walk(&body, "", &mut found);
        found
    }

    fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, each) in fields {
                    if key == MARK {
                        found.push(format!("{path}{}", each["ttl"].as_str().unwrap_or_default()));
                    } else {
                        walk(each, &format!("{path}/{key}"), found);
                    }
                }
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, each)| walk(each, &format!("{path}/{at}"), found));
            }
            _ => {}
        }
    }

    fn request() -> Request {
        let body = json!({"model": "m", "max_tokens": 9, "system": "Be brief.", "cache_control": {"type": "ephemeral"},
            "tools": [{"name": "f", "input_schema": {}}, {"name": "g", "input_schema": {}}],
            "messages": [{"role": "user", "content": "Go."}]});
        let mut request = decode_request(&body.to_string()).unwrap();
        let calls =
            |from: usize| (from..from + 15).map(|id| ToolUse::from_text(format!("c{id}"), "f", "{}".to_owned()));
        for round in 0..3 {
            let answer = calls(round * 15).map(Block::ToolUse).collect();
            request.messages.push(Message::new(Role::Assistant, answer));
            let results =
                calls(round * 15).map(|call| Block::ToolResult(ToolResult::text(call.id, "f", "ok"))).collect();
            request.messages.push(Message::new(Role::User, results));
        }
        request
    }

    #[test]
    fn the_end_of_each_request_is_marked_in_the_next_one_too() {
        let request = request();
        let all = ["/messages/4/content/14", "/messages/6/content/14", "/system/0", "/tools/1"];
        assert_eq!(places(&request, 4), all);
        assert_eq!(places(&request, 2), all[..2]);
        assert_eq!(places(&request, 1), all[1..2]);
        let silent = Request { cache: false, ..request };
        let body = BodyRules { cache_marks: 4, ..BodyRules::default() };
        assert!(with_marks(&Profile { body, ..Profile::default() }, Wire::Anthropic, &silent).is_none());
    }

    #[test]
    fn marks_of_the_users_own_count_and_what_stands_before_an_hour_is_kept_for_an_hour() {
        let mut request = request();
        let own = json!([{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]);
        let body = json!({"model": "m", "messages": [{"role": "user", "content": own}]});
        let long = decode_request(&body.to_string()).unwrap().messages;
        let rest = request.messages.clone();
        request.messages = long;
        rest.entries().iter().skip(1).for_each(|entry| request.messages.push_entry(Arc::clone(entry)));
        let found = ["/messages/0/content/01h", "/messages/4/content/14", "/messages/6/content/14", "/system/01h"];
        assert_eq!(places(&request, 4), found);
        assert_eq!(places(&request, 1), found[..1]);
    }
}
