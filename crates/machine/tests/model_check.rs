//! A bounded model check: every order of events that the types allow, in worlds small enough to go through all of them.
//!
//! A breadth-first search over the states of a tree of machines, each as its JSON with what a driver would know of it;
//! every state is loaded from that JSON before it is stepped, so each is also a crash that is survived. Answers come
//! once, twice, late, wrong, and to numbers that nobody gave. The invariants are those of the architecture page, by
//! their numbers. `LOOPWRIGHT_MODEL_CHECK=deep` goes further; it takes minutes.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![allow(clippy::print_stdout, reason = "how far it went is worth reading")]
#![allow(clippy::large_stack_arrays, reason = "a test has a stack of its own")]

mod turn_support;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Write,
};

use loopwright_base::{
    breaker::{Breaker, Verdict},
    error::{Error, Failure, FailureKind},
    json::Raw,
    message::{Message, StopReason, ToolFailure, ToolResult},
    request::{Delta, Response},
    sources::{Source, SourceKind},
};
use loopwright_guard::RiskLevel;
use loopwright_machine::{
    ApprovalDecision, Budget, Command, Event, EventKind, HookAnswer, HookReply, HookStage, Id, Interrupt, Machine,
    MachineConfig, ModelChoice, Notice, Purpose, RetryPolicy, RunState, Time, Tree, arguments_hash,
    grounded::GroundedConfig,
    research::{Explore, Hit, PageText, ResearchConfig, ResearchLimits, Vector},
    turn::{
        AgentConfig, ChildrenConfig, ContextConfig, RecallConfig, RecalledHit, Recollection, RoleConfig, RoleModel,
        RolesConfig, TurnConfig,
    },
};
use loopwright_retrieve::gather::Gathered;
use loopwright_tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use turn_support::*;
use xxhash_rust::xxh3::xxh3_128;

/// The invariants that a search holds every step to, by their numbers on the architecture page.
const NAMES: [(usize, &str); 11] = [
    (1, "every request and the end have exactly one result for each tool use"),
    (2, "a call at or above confirm runs only after an allow bound to it"),
    (3, "no call starts twice, and none that stood twice"),
    (4, "cancel ends it from every state, and the history can go on"),
    (5, "counted use never passes a limit"),
    (6, "an attempt is repeated only if nothing was shown, or after a reset"),
    (7, "no request is longer than the context allows"),
    (8, "nothing waits without a reason, no two pauses share an answer, no empty answer is a success"),
    (9, "saved and loaded between two steps, the rest is the same"),
    (10, "markup never reaches the answer"),
    (11, "usage is the sum over all attempts"),
];

/// A command without an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Open {
    Generate,
    Execute(Vec<String>),
    Approve {
        call: String,
        hash: String,
        expires: Time,
    },
    Search,
    Timer(Time),
    /// A question to a role, which nothing waits for.
    Role,
    Hook(HookStage),
    Choose,
    Recall,
    Query,
    Fetch(String),
    Embed(usize),
}

impl Open {
    /// Whether a pause waits for it.
    const fn is_under_way(&self) -> bool {
        !matches!(self, Self::Timer(_) | Self::Role | Self::Approve { .. })
    }
}

/// Microseconds after which an answer is late, whatever pauses there were.
const LATE: u64 = 10_000_000;

/// Which machine of a tree gave a command.
const fn member(id: Id) -> u64 {
    id >> 32
}

/// What a driver knows of a run. It counts what it holds the machine to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Known {
    open: BTreeMap<Id, Open>,
    /// Answered or given up.
    closed: BTreeMap<Id, Open>,
    started: BTreeSet<String>,
    ended: BTreeSet<String>,
    allowed: BTreeSet<String>,
    requests: u32,
    asked: u32,
    used: u64,
    shown: bool,
    begun: bool,
    finished: bool,
    now: Time,
    /// What may still go wrong.
    faults: u32,
    strays: u32,
    interrupts: u32,
    doubles: u32,
    pauses: u32,
    waits: u32,
    odd: u32,
    /// Nothing new may start.
    still: bool,
    /// What had come of answers, before the event that ends them.
    partials: BTreeMap<Id, u64>,
}

/// A world to be gone through.
struct World {
    machine: MachineConfig,
    replies: fn(u32) -> Vec<Response>,
    faults: u32,
    strays: u32,
    interrupts: u32,
    doubles: u32,
    pauses: u32,
    /// So many questions wait behind others.
    waits: u32,
    /// Hooks have so many words to say, and whoever else is asked.
    odd: u32,
    /// What each tool gives.
    output: String,
}

/// What a search found.
#[derive(Default)]
struct Report {
    states: usize,
    steps: usize,
    ends: BTreeMap<&'static str, usize>,
    events: BTreeSet<&'static str>,
    checked: [usize; 13],
}

impl Report {
    fn holds(&mut self, number: usize, what: bool, why: impl FnOnce() -> String) -> Result<(), String> {
        self.checked[number] += 1;
        if what { Ok(()) } else { Err(format!("invariant {number} is broken: {}", why())) }
    }

    fn add(&mut self, other: Self) {
        self.states += other.states;
        self.steps += other.steps;
        for (stop, count) in other.ends {
            *self.ends.entry(stop).or_default() += count;
        }
        self.events.extend(other.events);
        for (sum, count) in self.checked.iter_mut().zip(other.checked) {
            *sum += count;
        }
    }

    fn print(&self, name: &str, checked: &[usize]) {
        let mut text = format!("{name}: {} states, {} steps, ends: {:?}\n", self.states, self.steps, self.ends);
        for (number, what) in NAMES {
            let _ = writeln!(text, "  {number:2}. held {:8} times: {what}", self.checked[number]);
        }
        println!("{text}");
        for number in checked {
            assert!(self.checked[*number] > 0, "invariant {number} was never looked at in {name}");
        }
    }
}

impl World {
    fn turn(&self) -> &TurnConfig {
        match &self.machine {
            MachineConfig::Turn(turn) => turn,
            MachineConfig::Grounded(grounded) => &grounded.turn,
            MachineConfig::Research(research) => &research.turn,
        }
    }

    /// Whether what had come of that request is told with the end of the run; that of sub-agents is told before it.
    fn ends_with(&self, id: Id) -> bool {
        member(id) == 0 || self.turn().children.agents.is_empty()
    }

