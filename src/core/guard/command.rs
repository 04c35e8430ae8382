//! One simple command judged: its redirections, the rules for its program, the code or SQL that it is given.

use std::ops::Range;

use super::{
    RiskLevel,
    code::{self, Act, Language},
    files::{self, keep},
    paths::{Place, RiskContext, place, place_of},
    rules,
    shell::{self, Input, Options, Redirect, RedirectKind, SimpleCommand, Via, Word},
    sql,
};

/// What was found of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) level: RiskLevel,
    pub(super) rule: &'static str,
    /// What it does, to go on after "this command".
    pub(super) why: String,
    pub(super) span: Range<usize>,
}

impl Verdict {
    fn new(level: RiskLevel, rule: &'static str, why: impl Into<String>, span: Range<usize>) -> Self {
        Self { level, rule, why: why.into(), span }
    }
}

/// What a command is judged on.
#[derive(Clone, Copy)]
pub(super) struct Ground<'c> {
    pub(super) context: &'c RiskContext,
    /// How deep the command lies in code in commands in code.
    pub(super) depth: usize,
}

impl Ground<'_> {
    fn deeper(&self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..*self })
    }
}

/// Deeper than this is not looked into.
const MAX_DEPTH: usize = 6;

/// Programs that change nothing, whatever their arguments (redirections apart).
const READERS: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "wc",
    "pwd",
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "tree",
    "file",
    "stat",
    "du",
    "df",
    "free",
    "uptime",
    "ps",
    "whoami",
    "id",
    "date",
    "uname",
    "hostname",
    "which",
    "whereis",
    "type",
    "man",
    "info",
    "help",
    "diff",
    "cmp",
    "comm",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "b2sum",
    "shasum",
    "cut",
    "uniq",
    "tr",
    "xxd",
    "od",
    "hexdump",
    "strings",
    "column",
    "jq",
    "nl",
    "tac",
    "rev",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "true",
    "false",
    "test",
    "[",
    "[[",
    ":",
    "sleep",
    "seq",
    "expr",
    "bc",
    "printenv",
    "locale",
    "tty",
    "groups",
    "users",
    "w",
    "who",
    "last",
    "lsof",
    "netstat",
    "ss",
    "ping",
    "dig",
    "nslookup",
    "host",
    "whois",
    "traceroute",
    "lsblk",
    "lscpu",
    "lsusb",
    "lspci",
    "lsmod",
    "blkid",
    "fold",
    "fmt",
    "paste",
    "join",
    "expand",
    "unexpand",
    "look",
    "cal",
    "arch",
    "nproc",
    "getconf",
    "getent",
    "pgrep",
    "pidof",
    "pstree",
    "top",
    "htop",
    "vmstat",
    "iostat",
    "dmesg",
    "cd",
    "pushd",
    "popd",
    "dirs",
    "jobs",
    "wait",
    "break",
    "continue",
    "return",
    "exit",
    "shift",
    "apropos",
    "cowsay",
    "figlet",
    "fortune",
    "yes",
    "sum",
    "zcat",
    "bzcat",
    "xzcat",
    "exa",
    "eza",
    "bat",
    "batcat",
];

