//! A history looked at: what each message costs, and what a plan wants to know of it.
//!
//! Messages are looked at one by one and in any order, so several workers share a long history. What comes out is the
//! same whoever looks.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::{count::Count, facts::Facts, policy::Policy};
use loopwright_base::{
    message::{Block, Message},
    workers::Workers,
};

/// What was seen of messages, in order.
#[derive(Debug, Default)]
pub struct Looked {
    /// Nothing where they were known.
    pub(super) counts: Vec<usize>,
    pub(super) facts: Vec<Facts>,
}

impl Looked {
    fn with_capacity(messages: usize) -> Self {
        Self { counts: Vec::with_capacity(messages), facts: Vec::with_capacity(messages) }
    }

    /// Looks at a message that follows those before. What it holds is at hand when it has just been counted.
    fn add(&mut self, message: &Message, reads: bool, count: Option<&mut dyn Count>) {
        if let Some(count) = count {
            self.counts.push(count.message(message));
        }
        self.facts.push(if reads { Facts::of(message) } else { Facts::of_old(message) });
    }
}

/// A look at a history that may begin before all of it is there, by several at the same time.
#[derive(Debug)]
pub struct Looking {
    oldest: usize,
    done: Mutex<Vec<(usize, Looked)>>,
}

impl Looking {
    /// At a history of so many messages, which are to be planned by `policy`.
    pub const fn new(messages: usize, policy: &Policy) -> Self {
        Self { oldest: messages.saturating_sub(policy.attention), done: Mutex::new(Vec::new()) }
    }

    /// Looks at some of them, which begin with message `first`, and counts them unless that is known.
    pub fn take(&self, first: usize, messages: &[Arc<Message>], mut count: Option<&mut dyn Count>) {
        let mut looked = Looked::with_capacity(messages.len());
        for (at, message) in messages.iter().enumerate() {
            let count = count.as_deref_mut().map(|count| count as &mut dyn Count);
            looked.add(message, first + at >= self.oldest, count);
        }
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push((first, looked));
    }

    /// What was seen of all.
    pub fn finish(self) -> Looked {
        let mut done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(first, _)| *first);
        if done.len() == 1 {
            return done.pop().map(|(_, looked)| looked).unwrap_or_default();
        }
        let mut all = Looked::with_capacity(done.iter().map(|(_, looked)| looked.facts.len()).sum());
        for (_, mut looked) in done {
            all.counts.append(&mut looked.counts);
            all.facts.append(&mut looked.facts);
        }
        all
    }
}

/// At most so many messages are taken in one go, …
const MOST: usize = 64;
/// … and where there are few, each takes some as often as this.
const TURNS: usize = 8;
/// What a message costs beside its text, in bytes of text.
const MESSAGE: usize = 64;
/// Less than this is looked at sooner than a thread begins.
pub const WORTH: usize = 256 << 10;

/// Looks at all messages, and counts them where `count` is given. Of the newest outputs are read.
pub(super) fn look(
    messages: &[Arc<Message>],
    policy: &Policy,
    mut count: Option<&mut dyn Count>,
    workers: &dyn Workers,
) -> Looked {
    let looking = Looking::new(messages.len(), policy);
    let many = workers.count().min(messages.len());
    if many > 1 && is_worth_it(messages) {
        match &mut count {
            None => {
                share(&looking, messages, (0..many).map(|_| None).collect(), workers);
                return looking.finish();
            }
            Some(count) => {
                let parts = count.parts(many);
                if !parts.is_empty() {
                    share(&looking, messages, parts.into_iter().map(Some).collect(), workers);
                    count.join();
                    return looking.finish();
                }
            }
        }
    }
    looking.take(0, messages, count);
    looking.finish()
}

/// Whether the messages hold so much that several are faster.
fn is_worth_it(messages: &[Arc<Message>]) -> bool {
    let mut sum = 0_usize;
    messages.iter().any(|message| {
        sum = sum.saturating_add(weight(message));
        sum >= WORTH
    })
}

/// What looking at a message takes, in bytes of text.
pub fn weight(message: &Message) -> usize {
    message.content.iter().map(bytes).fold(MESSAGE, usize::saturating_add)
}

fn bytes(block: &Block) -> usize {
    match block {
        Block::Text(text) => text.text.len(),
        Block::ToolUse(call) => call.arguments_text().len(),
        Block::ToolResult(result) => {
            let part = |part: &Block| if let Block::Text(text) = part { text.text.len() } else { 0 };
            result.content.iter().map(part).sum()
        }
        _ => 0,
    }
}

type Part<'a> = Option<&'a mut (dyn Count + Send)>;

/// Each worker takes the next messages that nobody has taken, until there are none.
fn share(looking: &Looking, messages: &[Arc<Message>], parts: Vec<Part<'_>>, workers: &dyn Workers) {
    let step = (messages.len() / (parts.len() * TURNS).max(1)).clamp(1, MOST);
    let next = AtomicUsize::new(0);
    let parts: Vec<Mutex<Part<'_>>> = parts.into_iter().map(Mutex::new).collect();
    workers.run(&|number| {
        let Some(part) = parts.get(number) else { return };
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let first = next.fetch_add(step, Ordering::Relaxed);
            let own = messages.get(first..).unwrap_or_default();
            let own = own.get(..step).unwrap_or(own);
            if own.is_empty() {
                return;
            }
            looking.take(first, own, part.as_deref_mut().map(|count| count as &mut dyn Count));
        }
    });
}
