//! Reading of a long history from Python, with counting on other threads meanwhile.
//!
//! Only one thread may read Python's objects, and it is bound by memory; the others count what was read already. The
//! result is the same as if all of it had been read first.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use pyo3::{prelude::*, types::PyList};

use super::{
    draft::{CHUNK, Draft},
    read_messages::MessageReader,
};
use loopwright_base::{message::Message, workers::Workers};
use loopwright_context::{Looked, Looking, Policy, WORTH};
use loopwright_tokens::TokenCounter;

/// A history that was read, and its counts where it is long.
pub(super) struct CountedHistory {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) looked: Option<Looked>,
    /// The counters that counted, with their caches.
    pub(super) siblings: Vec<TokenCounter>,
}

/// The work that several threads share.
struct SharedWork {
    looking: Looking,
    /// Messages, by the place of the first.
    made: Mutex<Vec<(usize, Vec<Arc<Message>>)>>,
    /// Drafts that still hold Python's objects.
    spent: Mutex<Vec<Draft>>,
}

impl SharedWork {
    fn take(&self, first: usize, mut draft: Draft, count: &mut TokenCounter) {
        let messages = draft.messages();
        self.looking.take(first, &messages, Some(count));
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push((first, messages));
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).push(draft);
    }
}

/// Reads all messages; where there is much of them, as many threads as `workers` has count by what `siblings` gives.
pub(super) fn read_counting<'py>(
    py: Python<'py>,
    reader: &MessageReader<'_, 'py>,
    given: &Bound<'py, PyList>,
    policy: &Policy,
    workers: &dyn Workers,
    siblings: impl FnOnce(usize) -> Vec<TokenCounter>,
) -> PyResult<CountedHistory> {
    let many = workers.count();
    if many == 1 {
        return Ok(CountedHistory { messages: reader.all(given)?, looked: None, siblings: Vec::new() });
    }
    let mut all = given.iter().enumerate();
    // What comes next; nothing where there is no more.
    let mut next = || -> PyResult<Option<Draft>> {
        let mut draft = Draft::with_capacity(CHUNK);
        for (at, message) in all.by_ref().take(CHUNK) {
            reader.add(&message, at, &mut draft)?;
        }
        Ok((draft.len() > 0).then_some(draft))
    };
    // What is little is looked at sooner when all of it is there.
    let mut first: Vec<Draft> = Vec::new();
    while first.iter().map(Draft::weight).sum::<usize>() < WORTH {
        let Some(draft) = next()? else {
            let messages = first.iter_mut().flat_map(Draft::messages).collect();
            return Ok(CountedHistory { messages, looked: None, siblings: Vec::new() });
        };
        first.push(draft);
    }
    let making = SharedWork {
        looking: Looking::new(given.len(), policy),
        made: Mutex::new(Vec::with_capacity(given.len() / CHUNK + 1)),
        spent: Mutex::default(),
    };
    let mut siblings = siblings(many);
    let (send, receive) = mpsc::channel::<(usize, Draft)>();
    let receive = Mutex::new(receive);
    let work = |count: &mut TokenCounter| {
        loop {
            let next = receive.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((first, draft)) = next else { return };
            making.take(first, draft, count);
        }
    };
    let work = &work;
    let done = thread::scope(|scope| {
        let mut counters = siblings.iter_mut();
        let own = counters.next();
        let begin = |count| thread::Builder::new().spawn_scoped(scope, move || work(count)).ok();
        let others: Vec<_> = counters.map_while(begin).collect();
        let mut handed = 0;
        let mut hand_over = |draft: Draft| {
            let place = handed;
            handed += draft.len();
            // It fails only where nobody is left who takes it, and then this thread does.
            let _taken = send.send((place, draft));
        };
        first.into_iter().for_each(&mut hand_over);
        let mut read_rest = || {
            while let Some(draft) = next()? {
                hand_over(draft);
            }
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
    let SharedWork { looking, made, spent } = making;
    drop(spent);
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(first, _)| *first);
    let messages = made.into_iter().flat_map(|(_, messages)| messages).collect();
    Ok(CountedHistory { messages, looked: Some(looking.finish()), siblings })
}
