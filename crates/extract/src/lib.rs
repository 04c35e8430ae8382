//! What a model wrote becomes tool calls, reasoning and clean prose, while it is still being written. Promises: any
//! split of the bytes gives the same events once deltas are joined; each byte has exactly one owner; no marker of a
//! consumed region reaches the text; a byte makes at most one call; time is linear, memory bounded; nothing panics.
//!
//! ```
//! use loopwright_extract::{Policy, Event, extract};
//!
//! let reply = br#"<tool_call>{"name": "look", "arguments": {"at": "port"}}</tool_call>"#;
//! let events = extract(reply, None, Some(&["hermes"]), Policy::default());
//! assert!(events.iter().any(|event| matches!(event, Event::CallFinished { .. })));
//! ```

// No clock, socket, file, thread or random source: what would reach for one is forbidden here.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

mod after;
mod arguments;
mod attributes;
mod balance;
mod bodies;
mod body;
mod call;
mod code;
mod desk;
mod dialect;
mod escape;
mod event;
mod find;
mod fits;
mod harmony;
mod json;
mod left;
mod line;
mod loose;
mod markers;
mod members;
mod merged;
mod named;
mod native;
mod nested;
mod next;
mod object;
mod pairs;
mod parser;
mod policy;
#[cfg(test)]
mod probe;
mod prose;
mod python;
mod quotation;
mod quote;
#[cfg(test)]
mod recorder;
mod references;
mod region;
mod remains;
mod render;
mod repair;
mod reply;
mod schema;
mod shadow;
mod signature;
mod sort;
mod strays;
mod tags;
mod tail;
mod titled;
mod tool_name;
mod torn;
mod types;
mod until;
mod utf8;
mod value;
mod walker;
mod writer;

pub use call::{Call, Source};
pub use dialect::{
    Dialect, First, Frame, Grammar, Inert, Reasoning, Tags, Verdict, dialect_for, dialect_named, dialect_table,
    dialects, frames, inert_regions, known_dialect, opens_call, reasoning_markups, starts_in_reasoning, turn_ends,
};
pub use event::{Dropped, Event, Events, Owner, Problem, ProblemKind, Span};
pub use find::{FoundJson, NoJson, Place, extract_json};
pub use fits::Misfit;
pub use json::Mend;
pub use native::{RepairedCall, mend_calls};
pub use parser::{Parser, extract};
pub use policy::{Policy, Quoted, UnknownTool};
pub use quotation::{Read, ReplyReader, Shown};
pub use render::{Unwritable, render_call, render_calls, render_result, render_results};
pub use repair::{Repair, Repaired, repair_json};
pub use reply::{
    Reading, read_reply, reads_reply, reply_parser, reply_signatures, signatures, spoken, tool_instructions,
};
pub use schema::{NoSchema, check_schema};
pub use signature::{Kind, Signature, Signatures};
pub use tool_name::{MARK, last_name};
