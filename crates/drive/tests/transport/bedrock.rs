//! Bedrock's Converse against a double that refuses what its documentation says it refuses: signatures are checked by
//! an own reading of the specification, bodies by the service's model
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>,
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>).

use std::fmt::Write as _;

use loopwright_base::request::ToolChoice;
use loopwright_wire::frames::{EXCEPTION, encode_frame};
use ring::{digest, hmac};
use serde_json::{Value, json as value};

use super::{
    double::{Asked, Double, Given, asks, endpoint_of, json},
    *,
};

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const SESSION: &str = "a-session-token-of-sts";
const MODEL_ID: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const ARN: &str = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-x-v1:0";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn hash(text: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, text).as_ref())
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// A path as the canonical request has it: each byte of what was sent, escaped once more.
fn escaped(path: &str) -> String {
    path.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").unwrap();
        }
        text
    })
}

/// Why a signature is not right; `None` if it is.
fn refuses(asked: &Asked, session: Option<&str>) -> Option<&'static str> {
    let Some(header) = asked.header("authorization") else { return Some("MissingAuthenticationTokenException") };
    let Some(rest) = header.strip_prefix("AWS4-HMAC-SHA256 ") else { return Some("IncompleteSignatureException") };
    let field = |name: &str| {
        rest.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default().to_owned()
    };
    let (scope, names, signature) = (field("Credential"), field("SignedHeaders"), field("Signature"));
    let Some((id, scope)) = scope.split_once('/') else { return Some("IncompleteSignatureException") };
    if id != ID || asked.header("x-amz-security-token") != session {
        return Some("UnrecognizedClientException");
    }
    let [date, region, service, _] = *scope.split('/').collect::<Vec<_>>() else {
        return Some("IncompleteSignatureException");
    };
    let time = asked.header("x-amz-date")?;
    let signs = |name: &str| names.split(';').any(|known| known == name);
    let must = ["host", "x-amz-date", "content-type"];
    let lacks = must.iter().any(|name| !signs(name)) || (session.is_some() && !signs("x-amz-security-token"));
    if lacks || (region, service) != ("eu-west-1", "bedrock") || !time.starts_with(date) {
        return Some("InvalidSignatureException");
    }
    let headers = names
        .split(';')
        .fold(String::new(), |text, name| text + name + ":" + asked.header(name).unwrap_or_default() + "\n");
    let canonical = format!("POST\n{}\n\n{headers}\n{names}\n{}", escaped(&asked.path), hash(asked.body.as_bytes()));
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(canonical.as_bytes()));
    let key = [date, region, service, "aws4_request"]
        .iter()
        .fold(format!("AWS4{SECRET}").into_bytes(), |key, part| mac(&key, part));
    (hex(&mac(&key, &text)) != signature).then_some("InvalidSignatureException")
}

/// A refusal whose kind stands in a header alone, as the service has it.
fn refusal(status: u16, kind: &str, message: &str) -> Given {
    let mut given = json(status, &value!({ "message": message }));
    given.headers.push(("x-amzn-errortype", format!("{kind}:http://internal.amazon.com/coral/")));
    given.headers.push(("x-amzn-requestid", "req-1".to_owned()));
    given
}

fn frames(events: &[(&str, Value)]) -> Given {
    let body = events.iter().flat_map(|(name, data)| encode_frame(name, &data.to_string())).collect();
    Given { status: 200, headers: vec![("content-type", "application/vnd.amazon.eventstream".to_owned())], body }
}

fn usage() -> Value {
    value!({"inputTokens": 3, "outputTokens": 9, "totalTokens": 20, "cacheReadInputTokens": 8})
}

/// The events of an answer: a thought, words and a call.
fn events() -> Vec<(&'static str, Value)> {
    let at = |index: u64, delta: Value| {
        ("contentBlockDelta", value!({"contentBlockIndex": index, "delta": delta, "p": "abc"}))
    };
    vec![
        ("messageStart", value!({"role": "assistant", "p": "abcd"})),
        at(0, value!({"reasoningContent": {"text": "Hm."}})),
        at(0, value!({"reasoningContent": {"signature": "c2ln"}})),
        ("contentBlockStop", value!({"contentBlockIndex": 0})),
        at(1, value!({"text": "Grüß "})),
        at(1, value!({"text": "Gott."})),
        ("contentBlockStop", value!({"contentBlockIndex": 1})),
        (
            "contentBlockStart",
            value!({"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "add"}}}),
        ),
        at(2, value!({"toolUse": {"input": "{\"a\":"}})),
        at(2, value!({"toolUse": {"input": "1}"}})),
        ("contentBlockStop", value!({"contentBlockIndex": 2})),
        ("messageStop", value!({"stopReason": "tool_use"})),
        ("metadata", value!({"usage": usage(), "metrics": {"latencyMs": 5}})),
    ]
}

fn whole() -> Value {
    value!({"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"text": "Grüß Gott."},
        {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}}]}},
        "stopReason": "tool_use", "usage": usage(), "metrics": {"latencyMs": 5}})
}

