//! What holds for every run of the turn machine, whatever comes in and in whatever order: random scripts of events,
//! and every order of a small world.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use loopwright_guard::{
    RiskLevel,
    sensitivity::{Labels, Level},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, VecDeque},
};

use loopwright_base::{
    error::{Error, Failure, FailureKind},
    message::{Block, Message, Role, StopReason, ToolFailure, ToolResult, Usage},
    request::{Delta, History, Response},
};
use loopwright_machine::{
    ApprovalDecision, Budget, ChoiceConfig, Command, Event, EventKind, HookAnswer, HookReply, HookStage, Id, Interrupt,
    Machine, MachineConfig, ModelChoice, ModelSettings, Notice, Purpose, RetryPolicy, Time, Tree, arguments_hash,
    journal::{self, Run},
    turn::{
        ContextConfig, RecallConfig, RecalledHit, Recollection, RoleBudget, RoleConfig, RoleModel, RolesConfig,
        SanityConfig, SupervisorConfig, TurnConfig, TurnMachine, diagram, transitions,
    },
};
use loopwright_models::price::Price;
use loopwright_tokens::TokenCounter;
use proptest::prelude::*;
use turn_support::*;

thread_local! {
    static COUNTER: RefCell<TokenCounter> = RefCell::new(TokenCounter::for_model("gpt-4o"));
}

/// What a driver would know: commands without an answer, and what was done. It holds every step to the invariants.
#[derive(Clone, Default)]
struct Ledger {
    generates: BTreeSet<Id>,
    calls: BTreeMap<Id, BTreeSet<String>>,
    questions: BTreeMap<Id, (RiskLevel, String, String, Time)>,
    timers: BTreeMap<Id, Time>,
    /// Stages whose hooks were asked.
    hooks: BTreeMap<Id, HookStage>,
    choices: BTreeSet<Id>,
    recalls: BTreeSet<Id>,
    /// The first timer: the end of the run's time.
    deadline: Option<Id>,
    executed: BTreeSet<String>,
    ended: BTreeSet<String>,
    allowed: BTreeSet<String>,
    requests: u32,
    asked: u32,
    used: u64,
    /// Requests of roles, with the tokens that their answers may have.
    asides: BTreeMap<Id, u64>,
    /// The tokens that the answer to the turn's own request may have.
    own: u64,
    /// Somebody has released a result.
    released: bool,
    /// In a small world: what roles say, and whether results hold private things.
    says: Vec<&'static str>,
    private: bool,
    few: bool,
    /// A part of the answer to the request that is open was shown, and not reset.
    shown: bool,
    finished: bool,
    now: Time,
}

impl Ledger {
    /// Takes note of an event before the machine sees it.
    fn saw(&mut self, event: &Event) {
        self.now = self.now.max(event.at);
        if self.finished {
            return;
        }
        match &event.kind {
            EventKind::Delta { id, .. } if self.generates.contains(id) => self.shown = true,
            EventKind::Generated { id, response } if self.generates.remove(id) => {
                self.used = self.used.saturating_add(response.usage.total());
                self.shown = false;
            }
            EventKind::Failed { id, visible, partial, .. } if self.generates.remove(id) => {
                self.shown |= visible;
                let used = partial.as_ref().map_or(0, |partial| partial.usage.total());
                self.used = self.used.saturating_add(used);
            }
            EventKind::Generated { id, response } if self.asides.remove(id).is_some() => {
                self.used = self.used.saturating_add(response.usage.total());
            }
            EventKind::Failed { id, partial, .. } if self.asides.remove(id).is_some() => {
                let used = partial.as_ref().map_or(0, |partial| partial.usage.total());
                self.used = self.used.saturating_add(used);
            }
            EventKind::Executed { id, result } => {
                if let Some(calls) = self.calls.get_mut(id) {
                    calls.remove(&result.id);
                    if calls.is_empty() {
                        self.calls.remove(id);
                    }
                }
            }
            EventKind::Decided { id, hash, decision } => {
                if let Some((_, call, expected, expires)) = self.questions.remove(id)
                    && *decision == ApprovalDecision::Allow
                    && *hash == expected
                    && self.now <= expires
                {
                    if hash.len() > 32 {
                        self.released = true;
                    } else {
                        self.allowed.insert(call);
                    }
                }
            }
            EventKind::Fired { id, .. } => {
                self.timers.remove(id);
            }
            EventKind::Hooked { id, .. } => {
                self.hooks.remove(id);
            }
            EventKind::Chosen { id, .. } => {
                self.choices.remove(id);
            }
            EventKind::Recalled { id, .. } => {
                self.recalls.remove(id);
            }
            EventKind::Interrupt { how: Interrupt::Cancel, partial: Some(partial) } if !self.generates.is_empty() => {
                self.used = self.used.saturating_add(partial.usage.total());
            }
            _ => {}
        }
    }

