//! Hooks in the turn: where it holds for them, and how it goes on with what they say.
//!
//! A stage without hooks costs nothing and changes no command. While the turn holds, cancel and the end of its time
//! work as everywhere; what a hook adds is never taken for the user's words, and what it puts in a call's place is
//! judged like any other call.

use serde::{Deserialize, Serialize};

use super::{
    Asking, Decision, Phase, ToolConfig, TurnMachine,
    calls::{CallIds, legal_history},
    emit,
    table::TurnFact,
};
use crate::{
    Command, HookAnswer, HookReply, HookStage, HookSubject, Id, Notice, Stop, check_answer, hook::context_block,
};
use loopwright_base::{
    error::Error,
    message::{Block, Message, Role, StopReason, ToolFailure, ToolUse},
    request::{History, Request, Response},
    text::clip,
};
use loopwright_guard::Judgement;

/// What hooks want of the turn, until it is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HookWishes {
    /// What they have added and no request has held yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) added: Vec<Block>,
    /// The request that one has put in the place of the one that goes out, or went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Box<Request>>,
    /// The run ends when the calls that run are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) halted: Option<Stop>,
}

/// A stage whose hooks have not answered, or a question which model to use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) id: Id,
    pub(super) then: Then,
}

/// How the turn goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    /// The prompt is assessed.
    TakeUp,
    /// A model is chosen.
    Choose,
    /// Whoever was asked has chosen; the first round begins.
    Chosen,
    /// A round begins.
    Begin,
    /// The request goes out.
    Send(Asking),
    /// The answer is read.
    Read(Box<Response>),
    /// What was decided is done.
    Act(Box<Decided>),
    /// The answer is given.
    Give(Stop),
    /// The run ends.
    End(Stop),
}

impl Then {
    const fn stage(&self) -> Option<HookStage> {
        Some(match self {
            Self::TakeUp => HookStage::PreAssess,
            Self::Choose => HookStage::PostAssess,
            Self::Chosen => return None,
            Self::Begin => HookStage::PreReason,
            Self::Send(_) => HookStage::PreLlm,
            Self::Read(_) => HookStage::PostLlm,
            Self::Act(_) => HookStage::PostReason,
            Self::Give(_) => HookStage::PreOutput,
            Self::End(_) => HookStage::PostOutput,
        })
    }
}

/// A reply, and what was decided about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Decided {
    pub(super) decision: Decision,
    pub(super) calls: Vec<ToolUse>,
    pub(super) broken: Vec<Option<ToolFailure>>,
    pub(super) judged: Vec<Judgement>,
    pub(super) stop: StopReason,
    pub(super) prose: String,
}

/// What the hooks of a stage said, all together.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Whether the subject is another one now.
    pub(super) replaced: Option<String>,
    /// Who said no, and why.
    pub(super) veto: Option<(String, String)>,
    /// What must not have failed.
    pub(super) failed: Option<(String, Error)>,
    /// Words for the model.
    pub(super) added: Vec<Block>,
    /// Why a person is asked.
    pub(super) asks: Option<String>,
    /// The tools that are offered now.
    pub(super) offered: Option<Vec<ToolConfig>>,
}

/// Characters of a reason that are told.
const TOLD: usize = 500;

impl TurnMachine {
    /// Whether the stage has hooks.
    pub(super) fn hooked(&self, stage: HookStage) -> bool {
        self.config.hooks.contains(&stage)
    }

    /// The command that runs the hooks of a stage.
    pub(super) fn hook(&mut self, stage: HookStage, subject: HookSubject, out: &mut Vec<Command>) -> Id {
        let id = self.core.id();
        let (round, spent) = (self.round(), Box::new(self.core.spent.clone()));
        out.push(Command::Hook { id, stage, round, subject: Box::new(subject), spent });
        id
    }

    /// Holds until the hooks of a stage have answered.
    fn hold(&mut self, then: Then, subject: HookSubject, out: &mut Vec<Command>) {
        let Some(stage) = then.stage() else { return };
        let id = self.hook(stage, subject, out);
        self.enter(TurnFact::HooksAsked, Phase::Held(Box::new(Held { id, then })), out);
    }

