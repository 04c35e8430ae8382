//! Secrets that are known by value: the keys that an agent itself holds. They are found in any form in which texts
//! carry them, whole or cut short, also where a text comes in pieces.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};

/// What stands in the place of a key.
const MARK: &str = "***";

/// Escapes of JSON within JSON that are looked for.
const NESTED: usize = 3;

/// Bytes of the beginning of a key that may stand at the end of a piece that was shown: no key is known by so few.
const SHOWN: usize = 3;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A form of a key, and how much of its beginning tells it.
#[derive(Debug)]
struct Form {
    text: Vec<u8>,
    head: usize,
}

/// Keys by value, in all their forms.
#[derive(Default)]
pub struct OwnSecrets {
    forms: Vec<Form>,
    heads: Option<AhoCorasick>,
    /// Bytes of the shortest head: a shorter text holds none.
    shortest: usize,
    /// The forms of each head.
    of_head: Vec<Vec<usize>>,
}

impl std::fmt::Debug for OwnSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnSecrets").finish_non_exhaustive()
    }
}

/// Whether a value may be looked for in any text: a word that a server without keys is given (`ollama`,
/// `sk-no-key-required`) stands in ordinary texts, too.
pub fn is_telling(value: &str) -> bool {
    value.is_ascii() && (value.len() >= 24 || value.len() >= 12 && value.bytes().any(|byte| byte.is_ascii_digit()))
}

impl OwnSecrets {
    /// The keys. The first `head` bytes of one stand for it: a text that quotes another may have cut it short.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>, head: usize) -> Self {
        let mut forms: Vec<Form> = Vec::new();
        for key in keys.into_iter().filter(|key| !key.is_empty()) {
            for (text, wide) in all_forms(key.as_bytes()) {
                let head = text.len().min(head * wide);
                if !forms.iter().any(|form| form.text == text) {
                    forms.push(Form { text, head });
                }
            }
        }
        let mut heads: Vec<&[u8]> = Vec::new();
        let mut of_head: Vec<Vec<usize>> = Vec::new();
        for (at, form) in forms.iter().enumerate() {
            let head = &form.text[..form.head];
            let place = heads.iter().position(|known| *known == head).unwrap_or_else(|| {
                heads.push(head);
                of_head.push(Vec::new());
                heads.len() - 1
            });
            of_head[place].push(at);
        }
        let shortest = heads.iter().map(|head| head.len()).min().unwrap_or_default();
        let heads = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&heads).ok();
        Self { heads: heads.filter(|_| !forms.is_empty()), shortest, forms, of_head }
    }

    /// Whether no key is known.
    pub const fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Whether a text holds a key.
    pub fn is_in(&self, text: &[u8]) -> bool {
        text.len() >= self.shortest && self.heads.as_ref().is_some_and(|heads| heads.is_match(text))
    }

    /// Where a key stands first, from a place on, and whether it may go on behind the end of the text.
    fn next(&self, text: &[u8], from: usize) -> Option<(std::ops::Range<usize>, bool)> {
        let found = self.heads.as_ref()?.find(text.get(from..)?)?;
        let start = from + found.start();
        let rest = &text[start..];
        let same = |form: &Form| form.text.iter().zip(rest).take_while(|(left, right)| left == right).count();
        let forms = self.of_head.get(found.pattern().as_usize())?.iter().map(|at| &self.forms[*at]);
        let (length, whole) = forms.map(|form| (same(form), form.text.len())).max()?;
        let mut end = start + length;
        // Half an escape belongs to what follows.
        while length < whole && end < text.len() && text[end - 1] == b'\\' {
            end -= 1;
        }
        Some((start..end, length < whole && end == text.len()))
    }

    /// The text with each key replaced by `***`, less those in `kept` ranges.
    pub fn scrub_but<'t>(&self, text: &'t str, kept: &[std::ops::Range<usize>]) -> Cow<'t, str> {
        let bytes = text.as_bytes();
        let (mut out, mut done, mut from) = (String::new(), 0, 0);
        while let Some((span, _)) = self.next(bytes, from) {
            from = span.end;
            if kept.iter().any(|kept| kept.start <= span.start && span.end <= kept.end) {
                continue;
            }
            // Forms are ASCII, and so are their borders.
            out.push_str(text.get(done..span.start).unwrap_or_default());
            out.push_str(MARK);
            done = span.end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The text with each key replaced by `***`.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.scrub_but(text, &[])
    }

    /// How much of the end of a text is the beginning of a key.
    fn begun(&self, text: &[u8]) -> usize {
        let longest = self.forms.iter().map(|form| form.head - 1).max().unwrap_or_default().min(text.len());
        let begins = |length: &usize| {
            let end = &text[text.len() - length..];
            self.forms.iter().any(|form| form.head > *length && form.text.starts_with(end))
        };
        (1..=longest).rev().find(begins).unwrap_or_default()
    }
}

