//! The Chat Completions codec against recordings of real servers: nothing may be lost in either direction, and a
//! stream gives the same answer wherever its bytes are cut.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{fmt::Write as _, fs};

use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Block, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire::{self as wire, stream::Stream};
use serde::Deserialize;
use serde_json::Value;

const WIRE: Wire = Wire::OpenaiChat;

#[derive(Deserialize)]
struct Exchange {
    path: String,
    request: Value,
    status: u16,
    content_type: String,
    response: Value,
    #[serde(skip)]
    name: String,
}

/// All recorded exchanges of this wire; none, with a message, where the recordings are not at hand.
fn exchanges() -> Option<Vec<Exchange>> {
    let folders = fs::read_dir(loopwright_testing::data::shared("recorded")?).unwrap();
    let mut all = Vec::new();
    for folder in folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let list: Vec<Exchange> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            for (place, mut exchange) in list.into_iter().enumerate() {
                if exchange.path.ends_with("/chat/completions") {
                    exchange.name = format!("{}[{place}]", file.file_name().unwrap().to_string_lossy());
                    all.push(exchange);
                }
            }
        }
    }
    Some(all)
}

fn checked(what: &str, count: usize) {
    println!("{what}: {count} exchanges checked");
    assert!(count > 0, "no {what} in the recordings");
}

fn run(pieces: &[&[u8]]) -> (Result<Response, Failure>, Vec<Delta>) {
    let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
    for piece in pieces {
        if let Err(failure) = stream.feed(piece, &mut deltas) {
            return (Err(failure), deltas);
        }
    }
    (stream.finish(&mut deltas), deltas)
}

