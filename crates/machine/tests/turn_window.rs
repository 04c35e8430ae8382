//! The turn inside the model's window: never over the budget, compactions far apart and told, nothing lost, and the
//! same bytes whether a run is watched, replayed, or saved and loaded between any two steps.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Block, Message, Role, ToolResult, ToolUse, Usage, Wire},
    request::{History, Request, Tool},
};
use loopwright_context::is_legal;
use loopwright_drive::sim::{Step, World};
use loopwright_machine::{
    Command, Event, Machine, MachineConfig, Notice, Stop, Tree, journal,
    turn::{ContextConfig, TurnConfig},
};
use loopwright_tokens::{Json, TokenCounter};
use proptest::prelude::*;
use std::{fmt::Write as _, sync::Arc};
use turn_support::*;

const MODEL: &str = "gpt-4o";

fn within(budget: usize) -> TurnConfig {
    let mut config = config();
    config.model = MODEL.into();
    config.system = Some("Be careful, and never touch tests/.".into());
    config.context = ContextConfig { budget: Some(budget), ..ContextConfig::default() };
    config.budget.iterations = 1_000;
    config.budget.tool_rounds = 1_000;
    config.budget.wall_time = 1e9;
    config.stuck = None;
    config
}

/// What a request takes by the model's own tokens: instructions, tools and messages.
fn tokens(request: &Request) -> usize {
    COUNTER.with_borrow_mut(|counter| {
        assert_eq!(request.model, MODEL);
        counted(request, counter)
    })
}

thread_local! {
    // It remembers what it counted.
    static COUNTER: std::cell::RefCell<TokenCounter> = std::cell::RefCell::new(TokenCounter::for_model(MODEL));
}

fn counted(request: &Request, counter: &mut TokenCounter) -> usize {
    let base = counter.messages([]).upper_bound;
    let system = request.system.as_deref().map_or(0, |system| counter.messages([system]).upper_bound - base);
    let tools: Vec<serde_json::Value> = request
        .tools
        .iter()
        .map(|tool| match tool {
            Tool::Function(tool) => {
                serde_json::json!({"name": tool.name, "description": tool.description, "parameters": tool.schema.value()})
            }
            other => serde_json::to_value(other).unwrap(),
        })
        .collect();
    let tools = counter.json(&Json::from(&serde_json::json!({"messages": [], "tools": tools}))).upper_bound - base;
    counter.messages(request.messages.iter()).upper_bound + system + tools
}

fn compactions(world: &World) -> Vec<(u32, String, usize, usize)> {
    world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Compacted { round, reason, before, after, .. } => Some((*round, reason.clone(), *before, *after)),
            _ => None,
        })
        .collect()
}

/// The output of file `n`: lines of its own, lines that others share, and one fact.
fn output(n: usize, lines: usize) -> String {
    let mut text = format!("// file {n}\n");
    for line in 0..lines {
        if line % 4 == 0 {
            text.push_str("    return compute_common_value(input, output, state);\n");
        } else {
            let _ = writeln!(text, "    let value_{} = step_{}(é, {});", n * 31 + line, line % 7, n * line);
        }
    }
    text + &format!("secret_{n} = {}\n", fact(n))
}

fn fact(n: usize) -> usize {
    1_000_003 + n * 7_919
}

/// A model that reads file after file, `rounds` times, then answers.
fn reader(rounds: usize, sizes: Vec<usize>, usage: impl Fn(&Request) -> u64 + 'static) -> World {
    let mut round = 0;
    World::new(move |request| {
        round += 1;
        let mut reply = if round > rounds {
            say("All read.")
        } else {
            calls(&[(&format!("c{round}"), "look", &format!("{{\"file\":{round}}}"))])
        };
        reply.usage = Usage { input: usage(request), output: 5, ..Usage::default() };
        answer(reply)
    })
    .tool("look", move |call| {
        let n: usize =
            serde_json::from_str::<serde_json::Value>(call.input.text()).unwrap()["file"].as_u64().unwrap() as usize;
        (1.0, ToolResult::text("", "", output(n, sizes[n % sizes.len()])))
    })
}

fn arcs(request: &Request) -> Vec<Arc<Message>> {
    request.messages.iter().cloned().map(Arc::new).collect()
}

