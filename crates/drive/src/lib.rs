//! Drivers: they carry the commands of machines out and feed back what happened. Everything that opens a socket is
//! here, and whatever reads files that are not this project's own; the queue and the simulated world need neither.
//!
//! ```
//! use loopwright_base::message::Message;
//! use loopwright_drive::sim::{Step, World};
//! use loopwright_machine::{MachineConfig, turn::TurnConfig};
//!
//! // A world whose model is a function, and whose clock is a number.
//! let mut world = World::new(|request| Step::Answer(0.5, loopwright_wire::offline::answer(request)));
//! let ended = world.run(MachineConfig::Turn(TurnConfig::default()), vec![Message::user("Hi.")]);
//! assert!(ended.is_some());
//! ```

// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]
// Clocks, sockets, files and threads are what this room is for; the interpreter is not, and has no feature here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod adapted;
pub mod address;
mod answer;
pub mod ask;
pub mod batch;
mod batch_forms;
mod body;
mod breakers;
pub mod continued;
mod continued_state;
mod credentials;
mod descriptors;
pub mod embed;
pub mod endpoint;
mod exchange;
pub mod fetch;
pub mod find;
pub mod gather;
pub mod hooks;
pub mod http;
pub mod native;
mod options;
pub mod own;
pub mod pace;
pub mod page;
#[cfg(feature = "pdf")]
mod pdf;
mod provider_limits;
mod stale_connection;
#[cfg(not(feature = "pdf"))]
mod pdf {
    //! Stands where PDF files are not read.
    pub(super) fn pages(_: Vec<u8>) -> Result<Vec<String>, String> {
        Err("not read: this build has no PDF reader, which the feature `pdf` brings".to_owned())
    }
}
mod error_map;
pub mod in_flight;
mod provenance;
mod provider;
mod proxies;
pub mod queue;
mod rate_headers;
pub mod repeats;
mod route;
pub mod sim;
mod socket;
mod text_call_stream;
pub mod threads;
mod tls;
mod turns;
pub mod web_call;
pub mod wire_server;

/// The parts of the queue; a model checker puts its own in their place.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
}
