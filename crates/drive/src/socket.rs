//! A WebSocket to the Responses API: one answer after the other, the last of which the provider has in memory.
//!
//! A socket is opened by the client that other requests go through, so that proxies, trust, keys and time limits are
//! the same, and each of its events is read as an event of a stream over HTTP. What is known of the protocol stands in
//! OpenAI's guide "WebSocket mode" (developers.openai.com/api/docs/guides/websocket-mode) and in `ResponsesClientEvent`
//! of openai-python: `response.create` with the members of a body, one answer at a time, an hour for a connection.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{
    Method, StatusCode, Upgraded,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use ring::{
    digest,
    rand::{SecureRandom as _, SystemRandom},
};
use tokio::{sync::oneshot, time::Sleep};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error as FrameError,
        protocol::{Message, Role, WebSocketConfig},
    },
};

use super::{
    answer,
    ask::SentRequest,
    body::{ResponseBody, too_long},
    descriptors,
    endpoint::Endpoint,
    exchange::{Exchange, Outgoing, ReadAnswer},
    http::{ActiveCall, BrokenBody, CallFailure, Client, MAX_BODY_BYTES, Timeouts},
    in_flight::Watch,
    pace::Spent,
    turns::Turn,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    request::Response,
};
use loopwright_wire as wire;

/// The age at which a socket is given up: the provider closes it after an hour.
const OLDEST: Duration = Duration::from_secs(55 * 60);
/// The code with which the provider says that the hour is over.
const LIMIT_REACHED: &str = "websocket_connection_limit_reached";
/// What the key of an opening is hashed with (RFC 6455, 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Bytes that are read at once: most events are small, and a run may have many sockets.
const READ_BYTES: usize = 16 << 10;
/// Time for saying goodbye.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(1);

/// The answer to the key of an opening.
pub(super) fn accepting(key: &str) -> String {
    let text = format!("{key}{GUID}");
    BASE64.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

/// How frames are read: messages as long as an answer may be.
pub(super) fn frame_limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_BODY_BYTES))
        .max_frame_size(Some(MAX_BODY_BYTES))
}

/// An error event in place of an answer: what the status, headers and body of a refusal are over HTTP.
struct Refusal {
    status: Option<u16>,
    headers: HeaderMap,
    body: String,
}

impl Refusal {
    fn read(text: &str) -> Option<Self> {
        if !text.contains("\"error\"") {
            return None;
        }
        let event = Fields::parse(text).ok().filter(|event| event.get_str("type").as_deref() == Some("error"))?;
        let error = event.get("error").filter(|error| error.is_object())?;
        let status = ["status", "status_code"].iter().find_map(|name| event.get(name)?.to().ok());
        let named: Fields = event.get("headers").and_then(|headers| headers.to().ok()).unwrap_or_default();
        let pair = |(name, value): (&str, &Raw)| {
            let value = value.string().unwrap_or_else(|| value.text().to_owned());
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        };
        let mut body = Fields::default();
        body.set("error", error.clone());
        let body = body.to_raw().text().to_owned();
        Some(Self { status, headers: named.iter().filter_map(pair).collect(), body })
    }
}

/// An open WebSocket that no answer comes over.
pub(super) struct Socket {
    frames: WebSocketStream<Upgraded>,
    opened: Instant,
    /// Something has come since the last request.
    heard: bool,
    /// The other side has gone.
    gone: bool,
    refusal: Option<Refusal>,
}

impl Socket {
    async fn new(stream: Upgraded) -> Self {
        let frames = WebSocketStream::from_raw_socket(stream, Role::Client, Some(frame_limits())).await;
        Self { frames, opened: Instant::now(), heard: false, gone: false, refusal: None }
    }

    async fn send(&mut self, message: &str, host: &str) -> Result<(), Failure> {
        self.heard = false;
        self.refusal = None;
        self.frames.send(Message::text(message)).await.map_err(|error| self.broken(host, &error))
    }

