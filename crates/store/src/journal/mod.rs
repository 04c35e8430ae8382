//! The journals of many runs in one file of SQLite, written by one thread.
//!
//! Lines are those of [`loopwright_machine::journal`], each with its sum chained to the line before: a store promises
//! to keep them in order, and never to change one. Runs hand their lines to the writer, which commits whatever has come
//! since its last commit at once; only who asks waits. A run belongs to one process at a time, as long as that lives.

mod delete;
mod lease;
mod read;
mod sessions;
mod snapshot_file;
mod writer;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;
use xxhash_rust::xxh3::xxh3_64;

use super::open::{Options, Place, Tables, open, store_error};
use loopwright_base::error::{Error, Result};
use loopwright_machine::journal::{Journal, ResumedRun, RunLabel, Snapshot, resume};

pub use read::{END, LabelledRun, ListedRun, RunSummary, StoredRun, find, labels, read, runs};
pub use sessions::Session;
pub use snapshot_file::SnapshotFile;

use lease::LeaseHolder;
use writer::{WriteItem, Writer};

/// The tables of journals. `run` is a hash of the run's name: no process has to ask for a number.
pub const TABLES: Tables = Tables {
    room: "journal",
    reads_from: 1,
    migrations: &[
        "CREATE TABLE journal_runs (
            run INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, begun INTEGER NOT NULL, model TEXT NOT NULL,
            prompt TEXT NOT NULL DEFAULT '', holder TEXT, stop TEXT, ended INTEGER, cost REAL, tokens INTEGER) STRICT;
        CREATE TABLE journal_lines (place INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL,
            line BLOB NOT NULL) STRICT;
        CREATE UNIQUE INDEX journal_lines_of ON journal_lines (run, seq);
        CREATE TABLE journal_saved (run INTEGER PRIMARY KEY, seq INTEGER NOT NULL, sum INTEGER NOT NULL,
            hash INTEGER NOT NULL, state BLOB NOT NULL) STRICT;",
        "CREATE TABLE journal_pieces (run INTEGER NOT NULL, first INTEGER NOT NULL, piece BLOB NOT NULL,
            PRIMARY KEY (run, first)) STRICT;",
        sessions::TABLE,
    ],
};

/// Stores that a process keeps open after their last run.
const MAX_KEPT_OPEN: usize = 8;

static OPEN: Mutex<Vec<Arc<Store>>> = Mutex::new(Vec::new());

/// A file of journals, open for writing.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    process: u32,
    writer: Writer,
    /// The connection for everything that is not written by runs.
    connection: Mutex<Connection>,
    holder: LeaseHolder,
}

/// The journal of one run in a store. Gives the run up when it is dropped.
#[derive(Debug)]
pub struct RunPlace {
    store: Arc<Store>,
    run: i64,
    seq: u64,
}

/// A handle that waits until the lines a run has handed over are stored.
#[derive(Clone, Debug)]
pub struct CommitHandle {
    store: Arc<Store>,
    run: i64,
}

impl CommitHandle {
    /// Waits until the lines are in the file; with `sync`, until they are on the disk.
    pub fn wait(&self, sync: bool) -> Result<()> {
        self.store.writer.wait(self.run, sync)
    }
}

/// A run that this process has claimed, and its lines.
#[derive(Debug)]
struct ClaimedRun {
    place: RunPlace,
    found: StoredRun,
}

