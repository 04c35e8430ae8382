//! Vertex against a double that refuses what its documentation says it refuses: Gemini's and Anthropic's bodies, tokens
//! given by hand and such as a token server gives against the signature of a service's account
//! (<https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude>,
//! <https://developers.google.com/identity/protocols/oauth2/service-account>).

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use loopwright_base::request::Caching;
use ring::signature;
use serde_json::{Value, json as value};

use super::{
    double::{Asked, Double, Given, asks, endpoint_of, events, json},
    *,
};

/// The key of an account that is nobody's: made for this test.
const ACCOUNT_KEY: [&str; 15] = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC1Ovga9myvf37OIcljvkadt5I8s1O9bPkvbBMJRvPGMxacessqM5t55gpyVH",
    "YyqnpYdNL4uJintABo+8DEvLi4vE+oRBJm6Vhn2YX+sJZeSimH4vEIPb84aGup31TvfHfjh9MMrik3Lcwol0vfqSKRYi5BO+dedumeDlZuZNkm",
    "bc4jWxpoCLygqcaKx5p/iaAs/2YrmSS5/ceon2J/tlhGThYg5EhyfAq6haJAclkmTMSPjyR/5IDKUE9SX4npRUcO4omr5yyUDmiG9O5kQFJ4oU",
    "kVPThU7je9AAtCUhvpkX6UPHM+luOk4tcde9hOJ7MJcdsdlvshp5LmFt14weXPAgMBAAECggEACBkk+gt16tevImXnGmJnxGduDPFUdhv2/JP/",
    "O8RkY0BoK8De8DlTIrzRTa+Rgo0Un3xE6yFQjPnhpM9PG1t1g6fChXnZOqkFrspNDwb0CS2WMoDFFYGw2EPuP65/nJ36u3uXxjLIG7ObslqkZM",
    "+pgEabW4XiPlng8ZOhcBhojat6L2+9I4LICjX4iS6RuR+17sfgmSm7uYPecqd3XKabveC0Mwal+uw5nxHM9vrEZ5iT//HHhh5QjKgP/MyPA2oe",
    "AwWhor+NmAxMOYZ6QCK/hA64IEkLO7H3OxwBiwDS38j+HlwIv2nKSRrpepYD/oLmNAh31hEj2yie2o1vWEKN1QKBgQDdHbtmU8GzMi+Msrr1Yl",
    "V8J+BGaLpZapgygdKivQbXgqxOEtA7ry9Q64CFg59MRK3nOZzI37j/WaUyf5YaeM0VHUrfP3M0zVfCB3W/OyDyOLDQZ5VGI0X00PI7tQnW187e",
    "Y+Xe8UPnT8+m3mLXOJFqyyaiiIgV9czn3rrQyK94swKBgQDR0lxMbMAPmFlhH9pjfayCNlqT+nA4xyZLzo9hjwZcZmgflTG6MQiUoXuPGRKRl4",
    "lO2CxcmJ9co+KFsSCbMZr+T9vhdoh7HG9hwp1+ZN8+FjiS/YpENrXGFZmTq6vZJNQpRW+dZeKM4pXegxCPvwKSpBNfhfsaHqgCTJy0B7dUdQKB",
    "gQCcXFIQ4lmvZmXJkPo0W/0ndutZ3uUoJgDKdpOFETatX3KJIzStgAxtpJuVzqXvQQHY6Ry9z7b6m2H+e8qhnZsouzYe+Ld3N14/jxbsy9tYbk",
    "5akWU12+u0W61wG22Bx8o56Vq8dNAX2pB05/3tQ8tRQadoeDQDk3X64b4ptkCfkQKBgFfV0xOfNuuQYGI7PmYF1zCPZm2qGk56d/qmFvnFMOl/",
    "aTlHcJC8NBZcX2gxG8fdAvsBndiJf7T9WjeTRc4R/wtVDPwebdXzumDXYqzlt1q7XKWUA8y4hnHM2wSpigAV3ccFLUtbunI17H1Aqq8yS/ZtPz",
    "ru0IZHrReBUNxAmqt9AoGAWBPZ0O2NoU2XxRFkqSmhC5+VaFF9AjGoM7kMCNRY70LejPqAb0/TVlAAIAmXSdvgaqIcQtnO0Al6AV892w+OAWbu",
    "CXHWZ4t1BWLJkqh7Zzo7j1GyzvKVd+Ls2/K3Tyfx3/2FuvnpMK3LTEs5CFzf37RXDAXxVoO0llvrKkwwypg=",
];
const EMAIL: &str = "robot@our-project.iam.gserviceaccount.com";
const CLAUDE: &str = "claude-sonnet-4-5@20250929";
const GEMINI: &str = "gemini-2.5-flash";
const AT: &str = "/v1/projects/our-project/locations/europe-west1/publishers";

