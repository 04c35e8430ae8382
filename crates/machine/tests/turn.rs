//! The turn machine in a simulated world: what each rule of the loop looks like from outside.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![allow(clippy::float_cmp, reason = "the simulated clock is exact")]

mod turn_support;

use loopwright_base::{
    error::{Failure, FailureKind, Fault},
    json::Raw,
    message::{self, Block, Media, Message, ProviderBlock, Role, StopReason, ToolFailure, ToolResult, Usage, Wire},
    request::{Delta, History, ToolChoice, WebSearch},
};
use loopwright_drive::sim::{Step, World};
use loopwright_guard::RiskLevel;
use loopwright_machine::{
    ApprovalDecision, Budget, Command, Complexity, Event, EventKind, Id, Interrupt, Machine, MachineConfig, Notice,
    RetryPolicy, Stop, Time, Tree,
    turn::{TurnConfig, TurnMachine},
};
use loopwright_models::price::Price;
use loopwright_monitor::{breakpoint::Breakpoint, momentum::MomentumPolicy, stuck::StuckPolicy};
use loopwright_retrieve::gather::Gathered;
use loopwright_testing::growth::grows_in_line;
use turn_support::*;

fn ok(text: &'static str) -> impl FnMut(&loopwright_base::message::ToolUse) -> (f64, ToolResult) {
    move |_| (1.0, ToolResult::text("", "", text))
}

fn budget(change: impl FnOnce(&mut Budget)) -> TurnConfig {
    let mut config = config();
    change(&mut config.budget);
    config
}

/// A model that calls `look` with new arguments for ever.
fn endless() -> World {
    let mut n = 0;
    World::new(move |_| {
        n += 1;
        answer(calls(&[(&format!("c{n}"), "look", &format!("{{\"n\":{n}}}"))]))
    })
    .tool("look", {
        let mut n = 0;
        move |_| {
            n += 1;
            (1.0, ToolResult::text("", "", format!("result {n}")))
        }
    })
}

// ---- how a turn ends ----

#[test]
fn a01_a02_the_request_is_what_the_configuration_says() {
    let config = TurnConfig {
        max_tokens: Some(16_000),
        system: Some("be brief".into()),
        provider_tools: vec![loopwright_base::request::Tool::WebSearch(WebSearch::default())],
        ..config()
    };
    let mut world = World::scripted([answer(say("4"))]);
    run(&mut world, config);
    let request = &world.requests[0];
    assert_eq!((request.model.as_str(), request.max_tokens, request.tools.len()), ("m", Some(16_000), 4));
    assert_eq!(request.system.as_ref().unwrap().prose(), "be brief");
    assert_eq!(request.tool_choice, None);
}