    /// Takes note of the commands of a step.
    fn took(&mut self, config: &TurnConfig, commands: &[Command]) -> Result<(), String> {
        let was_finished = self.finished;
        for command in commands {
            if was_finished {
                return Err(format!("{command:?} after the end"));
            }
            if let Command::Generate { request, .. } = command
                && config.roles.supervisor.is_some()
                && !self.released
                && serde_json::to_string(&request.messages).unwrap_or_default().contains(SECRET)
            {
                return Err("a secret that nobody released".into());
            }
            match command {
                Command::Generate { id, purpose, request, .. } if *purpose != Purpose::Executor => {
                    legal(&request.messages)?;
                    let most = request.max_tokens.ok_or("a role without bounds")?;
                    self.asides.insert(*id, most);
                    let same = commands.iter().filter(
                        |command| matches!(command, Command::Generate { purpose: other, .. } if other == purpose),
                    );
                    if *purpose != Purpose::Supervisor && same.count() > 1 {
                        return Err("a role is asked twice at once".into());
                    }
                    self.within(config)?;
                }
                Command::Generate { id, attempt, request, .. } => {
                    legal(&request.messages)?;
                    self.own = request.max_tokens.unwrap_or(u64::MAX);
                    if let Some(budget) = config.context.budget {
                        let tokens =
                            COUNTER.with_borrow_mut(|counter| counter.messages(request.messages.iter()).tokens);
                        if tokens > budget {
                            return Err(format!("{tokens} tokens of {budget}"));
                        }
                    }
                    let held = !self.hooks.is_empty() || !self.choices.is_empty();
                    if held || !self.generates.is_empty() || !self.calls.is_empty() || !self.questions.is_empty() {
                        return Err("a request while something is open".into());
                    }
                    self.generates.insert(*id);
                    self.requests += u32::from(*attempt == 1);
                    if *attempt > 1 && self.shown {
                        return Err("an attempt again, and no reset of what was shown".into());
                    }
                    if self.requests > config.budget.iterations {
                        return Err("more requests than the budget has".into());
                    }
                    if let Some(tokens) = config.budget.tokens
                        && (self.used >= tokens || request.max_tokens.is_none_or(|most| most > tokens - self.used))
                    {
                        return Err(format!("{} of {tokens} tokens used, and a request without bounds", self.used));
                    }
                    self.within(config)?;
                }
                Command::Execute { id, calls, parallel } => {
                    for call in calls {
                        let call = &call.tool_use;
                        let tool =
                            config.tools.iter().find(|tool| tool.name == call.name).ok_or("an unknown tool runs")?;
                        if !self.executed.insert(call.id.clone()) {
                            return Err(format!("{} runs twice", call.id));
                        }
                        if tool.risk >= RiskLevel::Confirm && !self.allowed.contains(&call.id) {
                            return Err(format!("{} runs and nobody allowed it", call.id));
                        }
                        if *parallel && !tool.read_only || !parallel && calls.len() > 1 {
                            return Err(format!("{} runs beside others", call.id));
                        }
                        if call.invalid.is_some() || !call.input.is_object() {
                            return Err(format!("{} runs with broken arguments", call.id));
                        }
                    }
                    if !self.calls.is_empty() || !self.questions.is_empty() {
                        return Err("calls run while others are open".into());
                    }
                    self.calls.insert(*id, calls.iter().map(|call| call.tool_use.id.clone()).collect());
                }
                Command::Approve { id, call, hash, risk, expires, .. } => {
                    if !hash.starts_with(&arguments_hash(call)) || !self.questions.is_empty() {
                        return Err("a question with a wrong hash, or beside another".into());
                    }
                    self.questions.insert(*id, (*risk, call.id.clone(), hash.clone(), *expires));
                    self.asked += 1;
                    if self.asked > config.budget.approvals {
                        return Err("more questions than the budget has".into());
                    }
                }
                Command::Timer { id, at } => {
                    self.timers.insert(*id, *at);
                    self.deadline.get_or_insert(*id);
                }
                Command::Abort { id } => {
                    let open = self.generates.remove(id)
                        | self.asides.remove(id).is_some()
                        | self.calls.remove(id).is_some()
                        | self.questions.remove(id).is_some()
                        | self.hooks.remove(id).is_some()
                        | self.choices.remove(id)
                        | self.recalls.remove(id)
                        | self.timers.remove(id).is_some();
                    if !open {
                        return Err(format!("{id} is aborted and not open"));
                    }
                }
                // Answered by the machine itself: nobody runs it.
                Command::Emit { notice: Notice::ToolFinished { name, call_id: id, .. } } if name == "recall" => {
                    if self.executed.contains(id) {
                        return Err(format!("{id} ran, and is the machine's own"));
                    }
                }
                Command::Emit { notice: Notice::Compacted { before, after, budget, .. } } => {
                    if after >= before || after > budget {
                        return Err(format!("{before} tokens became {after}, of {budget}"));
                    }
                }
                Command::Emit { notice: Notice::ToolFinished { call_id: id, .. } } => {
                    if !self.executed.contains(id) || !self.ended.insert(id.clone()) {
                        return Err(format!("{id} ends twice, or never began"));
                    }
                }
                Command::Emit { notice: Notice::Reset { .. } } => self.shown = false,
                Command::Finish { outcome } => {
                    if self.finished {
                        return Err("two ends".into());
                    }
                    self.finished = true;
                    if !self.hooks.is_empty() || !self.choices.is_empty() {
                        return Err(format!("at the end {:?} and {:?} are open", self.hooks, self.choices));
                    }
                    let open = (&self.generates, &self.calls, &self.questions, &self.timers);
                    if *open.0 != BTreeSet::new()
                        || !self.asides.is_empty()
                        || !open.1.is_empty()
                        || !open.2.is_empty()
                        || !open.3.is_empty()
                    {
                        return Err(format!("at the end {open:?} is open"));
                    }
                    if outcome.spent.iterations > config.budget.iterations
                        || outcome.spent.tool_rounds > config.budget.tool_rounds
                        || outcome.spent.approvals > config.budget.approvals
                        || outcome.spent.usage.total() != self.used
                    {
                        return Err(format!("{:?} was counted, {} tokens were used", outcome.spent, self.used));
                    }
                    let answer = outcome.r#final.as_deref().unwrap_or_default();
                    if outcome.stop.is_success() && answer.trim().is_empty() {
                        return Err("an empty answer as a success".into());
                    }
                }
                Command::Hook { id, stage, .. } => {
                    if !config.hooks.contains(stage) || !self.generates.is_empty() || !self.questions.is_empty() {
                        return Err(format!("the hooks of {} are asked out of turn", stage.name()));
                    }
                    if *stage != HookStage::PreTool && *stage != HookStage::PostTool && !self.hooks.is_empty() {
                        return Err("hooks of two stages at once".into());
                    }
                    self.hooks.insert(*id, *stage);
                }
                Command::Choose { id, .. } => {
                    if !config.choice.ask || self.requests > 0 || !self.choices.insert(*id) {
                        return Err("a choice out of turn".into());
                    }
                }
                Command::Persist | Command::Emit { .. } | Command::Refuse { .. } => {}
                Command::Recall { id, .. } => {
                    if self.requests > 0 || !self.recalls.insert(*id) {
                        return Err("memory is asked twice, or after a request".into());
                    }
                }
                Command::Search { .. }
                | Command::Query { .. }
                | Command::Fetch { .. }
                | Command::Embed { .. }
                | Command::Consult { .. }
                | Command::Spawn { .. }
                | Command::Interrupt { .. } => {
                    return Err("a turn has no children and does not search".into());
                }
            }
        }
        Ok(())
    }

    /// No answers to come can pass the budget of tokens, all together.
    fn within(&self, config: &TurnConfig) -> Result<(), String> {
        let Some(tokens) = config.budget.tokens else { return Ok(()) };
        let own = if self.generates.is_empty() { 0 } else { self.own };
        let open = self.asides.values().fold(own, |sum, most| sum.saturating_add(*most));
        if self.used.saturating_add(open) > tokens {
            return Err(format!("{} of {tokens} tokens used, and {open} may come", self.used));
        }
        Ok(())
    }

    /// Whether something is open but the run's own deadline.
    fn something_is_open(&self) -> bool {
        let timer = self.timers.keys().any(|id| Some(*id) != self.deadline);
        let held = !self.hooks.is_empty() || !self.choices.is_empty();
        let asked = !self.asides.is_empty() || !self.recalls.is_empty() || !self.questions.is_empty();
        held || timer || asked || !self.generates.is_empty() || !self.calls.is_empty()
    }
}

/// What opens something, and is for nobody's eyes.
const SECRET: &str = "AKIAQ3EGRW7VZ2MNBLXT";

const SANE: &str = r#"{"on_track":true,"confidence":0.9,"progress":0.5,"concerns":[],"suggestions":["go on"],"should_pause":false,"should_abort":false}"#;
const SUMMED: &str = r#"{"facts":[{"category":"decision","text":"tabs"}],"files":["a.rs"],"errors":[],"decisions":["tabs"],"timeline":["looked"]}"#;
const ALLOWED: &str =
    r#"{"allow":true,"confidence":0.9,"sensitivity":"sensitive","intent":"look","reason":"asked for"}"#;

