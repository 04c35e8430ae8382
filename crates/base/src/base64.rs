//! What stands in base64: the bytes of pictures and documents, as far as they are looked at.

/// How much of a document is looked at.
pub const DOCUMENT: usize = 48 * 1024 * 1024;

/// What base64 holds, if that is text; `said` that it is.
pub fn text(base64: &str, said: bool) -> Option<String> {
    if base64.starts_with("JVBERi") {
        return None;
    }
    String::from_utf8(decode_to(base64.as_bytes(), DOCUMENT))
        .or_else(|no| if said { Ok(String::from_utf8_lossy(no.as_bytes()).into_owned()) } else { Err(no) })
        .ok()
}

/// What base64 holds; stops at what is no base64.
pub fn decode_to(base64: &[u8], most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(base64.len().min(most) / 4 * 3 + 3);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in base64.iter().take(most) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' => continue,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    bytes
}
