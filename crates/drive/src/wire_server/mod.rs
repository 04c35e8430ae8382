//! A small real HTTP server that plays models from a script, for tests of this crate and of those who use it.
//!
//! It speaks Anthropic Messages, Chat Completions, Responses, Gemini and Bedrock's Converse over sockets of the
//! loopback interface, whole or streamed, with delays and faults. It runs in a thread of its own, so that it works
//! under any runtime or none.

mod rates;
mod render;
mod request;
mod script;
mod socket;
mod stored;

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use serde::Serialize;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{oneshot, watch},
};

pub use self::script::{Answer, Call, Fault, Rates, Reply, Script};
use self::{
    rates::{Arrival, Counter, TooManyTokens},
    render::{Ending, Rendered, ReplyRequest},
    request::{Connection, RawRequest, Unreadable},
    stored::{LastAnswer, StoredAnswers},
};
use super::{endpoint::KEY_HEADERS, http::Client, provider::addressed};
use loopwright_base::{
    json::Fields,
    message::{Role, Wire},
};
use loopwright_wire::decode_request;

/// Requests that are kept, the last of them.
const KEPT_REQUESTS: usize = 10_000;
/// Bytes of request bodies that are kept.
const KEPT_BYTES: usize = 256 << 20;
/// Headers that may hold secrets beside those of keys; the values of both are shown as `***`.
const SECRET_HEADERS: [&str; 3] = ["cookie", "proxy-authorization", "x-amz-security-token"];

/// A request that the server has received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, names in lower case; values that may be keys are `***`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// The number of connections, open and in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// Open now.
    pub open: usize,
    /// Since the start.
    pub total: usize,
    /// Those of them that are a WebSocket now.
    pub sockets: usize,
    /// Those of them that became a WebSocket since the start.
    pub total_sockets: usize,
}

/// A server that plays models from a script. Dropping it stops it.
#[derive(Debug)]
pub struct WireServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    running: Mutex<Option<ServerThread>>,
}

#[derive(Debug)]
struct ServerThread {
    /// The process that has the thread: a forked child has not.
    process: u32,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// An answer to a request, by its path and body, where the server itself has none, or if its script is strict: the
/// status and a body of JSON; `None` where the script answers.
pub type AnswerBefore = Box<dyn Fn(&str, &str) -> Option<(u16, String)> + Send + Sync>;

struct Shared {
    state: Mutex<ServerState>,
    before: Option<AnswerBefore>,
    open: AtomicUsize,
    total: AtomicUsize,
    sockets: AtomicUsize,
    total_sockets: AtomicUsize,
    /// Bytes that were read, heads and frames among them.
    read: Arc<AtomicU64>,
    /// Tells each WebSocket that it is cut.
    cut: watch::Sender<()>,
    /// The number of requests that asked for a reply.
    asked: AtomicUsize,
    rates: Option<Counter>,
}

#[derive(Debug)]
struct ServerState {
    script: Script,
    /// The place of the next reply.
    next: usize,
    received: VecDeque<Received>,
    received_bytes: usize,
    stored: StoredAnswers,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WireServer {
    /// Starts a server on a free port of the loopback interface.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_with(script, None)
    }

    /// Starts a server that asks `before` first.
    pub fn start_with(script: Script, before: Option<AnswerBefore>) -> io::Result<Self> {
        Self::serve((Ipv4Addr::LOCALHOST, 0).into(), script, before)
    }

    /// Starts a server at `address`, where another one may have stood.
    pub fn start_at(address: SocketAddr, script: Script) -> io::Result<Self> {
        Self::serve(address, script, None)
    }

