//! What outlives a process, in one SQLite file for each project: memory, and whatever else has to be kept.
//!
//! A room of the file brings its tables as numbered migrations and leaves opening, waiting and the naming of troubles
//! to [`open`]. A file that is damaged, foreign or newer than this program is refused with a typed error and is never
//! written to.

// Clocks and files are what this room is for.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod audit;
mod compact;
pub mod journal;
pub mod memory;
pub mod open;
pub mod work;
