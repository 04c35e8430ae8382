//! The bridge between tokio's threads and the thread that steps the machines.
//!
//! A call starts on tokio and pushes plain data into the hub's queue. The hub wakes its event loop through a pipe, with
//! one byte for each burst, and the loop drains the whole batch in one call; or a thread without an event loop waits in
//! [`Hub::wait`].

use std::{
    io::{Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use mio::unix::pipe;
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::PyException,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use tokio::task::AbortHandle;

use super::{
    convert,
    embed::{self, EmbedCall},
    environment, errors, machine, runtime, web,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    message::Usage,
    request::Delta,
};
use loopwright_drive::{
    ask::pieces_of,
    batch::{BatchOptions, ticket},
    continued::{self, ContinuedOver},
    embed::Embedded,
    endpoint::{self, EndpointOptions},
    gather,
    http::{CallFailure, Timeouts},
    in_flight::{PartialReply, Watch, catch_panic, catch_panic_now, hand_out, model_outcome, search_panicked},
    own::scrub_event,
    pace::{Held, Limits},
    queue::{Queue, Wake},
    repeats::ask_until_repeated,
    web_call::{WebAnswer, WebCall},
};
use loopwright_machine::{Command, EventKind, Purpose};
use loopwright_models::own_profile::OwnProfile;
use loopwright_retrieve::gather::{Document, Gathered};

/// One end of a pipe, until it is closed: a hub may be kept long after its last run, by a traceback for one. Neither
/// end ever blocks.
struct PipeEnd<T>(Mutex<Option<T>>);

impl<T> PipeEnd<T> {
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        drop(self.lock().take());
    }
}

/// Wakes an event loop by a byte in a pipe, which costs less than half of what a socket does.
impl Wake for PipeEnd<pipe::Sender> {
    fn wake(&self) {
        if let Some(pipe) = &mut *self.lock() {
            // A full pipe means that a wake-up is already waiting there.
            let _ = pipe.write(&[1]);
        }
    }
}

enum HubItem {
    Event(EventKind),
    Deltas(Vec<Delta>),
    /// Deltas of the command with this number.
    Apart(u64, Vec<Delta>),
    /// The request of the command with this number waits for its turn.
    Held(u64, Held),
    Page(web::Read),
    Answer(loopwright_base::error::Result<WebAnswer>),
    Embedded(loopwright_base::error::Result<Embedded>),
}

type Inbox = Arc<Queue<(u64, HubItem), PipeEnd<pipe::Sender>>>;

/// The queue in which results of calls arrive.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Hub {
    inbox: Inbox,
    reader: PipeEnd<pipe::Receiver>,
}

#[pymethods]
impl Hub {
    /// With `wakes`, the hub has a file descriptor that becomes readable when something has arrived.
    #[new]
    #[pyo3(signature = (*, wakes=true))]
    fn new(wakes: bool) -> PyResult<Self> {
        let (writer, reader) =
            if wakes { pipe::new().map(|(writer, reader)| (Some(writer), Some(reader)))? } else { (None, None) };
        Ok(Self { inbox: Arc::new(Queue::new(PipeEnd(Mutex::new(writer)))), reader: PipeEnd(Mutex::new(reader)) })
    }

