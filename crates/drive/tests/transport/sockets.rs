//! Requests over a WebSocket: through TLS and proxies, as those over HTTP.

use super::*;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures_util::{SinkExt as _, StreamExt as _};
use loopwright_base::json::Fields;
use loopwright_drive::{ask::ask, continued::ContinuedOver};
use loopwright_wire::decode_request;
use ring::digest;
use tokio::sync::Notify;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::protocol::{Message as Frame, Role as Side},
};

fn endpoint_over(base: &str) -> Endpoint {
    let options = EndpointOptions {
        base_url: Some(base.into()),
        api_key: Some(KEY.into()),
        continued: Some(ContinuedOver::WebSocket),
        ..EndpointOptions::default()
    };
    Endpoint::resolve(MODEL, &options, |_| None).unwrap().0
}

/// Three requests of one conversation.
async fn converse(client: &Client, endpoint: &Endpoint, stream: bool) -> Vec<Result<Response, CallFailure>> {
    let mut messages = vec![Message::user("hello")];
    let mut answers = Vec::new();
    for _ in 0..3 {
        let asked = Request { messages: messages.iter().cloned().collect(), ..request(stream) };
        let answer = ask(client, endpoint, &Timeouts::default(), &asked, 1, |_: Vec<Delta>| {}).await;
        if let Ok(answer) = &answer {
            messages.push(answer.message.clone());
        }
        messages.push(Message::user("go on"));
        answers.push(answer);
    }
    answers
}

fn script() -> Script {
    Script { stored: true, key: Some(KEY.into()), ..Script::always(Reply::text("some words")) }
}

/// All went over one socket, each but the first with what is new.
fn assert_continued(server: &WireServer, answers: &[Result<Response, CallFailure>]) {
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().message.prose() == "some words"), "{answers:?}");
    let received = server.requests();
    let named = received.iter().map(|one| (one.method.as_str(), one.body.contains("previous_response_id")));
    assert_eq!(named.collect::<Vec<_>>(), [("WEBSOCKET", false), ("WEBSOCKET", true), ("WEBSOCKET", true)]);
    assert_eq!(server.connections().total_sockets, 1);
}

#[tokio::test]
async fn a_socket_opens_behind_tls_and_a_tunnel() {
    for (stream, tunnel) in [(false, false), (true, false), (true, true)] {
        let server = WireServer::start(script()).unwrap();
        // The server would speak HTTP/2, over which no socket opens.
        let (url, ca) = tls::in_front_with(&server, &["h2", "http/1.1"]).await;
        let trusted = tls::Temporary::new(&format!("socket-{stream}-{tunnel}.pem"), &ca);
        let mut options = ClientOptions::default().ca_file(&trusted.0);
        if tunnel {
            let (address, _) = proxies::proxy(url.trim_start_matches("https://").to_owned()).await;
            options.https_proxy = Some(format!("http://{address}"));
        }
        let answers = converse(&Client::new(options), &endpoint_over(&url), stream).await;
        assert_continued(&server, &answers);
    }
}

#[tokio::test]
async fn a_proxy_that_opens_no_socket_is_asked_over_http() {
    let server = WireServer::start(Script { refuse_sockets: Some(400), ..script() }).unwrap();
    let (address, seen) = proxies::proxy(server.url().trim_start_matches("http://").to_owned()).await;
    let client =
        Client::new(ClientOptions { http_proxy: Some(format!("http://{address}")), ..ClientOptions::default() });
    let answers = converse(&client, &endpoint_over("http://model.invalid:8000"), false).await;
    let told: Vec<usize> = answers.iter().map(|answer| answer.as_ref().unwrap().adapted.len()).collect();
    assert_eq!(told, [1, 0, 0], "it is told once: {answers:?}");
    assert!(seen.lock().unwrap()[0].starts_with("GET http://model.invalid:8000/v1/responses "));
    let received = server.requests();
    let named = received.iter().map(|one| (one.method.as_str(), one.body.contains("previous_response_id")));
    assert_eq!(named.collect::<Vec<_>>(), [("POST", false), ("POST", true), ("POST", true)]);
}

#[tokio::test]
async fn a_socket_is_closed_with_the_run() {
    let server = WireServer::start(script()).unwrap();
    let endpoint = endpoint_over(&server.url());
    assert_continued(&server, &converse(&Client::default(), &endpoint, true).await);
    assert_eq!(server.connections().sockets, 1);
    drop(endpoint);
    while server.connections().sockets > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_that_is_no_socket_is_no_panic() {
    for fault in [Fault::NotHttp, Fault::NotJson, Fault::BrokenJson, Fault::EmptyBody, Fault::CutBytes { bytes: 40 }] {
        let server = WireServer::start(Script {
            replies: vec![Reply::text("some words").fault(fault.clone())],
            repeat_last: true,
            ..script()
        })
        .unwrap();
        let answers = converse(&Client::default(), &endpoint_over(&server.url()), true).await;
        for answer in answers {
            let failure = answer.unwrap_err().failure;
            let kinds = [FailureKind::Cut, FailureKind::InvalidBody, FailureKind::BreakerOpen];
            assert!(kinds.contains(&failure.kind), "{fault:?}: {failure:?}");
        }
    }
}

/// A server that opens a socket, answers once, and asks between two answers whether the client is there.
async fn pinging(listener: TcpListener, there: Arc<Notify>) -> Vec<Frame> {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
    let hashed = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = BASE64.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, hashed.as_bytes()));
    let opened = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.write_all(opened.as_bytes()).await.unwrap();
    let mut frames = WebSocketStream::from_raw_socket(stream, Side::Server, None).await;
    let asked = frames.next().await.unwrap().unwrap().into_text().unwrap();
    let mut asked = Fields::parse(&asked).unwrap();
    assert_eq!(asked.take_str("type").as_deref(), Some("response.create"));
    let asked = decode_request(Wire::OpenaiResponses, asked.to_raw().text()).unwrap();
    assert!(asked.messages.iter().map(loopwright_base::message::Message::prose).eq(["hello"]), "{asked:?}");
    let answer = Response {
        id: "resp_1".to_owned(),
        model: "m".to_owned(),
        message: Message::assistant("some words"),
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        extra: None,
        adapted: Vec::new(),
    };
    // A ping in between is no event.
    frames.send(Frame::Ping(vec![1].into())).await.unwrap();
    for (_, data) in encode_stream(Wire::OpenaiResponses, &answer, 16) {
        frames.send(Frame::text(data)).await.unwrap();
    }
    frames.send(Frame::Ping(vec![2].into())).await.unwrap();
    let mut answers = Vec::new();
    while let Some(Ok(frame)) = frames.next().await {
        if frame == Frame::Pong(vec![2].into()) {
            there.notify_one();
        }
        answers.push(frame);
    }
    answers
}

#[tokio::test]
async fn a_socket_between_two_answers_says_that_it_is_there_and_goodbye() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = endpoint_over(&format!("http://{}", listener.local_addr().unwrap()));
    let there = Arc::new(Notify::new());
    let server = tokio::spawn(pinging(listener, there.clone()));
    let limits = Timeouts::default();
    let answer = ask(&Client::default(), &endpoint, &limits, &request(true), 1, |_: Vec<Delta>| {}).await;
    assert_eq!(answer.unwrap().message.prose(), "some words");
    // Nobody asks for anything now.
    tokio::time::timeout(Duration::from_secs(10), there.notified()).await.unwrap();
    drop(endpoint);
    let heard = server.await.unwrap();
    assert_eq!(heard.last(), Some(&Frame::Close(None)), "{heard:?}");
}
