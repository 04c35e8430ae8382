//! The gate before a call: the strictest of policy, risk, and the sensitivity of what would leave.
//!
//! Safe calls run. Cautious ones run where the person's own words name them, if that is asked for. Calls at confirm are
//! asked about, dangerous ones always. An allow of a policy answers the question of risk up to what its tier may lift;
//! nothing answers the question about a dangerous call, an unreadable line or a secret but a person.

use std::{collections::BTreeSet, ops::Range};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Authority, RiskLevel,
    policy::{Policy, Subject, Surroundings, Verdict},
};

/// What cautious calls need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cautious {
    /// Nothing.
    #[default]
    Run,
    /// A word of the user that names their verb or their target; else a person is asked.
    Intent,
    /// A person.
    Ask,
}

/// What a guard goes by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardConfig {
    /// The rules.
    pub policy: Policy,
    /// Where calls would run.
    pub around: Surroundings,
    /// What cautious calls need.
    pub cautious: Cautious,
    /// Tools whose arguments say all there is to know: a shell that is declared `confirm` may list a folder without a
    /// question.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub by_arguments: BTreeSet<String>,
}

/// What decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A rule of a policy.
    Policy,
    /// How much harm it may do.
    Risk,
    /// The person's words, or that they say nothing of it.
    Intent,
    /// A shell line that can't be read.
    Unparsed,
    /// What it would send out.
    Sensitivity,
}

/// What the gate says of a call, and what it saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What may be done with it.
    pub verdict: Verdict,
    /// How much harm it may do.
    pub risk: RiskLevel,
    /// What decided.
    pub by: DecidedBy,
    /// The rules that decided: `tier:id` of a policy, `risk:id` of the risk rules.
    pub rules: Vec<String>,
    /// The part of the call that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its bytes in the shell line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Range<usize>>,
    /// Why, in words.
    pub why: String,
    /// Whether it holds a secret that would leave: a yes is never kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

impl Judgement {
    /// Whether a person is asked.
    pub fn asks(&self) -> bool {
        self.verdict == Verdict::Ask
    }
}

/// What is known about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The level that its author gave it.
    pub risk: RiskLevel,
    /// Whether its arguments say all there is to know, so that they may also say that a call is safe.
    pub by_arguments: bool,
}

/// Judges a call.
pub fn judge(config: &GuardConfig, authority: &Authority, tool: &str, input: &Value, declared: Declared) -> Judgement {
    let subject = Subject::new(tool, input, &config.around);
    let mut judged = by_risk(config, authority, &subject, declared);
    let ruling = config.policy.rule_on_subject(&subject);
    match ruling.verdict {
        Some(Verdict::Allow) => {
            let lifted = matches!(judged.by, DecidedBy::Risk | DecidedBy::Intent) && judged.risk <= ruling.lifts;
            if judged.asks() && lifted {
                judged.verdict = Verdict::Allow;
                judged.by = DecidedBy::Policy;
                judged.rules = ruling.rules;
                judged.why = ruling.why;
            }
        }
        // The same verdict keeps the reason that names the danger; the rules are named beside it.
        Some(verdict) if verdict > judged.verdict || judged.risk < RiskLevel::Confirm => {
            judged.verdict = verdict;
            judged.by = DecidedBy::Policy;
            judged.rules = ruling.rules;
            judged.part = ruling.part;
            judged.span = ruling.span;
            judged.why = ruling.why;
        }
        Some(_) => {
            judged.rules.extend(ruling.rules);
            judged.why = format!("{}; {}", judged.why, ruling.why);
        }
        None => {}
    }
    judged
}

/// What risk says, without rules.
fn by_risk(config: &GuardConfig, authority: &Authority, subject: &Subject, declared: Declared) -> Judgement {
    let risk = super::lines::risk_of(subject, declared, &config.around);
    let mut judged = Judgement {
        verdict: if risk.level >= RiskLevel::Confirm { Verdict::Ask } else { Verdict::Allow },
        risk: risk.level,
        by: DecidedBy::Risk,
        rules: vec![format!("risk:{}", risk.rule)],
        part: risk.part,
        span: risk.span,
        why: risk.why,
        secret: false,
    };
    if let Some(range) = &subject.unparsed {
        judged.by = DecidedBy::Unparsed;
        if judged.risk < RiskLevel::Confirm || judged.verdict < Verdict::Ask {
            judged.verdict = Verdict::Ask;
            judged.risk = judged.risk.max(RiskLevel::Confirm);
            judged.rules = vec!["risk:unparsed".to_owned()];
            judged.span = Some(range.clone());
            judged.why = "a part of the line can't be read".to_owned();
        }
        return judged;
    }
    if judged.risk == RiskLevel::Cautious {
        match config.cautious {
            Cautious::Run => {}
            Cautious::Ask => {
                judged.verdict = Verdict::Ask;
                judged.why = format!("{}; every cautious call is asked about", judged.why);
            }
            Cautious::Intent => {
                judged.by = DecidedBy::Intent;
                if let Some(signal) = authority.names(subject) {
                    judged.why = format!("{}; the user's words name its {} {:?}", judged.why, signal.kind, signal.word);
                } else {
                    judged.verdict = Verdict::Ask;
                    judged.why = format!("{}; the user's words name neither its verb nor its target", judged.why);
                }
            }
        }
    }
    judged
}
