//! What a request asks for: the script stands in the URL path, the progress of the run in the request body.
//!
//! Both are read with substring searches instead of a JSON parser, so that the provider's cost stays far below
//! that of any client, whatever the length of the history.

use memchr::memmem;

/// How the first answer of a run is to be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An HTTP error status with a JSON error body.
    Status(u16),
    /// A tool call whose arguments are cut off in the middle of the JSON.
    BadJson,
    /// An error event in a stream answered with 200, before any delta.
    EarlyError,
    /// The same after two deltas.
    MidError,
    /// A TCP reset after two deltas.
    MidCut,
}

/// The script of a run, from path segments such as `/t10/l500/p4/fmidcut/r17/v1/chat/completions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Tool turns before the final answer (`t`).
    pub turns: usize,
    /// Delay before every answer, in milliseconds (`l`).
    pub latency_ms: u64,
    /// Tool calls in each tool turn (`p`).
    pub parallel: usize,
    /// The fault to inject into the run's first answer (`f`).
    pub fault: Option<Fault>,
    /// Which run this is (`r`); a fault strikes each run id once.
    pub run: String,
}

impl Plan {
    /// Reads a request path; `None` if it isn't a chat completions endpoint or a segment makes no sense.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        let script = path.trim_end_matches('/').strip_suffix("/chat/completions")?;
        let mut plan = Self { turns: 10, latency_ms: 0, parallel: 1, fault: None, run: String::new() };
        for segment in script.split('/').filter(|segment| !segment.is_empty() && *segment != "v1") {
            let (kind, rest) = segment.split_at_checked(1)?;
            match kind {
                "t" => plan.turns = rest.parse().ok()?,
                "l" => plan.latency_ms = rest.parse().ok()?,
                "p" => plan.parallel = rest.parse().ok().filter(|count| (1..=256).contains(count))?,
                "r" => rest.clone_into(&mut plan.run),
                "f" => plan.fault = Some(fault(rest)?),
                _ => return None,
            }
        }
        Some(plan)
    }
}

fn fault(name: &str) -> Option<Fault> {
    Some(match name {
        "429" => Fault::Status(429),
        "500" => Fault::Status(500),
        "529" => Fault::Status(529),
        "badjson" => Fault::BadJson,
        "earlyerr" => Fault::EarlyError,
        "miderr" => Fault::MidError,
        "midcut" => Fault::MidCut,
        _ => return None,
    })
}

/// How many assistant messages the request holds.
///
/// Looks for the value and then backwards for its key, so the order of keys and the spaces around the colon
/// don't matter. A quoted copy of such JSON inside a string has its quotes escaped and isn't counted.
#[must_use]
pub fn assistant_turns(body: &[u8]) -> usize {
    memmem::find_iter(body, b"\"assistant\"").filter(|&at| key_before(&body[..at]) == Some(b"role")).count()
}

/// Whether the top of the request says `"stream": true`.
#[must_use]
pub fn wants_stream(body: &[u8]) -> bool {
    flag(body, b"\"stream\"")
}

/// Whether the request asks for a usage event at the end of a stream.
#[must_use]
pub fn wants_usage(body: &[u8]) -> bool {
    flag(body, b"\"include_usage\"")
}

fn flag(body: &[u8], key: &[u8]) -> bool {
    memmem::find_iter(body, key).any(|at| {
        let rest = body[at + key.len()..].trim_ascii_start();
        rest.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().starts_with(b"true"))
    })
}

/// The key whose value begins right after `head`.
fn key_before(head: &[u8]) -> Option<&[u8]> {
    let head = head.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end().strip_suffix(b"\"")?;
    let start = memchr::memrchr(b'"', head)?;
    Some(&head[start + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_any_order() {
        let plan = Plan::from_path("/l500/t3/p10/fmidcut/rabc/v1/chat/completions").expect("a plan");
        assert_eq!((plan.turns, plan.latency_ms, plan.parallel), (3, 500, 10));
        assert_eq!((plan.fault, plan.run.as_str()), (Some(Fault::MidCut), "abc"));
        assert!(Plan::from_path("/t3/v1/chat/completions?x=1").is_some());
        assert!(Plan::from_path("/t3/v1/responses").is_none());
        assert!(Plan::from_path("/tx/v1/chat/completions").is_none());
        assert!(Plan::from_path("/t1/p0/v1/chat/completions").is_none());
        assert!(Plan::from_path("/é/v1/chat/completions").is_none());
    }

    #[test]
    fn assistants_are_counted_in_any_shape() {
        let body = br#"{"messages":[{"role":"user","content":"x"},{"role": "assistant"},
            {"content":null,"tool_calls":[],"role" : "assistant"},{"role":"assistant","content":"\"role\":\"assistant\""},
            {"role":"user","content":"assistant"},{"name":"assistant"}]}"#;
        assert_eq!(assistant_turns(body), 3);
    }

    #[test]
    fn stream_flags() {
        assert!(wants_stream(br#"{"stream" : true}"#));
        assert!(!wants_stream(br#"{"stream":false,"stream_options":{"include_usage":true}}"#));
        assert!(wants_usage(br#"{"stream":true,"stream_options":{"include_usage": true}}"#));
    }
}
