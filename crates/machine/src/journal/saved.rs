//! Snapshots of a run at one event, so that resuming need not begin at the first.
//!
//! A snapshot is bound to the journal by the number and the sum of the line it was taken behind: the lines that follow
//! are checked and fed as ever. The longest history is saved apart, in pieces, each message once; it is bound to the
//! rest by its digest, and its messages are read when somebody wants them.

use std::{borrow::Cow, fmt::Write, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    Run,
    read::Journal,
    records,
    resume::{OpenCommands, ResumedRun, resume_from},
    rules::{self, RULES},
};
use crate::Tree;
use loopwright_base::{
    error::{Error, Result},
    message::Message,
    request::History,
};

/// The version that may read a snapshot: messages are not checked again before they are wanted, so only the version
/// that has read back what it wrote.
const WRITER_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");
/// Bytes of the length that stands before each message of a piece.
const LENGTH_DIGITS: usize = 8;

/// A snapshot of a run behind one line of its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The number of the event.
    pub seq: u64,
    /// The sum of its line.
    pub sum: u64,
    /// The machine and the commands that wait for an answer, as JSON.
    pub state: String,
    /// The messages added since the last snapshot.
    pub piece: HistoryPiece,
}

/// Messages of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPiece {
    /// The number of messages in the pieces before it. With 0, the pieces before it are of no use any more.
    pub first: u64,
    /// The number of messages.
    pub messages: u64,
    /// Each one's JSON, behind its length in hexadecimal digits.
    pub text: String,
}

/// The part of a history that is saved, and its digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedHistory {
    /// The place of the member whose history it is.
    member: usize,
    messages: u64,
    digest: u64,
}

#[derive(Serialize)]
struct SnapshotState<'a> {
    by: &'static str,
    rules: u32,
    kept: Option<SavedHistory>,
    records: Option<records::WrittenRecords<'a>>,
    tree: &'a Tree,
    open: &'a OpenCommands,
}

#[derive(Deserialize)]
struct RestoredState {
    #[serde(default)]
    by: Option<String>,
    #[serde(default = "rules::first_rules")]
    rules: u32,
    #[serde(default)]
    kept: Option<SavedHistory>,
    #[serde(default)]
    records: Option<records::ReadRecords>,
    tree: Tree,
    open: OpenCommands,
}

impl Run {
    /// A snapshot of the run, for [`resume_saved`]; `None` while a model is asked, whose request would be kept once
    /// more. The pieces of earlier snapshots count as kept.
    pub fn save(&mut self) -> Option<Snapshot> {
        // Which of the results are used up already stands in no saved state.
        let open = self.open.as_deref().filter(|open| !open.is_large() && self.results.is_empty())?;
        let mut lent = self.tree.take_history();
        let apart = lent.as_ref().and_then(|(member, history)| HistoryPiece::of(*member, history, self.kept));
        if apart.is_none()
            && let Some((member, history)) = lent.take()
        {
            self.tree.give_back_history(member, history);
        }
        let (piece, kept) = apart.map_or_else(Default::default, |(piece, kept)| (piece, Some(kept)));
        let (mut calls, mut iterations) = (Vec::new(), Vec::new());
        if let Some(kept) = kept {
            self.tree.swap_records(kept.member, &mut calls, &mut iterations);
        }
        let records = kept.map(|_| records::WrittenRecords::of(&calls, &iterations));
        let state = serde_json::to_string(&SnapshotState {
            by: WRITER_VERSION,
            rules: RULES,
            kept,
            records,
            tree: &self.tree,
            open,
        });
        if let Some(kept) = kept {
            self.tree.swap_records(kept.member, &mut calls, &mut iterations);
        }
        if let Some((member, history)) = lent {
            self.tree.give_back_history(member, history);
        }
        self.kept = kept;
        Some(Snapshot { seq: self.seq, sum: self.sum, state: state.ok()?, piece })
    }
}

