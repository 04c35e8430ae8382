//! Where a path leads, by its text alone: `~`, `$HOME`, `.` and `..` resolved, no symbolic link followed.

use super::{Commands, policy::Surroundings, shell::Word};
use crate::names;

/// The list of start-up files and secrets, below a home folder.
const PRIVATE: &str = "files.private";
/// The list of folders of the system.
const SYSTEM: &str = "files.system";

/// What is known of the machine that a call runs on. All of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RiskContext {
    /// The folder whose files may be worked on. Without one, what is below the folder that commands start in.
    pub workspace: Option<String>,
    /// The folder that commands start in; the workspace if not given.
    pub cwd: Option<String>,
    /// The home folder.
    pub home: Option<String>,
    /// More folders for what nobody misses, besides `/tmp`, `/var/tmp` and `$TMPDIR`.
    pub temporary: Vec<String>,
    /// What the user says of programs.
    pub commands: Option<Commands>,
}

impl RiskContext {
    /// What the surroundings of a run say.
    pub(super) fn of(around: &Surroundings) -> Self {
        let Surroundings { home, workspace, commands } = around.clone();
        Self { workspace, home, commands, ..Self::default() }
    }
}

/// The kinds of places, from those that nobody misses to those that everything hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    /// `/dev/null` and the terminals: nothing is kept there.
    Nowhere,
    /// Below a temporary folder.
    Temporary,
    /// In the workspace.
    Workspace,
    /// The whole workspace, the folder one is in, or the repository's own data.
    WholeWorkspace,
    /// Somewhere else.
    Elsewhere,
    /// It cannot be told.
    Unknown,
    /// In the home folder.
    Home,
    /// Keys, passwords and start-up files in the home folder.
    Private,
    /// A whole home folder, a mount, or the temporary folder itself.
    WholeHome,
    /// The operating system's files.
    System,
    /// The root of all files.
    Root,
    /// A disk or another device.
    Device,
}

impl Place {
    /// The words for people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Nowhere => "nowhere",
            Self::Temporary => "a temporary folder",
            Self::Workspace => "the workspace",
            Self::WholeWorkspace => "the whole workspace",
            Self::Elsewhere => "a place outside of the workspace",
            Self::Unknown => "a place that cannot be told",
            Self::Home => "the home folder",
            Self::Private => "private files of the home folder",
            Self::WholeHome => "a whole home folder",
            Self::System => "the system's files",
            Self::Root => "the root of all files",
            Self::Device => "a device",
        }
    }
}

const TEMPORARY: &[&str] =
    &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm", "$TMPDIR", "$TMP", "$TEMP"];
/// Folders below a home folder whose programs are started by themselves.
const STARTED: &[&str] = &[
    "Library/LaunchAgents",
    "Library/LaunchDaemons",
    ".config/autostart",
    ".config/systemd/user",
    ".config/fish/config.fish",
    ".config/fish/conf.d",
];

/// A path without `.`, `..` and doubled slashes. Leading `..` of a relative path stay.
fn normal(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"..") | None if !absolute => parts.push(".."),
                Some(_) => drop(parts.pop()),
                None => {}
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if absolute { format!("/{joined}") } else { joined }
}

fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let folder = folder.trim_end_matches('/');
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

fn names_everything(name: &str) -> bool {
    matches!(name, "*" | "**" | "*.*" | ".*" | "." | "" | "{*,.*}" | "?*" | ".[!.]*" | ".??*")
        // Everything but what is named: `!(keep)`.
        || name.starts_with("!(") && name.ends_with(')')
}

/// Where `word` leads, run in `cwd`.
pub(super) fn place_of(word: &Word, cwd: Option<&Word>, context: &RiskContext) -> Place {
    // The folder that commands run in by then, not the one that the text begins in.
    if let (Some(rest), Some(folder)) = (below_working_folder(&word.text), cwd) {
        let here = Word { text: format!(".{rest}"), exact: true, ..word.clone() };
        return if folder.text == "?" { Place::Unknown } else { place_of(&here, cwd, context) };
    }
    let text = word.text.as_str();
    if text.starts_with(['/', '~', '$']) || text.starts_with("file:") || is_windows(text) {
        return place(text, word.exact, context);
    }
    match cwd {
        Some(folder) if folder.text == "?" => {
            if word.exact && !text.starts_with("..") {
                Place::Workspace
            } else {
                Place::Unknown
            }
        }
        Some(folder) => place(&format!("{}/{text}", folder.text), word.exact && folder.exact, context),
        None => place(text, word.exact, context),
    }
}

