//! What of the current line says whether a marker is meant or merely talked about: code fences, inline code, block
//! quotes. Follows Markdown's blocks as far as that needs; a stray backtick counts no further than its own line.

use memchr::{memchr, memchr2, memrchr};

use super::quote::{Quotation, Quotes};

/// What stands around a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// Nothing: what is written is meant.
    Plain,
    /// A code fence or a block quote.
    Quoted,
    /// So many backticks stand open before it on this line; whether they are closed is still to be seen. `true`: if
    /// they aren't, a code fence begins with this line.
    Backticks(usize, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    byte: u8,
    length: usize,
    indent: usize,
    /// Whether it stands in a block quote, with which it ends.
    quoted: bool,
    /// Whether it began behind prose, at the end of its line: Markdown's inline code over several lines. It ends with
    /// its paragraph, or with any run as long as its own.
    loose: bool,
}

impl Fence {
    /// Whether every line has to be looked at, for its end.
    fn watched(self) -> bool {
        self.quoted || self.loose
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Head {
    /// Only indentation, quote and list markers so far.
    #[default]
    Prefix,
    /// A bullet, if a space follows.
    Bullet,
    /// So many digits, perhaps of a list.
    Digits(u8),
    /// A number and its `.` or `)`, if a space follows.
    Numbered,
    /// The line's own text has begun.
    Text,
}

/// The longest word that may stand behind the backticks that open a fence, behind prose.
const MOST_INFO: usize = 32;

/// What may stand before a text and is no part of it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const PAST_MARK: usize = BYTE_ORDER_MARK.len();

/// What stands before the next byte of a line.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    /// How many bytes of a byte order mark were read; `PAST_MARK` where none may stand any more.
    mark: usize,
    /// Markup, and nothing but white space since.
    markup: bool,
    /// This byte; 0 where a line begins.
    byte: u8,
    /// The opener of this reasoning markup, in the middle of the line: the line talks of it.
    talk: Option<&'static str>,
}

/// The state of the line that is being read.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    head: Head,
    indent: usize,
    quoted: bool,
    listed: bool,
    /// A run of backticks or tildes that may go on.
    run: usize,
    run_byte: u8,
    run_first: bool,
    /// Backticks that stand open, and whether they may be a fence's.
    open: Option<(usize, bool)>,
    /// How many bytes follow the open backticks, if these are three or more and nothing but one word and white space
    /// does.
    info: Option<usize>,
    /// The open backticks of this line proved to be stray.
    stray: bool,
    /// A fence that begins with the next line.
    coming: Option<Fence>,
    fence: Option<Fence>,
    /// The fence ends with this line if nothing but white space follows.
    closing: bool,
    quotes: Quotes,
    before: Before,
    /// How many bytes were looked at.
    pub(super) looked: u64,
}

