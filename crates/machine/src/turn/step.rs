//! The events of a turn, each led to what waits for it.
//!
//! An answer that nothing waits for is dropped and counted; an event before the start or after the end changes
//! nothing.

use super::{
    super::{ApprovalDecision, Command, Event, EventKind, HookStage, Id, Limit, Machine, Notice, Stop},
    Phase, TurnMachine, emit, refuse,
};
use loopwright_base::{
    message::{Block, Message, Role},
    request::{Delta, Response},
};

impl Machine for TurnMachine {
    fn step(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.core.now = self.core.now.max(event.at);
        if matches!(*self.phase, Phase::Done) {
            self.drop_answer();
            return out;
        }
        self.phase.begin(&event.kind);
        self.wake_window();
        match event.kind {
            EventKind::Start { messages } => {
                if matches!(*self.phase, Phase::Idle) {
                    self.start(messages, &mut out);
                } else {
                    out.push(refuse("already_started", "the turn has already begun"));
                }
            }
            EventKind::Said { message } if !matches!(*self.phase, Phase::Idle) => self.said(message),
            EventKind::Interrupt { how, partial } => {
                if matches!(*self.phase, Phase::Idle) {
                    self.finish(Stop::Cancelled, &mut out);
                } else {
                    self.interrupt(how, partial.map(|partial| *partial), &mut out);
                }
            }
            EventKind::Pause | EventKind::Resume if matches!(*self.phase, Phase::Idle) => {}
            _ if matches!(*self.phase, Phase::Idle) => out.push(refuse("not_started", "the turn has not begun")),
            // Nothing is decided by where a request went, while nobody has seen anything of its answer, or by who works
            // for a call.
            EventKind::Delta { delta: Delta::Batch { .. }, .. } | EventKind::Elsewhere { .. } => {}
            EventKind::Delta { id, delta } => match (self.phase.asking().filter(|asking| asking.id == id), delta) {
                (Some(_), Delta::Search(search)) => {
                    let (tools, mut teller) = self.searches(&mut out);
                    tools.search_seen(search, &mut teller);
                }
                (Some(asking), _) => asking.visible = true,
                _ => self.drop_answer(),
            },
            EventKind::Generated { id, response } => match &*self.phase {
                Phase::Asking(asking) if asking.id == id => {
                    let asking = asking.clone();
                    self.generated(&asking, *response, &mut out);
                }
                _ => self.role_answered(id, &response, &mut out),
            },
            EventKind::Failed { id, failure, visible, partial } => match &*self.phase {
                Phase::Asking(asking) if asking.id == id => {
                    let asking = asking.clone();
                    self.failed(asking, failure, visible, partial.map(|partial| *partial), &mut out);
                }
                _ => self.role_failed(id, &failure, partial.map(|partial| *partial), &mut out),
            },
            EventKind::Executed { id, result } => {
                let now = self.core.now;
                let held = self.hooked(HookStage::PostTool);
                match self.phase.round().and_then(|round| round.executed(id, result, now, held)) {
                    Some(at) if held => self.hold_result(at, &mut out),
                    Some(at) => self.executed(at, &mut out),
                    None => self.drop_answer(),
                }
            }
            EventKind::Decided { id, hash, decision } => {
                self.decided(id, &hash, decision, &mut out);
            }
            EventKind::Fired { id, partial } => self.fired(id, partial.map(|partial| *partial), &mut out),
            EventKind::Child { id, outcome, messages } => self.child_ended(id, outcome, &messages, &mut out),
            EventKind::Pause => self.lay_aside(&mut out),
            EventKind::Resume => self.take_up_again(&mut out),
            EventKind::Asked { id, put, tell } => self.asked(id, put, tell, &mut out),
            EventKind::Said { .. }
            | EventKind::Found { .. }
            | EventKind::Hits { .. }
            | EventKind::Fetched { .. }
            | EventKind::Embedded { .. }
            | EventKind::Consulted { .. }
            | EventKind::Partials { .. } => self.drop_answer(),
            EventKind::Hooked { id, replies } => {
                if !self.was_hooked(id, replies, &mut out) {
                    self.drop_answer();
                }
            }
            EventKind::Chosen { id, choice, error } => {
                if !self.was_chosen(id, choice, error, &mut out) {
                    self.drop_answer();
                }
            }
            EventKind::Recalled { id, found } => self.recalled_from_memory(id, found, &mut out),
        }
        self.phase.end();
        out
    }

