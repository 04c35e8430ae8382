//! Requests that a provider refuses: what it names is left out, and what it does not name stays.
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use loopwright_base::{
    error::{Failure, FailureKind},
    message::{StopReason, ToolResult},
    request::Response,
};
use loopwright_drive::sim::{Step, World};
use loopwright_machine::{Stop, turn::TurnConfig};
use turn_support::*;

fn refused(param: Option<&str>, message: &str) -> Step {
    let failure = Failure::new(FailureKind::BadRequest, message);
    Step::Fail(1.0, Failure { param: param.map(str::to_owned), ..failure }, false, None)
}

#[test]
fn w6_a_parameter_that_is_refused_by_name_is_left_out_and_told() {
    let warm = || TurnConfig { temperature: Some(0.2), top_p: Some(0.5), ..config() };
    let mut world =
        World::scripted([refused(Some("temperature"), "tool temperatures are not supported"), answer(say("4"))]);
    let outcome = run(&mut world, warm()).outcome;
    assert_eq!(outcome.stop, Stop::Natural);
    assert!(warned(&outcome, "left_out") && !warned(&outcome, "without_tools"), "{:?}", outcome.warnings);
    let sent: Vec<_> = world.requests.iter().map(|sent| (sent.temperature, sent.top_p, sent.tools.len())).collect();
    assert_eq!(sent, [(Some(0.2), Some(0.5), 3), (None, Some(0.5), 3)]);
    // Once for each: the same refusal again is one that nothing helps.
    let again = || refused(Some("temperature"), "no");
    assert_eq!(run(&mut World::scripted([again(), again()]), warm()).outcome.error.unwrap().code, "bad_request");
    // What the request does not hold can't be left out of it.
    assert_eq!(run(&mut World::scripted([again()]), config()).outcome.stop, Stop::Error);
}

#[test]
fn w6_tools_stay_where_something_else_is_refused() {
    for (param, message, stays) in [
        (Some("messages[3].tool_call_id"), "a tool message must follow tool calls", false),
        (Some("response_format"), "json mode cannot be combined with tool/function calling", true),
        (Some("temperature"), "not with tools", true),
        (Some("tools"), "no", false),
        (None, "this model does not support tools", false),
    ] {
        let mut world = World::scripted([refused(param, message), answer(say("4"))]);
        let outcome = run(&mut world, config()).outcome;
        assert_eq!(warned(&outcome, "without_tools"), !stays, "{message}");
        assert_eq!(outcome.stop == Stop::Error, stays, "{message}");
    }
    let unread = || {
        let failure = Failure::new(FailureKind::InvalidBody, "Failed to call a function");
        Step::Fail(1.0, Failure { generation: Some(String::new()), ..failure }, false, None)
    };
    // What the model wrote badly is no refusal of its tools, and is asked for once more.
    let mut world = World::scripted((0..9).map(|_| unread()));
    let outcome = run(&mut world, config()).outcome;
    assert_eq!((world.requests.len(), outcome.error.unwrap().code.as_ref()), (2, "invalid_body"));
    assert!(world.requests.iter().all(|request| request.tools.len() == 3));
}

#[test]
fn w7_what_was_changed_of_a_request_is_told_once() {
    let adapted = || Response {
        adapted: vec!["x takes no temperature: it was left out".into()],
        ..calls(&[("a", "look", "{}")])
    };
    let mut world = World::scripted([answer(adapted()), answer(Response { adapted: adapted().adapted, ..say("4") })]);
    world = world.tool("look", |_| (1.0, ToolResult::text("", "", "x")));
    let outcome = run(&mut world, config()).outcome;
    assert_eq!(outcome.warnings, ["adapted: x takes no temperature: it was left out"]);
}

#[test]
fn w15_a_model_that_went_on_may_falter_again() {
    let call = |id: &str| answer(calls(&[(id, "look", "{}")]));
    let script = [call("a"), answer(say("")), call("b"), answer(say("")), answer(say("4"))];
    let mut world = World::scripted(script).tool("look", |_| (1.0, ToolResult::text("", "", "x")));
    let outcome = run(&mut world, TurnConfig { stuck: None, momentum: None, ..config() }).outcome;
    assert_eq!((outcome.stop, world.requests.len()), (Stop::Natural, 5));
    // Nothing between two empty answers is no progress.
    let mut world = World::scripted([call("a"), answer(say("")), answer(say(""))]);
    world = world.tool("look", |_| (1.0, ToolResult::text("", "", "x")));
    assert_eq!(run(&mut world, config()).outcome.error.unwrap().code, "empty_answer");
}