/// Programs that change things in ways that their own rules judge, or that can be had back: verbs among their
/// arguments mean something else.
const TAME: &[&str] = &[
    "git",
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "pip",
    "pip3",
    "pipx",
    "uv",
    "poetry",
    "cargo",
    "go",
    "gem",
    "bundle",
    "composer",
    "brew",
    "conda",
    "mamba",
    "make",
    "cmake",
    "ninja",
    "just",
    "mvn",
    "gradle",
    "gradlew",
    "dotnet",
    "node",
    "deno",
    "python",
    "python2",
    "python3",
    "ruby",
    "perl",
    "php",
    "lua",
    "java",
    "javac",
    "gcc",
    "cc",
    "g++",
    "clang",
    "rustc",
    "tsc",
    "jest",
    "pytest",
    "mocha",
    "vitest",
    "eslint",
    "prettier",
    "ruff",
    "black",
    "mypy",
    "tox",
    "rspec",
    "rails",
    "rake",
    "docker",
    "docker-compose",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "k",
    "terraform",
    "tofu",
    "terragrunt",
    "apt",
    "apt-get",
    "aptitude",
    "apt-cache",
    "yum",
    "dnf",
    "zypper",
    "pacman",
    "apk",
    "snap",
    "flatpak",
    "port",
    "choco",
    "winget",
    "scoop",
    "nix",
    "nix-env",
    "tar",
    "zip",
    "unzip",
    "gzip",
    "gunzip",
    "sed",
    "awk",
    "gawk",
    "sort",
    "xargs",
    "find",
    "fd",
    "rsync",
    "scp",
    "cp",
    "mv",
    "ln",
    "mkdir",
    "touch",
    "rm",
    "rmdir",
    "chmod",
    "chown",
    "chgrp",
    "tee",
    "dd",
    "install",
    "patch",
    "curl",
    "wget",
    "ssh",
    "ssh-keygen",
    "systemctl",
    "service",
    "journalctl",
    "crontab",
    "kill",
    "mount",
    "umount",
    "ip",
    "ifconfig",
    "export",
    "declare",
    "local",
    "readonly",
    "typeset",
    "unset",
    "set",
    "source",
    ".",
    "read",
    "alias",
    "unalias",
    "trap",
    "eval",
    "exec",
    "command",
    "builtin",
    "env",
    "sudo",
    "doas",
    "history",
    "hash",
    "ulimit",
    "umask",
    "let",
    "getopts",
    "mapfile",
    "readarray",
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "code",
    "open",
    "xdg-open",
    "tmux",
    "screen",
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "mongosh",
    "mongo",
    "redis-cli",
    "ffmpeg",
    "convert",
    "magick",
    "openssl",
    "gpg",
    "logger",
    "say",
    "notify-send",
    "npx",
    "su",
    "time",
    "timeout",
    "nohup",
    "nice",
    "watch",
    "script",
    "parallel",
    "pg_dump",
    "mysqldump",
    "createdb",
    "mktemp",
    "split",
    "vite",
    "next",
    "dpkg",
    "rpm",
    "rustup",
    "nvm",
    "pyenv",
    "rbenv",
    "asdf",
    "codegen",
    "jupyter",
    "ansible-playbook",
    "coverage",
    "alembic",
    "gsutil",
    "rclone",
    "restic",
    "borg",
    "busybox",
    "toybox",
    "hyperfine",
    "at",
    "mail",
    "sendmail",
    "xclip",
    "pbcopy",
    "xsel",
];

/// A verb that destroys, in the name of a subcommand: `delete`, `batch-delete-image`, `apps:destroy`.
fn destructive_verb(word: &str) -> Option<&'static str> {
    const VERBS: &[&str] = &[
        "delete",
        "destroy",
        "purge",
        "remove",
        "rm",
        "terminate",
        "drop",
        "wipe",
        "erase",
        "nuke",
        "del",
        "uninstall",
        "truncate",
        "decommission",
        "deregister",
        "revoke",
        "obliterate",
        "teardown",
        "undeploy",
        "deprovision",
        "flush",
        "rmi",
        "unregister",
        "expunge",
    ];
    if word.len() > 64 || word.contains(['/', '.', '=', ' ', '@']) {
        return None;
    }
    let mut parts = word.split(['-', ':', '_']);
    let first = parts.next().unwrap_or_default();
    let find = |part: &str| VERBS.iter().copied().find(|verb| part.eq_ignore_ascii_case(verb));
    if let Some(verb) = find(first) {
        return Some(verb);
    }
    // `force-delete`, `batch-delete-image`, `schedule-key-deletion`
    let mut last = "";
    for (at, part) in parts.enumerate() {
        if at == 0
            && matches!(first, "batch" | "force" | "bulk" | "hard" | "mass")
            && let Some(verb) = find(part)
        {
            return Some(verb);
        }
        last = part;
    }
    if word.contains(':')
        && let Some(verb) = find(last)
    {
        return Some(verb);
    }
    (last == "deletion").then_some("delete")
}

/// All that is wrong with a command, the strictest alone.
pub(super) fn judge(command: &SimpleCommand, ground: &Ground<'_>) -> Verdict {
    let mut worst = None;
    for redirect in &command.redirects {
        if let Some(verdict) = redirection(redirect, command, ground) {
            keep(&mut worst, verdict);
        }
    }
    keep(&mut worst, program(command, ground));
    let mut verdict =
        worst.unwrap_or_else(|| Verdict::new(RiskLevel::Safe, "shell.empty", "runs nothing", command.span.clone()));
    if verdict.level == RiskLevel::Confirm && forced(command) {
        verdict.level = RiskLevel::Dangerous;
        verdict.why.push_str(", by force");
    }
    if command.elevated {
        match verdict.level {
            // Reading as another user may show what is not this user's.
            RiskLevel::Safe => verdict.level = RiskLevel::Cautious,
            RiskLevel::Cautious => {
                verdict.level = RiskLevel::Confirm;
                verdict.rule = "shell.elevated";
                verdict.why.push_str(", as another user");
            }
            RiskLevel::Confirm => {
                verdict.level = RiskLevel::Dangerous;
                verdict.why.push_str(", as another user");
            }
            RiskLevel::Dangerous => {}
        }
    }
    verdict
}

