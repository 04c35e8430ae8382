//! One Python string literal to the inside of a JSON string, while it is being written: escapes are rewritten in place,
//! plain text is copied, nothing is kept but a few bytes.

use memchr::memchr2;

use super::super::{
    body::Sink,
    escape::{escape, escape_char},
};

/// What stands before the quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Prefix {
    raw: bool,
    format: bool,
    bytes: bool,
    /// JSON's escapes and no others.
    json: bool,
}

impl Prefix {
    /// Reads `r`, `b`, `f`, `u` and what may be said together; `None` if this is no prefix.
    pub(crate) fn read(word: &str) -> Option<Self> {
        let prefix = match word.as_bytes() {
            [] => return Some(Self::default()),
            [one] => [one | 32, 0],
            [one, two] => [one | 32, two | 32],
            _ => return None,
        };
        Some(match prefix {
            [b'u', 0] => Self::default(),
            [b'r', 0] => Self { raw: true, ..Self::default() },
            [b'f', 0] => Self { format: true, ..Self::default() },
            [b'b', 0] => Self { bytes: true, ..Self::default() },
            [b'r', b'f'] | [b'f', b'r'] => Self { raw: true, format: true, ..Self::default() },
            [b'r', b'b'] | [b'b', b'r'] => Self { raw: true, bytes: true, ..Self::default() },
            _ => return None,
        })
    }
}

/// Where in the literal the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// After one or two quotes that may become three.
    Open(u8),
    Text,
    /// After this many quotes that may close.
    Quotes(u8),
    Slash,
    /// After a backslash and a carriage return.
    Return,
    /// In `\x`, `\u` or `\U`: the letter, the digits seen.
    Hex(u8, usize),
    /// In `\ooo`.
    Octal(u8, u32),
    /// After one brace of an f-string.
    Brace(u8),
}

/// What is to be known of a literal to find its end without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) triple: bool,
    pub(super) format: bool,
    /// It was left in what an f-string computes.
    pub(super) field: bool,
}

/// How a step through a literal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// All was taken but this many bytes at the end.
    More(usize),
    /// The literal ended before this place.
    Closed(usize),
    /// Before this place it was read, but it is no literal that could be read on.
    Failed(usize, &'static str),
}

/// A literal whose first quote has been taken.
#[derive(Debug, Clone)]
pub(crate) struct Literal {
    quote: u8,
    triple: bool,
    prefix: Prefix,
    at: At,
    /// The first half of a surrogate pair.
    high: Option<u32>,
    digits: [u8; 8],
    /// Whether a line break was met where none may stand.
    broken: bool,
    /// Whether a quote within it pairs off with none.
    odd: bool,
    /// The last byte of its text; 0 where that isn't as it was written.
    before: u8,
}

impl Literal {
    pub(crate) fn new(quote: u8, prefix: Prefix) -> Self {
        Self {
            quote,
            triple: false,
            prefix,
            at: At::Open(1),
            high: None,
            digits: [0; 8],
            broken: false,
            odd: false,
            before: 0,
        }
    }

    /// A string of JSON, whose quote has been taken.
    pub(crate) fn json() -> Self {
        Self { at: At::Text, ..Self::new(b'"', Prefix { json: true, ..Prefix::default() }) }
    }

    /// A string of one line, whose quote has been taken.
    pub(crate) fn of_line(quote: u8) -> Self {
        Self { at: At::Text, ..Self::new(quote, Prefix::default()) }
    }

    /// The quote that closes it.
    pub(super) fn quote(&self) -> u8 {
        self.quote
    }

    /// How a literal that can't be read on was left.
    pub(super) fn left(&self) -> Left {
        Left { triple: self.triple, format: self.prefix.format, field: self.at == At::Brace(b'{') }
    }

    /// Whether the last quote taken may belong to the text: it closed a literal of one line.
    pub(crate) fn reopens(&self) -> bool {
        !self.triple
    }

    /// Whether quotes within it don't pair off: it isn't known where it ends.
    pub(super) fn is_odd(&self) -> bool {
        self.odd
    }