    /// The file descriptor to watch; -1 without one.
    fn fileno(&self) -> i32 {
        self.reader.lock().as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd)
    }

    /// All that has arrived: pairs of a call's key and an `Event`, a list of deltas, or a command's number with such a
    /// list or with the dict of what its request waits for, in order.
    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Vec<(u64, Bound<'py, PyAny>)>> {
        if let Some(reader) = &mut *self.reader.lock() {
            // Cleared before the batch is taken: what comes after that finds an empty queue and wakes again.
            let mut bytes = [0; 64];
            while matches!(reader.read(&mut bytes), Ok(read) if read == bytes.len()) {}
        }
        let items = self.inbox.drain();
        let mut out = Vec::with_capacity(items.len());
        for (key, item) in items {
            match item {
                HubItem::Event(kind) => out.push((key, Bound::new(py, machine::Event(kind))?.into_any())),
                HubItem::Deltas(deltas) => out.push((key, PyList::new(py, delta_objects(py, deltas)?)?.into_any())),
                HubItem::Apart(id, deltas) => {
                    out.push((key, (id, delta_objects(py, deltas)?).into_pyobject(py)?.into_any()));
                }
                HubItem::Held(id, Held { host, reason, seconds }) => {
                    let held = PyDict::new(py);
                    held.set_item("host", &*host)?;
                    held.set_item("reason", reason)?;
                    held.set_item("seconds", seconds)?;
                    out.push((key, (id, held).into_pyobject(py)?.into_any()));
                }
                HubItem::Page(read) => out.push((key, or_error(py, web::page_object(py, read)))),
                HubItem::Answer(answer) => out.push((key, or_error(py, web::answer_object(py, answer)))),
                HubItem::Embedded(made) => out.push((key, or_error(py, embed::embedded_object(py, made)))),
            }
        }
        Ok(out)
    }

    /// Waits for something to arrive, at most so many seconds, with the interpreter free for others.
    fn wait(&self, py: Python<'_>, seconds: f64) {
        let most = Duration::try_from_secs_f64(seconds.clamp(0.0, 3600.0)).unwrap_or_default();
        py.detach(|| self.inbox.wait(most));
    }

    /// Wakes whoever waits, without anything having arrived.
    fn poke(&self) {
        self.inbox.poke();
    }

    /// Sends the request of a `generate` command; its `Event` arrives under `key`, with `show` its deltas before it.
    /// With `apart` its deltas come with the number of the command, as a pair.
    /// An answer that streams is cut when it has said the same `repeats` times. In a batch the request bears the name
    /// of its `run`; `batch` is the one that it went into before. `kept` are the answers of the run that a request can
    /// go on from.
    #[pyo3(signature = (key, command, endpoint, show, apart=false, repeats=None, run=None, batch=None, kept=None))]
    #[allow(clippy::too_many_arguments)]
    fn generate(
        &self,
        py: Python<'_>,
        key: u64,
        command: &machine::Command,
        endpoint: &Endpoint,
        show: bool,
        apart: bool,
        repeats: Option<u32>,
        run: Option<String>,
        batch: Option<String>,
        kept: Option<&Continuation>,
    ) -> PyResult<ModelCall> {
        let Command::Generate { id, attempt, .. } = &*command.0 else {
            return Err(errors::usage(
                "invalid_value",
                "only a `generate` command can be sent to a model",
                "give a command whose `kind` is \"generate\"",
            ));
        };
        let id = *id;
        let ticket = run.filter(|_| endpoint.inner.is_batched()).map(|run| (ticket(&run, id, *attempt), batch));
        let kept = kept.map(|kept| kept.0.clone());
        let handle = runtime::handle(py)?;
        // Asked for here: a process that is forked meanwhile never inherits the lock that guards it.
        let client = runtime::client(py)?;
        let shown = show.then(PartialReply::default);
        let (inbox, command, endpoint, keyed) =
            (self.inbox.clone(), command.0.clone(), endpoint.clone(), endpoint.keyed(py)?);
        let seen = shown.clone();
        let work = async move {
            let Command::Generate { request, purpose, attempt, .. } = &*command else { return };
            let keyed = match keyed {
                Ok(keyed) => keyed,
                Err(failure) => {
                    let failed = EventKind::Failed { id, failure, visible: false, partial: None };
                    inbox.push((key, HubItem::Event(failed)));
                    return;
                }
            };
            let repeats = repeats.filter(|_| *purpose == Purpose::Executor);
            let watch = Watcher { key, seen: seen.as_ref(), inbox: &inbox, id, apart };
            // Whoever waits for this call is told of its end, whatever that is.
            // One of several models is named with its provider; the provider knows it by its own name.
            let named = request.model.strip_prefix(&*endpoint.inner.name).and_then(|rest| rest.strip_prefix(':'));
            let own = named.filter(|name| *name == &*endpoint.model).map(|name| {
                let mut own = (**request).clone();
                name.clone_into(&mut own.model);
                own
            });
            let request = own.as_ref().unwrap_or(request);
            // Another model of the same provider may be well where this one is not.
            let other = (request.model != *endpoint.model).then(|| keyed.for_model(&request.model));
            let there = other.as_ref().unwrap_or(&keyed);
            let ticketed = ticket.map(|(name, batch)| there.with_ticket(name, batch));
            let there = ticketed.as_ref().unwrap_or(there);
            let within = kept.and_then(|run| there.within(&run));
            let there = within.as_ref().unwrap_or(there);
            let answer = ask_until_repeated(&client, there, &endpoint.timeouts, request, *attempt, watch, repeats);
            // Apart: each part of this task that waits for it would have the room for it.
            let answer = catch_panic(Box::pin(answer)).await;
            let kind = match model_outcome(answer) {
                Ok(response) => EventKind::Generated { id, response: Box::new(response) },
                Err(CallFailure { failure, visible, partial }) => {
                    // Nobody saw what nobody was shown.
                    EventKind::Failed {
                        id,
                        failure,
                        visible: visible && seen.is_some(),
                        partial: partial.map(Box::new),
                    }
                }
            };
            inbox.push((key, HubItem::Event(kind)));
        };
        // A task is moved several times before it runs and when it has ended; this one is large.
        let task = handle.spawn(Box::pin(work));
        Ok(ModelCall { id, task: task.abort_handle(), shown })
    }

    /// Carries out a `search` command over the files of `folders`; its `Event` arrives under `key`. Among several
    /// folders references begin with the name of theirs. `others` are documents from elsewhere, as JSON; `failures`
    /// says who gave none, and why.
    #[pyo3(signature = (key, command, folders=Vec::new(), others=None, failures=Vec::new()))]
    fn search(
        &self,
        py: Python<'_>,
        key: u64,
        command: &machine::Command,
        folders: Vec<std::path::PathBuf>,
        others: Option<&str>,
        failures: Vec<String>,
    ) -> PyResult<ModelCall> {
        let others: Vec<Document> = convert::from_json(
            others.unwrap_or("[]"),
            ("invalid_value", "invalid documents"),
            "give a list of documents, each with its reference and its text",
        )?;
        let Command::Search { id, .. } = &*command.0 else {
            return Err(errors::usage(
                "invalid_value",
                "only a `search` command can be searched for",
                "give a command whose `kind` is \"search\"",
            ));
        };
        let id = *id;
        let (inbox, command) = (self.inbox.clone(), command.0.clone());
        let task = runtime::handle(py)?.spawn_blocking(move || {
            let Command::Search { question, thread, limits, .. } = &*command else { return };
            let found = catch_panic_now(|| gather::gather_all(&folders, others, question, thread, limits));
            let found = found.unwrap_or_else(|words| Err(search_panicked(&words)));
            let found = found.map(|gathered| Gathered { failures, ..gathered });
            inbox.push((key, HubItem::Event(EventKind::Found { id, found })));
        });
        Ok(ModelCall { id, task: task.abort_handle(), shown: None })
    }

    /// Fetches a page and reads it; what `fetch_text` gives, or the exception, arrives under `key`.
    fn fetch(&self, py: Python<'_>, key: u64, url: String, options: &Bound<'_, PyAny>) -> PyResult<WebTask> {
        let options = web::PageOptions::parse(options)?;
        let client = runtime::client(py)?;
        let inbox = self.inbox.clone();
        let task = runtime::handle(py)?
            .spawn(async move { inbox.push((key, HubItem::Page(web::page_text(client, url, options).await))) });
        Ok(WebTask(task.abort_handle()))
    }

    /// Makes a request; what `web_request` gives, or the exception, arrives under `key`.
    fn request(&self, py: Python<'_>, key: u64, call: &Bound<'_, PyAny>) -> PyResult<WebTask> {
        let call: WebCall = convert::parse(call, "request")?;
        let client = runtime::client(py)?;
        let inbox = self.inbox.clone();
        let task = runtime::handle(py)?
            .spawn(async move { inbox.push((key, HubItem::Answer(web::answer(client, call).await))) });
        Ok(WebTask(task.abort_handle()))
    }

    /// Makes vectors of texts; what `embed_texts` gives, or the exception, arrives under `key`.
    fn embed(
        &self,
        py: Python<'_>,
        key: u64,
        endpoint: &Endpoint,
        texts: Vec<String>,
        options: &Bound<'_, PyAny>,
    ) -> PyResult<WebTask> {
        let call = EmbedCall::new(py, endpoint, texts, options)?;
        let inbox = self.inbox.clone();
        let task = runtime::handle(py)?.spawn(async move { inbox.push((key, HubItem::Embedded(call.run().await))) });
        Ok(WebTask(task.abort_handle()))
    }

    /// Nothing arrives any more, and the file descriptors are gone.
    fn close(&self) {
        self.inbox.close();
        self.inbox.waker().close();
        self.reader.close();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // A call that is still under way never writes into a pipe that nobody reads: that may end a process. Who holds
        // the lock writes the last byte there is, since nobody empties the queue any more; and in a forked child the
        // lock may be held by a thread that is not there, so it is not waited for.
        if let Ok(mut writer) = self.inbox.waker().0.try_lock() {
            drop(writer.take());
        }
    }
}

