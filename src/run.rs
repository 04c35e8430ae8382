//! A run as the drivers of the package use it: a machine, its clock and its journal.

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{exceptions::PyOSError, prelude::*};

use super::{clock::Clock, convert, errors, history, machine, messages::json_of, outcome::Ended};
use loopwright_base::{error::Error, json::Raw};
use loopwright_drive::own::scrub_event;
use loopwright_machine::{
    Command, Event, EventKind, MachineConfig, Notice, Time, Tree,
    journal::{self, Change, Journal, ResumedRun, Snapshot},
    turn::RecalledHit,
};
use loopwright_store::journal::{self as store, CommitHandle, RunPlace, RunSummary, Session, SnapshotFile, Store};

struct RunInner {
    run: journal::Run,
    /// The notices, with their times, for whoever keeps them.
    notices: Option<Vec<(f64, Notice)>>,
    /// The memories that were recalled.
    recalled: Vec<RecalledHit>,
    file: Option<Arc<File>>,
    /// The snapshot of a journal in a file.
    beside: Option<SnapshotFile>,
    kept: Option<Vec<u8>>,
    stored: Option<RunPlace>,
    saving: SaveSchedule,
}

/// The place of the journal.
enum Sink {
    Nowhere,
    Memory,
    File(Arc<File>, SnapshotFile),
    Store(RunPlace),
}

/// The counters that decide when a run is saved.
#[derive(Default)]
struct SaveSchedule {
    /// Events and bytes of lines since the last time, and the bytes that the state took.
    since: (u64, usize),
    saved: usize,
    /// Compactions of long histories until then.
    compactions: usize,
}

/// Between two savings a run writes so many events and bytes, and half as many bytes as its state took; but it is saved
/// when a long history was compacted, which goes through all of it.
const EVENTS_BETWEEN: u64 = 256;
const BYTES_BETWEEN: usize = 256 << 10;

/// A machine, its clock and its journal.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Run {
    state: Mutex<RunInner>,
    clock: Clock,
}

