//! Interpreters, shells and clients of databases: the code, the statements or the script that a command hands them.

use std::ops::Range;

use super::{
    Ground, Verdict,
    nested::{nested, nested_acts},
};
use crate::{
    RiskLevel,
    code::{self, Language},
    files::keep,
    names, rules,
    shell::{Input, Options, Redirect, RedirectKind, SimpleCommand, Word},
    sql,
};

/// The list of clients of databases that take SQL.
const SQL_CLIENTS: &str = "programs.sql_clients";

/// The language of an interpreter, the options that hold code, and those that take another value.
fn interpreter_of(name: &str) -> Option<(Language, &'static [&'static str], &'static str)> {
    Some(match name {
        "python" | "python2" | "python3" | "pypy" | "pypy3" | "ipython" | "ipython3" | "sage" | "micropython" => {
            (Language::Python, &["-c"], "-c -W -X -Q -m")
        }
        "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => (
            Language::JavaScript,
            &["-e", "--eval", "-p", "--print", "-pe"],
            "-e --eval -p --print -pe -r --require --import",
        ),
        "ruby" | "jruby" => (Language::Ruby, &["-e"], "-e -I -r -C"),
        "perl" => (Language::Perl, &["-e", "-E"], "-e -E -I -M -m -F"),
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
        "arangosh" => (
            Language::JavaScript,
            &["--javascript.execute-string"],
            "--javascript.execute-string --javascript.execute --server.endpoint --server.username --server.database",
        ),
        _ => return None,
    })
}

pub(super) fn interpreter(name: &str, command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Option<Verdict> {
    let mut worst: Option<Verdict> = None;
    if names::has(SQL_CLIENTS, name) {
        let mut texts: Vec<&Word> = words
            .iter()
            .filter(|word| word.text.contains(' ') || word.text.contains(';') || word.text.starts_with("--"))
            .collect();
        if let Input::Known(text) = &command.input {
            texts.push(text);
        }
        // Opened so, it refuses what would change it.
        let only_reads =
            || words.iter().any(|word| matches!(word.text.as_str(), "-readonly" | "--readonly" | "-read_only"));
        if matches!(name, "sqlite3" | "duckdb") && only_reads() {
            texts.clear();
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
            // Lines of the client's own stand between statements without a sign at their end.
            if text.contains('\n') && text.lines().any(|line| line.starts_with(['.', '\\'])) {
                let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(['.', '\\'])).collect();
                if let Some(found) = sql::judge(&lines.join("\n")) {
                    keep(&mut worst, Verdict::new(found.level, found.rule, found.why, word.span.clone()));
                }
            }
            // `-f <(echo …)`: statements that a program makes up.
            if text.starts_with("<(") {
                keep(&mut worst, piped("", command));
            }
            // psql and sqlite run programs too.
            if name.starts_with("sqlite") && text.trim_start().starts_with(".restore") {
                keep(
                    &mut worst,
                    Verdict::new(RiskLevel::Confirm, "database.restore", "writes over a database", word.span.clone()),
                );
            }
            for (sign, end) in [("\\!", 2), (".shell ", 7), (".system ", 8)] {
                if let Some(at) = text.find(sign) {
                    let mut inner = None;
                    nested(text.get(at + end..).unwrap_or_default(), word, command, ground, &mut inner);
                    // That one part only reads says nothing of the statements.
                    if let Some(inner) = inner.filter(|inner| inner.level > RiskLevel::Safe) {
                        keep(&mut worst, inner);
                    }
                }
            }
        }
    }
    // Statements that a database makes up are run unseen; a script may say by its name what it does.
    if names::has(SQL_CLIENTS, name) {
        if let Input::Piped(from) = &command.input
            && !from.ends_with("dump")
        {
            // Also by way of `cat`: a script that is named is run as one, one that flows in may be anything.
            let why = "runs the statements that another program prints";
            keep(&mut worst, Verdict::new(RiskLevel::Confirm, "shell.pipe.unknown", why, command.span.clone()));
        }
        // A dump of this kind drops each table before it makes it anew.
        if matches!(name, "mysql" | "mariadb")
            && let Input::Piped(from) = &command.input
            && matches!(from.as_str(), "mysqldump" | "mariadb-dump")
        {
            keep(
                &mut worst,
                Verdict::new(
                    RiskLevel::Confirm,
                    "database.restore",
                    "drops what is there before it restores",
                    command.span.clone(),
                ),
            );
        }
        // `mysql < <(…)`
        let made_up =
            |redirect: &&Redirect| redirect.kind == RedirectKind::Read && redirect.target.text.starts_with("<(");
        if command.redirects.iter().any(|redirect| made_up(&redirect)) {
            keep(&mut worst, piped("", command));
        }
    }
    if matches!(name, "redis-cli" | "valkey-cli" | "keydb-cli")
        && let Some(word) = words.iter().find(|word| {
            let text = word.text.to_ascii_lowercase();
            text.contains("redis.call")
                && ["flushall", "flushdb", "'del'", "\"del\"", "unlink"].iter().any(|verb| text.contains(verb))
        })
    {
        keep(
            &mut worst,
            Verdict::new(RiskLevel::Confirm, "redis.delete", "deletes keys of a store", word.span.clone()),
        );
    }
    if matches!(name, "redis-cli" | "valkey-cli")
        && let Input::Known(text) = &command.input
    {
        for line in text.text.lines() {
            let words: Vec<Word> = line
                .split_whitespace()
                .map(|text| Word { text: text.to_owned(), exact: true, span: text_span(command), ..Word::default() })
                .collect();
            if let Some(rule) = rules::matching("redis-cli", &words) {
                keep(&mut worst, Verdict::new(rule.level, &rule.id, &rule.why, text_span(command)));
            }
        }
    }
    let shells = shell_like(name);
    if let Some((language, holds, valued)) = interpreter_of(name) {
        let options = Options::read(words, valued);
        let mut coded = false;
        let mut judged = |code: &str, word: &Word, worst: &mut Option<Verdict>| {
            coded = true;
            // `python -c "$(…)"`: the code itself is what another program prints.
            if !word.exact && (code.trim_start().starts_with("$(") || code.trim_start().starts_with('`')) {
                keep(
                    worst,
                    Verdict::new(
                        RiskLevel::Confirm,
                        "code.unknown",
                        "runs code that cannot be told",
                        word.span.clone(),
                    ),
                );
            }
            if matches!(name, "mongosh" | "mongo" | "arangosh") {
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
                let word =
                    Word { text: (*value).to_owned(), exact: true, span: command.span.clone(), ..Word::default() };
                judged(value, &word, &mut worst);
            }
        }
        // The first word of this one names a database.
        let database = matches!(name, "mongosh" | "mongo")
            && options.rest.len() == 1
            && options.rest.iter().all(|word| !word.text.contains(".js") && !word.text.contains('('));
        let from_input = |word: &Word| word.text == "-" || word.text == "/dev/stdin";
        let stdin = database
            || options.rest.first().is_none_or(|word| from_input(word))
            // `deno run -`
            || matches!(options.rest.as_slice(), [run, file, ..] if run.text == "run" && from_input(file));
        if stdin && options.value("-m").is_none() {
            match &command.input {
                Input::Known(text) => judged(&text.text.clone(), &text.clone(), &mut worst),
                Input::Piped(from) if !coded => keep(&mut worst, piped(from, command)),
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
    if name == "go"
        && words.first().is_some_and(|word| word.text == "run")
        && words.get(1).is_some_and(|word| matches!(word.text.as_str(), "-" | "/dev/stdin"))
        && let Input::Known(text) = &command.input
        && let Some(verdict) = nested_acts(&code::acts(&text.text, Language::Other), text, command, ground)
    {
        keep(&mut worst, verdict);
    }
    if matches!(name, "php" | "artisan")
        && words.iter().any(|word| word.text == "tinker")
        && let Some(at) = words.iter().position(|word| word.text.starts_with("--execute"))
        && let Some(given) = words.get(at)
        && let Some(word) = if given.text == "--execute" { words.get(at + 1) } else { Some(given) }
        && let Some(verdict) =
            nested_acts(&code::acts(word.text.trim_start_matches("--execute="), Language::Other), word, command, ground)
    {
        keep(&mut worst, verdict);
    }
    if let Some(language) = console(name, words)
        && let Input::Known(text) = &command.input
        && let Some(verdict) = nested_acts(&code::acts(&text.text, language), text, command, ground)
    {
        keep(&mut worst, verdict);
    }
    if matches!(name, "rails" | "gitlab-rails" | "manage.py" | "python" | "python3" | "irb" | "tinker")
        && words.iter().any(|word| matches!(word.text.as_str(), "runner" | "r" | "shell"))
        && let Some(word) = words.iter().find(|word| word.text.contains(['(', '.', '`', ' ']))
        && let language =
            if matches!(name, "rails" | "gitlab-rails" | "irb") { Language::Ruby } else { Language::Python }
        && let Some(verdict) = nested_acts(&code::acts(&word.text, language), word, command, ground)
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
                // `bash < <(curl …)`
                _ if command
                    .redirects
                    .iter()
                    .any(|redirect| redirect.kind == RedirectKind::Read && redirect.target.text.starts_with("<(")) =>
                {
                    keep(&mut worst, piped("", command));
                }
                Input::Known(text) if !text.exact && text.text.trim_start().starts_with("$(") => {
                    keep(&mut worst, piped("", command));
                }
                _ => {}
            }
        }
    }
    worst
}

