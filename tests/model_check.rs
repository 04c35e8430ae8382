//! A bounded model check: every order of events that the types allow, in worlds small enough to go through all of them.
//!
//! A breadth-first search over the states of a tree of machines, each as its JSON with what a driver would know of it;
//! every state is loaded from that JSON before it is stepped, so each is also a crash that is survived. Answers come
//! once, twice, late, wrong, and to numbers that nobody gave. The invariants are those of the architecture page, by
//! their numbers. `LOOPWRIGHT_MODEL_CHECK=deep` goes further; it takes minutes.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![allow(clippy::print_stdout, reason = "how far it went is worth reading")]

mod turn_support;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Write,
};

use loopwright::core::{
    breaker::{Breaker, Verdict},
    error::{Error, Failure, FailureKind},
    guard::RiskLevel,
    machine::{
        ApprovalDecision, Budget, Command, Event, EventKind, Id, Interrupt, Machine, MachineConfig, Notice,
        RetryPolicy, Time, Tree, arguments_hash,
        grounded::GroundedConfig,
        turn::{ContextConfig, TurnConfig},
    },
    message::{Message, StopReason, ToolFailure, ToolResult},
    request::{Delta, Response},
    retrieve::{
        gather::Gathered,
        sources::{Source, SourceKind},
    },
    tokens::TokenCounter,
};
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
    Approve { call: String, hash: String, expires: Time },
    Search,
    Timer(Time),
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
}

/// A world to be gone through.
struct World {
    machine: MachineConfig,
    replies: fn(u32) -> Vec<Response>,
    faults: u32,
    strays: u32,
    interrupts: u32,
    doubles: u32,
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

