//! Azure `OpenAI` against a double that refuses what its documentation says it refuses
//! (<https://learn.microsoft.com/azure/ai-foundry/openai/reference>, `/how-to/content-filter-streaming`).

use serde_json::{Value, json as value};

use super::{
    double::{Asked, Double, Given, asks, endpoint_of, events, json},
    *,
};

const DEPLOYMENT: &str = "our-gpt";
const TOKEN: &str = "eyJ.a-token-of-entra.sig";

fn error(status: u16, code: &str, message: &str) -> Given {
    json(status, &value!({"error": {"code": code, "message": message}}))
}

fn safe() -> Value {
    value!({"hate": {"filtered": false, "severity": "safe"}})
}

/// The chunks of a streamed answer: the filter's word on the prompt first, without a choice.
fn chunks(finish: &str) -> Vec<Value> {
    let chunk = |choices: Value| {
        value!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o",
            "system_fingerprint": "fp_1", "choices": choices})
    };
    let choice = |delta: Value, finish: Value| {
        chunk(value!([{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": null,
            "content_filter_results": safe()}]))
    };
    let prompt = value!([{"prompt_index": 0, "content_filter_results": safe()}]);
    vec![
        value!({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": prompt}),
        choice(value!({"role": "assistant", "content": "", "refusal": null}), Value::Null),
        choice(value!({"content": "Grüß "}), Value::Null),
        choice(value!({"content": "Gott."}), Value::Null),
        choice(value!({}), finish.into()),
        value!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o",
            "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}),
    ]
}

/// What the service refuses; an answer to what it takes.
fn azure(asked: &Asked) -> Given {
    let path = asked.path.split('?').next().unwrap();
    let authorised = asked.header("api-key") == Some(KEY)
        || asked.header("authorization").is_some_and(|value| value == format!("Bearer {TOKEN}"));
    if !authorised {
        return error(401, "401", "Access denied due to invalid subscription key or wrong API endpoint.");
    }
    let body = asked.json();
    let deployment = match path.strip_prefix("/openai/deployments/") {
        Some(rest) if rest.ends_with("/chat/completions") => {
            let version = asked.query("api-version").unwrap_or_default();
            if !version.starts_with("20") {
                return error(404, "404", "Resource not found");
            }
            rest.trim_end_matches("/chat/completions").to_owned()
        }
        None if path == "/openai/v1/chat/completions" => body["model"].as_str().unwrap_or_default().to_owned(),
        _ => return error(404, "404", "Resource not found"),
    };
    if deployment != DEPLOYMENT {
        return error(404, "DeploymentNotFound", "The API deployment for this resource does not exist.");
    }
    let prompt = body["messages"].to_string();
    if prompt.contains("forbidden") {
        let filter = value!({"hate": {"filtered": true, "severity": "high"}});
        let inner = value!({"code": "ResponsibleAIPolicyViolation", "content_filter_result": filter});
        return json(
            400,
            &value!({"error": {"message": "The response was filtered due to the prompt triggering the policy.",
                "type": null, "param": "prompt", "code": "content_filter", "status": 400, "innererror": inner}}),
        );
    }
    let finish = if prompt.contains("borderline") { "content_filter" } else { "stop" };
    if body["stream"] == true {
        return events(&chunks(finish), true);
    }
    let choice = value!({"index": 0, "message": {"role": "assistant", "content": "Grüß Gott."}, "finish_reason": finish,
        "content_filter_results": safe()});
    json(
        200,
        &value!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": safe()}]}),
    )
}

fn says(text: &str, stream: bool) -> Request {
    Request { model: DEPLOYMENT.into(), messages: [Message::user(text)].into_iter().collect(), ..request(stream) }
}

#[tokio::test]
async fn azure_is_asked_at_its_deployment_with_a_key_or_a_token() {
    let double = Double::start(usize::MAX, azure).await;
    let url = ("AZURE_OPENAI_ENDPOINT", double.url.as_str());
    for (env, path) in [
        (
            vec![url, ("AZURE_OPENAI_API_KEY", KEY), ("AZURE_OPENAI_API_VERSION", "2024-10-21")],
            "/openai/deployments/our-gpt/chat/completions?api-version=2024-10-21",
        ),
        (
            vec![url, ("AZURE_OPENAI_AD_TOKEN", TOKEN), ("OPENAI_API_VERSION", "2024-10-21")],
            "/openai/deployments/our-gpt/chat/completions?api-version=2024-10-21",
        ),
        (vec![url, ("AZURE_OPENAI_API_KEY", KEY)], "/openai/v1/chat/completions"),
        // A token says who asks; the key is nobody's.
        (vec![url, ("AZURE_OPENAI_AD_TOKEN", TOKEN), ("AZURE_OPENAI_API_KEY", "stale")], "/openai/v1/chat/completions"),
    ] {
        let endpoint = endpoint_of("azure:our-gpt", &env).unwrap();
        for stream in [false, true] {
            let (answer, _) = asks(&endpoint, &says("hello", stream)).await;
            let answer = answer.unwrap();
            assert_eq!((answer.message.prose().as_str(), answer.stop), ("Grüß Gott.", StopReason::EndTurn));
            assert_eq!((answer.usage.input, answer.usage.output), (7, 3), "{env:?}");
            assert_eq!(double.asked.lock().unwrap().last().unwrap().path, path);
        }
    }
    // Another model of the same resource is another deployment.
    let env = [url, ("AZURE_OPENAI_API_KEY", KEY), ("OPENAI_API_VERSION", "2024-10-21")];
    let endpoint = endpoint_of("azure:other", &env).unwrap();
    let failure = asks(&endpoint, &Request { model: "other".into(), ..says("hello", false) }).await.0.unwrap_err();
    let failure = failure.failure;
    assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::NotFound, Some("DeploymentNotFound")));
    assert!(asks(&endpoint.for_model(DEPLOYMENT), &says("hello", false)).await.0.is_ok());
}

