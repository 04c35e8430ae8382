//! What goes wrong, and what it is called.

use super::*;

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
            (413, FailureKind::RequestTooLarge),
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
        let Some(_) = double::taken(&mut socket).await else { return };
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
        should_retry: None,
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
    let failure = Client::default().call(&offline, "{}", false, 1, &Timeouts::default(), |_| {}).await.unwrap_err();
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
async fn the_provider_says_whether_to_try_again() {
    let said = |status, should_retry| Fault::Status { status, retry_after: None, message: None, should_retry };
    let transient = async |status, should| fault(said(status, should), true).await.failure.is_transient();
    assert!(!transient(529, Some(false)).await);
    assert!(transient(400, Some(true)).await);
    for (status, expected) in
        [(400, false), (408, true), (409, true), (425, true), (429, true), (500, true), (529, true)]
    {
        assert_eq!(transient(status, None).await, expected, "{status}");
    }
}
