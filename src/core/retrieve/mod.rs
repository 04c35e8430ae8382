//! stub
use serde::{Deserialize, Serialize};
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub reference: String,
    pub line: usize,
    pub end_line: usize,
    pub text: String,
    pub score: f64,
}
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gathered {
    pub sources: Vec<Source>,
}
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GatherLimits {}
