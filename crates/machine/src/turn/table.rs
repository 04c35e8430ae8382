//! The transitions of the turn: one table, by which the machine goes, from which the diagram is drawn, and to which the
//! tests hold what was seen of the machine.
//!
//! A row says from which state, at which events, by which fact, to where. Facts are found out on the way; where a fact
//! leads stands here alone. Events that a state drops or refuses change nothing and are not listed.

#![allow(clippy::enum_glob_use, reason = "a row reads as an arrow of the diagram")]

use TurnEvent::*;
use TurnFact::*;
use TurnState::*;

use crate::EventKind;

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnState {
    Idle,
    Asking,
    Waiting,
    Tools,
    Deciding,
    Supervising,
    Checking,
    Held,
    Recalling,
    Done,
}

impl TurnState {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Idle => "idle",
            Asking => "asking",
            Waiting => "waiting",
            Tools => "tools",
            Deciding => "deciding",
            Supervising => "supervising",
            Checking => "checking",
            Held => "held",
            Recalling => "recalling",
            Done => "done",
        }
    }
}

/// What comes to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEvent {
    Start,
    Delta,
    Generated,
    Failed,
    Executed,
    Decided,
    Fired,
    Interrupt,
    Hooked,
    Chosen,
    Recalled,
}

impl TurnEvent {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Start => "start",
            Delta => "delta",
            Generated => "generated",
            Failed => "failed",
            Executed => "executed",
            Decided => "decided",
            Fired => "fired",
            Interrupt => "interrupt",
            Hooked => "hooked",
            Chosen => "chosen",
            Recalled => "recalled",
        }
    }

    /// What an event is to the table; `None` where it leads nowhere.
    pub(super) const fn of(kind: &EventKind) -> Option<Self> {
        Some(match kind {
            EventKind::Start { .. } => Start,
            EventKind::Delta { .. } => Delta,
            EventKind::Generated { .. } => Generated,
            // After a pause, a role that may not be asked again has failed.
            EventKind::Failed { .. } | EventKind::Resume => Failed,
            // A sub-agent that has ended is a call that has run.
            EventKind::Executed { .. } | EventKind::Child { .. } => Executed,
            EventKind::Decided { .. } => Decided,
            EventKind::Fired { .. } => Fired,
            EventKind::Interrupt { .. } => Interrupt,
            EventKind::Hooked { .. } => Hooked,
            EventKind::Chosen { .. } => Chosen,
            EventKind::Recalled { .. } => Recalled,
            _ => return None,
        })
    }
}

/// What decides where a turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnFact {
    /// What it waits for has not come, or not all of it: a role in the background has spoken, or failed, or is late.
    Still,
    /// A request went out.
    RequestSent,
    /// The next attempt at a request is for later.
    AttemptPutOff,
    /// Calls are to run, or do.
    CallsOpen,
    /// A person is asked about a call.
    PersonAsked,
    /// Results may be private, and somebody is asked whether the model may see them.
    ResultsPrivate,
    /// An opinion on sanity is waited for.
    OpinionAwaited,
    /// The stage has hooks.
    HooksAsked,
    /// Somebody chooses the model.
    ModelAsked,
    /// Memory is asked what it knows.
    MemoryAsked,
    /// The run is over.
    Over,
}