    fn waiting(&self) -> Vec<String> {
        match &*self.phase {
            Phase::Idle | Phase::Done => Vec::new(),
            Phase::Asking(asking) => vec![format!("the model {} (attempt {})", self.model(), asking.attempt)],
            Phase::Waiting { asking, .. } => vec![format!("the next attempt ({})", asking.attempt + 1)],
            Phase::Tools(round) => round.waiting(),
            Phase::Supervising(supervising) => supervising.waiting(),
            Phase::Checking(_) => vec!["an opinion on whether it is sane".to_owned()],
            Phase::Held(held) => vec![Self::waiting_held(held)],
            Phase::Recalling(_) => vec!["what memory knows of the prompt".to_owned()],
        }
    }

    fn is_finished(&self) -> bool {
        matches!(*self.phase, Phase::Done)
    }
}

impl TurnMachine {
    /// The person says something more: the model reads it in the next request, which it has coming.
    fn said(&mut self, mut message: Message) {
        message.role = Role::User;
        message.content.retain(|block| !matches!(block, Block::ToolUse(_) | Block::ToolResult(_)));
        self.user_spoke();
        if self.config.guard.is_some() {
            self.origins.authority.hears(&message);
        }
        self.senses.stuck.show_blocks(&message.content);
        if !message.content.is_empty() {
            self.core.said.push(message);
        }
    }

    fn decided(&mut self, id: Id, hash: &str, decision: ApprovalDecision, out: &mut Vec<Command>) {
        if matches!(*self.phase, Phase::Supervising(_)) {
            if !self.released(id, hash, decision, out) {
                self.drop_answer();
            }
            return;
        }
        if self.with_round(|turn, round| round.decided(id, hash, decision, turn, out)) == Some(true) {
            self.user_spoke();
            self.advance(out);
        } else {
            self.drop_answer();
        }
    }

    fn fired(&mut self, id: Id, partial: Option<Response>, out: &mut Vec<Command>) {
        if id == self.core.deadline {
            self.core.deadline = 0;
            if self.end_children(Stop::WallTime, "the time of the run was up", out) {
                return;
            }
            self.abort(partial, out, "the time of the run was up");
            return self.stop_at(Limit::WallTime, out);
        }
        if self.desk.times(id) {
            return self.role_late(id, out);
        }
        if matches!(*self.phase, Phase::Supervising(_)) {
            if !self.release_lapsed(id, out) {
                self.drop_answer();
            }
            return;
        }
        match &*self.phase {
            Phase::Waiting { timer, asking } if *timer == id => {
                let mut asking = asking.clone();
                if let Some(limit) = self.next_attempt_exceeds() {
                    return self.stop_at(limit, out);
                }
                asking.attempt += 1;
                asking.id = self.core.id();
                self.send(asking, out);
            }
            Phase::Tools(_) => {
                if self.phase.round().is_some_and(|round| round.lapsed(id, out)) {
                    self.advance(out);
                } else {
                    self.drop_answer();
                }
            }
            Phase::Recalling(_) => {
                if !self.recall_lapsed(id, out) {
                    self.drop_answer();
                }
            }
            _ => self.drop_answer(),
        }
    }

    /// A question waits behind another, or is put now.
    fn asked(&mut self, id: Id, put: bool, tell: bool, out: &mut Vec<Command>) {
        let timer = if put { self.core.id() } else { 0 };
        let expires = self.core.now.after(self.config.approval_timeout);
        let Some((question, calls)) = self.phase.question().filter(|(question, _)| question.id == id) else {
            return self.drop_answer();
        };
        if !put {
            return question.waits(out);
        }
        question.is_put(timer, expires, out);
        if let Some(pending) = calls.get(question.call).filter(|_| tell) {
            let (id, name) = (pending.call.id.clone(), pending.call.name.clone());
            let notice = Notice::ApprovalAsked { call_id: id, name, risk: question.risk, expires: question.expires };
            emit(out, notice);
        }
    }
}