/// Holds a run's requests to what must hold for all.
fn hold(world: &World, history: &History, budget: usize) -> Result<(), TestCaseError> {
    let told = compactions(world);
    for (at, pair) in world.requests.windows(2).enumerate() {
        let [one, next] = pair else { continue };
        let kept = one.messages.iter().zip(next.messages.iter()).take_while(|(one, next)| one == next).count();
        let (grown, round) = (kept == one.messages.len(), at + 2);
        let compacted = told.iter().any(|(at, ..)| *at as usize == round);
        prop_assert!(grown || compacted, "request {round} changed its beginning, and nothing was said");
        prop_assert!(!grown || compacted || one.tools == next.tools);
    }
    for request in &world.requests {
        prop_assert!(tokens(request) <= budget, "{} of {budget}", tokens(request));
        prop_assert!(is_legal(&arcs(request), Some(Wire::Anthropic)));
        prop_assert!(request.messages.iter().any(|message| message.prose() == "go"), "the goal stays");
    }
    // Each frees a quarter of the budget: they can't come each turn.
    let appended = COUNTER.with_borrow_mut(|counter| counter.messages(history.iter()).tokens);
    prop_assert!(told.len() <= 2 + appended * 5 / budget, "{} compactions for {appended} tokens", told.len());
    Ok(())
}

/// The same events to a machine that is saved and loaded before each: the same commands.
fn saved_and_loaded(journal: &[u8]) {
    let text = String::from_utf8(journal.to_vec()).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let config: MachineConfig = serde_json::from_value(lines.next().unwrap()["machine"].clone()).unwrap();
    let (mut whole, mut parted) = (Tree::new(config.clone()), Tree::new(config));
    for line in lines {
        let event: Event = serde_json::from_value(line["event"].clone()).unwrap();
        parted = serde_json::from_str(&serde_json::to_string(&parted).unwrap()).unwrap();
        assert_eq!(whole.step(event.clone()), parted.step(event));
        assert_eq!(whole.history(), parted.history());
    }
    assert!(parted.is_finished());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn c26_c06_a_run_never_overflows_its_window(
        rounds in 8_usize..40, budget in 2_500_usize..9_000, sizes in prop::collection::vec(1_usize..120, 1..6),
        // What the provider reports: the truth, nothing, nonsense.
        kind in 0_usize..4,
    ) {
        let usage = move |request: &Request| match kind {
            0 => tokens(request) as u64,
            1 => 0,
            2 => 17,
            _ => tokens(request) as u64 * 13 / 10,
        };
        let mut world = reader(rounds, sizes, usage);
        let ended = run_on(&mut world, within(budget), vec![Message::user("go")]);
        prop_assert_eq!(ended.outcome.stop, Stop::Natural, "{:?}", ended.outcome.error);
        hold(&world, &ended.messages, budget)?;
        // Nothing is lost: the history has all of it.
        let all: String = ended.messages.iter().flat_map(Message::tool_results).map(ToolResult::prose).collect();
        for n in 1..=rounds {
            let secret = format!("secret_{n} = {}\n", fact(n));
            prop_assert!(all.contains(&secret));
        }
        for notice in &world.notices {
            if let Notice::Compacted { before, after, budget: room, kept, shortened, referenced, summarised, dropped, .. } = notice {
                prop_assert!(after < before && after <= room);
                let sum = [kept, shortened, referenced, summarised, dropped];
                prop_assert!(sum.iter().map(|tally| tally.messages).sum::<usize>() > 0);
                prop_assert!(sum.iter().all(|tally| tally.after <= tally.before));
                prop_assert_eq!(kept.after, kept.before);
            }
        }
        saved_and_loaded(&world.journal);
    }

    #[test]
    fn c26_a_conversation_that_goes_on_keeps_the_beginning_of_its_requests(
        rounds in 20_usize..50, more in 1_usize..6, budget in 3_000_usize..6_000,
    ) {
        let mut world = reader(rounds, vec![20, 45, 5], |request| tokens(request) as u64);
        let ended = run_on(&mut world, within(budget), vec![Message::user("go")]);
        let last = world.requests.pop().unwrap();
        // Stored as JSON, read somewhere else, and on it goes.
        let mut messages: Vec<Message> = serde_json::from_str(&serde_json::to_string(&ended.messages).unwrap()).unwrap();
        messages.push(Message::user("and now?"));
        let mut next = reader(more, vec![1], |request| tokens(request) as u64);
        let ended = run_on(&mut next, within(budget), messages);
        hold(&next, &ended.messages, budget)?;
        let first = &next.requests[0];
        let same = last.messages.iter().zip(first.messages.iter()).take_while(|(one, other)| one == other).count();
        let compacted = compactions(&next).iter().any(|(round, _, _, after)| *round == 1 && *after <= budget * 6 / 10);
        prop_assert!(same == last.messages.len() || compacted, "{same} of {} stay", last.messages.len());
    }
}

