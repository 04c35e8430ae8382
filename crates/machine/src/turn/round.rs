//! One round of tool calls: which may run at once, which need a person, and their results in call order.
//!
//! Neighbouring calls of read-only tools run at once; every other call runs alone, in its place. A call at or above
//! `confirm` runs only after an allow that names its id and its arguments' hash and has not lapsed; anything else is
//! a deny.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    TurnMachine,
    calls::flatten_result,
    emit,
    gate::{asked_first, forbidden, is_asked_first, judged_notice},
    question::Question,
    searches::is_search,
    text,
};
use crate::{ApprovalDecision, Call, Command, Id, Notice, Time, arguments_hash};
use loopwright_base::{
    breaker::Verdict,
    json::{DEEPEST_TREE, Raw, nested_deeper, unfit},
    message::{Block, ToolFailure, ToolResult, ToolUse},
    text::clip,
};
use loopwright_guard::{DecidedBy, Judgement, RiskLevel, policy::Verdict as Ruled};
use loopwright_wire::searches::query_of;

/// A call of the round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) call: ToolUse,
    /// What the guard said of it.
    pub(super) judged: Judgement,
    /// The call that was judged.
    pub(super) hash: String,
    /// A person has changed its arguments.
    pub(super) edited: bool,
    /// The command that runs it.
    pub(super) running: Option<Id>,
    pub(super) allowed: bool,
    pub(super) since: Option<Time>,
    pub(super) duration: f64,
    pub(super) result: Option<ToolResult>,
    /// The sub-agent that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) child: Option<String>,
    /// It was decided whether the model may see its result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) settled: bool,
    /// Where it stands with its hooks.
    #[serde(default, skip_serializing_if = "Hooking::is_idle")]
    pub(super) hooking: Hooking,
}

/// Where a call stands with its hooks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hooking {
    /// None were asked.
    #[default]
    Idle,
    /// Those before it are under way.
    Before(Id),
    /// They have answered; the one named has changed the arguments.
    Passed(Option<String>),
    /// It ran; those after it are about to be asked.
    Ran(Box<ToolResult>),
    /// Those after it are under way.
    After(Id, Box<ToolResult>),
}

impl Hooking {
    const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// The command that is under way.
    pub(super) const fn open(&self) -> Option<Id> {
        match self {
            Self::Before(id) | Self::After(id, _) => Some(*id),
            Self::Idle | Self::Passed(_) | Self::Ran(_) => None,
        }
    }
}

impl Pending {
    /// Whether a sub-agent is at work for it.
    pub(super) const fn runs_child(&self) -> bool {
        self.child.is_some()
            && self.running.is_some()
            && self.result.is_none()
            && !matches!(self.hooking, Hooking::Ran(_) | Hooking::After(..))
    }

    pub(super) fn is_forbidden(&self) -> bool {
        self.judged.verdict == Ruled::Forbid
    }

    /// Whether it may run without a question.
    fn is_free(&self) -> bool {
        self.judged.verdict == Ruled::Allow
    }
}

/// One round of tool calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) calls: Vec<Pending>,
    /// Places of the calls in the order of their ids, to find one without looking at all.
    by_id: Vec<usize>,
    /// All calls before this one have their results.
    next: usize,
    /// Calls without a result.
    open: usize,
    /// Of those: calls that run.
    pub(super) running: usize,
    pub(super) question: Option<Question>,
    /// A person ended the run.
    pub(super) aborted: bool,
    /// A call needed a person, and the budget has no more questions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unasked: bool,
    limits: Vec<Option<usize>>,
    /// Hooks that are under way, and their calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) hooks: BTreeMap<Id, usize>,
}

