//! How much harm a call may do: one ordered scale for tools, rules, policies and questions to people.

use serde::{Deserialize, Serialize};

/// How much harm a call may do, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// Changes nothing.
    Safe,
    /// Changes what can be undone.
    #[default]
    Cautious,
    /// Runs only after a person agreed.
    Confirm,
    /// Runs only after a person agreed, each time anew.
    Dangerous,
}

impl RiskLevel {
    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Cautious => "cautious",
            Self::Confirm => "confirm",
            Self::Dangerous => "dangerous",
        }
    }

    /// The risk of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "safe" => Some(Self::Safe),
            "cautious" => Some(Self::Cautious),
            "confirm" => Some(Self::Confirm),
            "dangerous" => Some(Self::Dangerous),
            _ => None,
        }
    }
}
