//! Token counts: exact where a vocabulary is public, with a stated margin where not.
//!
//! Vocabularies stand in the binary; nothing is ever fetched. See docs/tokens.md for where they come from, and for
//! what the numbers mean.
//!
//! ```
//! use loopwright_tokens::Tokenizer;
//!
//! let tokenizer = Tokenizer::for_model("gpt-4o");
//! assert!(tokenizer.is_exact());
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]
// What runs for each piece must become part of the loop that is compiled for the processor at hand; see `wide`.
#![allow(clippy::inline_always)]

mod anchors;
mod class;
mod count;
mod declared;
mod estimate;
mod exact;
mod json;
mod kinds;
mod learned;
mod merge;
mod model;
mod picture;
mod request;
mod scan;
mod split;
mod vocabulary;
mod wide;

pub use count::{Count, TokenCounter};
pub use exact::{Encoding, cl100k_base, o200k_base};
pub use json::{DEPTH as JSON_DEPTH, Json};
pub use kinds::{KINDS, Kind, Mix};
pub use learned::LearnedRatios;
pub use model::Tokenizer;