/// Whether the command is told, in so many letters, to do it against what would hold it back.
fn forced(command: &SimpleCommand) -> bool {
    command.words.iter().skip(1).any(|word| matches!(word.text.as_str(), "--force" | "--force=true" | "-Force"))
}

fn redirection(redirect: &Redirect, command: &SimpleCommand, ground: &Ground<'_>) -> Option<Verdict> {
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
    let verb = if redirect.kind == RedirectKind::Append { "adds to" } else { "overwrites" };
    Some(Verdict::new(level, "file.redirect", format!("{verb} a file in {}", place.words()), redirect.span.clone()))
}

fn prints_nothing(command: &SimpleCommand) -> bool {
    let rest: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    match command.program() {
        None => command.words.is_empty() && command.redirects.len() == 1,
        Some(":" | "true") => true,
        Some("echo") => matches!(rest.as_slice(), [] | ["" | "-n"] | ["-n", ""]),
        Some("printf") => matches!(rest.as_slice(), [""]),
        Some("cat") => rest == ["/dev/null"],
        _ => false,
    }
}

fn program(command: &SimpleCommand, ground: &Ground<'_>) -> Verdict {
    let span = command.span.clone();
    let Some((first, words)) = command.words.split_first() else {
        return Verdict::new(RiskLevel::Safe, "shell.empty", "runs nothing by itself", span);
    };
    let Some(name) = command.program() else {
        return unknown_program(first, command);
    };
    let lower;
    let name = if name.chars().any(|c| c.is_ascii_uppercase()) {
        lower = name.to_ascii_lowercase();
        lower.as_str()
    } else {
        name
    };
    let name = version_off(name);
    if only_tells(name, words) {
        return Verdict::new(RiskLevel::Safe, "shell.help", "only tells about itself", span);
    }
    let mut worst = None;
    if let Some(rule) = rules::matching(name, words) {
        keep(&mut worst, Verdict::new(rule.level, rule.id, rule.why, span.clone()));
    }
    if let Some((framework, rest)) = framework(name, words)
        && let Some(rule) = rules::matching(framework, rest)
    {
        keep(&mut worst, Verdict::new(rule.level, rule.id, rule.why, span.clone()));
    }
    if let Some(verdict) = files::judge(name, command, ground.context) {
        keep(&mut worst, verdict);
    }
    if let Some(verdict) = special(name, command, words, ground) {
        keep(&mut worst, verdict);
    }
    if let Some(verdict) = interpreter(name, command, words, ground) {
        keep(&mut worst, verdict);
    }
    if worst.as_ref().is_none_or(|worst| worst.level < RiskLevel::Confirm)
        && let Some(verdict) = verbs(name, words, &span)
    {
        keep(&mut worst, verdict);
    }
    if worst.is_none() && (READERS.contains(&name) || reads_only(name, words)) {
        return Verdict::new(RiskLevel::Safe, "shell.read", "only reads", span);
    }
    if command.elevated
        && worst.is_none()
        && !TAME.contains(&name)
        && !rules::known(name)
        && !matches!(command.via, Via::Remote)
    {
        return Verdict::new(
            RiskLevel::Confirm,
            "shell.elevated",
            "runs a program that is not known as another user",
            span,
        );
    }
    if matches!(name, "sudo" | "doas" | "pkexec" | "su") {
        let alone = words.iter().all(|word| word.text.starts_with('-'))
            && !words.iter().any(|word| matches!(word.text.as_str(), "-l" | "-v" | "-k" | "-K" | "--list"))
            || name == "su";
        if alone {
            keep(&mut worst, Verdict::new(RiskLevel::Confirm, "shell.elevated", "becomes another user", span.clone()));
        }
    }
    worst
        .unwrap_or_else(|| Verdict::new(RiskLevel::Cautious, "shell.run", "runs a program that may change files", span))
}

/// `python3.11` is `python3`, `pip3.12` is `pip3`.
fn version_off(name: &str) -> &str {
    if let Some((base, minor)) = name.rsplit_once('.')
        && !minor.is_empty()
        && minor.chars().all(|c| c.is_ascii_digit())
    {
        return base;
    }
    name.strip_suffix(".cmd")
        .or_else(|| name.strip_suffix(".ps1"))
        .or_else(|| name.strip_suffix(".bat"))
        .unwrap_or(name)
}