/// The result, or the exception that says why there is none.
fn or_error<'py>(py: Python<'py>, outcome: PyResult<Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
    outcome.unwrap_or_else(|error| error.into_value(py).into_bound(py).into_any())
}

/// The answers of a run that its next requests can go on from, where a provider keeps them.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct Continuation(continued::Continuation);

#[pymethods]
impl Continuation {
    #[new]
    fn new() -> Self {
        Self(continued::Continuation::default())
    }

    /// Forgets all, closes its sockets, and keeps nothing any more.
    fn close(&self) {
        self.0.close();
    }
}

/// A fetch or a request in flight.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct WebTask(AbortHandle);

#[pymethods]
impl WebTask {
    /// Stops it and closes its connection.
    fn abort(&self) {
        self.0.abort();
    }
}

/// A watcher that keeps what an answer has shown, and passes it on; nothing if nobody watches.
struct Watcher<'a> {
    key: u64,
    seen: Option<&'a PartialReply>,
    inbox: &'a Inbox,
    /// The command.
    id: u64,
    /// Deltas carry the command's number.
    apart: bool,
}

impl Watch for Watcher<'_> {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        let push = |item| {
            self.inbox.push((self.key, item));
        };
        let Some(seen) = self.seen else {
            // Where a request went is kept whoever watches.
            let batch = |delta: &Delta| matches!(delta, Delta::Batch { .. });
            let kept = deltas.into_iter().filter(batch);
            return kept.for_each(|delta| push(HubItem::Event(EventKind::Delta { id: self.id, delta })));
        };
        seen.add(&deltas);
        let pieces = |deltas| push(if self.apart { HubItem::Apart(self.id, deltas) } else { HubItem::Deltas(deltas) });
        hand_out(deltas, pieces, |delta| push(HubItem::Event(EventKind::Delta { id: self.id, delta })));
    }

    fn used(&mut self, usage: Usage) {
        if let Some(seen) = self.seen {
            seen.used(usage);
        }
    }

    fn held(&mut self, held: Held) {
        self.inbox.push((self.key, HubItem::Held(self.id, held)));
    }
}

