//! The bodies a provider would send: whole completions and streams of 16 deltas, for tool turns and the final text.
//!
//! They carry the fields that real ones carry (ids, fingerprints, detailed usage), because clients parse those too.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// The final answer of every run; runners compare it letter by letter.
pub const FINAL: &str = "Every key was looked up, every value was found, and nothing is left to do for this task.";
/// Deltas in a streamed answer, without the opening and closing events.
pub const DELTAS: usize = 16;
/// The model name that every answer repeats.
pub const MODEL: &str = "fake-1";

const CREATED: u64 = 1_760_000_000;
static NEXT: AtomicU64 = AtomicU64::new(1);

fn unique() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The arguments of the tool call in a given turn; 17 characters, so that they can be cut into 16 deltas.
#[must_use]
pub fn arguments(turn: usize, call: usize) -> String {
    if call == 0 { format!(r#"{{"key": "k{turn:05}"}}"#) } else { format!(r#"{{"key": "k{turn:05}-{call}"}}"#) }
}

fn escaped(text: &str) -> String {
    text.replace('"', "\\\"")
}

fn usage(prompt: usize, completion: usize) -> String {
    format!(
        r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":0,"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}}"#,
        prompt + completion
    )
}

/// A whole completion with tool calls, one for each string of arguments.
#[must_use]
pub fn tool_turn(arguments: &[String], prompt_bytes: usize) -> String {
    let id = unique();
    let mut calls = String::new();
    for (index, arguments) in arguments.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(
            calls,
            r#"{comma}{{"id":"call_{id:016x}{index:02x}","type":"function","function":{{"name":"lookup","arguments":"{}"}}}}"#,
            escaped(arguments)
        );
    }
    let message =
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{calls}],"refusal":null,"annotations":[]}}"#);
    completion(id, &message, "tool_calls", prompt_bytes, 18 * arguments.len())
}