#[test]
fn w2_a_slip_in_a_name_is_understood_and_told_once() {
    for name in ["functions.look", "look ", "Look", "look<|channel|>commentary"] {
        let script = [calls(&[("a", name, "{}")]), calls(&[("b", name, "{\"n\": 1}")]), say("4")];
        let mut world = World::scripted(script.map(answer)).tool("look", |_| (1.0, ToolResult::text("", "", "x")));
        let outcome = run(&mut world, config()).outcome;
        assert!(outcome.tool_calls.iter().all(|call| call.failure.is_none()), "{name}");
        let told: Vec<_> = outcome.warnings.iter().filter(|told| told.starts_with("understood_name: ")).collect();
        assert!(told.len() == 1 && told[0].contains(&format!("{name:?}")) && told[0].contains("\"look\""), "{told:?}");
    }
}

#[test]
fn w31_calls_beyond_the_limit_are_answered_and_told() {
    let many: Vec<String> = (0..200).map(|n| format!("c{n}")).collect();
    let batch: Vec<(&str, &str, &str)> = many.iter().map(|id| (id.as_str(), "look", "{}")).collect();
    for (limit, run_of) in [(None, 128), (Some(3), 3)] {
        let mut config = TurnConfig { stuck: None, momentum: None, ..config() };
        config.budget.calls_per_round = limit.unwrap_or(config.budget.calls_per_round);
        let mut world = World::scripted([answer(calls(&batch)), answer(say("4"))]);
        world = world.tool("look", |_| (1.0, ToolResult::text("", "", "x")));
        let outcome = run(&mut world, config).outcome;
        let (ran, left): (Vec<_>, Vec<_>) = outcome.tool_calls.iter().partition(|call| call.failure.is_none());
        assert_eq!((ran.len(), left.len(), outcome.stop), (run_of, 200 - run_of, Stop::Natural));
        assert!(warned(&outcome, "too_many_calls"), "{:?}", outcome.warnings);
        assert_eq!(world.requests[1].messages.last().unwrap().tool_results().count(), 200);
    }
}

#[test]
fn a_history_that_was_mended_is_told() {
    use loopwright_base::message::{Block, Message, Role};
    let result = Message::new(Role::User, vec![Block::ToolResult(ToolResult::text("gone", "look", "1"))]);
    let mut world = World::scripted([answer(say("4"))]);
    let outcome = run_on(&mut world, config(), vec![result, Message::user("2 + 2?")]).outcome;
    let told = outcome.warnings.iter().find(|told| told.starts_with("mended_history: ")).unwrap();
    assert!(told.contains("1 left out"), "{told}");
    let mut world = World::scripted([answer(say("4"))]);
    assert!(run(&mut world, config()).outcome.warnings.is_empty());
}

#[test]
fn w19_an_end_in_other_words_is_no_success() {
    for (word, stop) in
        [("max_tokens", Stop::OutputLimit), ("model_length", Stop::ContextWindow), ("SAFETY", Stop::ContentFilter)]
    {
        let ended = Response { stop: StopReason::Other(word.into()), ..say("It is") };
        let outcome = run(&mut World::scripted([answer(ended)]), config()).outcome;
        assert_eq!(outcome.stop, stop, "{word}");
    }
}

#[test]
fn w29_a_request_that_was_not_sent_is_no_attempt() {
    let open = || {
        let failure = Failure { retry_after: Some(30.0), ..failure(FailureKind::BreakerOpen) };
        Step::Fail(0.0, failure, false, None)
    };
    // Left alone twice, and all of its own attempts.
    let server = || fail(FailureKind::Server);
    let steps = [open(), server(), open(), server(), server(), answer(say("4"))];
    let ended = run(&mut World::scripted(steps), config());
    assert_eq!((ended.outcome.stop, ended.outcome.r#final.as_deref()), (Stop::Natural, Some("4")));
    let steps = [open(), server(), server(), server(), server()];
    let error = run(&mut World::scripted(steps), config()).outcome.error.unwrap();
    assert!(error.code == "server" && error.message.contains("(after 4 attempts)"), "{error}");
}
