//! The text that stands in where what was asked for is missing: `env("X") or "…"`, `process.env.X || "…"`, `x ?? "…"`,
//! `asked ? "…" : "…"`. It is the value as much as if it stood there alone.

use super::{Tie, Value, at, blanks, quote, written::quoted};

/// How far the expression in front of the text may reach.
const REACH: usize = 160;

/// The first text behind a sign that offers another value, in the expression that begins here.
pub(super) fn otherwise(text: &[u8], start: usize, tie: Tie) -> Option<Value> {
    if !matches!(tie, Tie::Assign | Tie::Tight | Tie::Colon) {
        return None;
    }
    let limit = text.len().min(start + REACH);
    let (mut place, mut depth) = (start, 0_usize);
    // What a call is given within is the call's: `ask("… of %s" % (host or "localhost"))`.
    let own = usize::from(at(text, start) == b'(');
    while place < limit {
        match text[place] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b'\n' | b'\r' | b';' | b'<' | b'#' => return None,
            b',' if depth == 0 => return None,
            sign if quote(sign) => {
                // The name of what is asked for.
                place = quoted(text, place, tie)?.span.end;
            }
            _ => {
                if let Some(width) = offers(text, place).filter(|_| depth <= own) {
                    let value = blanks(text, place + width);
                    if quote(at(text, value)) {
                        return quoted(text, value, tie);
                    }
                    place = value.max(place + 1);
                    continue;
                }
            }
        }
        place += 1;
    }
    None
}

/// How wide the sign is that offers another value here.
fn offers(text: &[u8], place: usize) -> Option<usize> {
    [&b"??"[..], b"||", b"?:", b"?", b" or "]
        .into_iter()
        .find(|sign| text[place..].starts_with(sign))
        .filter(|sign| sign.len() > 1 || at(text, place + 1) == b' ')
        .map(<[u8]>::len)
}
