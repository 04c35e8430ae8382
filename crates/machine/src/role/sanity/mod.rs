//! Sanity checks of a run: loops, drift, stuck states, contradictions.
//!
//! The rules read nothing but the messages and give the same result for the same ones. A second opinion can only make
//! a result stricter: [`SanityResult::stricter`] keeps every concern and never takes back a pause or an abort.

use std::{collections::BTreeSet, fmt::Write as _};

use serde::{Deserialize, Serialize};

use super::{plain_line, strip_prompt_markup};
use loopwright_base::{
    message::{Block, Message, Role, ToolResult, ToolUse},
    text::head,
};
use loopwright_monitor::{
    momentum::{Momentum, MomentumPolicy, Pace},
    signals::signals,
    stuck::{Pattern, StuckDetector, StuckPolicy, distinct_steps, outcomes},
};

mod contradiction;
mod drift;

use contradiction::contradictions;
use drift::drift;

/// Entries of each list, and characters of an entry.
const MOST: usize = 8;
const LONGEST: usize = 240;
/// Messages that are read at most.
const MAX_MESSAGES: usize = 400;
/// Bytes of a text that are read at most.
const MAX_TEXT: usize = 4_096;

/// Bytes of a message of the user in which wishes are looked for.
const MAX_USER_TEXT: usize = 65_536;

/// The kind of a concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConcernKind {
    /// The run repeats itself.
    Loop,
    /// The run has left the request.
    Drift,
    /// The run makes no progress.
    Stuck,
    /// The agent's words and actions contradict each other.
    Contradiction,
    /// Another concern.
    Other,
}

impl ConcernKind {
    /// The name in JSON and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Drift => "drift",
            Self::Stuck => "stuck",
            Self::Contradiction => "contradiction",
            Self::Other => "other",
        }
    }
}

/// A concern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concern {
    /// The kind.
    pub kind: ConcernKind,
    /// The concern, in words.
    pub text: String,
}

/// The result of a sanity check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SanityResult {
    /// The run serves the request.
    pub on_track: bool,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The progress, from 0 to 1.
    pub progress: f64,
    /// The concerns.
    pub concerns: Vec<Concern>,
    /// Suggestions for another approach.
    pub suggestions: Vec<String>,
    /// A person should look before the run goes on.
    pub should_pause: bool,
    /// The run should end.
    pub should_abort: bool,
}

impl Default for SanityResult {
    fn default() -> Self {
        Self {
            on_track: true,
            confidence: 0.6,
            progress: 0.0,
            concerns: Vec::new(),
            suggestions: Vec::new(),
            should_pause: false,
            should_abort: false,
        }
    }
}

impl SanityResult {
    /// The result with each field in its bounds.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let share = |value: f64| if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
        self.confidence = share(self.confidence);
        self.progress = share(self.progress);
        self.concerns.truncate(MOST);
        self.suggestions.truncate(MOST);
        for concern in &mut self.concerns {
            concern.text = plain_line(&concern.text, LONGEST);
        }
        for suggestion in &mut self.suggestions {
            *suggestion = plain_line(suggestion, LONGEST);
        }
        self.concerns.retain(|concern| !concern.text.is_empty());
        self.suggestions.retain(|suggestion| !suggestion.is_empty());
        self
    }

    /// The stricter of this result and a second opinion, in everything that decides.
    #[must_use]
    pub fn stricter(mut self, other: Self) -> Self {
        self.confidence = if self.on_track == other.on_track {
            self.confidence.max(other.confidence)
        } else if self.on_track {
            other.confidence
        } else {
            self.confidence
        };
        self.on_track &= other.on_track;
        self.progress = self.progress.min(other.progress);
        self.should_pause |= other.should_pause;
        self.should_abort |= other.should_abort;
        for concern in other.concerns {
            if !self.concerns.contains(&concern) {
                self.concerns.push(concern);
            }
        }
        for suggestion in other.suggestions {
            if !self.suggestions.contains(&suggestion) {
                self.suggestions.push(suggestion);
            }
        }
        self.bounded()
    }

    fn concern(&mut self, kind: ConcernKind, text: String, suggestion: &str) {
        self.concerns.push(Concern { kind, text });
        if !self.suggestions.iter().any(|known| known == suggestion) {
            self.suggestions.push(suggestion.to_owned());
        }
    }
}

/// The beginning of the note that tells a model of a check. Notes are ours: no word of theirs is the user's.
const HEAD: &str = "[Sanity check";

/// The note to the model about a result; `None` where there is nothing to tell.
pub fn note_of(result: &SanityResult) -> Option<String> {
    if result.concerns.is_empty() && result.suggestions.is_empty() {
        return None;
    }
    let mut note = format!("{HEAD}, an observation and no instruction of the user:");
    for concern in result.concerns.iter().take(4) {
        let _ = write!(note, " {}: {};", concern.kind.name(), strip_prompt_markup(&concern.text, LONGEST));
    }
    for suggestion in result.suggestions.iter().take(3) {
        let _ = write!(note, " consider: {};", strip_prompt_markup(suggestion, LONGEST));
    }
    note.pop();
    note.push(']');
    Some(note)
}

/// A round: the agent's words and calls, and their results.
#[derive(Default)]
struct CheckedRound<'a> {
    said: String,
    calls: Vec<(&'a ToolUse, Option<&'a ToolResult>)>,
}