/// A call in flight.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct ModelCall {
    id: u64,
    task: AbortHandle,
    shown: Option<PartialReply>,
}

#[pymethods]
impl ModelCall {
    /// Stops the call and closes its connection. Gives what it had shown, as the event of a cancelled call.
    fn abort(&self) -> machine::Event {
        self.task.abort();
        self.peek()
    }

    /// What it has shown so far, as the event of a call that is cancelled now; the call goes on.
    fn peek(&self) -> machine::Event {
        let partial = self.shown.as_ref().and_then(PartialReply::partial);
        let visible = partial.as_ref().is_some_and(|partial| !partial.message.content.is_empty());
        let failure = Failure::new(FailureKind::Cancelled, "the call was cancelled");
        machine::Event(EventKind::Failed { id: self.id, failure, visible, partial })
    }

    /// Whether the call has ended, one way or the other.
    #[getter]
    fn done(&self) -> bool {
        self.task.is_finished()
    }
}

/// The endpoint of a model. Never shows its key.
#[pyclass(frozen, module = "loopwright._core")]
#[derive(Clone)]
pub(super) struct Endpoint {
    inner: Arc<endpoint::Endpoint>,
    timeouts: Timeouts,
    model: Arc<str>,
    /// A function that gives the key, asked before each request.
    key: Option<Arc<Py<PyAny>>>,
}

impl Endpoint {
    pub(super) const fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    pub(super) fn model_name(&self) -> &str {
        &self.model
    }

