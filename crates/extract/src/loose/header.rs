//! What stands before the arguments of a loose call: `call:NAME`, and what may separate one call from the next. Nothing
//! is taken before the brace is there, and no more than a few hundred bytes are looked at.

use super::{super::dialect::in_name, CALL, HEADER, Loose, State};

/// What stands before a call's arguments.
pub(super) enum Found {
    More,
    /// A call's name stands here.
    Call(usize, usize),
    No,
}

pub(super) fn header() -> State {
    State::Header { at: 0, name: None, end: None, separated: false }
}

impl Loose {
    /// Looks at what it hasn't seen before a call: nothing is taken until the brace is there.
    pub(super) fn header(&mut self, input: &[u8]) -> Found {
        let State::Header { at, name, end, separated } = &mut self.state else { return Found::No };
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
                        if !rest.starts_with(CALL) {
                            return Found::No;
                        }
                        *at += CALL.len();
                        *name = Some(*at);
                        continue;
                    }
                },
                (Some(from), None) => match byte {
                    b'{' => return if *at > from { Found::Call(from, *at) } else { Found::No },
                    b' ' | b'\t' | b'\n' | b'\r' => *end = Some(*at),
                    _ if in_name(byte) => {}
                    _ => return Found::No,
                },
                (Some(from), Some(to)) => match byte {
                    b'{' => return if to > from { Found::Call(from, to) } else { Found::No },
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    _ => return Found::No,
                },
            }
            *at += 1;
        }
        Found::More
    }
}
