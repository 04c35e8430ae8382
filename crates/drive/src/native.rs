//! The driver for Rust: the same machines as everywhere, on tokio, with tools as async functions.
//!
//! Model calls, tools, searches and timers are tasks of their own; what they give comes back through one channel, and
//! the machine is stepped by whoever awaits [`Driver::run`]. Dropping that future ends all of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::Instant,
};

use super::{
    continued::Continuation,
    endpoint::Endpoint,
    gather,
    hooks::{Hook, run_hooks},
    http::{CallFailure, Client, Timeouts},
    in_flight::{PartialReply, Watch, catch_panic, catch_panic_now, hand_out, model_outcome, search_panicked},
    own::scrub_event,
    pace::Held,
    repeats::ask_until_repeated,
};
use loopwright_base::{
    error::{Error, Failure, FailureKind, Result},
    message::{Message, ToolFailure, ToolResult, ToolUse, Usage},
    request::{Delta, History, Response},
};
use loopwright_guard::RiskLevel;
use loopwright_machine::{
    ApprovalDecision, Call, Command, Event, EventKind, Id, Interrupt, MachineConfig, ModelChoice, Notice, Outcome,
    Purpose, Time,
    journal::Run,
    turn::{AgentPlace, Recollection},
};
use loopwright_retrieve as retrieve;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type ToolFn = Arc<dyn Fn(ToolUse) -> Boxed<ToolResult> + Send + Sync>;
type ChooseFn = Arc<dyn Fn(Message) -> Boxed<Option<ModelChoice>> + Send + Sync>;
type MemoryFn = Arc<dyn Fn(&str, usize, usize) -> Result<Recollection> + Send + Sync>;
type ApproveFn = Arc<dyn Fn(ToolUse, RiskLevel) -> Boxed<ApprovalDecision> + Send + Sync>;

/// Time limit of the function that chooses a model.
const CHOICE: Duration = Duration::from_secs(5);

/// An update about a run that goes on.
#[derive(Clone, Debug)]
pub enum Update {
    /// New pieces of the run's own answer.
    Deltas(Vec<Delta>),
    /// New pieces of a sub-agent's answer.
    Child {
        /// The path of the sub-agent: `explore`, `explore#2`, `lead/explore`.
        path: String,
        /// The pieces.
        deltas: Vec<Delta>,
    },
    /// A request waits for its turn. No attempt has been made.
    Held {
        /// The path of the sub-agent whose request it is.
        path: Option<String>,
        /// What it waits for.
        held: Held,
    },
    /// A notice of the machine.
    Notice(Notice),
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The outcome.
    pub outcome: Outcome,
    /// The history, fit to go on with.
    pub messages: History,
    /// The journal, in JSON lines.
    pub journal: Vec<u8>,
}

/// A handle that pauses, resumes or ends a run from outside.
#[derive(Clone, Debug)]
pub struct Stopper(mpsc::UnboundedSender<EventKind>);

impl Stopper {
    /// Ends the run; false if it has already ended.
    pub fn stop(&self, how: Interrupt) -> bool {
        self.0.send(EventKind::Interrupt { how, partial: None }).is_ok()
    }

    /// Pauses the run: nothing new starts after what is in flight; false if the run has already ended.
    pub fn pause(&self) -> bool {
        self.0.send(EventKind::Pause).is_ok()
    }

    /// Resumes a paused run; false if it has already ended.
    pub fn resume(&self) -> bool {
        self.0.send(EventKind::Resume).is_ok()
    }
}

/// A driver: the model, the tools and the functions that answer a machine's commands.
#[derive(Clone)]
pub struct Driver {
    client: Client,
    endpoint: Arc<Endpoint>,
    /// Endpoints of roles and of fallbacks; the first of the executor's is `endpoint`.
    chains: BTreeMap<Purpose, Vec<Arc<Endpoint>>>,
    timeouts: Timeouts,
    tools: BTreeMap<String, ToolFn>,
    approve: Option<ApproveFn>,
    folder: Option<PathBuf>,
    agents: BTreeMap<String, Arc<Endpoint>>,
    hooks: Vec<Hook>,
    models: BTreeMap<String, (Arc<Endpoint>, String)>,
    choose: Option<ChooseFn>,
    memory: Option<MemoryFn>,
}

impl Driver {
    /// A driver for the model at `endpoint`.
    pub fn new(client: Client, endpoint: Endpoint) -> Self {
        Self {
            client,
            endpoint: Arc::new(endpoint),
            chains: BTreeMap::new(),
            timeouts: Timeouts::default(),
            tools: BTreeMap::new(),
            approve: None,
            folder: None,
            agents: BTreeMap::new(),
            hooks: Vec::new(),
            models: BTreeMap::new(),
            choose: None,
            memory: None,
        }
    }

