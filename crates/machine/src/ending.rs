//! Messages to people about the end of a run: what happened, why, and what to do next.
//!
//! The words are made from the outcome alone when somebody asks, in every language binding and on the command line
//! alike; journals do not hold them.

use loopwright_base::text::clip;

use super::{Outcome, Stop};

/// The length of the longest quoted piece of an error or a call, in characters.
const SHOWN: usize = 300;

impl Outcome {
    /// The message to people: what happened, why, and what to do next. It is never empty: where a machine or a hook
    /// left a message of its own, that is it.
    pub fn words(&self) -> String {
        if let Some(said) = self.message.as_deref().filter(|said| !said.trim().is_empty()) {
            return said.to_owned();
        }
        let spent = &self.spent;
        let requests = counted(u64::from(spent.iterations), "request to the model", "requests to the model");
        let rounds = counted(u64::from(spent.tool_rounds), "round of tool calls", "rounds of tool calls");
        let on = "Answer the run to let it go on with what it has";
        match self.stop {
            Stop::Natural | Stop::NoToolUse => format!("The model was done, after {requests}."),
            Stop::Verified => "The answer was checked against its sources.".into(),
            Stop::Abstained => "The sources do not hold the answer. Name other sources, or ask in their words.".into(),
            Stop::Unverified => "No draft passed the check against the sources. Ask for one fact at a time, or name \
                                 other sources."
                .into(),
            Stop::NeedsUserInput => {
                "The model asks you something before it goes on. Answer the run, and it goes on.".into()
            }
            Stop::Ambiguous => "What was asked can be read in more than one way, or lacks something: the answer asks \
                                what is meant. Answer the run, and it goes on."
                .into(),
            Stop::CheckIn => {
                format!(
                    "Paused for a check-in after {requests}, as configured (`pause_every`). {on}: \"go on\" is enough."
                )
            }
            Stop::UserInterrupt => format!("Stopped after this round, as somebody wished; {requests} so far. {on}."),
            Stop::Cancelled => format!("Cancelled, as somebody wished; {requests} so far. {on}."),
            Stop::DestructiveOperation => {
                format!("A person forbade {} and ended the run. {on} in another way.", last_call(self))
            }
            Stop::Rounds => limit(&format!("the limit of requests to the model ({})", spent.iterations), "rounds"),
            Stop::ToolRounds => {
                limit(&format!("the limit of rounds of tool calls ({})", spent.tool_rounds), "tool_rounds")
            }
            Stop::WallTime => limit(&format!("the limit of time ({:.1} seconds)", self.duration), "wall_time"),
            Stop::Tokens => {
                let used = spent.usage.input.saturating_add(spent.usage.output);
                limit(&format!("the limit of tokens ({used} used)"), "tokens")
            }
            Stop::Cost => {
                let used = spent.cost.map_or_else(String::new, |cost| format!(" ({cost:.4} used)"));
                limit(&format!("the limit of money{used}"), "cost")
            }
            Stop::Approvals => limit(&format!("the limit of questions to a person ({})", spent.approvals), "approvals"),
            Stop::OutputLimit => "The answer was cut at the model's output limit. Allow longer answers \
                                  (`max_tokens`), or ask for a shorter one."
                .into(),
            Stop::NoProgress => format!(
                "Stopped after {rounds} without progress: the same was done again and again, last {}. {on}: say what \
                 else to try.",
                last_call(self)
            ),
            Stop::LowMomentum => format!(
                "Stopped: too little of what was tried succeeded, {} of {}; last {}. {on}: say what is in its way.",
                self.tool_calls.iter().filter(|call| call.failure.is_some()).count(),
                counted(self.tool_calls.len() as u64, "call failed", "calls failed"),
                last_call(self)
            ),
            Stop::RepeatedFailures => format!(
                "Stopped after {rounds}: the same error came again and again, last {}. {on}: say what to do about it.",
                last_call(self)
            ),
            Stop::Refusal => "The model refused to answer. Ask in other words, or another model.".into(),
            Stop::ContentFilter => {
                "The provider's filter cut the answer. Ask in other words, or another provider.".into()
            }
            Stop::ContextWindow => "The messages no longer fit into the model's context window. Begin anew with fewer \
                                    of them, or use a model with a larger window."
                .into(),
            Stop::SanityPause => format!("Paused after {requests}: {} {on}.", self.sanity("somebody should look")),
            Stop::SanityAbort => {
                format!("Stopped after {requests}: {} Begin anew with a narrower task.", self.sanity("it goes nowhere"))
            }
            Stop::HookVeto => "A hook said no. The warnings name the hook.".into(),
            Stop::HookFailed => format!("A hook failed that must not fail{}.", self.why()),
            Stop::Suspended => "The pending calls wait for a person, or for work done elsewhere. Resume the run with \
                                the answers, and it goes on."
                .into(),
            Stop::Error => format!("An error ended the run{}.", self.why()),
        }
    }

