//! Streams: whole, thin, broken off, contradictory, failed.

use loopwright_base::{
    error::FailureKind,
    message::{Block, StopReason, Usage},
    request::{Delta, ProviderSearch, SearchEnd},
};
use loopwright_wire::{Decode, openai_responses::StreamDecoder};
use serde_json::{Value, json};

use crate::{answer, decode, items, stream};

/// A stream with reasoning, a search, a call and text, as the API writes it.
pub(crate) fn rich() -> (Vec<Value>, Value) {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "enc", "summary": [
        {"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let message = json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": "Grüße", "annotations": []}]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}",
        "status": "completed"});
    let mut body = answer(&json!([reasoning, search, message, call]));
    body["usage"] = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 17});
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress", "output": []}}),
        json!({"type": "response.in_progress", "response": {"id": "resp_1", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0, "part": {}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "On"}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "e."}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "Two."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}}),
        json!({"type": "response.web_search_call.searching", "output_index": 1, "item_id": "ws_1"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": search}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "message", "id": "msg_1", "role": "assistant", "content": []}}),
        json!({"type": "response.content_part.added", "output_index": 2, "content_index": 0, "part": {"type": "output_text", "text": ""}}),
        json!({"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "Grü"}),
        json!({"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "ße"}),
        json!({"type": "response.output_text.done", "output_index": 2, "content_index": 0, "text": "Grüße"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": message}),
        json!({"type": "response.output_item.added", "output_index": 3, "item": {"type": "function_call", "call_id": "c1", "name": "add", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{\"a\""}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": ":1}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 3, "arguments": "{\"a\":1}"}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": call}),
    ];
    events.push(json!({"type": "response.completed", "response": body}));
    (events, body)
}

#[test]
fn a16_a_stream_gives_the_whole_answer_and_shows_all_of_it() {
    let (events, body) = rich();
    let (response, deltas, _) = stream(&events);
    let whole = decode(&body);
    assert_eq!(response.unwrap(), whole);
    let usage = Usage {
        input: 10,
        output: 7,
        cache_read: 4,
        cache_write: 0,
        cache_write_hour: 0,
        reasoning: 5,
        provider_tool_uses: 1,
    };
    assert_eq!(whole.usage, usage);
    let text = |text: &str| text.to_owned();
    let searched = |end| Delta::Search(ProviderSearch { id: text("ws_1"), query: Some(String::new()), end });
    assert_eq!(
        deltas,
        [
            Delta::Reasoning { block: 0, text: text("On") },
            Delta::Reasoning { block: 0, text: text("e.") },
            Delta::Reasoning { block: 0, text: text("\n\n") },
            Delta::Reasoning { block: 0, text: text("Two.") },
            Delta::Provider { block: 1, kind: text("web_search_call"), name: String::new() },
            searched(None),
            searched(Some(SearchEnd { results: None, error: None })),
            Delta::Text { block: 2, text: text("Grü") },
            Delta::Text { block: 2, text: text("ße") },
            Delta::ToolUse { block: 3, id: text("c1"), name: text("add") },
            Delta::Arguments { block: 3, text: text("{\"a\"") },
            Delta::Arguments { block: 3, text: text(":1}") },
        ]
    );
}

#[test]
fn a_stream_that_breaks_off_keeps_what_is_whole() {
    let (events, body) = rich();
    let whole = decode(&body).message.content;
    for end in 0..events.len() - 1 {
        let (response, _, partial) = stream(&events[..end]);
        assert_eq!(response.unwrap_err().kind, FailureKind::Cut);
        let blocks = partial.map(|partial| partial.message.content).unwrap_or_default();
        let count = match end {
            0..11 => 0,
            11..14 => 2,
            14..22 => 3,
            _ => 4,
        };
        assert_eq!(blocks.len(), count, "after {end} events");
        match end {
            14 => assert_eq!(blocks[2], Block::text("Grü")),
            17.. => assert_eq!(blocks, whole[..count]),
            _ => {}
        }
    }
    // Reasoning that lost its proof takes the ids of what follows with it.
    let mut events = events;
    events[7]["item"]["encrypted_content"] = Value::Null;
    let (_, _, partial) = stream(&events[..events.len() - 1]);
    let sent = items(&partial.unwrap().message);
    assert_eq!(sent[1].get("id"), None);
    assert_eq!(sent[2].get("id"), None);
}

#[test]
fn thin_streams_are_put_together() {
    let (events, body) = rich();
    let whole = decode(&body);
    for last in [json!({}), json!({"output": []}), json!({"id": "resp_1", "status": "completed", "output": null})] {
        // With deltas, without, and without whole items.
        for keep in [&["added", "delta", "item.done"][..], &["item.done"], &["item.added", "part.added", "delta"]] {
            let mut thin: Vec<Value> = events[..events.len() - 1].to_vec();
            thin.retain(|event| {
                let kind = event["type"].as_str().unwrap();
                kind == "response.created" || keep.iter().any(|keep| kind.ends_with(keep))
            });
            thin.push(json!({"type": "response.completed", "response": last}));
            let (response, deltas, _) = stream(&thin);
            let response = response.unwrap();
            assert_eq!((response.id.as_str(), response.model.as_str()), ("resp_1", "m"));
            assert_eq!(response.stop, StopReason::ToolUse);
            assert_eq!(response.message.prose(), "Grüße");
            assert_eq!(response.message.tool_uses().next().unwrap().input.text(), "{\"a\":1}");
            if keep.contains(&"item.done") {
                assert_eq!(response.message, whole.message);
            }
            let shown: String = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text { text, .. } = delta { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!(shown, "Grüße");
        }
    }
}

#[test]
fn streams_without_indexes_are_told_apart_by_their_items() {
    let (events, body) = rich();
    let mut bare = events.clone();
    let ids = ["rs_1", "ws_1", "msg_1", "c1"];
    for event in &mut bare {
        let event = event.as_object_mut().unwrap();
        let at = event.remove("output_index").and_then(|at| at.as_u64());
        event.remove("content_index");
        if let Some(at) = at {
            event.insert("item_id".into(), json!(ids[at as usize]));
        }
    }
    let (response, deltas, _) = stream(&bare);
    assert_eq!(response.unwrap(), decode(&body));
    assert_eq!(deltas, stream(&events).1);
    // With neither, and nothing announced but the call.
    bare.retain(|event| {
        let kind = event["type"].as_str().unwrap();
        kind.ends_with("delta") || kind.ends_with("completed") || event["item"]["call_id"].is_string()
    });
    let mut body = body;
    body["output"].as_array_mut().unwrap().remove(1);
    for event in &mut bare {
        event.as_object_mut().unwrap().remove("item_id");
    }
    bare.last_mut().unwrap()["response"] = body.clone();
    let (response, deltas, _) = stream(&bare);
    assert_eq!(response.unwrap(), decode(&body));
    assert_eq!(deltas.len(), 9);
}

#[test]
fn gateways_that_trim_or_hide_items_are_followed() {
    let (events, body) = rich();
    let whole = decode(&body);
    let mut padded = events.clone();
    padded[13]["delta"] = json!("\n\nGrü");
    padded.retain(|event| !event["type"].as_str().unwrap().starts_with("response.output_text.done"));
    assert_eq!(stream(&padded).0.unwrap(), whole);

    // Nothing but the text, then the answer with all its items.
    let mut hidden = events;
    hidden.retain(|event| {
        let kind = event["type"].as_str().unwrap();
        kind == "response.output_text.delta" || kind == "response.completed"
    });
    let (response, deltas, _) = stream(&hidden);
    assert_eq!(response.unwrap(), whole);
    assert_eq!(deltas.len(), 2);
    hidden[0]["delta"] = json!("x");
    assert_eq!(stream(&hidden).0.unwrap_err().kind, FailureKind::InvalidBody);
}

#[test]
fn streams_that_contradict_themselves_or_fail() {
    let (events, _) = rich();
    let broken = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut events = events.clone();
        change(&mut events);
        stream(&events).0.unwrap_err().kind
    };
    assert_eq!(
        broken(&|events| events.last_mut().unwrap()["response"]["output"][2]["content"][0]["text"] = json!("Nein")),
        FailureKind::InvalidBody
    );
    assert_eq!(
        broken(&|events| events.last_mut().unwrap()["response"]["output"][3]["arguments"] = json!("{\"a\":2}")),
        FailureKind::InvalidBody
    );
    assert_eq!(
        broken(&|events| drop(events.last_mut().unwrap()["response"]["output"].as_array_mut().unwrap().pop())),
        FailureKind::InvalidBody
    );
    let mut late = events.clone();
    late.remove(17);
    assert_eq!(stream(&late).0.unwrap(), stream(&events).0.unwrap(), "a call that was not announced");
    assert_eq!(broken(&|events| events[13]["delta"] = json!(7)), FailureKind::InvalidBody);
    assert_eq!(broken(&|events| events[13]["output_index"] = json!(-1)), FailureKind::InvalidBody);
    let failed = |error: Value| stream(&[events[0].clone(), error]).0.unwrap_err().kind;
    let error = json!({"code": "rate_limit_exceeded", "message": "slow down"});
    assert_eq!(failed(json!({"type": "response.failed", "response": {"error": error}})), FailureKind::RateLimited);
    assert_eq!(failed(json!({"type": "error", "code": "server_error", "message": "x"})), FailureKind::Server);
    assert_eq!(failed(json!({"type": "error", "error": error})), FailureKind::RateLimited);
    assert_eq!(failed(json!({"error": error})), FailureKind::RateLimited);
    assert_eq!(failed(json!({"type": "response.failed"})), FailureKind::Server);
    let mut decoder = StreamDecoder::default();
    assert_eq!(decoder.event("", "[1]", &mut Vec::new()).unwrap_err().kind, FailureKind::InvalidBody);
    assert!(decoder.is_done());
    assert_eq!(decoder.finish().unwrap_err().kind, FailureKind::InvalidBody);
}