#[pymethods]
impl Run {
    /// `journal`: a path to write to (appending lines as they come, in a new file), `store`: one of a file of many
    /// journals, `keep`: whether it is kept in memory. `about`: JSON text that stands in the journal's first line.
    /// `released`: what a supervisor has let through before.
    #[new]
    #[pyo3(signature = (id, config, *, journal=None, keep=false, about=None, store=None, released=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        id: &str,
        config: &machine::MachineConfig,
        journal: Option<&str>,
        keep: bool,
        about: Option<&str>,
        store: Option<&str>,
        released: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let mut config = seeded(id, &config.0);
        if let (Some(released), Some(supervisor)) = (released, &mut config.turn_mut().roles.supervisor) {
            supervisor.released.extend(released);
        }
        let sink = sink(py, id, &config, journal, store, keep, about)?;
        let log = !matches!(sink, Sink::Nowhere);
        let run = journal::Run::about(id, config, log, raw(about)?);
        Ok(Self::of(run, sink, Time::default()))
    }

    /// The run of the journal at `path`, which goes on in it, and the commands that have no answer yet. Where the
    /// journal is damaged, it stays as it is and the run goes on in a new file beside it. Gives the path too.
    #[staticmethod]
    fn resume(py: Python<'_>, path: &str) -> PyResult<(Self, Vec<machine::Command>, String)> {
        let system = |error: std::io::Error| errors::system(&error);
        let mut file = File::options().read(true).append(true).open(path).map_err(system)?;
        lock(&file, path)?;
        if let Some((mut beside, continued, behind)) = py.detach(|| SnapshotFile::resume(Path::new(path), &mut file)) {
            if behind.last().is_some_and(|byte| *byte != b'\n') {
                file.write_all(b"\n").map_err(system)?;
                beside.written(b"\n");
            }
            let (run, open) = Self::continued(py, continued, Sink::File(Arc::new(file), beside), None)?;
            return Ok((run, open, path.to_owned()));
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(system)?;
        file.read_to_end(&mut bytes).map_err(system)?;
        let text = String::from_utf8_lossy(&bytes);
        let wrong = |error: loopwright_base::error::Error| errors::exception(&error);
        let found = py.detach(|| {
            let journal = Journal::read(&text)?;
            let damaged = journal.damage.is_some().then_some(journal.whole);
            Ok((damaged, journal::resume(journal)?))
        });
        let (damaged, continued) = found.map_err(wrong)?;
        let mut place = path.to_owned();
        if damaged.is_some() {
            (file, place) = apart_from(path)?;
        }
        let mut beside = SnapshotFile::new(Path::new(&place));
        if let Some(whole) = damaged {
            let whole = text.get(..whole).unwrap_or_default().as_bytes();
            file.write_all(whole).map_err(system)?;
            beside.written(whole);
        } else {
            beside.written(&bytes);
            if !bytes.ends_with(b"\n") {
                file.write_all(b"\n").map_err(system)?;
                beside.written(b"\n");
            }
        }
        let (run, open) = Self::continued(py, continued, Sink::File(Arc::new(file), beside), None)?;
        Ok((run, open, place))
    }

    /// As `resume`, for the run `name` in the store at `path`. Where its journal is damaged, the store stays as it is
    /// and the run goes on in a new one beside it.
    #[staticmethod]
    fn resume_stored(py: Python<'_>, path: &str, name: &str) -> PyResult<(Self, Vec<machine::Command>, String)> {
        let taken = py.detach(|| store::resume_run(Path::new(path), name));
        let taken = taken.map_err(|error| errors::exception(&unwritten(error)))?;
        let (continued, place) = taken;
        let path = place.store().path().display().to_string();
        let (run, open) = Self::continued(py, continued, Sink::Store(place), None)?;
        Ok((run, open, path))
    }

    /// The run of a journal's `text`, which goes on in memory: its journal holds what is new, for whoever keeps it; and
    /// the commands that have no answer yet.
    #[staticmethod]
    fn take_up(py: Python<'_>, text: &str) -> PyResult<(Self, Vec<machine::Command>)> {
        let resume = || journal::resume(Journal::read(text)?);
        let continued = py.detach(resume).map_err(|error| errors::exception(&error))?;
        Self::continued(py, continued, Sink::Memory, None)
    }

    /// A run named `id` that begins with the events of a journal (its text) up to number `at`, with another prompt
    /// (a message as JSON), the models of another configuration (with a prompt its `budget`, too; where they are `slow`
    /// its time, unless somebody has said one), or another result of the tool call that event `at` answers; and its
    /// open commands.
    #[staticmethod]
    #[pyo3(signature = (
        id, text, at, *, prompt=None, models=None, budget=false, slow=false, result=None, journal=None, keep=false,
        about=None, store=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn fork(
        py: Python<'_>,
        id: &str,
        text: &str,
        at: u64,
        prompt: Option<&str>,
        models: Option<&machine::MachineConfig>,
        budget: bool,
        slow: bool,
        result: Option<String>,
        journal: Option<&str>,
        keep: bool,
        about: Option<&str>,
        store: Option<&str>,
    ) -> PyResult<(Self, Vec<machine::Command>)> {
        let label = raw(about)?;
        let prompt =
            prompt.map(|prompt| serde_json::from_str(prompt).map_err(|error| invalid_json(&error))).transpose()?;
        let change = Change { prompt, models: models.map(|models| models.0.clone()), budget, slow, result };
        let fork = || journal::fork(id, Journal::read(text)?, at, change, label);
        Self::forked(py, fork, |config| sink(py, id, config, journal, store, keep, about), text)
    }

    /// A run named `id` that begins as the one of a journal (its text) that this version decides otherwise, and goes on
    /// from the event that diverges; and its open commands.
    #[staticmethod]
    #[pyo3(signature = (id, text, *, journal=None, keep=false, about=None, store=None))]
    fn reopen(
        py: Python<'_>,
        id: &str,
        text: &str,
        journal: Option<&str>,
        keep: bool,
        about: Option<&str>,
        store: Option<&str>,
    ) -> PyResult<(Self, Vec<machine::Command>)> {
        let label = raw(about)?;
        let reopen = || journal::reopen(id, Journal::read(text)?, label);
        Self::forked(py, reopen, |config| sink(py, id, config, journal, store, keep, about), text)
    }

    /// Seconds since the run's start, without those for which its clock stood still.
    pub(super) fn now(&self) -> f64 {
        self.clock.now()
    }

    /// The clock stands still until `go_on`.
    fn hold(&self) {
        self.clock.hold();
    }

    /// The clock goes on.
    fn go_on(&self) {
        self.clock.go_on();
    }

    /// Takes an event; gives the commands, without those that only tell (`emit`) unless `notices` is set.
    #[pyo3(signature = (event, notices=true))]
    fn step(&self, py: Python<'_>, event: &machine::Event, notices: bool) -> PyResult<Vec<machine::Command>> {
        let locked = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = scrub_event(event.0.clone());
        let mut state = locked();
        if let EventKind::Recalled { found: Ok(found), .. } = &kind {
            state.recalled.clone_from(&found.hits);
        }
        let prompt = state.stored.as_ref().and_then(|_| RunSummary::prompt_of(&kind));
        let step = move |state: &mut RunInner| {
            let at = Time::from_seconds(self.now());
            (at, state.run.step(Event { at, kind }))
        };
        let (at, commands) = if state.run.tree().may_take_long() {
            // While it goes on, others may run. Whoever waits for the lock may hold what is let go here, so the lock
            // goes before that is taken again.
            drop(state);
            let done = py.detach(|| step(&mut locked()));
            state = locked();
            done
        } else {
            step(&mut state)
        };
        if let Some(kept) = &mut state.notices {
            let told = commands.iter().filter_map(|command| match command {
                Command::Emit { notice } => Some((at.seconds(), notice.clone())),
                _ => None,
            });
            let room = MOST_NOTICES.saturating_sub(kept.len());
            kept.extend(told.take(room));
        }
        let kept = state.write(&commands, prompt.as_deref())?;
        drop(state);
        self.until(py, kept, false)?;
        let wanted = commands.into_iter().filter(|command| notices || !matches!(command, Command::Emit { .. }));
        Ok(wanted.map(|command| machine::Command(Arc::new(command))).collect())
    }

    /// Writes nothing any more: another process may go on with the journal.
    fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.file, state.beside, state.stored) = (None, None, None);
    }

    /// Keeps what is told from now on, for memory's audit.
    fn keep_notices(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).notices.get_or_insert_default();
    }

    /// All events so far are on disk, whatever happens to the machine.
    fn persist(&self, py: Python<'_>) -> PyResult<()> {
        // A disk may take its time; whoever looks at the run meanwhile does not wait for it.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file = state.file.clone();
        let kept = state.stored.as_ref().map(RunPlace::commit_handle);
        drop(state);
        if kept.is_some() {
            return self.until(py, kept, true);
        }
        py.detach(|| file.map_or(Ok(()), |file| file.sync_data())).map_err(|error| errors::exception(&failed(&error)))
    }

    /// The number of the last event.
    #[getter]
    fn seq(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).run.seq()
    }

    /// Which sub-agent gave the command of that number: its kind (`lead/explore`), name and path; `None` where the
    /// run's own machine did.
    fn agent_of(&self, command: u64) -> Option<(String, String, String)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.run.tree().agent_of(command).map(|place| (place.kind.clone(), place.name.clone(), place.path.clone()))
    }

    /// Whether a call of the command of that number may name paths: only then there is something for `led` to say.
    fn names_paths(&self, command: u64, call_id: &str) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).run.tree().names_paths(command, call_id)
    }

    /// Whether a person has changed the arguments of a call of the command of that number.
    fn is_edited(&self, command: u64, call_id: &str) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).run.tree().is_edited(command, call_id)
    }

    /// What the run was told of a tool that is asked for before each request, as JSON, where the command came from.
    fn tool_of(&self, command: u64, name: &str) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.run.tree().tool_of(command, name).map(json_of)
    }

    /// What is said of a call, as JSON, if paths that it names are symbolic links: what the guard says of what it
    /// reaches, the links, and whether that is stricter than for the call. `variables`: those its line would find.
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn led(
        &self,
        py: Python<'_>,
        command: u64,
        name: &str,
        arguments: &Bound<'_, PyAny>,
        variables: HashMap<String, String>,
    ) -> PyResult<Option<String>> {
        let input: serde_json::Value = convert::parse(arguments, "arguments")?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = state.run.tree().guard_of(command, name).map(|(guard, declared)| (guard.clone(), declared));
        drop(state);
        let Some((guard, declared)) = guard else { return Ok(None) };
        Ok(py.detach(|| super::links::judged(&guard, declared, name, &input, &variables)))
    }

    /// Whether a model's answer to the command of that number is waited for.
    fn asks(&self, command: u64) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).run.tree().asks(command)
    }

    /// The batch that the request of the command of that number went into before the run was resumed.
    fn batch_of(&self, command: u64) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).run.batch_of(command).map(str::to_owned)
    }

    /// `running`, `pausing`, `paused` or `done`.
    #[getter]
    fn state(&self) -> &'static str {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).run.tree().state().name()
    }

    /// How the run ended, once it has.
    #[getter]
    fn ended(&self) -> Option<Ended> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = state.run.tree().outcome()?.clone();
        Ended::of(&Arc::new(Command::Finish { outcome: Box::new(outcome) }))
    }

    /// What was told of plans (`intent_assessed`) and of drift (`goal_drifted`), as dicts.
    fn noted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        convert::loads(py, Raw::of(&state.run.tree().noted()).text())
    }

    /// The same as JSON text.
    fn noted_json(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Raw::of(&state.run.tree().noted()).text().to_owned()
    }

    /// The history so far.
    #[getter]
    fn messages(&self) -> history::History {
        history::History(self.state.lock().unwrap_or_else(PoisonError::into_inner).run.tree().history())
    }

    /// The journal so far, where it is kept in memory.
    #[getter]
    fn journal(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.kept.as_ref().map(|kept| String::from_utf8_lossy(kept).into_owned())
    }

    /// The lines that the journal in memory has got since the last call, and holds no longer.
    fn take_journal(&self) -> Vec<u8> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// No run keeps more notices for the audit.