#[test]
fn c26_c06_a_long_run_prepares_its_compactions_and_stays_the_same_saved_and_loaded() {
    for (budget, factor) in [(6_000, 10), (8_000, 13)] {
        let mut world = reader(190, vec![20, 5, 45, 12], move |request| tokens(request) as u64 * factor / 10);
        let ended = run_on(&mut world, within(budget), vec![Message::user("go")]);
        assert_eq!(ended.outcome.stop, Stop::Natural, "{:?}", ended.outcome.error);
        hold(&world, &ended.messages, budget).unwrap();
        // One that was prepared leaves the messages alone that came since; so do those before a window is long.
        let late = compactions(&world).into_iter().filter(|(round, ..)| *round > 140).count();
        assert!(late >= 2, "{late}");
        if factor > 10 {
            saved_and_loaded(&world.journal);
        }
    }
}

/// The text of the last result in a request.
fn last_result(request: &Request) -> String {
    request.messages.last().unwrap().tool_results().map(ToolResult::prose).collect()
}

#[test]
fn c26_what_left_is_recalled_by_the_model() {
    let (rounds, mut round) = (30, 0);
    let mut asked = Vec::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut world = World::new(move |request| {
        round += 1;
        let offered = request.tools.iter().any(|tool| matches!(tool, Tool::Function(tool) if tool.name == "recall"));
        if round <= rounds {
            let call = [(format!("c{round}"), format!("{{\"file\":{round}}}"))];
            return answer(calls(&[(&call[0].0, "look", &call[0].1)]));
        }
        assert!(offered);
        if let Some(n) = asked.last() {
            sender.send((*n, last_result(request))).unwrap();
        }
        let n = asked.len() + 1;
        if n > rounds {
            return answer(say("done"));
        }
        asked.push(n);
        answer(calls(&[(&format!("r{n}"), "recall", &format!("{{\"find\":\"secret_{n} =\"}}"))]))
    })
    .tool("look", |call| {
        let n: usize =
            serde_json::from_str::<serde_json::Value>(call.input.text()).unwrap()["file"].as_u64().unwrap() as usize;
        (1.0, ToolResult::text("", "", output(n, 60)))
    });
    let ended = run_on(&mut world, within(6_000), vec![Message::user("go")]);
    assert_eq!(ended.outcome.stop, Stop::Natural);
    hold(&world, &ended.messages, 6_000).unwrap();
    assert!(compactions(&world).len() >= 4, "it overflows several times");
    let found: Vec<(usize, String)> = receiver.try_iter().collect();
    assert_eq!(found.len(), rounds);
    for (n, text) in &found {
        // It is recalled, or stands in the request anyway.
        let standing =
            world.requests[rounds + n - 1].messages.iter().flat_map(Message::tool_results).map(ToolResult::prose);
        let fact = format!("secret_{n} = {}", fact(*n));
        assert!(text.contains(&fact) || standing.collect::<String>().contains(&fact), "{n}: {text}");
    }
    assert!(found.iter().filter(|(_, text)| text.contains("secret_")).count() > rounds / 2);
    // No driver ran any of it.
    let run = world.commands.iter().filter_map(|command| match command {
        Command::Execute { calls, .. } => Some(calls),
        _ => None,
    });
    assert!(run.flatten().all(|call| call.tool_use.name == "look"));
    let finished = |notice: &&Notice| matches!(notice, Notice::ToolFinished { name, .. } if name == "recall");
    assert_eq!(world.notices.iter().filter(finished).count(), rounds);
    saved_and_loaded(&world.journal);
}

