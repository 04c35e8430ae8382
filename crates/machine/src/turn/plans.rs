//! Plans: how a request is taken up, as something that can be looked at before anything of it is done.
//!
//! The words of the person are assessed once, when the turn begins. Where they fit sub-agents that there are, the model
//! is advised to hand work to them; a plan that names calls was held against the policy before anybody hears of it.

use super::{
    TurnConfig,
    children::{Children, ChildrenConfig},
    intent::IntentMode,
};
use crate::PlannedCall;
use loopwright_base::{json::Raw, message::ToolUse, text::clip};
use loopwright_guard::{Judgement, policy::Verdict};
use loopwright_monitor::intent::{Decision, Intent, SUB_AGENTS, assess_intent};

/// Commands of a request that are looked at.
const COMMANDS: usize = 5;
/// Bytes of one.
const COMMAND: usize = 500;

/// Words of a name or a description by which a sub-agent is known to be good for a kind of work.
const FITS: [(&str, &[&str]); 4] = [
    ("explore", &["explor", "search", "find", "look", "read", "locat", "inspect", "understand", "navigat"]),
    ("code", &["code", "coder", "coding", "implement", "program", "develop", "engineer", "refactor", "fix", "edit"]),
    ("research", &["research", "web", "investigat", "source", "compar", "gather", "literature", "analys", "fact"]),
    ("plan", &["plan", "architect", "design", "strateg"]),
];
/// Words of those that are good for everything.
const GENERAL: [&str; 6] = ["general", "helper", "worker", "assistant", "any", "anything"];

/// What a model is told of a request that is to be planned with a way back.
const PLAN_WITH_ROLLBACK: &str = "This request changes things in several steps. Before the first change, write down the \
    plan: each step, how it is checked, and how it is taken back; name what can't be taken back. Then carry it out step \
    by step, check each, and take back what went wrong.";
/// The same of work that would be handed on, where there is nobody.
const PLAN: &str = "This request is work in several parts. Write down a short plan first, then carry it out; make the tool \
    calls of parts that do not need each other in one reply: they run at once.";

/// The kinds of work that a sub-agent is good for.
fn kinds_of(name: &str, description: &str) -> Vec<&'static str> {
    if let Some(kind) = SUB_AGENTS.iter().find(|kind| **kind == name) {
        return vec![kind];
    }
    let text = format!("{name} {description}").to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| GENERAL.contains(word)) {
        return SUB_AGENTS.to_vec();
    }
    let fits = |stems: &[&str]| words.iter().any(|word| stems.iter().any(|stem| word.starts_with(stem)));
    FITS.iter().filter(|(_, stems)| fits(stems)).map(|(kind, _)| *kind).collect()
}

/// The kinds of work that there are sub-agents for.
fn kinds(children: &ChildrenConfig) -> Vec<&'static str> {
    let all = children.agents.iter().flat_map(|agent| kinds_of(&agent.name, &agent.description));
    let all: Vec<&str> = all.collect();
    SUB_AGENTS.into_iter().filter(|kind| all.contains(kind)).collect()
}

/// A plan.
pub(super) struct Plan {
    pub(super) intent: Intent,
    /// The sub-agents that fit, by their own names.
    pub(super) sub_agents: Vec<String>,
    /// The calls that it names, as the policy sees them.
    pub(super) calls: Vec<PlannedCall>,
    pub(super) policy_checked: bool,
}

impl TurnConfig {
    /// How the request is taken up. `judge` is the guard, and `spawn` the tool that starts sub-agents.
    pub(super) fn plan_for(
        &self,
        request: &str,
        before: &[&str],
        spawn: Option<&str>,
        judge: impl Fn(&ToolUse) -> Judgement,
    ) -> Plan {
        let mut intent = assess_intent(request, before, &[]);
        let mut sub_agents = Vec::new();
        let mut calls: Vec<PlannedCall> =
            self.commands_in(request).iter().map(|call| planned(call, judge(call))).collect();
        if let Some(tool) = spawn {
            let children = &self.children;
            let with = assess_intent(request, before, &kinds(children));
            let wants = |name: &str, description: &str| {
                kinds_of(name, description).iter().any(|kind| with.sub_agents.iter().any(|wanted| wanted == kind))
            };
            let fitting = children.agents.iter().filter(|agent| wants(&agent.name, &agent.description));
            for agent in fitting.take(3) {
                let input = Raw::of(&serde_json::json!({"agent": agent.name}));
                let call = ToolUse::from_text("plan", tool, input.text().to_owned());
                let call = planned(&call, judge(&call));
                if call.verdict != Verdict::Forbid {
                    sub_agents.push(agent.name.clone());
                }
                calls.push(call);
            }
            if !sub_agents.is_empty() {
                intent = with;
            }
        }
        let policy_checked = self.guard.is_some() && !calls.is_empty();
        Plan { intent, sub_agents, calls, policy_checked }
    }

