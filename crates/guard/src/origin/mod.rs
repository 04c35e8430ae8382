//! Where the values of a call come from: the user's words, a trusted result, a text that others may have written, or
//! the model itself. A call that reaches outside with what only an untrusted text says, or that nobody asked for once
//! such a text was shown, is asked about, and the question says where the value stands.
//!
//! Values are compared as they are written, without regard to case, punctuation and spelling of dates and numbers. What
//! a model says in other words has no origin that can be seen.

mod address;
mod plain;
mod shown;
mod tool;
mod trace;

#[cfg(test)]
mod tests;

pub use shown::{Origin, Shown, quotes_others};
pub use tool::{ToolEffect, ToolFlow, Trust};
pub use trace::{Agreed, Call, Finding, trace};
