//! A request that failed: tried again, shrunk, sent without tools or to another model, or the end of the run.
//!
//! What had come of an answer is kept, and its cost counted, whichever way it goes on.

use super::{
    super::{Command, Notice, Stop},
    Asking, Phase, TurnMachine, emit,
    table::TurnFact,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Block, Role},
    parameter::Parameter,
    request::{Response, Tool},
};

/// A host that is left alone for no longer than so many seconds is being probed by another call: to ask again meanwhile
/// is no attempt. A probe has limits of time of its own.
const PROBED: f64 = 1.0;

impl TurnMachine {
    pub(super) fn failed(
        &mut self,
        mut asking: Asking,
        failure: Failure,
        visible: bool,
        partial: Option<Response>,
        out: &mut Vec<Command>,
    ) {
        let visible = visible || asking.visible;
        let (tools, mut teller) = self.searches(out);
        tools.end_searches(|_| Some(failure.kind.name()), &mut teller);
        if let Some(partial) = &partial {
            self.core.spent.add(partial.usage, self.config.price.as_ref());
        }
        // An attempt that fails before its first word takes nothing back of what an earlier one has shown.
        let partial = partial.filter(says_something).or_else(|| asking.said.take().map(|said| *said));
        let left = self.config.budget.wall_time - self.core.elapsed();
        let left_alone = failure.kind == FailureKind::BreakerOpen;
        // What was not sent is no attempt; how often it is waited for has the same bound.
        let attempt = if left_alone { asking.waits + 1 } else { asking.attempt - asking.before };
        let delay = self.config.retry.delay(&failure, attempt, visible, self.config.seed ^ asking.id);
        // A host that is left alone is not waited for where there is another.
        let skips = left_alone && self.has_fallback();
        // What the provider searches for in vain a second time it will not find in time the third time either.
        let stalls = self.stalls(&failure) && (attempt > 1 || delay.is_none());
        if let Some(delay) = delay.filter(|delay| *delay < left && !skips && !stalls) {
            if self.core.interrupted {
                self.keep_partial(partial);
                return self.finish(Stop::UserInterrupt, out);
            }
            if let Some(limit) = self.next_attempt_exceeds() {
                self.keep_partial(partial);
                return self.stop_at(limit, out);
            }
            let round = self.round();
            let reason = failure.message.clone();
            emit(out, Notice::Retry { round, attempt: asking.attempt, delay, reason });
            if visible {
                emit(out, Notice::Reset { round });
            }
            if left_alone {
                asking.before += 1;
                asking.unsent += 1;
                // How long the probe of another takes says nothing of this request.
                let is_probed = failure.retry_after.is_some_and(|seconds| seconds <= PROBED);
                asking.waits += u32::from(!is_probed);
            } else {
                asking.last_failure = Some(Box::new(failure));
            }
            asking.visible = false;
            asking.said = partial.map(Box::new);
            let timer = self.core.id();
            out.push(Command::Timer { id: timer, at: self.core.now.after(delay) });
            return self.enter(TurnFact::AttemptPutOff, Phase::Waiting { timer, asking }, out);
        }
        if failure.kind.is_too_long() && !self.core.interrupted && self.shrink(&failure, out) {
            return self.ask_again(asking, visible, partial, out);
        }
        if !self.core.interrupted && self.leaves_out(&failure, out) {
            return self.ask_again(asking, visible, partial, out);
        }
        if !stalls && self.refuses_search(&failure) {
            self.config.provider_tools.retain(|tool| !matches!(tool, Tool::WebSearch(_)));
            self.prepared.template = None;
            self.warn(
                out,
                "left_out",
                format!("web_search is refused ({}); the request was sent without it", failure.message),
            );
            return self.ask_again(asking, visible, partial, out);
        }
        if stalls || self.refuses_tools(&failure) {
            self.tools.left_out = true;
            let what = if stalls {
                // Another request: it is tried as often as any.
                (asking.before, asking.waits) = (asking.attempt, 0);
                "the request did not come to an end with the provider's tools"
            } else {
                "the provider refused the request with tools"
            };
            self.warn(out, "without_tools", format!("{what} ({}); it was sent without them", failure.message));
            return self.ask_again(asking, visible, partial, out);
        }
        if self.next_attempt_exceeds().is_none() && !self.core.interrupted && self.fall_back(&failure, out) {
            if visible {
                emit(out, Notice::Reset { round: self.core.spent.iterations });
            }
            if let Err(error) = self.fit(out) {
                self.outcome.error = Some(error);
                return self.finish(Stop::ContextWindow, out);
            }
            (asking.before, asking.waits) = (asking.attempt, 0);
            return self.ask_again(asking, false, partial, out);
        }
        self.keep_partial(partial);
        if failure.kind.is_too_long() {
            self.outcome.error = Some(failure.to_error());
            return self.finish(Stop::ContextWindow, out);
        }
        let mut error = failure.to_error();
        if let (FailureKind::BreakerOpen, Some(last)) = (failure.kind, &asking.last_failure) {
            error.message = format!("{} (before that: {})", error.message, last.message);
            // Nothing was sent this time: what was answered last is what there is to know.
            let answered = error.answered.get_or_insert_default();
            answered.status = last.status;
            answered.request_id.clone_from(&last.request_id);
        } else if let sent @ 2.. = asking.attempt - asking.unsent {
            error.message = format!("{} (after {sent} attempts)", error.message);
        }
        self.fail(error, out);
    }