    /// Takes note of an event that the machine is about to see.
    fn saw(&self, known: &mut Known, event: &Event) {
        known.now = known.now.max(event.at);
        let close = |known: &mut Known, id: &Id| {
            let open = known.open.remove(id)?;
            known.closed.insert(*id, open.clone());
            Some(open)
        };
        match &event.kind {
            EventKind::Start { .. } => known.begun = true,
            EventKind::Delta { id, .. } => known.shown |= known.open.contains_key(id),
            EventKind::Generated { id, response } => {
                if let Some(Open::Generate | Open::Role) = close(known, id) {
                    known.used += response.usage.total();
                    known.shown = false;
                }
            }
            EventKind::Failed { id, visible, partial, .. } => {
                if let Some(Open::Generate | Open::Role) = close(known, id) {
                    known.shown |= *visible;
                    known.used += partial.as_ref().map_or(0, |partial| partial.usage.total());
                }
            }
            EventKind::Executed { id, result } => {
                if let Some(Open::Execute(calls)) = known.open.get_mut(id) {
                    calls.retain(|call| *call != result.id);
                    if calls.is_empty() {
                        known.open.remove(id);
                        known.closed.insert(*id, Open::Execute(vec![result.id.clone()]));
                    }
                }
            }
            EventKind::Decided { id, hash, decision } => {
                if let Some(Open::Approve { call, hash: right, expires }) = close(known, id)
                    && *decision == ApprovalDecision::Allow
                    && *hash == right
                    // Where the clock may stand still, no other clock says what is late.
                    && (known.now <= expires || self.pauses > 0)
                {
                    known.allowed.insert(call);
                }
            }
            EventKind::Asked { id, put, .. } => {
                if let Some(Open::Approve { expires, .. }) = known.open.get_mut(id) {
                    match put {
                        true if expires.0 == u64::MAX => {
                            *expires = event.at.after(TurnConfig::default().approval_timeout);
                        }
                        true => {}
                        false => *expires = Time(u64::MAX),
                    }
                }
            }
            EventKind::Pause => known.still = true,
            EventKind::Resume => known.still = false,
            EventKind::Found { id, .. }
            | EventKind::Fired { id, .. }
            | EventKind::Hooked { id, .. }
            | EventKind::Chosen { id, .. }
            | EventKind::Recalled { id, .. }
            | EventKind::Hits { id, .. }
            | EventKind::Fetched { id, .. }
            | EventKind::Embedded { id, .. } => {
                close(known, id);
            }
            EventKind::Interrupt { how: Interrupt::Cancel, partial: Some(partial) }
                if known.open.iter().any(|(id, open)| *open == Open::Generate && self.ends_with(*id)) =>
            {
                known.used += partial.usage.total();
            }
            EventKind::Partials { answers } => {
                known.partials = answers.iter().map(|(id, answer)| (*id, answer.usage.total())).collect();
                return;
            }
            _ => {}
        }
        if !matches!(event.kind, EventKind::Interrupt { .. } | EventKind::Fired { .. }) {
            known.partials.clear();
        }
    }

