//! Requests: as the service's model describes them, legal by construction, and read back without loss.

use loopwright_base::{
    json::Raw,
    message::{
        Block, Media, MediaSource, Message, ProviderBlock, Role, Thinking, ToolFailure, ToolResult, ToolUse, Wire,
    },
    request::{Caching, Effort, FunctionTool, OutputSchema, Request, Tool, ToolChoice, WebSearch},
};
use loopwright_models::profile::Profile;
use loopwright_wire as wire;
use serde_json::{Value, json};

use crate::{WIRE, encode};

fn tool(name: &str) -> Tool {
    let schema = Raw::parse(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#).unwrap();
    Tool::Function(FunctionTool {
        name: name.into(),
        description: Some("Adds.".into()),
        schema,
        strict: None,
        extra: None,
    })
}

fn base64(media_type: &str) -> MediaSource {
    MediaSource::Base64 { media_type: media_type.into(), data: "AAAA".into() }
}

fn media(source: MediaSource, name: Option<&str>) -> Media {
    Media { source, name: name.map(str::to_owned), extra: None }
}

fn asks(messages: Vec<Message>) -> Request {
    Request { model: "anthropic.claude-x".into(), messages: messages.into_iter().collect(), ..Request::default() }
}

fn round_trip(body: &Value) -> Request {
    let request = wire::decode_request(WIRE, &body.to_string()).unwrap();
    assert_eq!(encode(&request), *body);
    request
}

#[test]
fn a_request_is_written_as_the_service_describes_it() {
    let mut request = asks(vec![Message::text(Role::System, "Also."), Message::user("Hi.")]);
    request.system = Some(Message::text(Role::System, "Be brief.").into());
    request.tools = [tool("add")].into_iter().collect();
    request.tool_choice = Some(ToolChoice::Tool("add".into()));
    request.max_tokens = Some(100);
    request.temperature = Some(0.5);
    request.top_p = Some(0.9);
    request.stop = vec!["END".into()];
    request.effort = Some(Effort::Low);
    let schema = Raw::parse(r#"{"type":"object"}"#).unwrap();
    request.output = Some(OutputSchema { name: "answer".into(), schema, strict: None, description: None });
    let spec = json!({"name": "add", "description": "Adds.",
        "inputSchema": {"json": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    assert_eq!(
        encode(&request),
        json!({
            "system": [{"text": "Be brief."}, {"text": "Also."}],
            "toolConfig": {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": "add"}}},
            "inferenceConfig": {"maxTokens": 100, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
            "outputConfig": {"effort": "low", "textFormat": {"type": "json_schema", "structure": {"jsonSchema":
                {"schema": "{\"type\":\"object\"}", "name": "answer"}}}},
            "messages": [{"role": "user", "content": [{"text": "Hi."}]}],
        })
    );
    let search = Request {
        tools: [Tool::WebSearch(WebSearch::default())].into_iter().collect(),
        ..asks(vec![Message::user("x")])
    };
    assert_eq!(wire::encode_request(WIRE, &search).unwrap_err().code, "unsupported_option");
}

#[test]
fn turns_alternate_and_results_stand_first_under_ids_that_are_taken() {
    let long = "x".repeat(80);
    let call = |id: &str, name: &str| Block::ToolUse(ToolUse::from_text(id, name, "{\"a\":1}".into()));
    let broken = Block::ToolUse(ToolUse::from_text("c3", "add", "{\"a\":".into()));
    let failed = ToolFailure { kind: "timeout".into(), message: "slow".into(), hint: None };
    let picture = Block::Image(media(base64("image/jpg"), None));
    let request = asks(vec![
        Message::assistant("I begin."),
        Message::user("Add."),
        Message::new(Role::Assistant, vec![call("call.1/a", "functions.add"), call(&long, "add"), broken]),
        Message::user("Meanwhile."),
        Message::new(Role::User, vec![Block::ToolResult(ToolResult::text("call.1/a", "add", "1"))]),
        Message::new(
            Role::User,
            vec![
                Block::ToolResult(ToolResult {
                    content: vec![Block::text(" "), picture],
                    ..ToolResult::text(&*long, "", "")
                }),
                Block::ToolResult(ToolResult::failed("c3", "add", failed)),
            ],
        ),
    ]);
    let body = encode(&request);
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let calls = &body["messages"][3]["content"];
    let results = &body["messages"][4]["content"];
    let legal = |text: &str| {
        (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    for place in 0..3 {
        let id = calls[place]["toolUse"]["toolUseId"].as_str().unwrap();
        assert!(legal(id) && legal(calls[place]["toolUse"]["name"].as_str().unwrap()), "{calls}");
        assert_eq!(results[place]["toolResult"]["toolUseId"], id);
    }
    assert_eq!(calls[2]["toolUse"]["input"], json!({"INVALID_JSON": "{\"a\":"}));
    assert_eq!(
        results[1]["toolResult"]["content"],
        json!([{"image": {"format": "jpeg", "source": {"bytes": "AAAA"}}}])
    );
    assert_eq!(results[2]["toolResult"]["status"], "error");
    assert_eq!(results[3], json!({"text": "Meanwhile."}));
    // Calls in a history need tools of their names, though nobody offers them any more.
    let names: Vec<&str> = body["toolConfig"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["toolSpec"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"add") && names.len() == 2, "{names:?}");
    // No word of the wire forbids calls: then no tools are told of.
    let mut quiet = asks(vec![Message::user("x")]);
    quiet.tools = [tool("add")].into_iter().collect();
    quiet.tool_choice = Some(ToolChoice::None);
    assert!(encode(&quiet).get("toolConfig").is_none());
    let empty = asks(vec![
        Message::user("x"),
        Message::new(Role::Assistant, vec![call("c", "add")]),
        Message::new(Role::User, vec![Block::ToolResult(ToolResult::text("c", "add", ""))]),
    ]);
    let result = &encode(&empty)["messages"][2]["content"][0]["toolResult"];
    assert_eq!(result["content"], json!([{"text": "(empty)"}]));
}

#[test]
fn documents_have_names_that_are_taken_and_words_beside_them() {
    let pdf = |name| Block::Document(media(base64("application/pdf"), name));
    let request = asks(vec![
        Message::new(Role::User, vec![pdf(Some("Report  (final)_v2.pdf")), pdf(None)]),
        Message::assistant("Yes."),
        Message::new(
            Role::User,
            vec![Block::Document(media(MediaSource::Text { media_type: "text/plain".into(), data: "t".into() }, None))],
        ),
        Message::assistant("Yes."),
        Message::new(
            Role::User,
            vec![Block::Image(media(MediaSource::File("s3://bucket/a.png".into()), None)), Block::text("?")],
        ),
    ]);
    let body = encode(&request);
    let first = &body["messages"][0]["content"];
    let name = |at: usize| first[at]["document"]["name"].as_str().unwrap();
    assert!(name(0).starts_with("Report (final) v2 pdf ") && !name(0).contains("  "), "{}", name(0));
    assert_eq!(first[0]["document"]["format"], "pdf");
    assert_ne!(name(0), name(1));
    assert_eq!(first[2], json!({"text": "(a document)"}));
    assert!(body["messages"][2]["content"][0]["text"].as_str().unwrap().contains("<document"));
    let image = json!({"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}});
    assert_eq!(body["messages"][4]["content"][0]["image"], image);
}

#[test]
fn thoughts_go_back_with_their_signature_and_to_this_wire_alone() {
    let answer = crate::decode(&crate::answer(
        &json!([
            {"reasoningContent": {"reasoningText": {"text": "signed", "signature": "s"}}},
            {"reasoningContent": {"reasoningText": {"text": "unsigned"}}},
            {"reasoningContent": {"redactedContent": "cg=="}},
            {"text": "x"},
        ]),
        "end_turn",
    ));
    let foreign =
        Block::Thinking(Thinking { text: "theirs".into(), signature: Some("s".into()), redacted: None, extra: None });
    let unknown = Block::Provider(ProviderBlock { wire: Wire::Anthropic, raw: Raw::parse(r#"{"type":"x"}"#).unwrap() });
    let request = asks(vec![
        Message::user("go"),
        answer.message,
        Message::user("on"),
        Message::new(Role::Assistant, vec![foreign, unknown, Block::text("y")]),
    ]);
    let body = encode(&request);
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"reasoningContent": {"reasoningText": {"text": "signed", "signature": "s"}}},
            {"reasoningContent": {"redactedContent": "cg=="}},
            {"text": "x"},
        ])
    );
    assert_eq!(body["messages"][3]["content"], json!([{"text": "y"}]));
    let elsewhere = wire::encode_request(Wire::Anthropic, &request).unwrap();
    assert!(!elsewhere.contains("signed") && !elsewhere.contains("reasoningContent"), "{elsewhere}");
}

#[test]
fn marks_of_the_cache_are_set_where_the_model_takes_them_and_nobody_has_set_any() {
    let point = json!({"cachePoint": {"type": "default"}});
    let mut request = asks(vec![Message::user("a"), Message::assistant("b"), Message::user("c")]);
    request.model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0".into();
    request.cache = Caching::Usual;
    request.system = Some(Message::text(Role::System, "s").into());
    let body = encode(&request);
    assert_eq!(body["system"], json!([{"text": "s"}, point]));
    assert_eq!(body["messages"][2]["content"], json!([{"text": "c"}, point]));
    assert_eq!(body["messages"][0]["content"], json!([{"text": "a"}, point]), "the end of the request before");
    request.messages.push(Message::assistant("d"));
    request.messages.push(Message::user("e"));
    let marked: Vec<bool> = (0..5).map(|at| encode(&request)["messages"][at].to_string().contains("Point")).collect();
    assert_eq!(marked, [false, false, true, false, true]);
    let hour = |model: &str| {
        let asked = Request { model: model.into(), cache: Caching::Hour, ..request.clone() };
        encode(&asked).to_string().matches(r#"{"cachePoint":{"ttl":"1h","type":"default"}}"#).count()
    };
    assert_eq!((hour("eu.anthropic.claude-haiku-4-5-20251001-v1:0"), hour("anthropic.claude-3-7-sonnet")), (3, 0));
    let other = Request { model: "meta.llama3".into(), ..request.clone() };
    assert!(!encode(&other).to_string().contains("cachePoint"));
    // The name of a model is read out of an ARN that holds it; an application's profile has none in its own.
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:";
    for (model, marks, points) in [
        ("foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0", None, 3),
        ("inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0", None, 3),
        ("inference-profile/us.amazon.nova-pro-v1:0", Some(0), 0),
        ("foundation-model/meta.llama3-70b-instruct-v1:0", None, 0),
        ("application-inference-profile/a1b2c3d4e5f6", None, 0),
        ("application-inference-profile/a1b2c3d4e5f6", Some(4), 3),
    ] {
        let mut profile = Profile::default();
        profile.body.cache_marks = marks;
        let asked = Request { model: format!("{arn}{model}"), ..request.clone() };
        let body = wire::encode_for(&profile, WIRE, &asked).unwrap();
        assert_eq!(body.matches("cachePoint").count(), points, "{model} {marks:?}");
    }
    let own = Block::Provider(ProviderBlock {
        wire: WIRE,
        raw: Raw::parse(r#"{"cachePoint":{"type":"default","ttl":"1h"}}"#).unwrap(),
    });
    request.system = Some(Message::new(Role::System, vec![Block::text("s"), own]).into());
    assert_eq!(encode(&request).to_string().matches("cachePoint").count(), 1);
}

#[test]
fn a_body_is_read_and_written_without_loss() {
    let body = json!({
        "system": [{"text": "s"}, {"cachePoint": {"type": "default"}}, {"guardContent": {"text": {"text": "g"}}}],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}, "strict": true}},
                {"systemTool": {"name": "nova_grounding"}},
                {"cachePoint": {"type": "default"}},
            ],
            "toolChoice": {"any": {}},
        },
        "inferenceConfig": {"maxTokens": 5, "temperature": 1, "topK": 3},
        "outputConfig": {"effort": "high", "textFormat": {"type": "json_schema", "structure": {"jsonSchema":
            {"schema": "{\"type\": \"object\"}", "name": "n", "description": "d"}}}},
        "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1", "trace": "enabled",
            "streamProcessingMode": "sync"},
        "additionalModelRequestFields": {"top_k": 250, "anthropic_beta": ["x"]},
        "additionalModelResponseFieldPaths": ["/stop_sequence"],
        "requestMetadata": {"team": "a"},
        "performanceConfig": {"latency": "optimized"},
        "serviceTier": {"type": "priority"},
        "messages": [
            {"role": "user", "content": [
                {"text": "look"},
                {"image": {"format": "webp", "source": {"bytes": "AAAA"}}},
                {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k", "bucketOwner": "1"}}}},
                {"document": {"format": "pdf", "name": "D", "source": {"bytes": "A"}, "citations": {"enabled": true}}},
                {"document": {"name": "Doc 2", "source": {"text": "plain"}, "context": "c"}},
                {"document": {"name": "Doc 3", "source": {"content": [{"text": "a"}]}}},
                {"video": {"format": "mp4", "source": {"bytes": "AAAA"}}},
                {"cachePoint": {"type": "default", "ttl": "1h"}},
            ]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "unsigned"}}},
                {"toolUse": {"toolUseId": "a.b:c", "name": "f", "input": {"x": [1.50]}}},
                {"toolUse": {"toolUseId": "t", "name": "f", "input": [1]}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a.b:c", "status": "success",
                    "content": [{"json": {"a": 1}}, {"text": "t"}]}},
                {"toolResult": {"toolUseId": "t", "content": [{"text": ""}, {"video": {}}], "status": "error"}},
                {"text": ""},
            ]},
            {"role": "user", "content": []},
            {"role": "system", "content": [{"text": "later"}]},
        ],
    });
    let request = round_trip(&body);
    assert_eq!((request.max_tokens, request.temperature, request.effort), (Some(5), Some(1.0), Some(Effort::High)));
    assert_eq!(request.tool_choice, Some(ToolChoice::Any));
    assert_eq!(request.tools.len(), 3);
    let results: Vec<_> = request.messages.iter().flat_map(Message::tool_results).collect();
    assert_eq!((results[0].prose().as_str(), results[1].is_error), ("{\"a\":1}\nt", true));
    let saved = serde_json::to_string(&request).unwrap();
    assert_eq!(encode(&serde_json::from_str(&saved).unwrap()), body);
    for wrong in ["", "[]", "{}", r#"{"messages": 1}"#, r#"{"messages": [1]}"#] {
        assert_eq!(wire::decode_request(WIRE, wrong).unwrap_err().code, "invalid_request", "{wrong}");
    }
}
