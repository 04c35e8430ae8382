//! The scanner through the public API: each decision at every cut of its input.

mod decisions;
mod properties;
mod shapes;
mod stress;
mod support;
