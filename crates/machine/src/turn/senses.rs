//! The senses' place in the turn: what repetition and momentum have to say after a round and about a reply.
//!
//! A model is told once what it does; if it goes on, the run ends. Every decision is told to whoever listens, with the
//! rule that decided and what it saw.

use serde::{Deserialize, Serialize};

use super::{Decision, Situation, TurnConfig, emit};
use crate::{Command, Notice, Stop};
use loopwright_base::{
    message::{ToolResult, ToolUse},
    text::clip,
};
use loopwright_guard::RiskLevel;
use loopwright_monitor::{
    momentum::{Momentum, Pace},
    stuck::{Action, Pattern, StuckDetector, StuckPolicy},
};

/// Patterns that a model is told of in one run. More of them are no accident.
const MOST_WORDS: usize = 3;
/// Stands for a reply that repeats itself, among the patterns told of.
const TEXT: u64 = 0;

/// The stop reason for a pattern.
pub(super) const fn stop_for(pattern: Pattern) -> Stop {
    if matches!(pattern, Pattern::RepeatedError) { Stop::RepeatedFailures } else { Stop::NoProgress }
}

/// What failed in a round, in words; `None` if anything succeeded.
pub(super) fn failure_of<'a>(pairs: impl Iterator<Item = (&'a ToolUse, &'a ToolResult)>) -> Option<String> {
    let mut failure = None;
    for (call, result) in pairs {
        if !result.is_error {
            return None;
        }
        let message = result.failure.as_ref().map_or_else(|| result.prose(), |failure| failure.message.clone());
        failure = Some(format!("{}: {}", call.name, clip(message.trim().trim_end_matches('.'), 300)));
    }
    failure
}

/// What the turn has noticed of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Senses {
    pub(super) stuck: StuckDetector,
    /// The patterns that the model was told of.
    told: Vec<u64>,
    pub(super) momentum: Momentum,
    /// What failed in the last round, where nothing succeeded.
    pub(super) last_failure: Option<String>,
    /// The model was nudged since it last went on.
    pub(super) nudged: bool,
}

impl Senses {
    pub(super) fn new(policy: StuckPolicy) -> Self {
        let stuck = StuckDetector::new(policy);
        Self { stuck, told: Vec::new(), momentum: Momentum::default(), last_failure: None, nudged: false }
    }

    /// What the results so far say.
    pub(super) fn pace(&self, config: &TurnConfig) -> Pace {
        config.momentum.as_ref().map_or(Pace::Good, |policy| self.momentum.pace(policy))
    }

    /// The pattern that these calls go on with, though the model was told of it.
    pub(super) fn goes_on_in_circles(&self, config: &TurnConfig, calls: &[ToolUse]) -> Option<Pattern> {
        let policy = config.stuck.as_ref()?;
        let pattern = self.stuck.pattern()?;
        if policy.action(pattern) == Action::Tell {
            return None;
        }
        let told = self.stuck.mark().is_some_and(|mark| self.told.contains(&mark));
        (told && self.stuck.goes_on_with(calls.iter())).then_some(pattern)
    }

    /// A round has ended: the reason to stop, or a word to the model.
    pub(super) fn sense_round(
        &mut self,
        config: &TurnConfig,
        round: u32,
        out: &mut Vec<Command>,
    ) -> (Option<Stop>, Option<String>) {
        if let Some(policy) = &config.stuck
            && let (Some(mark), Some(verdict)) = (self.stuck.mark(), self.stuck.verdict())
        {
            let known = self.told.contains(&mark);
            let tell = match policy.action(verdict.pattern) {
                Action::Warn => !known && self.told.len() < MOST_WORDS,
                Action::End => false,
                // Once is enough, also where the run is not ended for it.
                Action::Tell if known => return (None, None),
                Action::Tell => true,
            };
            let decision = if tell { "tell" } else { "stuck" };
            assessed(out, round, decision, verdict.pattern.name(), verdict.sentence.clone());
            if !tell {
                return (Some(stop_for(verdict.pattern)), None);
            }
            self.told.push(mark);
            return (None, Some(verdict.advice()));
        }
        if self.pace(config) == Pace::Slow {
            assessed(out, round, "slow", "momentum", self.words_on_momentum(config));
        }
        if let Some(every) = config.check_in
            && round.is_multiple_of(every.max(1))
        {
            assessed(
                out,
                round,
                "pause_check",
                "check_in",
                format!("{round} iterations, and a check-in every {every}"),
            );
            return (Some(Stop::CheckIn), None);
        }
        (None, None)
    }

