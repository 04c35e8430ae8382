//! The tokio driver over real sockets: the same machine, the same answers.
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use loopwright_guard::RiskLevel;
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use loopwright_base::{
    error::Error,
    json::Raw,
    message::{Message, ToolResult},
    request::Delta,
};
use loopwright_drive::{
    endpoint::{Endpoint, EndpointOptions},
    hooks::Hook,
    http::{Client, ClientOptions},
    native::{Driver, Update},
    wire_server::{Answer, Call, Fault, Reply, Script, WireServer},
};
use loopwright_machine::{
    ApprovalDecision, HookAnswer, HookStage, HookSubject, Interrupt, MachineConfig, Notice, Stop, journal,
    turn::{AgentConfig, ChildrenConfig, RecallConfig, RecalledHit, Recollection, ToolConfig, TurnConfig},
};

fn endpoint(model: &str, server: &WireServer) -> Endpoint {
    let options =
        EndpointOptions { base_url: Some(server.url()), api_key: Some("key".into()), ..EndpointOptions::default() };
    Endpoint::resolve(model, &options, |_| None).unwrap().0
}

fn tool(name: &str, risk: RiskLevel) -> ToolConfig {
    let tool = serde_json::json!({"name": name, "schema": {"type": "object"}, "risk": risk.name()});
    serde_json::from_value(tool).unwrap()
}

fn config(tools: Vec<ToolConfig>) -> TurnConfig {
    let mut config = TurnConfig { model: "m".into(), tools, stream: true, ..TurnConfig::default() };
    config.retry.base = 0.01;
    config
}

fn calls(names: &[&str]) -> Reply {
    let call = |name: &&str| Call { name: (*name).to_owned(), input: Raw::empty_object(), id: None };
    Reply {
        answer: Answer::ToolUses { text: String::new(), calls: names.iter().map(call).collect() },
        ..Reply::default()
    }
}

#[tokio::test]
async fn tool_rounds_on_every_wire() {
    for model in ["anthropic:m", "openai-chat:m", "openai-responses:m", "gemini:m", "bedrock:m"] {
        let faulty = Reply::text("words that break off, on every wire, long before their end is said")
            .fault(Fault::CutAfter { events: 3 });
        let server = WireServer::start(Script::of([calls(&["add", "rm"]), faulty, Reply::text("It is 3.")])).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let driver = Driver::new(Client::new(ClientOptions::default()), endpoint(model, &server))
            .tool("add", |call| async move { ToolResult::text(call.id, "", "3") })
            .tool("rm", |call| async move { ToolResult::text(call.id, "", "gone") })
            .approve(move |call, risk| {
                seen.lock().unwrap().push((call.name, risk));
                async { ApprovalDecision::Deny { reason: "no".into() } }
            });
        let config = config(vec![tool("add", RiskLevel::Safe), tool("rm", RiskLevel::Confirm)]);
        let mut text = String::new();
        let mut resets = 0;
        let ended = driver
            .run(
                MachineConfig::Turn(config),
                vec![Message::user("1+2?")],
                |_| {},
                |told| match told {
                    Update::Deltas(deltas) => {
                        for delta in deltas {
                            if let Delta::Text { text: new, .. } = delta {
                                text.push_str(&new);
                            }
                        }
                    }
                    Update::Notice(Notice::Reset { .. }) => {
                        resets += 1;
                        text.clear();
                    }
                    Update::Child { .. } | Update::Held { .. } | Update::Notice(_) => {}
                },
            )
            .await
            .unwrap();
        assert_eq!(ended.outcome.r#final.as_deref(), Some("It is 3."), "{model}");
        assert_eq!(text, "It is 3.");
        assert!(resets <= 1);
        assert_eq!(*asked.lock().unwrap(), [("rm".to_owned(), RiskLevel::Confirm)]);
        let failures: Vec<_> = ended.outcome.tool_calls.iter().map(|call| call.failure.as_deref()).collect();
        assert_eq!(failures, [None, Some("denied")]);
        let replay = journal::replay(std::str::from_utf8(&ended.journal).unwrap()).unwrap();
        assert_eq!(replay.divergence, None);
    }
}

#[tokio::test]
async fn a_stop_from_outside_ends_the_run_at_once() {
    let server = WireServer::start(Script::always(Reply::default().fault(Fault::Hang))).unwrap();
    let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("openai-chat:m", &server));
    let began = Instant::now();
    let stop = |stopper: loopwright_drive::native::Stopper| {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(stopper.stop(Interrupt::Cancel));
        });
    };
    let config = MachineConfig::Turn(config(Vec::new()));
    let ended = driver.run(config, vec![Message::user("hi")], stop, |_| {}).await.unwrap();
    assert_eq!(ended.outcome.stop, Stop::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(5));
    for _ in 0..200 {
        if server.connections().open == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the connection is still open");
}

