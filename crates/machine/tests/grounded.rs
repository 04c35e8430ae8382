//! The grounded answer in the simulated world: gather → act → verify, as a driver sees it.

#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "a failed test can't go on; the simulated clock is exact")]

use std::{cell::RefCell, collections::BTreeSet, rc::Rc};

use loopwright_base::{
    error::{Error, Failure, FailureKind},
    message::{Block, Message, Role, StopReason, ToolResult, ToolUse, Usage},
    request::{Request, Response},
    sources::parse_prompt,
};
use loopwright_drive::sim::{SimulatedRun, Step, World};
use loopwright_machine::{
    Budget, Command, Event, EventKind, Interrupt, Machine, MachineConfig, ModelSettings, Notice, Outcome, Stop, Time,
    grounded::{GroundedConfig, GroundedMachine, JudgeConfig, Profile, diagram, transitions},
    journal::{Run, replay},
    turn::{ToolConfig, TurnConfig},
};
use loopwright_retrieve::gather::{GatherLimits, Gathered, gather};
use loopwright_wire::offline;

const QUESTION: &str = "How often is a failed request retried?";
const DOCUMENT: &str =
    "# Retries\n\nA failed request is tried again up to 3 times.\n\nThe wait doubles, from 200 ms.\n";
const GOOD: &str = "A failed request is retried up to 3 times, and the wait doubles each time. [docs/net.md:3]";

fn response(text: &str) -> Response {
    Response {
        id: "r".into(),
        model: "m".into(),
        message: Message::assistant(text),
        stop: StopReason::EndTurn,
        usage: Usage { input: 100, output: 10, ..Usage::default() },
        extra: None,
        adapted: Vec::new(),
    }
}

fn says(text: &str) -> Step {
    Step::Answer(1.0, response(text))
}

fn calls(ids: &[&str]) -> Step {
    let blocks = ids.iter().map(|id| Block::ToolUse(ToolUse::from_text(*id, "tide", "{}".into()))).collect();
    let message = Message::new(Role::Assistant, blocks);
    Step::Answer(1.0, Response { message, stop: StopReason::ToolUse, ..response("") })
}

fn config() -> GroundedConfig {
    let tide: ToolConfig =
        serde_json::from_value(serde_json::json!({"name": "tide", "schema": {}, "risk": "safe"})).unwrap();
    let turn = TurnConfig { model: "m".into(), tools: vec![tide], ..TurnConfig::default() };
    GroundedConfig { turn, ..GroundedConfig::default() }
}

fn found(question: &str) -> Gathered {
    gather(question, [("docs/net.md".to_owned(), DOCUMENT.to_owned())], &[], &GatherLimits::default())
}

fn world(script: impl IntoIterator<Item = Step>) -> World {
    World::scripted(script).finds(|question| Ok(found(question)))
}

fn run(world: &mut World, config: GroundedConfig) -> SimulatedRun {
    ask(world, config, QUESTION)
}

fn ask(world: &mut World, config: GroundedConfig, question: &str) -> SimulatedRun {
    let config = MachineConfig::Grounded(config);
    let ended = world.run(config, vec![Message::user(question)]).expect("the run ends");
    let journal = String::from_utf8(world.journal.clone()).unwrap();
    let again = replay(&journal).unwrap();
    assert_eq!(again.divergence, None);
    assert_eq!(again.outcome.as_ref(), Some(&ended.outcome));
    ended
}

/// The phases as they were told: name, attempt and, at its end, the output.
fn phases(world: &World) -> Vec<(String, u32, Option<serde_json::Value>)> {
    let of = |notice: &Notice| match notice {
        Notice::PhaseStarted { phase, attempt } => Some((phase.clone(), *attempt, None)),
        Notice::PhaseFinished { phase, attempt, output, .. } => Some((phase.clone(), *attempt, Some(output.clone()))),
        _ => None,
    };
    world.notices.iter().filter_map(of).collect()
}

fn codes(outcome: &Outcome) -> Vec<&str> {
    outcome.warnings.iter().filter_map(|warning| warning.split_once(':')).map(|(code, _)| code).collect()
}

#[test]
fn e01_every_question_is_gathered_for_acted_on_and_verified() {
    let mut world = world([says(GOOD)]);
    let ended = run(&mut world, config());
    let told: Vec<(String, bool)> =
        phases(&world).into_iter().map(|(name, _, output)| (name, output.is_some())).collect();
    let phase = |name: &str| [(name.to_owned(), false), (name.to_owned(), true)];
    assert_eq!(told, [phase("gather"), phase("act"), phase("verify")].concat());
    let outcome = ended.outcome;
    assert_eq!((outcome.stop, outcome.verified, outcome.attempts), (Stop::Verified, Some(true), 1));
    assert_eq!(outcome.r#final.as_deref(), Some(GOOD));
    assert_eq!(outcome.transcript, GOOD);
    assert_eq!(outcome.spent.usage.total(), 110);
    assert_eq!(outcome.duration, 1.0);
}

#[test]
fn e02_three_attempts_and_no_more() {
    let mut world = world([says("Often."), says("Quite often."), says("Very often."), says(GOOD)]);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, ended.outcome.attempts), (Stop::Unverified, 3));
    assert_eq!(world.requests.len(), 3);
    let mut world = self::world([says("Often."), says("Quite often."), says(GOOD)]);
    let ended = run(&mut world, config());
    assert_eq!((ended.outcome.stop, ended.outcome.attempts), (Stop::Verified, 3));
    let mut one = config();
    one.turn.budget.verify_attempts = 1;
    let ended = run(&mut self::world([says("Often."), says(GOOD)]), one);
    assert_eq!((ended.outcome.stop, ended.outcome.attempts), (Stop::Unverified, 1));
    let mut none = config();
    none.turn.budget.verify_attempts = 0;
    let ended = run(&mut self::world([says(GOOD)]), none);
    assert_eq!(ended.outcome.error.unwrap().code, "invalid_budget");
}