/// What the service answers to a request that is authorised.
fn converse(asked: &Asked) -> Given {
    let path = asked.path.replace("%3A", ":").replace("%2F", "/");
    let Some((model, method)) = path.strip_prefix("/model/").and_then(|rest| rest.rsplit_once('/')) else {
        return refusal(404, "UnknownOperationException", "no such operation");
    };
    if asked.path.matches('/').count() != 3 || ![MODEL_ID, ARN].contains(&model) {
        return refusal(400, "ValidationException", "The provided model identifier is invalid.");
    }
    let body = asked.json();
    for key in ["model", "modelId", "stream"] {
        if body.get(key).is_some() {
            return refusal(400, "SerializationException", &format!("unknown member {key}"));
        }
    }
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    let blank = messages.iter().any(|message| message["content"].as_array().is_none_or(Vec::is_empty));
    if roles.first() != Some(&"user") || roles.windows(2).any(|pair| pair[0] == pair[1]) || blank {
        return refusal(400, "ValidationException", "A conversation must alternate between user and assistant roles.");
    }
    match method {
        "converse" => json(200, &whole()),
        "converse-stream" => frames(&events()),
        _ => refusal(404, "UnknownOperationException", "no such operation"),
    }
}

fn says(model: &str, stream: bool) -> Request {
    Request { model: model.into(), ..request(stream) }
}

fn keys(url: &str) -> Vec<(&str, &str)> {
    vec![
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ]
}

fn guarded(asked: &Asked, session: Option<&str>) -> Given {
    match refuses(asked, session) {
        Some(kind) => refusal(403, kind, "The request signature we calculated does not match."),
        None => converse(asked),
    }
}

#[tokio::test]
async fn bedrock_is_asked_with_signatures_and_its_frames_are_read_in_every_chunking() {
    for piece in [1, 2, 3, 7, 16, 61, 256, usize::MAX] {
        let double = Double::start(piece, |asked| guarded(asked, None)).await;
        for model in [MODEL_ID, ARN] {
            let endpoint = endpoint_of(&format!("bedrock:{model}"), &keys(&double.url)).unwrap();
            let (streamed, shown) = asks(&endpoint, &says(model, true)).await;
            let streamed = streamed.unwrap();
            assert_eq!(shown, "Grüß Gott.", "{piece}");
            assert_eq!(asks(&endpoint, &says(model, false)).await.0.unwrap(), streamed, "{piece}");
            assert_eq!((streamed.usage.input, streamed.usage.cache_read, streamed.usage.output), (11, 8, 9));
            assert_eq!(streamed.message.tool_uses().next().unwrap().arguments_text(), "{\"a\":1}");
            assert!(asks(&endpoint.for_model(ARN), &says(ARN, true)).await.0.is_ok());
        }
    }
}

#[tokio::test]
async fn a_run_goes_on_with_thoughts_calls_and_results() {
    let double = Double::start(usize::MAX, |asked| guarded(asked, None)).await;
    let endpoint = endpoint_of(&format!("bedrock:{MODEL_ID}"), &keys(&double.url)).unwrap();
    let mut request = says(MODEL_ID, true);
    request.tool_choice = Some(ToolChoice::Auto);
    request.parallel_tool_calls = Some(false);
    let add = value!({"function": {"name": "add", "schema": {"type": "object"}}});
    request.tools = vec![serde_json::from_value(add).unwrap()].into();
    let answer = asks(&endpoint, &request).await.0.unwrap();
    assert!(answer.adapted.iter().any(|note| note.contains("parallel_tool_calls")), "{:?}", answer.adapted);
    request.messages.push(answer.message);
    let result = loopwright_base::message::ToolResult::text("t1", "add", "2");
    request.messages.push(Message::new(Role::User, vec![Block::ToolResult(result)]));
    asks(&endpoint, &request).await.0.unwrap();
    let body = double.asked.lock().unwrap()[1].json();
    assert_eq!(body["messages"][1], whole()["output"]["message"]);
    let result = value!({"toolResult": {"toolUseId": "t1", "content": [{"text": "2"}]}});
    assert_eq!(body["messages"][2]["content"], value!([result]));
    assert_eq!(body["toolConfig"]["tools"][0]["toolSpec"]["name"], "add");
}