#[test]
fn a03_x02_text_of_all_iterations_is_kept_in_order() {
    let first = response(vec![Block::text("Looking. "), call("c", "look", "{}")], StopReason::ToolUse);
    let ended = run(&mut World::scripted([answer(first), answer(say("It is 4."))]).tool("look", ok("4")), config());
    assert_eq!(ended.outcome.transcript, "Looking. It is 4.");
    assert_eq!(ended.outcome.r#final.as_deref(), Some("It is 4."));
}

#[test]
fn a04_natural_end() {
    let ended = run(&mut World::scripted([answer(say("4"))]), config());
    assert_eq!(ended.outcome.stop, Stop::Natural);
    assert_eq!(ended.outcome.r#final.as_deref(), Some("4"));
    assert_eq!(ended.outcome.best_draft, None);
    assert!(!ended.outcome.hit_ceiling() && ended.outcome.error.is_none());
}

#[test]
fn a05_no_tool_use() {
    for stop in [StopReason::ToolUse, StopReason::StopSequence, StopReason::Other("new".into())] {
        let ended = run(&mut World::scripted([answer(response(vec![Block::text("4")], stop))]), config());
        assert_eq!(ended.outcome.stop, Stop::NoToolUse);
        assert_eq!(ended.outcome.r#final.as_deref(), Some("4"));
    }
}

#[test]
fn a06_limit_gives_partial_and_warns() {
    let mut n = 0;
    let mut world = World::new(move |_| {
        n += 1;
        let id = format!("c{n}");
        let blocks = vec![Block::text(format!("part {n} ")), call(&id, "write", &format!("{{\"n\":{n}}}"))];
        answer(response(blocks, StopReason::ToolUse))
    })
    .tool("write", |call| (1.0, ToolResult::text("", "", call.input.text())));
    let ended = run(&mut world, budget(|budget| budget.iterations = 3));
    assert_eq!(ended.outcome.stop, Stop::Rounds);
    assert!(ended.outcome.hit_ceiling() && warned(&ended.outcome, "rounds"));
    assert_eq!(ended.outcome.transcript, "part 1 part 2 part 3 ");
    assert_eq!((ended.outcome.r#final, ended.outcome.best_draft.as_deref()), (None, Some("part 3 ")));
    assert_eq!(world.requests.len(), 3);
    assert_eq!(executed(&world.commands).len(), 2, "the tools of the last iteration would run for nothing");
    assert_eq!(results(&ended.messages), ["not_run"]);
    assert_eq!(count(&world.notices, |notice| matches!(notice, Notice::Warning { .. })), 1);
}

#[test]
fn a07_one_result_per_tool_use() {
    let reply = calls(&[("a", "look", "{}"), ("b", "write", "{}"), ("c", "nope", "{}"), ("d", "look", "[1]")]);
    let mut world = World::scripted([answer(reply), answer(say("done"))]).tool("look", ok("l")).tool("write", ok("w"));
    let ended = run(&mut world, config());
    assert_eq!(results(&ended.messages), ["ok", "ok", "unknown_tool", "invalid_arguments"]);
    assert_eq!(ended.messages.len(), 4);
}

#[test]
fn a09_single_turn_profile() {
    let ended = run(&mut World::scripted([answer(say("4"))]), budget(|budget| budget.iterations = 1));
    assert_eq!(ended.outcome.stop, Stop::Natural);
    // Tools could not be followed up: they are not asked for, and not run if the model calls them all the same.
    let mut world = World::scripted([answer(calls(&[("a", "look", "{}")]))]);
    let ended = run(&mut world, budget(|budget| budget.iterations = 1));
    assert_eq!(world.requests[0].tool_choice, Some(ToolChoice::None));
    assert_eq!(ended.outcome.stop, Stop::Rounds);
    assert!(executed(&world.commands).is_empty());
    // Who forces a call wants the call itself.
    let config = TurnConfig { tool_choice: Some(ToolChoice::Any), ..budget(|budget| budget.iterations = 1) };
    let mut world = World::scripted([answer(calls(&[("a", "look", "{}")]))]);
    run(&mut world, config);
    assert_eq!(world.requests[0].tool_choice, Some(ToolChoice::Any));
}

#[test]
fn a_forced_tool_is_forced_in_the_first_request_alone() {
    let config = TurnConfig { tool_choice: Some(ToolChoice::Tool("look".into())), ..config() };
    let mut world =
        World::scripted([fail(FailureKind::Server), answer(calls(&[("a", "look", "{}")])), answer(say("4"))])
            .tool("look", ok("l"));
    run(&mut world, config);
    let choices: Vec<_> = world.requests.iter().map(|request| request.tool_choice.clone()).collect();
    let forced = Some(ToolChoice::Tool("look".into()));
    assert_eq!(choices, [forced.clone(), forced, None]);
}

#[test]
fn a11_a12_a13_a15_d49_metrics() {
    let search = ProviderBlock {
        wire: Wire::Anthropic,
        raw: Raw::parse(r#"{"type":"server_tool_use","name":"web_search","input":{"query":"crabs"}}"#).unwrap(),
    };
    let first = response(
        vec![
            Block::Provider(search),
            call("a", "look", r#"{"path":"x"}"#),
            call("b", "search_notes", r#"{"query":"eggs"}"#),
        ],
        StopReason::ToolUse,
    );
    let mut config = config();
    config.tools.push(tool("search_notes", RiskLevel::Safe, true));
    config.price = Some(Price { input: 1.0, output: 2.0, cache_read: None, cache_write: None });
    let mut world = World::scripted([Step::Answer(2.0, first), Step::Answer(3.0, say("4"))])
        .tool("look", |_| (5.0, ToolResult::text("", "", "l")))
        .tool("search_notes", |_| (7.0, ToolResult::text("", "", "s")));
    let outcome = run(&mut world, config).outcome;
    let log: Vec<_> = outcome
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), call.input.text(), call.iteration, call.at, call.duration))
        .collect();
    assert_eq!(log, [("look", r#"{"path":"x"}"#, 1, 2.0, 5.0), ("search_notes", r#"{"query":"eggs"}"#, 1, 2.0, 7.0)]);
    assert_eq!(outcome.searches, 2);
    let searches: Vec<(String, u64)> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::SearchCompleted { query, count, .. } => Some((query.clone(), *count)),
            _ => None,
        })
        .collect();
    assert_eq!(searches, [("crabs".into(), 1), ("eggs".into(), 2)]);
    let times: Vec<_> = outcome.iterations.iter().map(|record| (record.iteration, record.duration)).collect();
    assert_eq!(times, [(1, 2.0), (2, 3.0)]);
    assert_eq!(outcome.duration, 12.0);
    assert_eq!((outcome.spent.usage.input, outcome.spent.usage.output), (20, 10));
    assert!((outcome.spent.cost.unwrap() - 40e-6).abs() < 1e-12);
}

#[test]
fn a14_iterations_by_complexity() {
    for (complexity, most) in
        [(Complexity::Simple, 3), (Complexity::Moderate, 5), (Complexity::Complex, 10), (Complexity::Breaking, 15)]
    {
        let mut world = endless();
        let config = budget(|budget| {
            budget.iterations = complexity.iterations();
            budget.tool_rounds = 100;
        });
        assert_eq!(run(&mut world, config).outcome.stop, Stop::Rounds);
        assert_eq!(world.requests.len(), most);
    }
}

#[test]
fn a19_breaker_of_a_failing_tool() {
    let mut n = 0;
    let mut world = World::new(move |_| {
        n += 1;
        let arguments = format!("{{\"n\":{n}}}");
        match n {
            1..=5 => answer(calls(&[(&format!("c{n}"), "write", &arguments)])),
            6 => Step::Answer(60.0, calls(&[("c6", "write", &arguments), ("c7", "write", &arguments)])),
            _ => answer(say("done")),
        }
    })
    .tool("write", {
        let mut n = 0;
        move |_| {
            n += 1;
            let failure = ToolFailure { kind: "exception".into(), message: format!("down {n}"), hint: None };
            (1.0, if n < 4 { ToolResult::failed("", "", failure) } else { ToolResult::text("", "", "ok") })
        }
    });
    let config = TurnConfig { stuck: None, momentum: None, ..config() };
    let ended = run(&mut world, config);
    let ids: Vec<String> = executed(&world.commands).into_iter().flat_map(|(ids, _)| ids).collect();
    assert_eq!(ids, ["c1", "c2", "c3", "c6", "c7"], "open after three failures, a probe after 30 s, then closed");
    let kinds: Vec<_> = ended.outcome.tool_calls.iter().map(|call| call.failure.as_deref().unwrap_or("ok")).collect();
    assert_eq!(kinds, ["exception", "exception", "exception", "unavailable", "unavailable", "ok", "ok"]);
}

#[test]
fn a19_a_half_open_breaker_lets_one_of_many_calls_through() {
    let three = |n: &str| {
        let ids = ["a", "b", "c"].map(|id| format!("{id}{n}"));
        calls(&[(&ids[0], "look", "{}"), (&ids[1], "look", "{}"), (&ids[2], "look", "{}")])
    };
    let mut world =
        World::scripted([answer(three("1")), Step::Answer(60.0, three("2")), answer(say("done"))]).tool("look", {
            let mut n = 0;
            move |_| {
                n += 1;
                let failure = ToolFailure { kind: "timeout".into(), message: format!("slow {n}"), hint: None };
                (1.0, ToolResult::failed("", "", failure))
            }
        });
    run(&mut world, TurnConfig { stuck: None, momentum: None, ..config() });
    let sizes: Vec<usize> = executed(&world.commands).iter().map(|(ids, _)| ids.len()).collect();
    assert_eq!(sizes, [3, 1]);
}

fn tools_refused() -> Step {
    Step::Fail(1.0, Failure::new(FailureKind::BadRequest, "this model does not support tools"), false, None)
}

#[test]
fn a21_degrade_without_tools_says_so() {
    let mut world = World::scripted([tools_refused(), answer(say("4"))]);
    let outcome = run(&mut world, config()).outcome;
    assert_eq!(outcome.stop, Stop::Natural);
    assert!(warned(&outcome, "without_tools"));
    assert_eq!((world.requests[0].tools.len(), world.requests[1].tools.len()), (3, 0));
    // Once, and only for refusals of tools.
    let mut world = World::scripted([tools_refused(), tools_refused()]);
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::Error);
    let mut world = World::scripted([fail(FailureKind::BadRequest)]);
    assert_eq!(run(&mut world, config()).outcome.error.unwrap().code, "bad_request");
    let mut world = World::scripted([tools_refused()]);
    let strict = TurnConfig { degrade_without_tools: false, ..config() };
    assert_eq!(run(&mut world, strict).outcome.stop, Stop::Error);
}

/// The provider may search, and there are no other tools.
fn searching() -> TurnConfig {
    let provider_tools = vec![loopwright_base::request::Tool::WebSearch(WebSearch::default())];
    TurnConfig { provider_tools, tools: Vec::new(), ..config() }
}

#[test]
fn a18_what_stalls_while_the_provider_may_search_goes_once_more_without() {
    let mut world = World::scripted([fail(FailureKind::Timeout), fail(FailureKind::Timeout), answer(say("4"))]);
    let outcome = run(&mut world, searching()).outcome;
    assert_eq!(outcome.stop, Stop::Natural);
    assert!(warned(&outcome, "without_tools"));
    let tools: Vec<usize> = world.requests.iter().map(|request| request.tools.len()).collect();
    assert_eq!(tools, [1, 1, 0]);
    // One that comes in time keeps its search, and without a search a stall is a stall.
    let mut world = World::scripted([fail(FailureKind::Timeout), answer(say("4"))]);
    assert!(run(&mut world, searching()).outcome.warnings.is_empty());
    let mut world = World::scripted((0..9).map(|_| fail(FailureKind::Timeout)));
    let plain = TurnConfig { provider_tools: Vec::new(), ..searching() };
    assert_eq!(run(&mut world, plain).outcome.stop, Stop::Error);
    assert_eq!(world.requests.len(), 4);
    // Where it stalls without the search, too, the run ends.
    let mut world = World::scripted((0..9).map(|_| fail(FailureKind::Timeout)));
    assert_eq!(run(&mut world, searching()).outcome.error.unwrap().code, "timeout");
    assert_eq!(world.requests.len(), 6);
}

#[test]
fn a21_a_search_that_is_not_allowed_is_left_out_whatever_the_refusal_calls_it() {
    for (kind, message) in [
        (FailureKind::BadRequest, "web_search is not enabled for this organization"),
        (FailureKind::Permission, "Web search is not allowed for your organization"),
    ] {
        let refused = || Step::Fail(1.0, Failure::new(kind, message), false, None);
        let mut world = World::scripted([refused(), answer(say("4"))]);
        let outcome = run(&mut world, searching()).outcome;
        assert_eq!(outcome.stop, Stop::Natural, "{message}");
        assert!(warned(&outcome, "without_tools"), "{message}");
        let plain = TurnConfig { provider_tools: Vec::new(), ..searching() };
        assert_eq!(run(&mut World::scripted([refused()]), plain).outcome.stop, Stop::Error, "{message}");
    }
    let other = Step::Fail(1.0, Failure::new(FailureKind::Permission, "this key may not use the model"), false, None);
    assert_eq!(run(&mut World::scripted([other]), searching()).outcome.stop, Stop::Error);
}

// ---- tools ----

#[test]
fn c12_c13_safe_runs_confirm_asks() {
    let reply = calls(&[("a", "look", "{}"), ("b", "write", "{}"), ("c", "rm", "{}")]);
    let mut world = World::scripted([answer(reply), answer(say("done"))]).tool("look", ok("l")).tool("write", ok("w"));
    let ended = run(&mut world, config());
    assert_eq!(results(&ended.messages), ["ok", "ok", "denied"]);
    assert_eq!(count(&world.notices, |notice| matches!(notice, Notice::ApprovalAsked { .. })), 1);
    assert_eq!(ended.outcome.spent.approvals, 1);
    assert!(
        RiskLevel::Safe < RiskLevel::Cautious
            && RiskLevel::Cautious < RiskLevel::Confirm
            && RiskLevel::Confirm < RiskLevel::Dangerous
    );
}

#[test]
fn c27_x19_reads_at_once_others_in_order_results_in_call_order() {
    let reply = calls(&[
        ("r1", "look", "{}"),
        ("r2", "look", "{}"),
        ("w1", "write", "{}"),
        ("w2", "write", "{}"),
        ("r3", "look", "{}"),
        ("bad", "look", "3"),
        ("r4", "look", "{}"),
    ]);
    let mut world = World::scripted([answer(reply), answer(say("done"))])
        .tool("look", |call| {
            // The first is the slowest: results come in another order than the calls.
            (if call.id == "r1" { 9.0 } else { 1.0 }, ToolResult::text("", "", call.id.clone()))
        })
        .tool("write", |call| (1.0, ToolResult::text("", "", call.id.clone())));
    let ended = run(&mut world, config());
    let ids = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        executed(&world.commands),
        [(ids(&["r1", "r2"]), true), (ids(&["w1"]), false), (ids(&["w2"]), false), (ids(&["r3", "r4"]), true)]
    );
    assert_eq!(world.most_parallel, 2);
    let texts: Vec<String> = ended.messages.iter().nth(2).unwrap().tool_results().map(ToolResult::prose).collect();
    assert_eq!(texts[..5], ["r1", "r2", "w1", "w2", "r3"]);
    assert_eq!(texts[6], "r4");
    // What changes something is on disk before it runs.
    let at = |wanted: &str| {
        let runs = |command: &Command| matches!(command, Command::Execute { calls, .. } if calls.iter().any(|call| call.tool_use.id == wanted));
        world.commands.iter().position(runs).unwrap()
    };
    let persists: Vec<usize> = (0..world.commands.len()).filter(|at| world.commands[*at] == Command::Persist).collect();
    assert!(persists.len() == 2 && persists[0] < at("w1") && at("w1") < persists[1] && persists[1] < at("w2"));
}

#[test]
fn d17_results_are_bounded_and_failures_structured() {
    let mut config = config();
    config.tools[0].max_output = Some(100);
    let reply = calls(&[("a", "look", "{}"), ("b", "nope", "{}")]);
    let mut world = World::scripted([answer(reply), answer(say("done"))])
        .tool("look", |_| (0.0, ToolResult::text("", "", "ä".repeat(1_000_000))));
    let ended = run(&mut world, config);
    let results: Vec<_> = ended.messages.iter().nth(2).unwrap().tool_results().collect();
    assert!(results[0].prose().chars().count() < 200);
    assert!(results[0].prose().contains("999900 characters left out"));
    assert_eq!(
        results[1].prose(),
        r#"{"error":{"kind":"unknown_tool","message":"there is no tool named \"nope\"","hint":"the tools are: look, write, rm"}}"#
    );
}

#[test]
fn d18_last_round_hard_instruction() {
    let mut world = endless();
    let ended = run(&mut world, budget(|budget| budget.tool_rounds = 3));
    assert_eq!(ended.outcome.stop, Stop::ToolRounds);
    assert_eq!(ended.outcome.spent.tool_rounds, 3);
    let notes: Vec<String> = world.requests.iter().map(|request| request.messages.last().unwrap().prose()).collect();
    assert_eq!(notes[1], "");
    assert!(notes[2].starts_with("[One tool round is left."), "{notes:?}");
    assert!(notes[3].starts_with("[No tool rounds are left."), "{notes:?}");
    let choices: Vec<_> = world.requests.iter().map(|request| request.tool_choice.clone()).collect();
    assert_eq!(choices, [None, None, None, Some(ToolChoice::None)]);
    assert!(world.requests.iter().all(|request| request.tools.len() == 3), "the prefix stays the same for caches");
}

#[test]
fn x01_no_tool_rounds_at_all() {
    let mut world = endless();
    let ended = run(&mut world, budget(|budget| budget.tool_rounds = 0));
    assert_eq!(ended.outcome.stop, Stop::ToolRounds);
    assert_eq!(world.requests[0].tool_choice, Some(ToolChoice::None));
    assert!(executed(&world.commands).is_empty());
}

#[test]
fn broken_calls_get_results_and_the_turn_goes_on() {
    let long = format!("\"{}\"", "x".repeat(2_000_000));
    let reply = calls(&[
        ("a", "look", "{\"path\": "),
        ("b", "look", "[1,2]"),
        ("c", "look", &long),
        ("d", "no such tool", "{}"),
        ("", "look", "{}"),
        ("a", "look", "{}"),
        ("a", "look", ""),
    ]);
    let mut world = World::scripted([answer(reply), answer(say("done"))]).tool("look", ok("l"));
    let ended = run(&mut world, config());
    let bad = "invalid_arguments";
    assert_eq!(results(&ended.messages), [bad, bad, bad, "unknown_tool", "ok", "ok", "ok"]);
    let result = ended.messages.iter().nth(2).unwrap().tool_results().next().unwrap().prose();
    assert!(result.contains("no JSON") && result.contains(r#"{\"path\": "#), "{result}");
    assert!(ended.messages.bytes() < 10_000, "arguments that are no use are not carried along");
}

#[test]
fn calls_and_results_inside_a_result_are_left_out() {
    let mut world = World::scripted([answer(calls(&[("a", "look", "{}")])), answer(say("done"))]).tool("look", |_| {
        let mut result = ToolResult::text("", "", "l");
        result.content.push(call("z", "rm", "{}"));
        result.content.push(Block::ToolResult(ToolResult::text("a", "look", "forged")));
        (1.0, result)
    });
    let ended = run(&mut world, config());
    let result = ended.messages.iter().nth(2).unwrap().tool_results().next().unwrap();
    assert_eq!((result.content.len(), result.prose().as_str()), (1, "l"));
}

#[test]
fn ids_that_come_again_in_later_rounds_are_made_to_differ() {
    let again = || answer(calls(&[("call_0", "look", "{}"), ("", "look", "{}")]));
    let mut n = 0;
    let mut world = World::scripted([again(), again(), again(), answer(say("done"))]).tool("look", move |_| {
        n += 1;
        (1.0, ToolResult::text("", "", format!("{n}")))
    });
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::Natural);
}

#[test]
fn a_large_argument_runs_once_and_whole() {
    let arguments = format!("{{\"text\":\"{}\"}}", "x".repeat(2_000_000));
    let length = arguments.len();
    let mut world = World::scripted([answer(calls(&[("a", "write", &arguments)])), answer(say("done"))])
        .tool("write", move |call| (1.0, ToolResult::text("", "", format!("{}", call.input.text().len() == length))));
    let ended = run(&mut world, config());
    assert_eq!(ended.messages.iter().nth(2).unwrap().tool_results().next().unwrap().prose(), "true");
}

#[test]
fn ten_thousand_calls_in_one_reply_take_linear_time() {
    let run = |n: usize, name: &str, id: &str| {
        let ids: Vec<String> = (0..n).map(|at| if id.is_empty() { format!("c{at}") } else { id.into() }).collect();
        let all: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), name, "{}")).collect();
        let mut turn = TurnMachine::new(budget(|budget| budget.calls_per_round = 4_096), 0);
        let commands = turn.step(at(0, start_with("go")));
        let mut commands = turn.step(at(1, generated(id_of(&commands), calls(&all))));
        let mut ran = 0;
        let mut interrupted = false;
        while let Some((id, calls)) = commands.iter().find_map(|command| match command {
            Command::Execute { id, calls, .. } => Some((*id, calls.clone())),
            _ => None,
        }) {
            commands.clear();
            // The last first: the worst order for a search from the front.
            for call in calls.iter().rev() {
                let result = ToolResult::text(&call.tool_use.id, "", "ok");
                commands.extend(turn.step(at(2, EventKind::Executed { id, result })));
                ran += 1;
                if !interrupted && name == "look" {
                    interrupted = true;
                    commands
                        .extend(turn.step(at(2, EventKind::Interrupt { how: Interrupt::AfterRound, partial: None })));
                }
            }
        }
        // Those beyond are answered too, without being run.
        assert_eq!(ran, n.min(4_096));
    };
    for (name, id) in [("look", ""), ("write", ""), ("look", "same"), ("write", "same")] {
        // So many run, and four times as many; and once all of ten thousand are answered.
        grows_in_line(&format!("{name}, ids {id:?}"), 1_024, |n| run(n, name, id));
        run(10_000, name, id);
    }
}

// ---- stepping by hand ----

fn at(seconds: u64, kind: EventKind) -> Event {
    Event { at: Time(seconds * 1_000_000), kind }
}

fn start_with(text: &str) -> EventKind {
    EventKind::Start { messages: vec![Message::user(text)] }
}

fn generated(id: Id, response: loopwright_base::request::Response) -> EventKind {
    EventKind::Generated { id, response: Box::new(response) }
}

fn executed_event(id: Id, call: &str) -> EventKind {
    EventKind::Executed { id, result: ToolResult::text(call, "", "ok") }
}

/// The id of the model call among commands.
fn id_of(commands: &[Command]) -> Id {
    commands
        .iter()
        .find_map(|command| match command {
            Command::Generate { id, .. } => Some(*id),
            _ => None,
        })
        .expect("a model call")
}

fn execute_of(commands: &[Command]) -> Id {
    commands
        .iter()
        .find_map(|command| match command {
            Command::Execute { id, .. } => Some(*id),
            _ => None,
        })
        .expect("tools")
}

fn outcome_of(commands: &[Command]) -> &loopwright_machine::Outcome {
    commands
        .iter()
        .find_map(|command| match command {
            Command::Finish { outcome } => Some(outcome.as_ref()),
            _ => None,
        })
        .expect("an end")
}

/// A turn that has been given an answer.
fn answered(config: TurnConfig, response: loopwright_base::request::Response) -> (TurnMachine, Vec<Command>) {
    let mut turn = TurnMachine::new(config, 0);
    let commands = turn.step(at(0, start_with("go")));
    let commands = turn.step(at(1, generated(id_of(&commands), response)));
    (turn, commands)
}

#[test]
fn late_duplicate_and_unknown_answers_are_counted_and_dropped() {
    let (mut turn, commands) = answered(config(), calls(&[("a", "look", "{}"), ("b", "look", "{}")]));
    let id = execute_of(&commands);
    let before = serde_json::to_string(turn.history()).unwrap();
    let stale = [
        generated(2, say("late")),
        EventKind::Failed { id: 2, failure: failure(FailureKind::Server), visible: true, partial: None },
        EventKind::Delta { id: 2, delta: Delta::Text { block: 0, text: "late".into() } },
        executed_event(id, "unknown"),
        executed_event(id + 1, "a"),
        EventKind::Decided { id, hash: String::new(), decision: ApprovalDecision::Allow },
        EventKind::Fired { id: 999, partial: None },
        EventKind::Found { id, found: Ok(Gathered::default()) },
    ];
    for (n, kind) in stale.into_iter().enumerate() {
        assert_eq!(turn.step(at(2, kind)), []);
        assert_eq!(turn.dropped(), n as u64 + 1);
    }
    assert_eq!(serde_json::to_string(turn.history()).unwrap(), before);
    turn.step(at(3, executed_event(id, "a")));
    assert_eq!(turn.step(at(3, executed_event(id, "a"))), [], "the second result of a call is dropped");
    let commands = turn.step(at(4, executed_event(id, "b")));
    let commands = turn.step(at(5, generated(id_of(&commands), say("done"))));
    assert_eq!(outcome_of(&commands).dropped, 9);
    assert_eq!(turn.step(at(6, start_with("again"))), [], "after its end it only counts");
    assert_eq!(turn.dropped(), 10);
    assert!(turn.is_finished() && turn.waiting().is_empty());
}

#[test]
fn events_that_make_no_sense_are_refused() {
    let mut tree = Tree::new(MachineConfig::Turn(config()));
    let refused = |commands: Vec<Command>| match commands.as_slice() {
        [Command::Refuse { error }] => error.code.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(tree.step(at(0, generated(2, say("hi"))))), "not_started");
    let outcome = Box::new(loopwright_machine::Outcome::new(Stop::Natural));
    let child = EventKind::Child { id: 1, outcome, messages: History::default() };
    assert_eq!(refused(tree.step(at(0, child))), "internal_event");
    tree.step(at(0, start_with("go")));
    assert_eq!(refused(tree.step(at(0, start_with("go")))), "already_started");
    assert_eq!(tree.step(at(0, EventKind::Fired { id: 7 << 32, partial: None })), []);
    assert_eq!(tree.dropped(), 1);
}

// ---- people ----

fn person(decide: fn(&str) -> Option<(f64, String, ApprovalDecision)>) -> World {
    World::scripted([answer(calls(&[("a", "rm", r#"{"path":"x"}"#), ("b", "write", "{}")])), answer(say("done"))])
        .tool("rm", ok("gone"))
        .tool("write", ok("w"))
        .person(move |_, hash| decide(hash))
}

#[test]
fn approval_allow() {
    let mut world = person(|hash| Some((5.0, hash.into(), ApprovalDecision::Allow)));
    let ended = run(&mut world, config());
    assert_eq!(results(&ended.messages), ["ok", "ok"]);
    assert_eq!(executed(&world.commands).len(), 2);
}

#[test]
fn approval_deny_tells_the_model_why() {
    let deny = |hash: &str| Some((5.0, hash.into(), ApprovalDecision::Deny { reason: "not on a Friday".into() }));
    let mut world = person(deny);
    let ended = run(&mut world, config());
    assert_eq!(results(&ended.messages), ["denied", "ok"]);
    assert!(ended.messages.iter().nth(2).unwrap().tool_results().next().unwrap().prose().contains("not on a Friday"));
    assert_eq!(executed(&world.commands).len(), 1);
}

#[test]
fn approval_with_a_stale_hash_is_a_deny() {
    for hash in ["", "0", "00000000000000000000000000000000"] {
        let mut world = World::scripted([answer(calls(&[("a", "rm", "{}")])), answer(say("done"))])
            .tool("rm", |_| panic!("it must not run"))
            .person(move |_, _| Some((1.0, hash.into(), ApprovalDecision::Allow)));
        assert_eq!(results(&run(&mut world, config()).messages), ["denied"]);
    }
}

#[test]
fn approval_timeout_and_late_answers_are_a_deny() {
    let silence: fn(&str) -> Option<(f64, String, ApprovalDecision)> = |_| None;
    for decide in [silence, |hash| Some((61.0, hash.into(), ApprovalDecision::Allow))] {
        let mut world = person(decide);
        let ended = run(&mut world, config());
        assert_eq!(results(&ended.messages), ["denied", "ok"]);
        assert_eq!(executed(&world.commands).len(), 1);
    }
    // A timer that is late does not make the answer any better.
    let (mut turn, commands) = answered(config(), calls(&[("a", "rm", "{}")]));
    let (id, hash) = question_of(&commands);
    let commands = turn.step(at(62, EventKind::Decided { id, hash, decision: ApprovalDecision::Allow }));
    assert!(executed(&commands).is_empty());
    id_of(&commands);
}

fn question_of(commands: &[Command]) -> (Id, String) {
    commands
        .iter()
        .find_map(|command| match command {
            Command::Approve { id, hash, .. } => Some((*id, hash.clone())),
            _ => None,
        })
        .expect("a question")
}

#[test]
fn approval_of_one_call_is_not_that_of_another() {
    let (mut turn, commands) = answered(config(), calls(&[("a", "rm", "{}"), ("b", "rm", "{}")]));
    let (first, hash) = question_of(&commands);
    let allow = |id, hash: &str| EventKind::Decided { id, hash: hash.into(), decision: ApprovalDecision::Allow };
    let commands = turn.step(at(2, allow(first, &hash)));
    assert_eq!(executed(&commands), [(vec!["a".to_owned()], false)]);
    let commands = turn.step(at(3, executed_event(execute_of(&commands), "a")));
    let (second, other) = question_of(&commands);
    assert!(second != first && hash != other);
    assert_eq!(turn.step(at(4, allow(first, &other))), [], "the first question is closed");
    let commands = turn.step(at(4, allow(second, &hash)));
    assert!(executed(&commands).is_empty());
}

#[test]
fn c21_a_person_can_end_the_run() {
    let mut world = person(|hash| Some((5.0, hash.into(), ApprovalDecision::Abort)));
    let ended = run(&mut world, config());
    assert_eq!(ended.outcome.stop, Stop::DestructiveOperation);
    assert_eq!(results(&ended.messages), ["denied", "not_run"]);
    assert!(executed(&world.commands).is_empty());
}

#[test]
fn x01_the_budget_of_approvals_is_kept() {
    let reply = calls(&[("a", "rm", "{}"), ("b", "rm", "{}"), ("c", "write", "{}")]);
    let mut world = World::scripted([answer(reply), answer(say("done"))])
        .tool("rm", ok("gone"))
        .tool("write", ok("w"))
        .person(|_, hash| Some((1.0, hash.into(), ApprovalDecision::Allow)));
    let ended = run(&mut world, budget(|budget| budget.approvals = 1));
    assert_eq!(results(&ended.messages), ["ok", "denied", "ok"]);
    assert_eq!(ended.outcome.spent.approvals, 1);
}

// ---- attempts ----

fn retries(notices: &[Notice]) -> Vec<f64> {
    notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Retry { delay, .. } => Some(*delay),
            _ => None,
        })
        .collect()
}

#[test]
fn retries_honour_retry_after() {
    let limited = Failure { retry_after: Some(7.5), ..failure(FailureKind::RateLimited) };
    let mut world = World::scripted([Step::Fail(1.0, limited, false, None), answer(say("4"))]);
    let ended = run(&mut world, config());
    assert_eq!(retries(&world.notices), [7.5]);
    assert_eq!(ended.at.seconds(), 9.5);
    assert_eq!(ended.outcome.iterations[0].attempts, 2);
    let limited = Failure { retry_after: Some(600.0), ..failure(FailureKind::RateLimited) };
    let mut world = World::scripted([Step::Fail(1.0, limited, false, None)]);
    assert_eq!(run(&mut world, config()).outcome.error.unwrap().code, "rate_limited");
}

#[test]
fn a19_waiting_for_the_probe_of_another_call_is_no_attempt() {
    let open = |seconds| {
        let failure = Failure { retry_after: Some(seconds), ..failure(FailureKind::BreakerOpen) };
        Step::Fail(0.0, failure, false, None)
    };
    // Left alone, and then a probe that takes its time, as a long answer does.
    let steps = [fail(FailureKind::Server), open(30.0)].into_iter();
    let steps = steps.chain(std::iter::repeat_n(open(0.5), 40)).chain([answer(say("4"))]);
    let ended = run(&mut World::scripted(steps.collect::<Vec<_>>()), config());
    assert_eq!((ended.outcome.stop, ended.outcome.r#final.as_deref()), (Stop::Natural, Some("4")));
    // Being left alone again and again is not waited for.
    let mut world = World::new(move |_| open(30.0));
    assert_eq!(run(&mut world, config()).outcome.error.unwrap().code, "breaker_open");
    assert_eq!(world.requests.len(), 4);
    // Nor is a probe without end: the run's time ends it.
    let mut world = World::new(move |_| open(0.5));
    let ended = run(&mut world, config());
    assert!(ended.at.seconds() <= config().budget.wall_time, "{}", ended.at.seconds());
    assert!(matches!(ended.outcome.stop, Stop::Error | Stop::WallTime), "{:?}", ended.outcome.stop);
}

#[test]
fn retries_are_bounded_and_same_seeds_wait_the_same() {
    let waits = |seed| {
        let mut world = World::new(|_| fail(FailureKind::Overloaded));
        let ended = run(&mut world, TurnConfig { seed, ..config() });
        assert_eq!(world.requests.len(), 4);
        let error = ended.outcome.error.unwrap();
        assert_eq!(
            (ended.outcome.stop, error.guilt, error.code.as_ref()),
            (Stop::Error, Fault::Provider, "overloaded")
        );
        assert!(error.message.contains("4 attempts"));
        assert_eq!(ended.outcome.spent.iterations, 1, "attempts are not iterations");
        retries(&world.notices)
    };
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
}

#[test]
fn retries_are_not_for_faults_of_the_request() {
    for kind in [FailureKind::Auth, FailureKind::BadRequest, FailureKind::Quota, FailureKind::NotFound] {
        let mut world = World::new(move |_| fail(kind));
        assert_eq!(run(&mut world, config()).outcome.stop, Stop::Error);
        assert_eq!(world.requests.len(), 1);
    }
    let mut world = World::new(|_| fail(FailureKind::ContextTooLong));
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::ContextWindow);
}

#[test]
fn a16_after_visible_output_a_reset_comes_before_the_next_attempt() {
    let cut = |visible| Step::Fail(1.0, failure(FailureKind::Cut), visible, Some(say("It is f")));
    let mut world = World::scripted([cut(true), answer(say("It is 4."))]);
    let ended = run(&mut world, config());
    assert_eq!(count(&world.notices, |notice| matches!(notice, Notice::Reset { .. })), 1);
    assert_eq!(ended.outcome.transcript, "It is 4.", "what was reset does not count as said");
    assert_eq!(ended.outcome.spent.usage.total(), 30, "tokens of the failed attempt count");
    let mut world = World::scripted([cut(false), answer(say("It is 4."))]);
    run(&mut world, config());
    assert_eq!(count(&world.notices, |notice| matches!(notice, Notice::Reset { .. })), 0);
    let retry = RetryPolicy { after_output: false, ..RetryPolicy::default() };
    let ended = run(&mut World::scripted([cut(true)]), TurnConfig { retry, ..config() });
    assert_eq!(ended.outcome.best_draft.as_deref(), Some("It is f"), "what was said until then is kept");
    assert_eq!(ended.messages.last().unwrap().prose(), "It is f");
}

#[test]
fn x02_what_was_said_is_kept_though_the_last_attempt_said_nothing() {
    let cut = || Step::Fail(1.0, failure(FailureKind::Cut), true, Some(say("It is f")));
    let ends: [(&str, Vec<Step>); 2] = [
        ("breaker", vec![cut(), fail(FailureKind::BreakerOpen)]),
        ("refused", vec![cut(), fail(FailureKind::Server), fail(FailureKind::BadRequest)]),
    ];
    for (name, mut steps) in ends {
        let last = steps.pop().unwrap();
        steps.extend(std::iter::repeat_n(last, 8));
        let ended = run(&mut World::scripted(steps), config());
        assert_eq!(ended.outcome.best_draft.as_deref(), Some("It is f"), "{name}");
        assert_eq!(ended.messages.last().unwrap().prose(), "It is f", "{name}");
        assert!(ended.outcome.error.unwrap().hint.is_some(), "{name}");
    }
    let mut turn = TurnMachine::new(config(), 0);
    let id = id_of(&turn.step(at(0, start_with("go"))));
    let partial = Some(Box::new(say("It is f")));
    turn.step(at(1, EventKind::Failed { id, failure: failure(FailureKind::Cut), visible: true, partial }));
    let commands = turn.step(at(1, EventKind::Interrupt { how: Interrupt::Cancel, partial: None }));
    assert_eq!(outcome_of(&commands).best_draft.as_deref(), Some("It is f"), "while it waits for the next attempt");
}

#[test]
fn a_delta_makes_an_attempt_visible() {
    let mut turn = TurnMachine::new(config(), 0);
    let id = id_of(&turn.step(at(0, start_with("go"))));
    let delta = Delta::Text { block: 0, text: "It".into() };
    assert_eq!(turn.step(at(0, EventKind::Delta { id, delta })), []);
    let failed = EventKind::Failed { id, failure: failure(FailureKind::Cut), visible: false, partial: None };
    let commands = turn.step(at(1, failed));
    assert!(commands.iter().any(|command| matches!(command, Command::Emit { notice: Notice::Reset { .. } })));
}

#[test]
fn attempts_of_one_request_share_the_tokens() {
    let cut = Step::Fail(1.0, failure(FailureKind::Cut), false, Some(say("x")));
    let mut world = World::new(move |_| cut.clone());
    let outcome = run(&mut world, budget(|budget| budget.tokens = Some(70))).outcome;
    assert_eq!(outcome.stop, Stop::Tokens);
    assert!(world.requests.len() < 4 && outcome.spent.usage.total() <= 70);
}

// ---- other ends ----

#[test]
fn pause_turn_goes_on_with_the_same_history() {
    let block = Block::Provider(ProviderBlock {
        wire: Wire::Anthropic,
        raw: Raw::parse(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}}"#).unwrap(),
    });
    let paused = response(vec![Block::text("Searching. "), block], StopReason::PauseTurn);
    let mut world = World::scripted([answer(paused.clone()), answer(say("Found."))]);
    let ended = run(&mut world, config());
    assert_eq!(world.requests[1].messages.len(), 2);
    assert_eq!(world.requests[1].messages.last().unwrap().role, Role::Assistant);
    assert_eq!((ended.outcome.stop, ended.outcome.transcript.as_str()), (Stop::Natural, "Searching. Found."));
    let mut world = World::new(move |_| answer(paused.clone()));
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::Rounds, "not for ever");
}

#[test]
fn a_refusal_ends_the_turn_and_closes_its_calls() {
    let refused = response(vec![Block::text("I can't."), call("a", "write", "{}")], StopReason::Refusal);
    let mut world = World::scripted([answer(refused)]);
    let ended = run(&mut world, config());
    assert_eq!(ended.outcome.stop, Stop::Refusal);
    assert_eq!(ended.outcome.best_draft.as_deref(), Some("I can't."));
    assert!(executed(&world.commands).is_empty());
}

#[test]
fn output_limit_and_filters_give_what_there_is() {
    for (stop, expected) in [
        (StopReason::MaxTokens, Stop::OutputLimit),
        (StopReason::ContentFilter, Stop::ContentFilter),
        (StopReason::ContextWindow, Stop::ContextWindow),
    ] {
        let outcome =
            run(&mut World::scripted([answer(response(vec![Block::text("half an ans")], stop))]), config()).outcome;
        assert_eq!((outcome.stop, outcome.best_draft.as_deref()), (expected, Some("half an ans")));
        assert_eq!(outcome.r#final, None);
    }
    let outcome = run(&mut World::scripted([answer(response(vec![], StopReason::MaxTokens))]), config()).outcome;
    assert_eq!(outcome.stop, Stop::OutputLimit);
    assert!(warned(&outcome, "output_limit"));
}

#[test]
fn max_tokens_inside_a_call_does_not_run_it() {
    let cut = response(vec![call("a", "look", "{}"), call("b", "write", "{}")], StopReason::MaxTokens);
    let mut world = World::scripted([answer(cut), answer(say("done"))]).tool("look", ok("l"));
    let ended = run(&mut world, config());
    assert_eq!(results(&ended.messages), ["ok", "invalid_arguments"]);
}

#[test]
fn an_empty_answer_is_never_a_success() {
    let empty = || answer(response(vec![Block::text(" \n")], StopReason::EndTurn));
    let mut world = World::scripted([empty(), empty()]);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, ended.outcome.error.unwrap().code.as_ref()), (Stop::Error, "empty_answer"));
    assert_eq!(world.requests.len(), 2);
    let ended = run(&mut World::scripted([empty(), answer(say("4"))]), config());
    assert_eq!(ended.outcome.r#final.as_deref(), Some("4"));
    let mut world = World::scripted([answer(calls(&[("a", "look", "{}")])), empty(), empty()]).tool("look", ok("l"));
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::Error);
}

#[test]
fn x03_one_nudge() {
    let mut world = World::scripted([answer(say("I'll read the file.")), answer(say("Let me check the tests."))]);
    let ended = run(&mut world, config());
    assert_eq!(world.requests.len(), 2);
    assert_eq!(world.requests[1].messages.last().unwrap().prose(), "Proceed with: read the file");
    assert_eq!(
        (ended.outcome.stop, ended.outcome.r#final.as_deref()),
        (Stop::Natural, Some("Let me check the tests."))
    );
    // Not without tools, and not without budget.
    let bare = TurnConfig { tools: Vec::new(), ..config() };
    assert_eq!(run(&mut World::scripted([answer(say("I'll read it."))]), bare).outcome.stop, Stop::Natural);
    let one = budget(|budget| budget.iterations = 1);
    assert_eq!(run(&mut World::scripted([answer(say("I'll read it."))]), one).outcome.stop, Stop::Natural);
}

#[test]
fn c23_c24_a_question_to_the_person_pauses() {
    let ended = run(&mut World::scripted([answer(say("There are two. Could you clarify which one?"))]), config());
    assert_eq!(ended.outcome.stop, Stop::NeedsUserInput);
    assert!(ended.outcome.r#final.is_some());
}

#[test]
fn c21_the_same_call_with_the_same_result_is_no_progress() {
    let mut n = 0;
    let mut world = World::new(move |_| {
        n += 1;
        answer(calls(&[(&format!("c{n}"), "look", "{}")]))
    })
    .tool("look", ok("same"));
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::NoProgress, 4));
}

#[test]
fn c21_repeated_failures_and_low_momentum() {
    let failing = |same: bool| {
        let mut n = 0;
        let mut world = World::new(move |_| {
            n += 1;
            answer(calls(&[(&format!("c{n}"), "write", &format!("{{\"n\":{n}}}"))]))
        })
        .tool("write", {
            let mut n = 0;
            move |_| {
                n += 1;
                let message = if same { "disk full".into() } else { "abcdefgh"[..n].to_owned() };
                (1.0, ToolResult::failed("", "", ToolFailure { kind: "io".into(), message, hint: None }))
            }
        });
        run(&mut world, config()).outcome.stop
    };
    assert_eq!(failing(true), Stop::RepeatedFailures);
    assert_eq!(failing(false), Stop::LowMomentum);
}

// ---- limits ----

#[test]
fn x01_wall_time_while_asking() {
    let mut world = World::scripted([Step::Hang]);
    let ended = run(&mut world, budget(|budget| budget.wall_time = 30.0));
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::WallTime, 30.0));
    assert!(warned(&ended.outcome, "wall_time"));
}

#[test]
fn x01_wall_time_in_tools_and_in_a_question() {
    let reply = calls(&[("a", "look", "{}"), ("b", "look", "{}"), ("c", "write", "{}")]);
    let mut world = World::scripted([answer(reply)])
        .tool("look", |call| (if call.id == "a" { 1.0 } else { 1e6 }, ToolResult::text("", "", "l")));
    let ended = run(&mut world, budget(|budget| budget.wall_time = 30.0));
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::WallTime, 30.0));
    assert_eq!(results(&ended.messages), ["ok", "cancelled", "not_run"]);
    assert_eq!(ended.outcome.tool_calls[1].duration, 29.0);
    assert_eq!(ended.messages.last().unwrap().prose(), "", "nobody is told to answer any more");
    let mut world = World::scripted([answer(calls(&[("a", "rm", "{}")]))]);
    let ended = run(&mut world, budget(|budget| budget.wall_time = 30.0));
    assert_eq!(ended.outcome.stop, Stop::WallTime);
    assert_eq!(results(&ended.messages), ["not_run"]);
}

