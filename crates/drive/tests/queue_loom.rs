//! The queue under every interleaving of its threads: no item and no wake-up is lost.

mod sync {
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "../src/queue.rs"]
#[allow(dead_code, missing_docs, unreachable_pub)]
mod queue;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Notify};
use queue::{Queue, Wake};

/// A wake-up as a byte in a socket: it stays until it is read.
struct Byte {
    notify: Notify,
    count: AtomicUsize,
}

impl Wake for Byte {
    fn wake(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.notify.notify();
    }
}

#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let queue = Arc::new(Queue::new(Byte { notify: Notify::new(), count: AtomicUsize::new(0) }));
        let producers: Vec<_> = (0..2)
            .map(|n| {
                let queue = queue.clone();
                loom::thread::spawn(move || assert!(queue.push(n)))
            })
            .collect();
        let mut taken = Vec::new();
        // The consumer sleeps until it is woken, clears the signal, takes the batch. A lost wake-up is a deadlock,
        // which the checker reports.
        while taken.len() < 2 {
            queue.waker().notify.wait();
            taken.extend(queue.drain());
        }
        for producer in producers {
            producer.join().unwrap();
        }
        taken.sort_unstable();
        assert_eq!(taken, [0, 1]);
        assert!(queue.waker().count.load(Ordering::SeqCst) <= 2);
    });
}

#[test]
fn a_burst_wakes_once() {
    loom::model(|| {
        let queue = Arc::new(Queue::new(Byte { notify: Notify::new(), count: AtomicUsize::new(0) }));
        let producer = {
            let queue = queue.clone();
            loom::thread::spawn(move || {
                queue.push(1);
                queue.push(2);
            })
        };
        producer.join().unwrap();
        assert_eq!(queue.waker().count.load(Ordering::SeqCst), 1);
        assert_eq!(queue.drain(), [1, 2]);
    });
}

#[test]
fn a_poke_wakes_beside_an_item() {
    loom::model(|| {
        let queue = Arc::new(Queue::new(Byte { notify: Notify::new(), count: AtomicUsize::new(0) }));
        let set = Arc::new(AtomicUsize::new(0));
        let (giver, other, flag) = (queue.clone(), queue.clone(), set.clone());
        let threads = [
            loom::thread::spawn(move || assert!(giver.push(1))),
            loom::thread::spawn(move || {
                flag.store(1, Ordering::SeqCst);
                assert!(other.poke());
            }),
        ];
        let (mut taken, mut seen) = (Vec::new(), 0);
        // What was set before a poke is seen after the wake-up of it, whether that was its own or that of the item.
        while taken.is_empty() || seen == 0 {
            queue.waker().notify.wait();
            taken.extend(queue.drain());
            seen = set.load(Ordering::SeqCst);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(taken, [1]);
        assert!(queue.waker().count.load(Ordering::SeqCst) <= 2);
        queue.close();
        assert!(!queue.poke());
    });
}

#[test]
fn a_closed_queue_takes_nothing() {
    loom::model(|| {
        let queue = Arc::new(Queue::new(Byte { notify: Notify::new(), count: AtomicUsize::new(0) }));
        let pushed = {
            let queue = queue.clone();
            loom::thread::spawn(move || queue.push(1))
        };
        queue.close();
        let accepted = pushed.join().unwrap();
        // Whoever was told that its item was taken either had it dropped by the close that followed, or never
        // pushed after it; nothing stays behind.
        assert!(queue.drain().is_empty());
        let _ = accepted;
        assert!(!queue.push(2));
    });
}
