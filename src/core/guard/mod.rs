//! What may run, and what may be shown: rules that are deterministic, explain themselves and cost microseconds.
//! A model may add an opinion on top; it never loosens a verdict of this room.

pub mod approval;
mod authority;
mod code;
mod command;
mod files;
mod flow;
mod gate;
mod level;
mod lines;
mod names;
mod paths;
pub mod policy;
mod risk;
mod rules;
mod shape;
pub mod shell;
mod shown;
mod sql;
mod table;

pub use authority::Authority;
#[cfg(feature = "store")]
pub(crate) use authority::own_words;
pub use gate::{Cautious, DecidedBy, Declared, GuardConfig, Judgement, judge};
pub use level::RiskLevel;
pub use paths::RiskContext;
pub use risk::{DeclaredRisk, Part, Risk, assess_arguments, assess_risk, assess_shell};

pub mod sensitivity;
