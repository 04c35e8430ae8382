//! What stands before the arguments of a loose call: `call:NAME`, and what may separate one call from the next. Of the
//! first call `call:` may be missing, and parentheses may stand for braces. Nothing is taken before the bracket is
//! there, and no more than a few hundred bytes are looked at.

use super::{super::dialect::in_name, CALL, HEADER, Loose, State};

/// What stands before a call's arguments.
pub(super) enum Found {
    More,
    /// A call's name stands here, up to before the second, and its bracket at the third.
    Call(usize, usize, usize),
    No,
}

pub(super) fn header() -> State {
    State::Header { at: 0, name: None, end: None, separated: false, called: false }
}

impl Loose {
    /// Looks at what it hasn't seen before a call: nothing is taken until the brace is there.
    pub(super) fn header(&mut self, input: &[u8]) -> Found {
        let State::Header { at, name, end, separated, called } = &mut self.state else { return Found::No };
        while let Some(&byte) = input.get(*at) {
            if *at >= HEADER {
                return Found::No;
            }
            match (*name, *end) {
                (None, _) => match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    b',' | b';' if self.any && !*separated => *separated = true,
                    _ => {
                        let rest = input.get(*at..).unwrap_or_default();
                        if rest.len() < CALL.len() && CALL.starts_with(rest) {
                            return Found::More;
                        }
                        if rest.starts_with(CALL) {
                            *at += CALL.len();
                            *called = true;
                        } else if self.any || !(byte.is_ascii_alphabetic() || byte == b'_') {
                            return Found::No;
                        }
                        *name = Some(*at);
                        continue;
                    }
                },
                (Some(from), None) => match byte {
                    b'{' | b'(' => return if *at > from { Found::Call(from, *at, *at) } else { Found::No },
                    b' ' | b'\t' | b'\n' | b'\r' if *at == from => *name = Some(from + 1),
                    b' ' | b'\t' | b'\n' | b'\r' => *end = Some(*at),
                    b':' if !*called => return Found::No,
                    _ if in_name(byte) => {}
                    _ => return Found::No,
                },
                (Some(from), Some(to)) => match byte {
                    b'{' | b'(' => return if to > from { Found::Call(from, to, *at) } else { Found::No },
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    _ => return Found::No,
                },
            }
            *at += 1;
        }
        Found::More
    }
}
