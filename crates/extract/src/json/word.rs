//! Words without quotes: numbers, literals of JSON and its neighbours, and text; and the names of what can be mended.

/// What can be wrong with JSON and was put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mend {
    /// A code fence around it was left out.
    Fence,
    /// Text before or after it was left out.
    Around,
    /// Single, typographic, backtick or escaped quotes became `"`.
    Quotes,
    /// A string's opening or closing quote was missing.
    MissingQuote,
    /// A key had no quotes.
    UnquotedKey,
    /// Text had no quotes.
    UnquotedText,
    /// A quote inside a string wasn't escaped.
    InnerQuote,
    /// A newline or another control character stood in a string.
    Control,
    /// An escape that JSON doesn't know, or half of one.
    Escape,
    /// Half of a surrogate pair became U+FFFD.
    Surrogate,
    /// A literal of another language: `None`, `True`, `undefined`, `NaN`.
    Literal,
    /// A number that JSON doesn't know: hexadecimal, with a plus, zeros in front, or digits missing.
    Number,
    /// A comment was left out.
    Comment,
    /// A comma before a closer was left out.
    TrailingComma,
    /// A comma was missing.
    MissingComma,
    /// A comma without a value was left out.
    ExtraComma,
    /// A colon was missing.
    MissingColon,
    /// A value was missing and became `null`.
    MissingValue,
    /// An empty object was put where a call's arguments are missing, or are an empty array.
    NoArguments,
    /// A closing bracket was missing.
    MissingCloser,
    /// A closing bracket that closes nothing was left out.
    ExtraCloser,
    /// `...` was left out.
    Ellipsis,
    /// Strings joined by `+` became one.
    Joined,
    /// Containers nested too deep became `null`.
    TooDeep,
    /// Characters that mean nothing were left out.
    Stray,
    /// Words between a string's end and what follows it were left out.
    Words,
    /// An opening bracket was missing.
    MissingOpener,
    /// Several values became an array of them.
    Several,
}

impl Mend {
    pub(crate) const ALL: [Self; 28] = [
        Self::Fence,
        Self::Around,
        Self::Quotes,
        Self::MissingQuote,
        Self::UnquotedKey,
        Self::UnquotedText,
        Self::InnerQuote,
        Self::Control,
        Self::Escape,
        Self::Surrogate,
        Self::Literal,
        Self::Number,
        Self::Comment,
        Self::TrailingComma,
        Self::MissingComma,
        Self::ExtraComma,
        Self::MissingColon,
        Self::MissingValue,
        Self::NoArguments,
        Self::MissingCloser,
        Self::ExtraCloser,
        Self::Ellipsis,
        Self::Joined,
        Self::TooDeep,
        Self::Stray,
        Self::Words,
        Self::MissingOpener,
        Self::Several,
    ];

    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// What was done, for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Fence => "left out a code fence",
            Self::Around => "left out text around the JSON",
            Self::Quotes => "put double quotes around a string",
            Self::MissingQuote => "added or removed a quote that had no partner",
            Self::UnquotedKey => "put quotes around a key",
            Self::UnquotedText => "put quotes around text",
            Self::InnerQuote => "escaped a quote inside a string",
            Self::Control => "escaped a control character inside a string",
            Self::Escape => "mended an escape",
            Self::Surrogate => "replaced half a surrogate pair by U+FFFD",
            Self::Literal => "wrote a literal as JSON has it",
            Self::Number => "wrote a number as JSON has it",
            Self::Comment => "left out a comment",
            Self::TrailingComma => "left out a trailing comma",
            Self::MissingComma => "added a comma",
            Self::ExtraComma => "left out a comma without a value",
            Self::MissingColon => "added a colon",
            Self::MissingValue => "put null for a missing value",
            Self::NoArguments => "put an empty object where no arguments stood",
            Self::MissingCloser => "added closing brackets",
            Self::ExtraCloser => "left out a closing bracket",
            Self::Ellipsis => "left out an ellipsis",
            Self::Joined => "joined strings",
            Self::TooDeep => "put null for something nested too deep",
            Self::Stray => "left out stray characters",
            Self::Words => "left out words behind a string",
            Self::MissingOpener => "added an opening bracket",
            Self::Several => "put several values into an array",
        }
    }
}

