//! Sub-agents and pauses in the tree of machines: shares of a budget, ends, saved states, and every order of events.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use std::collections::BTreeSet;

use loopwright_base::{
    message::{Message, StopReason, ToolResult},
    request::Response,
};
use loopwright_drive::sim::{Step, World};
use loopwright_guard::RiskLevel;
use loopwright_machine::{
    ApprovalDecision, Budget, Command, Event, EventKind, Id, Interrupt, Machine, MachineConfig, Notice,
    RUN_TRANSITIONS, RunState, Stop, Time, Tree,
    journal::{self, Run},
    turn::{AgentConfig, ChildrenConfig, TurnConfig},
};
use proptest::prelude::*;
use turn_support::*;

const CHILD: &str = "child-model";

fn with_agents(most: u32) -> TurnConfig {
    let turn = TurnConfig {
        model: CHILD.into(),
        tools: vec![tool("look", RiskLevel::Safe, true), tool("rm", RiskLevel::Confirm, false)],
        ..TurnConfig::default()
    };
    let explore =
        AgentConfig { name: "explore".into(), description: "finds".into(), turn, by_arguments: BTreeSet::new() };
    TurnConfig { children: ChildrenConfig { agents: vec![explore], depth: 1, most, least: 0 }, ..config() }
}

fn spawns(count: usize) -> Response {
    let blocks = (0..count).map(|at| call(&format!("s{at}"), "spawn", r#"{"agent":"explore","task":"find it"}"#));
    response(blocks.collect(), StopReason::ToolUse)
}

/// The parent follows a script; children look `looks` times and answer.
fn world(parent: Vec<Response>, looks: usize) -> World {
    let mut parent = parent.into_iter();
    World::new(move |request| {
        if request.model == CHILD {
            let seen = request.messages.iter().filter(|message| message.tool_results().next().is_some()).count();
            let step = if seen < looks { calls(&[(&format!("l{seen}"), "look", "{}")]) } else { say("found") };
            return Step::Answer(1.0, step);
        }
        parent.next().map_or(Step::Hang, answer)
    })
    .tool("look", |_| (1.0, ToolResult::text("", "", "seen")))
}

#[test]
fn d43_children_of_one_reply_run_at_once_and_their_use_counts() {
    let mut world = world(vec![spawns(3), say("done")], 1);
    let ended = run(&mut world, with_agents(8));
    assert_eq!(ended.outcome.stop, Stop::Natural);
    // 1 for each answer of the parent, 3 for the children side by side: not 9.
    assert_eq!(ended.at, Time::from_seconds(5.0));
    assert_eq!(ended.outcome.spent.iterations, 2 + 3 * 2);
    assert_eq!(ended.outcome.spent.usage.total(), 15 * 8);
    let paths: Vec<&str> = ended.outcome.children.iter().map(|child| child.path.as_str()).collect();
    assert_eq!(paths, ["explore", "explore#2", "explore#3"]);
}

#[test]
fn x01_d43_children_never_pass_the_budget_together() {
    for iterations in 1..14 {
        for tool_rounds in 0..6 {
            let mut world = world(vec![spawns(4), spawns(2), say("done")], 50);
            let budget = Budget { iterations, tool_rounds, tokens: Some(2_000), ..Budget::default() };
            let ended = run(&mut world, TurnConfig { budget, ..with_agents(8) });
            let spent = &ended.outcome.spent;
            assert!(spent.iterations <= iterations && spent.tool_rounds <= tool_rounds, "{spent:?}");
            assert!(spent.usage.total() <= 2_000);
            assert_eq!(world.requests.len(), spent.iterations as usize);
        }
    }
}

#[test]
fn d45_a_cancel_ends_children_and_counts_what_they_used() {
    for at in 0..60 {
        let at = f64::from(at) / 10.0 + 0.05;
        for how in [Interrupt::Cancel, Interrupt::AfterRound] {
            let mut world = world(vec![spawns(2), say("done")], 2).interrupt(at, how);
            let ended = run(&mut world, with_agents(8));
            let answered = ended.outcome.spent.usage.total() / 15;
            assert!(answered <= world.requests.len() as u64);
            assert!(ended.outcome.stop != Stop::Error, "{:?}", ended.outcome);
            let (begun, over): (Vec<_>, Vec<_>) = world
                .notices
                .iter()
                .filter(|notice| matches!(notice, Notice::ChildStarted { .. } | Notice::ChildFinished { .. }))
                .partition(|notice| matches!(notice, Notice::ChildStarted { .. }));
            assert_eq!(begun.len(), over.len(), "no child is left behind");
            assert_eq!(begun.len(), ended.outcome.children.len());
        }
    }
}

#[test]
fn x01_d43_the_first_limit_of_approvals_is_a_stop_reason() {
    let reply = calls(&[("a", "rm", "{}"), ("b", "rm", "{}")]);
    let mut world = World::scripted([answer(reply), answer(say("done"))])
        .tool("rm", |_| (0.0, ToolResult::text("", "", "gone")))
        .person(|_, hash| Some((1.0, hash.into(), ApprovalDecision::Allow)));
    let budget = Budget { approvals: 1, ..Budget::default() };
    let ended = run(&mut world, TurnConfig { budget, ..config() });
    assert_eq!(ended.outcome.stop, Stop::Approvals);
    assert!(ended.outcome.hit_ceiling() && warned(&ended.outcome, "approvals"));
    assert_eq!(results(&ended.messages), ["ok", "denied"]);
}

#[test]
fn x01_the_model_is_told_when_tokens_money_or_time_are_nearly_used_up() {
    let told = |budget: Budget, price: Option<f64>| {
        let script = (0..9).map(|at| answer(calls(&[(&format!("c{at}"), "look", &format!("{{\"n\":{at}}}"))])));
        let mut world = World::scripted(script).tool("look", |_| (1.0, ToolResult::text("", "", "x")));
        let price = price.map(|each| loopwright_models::price::Price {
            input: each,
            output: each,
            cache_read: None,
            cache_write: None,
        });
        let ended = run(&mut world, TurnConfig { budget, price, stuck: None, ..config() });
        let words: Vec<String> =
            ended.messages.iter().map(Message::prose).filter(|text| text.contains("nearly")).collect();
        (ended.outcome.stop, words)
    };
    let (stop, words) = told(Budget { tokens: Some(400), ..Budget::default() }, None);
    assert_eq!(stop, Stop::Tokens);
    assert!(words[0].contains("[The tokens are nearly used up."), "{words:?}");
    let (stop, words) = told(Budget { cost: Some(400.0), ..Budget::default() }, Some(1e6));
    assert_eq!(stop, Stop::Cost);
    assert!(words[0].contains("[The money is nearly used up."), "{words:?}");
    let (stop, words) = told(Budget { wall_time: 9.0, ..Budget::default() }, None);
    assert_eq!(stop, Stop::WallTime);
    assert!(words[0].contains("[The time is nearly up."), "{words:?}");
}

#[test]
fn d45_x01_a_pause_takes_no_time() {
    let plain = run(&mut world(vec![spawns(2), say("done")], 2), with_agents(8));
    for at in 0..70 {
        let at = f64::from(at) / 10.0 + 0.05;
        let mut world =
            world(vec![spawns(2), say("done")], 2).happens(at, EventKind::Pause).happens(1_000.0, EventKind::Resume);
        let ended = run(&mut world, with_agents(8));
        assert_eq!(ended.outcome.stop, Stop::Natural, "at {at}: 300 seconds were there, and a pause of 1,000");
        assert!(ended.outcome.duration <= plain.outcome.duration + 1.0, "{}", ended.outcome.duration);
        assert_eq!(ended.outcome.spent, plain.outcome.spent);
        assert_eq!(ended.messages, plain.messages);
        let paused = count(&world.notices, |notice| matches!(notice, Notice::Paused { .. }));
        assert_eq!(count(&world.notices, |notice| matches!(notice, Notice::Resumed { .. })), paused);
        // While the last answer comes there is nothing left to hold back.
        assert!(paused == 1 || at > plain.at.seconds() - 1.0, "{at}");
    }
}

// ---- every order of events ----

#[derive(Clone, Debug)]
enum Act {
    Pause,
    Resume,
    Answer(usize),
    Timer(usize),
    Stop(Interrupt),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        2 => Just(Act::Pause),
        3 => Just(Act::Resume),
        12 => (0_usize..8).prop_map(Act::Answer),
        1 => (0_usize..8).prop_map(Act::Timer),
        1 => prop_oneof![Just(Interrupt::Cancel), Just(Interrupt::AfterRound)].prop_map(Act::Stop),
    ];
    proptest::collection::vec(act, 0..60)
}

/// What a driver has to answer.
#[derive(Default)]
struct Open(Vec<Command>);

impl Open {
    fn take(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Abort { id } => self.0.retain(|open| open.id() != Some(id)),
                Command::Generate { .. }
                | Command::Execute { .. }
                | Command::Approve { .. }
                | Command::Timer { .. } => {
                    self.0.push(command);
                }
                _ => {}
            }
        }
    }

    fn answer(&mut self, nth: usize, told: &mut u32) -> Option<EventKind> {
        let open: Vec<usize> = (0..self.0.len()).filter(|at| !matches!(self.0[*at], Command::Timer { .. })).collect();
        let at = *open.get(nth % open.len().max(1))?;
        *told += 1;
        Some(match self.0.remove(at) {
            Command::Generate { id, request, .. } => {
                let response = match *told % 4 {
                    0 if request.model != CHILD => spawns_named(2, *told),
                    1 => calls(&[(&format!("l{told}"), "look", &format!("{{\"n\":{told}}}"))]),
                    2 => calls(&[(&format!("r{told}"), "rm", &format!("{{\"n\":{told}}}"))]),
                    _ => say("done"),
                };
                EventKind::Generated { id, response: Box::new(response) }
            }
            Command::Execute { id, mut calls, parallel } => {
                let call = calls.remove(0);
                if !calls.is_empty() {
                    self.0.push(Command::Execute { id, calls, parallel });
                }
                EventKind::Executed { id, result: ToolResult::text(call.tool_use.id, "", "ok") }
            }
            Command::Approve { id, hash, .. } => EventKind::Decided { id, hash, decision: ApprovalDecision::Allow },
            _ => return None,
        })
    }

    fn timer(&mut self, nth: usize) -> Option<(Id, Time)> {
        let timers: Vec<usize> = (0..self.0.len()).filter(|at| matches!(self.0[*at], Command::Timer { .. })).collect();
        let at = *timers.get(nth % timers.len().max(1))?;
        match self.0.remove(at) {
            Command::Timer { id, at } => Some((id, at)),
            _ => None,
        }
    }
}