#[tokio::test]
async fn azure_streams_are_read_in_every_chunking() {
    for piece in [1, 2, 3, 5, 7, 16, 61, 256, usize::MAX] {
        let double = Double::start(piece, azure).await;
        let env = [("AZURE_OPENAI_ENDPOINT", double.url.as_str()), ("AZURE_OPENAI_API_KEY", KEY)];
        let endpoint = endpoint_of("azure:our-gpt", &env).unwrap();
        let (answer, shown) = asks(&endpoint, &says("hello", true)).await;
        let answer = answer.unwrap();
        assert_eq!(shown, "Grüß Gott.", "{piece}");
        assert_eq!((answer.id.as_str(), answer.model.as_str()), ("chatcmpl-1", "gpt-4o"));
        let kept = serde_json::to_string(&answer.extra).unwrap();
        assert!(kept.contains("prompt_filter_results") && kept.contains("content_filter_results"), "{kept}");
    }
}

#[tokio::test]
async fn w25_the_filter_of_azure_is_told_by_its_code() {
    let double = Double::start(usize::MAX, azure).await;
    let env = [("AZURE_OPENAI_ENDPOINT", double.url.as_str()), ("AZURE_OPENAI_API_KEY", KEY)];
    let endpoint = endpoint_of("azure:our-gpt", &env).unwrap();
    for stream in [false, true] {
        let failure = asks(&endpoint, &says("forbidden words", stream)).await.0.unwrap_err().failure;
        assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::ContentFilter, Some("content_filter")));
        assert_eq!(failure.param.as_deref(), Some("prompt"));
        assert!(!failure.is_transient() && failure.to_error().hint.unwrap().contains("filter refuses the prompt"));
        let answer = asks(&endpoint, &says("borderline words", stream)).await.0.unwrap();
        assert_eq!(answer.stop, StopReason::ContentFilter);
    }
}

