//! The guard's place in the turn: every call of a reply is judged before anything of it runs.
//!
//! A judgement belongs to a call's id, tool and arguments, by their hash: a call that is another one by then does not
//! run. Without a guard in the configuration the tool's declared level decides alone, as a host without rules wants it.

use super::{Round, TurnConfig, children::judged_spawn, emit};
use crate::{Command, Notice};
use loopwright_base::message::{ToolFailure, ToolUse};
use loopwright_guard::{Authority, DecidedBy, Declared, Judgement, RiskLevel, judge, policy::Verdict};

impl TurnConfig {
    /// What the guard says of a call, by the words of the person; of one that starts a child, `spawn`.
    pub(super) fn judge(&self, authority: &Authority, spawn: bool, call: &ToolUse) -> Judgement {
        let declared = self.declared(&call.name);
        let Some(guard) = &self.guard else { return by_declaration(&call.name, declared.risk) };
        let input = if spawn { judged_spawn(&call.input) } else { call.input.clone() };
        judge(guard, authority, &call.name, &input.value(), declared)
    }

    pub(super) fn declared(&self, tool: &str) -> Declared {
        Declared {
            risk: self.tool(tool).map_or(RiskLevel::Dangerous, |tool| tool.risk),
            by_arguments: self.guard.as_ref().is_some_and(|guard| guard.by_arguments.contains(tool)),
        }
    }
}

impl Round {
    /// Says what was seen of each call that could run, and what decided.
    pub(super) fn tell_judgements(&self, out: &mut Vec<Command>) {
        for pending in self.calls.iter().filter(|pending| pending.result.is_none() || pending.is_forbidden()) {
            emit(out, judged_notice(&pending.call, &pending.judged));
        }
    }
}

/// The level of the riskiest of a reply's calls.
pub(super) fn riskiest(judged: &[Judgement]) -> RiskLevel {
    judged.iter().map(|judged| judged.risk).max().unwrap_or(RiskLevel::Safe)
}

/// A call without markers that stands in what the model was shown: it may be a quotation, and a person is asked.
pub(super) fn quoted(judged: &mut Judgement) {
    if judged.verdict == Verdict::Forbid {
        return;
    }
    judged.verdict = Verdict::Ask;
    judged.by = DecidedBy::Quotation;
    judged.rules.insert(0, "quoted".to_owned());
    judged.why = format!("the model was shown this very call, and may only quote it; {}", judged.why);
}

const ASKING: &str = "asking";

/// Whether a person is asked whatever was said of the call otherwise.
pub(super) fn is_asked_first(judged: &Judgement) -> bool {
    judged.rules.first().is_some_and(|rule| rule == ASKING)
}

/// A person is asked, whatever was said of the call otherwise; what is forbidden stays so.
pub(super) fn asked_first(judged: &mut Judgement, why: &str) {
    if judged.verdict == Verdict::Forbid {
        return;
    }
    judged.verdict = Verdict::Ask;
    judged.by = DecidedBy::Policy;
    judged.rules.insert(0, ASKING.to_owned());
    judged.why = format!("{why}; {}", judged.why);
}

/// What a watcher is told of a judgement.
pub(super) fn judged_notice(call: &ToolUse, judged: &Judgement) -> Notice {
    Notice::CallJudged { call_id: call.id.clone(), name: call.name.clone(), judged: judged.clone() }
}

/// The result of a call that the policy forbids.
pub(super) fn forbidden(judged: &Judgement) -> ToolFailure {
    ToolFailure {
        kind: "forbidden".into(),
        message: format!("the call is not permitted: {} ({})", judged.why, judged.rules.join(", ")),
        hint: Some("do not try it again in another form; find another way, or say what you would need".into()),
    }
}

fn by_declaration(name: &str, risk: RiskLevel) -> Judgement {
    Judgement {
        verdict: if risk >= RiskLevel::Confirm { Verdict::Ask } else { Verdict::Allow },
        risk,
        by: DecidedBy::Risk,
        rules: vec!["risk:declared".to_owned()],
        part: None,
        span: None,
        why: format!("the tool {name:?} is declared {}", risk.name()),
        touches: Vec::new(),
        secret: false,
        names_paths: true,
    }
}
