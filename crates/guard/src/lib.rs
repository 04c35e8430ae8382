//! What may run, and what may be shown: rules that are deterministic, explain themselves and cost microseconds.
//! A model may add an opinion on top; it never loosens a verdict of this room.
//!
//! ```
//! use loopwright_guard::{RiskContext, RiskLevel, assess_shell};
//!
//! assert_eq!(assess_shell("ls -l", &RiskContext::default()).level, RiskLevel::Safe);
//! assert_eq!(assess_shell("rm -rf ~", &RiskContext::default()).level, RiskLevel::Dangerous);
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod approval;
mod authority;
mod code;
mod command;
mod disguise;
mod files;
mod flow;
mod gate;
mod handed;
mod level;
mod lines;
mod links;
mod names;
pub mod origin;
mod paths;
pub mod policy;
mod records;
mod risk;
mod rules;
mod shape;
pub mod shell;
mod shown;
mod sql;
mod steps;
mod table;

pub use authority::Authority;
pub use authority::own_words;
pub use disguise::visible;
pub use gate::{
    Assessment, Cautious, DecidedBy, Declared, GuardConfig, Judgement, assess, assess_call, judge, judge_led, leads_to,
};
pub use level::RiskLevel;
pub use links::{Links, named_paths};
pub use paths::RiskContext;
pub use records::Commands;
pub use risk::{DeclaredRisk, Part, Risk, assess_arguments, assess_risk, assess_shell};
pub use steps::{LineStep, steps};

pub mod sensitivity;
