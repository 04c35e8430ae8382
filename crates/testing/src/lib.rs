//! For the tests of the rooms: how the time that something takes grows, and where the data stands that they read.
//!
//! No room depends on it but in its tests.

pub mod data;
pub mod growth;