/// What stands behind `$PWD`, with its slash.
pub(super) fn below_working_folder(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("$PWD").or_else(|| text.strip_prefix("${PWD}"))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// A path that begins with a variable, `$NAME/x` or `${NAME}/x`, as if the variable were a folder of the root: under
/// that name links say what it stands for.
pub(super) fn below_variable(text: &str) -> Option<String> {
    let rest = text.strip_prefix('$')?;
    let (name, rest) = match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => rest.split_at(rest.find('/').unwrap_or(rest.len())),
    };
    let named = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (named && (rest.is_empty() || rest.starts_with('/'))).then(|| format!("/${name}{rest}"))
}

fn is_windows(text: &str) -> bool {
    matches!(text.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic()) && !text.contains("://")
}

/// Where a path leads.
pub(super) fn place(text: &str, exact: bool, context: &RiskContext) -> Place {
    let text = text.strip_prefix("file://").unwrap_or(text);
    if is_windows(text) {
        return windows(text);
    }
    let mut path = text.to_owned();
    let home = context.home.as_deref().map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
    // `~/x`, `$HOME/x` and `/home/me/x` become one.
    if let Some(rest) = path.strip_prefix("$HOME").or_else(|| path.strip_prefix("${HOME}")) {
        path = format!("~{rest}");
    } else if let Some(rest) = below_working_folder(&path).or_else(|| path.strip_prefix("$(pwd)")) {
        path = format!(".{rest}");
    } else if let Some(home) = home
        && let Some(rest) = below(&normal(&path), home)
    {
        path = format!("~/{rest}");
    }
    for temporary in TEMPORARY.iter().copied().chain(context.temporary.iter().map(String::as_str)) {
        let path = normal(&path);
        if let Some(rest) = below(&path, temporary) {
            // The folder itself is others' too, and a variable may be empty.
            return if rest.is_empty() || rest.starts_with("..") { Place::WholeHome } else { Place::Temporary };
        }
    }
    if let Some(rest) = path.strip_prefix('~') {
        let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if !user.is_empty() && !user.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+')) {
            return Place::Unknown;
        }
        let rest = normal(rest);
        // The workspace may lie in the home folder.
        if user.is_empty()
            && let (Some(workspace), Some(home)) = (&context.workspace, home)
            && let Some(inside) = below(&format!("{home}/{rest}"), &normal(workspace))
        {
            return in_workspace(inside);
        }
        return in_home(&rest, exact);
    }
    if path.starts_with('$') || path.starts_with('`') || path.contains("$(") {
        return Place::Unknown;
    }
    if !path.starts_with('/') {
        let base = context.cwd.as_deref().or(context.workspace.as_deref());
        let relative = normal(&path);
        let leaves = relative.starts_with("..");
        let Some(base) = base.filter(|_| leaves || context.cwd.is_some() && context.workspace.is_some()) else {
            return if leaves {
                Place::Elsewhere
            } else if !exact && relative.starts_with(['{', '<']) {
                Place::Unknown
            } else {
                in_workspace(&relative)
            };
        };
        path = format!("{base}/{relative}");
    }
    let path = normal(&path);
    if let Some(workspace) = &context.workspace
        && let Some(inside) = below(&path, &normal(workspace))
    {
        return in_workspace(inside);
    }
    absolute(&path, exact)
}

fn in_workspace(inside: &str) -> Place {
    let inside = inside.trim_start_matches("./");
    let first = inside.split('/').next().unwrap_or("");
    if names_everything(inside) || first == ".git" && !inside.contains("/hooks/") {
        Place::WholeWorkspace
    } else {
        Place::Workspace
    }
}

fn in_home(rest: &str, exact: bool) -> Place {
    let first = rest.split('/').next().unwrap_or("");
    if names_everything(rest) {
        Place::WholeHome
    } else if first == ".." {
        Place::System
    } else if first == ".cache" || rest.starts_with("Library/Caches/") {
        Place::Elsewhere
    } else if STARTED.iter().any(|folder| below(rest, folder).is_some())
        || names::has(PRIVATE, first)
        || (first.starts_with('.') && !exact)
    {
        Place::Private
    } else {
        Place::Home
    }
}

#[allow(clippy::match_same_arms)] // tried in order
fn absolute(path: &str, exact: bool) -> Place {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => Place::Root,
        [name] if names_everything(name) => Place::Root,
        ["dev", "null" | "stdout" | "stderr" | "stdin" | "tty" | "zero" | "full" | "random" | "urandom"]
        | ["dev", "fd", ..] => Place::Nowhere,
        ["dev", "tcp" | "udp", ..] => Place::Elsewhere,
        ["dev", ..] => Place::Device,
        ["home" | "Users", rest @ ..] => match rest {
            [] | [_] => Place::WholeHome,
            [_, rest @ ..] => in_home(&rest.join("/"), exact),
        },
        ["root", rest @ ..] => in_home(&rest.join("/"), exact),
        ["usr", "local", _, ..] | ["opt" | "srv" | "data" | "mnt" | "media" | "Volumes", _, ..] => Place::Elsewhere,
        ["var", "www" | "folders", _, ..] => Place::Elsewhere,
        ["opt" | "srv" | "mnt" | "media" | "Volumes" | "data"] => Place::WholeHome,
        [first, ..] if names::has(SYSTEM, first) => Place::System,
        [first, ..] if first.contains(['*', '?', '[', '$', '(']) => Place::Root,
        [_] if !exact => Place::Unknown,
        _ => Place::Elsewhere,
    }
}