#[test]
fn x01_wall_time_in_backoff() {
    // A wait that fits, and a wait that would end after the time is up: then the failure stands at once.
    let limited = |seconds| Failure { retry_after: Some(seconds), ..failure(FailureKind::RateLimited) };
    let mut world = World::scripted([Step::Fail(1.0, limited(50.0), false, None)]);
    let ended = run(&mut world, budget(|budget| budget.wall_time = 30.0));
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::Error, 1.0));
    let mut world = World::scripted([Step::Fail(1.0, limited(20.0), false, None), Step::Hang]);
    let ended = run(&mut world, budget(|budget| budget.wall_time = 30.0));
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::WallTime, 30.0));
    // A timer that fires too late does not start another attempt.
    let mut turn = TurnMachine::new(budget(|budget| budget.wall_time = 30.0), 0);
    let id = id_of(&turn.step(at(0, start_with("go"))));
    let failed = EventKind::Failed { id, failure: limited(20.0), visible: false, partial: None };
    let timer = turn.step(at(1, failed)).iter().rev().find_map(Command::id).unwrap();
    assert_eq!(outcome_of(&turn.step(at(31, EventKind::Fired { id: timer, partial: None }))).stop, Stop::WallTime);
}

#[test]
fn x01_tokens_and_cost() {
    let mut world = endless();
    let outcome = run(&mut world, budget(|budget| budget.tokens = Some(600))).outcome;
    assert_eq!(outcome.stop, Stop::Tokens);
    assert!(outcome.spent.usage.total() <= 600 && !outcome.tool_calls.is_empty());
    for pair in world.requests.windows(2) {
        assert!(pair[1].max_tokens < pair[0].max_tokens);
    }
    // The reply is there, but no request could carry the results: the tools would run for nothing.
    let mut world = World::scripted([answer(calls(&[("a", "write", "{}")]))]);
    assert_eq!(run(&mut world, budget(|budget| budget.tokens = Some(40))).outcome.stop, Stop::Tokens);
    assert!(executed(&world.commands).is_empty());
    let price = Some(Price { input: 1e5, output: 0.0, cache_read: None, cache_write: None });
    let outcome = run(&mut endless(), TurnConfig { price, ..budget(|budget| budget.cost = Some(2.5)) }).outcome;
    assert_eq!((outcome.stop, outcome.spent.iterations), (Stop::Cost, 3));
    let outcome = run(&mut World::scripted([answer(say("4"))]), budget(|budget| budget.cost = Some(2.5))).outcome;
    assert!(warned(&outcome, "cost_unknown"), "a limit that can't be kept is not kept silent");
}

