//! The fence around commands, for the built-in shell and `loopwright doctor`.

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    os::fd::IntoRawFd,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use loopwright_fence::{Environment, Grants, Step, support};
use loopwright_guard::{RiskLevel, policy::Surroundings, steps};
use pyo3::{exceptions::PyOSError, prelude::*};

/// What keeps a fence on this machine: the version of Landlock's interface, whether system calls are filtered, why
/// there is no fence, and what it leaves open.
#[pyfunction]
pub(super) fn fence_support(py: Python<'_>) -> (Option<u32>, bool, Option<String>, Vec<&'static str>) {
    let found = py.detach(support);
    (found.landlock, found.seccomp, found.missing.clone(), found.gaps())
}

/// A fence for one command: what it may read, write and reach.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Fence {
    fence: Mutex<loopwright_fence::Fence>,
    variables: HashMap<OsString, OsString>,
}

impl Fence {
    fn with<R>(&self, change: impl FnOnce(&mut loopwright_fence::Fence) -> R) -> R {
        change(&mut self.fence.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Fence {
    /// A fence around a workspace and a temporary folder, for a command with these variables.
    #[new]
    #[pyo3(signature = (workspace, temporary, *, home, env, read, write, network, sockets))]
    #[allow(clippy::too_many_arguments)] // as Python gives them
    fn new(
        workspace: PathBuf,
        temporary: PathBuf,
        home: Option<PathBuf>,
        env: HashMap<OsString, OsString>,
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
        network: bool,
        sockets: bool,
    ) -> Self {
        let text =
            |(name, value): (&OsString, &OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
        let environment = Environment { home, variables: env.iter().filter_map(text).collect() };
        let names = Vec::new();
        let fence = loopwright_fence::Fence { workspace, temporary, environment, read, write, names, network, sockets };
        Self { fence: Mutex::new(fence), variables: env }
    }

    /// Grants what a line needs that may run. Gives the caches that have to be there, and whether it runs unfenced.
    fn grant(&self, line: &str) -> (Vec<PathBuf>, bool) {
        self.with(|fence| {
            let text = |path: &PathBuf| path.to_str().map(str::to_owned);
            let home = fence.environment.home.as_ref().and_then(text);
            let around = Surroundings { home, workspace: text(&fence.workspace), commands: None };
            let named = steps(line, &around).into_iter().map(|step| Step {
                changes: step.level > RiskLevel::Safe,
                asked: step.level >= RiskLevel::Confirm,
                words: step.words,
                paths: step.paths.into_iter().map(PathBuf::from).collect(),
                hosts: step.hosts,
            });
            let mut grants = Grants::of(&named.collect::<Vec<_>>(), fence);
            let caches = std::mem::take(&mut grants.caches);
            let unfenced = grants.unfenced;
            grants.widen(fence);
            (caches, unfenced)
        })
    }

    /// Starts a command behind the fence, without input: its process, and the end of a pipe with all that it writes.
    fn spawn(&self, py: Python<'_>, argv: Vec<OsString>, cwd: PathBuf) -> PyResult<(u32, i32)> {
        let fence = self.with(|fence| fence.clone());
        let variables = &self.variables;
        let started = py.detach(move || -> io::Result<(u32, i32)> {
            let (reading, writing) = io::pipe()?;
            let (program, words) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut command = Command::new(program);
            command.args(words).current_dir(cwd).env_clear().envs(variables);
            command.stdin(Stdio::null()).stdout(writing.try_clone()?).stderr(writing);
            let child = fence.spawn(command)?;
            Ok((child.id(), reading.into_raw_fd()))
        });
        started.map_err(|error| match error.raw_os_error() {
            Some(_) => PyErr::from(error),
            None => PyOSError::new_err((0, error.to_string())),
        })
    }

    /// What the fence seems to have refused, from what a command wrote: a word, and the path where one is named.
    fn refusals(&self, output: &str) -> Vec<(&'static str, Option<PathBuf>)> {
        let found = self.with(|fence| fence.refusals(output));
        found.into_iter().map(|refusal| (refusal.kind.name(), refusal.path)).collect()
    }
}