/// A text that comes in pieces. What may be the beginning of a key waits for what follows.
#[derive(Debug, Default)]
pub struct Pieces {
    /// The end of what was given out, as far as it may begin a key.
    shown: String,
    waiting: String,
}

impl Pieces {
    /// The text that can be given out with this piece.
    pub fn push(&mut self, own: &OwnSecrets, piece: &str) -> String {
        let text = format!("{}{}{piece}", self.shown, self.waiting);
        let bytes = text.as_bytes();
        let (mut out, mut done, mut from) = (String::new(), self.shown.len(), 0);
        self.shown.clear();
        self.waiting.clear();
        while let Some((span, goes_on)) = own.next(bytes, from) {
            out.push_str(text.get(done..span.start).unwrap_or_default());
            if goes_on {
                // What was shown of it before stays where it is: it is looked at again with what follows.
                let known = done.max(span.start);
                text.get(span.start..known).unwrap_or_default().clone_into(&mut self.shown);
                text.get(known..).unwrap_or_default().clone_into(&mut self.waiting);
                return out;
            }
            out.push_str(MARK);
            (done, from) = (span.end, span.end);
        }
        let begun = own.begun(&bytes[from..]);
        let start = text.len() - begun;
        if begun > SHOWN {
            let known = done.max(start);
            out.push_str(text.get(done..known).unwrap_or_default());
            text.get(start..known).unwrap_or_default().clone_into(&mut self.shown);
            text.get(known..).unwrap_or_default().clone_into(&mut self.waiting);
        } else {
            out.push_str(text.get(done..).unwrap_or_default());
            text.get(start..).unwrap_or_default().clone_into(&mut self.shown);
        }
        out
    }

    /// The text that still waited, when nothing follows.
    pub fn end(&mut self, own: &OwnSecrets) -> String {
        let known = self.shown.len();
        let text = std::mem::take(&mut self.shown) + &std::mem::take(&mut self.waiting);
        match own.next(text.as_bytes(), 0) {
            Some((span, _)) => format!("{MARK}{}", text.get(span.end.max(known)..).unwrap_or_default()),
            None => text.get(known..).unwrap_or_default().to_owned(),
        }
    }
}

/// The forms in which texts carry a key, each with how many bytes one byte of the key takes at most.
fn all_forms(key: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let mut forms = vec![(key.to_vec(), 1)];
    let each =
        |write: &dyn Fn(u8) -> String| key.iter().flat_map(|byte| write(*byte).into_bytes()).collect::<Vec<u8>>();
    for plain in ["-_.~", "-_.~/", "-_.!~*'()"] {
        let stays = |byte: u8| byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte);
        let plainly = |byte: u8| char::from(byte).to_string();
        forms.push((each(&|byte| if stays(byte) { plainly(byte) } else { format!("%{byte:02X}") }), 1));
        forms.push((each(&|byte| if stays(byte) { plainly(byte) } else { format!("%{byte:02x}") }), 1));
    }
    forms.push((each(&|byte| format!("%{byte:02X}")), 3));
    forms.push((each(&|byte| format!("%{byte:02x}")), 3));
    forms.push((each(&|byte| format!("\\u{byte:04X}")), 6));
    forms.push((each(&|byte| format!("\\u{byte:04x}")), 6));
    forms.push((each(&|byte| format!("{byte:02X}")), 2));
    forms.push((each(&|byte| format!("{byte:02x}")), 2));
    for slash in ["/", "\\/"] {
        let mut escaped = key.to_vec();
        for _ in 0..NESTED {
            let text: Vec<u8> = escaped;
            escaped = Vec::new();
            for byte in text {
                match byte {
                    b'"' | b'\\' => escaped.extend([b'\\', byte]),
                    b'/' => escaped.extend(slash.as_bytes()),
                    byte => escaped.push(byte),
                }
            }
            forms.push((escaped.clone(), 1));
        }
    }
    for before in 0..3 {
        let standard = base64(key, before);
        let web = standard.iter().map(|sign| match sign {
            b'+' => b'-',
            b'/' => b'_',
            sign => *sign,
        });
        let web = web.collect();
        forms.extend([(standard, 2), (web, 2)]);
    }
    forms
}

