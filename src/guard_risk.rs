//! How much harm a call may do, for `loopwright.guard`.

use pyo3::prelude::*;

use super::{convert, errors};
use loopwright_base::message::ToolUse;
use loopwright_guard::{self as guard, DeclaredRisk, RiskLevel};

/// The judgement of a call.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct AssessedRisk(guard::Risk);

#[pymethods]
impl AssessedRisk {
    /// How much harm it may do.
    #[getter]
    fn level(&self) -> &'static str {
        self.0.level.name()
    }

    /// The rule that decided.
    #[getter]
    fn rule(&self) -> &'static str {
        self.0.rule
    }

    /// Whether something is gone for good by it, though its level is no more than cautious.
    #[getter]
    fn loses(&self) -> bool {
        self.0.loses()
    }

    /// Why, in words.
    #[getter]
    fn why(&self) -> &str {
        &self.0.why
    }

    /// The argument that decided, the bytes of its text, and the text there.
    #[getter]
    fn part(&self) -> Option<(&str, usize, usize, &str)> {
        self.0.part.as_ref().map(|part| (part.argument.as_str(), part.span.start, part.span.end, part.text.as_str()))
    }

    fn __repr__(&self) -> String {
        format!("<AssessedRisk {} {}>", self.0.level.name(), self.0.rule)
    }
}

/// What is known of the machine that a call runs on.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct RiskGround(guard::RiskContext);

#[pymethods]
impl RiskGround {
    #[new]
    fn new(workspace: Option<String>, cwd: Option<String>, home: Option<String>, temporary: Vec<String>) -> Self {
        Self(guard::RiskContext { workspace, cwd, home, temporary })
    }
}

/// The risk of shell text.
#[pyfunction]
pub(super) fn assess_shell(text: &str, ground: &RiskGround) -> AssessedRisk {
    AssessedRisk(guard::assess_shell(text, &ground.0))
}

/// The risk of a call; `declared` is the level of its tool.
#[pyfunction]
pub(super) fn assess_arguments(
    name: &str,
    arguments: &Bound<'_, PyAny>,
    declared: Option<&str>,
    by_arguments: bool,
    ground: &RiskGround,
) -> PyResult<AssessedRisk> {
    let tool = match declared {
        None => None,
        Some(level) => Some(DeclaredRisk {
            level: RiskLevel::named(level).ok_or_else(|| {
                let message = format!("there is no level named {level:?}");
                errors::usage("unknown_level", message, "use \"safe\", \"cautious\", \"confirm\" or \"dangerous\"")
            })?,
            by_arguments,
        }),
    };
    if let Ok(text) = arguments.extract::<String>() {
        // What is no JSON is judged as text that a model wrote.
        let call = ToolUse::from_text("", name, text);
        return Ok(AssessedRisk(guard::assess_risk(&call, tool, &ground.0)));
    }
    let arguments: serde_json::Value = convert::parse(arguments, "arguments")?;
    Ok(AssessedRisk(guard::assess_arguments(name, &arguments, tool, &ground.0)))
}