#[tokio::test]
async fn bedrock_refuses_what_it_documents() {
    let double = Double::start(usize::MAX, |asked| guarded(asked, None)).await;
    let refused = |env: Vec<(&'static str, String)>, model: &'static str| {
        let url = double.url.clone();
        async move {
            let mut all = keys(&url);
            all.retain(|(name, _)| env.iter().all(|(other, _)| other != name));
            all.extend(env.iter().map(|(name, value)| (*name, value.as_str())));
            let endpoint = endpoint_of(&format!("bedrock:{model}"), &all).unwrap();
            asks(&endpoint, &says(model, true)).await.0.unwrap_err().failure
        }
    };
    for (name, wrong, code) in [
        ("AWS_SECRET_ACCESS_KEY", "another-secret-1234", "InvalidSignatureException"),
        ("AWS_ACCESS_KEY_ID", "AKIDOTHER", "UnrecognizedClientException"),
        ("AWS_REGION", "us-west-2", "InvalidSignatureException"),
        ("AWS_SESSION_TOKEN", SESSION, "UnrecognizedClientException"),
        ("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-x", "IncompleteSignatureException"),
    ] {
        let failure = refused(vec![(name, wrong.to_owned())], MODEL_ID).await;
        assert_eq!((failure.kind, failure.status), (FailureKind::Auth, Some(403)), "{name}: {}", failure.message);
        assert_eq!((failure.code.as_deref(), failure.request_id.as_deref()), (Some(code), Some("req-1")));
        assert!(!failure.is_transient());
    }
    let failure = refused(Vec::new(), "nobody.knows-v1:0").await;
    assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::BadRequest, Some("ValidationException")));
}

#[tokio::test]
async fn streams_that_break_or_are_damaged_are_typed_failures() {
    let cases: [(&str, FailureKind, Option<&str>); 4] = [
        ("throttled", FailureKind::RateLimited, Some("throttlingException")),
        ("model", FailureKind::Server, Some("modelStreamErrorException")),
        ("damaged", FailureKind::InvalidBody, Some("damaged_frame")),
        ("cut", FailureKind::Cut, None),
    ];
    for (case, kind, code) in cases {
        let double = Double::start(9, move |asked| {
            let mut all = events();
            all.truncate(6);
            let mut given = match case {
                "throttled" => {
                    all.push((EXCEPTION, value!({"__type": "throttlingException", "message": "Too many tokens"})));
                    frames(&all)
                }
                "model" => {
                    let error =
                        value!({"__type": "modelStreamErrorException", "message": "x", "originalStatusCode": 500});
                    all.push((EXCEPTION, error));
                    frames(&all)
                }
                _ => frames(&all),
            };
            if case == "damaged" {
                let last = given.body.len() - 20;
                given.body[last] ^= 1;
            }
            if case == "cut" {
                given.body.truncate(given.body.len() - 7);
            }
            if asked.path.ends_with("-stream") { given } else { refusal(404, "x", "x") }
        })
        .await;
        let endpoint = endpoint_of(&format!("bedrock:{MODEL_ID}"), &keys(&double.url)).unwrap();
        let failed = asks(&endpoint, &says(MODEL_ID, true)).await.0.unwrap_err();
        assert_eq!((failed.failure.kind, failed.failure.code.as_deref()), (kind, code), "{case}: {failed}");
        assert!(failed.visible && failed.failure.is_transient(), "{case}");
        assert!(failed.partial.unwrap().message.prose().starts_with("Grüß"), "{case}");
    }
}

