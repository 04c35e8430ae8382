//! The writer of a store: it commits all items since its last commit at once.
//!
//! A thread writes, or a waiting caller that finds nobody writing. Handing an item over does not wait, unless so much
//! is waiting that memory would fill. A commit that fails ends the runs that had something in it, and no others.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::Session;
use crate::open::store_error;
use loopwright_base::error::{Error, Result};
use loopwright_machine::journal::Snapshot;

/// The time that an item waits for others, while nobody waits for it: what is lost with the process then has had no
/// effect.
const BATCH_DELAY: Duration = Duration::from_millis(2);
/// Polls of the queue before the thread has to be woken: waking it for each line costs more than writing that.
const POLLS: u32 = 25;
/// Bytes that may wait to be written.
const MAX_WAITING: usize = 64 << 20;
/// Bytes that are written without waiting for others.
const FULL_BATCH: usize = 1 << 20;

/// An item to be written, for a run.
#[derive(Debug)]
pub(super) enum WriteItem {
    Begun { run: i64, name: String, model: String, begun: i64, holder: String, session: Option<Session> },
    Line { run: i64, seq: u64, line: Vec<u8> },
    Prompt { run: i64, prompt: String },
    Ended { run: i64, stop: String, cost: Option<f64>, tokens: u64, ended: i64 },
    Saved { run: i64, saved: Snapshot, hash: u64 },
    Released { run: i64, holder: String },
}

impl WriteItem {
    fn bytes(&self) -> usize {
        let more = match self {
            Self::Line { line, .. } => line.len(),
            Self::Saved { saved, .. } => saved.state.len() + saved.piece.text.len(),
            _ => 0,
        };
        128 + more
    }
}

#[derive(Debug, Default)]
struct WriteQueue {
    items: Vec<(i64, WriteItem)>,
    /// The time at which the first item came.
    oldest: Option<Instant>,
    bytes: usize,
    /// The number of the last item that was handed over, counted from 1; below, those of the last committed and the
    /// last synced one.
    pushed: u64,
    committed: u64,
    synced: u64,
    /// The number of the item up to which somebody waits.
    wanted: u64,
    wanted_on_disk: u64,
    stopped: bool,
    /// The thread polls by itself.
    polling: bool,
    failed: BTreeMap<i64, Error>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<WriteQueue>,
    work: Condvar,
    done: Condvar,
    /// The connection: whoever has it writes, the thread, or a caller that waits and finds it free. Taken before the
    /// queue.
    connection: Mutex<Option<WriterConnection>>,
    name: String,
}