const DOUBT: &str = r#"{"allow":true,"confidence":0.1,"sensitivity":"sensitive","intent":"look","reason":"who knows"}"#;

/// What a role may say.
fn role_says() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(SANE.to_owned()),
        1 => Just(SANE.replace("\"should_pause\":false", "\"should_pause\":true")),
        1 => Just(SANE.replace("\"should_abort\":false", "\"should_abort\":true")),
        4 => Just(SUMMED.to_owned()),
        3 => Just(ALLOWED.to_owned()),
        1 => Just(ALLOWED.replace("0.9", "0.2")),
        1 => Just(ALLOWED.replace("true", "false")),
        1 => Just("{\"on_track\": ".to_owned()),
        1 => Just("[".repeat(5_000)),
        1 => ".*",
    ]
}

fn chain(models: usize) -> RoleConfig {
    let model = |n| RoleModel { model: format!("r{n}"), ..RoleModel::default() };
    RoleConfig { chain: (0..models).map(model).collect(), max_tokens: 20, ..RoleConfig::default() }
}

/// Roles of all sorts: none, rules, models, with small budgets.
fn roles() -> impl Strategy<Value = RolesConfig> {
    let role = prop_oneof![
        2 => Just(None),
        2 => (0_usize..3, 0_u32..4).prop_map(|(models, requests)| {
            Some(RoleConfig { budget: RoleBudget { requests, ..RoleBudget::default() }, ..chain(models) })
        }),
    ];
    (role.clone(), role.clone(), role, 0_u32..4, any::<bool>(), 0_usize..3).prop_map(
        |(summarizer, sanity, watch, interval, wait, fallback)| RolesConfig {
            acting: wait.then(|| Box::new(ModelSettings { seed: Some(7), ..ModelSettings::default() })),
            fallback: chain(fallback).chain,
            summarizer,
            sanity: sanity.map(|role| SanityConfig { role, interval, wait, ..SanityConfig::default() }),
            supervisor: watch.map(|role| SupervisorConfig { role, tools: watched(), ..SupervisorConfig::default() }),
        },
    )
}

/// The results of all tools are looked at.
fn watched() -> Labels {
    let mut labels = Labels::none();
    for tool in ["look", "write", "rm"] {
        labels.set(tool, Level::Normal);
    }
    labels
}

type Transition = (&'static str, &'static str, &'static str);

/// Feeds one event; gives the transition if the machine took the event, and did not drop or refuse it.
fn observe(turn: &mut TurnMachine, event: Event) -> (Vec<Command>, Option<Transition>) {
    let (from, name, dropped) = (turn.phase(), event.kind.name(), turn.dropped());
    let commands = turn.step(event);
    let refused = matches!(commands.as_slice(), [Command::Refuse { .. }]);
    let taken = turn.dropped() == dropped && !refused;
    (commands, taken.then(|| (from, name, turn.phase())))
}

fn same_history(one: &History, other: &History) -> bool {
    one == other && one.digest() == other.digest()
}

// ---- random scripts ----

#[derive(Clone, Debug)]
enum Act {
    Start(Vec<Message>),
    Answer(Response),
    Fail(Failure, bool, Option<Response>),
    Delta,
    /// A role answers, or fails.
    Said(usize, String),
    Silent(usize, Failure),
    Result(usize, ToolResult),
    /// Another result for a call that has run.
    Second(usize, ToolResult),
    Decide(ApprovalDecision, bool),
    /// The timer at this place, the deadline last.
    Fire(usize),
    Interrupt(Interrupt, Option<Response>),
    /// Memory knows a text so often, or fails.
    Recall(Option<usize>),
    Wait(u64),
    /// The next event carries an id that is not open.
    Stray(Id),
    /// The last event once more.
    Again,
    /// The hooks at this place answer.
    Hook(usize, Vec<HookReply>),
    Choose(Option<ModelChoice>),
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("It is 4.".to_owned()),
        1 => Just(String::new()),
        1 => Just(" \n ".to_owned()),
        2 => Just("I'll read the file.".to_owned()),
        1 => Just("Could you clarify which one?".to_owned()),
        1 => Just("é\u{0}\u{2028}\"".repeat(200)),
        1 => ".*",
    ]
}

fn a_call() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("a_2"), Just("call_2")];
    let name = prop_oneof![4 => Just("look"), 4 => Just("write"), 4 => Just("rm"), 1 => Just("nope"), 1 => Just(""), 2 => Just("recall")];
    let arguments = prop_oneof![
        6 => Just("{}".to_owned()),
        3 => (0..3).prop_map(|n| format!("{{\"n\":{n}}}")),
        1 => Just("{\"find\":\"it is 4\"}".to_owned()),
        1 => Just("{\n \"a\":\r\n1e400}".to_owned()),
        1 => Just("{\"a\": ".to_owned()),
        1 => Just("[1]".to_owned()),
        1 => Just("null".to_owned()),
        1 => Just(String::new()),
        1 => Just(format!("{{\"a\":\"{}\"}}", "x".repeat(2_000))),
        1 => Just(format!("{{\"a\":{}1{}}}", "[".repeat(300), "]".repeat(300))),
    ];
    (id, name, arguments).prop_map(|(id, name, arguments)| call(id, name, &arguments))
}

fn a_result() -> impl Strategy<Value = ToolResult> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("z")];
    let kind = prop_oneof![Just("exception"), Just("timeout"), Just("io"), Just("invalid_arguments")];
    (id, prop_oneof![4 => Just(None), 2 => kind.prop_map(Some)], texts()).prop_map(|(id, kind, text)| match kind {
        None => ToolResult::text(id, "x", text),
        Some(kind) => {
            ToolResult::failed(id, "x", ToolFailure { kind: kind.into(), message: text, hint: Some(String::new()) })
        }
    })
}

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let block = prop_oneof![
        3 => texts().prop_map(Block::text),
        6 => a_call(),
        1 => a_result().prop_map(Block::ToolResult),
    ];
    prop::collection::vec(block, 0..5)
}

fn answers() -> impl Strategy<Value = Response> {
    let stop = prop_oneof![
        6 => Just(StopReason::EndTurn),
        6 => Just(StopReason::ToolUse),
        1 => Just(StopReason::MaxTokens),
        1 => Just(StopReason::StopSequence),
        2 => Just(StopReason::PauseTurn),
        1 => Just(StopReason::Refusal),
        1 => Just(StopReason::ContentFilter),
        1 => Just(StopReason::ContextWindow),
        1 => Just(StopReason::Other("new".into())),
    ];
    let usage = prop_oneof![
        8 => (0_u64..50, 0_u64..50).prop_map(|(input, output)| Usage { input, output, ..Usage::default() }),
        1 => Just(Usage { input: u64::MAX, output: 7, ..Usage::default() }),
    ];
    let role = prop_oneof![9 => Just(Role::Assistant), 1 => Just(Role::User)];
    (blocks(), stop, usage, role).prop_map(|(blocks, stop, usage, role)| {
        let mut response = response(blocks, stop);
        response.usage = usage;
        response.message.role = role;
        response
    })
}