    /// Holds the commands of a step to the invariants.
    fn took(&self, known: &mut Known, commands: &[Command], report: &mut Report) -> Result<(), String> {
        let budget = &self.turn().budget;
        for command in commands {
            report.holds(8, !known.finished, || format!("{command:?} after the end"))?;
            let starts = !matches!(
                command,
                Command::Timer { .. }
                    | Command::Abort { .. }
                    | Command::Persist
                    | Command::Refuse { .. }
                    | Command::Finish { .. }
                    | Command::Emit { .. }
            );
            report.holds(8, !(starts && known.still), || format!("{command:?} while it stands still"))?;
            match command {
                Command::Generate { id, purpose, request, .. } if *purpose != Purpose::Executor => {
                    let lawful = legal(&request.messages);
                    report.holds(1, lawful.is_ok(), || format!("{lawful:?}"))?;
                    let twice = known.open.values().any(|open| *open == Open::Role);
                    report.holds(8, !twice, || "one role is asked twice at once".into())?;
                    known.open.insert(*id, Open::Role);
                }
                Command::Generate { id, attempt, request, .. } => {
                    let lawful = legal(&request.messages);
                    report.holds(1, lawful.is_ok(), || format!("{lawful:?}"))?;
                    if let Some(most) = self.turn().context.budget {
                        let mut counter = TokenCounter::for_model(&request.model);
                        let tokens = counter.messages(request.messages.iter()).tokens;
                        report.holds(7, tokens <= most, || format!("{tokens} tokens of {most}"))?;
                    }
                    let mut own = known.open.iter().filter(|(open, _)| member(**open) == member(*id));
                    let busy = own.any(|(_, open)| !matches!(open, Open::Timer(_) | Open::Role));
                    report.holds(8, !busy, || format!("a request while {:?} is open", known.open))?;
                    report.holds(6, *attempt == 1 || !known.shown, || "no reset of what was shown".into())?;
                    known.requests += u32::from(*attempt == 1);
                    let requests = known.requests;
                    report.holds(5, requests <= budget.iterations, || format!("{requests} requests"))?;
                    if let Some(most) = budget.tokens {
                        let left = most.saturating_sub(known.used);
                        let bound = request.max_tokens.is_some_and(|tokens| tokens <= left);
                        report.holds(5, left > 0 && bound, || format!("{left} tokens left"))?;
                    }
                    known.open.insert(*id, Open::Generate);
                }
                Command::Execute { id, calls, parallel } => {
                    for call in calls {
                        let call = &call.tool_use;
                        let tool = self.turn().tools.iter().find(|tool| tool.name == call.name);
                        let tool = tool.ok_or("an unknown tool runs")?;
                        let own = format!("{}:{}", member(*id), call.id);
                        let first = known.started.insert(own.clone());
                        report.holds(3, first, || format!("{} starts twice", call.id))?;
                        if tool.risk >= RiskLevel::Confirm {
                            let allowed = known.allowed.contains(&own);
                            report.holds(2, allowed, || format!("{} runs and nobody allowed it", call.id))?;
                        }
                        let alone = tool.read_only || !*parallel && calls.len() == 1;
                        report.holds(3, alone, || format!("{} runs beside others", call.id))?;
                    }
                    let ids = calls.iter().map(|call| call.tool_use.id.clone()).collect();
                    known.open.insert(*id, Open::Execute(ids));
                }
                Command::Approve { id, call, hash, expires, .. } => {
                    report.holds(2, *hash == arguments_hash(call), || "a question with a wrong hash".into())?;
                    let mut own = known.open.iter().filter(|(open, _)| member(**open) == member(*id));
                    let beside = own.any(|(_, open)| matches!(open, Open::Approve { .. }));
                    report.holds(8, !beside, || "two questions at once".into())?;
                    known.asked += 1;
                    report.holds(5, known.asked <= budget.approvals, || format!("{} questions", budget.approvals))?;
                    let (call, hash) = (format!("{}:{}", member(*id), call.id), hash.clone());
                    known.open.insert(*id, Open::Approve { call, hash, expires: *expires });
                }
                Command::Search { id, .. } => {
                    known.open.insert(*id, Open::Search);
                }
                Command::Hook { id, stage, spent, .. } => {
                    // Hooks are the run's: they see what all of it has used.
                    report.holds(11, spent.usage.total() == known.used, || {
                        format!("{} tokens were used, the hooks of {stage:?} see {}", known.used, spent.usage.total())
                    })?;
                    known.open.insert(*id, Open::Hook(*stage));
                }
                Command::Choose { id, .. } => {
                    known.open.insert(*id, Open::Choose);
                }
                Command::Recall { id, .. } => {
                    known.open.insert(*id, Open::Recall);
                }
                Command::Query { id, .. } => {
                    known.open.insert(*id, Open::Query);
                }
                Command::Fetch { id, url, .. } => {
                    known.open.insert(*id, Open::Fetch(url.clone()));
                }
                Command::Embed { id, texts } => {
                    known.open.insert(*id, Open::Embed(texts.len()));
                }
                Command::Timer { id, at } => {
                    known.open.insert(*id, Open::Timer(*at));
                }
                Command::Abort { id } => {
                    let open = known.open.remove(id);
                    if open == Some(Open::Generate) {
                        known.used += known.partials.remove(id).unwrap_or(0);
                    }
                    report.holds(8, open.is_some(), || format!("{id} is given up and not open"))?;
                    known.closed.extend(open.map(|open| (*id, open)));
                }
                Command::Emit { notice: Notice::Reset { .. } } => known.shown = false,
                Command::Emit { notice: Notice::ToolFinished { call_id: id, name, .. } } if name != "spawn" => {
                    let end = format!(":{id}");
                    let began = known.started.iter().find(|own| own.ends_with(&end) && !known.ended.contains(*own));
                    let ended = began.cloned().is_some_and(|own| known.ended.insert(own));
                    report.holds(3, ended, || format!("{id} ends twice, or never began"))?;
                }
                Command::Finish { outcome } => {
                    known.finished = true;
                    report.holds(8, known.open.is_empty(), || format!("at the end {:?} is open", known.open))?;
                    let spent = &outcome.spent;
                    report.holds(11, spent.usage.total() == known.used, || {
                        format!("{} tokens were used, {} counted", known.used, spent.usage.total())
                    })?;
                    let within = spent.iterations <= budget.iterations
                        && spent.tool_rounds <= budget.tool_rounds
                        && spent.approvals <= budget.approvals;
                    report.holds(5, within, || format!("{spent:?}"))?;
                    let said = outcome.r#final.as_deref().unwrap_or_default();
                    let empty = outcome.stop.is_success() && said.trim().is_empty();
                    report.holds(8, !empty, || "an empty answer as a success".into())?;
                    report.holds(10, !said.contains("tool_call"), || format!("{said:?} is markup"))?;
                    *report.ends.entry(outcome.stop.name()).or_default() += 1;
                }
                Command::Persist | Command::Emit { .. } | Command::Refuse { .. } => {}
                // A command that is not known here is one of a machine that has grown.
                #[allow(unreachable_patterns, reason = "as long as none has been added")]
                other => panic!(
                    "the model check does not know {other:?}: say in `World::took` that it is open, and in \
                     `World::possible` how it may be answered"
                ),
            }
        }
        Ok(())
    }

