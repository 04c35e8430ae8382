//! Rules that a pattern cannot say: what a container mounts, whom `kill` kills, what an editor or `make` runs.

use std::ops::Range;

use super::{
    Ground, Verdict,
    container::given_the_machine,
    git::git,
    nested::{nested, nested_acts},
};
use crate::{
    RiskLevel,
    code::{self, Language},
    files::{self, keep},
    paths::{Place, place_of},
    records,
    shell::{Input, Options, RedirectKind, SimpleCommand, Via, Word, encoded, hidden, is_shell},
};

/// Rules that a pattern cannot say.
pub(super) fn special(name: &str, command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Option<Verdict> {
    let span = command.span.clone();
    let confirm = |rule, why: &str| Some(Verdict::new(RiskLevel::Confirm, rule, why, span.clone()));
    match name {
        "git" => git(command, words),
        name if name.starts_with("mkfs.") => {
            Some(Verdict::new(RiskLevel::Dangerous, "disk.format", "formats a disk", span))
        }
        "docker" | "podman" | "nerdctl"
            if words.iter().any(|word| matches!(word.text.as_str(), "rm" | "rmi" | "stop" | "kill"))
                && words.iter().any(|word| word.text.contains("$(") || word.text.contains('`')) =>
        {
            confirm("docker.remove", "stops or deletes whatever another command lists")
        }
        "docker" | "podman" | "nerdctl" if given_the_machine(words) => {
            confirm("docker.mount", "gives a container the whole machine")
        }
        // The shell of Elixir has this name, too.
        "iex" if words.first().is_none_or(|word| !word.text.starts_with(['-', '+']) && !word.text.contains(".ex")) => {
            if words.is_empty() && command.span.len() <= 4 && matches!(command.input, Input::None) {
                return None;
            }
            confirm("shell.eval.unknown", "runs text that cannot be told")
        }
        "sh" | "bash" | "zsh" | "dash" if words.first().is_some_and(|word| word.text == "$0") => {
            confirm("shell.program.unknown", "starts itself again")
        }
        "kubectl" | "oc" | "k" if takes_away(words) => {
            confirm("kubernetes.unset", "takes a setting of a resource away")
        }
        "kubectl" | "oc" | "k" if words.iter().any(|word| word.text.contains("\"finalizers\"")) => {
            confirm("kubernetes.delete", "takes away what holds a resource back from being deleted")
        }
        "curl" | "wget" | "http" | "https" | "xh" | "httpie" | "curlie" => request(name, words, &span),
        "unzip" | "7z" | "unrar" => {
            let options = Options::read(words, "-d -P -x");
            let folder = options.values.iter().find(|(name, _)| *name == "-d").map(|(_, word)| *word)?;
            let place = place_of(folder, command.cwd.as_ref(), ground.context);
            let mut level = files::write(place);
            // `-o` asks about no file that is there, and start-up files and keys are.
            if place == Place::WholeHome && options.has('o', "") {
                level = level.max(RiskLevel::Confirm);
            }
            Some(Verdict::new(level, "file.write", "unpacks over what is there", folder.span.clone()))
        }
        // `python <(curl …)`: a script that another machine hands out.
        "python" | "python3" | "node" | "ruby" | "perl" | "php" | "deno" | "bun" | "lua" | "rscript"
            if words
                .iter()
                .find(|word| !word.text.starts_with('-'))
                .and_then(|word| word.text.strip_prefix("<("))
                .is_some_and(|made| {
                    ["curl", "wget", "nc ", "base64", "fetch", "openssl", "xxd"].iter().any(|tool| made.contains(tool))
                }) =>
        {
            confirm("shell.pipe.unknown", "runs what another program prints")
        }
        "ansible"
            if words.iter().any(|word| {
                ["state=absent", "state=stopped", "state=reinstalled"].iter().any(|state| word.text.contains(state))
            }) =>
        {
            confirm("ansible", "removes or stops something on many machines")
        }
        "heroku"
            if words.iter().any(|word| matches!(word.text.as_str(), "ps:scale" | "scale"))
                && words.iter().any(|word| word.text.ends_with("=0")) =>
        {
            confirm("platform.stop", "stops an application")
        }
        "salt" | "salt-call" | "salt-ssh"
            if words.iter().any(|word| {
                word.text.split_once('.').is_some_and(|(module, verb)| {
                    module.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                        && verb.split('_').any(|part| {
                            [
                                "remove", "delete", "purge", "absent", "kill", "stop", "reboot", "shutdown", "drop",
                                "flush",
                            ]
                            .contains(&part)
                        })
                })
            }) =>
        {
            confirm("ansible", "removes or stops something on many machines")
        }
        "new-item" | "ni"
            if words.iter().any(|word| word.text.eq_ignore_ascii_case("-force"))
                && !words.iter().any(|word| {
                    ["directory", "junction", "symboliclink"].iter().any(|kind| word.text.eq_ignore_ascii_case(kind))
                }) =>
        {
            confirm("file.truncate", "makes a file anew over what is there")
        }
        "move-item" | "mi" if words.iter().any(|word| word.text.eq_ignore_ascii_case("-force")) => {
            confirm("file.move", "moves files over what is there")
        }
        "crontab" if command.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read) => {
            confirm("system.cron", "replaces all timed jobs")
        }
        "mount"
            if Options::read(words, "-o --options -t").value("-o").is_some_and(|value| value.contains("remount")) =>
        {
            confirm("disk.unmount", "changes how a disk in use may be written")
        }
        "kill"
            if words
                .iter()
                .any(|word| matches!(word.text.as_str(), "-9" | "-KILL" | "-SIGKILL" | "-s" | "--signal"))
                && (command.via == Via::Xargs
                    || words.iter().any(|word| word.text.starts_with("$(") || word.text.starts_with('`'))) =>
        {
            confirm("system.kill", "kills whatever another command lists")
        }
        "kill" => {
            let all = words.iter().enumerate().any(|(at, word)| at > 0 && word.text == "-1" || word.text == "1");
            let signals = words.iter().filter(|word| word.text.starts_with('-')).count();
            let lone = words.len() >= 2 && signals >= 2 && words.last().is_some_and(|word| word.text == "-1");
            if all && lone || words.last().is_some_and(|word| word.text == "1" && words.len() > 1) {
                Some(Verdict::new(RiskLevel::Dangerous, "system.kill.all", "kills every process", span))
            } else {
                None
            }
        }
        "source" | "." | "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish" => {
            let file = words.iter().find(|word| !word.text.starts_with('-'))?;
            if matches!(file.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
                && matches!(command.input, Input::Piped(_))
            {
                return confirm("shell.pipe.unknown", "runs what another program prints");
            }
            let substituted = file.text.strip_prefix("<(")?;
            let fetched = ["curl", "wget", "nc ", "base64", "fetch", "aws ", "gsutil", "xxd", "openssl"]
                .iter()
                .any(|tool| substituted.contains(tool));
            if fetched || !substituted.contains("completion") && !substituted.contains("init") {
                return confirm("shell.pipe.unknown", "runs what another program prints");
            }
            None
        }
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "openssl" if matches!(&command.input, Input::Piped(from) if is_shell(from)) => {
            confirm("shell.remote.control", "lets another machine run commands")
        }
        "nc" | "ncat" | "netcat" | "socat" => {
            let runs = words.iter().any(|word| {
                matches!(word.text.as_str(), "-e" | "-c" | "--exec" | "--sh-exec")
                    || word.text.to_ascii_uppercase().starts_with("EXEC:")
                    || word.text.to_ascii_uppercase().starts_with("SYSTEM:")
            });
            if runs { confirm("shell.remote.control", "lets another machine run commands") } else { None }
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let program = words.iter().find(|word| !word.text.starts_with('-'))?;
            nested_acts(&code::acts(behind_pattern(&program.text), Language::Other), program, command, ground)
        }
        "set-content" | "sc" | "out-file" => {
            let empty = words.windows(2).any(|pair| {
                matches!(pair[0].text.to_ascii_lowercase().as_str(), "-value" | "-inputobject")
                    && matches!(pair[1].text.to_ascii_lowercase().as_str(), "$null" | "")
            });
            let last = words.len() > 1 && words.last().is_some_and(|word| word.text.is_empty() || word.text == "$null");
            if empty || last { confirm("file.truncate", "empties a file") } else { None }
        }
        "ed" | "ex" if matches!(&command.input, Input::Known(text) if text.text.lines().any(empties_buffer)) => {
            confirm("file.truncate", "deletes the lines of a file")
        }
        "vim" | "vi" | "nvim" | "ex" | "view" | "vimdiff" | "emacs" | "less" | "more" | "most" => {
            let mut worst = None;
            for word in words {
                if empties_buffer(&word.text) {
                    keep(
                        &mut worst,
                        Verdict::new(
                            RiskLevel::Confirm,
                            "file.truncate",
                            "deletes the lines of a file",
                            word.span.clone(),
                        ),
                    );
                }
                let typed = word.text.trim_start_matches(['+', ':']);
                // Functions of the editor, and of the language that it has built in.
                if ["call ", "lua ", "echo ", "let ", "eval "].iter().any(|verb| typed.starts_with(verb)) {
                    if typed.contains("delete(") {
                        let why = "deletes files from an editor";
                        keep(&mut worst, Verdict::new(RiskLevel::Confirm, "code.delete", why, word.span.clone()));
                    }
                    if let Some(verdict) = nested_acts(&code::acts(typed, Language::Other), word, command, ground) {
                        keep(&mut worst, verdict);
                    }
                }
                if let Some(text) = typed.strip_prefix('!') {
                    nested(text, word, command, ground, &mut worst);
                }
            }
            worst
        }
        "pwsh" | "powershell" if hidden(words).is_some_and(|text| encoded(text).is_none()) => {
            confirm("shell.eval.unknown", "runs text that is hidden")
        }
        _ => None,
    }
}

/// `%d`, `1,$d`, `g/./d` among the commands that an editor is started with.
fn empties_buffer(text: &str) -> bool {
    text.split(['|', ';', '\n']).any(|command| {
        let command = command.trim().trim_start_matches(['+', ':']);
        // The lines may be put into a register: that of `_` keeps nothing.
        let command = command.strip_suffix('_').map_or(command, str::trim_end);
        matches!(command, "%d" | "%delete" | "1,$d" | "1,$delete" | "g/./d" | "g/^/d" | "g/.*/d" | "0,$d" | "ggdG")
    })
}

/// `label x key-`, `set env x KEY-`, and a patch that puts nothing in the place of something.
fn takes_away(words: &[Word]) -> bool {
    let mut plain = words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-'));
    if words.iter().any(|word| word.text.starts_with("--dry-run")) {
        return false;
    }
    match plain.next() {
        Some("label" | "annotate") => plain.skip(1).any(|text| text.len() > 1 && text.ends_with('-')),
        Some("set") => plain.next() == Some("env") && plain.any(|text| text.len() > 1 && text.ends_with('-')),
        Some("patch") => words.iter().any(|word| {
            let bare: String = word.text.chars().filter(|c| !c.is_whitespace()).collect();
            bare.starts_with(['{', '[']) && (bare.contains(":null") || bare.contains("\"op\":\"remove\""))
        }),
        _ => false,
    }
}

/// A body that says so: `{"drop_all": true}`, `mutation { deleteUser(id: 1) { id } }`.
fn asks_to_delete(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    if body.contains("mutation") {
        return ["delete", "remove", "destroy", "purge", "drop", "wipe", "truncate"].iter().any(|verb| {
            body.match_indices(verb)
                .any(|(at, _)| !body[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) && body[at..].contains('('))
        });
    }
    ["\"drop_all\"", "\"delete_all\"", "\"dropall\"", "\"deleteall\"", "\"drop_attr\"", "\"drop_op\"", "\"truncate\""]
        .iter()
        .any(|key| body.contains(key))
}

/// A request that writes, to an address that says what becomes of it: `POST …/_delete_by_query`, `POST …/doDelete`.
fn request(name: &str, words: &[Word], span: &Range<usize>) -> Option<Verdict> {
    let options = Options::read(words, records::valued("curl"));
    let method = if matches!(name, "curl" | "wget") {
        options.value("-X").or_else(|| options.value("--request")).or_else(|| options.value("--method")).or_else(|| {
            ["-d", "--data", "--json", "--data-raw", "--post-data"]
                .iter()
                .find_map(|name| options.value(name))
                .map(|_| "POST")
        })
    } else {
        options.rest.first().map(|word| word.text.as_str())
    }?;
    if !matches!(method, "POST" | "PUT" | "PATCH" | "post" | "put" | "patch") {
        return None;
    }
    let address = options.rest.iter().find(|word| word.text.contains('/'))?;
    let sent = ["-d", "--data", "--json", "--data-raw", "--data-binary", "--post-data"];
    if sent.iter().filter_map(|name| options.value(name)).any(asks_to_delete) {
        return Some(Verdict::new(
            RiskLevel::Confirm,
            "web.request",
            "asks a server to delete something",
            span.clone(),
        ));
    }
    let path = address.text.split_once("://").map_or(address.text.as_str(), |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let ruins = path.split('/').skip(1).any(|segment| {
        let segment = segment.strip_prefix("do").filter(|rest| rest.starts_with('D')).unwrap_or(segment);
        segment.split(['-', '_', ':', '.']).filter(|part| !part.is_empty()).take(2).any(|part| {
            ["delete", "destroy", "purge", "drop", "wipe", "truncate", "terminate", "erase", "shutdown"]
                .iter()
                .any(|verb| part.eq_ignore_ascii_case(verb))
        }) || matches!(segment, "_close" | "_cluster" | "safeRestart" | "quietDown")
    });
    ruins.then(|| {
        Verdict::new(RiskLevel::Confirm, "web.request", "asks a server to delete or stop something", span.clone())
    })
}

/// The program of awk behind the pattern that it begins with: what is looked for does nothing.
fn behind_pattern(program: &str) -> &str {
    let Some(pattern) = program.trim_start().strip_prefix('/') else { return program };
    let mut escaped = false;
    let end = pattern.find(|c: char| {
        let ends = c == '/' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(program, |end| &pattern[end + 1..])
}