/// What shells are told to `eval` at their start.
const HOOKS: &[&str] = &[
    "ssh-agent",
    "direnv",
    "brew",
    "/opt/homebrew/bin/brew",
    "pyenv",
    "rbenv",
    "nodenv",
    "goenv",
    "jenv",
    "fnm",
    "nvm",
    "starship",
    "zoxide",
    "minikube",
    "docker-machine",
    "dircolors",
    "mise",
    "rtx",
    "asdf",
    "conda",
    "mamba",
    "luarocks",
    "opam",
    "thefuck",
    "gpg-agent",
    "keychain",
    "register-python-argcomplete",
    "atuin",
    "pixi",
    "micromamba",
    "podman-machine",
    "lesspipe",
    "tset",
    "resize",
    "fzf",
];

fn unknown_program(first: &Word, command: &SimpleCommand) -> Verdict {
    let text = first.text.as_str();
    let inner = text.strip_prefix("$(").and_then(|inner| inner.strip_suffix(')'));
    if command.via == Via::Eval
        && let Some(tool) = inner.and_then(|inner| inner.split_whitespace().next())
        && HOOKS.contains(&tool)
        && !inner.is_some_and(|inner| inner.contains(['|', ';', '&', '<', '>', '`', '$']))
    {
        return Verdict::new(RiskLevel::Cautious, "shell.hook", "sets the shell up", command.span.clone());
    }
    Verdict::new(
        RiskLevel::Confirm,
        "shell.program.unknown",
        "runs a program whose name cannot be told",
        first.span.clone(),
    )
}

/// `--help` and `--version`, where a program is sure to look at them first.
fn only_tells(name: &str, words: &[Word]) -> bool {
    if matches!(
        name,
        "python"
            | "python2"
            | "python3"
            | "node"
            | "ruby"
            | "perl"
            | "php"
            | "bash"
            | "sh"
            | "zsh"
            | "ssh"
            | "eval"
            | "xargs"
            | "find"
            | "awk"
            | "env"
            | "sudo"
            | "psql"
            | "mysql"
    ) && words.len() > 1
    {
        return false;
    }
    let plain = words.iter().take_while(|word| word.text != "--");
    let mut tells = plain.filter(|word| matches!(word.text.as_str(), "--help" | "--version" | "-help" | "/?"));
    let first = words.first().map(|word| word.text.as_str());
    tells.next().is_some()
        || words.len() == 1
            && matches!(first, Some("-h" | "-v" | "-V" | "version" | "help"))
            && !matches!(name, "rm" | "shutdown" | "reboot" | "halt" | "poweroff")
        || matches!(first, Some("help"))
            && matches!(
                name,
                "git"
                    | "cargo"
                    | "npm"
                    | "docker"
                    | "go"
                    | "kubectl"
                    | "helm"
                    | "aws"
                    | "gcloud"
                    | "terraform"
                    | "brew"
                    | "gh"
                    | "hg"
                    | "svn"
            )
}

/// `python manage.py flush`, `php artisan migrate:fresh`, `npx prisma`: the program and its words.
fn framework<'w>(name: &str, words: &'w [Word]) -> Option<(&'static str, &'w [Word])> {
    let base = |word: &Word| shell::basename(&word.text).to_owned();
    let first = words.first()?;
    let found = match name {
        "python" | "python3" | "php" | "ruby" | "node" => match base(first).as_str() {
            "manage.py" => "manage.py",
            "artisan" => "artisan",
            "rails" => "rails",
            "console" => "doctrine",
            _ => return None,
        },
        "manage.py" | "django-admin" => return Some(("manage.py", words)),
        "symfony" => "doctrine",
        _ => return None,
    };
    Some((found, &words[1..]))
}