#[test]
fn e03_the_attempt_and_its_feedback_are_told() {
    let mut world = world([says("Often."), says(GOOD)]);
    let mut labelled = config();
    labelled.labels.insert("user".into(), "U1".into());
    run(&mut world, labelled);
    let acts: Vec<u32> = phases(&world)
        .into_iter()
        .filter(|(name, _, output)| name == "act" && output.is_none())
        .map(|one| one.1)
        .collect();
    assert_eq!(acts, [1, 2]);
    let journal = String::from_utf8(world.journal).unwrap();
    assert!(journal.lines().next().unwrap().contains(r#""labels":{"user":"U1"}"#));
}

#[test]
fn e04_the_result_names_its_sources_cited_ones_first() {
    let answer = "The wait doubles from 200 ms [docs/net.md:5], after a failed request [docs/net.md:3].";
    let outcome = run(&mut world([says(answer)]), config()).outcome;
    let named: Vec<(&str, usize, usize, &str)> =
        outcome.sources.iter().map(|one| (one.reference.as_str(), one.line, one.end_line, one.text.as_str())).collect();
    assert_eq!(
        named,
        [
            ("docs/net.md", 5, 5, "The wait doubles, from 200 ms."),
            ("docs/net.md", 3, 3, "A failed request is tried again up to 3 times."),
        ]
    );
    // What was gathered and not cited comes after.
    let mut other = World::scripted([says(GOOD)]).finds(|question| {
        let files =
            [("docs/a.md", "A failed request, often retried: failed request retried."), ("docs/net.md", DOCUMENT)];
        Ok(gather(
            question,
            files.map(|(path, text)| (path.to_owned(), text.to_owned())),
            &[],
            &GatherLimits::default(),
        ))
    });
    let outcome = run(&mut other, config()).outcome;
    let named: Vec<&str> = outcome.sources.iter().map(|one| one.reference.as_str()).collect();
    assert_eq!(named, ["docs/net.md", "docs/a.md"]);
}

#[test]
fn e07_the_search_is_a_command_and_its_error_ends_the_run() {
    let mut world = World::scripted([says(GOOD)])
        .finds(|_| Err(Error::usage("folder_not_found", "the folder /none can't be read")));
    let outcome = run(&mut world, config()).outcome;
    assert_eq!((outcome.stop, outcome.attempts, outcome.verified), (Stop::Error, 0, Some(false)));
    assert_eq!(outcome.error.unwrap().code, "folder_not_found");
    assert!(world.requests.is_empty());
}

#[test]
fn e06_e07_the_thread_is_what_was_said_before_without_failed_drafts() {
    let mut first = world([says("Often."), says(GOOD)]);
    let ended = run(&mut first, config());
    let mut messages: Vec<Message> = ended.messages.iter().cloned().collect();
    messages.push(Message::user("And how long is the wait?"));
    let mut second = world([says("The wait doubles, from 200 ms. [docs/net.md:5]")]);
    let mut more = config();
    more.thread = vec!["posted elsewhere".into()];
    let ended = second.run(MachineConfig::Grounded(more), messages).unwrap();
    assert_eq!(ended.outcome.stop, Stop::Verified);
    let thread = second.commands.iter().find_map(|command| match command {
        Command::Search { thread, .. } => Some(thread.clone()),
        _ => None,
    });
    assert_eq!(thread.unwrap(), ["posted elsewhere", QUESTION, GOOD]);
    assert_eq!(second.requests[0].messages.len(), 5, "the conversation goes on");
}

#[test]
fn e08_what_was_gathered_is_told_with_counts() {
    let mut world = world([says(GOOD)]);
    run(&mut world, config());
    let output = phases(&world).into_iter().find_map(|(_, _, output)| output).unwrap();
    assert_eq!(output["sources"], 1);
    assert_eq!((&output["files"], &output["thread"], &output["files_matched"]), (&1.into(), &0.into(), &1.into()));
    let durations: Vec<f64> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::PhaseFinished { duration, .. } => Some(*duration),
            _ => None,
        })
        .collect();
    assert_eq!(durations, [0.0, 1.0, 0.0]);
}

