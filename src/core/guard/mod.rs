//! What may run, and what may be shown: rules that are deterministic, explain themselves and cost microseconds.
//! A model may add an opinion on top; it never loosens a verdict of this room.

mod code;
mod command;
mod files;
mod level;
mod paths;
mod risk;
mod rules;
pub mod shell;
mod sql;
mod table;

pub use level::RiskLevel;
pub use paths::RiskContext;
pub use risk::{DeclaredRisk, Part, Risk, assess_arguments, assess_risk, assess_shell};
