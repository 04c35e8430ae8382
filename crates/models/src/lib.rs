//! What is known of models by their names: how large their windows are, what their tokens cost, and what
//! they take and who serves them.
//!
//! Tables, so that a new model is a new line. What is unknown is said to be unknown: no price is made up.
//!
//! ```
//! use loopwright_models::window::window_of;
//!
//! assert_eq!(window_of("claude-sonnet-4-5"), Some(200_000));
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod price;
pub mod quirks;
pub mod window;