    /// Every event that the types allow here, and what is then left of what may go wrong.
    fn possible(&self, known: &Known) -> Vec<(EventKind, Time, Known)> {
        let mut events = Vec::new();
        let now = known.now;
        let mut push = |kind: EventKind, at: Time, known: &Known| events.push((kind, at, known.clone()));
        let start = || EventKind::Start { messages: vec![Message::user("When does the breaker open?")] };
        let mut less = known.clone();
        if !known.begun {
            push(start(), now, known);
        } else if known.doubles > 0 {
            less.doubles -= 1;
            push(start(), now, &less);
        }
        for (id, open) in &known.open {
            let id = *id;
            match open {
                Open::Generate => {
                    for response in (self.replies)(known.requests) {
                        push(EventKind::Generated { id, response: Box::new(response) }, now, known);
                    }
                    if !known.shown {
                        let delta = Delta::Text { block: 0, text: "x".into() };
                        push(EventKind::Delta { id, delta }, now, known);
                    }
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        for (kind, visible, partial) in [
                            (FailureKind::Cut, false, None),
                            (FailureKind::Cut, true, Some(say("part"))),
                            (FailureKind::Overloaded, false, None),
                            (FailureKind::BadRequest, false, None),
                            (FailureKind::Auth, false, None),
                        ] {
                            let failure = Failure::new(kind, "it failed");
                            let partial = partial.map(Box::new);
                            push(EventKind::Failed { id, failure, visible, partial }, now, &less);
                        }
                    }
                }
                Open::Execute(calls) => {
                    for call in calls {
                        push(EventKind::Executed { id, result: ToolResult::text(call, "", &self.output) }, now, known);
                        if known.faults > 0 {
                            let mut less = known.clone();
                            less.faults -= 1;
                            // As after a crash: nobody knows whether it took effect.
                            let failure = ToolFailure { kind: "unknown".into(), message: "?".into(), hint: None };
                            let result = ToolResult { failure: Some(failure), ..ToolResult::text(call, "", "?") };
                            push(EventKind::Executed { id, result }, now, &less);
                        }
                    }
                }
                Open::Approve { hash, expires, .. } => {
                    let no = || ApprovalDecision::Deny { reason: "no".into() };
                    for (hash, decision, at) in [
                        (hash.as_str(), ApprovalDecision::Allow, now),
                        ("", ApprovalDecision::Allow, now),
                        (hash, ApprovalDecision::Allow, Time(expires.0.saturating_add(LATE))),
                        (hash, no(), now),
                        (hash, ApprovalDecision::Abort, now),
                    ] {
                        // No time passes while it stands still.
                        if at.0 < u64::MAX && !(known.still && at > now) {
                            push(EventKind::Decided { id, hash: hash.into(), decision }, at, known);
                        }
                    }
                    if expires.0 == u64::MAX {
                        push(EventKind::Asked { id, put: true, tell: false }, now, known);
                    } else if known.waits > 0 {
                        let mut less = known.clone();
                        less.waits -= 1;
                        push(EventKind::Asked { id, put: false, tell: false }, now, &less);
                        push(EventKind::Asked { id, put: true, tell: false }, now, &less);
                    }
                }
                Open::Role => {
                    push(EventKind::Generated { id, response: Box::new(say(SUMMED)) }, now, known);
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        push(EventKind::Generated { id, response: Box::new(say("no idea")) }, now, &less);
                        let failure = Failure::new(FailureKind::Overloaded, "it failed");
                        push(EventKind::Failed { id, failure, visible: false, partial: None }, now, &less);
                    }
                }
                Open::Hook(stage) => {
                    push(EventKind::Hooked { id, replies: Vec::new() }, now, known);
                    if known.odd > 0 {
                        let mut less = known.clone();
                        less.odd -= 1;
                        for answer in hooks_say(*stage) {
                            let replies = vec![HookReply { name: "h".into(), answer }];
                            push(EventKind::Hooked { id, replies }, now, &less);
                        }
                    }
                }
                Open::Choose => {
                    push(EventKind::Chosen { id, choice: None, error: None }, now, known);
                    let choice =
                        |confidence| ModelChoice { model: "other".into(), confidence, ..ModelChoice::default() };
                    push(EventKind::Chosen { id, choice: Some(choice(0.9)), error: None }, now, known);
                    if known.odd > 0 {
                        let mut less = known.clone();
                        less.odd -= 1;
                        push(EventKind::Chosen { id, choice: Some(choice(f64::NAN)), error: None }, now, &less);
                        push(EventKind::Chosen { id, choice: None, error: Some("it raised".into()) }, now, &less);
                    }
                }
                Open::Recall => {
                    let hit = RecalledHit { id: 1, trust: "user".into() };
                    let context = "[memory] the user likes tabs".to_owned();
                    let known_to = Recollection { context, hits: vec![hit], ..Recollection::default() };
                    push(EventKind::Recalled { id, found: Ok(known_to) }, now, known);
                    push(EventKind::Recalled { id, found: Ok(Recollection::default()) }, now, known);
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        let found = Err(Error::usage("memory", "it is locked"));
                        push(EventKind::Recalled { id, found }, now, &less);
                    }
                }
                Open::Query => {
                    let hit = Hit { title: "Tides".into(), url: "http://a/tides".into(), ..Hit::default() };
                    push(EventKind::Hits { id, hits: Ok(vec![hit]), problems: Vec::new() }, now, known);
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        push(EventKind::Hits { id, hits: Ok(Vec::new()), problems: Vec::new() }, now, &less);
                        let hits = Err(Error::usage("search", "it is down"));
                        push(EventKind::Hits { id, hits, problems: Vec::new() }, now, &less);
                    }
                }
                Open::Fetch(url) => {
                    let text = "The moon raises the tides of the sea by 3 metres. ".repeat(8);
                    let page = PageText { url: url.clone(), title: "Tides".into(), text, published: None };
                    push(EventKind::Fetched { id, page: Ok(page) }, now, known);
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        push(EventKind::Fetched { id, page: Ok(PageText::default()) }, now, &less);
                        push(EventKind::Fetched { id, page: Err(Error::usage("fetch", "there is none")) }, now, &less);
                    }
                }
                Open::Embed(texts) => {
                    let vectors = (0..*texts).map(|at| Vector(vec![1.0, at as f32, 0.5])).collect();
                    push(EventKind::Embedded { id, vectors: Ok(vectors) }, now, known);
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        let short = vec![Vector(vec![f32::NAN])];
                        push(EventKind::Embedded { id, vectors: Ok(short) }, now, &less);
                        let vectors = Err(Error::usage("embed", "it is down"));
                        push(EventKind::Embedded { id, vectors }, now, &less);
                    }
                }
                Open::Search => {
                    push(EventKind::Found { id, found: Ok(sources()) }, now, known);
                    push(EventKind::Found { id, found: Ok(Gathered::default()) }, now, known);
                    if known.faults > 0 {
                        let mut less = known.clone();
                        less.faults -= 1;
                        let found = Err(Error::usage("no_sources", "there are none"));
                        push(EventKind::Found { id, found }, now, &less);
                    }
                }
                Open::Timer(at) => push(EventKind::Fired { id, partial: None }, now.max(*at), known),
            }
        }
        if known.strays > 0 {
            let mut less = known.clone();
            less.strays -= 1;
            let late = known.closed.iter().map(|(id, open)| (*id, open.clone()));
            let nobody = [(99, Open::Generate), (9 << 32, Open::Search), (98, Open::Timer(now))];
            for (id, open) in late.chain(nobody) {
                let kind = match open {
                    Open::Generate => EventKind::Generated { id, response: Box::new(say("late")) },
                    Open::Execute(calls) => {
                        let call = calls.first().map_or("nobody", String::as_str);
                        EventKind::Executed { id, result: ToolResult::text(call, "", "late") }
                    }
                    Open::Approve { hash, .. } => EventKind::Decided { id, hash, decision: ApprovalDecision::Allow },
                    Open::Search => EventKind::Found { id, found: Ok(Gathered::default()) },
                    Open::Timer(_) => EventKind::Fired { id, partial: None },
                    Open::Role => EventKind::Generated { id, response: Box::new(say(SUMMED)) },
                    Open::Hook(_) => EventKind::Hooked { id, replies: Vec::new() },
                    Open::Choose => EventKind::Chosen { id, choice: None, error: None },
                    Open::Recall => EventKind::Recalled { id, found: Ok(Recollection::default()) },
                    Open::Query => EventKind::Hits { id, hits: Ok(Vec::new()), problems: Vec::new() },
                    Open::Fetch(_) => EventKind::Fetched { id, page: Ok(PageText::default()) },
                    Open::Embed(_) => EventKind::Embedded { id, vectors: Ok(Vec::new()) },
                };
                push(kind, now, &less);
            }
            // The person says something more, whatever the run is at.
            push(EventKind::Said { message: Message::user("and this") }, now, &less);
            // A result for a call that is not among those that run.
            for (id, _) in known.open.iter().filter(|(_, open)| matches!(open, Open::Execute(_))) {
                push(EventKind::Executed { id: *id, result: ToolResult::text("nobody", "", "?") }, now, &less);
            }
        }
        if known.begun && known.still {
            push(EventKind::Resume, now.after(1.0), known);
        } else if known.begun && known.pauses > 0 {
            let mut less = known.clone();
            less.pauses -= 1;
            push(EventKind::Pause, now, &less);
        }
        if known.begun && known.interrupts > 0 {
            let mut less = known.clone();
            less.interrupts -= 1;
            let asking = known.open.iter().filter(|(id, open)| **open == Open::Generate && !self.ends_with(**id));
            let answers: Vec<(Id, Response)> = asking.map(|(id, _)| (*id, say("part"))).collect();
            if !answers.is_empty() && known.partials.is_empty() {
                push(EventKind::Partials { answers }, now, known);
            }
            for how in [Interrupt::Cancel, Interrupt::AfterRound] {
                for partial in [None, Some(Box::new(say("part")))] {
                    // What was held back was never asked, and has said nothing.
                    if partial.is_some() && known.still && !known.open.values().any(|open| *open == Open::Generate) {
                        continue;
                    }
                    push(EventKind::Interrupt { how, partial }, now, &less);
                }
            }
        }
        if !known.partials.is_empty() {
            // They are told right before what may end the run, and nothing comes between.
            events.retain(|(kind, ..)| match kind {
                EventKind::Interrupt { how, .. } => *how == Interrupt::Cancel,
                EventKind::Fired { id, .. } => member(*id) == 0,
                _ => false,
            });
        }
        events
    }

    /// Goes through all states.
    fn search(&self) -> Report {
        let mut report = Report::default();
        let known = Known {
            faults: self.faults,
            strays: self.strays,
            interrupts: self.interrupts,
            doubles: self.doubles,
            pauses: self.pauses,
            waits: self.waits,
            odd: self.odd,
            ..Known::default()
        };
        let first = serde_json::to_string(&Tree::new(self.machine.clone())).unwrap();
        let mut seen = BTreeSet::new();
        let mut queue = VecDeque::from([(Tree::new(self.machine.clone()), first, known, String::new())]);
        while let Some((live, state, known, way)) = queue.pop_front() {
            report.states += 1;
            for (kind, at, left) in self.possible(&known) {
                report.steps += 1;
                report.events.insert(kind.name());
                let way = format!("{way} {}", kind.name());
                let event = Event { at, kind };
                let mut known = left;
                self.saw(&mut known, &event);
                let mut tree = live.clone();
                let commands = tree.step(event.clone());
                let broken = |why: String| panic!("{why}\nafter{way}\nat {event:?}");
                self.took(&mut known, &commands, &mut report).unwrap_or_else(broken);
                let saved = serde_json::to_string(&tree).unwrap();
                // The same, loaded from what was saved before the step.
                let mut loaded: Tree = serde_json::from_str(&state).unwrap();
                let answered = loaded.step(event.clone());
                report.holds(9, answered == commands, || "it says something else".into()).unwrap_or_else(broken);
                let again = serde_json::to_string(&loaded).unwrap();
                report.holds(9, again == saved, || parting(&again, &saved)).unwrap_or_else(broken);
                if known.finished {
                    let lawful = legal(&tree.history());
                    report.holds(1, lawful.is_ok(), || format!("{lawful:?}")).unwrap_or_else(broken);
                    report.holds(8, tree.waiting().is_empty(), || "it waits".into()).unwrap_or_else(broken);
                    // Nothing comes of anything any more.
                    let after = tree.step(Event { at, kind: EventKind::Fired { id: 1, partial: None } });
                    report.holds(8, after.is_empty(), || format!("{after:?}")).unwrap_or_else(broken);
                    continue;
                }
                if known.still && !known.open.values().any(Open::is_under_way) {
                    let paused = tree.state() == RunState::Paused && !known.open.values().any(|o| *o == Open::Role);
                    report.holds(8, paused, || format!("the pause waits for {:?}", known.open)).unwrap_or_else(broken);
                }
                if known.begun {
                    let waits = !tree.waiting().is_empty() && (known.still || !known.open.is_empty());
                    report.holds(8, waits, || format!("it stalls: {:?}", tree.waiting())).unwrap_or_else(broken);
                }
                let key = serde_json::to_vec(&(&saved, &known)).unwrap();
                if !seen.insert(xxh3_128(&key)) {
                    continue;
                }
                if known.begun {
                    self.cancelled(tree.clone(), known.clone(), &mut report).unwrap_or_else(broken);
                }
                queue.push_back((tree, saved, known, way));
            }
        }
        report
    }

    /// Cancel ends it at once, with a history that another turn takes as it is.
    fn cancelled(&self, mut tree: Tree, mut known: Known, report: &mut Report) -> Result<(), String> {
        let ends = report.ends.clone();
        let event = Event { at: known.now, kind: EventKind::Interrupt { how: Interrupt::Cancel, partial: None } };
        self.saw(&mut known, &event);
        let commands = tree.step(event);
        self.took(&mut known, &commands, report)?;
        report.ends = ends;
        let history = tree.history();
        let lawful = legal(&history);
        report.holds(4, known.finished && lawful.is_ok(), || format!("cancel does not end it: {lawful:?}"))?;
        let mut messages: Vec<Message> = history.iter().cloned().collect();
        messages.push(Message::user("and now?"));
        let mut next = Tree::new(MachineConfig::Turn(TurnConfig { budget: Budget::default(), ..self.turn().clone() }));
        next.step(Event { at: Time(0), kind: EventKind::Start { messages: messages.clone() } });
        report.holds(4, next.history().iter().eq(messages.iter()), || "its history can't go on".into())
    }
}