pub(super) const MOST_NOTICES: usize = 2_000;

impl Run {
    /// What is known of the run: its machine, what was told, what memory knew.
    pub(super) fn told<T>(&self, look: impl FnOnce(&Tree, &[(f64, Notice)], &[RecalledHit]) -> T) -> T {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        look(state.run.tree(), state.notices.as_deref().unwrap_or_default(), &state.recalled)
    }

    fn of(mut run: journal::Run, sink: Sink, from: Time) -> Self {
        let (mut file, mut beside, mut kept, mut stored) = (None, None, None, None);
        match sink {
            Sink::Nowhere => {}
            Sink::Memory => kept = Some(Vec::new()),
            Sink::File(given, saved) => {
                run.track_open();
                (file, beside) = (Some(given), Some(saved));
            }
            Sink::Store(place) => {
                run.track_open();
                stored = Some(place);
            }
        }
        let saving = SaveSchedule::default();
        let state = RunInner { run, file, beside, kept, stored, saving, notices: None, recalled: Vec::new() };
        let state = Mutex::new(state);
        Self { state, clock: Clock::new(from) }
    }

    /// Waits for the writer of the store, with nobody waiting for this thread.
    fn until(&self, py: Python<'_>, kept: Option<CommitHandle>, sync: bool) -> PyResult<()> {
        let Some(kept) = kept else { return Ok(()) };
        py.detach(|| kept.wait(sync)).map_err(|error| {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).broken();
            errors::exception(&unwritten(error))
        })
    }

    /// A run that begins as the one of a journal's `text` did, and writes to a sink of its own.
    fn forked(
        py: Python<'_>,
        begin: impl FnOnce() -> loopwright_base::error::Result<ResumedRun> + Send,
        sink: impl FnOnce(&MachineConfig) -> PyResult<Sink>,
        text: &str,
    ) -> PyResult<(Self, Vec<machine::Command>)> {
        let continued = py.detach(begin).map_err(|error| errors::exception(&error))?;
        let config = Journal::head(text).map_err(|error| errors::exception(&error))?.machine;
        let prompt = RunSummary::prompt_in(&continued.run.tree().history());
        Self::continued(py, continued, sink(&config)?, prompt.as_deref())
    }

    fn continued(
        py: Python<'_>,
        continued: ResumedRun,
        sink: Sink,
        prompt: Option<&str>,
    ) -> PyResult<(Self, Vec<machine::Command>)> {
        let run = Self::of(continued.run, sink, continued.at);
        if let Some((saved, compactions)) = continued.saved {
            // What it goes on from need not be saved again before something has come to it.
            run.state.lock().unwrap_or_else(PoisonError::into_inner).saving =
                SaveSchedule { saved, compactions, ..SaveSchedule::default() };
        }
        // What a fork begins with is in its journal before anything of it is carried out.
        let kept = run.state.lock().unwrap_or_else(PoisonError::into_inner).write(&[Command::Persist], prompt)?;
        run.until(py, kept, false)?;
        let open = continued.open.into_iter().map(|command| machine::Command(Arc::new(command))).collect();
        Ok((run, open))
    }
}