#[test]
fn e09_e18_the_prompt_holds_sources_and_question_and_then_feedback() {
    let mut world = world([says("It is retried 5 times. [docs/net.md:3]"), says(GOOD)]);
    run(&mut world, config());
    let prompt = world.requests[0].messages.last().unwrap().prose();
    assert!(prompt.starts_with("Context:\n[1] docs/net.md:1-5"), "{prompt}");
    assert!(prompt.ends_with(&format!("\nUser Question: {QUESTION}")), "{prompt}");
    let (sources, question, feedback) = parse_prompt(&prompt).unwrap();
    assert_eq!((sources.len(), question.as_str(), feedback), (1, QUESTION, None));
    let system = world.requests[0].system.as_ref().unwrap().prose();
    assert!(system.contains("Not found in the sources: <what>") && system.contains("[path:line]"));
    let second: Vec<String> = world.requests[1].messages.iter().map(Message::prose).collect();
    assert_eq!(second.len(), 3);
    assert_eq!((&second[0], second[1].as_str()), (&prompt, "It is retried 5 times. [docs/net.md:3]"));
    let told = second[2].lines().next().unwrap();
    assert!(told.starts_with("[Previous attempt feedback: Please fix: UNSUPPORTED: ") && told.ends_with(']'), "{told}");
    assert!(told.contains("It is retried 5 times.") && told.contains("the number 5"), "{told}");
}

#[test]
fn e10_limits_reach_the_search() {
    let mut world = world([says(GOOD)]);
    run(&mut world, GroundedConfig { gather: GatherLimits::seed(), ..config() });
    let limits = world.commands.iter().find_map(|command| match command {
        Command::Search { limits, question, .. } => Some((limits.clone(), question.clone())),
        _ => None,
    });
    assert_eq!(limits, Some((GatherLimits::seed(), QUESTION.to_owned())));
}