#[tokio::test]
async fn tools_that_panic_or_hang_give_failed_results() {
    let server = WireServer::start(Script::of([calls(&["boom", "slow"]), Reply::text("Sorry.")])).unwrap();
    let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("openai-chat:m", &server))
        .tool("boom", |_| async { panic!("boom") })
        .tool("slow", |_| async { std::future::pending::<ToolResult>().await });
    let slow = ToolConfig { timeout: Some(0.05), ..tool("slow", RiskLevel::Safe) };
    let config = MachineConfig::Turn(config(vec![tool("boom", RiskLevel::Safe), slow]));
    let ended = driver.run(config, vec![Message::user("go")], |_| {}, |_| {}).await.unwrap();
    let failures: Vec<_> = ended.outcome.tool_calls.iter().map(|call| call.failure.as_deref()).collect();
    assert_eq!(failures, [Some("exception"), Some("timeout")]);
    assert_eq!(ended.outcome.stop, Stop::Natural);
}

#[tokio::test]
async fn d45_what_has_streamed_is_kept_when_time_or_patience_ends() {
    let slow = Reply { chunk_delay_ms: 20, piece: 5, ..Reply::text("word ".repeat(100)) };
    for by_time in [true, false] {
        let server = WireServer::start(Script::always(slow.clone())).unwrap();
        let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("anthropic:m", &server));
        let mut config = config(Vec::new());
        if by_time {
            config.budget.wall_time = 0.4;
        }
        let stop = |stopper: loopwright_drive::native::Stopper| {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(400)).await;
                stopper.stop(Interrupt::Cancel);
            });
        };
        let mut text = String::new();
        let told = |told: Update| {
            let Update::Deltas(deltas) = told else { return };
            for delta in deltas {
                if let Delta::Text { text: new, .. } = delta {
                    text.push_str(&new);
                }
            }
        };
        let config = MachineConfig::Turn(config);
        let messages = vec![Message::user("hi")];
        let ended = if by_time {
            driver.run(config, messages, |_| {}, told).await.unwrap()
        } else {
            driver.run(config, messages, stop, told).await.unwrap()
        };
        assert_eq!(ended.outcome.stop, if by_time { Stop::WallTime } else { Stop::Cancelled });
        let draft = ended.outcome.best_draft.unwrap();
        assert!(draft.starts_with("word ") && text.starts_with(&draft), "{draft:?} of {text:?}");
        assert_eq!(ended.messages.last().unwrap().prose(), draft);
        let replay = journal::replay(std::str::from_utf8(&ended.journal).unwrap()).unwrap();
        assert_eq!(replay.divergence, None);
    }
}

