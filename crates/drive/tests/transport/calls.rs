//! What a call gives: on every wire, whole and streamed, over connections that are kept.

use super::*;

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
            // Answers of Bedrock do not name their model.
            let named = if response.model.is_empty() { model.strip_prefix("bedrock:") } else { Some(&*response.model) };
            assert_eq!((named, response.usage.input), (Some("m"), 7), "{model}");
        }
        let seen = server.requests();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0].method, "POST");
        let is_key = |name: &str| ["x-api-key", "authorization", "x-goog-api-key"].contains(&name);
        let secret = seen[0].headers.iter().find(|(name, _)| is_key(name)).unwrap();
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
async fn servers_that_answer_otherwise_than_asked() {
    for model in MODELS {
        let server = WireServer::start(Script::always(Reply::text("plain"))).unwrap();
        let endpoint = endpoint(&server, model);
        let client = Client::default();
        let limits = Timeouts { total: 5.0, ..Timeouts::default() };
        let http = |stream| {
            let body = body(&endpoint, stream);
            client.call(&endpoint, body, !stream, 1, &limits, |_| {})
        };
        // The body asks for one form, the caller expects the other: what the server says holds.
        assert_eq!(http(true).await.unwrap().message.prose(), "plain");
        assert_eq!(http(false).await.unwrap().message.prose(), "plain");
    }
    // Neither a content type nor the form that was asked for.
    let server = WireServer::start(Script::always(Reply::text("plain"))).unwrap();
    let whole = reqwest_body(&server, false).await;
    let stream = reqwest_body(&server, true).await;
    for (text, asked) in [(&whole, true), (&whole, false), (&stream, true), (&stream, false)] {
        let server = WireServer::start(Script::of([Reply::recorded(200, "application/octet-stream", text.as_str())]));
        let answer = ask(&server.unwrap(), MODEL, asked).await.0.unwrap();
        assert_eq!(answer.message.prose(), "plain");
    }
    // Headers that say the opposite of what follows, and a byte order mark.
    let marked = format!("\u{feff}{whole}");
    for (text, kind) in [
        (&stream, "application/json"),
        (&whole, "text/event-stream"),
        (&marked, "application/json"),
        (&marked, "text/plain"),
    ] {
        let server = WireServer::start(Script::of([Reply::recorded(200, kind, text.as_str())])).unwrap();
        assert_eq!(ask(&server, MODEL, true).await.0.unwrap().message.prose(), "plain", "{kind}");
        let server = WireServer::start(Script::of([Reply::recorded(200, kind, text.as_str())])).unwrap();
        assert_eq!(ask(&server, MODEL, false).await.0.unwrap().message.prose(), "plain", "{kind}");
    }
    // A failure with status 200.
    let wrong = r#"{"error":{"message":"Rate limit exceeded","code":"rate_limit_exceeded"}}"#;
    let server = WireServer::start(Script::of([Reply::recorded(200, "application/json", wrong)])).unwrap();
    let failure = ask(&server, "openai-chat:m", false).await.0.unwrap_err();
    assert!(failure.failure.message.contains("Rate limit exceeded"), "{failure}");
}

#[tokio::test]
async fn halves_of_characters_in_two_events_are_joined() {
    for model in SSE_MODELS {
        let server = WireServer::start(Script::always(Reply::text("unused"))).unwrap();
        let response = Response { message: Message::assistant("L🦊R"), stop: StopReason::EndTurn, ..with_tool() };
        let events = encode_stream(endpoint(&server, model).wire, &response, 1);
        let event = |(name, data): &(String, String)| format!("event: {name}\ndata: {data}\n\ndata:\n\n");
        let whole: String = events.iter().map(event).collect();
        let cut = whole.replace("\"L\"", r#""L\ud83e""#).replace("\"🦊\"", r#""\udd8a""#);
        assert!(cut.contains("d83e") && cut.contains("dd8a"), "{model}: {cut}");
        let server = WireServer::start(Script::of([Reply::recorded(200, "text/event-stream", cut)])).unwrap();
        let (answer, shown) = ask(&server, model, true).await;
        assert_eq!(answer.unwrap().message.prose(), "L🦊R", "{model}");
        assert_eq!(shown, "L🦊R", "{model}");
    }
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
