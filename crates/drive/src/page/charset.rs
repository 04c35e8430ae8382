//! The text of a page's bytes, in the encoding that its first bytes, the server, the page itself or a guess tells.
//!
//! Declarations are often wrong. One that the bytes contradict is not followed: bytes that are valid UTF-8 beyond ASCII
//! are UTF-8, and the encoding of others is guessed.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, X_USER_DEFINED};

/// Bytes that are searched for a declaration; a little more than browsers search.
const HEAD: usize = 4096;

/// Decoded text, with its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// The encoding of the bytes.
    pub(crate) charset: &'static str,
    /// Some bytes were invalid and became replacement characters.
    pub(crate) broken: bool,
}

/// The text of `bytes`, which came with `content_type`; `markup` may declare an encoding itself. `host` hints at the
/// language where nothing else does.
pub(crate) fn decode(bytes: &[u8], content_type: &str, markup: bool, host: &str) -> Decoded {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decode_with(encoding, bytes.get(length..).unwrap_or_default());
    }
    let declared = from_content_type(content_type).or_else(|| markup.then(|| from_markup(bytes)).flatten());
    if std::str::from_utf8(without_cut_character(bytes)).is_ok() && !bytes.is_ascii() {
        return decode_with(UTF_8, bytes);
    }
    // Two bytes a character without a single zero byte among them would be no markup, and hardly any text.
    let wide = |encoding: &Encoding| encoding == UTF_16LE || encoding == UTF_16BE;
    let declared = declared.filter(|encoding| !(wide(encoding) && bytes.is_ascii() && !bytes.contains(&0)));
    if let Some(encoding) = declared {
        let read = decode_with(encoding, bytes);
        if !read.broken {
            return read;
        }
        let seen = decode_with(guess(bytes, host), bytes);
        return if replacement_count(&seen.text) * 2 < replacement_count(&read.text) { seen } else { read };
    }
    let nulls = |from: usize| bytes.iter().skip(from).step_by(2).take(64).filter(|byte| **byte == 0).count();
    let encoding = match (nulls(0), nulls(1)) {
        (0..8, 24..) => UTF_16LE,
        (24.., 0..8) => UTF_16BE,
        _ => guess(bytes, host),
    };
    decode_with(encoding, bytes)
}

/// The bytes without a character that the limit on the size cut through.
fn without_cut_character(bytes: &[u8]) -> &[u8] {
    let end = (0..4_usize).find(|cut| {
        let last = bytes.len().checked_sub(cut + 1).and_then(|at| bytes.get(at));
        last.is_none_or(|byte| byte & 0xc0 != 0x80)
    });
    let cut = end.map_or(0, |cut| match bytes.len().checked_sub(cut + 1).and_then(|at| bytes.get(at)) {
        Some(0xc0..=0xdf) if cut < 1 => cut + 1,
        Some(0xe0..=0xef) if cut < 2 => cut + 1,
        Some(0xf0..) if cut < 3 => cut + 1,
        _ => 0,
    });
    bytes.get(..bytes.len() - cut).unwrap_or(bytes)
}

fn replacement_count(text: &str) -> usize {
    text.chars().filter(|c| *c == '\u{fffd}').count()
}

fn decode_with(encoding: &'static Encoding, bytes: &[u8]) -> Decoded {
    let (text, broken) = encoding.decode_without_bom_handling(bytes);
    Decoded { text: text.into_owned(), charset: encoding.name(), broken }
}

fn guess(bytes: &[u8], host: &str) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let domain = host.rsplit('.').next().filter(|domain| domain.is_ascii() && !domain.is_empty());
    let domain =
        domain.map(str::to_ascii_lowercase).filter(|domain| domain.bytes().all(|byte| byte.is_ascii_lowercase()));
    detector.guess(domain.as_deref().map(str::as_bytes), Utf8Detection::Allow)
}

/// An encoding that text can be read in.
fn encoding_named(label: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label.trim_matches(['"', '\'', ' ']).as_bytes())?;
    // The one is a trap for scripts, the other reads anything.
    (encoding != REPLACEMENT && encoding != X_USER_DEFINED).then_some(encoding)
}

fn from_content_type(content_type: &str) -> Option<&'static Encoding> {
    let lower = content_type.to_ascii_lowercase();
    let label = lower.split(';').skip(1).find_map(|part| part.trim().strip_prefix("charset"))?;
    encoding_named(label.trim_start().strip_prefix('=')?)
}

