//! Types of all crates: messages, requests, histories, errors, JSON as it came, and circuit breakers.
//!
//! Types without a clock, a socket or a file. They promise to keep what they were given: JSON byte for byte, messages
//! in their order, errors with a code and a hint.
//!
//! ```
//! use loopwright_base::message::{Message, Role};
//!
//! let message = Message::user("Which port does the server listen on?");
//! assert_eq!(message.role, Role::User);
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

pub mod base64;
pub mod breaker;
pub mod error;
pub mod json;
pub mod lists;
pub mod marks;
pub mod message;
pub mod parameter;
pub mod request;
pub mod sources;
pub mod text;
pub mod word_hash;
pub mod workers;
