//! Paths as rules see them: resolved by their letters alone, under the names that rules use for places.
//!
//! A path has up to three forms: absolute, `~/…` below the home folder, `./…` below the workspace. Nothing is looked up
//! on a disk, so a symbolic link stays what it is called. What holds a wildcard or a variable is compared as such: it
//! matches for certain where each of its readings would, and perhaps where one would.

use serde::{Deserialize, Serialize};

use crate::{
    Commands,
    links::{Links, followed},
    paths::{below_variable, below_working_folder},
};

mod pattern;

pub(super) use pattern::PathPattern;
use pattern::{covers, tokens};

/// Characters of a path or pattern that are compared; what is longer matches nothing for certain.
const LONGEST: usize = 1_024;

/// Where a call would run: what `~`, the workspace and a relative path stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Surroundings {
    /// The home folder, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The folder that the run works in, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What the user says of programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
}

impl Surroundings {
    /// The surroundings in which the examples of rules are read.
    pub(crate) fn of_examples() -> Self {
        let (home, workspace) = (Some("/home/user".to_owned()), Some("/home/user/project".to_owned()));
        Self { home, workspace, commands: None }
    }
}

/// How sure a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// It depends on what a variable or a wildcard stands for.
    Perhaps,
    Yes,
}

/// A character of a path, or of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    /// Any one character but `/`.
    One,
    /// Any characters but `/`.
    Star,
    /// Any characters.
    Stars,
}

/// A path of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// As it was written.
    pub(crate) raw: String,
    /// Absolute, `~/…` and `./…`, where it has that form.
    forms: Vec<String>,
    /// What wildcards make it, perhaps.
    perhaps: Vec<String>,
    /// Whether it holds wildcards or variables.
    loose: bool,
    /// Absolute and not shortened, where it has that form.
    spelled: Option<String>,
    /// What it is called and where it leads, if it is a link.
    led: Option<(Box<Self>, String)>,
}

/// What kind of place a path is, for people and for the keys of approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathClass {
    /// The workspace.
    Workspace,
    /// A temporary folder.
    Temporary,
    /// The home folder, outside the workspace.
    Home,
    /// Keys and settings of the person: `~/.ssh`, `~/.aws`, start-up files of the shell.
    Private,
    /// The system's own folders.
    System,
    /// Somewhere else.
    Elsewhere,
    /// It can't be told from the text.
    Unknown,
}

impl PathClass {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Workspace => "in the workspace",
            Self::Temporary => "in temporary folders",
            Self::Home => "in the home folder",
            Self::Private => "among private settings and keys",
            Self::System => "in folders of the system",
            Self::Elsewhere => "outside the workspace",
            Self::Unknown => "in places that can't be told",
        }
    }
}