/// Subcommands that only read, of programs that also change.
fn reads_only(name: &str, words: &[Word]) -> bool {
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
        "awk" | "gawk" | "mawk" => words
            .iter()
            .all(|word| !word.text.contains("system") && !word.text.contains('>') && !word.text.contains('|')),
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

/// Verbs that only read.
const READING_VERBS: &[&str] = &[
    "list", "ls", "get", "describe", "show", "view", "read", "status", "logs", "log", "search", "find", "inspect",
    "info", "help", "query", "explain", "diff", "plan", "preview", "validate", "lint", "test", "add", "create", "new",
    "init", "open", "edit",
];

/// A verb that destroys among the first words of a program without rules of its own, or as an option.
fn verbs(name: &str, words: &[Word], span: &Range<usize>) -> Option<Verdict> {
    if READERS.contains(&name) || TAME.contains(&name) {
        return None;
    }
    let dry = words.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "--dry-run"
                | "--dryrun"
                | "--dry-run=client"
                | "--dry-run=server"
                | "--whatif"
                | "-WhatIf"
                | "--what-if"
                | "--check"
                | "--noop"
                | "--simulate"
                | "--preview"
        )
    });
    if dry {
        return None;
    }
    let plain = words.iter().filter(|word| !word.text.starts_with('-')).take(5);
    for word in plain {
        // What follows a verb that reads is what to read.
        if READING_VERBS.contains(&word.text.as_str()) {
            return None;
        }
        if let Some(verb) = destructive_verb(&word.text) {
            return Some(Verdict::new(
                RiskLevel::Confirm,
                "verb",
                format!("is told to {verb} something"),
                word.span.clone(),
            ));
        }
    }
    words
        .iter()
        .find(|word| {
            matches!(
                word.text.as_str(),
                "--delete"
                    | "--purge"
                    | "--destroy"
                    | "--drop"
                    | "--wipe"
                    | "--erase"
                    | "--delete-all"
                    | "--remove-all"
                    | "--purge-all"
                    | "--force-delete"
            )
        })
        .map(|word| Verdict::new(RiskLevel::Confirm, "verb", "is told to delete something", word.span.clone()))
        .or_else(|| {
            (name.starts_with("uninstall") || name.starts_with("delete-") || name.ends_with("-uninstall"))
                .then(|| Verdict::new(RiskLevel::Confirm, "verb", "is a program that removes something", span.clone()))
        })
}

/// Rules that a pattern cannot say.
fn special(name: &str, command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Option<Verdict> {
    let span = command.span.clone();
    let confirm = |rule, why: &str| Some(Verdict::new(RiskLevel::Confirm, rule, why, span.clone()));
    match name {
        "git" => git(command, words),
        name if name.starts_with("mkfs.") => {
            Some(Verdict::new(RiskLevel::Dangerous, "disk.format", "formats a disk", span))
        }
        "docker" | "podman" | "nerdctl" => {
            let mounts_root = words.windows(2).any(|pair| {
                let value = if matches!(pair[0].text.as_str(), "-v" | "--volume") {
                    pair[1].text.as_str()
                } else {
                    pair[0].text.strip_prefix("-v=").or_else(|| pair[0].text.strip_prefix("--volume=")).unwrap_or("")
                };
                value.starts_with("/:")
                    || value.starts_with("/etc:")
                    || value.contains("/var/run/docker.sock:") && value.ends_with("never")
            });
            if mounts_root { confirm("docker.mount", "gives a container the whole machine") } else { None }
        }
        "crontab" if matches!(command.input, Input::None) && words.is_empty() => None,
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
            let substituted = file.text.strip_prefix("<(")?;
            let fetched = ["curl", "wget", "nc ", "base64", "fetch", "aws ", "gsutil", "xxd", "openssl"]
                .iter()
                .any(|tool| substituted.contains(tool));
            if fetched || !substituted.contains("completion") && !substituted.contains("init") {
                return confirm("shell.pipe.unknown", "runs what another program prints");
            }
            None
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
            nested_acts(&code::acts(&program.text, Language::Other), program, command, ground)
        }
        "vim" | "vi" | "nvim" | "ex" | "emacs" => {
            let mut worst = None;
            for word in words {
                if let Some(text) = word.text.trim_start_matches('+').trim_start_matches(':').strip_prefix('!') {
                    nested(text, word, command, ground, &mut worst);
                }
            }
            worst
        }
        "make" | "gmake" | "just" | "task" => {
            let target = words.iter().find(|word| {
                let text = word.text.as_str();
                !text.starts_with('-')
                    && (matches!(
                        text,
                        "distclean-all"
                            | "nuke"
                            | "purge"
                            | "destroy"
                            | "wipe"
                            | "drop-db"
                            | "db-drop"
                            | "dropdb"
                            | "db-reset"
                            | "reset-db"
                    ) || text.starts_with("destroy-")
                        || text.ends_with("-destroy")
                        || text.starts_with("delete-")
                        || text.starts_with("drop-")
                        || text.starts_with("nuke-"))
            })?;
            Some(Verdict::new(RiskLevel::Confirm, "verb", "is told to destroy something", target.span.clone()))
        }
        _ => None,
    }
}