impl Round {
    pub(super) fn new(
        calls: Vec<ToolUse>,
        given: Vec<Option<ToolResult>>,
        broken: Vec<Option<ToolFailure>>,
        judged: Vec<Judgement>,
        turn: &TurnMachine,
    ) -> Self {
        let limits = calls.iter().map(|call| turn.config.tool(&call.name).and_then(|tool| tool.max_output)).collect();
        let calls: Vec<Pending> = calls
            .into_iter()
            .zip(given)
            .zip(broken)
            .zip(judged)
            .map(|(((call, given), broken), judged)| {
                let failed = |failure| ToolResult::failed(&call.id, &call.name, failure);
                let refused = || (judged.verdict == Ruled::Forbid).then(|| forbidden(&judged));
                let result = broken.map(failed).or(given).or_else(|| turn.config.made_before(&turn.history, &call));
                let result = result.or_else(|| unknown_tool(&call, turn).or_else(refused).map(failed));
                Pending {
                    hash: arguments_hash(&call),
                    call,
                    judged,
                    edited: false,
                    running: None,
                    allowed: false,
                    since: None,
                    duration: 0.0,
                    result,
                    child: None,
                    settled: false,
                    hooking: Hooking::Idle,
                }
            })
            .collect();
        let mut by_id: Vec<usize> = (0..calls.len()).collect();
        by_id.sort_by(|a, b| calls[*a].call.id.cmp(&calls[*b].call.id));
        let open = calls.iter().filter(|pending| pending.result.is_none()).count();
        Self {
            calls,
            by_id,
            next: 0,
            open,
            running: 0,
            question: None,
            aborted: false,
            unasked: false,
            limits,
            hooks: BTreeMap::new(),
        }
    }

    /// Calls that the machine answered itself are told of like others.
    pub(super) fn tell_answered(&self, turn: &TurnMachine, out: &mut Vec<Command>) {
        let recalls = |name: &str| turn.offers_recall() && name == turn.recall_name();
        let round = turn.round();
        for Pending { call, result, .. } in &self.calls {
            if !recalls(&call.name) && !turn.is_finder(&call.name) {
                continue;
            }
            let Some(result) = result else { continue };
            let (id, name) = (call.id.clone(), call.name.clone());
            emit(
                out,
                Notice::ToolStarted { call_id: id.clone(), name: name.clone(), arguments: call.input.value(), round },
            );
            let excerpt = clip(&result.prose(), 200);
            emit(
                out,
                Notice::ToolFinished { call_id: id, name, round, is_error: result.is_error, excerpt, duration: 0.0 },
            );
        }
    }

    /// Characters that a call may give.
    pub(super) fn most_output(&self, at: usize) -> Option<usize> {
        self.limits.get(at).copied().flatten()
    }

    pub(super) const fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Whether a person is asked.
    pub(super) const fn asks(&self) -> bool {
        self.question.is_some()
    }

    /// Gives a call its one result.
    pub(super) fn close(&mut self, at: usize, result: ToolResult) {
        let Some(pending) = self.calls.get_mut(at) else { return };
        if pending.result.replace(result).is_none() {
            self.open = self.open.saturating_sub(1);
            self.running = self.running.saturating_sub(usize::from(pending.running.is_some()));
        }
    }

    pub(super) fn fail(&mut self, at: usize, failure: ToolFailure) {
        let Some(call) = self.calls.get(at).map(|pending| &pending.call) else { return };
        let result = ToolResult::failed(&call.id, &call.name, failure);
        self.close(at, result);
    }

    /// The first call without a result.
    fn first_open(&mut self) -> Option<usize> {
        while self.calls.get(self.next)?.result.is_some() {
            self.next += 1;
        }
        Some(self.next)
    }