    /// The run begins: its prompt is taken up.
    pub(super) fn begin(&mut self, out: &mut Vec<Command>) {
        match self.history.last() {
            Some(message) if self.hooked(HookStage::PreAssess) => {
                let message = message.clone();
                self.hold(Then::TakeUp, HookSubject::Prompt { message }, out);
            }
            _ => self.take_up(out),
        }
    }

    fn take_up(&mut self, out: &mut Vec<Command>) {
        let told = out.len();
        self.tell_intent(out);
        if !self.hooked(HookStage::PostAssess) {
            return self.choose(out);
        }
        let subject = out.iter().skip(told).find_map(|command| match command {
            Command::Emit {
                notice: Notice::IntentAssessed { decision, confidence, signals, evidence, question, sub_agents, .. },
            } => Some(HookSubject::Assessment {
                decision: decision.clone(),
                confidence: *confidence,
                signals: signals.clone(),
                evidence: evidence.clone(),
                question: question.clone(),
                sub_agents: sub_agents.clone(),
            }),
            _ => None,
        });
        // A child's words, a prompt without any, and those of a run that does not look are not assessed.
        let unknown = || HookSubject::Assessment {
            decision: "direct".into(),
            confidence: 0.0,
            signals: Vec::new(),
            evidence: Vec::new(),
            question: None,
            sub_agents: Vec::new(),
        };
        self.hold(Then::Choose, subject.unwrap_or_else(unknown), out);
    }

    fn choose(&mut self, out: &mut Vec<Command>) {
        if let Some(question) = &self.core.reply {
            // Asking first: the question is the answer of the run.
            self.history.push(Message::text(Role::Assistant, question.as_str()));
            return self.finish(Stop::Ambiguous, out);
        }
        if !self.begin_recall(out) {
            self.pick(out);
        }
    }

    /// The prompt is assessed, and memory was asked.
    pub(super) fn pick(&mut self, out: &mut Vec<Command>) {
        match self.history.last() {
            Some(message) if self.config.choice.ask => {
                let prompt = Box::new(message.clone());
                let id = self.core.id();
                out.push(Command::Choose { id, model: self.model().to_owned(), prompt });
                let held = Held { id, then: Then::Chosen };
                self.enter(TurnFact::ModelAsked, Phase::Held(Box::new(held)), out);
            }
            _ => self.first_round(out),
        }
    }

    /// Before a round: whether the turn holds.
    pub(super) fn holds_round(&mut self, out: &mut Vec<Command>) -> bool {
        if !self.hooked(HookStage::PreReason) {
            return false;
        }
        let round = self.round().saturating_add(1);
        let messages = self.history.len();
        self.hold(Then::Begin, HookSubject::Round { round, messages }, out);
        true
    }

    /// Sends a request, or holds before that.
    pub(super) fn send(&mut self, asking: Asking, out: &mut Vec<Command>) {
        let request = Box::new(self.request_now());
        self.hooks.replaced = None;
        if self.hooked(HookStage::PreLlm) {
            return self.hold(Then::Send(asking), HookSubject::Request { request }, out);
        }
        self.issue(asking, request, out);
    }

    /// An answer came: it is read, or the turn holds before that.
    pub(super) fn answered(&mut self, response: Response, out: &mut Vec<Command>) {
        if !self.hooked(HookStage::PostLlm) {
            return self.read(response, out);
        }
        let response = Box::new(response);
        self.hold(Then::Read(response.clone()), HookSubject::Response { response }, out);
    }

    /// A reply is decided on: it is acted upon, or the turn holds before that.
    pub(super) fn decided_on(&mut self, decided: Decided, rule: &str, out: &mut Vec<Command>) {
        if !self.hooked(HookStage::PostReason) {
            return self.act(decided, out);
        }
        let subject = HookSubject::Decision {
            decision: decided.decision.name().to_owned(),
            rule: rule.to_owned(),
            text: decided.prose.clone(),
            calls: decided.calls.iter().map(|call| call.name.clone()).collect(),
        };
        self.hold(Then::Act(Box::new(decided)), subject, out);
    }

