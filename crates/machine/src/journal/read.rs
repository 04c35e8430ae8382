//! Parsing of journals, up to the last line that is whole.

use std::borrow::Cow;

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Escaped, Header, KnownResult, PACE, SUM, SUM_DIGITS, VERSION};
use crate::{Event, MachineConfig};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
};
use loopwright_guard::policy::CHANGED;

/// A journal, as far as it is whole.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The run's name.
    pub run: String,
    /// Data of the program that started the run.
    pub about: Option<Raw>,
    /// The configuration of the machine.
    pub machine: MachineConfig,
    /// The rules that decided it; see [`RULES`](super::RULES).
    pub rules: u32,
    /// Results that are known before their calls are carried out.
    pub(super) results: Vec<KnownResult>,
    /// The events, in order; the first has the number 1, unless they were read behind what was saved.
    pub lines: Vec<JournalLine>,
    /// The last line was cut, as after a crash; all before it counts.
    pub truncated: bool,
    /// The damage; nothing from there on counts.
    pub damage: Option<Damage>,
    /// Bytes up to the end of the last line that counts.
    pub whole: usize,
    /// The sum of the last line that counts.
    pub(super) sum: u64,
    /// The lines have sums.
    pub(super) summed: bool,
    /// The number of the event before the first of `lines`.
    pub(super) first: u64,
}

/// An event, and its commands in the journal's form.
#[derive(Clone, Debug)]
pub struct JournalLine {
    /// The event.
    pub event: Event,
    /// The commands.
    pub commands: Vec<Raw>,
}

/// A line that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Damage {
    /// The line, from 1.
    pub line: usize,
    /// The damage, in words.
    pub why: String,
}

#[derive(Deserialize)]
struct VersionHead {
    loopwright: u64,
}

/// The name of a run and what its program said of it, from the first line of a journal that any version wrote. The sum
/// is not looked at: whose run it is can be told of a damaged one too.
#[derive(Clone, Debug, Deserialize)]
pub struct RunLabel {
    /// The run's name.
    pub run: String,
    /// Data of the program that started the run.
    #[serde(default)]
    pub about: Option<Raw>,
}

impl RunLabel {
    /// Reads a label from a journal's first line.
    pub fn of(line: &str) -> Option<Self> {
        serde_json::from_str(&unescaped(line)).ok()
    }
}

#[derive(Deserialize)]
struct ReadLine {
    seq: u64,
    event: Event,
    commands: Vec<Raw>,
}

impl Journal {
    /// Parses the first line, without any event. Fails if it can't be read, or is of another version.
    pub fn head(text: &str) -> Result<Self> {
        let Some(first) = text.split_inclusive('\n').next() else {
            let error = Error::usage("invalid_journal", "the journal is empty");
            return Err(error.hint("nothing was written before the run broke off: begin it anew"));
        };
        let whole = first.len();
        let wrong = |why: &dyn std::fmt::Display| {
            Error::usage("invalid_journal", format!("line 1 of the journal can't be read: {why}"))
                .hint("give a journal of Loopwright; without its first line nobody knows what the run was made of")
        };
        let damaged = |why: String| {
            Error::usage("invalid_journal", format!("line 1 of the journal is damaged: {why}"))
                .hint("bring back a copy; without its first line nobody knows what the run was made of")
        };
        let first = unescaped(first);
        let version = serde_json::from_str(&first).ok().map(|VersionHead { loopwright }| loopwright);
        // What else stands there is for a version to say that this one does not know.
        if let Some(version) = version.filter(|version| ![1, u64::from(VERSION)].contains(version)) {
            let ours = first.replacen(&format!(":{version}"), &format!(":{VERSION}"), 1);
            if checked_sum(&ours, 0).is_ok() {
                return Err(damaged(format!("only its version, {version}, is not as it was written")));
            }
            let message = format!("the journal has version {version}, this is version {VERSION}");
            return Err(Error::usage("journal_version", message).hint("read it with the version that wrote it"));
        }
        // The sum goes first: a line that is not as it was written says nothing of what somebody meant to change.
        let summed = version == Some(u64::from(VERSION));
        let sum = if summed { checked_sum(&first, 0).map_err(damaged)? } else { 0 };
        let header: Header = serde_json::from_str(&first).map_err(|error| {
            if error.to_string().contains(CHANGED) {
                let message = format!("line 1 of the journal: {error}");
                return Error::usage("policy_changed", message).hint("a run replays with the policy it ran with");
            }
            wrong(&error)
        })?;
        let Header { run, about, mut machine, pace, rules, results, .. } = header;
        if pace < PACE {
            machine.turn_mut().compact_when_due();
        }
        Ok(Self {
            run,
            about,
            machine,
            rules,
            results,
            lines: Vec::new(),
            truncated: false,
            damage: None,
            whole,
            sum,
            summed,
            first: 0,
        })
    }

