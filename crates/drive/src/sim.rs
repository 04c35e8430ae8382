//! A simulated world: a scripted model, tools as closures, a clock that only moves when nothing else can.
//!
//! For tests and load models: the same machines as everywhere, no socket, no waiting, and the same run from the same
//! script every time.

use std::collections::{BTreeMap, VecDeque};

use loopwright_base::{
    error::{Error, Failure},
    message::{Message, ToolResult, ToolUse},
    request::{History, Request, Response},
};
use loopwright_machine::{
    ApprovalDecision, Command, Event, EventKind, HookReply, HookStage, HookSubject, Id, Interrupt, MachineConfig,
    ModelChoice, Notice, Outcome, Purpose, Time,
    journal::Run,
    research::{Hit, PageText, Vector},
    turn::Recollection,
};
use loopwright_retrieve::gather::Gathered;

/// The reaction of the scripted model to a request.
#[derive(Clone, Debug)]
pub enum Step {
    /// The model answers after so many seconds.
    Answer(f64, Response),
    /// The model fails after so many seconds; `bool`: after a part of the answer was shown.
    Fail(f64, Failure, bool, Option<Response>),
    /// The model never answers.
    Hang,
}

type ToolFn = Box<dyn FnMut(&ToolUse) -> (f64, ToolResult)>;
type ModelFn = Box<dyn FnMut(&Request) -> Step>;
type PersonFn = Box<dyn FnMut(&ToolUse, &str) -> Option<(f64, String, ApprovalDecision)>>;
type HitsFn = Box<dyn FnMut(&str, usize) -> Result<Vec<Hit>, Error>>;
type PageFn = Box<dyn FnMut(&str) -> Result<PageText, Error>>;
type EmbedFn = Box<dyn FnMut(&[String]) -> Result<Vec<Vector>, Error>>;
type HookFn = Box<dyn FnMut(HookStage, &HookSubject) -> Option<(f64, Vec<HookReply>)>>;
type ChooseFn = Box<dyn FnMut(&Message) -> Option<ModelChoice>>;
type MemoryFn = Box<dyn FnMut(&str) -> Option<(f64, Result<Recollection, Error>)>>;
type SearchFn = Box<dyn FnMut(&str) -> Result<Gathered, Error>>;

/// A simulated world.
pub struct World {
    model: ModelFn,
    tools: BTreeMap<String, ToolFn>,
    approve: PersonFn,
    search: SearchFn,
    hits: HitsFn,
    page: PageFn,
    embed: EmbedFn,
    hooks: HookFn,
    choose: ChooseFn,
    memory: MemoryFn,
    interrupts: Vec<(f64, Interrupt)>,
    events: Vec<(f64, EventKind)>,
    roles: BTreeMap<Purpose, ModelFn>,
    /// The requests that roles were sent, apart from those of the turn itself.
    pub asked: Vec<(Purpose, Request)>,
    /// The requests that the model was sent.
    pub requests: Vec<Request>,
    /// The notices that listeners got.
    pub notices: Vec<Notice>,
    /// Every command of the machine.
    pub commands: Vec<Command>,
    /// The journal.
    pub journal: Vec<u8>,
    /// The most tool calls that ran at once.
    pub most_parallel: usize,
}

/// The result of a simulated run.
#[derive(Debug)]
pub struct SimulatedRun {
    /// The outcome.
    pub outcome: Outcome,
    /// The history.
    pub messages: History,
    /// The time on the clock.
    pub at: Time,
}

impl World {
    /// A world whose model follows `script`; it hangs when the script is used up.
    pub fn scripted(script: impl IntoIterator<Item = Step>) -> Self {
        let mut script: VecDeque<Step> = script.into_iter().collect();
        Self::new(move |_| script.pop_front().unwrap_or(Step::Hang))
    }

    /// A world whose model is a function.
    pub fn new(model: impl FnMut(&Request) -> Step + 'static) -> Self {
        Self {
            model: Box::new(model),
            tools: BTreeMap::new(),
            approve: Box::new(|_, _| None),
            search: Box::new(|_| Ok(Gathered::default())),
            hits: Box::new(|_, _| Ok(Vec::new())),
            page: Box::new(|_| {
                Err(Error::usage("unavailable", "there are no pages in this world")
                    .hint("give the simulation a page function"))
            }),
            embed: Box::new(|_| {
                Err(Error::usage("unavailable", "there is no embedder in this world")
                    .hint("give the simulation an embedder"))
            }),
            hooks: Box::new(|_, _| Some((0.0, Vec::new()))),
            choose: Box::new(|_| None),
            memory: Box::new(|_| Some((0.0, Ok(Recollection::default())))),
            interrupts: Vec::new(),
            events: Vec::new(),
            roles: BTreeMap::new(),
            asked: Vec::new(),
            requests: Vec::new(),
            notices: Vec::new(),
            commands: Vec::new(),
            journal: Vec::new(),
            most_parallel: 0,
        }
    }