#[test]
fn c26_a_recalled_handle_gives_the_original_by_lines() {
    let mut round = 0;
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut world = World::new(move |request| {
        round += 1;
        if round <= 12 {
            return answer(calls(&[(&format!("c{round}"), "look", &format!("{{\"file\":{round}}}"))]));
        }
        if round == 13 {
            let all: String = request
                .messages
                .iter()
                .map(|message| message.prose() + &message.tool_results().map(ToolResult::prose).collect::<String>())
                .collect();
            let handle = all.split("recall(\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
            return answer(calls(&[
                ("r1", "recall", &format!("{{\"handle\":\"{handle}\"}}")),
                ("r2", "recall", &format!("{{\"handle\":\"{handle}\",\"from_line\":\"40\"}}")),
                ("r3", "recall", "{\"handle\":\"nothing\"}"),
                ("r4", "recall", "{}"),
                ("r5", "recall", "[1]"),
            ]));
        }
        sender.send(request.messages.last().unwrap().clone()).unwrap();
        answer(say("done"))
    })
    .tool("look", |call| {
        let n: usize =
            serde_json::from_str::<serde_json::Value>(call.input.text()).unwrap()["file"].as_u64().unwrap() as usize;
        (1.0, ToolResult::text("", "", output(n, 60)))
    });
    run_on(&mut world, within(5_000), vec![Message::user("go")]);
    let results: Vec<ToolResult> = receiver.recv().unwrap().tool_results().cloned().collect();
    assert!(results[0].prose().starts_with("// file "), "{}", results[0].prose());
    assert!(!results[1].prose().contains("// file") && results[1].prose().contains("secret_"));
    let kinds: Vec<&str> = results[2..].iter().map(|result| result.failure.as_ref().unwrap().kind.as_str()).collect();
    assert_eq!(kinds, ["unknown_handle", "invalid_value", "invalid_arguments"]);
}

#[test]
fn c26_recall_is_offered_only_when_something_left_and_never_over_a_tool_of_the_callers() {
    // Before a compaction it is a tool that there is not.
    let mut world = World::scripted([answer(calls(&[("a", "recall", "{\"find\":\"x\"}")])), answer(say("done"))]);
    let ended = run_on(&mut world, within(5_000), vec![Message::user("go")]);
    assert_eq!(results(&ended.messages), ["unknown_tool"]);
    assert!(world.requests.iter().all(|request| request.tools.len() == 3));
    let names = |request: &Request| -> Vec<String> {
        request
            .tools
            .iter()
            .map(|tool| match tool {
                Tool::Function(tool) => tool.name.clone(),
                _ => String::new(),
            })
            .collect()
    };
    for (own, switched_on, expected) in
        [("other", true, "recall"), ("recall", true, "recall_context"), ("other", false, "rm")]
    {
        let mut config = within(3_000);
        config.tools[1] = tool(own, loopwright_guard::RiskLevel::Safe, true);
        config.context.recall = switched_on;
        let mut world = reader(12, vec![60], |_| 0);
        run_on(&mut world, config, vec![Message::user("go")]);
        assert_eq!(names(world.requests.last().unwrap()).last().unwrap(), expected);
    }
    // Without any tool of the caller's the model gets this one all the same.
    let mut config = within(2_000);
    config.tools.clear();
    let said = (0..40).flat_map(|n| [Message::user(output(n, 8)), Message::assistant("Noted.")]);
    let mut history = vec![Message::user("go")];
    history.extend(said);
    history.push(Message::user("What was the first?"));
    let find = calls(&[("r", "recall", "{\"find\":\"secret_1 =\"}")]);
    let mut world = World::scripted([answer(find), answer(say("done"))]);
    let ended = run_on(&mut world, config, history);
    assert_eq!(ended.outcome.stop, Stop::Natural);
    assert_eq!(names(&world.requests[0]), ["recall"]);
    assert!(last_result(&world.requests[1]).contains(&fact(1).to_string()));
}

fn too_long(message: &str) -> Step {
    Step::Fail(1.0, Failure::new(FailureKind::ContextTooLong, message), false, None)
}

#[test]
fn c26_a_request_that_the_provider_finds_too_long_is_sent_once_more_and_shorter() {
    for (message, most) in [
        ("prompt is too long", usize::MAX),
        ("prompt is too long: 9000 tokens > 5000 maximum", 5_000),
        ("This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.", 4_096),
    ] {
        let (mut round, mut refused) = (0, false);
        let mut world = World::new(move |_| {
            round += 1;
            if round == 10 && !std::mem::replace(&mut refused, true) {
                return too_long(message);
            }
            if round > 25 {
                return answer(say("done"));
            }
            answer(calls(&[(&format!("c{round}"), "look", &format!("{{\"file\":{round}}}"))]))
        })
        .tool("look", |call| {
            let n: usize = serde_json::from_str::<serde_json::Value>(call.input.text()).unwrap()["file"]
                .as_u64()
                .unwrap() as usize;
            (1.0, ToolResult::text("", "", output(n, 30)))
        });
        // Nobody knows this model's window: what is assumed is too much.
        let mut config = within(1);
        config.context.budget = None;
        let ended = run_on(&mut world, config, vec![Message::user("go")]);
        assert_eq!(ended.outcome.stop, Stop::Natural, "{:?}", ended.outcome.error);
        let told = compactions(&world);
        assert_eq!((told[0].0, told[0].1.as_str()), (10, "refused"), "{told:?}");
        assert!(told[0].3 < told[0].2);
        let refused = tokens(&world.requests[9]);
        assert!(tokens(&world.requests[10]) < refused * 7 / 10);
        if most < usize::MAX {
            // In the provider's own tokens.
            assert!(tokens(&world.requests[10]) * 9_000 / refused <= most);
        }
        // What was learned holds for the rest of the run.
        assert!(world.requests[10..].iter().all(|request| tokens(request) <= refused));
        assert_eq!(ended.outcome.spent.iterations, 25 + 1 - 1);
        saved_and_loaded(&world.journal);
    }
}

#[test]
fn c26_a_provider_that_finds_everything_too_long_ends_the_run() {
    let mut world = World::new(|_| too_long("prompt is too long"));
    let history: Vec<Message> =
        (0..30).flat_map(|n| [Message::user(output(n, 8)), Message::assistant("Noted.")]).collect();
    let ended = run_on(&mut world, within(50_000), [history, vec![Message::user("go")]].concat());
    assert_eq!(ended.outcome.stop, Stop::ContextWindow);
    assert_eq!(ended.outcome.error.unwrap().code, "context_too_long");
    assert_eq!(world.requests.len(), 2);
    // Where nothing can leave, the same request is not sent again.
    let mut world = World::new(|_| too_long("prompt is too long"));
    run_on(&mut world, within(50_000), vec![Message::user("go")]);
    assert_eq!(world.requests.len(), 1);
    // Switched off, it is as ever.
    let mut config = within(50_000);
    config.context.on = false;
    let mut world = World::new(|_| too_long("prompt is too long"));
    let ended = run_on(&mut world, config, vec![Message::user("go")]);
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::ContextWindow, 1));
}

