//! Finding files and lines, for the tools of `loopwright.tools.builtin`.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use pyo3::{prelude::*, types::PyBytes};

use super::errors;
use loopwright_drive::find::{self, SearchStop};

/// The interval at which a search asks whether anybody still waits for it: each time takes the interpreter.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// The paths in a folder, relative to it, but for those that ignore files name.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct FolderWalk(Mutex<find::FolderWalk>);

#[pymethods]
impl FolderWalk {
    #[new]
    #[pyo3(signature = (root, *, depth, most, glob=None, anywhere=false))]
    fn new(
        py: Python<'_>,
        root: PathBuf,
        depth: usize,
        most: usize,
        glob: Option<&str>,
        anywhere: bool,
    ) -> PyResult<Self> {
        let walk = py.detach(|| find::FolderWalk::new(root, depth, most, glob, anywhere));
        walk.map(|walk| Self(Mutex::new(walk))).map_err(|error| errors::exception(&error))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> Option<OsString> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next())
    }
}

/// An expression that lines are searched for, in a time that its length and that of the text bound.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct LinePattern(find::LinePattern);

#[pymethods]
impl LinePattern {
    #[new]
    #[pyo3(signature = (pattern, *, ignore_case=false))]
    fn new(py: Python<'_>, pattern: &str, ignore_case: bool) -> PyResult<Self> {
        py.detach(|| find::LinePattern::new(pattern, ignore_case)).map(Self).map_err(|error| errors::exception(&error))
    }

    /// The first `most` lines of a file that fit, with their numbers, and why there are no others: "more", "over" or
    /// `None`. `None` at all if the file is no text. It is over after `seconds`, or when `cancelled` gives true.
    fn lines(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyBytes>,
        most: usize,
        seconds: f64,
        cancelled: &Bound<'_, PyAny>,
    ) -> Option<(find::Lines, Option<&'static str>)> {
        let (bytes, cancelled) = (data.as_bytes(), cancelled.clone().unbind());
        let began = Instant::now();
        let mut asked = Duration::ZERO;
        let mut is_over = || {
            let now = began.elapsed();
            // Whoever fails to say so has nobody left who waits.
            let is_cancelled = || {
                Python::attach(|py| cancelled.bind(py).call0().and_then(|answer| answer.is_truthy()).unwrap_or(true))
            };
            if now.saturating_sub(asked) < CANCEL_INTERVAL {
                return now.as_secs_f64() > seconds;
            }
            asked = now;
            now.as_secs_f64() > seconds || is_cancelled()
        };
        let (lines, ended) = py.detach(|| self.0.lines(bytes, most, &mut is_over))?;
        let ended = ended.map(|ended| match ended {
            SearchStop::More => "more",
            SearchStop::Over => "over",
        });
        Some((lines, ended))
    }
}