fn git(command: &SimpleCommand, words: &[Word]) -> Option<Verdict> {
    let options =
        Options::read(words, "-C -c --git-dir --work-tree --namespace --exec-path -b -B --orphan -s --source");
    let first = options.rest.first()?;
    let span = command.span.clone();
    if first.text == "checkout" {
        let dashes = words.iter().position(|word| word.text == "--");
        let files = dashes.is_some_and(|at| at + 1 < words.len());
        let paths = options.rest.iter().skip(1).any(|word| {
            word.text == "."
                || word.text.starts_with("./")
                || word.text.starts_with(":/")
                || word.text.ends_with('/')
                || word.pattern
        });
        let creates = options.word("-b")
            || options.word("-B")
            || options.word("--orphan")
            || options.word("-p")
            || options.word("--patch");
        if (files || paths) && !creates {
            return Some(Verdict::new(
                RiskLevel::Confirm,
                "git.checkout.files",
                "throws away uncommitted changes of files",
                span,
            ));
        }
    }
    if first.text == "config" {
        let name =
            options.rest.iter().skip(1).map(|word| word.text.to_ascii_lowercase()).find(|name| name.contains('.'))?;
        let runs = matches!(
            name.as_str(),
            "core.hookspath"
                | "core.sshcommand"
                | "core.fsmonitor"
                | "core.pager"
                | "core.editor"
                | "credential.helper"
        ) && options.rest.len() > 2;
        if runs && name != "credential.helper" && name != "core.editor" && name != "core.pager" {
            return Some(Verdict::new(
                RiskLevel::Confirm,
                "git.config.run",
                "makes Git run a program from now on",
                span,
            ));
        }
    }
    None
}

/// The language of an interpreter, the options that hold code, and those that take another value.
fn interpreter_of(name: &str) -> Option<(Language, &'static [&'static str], &'static str)> {
    Some(match name {
        "python" | "python2" | "python3" | "pypy" | "pypy3" | "ipython" | "ipython3" | "sage" | "micropython" => {
            (Language::Python, &["-c"], "-c -W -X -Q -m")
        }
        "node" | "nodejs" | "bun" | "tsx" | "ts-node" => (
            Language::JavaScript,
            &["-e", "--eval", "-p", "--print", "-pe"],
            "-e --eval -p --print -pe -r --require --import",
        ),
        "ruby" | "jruby" => (Language::Ruby, &["-e"], "-e -I -r -C"),
        "perl" => (Language::Perl, &["-e", "-E"], "-e -E -I"),
        "php" => (Language::Other, &["-r", "--run"], "-r --run -d -f -B -R"),
        "lua" | "luajit" | "rscript" | "r" | "groovy" | "julia" | "scala" | "elixir" | "ghc" | "swift"
        | "osascript" | "tclsh" | "clojure" | "guile" | "erl" => {
            (Language::Other, &["-e", "--eval", "-eval", "-E"], "-e --eval -eval -E -l -i")
        }
        "mongosh" | "mongo" => (
            Language::JavaScript,
            &["--eval"],
            "--eval --host --port -u -p --username --password --authenticationDatabase -f --file",
        ),
        _ => return None,
    })
}

const SQL_CLIENTS: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "bcp",
    "isql",
    "usql",
    "pgcli",
    "mycli",
    "litecli",
    "duckdb",
    "cockroach",
    "clickhouse-client",
    "clickhouse",
    "clickhouse-local",
    "cqlsh",
    "bq",
    "snowsql",
    "impala-shell",
    "beeline",
    "hive",
    "spark-sql",
    "presto",
    "trino",
    "athena",
    "influx",
    "vsql",
    "nzsql",
    "db2",
    "sqlplus",
    "tsql",
    "mssql-cli",
    "turso",
    "pscale",
    "wrangler",
    "ksql",
    "monetdb",
    "crash",
    "osqueryi",
    "libsql",
    "edgedb",
    "gel",
    "rqlite",
    "surreal",
    "psqlodbc",
    "prisma",
    "steampipe",
    "q",
    "datasette",
    "sqlite-utils",
];