#[test]
fn e11_x16_results_of_tools_are_sources_and_tools_run_once() {
    let ran = Rc::new(RefCell::new(0));
    let count = ran.clone();
    let script = [calls(&["c1"]), says("High tide is at 15:20. [tide]"), says("High tide is at 14:20. [tide:1]")];
    let mut world = world(script).tool("tide", move |_| {
        *count.borrow_mut() += 1;
        (2.0, ToolResult::text("", "", "Today\nHigh tide in Husum: 14:20"))
    });
    // A line that the result does not hold as cited is fine as long as the result holds the numbers.
    let outcome = ask(&mut world, config(), "When is high tide?").outcome;
    assert_eq!((outcome.stop, outcome.attempts), (Stop::Verified, 2));
    assert_eq!(*ran.borrow(), 1, "the second attempt has the result of the first");
    assert_eq!((outcome.tool_calls.len(), outcome.spent.tool_rounds, outcome.spent.iterations), (1, 1, 3));
    assert_eq!(outcome.tool_calls[0].name, "tide");
    assert_eq!(outcome.sources[0].reference, "tide");
    assert_eq!(outcome.iterations.iter().map(|one| one.iteration).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn e12_an_answer_without_words_fails() {
    let outcome = run(&mut world([says("[docs/net.md:3]"), says("**…** [1]"), says("[1]")]), config()).outcome;
    assert_eq!(outcome.stop, Stop::Unverified);
    assert!(codes(&outcome).contains(&"EMPTY"), "{:?}", outcome.warnings);
    // The turn itself asks once more for an answer that is empty altogether.
    let outcome = run(&mut world([says(""), says("")]), config()).outcome;
    assert_eq!((outcome.stop, outcome.error.unwrap().code.as_ref()), (Stop::Error, "empty_answer"));
}

#[test]
fn e13_e17_short_and_beside_the_question_are_warnings() {
    let outcome = run(&mut world([says("Yes. [1]")]), config()).outcome;
    assert_eq!((outcome.stop, outcome.r#final.as_deref()), (Stop::Verified, Some("Yes. [1]")));
    assert_eq!(codes(&outcome), ["MINIMUM_LENGTH", "ADDRESSES_QUESTION"]);
    let long = "How often is a failed request retried, and how long is the wait between two of the attempts?";
    let outcome =
        ask(&mut world([says("A failed request is retried up to 3 times. It waits a while. [1]")]), config(), long)
            .outcome;
    assert!(outcome.warnings[0].contains("100 are usual"), "{:?}", outcome.warnings);
    // Stems meet: "retries" addresses "retried".
    let outcome = run(&mut world([says("Retries are bounded: there are 3 times at the most. [1]")]), config()).outcome;
    assert_eq!(codes(&outcome), Vec::<&str>::new());
}

#[test]
fn e14_e15_slack_has_rules_of_its_own() {
    let bad =
        "**A failed request** is retried, see [here](https://x.org) [docs/net.md:3].\n> up to 3 times [docs/net.md:3]";
    // What a question holds need not stand in a source.
    let asked = format!("{QUESTION} Is it told at https://x.org?");
    assert_eq!(ask(&mut world([says(bad)]), config(), &asked).outcome.stop, Stop::Verified);
    let slack = GroundedConfig { profile: Profile::Slack, ..config() };
    let mut world = world([says(bad), says(GOOD)]);
    let outcome = run(&mut world, slack.clone()).outcome;
    assert_eq!((outcome.stop, outcome.attempts), (Stop::Verified, 2));
    let feedback = world.requests[1].messages.last().unwrap().prose();
    for code in ["MARKDOWN_BOLD", "MARKDOWN_LINK", "BLOCKQUOTE"] {
        assert!(feedback.contains(code), "{feedback}");
    }
    let fine = "A failed request is retried up to 3 times: `x **y** [a](b)`. [docs/net.md:3]\n```\n> a **b**\n```\n";
    assert_eq!(run(&mut self::world([says(fine)]), slack).outcome.attempts, 1);
}

#[test]
fn e16_x16_citations_are_checked() {
    let cases = [
        ("A failed request is retried up to 3 times.", "UNCITED"),
        ("The word source alone is worth nothing for a failed request.", "UNCITED"),
        ("A failed request is retried up to 3 times. [2]", "CITATION_UNKNOWN"),
        ("A failed request is retried up to 3 times. [docs/other.md:3]", "CITATION_UNKNOWN"),
        ("A failed request is retried up to 3 times. [docs/net.md:6]", "CITATION_UNKNOWN"),
        ("A failed request is retried up to 4 times. [docs/net.md:3]", "UNSUPPORTED"),
        ("A failed request is retried up to 3 times. [1] It gives up after 90 s.", "UNSUPPORTED"),
        ("The moon of Jupiter shines. [1]", "UNSUPPORTED"),
        ("A failed request is logged. [1] The capital is Paris.", "UNSUPPORTED"),
        ("Not found in the sources: the timeout, which is 30 s.", "UNSUPPORTED"),
    ];
    for (answer, code) in cases {
        let mut one = config();
        one.turn.budget.verify_attempts = 1;
        let outcome = run(&mut world([says(answer)]), one).outcome;
        assert_eq!(outcome.stop, Stop::Unverified, "{answer}");
        assert!(codes(&outcome).contains(&code), "{answer}: {:?}", outcome.warnings);
    }
    let fine = [
        "A failed request is retried up to 3 times [1].",
        "- A failed request is retried up to three times. [docs/net.md:1-5]\n- The wait starts at 200 ms. [docs/net.md:5, 3]",
        "[1] A failed request is retried 3 times.",
        "A failed request is retried 3 times. The wait starts at 200 ms. [1]",
        "| What | How often |\n|---|---|\n| failed request | 3 times [1] |",
        "A failed request is retried 3 times [1].\n\n```py\na[7] = 9\n```",
        "No, not 90 but 3 times. [1]",
        "A failed request is retried 3 times [1].\n\nSources: docs/net.md:3.",
        "A failed request is retried 3 times [1] (see docs/net.md:3).\n\n**Sources**\n- docs/net.md:3",
        "A failed request is retried 3 times [1].\n\nNot found in the sources: the timeout.",
    ];
    for answer in fine {
        let outcome = ask(&mut world([says(answer)]), config(), "Is a failed request retried 90 times?").outcome;
        assert_eq!((outcome.stop, outcome.attempts), (Stop::Verified, 1), "{answer}: {:?}", outcome.warnings);
    }
}

#[test]
fn e16_brackets_that_a_source_holds_are_quotes() {
    let mut world = World::scripted([says("It says: set [made/up.md:7] and [9] there. [a.md:1]")]).finds(|question| {
        Ok(gather(
            question,
            [("a.md".to_owned(), "It set [made/up.md:7] and [9] there.".to_owned())],
            &[],
            &GatherLimits::default(),
        ))
    });
    let outcome = ask(&mut world, config(), "What is set there?").outcome;
    assert_eq!((outcome.stop, outcome.attempts), (Stop::Verified, 1), "{:?}", outcome.warnings);
}

#[test]
fn e19_warnings_pass_and_are_told() {
    let outcome = run(&mut world([says("It is retried up to 3 times. [1]")]), config()).outcome;
    assert_eq!((outcome.stop, outcome.verified), (Stop::Verified, Some(true)));
    assert_eq!(codes(&outcome), ["MINIMUM_LENGTH"]);
}

#[test]
fn e16_every_statement_names_its_source() {
    let mut one = config();
    one.turn.budget.verify_attempts = 1;
    let answer = "A failed request is retried up to 3 times. [1]\n\nThe wait starts at 200 ms.";
    let outcome = run(&mut world([says(answer)]), one).outcome;
    assert_eq!((outcome.stop, outcome.verified), (Stop::Unverified, Some(false)));
    assert!(codes(&outcome).contains(&"UNCITED_CLAIM"));
}

#[test]
fn e20_graceful_failure_keeps_the_best_draft() {
    let drafts = [
        "Up to 7 times. [9]\n\nAfter 12 s.",
        "A failed request is retried 4 times. [docs/net.md:3]",
        "A failed request is retried 5 times, or 6. [9]\n\nOr 8.",
    ];
    let ended = run(&mut world(drafts.map(says)), config());
    let outcome = ended.outcome;
    assert_eq!((outcome.stop, outcome.verified, outcome.attempts), (Stop::Unverified, Some(false), 3));
    assert_eq!((outcome.r#final.as_deref(), outcome.best_draft.as_deref()), (None, Some(drafts[1])));
    assert!(outcome.sources.is_empty() && outcome.error.is_none());
    assert_eq!(codes(&outcome).first(), Some(&"UNSUPPORTED"));
    assert_eq!(outcome.transcript, drafts.join("\n\n"));
    let message = outcome.message.unwrap();
    let (reasons, issues) = message.split_once("What is wrong with the best draft").unwrap();
    assert!(reasons.contains("sorry") && reasons.contains("3 attempts") && reasons.matches('•').count() == 2);
    assert!(issues.contains("UNSUPPORTED") && issues.contains("Could you rephrase the question"), "{message}");
    assert_eq!(ended.messages.len(), 6);
}

#[test]
fn abstaining_is_an_answer() {
    let told = "Not found in the sources: the flux capacitor.";
    let outcome = ask(&mut world([says(told)]), config(), "What does the request's flux capacitor do?").outcome;
    assert_eq!((outcome.stop, outcome.r#final.as_deref()), (Stop::Abstained, Some(told)));
    assert!(outcome.sources.is_empty() && outcome.warnings.is_empty());
    // Nothing at all was found: nothing is verified.
    let nothing = |script: [Step; 1]| World::scripted(script);
    let mut one = config();
    one.turn.budget.verify_attempts = 1;
    let outcome =
        ask(&mut nothing([says("Hello! How can I help you today with your questions?")]), one.clone(), "Hello").outcome;
    assert_eq!(outcome.stop, Stop::Unverified);
    assert!(codes(&outcome).contains(&"NO_SOURCES"));
    for claim in ["The capital of France is Paris.", "There are 42 of them."] {
        let outcome = ask(&mut nothing([says(claim)]), one.clone(), "What is the capital of France?").outcome;
        assert_eq!(outcome.stop, Stop::Unverified, "{claim}");
    }
}

#[test]
fn x01_attempts_share_one_pool_of_rounds() {
    // A model that calls tools for ever, and answers badly when it must.
    let model = |request: &Request| {
        let last = request.messages.last().unwrap();
        let must = request.tool_choice == Some(loopwright_base::request::ToolChoice::None);
        if must || last.prose().contains("Answer now") { says("Bad.") } else { calls(&["c"]) }
    };
    let mut world = World::new(model)
        .finds(|question| Ok(found(question)))
        .tool("tide", |_| (0.1, ToolResult::text("", "", "14:20")));
    let mut config = config();
    config.turn.stuck = None;
    config.turn.budget = Budget { tool_rounds: 4, iterations: 7, ..Budget::default() };
    let outcome = run(&mut world, config.clone()).outcome;
    assert!(outcome.spent.tool_rounds <= 4 && outcome.spent.iterations <= 7, "{:?}", outcome.spent);
    assert_eq!(outcome.spent.iterations as usize, world.requests.len());
    assert_eq!(outcome.spent.usage.total(), 110 * world.requests.len() as u64);
    assert!(outcome.attempts >= 2, "{outcome:?}");

    // The first limit that is used up names the stop.
    let mut world = self::world([says("Bad."), says("Bad again."), says(GOOD)]);
    config.turn.budget = Budget { iterations: 2, ..Budget::default() };
    let outcome = run(&mut world, config).outcome;
    assert_eq!((outcome.stop, outcome.attempts, world.requests.len()), (Stop::Rounds, 2, 2));
    assert_eq!(outcome.best_draft.as_deref(), Some("Bad again."));
    assert!(outcome.message.unwrap().contains("2 attempts"));
}

#[test]
fn x01_the_clock_is_that_of_the_whole_run() {
    let mut config = config();
    config.turn.budget.wall_time = 10.0;
    let slow = |text| Step::Answer(6.0, response(text));
    let mut first = world([slow("Bad."), slow("Bad again."), says(GOOD)]);
    let ended = run(&mut first, config.clone());
    assert_eq!((ended.outcome.stop, ended.at), (Stop::WallTime, Time::from_seconds(10.0)));
    assert_eq!((ended.outcome.attempts, ended.outcome.best_draft.as_deref()), (2, Some("Bad.")));
    let outcome = run(&mut world([Step::Hang]), config).outcome;
    assert_eq!((outcome.stop, outcome.best_draft, outcome.duration), (Stop::WallTime, None, 10.0));
}

#[test]
fn x04_drafts_are_told_as_drafts() {
    let mut world = world([says("Often."), says(GOOD)]);
    run(&mut world, config());
    let drafts: Vec<(&str, u32, bool)> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Draft { text, attempt, verified } => Some((text.as_str(), *attempt, *verified)),
            _ => None,
        })
        .collect();
    assert_eq!(drafts, [("Often.", 1, false), (GOOD, 2, false)]);
}

#[test]
fn children_that_do_not_finish_end_the_run_with_their_reason() {
    let refused = Step::Answer(1.0, Response { stop: StopReason::Refusal, ..response("I won't.") });
    let outcome = run(&mut world([refused]), config()).outcome;
    assert_eq!((outcome.stop, outcome.r#final, outcome.best_draft.as_deref()), (Stop::Refusal, None, Some("I won't.")));
    let broken = Step::Fail(1.0, Failure::new(FailureKind::Auth, "wrong key"), false, None);
    let outcome = run(&mut world([says("Often."), broken]), config()).outcome;
    assert_eq!((outcome.stop, outcome.best_draft.as_deref()), (Stop::Error, Some("Often.")));
    assert!(outcome.error.unwrap().message.contains("wrong key"));
    assert_eq!(outcome.spent.usage.total(), 110);
    let question = "There are two. Could you clarify which request you mean?";
    let outcome = run(&mut world([says(question)]), config()).outcome;
    assert_eq!(
        (outcome.stop, outcome.r#final, outcome.best_draft.as_deref()),
        (Stop::NeedsUserInput, None, Some(question))
    );
}

#[test]
fn x01_cancelled_children_are_counted() {
    let slow = || calls(&["c1"]);
    let mut world = world([slow(), Step::Hang])
        .tool("tide", |_| (1.0, ToolResult::text("", "", "14:20")))
        .interrupt(3.0, Interrupt::Cancel);
    let ended = run(&mut world, config());
    let outcome = ended.outcome;
    assert_eq!((outcome.stop, ended.at), (Stop::Cancelled, Time::from_seconds(3.0)));
    assert_eq!((outcome.tool_calls.len(), outcome.spent.iterations, outcome.spent.usage.total()), (1, 2, 110));
    assert_eq!(ended.messages.len(), 3, "the history holds the call and its result");
    // Nothing is left under way.
    let aborted: BTreeSet<u64> = world
        .commands
        .iter()
        .filter_map(|command| match command {
            Command::Abort { id } => Some(*id),
            _ => None,
        })
        .collect();
    let open =
        world.commands.iter().filter(|command| matches!(command, Command::Generate { .. } | Command::Timer { .. }));
    let left: Vec<_> = open.filter_map(Command::id).filter(|id| !aborted.contains(id)).collect();
    assert_eq!(left.len(), 1, "all but the first request, which was answered: {left:?}");
    // During the search, and after the round.
    let mut world = self::world([calls(&["c1"]), says(GOOD)])
        .tool("tide", |_| (1.0, ToolResult::text("", "", "14:20")))
        .interrupt(1.5, Interrupt::AfterRound);
    let outcome = run(&mut world, config()).outcome;
    assert_eq!((outcome.stop, outcome.tool_calls.len(), world.requests.len()), (Stop::UserInterrupt, 1, 1));
}

/// Feeds events by hand.
struct Hand(Run, u64);

impl Hand {
    fn new(config: GroundedConfig) -> Self {
        Self(Run::new("hand", MachineConfig::Grounded(config), true), 0)
    }
    fn step(&mut self, kind: EventKind) -> Vec<Command> {
        self.1 += 1;
        self.0.step(Event { at: Time(self.1 * 1000), kind })
    }
}

fn id_of(commands: &[Command], pick: impl Fn(&Command) -> bool) -> u64 {
    commands.iter().find(|command| pick(command)).and_then(Command::id).unwrap()
}

#[test]
fn cancel_keeps_what_was_said_and_ends_in_one_step() {
    let mut hand = Hand::new(config());
    let start = hand.step(EventKind::Start { messages: vec![Message::user(QUESTION)] });
    let search = id_of(&start, |command| matches!(command, Command::Search { .. }));
    let stray = hand.step(EventKind::Found { id: search + 7, found: Ok(found(QUESTION)) });
    assert!(stray.is_empty());
    let asked = hand.step(EventKind::Found { id: search, found: Ok(found(QUESTION)) });
    assert!(asked.iter().any(|command| matches!(command, Command::Generate { .. })));
    let twice = hand.step(EventKind::Found { id: search, found: Ok(found(QUESTION)) });
    assert!(twice.is_empty());
    let partial = Some(Box::new(response("A failed request is")));
    let end = hand.step(EventKind::Interrupt { how: Interrupt::Cancel, partial });
    let Some(Command::Finish { outcome }) = end.last() else { panic!("{end:?}") };
    assert_eq!((outcome.stop, outcome.best_draft.as_deref()), (Stop::Cancelled, Some("A failed request is")));
    assert_eq!((outcome.spent.usage.total(), outcome.dropped), (110, 2));
    assert!(hand.step(EventKind::Fired { id: 1, partial: None }).is_empty());
    assert_eq!(hand.0.tree().history().len(), 2);
}

#[test]
fn saved_and_loaded_between_any_two_steps_it_is_the_same() {
    let mut world = world([calls(&["c1"]), says("At 15:20. [tide]"), says("High tide is at 14:20. [tide]")])
        .tool("tide", |_| (1.0, ToolResult::text("", "", "14:20 is high tide")));
    let ended = run(&mut world, config());
    let journal = String::from_utf8(world.journal).unwrap();
    let mut lines = journal.lines();
    let header: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let config: MachineConfig = serde_json::from_value(header["machine"].clone()).unwrap();
    let mut tree = loopwright_machine::Tree::new(config);
    for line in lines {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let event: Event = serde_json::from_value(line["event"].clone()).unwrap();
        let saved = serde_json::to_string(&tree).unwrap();
        let mut loaded: loopwright_machine::Tree = serde_json::from_str(&saved).unwrap();
        assert_eq!(serde_json::to_string(&loaded).unwrap(), saved);
        assert_eq!(loaded.step(event.clone()), tree.step(event));
        tree = loaded;
    }
    assert_eq!(tree.outcome(), Some(&ended.outcome));
}

/// A simple source of numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

const YES: &str = r#"{"verdict": "pass"}"#;
const NO: &str = r#"{"verdict": "fail", "problems": [{"claim": "3 times", "why": "of what?"}]}"#;

fn any_event(dice: &mut Dice) -> EventKind {
    let id = dice.roll(8);
    match dice.roll(9) {
        0 => EventKind::Start { messages: vec![Message::user(["", QUESTION, QUESTION][dice.roll(3) as usize])] },
        1 => EventKind::Found { id, found: Err(Error::usage("x", "y")) },
        2 | 3 => EventKind::Found { id, found: Ok(found(QUESTION)) },
        4..=6 => {
            let mut outcome =
                Outcome::new([Stop::Natural, Stop::Natural, Stop::Error, Stop::Cancelled][dice.roll(4) as usize]);
            outcome.spent.iterations = dice.roll(3) as u32;
            outcome.r#final = (outcome.stop == Stop::Natural)
                .then(|| ["Bad.", NO, YES, GOOD, GOOD][dice.roll(5) as usize].to_owned());
            let messages = [Message::user("q"), Message::assistant("a")].into_iter().collect();
            EventKind::Child { id, outcome: Box::new(outcome), messages }
        }
        7 if dice.roll(3) == 0 => {
            let how = [Interrupt::Cancel, Interrupt::AfterRound][dice.roll(2) as usize];
            EventKind::Interrupt { how, partial: None }
        }
        _ => EventKind::Fired { id, partial: None },
    }
}

#[test]
fn the_table_and_the_machine_hold_each_other() {
    let mut seen = BTreeSet::new();
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    for turn in 0..4_000 {
        let judge = JudgeConfig { model: "j".into(), instructions: None, settings: ModelSettings::default() };
        let config = GroundedConfig { judge: (turn % 2 == 0).then_some(judge), ..config() };
        let mut machine = GroundedMachine::new(config, 0);
        if dice.roll(3) > 0 {
            let messages = vec![Message::user(QUESTION)];
            let from = machine.phase();
            machine.step(Event { at: Time(0), kind: EventKind::Start { messages } });
            seen.insert((from, "start", machine.phase()));
        }
        for at in 0..30 {
            let deadline = machine.phase() == "judging" && dice.roll(16) == 0;
            let kind = if deadline { EventKind::Fired { id: 1, partial: None } } else { any_event(&mut dice) };
            let (from, name, before) = (machine.phase(), kind.name(), machine.is_finished());
            let was = serde_json::to_value(&machine).unwrap();
            let commands = machine.step(Event { at: Time(at), kind });
            assert!(!before || commands.is_empty(), "nothing comes after the end");
            let refused = matches!(commands.as_slice(), [Command::Refuse { .. }]);
            let ends = commands.iter().filter(|command| matches!(command, Command::Finish { .. })).count();
            assert_eq!(ends, usize::from(machine.is_finished() && !before));
            assert_eq!(machine.waiting().is_empty(), matches!(machine.phase(), "idle" | "done"));
            let mut now = serde_json::to_value(&machine).unwrap();
            now["now"] = was["now"].clone();
            now["outcome"]["dropped"] = was["outcome"]["dropped"].clone();
            // A deadline that fires while the child ends changes nothing that shows.
            now["deadline"] = was["deadline"].clone();
            if !refused && (now != was || !commands.is_empty()) {
                seen.insert((from, name, machine.phase()));
            }
        }
    }
    let table: BTreeSet<_> = transitions().iter().copied().collect();
    assert_eq!(seen.difference(&table).collect::<Vec<_>>(), Vec::<&_>::new(), "not in the table");
    assert_eq!(table.difference(&seen).collect::<Vec<_>>(), Vec::<&_>::new(), "never made");
}

/// The offline model on the handbook.
fn handbook(question: &str, config: GroundedConfig) -> SimulatedRun {
    let folder = loopwright_testing::data::file("tests/data/handbook");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap()))
        .collect();
    files.sort();
    let mut world = World::new(|request| Step::Answer(0.1, offline::answer(request)))
        .finds(move |question| Ok(gather(question, files.clone(), &[], &GatherLimits::default())));
    ask(&mut world, config, question)
}

#[test]
fn e01_the_offline_model_passes_on_the_handbook() {
    let answered = [
        "How often does the server write a snapshot?",
        "How is the Python client installed?",
        "How much free memory is required?",
        "Are payloads logged?",
        "How many jobs are enqueued per second on a machine with 4 cores?",
        "What is the concurrency of a worker unless set?",
    ];
    for profile in [Profile::Plain, Profile::Markdown, Profile::Slack] {
        for question in answered {
            let outcome = handbook(question, GroundedConfig { profile, ..config() }).outcome;
            let told = (&outcome.r#final, &outcome.best_draft, &outcome.warnings);
            assert_eq!((outcome.stop, outcome.verified), (Stop::Verified, Some(true)), "{question}: {told:?}");
            assert!(outcome.sources[0].line > 0 && outcome.sources[0].end_line >= outcome.sources[0].line);
        }
    }
    for question in ["What does the flux capacitor do?", "Who won the football championship?"] {
        let outcome = handbook(question, config()).outcome;
        assert_eq!(outcome.stop, Stop::Abstained, "{question}: {:?}", outcome.r#final);
    }
}

/// Worlds at random: a model that answers well, badly, with calls or not at all, tools that are slow, interrupts.
#[test]
fn whatever_happens_the_run_ends_and_everything_counts() {
    let mut stops = BTreeSet::new();
    for seed in 1..400_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let used = Rc::new(RefCell::new(0));
        let (counted, mut model_dice) = (used.clone(), Dice(seed << 7 | 5));
        let model = move |request: &Request| {
            for (at, message) in request.messages.iter().enumerate() {
                let results = message.tool_results().count();
                let calls = at
                    .checked_sub(1)
                    .and_then(|at| request.messages.iter().nth(at))
                    .map_or(0, |before| before.tool_uses().count());
                assert_eq!(results, calls, "one result for each call, in the message behind it");
            }
            let step = match model_dice.roll(12) {
                0 | 1 => says(GOOD),
                2..=4 => says("It is retried 5 times. [docs/net.md:3]"),
                5 => says("Not found in the sources: that."),
                6..=8 => calls(&["c", "d"][..=model_dice.roll(2) as usize]),
                9 => Step::Fail(0.5, Failure::new(FailureKind::Overloaded, "busy"), false, None),
                10 if model_dice.roll(4) == 0 => Step::Hang,
                10 => says(""),
                _ if model_dice.roll(4) == 0 => Step::Fail(0.5, Failure::new(FailureKind::Auth, "no"), false, None),
                _ => Step::Answer(1.0, Response { stop: StopReason::MaxTokens, ..response("It is") }),
            };
            if matches!(step, Step::Answer(..)) {
                *counted.borrow_mut() += 1;
            }
            step
        };
        let mut world = World::new(model)
            .finds(|question| Ok(found(question)))
            .tool("tide", |call| (f64::from(call.id.len() as u32), ToolResult::text("", "", "14:20")));
        if dice.roll(3) == 0 {
            let how = [Interrupt::Cancel, Interrupt::AfterRound][dice.roll(2) as usize];
            world = world.interrupt(dice.roll(60) as f64 / 10.0, how);
        }
        let mut config = config();
        config.turn.budget.wall_time = 20.0;
        config.turn.budget.tool_rounds = 1 + dice.roll(4) as u32;
        config.turn.budget.iterations = 1 + dice.roll(8) as u32;
        let (rounds, iterations) = (config.turn.budget.tool_rounds, config.turn.budget.iterations);
        let ended = run(&mut world, config);
        let outcome = ended.outcome;
        stops.insert(outcome.stop.name());
        assert!(ended.at <= Time::from_seconds(20.0), "{outcome:?}");
        assert!(outcome.spent.tool_rounds <= rounds && outcome.spent.iterations <= iterations, "{outcome:?}");
        assert!(outcome.attempts <= 3);
        assert_eq!(outcome.r#final.is_some(), outcome.verified == Some(true), "{outcome:?}");
        assert_eq!(outcome.verified == Some(true), matches!(outcome.stop, Stop::Verified | Stop::Abstained));
        // All that was answered counts, but for what was still on its way at the end.
        let answered = outcome.spent.usage.total() / 110;
        assert!(answered <= *used.borrow() && answered + 1 >= *used.borrow(), "{answered} of {}", used.borrow());
        let ran = world.commands.iter().map(|command| match command {
            Command::Execute { calls, .. } => calls.len(),
            _ => 0,
        });
        assert!(outcome.tool_calls.len() >= ran.sum::<usize>());
        assert_eq!(world.commands.iter().filter(|command| matches!(command, Command::Finish { .. })).count(), 1);
        assert!(!world.commands.iter().any(|command| matches!(command, Command::Refuse { .. })));
    }
    for stop in [
        "verified",
        "unverified",
        "abstained",
        "rounds",
        "tool_rounds",
        "wall_time",
        "cancelled",
        "error",
        "output_limit",
    ] {
        assert!(stops.contains(stop), "{stop} never came: {stops:?}");
    }
}

#[test]
fn the_diagram_in_the_docs_is_that_of_the_table() {
    let path = loopwright_testing::data::file("docs/grounded-machine.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let drawn = text.split("```mermaid\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    assert_eq!(drawn, diagram(), "put this into {}:\n{}", path.display(), diagram());
}
