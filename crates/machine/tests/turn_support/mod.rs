//! What the tests of the turn share: small configurations, answers, and what must hold for every run.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use loopwright_guard::RiskLevel;
use std::collections::BTreeSet;

use loopwright_base::{
    error::{Failure, FailureKind},
    json::Raw,
    message::{Block, Message, Role, StopReason, ToolUse, Usage},
    request::{History, Response},
};
use loopwright_drive::sim::{SimulatedRun, Step, World};
use loopwright_machine::{
    Command, MachineConfig, Notice, Outcome, journal,
    turn::{ToolConfig, TurnConfig},
};

pub(crate) fn tool(name: &str, risk: RiskLevel, read_only: bool) -> ToolConfig {
    ToolConfig {
        name: name.into(),
        description: None,
        schema: Raw::parse(r#"{"type":"object"}"#).unwrap(),
        risk,
        read_only,
        timeout: None,
        max_output: None,
        volatile: Vec::new(),
        flow: None,
        answer: None,
        found: false,
        asks: false,
        deferred: false,
    }
}

/// `look` reads, `write` changes, `rm` needs a person.
pub(crate) fn config() -> TurnConfig {
    TurnConfig {
        model: "m".into(),
        tools: vec![
            tool("look", RiskLevel::Safe, true),
            tool("write", RiskLevel::Cautious, false),
            tool("rm", RiskLevel::Confirm, false),
        ],
        ..TurnConfig::default()
    }
}

pub(crate) const USAGE: Usage = Usage {
    input: 10,
    output: 5,
    cache_read: 0,
    cache_write: 0,
    cache_write_hour: 0,
    reasoning: 0,
    provider_tool_uses: 0,
};

pub(crate) fn response(blocks: Vec<Block>, stop: StopReason) -> Response {
    Response {
        id: String::new(),
        model: String::new(),
        message: Message::new(Role::Assistant, blocks),
        stop,
        usage: USAGE,
        extra: None,
        adapted: Vec::new(),
    }
}

pub(crate) fn say(text: &str) -> Response {
    response(vec![Block::text(text)], StopReason::EndTurn)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolUse(ToolUse::from_text(id, name, arguments.to_owned()))
}

/// An answer that is calls alone: id, tool, arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Response {
    response(calls.iter().map(|(id, name, arguments)| call(id, name, arguments)).collect(), StopReason::ToolUse)
}

pub(crate) fn answer(response: Response) -> Step {
    Step::Answer(1.0, response)
}

pub(crate) fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, format!("{kind:?}"))
}

pub(crate) fn fail(kind: FailureKind) -> Step {
    Step::Fail(1.0, failure(kind), false, None)
}

/// Runs a turn on one prompt, and holds the run to what must hold for every run.
pub(crate) fn run(world: &mut World, config: TurnConfig) -> SimulatedRun {
    run_on(world, config, vec![Message::user("go")])
}

pub(crate) fn run_on(world: &mut World, config: TurnConfig, messages: Vec<Message>) -> SimulatedRun {
    let ended = world.run(MachineConfig::Turn(config), messages).expect("the run ends");
    for request in &world.requests {
        assert_legal(&request.messages);
    }
    assert_legal(&ended.messages);
    let journal = String::from_utf8(world.journal.clone()).unwrap();
    let replay = journal::replay(&journal).unwrap();
    assert_eq!(replay.divergence, None);
    assert_eq!(replay.outcome.as_ref(), Some(&ended.outcome));
    assert_eq!(replay.messages, ended.messages);
    ended
}

/// Each reply with calls is directly followed by one message that has exactly one result for each call, in order,
/// before all else; nowhere else are there results; no id stands twice.
pub(crate) fn assert_legal(history: &History) {
    if let Err(why) = legal(history) {
        panic!("{why} in {history:#?}");
    }
}

pub(crate) fn legal(history: &History) -> Result<(), String> {
    let messages: Vec<&Message> = history.iter().collect();
    let mut seen = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message.content.is_empty() {
            return Err(format!("message {at} is empty"));
        }
        let calls: Vec<&ToolUse> = message.tool_uses().collect();
        if !calls.is_empty() && message.role != Role::Assistant {
            return Err(format!("message {at} calls tools and is no reply"));
        }
        for call in &calls {
            if call.id.is_empty() || !seen.insert(&call.id) {
                return Err(format!("the id {:?} is empty or stands twice", call.id));
            }
            if !call.input.is_object() || call.invalid.is_some() {
                return Err(format!("the arguments of {:?} are no object", call.id));
            }
        }
        let expected: Vec<&str> = match at.checked_sub(1).and_then(|before| messages.get(before)) {
            Some(before) if before.role == Role::Assistant => before.tool_uses().map(|call| call.id.as_str()).collect(),
            _ => Vec::new(),
        };
        let results: Vec<&str> = message.tool_results().map(|result| result.id.as_str()).collect();
        if results != expected {
            return Err(format!("message {at} has results {results:?}, not {expected:?}"));
        }
        let first = message.content.iter().take(results.len());
        if !first.clone().all(|block| matches!(block, Block::ToolResult(_))) {
            return Err(format!("message {at} has something before its results"));
        }
        if !results.is_empty() && message.role != Role::User {
            return Err(format!("message {at} has results and is not the user's"));
        }
    }
    if messages.last().is_some_and(|last| last.tool_uses().next().is_some()) {
        return Err("the last calls have no results".into());
    }
    Ok(())
}

/// The failure kinds of the results in the last message that has any; `ok` where there is none.
pub(crate) fn results(history: &History) -> Vec<String> {
    let message = history.iter().rev().find(|message| message.tool_results().next().is_some());
    message.map_or_else(Vec::new, |message| {
        message
            .tool_results()
            .map(|result| result.failure.as_ref().map_or("ok".to_owned(), |failure| failure.kind.clone()))
            .collect()
    })
}

pub(crate) fn warned(outcome: &Outcome, code: &str) -> bool {
    outcome.warnings.iter().any(|warning| warning.starts_with(&format!("{code}: ")))
}

/// Ids of the executed calls, one list for each `Execute`, and whether they ran at once.
pub(crate) fn executed(commands: &[Command]) -> Vec<(Vec<String>, bool)> {
    commands
        .iter()
        .filter_map(|command| match command {
            Command::Execute { calls, parallel, .. } => {
                Some((calls.iter().map(|call| call.tool_use.id.clone()).collect(), *parallel))
            }
            _ => None,
        })
        .collect()
}

pub(crate) fn count(notices: &[Notice], which: fn(&Notice) -> bool) -> usize {
    notices.iter().filter(|notice| which(notice)).count()
}
