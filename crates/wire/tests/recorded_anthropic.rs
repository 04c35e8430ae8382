//! The Anthropic codec against recordings of the real provider: nothing may be lost in either direction, and a stream
//! may be cut anywhere.

#![allow(clippy::unwrap_used)] // a test stops where something is wrong

use std::{fs, path::PathBuf};

use loopwright_base::{
    error::FailureKind,
    message::{Block, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire::{
    decode_failure, decode_request, decode_response, encode_request, encode_response, encode_stream, stream::Stream,
};
use serde_json::Value;

const WIRE: Wire = Wire::Anthropic;

struct Exchange {
    file: String,
    path: String,
    request: Value,
    status: u64,
    response: Value,
}

fn recorded() -> Vec<Exchange> {
    let Some(folder) = loopwright_testing::data::shared("recorded/anthropic") else { return Vec::new() };
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "json"));
    files.sort();
    let mut exchanges = Vec::new();
    for file in files {
        let list: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        exchanges.extend(list.into_iter().map(|exchange| Exchange {
            file: file.file_stem().unwrap().to_string_lossy().into_owned(),
            path: exchange["path"].as_str().unwrap().to_owned(),
            request: exchange["request"].clone(),
            status: exchange["status"].as_u64().unwrap(),
            response: exchange["response"].clone(),
        }));
    }
    assert!(!exchanges.is_empty(), "the folder of recordings is empty");
    exchanges
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What a stream gives: the response and the deltas.
fn read(pieces: &[&[u8]]) -> (Response, Vec<Delta>) {
    let mut stream = Stream::new(WIRE);
    let mut deltas = Vec::new();
    for piece in pieces {
        stream.feed(piece, &mut deltas).unwrap();
    }
    let response = stream.finish(&mut deltas).unwrap();
    assert!(stream.is_done());
    (response, deltas)
}

/// The text of all deltas of a block, by what they are.
fn joined(deltas: &[Delta], at: usize) -> [String; 3] {
    let mut all = [const { String::new() }; 3];
    for delta in deltas {
        match delta {
            Delta::Text { block, text } if *block == at => all[0].push_str(text),
            Delta::Reasoning { block, text } if *block == at => all[1].push_str(text),
            Delta::Arguments { block, text } if *block == at => all[2].push_str(text),
            _ => {}
        }
    }
    all
}

fn check_deltas(response: &Response, deltas: &[Delta], from: &str) {
    for (at, block) in response.message.content.iter().enumerate() {
        let [text, reasoning, arguments] = joined(deltas, at);
        match block {
            Block::Text(block) => assert_eq!(text, block.text, "{from}"),
            Block::Thinking(block) => assert_eq!(reasoning, block.text, "{from}"),
            Block::ToolUse(call) => {
                let arguments = if arguments.is_empty() { "{}" } else { arguments.as_str() };
                assert_eq!(arguments, call.arguments_text(), "{from}");
                assert!(deltas.iter().any(|delta| matches!(delta, Delta::ToolUse { block, id, name }
                    if *block == at && *id == call.id && *name == call.name)));
            }
            Block::Provider(provider) => {
                let shown = deltas.iter().any(|delta| {
                    matches!(delta, Delta::Provider { block, kind, .. } if *block == at && *kind == provider.kind())
                });
                assert!(shown, "{from}");
            }
            _ => panic!("{from}: an answer holds {block:?}"),
        }
    }
}

/// The events as bytes, as a server would send them.
fn bytes(events: &[(String, String)]) -> Vec<u8> {
    events.iter().flat_map(|(name, data)| format!("event: {name}\ndata: {data}\n\n").into_bytes()).collect()
}

fn check_own_stream(response: &Response, from: &str) {
    for piece in [0, 1, 7, 100_000] {
        let sent = bytes(&encode_stream(WIRE, response, piece));
        let (again, deltas) = read(&[&sent]);
        assert_eq!(&again, response, "{from}, pieces of {piece}");
        check_deltas(&again, &deltas, from);
    }
}

fn check_own_form<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(it: &T) {
    let text = serde_json::to_string(it).unwrap();
    let back: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, it);
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
}

#[test]
fn requests_are_lossless() {
    let (mut messages, mut counts) = (0, 0);
    for exchange in recorded() {
        let counting = match exchange.path.as_str() {
            "/v1/messages" => false,
            "/v1/messages/count_tokens" => true,
            _ => continue,
        };
        let request = decode_request(WIRE, &exchange.request.to_string()).unwrap();
        let body = encode_request(WIRE, &request).unwrap();
        assert_eq!(value(&body), exchange.request, "{}", exchange.file);
        check_own_form(&request);
        // Through our own form, with nothing remembered.
        let back: Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        assert_eq!(encode_request(WIRE, &back).unwrap(), body, "{}", exchange.file);
        *(if counting { &mut counts } else { &mut messages }) += 1;
    }
    eprintln!("{messages} requests of messages and {counts} of counts are lossless");
    assert!((messages > 0 && counts > 0) || recorded().is_empty());
}