/// A whole completion with the final text.
#[must_use]
pub fn final_turn(prompt_bytes: usize) -> String {
    let message = format!(r#"{{"role":"assistant","content":"{FINAL}","refusal":null,"annotations":[]}}"#);
    completion(unique(), &message, "stop", prompt_bytes, 21)
}

fn completion(id: u64, message: &str, finish: &str, prompt_bytes: usize, tokens: usize) -> String {
    format!(
        r#"{{"id":"chatcmpl-{id:024x}","object":"chat.completion","created":{CREATED},"model":"{MODEL}","choices":[{{"index":0,"message":{message},"logprobs":null,"finish_reason":"{finish}"}}],"usage":{},"service_tier":"default","system_fingerprint":"fp_44709d6fcb"}}"#,
        usage(prompt_bytes / 4 + 1, tokens)
    )
}

/// The error object of this API.
#[must_use]
pub fn error(status: u16) -> String {
    let (kind, text) = match status {
        429 => ("rate_limit_error", "Rate limit reached, please try again later"),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("server_error", "The server had an error while processing your request"),
    };
    format!(r#"{{"error":{{"message":"{text}","type":"{kind}","param":null,"code":"{kind}"}}}}"#)
}

/// One answer as the events of a stream, each a complete `data:` frame.
pub struct Stream {
    id: u64,
    events: Vec<String>,
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// An empty stream with an id of its own.
    #[must_use]
    pub fn new() -> Self {
        Self { id: unique(), events: Vec::with_capacity(DELTAS + 4) }
    }

    fn chunk(&mut self, delta: &str, finish: &str) {
        self.events.push(format!(
            "data: {{\"id\":\"chatcmpl-{:024x}\",\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\"model\":\"{MODEL}\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]}}\n\n",
            self.id
        ));
    }

    /// The opening event and the deltas of the tool calls.
    #[must_use]
    pub fn calls(mut self, arguments: &[String]) -> Self {
        for (index, arguments) in arguments.iter().enumerate() {
            let opening = if index == 0 { r#""role":"assistant","content":null,"# } else { "" };
            let id = self.id;
            self.chunk(
                &format!(
                    r#"{{{opening}"tool_calls":[{{"index":{index},"id":"call_{id:016x}{index:02x}","type":"function","function":{{"name":"lookup","arguments":""}}}}]}}"#
                ),
                "null",
            );
            for piece in pieces(arguments) {
                self.chunk(
                    &format!(
                        r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":"{}"}}}}]}}"#,
                        escaped(piece)
                    ),
                    "null",
                );
            }
        }
        self
    }

    /// The opening event and the deltas of a text.
    #[must_use]
    pub fn text(mut self, text: &str, deltas: usize) -> Self {
        self.chunk(r#"{"role":"assistant","content":"","refusal":null}"#, "null");
        for piece in pieces(text).take(deltas) {
            self.chunk(&format!(r#"{{"content":"{}"}}"#, escaped(piece)), "null");
        }
        self
    }

    /// The closing events: finish reason, usage if asked for, and the end mark.
    #[must_use]
    pub fn finish(mut self, reason: &str, usage_for: Option<usize>) -> Vec<String> {
        self.chunk("{}", &format!("\"{reason}\""));
        if let Some(prompt_bytes) = usage_for {
            self.events.push(format!(
                "data: {{\"id\":\"chatcmpl-{:024x}\",\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\"model\":\"{MODEL}\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[],\"usage\":{}}}\n\n",
                self.id,
                usage(prompt_bytes / 4 + 1, 18)
            ));
        }
        self.events.push("data: [DONE]\n\n".to_owned());
        self.events
    }

    /// The events so far, followed by an error event and nothing else.
    #[must_use]
    pub fn broken(mut self) -> Vec<String> {
        self.events.push(format!("data: {}\n\n", error(529)));
        self.events
    }

    /// The events so far, cut off.
    #[must_use]
    pub fn cut(self) -> Vec<String> {
        self.events
    }
}

/// Cuts ASCII text into 16 pieces, none of them empty if there are enough characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    (0..DELTAS).map(move |index| &text[text.len() * index / DELTAS..text.len() * (index + 1) / DELTAS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn data(event: &str) -> Value {
        let text = event.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n")).expect("a data frame");
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn whole_answers_are_json() {
        let turn: Value = serde_json::from_str(&tool_turn(&[arguments(3, 0), arguments(3, 1)], 400)).expect("JSON");
        let calls = &turn["choices"][0]["message"]["tool_calls"];
        assert_eq!(calls[0]["function"]["arguments"], r#"{"key": "k00003"}"#);
        assert_eq!(calls[1]["function"]["arguments"], r#"{"key": "k00003-1"}"#);
        assert_ne!(calls[0]["id"], calls[1]["id"]);
        let last: Value = serde_json::from_str(&final_turn(400)).expect("JSON");
        assert_eq!(last["choices"][0]["message"]["content"], FINAL);
        assert!(serde_json::from_str::<Value>(&error(429)).is_ok());
    }

    #[test]
    fn streams_hold_sixteen_deltas_that_add_up() {
        let events = Stream::new().calls(&[arguments(7, 0)]).finish("tool_calls", Some(10));
        assert_eq!(events.len(), 1 + DELTAS + 3);
        let joined: String = events[1..=DELTAS]
            .iter()
            .map(|event| {
                let piece = data(event)["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].clone();
                piece.as_str().filter(|piece| !piece.is_empty()).expect("a piece").to_owned()
            })
            .collect();
        assert_eq!(joined, arguments(7, 0));
        let text = Stream::new().text(FINAL, DELTAS).finish("stop", None);
        let joined: String = text[1..=DELTAS]
            .iter()
            .filter_map(|event| data(event)["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(joined, FINAL);
        assert_eq!(text.len(), 1 + DELTAS + 2);
    }
}
