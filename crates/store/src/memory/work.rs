//! Memory's part in work after a turn: queueing it, taking it, ending it, and what the audit says of it.

use std::{
    sync::{MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::json;

use super::{Memory, TABLES, after::Turn, now};
use crate::{
    audit::{self, Event, Kept, Wanted, Whose},
    open::{self, Options, Place},
    work::{self, Item, Job, Lost, State, Taken},
};
use loopwright_base::error::{Error, Result};

/// Who waits for an answer waits no longer than this for work to be queued.
const PATIENCE: Duration = Duration::from_millis(250);
/// Who is about to start a run waits no longer than this for it to be noted down.
const BRIEFLY: Duration = Duration::from_millis(50);
/// The work of a turn by rules.
pub const TURN: &str = "turn";
/// The work of a turn that looks back on it.
pub const REFLECTION: &str = "reflection";
/// Tidying up.
pub const CONSOLIDATION: &str = "consolidation";
/// Keeping a file of preferences in step.
pub const FILE: &str = "file";

/// A connection for what must not wait.
pub(super) enum Queue<'a> {
    Own(MutexGuard<'a, Option<Connection>>),
    Shared(MutexGuard<'a, Connection>),
}

impl Queue<'_> {
    fn connection(&mut self) -> Option<&mut Connection> {
        match self {
            Self::Own(connection) => connection.as_mut(),
            Self::Shared(connection) => Some(connection),
        }
    }
}

fn no_queue() -> Error {
    Error::internal("store_failed", "the queue has no connection")
}

/// What follows a turn, and all it needs.
fn work_of(turn: &Turn) -> Result<(Vec<&'static str>, String)> {
    let payload = serde_json::to_string(turn).map_err(|error| Error::internal("store_failed", error.to_string()))?;
    let mut kinds = vec![TURN];
    kinds.extend(turn.after.reflection.then_some(REFLECTION));
    Ok((kinds, payload))
}

impl Memory {
    /// The connection that work is queued with. It waits for other writers for a moment only, and never for what this
    /// process writes itself.
    fn queue(&self) -> Result<Queue<'_>> {
        if self.place == Place::Nowhere {
            return Ok(Queue::Shared(self.writing()?));
        }
        self.check_writable()?;
        let mut own = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() {
            let options = Options { path: self.place.clone(), read_only: false, patience: PATIENCE };
            *own = Some(open::open(&options, &[TABLES, work::TABLES, audit::TABLES])?);
        }
        Ok(Queue::Own(own))
    }

    /// Queues the work that is to follow a turn, before anything of it starts; gives the numbers of its pieces. What is
    /// queued already is not queued again. Its secrets were taken out before ([`Turn::cleaned`]).
    pub fn queue_turn(&self, turn: &Turn) -> Result<Vec<i64>> {
        let (kinds, payload) = work_of(turn)?;
        self.enqueue(&kinds, &turn.run, &payload, &turn.session, turn.user.as_deref())
    }

    /// Notes down that a run begins whose journal is at `journal`, so that its turn is found if this process dies before
    /// it is queued; `instead`: the attempt before, which counts no longer. Waits for a moment only: `store_busy` means
    /// that it is to be tried again.
    pub fn expect_turn(&self, run: &str, instead: Option<&str>, journal: &str, about: &str) -> Result<()> {
        if self.place == Place::Nowhere {
            return Ok(());
        }
        let trouble = self.trouble();
        let busy = || {
            let message = format!("{} is being written", self.name);
            Error::usage("store_busy", message).hint("try again")
        };
        let since = Instant::now();
        while let Err(TryLockError::WouldBlock) = self.queue.try_lock() {
            if since.elapsed() > BRIEFLY {
                return Err(busy());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut queue = self.queue()?;
        let connection = queue.connection().ok_or_else(no_queue)?;
        connection.busy_timeout(BRIEFLY).map_err(&trouble)?;
        let noted = (|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work::expect(&transaction, (run, instead), journal, about, now())?;
            transaction.commit()
        })();
        connection.busy_timeout(PATIENCE).map_err(&trouble)?;
        noted.map_err(&trouble)
    }

    /// The runs of processes that are gone, whose turns may be missing.
    pub fn lost_turns(&self) -> Result<Vec<Lost>> {
        let connection = self.writing()?;
        let trouble = self.trouble();
        work::let_go(&connection, now()).map_err(&trouble)?;
        work::lost(&connection, now()).map_err(&trouble)
    }

    /// Queues the turn of a lost run, or forgets that there was one; whether nobody else did before.
    pub fn settle_turn(&self, lost: &Lost, turn: Option<&Turn>) -> Result<bool> {
        let trouble = self.trouble();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        if !work::settled(&transaction, &lost.run, Some(&lost.owner)).map_err(&trouble)? {
            return Ok(false);
        }
        if let Some(turn) = turn {
            let (kinds, payload) = work_of(turn)?;
            self.put(&transaction, &kinds, &payload, &turn.run, (&turn.session, turn.user.as_deref()))?;
        }
        transaction.commit().map_err(&trouble)?;
        Ok(true)
    }

    fn enqueue(
        &self,
        kinds: &[&str],
        name: &str,
        payload: &str,
        session: &str,
        user: Option<&str>,
    ) -> Result<Vec<i64>> {
        let trouble = self.trouble();
        let mut queue = self.queue()?;
        let connection = queue.connection().ok_or_else(no_queue)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        work::settled(&transaction, name, None).map_err(&trouble)?;
        let (ids, full) = self.put(&transaction, kinds, payload, name, (session, user))?;
        transaction.commit().map_err(&trouble)?;
        if full {
            let message = format!("{} pieces of work wait already; more is not taken", work::MOST_QUEUED);
            return Err(Error::usage("queue_full", message)
                .hint("see what holds the work up: memory.work(\"failed\"), memory.work(\"queued\")"));
        }
        Ok(ids)
    }

    /// Puts work into the queue, and tells the audit; whether some of it was not taken.
    fn put(
        &self,
        transaction: &Transaction<'_>,
        kinds: &[&str],
        payload: &str,
        name: &str,
        (session, user): (&str, Option<&str>),
    ) -> Result<(Vec<i64>, bool)> {
        let trouble = self.trouble();
        let mut ids = Vec::new();
        let mut full = false;
        let time = now();
        for kind in kinds {
            match work::queue(transaction, kind, name, payload, time).map_err(&trouble)? {
                Taken::Queued(id) => ids.push(id),
                Taken::Full => full = true,
            }
        }
        let whose = Whose { session, turn: Some(name), user };
        let told = if full { "work_dropped" } else { "work_queued" };
        let detail = json!({"kinds": kinds, "ids": ids});
        audit::write(transaction, &whose, &event(told, &detail)).map_err(&trouble)?;
        Ok((ids, full))
    }

    /// Takes the next piece of work, for so many seconds; `None` if nothing is due.
    pub fn claim(&self, seconds: f64) -> Result<Option<Job>> {
        let trouble = self.trouble();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let job = work::claim(&transaction, seconds, now()).map_err(&trouble)?;
        if let Some(job) = job.as_ref().filter(|job| job.resumed) {
            let detail = json!({"id": job.id, "kind": job.kind, "attempts": job.attempts});
            let whose = Whose { session: &self.session, turn: Some(&job.name), user: None };
            audit::write(&transaction, &whose, &event("work_resumed", &detail)).map_err(&trouble)?;
        }
        transaction.commit().map_err(&trouble)?;
        Ok(job)
    }

    /// Work failed; it will be tried again, unless it was tried often enough or never can succeed. Gives where it stands
    /// then; `None` if this process no longer held it.
    pub fn work_failed(&self, job: &Job, error: &str, for_good: bool) -> Result<Option<State>> {
        let trouble = self.trouble();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let state = work::failed(&transaction, job.id, job.attempts, error, for_good, now()).map_err(&trouble)?;
        if let Some(state) = state {
            let told = if state == State::Failed { "work_failed" } else { "work_retried" };
            let detail = json!({"id": job.id, "kind": job.kind, "attempts": job.attempts, "error": error});
            let whose = Whose { session: &self.session, turn: Some(&job.name), user: None };
            audit::write(&transaction, &whose, &event(told, &detail)).map_err(&trouble)?;
        }
        transaction.commit().map_err(&trouble)?;
        Ok(state)
    }

    /// Ends a piece of work in the transaction that keeps what came of it; an error if this process no longer holds it.
    pub(super) fn end_work(
        &self,
        transaction: &Transaction<'_>,
        job: &Job,
        whose: &Whose<'_>,
        since: f64,
    ) -> Result<()> {
        let trouble = self.trouble();
        let time = now();
        if !work::done(transaction, job.id, job.attempts, time).map_err(&trouble)? {
            return Err(Error::usage("work_taken", format!("another process took up the work {}", job.id))
                .hint("nothing is to be done: what it does is kept"));
        }
        let detail =
            json!({"id": job.id, "kind": job.kind, "attempts": job.attempts, "seconds": (time - since).max(0.0)});
        audit::write(transaction, whose, &event("work_done", &detail)).map_err(&trouble)
    }

    /// The work that is known, oldest first; of what ended, the newest two hundred of each sort.
    pub fn work(&self, state: Option<State>) -> Result<Vec<Item>> {
        let connection = self.reading()?;
        work::list(&connection, state).map_err(self.trouble())
    }

    /// Seconds until the next piece of work is due; `None` if there is none.
    pub fn work_due(&self) -> Result<Option<f64>> {
        let connection = self.reading()?;
        let time = now();
        Ok(work::next_due(&connection, time).map_err(self.trouble())?.map(|due| (due - time).max(0.0)))
    }

    /// What the audit holds, oldest first.
    pub fn audit(&self, wanted: &Wanted) -> Result<Vec<Kept>> {
        let connection = self.reading()?;
        audit::read(&connection, wanted).map_err(self.trouble())
    }

    /// Tells the audit of something.
    pub fn tell_audit(&self, whose: &Whose<'_>, told: &Event) -> Result<()> {
        let connection = self.writing()?;
        audit::write(&connection, whose, told).map_err(self.trouble())
    }

    /// Queues tidying up if the last time is so many seconds ago; whether it did.
    pub fn queue_consolidation(&self, every: f64) -> Result<bool> {
        let last = self.consolidated_at()?.unwrap_or(0.0);
        if now() - last < every {
            return Ok(false);
        }
        // One for each last time: whoever asks twice, or in two processes, means the same.
        let name = format!("after {last:.3}");
        self.enqueue(&[CONSOLIDATION], &name, "{}", &self.session, None)?;
        Ok(true)
    }
}

/// An event of now.
pub(super) fn event(kind: &str, detail: &serde_json::Value) -> Event {
    Event { at: now(), kind: kind.to_owned(), detail: detail.to_string() }
}