    /// The endpoint with the key of this moment; what keeps it from being known is a failure of that request.
    pub(super) fn keyed(&self, py: Python<'_>) -> PyResult<Result<Arc<endpoint::Endpoint>, Failure>> {
        let Some(function) = &self.key else { return Ok(Ok(self.inner.clone())) };
        let failed = |message: String| {
            let hint = Some("give a function that returns the key as text".to_owned());
            Ok(Err(Failure { hint, ..Failure::new(FailureKind::Auth, message) }))
        };
        let given = match function.bind(py).call0() {
            Ok(given) => given,
            Err(error) if error.is_instance_of::<PyException>(py) => {
                // Its words may hold a key.
                let kind = error.get_type(py).name()?;
                return failed(format!("the function that gives the key (api_key) raised {kind}"));
            }
            Err(error) => return Err(error),
        };
        match given.extract::<String>() {
            Ok(key) if !key.trim().is_empty() => match self.inner.with_key(&key) {
                Ok(keyed) => Ok(Ok(Arc::new(keyed))),
                Err(error) => failed(error.message),
            },
            Ok(_) => failed("the function that gives the key (api_key) gave an empty text".to_owned()),
            Err(_) => {
                let kind = given.get_type().name()?;
                failed(format!("the function that gives the key (api_key) gave no text, but {kind}"))
            }
        }
    }
}

#[pymethods]
impl Endpoint {
    /// The endpoint of `provider:model`, with keys and addresses from the environment where none are given.
    #[new]
    #[pyo3(signature = (
        model, *, base_url=None, api_key=None, headers=Vec::new(), profile=None, batch=None, continued=None,
        connect=None, first_byte=None, idle=None, total=None, concurrency=None, requests_per_minute=None,
        tokens_per_minute=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        model: &str,
        base_url: Option<String>,
        api_key: Option<Bound<'_, PyAny>>,
        headers: Vec<(String, String)>,
        profile: Option<(Option<String>, String)>,
        batch: Option<&Bound<'_, PyAny>>,
        continued: Option<&str>,
        connect: Option<f64>,
        first_byte: Option<f64>,
        idle: Option<f64>,
        total: Option<f64>,
        concurrency: Option<u64>,
        requests_per_minute: Option<u64>,
        tokens_per_minute: Option<u64>,
    ) -> PyResult<Self> {
        let function = api_key.as_ref().filter(|key| key.is_callable()).map(|key| Arc::new(key.clone().unbind()));
        let api_key = api_key.filter(|_| function.is_none()).map(|key| key.extract()).transpose()?;
        let profile = profile.map_or_else(
            || Ok(OwnProfile::default()),
            |(file, text)| match file {
                Some(file) => OwnProfile::of_toml(&text, &file),
                None => OwnProfile::of_json(&text),
            },
        );
        let profile = Arc::new(profile.map_err(|error| errors::exception(&error))?);
        let batch: Option<BatchOptions> = convert::parse_some(batch, "batch")?;
        let limits = Limits { concurrency, requests_per_minute, tokens_per_minute };
        let key_comes_later = function.is_some();
        let continued = match continued {
            None => None,
            Some("http") => Some(ContinuedOver::Http),
            Some("websocket") => Some(ContinuedOver::WebSocket),
            Some(other) => {
                let message = format!("requests can't be continued over {other:?}");
                return Err(errors::usage("invalid_option", &message, "give \"http\" or \"websocket\""));
            }
        };
        let options =
            EndpointOptions { base_url, api_key, headers, key_comes_later, profile, batch, limits, continued };
        let env = environment::variables(py)?;
        let (inner, model) =
            endpoint::Endpoint::resolve(model, &options, env).map_err(|error| errors::exception(&error))?;
        let mut timeouts = Timeouts::default();
        let set = [
            (&mut timeouts.connect, connect, "connect"),
            (&mut timeouts.first_byte, first_byte, "first_byte"),
            (&mut timeouts.idle, idle, "idle"),
            (&mut timeouts.total, total, "total"),
        ];
        for (slot, seconds, name) in set {
            match seconds {
                Some(seconds) if seconds > 0.0 && seconds.is_finite() => *slot = seconds,
                Some(seconds) => {
                    let message = format!("the time limit {name} must be a positive number of seconds, not {seconds}");
                    return Err(errors::usage(
                        "invalid_timeout",
                        message,
                        "give a number of seconds above 0, or leave it out",
                    ));
                }
                None => {}
            }
        }
        Ok(Self { inner: Arc::new(inner), timeouts, model: model.into(), key: function })
    }

    /// The model's own name.
    #[getter]
    fn model(&self) -> &str {
        &self.model
    }

    /// The provider's name.
    #[getter]
    fn provider(&self) -> &str {
        &self.inner.name
    }

    /// `host:port` of its address.
    #[getter]
    fn host(&self) -> &str {
        &self.inner.host
    }

    /// A digest of its whole address, under which other paths and queries differ.
    #[getter]
    fn address_digest(&self) -> String {
        let address = self.inner.url.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{:032x}", xxhash_rust::xxh3::xxh3_128(address.as_bytes()))
    }

    /// Whether its requests go in batches.
    #[getter]
    fn batch(&self) -> bool {
        self.inner.is_batched()
    }

    /// Whether its requests go on from answers that the provider has kept.
    #[getter]
    fn continued(&self) -> bool {
        self.inner.is_continued()
    }

    /// The wire it speaks.
    #[getter]
    fn wire(&self) -> &'static str {
        self.inner.wire.name()
    }

    fn __repr__(&self) -> String {
        format!("<Endpoint {}:{}>", self.inner.name, self.model)
    }

    /// The function may hold what holds this endpoint.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.key.iter().try_for_each(|function| visit.call(&**function))
    }
}