    /// The next event, as a stream over HTTP writes it. Dropping the future loses nothing.
    pub(super) async fn event(&mut self, host: &str) -> Result<Bytes, Failure> {
        let text = loop {
            match self.frames.next().await {
                Some(Ok(Message::Text(text))) => break text.as_str().to_owned(),
                Some(Ok(Message::Binary(bytes))) => break String::from_utf8_lossy(&bytes).into_owned(),
                // A sign of life, as a comment in a stream is one.
                Some(Ok(Message::Ping(_))) => return Ok(Bytes::from_static(b":\n\n")),
                Some(Ok(Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(said))) => {
                    self.gone = true;
                    let why = said.map_or_else(String::new, |said| {
                        let words: String = said.reason.chars().take(100).collect();
                        format!(" ({} {})", u16::from(said.code), words)
                    });
                    return Err(Failure::new(FailureKind::Cut, format!("{host} closed the WebSocket{why}")));
                }
                Some(Err(error)) => return Err(self.broken(host, &error)),
                None => {
                    self.gone = true;
                    return Err(Failure::new(FailureKind::Cut, format!("{host} closed the WebSocket")));
                }
            }
        };
        self.refusal = Refusal::read(&text);
        if self.refusal.as_ref().is_some_and(|refusal| refusal.status.is_some()) {
            return Err(Failure::new(FailureKind::Server, "the request was refused"));
        }
        self.heard |= self.refusal.is_none();
        // Line breaks stand between the members of an object, if anywhere, and would end the line of the event.
        Ok(format!("data: {}\n\n", text.replace(['\n', '\r'], " ")).into())
    }

    fn broken(&mut self, host: &str, error: &FrameError) -> Failure {
        if matches!(error, FrameError::Capacity(_)) {
            return too_long(MAX_BODY_BYTES);
        }
        self.gone = true;
        Failure::new(FailureKind::Cut, format!("the answer of {host} broke off: {error}"))
    }

    async fn close(mut self) {
        let _ = tokio::time::timeout(GOODBYE_PATIENCE, self.frames.close(None)).await;
    }

    /// Leaves the socket with a task that answers what the provider asks of it, until it is wanted again; `None` where
    /// the process has so many of them that requests would want for descriptors.
    pub(super) fn park(self) -> Option<ParkedSocket> {
        let place = ParkingPlace::take()?;
        let (wanted, mut asked) = oneshot::channel::<oneshot::Sender<Self>>();
        let mut socket = self;
        tokio::spawn(async move {
            let _place = place;
            loop {
                tokio::select! {
                    biased;
                    next = socket.frames.next() => match next {
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        // It has gone, or what it says answers nothing.
                        _ => return,
                    },
                    asked = &mut asked => {
                        match asked {
                            Ok(give) => drop(give.send(socket)),
                            Err(_) => socket.close().await,
                        }
                        return;
                    }
                }
            }
        });
        Some(ParkedSocket { wanted: Some(wanted), process: std::process::id() })
    }
}

/// Sockets of the process that are open between two answers.
static PARKED: AtomicUsize = AtomicUsize::new(0);

/// One of the sockets that may be open between two answers: half as many as requests may be under way.
struct ParkingPlace;

impl ParkingPlace {
    fn take() -> Option<Self> {
        static PLACES: OnceLock<usize> = OnceLock::new();
        let places = *PLACES.get_or_init(|| descriptors::room() / 2);
        let place = Self;
        (PARKED.fetch_add(1, Ordering::Relaxed) < places).then_some(place)
    }
}

impl Drop for ParkingPlace {
    fn drop(&mut self) {
        PARKED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket between two answers. Dropping it closes the socket.
pub(super) struct ParkedSocket {
    wanted: Option<oneshot::Sender<oneshot::Sender<Socket>>>,
    process: u32,
}

impl fmt::Debug for ParkedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParkedSocket")
    }
}

impl ParkedSocket {
    /// The socket; `None` if it has gone meanwhile, or is too old.
    pub(super) async fn take(mut self) -> Option<Socket> {
        let (give, given) = oneshot::channel();
        self.wanted.take()?.send(give).ok()?;
        let socket = given.await.ok()?;
        if socket.opened.elapsed() < OLDEST {
            return Some(socket);
        }
        socket.close().await;
        None
    }
}

impl Drop for ParkedSocket {
    fn drop(&mut self) {
        // A forked child has not the runtime in which its parent's socket lives.
        if self.process != std::process::id() {
            std::mem::forget(self.wanted.take());
        }
    }
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing was sent.
    Untouched,
    /// What is new was sent over a socket that was open.
    Short,
    /// All was sent over a socket that was open.
    Whole,
    /// No socket has opened.
    Opening,
}

struct SlotState {
    socket: Option<Socket>,
    stage: Stage,
    /// The socket had gone when the request went out: nothing was answered.
    stale: bool,
}

/// A request over a WebSocket, with the place of the socket.
pub(super) struct SocketSlot {
    /// The key of an opening.
    key: String,
    /// What is new, for the socket that is there.
    short: Option<String>,
    /// The whole request, for any socket.
    whole: String,
    state: Mutex<SlotState>,
}