/// What a word is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A JSON number or literal, as it stands.
    Json,
    /// A literal written otherwise.
    Literal(&'static str),
    /// A number written otherwise.
    Number(String),
    /// None of these.
    Text,
}

/// No number is longer; what is counts as text, unless it is JSON.
pub(super) const LONG: usize = 4096;

pub(super) fn read(word: &[u8]) -> Word {
    match word {
        b"true" | b"false" | b"null" => return Word::Json,
        b"True" | b"TRUE" => return Word::Literal("true"),
        b"False" | b"FALSE" => return Word::Literal("false"),
        b"None" | b"NULL" | b"Null" | b"nil" | b"undefined" | b"NaN" | b"nan" | b"Infinity" | b"-Infinity"
        | b"+Infinity" | b"-NaN" | b"+NaN" | b"inf" | b"-inf" => return Word::Literal("null"),
        _ => {}
    }
    match word.first() {
        Some(b'0'..=b'9' | b'-') if number(word) => Word::Json,
        Some(b'0'..=b'9' | b'-' | b'+' | b'.') if word.len() <= LONG => {
            odd_number(word).map_or(Word::Text, Word::Number)
        }
        _ => Word::Text,
    }
}

/// Whether this is a number or a literal of JSON, or of a language near it.
pub(crate) fn is_scalar(word: &[u8]) -> bool {
    read(word) != Word::Text
}

/// Whether this is a number of JSON.
pub(super) fn number(word: &[u8]) -> bool {
    let digits = |word: &[u8]| word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(after) = rest.strip_prefix(b".") {
        let fraction = digits(after);
        if fraction == 0 {
            return false;
        }
        rest = after.get(fraction..).unwrap_or_default();
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let after = match after {
            [b'+' | b'-', after @ ..] => after,
            _ => after,
        };
        let exponent = digits(after);
        return exponent > 0 && exponent == after.len();
    }
    rest.is_empty()
}

/// A number of Python, JavaScript or JSON5, or one cut short, as JSON.
fn odd_number(word: &[u8]) -> Option<String> {
    let word = std::str::from_utf8(word).ok()?;
    let (sign, digits) = match word.as_bytes().first() {
        Some(b'-') => ("-", word.get(1..)?),
        Some(b'+') => ("", word.get(1..)?),
        _ => ("", word),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return u128::from_str_radix(hex, 16)
            .ok()
            .filter(|_| !hex.starts_with('+'))
            .map(|value| format!("{sign}{value}"));
    }
    if digits.is_empty() {
        return (sign == "-").then(|| "null".to_owned());
    }
    let joined = match digits.contains('_') {
        // `1_000`, but no `1_` and no `_1`.
        true if digits.split('_').all(|part| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit())) => {
            digits.replace('_', "")
        }
        true => return None,
        false => digits.to_owned(),
    };
    let (mantissa, exponent) = match joined.find(['e', 'E']) {
        Some(at) => (joined.get(..at)?, joined.get(at..)?),
        None => (joined.as_str(), ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let mut text = sign.to_owned();
    let trimmed = whole.trim_start_matches('0');
    text.push_str(if trimmed.is_empty() { "0" } else { trimmed });
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    // An exponent without digits was cut short.
    if !exponent.get(1..).unwrap_or_default().trim_start_matches(['+', '-']).is_empty() {
        text.push_str(exponent);
    }
    number(text.as_bytes()).then_some(text)
}

/// Appends the escape of a control character.
pub(super) fn escape_byte(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        _ => {
            out.extend_from_slice(b"\\u00");
            for digit in [byte >> 4, byte & 15] {
                out.push(HEX.get(usize::from(digit)).copied().unwrap_or(b'0'));
            }
        }
    }
}
