//! Records that users add: what they may say of programs that are known here, and where they hold.
//!
//! A record of a program that has none here says all that is known of it. One of a program that has a record here adds
//! rules, files that are written and SQL to that, which can only make calls worse; it stands in its place only with
//! `replaces = true`, and who asks is told so. What the code of the guard finds by itself holds in any case.

use std::{
    cell::Cell,
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use loopwright_base::{
    error::{Error, Result},
    text::clip,
};
use serde::{Deserialize, Serialize};

use super::{Record, Records, read_table};
use crate::{
    RiskContext, RiskLevel, assess_shell, names, shell,
    table::{Item, Table},
};

/// Bytes of a file, and programs in it.
const MOST_BYTES: usize = 1 << 18;
const MOST_PROGRAMS: usize = 2_000;

/// Records of programs that a user has added, as their file was read. They are part of a configuration, so that what
/// was decided by them is decided again without the file.
///
/// A text is read once and then kept for as long as the process runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Source", into = "Source")]
pub struct Commands(&'static Own);

impl PartialEq for Commands {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

impl Eq for Commands {}

/// What errors call the file, and its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    name: String,
    text: String,
}

#[derive(Debug)]
struct Own {
    source: Source,
    records: Records,
    programs: Vec<String>,
    replaced: Vec<String>,
}

impl TryFrom<Source> for Commands {
    type Error = Error;

    /// Examples are not held against records here: what was decided once is decided again as it was.
    fn try_from(source: Source) -> Result<Self> {
        static READ: LazyLock<Mutex<HashMap<Source, Commands>>> = LazyLock::new(Mutex::default);
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(&source) {
            return Ok(*known);
        }
        let found = Self(Box::leak(Box::new(Own::read(source.clone())?)));
        read.insert(source, found);
        Ok(found)
    }
}

impl From<Commands> for Source {
    fn from(commands: Commands) -> Self {
        commands.0.source.clone()
    }
}

impl Commands {
    /// The records of a file, checked: each example has the level that it is listed under, and nothing of a program
    /// that is known here is said twice.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        contradictions(&source)?;
        let found = Self::try_from(source)?;
        let _here = enter(Some(found));
        examples(&found.0.source)?;
        Ok(found)
    }

    /// What errors call the file.
    pub fn name(&self) -> &str {
        &self.0.source.name
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.0.source.text
    }

    /// The programs that it has records of.
    pub fn programs(&self) -> &[String] {
        &self.0.programs
    }

    /// The programs whose record here no longer counts.
    pub fn replaced(&self) -> &[String] {
        &self.0.replaced
    }
}

thread_local! {
    static CURRENT: Cell<Option<Commands>> = const { Cell::new(None) };
}

/// For as long as this lives, records of a user hold on this thread.
#[must_use = "the records hold while this lives"]
pub(crate) struct Holding(Option<Commands>);

impl Drop for Holding {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Has records of a user hold, beside those that are here; none leaves those that hold already.
pub(crate) fn enter(commands: Option<Commands>) -> Holding {
    let before = CURRENT.get();
    if commands.is_some() {
        CURRENT.set(commands);
    }
    Holding(before)
}

/// The records of the user that hold.
pub(super) fn records() -> Option<&'static Records> {
    CURRENT.get().map(|commands| &commands.0.records)
}

impl Own {
    fn read(source: Source) -> Result<Self> {
        let table = source.table();
        if source.text.len() > MOST_BYTES {
            return Err(table.wrong(&(0..0), format!("more than {MOST_BYTES} bytes"), "say less of fewer programs"));
        }
        let mut read = read_table(&table)?;
        well_formed(&table, &read)?;
        let mut records = Records { sets: std::mem::take(&mut read.sets), ..Records::default() };
        let (mut programs, mut replaced) = (Vec::new(), Vec::new());
        for record in read.all {
            for name in &record.names {
                let here = super::records().record(name);
                let one = Record { names: vec![name.clone()], ..record.clone() };
                if here.is_some() && record.replaces {
                    replaced.push(name.clone());
                }
                records.by_name.insert(name.clone(), records.all.len());
                records
                    .all
                    .push(here.filter(|_| !record.replaces).map_or_else(|| one.clone(), |here| added(here, &one)));
                programs.push(name.clone());
            }
        }
        Ok(Self { source, records, programs, replaced })
    }
}

impl Source {
    fn table(&self) -> Table<'_> {
        Table { file: &self.name, text: &self.text }
    }
}

/// A record that is here with what makes calls worse of another.
fn added(here: &Record, more: &Record) -> Record {
    let mut all = here.clone();
    all.names.clone_from(&more.names);
    all.rules.extend(more.rules.iter().cloned());
    let both = [(&mut all.writes, &more.writes), (&mut all.starts, &more.starts), (&mut all.sql, &more.sql)];
    for (options, more) in both {
        for option in more.split_whitespace().filter(|option| *option != "@") {
            options.push_str(if options.is_empty() { "" } else { " " });
            options.push_str(option);
        }
    }
    all
}

