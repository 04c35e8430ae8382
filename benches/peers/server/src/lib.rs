//! A fake model provider that is never the bottleneck, so that what a benchmark sees is the agent loop.
//!
//! It speaks enough of the `OpenAI` chat completions API over HTTP/1.1 for every client tried here, keeps no
//! conversation state (the request says how far the run is), and can break the first answer of a run on purpose.

pub mod answer;
pub mod plan;
pub mod serve;
