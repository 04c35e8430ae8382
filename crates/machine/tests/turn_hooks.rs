//! Hooks and the choice of the model in the simulated world, in which time passes only as the script says.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use loopwright_base::{
    json::Raw,
    message::{Block, StopReason, ToolResult},
};
use loopwright_drive::sim::World;
use loopwright_guard::RiskLevel;
use loopwright_machine::{
    ApprovalDecision, Budget, ChoiceConfig, Command, HookAnswer, HookReply, HookStage, HookSubject, Interrupt,
    ModelChoice, Notice, Stop, journal, turn::TurnConfig,
};
use turn_support::*;

fn hooked(stages: &[HookStage]) -> TurnConfig {
    TurnConfig { hooks: stages.iter().copied().collect(), ..config() }
}

fn reply(answer: HookAnswer) -> Vec<HookReply> {
    vec![HookReply { name: "h".into(), answer }]
}

fn replace(text: &str) -> HookAnswer {
    HookAnswer::Replace { value: Raw::parse(text).unwrap() }
}

fn looked() -> World {
    World::scripted([answer(calls(&[("a", "look", "{}")])), answer(say("done"))])
        .tool("look", |_| (1.0, ToolResult::text("", "", "seen")))
}

#[test]
fn d01_d03_stages_come_in_order() {
    let stages = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = stages.clone();
    let mut world = looked().hooks(move |stage, subject| {
        seen.borrow_mut().push((stage.name(), subject.name()));
        Some((0.5, Vec::new()))
    });
    let ended = run(&mut world, hooked(&HookStage::ALL));
    assert_eq!(ended.outcome.r#final.as_deref(), Some("done"));
    let expected = [
        ("pre_assess", "prompt"),
        ("post_assess", "assessment"),
        ("pre_reason", "round"),
        ("pre_llm", "request"),
        ("post_llm", "response"),
        ("post_reason", "decision"),
        ("pre_tool", "call"),
        ("post_tool", "result"),
        ("pre_reason", "round"),
        ("pre_llm", "request"),
        ("post_llm", "response"),
        ("post_reason", "decision"),
        ("pre_output", "answer"),
        ("post_output", "answer"),
    ];
    assert_eq!(*stages.borrow(), expected);
    assert!((ended.at.seconds() - (3.0 + 14.0 * 0.5)).abs() < 1e-6, "hooks take their time, and nothing else waits");
}

#[test]
fn d03_without_hooks_the_commands_are_what_they_were() {
    let mut plain = looked();
    run(&mut plain, config());
    let mut hooks = looked();
    run(&mut hooks, hooked(&[HookStage::PreReflect, HookStage::PostReflect]));
    assert_eq!(plain.commands, hooks.commands, "what is the driver's costs the machine nothing");
    assert!(!plain.commands.iter().any(|command| matches!(command, Command::Hook { .. } | Command::Choose { .. })));
    let header = String::from_utf8(plain.journal).unwrap();
    let header = header.lines().next().unwrap();
    for field in ["hooks", "choice", "wind_down"] {
        assert!(!header.contains(&format!("\"{field}\"")), "{field} stands in a journal that does not need it");
    }
}

#[test]
fn d03_a_hook_that_never_answers_ends_with_the_runs_time() {
    let stages = HookStage::ALL.into_iter().filter(|stage| !stage.name().ends_with("reflect"));
    for stage in stages {
        let mut world = looked().hooks(|_, _| None);
        let budget = Budget { wall_time: 20.0, ..Budget::default() };
        let ended = run(&mut world, TurnConfig { budget, ..hooked(&[stage]) });
        assert_eq!((ended.outcome.stop, ended.at.seconds()), (Stop::WallTime, 20.0), "{}", stage.name());
        assert_eq!(ended.outcome.r#final, None);
    }
}

#[test]
fn d03_a_draft_is_shown_to_the_hooks_of_the_output_when_a_run_stops_while_a_person_is_asked() {
    for (how, stop) in [(Interrupt::Cancel, Stop::Cancelled), (Interrupt::AfterRound, Stop::UserInterrupt)] {
        let asks = response(vec![Block::text("I'll remove it."), call("a", "rm", "{}")], StopReason::ToolUse);
        let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let shown = seen.clone();
        let mut world = World::scripted([answer(asks)])
            .person(|_, hash| Some((10.0, hash.into(), ApprovalDecision::Allow)))
            .hooks(move |stage, _| {
                shown.borrow_mut().push(stage);
                Some((0.5, Vec::new()))
            })
            .interrupt(5.0, how);
        let ended = run(&mut world, hooked(&[HookStage::PreOutput]));
        assert_eq!(ended.outcome.stop, stop);
        assert_eq!(ended.outcome.best_draft.as_deref(), Some("I'll remove it."));
        let asked = usize::from(how == Interrupt::AfterRound);
        assert_eq!(seen.borrow().len(), asked, "{how:?}: cancel waits for nobody");
        assert!((ended.at.seconds() - 5.0 - 0.5 * asked as f64).abs() < 1e-6, "{how:?}");
    }
}

#[test]
fn d03_interrupts_find_the_run_wherever_it_holds() {
    for stage in HookStage::ALL.into_iter().filter(|stage| !stage.name().ends_with("reflect")) {
        for (how, stop) in [(Interrupt::Cancel, Stop::Cancelled), (Interrupt::AfterRound, Stop::UserInterrupt)] {
            // Each stage is asked within the first seconds, and takes ten.
            let mut world = looked().hooks(|_, _| Some((10.0, Vec::new()))).interrupt(5.0, how);
            let ended = run(&mut world, hooked(&[stage]));
            let late = matches!(stage, HookStage::PreOutput | HookStage::PostOutput);
            let stop = if late && how == Interrupt::AfterRound { Stop::Natural } else { stop };
            assert_eq!(ended.outcome.stop, stop, "{} {how:?}", stage.name());
            if how == Interrupt::Cancel {
                assert!((ended.at.seconds() - 5.0).abs() < 1e-6, "{}: cancel waits for nobody", stage.name());
            }
        }
    }
}

#[test]
fn d03_a_call_that_a_hook_changes_needs_a_person_anew() {
    let asked = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = asked.clone();
    let mut world = World::scripted([answer(calls(&[("a", "rm", r#"{"path":"a"}"#)])), answer(say("done"))])
        .tool("rm", |call| (1.0, ToolResult::text("", "", call.input.text())))
        .person(move |call, hash| {
            seen.borrow_mut().push(call.input.text().to_owned());
            Some((1.0, hash.to_owned(), ApprovalDecision::Allow))
        })
        .hooks(|_, _| Some((0.0, reply(replace(r#"{"path":"b"}"#)))));
    run(&mut world, hooked(&[HookStage::PreTool]));
    assert_eq!(*asked.borrow(), [r#"{"path":"b"}"#], "the person sees what runs");
    let result = world.requests[1].messages.last().unwrap().tool_results().next().unwrap().prose();
    assert!(result.contains("the hook h changed its arguments") && result.contains(r#"{"path":"b"}"#), "{result}");
}

#[test]
fn d03_a_driver_that_checks_nothing_has_not_its_way() {
    // Answers that a stage does not allow change nothing; arguments that are none deny the call.
    for (stage, wrong) in [
        (HookStage::PostReason, replace("7")),
        (HookStage::PreLlm, replace(r#"{"messages":[]}"#)),
        (HookStage::PreOutput, replace("\"  \"")),
        (HookStage::PostOutput, HookAnswer::AddContext { text: "late".into() }),
        (HookStage::PreOutput, HookAnswer::AddContext { text: "x".into() }),
    ] {
        let wrong = reply(wrong);
        let mut world = looked().hooks(move |_, _| Some((0.0, wrong.clone())));
        let ended = run(&mut world, hooked(&[stage]));
        assert_eq!(ended.outcome.r#final.as_deref(), Some("done"), "{}", stage.name());
        let failed = |notice: &Notice| matches!(notice, Notice::HookFailed { stop: false, .. });
        assert!(world.notices.iter().any(failed), "{}", stage.name());
    }
    let mut world = looked().hooks(|_, _| Some((0.0, reply(replace("[1]")))));
    let ended = run(&mut world, hooked(&[HookStage::PreTool]));
    assert_eq!(ended.outcome.stop, Stop::HookFailed);
    assert_eq!(world.most_parallel, 0, "it did not run");
}

#[test]
fn d03_requests_replaced_by_hooks_keep_to_the_budget() {
    let config =
        TurnConfig { budget: Budget { tokens: Some(200), ..Budget::default() }, ..hooked(&[HookStage::PreLlm]) };
    let mut world = World::scripted([answer(say("done"))])
        .hooks(|_, _| Some((0.0, reply(replace(r#"{"max_tokens":100000,"temperature":0.5,"effort":"high"}"#)))));
    run(&mut world, config);
    let request = &world.requests[0];
    assert!(request.max_tokens.is_some_and(|most| most <= 200), "{:?}", request.max_tokens);
    assert_eq!(request.temperature, Some(0.5));
}

#[test]
fn d03_a_result_is_bounded_whoever_gave_it() {
    let long = serde_json::to_string(&"x".repeat(100_000)).unwrap();
    let mut world = looked().hooks(move |_, subject| {
        assert!(matches!(subject, HookSubject::Result { .. }));
        Some((0.0, reply(replace(&long))))
    });
    let ended = run(&mut world, hooked(&[HookStage::PostTool]));
    let result = ended.messages.iter().find_map(|message| message.tool_results().next()).unwrap().prose();
    assert!(result.len() < 21_000 && result.contains("characters left out"), "{}", result.len());
}

#[test]
fn d03_calls_of_a_group_ask_at_once_and_run_in_order() {
    let replies = calls(&[("a", "look", "{}"), ("b", "look", r#"{"n":1}"#), ("c", "write", "{}"), ("d", "look", "{}")]);
    let mut world = World::scripted([answer(replies), answer(say("done"))])
        .tool("look", |_| (1.0, ToolResult::text("", "", "seen")))
        .tool("write", |_| (1.0, ToolResult::text("", "", "written")))
        .hooks(|_, subject| {
            let HookSubject::Call { call } = subject else { return None };
            let veto = HookAnswer::Veto { reason: "no".into() };
            Some((3.0, if call.id == "b" { reply(veto) } else { Vec::new() }))
        });
    let ended = run(&mut world, hooked(&[HookStage::PreTool]));
    assert_eq!(ended.outcome.r#final.as_deref(), Some("done"));
    let failures: Vec<_> = ended.outcome.tool_calls.iter().map(|call| call.failure.as_deref()).collect();
    assert_eq!(failures, [None, Some("denied"), None, None]);
    // Three groups of 3 + 1 seconds, and two answers.
    assert!((ended.at.seconds() - 14.0).abs() < 1e-6, "{}", ended.at.seconds());
}

#[test]
fn d06_a_choice_and_an_escalation_stand_in_the_journal() {
    let config = TurnConfig {
        choice: ChoiceConfig { ask: true, escalate_to: Some("strong".into()), ..ChoiceConfig::default() },
        budget: Budget { tool_rounds: 20, iterations: 20, ..Budget::default() },
        stuck: None,
        ..config()
    };
    let mut n = 0;
    let mut world = World::new(move |_| {
        n += 1;
        answer(calls(&[("a", "look", &format!("{{\"n\":{n}}}"))]))
    })
    .tool("look", |call| {
        let failure = loopwright_base::message::ToolFailure { kind: "io".into(), message: call.id.clone(), hint: None };
        (1.0, ToolResult::failed("", "", failure))
    })
    .chooses(|_| {
        Some(ModelChoice { model: "first".into(), confidence: 0.95, reason: "short".into(), ..ModelChoice::default() })
    });
    let ended = run(&mut world, config);
    assert_eq!(ended.outcome.stop, Stop::LowMomentum);
    let models: Vec<&str> = world.requests.iter().map(|request| request.model.as_str()).collect();
    let switch = models.iter().position(|model| *model == "strong").unwrap();
    assert!(models[..switch].iter().all(|model| *model == "first") && switch >= 3, "{models:?}");
    assert!(models[switch..].iter().all(|model| *model == "strong") && models.len() > switch + 2, "{models:?}");
    let ways: Vec<&str> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::ModelChosen { mode, .. } => Some(mode.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ways, ["enforce", "escalate"]);
}

#[test]
fn d03_journals_from_before_there_were_hooks_still_load() {
    let mut world = looked();
    run(&mut world, config());
    let text = String::from_utf8(world.journal).unwrap();
    assert!(!text.contains("hook"));
    assert_eq!(journal::replay(&text).unwrap().divergence, None);
    let saved = serde_json::to_string(&loopwright_machine::turn::TurnMachine::new(config(), 0)).unwrap();
    for field in ["\"added\"", "\"halted\"", "\"escalated\"", "\"hooks\"", "\"choice\""] {
        assert!(!saved.contains(field), "{field} stands in a saved turn that does not need it");
    }
}

#[test]
fn d03_a_tool_of_risk_is_asked_about_after_its_hooks() {
    assert!(RiskLevel::Confirm > RiskLevel::Cautious);
    let mut world = World::scripted([answer(calls(&[("a", "rm", "{}")])), answer(say("done"))])
        .tool("rm", |_| (1.0, ToolResult::text("", "", "gone")))
        .person(|_, hash| Some((1.0, hash.to_owned(), ApprovalDecision::Allow)))
        .hooks(|_, _| Some((2.0, Vec::new())));
    let ended = run(&mut world, hooked(&[HookStage::PreTool]));
    let places: Vec<usize> = ["hook", "approve", "execute"]
        .into_iter()
        .map(|wanted| {
            let kind = |command: &Command| match command {
                Command::Hook { .. } => "hook",
                Command::Approve { .. } => "approve",
                Command::Execute { .. } => "execute",
                _ => "",
            };
            world.commands.iter().position(|command| kind(command) == wanted).unwrap()
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(ended.outcome.spent.approvals, 1);
}