/// What can't be meant, wherever a record is from.
fn well_formed(table: &Table<'_>, read: &Records) -> Result<()> {
    let parsed = table.parse()?;
    let programs = parsed.get("program").map(|programs| table.items(programs)).transpose()?.unwrap_or_default();
    if read.by_name.len() > MOST_PROGRAMS {
        return Err(table.wrong(&(0..0), format!("more than {MOST_PROGRAMS} programs"), "say less of fewer programs"));
    }
    if let Some(set) = read.sets.keys().find(|set| super::records().sets.contains_key(*set)) {
        let span = parsed.get("sets").map_or(0..0, Item::span);
        return Err(table.wrong(&span, format!("there is a set {set:?} already"), "give yours another name"));
    }
    for (item, record) in programs.iter().zip(&read.all) {
        let members = table.members(item)?;
        let at = |key: &str| members.get(key).map_or_else(|| item.span(), Item::span);
        let odd = |c: char| c.is_ascii_uppercase() || c.is_control() || matches!(c, '/' | '\\' | '$' | '"' | '\'');
        if let Some(name) = record.names.iter().find(|name| name.contains(odd)) {
            let what = format!("{} is no name of a program", clip(name, 60));
            return Err(table.wrong(&at("names"), what, "write it in small letters, without its folder"));
        }
        for (words, options) in &record.reads {
            for token in options.split_whitespace() {
                let set = token.strip_prefix('%');
                let there = |set: &str| read.sets.contains_key(set) || super::records().sets.contains_key(set);
                if let Some(set) = set.filter(|set| !there(set)) {
                    let what = format!("there is no set {set:?}");
                    return Err(table.wrong(&at("reads"), what, "write it below [sets]"));
                }
                let sign = matches!(token, "/" | "+" | "&" | "@" | "*" | "~" | "=+");
                let begins = token.starts_with(['-', '^', '$', '!', '%']) && token.len() > 1;
                if !sign && !begins && !token.starts_with(|c: char| c.is_ascii_digit()) {
                    let what = format!("{token:?} in \"{} = …\" says nothing", clip(words, 60));
                    let way_out = "write options as -ab or --long; the signs stand in docs/guard.md";
                    return Err(table.wrong(&at("reads"), what, way_out));
                }
            }
        }
        for rule in &record.rules {
            let room = rule.id.split('.').next().unwrap_or_default();
            let mixed = rule.pattern.iter().filter(|item| !item.starts_with('!')).find(|item| {
                let mut options = item.split('|').map(|one| one.starts_with(['-', '/']));
                let first = options.next();
                options.any(|other| Some(other) != first)
            });
            if rule.level == RiskLevel::Safe {
                let what = format!("the rule {} makes nothing worse", rule.id);
                return Err(table.wrong(&at("rules"), what, "say in `reads` what only reads"));
            } else if names::has("rules.own_rooms", room) {
                let what = format!("ids that begin with \"{room}.\" are those of the guard");
                return Err(table.wrong(&at("rules"), what, format!("write own.{}", rule.id)));
            } else if let Some(item) = mixed {
                let what = format!("{item:?} has options and words");
                return Err(table.wrong(&at("rules"), what, "write a rule for each"));
            }
        }
    }
    Ok(())
}

/// What says of a program that has a record here that it does less, without saying that this record is to count.
fn contradictions(source: &Source) -> Result<()> {
    let table = source.table();
    let parsed = table.parse()?;
    let programs = parsed.get("program").map(|programs| table.items(programs)).transpose()?.unwrap_or_default();
    for item in programs {
        let members = table.members(item)?;
        let names = members.get("names").map(|names| table.words(names)).transpose()?.unwrap_or_default();
        let replaces = members.get("replaces").map(|replaces| table.truth(replaces)).transpose()?.unwrap_or_default();
        let here = |name: &&String| super::records().record(name).is_some();
        if replaces {
            if let Some(name) = names.iter().find(|name| !here(name)) {
                let what = format!("there is no record of {name} to replace");
                return Err(table.wrong(
                    &item.span(),
                    what,
                    "leave out `replaces`, or write a record of its own for it",
                ));
            }
            continue;
        }
        let lowers = members.iter().find(|(key, _)| names::has("rules.lowering_keys", key.get_ref()));
        if let (Some(name), Some((key, _))) = (names.iter().find(here), lowers) {
            let what = format!("{name} has a record already, to which `{}` can't be added", key.get_ref());
            let way_out = "write `replaces = true` to have this one count in its place, or say only what makes it \
                           worse: `rules`, `writes`, `starts`, `sql`";
            return Err(table.wrong(&key.span(), what, way_out));
        }
    }
    Ok(())
}

