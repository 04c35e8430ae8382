//! The rule engines of the roles, for `loopwright.roles`.

use pyo3::prelude::*;

use super::{convert, errors, history, messages::read};
use loopwright_base::json::Raw;
use loopwright_machine::role::{self, Summary};
use loopwright_monitor::{momentum::MomentumPolicy, stuck::StuckPolicy};

/// Whether what these messages tell of is sane, as a dict; policies as JSON text.
#[pyfunction]
#[pyo3(signature = (messages, stuck=None, momentum=None))]
pub(super) fn check_sanity<'py>(
    py: Python<'py>,
    messages: &history::History,
    stuck: Option<&str>,
    momentum: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let stuck: Option<StuckPolicy> = stuck.map(|text| read(text, "policy")).transpose()?;
    let momentum: Option<MomentumPolicy> = momentum.map(|text| read(text, "policy")).transpose()?;
    if let Some(policy) = &stuck {
        policy.check().map_err(|error| errors::exception(&error))?;
    }
    if let Some(policy) = &momentum {
        policy.check().map_err(|error| errors::exception(&error))?;
    }
    let history = &messages.0;
    let result = py.detach(|| role::check_sanity(history.iter(), stuck.as_ref(), momentum.as_ref()));
    convert::loads(py, Raw::of(&result).text())
}

/// What is worth keeping of these messages, as a dict.
#[pyfunction]
pub(super) fn summarize<'py>(py: Python<'py>, messages: &history::History) -> PyResult<Bound<'py, PyAny>> {
    let history = &messages.0;
    let summary = py.detach(|| role::summarize(history.iter()));
    convert::loads(py, Raw::of(&summary).text())
}

/// A summary (JSON text) in words, at most about so many characters.
#[pyfunction]
pub(super) fn summary_words(summary: &str, chars: usize) -> PyResult<String> {
    let summary: Summary = read(summary, "summary")?;
    Ok(summary.bounded().words(chars))
}
