//! Prices and complexity, for `loopwright.prices` and `loopwright.Budget`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use super::errors;
use loopwright_base::message::Usage;
use loopwright_machine::Complexity;
use loopwright_models::price::{Price, Prices};
use loopwright_monitor::{claim::read_claim, intent::assess_intent};

/// Input, output, read from the cache, written to the cache: for a million tokens.
type Row = (f64, f64, Option<f64>, Option<f64>);

/// Prices by provider and model: those that come with the engine, and what is laid over them.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct PriceTable(Mutex<Prices>);

#[pymethods]
impl PriceTable {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Prices::built_in()))
    }

    /// Lays a table (TOML text) over this one.
    fn lay(&self, text: &str) -> PyResult<()> {
        let prices = Prices::parse(text).map_err(|error| errors::exception(&error))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).overlay(prices);
        Ok(())
    }

    /// The price of `provider:model`, or that in a batch; `None` where it is not known.
    #[pyo3(signature = (name, batch=false))]
    fn of(&self, name: &str, batch: bool) -> Option<Row> {
        let prices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let price = if batch { prices.of_batch(name) } else { prices.of(name) }?;
        Some((price.input, price.output, price.cache_read, price.cache_write))
    }

    /// The day of the prices.
    #[getter]
    fn as_of(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_of().map(str::to_owned)
    }

    /// All models that have a price: `provider:model`.
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).names()
    }
}

/// What so many tokens cost: those of the prompt, of the answer, read from the cache, written to it, and of these the
/// ones that are kept for an hour.
#[pyfunction]
pub(super) fn cost(price: Row, counts: (u64, u64, u64, u64, u64)) -> f64 {
    let (input, output, cache_read, cache_write) = price;
    let price = Price { input, output, cache_read, cache_write };
    let (input, output, cache_read, cache_write, cache_write_hour) = counts;
    price.of(&Usage { input, output, cache_read, cache_write, cache_write_hour, ..Usage::default() })
}

/// How hard a task is, by its words: `simple`, `moderate`, `complex` or `breaking`.
#[pyfunction]
pub(super) fn judge_complexity(text: &str) -> &'static str {
    Complexity::of(&assess_intent(text, &[], &[]).signals).name()
}

/// How many requests checking a claim deserves, by its words; the names are those of `judge_complexity`.
#[pyfunction]
pub(super) fn judge_claim(claim: &str) -> &'static str {
    Complexity::of_claim(&read_claim(claim)).name()
}

/// Each complexity, and the requests to a model that it allows.
#[pyfunction]
pub(super) fn complexities() -> Vec<(&'static str, u32)> {
    Complexity::ALL.into_iter().map(|complexity| (complexity.name(), complexity.iterations())).collect()
}
