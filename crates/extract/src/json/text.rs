//! Strings, their escapes, and the question whether a quote ends one.

use super::{
    Json, Quote, State,
    ahead::{self, Class},
    word::{self, Mend},
};

impl Json {
    pub(super) fn text(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let plain = match self.quote {
            // Half a pair waits for the other half alone.
            Quote::Double if self.high.is_none() => ahead::clean(rest, &mut self.marks.unpaired),
            Quote::Double => rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).take(1).count(),
            _ => ahead::plain_of_any(rest),
        };
        if plain > 0 {
            if self.high.is_some() {
                self.lone_surrogate();
                return Some(0);
            }
            let mut text = rest.get(..plain).unwrap_or_default();
            if self.key && self.quote == Quote::Double && !self.colon {
                match memchr::memchr(b':', text) {
                    Some(0) if self.last_byte != b'"' => {
                        if ahead::swapped(rest, last, &mut self.looks)? {
                            // The colon and the quote behind the key changed places.
                            self.note_to(Mend::MissingColon, self.at, self.at + 2);
                            self.quote_comes();
                            self.out.push(b':');
                            self.state = State::Value;
                            return Some(2);
                        }
                        if !ahead::key_goes_on(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? {
                            self.note(Mend::MissingQuote, self.at);
                            self.quote_comes();
                            self.text_ends();
                            return Some(0);
                        }
                        self.colon = true;
                    }
                    Some(at) => text = text.get(..at.max(1)).unwrap_or_default(),
                    None => {}
                }
                // What no key holds is rather part of something that was swallowed.
                self.colon |= text.iter().any(|byte| b"<>{}[]()|".contains(byte));
            }
            self.out.extend_from_slice(text);
            self.remember(text);
            return Some(text.len());
        }
        let (class, len) = if self.quote == Quote::Double {
            (Class::Byte(rest.first().copied().unwrap_or_default()), 1)
        } else {
            ahead::class(rest, last)?
        };
        match class {
            Class::Byte(b'\\') => {
                if self.quote == Quote::Escaped {
                    match rest.get(1) {
                        Some(b'"') => {
                            self.quote_comes();
                            return Some(2);
                        }
                        None if !last => return None,
                        _ => {}
                    }
                }
                self.mark = self.out.len();
                self.out.push(b'\\');
                self.state = State::Escape;
                return Some(1);
            }
            Class::Byte(b'"') => {
                // A key may begin with another quotation mark than it ends with.
                let mixed = self.key && !matches!(self.quote, Quote::Double | Quote::Curly | Quote::Escaped);
                let ends = match rest.get(1) {
                    _ if !mixed => false,
                    None if !last => return None,
                    next => next == Some(&b':'),
                };
                self.lone_surrogate();
                if ends {
                    self.note(Mend::MissingQuote, self.at);
                }
                if ends || matches!(self.quote, Quote::Double | Quote::Curly | Quote::Escaped) {
                    self.quote_comes();
                } else {
                    self.out.extend_from_slice(b"\\\"");
                    self.last_byte = b'"';
                }
                return Some(1);
            }
            Class::Byte(b'\'') if self.quote == Quote::Single => {
                self.quote_comes();
                return Some(1);
            }
            Class::Byte(b'`') if self.quote == Quote::Backtick => {
                self.quote_comes();
                return Some(1);
            }
            Class::Curly if self.quote == Quote::Curly => {
                self.quote_comes();
                return Some(len);
            }
            Class::CurlySingle if self.quote == Quote::CurlySingle => {
                self.quote_comes();
                return Some(len);
            }
            Class::Byte(byte) if byte < 0x20 => self.control(byte),
            Class::Nothing if len == 1 => self.control(rest.first().copied().unwrap_or_default()),
            _ => {
                self.lone_surrogate();
                let text = rest.get(..len).unwrap_or_default();
                self.out.extend_from_slice(text);
                self.remember(text);
                return Some(len);
            }
        }
        Some(1)
    }

