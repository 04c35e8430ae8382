//! Text without what doesn't count where a quotation is looked for: white space, the sequences of terminals, and the
//! escapes of JSON and of markup however often they were put on. A result may be JSON, a memory stands escaped.

use std::ops::Range;

/// White space stands before the byte.
pub(super) const SPACE: u8 = 1;
/// A line begins with the byte, as it stands, or behind a newline that was escaped once, twice or more often.
pub(super) const LINES: [u8; 4] = [2, 4, 8, 16];
/// Any of them.
pub(super) const LINE: u8 = 2 + 4 + 8 + 16;

/// The characters of texts behind each other that count, and what stands before each.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) text: Vec<u8>,
    before: Vec<u8>,
    /// Which lines begin anywhere but where texts do.
    pub(super) lines: u8,
}

impl Plain {
    /// What counts of one text.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut plain = Self::default();
        plain.take(&String::from_utf8_lossy(text));
        plain
    }

    /// Takes a text, which begins a line.
    pub(super) fn take(&mut self, text: &str) {
        let start = self.text.len();
        Reader { rest: text, plain: self, start, pending: SPACE | LINE, slashes: 0, quote: None }.read();
    }

    /// Whether any of these stand before the byte at `at`; all do at the end.
    pub(super) fn has(&self, at: usize, what: u8) -> bool {
        self.before.get(at).is_none_or(|before| before & what != 0)
    }

    pub(super) fn get(&self, range: Range<usize>) -> &[u8] {
        self.text.get(range).unwrap_or_default()
    }

    /// The lines as they stand that aren't empty.
    pub(super) fn lines(&self) -> Vec<&[u8]> {
        let begins = (1..self.text.len()).filter(|at| self.has(*at, LINES[0]));
        let ends = begins.chain([self.text.len()]);
        let lines = ends.scan(0, |start, end| Some(self.get(std::mem::replace(start, end)..end)));
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// Whether no word goes on at `at`.
    pub(super) fn parts(&self, at: usize) -> bool {
        let word = |at: Option<usize>| at.and_then(|at| self.text.get(at)).is_some_and(|byte| is_word(*byte));
        self.has(at, SPACE) || !word(at.checked_sub(1)) || !word(Some(at))
    }
}

pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// How long the element is that a text begins with, if it breaks a line in markup: `<br>`, `<br />`.
fn line_break(text: &str) -> usize {
    let Some(rest) = text.get(..3).filter(|name| name.eq_ignore_ascii_case("<br")).and(text.get(3..)) else { return 0 };
    let end = rest.trim_start_matches(' ');
    let end = end.strip_prefix('/').unwrap_or(end);
    end.strip_prefix('>').map_or(0, |end| text.len() - end.len())
}

struct Reader<'a> {
    rest: &'a str,
    plain: &'a mut Plain,
    start: usize,
    pending: u8,
    /// How many backslashes stand before the next character, or how it stands in markup.
    slashes: usize,
    /// The quotation mark that came last.
    quote: Option<char>,
}