fn interpreter(name: &str, command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Option<Verdict> {
    let mut worst: Option<Verdict> = None;
    if SQL_CLIENTS.contains(&name) {
        let mut texts: Vec<&Word> = words
            .iter()
            .filter(|word| word.text.contains(' ') || word.text.contains(';') || word.text.starts_with("--"))
            .collect();
        if let Input::Known(text) = &command.input {
            texts.push(text);
        }
        for word in texts {
            let text = word
                .text
                .strip_prefix("--")
                .and_then(|option| option.split_once('='))
                .map_or(word.text.as_str(), |(_, value)| value);
            let text = text
                .strip_prefix("-e")
                .or_else(|| text.strip_prefix("-c"))
                .or_else(|| text.strip_prefix("-Q"))
                .unwrap_or(text);
            if let Some(found) = sql::judge(text) {
                keep(&mut worst, Verdict::new(found.level, found.rule, found.why, word.span.clone()));
            }
            // psql and sqlite run programs too.
            for (sign, end) in [("\\!", 2), (".shell ", 7), (".system ", 8)] {
                if let Some(at) = text.find(sign) {
                    nested(text.get(at + end..).unwrap_or_default(), word, command, ground, &mut worst);
                }
            }
        }
    }
    if matches!(name, "redis-cli" | "valkey-cli")
        && let Input::Known(text) = &command.input
    {
        for line in text.text.lines() {
            let words: Vec<Word> = line
                .split_whitespace()
                .map(|text| Word { text: text.to_owned(), exact: true, pattern: false, span: text_span(command) })
                .collect();
            if let Some(rule) = rules::matching("redis-cli", &words) {
                keep(&mut worst, Verdict::new(rule.level, rule.id, rule.why, text_span(command)));
            }
        }
    }
    let shells = shell_like(name);
    if let Some((language, holds, valued)) = interpreter_of(name) {
        let options = Options::read(words, valued);
        let mut coded = false;
        let mut judged = |code: &str, word: &Word, worst: &mut Option<Verdict>| {
            coded = true;
            if matches!(name, "mongosh" | "mongo") {
                mongo(code, word, worst);
            }
            if let Some(verdict) = nested_acts(&code::acts(code, language), word, command, ground) {
                keep(worst, verdict);
            }
        };
        for (option, word) in &options.values {
            if holds.iter().any(|hold| hold == option || hold.strip_prefix('-') == Some(option)) {
                judged(&word.text, word, &mut worst);
            }
        }
        for (option, value) in &options.equals {
            if holds.iter().any(|hold| hold == option || hold.strip_prefix('-') == Some(option)) {
                let word = Word { text: (*value).to_owned(), exact: true, pattern: false, span: command.span.clone() };
                judged(value, &word, &mut worst);
            }
        }
        let stdin = options.rest.first().is_none_or(|word| word.text == "-" || word.text == "/dev/stdin");
        if stdin && options.value("-m").is_none() {
            match &command.input {
                Input::Known(text) => judged(&text.text.clone(), &text.clone(), &mut worst),
                Input::Piped(from) if !coded && !matches!(name, "bun") => keep(&mut worst, piped(from, command)),
                _ => {}
            }
        }
        if name == "mongosh" || name == "mongo" {
            for word in options.rest {
                if word.text.contains('(') {
                    mongo(&word.text, word, &mut worst);
                }
            }
        }
    }
    if matches!(name, "deno" | "bun")
        && words.first().is_some_and(|word| word.text == "eval")
        && let Some(word) = words.iter().skip(1).find(|word| !word.text.starts_with('-'))
        && let Some(verdict) = nested_acts(&code::acts(&word.text, Language::JavaScript), word, command, ground)
    {
        keep(&mut worst, verdict);
    }
    if matches!(name, "rails" | "manage.py" | "python" | "python3" | "irb" | "tinker")
        && words.iter().any(|word| matches!(word.text.as_str(), "runner" | "shell"))
        && let Some(word) = words.iter().find(|word| word.text.contains('('))
        && let Some(verdict) = nested_acts(&code::acts(&word.text, Language::Python), word, command, ground)
    {
        keep(&mut worst, verdict);
    }
    if shells {
        let reads = words.iter().all(|word| word.text.starts_with('-') || word.text == "/dev/stdin")
            && !words.iter().any(|word| !word.text.starts_with("--") && word.text.contains('c'));
        let reads = reads || words.iter().any(|word| word.text == "-s");
        if reads {
            match &command.input {
                Input::Piped(from) => keep(&mut worst, piped(from, command)),
                Input::Known(text) if !text.exact && text.text.trim_start().starts_with("$(") => {
                    keep(&mut worst, piped("", command));
                }
                _ => {}
            }
        }
    }
    worst
}

fn shell_like(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "csh" | "tcsh" | "mksh" | "pwsh" | "powershell"
    )
}

fn text_span(command: &SimpleCommand) -> Range<usize> {
    match &command.input {
        Input::Known(text) => text.span.clone(),
        _ => command.span.clone(),
    }
}

fn piped(from: &str, command: &SimpleCommand) -> Verdict {
    if from == "cat" {
        return Verdict::new(RiskLevel::Cautious, "shell.run", "runs a script", command.span.clone());
    }
    Verdict::new(RiskLevel::Confirm, "shell.pipe.unknown", "runs what another program prints", command.span.clone())
}

