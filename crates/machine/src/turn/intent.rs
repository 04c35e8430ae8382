//! What the words of the person say when a turn begins: how the request is best taken up, and whether the conversation
//! still serves the goal it began with. Both are told, and stop nothing unless the run is to act on them: the gate
//! stands before the tool call.

use serde::{Deserialize, Serialize};

use super::{Command, TurnMachine, emit, plans::Plan};
use crate::Notice;
use loopwright_base::{
    message::{Block, Message, Role, ToolUse},
    request::History,
    text::clip,
};
use loopwright_monitor::{
    drift::{DriftPolicy, GoalDrift},
    intent::Decision,
};

/// Messages before the last one in which a reference may find what it means.
const LOOKED_AT: usize = 6;
/// The goal and this many of the latest messages of the person are compared.
const COMPARED: usize = 12;
/// A goal is read whole up to this many bytes.
const READ: usize = 1024;
/// Characters of a goal or of words that are told.
const TOLD: usize = 200;

/// What a person wrote; nothing for results of tools and pictures.
fn words_of(message: &Message) -> Option<String> {
    let wrote = message.role == Role::User && message.content.iter().any(|block| matches!(block, Block::Text(_)));
    Some(message.prose()).filter(|text| wrote && !text.trim().is_empty())
}

/// What is done with what the words of the prompt say of its intent, and of the goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentMode {
    /// Nothing: nobody looks.
    Off,
    /// It is told, and stops nothing; a model that has sub-agents hears which of them fit.
    #[default]
    Tell,
    /// What should be asked first is asked, and the run pauses with the question; the model hears of every other
    /// decision in one instruction.
    Act,
}

impl TurnMachine {
    /// Tells what the newest message says of its intent, and of the goal.
    pub(super) fn tell_intent(&mut self, out: &mut Vec<Command>) {
        let mode = self.config.intent;
        if self.core.base != 0 || mode == IntentMode::Off {
            // The words of a child are those of the machine that started it.
            return;
        }
        let history = self.history();
        let Some(request) = history.last().and_then(words_of) else { return };
        let before: Vec<String> = history.iter().rev().skip(1).take(LOOKED_AT).map(Message::prose).collect();
        let before: Vec<&str> = before.iter().rev().map(String::as_str).collect();
        let judge =
            |call: &ToolUse| self.config.judge(&self.origins.authority, self.children.is_spawn(&call.name), call);
        let plan = self.config.plan_for(&request, &before, self.children.tool.as_deref(), judge);
        let drift = drift(history);
        let instruction = self.config.advise(&plan, &self.children).filter(|_| mode == IntentMode::Act);
        if mode == IntentMode::Act && plan.intent.decision == Decision::AskFirst && !answers_a_question(self.history())
        {
            self.core.reply.clone_from(&plan.intent.question);
        }
        let Plan { intent, sub_agents, calls, policy_checked } = plan;
        let evidence = intent.evidence.iter().map(|one| {
            let words = request.get(one.words.clone()).unwrap_or_default();
            (one.signal.clone(), clip(words, TOLD))
        });
        emit(
            out,
            Notice::IntentAssessed {
                decision: intent.decision.name().to_owned(),
                confidence: intent.confidence,
                signals: intent.signals.names().into_iter().map(str::to_owned).collect(),
                evidence: evidence.collect(),
                question: intent.question,
                escalated: intent.escalated,
                plan: intent.plan,
                sub_agents,
                policy_checked,
                calls,
                instruction,
            },
        );
        if let Some(notice) = drift {
            emit(out, notice);
        }
    }
}

/// Whether the newest message answers what the model asked: it is not asked about again.
fn answers_a_question(history: &History) -> bool {
    let before = history.iter().rev().nth(1);
    before.is_some_and(|message| {
        message.role == Role::Assistant && message.prose().trim_end().ends_with(['?', '？', '؟'])
    })
}

/// The change of state that the newest message makes, if it makes one.
fn drift(history: &History) -> Option<Notice> {
    let goal = history.iter().find_map(words_of)?;
    let said: Vec<String> = history.iter().rev().filter_map(words_of).take(COMPARED).collect();
    if said.len() < 2 && goal.len() <= READ {
        // It is the goal itself, and nothing in it leads away from it.
        return None;
    }
    let mut drift = GoalDrift::new(&goal, DriftPolicy::default()).ok()?;
    let seen = said.iter().rev().map(|message| drift.observe(message)).last()?;
    seen.changed.then(|| Notice::GoalDrifted {
        state: seen.state.name().to_owned(),
        step: seen.step,
        anchor: seen.anchor,
        goal: clip(&goal, TOLD),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_never_leads_away_from_itself() {
        let texts = [
            "Forget that, never mind. Change of plans!",
            "wait",
            "…",
            "a",
            "1 2 3",
            "日本語で話しましょう",
            "Actually, instead",
        ];
        for goal in
            texts.iter().map(|text| (*text).to_owned()).chain(texts.iter().map(|text| text.repeat(READ / text.len())))
        {
            let mut drift = GoalDrift::new(&goal, DriftPolicy::default()).unwrap();
            assert!(!drift.observe(&goal).changed, "{goal}");
        }
    }
}