/// Added where a character stands as an entity.
const ENTITY: usize = 1 << 16;

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            let taken = match c {
                '\\' => self.unescaped(),
                '&' => self.entity(),
                '<' if line_break(self.rest) > 0 => {
                    self.push('\n');
                    line_break(self.rest)
                }
                '\u{1b}' => 1 + terminal_sequence(self.rest.get(1..).unwrap_or_default()),
                c => {
                    self.push(c);
                    c.len_utf8()
                }
            };
            self.rest = self.rest.get(taken..).unwrap_or_default();
        }
    }

    fn push(&mut self, c: char) {
        let escaped = std::mem::take(&mut self.slashes);
        match c {
            '\n' => {
                let line = LINES.get(escaped).or(LINES.last()).copied().unwrap_or_default();
                self.plain.lines |= line;
                self.pending |= SPACE | line;
            }
            '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => {}
            // Struck over: the terminal shows what comes next.
            '\u{8}' => {
                let struck = self.plain.text.iter().rposition(|byte| *byte & 0xc0 != 0x80);
                if let Some(at) = struck.filter(|at| *at >= self.start && self.pending == 0) {
                    self.pending = self.plain.before.get(at).copied().unwrap_or_default();
                    self.plain.text.truncate(at);
                    self.plain.before.truncate(at);
                }
            }
            c if c.is_whitespace() => self.pending |= SPACE,
            c if c.is_control() => {}
            c => {
                let quote = matches!(c, '"' | '\'').then_some(c);
                // Tables and shells double a quotation mark, one that ends an escape as well.
                let doubled = quote.is_some() && self.pending == 0 && self.quote == quote;
                self.quote = quote;
                if !doubled {
                    let text = &mut self.plain.text;
                    text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    self.plain.before.push(std::mem::take(&mut self.pending));
                    self.plain.before.resize(text.len(), 0);
                }
                return;
            }
        }
        self.quote = None;
    }

    /// Takes a backslash, or several, and what they escape. Gives how many bytes that takes.
    fn unescaped(&mut self) -> usize {
        let rest = self.rest.as_bytes();
        let mut units = Vec::new();
        let mut at = 0;
        let end = loop {
            let slashes = rest.iter().skip(at).take_while(|byte| **byte == b'\\').count();
            let behind = rest.get(at + slashes..).unwrap_or_default();
            let unit = |digits: usize| {
                let digits = std::str::from_utf8(behind.get(1..=digits)?).ok()?;
                u16::from_str_radix(digits, 16).ok()
            };
            let digits = match behind.first() {
                Some(b'u') => 4,
                Some(b'x') => 2,
                _ => 0,
            };
            if let Some(unit) = (slashes > 0 && digits > 0).then(|| unit(digits)).flatten() {
                units.push(unit);
                at += slashes + digits + 1;
                continue;
            }
            break match behind.first() {
                Some(end @ (b'n' | b'r' | b't')) if slashes > 0 => {
                    at += slashes + 1;
                    Some((slashes, if *end == b'n' { '\n' } else { ' ' }))
                }
                // Behind escapes another one begins.
                _ if at > 0 => None,
                _ => {
                    at = slashes;
                    self.slashes = slashes;
                    return at;
                }
            };
        };
        let mut colour = false;
        for c in char::decode_utf16(units).flatten() {
            colour = c == '\u{1b}';
            self.push(c);
        }
        match end {
            Some((slashes, c)) => {
                self.slashes = slashes;
                self.push(c);
            }
            None if colour => at += terminal_sequence(self.rest.get(at..).unwrap_or_default()),
            None => {}
        }
        at
    }

    /// Takes what an entity of markup stands for. Gives how many bytes that takes.
    fn entity(&mut self) -> usize {
        let mut at = 1;
        while self.rest.get(at..).is_some_and(|rest| rest.starts_with("amp;")) {
            at += 4;
        }
        let behind = self.rest.get(at..).unwrap_or_default();
        let end = behind.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        let name = end.and_then(|end| behind.get(..end)).unwrap_or_default();
        let (c, taken) = match named(name) {
            Some(c) => {
                self.slashes = ENTITY + at;
                (c, at + name.len() + 1)
            }
            None => ('&', at),
        };
        self.push(c);
        taken
    }
}

/// The longest entity, in bytes, without its ampersand.
const LONGEST_ENTITY: usize = 10;

fn named(entity: &str) -> Option<char> {
    let Some(number) = entity.strip_prefix('#') else {
        return Some(match entity {
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => '\u{a0}',
            _ => return None,
        });
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    };
    number.and_then(char::from_u32)
}

/// The longest address of a link in a terminal, in bytes.
const LONGEST_LINK: usize = 4096;

/// How many bytes behind an escape belong to it: it colours or links the text of a terminal.
fn terminal_sequence(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    match bytes.first() {
        Some(b'[') => {
            let inside = bytes.iter().skip(1).take_while(|byte| matches!(byte, b' '..=b'?')).count();
            1 + inside + usize::from(bytes.get(1 + inside).is_some_and(|byte| matches!(byte, b'@'..=b'~')))
        }
        // What ends it, an escape and a backslash or a bell, counts for nothing itself.
        Some(b']') => bytes.iter().take(LONGEST_LINK).position(|byte| matches!(byte, 7 | 0x1b | b'\\')).unwrap_or(1),
        Some(b'(' | b')') if bytes.get(1).is_some_and(u8::is_ascii) => 2,
        _ => 0,
    }
}
