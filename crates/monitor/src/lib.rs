//! Whether a loop is going anywhere: from hashes of what it did and words of what it said, never from a model.
//!
//! ```
//! use loopwright_monitor::signals::signals;
//!
//! assert!(signals("All done: the port is 8080 now.").complete);
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod breakpoint;
pub mod claim;
pub mod continuation;
pub mod momentum;
pub mod speech;
pub mod stuck;

mod about;
pub mod drift;
pub mod intent;
pub mod next_step;
pub mod signals;
