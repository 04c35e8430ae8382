//! Events, commands and the bare machine, for hosts that drive it themselves.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{
    prelude::*,
    types::{PyDict, PyString},
};

use super::guard_sensitivity::redacted;
use super::{convert, errors, history, hooks, messages::json_of, options};
use loopwright_base::{
    error::{Error, Failure, FailureKind},
    message::{Block, ToolFailure, ToolResult},
    request,
};
use loopwright_machine::{self as machine, ApprovalDecision, Digest, EventKind, Interrupt, Machine as _, Time};

/// Something that happened: what a machine is fed.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Event(pub(super) EventKind);

/// The part of an answer in the call of `event` that had come.
fn partial_of(event: Option<&Event>) -> Option<Box<request::Response>> {
    let Some(EventKind::Failed { partial, .. }) = event.map(|event| &event.0) else { return None };
    partial.clone()
}

#[pymethods]
impl Event {
    /// The run begins; the last message is the prompt.
    #[staticmethod]
    fn start(messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(EventKind::Start { messages: history::messages_of(messages)? }))
    }

    /// A model answered command `id`; `response` in the canonical form.
    #[staticmethod]
    fn generated(id: u64, response: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(EventKind::Generated { id, response: Box::new(convert::parse(response, "response")?) }))
    }

    /// A model of one's own answered command `id`, its answer number `turn`: a `loopwright.models.Response`, or text.
    /// `None` for an answer that needs its canonical form.
    #[staticmethod]
    fn answered(id: u64, answer: &Bound<'_, PyAny>, turn: usize) -> Option<Self> {
        let response = Box::new(super::read_response::response(answer, turn)?);
        Some(Self(EventKind::Generated { id, response }))
    }

    /// A model call failed.
    #[staticmethod]
    #[pyo3(signature = (id, kind, message, *, retry_after=None, visible=false))]
    fn failed(id: u64, kind: &str, message: String, retry_after: Option<f64>, visible: bool) -> PyResult<Self> {
        let kind: FailureKind = serde_json::from_value(kind.into()).map_err(|_| {
            errors::usage(
                "invalid_value",
                format!("there is no kind of failure named {kind:?}"),
                "use rate_limited, overloaded, server, timeout, cut, auth, bad_request, …",
            )
        })?;
        let failure = Failure { retry_after, ..Failure::new(kind, message) };
        Ok(Self(EventKind::Failed { id, failure, visible, partial: None }))
    }

    /// A tool gave its result: text, or blocks in the canonical form.
    #[staticmethod]
    #[pyo3(signature = (id, call_id, content, *, is_error=false))]
    fn executed(id: u64, call_id: String, content: &Bound<'_, PyAny>, is_error: bool) -> PyResult<Self> {
        let content = match content.extract::<String>() {
            Ok(text) => vec![Block::text(text)],
            Err(_) => convert::parse(content, "content")?,
        };
        let result = ToolResult { content, is_error, ..ToolResult::text(call_id, "", "") };
        Ok(Self(EventKind::Executed { id, result }))
    }

    /// A tool failed.
    #[staticmethod]
    #[pyo3(signature = (id, call_id, kind, message, hint=None))]
    fn tool_failed(id: u64, call_id: String, kind: String, message: String, hint: Option<String>) -> Self {
        let result = ToolResult::failed(call_id, "", ToolFailure { kind, message, hint });
        Self(EventKind::Executed { id, result })
    }

    /// Somebody decided: `allow`, `deny`, `abort`, `edit` (with the new `arguments`) or `remembered` (a yes of before;
    /// `reason` says which).
    #[staticmethod]
    #[pyo3(signature = (id, hash, decision, reason=None, arguments=None))]
    fn decided(
        id: u64,
        hash: String,
        decision: &str,
        reason: Option<String>,
        arguments: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let decision = match decision {
            "allow" => ApprovalDecision::Allow,
            "remembered" => ApprovalDecision::Remembered { what: reason.unwrap_or_default() },
            "edit" => {
                let Some(arguments) = arguments else {
                    return Err(errors::usage(
                        "invalid_value",
                        "an edit needs the new arguments",
                        "give arguments=, or decide \"allow\"",
                    ));
                };
                ApprovalDecision::Edit { input: convert::parse(arguments, "arguments")? }
            }
            "deny" => ApprovalDecision::Deny { reason: reason.unwrap_or_else(|| "no reason given".to_owned()) },
            "abort" => ApprovalDecision::Abort,
            other => {
                let message = format!("{other:?} is no decision");
                return Err(errors::usage(
                    "invalid_value",
                    message,
                    "use \"allow\", \"deny\", \"abort\", \"edit\" or \"remembered\"",
                ));
            }
        };
        Ok(Self(EventKind::Decided { id, hash, decision }))
    }

    /// A timer fired. `partial` is what `ModelCall.peek` gave of a call under way: a run that ends here keeps it.
    #[staticmethod]
    #[pyo3(signature = (id, partial=None))]
    fn fired(id: u64, partial: Option<&Self>) -> Self {
        Self(EventKind::Fired { id, partial: partial_of(partial) })
    }

    /// Somebody wants the run to end: `cancel` (at once) or `after_round`.
    #[staticmethod]
    #[pyo3(signature = (how="cancel", partial=None))]
    fn interrupt(how: &str, partial: Option<&Self>) -> PyResult<Self> {
        let how = match how {
            "cancel" => Interrupt::Cancel,
            "after_round" => Interrupt::AfterRound,
            other => {
                let message = format!("{other:?} is no way to interrupt");
                return Err(errors::usage("invalid_value", message, "use \"cancel\" or \"after_round\""));
            }
        };
        Ok(Self(EventKind::Interrupt { how, partial: partial_of(partial) }))
    }

    /// What had come of model calls that are under way, by the events that `ModelCall.peek` gave: for the machines that
    /// the next event ends.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "it is taken out of a Python list")]
    fn partials(calls: Vec<PyRef<'_, Self>>) -> Self {
        let answers = calls.iter().filter_map(|event| match &event.0 {
            EventKind::Failed { id, partial: Some(partial), .. } => Some((*id, (**partial).clone())),
            _ => None,
        });
        Self(EventKind::Partials { answers: answers.collect() })
    }

    /// Somebody wants the run to stand still when what is under way has ended.
    #[staticmethod]
    const fn pause() -> Self {
        Self(EventKind::Pause)
    }

    /// Somebody wants a run that was paused to go on.
    #[staticmethod]
    const fn resume() -> Self {
        Self(EventKind::Resume)
    }

    /// A question to a person waits behind another, or is put now; with `tell`, `approval_asked` is told once more.
    #[staticmethod]
    #[pyo3(signature = (id, put, tell=false))]
    const fn asked(id: u64, put: bool, tell: bool) -> Self {
        Self(EventKind::Asked { id, put, tell })
    }

    /// The work of a call is done elsewhere: nobody here is at it.
    #[staticmethod]
    const fn elsewhere(id: u64, call_id: String) -> Self {
        Self(EventKind::Elsewhere { id, call_id })
    }

    /// The hooks of a stage answered: name, answer (`continue`, `replace`, `veto`, `add_context`, `failed`), its text
    /// (JSON of a `replace`, the reason of a `veto`, what went wrong), and whether a failure stops the run.
    #[staticmethod]
    fn hooked(id: u64, replies: Vec<(String, String, String, bool)>) -> PyResult<Self> {
        let replies = replies.into_iter().map(|(name, kind, text, stop)| {
            let answer = hooks::answer_of(&kind, text, stop)?;
            Ok(machine::HookReply { name, answer })
        });
        Ok(Self(EventKind::Hooked { id, replies: replies.collect::<PyResult<_>>()? }))
    }

    /// Whoever was asked which model shall be used answered: a model, or none, or what went wrong.
    #[staticmethod]
    #[pyo3(signature = (id, model=None, confidence=1.0, reason=String::new(), error=None, price=None, settings=None))]
    fn chosen(
        id: u64,
        model: Option<String>,
        confidence: f64,
        reason: String,
        error: Option<String>,
        price: Option<&Bound<'_, PyAny>>,
        settings: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        // A journal holds finite numbers alone.
        let confidence = if confidence.is_finite() { confidence } else { 0.0 };
        let (price, settings) = (convert::parse_some(price, "price")?, convert::parse_some(settings, "settings")?);
        let choice = model.map(|model| machine::ModelChoice { model, confidence, reason, price, settings });
        Ok(Self(EventKind::Chosen { id, choice, error }))
    }

    /// Memory said what it knows: `found` in the canonical form, with `trusted`, `context` and `hits`.
    #[staticmethod]
    fn recalled(id: u64, found: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(EventKind::Recalled { id, found: Ok(convert::parse(found, "recollection")?) }))
    }

    /// Memory could not be asked.
    #[staticmethod]
    fn recall_failed(id: u64, code: String, message: String) -> Self {
        let error = Error { code: code.into(), ..Error::usage("memory_failed", message) };
        Self(EventKind::Recalled { id, found: Err(error) })
    }

    /// An event from the form in which journals hold it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let refused = ("invalid_value", "invalid event");
        convert::from_json(text, refused, "give an event as `to_json` writes it").map(Self)
    }

    /// The form in which journals hold it.
    fn to_json(&self) -> String {
        json_of(&self.0)
    }

    fn __repr__(&self) -> String {
        redacted(&format!("Event({})", self.to_json()))
    }
}