fn sources() -> Gathered {
    let text = "The breaker opens after 3 failures.".to_owned();
    let source = Source {
        kind: SourceKind::File,
        reference: "a.md".into(),
        line: 1,
        end_line: 1,
        heading: String::new(),
        text,
        score: 1.0,
    };
    Gathered { sources: vec![source], files_seen: 1, files_matched: 1, ..Gathered::default() }
}

fn deep() -> bool {
    std::env::var_os("LOOPWRIGHT_MODEL_CHECK").is_some()
}

fn two_calls(n: u32) -> Vec<Response> {
    let (a, b) = (format!("a{n}"), format!("b{n}"));
    let fresh = format!("{{\"n\":{n}}}");
    let markup = format!("<tool_call>{{\"name\": \"look\", \"arguments\": {{\"m\": {n}}}}}</tool_call>");
    let mut replies = vec![
        say("done"),
        response(Vec::new(), StopReason::EndTurn),
        calls(&[(&a, "look", &fresh), (&b, "rm", &fresh)]),
        // The same id twice, and one that was there before.
        calls(&[("a1", "look", &fresh), ("a1", "write", &fresh)]),
        say(&markup),
    ];
    if deep() {
        replies.extend([
            calls(&[(&a, "look", &fresh), (&b, "look", "{}")]),
            calls(&[(&a, "nope", "{}")]),
            calls(&[(&a, "rm", "{}"), (&b, "rm", &fresh)]),
            calls(&[(&a, "write", "{}"), (&b, "look", &fresh)]),
            calls(&[(&a, "look", "{\"broken"), (&b, "write", &fresh)]),
            say("I'll look at it next."),
        ]);
    }
    replies
}

