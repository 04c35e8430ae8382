//! Memory's part in work after a turn: queueing, claiming, ending, and its events in the audit.

use std::{
    sync::{MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::json;

use super::{Memory, TABLES, after::Turn, now};
use crate::{
    audit::{self, Event, EventFilter, EventScope, RecordedEvent},
    open::{self, Options, Place},
    work::{self, Enqueued, Job, LostRun, WorkItem, WorkState},
};
use loopwright_base::error::{Error, Result};

/// The time that queueing waits at most while a caller waits for an answer.
const QUEUE_TIMEOUT: Duration = Duration::from_millis(250);
/// The time that recording a run waits at most before the run starts.
const RECORD_TIMEOUT: Duration = Duration::from_millis(50);
/// The work of a turn, by rules.
pub const TURN: &str = "turn";
/// The work of reflecting on a turn.
pub const REFLECTION: &str = "reflection";
/// The work of consolidation.
pub const CONSOLIDATION: &str = "consolidation";
/// The work of syncing a file of preferences.
pub const FILE: &str = "file";

/// A connection for writes that must not wait.
pub(super) enum QueueConnection<'a> {
    Own(MutexGuard<'a, Option<Connection>>),
    Shared(MutexGuard<'a, Connection>),
}

impl QueueConnection<'_> {
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

/// The kinds of work that follow a turn, and their data.
fn work_of(turn: &Turn) -> Result<(Vec<&'static str>, String)> {
    let payload = serde_json::to_string(turn).map_err(|error| Error::internal("store_failed", error.to_string()))?;
    let mut kinds = vec![TURN];
    kinds.extend(turn.after.reflection.then_some(REFLECTION));
    Ok((kinds, payload))
}

impl Memory {
    /// The connection that work is queued with. It waits for other writers for a moment only, and never for what this
    /// process writes itself.
    fn queue(&self) -> Result<QueueConnection<'_>> {
        if self.place == Place::Nowhere {
            return Ok(QueueConnection::Shared(self.writing()?));
        }
        self.check_writable()?;
        let mut own = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() {
            let options = Options { path: self.place.clone(), read_only: false, patience: QUEUE_TIMEOUT };
            *own = Some(open::open(&options, &[TABLES, work::TABLES, audit::TABLES])?);
        }
        Ok(QueueConnection::Own(own))
    }

    /// Queues the work that follows a turn, before anything of it starts, and keeps its preferences at once;
    /// returns the numbers of its pieces. Queued work is not queued again. Its secrets were removed before
    /// ([`Turn::cleaned`]).
    pub fn queue_turn(&self, turn: &Turn) -> Result<Vec<i64>> {
        let (kinds, payload) = work_of(turn)?;
        self.enqueue(&kinds, &turn.run, &payload, (&turn.session, turn.user.as_deref()), Some(turn))
    }

    /// Records that a run begins whose journal is at `journal`, so that its turn is found if this process dies before
    /// it is queued; `instead`: the attempt before, which counts no longer. Waits for a moment only: `store_busy` means
    /// that it is to be tried again.
    pub fn expect_turn(&self, run: &str, instead: Option<&str>, journal: &str, about: &str) -> Result<()> {
        if self.place == Place::Nowhere {
            return Ok(());
        }
        let trouble = self.error_mapper();
        let busy = || {
            let message = format!("{} is being written", self.name);
            Error::usage("store_busy", message).hint("try again")
        };
        let since = Instant::now();
        while let Err(TryLockError::WouldBlock) = self.queue.try_lock() {
            if since.elapsed() > RECORD_TIMEOUT {
                return Err(busy());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut queue = self.queue()?;
        let connection = queue.connection().ok_or_else(no_queue)?;
        connection.busy_timeout(RECORD_TIMEOUT).map_err(&trouble)?;
        let noted = (|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work::record_run(&transaction, (run, instead), journal, about, now())?;
            transaction.commit()
        })();
        connection.busy_timeout(QUEUE_TIMEOUT).map_err(&trouble)?;
        noted.map_err(&trouble)
    }

    /// The runs of processes that are gone, whose turns may be missing.
    pub fn lost_turns(&self) -> Result<Vec<LostRun>> {
        let connection = self.writing()?;
        let trouble = self.error_mapper();
        work::forget_old_runs(&connection, now()).map_err(&trouble)?;
        work::lost_runs(&connection, now()).map_err(&trouble)
    }

    /// Queues the turn of a lost run, or forgets that there was one; returns whether no other process did before.
    pub fn settle_turn(&self, lost: &LostRun, turn: Option<&Turn>) -> Result<bool> {
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        if !work::settle(&transaction, &lost.run, Some(&lost.owner)).map_err(&trouble)? {
            return Ok(false);
        }
        if let Some(turn) = turn {
            let (kinds, payload) = work_of(turn)?;
            self.put(&transaction, &kinds, &payload, &turn.run, (&turn.session, turn.user.as_deref()))?;
            self.keep_wishes(&transaction, turn)?;
        }
        transaction.commit().map_err(&trouble)?;
        Ok(true)
    }

    fn enqueue(
        &self,
        kinds: &[&str],
        name: &str,
        payload: &str,
        (session, user): (&str, Option<&str>),
        turn: Option<&Turn>,
    ) -> Result<Vec<i64>> {
        let trouble = self.error_mapper();
        let mut queue = self.queue()?;
        let connection = queue.connection().ok_or_else(no_queue)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        work::settle(&transaction, name, None).map_err(&trouble)?;
        let (ids, full) = self.put(&transaction, kinds, payload, name, (session, user))?;
        turn.map_or(Ok(()), |turn| self.keep_wishes(&transaction, turn))?;
        transaction.commit().map_err(&trouble)?;
        if full {
            let message = format!("{} pieces of work wait already; more is not taken", work::MAX_QUEUED);
            return Err(Error::usage("queue_full", message)
                .hint("see what holds the work up: memory.work(\"failed\"), memory.work(\"queued\")"));
        }
        Ok(ids)
    }

    /// Puts work into the queue, and records it in the audit; returns whether some of it was refused.
    fn put(
        &self,
        transaction: &Transaction<'_>,
        kinds: &[&str],
        payload: &str,
        name: &str,
        (session, user): (&str, Option<&str>),
    ) -> Result<(Vec<i64>, bool)> {
        let trouble = self.error_mapper();
        let mut ids = Vec::new();
        let mut full = false;
        let time = now();
        for kind in kinds {
            match work::queue(transaction, kind, name, payload, time).map_err(&trouble)? {
                Enqueued::Queued(id) => ids.push(id),
                Enqueued::Full => full = true,
            }
        }
        let whose = EventScope { session, turn: Some(name), user };
        let kind = if full { "work_dropped" } else { "work_queued" };
        let detail = json!({"kinds": kinds, "ids": ids});
        audit::write(transaction, &whose, &event(kind, &detail)).map_err(&trouble)?;
        Ok((ids, full))
    }

    /// Claims the next piece of work, for so many seconds; `None` if nothing is due.
    pub fn claim(&self, seconds: f64) -> Result<Option<Job>> {
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let job = work::claim(&transaction, seconds, now()).map_err(&trouble)?;
        if let Some(job) = job.as_ref().filter(|job| job.resumed) {
            let detail = json!({"id": job.id, "kind": job.kind, "attempts": job.attempts});
            let whose = EventScope { session: &self.session, turn: Some(&job.name), user: None };
            audit::write(&transaction, &whose, &event("work_resumed", &detail)).map_err(&trouble)?;
        }
        transaction.commit().map_err(&trouble)?;
        Ok(job)
    }

    /// Marks work as failed; it is retried, unless it failed too often or never can succeed. Returns the new state;
    /// `None` if this process no longer held it.
    pub fn work_failed(&self, job: &Job, error: &str, for_good: bool) -> Result<Option<WorkState>> {
        let trouble = self.error_mapper();
        let mut connection = self.writing()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&trouble)?;
        let state = work::mark_failed(&transaction, job.id, job.attempts, error, for_good, now()).map_err(&trouble)?;
        if let Some(state) = state {
            let kind = if state == WorkState::Failed { "work_failed" } else { "work_retried" };
            let detail = json!({"id": job.id, "kind": job.kind, "attempts": job.attempts, "error": error});
            let whose = EventScope { session: &self.session, turn: Some(&job.name), user: None };
            audit::write(&transaction, &whose, &event(kind, &detail)).map_err(&trouble)?;
        }
        transaction.commit().map_err(&trouble)?;
        Ok(state)
    }

    /// Ends a piece of work in the transaction that stores its results; an error if this process no longer holds it.
    pub(super) fn end_work(
        &self,
        transaction: &Transaction<'_>,
        job: &Job,
        whose: &EventScope<'_>,
        since: f64,
    ) -> Result<()> {
        let trouble = self.error_mapper();
        let time = now();
        if !work::mark_done(transaction, job.id, job.attempts, time).map_err(&trouble)? {
            return Err(Error::usage("work_taken", format!("another process took up the work {}", job.id))
                .hint("nothing is to be done: what it does is kept"));
        }
        let detail =
            json!({"id": job.id, "kind": job.kind, "attempts": job.attempts, "seconds": (time - since).max(0.0)});
        audit::write(transaction, whose, &event("work_done", &detail)).map_err(&trouble)
    }

    /// The known work, oldest first; of ended work, the newest two hundred of each sort.
    pub fn work(&self, state: Option<WorkState>) -> Result<Vec<WorkItem>> {
        let connection = self.reading()?;
        work::list(&connection, state).map_err(self.error_mapper())
    }

    /// Seconds until the next piece of work is due; `None` if there is none.
    pub fn work_due(&self) -> Result<Option<f64>> {
        let connection = self.reading()?;
        let time = now();
        Ok(work::next_due(&connection, time).map_err(self.error_mapper())?.map(|due| (due - time).max(0.0)))
    }

    /// The events of the audit, oldest first.
    pub fn audit(&self, wanted: &EventFilter) -> Result<Vec<RecordedEvent>> {
        let connection = self.reading()?;
        audit::read(&connection, wanted).map_err(self.error_mapper())
    }

    /// Records an event in the audit.
    pub fn tell_audit(&self, whose: &EventScope<'_>, event: &Event) -> Result<()> {
        let connection = self.writing()?;
        audit::write(&connection, whose, event).map_err(self.error_mapper())
    }

    /// Queues consolidation if the last one is so many seconds ago; returns whether it did.
    pub fn queue_consolidation(&self, every: f64) -> Result<bool> {
        let last = self.consolidated_at()?.unwrap_or(0.0);
        if now() - last < every {
            return Ok(false);
        }
        // One for each last time: whoever asks twice, or in two processes, means the same.
        let name = format!("after {last:.3}");
        self.enqueue(&[CONSOLIDATION], &name, "{}", (&self.session, None), None)?;
        Ok(true)
    }
}

/// An event of now.
pub(super) fn event(kind: &str, detail: &serde_json::Value) -> Event {
    Event { at: now(), kind: kind.to_owned(), detail: detail.to_string() }
}
