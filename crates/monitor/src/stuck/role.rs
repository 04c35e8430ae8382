//! Roles of arguments, told by their names: which values say what a call does, and which only accompany it.
//!
//! A value is never judged by its form. A uuid, a hash, a time or a numbered file is what a call is about, until the
//! name of the argument says otherwise; an unknown name is data, since a repetition that is missed costs a few rounds
//! of the budget, and honest work that is taken for one costs the run. The names are those of which the meaning is that
//! a caller makes the value up anew for each try; where the value itself shows that nobody did, it is data under any
//! name: it was shown to the model before, is no id that a machine would make up, or counts more tries than there were.
//!
//! What a new id of the request means depends on the tool: one that only reads is asked the same question again, one
//! that acts is asked for one act more, and the id is data.

use super::{noise::is_made_up, shown::Shown};

/// The most letters of a name that are looked at; longer names are data.
pub(super) const LONGEST_NAME: usize = 32;

/// Before the name of what a caller gives to its request: `client_request_id`.
const CALLER: &[u8] = b"client";

/// What an argument is to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Data.
    Plain,
    /// The number of a try: a number under `attempt`, `retry_count`, ….
    Try,
    /// A time, key or token that the caller gives to the request itself: noise beside data, data where it is all there
    /// is.
    Request,
    /// An id that the caller gives to the request itself; the same.
    Id,
    /// Words about a command.
    Description,
    /// Words of the model to itself.
    Thought,
    /// A command.
    Command,
}

/// The role of the argument `name` in calls of `tool`.
pub(super) fn role_of(tool: &str, name: &[u8]) -> Role {
    let mut letters = [0; LONGEST_NAME];
    let Some(name) = folded(name, &mut letters) else { return Role::Plain };
    match name {
        b"command" | b"cmd" => return Role::Command,
        b"description" | b"explanation" | b"rationale" => return Role::Description,
        b"thought" | b"thoughts" | b"thinking" | b"reasoning" => return Role::Thought,
        b"nonce" | b"cachebuster" | b"now" | b"currenttime" => return Role::Request,
        _ => {}
    }
    let counted = [&b"count"[..], b"number", b"no", b"num", b"index"].iter().find_map(|end| name.strip_suffix(*end));
    if matches!(counted.unwrap_or(name), b"attempt" | b"attempts" | b"try" | b"tries" | b"retry" | b"retries") {
        return Role::Try;
    }
    let name = name.strip_prefix(b"x").or_else(|| name.strip_prefix(CALLER)).unwrap_or(name);
    let made_up = [&b"id"[..], b"key", b"token", b"time", b"timestamp"].iter().find_map(|end| name.strip_suffix(*end));
    match made_up {
        // A tool that is about requests or traces has their ids for data: `approve_request(request_id)`.
        Some(what @ (b"request" | b"req" | b"trace" | b"correlation" | b"idempotency" | b"toolcall"))
            if !is_about(tool, what) =>
        {
            if name.ends_with(b"id") {
                Role::Id
            } else {
                Role::Request
            }
        }
        _ => Role::Plain,
    }
}

/// Whether a tool's name begins with a word for reading.
pub(super) fn reads(tool: &str) -> bool {
    const WORDS: [&str; 14] = [
        "get", "list", "read", "search", "find", "fetch", "lookup", "look", "query", "show", "view", "describe",
        "inspect", "poll",
    ];
    let tool = tool.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |word: &&str| {
        let (first, rest) = tool.as_bytes().split_at_checked(word.len()).unwrap_or_default();
        first.eq_ignore_ascii_case(word.as_bytes()) && !rest.first().is_some_and(u8::is_ascii_lowercase)
    };
    WORDS.iter().any(begins)
}

/// What is known when a call is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    /// What the model was shown.
    pub shown: Option<&'a Shown>,
    /// The rounds before, where they are counted.
    pub rounds: Option<u64>,
    /// Whether the tool is known to do something.
    pub acts: bool,
    /// What the tool declares to be new in its results at every call.
    pub volatile: &'a [String],
}

impl Known<'_> {
    /// Whether a value is data though the name of its argument says otherwise.
    pub(super) fn is_data(self, role: Role, value: &[u8]) -> bool {
        match role {
            Role::Id | Role::Request if self.acts => true,
            Role::Id => !is_made_up(value) || self.shown.is_some_and(|shown| shown.has(value)),
            Role::Request => self.shown.is_some_and(|shown| shown.has(value)),
            Role::Try => {
                let number: Option<u64> = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
                // A count of tries is no larger than they are, from wherever it begins.
                number.zip(self.rounds).is_some_and(|(number, rounds)| number > rounds + 2)
                    || self.shown.is_some_and(|shown| shown.has_try(value))
            }
            Role::Plain | Role::Description | Role::Thought | Role::Command => false,
        }
    }
}

/// Letters and digits of a name in lower case, without what joins its words; `None` for what is no such name.
pub(super) fn folded<'a>(name: &[u8], into: &'a mut [u8; LONGEST_NAME]) -> Option<&'a [u8]> {
    let mut length = 0;
    for b in name.iter().filter(|b| !matches!(b, b'_' | b'-' | b'.' | b' ')) {
        *into.get_mut(length).filter(|_| b.is_ascii_alphanumeric())? = b.to_ascii_lowercase();
        length += 1;
    }
    into.get(..length)
}

/// Whether a tool's name holds a word.
fn is_about(tool: &str, word: &[u8]) -> bool {
    tool.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k1_names_of_tools_that_read() {
        assert!(["search", "get_order", "listFiles", "read-page", "Fetch"].into_iter().all(reads));
        assert!(
            ["", "_", "approve", "decide", "getter", "bookSearch", "send", "check_in"]
                .into_iter()
                .all(|tool| !reads(tool))
        );
    }

    #[test]
    fn k1_only_names_that_mean_a_try_or_a_request_are_noise() {
        let role = |name: &str| role_of("search", name.as_bytes());
        for name in ["attempt", "Attempts", "attempt_no", "attemptNumber", "retry", "retryCount", "retry-count", "try"]
        {
            assert_eq!(role(name), Role::Try, "{name}");
        }
        for name in ["request_id", "requestId", "X-Request-ID", "client_request_id", "trace_id", "tool_call_id"] {
            assert_eq!(role(name), Role::Id, "{name}");
        }
        for name in ["idempotency_key", "requestTimestamp", "nonce", "now"] {
            assert_eq!(role(name), Role::Request, "{name}");
        }
        for name in [
            "",
            "id",
            "uuid",
            "guid",
            "order_id",
            "sha",
            "pid",
            "seq",
            "count",
            "counter",
            "timestamp",
            "ts",
            "at",
            "time",
            "date",
            "max_retries",
            "attempt_id",
            "call_id",
            "span_id",
            "request",
            "trace",
            "call",
            "key",
            "token",
            "poll",
            "iteration",
            "país",
            "a_name_of_an_argument_that_is_far_too_long_to_be_one",
        ] {
            assert_eq!(role(name), Role::Plain, "{name}");
        }
        for (tool, name) in [("approveRequest", "request_id"), ("get_trace", "trace_id")] {
            assert_eq!(role_of(tool, name.as_bytes()), Role::Plain, "{tool} {name}");
        }
    }
}
