//! Answers that come packed, as some gateways send them whatever was asked for.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::*;

const PACKED: &str = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n";

/// A stream in the words of a model, event by event.
fn events(model: &str) -> Vec<Vec<u8>> {
    let response = Response { message: Message::assistant(LONG), stop: StopReason::EndTurn, ..with_tool() };
    let wire = endpoint_at("http://localhost:1", model).wire;
    let events = encode_stream(wire, &response, 16);
    let written = |(name, data): &(String, String)| match wire {
        Wire::Bedrock => loopwright_wire::frames::encode_frame(name, data),
        _ => format!("event: {name}\ndata: {data}\n\n").into_bytes(),
    };
    events.iter().map(written).collect()
}

/// Each event packed for itself in one body: each can be unpacked before the next one comes.
fn packed(events: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = Vec::new();
    for event in events {
        packer.write_all(event).unwrap();
        packer.flush().unwrap();
        pieces.push(std::mem::take(packer.get_mut()));
    }
    pieces.push(packer.finish().unwrap());
    pieces
}

#[tokio::test]
async fn packed_streams_are_read_however_they_are_cut() {
    for model in MODELS {
        let body = packed(&events(model)).concat();
        let head = format!("{PACKED}content-type: text/event-stream\r\n\r\n").into_bytes();
        for cut in (0..body.len()).step_by(7) {
            let base = hostile::sends([&head[..], &body].concat(), head.len() + cut).await;
            let answer = call(&Client::default(), &endpoint_at(&base, model), true, Timeouts::default()).await.unwrap();
            assert_eq!(answer.message.prose(), LONG, "{model} cut at {cut}");
        }
    }
}

#[tokio::test]
async fn what_is_packed_is_shown_when_it_comes() {
    let pieces = packed(&events(MODEL));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (seen, half) = (Arc::new(tokio::sync::Notify::new()), pieces.len() / 2);
    let shown = seen.clone();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let Some(_) = double::taken(&mut socket).await else { return };
        let head = format!("{PACKED}content-type: text/event-stream\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&pieces[..half].concat()).await.unwrap();
        // The rest only comes when the first words have been seen.
        shown.notified().await;
        socket.write_all(&pieces[half..].concat()).await.unwrap();
    });
    let endpoint = endpoint_at(&base, MODEL);
    let limits = Timeouts { idle: 5.0, ..Timeouts::default() };
    let look = |deltas: Vec<Delta>| {
        if deltas.iter().any(|delta| matches!(delta, Delta::Text { .. })) {
            seen.notify_one();
        }
    };
    let answer = Client::default().call(&endpoint, body(&endpoint, true), true, 1, &limits, look).await.unwrap();
    assert_eq!(answer.message.prose(), LONG);
}

#[tokio::test]
async fn packed_answers_and_errors_are_read() {
    let body =
        r#"{"id":"r","model":"m","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let gzip = packed(&[body.into()]).concat();
    let head = format!("{PACKED}content-type: application/json\r\ncontent-length: {}\r\n\r\n", gzip.len());
    for stream in [false, true] {
        let base = hostile::sends([head.as_bytes(), &gzip].concat(), 200).await;
        let endpoint = endpoint_at(&base, "openai-chat:m");
        let answer = call(&Client::default(), &endpoint, stream, Timeouts::default()).await.unwrap();
        assert_eq!(answer.message.prose(), "hi");
    }
    let gzip = packed(&[r#"{"error":{"message":"the model sleeps"}}"#.into()]).concat();
    let head = PACKED.replace("200 OK", "503 Busy");
    let base = hostile::sends([format!("{head}\r\n").as_bytes(), &gzip].concat(), 5).await;
    let failure = call(&Client::default(), &endpoint_at(&base, MODEL), false, Timeouts::default()).await.unwrap_err();
    assert_eq!((failure.failure.kind, failure.failure.status), (FailureKind::Overloaded, Some(503)));
    assert!(failure.failure.message.contains("the model sleeps"), "{failure}");
}

#[tokio::test]
async fn packed_answers_that_are_broken_strange_or_bombs_are_failures() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..66 {
        bomb.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let whole = packed(&[r#"{"id":"r""#.into()]).concat();
    for (how, body, says) in [
        ("gzip", b"no gzip at all".to_vec(), "can't be unpacked"),
        ("gzip", whole[..whole.len() - 4].to_vec(), "can't be unpacked"),
        ("gzip", bomb.finish().unwrap(), "longer than 64 MiB"),
        ("br", b"\x0b\x02\x80hi\x03".to_vec(), "compressed (br)"),
    ] {
        for stream in [false, true] {
            for kind in ["application/json", "text/event-stream"] {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-encoding: {how}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
                );
                let base = hostile::sends([head.as_bytes(), &body].concat(), 300).await;
                let answer = call(&Client::default(), &endpoint_at(&base, MODEL), stream, Timeouts::default()).await;
                let failure = answer.unwrap_err().failure;
                assert_eq!(failure.kind, FailureKind::InvalidBody, "{failure:?}");
                assert!(failure.message.contains(says), "{failure:?}");
            }
        }
    }
}