    /// Goes on after a quote that wasn't the end, and has this behind it.
    pub(crate) fn reopen(&mut self, behind: &[u8], out: &mut String) {
        let apostrophe = self.before.is_ascii_alphanumeric() && behind.first().is_some_and(u8::is_ascii_alphanumeric);
        self.odd ^= !apostrophe;
        self.before = 0;
        escape_char(char::from(self.quote), out);
        self.at = At::Text;
    }

    /// A first half that no second half follows is no character.
    fn mend(&mut self, out: &mut String, sink: &mut dyn Sink) {
        if self.high.take().is_some() {
            out.push('\u{FFFD}');
            if sink.repairs() {
                sink.repaired("replaced half a surrogate pair");
            }
        }
    }

    fn scalar(&mut self, value: u32, out: &mut String, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if let (Some(high), 0xDC00..=0xDFFF) = (self.high, value) {
            self.high = None;
            let joined = 0x10000 + ((high - 0xD800) << 10) + (value - 0xDC00);
            escape_char(char::from_u32(joined).unwrap_or('\u{FFFD}'), out);
            return Ok(());
        }
        self.mend(out, sink);
        if (0xD800..0xDC00).contains(&value) {
            self.high = Some(value);
        } else if self.prefix.bytes && value > 0x7F {
            return Err("bytes that are no text");
        } else if let Some(character) = char::from_u32(value) {
            escape_char(character, out);
        } else if (0xDC00..0xE000).contains(&value) {
            self.high = Some(value);
            self.mend(out, sink);
        } else if !sink.repairs() {
            return Err("an escape that names no character");
        } else {
            out.push('\u{FFFD}');
            sink.repaired("replaced an escape that names no character");
        }
        Ok(())
    }

