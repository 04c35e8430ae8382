//! Drivers.
