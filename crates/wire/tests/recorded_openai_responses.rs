//! The codec of the Responses API against recordings of real traffic: nothing is lost in either direction, and a
//! stream gives the same answer wherever its bytes are cut.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and says what it checked")]

use std::fs;

use loopwright_base::{
    error::{Failure, FailureKind},
    json::Raw,
    message::{Block, StopReason, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire::{self as wire, stream::Stream};
use serde_json::Value;

const WIRE: Wire = Wire::OpenaiResponses;

struct Exchange {
    name: String,
    request: Value,
    response: Value,
}

/// The recorded exchanges of this wire; `None` where the data is not there. More recordings can be tried by naming
/// their folder in the environment.
fn recorded() -> Option<Vec<Exchange>> {
    let root = match std::env::var_os("LOOPWRIGHT_RECORDED") {
        Some(folder) => folder.into(),
        None => loopwright_testing::data::shared("recorded")?,
    };
    let mut exchanges = Vec::new();
    for folder in ["openai-responses", "openai-chat"] {
        let mut files: Vec<_> = fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
            let list: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            for (n, exchange) in list.into_iter().enumerate() {
                let path = exchange["path"].as_str().unwrap();
                let is_ours = path.split('/').any(|part| part == "responses") && !path.ends_with("/input_tokens");
                if is_ours && exchange["status"] == 200 {
                    exchanges.push(Exchange {
                        name: format!("{} #{n} {path}", file.file_name().unwrap().to_string_lossy()),
                        request: exchange["request"].clone(),
                        response: exchange["response"].clone(),
                    });
                }
            }
        }
    }
    assert!(!exchanges.is_empty());
    Some(exchanges)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Our own form goes through text without a change.
fn own_form<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, value);
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
}

/// The data of all events.
fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(json).collect()
}

fn feed(chunks: &[&[u8]]) -> (Result<Response, Failure>, Vec<Delta>) {
    let mut stream = Stream::new(WIRE);
    let mut deltas = Vec::new();
    for chunk in chunks {
        if let Err(failure) = stream.feed(chunk, &mut deltas) {
            return (Err(failure), deltas);
        }
    }
    let response = stream.finish(&mut deltas);
    (response, deltas)
}

fn sse(events: &[(String, String)]) -> String {
    events.iter().fold(String::new(), |text, (name, data)| text + "event: " + name + "\ndata: " + data + "\n\n")
}

/// The joined deltas are the blocks of the answer.
fn check_deltas(response: &Response, deltas: &[Delta]) {
    let blocks = &response.message.content;
    let mut texts = vec![String::new(); blocks.len()];
    let mut announced = vec![0; blocks.len()];
    for delta in deltas {
        match delta {
            Delta::Text { block, text } => {
                assert!(matches!(blocks[*block], Block::Text(_)));
                texts[*block].push_str(text);
            }
            Delta::Reasoning { block, text } => {
                assert!(matches!(blocks[*block], Block::Thinking(_)));
                texts[*block].push_str(text);
            }
            Delta::Arguments { block, text } => {
                assert_eq!(announced[*block], 1, "arguments before their call");
                texts[*block].push_str(text);
            }
            Delta::ToolUse { block, id, name } => {
                let Block::ToolUse(call) = &blocks[*block] else { panic!("no call at {block}") };
                assert_eq!((id, name), (&call.id, &call.name));
                announced[*block] += 1;
            }
            Delta::Provider { block, kind, .. } => {
                let Block::Provider(provider) = &blocks[*block] else { panic!("no provider's block at {block}") };
                assert_eq!(*kind, provider.kind());
                announced[*block] += 1;
            }
            other @ (Delta::Search(_) | Delta::Batch { .. }) => panic!("no answer here searches: {other:?}"),
        }
    }
    for (n, block) in blocks.iter().enumerate() {
        match block {
            Block::Text(text) => assert_eq!(texts[n], text.text),
            Block::Thinking(thinking) => assert_eq!(texts[n], thinking.text),
            Block::ToolUse(call) => {
                assert_eq!(announced[n], 1);
                assert_eq!(texts[n].trim(), call.arguments_text().trim());
            }
            Block::Provider(_) => assert_eq!(announced[n], 1),
            other => panic!("unexpected {}", other.kind()),
        }
    }
}

#[test]
fn requests_come_back_equal() {
    let Some(exchanges) = recorded() else { return };
    let mut checked = 0;
    for exchange in exchanges.iter().filter(|exchange| exchange.request.is_object()) {
        let body = exchange.request.to_string();
        let request = wire::decode_request(WIRE, &body).unwrap();
        let written = wire::encode_request(WIRE, &request).unwrap();
        assert_eq!(json(&written), exchange.request, "{}", exchange.name);
        assert_eq!(wire::decode_request(WIRE, &written).unwrap(), request, "{}", exchange.name);
        own_form(&request);
        checked += 1;
    }
    println!("{checked} requests came back equal");
    assert_ne!(checked, 0);
}