impl Place {
    /// A path as it stands in a call. `loose` for a word of a shell line whose wildcards and variables count.
    pub(crate) fn new(raw: &str, loose: bool, around: &Surroundings) -> Self {
        let text = raw.strip_prefix("file://").unwrap_or(raw);
        let mut text = text.to_owned();
        if !loose && (text.contains('\\') && !text.contains('/')) {
            text = text.replace('\\', "/");
        }
        for variable in ["${HOME}", "$HOME"] {
            if let Some(rest) = text.strip_prefix(variable)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                text = format!("~{rest}");
            }
        }
        if let Some(named) = of_user(&text, around.home.as_deref()) {
            text = named;
        }
        let loose = loose && text.contains(['*', '?', '[', '$', '`', '{']);
        let mut forms = Vec::with_capacity(3);
        let rooted = |base: &str, rest: &str| format!("{base}/{rest}");
        let spelled = if let Some(rest) = text.strip_prefix("~/").or_else(|| (text == "~").then_some("")) {
            if around.home.is_none() {
                forms.push(tidy("~", rest));
            }
            around.home.as_deref().map(|home| rooted(home, rest))
        } else if text.starts_with('/') {
            Some(text.clone())
        } else if loose && (text.starts_with(['$', '`']) || text.starts_with("{}")) {
            // It may be any folder: what is known is how the path goes on.
            forms.push(text.clone());
            None
        } else if drive(&text) {
            Some(format!("/{}", normal(&text.replace('\\', "/")).trim_start_matches('/')))
        } else {
            if around.workspace.is_none() {
                forms.push(tidy(".", &text));
            }
            around.workspace.as_deref().map(|folder| rooted(folder, &text))
        };
        let of_variable = if spelled.is_none() { below_variable(&text) } else { None };
        if let Some(absolute) = spelled.as_deref().map(normal) {
            for (sign, root) in [("~", &around.home), (".", &around.workspace)] {
                let below = root.as_deref().and_then(|root| beneath(&absolute, &normal(root)).map(str::to_owned));
                if let Some(rest) = below {
                    forms.push(if rest.is_empty() { sign.to_owned() } else { format!("{sign}/{rest}") });
                }
            }
            if around.home.is_none()
                && let Some(rest) = below_any_home(&absolute)
            {
                forms.push(if rest.is_empty() { "~".to_owned() } else { format!("~/{rest}") });
            }
            forms.push(absolute);
        }
        let mut perhaps = Vec::new();
        if loose && let Some(absolute) = forms.iter().find(|form| form.starts_with('/')) {
            for (sign, root) in [("~", &around.home), (".", &around.workspace)] {
                let below = root.as_deref().and_then(|root| perhaps_beneath(absolute, &normal(root)));
                perhaps.extend(below.map(|rest| format!("{sign}/{rest}")));
            }
        }
        Self { raw: raw.to_owned(), forms, perhaps, loose, spelled: spelled.or(of_variable), led: None }
    }

    /// A path of a command that runs in `folder`; without one it runs where the call runs.
    pub(crate) fn within(raw: &str, loose: bool, folder: Option<&str>, around: &Surroundings) -> Self {
        if let Some(rest) = below_working_folder(raw) {
            let here = format!(".{rest}");
            return Self { raw: raw.to_owned(), ..Self::within(&here, loose, folder, around) };
        }
        let rooted = raw.starts_with(['/', '~', '$', '`']) || drive(raw) || raw.starts_with("file:");
        match folder {
            Some(folder) if !rooted => {
                let loose = loose || folder.starts_with('$');
                Self { raw: raw.to_owned(), ..Self::new(&format!("{folder}/{raw}"), loose, around) }
            }
            _ => Self::new(raw, loose, around),
        }
    }

    /// Its absolute path, with what a link may make otherwise: `a/../b`, `/$NAME/b`.
    pub(crate) fn spelled(&self) -> Option<&str> {
        self.spelled.as_deref()
    }

    /// Has it lead where its links do.
    pub(crate) fn follow(&mut self, links: &Links, around: &Surroundings) {
        if let Some(real) = self.spelled.as_deref().and_then(|path| followed(path, links)) {
            let led = Self::new(&real, self.loose, around);
            let called = std::mem::replace(self, Self { raw: self.raw.clone(), ..led });
            self.led = Some((Box::new(called), real));
        }
    }

    /// Where it leads, if it is a link.
    pub(crate) fn leads(&self) -> Option<&str> {
        self.led.as_ref().map(|(_, real)| real.as_str())
    }

    /// The path as it is called, if it is a link.
    pub(crate) fn as_called(&self) -> Option<&Self> {
        self.led.as_ref().map(|(called, _)| called.as_ref())
    }

    /// The absolute path, where nothing in it depends on what is there.
    pub(crate) fn certain(&self) -> Option<&str> {
        self.forms.iter().map(String::as_str).find(|form| form.starts_with('/')).filter(|_| !self.loose)
    }

    /// What kind of place it is.
    pub(crate) fn class(&self) -> PathClass {
        const PRIVATE: [&str; 14] = [
            ".ssh",
            ".aws",
            ".gnupg",
            ".kube",
            ".docker",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".zshrc",
            ".gitconfig",
            ".config",
        ];
        const SYSTEM: [&str; 14] = [
            "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/root", "/sbin", "/sys", "/usr",
            "/var", "/System",
        ];
        if self.loose && self.forms.iter().any(|form| form.contains(['$', '`'])) {
            return PathClass::Unknown;
        }
        let below = |sign: &str| self.forms.iter().find_map(|form| beneath(form, sign));
        let private = |rest: &str| rest.split('/').next().is_some_and(|first| PRIVATE.contains(&first));
        if below("~").is_some_and(private) {
            return PathClass::Private;
        }
        if below(".").is_some() {
            return PathClass::Workspace;
        }
        if ["/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/dev/null", "/dev/shm"]
            .iter()
            .any(|at| below(at).is_some())
        {
            return PathClass::Temporary;
        }
        if below("~").is_some() {
            return PathClass::Home;
        }
        if self.forms.iter().any(|form| form == "/") || SYSTEM.iter().any(|at| below(at).is_some()) {
            return PathClass::System;
        }
        PathClass::Elsewhere
    }
}

