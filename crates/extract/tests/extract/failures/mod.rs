//! What went wrong elsewhere and must not go wrong here: one test per public report, named after it
//! (`vllm_45167` is thread 45167 of vLLM's repository). Each text is read whole, at every cut and byte by byte.

mod arguments;
mod chunks;
mod leaks;
mod parallel;
mod quoted;
mod robust;
mod slow;
mod strings;
mod twice;
mod unicode;

use serde_json::Value;

use crate::reading::{Reading, Setup, read};

/// One call as Hermes and Qwen write it.
fn hermes(name: &str, arguments: &Value) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// One call as Qwen3-Coder writes it, values as they are.
fn coder(name: &str, parameters: &[(&str, &str)]) -> String {
    let parameters: Vec<_> =
        parameters.iter().map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n")).collect();
    let parameters = parameters.concat();
    format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
}

/// Reads with nothing declared and expects exactly this call, whole and not mended.
#[track_caller]
fn one(text: &str, name: &str, arguments: &Value) -> Reading {
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.called(), [(name, arguments.clone())], "{text}");
    assert!(reading.calls[0].complete, "{reading:?}");
    reading
}

/// Reads with nothing declared and expects text alone, byte for byte.
#[track_caller]
fn no_call(text: &str) -> Reading {
    let reading = read(text, &Setup::auto());
    assert_eq!(reading.calls, [], "{text}");
    assert_eq!(reading.prose, text);
    reading
}
