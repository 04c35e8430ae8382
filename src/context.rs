//! Histories made to fit, for `loopwright.context`: messages come and go as JSON text in the shape they were given in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::{prelude::*, types::PyList};

use super::{
    convert,
    drop_later::drop_later,
    errors,
    messages::words_of,
    read_history::{CountedHistory, read_counting},
    read_messages::MessageReader,
    tokens::{TokenCounter as Counter, model_of},
    wire::named,
};
use loopwright_base::{
    error::{Error, Result},
    json::Raw,
    message::{Message, Role, Wire},
};
use loopwright_context::{
    Archive, BytesPerFour, CALL_OVERHEAD, ContextWindow, Count, Parts, Placed, Policy, Report, assemble, check_message,
    compress, compress_looked, compress_with, message_by_texts,
};
use loopwright_drive::threads::Threads;
use loopwright_models::quirks::takes_instructions_inside;
use loopwright_tokens::{Json, TokenCounter, Tokenizer, o200k_base};
use loopwright_wire as wire;

/// The messages that left a request, under handles.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct ContextArchive(Mutex<Archive>);

impl ContextArchive {
    fn with<T>(&self, work: impl FnOnce(&mut Archive) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Messages from which freeing takes long.
const SLOW_TO_FREE: usize = 4_096;

impl Drop for ContextArchive {
    fn drop(&mut self) {
        let archive = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if archive.len() >= SLOW_TO_FREE {
            drop_later(std::mem::take(archive));
        }
    }
}

#[pymethods]
impl ContextArchive {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Archive::new()))
    }

    /// An archive from what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let archive = convert::from_json(
            text,
            ("invalid_value", "invalid archive"),
            "give what `to_json` of an archive gave, unchanged",
        )?;
        Ok(Self(Mutex::new(archive)))
    }

    /// The archive as JSON text.
    fn to_json(&self) -> String {
        self.with(|archive| serde_json::to_string(archive).unwrap_or_default())
    }

    /// The message under a handle, in the canonical form.
    fn get(&self, handle: &str) -> Option<String> {
        self.with(|archive| archive.get(handle).map(|message| serde_json::to_string(&**message).unwrap_or_default()))
    }

    /// What is under a handle, as text, from a line on.
    fn recall(&self, handle: &str, from_line: usize, limit: usize) -> PyResult<String> {
        self.with(|archive| archive.recall(handle, from_line, limit)).map_err(|error| errors::exception(&error))
    }

    /// The lines that hold these words.
    fn find(&self, words: &str, limit: usize) -> String {
        self.with(|archive| archive.find(words, limit))
    }

    /// What a model is told that asks for something back.
    fn answer(&self, handle: &str, find: &str, from_line: usize, limit: usize) -> PyResult<String> {
        self.with(|archive| archive.answer(handle, find, from_line, limit, |_| true))
            .map_err(|error| errors::exception(&error))
    }

    /// All handles, in the order the messages came.
    fn handles(&self) -> Vec<String> {
        self.with(|archive| archive.iter().map(|(handle, _)| handle.to_owned()).collect())
    }

    fn __len__(&self) -> usize {
        self.with(|archive| archive.len())
    }

    fn __contains__(&self, handle: &str) -> bool {
        self.with(|archive| archive.get(handle).is_some())
    }
}

/// The counters, by encoding, that no call is using: what one call counted the next one remembers.
static IDLE: Mutex<Vec<TokenCounter>> = Mutex::new(Vec::new());
/// Idle counters that are kept at most.
const MAX_IDLE: usize = 4;

fn idle() -> MutexGuard<'static, Vec<TokenCounter>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A counter for one call: one that no other call is using, or the caller's own.
enum CallCounter<'a> {
    Idle(Option<Box<TokenCounter>>),
    Own(&'a Counter),
}