    /// Ends the run. Where it leaves an answer or a draft, its hooks see that first; a run that was cancelled or whose
    /// time is up ends at once.
    pub(super) fn finish(&mut self, stop: Stop, out: &mut Vec<Command>) {
        // The end is decided: nothing that roles may still say counts.
        self.desk.take_back(|_| true, out);
        let at_once = matches!(stop, Stop::Cancelled | Stop::WallTime);
        match &self.core.reply {
            Some(text) if !at_once && self.hooked(HookStage::PreOutput) => {
                let subject = HookSubject::Answer { text: text.clone(), stop };
                self.hold(Then::Give(stop), subject, out);
            }
            _ if at_once => self.close(stop, out),
            _ => self.give(stop, out),
        }
    }

    fn give(&mut self, stop: Stop, out: &mut Vec<Command>) {
        match &self.core.reply {
            Some(text) if self.hooked(HookStage::PostOutput) => {
                let subject = HookSubject::Answer { text: text.clone(), stop };
                self.hold(Then::End(stop), subject, out);
            }
            _ => self.close(stop, out),
        }
    }

    /// The hooks have answered; false if nobody asked them.
    pub(super) fn was_hooked(&mut self, id: Id, replies: Vec<HookReply>, out: &mut Vec<Command>) -> bool {
        match &*self.phase {
            Phase::Held(held) if held.id == id && held.then.stage().is_some() => {}
            Phase::Tools(_) => return self.tool_hooked(id, replies, out),
            _ => return false,
        }
        let Phase::Held(held) = self.phase.take() else { return false };
        match held.then {
            Then::TakeUp => self.prompt_hooked(replies, out),
            Then::Choose => {
                let heard = self.hear(HookStage::PostAssess, None, replies, out);
                if !self.ends_by(heard, out) {
                    self.choose(out);
                }
            }
            Then::Begin => {
                let heard = self.hear(HookStage::PreReason, None, replies, out);
                if !self.ends_by(heard, out) {
                    self.ask_now(out);
                }
            }
            Then::Send(asking) => self.request_hooked(asking, &replies, out),
            Then::Read(response) => self.response_hooked(response, replies, out),
            Then::Act(decided) => {
                let heard = self.hear(HookStage::PostReason, None, replies, out);
                if heard.veto.is_some() || heard.failed.is_some() {
                    self.close_calls(&decided.calls, "the run was stopped by a hook before this call");
                }
                if !self.ends_by(heard, out) {
                    self.act(*decided, out);
                }
            }
            Then::Give(stop) => self.answer_hooked(stop, replies, out),
            Then::End(stop) => {
                if self.answer_passes(HookStage::PostOutput, stop, replies, out) {
                    self.close(stop, out);
                }
            }
            Then::Chosen => {}
        }
        true
    }

    fn prompt_hooked(&mut self, replies: Vec<HookReply>, out: &mut Vec<Command>) {
        let Some(message) = self.history.last().cloned() else { return };
        let mut subject = HookSubject::Prompt { message };
        let heard = self.hear(HookStage::PreAssess, Some(&mut subject), replies, out);
        if let (Some(_), HookSubject::Prompt { message }) = (&heard.replaced, subject) {
            self.replace_last(message);
        }
        if !self.ends_by(heard, out) {
            self.take_up(out);
        }
    }

