//! The HTTP client against the wire server, over real sockets.
#![cfg(feature = "drive")]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use loopwright::{
    core::{
        error::{Failure, FailureKind},
        message::{Block, Message, Role, StopReason, ToolUse, Usage, Wire},
        request::{Delta, History, Request, Response},
        wire::{encode_request, encode_stream},
    },
    drive::{
        endpoint::{Endpoint, EndpointOptions},
        http::{CallFailure, Client, ClientOptions, RootSource, Timeouts},
        wire_server::{Fault, Reply, Script, WireServer},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const KEY: &str = "sk-test-0123456789-secret";
const MODELS: [&str; 3] = ["anthropic:m", "openai-chat:m", "openai-responses:m"];
/// Where it does not matter which.
const MODEL: &str = MODELS[2];

fn endpoint_at(base: &str, model: &str) -> Endpoint {
    let options =
        EndpointOptions { base_url: Some(base.into()), api_key: Some(KEY.into()), ..EndpointOptions::default() };
    Endpoint::resolve(model, &options, |_| None).unwrap().0
}

fn endpoint(server: &WireServer, model: &str) -> Endpoint {
    endpoint_at(&server.url(), model)
}

fn request(stream: bool) -> Request {
    Request {
        model: "m".into(),
        messages: [Message::user("hello")].into_iter().collect(),
        max_tokens: Some(100),
        stream: stream.then_some(true),
        ..Request::default()
    }
}

fn body(endpoint: &Endpoint, stream: bool) -> String {
    encode_request(endpoint.wire, &request(stream)).unwrap()
}

async fn call(client: &Client, endpoint: &Endpoint, stream: bool, limits: Timeouts) -> Result<Response, CallFailure> {
    client.call(endpoint, body(endpoint, stream), stream, &limits, |_| {}).await
}

/// One call of a fresh client; what came as deltas of text, too.
async fn ask(server: &WireServer, model: &str, stream: bool) -> (Result<Response, CallFailure>, String) {
    let endpoint = endpoint(server, model);
    let shown = Mutex::new(String::new());
    let gather = |deltas: Vec<Delta>| {
        for delta in deltas {
            if let Delta::Text { text, .. } = delta {
                shown.lock().unwrap().push_str(&text);
            }
        }
    };
    let limits = Timeouts::default();
    let outcome = Client::default().call(&endpoint, body(&endpoint, stream), stream, &limits, gather).await;
    (outcome, shown.into_inner().unwrap())
}

async fn fault(fault: Fault, stream: bool) -> CallFailure {
    let server = WireServer::start(Script::of([Reply::text(LONG).fault(fault)])).unwrap();
    ask(&server, MODEL, stream).await.0.unwrap_err()
}

const LONG: &str = "The quick brown fox jumps over the lazy dog, and then it does so once more: ü, 🦊, \"quoted\"\n.";

fn with_tool() -> Response {
    Response {
        id: "r1".into(),
        model: String::new(),
        message: Message::new(
            Role::Assistant,
            vec![
                Block::text(LONG),
                Block::ToolUse(ToolUse::from_text("call_1", "add", r#"{"a":1,"b":[2,"ü"]}"#.into())),
            ],
        ),
        stop: StopReason::ToolUse,
        usage: Usage { input: 7, output: 9, ..Usage::default() },
        extra: None,
    }
}

async fn eventually(what: &str, within: Duration, check: impl Fn() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < within, "{what}: not within {within:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn every_wire_whole_and_streamed_gives_the_same() {
    for model in MODELS {
        let server = WireServer::start(Script::always(Reply::message(with_tool()))).unwrap();
        let (whole, shown) = ask(&server, model, false).await;
        let whole = whole.unwrap();
        assert_eq!(shown, "", "{model}: nothing streams where no stream was asked for");
        let (streamed, shown) = ask(&server, model, true).await;
        let streamed = streamed.unwrap();
        assert_eq!(shown, LONG, "{model}");
        for response in [&whole, &streamed] {
            assert_eq!(response.message.prose(), LONG, "{model}");
            let call = response.message.tool_uses().next().unwrap();
            assert_eq!((call.name.as_str(), call.input.value()["a"].as_i64()), ("add", Some(1)), "{model}");
            assert_eq!(response.stop, StopReason::ToolUse, "{model}");
            assert_eq!((response.model.as_str(), response.usage.input), ("m", 7), "{model}");
        }
        let seen = server.requests();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0].method, "POST");
        let secret = seen[0].headers.iter().find(|(name, _)| name == "x-api-key" || name == "authorization").unwrap();
        assert_eq!(secret.1, "***");
        assert!(!format!("{seen:?}").contains(KEY));
    }
}

#[tokio::test]
async fn every_chunking_gives_the_same() {
    for model in MODELS {
        let mut answers = Vec::new();
        for chunk in [1, 2, 3, 7, 64, 1 << 20] {
            for stream in [false, true] {
                let reply = Reply { chunk: Some(chunk), piece: 5, ..Reply::message(with_tool()) };
                let server = WireServer::start(Script::always(reply)).unwrap();
                let (answer, shown) = ask(&server, model, stream).await;
                let answer = answer.unwrap();
                assert_eq!(shown.is_empty(), !stream);
                answers.push((answer.message.prose(), answer.stop, answer.usage, answer.message.tool_uses().count()));
            }
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{model}: {answers:?}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again_also_after_streams() {
    for model in MODELS {
        for stream in [false, true] {
            let server = WireServer::start(Script::always(Reply::message(with_tool()))).unwrap();
            let (client, endpoint) = (Client::default(), endpoint(&server, model));
            for _ in 0..10 {
                call(&client, &endpoint, stream, Timeouts::default()).await.unwrap();
            }
            assert_eq!(server.connections().total, 1, "{model} {stream}");
            // A refusal leaves the connection in order too.
            server.push(Reply::status(429));
            let _ = call(&client, &endpoint, stream, Timeouts::default()).await;
            call(&client, &endpoint, stream, Timeouts::default()).await.unwrap_err();
            assert_eq!(server.connections().total, 1, "{model} {stream}");
        }
    }
}

#[tokio::test]
async fn each_time_limit_is_named() {
    let passes = |reply: Reply, limits: Timeouts, stream: bool| async move {
        let server = WireServer::start(Script::of([reply])).unwrap();
        let client = Client::default();
        let start = Instant::now();
        let failure = call(&client, &endpoint(&server, MODEL), stream, limits).await.unwrap_err();
        assert_eq!(failure.failure.kind, FailureKind::Timeout, "{failure}");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        failure
    };
    let limits = |first_byte, idle, total| Timeouts { connect: 1.0, first_byte, idle, total };

    let failure = passes(Reply::text("x").fault(Fault::Hang), limits(0.1, 9.0, 9.0), false).await;
    assert!(failure.failure.message.contains("first-byte limit"), "{failure}");
    let failure = passes(Reply::text("x").fault(Fault::Hang), limits(9.0, 9.0, 0.1), false).await;
    assert!(failure.failure.message.contains("total limit"), "{failure}");
    let late = Reply { delay_ms: 5000, ..Reply::text("x") };
    let failure = passes(late, limits(0.1, 9.0, 9.0), true).await;
    assert!(failure.failure.message.contains("first-byte limit"), "{failure}");

    let stalled = Reply { piece: 4, ..Reply::text(LONG) }.fault(Fault::StallAfter { events: 8 });
    let failure = passes(stalled, limits(9.0, 0.1, 9.0), true).await;
    assert!(failure.failure.message.contains("idle limit"), "{failure}");
    assert!(failure.visible, "text had been shown");
    let partial = failure.partial.unwrap().message.prose();
    assert!(!partial.is_empty() && LONG.starts_with(&partial), "{partial}");

    // Drops come all the time, so it is never idle; the total limit still holds.
    let dripping = Reply { chunk: Some(1), chunk_delay_ms: 20, ..Reply::text(LONG) };
    for stream in [false, true] {
        let failure = passes(dripping.clone(), limits(9.0, 0.5, 0.3), stream).await;
        assert!(failure.failure.message.contains("total limit"), "{failure}");
    }
    // And within its limits a slow answer is fine.
    let server = WireServer::start(Script::of([Reply { chunk: Some(64), chunk_delay_ms: 20, ..Reply::text(LONG) }]));
    let server = server.unwrap();
    let slow = call(&Client::default(), &endpoint(&server, MODEL), true, limits(1.0, 0.5, 9.0)).await.unwrap();
    assert_eq!(slow.message.prose(), LONG);
}

#[tokio::test]
async fn the_connect_limit_holds() {
    // A port that listens but never accepts, its backlog full: a connection there neither stands nor fails.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fill = Vec::new();
    for _ in 0..8 {
        fill.push(tokio::time::timeout(Duration::from_millis(50), TcpStream::connect(address)).await);
    }
    if fill.iter().all(Result::is_ok) {
        eprintln!("skipped: this system accepts beyond the backlog");
        return;
    }
    let limits = Timeouts { connect: 0.2, ..Timeouts::default() };
    let start = Instant::now();
    let failure = call(&Client::default(), &endpoint_at(&format!("http://{address}"), MODEL), false, limits).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.failure.kind, FailureKind::Timeout, "{failure}");
    assert!(failure.failure.message.contains("connect limit"), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn statuses_become_kinds() {
    for model in MODELS {
        for (status, kind) in [
            (400, FailureKind::BadRequest),
            (401, FailureKind::Auth),
            (402, FailureKind::Quota),
            (403, FailureKind::Permission),
            (404, FailureKind::NotFound),
            (408, FailureKind::Server),
            (413, FailureKind::BadRequest),
            (429, FailureKind::RateLimited),
            (500, FailureKind::Server),
            (502, FailureKind::Server),
            (503, FailureKind::Overloaded),
            (529, FailureKind::Overloaded),
        ] {
            for stream in [false, true] {
                let server = WireServer::start(Script::of([Reply::status(status)])).unwrap();
                let failure = ask(&server, model, stream).await.0.unwrap_err();
                assert_eq!(failure.failure.kind, kind, "{model} {status}: {failure}");
                assert_eq!(failure.failure.status, Some(status));
                assert!(failure.failure.message.contains("a fault of the script"), "{failure}");
                assert_eq!(failure.failure.request_id.as_deref(), Some("req_1"));
                assert!(!failure.visible && failure.partial.is_none());
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_whose_words_do_not_come_is_still_a_refusal() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 4096]).await;
        let head = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 2\r\ncontent-length: 999\r\n\r\nslow";
        socket.write_all(head).await.unwrap();
        std::future::pending::<()>().await;
    });
    let start = Instant::now();
    let failure = call(&Client::default(), &endpoint_at(&base, MODEL), true, Timeouts::default()).await.unwrap_err();
    assert_eq!((failure.failure.kind, failure.failure.retry_after), (FailureKind::RateLimited, Some(2.0)));
    assert!(failure.failure.message.contains("slow"), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn how_long_to_wait_is_read() {
    let status = |retry_after: &str| Fault::Status {
        status: 429,
        retry_after: Some(retry_after.into()),
        message: Some("slow down".into()),
    };
    assert_eq!(fault(status("3"), true).await.failure.retry_after, Some(3.0));
    assert_eq!(fault(status("Sun, 06 Nov 1994 08:49:37 GMT"), true).await.failure.retry_after, Some(0.0));
    let far = fault(status("Fri, 31 Dec 2199 23:59:59 GMT"), true).await.failure.retry_after.unwrap();
    assert!(far > 3600.0, "{far}");
    assert_eq!(fault(status("soon"), true).await.failure.retry_after, None);
}

#[tokio::test]
async fn faults_become_kinds() {
    for (wrong, stream, kind, says) in [
        (Fault::NotJson, false, FailureKind::InvalidBody, "It works!"),
        (Fault::NotJson, true, FailureKind::InvalidBody, "web page"),
        (Fault::BrokenJson, false, FailureKind::InvalidBody, "not a JSON object"),
        (Fault::EmptyBody, false, FailureKind::InvalidBody, "empty"),
        (Fault::EmptyBody, true, FailureKind::Cut, "empty"),
        (Fault::NotHttp, false, FailureKind::InvalidBody, "HTTP"),
        (Fault::Close, false, FailureKind::Cut, "closed the connection"),
        (Fault::Close, true, FailureKind::Cut, "closed the connection"),
        (Fault::CutBytes { bytes: 40 }, false, FailureKind::Cut, "broke off"),
        (Fault::CutAfter { events: 0 }, true, FailureKind::Cut, "broke off"),
        (
            Fault::Redirect { location: "https://else.example/v1?k=1".into() },
            false,
            FailureKind::NotFound,
            "https://else.example/v1;",
        ),
    ] {
        let failure = fault(wrong.clone(), stream).await;
        assert_eq!(failure.failure.kind, kind, "{wrong:?}: {failure}");
        assert!(failure.failure.message.contains(says), "{wrong:?}: {failure}");
        assert!(!failure.visible, "{wrong:?}");
    }
    let server = WireServer::start(Script::of([Reply::text(LONG).fault(Fault::SlowBytes { bytes: 32, delay_ms: 1 })]));
    assert_eq!(ask(&server.unwrap(), MODEL, true).await.1, LONG);
}

#[tokio::test]
async fn a_stream_cut_in_the_middle_keeps_what_came() {
    for model in MODELS {
        for wrong in
            [Fault::CutAfter { events: 9 }, Fault::EndAfter { events: 9 }, Fault::ErrorEvent { after_events: 9 }]
        {
            let reply = Reply { piece: 4, ..Reply::text(LONG) }.fault(wrong.clone());
            let server = WireServer::start(Script::of([reply])).unwrap();
            let (outcome, shown) = ask(&server, model, true).await;
            let failure = outcome.unwrap_err();
            let kinds: &[FailureKind] = match wrong {
                Fault::ErrorEvent { .. } => &[FailureKind::Server, FailureKind::Overloaded],
                _ => &[FailureKind::Cut],
            };
            assert!(kinds.contains(&failure.failure.kind), "{model} {wrong:?}: {failure}");
            assert!(failure.visible && !shown.is_empty() && LONG.starts_with(&shown), "{model} {wrong:?} {shown}");
            let partial = failure.partial.expect("text that came can stand in a history");
            assert_eq!(partial.message.prose(), shown, "{model} {wrong:?}");
        }
    }
}

#[tokio::test]
async fn a_cut_after_any_number_of_events_is_no_success() {
    for model in MODELS {
        let whole = WireServer::start(Script::of([Reply { piece: 20, ..Reply::text(LONG) }])).unwrap();
        assert!(ask(&whole, model, true).await.0.is_ok());
        for events in 0..6 {
            let reply = Reply { piece: 20, ..Reply::text(LONG) }.fault(Fault::CutAfter { events });
            let server = WireServer::start(Script::of([reply])).unwrap();
            let failure = ask(&server, model, true).await.0.unwrap_err();
            assert_eq!(failure.failure.kind, FailureKind::Cut, "{model} {events}: {failure}");
        }
    }
}

#[tokio::test]
async fn servers_that_answer_otherwise_than_asked() {
    for model in MODELS {
        let server = WireServer::start(Script::always(Reply::text("plain"))).unwrap();
        let endpoint = endpoint(&server, model);
        let client = Client::default();
        let limits = Timeouts { total: 5.0, ..Timeouts::default() };
        let http = |stream| {
            let body = body(&endpoint, stream);
            client.call(&endpoint, body, !stream, &limits, |_| {})
        };
        // The body asks for one form, the caller expects the other: what the server says holds.
        assert_eq!(http(true).await.unwrap().message.prose(), "plain");
        assert_eq!(http(false).await.unwrap().message.prose(), "plain");
    }
    // Neither a content type nor the form that was asked for.
    let server = WireServer::start(Script::always(Reply::text("plain"))).unwrap();
    let whole = reqwest_body(&server, false).await;
    let stream = reqwest_body(&server, true).await;
    for (text, asked) in [(&whole, true), (&whole, false), (&stream, true)] {
        let server = WireServer::start(Script::of([Reply::recorded(200, "application/octet-stream", text.as_str())]));
        let answer = ask(&server.unwrap(), MODEL, asked).await.0.unwrap();
        assert_eq!(answer.message.prose(), "plain");
    }
    // A failure with status 200.
    let wrong = r#"{"error":{"message":"Rate limit exceeded","code":"rate_limit_exceeded"}}"#;
    let server = WireServer::start(Script::of([Reply::recorded(200, "application/json", wrong)])).unwrap();
    let failure = ask(&server, "openai-chat:m", false).await.0.unwrap_err();
    assert!(failure.failure.message.contains("Rate limit exceeded"), "{failure}");
}

/// The body of an answer as it is on the wire.
async fn reqwest_body(server: &WireServer, stream: bool) -> String {
    let endpoint = endpoint(server, MODEL);
    let mut socket = TcpStream::connect(server.url().trim_start_matches("http://")).await.unwrap();
    let body = body(&endpoint, stream);
    let head = format!("POST /v1/responses HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if head.contains("chunked") {
        let mut plain = String::new();
        let mut rest = body;
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            plain.push_str(&after[..size]);
            rest = &after[(size + 2).min(after.len())..];
        }
        plain
    } else {
        body.to_owned()
    }
}

#[tokio::test]
async fn an_endless_answer_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 4096];
                let asked = socket.read(&mut head).await.unwrap();
                let stream = String::from_utf8_lossy(&head[..asked]).contains("\"stream\":true");
                let kind = if stream { "text/event-stream" } else { "application/json" };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
                socket.write_all(head.as_bytes()).await.unwrap();
                // Comments of the stream, spaces of the JSON: legal, and without end.
                let more =
                    if stream { (":".repeat(1000) + "\n\n").into_bytes().repeat(100) } else { b"     ".repeat(20_000) };
                while socket.write_all(&more).await.is_ok() {}
            });
        }
    });
    for stream in [false, true] {
        let failure = call(&Client::default(), &endpoint_at(&base, MODEL), stream, Timeouts::default()).await;
        let failure = failure.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::InvalidBody, "{}", failure.message);
        assert!(failure.message.contains("64 MiB"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a19_the_breaker_opens_and_half_opens() {
    let broken = (0..4).map(|_| Reply::status(500));
    let server = WireServer::start(Script::of(broken.chain([Reply::text("back")]))).unwrap();
    let client = Client::new(ClientOptions { breaker_cooldown: 0.3, ..ClientOptions::default() });
    let endpoint = endpoint(&server, MODEL);
    let once = || async { call(&client, &endpoint, false, Timeouts::default()).await };
    for _ in 0..3 {
        assert_eq!(once().await.unwrap_err().failure.kind, FailureKind::Server);
    }
    let open = once().await.unwrap_err().failure;
    assert_eq!(open.kind, FailureKind::BreakerOpen);
    assert!(open.retry_after.is_some_and(|seconds| seconds > 0.0 && seconds <= 0.3), "{open:?}");
    assert_eq!(server.asked(), 3, "an open breaker sends nothing");
    // Another host is not concerned.
    let other = WireServer::start(Script::of([Reply::text("fine")])).unwrap();
    assert!(call(&client, &endpoint_at(&other.url(), MODEL), false, Timeouts::default()).await.is_ok());

    tokio::time::sleep(Duration::from_millis(310)).await;
    let (first, second, third) = tokio::join!(once(), once(), once());
    let kinds: Vec<_> = [first, second, third].map(|outcome| outcome.unwrap_err().failure.kind).into();
    assert_eq!(kinds.iter().filter(|kind| **kind == FailureKind::BreakerOpen).count(), 2, "one probe: {kinds:?}");
    assert_eq!(server.asked(), 4);

    tokio::time::sleep(Duration::from_millis(310)).await;
    assert_eq!(once().await.unwrap().message.prose(), "back");
    // Closed again: the script is used up, and each failure is the server's own.
    assert_eq!(once().await.unwrap_err().failure.kind, FailureKind::Server);
    assert_eq!(once().await.unwrap_err().failure.kind, FailureKind::Server);
}

#[tokio::test]
async fn a19_refusals_and_cancelled_calls_do_not_open_the_breaker() {
    let server = WireServer::start(Script::of((0..6).map(|_| Reply::status(429)))).unwrap();
    let client = Client::default();
    let endpoint = endpoint(&server, MODEL);
    for _ in 0..6 {
        let failure = call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err();
        assert_eq!(failure.failure.kind, FailureKind::RateLimited);
    }
    for _ in 0..5 {
        server.push(Reply::text("x").fault(Fault::Hang));
        let hanging = call(&client, &endpoint, false, Timeouts::default());
        assert!(tokio::time::timeout(Duration::from_millis(20), hanging).await.is_err());
    }
    server.push(Reply::text("fine"));
    assert!(call(&client, &endpoint, false, Timeouts::default()).await.is_ok());
}

#[tokio::test]
async fn a19_a_cancelled_probe_gives_its_slot_back() {
    let server = WireServer::start(Script::of([Reply::status(500), Reply::text("x").fault(Fault::Hang)])).unwrap();
    let options = ClientOptions { breaker_cooldown: 0.05, breaker_threshold: 1, ..ClientOptions::default() };
    let (client, endpoint) = (Client::new(options), endpoint(&server, MODEL));
    call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let probe = call(&client, &endpoint, false, Timeouts::default());
    assert!(tokio::time::timeout(Duration::from_millis(50), probe).await.is_err());
    server.push(Reply::text("back"));
    assert_eq!(call(&client, &endpoint, false, Timeouts::default()).await.unwrap().message.prose(), "back");
}

#[tokio::test]
async fn cancelling_closes_the_socket() {
    let stall = Reply { piece: 4, ..Reply::text(LONG) }.fault(Fault::StallAfter { events: 8 });
    let late = Reply { delay_ms: 60_000, ..Reply::text("late") };
    for (reply, stream) in [(Reply::text("x").fault(Fault::Hang), false), (stall, true), (late, true)] {
        let server = WireServer::start(Script::of([reply])).unwrap();
        let (client, endpoint) = (Client::default(), endpoint(&server, MODEL));
        let calling = tokio::spawn(async move { call(&client, &endpoint, stream, Timeouts::default()).await });
        eventually("the request arrives", Duration::from_secs(5), || server.requests().len() == 1).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(server.connections().open, 1);
        calling.abort();
        eventually("the socket closes", Duration::from_millis(100), || server.connections().open == 0).await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = endpoint_at(&format!("http://{gone}"), MODEL);
    let failure = call(&Client::default(), &nobody, false, Timeouts::default()).await.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.contains(&gone.to_string()) && failure.message.contains("refused"), "{}", failure.message);
    let nowhere = endpoint_at("http://no-such-host.invalid", MODEL);
    let failure = call(&Client::default(), &nowhere, false, Timeouts::default()).await.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::Connect, "{}", failure.message);
    let offline = Endpoint::offline();
    let failure = Client::default().call(&offline, "{}", false, &Timeouts::default(), |_| {}).await.unwrap_err();
    assert_eq!(failure.failure.kind, FailureKind::Usage);
}

#[tokio::test]
async fn the_key_is_in_no_words() {
    let echo = |status| {
        let body = format!("{{\"error\":{{\"message\":\"wrong key {KEY}\"}}, \"sent\": \"{KEY}\"}}");
        Reply::recorded(status, "application/json", body)
    };
    // The quotation would end in the middle of the key.
    let page = |status| Reply::recorded(status, "text/plain", format!("{}{KEY} and more", "x".repeat(190)));
    let html = Reply::recorded(200, "text/html", format!("<p>{KEY}"));
    let stray = Reply::recorded(200, "application/json", format!("{{\"oops\": \"{KEY}\""));
    for reply in [echo(401), echo(200), echo(500), page(400), page(200), html, stray] {
        let server = WireServer::start(Script::of([reply.clone()])).unwrap();
        for stream in [false, true] {
            server.push(reply.clone());
            let failure = ask(&server, "openai-responses:m", stream).await.0.unwrap_err();
            let text = format!("{failure} {failure:?} {}", failure.failure.to_error());
            for part in [KEY, "sk-test"] {
                assert!(!text.contains(part), "{reply:?}: {text}");
            }
        }
    }
    let (client, endpoint) = (Client::default(), endpoint_at("http://h", MODEL));
    assert!(!format!("{client:?} {endpoint:?}").contains("sk-test"));
}

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
                let answer = client.call(&endpoint, body, false, &Timeouts::default(), |_| {}).await.unwrap();
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

mod tls {
    use std::{io::Write, path::PathBuf};

    use super::*;
    use tokio_rustls::{
        TlsAcceptor,
        rustls::{
            ServerConfig,
            pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
        },
    };

    /// A file that is removed again.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str, text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("loopwright-{}-{name}", std::process::id()));
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            Self(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// What a server for `name` needs, and the CA that signed its certificate.
    fn identity(name: &str, protocols: &[&str]) -> (TlsAcceptor, String) {
        let ca_key = rcgen::KeyPair::generate().unwrap();
        let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca_certificate = ca.self_signed(&ca_key).unwrap();
        let issuer = rcgen::Issuer::new(ca, ca_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], private)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        (TlsAcceptor::from(Arc::new(config)), ca_certificate.pem())
    }

    /// A TLS server in front of the wire server: its address and the CA that signed it.
    async fn in_front(server: &WireServer, name: &str) -> (String, String) {
        let (acceptor, ca) = identity(name, &[]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = server.url().trim_start_matches("http://").to_owned();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, target) = (acceptor.clone(), target.clone());
                tokio::spawn(async move {
                    let Ok(mut near) = acceptor.accept(socket).await else { return };
                    let mut far = TcpStream::connect(target).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        (format!("https://localhost:{port}"), ca)
    }

    /// What a server of HTTP/2 has seen.
    #[derive(Default)]
    struct Seen {
        connections: AtomicUsize,
        streams: AtomicUsize,
        resets: AtomicUsize,
    }

    /// A server of HTTP/2 that sends `events`: all of them, or a few and then a reset (for `/cut`) or silence (for
    /// `/hang`).
    async fn http2(events: Vec<String>) -> (String, String, Arc<Seen>) {
        let (acceptor, ca) = identity("localhost", &["h2", "http/1.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let noted = seen.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, events, noted) = (acceptor.clone(), events.clone(), noted.clone());
                tokio::spawn(async move {
                    noted.connections.fetch_add(1, Ordering::SeqCst);
                    let socket = acceptor.accept(socket).await.unwrap();
                    let mut connection = h2::server::handshake(socket).await.unwrap();
                    while let Some(Ok((request, mut respond))) = connection.accept().await {
                        noted.streams.fetch_add(1, Ordering::SeqCst);
                        let (events, noted) = (events.clone(), noted.clone());
                        tokio::spawn(async move {
                            let path = request.uri().path().to_owned();
                            let head = http::Response::builder().header("content-type", "text/event-stream");
                            let mut body = respond.send_response(head.body(()).unwrap(), false).unwrap();
                            let few = if path.starts_with("/v1") { events.len() } else { 8 };
                            for event in events.into_iter().take(few) {
                                body.send_data(event.into(), false).unwrap();
                                tokio::time::sleep(Duration::from_millis(1)).await;
                            }
                            if path.starts_with("/cut") {
                                body.send_reset(h2::Reason::INTERNAL_ERROR);
                            } else if path.starts_with("/hang") {
                                let reset = std::future::poll_fn(|context| body.poll_reset(context)).await;
                                assert_eq!(reset.unwrap(), h2::Reason::CANCEL);
                                noted.resets.fetch_add(1, Ordering::SeqCst);
                            } else {
                                body.send_data("".into(), true).unwrap();
                            }
                        });
                    }
                });
            }
        });
        (format!("https://localhost:{port}"), ca, seen)
    }

    #[tokio::test]
    async fn http_2_is_spoken_where_it_is_offered() {
        let response = Response { message: Message::assistant(LONG), stop: StopReason::EndTurn, ..with_tool() };
        let events = encode_stream(Wire::OpenaiResponses, &response, 4);
        let events = events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
        let (base, ca, seen) = http2(events).await;
        let ca = Temporary::new("http2.pem", &ca);
        let client = Client::new(ClientOptions::default().ca_file(&ca.0));
        let endpoint = endpoint_at(&base, MODEL);
        let once = || call(&client, &endpoint, true, Timeouts::default());
        assert_eq!(once().await.unwrap().message.prose(), LONG);
        let all = futures_util::future::join_all((0..20).map(|_| once())).await;
        assert!(all.iter().all(|outcome| outcome.as_ref().unwrap().message.prose() == LONG));
        assert_eq!(seen.connections.load(Ordering::SeqCst), 1, "20 calls at once share one connection");

        let cut = endpoint_at(&format!("{base}/cut"), MODEL);
        let failure = call(&client, &cut, true, Timeouts::default()).await.unwrap_err();
        assert_eq!(failure.failure.kind, FailureKind::Cut, "{failure}");
        assert!(failure.visible && failure.partial.is_some());

        let hang = endpoint_at(&format!("{base}/hang"), MODEL);
        let hanging = call(&client, &hang, true, Timeouts::default());
        assert!(tokio::time::timeout(Duration::from_millis(100), hanging).await.is_err());
        eventually("the stream is reset", Duration::from_millis(100), || seen.resets.load(Ordering::SeqCst) == 1).await;
        // The others go on over the same connection.
        assert_eq!(once().await.unwrap().message.prose(), LONG);
        assert_eq!(seen.connections.load(Ordering::SeqCst), 1);
        assert_eq!(seen.streams.load(Ordering::SeqCst), 24);
    }

    async fn outcome(base: &str, options: ClientOptions) -> Result<Response, Failure> {
        let endpoint = endpoint_at(base, MODEL);
        let outcome = call(&Client::new(options), &endpoint, true, Timeouts::default()).await;
        outcome.map_err(|failure| failure.failure)
    }

    #[tokio::test]
    async fn only_trusted_servers_are_spoken_to() {
        let server = WireServer::start(Script::always(Reply::text("secret"))).unwrap();
        let (base, ca) = in_front(&server, "localhost").await;

        let failure = outcome(&base, ClientOptions::default()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
        assert!(failure.message.contains("signed by nobody we trust"), "{}", failure.message);
        assert!(failure.to_error().to_string().contains("SSL_CERT_FILE"));

        let (_, other) = in_front(&server, "localhost").await;
        let other = Temporary::new("other.pem", &other);
        let failure = outcome(&base, ClientOptions::default().ca_file(&other.0)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
        assert_eq!(server.asked(), 0, "no request, and so no key, went out");

        let right = Temporary::new("right.pem", &ca);
        for variable in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"] {
            let options =
                ClientOptions::from_env(|name| (name == variable).then(|| right.0.to_string_lossy().into_owned()));
            assert_eq!(outcome(&base, options).await.unwrap().message.prose(), "secret", "{variable}");
        }
        let directory = right.0.with_extension("d");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("ca.pem"), &ca).unwrap();
        std::fs::write(directory.join("README"), "no certificate").unwrap();
        let options = ClientOptions {
            roots: vec![("SSL_CERT_DIR".into(), RootSource::Directory(directory.clone()))],
            ..ClientOptions::default()
        };
        assert_eq!(outcome(&base, options).await.unwrap().message.prose(), "secret");
        std::fs::remove_dir_all(directory).unwrap();

        let (base, ca) = in_front(&server, "elsewhere.example").await;
        let ca = Temporary::new("name.pem", &ca);
        let failure = outcome(&base, ClientOptions::default().ca_file(&ca.0)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls);
        assert!(failure.message.contains("another name"), "{}", failure.message);
        // Plain HTTP where TLS was expected.
        let failure = outcome(&server.url().replace("http", "https"), ClientOptions::default()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
        assert!(failure.message.contains("http://"), "{}", failure.message);
    }

    #[tokio::test]
    async fn a_wrong_ca_file_is_told_when_it_is_needed() {
        let server = WireServer::start(Script::always(Reply::text("fine"))).unwrap();
        let (base, _) = in_front(&server, "localhost").await;
        let empty = Temporary::new("empty.pem", "not a certificate");
        for path in ["/no/such/file.pem", empty.0.to_str().unwrap()] {
            let options = ClientOptions::from_env(|name| (name == "SSL_CERT_FILE").then(|| path.to_owned()));
            let failure = outcome(&base, options.clone()).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Usage, "{}", failure.message);
            assert!(failure.message.contains("SSL_CERT_FILE") && failure.message.contains(path), "{}", failure.message);
            // Plain HTTP does not need it.
            assert!(outcome(&server.url(), options).await.is_ok());
        }
    }
}

mod proxies {
    use super::*;

    /// A proxy that answers plain requests itself by passing them on, and opens tunnels; it notes first lines.
    async fn proxy(target: String) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = seen.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let (notes, target) = (notes.clone(), target.clone());
                tokio::spawn(async move {
                    let mut head = vec![0; 65536];
                    let read = near.read(&mut head).await.unwrap();
                    let text = String::from_utf8_lossy(&head[..read]).into_owned();
                    notes.lock().unwrap().push(text.clone());
                    let mut far = TcpStream::connect(target).await.unwrap();
                    if text.starts_with("CONNECT ") {
                        near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                    } else {
                        far.write_all(&head[..read]).await.unwrap();
                    }
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        (address, seen)
    }

    fn options(pairs: &[(&str, String)]) -> ClientOptions {
        ClientOptions::from_env(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()))
    }

    #[tokio::test]
    async fn the_usual_variables_name_the_proxy() {
        let server = WireServer::start(Script::always(Reply::text("through"))).unwrap();
        let (address, seen) = proxy(server.url().trim_start_matches("http://").to_owned()).await;
        // The name exists only behind the proxy.
        let endpoint = endpoint_at("http://model.invalid:8000", MODEL);
        for (variable, value) in [
            ("HTTP_PROXY", format!("http://{address}")),
            ("http_proxy", address.clone()),
            ("ALL_PROXY", format!("http://me:pass-word@{address}")),
        ] {
            let client = Client::new(options(&[(variable, value)]));
            let answer = call(&client, &endpoint, true, Timeouts::default()).await.unwrap();
            assert_eq!(answer.message.prose(), "through", "{variable}");
            assert!(!format!("{client:?}").contains("pass-word"));
        }
        let heads = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(heads.len(), 3);
        assert!(heads[0].starts_with("POST http://model.invalid:8000/v1/responses "), "{}", heads[0]);
        assert!(heads[2].to_lowercase().contains("proxy-authorization: basic "), "{}", heads[2]);

        let direct = endpoint_at(&server.url(), MODEL);
        let pairs = [("HTTP_PROXY", format!("http://{address}")), ("NO_PROXY", "127.0.0.1,other".to_owned())];
        assert!(call(&Client::new(options(&pairs)), &direct, true, Timeouts::default()).await.is_ok());
        assert!(seen.lock().unwrap().is_empty(), "NO_PROXY goes past the proxy");

        let client = Client::new(options(&[("HTTPS_PROXY", format!("http://{address}"))]));
        let tunnelled = endpoint_at("https://model.invalid", MODEL);
        let failure = call(&client, &tunnelled, true, Timeouts::default()).await.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::Tls, "the far end speaks no TLS: {}", failure.message);
        assert!(seen.lock().unwrap()[0].starts_with("CONNECT model.invalid:443 "));

        for value in ["not a url at all", "ftp://me:pass-word@h"] {
            let client = Client::new(options(&[("ALL_PROXY", value.to_owned())]));
            let failure = call(&client, &direct, true, Timeouts::default()).await.unwrap_err().failure;
            assert_eq!(failure.kind, FailureKind::Usage, "{}", failure.message);
            assert!(failure.message.contains("ALL_PROXY"), "{}", failure.message);
            assert!(!failure.message.contains("pass-word"), "{}", failure.message);
        }
    }
}

mod pages {
    use super::*;
    use loopwright::drive::fetch::{FetchOptions, fetch_page};

    /// A site that answers each path in its way.
    async fn site() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut head = vec![0; 65536];
                    let read = socket.read(&mut head).await.unwrap();
                    let text = String::from_utf8_lossy(&head[..read]).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or_default();
                    let (status, headers, body) = match path {
                        "/hop" => ("302 Found", "location: /page?x=1\r\n", String::new()),
                        "/loop" => ("302 Found", "location: /loop\r\n", String::new()),
                        "/file" => ("302 Found", "location: file:///etc/passwd\r\n", String::new()),
                        "/big" => ("200 OK", "", "0123456789".repeat(100_000)),
                        "/slow" => {
                            tokio::time::sleep(Duration::from_secs(30)).await;
                            return;
                        }
                        "/gone" => ("404 Not Found", "", "gone".to_owned()),
                        _ => ("200 OK", "content-type: text/html; charset=utf-8\r\n", format!("<p>{path}</p>")),
                    };
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                    );
                    let _ = socket.write_all(answer.as_bytes()).await;
                });
            }
        });
        base
    }

    #[tokio::test]
    async fn a_page_is_fetched_within_bounds() {
        let (base, client) = (site().await, Client::default());
        let options = FetchOptions { allow_private: true, timeout: 5.0, ..FetchOptions::default() };
        let page = fetch_page(&client, &format!("{base}/hop#part"), &options).await.unwrap();
        assert_eq!((page.status, page.url.as_str()), (200, format!("{base}/page?x=1").as_str()));
        assert_eq!(page.content_type.as_deref(), Some("text/html; charset=utf-8"));
        assert_eq!((page.body.as_ref(), page.truncated), (b"<p>/page?x=1</p>".as_slice(), false));
        assert_eq!(fetch_page(&client, &format!("{base}/gone"), &options).await.unwrap().status, 404);

        let short = FetchOptions { max_bytes: 1234, ..options };
        let page = fetch_page(&client, &format!("{base}/big"), &short).await.unwrap();
        assert_eq!((page.body.len(), page.truncated), (1234, true));
        let exact = FetchOptions { max_bytes: 1_000_000, ..options };
        assert!(!fetch_page(&client, &format!("{base}/big"), &exact).await.unwrap().truncated);

        let quick = FetchOptions { timeout: 0.1, ..options };
        for (path, options, code) in
            [("/loop", options, "too_many_redirects"), ("/file", options, "invalid_url"), ("/slow", quick, "timeout")]
        {
            let error = fetch_page(&client, &format!("{base}{path}"), &options).await.unwrap_err();
            assert_eq!(error.code, code, "{error}");
        }
        for url in ["", "no url", "file:///etc/passwd", "gopher://h/", "javascript:1"] {
            assert_eq!(fetch_page(&client, url, &options).await.unwrap_err().code, "invalid_url", "{url}");
        }
    }

    #[tokio::test]
    async fn private_addresses_are_refused_however_written() {
        let base = site().await;
        let port = base.rsplit(':').next().unwrap();
        let client = Client::default();
        for host in
            ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "0", "me:pw@127.0.0.1"]
        {
            let error =
                fetch_page(&client, &format!("http://{host}:{port}/"), &FetchOptions::default()).await.unwrap_err();
            assert_eq!(error.code, "private_address", "{host}: {error}");
        }
        let metadata =
            fetch_page(&client, "http://169.254.169.254/latest", &FetchOptions::default()).await.unwrap_err();
        assert_eq!(metadata.code, "private_address");
    }
}