    /// Sets the endpoint of a sub-agent: `explore`, or `lead/explore` for one of a sub-agent's own. The others use the
    /// driver's.
    #[must_use]
    pub fn agent(mut self, kind: &str, endpoint: Endpoint) -> Self {
        self.agents.insert(kind.to_owned(), Arc::new(endpoint));
        self
    }

    /// Adds a model to the chain of a role, in the order of its configuration. Of the executor's chain it is a
    /// fallback.
    #[must_use]
    pub fn role(mut self, purpose: Purpose, endpoint: Endpoint) -> Self {
        self.chains.entry(purpose).or_default().push(Arc::new(endpoint));
        self
    }

    fn endpoint_of(&self, purpose: Purpose, place: u32, agent: Option<&str>) -> Option<Arc<Endpoint>> {
        let place = place as usize;
        match (purpose, place) {
            (Purpose::Executor, 0) => {
                Some(agent.and_then(|agent| self.agents.get(agent)).unwrap_or(&self.endpoint).clone())
            }
            (Purpose::Executor, _) => self.chains.get(&purpose)?.get(place - 1).cloned(),
            _ => self.chains.get(&purpose)?.get(place).cloned(),
        }
    }

    /// Sets the time limits of one model call.
    #[must_use]
    pub const fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets the folder that searches look through.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the function that is asked before the first request of a turn whose configuration has `recall`: the prompt,
    /// how many memories, and how many characters of each. With the feature `store`, `Memory::recollect` is such a
    /// function.
    #[must_use]
    pub fn memory<F>(mut self, ask: F) -> Self
    where
        F: Fn(&str, usize, usize) -> Result<Recollection> + Send + Sync + 'static,
    {
        self.memory = Some(Arc::new(ask));
        self
    }

    /// Adds a tool. The machine's configuration holds the description that the model sees.
    #[must_use]
    pub fn tool<F, R>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(ToolUse) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        self.tools.insert(name.to_owned(), Arc::new(move |call| Box::pin(run(call))));
        self
    }

    /// Adds a hook. The machine's configuration names the stages that have some: [`Driver::run`] sees to that.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Adds another model that requests may name: `name` is how they do, `model` how its own endpoint knows it.
    #[must_use]
    pub fn model(mut self, name: &str, endpoint: Endpoint, model: &str) -> Self {
        self.models.insert(name.to_owned(), (Arc::new(endpoint), model.to_owned()));
        self
    }

    /// Sets the function that chooses the model of a run, before its first request.
    #[must_use]
    pub fn choose<F, R>(mut self, choose: F) -> Self
    where
        F: Fn(Message) -> R + Send + Sync + 'static,
        R: Future<Output = Option<ModelChoice>> + Send + 'static,
    {
        self.choose = Some(Arc::new(move |prompt| Box::pin(choose(prompt))));
        self
    }

    /// Sets the function that approves a call at or above `confirm` before it runs; without one the answer is no.
    #[must_use]
    pub fn approve<F, R>(mut self, ask: F) -> Self
    where
        F: Fn(ToolUse, RiskLevel) -> R + Send + Sync + 'static,
        R: Future<Output = ApprovalDecision> + Send + 'static,
    {
        self.approve = Some(Arc::new(move |call, risk| Box::pin(ask(call, risk))));
        self
    }

    /// Runs a machine to its end. `on_start` gets the handle that stops the run; `on_update` gets its updates, streams
    /// of answers among them.
    pub async fn run(
        &self,
        mut config: MachineConfig,
        messages: Vec<Message>,
        on_start: impl FnOnce(Stopper),
        mut on_update: impl FnMut(Update) + Send,
    ) -> Result<RunResult> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        on_start(Stopper(sender.clone()));
        let (shown, mut pieces) = mpsc::unbounded_channel();
        let mut work = RunningTasks {
            driver: self,
            sender,
            shown,
            tasks: JoinSet::new(),
            handles: BTreeMap::new(),
            answers: BTreeMap::new(),
            has_children: config.has_agents(),
            role_calls: BTreeSet::new(),
            started: Instant::now(),
            repeats: config.repeats(),
            kept: Continuation::default(),
        };
        let turn = config.turn_mut();
        turn.hooks.extend(self.hooks.iter().map(Hook::stage));
        turn.choice.ask |= self.choose.is_some();
        let mut run = Run::new("native", config, true);
        let mut journal = Vec::new();
        let mut next = Some(EventKind::Start { messages });
        loop {
            let kind = if let Some(kind) = next.take() {
                kind
            } else {
                tokio::select! {
                    biased;
                    Some(piece) = pieces.recv() => {
                        forward_piece(piece, &mut run, work.now(), &mut on_update);
                        continue;
                    }
                    Some(kind) = receiver.recv() => kind,
                    Some(_) = work.tasks.join_next() => continue,
                }
            };
            let (partials, kind) = work.with_partial_answers(kind);
            if let EventKind::Generated { id, .. } | EventKind::Failed { id, .. } = &kind
                && !work.role_calls.remove(id)
            {
                work.answers.remove(id);
            }
            // What is kept has been told.
            while let Ok(piece) = pieces.try_recv() {
                forward_piece(piece, &mut run, work.now(), &mut on_update);
            }
            let at = work.now();
            if let Some(kind) = partials {
                run.step(Event { at, kind: scrub_event(kind) });
            }
            let commands = run.step(Event { at, kind: scrub_event(kind) });
            journal.extend(run.take_log());
            for command in commands {
                match command {
                    Command::Finish { outcome } => {
                        work.tasks.abort_all();
                        return Ok(RunResult { outcome: *outcome, messages: run.tree().history(), journal });
                    }
                    Command::Emit { notice } => on_update(Update::Notice(notice)),
                    Command::Refuse { error } => return Err(error),
                    other => {
                        let agent = other.id().and_then(|id| run.tree().agent_of(id));
                        work.carry_out(other, agent);
                    }
                }
            }
        }
    }
}

