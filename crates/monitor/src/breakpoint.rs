//! The reasons for which a loop hands back to people: nine, named as designs name them.

use serde::{Deserialize, Serialize};

/// Why a loop hands back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakpoint {
    /// Somebody stopped it.
    UserInterrupt,
    /// It would have destroyed something.
    DestructiveOperation,
    /// It used up its requests.
    MaxIterations,
    /// It goes round in circles.
    NoProgress,
    /// Too little succeeds.
    LowMomentum,
    /// The same error again and again.
    RepeatedFailures,
    /// It is done.
    TaskComplete,
    /// It needs to know something.
    NeedsUserInput,
    /// What is asked can be read in more than one way.
    Ambiguous,
}

impl Breakpoint {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::UserInterrupt,
        Self::DestructiveOperation,
        Self::MaxIterations,
        Self::NoProgress,
        Self::LowMomentum,
        Self::RepeatedFailures,
        Self::TaskComplete,
        Self::NeedsUserInput,
        Self::Ambiguous,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserInterrupt => "user_interrupt",
            Self::DestructiveOperation => "destructive_operation",
            Self::MaxIterations => "max_iterations",
            Self::NoProgress => "no_progress",
            Self::LowMomentum => "low_momentum",
            Self::RepeatedFailures => "repeated_failures",
            Self::TaskComplete => "task_complete",
            Self::NeedsUserInput => "needs_user_input",
            Self::Ambiguous => "ambiguous",
        }
    }
}
