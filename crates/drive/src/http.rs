//! One call of a model over HTTP: a body out, deltas while they come, one response or one typed failure at the end.
//!
//! Nothing is tried again here; that is the machine's to decide. Dropping the future of a call cancels it and closes
//! its connection. Keys never get into a failure's words, and memory is bounded whatever the server sends.

use std::{
    convert::Infallible,
    fmt,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use reqwest::{
    StatusCode, Url,
    header::{self, HeaderMap},
};
use tokio::{sync::Semaphore, time::Sleep};

pub use super::options::{ClientOptions, RootSource, Timeouts};
use super::{
    answer::{self, BodyKind},
    batch::BatchDesk,
    body::{ResponseBody, too_long},
    breakers::Breakers,
    descriptors,
    endpoint::{Endpoint, is_loopback, without_secrets},
    error_map,
    exchange::{Exchange, Outgoing, ReadAnswer, SentBody},
    fetch::RobotsCache,
    in_flight::{Watch, whole_deltas},
    options::{Deadlines, limit},
    pace::Spent,
    proxies::Proxies,
    stale_connection, tls,
    turns::{Lines, Turn},
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::Fields,
    request::{Delta, Response},
};
use loopwright_wire::{self as wire, stream::Stream};

/// The size of the longest answer that is read, in bytes.
pub const MAX_BODY_BYTES: usize = 64 << 20;
/// Bytes that are read of an answer that is no success.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Time that is spent on the body of an answer that is no success.
const ERROR_PATIENCE: Duration = Duration::from_secs(2);
/// Characters of an invalid body that are quoted in a failure.
const QUOTED_CHARS: usize = 200;
/// Pieces of a stream that are taken at most before their deltas are handed out.
const MAX_BATCH: usize = 64;
/// Time that the end of the body is awaited after a stream's last event, so that the connection can be used again.
const END_PATIENCE: Duration = Duration::from_millis(20);

/// Time that the rest of an answer (its usage, the mark that the stream is over) is awaited after its end was said. It
/// comes with the next packet, or not at all.
const USAGE_PATIENCE: Duration = Duration::from_secs(2);

/// Time after which a connection is tried again where no descriptor was left.
const DESCRIPTOR_PAUSE: Duration = Duration::from_millis(100);

/// A call that failed.
#[derive(Clone, Debug)]
pub struct CallFailure {
    /// The failure.
    pub failure: Failure,
    /// Text, reasoning or a tool use was handed out before the failure: a repetition would be seen.
    pub visible: bool,
    /// The part of the answer that came before the failure and can stand in a history.
    pub partial: Option<Response>,
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure.message)
    }
}

impl std::error::Error for CallFailure {}

impl From<Failure> for CallFailure {
    fn from(failure: Failure) -> Self {
        Self { failure, visible: false, partial: None }
    }
}

/// The HTTP client: connections that are kept, a breaker for each model at a host. Cloning shares both.
///
/// A client belongs to the tokio runtime in which it is first used.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    options: ClientOptions,
    breakers: Breakers,
    /// The lines of calls that wait for their turn, for each host and key.
    lines: Lines,
    /// Clients built when first needed, one for each connect limit in use, with and without TLS.
    clients: Mutex<Vec<(ClientKey, reqwest::Client)>>,
    robots: RobotsCache,
    batches: BatchDesk,
    /// Calls that may be in flight at once: those that must wait for a descriptor wait here.
    room: Semaphore,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Models behind plain HTTP.
    Plain,
    /// Models behind TLS.
    Tls,
    /// Models behind TLS, each over a WebSocket, which HTTP/1.1 opens.
    Sockets,
    /// Agents of the container or machine that runs us, past every proxy.
    Direct,
    /// Pages of the web.
    Pages,
    /// Pages, private addresses included.
    AllPages,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct ClientKey {
    purpose: Purpose,
    connect: Duration,
}

/// Connect limits in one process that have a client of their own; more share one.
const MAX_CLIENTS: usize = 16;

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new(ClientOptions::default())
    }
}