impl Store {
    /// The store at `path`, which is made if need be. A process opens a file once, however often it is asked for.
    pub fn at(path: &Path) -> Result<Arc<Self>> {
        let process = std::process::id();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|store| store.process == process && store.is_at(path)) {
            let store = open.remove(at);
            open.push(Arc::clone(&store));
            return Ok(store);
        }
        let store = Arc::new(Self::open(path)?);
        open.push(Arc::clone(&store));
        let old = (open.len() > MAX_KEPT_OPEN).then(|| open.remove(0));
        drop(open);
        // Closing waits for what is still to be written: not while others look for theirs.
        drop(old);
        Ok(store)
    }

    /// The store at `path`, if this process has it open.
    pub fn open_store(path: &Path) -> Option<Arc<Self>> {
        let process = std::process::id();
        let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().find(|store| store.process == process && store.is_at(path)).map(Arc::clone)
    }

    /// Writes all waiting lines and closes all files, but those that runs hold.
    pub fn close_all() {
        let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
        for store in &open {
            store.flush();
        }
    }

    /// Closes the file at `path` as soon as no run needs it.
    pub fn close(path: &Path) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.iter().position(|store| store.is_at(path)).map(|at| open.remove(at));
        drop(open);
        drop(found);
    }

    fn open(path: &Path) -> Result<Self> {
        let options = Options::new(path);
        if options.path == Place::Nowhere {
            return Err(
                Error::usage("invalid_value", "a journal in memory is `journal=True`").hint("give the path of a file")
            );
        }
        // Another process may be making the file, so this one does first what may have to wait.
        let connection = open(&options, &[TABLES])?;
        let writer = Writer::start(open(&options, &[TABLES])?, path)?;
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // What processes that were killed have left behind.
        lease::sweep(&path);
        let holder = LeaseHolder::new(&path);
        Ok(Self { path, process: std::process::id(), writer, connection: Mutex::new(connection), holder })
    }

    /// Returns whether `path` is this very file; one that was deleted and made anew is another.
    fn is_at(&self, path: &Path) -> bool {
        let same_name = std::fs::canonicalize(path).is_ok_and(|path| path == self.path);
        same_name && self.writer.is_there(path)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store_error(&self, error: &rusqlite::Error) -> Error {
        store_error(error, &self.path.display().to_string())
    }

    /// A place for a new run named `name`.
    pub fn begin(self: &Arc<Self>, name: &str, model: &str) -> Result<RunPlace> {
        self.begin_in(name, model, None)
    }

    /// A place for a new run, which belongs to a session.
    pub fn begin_in(self: &Arc<Self>, name: &str, model: &str, session: Option<Session>) -> Result<RunPlace> {
        let run = number(name);
        let holder = self.holder.acquire(run)?;
        let (name, model) = (name.to_owned(), model.to_owned());
        self.writer.push(run, WriteItem::Begun { run, name, model, begun: now(), holder, session })?;
        Ok(RunPlace { store: Arc::clone(self), run, seq: 0 })
    }

    /// Resumes a run that broke off. A damaged one is not touched: its lines are returned instead.
    fn resume_run(self: &Arc<Self>, name: &str) -> Result<Result<ClaimedRun, Option<StoredRun>>> {
        let run = number(name);
        self.flush();
        for _ in 0..MAX_READS {
            self.check_free(run, name)?;
            let found = read::read_run(&self.connection(), &self.path, name, true)?;
            let found = found.ok_or_else(|| read::unknown(&self.connection(), name, &self.path))?;
            if found.damage.is_some() || found.is_damaged() {
                return Ok(Err(Some(found)));
            }
            let token = self.holder.acquire(run)?;
            if self.hold(run, &token, found.seq)? {
                let place = RunPlace { store: Arc::clone(self), run, seq: found.seq + 1 };
                return Ok(Ok(ClaimedRun { place, found }));
            }
            self.holder.release(run);
        }
        // Nobody has it: the number of its last line is another one each way it is asked for.
        self.check_free(run, name)?;
        Ok(Err(None))
    }

    fn check_free(&self, run: i64, name: &str) -> Result<()> {
        let holder = delete::holder_of(&self.connection(), run).map_err(|error| self.store_error(&error))?;
        match holder {
            Some(token) if self.holder.is_alive(run, &token) => Err(in_use(name)),
            _ => Ok(()),
        }
    }

    /// Records the holder of a run, if it is as it was read.
    fn hold(&self, run: i64, token: &str, seq: u64) -> Result<bool> {
        let held = || -> rusqlite::Result<bool> {
            let mut connection = self.connection();
            let moment = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let holder: Option<String> =
                moment.query_row("SELECT holder FROM journal_runs WHERE run = ?1", [run], |row| row.get(0))?;
            let last: i64 =
                moment.query_row("SELECT max(seq) FROM journal_lines WHERE run = ?1", [run], |row| row.get(0))?;
            if holder.is_some_and(|holder| holder != token && self.holder.is_alive(run, &holder))
                || last != seq.cast_signed()
            {
                return Ok(false);
            }
            moment.execute("UPDATE journal_runs SET holder = ?2 WHERE run = ?1", (run, token))?;
            moment.commit()?;
            Ok(true)
        };
        held().map_err(|error| self.store_error(&error))
    }

    /// Returns whether there is a run of that name.
    pub fn knows(&self, name: &str) -> Result<bool> {
        self.flush();
        let known = "SELECT count(*) > 0 FROM journal_runs WHERE name = ?1";
        self.connection().query_row(known, [name], |row| row.get(0)).map_err(|error| self.store_error(&error))
    }

    /// Imports a run from the lines of its journal, as far as they are whole. Returns its name.
    pub fn import(self: &Arc<Self>, text: &str) -> Result<String> {
        let mut journal = Journal::read(text)?;
        if self.knows(&journal.run)? {
            let message = format!("{} holds a run {:?} already", self.path.display(), journal.run);
            return Err(Error::usage("run_exists", message).hint("delete it first"));
        }
        let model = journal.machine.turn_mut().model.clone();
        let telling = RunSummary::of(&journal);
        let session = RunLabel::of(text.lines().next().unwrap_or_default()).and_then(|label| Session::of(&label));
        let mut place = self.begin_in(&journal.run, &model, session)?;
        // What a crash has cut stays outside; the lines behind it go on where it began.
        for line in journal.whole_lines(text) {
            place.append_line(line.as_bytes())?;
        }
        place.prompt(&telling.prompt)?;
        if let Some(stop) = telling.stop {
            place.end(&stop, telling.cost, telling.tokens)?;
        }
        place.commit_handle().wait(true)?;
        Ok(journal.run)
    }

    /// Waits until all lines that were handed over are in the file.
    pub fn flush(&self) {
        self.writer.flush();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.writer.stop();
        }
    }
}