    /// Starts what can be started.
    pub(super) fn advance(&mut self, turn: &mut TurnMachine, out: &mut Vec<Command>) {
        if self.aborted {
            self.close_unstarted("the run was ended by the person who was asked", out);
        } else if turn.core.interrupted || turn.desk.sanity.stop.is_some() {
            self.close_unstarted("the run was stopped before this call", out);
        } else if turn.hooks.halted.is_some() {
            self.close_unstarted("the run was stopped by a hook before this call", out);
        }
        if self.question.is_some() || self.running > 0 || !self.hooks.is_empty() {
            return;
        }
        while let Some(first) = self.first_open() {
            let group = self.group(first, turn);
            if self.hook_before(&group, turn, out) {
                return;
            }
            let at_once = group.len() > 1 || self.is_free(first, turn);
            if !at_once && !self.calls[first].is_free() && !self.calls[first].allowed {
                if self.ask(first, turn, out) {
                    return;
                }
                continue;
            }
            if self.start(&group, at_once, turn, out) {
                return;
            }
        }
    }

    /// No call starts any more: an open question is taken back, calls that do not run get a result that says why.
    fn close_unstarted(&mut self, why: &str, out: &mut Vec<Command>) {
        self.take_back_question(out);
        if self.open == self.running {
            return;
        }
        for at in self.next..self.calls.len() {
            let pending = &self.calls[at];
            if pending.result.is_none() && pending.running.is_none() {
                let (open, result) = (pending.hooking.open(), super::calls::not_run(&pending.call, why));
                self.take_back_hook(open, out);
                self.close(at, result);
            }
        }
    }

    /// The answer of hooks that are under way is of no use any more.
    fn take_back_hook(&mut self, open: Option<Id>, out: &mut Vec<Command>) {
        if let Some(id) = open
            && self.hooks.remove(&id).is_some()
        {
            out.push(Command::Abort { id });
        }
    }

    fn take_back_question(&mut self, out: &mut Vec<Command>) {
        if let Some(question) = self.question.take() {
            question.take_back(out);
        }
    }

    /// Whether the call may run beside others.
    fn is_free(&self, at: usize, turn: &TurnMachine) -> bool {
        let pending = &self.calls[at];
        pending.is_free() && turn.config.tool(&pending.call.name).is_some_and(|tool| tool.read_only)
    }

    /// The calls that start together with `first`.
    fn group(&self, first: usize, turn: &TurnMachine) -> Vec<usize> {
        if self.calls.get(first).is_some_and(|pending| turn.children.is_spawn(&pending.call.name)) {
            return self.spawns(first, turn);
        }
        if !self.is_free(first, turn) {
            return vec![first];
        }
        (first..self.calls.len())
            .take_while(|at| self.calls[*at].result.is_some() || self.is_free(*at, turn))
            .filter(|at| self.calls[*at].result.is_none())
            .collect()
    }

    /// Runs a group; false if every call of it was answered at once (its tool's breaker is open).
    fn start(&mut self, group: &[usize], parallel: bool, turn: &mut TurnMachine, out: &mut Vec<Command>) -> bool {
        let spawn = |at: &usize| self.calls.get(*at).is_some_and(|pending| turn.children.is_spawn(&pending.call.name));
        if group.iter().any(spawn) {
            return self.start_children(group, turn, out);
        }
        let now = turn.core.now;
        let mut started = Vec::with_capacity(group.len());
        for at in group.iter().copied() {
            let pending = &self.calls[at];
            if pending.hash != arguments_hash(&pending.call) {
                self.fail(at, denied("it is not the call that was judged"));
                continue;
            }
            let breaker = turn.tools.breakers.get_mut(&pending.call.name);
            if let Some(Verdict::Open { retry_after }) = breaker.map(|breaker| breaker.check(now.seconds())) {
                let failure = ToolFailure {
                    kind: "unavailable".into(),
                    message: format!("the tool {:?} failed three times in a row and is left alone", pending.call.name),
                    hint: Some(format!("do without it, or try again in {retry_after:.0} s")),
                };
                self.fail(at, failure);
            } else {
                started.push(at);
            }
        }
        if started.is_empty() {
            return false;
        }
        if !parallel {
            out.push(Command::Persist);
        }
        let id = turn.core.id();
        let round = turn.round();
        let mut calls = Vec::with_capacity(started.len());
        for at in started {
            let pending = &mut self.calls[at];
            pending.running = Some(id);
            self.running += 1;
            pending.since = Some(now);
            let call = &pending.call;
            emit(
                out,
                Notice::ToolStarted {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: call.input.value(),
                    round,
                },
            );
            if is_search(&call.name) {
                turn.searches(out).1.began(call.id.clone(), query_of(&call.input));
            }
            let timeout = turn.config.tool(&call.name).and_then(|tool| tool.timeout);
            calls.push(Call { tool_use: call.clone(), timeout, round });
        }
        out.push(Command::Execute { id, calls, parallel });
        true
    }