#[test]
fn c26_the_window_goes_by_what_the_provider_reports() {
    // The provider counts thrice what is counted here: compactions come earlier.
    let honest = {
        let mut world = reader(20, vec![30], |request| tokens(request) as u64);
        run_on(&mut world, within(20_000), vec![Message::user("go")]);
        compactions(&world).len()
    };
    let mut world = reader(20, vec![30], |request| tokens(request) as u64 * 3);
    run_on(&mut world, within(20_000), vec![Message::user("go")]);
    let told = compactions(&world);
    assert!(told.len() > honest, "{told:?}");
    assert!(world.requests.iter().all(|request| tokens(request) * 3 <= 20_000));
    // Where counts are upper bounds, what is reported makes room.
    let mut config = within(20_000);
    config.model = "claude-sonnet-4-5".into();
    let count = |request: &Request| {
        let mut counter = TokenCounter::for_model(&request.model);
        counter.messages(request.messages.iter()).tokens as u64 + 300
    };
    let mut anchored = reader(30, vec![30], count);
    run_on(&mut anchored, config.clone(), vec![Message::user("go")]);
    let mut blind = reader(30, vec![30], |_| 0);
    run_on(&mut blind, config, vec![Message::user("go")]);
    let first = |world: &World| compactions(world).first().map_or(u32::MAX, |(round, ..)| *round);
    assert!(first(&anchored) > first(&blind), "{} {}", first(&anchored), first(&blind));
}