    /// Adds a tool: a function that returns seconds and the result.
    #[must_use]
    pub fn tool(mut self, name: &str, run: impl FnMut(&ToolUse) -> (f64, ToolResult) + 'static) -> Self {
        self.tools.insert(name.to_owned(), Box::new(run));
        self
    }

    /// Adds the person who decides: seconds, the hash they saw, the decision; `None` is silence.
    #[must_use]
    pub fn person(
        mut self,
        approve: impl FnMut(&ToolUse, &str) -> Option<(f64, String, ApprovalDecision)> + 'static,
    ) -> Self {
        self.approve = Box::new(approve);
        self
    }

    /// Adds the model of a role; without one it never answers.
    #[must_use]
    pub fn role(mut self, purpose: Purpose, model: impl FnMut(&Request) -> Step + 'static) -> Self {
        self.roles.insert(purpose, Box::new(model));
        self
    }

    /// Adds the function that answers searches.
    #[must_use]
    pub fn finds(mut self, search: impl FnMut(&str) -> Result<Gathered, Error> + 'static) -> Self {
        self.search = Box::new(search);
        self
    }

    /// Adds the function that answers queries.
    #[must_use]
    pub fn hits(mut self, hits: impl FnMut(&str, usize) -> Result<Vec<Hit>, Error> + 'static) -> Self {
        self.hits = Box::new(hits);
        self
    }

    /// Adds the function that answers fetches.
    #[must_use]
    pub fn pages(mut self, page: impl FnMut(&str) -> Result<PageText, Error> + 'static) -> Self {
        self.page = Box::new(page);
        self
    }

    /// Adds an embedder.
    #[must_use]
    pub fn embedder(mut self, embed: impl FnMut(&[String]) -> Result<Vec<Vector>, Error> + 'static) -> Self {
        self.embed = Box::new(embed);
        self
    }

    /// Adds hooks: the replies of a stage's hooks to a subject, after so many seconds; `None` is silence.
    #[must_use]
    pub fn hooks(
        mut self,
        hooks: impl FnMut(HookStage, &HookSubject) -> Option<(f64, Vec<HookReply>)> + 'static,
    ) -> Self {
        self.hooks = Box::new(hooks);
        self
    }

    /// Adds the function that chooses the model.
    #[must_use]
    pub fn chooses(mut self, choose: impl FnMut(&Message) -> Option<ModelChoice> + 'static) -> Self {
        self.choose = Box::new(choose);
        self
    }

    /// Adds the function that recalls memories: seconds, and the memories; `None` is silence.
    #[must_use]
    pub fn remembers(
        mut self,
        memory: impl FnMut(&str) -> Option<(f64, Result<Recollection, Error>)> + 'static,
    ) -> Self {
        self.memory = Box::new(memory);
        self
    }

    /// Interrupts the run at a time.
    #[must_use]
    pub fn interrupt(mut self, at: f64, how: Interrupt) -> Self {
        self.interrupts.push((at, how));
        self
    }

    /// Adds an event at a time: a pause, for instance.
    #[must_use]
    pub fn happens(mut self, at: f64, what: EventKind) -> Self {
        self.events.push((at, what));
        self
    }

