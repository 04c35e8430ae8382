//! Drivers: they carry the commands of machines out and feed back what happened.

pub mod sim;