#[test]
fn c30_what_reports_teach_of_each_kind_of_text_is_saved_with_the_run() {
    // A provider whose tokens are fewer than was known of it beforehand, and one with more of them.
    for share in [0.95, 1.4] {
        let mut config = within(9_000);
        config.model = "claude-sonnet-4-5".into();
        let real = move |request: &Request| {
            let words: usize = request
                .messages
                .iter()
                .map(|message| TEXT.with_borrow_mut(|count| count.message(message).tokens))
                .sum();
            (words as f64 * share) as u64 + 700
        };
        let mut world = reader(40, vec![20, 60, 35], real);
        let ended = run_on(&mut world, config, vec![Message::user("go")]);
        assert_eq!(ended.outcome.stop, Stop::Natural, "{:?}", ended.outcome.error);
        for request in &world.requests {
            assert!(real(request) <= 9_000, "{share}: {}", real(request));
        }
        assert!(compactions(&world).len() > 2);
        let last = String::from_utf8(world.journal.clone()).unwrap();
        let mut tree: Option<Tree> = None;
        for (at, line) in last.lines().enumerate() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            match &mut tree {
                None => tree = Some(Tree::new(serde_json::from_value(line["machine"].clone()).unwrap())),
                Some(tree) => drop(tree.step(serde_json::from_value(line["event"].clone()).unwrap())),
            }
            if at == last.lines().count() / 2 {
                let saved = serde_json::to_value(tree.as_ref().unwrap()).unwrap();
                let learned = saved.pointer("/members/0/node/turn/window/marks/learned/reports");
                assert!(learned.and_then(serde_json::Value::as_u64) > Some(3), "{learned:?}");
            }
        }
        saved_and_loaded(&world.journal);
    }
}

thread_local! {
    static TEXT: std::cell::RefCell<TokenCounter> = std::cell::RefCell::new(TokenCounter::for_model(MODEL));
}

#[test]
fn c26_what_must_stay_and_does_not_fit_is_a_typed_error_or_sent_where_the_window_is_a_guess() {
    let mut world = World::scripted([answer(say("ok"))]);
    let ended = run_on(&mut world, within(1_000), vec![Message::user("word ".repeat(2_000))]);
    assert_eq!((ended.outcome.stop, world.requests.len()), (Stop::ContextWindow, 0));
    let error = ended.outcome.error.unwrap();
    assert_eq!(error.code, "budget_too_small");
    assert!(error.message.contains("message 0 (the goal, "), "{error}");
    let mut config = within(1);
    config.context.budget = None;
    config.model = "a-model-of-my-own".into();
    let mut world = World::scripted([answer(say("ok"))]);
    let ended = run_on(&mut world, config, vec![Message::user("word ".repeat(60_000))]);
    assert_eq!(ended.outcome.stop, Stop::Natural);
    assert!(warned(&ended.outcome, "context_unknown"));
}

#[test]
fn c26_small_runs_count_nothing_and_their_state_says_nothing_of_it() {
    let mut world = reader(3, vec![3], |_| 10);
    let mut config = within(1);
    config.context = ContextConfig::default();
    run_on(&mut world, config, vec![Message::user("go")]);
    assert!(compactions(&world).is_empty());
    let text = String::from_utf8(world.journal).unwrap();
    assert!(!text.contains("\"context\"") && journal::replay(&text).unwrap().divergence.is_none());
}

#[test]
fn c26_marks_and_budgets_that_make_no_sense_are_refused() {
    for change in [
        (|context: &mut ContextConfig| context.budget = Some(0)) as fn(&mut ContextConfig),
        |context| context.window = Some(0),
        |context| context.high = f64::NAN,
        |context| context.high = 1.5,
        |context| context.low = 0.9,
        |context| context.low = -1.0,
    ] {
        let mut config = within(1_000);
        change(&mut config.context);
        assert_eq!(config.check().unwrap_err().code, "invalid_number");
    }
}

