//! The answers of a run that its next requests can go on from: by the digest of the items that each of them ends.

use std::{
    collections::HashMap,
    hash::Hasher as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use xxhash_rust::xxh3::Xxh3;

use super::{
    continued::NOT_FOUND,
    socket::{ParkedSocket, Socket},
};
use loopwright_base::{
    error::{Error, Failure},
    json::{Fields, Raw},
    message::Wire,
};

/// Answers that are remembered for a run: its own last one, and those of its sub-agents and roles.
const MOST_KEPT: usize = 64;
/// Sockets of a run that stay open between two answers.
const MOST_SOCKETS: usize = 16;
/// Refusals in a row after which no answer is named any more: an account may keep none.
const MOST_REFUSED: u32 = 3;
/// Openings that fail without a refusal after which no socket is tried any more.
const MOST_UNOPENED: u32 = 2;

/// How requests go on from earlier answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinuedOver {
    /// Over HTTP, from answers that the provider has stored.
    Http,
    /// Over a WebSocket, from the last answer that the provider has given over it.
    WebSocket,
}

/// An answer that can be gone on from.
#[derive(Clone, Debug)]
pub(super) struct KnownAnswer {
    /// The model at its place.
    pub(super) place: Arc<str>,
    pub(super) id: String,
    /// How many items it answered, and their digest.
    asked: usize,
    digest: u128,
    /// Its own items, as they were expected in the next request.
    own: Vec<Raw>,
    /// The ids of its calls, as the provider gave them.
    calls: Vec<String>,
}

impl KnownAnswer {
    pub(super) fn new(place: Arc<str>, id: String, asked: &[Raw], own: Vec<Raw>, calls: Vec<String>) -> Self {
        Self { place, id, asked: asked.len(), digest: digest(asked), own, calls }
    }

    /// How many items of a history it covers, its own among them.
    fn covered(&self) -> usize {
        self.asked + self.own.len()
    }

    /// Whether the answer covers some of these items, but not all. Its calls may have other ids in them than the
    /// provider gave: a history names calls apart whose ids repeat.
    fn begins(&self, place: &str, items: &[Raw]) -> bool {
        &*self.place == place
            && self.covered() < items.len()
            && self.own.iter().zip(&items[self.asked..]).all(|(own, written)| is_same_item(own, written))
            && digest(&items[..self.asked]) == self.digest
    }

    /// The items behind the answer, with the ids that the provider gave to its calls.
    pub(super) fn rest(&self, items: &[Raw]) -> Vec<Raw> {
        let written = items[self.asked..self.covered()].iter().filter_map(|item| Fields::parse(item.text()).ok());
        let named = written.filter(is_call).filter_map(|item| call_id(&item)).zip(&self.calls);
        let renamed: HashMap<String, &String> = named.filter(|(written, given)| written != *given).collect();
        let as_known = |item: &Raw| {
            let mut fields = Fields::parse(item.text()).ok().filter(|_| !renamed.is_empty())?;
            let id = renamed.get(&call_id(&fields)?)?;
            fields.put(CALL_ID, *id);
            Some(fields.to_raw())
        };
        items[self.covered()..].iter().map(|item| as_known(item).unwrap_or_else(|| item.clone())).collect()
    }
}

/// The member that names a call, of itself and of its output.
const CALL_ID: &str = "call_id";

fn is_call(item: &Fields) -> bool {
    item.get_str("type").as_deref() == Some("function_call")
}

fn call_id(item: &Fields) -> Option<String> {
    item.get_str(CALL_ID)
}

/// Whether two items are the same but for their `call_id`.
fn is_same_item(own: &Raw, written: &Raw) -> bool {
    let bare = |item: &Raw| {
        let mut fields = Fields::parse(item.text()).ok()?;
        fields.take(CALL_ID)?;
        Some(fields.to_raw())
    };
    own.text() == written.text()
        || bare(own).zip(bare(written)).is_some_and(|(own, written)| own.text() == written.text())
}

/// An answer, with the socket whose last one it is if it came over one.
#[derive(Debug)]
struct Kept {
    known: KnownAnswer,
    socket: Option<ParkedSocket>,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<Kept>,
    /// Refusals since an answer was last gone on from.
    refused: u32,
    /// Places that take no notice of the name of an answer.
    deaf: Vec<Arc<str>>,
    /// Places where no socket has opened, and how often.
    unopened: Vec<(Arc<str>, u32)>,
    /// The run has ended: nothing is kept any more.
    closed: bool,
}

/// The answers of a run that its next requests can go on from. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Continuation(Arc<Mutex<State>>);

