//! A run as the list of the events it was fed, in JSON lines: write, check, replay, go on, fork, compare.
//!
//! The first line says what the machine is made of; each further line holds one event and the commands that it gave,
//! requests as hashes of their histories. Feeding the events to a new machine must give the same commands, bit for
//! bit. Keys are in neither: a machine never sees one.
//!
//! Each line ends with a sum over itself and the sum of the line before, so that a bit that flipped and a line that is
//! missing, doubled or moved are seen, and all before them still counts. A line that was cut by a crash may be
//! followed by lines that go on where it began.

mod diff;
mod fork;
mod prompts;
mod read;
mod records;
mod reopen;
mod replay;
mod resume;
mod rules;
mod saved;

use std::{collections::BTreeMap, io::Write as _};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{ApprovalDecision, Call, Command, Digest, Event, EventKind, Id, Machine, MachineConfig, Tree};
use loopwright_base::{
    json::Raw,
    message::{ToolResult, ToolUse},
};

pub use diff::{Difference, compare};
pub use fork::{Change, fork};
pub use prompts::{Prompt, prompts};
pub use read::{Damage, Journal, JournalLine, RunLabel};
pub use reopen::reopen;
pub use replay::{Divergence, Replay, replay, replay_under};
pub use resume::{ResumedRun, resume};
pub use rules::RULES;
pub use saved::{HistoryPiece, Snapshot, resume_saved};

use resume::OpenCommands;
use saved::SavedHistory;

/// The version of the format. Journals of version 1 have no sums; they can be read.
pub const VERSION: u32 = 2;

/// The texts before and after a sum.
const SUM: (&str, &str) = (",\"sum\":\"", "\"}");
const SUM_DIGITS: usize = 16;

#[derive(Serialize, Deserialize)]
struct Header {
    loopwright: u32,
    run: String,
    /// Data of the program that started the run, with which it can start the run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<Raw>,
    machine: MachineConfig,
    /// The version of compaction; see [`PACE`].
    #[serde(default = "default_pace")]
    pace: u32,
    /// The version of the rules; see [`RULES`].
    #[serde(default = "rules::first_rules")]
    rules: u32,
    /// Results of tool calls that took effect in the run that this one was forked from, behind the fork.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    results: Vec<KnownResult>,
}

/// The version of compaction since which compactions are prepared ahead. Journals that name none are of the first, when
/// each was made as it was due, and their runs go on that way.
const PACE: u32 = 2;

const fn default_pace() -> u32 {
    1
}

/// A tool call and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownResult {
    call: ToolUse,
    result: ToolResult,
    /// A question about the call was answered.
    #[serde(skip)]
    allowed: bool,
}

impl KnownResult {
    /// Returns whether a call is this one. A model that is asked anew gives its calls new ids.
    fn is_of(&self, call: &ToolUse) -> bool {
        self.call.name == call.name && self.call.input.text() == call.input.text()
    }
}

/// A line whose JSON holds line breaks (only text kept as a provider wrote it can), as one string.
#[derive(Serialize, Deserialize)]
struct Escaped<T> {
    escaped: T,
}

/// A machine with its journal.
#[derive(Debug)]
pub struct Run {
    tree: Tree,
    seq: u64,
    /// The sum of the last line.
    sum: u64,
    log: Option<Vec<u8>>,
    /// The commands that wait for an answer, where the run is saved now and then.
    open: Option<Box<OpenCommands>>,
    /// The part of its history that is saved apart.
    kept: Option<SavedHistory>,
    /// Results that are known before their calls are carried out; see [`reopen`].
    results: Vec<KnownResult>,
    /// The batches that requests of a resumed run went into, by their commands.
    batches: BTreeMap<Id, String>,
}

impl Run {
    /// A run named `id`; with `log`, its journal is collected for [`Run::take_log`].
    pub fn new(id: &str, config: MachineConfig, log: bool) -> Self {
        Self::about(id, config, log, None)
    }

    /// A run named `id`, with data in the journal about the program that started it.
    pub fn about(id: &str, config: MachineConfig, log: bool, about: Option<Raw>) -> Self {
        Self::with_results(id, config, log, about, Vec::new())
    }

    /// A run whose tool calls of these results are not carried out: they took effect in the run it was forked from.
    fn with_results(id: &str, config: MachineConfig, log: bool, about: Option<Raw>, results: Vec<KnownResult>) -> Self {
        let tree = Tree::new(config.clone());
        let mut run = Self { results: results.clone(), ..Self::resume(tree) };
        if log {
            let mut bytes = Vec::with_capacity(512);
            let run_id = id.to_owned();
            push_json(
                &mut bytes,
                &Header { loopwright: VERSION, run: run_id, about, machine: config, pace: PACE, rules: RULES, results },
            );
            run.sum = end_line(&mut bytes, 0, 0);
            run.log = Some(bytes);
        }
        run
    }