fn sink(
    py: Python<'_>,
    id: &str,
    config: &MachineConfig,
    journal: Option<&str>,
    store: Option<&str>,
    keep: bool,
    about: Option<&str>,
) -> PyResult<Sink> {
    Ok(match (journal, store) {
        (Some(path), _) => Sink::File(create(path)?, SnapshotFile::new(Path::new(path))),
        (None, Some(path)) => {
            let model = config.clone().turn_mut().model.clone();
            let session = about.and_then(Session::read);
            let place = py.detach(|| Store::at(Path::new(path))?.begin_in(id, &model, session));
            Sink::Store(place.map_err(|error| errors::exception(&unwritten(error)))?)
        }
        (None, None) if keep => Sink::Memory,
        (None, None) => Sink::Nowhere,
    })
}

/// The name of the error that keeps a file from being written.
fn failed(error: &std::io::Error) -> Error {
    use std::io::ErrorKind as K;
    let (code, hint) = match error.kind() {
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => {
            ("journal_full", "free some space, and resume the run: what was written before is safe")
        }
        K::ReadOnlyFilesystem | K::PermissionDenied => ("journal_read_only", "give another place, and resume the run"),
        _ => ("journal_failed", "check the disk, and resume the run: what was written before is safe"),
    };
    Error::usage(code, format!("the journal can't be written: {error}")).hint(hint)
}

