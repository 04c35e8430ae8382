//! A call and its result as a few hashes: everything the detector keeps of them.
//!
//! Arguments are hashed in their canonical form: the order of keys and white space say nothing. The key of the hash is
//! fixed, so that a replay, or another machine, sees the same steps.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    failure,
    noise::{self, Grade},
};
use crate::core::message::{Block, Source, ToolResult, ToolUse};

/// Arguments longer than this are hashed as they stand.
const LONGEST_JSON: usize = 16 * 1024;
/// As deep as any parser of ours goes.
const DEEPEST: usize = 128;

/// What the detector keeps of a call and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The tool.
    pub(super) tool: u64,
    /// Tool and arguments.
    pub(super) exact: u64,
    /// Tool and arguments without noise.
    pub(super) call: u64,
    /// The result without noise; of an error, its class.
    pub(super) result: u64,
    /// Whether it failed, by its mark or in its words.
    pub(super) failed: bool,
    /// Whether it is marked as a failure.
    pub(super) marked: bool,
    /// Whether it says nothing about the model: the call never ran.
    pub(super) void: bool,
    /// Whether the tool was left alone because it failed before: the same failure goes on.
    pub(super) left_alone: bool,
    /// Whether the error says only that there was one.
    pub(super) bare: bool,
}

impl Step {
    /// The step of a call and its result.
    pub fn of(call: &ToolUse, result: &ToolResult) -> Self {
        let (tool, exact, call) = call_hashes(&call.name, call.arguments_text());
        let mut hash = 0;
        let text = result.content.iter().find_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let failed = result.is_error || failure::is_told(text.unwrap_or_default());
        let grade = if failed { Grade::Error } else { Grade::Result };
        for block in &result.content {
            let next = match block {
                Block::Text(text) => noise::hash(text.text.as_bytes(), grade),
                Block::Image(media) | Block::Document(media) => match &media.source {
                    Source::Base64 { data, .. } | Source::Text { data, .. } => xxh3_64(data.as_bytes()),
                    Source::Url(name) | Source::File(name) => xxh3_64(name.as_bytes()),
                },
                Block::Provider(block) => xxh3_64(block.raw.text().as_bytes()),
                Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) => continue,
            };
            hash = join(hash, next);
        }
        if let Some(failure) = &result.failure {
            hash = join(xxh3_64(failure.kind.as_bytes()), noise::hash(failure.message.as_bytes(), Grade::Error));
        }
        let kind = result.failure.as_ref().map(|failure| failure.kind.as_str());
        let message = result.failure.as_ref().map_or(text, |failure| Some(&failure.message));
        let bare = failed && failure::is_bare(message.unwrap_or_default());
        Self {
            tool,
            exact,
            call,
            result: hash,
            failed,
            marked: result.is_error,
            void: is_void(kind),
            left_alone: kind == Some("unavailable"),
            bare,
        }
    }

    /// The step of a call and a result that are plain text. `kind` is the kind of failure, where there is one.
    pub fn of_text(name: &str, arguments: &str, result: &str, failed: bool, kind: Option<&str>) -> Self {
        let (tool, exact, call) = call_hashes(name, arguments);
        let marked = failed;
        let failed = failed || failure::is_told(result);
        let bare = failed && failure::is_bare(result);
        let grade = if failed { Grade::Error } else { Grade::Result };
        let text = noise::hash(result.as_bytes(), grade);
        let hash = kind.map_or_else(|| join(0, text), |kind| join(xxh3_64(kind.as_bytes()), text));
        Self {
            tool,
            exact,
            call,
            result: hash,
            failed,
            marked,
            void: is_void(kind),
            left_alone: kind == Some("unavailable"),
            bare,
        }
    }

    /// The step of which the hashes are known: of calls that are no tools of ours, for instance.
    pub const fn of_hashes(tool: u64, call: u64, result: u64, failed: bool) -> Self {
        Self { tool, exact: call, call, result, failed, marked: failed, void: false, left_alone: false, bare: false }
    }

    /// Whether the call failed, by the mark of its result or in its words.
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Call and result in one.
    pub(super) const fn print(&self) -> u64 {
        join(self.call, self.result)
    }

    /// What tells this error from others.
    pub(super) const fn class(&self) -> u64 {
        // An error that says nothing is the same only for the same call: a search that found nothing, say.
        join(if self.bare { self.call } else { self.tool }, self.result)
    }
}

/// A call that never ran tells nothing about what it would have done.
fn is_void(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| matches!(kind, "cancelled" | "not_run"))
}