/// Looks at messages by rules.
pub fn check_sanity<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message>,
    stuck: Option<&StuckPolicy>,
    momentum: Option<&MomentumPolicy>,
) -> SanityResult {
    let mut looked: Vec<&Message> = messages.rev().take(MAX_MESSAGES).collect();
    looked.reverse();
    let mut asked: Vec<String> = Vec::new();
    let mut rounds: Vec<CheckedRound<'a>> = Vec::new();
    for message in looked {
        match message.role {
            Role::Assistant => {
                let calls = message.tool_uses().map(|call| (call, None)).collect();
                rounds.push(CheckedRound { said: message.prose(), calls });
            }
            Role::User => {
                let results: Vec<&ToolResult> = message.tool_results().collect();
                if let Some(round) = rounds.last_mut() {
                    for result in &results {
                        if let Some((_, slot)) =
                            round.calls.iter_mut().find(|(call, slot)| slot.is_none() && call.id == result.id)
                        {
                            *slot = Some(result);
                        }
                    }
                }
                let texts = message.content.iter().filter_map(|block| match block {
                    // What stands beside results in brackets is ours.
                    Block::Text(text) if results.is_empty() || !text.text.starts_with('[') => Some(&text.text),
                    _ => None,
                });
                let text = texts.fold(String::new(), |all, text| all + text + "\n");
                if !text.trim().is_empty() && !text.starts_with('[') {
                    // A new wish: what was done for the last one says nothing about this one.
                    asked.push(text);
                    rounds.clear();
                }
            }
            Role::System | Role::Developer => {}
        }
    }
    judge(&asked, &rounds, stuck, momentum)
}

fn judge(
    asked: &[String],
    rounds: &[CheckedRound<'_>],
    stuck: Option<&StuckPolicy>,
    momentum: Option<&MomentumPolicy>,
) -> SanityResult {
    let mut result = SanityResult::default();
    let mut detector = StuckDetector::new(stuck.cloned().unwrap_or_default());
    for text in asked {
        detector.show(text);
    }
    let mut moment = Momentum::default();
    let (mut news, mut seen) = (0_usize, BTreeSet::new());
    let mut last_failed = None;
    for round in rounds {
        let pairs = round.calls.iter().filter_map(|(call, result)| Some((*call, (*result)?)));
        let steps = pairs
            .clone()
            .map(|(call, result)| (detector.step(call, result), call.name.as_str(), call.arguments_text()));
        let steps = distinct_steps(steps);
        if steps.is_empty() {
            if !round.said.trim().is_empty() && round.calls.is_empty() {
                detector.record_text(&round.said);
            }
            continue;
        }
        detector.record_steps(&steps, None);
        let mut fresh = false;
        for (call, result) in pairs {
            fresh |=
                !result.is_error && seen.insert((call.name.clone(), call.arguments_text().to_owned(), result.prose()));
        }
        news += usize::from(fresh);
        let mut failed = true;
        for succeeded in outcomes(&steps) {
            moment.record(succeeded);
            failed &= !succeeded;
        }
        last_failed = Some(failed);
    }
    let working = rounds.iter().filter(|round| !round.calls.is_empty()).count();
    let done = rounds.last().is_some_and(|round| round.calls.is_empty() && signals(&round.said).complete);
    result.progress = if done && last_failed != Some(true) {
        1.0
    } else if working == 0 {
        0.0
    } else {
        // Each round that brings something new halves what is left, up to a point nobody can see from outside.
        (1.0 - 0.8_f64.powi(i32::try_from(news).unwrap_or(i32::MAX))) * 0.9
    };
    loops(&detector, &mut result);
    let policy = momentum.copied().unwrap_or_default();
    match moment.pace(&policy) {
        Pace::Good => {}
        pace => {
            let (successes, count) = moment.seen(&policy);
            let text = format!("only {successes} of the last {count} calls succeeded");
            result.concern(ConcernKind::Stuck, text, "find out why the calls fail before making more of them");
            result.should_pause |= pace == Pace::Pause;
        }
    }
    contradictions(asked, rounds, last_failed, &mut result);
    drift(asked, rounds, &mut result);
    result.on_track = result.concerns.is_empty();
    result.confidence = if result.concerns.is_empty() { 0.6 } else { 0.9 };
    result.bounded()
}

fn loops(detector: &StuckDetector, result: &mut SanityResult) {
    let Some(verdict) = detector.verdict() else { return };
    let kind = match verdict.pattern {
        Pattern::RepeatedCall | Pattern::NearDuplicate | Pattern::Cycle | Pattern::RepeatedText => ConcernKind::Loop,
        Pattern::RepeatedError | Pattern::NoChange | Pattern::Monologue => ConcernKind::Stuck,
    };
    let suggestion = if kind == ConcernKind::Loop {
        "use what is there already, or do something else"
    } else {
        "find the cause, or take another way"
    };
    let least = u64::from(detector.policy().repeats.max(2));
    result.should_pause = true;
    result.should_abort = verdict.rounds >= least.saturating_mul(2);
    result.concern(kind, verdict.sentence, suggestion);
}

fn start_of(text: &str) -> &str {
    head(text, MAX_TEXT)
}

#[cfg(test)]
mod tests;