/// A piece of a streamed answer.
enum StreamPiece {
    Told(Update),
    /// A delta of a provider's search, with its command.
    Search(Id, Delta),
}

/// Passes a piece on to the listener; a delta of a search becomes an event of the machine, which tells it.
fn forward_piece(heard: StreamPiece, run: &mut Run, at: Time, told: &mut impl FnMut(Update)) {
    match heard {
        StreamPiece::Told(piece) => told(piece),
        StreamPiece::Search(id, delta) => {
            for command in run.step(Event { at, kind: scrub_event(EventKind::Delta { id, delta }) }) {
                if let Command::Emit { notice } = command {
                    told(Update::Notice(notice));
                }
            }
        }
    }
}

/// The tasks of a run that are in flight. Dropping it ends all of them.
struct RunningTasks<'a> {
    driver: &'a Driver,
    sender: mpsc::UnboundedSender<EventKind>,
    shown: mpsc::UnboundedSender<StreamPiece>,
    tasks: JoinSet<()>,
    handles: BTreeMap<Id, Vec<AbortHandle>>,
    /// The parts of answers that have been shown, by command.
    answers: BTreeMap<Id, PartialReply>,
    /// The run has sub-agents, so several answers may be in flight at once.
    has_children: bool,
    /// Calls of roles, which nobody watches.
    role_calls: BTreeSet<Id>,
    started: Instant,
    /// Repetitions of the same text after which an answer is cut.
    repeats: Option<u32>,
    /// The answers that requests can go on from.
    kept: Continuation,
}

/// A watcher that keeps what an answer has shown, and passes it on.
struct Watcher {
    id: Id,
    answer: PartialReply,
    /// Its pieces are for whoever watches: those of a role are not.
    watched: bool,
    shown: mpsc::UnboundedSender<StreamPiece>,
    /// The path of the sub-agent that speaks.
    path: Option<String>,
}

impl Watch for Watcher {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        if !self.watched {
            return;
        }
        self.answer.add(&deltas);
        // A run that has ended hears nothing any more.
        let send = |heard| drop(self.shown.send(heard));
        let pieces = |deltas| {
            send(StreamPiece::Told(match &self.path {
                Some(path) => Update::Child { path: path.clone(), deltas },
                None => Update::Deltas(deltas),
            }));
        };
        hand_out(deltas, pieces, |delta| send(StreamPiece::Search(self.id, delta)));
    }

    fn used(&mut self, usage: Usage) {
        self.answer.used(usage);
    }

    fn held(&mut self, held: Held) {
        let update = Update::Held { path: self.path.clone(), held };
        // A run that has ended hears nothing any more.
        drop(self.shown.send(StreamPiece::Told(update)));
    }
}

