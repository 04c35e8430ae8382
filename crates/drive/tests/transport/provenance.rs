//! What one host gave goes to no other of its wire, and back to its own: by provenance, and by the host's profile.

use loopwright_base::message::{ToolResult, Wire};
use loopwright_drive::ask::ask as ask_model;
use loopwright_wire::encode_response;
use serde_json::{Value, json};

use super::*;

async fn asked(server: &WireServer, model: &str, request: &Request) -> Message {
    let (endpoint, client) = (endpoint(server, model), Client::default());
    let answer = ask_model(&client, &endpoint, &Timeouts::default(), request, 1, |_: Vec<Delta>| {}).await;
    answer.unwrap().message
}

fn last_body(server: &WireServer) -> Value {
    serde_json::from_str(&server.requests().last().unwrap().body).unwrap()
}

fn json_reply(body: &Value) -> Reply {
    Reply::recorded(200, "application/json", body.to_string())
}

/// The request of a run that goes on: the answer, its results, and so on.
fn history(model: &str, answers: &[&Message]) -> Request {
    let name = model.split_once(':').unwrap().1;
    let mut request = Request { model: name.to_owned(), ..request(false) };
    for answer in answers {
        request.messages.push((*answer).clone());
        let results = answer.tool_uses().map(|call| Block::ToolResult(ToolResult::text(&call.id, &call.name, "1")));
        let results: Vec<Block> = results.collect();
        request.messages.push(if results.is_empty() {
            Message::user("and now?")
        } else {
            Message::new(Role::User, results)
        });
    }
    request
}

fn chat_call(member: &str) -> Value {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    message[member] = json!("I must look.");
    message["reasoning_details"] = json!([{"type": "reasoning.text", "text": "I must look.", "signature": "s"}]);
    json!({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
}

fn anthropic_call(thinking: &Value) -> Value {
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
    json!({"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [thinking, search, found, call], "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn responses_call() -> Value {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "proof"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}",
        "status": "completed"});
    json!({"id": "1", "object": "response", "status": "completed", "model": "m", "output": [reasoning, call]})
}

fn gemini_call() -> Value {
    let part = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "proof"});
    let thought = json!({"text": "I must look.", "thought": true});
    let content = json!({"role": "model", "parts": [thought, part]});
    json!({"candidates": [{"content": content, "finishReason": "STOP"}], "responseId": "1"})
}

#[tokio::test]
async fn w08_what_a_host_gave_goes_back_to_it_and_to_no_other_of_its_wire() {
    let signed = json!({"type": "thinking", "thinking": "I must look.", "signature": "proof"});
    let redacted = json!({"type": "redacted_thinking", "data": "proof"});
    for (model, answer, bound) in [
        ("openrouter:a/m", chat_call("reasoning"), &["reasoning\"", "reasoning_details", "I must look"][..]),
        ("openai-chat:m", chat_call("reasoning_content"), &["reasoning_content", "reasoning_details"]),
        ("anthropic:m", anthropic_call(&signed), &["proof", "srvtoolu_1", "I must look"]),
        ("anthropic:m", anthropic_call(&redacted), &["proof", "srvtoolu_1"]),
        ("openai-responses:m", responses_call(), &["proof", "rs_1", "fc_1"]),
        ("gemini:gemini-3-pro", gemini_call(), &["proof"]),
    ] {
        let own = WireServer::start(Script::of([json_reply(&answer), Reply::text("a"), Reply::text("b")])).unwrap();
        let other = WireServer::start(Script::always(Reply::text("there"))).unwrap();
        let first = asked(&own, model, &history(model, &[])).await;
        assert!(first.host.as_deref().is_some_and(|host| host.starts_with("127.0.0.1:")), "{model}: {first:?}");
        // To another host of the same wire.
        let there = asked(&other, model, &history(model, &[&first])).await;
        assert!(there.host.is_none() || model != "openai-chat:m", "words alone are bound to nobody");
        let sent = last_body(&other).to_string();
        assert!(sent.contains("\"f\""), "the call itself goes: {sent}");
        assert!(!bound.iter().any(|part| sent.contains(part)), "{model}: {sent}");
        // And back, from a record in between.
        let saved: Message = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        asked(&own, model, &history(model, &[&saved, &there])).await;
        let sent = last_body(&own).to_string();
        assert!(bound.iter().all(|part| sent.contains(part)), "{model}: {sent}");
        // A record of before says nothing of a host: it goes as it went.
        let old = Message { host: None, ..saved };
        asked(&own, model, &history(model, &[&old])).await;
        let sent = last_body(&own).to_string();
        assert!(bound.iter().all(|part| sent.contains(part)), "{model}: {sent}");
    }
}

#[tokio::test]
async fn w08_a_router_has_an_origin_for_each_vendor() {
    let own = WireServer::start(Script::of([json_reply(&chat_call("reasoning")), Reply::text("a")])).unwrap();
    let first = asked(&own, "openrouter:a/m", &history("openrouter:a/m", &[])).await;
    asked(&own, "openrouter:b/m", &history("openrouter:b/m", &[&first])).await;
    assert!(!last_body(&own).to_string().contains("I must look"));
}

