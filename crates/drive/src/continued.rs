//! Continued requests: where the provider has kept an answer, the next request names it and holds only what is new.
//!
//! A request is built as always, with its whole history; here, behind the codec, the items that the provider has are
//! left out. What it has is known by the digest of the items as they were written, so that whatever changes an older
//! one (a summary, a hook, another model) sends the whole again. What belongs to a run stays with it.
//!
//! Over HTTP the provider has stored the answer; over a WebSocket it has the last one in the connection's memory, and
//! whatever becomes of the socket sends the whole again. Where none opens, requests go over HTTP.
//!
//! Instructions and tools go along each time. OpenAI's specification says of `instructions` that those of the answer
//! before are not carried over (openai/openai-openapi: openapi.yaml, `CreateResponse`; the same words stand in
//! openai/openai-python: `src/openai/types/responses/response_create_params.py`). Of tools no page says either; clients
//! that go on by a name send them again (langchain-ai/langchain#31734, and pydantic/pydantic-ai's recording
//! `test_openai_previous_response_id_seed_auto_chains_through_retries.yaml`).

use std::sync::Arc;

pub use super::continued_state::{Continuation, ContinuedOver};
use super::{
    adapted::adapted,
    ask::SentRequest,
    continued_state::KnownAnswer,
    endpoint::Endpoint,
    http::{CallFailure, Client, Timeouts},
    in_flight::Watch,
    pace::Held,
    provenance::sign,
    socket::{Socket, SocketSlot, Stage},
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Extra, StopReason, Usage, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire as wire;

/// The member of a request, and of its answer, that names the answer which it goes on from.
const PREVIOUS: &str = "previous_response_id";
/// The code of the refusal of a name that is not known.
pub(super) const NOT_FOUND: &str = "previous_response_not_found";
/// Members with which the caller keeps the state of a conversation in another way.
const OTHERWISE: [&str; 3] = [PREVIOUS, "conversation", "background"];

/// The items of a body's `input`; `None` where it holds none.
fn items_of(members: &Fields) -> Option<Vec<Raw>> {
    members.get("input")?.to().ok()
}

/// A request that may go on from an earlier answer, with the members of its body and its items.
struct ContinuedAsk<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    run: &'a Continuation,
    sent: SentRequest<'a>,
    timeouts: &'a Timeouts,
    members: Fields,
    items: Vec<Raw>,
}

/// Sends a request, whole or what is new of it.
pub(super) async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    (run, over): &(Continuation, ContinuedOver),
    sent: SentRequest<'_>,
    timeouts: &Timeouts,
    watch: &mut dyn Watch,
) -> Result<Response, CallFailure> {
    let mut seen = Seen { watch, any: false };
    let written = std::str::from_utf8(&sent.body.bytes).ok().and_then(|text| Fields::parse(text).ok());
    let ours = written.filter(|members| OTHERWISE.iter().all(|name| members.get(name).is_none()));
    let asked = ours.and_then(|members| Some((items_of(&members)?, members)));
    let Some((items, members)) = asked.filter(|_| !run.is_deaf(&endpoint.breaker)) else {
        let SentRequest { body, stream, attempt, .. } = sent;
        return client.call(endpoint, body, stream, attempt, timeouts, &mut seen).await;
    };
    let asking = ContinuedAsk { client, endpoint, run, sent, timeouts, members, items };
    let mut told = Vec::new();
    let answer = match over {
        // Apart, so that requests over HTTP need not have the room.
        ContinuedOver::WebSocket if !run.opens_none(&endpoint.breaker) => {
            Box::pin(asking.over_socket(&mut seen, &mut told)).await
        }
        _ => None,
    };
    let answer = match answer {
        Some(answer) => answer,
        None => asking.over_http(&mut seen, &mut told).await,
    };
    answer.map(|response| Response { adapted: told, ..response })
}