    /// Asks a person about a call; false if there is nobody left to ask.
    fn ask(&mut self, at: usize, turn: &mut TurnMachine, out: &mut Vec<Command>) -> bool {
        let pending = &self.calls[at];
        let risk = pending.judged.risk;
        if turn.core.spent.approvals >= turn.config.budget.approvals {
            self.unasked = true;
            self.fail(at, denied("the budget of approvals is used up"));
            return false;
        }
        turn.core.spent.approvals += 1;
        let (id, timer) = (turn.core.id(), turn.core.id());
        let expires = turn.core.now.after(turn.config.approval_timeout);
        let hash = pending.hash.clone();
        let call = pending.call.clone();
        let why = pending.judged.why.clone();
        let judged = turn.config.guard.is_some().then(|| Box::new(pending.judged.clone()));
        emit(out, Notice::ApprovalAsked { call_id: call.id.clone(), name: call.name.clone(), risk, expires });
        out.push(Command::Timer { id: timer, at: expires });
        out.push(Command::Approve { id, call, hash: hash.clone(), risk, why, expires, judged });
        self.question = Some(Question { id, timer, call: at, hash, expires, risk });
        true
    }

    /// A person decided; false if nobody asked.
    pub(super) fn decided(
        &mut self,
        id: Id,
        hash: &str,
        decision: ApprovalDecision,
        turn: &mut TurnMachine,
        out: &mut Vec<Command>,
    ) -> bool {
        let now = turn.core.now;
        let Some(question) = self.question.take_if(|question| question.id == id) else { return false };
        question.stop_timer(out);
        let mut remembered = None;
        let yes = !matches!(decision, ApprovalDecision::Deny { .. } | ApprovalDecision::Abort);
        let refused = match decision {
            _ if yes && question.hash != hash => {
                Some("the decision does not name the arguments of this call".to_owned())
            }
            _ if yes && now > question.expires => Some("the decision came too late".to_owned()),
            ApprovalDecision::Allow => None,
            ApprovalDecision::Remembered { .. } if self.always_asks(question.call) => {
                Some("a decision about such a call is never kept".to_owned())
            }
            ApprovalDecision::Remembered { what } => {
                turn.core.spent.approvals = turn.core.spent.approvals.saturating_sub(1);
                remembered = Some(what);
                None
            }
            ApprovalDecision::Edit { input } if nested_deeper(input.text(), DEEPEST_TREE) => {
                Some(format!("the changed arguments are nested deeper than {DEEPEST_TREE}"))
            }
            ApprovalDecision::Edit { input } if unfit(input.text()).is_some() => {
                unfit(input.text()).map(|what| format!("the changed arguments {what}"))
            }
            ApprovalDecision::Edit { input } if input.is_object() => {
                self.edit(question.call, input, turn, out);
                return true;
            }
            ApprovalDecision::Edit { .. } => Some("the changed arguments are no JSON object".to_owned()),
            ApprovalDecision::Deny { reason } => Some(reason),
            ApprovalDecision::Abort => {
                self.aborted = true;
                Some("the person ended the run".to_owned())
            }
        };
        if let (None, Some(pending)) = (&refused, self.calls.get(question.call)) {
            turn.origins.agree(&turn.config, &turn.history, &pending.call);
        }
        self.settle(question.call, refused, remembered, out);
        true
    }

