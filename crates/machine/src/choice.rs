//! The choice of a run's model: the answer of whoever was asked, and its effect.
//!
//! A choice counts by its confidence: from `enforce` up it holds, from `suggest` up it is a suggestion that holds only
//! where suggestions are taken, below it is a remark.

use serde::{Deserialize, Serialize};

use crate::ModelSettings;
use loopwright_base::error::{Error, Result};
use loopwright_models::price::Price;

/// A chosen model, with a confidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The model, as the driver knows it.
    pub model: String,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The price of its tokens, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Settings of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Box<ModelSettings>>,
}

impl ModelChoice {
    /// The choice of a model by its name, without a reason.
    pub fn named(model: impl Into<String>, confidence: f64) -> Self {
        Self { model: model.into(), confidence, ..Self::default() }
    }
}

/// The effect of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceMode {
    /// The choice holds.
    Enforce,
    /// The choice holds where suggestions are taken.
    Suggest,
    /// The choice is reported and does not hold.
    Defer,
    /// Too few calls succeeded: the stronger model goes on.
    Escalate,
}

impl ChoiceMode {
    /// The name in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Suggest => "suggest",
            Self::Defer => "defer",
            Self::Escalate => "escalate",
        }
    }
}

/// The rules of choosing a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceConfig {
    /// A person or function is asked before the first request.
    pub ask: bool,
    /// Suggestions are taken.
    pub suggestions: bool,
    /// The confidence from which a choice holds.
    pub enforce: f64,
    /// The confidence from which a choice is a suggestion.
    pub suggest: f64,
    /// The model that goes on, once, when too few calls succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_to: Option<String>,
    /// The price of that model's tokens, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_price: Option<Price>,
    /// Settings of that model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_settings: Option<Box<ModelSettings>>,
}

impl ChoiceConfig {
    /// The model to escalate to is that of another configuration, if any.
    pub(crate) fn take_models(&mut self, other: &Self) {
        self.escalate_to.clone_from(&other.escalate_to);
        self.escalate_price.clone_from(&other.escalate_price);
        self.escalate_settings.clone_from(&other.escalate_settings);
    }
}

impl Default for ChoiceConfig {
    fn default() -> Self {
        Self {
            ask: false,
            suggestions: false,
            enforce: 0.8,
            suggest: 0.5,
            escalate_to: None,
            escalate_price: None,
            escalate_settings: None,
        }
    }
}

impl ChoiceConfig {
    /// The effect of a choice of that confidence.
    pub fn mode(&self, confidence: f64) -> ChoiceMode {
        if confidence >= self.enforce {
            ChoiceMode::Enforce
        } else if confidence >= self.suggest {
            ChoiceMode::Suggest
        } else {
            ChoiceMode::Defer
        }
    }

    /// Checks the numbers and names.
    pub fn check(&self) -> Result<()> {
        if !(0.0 <= self.suggest && self.suggest <= self.enforce && self.enforce <= 1.0) {
            let message = format!("a choice is enforced from {} and suggested from {}", self.enforce, self.suggest);
            return Err(Error::usage("invalid_number", message).hint("give 0 <= suggest <= enforce <= 1"));
        }
        if self.escalate_to.as_ref().is_some_and(|model| model.trim().is_empty()) {
            return Err(Error::usage("empty_model", "escalate_to names no model").hint("name a model, or leave it out"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d06_confidence_decides() {
        let config = ChoiceConfig::default();
        let modes = [1.0, 0.8, 0.79, 0.5, 0.49, 0.0, -1.0, f64::NAN].map(|confidence| config.mode(confidence).name());
        assert_eq!(modes, ["enforce", "enforce", "suggest", "suggest", "defer", "defer", "defer", "defer"]);
        assert!(ChoiceConfig { enforce: 0.4, ..config.clone() }.check().is_err());
        assert!(ChoiceConfig { suggest: f64::NAN, ..config.clone() }.check().is_err());
        assert!(ChoiceConfig { escalate_to: Some(" ".into()), ..config }.check().is_err());
    }
}
