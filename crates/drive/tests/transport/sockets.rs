//! Requests over a WebSocket: through TLS and proxies, as those over HTTP.

use super::*;

use loopwright_drive::{ask::ask, continued::ContinuedOver};

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
