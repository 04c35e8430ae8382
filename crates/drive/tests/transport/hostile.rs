//! Servers that send anything at all: the client answers with a typed failure or a response, within its limits, and
//! goes on working.

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use super::*;

/// A server that reads and judges a request, sends `bytes` in two parts, and closes.
pub(super) async fn sends(bytes: Vec<u8>, cut: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let Ok((mut socket, _)) = listener.accept().await else { return };
        let _ = socket.set_nodelay(true);
        let Some(_) = double::taken(&mut socket).await else { return };
        let (left, right) = bytes.split_at(cut.min(bytes.len()));
        let _ = socket.write_all(left).await;
        tokio::task::yield_now().await;
        let _ = socket.write_all(right).await;
    });
    base
}

fn rounds(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn calm(outcome: &Result<Response, CallFailure>) -> Result<(), TestCaseError> {
    if let Err(failure) = outcome {
        prop_assert!(!failure.failure.message.is_empty());
        prop_assert!(failure.failure.message.chars().count() < 1000, "{failure}");
        prop_assert!(failure.failure.kind != FailureKind::Internal, "{failure}");
        prop_assert!(!failure.failure.message.contains(double::ILLEGAL), "{failure}");
        prop_assert!(failure.failure.kind != FailureKind::Timeout, "{failure}");
    }
    Ok(())
}

/// Pieces of what servers send, shuffled and damaged.
fn body_text() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "data: ",
        "event: message_start\n",
        "\n\n",
        "\r\n",
        "[DONE]",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}",
        "{\"type\":\"content_block_delta\",\"index\":4000000000,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}",
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\",\"tool_calls\":[{\"index\":99999999,\"id\":\"x\"}]}}]}",
        "{\"type\":\"response.output_text.delta\",\"output_index\":77777777,\"content_index\":0,\"delta\":\"x\"}",
        "{\"error\":",
        "[[[[[[",
        "null",
        "\u{feff}",
        "<html>",
    ]);
    let bytes = prop::collection::vec(any::<u8>(), 0..6);
    let piece = prop_oneof![4 => pieces.prop_map(|text| text.as_bytes().to_vec()), 1 => bytes];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn any_body_gives_a_response_or_a_typed_failure() {
    let runtime = runtime();
    let kinds =
        prop::sample::select(vec!["application/json", "text/event-stream", "text/plain", "text/html", "", "\u{7f}"]);
    let input =
        (body_text(), kinds, 0..3_usize, any::<bool>(), prop::sample::select(vec![200_u16, 204, 206, 302, 429, 500]));
    rounds(300)
        .run(&(input, 0..400_usize), |((body, kind, model, stream, status), cut)| {
            runtime.block_on(async {
                let mut bytes =
                    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n").into_bytes();
                bytes.extend_from_slice(&body);
                let endpoint = endpoint_at(&sends(bytes, cut).await, MODELS[model]);
                calm(&call(&Client::default(), &endpoint, stream, Timeouts::default()).await)
            })
        })
        .unwrap();
}

#[test]
fn any_bytes_instead_of_http_give_a_typed_failure() {
    let runtime = runtime();
    let heads = prop::sample::select(vec![
        &b""[..],
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/9.9 999 \r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]);
    rounds(200)
        .run(&(heads, prop::collection::vec(any::<u8>(), 0..60), 0..80_usize), |(head, tail, cut)| {
            runtime.block_on(async {
                let endpoint = endpoint_at(&sends([head, &tail].concat(), cut).await, MODEL);
                let outcome = call(&Client::default(), &endpoint, true, Timeouts::default()).await;
                prop_assert!(outcome.is_err());
                calm(&outcome)
            })
        })
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_at_once_keep_their_answers_apart() {
    let replies = (0..20).map(|turn| Reply { chunk: Some(50), ..Reply::text(format!("turn {turn} {LONG}")) });
    let server = Arc::new(WireServer::start(Script::by_turn(replies)).unwrap());
    let client = Client::default();
    let runs = (0..200).map(|run| {
        let (client, endpoint) = (client.clone(), endpoint(&server, MODELS[run % 3]));
        tokio::spawn(async move {
            let mut history: History = [Message::user("go")].into_iter().collect();
            for turn in 0..5 {
                let request = Request { messages: history.clone(), ..request(run % 2 == 0) };
                let body = encode_request(endpoint.wire, &request).unwrap();
                let answer = client.call(&endpoint, body, run % 2 == 0, 1, &Timeouts::default(), |_| {}).await.unwrap();
                assert_eq!(answer.message.prose(), format!("turn {turn} {LONG}"), "run {run}");
                history.push(answer.message);
                history.push(Message::user("more"));
            }
        })
    });
    for outcome in futures_util::future::join_all(runs).await {
        outcome.unwrap();
    }
    assert_eq!(server.asked(), 1000);
    // A few more than calls at once: a connection may be begun while another becomes free.
    assert!(server.connections().total < 400, "{:?}", server.connections());
}