impl SocketSlot {
    pub(super) fn new(socket: Option<Socket>, short: Option<String>, whole: String) -> Self {
        let mut key = [0; 16];
        // A key tells an opening from another one in caches; it is no secret.
        let _ = SystemRandom::new().fill(&mut key);
        let state = Mutex::new(SlotState { socket, stage: Stage::Untouched, stale: false });
        Self { key: BASE64.encode(key), short, whole, state }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the socket, if it can be used again.
    pub(super) fn take(&self) -> Option<Socket> {
        self.state().socket.take()
    }

    pub(super) fn stage(&self) -> Stage {
        self.state().stage
    }

    fn reach(&self, stage: Stage) {
        self.state().stage = stage;
    }

    /// Writes what asks for a WebSocket into the headers of a request.
    pub(super) fn ask_for_upgrade(&self, headers: &mut HeaderMap) {
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        if let Ok(key) = HeaderValue::try_from(&self.key) {
            headers.insert(header::SEC_WEBSOCKET_KEY, key);
        }
    }
}

/// The opening of a socket, read.
struct Upgrade;

impl ReadAnswer for Upgrade {
    type Answer = (Upgraded, HeaderMap);

    async fn read<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        sent: reqwest::Response,
        sleep: Pin<&mut Sleep>,
    ) -> Result<Self::Answer, BrokenBody> {
        if sent.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err((not_opened(&format!("it answered {}", sent.status().as_u16())), None));
        }
        let headers = sent.headers().clone();
        tokio::select! {
            biased;
            stream = sent.upgrade() => match stream {
                Ok(stream) => Ok((stream, headers)),
                Err(_) => Err((not_opened("the connection was not handed over"), None)),
            },
            () = sleep => Err((call.timed_out(), None)),
        }
    }
}

fn not_opened(why: &str) -> Failure {
    Failure::new(FailureKind::InvalidBody, format!("no WebSocket was opened: {why}"))
}

/// A model's answer over a WebSocket: the one that is there, or a new one.
struct SocketAnswer;

impl Exchange for SocketAnswer {
    type Answer = Response;

    fn tokens(answer: &Response) -> Spent {
        Spent::of(&answer.usage)
    }

    async fn exchange<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        client: &Client,
        out: &Outgoing,
        turn: &mut Turn,
    ) -> Result<Response, BrokenBody> {
        let Some(slot) = &out.slot else {
            return Err((Failure::new(FailureKind::Internal, "the request has no place for a socket"), None));
        };
        if let Some(socket) = slot.take() {
            turn.begin();
            let (message, stage) = match &slot.short {
                Some(short) => (short, Stage::Short),
                None => (&slot.whole, Stage::Whole),
            };
            slot.reach(stage);
            let answer = Box::pin(call.converse(socket, message, (slot, true), turn)).await;
            // As with a connection that was closed under a request: nobody has answered, so it goes again.
            if !slot.state().stale {
                return answer;
            }
        }
        slot.reach(Stage::Opening);
        let limits = call.deadlines.limits;
        // No model has to think before a socket opens.
        let first_byte = [limits.connect, limits.first_byte].into_iter().filter(|limit| *limit > 0.0).reduce(f64::min);
        call.deadlines.begin_answer(Timeouts { first_byte: first_byte.unwrap_or_default(), ..limits });
        let (stream, headers) = Box::pin(call.run::<Upgrade>(client, out, turn)).await?;
        let accepted = headers.get(header::SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
        if accepted != Some(accepting(&slot.key).as_bytes()) {
            return Err((not_opened("the key of the opening is not the one that was asked with"), None));
        }
        slot.reach(Stage::Whole);
        call.deadlines.begin_answer(limits);
        let socket = Socket::new(stream).await;
        Box::pin(call.converse(socket, &slot.whole, (slot, false), turn)).await
    }
}

