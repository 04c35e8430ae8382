//! Raw text to the inside of a JSON string. What comes out is valid whatever went in: bytes that are no UTF-8 become
//! U+FFFD, and the same ones however the text was cut.

use super::utf8;

/// How many bytes are looked at together; the test below is one the compiler turns into vector instructions.
const STRIDE: usize = 32;

const fn special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// A short text that needs no escape, as most deltas of a model are.
pub(super) fn clean(bytes: &[u8]) -> Option<&str> {
    if bytes.len() > 2 * STRIDE || bytes.iter().any(|byte| special(*byte)) {
        return None;
    }
    utf8::text(bytes).ok()
}

/// How many bytes at the front need no escape.
fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    for chunk in bytes.chunks(STRIDE) {
        if chunk.iter().fold(false, |some, byte| some | special(*byte)) {
            return at + chunk.iter().position(|byte| special(*byte)).unwrap_or(chunk.len());
        }
        at += chunk.len();
    }
    at
}

/// Where the next byte that needs an escape stands, if one does.
fn next(bytes: &[u8], from: usize) -> usize {
    // It is near in code and far in prose: a few bytes one by one, then many together.
    let near = bytes.len().min(from + STRIDE / 2);
    let rest = bytes.get(from..near).unwrap_or_default();
    match rest.iter().position(|byte| special(*byte)) {
        Some(at) => from + at,
        None => near + plain(bytes.get(near..).unwrap_or_default()),
    }
}

/// Appends a string, escaped.
fn escape_text(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + bytes.len() / 16);
    let mut start = 0;
    loop {
        let end = next(bytes, start);
        out.push_str(text.get(start..end).unwrap_or_default());
        let Some(byte) = bytes.get(end) else { return };
        escape_char(char::from(*byte), out);
        start = end + 1;
    }
}

/// Appends `bytes`, escaped, and says how many it took: all, but a character that is cut at the end and may go on
/// (`last` is false).
pub(super) fn escape(bytes: &[u8], last: bool, out: &mut String) -> usize {
    if let Ok(text) = std::str::from_utf8(bytes) {
        escape_text(text, out);
        return bytes.len();
    }
    let mut rest = bytes;
    loop {
        let (run, tail) = rest.split_at(plain(rest));
        let ended = last || !tail.is_empty();
        if let Ok(run) = std::str::from_utf8(run) {
            out.push_str(run);
        } else {
            let mut chunks = run.utf8_chunks().peekable();
            while let Some(chunk) = chunks.next() {
                out.push_str(chunk.valid());
                if chunk.invalid().is_empty() {
                    continue;
                }
                let cut = !ended && chunks.peek().is_none();
                if cut && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none()) {
                    return bytes.len() - chunk.invalid().len();
                }
                out.push('\u{FFFD}');
            }
        }
        let Some((&byte, tail)) = tail.split_first() else { return bytes.len() };
        escape_char(char::from(byte), out);
        rest = tail;
    }
}

/// Appends one character, escaped if it must be.
pub(super) fn escape_char(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        control if control < ' ' => {
            const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
            let value = control as usize;
            out.push_str("\\u00");
            out.extend([value >> 4, value & 15].iter().filter_map(|digit| DIGITS.get(*digit)));
        }
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> String {
        let mut out = String::new();
        assert_eq!(escape(bytes, true, &mut out), bytes.len());
        out
    }

    #[test]
    fn every_cut_gives_the_same_json() {
        let text = b"a\"b\\c\n\x01\xe2\x82\xac \xf0\x9f\x9a\x80\xe2\x82 \xff\xe2\x82\xf0\x9f\"";
        let expected = whole(text);
        let parsed: String = serde_json::from_str(&format!("\"{expected}\"")).unwrap();
        assert_eq!(parsed, String::from_utf8_lossy(text));
        for cut in 0..=text.len() {
            let mut out = String::new();
            let taken = escape(&text[..cut], false, &mut out);
            assert!(cut - taken < 4);
            assert_eq!(escape(&text[taken..], true, &mut out), text.len() - taken);
            assert_eq!(out, expected, "cut at {cut}");
        }
    }

    #[test]
    fn control_characters_parse_back() {
        let all: Vec<u8> = (0..128).collect();
        let parsed: String = serde_json::from_str(&format!("\"{}\"", whole(&all))).unwrap();
        assert_eq!(parsed.as_bytes(), all);
    }
}
