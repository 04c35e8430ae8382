//! Work that may be done piece by piece: a plan that pauses, and goes on when there is time.
//!
//! A plan is written once, as a future that asks a [`Hand`] for counts and tells it what it has done. One hand answers
//! at once, so that the plan is made in one go; the other lays questions on a desk and pauses when its share is used
//! up. No runtime is needed: whoever holds the work polls it. What comes out is the same either way.

use std::{
    fmt,
    future::{Future, ready},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use super::count::Count;
use loopwright_base::{
    error::{Error, Result},
    message::Message,
};

/// Who counts for a plan, and says when it pauses.
pub(super) trait Hand {
    /// Tokens of a message.
    fn message(&mut self, message: &Arc<Message>) -> impl Future<Output = usize>;

    /// Tokens of a text.
    fn text(&mut self, text: &str) -> impl Future<Output = usize>;

    /// So much was done, in nanoseconds or about: the place to pause.
    fn pause(&mut self, work: usize) -> impl Future<Output = ()>;
}

/// Counts when asked, and never pauses.
pub(super) struct AtOnce<'a>(pub(super) &'a mut dyn Count);

impl Hand for AtOnce<'_> {
    fn message(&mut self, message: &Arc<Message>) -> impl Future<Output = usize> {
        ready(self.0.message(message))
    }

    fn text(&mut self, text: &str) -> impl Future<Output = usize> {
        ready(self.0.text(text))
    }

    fn pause(&mut self, _work: usize) -> impl Future<Output = ()> {
        ready(())
    }
}

/// What comes of work whose hand never pauses.
pub(super) fn at_once<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(Error::internal("work_paused", "work that nobody goes on with has paused")),
    }
}

/// Where a plan and whoever goes on with it meet.
#[derive(Clone, Default)]
pub(super) struct Desk(Arc<Mutex<Laid>>);

#[derive(Default)]
struct Laid {
    /// Work that may be done before the next pause, …
    left: usize,
    /// … and what was done so far.
    done: usize,
    asked: Option<Asked>,
    answer: usize,
}

enum Asked {
    Message(Arc<Message>),
    Text(String),
}

impl Desk {
    fn look(&self) -> MutexGuard<'_, Laid> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, asked: Asked) -> usize {
        self.look().asked = Some(asked);
        Once(false).await;
        self.look().answer
    }
}

impl Hand for Desk {
    fn message(&mut self, message: &Arc<Message>) -> impl Future<Output = usize> {
        self.ask(Asked::Message(message.clone()))
    }

    fn text(&mut self, text: &str) -> impl Future<Output = usize> {
        self.ask(Asked::Text(text.to_owned()))
    }

    fn pause(&mut self, work: usize) -> impl Future<Output = ()> {
        let mut laid = self.look();
        laid.done = laid.done.saturating_add(work);
        let goes_on = laid.left > work;
        laid.left = laid.left.saturating_sub(work);
        Once(goes_on)
    }
}

/// Is not ready the first time, unless it says otherwise.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

type Work<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Work that somebody goes on with, a piece at a time.
pub(super) struct Pieces<T> {
    desk: Desk,
    // Only ever looked at by whoever holds it alone: the lock makes it fit for sharing.
    work: Mutex<Option<Work<T>>>,
    done: Option<Result<T>>,
}

impl<T> Pieces<T> {
    pub(super) fn new<W: Future<Output = Result<T>> + Send + 'static>(begin: impl FnOnce(Desk) -> W) -> Self {
        let desk = Desk::default();
        let work: Work<T> = Box::pin(begin(desk.clone()));
        Self { desk, work: Mutex::new(Some(work)), done: None }
    }

    /// What was done so far.
    pub(super) fn spent(&self) -> usize {
        self.desk.look().done
    }

    /// Does about so much more of it.
    pub(super) fn go_on(&mut self, much: usize, count: &mut dyn Count) {
        let slot = self.work.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(work) = slot else { return };
        self.desk.look().left = much;
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                self.done = Some(done);
                *slot = None;
                return;
            }
            let asked = self.desk.look().asked.take();
            let answer = match asked {
                Some(Asked::Message(message)) => count.message(&message),
                Some(Asked::Text(text)) => count.text(&text),
                None => return,
            };
            self.desk.look().answer = answer;
        }
    }

    /// Does the rest of it.
    pub(super) fn finish(mut self, count: &mut dyn Count) -> Result<T> {
        self.go_on(usize::MAX, count);
        self.done.unwrap_or_else(|| Err(Error::internal("work_paused", "work that was to be done has paused")))
    }
}

impl<T> fmt::Debug for Pieces<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").field("done", &self.done.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BytesPerFour;

    async fn work(mut hand: impl Hand) -> Result<usize> {
        let mut sum = 0;
        for number in 0..10 {
            sum += hand.text(&"x".repeat(4 * number)).await;
            hand.pause(10).await;
        }
        Ok(sum + hand.message(&Arc::new(Message::user("12345678"))).await)
    }

    #[test]
    fn pieces_give_what_one_go_gives() {
        let whole = at_once(work(AtOnce(&mut BytesPerFour))).unwrap();
        for much in [1, 25, 1_000] {
            let mut pieces = Pieces::new(work);
            let mut times = 0;
            while pieces.done.is_none() {
                pieces.go_on(much, &mut BytesPerFour);
                times += 1;
            }
            assert_eq!(pieces.spent(), 100);
            assert_eq!(times, [11, 4, 1][usize::from(much > 1) + usize::from(much > 100)]);
            assert_eq!(pieces.finish(&mut BytesPerFour).unwrap(), whole);
        }
        assert_eq!(Pieces::new(work).finish(&mut BytesPerFour).unwrap(), whole);
    }
}
