//! Time limits, cancelling, and memory.

use super::*;

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
async fn an_endless_answer_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let Some(asked) = double::taken(&mut socket).await else { return };
                let stream = asked.body.contains("\"stream\":true");
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