/// Something a machine wants done. `kind` says what; the other attributes are there where the kind has them.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Command(pub(super) Arc<machine::Command>);

#[pymethods]
impl Command {
    /// `generate`, `execute`, `approve`, `search`, `timer`, `abort`, `emit`, `persist`, `refuse`, `finish`, `hook`,
    /// `choose` or `recall`.
    #[getter]
    pub(super) fn kind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        use machine::Command as C;
        // Made once: drivers look at the kind of every command.
        macro_rules! kinds {
            ($($pattern:pat => $name:literal,)*) => {
                match &*self.0 { $($pattern => pyo3::intern!(py, $name),)* }
            };
        }
        kinds! {
            C::Generate { .. } => "generate",
            C::Execute { .. } => "execute",
            C::Approve { .. } => "approve",
            C::Search { .. } => "search",
            C::Spawn { .. } => "spawn",
            C::Interrupt { .. } => "interrupt",
            C::Timer { .. } => "timer",
            C::Abort { .. } => "abort",
            C::Emit { .. } => "emit",
            C::Persist => "persist",
            C::Refuse { .. } => "refuse",
            C::Finish { .. } => "finish",
            C::Query { .. } => "query",
            C::Fetch { .. } => "fetch",
            C::Embed { .. } => "embed",
            C::Consult { .. } => "consult",
            C::Hook { .. } => "hook",
            C::Choose { .. } => "choose",
            C::Recall { .. } => "recall",
        }
    }

    /// The command's number; for `abort` that of the command to stop.
    #[getter]
    fn id(&self) -> Option<u64> {
        self.0.id()
    }

    /// The request of a `generate`, or that which a `hook` is shown.
    #[getter]
    fn request(&self) -> Option<Request> {
        match &*self.0 {
            machine::Command::Generate { .. } => Some(Request(self.0.clone())),
            machine::Command::Hook { subject, .. } => {
                matches!(**subject, machine::HookSubject::Request { .. }).then(|| Request(self.0.clone()))
            }
            _ => None,
        }
    }

    /// What a `generate` is for: `executor`, `summarizer`, `sanity`, `supervisor`.
    #[getter]
    fn purpose(&self) -> Option<&'static str> {
        match &*self.0 {
            machine::Command::Generate { purpose, .. } => Some(purpose.name()),
            _ => None,
        }
    }

    /// Which model of its role's chain a `generate` goes to; 0 is the first.
    #[getter]
    fn place(&self) -> Option<u32> {
        match &*self.0 {
            machine::Command::Generate { place, .. } => Some(*place),
            _ => None,
        }
    }

    /// Which attempt at the same request a `generate` is.
    #[getter]
    fn attempt(&self) -> Option<u32> {
        match &*self.0 {
            machine::Command::Generate { attempt, .. } => Some(*attempt),
            _ => None,
        }
    }

    /// The calls of an `execute`, the call of an `approve`.
    #[getter]
    fn calls(&self) -> Vec<Call> {
        match &*self.0 {
            machine::Command::Execute { calls, .. } => (0..calls.len()).map(|at| Call(self.0.clone(), at)).collect(),
            machine::Command::Approve { .. } => vec![Call(self.0.clone(), 0)],
            _ => Vec::new(),
        }
    }

    /// Whether the calls of an `execute` may run at once.
    #[getter]
    fn parallel(&self) -> bool {
        matches!(&*self.0, machine::Command::Execute { parallel: true, .. })
    }

    /// When a `timer` fires or an `approve` lapses, in seconds since the run's start.
    #[getter]
    fn at(&self) -> Option<f64> {
        match &*self.0 {
            machine::Command::Timer { at, .. } => Some(at.seconds()),
            machine::Command::Approve { expires, .. } => Some(expires.seconds()),
            _ => None,
        }
    }

    /// The hash that the decision on an `approve` must repeat.
    #[getter]
    fn hash(&self) -> Option<&str> {
        match &*self.0 {
            machine::Command::Approve { hash, .. } => Some(hash),
            _ => None,
        }
    }

    /// How much harm the call of an `approve` may do.
    #[getter]
    fn risk(&self) -> Option<&'static str> {
        match &*self.0 {
            machine::Command::Approve { risk, .. } => Some(risk.name()),
            _ => None,
        }
    }

    /// Why an `approve` asks, or a `refuse` refuses.
    #[getter]
    fn why(&self) -> Option<String> {
        match &*self.0 {
            machine::Command::Approve { why, .. } => Some(why.clone()),
            machine::Command::Refuse { error } => Some(error.to_string()),
            _ => None,
        }
    }

    /// What the guard saw of the call of an `approve`, as a dict; `None` without a guard.
    #[getter]
    fn judged<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &*self.0 {
            machine::Command::Approve { judged: Some(judged), .. } => convert::loads(py, &json_of(judged)).map(Some),
            _ => Ok(None),
        }
    }

    /// What an `emit` tells, as a dict with its `type`.
    #[getter]
    fn notice<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &*self.0 {
            machine::Command::Emit { notice } => convert::loads(py, &json_of(notice)).map(Some),
            _ => Ok(None),
        }
    }

    /// How the run ended, of a `finish`, as a dict.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &*self.0 {
            machine::Command::Finish { outcome } => convert::loads(py, &json_of(outcome)).map(Some),
            _ => Ok(None),
        }
    }

    /// The same, read member by member.
    #[getter]
    fn ended(&self) -> Option<super::outcome::Ended> {
        super::outcome::Ended::of(&self.0)
    }

    /// How many memories a `recall` asks for at most, and how many characters of each.
    #[getter]
    fn shape(&self) -> Option<(usize, usize)> {
        match &*self.0 {
            machine::Command::Recall { hits, characters, .. } => Some((*hits, *characters)),
            _ => None,
        }
    }

    /// The question of a `search`, the prompt of a `recall`.
    #[getter]
    fn question(&self) -> Option<&str> {
        match &*self.0 {
            machine::Command::Search { question, .. } => Some(question),
            machine::Command::Recall { query, .. } => Some(query),
            _ => None,
        }
    }

    /// Data of a `query` (`query`, `k`), `fetch` (`url`, `max_chars`), `embed` (`texts`), `consult` (`part`, `state`).
    #[getter]
    fn wanted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        use machine::Command as C;
        let wanted = match &*self.0 {
            C::Query { query, k, .. } => serde_json::json!({"query": query, "k": k}),
            C::Fetch { url, max_chars, .. } => serde_json::json!({"url": url, "max_chars": max_chars}),
            C::Embed { texts, .. } => serde_json::json!({"texts": texts}),
            C::Consult { part, state, .. } => serde_json::json!({"part": part, "state": state}),
            _ => return Ok(None),
        };
        convert::loads(py, &json_of(&wanted)).map(Some)
    }

    /// The stage of a `hook`.
    #[getter]
    fn stage(&self) -> Option<&'static str> {
        match &*self.0 {
            machine::Command::Hook { stage, .. } => Some(stage.name()),
            _ => None,
        }
    }

    /// The round of a `hook`, from 1; 0 before the first.
    #[getter]
    fn round(&self) -> Option<u32> {
        match &*self.0 {
            machine::Command::Hook { round, .. } => Some(*round),
            _ => None,
        }
    }

    /// What a `hook` is shown, or the prompt of a `choose`, as JSON text.
    #[getter]
    fn subject(&self) -> Option<String> {
        match &*self.0 {
            machine::Command::Hook { subject, .. } => Some(json_of(subject)),
            machine::Command::Choose { prompt, .. } => Some(json_of(prompt)),
            _ => None,
        }
    }

    /// What the run had used when a `hook` was asked, as a dict.
    #[getter]
    fn spent<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &*self.0 {
            machine::Command::Hook { spent, .. } => convert::loads(py, &json_of(spent)).map(Some),
            _ => Ok(None),
        }
    }

    /// The model that is used if a `choose` names none.
    #[getter]
    fn model(&self) -> Option<&str> {
        match &*self.0 {
            machine::Command::Choose { model, .. } => Some(model),
            _ => None,
        }
    }

    /// The same `hook` after an answer: with another subject after a `replace`. What its stage does not allow, and what
    /// can't take the subject's place, is an error. A `generate` takes what `pre_llm` takes, for its request.
    fn after(&self, answer: &str, text: String) -> PyResult<Self> {
        hooks::after(&self.0, &hooks::answer_of(answer, text, false)?).map(Self)
    }

    /// The form in which journals hold it: requests as counts and hashes.
    fn to_json(&self) -> String {
        json_of(&Digest(&self.0))
    }

    fn __repr__(&self) -> String {
        redacted(&format!("Command({})", self.to_json()))
    }
}

