//! How much harm a call may do, for `loopwright.guard`.

use pyo3::prelude::*;

use super::{convert, errors};
use loopwright_base::message::ToolUse;
use loopwright_guard::{self as guard, DeclaredRisk, RiskLevel};

/// The judgement of a call.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct AssessedRisk(guard::Assessment);

#[pymethods]
impl AssessedRisk {
    /// How much harm it may do.
    #[getter]
    fn level(&self) -> &'static str {
        self.0.risk.level.name()
    }

    /// The rule that decided.
    #[getter]
    fn rule(&self) -> &str {
        &self.0.rule
    }

    /// Whether a person is asked before it runs, whatever the task says.
    #[getter]
    fn asks(&self) -> bool {
        self.0.asks
    }

    /// Whether something is gone for good by it, though its level is no more than cautious.
    #[getter]
    fn loses(&self) -> bool {
        self.0.risk.loses()
    }

    /// Why, in words.
    #[getter]
    fn why(&self) -> &str {
        &self.0.risk.why
    }

    /// The argument that decided, the bytes of its text, and the text there.
    #[getter]
    fn part(&self) -> Option<(&str, usize, usize, &str)> {
        let part = self.0.risk.part.as_ref();
        part.map(|part| (part.argument.as_str(), part.span.start, part.span.end, part.text.as_str()))
    }

    fn __repr__(&self) -> String {
        format!("<AssessedRisk {} {}>", self.0.risk.level.name(), self.0.rule)
    }
}

/// Records of programs that a user has added.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Commands(pub(super) guard::Commands);

#[pymethods]
impl Commands {
    /// The records of a file, checked by the examples in it.
    #[new]
    fn new(name: &str, text: &str) -> PyResult<Self> {
        guard::Commands::read(name, text).map(Self).map_err(|error| errors::exception(&error))
    }

    /// What errors call the file.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The text of the file.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The programs that it has records of.
    #[getter]
    fn programs(&self) -> Vec<String> {
        self.0.programs().to_vec()
    }

    /// The programs whose record here no longer counts.
    #[getter]
    fn replaced(&self) -> Vec<String> {
        self.0.replaced().to_vec()
    }

    /// The records as configurations of machines hold them.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

/// What is known of the machine that a call runs on.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct RiskGround(guard::RiskContext);

#[pymethods]
impl RiskGround {
    #[new]
    fn new(
        workspace: Option<String>,
        cwd: Option<String>,
        home: Option<String>,
        temporary: Vec<String>,
        commands: Option<&Commands>,
    ) -> Self {
        Self(guard::RiskContext { workspace, cwd, home, temporary, commands: commands.map(|commands| commands.0) })
    }
}

/// A text with what a person can't see written out.
#[pyfunction]
pub(super) fn visible(text: &str) -> String {
    guard::visible(text)
}

/// The risk of shell text.
#[pyfunction]
pub(super) fn assess_shell(text: &str, ground: &RiskGround) -> AssessedRisk {
    let line = serde_json::json!({ "command": text });
    let shell = DeclaredRisk { by_arguments: true, ..DeclaredRisk::default() };
    let mut assessed = guard::assess("shell", &line, Some(shell), &ground.0);
    if let Some(part) = assessed.risk.part.as_mut() {
        part.argument.clear();
    }
    AssessedRisk(assessed)
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
        return Ok(AssessedRisk(guard::assess_call(&call, tool, &ground.0)));
    }
    let arguments: serde_json::Value = convert::parse(arguments, "arguments")?;
    Ok(AssessedRisk(guard::assess(name, &arguments, tool, &ground.0)))
}