impl CallCounter<'_> {
    /// One that counts as `model` does; without a model, by `o200k_base`.
    fn of(model: Option<&str>) -> Self {
        let tokenizer = model.map_or_else(|| Tokenizer::of(o200k_base()), Tokenizer::for_model);
        let at = |counter: &TokenCounter| {
            let own = counter.tokenizer();
            own.encoding.name() == tokenizer.encoding.name() && own.is_exact() == tokenizer.is_exact()
        };
        let found = {
            let mut idle = idle();
            idle.iter().position(at).map(|at| idle.swap_remove(at))
        };
        let mut counter = found.unwrap_or_else(|| TokenCounter::new(tokenizer));
        counter.set_tokenizer(tokenizer);
        Self::Idle(Some(Box::new(counter)))
    }

    /// Nothing of Python may be touched meanwhile.
    fn with<T>(&mut self, work: impl FnOnce(&mut TokenCounter) -> T) -> T {
        match self {
            Self::Idle(Some(counter)) => work(counter),
            Self::Idle(None) => work(&mut TokenCounter::new(Tokenizer::of(o200k_base()))),
            Self::Own(counter) => counter.with(work),
        }
    }
}

impl Drop for CallCounter<'_> {
    fn drop(&mut self) {
        if let Self::Idle(counter) = self
            && let Some(counter) = counter.take()
        {
            let mut idle = idle();
            if idle.len() < MAX_IDLE {
                idle.push(*counter);
            }
        }
    }
}

/// A function of Python that counts the tokens of a text. Its first exception is kept, and raised in the end.
struct PythonCounter<'py> {
    function: Bound<'py, PyAny>,
    failed: Option<PyErr>,
}

impl Count for PythonCounter<'_> {
    fn text(&mut self, text: &str) -> usize {
        if self.failed.is_some() {
            return BytesPerFour.text(text);
        }
        let counted = self.function.call1((text,)).and_then(|count| {
            count.extract::<u32>().map(|count| count as usize).map_err(|_| {
                let said = count.repr().map_or_else(|_| "what can't be shown".to_owned(), |said| said.to_string());
                let said: String = said.chars().take(100).collect();
                let error = Error::usage("invalid_count", format!("count gave {said} for a text"));
                errors::exception(
                    &error.hint("give a function that returns how many tokens a text is, a whole number from 0"),
                )
            })
        });
        match counted {
            Ok(count) => count,
            Err(error) => {
                self.failed = Some(error);
                0
            }
        }
    }

    fn message(&mut self, message: &Message) -> usize {
        message_by_texts(message, &mut |text| self.text(text))
    }
}

