//! Repetition and momentum over the tool calls of a run.
//!
//! Repetition counts a call only together with its result: the same test run after each edit is work, the same call
//! with the same result is not. Calls of one round that end alike count once: the model had no chance to do better
//! before it saw the first. Momentum is `(s + 2) / (n + 2)` over the last ten results (Laplace's rule with two
//! successes given on credit), judged from three results on: one failed first call never stops a run.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::core::message::{ToolResult, ToolUse};

const WINDOW: usize = 10;

/// What the calls so far say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Going on is fine.
    Fine,
    /// The same call gave the same result again and again.
    SameCall,
    /// The same error came again and again.
    SameError,
    /// Too little of the last calls succeeded.
    LowMomentum,
}

/// Thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgressPolicy {
    /// So many equal calls with equal results in a row, or equal errors, are too many; 0 turns this off.
    pub repeats: u32,
    /// Momentum below this is too low; 0 turns this off.
    pub momentum: f64,
}

impl Default for ProgressPolicy {
    fn default() -> Self {
        Self { repeats: 3, momentum: 0.3 }
    }
}

/// The calls of a run, as hashes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    last_step: u64,
    same_steps: u32,
    last_error: u64,
    same_errors: u32,
    outcomes: Vec<bool>,
}

impl Progress {
    /// Takes the calls of a round and their results.
    pub fn record_round<'a>(&mut self, pairs: impl Iterator<Item = (&'a ToolUse, &'a ToolResult)>) {
        let mut seen = HashSet::new();
        for (call, result) in pairs {
            let (step, error) = hashes(call, result);
            if seen.insert(error.unwrap_or(step)) {
                self.count(step, error);
            }
        }
    }

    /// Takes a call and its result.
    pub fn record(&mut self, call: &ToolUse, result: &ToolResult) {
        let (step, error) = hashes(call, result);
        self.count(step, error);
    }

    fn count(&mut self, step: u64, error: Option<u64>) {
        self.same_steps = if step == self.last_step { self.same_steps.saturating_add(1) } else { 1 };
        self.last_step = step;
        if let Some(error) = error {
            self.same_errors = if error == self.last_error { self.same_errors.saturating_add(1) } else { 1 };
            self.last_error = error;
        } else {
            self.same_errors = 0;
        }
        self.outcomes.push(error.is_none());
        if self.outcomes.len() > WINDOW {
            self.outcomes.remove(0);
        }
    }

    /// Momentum from 0 to 1; 1 before any call.
    pub fn momentum(&self) -> f64 {
        let successes = self.outcomes.iter().filter(|ok| **ok).count();
        (successes + 2) as f64 / (self.outcomes.len() + 2) as f64
    }

    /// What the calls so far say.
    pub fn verdict(&self, policy: &ProgressPolicy) -> Verdict {
        if policy.repeats > 0 && self.same_errors >= policy.repeats {
            Verdict::SameError
        } else if policy.repeats > 0 && self.same_steps >= policy.repeats {
            Verdict::SameCall
        } else if self.outcomes.len() >= 3 && self.momentum() < policy.momentum {
            Verdict::LowMomentum
        } else {
            Verdict::Fine
        }
    }
}

/// What tells a step from others, and an error from others if it is one.
fn hashes(call: &ToolUse, result: &ToolResult) -> (u64, Option<u64>) {
    let action = xxh3_64(call.arguments_text().as_bytes()) ^ xxh3_64(call.name.as_bytes()).rotate_left(1);
    let text = result.prose();
    let step = action.rotate_left(17) ^ xxh3_64(text.as_bytes());
    let error = result.is_error.then(|| {
        let class = match &result.failure {
            Some(failure) => format!("{}\0{}\0{}", call.name, failure.kind, failure.message),
            None => format!("{}\0{text}", call.name),
        };
        xxh3_64(class.as_bytes())
    });
    (step, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::ToolFailure;

    fn call(arguments: &str) -> ToolUse {
        ToolUse::from_text("c", "run", arguments.to_owned())
    }
    fn failed(message: &str) -> ToolResult {
        let failure = ToolFailure { kind: "exception".into(), message: message.into(), hint: None };
        ToolResult::failed("c", "run", failure)
    }

    #[test]
    fn the_same_call_with_new_results_is_work() {
        let mut progress = Progress::default();
        for n in 0..20 {
            progress.record(&call("{}"), &ToolResult::text("c", "run", format!("{n} tests failed")));
            assert_eq!(progress.verdict(&ProgressPolicy::default()), Verdict::Fine);
        }
        progress.record(&call("{}"), &ToolResult::text("c", "run", "ok"));
        progress.record(&call("{}"), &ToolResult::text("c", "run", "ok"));
        assert_eq!(progress.verdict(&ProgressPolicy::default()), Verdict::Fine);
        progress.record(&call("{}"), &ToolResult::text("c", "run", "ok"));
        assert_eq!(progress.verdict(&ProgressPolicy::default()), Verdict::SameCall);
    }

    #[test]
    fn one_failure_does_not_stop_a_run_but_many_do() {
        let mut progress = Progress::default();
        progress.record(&call("{}"), &failed("a"));
        assert_eq!(progress.verdict(&ProgressPolicy::default()), Verdict::Fine);
        for n in 0..4 {
            progress.record(&call("{}"), &failed(&format!("b{n}")));
        }
        assert_eq!(progress.verdict(&ProgressPolicy::default()), Verdict::LowMomentum);
        let mut progress = Progress::default();
        for n in 0..3 {
            progress.record(&call(&format!("{{\"n\":{n}}}")), &failed("disk full"));
        }
        assert_eq!(progress.verdict(&ProgressPolicy::default()), Verdict::SameError);
    }

    #[test]
    fn one_round_of_equal_failures_counts_once() {
        let mut progress = Progress::default();
        let calls: Vec<ToolUse> = (0..10).map(|n| call(&format!("{{\"n\":{n}}}"))).collect();
        let result = failed("no route");
        for round in 1..=3 {
            progress.record_round(calls.iter().map(|call| (call, &result)));
            let expected = if round < 3 { Verdict::Fine } else { Verdict::SameError };
            assert_eq!(progress.verdict(&ProgressPolicy::default()), expected);
        }
    }
}