    fn request_hooked(&mut self, mut asking: Asking, replies: &[HookReply], out: &mut Vec<Command>) {
        let mut subject = HookSubject::Request { request: Box::new(self.request_now()) };
        let mut heard = self.hear(HookStage::PreLlm, Some(&mut subject), replies.to_vec(), out);
        let added = std::mem::take(&mut heard.added);
        let offered = heard.offered.take();
        if self.ends_by(heard, out) {
            return;
        }
        let changed = match offered.map(|tools| self.offer(tools)) {
            Some(Err(error)) => return self.fail(error, out),
            changed => changed.is_some(),
        };
        if !added.is_empty() || changed {
            if !added.is_empty() {
                self.history.push(Message::new(Role::User, added));
            }
            if let Err(error) = self.fit(out) {
                self.outcome.error = Some(error);
                return self.finish(Stop::ContextWindow, out);
            }
            // The same changes, of the request that has the new words and tools.
            subject = HookSubject::Request { request: Box::new(self.request_now()) };
            for reply in replies {
                if let HookAnswer::Replace { value } = &reply.answer {
                    let _ = subject.replace(value);
                }
            }
        }
        let HookSubject::Request { request } = subject else { return };
        if asking.attempt == 1 {
            asking.since = self.core.now;
        }
        let replaces = |reply: &HookReply| matches!(reply.answer, HookAnswer::Replace { .. });
        self.hooks.replaced = replies.iter().any(replaces).then(|| request.clone());
        self.issue(asking, request, out);
    }

    fn response_hooked(&mut self, response: Box<Response>, replies: Vec<HookReply>, out: &mut Vec<Command>) {
        let mut subject = HookSubject::Response { response };
        let heard = self.hear(HookStage::PostLlm, Some(&mut subject), replies, out);
        if self.ends_by(heard, out) {
            return;
        }
        if let HookSubject::Response { response } = subject {
            self.read(*response, out);
        }
    }

    fn answer_hooked(&mut self, stop: Stop, replies: Vec<HookReply>, out: &mut Vec<Command>) {
        if self.answer_passes(HookStage::PreOutput, stop, replies, out) {
            self.give(stop, out);
        }
    }

    /// Whether the answer is given, as the hooks of a stage want it; else the run has ended.
    fn answer_passes(&mut self, stage: HookStage, stop: Stop, replies: Vec<HookReply>, out: &mut Vec<Command>) -> bool {
        let text = self.core.reply.clone().unwrap_or_default();
        let mut subject = HookSubject::Answer { text, stop };
        let heard = self.hear(stage, Some(&mut subject), replies, out);
        if let Some((_, error)) = heard.failed {
            self.outcome.error = Some(error);
            self.close(Stop::HookFailed, out);
            return false;
        }
        if let Some((hook, reason)) = heard.veto {
            self.say_veto(&hook, &reason, out);
            self.close(Stop::HookVeto, out);
            return false;
        }
        if let HookSubject::Answer { text, .. } = subject {
            self.core.reply = Some(text);
        }
        true
    }

    /// Takes what the hooks of a stage said, tells of it, and puts their replacements into `subject`.
    pub(super) fn hear(
        &mut self,
        stage: HookStage,
        mut subject: Option<&mut HookSubject>,
        replies: Vec<HookReply>,
        out: &mut Vec<Command>,
    ) -> Heard {
        let mut heard = Heard::default();
        let round = self.round();
        for HookReply { name, mut answer } in replies {
            let wrong = check_answer(stage, &answer).and_then(|()| match (&answer, &mut subject) {
                (HookAnswer::Replace { value }, Some(subject)) => subject.replace(value),
                _ => Ok(()),
            });
            if let Err(error) = wrong {
                // Drivers look first: who does not shall not have its way by that.
                answer = HookAnswer::Failed { error: error.to_string(), stop: stage == HookStage::PreTool };
            }
            let answered = answer.name().to_owned();
            if let HookAnswer::Failed { error, stop } = answer {
                let told = clip(&error, TOLD);
                let notice = Notice::HookFailed {
                    stage: stage.name().to_owned(),
                    name: name.clone(),
                    round,
                    error: told.clone(),
                    stop,
                };
                emit(out, notice);
                if stop && heard.failed.is_none() {
                    let message = format!("the hook {name:?} at {} failed: {error}", stage.name());
                    let error = Error::usage("hook_failed", message)
                        .hint("mend the hook, or let it be skipped with on_error=\"skip\"");
                    heard.failed = Some((name, error));
                } else if !stop {
                    self.warn(out, "hook_failed", format!("the hook {name:?} at {} failed: {told}", stage.name()));
                }
                continue;
            }
            let reason = match &answer {
                HookAnswer::Veto { reason } | HookAnswer::Ask { reason } => Some(clip(reason, TOLD)),
                _ => None,
            };
            let told = Notice::HookAnswered {
                stage: stage.name().to_owned(),
                name: name.clone(),
                round,
                answer: answered,
                reason,
            };
            emit(out, told);
            match answer {
                HookAnswer::Replace { .. } => heard.replaced = Some(name),
                HookAnswer::Veto { reason } if heard.veto.is_none() => heard.veto = Some((name, reason)),
                HookAnswer::Ask { reason } if heard.asks.is_none() => heard.asks = Some(reason),
                HookAnswer::Offer { tools } => heard.offered = Some(tools),
                HookAnswer::AddContext { text } => heard.added.push(context_block(&name, &text)),
                HookAnswer::Continue | HookAnswer::Veto { .. } | HookAnswer::Ask { .. } | HookAnswer::Failed { .. } => {
                }
            }
        }
        heard
    }