/// What counts for one call: a function of Python, or a counter that needs none.
enum Counts<'a, 'py> {
    Function(PythonCounter<'py>),
    Native(CallCounter<'a>),
}

impl<'a, 'py> Counts<'a, 'py> {
    fn of(count: Option<&'a Bound<'py, PyAny>>, model: Option<&str>) -> Self {
        let Some(given) = count else { return Self::Native(CallCounter::of(model)) };
        match given.cast::<Counter>() {
            Ok(counter) => Self::Native(CallCounter::Own(counter.get())),
            Err(_) => Self::Function(PythonCounter { function: given.clone(), failed: None }),
        }
    }

    /// Does the work; while it goes on, others may run where nothing of Python is asked.
    fn with<T: Send>(self, py: Python<'py>, work: impl FnOnce(&mut dyn Count) -> T + Send) -> PyResult<T> {
        match self {
            Self::Native(mut native) => Ok(py.detach(|| native.with(|counter| work(counter)))),
            Self::Function(mut called) => {
                let done = work(&mut called);
                called.failed.map_or(Ok(done), Err)
            }
        }
    }
}

/// The shape that messages were given in: a wire, or our own.
fn shape_of(shape: &str) -> PyResult<Option<Wire>> {
    if shape == "canonical" { Ok(None) } else { named(shape).map(Some) }
}

pub(super) fn decode(shape: Option<Wire>, raw: &Raw) -> Result<Message> {
    match shape {
        None => raw.to().map_err(|error| {
            Error::usage("invalid_message", words_of(&error)).hint("give the message as `to_dict` writes it")
        }),
        Some(wire) => wire::decode_message(wire, raw),
    }
}

fn encode(shape: Option<Wire>, message: &Message) -> String {
    match shape {
        None => serde_json::to_string(message).unwrap_or_default(),
        Some(wire) => wire::encode_message_as_it_came(wire, message),
    }
}

/// The messages that are left: the very objects that were given where they stand as they were, otherwise what `made`
/// makes of JSON text. Where one became several or none, the report speaks of the places as they are then.
fn placed<'py>(
    shape: Option<Wire>,
    messages: &[Placed],
    report: &mut Report,
    given: &Bound<'py, PyList>,
    made: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(given.py());
    let mut places = Vec::with_capacity(messages.len());
    for placed in messages {
        places.push(out.len());
        match placed.origin {
            Some(origin) if !placed.changed => out.append(given.get_item(origin)?)?,
            _ => {
                for element in made.call1((encode(shape, &placed.message),))?.try_iter()? {
                    out.append(element?)?;
                }
            }
        }
    }
    if out.len() != messages.len() {
        let place = |at: usize| places.get(at).copied().unwrap_or(out.len());
        report.first_changed = report.first_changed.map(place);
        for entry in &mut report.entries {
            entry.at = entry.at.map(place);
        }
    }
    Ok(out)
}

/// What was done, message by message; taken apart when it is looked at.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct ContextReport(Report);

impl Drop for ContextReport {
    fn drop(&mut self) {
        if self.0.entries.len() >= SLOW_TO_FREE {
            drop_later(std::mem::take(&mut self.0));
        }
    }
}

/// One message's index, fate, why, tokens before and after, place, handle, salience and tier.
type ReportRow<'a> = (usize, &'static str, &'a str, usize, usize, Option<usize>, Option<&'a str>, f64, &'static str);

#[pymethods]
impl ContextReport {
    /// A report from what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let report = convert::from_json(
            text,
            ("invalid_value", "invalid report"),
            "give what `to_json` of a report gave, unchanged",
        )?;
        Ok(Self(report))
    }

    /// The report as JSON text.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// The messages given, in order.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.0.entries.iter().map(|entry| -> ReportRow<'_> {
            (
                entry.message,
                entry.fate.name(),
                &entry.why,
                entry.before,
                entry.after,
                entry.at,
                entry.handle.as_deref(),
                entry.salience,
                entry.tier.name(),
            )
        });
        PyList::new(py, rows)
    }

    /// What had to be put right first.
    #[getter]
    fn repairs(&self) -> Vec<(usize, String)> {
        self.0.repairs.iter().map(|repair| (repair.message, repair.what.clone())).collect()
    }

    /// Tokens before.
    #[getter]
    const fn before(&self) -> usize {
        self.0.before
    }

    /// Tokens now.
    #[getter]
    const fn after(&self) -> usize {
        self.0.after
    }

    /// The budget.
    #[getter]
    const fn budget(&self) -> usize {
        self.0.budget
    }

    /// The first message that is no longer as it was.
    #[getter]
    const fn first_changed(&self) -> Option<usize> {
        self.0.first_changed
    }
}

fn policy_of(policy: Option<&str>, shape: Option<Wire>, model: Option<&str>) -> PyResult<Policy> {
    let mut policy: Policy = match policy {
        None => Policy::default(),
        Some(text) => convert::from_json(
            text,
            ("invalid_policy", "invalid policy"),
            "the fields are those of docs/context.md; leave out what shall stay as it is",
        )?,
    };
    policy.wire = policy.wire.or(shape);
    if policy.wire == Some(Wire::Anthropic) {
        policy.instructions_inside.get_or_insert(model.is_some_and(takes_instructions_inside));
    }
    Ok(policy)
}

type Fitted<'py> = (Bound<'py, PyList>, ContextReport);