fn failures() -> impl Strategy<Value = Failure> {
    let kind = prop_oneof![
        6 => Just(FailureKind::Server),
        2 => Just(FailureKind::Cut),
        2 => Just(FailureKind::RateLimited),
        1 => Just(FailureKind::BreakerOpen),
        1 => Just(FailureKind::Auth),
        1 => Just(FailureKind::ContextTooLong),
        2 => Just(FailureKind::BadRequest),
    ];
    let after = prop_oneof![
        4 => Just(None),
        1 => Just(Some(3.0)),
        1 => Just(Some(1e300)),
        1 => Just(Some(-1.0)),
        1 => Just(Some(f64::NAN)),
        1 => Just(Some(f64::INFINITY)),
    ];
    (kind, after).prop_map(|(kind, retry_after)| Failure {
        retry_after,
        ..Failure::new(kind, if kind == FailureKind::BadRequest { "no tools here" } else { "failed" })
    })
}

fn histories() -> impl Strategy<Value = Vec<Message>> {
    let role = prop_oneof![3 => Just(Role::User), 3 => Just(Role::Assistant), 1 => Just(Role::System)];
    let message = (role, blocks()).prop_map(|(role, blocks)| Message::new(role, blocks));
    prop_oneof![
        1 => Just(vec![Message::user("go")]),
        1 => prop::collection::vec(message, 0..6),
    ]
}

fn replies() -> impl Strategy<Value = Vec<HookReply>> {
    let value = prop_oneof![
        Just("\"It is 5.\""),
        Just("\" \""),
        Just("{}"),
        Just("{\"n\":9}"),
        Just("{\"max_tokens\":5,\"messages\":[]}"),
        Just("{\"system\":\"be brief\"}"),
        Just("[]"),
        Just("[{\"type\":\"text\",\"text\":\"x\"}]"),
        Just("{\"content\":\"c\",\"is_error\":true}"),
        Just("7"),
    ];
    let answer = prop_oneof![
        4 => Just(HookAnswer::Continue),
        3 => value.prop_map(|text| HookAnswer::Replace { value: loopwright_base::json::Raw::parse(text).unwrap() }),
        1 => texts().prop_map(|reason| HookAnswer::Veto { reason }),
        2 => texts().prop_map(|text| HookAnswer::AddContext { text }),
        2 => any::<bool>().prop_map(|stop| HookAnswer::Failed { error: "it broke".into(), stop }),
    ];
    let name = prop_oneof![Just("h"), Just("]\n[x"), Just("")];
    prop::collection::vec((name, answer).prop_map(|(name, answer)| HookReply { name: name.into(), answer }), 0..3)
}

fn choices() -> impl Strategy<Value = Option<ModelChoice>> {
    let confidence = prop_oneof![Just(0.9), Just(0.6), Just(0.1), Just(-1.0), Just(1e300)];
    let model = prop_oneof![Just("strong"), Just(""), Just("gpt-4o")];
    prop::option::of((model, confidence).prop_map(|(model, confidence)| ModelChoice {
        reason: "so".into(),
        price: (confidence > 0.8).then_some(Price { input: 3.0, output: 15.0, cache_read: None, cache_write: None }),
        ..ModelChoice::named(model, confidence)
    }))
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        14 => (any::<usize>(), replies()).prop_map(|(which, replies)| Act::Hook(which, replies)),
        2 => choices().prop_map(Act::Choose),
        10 => answers().prop_map(Act::Answer),
        3 => (failures(), any::<bool>(), prop::option::of(answers())).prop_map(|(f, v, p)| Act::Fail(f, v, p)),
        1 => Just(Act::Delta),
        6 => (any::<usize>(), role_says()).prop_map(|(which, text)| Act::Said(which, text)),
        2 => (any::<usize>(), failures()).prop_map(|(which, failure)| Act::Silent(which, failure)),
        12 => (any::<usize>(), a_result(), 0..6_u8).prop_map(|(which, mut result, private)| {
            if private == 0 {
                result.content.push(Block::text(format!("key: {SECRET}")));
            } else if private == 1 {
                result.content.push(Block::text("Ann Lee, ssn: 536-22-8726"));
            }
            Act::Result(which, result)
        }),
        3 => (any::<usize>(), a_result()).prop_map(|(which, result)| Act::Second(which, result)),
        5 => (0..8_u8, any::<bool>()).prop_map(|(which, right)| {
            let decision = match which {
                0 => ApprovalDecision::Abort,
                1 | 2 => ApprovalDecision::Deny { reason: "no".into() },
                _ => ApprovalDecision::Allow,
            };
            Act::Decide(decision, right || which > 4)
        }),
        6 => (0_usize..3).prop_map(Act::Fire),
        1 => (any::<bool>(), prop::option::of(answers())).prop_map(|(now, partial)| {
            Act::Interrupt(if now { Interrupt::Cancel } else { Interrupt::AfterRound }, partial)
        }),
        3 => prop::option::of(0_usize..400).prop_map(Act::Recall),
        2 => (0_u64..90_000_000).prop_map(Act::Wait),
        2 => (0_u64..12).prop_map(Act::Stray),
        1 => Just(Act::Stray(5 << 32)),
        2 => Just(Act::Again),
        1 => histories().prop_map(Act::Start),
    ]
}

fn configs() -> impl Strategy<Value = TurnConfig> {
    let budget = (
        0_u32..6,
        0_u32..5,
        0_u32..4,
        prop_oneof![1 => Just(0.0), 1 => Just(20.0), 8 => Just(300.0)],
        prop_oneof![2 => Just(None), 1 => (0_u64..400).prop_map(Some)],
    )
        .prop_map(|(iterations, tool_rounds, approvals, wall_time, tokens)| Budget {
            // Mostly room enough for something to happen.
            iterations: iterations * 2,
            tool_rounds: tool_rounds * 2,
            approvals,
            wall_time,
            tokens,
            ..Budget::default()
        });
    // A window that is never full, one that fills with a few words, one by guess.
    let context = prop_oneof![
        5 => Just(ContextConfig::default()),
        2 => (150_usize..2_000).prop_map(|budget| ContextConfig { budget: Some(budget), ..ContextConfig::default() }),
        1 => (700_usize..2_000).prop_map(|window| ContextConfig { window: Some(window), ..ContextConfig::default() }),
    ];
    let roles = prop_oneof![1 => Just(RolesConfig::default()), 2 => roles()];
    let hooks = prop_oneof![
        2 => Just(BTreeSet::new()),
        1 => prop::collection::btree_set(prop::sample::select(HookStage::ALL.to_vec()), 1..5),
        1 => Just(HookStage::ALL.into_iter().collect()),
    ];
    let choice = (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(ask, suggestions, escalates)| ChoiceConfig {
        ask,
        suggestions,
        escalate_to: escalates.then(|| "strong".to_owned()),
        ..ChoiceConfig::default()
    });
    (budget, 1_u32..4, any::<bool>(), any::<u64>(), any::<bool>(), context, (hooks, choice, roles)).prop_map(
        |(budget, attempts, after, seed, degrade, context, (hooks, choice, roles))| TurnConfig {
            hooks,
            roles,
            choice,
            model: "gpt-4o".into(),
            budget,
            retry: RetryPolicy { attempts, after_output: after, ..RetryPolicy::default() },
            degrade_without_tools: degrade,
            approval_timeout: 20.0,
            context,
            seed,
            recall: seed.is_multiple_of(3).then(RecallConfig::default),
            ..config()
        },
    )
}

