//! The machines and all that they decide with. No clock, socket, file, random source, thread or Python.

pub mod analysis;
pub mod base64;
pub mod breaker;
pub mod context;
pub mod error;
pub mod extract;
#[cfg(test)]
#[path = "../../tests/growth/mod.rs"]
pub(crate) mod growth;
pub mod guard;
pub mod journal;
pub mod json;
pub(crate) mod lists;
pub mod machine;
pub mod marks;
pub mod message;
pub(crate) mod months;
pub mod request;
pub mod retrieve;
pub mod role;
pub mod sense;
pub mod text;
pub mod tokens;
pub mod wire;
pub mod workers;
mod write_json;
