//! What is left of a call's arguments behind where they seemed to end, or could not begin: JSON's tokens one after the
//! other, as far as they go. They are nobody's text; each byte is read once.

use super::{json::Json, next::Next};

/// Follows such a rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    next: Next,
    value: Option<Json>,
    /// A comma or a colon came last.
    joined: Option<u8>,
}

impl Tail {
    pub(super) fn before(next: Next) -> Self {
        Self { next, ..Self::default() }
    }

    /// Tries again with the next byte what couldn't be decided.
    pub(super) fn hurry(&mut self) {
        if let Some(json) = &mut self.value {
            json.hurry();
        }
    }

    /// How many bytes of `input` are its, and whether it is over with them.
    pub(super) fn step(&mut self, input: &[u8], last: bool, looks: &mut usize) -> (usize, bool) {
        let mut at = 0;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            if let Some(json) = &mut self.value {
                at += json.run(rest, last);
                *looks += json.looks();
                json.take(false, |_| {});
                json.forget();
                if !json.ended() {
                    return if last { (input.len(), true) } else { (at, false) };
                }
                self.value = None;
                self.joined = None;
                continue;
            }
            let Some(&byte) = rest.first() else { return (at, last) };
            match byte {
                b',' | b':' => self.joined = Some(byte),
                b'}' | b']' => self.joined = None,
                _ if byte.is_ascii_whitespace() && self.joined.is_some() => {}
                b'[' | b'<' => match self.next.stands(rest, last) {
                    None => return (at, false),
                    Some(false) if byte == b'[' => {
                        self.begins();
                        continue;
                    }
                    Some(_) => return (at, true),
                },
                b'"' | b'{' => {
                    self.begins();
                    continue;
                }
                _ if self.joined == Some(b':') && (byte.is_ascii_alphanumeric() || byte == b'-') => {
                    self.begins();
                    continue;
                }
                _ => return (at, true),
            }
            at += 1;
        }
    }

    fn begins(&mut self) {
        self.value = Some(Json::new(usize::MAX, &[]).before(self.next));
    }
}
