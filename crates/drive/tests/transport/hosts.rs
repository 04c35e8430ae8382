//! What a host refuses is left out or asked for in another way: by the tables of what is known, and by its own word.

use loopwright_base::{
    json::Raw,
    request::{FunctionTool, OutputSchema, Tool},
};
use loopwright_drive::ask::ask as ask_model;

use super::*;

/// A request of everything that hosts refuse.
fn full(model: &str) -> Request {
    let schema = Raw::parse(r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#).unwrap();
    Request {
        model: model.to_owned(),
        temperature: Some(0.2),
        top_p: Some(0.9),
        stop: vec!["END".to_owned()],
        output: Some(OutputSchema { name: "answer".into(), schema, strict: None, description: None }),
        ..request(false)
    }
}

fn with_tools(mut request: Request) -> Request {
    let schema = Raw::parse(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#).unwrap();
    let tool = FunctionTool { name: "weather".into(), description: None, schema, strict: None, extra: None };
    request.tools = [Tool::Function(tool)].into_iter().collect();
    request
}

async fn asked(endpoint: &Endpoint, request: &Request) -> Result<Response, CallFailure> {
    ask_model(&Client::default(), endpoint, &Timeouts::default(), request, 1, |_: Vec<Delta>| {}).await
}

fn bodies(server: &WireServer) -> Vec<serde_json::Value> {
    server.requests().iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect()
}

fn refusal(status: u16, body: &serde_json::Value) -> Reply {
    Reply::recorded(status, "application/json", body.to_string())
}

#[tokio::test]
async fn w7_an_answer_of_a_schema_is_asked_for_as_the_host_takes_it() {
    for (model, tools, format, says) in [
        ("openai-chat:m", false, Some("json_schema"), ""),
        ("mistral:m", true, Some("json_schema"), ""),
        ("lmstudio:m", true, Some("json_schema"), ""),
        ("deepseek:deepseek-chat", true, Some("json_object"), "JSON mode"),
        ("zhipu:glm-4.6", false, Some("json_object"), "JSON mode"),
        ("groq:openai/gpt-oss-20b", false, Some("json_schema"), ""),
        ("groq:llama-3.3-70b-versatile", false, Some("json_object"), "JSON mode"),
        ("groq:llama-3.3-70b-versatile", true, None, "the instructions alone"),
        ("minimax:MiniMax-M2", false, None, "the instructions alone"),
    ] {
        let server = WireServer::start(Script::always(Reply::text("{\"a\":1}"))).unwrap();
        let name = model.split_once(':').unwrap().1;
        let request = if tools { with_tools(full(name)) } else { full(name) };
        let response = asked(&endpoint(&server, model), &request).await.unwrap();
        let body = &bodies(&server)[0];
        assert_eq!(body["response_format"]["type"].as_str(), format, "{model}");
        assert_eq!(response.adapted.iter().any(|note| note.contains(says)), !says.is_empty(), "{:?}", response.adapted);
        let told = body["messages"][0]["content"].to_string().contains("one JSON value of this schema");
        assert_eq!(told, format != Some("json_schema"), "{body}");
    }
}

#[tokio::test]
async fn w11_models_that_reason_are_asked_without_sampling() {
    for (model, sent) in [
        ("openai:gpt-5-mini", false),
        ("openai-responses:o3", false),
        ("openrouter:openai/gpt-5", false),
        ("anthropic:claude-opus-4-8", false),
        ("openai-chat:gpt-5-chat-latest", true),
        ("openai-chat:gpt-4o", true),
        ("openai-chat:gpt-5.1", true),
    ] {
        let server = WireServer::start(Script::always(Reply::text("ok"))).unwrap();
        let request = Request { output: None, stop: Vec::new(), ..full(model.split_once(':').unwrap().1) };
        let response = asked(&endpoint(&server, model), &request).await.unwrap();
        let body = &bodies(&server)[0];
        assert_eq!((body.get("temperature").is_some(), body.get("top_p").is_some()), (sent, sent), "{model}: {body}");
        assert_eq!(response.adapted.len(), if sent { 0 } else { 2 }, "{:?}", response.adapted);
    }
    // Where such a model reasons only when it is told to.
    let server = WireServer::start(Script::always(Reply::text("ok"))).unwrap();
    let effort = Some(loopwright_base::request::Effort::Low);
    asked(&endpoint(&server, "openai-chat:gpt-5.1"), &Request { effort, output: None, ..full("gpt-5.1") })
        .await
        .unwrap();
    assert!(bodies(&server)[0].get("temperature").is_none());
}

#[tokio::test]
async fn w20_the_limit_and_options_of_streams_are_named_as_the_host_wants() {
    for (model, limit, options) in [
        ("openai-chat:m", "max_tokens", true),
        ("openai-chat:gpt-5", "max_completion_tokens", true),
        ("groq:m", "max_completion_tokens", true),
        ("cerebras:m", "max_completion_tokens", true),
        ("mistral:m", "max_tokens", false),
    ] {
        let server = WireServer::start(Script::always(Reply::text("ok"))).unwrap();
        let request = Request { model: model.split_once(':').unwrap().1.to_owned(), ..request(true) };
        asked(&endpoint(&server, model), &request).await.unwrap();
        let body = &bodies(&server)[0];
        assert_eq!(body[limit].as_u64(), Some(100), "{model}: {body}");
        assert_eq!(body.get("stream_options").is_some(), options, "{model}");
    }
}

#[tokio::test]
async fn w6_what_a_host_has_refused_by_name_is_not_sent_again() {
    let unsupported = |param: &str| {
        let error = serde_json::json!({"message": format!("'{param}' is not supported"), "param": param,
            "type": "invalid_request_error", "code": "unsupported_parameter"});
        refusal(400, &serde_json::json!({ "error": error }))
    };
    for (param, before, after) in [
        ("temperature", "temperature", None),
        ("stop", "stop", None),
        ("max_tokens", "max_tokens", Some("max_completion_tokens")),
    ] {
        let script = [unsupported(param), Reply::text("ok"), Reply::text("ok")];
        let server = WireServer::start(Script::of(script)).unwrap();
        let endpoint = endpoint(&server, "openai-chat:m");
        let request = Request { output: None, ..full("m") };
        let failed = asked(&endpoint, &request).await.unwrap_err();
        assert_eq!(failed.failure.param.as_deref(), Some(param));
        // Another model at the host is asked as before, and a clone of the endpoint remembers.
        asked(&endpoint.for_model("other"), &request).await.unwrap();
        let response = asked(&endpoint.for_model("m"), &request).await.unwrap();
        let bodies = bodies(&server);
        assert!(bodies[0].get(before).is_some() && bodies[1].get(before).is_some(), "{param}");
        assert!(bodies[2].get(before).is_none(), "{param}");
        assert!(after.is_none_or(|name| bodies[2][name].as_u64() == Some(100)), "{param}");
        assert_eq!(response.adapted.len(), usize::from(after.is_none()), "{:?}", response.adapted);
        assert!(bodies[2].get("top_p").is_some(), "exactly that is left out");
    }
    // The form of the answer: schema, JSON, instructions.
    let unavailable = serde_json::json!({"error": {"message": "This response_format type is unavailable now",
        "type": "invalid_request_error", "param": null, "code": "invalid_request_error"}});
    let again = || refusal(400, &unavailable);
    let server = WireServer::start(Script::of([again(), again(), Reply::text("{\"a\":1}")])).unwrap();
    let endpoint = endpoint(&server, "vllm:m");
    for _ in 0..2 {
        asked(&endpoint, &full("m")).await.unwrap_err();
    }
    let response = asked(&endpoint, &full("m")).await.unwrap();
    let forms: Vec<_> = bodies(&server).iter().map(|body| body["response_format"]["type"].clone()).collect();
    assert_eq!(forms, ["json_schema".into(), "json_object".into(), serde_json::Value::Null]);
    assert!(response.adapted[0].contains("the instructions alone"), "{:?}", response.adapted);
}

#[tokio::test]
async fn w6_the_call_in_a_failed_generation_is_taken() {
    let failed = |generation: &str| {
        refusal(
            400,
            &serde_json::json!({"error": {"message": "Failed to call a function. See 'failed_generation'.",
            "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": generation}}),
        )
    };
    for written in [
        "<function=weather>{\"city\": \"Oslo\"}</function>",
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
        "I look.\n<function=weather>{\"city\": \"Oslo\"}</function>",
    ] {
        let server = WireServer::start(Script::of([failed(written)])).unwrap();
        let request = with_tools(Request { output: None, ..full("m") });
        let response = asked(&endpoint(&server, "groq:m"), &request).await.unwrap();
        let call = response.message.tool_uses().next().unwrap();
        assert_eq!((call.name.as_str(), call.input.value()["city"].as_str()), ("weather", Some("Oslo")), "{written}");
        assert_eq!(response.stop, StopReason::ToolUse);
    }
    for written in ["weather in Oslo", "", "<function=weather>", "<function=nobody>{}</function>"] {
        let server = WireServer::start(Script::of([failed(written)])).unwrap();
        let request = with_tools(Request { output: None, ..full("m") });
        let failure = asked(&endpoint(&server, "groq:m"), &request).await.unwrap_err().failure;
        assert_eq!((failure.kind, failure.is_transient()), (FailureKind::InvalidBody, true), "{written}");
    }
}

#[tokio::test]
async fn w28_an_answer_that_comes_whole_is_seen_by_who_watches() {
    for model in MODELS {
        let whole = loopwright_wire::encode_response(endpoint_at("http://localhost:1", model).wire, &with_tool());
        let server = WireServer::start(Script::always(Reply::recorded(200, "application/json", whole))).unwrap();
        let (response, shown) = ask(&server, model, true).await;
        assert_eq!((response.unwrap().message.prose(), shown.as_str()), (LONG.to_owned(), LONG), "{model}");
    }
}