impl<W: Watch> ActiveCall<'_, W> {
    /// Sends a request over a socket, which may have been used before, and reads the answer; the socket goes back to
    /// its place if it can be used again.
    async fn converse(
        &mut self,
        mut socket: Socket,
        message: &str,
        (slot, used): (&SocketSlot, bool),
        turn: &Turn,
    ) -> Result<Response, BrokenBody> {
        let sleep = tokio::time::sleep_until(self.deadlines.next().into());
        tokio::pin!(sleep);
        let sent = tokio::select! {
            biased;
            sent = socket.send(message, &self.endpoint.host) => sent,
            () = &mut sleep => Err(self.timed_out()),
        };
        let mut body = ResponseBody::over(socket);
        let first = match sent {
            Ok(()) => self.piece(&mut body, sleep.as_mut()).await,
            Err(failure) => Err(failure),
        };
        // From here on limits only move away, so that the timer need not follow each piece.
        sleep.as_mut().reset(self.deadlines.next().into());
        let read = match first {
            Err(failure) => Err((failure, None)),
            Ok(first) if self.stream => self.read_stream(&mut body, sleep, first).await,
            Ok(first) => {
                // The events come whether anybody wants them or not.
                let mut unwatched = ActiveCall::unwatched(self.endpoint, &self.deadlines.limits);
                unwatched.deadlines = self.deadlines;
                unwatched.read_stream(&mut body, sleep, first).await
            }
        };
        let Some(mut socket) = body.into_socket() else { return read };
        let refusal = socket.refusal.take();
        let refused = refusal.is_some();
        let stream = self.stream;
        let read = read.map_err(|(failure, partial)| {
            let failure = match refusal {
                Some(refusal) => self.failure_of(refusal, failure, turn),
                None => failure,
            };
            // Nobody has seen a part of what nobody watches, and over HTTP there is none.
            (failure, partial.filter(|_| stream))
        });
        let (over, barred) = match &read {
            Err((failure, _)) => {
                (failure.code.as_deref() == Some(LIMIT_REACHED), matches!(failure.status, Some(401 | 403)))
            }
            Ok(_) => (false, false),
        };
        let mut state = slot.state();
        state.stale = used && read.is_err() && !socket.heard && (socket.gone || over);
        if read.is_ok() || (refused && !over && !barred) {
            state.socket = Some(socket);
        }
        read
    }

    /// The failure that an error event tells of.
    fn failure_of(&self, refusal: Refusal, failure: Failure, turn: &Turn) -> Failure {
        let Refusal { status, headers, body } = refusal;
        let mut failure = match status {
            Some(status) => {
                turn.answered(status, &headers);
                wire::decode_failure(status, answer::retry_after(&headers), &self.endpoint.scrub(body))
            }
            None => failure,
        };
        failure.request_id = failure.request_id.or_else(|| answer::request_id(&headers));
        failure.should_retry = answer::should_retry(&headers);
        // The request was not looked at: over a new socket it is.
        if failure.code.as_deref() == Some(LIMIT_REACHED) {
            failure.kind = FailureKind::Cut;
        }
        failure
    }
}

impl Client {
    /// Sends a request over the socket of `slot`, or over a new one, and reads the answer as [`Client::call`] does.
    pub(super) async fn call_over(
        &self,
        endpoint: &Endpoint,
        slot: Arc<SocketSlot>,
        sent: &SentRequest<'_>,
        limits: &Timeouts,
        watch: impl Watch,
    ) -> Result<Response, CallFailure> {
        let call = ActiveCall::new(endpoint, sent.stream, limits, watch);
        let Some(url) = endpoint.address(sent.stream) else {
            return Err(Failure::new(FailureKind::Usage, "a model without an address has no WebSocket").into());
        };
        let (method, demand) = (Method::GET, sent.body.demand);
        let out = Outgoing { method, demand, slot: Some(slot), ..Outgoing::post(url, Bytes::new()) };
        self.attempt::<_, SocketAnswer>(call, &out, sent.attempt).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_accepted_as_its_standard_says() {
        assert_eq!(accepting("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "RFC 6455, 1.3");
    }

    #[test]
    fn an_error_event_in_place_of_an_answer_is_a_refusal() {
        let error = r#""error":{"type":"invalid_request_error","code":"previous_response_not_found","message":"No."}"#;
        let refusal =
            Refusal::read(&format!(r#"{{"type":"error","status":400,{error},"headers":{{"retry-after":"2"}}}}"#));
        let Some(Refusal { status, headers, body }) = refusal else { panic!("it is one") };
        assert_eq!((status, answer::retry_after(&headers)), (Some(400), Some(2.0)));
        assert_eq!(body, format!("{{{error}}}"));
        // As the guide has it, without a status.
        assert!(Refusal::read(&format!(r#"{{"type":"error",{error}}}"#)).is_some_and(|one| one.status.is_none()));
        // What a stream may hold: an answer that has failed, an error of the stream itself, and words.
        for other in [
            r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#,
            r#"{"type":"error","code":"server_error","message":"No.","param":null}"#,
            r#"{"type":"response.output_text.delta","delta":"\"error\""}"#,
            r#"not an object, but an "error""#,
        ] {
            assert!(Refusal::read(other).is_none(), "{other}");
        }
    }
}