fn pem() -> String {
    // Put together here, so that no file of this project holds what looks like a key.
    let mark = |word: &str| format!("-----{word} PRIVATE {}-----\n", "KEY");
    let lines: String = ACCOUNT_KEY
        .concat()
        .as_bytes()
        .chunks(64)
        .fold(String::new(), |text, line| text + std::str::from_utf8(line).unwrap() + "\n");
    format!("{}{lines}{}", mark("BEGIN"), mark("END"))
}

/// The file of the account, whose tokens come from `url`.
fn account_file(name: &str, url: &str) -> String {
    let folder = std::env::temp_dir().join(format!("loopwright-vertex-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("account.json");
    let file = value!({"type": "service_account", "project_id": "our-project", "private_key_id": "k1",
        "private_key": pem(), "client_email": EMAIL, "token_uri": format!("{url}/token")});
    std::fs::write(&path, file.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What a token server says against an assertion.
fn refuses(asked: &Asked, audience: &str) -> Option<String> {
    let form: Vec<(String, String)> =
        reqwest::Url::parse(&format!("form:?{}", asked.body)).unwrap().query_pairs().into_owned().collect();
    let field = |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if field("grant_type") != Some("urn:ietf:params:oauth:grant-type:jwt-bearer") {
        return Some("unsupported_grant_type".to_owned());
    }
    let assertion = field("assertion")?;
    let (signed, sign) = assertion.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let part = |text: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap() };
    let (header, claims) = (part(header), part(claims));
    let key = signature::RsaKeyPair::from_pkcs8(&STANDARD.decode(ACCOUNT_KEY.concat()).unwrap()).unwrap();
    let public = signature::UnparsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA256, key.public().as_ref());
    if public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(sign).unwrap()).is_err() {
        return Some("Invalid JWT Signature.".to_owned());
    }
    let time = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    let right = header["alg"] == "RS256"
        && header["kid"] == "k1"
        && claims["iss"] == EMAIL
        && claims["aud"] == audience
        && claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        && time <= 3600;
    (!right).then(|| format!("Invalid JWT: {claims}"))
}

fn refusal(status: u16, word: &str, message: &str) -> Given {
    json(status, &value!({"error": {"code": status, "message": message, "status": word}}))
}

/// What the service refuses; an answer to what it takes.
fn vertex(asked: &Asked, token: &str) -> Given {
    if asked.header("authorization") != Some(&format!("Bearer {token}")) {
        return refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.");
    }
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let Some((model, method)) = path.strip_prefix(AT).and_then(|rest| rest.rsplit_once(':')) else {
        return refusal(404, "NOT_FOUND", "no such place");
    };
    let body = asked.json();
    let no = |message: &str| {
        let error = value!({"type": "invalid_request_error", "message": message});
        json(400, &value!({"type": "error", "error": error}))
    };
    match (model.trim_start_matches('/'), method) {
        ("google/models/gemini-2.5-flash", "generateContent" | "streamGenerateContent") => {
            if body.get("model").is_some() || !body["contents"].is_array() {
                return refusal(400, "INVALID_ARGUMENT", "Unknown name \"model\"");
            }
            let chunk = |text: &str, finish: Option<&str>| {
                let mut candidate = value!({"content": {"role": "model", "parts": [{"text": text}]}, "index": 0});
                if let Some(finish) = finish {
                    candidate["finishReason"] = finish.into();
                }
                value!({"candidates": [candidate], "modelVersion": GEMINI, "responseId": "r",
                    "createTime": "2026-11-26T00:00:00Z",
                    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5,
                        "trafficType": "ON_DEMAND"}})
            };
            if method == "generateContent" {
                return json(200, &chunk("Grüß Gott.", Some("STOP")));
            }
            if query != "alt=sse" {
                return refusal(400, "INVALID_ARGUMENT", "alt=sse");
            }
            events(&[chunk("Grüß ", None), chunk("Gott.", Some("STOP"))], false)
        }
        ("anthropic/models/claude-sonnet-4-5@20250929", "rawPredict" | "streamRawPredict") => {
            for key in ["model", "cache_control", "output_config"] {
                if body.get(key).is_some() {
                    return no(&format!("{key}: Extra inputs are not permitted"));
                }
            }
            if body["anthropic_version"] != "vertex-2023-10-16" {
                return no("anthropic_version: Field required");
            }
            if (method == "streamRawPredict") != (body["stream"] == true) {
                return no("stream: does not fit the method");
            }
            let message = value!({"id": "msg_vrtx_1", "type": "message", "role": "assistant", "model": CLAUDE,
                "content": [{"type": "text", "text": "Grüß Gott."}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 3, "output_tokens": 2}});
            if method == "rawPredict" {
                return json(200, &message);
            }
            let mut start = message.clone();
            start["content"] = value!([]);
            start["stop_reason"] = Value::Null;
            events(
                &[
                    value!({"type": "vertex_event"}),
                    value!({"type": "message_start", "message": start}),
                    value!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                    value!({"type": "content_block_delta", "index": 0,
                        "delta": {"type": "text_delta", "text": "Grüß "}}),
                    value!({"type": "content_block_delta", "index": 0,
                        "delta": {"type": "text_delta", "text": "Gott."}}),
                    value!({"type": "content_block_stop", "index": 0}),
                    value!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                        "usage": {"output_tokens": 2}}),
                    value!({"type": "message_stop"}),
                ],
                false,
            )
        }
        _ => refusal(404, "NOT_FOUND", "Publisher Model was not found or your project does not have access to it."),
    }
}