#[tokio::test]
async fn whoever_breaks_down_when_asked_has_not_agreed() {
    let server = WireServer::start(Script::of([calls(&["rm"]), Reply::text("Sorry.")])).unwrap();
    let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("openai-chat:m", &server))
        .tool("rm", |call| async move { ToolResult::text(call.id, "", "gone") })
        .approve(|_, _| -> std::future::Ready<ApprovalDecision> { panic!("no terminal") });
    let config = MachineConfig::Turn(config(vec![tool("rm", RiskLevel::Confirm)]));
    let began = Instant::now();
    let ended = driver.run(config, vec![Message::user("go")], |_| {}, |_| {}).await.unwrap();
    assert_eq!(ended.outcome.tool_calls[0].failure.as_deref(), Some("denied"));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn d03_hooks_and_the_choice_of_the_model_are_carried_out() {
    use loopwright_drive::hooks::Hook;
    use loopwright_machine::{HookAnswer, HookStage, HookSubject, ModelChoice};
    let server = WireServer::start(Script::of([calls(&["add"]), Reply::text("It is 3.")])).unwrap();
    let other = WireServer::start(Script::of([calls(&["add"]), Reply::text("It is 3.")])).unwrap();
    let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("anthropic:m", &server))
        .tool("add", |call| async move { ToolResult::text(call.id, "", "3") })
        .model("strong", endpoint("openai-chat:big", &other), "big")
        .choose(|prompt| async move {
            assert_eq!(prompt.prose(), "1+2?");
            Some(ModelChoice { model: "strong".into(), confidence: 0.9, ..ModelChoice::default() })
        })
        .hook(Hook::new("louder", HookStage::PostTool, |subject| async move {
            let HookSubject::Result { result, .. } = subject else { return HookAnswer::Continue };
            HookAnswer::Replace { value: Raw::of(&format!("{}!", result.prose())) }
        }))
        .hook(Hook::new("twice", HookStage::PostTool, |subject| async move {
            let HookSubject::Result { result, .. } = subject else { return HookAnswer::Continue };
            HookAnswer::Replace { value: Raw::of(&result.prose().repeat(2)) }
        }))
        .hook(Hook::new("breaks", HookStage::PreLlm, |_| async { panic!("no") }))
        .hook(
            Hook::new("late", HookStage::PreLlm, |_| async {
                tokio::time::sleep(Duration::from_secs(9)).await;
                HookAnswer::Continue
            })
            .timeout(0.05),
        );
    let mut failed = Vec::new();
    let ended = driver
        .run(
            MachineConfig::Turn(config(vec![tool("add", RiskLevel::Safe)])),
            vec![Message::user("1+2?")],
            |_| {},
            |told| {
                if let Update::Notice(Notice::HookFailed { name, .. }) = told {
                    failed.push(name);
                }
            },
        )
        .await
        .unwrap();
    assert_eq!(ended.outcome.r#final.as_deref(), Some("It is 3."));
    assert_eq!(failed, ["breaks", "late", "breaks", "late"]);
    let result = ended.messages.iter().find_map(|message| message.tool_results().next()).unwrap().prose();
    assert_eq!(result, "3!3!");
    assert!(server.requests().is_empty(), "the other model was asked");
    assert!(other.requests().iter().all(|request| request.body.contains("\"big\"")));
    let journal = String::from_utf8(ended.journal).unwrap();
    assert_eq!(journal::replay(&journal).unwrap().divergence, None);

    let stops = Hook::new("breaks", HookStage::PreOutput, |_| async { panic!("no") }).stops_on_error(true);
    let server = WireServer::start(Script::of([Reply::text("It is 3.")])).unwrap();
    let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("anthropic:m", &server)).hook(stops);
    let ended =
        driver.run(MachineConfig::Turn(config(Vec::new())), vec![Message::user("1+2?")], |_| {}, |_| {}).await.unwrap();
    assert_eq!((ended.outcome.stop, ended.outcome.r#final), (Stop::HookFailed, None));
    assert_eq!(ended.outcome.error.unwrap().code, "hook_failed");
}

#[tokio::test]
async fn d05_d29_what_memory_knows_stands_before_the_prompt_and_its_failure_costs_nothing() {
    let recall = Some(RecallConfig { hits: 3, characters: 100, timeout: 0.2 });
    let turn = |recall: &Option<RecallConfig>| TurnConfig { recall: recall.clone(), ..config(Vec::new()) };
    let hits = || vec![RecalledHit { id: 7, trust: "user".into() }];
    let recollection =
        move || Recollection { trusted: "MEMORY: the user likes tabs".into(), hits: hits(), ..Recollection::default() };
    let asked = Arc::new(Mutex::new(Vec::new()));

    // It answers, fails, breaks down, is late, or is not there.
    for case in 0..5 {
        let server = WireServer::start(Script::of([Reply::text("Tabs.")])).unwrap();
        let mut driver = Driver::new(Client::new(ClientOptions::default()), endpoint("anthropic:m", &server));
        let seen = asked.clone();
        if case < 4 {
            driver = driver.memory(move |query: &str, hits, characters| {
                seen.lock().unwrap().push((query.to_owned(), hits, characters));
                match case {
                    0 => Ok(recollection()),
                    1 => Err(Error::usage("memory_locked", "it is locked")),
                    2 => panic!("it breaks down"),
                    _ => {
                        std::thread::sleep(Duration::from_millis(600));
                        Ok(recollection())
                    }
                }
            });
        }
        let began = Instant::now();
        let messages = vec![Message::user("Tabs or spaces?")];
        let ended = driver.run(MachineConfig::Turn(turn(&recall)), messages, |_| {}, |_| {}).await.unwrap();
        assert_eq!(ended.outcome.r#final.as_deref(), Some("Tabs."), "case {case}");
        assert!(began.elapsed() < Duration::from_secs(5));
        let body = server.requests()[0].body.clone();
        assert_eq!(body.contains("likes tabs"), case == 0, "case {case}: {body}");
        assert_eq!(ended.outcome.warnings.is_empty(), case == 0, "case {case}: {:?}", ended.outcome.warnings);
        let replay = journal::replay(std::str::from_utf8(&ended.journal).unwrap()).unwrap();
        assert_eq!(replay.divergence, None);
    }
    assert_eq!(asked.lock().unwrap()[0], ("Tabs or spaces?".to_owned(), 3, 100));
}

fn with_agents(hooks: &[&str]) -> TurnConfig {
    let own = config(vec![tool("add", RiskLevel::Safe)]);
    let agent = serde_json::json!({"name": "explore", "description": "finds", "turn": own});
    let agent: AgentConfig = serde_json::from_value(agent).unwrap();
    let hooks = hooks.iter().map(|name| HookStage::named(name).unwrap()).collect();
    let children = ChildrenConfig { agents: vec![agent], depth: 1, most: 4, least: 0 };
    TurnConfig { children, hooks, ..config(vec![tool("add", RiskLevel::Safe)]) }
}

fn spawns(count: usize) -> Reply {
    let input = Raw::parse(r#"{"agent":"explore","task":"add it up"}"#).unwrap();
    let calls = (0..count).map(|_| Call { name: "spawn".to_owned(), input: input.clone(), id: None }).collect();
    Reply { answer: Answer::ToolUses { text: String::new(), calls }, ..Reply::default() }
}

#[tokio::test]
async fn d43_c31_children_run_at_once_and_what_they_say_is_told_apart() {
    for model in ["anthropic:m", "openai-chat:m", "openai-responses:m", "gemini:m", "bedrock:m"] {
        let parent = WireServer::start(Script::of([spawns(2), Reply::text("both done")])).unwrap();
        let child = WireServer::start(Script::always(Reply::text("it is three"))).unwrap();
        let driver = Driver::new(Client::new(ClientOptions::default()), endpoint(model, &parent))
            .agent("explore", endpoint(model, &child))
            .tool("add", |call| async move { ToolResult::text(call.id, "", "3") });
        let (mut own, mut said) = (String::new(), std::collections::BTreeMap::<String, String>::new());
        let text = |deltas: Vec<Delta>| -> String {
            let texts = deltas.into_iter().filter_map(|delta| match delta {
                Delta::Text { text, .. } => Some(text),
                _ => None,
            });
            texts.collect()
        };
        let ended = driver
            .run(
                MachineConfig::Turn(with_agents(&[])),
                vec![Message::user("go")],
                |_| {},
                |told| match told {
                    Update::Deltas(deltas) => own.push_str(&text(deltas)),
                    Update::Child { path, deltas } => said.entry(path).or_default().push_str(&text(deltas)),
                    Update::Held { .. } | Update::Notice(_) => {}
                },
            )
            .await
            .unwrap();
        assert_eq!(ended.outcome.r#final.as_deref(), Some("both done"), "{model}");
        assert_eq!(own, "both done", "{model}");
        let paths: Vec<(&str, &str)> = said.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(paths, [("explore", "it is three"), ("explore#2", "it is three")], "{model}");
        assert_eq!(ended.outcome.children.len(), 2);
        let replay = journal::replay(std::str::from_utf8(&ended.journal).unwrap()).unwrap();
        assert_eq!(replay.divergence, None);
    }
}

#[tokio::test]
async fn d43_d03_hooks_look_at_children_and_say_no_there_too() {
    let parent = WireServer::start(Script::of([spawns(1), Reply::text("done")])).unwrap();
    let child = WireServer::start(Script::of([calls(&["add"]), Reply::text("it is hidden")])).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("anthropic:m", &parent))
        .agent("explore", endpoint("anthropic:m", &child))
        .tool("add", |call| async move { ToolResult::text(call.id, "", "3") })
        .hook(Hook::new("no", HookStage::PreTool, move |subject| {
            let name = if let HookSubject::Call { call } = &subject { call.name.clone() } else { String::new() };
            note.lock().unwrap().push(name.clone());
            async move {
                match name.as_str() {
                    "add" => HookAnswer::Veto { reason: "no sums today".into() },
                    _ => HookAnswer::Continue,
                }
            }
        }))
        .hook(Hook::new("hangs", HookStage::PostLlm, |_| std::future::pending()).timeout(0.05));
    let ended =
        driver.run(MachineConfig::Turn(with_agents(&[])), vec![Message::user("go")], |_| {}, |_| {}).await.unwrap();
    assert_eq!(ended.outcome.r#final.as_deref(), Some("done"));
    assert_eq!(*seen.lock().unwrap(), ["spawn", "add"]);
    let calls = &ended.outcome.children[0].outcome.tool_calls;
    assert_eq!(calls[0].failure.as_deref(), Some("denied"));
    assert!(child.requests()[1].body.clone().contains("no sums today"));
    let replay = journal::replay(std::str::from_utf8(&ended.journal).unwrap()).unwrap();
    assert_eq!(replay.divergence, None);
}

#[tokio::test]
async fn d45_children_pause_and_end_with_their_parent_while_they_speak() {
    for how in [Interrupt::Cancel, Interrupt::AfterRound] {
        let parent = WireServer::start(Script::of([spawns(2), Reply::text("done")])).unwrap();
        let slow = Reply { chunk_delay_ms: 30, ..Reply::text("some words that take a while to be said") };
        let child = WireServer::start(Script::always(slow)).unwrap();
        let driver = Driver::new(Client::new(ClientOptions::default()), endpoint("anthropic:m", &parent))
            .agent("explore", endpoint("anthropic:m", &child));
        let stopper = Arc::new(Mutex::new(None::<loopwright_drive::native::Stopper>));
        let stop = stopper.clone();
        let mut paused = 0;
        let ended = driver
            .run(
                MachineConfig::Turn(with_agents(&[])),
                vec![Message::user("go")],
                move |given| *stopper.lock().unwrap() = Some(given),
                |told| {
                    let stop = stop.lock().unwrap();
                    let stop = stop.as_ref().unwrap();
                    match told {
                        Update::Child { .. } if paused == 0 => {
                            paused = 1;
                            match how {
                                Interrupt::Cancel => assert!(stop.stop(how)),
                                Interrupt::AfterRound => assert!(stop.pause()),
                            }
                        }
                        Update::Notice(Notice::Paused { .. }) => {
                            paused = 2;
                            assert!(stop.resume());
                        }
                        _ => {}
                    }
                },
            )
            .await
            .unwrap();
        match how {
            Interrupt::Cancel => {
                assert_eq!(ended.outcome.stop, Stop::Cancelled);
                let drafts = ended.outcome.children.iter().filter_map(|child| child.outcome.best_draft.as_deref());
                assert!(drafts.clone().count() > 0 && drafts.clone().all(|draft| draft.starts_with("some")));
            }
            Interrupt::AfterRound => {
                assert_eq!(paused, 2);
                assert_eq!(ended.outcome.r#final.as_deref(), Some("done"));
            }
        }
        assert_eq!(ended.outcome.children.len(), 2);
        let replay = journal::replay(std::str::from_utf8(&ended.journal).unwrap()).unwrap();
        assert_eq!(replay.divergence, None);
    }
}
