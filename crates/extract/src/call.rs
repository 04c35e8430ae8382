//! A tool call found in text: what was called, with what, where it stood and how sure we are of it.

use super::event::Span;

/// How a call was found; an executor may refuse the weaker ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Between the markers of a dialect.
    Tagged,
    /// In a code fence, where the policy lets fenced calls run.
    Fenced,
    /// Bare JSON or a bare call list, where the policy asks for it.
    Bare,
}

/// One tool call. `arguments` is the text of a JSON object, exactly the concatenation of the call's argument deltas.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its place among the calls of this text, from 0.
    pub index: usize,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as JSON text; valid JSON if `complete`.
    pub arguments: String,
    /// The id the model gave it, where the dialect has one (`functions.name:0` of Kimi K2).
    pub id: Option<String>,
    /// The dialect's name in the table.
    pub dialect: &'static str,
    /// How it was found.
    pub source: Source,
    /// From the first byte of its opening marker to the last byte of its closing one.
    pub span: Span,
    /// Whether its arguments had to be repaired to be JSON.
    pub repaired: bool,
    /// Whether its last byte was seen. A call that isn't complete must not run.
    pub complete: bool,
}