fn says(model: &str, stream: bool) -> Request {
    Request { model: model.into(), cache: Caching::Usual, ..request(stream) }
}

fn place(url: &str) -> [(&str, &str); 3] {
    [("VERTEX_BASE_URL", url), ("GOOGLE_CLOUD_PROJECT", "our-project"), ("GOOGLE_CLOUD_LOCATION", "europe-west1")]
}

#[tokio::test]
async fn vertex_takes_bodies_of_gemini_and_of_anthropic_in_every_chunking() {
    for piece in [1, 3, 7, 64, usize::MAX] {
        let double = Double::start(piece, |asked| vertex(asked, KEY)).await;
        let mut env = place(&double.url).to_vec();
        env.push(("VERTEX_ACCESS_TOKEN", KEY));
        for model in [GEMINI, CLAUDE] {
            let endpoint = endpoint_of(&format!("vertex:{model}"), &env).unwrap();
            for stream in [false, true] {
                let (answer, shown) = asks(&endpoint, &says(model, stream)).await;
                let answer = answer.unwrap();
                assert_eq!((answer.message.prose().as_str(), &answer.stop), ("Grüß Gott.", &StopReason::EndTurn));
                assert_eq!((answer.usage.input, answer.usage.output), (3, 2));
                assert!(!stream || shown == "Grüß Gott.", "{model} {piece}: {shown}");
            }
            // Another model of the same provider may speak another wire.
            let other = if model == GEMINI { CLAUDE } else { GEMINI };
            assert!(asks(&endpoint.for_model(other), &says(other, true)).await.0.is_ok());
            assert!(asks(&endpoint, &says(other, true)).await.0.is_ok());
        }
    }
}