impl HistoryPiece {
    /// The messages of a history that are not kept yet; `None` where they could not be read back.
    fn of(member: usize, history: &History, before: Option<SavedHistory>) -> Option<(Self, SavedHistory)> {
        let goes_on = before.filter(|before| before.member == member);
        goes_on.and_then(|before| Self::behind(before, history)).or_else(|| {
            let nothing = SavedHistory { member, ..SavedHistory::default() };
            Self::behind(nothing, history)
        })
    }

    /// The messages behind those that are kept, if the history still begins with these.
    fn behind(before: SavedHistory, history: &History) -> Option<(Self, SavedHistory)> {
        let mut piece = Self { first: before.messages, ..Self::default() };
        let mut digest = before.digest;
        for at in usize::try_from(before.messages).ok()?..history.len() {
            let json = history.json_of(at)?;
            let length = u32::try_from(json.len()).ok()?;
            // What can't be read later must be noticed now.
            if matches!(json, Cow::Owned(_)) {
                let message = history.entries().get(at)?.message();
                serde_json::from_str::<Message>(&json).ok().filter(|read| *read == **message)?;
            }
            digest = xxh3_64_with_seed(json.as_bytes(), digest);
            let _ = write!(piece.text, "{length:0LENGTH_DIGITS$x}");
            piece.text.push_str(&json);
            piece.messages += 1;
        }
        let now = SavedHistory { messages: before.messages + piece.messages, digest, ..before };
        let all = now.messages == history.len() as u64 && digest == history.digest();
        all.then_some((piece, now))
    }

    /// The places of a piece's messages in its text; `None` if it is not as it was made.
    fn places(text: &str) -> Option<Vec<Range<usize>>> {
        let (mut places, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let from = at + LENGTH_DIGITS;
            let length = u32::from_str_radix(text.get(at..from)?, 16).ok()?;
            at = from + length as usize;
            text.get(from..at)?;
            places.push(from..at);
        }
        Some(places)
    }
}

