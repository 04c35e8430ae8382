//! A long history looked at while it is read from Python.
//!
//! Only one thread may read Python's objects, and it is bound by memory; the others count what was read already. What
//! comes out is the same as if all of it had been read first.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use pyo3::{prelude::*, types::PyList};

use super::given::Reader;
use crate::core::{
    context::{Looked, Looking, Policy, WORTH, weight},
    message::Message,
    tokens::TokenCounter,
    workers::Workers,
};

/// So many messages are handed over at a time.
const CHUNK: usize = 64;

/// A history that was read, and what was seen of it where it is long.
pub(super) struct Read {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) looked: Option<Looked>,
    /// Those who counted, and what they remember.
    pub(super) siblings: Vec<TokenCounter>,
}

/// Reads all messages; where there is much of them, as many threads as `workers` has count by what `siblings` gives.
pub(super) fn read<'py>(
    py: Python<'py>,
    reader: &Reader<'_, 'py>,
    given: &Bound<'py, PyList>,
    policy: &Policy,
    workers: &dyn Workers,
    siblings: impl FnOnce(usize) -> Vec<TokenCounter>,
) -> PyResult<Read> {
    let many = workers.many();
    let mut all = given.iter().enumerate();
    let mut messages: Vec<Arc<Message>> = Vec::with_capacity(given.len());
    let mut sum = 0_usize;
    // What is little is looked at sooner when all of it is there.
    while many == 1 || sum < WORTH {
        let Some((at, message)) = all.next() else {
            return Ok(Read { messages, looked: None, siblings: Vec::new() });
        };
        let message = Arc::new(reader.one(&message, at)?);
        sum = sum.saturating_add(weight(&message));
        messages.push(message);
    }
    let looking = Looking::new(given.len(), policy);
    let mut siblings = siblings(many);
    let (send, receive) = mpsc::channel::<(usize, Vec<Arc<Message>>)>();
    let receive = Mutex::new(receive);
    let work = |count: &mut TokenCounter| {
        loop {
            let next = receive.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((first, own)) = next else { return };
            looking.take(first, &own, Some(count));
        }
    };
    let work = &work;
    let done = thread::scope(|scope| {
        let mut counters = siblings.iter_mut();
        let own = counters.next();
        let begin = |count| thread::Builder::new().spawn_scoped(scope, move || work(count)).ok();
        let others: Vec<_> = counters.map_while(begin).collect();
        let mut handed = 0;
        let mut hand_over = |messages: &[Arc<Message>]| {
            let new = messages.get(handed..).unwrap_or_default();
            // It fails only where nobody is left who takes it, and then this thread does.
            let _taken = send.send((handed, new.to_vec()));
            handed = messages.len();
        };
        hand_over(&messages);
        let read_rest = || {
            for (at, message) in all {
                messages.push(Arc::new(reader.one(&message, at)?));
                if messages.len().is_multiple_of(CHUNK) {
                    hand_over(&messages);
                }
            }
            hand_over(&messages);
            Ok(())
        };
        let done: PyResult<()> = read_rest();
        drop(send);
        py.detach(|| {
            if let Some(own) = own {
                work(own);
            }
            for other in others {
                let _ended = other.join();
            }
        });
        done
    });
    done?;
    Ok(Read { messages, looked: Some(looking.finish()), siblings })
}
