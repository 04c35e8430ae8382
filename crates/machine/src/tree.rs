//! A machine and its children, as one machine.
//!
//! The tree carries out `Spawn` itself and hands each child's end to its parent, so that a driver sees one flat
//! stream of commands and needs to know nothing about who gave them. A command's number names the machine that gave
//! it in its upper 32 bits; answers find their way by it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    BudgetUsage, CallRecord, Command, Event, EventKind, Id, Interrupt, IterationRecord, Machine, Notice, Outcome, Stop,
    Time,
    grounded::{GroundedConfig, GroundedMachine},
    pause::{GateResult, Pause, RunState},
    research::{ResearchConfig, ResearchMachine},
    turn::{AgentPlace, ToolConfig, TurnConfig, TurnMachine},
};
use loopwright_base::{
    error::Error,
    request::{History, Response},
};
use loopwright_guard::{Declared, GuardConfig};

/// The configuration of a machine.
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

    /// The place of the sub-agent and its model, if the machine is one.
    pub fn agent(&self) -> Option<(&AgentPlace, &str)> {
        match self {
            Self::Turn(turn) => turn.agent.as_ref().map(|place| (place, turn.model.as_str())),
            Self::Grounded(_) | Self::Research(_) => None,
        }
    }

    /// Returns whether the machine may have sub-agents.
    pub const fn has_agents(&self) -> bool {
        let turn = match self {
            Self::Turn(turn) => turn,
            Self::Grounded(grounded) => &grounded.turn,
            Self::Research(research) => &research.turn,
        };
        !turn.children.agents.is_empty()
    }

    /// Repetitions of the same text after which a streamed answer is cut; `None` for any number.
    pub fn repeats(&self) -> Option<u32> {
        let turn = match self {
            Self::Turn(turn) => turn,
            Self::Grounded(grounded) => &grounded.turn,
            Self::Research(research) => &research.turn,
        };
        turn.stuck.as_ref().map(|policy| policy.text).filter(|rounds| *rounds > 0)
    }

    /// The configuration of its turns.
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

    fn spent(&self) -> &BudgetUsage {
        match self {
            Self::Turn(machine) => machine.spent(),
            Self::Grounded(machine) => machine.spent(),
            Self::Research(machine) => machine.spent(),
        }
    }

    /// The place of the sub-agent, if the machine is one.
    fn agent(&self) -> Option<&AgentPlace> {
        match self {
            Self::Turn(machine) => machine.agent().map(|(place, _)| place),
            Self::Grounded(_) | Self::Research(_) => None,
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
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pause: Pause,
    /// The parts of answers that the next event may end, by machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    partials: BTreeMap<u32, Response>,
    /// The notices about plans and drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    noted: Vec<Notice>,
    /// An end after the round was requested while the run was paused.
    #[serde(skip)]
    soft: bool,
}

const SHIFT: u32 = 32;
/// The size from which a history takes a while to look through, in bytes.
pub(super) const LONG: usize = 256 * 1024;
/// Notices about plans and drift that are kept.
const MOST_NOTED: usize = 1_000;

impl Tree {
    /// A tree of one machine that has not begun.
    pub fn new(config: MachineConfig) -> Self {
        let root = Member { node: Node::new(config, 0), parent: None };
        Self {
            members: vec![Some(root)],
            outcome: None,
            history: None,
            dropped: 0,
            pause: Pause::default(),
            partials: BTreeMap::new(),
            noted: Vec::new(),
            soft: false,
        }
    }

    /// The outcome of the run, once it has ended.
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

    /// The number of compactions of long histories, whose results are worth saving.
    pub fn long_compactions(&self) -> usize {
        let turns = self.members.iter().flatten().filter_map(|member| match &member.node {
            Node::Turn(machine) if machine.history().bytes() > LONG => Some(machine.compactions()),
            _ => None,
        });
        turns.sum()
    }

    /// Takes out the longest history of a turn, and returns the turn's place. Until it is given back, nothing may be
    /// stepped.
    pub(crate) fn take_history(&mut self) -> Option<(usize, History)> {
        let turns = self.members.iter().enumerate().filter_map(|(at, member)| match member.as_ref().map(|m| &m.node) {
            Some(Node::Turn(machine)) => Some((machine.history().bytes(), at)),
            _ => None,
        });
        let (_, at) = turns.max_by_key(|(bytes, at)| (*bytes, std::cmp::Reverse(*at)))?;
        let machine = self.turn_at(at)?;
        machine.rest_window();
        let history = machine.change_history(History::new());
        Some((at, history))
    }

    /// Gives a turn its history back; false if there is no such turn.
    pub(crate) fn give_back_history(&mut self, at: usize, history: History) -> bool {
        let Some(machine) = self.turn_at(at) else { return false };
        machine.change_history(history);
        machine.unrest_window();
        true
    }

    /// Swaps a turn's records of its calls and requests with others; false if there is no such turn.
    pub(crate) fn swap_records(
        &mut self,
        at: usize,
        calls: &mut Vec<CallRecord>,
        iterations: &mut Vec<IterationRecord>,
    ) -> bool {
        let Some(machine) = self.turn_at(at) else { return false };
        machine.swap_records(calls, iterations);
        true
    }

    fn turn_at(&mut self, at: usize) -> Option<&mut TurnMachine> {
        match self.members.get_mut(at)?.as_mut().map(|member| &mut member.node) {
            Some(Node::Turn(machine)) => Some(machine),
            _ => None,
        }
    }

    /// Returns whether the next step may take longer than a millisecond: a long history is counted or compacted in it.
    pub fn may_take_long(&self) -> bool {
        self.members.iter().flatten().any(|member| match &member.node {
            Node::Turn(machine) => machine.may_compact(),
            node => node.history().bytes() > LONG,
        })
    }

    /// The number of answers that came for nobody.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The state of the run as a whole.
    pub const fn state(&self) -> RunState {
        if self.outcome.is_some() { RunState::Done } else { self.pause.state() }
    }

    /// The notices about plans (`intent_assessed`) and drift (`goal_drifted`), in order.
    pub fn noted(&self) -> &[Notice] {
        &self.noted
    }

    /// The sub-agent that gave the command of that number; `None` where the run's own machine did.
    pub fn agent_of(&self, command: Id) -> Option<&AgentPlace> {
        let mut at = (command >> SHIFT) as u32;
        loop {
            let member = self.members.get(at as usize)?.as_ref()?;
            if let Some(place) = member.node.agent() {
                return Some(place);
            }
            // What a sub-agent's machine has started is the sub-agent's.
            at = member.parent?.0;
        }
    }

    /// What the guard of the turn that gave the command of that number goes by, and what is known of a tool there.
    pub fn guard_of(&self, command: Id, tool: &str) -> Option<(&GuardConfig, Declared)> {
        let member = self.members.get((command >> SHIFT) as usize)?.as_ref()?;
        if let Node::Turn(turn) = &member.node { turn.guard_of(tool) } else { None }
    }

    /// Returns whether a call of the command of that number may name paths, as far as is known.
    pub fn names_paths(&self, command: Id, call_id: &str) -> bool {
        let member = self.members.get((command >> SHIFT) as usize).and_then(Option::as_ref);
        !matches!(member, Some(Member { node: Node::Turn(turn), .. }) if !turn.names_paths(call_id))
    }

    /// Returns whether a person has changed the arguments of a call of the command of that number.
    pub fn is_edited(&self, command: Id, call_id: &str) -> bool {
        let member = self.members.get((command >> SHIFT) as usize).and_then(Option::as_ref);
        matches!(member, Some(Member { node: Node::Turn(turn), .. }) if turn.is_edited(call_id))
    }

    /// The configuration of a tool that is asked for before each request, as told to the turn that gave the command.
    pub fn tool_of(&self, command: Id, name: &str) -> Option<&ToolConfig> {
        let member = self.members.get((command >> SHIFT) as usize)?.as_ref()?;
        if let Node::Turn(turn) = &member.node { turn.tool_of(name) } else { None }
    }

    /// Returns whether a turn waits for the answer of its model to the command of that number.
    pub fn asks(&self, command: Id) -> bool {
        let member = self.members.get((command >> SHIFT) as usize).and_then(Option::as_ref);
        matches!(member, Some(Member { node: Node::Turn(turn), .. }) if turn.asks(command))
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
                            let partial = partial.or_else(|| self.partials.remove(&child).map(Box::new));
                            queue.push_back((child, interrupt(now, how, partial)));
                        }
                    }
                    Command::Emit { notice } => {
                        if matches!(notice, Notice::IntentAssessed { .. } | Notice::GoalDrifted { .. })
                            && self.noted.len() < MOST_NOTED
                        {
                            self.noted.push(notice.clone());
                        }
                        let place = self.agent_of(Id::from(at) << SHIFT);
                        let notice = match place {
                            Some(AgentPlace { name, path, .. }) => {
                                Notice::Child { agent: name.clone(), path: path.clone(), told: Box::new(notice) }
                            }
                            None => notice,
                        };
                        out.push(Command::Emit { notice });
                    }
                    Command::Hook { id, stage, round, subject, mut spent } => {
                        // Hooks are the run's: what they see as used is what all of it has used.
                        self.add_others(at, &mut spent);
                        out.push(Command::Hook { id, stage, round, subject, spent });
                    }
                    other => out.push(other),
                }
            }
        }
    }

    /// Adds the usage of the other machines that are alive.
    fn add_others(&self, at: u32, spent: &mut BudgetUsage) {
        for (place, member) in self.members.iter().enumerate() {
            if let Some(member) = member.as_ref().filter(|_| place != at as usize) {
                spent.add_child(member.node.spent());
            }
        }
    }

    /// Tells the turns that the run pauses or goes on: they suspend their work in the background, and resume it.
    fn tell_turns(&mut self, kind: &EventKind, at: Time, out: &mut Vec<Command>) {
        let at = self.pause.own(at);
        let turns = self.members.iter().enumerate();
        let turns = turns.filter(|(_, member)| matches!(member, Some(Member { node: Node::Turn(_), .. })));
        let turns: Vec<u32> = turns.map(|(place, _)| place as u32).collect();
        let mut commands = Vec::new();
        for turn in turns {
            self.step_member(turn, Event { at, kind: kind.clone() }, &mut commands);
        }
        self.pause.pass(commands, out);
    }

    /// Feeds the machines, whose commands pass the gate.
    fn deliver(&mut self, event: Event, out: &mut Vec<Command>) {
        let id = match &event.kind {
            EventKind::Delta { id, .. }
            | EventKind::Executed { id, .. }
            | EventKind::Asked { id, .. }
            | EventKind::Elsewhere { id, .. } => *id,
            other => other.answers().unwrap_or_default(),
        };
        let mut commands = Vec::new();
        self.step_member((id >> SHIFT) as u32, event, &mut commands);
        self.pause.pass(commands, out);
    }

    /// Settles the pause after a request or an end: the moment from which on nothing is in flight.
    fn settle(&mut self, at: Time, out: &mut Vec<Command>) {
        if self.outcome.is_some() {
            if self.pause.state() != RunState::Done {
                self.pause.end();
            }
        } else if self.pause.settle(at) {
            let notice = Notice::Paused { waiting: self.waiting() };
            out.push(Command::Emit { notice });
        }
    }

    /// Handles a request to end after the round. A paused run is between two rounds.
    fn end_paused(&mut self, event: Event, out: &mut Vec<Command>) {
        let at = event.at;
        self.soft = true;
        self.deliver(event, out);
        if self.outcome.is_none() {
            self.deliver(interrupt(at, Interrupt::Cancel, None), out);
        }
        self.soft = false;
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
            if self.soft && outcome.stop == Stop::Cancelled {
                outcome.stop = Stop::UserInterrupt;
            }
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
        let (mut out, at) = (Vec::new(), event.at);
        match event.kind {
            EventKind::Child { .. } => {
                let error = Error::usage("internal_event", "`child` events are made by the tree, not by drivers")
                    .hint("feed the answers to commands alone");
                return vec![Command::Refuse { error }];
            }
            EventKind::Partials { answers } => {
                self.partials = answers.into_iter().map(|(id, answer)| ((id >> SHIFT) as u32, answer)).collect();
                return out;
            }
            EventKind::Pause if self.outcome.is_none() => {
                if self.pause.pause() {
                    self.tell_turns(&EventKind::Pause, at, &mut out);
                }
            }
            EventKind::Resume if self.outcome.is_none() => match self.pause.resume(at) {
                Some(commands) => {
                    out = commands;
                    self.tell_turns(&EventKind::Resume, at, &mut out);
                }
                None => self.dropped += 1,
            },
            EventKind::Pause | EventKind::Resume => self.dropped += 1,
            kind => match self.pause.incoming(Event { at, kind }) {
                GateResult::Keep(commands) => out = commands,
                GateResult::Deliver(event)
                    if self.pause.state() == RunState::Paused
                        && matches!(event.kind, EventKind::Interrupt { how: Interrupt::AfterRound, .. }) =>
                {
                    self.end_paused(event, &mut out);
                }
                GateResult::Deliver(event) => self.deliver(event, &mut out),
            },
        }
        self.partials.clear();
        self.settle(at, &mut out);
        out
    }

    fn waiting(&self) -> Vec<String> {
        let paused = (self.state() == RunState::Paused).then(|| "somebody to resume the run".to_owned());
        let members = self.members.iter().flatten().flat_map(|member| member.node.view().waiting());
        paused.into_iter().chain(members).collect()
    }

    fn is_finished(&self) -> bool {
        self.outcome.is_some()
    }
}
