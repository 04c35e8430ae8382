//! How much a unit matters, and the tier that follows from it.
//!
//! `base(category) / (1 + decay · age) + keyword + references + error + decision + file`, held between 0 and 1; the
//! weights are configuration. Age is counted in units, never in time.

use serde::{Deserialize, Serialize};

use super::policy::Weights;

/// What the formula looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Instructions.
    System,
    /// What failed.
    Error,
    /// What the user said.
    User,
    /// The goal.
    Intent,
    /// A tool's result.
    ToolResult,
    /// A tool use whose result says nothing.
    ToolCall,
    /// What the model said.
    Assistant,
    /// A constraint stated in passing.
    Constraint,
    /// A summary.
    Summary,
}

/// Where a unit stands among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// At the centre: 0.8 and more.
    Focus,
    /// Still at hand: 0.5 and more.
    Recent,
    /// As a summary: 0.25 and more.
    Memory,
    /// As names and facts.
    Project,
}

/// The features of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// What it is.
    pub category: Category,
    /// How many units came after it.
    pub age: usize,
    /// Share of the words that matter now which stand in it, 0 to 1.
    pub keyword: f64,
    /// How many later units use what stands there.
    pub references: usize,
    /// Whether it tells of an error.
    pub error: bool,
    /// Whether something was decided.
    pub decision: bool,
    /// Whether a file was changed.
    pub file: bool,
}

impl Features {
    /// The salience, 0 to 1.
    pub fn salience(&self, weights: &Weights) -> f64 {
        let base = match self.category {
            Category::System => weights.system,
            Category::Error => weights.error,
            Category::User => weights.user,
            Category::Intent => weights.intent,
            Category::ToolResult => weights.tool_result,
            Category::ToolCall => weights.tool_call,
            Category::Assistant => weights.assistant,
            Category::Constraint => weights.constraint,
            Category::Summary => weights.summary,
        };
        let flag = |on: bool, weight: f64| if on { weight } else { 0.0 };
        let score = base / (1.0 + weights.decay * self.age as f64)
            + weights.keyword * self.keyword
            + (weights.reference * self.references as f64).min(weights.references)
            + flag(self.error, weights.is_error)
            + flag(self.decision, weights.decision)
            + flag(self.file, weights.file);
        score.clamp(0.0, 1.0)
    }
}

impl Tier {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Focus => "focus",
            Self::Recent => "recent",
            Self::Memory => "memory",
            Self::Project => "project",
        }
    }

    /// The tier of a salience.
    pub fn of(salience: f64) -> Self {
        if salience >= 0.8 {
            Self::Focus
        } else if salience >= 0.5 {
            Self::Recent
        } else if salience >= 0.25 {
            Self::Memory
        } else {
            Self::Project
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c17_salience_and_tiers() {
        let weights = Weights::default();
        let mut features = Features {
            category: Category::ToolResult,
            age: 0,
            keyword: 0.0,
            references: 0,
            error: false,
            decision: false,
            file: false,
        };
        assert_eq!(Tier::of(features.salience(&weights)), Tier::Focus);
        features.age = 2;
        assert!((features.salience(&weights) - 0.8 / 1.6).abs() < 1e-12);
        assert_eq!(Tier::of(features.salience(&weights)), Tier::Recent);
        features.age = 100;
        assert_eq!(Tier::of(features.salience(&weights)), Tier::Project);
        features.references = 9;
        assert_eq!(Tier::of(features.salience(&weights)), Tier::Memory);
        (features.error, features.decision, features.file, features.keyword) = (true, true, true, 1.0);
        assert_eq!(Tier::of(features.salience(&weights)), Tier::Focus);
    }
}
