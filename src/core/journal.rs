//! A run as the list of the events it was fed, in JSON lines: encode, check, replay.
//!
//! The first line says what the machine is made of; each further line holds one event and the commands that it gave,
//! requests as hashes of their histories. Feeding the events to a new machine must give the same commands, bit for
//! bit. Keys are in neither: a machine never sees one.

use serde::{Deserialize, Serialize};

use super::{
    error::{Error, Result},
    guard::policy::CHANGED,
    json::Raw,
    machine::{Command, Digest, Event, Machine, MachineConfig, Outcome, Tree},
};

/// The version of the format.
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    loopwright: u32,
    run: String,
    machine: MachineConfig,
}

#[derive(Deserialize)]
struct ReadLine {
    seq: u64,
    event: Event,
    commands: Vec<Raw>,
}

/// A line whose JSON holds line breaks (only text kept as a provider wrote it can), as one string.
#[derive(Serialize, Deserialize)]
struct Escaped<T> {
    escaped: T,
}

/// A machine that writes down what it is fed.
#[derive(Debug)]
pub struct Run {
    tree: Tree,
    seq: u64,
    log: Option<Vec<u8>>,
}

impl Run {
    /// A run named `id`; with `log`, its journal is collected for [`Run::take_log`].
    pub fn new(id: &str, config: MachineConfig, log: bool) -> Self {
        let log = log.then(|| {
            let mut bytes = Vec::with_capacity(512);
            push_line(&mut bytes, &Header { loopwright: VERSION, run: id.to_owned(), machine: config.clone() });
            bytes
        });
        Self { tree: Tree::new(config), seq: 0, log }
    }

    /// A run that goes on from a saved machine, without a journal.
    pub const fn resume(tree: Tree) -> Self {
        Self { tree, seq: 0, log: None }
    }

    /// Takes one event; see [`Machine::step`].
    pub fn step(&mut self, event: Event) -> Vec<Command> {
        let Some(log) = &mut self.log else { return self.tree.step(event) };
        self.seq += 1;
        // The event is written before the machine has it for itself, the commands after.
        log.reserve(1024);
        let start = log.len();
        log.extend_from_slice(b"{\"seq\":");
        push_json(log, &self.seq);
        log.extend_from_slice(b",\"event\":");
        push_json(log, &event);
        log.extend_from_slice(b",\"commands\":[");
        let commands = self.tree.step(event);
        for (at, command) in commands.iter().enumerate() {
            if at > 0 {
                log.push(b',');
            }
            push_json(log, &Digest(command));
        }
        log.extend_from_slice(b"]}");
        end_line(log, start);
        commands
    }

    /// The lines since the last call.
    pub fn take_log(&mut self) -> Vec<u8> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The machine.
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }
}

fn push_line<T: Serialize>(bytes: &mut Vec<u8>, line: &T) {
    let start = bytes.len();
    push_json(bytes, line);
    end_line(bytes, start);
}

fn push_json<T: Serialize>(bytes: &mut Vec<u8>, value: &T) {
    // Writing our own types into memory does not fail.
    let _ = serde_json::to_writer(bytes, value);
}

/// Ends the line that began at `start`.
fn end_line(bytes: &mut Vec<u8>, start: usize) {
    if memchr::memchr2(b'\n', b'\r', &bytes[start..]).is_some() {
        let text = String::from_utf8_lossy(&bytes.split_off(start)).into_owned();
        push_json(bytes, &Escaped { escaped: text });
    }
    bytes.push(b'\n');
}

fn read_line<T: serde::de::DeserializeOwned>(line: &str) -> serde_json::Result<T> {
    match serde_json::from_str::<Escaped<String>>(line) {
        Ok(Escaped { escaped }) => serde_json::from_str(&escaped),
        Err(_) => serde_json::from_str(line),
    }
}

/// Where a replay gave other commands than the journal.
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
}

