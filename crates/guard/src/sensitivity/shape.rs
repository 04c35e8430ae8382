//! What a string looks like: random or words, a placeholder or a value, a checksum that holds or not.
//! Everything here reads its text once and remembers nothing.

use std::{ops::Range, sync::OnceLock};

use aho_corasick::AhoCorasick;

use crate::names as lists;

/// How unusual a letter is behind another in words, from `a` (a quarter of the letters are this one) to `z` (never),
/// in half bits; rows are the first letter. Counted over English text and source code.
const PAIRS: [&[u8; 26]; 26] = [
    b"pjijpokskungihwjugifmnpnms", // a
    b"glkmgnpqhlqfnohnuiimhqsskr", // b
    b"gqlmgorhjvijnpfoujlgkrsuoy", // c
    b"hmmkdlnqfpqknninrkimjppsmy", // d
    b"joigllmrnvrikgolnfgiqmnjnt", // e
    b"inllhgorevtinngosikjisrtmx", // f
    b"ipnoeplihzqjmijnzgiljqrupq", // g
    b"fppneqsqgzolmngpvklilrsskv", // h
    b"klhjklkusvqijehlskhhslvozl", // i
    b"gpmlflrrjnkpmmglwohqfokvpw", // j
    b"inlkdnkogopjnkklrmgklplwnv", // k
    b"gpnkeopsftphoogmxpjkkosuiu", // l
    b"fkomepqsgxplkphgsqjmkssspw", // m
    b"hpihhlfpjrmnpmjotphfllrupu", // n
    b"mljjpmlrmrmiiekjvgjjilkors", // o
    b"gpnmfoqkiyohpohjsgkikrquku", // p
    b"oopmrnpsnuwhnmqqnkilbmnuss", // q
    b"gnkkenmsgxnlklhmukiilnqwly", // r
    b"kqjofnpjhunkmnjioohfiposmw", // s
    b"hplnfnrifwrlnpimuhikkqptks", // t
    b"jijljllvjzthifnjzghgtsxqvv", // u
    b"folpcoprgxvpnnjownmnstprot", // v
    b"fonlgnpifvmmoihnrhimrroptw", // w
    b"jlhlglplgvtljnlfqnlenprklr", // x
    b"kmjlimlpjsqiihkfulghpnmqmm", // y
    b"hpopcorogvtllpjnsnnlprtvmm", // z
];

/// Bits of information for each byte, by how often each byte occurs.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let length = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / length;
            -share * share.log2()
        })
        .sum()
}

/// How many different bytes there are.
pub(super) fn distinct(text: &[u8]) -> usize {
    let mut seen = [false; 256];
    for byte in text {
        seen[usize::from(*byte)] = true;
    }
    seen.iter().filter(|seen| **seen).count()
}

/// What a string is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) length: usize,
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    /// Bytes that are neither letters nor digits.
    pub(super) marks: usize,
    /// Runs of one kind: a capital with the small letters behind it, small letters, capitals, digits.
    pub(super) runs: usize,
    /// Whether all letters are a to f.
    pub(super) hex: bool,
    /// Pairs of letters inside runs, and how unusual they are together, in half bits.
    pairs: u32,
    cost: u32,
}

impl Shape {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut shape = Self { length: text.len(), hex: true, ..Self::default() };
        let mut last = 0_u8;
        for &byte in text {
            let new_run = match byte {
                b'a'..=b'z' => {
                    shape.lower += 1;
                    !last.is_ascii_alphabetic()
                }
                b'A'..=b'Z' => {
                    shape.upper += 1;
                    !last.is_ascii_uppercase()
                }
                b'0'..=b'9' => {
                    shape.digits += 1;
                    !last.is_ascii_digit()
                }
                _ => {
                    shape.marks += 1;
                    shape.hex = false;
                    false
                }
            };
            if byte.is_ascii_alphabetic() {
                shape.hex &= byte.is_ascii_hexdigit();
                if !new_run {
                    let row = usize::from(last.to_ascii_lowercase() - b'a');
                    let column = usize::from(byte.to_ascii_lowercase() - b'a');
                    shape.pairs += 1;
                    shape.cost += u32::from(PAIRS[row][column] - b'a');
                }
            }
            shape.runs += usize::from(new_run);
            last = byte;
        }
        shape
    }

    pub(super) const fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Bytes of one kind in a row, on average.
    pub(super) fn run_length(&self) -> f64 {
        (self.length - self.marks) as f64 / self.runs.max(1) as f64
    }

    /// How unusual the pairs of letters are, on average, in bits; words have 3 to 4.5, chance has more than 6.
    pub(super) fn unusual(&self) -> f64 {
        f64::from(self.cost) / 2.0 / f64::from(self.pairs.max(1))
    }

    /// Whether chance wrote this rather than a person who names things.
    pub(super) fn random(&self) -> bool {
        let body = self.length - self.marks;
        if body < 8 {
            return false;
        }
        let run = self.run_length();
        if self.hex && body >= 16 {
            return self.digits > 0 && (self.letters() > 0 && run < 5.0);
        }
        if self.digits == 0 {
            // Letters alone: short runs are capitals strewn about; long ones are judged by their pairs.
            return if self.lower > 0 && self.upper > 0 {
                (body >= 12 && run < 2.6) || (body >= 16 && self.unusual() > 4.8)
            } else {
                body >= 16 && self.unusual() > 5.2
            };
        }
        if self.letters() == 0 {
            return false;
        }
        if body < 16 {
            return run < 2.6 && self.unusual_or(5.0) > 4.2;
        }
        run < 3.0 || (run < 5.0 && self.unusual_or(0.0) > 5.0) || (body >= 20 && self.unusual_or(0.0) > 4.7)
    }

    fn unusual_or(&self, without: f64) -> f64 {
        if self.pairs < 3 { without } else { self.unusual() }
    }
}