fn windows(text: &str) -> Place {
    let lower = text.to_ascii_lowercase().replace('\\', "/");
    let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).skip(1).collect();
    match parts.as_slice() {
        [] => Place::Root,
        [name] if names_everything(name) => Place::Root,
        ["windows" | "program files" | "program files (x86)" | "programdata", ..] => Place::System,
        ["users"] | ["users", _] => Place::WholeHome,
        ["users", _, "appdata", "local", "temp", _, ..] | ["temp" | "tmp", _, ..] => Place::Temporary,
        ["users", _, rest @ ..] => in_home(&rest.join("/"), true),
        _ => Place::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart() {
        let at = |text: &str| place(text, true, &RiskContext::default());
        for (text, wanted) in [
            ("/", Place::Root),
            ("/*", Place::Root),
            ("//", Place::Root),
            ("/tmp/..", Place::Root),
            ("/tmp/../etc", Place::System),
            ("/tmp/x", Place::Temporary),
            ("/tmp/*", Place::Temporary),
            ("/tmp", Place::WholeHome),
            ("$TMPDIR/x/../y", Place::Temporary),
            ("$TMPDIR/../x", Place::Unknown),
            ("~", Place::WholeHome),
            ("~/", Place::WholeHome),
            ("$HOME/*", Place::WholeHome),
            ("~/.ssh/id", Place::Private),
            ("~/x", Place::Home),
            ("~/../..", Place::System),
            ("/home/user", Place::WholeHome),
            ("/home", Place::WholeHome),
            ("/home/user/x/y", Place::Home),
            ("/root/.bashrc", Place::Private),
            ("/etc/passwd", Place::System),
            ("/dev/sda", Place::Device),
            ("/dev/null", Place::Nowhere),
            ("/opt/app/x", Place::Elsewhere),
            ("src/a", Place::Workspace),
            ("./build", Place::Workspace),
            ("a/../b", Place::Workspace),
            (".", Place::WholeWorkspace),
            ("*", Place::WholeWorkspace),
            (".git", Place::WholeWorkspace),
            ("a/../../b", Place::Elsewhere),
            ("../x", Place::Elsewhere),
            ("$X/y", Place::Unknown),
            ("C:\\Windows\\x", Place::System),
            ("C:\\", Place::Root),
        ] {
            assert_eq!(at(text), wanted, "{text}");
        }
    }

    #[test]
    fn the_working_folder_is_the_one_by_then() {
        let word = |text: &str, exact| Word { text: text.to_owned(), exact, ..Word::default() };
        let at = |text: &str, folder: Option<&str>| {
            let folder = folder.map(|folder| word(folder, true));
            place_of(&word(text, false), folder.as_ref(), &RiskContext::default())
        };
        for text in ["$PWD/x", "${PWD}/x"] {
            assert_eq!(at(text, None), Place::Workspace);
            assert_eq!(at(text, Some("src")), Place::Workspace);
            assert_eq!(at(text, Some("/etc")), Place::System);
            assert_eq!(at(text, Some("~/.ssh")), Place::Private);
            assert_eq!(at(text, Some("?")), Place::Unknown);
        }
        assert_eq!(at("$PWD", Some("/")), Place::Root);
        assert_eq!(at("$PWDX/x", Some("/etc")), Place::Unknown);
    }

    #[test]
    fn the_context_says_where_the_workspace_is() {
        let context = RiskContext {
            workspace: Some("/home/me/project".to_owned()),
            home: Some("/home/me".to_owned()),
            cwd: Some("/home/me/project/sub".to_owned()),
            temporary: vec!["/scratch".to_owned()],
            commands: None,
        };
        let at = |text: &str| place(text, true, &context);
        assert_eq!(at("/home/me/project/a"), Place::Workspace);
        assert_eq!(at("~/project/a"), Place::Workspace);
        assert_eq!(at("../a"), Place::Workspace);
        assert_eq!(at("../../a"), Place::Home);
        assert_eq!(at("/home/me/project"), Place::WholeWorkspace);
        assert_eq!(at("/home/me/projects"), Place::Home);
        assert_eq!(at("/home/me"), Place::WholeHome);
        assert_eq!(at("../../.ssh/id"), Place::Private);
        assert_eq!(at("/scratch/x"), Place::Temporary);
    }
}
