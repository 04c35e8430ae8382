//! Drivers: what carries commands out, with tokio. Everything that opens a socket is here.

mod answer;
mod breakers;
pub mod endpoint;
pub mod fetch;
pub mod http;
mod options;
mod provider;
mod tls;
mod trouble;
pub mod wire_server;