/// A call of a tool.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Call(Arc<machine::Command>, usize);

impl Call {
    fn tool_use(&self) -> Option<&loopwright_base::message::ToolUse> {
        match &*self.0 {
            machine::Command::Execute { calls, .. } => calls.get(self.1).map(|call| &call.tool_use),
            machine::Command::Approve { call, .. } => Some(call),
            _ => None,
        }
    }

    fn call(&self) -> Option<&machine::Call> {
        match &*self.0 {
            machine::Command::Execute { calls, .. } => calls.get(self.1),
            _ => None,
        }
    }
}

#[pymethods]
impl Call {
    /// The provider's id of the call.
    #[getter]
    fn call_id(&self) -> &str {
        self.tool_use().map_or("", |call| &call.id)
    }

    /// The tool.
    #[getter]
    fn name(&self) -> &str {
        self.tool_use().map_or("", |call| &call.name)
    }

    /// The arguments as a dict.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.tool_use() {
            Some(call) => convert::loads(py, call.input.text()),
            None => Ok(PyDict::new(py).into_any()),
        }
    }

    /// The arguments as the model wrote them.
    #[getter]
    fn arguments_json(&self) -> &str {
        self.tool_use().map_or("{}", |call| call.input.text())
    }

    /// Seconds it may take.
    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.call().and_then(|call| call.timeout)
    }

    /// The round it belongs to, from 1.
    #[getter]
    fn round(&self) -> u32 {
        self.call().map_or(0, |call| call.round)
    }

    fn __repr__(&self) -> String {
        redacted(&format!("Call({}, {})", self.name(), self.arguments_json()))
    }
}

