//! What a command writes to by redirection: where it lies, and whether the file is only emptied.

use std::collections::HashSet;

use super::Ground;
use super::Verdict;
use crate::{
    RiskLevel, files,
    paths::{Place, place_of},
    shell::{Redirect, RedirectKind, SimpleCommand, is_shell},
};

/// What a command is given and reads, looked through once for all of its redirections.
pub(super) struct Beside<'c> {
    /// Its words, and the files that it reads from.
    texts: HashSet<&'c str>,
    /// Whether random bytes or zeros are among them.
    noise: bool,
}

impl<'c> Beside<'c> {
    pub(super) fn of(command: &'c SimpleCommand) -> Self {
        let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let words = command.words.iter().skip(1).map(|word| word.text.as_str());
        let noise = command.words.iter().any(|word| {
            let file = word.text.strip_prefix("if=").unwrap_or(&word.text);
            matches!(file, "/dev/urandom" | "/dev/random" | "/dev/zero")
        });
        Self { texts: words.chain(read.map(|redirect| redirect.target.text.as_str())).collect(), noise }
    }
}

pub(super) fn redirection(
    redirect: &Redirect,
    command: &SimpleCommand,
    given: &Beside<'_>,
    ground: &Ground<'_>,
) -> Option<Verdict> {
    if !matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite) {
        return None;
    }
    let mut place = place_of(&redirect.target, command.cwd.as_ref(), ground.context);
    if redirect.target.text.starts_with(">(") {
        return None;
    }
    if command.remote && matches!(place, Place::Workspace | Place::WholeWorkspace) {
        place = Place::Elsewhere;
    }
    let target = redirect.target.text.as_str();
    if place == Place::Nowhere {
        return None;
    }
    if let Some(verdict) = held_by_another(redirect, command) {
        return Some(verdict);
    }
    if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
        let why = "sends to another machine";
        return Some(Verdict::new(RiskLevel::Cautious, "file.redirect", why, redirect.span.clone()));
    }
    let mut level = files::write(place);
    if target.starts_with("/proc/sys") || target.starts_with("/sys/") {
        level = RiskLevel::Confirm;
    }
    if target == "/proc/sysrq-trigger"
        || matches!(target, "/etc/passwd" | "/etc/shadow" | "/etc/sudoers" | "/etc/fstab")
    {
        level = RiskLevel::Dangerous;
    }
    if redirect.kind == RedirectKind::Write
        && prints_nothing(command)
        && !matches!(place, Place::Temporary)
        && level < RiskLevel::Confirm
    {
        return Some(Verdict::new(
            RiskLevel::Confirm,
            "file.truncate",
            format!("empties a file in {}", place.words()),
            redirect.span.clone(),
        ));
    }
    // `jq . data.json > data.json`: the shell empties the file before the program reads it.
    let reads_it = || {
        !matches!(command.known_program(), Some("echo" | "printf" | "touch" | "test" | "["))
            && given.texts.contains(target)
    };
    if redirect.kind == RedirectKind::Write
        && level < RiskLevel::Confirm
        && !matches!(place, Place::Temporary)
        && !target.is_empty()
        && reads_it()
    {
        return Some(Verdict::new(
            RiskLevel::Confirm,
            "file.truncate",
            format!("empties a file in {} before it is read", place.words()),
            redirect.span.clone(),
        ));
    }
    // Random bytes or nothing but zeros over what is there.
    if redirect.kind == RedirectKind::Write
        && level < RiskLevel::Confirm
        && !matches!(place, Place::Temporary)
        && !files::is_made_again(target)
        && given.noise
    {
        return Some(Verdict::new(
            RiskLevel::Confirm,
            "file.truncate",
            format!("writes noise over a file in {}", place.words()),
            redirect.span.clone(),
        ));
    }
    let verb = if redirect.kind == RedirectKind::Append { "adds to" } else { "overwrites" };
    Some(Verdict::new(level, "file.redirect", format!("{verb} a file in {}", place.words()), redirect.span.clone()))
}

/// A shell whose input or output is a connection: whoever is at the other end types into it.
fn held_by_another(redirect: &Redirect, command: &SimpleCommand) -> Option<Verdict> {
    let target = redirect.target.text.as_str();
    let host = target.strip_prefix("/dev/tcp/").or_else(|| target.strip_prefix("/dev/udp/"))?.split('/').next()?;
    let shell = match command.program()? {
        // `exec 3<>/dev/tcp/localhost/80` asks whether a server of this machine is up.
        "exec" => !matches!(host, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0"),
        name => is_shell(name),
    };
    shell.then(|| {
        Verdict::new(
            RiskLevel::Confirm,
            "shell.remote.control",
            "lets another machine run commands",
            redirect.span.clone(),
        )
    })
}

fn prints_nothing(command: &SimpleCommand) -> bool {
    let rest: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    match command.program() {
        None => command.words.is_empty() && command.redirects.len() == 1 && !command.grouped,
        Some(":" | "true") => true,
        // `> data.db --help`: no program is called so, and the file is empty by then.
        Some(name) if name.starts_with('-') => true,
        Some("echo") => matches!(rest.as_slice(), [] | ["" | "-n"] | ["-n", ""]),
        Some("printf") => matches!(rest.as_slice(), [""]),
        Some("cat") => rest == ["/dev/null"],
        _ => false,
    }
}
