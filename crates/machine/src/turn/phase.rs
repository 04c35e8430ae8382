//! Where a turn stands, and the one way from there to somewhere else.
//!
//! The phase can be read and what it holds can be worked on, but it is changed by [`CurrentPhase::enter`] alone, which
//! asks the table. A move that the table does not hold is a fault of ours: tests fail at it, and a run ends with an
//! error that says so.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{
    TurnMachine,
    hooks::Held,
    question::Question,
    recall::Recalling,
    round::{Pending, Round},
    supervise::Supervising,
    table::{TurnEvent, TurnFact, TurnState, next},
};
use crate::{Command, EventKind, Id, Stop, Time};
use loopwright_base::{
    error::{Error, Failure, Result},
    message::Block,
    request::Response,
};

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    Idle,
    /// A model call is under way.
    Asking(Asking),
    /// A model call failed; the timer starts the next attempt.
    Waiting {
        timer: Id,
        asking: Asking,
    },
    /// Tools are under way.
    Tools(Round),
    /// Results are looked at before the model gets them.
    Supervising(Supervising),
    /// An opinion is waited for; the next message holds these blocks.
    Checking(Vec<Block>),
    Done,
    /// Hooks, or a choice of the model, are under way.
    Held(Box<Held>),
    /// Memory is asked what it knows of the prompt.
    Recalling(Recalling),
}

impl Phase {
    pub(super) const fn state(&self) -> TurnState {
        match self {
            Self::Idle => TurnState::Idle,
            Self::Asking(_) => TurnState::Asking,
            Self::Waiting { .. } => TurnState::Waiting,
            Self::Tools(round) if round.asks() => TurnState::Deciding,
            Self::Tools(_) => TurnState::Tools,
            Self::Supervising(_) => TurnState::Supervising,
            Self::Checking(_) => TurnState::Checking,
            Self::Done => TurnState::Done,
            Self::Held(_) => TurnState::Held,
            Self::Recalling(_) => TurnState::Recalling,
        }
    }
}

/// A request to the model, over all its attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asking {
    pub(super) id: Id,
    pub(super) attempt: u32,
    pub(super) since: Time,
    /// A part of this attempt's answer was shown.
    pub(super) visible: bool,
    pub(super) last_failure: Option<Box<Failure>>,
    /// Attempts that do not count: by the models before this one, and those that waited for the probe of another call.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) before: u32,
    /// Attempts that were not sent, since the host was left alone.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) unsent: u32,
    /// How often a host that is left alone was waited for.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) waits: u32,
    /// Tokens of a budget that it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<u64>,
    /// What the newest attempt that broke off in the middle had said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) said: Option<Box<Response>>,
}

/// The phase of a turn. Within a step it knows where that began, and at what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct CurrentPhase {
    phase: Phase,
    #[serde(skip)]
    step: Option<Step>,
}

/// A step that is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    from: TurnState,
    event: TurnEvent,
    /// Where the table has led so far.
    to: TurnState,
}

impl Deref for CurrentPhase {
    type Target = Phase;

    fn deref(&self) -> &Phase {
        &self.phase
    }
}

impl CurrentPhase {
    /// Before the prompt.
    pub(super) const fn idle() -> Self {
        Self { phase: Phase::Idle, step: None }
    }

    /// A step begins.
    pub(super) fn begin(&mut self, event: &EventKind) {
        let from = self.phase.state();
        self.step = TurnEvent::of(event).map(|event| Step { from, event, to: from });
    }

    /// The step is over: the turn stands where the table has led.
    pub(super) fn end(&mut self) {
        let to = self.step.take().map(|step| step.to);
        debug_assert!(to.is_none_or(|to| to == self.phase.state()), "{:?}, not {to:?}", self.phase);
    }

    /// Where a fact leads: to this phase, by the table.
    fn lead(&mut self, fact: TurnFact, phase: &Phase) -> Result<()> {
        let to = self.step.and_then(|step| next(step.from, step.event, fact));
        match (&mut self.step, to) {
            (Some(step), Some(to)) if to == phase.state() => step.to = to,
            (step, _) => {
                let message = format!("{fact:?} does not lead to {} ({step:?})", phase.state().name());
                debug_assert!(false, "{message}");
                return Err(Error::internal("no_transition", message));
            }
        }
        Ok(())
    }

