//! Paths of `fence.toml` in a file system: what `~`, `$NAME` and `@prefix` stand for.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use crate::table::table;

/// Variables that lead to variables that lead on.
const DEEPEST: usize = 4;

/// The variables of a command and the home folder of its user.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The home folder, absolute.
    pub home: Option<PathBuf>,
    /// The variables.
    pub variables: HashMap<String, String>,
}

impl Environment {
    /// The path that one of the table stands for; `None` where it stands for none here.
    pub(crate) fn path(&self, written: &str, program: Option<&str>) -> Option<PathBuf> {
        self.expanded(written, program, DEEPEST)
    }

    fn expanded(&self, written: &str, program: Option<&str>, left: usize) -> Option<PathBuf> {
        let (first, rest) = written.split_once('/').unwrap_or((written, ""));
        let start = match first {
            "" => return Some(normal(Path::new(written))),
            "~" => self.home.clone()?,
            "@prefix" => self.prefix(program?)?,
            _ => {
                let name = first.strip_prefix('$')?;
                let set = self.variables.get(name).filter(|value| value.starts_with('/'));
                match set {
                    Some(value) => PathBuf::from(value),
                    None => self.expanded(table().places.get(name)?, program, left.checked_sub(1)?)?,
                }
            }
        };
        let path = normal(&start.join(rest));
        // A variable that is set to `/` or to the home folder would grant all of it.
        (path.is_absolute() && !self.is_wide(&path)).then_some(path)
    }

    /// The environment that a program is installed in, such as a virtual one: never the system's own.
    fn prefix(&self, program: &str) -> Option<PathBuf> {
        let found = self.variables.get("PATH")?.split(':').map(|folder| Path::new(folder).join(program));
        let bin = found.into_iter().find(|path| path.is_absolute() && path.is_file())?;
        let prefix = bin.parent()?.parent()?.to_path_buf();
        let own =
            prefix.join("pyvenv.cfg").is_file() || self.home.as_ref().is_some_and(|home| prefix.starts_with(home));
        own.then_some(prefix)
    }

    /// Whether a folder holds the home folder or all there is: to grant it would be no fence.
    pub(crate) fn is_wide(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(path))
    }
}

/// A path without `.`, `..` and double slashes, by its letters alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                found.pop();
            }
            other => found.push(other),
        }
    }
    found
}

/// A path with its links followed as far as it is there; what is not there yet hangs on the nearest folder that is.
pub(crate) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(found) = there.canonicalize() {
            return missing.iter().rev().fold(found, |folder, name| folder.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                there = parent;
            }
            _ => return path.to_path_buf(),
        }
    }
}

/// Whether this process itself may read there.
#[cfg(target_os = "linux")]
pub(crate) fn may_read(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

/// Whether this process itself may write there.
#[cfg(target_os = "linux")]
pub(crate) fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Without a fence none refuses anything.
#[cfg(not(target_os = "linux"))]
pub(crate) fn may_read(_: &Path) -> bool {
    false
}

/// Without a fence none refuses anything.
#[cfg(not(target_os = "linux"))]
pub(crate) fn may_write(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Environment { home: Some("/home/ada".into()), variables }
    }

    #[test]
    fn path_takes_the_variable_of_the_command_before_the_usual_place() {
        let usual = environment(&[]);
        assert_eq!(usual.path("$CARGO_HOME/registry", None), Some("/home/ada/.cargo/registry".into()));
        assert_eq!(usual.path("$GOMODCACHE", None), Some("/home/ada/go/pkg/mod".into()));
        let moved = environment(&[("CARGO_HOME", "/srv/cargo"), ("GOPATH", "/srv/go")]);
        assert_eq!(moved.path("$CARGO_HOME/registry", None), Some("/srv/cargo/registry".into()));
        assert_eq!(moved.path("$GOMODCACHE", None), Some("/srv/go/pkg/mod".into()));
        assert_eq!(usual.path("$VIRTUAL_ENV", None), None);
    }

    #[test]
    fn path_that_would_grant_everything_stands_for_none() {
        for wide in ["/", "/home/ada", "/home", "/home/ada/x/..", "relative", ""] {
            assert_eq!(environment(&[("VIRTUAL_ENV", wide)]).path("$VIRTUAL_ENV", None), None, "{wide}");
        }
    }
}