/// Makes messages fit into a budget. `written` gives the JSON text of a message from it and its place, `made` the
/// messages of JSON text.
#[pyfunction]
#[pyo3(signature = (messages, shape, budget, policy, count, model, archive, written, made))]
#[allow(clippy::too_many_arguments)] // as Python gives them
pub(super) fn compress_context<'py>(
    py: Python<'py>,
    messages: &Bound<'py, PyList>,
    shape: &str,
    budget: usize,
    policy: Option<&str>,
    count: Option<&Bound<'py, PyAny>>,
    model: Option<&str>,
    archive: &ContextArchive,
    written: &Bound<'py, PyAny>,
    made: &Bound<'py, PyAny>,
) -> PyResult<Fitted<'py>> {
    let shape = shape_of(shape)?;
    let policy = policy_of(policy, shape, model)?;
    let reader = MessageReader::new(shape, written)?;
    let (given, done) = match Counts::of(count, model) {
        Counts::Function(mut called) => {
            let given = reader.all(messages)?;
            // Python's own function may ask the archive: it is taken only for a copy.
            let mut own = archive.with(|archive| archive.clone());
            let done = compress(&given, None, budget, &policy, &mut called, &mut own);
            if let Some(error) = called.failed {
                return Err(error);
            }
            archive.with(|archive| *archive = own);
            (given, done)
        }
        Counts::Native(mut native) => {
            let threads = Threads::default();
            let read = read_counting(py, &reader, messages, &policy, &threads, |many| {
                native.with(|counter| counter.siblings(many))
            })?;
            let CountedHistory { messages: given, looked, siblings } = read;
            let done = py.detach(|| {
                native.with(|counter| {
                    counter.absorb(siblings);
                    archive.with(|archive| match &looked {
                        Some(looked) => compress_looked(&given, looked, budget, &policy, counter, archive),
                        None => compress_with(&given, None, budget, &policy, counter, archive, &threads),
                    })
                })
            });
            (given, done)
        }
    };
    let mut done = done.map_err(|error| errors::exception(&error))?;
    let out = placed(shape, &done.messages, &mut done.report, messages, made)?;
    if given.len() < SLOW_TO_FREE {
        py.detach(move || drop((given, done.messages)));
    } else {
        drop_later((given, done.messages));
    }
    Ok((out, ContextReport(done.report)))
}

/// Tokens of a list of messages in `shape`, with what a request costs beside them.
#[pyfunction]
#[pyo3(signature = (messages, shape, count, model, written))]
pub(super) fn count_context<'py>(
    py: Python<'py>,
    messages: &Bound<'py, PyList>,
    shape: &str,
    count: Option<&Bound<'py, PyAny>>,
    model: Option<&str>,
    written: &Bound<'py, PyAny>,
) -> PyResult<usize> {
    let messages = MessageReader::new(shape_of(shape)?, written)?.all(messages)?;
    Counts::of(count, model).with(py, |count| sum_of(&messages, count))
}

fn sum_of(messages: &[Arc<Message>], count: &mut dyn Count) -> usize {
    let base = if messages.is_empty() { 0 } else { count.base() };
    messages.iter().fold(base, |sum, message| sum.saturating_add(count.message(message)))
}

/// Tokens that definitions of tools take in a request; `tools` is a list as JSON text.
#[pyfunction]
#[pyo3(signature = (tools, count, model))]
pub(super) fn count_tools<'py>(
    py: Python<'py>,
    tools: &str,
    count: Option<&Bound<'py, PyAny>>,
    model: Option<&str>,
) -> PyResult<usize> {
    let request = Json::parse(&format!(r#"{{"messages":[],"tools":{tools}}}"#)).map_err(|error| {
        errors::usage(
            "invalid_value",
            format!("the tools are no list: {error}"),
            "give a list of tools, each a dict with name, description and schema",
        )
    })?;
    let tools = request.get("tools").and_then(Json::as_array).unwrap_or_default();
    let beside = |counter: &mut TokenCounter| {
        let base = counter.base();
        counter.json_at_most(&request).saturating_sub(base)
    };
    match Counts::of(count, model) {
        Counts::Native(mut native) => Ok(py.detach(|| native.with(beside))),
        Counts::Function(mut called) => {
            let each = |sum: usize, tool: &Json| sum.saturating_add(called.text(&tool.to_string()) + CALL_OVERHEAD);
            let sum = tools.iter().fold(0, each);
            called.failed.map_or(Ok(sum), Err)
        }
    }
}