/// Maps an error to the name it has wherever the journal is.
fn unwritten(mut error: Error) -> Error {
    let code = match error.code.as_ref() {
        "store_full" => "journal_full",
        "read_only_store" => "journal_read_only",
        _ => return error,
    };
    error.code = code.into();
    error
}

/// A new file for a journal, which no other process writes to.
fn create(path: &str) -> PyResult<Arc<File>> {
    let file = File::options().write(true).create_new(true).open(path).map_err(|error| errors::system(&error))?;
    lock(&file, path)?;
    Ok(Arc::new(file))
}

/// One run writes to a journal at a time. The lock ends with the file, whatever becomes of the process.
pub(super) fn lock(file: &File, path: &str) -> PyResult<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = format!("another process writes to the journal {path:?}");
            Err(errors::exception(&Error::usage("journal_in_use", message).hint("wait for its end, or end it")))
        }
        // A file system without locks is no reason not to run.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// A new file beside a journal that is damaged, and its path.
fn apart_from(path: &str) -> PyResult<(File, String)> {
    let stem = path.strip_suffix(".jsonl").unwrap_or(path);
    for number in 1_u32.. {
        let place = format!("{stem}-recovered-{number}.jsonl");
        match File::options().write(true).create_new(true).open(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            file => {
                let file = file.map_err(|error| errors::system(&error))?;
                lock(&file, &place)?;
                return Ok((file, place));
            }
        }
    }
    Err(PyOSError::new_err(format!("there is no free name beside {path:?}")))
}

fn invalid_json(error: &serde_json::Error) -> PyErr {
    errors::usage(
        "invalid_json",
        format!("what was given is no JSON of that kind: {error}"),
        "give what this version wrote, unchanged",
    )
}