impl Client {
    /// A client. Opens and reads nothing yet: a wrong path or proxy is an error of the first call that needs it.
    pub fn new(options: ClientOptions) -> Self {
        let breakers = Breakers::new(&options);
        let room = Semaphore::new(descriptors::room().min(Semaphore::MAX_PERMITS));
        let lines = Lines::new(options.minute);
        let (clients, robots, batches) = (Mutex::default(), RobotsCache::default(), BatchDesk::default());
        Self(Arc::new(Inner { options, breakers, lines, clients, robots, batches, room }))
    }

    /// A client with what the environment of the process says.
    pub fn from_env() -> Self {
        Self::new(ClientOptions::from_env(|name| std::env::var(name).ok()))
    }

    /// The client of this process, built from the environment when first asked for; a forked child has its own.
    pub fn shared() -> Self {
        let Ok(client) = Self::shared_or(|| Ok::<_, Infallible>(Self::from_env()));
        client
    }

    /// The client of this process, which `build` builds when it is first asked for. No lock is held meanwhile.
    pub fn shared_or<E>(build: impl FnOnce() -> Result<Self, E>) -> Result<Self, E> {
        let process = std::process::id();
        let ours = |shared: &Option<(u32, Self)>| match shared {
            Some((owner, client)) if *owner == process => Some(client.clone()),
            _ => None,
        };
        if let Some(client) = ours(&shared()) {
            return Ok(client);
        }
        let client = build()?;
        let mut shared = shared();
        if let Some(client) = ours(&shared) {
            return Ok(client);
        }
        // The parent's connections are not ours to close.
        std::mem::forget(shared.replace((process, client.clone())));
        Ok(client)
    }

    /// Forgets the failures, the limits and the rules for robots of all hosts (`name:port`) that are meant, as if they
    /// had never been called: a server that starts where another one stood does not answer for it.
    pub fn forget(is_meant: impl Fn(&str) -> bool) {
        let shared = shared().as_ref().filter(|(owner, _)| *owner == std::process::id()).map(|(_, ours)| ours.clone());
        if let Some(client) = shared {
            client.0.breakers.forget(&is_meant);
            client.0.lines.forget(&is_meant);
            client.0.robots.forget(&is_meant);
        }
    }

    /// Forgets the servers of this machine: tests start and end many, and their ports are used again.
    pub fn forget_this_machine() {
        Self::forget(|host| Url::parse(&format!("http://{host}/")).is_ok_and(|url| is_loopback(&url)));
    }

    /// The options that the client was built with.
    pub fn options(&self) -> &ClientOptions {
        &self.0.options
    }

    /// Sends `body` to `endpoint`, for the `attempt`-th time (from 1), and reads the answer, whole or as a stream, as
    /// the server gives it; `stream` is what the body asks for. New pieces of a streamed answer go to `watch`; those of
    /// a server that answers whole where a stream was asked for come at once.
    ///
    /// It waits for its turn first, where the host's limits want that; nothing of the call has begun by then.
    pub async fn call(
        &self,
        endpoint: &Endpoint,
        body: impl Into<SentBody>,
        stream: bool,
        attempt: u32,
        limits: &Timeouts,
        watch: impl Watch,
    ) -> Result<Response, CallFailure> {
        let call = ActiveCall::new(endpoint, stream, limits, watch);
        let Some(url) = endpoint.address(stream) else {
            let message = "the offline model needs no network: answer its requests without a call";
            return Err(Failure::new(FailureKind::Usage, message).into());
        };
        let SentBody { bytes, demand } = body.into();
        let out = Outgoing { demand, ..Outgoing::post(url, bytes) };
        self.attempt::<_, ModelAnswer>(call, &out, attempt).await
    }