type Row = (TurnState, &'static [TurnEvent], TurnFact, TurnState);

/// The rows. None has two targets: from a state, at an event, a fact leads to one state.
const ROWS: &[Row] = &[
    // A prompt goes to the model, unless configuration, prompt or budget forbid it.
    (Idle, &[Start], RequestSent, Asking),
    (Idle, &[Start, Interrupt], Over, Done),
    // An answer: calls that run, a call that needs a person, calls that are all broken (or a nudge, or a provider that
    // pauses), the end. A failure: again later, again at once without tools, the end. After the round means after this
    // answer.
    (Asking, &[Delta, Generated, Failed, Interrupt, Fired], Still, Asking),
    (Asking, &[Generated, Failed], RequestSent, Asking),
    (Asking, &[Generated], CallsOpen, Tools),
    (Asking, &[Generated], PersonAsked, Deciding),
    (Asking, &[Generated, Failed, Fired, Interrupt], Over, Done),
    (Asking, &[Failed], AttemptPutOff, Waiting),
    (Waiting, &[Fired], RequestSent, Asking),
    (Waiting, &[Fired, Interrupt], Over, Done),
    // A result: others are under way, the next call, a question, the next request, the end. After the round means after
    // the calls that run.
    (Tools, &[Executed, Interrupt, Generated, Failed, Fired], Still, Tools),
    (Tools, &[Executed, Interrupt, Hooked], CallsOpen, Tools),
    (Tools, &[Executed, Hooked], PersonAsked, Deciding),
    (Tools, &[Executed, Hooked], RequestSent, Asking),
    (Tools, &[Executed, Fired, Interrupt, Hooked], Over, Done),
    // A decision, or the time for it is over.
    (Deciding, &[Decided, Fired], CallsOpen, Tools),
    (Deciding, &[Decided, Fired], PersonAsked, Deciding),
    (Deciding, &[Generated, Failed, Fired], Still, Deciding),
    (Deciding, &[Decided, Fired], RequestSent, Asking),
    (Deciding, &[Decided, Fired, Interrupt], Over, Done),
    (Waiting, &[Generated, Failed, Fired], Still, Waiting),
    // Results that are private: the supervisor says something, or a person decides.
    (Tools, &[Executed, Hooked], ResultsPrivate, Supervising),
    (Deciding, &[Decided, Fired], ResultsPrivate, Supervising),
    (Supervising, &[Generated, Failed, Fired, Decided], Still, Supervising),
    (Supervising, &[Generated, Failed, Fired, Decided], RequestSent, Asking),
    (Supervising, &[Fired, Decided, Generated, Failed, Interrupt], Over, Done),
    // An opinion on sanity is waited for; where one model of the role fails, the next one is asked.
    (Tools, &[Executed, Hooked], OpinionAwaited, Checking),
    (Deciding, &[Decided, Fired], OpinionAwaited, Checking),
    (Asking, &[Generated], OpinionAwaited, Checking),
    (Checking, &[Generated, Failed, Fired], Still, Checking),
    (Checking, &[Generated, Failed, Fired], RequestSent, Asking),
    (Checking, &[Generated, Failed, Fired, Interrupt], Over, Done),
    (Idle, &[Start], OpinionAwaited, Checking),
    (Held, &[Hooked, Chosen], OpinionAwaited, Checking),
    // All of it while the turn holds, and where it goes on to hooks.
    (Held, &[Generated, Failed, Fired, Interrupt], Still, Held),
    (Held, &[Chosen, Hooked, Interrupt], HooksAsked, Held),
    (Held, &[Hooked], ModelAsked, Held),
    (Supervising, &[Generated, Failed, Fired, Decided, Interrupt], HooksAsked, Held),
    (Checking, &[Generated, Failed, Fired, Interrupt], HooksAsked, Held),
    (Supervising, &[Generated, Failed, Fired, Decided], OpinionAwaited, Checking),
    // Hooks (and whoever chooses the model) are asked: before the first request, around a request, about an answer,
    // about a decision, about the end. Where there are none, none of these is made.
    (Idle, &[Start], HooksAsked, Held),
    (Idle, &[Start], ModelAsked, Held),
    (Asking, &[Generated, Failed], HooksAsked, Held),
    (Waiting, &[Fired, Interrupt], HooksAsked, Held),
    (Tools, &[Executed, Hooked, Interrupt], HooksAsked, Held),
    (Deciding, &[Decided, Fired, Interrupt], HooksAsked, Held),
    (Held, &[Chosen, Hooked], RequestSent, Asking),
    (Held, &[Chosen, Hooked, Fired, Interrupt], Over, Done),
    (Held, &[Hooked], CallsOpen, Tools),
    (Held, &[Hooked], PersonAsked, Deciding),
    // Memory is asked first, where there is one: it answers, fails, or takes too long.
    (Idle, &[Start], MemoryAsked, Recalling),
    (Recalling, &[Recalled, Fired], RequestSent, Asking),
    (Recalling, &[Recalled, Fired, Interrupt], Over, Done),
    (Held, &[Hooked], MemoryAsked, Recalling),
    (Recalling, &[Recalled, Fired], HooksAsked, Held),
    (Recalling, &[Recalled, Fired], ModelAsked, Held),
    (Recalling, &[Recalled, Fired], OpinionAwaited, Checking),
];

/// Where a turn goes from a state, at an event, by the fact that decides; `None` where no row says so.
pub(super) fn next(from: TurnState, event: TurnEvent, fact: TurnFact) -> Option<TurnState> {
    ROWS.iter().find(|row| row.0 == from && row.2 == fact && row.1.contains(&event)).map(|row| row.3)
}

/// The transitions of the turn: from where, at which event, to where; each once, whatever facts lead there.
pub fn transitions() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = Vec::new();
    for (from, events, _, to) in ROWS {
        for event in *events {
            let line = (from.name(), event.name(), to.name());
            if !all.contains(&line) {
                all.push(line);
            }
        }
    }
    all
}

/// The table as a Mermaid state diagram.
pub fn diagram() -> String {
    crate::diagram::draw(&transitions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_has_two_targets() {
        let all = || ROWS.iter().flat_map(|row| row.1.iter().map(|event| (row.0, *event, row.2)));
        for one in all() {
            assert_eq!(all().filter(|other| *other == one).count(), 1, "{one:?}");
        }
        // A run may end in every state, and nothing comes after that.
        for from in [Idle, Asking, Waiting, Tools, Deciding, Supervising, Checking, Held, Recalling] {
            assert_eq!(next(from, Interrupt, Over), Some(Done), "{from:?}");
        }
        assert!(ROWS.iter().all(|row| row.0 != Done));
    }
}
