//! What goes into a request: a history made to fit its budget, without losing what matters.
//!
//! [`compress`] takes any history and gives a legal one that costs no more than a budget; [`ContextWindow`] keeps such
//! a history while a run goes on. What leaves stays in an [`Archive`] under a handle. No clock, no randomness: the same
//! history and budget always give the same bytes.
//!
//! ```
//! use std::sync::Arc;
//! use loopwright_base::message::Message;
//! use loopwright_context::{Archive, BytesPerFour, Policy, compress};
//!
//! let history: Vec<_> = (0..50).map(|n| Arc::new(Message::user(format!("{n} {}", "word ".repeat(40))))).collect();
//! let fits = compress(&history, None, 800, &Policy::default(), &mut BytesPerFour, &mut Archive::default())?;
//! assert!(fits.report.after <= 800);
//! # Ok::<(), loopwright_base::error::Error>(())
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

mod ahead;
mod archive;
mod aside;
mod assemble;
mod chunks;
mod compress;
mod count;
mod facts;
mod finish;
mod fold;
mod ids;
mod inside;
mod look;
mod marks;
mod mended;
mod pace;
mod pairs;
mod plan;
mod policy;
mod prune;
mod report;
mod salience;
mod search;
mod shorten;
mod summary;
mod table;
mod terms;
mod tiers;
mod units;
mod weigh;
mod window;

pub use self::{
    archive::{Archive, RECALL_BYTES, RECALL_NAMES, shown},
    assemble::{Parts, assemble},
    compress::{Compressed, compress, compress_looked, compress_with},
    count::{BytesPerFour, CALL_OVERHEAD, Count, IMAGE_TOKENS, MESSAGE_OVERHEAD, message_by_texts},
    look::{Looked, Looking, WORTH, weight},
    marks::Marks,
    pairs::{Placed, Repair, check as check_message, is_legal, repair},
    policy::{Policy, Weights},
    report::{Entry, Fate, Report},
    salience::{Category, Features, Tier},
    window::{ContextWindow, HIGH, LOW},
};
pub use self::{summary::constraints, terms::names};