/// The language of a framework's console, which reads what it is fed.
fn console(name: &str, words: &[Word]) -> Option<Language> {
    let has = |wanted: &[&str]| words.iter().take(3).any(|word| wanted.contains(&word.text.as_str()));
    match name {
        "manage.py" | "django-admin" | "flask" if has(&["shell", "shell_plus"]) => Some(Language::Python),
        "python" | "python3"
            if words.first().is_some_and(|word| word.text.ends_with("manage.py")) && has(&["shell", "shell_plus"]) =>
        {
            Some(Language::Python)
        }
        "rails" | "gitlab-rails" if has(&["console", "c", "runner", "r"]) => Some(Language::Ruby),
        "irb" | "pry" => Some(Language::Ruby),
        "artisan" | "php" if has(&["tinker"]) => Some(Language::Other),
        _ => None,
    }
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

/// Code without blanks, comments and what is only said in it: `print("db.x.drop()")`.
fn said_in(code: &str) -> String {
    let (mut bare, mut quote) = (String::with_capacity(code.len()), None);
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(open), c) if open == c => quote = None,
            // Keys in quotes are keys all the same: `{"shutdown": 1}`; calls are none.
            (Some(_), c) => bare.extend((c != '(' && !c.is_whitespace()).then_some(c)),
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '/') if chars.peek() == Some(&'/') => {
                chars.by_ref().take_while(|c| *c != '\n').for_each(drop);
            }
            (None, c) => bare.extend((!c.is_whitespace()).then_some(c)),
        }
    }
    bare
}

/// The shell of `MongoDB`: `db.users.drop()`, `deleteMany({})`.
fn mongo(code: &str, word: &Word, worst: &mut Option<Verdict>) {
    let bare = said_in(code);
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
        "shutdown:1",
        "].drop(",
        ".renameCollection(",
        "db._drop(",
        "db._truncate(",
        ".truncate(",
        "db._dropDatabase(",
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