#[test]
fn answers_come_back_equal() {
    let Some(exchanges) = recorded() else { return };
    let (mut checked, mut pending, mut calls, mut compactions) = (0, 0, 0, 0);
    for exchange in exchanges.iter().filter(|exchange| exchange.response.is_object()) {
        let body = exchange.response.to_string();
        let response = wire::decode_response(WIRE, &body).unwrap();
        let written = wire::encode_response(WIRE, &response);
        assert_eq!(json(&written), exchange.response, "{}", exchange.name);
        assert_eq!(wire::decode_response(WIRE, &written).unwrap(), response, "{}", exchange.name);
        own_form(&response);

        let raw = &exchange.response;
        assert_eq!(response.usage.input, raw["usage"]["input_tokens"].as_u64().unwrap_or(0));
        assert_eq!(response.usage.output, raw["usage"]["output_tokens"].as_u64().unwrap_or(0));
        let output = raw["output"].as_array().unwrap();
        let count = output.iter().filter(|item| item["type"] == "function_call").count();
        assert_eq!(response.message.tool_uses().count(), count);
        match raw["status"].as_str() {
            Some(status @ ("queued" | "in_progress")) => {
                assert_eq!(response.stop, StopReason::Other(status.to_owned()));
                pending += 1;
            }
            _ if count > 0 => assert_eq!(response.stop, StopReason::ToolUse),
            _ => assert_eq!(response.stop, StopReason::EndTurn),
        }
        calls += count;
        if raw["object"] == "response.compaction" {
            assert!(response.message.content.iter().all(|block| matches!(block, Block::Provider(_))));
            compactions += 1;
        }
        checked += 1;
    }
    println!("{checked} answers came back equal: {calls} calls, {pending} pending, {compactions} compactions");
    assert!(checked > 0 && calls > 0 && pending > 0 && compactions > 0);
}

#[test]
fn items_of_an_answer_go_back_as_they_came() {
    let Some(exchanges) = recorded() else { return };
    let mut checked = 0;
    for exchange in exchanges.iter().filter(|exchange| exchange.response.is_object()) {
        let response = wire::decode_response(WIRE, &exchange.response.to_string()).unwrap();
        let request = Request { messages: [response.message].into_iter().collect(), ..Request::default() };
        let sent = json(&wire::encode_request(WIRE, &request).unwrap());
        let output = exchange.response["output"].as_array().unwrap();
        let unsigned = |item: &&Value| item["type"] == "reasoning" && !item["encrypted_content"].is_string();
        if !output.iter().any(|item| unsigned(&item)) {
            assert_eq!(sent["input"].as_array().unwrap(), output, "{}", exchange.name);
            checked += 1;
        }
    }
    println!("the items of {checked} answers went back as they came");
    assert_ne!(checked, 0);
}

