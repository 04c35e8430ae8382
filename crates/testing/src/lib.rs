//! For the tests of the rooms: how the time that something takes grows, where the data stands that they read, and
//! made-up values.
//!
//! No room depends on it but in its tests.

pub mod data;
pub mod fill;
pub mod growth;