#[test]
fn whole_answers_are_lossless() {
    let mut checked = 0;
    for exchange in recorded() {
        if exchange.path != "/v1/messages" || exchange.status != 200 || !exchange.response.is_object() {
            continue;
        }
        let response = decode_response(WIRE, &exchange.response.to_string()).unwrap();
        let from = &exchange.file;
        assert_eq!(value(&encode_response(WIRE, &response)), exchange.response, "{from}");
        let counts = &exchange.response["usage"];
        let count = |key: &str| counts[key].as_u64().unwrap_or(0);
        let input = count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens");
        assert_eq!((response.usage.input, response.usage.output), (input, count("output_tokens")), "{from}");
        check_own_form(&response);
        check_own_stream(&response, from);
        checked += 1;
    }
    eprintln!("{checked} whole answers are lossless");
    assert!(checked > 0 || recorded().is_empty());
}

/// How many cuts of the stream were tried; all give the same.
fn check_cuts(from: &str, text: &str) -> usize {
    let all = text.as_bytes();
    let whole = read(&[all]);
    check_deltas(&whole.0, &whole.1, from);
    // All places in short streams; in long ones a part of them, and all that stand next to anything but ASCII.
    let stride = if all.len() < 8_000 { 1 } else { 23 };
    let near = |at: usize| all[at.saturating_sub(4)..].iter().take(8).any(|byte| !byte.is_ascii());
    let places: Vec<usize> = (0..=all.len()).filter(|at| at.is_multiple_of(stride) || near(*at)).collect();
    for at in &places {
        assert_eq!(read(&[&all[..*at], &all[*at..]]), whole, "{from} cut at {at}");
    }
    assert_eq!(read(&all.chunks(1).collect::<Vec<_>>()), whole, "{from} byte by byte");
    places.len()
}

#[test]
fn streams_may_be_cut_anywhere() {
    let exchanges = recorded();
    let streams: Vec<(&Exchange, &str)> =
        exchanges.iter().filter_map(|exchange| Some((exchange, exchange.response.as_str()?))).collect();
    let cuts: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            streams.iter().map(|(exchange, text)| scope.spawn(|| check_cuts(&exchange.file, text))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    eprintln!("{} streams give the same answer at {cuts} cuts and byte by byte", streams.len());
    assert!((!streams.is_empty() && cuts > 1_000) || exchanges.is_empty());
}

#[test]
fn streamed_answers_are_lossless() {
    let mut checked = 0;
    for exchange in recorded() {
        let Some(text) = exchange.response.as_str() else { continue };
        let from = &exchange.file;
        let whole = read(&[text.as_bytes()]).0;
        check_own_form(&whole);
        check_own_stream(&whole, from);
        // The same answer whole.
        let again = decode_response(WIRE, &encode_response(WIRE, &whole)).unwrap();
        assert_eq!(again, whole, "{from}");
        // And as history.
        let mut request = decode_request(WIRE, &exchange.request.to_string()).unwrap();
        request.messages.push(whole.message.clone());
        let body = value(&encode_request(WIRE, &request).unwrap());
        let sent = body["messages"].as_array().unwrap();
        let before = exchange.request["messages"].as_array().unwrap();
        assert_eq!(sent.len(), before.len() + 1);
        assert_eq!(&sent[..before.len()], &before[..]);
        checked += 1;
    }
    eprintln!("{checked} streamed answers are lossless");
    assert!(checked > 0 || recorded().is_empty());
}

#[test]
fn streams_that_break_off_leave_a_legal_history() {
    for exchange in recorded() {
        let Some(text) = exchange.response.as_str() else { continue };
        let whole = read(&[text.as_bytes()]).0;
        for at in (0..text.len()).step_by(97) {
            let mut stream = Stream::new(WIRE);
            stream.feed(&text.as_bytes()[..at], &mut Vec::new()).unwrap();
            let Some(partial) = stream.partial() else { continue };
            assert!(whole.message.prose().starts_with(&partial.message.prose()), "{} at {at}", exchange.file);
            let mut results = partial.message.content.iter().filter_map(|block| match block {
                Block::Provider(block) => block.field("tool_use_id"),
                _ => None,
            });
            for block in &partial.message.content {
                match block {
                    Block::Thinking(thinking) => assert!(thinking.signature.is_some() || thinking.redacted.is_some()),
                    Block::Provider(block) if block.is_tool_use() => assert_eq!(results.next(), block.field("id")),
                    _ => {}
                }
            }
            if stream.is_done() {
                continue;
            }
            match stream.finish(&mut Vec::new()) {
                // What breaks off behind the end that was said stands.
                Ok(stands) => assert_eq!(stands.message, whole.message),
                Err(failure) => assert_eq!(failure.kind, FailureKind::Cut),
            }
        }
    }
}

#[test]
fn refusals_have_their_kind() {
    let mut checked = 0;
    for exchange in recorded() {
        if exchange.status == 200 {
            continue;
        }
        let failure = decode_failure(exchange.status as u16, None, &exchange.response.to_string());
        assert_eq!((exchange.status, failure.kind), (400, FailureKind::BadRequest), "{}", exchange.file);
        assert!(failure.message.contains("does not support effort level"), "{}", failure.message);
        assert_eq!(failure.request_id.as_deref(), exchange.response["request_id"].as_str());
        checked += 1;
    }
    eprintln!("{checked} refusals have their kind");
    assert!(checked > 0 || recorded().is_empty());
}