#[test]
fn x01_a_picture_is_not_counted_by_its_bytes() {
    let source = message::MediaSource::Base64 { media_type: "image/png".into(), data: "x".repeat(2_000_000) };
    let picture = Block::Image(Media { source, name: None, extra: None });
    let messages = vec![Message::new(Role::User, vec![Block::text("What is this?"), picture])];
    let mut world = World::scripted([answer(say("A crab."))]);
    let ended = run_on(&mut world, budget(|budget| budget.tokens = Some(10_000)), messages);
    assert_eq!(ended.outcome.stop, Stop::Natural);
    assert!(world.requests[0].max_tokens.is_some_and(|most| (8_000..8_400).contains(&most)));
}

#[test]
fn x01_budgets_of_nothing_end_at_once() {
    type Change = fn(&mut Budget);
    let cases: [(Change, Stop); 4] = [
        (|budget| budget.iterations = 0, Stop::Rounds),
        (|budget| budget.wall_time = 0.0, Stop::WallTime),
        (|budget| budget.tokens = Some(0), Stop::Tokens),
        (|budget| budget.cost = Some(0.0), Stop::Cost),
    ];
    for (change, stop) in cases {
        let mut world = World::scripted([]);
        let outcome = run(&mut world, budget(change)).outcome;
        assert_eq!(outcome.stop, stop);
        assert!(world.requests.is_empty());
    }
}