    /// Takes note of an event that the machine is about to see.
    fn saw(known: &mut Known, event: &Event) {
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
                if let Some(Open::Generate) = close(known, id) {
                    known.used += response.usage.total();
                    known.shown = false;
                }
            }
            EventKind::Failed { id, visible, partial, .. } => {
                if let Some(Open::Generate) = close(known, id) {
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
                    && known.now <= expires
                {
                    known.allowed.insert(call);
                }
            }
            EventKind::Found { id, .. } | EventKind::Fired { id, .. } => {
                close(known, id);
            }
            EventKind::Interrupt { how: Interrupt::Cancel, partial: Some(partial) }
                if known.open.values().any(|open| *open == Open::Generate) =>
            {
                known.used += partial.usage.total();
            }
            _ => {}
        }
    }

    /// Holds the commands of a step to the invariants.
    fn took(&self, known: &mut Known, commands: &[Command], report: &mut Report) -> Result<(), String> {
        let budget = &self.turn().budget;
        for command in commands {
            report.holds(8, !known.finished, || format!("{command:?} after the end"))?;
            match command {
                Command::Generate { id, attempt, request, .. } => {
                    let lawful = legal(&request.messages);
                    report.holds(1, lawful.is_ok(), || format!("{lawful:?}"))?;
                    if let Some(most) = self.turn().context.budget {
                        let mut counter = TokenCounter::for_model(&request.model);
                        let tokens = counter.messages(request.messages.iter()).tokens;
                        report.holds(7, tokens <= most, || format!("{tokens} tokens of {most}"))?;
                    }
                    let busy = known.open.values().any(|open| !matches!(open, Open::Timer(_)));
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
                        let first = known.started.insert(call.id.clone());
                        report.holds(3, first, || format!("{} starts twice", call.id))?;
                        if tool.risk >= RiskLevel::Confirm {
                            let allowed = known.allowed.contains(&call.id);
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
                    let beside = known.open.values().any(|open| matches!(open, Open::Approve { .. }));
                    report.holds(8, !beside, || "two questions at once".into())?;
                    known.asked += 1;
                    report.holds(5, known.asked <= budget.approvals, || format!("{} questions", budget.approvals))?;
                    let (call, hash) = (call.id.clone(), hash.clone());
                    known.open.insert(*id, Open::Approve { call, hash, expires: *expires });
                }
                Command::Search { id, .. } => {
                    known.open.insert(*id, Open::Search);
                }
                Command::Timer { id, at } => {
                    known.open.insert(*id, Open::Timer(*at));
                }
                Command::Abort { id } => {
                    let open = known.open.remove(id);
                    report.holds(8, open.is_some(), || format!("{id} is given up and not open"))?;
                    known.closed.extend(open.map(|open| (*id, open)));
                }
                Command::Emit { notice: Notice::Reset { .. } } => known.shown = false,
                Command::Emit { notice: Notice::ToolFinished { id, .. } } => {
                    let ended = known.started.contains(id) && known.ended.insert(id.clone());
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
                        (hash, ApprovalDecision::Allow, Time(expires.0 + 1)),
                        (hash, no(), now),
                        (hash, ApprovalDecision::Abort, now),
                    ] {
                        push(EventKind::Decided { id, hash: hash.into(), decision }, at, known);
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
                };
                push(kind, now, &less);
            }
            // A result for a call that is not among those that run.
            for (id, _) in known.open.iter().filter(|(_, open)| matches!(open, Open::Execute(_))) {
                push(EventKind::Executed { id: *id, result: ToolResult::text("nobody", "", "?") }, now, &less);
            }
        }
        if known.begun && known.interrupts > 0 {
            let mut less = known.clone();
            less.interrupts -= 1;
            for how in [Interrupt::Cancel, Interrupt::AfterRound] {
                for partial in [None, Some(Box::new(say("part")))] {
                    push(EventKind::Interrupt { how, partial }, now, &less);
                }
            }
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
                Self::saw(&mut known, &event);
                let mut tree = live.clone();
                let commands = tree.step(event.clone());
                let broken = |why: String| panic!("{why}\nafter{way}\nat {event:?}");
                self.took(&mut known, &commands, &mut report).unwrap_or_else(broken);
                let saved = serde_json::to_string(&tree).unwrap();
                // The same, loaded from what was saved before the step.
                let mut loaded: Tree = serde_json::from_str(&state).unwrap();
                let same = loaded.step(event.clone()) == commands && serde_json::to_string(&loaded).unwrap() == saved;
                report.holds(9, same, || "it is another machine".into()).unwrap_or_else(broken);
                if known.finished {
                    let lawful = legal(&tree.history());
                    report.holds(1, lawful.is_ok(), || format!("{lawful:?}")).unwrap_or_else(broken);
                    report.holds(8, tree.waiting().is_empty(), || "it waits".into()).unwrap_or_else(broken);
                    // Nothing comes of anything any more.
                    let after = tree.step(Event { at, kind: EventKind::Fired { id: 1, partial: None } });
                    report.holds(8, after.is_empty(), || format!("{after:?}")).unwrap_or_else(broken);
                    continue;
                }
                if known.begun {
                    let waits = !tree.waiting().is_empty() && !known.open.is_empty();
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
        Self::saw(&mut known, &event);
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
        let world = World { machine, replies: two_calls, faults: 0, strays: 0, interrupts: 0, doubles: 0, output };
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

/// All kinds of events are fed to some machine here, or somewhere that is named.
#[test]
fn every_kind_of_event_is_in_the_search() {
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/core/machine/event.rs")).unwrap();
    let all: BTreeSet<&str> =
        source.lines().filter(|line| line.contains("{ .. } => \"")).filter_map(|line| line.split('"').nth(1)).collect();
    assert!(all.len() >= 10, "the names of events are written otherwise: {all:?}");
    // Made by the tree, which refuses one of a driver's.
    let mut fed = BTreeSet::from(["child"]);
    fed.extend(["start", "delta", "generated", "failed", "executed", "decided", "found", "fired", "interrupt"]);
    // Fed by searches and property tests of their own: the kind of the event, and the test that feeds it.
    let elsewhere = [
        ("hooked", "tests/turn_hooks.rs: d03_interrupts_find_the_run_wherever_it_holds"),
        ("chosen", "tests/turn_hooks.rs: d06_a_choice_and_an_escalation_stand_in_the_journal"),
        ("recalled", "src/core/machine/turn/recall.rs"),
        ("hits", "tests/python/test_research.py"),
        ("fetched", "tests/python/test_research.py"),
        ("embedded", "tests/python/test_research.py"),
        ("partials", "tests/children.rs"),
    ];
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
