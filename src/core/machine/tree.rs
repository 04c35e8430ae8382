//! A machine and its children, as one machine.
//!
//! The tree carries out `Spawn` itself and hands each child's end to its parent, so that a driver sees one flat
//! stream of commands and needs to know nothing about who gave them. A command's number names the machine that gave
//! it in its upper 32 bits; answers find their way by it.

use serde::{Deserialize, Serialize};

use super::{
    Command, Event, EventKind, Id, Interrupt, Machine, Outcome, Time,
    grounded::{GroundedConfig, GroundedMachine},
    research::{ResearchConfig, ResearchMachine},
    turn::{TurnConfig, TurnMachine},
};
use crate::core::{
    error::Error,
    request::{History, Response},
};

/// Which machine, and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one for each machine, and it is boxed where it travels")]
pub enum MachineConfig {
    /// A turn.
    Turn(TurnConfig),
    /// A grounded answer.
    Grounded(GroundedConfig),
    /// A research.
    Research(ResearchConfig),
}

impl MachineConfig {
    /// The digest of the policy that calls are judged by, where there is one.
    pub fn policy_digest(&self) -> Option<&str> {
        let turn = match self {
            Self::Turn(turn) => turn,
            Self::Grounded(grounded) => &grounded.turn,
            Self::Research(research) => &research.turn,
        };
        turn.guard.as_ref().map(|guard| guard.policy.digest())
    }