    /// A run that goes on from a saved machine, without a journal.
    pub const fn resume(tree: Tree) -> Self {
        Self { tree, seq: 0, sum: 0, log: None, open: None, kept: None, results: Vec::new(), batches: BTreeMap::new() }
    }

    /// Takes one event; see [`Machine::step`].
    pub fn step(&mut self, event: Event) -> Vec<Command> {
        let at = event.at;
        let mut commands = self.step_once(event);
        // Each result allows one call and answers one, so this ends.
        while let Some(kind) = self.known_answer(&mut commands) {
            commands.extend(self.step_once(Event { at, kind }));
        }
        commands
    }

    /// The answer to a command about a call whose result is known; what it answers need not be carried out.
    fn known_answer(&mut self, commands: &mut Vec<Command>) -> Option<EventKind> {
        if self.results.is_empty() {
            return None;
        }
        for place in 0..commands.len() {
            match commands.get_mut(place)? {
                Command::Execute { id, calls, .. } => {
                    let known = |call: &Call| self.results.iter().position(|known| known.is_of(&call.tool_use));
                    let found = calls.iter().enumerate().find_map(|(at, call)| Some((at, known(call)?)));
                    let Some((at, known)) = found else { continue };
                    let (id, call) = (*id, calls.remove(at));
                    if calls.is_empty() {
                        commands.remove(place);
                    }
                    let result = ToolResult { id: call.tool_use.id, ..self.results.remove(known).result };
                    return Some(EventKind::Executed { id, result });
                }
                // What has taken effect is nobody's to allow any more.
                Command::Approve { id, call, hash, .. } => {
                    let known = self.results.iter_mut().find(|known| !known.allowed && known.is_of(call));
                    let Some(known) = known else { continue };
                    known.allowed = true;
                    let decided = EventKind::Decided { id: *id, hash: hash.clone(), decision: ApprovalDecision::Allow };
                    commands.remove(place);
                    return Some(decided);
                }
                _ => {}
            }
        }
        None
    }

    fn step_once(&mut self, event: Event) -> Vec<Command> {
        self.seq += 1;
        let Some(log) = &mut self.log else { return self.tree.step(event) };
        if let Some(open) = &mut self.open {
            open.close_answered(&event);
        }
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
        self.sum = end_line(log, start, self.sum);
        if let Some(open) = &mut self.open {
            open.add_all(&commands);
        }
        commands
    }

    /// Keeps the commands that wait for an answer from here on, so that the run can be saved. For a run that begins: a
    /// resumed one does so by itself.
    pub fn track_open(&mut self) {
        if self.seq == 0 {
            self.open.get_or_insert_default();
        }
    }

    /// The batch that the request of a command went into before the run was resumed.
    pub fn batch_of(&self, command: Id) -> Option<&str> {
        self.batches.get(&command).map(String::as_str)
    }