fn raw(text: Option<&str>) -> PyResult<Option<Raw>> {
    text.map(|text| Raw::parse(text.to_owned()).map_err(|error| invalid_json(&error))).transpose()
}

/// The configuration of a run. Without a seed of the caller's it gets one from the run's name: runs that begin
/// together shall not try again together.
fn seeded(id: &str, config: &MachineConfig) -> MachineConfig {
    let mut config = config.clone();
    let turn = config.turn_mut();
    if turn.seed == 0 {
        // FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>.
        let hash = id.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        turn.seed = u64::from(hash);
    }
    config
}

impl RunInner {
    /// Writes down what is new. From the first failure on nothing more is written, so that the run can end in order.
    /// Gives what to wait for before the commands are carried out.
    fn write(&mut self, commands: &[Command], prompt: Option<&str>) -> PyResult<Option<CommitHandle>> {
        if self.file.is_none() && self.kept.is_none() && self.stored.is_none() {
            return Ok(None);
        }
        let lines = self.run.take_log();
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(&lines);
        }
        let written = match (&self.file, &mut self.stored) {
            (Some(file), _) => self.write_file(&Arc::clone(file), &lines, commands).map_err(|error| failed(&error)),
            (None, Some(_)) => self.write_stored(&lines, commands, prompt).map_err(unwritten),
            (None, None) => Ok(None),
        };
        written.map_err(|error| {
            self.broken();
            errors::exception(&error)
        })
    }

    fn write_file(
        &mut self,
        mut file: &File,
        lines: &[u8],
        commands: &[Command],
    ) -> std::io::Result<Option<CommitHandle>> {
        file.write_all(lines)?;
        if let Some(beside) = &mut self.beside {
            beside.written(lines);
            if commands.iter().any(|command| matches!(command, Command::Finish { .. })) {
                beside.end();
            } else if let Some(saved) = self.saving.due(&mut self.run, lines.len()) {
                beside.save(&saved);
            }
        }
        Ok(None)
    }

    fn write_stored(
        &mut self,
        lines: &[u8],
        commands: &[Command],
        prompt: Option<&str>,
    ) -> Result<Option<CommitHandle>, Error> {
        let Some(place) = &mut self.stored else { return Ok(None) };
        place.append(lines)?;
        if let Some(prompt) = prompt {
            place.prompt(prompt)?;
        }
        let mut wait = false;
        for command in commands {
            match command {
                Command::Persist => wait = true,
                Command::Finish { outcome } => {
                    let spent = &outcome.spent;
                    place.end(outcome.stop.name(), spent.whole_cost(), spent.usage.total())?;
                    wait = true;
                }
                _ => {}
            }
        }
        if let Some(saved) = self.saving.due(&mut self.run, lines.len()) {
            place.save(saved)?;
        }
        // What follows may change the world: the journal has it first.
        Ok(wait.then(|| place.commit_handle()))
    }

    fn broken(&mut self) {
        (self.file, self.beside, self.stored) = (None, None, None);
        self.run.stop_log();
    }
}

impl SaveSchedule {
    /// The run, if it is to be saved now that so many bytes of lines came.
    fn due(&mut self, run: &mut journal::Run, bytes: usize) -> Option<Snapshot> {
        self.since.0 += 1;
        self.since.1 += bytes;
        let compactions = run.tree().long_compactions();
        let long_since = self.since.0 >= EVENTS_BETWEEN && self.since.1 >= BYTES_BETWEEN.max(self.saved / 2);
        if !long_since && compactions == self.compactions {
            return None;
        }
        let saved = run.save()?;
        *self = Self { since: (0, 0), saved: saved.state.len(), compactions };
        Some(saved)
    }
}

/// The runs of a store, as JSON.
#[pyfunction]
pub(super) fn journal_runs(py: Python<'_>, path: &str) -> PyResult<String> {
    apart(py, || {
        flush(path);
        Ok(Raw::of(&store::runs(Path::new(path))?).text().to_owned())
    })
}

/// The name of the run in a store that `start` begins; without it, of the only one.
#[pyfunction]
#[pyo3(signature = (path, start=None))]
pub(super) fn journal_find(py: Python<'_>, path: &str, start: Option<&str>) -> PyResult<String> {
    apart(py, || {
        flush(path);
        store::find(Path::new(path), start)
    })
}