impl RunPlace {
    /// Hands lines over, each with its line break.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.append_line(line)?;
        }
        Ok(())
    }

    fn append_line(&mut self, line: &[u8]) -> Result<()> {
        let line = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
        self.store.writer.push(self.run, WriteItem::Line { run: self.run, seq: self.seq, line })?;
        self.seq += 1;
        Ok(())
    }

    /// Sets the beginning of the prompt, for lists.
    pub fn prompt(&mut self, prompt: &str) -> Result<()> {
        self.store.writer.push(self.run, WriteItem::Prompt { run: self.run, prompt: prompt.to_owned() })
    }

    /// Sets the end of the run, for lists.
    pub fn end(&mut self, stop: &str, cost: Option<f64>, tokens: u64) -> Result<()> {
        let item = WriteItem::Ended { run: self.run, stop: stop.to_owned(), cost, tokens, ended: now() };
        self.store.writer.push(self.run, item)
    }

    /// Saves a snapshot of the run.
    pub fn save(&mut self, saved: Snapshot) -> Result<()> {
        let hash = xxh3_64(saved.state.as_bytes());
        self.store.writer.push(self.run, WriteItem::Saved { run: self.run, saved, hash })
    }

    /// A handle that waits until all lines handed over so far are stored.
    pub fn commit_handle(&self) -> CommitHandle {
        CommitHandle { store: Arc::clone(&self.store), run: self.run }
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        if self.store.process == std::process::id() {
            let _ = self
                .store
                .writer
                .push(self.run, WriteItem::Released { run: self.run, holder: self.store.holder.token() });
            self.store.holder.release(self.run);
        }
    }
}

/// Resumes a run of the store at `path`. A damaged store stays as it is: the lines before the damage are copied to a
/// new store beside it, and the run goes on there.
pub fn resume_run(path: &Path, name: &str) -> Result<(ResumedRun, RunPlace)> {
    let sound = match Store::at(path) {
        Ok(store) => store.resume_run(name)?,
        Err(error) if error.code == "damaged_store" => Err(None),
        Err(error) => return Err(error),
    };
    if let Ok(ClaimedRun { place, found }) = sound {
        let saved = found.state.is_some();
        return match found.restore() {
            Ok(continued) => Ok((continued, place)),
            // Another version may have saved it: the lines are what counts.
            Err(_) if saved => {
                let (text, _) = read(path, name, END)?;
                Ok((resume(Journal::read(&text)?)?, place))
            }
            Err(error) => Err(error),
        };
    }
    // Its lines may be whole where what finds them is not. What has ended needs no place to go on in.
    let (text, _) = read(path, name, END)?;
    resume(Journal::read(&text)?)?;
    let store = recovery_store(path)?;
    store.import(&text)?;
    match store.resume_run(name)? {
        Ok(ClaimedRun { place, found }) => Ok((found.restore()?, place)),
        Err(_) => Err(Error::internal("store_failed", "what was just written can't be read")),
    }
}

/// A new store beside one that is damaged.
fn recovery_store(path: &Path) -> Result<Arc<Store>> {
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    for number in 1_u32.. {
        let place = path.with_file_name(format!("{stem}-recovered-{number}.{suffix}"));
        match std::fs::File::create_new(&place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let code = match error.kind() {
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "read_only_store",
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "store_full",
                    _ => "store_unavailable",
                };
                let message = format!("{} can't be made: {error}", place.display());
                return Err(Error::usage(code, message).hint("check who may write in the folder"));
            }
            Ok(_) => return Store::at(&place),
        }
    }
    let message = format!("there is no free name beside {}", path.display());
    Err(Error::usage("store_unavailable", message).hint("move away the stores that were recovered before"))
}

/// Attempts at reading a run that another process resumes meanwhile.
const MAX_READS: u32 = 3;

/// The hash that stands for a run's name.
pub(super) fn number(name: &str) -> i64 {
    xxh3_64(name.as_bytes()).cast_signed()
}

fn in_use(name: &str) -> Error {
    Error::usage("journal_in_use", format!("another process goes on with the run {name:?}"))
        .hint("wait for its end, or end it")
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
