//! Requests: what goes out is what the API takes, and what came from it goes back as it was.

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Media, MediaSource, Message, Role, Thinking, ToolFailure, ToolResult, ToolUse, Wire},
    request::{Caching, Effort, FunctionTool, OutputSchema, Request, Tool, ToolChoice, WebSearch},
};
use loopwright_wire::{self as wire};
use serde_json::{Value, json};

use crate::{WIRE, encode, extra};

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolUse(ToolUse::from_text(id, name, arguments.to_owned()))
}

fn result(id: &str, name: &str, text: &str) -> Block {
    Block::ToolResult(ToolResult::text(id, name, text))
}

fn request(messages: impl IntoIterator<Item = Message>) -> Request {
    Request { model: "gemini-2.5-flash".into(), messages: messages.into_iter().collect(), ..Request::default() }
}

fn contents(messages: impl IntoIterator<Item = Message>) -> Value {
    encode(&request(messages))["contents"].take()
}

fn picture() -> Block {
    let source = MediaSource::Base64 { media_type: "image/png".into(), data: "AAAA".into() };
    Block::Image(Media { source, name: Some("a.png".into()), extra: None })
}

#[test]
fn a_request_is_what_the_api_documents() {
    let tool = FunctionTool {
        name: "add".into(),
        description: Some("Adds.".into()),
        schema: Raw::parse(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#).unwrap(),
        strict: Some(true),
        extra: None,
    };
    let output = OutputSchema {
        name: "n".into(),
        schema: Raw::parse(r#"{"type":"object"}"#).unwrap(),
        strict: Some(true),
        description: None,
    };
    let full = Request {
        system: Some(Message::text(Role::System, "Be brief.").into()),
        tools: [
            Tool::Function(tool.clone()),
            Tool::Function(tool),
            Tool::WebSearch(WebSearch::default()),
            Tool::Provider { wire: WIRE, raw: Raw::parse(r#"{"codeExecution":{}}"#).unwrap() },
            Tool::Provider { wire: Wire::Anthropic, raw: Raw::parse(r#"{"type":"bash"}"#).unwrap() },
        ]
        .into(),
        tool_choice: Some(ToolChoice::Tool("add".into())),
        max_tokens: Some(99),
        temperature: Some(0.5),
        top_p: Some(0.9),
        stop: vec!["END".into()],
        effort: Some(Effort::Low),
        output: Some(output),
        stream: Some(true),
        cache: Caching::Usual,
        extra: extra(&json!({"safetySettings": [], "generationConfig": {"seed": 3, "topP": 0.1}})),
        ..request([Message::user("hi")])
    };
    let function = json!({"name": "add", "description": "Adds.",
        "parametersJsonSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [function, function]}, {"googleSearch": {}}, {"codeExecution": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}},
        "generationConfig": {"maxOutputTokens": 99, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"],
            "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
            "thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": true}, "seed": 3},
        "safetySettings": [],
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    });
    assert_eq!(encode(&full), expected);
    let newer = encode(&Request { model: "gemini-3-pro-preview".into(), ..full.clone() });
    let thinking = json!({"thinkingLevel": "low", "includeThoughts": true});
    assert_eq!(newer["generationConfig"]["thinkingConfig"], thinking);
    for (choice, mode) in [(ToolChoice::Auto, "AUTO"), (ToolChoice::None, "NONE"), (ToolChoice::Any, "ANY")] {
        let body = encode(&Request { tool_choice: Some(choice), ..request([Message::user("hi")]) });
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": mode}}));
    }
    assert_eq!(encode(&request([Message::user("hi")])).as_object().unwrap().len(), 1);
}

#[test]
fn limits_of_a_search_are_refused_with_what_to_do() {
    let search = WebSearch { blocked_domains: vec!["a.org".into()], ..WebSearch::default() };
    let limited = Request { tools: [Tool::WebSearch(search)].into(), ..request([Message::user("hi")]) };
    let error = wire::encode_request(WIRE, &limited).unwrap_err();
    assert_eq!((&*error.code, error.hint.is_some()), ("unsupported_option", true));
}

#[test]
fn histories_are_legal_by_construction() {
    // Neighbours of one role are one content, results stand first, and the user begins.
    let answered = ToolResult { content: vec![Block::text("seen"), picture()], ..ToolResult::text("c2", "", "") };
    let found = contents([
        Message::text(Role::System, "One."),
        Message::assistant("Hello."),
        Message::user("a"),
        Message::text(Role::Developer, "b"),
        Message::new(Role::Assistant, vec![Block::text("I look."), call("c1", "look", "{}"), call("c2", "see", "[]")]),
        Message::new(Role::User, vec![Block::text("wait"), result("c1", "look", "{\"found\": 1}")]),
        Message::new(Role::User, vec![Block::ToolResult(answered), Block::text("go")]),
        Message::assistant(""),
        Message::user("on"),
    ]);
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let invalid = json!({"INVALID_JSON": "[]"});
    assert_eq!(
        found,
        json!([
            {"role": "user", "parts": [{"text": "Go on."}]},
            {"role": "model", "parts": [{"text": "Hello."}]},
            {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
            {"role": "model", "parts": [{"text": "I look."},
                {"functionCall": {"id": "c1", "name": "look", "args": {}}},
                {"functionCall": {"id": "c2", "name": "see", "args": invalid}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "look", "response": {"found": 1}}},
                {"functionResponse": {"id": "c2", "name": "see", "response": {"output": "seen"}}},
                image, {"text": "wait"}, {"text": "go"}, {"text": "on"}]},
        ])
    );
    let alone = encode(&request([Message::text(Role::System, "Alone.")]));
    assert_eq!(alone["contents"], json!([{"role": "user", "parts": [{"text": "Alone."}]}]));
}

#[test]
fn results_carry_the_name_of_their_call_and_say_what_failed() {
    let failure = ToolFailure { kind: "timeout".into(), message: "too slow".into(), hint: None };
    let plain = ToolResult { is_error: true, ..ToolResult::text("d", "", "no {") };
    let found = contents([
        Message::user("go"),
        Message::new(
            Role::Assistant,
            "abcde".chars().map(|id| call(&id.to_string(), &format!("f_{id}"), "{}")).collect(),
        ),
        Message::new(
            Role::User,
            vec![
                result("a", "", "plain"),
                result("b", "", "[1]"),
                Block::ToolResult(ToolResult::failed("c", "", failure)),
                Block::ToolResult(plain),
                result("nobody", "", "x"),
                result("e", "found_as_this", "y"),
            ],
        ),
    ]);
    let parts = found[2]["parts"].as_array().unwrap();
    let inner =
        |at: usize| (parts[at]["functionResponse"]["name"].clone(), parts[at]["functionResponse"]["response"].clone());
    assert_eq!(inner(0), (json!("f_a"), json!({"output": "plain"})));
    assert_eq!(inner(1), (json!("f_b"), json!({"output": "[1]"})));
    assert_eq!(inner(2), (json!("f_c"), json!({"error": {"kind": "timeout", "message": "too slow"}})));
    assert_eq!(inner(3), (json!("f_d"), json!({"error": "no {"})));
    assert_eq!(inner(4), (json!("unknown_tool"), json!({"output": "x"})));
    assert_eq!(inner(5).0, json!("f_e"), "as the model wrote it, whatever the tool that ran is called");
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    let found = contents([Message::new(Role::User, vec![result("a", "f", &deep)])]);
    assert_eq!(found[0]["parts"][0]["functionResponse"]["response"], json!({ "output": deep }));
}

#[test]
fn w2_names_become_what_the_api_takes() {
    for (name, sent) in [
        ("add", "add"),
        ("a.b:c-d_e", "a.b:c-d_e"),
        ("functions/add", "add-"),
        ("9lives", "_9lives"),
        ("-x", "_-x"),
        ("", "unknown_tool"),
        ("天气", "_"),
        (&"a".repeat(80), "aaaa"),
    ] {
        let found = contents([Message::user("x"), Message::new(Role::Assistant, vec![call("c", name, "{}")])]);
        let found = found[1]["parts"][0]["functionCall"]["name"].as_str().unwrap().to_owned();
        assert!(found.starts_with(sent) && found.len() <= 64, "{name:?}: {found}");
        assert!(found.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'), "{name:?}: {found}");
    }
}

#[test]
fn thoughts_and_signatures_of_others_never_go_out() {
    let foreign =
        |wire| Some(Box::new(Extra { wire, fields: Fields::parse(r#"{"thoughtSignature":"theirs"}"#).unwrap() }));
    let mut used = ToolUse::from_text("c", "f", "{}".to_owned());
    used.extra = foreign(Wire::Anthropic);
    let theirs =
        |extra| Block::Thinking(Thinking { text: "t".into(), signature: Some("s".into()), redacted: None, extra });
    let redacted = Thinking { redacted: Some("r".into()), ..Thinking::default() };
    let message = Message::new(
        Role::Assistant,
        vec![theirs(foreign(Wire::OpenaiResponses)), theirs(None), Block::Thinking(redacted), Block::ToolUse(used)],
    );
    let found = contents([Message::user("x"), message]);
    assert_eq!(found[1]["parts"], json!([{"functionCall": {"id": "c", "name": "f", "args": {}}}]));
}

#[test]
fn media_stand_where_the_api_wants_them() {
    let block = |source| Block::Document(Media { source, name: Some("n".into()), extra: None });
    let found = contents([Message::new(
        Role::User,
        vec![
            picture(),
            block(MediaSource::Base64 { media_type: "application/pdf".into(), data: "JVBE".into() }),
            block(MediaSource::Text { media_type: "text/plain".into(), data: "words".into() }),
            block(MediaSource::Url("https://a.org/x.pdf?y".into())),
            block(MediaSource::File("files/abc".into())),
        ],
    )]);
    let text = "<document name=\"n\" type=\"text/plain\">\nwords\n</document>";
    assert_eq!(
        found[0]["parts"],
        json!([
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "JVBE"}},
            {"text": text},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.org/x.pdf?y"}},
            {"fileData": {"fileUri": "files/abc"}},
        ])
    );
}

#[test]
fn calls_without_ids_get_ids_that_agree_and_are_never_sent() {
    let called = |name: &str, at: i32| json!({"functionCall": {"name": name, "args": {"at": at}}});
    let answered = |name: &str, text: &str| json!({"functionResponse": {"name": name, "response": {"output": text}}});
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [called("f", 0), called("g", 1), called("f", 2)]},
        {"role": "user", "parts": [answered("g", "1"), answered("f", "0"), answered("f", "2"), answered("h", "3")]},
        {"role": "model", "parts": [called("f", 4)]},
        {"role": "user", "parts": [answered("f", "4")]},
    ]});
    let read = wire::decode_request(WIRE, &body.to_string()).unwrap();
    let uses: Vec<(String, String)> = read
        .messages
        .iter()
        .flat_map(Message::tool_uses)
        .map(|call| (call.id.clone(), call.input.value()["at"].to_string()))
        .collect();
    for result in read.messages.iter().flat_map(Message::tool_results).filter(|result| result.name != "h") {
        assert!(uses.contains(&(result.id.clone(), result.prose())), "{result:?}: {uses:?}");
    }
    assert_eq!(uses.iter().map(|(id, _)| id).collect::<std::collections::HashSet<_>>().len(), 4);
    assert_eq!(encode(&read), body);
}

#[test]
fn a_body_that_came_goes_back_as_it_was() {
    let body = json!({
        "model": "models/gemini-2.5-pro",
        "systemInstruction": {"role": "system", "parts": [{"text": ""}, {"text": "Be brief."}], "new": 1},
        "tools": [
            {"functionDeclarations": [
                {"name": "a", "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}}},
                {"name": "b", "behavior": "BLOCKING"}]},
            {"functionDeclarations": [{"name": "c", "parametersJsonSchema": {"type": "object"}, "response": {}}]},
            {"functionDeclarations": [{"name": "d"}], "googleSearch": {}},
            {"googleSearch": {}},
            {"googleSearch": {"excludeDomains": ["x"]}},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}, "retrievalConfig": {}},
        "generationConfig": {"temperature": 1, "topP": 1.0, "topK": 40, "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT"}, "thinkingConfig": {"thinkingBudget": -1}, "stopSequences": []},
        "cachedContent": "cachedContents/1",
        "contents": [
            {"role": "model", "parts": [{"text": "first"}]},
            {"parts": [{"text": "no role"}, {"text": "", "new": true}]},
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA", "displayName": "n"}},
                {"inlineData": {"mimeType": "audio/wav", "data": "AA"}, "videoMetadata": {"fps": 1}},
                {"fileData": {"fileUri": "https://x.org/v", "mimeType": "video/mp4"}},
                {"fileData": {"fileUri": "files/1"}}, {"inline_data": {"mime_type": "a/b", "data": ""}}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true}, {"text": "hm", "thought": true, "thoughtSignature": "s1"},
                {"thoughtSignature": "s2", "thought": true}, {"text": "so", "thoughtSignature": "s3"},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"functionCall": {"name": "a", "args": {"x": 1.50}, "id": "i1"}, "thoughtSignature": "s4"},
                {"functionCall": {"name": "b"}}, {"functionCall": {"name": "c", "args": null, "id": "", "new": 1}},
                {"functionCall": {"name": "not legal", "args": [1]}}]},
            {"role": "function", "parts": [
                {"text": "before"},
                {"functionResponse": {"name": "a", "id": "i1", "response": {"output": "{\"x\":1}"}}},
                {"functionResponse": {"name": "b", "response": {"error": "bad"}, "scheduling": "SILENT"}},
                {"functionResponse": {"name": "c", "response": {"error": {"code": 1}}}},
                {"functionResponse": {"name": "c", "response": {"output": 1, "error": null}}},
                {"functionResponse": {"name": "c"}}]},
            {"role": "user"}, {"role": "user", "parts": null}, {"role": "user", "parts": []},
        ],
    });
    let read = wire::decode_request(WIRE, &body.to_string()).unwrap();
    assert_eq!(read.model, "gemini-2.5-pro");
    assert_eq!(encode(&read), body);
    assert_eq!(read.tools.len(), 6);
    let Tool::Function(tool) = &read.tools[0] else { panic!("{:?}", read.tools[0]) };
    let schema = json!({"type": "object", "properties": {"type": {"type": "string"}}});
    assert_eq!(tool.schema.value(), schema, "other wires are given JSON schema");
    let results: Vec<bool> =
        read.messages.iter().flat_map(Message::tool_results).map(|result| result.is_error).collect();
    assert_eq!(results, [false, true, true, false]);
}