/// The lines of a run in a store, up to that of event `last`, and what kept the rest from being read.
#[pyfunction]
#[pyo3(signature = (path, run, last=None))]
pub(super) fn journal_text(
    py: Python<'_>,
    path: &str,
    run: &str,
    last: Option<u64>,
) -> PyResult<(String, Option<String>)> {
    apart(py, || {
        flush(path);
        store::read(Path::new(path), run, last.unwrap_or(store::END))
    })
}

/// Numbers of events, and commands as JSON.
type EventIds = Vec<(u64, String)>;

/// The run's name, its model, and what it told, from a journal's text: numbers of events, and commands as JSON.
#[pyfunction]
pub(super) fn journal_told(py: Python<'_>, text: &str) -> PyResult<(String, String, EventIds)> {
    apart(py, || {
        let mut journal = Journal::read(text)?;
        let mut told = Vec::new();
        for (seq, line) in (1..).zip(&journal.lines) {
            let commands = line.commands.iter().map(Raw::text);
            let telling =
                commands.filter(|command| command.starts_with("{\"emit\"") || command.starts_with("{\"finish\""));
            told.extend(telling.map(|command| (seq, command.to_owned())));
        }
        let model = journal.machine.turn_mut().model.clone();
        Ok((journal.run, model, told))
    })
}

/// Takes a run into a store from the lines of its journal; gives its name.
#[pyfunction]
pub(super) fn journal_import(py: Python<'_>, path: &str, text: &str) -> PyResult<String> {
    apart(py, || Store::at(Path::new(path))?.import(text))
}

/// Closes a store that this process has open, as soon as no run needs it.
#[pyfunction]
pub(super) fn journal_close(py: Python<'_>, path: &str) {
    py.detach(|| Store::close(Path::new(path)));
}

/// Waits until everything that runs of this process have handed over is there to be read.
pub(super) fn flush(path: &str) {
    if let Some(store) = Store::open_store(Path::new(path)) {
        store.flush();
    }
}

pub(super) fn apart<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| errors::exception(&error))
}

/// Where two journals part, as a dict; `None` if nowhere.
#[pyfunction]
pub(super) fn compare_journals<'py>(py: Python<'py>, left: &str, right: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let parting = py
        .detach(|| Ok(journal::compare(&Journal::read(left)?, &Journal::read(right)?)))
        .map_err(|error: Error| errors::exception(&error))?;
    parting.map(|parting| convert::loads(py, Raw::of(&parting).text())).transpose()
}

/// The first line of a journal: the run's name, what whoever started it wrote, and the machine's configuration, as
/// JSON.
#[pyfunction]
pub(super) fn journal_head(text: &str) -> PyResult<(String, Option<String>, String)> {
    let journal = Journal::head(text).map_err(|error| errors::exception(&error))?;
    let about = journal.about.map(|about| about.text().to_owned());
    Ok((journal.run, about, Raw::of(&journal.machine).text().to_owned()))
}

/// Feeds a journal to a new machine; gives what came of it as a dict, and the messages at the end. With the digest of
/// a policy, only if the run went by that.
#[pyfunction]
#[pyo3(signature = (journal, policy=None))]
pub(super) fn replay<'py>(
    py: Python<'py>,
    journal: &str,
    policy: Option<&str>,
) -> PyResult<(Bound<'py, PyAny>, history::History, Vec<Vec<String>>)> {
    let replay = py.detach(|| journal::replay_under(journal, policy)).map_err(|error| errors::exception(&error))?;
    let text = serde_json::to_string(&replay).unwrap_or_default();
    Ok((convert::loads(py, &text)?, history::History(replay.messages), replay.steps))
}

/// The prompts of a journal's run, as dicts: how much of each is the one before, and what changed.
#[pyfunction]
pub(super) fn prompts<'py>(py: Python<'py>, journal: &str) -> PyResult<Bound<'py, PyAny>> {
    let prompts = py.detach(|| journal::prompts(journal)).map_err(|error| errors::exception(&error))?;
    convert::loads(py, &serde_json::to_string(&prompts).unwrap_or_default())
}
