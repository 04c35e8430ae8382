//! What is known of programs: the records of `commands.toml`.
//!
//! A record says in `names` which programs it is for (`remove-*` are all commands of PowerShell with that verb), in
//! `about` with which options they only tell about themselves, with `help` that they print help for `sub --help` and
//! `help sub` (its value are the words that have subcommands themselves), in `values` which of their options take a
//! value (`@` where a single dash begins a whole word, as in `-destroy`), in `writes` those that have it write a file
//! (`@` alike), in
//! `starts` those whose value it runs (`@` alike), in `sql` those whose value is SQL, in `reads` what only reads, in
//! `rules` what does harm, and with `dry = true` that they refuse options that they do not know, so
//! that `--dry-run` and its like only show. `safe`, `cautious`, `confirm` and `dangerous` hold example lines of that
//! level, which a test checks.
//!
//! A line of `reads` is `SUBCOMMAND = OPTIONS`. Among the options `-ab` are letters, `--long` a name; `:` or `=`
//! behind one takes a value, `?` one that is joined to it or left out. Behind that, `>` is a file that is written, `!`
//! a program that is run, `@` a setting, `;` a statement of SQL that has to read. `-#` is a number for an option
//! (`-20`), `*` anything at all, a digit the most operands that are read (`1>`: one more is written), `+` options that
//! end at the first operand, `/` a program with subcommands, `&` one that runs what follows, `@` options of one dash
//! that are whole words, `=+` operands that begin with `+` alone, `!+` no word or value that does, `!*:` none that
//! holds it, `$word` the last operand, `^-a|--b` an option of which one must be given, `;1` that all operands but the
//! first are statements that read, `here` that all are addresses of this machine, `~` a first word of letters without
//! a dash, `%name` the options of a set.
//!
//! A line of `runs` says where the command begins that the program runs: `SUBCOMMAND = NUMBER from text remote elevated
//! OPTIONS` with how many words stand before it, whether it begins with that subcommand, whether what follows is shell
//! text, whether it runs on another machine or as another user, and the options before it that take a value.
//!
//! A line of `rules` is `LEVEL ID: PATTERN -> WHY`; `rules.rs` says how a pattern reads.
//!
//! Users add records in a file of the same form; `own.rs` says what those may change.

#[cfg(test)]
mod laws;
mod own;

use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

use loopwright_base::error::Result;

use super::{
    RiskLevel,
    command::Index,
    names,
    rules::Rule,
    table::{Item, Table},
};
pub use own::Commands;
pub(super) use own::enter;

/// A program, or several of which the same is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) names: Vec<String>,
    /// Its options that take a value, parted by blanks.
    pub(super) values: String,
    /// The options with which it only tells about itself, parted by blanks.
    pub(super) about: String,
    /// Where it prints its help for `sub --help` and `help sub`: its words that have subcommands themselves.
    pub(super) help: Option<String>,
    /// Its options that have it write a file, parted by blanks, where no line of `reads` tells.
    pub(super) writes: String,
    /// Its options whose value it runs, parted by blanks, where no line of `reads` tells.
    pub(super) starts: String,
    /// Its options whose value is SQL, parted by blanks.
    pub(super) sql: String,
    /// Whether it refuses options that it does not know.
    pub(super) dry: bool,
    /// What of it only reads: subcommand and options.
    pub(super) reads: Vec<(String, String)>,
    pub(super) rules: Vec<Rule>,
    /// How it runs what stands behind it.
    pub(super) runs: Vec<Runs>,
    /// Lines with the level that they have.
    pub(super) examples: Vec<(RiskLevel, String)>,
    /// Whether it stands in place of the record that is here: only in a file of the user.
    replaces: bool,
}

/// Where a command begins that another one runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// The words that must stand next for this to be so, each one of alternatives: `exec|run`.
    pub(super) words: Vec<String>,
    /// The options before the command that take a value, parted by blanks.
    pub(super) values: String,
    /// How many words before the command are no options.
    pub(super) skip: usize,
    /// Whether the last of those words is the program that is run.
    pub(super) from: bool,
    /// Whether all words that follow, joined by blanks, are shell text.
    pub(super) text: bool,
    /// Whether it runs on another machine.
    pub(super) remote: bool,
    /// Whether it runs as another user.
    pub(super) elevated: bool,
}