    /// Whether a yes counts for one call alone.
    fn always_asks(&self, at: usize) -> bool {
        let judged = self.calls.get(at).map(|pending| &pending.judged);
        judged
            .is_none_or(|judged| judged.risk >= RiskLevel::Dangerous || judged.secret || judged.by == DecidedBy::Origin)
    }

    /// The call has other arguments: it is another call now, judged anew; nobody has said yes to it.
    pub(super) fn change(&mut self, at: usize, input: Raw, turn: &mut TurnMachine) {
        let Some(pending) = self.calls.get_mut(at) else { return };
        pending.call.input = input;
        pending.allowed = false;
        pending.hash = arguments_hash(&pending.call);
        pending.judged = turn.judge(&pending.call);
    }

    /// A person has changed the arguments.
    fn edit(&mut self, at: usize, input: Raw, turn: &mut TurnMachine, out: &mut Vec<Command>) {
        let asks = self.calls.get(at).is_some_and(|pending| is_asked_first(&pending.judged));
        self.change(at, input, turn);
        let Some(pending) = self.calls.get_mut(at) else { return };
        pending.edited = true;
        if asks && !is_asked_first(&pending.judged) {
            // Nobody has said that the changed call needs no person.
            asked_first(&mut pending.judged, "the call that was changed was for a person to decide");
        }
        let reason = "the person has changed the arguments".to_owned();
        emit(out, Notice::ApprovalDecided { call_id: pending.call.id.clone(), allowed: false, reason });
        emit(out, judged_notice(&pending.call, &pending.judged));
        if pending.is_forbidden() {
            let failure = forbidden(&pending.judged);
            self.fail(at, failure);
        }
    }

    /// The time for an answer is over; false if the timer is not that of the question.
    pub(super) fn lapsed(&mut self, timer: Id, out: &mut Vec<Command>) -> bool {
        let Some(question) = self.question.take_if(|question| question.lapses_with(timer)) else { return false };
        out.push(Command::Abort { id: question.id });
        self.settle(question.call, Some("nobody answered in time".to_owned()), None, out);
        true
    }

    fn settle(&mut self, at: usize, refused: Option<String>, remembered: Option<String>, out: &mut Vec<Command>) {
        let Some(pending) = self.calls.get_mut(at) else { return };
        let (allowed, reason) = (refused.is_none(), refused.clone().or(remembered).unwrap_or_default());
        emit(out, Notice::ApprovalDecided { call_id: pending.call.id.clone(), allowed, reason });
        match refused {
            None => pending.allowed = true,
            Some(reason) => self.fail(at, denied(&reason)),
        }
    }

    /// The place of the call of that id.
    fn place(&self, call_id: &str) -> Option<usize> {
        let id = |at: &usize| self.calls.get(*at).map(|pending| pending.call.id.as_str());
        let place = self.by_id.binary_search_by(|at| id(at).cmp(&Some(call_id)));
        self.by_id.get(place.ok()?).copied()
    }

    /// The call of that id.
    pub(super) fn pending(&self, call_id: &str) -> Option<&Pending> {
        self.calls.get(self.place(call_id)?)
    }

    /// Takes the result of a call that runs; gives its place. With `held`, the call keeps it until hooks have seen it.
    pub(super) fn executed(&mut self, id: Id, mut result: ToolResult, now: Time, held: bool) -> Option<usize> {
        let at = self.place(&result.id)?;
        let pending = self.calls.get_mut(at)?;
        let ran = matches!(pending.hooking, Hooking::Ran(_) | Hooking::After(..));
        if pending.running != Some(id) || pending.result.is_some() || ran {
            return None;
        }
        result.name.clone_from(&pending.call.name);
        flatten_result(&mut result);
        text::limit_result(&mut result, self.limits.get(at).copied().flatten());
        pending.duration = pending.since.map_or(0.0, |since| now.since(since));
        if pending.edited {
            let changed = clip(pending.call.input.text(), 2_000);
            let note = format!("[Before this call ran, the person changed its arguments to {changed}]");
            result.content.insert(0, Block::text(note));
        } else if let Hooking::Passed(Some(hook)) = &pending.hooking {
            let changed = clip(pending.call.input.text(), 2_000);
            let note = format!("[Before this call ran, the hook {hook} changed its arguments to {changed}]");
            result.content.insert(0, Block::text(note));
        }
        if held {
            pending.hooking = Hooking::Ran(Box::new(result));
        } else {
            self.close(at, result);
        }
        Some(at)
    }

