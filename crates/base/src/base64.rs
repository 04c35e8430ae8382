//! Decoding of base64 in both alphabets, for looks at pictures, documents and lines of a shell.

/// Bytes of base64 that are decoded of a document, at most.
pub const MAX_DOCUMENT: usize = 48 * 1024 * 1024;

/// The text in base64; `None` for a PDF and for bytes that are no UTF-8. With `declared`, where its media type says
/// that it is text, such bytes are replaced.
pub fn text(base64: &str, declared: bool) -> Option<String> {
    if base64.starts_with("JVBERi") {
        return None;
    }
    String::from_utf8(decode_to(base64.as_bytes(), MAX_DOCUMENT))
        .or_else(|no| if declared { Ok(String::from_utf8_lossy(no.as_bytes()).into_owned()) } else { Err(no) })
        .ok()
}

/// The six bits of a character of either alphabet.
pub const fn six_bits(sign: u8) -> Option<u8> {
    match sign {
        b'A'..=b'Z' => Some(sign - b'A'),
        b'a'..=b'z' => Some(sign - b'a' + 26),
        b'0'..=b'9' => Some(sign - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Decodes the first `most` bytes of base64; ends at a character of neither alphabet. Line breaks are skipped.
pub fn decode_to(base64: &[u8], most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(base64.len().min(most) / 4 * 3 + 3);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in base64.iter().take(most) {
        if matches!(byte, b'\r' | b'\n') {
            continue;
        }
        let Some(value) = six_bits(*byte) else { break };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    bytes
}
