//! The HTTP client against the wire server, over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod azure;
mod bedrock;
mod breaker;
mod calls;
mod double;
mod faults;
mod hostile;
mod hosts;
mod limits;
mod packed;
mod pages;
mod provenance;
mod proxies;
mod rates;
mod recorded;
mod server;
mod sockets;
mod stale_connection;
mod tls;
mod vertex;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Block, Message, Role, StopReason, ToolUse, Usage, Wire},
    request::{Delta, History, Request, Response},
};
use loopwright_drive::{
    endpoint::{Endpoint, EndpointOptions},
    http::{CallFailure, Client, ClientOptions, RootSource, Timeouts},
    wire_server::{Fault, Reply, Script, WireServer},
};
use loopwright_wire::{encode_request, encode_stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const KEY: &str = "sk-test-0123456789-secret";
const MODELS: [&str; 5] = ["anthropic:m", "openai-chat:m", "openai-responses:m", "gemini:m", "bedrock:m"];
/// Those of them that stream server-sent events, which are text.
const SSE_MODELS: [&str; 4] = ["anthropic:m", "openai-chat:m", "openai-responses:m", "gemini:m"];
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
    client.call(endpoint, body(endpoint, stream), stream, 1, &limits, |_| {}).await
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
    let outcome = Client::default().call(&endpoint, body(&endpoint, stream), stream, 1, &limits, gather).await;
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
        adapted: Vec::new(),
    }
}

async fn eventually(what: &str, within: Duration, check: impl Fn() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < within, "{what}: not within {within:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
