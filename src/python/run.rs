//! A run as the drivers of the package use it: a machine, its clock and its journal.

use std::{
    fs::File,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use pyo3::{exceptions::PyOSError, prelude::*};

use super::{convert, errors, history, machine};
use crate::core::{
    journal,
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
}

#[pymethods]
impl Run {
    /// `journal`: a path to write to (appending lines as they come, in a new file), `True` to keep it in memory,
    /// or `None`.
    #[new]
    #[pyo3(signature = (id, config, *, journal=None, keep=false))]
    fn new(id: &str, config: &machine::MachineConfig, journal: Option<&str>, keep: bool) -> PyResult<Self> {
        let file = match journal {
            Some(path) => {
                let created = File::options().write(true).create_new(true).open(path);
                Some(Arc::new(created?))
            }
            None => None,
        };
        let log = keep || file.is_some();
        let run = journal::Run::new(id, seeded(id, &config.0), log);
        let state = Mutex::new(State { run, file, kept: keep.then(Vec::new) });
        Ok(Self { state, started: Instant::now() })
    }

    /// Seconds since the run's start.
    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Takes an event; gives the commands, without those that only tell (`emit`) unless `notices` is set.
    #[pyo3(signature = (event, notices=true))]
    fn step(&self, event: &machine::Event, notices: bool) -> PyResult<Vec<machine::Command>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = Time::from_seconds(self.started.elapsed().as_secs_f64());
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

/// The configuration of a run. Without a seed of the caller's it gets one from the run's name: runs that begin
/// together shall not try again together.
fn seeded(id: &str, config: &MachineConfig) -> MachineConfig {
    let mut config = config.clone();
    let turn = match &mut config {
        MachineConfig::Turn(turn) => turn,
        MachineConfig::Grounded(grounded) => &mut grounded.turn,
    };
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