fn small_turn() -> TurnConfig {
    TurnConfig {
        budget: Budget { iterations: 3, tool_rounds: 2, approvals: 2, ..Budget::default() },
        retry: RetryPolicy { attempts: 2, ..RetryPolicy::default() },
        stuck: None,
        momentum: None,
        read_markup: true,
        ..config()
    }
}

/// Two calls, two rounds, with one thing at a time that goes wrong; `deep`, with all of them at once.
fn turn_worlds(turn: &TurnConfig) -> Vec<(&'static str, World)> {
    let world = |faults, strays, interrupts, doubles| World {
        machine: MachineConfig::Turn(turn.clone()),
        replies: two_calls,
        faults,
        strays,
        interrupts,
        doubles,
        pauses: 0,
        waits: 0,
        odd: 0,
        output: "ok".into(),
    };
    let mut worlds = vec![
        ("turn with late, double and unknown answers", world(0, 1, 0, 1)),
        ("turn with failures", world(1, 0, 0, 0)),
        ("turn with interrupts", world(0, 0, 2, 0)),
    ];
    if deep() {
        worlds.push(("turn with all of it", world(2, 1, 1, 1)));
    }
    worlds
}

#[test]
fn invariants_1_2_3_4_5_6_8_9_10_11_hold_in_every_order_of_a_turn_of_two_calls_and_two_rounds() {
    let mut all = Report::default();
    for (name, world) in turn_worlds(&small_turn()) {
        let report = world.search();
        report.print(name, &[]);
        all.add(report);
    }
    all.print("turn", &[1, 2, 3, 4, 5, 6, 8, 9, 10, 11]);
    assert!(all.states > 2_000, "{} states", all.states);
    for stop in ["natural", "cancelled", "user_interrupt", "wall_time"] {
        assert!(all.ends.contains_key(stop), "no run ended with {stop}: {:?}", all.ends);
    }
}

#[test]
fn invariants_5_and_7_hold_in_every_order_where_tokens_and_the_window_run_out() {
    let tokens = TurnConfig {
        budget: Budget { tokens: Some(300), ..small_turn().budget },
        model: "gpt-4o".into(),
        ..small_turn()
    };
    let window = TurnConfig {
        context: ContextConfig { budget: Some(700), ..ContextConfig::default() },
        model: "gpt-4o".into(),
        ..small_turn()
    };
    let mut report = Report::default();
    for turn in [tokens, window] {
        let (machine, output) = (MachineConfig::Turn(turn), "a word ".repeat(120));
        let world = World {
            machine,
            replies: two_calls,
            faults: 0,
            strays: 0,
            interrupts: 0,
            doubles: 0,
            pauses: 0,
            waits: 0,
            odd: 0,
            output,
        };
        report.add(world.search());
    }
    report.print("turn with little room", &[1, 5, 7, 9, 11]);
    assert!(report.ends.contains_key("tokens"), "{:?}", report.ends);
}

fn answers(n: u32) -> Vec<Response> {
    vec![
        say("The breaker opens after 3 failures. [a.md:1]"),
        say("The breaker opens after 17 failures. [a.md:1]"),
        say(""),
        calls(&[(&format!("a{n}"), "look", "{}")]),
    ]
}

#[test]
fn invariants_1_3_4_5_6_8_9_11_hold_in_every_order_of_a_grounded_answer() {
    let turn = TurnConfig { budget: Budget { iterations: 3, tool_rounds: 1, ..Budget::default() }, ..small_turn() };
    let machine = MachineConfig::Grounded(GroundedConfig { turn, ..GroundedConfig::default() });
    let world = |faults, strays, interrupts| World {
        machine: machine.clone(),
        replies: answers,
        faults,
        strays,
        interrupts,
        doubles: strays,
        pauses: 0,
        waits: 0,
        odd: 0,
        output: "ok".into(),
    };
    let mut report = Report::default();
    for world in [world(1, 0, 0), world(0, 1, 0), world(0, 0, 1)] {
        report.add(world.search());
    }
    if deep() {
        report.add(world(2, 1, 1).search());
    }
    report.print("grounded", &[1, 3, 4, 5, 6, 8, 9, 11]);
    assert!(report.states > 500, "{} states", report.states);
    for stop in ["verified", "cancelled"] {
        assert!(report.ends.contains_key(stop), "no run ended with {stop}: {:?}", report.ends);
    }
}

const SUMMED: &str = r#"{"facts":[],"files":[],"errors":[],"decisions":[],"timeline":["looked"]}"#;

