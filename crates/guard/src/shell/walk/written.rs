//! Scripts that a text writes and then runs: `echo 'rm -rf x' > a.sh; sh a.sh`, and in other languages
//! `python a.py`, `psql -f a.sql`, `make`. What goes into the file is known, so it is read where it is run; how many
//! files are kept, and how much of them, is bounded.

use std::collections::BTreeMap;

use super::super::{Input, RedirectKind, SimpleCommand, Word, wrap::is_shell};

/// Files that are kept, and bytes of one.
const MOST: usize = 32;
const LONGEST: usize = 16 * 1024;

/// What was written where.
#[derive(Default)]
pub(super) struct Written(BTreeMap<String, Word>);

impl Written {
    /// Takes down what a command writes, if its text is known.
    pub(super) fn note(&mut self, command: &SimpleCommand, output: &Input) {
        let tees = command.program() == Some("tee");
        let text = match (output, &command.input) {
            (_, Input::Known(text)) if tees => text,
            (Input::Known(text), _) => text,
            _ => return,
        };
        let redirected = command
            .redirects
            .iter()
            .filter(|redirect| matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append))
            .map(|redirect| (&redirect.target, redirect.kind == RedirectKind::Append));
        let arguments = command.words.iter().skip(1).filter(|word| tees && !word.text.starts_with('-'));
        for (file, more) in redirected.chain(arguments.map(|word| (word, false))).take(8) {
            if !file.exact || text.text.len() > LONGEST || self.0.len() >= MOST {
                continue;
            }
            let kept = self.0.entry(plain(&file.text).to_owned()).or_insert_with(|| text.clone());
            if more && kept.text.len() + text.text.len() < LONGEST && kept.text != text.text {
                kept.text.push('\n');
                kept.text.push_str(&text.text);
            } else {
                *kept = text.clone();
            }
        }
    }

    /// The text that a command runs from one of the files.
    pub(super) fn run_by(&self, command: &SimpleCommand) -> Option<Word> {
        if self.0.is_empty() {
            return None;
        }
        let program = command.program()?;
        let (first, rest) = command.words.split_first()?;
        if matches!(program, "make" | "gmake") {
            return self.recipes(rest, command);
        }
        let file = if is_shell(program) || matches!(program, "source" | ".") {
            rest.iter().find(|word| !word.text.starts_with(['-', '+']))?
        } else {
            first
        };
        let text = self.0.get(plain(&file.text))?;
        Some(Word { span: command.span.clone(), ..text.clone() })
    }

    /// The lines of a makefile that run: those behind a tab.
    fn recipes(&self, words: &[Word], command: &SimpleCommand) -> Option<Word> {
        let named = words.windows(2).find(|pair| matches!(pair[0].text.as_str(), "-f" | "--file" | "--makefile"));
        let text = match named {
            Some(pair) => self.0.get(plain(&pair[1].text)),
            None => ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|file| self.0.get(*file)),
        }?;
        let lines = text.text.lines().filter_map(|line| line.strip_prefix('\t'));
        let lines: Vec<&str> = lines.map(|line| line.trim_start_matches(['@', '-', '+'])).collect();
        Some(Word { text: lines.join("\n"), span: command.span.clone(), ..text.clone() })
    }

    /// The same program, fed with the text that it reads from one of the files.
    pub(super) fn read_by(&self, command: &SimpleCommand) -> Option<SimpleCommand> {
        if self.0.is_empty() {
            return None;
        }
        let program = command.program()?;
        if !INTERPRETERS.iter().any(|name| program.starts_with(name)) {
            return None;
        }
        let (first, rest) = command.words.split_first()?;
        let given = rest.iter().map(|word| {
            let option = word.text.split_once('=').filter(|(option, _)| option.starts_with("--"));
            option.map_or(word.text.as_str(), |(_, value)| value)
        });
        let redirected = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let text = given
            .chain(redirected.map(|redirect| redirect.target.text.as_str()))
            .find_map(|file| self.0.get(plain(file)).or_else(|| self.0.get(plain(file.strip_prefix("-f")?))))?;
        let text = Word { span: command.span.clone(), ..text.clone() };
        Some(SimpleCommand {
            words: vec![first.clone()],
            redirects: Vec::new(),
            input: Input::Known(text),
            ..command.clone()
        })
    }
}

/// What the names of programs begin with that run the code, or the statements, of a file that they are given.
const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "ipython",
    "node",
    "bun",
    "tsx",
    "ts-node",
    "ruby",
    "perl",
    "php",
    "lua",
    "Rscript",
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlcmd",
    "cqlsh",
    "clickhouse-client",
    "duckdb",
    "mongosh",
    "mongo",
    "redis-cli",
    "pwsh",
    "powershell",
    "sqlplus",
    "trino",
    "beeline",
    "hive",
    "spark-sql",
];

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}