    /// The number of the last event.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Stops the journal: later events are not written.
    pub fn stop_log(&mut self) {
        self.log = None;
        self.open = None;
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

fn push_json<T: Serialize>(bytes: &mut Vec<u8>, value: &T) {
    // Writing our own types into memory does not fail.
    let _ = serde_json::to_writer(bytes, value);
}

/// Ends the line that began at `start`; returns its sum. `before` is the sum of the line before.
fn end_line(bytes: &mut Vec<u8>, start: usize, before: u64) -> u64 {
    // The brace that ends the object comes after the sum.
    bytes.pop();
    let sum = xxh3_64_with_seed(&bytes[start..], before);
    let _ = write!(bytes, "{}{sum:016x}{}", SUM.0, SUM.1);
    if memchr::memchr2(b'\n', b'\r', &bytes[start..]).is_some() {
        let text = String::from_utf8_lossy(&bytes.split_off(start)).into_owned();
        push_json(bytes, &Escaped { escaped: text });
    }
    bytes.push(b'\n');
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Time,
        turn::{RoleModel, TurnConfig},
    };
    use loopwright_base::{
        error::{Failure, FailureKind},
        message::{Message, StopReason, Usage},
        request::{Delta, Response},
    };

    /// A run of a few events, and its journal.
    fn journal() -> String {
        let config = TurnConfig { model: "m".into(), ..TurnConfig::default() };
        let mut run = Run::new("r", MachineConfig::Turn(config), true);
        run.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("go")] } });
        // Deltas give no commands: only their numbers and sums tell of them.
        for text in ["a", "b", "c"] {
            let delta = Delta::Text { block: 0, text: text.to_owned() };
            assert_eq!(run.step(Event { at: Time(1), kind: EventKind::Delta { id: 2, delta } }), []);
        }
        String::from_utf8(run.take_log()).unwrap()
    }

    #[test]
    fn a_run_that_broke_off_knows_the_batches_of_its_requests() {
        let mut journal = journal();
        let mut resumed = resume(Journal::read(&journal).unwrap()).unwrap();
        assert_eq!(resumed.run.batch_of(2), None);
        let delta = Delta::Batch { id: "b1".to_owned() };
        // Of other requests it may be told as well: nothing is decided by it.
        for id in [2, 77] {
            let event = Event { at: resumed.at, kind: EventKind::Delta { id, delta: delta.clone() } };
            assert_eq!(resumed.run.step(event), []);
        }
        journal += std::str::from_utf8(&resumed.run.take_log()).unwrap();
        let again = resume(Journal::read(&journal).unwrap()).unwrap();
        assert_eq!((again.run.batch_of(2), again.run.batch_of(3)), (Some("b1"), None));
        assert_eq!(again.open, resumed.open);
        assert_eq!(replay(&journal).unwrap().divergence, None);
    }

    #[test]
    fn a_line_that_is_missing_or_moved_is_seen_and_what_stands_before_counts() {
        let journal = journal();
        let found = replay(&journal).unwrap();
        assert_eq!((found.divergence, found.damage, found.events), (None, None, 4));
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        for (order, whole) in
            [(&[0, 1, 2, 4][..], 2), (&[0, 1, 3, 2, 4], 1), (&[0, 1, 2, 2, 3, 4], 2), (&[0, 2, 3, 4], 0)]
        {
            let tampered: String = order.iter().map(|at| lines[*at]).collect();
            let found = replay(&tampered).unwrap();
            assert_eq!(
                (found.events, found.damage.map(|damage| damage.line)),
                (whole, Some(whole as usize + 2)),
                "{order:?}"
            );
        }
        let cut = journal.trim_end().strip_suffix('}').unwrap();
        let replayed = replay(cut).unwrap();
        assert_eq!((replayed.events, replayed.truncated), (3, true));
    }

    #[test]
    fn every_bit_that_flips_is_seen() {
        let journal = journal();
        for at in 0..journal.len() {
            for bit in 0..8 {
                let mut bytes = journal.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let text = String::from_utf8_lossy(&bytes);
                let Ok(found) = replay(&text) else { continue };
                let line = journal[..at].matches('\n').count() + 1;
                // A line break that becomes another space ends its line all the same, and the last one may go.
                let harmless = journal.as_bytes()[at] == b'\n' && found.events == 4;
                assert!(
                    harmless || found.truncated || found.damage.is_some_and(|damage| damage.line == line),
                    "{at} {bit}"
                );
                assert!(found.events + 2 >= line as u64, "{at} {bit}");
            }
        }
    }

    #[test]
    fn d46_a_bit_that_flips_in_the_first_line_is_told_as_damage() {
        let guard = Some(loopwright_guard::GuardConfig::default());
        let config = TurnConfig { model: "m".into(), guard, ..TurnConfig::default() };
        let mut run = Run::new("r", MachineConfig::Turn(config), true);
        run.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("go")] } });
        let journal = String::from_utf8(run.take_log()).unwrap();
        let first = journal.find('\n').unwrap();
        let mut damaged = 0;
        for at in 0..first {
            for bit in 0..8 {
                let mut bytes = journal.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let error = Journal::read(&String::from_utf8_lossy(&bytes)).unwrap_err();
                assert_eq!(error.code, "invalid_journal", "{at} {bit} {error}");
                assert!(error.hint.is_some());
                damaged += usize::from(error.message.contains("damaged"));
            }
        }
        // The others are no JSON any more.
        assert!(damaged * 2 > first * 8, "{damaged} of {}", first * 8);
    }

    #[test]
    fn a_run_goes_on_behind_a_line_that_was_cut() {
        let journal = journal();
        let whole = resume(Journal::read(&journal).unwrap()).unwrap();
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        for cut in 0..lines[4].len() - 1 {
            let torn = lines[..4].concat() + &lines[4][..cut];
            let mut again = resume(Journal::read(&torn).unwrap()).unwrap();
            assert_eq!(again.open, whole.open);
            assert!(matches!(again.open[..], [Command::Timer { .. }, Command::Generate { .. }]), "{:?}", again.open);
            let delta = Delta::Text { block: 0, text: "d".to_owned() };
            again.run.step(Event { at: again.at, kind: EventKind::Delta { id: 2, delta } });
            let longer = torn + "\n" + std::str::from_utf8(&again.run.take_log()).unwrap();
            let found = replay(&longer).unwrap();
            assert_eq!(
                (found.events, found.damage, found.divergence, found.truncated),
                (4, None, None, false),
                "{longer}"
            );
        }
    }

    #[test]
    fn forks_part_where_they_were_told_to() {
        let journal = Journal::read(&journal()).unwrap();
        let mut models = journal.machine.clone();
        models.turn_mut().model = "n".into();
        let change = Change { models: Some(models), ..Change::default() };
        let mut other = fork("f", journal.clone(), 2, change, None).unwrap();
        let text = String::from_utf8(other.run.take_log()).unwrap();
        assert_eq!(replay(&text).unwrap().events, 2);
        let parting = compare(&journal, &Journal::read(&text).unwrap()).unwrap();
        assert_eq!((parting.seq, parting.what), (1, "commands"));
        let seconds = |own: f64, slow: bool| {
            let (mut journal, mut models) = (journal.clone(), journal.machine.clone());
            journal.machine.turn_mut().budget.wall_time = own;
            models.turn_mut().budget.wall_time = 90_000.0;
            let change = Change { models: Some(models), slow, ..Change::default() };
            let fork = fork("f", journal, 2, change, None).unwrap();
            Journal::read(std::str::from_utf8(&{ fork }.run.take_log()).unwrap())
                .unwrap()
                .machine
                .turn_mut()
                .budget
                .wall_time
        };
        let found = [(300.0, true), (300.0, false), (5.0, true)].map(|(own, slow)| seconds(own, slow));
        assert_eq!(
            found.map(f64::to_bits),
            [90_000.0, 300.0, 5.0].map(f64::to_bits),
            "the usual time alone gives way, where answers come when they may"
        );
        let change = Change { prompt: Some(Message::user("else")), ..Change::default() };
        let mut other = fork("f", journal.clone(), 4, change, None).unwrap();
        let again = Journal::read(std::str::from_utf8(&other.run.take_log()).unwrap()).unwrap();
        assert_eq!(compare(&journal, &again).unwrap().what, "event");
        assert_eq!(compare(&journal, &journal), None);
        for at in [0, 5] {
            assert_eq!(fork("f", journal.clone(), at, Change::default(), None).unwrap_err().code, "no_such_event");
        }
        let change = Change { result: Some("x".into()), ..Change::default() };
        assert_eq!(fork("f", journal, 2, change, None).unwrap_err().code, "no_tool_result");
    }

    #[test]
    fn runs_of_before_outcomes_told_who_acted_replay() {
        let mut config = TurnConfig { model: "one".into(), ..TurnConfig::default() };
        config.roles.fallback = vec![RoleModel { model: "two".into(), ..RoleModel::default() }];
        let mut run = Run::new("r", MachineConfig::Turn(config), true);
        let asked = |commands: &[Command]| {
            let id = commands.iter().find_map(|command| match command {
                Command::Generate { id, .. } => Some(*id),
                _ => None,
            });
            id.unwrap()
        };
        let id =
            asked(&run.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("go")] } }));
        let failure = Failure::new(FailureKind::Auth, "no such key");
        let failed = EventKind::Failed { id, failure, visible: false, partial: None };
        let id = asked(&run.step(Event { at: Time(1), kind: failed }));
        let response = Response {
            id: String::new(),
            model: String::new(),
            message: Message::assistant("Done."),
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            extra: None,
            adapted: Vec::new(),
        };
        run.step(Event { at: Time(2), kind: EventKind::Generated { id, response: Box::new(response) } });
        let journal = String::from_utf8(run.take_log()).unwrap();
        let told = r#","acted":{"place":1,"model":"two"}"#;
        let older = |other: &str| {
            let (before, last) = journal.trim_end().rsplit_once('\n').unwrap();
            assert_eq!(last.matches(told).count(), 1, "{last}");
            let sum_of = |line: &str| u64::from_str_radix(&line[line.len() - 18..line.len() - 2], 16).unwrap();
            let mut line =
                last[..last.len() - SUM.0.len() - SUM_DIGITS - SUM.1.len()].replace(told, other).into_bytes();
            line.push(b'}');
            end_line(&mut line, 0, sum_of(before));
            format!("{before}\n{}", String::from_utf8(line).unwrap())
        };
        for text in [&journal, &older("")] {
            let found = replay(text).unwrap();
            assert_eq!((found.events, found.damage, found.divergence), (3, None, None));
            assert_eq!(resume(Journal::read(text).unwrap()).unwrap_err().code, "run_finished");
        }
        let other = older(r#","acted":{"place":1,"model":"six"}"#);
        assert_eq!(replay(&other).unwrap().divergence.unwrap().seq, 3, "what was told counts");
    }
}