// ---- cancel and interrupt ----

#[test]
fn d45_cancel_while_asking_keeps_what_was_said() {
    let mut turn = TurnMachine::new(config(), 0);
    let id = id_of(&turn.step(at(0, start_with("go"))));
    let partial = Some(Box::new(say("It is pro")));
    let commands = turn.step(at(1, EventKind::Interrupt { how: Interrupt::Cancel, partial }));
    assert!(commands.contains(&Command::Abort { id }));
    let outcome = outcome_of(&commands);
    assert_eq!((outcome.stop, outcome.best_draft.as_deref()), (Stop::Cancelled, Some("It is pro")));
    assert_eq!(outcome.spent.usage.total(), 15, "tokens of the cancelled attempt count");
    assert_eq!(turn.history().last().unwrap().prose(), "It is pro");
}

#[test]
fn d45_cancel_in_every_state_is_one_step_and_the_history_goes_on() {
    let stop_at = |seconds: f64| {
        let reply = calls(&[("a", "write", "{}"), ("b", "rm", "{}"), ("c", "look", "{}")]);
        let mut world = World::scripted([fail(FailureKind::Server), answer(reply), answer(say("done"))])
            .tool("write", ok("w"))
            .tool("rm", ok("gone"))
            .tool("look", ok("l"))
            .person(|_, hash| Some((1.0, hash.into(), ApprovalDecision::Allow)))
            .interrupt(seconds, Interrupt::Cancel);
        let ended = run(&mut world, config());
        let messages: Vec<Message> = ended.messages.iter().cloned().chain([Message::user("and now?")]).collect();
        let again = run_on(&mut World::scripted([answer(say("fine"))]), config(), messages);
        assert_eq!(again.outcome.stop, Stop::Natural);
        ended.outcome.stop
    };
    let stops: Vec<Stop> = (0..90).map(|tenth| stop_at(f64::from(tenth) / 10.0)).collect();
    assert_eq!(
        stops.iter().filter(|stop| **stop == Stop::Natural).count()
            + stops.iter().filter(|stop| **stop == Stop::Cancelled).count(),
        90
    );
    assert!(stops.iter().filter(|stop| **stop == Stop::Cancelled).count() > 60, "{stops:?}");
}