impl ContinuedAsk<'_> {
    async fn over_http(mut self, seen: &mut Seen<'_>, told: &mut Vec<String>) -> Result<Response, CallFailure> {
        let (client, endpoint, timeouts) = (self.client, self.endpoint, self.timeouts);
        let (stream, attempt) = (self.sent.stream, self.sent.attempt);
        // What is not kept can't be named, unless the caller has said that nothing shall be.
        if self.sent.request.passed().is_none_or(|passed| passed.get("store").is_none()) {
            self.members.put("store", &true);
        }
        let place = &*endpoint.breaker;
        let known = self.run.longest(place, &self.items).filter(|_| !self.run.is_deaf(place));
        if let Some(known) = &known {
            seen.any = false;
            let body = self.sent.body.with(self.short(known).to_raw().text());
            let answer = client.call(endpoint, body, stream, attempt, timeouts, &mut *seen).await;
            let shown = seen.any;
            if let Some(answer) = self.heard(known, answer, shown, told) {
                let response = answer?;
                self.record(Some(known), &response, None);
                return Ok(response);
            }
        }
        let body = self.sent.body.with(self.members.to_raw().text());
        let response = client.call(endpoint, body, stream, attempt, timeouts, seen).await?;
        self.record(None, &response, None);
        Ok(response)
    }

    /// The answer over a WebSocket; `None` where it must be asked for over HTTP.
    async fn over_socket(&self, seen: &mut Seen<'_>, told: &mut Vec<String>) -> Option<Result<Response, CallFailure>> {
        let place = &self.endpoint.breaker;
        let (mut known, mut socket) = self.run.take(place, &self.items).await.unzip();
        loop {
            let short = known.as_ref().map(|known| message(self.short(known)));
            let slot = Arc::new(SocketSlot::new(socket.take(), short, message(self.members.clone())));
            seen.any = false;
            let answer =
                self.client.call_over(self.endpoint, slot.clone(), &self.sent, self.timeouts, &mut *seen).await;
            let (shown, stage) = (seen.any, slot.stage());
            socket = slot.take();
            if stage == Stage::Opening
                && let Err(failed) = &answer
            {
                return if self.goes_over_http(&failed.failure, told) { None } else { Some(answer) };
            }
            // What was sent whole went on from nothing.
            let gone_on = known.take_if(|_| matches!(stage, Stage::Short | Stage::Untouched));
            let answer = match &gone_on {
                Some(known) => match self.heard(known, answer, shown, told) {
                    Some(answer) => answer,
                    None if self.run.is_deaf(place) => return None,
                    None => continue,
                },
                None => answer,
            };
            match (&answer, gone_on) {
                (Ok(response), old) => self.record(old.as_ref(), response, socket),
                // After a refusal the provider has what it has stored; what it had in memory alone it has no more.
                (Err(_), Some(known)) if stage == Stage::Untouched || self.stores() => {
                    if let Some(socket) = socket {
                        self.run.keep(known, Some(socket));
                    }
                }
                (Err(_), _) => {}
            }
            return Some(answer);
        }
    }

    /// The members of a request that goes on from an answer.
    fn short(&self, known: &KnownAnswer) -> Fields {
        let mut short = self.members.clone();
        short.put(PREVIOUS, &known.id);
        short.put("input", &known.rest(&self.items));
        short
    }

    fn stores(&self) -> bool {
        self.members.get("store").is_some_and(|store| store.text() == "true")
    }

    /// What came of a request that went on from an answer; `None` where the whole must be sent.
    fn heard(
        &self,
        known: &KnownAnswer,
        answer: Result<Response, CallFailure>,
        shown: bool,
        told: &mut Vec<String>,
    ) -> Option<Result<Response, CallFailure>> {
        let name = &self.endpoint.name;
        match answer {
            Ok(response) if is_heard(&response, &known.id) => {
                self.run.heard();
                Some(Ok(response))
            }
            Ok(_) => {
                self.run.deafen(&self.endpoint.breaker);
                let message = format!("{name} took no notice of {PREVIOUS}: the whole history is sent from here on");
                if shown {
                    let failure = Failure::new(FailureKind::Server, message);
                    return Some(Err(CallFailure { failure, visible: true, partial: None }));
                }
                told.push(message);
                None
            }
            Err(failed) if is_unknown(&failed.failure) && !failed.visible => {
                self.run.refuse(known, &failed.failure);
                told.push(format!("{name} had not kept the last answer: the whole history was sent"));
                None
            }
            Err(failed) => Some(Err(failed)),
        }
    }

    /// Whether a request whose socket has not opened goes over HTTP: not where it would fail in the same way.
    fn goes_over_http(&self, failure: &Failure, told: &mut Vec<String>) -> bool {
        use FailureKind as Kind;
        let same = matches!(failure.status, Some(401 | 407 | 408 | 429))
            || matches!(failure.kind, Kind::Connect | Kind::Tls | Kind::TooManyOpenFiles | Kind::Usage);
        if same {
            return false;
        }
        let refused = match failure.status {
            Some(status) => status < 500 || matches!(status, 501 | 505),
            None => failure.kind == Kind::InvalidBody,
        };
        if self.run.unopened(&self.endpoint.breaker, refused) {
            let (name, why) = (&self.endpoint.name, &failure.message);
            told.push(format!("{name} opened no WebSocket, so requests go over HTTP: {why}"));
        }
        true
    }

    /// Remembers an answer that the next request can go on from: a whole one, which the provider keeps.
    fn record(&self, old: Option<&KnownAnswer>, response: &Response, socket: Option<Socket>) {
        let is_kept = socket.is_some() || self.stores();
        let is_whole = matches!(response.stop, StopReason::EndTurn | StopReason::ToolUse) && !response.id.is_empty();
        let written = if is_kept && is_whole { written(self.endpoint, self.sent.request, response) } else { None };
        let place = &self.endpoint.breaker;
        let calls = || response.message.tool_uses().map(|call| call.id.clone()).collect();
        let new = written.map(|own| KnownAnswer::new(place.clone(), response.id.clone(), &self.items, own, calls()));
        self.run.replace(old, new, socket);
    }
}