    pub(super) fn control(&mut self, byte: u8) {
        self.lone_surrogate();
        self.note_to(Mend::Control, self.at, self.at + 1);
        word::escape_byte(byte, &mut self.out);
        if byte == b'\n' {
            self.newline = true;
        }
        self.blank = true;
        if self.siblings {
            self.tail.push(&[byte]);
        }
    }

    /// A quote that ends the string unless what follows shows that it doesn't.
    pub(super) fn quote_comes(&mut self) {
        self.lone_surrogate();
        if self.whole && self.key && self.newline {
            // No key ends with a line. Elsewhere it may have gone out by now.
            self.trim_lines();
        }
        self.mark = self.out.len();
        self.line = false;
        self.ended = self.at + 1;
        self.out.push(b'"');
        if self.stack.len == 0 {
            self.state = State::End;
        } else {
            self.state = State::AfterText;
        }
    }

    pub(super) fn lone_surrogate(&mut self) {
        if let Some(high) = self.high.take() {
            self.replace_escape(high);
        }
    }

    pub(super) fn replace_escape(&mut self, at: usize) {
        if let Some(escape) = self.out.get_mut(at..at + 6) {
            escape.copy_from_slice(b"\\ufffd");
        }
        self.note_to(Mend::Surrogate, self.at.saturating_sub(6), self.at);
    }

