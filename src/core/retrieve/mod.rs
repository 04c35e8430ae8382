//! Finding what answers a question in text that is at hand: words, ranking, chunks, sources, and an answer made of
//! quotes. Nothing here needs a network, a key or a model; everything is deterministic and bounded by its input.

mod asked;
pub mod bm25;
pub mod chunks;
pub(crate) mod contrast;
mod denial;
pub mod extractive;
pub mod gather;
pub mod index;
pub(crate) mod lines;
pub mod lsa;
pub(crate) mod marks;
mod near;
mod negations;
pub mod passages;
pub mod plain;
pub(crate) mod polarity;
mod question;
pub mod sentences;
pub mod sources;
mod stem;
pub mod support;
mod tongues;
mod verbatim;
mod way;
pub mod words;