/// The event that an act means in this situation.
fn event_of(act: Act, ledger: &Ledger, stray: &mut Option<Id>, last: Option<&EventKind>) -> Option<EventKind> {
    let stray = stray.take();
    let generate = stray.or_else(|| ledger.generates.first().copied()).unwrap_or(3);
    Some(match act {
        Act::Start(messages) => EventKind::Start { messages },
        Act::Answer(response) => EventKind::Generated { id: generate, response: Box::new(response) },
        Act::Fail(failure, visible, partial) => {
            EventKind::Failed { id: generate, failure, visible, partial: partial.map(Box::new) }
        }
        Act::Said(which, text) => {
            let id = stray.or_else(|| ledger.asides.keys().nth(which % ledger.asides.len().max(1)).copied());
            EventKind::Generated { id: id.unwrap_or(7), response: Box::new(say(&text)) }
        }
        Act::Silent(which, failure) => {
            let id = stray.or_else(|| ledger.asides.keys().nth(which % ledger.asides.len().max(1)).copied());
            EventKind::Failed { id: id.unwrap_or(7), failure, visible: false, partial: None }
        }
        Act::Delta => EventKind::Delta { id: generate, delta: Delta::Text { block: 0, text: "x".into() } },
        Act::Result(which, mut result) => {
            let open: Vec<(Id, &String)> =
                ledger.calls.iter().flat_map(|(id, calls)| calls.iter().map(|call| (*id, call))).collect();
            let id = match (stray, open.get(which % open.len().max(1))) {
                (None, Some((id, call))) => {
                    result.id.clone_from(call);
                    *id
                }
                (stray, _) => stray.unwrap_or(4),
            };
            EventKind::Executed { id, result }
        }
        Act::Second(which, mut result) => {
            result.id.clone_from(ledger.ended.iter().nth(which % ledger.ended.len().max(1))?);
            EventKind::Executed { id: ledger.calls.keys().next().copied().unwrap_or(4), result }
        }
        Act::Decide(decision, right) => {
            let open = ledger.questions.first_key_value();
            let id = stray.or(open.map(|(id, _)| *id)).unwrap_or(5);
            let hash = open.filter(|_| right).map(|(_, (_, _, hash, _))| hash.clone()).unwrap_or_default();
            EventKind::Decided { id, hash, decision }
        }
        Act::Fire(which) => {
            // The last one that was set stands first.
            let id = stray.or_else(|| ledger.timers.keys().rev().nth(which).copied()).unwrap_or(6);
            EventKind::Fired { id, partial: None }
        }
        Act::Interrupt(how, partial) => EventKind::Interrupt { how, partial: partial.map(Box::new) },
        Act::Recall(known) => {
            let id = stray.or_else(|| ledger.recalls.first().copied()).unwrap_or(7);
            let text = |times: usize| "Ann has a dog. ".repeat(times);
            let found = known.map(|times| {
                let (standing, trusted, context) = (text(times / 50), text(times / 20), text(times));
                Recollection { standing, trusted, context, ..self::known() }
            });
            EventKind::Recalled { id, found: found.ok_or_else(|| Error::usage("store_busy", "busy")) }
        }
        Act::Again => last?.clone(),
        Act::Hook(which, replies) => {
            let open = ledger.hooks.keys().nth(which % ledger.hooks.len().max(1)).copied();
            EventKind::Hooked { id: stray.or(open).unwrap_or(7), replies }
        }
        Act::Choose(choice) => {
            let open = ledger.choices.first().copied();
            EventKind::Chosen { id: stray.or(open).unwrap_or(8), choice, error: None }
        }
        Act::Wait(_) | Act::Stray(_) => return None,
    })
}

fn cancel(at: Time) -> Event {
    Event { at, kind: EventKind::Interrupt { how: Interrupt::Cancel, partial: None } }
}

/// Feeds a script, and holds every step of it to the invariants.
fn follow(config: &TurnConfig, messages: Vec<Message>, script: Vec<Act>) -> Result<(), String> {
    let whole = MachineConfig::Turn(config.clone());
    let mut run = Run::new("p", whole.clone(), true);
    // The same machine, saved and loaded before each step; and once more, alone, to see its phases.
    let mut saved = serde_json::to_string(&Tree::new(whole)).map_err(|error| error.to_string())?;
    let mut turn = TurnMachine::new(config.clone(), 0);
    let mut ledger = Ledger::default();
    let mut log = Vec::new();
    let mut last: Option<EventKind> = None;
    let (mut now, mut stray) = (0_u64, None);
    let mut started = false;
    let script = std::iter::once(Act::Start(messages)).chain(script);
    for act in script {
        if let Act::Wait(micros) = act {
            now += micros;
            continue;
        }
        if let Act::Stray(id) = act {
            stray = Some(id);
            continue;
        }
        let Some(kind) = event_of(act, &ledger, &mut stray, last.as_ref()) else { continue };
        last = Some(kind.clone());
        let event = Event { at: Time(now), kind };
        started |= matches!(event.kind, EventKind::Start { .. });

        let before = (ledger.finished, run.tree().dropped());
        ledger.saw(&event);
        let mut loaded: Tree = serde_json::from_str(&saved).map_err(|error| error.to_string())?;
        let again = loaded.step(event.clone());
        let (alone, transition) = observe(&mut turn, event.clone());
        let commands = run.step(event.clone());
        log.extend(run.take_log());
        if commands != again {
            return Err(format!("after loading {again:?}, before {commands:?}"));
        }
        // A tree counts for itself what comes for nobody, and makes no `Child` of a driver's.
        if commands != alone && !ledger.finished {
            return Err(format!("alone {alone:?}, in a tree {commands:?}"));
        }
        if let Some(transition) = transition
            && !transitions().contains(&transition)
        {
            return Err(format!("{transition:?} does not stand in the table"));
        }
        ledger.took(config, &commands).map_err(|why| format!("{why} (at {event:?})"))?;
        saved = serde_json::to_string(&loaded).map_err(|error| error.to_string())?;
        if before.0 && (!commands.is_empty() || run.tree().dropped() != before.1 + 1) {
            return Err("something but counting after the end".into());
        }
        if !same_history(&run.tree().history(), &loaded.history()) {
            return Err("another history after loading".into());
        }
        if started && !ledger.finished && (run.tree().waiting().is_empty() || !ledger.something_is_open()) {
            return Err(format!("it stalls: waiting for {:?}", run.tree().waiting()));
        }
        if ledger.finished {
            legal(&run.tree().history())?;
            if !run.tree().is_finished() || run.tree().outcome().is_none() || !run.tree().waiting().is_empty() {
                return Err("finished, and does not know it".into());
            }
        } else {
            ends_by_cancel(config, run.tree().clone(), ledger.clone(), Time(now))?;
        }
    }
    replays(&log, run.tree())
}

