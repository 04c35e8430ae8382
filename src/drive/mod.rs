//! Drivers.

pub mod gather;