    fn serve(address: SocketAddr, script: Script, before: Option<AnswerBefore>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            // A thousand runs may knock at once.
            socket.listen(4096)?
        };
        let address = listener.local_addr()?;
        // Ports are used again: what failed where this server now stands was another one.
        let names = [address.ip().to_string(), "localhost".to_owned()].map(|host| format!("{host}:{}", address.port()));
        Client::forget(|host| names.iter().any(|name| name == host));
        let shared = Arc::new(Shared {
            before,
            rates: script.rates.map(Counter::new),
            state: Mutex::new(ServerState {
                script,
                next: 0,
                received: VecDeque::new(),
                received_bytes: 0,
                stored: StoredAnswers::default(),
            }),
            open: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
            sockets: AtomicUsize::new(0),
            total_sockets: AtomicUsize::new(0),
            read: Arc::default(),
            cut: watch::Sender::new(()),
            asked: AtomicUsize::new(0),
        });
        let (stop, stopped) = oneshot::channel();
        let accepting = shared.clone();
        let thread = std::thread::Builder::new().name("loopwright-wire".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, accepting) => {}
                    _ = stopped => {}
                }
            });
            // Dropping the runtime drops all connections with it.
        })?;
        Ok(Self {
            address,
            shared,
            running: Mutex::new(Some(ServerThread { process: std::process::id(), stop, thread })),
        })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, the oldest first; at most the last 10 000.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.state().received.iter().cloned().collect()
    }

    /// The number of requests that asked for a reply.
    pub fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// The status and the body with which the script answers a request at `path`, as for a request in a batch: nothing
    /// is sent, no key is asked for, and 500 stands for faults that have no status.
    pub fn answer(&self, path: &str, body: &str) -> (u16, String) {
        let key = self.shared.state().script.key.clone();
        let headers = key.into_iter().map(|key| ("x-api-key".to_owned(), key)).collect();
        let (method, path, body) = ("POST".to_owned(), path.to_owned(), body.as_bytes().to_vec());
        let raw = RawRequest { method, path, headers, body, keep_alive: true };
        let rendered = answer(&self.shared, &raw, None, None).1;
        let status = rendered.status().filter(|_| rendered.ending == Ending::Whole).unwrap_or(500);
        (status, String::from_utf8_lossy(&rendered.pieces.concat()).into_owned())
    }

    /// The number of requests that were over a limit, and answered with 429.
    pub fn limited(&self) -> usize {
        self.shared.rates.as_ref().map_or(0, Counter::refused)
    }

    /// Adds a reply at the end of the script.
    pub fn push(&self, reply: Reply) {
        self.shared.state().script.replies.push(reply);
    }

    /// The conversations of the answers that are kept, by their ids: an object of lists of items, as JSON.
    pub fn stored(&self) -> String {
        self.shared.state().stored.to_json()
    }

    /// Forgets an answer that was kept, or all.
    pub fn forget(&self, id: Option<&str>) {
        self.shared.state().stored.forget(id);
    }

    /// The number of replies that have not been sent.
    pub fn pending(&self) -> usize {
        let state = self.shared.state();
        state.script.replies.len().saturating_sub(state.next)
    }

    /// The number of connections, open and in all.
    pub fn connections(&self) -> Connections {
        let now = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let Shared { open, total, sockets, total_sockets, .. } = &*self.shared;
        Connections { open: now(open), total: now(total), sockets: now(sockets), total_sockets: now(total_sockets) }
    }

    /// The number of bytes that were read, heads of requests and frames among them.
    pub fn bytes_read(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }

    /// Cuts each WebSocket that is open, without a word.
    pub fn cut_sockets(&self) {
        self.shared.cut.send_replace(());
    }

    /// Stops the server: closes the port and all connections, and waits until its thread has ended. A second call does
    /// nothing.
    pub fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ServerThread { process, stop, thread }) = running {
            if process != std::process::id() {
                return;
            }
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl Drop for WireServer {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, shared.clone()));
            }
            // Out of descriptors, most likely: connections that end give some back.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// A guard that counts a connection as open as long as it lives.
struct ConnectionGuard<'a>(&'a AtomicUsize);