    /// What its turns are made of.
    pub const fn turn_mut(&mut self) -> &mut TurnConfig {
        match self {
            Self::Turn(turn) => turn,
            Self::Grounded(grounded) => &mut grounded.turn,
            Self::Research(research) => &mut research.turn,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Node {
    Turn(Box<TurnMachine>),
    Grounded(Box<GroundedMachine>),
    Research(Box<ResearchMachine>),
}

impl Node {
    fn new(config: MachineConfig, base: Id) -> Self {
        match config {
            MachineConfig::Turn(config) => Self::Turn(Box::new(TurnMachine::new(config, base))),
            MachineConfig::Grounded(config) => Self::Grounded(Box::new(GroundedMachine::new(config, base))),
            MachineConfig::Research(config) => Self::Research(Box::new(ResearchMachine::new(config, base))),
        }
    }

    fn machine(&mut self) -> &mut dyn Machine {
        match self {
            Self::Turn(machine) => machine.as_mut(),
            Self::Grounded(machine) => machine.as_mut(),
            Self::Research(machine) => machine.as_mut(),
        }
    }

    fn view(&self) -> &dyn Machine {
        match self {
            Self::Turn(machine) => machine.as_ref(),
            Self::Grounded(machine) => machine.as_ref(),
            Self::Research(machine) => machine.as_ref(),
        }
    }

    fn history(&self) -> &History {
        match self {
            Self::Turn(machine) => machine.history(),
            Self::Grounded(machine) => machine.history(),
            Self::Research(machine) => machine.history(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Member {
    node: Node,
    /// The parent's place and the command that started this machine.
    parent: Option<(u32, Id)>,
}

/// A machine and its children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    members: Vec<Option<Member>>,
    outcome: Option<Box<Outcome>>,
    history: Option<History>,
    dropped: u64,
}

const SHIFT: u32 = 32;

impl Tree {
    /// A tree of one machine that has not begun.
    pub fn new(config: MachineConfig) -> Self {
        let root = Member { node: Node::new(config, 0), parent: None };
        Self { members: vec![Some(root)], outcome: None, history: None, dropped: 0 }
    }

    /// How the run ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_deref()
    }

    /// The root's history.
    pub fn history(&self) -> History {
        match (&self.history, self.members.first()) {
            (Some(history), _) => history.clone(),
            (None, Some(Some(root))) => root.node.history().clone(),
            _ => History::new(),
        }
    }

    /// Answers that came for nobody.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn step_member(&mut self, at: u32, event: Event, out: &mut Vec<Command>) {
        // Children that end wake their parents, whose commands may start other children: a queue, no recursion.
        let mut queue = std::collections::VecDeque::from([(at, event)]);
        while let Some((at, event)) = queue.pop_front() {
            let now = event.at;
            let Some(Some(member)) = self.members.get_mut(at as usize) else {
                self.dropped += 1;
                continue;
            };
            let commands = member.node.machine().step(event);
            for command in commands {
                match command {
                    Command::Spawn { id, config, messages } => {
                        let child = self.members.len() as u32;
                        let node = Node::new(*config, Id::from(child) << SHIFT);
                        self.members.push(Some(Member { node, parent: Some((at, id)) }));
                        let kind = EventKind::Start { messages: messages.iter().cloned().collect() };
                        queue.push_back((child, Event { at: now, kind }));
                    }
                    Command::Finish { outcome } => self.finished(at, outcome, now, &mut queue, out),
                    Command::Abort { id } => match self.child_of(at, id) {
                        // A child that is of no use any more is cancelled: what it has used still counts.
                        Some(child) => queue.push_back((child, interrupt(now, Interrupt::Cancel, None))),
                        None => out.push(Command::Abort { id }),
                    },
                    Command::Interrupt { id, how, partial } => {
                        if let Some(child) = self.child_of(at, id) {
                            queue.push_back((child, interrupt(now, how, partial)));
                        }
                    }
                    other => out.push(other),
                }
            }
        }
    }

    fn finished(
        &mut self,
        at: u32,
        mut outcome: Box<Outcome>,
        now: Time,
        queue: &mut std::collections::VecDeque<(u32, Event)>,
        out: &mut Vec<Command>,
    ) {
        let Some(member) = self.members.get_mut(at as usize).and_then(Option::take) else { return };
        let messages = member.node.history().clone();
        if let Some((parent, id)) = member.parent {
            if !matches!(self.members.get(parent as usize), Some(Some(_))) {
                return;
            }
            let kind = EventKind::Child { id, outcome, messages };
            queue.push_back((parent, Event { at: now, kind }));
        } else {
            outcome.dropped += self.dropped;
            self.history = Some(messages);
            self.outcome = Some(outcome.clone());
            out.push(Command::Finish { outcome });
        }
    }

    fn child_of(&self, parent: u32, command: Id) -> Option<u32> {
        let is_child =
            |member: &Option<Member>| member.as_ref().is_some_and(|member| member.parent == Some((parent, command)));
        self.members.iter().position(is_child).map(|at| at as u32)
    }
}

fn interrupt(at: Time, how: Interrupt, partial: Option<Box<Response>>) -> Event {
    Event { at, kind: EventKind::Interrupt { how, partial } }
}

impl Machine for Tree {
    fn step(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        let id = match &event.kind {
            EventKind::Start { .. } | EventKind::Interrupt { .. } => 0,
            EventKind::Child { .. } => {
                let error = Error::usage("internal_event", "`child` events are made by the tree, not by drivers");
                return vec![Command::Refuse { error }];
            }
            EventKind::Delta { id, .. }
            | EventKind::Generated { id, .. }
            | EventKind::Failed { id, .. }
            | EventKind::Executed { id, .. }
            | EventKind::Decided { id, .. }
            | EventKind::Found { id, .. }
            | EventKind::Hits { id, .. }
            | EventKind::Fetched { id, .. }
            | EventKind::Embedded { id, .. }
            | EventKind::Fired { id, .. }
            | EventKind::Hooked { id, .. }
            | EventKind::Chosen { id, .. }
            | EventKind::Recalled { id, .. } => *id,
        };
        self.step_member((id >> SHIFT) as u32, event, &mut out);
        out
    }

    fn waiting(&self) -> Vec<String> {
        self.members.iter().flatten().flat_map(|member| member.node.view().waiting()).collect()
    }

    fn is_finished(&self) -> bool {
        self.outcome.is_some()
    }
}