/// `<meta charset=…>`, `<meta http-equiv … content="…; charset=…">`, `<?xml … encoding="…"?>`.
fn from_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes.iter().take(HEAD).map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let value = |text: &str, name: &str| {
        let rest = text.get(text.find(name)? + name.len()..)?.trim_start().strip_prefix('=')?.trim_start();
        let rest = rest.trim_start_matches(['"', '\'']);
        encoding_named(rest.split(['"', '\'', '>', ';', '/', ' ', '?']).next()?)
    };
    let metas = head.match_indices("<meta").take(100).find_map(|(at, _)| {
        let tag = head.get(at..)?.split('>').next()?;
        value(tag, "charset")
    });
    let xml = || head.strip_prefix("<?xml").and_then(|rest| value(rest.split("?>").next()?, "encoding"));
    // A page that can be read as far as this is not in UTF-16.
    metas.or_else(xml).map(|encoding| if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// Returns whether characters of ASCII take two bytes in the encoding.
pub(crate) fn is_wide(charset: &str) -> bool {
    charset == UTF_16LE.name() || charset == UTF_16BE.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], content_type: &str) -> (String, &'static str) {
        let read = decode(bytes, content_type, true, "example.org");
        (read.text, read.charset)
    }

    #[test]
    fn marks_servers_and_pages_tell_in_that_order() {
        assert_eq!(read(b"\xEF\xBB\xBFa", "text/html; charset=latin1"), ("a".into(), "UTF-8"));
        assert_eq!(read(b"\xFF\xFEa\0b\0", "text/html; charset=utf-8"), ("ab".into(), "UTF-16LE"));
        assert_eq!(read(b"\xe4\xf6", "text/html; Charset = \"ISO-8859-1\""), ("äö".into(), "windows-1252"));
        assert_eq!(read(b"<META CHARSET=koi8-r>\xd0\xd2\xc9", "text/html").0, "<META CHARSET=koi8-r>при");
        let meta = b"<meta http-equiv=x content='text/html; charset=Shift_JIS'>\x93\xfa\x96{";
        assert!(read(meta, "").0.ends_with("日本"));
        assert_eq!(read(b"<?xml version='1.0' encoding='iso-8859-2'?>\xb1", "").0.chars().last(), Some('ą'));
        assert_eq!(read(b"<meta charset=utf-16><p>a", "").1, "UTF-8");
    }

    #[test]
    fn declarations_that_the_bytes_contradict_are_not_followed() {
        assert_eq!(read("naïve – yes".as_bytes(), "text/html; charset=iso-8859-1").0, "naïve – yes");
        let (text, charset) = read(b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6n war es", "text/html; charset=utf-8");
        assert_eq!((text.as_str(), charset), ("Grüße aus München, schön war es", "windows-1252"));
        assert_eq!(read("日本語のページ".as_bytes(), "text/html; charset=windows-1252").0, "日本語のページ");
        assert_eq!(read(b"plain", "text/html; charset=nonsense").0, "plain");
        // Two bytes each would make eastern letters of it.
        assert_eq!(read(b"<p>plain words</p>", "text/html; charset=utf-16").0, "<p>plain words</p>");
        assert_eq!(read(b"p\0l\0", "text/html; charset=utf-16le").0, "pl");
    }

    #[test]
    fn nothing_told_is_looked_at() {
        let (bytes, _, _) =
            Encoding::for_label(b"windows-1251").unwrap().encode("Привет, это обычная страница на русском языке.");
        assert_eq!(read(&bytes, "text/html").0, "Привет, это обычная страница на русском языке.");
        let wide: Vec<u8> =
            "plain text of many words, again and again and again".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(read(&wide, "text/plain").0.starts_with("plain text"));
    }

    #[test]
    fn a_character_cut_by_the_limit_does_not_make_a_page_something_else() {
        let whole = "grün und 日本 und 😀".as_bytes();
        for cut in 1..whole.len() {
            let read = decode(&whole[..cut], "", false, "example.org");
            assert!(read.text.is_ascii() || read.charset == "UTF-8", "{cut} {read:?}");
        }
    }

    #[test]
    fn any_bytes_give_text() {
        for seed in 0..50_u8 {
            let bytes: Vec<u8> = (0..997_u32).map(|at| (at * 31 + u32::from(seed) * 7 + at * at) as u8).collect();
            for content_type in ["", "text/html; charset=utf-8", "text/html; charset=gb18030", "x; charset="] {
                read(&bytes, content_type);
            }
        }
    }
}
