//! What a line is granted once it may run: the network, caches and settings of the programs in it, paths that it names.
//!
//! The line as a whole has one fence, so what one of its programs is granted all of them have.

use std::path::{Path, PathBuf};

use crate::{
    Fence,
    places::real,
    table::{ToolGrant, table},
};

/// Paths of a line that are looked up; what it names beyond is granted nothing.
const MOST_PATHS: usize = 256;

/// A command of a line, as the guard read it.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// The program and its words.
    pub words: Vec<String>,
    /// The paths that it names, absolute or from the workspace on.
    pub paths: Vec<PathBuf>,
    /// Whether it names hosts.
    pub hosts: bool,
    /// Whether it may change something.
    pub changes: bool,
    /// Whether a person is asked about it.
    pub asked: bool,
}

/// What a line is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The network.
    pub network: bool,
    /// Sockets of other programs of this machine.
    pub sockets: bool,
    /// A program in it can't do its work behind a fence, and somebody was asked about it.
    pub unfenced: bool,
    /// What it may read although it is private.
    pub read: Vec<PathBuf>,
    /// What it may write outside of the workspace.
    pub write: Vec<PathBuf>,
    /// Folders in which it may make and remove names.
    pub names: Vec<PathBuf>,
    /// Folders of caches, to be made where they are missing.
    pub caches: Vec<PathBuf>,
}

impl Grants {
    /// What these commands are granted behind that fence.
    pub fn of(steps: &[Step], fence: &Fence) -> Self {
        let mut found = Self::default();
        let private = fence.private();
        let mut left = MOST_PATHS;
        for step in steps {
            found.network |= step.hosts && step.changes;
            for path in step.paths.iter().take(left) {
                found.take_path(&fence.workspace.join(path), step, fence, &private);
            }
            left = left.saturating_sub(step.paths.len());
            for tool in &table().tools {
                if let Some(program) = matching(tool, &step.words) {
                    found.take_tool(tool, program, step.asked, fence);
                }
            }
        }
        for list in [&mut found.read, &mut found.write, &mut found.names, &mut found.caches] {
            list.sort();
            list.dedup();
        }
        found
    }

    fn take_tool(&mut self, tool: &ToolGrant, program: &str, asked: bool, fence: &Fence) {
        if tool.unfenced {
            self.unfenced |= asked;
            return;
        }
        let place = |written: &String| fence.environment.path(written, Some(program));
        self.network |= tool.network;
        self.sockets |= tool.sockets;
        self.read.extend(tool.read.iter().filter_map(place));
        self.write.extend(tool.write.iter().chain(&tool.caches).filter_map(place));
        self.caches.extend(tool.caches.iter().filter_map(place));
    }

    /// A path that the line names. What the guard takes for harmless grants nothing: who lists a folder reads no file.
    fn take_path(&mut self, path: &Path, step: &Step, fence: &Fence, private: &[PathBuf]) {
        let path = real(path);
        if !step.changes || path.starts_with(real(&fence.workspace)) {
            return;
        }
        let holds_private = |folder: &Path| private.iter().any(|path| path.starts_with(folder));
        if private.iter().any(|folder| path.starts_with(folder)) {
            // Somebody has seen this very path.
            if step.asked {
                self.write.push(path);
            }
            return;
        }
        let wide = |folder: &Path| fence.environment.is_wide(folder) || holds_private(folder);
        let Some(folder) = path.ancestors().skip(1).find(|folder| folder.is_dir()) else { return };
        if wide(&path) {
            return;
        }
        // To be moved or removed is a matter of the folder above; a file that is not there yet is one, too.
        if !wide(folder) && !path.is_dir() {
            self.write.push(folder.to_path_buf());
        } else if folder.parent().is_some() {
            self.names.push(folder.to_path_buf());
        }
        self.write.push(path);
    }

    /// The fence with what is granted.
    pub fn widen(self, fence: &mut Fence) {
        fence.network |= self.network;
        fence.sockets |= self.sockets;
        fence.read.extend(self.read);
        fence.write.extend(self.write);
        fence.names.extend(self.names);
    }
}

/// The name by which a tool of the table runs in these words, if it does.
fn matching<'w>(tool: &ToolGrant, words: &'w [String]) -> Option<&'w str> {
    let mut words = words;
    let mut program = base(words.first()?);
    if program.starts_with("python") && words.get(1).is_some_and(|word| word == "-m") {
        words = words.get(2..)?;
        program = base(words.first()?);
    }
    let subcommand = || {
        let mut rest = words.iter().skip(1).map(String::as_str);
        while let Some(word) = rest.next() {
            if tool.takes.iter().any(|option| option == word) {
                rest.next();
            } else if !word.starts_with(['-', '+']) {
                return Some(word);
            }
        }
        None
    };
    let matches = |line: &String| {
        let (programs, subcommands) = line.split_once(' ').unwrap_or((line, ""));
        programs.split('|').any(|name| name == program)
            && (subcommands.is_empty()
                || subcommand().is_some_and(|word| subcommands.split('|').any(|name| name == word)))
    };
    tool.lines.iter().any(matches).then_some(program)
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Grants {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut fence = Fence { workspace: "/home/ada/work".into(), ..Fence::default() };
        fence.environment.home = Some("/home/ada".into());
        Grants::of(&[Step { words, changes: true, ..Step::default() }], &fence)
    }

    #[test]
    fn grants_open_the_network_for_subcommands_that_need_it() {
        for line in [
            "git push",
            "git -C /srv/x fetch origin",
            "/usr/bin/git clone x",
            "python3.12 -m pip install x",
            "cargo +nightly build",
        ] {
            assert!(of(line).network, "{line}");
        }
        for line in [
            "git commit -m fetch",
            "git status",
            "git -C fetch log",
            "npm test",
            "python -m pytest",
            "make",
            "gitk push",
        ] {
            assert!(!of(line).network, "{line}");
        }
    }

    #[test]
    fn grants_hold_the_caches_and_settings_of_the_program() {
        let found = of("npm test");
        assert_eq!((found.read, found.write), (vec!["/home/ada/.npmrc".into()], vec!["/home/ada/.npm".into()]));
        assert!(of("git push").read.contains(&"/home/ada/.ssh".into()));
        assert!(of("cargo build").caches.contains(&"/home/ada/.cargo/registry".into()));
    }

    #[test]
    fn grants_lift_the_fence_only_where_a_person_was_asked() {
        let step = |asked| Step { words: vec!["sudo".into(), "ls".into()], asked, ..Step::default() };
        assert!(!Grants::of(&[step(false)], &Fence::default()).unfenced);
        assert!(Grants::of(&[step(true)], &Fence::default()).unfenced);
    }
}