    /// Sends what `out` holds in this call, and reads the answer as `X` does: in its turn, with a permit of the circuit
    /// breaker, again where no descriptor was left or credentials have lapsed, and without keys in what went wrong.
    pub(super) async fn attempt<W: Watch, X: Exchange>(
        &self,
        mut call: ActiveCall<'_, W>,
        out: &Outgoing,
        attempt: u32,
    ) -> Result<X::Answer, CallFailure> {
        let (endpoint, limits) = (call.endpoint, call.deadlines.limits);
        let (mut renewed, mut patience) = (false, None);
        let (permit, outcome) = loop {
            let mut turn = self.0.lines.turn(endpoint, out.demand, |held| call.watch.held(held)).await?;
            // It is never closed, so that there is room in the end.
            let _room = self.0.room.acquire().await;
            let patience = *patience.get_or_insert_with(|| Instant::now() + limit(limits.connect));
            call.deadlines = Deadlines::start(limits);
            let permit = self.0.breakers.permit(&endpoint.breaker, attempt)?;
            let outcome = X::exchange(&mut call, self, out, &mut turn).await;
            turn.end(outcome.as_ref().map(X::tokens).map_err(|(failure, _)| failure));
            if let Err((failure, _)) = &outcome {
                // Nothing was sent, and what others of this process have open they close again.
                let waits = failure.kind == FailureKind::TooManyOpenFiles && Instant::now() < patience;
                if waits {
                    drop(permit);
                    tokio::time::sleep(DESCRIPTOR_PAUSE).await;
                    continue;
                }
                // What was given out for a time may have been taken back before that was over.
                if let Some(credentials) = endpoint.credentials.as_ref().filter(|_| !renewed && !call.visible)
                    && credentials.renew(failure).await
                {
                    renewed = true;
                    drop(permit);
                    continue;
                }
            }
            break (permit, outcome);
        };
        match outcome {
            Ok(answer) => {
                permit.record_answer();
                Ok(answer)
            }
            Err((mut failure, partial)) => {
                if let Some((variable, proxy)) = endpoint.url.as_ref().and_then(|url| self.proxy_of(url)) {
                    failure = error_map::proxy_failure(failure, variable, &proxy);
                }
                failure.message = endpoint.scrub(failure.message);
                failure.request_id = failure.request_id.map(|id| endpoint.scrub(id));
                permit.record_failure(&failure);
                Err(CallFailure { failure, visible: call.visible, partial })
            }
        }
    }

    /// The proxy that requests to `url` go through, with the variable it comes from.
    pub(super) fn proxy_of(&self, url: &Url) -> Option<(&'static str, Url)> {
        let proxies = Proxies::new(&self.0.options).ok()?;
        proxies.of(url).map(|(variable, proxy)| (variable, proxy.clone()))
    }

    /// The connections to models, with or without TLS.
    fn connections(&self, tls: bool, socket: bool, connect: Duration) -> Result<reqwest::Client, Failure> {
        // A proxy may itself be reached by TLS.
        let tls = tls || self.0.options.proxies().any(|(_, proxy)| proxy.starts_with("https:"));
        if tls && socket {
            let purpose = Purpose::Sockets;
            return self.client_for(ClientKey { purpose, connect }, reqwest::ClientBuilder::http1_only);
        }
        let purpose = if tls { Purpose::Tls } else { Purpose::Plain };
        self.client_for(ClientKey { purpose, connect }, |builder| builder)
    }

    /// The connections to a server that gives out credentials; with `direct`, past every proxy.
    pub(super) fn connections_to(&self, url: &Url, direct: bool) -> Result<reqwest::Client, Failure> {
        let connect = limit(Timeouts::default().connect);
        if direct {
            return self.client_for(ClientKey { purpose: Purpose::Direct, connect }, |builder| builder);
        }
        self.connections(url.scheme() == "https", false, connect)
    }

    /// The rules of sites that were fetched.
    pub(super) fn robots(&self) -> &RobotsCache {
        &self.0.robots
    }

    /// The batches that are gathered, or under way.
    pub(super) fn batches(&self) -> &BatchDesk {
        &self.0.batches
    }

    /// The connections that pages are fetched over, finished by `finish` when first needed.
    pub(super) fn page_connections(
        &self,
        allow_private: bool,
        connect: Duration,
        finish: impl FnOnce(reqwest::ClientBuilder, &ClientOptions) -> reqwest::ClientBuilder,
    ) -> Result<reqwest::Client, Failure> {
        let purpose = if allow_private { Purpose::AllPages } else { Purpose::Pages };
        self.client_for(ClientKey { purpose, connect }, |builder| finish(builder, &self.0.options))
    }