/// `~name/…` as a path: this home if it is that user's, else where homes usually are.
fn of_user(text: &str, home: Option<&str>) -> Option<String> {
    let rest = text.strip_prefix('~')?;
    let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
    if user.is_empty() || !user.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
        return None;
    }
    Some(match home.filter(|home| home.rsplit('/').next() == Some(user)) {
        Some(home) => format!("{home}/{rest}"),
        None if user == "root" => format!("/root/{rest}"),
        None => format!("/home/{user}/{rest}"),
    })
}

/// What of a path with wildcards lies below `root`, if its wildcards stand for the folders of that.
fn perhaps_beneath(path: &str, root: &str) -> Option<String> {
    let mut parts = path.split('/');
    for folder in root.split('/') {
        let part = parts.next()?;
        if part != folder && !covers(&tokens(part, true), &tokens(folder, false)) {
            return None;
        }
    }
    Some(parts.collect::<Vec<_>>().join("/")).filter(|rest| !rest.is_empty())
}

/// `C:\…` or `C:/…`.
fn drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// What of `path` lies below `root`; empty for the root itself.
fn beneath<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    if root == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Below a folder that looks like somebody's home, where nobody says which is.
fn below_any_home(path: &str) -> Option<&str> {
    if let Some(rest) = beneath(path, "/root") {
        return Some(rest);
    }
    let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"))?;
    Some(rest.split_once('/').map_or("", |(_, rest)| rest))
}