    /// Sends the request as it now is, if the budget has room for it; what had been said is kept for the case that it
    /// has not.
    fn ask_again(&mut self, mut asking: Asking, visible: bool, partial: Option<Response>, out: &mut Vec<Command>) {
        if let Some(limit) = self.next_attempt_exceeds() {
            self.keep_partial(partial);
            return self.stop_at(limit, out);
        }
        if visible {
            emit(out, Notice::Reset { round: self.round() });
        }
        asking.visible = false;
        asking.said = partial.map(Box::new);
        asking.attempt += 1;
        asking.id = self.core.id();
        self.send(asking, out);
    }

    /// Whether a request may go once more without tools: the history must not rest on them.
    fn may_degrade(&self) -> bool {
        let has_tools = !self.config.tools.is_empty() || !self.config.provider_tools.is_empty();
        let rests_on_them = self.history.iter().any(|message| message.tool_uses().next().is_some());
        self.config.degrade_without_tools
            && has_tools
            && !self.tools.left_out
            && !self.core.interrupted
            && !rests_on_them
    }

    /// Whether the provider refuses the request because of its own search, beside which there are tools.
    fn refuses_search(&self, failure: &Failure) -> bool {
        // The limit of a search is one of the provider's tools together, on the Responses wire.
        let names_search = |what: &str| what.contains("search") || what.contains("max_tool_calls");
        let is_refused = self.config.searches_itself() && !self.config.tools.is_empty() && !self.tools.left_out;
        is_refused && !self.core.interrupted && is_refusal(failure) && names_search(&what_is_wrong(failure))
    }

    /// Whether the provider refuses the request because of its tools.
    fn refuses_tools(&self, failure: &Failure) -> bool {
        let what = what_is_wrong(failure);
        let names_search = || self.config.searches_itself() && what.contains("search");
        self.may_degrade()
            && is_refusal(failure)
            && (what.contains("tool") || what.contains("function") || names_search())
    }

    /// Leaves out of the requests to come what the provider refuses by name, once for each parameter. What is no part
    /// of the configuration is written otherwise by whoever sends it.
    fn leaves_out(&mut self, failure: &Failure, out: &mut Vec<Command>) -> bool {
        let Some(parameter) = failure.refused_parameter().filter(|parameter| parameter.is_in(self.template())) else {
            return false;
        };
        let name = parameter.name();
        let told = format!("left_out: {name} ");
        // The form of an answer has two others.
        let most = if parameter == Parameter::Output { 2 } else { 1 };
        if self.outcome.warnings.iter().filter(|warning| warning.starts_with(&told)).count() >= most {
            return false;
        }
        match parameter {
            Parameter::Temperature => self.config.temperature = None,
            Parameter::TopP => self.config.top_p = None,
            Parameter::Stop => self.config.stop.clear(),
            Parameter::Effort => self.config.effort = None,
            Parameter::ToolChoice => self.config.tool_choice = None,
            Parameter::ParallelToolCalls | Parameter::Seed => {
                if let Some(acting) = &mut self.config.roles.acting {
                    acting.remove(parameter);
                }
            }
            Parameter::Output | Parameter::StreamOptions | Parameter::Limit => {}
        }
        self.prepared.template = None;
        let how = if parameter.is_written_otherwise() { "asked for in another way" } else { "sent without it" };
        self.warn(out, "left_out", format!("{name} is refused ({}); the request was {how}", failure.message));
        true
    }

    /// Whether the time ran out while the provider may have been searching: its searches are part of the request.
    fn stalls(&self, failure: &Failure) -> bool {
        failure.kind == FailureKind::Timeout && self.config.searches_itself() && self.may_degrade()
    }

    /// What had come of an answer that broke off stands in the history and the transcript.
    pub(super) fn keep_partial(&mut self, partial: Option<Response>) {
        let Some(Response { mut message, .. }) = partial else { return };
        message.role = Role::Assistant;
        // What broke off is no call, but its markers are no prose either.
        self.read_markup(&mut message, &mut Vec::new());
        message.content.retain(|block| matches!(block, Block::Text(text) if !text.text.trim().is_empty()));
        let prose = message.prose();
        if !prose.is_empty() {
            self.outcome.transcript.push_str(&prose);
            self.core.reply = Some(prose);
            self.history.push(message);
        }
    }
}

fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::BadRequest | FailureKind::NotFound | FailureKind::Permission)
}

/// What a provider says is wrong: the parameter where it names one, else its words.
fn what_is_wrong(failure: &Failure) -> String {
    failure.param.as_ref().unwrap_or(&failure.message).to_lowercase()
}

fn says_something(partial: &Response) -> bool {
    partial.message.content.iter().any(|block| matches!(block, Block::Text(text) if !text.text.trim().is_empty()))
}
