//! A fence, and the start of a command behind it.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use crate::{
    places::{Environment, may_read, normal, real},
    support::support,
    table::table,
};

/// What a command may read, write and reach. Everything else stays readable but what is private, by `fence.toml`.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// The folder for its temporary files.
    pub temporary: PathBuf,
    /// The variables that it gets, and the home folder.
    pub environment: Environment,
    /// What it may read although it is private.
    pub read: Vec<PathBuf>,
    /// What it may write beside the workspace.
    pub write: Vec<PathBuf>,
    /// Folders in which it may make, move and remove names, and write none of the files.
    pub names: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// Whether it may speak to other programs of this machine by their sockets.
    pub sockets: bool,
}

impl Fence {
    /// Starts a command behind the fence. It leads a process group of its own.
    ///
    /// An error of the kind `Unsupported` says that there is no fence here; any other is one of the start.
    #[cfg(target_os = "linux")]
    pub fn spawn(self, mut command: Command) -> io::Result<Child> {
        use std::os::unix::process::CommandExt;

        if let Some(missing) = &support().missing {
            return Err(io::Error::new(io::ErrorKind::Unsupported, missing.clone()));
        }
        command.process_group(0);
        let started = move || {
            crate::rights::give_up()?;
            crate::files::restrict(&self)?;
            if support().seccomp {
                crate::system_calls::restrict(self.network, self.sockets)?;
            }
            command.spawn()
        };
        let thread = std::thread::Builder::new().name("fence".to_owned()).spawn(started)?;
        let child = thread.join().map_err(|_| io::Error::other("the start ended early"))??;
        crate::limits::bound(child.id());
        Ok(child)
    }

    /// There is no fence here.
    #[cfg(not(target_os = "linux"))]
    pub fn spawn(self, _: Command) -> io::Result<Child> {
        Err(io::Error::new(io::ErrorKind::Unsupported, support().missing.clone().unwrap_or_default()))
    }

    /// What is private and there, as it really stands; what this process can't read is hidden without a fence.
    pub fn private(&self) -> Vec<PathBuf> {
        let named = table().files.private.iter().filter_map(|written| self.environment.path(written, None));
        named.filter_map(|path| path.canonicalize().ok()).filter(|path| may_read(path)).collect()
    }

    /// What it may write, as it was said.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        [&self.workspace, &self.temporary].into_iter().chain(&self.write).map(PathBuf::as_path)
    }

    /// Whether the fence lets it write there.
    pub(crate) fn writes(&self, path: &Path) -> bool {
        let path = real(path);
        let device = table().files.devices.iter().any(|device| match device.strip_suffix('*') {
            Some(start) => path.to_string_lossy().starts_with(start),
            None => path.starts_with(device),
        });
        device || self.writable().any(|folder| path.starts_with(real(folder)))
    }

    /// Whether the fence lets it read there, where this is what is private.
    pub(crate) fn reads(&self, path: &Path, private: &[PathBuf]) -> bool {
        let path = real(path);
        let granted = self.read.iter().map(PathBuf::as_path).chain(self.writable());
        !private.iter().any(|private| path.starts_with(private))
            || granted.map(real).any(|folder| path.starts_with(folder))
    }

    /// A path as the command's own text has it.
    pub(crate) fn resolved(&self, text: &str) -> PathBuf {
        match (text.strip_prefix('~'), &self.environment.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                normal(&home.join(rest.trim_start_matches('/')))
            }
            _ => normal(&self.workspace.join(text)),
        }
    }
}