/// Whether the digits pass Luhn's check.
pub(super) fn luhn(digits: impl DoubleEndedIterator<Item = u8>) -> bool {
    let sum: u32 = digits
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let digit = u32::from(digit);
            if at % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether letters and digits, the first four moved to the end, leave 1 modulo 97, as an IBAN's do.
pub(super) fn mod97(account: &[u8]) -> bool {
    let Some((head, rest)) = account.split_at_checked(4) else { return false };
    let mut left = 0_u32;
    for byte in rest.iter().chain(head) {
        left = match byte {
            b'0'..=b'9' => (left * 10 + u32::from(byte - b'0')) % 97,
            b'A'..=b'Z' => (left * 100 + u32::from(byte - b'A') + 10) % 97,
            _ => return false,
        };
    }
    left == 1
}

/// Decodes base64 in either alphabet, up to the first byte that is in none and at most `limit` bytes.
pub(super) fn base64(text: &[u8], limit: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(limit.min(text.len()));
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        held = (held << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
            if out.len() == limit {
                break;
            }
        }
    }
    out
}

/// To its end what was read only as far as it had to be: a find of some length that stops within a word goes on.
pub(super) fn whole(text: &[u8], span: Range<usize>) -> Range<usize> {
    let within = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    if span.len() < 48 || !within(text.get(span.end - 1)) || !within(text.get(span.end)) {
        return span;
    }
    let goes_on = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b'%')
    };
    span.start..span.end + text[span.end..].iter().take_while(goes_on).count()
}

/// The words of a name: letters between changes of case, digits and marks. At most `most`, in small letters.
pub(super) fn words(name: &[u8], most: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = 0_u8;
    for (at, &byte) in name.iter().enumerate() {
        if byte.is_ascii_alphabetic() {
            let next_lower = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let starts = !last.is_ascii_alphabetic()
                || (byte.is_ascii_uppercase()
                    && (last.is_ascii_lowercase() || (last.is_ascii_uppercase() && next_lower)));
            if starts {
                if words.len() == most {
                    break;
                }
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(byte.to_ascii_lowercase() as char);
            }
        }
        last = byte;
    }
    words
}

/// Whether there is `open`, a name or a short expression, and `close` behind one another.
fn expansion(text: &[u8], open: &[u8], close: &[u8]) -> bool {
    memchr::memmem::find_iter(text, open).take(8).any(|at| {
        let inner = text.get(at + open.len()..).unwrap_or_default();
        let inner = &inner[..inner.len().min(96)];
        memchr::memmem::find(inner, close).is_some_and(|end| {
            inner[..end].iter().all(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(
                        byte,
                        b'_' | b'-'
                            | b'.'
                            | b' '
                            | b':'
                            | b'|'
                            | b'('
                            | b')'
                            | b'\''
                            | b'"'
                            | b','
                            | b'?'
                            | b'@'
                            | b'['
                            | b']'
                            | b'/'
                            | b'!'
                            | b'$'
                            | b'='
                    )
            })
        })
    })
}

