//! What is kept of work that is under way: the words a call has shown, and what becomes of a panic.
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

use super::http::CallFailure;
use loopwright_base::{
    error::{Error, Failure, FailureKind},
    message::{Block, Message, Role, StopReason, Usage},
    request::{Delta, Response},
};

/// Who is told of an answer while it comes. A closure that takes deltas is one.
pub trait Watch: Send {
    /// What is new of it.
    fn deltas(&mut self, deltas: Vec<Delta>);

    /// What the provider says so far that it costs.
    fn used(&mut self, usage: Usage) {
        let _ = usage;
    }
}

impl<F: FnMut(Vec<Delta>) + Send> Watch for F {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        self(deltas);
    }
}

/// Hands out what is new of an answer, in order: pieces to whoever watches, and by themselves the searches of the
/// provider's, which the machine takes as events, so that each has its own time and stands in the journal.
pub fn hand_out(deltas: Vec<Delta>, mut pieces: impl FnMut(Vec<Delta>), mut search: impl FnMut(Delta)) {
    let mut run = Vec::new();
    for delta in deltas {
        if matches!(delta, Delta::Search(_)) {
            if !run.is_empty() {
                pieces(std::mem::take(&mut run));
            }
            search(delta);
        } else {
            run.push(delta);
        }
    }
    if !run.is_empty() {
        pieces(run);
    }
}

/// The prose that a call has shown so far, and what it has used. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Shown(Arc<Mutex<(String, Usage)>>);

impl Shown {
    /// Adds what is new.
    pub fn add(&self, deltas: &[Delta]) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for delta in deltas {
            if let Delta::Text { text, .. } = delta {
                shown.0.push_str(text);
            }
        }
    }

    /// What the provider has reported so far.
    pub fn used(&self, usage: Usage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = usage;
    }

    /// What has been shown and used, as the answer of a call that is stopped now; `None` if that is nothing.
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
            })
        })
    }
}

/// What `work` gives, or the words of its panic.
pub async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(move |context| match caught_now(|| work.as_mut().poll(context)) {
        Ok(poll) => poll.map(Ok),
        Err(words) => Poll::Ready(Err(words)),
    })
    .await
}

/// What `work` gives, or the words of its panic.
pub fn caught_now<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What broke down is dropped and never looked at again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| words(panic.as_ref()))
}

/// The answer of a model; a call that broke down in our own code failed.
pub fn answered(caught: Result<Result<Response, CallFailure>, String>) -> Result<Response, CallFailure> {
    match caught {
        Ok(answer) => answer,
        Err(words) => {
            let message = format!("the call of the model broke down: {words}");
            Err(Failure::new(FailureKind::Internal, message).into())
        }
    }
}

/// A search that broke down in our own code.
pub fn broken_search(words: &str) -> Error {
    Error::internal("search", format!("the search broke down: {words}"))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        let late = caught(async {
            tokio::task::yield_now().await;
            let nothing: Option<u8> = None;
            assert!(nothing.is_some(), "no value");
        });
        assert_eq!(late.await, Err("no value".to_owned()));
        assert_eq!(caught_now(|| -> u8 { panic!("{}", 1 + 1) }), Err("2".to_owned()));
    }

    #[test]
    fn what_was_shown_is_a_partial_answer() {
        let shown = Shown::default();
        assert_eq!(shown.partial(), None);
        let text = |text: &str| Delta::Text { block: 0, text: text.to_owned() };
        shown.clone().add(&[text("Hel"), Delta::Reasoning { block: 1, text: "hm".to_owned() }, text("lo")]);
        assert_eq!(shown.partial().unwrap().message.prose(), "Hello");
        let usage = Usage { input: 7, ..Usage::default() };
        shown.used(usage);
        assert_eq!(shown.partial().unwrap().usage, usage);
    }
}