    fn client_for(
        &self,
        flavour: ClientKey,
        finish: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Result<reqwest::Client, Failure> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == flavour) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS
            && let Some((_, client)) = clients.iter().find(|(known, _)| known.purpose == flavour.purpose)
        {
            return Ok(client.clone());
        }
        let client = finish(builder(&self.0.options, flavour.purpose)?)
            .connect_timeout(flavour.connect)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Failure::new(FailureKind::Internal, format!("no HTTP client: {error}")))?;
        clients.push((flavour, client.clone()));
        Ok(client)
    }
}

/// The client of a process, with the process's number.
fn shared() -> MutexGuard<'static, Option<(u32, Client)>> {
    static SHARED: Mutex<Option<(u32, Client)>> = Mutex::new(None);
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A reqwest client with our trust, proxies and pool.
fn builder(options: &ClientOptions, purpose: Purpose) -> Result<reqwest::ClientBuilder, Failure> {
    let tls = match purpose {
        Purpose::Plain => tls::tls_config_without_roots()?,
        Purpose::Sockets => tls::tls_config_of_http1(options)?,
        Purpose::Tls | Purpose::Direct | Purpose::Pages | Purpose::AllPages => tls::tls_config(options)?,
    };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("loopwright/", env!("CARGO_PKG_VERSION")))
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(60))
        // A connection that died unseen is found while an answer is awaited, not after it failed to come.
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .connector_layer(stale_connection::RecordConnections)
        .no_proxy();
    let proxies = Proxies::new(options)?;
    if !proxies.is_empty() && purpose != Purpose::Direct {
        builder = builder.proxy(reqwest::Proxy::custom(move |url| proxies.of(url).map(|(_, proxy)| proxy.clone())));
    }
    Ok(builder)
}

/// A model's answer, whole or as a stream.
struct ModelAnswer;

impl ReadAnswer for ModelAnswer {
    type Answer = Response;

    fn tokens(answer: &Response) -> Spent {
        Spent::of(&answer.usage)
    }

    async fn read<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        sent: reqwest::Response,
        sleep: Pin<&mut Sleep>,
    ) -> Result<Response, BrokenBody> {
        call.read(sent, sleep).await
    }
}

/// A call in flight.
pub(super) struct ActiveCall<'a, W> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) stream: bool,
    pub(super) deadlines: Deadlines,
    watch: W,
    visible: bool,
}

/// A failure, with the part of a model's answer that came before it.
pub(super) type BrokenBody = (Failure, Option<Response>);

impl<'a> ActiveCall<'a, fn(Vec<Delta>)> {
    /// A call whose answer nobody watches.
    pub(super) fn unwatched(endpoint: &'a Endpoint, limits: &Timeouts) -> Self {
        Self::new(endpoint, false, limits, drop)
    }
}

impl<'a, W> ActiveCall<'a, W> {
    pub(super) fn new(endpoint: &'a Endpoint, stream: bool, limits: &Timeouts, watch: W) -> Self {
        Self { endpoint, stream, deadlines: Deadlines::start(*limits), watch, visible: false }
    }
}