#[test]
fn c26_reasoning_and_words_between_survive_a_run_that_overflows() {
    use loopwright_base::message::Thinking;
    let mut round = 0;
    let mut world = World::new(move |_| {
        round += 1;
        let thinking = |n: usize| {
            let text = format!("I think about file {n}. ").repeat(8);
            Block::Thinking(Thinking { text, signature: Some(format!("sig{n}")), redacted: None, extra: None })
        };
        if round > 30 {
            return answer(say("done"));
        }
        let blocks = vec![
            thinking(round),
            Block::text("Next."),
            call(&format!("c{round}"), "look", &format!("{{\"file\":{round}}}")),
        ];
        answer(response(blocks, loopwright_base::message::StopReason::ToolUse))
    })
    .tool("look", |call: &ToolUse| {
        let n: usize =
            serde_json::from_str::<serde_json::Value>(call.input.text()).unwrap()["file"].as_u64().unwrap() as usize;
        (1.0, ToolResult::text("", "", output(n, 40)))
    });
    let mut config = within(8_000);
    config.context.policy.wire = Some(Wire::Anthropic);
    run_on(&mut world, config, vec![Message::user("go")]);
    assert!(compactions(&world).len() > 2);
    for request in &world.requests {
        for message in request.messages.iter().filter(|message| message.role == Role::Assistant) {
            // Behind the user's words reasoning stays, whole, before the calls that it led to.
            let calls = message.tool_uses().next().is_some();
            let thinking: Vec<&Thinking> = message
                .content
                .iter()
                .filter_map(|block| match block {
                    Block::Thinking(thinking) => Some(thinking),
                    _ => None,
                })
                .collect();
            assert!(!calls || (thinking.len() == 1 && matches!(message.content[0], Block::Thinking(_))));
            assert!(
                thinking.iter().all(|it| it.text.len() > 150 && it.signature.as_deref().unwrap().starts_with("sig"))
            );
        }
    }
}

/// Written when every compaction was made as it was due: 153 requests of a long run, 18 compactions.
const DUE: &str = include_str!("../../../tests/data/journals/compacted_when_due.jsonl");

#[test]
fn c26_a_journal_of_before_compactions_were_prepared_replays_and_goes_on() {
    let replayed = journal::replay(DUE).unwrap();
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.outcome.unwrap().stop, Stop::Natural);
    // Broken off near its end, it goes on as it would have then, to the byte: but for the words about the riskiest
    // call, which said `cautious` of whatever nobody is asked about.
    let told = |text: &str| {
        let said = text.replace("the riskiest cautious", "the riskiest safe");
        said.lines()
            .map(|line| line.rsplit_once(",\"sum\":").map_or("", |(line, _)| line).to_owned())
            .collect::<Vec<_>>()
    };
    let lines: Vec<&str> = DUE.split_inclusive('\n').collect();
    let (before, after) = lines.split_at(lines.len() - 20);
    let mut run = journal::resume(journal::Journal::read(&before.concat()).unwrap()).unwrap().run;
    let old = journal::Journal::read(DUE).unwrap();
    for line in old.lines.iter().skip(before.len() - 1) {
        run.step(line.event.clone());
    }
    assert_eq!(told(&String::from_utf8(run.take_log()).unwrap()), told(&after.concat()));
    // Prepared, its compactions would stand elsewhere: nothing but the pace makes the difference.
    let mut machine = old.machine;
    assert!(!std::mem::replace(&mut machine.turn_mut().context.prepare, true));
    let mut run = journal::Run::new("sim", machine, true);
    for line in &old.lines {
        run.step(line.event.clone());
    }
    let new = String::from_utf8(run.take_log()).unwrap();
    let commands = |text: &str| text.lines().skip(1).map(|line| line[..line.len() - 30].to_owned()).collect::<Vec<_>>();
    assert_ne!(commands(&new), commands(DUE));
}

#[test]
fn c26_a_run_says_at_what_pace_it_is_compacted() {
    let mut world = reader(3, vec![2], |_| 10);
    run_on(&mut world, within(4_000), vec![Message::user("go")]);
    let text = String::from_utf8(world.journal).unwrap();
    assert!(text.lines().next().unwrap().contains("\"pace\":2"), "{text}");
    assert!(journal::Journal::read(&text).unwrap().machine.turn_mut().context.prepare);
}
