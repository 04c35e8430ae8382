//! Assess: what to do with a reply, as one pure function.
//!
//! The order is fixed: interrupt, tool calls, budget, repetition, momentum, risk, clarification, completion: nobody is
//! asked about a call that will not run. A reply that holds tool calls is never complete, whatever its words say.

use serde::{Deserialize, Serialize};

use crate::Limit;
use loopwright_guard::RiskLevel;
use loopwright_monitor::{momentum::Pace, stuck::Pattern};

/// What is known about a reply when it is assessed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Somebody asked for a stop after this round.
    pub interrupted: bool,
    /// Client-side tool calls in the reply.
    pub tool_calls: usize,
    /// The limit that forbids carrying the calls out, or another request.
    pub limit: Option<Limit>,
    /// The level of the riskiest of the calls.
    pub risk: RiskLevel,
    /// A person is to be asked about one of the calls: by its level, or because a rule says so.
    pub asks: bool,
    /// The pattern with which the calls go on though the model was told of it.
    pub stuck: Option<Pattern>,
    /// What the results so far say.
    pub pace: Pace,
    /// The provider paused its own tools: the same history goes on.
    pub provider_paused: bool,
    /// The reply asks the person for something.
    pub asks_for_input: bool,
    /// The reply states a next step, tools are on offer, and no nudge was given yet.
    pub may_nudge: bool,
}

/// What to do with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Go on: run the calls, or send the next request.
    Continue,
    /// The turn is done.
    Complete,
    /// The person has to say something first.
    PauseForInput,
    /// The person has to agree first.
    PauseForConfirm,
    /// Somebody should look before it goes on.
    PauseCheck,
    /// A limit is reached.
    Limit(Limit),
    /// It goes round in circles.
    Stuck(Pattern),
}

impl Decision {
    /// The name in notices.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Complete => "complete",
            Self::PauseForInput => "pause_for_input",
            Self::PauseForConfirm => "pause_for_confirm",
            Self::PauseCheck => "pause_check",
            Self::Limit(_) => "limit",
            Self::Stuck(_) => "stuck",
        }
    }

    /// The rule that decided.
    pub const fn rule(self, situation: &Situation) -> &'static str {
        match self {
            Self::Continue if situation.tool_calls > 0 => "tool_calls",
            Self::Continue if situation.provider_paused => "provider_paused",
            Self::Continue => "next_step",
            Self::Complete => "completion",
            Self::PauseForInput => "clarification",
            Self::PauseForConfirm => "risk",
            Self::PauseCheck if situation.interrupted => "interrupt",
            Self::PauseCheck => "momentum",
            Self::Limit(_) => "budget",
            Self::Stuck(pattern) => pattern.name(),
        }
    }
}

/// Decides what to do with a reply.
pub fn assess(situation: &Situation) -> Decision {
    let calls = situation.tool_calls > 0;
    if situation.interrupted {
        return Decision::PauseCheck;
    }
    let goes_on = calls || situation.provider_paused || situation.may_nudge;
    if goes_on && let Some(limit) = situation.limit {
        // A nudge is a courtesy: without budget the reply is simply the answer.
        if calls || situation.provider_paused {
            return Decision::Limit(limit);
        }
        return Decision::Complete;
    }
    if calls {
        return match (situation.stuck, situation.pace) {
            (Some(pattern), _) => Decision::Stuck(pattern),
            (None, Pace::Pause) => Decision::PauseCheck,
            (None, Pace::Good | Pace::Slow) if situation.asks => Decision::PauseForConfirm,
            (None, Pace::Good | Pace::Slow) => Decision::Continue,
        };
    }
    if situation.provider_paused {
        Decision::Continue
    } else if situation.asks_for_input {
        Decision::PauseForInput
    } else if situation.may_nudge {
        Decision::Continue
    } else {
        Decision::Complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Situation = Situation {
        interrupted: false,
        tool_calls: 0,
        limit: None,
        risk: RiskLevel::Safe,
        asks: false,
        stuck: None,
        pace: Pace::Good,
        provider_paused: false,
        asks_for_input: false,
        may_nudge: false,
    };

    #[test]
    fn c22_x13_the_order_is_fixed() {
        let calls = Situation { tool_calls: 1, ..PLAIN };
        let worst = Situation {
            interrupted: true,
            limit: Some(Limit::Iterations),
            risk: RiskLevel::Dangerous,
            asks: true,
            stuck: Some(Pattern::RepeatedCall),
            pace: Pace::Pause,
            asks_for_input: true,
            ..calls
        };
        assert_eq!(assess(&worst), Decision::PauseCheck);
        let worst = Situation { interrupted: false, ..worst };
        assert_eq!(assess(&worst), Decision::Limit(Limit::Iterations));
        let worst = Situation { limit: None, ..worst };
        assert_eq!(assess(&worst), Decision::Stuck(Pattern::RepeatedCall));
        let worst = Situation { stuck: None, ..worst };
        assert_eq!(assess(&worst), Decision::PauseCheck);
        let worst = Situation { pace: Pace::Slow, ..worst };
        assert_eq!(assess(&worst), Decision::PauseForConfirm);
        // A rule that permits a risky call, and one that asks about a harmless one.
        assert_eq!(assess(&Situation { asks: false, ..worst }), Decision::Continue);
        assert_eq!(assess(&Situation { risk: RiskLevel::Safe, ..worst }), Decision::PauseForConfirm);
    }

    #[test]
    fn x13_a_reply_with_calls_is_never_complete() {
        for asks_for_input in [false, true] {
            for may_nudge in [false, true] {
                for provider_paused in [false, true] {
                    let reply = Situation { tool_calls: 1, asks_for_input, may_nudge, provider_paused, ..PLAIN };
                    assert_ne!(assess(&reply), Decision::Complete);
                    assert_ne!(assess(&reply), Decision::PauseForInput);
                }
            }
        }
        assert_eq!(assess(&PLAIN), Decision::Complete);
        assert_eq!(assess(&Situation { asks_for_input: true, ..PLAIN }), Decision::PauseForInput);
        assert_eq!(assess(&Situation { may_nudge: true, ..PLAIN }), Decision::Continue);
    }
}
