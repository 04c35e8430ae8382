//! Continued requests: where the provider has kept an answer, the next request names it and holds only what is new.
//!
//! A request is built as always, with its whole history; here, behind the codec, the items that the provider has are
//! left out. What it has is known by the digest of the items as they were written, so that whatever changes an older
//! one (a summary, a hook, another model) sends the whole again. What belongs to a run stays with it.

use std::{
    hash::Hasher as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use xxhash_rust::xxh3::Xxh3;

use super::{
    adapted::adapted,
    ask::SentRequest,
    endpoint::Endpoint,
    http::{CallFailure, Client, Timeouts},
    in_flight::Watch,
    pace::Held,
    provenance::sign,
};
use loopwright_base::{
    error::{Error, Failure, FailureKind},
    json::{Fields, Raw},
    message::{Extra, StopReason, Usage, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire as wire;

/// The member of a request, and of its answer, that names the answer which it goes on from.
const PREVIOUS: &str = "previous_response_id";
/// The code of the refusal of a name that is not known.
const NOT_FOUND: &str = "previous_response_not_found";
/// Members with which the caller keeps the state of a conversation in another way.
const OTHERWISE: [&str; 3] = [PREVIOUS, "conversation", "background"];
/// Answers that are remembered for a run: its own last one, and those of its sub-agents and roles.
const MOST_KEPT: usize = 64;
/// Refusals in a row after which no answer is named any more: an account may keep none.
const MOST_REFUSED: u32 = 3;

/// An answer that the provider has kept.
#[derive(Clone, Debug)]
struct Kept {
    /// The model at its place.
    place: Arc<str>,
    id: String,
    /// Items of the history up to the answer, itself among them, and their digest.
    items: usize,
    digest: u128,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<Kept>,
    /// Refusals since an answer was last gone on from.
    refused: u32,
    /// Places that take no notice of the name of an answer.
    deaf: Vec<Arc<str>>,
}

/// The answers of a run that its next requests can go on from. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Continuation(Arc<Mutex<State>>);

impl Continuation {
    /// Checks that requests over this wire can name an earlier answer; the error says why they can't.
    pub(super) fn check(provider: &str, wire: Wire, batched: bool) -> Result<(), Error> {
        let (message, hint) = if wire != Wire::OpenaiResponses {
            let message = format!("continued can't be True: {provider} speaks {}, which keeps no answers", wire.name());
            (message, "leave it out, or ask a model over the Responses API, as openai:MODEL or openai-responses:MODEL")
        } else if batched {
            ("continued and batch can't go together".to_owned(), "leave one of them out")
        } else {
            return Ok(());
        };
        Err(Error::usage("invalid_option", message).hint(hint))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer that covers most of these items, and not all of them.
    fn longest(&self, place: &str, items: &[Raw]) -> Option<Kept> {
        let state = self.state();
        let fits = |kept: &&Kept| {
            &*kept.place == place && items.get(..kept.items).is_some_and(|known| digest(known) == kept.digest)
        };
        let shorter = state.kept.iter().filter(|kept| kept.items < items.len());
        shorter.filter(fits).max_by_key(|kept| kept.items).cloned()
    }

    /// A new answer stands in the place of the one that it went on from.
    fn replace(&self, old: Option<&Kept>, new: Option<Kept>) {
        let mut state = self.state();
        state.kept.retain(|kept| old.is_none_or(|old| (&old.place, &old.id) != (&kept.place, &kept.id)));
        state.kept.extend(new);
        let over = state.kept.len().saturating_sub(MOST_KEPT);
        state.kept.drain(..over);
    }

    /// The place has not an answer that was named, or takes no names of answers at all.
    fn refuse(&self, known: &Kept, failure: &Failure) {
        self.replace(Some(known), None);
        let mut state = self.state();
        state.refused += 1;
        if state.refused >= MOST_REFUSED || failure.code.as_deref() != Some(NOT_FOUND) {
            state.deaf.push(known.place.clone());
        }
    }

    fn is_deaf(&self, place: &str) -> bool {
        self.state().deaf.iter().any(|deaf| &**deaf == place)
    }
}

/// The digest of items, each with its end.
fn digest(items: &[Raw]) -> u128 {
    let mut hasher = Xxh3::new();
    for item in items {
        hasher.write(item.text().as_bytes());
        hasher.write_u8(0);
    }
    hasher.digest128()
}

/// The items of a body's `input`; `None` where it holds none.
fn items_of(members: &Fields) -> Option<Vec<Raw>> {
    members.get("input")?.to().ok()
}

/// Sends a request, whole or what is new of it.
pub(super) async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    run: &Continuation,
    sent: SentRequest<'_>,
    timeouts: &Timeouts,
    mut watch: impl Watch,
) -> Result<Response, CallFailure> {
    let SentRequest { request, body, stream, attempt } = sent;
    let written = std::str::from_utf8(&body.bytes).ok().and_then(|text| Fields::parse(text).ok());
    let ours = written.filter(|members| OTHERWISE.iter().all(|name| members.get(name).is_none()));
    let asked = ours.and_then(|members| Some((items_of(&members)?, members)));
    let Some((items, mut members)) = asked.filter(|_| !run.is_deaf(&endpoint.breaker)) else {
        return client.call(endpoint, body, stream, attempt, timeouts, watch).await;
    };
    // What is not kept can't be named, unless the caller has said that nothing shall be.
    if request.passed().is_none_or(|passed| passed.get("store").is_none()) {
        members.put("store", &true);
    }
    let known = run.longest(&endpoint.breaker, &items);
    let mut told = Vec::new();
    if let Some(known) = &known {
        let mut short = members.clone();
        short.put(PREVIOUS, &known.id);
        short.put("input", &items[known.items..]);
        let mut seen = Seen { watch: &mut watch, any: false };
        let body = body.with(short.to_raw().text());
        let answer = client.call(endpoint, body, stream, attempt, timeouts, &mut seen).await;
        let shown = seen.any;
        match answer {
            Ok(response) if is_heard(&response, &known.id) => {
                run.state().refused = 0;
                record(endpoint, run, request, (items, members), Some(known), &response);
                return Ok(response);
            }
            Ok(_) => {
                run.state().deaf.push(endpoint.breaker.clone());
                let message =
                    format!("{} took no notice of {PREVIOUS}: the whole history is sent from here on", endpoint.name);
                if shown {
                    let failure = Failure::new(FailureKind::Server, message);
                    return Err(CallFailure { failure, visible: true, partial: None });
                }
                told.push(message);
            }
            Err(failed) if is_unknown(&failed.failure) && !failed.visible => {
                run.refuse(known, &failed.failure);
                told.push(format!("{} had not kept the last answer: the whole history was sent", endpoint.name));
            }
            Err(failed) => return Err(failed),
        }
    }
    let body = body.with(members.to_raw().text());
    let response = client.call(endpoint, body, stream, attempt, timeouts, watch).await?;
    record(endpoint, run, request, (items, members), None, &response);
    Ok(Response { adapted: told, ..response })
}

/// Remembers an answer that the next request can go on from: a whole one, which the provider keeps.
fn record(
    endpoint: &Endpoint,
    run: &Continuation,
    request: &Request,
    (mut items, members): (Vec<Raw>, Fields),
    old: Option<&Kept>,
    response: &Response,
) {
    let is_kept = members.get("store").is_some_and(|store| store.text() == "true");
    let is_whole = matches!(response.stop, StopReason::EndTurn | StopReason::ToolUse) && !response.id.is_empty();
    let written = if is_kept && is_whole { written(endpoint, request, response) } else { None };
    let new = written.map(|own| {
        items.extend(own);
        let (place, id) = (endpoint.breaker.clone(), response.id.clone());
        Kept { place, id, items: items.len(), digest: digest(&items) }
    });
    run.replace(old, new);
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
struct Seen<'a, W> {
    watch: &'a mut W,
    any: bool,
}

impl<W: Watch> Watch for &mut Seen<'_, W> {
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