impl Continuation {
    /// Checks that requests over this wire can name an earlier answer; the error says why they can't.
    pub(super) fn check(provider: &str, wire: Wire, batched: bool, over: ContinuedOver) -> Result<(), Error> {
        let (message, hint) = if wire != Wire::OpenaiResponses {
            let asked = match over {
                ContinuedOver::Http => "True",
                ContinuedOver::WebSocket => "'websocket'",
            };
            let message =
                format!("continued can't be {asked}: {provider} speaks {}, which keeps no answers", wire.name());
            (message, "leave it out, or ask a model over the Responses API, as openai:MODEL or openai-responses:MODEL")
        } else if batched {
            ("continued and batch can't go together".to_owned(), "leave one of them out")
        } else {
            return Ok(());
        };
        Err(Error::usage("invalid_option", message).hint(hint))
    }

    /// Forgets all, closes its sockets, and keeps nothing any more: the run has ended.
    pub fn close(&self) {
        let kept = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.kept)
        };
        drop(kept);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stored answer that covers most of these items, and not all of them.
    pub(super) fn longest(&self, place: &str, items: &[Raw]) -> Option<KnownAnswer> {
        let state = self.state();
        let stored = state.kept.iter().filter(|kept| kept.socket.is_none()).map(|kept| &kept.known);
        stored.filter(|known| known.begins(place, items)).max_by_key(|known| known.covered()).cloned()
    }

    /// Takes the answer over a socket that covers most of these items, if the socket is still open.
    pub(super) async fn take(&self, place: &str, items: &[Raw]) -> Option<(KnownAnswer, Socket)> {
        let Kept { known, socket } = {
            let mut state = self.state();
            let fits = |(_, kept): &(usize, &Kept)| kept.socket.is_some() && kept.known.begins(place, items);
            let found = state.kept.iter().enumerate().filter(fits).max_by_key(|(_, kept)| kept.known.covered());
            let at = found.map(|(at, _)| at)?;
            state.kept.remove(at)
        };
        Some((known, socket?.take().await?))
    }

    /// Keeps an answer, with the socket that it came over.
    pub(super) fn keep(&self, known: KnownAnswer, socket: Option<Socket>) {
        let over = socket.is_some();
        let socket = socket.and_then(Socket::park);
        if over && socket.is_none() {
            return;
        }
        let kept = Kept { known, socket };
        let mut dropped = Vec::new();
        {
            let mut state = self.state();
            if state.closed {
                dropped.push(kept);
            } else {
                state.kept.push(kept);
            }
            let sockets = state.kept.iter().filter(|kept| kept.socket.is_some()).count();
            if sockets > MOST_SOCKETS
                && let Some(oldest) = state.kept.iter().position(|kept| kept.socket.is_some())
            {
                dropped.push(state.kept.remove(oldest));
            }
            let over = state.kept.len().saturating_sub(MOST_KEPT);
            dropped.extend(state.kept.drain(..over));
        }
    }

    /// A new answer stands in the place of the one that it went on from.
    pub(super) fn replace(&self, old: Option<&KnownAnswer>, new: Option<KnownAnswer>, socket: Option<Socket>) {
        let same = |known: &KnownAnswer| old.is_some_and(|old| (&old.place, &old.id) == (&known.place, &known.id));
        self.state().kept.retain(|kept| !same(&kept.known));
        if let Some(new) = new {
            self.keep(new, socket);
        }
    }

    /// An answer was gone on from.
    pub(super) fn heard(&self) {
        self.state().refused = 0;
    }

    /// The place has not an answer that was named, or takes no names of answers at all.
    pub(super) fn refuse(&self, known: &KnownAnswer, failure: &Failure) {
        self.replace(Some(known), None, None);
        let mut state = self.state();
        state.refused += 1;
        if state.refused >= MOST_REFUSED || failure.code.as_deref() != Some(NOT_FOUND) {
            state.deaf.push(known.place.clone());
        }
    }

    /// The place takes no notice of the name of an answer.
    pub(super) fn deafen(&self, place: &Arc<str>) {
        self.state().deaf.push(place.clone());
    }

    pub(super) fn is_deaf(&self, place: &str) -> bool {
        self.state().deaf.iter().any(|deaf| &**deaf == place)
    }

    /// No socket has opened at a place, which has refused it or only failed; whether that is new.
    pub(super) fn unopened(&self, place: &Arc<str>, refused: bool) -> bool {
        let mut state = self.state();
        let often = if refused { MOST_UNOPENED } else { 1 };
        if let Some((_, times)) = state.unopened.iter_mut().find(|(known, _)| known == place) {
            *times += often;
            return false;
        }
        state.unopened.push((place.clone(), often));
        true
    }

    /// Whether no socket is tried at a place any more.
    pub(super) fn opens_none(&self, place: &str) -> bool {
        self.state().unopened.iter().any(|(known, times)| &**known == place && *times >= MOST_UNOPENED)
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