#[test]
fn streams_give_the_same_answer_wherever_they_are_cut() {
    let Some(exchanges) = recorded() else { return };
    let (mut streams, mut cuts) = (0, 0);
    for exchange in &exchanges {
        let Some(text) = exchange.response.as_str() else { continue };
        let bytes = text.as_bytes();
        let (whole, deltas) = feed(&[bytes]);
        let whole = whole.unwrap();
        check_deltas(&whole, &deltas);
        own_form(&whole);

        // The last event's answer, read at once, is the same.
        let last = events(text).into_iter().rfind(|event| event["response"].is_object()).unwrap();
        assert_eq!(json(&wire::encode_response(WIRE, &whole)), last["response"], "{}", exchange.name);

        let stride = if bytes.len() < 6_000 { 1 } else { 61 };
        let near = |at: usize| {
            let around = &bytes[at.saturating_sub(4)..(at + 4).min(bytes.len())];
            around.iter().any(|byte| !byte.is_ascii()) || around.windows(2).any(|two| two == b"\n\n")
        };
        let places: Vec<usize> = (0..=bytes.len()).filter(|at| at % stride == 0 || near(*at)).collect();
        // Each cut reads the whole stream again: of very long ones, fewer.
        for &at in places.iter().step_by(places.len() * bytes.len() / 60_000_000 + 1) {
            let (response, cut) = feed(&[&bytes[..at], &bytes[at..]]);
            assert_eq!(response.unwrap(), whole, "cut at {at} of {}", exchange.name);
            assert_eq!(cut, deltas);
            cuts += 1;
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let (response, one_by_one) = feed(&single);
        assert_eq!(response.unwrap(), whole);
        assert_eq!(one_by_one, deltas);

        // Broken off anywhere before its last event, it is cut, and what is kept is a prefix.
        for at in (0..bytes.len() - 2).step_by(bytes.len() / 50 + 1) {
            let mut stream = Stream::new(WIRE);
            stream.feed(&bytes[..at], &mut Vec::new()).unwrap();
            if let Some(partial) = stream.partial() {
                assert!(whole.message.prose().starts_with(&partial.message.prose()));
            }
            match stream.finish(&mut Vec::new()) {
                Ok(response) => assert_eq!(response, whole),
                Err(failure) => {
                    assert!(matches!(failure.kind, FailureKind::Cut | FailureKind::InvalidBody), "{failure:?}");
                }
            }
        }
        streams += 1;
    }
    println!("{streams} streams gave the same answer for {cuts} cuts in two and for single bytes");
    assert!(streams > 0 && cuts > 0);
}

#[test]
fn answers_streamed_by_us_are_the_same() {
    let Some(exchanges) = recorded() else { return };
    let mut checked = 0;
    for exchange in &exchanges {
        let response = match exchange.response.as_str() {
            Some(text) => feed(&[text.as_bytes()]).0.unwrap(),
            None => wire::decode_response(WIRE, &exchange.response.to_string()).unwrap(),
        };
        for piece in [1, 7, 1_000] {
            let events = wire::encode_stream(WIRE, &response, piece);
            for (n, (name, data)) in events.iter().enumerate() {
                let event = json(data);
                assert_eq!(event["sequence_number"], n);
                assert_eq!(event["type"], *name);
            }
            let (back, deltas) = feed(&[sse(&events).as_bytes()]);
            assert_eq!(back.unwrap(), response, "{}", exchange.name);
            check_deltas(&response, &deltas);
        }
        checked += 1;
    }
    println!("{checked} answers came back from our own stream");
    assert_ne!(checked, 0);
}

#[test]
fn our_events_have_the_fields_of_the_recorded_ones() {
    let Some(exchanges) = recorded() else { return };
    let mut checked = 0;
    for exchange in &exchanges {
        let Some(text) = exchange.response.as_str() else { continue };
        let real = events(text);
        if real[0]["type"] != "response.created" {
            // The rest of a stream that was taken up again.
            continue;
        }
        let response = feed(&[text.as_bytes()]).0.unwrap();
        let ours: Vec<Value> = wire::encode_stream(WIRE, &response, 4).iter().map(|(_, data)| json(data)).collect();
        let kinds = |events: &[Value]| -> Vec<Value> {
            let mut kinds: Vec<Value> = events.iter().map(|event| event["type"].clone()).collect();
            // Progress of the provider's own tools is not ours to invent, nor where in the text annotations came.
            let always = ["response.created", "response.in_progress", "response.completed", "response.incomplete"];
            let parts =
                ["_item.", "content_part.", "output_text.", "refusal.", "reasoning_", "function_call_arguments."];
            kinds.retain(|kind| {
                let kind = kind.as_str().unwrap();
                let is_part = parts.iter().any(|part| kind.contains(part)) && !kind.contains("annotation");
                is_part || always.contains(&kind)
            });
            kinds.dedup();
            kinds
        };
        assert_eq!(kinds(&ours), kinds(&real), "{}", exchange.name);
        for event in &ours {
            let same = real.iter().find(|real| real["type"] == event["type"]).unwrap();
            for key in same.as_object().unwrap().keys().filter(|key| *key != "obfuscation") {
                assert!(event.get(key).is_some(), "{} lacks {key}", event["type"]);
            }
            checked += 1;
        }
    }
    println!("{checked} events of ours have the recorded fields");
    assert_ne!(checked, 0);
}

#[test]
fn appending_leaves_what_was_sent_before() {
    let Some(exchanges) = recorded() else { return };
    let mut checked = 0;
    for exchange in exchanges.iter().filter(|exchange| exchange.request["input"].is_array()) {
        let mut request = wire::decode_request(WIRE, &exchange.request.to_string()).unwrap();
        let items = |request: &Request| {
            let body = wire::encode_request(WIRE, request).unwrap();
            let fields: std::collections::BTreeMap<String, Raw> = serde_json::from_str(&body).unwrap();
            fields["input"].text().to_owned()
        };
        let before = items(&request);
        request.messages.push(loopwright_base::message::Message::user("and now?"));
        assert!(items(&request).starts_with(before.strip_suffix(']').unwrap()), "{}", exchange.name);
        checked += 1;
    }
    println!("{checked} histories kept their bytes");
    assert_ne!(checked, 0);
}