    /// Stops what runs; calls without a result get one that says why.
    pub(super) fn abort(&mut self, why: &str, now: Time, out: &mut Vec<Command>) {
        self.take_back_question(out);
        let mut aborted = None;
        for at in self.next..self.calls.len() {
            let pending = &mut self.calls[at];
            // A child tells itself how far it has come.
            if pending.result.is_some() || pending.runs_child() {
                continue;
            }
            let open = pending.hooking.open();
            if let Hooking::Ran(result) | Hooking::After(_, result) = std::mem::take(&mut pending.hooking) {
                // It is done; only its hooks are not.
                self.take_back_hook(open, out);
                self.close(at, *result);
                continue;
            }
            self.take_back_hook(open, out);
            let pending = &mut self.calls[at];
            let (kind, message) = match pending.running {
                Some(id) => {
                    if aborted != Some(id) {
                        aborted = Some(id);
                        out.push(Command::Abort { id });
                    }
                    pending.duration = pending.since.map_or(0.0, |since| now.since(since));
                    ("cancelled", format!("{why} while this call ran; it may have taken effect"))
                }
                None => ("not_run", why.to_owned()),
            };
            self.fail(at, ToolFailure { kind: kind.into(), message, hint: None });
        }
    }

    pub(super) fn waiting(&self) -> Vec<String> {
        let running = self.calls.iter().filter(|pending| pending.running.is_some() && pending.result.is_none());
        let question = self.question.iter().filter_map(|question| self.calls.get(question.call));
        running
            .map(|pending| format!("the tool {}", pending.call.name))
            .chain(question.map(|pending| format!("a decision about {}", pending.call.name)))
            .chain(
                self.hooks
                    .values()
                    .filter_map(|at| self.calls.get(*at))
                    .map(|pending| format!("the hooks of the tool {}", pending.call.name)),
            )
            .collect()
    }
}

/// Why a decision about a result is a no; `None` for a yes.
pub(super) fn denied_reason(decision: ApprovalDecision) -> Option<String> {
    match decision {
        ApprovalDecision::Allow => None,
        ApprovalDecision::Remembered { .. } => Some("a decision about a result is never kept".to_owned()),
        ApprovalDecision::Edit { .. } => Some("a result can't be changed".to_owned()),
        ApprovalDecision::Deny { reason } => Some(reason),
        ApprovalDecision::Abort => Some("the person ended the run".to_owned()),
    }
}

fn denied(reason: &str) -> ToolFailure {
    ToolFailure {
        kind: "denied".into(),
        message: format!("the call was not allowed: {reason}"),
        hint: Some("do not try the same call again; find another way, or explain what is needed".into()),
    }
}

fn unknown_tool(call: &ToolUse, turn: &TurnMachine) -> Option<ToolFailure> {
    if turn.config.tool(&call.name).is_some() {
        return None;
    }
    if let Some(failure) = turn.not_offered(&call.name) {
        return Some(failure);
    }
    let names = turn.shown_tools().map(|tool| tool.name.as_str());
    let names: Vec<&str> = names.chain(turn.offers_recall().then(|| turn.recall_name())).collect();
    let hint = if names.is_empty() {
        "there are no tools".into()
    } else {
        clip(&format!("the tools are: {}", names.join(", ")), 1_000)
    };
    let message = format!("there is no tool named {:?}", clip(&call.name, 100));
    Some(ToolFailure { kind: "unknown_tool".into(), message, hint: Some(hint) })
}