/// What else hooks may say at a stage, sense or no sense.
fn hooks_say(stage: HookStage) -> Vec<HookAnswer> {
    let value = match stage {
        HookStage::PreTool => r#"{"path":"b"}"#,
        HookStage::PreLlm => r#"{"max_tokens":50}"#,
        _ => r#""something else""#,
    };
    let replace = |value: &str| HookAnswer::Replace { value: Raw::parse(value).unwrap() };
    vec![
        HookAnswer::Veto { reason: "not today".into() },
        replace(value),
        replace("7"),
        HookAnswer::AddContext { text: "by the way".into() },
        HookAnswer::Failed { error: "it raised".into(), stop: true },
        HookAnswer::Failed { error: "it raised".into(), stop: false },
    ]
}

/// The turn of a world, with little that may go wrong but what is named.
fn world_of(turn: TurnConfig) -> World {
    World {
        machine: MachineConfig::Turn(turn),
        replies: few_calls,
        faults: 0,
        strays: 0,
        interrupts: 0,
        doubles: 0,
        pauses: 0,
        waits: 0,
        odd: 0,
        output: "ok".into(),
    }
}

fn few_calls(n: u32) -> Vec<Response> {
    let (a, b) = (format!("a{n}"), format!("b{n}"));
    vec![say("done"), calls(&[(&a, "look", "{}"), (&b, "rm", "{}")])]
}

fn one_look(n: u32) -> Vec<Response> {
    vec![say("done"), calls(&[(&format!("a{n}"), "look", "{}")])]
}

fn one_question(n: u32) -> Vec<Response> {
    vec![calls(&[(&format!("a{n}"), "rm", "{}")])]
}

fn smallest() -> TurnConfig {
    TurnConfig { budget: Budget { iterations: 2, tool_rounds: 1, approvals: 2, ..Budget::default() }, ..small_turn() }
}

#[test]
fn d03_invariants_hold_in_every_order_of_hooks_that_have_a_word_to_say() {
    let all: BTreeSet<HookStage> = HookStage::ALL.into_iter().take(10).collect();
    let around_tools = BTreeSet::from([HookStage::PreTool, HookStage::PostTool]);
    let every = || World { replies: one_look, ..world_of(TurnConfig { hooks: all.clone(), ..smallest() }) };
    let tools =
        || World { replies: one_question, ..world_of(TurnConfig { hooks: around_tools.clone(), ..smallest() }) };
    let mut report = Report::default();
    for world in [
        World { odd: 2, ..every() },
        World { odd: 1, interrupts: 1, ..every() },
        World { strays: 1, ..every() },
        World { faults: 1, ..every() },
        World { pauses: 1, ..every() },
        World { odd: 2, ..tools() },
        World { odd: 1, interrupts: 1, strays: u32::from(deep()), ..tools() },
    ] {
        report.add(world.search());
    }
    report.print("turn with hooks at every stage", &[1, 2, 3, 4, 5, 6, 8, 9, 11]);
    for stop in ["natural", "hook_veto", "hook_failed", "cancelled", "user_interrupt", "wall_time"] {
        assert!(report.ends.contains_key(stop), "no run ended with {stop}: {:?}", report.ends);
    }
    assert!(report.events.contains("hooked") && report.events.contains("pause"));
}

#[test]
fn d06_d29_invariants_hold_in_every_order_of_choices_and_memories() {
    let mut turn = TurnConfig { recall: Some(RecallConfig::default()), ..smallest() };
    turn.choice.ask = true;
    let mut report = Report::default();
    for world in [
        World { odd: 1, faults: 1, replies: one_look, ..world_of(turn.clone()) },
        World { interrupts: 1, replies: one_look, ..world_of(turn.clone()) },
        World { strays: 1, replies: one_look, ..world_of(turn.clone()) },
        World { pauses: 1, replies: one_look, ..world_of(turn) },
    ] {
        report.add(world.search());
    }
    report.print("turn with a choice and a memory", &[1, 4, 5, 8, 9, 11]);
    assert!(report.events.contains("chosen") && report.events.contains("recalled"));
}

#[test]
fn d45_invariants_hold_in_every_order_of_pauses_roles_and_questions_that_wait() {
    let model = |model: &str| RoleModel { model: model.into(), ..RoleModel::default() };
    let role = RoleConfig { chain: vec![model("s")], ..RoleConfig::default() };
    let roles = RolesConfig { summarizer: Some(role), ..RolesConfig::default() };
    let mut report = Report::default();
    for world in [
        World { pauses: 1, waits: 2, replies: one_question, ..world_of(smallest()) },
        World { interrupts: 1, waits: 1, replies: one_question, ..world_of(smallest()) },
        World { pauses: 1, replies: one_look, ..world_of(TurnConfig { roles: roles.clone(), ..smallest() }) },
        World {
            pauses: 1,
            faults: 1,
            replies: one_look,
            ..world_of(TurnConfig { roles: roles.clone(), ..smallest() })
        },
        World { pauses: 1, interrupts: 1, replies: one_look, ..world_of(TurnConfig { roles, ..smallest() }) },
    ] {
        report.add(world.search());
    }
    report.print("turn with pauses, roles and questions that wait", &[1, 2, 3, 4, 5, 8, 9, 11]);
    assert!(report.events.contains("asked") && report.events.contains("resume"));
}

const TASK: &str = r#"{"agent":"explore","task":"find it"}"#;

fn spawning(n: u32) -> Vec<Response> {
    let (a, b) = (format!("a{n}"), format!("b{n}"));
    if n == 1 { vec![calls(&[(&a, "spawn", TASK), (&b, "spawn", TASK)])] } else { vec![say("done")] }
}

/// A sub-agent that has a question.
fn spawning_one(n: u32) -> Vec<Response> {
    let (id, other) = (format!("a{n}"), format!("b{n}"));
    match n {
        1 => vec![calls(&[(&id, "spawn", TASK)])],
        2 => vec![calls(&[(&other, "rm", "{}")])],
        _ => vec![say("done")],
    }
}