#[tokio::test]
async fn azure_refuses_what_it_documents_and_what_lacks_is_told() {
    let double = Double::start(usize::MAX, azure).await;
    let url = double.url.as_str();
    let key = ("AZURE_OPENAI_API_KEY", KEY);
    let bad = [("AZURE_OPENAI_ENDPOINT", url), ("AZURE_OPENAI_API_KEY", "wrong-key-1234")];
    let failure = asks(&endpoint_of("azure:our-gpt", &bad).unwrap(), &says("hello", false)).await.0.unwrap_err();
    assert_eq!((failure.failure.kind, failure.failure.status), (FailureKind::Auth, Some(401)));
    // A deployment's address has a version: without one nothing is sent there.
    let at = format!("{url}/openai/deployments/our-gpt");
    let error = endpoint_of("azure:our-gpt", &[("AZURE_OPENAI_ENDPOINT", &at), key]).unwrap_err();
    assert_eq!(error.code, "missing_setting");
    assert!(error.to_string().contains("AZURE_OPENAI_API_VERSION"), "{error}");
    let whole = format!("{at}/chat/completions?api-version=2024-10-21");
    let endpoint = endpoint_of("azure:whatever", &[("AZURE_OPENAI_ENDPOINT", &whole), key]).unwrap();
    assert!(asks(&endpoint, &says("hello", false)).await.0.is_ok(), "a whole address stays as it is");
    let wrong = format!("{at}/chat/completions?api-version=");
    let endpoint = endpoint_of("azure:our-gpt", &[("AZURE_OPENAI_ENDPOINT", &wrong), key]).unwrap();
    let failure = asks(&endpoint, &says("hello", false)).await.0.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::NotFound);

    let error = endpoint_of("azure:our-gpt", &[key]).unwrap_err();
    assert_eq!(error.code, "missing_endpoint");
    for word in ["AZURE_OPENAI_ENDPOINT", "https://NAME.openai.azure.com", "base_url"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let error = endpoint_of("azure:our-gpt", &[("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")]).unwrap_err();
    assert_eq!(error.code, "missing_key");
    assert!(error.to_string().contains("AZURE_OPENAI_API_KEY"), "{error}");
}

#[test]
fn addresses_of_azure_come_in_every_form() {
    let dated = "/openai/deployments/d/chat/completions?api-version=2024-10-21";
    for (base, version, path) in [
        ("https://r.openai.azure.com", Some("2024-10-21"), dated),
        ("https://r.openai.azure.com/", Some("2024-10-21"), dated),
        ("https://r.openai.azure.com/openai", Some("2024-10-21"), dated),
        ("https://r.openai.azure.com/openai/deployments/d", Some("2024-10-21"), dated),
        ("https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", None, dated),
        ("https://r.openai.azure.com", None, "/openai/v1/chat/completions"),
        ("https://r.openai.azure.com/openai/v1/", None, "/openai/v1/chat/completions"),
        ("https://r.openai.azure.com/openai/v1", Some("2024-10-21"), "/openai/v1/chat/completions"),
        (
            "https://r.openai.azure.com/openai/v1?api-version=preview",
            None,
            "/openai/v1/chat/completions?api-version=preview",
        ),
        ("https://gate.example/team/a", None, "/team/a/openai/v1/chat/completions"),
    ] {
        let mut env = vec![("AZURE_OPENAI_ENDPOINT", base), ("AZURE_OPENAI_API_KEY", KEY)];
        env.extend(version.map(|version| ("AZURE_OPENAI_API_VERSION", version)));
        let endpoint = endpoint_of("azure:d", &env).unwrap();
        let url = endpoint.url.as_ref().unwrap();
        let address = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        assert_eq!(address, path, "{base}");
        assert_eq!(endpoint.headers()["api-key"], KEY);
        assert!(!endpoint.headers().contains_key("authorization"));
    }
    let odd = endpoint_of(
        "azure:a/b c?#",
        &[
            ("AZURE_OPENAI_ENDPOINT", "https://r.example"),
            ("AZURE_OPENAI_API_KEY", KEY),
            ("OPENAI_API_VERSION", "1&x=2"),
        ],
    );
    let odd = odd.unwrap().url.unwrap().to_string();
    assert_eq!(odd, "https://r.example/openai/deployments/a%2Fb%20c%3F%23/chat/completions?api-version=1%26x%3D2");
}