impl RunningTasks<'_> {
    fn now(&self) -> Time {
        Time::from_seconds(self.started.elapsed().as_secs_f64())
    }

    /// Returns the event with the parts of answers that streamed when the run ended, in the event itself or in one
    /// before.
    fn with_partial_answers(&self, kind: EventKind) -> (Option<EventKind>, EventKind) {
        let ends = matches!(
            kind,
            EventKind::Fired { partial: None, .. } | EventKind::Interrupt { how: Interrupt::Cancel, partial: None }
        );
        if !ends || self.answers.is_empty() {
            return (None, kind);
        }
        if self.has_children {
            let answers = self.answers.iter().filter_map(|(id, shown)| Some((*id, *shown.partial()?))).collect();
            let own = match &kind {
                EventKind::Fired { id, .. } => *id >> 32,
                _ => 0,
            };
            let same = self.answers.iter().find(|(id, _)| **id >> 32 == own).and_then(|(_, shown)| shown.partial());
            return (Some(EventKind::Partials { answers }), with_partial_answer(kind, same));
        }
        let shown = self.answers.values().next_back().and_then(PartialReply::partial);
        (None, with_partial_answer(kind, shown))
    }

    fn start(&mut self, id: Id, work: impl Future<Output = EventKind> + Send + 'static) {
        let sender = self.sender.clone();
        let handle = self.tasks.spawn(async move {
            // A run that has ended hears nothing any more.
            let _ = sender.send(work.await);
        });
        self.handles.entry(id).or_default().push(handle);
    }

    fn carry_out(&mut self, command: Command, agent: Option<&AgentPlace>) {
        match command {
            Command::Generate { id, purpose, place, attempt, request } => {
                let driver = self.driver;
                let (client, timeouts) = (driver.client.clone(), driver.timeouts);
                let mut request = request;
                let chosen = (purpose == Purpose::Executor && place == 0).then(|| driver.models.get(&request.model));
                let endpoint = if let Some(Some((endpoint, model))) = chosen {
                    request.model.clone_from(model);
                    endpoint.clone()
                } else if let Some(endpoint) = driver.endpoint_of(purpose, place, agent.map(|place| &*place.kind)) {
                    endpoint
                } else {
                    let message = format!("the driver has no model {place} for the {}", purpose.name());
                    let failure = Failure::new(FailureKind::NotFound, message);
                    self.start(id, async move { EventKind::Failed { id, failure, visible: false, partial: None } });
                    return;
                };
                let watched = purpose == Purpose::Executor;
                let answer = if watched {
                    self.answers.entry(id).or_default().clone()
                } else {
                    self.role_calls.insert(id);
                    PartialReply::default()
                };
                let shown = self.shown.clone();
                let path = agent.map(|place| place.path.clone());
                let repeats = self.repeats.filter(|_| watched);
                let endpoint = endpoint.within(&self.kept).map_or(endpoint, Arc::new);
                self.start(id, async move {
                    let watch = Watcher { id, answer, watched, shown, path };
                    let answer = ask_until_repeated(&client, &endpoint, &timeouts, &request, attempt, watch, repeats);
                    match model_outcome(catch_panic(answer).await) {
                        Ok(response) => EventKind::Generated { id, response: Box::new(response) },
                        Err(CallFailure { failure, visible, partial }) => {
                            EventKind::Failed { id, failure, visible, partial: partial.map(Box::new) }
                        }
                    }
                });
            }
            Command::Execute { id, calls, .. } => {
                for Call { tool_use, timeout, .. } in calls {
                    let tool = self.driver.tools.get(&tool_use.name).cloned();
                    self.start(
                        id,
                        async move { EventKind::Executed { id, result: call(tool, tool_use, timeout).await } },
                    );
                }
            }
            Command::Approve { id, call, hash, risk, .. } => {
                let approve = self.driver.approve.clone();
                self.start(id, async move {
                    let decision = match approve {
                        // Whoever breaks down has not agreed.
                        Some(approve) => {
                            catch_panic(async move { approve(call, risk).await }).await.unwrap_or_else(|words| {
                                ApprovalDecision::Deny { reason: format!("the question broke down: {words}") }
                            })
                        }
                        None => ApprovalDecision::Deny { reason: "nobody is there to ask".to_owned() },
                    };
                    EventKind::Decided { id, hash, decision }
                });
            }
            Command::Search { id, question, thread, limits } => {
                let folder = self.driver.folder.clone();
                self.start(id, async move {
                    let search = move || match folder {
                        Some(folder) => gather::gather_folder(&folder, &question, &thread, &limits),
                        None => Ok(retrieve::gather::gather(&question, std::iter::empty(), &thread, &limits)),
                    };
                    let found = tokio::task::spawn_blocking(|| catch_panic_now(search)).await;
                    let found = found.unwrap_or_else(|error| Err(error.to_string()));
                    EventKind::Found { id, found: found.unwrap_or_else(|words| Err(search_panicked(&words))) }
                });
            }
            Command::Recall { id, query, hits, characters } => {
                let memory = self.driver.memory.clone();
                self.start(id, async move {
                    let ask =
                        move || match memory {
                            Some(memory) => memory(&query, hits, characters),
                            None => Err(Error::usage("no_memory", "the driver has no memory")
                                .hint("give it one: Driver::memory")),
                        };
                    let found = tokio::task::spawn_blocking(|| catch_panic_now(ask)).await;
                    let found = found.unwrap_or_else(|error| Err(error.to_string()));
                    let found = found.unwrap_or_else(|words| Err(Error::internal("memory_failed", words)));
                    EventKind::Recalled { id, found }
                });
            }
            Command::Timer { id, at } => {
                let due = self.started + Duration::from_secs_f64(at.seconds().min(1e9));
                self.start(id, async move {
                    tokio::time::sleep_until(due).await;
                    EventKind::Fired { id, partial: None }
                });
            }
            Command::Abort { id } => {
                self.answers.remove(&id);
                for handle in self.handles.remove(&id).unwrap_or_default() {
                    handle.abort();
                }
            }
            // Drivers in Rust have neither searches nor embedders of their own yet; without them words are hashed.
            Command::Query { id, .. } => {
                self.start(id, async move {
                    EventKind::Hits { id, hits: Err(unavailable("search")), problems: Vec::new() }
                });
            }
            Command::Fetch { id, .. } => {
                self.start(id, async move { EventKind::Fetched { id, page: Err(unavailable("pages")) } });
            }
            Command::Embed { id, .. } => {
                self.start(id, async move { EventKind::Embedded { id, vectors: Err(unavailable("an embedder")) } });
            }
            Command::Consult { id, .. } => {
                self.start(
                    id,
                    async move { EventKind::Consulted { id, answer: Err(unavailable("a part of one's own")) } },
                );
            }
            Command::Hook { id, stage, subject, .. } => {
                let hooks = self.driver.hooks.iter().filter(|hook| hook.stage() == stage).cloned().collect();
                self.start(id, async move { EventKind::Hooked { id, replies: run_hooks(hooks, *subject).await } });
            }
            Command::Choose { id, prompt, .. } => {
                let choose = self.driver.choose.clone();
                self.start(id, async move {
                    let Some(choose) = choose else { return EventKind::Chosen { id, choice: None, error: None } };
                    let asked = tokio::time::timeout(CHOICE, catch_panic(async move { choose(*prompt).await })).await;
                    let (choice, error) = match asked {
                        Ok(Ok(choice)) => (choice, None),
                        Ok(Err(words)) => (None, Some(format!("whoever chooses broke down: {words}"))),
                        Err(_) => (None, Some(format!("nobody chose within {} s", CHOICE.as_secs()))),
                    };
                    EventKind::Chosen { id, choice, error }
                });
            }
            Command::Persist
            | Command::Spawn { .. }
            | Command::Interrupt { .. }
            | Command::Emit { .. }
            | Command::Refuse { .. }
            | Command::Finish { .. } => {}
        }
    }
}