/// The head of a request in its fixed order: instructions as text, and each message before the history as JSON text in
/// `shape`. Where the shape has instructions among its messages, they are the first.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python gives them
pub(super) fn assemble_context(
    system: &str,
    memory: &str,
    goal: &str,
    plan: &str,
    gathered: Vec<(String, String)>,
    shape: &str,
) -> PyResult<(String, Vec<String>)> {
    let shape = shape_of(shape)?;
    let parts = Parts { system, memory, goal, plan, gathered: &gathered, history: &[] };
    let (messages, _) = assemble(&parts);
    let instructions = messages.iter().filter(|message| message.role == Role::System).map(|message| message.prose());
    let instructions: String = instructions.collect();
    let apart = shape == Some(Wire::Anthropic);
    let inside = messages.iter().filter(|message| !apart || message.role != Role::System);
    Ok((instructions, inside.map(|message| encode(shape, message)).collect()))
}

/// The tokens of a model's window, where its name is known.
#[pyfunction]
pub(super) fn window_of(model: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    model_of(model).map(loopwright_models::window::window_of)
}

/// A history that grows inside a budget.
#[pyclass(module = "loopwright._core")]
pub(super) struct Window {
    inner: ContextWindow,
    shape: Option<Wire>,
    count: Counting,
}

/// The counter of a window.
enum Counting {
    Function(Py<PyAny>),
    Model(Box<TokenCounter>),
}

impl Counting {
    /// A window goes by a copy of a counter, so that nothing but its own calls changes what it does.
    fn of(py: Python<'_>, count: Option<Py<PyAny>>, model: Option<&str>) -> Self {
        let tokenizer = || model.map_or_else(|| Tokenizer::of(o200k_base()), Tokenizer::for_model);
        let Some(given) = count else { return Self::Model(Box::new(TokenCounter::new(tokenizer()))) };
        match given.bind(py).cast::<Counter>() {
            Ok(counter) => {
                let counter = counter.get();
                Self::Model(Box::new(py.detach(|| counter.with(|counter| counter.clone()))))
            }
            Err(_) => Self::Function(given),
        }
    }
}

impl Window {
    fn counting<T>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut ContextWindow, &mut dyn Count) -> T,
    ) -> PyResult<T> {
        match &mut self.count {
            Counting::Model(counter) => Ok(work(&mut self.inner, &mut **counter)),
            Counting::Function(function) => {
                let mut called = PythonCounter { function: function.bind(py).clone(), failed: None };
                let done = work(&mut self.inner, &mut called);
                called.failed.map_or(Ok(done), Err)
            }
        }
    }
}

