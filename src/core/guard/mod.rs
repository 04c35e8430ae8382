//! What may run, and what may be shown: rules that are deterministic, explain themselves and cost microseconds.
//! A model may add an opinion on top; it never loosens a verdict of this room.

mod level;

pub use level::RiskLevel;

pub mod sensitivity;
