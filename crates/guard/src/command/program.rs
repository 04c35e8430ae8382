//! The program of a command judged by all that is known of it: records, files, code, and whether its name can be told
//! at all.

use super::{
    Ground, Verdict,
    environment::{printed, sets_harmless},
    interpreter::interpreter,
    lines::lines,
    reads::{Reading, reading, reads as is_reader},
    runner::handed_on,
    special::special,
    tells::{only_tells, without_asking},
    unknown,
};
use crate::{
    RiskLevel,
    files::{self, keep},
    names,
    policy::{hosts_in, is_here},
    records, rules,
    shell::{self, Options, SimpleCommand, Via, Word},
    sql,
};

/// The judgement of a program by its name. One that is called by the path of some folder may be another one: its name
/// can make it worse, never harmless.
pub(super) fn program(command: &SimpleCommand, ground: &Ground<'_>) -> Verdict {
    let verdict = by_name(command, ground);
    let Some(first) = command.words.first().filter(|first| !shell::is_of_system(&first.text)) else { return verdict };
    if verdict.level == RiskLevel::Safe || verdict.rule == "shell.run" && command.hands_on {
        let why = "is run from a folder that is none of the system's: it may be any program";
        return Verdict::new(RiskLevel::Cautious, "shell.run.path", why, first.span.clone());
    }
    verdict
}

fn by_name(command: &SimpleCommand, ground: &Ground<'_>) -> Verdict {
    let span = command.span.clone();
    let Some((first, words)) = command.words.split_first() else {
        return Verdict::new(RiskLevel::Safe, "shell.empty", "runs nothing by itself", span);
    };
    let Some(name) = command.program() else {
        return unknown_program(first, command);
    };
    let lower;
    let name = if name.chars().any(|c| c.is_ascii_uppercase()) {
        lower = records::cmdlet(&name.to_ascii_lowercase());
        lower.as_str()
    } else {
        name
    };
    let name = version_off(name);
    if only_tells(name, command) {
        return Verdict::new(RiskLevel::Safe, "shell.help", "only tells about itself", span);
    }
    // A statement where a command should be: no program is called `drop`, but what reads this text may be a database.
    let statement = matches!(name, "drop" | "delete" | "update" | "alter" | "grant" | "revoke")
        || name == "truncate" && words.first().is_some_and(|word| word.text.eq_ignore_ascii_case("table"));
    if statement && words.len() > 1 {
        let text: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let text = text.join(" ");
        if sql::looks_like(&text) {
            return sql::judge(&text).map_or_else(
                || Verdict::new(RiskLevel::Cautious, "sql.write", "changes what is stored", span.clone()),
                |found| Verdict::new(found.level, found.rule, found.why, span.clone()),
            );
        }
    }
    let mut worst = None;
    // A word that asks for help pardons nothing: the rest is judged by itself as well.
    if let Some(rest) = without_asking(command) {
        let verdict = program(&rest, ground);
        if verdict.level >= RiskLevel::Confirm || verdict.loses() {
            keep(&mut worst, verdict);
        }
    }
    // What hands its words on is judged as that, and by what it says itself.
    if let Some(other) = stands_for(name) {
        let mut renamed = command.clone();
        other.clone_into(&mut renamed.words[0].text);
        keep(&mut worst, program(&renamed, ground));
    }
    if matches!(name, "docker" | "podman" | "nerdctl")
        && let Some((compose, rest)) = words.split_first()
        && compose.text == "compose"
        && let Some(rule) = rules::matching("docker-compose", rest)
    {
        // `docker compose -f file down -v`: options of the middle word take values.
        keep(&mut worst, Verdict::new(rule.level, &rule.id, &rule.why, span.clone()));
    }
    // Who does not know the option refuses to run; of those that pass words on, more is asked.
    let dry = |word: &Word| names::has("programs.dry", &word.text);
    let only_shows = records::record(name).is_some_and(|record| record.dry)
        && words.iter().take_while(|word| word.text != "--").any(dry);
    if let Some(rule) = rules::matching(name, words).filter(|_| !only_shows) {
        keep(&mut worst, Verdict::new(rule.level, &rule.id, &rule.why, span.clone()));
    }
    if let Some(verdict) = taken(name, words) {
        keep(&mut worst, verdict);
    }
    if let Some((framework, rest)) = framework(name, words)
        && let Some(rule) = rules::matching(framework, rest)
    {
        keep(&mut worst, Verdict::new(rule.level, &rule.id, &rule.why, span.clone()));
    }
    if let Some(verdict) = files::judge(name, command, ground.context) {
        keep(&mut worst, verdict);
    }
    // Of a program whose options are known to read those decide, not that one part of what it does is harmless.
    if let Some(verdict) = special(name, command, words, ground)
        && !(verdict.level == RiskLevel::Safe && is_reader(name))
    {
        keep(&mut worst, verdict);
    }
    if let Some(verdict) = interpreter(name, command, words, ground)
        && !(name == "bq" && only_shows)
    {
        keep(&mut worst, verdict);
    }
    if let Some(record) = records::record(name).filter(|record| !record.sql.is_empty()) {
        let options = Options::read(words, &record.sql);
        let joined = options.equals.iter().filter(|(option, _)| record.sql.split(' ').any(|name| name == *option));
        let given = options.values.iter().map(|(_, word)| word.text.as_str()).chain(joined.map(|(_, text)| *text));
        if let Some(found) = given.filter_map(sql::judge).max_by_key(|found| found.level) {
            keep(&mut worst, Verdict::new(found.level, found.rule, found.why, span.clone()));
        }
    }
    if let Some(verdict) = handed_on(name, command, words, ground) {
        keep(&mut worst, verdict);
    }
    if let Some(verdict) = lines(name, command, words) {
        keep(&mut worst, verdict);
    }
    if worst.as_ref().is_none_or(|worst| worst.level < RiskLevel::Confirm)
        && let Some(verdict) = passed_on(name, command, ground)
    {
        keep(&mut worst, verdict);
    }
    let reads = match reading(name, command, words, ground) {
        Reading::Reads => !printed(name, words),
        Reading::Unknown => is_reading_cmdlet(name) || sets_harmless(name, words),
        Reading::Acts(verdict) => {
            keep(&mut worst, verdict);
            false
        }
    };
    if worst.is_none() && reads {
        return Verdict::new(RiskLevel::Safe, "shell.read", "only reads", span);
    }
    if command.elevated && worst.is_none() && !records::acts(name) && !matches!(command.via, Via::Remote) {
        return Verdict::new(
            RiskLevel::Confirm,
            "shell.elevated",
            "runs a program that is not known as another user",
            span,
        );
    }
    if worst.is_none() && !command.hands_on && !unknown::known(name) {
        let given = unknown::given(command, words, ground.context);
        given
            .into_iter()
            .chain(unknown::run_by_option(command, words, ground))
            .for_each(|found| keep(&mut worst, found));
    }
    if matches!(name, "sudo" | "doas" | "pkexec" | "su") {
        let alone = words.iter().all(|word| word.text.starts_with('-'))
            && !words.iter().any(|word| matches!(word.text.as_str(), "-l" | "-v" | "-k" | "-K" | "--list"))
            // `su user -c …` is judged by what it runs.
            || name == "su"
                && !words.iter().any(|word| {
                    matches!(word.text.as_str(), "-c" | "--command" | "--session-command")
                        || word.text.starts_with("--command=")
                        || word.text.starts_with("--session-command=")
                });
        if alone {
            keep(&mut worst, Verdict::new(RiskLevel::Confirm, "shell.elevated", "becomes another user", span.clone()));
        }
    }
    worst
        .unwrap_or_else(|| Verdict::new(RiskLevel::Cautious, "shell.run", "runs a program that may change files", span))
}