    /// Ends the run if a hook wants it; else what was added waits for the next request.
    fn ends_by(&mut self, heard: Heard, out: &mut Vec<Command>) -> bool {
        if let Some((_, error)) = heard.failed {
            self.outcome.error = Some(error);
            self.finish(Stop::HookFailed, out);
            return true;
        }
        if let Some((hook, reason)) = heard.veto {
            self.say_veto(&hook, &reason, out);
            self.finish(Stop::HookVeto, out);
            return true;
        }
        self.hooks.added.extend(heard.added);
        false
    }

    fn say_veto(&mut self, hook: &str, reason: &str, out: &mut Vec<Command>) {
        self.outcome.message = Some(reason.to_owned());
        self.warn(out, "hook_veto", format!("the hook {hook:?} said no: {}", clip(reason, TOLD)));
    }

    /// What was added goes to the model with the last message, before anything is sent of that.
    pub(super) fn flush_added(&mut self) {
        if self.hooks.added.is_empty() {
            return;
        }
        let added = std::mem::take(&mut self.hooks.added);
        match self.history.last() {
            Some(last) if last.role == Role::User && self.core.spent.iterations == 0 => {
                let mut last = last.clone();
                last.content.extend(added);
                self.replace_last(last);
            }
            _ => self.history.push(Message::new(Role::User, added)),
        }
    }

    /// Puts another message in the last one's place; nothing has been made of it yet.
    fn replace_last(&mut self, message: Message) {
        let kept = self.history.len().saturating_sub(1);
        let mut history = History::new();
        for entry in self.history.entries().iter().take(kept) {
            history.push_entry(std::sync::Arc::clone(entry));
        }
        history.push(message);
        self.history = history;
    }

    /// An interrupt while the turn holds.
    pub(super) fn interrupt_held(&mut self, out: &mut Vec<Command>) {
        let Phase::Held(held) = &*self.phase else { return };
        if matches!(held.then, Then::TakeUp | Then::Choose | Then::Chosen | Then::Begin | Then::Send(_)) {
            out.push(Command::Abort { id: held.id });
            self.finish(Stop::UserInterrupt, out);
        }
    }

    /// The run ends while it holds: nothing of what was held is lost.
    pub(super) fn abort_held(&mut self, held: Held, why: &str, out: &mut Vec<Command>) {
        out.push(Command::Abort { id: held.id });
        match held.then {
            Then::Read(response) => self.keep_partial(Some(*response)),
            Then::Act(decided) => self.close_calls(&decided.calls, why),
            _ => {}
        }
    }

    /// What the turn waits for while it holds.
    pub(super) fn waiting_held(held: &Held) -> String {
        held.then
            .stage()
            .map_or_else(|| "a choice of the model".to_owned(), |stage| format!("the hooks of {}", stage.name()))
    }
}

/// Messages as a provider accepts them.
pub(crate) fn legal(messages: Vec<Message>) -> History {
    legal_history(messages, &mut CallIds::default()).0
}
