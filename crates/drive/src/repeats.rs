//! Repeated answers: one that says the same again and again is cut while it streams, so that nobody waits, and pays,
//! for the rest.
//!
//! The part that came is the answer, and says why it ended; the machine then tells the model once, or ends the run. The
//! event that holds it is all that a replay needs.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

use super::{
    ask::ask,
    endpoint::Endpoint,
    http::{CallFailure, Client, Timeouts},
    in_flight::{PartialReply, Watch},
    own::{self, ScrubbingWatcher},
    pace::Held,
};
use loopwright_base::{
    message::{Block, Message, Role, StopReason, Thinking, Usage},
    request::{Delta, Request, Response},
};
use loopwright_monitor::stuck::{REPEATED_TEXT, TextLoop};

/// Calls [`ask`], and cuts a streamed answer as soon as it has said the same `repeats` times. Whoever listens hears no
/// key of this process.
pub async fn ask_until_repeated(
    client: &Client,
    endpoint: &Endpoint,
    timeouts: &Timeouts,
    request: &Request,
    attempt: u32,
    watch: impl Watch,
    repeats: Option<u32>,
) -> Result<Response, CallFailure> {
    let watch = ScrubbingWatcher::new(watch);
    let answer = ask_or_cut(client, endpoint, timeouts, request, attempt, watch, repeats).await;
    if endpoint.credentials.is_some() {
        // They may have given a key meanwhile.
        own::keep(endpoint.own_keys());
    }
    answer
}

async fn ask_or_cut(
    client: &Client,
    endpoint: &Endpoint,
    timeouts: &Timeouts,
    request: &Request,
    attempt: u32,
    watch: impl Watch,
    repeats: Option<u32>,
) -> Result<Response, CallFailure> {
    let Some(repeats) = repeats.filter(|repeats| *repeats > 0 && request.stream == Some(true)) else {
        return ask(client, endpoint, timeouts, request, attempt, watch).await;
    };
    let heard = Arc::new(PartialAnswer::default());
    let said = || Box::new(TextLoop::new(repeats));
    let listener = RepeatWatcher { watch, text: said(), thought: said(), heard: heard.clone() };
    tokio::select! {
        biased;
        () = heard.cut.notified() => {}
        answer = Box::pin(ask(client, endpoint, timeouts, request, attempt, listener)) => {
            // An answer that came in one piece ended in the same breath: it is cut in the same place.
            if answer.is_err() || !heard.loops.load(Ordering::Acquire) {
                return answer;
            }
        }
    }
    Ok(heard.answer())
}

/// The part of an answer that came, shared with the listener.
#[derive(Default)]
struct PartialAnswer {
    shown: PartialReply,
    /// The reasoning so far: an answer that is cut holds it, so that machine and replay hear what repeated itself.
    thought: Mutex<String>,
    loops: AtomicBool,
    cut: Notify,
}

impl PartialAnswer {
    fn answer(&self) -> Response {
        let stop = StopReason::Other(REPEATED_TEXT.to_owned());
        let mut answer = match self.shown.partial() {
            Some(partial) => Response { stop, ..*partial },
            None => Response {
                id: String::new(),
                model: String::new(),
                message: Message::new(Role::Assistant, Vec::new()),
                stop,
                usage: Usage::default(),
                extra: None,
                adapted: Vec::new(),
            },
        };
        let text = std::mem::take(&mut *self.thought());
        if !text.is_empty() {
            answer.message.content.insert(0, Block::Thinking(Thinking { text, ..Thinking::default() }));
        }
        answer
    }

    fn thought(&self) -> MutexGuard<'_, String> {
        self.thought.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct RepeatWatcher<W> {
    watch: W,
    text: Box<TextLoop>,
    thought: Box<TextLoop>,
    heard: Arc<PartialAnswer>,
}

impl<W: Watch> Watch for RepeatWatcher<W> {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        // What comes behind the cut is nobody's business any more.
        if self.heard.loops.load(Ordering::Acquire) {
            return;
        }
        self.heard.shown.add(&deltas);
        let loops = deltas.iter().any(|delta| match delta {
            Delta::Text { text, .. } => self.text.feed(text),
            Delta::Reasoning { text, .. } => {
                self.heard.thought().push_str(text);
                self.thought.feed(text)
            }
            // A call behind the words: the reply went on.
            Delta::ToolUse { .. } => {
                self.text.end();
                self.thought.end();
                false
            }
            _ => false,
        });
        self.watch.deltas(deltas);
        if loops {
            self.heard.loops.store(true, Ordering::Release);
            self.heard.cut.notify_one();
        }
    }

    fn used(&mut self, usage: Usage) {
        self.heard.shown.used(usage);
        self.watch.used(usage);
    }

    fn held(&mut self, held: Held) {
        self.watch.held(held);
    }
}