/// The shell of `MongoDB`: `db.users.drop()`, `deleteMany({})`.
fn mongo(code: &str, word: &Word, worst: &mut Option<Verdict>) {
    let bare: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let found = if bare.contains("dropDatabase(") {
        Some((RiskLevel::Dangerous, "mongo.drop", "drops a whole database"))
    } else if [
        ".drop(",
        ".dropIndexes(",
        ".dropIndex(",
        "dropUser(",
        "dropAllUsers(",
        "dropRole(",
        "shutdownServer(",
        ".renameCollection(",
    ]
    .iter()
    .any(|call| bare.contains(call))
    {
        Some((RiskLevel::Confirm, "mongo.drop", "drops what is in a database"))
    } else if ["deleteMany({})", "deleteMany()", "remove({})", "remove()", "bulkWrite([{deleteMany"]
        .iter()
        .any(|call| bare.contains(call))
        || bare.contains("updateMany({},")
    {
        Some((RiskLevel::Confirm, "mongo.delete.all", "deletes or changes everything in a collection"))
    } else {
        None
    };
    if let Some((level, rule, why)) = found {
        keep(worst, Verdict::new(level, rule, why, word.span.clone()));
    }
}

/// Shell text inside of a command.
fn nested(text: &str, word: &Word, command: &SimpleCommand, ground: &Ground<'_>, worst: &mut Option<Verdict>) {
    let Some(ground) = ground.deeper() else {
        return keep(
            worst,
            Verdict::new(RiskLevel::Confirm, "shell.unparsed", "hides too deep to be read", word.span.clone()),
        );
    };
    if text.len() > shell::MAX_TEXT {
        return keep(
            worst,
            Verdict::new(RiskLevel::Confirm, "shell.unparsed", "holds more than can be read", word.span.clone()),
        );
    }
    let script = shell::parse(text);
    for mut inner in script.commands {
        inner.elevated |= command.elevated;
        inner.remote |= command.remote;
        let mut verdict = judge(&inner, &ground);
        verdict.span = word.span.clone();
        keep(worst, verdict);
    }
    if script.unparsed.is_some() {
        keep(worst, Verdict::new(RiskLevel::Confirm, "shell.unparsed", "holds what cannot be read", word.span.clone()));
    }
}

fn nested_acts(acts: &[Act], word: &Word, command: &SimpleCommand, ground: &Ground<'_>) -> Option<Verdict> {
    let mut worst = None;
    for act in acts {
        if let Some(verdict) = act_verdict(act, word, command, ground) {
            keep(&mut worst, verdict);
        }
    }
    worst
}

/// The judgement of what a piece of code does.
pub(super) fn act_verdict(act: &Act, word: &Word, command: &SimpleCommand, ground: &Ground<'_>) -> Option<Verdict> {
    let span = word.span.clone();
    match act {
        Act::Delete { path: path_text, recursive } => {
            let target = path_text.as_deref().map_or(Place::Unknown, |path| place(path, true, ground.context));
            let level = files::delete(target, *recursive, path_text.as_deref().is_some_and(|path| path.contains('*')));
            let rule = if *recursive { "code.delete.tree" } else { "code.delete" };
            Some(Verdict::new(level, rule, format!("deletes in {}", target.words()), span))
        }
        Act::Write { path } => {
            let target = place(path, true, ground.context);
            Some(Verdict::new(files::write(target), "code.write", format!("writes in {}", target.words()), span))
        }
        Act::Shell { text } => {
            let mut worst = None;
            nested(text, word, command, ground, &mut worst);
            worst
        }
        Act::Run { words } => {
            let mut worst = None;
            let Some(ground) = ground.deeper() else {
                return Some(Verdict::new(RiskLevel::Confirm, "shell.unparsed", "hides too deep to be read", span));
            };
            for mut inner in shell::parse_words(words).commands {
                inner.elevated |= command.elevated;
                let mut verdict = judge(&inner, &ground);
                verdict.span = span.clone();
                keep(&mut worst, verdict);
            }
            worst
        }
        Act::Unknown { what } => {
            Some(Verdict::new(RiskLevel::Confirm, "code.unknown", format!("runs {what}, which cannot be told"), span))
        }
        Act::Sql { text } => sql::judge(text).map(|found| Verdict::new(found.level, found.rule, found.why, span)),
        Act::Named { level, what } => Some(Verdict::new(*level, "code.destroy", what.clone(), span)),
    }
}