/// An absolute path without `.`, `..` and doubled slashes.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// `sign/rest` without `.`, `..` and doubled slashes; what leads out of the sign keeps its `..`.
fn tidy(sign: &str, rest: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut out = 0_usize;
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => out += usize::from(parts.pop().is_none()),
            part => parts.push(part),
        }
    }
    let up = vec![".."; out];
    if out > 0 {
        return up.into_iter().chain(parts).collect::<Vec<_>>().join("/");
    }
    if parts.is_empty() { sign.to_owned() } else { format!("{sign}/{}", parts.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> Match {
        PathPattern::new(pattern).unwrap().matches(&Place::new(path, true, &Surroundings::of_examples()))
    }

    #[test]
    fn d10_places_are_found_under_each_of_their_names() {
        for path in [
            "~/.ssh/id",
            "$HOME/.ssh/id",
            "${HOME}/.ssh/../.ssh/id",
            "/home/user/.ssh/id",
            "../.ssh/id",
            "~//.ssh/./id",
        ] {
            assert_eq!(matches("~/.ssh", path), Match::Yes, "{path}");
            assert_eq!(matches("~/.ssh/**", path), Match::Yes, "{path}");
            assert_eq!(matches("/home/user/.ssh", path), Match::Yes, "{path}");
        }
        assert_eq!(matches("~/.ssh/**", "~/.ssh"), Match::Yes);
        assert_eq!(matches("~/.ssh", "~/.sshd/x"), Match::No);
        assert_eq!(matches("src", "src/a.rs"), Match::Yes);
        assert_eq!(matches("src", "./lib/../src/a.rs"), Match::Yes);
        assert_eq!(matches("src", "/home/user/project/src/a.rs"), Match::Yes);
        assert_eq!(matches("src", "source/a.rs"), Match::No);
        assert_eq!(matches("src", "/src/a.rs"), Match::No);
        assert_eq!(matches("/", "anything"), Match::Yes);
        assert_eq!(matches(".", "a/b"), Match::Yes);
        assert_eq!(matches(".", "/etc/passwd"), Match::No);
    }

    #[test]
    fn d10_globs() {
        assert_eq!(matches("**/.env", "a/b/.env"), Match::Yes);
        assert_eq!(matches("**/.env", ".env"), Match::Yes);
        assert_eq!(matches("**/.env", "a/x.env"), Match::No);
        assert_eq!(matches("src/*.rs", "src/a.rs"), Match::Yes);
        assert_eq!(matches("src/*.rs", "src/a/b.rs"), Match::No);
        assert_eq!(matches("src/**/*.rs", "src/a/b.rs"), Match::Yes);
        assert_eq!(matches("src/**/*.rs", "src/b.rs"), Match::Yes);
        assert_eq!(matches("src/?.{rs,py}", "src/a.py"), Match::Yes);
        assert_eq!(matches("src/?.{rs,py}", "src/ab.py"), Match::No);
    }

    #[test]
    fn d10_wildcards_and_variables_of_the_call_match_perhaps() {
        assert_eq!(matches("~/.ssh/**", "~/.ssh/*"), Match::Yes);
        assert_eq!(matches("~/.ssh/id", "~/.ssh/*"), Match::Perhaps);
        assert_eq!(matches("~/.ssh/**", "~/.s*/id"), Match::Perhaps);
        assert_eq!(matches("~/.ssh/**", "$X/.ssh/id"), Match::Perhaps);
        assert_eq!(matches("~/.ssh/**", "/home/*/.ssh/id"), Match::Perhaps);
        assert_eq!(matches("~/.ssh/**", "/h*/u?er/.ssh/id"), Match::Perhaps);
        assert_eq!(matches("~/.ssh/**", "/home/x*/.ssh/id"), Match::No);
        assert_eq!(matches("~/.ssh/**", "~user/.ssh/id"), Match::Yes);
        assert_eq!(matches("~/.ssh/**", "~other/.ssh/id"), Match::No);
        assert_eq!(matches("~/.ssh/**", "src/*.rs"), Match::No);
        assert_eq!(matches("~/.ssh/**", "$FILE"), Match::No);
    }

    #[test]
    fn x10_places_have_classes() {
        let class = |path: &str| Place::new(path, true, &Surroundings::of_examples()).class();
        assert_eq!(class("a.txt"), PathClass::Workspace);
        assert_eq!(class("/tmp/../tmp/x"), PathClass::Temporary);
        assert_eq!(class("../notes"), PathClass::Home);
        assert_eq!(class("~/.ssh/id"), PathClass::Private);
        assert_eq!(class("/etc/passwd"), PathClass::System);
        assert_eq!(class("/"), PathClass::System);
        assert_eq!(class("/srv/data"), PathClass::Elsewhere);
        assert_eq!(class("$X/y"), PathClass::Unknown);
    }

    #[test]
    fn d10_hostile_paths_take_little_time() {
        let star = "*a".repeat(400);
        let path = "a".repeat(4_000);
        assert_eq!(matches(&star, &path), Match::No.max(matches(&star, &path)));
        assert!(PathPattern::new(&"{a,b}".repeat(9)).is_err());
        assert!(PathPattern::new("{a").is_err());
        assert!(PathPattern::new("../up").is_err());
    }
}
