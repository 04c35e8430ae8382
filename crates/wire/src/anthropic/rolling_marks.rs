//! Marks up to which a provider keeps a prompt, for hosts that keep only what is marked: the end of the request, the
//! end of the request before (from a mark back, only some blocks are searched for what was kept), the instructions and
//! the tools. Marks of the user's own count, and stay.

use std::sync::Arc;

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Form, Message, Role, Wire},
    request::{Caching, Request, Tool},
};

use super::marks::{MARK, extra_of, mark, mark_of_end, mark_of_tool, marks_in};

/// Places of marks, in the order in which a prompt is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MarkPlace {
    Tools,
    Instructions,
    /// The message with this place in the history.
    Message(usize),
    End,
}

/// The request with marks of its own, `most` with the user's; `None` where no caching is asked for.
pub fn with_marks(most: usize, request: &Request) -> Option<Request> {
    if request.cache.is_off() {
        return None;
    }
    // A host that takes none takes that of the request as a whole no more than others.
    if most == 0 {
        return Some(Request { cache: Caching::Off, ..request.clone() });
    }
    let own = own_marks(request);
    let room = most.saturating_sub(own.len());
    let last = request.messages.len().checked_sub(1)?;
    let answered = request.messages.iter().rposition(|message| message.role == Role::Assistant);
    let before = answered.and_then(|at| at.checked_sub(1)).map(MarkPlace::Message);
    let end = (!own.iter().any(|(place, _)| *place == MarkPlace::End)).then_some(MarkPlace::Message(last));
    let wanted = [end, before, Some(MarkPlace::Instructions), Some(MarkPlace::Tools)];
    // What is kept for an hour has to stand before what is kept for minutes.
    let hour = |place: MarkPlace| match request.cache {
        Caching::Hour => own.iter().all(|(at, hour)| *hour || place < *at),
        Caching::Usual | Caching::Off => own.iter().any(|(at, hour)| *hour && place < *at),
    };

    let messages = request.messages.in_dialect("texts in parts", in_parts);
    let mut marked = Request { cache: Caching::Off, messages, ..request.clone() };
    let mut left = room;
    for place in wanted.into_iter().flatten() {
        if left == 0 {
            break;
        }
        if own.iter().all(|(taken, _)| *taken != place) && set(&mut marked, place, hour(place)) {
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
fn own_marks(request: &Request) -> Vec<(MarkPlace, bool)> {
    let tools = request.tools.iter().filter_map(mark_of_tool).map(|mark| (MarkPlace::Tools, mark));
    let system =
        request.system.iter().flat_map(|message| marks_in(message)).map(|mark| (MarkPlace::Instructions, mark));
    let messages = request.messages.iter().enumerate();
    let messages = messages.flat_map(|(at, message)| marks_in(message).map(move |mark| (MarkPlace::Message(at), mark)));
    let end = mark_of_end(request).map(|mark| (MarkPlace::End, mark));
    tools.chain(system).chain(messages).chain(end).map(|(place, mark)| (place, is_hour(&mark))).collect()
}

fn is_hour(mark: &Raw) -> bool {
    Fields::parse(mark.text()).is_ok_and(|mark| mark.get_str("ttl").as_deref() == Some("1h"))
}

/// Sets a mark; false where nothing there can bear one.
fn set(request: &mut Request, place: MarkPlace, hour: bool) -> bool {
    match place {
        MarkPlace::Tools => {
            let mut tools = request.tools.to_vec();
            let Some(Tool::Function(tool)) = tools.last_mut() else { return false };
            tool.extra = Some(Box::new(marked(tool.extra.take(), hour)));
            request.tools = tools.into();
        }
        MarkPlace::Instructions => {
            let Some(system) = request.system.as_deref().and_then(|message| with_mark(message, hour)) else {
                return false;
            };
            request.system = Some(Arc::new(system));
        }
        MarkPlace::Message(at) => {
            let mark = |place: usize, message: &Message| (place == at).then(|| with_mark(message, hour)).flatten();
            let Some(messages) = request.messages.rewritten(mark) else { return false };
            request.messages = messages;
        }
        MarkPlace::End => return false,
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
    let extra = extra_of(message.content.get_mut(at)?)?;
    *extra = Some(Box::new(marked(extra.take(), hour)));
    Some(message)
}

/// The fields with a mark. Fields of another wire would not be sent, and give way to it.
fn marked(extra: Option<Box<Extra>>, hour: bool) -> Extra {
    let own = extra.filter(|extra| extra.wire == Wire::Anthropic);
    let mut extra = own.map_or_else(|| Extra { wire: Wire::Anthropic, fields: Fields::new() }, |own| *own);
    if let Ok(mark) = Fields::parse(mark(hour)) {
        extra.fields.set(MARK, mark.to_raw());
    }
    extra
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        super::{decode_request, encode_request},
        *,
    };
    use loopwright_base::message::{ToolResult, ToolUse};
    use loopwright_models::profile::BodyRules;

    /// The places of marks in the body of this request.
    fn places(request: &Request, marks: usize) -> Vec<String> {
        let own = with_marks(marks, request).unwrap();
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
        let silent = Request { cache: Caching::Off, ..request };
        assert!(with_marks(4, &silent).is_none());
        let unmarked = with_marks(0, &Request { cache: Caching::Usual, ..silent }).unwrap();
        assert!(!encode_request(&BodyRules::default(), &unmarked).unwrap().contains(MARK));
    }

    #[test]
    fn a_mark_on_the_request_is_the_one_at_its_end_however_it_is_given() {
        let mut request = request();
        request.pass(Fields::parse(r#"{"cache_control":{"type":"ephemeral"}}"#).unwrap());
        assert_eq!(places(&request, 4), ["/messages/4/content/14", "/system/0", "/tools/1"]);
        assert_eq!(places(&request, 2), ["/messages/4/content/14"]);
    }

    #[test]
    fn marks_for_an_hour_stand_before_those_that_last_for_minutes() {
        let mut request = Request { cache: Caching::Hour, ..request() };
        let all = ["/messages/4/content/141h", "/messages/6/content/141h", "/system/01h", "/tools/11h"];
        assert_eq!(places(&request, 4), all);
        request.system = decode_request(
            r#"{"model": "m", "messages": [{"role": "user", "content": "Go."}],
                "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]}"#,
        )
        .unwrap()
        .system;
        let mixed = ["/messages/4/content/14", "/messages/6/content/14", "/system/0", "/tools/11h"];
        assert_eq!(places(&request, 4), mixed, "the user's own mark lasts for minutes");
        let body = encode_request(&BodyRules::default(), &request).unwrap();
        assert_eq!(decode_request(&body).unwrap().cache, Caching::Hour);
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