/// Holds each example against the level that it is listed under.
fn examples(source: &Source) -> Result<()> {
    let table = source.table();
    let parsed = table.parse()?;
    let programs = parsed.get("program").map(|programs| table.items(programs)).transpose()?.unwrap_or_default();
    for item in programs {
        let mut any = false;
        let members = table.members(item)?;
        let names = members.get("names").map(|names| table.words(names)).transpose()?.unwrap_or_default();
        for (key, lines) in members {
            let Some(level) = RiskLevel::named(key.get_ref()) else { continue };
            for line in table.items(lines)? {
                any = true;
                example(&table, &names, level, line)?;
            }
        }
        if !any {
            let what = format!("the record of {} has no examples", clip(&names.join(" "), 60));
            return Err(table.wrong(&item.span(), what, "add lines of it by level: safe = ['…'], confirm = ['…']"));
        }
    }
    Ok(())
}

fn example(table: &Table<'_>, names: &[String], level: RiskLevel, item: &Item<'_>) -> Result<()> {
    let line = table.text(item)?;
    let runs = |command: &shell::SimpleCommand| {
        let program = command.program().map(str::to_ascii_lowercase);
        program.is_some_and(|program| names.contains(&program) || names.contains(&super::cmdlet(&program)))
    };
    if !shell::parse(&line).commands.iter().any(runs) {
        let what = format!("the example {:?} runs none of {}", clip(&line, 80), clip(&names.join(" "), 60));
        return Err(table.wrong(&item.span(), what, "give a line that runs the program"));
    }
    let found = assess_shell(&line, &RiskContext::default());
    if found.level != level {
        let what = format!(
            "the example {:?} is {} ({}), not {}",
            clip(&line, 80),
            found.level.name(),
            found.rule,
            level.name()
        );
        return Err(table.wrong(&item.span(), what, "list it under the level that is meant, or mend the record"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_string};

    use super::*;
    use crate::{Authority, Declared, GuardConfig, judge, policy::Verdict};

    const DEPLOY: &str = "
[sets]
deploy = '-q --quiet --stage='

[[program]]
names = 'shipit'
reads = ['= / + -v', 'status|log = %deploy 1', 'plan = -o:> --hook=! 0']
rules = [
  'confirm own.ship: push !--dry-run -> puts the work before everybody',
  'dangerous own.ship: push --force -> overwrites what is there',
]
runs = ['with = 1']
safe = ['shipit status', 'shipit -v log -q --stage=x']
cautious = ['shipit list', 'shipit plan -o out.txt']
confirm = ['shipit push', 'shipit status && shipit push']
dangerous = ['shipit push --force', 'shipit with stage git push --force']
";

    fn level(commands: Option<Commands>, line: &str) -> RiskLevel {
        assess_shell(line, &RiskContext { commands, ..RiskContext::default() }).level
    }

    #[test]
    fn records_of_a_user_hold_where_they_are_given_and_nowhere_else() {
        let own = Commands::read("my-commands.toml", DEPLOY).unwrap();
        assert_eq!(own.programs(), ["shipit"]);
        assert!(own.replaced().is_empty());
        for (line, wanted) in [
            ("shipit status x", RiskLevel::Safe),
            ("env LANG=C timeout 5 shipit status", RiskLevel::Safe),
            ("shipit status x y", RiskLevel::Cautious),
            ("shipit status --other", RiskLevel::Cautious),
            ("shipit push --dry-run", RiskLevel::Cautious),
            ("sh -c 'shipit push'", RiskLevel::Confirm),
            ("shipit with stage rm -rf build", RiskLevel::Confirm),
            ("shipit plan -o /etc/hosts", RiskLevel::Confirm),
            ("./shipit status", RiskLevel::Cautious),
            // What the record leaves open is judged as of a program that nobody knows.
            ("shipit sync https://a.example/x", RiskLevel::Confirm),
            ("shipit sync ~/notes", RiskLevel::Confirm),
        ] {
            assert_eq!(level(Some(own), line), wanted, "{line}");
            assert!(level(None, line) > RiskLevel::Safe, "{line}");
        }
        assert_eq!(level(Some(own), "git status"), RiskLevel::Safe);
    }

    #[test]
    fn what_is_decided_by_them_is_part_of_a_configuration() {
        let mut config = GuardConfig::default();
        assert!(!to_string(&config).unwrap().contains("commands"));
        config.around.commands = Some(Commands::read("my-commands.toml", DEPLOY).unwrap());
        let config: GuardConfig = from_str(&to_string(&config).unwrap()).unwrap();
        let declared = Declared { risk: RiskLevel::Confirm, by_arguments: true };
        let verdict = |config: &GuardConfig, line: &str| {
            judge(config, &Authority::default(), "shell", &json!({ "command": line }), declared).verdict
        };
        assert_eq!(verdict(&config, "shipit status"), Verdict::Allow);
        assert_eq!(verdict(&config, "shipit push"), Verdict::Ask);
        assert_eq!(verdict(&GuardConfig::default(), "shipit status"), Verdict::Ask);
        let wrong = r#"{"around":{"commands":{"name":"a.toml","text":"[[program]]\nnames = 3"}}}"#;
        let error = from_str::<GuardConfig>(wrong).unwrap_err().to_string();
        assert!(error.contains("a.toml, line 2: this is no text"), "{error}");
    }

    #[test]
    fn records_add_to_those_that_are_here_and_replace_them_by_their_word_alone() {
        let more = "[[program]]\nnames = 'git du'\nwrites = '--save'\n\
                    rules = ['confirm own.log: log -> shows what nobody is to see']\nconfirm = ['git log']\n";
        let own = Commands::read("a.toml", more).unwrap();
        for (line, wanted) in [
            ("git log -3", RiskLevel::Confirm),
            ("git status", RiskLevel::Safe),
            ("git push --force", RiskLevel::Dangerous),
            ("du -sh .", RiskLevel::Safe),
        ] {
            assert_eq!(level(Some(own), line), wanted, "{line}");
        }
        let lower = "[[program]]\nnames = 'terraform'\nreads = ['= / +', 'apply = *']\nsafe = ['terraform apply']\n";
        let error = Commands::read("a.toml", lower).unwrap_err();
        assert!(error.message.contains("a.toml, line 3: terraform has a record already"), "{error:?}");
        assert!(error.hint.unwrap().contains("replaces = true"));
        let own = Commands::read("a.toml", &lower.replace("reads", "replaces = true\nreads")).unwrap();
        assert_eq!(own.replaced(), ["terraform"]);
        assert_eq!(level(Some(own), "terraform apply"), RiskLevel::Safe);
        // What the code finds by itself holds in any case.
        let all = "[[program]]\nnames = 'rm python3'\nreplaces = true\nreads = ['= *']\ncautious = ['rm a']\n";
        let own = Commands::read("a.toml", all).unwrap();
        for line in ["rm -rf ~", "rm -rf build", "python3 -c 'import shutil; shutil.rmtree(\"/srv\")'"] {
            assert_eq!(level(Some(own), line), level(None, line), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_users_record_is_told_with_its_line() {
        for (text, wanted) in [
            ("[[program]]\nnames = 'a'\n", "line 1: the record of a has no examples"),
            ("[[program]]\nnames = 'a'\nreads = ['=']\nsafe = ['a']\nwhat = 1\n", "line 5: what: is no part"),
            (
                "[[program]]\nnames = 'a'\nreads = ['=']\nsafe = [\n 'a',\n 'a x; b']\n",
                "line 6: the example \"a x; b\" is cautious",
            ),
            ("[[program]]\nnames = 'a'\ncautious = ['ls']\n", "line 3: the example \"ls\" runs none of a"),
            ("[[program]]\nnames = 'a'\nrules = ['safe own.x: y -> z']\ncautious = ['a']\n", "makes nothing worse"),
            (
                "[[program]]\nnames = 'a'\nrules = ['confirm shell.rm: y -> z']\ncautious = ['a']\n",
                "those of the guard",
            ),
            (
                "[[program]]\nnames = 'a'\nrules = ['confirm own.x: -y|z -> z']\ncautious = ['a']\n",
                "has options and words",
            ),
            ("[[program]]\nnames = 'a'\nreads = ['= nothing']\nsafe = ['a']\n", "line 3: \"nothing\""),
            ("[[program]]\nnames = 'a'\nreads = ['= %b']\nsafe = ['a']\n", "there is no set \"b\""),
            ("[sets]\ngit-diff = '--x'\n", "there is a set"),
            ("[[program]]\nnames = 'A'\ncautious = ['A']\n", "line 2: A is no name"),
            (
                "[[program]]\nnames = 'a b'\ncautious = ['a']\n[[program]]\nnames = 'b'\ncautious = ['b']\n",
                "b: has two records",
            ),
            ("[[program]]\nnames = 'a'\nreplaces = true\ncautious = ['a']\n", "no record of a to replace"),
            ("[[program]]\nnames = 'a'\ndry = 'yes'\ncautious = ['a']\n", "line 3: this is no plain true or false"),
            ("[[program]\n", "line 1: "),
        ] {
            let error = Commands::read("my.toml", text).unwrap_err();
            assert!(error.message.starts_with("my.toml, line "), "{text}: {error:?}");
            assert!(error.message.contains(wanted), "{text}: {error:?}");
            assert!(error.hint.is_some(), "{text}");
        }
    }
}