    /// The error, with its hint.
    fn why(&self) -> String {
        let Some(error) = &self.error else { return String::new() };
        let said = error.message.trim().trim_end_matches('.');
        let hint = error.hint.as_deref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!(": {}{hint}", clip(said, SHOWN))
    }

    /// The finding of the last check of the run's sanity.
    fn sanity(&self, otherwise: &str) -> String {
        let found = self.roles.sanity.last().and_then(|check| check.result.concerns.first());
        let said = found.map_or(otherwise, |concern| concern.text.as_str());
        format!("a check of the run says: {}.", clip(said.trim_end_matches('.'), SHOWN))
    }
}

fn limit(which: &str, name: &str) -> String {
    format!(
        "Stopped at {which}, before the model was done. Answer the run to let it go on with what it has, or give it \
         more: `agent.resume(result, budget=…)`, with another `{name}`."
    )
}

fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// The last tool that was called, with its error.
fn last_call(outcome: &Outcome) -> String {
    let Some(call) = outcome.tool_calls.last() else { return "what was under way".to_owned() };
    let failed = call.failure.as_deref().map_or_else(String::new, |kind| format!(" ({kind})"));
    format!("the tool {:?}{failed}", clip(&call.name, SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every stop reason that the source names.
    fn stops() -> Vec<Stop> {
        let source = include_str!("outcome.rs");
        let names = source.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \""));
        let names = names.filter_map(|(_, rest)| rest.strip_suffix("\","));
        names.map(|name| serde_json::from_value(name.into()).expect("a stop reason")).collect()
    }

    #[test]
    fn s09_every_end_has_words_of_its_own() {
        let stops = stops();
        assert!(stops.len() > 25, "{stops:?}");
        let words: Vec<String> = stops.iter().map(|stop| Outcome::new(*stop).words()).collect();
        for (at, said) in words.iter().enumerate() {
            assert!(said.len() > 20 && said.ends_with('.') | said.ends_with("enough."), "{said}");
            assert!(!words[..at].contains(said) || stops[at] == Stop::NoToolUse, "{said}");
        }
    }

    #[test]
    fn s09_a_pause_names_the_last_call_and_an_error_its_hint() {
        let mut outcome = Outcome::new(Stop::RepeatedFailures);
        outcome.spent.tool_rounds = 1;
        outcome.tool_calls.push(super::super::CallRecord {
            id: "c1".into(),
            name: "deploy".into(),
            input: loopwright_base::json::Raw::empty_object(),
            iteration: 1,
            at: 0.0,
            duration: 0.1,
            failure: Some("timeout".into()),
        });
        let said = outcome.words();
        assert!(said.contains("1 round of tool calls") && said.contains("\"deploy\" (timeout)"), "{said}");
        let mut outcome = Outcome::new(Stop::Error);
        outcome.error = Some(loopwright_base::error::Error::usage("x", "no key.").hint("set one"));
        assert_eq!(outcome.words(), "An error ended the run: no key (set one).");
        outcome.message = Some("a message of the machine".into());
        assert_eq!(outcome.words(), "a message of the machine");
    }
}
