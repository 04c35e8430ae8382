//! Leases of runs: a process proves that it lives with a lock on a file of its own beside the store.
//!
//! The lock ends with the process, however that ends; nobody has to wait for a clock. Files of processes that are gone
//! are swept away by whoever comes next.

use std::{
    collections::HashSet,
    fs::{File, TryLockError},
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use loopwright_base::error::{Error, Result};

/// The runs that this process holds in one store.
#[derive(Debug)]
pub(super) struct LeaseHolder {
    /// The store's path, with which the names of all lock files begin.
    beside: PathBuf,
    token: String,
    state: Mutex<LeaseState>,
}

#[derive(Debug, Default)]
struct LeaseState {
    runs: HashSet<i64>,
    lock: Option<File>,
}

impl LeaseHolder {
    pub(super) fn new(store: &Path) -> Self {
        let random = RandomState::new().hash_one(store);
        let token = format!("{}-{random:016x}", std::process::id());
        Self { beside: store.to_owned(), token, state: Mutex::default() }
    }

    pub(super) fn token(&self) -> String {
        self.token.clone()
    }

    /// Claims a run for this process, and for one run of it alone; returns the name to record.
    pub(super) fn acquire(&self, run: i64) -> Result<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lock.is_none() {
            sweep(&self.beside);
            state.lock = Some(self.lock()?);
        }
        if !state.runs.insert(run) {
            return Err(Error::usage("journal_in_use", "another run of this process writes this journal")
                .hint("wait for its end, or end it"));
        }
        Ok(self.token.clone())
    }

    pub(super) fn release(&self, run: i64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).runs.remove(&run);
    }

    /// Returns whether the holder of a run still writes it.
    pub(super) fn is_alive(&self, run: i64, token: &str) -> bool {
        if token == self.token {
            return self.state.lock().unwrap_or_else(PoisonError::into_inner).runs.contains(&run);
        }
        is_alive(&self.beside, token)
    }

    fn lock(&self) -> Result<File> {
        let path = file_of(&self.beside, &self.token);
        let failed = |error: std::io::Error| {
            Error::usage("read_only_store", format!("{} can't be written: {error}", path.display()))
                .hint("check who may write in the folder of the store")
        };
        let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        // A file system without locks is no reason not to run.
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => {}
            // Only a sweep looks at it, for a moment.
            Err(TryLockError::WouldBlock) => file.lock().map_err(failed)?,
        }
        if path.exists() { Ok(file) } else { self.lock() }
    }
}

impl Drop for LeaseHolder {
    fn drop(&mut self) {
        if self.token.split('-').next() == Some(std::process::id().to_string().as_str()) {
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            if state.lock.take().is_some() {
                let _ = std::fs::remove_file(file_of(&self.beside, &self.token));
                sweep(&self.beside);
            }
        }
    }
}

/// Returns whether the process that wrote `token` lives.
pub(super) fn is_alive(store: &Path, token: &str) -> bool {
    // A token is a name of ours; whatever else a file may say names no path.
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return false;
    }
    // Shared: two who look at once do not take each other for the holder.
    File::open(file_of(store, token)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn file_of(store: &Path, token: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-held-");
    name.push(token);
    PathBuf::from(name)
}

/// Removes the files of processes that are gone.
pub(super) fn sweep(store: &Path) {
    let (Some(folder), Some(name)) = (store.parent(), store.file_name()) else { return };
    let mut prefix = name.to_os_string();
    prefix.push("-held-");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        if found.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
            && File::open(entry.path()).is_ok_and(|file| file.try_lock_shared().is_ok())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