fn spawns_named(count: usize, told: u32) -> Response {
    let blocks = (0..count).map(|at| call(&format!("s{told}_{at}"), "spawn", r#"{"agent":"explore","task":"x"}"#));
    response(blocks.collect(), StopReason::ToolUse)
}

/// What a step of the whole run may lead to.
fn allowed(from: RunState, to: RunState, kind: &EventKind) -> bool {
    let name = match kind {
        EventKind::Pause => "pause",
        EventKind::Resume => "resume",
        EventKind::Interrupt { .. } => "interrupt",
        _ => "answer",
    };
    from == to || RUN_TRANSITIONS.contains(&(from.name(), name, to.name()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn d45_d43_whatever_comes_in_whatever_order(acts in acts(), budget in (1_u32..14, 0_u32..6, 0_u32..3)) {
        let budget = Budget { iterations: budget.0, tool_rounds: budget.1, approvals: budget.2, ..Budget::default() };
        let config = MachineConfig::Turn(TurnConfig { budget: budget.clone(), ..with_agents(5) });
        let mut run = Run::new("p", config, true);
        let mut open = Open::default();
        let (mut now, mut told, mut log) = (0_u64, 0, Vec::new());
        open.take(run.step(Event { at: Time(0), kind: EventKind::Start { messages: vec![Message::user("go")] } }));
        let end = [Act::Resume, Act::Stop(Interrupt::Cancel)];
        for act in acts.iter().chain(&end) {
            now += 1_000_000;
            let kind = match act {
                Act::Pause => EventKind::Pause,
                Act::Resume => EventKind::Resume,
                Act::Stop(how) => EventKind::Interrupt { how: *how, partial: None },
                Act::Answer(nth) => match open.answer(*nth, &mut told) {
                    Some(kind) => kind,
                    None => continue,
                },
                Act::Timer(nth) => match open.timer(*nth) {
                    Some((id, at)) => {
                        now = now.max(at.0);
                        EventKind::Fired { id, partial: None }
                    }
                    None => continue,
                },
            };
            let from = run.tree().state();
            let saved = serde_json::to_string(run.tree()).unwrap();
            let event = Event { at: Time(now), kind: kind.clone() };
            let mut other: Tree = serde_json::from_str(&saved).unwrap();
            let again = other.step(event.clone());
            let commands = run.step(event);
            prop_assert_eq!(&again, &commands, "a tree that was saved goes on the same");
            let to = run.tree().state();
            prop_assert!(allowed(from, to, &kind), "{:?} -> {:?} at {}", from, to, kind.name());
            if to == RunState::Paused {
                let starts = |command: &Command| {
                    matches!(command, Command::Generate { .. } | Command::Execute { .. } | Command::Approve { .. })
                };
                prop_assert!(!commands.iter().any(starts), "nothing starts while it stands still: {commands:?}");
            }
            log.extend(run.take_log());
            open.take(commands);
        }
        prop_assert!(run.tree().is_finished(), "a cancel ends it");
        prop_assert!(open.0.is_empty(), "and leaves nothing open: {:?}", open.0);
        let outcome = run.tree().outcome().unwrap();
        prop_assert!(outcome.spent.iterations <= budget.iterations);
        prop_assert!(outcome.spent.tool_rounds <= budget.tool_rounds);
        prop_assert!(outcome.spent.approvals <= budget.approvals);
        prop_assert!(legal(&run.tree().history()).is_ok());
        let text = String::from_utf8([std::mem::take(&mut log), run.take_log()].concat()).unwrap();
        prop_assert_eq!(journal::replay(&text).unwrap().divergence, None);
    }
}
