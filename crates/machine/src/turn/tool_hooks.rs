//! Hooks around the calls of a round: before a call runs and anybody is asked about it, and before anybody sees what it
//! gave.
//!
//! The calls that would start together ask their hooks together. Arguments that a hook has changed are judged like any
//! others; the result that a hook puts in a result's place is bounded like any other.

use super::{
    TurnMachine,
    calls::flatten_result,
    emit,
    gate::{asked_first, forbidden, judged_notice},
    round::{Hooking, Round},
    text,
};
use crate::{
    Command, HookReply, HookStage, HookSubject, Id, Stop,
    hook::{vetoed_call, withheld_result},
};
use loopwright_base::message::ToolResult;

impl Round {
    /// Asks the hooks before these calls that have not been asked; false if there are none to ask.
    pub(super) fn hook_before(&mut self, group: &[usize], turn: &mut TurnMachine, out: &mut Vec<Command>) -> bool {
        if !turn.hooked(HookStage::PreTool) {
            return false;
        }
        for at in group.iter().copied() {
            let Some(pending) = self.calls.get_mut(at) else { continue };
            if pending.result.is_some() || pending.hooking != Hooking::Idle {
                continue;
            }
            let id = turn.hook(HookStage::PreTool, HookSubject::Call { call: pending.call.clone() }, out);
            pending.hooking = Hooking::Before(id);
            self.hooks.insert(id, at);
        }
        !self.hooks.is_empty()
    }

    /// The hooks before a call have answered.
    fn hooked_before(&mut self, at: usize, replies: Vec<HookReply>, turn: &mut TurnMachine, out: &mut Vec<Command>) {
        let Some(pending) = self.calls.get_mut(at) else { return };
        let mut subject = HookSubject::Call { call: pending.call.clone() };
        let heard = turn.hear(HookStage::PreTool, Some(&mut subject), replies, out);
        turn.hooks.added.extend(heard.added);
        if let Some((hook, error)) = heard.failed {
            self.fail(at, vetoed_call(&hook, "the hook failed"));
            turn.hooks.halted = Some(Stop::HookFailed);
            turn.outcome.error = Some(error);
            return;
        }
        if let Some((hook, reason)) = heard.veto {
            self.fail(at, vetoed_call(&hook, &reason));
            return;
        }
        let changed = match subject {
            HookSubject::Call { call } if heard.replaced.is_some() && call.input != pending.call.input => {
                Some(call.input)
            }
            _ => None,
        };
        pending.hooking = Hooking::Passed(heard.replaced.filter(|_| changed.is_some()));
        if changed.is_none() && heard.asks.is_none() {
            return;
        }
        if let Some(input) = changed {
            self.change(at, input, turn);
        }
        let Some(pending) = self.calls.get_mut(at) else { return };
        if let Some(reason) = &heard.asks {
            asked_first(&mut pending.judged, reason);
        }
        if turn.config.guard.is_some() {
            emit(out, judged_notice(&pending.call, &pending.judged));
        }
        if pending.is_forbidden() {
            let failure = forbidden(&pending.judged);
            self.fail(at, failure);
        }
    }

    /// The hooks after a call have answered: it has its result.
    fn hooked_after(&mut self, at: usize, replies: Vec<HookReply>, turn: &mut TurnMachine, out: &mut Vec<Command>) {
        let most = self.most_output(at);
        let Some(pending) = self.calls.get_mut(at) else { return };
        let Hooking::After(_, result) = std::mem::take(&mut pending.hooking) else { return };
        let call = pending.call.clone();
        let mut subject = HookSubject::Result { call, result: *result };
        let heard = turn.hear(HookStage::PostTool, Some(&mut subject), replies, out);
        turn.hooks.added.extend(heard.added);
        let HookSubject::Result { call, mut result } = subject else { return };
        if let Some((hook, error)) = heard.failed {
            result = ToolResult::failed(&call.id, &call.name, withheld_result(&hook, "the hook failed"));
            turn.hooks.halted = Some(Stop::HookFailed);
            turn.outcome.error = Some(error);
        } else if let Some((hook, reason)) = heard.veto {
            result = ToolResult::failed(&call.id, &call.name, withheld_result(&hook, &reason));
        } else if heard.replaced.is_some() {
            flatten_result(&mut result);
            text::limit_result(&mut result, most);
        }
        self.close(at, result);
    }
}

impl TurnMachine {
    /// A call has run: its hooks see the result first.
    pub(super) fn hold_result(&mut self, at: usize, out: &mut Vec<Command>) {
        self.with_round(|turn, round| {
            if let Some(pending) = round.calls.get_mut(at)
                && let Hooking::Ran(result) = std::mem::take(&mut pending.hooking)
            {
                let subject = HookSubject::Result { call: pending.call.clone(), result: (*result).clone() };
                let id = turn.hook(HookStage::PostTool, subject, out);
                pending.hooking = Hooking::After(id, result);
                round.hooks.insert(id, at);
            }
        });
    }

    /// The hooks of a call have answered; false if none were asked under this number.
    pub(super) fn tool_hooked(&mut self, id: Id, replies: Vec<HookReply>, out: &mut Vec<Command>) -> bool {
        let taken = self.with_round(|turn, round| {
            let at = round.hooks.remove(&id)?;
            let after = round.calls.get(at).is_some_and(|pending| matches!(pending.hooking, Hooking::After(..)));
            if after {
                round.hooked_after(at, replies, turn, out);
            } else {
                round.hooked_before(at, replies, turn, out);
            }
            Some((at, after))
        });
        match taken.flatten() {
            Some((at, true)) => self.executed(at, out),
            Some((_, false)) => self.advance(out),
            None => return false,
        }
        true
    }
}
