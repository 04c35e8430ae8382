//! A run as the drivers of the package use it: a machine, its clock and its journal.

use std::{
    fs::{File, TryLockError},
    io::{Read, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use pyo3::{exceptions::PyOSError, prelude::*};

use super::{convert, errors, history, machine};
use crate::core::{
    error::Error,
    journal::{self, Change, Continued, Journal},
    json::Raw,
    machine::{Command, Event, MachineConfig, Time},
};

struct State {
    run: journal::Run,
    file: Option<Arc<File>>,
    kept: Option<Vec<u8>>,
}

/// A machine, its clock and its journal.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Run {
    state: Mutex<State>,
    started: Instant,
    /// The time at which it goes on; 0 for a run that begins.
    from: Time,
}

#[pymethods]
impl Run {
    /// `journal`: a path to write to (appending lines as they come, in a new file), `True` to keep it in memory,
    /// or `None`. `about`: JSON text that stands in the journal's first line. `released`: what a supervisor has let
    /// through before.
    #[new]
    #[pyo3(signature = (id, config, *, journal=None, keep=false, about=None, released=None))]
    fn new(
        id: &str,
        config: &machine::MachineConfig,
        journal: Option<&str>,
        keep: bool,
        about: Option<&str>,
        released: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let file = journal.map(create).transpose()?;
        let log = keep || file.is_some();
        let mut config = seeded(id, &config.0);
        if let (Some(released), Some(supervisor)) = (released, &mut config.turn_mut().roles.supervisor) {
            supervisor.released.extend(released);
        }
        let run = journal::Run::about(id, config, log, raw(about)?);
        Ok(Self::of(run, file, keep, Time::default()))
    }

    /// The run of the journal at `path`, which goes on in it, and the commands that have no answer yet. Where the
    /// journal is damaged, it stays as it is and the run goes on in a new file beside it. Gives the path too.
    #[staticmethod]
    fn resume(py: Python<'_>, path: &str) -> PyResult<(Self, Vec<machine::Command>, String)> {
        let mut file = File::options().read(true).append(true).open(path)?;
        lock(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let wrong = |error: crate::core::error::Error| errors::exception(&error);
        let found = py.detach(|| {
            let journal = Journal::read(&text)?;
            let damaged = journal.damage.is_some().then_some(journal.whole);
            Ok((damaged, journal::resume(journal)?))
        });
        let (damaged, continued) = found.map_err(wrong)?;
        let mut place = path.to_owned();
        if let Some(whole) = damaged {
            (file, place) = beside(path)?;
            file.write_all(text.get(..whole).unwrap_or_default().as_bytes())?;
        } else if !bytes.ends_with(b"\n") {
            file.write_all(b"\n")?;
        }
        let (run, open) = Self::continued(continued, Some(Arc::new(file)), false)?;
        Ok((run, open, place))
    }

    /// A run named `id` that begins with the events of a journal (its text) up to number `at`, with another prompt
    /// (a message as JSON), model, or result of the tool call that event `at` answers; and its open commands.
    #[staticmethod]
    #[pyo3(signature = (id, text, at, *, prompt=None, model=None, result=None, journal=None, keep=false, about=None))]
    #[allow(clippy::too_many_arguments)]
    fn fork(
        py: Python<'_>,
        id: &str,
        text: &str,
        at: u64,
        prompt: Option<&str>,
        model: Option<String>,
        result: Option<String>,
        journal: Option<&str>,
        keep: bool,
        about: Option<&str>,
    ) -> PyResult<(Self, Vec<machine::Command>)> {
        let about = raw(about)?;
        let prompt =
            prompt.map(|prompt| serde_json::from_str(prompt).map_err(|error| invalid_json(&error))).transpose()?;
        let continued = py
            .detach(|| journal::fork(id, Journal::read(text)?, at, Change { prompt, model, result }, about))
            .map_err(|error| errors::exception(&error))?;
        let file = journal.map(create).transpose()?;
        Self::continued(continued, file, keep)
    }

    /// Seconds since the run's start.
    fn now(&self) -> f64 {
        self.from.seconds() + self.started.elapsed().as_secs_f64()
    }

    /// Takes an event; gives the commands, without those that only tell (`emit`) unless `notices` is set.
    #[pyo3(signature = (event, notices=true))]
    fn step(&self, event: &machine::Event, notices: bool) -> PyResult<Vec<machine::Command>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = Time::from_seconds(self.now());
        let commands = state.run.step(Event { at, kind: event.0.clone() });
        state.write()?;
        let wanted = commands.into_iter().filter(|command| notices || !matches!(command, Command::Emit { .. }));
        Ok(wanted.map(|command| machine::Command(Arc::new(command))).collect())
    }

    /// All events so far are on disk, whatever happens to the machine.
    fn persist(&self, py: Python<'_>) -> PyResult<()> {
        // A disk may take its time; whoever looks at the run meanwhile does not wait for it.
        let file = self.state.lock().unwrap_or_else(PoisonError::into_inner).file.clone();
        py.detach(|| file.map_or(Ok(()), |file| file.sync_data()))
            .map_err(|error| PyOSError::new_err(format!("the journal can't be written: {error}")))
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
}

impl Run {
    fn of(run: journal::Run, file: Option<Arc<File>>, keep: bool, from: Time) -> Self {
        let state = Mutex::new(State { run, file, kept: keep.then(Vec::new) });
        Self { state, started: Instant::now(), from }
    }

    fn continued(continued: Continued, file: Option<Arc<File>>, keep: bool) -> PyResult<(Self, Vec<machine::Command>)> {
        let run = Self::of(continued.run, file, keep, continued.at);
        // What a fork begins with is in its journal before anything of it is carried out.
        run.state.lock().unwrap_or_else(PoisonError::into_inner).write()?;
        let open = continued.open.into_iter().map(|command| machine::Command(Arc::new(command))).collect();
        Ok((run, open))
    }
}

/// A new file for a journal, which no other process writes to.
fn create(path: &str) -> PyResult<Arc<File>> {
    let file = File::options().write(true).create_new(true).open(path)?;
    lock(&file, path)?;
    Ok(Arc::new(file))
}

/// One run writes to a journal at a time. The lock ends with the file, whatever becomes of the process.
fn lock(file: &File, path: &str) -> PyResult<()> {
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
fn beside(path: &str) -> PyResult<(File, String)> {
    let stem = path.strip_suffix(".jsonl").unwrap_or(path);
    for number in 1_u32.. {
        let place = format!("{stem}-recovered-{number}.jsonl");
        match File::options().write(true).create_new(true).open(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            file => {
                let file = file?;
                lock(&file, &place)?;
                return Ok((file, place));
            }
        }
    }
    Err(PyOSError::new_err(format!("there is no free name beside {path:?}")))
}

fn invalid_json(error: &serde_json::Error) -> PyErr {
    errors::usage("invalid_json", format!("what was given is no JSON of that kind: {error}"))
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

impl State {
    fn write(&mut self) -> PyResult<()> {
        if self.file.is_none() && self.kept.is_none() {
            return Ok(());
        }
        let lines = self.run.take_log();
        if let Some(file) = &self.file {
            file.as_ref()
                .write_all(&lines)
                .map_err(|error| PyOSError::new_err(format!("the journal can't be written: {error}")))?;
        }
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(&lines);
        }
        Ok(())
    }
}

/// Where two journals part, as a dict; `None` if nowhere.
#[pyfunction]
pub(super) fn compare_journals<'py>(py: Python<'py>, left: &str, right: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let parting = py
        .detach(|| Ok(journal::compare(&Journal::read(left)?, &Journal::read(right)?)))
        .map_err(|error: Error| errors::exception(&error))?;
    parting.map(|parting| convert::loads(py, Raw::of(&parting).text())).transpose()
}

/// The first line of a journal: the run's name, what whoever started it wrote, and the machine's configuration, as JSON.
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
