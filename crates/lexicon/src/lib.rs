//! How texts are read as language: words and their stems, sentences and their places, months, comparisons.
//!
//! Whatever else reads prose stands on this, so that a sentence is the same in each room. Nothing is guessed from a
//! list of one's own elsewhere.
//!
//! ```
//! use loopwright_lexicon::words::terms;
//!
//! assert_eq!(terms("listening servers"), terms("listen server"));
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod contrast;
pub mod lines;
pub mod meanings;
pub mod months;
pub mod reading;
pub mod sentences;
pub mod stem;
pub mod tongues;
pub mod words;