#[tokio::test]
async fn w08_reasoning_goes_back_as_the_host_wants_it() {
    // With a call and without one: which member it stands in, if it goes at all.
    for (model, with_call, alone) in [
        ("deepseek:deepseek-reasoner", Some("reasoning_content"), Some("reasoning_content")),
        ("moonshot:kimi-k2-thinking", Some("reasoning_content"), Some("reasoning_content")),
        ("zhipu:glm-4.6", Some("reasoning"), Some("reasoning")),
        ("openrouter:a/m", Some("reasoning"), Some("reasoning")),
        ("cerebras:gpt-oss-120b", Some("reasoning"), None),
        ("mistral:magistral-medium", None, None),
        ("groq:openai/gpt-oss-20b", None, None),
        ("openai-chat:nobody-knows", Some("reasoning"), None),
        ("vllm:m", Some("reasoning"), None),
    ] {
        let message = json!({"role": "assistant", "content": "So.", "reasoning": "Hm."});
        let words = json!({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices":
            [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let script = [json_reply(&chat_call("reasoning")), json_reply(&words), Reply::text("end")];
        let server = WireServer::start(Script::of(script)).unwrap();
        let first = asked(&server, model, &history(model, &[])).await;
        let second = asked(&server, model, &history(model, &[&first])).await;
        asked(&server, model, &history(model, &[&first, &second])).await;
        let body = last_body(&server);
        let member = |at: usize| {
            ["reasoning", "reasoning_content"].into_iter().find(|name| body["messages"][at].get(name).is_some())
        };
        assert_eq!((member(1), member(3)), (with_call, alone), "{model}: {body}");
    }
}

#[tokio::test]
async fn w08_a_host_that_requires_reasoning_gets_some_for_calls_of_others() {
    let call = json!({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": null, "tool_calls":
            [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        "finish_reason": "tool_calls"}]});
    for (model, fills) in [
        ("deepseek:deepseek-reasoner", true),
        ("moonshot:kimi-k2.5", true),
        ("deepseek:deepseek-chat", false),
        ("moonshot:kimi-k2-0905", false),
        ("openai-chat:m", false),
    ] {
        let other = WireServer::start(Script::of([json_reply(&call)])).unwrap();
        let plain = asked(&other, "vllm:m", &history("vllm:m", &[])).await;
        let server = WireServer::start(Script::always(Reply::text("end"))).unwrap();
        asked(&server, model, &history(model, &[&plain])).await;
        let body = last_body(&server);
        let words = body["messages"][1]["reasoning_content"].as_str();
        assert_eq!(words.is_some_and(|words| !words.is_empty()), fills, "{model}: {body}");
    }
}

#[tokio::test]
async fn w09_thinking_without_a_signature_goes_back_to_a_host_that_gave_it() {
    for unsigned in [
        json!({"type": "thinking", "thinking": "I must look."}),
        json!({"type": "thinking", "thinking": "I must look.", "signature": ""}),
    ] {
        let script = [json_reply(&anthropic_call(&unsigned)), Reply::text("a")];
        let own = WireServer::start(Script::of(script)).unwrap();
        let other = WireServer::start(Script::always(Reply::text("there"))).unwrap();
        let first = asked(&own, "anthropic:kimi-k2.5", &history("anthropic:kimi-k2.5", &[])).await;
        asked(&own, "anthropic:kimi-k2.5", &history("anthropic:kimi-k2.5", &[&first])).await;
        assert_eq!(last_body(&own)["messages"][1]["content"][0], unsigned);
        for message in [first.clone(), Message { host: None, ..first }] {
            asked(&other, "anthropic:claude", &history("anthropic:claude", &[&message])).await;
            assert!(!last_body(&other).to_string().contains("I must look"), "Anthropic would refuse it");
        }
    }
}

#[test]
fn w09_hosts_that_require_reasoning_do_so_over_the_wire_of_anthropic() {
    use loopwright_models::{profile::ReasoningBack, provider::provider};
    for (host, model, back, unasked) in [
        ("api.moonshot.ai", "kimi-k2.5", ReasoningBack::Required, true),
        ("api.deepseek.com", "deepseek-reasoner", ReasoningBack::Required, true),
        ("api.deepseek.com", "deepseek-chat", ReasoningBack::Required, false),
        ("api.anthropic.com", "claude-opus-4-6", ReasoningBack::Always, false),
        ("127.0.0.1", "m", ReasoningBack::Always, false),
    ] {
        let rules = provider("anthropic").unwrap().profile_at(host, model).reasoning;
        assert_eq!((rules.back, !rules.models.is_empty()), (back, unasked), "{host}");
    }
}

#[test]
fn w08_a_message_is_written_without_its_provenance() {
    let mut response = with_tool();
    response.message.host = Some("h:1".into());
    for wire in [Wire::Anthropic, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini] {
        assert!(!encode_response(wire, &response).contains("h:1"));
        let request = Request { messages: [response.message.clone()].into_iter().collect(), ..request(false) };
        assert!(!encode_request(wire, &request).unwrap().contains("h:1"));
    }
}