    /// Runs a machine to its end; `None` if it waits for something that never comes.
    pub fn run(&mut self, config: MachineConfig, messages: Vec<Message>) -> Option<SimulatedRun> {
        let mut run = Run::new("sim", config, true);
        // Events to come, by time and then by the order in which they were caused.
        let mut agenda: BTreeMap<(Time, u64), EventKind> = BTreeMap::new();
        let mut order = 0_u64;
        let mut owners: BTreeMap<Id, Vec<(Time, u64)>> = BTreeMap::new();
        let mut plan = |agenda: &mut BTreeMap<_, _>, at: Time, kind: EventKind| {
            order += 1;
            agenda.insert((at, order), kind);
            (at, order)
        };
        plan(&mut agenda, Time(0), EventKind::Start { messages });
        for (at, how) in std::mem::take(&mut self.interrupts) {
            plan(&mut agenda, Time::from_seconds(at), EventKind::Interrupt { how, partial: None });
        }
        for (at, what) in std::mem::take(&mut self.events) {
            plan(&mut agenda, Time::from_seconds(at), what);
        }
        while let Some(((now, _), kind)) = agenda.pop_first() {
            let commands = run.step(Event { at: now, kind });
            self.journal.extend(run.take_log());
            for command in commands {
                self.commands.push(command.clone());
                match command {
                    Command::Generate { id, purpose, request, .. } => {
                        let step = if purpose == Purpose::Executor {
                            let step = (self.model)(&request);
                            self.requests.push(*request);
                            step
                        } else {
                            let step = self.roles.get_mut(&purpose).map_or(Step::Hang, |model| model(&request));
                            self.asked.push((purpose, *request));
                            step
                        };
                        let planned = match step {
                            Step::Answer(after, response) => {
                                Some((after, EventKind::Generated { id, response: Box::new(response) }))
                            }
                            Step::Fail(after, failure, visible, partial) => {
                                let partial = partial.map(Box::new);
                                Some((after, EventKind::Failed { id, failure, visible, partial }))
                            }
                            Step::Hang => None,
                        };
                        if let Some((after, kind)) = planned {
                            let key = plan(&mut agenda, now.after(after), kind);
                            owners.entry(id).or_default().push(key);
                        }
                    }
                    Command::Execute { id, calls, .. } => {
                        self.most_parallel = self.most_parallel.max(calls.len());
                        for call in calls {
                            let (after, mut result) = match self.tools.get_mut(&call.tool_use.name) {
                                Some(tool) => tool(&call.tool_use),
                                None => (0.0, ToolResult::text("", "", "no such tool in this world")),
                            };
                            result.id.clone_from(&call.tool_use.id);
                            let key = plan(&mut agenda, now.after(after), EventKind::Executed { id, result });
                            owners.entry(id).or_default().push(key);
                        }
                    }
                    Command::Approve { id, call, hash, .. } => {
                        if let Some((after, hash, decision)) = (self.approve)(&call, &hash) {
                            let key = plan(&mut agenda, now.after(after), EventKind::Decided { id, hash, decision });
                            owners.entry(id).or_default().push(key);
                        }
                    }
                    Command::Search { id, question, .. } => {
                        let found = (self.search)(&question);
                        let key = plan(&mut agenda, now, EventKind::Found { id, found });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Query { id, query, k } => {
                        let hits = (self.hits)(&query, k);
                        let key = plan(&mut agenda, now, EventKind::Hits { id, hits, problems: Vec::new() });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Fetch { id, url, .. } => {
                        let page = (self.page)(&url);
                        let key = plan(&mut agenda, now, EventKind::Fetched { id, page });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Embed { id, texts } => {
                        let vectors = (self.embed)(&texts);
                        let key = plan(&mut agenda, now, EventKind::Embedded { id, vectors });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Consult { id, .. } => {
                        let answer = Err(Error::usage("no_part", "nobody plans or analyses in this world")
                            .hint("leave the planner and the analyser to the machine"));
                        let key = plan(&mut agenda, now, EventKind::Consulted { id, answer });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Hook { id, stage, subject, .. } => {
                        if let Some((after, replies)) = (self.hooks)(stage, &subject) {
                            let key = plan(&mut agenda, now.after(after), EventKind::Hooked { id, replies });
                            owners.entry(id).or_default().push(key);
                        }
                    }
                    Command::Choose { id, prompt, .. } => {
                        let choice = (self.choose)(&prompt);
                        let key = plan(&mut agenda, now, EventKind::Chosen { id, choice, error: None });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Recall { id, query, .. } => {
                        if let Some((after, found)) = (self.memory)(&query) {
                            let key = plan(&mut agenda, now.after(after), EventKind::Recalled { id, found });
                            owners.entry(id).or_default().push(key);
                        }
                    }
                    Command::Timer { id, at } => {
                        let key = plan(&mut agenda, at.max(now), EventKind::Fired { id, partial: None });
                        owners.entry(id).or_default().push(key);
                    }
                    Command::Abort { id } => {
                        for key in owners.remove(&id).unwrap_or_default() {
                            agenda.remove(&key);
                        }
                    }
                    Command::Emit { notice } => self.notices.push(notice),
                    Command::Finish { outcome } => {
                        return Some(SimulatedRun { outcome: *outcome, messages: run.tree().history(), at: now });
                    }
                    Command::Persist | Command::Refuse { .. } | Command::Spawn { .. } | Command::Interrupt { .. } => {}
                }
            }
        }
        None
    }
}
