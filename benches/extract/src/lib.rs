//! The texts that extraction is measured on, and how they are fed. Every text is made by rule from its size, so that figures of one
//! size compare with those of another.

use std::{fmt::Write as _, sync::LazyLock};

use loopwright_extract::{Event, Events, Parser, Policy, Signatures};
use serde_json::json;

/// How many characters a model's delta has here.
pub const CHUNK: usize = 4;
/// The sizes of an argument, in bytes.
pub const SIZES: [usize; 4] = [2_000, 20_000, 200_000, 2_000_000];

/// Source code, as a model writes it into a file: a newline or a quote every few words.
pub fn code(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 128);
    for line in 0.. {
        if text.len() >= bytes {
            break;
        }
        match line % 4 {
            0 => _ = writeln!(text, "fn step_{line}(state: &mut State, input: &str) -> Result<Step, Error> {{"),
            1 => _ = writeln!(text, "    let name = state.names.get(input).ok_or(\"no such name\")?;"),
            2 => _ = writeln!(text, "    // What was read so far stays; the rest is read again after the next event."),
            _ => _ = writeln!(text, "    Ok(Step::Next {{ name, place: state.place + {line} }})\n}}\n"),
        }
    }
    text.truncate(bytes);
    text
}

/// Prose for people: no call, but what markers begin with, here and there.
pub fn prose(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 512);
    while text.len() < bytes {
        text.push_str(
            "The loop asks the model, runs what it called for and asks again, until the answer is there or a limit is \
             reached. A limit is no failure: what was found so far is kept, and whoever asked may go on from it.\n\n\
             Where a tool takes longer than its deadline the call ends with an error that the model can read; if it was \
             cheap (less than 5 ms) nobody notices. Compare the figures before and after, and keep both.\n\n",
        );
    }
    text.truncate(bytes);
    text
}

/// A call with one long argument, as Hermes and Qwen write it.
pub fn json_call(bytes: usize) -> String {
    let arguments = json!({"path": "src/step.rs", "content": code(bytes)});
    format!("I'll write it.\n<tool_call>\n{{\"name\": \"write\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// The same of prose: next to no escapes.
pub fn json_prose_call(bytes: usize) -> String {
    let arguments = json!({"path": "notes.md", "content": prose(bytes)});
    format!("I'll write it.\n<tool_call>\n{{\"name\": \"write\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// The same as Qwen3-Coder writes it.
pub fn xml_call(bytes: usize) -> String {
    format!(
        "I'll write it.\n<tool_call>\n<function=write>\n<parameter=path>\nsrc/step.rs\n</parameter>\n<parameter=content>\n{}\n</parameter>\n</function>\n</tool_call>",
        code(bytes)
    )
}

/// The same as Kimi K2 writes it.
pub fn kimi_call(bytes: usize) -> String {
    let arguments = json!({"path": "src/step.rs", "content": code(bytes)});
    format!(
        "I'll write it.<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{arguments}<|tool_call_end|><|tool_calls_section_end|>"
    )
}

/// Shapes on which parsers took time that grew with the square of the text: a name, the text of so many bytes.
pub fn shapes() -> Vec<(&'static str, fn(usize) -> String)> {
    vec![
        ("a list that never ends", |n| OPEN.to_owned() + "[" + &"[1,2],".repeat(n / 6)),
        ("braces without end", |n| OPEN.to_owned() + &"{\"a\":[".repeat(n / 6)),
        ("a broken string with every sign in it", |n| OPEN.to_owned() + "\"" + &"\\\" { [ , } ] ".repeat(n / 14)),
        ("unquoted keys, doubled commas", |n| OPEN.to_owned() + "[" + &"{'b': 1,, ".repeat(n / 10)),
        ("many keys", |n| OPEN.to_owned() + "{" + &"\"key of it\": \"v\", ".repeat(n / 18)),
        ("openers without calls", |n| "<tool_call>".repeat(n / 11)),
        ("half openers", |n| "<tool_call".repeat(n / 10)),
        ("white space around an opener", |n| " ".repeat(n / 2) + "<tool_call>" + &" ".repeat(n / 2)),
        ("fences", |n| "```\n<tool_call>\n".repeat(n / 16)),
        ("backticks", |n| "`".repeat(n)),
        ("thoughts that begin and never end", |n| "<think>".repeat(n / 7)),
        ("closers inside a value", |n| {
            "<tool_call>\n<function=write>\n<parameter=content>\n".to_owned() + &"</parameter> x\n".repeat(n / 15)
        }),
        ("calls of an unknown tool", |n| {
            "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>\n".repeat(n / 52)
        }),
    ]
}

const OPEN: &str = "<tool_call>{\"name\": \"write\", \"arguments\": {\"a\": ";

/// Many small calls with a word between them.
pub fn small_calls(count: usize) -> String {
    let mut text = String::new();
    for at in 0..count {
        _ = write!(
            text,
            "<tool_call>\n{{\"name\": \"write\", \"arguments\": {{\"path\": \"f{at}\", \"content\": \"x\"}}}}\n</tool_call>\n"
        );
    }
    text
}

/// A short reply with one call.
pub fn small_reply() -> String {
    "Let me look that up.\n<tool_call>\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}\n</tool_call>".to_owned()
}

/// An object with what models get wrong most: trailing commas, a missing comma, a bare key, a comment, and no end.
pub fn broken(bytes: usize) -> String {
    let mut text = String::from("{\"rows\": [\n");
    for at in 0.. {
        if text.len() >= bytes {
            break;
        }
        _ = match at % 4 {
            0 => {
                writeln!(text, "  {{\"id\": {at}, \"name\": \"the {at}th of them\", \"tags\": [\"new\", \"open\",]}},")
            }
            1 => writeln!(text, "  {{id: {at}, \"name\": \"it has a bare key\" \"tags\": []}},"),
            2 => writeln!(text, "  {{\"id\": {at}, \"name\": 'single quotes', \"done\": True}}, // checked"),
            _ => writeln!(text, "  {{\"id\": {at}, \"name\": \"as it should be\", \"tags\": [\"closed\"]}},"),
        };
    }
    text
}

/// The tool of all these calls.
pub fn tool() -> serde_json::Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}})
}

/// It alone is declared.
pub fn tools() -> Signatures {
    static TOOLS: LazyLock<Signatures> = LazyLock::new(|| {
        let mut tools = Signatures::default();
        tools.add("write", &tool());
        tools
    });
    TOOLS.clone()
}

/// A parser as the turn machine makes it: every dialect armed.
pub fn parser() -> Parser {
    Parser::new(Some(tools()), None, Policy::default())
}

/// Feeds a text in pieces, into a batch that is used again, and looks at each event; gives how many bytes came out and how many
/// complete calls.
pub fn feed(mut parser: Parser, text: &str, size: usize, events: &mut Events) -> (usize, usize) {
    let (mut bytes, mut calls) = (0, 0);
    let mut take = |events: &mut Events| {
        for event in events.iter() {
            match event {
                Event::Text { text, .. } | Event::Reasoning { text, .. } => bytes += text.len(),
                Event::Arguments { json, .. } => bytes += json.len(),
                Event::CallFinished { call, .. } => calls += usize::from(call.complete),
                _ => {}
            }
        }
        events.clear();
    };
    for piece in text.as_bytes().chunks(size.max(1)) {
        parser.feed(piece, events);
        take(events);
    }
    parser.finish(events);
    take(events);
    (bytes, calls)
}

/// How many pieces that makes.
pub fn pieces(text: &str, size: usize) -> u64 {
    text.len().div_ceil(size) as u64
}
