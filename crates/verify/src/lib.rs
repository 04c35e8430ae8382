//! Whether a statement says what its source says: numbers with their units, dates, quotations, citations, denials.
//!
//! Rules over words, without a model. Each finding names what was compared; what cannot be read is unknown, which is
//! never taken for known.
//!
//! ```
//! use loopwright_verify::citation::citations;
//!
//! assert_eq!(citations("It listens on 8080 [1].", |_| false).citations.len(), 1);
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod citation;
pub mod dates;
pub mod denial;
pub mod facts;
pub mod form;
pub mod held;
pub mod lexicon;
pub mod negations;
pub mod numbers;
pub mod polarity;
pub mod quantity;
pub mod spelled;
pub mod units;
pub mod verbatim;