impl<'a> ConnectionGuard<'a> {
    fn new(open: &'a AtomicUsize, total: &AtomicUsize) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        total.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let _open = ConnectionGuard::new(&shared.open, &shared.total);
    let mut connection = Connection::new(stream, shared.read.clone());
    loop {
        let raw = match connection.request().await {
            Ok(raw) => raw,
            Err(Unreadable::Gone) => return,
            Err(Unreadable::Wrong(status, words)) => {
                if send(&mut connection, render::error(Wire::OpenaiChat, status, words, 0, &[])).await {
                    connection.finish().await;
                }
                return;
            }
        };
        if socket::is_opening(&raw) {
            return socket::serve(connection, raw, &shared).await;
        }
        let keep_alive = raw.keep_alive;
        let asks = raw.method == "POST";
        // It counts as under way until its answer was sent.
        let arrival = shared.rates.as_ref().filter(|_| asks).map(Counter::arrive);
        let (delay, rendered) = answer(&shared, &raw, arrival.as_ref(), None);
        remember(&shared, raw);
        if !connection.wait(Some(delay)).await || !send(&mut connection, rendered).await || !keep_alive {
            return;
        }
    }
}

/// Sends an answer; returns whether the connection can be used again.
async fn send(connection: &mut Connection, rendered: Rendered) -> bool {
    let Rendered { head, mut pieces, chunked, delay, separate_writes: apart, ending } = rendered;
    let mut ready = head;
    if chunked {
        pieces = pieces.iter().map(|piece| render::chunk_of(piece)).collect();
        pieces.extend((ending == Ending::Whole).then(|| b"0\r\n\r\n".to_vec()));
    }
    let last = pieces.len().saturating_sub(1);
    for (place, piece) in pieces.into_iter().enumerate() {
        ready.extend_from_slice(&piece);
        if apart && place < last {
            if connection.stream.write_all(&ready).await.is_err() {
                return false;
            }
            ready.clear();
            if delay.is_zero() {
                tokio::task::yield_now().await;
            } else if !connection.wait(Some(delay)).await {
                return false;
            }
        }
    }
    if !ready.is_empty() && connection.stream.write_all(&ready).await.is_err() {
        return false;
    }
    match ending {
        Ending::Whole => true,
        Ending::Closed => false,
        Ending::Silence => connection.wait(None).await,
        Ending::Reset => {
            // What was sent shall be read before the reset overtakes it.
            connection.wait(Some(Duration::from_millis(10))).await;
            let _ = connection.stream.stream.set_zero_linger();
            false
        }
    }
}

/// The answer to a request. Over a WebSocket it may go on from the `last` one, and becomes that.
fn answer(
    shared: &Shared,
    raw: &RawRequest,
    arrival: Option<&Arrival>,
    last: Option<&mut LastAnswer>,
) -> (Duration, Rendered) {
    let number = shared.asked.load(Ordering::Relaxed) + 1;
    let path = raw.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let at_once = |rendered| (Duration::ZERO, rendered);
    let before = |body: &str| {
        let before = shared.before.as_ref()?;
        let (status, body) = before(&raw.path, body)?;
        Some(render::whole(status, "application/json", number, &[], &body))
    };
    let text = std::str::from_utf8(&raw.body).unwrap_or_default();
    let addressed = addressed(path);
    let wire = if let Some(addressed) = &addressed {
        addressed.wire
    } else if path.ends_with("/messages") {
        Wire::Anthropic
    } else if path.ends_with("/responses") {
        Wire::OpenaiResponses
    } else if path.ends_with("/chat/completions") {
        Wire::OpenaiChat
    } else {
        let anthropic = raw.header("anthropic-version").is_some();
        if raw.method == "GET" && path.ends_with("/models") {
            return at_once(models(anthropic, number));
        }
        let wire = if anthropic { Wire::Anthropic } else { Wire::OpenaiChat };
        if let Some(rendered) = wrong_key(shared, raw, wire, number).or_else(|| before(text)) {
            return at_once(rendered);
        }
        return at_once(render::error(wire, 404, &format!("there is nothing at {path}"), number, &[]));
    };
    if raw.method != "POST" {
        return at_once(render::error(wire, 404, &format!("{} is not known at {path}", raw.method), number, &[]));
    }
    let number = shared.asked.fetch_add(1, Ordering::Relaxed) + 1;
    let fields = match Fields::parse(text) {
        Ok(fields) => fields,
        Err(error) => {
            let words = format!("the request's body is no JSON object: {error}");
            return at_once(render::error(wire, 400, &words, number, &[]));
        }
    };
    if let Some(rendered) = wrong_key(shared, raw, wire, number) {
        return at_once(rendered);
    }
    let mut limits = arrival.map(|arrival| arrival.headers(wire)).unwrap_or_default();
    if arrival.is_some_and(|arrival| !arrival.accepted) {
        return at_once(render::error(wire, 429, "there were too many requests", number, &[]).with_headers(&limits));
    }
    let mut state = shared.state();
    let resumed = if state.script.stored && wire == Wire::OpenaiResponses {
        match state.stored.resumed(&fields, last.as_deref()) {
            Ok(resumed) => Some(resumed),
            Err(body) => return at_once(render::whole(400, "application/json", number, &[], &body)),
        }
    } else {
        None
    };
    let text = resumed.as_ref().map_or(text, |resumed| &resumed.body);
    let whole = resumed.as_ref().and_then(|resumed| Fields::parse(&resumed.body).ok());
    let taken = match arrival.map(|arrival| arrival.take(wire, whole.as_ref().unwrap_or(&fields))) {
        Some(Err(TooManyTokens { words, headers })) => {
            limits.extend(headers);
            return at_once(render::too_many_tokens(wire, &words, number).with_headers(&limits));
        }
        taken => taken.and_then(Result::ok).flatten(),
    };
    if state.script.strict {
        drop(state);
        // A request that goes on from an answer is as legal as the whole of it.
        if let Some(rendered) = before(text) {
            return at_once(rendered);
        }
        state = shared.state();
    }
    let place = if state.script.by_turn {
        match turns(wire, text) {
            Ok(turns) => turns,
            Err(words) => return at_once(render::error(wire, 400, &words, number, &[])),
        }
    } else {
        state.next
    };
    state.next = state.next.max(place.saturating_add(1));
    let replies = &state.script.replies;
    let reply = replies.get(place).or_else(|| if state.script.repeat_last { replies.last() } else { None }).cloned();
    drop(state);
    let Some(mut reply) = reply else {
        let words = format!("the script is used up: request number {number} found no reply number {}", place + 1);
        return at_once(render::error(wire, 500, &words, number, &[]));
    };
    if let Some((arrival, taken)) = arrival.zip(taken) {
        let told;
        (reply, told) = arrival.settle(taken, reply);
        limits.extend(told);
    }
    let (model, stream) = addressed.map_or_else(
        || {
            let stream = fields.get("stream").is_some_and(|value| value.text() == "true");
            (fields.get_str("model").unwrap_or_default(), stream)
        },
        |addressed| (addressed.model, addressed.stream),
    );
    if let Some(resumed) = resumed {
        reply = shared.state().stored.keep(resumed, reply, (&model, number), last);
    }
    let rendered = render::reply(&reply, ReplyRequest { wire, stream, model: &model, number }).with_headers(&limits);
    (Duration::from_millis(reply.delay_ms), rendered)
}

/// The refusal of a request without the key of the script.
fn wrong_key(shared: &Shared, raw: &RawRequest, wire: Wire, number: usize) -> Option<Rendered> {
    let state = shared.state();
    let key = state.script.key.as_deref()?;
    let bearer = raw.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let bare = || ["x-api-key", "x-goog-api-key", "api-key"].iter().find_map(|name| raw.header(name));
    (bearer.or_else(bare) != Some(key)).then(|| render::error(wire, 401, "the key is missing or wrong", number, &[]))
}

/// The number of the assistant's turns in a request's history. One turn of the Responses protocol is many items, so
/// there it is the runs of assistant messages that count.
fn turns(wire: Wire, body: &str) -> Result<usize, String> {
    let request = decode_request(wire, body).map_err(|error| error.to_string())?;
    let mut turns = 0;
    let mut before = None;
    for message in request.messages.iter() {
        let again = wire == Wire::OpenaiResponses && before == Some(Role::Assistant);
        turns += usize::from(message.role == Role::Assistant && !again);
        before = Some(message.role);
    }
    Ok(turns)
}

fn models(anthropic: bool, number: usize) -> Rendered {
    let id = "loopwright-test";
    let body = if anthropic {
        let model = json!({"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"});
        json!({"data": [model], "has_more": false, "first_id": id, "last_id": id})
    } else {
        let model = json!({"id": id, "object": "model", "created": 1_735_689_600, "owned_by": "loopwright"});
        json!({"object": "list", "data": [model]})
    };
    render::whole(200, "application/json", number, &[], &body.to_string())
}

fn remember(shared: &Shared, raw: RawRequest) {
    let headers = raw.headers.into_iter().map(|(name, value)| {
        let secret = KEY_HEADERS.iter().any(|secret| *secret == *name) || SECRET_HEADERS.contains(&name.as_str());
        (name, if secret { "***".to_owned() } else { value })
    });
    let received = Received {
        method: raw.method,
        path: raw.path,
        headers: headers.collect(),
        body: String::from_utf8_lossy(&raw.body).into_owned(),
    };
    let mut state = shared.state();
    state.received_bytes += received.body.len();
    state.received.push_back(received);
    while state.received.len() > KEPT_REQUESTS || state.received_bytes > KEPT_BYTES {
        let Some(old) = state.received.pop_front() else { break };
        state.received_bytes -= old.body.len();
    }
}
