//! Drivers: they carry the commands of machines out and feed back what happened. Everything that opens a socket or a
//! file is here, behind the feature `drive`; the queue and the simulated world need neither.

// Clocks, sockets, files and threads are what this room is for; the interpreter is not, and has no feature here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[cfg(feature = "drive")]
pub mod address;
#[cfg(feature = "drive")]
mod answer;
#[cfg(feature = "drive")]
pub mod ask;
#[cfg(feature = "drive")]
mod breakers;
#[cfg(feature = "drive")]
pub mod endpoint;
#[cfg(feature = "drive")]
pub mod fetch;
#[cfg(feature = "drive")]
pub mod find;
#[cfg(feature = "drive")]
mod fits;
#[cfg(feature = "drive")]
pub mod gather;
#[cfg(feature = "drive")]
pub mod hooks;
#[cfg(feature = "drive")]
pub mod http;
#[cfg(feature = "drive")]
mod incoming;
#[cfg(feature = "drive")]
mod kept;
#[cfg(feature = "drive")]
pub mod native;
#[cfg(feature = "drive")]
mod options;
#[cfg(feature = "drive")]
pub mod page;
#[cfg(feature = "drive")]
mod pdf;
#[cfg(feature = "drive")]
mod provider;
#[cfg(feature = "drive")]
mod proxies;
pub mod queue;
#[cfg(feature = "drive")]
pub mod repeats;
pub mod sim;
pub mod threads;
#[cfg(feature = "drive")]
mod tls;
#[cfg(feature = "drive")]
mod trouble;
#[cfg(feature = "drive")]
pub mod under_way;
#[cfg(feature = "drive")]
pub mod web_call;
#[cfg(feature = "drive")]
pub mod wire_server;
#[cfg(feature = "drive")]
mod written;

/// What the queue is made of; a model checker puts its own in its place.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
}
