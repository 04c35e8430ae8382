//! A call and its result as a few hashes: everything the detector keeps of them.
//!
//! Arguments are hashed in their canonical form: the order of keys and white space say nothing. Beside the hash of all
//! values stands one of the data alone, without the arguments that are noise by their names. The key of the hash is
//! fixed, so that a replay, or another machine, sees the same steps.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    failure,
    noise::{self, Grade, is_made_up},
    role::{Known, Role, role_of},
};
use loopwright_base::message::{Block, MediaSource, ToolResult, ToolUse};

/// Arguments longer than this are hashed as they stand.
const LONGEST_JSON: usize = 16 * 1024;
/// As deep as any parser of ours goes.
const DEEPEST: usize = 128;
/// So many ids that a call made up are looked for in its result.
const MOST_ECHOES: usize = 4;

/// What the detector keeps of a call and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The tool.
    pub(super) tool: u64,
    /// Tool and arguments.
    pub(super) exact: u64,
    /// Tool and arguments without those that are noise.
    pub(super) call: u64,
    /// The result without noise; of an error, its class.
    pub(super) result: u64,
    /// Whether it failed, by its mark or in its words.
    pub(super) failed: bool,
    /// Whether it is marked as a failure.
    pub(super) marked: bool,
    /// What it says about the model.
    #[serde(default)]
    pub(super) says: Says,
    /// Whether the error says only that there was one.
    pub(super) bare: bool,
    /// Whether the call holds a command.
    #[serde(default)]
    pub(super) command: bool,
    /// Whether the same question was answered alike before, but for what says nothing.
    #[serde(default)]
    pub(super) worn: bool,
}

/// What a step says about the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Says {
    /// What its result says.
    #[default]
    Much,
    /// Nothing: the call never ran.
    Nothing,
    /// Nothing: a service that it needs is down, slow or busy.
    ServiceIsDown,
    /// The tool was left alone because it failed before: the same failure goes on.
    LeftAlone,
}

impl Says {
    fn of(kind: Option<&str>, failed: bool, message: &str) -> Self {
        match kind {
            Some("cancelled" | "not_run") => Self::Nothing,
            Some("unavailable") => Self::LeftAlone,
            _ if failed && failure::is_of_a_service(message, kind) => Self::ServiceIsDown,
            _ => Self::Much,
        }
    }
}

impl Step {
    /// The step of a call and its result, of which nothing else is known.
    pub fn of(call: &ToolUse, result: &ToolResult) -> Self {
        Self::known(call, result, Known::default())
    }