/// What is asked of a model.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Request(pub(super) Arc<machine::Command>);

#[pymethods]
impl Request {
    fn __repr__(&self) -> String {
        let Some(request) = self.get() else { return "<Request>".to_owned() };
        let (model, messages, tools) = (&request.model, request.messages.len(), request.tools.len());
        redacted(&format!("<Request to {model}: {messages} messages, {tools} tools>"))
    }

    /// The model's name.
    #[getter]
    fn model(&self) -> &str {
        self.get().map_or("", |request| &request.model)
    }

    /// The instructions before the history; `None` without any.
    #[getter]
    fn system(&self) -> Option<String> {
        Some(self.get()?.system.as_deref()?.prose())
    }

    /// The tools on offer, in the canonical form: a list of dicts.
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::loads(py, &self.get().map_or_else(|| "[]".to_owned(), |request| json_of(&request.tools)))
    }

    /// Tokens of the answer at most; `None` leaves that to the model.
    #[getter]
    fn max_tokens(&self) -> Option<u64> {
        self.get()?.max_tokens
    }

    /// The history.
    #[getter]
    fn messages(&self) -> history::History {
        history::History(self.get().map(|request| request.messages.clone()).unwrap_or_default())
    }

    /// The text of the last message.
    #[getter]
    fn last_text(&self) -> String {
        self.get().and_then(|request| request.messages.last()).map(last_text).unwrap_or_default()
    }

    /// How many answers of the model the history holds.
    #[getter]
    fn turns(&self) -> usize {
        let assistant =
            |message: &&loopwright_base::message::Message| message.role == loopwright_base::message::Role::Assistant;
        self.get().map_or(0, |request| request.messages.iter().filter(assistant).count())
    }

    /// The whole request in the canonical form.
    fn to_json(&self) -> String {
        self.get().map(json_of).unwrap_or_default()
    }

    /// The body as a wire wants it.
    fn to_wire(&self, wire: &str) -> PyResult<String> {
        let wire = super::wire::named(wire)?;
        let Some(request) = self.get() else { return Ok(String::new()) };
        loopwright_wire::encode_to_send(wire, request).map_err(|error| errors::exception(&error))
    }
}