#[test]
fn what_is_no_request_is_told() {
    for wrong in ["[]", "{}", r#"{"contents":{}}"#, r#"{"contents":[1]}"#] {
        assert_eq!(wire::decode_request(WIRE, wrong).unwrap_err().code, "invalid_request", "{wrong}");
    }
    let nan = Request { temperature: Some(f64::NAN), ..request([Message::user("x")]) };
    assert_eq!(wire::encode_request(WIRE, &nan).unwrap_err().code, "invalid_number");
}

#[test]
fn the_schema_of_an_answer_goes_out_in_the_subset_or_in_words() {
    let schema = |text: &str| {
        Some(OutputSchema { name: "n".into(), schema: Raw::parse(text).unwrap(), strict: None, description: None })
    };
    let sent =
        |request: &Request| -> Value { serde_json::from_str(&wire::encode_to_send(WIRE, request).unwrap()).unwrap() };
    let asks = Request {
        output: schema(r#"{"type":"object","properties":{"a":{"type":"string","minLength":3}},"required":["a"]}"#),
        ..request([Message::user("x")])
    };
    let found = sent(&asks);
    let narrowed = &found["generationConfig"]["responseJsonSchema"];
    assert_eq!(narrowed["additionalProperties"], json!(false));
    assert_eq!(narrowed["properties"]["a"]["description"], json!("at least 3 characters"));
    // Older models refuse a schema beside tools; newer ones take both.
    let tool =
        FunctionTool { name: "f".into(), description: None, schema: Raw::empty_object(), strict: None, extra: None };
    let both = Request { tools: [Tool::Function(tool)].into(), ..asks };
    let found = sent(&both);
    assert_eq!(found.get("generationConfig"), None);
    assert!(found["systemInstruction"]["parts"][0]["text"].as_str().unwrap().contains("minLength"), "{found}");
    let newer = sent(&Request { model: "gemini-3-flash".into(), ..both });
    assert!(newer["generationConfig"]["responseJsonSchema"].is_object(), "{newer}");
    let open = Request { output: schema(r#"{"type":"object"}"#), ..request([Message::user("x")]) };
    assert!(sent(&open)["systemInstruction"].is_object(), "an open object can't be enforced");
}