    pub(super) fn known(call: &ToolUse, result: &ToolResult, known: Known<'_>) -> Self {
        let call = call_hashes(&call.name, call.arguments_text(), known);
        let mut hash = 0;
        let text = result.content.iter().find_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let failed = result.is_error || failure::is_told(text.unwrap_or_default());
        let grade = if failed { Grade::Error } else { Grade::Result };
        for block in &result.content {
            let next = match block {
                Block::Text(text) => noise::hash_without(text.text.as_bytes(), &call.made_up, grade, known.volatile),
                Block::Image(media) | Block::Document(media) => match &media.source {
                    MediaSource::Base64 { data, .. } | MediaSource::Text { data, .. } => xxh3_64(data.as_bytes()),
                    MediaSource::Url(name) | MediaSource::File(name) => xxh3_64(name.as_bytes()),
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
        let message = result.failure.as_ref().map_or(text, |failure| Some(&failure.message)).unwrap_or_default();
        let bare = failed && failure::is_bare(message);
        Self {
            tool: call.tool,
            exact: call.exact,
            call: call.data,
            result: hash,
            failed,
            marked: result.is_error,
            says: Says::of(kind, failed, message),
            bare,
            command: call.command,
            worn: false,
        }
    }

    /// The step of a call and a result that are plain text. `kind` is the kind of failure, where there is one.
    pub(super) fn of_text(
        (name, arguments): (&str, &str),
        result: &str,
        failed: bool,
        kind: Option<&str>,
        known: Known<'_>,
    ) -> Self {
        let call = call_hashes(name, arguments, known);
        let marked = failed;
        let failed = failed || failure::is_told(result);
        let bare = failed && failure::is_bare(result);
        let grade = if failed { Grade::Error } else { Grade::Result };
        let text = noise::hash_without(result.as_bytes(), &call.made_up, grade, known.volatile);
        let hash = kind.map_or_else(|| join(0, text), |kind| join(xxh3_64(kind.as_bytes()), text));
        Self {
            tool: call.tool,
            exact: call.exact,
            call: call.data,
            result: hash,
            failed,
            marked,
            says: Says::of(kind, failed, result),
            bare,
            command: call.command,
            worn: false,
        }
    }

    /// The step of which the hashes are known: of calls that are no tools of ours, for instance.
    pub const fn of_hashes(tool: u64, call: u64, result: u64, failed: bool) -> Self {
        Self {
            tool,
            exact: call,
            call,
            result,
            failed,
            marked: failed,
            says: Says::Much,
            bare: false,
            command: false,
            worn: false,
        }
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

/// What is kept of a call.
pub(super) struct CallHashes<'a> {
    /// The tool.
    tool: u64,
    /// Tool with arguments.
    exact: u64,
    /// Tool with the arguments that are data.
    pub(super) data: u64,
    /// Ids among the arguments that are noise: its result may say them again.
    made_up: Vec<&'a [u8]>,
    /// Whether an argument is a command, however deep.
    command: bool,
}

/// The hashes of a call of the tool `name`.
pub(super) fn call_hashes<'a>(name: &'a str, arguments: &'a str, known: Known<'a>) -> CallHashes<'a> {
    let tool = xxh3_64(name.as_bytes());
    let text = arguments.trim().as_bytes();
    let mut reader = Reader { tool: name, known, text, at: 0, made_up: Vec::new(), command: false };
    let read = if text.len() > LONGEST_JSON { None } else { reader.read() };
    let (exact, data) = read.unwrap_or_else(|| (xxh3_64(text), xxh3_64(text)));
    let Reader { made_up, command, .. } = reader;
    CallHashes { tool, exact: join(tool, exact), data: join(tool, data), made_up, command }
}

/// Mixes two hashes into one; order counts.
pub(super) const fn join(a: u64, b: u64) -> u64 {
    // The finish of SplitMix64: every bit of both decides about every bit.
    let mut x = a.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Hashes of the members of an object or array so far.
#[derive(Default)]
struct Level {
    object: bool,
    key: Option<(u64, Role)>,
    /// All members.
    exact: u64,
    /// Members that are data.
    data: u64,
    /// Ids and times of the request itself.
    request: u64,
    /// Words about a command.
    description: u64,
    /// Words of the model to itself.
    thought: u64,
    command: bool,
    /// Whether it holds data, however deep; words about a command count as such.
    has_data: bool,
}

impl Level {
    /// Takes a member.
    fn take(&mut self, Value { exact, data, has_data, counts }: Value) -> Option<()> {
        if !self.object {
            self.exact = join(self.exact, exact);
            self.data = join(self.data, data);
            self.has_data |= has_data;
            return Some(());
        }
        let (key, role) = self.key.take()?;
        // Members come in any order.
        self.exact = self.exact.wrapping_add(join(key, exact));
        let sum = match (role, counts) {
            // A list or an object has members of its own.
            (Role::Request | Role::Id, Some(_)) => &mut self.request,
            (Role::Try, Some(true)) => return Some(()),
            (Role::Thought, _) => &mut self.thought,
            _ => {
                self.has_data |= has_data;
                self.command |= role == Role::Command;
                if role == Role::Description { &mut self.description } else { &mut self.data }
            }
        };
        *sum = sum.wrapping_add(join(key, data));
        Some(())
    }

    /// The hashes of the whole.
    const fn close(self) -> Value {
        let mut data = self.data;
        // Words about a command are no part of it; words alone are what the call is.
        if !self.command {
            data = data.wrapping_add(self.description);
        }
        // Where there is nothing else, they are what the call is about.
        if !self.has_data {
            data = data.wrapping_add(self.thought).wrapping_add(self.request);
        }
        let kind = self.object as u64;
        Value { exact: join(kind, self.exact), data: join(kind, data), has_data: self.has_data, counts: None }
    }
}

/// Hashes of a value.
#[derive(Clone, Copy)]
struct Value {
    /// All of it.
    exact: u64,
    /// Its data.
    data: u64,
    has_data: bool,
    /// Of a scalar, whether it may count: a number, or a text of digits.
    counts: Option<bool>,
}

/// Reads JSON once and hashes it on the way. It needs no more of the grammar than where values begin and end; what is
/// no JSON is hashed as text.
struct Reader<'a> {
    tool: &'a str,
    known: Known<'a>,
    text: &'a [u8],
    at: usize,
    made_up: Vec<&'a [u8]>,
    command: bool,
}

impl<'a> Reader<'a> {
    /// The hash of all, and that of the data.
    fn read(&mut self) -> Option<(u64, u64)> {
        let mut levels: Vec<Level> = Vec::new();
        loop {
            self.space();
            let depth = levels.len();
            let value = match *self.text.get(self.at)? {
                b @ (b'{' | b'[') => {
                    if levels.len() >= DEEPEST {
                        return None;
                    }
                    self.at += 1;
                    levels.push(Level { object: b == b'{', ..Level::default() });
                    continue;
                }
                b @ (b'}' | b']') => {
                    let level = levels.pop().filter(|level| level.object == (b == b'}') && level.key.is_none())?;
                    self.at += 1;
                    level.close()
                }
                b',' => {
                    self.at += 1;
                    continue;
                }
                b'"' => {
                    let inside = self.string()?;
                    if let Some(level) = levels.last_mut().filter(|level| level.object && level.key.is_none()) {
                        self.space();
                        (self.text.get(self.at) == Some(&b':')).then_some(())?;
                        self.at += 1;
                        // Further in, an id is a part of what the call is about: of an item in a list, say.
                        let role = Some(role_of(self.tool, inside))
                            .filter(|role| depth == 1 || !matches!(role, Role::Request | Role::Id));
                        self.command |= role == Some(Role::Command);
                        level.key = Some((xxh3_64(inside), role.unwrap_or(Role::Plain)));
                        continue;
                    }
                    self.look(&mut levels, inside);
                    let counts = !inside.is_empty() && inside.iter().all(u8::is_ascii_digit);
                    let (exact, data) = (join(1, xxh3_64(inside)), join(1, xxh3_64(inside.trim_ascii())));
                    Value { exact, data, has_data: true, counts: Some(counts) }
                }
                _ => {
                    let inside = self.scalar()?;
                    self.look(&mut levels, inside);
                    let counts = inside.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-');
                    let exact = join(2, xxh3_64(inside));
                    Value { exact, data: exact, has_data: true, counts: Some(counts) }
                }
            };
            let Some(level) = levels.last_mut() else {
                self.space();
                return (self.at == self.text.len()).then_some((value.exact, value.data));
            };
            level.take(value)?;
        }
    }

    /// Looks whether a value is data though its name says otherwise.
    fn look(&mut self, levels: &mut [Level], value: &'a [u8]) {
        let Some((_, role)) = levels.last_mut().and_then(|level| level.key.as_mut()) else { return };
        if self.known.is_data(*role, value) {
            *role = Role::Plain;
        } else if matches!(role, Role::Id | Role::Request) && self.made_up.len() < MOST_ECHOES && is_made_up(value) {
            self.made_up.push(value);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(arguments: &str) -> u64 {
        call_hashes("f", arguments, Known::default()).exact
    }
    fn free(arguments: &str) -> u64 {
        call_hashes("f", arguments, Known::default()).data
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
            (r#"{"cmd":"ls","explanation":"a"}"#, r#"{"cmd":"ls","explanation":"b"}"#),
            (r#"{"path":"a","thought":"hm"}"#, r#"{"path":"a","thought":"so"}"#),
            (r#"{"q":"x","now":1700000001}"#, r#"{"q":"x","now":1700000002.5}"#),
            (r#"{"q":"x","requestTimestamp":1700000001123}"#, r#"{"q":"x","requestTimestamp":1700000002123}"#),
            (
                r#"{"q":"x","request_id":"123e4567-e89b-12d3-a456-426614174000"}"#,
                r#"{"q":"x","request_id":"507f1f77bcf86cd799439011"}"#,
            ),
            (r#"{"q":"x","nonce":"a"}"#, r#"{"q":"x"}"#),
            (r#"{"attempt":1}"#, r#"{"attempt":2}"#),
        ] {
            assert_eq!(free(a), free(b), "{a} | {b}");
            assert_ne!(exact(a), exact(b));
        }
        for (a, b) in [
            (r#"{"thought":"hm"}"#, r#"{"thought":"so"}"#),
            (r#"{"title":"a","description":"b"}"#, r#"{"title":"a","description":"c"}"#),
            (r#"{"deck":"a","explanation":"b"}"#, r#"{"deck":"a","explanation":"c"}"#),
            (r#"{"page":1}"#, r#"{"page":2}"#),
            (r#"{"id":"12"}"#, r#"{"id":"13"}"#),
            (r#"{"start":"2026-01-02T09:00:00"}"#, r#"{"start":"2026-01-02T10:00:00"}"#),
            (r#"{"country":1}"#, r#"{"country":2}"#),
            (r#"{"attempt":true}"#, r#"{"attempt":false}"#),
            (r#"{"q":"x","ts":1700000001}"#, r#"{"q":"x","ts":1700000002.5}"#),
            (r#"{"q":"x","at":"2026-01-02T03:04:05Z"}"#, r#"{"q":"x","at":"2026-01-02T03:04:06Z"}"#),
            (
                r#"{"uuid":"123e4567-e89b-12d3-a456-426614174000"}"#,
                r#"{"uuid":"123e4567-e89b-12d3-a456-426614174001"}"#,
            ),
            // No machine made these up.
            (r#"{"q":"x","request_id":"R-1"}"#, r#"{"q":"x","request_id":"R-2"}"#),
            (r#"{"q":"x","trace_id":101}"#, r#"{"q":"x","trace_id":102}"#),
            // Alone, an id of a request is what the call is about; so it is further in.
            (r#"{"request_id":"a"}"#, r#"{"request_id":"b"}"#),
            (r#"{"trace_id":"a","thought":"hm"}"#, r#"{"trace_id":"b","thought":"hm"}"#),
            (r#"{"say":"yes","items":[{"request_id":"a"}]}"#, r#"{"say":"yes","items":[{"request_id":"b"}]}"#),
            (r#"{"command":"cat /tmp/run0.log"}"#, r#"{"command":"cat /tmp/run1.log"}"#),
        ] {
            assert_ne!(free(a), free(b), "{a} | {b}");
        }
    }
}
