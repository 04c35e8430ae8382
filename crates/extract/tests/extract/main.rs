//! What a model wrote becomes calls, reasoning and prose: over the public API, each text whole, at every cut and byte
//! by byte.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod beside;
mod broken;
mod broken_values;
mod cap;
mod cut_json;
mod damaged;
mod doubt;
mod early;
mod failures;
mod forgotten;
mod guessed;
mod inert;
mod limits;
mod loose_forms;
mod merged;
mod mutated;
mod openings;
mod orphaned;
mod quoted_values;
mod reading;
mod remains;
mod round_trip;
mod slips;
mod strict;
mod table;
mod torn;
mod torture;
mod transcripts;
mod twice;
mod unclosed;
mod unread;
