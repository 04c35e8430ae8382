//! What the model was shown, of what its calls may be about: ids as machines make them, and numbers of tries.
//!
//! An id of a request that a model makes up for each try accompanies its call; one that stood in a task or a result is
//! what the call is about. Only what [`role`](super::role) doubts is kept, and of that the last.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    noise::{is_made_up, is_word, next_digit, run_start},
    role::{Role, role_of},
};

/// So many values are kept.
const MOST: usize = 512;
/// So much of a text is looked through, in bytes.
const LONGEST: usize = 64 * 1024;
/// So many signs may stand between a name and its number: `"attempt": "3"`.
const BETWEEN: usize = 5;
/// What keeps numbers of tries apart from ids.
const TRY: u64 = 0x7472_7969_6e67_0000;

/// The last values that were shown, as hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shown {
    recent: Vec<u32>,
    next: usize,
}

const fn is_id(b: u8) -> bool {
    is_word(b) || b == b'-'
}

impl Shown {
    /// Whether nothing was.
    pub(super) const fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// Takes a text that the model reads before its next call.
    pub(super) fn take(&mut self, text: &[u8]) {
        let text = text.get(..LONGEST).unwrap_or(text);
        let mut from = 0;
        while let Some(digit) = next_digit(text, from) {
            let start = run_start(text, from, digit, is_id);
            let end = text[digit..].iter().position(|b| !is_id(*b)).map_or(text.len(), |length| digit + length);
            let word = &text[start..end];
            from = end;
            if is_made_up(word) {
                self.keep(xxh3_64(word));
            } else if word.iter().all(u8::is_ascii_digit) && is_named_try(&text[..start]) {
                self.keep(TRY ^ xxh3_64(word));
            }
        }
    }

    fn keep(&mut self, hash: u64) {
        let hash = hash as u32;
        if self.recent.contains(&hash) {
            return;
        }
        if self.recent.len() < MOST {
            self.recent.push(hash);
        } else if let Some(old) = self.recent.get_mut(self.next % MOST) {
            *old = hash;
            self.next = (self.next + 1) % MOST;
        }
    }

    /// Whether an id was shown.
    pub(super) fn has(&self, id: &[u8]) -> bool {
        self.recent.contains(&(xxh3_64(id) as u32))
    }

    /// Whether a try of this number was.
    pub(super) fn has_try(&self, number: &[u8]) -> bool {
        self.recent.contains(&((TRY ^ xxh3_64(number)) as u32))
    }
}

/// Whether a text ends with the name of a number of tries.
fn is_named_try(before: &[u8]) -> bool {
    let signs = before.iter().rev().take_while(|b| matches!(b, b'"' | b'\'' | b':' | b'=' | b'#' | b' ')).count();
    let name = before.get(..before.len() - signs).unwrap_or_default();
    let start = run_start(name, 0, name.len(), is_id);
    (1..=BETWEEN).contains(&signs) && role_of("", &name[start..]) == Role::Try
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k1_what_was_shown_is_known() {
        let mut shown = Shown::default();
        shown.take(b"open: [123e4567-e89b-12d3-a456-426614174000, 507f1f77bcf86cd799439011] on 2026-01-02, page 3.");
        shown.take(br#"{"attempt": 7, "attemptNo":"12", "retry #4", "tries=5, "order": 8}"#);
        assert!(shown.has(b"123e4567-e89b-12d3-a456-426614174000") && shown.has(b"507f1f77bcf86cd799439011"));
        assert!([&b"7"[..], b"12", b"4", b"5"].iter().all(|number| shown.has_try(number)));
        assert!(!shown.has_try(b"8") && !shown.has_try(b"3") && !shown.has(b"7"));
        assert_eq!(shown.recent.len(), 6, "nothing else is kept");
        for n in 0..2_000 {
            shown.take(format!("{n:032x}").as_bytes());
        }
        assert_eq!(shown.recent.len(), MOST);
        assert!(shown.has(format!("{:032x}", 1_999).as_bytes()));
        for text in ["", "0", "attempt", "1\u{1b}2", "--------1", "attempt: "] {
            shown.take(text.as_bytes());
        }
    }
}
