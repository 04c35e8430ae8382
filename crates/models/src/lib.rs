//! Data about models by their names: context windows, prices, limits of what they take, and providers.
//!
//! Tables, so that a new model is a new line. Unknown values are `None`: no price is made up.
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

pub mod batches;
pub mod embeddings;
pub mod own_profile;
pub mod price;
pub mod profile;
pub mod provider;
pub mod quirks;
pub mod window;