/// The connection, and whether its commits wait for the disk.
#[derive(Debug)]
struct WriterConnection {
    connection: Connection,
    sync: Option<bool>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, WriteQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread, and its queue.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The file that is written, whatever it is called by now.
    file: Option<(u64, u64)>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            connection: Mutex::new(Some(WriterConnection { connection, sync: None })),
            name: path.display().to_string(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("loopwright journal".to_owned())
            .spawn(move || write_all(&of_thread))
            .map_err(|error| Error::internal("store_failed", format!("no thread can be started: {error}")))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), file: identity(path) })
    }

    /// Returns whether the file at `path` is the one that is written.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        self.file.is_none() || identity(path) == self.file
    }

    /// Hands an item over. Fails if an earlier item of the run could not be written.
    pub(super) fn push(&self, run: i64, item: WriteItem) -> Result<()> {
        let mut queue = self.shared.queue();
        if let Some(error) = queue.failed.get(&run) {
            let error = error.clone();
            if matches!(item, WriteItem::Released { .. }) {
                queue.failed.remove(&run);
            }
            return Err(error);
        }
        while queue.bytes > MAX_WAITING {
            queue = self.shared.done.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.bytes += item.bytes();
        queue.pushed += 1;
        queue.items.push((run, item));
        if queue.oldest.is_none() {
            queue.oldest = Some(Instant::now());
        }
        if !queue.polling || queue.bytes > FULL_BATCH {
            queue.polling = true;
            self.shared.work.notify_one();
        }
        Ok(())
    }

    /// Waits until all items handed over are written, for `run` to go on.
    pub(super) fn wait(&self, run: i64, sync: bool) -> Result<()> {
        let queue = self.until_written(sync);
        queue.failed.get(&run).map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Waits until all items handed over are written, for a reader.
    pub(super) fn flush(&self) {
        drop(self.until_written(false));
    }

    fn until_written(&self, sync: bool) -> MutexGuard<'_, WriteQueue> {
        let mut queue = self.shared.queue();
        let wanted = queue.pushed;
        queue.wanted = queue.wanted.max(wanted);
        if sync {
            queue.wanted_on_disk = queue.wanted_on_disk.max(wanted);
        }
        let written = |queue: &WriteQueue| queue.committed >= wanted && (!sync || queue.synced >= wanted);
        if written(&queue) {
            return queue;
        }
        drop(queue);
        // Nobody is writing: whoever waits does it, for all, and no thread has to be woken.
        if let Ok(mut connection) = self.shared.connection.try_lock() {
            self.shared.write(&mut connection);
        }
        let mut queue = self.shared.queue();
        if !written(&queue) {
            self.shared.work.notify_one();
        }
        while !written(&queue) {
            queue = self.shared.done.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue
    }

    /// Writes all waiting items, and ends.
    pub(super) fn stop(&self) {
        self.shared.queue().stopped = true;
        self.shared.work.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        // The file is closed here, whoever else still knows of the writer.
        self.shared.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn write_all(shared: &Shared) {
    let (mut looks, mut seen) = (0, 0);
    loop {
        let mut queue = shared.queue();
        let since = Instant::now();
        while queue.wanted <= queue.committed && queue.bytes < FULL_BATCH && !queue.stopped {
            // By the age of what is there: what somebody waits for and writes, soon after, is written once.
            let age = queue.oldest.unwrap_or(since).elapsed();
            let Some(left) = BATCH_DELAY.checked_sub(age) else { break };
            queue = shared.work.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        looks = if queue.pushed == seen { looks + 1 } else { 0 };
        seen = queue.pushed;
        let idle = |queue: &WriteQueue| queue.items.is_empty() && queue.synced >= queue.wanted_on_disk;
        if idle(&queue) {
            if queue.stopped {
                return;
            }
            if queue.wanted > queue.committed {
                // Somebody who waits is writing it.
                drop(queue);
                drop(shared.connection.lock().unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            if looks >= POLLS {
                queue.polling = false;
                while idle(&queue) && !queue.stopped {
                    queue = shared.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                queue.polling = true;
                looks = 0;
            }
            continue;
        }
        drop(queue);
        shared.write(&mut shared.connection.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Shared {
    /// Commits all items since the last commit.
    fn write(&self, connection: &mut Option<WriterConnection>) {
        let Some(connection) = connection else { return };
        let mut queue = self.queue();
        let (through, sync) = (queue.pushed, queue.wanted_on_disk > queue.synced);
        if queue.items.is_empty() && !sync {
            return;
        }
        let mut items = std::mem::take(&mut queue.items);
        if !queue.failed.is_empty() {
            // What came while a line of the same run could not be written would leave a gap before it.
            items.retain(|(run, _)| !queue.failed.contains_key(run));
        }
        (queue.oldest, queue.bytes) = (None, 0);
        drop(queue);
        let failed = commit(connection, &items, sync, &self.name);
        let mut queue = self.queue();
        queue.committed = through;
        if sync {
            queue.synced = through;
        }
        queue.failed.extend(failed);
        self.done.notify_all();
    }
}

/// Writes items; returns the runs whose items could not be written.
fn commit(connection: &mut WriterConnection, items: &[(i64, WriteItem)], sync: bool, name: &str) -> Vec<(i64, Error)> {
    let Err(error) = commit_some(connection, items.iter().map(|(_, item)| item), sync) else { return Vec::new() };
    let mut runs: BTreeMap<i64, Vec<&WriteItem>> = BTreeMap::new();
    for (run, item) in items {
        runs.entry(*run).or_default().push(item);
    }
    if runs.len() == 1 {
        return runs.into_keys().map(|run| (run, store_error(&error, name))).collect();
    }
    // What is wrong with one run is no matter of the others.
    let each = runs.into_iter().filter_map(|(run, items)| {
        let error = commit_some(connection, items.into_iter(), sync).err()?;
        Some((run, store_error(&error, name)))
    });
    each.collect()
}

fn commit_some<'a>(
    writing: &mut WriterConnection,
    items: impl Iterator<Item = &'a WriteItem>,
    sync: bool,
) -> rusqlite::Result<()> {
    // Full: the log is on the disk when the commit returns, with all that was committed before.
    if writing.sync != Some(sync) {
        writing.sync = None;
        writing.connection.pragma_update(None, "synchronous", if sync { "full" } else { "normal" })?;
        writing.sync = Some(sync);
    }
    let connection = &writing.connection;
    // Each of these is kept, with all that is put: most commits hold a line or two, and reading the words of a
    // statement anew takes as long as writing one.
    step(connection, "BEGIN IMMEDIATE")?;
    let written = put_all(connection, items, sync).and_then(|()| step(connection, "COMMIT"));
    if written.is_err() && !connection.is_autocommit() {
        // What SQLite has not ended by itself. A rollback that fails leaves the error that led to it the one to tell.
        let _ = step(connection, "ROLLBACK");
    }
    written
}

fn step(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}

fn put_all<'a>(
    connection: &Connection,
    items: impl Iterator<Item = &'a WriteItem>,
    sync: bool,
) -> rusqlite::Result<()> {
    let mut changes = false;
    for item in items {
        put(connection, item)?;
        changes |= matches!(item, WriteItem::Line { .. });
    }
    if sync && !changes {
        // A commit that changes nothing syncs nothing; a new line always changes something.
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        connection.pragma_update(None, "user_version", (version + 1) & 0xFFFF)?;
    }
    Ok(())
}

fn put(moment: &Connection, item: &WriteItem) -> rusqlite::Result<()> {
    match item {
        WriteItem::Line { run, seq, line } => {
            let mut insert = moment.prepare_cached("INSERT INTO journal_lines (run, seq, line) VALUES (?1, ?2, ?3)")?;
            insert.execute((run, seq.cast_signed(), line))?;
        }
        WriteItem::Begun { run, name, model, begun, holder, session } => {
            let mut insert = moment.prepare_cached(
                "INSERT INTO journal_runs (run, name, begun, model, holder) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            insert.execute((run, name, begun, model, holder))?;
            if let Some(session) = session {
                session.insert(moment, *run)?;
            }
        }
        WriteItem::Prompt { run, prompt } => {
            let mut update = moment.prepare_cached("UPDATE journal_runs SET prompt = ?2 WHERE run = ?1")?;
            update.execute((run, prompt))?;
        }
        WriteItem::Ended { run, stop, cost, tokens, ended } => {
            let mut update = moment.prepare_cached(
                "UPDATE journal_runs SET stop = ?2, cost = ?3, tokens = ?4, ended = ?5 WHERE run = ?1",
            )?;
            update.execute((run, stop, cost, tokens.cast_signed(), ended))?;
            moment.prepare_cached("DELETE FROM journal_saved WHERE run = ?1")?.execute([run])?;
            moment.prepare_cached("DELETE FROM journal_pieces WHERE run = ?1")?.execute([run])?;
        }
        WriteItem::Saved { run, saved, hash } => {
            let piece = &saved.piece;
            if piece.first == 0 {
                moment.prepare_cached("DELETE FROM journal_pieces WHERE run = ?1")?.execute([run])?;
            }
            if piece.messages > 0 {
                let add = "INSERT INTO journal_pieces (run, first, piece) VALUES (?1, ?2, ?3)";
                moment.prepare_cached(add)?.execute((run, piece.first.cast_signed(), piece.text.as_bytes()))?;
            }
            let mut insert = moment.prepare_cached(
                "INSERT OR REPLACE INTO journal_saved (run, seq, sum, hash, state) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            let numbers = (saved.seq.cast_signed(), saved.sum.cast_signed(), hash.cast_signed());
            insert.execute((run, numbers.0, numbers.1, numbers.2, saved.state.as_bytes()))?;
        }
        WriteItem::Released { run, holder } => {
            let mut update =
                moment.prepare_cached("UPDATE journal_runs SET holder = NULL WHERE run = ?1 AND holder = ?2")?;
            update.execute((run, holder))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    let _ = path;
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::TABLES,
        open::{Options, open},
    };

    struct Place(std::path::PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("loopwright writer {name} {}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn writer(&self) -> Writer {
            let path = self.0.join("p.db");
            Writer::start(open(&Options::new(&path), &[TABLES]).unwrap(), &path).unwrap()
        }

        fn count(&self, of: &str) -> i64 {
            let connection = open(&Options::new(self.0.join("p.db")), &[TABLES]).unwrap();
            connection.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn begun(run: i64, name: &str) -> WriteItem {
        WriteItem::Begun {
            run,
            name: name.to_owned(),
            model: "m".to_owned(),
            begun: 0,
            holder: "h".to_owned(),
            session: None,
        }
    }

    fn line(run: i64, seq: u64) -> WriteItem {
        WriteItem::Line { run, seq, line: b"{}".to_vec() }
    }

    #[test]
    fn d46_what_can_not_be_written_ends_its_own_run_and_leaves_no_transaction_behind() {
        let place = Place::new("own run");
        let writer = place.writer();
        for (run, seq) in [(1, 0), (2, 0), (2, 0), (1, 1), (3, 0)] {
            writer.push(run, line(run, seq)).unwrap();
        }
        writer.wait(1, false).unwrap();
        writer.wait(3, false).unwrap();
        writer.wait(2, false).unwrap_err();
        assert_eq!(place.count("journal_lines"), 3, "nothing of the run that has failed");
        // A failure of one run alone ends its transaction, too; others are written as before.
        for sync in [false, true] {
            writer.push(4, line(1, 0)).unwrap();
            writer.wait(4, sync).unwrap_err();
            writer.push(4, WriteItem::Released { run: 4, holder: String::new() }).unwrap_err();
            writer.push(5, line(5, u64::from(sync))).unwrap();
            writer.wait(5, sync).unwrap();
        }
        writer.push(6, begun(6, "a name")).unwrap();
        writer.push(6, line(6, 0)).unwrap();
        writer.wait(6, true).unwrap();
        writer.stop();
        assert_eq!((place.count("journal_lines"), place.count("journal_runs")), (6, 1));
    }

    #[test]
    fn d46_behind_a_line_that_could_not_be_written_none_is() {
        let place = Place::new("gap");
        let writer = place.writer();
        writer.push(1, line(1, 0)).unwrap();
        writer.wait(1, false).unwrap();
        // Line 1 fails, being there twice; line 2 came while it was being written.
        writer.push(1, line(1, 0)).unwrap();
        {
            let mut connection = writer.shared.connection.lock().unwrap();
            let items = std::mem::take(&mut writer.shared.queue().items);
            let failed = commit(connection.as_mut().unwrap(), &items, false, "p.db");
            writer.push(1, line(1, 2)).unwrap();
            writer.push(2, line(2, 0)).unwrap();
            writer.shared.queue().failed.extend(failed);
        }
        writer.wait(1, false).unwrap_err();
        writer.wait(2, false).unwrap();
        assert_eq!(place.count("journal_lines WHERE run = 1"), 1);
        assert_eq!(place.count("journal_lines WHERE run = 2"), 1);
        writer.stop();
    }

    #[test]
    fn d46_what_was_written_before_is_on_the_disk_when_somebody_waits_for_that_alone() {
        let place = Place::new("disk");
        let writer = place.writer();
        let version = |place: &Place| -> i64 {
            let connection = open(&Options::new(place.0.join("p.db")), &[TABLES]).unwrap();
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
        };
        writer.push(1, line(1, 0)).unwrap();
        writer.wait(1, false).unwrap();
        // Nothing is left to write: a commit that changes something is what syncs.
        writer.wait(1, true).unwrap();
        assert_eq!(version(&place), 1);
        writer.push(1, line(1, 1)).unwrap();
        writer.wait(1, true).unwrap();
        assert_eq!(version(&place), 1, "the line is change enough");
        writer.push(1, WriteItem::Released { run: 1, holder: String::new() }).unwrap();
        writer.wait(1, true).unwrap();
        assert_eq!(version(&place), 2, "a change of nothing may leave all pages as they are");
        writer.stop();
    }

    #[test]
    fn d46_what_nobody_waits_for_is_written_all_the_same() {
        let place = Place::new("nobody");
        let writer = place.writer();
        for seq in 0..3 {
            writer.push(1, line(1, seq)).unwrap();
            let until = Instant::now() + Duration::from_secs(20);
            let wanted = i64::try_from(seq).unwrap() + 1;
            while place.count("journal_lines") < wanted {
                assert!(Instant::now() < until, "the thread writes by itself");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        writer.stop();
    }
}