#[tokio::test]
async fn what_is_cached_at_vertex_is_marked_block_by_block() {
    let double = Double::start(usize::MAX, |asked| vertex(asked, KEY)).await;
    let mut env = place(&double.url).to_vec();
    env.push(("VERTEX_ACCESS_TOKEN", KEY));
    let endpoint = endpoint_of(&format!("vertex:{CLAUDE}"), &env).unwrap();
    let mut request = says(CLAUDE, false);
    request.system = Some(Message::text(Role::System, "Be brief.").into());
    request.messages.push(Message::assistant("Yes?"));
    request.messages.push(Message::user("Go."));
    asks(&endpoint, &request).await.0.unwrap();
    let body = double.asked.lock().unwrap()[0].json();
    let mark = value!({"type": "ephemeral"});
    assert_eq!(body["system"], value!([{"type": "text", "text": "Be brief.", "cache_control": mark}]));
    assert_eq!(body["messages"][2]["content"], value!([{"type": "text", "text": "Go.", "cache_control": mark}]));
    // So is the end of the request before.
    assert_eq!(body["messages"][0]["content"], value!([{"type": "text", "text": "hello", "cache_control": mark}]));
    request.cache = Caching::Off;
    asks(&endpoint, &request).await.0.unwrap();
    assert!(!double.asked.lock().unwrap()[1].body.contains("cache_control"));
}

#[tokio::test]
async fn tokens_come_from_the_file_of_a_service_account_and_are_renewed() {
    // Tokens have numbers; the first holds a second, and one that is taken back is refused before its time.
    let given = Arc::new(AtomicUsize::new(0));
    let valid = Arc::new(AtomicUsize::new(0));
    let (counts, now) = (given.clone(), valid.clone());
    let audience = Arc::new(Mutex::new(String::new()));
    let wanted = audience.clone();
    let double = Double::start(usize::MAX, move |asked| {
        if asked.path != "/token" {
            return vertex(asked, &format!("ya29.secret-token-{}", now.load(Ordering::SeqCst)));
        }
        if let Some(words) = refuses(asked, &wanted.lock().unwrap()) {
            return json(400, &value!({"error": "invalid_grant", "error_description": words}));
        }
        let number = counts.fetch_add(1, Ordering::SeqCst) + 1;
        now.store(number, Ordering::SeqCst);
        json(
            200,
            &value!({"access_token": format!("ya29.secret-token-{number}"), "token_type": "Bearer",
            "expires_in": if number == 1 { 1 } else { 3599 }}),
        )
    })
    .await;
    *audience.lock().unwrap() = format!("{}/token", double.url);
    let file = account_file("renewed", &double.url);
    // The project is the account's.
    let env = [
        ("VERTEX_BASE_URL", double.url.as_str()),
        ("GOOGLE_CLOUD_LOCATION", "europe-west1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", &file),
    ];
    let endpoint = endpoint_of(&format!("vertex:{GEMINI}"), &env).unwrap();
    assert!(asks(&endpoint, &says(GEMINI, true)).await.0.is_ok());
    assert!(asks(&endpoint.for_model(CLAUDE), &says(CLAUDE, false)).await.0.is_ok());
    assert_eq!(given.load(Ordering::SeqCst), 1, "one token serves all models until its time is over");
    tokio::time::sleep(Duration::from_millis(600)).await;
    let (first, second) = (says(GEMINI, false), says(GEMINI, false));
    let both = tokio::join!(asks(&endpoint, &first), asks(&endpoint, &second));
    assert!(both.0.0.is_ok() && both.1.0.is_ok());
    assert_eq!(given.load(Ordering::SeqCst), 2, "those who wait share what one has asked for");
    valid.store(99, Ordering::SeqCst);
    assert!(asks(&endpoint, &says(GEMINI, true)).await.0.is_ok(), "a token that was taken back is replaced at once");
    assert_eq!(given.load(Ordering::SeqCst), 3);
    assert!(!format!("{endpoint:?}").contains("secret-token"));
    assert_eq!(endpoint.scrub("with ya29.secret-token-3.".to_owned()), "with ***.");

    *audience.lock().unwrap() = "elsewhere".to_owned();
    valid.store(99, Ordering::SeqCst);
    let failure = asks(&endpoint, &says(GEMINI, true)).await.0.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::Auth, "{}", failure.message);
    assert!(failure.message.contains("invalid_grant"), "{}", failure.message);
    assert!(failure.hint.unwrap().contains("GOOGLE_APPLICATION_CREDENTIALS"));
}