impl<W: Watch> ActiveCall<'_, W> {
    pub(super) async fn run<R: ReadAnswer>(
        &mut self,
        client: &Client,
        out: &Outgoing,
        turn: &mut Turn,
    ) -> Result<R::Answer, BrokenBody> {
        let whole = |failure: Failure| (failure, None);
        let (tls, connect) = (out.url.scheme() == "https", limit(self.deadlines.limits.connect));
        let connections = client.connections(tls, out.slot.is_some(), connect).map_err(whole)?;
        let mut first = out.request(&self.endpoint.headers);

        let sleep = tokio::time::sleep_until(self.deadlines.next().into());
        tokio::pin!(sleep);
        if let Some(credentials) = &self.endpoint.credentials {
            // Apart, so that calls without them need not have the room.
            let authorized = Box::pin(credentials.authorize(client, &mut first));
            tokio::select! {
                biased;
                authorized = authorized => authorized.map_err(whole)?,
                () = &mut sleep => return Err((self.timed_out(), None)),
            }
        }
        let request = || out.request(first.headers());
        turn.begin();
        let sent = tokio::select! {
            biased;
            sent = stale_connection::execute(&connections, request(), || Some(request())) => {
                let failed = |error| error_map::send_failure(&error, &self.endpoint.host, &self.deadlines.limits);
                sent.map_err(|error| whole(failed(error)))?
            }
            () = &mut sleep => return Err((self.timed_out(), None)),
        };
        turn.answered(sent.status().as_u16(), sent.headers());
        self.deadlines.record_piece();
        // From here on limits only move away, so that the timer need not follow each piece.
        sleep.as_mut().reset(self.deadlines.next().into());
        let opened = sent.status() == StatusCode::SWITCHING_PROTOCOLS && out.slot.is_some();
        if !sent.status().is_success() && !opened {
            return Err((Box::pin(self.refused(sent, sleep)).await, None));
        }
        let id = answer::request_id(sent.headers());
        R::read(self, sent, sleep).await.map_err(|(mut failure, partial)| {
            failure.request_id = failure.request_id.or(id);
            (failure, partial)
        })
    }

    async fn read(&mut self, sent: reqwest::Response, mut sleep: Pin<&mut Sleep>) -> Result<Response, BrokenBody> {
        let whole = |failure: Failure| (failure, None);
        let mut first = None;
        let mut kind = answer::body_kind(sent.headers());
        let mut sent = ResponseBody::new(sent, MAX_BODY_BYTES, &self.endpoint.host).map_err(whole)?;
        // The headers may be wrong: gateways call streams JSON, and whole answers streams.
        if kind != BodyKind::Html {
            // An empty piece says nothing about what follows; but it counts.
            let mut blank = 0_usize;
            while first.is_none() {
                let Some(piece) = self.piece(&mut sent, sleep.as_mut()).await.map_err(whole)? else { break };
                blank = blank.saturating_add(piece.len());
                if blank > MAX_BODY_BYTES {
                    return Err(whole(too_long(MAX_BODY_BYTES)));
                }
                if !piece.trim_ascii().is_empty() {
                    kind = answer::sniff(&piece, self.stream || kind == BodyKind::Events);
                    first = Some(piece);
                }
            }
        }
        if kind == BodyKind::Events {
            // Apart, so that whole answers need not have the room.
            Box::pin(self.read_stream(&mut sent, sleep, first)).await
        } else {
            let response = self.read_whole(sent, sleep, first, kind == BodyKind::Html).await.map_err(whole)?;
            if self.stream {
                // Whoever watches sees an answer that comes whole in one piece.
                self.hand_out(whole_deltas(&response.message));
            }
            Ok(response)
        }
    }

    pub(super) async fn read_stream(
        &mut self,
        sent: &mut ResponseBody,
        mut sleep: Pin<&mut Sleep>,
        mut first: Option<Bytes>,
    ) -> Result<Response, BrokenBody> {
        let mut stream = Stream::new(self.endpoint.wire);
        let mut read = 0_usize;
        // Until when something may still come of an answer that has ended.
        let mut last_words = None;
        loop {
            let mut piece = if let Some(piece) = first.take() {
                Some(piece)
            } else {
                let next = self.piece(sent, sleep.as_mut());
                let next = match last_words {
                    Some(until) => tokio::time::timeout_at(until, next).await.unwrap_or(Ok(None)),
                    None => next.await,
                };
                match next {
                    Ok(piece) => piece,
                    Err(_) if stream.is_ended() => None,
                    Err(failure) => return Err((failure, stream.partial())),
                }
            };
            // What has come at once is handed out at once.
            let mut deltas = Vec::new();
            let mut pieces = 0;
            let fed = loop {
                let Some(bytes) = &piece else { break stream.finish(&mut deltas).map(Some) };
                read = read.saturating_add(bytes.len());
                if read > MAX_BODY_BYTES && !stream.is_ended() {
                    break Err(too_long(MAX_BODY_BYTES));
                }
                if read > MAX_BODY_BYTES {
                    piece = None;
                    continue;
                }
                if let Err(failure) = stream.feed(bytes, &mut deltas) {
                    break Err(failure);
                }
                pieces += 1;
                if stream.is_done() || pieces >= MAX_BATCH {
                    break Ok(None);
                }
                match sent.chunk(&self.endpoint.host).now_or_never() {
                    Some(Ok(next)) => piece = next,
                    Some(Err(_)) if stream.is_ended() => piece = None,
                    Some(Err(failure)) => break Err(failure),
                    None => break Ok(None),
                }
            };
            if stream.is_ended() && (last_words.is_none() || !deltas.is_empty()) {
                last_words = Some(tokio::time::Instant::now() + USAGE_PATIENCE);
            }
            self.hand_out(deltas);
            if let Some(usage) = stream.reported() {
                self.watch.used(usage);
            }
            match fed {
                Err(failure) if piece.is_none() && read == 0 => {
                    let failure = Failure { message: "the answer is empty".to_owned(), ..failure };
                    return Err((failure, None));
                }
                Err(failure) => return Err((failure, stream.partial())),
                Ok(Some(response)) => return Ok(response),
                Ok(None) if stream.is_done() => break,
                Ok(None) => {}
            }
        }
        sent.drain(END_PATIENCE).await;
        let mut deltas = Vec::new();
        let finished = stream.finish(&mut deltas);
        self.hand_out(deltas);
        finished.map_err(|failure| (failure, stream.partial()))
    }

    async fn read_whole(
        &mut self,
        mut sent: ResponseBody,
        sleep: Pin<&mut Sleep>,
        first: Option<Bytes>,
        html: bool,
    ) -> Result<Response, Failure> {
        if sent.length().is_some_and(|length| length > MAX_BODY_BYTES as u64) {
            return Err(too_long(MAX_BODY_BYTES));
        }
        let (body, broken) = self.collect(&mut sent, sleep, first).await;
        if body.len() > MAX_BODY_BYTES {
            return Err(too_long(MAX_BODY_BYTES));
        }
        // What broke behind a whole answer takes nothing back of it.
        if let Some(failure) = broken.filter(|_| !is_whole(&body)) {
            return Err(failure);
        }
        let wrong = |what: &str| {
            let text = self.endpoint.scrub(String::from_utf8_lossy(body.get(..4096).unwrap_or(&body)).into_owned());
            let quoted: String = text.trim().chars().take(QUOTED_CHARS).collect();
            Failure::new(FailureKind::InvalidBody, format!("{what}: {quoted:?}"))
        };
        let Ok(text) = std::str::from_utf8(&body) else {
            return Err(wrong("the answer is not UTF-8"));
        };
        if html {
            return Err(wrong("the answer is a web page, not JSON; is the base URL right?"));
        }
        if text.trim_ascii().is_empty() {
            return Err(Failure::new(FailureKind::InvalidBody, "the answer is empty"));
        }
        wire::decode_response(self.endpoint.wire, text).map_err(|failure| {
            if failure.kind != FailureKind::InvalidBody {
                return failure;
            }
            match Fields::parse(text) {
                Err(_) => wrong("the answer is not a JSON object"),
                // Some gateways report failures with status 200.
                Ok(fields) if fields.get("error").is_some_and(|error| !error.is_null()) => {
                    wire::decode_failure(200, None, &self.endpoint.scrub(text.to_owned()))
                }
                Ok(_) => failure,
            }
        })
    }

    /// The failure for an answer that is no success.
    async fn refused(&mut self, sent: reqwest::Response, mut sleep: Pin<&mut Sleep>) -> Failure {
        let (status, code) = (sent.status(), sent.status().as_u16());
        let headers: HeaderMap = sent.headers().clone();
        let after = answer::retry_after(&headers);
        // The status alone says enough if the words do not come, or not all of them.
        let mut body = Vec::new();
        let words = async {
            let mut deadlines = self.deadlines;
            // What is packed in a way that nobody knows stays unread.
            let Ok(mut sent) = ResponseBody::new(sent, MAX_ERROR_BYTES, &self.endpoint.host) else { return };
            while body.len() < MAX_ERROR_BYTES
                && let Ok(Some(piece)) = next_piece(&mut sent, sleep.as_mut(), &mut deadlines, self.endpoint).await
            {
                body.extend_from_slice(&piece);
            }
        };
        let _ = tokio::time::timeout(ERROR_PATIENCE, words).await;
        // Keys go first: a quotation may cut them to what can't be recognised.
        let body = self.endpoint.scrub(String::from_utf8_lossy(&body).into_owned());
        let mut failure = wire::decode_failure(code, after, &body);
        if status.is_redirection() {
            let target = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).map(without_secrets);
            failure.message = match target {
                Some(target) => format!(
                    "the provider answered {code} and points to {target}; set that as the base URL (keys are not sent along)"
                ),
                None => {
                    format!("the provider answered {code}, which is no answer of a model, and does not say where to go")
                }
            };
        }
        // Some name the kind of error in a header alone.
        if let Some(code) = answer::error_type(&headers).filter(|_| failure.code.is_none()) {
            failure.kind = wire::failure_kind(status.as_u16(), &code, &failure.message);
            failure.code = Some(code);
        }
        failure.request_id = failure.request_id.or_else(|| answer::request_id(&headers));
        failure.should_retry = answer::should_retry(&headers);
        failure
    }

    /// Reads the whole body, with the failure that broke it off; a little more than the limit, if it is longer. A whole
    /// answer is not kept waiting for long by a connection that stays open.
    async fn collect(
        &mut self,
        sent: &mut ResponseBody,
        mut sleep: Pin<&mut Sleep>,
        first: Option<Bytes>,
    ) -> (Bytes, Option<Failure>) {
        let mut deadlines = self.deadlines;
        let mut body = Vec::new();
        let mut held = first;
        let mut broken = None;
        while body.len() <= MAX_BODY_BYTES {
            let next = {
                let mut next = pin!(next_piece(sent, sleep.as_mut(), &mut deadlines, self.endpoint));
                match tokio::time::timeout(USAGE_PATIENCE, next.as_mut()).await {
                    Ok(next) => next,
                    Err(_) if is_whole(held.as_deref().unwrap_or(&body)) => break,
                    Err(_) => next.await,
                }
            };
            let piece = match next {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(failure) => {
                    broken = Some(failure);
                    break;
                }
            };
            // Most answers come in one piece, which then needs no copy.
            match held.take() {
                None if body.is_empty() => {
                    held = Some(piece);
                    continue;
                }
                Some(earlier) => {
                    let known = sent.length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
                    body.reserve_exact((earlier.len() + piece.len()).max(known.min(1 << 20)));
                    body.extend_from_slice(&earlier);
                }
                None => {}
            }
            body.extend_from_slice(&piece);
        }
        (held.unwrap_or_else(|| body.into()), broken)
    }

    pub(super) async fn piece(
        &mut self,
        sent: &mut ResponseBody,
        sleep: Pin<&mut Sleep>,
    ) -> Result<Option<Bytes>, Failure> {
        next_piece(sent, sleep, &mut self.deadlines, self.endpoint).await
    }

    fn hand_out(&mut self, deltas: Vec<Delta>) {
        if deltas.is_empty() {
            return;
        }
        self.visible |= deltas.iter().any(|delta| match delta {
            Delta::Text { text, .. } | Delta::Reasoning { text, .. } => !text.is_empty(),
            Delta::ToolUse { .. } => true,
            Delta::Arguments { .. } | Delta::Provider { .. } | Delta::Search(_) | Delta::Batch { .. } => false,
        });
        self.watch.deltas(deltas);
    }

    pub(super) fn timed_out(&self) -> Failure {
        let what = self.deadlines.passed().unwrap_or_else(|| "a time limit passed".to_owned());
        Failure::new(FailureKind::Timeout, what)
    }
}

/// Returns whether a body is one whole object of JSON.
fn is_whole(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    body.starts_with(b"{") && body.ends_with(b"}") && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// The next piece of the body; `None` at its end.
async fn next_piece(
    sent: &mut ResponseBody,
    mut sleep: Pin<&mut Sleep>,
    deadlines: &mut Deadlines,
    endpoint: &Endpoint,
) -> Result<Option<Bytes>, Failure> {
    loop {
        tokio::select! {
            biased;
            piece = sent.chunk(&endpoint.host) => {
                return match (deadlines.record_piece(), piece) {
                    (_, Err(failure)) => Err(failure),
                    (Some(what), Ok(Some(_))) => Err(Failure::new(FailureKind::Timeout, what)),
                    (_, Ok(piece)) => Ok(piece),
                };
            }
            // The timer is moved only when it fires: pieces that come in time cost nothing.
            () = &mut sleep => match deadlines.passed() {
                Some(what) => return Err(Failure::new(FailureKind::Timeout, what)),
                None => sleep.as_mut().reset(deadlines.next().into()),
            },
        }
    }
}