#[test]
fn d45_x01_a_deadline_keeps_what_had_streamed() {
    let mut turn = TurnMachine::new(config(), 0);
    let asked = turn.step(at(0, start_with("go")));
    let deadline = asked.iter().find(|command| matches!(command, Command::Timer { .. })).and_then(Command::id).unwrap();
    let partial = Some(Box::new(say("It is pro")));
    let commands = turn.step(at(300, EventKind::Fired { id: deadline, partial }));
    assert!(commands.contains(&Command::Abort { id: id_of(&asked) }));
    let outcome = outcome_of(&commands);
    assert_eq!((outcome.stop, outcome.best_draft.as_deref()), (Stop::WallTime, Some("It is pro")));
    assert_eq!((outcome.transcript.as_str(), outcome.spent.usage), ("It is pro", USAGE));
    assert_eq!(turn.history().last().unwrap().prose(), "It is pro");
    // While tools run there is no answer to keep.
    let mut turn = TurnMachine::new(config(), 0);
    let id = id_of(&turn.step(at(0, start_with("go"))));
    turn.step(at(1, generated(id, calls(&[("a", "look", "{}")]))));
    let partial = Some(Box::new(say("a copy")));
    let commands = turn.step(at(300, EventKind::Fired { id: deadline, partial }));
    assert_eq!(outcome_of(&commands).best_draft, None);
    assert_eq!(turn.history().last().unwrap().tool_results().count(), 1);
}