#[test]
fn d43_invariants_hold_in_every_order_of_children_that_hooks_see_and_pauses_stop() {
    let turn = |most: u32, requests: u32| {
        let own = TurnConfig {
            budget: Budget { iterations: requests, tool_rounds: requests - 1, approvals: 1, ..Budget::default() },
            ..small_turn()
        };
        let (name, description) = ("explore".into(), "finds".into());
        let explore = AgentConfig { name, description, turn: own, by_arguments: BTreeSet::new() };
        let children = ChildrenConfig { agents: vec![explore], depth: 1, most, least: 0 };
        let budget = Budget { iterations: 4, tool_rounds: 2, approvals: 1, ..Budget::default() };
        TurnConfig { children, budget, ..small_turn() }
    };
    let two = |hooks: &[HookStage]| World {
        replies: spawning,
        ..world_of(TurnConfig { hooks: hooks.iter().copied().collect(), ..turn(2, 1) })
    };
    let one = || World { replies: spawning_one, ..world_of(turn(1, 2)) };
    let mut report = Report::default();
    for world in [
        two(&[]),
        World { odd: 1, ..two(&[HookStage::PreLlm]) },
        World { interrupts: 1, ..one() },
        World { pauses: 1, ..one() },
        World { waits: 1, ..one() },
    ] {
        let began = report.states;
        report.add(world.search());
        println!("{} states", report.states - began);
    }
    report.print("turn with children", &[1, 2, 3, 4, 5, 8, 9, 11]);
    assert!(report.events.contains("partials") && report.events.contains("pause"));
}

#[test]
fn invariants_4_8_9_hold_in_every_order_of_a_research_by_rules() {
    let turn = TurnConfig { budget: Budget { research_cycles: 1, ..Budget::default() }, ..smallest() };
    let limits = ResearchLimits { hits: 1, searches: 1, topics: 1, ..ResearchLimits::default() };
    let config = ResearchConfig {
        turn,
        without_model: true,
        embedder: Some("e".into()),
        explore: Explore::Off,
        limits,
        ..ResearchConfig::default()
    };
    let world = |faults, interrupts, strays| World {
        machine: MachineConfig::Research(config.clone()),
        faults,
        interrupts,
        strays,
        ..world_of(smallest())
    };
    let mut report = Report::default();
    for world in [world(1, 0, 0), world(0, 1, 0), world(0, 0, 1)] {
        report.add(world.search());
    }
    report.print("research by rules", &[1, 4, 8, 9, 11]);
    for event in ["hits", "fetched", "embedded"] {
        assert!(report.events.contains(event), "{event} was never fed");
    }
}

/// All kinds of events are fed to some machine here, or somewhere that is named.
#[test]
fn every_kind_of_event_is_in_the_search() {
    let source = std::fs::read_to_string(loopwright_testing::data::file("crates/machine/src/event.rs")).unwrap();
    let all: BTreeSet<&str> = source
        .lines()
        .filter(|line| line.contains("Self::") && line.contains("=> \""))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert!(all.len() >= 10, "the names of events are written otherwise: {all:?}");
    // Made by the tree, which refuses one of a driver's.
    let mut fed = BTreeSet::from(["child"]);
    fed.extend(["start", "said", "delta", "generated", "failed", "executed", "decided", "found", "fired", "interrupt"]);
    fed.extend(["hooked", "chosen", "recalled", "hits", "fetched", "embedded", "partials", "asked", "pause", "resume"]);
    // Fed by searches and property tests of their own: the kind of the event, and the test that feeds it.
    let elsewhere = [("consulted", "tests/python/test_research_spiral.py")];
    fed.extend(elsewhere.iter().map(|(kind, _)| *kind));
    let missing: Vec<&&str> = all.difference(&fed).collect();
    assert!(
        missing.is_empty(),
        "events that the model check does not feed: {missing:?}. Add how the command that asks for them is opened and \
         answered to `World` in tests/model_check.rs, and their names to `fed`; or name their own exhaustive test in \
         `elsewhere`."
    );
}

#[test]
fn invariant_12_holds_in_every_order_of_successes_failures_and_waits_of_a_breaker() {
    const COOLDOWN: f64 = 30.0;
    /// A state, whether the probe is out, how often something failed in a row, and when it opened.
    type Known = (Breaker, bool, u32, Option<f64>, f64);
    let mut queue: VecDeque<(Known, u32)> = VecDeque::from([((Breaker::new(2, COOLDOWN), false, 0, None, 0.0), 0)]);
    let mut seen = BTreeSet::new();
    let mut sent = 0_u32;
    while let Some(((breaker, probe, failed, opened, now), depth)) = queue.pop_front() {
        if depth > 9 || !seen.insert(format!("{breaker:?} {probe} {failed} {opened:?} {now}")) {
            continue;
        }
        for wait in [10.0, 40.0] {
            queue.push_back(((breaker.clone(), probe, failed, opened, now + wait), depth + 1));
        }
        let mut asked = breaker.clone();
        let verdict = asked.check(now);
        let Some(since) = opened else {
            assert!(matches!(verdict, Verdict::Closed), "{verdict:?} while closed");
            sent += 1;
            let (mut well, mut ill) = (asked.clone(), asked);
            well.success();
            queue.push_back(((well, false, 0, None, now), depth + 1));
            ill.failure(now);
            let opens = (failed + 1 >= 2).then_some(now);
            queue.push_back(((ill, false, failed + 1, opens, now), depth + 1));
            continue;
        };
        if probe || now - since < COOLDOWN {
            assert!(matches!(verdict, Verdict::Open { .. }), "{verdict:?} while open, probe {probe}");
            if probe {
                let (mut well, mut ill, mut gone) = (asked.clone(), asked.clone(), asked);
                well.success();
                queue.push_back(((well, false, 0, None, now), depth + 1));
                ill.failure(now);
                queue.push_back(((ill, false, failed + 1, Some(now), now), depth + 1));
                gone.cancelled();
                queue.push_back(((gone, false, failed, Some(since), now), depth + 1));
            }
        } else {
            assert!(matches!(verdict, Verdict::Probe), "{verdict:?} when half open");
            sent += 1;
            queue.push_back(((asked, true, failed, opened, now), depth + 1));
        }
    }
    println!("breaker: {} states, {sent} requests", seen.len());
    assert!(seen.len() > 100);
}

/// Where the states of two machines part.
fn parting(one: &str, other: &str) -> String {
    let at = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| text.chars().skip(at.saturating_sub(80)).take(200).collect::<String>();
    format!("it is another machine: {} where it was {}", around(one), around(other))
}