/// What a replay gave.
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
    /// How the run ended, if it did.
    pub outcome: Option<Outcome>,
    /// Whether the last line was cut, as after a crash; all before it counts.
    pub truncated: bool,
    /// The messages at the end.
    #[serde(skip)]
    pub messages: super::request::History,
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
    let mut lines = journal.split_inclusive('\n').enumerate().peekable();
    let wrong = |line: usize, why: &dyn std::fmt::Display| {
        Error::usage("invalid_journal", format!("line {} of the journal can't be read: {why}", line + 1))
    };
    let Some((_, first)) = lines.next() else {
        return Err(Error::usage("invalid_journal", "the journal is empty"));
    };
    let header: Header = read_line(first).map_err(|error| {
        if error.to_string().contains(CHANGED) {
            let message = format!("line 1 of the journal: {error}");
            return Error::usage("policy_changed", message).hint("a run replays with the policy it ran with");
        }
        wrong(0, &error)
    })?;
    if let (Some(policy), Some(digest)) = (policy, header.machine.policy_digest())
        && policy != digest
    {
        let message = format!("the run went by the policy {digest}, not by {policy}");
        return Err(Error::usage("policy_changed", message).hint("a run replays with the policy it ran with"));
    }
    if header.loopwright != VERSION {
        return Err(Error::usage(
            "journal_version",
            format!("the journal has version {}, this is version {VERSION}", header.loopwright),
        ));
    }
    let mut tree = Tree::new(header.machine);
    let mut replay = Replay {
        run: header.run,
        events: 0,
        commands: 0,
        divergence: None,
        outcome: None,
        truncated: false,
        messages: super::request::History::new(),
        steps: Vec::new(),
    };
    while let Some((at, text)) = lines.next() {
        if text.trim().is_empty() {
            continue;
        }
        let line: ReadLine = match read_line(text) {
            Ok(line) => line,
            Err(_) if lines.peek().is_none() && !text.ends_with('\n') => {
                replay.truncated = true;
                break;
            }
            Err(error) => return Err(wrong(at, &error)),
        };
        // A line that was taken out may leave no other trace.
        if line.seq != replay.events + 1 {
            return Err(wrong(at, &format_args!("event {} stands where event {} should", line.seq, replay.events + 1)));
        }
        let commands = tree.step(line.event);
        let got: Vec<String> = commands.iter().map(|command| Raw::of(&Digest(command)).text().to_owned()).collect();
        if replay.divergence.is_none() {
            let longest = got.len().max(line.commands.len());
            replay.divergence = (0..longest).find_map(|command| {
                let expected = line.commands.get(command).map(|raw| raw.text().to_owned());
                let got = got.get(command).cloned();
                (expected != got).then_some(Divergence { seq: line.seq, command, expected, got })
            });
        }
        replay.events += 1;
        replay.commands += got.len() as u64;
        replay.steps.push(got);
    }
    replay.outcome = tree.outcome().cloned();
    replay.messages = tree.history();
    Ok(replay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{
        machine::{EventKind, Time, turn::TurnConfig},
        message::Message,
        request::Delta,
    };

    #[test]
    fn a_line_that_is_missing_or_moved_is_seen() {
        let config = TurnConfig { model: "m".into(), ..TurnConfig::default() };
        let mut run = Run::new("r", MachineConfig::Turn(config), true);
        run.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("go")] } });
        // Deltas give no commands: only their numbers tell of them.
        for text in ["a", "b", "c"] {
            let delta = Delta::Text { block: 0, text: text.to_owned() };
            assert_eq!(run.step(Event { at: Time(1), kind: EventKind::Delta { id: 2, delta } }), []);
        }
        let journal = String::from_utf8(run.take_log()).unwrap();
        assert_eq!(replay(&journal).unwrap().divergence, None);
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        for order in [&[0, 1, 2, 4][..], &[0, 1, 3, 2, 4], &[0, 1, 2, 2, 3, 4], &[0, 2, 3, 4]] {
            let tampered: String = order.iter().map(|at| lines[*at]).collect();
            assert_eq!(replay(&tampered).unwrap_err().code, "invalid_journal", "{order:?}");
        }
        let cut = journal.trim_end().strip_suffix('}').unwrap();
        let replayed = replay(cut).unwrap();
        assert_eq!((replayed.events, replayed.truncated), (3, true));
    }
}