/// A key in base64 behind so many other bytes, less the signs that those or what follows have a part in.
fn base64(key: &[u8], before: usize) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend(key);
    let signs = bytes.len() * 8 / 6;
    let sign = |at: usize| {
        let (byte, bit) = (at * 6 / 8, at * 6 % 8);
        let pair = u16::from(bytes[byte]) << 8 | bytes.get(byte + 1).map_or(0, |next| u16::from(*next));
        BASE64[usize::from(pair >> (10 - bit) & 63)]
    };
    ((before * 8).div_ceil(6)..signs).map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-test-0a1B2c3D4e5F6g7H+/=\"q";

    fn own() -> OwnSecrets {
        OwnSecrets::new([KEY], 20)
    }

    fn each(write: fn(u8) -> String) -> String {
        KEY.bytes().flat_map(|byte| write(byte).into_bytes()).map(char::from).collect()
    }

    fn percent(every: bool) -> String {
        let plain = |byte: u8| !every && (byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
        KEY.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    }

    fn in_base64(text: &str) -> String {
        let mut out = String::from_utf8(base64(text.as_bytes(), 0)).unwrap();
        if !text.len().is_multiple_of(3) {
            out.push_str("A=");
        }
        out
    }

    fn forms() -> Vec<String> {
        let json = serde_json::to_string(KEY).unwrap();
        vec![
            KEY.to_owned(),
            percent(false),
            percent(true),
            percent(true).to_ascii_lowercase(),
            json.trim_matches('"').to_owned(),
            serde_json::to_string(&json).unwrap(),
            each(|byte| format!("{byte:02x}")),
            each(|byte| format!("{byte:02X}")),
            each(|byte| format!("\\u{byte:04x}")),
            in_base64(KEY),
            in_base64(&format!("a:{KEY}")),
            in_base64(&format!("ab:{KEY}")),
            in_base64(&format!("Bearer {KEY} ")),
        ]
    }

    #[test]
    fn key_is_found_in_every_form() {
        let own = own();
        for form in forms() {
            let text = format!("it said {form}, then ended");
            let clean = own.scrub(&text);
            assert!(clean.contains("***") && own.scrub(&clean) == clean, "{text}: {clean}");
            assert!(clean.starts_with("it said ") && clean.ends_with(", then ended"), "{clean}");
            let left = clean.replace("***", "").len();
            assert!(left < "it said , then ended".len() + 24, "{text}: {clean}");
        }
        for cut in [20, 22, KEY.len() - 1] {
            assert_eq!(own.scrub(&format!("cut: {}…", &KEY[..cut])), "cut: ***…");
        }
        for other in ["", "sk-test-", "sk-test-0a1B2c3D4e5", "größe 天"] {
            assert!(matches!(own.scrub(other), Cow::Borrowed(_)), "{other}");
        }
        assert!(matches!(OwnSecrets::default().scrub(KEY), Cow::Borrowed(_)));
    }

    #[test]
    fn key_is_found_in_pieces_of_any_size() {
        let own = own();
        for form in forms() {
            let text = format!("größe: {form}; sk-test-no, s, sk-{form}{form} sk-test");
            for size in 1..12 {
                let mut pieces = Pieces::default();
                let mut out = String::new();
                let characters: Vec<char> = text.chars().collect();
                for piece in characters.chunks(size) {
                    out += &pieces.push(&own, &piece.iter().collect::<String>());
                }
                out += &pieces.end(&own);
                assert!(!own.is_in(out.as_bytes()), "{size} {text}: {out}");
                assert!(
                    out.starts_with("größe: ") && out.contains("; sk-test-no, s, sk-") && out.ends_with(" sk-test")
                );
            }
        }
    }

    #[test]
    fn words_of_servers_without_keys_are_left_alone() {
        for word in ["ollama", "EMPTY", "not-needed", "lm-studio", "sk-no-key-required", "k", "", "12345678901"] {
            assert!(!is_telling(word), "{word}");
        }
        assert!(is_telling("sk-test-0a1B2c"));
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let own = own();
        for piece in [KEY, &KEY[..19], "sk-", "%", "\\"] {
            loopwright_testing::growth::grows_in_line(piece, 30_000, |size| {
                let text = piece.repeat(size / piece.len());
                own.scrub(&text);
            });
        }
    }
}
