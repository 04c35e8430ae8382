//! Prices of models, to tell what a run cost. A price that is not known gives no cost, never a guess.

use serde::{Deserialize, Serialize};

use crate::core::message::Usage;

/// Money for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Of the prompt, not cached.
    pub input: f64,
    /// Of the answer.
    pub output: f64,
    /// Of the prompt, read from the cache.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Of the prompt, written to the cache.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What `usage` costs.
    pub fn of(&self, usage: &Usage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let million = 1e-6;
        (plain as f64 * self.input
            + usage.cache_read as f64 * self.cache_read.unwrap_or(self.input)
            + usage.cache_write as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output as f64 * self.output)
            * million
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d49_cost_counts_cached_tokens_apart() {
        let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        let usage = Usage { input: 1_000_000, output: 100_000, cache_read: 400_000, ..Usage::default() };
        assert!((price.of(&usage) - (0.6 * 3.0 + 0.4 * 0.3 + 1.5)).abs() < 1e-12);
    }
}