    /// Whether a reply that was cut says, or thinks, the same again and again.
    pub(super) fn says_the_same(&mut self, config: &TurnConfig, prose: &str, thought: &str) -> bool {
        config.stuck.is_some()
            && [prose, thought].into_iter().any(|said| {
                self.stuck.end_reply();
                self.stuck.feed(said)
            })
    }

    /// A reply went round in circles until it was cut: what the model is told, once, where it may go on; else the run
    /// ends.
    pub(super) fn end_of_loop(
        &mut self,
        config: &TurnConfig,
        goes_on: bool,
        round: u32,
        out: &mut Vec<Command>,
    ) -> Option<String> {
        let verdict = self.stuck.verdict();
        self.stuck.end_reply();
        let verdict = verdict?;
        let tell = goes_on
            && config.stuck.as_ref().is_some_and(|policy| match policy.action(verdict.pattern) {
                Action::Warn => !self.told.contains(&TEXT),
                Action::End => false,
                Action::Tell => true,
            });
        let decision = if tell { "tell" } else { "stuck" };
        assessed(out, round, decision, verdict.pattern.name(), verdict.sentence.clone());
        tell.then(|| {
            self.told.push(TEXT);
            verdict.advice()
        })
    }

    /// Tells what was decided about a reply.
    pub(super) fn tell_decision(
        &self,
        config: &TurnConfig,
        round: u32,
        decision: Decision,
        situation: &Situation,
        calls: &[ToolUse],
        out: &mut Vec<Command>,
    ) {
        let saw = match decision {
            Decision::Continue | Decision::PauseForConfirm if !calls.is_empty() => {
                let names: Vec<&str> = calls.iter().take(8).map(|call| call.name.as_str()).collect();
                let more = if calls.len() > names.len() { ", …" } else { "" };
                let risk = situation.risk.name();
                // Rules decide otherwise than the level alone would.
                let against = match (situation.asks, situation.risk >= RiskLevel::Confirm) {
                    (true, false) => ", which a person is asked about",
                    (false, true) => ", which nobody is asked about",
                    _ => "",
                };
                let names = clip(&names.join(", "), 300);
                format!("{} tool calls ({names}{more}), the riskiest {risk}{against}", calls.len())
            }
            Decision::Continue if situation.provider_paused => "the provider paused its own tools".to_owned(),
            Decision::Continue | Decision::PauseForConfirm => "a stated next step without a call".to_owned(),
            Decision::Complete => "no tool call, no question, no next step to take".to_owned(),
            Decision::PauseForInput => "a question to the person".to_owned(),
            Decision::PauseCheck if situation.interrupted => "a wish to stop after this round".to_owned(),
            Decision::PauseCheck => self.words_on_momentum(config),
            Decision::Limit(limit) => format!("the limit {}", limit.stop().name()),
            Decision::Stuck(_) => self.stuck.verdict().map(|verdict| verdict.sentence).unwrap_or_default(),
        };
        assessed(out, round, decision.name(), decision.rule(situation), saw);
    }

    fn words_on_momentum(&self, config: &TurnConfig) -> String {
        let policy = config.momentum.unwrap_or_default();
        let (successes, count) = self.momentum.seen(&policy);
        format!("{successes} of the last {count} calls succeeded: momentum {:.2}", self.momentum.score(&policy))
    }
}

fn assessed(out: &mut Vec<Command>, round: u32, decision: &str, rule: &str, saw: String) {
    emit(out, Notice::Assessed { round, decision: decision.to_owned(), rule: rule.to_owned(), saw });
}
