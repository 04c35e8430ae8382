//! The names in a text: paths, identifiers, numbers.
//!
//! A later step of a run mostly needs such names again, and they are cheap to keep. The scanner is one pass over the
//! bytes and never cuts a character.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
    sync::OnceLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use xxhash_rust::xxh3::xxh3_64;

/// For keys that are hashes already: maps with it behave the same in every process.
#[derive(Default)]
pub(super) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

pub(super) type Map<V> = HashMap<u64, V, BuildHasherDefault<Same>>;
pub(super) type Set = HashSet<u64, BuildHasherDefault<Same>>;

/// Longer names are no names.
const LONGEST: usize = 120;

/// What a byte is inside a name: 0 nothing, 1 part of a word, 2 joins words.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        class[byte] = if c.is_ascii_alphanumeric() || c == b'_' {
            1
        } else if matches!(c, b'.' | b'/' | b'-' | b':') {
            2
        } else {
            0
        };
        byte += 1;
    }
    class
};

fn class(byte: u8) -> u8 {
    CLASS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Calls `found` for every name in `text`, in order.
pub fn names<'a>(text: &'a str, mut found: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        // A path may begin with its slash.
        let rooted = byte == b'/' && bytes.get(at + 1).is_some_and(|next| class(*next) == 1);
        if class(byte) != 1 && !rooted {
            // What follows a backslash belongs to it: arguments are JSON, where `\n` is no letter.
            at += if byte == b'\\' { 2 } else { 1 };
            continue;
        }
        let start = at;
        at += 1;
        let (mut joined, mut digits, mut lower, mut upper, mut inner) = (rooted, 0, 0, 0, false);
        let mut tally = |byte: u8, first: bool| match byte {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' => lower += 1,
            b'A'..=b'Z' => {
                upper += 1;
                inner |= !first;
            }
            b'_' => inner = true,
            _ => {}
        };
        tally(byte, true);
        while let Some(&byte) = bytes.get(at) {
            match class(byte) {
                1 => tally(byte, false),
                2 if byte != b':' && bytes.get(at + 1).is_some_and(|next| class(*next) == 1) => joined = true,
                _ => break,
            }
            at += 1;
        }
        let length = at - start;
        let named = match (lower + upper, digits) {
            (0, digits) => digits >= 3 || (joined && digits >= 2),
            (_, 0) => (joined && length >= 4) || (inner && length >= 3 && lower > 0) || (inner && length >= 5),
            (_, _) => length >= 3,
        };
        if named
            && length <= LONGEST
            && let Some(name) = text.get(start..at)
        {
            found(name);
        }
    }
}

/// The key of a name.
pub(super) fn key(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

/// Whether a text tells of a failure. ASCII words only, case ignored.
pub(super) fn tells_of_error(text: &str) -> bool {
    static WORDS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let words = [
            "error",
            "exception",
            "traceback",
            "panic",
            "failed",
            "failure",
            "fatal",
            "undefined",
            "cannot",
            "not found",
            "denied",
            "no such",
        ];
        AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(words).ok()
    });
    words.as_ref().is_some_and(|words| words.is_match(text))
}

/// Whether a person demands something in it: what must be heeded to the end. ASCII words only, case ignored.
pub(super) fn demands(text: &str) -> bool {
    static WORDS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let words = ["must", "never ", "always ", "don't ", "do not ", "make sure", "avoid ", "only use", "use only"];
        AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(words).ok()
    });
    words.as_ref().is_some_and(|words| words.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        names(text, |name| found.push(name));
        found
    }

    #[test]
    fn finds_what_runs_use_again() {
        let text =
            "see src/core/mod.rs:120 and fooBar() in /usr/lib/x; snake_case = 4096, a plain word. É_ü HTTPServer";
        let found = all(text);
        for name in ["src/core/mod.rs", "120", "fooBar", "/usr/lib/x", "snake_case", "4096", "HTTPServer"] {
            assert!(found.contains(&name), "{name} in {found:?}");
        }
        assert!(!found.contains(&"plain") && !found.contains(&"word"));
    }

    #[test]
    fn errors_are_told_apart() {
        assert!(tells_of_error("ValueError: x") && tells_of_error("it FAILED") && tells_of_error("No such file"));
        assert!(!tells_of_error("all good here") && !tells_of_error(""));
    }
}