    /// Tells the model how the request is best taken up; gives what it is told. Sub-agents that fit are offered first.
    pub(super) fn advise(&mut self, plan: &Plan, children: &Children) -> Option<String> {
        let names = plan.sub_agents.join(", ");
        let tool = children.tool.as_ref().filter(|_| !plan.sub_agents.is_empty());
        let acts = self.intent == IntentMode::Act;
        let advice = match (plan.intent.decision, tool) {
            (Decision::Delegate, Some(tool)) => format!(
                "This request is work for a sub-agent ({names}): hand it over with the tool {tool}, and rest your answer \
                 on what it reports."
            ),
            (Decision::Parallelize, Some(tool)) => format!(
                "This request has parts that do not need each other. Hand them to sub-agents ({names}) with several calls \
                 of the tool {tool} in one reply: they run at once. Then answer from their reports."
            ),
            (Decision::PlanWithRollback, _) if acts => PLAN_WITH_ROLLBACK.to_owned(),
            (_, None) if acts && plan.intent.plan => PLAN.to_owned(),
            _ => return None,
        };
        if tool.is_some() && !matches!(plan.intent.decision, Decision::PlanWithRollback) {
            children.offer_first(self);
        }
        self.system = Some(match self.system.take().filter(|system| !system.trim().is_empty()) {
            Some(system) => format!("{system}\n\n{advice}"),
            None => advice.clone(),
        });
        Some(advice)
    }

    /// The commands that a request asks to run, as calls of the tool that would run them.
    fn commands_in(&self, request: &str) -> Vec<ToolUse> {
        let Some(guard) = &self.guard else { return Vec::new() };
        let takes_commands = |schema: &Raw| schema.value().pointer("/properties/command").is_some();
        let shell =
            self.tools.iter().find(|tool| guard.by_arguments.contains(&tool.name) && takes_commands(&tool.schema));
        let Some(shell) = shell else { return Vec::new() };
        let name = shell.name.clone();
        let mut calls = Vec::new();
        let mut before = "";
        for (at, part) in request.split('`').enumerate().take(64) {
            if at % 2 == 0 {
                before = part;
                continue;
            }
            let last = before.split_whitespace().next_back().unwrap_or_default();
            let last = last.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let asked =
                matches!(last.as_str(), "run" | "execute" | "running" | "executing" | "command" | "then" | "and");
            let command = part.trim();
            if asked && !command.is_empty() && command.len() <= COMMAND && calls.len() < COMMANDS {
                let input = Raw::of(&serde_json::json!({"command": command}));
                calls.push(ToolUse::from_text("plan", &name, input.text().to_owned()));
            }
        }
        calls
    }
}

/// A call that a plan names, as the guard sees it.
fn planned(call: &ToolUse, judged: Judgement) -> PlannedCall {
    PlannedCall {
        name: call.name.clone(),
        arguments: clip(call.input.text(), COMMAND + 100),
        verdict: judged.verdict,
        risk: judged.risk,
        rules: judged.rules,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d33_sub_agents_are_known_by_name_and_words() {
        assert_eq!(kinds_of("explore", "writes code"), ["explore"], "a name that says all");
        assert_eq!(kinds_of("scout", "finds its way through a code base"), ["explore", "code"]);
        assert_eq!(kinds_of("coder", ""), ["code"]);
        assert_eq!(kinds_of("helper", "does things"), SUB_AGENTS);
        assert!(kinds_of("poet", "writes verses").is_empty());
    }
}
