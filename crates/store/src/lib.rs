//! Storage beyond a process, in one SQLite file for each project: memory, journals, work and the audit.
//!
//! A room of the file brings its tables as numbered migrations and leaves opening, waiting and the naming of troubles
//! to [`open`]. A file that is damaged, foreign or newer than this program is refused with a typed error and is never
//! written to.
//!
//! ```
//! use loopwright_store::{memory::{Memory, Note, Query}, open::Options};
//!
//! let file = std::env::temp_dir().join(format!("loopwright-example-{}.db", std::process::id()));
//! let memory = Memory::open(&Options::new(&file), "ann")?;
//! memory.remember(&Note::new("Ann's deploys go out on Tuesdays."))?;
//! assert_eq!(memory.recall(&Query::new("When do deploys go out?"))?.len(), 1);
//! # drop(memory);
//! # let _ = std::fs::remove_file(file);
//! # Ok::<(), loopwright_base::error::Error>(())
//! ```

// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]
// Clocks and files are what this room is for.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod audit;
mod compact;
pub mod journal;
pub mod memory;
pub mod open;
pub mod work;