    /// The run is over, whatever the table says.
    pub(super) fn close(&mut self) -> Result<()> {
        let held = self.lead(TurnFact::Over, &Phase::Done);
        self.phase = Phase::Done;
        held
    }

    /// Takes out what it holds: another phase is entered next.
    pub(super) const fn take(&mut self) -> Phase {
        std::mem::replace(&mut self.phase, Phase::Done)
    }

    /// The request that is under way.
    pub(super) const fn asking(&mut self) -> Option<&mut Asking> {
        if let Phase::Asking(asking) = &mut self.phase { Some(asking) } else { None }
    }

    /// The round of calls that is under way.
    pub(super) const fn round(&mut self) -> Option<&mut Round> {
        if let Phase::Tools(round) = &mut self.phase { Some(round) } else { None }
    }

    /// The question to a person that is open, and the calls of its round.
    pub(super) fn question(&mut self) -> Option<(&mut Question, &[Pending])> {
        match &mut self.phase {
            Phase::Tools(round) => Some((round.question.as_mut()?, &round.calls)),
            Phase::Supervising(supervising) => Some((supervising.question.as_mut()?, &supervising.round.calls)),
            _ => None,
        }
    }

    /// The round whose results are looked at.
    pub(super) const fn supervising(&mut self) -> Option<&mut Supervising> {
        if let Phase::Supervising(supervising) = &mut self.phase { Some(supervising) } else { None }
    }
}

impl TurnMachine {
    /// Goes where a fact leads. Where the table does not say so, the run ends.
    pub(super) fn enter(&mut self, fact: TurnFact, phase: Phase, out: &mut Vec<Command>) {
        let held = self.phase.lead(fact, &phase);
        self.phase.phase = phase;
        if let Err(error) = held {
            self.lost(error, out);
        }
    }

    /// A fault of ours ends the run as any other end does: nothing stays open.
    fn lost(&mut self, error: Error, out: &mut Vec<Command>) {
        self.abort(None, out, "the run failed");
        self.outcome.error = Some(error);
        self.close(Stop::Error, out);
    }

    /// Works on the round of calls; `None` where there is none.
    pub(super) fn with_round<T>(&mut self, work: impl FnOnce(&mut Self, &mut Round) -> T) -> Option<T> {
        self.phase.round()?;
        let Phase::Tools(mut round) = self.phase.take() else { return None };
        let done = work(self, &mut round);
        self.phase.phase = Phase::Tools(round);
        Some(done)
    }

    /// Works on the round whose results are looked at.
    pub(super) fn with_supervising(&mut self, work: impl FnOnce(&mut Self, &mut Supervising)) {
        if self.phase.supervising().is_none() {
            return;
        }
        let Phase::Supervising(mut supervising) = self.phase.take() else { return };
        work(self, &mut supervising);
        self.phase.phase = Phase::Supervising(supervising);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Machine, turn::TurnConfig};
    use loopwright_base::message::Message;

    #[test]
    fn a_turn_that_lost_its_way_ends_with_nothing_open() {
        let mut turn = TurnMachine::new(TurnConfig { model: "any".into(), ..TurnConfig::default() }, 0);
        let prompt = EventKind::Start { messages: vec![Message::user("Hi.")] };
        turn.step(Event { at: Time(0), kind: prompt });
        let Phase::Asking(Asking { id: asked, .. }) = *turn.phase else { unreachable!("{:?}", turn.phase) };
        assert_eq!(next(TurnState::Asking, TurnEvent::Generated, TurnFact::ResultsPrivate), None);
        turn.phase.begin(&EventKind::Interrupt { how: crate::Interrupt::Cancel, partial: None });
        let mut out = Vec::new();
        turn.lost(Error::internal("no_transition", "x"), &mut out);
        assert!(out.contains(&Command::Abort { id: asked }), "{out:?}");
        let Some(Command::Finish { outcome }) = out.last() else { unreachable!("{out:?}") };
        assert_eq!(
            (outcome.stop, outcome.error.as_ref().map(|error| &*error.code)),
            (Stop::Error, Some("no_transition"))
        );
        assert!(turn.is_finished());
    }
}