impl Window {
    /// The same for what may take long: while it goes on, others may run.
    fn apart<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut ContextWindow, &mut dyn Count) -> T + Send,
    ) -> PyResult<T> {
        let Self { inner, count, .. } = self;
        match count {
            Counting::Model(counter) => Ok(py.detach(|| work(inner, &mut **counter))),
            Counting::Function(_) => self.counting(py, work),
        }
    }
}

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (budget, shape, policy, count, model, high, low))]
    #[allow(clippy::too_many_arguments)] // as Python gives them
    fn new(
        py: Python<'_>,
        budget: usize,
        shape: &str,
        policy: Option<&str>,
        count: Option<Py<PyAny>>,
        model: Option<&str>,
        high: f64,
        low: f64,
    ) -> PyResult<Self> {
        let shape = shape_of(shape)?;
        let inner = ContextWindow::with_marks(budget, policy_of(policy, shape, model)?, high, low);
        Ok(Self { inner, shape, count: Counting::of(py, count, model) })
    }

    /// Adds a message.
    fn append<'py>(
        &mut self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
        written: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let at = self.inner.history().len();
        let message = MessageReader::new(self.shape, written)?.one(message, at)?;
        check_message(at, &message).map_err(|error| errors::exception(&error))?;
        self.counting(py, |window, count| window.append(message, count))
    }

    /// Fills an empty window with a history that went through requests before.
    fn replay<'py>(
        &mut self,
        py: Python<'py>,
        messages: &Bound<'py, PyList>,
        written: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let messages = MessageReader::new(self.shape, written)?.all(messages)?;
        for (at, message) in messages.iter().enumerate() {
            check_message(at, message).map_err(|error| errors::exception(&error))?;
        }
        self.apart(py, |window, count| window.replay(messages, count))
    }

    /// What the provider counted for the request that the view was.
    fn reported(&mut self, py: Python<'_>, tokens: usize) -> PyResult<()> {
        self.counting(py, |window, count| window.reported(tokens, count))
    }

    /// Makes the view fit, if it is too large; gives whether it had to.
    fn settle(&mut self, py: Python<'_>) -> PyResult<bool> {
        if !self.inner.is_full() {
            return Ok(false);
        }
        let done = self.apart(py, |window, count| window.settles(count))?;
        done.map_err(|error| errors::exception(&error))
    }

    /// Makes the view anew, down to the low mark.
    fn compact(&mut self, py: Python<'_>) -> PyResult<()> {
        let done = self.apart(py, |window, count| window.compact(count).map(drop))?;
        done.map_err(|error| errors::exception(&error))
    }

    /// The view from message `start` on: JSON text of each, elements of the shape separated by commas.
    fn view(&self, start: usize) -> Vec<String> {
        self.inner.view().iter().skip(start).map(|message| encode(self.shape, message)).collect()
    }

    fn __len__(&self) -> usize {
        self.inner.view().len()
    }

    /// Tokens of the view.
    #[getter]
    fn tokens(&self) -> usize {
        self.inner.tokens()
    }

    /// Tokens of the view by what the provider reported, where it did.
    #[getter]
    fn expected(&self) -> usize {
        self.inner.expected()
    }

    /// The budget.
    #[getter]
    fn budget(&self) -> usize {
        self.inner.budget()
    }

    /// How many compactions there were.
    #[getter]
    fn compactions(&self) -> usize {
        self.inner.compactions()
    }

    /// What the last compaction did.
    fn report(&self) -> Option<ContextReport> {
        self.inner.report().cloned().map(ContextReport)
    }

    /// What had to be put right of what was appended.
    #[getter]
    fn repairs(&self) -> Vec<(usize, String)> {
        self.inner.repairs().into_iter().map(|repair| (repair.message, repair.what)).collect()
    }

    /// What left the view.
    fn archive(&self) -> ContextArchive {
        ContextArchive(Mutex::new(self.inner.archive().clone()))
    }

    /// Words of a summarizer, for the next compaction.
    fn set_summary(&mut self, words: Option<String>) {
        self.inner.policy_mut().summary = words;
    }

    /// The window as JSON text.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.inner).unwrap_or_default()
    }

    /// A window that was saved.
    #[staticmethod]
    #[pyo3(signature = (text, shape, count, model))]
    fn from_json(
        py: Python<'_>,
        text: &str,
        shape: &str,
        count: Option<Py<PyAny>>,
        model: Option<&str>,
    ) -> PyResult<Self> {
        let mut inner: ContextWindow = convert::from_json(
            text,
            ("invalid_value", "invalid window"),
            "give what `to_json` of a window gave, unchanged",
        )?;
        let mut count = Counting::of(py, count, model);
        if let Counting::Model(counter) = &mut count {
            inner.resume(&mut **counter);
        }
        Ok(Self { inner, shape: shape_of(shape)?, count })
    }
}
