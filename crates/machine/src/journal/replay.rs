//! Replaying: the events of a journal, fed to a new machine, must give the same commands.

use serde::Serialize;
use serde_json::Value;

use super::{
    read::{Damage, Journal, JournalLine},
    rules,
};
use crate::{Command, Digest, Machine, Outcome, Tree};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
    request::History,
};

/// The first command of a replay that differs from the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The event's number.
    pub seq: u64,
    /// The command's place among those of the event.
    pub command: usize,
    /// The journal's command, if it had one there.
    pub expected: Option<String>,
    /// The replay's command, if it gave one there.
    pub got: Option<String>,
    /// The reason why this version may decide otherwise than the one that wrote the journal, in words.
    pub reason: String,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    /// The run's name.
    pub run: String,
    /// Events fed.
    pub events: u64,
    /// Commands given.
    pub commands: u64,
    /// The first difference, if there is one.
    pub divergence: Option<Divergence>,
    /// The outcome, if the run ended.
    pub outcome: Option<Outcome>,
    /// The last line was cut, as after a crash; all before it counts.
    pub truncated: bool,
    /// The damage of the journal; lines before it count.
    pub damage: Option<Damage>,
    /// The messages at the end.
    #[serde(skip)]
    pub messages: History,
    /// The commands of each event, in the journal's form.
    #[serde(skip)]
    pub steps: Vec<Vec<String>>,
}

/// Feeds the events of a journal to a new machine and compares the commands.
pub fn replay(journal: &str) -> Result<Replay> {
    replay_under(journal, None)
}

/// [`replay`], if the run went by the policy of that digest; else an error.
pub fn replay_under(journal: &str, policy: Option<&str>) -> Result<Replay> {
    let journal = Journal::read(journal)?;
    if let (Some(policy), Some(digest)) = (policy, journal.machine.policy_digest())
        && policy != digest
    {
        let message = format!("the run went by the policy {digest}, not by {policy}");
        return Err(Error::usage("policy_changed", message).hint("a run replays with the policy it ran with"));
    }
    let (mut tree, rules) = (Tree::new(journal.machine), journal.rules);
    let mut replay = Replay {
        run: journal.run,
        events: 0,
        commands: 0,
        divergence: None,
        outcome: None,
        truncated: journal.truncated,
        damage: journal.damage,
        messages: History::new(),
        steps: Vec::new(),
    };
    for JournalLine { event, commands: expected } in journal.lines {
        replay.events += 1;
        let got = journal_form(&tree.step(event));
        if replay.divergence.is_none() {
            replay.divergence = difference(replay.events, &expected, &got, rules);
        }
        replay.commands += got.len() as u64;
        replay.steps.push(got);
    }
    replay.outcome = tree.outcome().cloned();
    replay.messages = tree.history();
    Ok(replay)
}

/// Commands in the journal's form.
pub(super) fn journal_form(commands: &[Command]) -> Vec<String> {
    commands.iter().map(|command| Raw::of(&Digest(command)).text().to_owned()).collect()
}

/// The first command of an event that differs from the journal's, which was decided by the rules of that version.
pub(super) fn difference(seq: u64, expected: &[Raw], got: &[String], rules: u32) -> Option<Divergence> {
    let longest = got.len().max(expected.len());
    (0..longest).find_map(|command| {
        let expected = expected.get(command).map(Raw::text);
        let got = got.get(command).map(String::as_str);
        let same = match (expected, got) {
            (Some(expected), Some(got)) => {
                expected == got || ends_match(expected, got) || assessments_match(expected, got)
            }
            (expected, got) => expected == got,
        };
        let [expected, got] = [expected, got].map(|command| command.map(str::to_owned));
        (!same).then(|| Divergence { seq, command, expected, got, reason: rules::reason(rules) })
    })
}

/// Returns whether two ends of a run differ in nothing but that the first was written before outcomes told who acted.
fn ends_match(expected: &str, got: &str) -> bool {
    let end = |command: &str| -> Option<Value> {
        let mut command: Value = command.starts_with("{\"finish\"").then(|| serde_json::from_str(command).ok())??;
        Some(command.get_mut("finish")?.get_mut("outcome")?.take())
    };
    let (Some(expected), Some(mut got)) = (end(expected), end(got)) else { return false };
    remove_acted(&expected, &mut got);
    expected == got
}

/// Returns whether two assessments differ in nothing but that the first was written when only that a person is asked
/// was told as a level: `confirm`, else `cautious`.
fn assessments_match(expected: &str, got: &str) -> bool {
    fn halves(command: &str) -> Option<(&str, &str)> {
        let assessed = command.starts_with(r#"{"emit":{"notice":{"type":"assessed""#);
        command.strip_suffix("\"}}}").filter(|_| assessed)?.rsplit_once("), the riskiest ")
    }
    let (Some((before, level)), Some((same, _))) = (halves(expected), halves(got)) else { return false };
    let asks = before.contains(r#""decision":"pause_for_confirm""#);
    before == same && level == if asks { "confirm" } else { "cautious" }
}

/// Removes from an outcome, and those of its children, the fields that the other one does not have.
fn remove_acted(expected: &Value, got: &mut Value) {
    if let Some(got) = got.as_object_mut().filter(|_| expected.get("acted").is_none()) {
        got.remove("acted");
    }
    let children = expected.get("children").and_then(Value::as_array).into_iter().flatten();
    let others = got.get_mut("children").and_then(Value::as_array_mut).into_iter().flatten();
    for (expected, got) in children.zip(others) {
        if let (Some(expected), Some(got)) = (expected.get("outcome"), got.get_mut("outcome")) {
            remove_acted(expected, got);
        }
    }
}