#[tokio::test]
async fn vertex_refuses_what_it_documents_and_what_lacks_is_told() {
    let double = Double::start(usize::MAX, |asked| vertex(asked, "another-token")).await;
    let mut env = place(&double.url).to_vec();
    env.push(("VERTEX_ACCESS_TOKEN", KEY));
    let endpoint = endpoint_of(&format!("vertex:{GEMINI}"), &env).unwrap();
    let failure = asks(&endpoint, &says(GEMINI, false)).await.0.unwrap_err().failure;
    assert_eq!((failure.kind, failure.status), (FailureKind::Auth, Some(401)));
    env[3].1 = "another-token";
    let endpoint = endpoint_of("vertex:gemini-0", &env).unwrap();
    let failure = asks(&endpoint, &says("gemini-0", false)).await.0.unwrap_err().failure;
    assert_eq!((failure.kind, failure.status), (FailureKind::NotFound, Some(404)));

    let token = ("VERTEX_ACCESS_TOKEN", KEY);
    let missing = |env: &[(&str, &str)], code: &str, says: &[&str]| {
        let error = endpoint_of("vertex:gemini-2.5-pro", env).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        for word in says {
            assert!(error.to_string().contains(word), "{error}");
        }
    };
    missing(&[token], "missing_setting", &["project", "GOOGLE_CLOUD_PROJECT"]);
    let project = ("GOOGLE_CLOUD_PROJECT", "p");
    missing(&[project], "missing_key", &["VERTEX_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"]);
    missing(&[project, ("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/x.json")], "invalid_credentials", &["/nowhere"]);
    let broken = account_file("broken", "http://example.com");
    missing(&[project, ("GOOGLE_APPLICATION_CREDENTIALS", &broken)], "invalid_credentials", &["token_uri", "https"]);
    for (text, says) in [
        ("{", "JSON"),
        (r#"{"type": "external_account"}"#, "external_account"),
        (r#"{"type": "service_account", "client_email": "e"}"#, "private_key"),
        (r#"{"type": "service_account", "client_email": "e", "private_key": "secret"}"#, "no RSA key"),
    ] {
        std::fs::write(&broken, text).unwrap();
        missing(&[project, ("GOOGLE_APPLICATION_CREDENTIALS", &broken)], "invalid_credentials", &[says]);
    }
}

#[test]
fn addresses_of_vertex_name_project_and_location() {
    let token = ("VERTEX_ACCESS_TOKEN", KEY);
    let project = ("GOOGLE_CLOUD_PROJECT", "p-1");
    let google = "/v1/projects/p-1/locations";
    let gemini = "publishers/google/models/gemini-2.5-pro:generateContent";
    for (env, model, address) in [
        (vec![], "gemini-2.5-pro", format!("https://aiplatform.googleapis.com{google}/global/{gemini}")),
        (
            vec![("GOOGLE_CLOUD_LOCATION", "us-central1")],
            "gemini-2.5-pro",
            format!("https://us-central1-aiplatform.googleapis.com{google}/us-central1/{gemini}"),
        ),
        (
            vec![("GOOGLE_CLOUD_LOCATION", "eu")],
            CLAUDE,
            format!(
                "https://aiplatform.eu.rep.googleapis.com{google}/eu/publishers/anthropic/models/{CLAUDE}:rawPredict"
            ),
        ),
        (
            vec![("VERTEX_BASE_URL", "https://gate.example/v1/projects/q/locations/l")],
            "gemini-2.5-pro",
            format!("https://gate.example/v1/projects/q/locations/l/{gemini}"),
        ),
    ] {
        let mut all = vec![token, project];
        all.extend(env);
        let endpoint = endpoint_of(&format!("vertex:{model}"), &all).unwrap();
        assert_eq!(endpoint.url.as_ref().unwrap().as_str(), address);
        assert_eq!(endpoint.headers()["authorization"], format!("Bearer {KEY}").as_str());
    }
}