/// Resumes from a snapshot and the texts of the pieces of its history, as [`super::resume`] does: the journal holds the
/// lines behind it ([`Journal::behind`]).
pub fn resume_saved(journal: Journal, state: &str, pieces: Vec<String>) -> Result<ResumedRun> {
    let wrong = |why: &str| {
        Error::usage("invalid_journal", format!("what was saved of the run can't be read: {why}"))
            .hint("go on from the lines of the journal")
    };
    let mut restored: RestoredState = serde_json::from_str(state).map_err(|error| wrong(&error.to_string()))?;
    if restored.rules != RULES {
        return Err(wrong("it was decided by other rules"));
    }
    if let Some(kept) = restored.kept {
        if restored.by.as_deref() != Some(WRITER_VERSION) {
            return Err(wrong("another version saved it"));
        }
        let mut history = History::new();
        for text in pieces {
            let places = HistoryPiece::places(&text).ok_or_else(|| wrong("a piece of the history is not as it was"))?;
            history.push_saved(&Arc::new(text), places);
        }
        let whole = history.len() as u64 == kept.messages && history.digest() == kept.digest;
        if !whole || !restored.tree.give_back_history(kept.member, history) {
            return Err(wrong("its history is another one"));
        }
        if let Some(read) = restored.records.take() {
            let (mut calls, mut iterations) = read.records().ok_or_else(|| wrong("a record names nothing"))?;
            restored.tree.swap_records(kept.member, &mut calls, &mut iterations);
        }
    }
    let compactions = restored.tree.long_compactions();
    let journal = Journal { results: Vec::new(), ..journal };
    let mut continued = resume_from(journal, restored.tree, restored.open)?;
    continued.run.kept = restored.kept;
    continued.saved = Some((state.len(), compactions));
    Ok(continued)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Command, Event, EventKind, MachineConfig, Time,
        turn::{ToolConfig, TurnConfig},
    };
    use loopwright_base::{
        json::Raw,
        message::{Block, Role, StopReason, ToolResult, ToolUse, Usage},
        request::Response,
    };
    use loopwright_guard::RiskLevel;

    const ROUNDS: u32 = 40;

    fn config() -> MachineConfig {
        let tool = ToolConfig {
            name: "look".into(),
            description: None,
            schema: Raw::empty_object(),
            risk: RiskLevel::Safe,
            read_only: true,
            timeout: None,
            max_output: None,
            volatile: Vec::new(),
            flow: None,
            answer: None,
            found: false,
            asks: false,
            deferred: false,
        };
        let mut turn = TurnConfig { model: "m".into(), tools: vec![tool], stuck: None, ..TurnConfig::default() };
        turn.budget.iterations = 100;
        turn.budget.tool_rounds = 100;
        turn.momentum = None;
        MachineConfig::Turn(turn)
    }

    /// The same with a window that is full again and again.
    fn narrow() -> MachineConfig {
        let mut config = config();
        config.turn_mut().context.budget = Some(900);
        config
    }

    /// What answers a command: a call of the tool, its result, words that a hook adds.
    fn answer(command: &Command, asked: &mut u32) -> Option<EventKind> {
        match command {
            Command::Generate { id, request, .. } => {
                *asked += 1;
                // Where it is on offer, what has left the request is asked for, too.
                let offered = request.tools.len() > 1 && asked.is_multiple_of(5);
                let (name, input) = if offered {
                    ("recall", format!("{{\"find\":\"found {}\"}}", *asked / 2))
                } else {
                    ("look", format!("{{\"n\":{asked}, \"r\": 1.50}}"))
                };
                let call = ToolUse {
                    id: format!("c{asked}"),
                    name: name.into(),
                    input: Raw::parse(input).unwrap(),
                    invalid: None,
                    extra: None,
                };
                let content = vec![Block::text(format!("look {asked}")), Block::ToolUse(call)];
                let response = Response {
                    id: String::new(),
                    model: String::new(),
                    message: Message::new(Role::Assistant, content),
                    stop: StopReason::ToolUse,
                    usage: Usage {
                        input: if asked.is_multiple_of(3) { 10 * u64::from(*asked) } else { 0 },
                        ..Usage::default()
                    },
                    extra: None,
                    adapted: Vec::new(),
                };
                Some(EventKind::Generated { id: *id, response: Box::new(response) })
            }
            Command::Execute { id, calls, .. } => {
                let call = &calls[0].tool_use;
                let result = ToolResult::text(
                    &call.id,
                    &call.name,
                    format!("found {asked} \u{1F680} in {}: {}", call.id, "more words of it ".repeat(8)),
                );
                Some(EventKind::Executed { id: *id, result })
            }
            _ => None,
        }
    }

    /// A run, saved behind every event where it can be, as a store keeps it.
    fn saved_everywhere(config: MachineConfig) -> (String, Vec<(Snapshot, Vec<String>)>) {
        let mut run = Run::new("r", config, true);
        run.track_open();
        let (mut asked, mut kept, mut pieces) = (0, Vec::new(), Vec::new());
        let start = EventKind::Start { messages: vec![Message::user("go")] };
        let mut events = std::collections::VecDeque::from([start]);
        let mut at = 0;
        while let Some(kind) = events.pop_front() {
            at += 1;
            let commands = run.step(Event { at: Time(at), kind });
            events.extend(commands.iter().filter_map(|command| answer(command, &mut asked)));
            if let Some(saved) = run.save() {
                if saved.piece.first == 0 {
                    pieces.clear();
                }
                if saved.piece.messages > 0 {
                    pieces.push(saved.piece.text.clone());
                }
                kept.push((saved, pieces.clone()));
            }
            if asked > ROUNDS {
                break;
            }
        }
        (String::from_utf8(run.take_log()).unwrap(), kept)
    }

    fn resumed(journal: &str, saved: &Snapshot, pieces: Vec<String>) -> Result<ResumedRun> {
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        let behind = lines[saved.seq as usize + 1..].concat();
        resume_saved(Journal::behind(lines[0], saved.seq, saved.sum, &behind).unwrap(), &saved.state, pieces)
    }

    #[test]
    fn d46_a_run_goes_on_from_wherever_it_was_saved_as_from_all_of_its_lines() {
        goes_on_everywhere(config());
    }

    #[test]
    fn d46_a_saved_run_sends_what_it_would_have_sent_however_often_its_history_is_compacted() {
        let journal = goes_on_everywhere(narrow());
        assert!(journal.matches("\"compacted\"").count() >= 3, "{journal}");
        assert!(journal.matches("\"name\":\"recall\"").count() >= 2);
    }

    fn goes_on_everywhere(config: MachineConfig) -> String {
        let (journal, kept) = saved_everywhere(config);
        assert!(kept.len() as u32 >= ROUNDS * 3 / 4, "{}", kept.len());
        let mut whole = super::super::resume(Journal::read(&journal).unwrap()).unwrap();
        let (first, behind): (Vec<_>, Vec<_>) = kept.iter().partition(|(saved, _)| saved.piece.first == 0);
        assert!(first.len() <= 1 && behind.iter().all(|(saved, _)| saved.piece.messages <= 4), "each message once");
        for (saved, pieces) in kept {
            let mut again = resumed(&journal, &saved, pieces).unwrap();
            assert_eq!((&again.open, again.at), (&whole.open, whole.at));
            let state = |run: &Run| serde_json::to_string(run.tree()).unwrap();
            assert_eq!(state(&again.run), state(&whole.run), "{}", saved.seq);
            // What it is saved with next is as if it had never broken off.
            assert_eq!(again.run.kept.unwrap().messages, saved.piece.first + saved.piece.messages);
            let Some(kind) = answer(again.open.last().unwrap(), &mut 500) else { panic!("{:?}", again.open) };
            let event = Event { at: again.at, kind };
            let mut other = super::super::resume(Journal::read(&journal).unwrap()).unwrap();
            assert_eq!(again.run.step(event.clone()), other.run.step(event));
            assert_eq!(again.run.take_log(), other.run.take_log());
        }
        assert!(whole.run.save().is_none(), "a model is asked");
        journal
    }

    #[test]
    fn d46_pieces_that_are_not_as_they_were_written_are_not_believed() {
        let (journal, kept) = saved_everywhere(config());
        let (saved, pieces) = kept.last().unwrap();
        assert!(pieces.len() > 3);
        resumed(&journal, saved, pieces.clone()).unwrap();
        let mut wrong = vec![pieces[1..].to_vec(), pieces[..pieces.len() - 1].to_vec(), Vec::new()];
        wrong.push([&pieces[..2], &pieces[1..]].concat());
        for at in 0..pieces[1].len() {
            let mut bytes = pieces[1].clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            wrong.push([&pieces[..1], &[text], &pieces[2..]].concat());
            wrong.push([&pieces[..1], &[pieces[1].get(..at).unwrap_or_default().to_owned()], &pieces[2..]].concat());
        }
        for pieces in wrong {
            assert_eq!(resumed(&journal, saved, pieces).map(drop).unwrap_err().code, "invalid_journal");
        }
        let other = Snapshot { state: saved.state.replacen(WRITER_VERSION, "0.0.0/2", 1), ..saved.clone() };
        assert_eq!(resumed(&journal, &other, pieces.clone()).map(drop).unwrap_err().code, "invalid_journal");
    }

    #[test]
    fn d46_a_history_that_was_changed_is_kept_anew() {
        let mut history: History = ["a", "b", "c"].into_iter().map(Message::user).collect();
        let (first, kept) = HistoryPiece::of(0, &history, None).unwrap();
        assert_eq!((first.first, first.messages), (0, 3));
        history.push(Message::user("d"));
        let (second, kept) = HistoryPiece::of(0, &history, Some(kept)).unwrap();
        assert_eq!((second.first, second.messages), (3, 1));
        // Another one of the same length, a shorter one, another turn's.
        let changed: History = ["a", "b", "x", "d", "e"].into_iter().map(Message::user).collect();
        let shorter: History = ["a", "b"].into_iter().map(Message::user).collect();
        for (member, history) in [(0, &changed), (0, &shorter), (1, &history)] {
            let (piece, now) = HistoryPiece::of(member, history, Some(kept)).unwrap();
            assert_eq!((piece.first, piece.messages), (0, history.len() as u64));
            assert_eq!((now.messages, now.digest), (history.len() as u64, history.digest()));
        }
    }
}
