//! Text in base64 that holds a secret: settings, manifests and headers that were encoded to be carried. The words that
//! name secrets look one of three ways in base64, by where they begin; around one of them the run is decoded and read.

use std::ops::Range;

use super::shape;

const WORDS: &[&[u8]] = &[b"passwo", b"secre", b"toke", b"apike", b"api_ke", b"access_ke"];

/// How far around the word is decoded.
const REACH: usize = 8 * 1024;

/// How often what was decoded is decoded again.
pub(super) const DEPTH: usize = 2;

const fn digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The run of base64 around a word, and the text in it.
pub(super) fn decoded(text: &[u8], keyword: &Range<usize>) -> Option<(Range<usize>, Vec<u8>)> {
    let aligned = [0, 2, 3].into_iter().find_map(|back| {
        let start = keyword.start.checked_sub(back)?;
        let piece = text.get(start..text.len().min(keyword.end + 2))?;
        let words = shape::base64(piece, 16).to_ascii_lowercase();
        WORDS.iter().any(|word| memchr::memmem::find(&words, word).is_some()).then_some(start)
    })?;
    let before = text[aligned.saturating_sub(REACH)..aligned].iter().rev().take_while(|byte| digit(**byte)).count();
    let start = aligned - before / 4 * 4;
    let mut end = keyword.end;
    while end < text.len() && end - keyword.end < REACH && digit(text[end]) {
        end += 1;
    }
    let inner = shape::base64(&text[start..end], REACH * 2);
    while end < text.len() && text[end] == b'=' {
        end += 1;
    }
    let readable = inner.iter().filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')).count();
    let read = inner.len() >= 16 && readable * 10 >= inner.len() * 9;
    // What goes before the first whole group belongs to the run. What can't be read holds nothing, and is not tried
    // again.
    Some((aligned - before..end, if read { inner } else { Vec::new() }))
}