macro_rules! delta_class {
    ($(#[$doc:meta])* $name:ident, $kind:literal, { $($field:ident),* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "loopwright._core")]
        pub(super) struct $name {
            $(#[pyo3(get)] $field: String,)*
            #[pyo3(get)]
            block: usize,
            /// Its number among the events of the run; told once, by the driver.
            number: AtomicU64,
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = ($($field,)* block=0))]
            fn new($($field: String,)* block: usize) -> Self {
                Self { $($field,)* block, number: AtomicU64::new(0) }
            }

            /// Its number among the events of the run.
            #[getter]
            fn event_id(&self) -> u64 {
                self.number.load(Ordering::Relaxed)
            }

            #[setter]
            fn set_event_id(&self, number: u64) {
                self.number.store(number, Ordering::Relaxed);
            }

            /// For pickling: events travel between processes.
            fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                let block = self.block.into_pyobject(py)?.into_any();
                PyTuple::new(py, [$(self.$field.as_str().into_pyobject(py)?.into_any(),)* block])
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field),)* "block"])
            }

            #[classattr]
            #[pyo3(name = "type")]
            fn kind() -> &'static str {
                $kind
            }

            fn __repr__(&self) -> String {
                let fields = [$(format!("{}={:?}", stringify!($field), self.$field),)*];
                let shown = format!("{}({}, block={})", stringify!($name), fields.join(", "), self.block);
                loopwright_guard::sensitivity::redact(&shown)
            }
        }
    };
}

delta_class!(
    /// New prose of an answer that is not verified yet.
    TextDelta, "text_delta", { text }
);
delta_class!(
    /// New reasoning.
    ReasoningDelta, "reasoning_delta", { text }
);
delta_class!(
    /// The model begins to write a tool call.
    ToolUseDelta, "tool_use_delta", { call_id, name }
);
delta_class!(
    /// New text of a tool call's arguments.
    ArgumentsDelta, "arguments_delta", { text }
);
delta_class!(
    /// The provider runs a tool of its own, or shows what it gave.
    ProviderDelta, "provider_delta", { kind, name }
);

/// The objects for deltas. What a run is told of searches are events of its own.
pub(super) fn delta_objects(py: Python<'_>, deltas: Vec<Delta>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let mut objects = Vec::with_capacity(deltas.len());
    for delta in deltas {
        objects.push(match delta {
            Delta::Text { block, text } => Bound::new(py, TextDelta::new(text, block))?.into_any(),
            Delta::Reasoning { block, text } => Bound::new(py, ReasoningDelta::new(text, block))?.into_any(),
            Delta::ToolUse { block, id, name } => Bound::new(py, ToolUseDelta::new(id, name, block))?.into_any(),
            Delta::Arguments { block, text } => Bound::new(py, ArgumentsDelta::new(text, block))?.into_any(),
            Delta::Provider { block, kind, name } => Bound::new(py, ProviderDelta::new(kind, name, block))?.into_any(),
            Delta::Search(_) | Delta::Batch { .. } => continue,
        });
    }
    Ok(objects)
}

/// The deltas of a model's whole answer to `request`, as who watches is shown them; none for other events, and where
/// the answer was not to be streamed: what comes whole over the network is not shown there either.
#[pyfunction]
pub(super) fn answer_deltas<'py>(
    py: Python<'py>,
    event: &machine::Event,
    request: &machine::Request,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let event = scrub_event(event.0.clone());
    let (EventKind::Generated { response, .. }, Some(request)) = (&event, request.get()) else {
        return Ok(Vec::new());
    };
    if request.stream != Some(true) {
        return Ok(Vec::new());
    }
    delta_objects(py, pieces_of(request, &response.message))
}
