//! A provider's cache holds the beginning of a prompt: from one request of a run to the next, instructions, tools and
//! the messages so far stay the same to the byte, whatever happens in between.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Message, ProviderBlock, StopReason, Thinking, Wire},
    request::{Effort, OutputSchema, Request, ToolChoice},
};
use loopwright_drive::sim::{Step, World};
use loopwright_guard::RiskLevel;
use loopwright_machine::turn::TurnConfig;
use loopwright_wire::encode_request;
use turn_support::{answer, call, calls, config, fail, failure, response, run_on, say, tool};

/// What the provider's cache sees of a request: what stands before the messages, and the messages one by one.
fn prompt(wire: Wire, request: &Request) -> (Vec<String>, Vec<String>) {
    let body = Fields::parse(&encode_request(wire, request).unwrap()).unwrap();
    let before = ["system", "instructions", "systemInstruction", "tools"].iter().filter_map(|key| body.get(key));
    let messages: Vec<Raw> = ["messages", "input", "contents"].iter().find_map(|key| body.get(key)?.to().ok()).unwrap();
    // On Gemini neighbours of one role are one content: what is new may stand behind the last part.
    let pieces = |raw: &Raw| match wire {
        Wire::Gemini => Fields::parse(raw.text()).unwrap().get("parts").unwrap().to().unwrap(),
        _ => vec![raw.clone()],
    };
    let texts = messages.iter().flat_map(pieces).map(|raw| raw.text().to_owned()).collect();
    (before.map(|raw| raw.text().to_owned()).collect(), texts)
}

fn assert_prefix(requests: &[Request], name: &str) {
    for wire in [Wire::Anthropic, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini] {
        let prompts: Vec<_> = requests.iter().map(|request| prompt(wire, request)).collect();
        for (n, pair) in prompts.windows(2).enumerate() {
            let [(before, messages), (before_next, next)] = pair else { unreachable!() };
            assert_eq!(before, before_next, "{name} on {}: request {n}", wire.name());
            assert!(next.starts_with(messages), "{name} on {}: {messages:#?}\n{next:#?}", wire.name());
        }
    }
}

fn settings() -> TurnConfig {
    TurnConfig {
        system: Some("Be brief.".to_owned()),
        effort: Some(Effort::High),
        output: Some(OutputSchema {
            name: "answer".to_owned(),
            schema: Raw::parse(r#"{"type":"object"}"#).unwrap(),
            strict: None,
            description: None,
        }),
        ..config()
    }
}

fn thinking(text: &str) -> Block {
    Block::Thinking(Thinking { text: text.to_owned(), signature: Some("sig".to_owned()), redacted: None, extra: None })
}

#[test]
fn what_was_sent_stays_the_same_to_the_byte() {
    let look = || answer(calls(&[("", "look", "{\"a\": 1.50}"), ("x", "nobody", "{}"), ("x", "look", "[1]")]));
    let search = Raw::parse(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#).unwrap();
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#;
    let provider = |raw: Raw| Block::Provider(ProviderBlock { wire: Wire::Anthropic, raw });
    let paused = vec![Block::text("I look."), provider(search), provider(Raw::parse(found).unwrap())];
    let cut = response(vec![Block::text(" "), call("c", "look", "{\"a\":")], StopReason::MaxTokens);
    let worlds: Vec<(&str, Vec<Step>)> = vec![
        ("rounds to the last", vec![look(), look(), look(), look(), answer(say("Done."))]),
        ("an empty answer", vec![look(), answer(response(vec![], StopReason::EndTurn)), answer(say("Done."))]),
        (
            "an answer that is thinking alone",
            vec![look(), answer(response(vec![thinking("hm")], StopReason::EndTurn)), answer(say("Done."))],
        ),
        ("a nudge", vec![answer(say("I will now look at the file.")), look(), answer(say("Done."))]),
        ("a pause", vec![answer(response(paused, StopReason::PauseTurn)), look(), answer(say("Done."))]),
        ("a cut call", vec![answer(cut), answer(say("Done."))]),
        (
            "failures",
            vec![
                look(),
                fail(loopwright_base::error::FailureKind::Server),
                Step::Fail(1.0, failure(loopwright_base::error::FailureKind::Cut), true, Some(say("Do"))),
                answer(say("Done.")),
            ],
        ),
    ];
    for (name, steps) in worlds {
        for choice in [None, Some(ToolChoice::Any)] {
            let mut config = TurnConfig { tool_choice: choice, ..settings() };
            config.budget.tool_rounds = 4;
            config.tools.push(tool("other", RiskLevel::Safe, false));
            let mut world = World::scripted(steps.clone())
                .tool("look", |_| (1.0, loopwright_base::message::ToolResult::text("", "", "seen\n\u{2028}\"it\"")));
            let messages = vec![Message::user("a"), Message::assistant("b"), Message::user("c")];
            let ended = run_on(&mut world, config, messages);
            assert!(world.requests.len() >= 2, "{name}: {ended:?}");
            assert_prefix(&world.requests, name);
        }
    }
}
