//! Programs that settings name: of Git, of `ssh`, and of variables that other programs look at. What they name is read
//! as shell text, for that is what runs it.

use super::{
    super::{Via, Word},
    Options, Outer, behind_options, join,
};
use crate::names;

/// The shell text that a variable gives to other programs to run, if it is one of those: `GIT_PAGER='…'`.
pub(in crate::shell) fn run_by_variable(name: &str, value: &str) -> Option<String> {
    let text = if name.starts_with("GIT_CONFIG_VALUE_") || name == "GIT_CONFIG_PARAMETERS" {
        // `GIT_CONFIG_PARAMETERS="'alias.p=push --force'"`: an alias, it may be.
        let alias = value.trim_matches('\'');
        let alias = alias.rsplit_once('=').map_or(alias, |(_, alias)| alias).trim_start_matches('\'');
        alias.strip_prefix('!').map_or_else(|| format!("git {alias}"), str::to_owned)
    } else if names::has("variables.programs", name) {
        value.trim_start_matches(['|', '-']).to_owned()
    } else {
        return None;
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Whether a variable names a program, which is then a command of its own, or is empty.
pub(crate) fn names_program(name: &str, value: &str) -> bool {
    value.is_empty() || !name.starts_with("GIT_CONFIG") && run_by_variable(name, value).is_some()
}

/// Whether a setting changes only what is shown or where a shell stops, or names a program that is a command of its
/// own: one of Git for one call, or one of a shell by `set -o`.
pub(crate) fn harmless_setting(setting: &str) -> bool {
    let (name, _) = setting.split_once('=').unwrap_or((setting, ""));
    let name = name.to_ascii_lowercase();
    ["color.", "column.", "advice."].iter().any(|start| name.starts_with(start))
        || names::has("programs.shell_options", name.as_str())
        || matches!(name.as_str(), "core.quotepath" | "core.abbrev" | "log.date" | "log.showsignature" | "user.name")
        || names_program_setting(&name)
}

/// Git runs text in `submodule foreach`, `rebase --exec`, `filter-branch`, and in aliases set for one call.
pub(super) fn git(outer: &mut Outer<'_>, words: &[Word]) {
    if only_tells_a_path(words) {
        return;
    }
    for (at, option) in words.iter().enumerate() {
        // `-c name=value`, `-cname=value`
        let value = match words.get(at + 1) {
            Some(value) if option.text == "-c" => value.clone(),
            _ => match option.text.strip_prefix("-c").filter(|text| text.contains('.') && text.contains('=')) {
                Some(text) => Word { text: text.to_owned(), ..option.clone() },
                None => continue,
            },
        };
        if let Some((name, body)) = value.text.split_once('=') {
            if let Some(shell) = body.strip_prefix('!') {
                outer.text(&Word { text: shell.to_owned(), ..value.clone() }, Via::ShellText);
            } else if name.to_ascii_lowercase().starts_with("alias.") {
                // What follows the alias goes with what it stands for.
                let alias = name.get("alias.".len()..).unwrap_or_default();
                let rest = words.iter().rposition(|word| word.text == alias).and_then(|at| words.get(at + 1..));
                let rest = join(rest.unwrap_or_default()).text;
                outer.text(&Word { text: format!("git {body} {rest}"), ..value.clone() }, Via::ShellText);
            } else if names_program_setting(&name.to_ascii_lowercase()) {
                outer.text(&Word { text: body.to_owned(), ..value.clone() }, Via::ShellText);
            }
        }
    }
    for pair in words.windows(2) {
        let [option, value] = pair else { continue };
        if matches!(option.text.as_str(), "--exec" | "-x") && words.iter().any(|word| word.text == "rebase") {
            outer.text(value, Via::ShellText);
        }
    }
    if let Some(at) = words.iter().position(|word| word.text == "foreach")
        && words.iter().any(|word| word.text == "submodule")
    {
        let rest = words.get(at + 1..).unwrap_or_default();
        let skip = behind_options(rest, "");
        let rest = rest.get(skip..).unwrap_or_default();
        if !rest.is_empty() {
            outer.text(&join(rest), Via::ShellText);
        }
    }
    if let [.., config, name, body] = words
        && (config.text == "config" || words.iter().any(|word| word.text == "config"))
        && name.text.to_ascii_lowercase().starts_with("alias.")
        && let Some(shell) = body.text.strip_prefix('!')
    {
        outer.text(&Word { text: shell.to_owned(), ..body.clone() }, Via::ShellText);
    }
}

/// `git --html-path push -f`: it says where its pages lie, and ends.
pub(crate) fn only_tells_a_path(words: &[Word]) -> bool {
    let options = Options::read(words, "-C -c --git-dir --work-tree --namespace --config-env");
    let first = options.rest.first().map_or(usize::MAX, |word| word.span.start);
    words
        .iter()
        .take_while(|word| word.span.start < first || first == usize::MAX)
        .any(|word| matches!(word.text.as_str(), "--html-path" | "--man-path" | "--info-path" | "--exec-path"))
}

/// Settings of Git whose value is a program that it runs.
fn names_program_setting(setting: &str) -> bool {
    let last = setting.rsplit('.').next().unwrap_or_default();
    matches!(
        last,
        "pager"
            | "editor"
            | "external"
            | "textconv"
            | "fsmonitor"
            | "askpass"
            | "driver"
            | "clean"
            | "smudge"
            | "process"
    ) || last.ends_with("command")
        || last == "cmd"
        || last == "program"
        || setting.starts_with("pager.")
}

/// `ssh -o ProxyCommand='…'`: what is run here to get there.
pub(super) fn ssh_options(outer: &mut Outer<'_>, words: &[Word]) {
    for word in words {
        let text = word.text.strip_prefix("-o").unwrap_or(&word.text);
        let Some((name, body)) = text.split_once(['=', ' ']) else { continue };
        if ["proxycommand", "localcommand", "knownhostscommand"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
            outer.text(&Word { text: body.to_owned(), ..word.clone() }, Via::ShellText);
        }
    }
}