impl Runs {
    fn read(line: &str) -> Option<Self> {
        let (words, rest) = line.split_once('=')?;
        let mut runs = Self { words: words.split_whitespace().map(str::to_owned).collect(), ..Self::default() };
        let mut values = Vec::new();
        for token in rest.split_whitespace() {
            match token {
                "from" => runs.from = true,
                "text" => runs.text = true,
                "remote" => runs.remote = true,
                "elevated" => runs.elevated = true,
                option if option.starts_with('-') => values.push(option),
                number => runs.skip = number.parse().ok()?,
            }
        }
        runs.values = values.join(" ");
        Some(runs)
    }
}

/// All records, and the sets of options that their lines name.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) all: Vec<Record>,
    sets: HashMap<String, String>,
    by_name: HashMap<String, usize>,
    index: OnceLock<Index>,
}

impl Records {
    fn record(&self, program: &str) -> Option<&Record> {
        self.by_name.get(program).and_then(|at| self.all.get(*at))
    }

    /// The lines of `reads`, by program; made when they are first asked for.
    pub(super) fn index(&'static self) -> &'static Index {
        self.index.get_or_init(|| Index::of(self))
    }

    /// The options of a set: one of these records, or of those of this project.
    pub(super) fn set(&'static self, name: &str) -> &'static str {
        self.sets.get(name).or_else(|| records().sets.get(name)).map_or("", String::as_str)
    }
}

/// The records of this project.
pub(super) fn records() -> &'static Records {
    static RECORDS: LazyLock<Records> = LazyLock::new(|| read(include_str!("../commands.toml")).unwrap_or_default());
    &RECORDS
}

/// The record of a program: the user's, where there is one, else that of this project.
pub(super) fn record(program: &str) -> Option<&'static Record> {
    own::records().and_then(|own| own.record(program)).or_else(|| records().record(program))
}

/// The records that hold for a program.
pub(super) fn records_of(program: &str) -> &'static Records {
    own::records().filter(|own| own.record(program).is_some()).unwrap_or_else(records)
}

/// Whether all that is known of a program is what the user says: what that leaves open is judged as of a program that
/// nobody knows.
pub(super) fn is_own(program: &str) -> bool {
    own::records().is_some_and(|own| own.record(program).is_some()) && records().record(program).is_none()
}

/// The name under which commands of PowerShell have a record: their own, or that of their verb (`remove-*`).
pub(super) fn cmdlet(name: &str) -> String {
    let verb = name
        .split_once('-')
        .filter(|(_, noun)| noun.len() > 2 && noun.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let own = known(name) || names::has("programs.cmdlets", name);
    let of_verb = verb.filter(|_| !own).map(|(verb, _)| format!("{verb}-*")).filter(|of_verb| known(of_verb));
    of_verb.unwrap_or_else(|| name.to_owned())
}

/// Whether there is a record of the program.
pub(super) fn known(program: &str) -> bool {
    record(program).is_some()
}

/// Whether more is known of a program than what of it only reads.
pub(super) fn acts(program: &str) -> bool {
    record(program).is_some_and(|record| {
        !record.rules.is_empty() || !record.writes.is_empty() || !record.sql.is_empty() || record.reads.is_empty()
    })
}

/// The options of a program that take a value.
pub(super) fn valued(program: &str) -> &'static str {
    record(program).map_or("", |record| &record.values)
}

/// Whether a program by itself, without a subcommand, only reads what it is given and runs nothing of it.
pub(super) fn reader(program: &str) -> bool {
    let plain = |(words, options): &(String, String)| {
        words.is_empty() && !options.split(' ').any(|option| matches!(option, "&" | "/"))
    };
    record(program).is_some_and(|record| record.reads.iter().any(plain))
}

/// Reads the records of this project.
fn read(text: &str) -> Result<Records> {
    read_table(&Table { file: "commands.toml", text })
}

fn read_table(table: &Table<'_>) -> Result<Records> {
    let mut records = Records::default();
    for (key, value) in &table.parse()? {
        match key.get_ref().as_ref() {
            "sets" => {
                for (name, options) in table.members(value)? {
                    records.sets.insert(name.get_ref().to_string(), table.text(options)?);
                }
            }
            "program" => {
                for item in table.items(value)? {
                    let record = one(table, item)?;
                    for name in &record.names {
                        if records.by_name.insert(name.clone(), records.all.len()).is_some() {
                            return Err(table.wrong(&item.span(), format!("{name}: has two records"), "write one"));
                        }
                    }
                    records.all.push(record);
                }
            }
            other => {
                let what = format!("{other}: is no part of records");
                return Err(table.wrong(&key.span(), what, "they have `sets` and `program`"));
            }
        }
    }
    Ok(records)
}