/// `rtk git push --force`: a program that nobody knows here, given the words of one that is known.
fn passed_on(name: &str, command: &SimpleCommand, ground: &Ground<'_>) -> Option<Verdict> {
    let (other, rest) = command.words.get(1..)?.split_first()?;
    let given = other.exact && names::has("programs.passed_on", &other.text) && !rest.is_empty();
    if !given || records::known(name) || !shell::is_of_system(&command.words[0].text) {
        return None;
    }
    let inner = SimpleCommand { words: command.words[1..].to_vec(), ..command.clone() };
    Some(program(&inner, ground)).filter(|verdict| verdict.level >= RiskLevel::Confirm)
}

/// Code that a program takes from another machine, to run it: `git+https://…`, `--from=https://…`, `github:a/b`.
fn taken(name: &str, words: &[Word]) -> Option<Verdict> {
    let elsewhere = |word: &&Word| {
        let text = word.text.as_str();
        let value = text.split_once('=').filter(|_| text.starts_with('-')).map_or(text, |(_, value)| value);
        let mut hosts = Vec::new();
        if value.contains("://") {
            hosts_in(value, &mut hosts);
        }
        names::list("programs.code_at").iter().any(|start| value.starts_with(start.as_str()))
            || hosts.iter().any(|host| !is_here(host))
    };
    let word = words.iter().filter(|_| names::has("programs.taking_code", name)).find(elsewhere)?;
    let why = "takes code from an address elsewhere, to run it";
    Some(Verdict::new(RiskLevel::Confirm, "shell.fetched", why, word.span.clone()))
}

/// Programs that take the words of another one and hand them on to it.
fn stands_for(name: &str) -> Option<&'static str> {
    Some(match name {
        "yadm" | "dotbare" | "hub" => "git",
        "awslocal" => "aws",
        "tflocal" => "terraform",
        "kubecolor" => "kubectl",
        "samlocal" => "sam",
        "cdklocal" => "cdk",
        "pulumilocal" => "pulumi",
        "podman-remote" | "docker.io" => "docker",
        "yay" | "paru" | "pacaur" | "pikaur" | "trizen" | "yaourt" | "aura" | "aurman" => "pacman",
        "scrontab" => "crontab",
        _ => return None,
    })
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

/// Commands of PowerShell that are known to read, and nothing that is secret. Their first word alone shows neither:
/// modules bring a `Get-Secret` and a `Write-S3Object`.
fn is_reading_cmdlet(name: &str) -> bool {
    names::has("programs.cmdlets", name)
}

fn unknown_program(first: &Word, command: &SimpleCommand) -> Verdict {
    let text = first.text.as_str();
    let inner = text.strip_prefix("$(").and_then(|inner| inner.strip_suffix(')'));
    if command.via == Via::Eval
        && let Some(tool) = inner.and_then(|inner| inner.split_whitespace().next())
        && names::has("programs.hooks", tool)
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
