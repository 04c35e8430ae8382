//! Subcommands and options with which programs that also change things only read: `git log`, `kubectl get`,
//! `sed` without `-i`.

use crate::core::guard::shell::{Options, Word};

/// Subcommands that only read, of programs that also change.
pub(super) fn reads_only(name: &str, words: &[Word]) -> bool {
    let options =
        Options::read(words, "-C -c --git-dir --work-tree -n --namespace --profile --region --context --project");
    let first = options.rest.first().map_or("", |word| word.text.as_str());
    let second = options.rest.get(1).map_or("", |word| word.text.as_str());
    match name {
        "git" => {
            matches!(
                first,
                "status"
                    | "log"
                    | "diff"
                    | "show"
                    | "blame"
                    | "ls-files"
                    | "ls-tree"
                    | "ls-remote"
                    | "grep"
                    | "rev-parse"
                    | "rev-list"
                    | "describe"
                    | "shortlog"
                    | "cat-file"
                    | "whatchanged"
                    | "fsck"
                    | "count-objects"
                    | "help"
                    | "version"
                    | "var"
                    | "check-ignore"
                    | "merge-base"
                    | "name-rev"
                    | "for-each-ref"
                    | "show-ref"
            ) && !options.word("--output")
                || matches!(
                    (first, second),
                    ("branch" | "remote" | "tag" | "stash" | "worktree" | "submodule", "")
                        | ("stash" | "worktree", "list" | "show")
                        | ("remote", "show" | "get-url")
                        | ("submodule", "status" | "summary")
                )
                || matches!((first, second), ("reflog", "" | "show") | ("bisect", "log" | "view"))
                || first == "config" && (options.word("--list") || options.word("-l") || options.word("--get"))
                || first == "clean" && (options.has('n', "--dry-run"))
        }
        "docker" | "podman" => {
            matches!(
                first,
                "ps" | "images"
                    | "logs"
                    | "inspect"
                    | "stats"
                    | "version"
                    | "info"
                    | "top"
                    | "port"
                    | "history"
                    | "diff"
                    | "search"
                    | "events"
            ) || matches!(
                (first, second),
                ("compose", "ps" | "logs" | "config" | "ls" | "images" | "top")
                    | ("network" | "volume" | "image" | "container" | "system", "ls" | "inspect" | "list" | "df")
            )
        }
        "kubectl" | "oc" | "k" => matches!(
            first,
            "get"
                | "describe"
                | "logs"
                | "top"
                | "explain"
                | "version"
                | "api-resources"
                | "api-versions"
                | "cluster-info"
                | "diff"
                | "events"
        ),
        "cargo" => matches!(first, "tree" | "metadata" | "search" | "locate-project" | "pkgid"),
        "npm" => matches!(first, "ls" | "list" | "view" | "outdated" | "why" | "search" | "explain"),
        "pip" | "pip3" => matches!(first, "list" | "show" | "freeze" | "check"),
        "systemctl" => matches!(
            first,
            "status" | "list-units" | "is-active" | "is-enabled" | "show" | "cat" | "list-unit-files" | "list-timers"
        ),
        "fdisk" | "parted" => options.has('l', "--list"),
        "crontab" => options.has('l', ""),
        "iptables" | "ip6tables" => options.has('L', "--list") || options.has('S', "--list-rules"),
        "journalctl" => true,
        "apt" | "apt-get" | "apt-cache" | "dnf" | "yum" => {
            matches!(first, "list" | "search" | "show" | "policy" | "info" | "depends" | "rdepends" | "check")
        }
        "dpkg" | "rpm" => ["-l", "-L", "-s", "-S", "-q", "-qa", "-ql", "-qi"].iter().any(|name| options.word(name)),
        "service" => second == "status",
        "ufw" => first == "status",
        "gh" => matches!(second, "list" | "view" | "status" | "diff" | "checks"),
        "terraform" | "tofu" => {
            matches!(first, "plan" | "validate" | "show" | "output" | "graph" | "providers" | "version")
                || first == "state" && matches!(second, "list" | "show")
        }
        "sed" | "gsed" => !options.has('i', "--in-place"),
        "awk" | "gawk" | "mawk"
            if words.iter().any(|word| matches!(word.text.as_str(), "inplace" | "-iinplace" | "--include=inplace")) =>
        {
            false
        }
        "awk" | "gawk" | "mawk" => {
            words.iter().all(|word| !calls_system(&word.text) && !word.text.contains('>') && !word.text.contains('|'))
        }
        "sort" => !options.word("-o"),
        "find" | "fd" => !words.iter().any(|word| {
            word.text.starts_with("-exec")
                || word.text == "-delete"
                || word.text.starts_with("-ok")
                || word.text.starts_with("-f")
        }),
        "command" => options.has('v', "") || options.has('V', ""),
        _ => false,
    }
}

/// `system("…")`; not `/docker system prune/`.
fn calls_system(program: &str) -> bool {
    program.match_indices("system").any(|(at, word)| program[at + word.len()..].trim_start().starts_with('('))
}