#[test]
fn d45_a_partial_answer_counts_only_while_one_is_asked_for() {
    let (mut turn, _) = answered(config(), calls(&[("a", "look", "{}")]));
    let partial = Some(Box::new(say("a copy of what is there")));
    let commands = turn.step(at(2, EventKind::Interrupt { how: Interrupt::Cancel, partial }));
    assert_eq!(outcome_of(&commands).spent.usage.total(), 15);
    assert_eq!(results(turn.history()), ["cancelled"]);
    assert_eq!(turn.history().len(), 3);
}

#[test]
fn d45_cancel_before_the_start() {
    let mut turn = TurnMachine::new(config(), 0);
    let commands = turn.step(at(0, EventKind::Interrupt { how: Interrupt::Cancel, partial: None }));
    assert_eq!(outcome_of(&commands).stop, Stop::Cancelled);
    assert_eq!(turn.step(at(0, start_with("go"))), []);
}

#[test]
fn c21_interrupt_after_the_round_lets_running_calls_end() {
    let reply = calls(&[("a", "look", "{}"), ("b", "look", "{}"), ("c", "write", "{}")]);
    let mut world = World::scripted([answer(reply)]).tool("look", ok("l")).interrupt(1.5, Interrupt::AfterRound);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::UserInterrupt, 2.0));
    assert_eq!(results(&ended.messages), ["ok", "ok", "not_run"]);
}

#[test]
fn c21_interrupt_takes_an_open_question_back() {
    let mut world = World::scripted([answer(calls(&[("a", "rm", "{}")]))]).interrupt(1.5, Interrupt::AfterRound);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::UserInterrupt, 1.5));
    let (id, _) = question_of(&world.commands);
    assert!(world.commands.contains(&Command::Abort { id }));
}

#[test]
fn c21_interrupt_while_asking_waits_for_the_answer_but_not_for_another_attempt() {
    let script = [answer(calls(&[("a", "look", "{}")]))];
    let mut world = World::scripted(script).interrupt(0.5, Interrupt::AfterRound);
    let ended = run(&mut world, config());
    assert_eq!(ended.outcome.stop, Stop::UserInterrupt);
    assert_eq!(results(&ended.messages), ["not_run"]);
    let mut world = World::scripted([answer(say(""))]).interrupt(0.5, Interrupt::AfterRound);
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::UserInterrupt, "empty or not");
    let mut world = World::scripted([fail(FailureKind::Server)]).interrupt(0.5, Interrupt::AfterRound);
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::UserInterrupt);
    let limited = Failure { retry_after: Some(20.0), ..failure(FailureKind::RateLimited) };
    let mut world = World::scripted([Step::Fail(1.0, limited, false, None)]).interrupt(5.0, Interrupt::AfterRound);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::UserInterrupt, 5.0));
}

// ---- what comes in ----

#[test]
fn histories_from_elsewhere_are_made_legal() {
    let open = Message::new(Role::Assistant, vec![call("a", "look", "{}"), call("b", "look", "{\"x\": ")]);
    let orphan = |id: &str| Block::ToolResult(ToolResult::text(id, "look", "x"));
    let histories = [
        vec![Message::user("go"), open.clone()],
        vec![Message::new(Role::User, vec![orphan("z"), Block::text("go")])],
        vec![Message::user("go"), open.clone(), open.clone(), Message::user("well?")],
        vec![open.clone(), Message::new(Role::User, vec![orphan("b")]), Message::new(Role::User, vec![orphan("a")])],
        vec![
            open,
            Message::new(Role::User, vec![orphan("b"), orphan("b"), orphan("a"), orphan("q")]),
            Message::user("x"),
        ],
    ];
    for messages in histories {
        let ended = run_on(&mut World::scripted([answer(say("done"))]), config(), messages);
        assert_eq!(ended.outcome.stop, Stop::Natural);
    }
    for messages in [vec![], vec![Message::user("")], vec![Message::new(Role::User, vec![orphan("z")])]] {
        let ended = run_on(&mut World::scripted([]), config(), messages);
        assert_eq!(ended.outcome.error.unwrap().code, "empty_prompt");
    }
}

#[test]
fn a_long_hostile_history_is_mended_in_linear_time() {
    grows_in_line("orphans", 2_500, |n| {
        let all = (0..n).map(|_| call("same", "look", "{}")).collect();
        let back = (0..2 * n).map(|_| Block::ToolResult(ToolResult::text("same", "look", "x"))).collect();
        let messages = vec![Message::new(Role::Assistant, all), Message::new(Role::User, back), Message::user("go")];
        let mut turn = TurnMachine::new(config(), 0);
        turn.step(at(0, EventKind::Start { messages }));
        assert_legal(turn.history());
    });
}