/// What the deltas give when they are joined must be what the answer holds.
fn assert_deltas(name: &str, deltas: &[Delta], response: &Response) {
    let mut joined: Vec<(&str, String)> = response.message.content.iter().map(|b| (b.kind(), String::new())).collect();
    for delta in deltas {
        let (block, kind, text) = match delta {
            Delta::Text { block, text } => (*block, "text", text),
            Delta::Reasoning { block, text } => (*block, "thinking", text),
            Delta::Arguments { block, text } => (*block, "tool_use", text),
            Delta::ToolUse { block, id, name: tool } => {
                let Block::ToolUse(call) = &response.message.content[*block] else { panic!("{name}: {delta:?}") };
                assert_eq!((id, tool), (&call.id, &call.name), "{name}");
                continue;
            }
            Delta::Provider { .. } | Delta::Search(_) | Delta::Batch { .. } => panic!("{name}: {delta:?}"),
        };
        assert_eq!(joined[block].0, kind, "{name}");
        joined[block].1.push_str(text);
    }
    for (block, (_, text)) in response.message.content.iter().zip(joined) {
        match block {
            Block::Text(expected) => assert_eq!(text, expected.text, "{name}"),
            Block::Thinking(expected) => assert_eq!(text, expected.text, "{name}"),
            Block::ToolUse(expected) => assert_eq!(text, expected.arguments_text(), "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// The answer, streamed as this wire would stream it and read again.
fn streamed(response: &Response, piece: usize) -> (Response, Vec<Delta>) {
    let mut bytes = String::new();
    for (name, data) in wire::encode_stream(WIRE, response, piece) {
        assert_eq!(name, "");
        write!(bytes, "data: {data}\n\n").unwrap();
    }
    let (again, deltas) = run(&[bytes.as_bytes()]);
    (again.unwrap(), deltas)
}

fn assert_streams_again(name: &str, response: &Response) {
    for piece in [0, 1, 7, 1_000_000] {
        let (again, deltas) = streamed(response, piece);
        assert_eq!(again.id, response.id, "{name}");
        assert_eq!(again.model, response.model, "{name}");
        assert_eq!(again.message, response.message, "{name}");
        assert_eq!(again.stop, response.stop, "{name}");
        assert_eq!(again.usage, response.usage, "{name}");
        assert_deltas(name, &deltas, response);
    }
}

fn assert_own_form<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
    name: &str,
    it: &T,
) {
    let text = serde_json::to_string(it).unwrap();
    let back: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, it, "{name}");
    assert_eq!(serde_json::to_string(&back).unwrap(), text, "{name}");
}

#[test]
fn requests_are_lossless() {
    let Some(all) = exchanges() else { return };
    for exchange in &all {
        let request = wire::decode_request(WIRE, &exchange.request.to_string()).unwrap();
        let sent: Value = serde_json::from_str(&wire::encode_request(WIRE, &request).unwrap()).unwrap();
        assert_eq!(sent, exchange.request, "{}", exchange.name);
        assert_own_form::<Request>(&exchange.name, &request);
        // Our own form forgets nothing that the wire needs.
        let own: Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        let sent: Value = serde_json::from_str(&wire::encode_request(WIRE, &own).unwrap()).unwrap();
        assert_eq!(sent, exchange.request, "{}", exchange.name);
    }
    checked("requests", all.len());
}

#[test]
fn answers_are_lossless() {
    let Some(all) = exchanges() else { return };
    let whole: Vec<_> = all.iter().filter(|exchange| exchange.status == 200 && exchange.response.is_object()).collect();
    for exchange in &whole {
        let name = &exchange.name;
        let response = wire::decode_response(WIRE, &exchange.response.to_string()).unwrap();
        let written: Value = serde_json::from_str(&wire::encode_response(WIRE, &response)).unwrap();
        assert_eq!(written, exchange.response, "{name}");
        assert_own_form::<Response>(name, &response);
        assert_streams_again(name, &response);
        // A streamed answer holds all that the whole one did.
        let (again, _) = streamed(&response, 5);
        let mut written: Value = serde_json::from_str(&wire::encode_response(WIRE, &again)).unwrap();
        // A stream doesn't tell an absent content from none.
        let message = &exchange.response["choices"][0]["message"];
        if message.get("content").is_none() {
            written["choices"][0]["message"].as_object_mut().unwrap().remove("content");
        }
        assert_eq!(written, exchange.response, "{name}");
        // The message goes back without what only answers hold.
        let back: Value = serde_json::from_str(&wire::encode_message(WIRE, &response.message)).unwrap();
        assert_eq!(back.get("annotations"), None, "{name}");
        assert_eq!(back["content"].as_str(), message["content"].as_str(), "{name}");
        assert_eq!(back.get("tool_calls"), message.get("tool_calls"), "{name}");
    }
    checked("whole answers", whole.len());
}

#[test]
fn streams_give_the_same_answer_however_they_are_cut() {
    let Some(all) = exchanges() else { return };
    let streams: Vec<_> =
        all.iter().filter(|exchange| exchange.content_type.starts_with("text/event-stream")).collect();
    for exchange in &streams {
        let name = &exchange.name;
        let bytes = exchange.response.as_str().unwrap().as_bytes();
        let (whole, deltas) = run(&[bytes]);
        let whole = whole.unwrap();
        assert_deltas(name, &deltas, &whole);
        assert!(whole.usage.total() > 0 && !whole.id.is_empty() && !whole.model.is_empty(), "{name}");
        assert_streams_again(name, &whole);
        assert_own_form::<Response>(name, &whole);
        for cut in 0..=bytes.len() {
            let (response, again) = run(&[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(response.unwrap(), whole, "{name} cut at {cut}");
            assert_eq!(again, deltas, "{name} cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let (response, again) = run(&single);
        assert_eq!((response.unwrap(), again), (whole.clone(), deltas), "{name}");
        // Bytes that break off give a failure or the same message, and what is left is a part of it.
        for cut in 0..bytes.len() {
            let (mut stream, mut deltas) = (Stream::new(WIRE), Vec::new());
            stream.feed(&bytes[..cut], &mut deltas).unwrap();
            if let Some(partial) = stream.partial() {
                assert!(whole.message.prose().starts_with(&partial.message.prose()), "{name} cut at {cut}");
                assert_eq!(partial.message.tool_uses().count(), 0);
            }
            match stream.finish(&mut deltas) {
                Ok(response) => assert_eq!(response.message, whole.message, "{name} cut at {cut}"),
                // The last event is handed over although it was not closed: half of it is no JSON.
                Err(failure) => {
                    assert!(matches!(failure.kind, FailureKind::Cut | FailureKind::InvalidBody), "{name}: {failure:?}");
                }
            }
        }
    }
    checked("streams", streams.len());
}

#[test]
fn failures_have_their_kind() {
    let Some(all) = exchanges() else { return };
    let mut count = 0;
    for exchange in &all {
        if exchange.status != 200 {
            let failure = wire::decode_failure(exchange.status, None, &exchange.response.to_string());
            assert_eq!((exchange.status, failure.kind), (400, FailureKind::BadRequest), "{}", exchange.name);
            let words = exchange.response["error"]["message"].as_str().unwrap();
            assert!(failure.message.contains(words), "{failure:?}");
            count += 1;
        } else if exchange.content_type.starts_with("text/plain") {
            let text = exchange.response.as_str().unwrap();
            let failure = wire::decode_response(WIRE, text).unwrap_err();
            assert_eq!(failure.kind, FailureKind::InvalidBody, "{}", exchange.name);
            assert!(failure.message.contains(text), "{failure:?}");
            let (streamed, _) = run(&[text.as_bytes()]);
            assert_eq!(streamed.unwrap_err().kind, FailureKind::Cut);
            count += 1;
        }
    }
    checked("failures", count);
}