    pub(super) fn escape(&mut self, rest: &[u8]) -> usize {
        let byte = rest.first().copied().unwrap_or_default();
        self.last_byte = byte;
        self.blank = false;
        self.newline = false;
        if byte == b'u' {
            self.out.push(byte);
            self.state = State::Hex(0, 0);
            return 1;
        }
        self.lone_surrogate();
        self.state = State::Text;
        self.marks.unpaired ^= byte == b'"';
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.out.push(byte);
                if self.siblings {
                    self.tail.push(&[b'\\', byte]);
                }
            }
            _ => {
                self.tail.clear();
                // A longer character isn't part of it.
                let end = self.at + usize::from(byte.is_ascii());
                self.note_to(Mend::Escape, self.at.saturating_sub(1), end);
                self.out.truncate(self.mark);
                match byte {
                    b'\'' | b'`' => self.out.push(byte),
                    // A line goes on.
                    b'\n' => {}
                    b'\r' => {}
                    b'0' => self.out.extend_from_slice(b"\\u0000"),
                    b'a' => self.out.extend_from_slice(b"\\u0007"),
                    b'v' => self.out.extend_from_slice(b"\\u000b"),
                    // A backslash that was meant as one.
                    _ => {
                        self.out.extend_from_slice(b"\\\\");
                        return 0;
                    }
                }
            }
        }
        1
    }

    pub(super) fn hex(&mut self, rest: &[u8], count: u8, value: u16) -> usize {
        let byte = rest.first().copied().unwrap_or_default();
        let Some(digit) = char::from(byte).to_digit(16) else {
            self.tail.clear();
            // No escape at all: `C:\users`.
            self.note_to(Mend::Escape, self.at.saturating_sub(usize::from(count) + 2), self.at);
            if self.mark <= self.out.len() {
                self.out.insert(self.mark, b'\\');
            }
            self.lone_surrogate();
            self.state = State::Text;
            return 0;
        };
        self.out.push(byte);
        self.last_byte = byte;
        let value = value << 4 | digit as u16;
        if count < 3 {
            self.state = State::Hex(count + 1, value);
            return 1;
        }
        if self.siblings {
            self.tail.push(self.out.get(self.mark..).unwrap_or_default());
        }
        self.state = State::Text;
        self.at += 1;
        match (value, self.high) {
            (0xdc00..=0xdfff, Some(_)) => self.high = None,
            (0xdc00..=0xdfff, None) => self.replace_escape(self.mark),
            (0xd800..=0xdbff, _) => {
                self.lone_surrogate();
                self.high = Some(self.mark);
            }
            _ => self.lone_surrogate(),
        }
        self.at -= 1;
        1
    }

    /// The quote did end the string.
    pub(super) fn text_ends(&mut self) {
        self.marks.unbalanced |= std::mem::take(&mut self.marks.odd);
        if self.key {
            self.state = State::AfterKey;
        } else if self.state == State::AfterTextComma {
            self.state = State::Key;
        } else {
            self.value_ends();
        }
    }

    /// The quote stands inside the string, and so does what followed it.
    pub(super) fn text_goes_on(&mut self, next: Option<u8>) {
        self.doubt = true;
        self.tail.clear();
        // A mark within a word has no partner.
        let apart = self.mark + 1 < self.out.len();
        let within = |byte: u8| byte.is_ascii_alphanumeric();
        let apostrophe = !apart && !self.blank && within(self.last_byte) && next.is_some_and(within);
        self.marks.odd ^= !apostrophe;
        if self.mark + 1 == self.out.len() && matches!(self.quote, Quote::Double | Quote::Curly | Quote::Escaped) {
            // Nothing stands behind the quote.
            self.comma = None;
            self.note_to(Mend::InnerQuote, self.at.saturating_sub(1), self.at);
            // Escaped twice.
            let before = self.out.get(..self.mark).unwrap_or_default();
            let slashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            if self.whole && !self.doubtful && slashes == 2 {
                self.mark -= 2;
                self.out.drain(self.mark..self.mark + 2);
            }
            self.out.insert(self.mark, b'\\');
            self.last_byte = b'"';
            self.blank = false;
            self.newline = false;
            self.doubtful = true;
            self.state = State::Text;
            return;
        }
        let tail = self.out.split_off(self.mark.min(self.out.len()));
        self.looks.count += tail.len();
        self.comma = None;
        self.note_to(Mend::InnerQuote, self.at.saturating_sub(tail.len()), self.at);
        for (i, &byte) in tail.iter().enumerate() {
            match byte {
                b'"' if i == 0 && matches!(self.quote, Quote::Single | Quote::CurlySingle) => self.out.push(b'\''),
                b'"' if i == 0 && self.quote == Quote::Backtick => self.out.push(b'`'),
                b'"' => self.out.extend_from_slice(b"\\\""),
                0..0x20 => word::escape_byte(byte, &mut self.out),
                _ => self.out.push(byte),
            }
        }
        self.last_byte = b'"';
        self.remember(&tail);
        self.newline = tail.contains(&b'\n') && tail.last().is_some_and(u8::is_ascii_whitespace);
        self.doubtful = true;
        self.state = State::Text;
    }

    pub(super) fn after_text(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let byte = rest.first().copied().unwrap_or_default();
        if self.last_byte == b'{' && self.siblings && self.resumes(rest, last)? {
            return Some(0);
        }
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            self.out.push(byte);
            self.line |= byte == b'\n';
            return Some(1);
        }
        // The common ways.
        if self.key {
            if byte == b':' {
                self.out.push(b':');
                self.state = State::Value;
                return Some(1);
            }
            return self.after_odd_key(rest, last);
        }
        if !self.doubtful {
            match byte {
                b',' if self.stack.in_object() => {
                    self.comma = Some(self.out.len());
                    self.out.push(b',');
                    self.state = State::AfterTextComma;
                    return Some(1);
                }
                b',' | b'}' | b']' => {
                    self.text_ends();
                    return Some(0);
                }
                _ => {}
            }
        }
        self.after_odd_text(rest, last)
    }

    pub(super) fn after_odd_key(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        if self.doubled(rest, last)? {
            return Some(0);
        }
        let (class, _) = ahead::class(rest, last)?;
        let inner = match class {
            Class::Byte(b'=' | b',' | b'}' | b']' | b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'/' | b'#' | b':') => {
                false
            }
            Class::Byte(b'\'' | b'`') => false,
            Class::Curly | Class::CurlySingle | Class::Ellipsis | Class::Wide(_) | Class::Nothing => false,
            _ if self.foreign(rest, last)? => false,
            _ => ahead::quoted_key(rest, last, &mut self.looks)?,
        };
        if inner {
            self.text_goes_on(rest.first().copied());
        } else {
            self.text_ends();
        }
        Some(0)
    }

    pub(super) fn after_odd_text(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let (class, _) = ahead::class(rest, last)?;
        if self.lines > 1 && self.prose(class, rest, last)? {
            self.text_ends();
            return Some(0);
        }
        if self.doubled(rest, last)? {
            return Some(0);
        }
        let array = self.stack.in_array();
        let (apart, line) = (self.mark + 1 < self.out.len(), self.line);
        let behind = rest.get(1..).unwrap_or_default();
        if rest.first() == Some(&b'"')
            && self.quote == Quote::Double
            && !(self.doubtful || self.marks.unpaired || apart)
            && ahead::ends_behind(behind, array, last, &mut self.looks)?
        {
            self.note_to(Mend::MissingQuote, self.at, self.at + 1);
            self.text_ends();
            return Some(1);
        }
        // Words behind a string's end, and then the structure goes on: they are none of it.
        let word = matches!(class, Class::Byte(byte) if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80);
        if word
            && apart
            && !(self.doubtful || self.marks.odd)
            && !self.foreign(rest, last)?
            && !(array && ahead::literal(rest, last)?)
            && let Some(words) = ahead::words(rest, array, last, &mut self.looks)?
        {
            self.note_to(Mend::Words, self.at, self.at + words);
            self.text_ends();
            return Some(words);
        }
        let ends = match class {
            Class::Byte(b',') if array => !self.doubtful || ahead::element(behind, last, &mut self.looks)?,
            Class::Byte(b',') => ahead::member(behind, last, &mut self.looks)?,
            Class::Byte(b'}' | b']') => !self.doubtful || ahead::closers(rest, last, &mut self.looks)?,
            Class::Byte(b'"') if self.quote == Quote::Double => {
                if array {
                    apart || ahead::quoted_element(behind, last, &mut self.looks)?
                } else {
                    ahead::quoted_key(behind, last, &mut self.looks)?
                }
            }
            Class::Byte(b'"' | b'\'' | b'`') | Class::Curly | Class::CurlySingle => array || line,
            Class::Wide(byte) => {
                byte == b',' && (array || ahead::member(rest.get(3..).unwrap_or_default(), last, &mut self.looks)?)
            }
            Class::Byte(b'+') => {
                let Some(bytes) = ahead::concatenation(rest, last, &mut self.looks)? else {
                    self.text_goes_on(rest.first().copied());
                    return Some(0);
                };
                self.note_to(Mend::Joined, self.at, self.at + bytes);
                self.out.truncate(self.mark);
                self.state = State::Text;
                return Some(bytes);
            }
            Class::Byte(b'/') => matches!(ahead::second(rest, last)?, b'/' | b'*'),
            Class::Byte(b'#') => apart,
            Class::Byte(b'.') | Class::Ellipsis => ahead::ellipsis(rest, last)?.is_some(),
            Class::Byte(b'[') if self.marker_ends(rest, last, apart)? => true,
            Class::Byte(b'{') if !array && !self.doubt && self.next.sibling(rest, last, &mut self.looks)? => true,
            Class::Byte(b'{' | b'[') if array && apart => true,
            Class::Byte(b'-' | b'0'..=b'9') => array && apart,
            // Structure that doesn't belong here.
            Class::Byte(b'{' | b'[' | b':' | b'\\') => ahead::next_behind(behind, array, last, &mut self.looks)?,
            Class::Byte(b';') => ahead::then_sibling(behind, last, self.next, &mut self.looks)?,
            Class::Byte(b')') => false,
            Class::Nothing => return Some(self.stray(ahead::class(rest, last)?.1)),
            _ if self.marker_ends(rest, last, apart)? => true,
            _ if line => array || ahead::bare_key(rest, last, &mut self.looks)?,
            _ if array => apart && ahead::literal(rest, last)?,
            _ => false,
        };
        // The quote that should have ended the string is missing, and this one opens the next.
        let opens = !ends
            && !apart
            && self.quote == Quote::Double
            && (self.last_byte == b',' || self.newline)
            && (if array {
                ahead::quoted_element(rest, last, &mut self.looks)?
            } else {
                ahead::quoted_key(rest, last, &mut self.looks)?
            });
        if opens {
            self.out.truncate(self.mark);
            if self.whole {
                self.trim_text();
            }
            self.note(Mend::MissingQuote, self.at.saturating_sub(1));
            self.marks.unbalanced = true;
            self.doubt = true;
            self.out.extend_from_slice(b"\",");
            let key = !array;
            self.at -= 1;
            self.begins(Quote::Double, key, 0);
            self.at += 1;
            return Some(0);
        }
        if ends {
            self.text_ends();
        } else {
            self.text_goes_on(rest.first().copied());
        }
        Some(0)
    }

    /// Whether the string has no end, and the quote that came is that of the first key of the next call: this one's
    /// brackets were closed within the string, and the next one's opened.
    fn resumes(&mut self, rest: &[u8], last: bool) -> Option<bool> {
        if self.quote != Quote::Double || self.mark + 1 != self.out.len() {
            return Some(false);
        }
        let tail = self.tail.bytes();
        let (opens, looked) = self.next.resumes(tail, self.stack.len);
        self.looks.count += looked;
        if !opens || !self.next.is_key(rest, last, &mut self.looks)? {
            if !self.lost && self.next.has_markers() {
                // What opens a call and then its brace, and a mark that nothing escapes: the string may have swallowed
                // that call.
                let (swallows, looked) = self.next.is_opened(tail);
                self.looks.count += looked;
                self.lost = swallows;
            }
            return Some(false);
        }
        self.out.truncate(self.mark);
        self.note(Mend::MissingQuote, self.at.saturating_sub(1));
        self.out.push(b'"');
        self.state = State::AfterValue;
        (self.lost, self.resumed) = (true, true);
        self.finish();
        Some(true)
    }

    /// Whether a marker stands behind the quote that shows it to have ended the string. A quote with white space before
    /// it and none behind it rather opens one, and a marker of another dialect is rather quoted.
    fn marker_ends(&mut self, rest: &[u8], last: bool, apart: bool) -> Option<bool> {
        if self.doubt || !self.next.has_markers() {
            return self.foreign(rest, last);
        }
        if self.blank && !apart { self.next.ends(rest, last) } else { self.next.stands(rest, last) }
    }

    pub(super) fn after_text_comma(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let byte = rest.first().copied().unwrap_or_default();
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            self.out.push(byte);
            return Some(1);
        }
        let ends = if byte == b'"' {
            true
        } else {
            let (class, _) = ahead::class(rest, last)?;
            match class {
                Class::Byte(b'}' | b']' | b'\'' | b'`' | b',' | b'/' | b'#' | b'.') => true,
                Class::Byte(b'\\') => {
                    ahead::second(rest, last)? == b'"'
                        || ahead::member(rest.get(1..).unwrap_or_default(), last, &mut self.looks)?
                }
                Class::Byte(b'{') if self.next.sibling(rest, last, &mut self.looks)? => true,
                Class::Byte(b':' | b'{' | b'[') => {
                    ahead::member(rest.get(1..).unwrap_or_default(), last, &mut self.looks)?
                }
                Class::Curly | Class::CurlySingle | Class::Ellipsis | Class::Nothing => true,
                _ if self.foreign(rest, last)? => true,
                _ => {
                    ahead::bare_key(rest, last, &mut self.looks)?
                        || ahead::words(rest, false, last, &mut self.looks)?.is_some()
                }
            }
        };
        if ends {
            self.text_ends();
        } else {
            self.text_goes_on(rest.first().copied());
        }
        Some(0)
    }
}
