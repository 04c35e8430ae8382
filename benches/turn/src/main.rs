//! The loop alone: a run of tool turns with a model and a tool in memory, journal written, nothing sent.
//!
//! Prints CPU microseconds per turn for runs of several lengths, and the bytes of their journals. Arguments: rounds of
//! measuring (default 5), then `guard` or `plain`: with the guard that the package switches on, or without; then `hooks`
//! for a hook at each of ten stages, which has nothing to say, or the names of stages.

use loopwright_machine::{journal::Run, Command, Event, EventKind, HookAnswer, HookReply, MachineConfig, Time};
use loopwright_base::{message::{Block, Message, Role, StopReason, ToolResult, ToolUse, Usage}, request::Response};

const ALL: [&str; 10] = [
    "pre_assess",
    "post_assess",
    "pre_reason",
    "pre_llm",
    "post_llm",
    "post_reason",
    "pre_tool",
    "post_tool",
    "pre_output",
    "post_output",
];

const PROMPT: &str = "Look every key up, then say so.";

fn config(guard: bool, hooks: &[String]) -> MachineConfig {
    let mut turn = serde_json::json!({
        "model": "fake",
        "tools": [{
            "name": "lookup", "description": "Look a key up.", "risk": "safe", "read_only": true,
            "schema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
        }],
        "budget": {"tool_rounds": 1000, "iterations": 1000, "wall_time": 600.0},
        "seed": 7,
    });
    if !hooks.is_empty() {
        let all = hooks[0] == "hooks";
        turn["hooks"] = if all { serde_json::json!(ALL) } else { serde_json::json!(hooks) };
    }
    if guard {
        turn["guard"] = serde_json::json!({"around": {"home": "/home/me", "workspace": "/home/me/work"}});
    }
    serde_json::from_str(&serde_json::json!({ "turn": turn }).to_string()).expect("a configuration")
}

fn reply(turn: usize, turns: usize) -> Response {
    let (content, stop) = if turn < turns {
        let call = ToolUse::from_text(format!("call_{turn}"), "lookup", format!("{{\"key\": \"k{turn:05}\"}}"));
        (Block::ToolUse(call), StopReason::ToolUse)
    } else {
        (Block::text("Every key was looked up, every value was found, and nothing is left to do."), StopReason::EndTurn)
    };
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    Response {
        id: String::new(),
        model: "fake".into(),
        message: Message::new(Role::Assistant, vec![content]),
        stop,
        usage,
        extra: None, adapted: Vec::new(),
    }
}

/// Runs to the end; gives the bytes of the journal, and how many model requests there were.
fn run(config: &MachineConfig, turns: usize) -> (usize, usize) {
    let mut run = Run::new("bench", config.clone(), true);
    let mut queue = std::collections::VecDeque::from([EventKind::Start { messages: vec![Message::user(PROMPT)] }]);
    let (mut bytes, mut asked, mut micros) = (0, 0, 0);
    while let Some(kind) = queue.pop_front() {
        micros += 100;
        for command in run.step(Event { at: Time(micros), kind }) {
            match command {
                Command::Generate { id, .. } => {
                    let response = Box::new(reply(asked, turns));
                    asked += 1;
                    queue.push_back(EventKind::Generated { id, response });
                }
                Command::Execute { id, calls, .. } => {
                    for call in calls {
                        let key = call.tool_use.input.text();
                        let result =
                            ToolResult::text(&call.tool_use.id, &call.tool_use.name, format!("value of {key}"));
                        queue.push_back(EventKind::Executed { id, result });
                    }
                }
                Command::Hook { id, .. } => {
                    let replies = vec![HookReply { name: "nothing".into(), answer: HookAnswer::Continue }];
                    queue.push_back(EventKind::Hooked { id, replies });
                }
                Command::Finish { outcome } => assert!(outcome.r#final.is_some(), "{outcome:?}"),
                _ => {}
            }
        }
        bytes += run.take_log().len();
    }
    (bytes, asked)
}

/// Nanoseconds that this thread has had of a processor: what others take does not count.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("a number")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = arguments.first().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let guard = arguments.get(1).is_none_or(|kind| kind == "guard");
    let config = config(guard, arguments.get(2..).unwrap_or_default());
    for turns in [0_usize, 10, 50, 199, 599] {
        // Many, because some kernels count in ticks.
        let repeat = 40_000 / (turns + 1);
        let (bytes, asked) = run(&config, turns);
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let begun = cpu();
            for _ in 0..repeat {
                std::hint::black_box(run(&config, turns));
            }
            best = best.min((cpu() - begun) / (repeat * asked) as f64);
        }
        println!("{asked:>4} turns {:>8.2} us/turn {:>7} journal bytes/turn", best / 1e3, bytes / asked);
    }
}
