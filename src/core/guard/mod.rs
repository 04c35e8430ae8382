//! What may run, and what may be shown: rules that are deterministic, explain themselves and cost microseconds.
//! A model may add an opinion on top; it never loosens a verdict of this room.

mod authority;
mod gate;
mod level;
mod lines;
pub mod policy;
pub mod shell;

pub use authority::Authority;
pub use gate::{Cautious, DecidedBy, Declared, GuardConfig, Judgement, judge};
pub use level::RiskLevel;

pub mod sensitivity;

mod code;
mod command;
mod files;
mod paths;
mod risk;
mod rules;
mod sql;
mod table;

pub use paths::RiskContext;
pub use risk::{DeclaredRisk, Part, Risk, assess_arguments, assess_risk, assess_shell};