impl Line {
    /// Reads on. Lines that lie wholly inside `bytes` and hold no run of three are stepped over.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        self.leave_markup(bytes);
        let watched = self.fence.is_some_and(Fence::watched);
        let first = self.within(bytes);
        self.quotes.follow(bytes, first.is_some());
        let Some(first) = first else {
            self.before.byte = bytes.last().copied().unwrap_or(self.before.byte);
            return;
        };
        self.newline();
        let rest = bytes.get(first + 1..).unwrap_or_default();
        if watched || self.fence.is_some_and(Fence::watched) {
            self.each(rest);
            self.before.byte = bytes.last().copied().unwrap_or(self.before.byte);
            return;
        }
        let after = memrchr(b'\n', rest).map_or(0, |last| last + 1);
        let last = rest.get(after..).unwrap_or_default();
        self.looked += last.len() as u64;
        self.within(last);
        self.before.byte = bytes.last().copied().unwrap_or(self.before.byte);
    }

    /// Reads on in what is text whatever it says: no quotation mark in it opens anything.
    pub(super) fn advance_inert(&mut self, bytes: &[u8]) {
        self.leave_markup(bytes);
        self.each(bytes);
        self.quotes.clear(memchr(b'\n', bytes).is_some());
    }

    /// Reads on, every line of it.
    fn each(&mut self, mut bytes: &[u8]) {
        while let Some(end) = self.within(bytes) {
            self.newline();
            bytes = bytes.get(end + 1..).unwrap_or_default();
        }
    }

    /// A region of another kind stood here; what follows is in the middle of a line.
    pub(super) fn interrupted(&mut self) {
        self.run = 0;
        self.open = None;
        self.info = None;
        self.coming = None;
        self.closing = false;
        self.head = Head::Text;
        self.before.mark = PAST_MARK;
        self.before.markup = true;
        self.before.byte = 0;
        self.quotes.clear(false);
    }

    /// These bytes follow, and markup no longer stands right before what comes next unless they are blank.
    fn leave_markup(&mut self, bytes: &[u8]) {
        if self.before.markup {
            self.before.markup = bytes.iter().all(u8::is_ascii_whitespace);
        }
    }

    /// The opener of this reasoning markup stands in the middle of the line: the line talks of it.
    pub(super) fn talk_of(&mut self, reasoning: &'static str) {
        self.before.talk = Some(reasoning);
    }

    /// Whether the opener of this reasoning markup stands in the line as text.
    pub(super) fn talks_of(&self, reasoning: &str) -> bool {
        self.before.talk == Some(reasoning)
    }

    /// Whether no quotation mark stands open on the line.
    pub(super) fn quotation_free(&mut self) -> bool {
        self.quotation().is_none()
    }

    /// Whether the next byte follows right on a word or the end of a sentence.
    pub(super) fn glued(&self) -> bool {
        let byte = self.before.byte;
        byte.is_ascii_alphanumeric() || byte >= 0x80 || b".!?;:,".contains(&byte)
    }

    /// Whether a line begins here: nothing but white space stands before the next byte on its line, or markup does.
    pub(super) fn begins(&self) -> bool {
        self.at_start() || self.before.markup
    }

    /// The fence that is open, or begins with the next line, was none.
    pub(super) fn no_fence(&mut self) {
        self.fence = None;
        self.coming = None;
    }

    /// The open quotation mark of this line has no partner.
    pub(super) fn stray_marks(&mut self) {
        self.quotes.stray();
    }

    /// What stands open on this line isn't followed any more.
    pub(super) fn stuck_marks(&mut self, open: Quotation) {
        self.quotes.stuck(open);
    }

    /// The open backticks have no partner on this line.
    pub(super) fn stray_backticks(&mut self) {
        self.open = None;
        self.info = None;
        self.stray = true;
    }

    /// A line begins that has nothing to do with what came before.
    pub(super) fn afresh(&mut self) {
        let before = Before { mark: PAST_MARK, ..Before::default() };
        *self = Self { looked: self.looked, before, ..Self::default() };
    }

    /// What stands around the next byte, which belongs to no run.
    pub(super) fn around(&mut self) -> Around {
        self.end_run(false);
        if self.fence.is_some() || self.coming.is_some() || self.quoted {
            return Around::Quoted;
        }
        self.open.map_or(Around::Plain, |(length, fence)| Around::Backticks(length, fence))
    }

    /// The quotation mark that stands open before the next byte.
    pub(super) fn quotation(&mut self) -> Option<Quotation> {
        let (open, looked) = self.quotes.open();
        self.looked += looked as u64;
        open
    }

    /// Whether nothing but white space stands before the next byte on its line.
    pub(super) fn at_start(&self) -> bool {
        self.head == Head::Prefix && self.run == 0 && !self.quoted && !self.listed
    }

    /// Reads on to the end of the line, and says where that is.
    fn within(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        let mut end = None;
        while let Some(byte) = bytes.get(at) {
            if *byte == b'\n' {
                end = Some(at);
                break;
            }
            if self.head == Head::Text && self.run == 0 && !self.closing {
                let rest = bytes.get(at..).unwrap_or_default();
                // Only backticks matter from here on, and in a fence nothing does.
                if self.fence.is_some_and(|fence| !fence.loose) || self.stray {
                    at += memchr(b'\n', rest).unwrap_or(rest.len());
                    continue;
                }
                if self.info.is_some() && *byte != b'`' {
                    self.follow_info(*byte);
                    at += 1;
                    continue;
                }
                self.info = None;
                at += memchr2(b'`', b'\n', rest).unwrap_or(rest.len());
                if bytes.get(at) != Some(&b'`') {
                    continue;
                }
                self.run = 1;
                self.run_byte = b'`';
                self.run_first = false;
                at += 1;
                continue;
            }
            self.byte(*byte);
            at += 1;
        }
        self.looked += at as u64;
        end
    }

    fn byte(&mut self, byte: u8) {
        if self.run > 0 {
            if byte == self.run_byte {
                self.run += 1;
                return;
            }
            self.end_run(byte.is_ascii_whitespace());
        }
        if self.closing {
            if !byte.is_ascii_whitespace() {
                self.closing = false;
                self.head = Head::Text;
            }
            return;
        }
        if self.head == Head::Text {
            if byte == b'`' && self.fence.is_none_or(|fence| fence.loose) {
                self.run = 1;
                self.run_byte = byte;
                self.run_first = false;
            }
            self.follow_info(byte);
            return;
        }
        self.prefix(byte);
    }

    /// What follows a run that may open a fence at the end of its line.
    fn follow_info(&mut self, byte: u8) {
        self.info = match (self.info, byte) {
            // White space: no word may follow.
            (Some(_), b' ' | b'\t' | b'\r') => Some(MOST_INFO),
            (Some(count), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'+' | b'-') if count < MOST_INFO => {
                Some(count + 1)
            }
            _ => None,
        };
    }

    fn prefix(&mut self, byte: u8) {
        if BYTE_ORDER_MARK.get(self.before.mark) == Some(&byte) {
            self.before.mark += 1;
            return;
        }
        self.before.mark = PAST_MARK;
        match (self.head, byte) {
            (Head::Prefix, b' ') => self.indent += 1,
            (Head::Prefix, b'\t') => self.indent += 4,
            (Head::Prefix, b'\r') => {}
            (Head::Prefix, b'>') if self.indent <= 3 && self.fence.is_none_or(|fence| fence.quoted) => {
                self.quoted = true;
                self.indent = 0;
            }
            (Head::Bullet | Head::Numbered, b' ' | b'\t') => {
                self.listed = true;
                self.head = Head::Prefix;
                self.indent += 1;
            }
            _ => {
                // A fence in a quote ends with the quote.
                if self.head == Head::Prefix && !self.quoted && self.fence.is_some_and(|fence| fence.quoted) {
                    self.fence = None;
                }
                match (self.head, byte) {
                    (Head::Prefix, b'`' | b'~') => {
                        self.run = 1;
                        self.run_byte = byte;
                        self.run_first = true;
                    }
                    (_, b'`') if self.fence.is_none() => {
                        self.head = Head::Text;
                        self.run = 1;
                        self.run_byte = byte;
                        self.run_first = false;
                    }
                    (Head::Prefix, b'-' | b'*' | b'+') if self.fence.is_none() => self.head = Head::Bullet,
                    (Head::Prefix, b'0'..=b'9') if self.fence.is_none() => self.head = Head::Digits(1),
                    (Head::Digits(count), b'0'..=b'9') if count < 9 => self.head = Head::Digits(count + 1),
                    (Head::Digits(_), b'.' | b')') => self.head = Head::Numbered,
                    _ => self.head = Head::Text,
                }
            }
        }
    }

    /// The run is over. `blank`: white space or the line's end follows.
    fn end_run(&mut self, blank: bool) {
        let length = std::mem::take(&mut self.run);
        if length == 0 {
            return;
        }
        self.head = Head::Text;
        if let Some(fence) = self.fence {
            if fence.loose {
                if self.run_byte == fence.byte && length >= fence.length {
                    self.fence = None;
                }
                return;
            }
            self.closing = self.run_first
                && blank
                && self.run_byte == fence.byte
                && length >= fence.length
                && self.indent <= fence.indent + 3;
            return;
        }
        if self.run_byte == b'~' {
            if self.run_first && length >= 3 {
                self.coming =
                    Some(Fence { byte: b'~', length, indent: self.indent, quoted: self.quoted, loose: false });
            }
            return;
        }
        if self.stray || self.coming.is_some() {
            return;
        }
        self.info = (self.open.is_none() && length >= 3).then_some(0);
        self.open = match self.open {
            None => Some((length, self.run_first && length >= 3)),
            Some((open, _)) if open == length => None,
            // A fence's own line holds no other backticks.
            Some((open, _)) => Some((open, false)),
        };
    }

    fn newline(&mut self) {
        self.before.mark = PAST_MARK;
        self.end_run(true);
        if let Some(fence) = self.fence {
            let blank = self.head == Head::Prefix;
            if self.closing || (fence.quoted && !self.quoted) || (fence.loose && blank) {
                self.fence = None;
            }
        } else if let Some((length, true)) = self.open {
            self.fence = Some(Fence { byte: b'`', length, indent: self.indent, quoted: self.quoted, loose: false });
        } else if let (Some((length, false)), Some(_)) = (self.open, self.info) {
            let (indent, quoted) = (self.indent, self.quoted);
            self.fence = Some(Fence { byte: b'`', length, indent, quoted, loose: true });
        } else {
            self.fence = self.coming;
        }
        let fence = self.fence;
        *self = Self { fence, looked: self.looked, quotes: std::mem::take(&mut self.quotes), ..Self::default() };
    }
}

/// Where the run of exactly `length` backticks ends that closes inline code, in what is left of a line.
pub(super) fn closing_run(line: &[u8], length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(skip) = memchr(b'`', line.get(at..)?) {
        let start = at + skip;
        let run = line.get(start..)?.iter().take_while(|byte| **byte == b'`').count();
        if run == length {
            return Some(start + run);
        }
        at = start + run;
    }
    None
}