    /// Parses a journal. Fails where [`Journal::head`] does; damage behind the first line is reported in `damage`.
    pub fn read(text: &str) -> Result<Self> {
        let mut journal = Self::head(text)?;
        journal.take_all(text, 1);
        Ok(journal)
    }

    /// Parses the lines of `text`, which stand behind event `seq`, whose line has the sum `sum`, in the journal that
    /// begins with `head`. Lines before are not looked at.
    pub fn behind(head: &str, seq: u64, sum: u64, text: &str) -> Result<Self> {
        let mut journal = Self { first: seq, ..Self::head(head)? };
        (journal.sum, journal.whole) = (sum, 0);
        journal.take_all(text, 0);
        Ok(journal)
    }

    fn take_all(&mut self, text: &str, skip: usize) {
        let journal = self;
        let mut end = journal.whole;
        let before = journal.first as usize;
        let mut lines = text.split_inclusive('\n').enumerate().skip(skip).peekable();
        while let Some((at, text)) = lines.next() {
            end += text.len();
            if text.trim().is_empty() {
                continue;
            }
            let Err(why) = journal.take(text) else {
                journal.whole = end;
                continue;
            };
            if lines.peek().is_none() && !text.ends_with('\n') {
                journal.truncated = true;
            } else if why != WRONG_SUM && journal.summed && lines.peek().is_some_and(|(_, next)| journal.follows(next))
            {
                // The crash that cut this line was survived: what follows goes on where it began.
                continue;
            } else {
                journal.damage = Some(Damage { line: before + at + 2 - skip, why });
            }
            break;
        }
    }

    /// The lines of the text it was read from that count, without what crashes have cut.
    pub fn whole_lines<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut sum = 0;
        let lines = text.get(..self.whole).unwrap_or(text).lines();
        let counts = |line: &&str| {
            let found = checked_sum(&unescaped(line), sum);
            if self.summed {
                sum = *found.as_ref().unwrap_or(&sum);
            }
            !line.trim().is_empty() && (found.is_ok() || !self.summed)
        };
        lines.filter(counts).collect()
    }

    /// Returns whether a line is the next one.
    fn follows(&self, text: &str) -> bool {
        checked_sum(&unescaped(text), self.sum).is_ok()
    }

    fn take(&mut self, text: &str) -> Result<(), String> {
        let text = unescaped(text);
        let sum = if self.summed { checked_sum(&text, self.sum)? } else { 0 };
        let line: ReadLine = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let next = self.first + self.lines.len() as u64 + 1;
        // A line that was taken out may leave no other trace.
        if line.seq != next {
            return Err(format!("event {} stands where event {next} should", line.seq));
        }
        self.lines.push(JournalLine { event: line.event, commands: line.commands });
        self.sum = sum;
        Ok(())
    }
}

const WRONG_SUM: &str = "its sum is not that of its text and of the line before";

/// The line as it was before its line breaks were hidden.
fn unescaped(line: &str) -> Cow<'_, str> {
    // Few lines are, and asking each one costs as much as reading it.
    if !line.trim_start().starts_with("{\"escaped\"") {
        return Cow::Borrowed(line);
    }
    match serde_json::from_str::<Escaped<String>>(line) {
        Ok(Escaped { escaped }) => Cow::Owned(escaped),
        Err(_) => Cow::Borrowed(line),
    }
}

/// The sum of a line, if it is the one that its text and the line before ask for.
fn checked_sum(line: &str, before: u64) -> Result<u64, String> {
    let text = line.trim_end_matches(['\n', '\r']);
    let bad = || "it has no sum".to_owned();
    let rest = text.strip_suffix(SUM.1).ok_or_else(bad)?;
    let at = rest.len().checked_sub(SUM_DIGITS).filter(|at| rest.is_char_boundary(*at)).ok_or_else(bad)?;
    let (rest, digits) = rest.split_at(at);
    let body = rest.strip_suffix(SUM.0).ok_or_else(bad)?;
    let sum = xxh3_64_with_seed(body.as_bytes(), before);
    if format!("{sum:016x}") == digits { Ok(sum) } else { Err(WRONG_SUM.to_owned()) }
}