/// The hashes of tool, tool with arguments, and the same without noise.
pub(super) fn call_hashes(name: &str, arguments: &str) -> (u64, u64, u64) {
    let tool = xxh3_64(name.as_bytes());
    let text = arguments.trim().as_bytes();
    let (exact, free) = if text.len() > LONGEST_JSON {
        (xxh3_64(text), noise::hash(text, Grade::Argument { slot: false }))
    } else {
        Reader { text, at: 0 }
            .read()
            .unwrap_or_else(|| (xxh3_64(text), noise::hash(text, Grade::Argument { slot: false })))
    };
    (tool, join(tool, exact), join(tool, free))
}

/// Mixes two hashes into one; order counts.
pub(super) const fn join(a: u64, b: u64) -> u64 {
    // The finish of SplitMix64: every bit of both decides about every bit.
    let mut x = a.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What the members of an object or array have come to.
struct Level {
    object: bool,
    exact: u64,
    free: u64,
    key: Option<(u64, Role)>,
    /// Members that say what the call does, what the model thinks of it, and what it does.
    description: u64,
    thought: u64,
    other: bool,
    command: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Plain,
    Slot,
    Counter,
    Stamp,
    Description,
    Thought,
    Command,
}

/// Reads JSON once and hashes it on the way. It needs no more of the grammar than where values begin and end; what is
/// no JSON is hashed as text.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn read(mut self) -> Option<(u64, u64)> {
        let mut levels: Vec<Level> = Vec::new();
        loop {
            self.space();
            let b = *self.text.get(self.at)?;
            let (exact, free) = match b {
                b'{' | b'[' => {
                    if levels.len() >= DEEPEST {
                        return None;
                    }
                    self.at += 1;
                    levels.push(Level {
                        object: b == b'{',
                        exact: 0,
                        free: 0,
                        key: None,
                        description: 0,
                        thought: 0,
                        other: false,
                        command: false,
                    });
                    continue;
                }
                b'}' | b']' => {
                    let level = levels.pop().filter(|level| level.object == (b == b'}') && level.key.is_none())?;
                    self.at += 1;
                    let mut free = level.free;
                    // Words about a command are no part of it; words alone are what the call is.
                    if !level.command {
                        free = free.wrapping_add(level.description);
                    }
                    if !level.other {
                        free = free.wrapping_add(level.thought);
                    }
                    (join(u64::from(b), level.exact), join(u64::from(b), free))
                }
                b',' => {
                    self.at += 1;
                    continue;
                }
                b'"' => {
                    let inside = self.string()?;
                    let role = levels.last().and_then(|level| level.key).map_or(Role::Plain, |(_, role)| role);
                    if levels.last().is_some_and(|level| level.object && level.key.is_none()) {
                        self.space();
                        (self.text.get(self.at) == Some(&b':')).then_some(())?;
                        self.at += 1;
                        if let Some(level) = levels.last_mut() {
                            level.key = Some((xxh3_64(inside), role_of(inside)));
                        }
                        continue;
                    }
                    let exact = join(1, xxh3_64(inside));
                    (exact, free_string(inside, role))
                }
                _ => {
                    let inside = self.scalar()?;
                    let role = levels.last().and_then(|level| level.key).map_or(Role::Plain, |(_, role)| role);
                    let exact = join(2, xxh3_64(inside));
                    (exact, free_number(inside, role, exact))
                }
            };
            let Some(level) = levels.last_mut() else {
                self.space();
                return (self.at == self.text.len()).then_some((exact, free));
            };
            if level.object {
                let (key, role) = level.key.take()?;
                let free = join(key, free);
                // Members come in any order.
                level.exact = level.exact.wrapping_add(join(key, exact));
                match role {
                    Role::Description => level.description = level.description.wrapping_add(free),
                    Role::Thought => level.thought = level.thought.wrapping_add(free),
                    _ => level.free = level.free.wrapping_add(free),
                }
                level.other |= role != Role::Thought;
                level.command |= role == Role::Command;
            } else {
                level.exact = join(level.exact, exact);
                level.free = join(level.free, free);
            }
        }
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// The inside of the string that begins here.
    fn string(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            end += memchr::memchr2(b'"', b'\\', self.text.get(end..)?)?;
            if self.text.get(end) == Some(&b'"') {
                break;
            }
            end += 2;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// A number, or a word such as `true`.
    fn scalar(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let length = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.')));
        let length = length.unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }
}

fn role_of(key: &[u8]) -> Role {
    if noise::names_stamp(key) {
        Role::Stamp
    } else if noise::names_counter(key) {
        Role::Counter
    } else if matches!(key, b"command" | b"cmd" | b"code" | b"script") {
        Role::Command
    } else if key == b"description" {
        Role::Description
    } else if matches!(key, b"thought" | b"thoughts" | b"thinking" | b"reasoning" | b"rationale" | b"explanation") {
        Role::Thought
    } else if noise::names_slot(key) {
        Role::Slot
    } else {
        Role::Plain
    }
}

fn free_string(inside: &[u8], role: Role) -> u64 {
    let counts = role == Role::Counter && !inside.is_empty() && inside.iter().all(u8::is_ascii_digit);
    if role == Role::Stamp || counts {
        return 0;
    }
    join(1, noise::hash(inside.trim_ascii(), Grade::Argument { slot: role == Role::Slot }))
}

fn free_number(inside: &[u8], role: Role, exact: u64) -> u64 {
    let number = inside.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-');
    if number && matches!(role, Role::Counter | Role::Stamp) {
        0
    } else if number && role == Role::Plain {
        join(2, noise::hash(inside, Grade::Argument { slot: false }))
    } else {
        exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(arguments: &str) -> u64 {
        call_hashes("f", arguments).1
    }
    fn free(arguments: &str) -> u64 {
        call_hashes("f", arguments).2
    }

    #[test]
    fn the_order_of_keys_and_spaces_say_nothing() {
        assert_eq!(exact(r#"{"a": 1, "b": [1, {"c": "x"}]}"#), exact(r#" {"b":[1,{"c":"x"}],"a":1}"#));
        for other in [
            r#"{"a": 1, "b": [{"c": "x"}, 1]}"#,
            r#"{"a": 1.0, "b": [1, {"c": "x"}]}"#,
            r#"{"a": "1", "b": [1, {"c": "x"}]}"#,
            r#"{"b": 1, "a": [1, {"c": "x"}]}"#,
            r#"{"a": 1, "b": [1, {"c": "x"}], "d": null}"#,
            "{}",
            "[]",
            "",
            "{",
            "no JSON",
        ] {
            assert_ne!(exact(r#"{"a": 1, "b": [1, {"c": "x"}]}"#), exact(other), "{other}");
        }
        assert_ne!(exact("[[1],2]"), exact("[1,[2]]"));
        assert_ne!(exact("{}"), exact("[]"));
    }

    #[test]
    fn c25_names_of_arguments_tell_noise_from_data() {
        for (a, b) in [
            (r#"{"q":"x","attempt":1}"#, r#"{"attempt":22,"q":"x"}"#),
            (r#"{"q":"x","retryCount":"1"}"#, r#"{"q":"x","retryCount":"2"}"#),
            (r#"{"command":"ls","description":"List"}"#, r#"{"description":"Look","command":"ls"}"#),
            (r#"{"command":"ls"}"#, r#"{"description":"Look","command":"ls "}"#),
            (r#"{"path":"a","thought":"hm"}"#, r#"{"path":"a","thought":"so"}"#),
            (r#"{"q":"x","ts":1700000001}"#, r#"{"q":"x","ts":1700000002.5}"#),
            (r#"{"q":"x","t":1700000001123}"#, r#"{"q":"x","t":1700000002123}"#),
            (r#"{"q":"x","request_id":"a"}"#, r#"{"q":"x","request_id":"b"}"#),
            (r#"{"q":"x","at":"2026-01-02T03:04:05Z"}"#, r#"{"q":"x","at":"2026-01-02T03:04:06Z"}"#),
        ] {
            assert_eq!(free(a), free(b), "{a} | {b}");
            assert_ne!(exact(a), exact(b));
        }
        for (a, b) in [
            (r#"{"thought":"hm"}"#, r#"{"thought":"so"}"#),
            (r#"{"title":"a","description":"b"}"#, r#"{"title":"a","description":"c"}"#),
            (r#"{"page":1}"#, r#"{"page":2}"#),
            (r#"{"id":"12"}"#, r#"{"id":"13"}"#),
            (r#"{"start":"2026-01-02T09:00:00"}"#, r#"{"start":"2026-01-02T10:00:00"}"#),
            (r#"{"country":1}"#, r#"{"country":2}"#),
            (r#"{"counter":true}"#, r#"{"counter":false}"#),
        ] {
            assert_ne!(free(a), free(b), "{a} | {b}");
        }
    }
}
