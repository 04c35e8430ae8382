//! The way of valid JSON: whole tokens at once, copied in one piece. It stops before whatever is odd or cut, and the
//! automaton reads on from there; which of the two read a byte can't be told from the result.

use super::{Json, State, ahead, word};

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// So many bytes are valid JSON, up to the beginning of a token or behind a closer.
    pub(super) length: usize,
    /// The state behind them.
    pub(super) state: State,
    /// Where among them a comma stands that a closer would drop.
    pub(super) comma: Option<usize>,
    /// Whether a comma before them still waits for a token.
    pub(super) waits: bool,
}

impl Json {
    /// Reads as much valid JSON as stands at the front. The stack is what it is behind that; all else is up to the
    /// caller.
    pub(super) fn valid(&mut self, rest: &[u8]) -> Found {
        // Whether a comma before the front waits for a token.
        let mut waits = self.comma.is_some();
        let mut state = self.state;
        // Before this position nothing can change but a comma.
        let mut sure = 0;
        let mut sure_state = state;
        let mut comma = None;
        let mut sure_comma = comma;
        let mut sure_waits = waits;
        let mut at = 0;
        loop {
            let (before, next) = (at, solid(rest, &mut at));
            if sure == before {
                // White space is safe as well; were it left, it would be looked at from here once more for each of its
                // bytes.
                sure = at;
            }
            let Some(byte) = next else { break };
            match (state, byte) {
                (State::Value, b'"') if self.stack.len > 0 => {
                    (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                    let Some(end) = string(rest, at) else { break };
                    at = end;
                    let Some(next) = solid(rest, &mut at) else { break };
                    if !matches!(next, b',' | b'}' | b']') {
                        break;
                    }
                    (comma, waits) = (None, false);
                    state = State::AfterValue;
                }
                (State::Key, b'"') => {
                    (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                    let Some(end) = string(rest, at) else { break };
                    at = end;
                    if solid(rest, &mut at) != Some(b':') {
                        break;
                    }
                    at += 1;
                    (comma, waits) = (None, false);
                    state = State::Value;
                    (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                }
                (State::Value, b'{' | b'[') => {
                    let array = byte == b'[';
                    let marker = array && self.next.brackets(rest.get(at..).unwrap_or_default());
                    if marker || self.stack.len >= self.max_depth {
                        (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                        break;
                    }
                    self.stack.push(byte == b'{');
                    state = if byte == b'{' { State::Key } else { State::Value };
                    at += 1;
                    (comma, waits) = (None, false);
                    (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                }
                (State::Value, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') if self.stack.len > 0 => {
                    (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                    let here = rest.get(at..).unwrap_or_default();
                    let Some(length) = here
                        .iter()
                        .position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'-' | b'+'))
                    else {
                        break;
                    };
                    let token = here.get(..length).unwrap_or_default();
                    if !matches!(token, b"true" | b"false" | b"null") && !word::number(token) {
                        break;
                    }
                    at += length;
                    let Some(b',' | b'}' | b']') = solid(rest, &mut at) else { break };
                    (comma, waits) = (None, false);
                    state = State::AfterValue;
                }
                (State::AfterValue, b',') => {
                    comma = Some(at);
                    at += 1;
                    state = if self.stack.in_object() { State::Key } else { State::Value };
                }
                (State::AfterValue, b'}' | b']') | (State::Key, b'}') | (State::Value, b']')
                    if comma.is_none() && !waits && self.stack.len > 0 && self.stack.in_object() == (byte == b'}') =>
                {
                    let mut behind = at + 1;
                    if self.whole && self.stack.len == 1 && solid(rest, &mut behind) == Some(b',') {
                        // It may have closed too early.
                        break;
                    }
                    self.stack.pop();
                    at += 1;
                    if self.stack.len == 0 {
                        (sure, sure_state, sure_comma, sure_waits) = (at, State::End, None, false);
                        break;
                    }
                    state = State::AfterValue;
                    (sure, sure_state, sure_comma, sure_waits) = (at, state, comma, waits);
                }
                _ => break,
            }
        }
        self.looks.count += at.saturating_sub(sure);
        Found { length: sure, state: sure_state, comma: sure_comma, waits: sure_waits }
    }
}

/// The next byte that isn't white space.
#[inline]
fn solid(rest: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let byte = *rest.get(*at)?;
        if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return Some(byte);
        }
        *at += 1;
    }
}

/// Where the string ends that begins at `at`, if it is valid and whole.
#[inline]
fn string(rest: &[u8], at: usize) -> Option<usize> {
    let end = at + 1 + ahead::clean(rest.get(at + 1..)?, &mut false);
    (rest.get(end) == Some(&b'"')).then_some(end + 1)
}