fn last_text(message: &loopwright_base::message::Message) -> String {
    let prose = message.prose();
    if prose.is_empty() { message.tool_results().map(ToolResult::prose).collect() } else { prose }
}

/// What a machine is made of, checked.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct MachineConfig(pub(super) machine::MachineConfig);

#[pymethods]
impl MachineConfig {
    /// A turn's configuration from a dict or JSON text; unknown keys and illegal values are errors that name them.
    #[staticmethod]
    fn turn(config: &Bound<'_, PyAny>) -> PyResult<Self> {
        let config: machine::turn::TurnConfig = options::parse(config, "invalid_value")?;
        config.check().map_err(|error| errors::exception(&error))?;
        Ok(Self(machine::MachineConfig::Turn(config)))
    }

    /// A grounded answer's configuration, checked like a turn's.
    #[staticmethod]
    fn grounded(config: &Bound<'_, PyAny>) -> PyResult<Self> {
        let config: machine::grounded::GroundedConfig = options::parse(config, "invalid_value")?;
        config.check().map_err(|error| errors::exception(&error))?;
        Ok(Self(machine::MachineConfig::Grounded(config)))
    }

    /// A research's configuration, checked like a turn's.
    #[staticmethod]
    fn research(config: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text: String = config.extract()?;
        let config = machine::research::ResearchConfig::read(&text).map_err(|error| errors::exception(&error))?;
        config.check().map_err(|error| errors::exception(&error))?;
        Ok(Self(machine::MachineConfig::Research(config)))
    }

