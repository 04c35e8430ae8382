//! Work in flight: the text that a call has shown so far, and the panics of work.
//!
//! A run waits for the answer to everything it asked for. So work that breaks down still answers, and a call that is
//! stopped leaves what somebody has read already.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
};

use super::{http::CallFailure, pace::Held};
use loopwright_base::{
    error::{Error, Failure, FailureKind},
    message::{Block, Message, Role, StopReason, Usage},
    request::{Delta, Response},
};

/// A listener to an answer while it comes. A closure that takes deltas is one.
pub trait Watch: Send {
    /// Takes the new pieces of the answer.
    fn deltas(&mut self, deltas: Vec<Delta>);

    /// Takes the usage that the provider has reported so far.
    fn used(&mut self, usage: Usage) {
        let _ = usage;
    }

    /// Hears that the request waits for its turn.
    fn held(&mut self, held: Held) {
        let _ = held;
    }
}

impl<F: FnMut(Vec<Delta>) + Send> Watch for F {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        self(deltas);
    }
}

/// Hands out the new pieces of an answer, in order: pieces to the listener, and by themselves the searches of the
/// provider's and the batch of the request, which the machine takes as events, so that each has its own time and stands
/// in the journal.
pub fn hand_out(deltas: Vec<Delta>, mut pieces: impl FnMut(Vec<Delta>), mut event: impl FnMut(Delta)) {
    let mut run = Vec::new();
    for delta in deltas {
        if matches!(delta, Delta::Search(_) | Delta::Batch { .. }) {
            if !run.is_empty() {
                pieces(std::mem::take(&mut run));
            }
            event(delta);
        } else {
            run.push(delta);
        }
    }
    if !run.is_empty() {
        pieces(run);
    }
}

/// The pieces of an answer that came whole.
pub(super) fn whole_deltas(message: &Message) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (block, content) in message.content.iter().enumerate() {
        match content {
            Block::Text(text) => deltas.push(Delta::Text { block, text: text.text.clone() }),
            Block::Thinking(thinking) if !thinking.text.is_empty() => {
                deltas.push(Delta::Reasoning { block, text: thinking.text.clone() });
            }
            Block::ToolUse(call) => {
                deltas.push(Delta::ToolUse { block, id: call.id.clone(), name: call.name.clone() });
                deltas.push(Delta::Arguments { block, text: call.arguments_text().to_owned() });
            }
            _ => {}
        }
    }
    deltas
}

/// The prose that a call has shown so far, and its usage. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct PartialReply(Arc<Mutex<(String, Usage)>>);

impl PartialReply {
    /// Adds new pieces.
    pub fn add(&self, deltas: &[Delta]) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for delta in deltas {
            if let Delta::Text { text, .. } = delta {
                shown.0.push_str(text);
            }
        }
    }

    /// Sets the usage that the provider has reported so far.
    pub fn used(&self, usage: Usage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = usage;
    }

    /// The answer of a call that is stopped now: the text shown and the usage; `None` if there is neither.
    pub fn partial(&self) -> Option<Box<Response>> {
        let (text, usage) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (!text.is_empty() || usage != Usage::default()).then(|| {
            let content = if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
            Box::new(Response {
                id: String::new(),
                model: String::new(),
                message: Message::new(Role::Assistant, content),
                stop: StopReason::Other("cancelled".to_owned()),
                usage,
                extra: None,
                adapted: Vec::new(),
            })
        })
    }
}

/// Awaits `work` and returns its value, or the words of its panic.
pub async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(move |context| match catch_panic_now(|| work.as_mut().poll(context)) {
        Ok(poll) => poll.map(Ok),
        Err(words) => Poll::Ready(Err(words)),
    })
    .await
}

/// Runs `work` and returns its value, or the words of its panic.
pub fn catch_panic_now<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What broke down is dropped and never looked at again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_message(panic.as_ref()))
}

/// The answer of a model, or the failure of a call that panicked.
pub fn model_outcome(caught: Result<Result<Response, CallFailure>, String>) -> Result<Response, CallFailure> {
    match caught {
        Ok(answer) => answer,
        Err(words) => {
            let message = format!("the call of the model broke down: {words}");
            Err(Failure::new(FailureKind::Internal, message).into())
        }
    }
}

/// The error of a search that panicked.
pub fn search_panicked(words: &str) -> Error {
    Error::internal("search", format!("the search broke down: {words}"))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        assert_eq!(catch_panic(async { 7 }).await, Ok(7));
        let late = catch_panic(async {
            tokio::task::yield_now().await;
            let nothing: Option<u8> = None;
            assert!(nothing.is_some(), "no value");
        });
        assert_eq!(late.await, Err("no value".to_owned()));
        assert_eq!(catch_panic_now(|| -> u8 { panic!("{}", 1 + 1) }), Err("2".to_owned()));
    }

    #[test]
    fn what_was_shown_is_a_partial_answer() {
        let shown = PartialReply::default();
        assert_eq!(shown.partial(), None);
        let text = |text: &str| Delta::Text { block: 0, text: text.to_owned() };
        shown.clone().add(&[text("Hel"), Delta::Reasoning { block: 1, text: "hm".to_owned() }, text("lo")]);
        assert_eq!(shown.partial().unwrap().message.prose(), "Hello");
        let usage = Usage { input: 7, ..Usage::default() };
        shown.used(usage);
        assert_eq!(shown.partial().unwrap().usage, usage);
    }
}
