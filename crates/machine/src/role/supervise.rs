//! Decisions whether a private result may go on to the model.
//!
//! The rules know three things: what the result holds, whether the user's own words ask for it, and how much of it
//! there is. Secrets are nothing for them or for a model: a person decides.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::plain_line;
use loopwright_guard::sensitivity::{Level, Sensitivity, redact};
use loopwright_lexicon::words::each_term;

/// Finds below which somebody asked for them, and above which they are a list of everybody.
const MAX_ASKED: usize = 3;
const MIN_LIST: usize = 20;

/// The private data of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateFinds {
    /// The sensitivity level.
    pub level: Level,
    /// The detectors that found something.
    pub detectors: BTreeSet<String>,
    /// The number of finds.
    pub count: usize,
    /// The beginning of the result, without the finds.
    pub excerpt: String,
}

impl PrivateFinds {
    /// The finds that detectors report of a text.
    pub fn of(text: &str, sensitivity: &Sensitivity) -> Self {
        Self {
            level: sensitivity.level,
            detectors: sensitivity.hits.iter().map(|hit| hit.detector.to_owned()).collect(),
            count: sensitivity.hits.len(),
            excerpt: plain_line(&redact(text), 600),
        }
    }

    /// The finds in a few words.
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.detectors.iter().take(6).map(String::as_str).collect();
        let what = if names.is_empty() { "by its source".to_owned() } else { names.join(", ") };
        format!("{} data ({what})", self.level.name())
    }
}

/// The verdict of a supervisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The model may see it.
    pub allow: bool,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The sensitivity of the result.
    pub sensitivity: Level,
    /// The purpose of the call.
    pub intent: String,
    /// The reason.
    pub reason: String,
}

impl Verdict {
    /// The verdict with each field in its bounds.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.confidence = if self.confidence.is_finite() { self.confidence.clamp(0.0, 1.0) } else { 0.0 };
        self.intent = plain_line(&self.intent, 200);
        self.reason = plain_line(&self.reason, 200);
        self
    }
}

/// The verdict of the rules. `asked` is the user's text, `arguments` those of the call.
pub fn rule_verdict(found: &PrivateFinds, tool: &str, arguments: &str, asked: &str) -> Verdict {
    let wanted = terms(asked);
    let named = terms(arguments).union(&terms(&tool.replace('_', " "))).any(|term| wanted.contains(term));
    let mut confidence: f64 = 0.55;
    let mut reasons = Vec::new();
    if named {
        confidence += 0.25;
        reasons.push("the user's words ask for it");
    } else {
        reasons.push("the user's words do not ask for it");
    }
    if found.count > MIN_LIST {
        confidence -= 0.35;
        reasons.push("it holds a great deal of it");
    } else if found.count <= MAX_ASKED {
        confidence += 0.05;
    }
    if found.level == Level::Secret {
        confidence = 0.0;
        reasons.push("secrets are for a person to release");
    }
    Verdict {
        allow: confidence >= 0.5,
        confidence,
        sensitivity: found.level,
        intent: plain_line(&format!("{tool}({arguments})"), 200),
        reason: reasons.join("; "),
    }
}

fn terms(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_term(text, |term| {
        if term.len() > 2 && found.len() < 2_000 {
            found.insert(term.to_owned());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_guard::sensitivity::classify;

    #[test]
    fn d14_rules_are_sure_only_of_what_was_asked_for() {
        let text = "name: Ann Lee, ssn: 536-22-8726, card 4539 1488 0343 6467";
        let found = PrivateFinds::of(text, &classify(text));
        assert!(found.level >= Level::Sensitive && !found.excerpt.contains("536-22"), "{found:?}");
        let asked = "What is the address of customer Lee?";
        let verdict = rule_verdict(&found, "db_query", r#"{"q":"select * from customers where name='Lee'"}"#, asked);
        assert!(verdict.allow && verdict.confidence >= 0.7, "{verdict:?}");
        let other = rule_verdict(&found, "db_query", r#"{"q":"select * from staff"}"#, "How is the weather?");
        assert!(other.confidence < 0.7, "{other:?}");
        let secret = PrivateFinds { level: Level::Secret, ..found };
        assert!(!rule_verdict(&secret, "db_query", r#"{"q":"customer Lee"}"#, asked).allow);
    }
}
