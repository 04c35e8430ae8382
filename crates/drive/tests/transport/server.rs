//! The wire server itself.

use super::*;

#[tokio::test]
async fn the_script_is_played_as_written() {
    let server = WireServer::start(Script::of([Reply::text("one")])).unwrap();
    server.push(Reply::text("two"));
    assert_eq!(server.pending(), 2);
    assert_eq!(ask(&server, MODEL, true).await.1, "one");
    assert_eq!(ask(&server, MODEL, true).await.1, "two");
    assert_eq!(server.pending(), 0);
    let failure = ask(&server, MODEL, true).await.0.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::Server);
    assert!(failure.message.contains("used up") && failure.message.contains("request number 3"), "{}", failure.message);

    for model in MODELS {
        let server =
            WireServer::start(Script::by_turn((0..3).map(|turn| Reply::text(format!("turn {turn}"))))).unwrap();
        let endpoint = endpoint(&server, model);
        let client = Client::default();
        for round in 0..2 {
            let mut history: History = [Message::user("go")].into_iter().collect();
            for turn in 0..3 {
                let request = Request { messages: history.clone(), ..request(false) };
                let body = encode_request(endpoint.wire, &request).unwrap();
                let answer = client.call(&endpoint, body, false, 1, &Timeouts::default(), |_| {}).await.unwrap();
                assert_eq!(answer.message.prose(), format!("turn {turn}"), "{model} {round}");
                history.push(answer.message);
                history.push(Message::user("more"));
            }
        }
    }

    let script: Script = serde_json::from_str(
        r#"{"replies": [{"answer": {"text": "hi"}, "delay_ms": 1, "fault": {"status": {"status": 429, "retry_after": "2"}}},
                        {"fault": "hang"}, {"fault": {"cut_after": {"events": 2}}},
                        {"answer": {"message": {"message": {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
                                                "stop": "end_turn", "usage": {"input": 1, "output": 1}}}}],
            "repeat_last": true}"#,
    )
    .unwrap();
    assert_eq!(script.replies[1].fault, Some(Fault::Hang));
    let short = r#"{"replies": [{"answer": {"tool_uses": {"text": "so:", "calls": [{"name": "add", "input": {"a": [1.50]}},
                                                                                 {"name": "now", "id": "c9"}]}}}],
                    "repeat_last": true}"#;
    let server = WireServer::start(serde_json::from_str(short).unwrap()).unwrap();
    for model in MODELS {
        for stream in [false, true] {
            let answer = ask(&server, model, stream).await.0.unwrap();
            let calls: Vec<_> =
                answer.message.tool_uses().map(|call| (&*call.id, &*call.name, call.arguments_text())).collect();
            assert_eq!(calls, [("call_0", "add", r#"{"a": [1.50]}"#), ("c9", "now", "{}")], "{model} {stream}");
            assert_eq!((answer.message.prose().as_str(), answer.stop), ("so:", StopReason::ToolUse), "{model}");
        }
    }
    assert!(serde_json::from_str::<Script>(r#"{"replys": []}"#).is_err(), "a slip of the pen is told");
}

#[tokio::test]
async fn a_key_can_be_asked_for() {
    for model in MODELS {
        let script = Script { key: Some(KEY.into()), ..Script::always(Reply::text("in")) };
        let server = WireServer::start(script).unwrap();
        assert!(ask(&server, model, false).await.0.is_ok());
        let options = EndpointOptions {
            base_url: Some(server.url()),
            api_key: Some("wrong-key".into()),
            ..EndpointOptions::default()
        };
        let (endpoint, _) = Endpoint::resolve(model, &options, |_| None).unwrap();
        let failure = call(&Client::default(), &endpoint, false, Timeouts::default()).await.unwrap_err().failure;
        assert_eq!((failure.kind, failure.status), (FailureKind::Auth, Some(401)));
    }
}

#[tokio::test]
async fn the_wire_server_takes_what_clients_send() {
    let server = WireServer::start(Script::always(Reply::text("ok"))).unwrap();
    let talk = |text: String| {
        let address = server.url().trim_start_matches("http://").to_owned();
        async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            // One byte after the other.
            for byte in text.as_bytes() {
                socket.write_all(&[*byte]).await.unwrap();
            }
            let mut answer = String::new();
            let _ = tokio::time::timeout(Duration::from_secs(5), socket.read_to_string(&mut answer)).await.unwrap();
            answer
        }
    };
    let body = body(&endpoint(&server, MODEL), false);
    let (left, right) = body.split_at(10);
    let chunked = format!(
        "POST /v1/responses HTTP/1.1\r\nconnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{:x};x=y\r\n{left}\r\n{:x}\r\n{right}\r\n0\r\nt: 1\r\n\r\n",
        left.len(),
        right.len(),
    );
    assert!(talk(chunked).await.starts_with("HTTP/1.1 200 OK"));
    assert_eq!(server.requests()[0].body, body);
    let plain = |head: &str, body: &str| {
        format!("{head} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    assert!(talk(plain("GET /v1/models", "")).await.contains("\"object\":\"list\""));
    assert!(talk(plain("GET /elsewhere", "")).await.starts_with("HTTP/1.1 404"));
    assert!(talk(plain("POST /v1/responses", "{no")).await.starts_with("HTTP/1.1 400"));
    assert!(talk("NONSENSE\r\n\r\n".into()).await.starts_with("HTTP/1.1 400"));
    let huge = "POST /v1/responses HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n";
    assert!(talk(huge.into()).await.starts_with("HTTP/1.1 413"));
    // What still comes after a refusal must not take the answer away.
    let more = huge.to_owned() + &"x".repeat(20_000);
    assert!(talk(more).await.starts_with("HTTP/1.1 413"));
    // Two requests at once on one connection.
    let two = plain("POST /v1/responses", &body).replace("connection: close\r\n", "") + &plain("GET /v1/models", "");
    assert_eq!(talk(two).await.matches("HTTP/1.1 200 OK").count(), 2);
    eventually("all are closed", Duration::from_secs(1), || server.connections().open == 0).await;
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left() {
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    let threads = || {
        let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        names
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
            .filter(|name| name.trim() == "loopwright-wire")
            .count()
    };
    // Run alone: other tests of this process open files and threads of their own.
    if std::env::var_os("NEXTEST").is_none() {
        eprintln!("skipped: needs a process of its own (cargo nextest)");
        return;
    }
    let before = count("/proc/self/fd");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            let server = WireServer::start(Script::always(Reply::message(with_tool()))).unwrap();
            let client = Client::default();
            let endpoint = endpoint(&server, MODEL);
            for stream in [true, false] {
                call(&client, &endpoint, stream, Timeouts::default()).await.unwrap();
            }
            let left = Arc::new(server);
            assert_eq!(threads(), 1);
            left.stop();
            left.stop();
        }
    });
    drop(runtime);
    assert_eq!(threads(), 0);
    assert_eq!(count("/proc/self/fd"), before);
}