/// A folder of this test's own.
fn folder(name: &str) -> String {
    let folder = std::env::temp_dir().join(format!("loopwright-bedrock-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn keys_come_from_variables_a_profile_or_a_container() {
    let lent = Arc::new(AtomicUsize::new(0));
    let count = lent.clone();
    let double = Double::start(usize::MAX, move |asked| {
        if asked.path == "/keys" {
            if (asked.method.as_str(), asked.header("authorization")) != ("GET", Some("agent-token")) {
                return json(401, &value!({"message": "who are you?"}));
            }
            count.fetch_add(1, Ordering::SeqCst);
            return json(
                200,
                &value!({"AccessKeyId": ID, "SecretAccessKey": SECRET, "Token": SESSION,
                "Expiration": "2099-01-01T00:00:00Z"}),
            );
        }
        let session = asked.header("x-amz-security-token").is_some().then_some(SESSION);
        guarded(asked, session)
    })
    .await;
    let home = folder("home");
    let work = format!(
        "[default]\naws_access_key_id = no\naws_secret_access_key = no\n\
         [work]\naws_access_key_id = {ID}\naws_secret_access_key={SECRET}\n"
    );
    let (credentials, config) = (format!("{home}/credentials"), format!("{home}/config"));
    std::fs::write(&credentials, work).unwrap();
    std::fs::write(&config, "[profile work]\nregion = eu-west-1\n[profile far]\nrole_arn = arn:x\n[profile empty]\n")
        .unwrap();
    let token = format!("{home}/token");
    std::fs::write(&token, "agent-token\n").unwrap();
    let agent = format!("{}/keys", double.url);
    let url = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", double.url.as_str());
    let region = ("AWS_DEFAULT_REGION", "eu-west-1");
    let files = [("AWS_SHARED_CREDENTIALS_FILE", credentials.as_str()), ("AWS_CONFIG_FILE", config.as_str())];
    let given = [("AWS_ACCESS_KEY_ID", ID), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", SESSION)];
    let container =
        [("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.as_str()), ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token)];
    for env in [
        [vec![url, region], given.to_vec(), files.to_vec()].concat(),
        [vec![url, ("AWS_PROFILE", "work")], files.to_vec()].concat(),
        [vec![url, region], container.to_vec()].concat(),
    ] {
        let endpoint = endpoint_of(&format!("bedrock:{MODEL_ID}"), &env).unwrap();
        for _ in 0..2 {
            asks(&endpoint, &says(MODEL_ID, true)).await.0.unwrap();
        }
        let shown = format!("{endpoint:?}");
        assert!(!shown.contains(SECRET) && !shown.contains(SESSION), "{shown}");
        assert_eq!(endpoint.scrub(format!("({SECRET})")), "(***)", "{env:?}");
    }
    assert_eq!(lent.load(Ordering::SeqCst), 1, "keys that are lent are asked for once");

    let model = format!("bedrock:{MODEL_ID}");
    for (env, code, says) in [
        (vec![("AWS_PROFILE", "nobody")], "invalid_credentials", "nobody"),
        (vec![("AWS_PROFILE", "far")], "invalid_credentials", "role_arn"),
        (vec![("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/keys")], "invalid_credentials", "https"),
    ] {
        let named = if env[0].0 == "AWS_PROFILE" { files.to_vec() } else { Vec::new() };
        let error = endpoint_of(&model, &[vec![url, region], named, env].concat()).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let far = endpoint_of(&model, &[region]).unwrap_err();
    assert_eq!(far.code, "missing_key");
    for word in ["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"] {
        assert!(far.to_string().contains(word), "{far}");
    }
    let nowhere = endpoint_of(&model, &given).unwrap_err();
    assert_eq!((nowhere.code.as_ref(), nowhere.to_string().contains("AWS_REGION")), ("missing_setting", true));
    let denied = [vec![url, region], container[..1].to_vec()].concat();
    let failure = asks(&endpoint_of(&model, &denied).unwrap(), &says(MODEL_ID, true)).await.0.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::Auth, "{}", failure.message);
}

#[tokio::test]
async fn a_key_of_bedrock_goes_out_as_a_bearers() {
    let double = Double::start(usize::MAX, |asked| {
        if asked.header("authorization") == Some(&format!("Bearer {KEY}")) {
            converse(asked)
        } else {
            refusal(403, "AccessDeniedException", "Authentication failed")
        }
    })
    .await;
    let mut env = keys(&double.url);
    env.push(("AWS_BEARER_TOKEN_BEDROCK", KEY));
    let endpoint = endpoint_of(&format!("bedrock:{MODEL_ID}"), &env).unwrap();
    assert!(asks(&endpoint, &says(MODEL_ID, true)).await.0.is_ok());
}

#[test]
fn addresses_of_bedrock_name_the_region_and_the_model() {
    for (region, model, address) in [
        (
            "eu-west-1",
            MODEL_ID,
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/\
             us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
        ),
        ("cn-north-1", "a.b", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/a.b/converse"),
        (
            "us-east-1",
            "arn:aws:x/y",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Ax%2Fy/converse",
        ),
    ] {
        let env = [("AWS_REGION", region), ("AWS_BEARER_TOKEN_BEDROCK", KEY)];
        let endpoint = endpoint_of(&format!("bedrock:{model}"), &env).unwrap();
        assert_eq!(endpoint.url.as_ref().unwrap().as_str(), address);
        assert_eq!(endpoint.wire, Wire::Bedrock);
    }
}