/// Whether the value is written by a program when it runs: an expansion, a template, a call.
pub(super) fn template(value: &[u8]) -> bool {
    const EXPANSIONS: &[(&[u8], &[u8])] = &[
        (b"${", b"}"),
        (b"$(", b")"),
        (b"{{", b"}}"),
        (b"<%", b"%>"),
        (b"%(", b")"),
        (b"#{", b"}"),
        (b"$[", b"]"),
        (b"%{", b"}"),
        (b"\\(", b")"),
        (b"@@", b"@@"),
        (b"[[", b"]]"),
    ];
    if EXPANSIONS.iter().any(|(open, close)| expansion(value, open, close)) {
        return true;
    }
    // `$$PASSWORD`, `\$PASSWORD`: for whoever expands it later.
    if let Some(name) = value.strip_prefix(b"$$").or_else(|| value.strip_prefix(b"\\$"))
        && name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    {
        return true;
    }
    // What an expansion leaves of itself where the value was cut.
    if value.starts_with(b"${") || value.starts_with(b"$(") || value.starts_with(b"{{") || value.starts_with(b"<%") {
        return true;
    }
    let (Some(first), Some(last)) = (value.first(), value.last()) else { return true };
    let inner = value.get(1..value.len().max(2) - 1).unwrap_or_default();
    let named = |text: &[u8]| {
        text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ' | b':'))
    };
    match (first, last) {
        (b'<', b'>') | (b'[', b']') | (b'{', b'}') | (b'(', b')') | (b'%', b'%') | (b'*', b'*') => true,
        (b'#', b'#') | (b'@', b'@') | (b'~', b'~') => {
            value.len() > 4
                && value
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'#' | b'@' | b'~'))
        }
        (b'_', b'_') => value.len() > 4 && named(inner) && Shape::of(inner).digits == 0,
        (b'$', _) => {
            value.len() > 1
                && value[1..]
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'>' | b':'))
                && !value[1].is_ascii_digit()
        }
        (b'&' | b'*', _) => Shape::of(value).digits == 0,
        _ => false,
    }
}

/// Whether the value stands in for one: an example, a mask, a pattern of the keyboard, words that name what would be
/// there.
pub(super) fn stand_in(value: &[u8]) -> bool {
    masked(value) || sequence(value) || names(value)
}

/// Whether the value is a template, a mask, or says that something is to stand there.
pub(super) fn masked(value: &[u8]) -> bool {
    let value = &value[..value.len().min(512)];
    let few = match distinct(value) {
        // `121212` is somebody's password; `111111` only keeps a place.
        2 if value.len() >= 6 && value.iter().all(u8::is_ascii_digit) && value[0] != value[1] => false,
        0..=2 => value.len() >= 2,
        // `banana` is a word.
        3 => value.len() >= 8,
        _ => false,
    };
    value.len() < 2
        || value.ends_with(b"...")
        || (few && value.len() > 3)
        || distinct(value) == 1
        || stands_in(value)
        || template(value)
}

/// Whether a word in it says that it stands for something else.
fn stands_in(value: &[u8]) -> bool {
    static WORDS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        AhoCorasick::builder().ascii_case_insensitive(true).build(lists::list("secret_values.stand_ins")).ok()
    });
    words.as_ref().is_some_and(|words| words.is_match(value))
}

/// Whether all its words name what would stand there, or say that it is for trial.
pub(super) fn names(value: &[u8]) -> bool {
    let words = words(&value[..value.len().min(512)], 12);
    let letters: usize = words.iter().map(String::len).sum();
    let known = |word: &str| lists::has("secret_values.naming", word);
    letters > 0 && value.len() <= letters * 2 + 4 && words.iter().all(|word| known(word.as_str()))
}

/// The longest part that counts up, as `abcdef` and `123456` do.
pub(super) fn counting(text: &[u8]) -> usize {
    let (mut longest, mut run) = (1, 1);
    for pair in text.windows(2) {
        run = if pair[1].wrapping_sub(pair[0]) == 1 || pair == b"90" { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    longest
}

/// Whether it lists characters, as what encodes does: `ABC…XYZabc…xyz0123456789+/`.
pub(super) fn alphabet(text: &[u8]) -> bool {
    let mut listed = 0;
    let mut run = 1;
    for pair in text.windows(2) {
        if pair[1].wrapping_sub(pair[0]) == 1 {
            run += 1;
        } else {
            listed += if run >= 10 { run } else { 0 };
            run = 1;
        }
    }
    listed += if run >= 10 { run } else { 0 };
    listed >= 36 && listed + 4 >= text.len()
}

/// Whether it counts up or down from end to end.
pub(super) fn sequence(text: &[u8]) -> bool {
    let step = |pair: &[u8]| if pair == b"90" { 1 } else { i16::from(pair[1]) - i16::from(pair[0]) };
    let Some(first) = text.get(..2).map(step) else { return false };
    first.abs() <= 1 && text.windows(2).all(|pair| step(pair) == first)
}