    fn to_json(&self) -> String {
        json_of(&self.0)
    }

    fn __repr__(&self) -> String {
        redacted(&format!("MachineConfig({})", self.to_json()))
    }

    /// So often an answer that streams may say the same before it is cut; `None` for any number.
    #[getter]
    fn repeats(&self) -> Option<u32> {
        self.0.repeats()
    }
}

/// The turn machine, bare: events in, commands out, no I/O and no clock.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct TurnMachine(Mutex<loopwright_machine::journal::Run>);

#[pymethods]
impl TurnMachine {
    fn __repr__(&self) -> String {
        let run = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        format!("<TurnMachine {}: {} messages>", run.tree().state().name(), run.tree().history().len())
    }

    #[new]
    #[pyo3(signature = (config, *, run="run"))]
    fn new(config: &Bound<'_, PyAny>, run: &str) -> PyResult<Self> {
        let config = match config.cast::<MachineConfig>() {
            Ok(config) => config.get().0.clone(),
            Err(_) => MachineConfig::turn(config)?.0,
        };
        Ok(Self(Mutex::new(loopwright_machine::journal::Run::new(run, config, true))))
    }

    /// Takes an event that was seen at `at` (seconds since the run's start); gives the commands.
    #[pyo3(signature = (event, at=0.0))]
    fn step(&self, event: &Event, at: f64) -> Vec<Command> {
        let mut run = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let commands = run.step(machine::Event { at: Time::from_seconds(at), kind: event.0.clone() });
        commands.into_iter().map(|command| Command(Arc::new(command))).collect()
    }

    /// The history so far.
    #[getter]
    fn messages(&self) -> history::History {
        history::History(self.0.lock().unwrap_or_else(PoisonError::into_inner).tree().history())
    }

    /// What the machine waits for, in words.
    #[getter]
    fn waiting(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tree().waiting()
    }

    /// `running`, `pausing`, `paused` or `done`.
    #[getter]
    fn state(&self) -> &'static str {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tree().state().name()
    }

    /// Whether it has finished.
    #[getter]
    fn finished(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tree().is_finished()
    }

    /// The journal's lines since the last call.
    fn take_journal(&self) -> String {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner).take_log();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The machine's whole state as JSON text, for [`TurnMachine.load`].
    fn save(&self) -> String {
        json_of(self.0.lock().unwrap_or_else(PoisonError::into_inner).tree())
    }

    /// A machine that goes on where `save` left it; its journal begins anew.
    #[staticmethod]
    fn load(state: &str) -> PyResult<Self> {
        let tree = convert::from_json(
            state,
            ("invalid_state", "the saved state can't be read"),
            "give what `save` of this version gave, unchanged",
        )?;
        Ok(Self(Mutex::new(loopwright_machine::journal::Run::resume(tree))))
    }
}
