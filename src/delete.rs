//! Whose runs journals hold, and deleting them.

use std::{
    fs::{File, TryLockError},
    io::{BufRead, BufReader},
    path::Path,
};

use pyo3::prelude::*;

use super::{
    errors,
    run::{apart, flush, lock},
};
use loopwright_base::json::Raw;
use loopwright_machine::journal::RunLabel;
use loopwright_store::journal::{self as store, LabelledRun, Session, SnapshotFile, Store};

/// The names and labels of the runs of a store, as JSON.
#[pyfunction]
pub(super) fn journal_labels(py: Python<'_>, path: &str) -> PyResult<String> {
    apart(py, || {
        flush(path);
        Ok(Raw::of(&store::labels(Path::new(path))?).text().to_owned())
    })
}

/// The name and label of the run in a file of its own, as JSON of the same form.
#[pyfunction]
pub(super) fn journal_file_label(py: Python<'_>, path: &str) -> PyResult<String> {
    let label = || -> std::io::Result<LabelledRun> {
        let file = File::open(path)?;
        // Shared: two who look at once do not take each other for the run.
        let running = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let mut line = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut line)?;
        let label = RunLabel::of(&String::from_utf8_lossy(&line));
        let state = match (running, &label) {
            (true, _) => "running",
            (false, None) => "unreadable",
            (false, Some(_)) => "idle",
        };
        let (run, about) = label.map_or_else(Default::default, |label| (label.run, label.about));
        Ok(LabelledRun { run, about: about.map(|about| about.text().to_owned()), state })
    };
    let label = py.detach(label).map_err(|error| errors::system(&error))?;
    Ok(Raw::of(&label).text().to_owned())
}

/// The run of a store at whose end a session of a user goes on.
#[pyfunction]
#[pyo3(signature = (path, session, user=None))]
pub(super) fn journal_last_of(
    py: Python<'_>,
    path: &str,
    session: String,
    user: Option<String>,
) -> PyResult<Option<String>> {
    apart(py, || Store::at(Path::new(path))?.last_run_of(&Session { session, user }))
}

/// Deletes runs of a store, all or none; gives the names of those that were there.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python gives them
pub(super) fn journal_delete(py: Python<'_>, path: &str, runs: Vec<String>) -> PyResult<Vec<String>> {
    apart(py, || Store::at(Path::new(path))?.delete_all(&runs))
}

/// Deletes the file of a journal that nobody writes to, and what was saved of its run beside it.
#[pyfunction]
pub(super) fn journal_delete_file(path: &str) -> PyResult<()> {
    let file = File::options().read(true).write(true).open(path).map_err(|error| errors::system(&error))?;
    lock(&file, path)?;
    SnapshotFile::new(Path::new(path)).end();
    std::fs::remove_file(path).map_err(|error| errors::system(&error))
}