#[test]
fn configurations_that_make_no_sense_are_typed_errors() {
    type Change = fn(&mut TurnConfig);
    let cases: [(Change, &str); 16] = [
        (|config| config.model = "  ".into(), "empty_model"),
        (|config| config.tools[0].name = String::new(), "invalid_tool_name"),
        (|config| config.tools[0].name = "x".repeat(1_000_000), "invalid_tool_name"),
        (|config| config.tools[0].name = "write".into(), "duplicate_tool"),
        (|config| config.tools[0].schema = Raw::null(), "invalid_schema"),
        (|config| config.tools[0].timeout = Some(-1.0), "invalid_number"),
        (|config| config.budget.wall_time = f64::NAN, "invalid_budget"),
        (|config| config.budget.wall_time = -1.0, "invalid_budget"),
        (|config| config.budget.cost = Some(f64::INFINITY), "invalid_budget"),
        (|config| config.approval_timeout = -0.5, "invalid_budget"),
        (|config| config.retry.cap = f64::NAN, "invalid_number"),
        (
            |config| config.momentum = Some(MomentumPolicy { pause: f64::NAN, ..MomentumPolicy::default() }),
            "invalid_number",
        ),
        (|config| config.temperature = Some(f64::NAN), "invalid_number"),
        (|config| config.max_tokens = Some(0), "invalid_number"),
        (|config| config.tool_choice = Some(ToolChoice::Tool("nope".into())), "invalid_tool_choice"),
        (
            |config| {
                config.price = Some(Price { input: -1.0, output: 0.0, cache_read: None, cache_write: None });
            },
            "invalid_number",
        ),
    ];
    for (change, code) in cases {
        let mut config = config();
        change(&mut config);
        let error = config.check().unwrap_err();
        assert_eq!((error.code.as_ref(), error.guilt), (code, Fault::Usage));
        assert!(error.message.len() < 1_000);
        let mut turn = TurnMachine::new(config, 0);
        let commands = turn.step(at(0, start_with("go")));
        assert_eq!(outcome_of(&commands).error.as_ref(), Some(&error));
        assert!(commands.iter().all(|command| !matches!(command, Command::Generate { .. })));
    }
    assert!(config().check().is_ok());
}

#[test]
fn usage_that_can_not_be_is_counted_without_overflow() {
    let huge = Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, ..Usage::default() };
    let mut reply = calls(&[("a", "look", "{}")]);
    reply.usage = huge;
    let mut last = say("4");
    last.usage = huge;
    let price = Some(Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: None });
    let mut world = World::scripted([answer(reply), answer(last)]).tool("look", ok("l"));
    let outcome = run(&mut world, TurnConfig { price, ..config() }).outcome;
    assert_eq!(outcome.spent.usage.total(), u64::MAX);
    assert!(outcome.spent.cost.unwrap().is_finite());
}

#[test]
fn no_tools_no_choice_among_them() {
    for choice in [ToolChoice::Auto, ToolChoice::None] {
        let mut world = World::scripted([answer(say("Done."))]);
        run(&mut world, TurnConfig { tools: Vec::new(), tool_choice: Some(choice), ..config() });
        assert_eq!(world.requests[0].tool_choice, None);
    }
}

// ---- senses ----

/// A model that makes these calls of `look`, one after the other, and the last one for ever.
fn looking(arguments: &'static [&'static str]) -> World {
    let mut n = 0;
    World::new(move |_| {
        n += 1;
        let arguments = arguments[(n - 1).min(arguments.len() - 1)];
        answer(calls(&[(&format!("c{n}"), "look", arguments)]))
    })
    .tool("look", |call| (1.0, ToolResult::text("", "", call.input.text())))
}

fn assessed(commands: &[Command]) -> Vec<(String, String)> {
    let pairs = commands.iter().filter_map(|command| match command {
        Command::Emit { notice: Notice::Assessed { decision, rule, saw, .. } } => {
            assert!(!saw.is_empty(), "{decision} {rule}");
            Some((decision.clone(), rule.clone()))
        }
        _ => None,
    });
    pairs.collect()
}

#[test]
fn c25_x20_the_model_is_told_once_then_the_run_ends() {
    let mut world = looking(&["{}"]);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::NoProgress, 4));
    let told = |request: usize| world.requests[request].messages.last().unwrap().prose();
    assert!(told(3).contains("`look` was called 3 times"), "{}", told(3));
    assert!(!told(2).contains("times"));
    assert_eq!(results(&ended.messages), ["not_run"]);
    let decisions = assessed(&world.commands);
    assert!(decisions.contains(&("tell".into(), "repeated_call".into())), "{decisions:?}");
    assert_eq!(decisions.last().unwrap(), &("stuck".to_owned(), "repeated_call".to_owned()));
    // Without a warning it ends at once, without the sense never.
    let policy = StuckPolicy { warn: false, ..StuckPolicy::default() };
    let mut world = looking(&["{}"]);
    let outcome = run(&mut world, TurnConfig { stuck: Some(policy), ..config() }).outcome;
    assert_eq!((outcome.stop, world.requests.len()), (Stop::NoProgress, 3));
    let mut world = looking(&["{}"]);
    assert_eq!(run(&mut world, TurnConfig { stuck: None, ..config() }).outcome.stop, Stop::ToolRounds);
}

#[test]
fn c25_who_listens_goes_on() {
    const AGAIN: &[&str] = &["{}", "{}", "{}", r#"{"page":1}"#, "{}", "{}", "{}"];
    const PAGES: &[&str] = &["{}", "{}", "{}", r#"{"page":1}"#, r#"{"page":2}"#, r#"{"page":3}"#, r#"{"page":4}"#];
    let ended = run(&mut looking(PAGES), config());
    assert_eq!(ended.outcome.stop, Stop::ToolRounds);
    // The same pattern a second time is no accident.
    let mut world = looking(AGAIN);
    let ended = run(&mut world, budget(|budget| (budget.tool_rounds, budget.iterations) = (20, 20)));
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::NoProgress, 7));
}

#[test]
fn x20_a_cycle_of_two_ends_after_its_third_round() {
    let mut n = 0;
    let mut world = World::new(move |_| {
        n += 1;
        answer(calls(&[(&format!("c{n}"), "look", if n % 2 == 0 { r#"{"a":1}"# } else { r#"{"b":1}"# })]))
    })
    .tool("look", ok("same"));
    let ended = run(&mut world, budget(|budget| (budget.tool_rounds, budget.iterations) = (50, 50)));
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::NoProgress, 7));
    assert!(assessed(&world.commands).contains(&("tell".into(), "cycle".into())));
}

#[test]
fn c29_a_check_in_every_n_iterations() {
    let mut world = endless();
    let ended = run(&mut world, TurnConfig { check_in: Some(2), ..config() });
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::CheckIn, 2));
    assert_eq!(results(&ended.messages), ["ok"], "what ran is kept: the next run goes on from there");
    let ended =
        run_on(&mut endless(), TurnConfig { check_in: Some(2), ..config() }, ended.messages.iter().cloned().collect());
    assert_eq!(ended.outcome.stop, Stop::CheckIn);
    assert_eq!(run(&mut endless(), TurnConfig { check_in: Some(100), ..config() }).outcome.stop, Stop::ToolRounds);
}

#[test]
fn c21_a_question_which_of_two_is_ambiguous() {
    let which = "There are two. Do you mean the staging database or the production one?";
    let ended = run(&mut World::scripted([answer(say(which))]), config());
    assert_eq!((ended.outcome.stop, ended.outcome.r#final.as_deref()), (Stop::Ambiguous, Some(which)));
    assert_eq!(Stop::Ambiguous.breakpoint().map(Breakpoint::name), Some("ambiguous"));
}

#[test]
fn c24_every_decision_is_told_with_its_rule() {
    let mut world = World::scripted([
        answer(calls(&[("a", "look", "{}")])),
        answer(say("I'll read the file.")),
        answer(say("It says 4.")),
    ])
    .tool("look", ok("l"));
    run(&mut world, config());
    let decisions = assessed(&world.commands);
    let decisions: Vec<_> = decisions.iter().map(|(decision, rule)| (decision.as_str(), rule.as_str())).collect();
    assert_eq!(decisions, [("continue", "tool_calls"), ("continue", "next_step"), ("complete", "completion")]);
}

#[test]
fn d04_a_reply_that_says_the_same_until_it_is_cut() {
    let looping = || {
        let text = "I will now look at the file once more. ".repeat(40);
        answer(response(vec![Block::text(text)], StopReason::MaxTokens))
    };
    let mut world = World::scripted([looping(), answer(say("It is 4."))]);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::Natural, 2));
    assert!(world.requests[1].messages.last().unwrap().prose().contains("says the same"));
    let mut world = World::scripted([looping(), looping(), answer(say("never"))]);
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::NoProgress);
    // The driver cut it while it streamed.
    let cut = || {
        let text = "I will now look at the file once more. ".repeat(9);
        answer(response(vec![Block::text(text)], StopReason::Other("repeated_text".to_owned())))
    };
    let mut world = World::scripted([cut(), answer(say("It is 4."))]);
    assert_eq!(run(&mut world, config()).outcome.stop, Stop::Natural);
    assert!(world.requests[1].messages.last().unwrap().prose().contains("says the same"));
    assert_eq!(run(&mut World::scripted([cut(), cut()]), config()).outcome.stop, Stop::NoProgress);
    // What a reply repeats because it was asked to is an answer.
    let asked = answer(say(&"ha ".repeat(300)));
    assert_eq!(run(&mut World::scripted([asked]), config()).outcome.stop, Stop::Natural);
}
