//! Whether a result that holds private things may go on to the model.
//!
//! The rules know three things: what the result holds, whether the user's own words ask for it, and how much of it
//! there is. Secrets are nothing for them or for a model: a person decides.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::plain;
use loopwright_guard::sensitivity::{Level, Sensitivity, redact};
use loopwright_lexicon::words::each_term;

/// Fewer finds than this are what somebody asked for; more than that are a list of everybody.
const FEW: usize = 3;
const MANY: usize = 20;

/// What was found in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its class.
    pub level: Level,
    /// The detectors that found something.
    pub detectors: BTreeSet<String>,
    /// How many finds.
    pub count: usize,
    /// Its beginning, without the finds.
    pub excerpt: String,
}

impl Found {
    /// From what the detectors say of a text.
    pub fn of(text: &str, sensitivity: &Sensitivity) -> Self {
        Self {
            level: sensitivity.level,
            detectors: sensitivity.hits.iter().map(|hit| hit.detector.to_owned()).collect(),
            count: sensitivity.hits.len(),
            excerpt: plain(&redact(text), 600),
        }
    }

    /// In a few words.
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.detectors.iter().take(6).map(String::as_str).collect();
        let what = if names.is_empty() { "by its source".to_owned() } else { names.join(", ") };
        format!("{} data ({what})", self.level.name())
    }
}

/// What a supervisor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The model may see it.
    pub allow: bool,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// What it takes the result for.
    pub sensitivity: Level,
    /// What the call was for.
    pub intent: String,
    /// Why.
    pub reason: String,
}

impl Verdict {
    /// The same, each field in its bounds.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.confidence = if self.confidence.is_finite() { self.confidence.clamp(0.0, 1.0) } else { 0.0 };
        self.intent = plain(&self.intent, 200);
        self.reason = plain(&self.reason, 200);
        self
    }
}

/// What the rules say. `asked` is what the user wrote, `arguments` those of the call.
pub fn rule_verdict(found: &Found, tool: &str, arguments: &str, asked: &str) -> Verdict {
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
    if found.count > MANY {
        confidence -= 0.35;
        reasons.push("it holds a great deal of it");
    } else if found.count <= FEW {
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
        intent: plain(&format!("{tool}({arguments})"), 200),
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
        let found = Found::of(text, &classify(text));
        assert!(found.level >= Level::Sensitive && !found.excerpt.contains("536-22"), "{found:?}");
        let asked = "What is the address of customer Lee?";
        let verdict = rule_verdict(&found, "db_query", r#"{"q":"select * from customers where name='Lee'"}"#, asked);
        assert!(verdict.allow && verdict.confidence >= 0.7, "{verdict:?}");
        let other = rule_verdict(&found, "db_query", r#"{"q":"select * from staff"}"#, "How is the weather?");
        assert!(other.confidence < 0.7, "{other:?}");
        let secret = Found { level: Level::Secret, ..found };
        assert!(!rule_verdict(&secret, "db_query", r#"{"q":"customer Lee"}"#, asked).allow);
    }
}
