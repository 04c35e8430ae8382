//! The machines and all that they decide with. No clock, socket, file, random source, thread or Python.

pub mod error;
pub mod json;
pub mod message;
pub mod request;
pub mod retrieve;
pub mod wire;