fn one<'t>(table: &Table<'t>, item: &Item<'t>) -> Result<Record> {
    let mut record = Record::default();
    let wrong = |item: &Item<'_>, line: &str, form: &str| {
        table.wrong(&item.span(), format!("{line:?} has another form"), format!("write `{form}`"))
    };
    for (key, value) in table.members(item)? {
        let lines = || table.items(value)?.iter().map(|item| Ok((item, table.text(item)?))).collect::<Result<Vec<_>>>();
        match key.get_ref().as_ref() {
            "names" => record.names = table.words(value)?,
            "values" => record.values = table.text(value)?,
            "writes" => record.writes = table.text(value)?,
            "starts" => record.starts = table.text(value)?,
            "sql" => record.sql = table.text(value)?,
            "about" => record.about = table.text(value)?,
            "help" => record.help = Some(table.text(value)?),
            "dry" => record.dry = table.truth(value)?,
            "replaces" => record.replaces = table.truth(value)?,
            "reads" => {
                for (item, line) in lines()? {
                    let (words, options) =
                        line.split_once('=').ok_or_else(|| wrong(item, &line, "SUBCOMMAND = OPTIONS"))?;
                    record.reads.push((words.trim().to_owned(), options.trim().to_owned()));
                }
            }
            "runs" => {
                for (item, line) in lines()? {
                    let form = "SUBCOMMAND = NUMBER from text remote elevated OPTIONS";
                    record.runs.push(Runs::read(&line).ok_or_else(|| wrong(item, &line, form))?);
                }
            }
            "rules" => {
                for (item, line) in lines()? {
                    record.rules.push(rule(&line).ok_or_else(|| wrong(item, &line, "LEVEL ID: PATTERN -> WHY"))?);
                }
            }
            name => {
                let level = RiskLevel::named(name).ok_or_else(|| {
                    table.wrong(&key.span(), format!("{name}: is no part of a record"), "levels have examples")
                })?;
                record.examples.extend(table.texts(value)?.into_iter().map(|line| (level, line)));
            }
        }
    }
    if record.names.is_empty() {
        return Err(table.wrong(&item.span(), "a record without names", "say which programs it is for"));
    }
    Ok(record)
}

fn rule(line: &str) -> Option<Rule> {
    let (head, why) = line.split_once(" -> ")?;
    let (level, rest) = head.split_once(' ')?;
    let (id, pattern) = rest.split_once(": ").unwrap_or((rest, ""));
    let pattern = pattern.split_whitespace().map(str::to_owned).collect();
    Some(Rule { id: id.to_owned(), level: RiskLevel::named(level)?, pattern, why: why.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RiskContext, assess_shell};

    #[test]
    fn records_can_be_read() {
        let records = read(include_str!("../commands.toml")).unwrap();
        assert!(records.all.len() > 400);
    }

    #[test]
    fn each_records_examples_hold() {
        let mut wrong = Vec::new();
        for record in &records().all {
            for (level, line) in &record.examples {
                let found = assess_shell(line, &RiskContext::default());
                if found.level != *level {
                    wrong.push(format!("{line}: {level:?}, found {:?} {}", found.level, found.rule));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_is_wrong_with_a_record_is_told() {
        for (text, wanted) in [
            ("[[program]]\nnames = 'a'\n[[program]]\nnames = 'a b'", "a: has two records"),
            ("[[program]]\nvalues = '-c'", "without names"),
            ("[[program]]\nnames = 'a'\nrules = ['confirm a b']", "LEVEL ID: PATTERN -> WHY"),
            ("[[program]]\nnames = 'a'\nreads = ['x']", "SUBCOMMAND = OPTIONS"),
            ("[[program]]\nnames = 'a'\nruns = ['x = y']", "SUBCOMMAND = NUMBER"),
            ("[[program]]\nnames = 'a'\nharmless = ['x']", "harmless: is no part"),
            ("programs = []", "programs: is no part"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with("commands.toml, line "), "{text}: {error}");
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
