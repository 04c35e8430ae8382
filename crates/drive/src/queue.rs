//! The queue between the threads that do the I/O and the one that steps the machines.
//!
//! Any number of producers push plain data; one consumer takes all of it at once. A push wakes the consumer only if the
//! queue was empty, so that a burst costs one wake-up; no wake-up is ever lost (`crates/drive/tests/queue_loom.rs`
//! shows it for every interleaving).

use super::sync::{Condvar, Mutex, MutexGuard};

/// The way to wake a consumer that waits elsewhere (in an event loop). The call is made without any lock held.
pub trait Wake {
    /// Wakes the consumer: an item came into an empty queue.
    fn wake(&self);
}

/// A consumer that only ever waits in [`Queue::wait`].
#[derive(Debug, Default)]
pub struct NoWake;

impl Wake for NoWake {
    fn wake(&self) {}
}

#[derive(Debug)]
struct QueueState<T> {
    items: Vec<T>,
    /// A wake-up without an item, which the consumer has not taken yet.
    poked: bool,
    closed: bool,
    /// Consumers that wait in [`Queue::wait`]. Where nobody does, nobody need be woken, which is a call of the system
    /// each time.
    waiting: usize,
}

impl<T> QueueState<T> {
    /// Whether there is an item or a wake-up that the consumer has not taken yet.
    fn is_told(&self) -> bool {
        self.poked || !self.items.is_empty()
    }
}

/// A queue of many producers and one consumer, which takes whole batches.
#[derive(Debug)]
pub struct Queue<T, W> {
    state: Mutex<QueueState<T>>,
    arrived: Condvar,
    waker: W,
}

impl<T, W: Wake> Queue<T, W> {
    /// An empty queue.
    pub fn new(waker: W) -> Self {
        Self {
            state: Mutex::new(QueueState { items: Vec::new(), poked: false, closed: false, waiting: 0 }),
            arrived: Condvar::new(),
            waker,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        // A producer that panicked left the items whole: pushing is one step.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds an item; false (and the item is gone) once the queue is closed.
    pub fn push(&self, item: T) -> bool {
        self.tell(|state| state.items.push(item))
    }

    /// Wakes the consumer without an item; false once the queue is closed. Takes no memory, which in a thread that is
    /// new costs far more than all else here.
    pub fn poke(&self) -> bool {
        self.tell(|state| state.poked = true)
    }

    fn tell(&self, what: impl FnOnce(&mut QueueState<T>)) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        let was_told = state.is_told();
        what(&mut state);
        let waiting = state.waiting > 0;
        drop(state);
        if !was_told {
            if waiting {
                self.arrived.notify_one();
            }
            self.waker.wake();
        }
        true
    }

    /// Takes all items.
    pub fn drain(&self) -> Vec<T> {
        let mut state = self.lock();
        state.poked = false;
        std::mem::take(&mut state.items)
    }

    /// Closes the queue: no item is taken any more; those inside are dropped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let items = std::mem::take(&mut state.items);
        drop(state);
        drop(items);
        self.arrived.notify_one();
    }

    /// The waker of the queue.
    pub const fn waker(&self) -> &W {
        &self.waker
    }

    /// Blocks until there are items, somebody pokes, the queue is closed or the time is over; may also return early, so
    /// the caller looks for itself.
    pub fn wait(&self, most: std::time::Duration) {
        let mut state = self.lock();
        if !state.is_told() && !state.closed {
            state.waiting += 1;
            let woken = self.arrived.wait_timeout(state, most);
            let (mut state, _) = woken.unwrap_or_else(std::sync::PoisonError::into_inner);
            state.waiting -= 1;
        }
    }
}