/// Cancel ends the run in one step, with a history that another turn takes as it is.
fn ends_by_cancel(config: &TurnConfig, mut tree: Tree, mut ledger: Ledger, now: Time) -> Result<(), String> {
    ledger.saw(&cancel(now));
    let commands = tree.step(cancel(now));
    ledger.took(config, &commands).map_err(|why| format!("{why} (cancel)"))?;
    if !ledger.finished || !tree.is_finished() {
        return Err("cancel does not end it".into());
    }
    let history = tree.history();
    legal(&history)?;
    let mut messages: Vec<Message> = history.iter().cloned().collect();
    messages.push(Message::user("and now?"));
    let mut next = Tree::new(MachineConfig::Turn(TurnConfig { budget: Budget::default(), ..config.clone() }));
    next.step(Event { at: Time(0), kind: EventKind::Start { messages: messages.clone() } });
    if !next.history().iter().eq(messages.iter()) {
        return Err("the history can't go on as it is".into());
    }
    Ok(())
}

/// The journal and each of its beginnings replay without a difference.
fn replays(log: &[u8], tree: &Tree) -> Result<(), String> {
    let text = std::str::from_utf8(log).map_err(|error| error.to_string())?;
    let whole = journal::replay(text).map_err(|error| error.to_string())?;
    if whole.divergence.is_some()
        || whole.truncated
        || whole.damage.is_some()
        || whole.outcome.as_ref() != tree.outcome()
    {
        return Err(format!("the replay differs: {:?}", whole.divergence));
    }
    if !same_history(&whole.messages, &tree.history()) {
        return Err("the replay ends with another history".into());
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for end in 1..lines.len() {
        let prefix = lines[..end].concat();
        let part = journal::replay(&prefix).map_err(|error| error.to_string())?;
        if part.divergence.is_some()
            || part.truncated
            || part.damage.is_some()
            || part.steps[..] != whole.steps[..end - 1]
        {
            return Err(format!("a beginning of {end} lines differs"));
        }
        // A crash in the middle of a line loses that line alone.
        let mut cut = lines[end].len() / 2;
        while !lines[end].is_char_boundary(cut) {
            cut -= 1;
        }
        let part = journal::replay(&(prefix + &lines[end][..cut])).map_err(|error| error.to_string())?;
        if part.divergence.is_some() || part.truncated != (cut > 0) || part.steps[..] != whole.steps[..end - 1] {
            return Err(format!("a beginning of {end} lines and a half differs"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_in_the_invariants_hold(
        config in configs(), messages in histories(), script in prop::collection::vec(acts(), 0..40),
    ) {
        follow(&config, messages, script).map_err(TestCaseError::fail)?;
    }

    /// Every run ends, whatever the model says, if its commands are answered.
    #[test]
    fn every_run_ends(config in configs(), replies in prop::collection::vec(answers(), 1..8), seed in any::<usize>()) {
        let mut turn = TurnMachine::new(config.clone(), 0);
        let mut ledger = Ledger::default();
        let mut kind = Some(EventKind::Start { messages: vec![Message::user("go")] });
        let mut steps = 0;
        while let Some(next) = kind.take() {
            steps += 1;
            prop_assert!(steps < 1_000, "it does not end: {:?}", turn.waiting());
            let event = Event { at: Time(steps), kind: next };
            ledger.saw(&event);
            let commands = turn.step(event);
            ledger.took(&config, &commands).map_err(TestCaseError::fail)?;
            let reply = replies[(steps as usize + seed % 97) % replies.len()].clone();
            let act = if !ledger.recalls.is_empty() {
                Act::Recall(Some(3))
            } else if !ledger.generates.is_empty() {
                Act::Answer(reply)
            } else if !ledger.calls.is_empty() {
                Act::Result(seed, ToolResult::text("", "", format!("{steps}")))
            } else if !ledger.questions.is_empty() {
                Act::Decide(ApprovalDecision::Allow, !steps.is_multiple_of(3))
            } else if !ledger.asides.is_empty() {
                Act::Said(0, if steps.is_multiple_of(2) { SANE.to_owned() } else { "?".to_owned() })
            } else if !ledger.hooks.is_empty() {
                let text = format!("{steps}");
                let answer = match seed.wrapping_add(steps as usize) % 3 {
                    0 => HookAnswer::AddContext { text },
                    1 => HookAnswer::Replace { value: loopwright_base::json::Raw::of(&text) },
                    _ => HookAnswer::Failed { error: text, stop: false },
                };
                Act::Hook(seed, vec![HookReply { name: "h".into(), answer }])
            } else if !ledger.choices.is_empty() {
                Act::Choose(None)
            } else {
                continue;
            };
            kind = event_of(act, &ledger, &mut None, None);
        }
        prop_assert!(turn.is_finished() && ledger.finished);
    }
}

/// A journal of a small run.
fn small_journal() -> String {
    let reply = calls(&[("a", "look", "{}"), ("b", "rm", "{}")]);
    let mut world =
        loopwright_drive::sim::World::scripted([fail(FailureKind::Server), answer(reply), answer(say("done"))])
            .tool("look", |_| (1.0, ToolResult::text("", "", "l")))
            .tool("rm", |_| (1.0, ToolResult::text("", "", "gone")))
            .person(|_, hash| Some((1.0, hash.into(), ApprovalDecision::Allow)));
    run(&mut world, config());
    String::from_utf8(world.journal).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A journal that was tampered with is an error or a difference, never a panic.
    #[test]
    fn hostile_journals_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 32_u8..127), 0..6),
        swap in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
    ) {
        let mut bytes = small_journal().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let text = String::from_utf8(bytes).unwrap();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        if let Some((one, other)) = swap {
            let (one, other) = (one.index(lines.len()), other.index(lines.len()));
            lines.swap(one, other);
        }
        if let Ok(replay) = journal::replay(&lines.concat()) {
            prop_assert!(replay.steps.len() as u64 == replay.events);
            prop_assert!(legal(&replay.messages).is_ok() || replay.outcome.is_none());
        }
    }
}

// ---- every order of a small world ----

/// What memory knows of everything.
fn known() -> Recollection {
    let hits = vec![RecalledHit { id: 1, trust: "user".into() }];
    Recollection { standing: "s".into(), trusted: "t".into(), context: "c".into(), hits }
}

/// What may happen next in a world of two tools, two rounds, one question, one fault and one interrupt.
fn possible(ledger: &Ledger, faults: u32, interrupts: u32) -> Vec<(EventKind, u32, u32)> {
    let mut events = Vec::new();
    for id in ledger.generates.iter().copied() {
        let n = ledger.requests;
        let (a, b) = (format!("a{n}"), format!("b{n}"));
        let fresh = format!("{{\"n\":{n}}}");
        let replies = [
            say("done"),
            say("I'll look."),
            response(Vec::new(), StopReason::EndTurn),
            calls(&[(&a, "look", &fresh), (&b, "rm", &fresh)]),
            calls(&[(&a, "rm", "{}"), (&b, "look", "{}")]),
            response(
                vec![Block::text("Both of them."), call(&a, "rm", "{}"), call(&b, "rm", "{}")],
                StopReason::ToolUse,
            ),
            calls(&[(&a, "look", "{}"), (&b, "look", "{}")]),
            calls(&[(&a, "nope", "{}")]),
        ];
        // In worlds with roles a few replies lead everywhere.
        let few = [0, 3, 7].into_iter().take(if ledger.says.len() > 1 { 3 } else { 2 }).filter(|_| ledger.few);
        let all = (0..replies.len()).filter(|_| !ledger.few);
        let replies: Vec<Response> = few.chain(all).map(|at| replies[at].clone()).collect();
        events.extend(
            replies
                .into_iter()
                .map(|response| (EventKind::Generated { id, response: Box::new(response) }, faults, interrupts)),
        );
        if faults > 0 {
            for visible in [false, true] {
                let failed = EventKind::Failed { id, failure: failure(FailureKind::Cut), visible, partial: None };
                events.push((failed, faults - 1, interrupts));
            }
            let refused = Failure::new(FailureKind::BadRequest, "no tools");
            events.push((
                EventKind::Failed { id, failure: refused, visible: false, partial: None },
                faults - 1,
                interrupts,
            ));
        }
        if !ledger.shown {
            let delta = Delta::Text { block: 0, text: "x".into() };
            events.push((EventKind::Delta { id, delta }, faults, interrupts));
        }
    }
    for (id, calls) in &ledger.calls {
        for call in calls {
            for text in if ledger.private { &["ok", "Ann Lee, ssn: 536-22-8726"][..] } else { &["ok"][..] } {
                let result = ToolResult::text(call, "", *text);
                events.push((EventKind::Executed { id: *id, result }, faults, interrupts));
            }
        }
    }
    for id in ledger.asides.keys().copied() {
        for said in &ledger.says {
            events.push((EventKind::Generated { id, response: Box::new(say(said)) }, faults, interrupts));
        }
        let failed = EventKind::Failed { id, failure: failure(FailureKind::Server), visible: false, partial: None };
        events.push((failed, faults, interrupts));
    }
    for (id, (_, _, hash, _)) in &ledger.questions {
        for (hash, decision) in [
            (hash.clone(), ApprovalDecision::Allow),
            (String::new(), ApprovalDecision::Allow),
            (hash.clone(), ApprovalDecision::Abort),
        ] {
            events.push((EventKind::Decided { id: *id, hash, decision }, faults, interrupts));
        }
    }
    for id in ledger.recalls.iter().copied() {
        for found in [Ok(known()), Err(Error::usage("store_busy", "x"))] {
            events.push((EventKind::Recalled { id, found }, faults, interrupts));
        }
    }
    events.extend(ledger.timers.keys().map(|id| (EventKind::Fired { id: *id, partial: None }, faults, interrupts)));
    for (id, stage) in &ledger.hooks {
        let raw = match stage {
            HookStage::PreTool => "{\"n\":9}",
            HookStage::PreLlm => "{\"max_tokens\":9}",
            _ => "\"other\"",
        };
        let answers = [
            HookAnswer::Replace { value: loopwright_base::json::Raw::parse(raw).unwrap() },
            HookAnswer::Veto { reason: "no".into() },
            HookAnswer::AddContext { text: "more".into() },
            HookAnswer::Failed { error: "broke".into(), stop: true },
        ];
        events.push((EventKind::Hooked { id: *id, replies: Vec::new() }, faults, interrupts));
        for answer in answers {
            let replies = vec![HookReply { name: "h".into(), answer }];
            events.push((EventKind::Hooked { id: *id, replies }, faults, interrupts));
        }
    }
    for id in &ledger.choices {
        let choice = Some(ModelChoice::named("strong", 0.9));
        events.push((EventKind::Chosen { id: *id, choice, error: None }, faults, interrupts));
        events.push((EventKind::Chosen { id: *id, choice: None, error: Some("late".into()) }, faults, interrupts));
    }
    if interrupts > 0 {
        for how in [Interrupt::Cancel, Interrupt::AfterRound] {
            for partial in [None, Some(Box::new(say("part")))] {
                events.push((EventKind::Interrupt { how, partial }, faults, interrupts - 1));
            }
        }
    }
    events
}

#[test]
fn every_order_of_a_small_world_keeps_the_invariants_and_fills_the_table() {
    type World = (f64, Option<HookStage>, bool, RolesConfig, Vec<&'static str>, (u32, u32));
    let config = TurnConfig {
        tools: vec![tool("look", RiskLevel::Safe, true), tool("rm", RiskLevel::Confirm, false)],
        budget: Budget { iterations: 3, tool_rounds: 2, approvals: 2, ..Budget::default() },
        retry: RetryPolicy { attempts: 2, ..RetryPolicy::default() },
        ..config()
    };
    let one = |purpose: &str, models: usize| {
        let sanity = SanityConfig { role: chain(models), interval: 1, wait: models != 2, ..SanityConfig::default() };
        let supervisor = SupervisorConfig { role: chain(models), tools: watched(), ..SupervisorConfig::default() };
        RolesConfig {
            fallback: chain(usize::from(purpose == "executor")).chain,
            summarizer: ["summarizer", "both"].contains(&purpose).then(|| chain(models)),
            sanity: ["sanity", "both"].contains(&purpose).then_some(sanity),
            supervisor: (purpose == "supervisor").then_some(supervisor),
            ..RolesConfig::default()
        }
    };
    let abort = SANE.replace("\"should_abort\":false", "\"should_abort\":true");
    let abort: &'static str = Box::leak(abort.into_boxed_str());
    let worlds = [
        (None, one("executor", 0), vec![], (1, 1)),
        (None, one("summarizer", 1), vec![SUMMED], (1, 0)),
        (None, one("summarizer", 1), vec![SUMMED], (0, 0)),
        (None, one("sanity", 1), vec![SANE, abort, "?"], (0, 1)),
        (None, one("sanity", 2), vec![SANE, abort], (0, 0)),
        (None, one("sanity", 3), vec![SANE], (0, 0)),
        (None, one("both", 1), vec![SANE], (0, 0)),
        (None, one("supervisor", 1), vec![ALLOWED, DOUBT], (0, 1)),
        // A role speaks while the turn holds, and what it has held up goes on to hooks.
        (Some(HookStage::PreReason), one("sanity", 1), vec![SANE, "?"], (0, 0)),
        (Some(HookStage::PreReason), one("sanity", 2), vec![SANE], (0, 0)),
        (Some(HookStage::PreReason), one("supervisor", 1), vec![ALLOWED], (0, 0)),
        (Some(HookStage::PreAssess), one("sanity", 1), vec![SANE], (0, 0)),
        (Some(HookStage::PostReflect), one("sanity", 1), vec![SANE], (0, 0)),
    ];
    // The second world has no time: its timers find the limit reached. The others have hooks, or choose their model,
    // or have a memory, or a role.
    let plain = [(300.0, None, false), (0.0, None, false)];
    let hooked = HookStage::ALL.into_iter().map(|stage| (300.0, Some(stage), false));
    let remembers = [(300.0, None, true), (0.0, None, true), (300.0, Some(HookStage::PostAssess), true)];
    let none = |(wall_time, stage, remembers): (f64, Option<HookStage>, bool)| {
        let faults = u32::from(stage.is_none_or(|stage| matches!(stage, HookStage::PreLlm | HookStage::PreOutput)));
        (wall_time, stage, remembers, RolesConfig::default(), vec![], (faults, 1))
    };
    let with_roles = worlds.into_iter().map(|(stage, roles, says, most)| (300.0, stage, false, roles, says, most));
    let search = |(wall_time, stage, remembers, roles, says, (faults, interrupts)): World| {
        let mut config = config.clone();
        let (mut observed, mut states) = (BTreeSet::new(), 0_usize);
        config.recall = remembers.then(RecallConfig::default);
        config.budget.wall_time = wall_time;
        config.hooks = stage.into_iter().collect();
        match stage {
            // After the choice of the model, or after a call or a round given up, the turn may hold once more.
            Some(HookStage::PostAssess) => config.hooks.extend([HookStage::PreReason]),
            Some(HookStage::PreTool) => config.hooks.extend([HookStage::PreReason, HookStage::PreOutput]),
            // These two are the driver's: the choice alone, with time and without.
            Some(HookStage::PostReflect) if roles == RolesConfig::default() => config.budget.wall_time = 0.0,
            _ => {}
        }
        config.choice.ask =
            matches!(stage, Some(HookStage::PostAssess | HookStage::PreReflect | HookStage::PostReflect));
        // Their orders multiply: one round is enough for them.
        let (private, few) = (roles.supervisor.is_some(), roles != RolesConfig::default());
        let alone = roles.summarizer.is_some() && roles.sanity.is_none() && faults == 0;
        let more = stage.is_none() && !remembers && (!few || alone);
        config.budget.tool_rounds = if more { 2 } else { 1 };
        config.budget.approvals = 2;
        config.budget.iterations = config.budget.tool_rounds + 1;
        config.roles = roles;
        // What comes when the time is over finds the limit reached.
        let times = if few { &[Time(0), Time(400_000_000)][..] } else { &[Time(0)] };
        let ledger = Ledger { says, private, few, ..Ledger::default() };
        let mut seen: BTreeSet<u128> = BTreeSet::new();
        let mut queue = VecDeque::from([(TurnMachine::new(config.clone(), 0), ledger, faults, interrupts)]);
        while let Some((turn, ledger, faults, interrupts)) = queue.pop_front() {
            let key = serde_json::to_vec(&(&turn, faults, interrupts)).unwrap();
            if !seen.insert(xxhash_rust::xxh3::xxh3_128(&key)) {
                continue;
            }
            states += 1;
            let mut events = possible(&ledger, faults, interrupts);
            if turn.phase() == "idle" {
                for prompt in ["go", "/sanity"].into_iter().take(if config.roles.sanity.is_some() { 2 } else { 1 }) {
                    events.push((EventKind::Start { messages: vec![Message::user(prompt)] }, faults, interrupts));
                }
            }
            let late = |kind: &EventKind| matches!(kind, EventKind::Generated { id, .. } | EventKind::Failed { id, .. } if ledger.asides.contains_key(id));
            let events: Vec<_> = events
                .into_iter()
                .flat_map(|(kind, faults, interrupts)| {
                    let times = if late(&kind) { times } else { &times[..1] };
                    times.iter().map(move |at| (*at, kind.clone(), faults, interrupts)).collect::<Vec<_>>()
                })
                .collect();
            for (at, kind, faults, interrupts) in events {
                let (mut turn, mut ledger) = (turn.clone(), ledger.clone());
                let event = Event { at, kind };
                ledger.saw(&event);
                let (commands, transition) = observe(&mut turn, event.clone());
                ledger.took(&config, &commands).unwrap_or_else(|why| panic!("{why} at {event:?} of {turn:#?}"));
                observed.extend(transition);
                if turn.is_finished() {
                    legal(turn.history()).unwrap_or_else(|why| panic!("{why} after {event:?}"));
                    continue;
                }
                assert!(ledger.something_is_open() && !turn.waiting().is_empty(), "it stalls after {event:?}");
                queue.push_back((turn, ledger, faults, interrupts));
            }
        }
        (observed, states)
    };
    // Worlds know nothing of each other: several are searched at once.
    let all: Vec<World> = plain.into_iter().chain(hooked).chain(remembers).map(none).chain(with_roles).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let searched = std::sync::Mutex::new((BTreeSet::<Transition>::new(), 0_usize));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(|| {
                while let Some(world) = all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let (observed, states) = search(world.clone());
                    let mut searched = searched.lock().unwrap();
                    searched.0.extend(observed);
                    searched.1 += states;
                }
            });
        }
    });
    let (observed, states) = searched.into_inner().unwrap();
    let table: BTreeSet<Transition> = transitions().iter().copied().collect();
    assert!(states > 1_000 && table.len() == transitions().len(), "{states} states, or a line stands twice");
    let extra: Vec<_> = observed.difference(&table).collect();
    // From one way of waiting to another is for the worlds in which several of them meet: the random ones.
    let waits = |state: &str| ["held", "supervising", "checking", "recalling"].contains(&state);
    let meets = |line: &&Transition| {
        (line.0 != line.2 && waits(line.0) && waits(line.2))
            || (line.1 == "hooked" && ["supervising", "checking"].contains(&line.2))
    };
    let unused: Vec<_> = table.difference(&observed).filter(|line| !meets(line)).collect();
    assert!(extra.is_empty() && unused.is_empty(), "not in the table: {extra:?}; never made: {unused:?}");
}

#[test]
fn the_diagram_in_the_docs_is_that_of_the_table() {
    let path = loopwright_testing::data::file("docs/turn-machine.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let drawn = text.split("```mermaid\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    assert_eq!(drawn, diagram(), "put this into {}:\n{}", path.display(), diagram());
}
