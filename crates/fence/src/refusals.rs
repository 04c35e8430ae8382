//! What the fence refused, read from what a command wrote.
//!
//! The kernel tells a program no more than that it may not. What stands here is what the program said of it, held
//! against the fence: a path is named only if the fence refuses it and this process would not have been refused.

use std::path::{Path, PathBuf};

use loopwright_base::text::head;

use crate::{
    Fence,
    places::{may_read, may_write, real},
    table::table,
};

/// Lines of output that are looked at, and refusals that are told.
const MOST_LINES: usize = 4_000;
const MOST_TOLD: usize = 8;
/// Paths that are looked up, in one line and in all, and bytes of a line that are looked at.
const MOST_PATHS: (usize, usize) = (16, 128);
const LONGEST_LINE: usize = 2_000;
/// Lines above one that only says that it was denied, as the end of a traceback does, that may say what was.
const LINES_BEFORE: usize = 12;

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// To read something private.
    Read,
    /// To write outside of the workspace.
    Write,
    /// The network.
    Network,
    /// The socket of another program.
    Sockets,
    /// A signal to a process outside.
    Signal,
    /// The rights of another user.
    Privileges,
}

/// What the fence seems to have refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it was.
    pub kind: RefusalKind,
    /// Where.
    pub path: Option<PathBuf>,
}

impl RefusalKind {
    /// In a word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Sockets => "sockets",
            Self::Signal => "signal",
            Self::Privileges => "privileges",
        }
    }
}

impl Fence {
    /// What the fence seems to have refused to a command that wrote this.
    pub fn refusals(&self, output: &str) -> Vec<Refusal> {
        let signs = &table().signs;
        let private = self.private();
        let mut left = MOST_PATHS.1;
        let mut found: Vec<Refusal> = Vec::new();
        let mut tell = |kind, path| {
            let refusal = Refusal { kind, path };
            if found.len() < MOST_TOLD && !found.contains(&refusal) {
                found.push(refusal);
            }
        };
        let lines: Vec<(&str, String)> = output
            .lines()
            .take(MOST_LINES)
            .map(|line| head(line, LONGEST_LINE))
            .map(|line| (line, line.to_lowercase()))
            .collect();
        for (at, (line, lower)) in lines.iter().enumerate() {
            let has = |signs: &[String]| signs.iter().any(|sign| lower.contains(sign.as_str()));
            if has(&signs.privileges) {
                tell(RefusalKind::Privileges, None);
            }
            let denied = has(&signs.denied);
            if !self.network && has(&signs.network) {
                tell(RefusalKind::Network, None);
            } else if !self.sockets && denied && has(&signs.sockets) {
                tell(RefusalKind::Sockets, None);
            } else if denied && has(&signs.signal) {
                tell(RefusalKind::Signal, None);
            } else if denied {
                let (mut named, mut whole) = (false, Vec::new());
                let paths = paths_in(line);
                let several = paths.len() > 1;
                for path in paths.into_iter().take(left) {
                    (named, left) = (true, left - 1);
                    let resolved = self.resolved(path);
                    let has_blanks = path.contains(char::is_whitespace);
                    // Words with blanks are a path only where there is a folder for it; then its parts are none.
                    let is_path = !has_blanks || resolved.parent().is_some_and(Path::is_dir);
                    // The program that speaks, in front of what it speaks of.
                    let speaks = several && line.strip_prefix(path).is_some_and(|rest| rest.starts_with(": "));
                    if !is_path
                        || (speaks && resolved.is_file())
                        || whole.iter().any(|known: &&str| known.contains(path))
                    {
                        continue;
                    }
                    if let Some(kind) = self.refused(&resolved, &private) {
                        tell(kind, Some(resolved));
                        whole.extend(has_blanks.then_some(path));
                    }
                }
                let first = (at + 1).saturating_sub(LINES_BEFORE);
                let before = |signs: &[String]| {
                    let mut near = lines.iter().take(at + 1).skip(first);
                    near.any(|(_, text)| signs.iter().any(|sign| text.contains(sign.as_str())))
                };
                if !named && !self.sockets && before(&signs.sockets) {
                    tell(RefusalKind::Sockets, None);
                } else if !named && !self.network && before(&signs.network_before) {
                    tell(RefusalKind::Network, None);
                }
            }
        }
        found
    }

    /// What the fence refuses of a path that this process itself could use.
    fn refused(&self, path: &Path, private: &[PathBuf]) -> Option<RefusalKind> {
        if !self.reads(path, private) {
            return may_read(path).then_some(RefusalKind::Read);
        }
        let there = real(path);
        let changed = there.ancestors().find(|place| place.exists())?;
        (!self.writes(path) && may_write(changed)).then_some(RefusalKind::Write)
    }
}

/// The words of a line that look like paths: what stands in quotes or between colons first, since it may hold blanks.
fn paths_in(line: &str) -> Vec<&str> {
    let quoted = line.split(['\'', '"', '‘', '’', '`']).skip(1).step_by(2);
    let between = line.split(": ").filter_map(|part| {
        let starts = part.match_indices(['/', '~', '.']).map(|(at, _)| at);
        let begins = |at: &usize| part[..*at].chars().next_back().is_none_or(char::is_whitespace);
        starts.filter(begins).map(|at| part[at..].trim_end()).next().filter(|path| path.contains(' '))
    });
    let plain = line.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '‘' | '’' | '`' | '(' | ')' | ','));
    let mut found: Vec<&str> = Vec::new();
    let bare = plain.flat_map(|word| [word.trim_end_matches([':', ';', '.']), word.split(':').next().unwrap_or(word)]);
    for word in quoted.chain(between).chain(bare) {
        if (word.starts_with(['/', '~']) || word.contains('/')) && !word.contains("://") && !found.contains(&word) {
            found.push(word);
        }
        if found.len() == MOST_PATHS.0 {
            break;
        }
    }
    found
}