    /// Takes what it can of `input`, from its front.
    pub(crate) fn step(&mut self, input: &[u8], last: bool, out: &mut String, sink: &mut dyn Sink) -> Read {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match self.at {
                At::Text => {
                    let rest = input.get(at..).unwrap_or_default();
                    let end = self.stop(rest).unwrap_or(rest.len());
                    if end > 0 {
                        self.mend(out, sink);
                        let run = rest.get(..end).unwrap_or_default();
                        let start = out.len();
                        let taken = escape(run, last || end < rest.len(), out);
                        self.before = run.get(..taken).and_then(<[u8]>::last).copied().unwrap_or_default();
                        // A line break made it longer.
                        if !self.triple && !self.broken && out.len() - start > taken {
                            sink.looked(run.len());
                        }
                        if !self.triple
                            && !self.broken
                            && out.len() - start > taken
                            && let Some(line) = memchr2(b'\n', b'\r', run)
                        {
                            if !sink.repairs() {
                                out.truncate(start);
                                at += escape(run.get(..line).unwrap_or_default(), true, out);
                                return Read::Failed(at, "a string over several lines");
                            }
                            self.broken = true;
                            sink.repaired("kept a line break in a string of one line");
                        }
                        at += taken;
                        if taken < end {
                            return Read::More(end - taken);
                        }
                        continue;
                    }
                    at += 1;
                    match byte {
                        b'\\' => (self.at, self.before) = (At::Slash, 0),
                        b'{' | b'}' => self.at = At::Brace(byte),
                        _ if self.triple => self.at = At::Quotes(1),
                        _ => {
                            self.mend(out, sink);
                            return Read::Closed(at);
                        }
                    }
                }
                At::Open(count) => {
                    if byte != self.quote {
                        if count == 2 {
                            return Read::Closed(at);
                        }
                        self.at = At::Text;
                        continue;
                    }
                    at += 1;
                    self.triple = count == 2;
                    self.at = if self.triple { At::Text } else { At::Open(2) };
                }
                At::Quotes(count) => {
                    if byte == self.quote {
                        at += 1;
                        if count == 2 {
                            self.mend(out, sink);
                            return Read::Closed(at);
                        }
                        self.at = At::Quotes(2);
                        continue;
                    }
                    self.mend(out, sink);
                    for _ in 0..count {
                        escape_char(char::from(self.quote), out);
                    }
                    self.at = At::Text;
                }
                At::Brace(brace) => {
                    if byte != brace {
                        return Read::Failed(at, "an f-string that needs to be computed");
                    }
                    self.mend(out, sink);
                    out.push(char::from(brace));
                    at += 1;
                    self.at = At::Text;
                }
                At::Return => {
                    at += usize::from(byte == b'\n');
                    self.at = At::Text;
                }
                At::Slash => {
                    at += 1;
                    match self.slash(byte, out, sink) {
                        Ok(true) => {}
                        // Not an escape: both bytes are text, and the second may be the first of a character.
                        Ok(false) => at -= 1,
                        Err(why) => return Read::Failed(at, why),
                    }
                }
                At::Hex(letter, seen) => {
                    let need = match letter {
                        b'x' => 2,
                        b'u' => 4,
                        _ => 8,
                    };
                    if !byte.is_ascii_hexdigit() {
                        if !sink.repairs() {
                            return Read::Failed(at, "an escape without its digits");
                        }
                        sink.repaired("kept an escape without its digits as text");
                        self.mend(out, sink);
                        out.push_str("\\\\");
                        out.push(char::from(letter));
                        out.extend(self.digits.iter().take(seen).map(|digit| char::from(*digit)));
                        self.at = At::Text;
                        continue;
                    }
                    at += 1;
                    if let Some(digit) = self.digits.get_mut(seen) {
                        *digit = byte;
                    }
                    self.at = At::Hex(letter, seen + 1);
                    if seen + 1 == need {
                        self.at = At::Text;
                        let value = self
                            .digits
                            .iter()
                            .take(need)
                            .fold(0, |value, digit| value << 4 | char::from(*digit).to_digit(16).unwrap_or(0));
                        if let Err(why) = self.scalar(value, out, sink) {
                            return Read::Failed(at, why);
                        }
                    }
                }
                At::Octal(seen, value) => {
                    let digit = if seen < 3 { char::from(byte).to_digit(8) } else { None };
                    if let Some(digit) = digit {
                        at += 1;
                        self.at = At::Octal(seen + 1, value * 8 + digit);
                        continue;
                    }
                    self.at = At::Text;
                    if let Err(why) = self.scalar(value, out, sink) {
                        return Read::Failed(at, why);
                    }
                }
            }
        }
        Read::More(0)
    }

    /// Where plain text ends.
    fn stop(&self, rest: &[u8]) -> Option<usize> {
        if !self.prefix.format {
            return memchr2(self.quote, b'\\', rest);
        }
        rest.iter().position(|byte| *byte == self.quote || matches!(byte, b'\\' | b'{' | b'}'))
    }

    fn slash(&mut self, byte: u8, out: &mut String, sink: &mut dyn Sink) -> Result<bool, &'static str> {
        self.at = At::Text;
        if self.prefix.raw {
            self.mend(out, sink);
            out.push_str("\\\\");
            if byte == self.quote || byte == b'\\' {
                escape_char(char::from(byte), out);
                return Ok(true);
            }
            return Ok(false);
        }
        let value = match byte {
            b'/' if self.prefix.json => u32::from(byte),
            // What JSON doesn't know stays as it is written.
            other if self.prefix.json && !matches!(other, b'u' | b'n' | b't' | b'r' | b'b' | b'f' | b'\\' | b'"') => {
                if !sink.repairs() {
                    return Err("an escape that JSON doesn't know");
                }
                sink.repaired("kept a backslash as text");
                self.mend(out, sink);
                out.push_str("\\\\");
                return Ok(false);
            }
            b'\n' => return Ok(true),
            b'\r' => {
                self.at = At::Return;
                return Ok(true);
            }
            b'x' => {
                self.at = At::Hex(byte, 0);
                return Ok(true);
            }
            b'u' | b'U' if !self.prefix.bytes => {
                self.at = At::Hex(byte, 0);
                return Ok(true);
            }
            b'0'..=b'7' => {
                self.at = At::Octal(1, u32::from(byte - b'0'));
                return Ok(true);
            }
            b'n' => 0x0A,
            b't' => 0x09,
            b'r' => 0x0D,
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'v' => 0x0B,
            b'\\' | b'\'' | b'"' => u32::from(byte),
            // What Python doesn't know stays as it is written, backslash and all.
            other => {
                if other == b'N' && !self.prefix.bytes {
                    if !sink.repairs() {
                        return Err("a character named by name");
                    }
                    sink.repaired("kept a character's name as text");
                }
                self.mend(out, sink);
                out.push_str("\\\\");
                return Ok(false);
            }
        };
        self.scalar(value, out, sink)?;
        Ok(true)
    }
}
