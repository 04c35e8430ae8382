//! Finding what answers a question in text that is at hand: words, ranking, chunks, sources, and an answer made of
//! quotes. Nothing here needs a network, a key or a model; everything is deterministic and bounded by its input.
//!
//! ```
//! use loopwright_retrieve::index::{Index, Ways};
//!
//! let mut index = Index::default();
//! index.add("The breaker opens after three failures.", None)?;
//! index.add("Invoices are written on the first of a month.", None)?;
//! let found = index.search("When does the breaker open?", None, Ways::default(), 1)?;
//! assert_eq!(found[0].passage, 0);
//! # Ok::<(), loopwright_base::error::Error>(())
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

mod asked;
pub mod bm25;
pub mod chunks;
pub mod extractive;
pub mod gather;
pub mod index;
pub mod lsa;
pub mod marks;
mod near;
pub mod passages;
pub mod plain;
mod question;
pub mod support;
mod way;

pub mod analysis;