/// A request as it is sent over a WebSocket: there all answers stream.
fn message(mut members: Fields) -> String {
    members.take("stream");
    members.put("type", "response.create");
    members.to_raw().text().to_owned()
}

/// The items of an answer as the next request will write them.
fn written(endpoint: &Endpoint, request: &Request, response: &Response) -> Option<Vec<Raw>> {
    let mut answer = response.clone();
    sign(endpoint, &request.model, &mut answer);
    let next = Request { messages: [answer.message].into_iter().collect(), ..request.clone() };
    let profile = endpoint.profile();
    let body = wire::encode_for(&profile, endpoint.wire, &adapted(endpoint, &profile, &next).request).ok()?;
    items_of(&Fields::parse(&body).ok()?)
}

/// Whether an answer repeats the id in `previous_response_id`: a server that ignores the member does not.
fn is_heard(response: &Response, id: &str) -> bool {
    let said = Extra::for_wire(response.extra.as_deref(), Wire::OpenaiResponses);
    said.and_then(|said| said.get_str(PREVIOUS)).as_deref() == Some(id)
}

/// Whether a failure is the refusal of an unknown `previous_response_id`.
fn is_unknown(failure: &Failure) -> bool {
    let names = |text: &Option<String>, word: &str| text.as_deref() == Some(word);
    names(&failure.code, NOT_FOUND)
        || names(&failure.param, PREVIOUS)
        || (matches!(failure.status, Some(400 | 404)) && failure.message.contains(PREVIOUS))
}

/// A listener that knows whether anything has come.
struct Seen<'a> {
    watch: &'a mut dyn Watch,
    any: bool,
}

impl Watch for &mut Seen<'_> {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        self.any |= !deltas.is_empty();
        self.watch.deltas(deltas);
    }

    fn used(&mut self, usage: Usage) {
        self.watch.used(usage);
    }

    fn held(&mut self, held: Held) {
        self.watch.held(held);
    }
}