/// Returns the event with the part of the answer that came.
fn with_partial_answer(kind: EventKind, partial: Option<Box<Response>>) -> EventKind {
    match kind {
        EventKind::Fired { id, .. } => EventKind::Fired { id, partial },
        EventKind::Interrupt { how, .. } => EventKind::Interrupt { how, partial },
        other => other,
    }
}

async fn call(tool: Option<ToolFn>, tool_use: ToolUse, timeout: Option<f64>) -> ToolResult {
    let (id, name) = (tool_use.id.clone(), tool_use.name.clone());
    let failed = |kind: &str, message: String| {
        ToolResult::failed(&id, &name, ToolFailure { kind: kind.to_owned(), message, hint: None })
    };
    let Some(tool) = tool else {
        return failed("unavailable", format!("the driver has no tool {name:?}"));
    };
    // In a task of its own, so that a tool that panics gives a failed result and not a lost one.
    let mut task = tokio::spawn(tool(tool_use));
    let limit = Duration::from_secs_f64(timeout.filter(|seconds| seconds.is_finite()).unwrap_or(1e9).clamp(0.0, 1e9));
    let _guard = AbortOnDrop(task.abort_handle());
    match tokio::time::timeout(limit, &mut task).await {
        Ok(Ok(mut result)) => {
            result.id.clone_from(&id);
            result
        }
        Ok(Err(error)) => failed("exception", format!("the tool broke down: {error}")),
        Err(_) => failed("timeout", format!("{name:?} gave no result within {} s", limit.as_secs_f64())),
    }
}

fn unavailable(what: &str) -> Error {
    Error::usage("unavailable", format!("this driver has not {what}")).hint("drive the machine from a host that has")
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
