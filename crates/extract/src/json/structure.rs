//! Keys, values, commas and brackets, and what may stand between them: white space, comments, strays.

use super::{
    Json, Quote, State,
    ahead::{self, Class},
    word::Mend,
};

impl Json {
    pub(super) fn opens(&mut self, object: bool) {
        self.comma = None;
        if self.stack.len >= self.max_depth {
            if self.whole {
                self.out.extend_from_slice(b"null");
                self.start = self.at;
                self.skip_depth = 1;
                self.skip_text = false;
                self.skip_escape = false;
                self.state = State::Skip;
                return;
            }
            // A bit for each bracket costs little.
            self.max_depth = usize::MAX;
            self.too_deep = true;
            self.deep = self.deep.or(Some(self.out.len()));
        }
        self.stack.push(object);
        self.out.push(if object { b'{' } else { b'[' });
        self.state = if object { State::Key } else { State::Value };
    }

    pub(super) fn close_top(&mut self) {
        self.out.push(if self.stack.in_object() { b'}' } else { b']' });
        self.stack.pop();
    }

    pub(super) fn drop_comma(&mut self) {
        if let Some(comma) = self.comma.take()
            && comma < self.out.len()
        {
            self.out.remove(comma);
            self.note(Mend::TrailingComma, self.at);
        }
    }

    pub(super) fn closes(&mut self, object: bool) {
        if !self.stack.has(object) {
            self.note_to(Mend::ExtraCloser, self.at, self.at + 1);
            return;
        }
        self.drop_comma();
        if self.stack.in_object() != object {
            self.note(Mend::MissingCloser, self.at);
            while self.stack.in_object() != object && self.stack.len > 0 {
                self.close_top();
            }
        }
        self.close_top();
        self.value_ends();
    }

    pub(super) fn value_ends(&mut self) {
        self.state = if self.stack.len == 0 { State::End } else { State::AfterValue };
    }

    pub(super) fn missing_value(&mut self, text: &[u8]) {
        self.comma = None;
        self.note(Mend::MissingValue, self.at);
        self.out.extend_from_slice(text);
        self.state = State::AfterValue;
    }

    pub(super) fn comma(&mut self) {
        self.comma = Some(self.out.len());
        self.out.push(b',');
        self.state = if self.stack.in_object() { State::Key } else { State::Value };
    }

    pub(super) fn stray(&mut self, bytes: usize) -> usize {
        self.note_to(Mend::Stray, self.at, self.at + bytes);
        bytes
    }

    pub(super) fn comment(&mut self, class: Class, rest: &[u8], last: bool, loose: bool) -> Option<Option<usize>> {
        let begins = match class {
            Class::Byte(b'/') => match rest.get(1) {
                Some(b'/') => Some(State::LineComment),
                Some(b'*') => Some(State::BlockComment(false)),
                None if !last => return None,
                _ => None,
            },
            // `#fff` is rather a value than a comment.
            Class::Byte(b'#') => match rest.get(1) {
                None if !last => return None,
                next if loose || matches!(next, Some(b' ' | b'\t' | b'\n' | b'\r' | b'#') | None) => {
                    Some(State::LineComment)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(state) = begins else { return Some(None) };
        self.start = self.at;
        self.back = self.state;
        self.state = state;
        Some(Some(if matches!(state, State::BlockComment(_)) { 2 } else { 1 }))
    }

    pub(super) fn line_comment(&mut self, rest: &[u8]) -> usize {
        match memchr::memchr(b'\n', rest) {
            Some(newline) => {
                self.note_to(Mend::Comment, self.start, self.at + newline);
                self.state = self.back;
                newline
            }
            None => rest.len(),
        }
    }

    pub(super) fn block_comment(&mut self, rest: &[u8], mut star: bool) -> usize {
        for (i, &byte) in rest.iter().enumerate() {
            if star && byte == b'/' {
                self.note_to(Mend::Comment, self.start, self.at + i + 1);
                self.state = self.back;
                return i + 1;
            }
            star = byte == b'*';
        }
        self.state = State::BlockComment(star);
        rest.len()
    }

    pub(super) fn skip(&mut self, rest: &[u8]) -> usize {
        for (i, &byte) in rest.iter().enumerate() {
            if self.skip_text {
                if self.skip_escape {
                    self.skip_escape = false;
                } else if byte == b'\\' {
                    self.skip_escape = true;
                } else if byte == b'"' {
                    self.skip_text = false;
                }
                continue;
            }
            match byte {
                b'"' => self.skip_text = true,
                b'{' | b'[' => self.skip_depth += 1,
                b'}' | b']' => {
                    self.skip_depth -= 1;
                    if self.skip_depth == 0 {
                        self.note_to(Mend::TooDeep, self.start, self.at + i + 1);
                        self.value_ends();
                        return i + 1;
                    }
                }
                _ => {}
            }
        }
        rest.len()
    }

    /// `None` where more bytes are needed; otherwise whether what ends the region stands here.
    pub(super) fn foreign(&mut self, rest: &[u8], last: bool) -> Option<bool> {
        if self.doubt && self.next.has_markers() {
            // It may stand in a string, unless it closes the call and nothing of that goes on behind it.
            let ends = self.next.ends(rest, last)?;
            if !ends && (self.next.stands(rest, last)? || ahead::foreign(rest, last, self.closers, self.markers)?) {
                self.lost = true;
            }
            return Some(ends);
        }
        // What it opens or closes matters: a marker is awaited to its end.
        if self.next.stands(rest, last)? {
            return Some(true);
        }
        ahead::foreign(rest, last, self.closers, self.markers)
    }

    /// What ends the region stands here, so the value is over.
    fn cut(&mut self, rest: &[u8]) {
        if self.next.opens(rest, true) == Some(true) {
            self.another();
        }
        self.finish();
    }

    /// Another call begins, or the list of them ends: more than braces may be missing.
    fn another(&mut self) {
        self.lost |= match self.state {
            State::Value | State::AfterKey => true,
            _ => self.stack.has(false),
        };
    }

    /// Whether what stands here shows that the value's end is missing: the next call of a list, or that list's end.
    fn next_stands(&mut self, rest: &[u8], last: bool) -> Option<bool> {
        if self.stack.len == 0 || !self.next.has_siblings() {
            return Some(false);
        }
        let over = match rest.first() {
            Some(b'{') => self.next.sibling(rest, last, &mut self.looks)?,
            Some(b']') => {
                self.next.listed() && !self.stack.has(false) && ahead::list_ends(rest, last, &mut self.looks)?
            }
            _ => false,
        };
        if over {
            self.another();
            self.finish();
        }
        Some(over)
    }

    pub(super) fn begins(&mut self, quote: Quote, key: bool, opening: usize) -> usize {
        if quote != Quote::Double {
            self.note_to(Mend::Quotes, self.at, self.at + opening);
        }
        self.start = self.at;
        self.comma = None;
        self.quote = quote;
        self.key = key;
        self.doubtful = false;
        self.marks.odd = false;
        self.colon = false;
        self.marks.unpaired = false;
        self.last_byte = b'"';
        self.blank = false;
        self.tail.clear();
        self.newline = false;
        self.out.push(b'"');
        self.state = State::Text;
        opening
    }

    pub(super) fn begins_word(&mut self, key: bool) -> usize {
        self.start = self.at;
        self.comma = None;
        self.key = key;
        self.mark = self.out.len();
        self.judged = (0, usize::MAX, false);
        self.one = true;
        self.odd = false;
        self.state = State::Word;
        0
    }

    pub(super) fn value(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let (class, len) = ahead::class(rest, last)?;
        if let Some(taken) = self.comment(class, rest, last, false)? {
            return Some(taken);
        }
        let object = self.stack.in_object();
        match class {
            Class::Byte(byte @ (b' ' | b'\n' | b'\r' | b'\t')) => self.out.push(byte),
            Class::Byte(b'"')
                if self.stack.in_array()
                    && ahead::quoted_key(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? =>
            {
                self.member_in_array();
                return Some(0);
            }
            Class::Byte(b'"') => return Some(self.begins(Quote::Double, false, 1)),
            Class::Byte(b'{') => self.opens(true),
            Class::Byte(b'[') if !self.next.brackets(rest) || !self.foreign(rest, last)? => self.opens(false),
            Class::Byte(b']') if object && self.next_stands(rest, last)? => return Some(0),
            // A closer too early: the value stands behind it.
            Class::Byte(b'}' | b']') if object && ahead::value_behind(rest, last, &mut self.looks)? => {
                // With a comma between, it isn't known what the string is.
                let near = rest.get(1..).unwrap_or_default().trim_ascii_start();
                self.lost |= near.first() == Some(&b',');
                self.note_to(Mend::ExtraCloser, self.at, self.at + 1);
            }
            Class::Byte(b'}' | b']' | b',') if object => {
                self.missing_value(b"null");
                return Some(0);
            }
            Class::Byte(b']') => self.closes(false),
            Class::Byte(b'}') => self.closes(true),
            Class::Byte(b',') => {
                let row = rest.iter().take_while(|byte| **byte == b',').count();
                self.note_to(Mend::ExtraComma, self.at, self.at + row);
                return Some(row);
            }
            Class::Byte(b'\'') => return Some(self.begins(Quote::Single, false, 1)),
            Class::Byte(b'`') if !self.foreign(rest, last)? => return Some(self.begins(Quote::Backtick, false, 1)),
            Class::Curly => return Some(self.begins(Quote::Curly, false, len)),
            Class::CurlySingle => return Some(self.begins(Quote::CurlySingle, false, len)),
            Class::Byte(b'\\') => match rest.get(1) {
                Some(b'"') => return Some(self.begins(Quote::Escaped, false, 2)),
                None if !last => return None,
                _ => return Some(self.stray(1)),
            },
            Class::Byte(b'.') | Class::Ellipsis => match ahead::ellipsis(rest, last)? {
                Some(dots) => {
                    self.note_to(Mend::Ellipsis, self.at, self.at + dots);
                    if object {
                        self.out.extend_from_slice(b"null");
                        self.state = State::AfterValue;
                    }
                    return Some(dots);
                }
                None => return Some(self.begins_word(false)),
            },
            Class::Byte(b':' | b')' | b';' | b'>') | Class::Wide(_) | Class::Nothing => return Some(self.stray(len)),
            _ if self.foreign(rest, last)? => {
                self.cut(rest);
                return Some(0);
            }
            _ => return Some(self.begins_word(false)),
        }
        Some(len)
    }

    /// Whether prose begins here, where nothing closes calls: on a new line, with what is no key; behind a blank line,
    /// with any word.
    pub(super) fn prose(&mut self, class: Class, rest: &[u8], last: bool) -> Option<bool> {
        let Class::Byte(byte) = class else { return Some(false) };
        if self.lines == 0 || !(byte.is_ascii_alphabetic() || byte >= 0x80) || self.stack.len == 0 {
            return Some(false);
        }
        // Some markers are words.
        if self.next.stands(rest, last)? {
            return Some(false);
        }
        Some(!ahead::literal(rest, last)? && (self.lines > 1 || !ahead::bare_key(rest, last, &mut self.looks)?))
    }

    pub(super) fn key(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let (class, len) = ahead::class(rest, last)?;
        if self.prose(class, rest, last)? {
            self.lost = true;
            self.finish();
            return Some(0);
        }
        if let Some(taken) = self.comment(class, rest, last, true)? {
            return Some(taken);
        }
        match class {
            Class::Byte(byte @ (b' ' | b'\n' | b'\r' | b'\t')) => self.out.push(byte),
            Class::Byte(b'"') => return Some(self.begins(Quote::Double, true, 1)),
            Class::Byte(b'{' | b']') if self.next_stands(rest, last)? => return Some(0),
            Class::Byte(b'}') => self.closes(true),
            Class::Byte(b']') => self.closes(false),
            Class::Byte(b',') => self.note_to(Mend::ExtraComma, self.at, self.at + len),
            Class::Byte(b'\'') => return Some(self.begins(Quote::Single, true, 1)),
            Class::Byte(b'`') if !self.foreign(rest, last)? => return Some(self.begins(Quote::Backtick, true, 1)),
            Class::Curly => return Some(self.begins(Quote::Curly, true, len)),
            Class::CurlySingle => return Some(self.begins(Quote::CurlySingle, true, len)),
            Class::Byte(b'\\') => match rest.get(1) {
                Some(b'"') => return Some(self.begins(Quote::Escaped, true, 2)),
                None if !last => return None,
                _ => return Some(self.stray(1)),
            },
            Class::Byte(b'.') | Class::Ellipsis => match ahead::ellipsis(rest, last)? {
                Some(dots) => {
                    self.note_to(Mend::Ellipsis, self.at, self.at + dots);
                    return Some(dots);
                }
                None => return Some(self.begins_word(true)),
            },
            _ if self.foreign(rest, last)? => {
                self.cut(rest);
                return Some(0);
            }
            // A value without a key.
            Class::Byte(b':') if ahead::value_in(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? => {
                self.note_to(Mend::UnquotedKey, self.at, self.at + 1);
                self.comma = None;
                self.out.extend_from_slice(b"\"\":");
                self.state = State::Value;
            }
            Class::Byte(b':' | b')' | b';' | b'>' | b'{' | b'[' | b'=') | Class::Wide(_) | Class::Nothing => {
                return Some(self.stray(len));
            }
            _ => return Some(self.begins_word(true)),
        }
        Some(len)
    }

    pub(super) fn after_key(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let (class, len) = ahead::class(rest, last)?;
        if let Some(taken) = self.comment(class, rest, last, true)? {
            return Some(taken);
        }
        match class {
            Class::Byte(byte @ (b' ' | b'\n' | b'\r' | b'\t')) => {
                self.out.push(byte);
                return Some(len);
            }
            Class::Byte(b':') => {
                self.out.push(b':');
                self.state = State::Value;
                return Some(len);
            }
            Class::Byte(b'=') => {
                if rest.len() < 2 && !last {
                    return None;
                }
                self.note_to(Mend::MissingColon, self.at, self.at + 1);
                self.out.push(b':');
                self.state = State::Value;
                return Some(if rest.get(1) == Some(&b'>') { 2 } else { 1 });
            }
            // Structure that doesn't belong here, before the colon.
            Class::Byte(b',' | b'}' | b']' | b'{' | b'[')
                if ahead::colon_in(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? =>
            {
                return Some(self.stray(1));
            }
            Class::Byte(b',' | b'}' | b']') => self.missing_value(b":null"),
            Class::Wide(_) => {
                self.note_to(Mend::MissingColon, self.at, self.at + len);
                self.out.push(b':');
                self.state = State::Value;
                return Some(len);
            }
            Class::Nothing => return Some(self.stray(len)),
            // A quote too many.
            Class::Byte(b'"')
                if self.at == self.ended
                    && ahead::colon_in(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? =>
            {
                self.note_to(Mend::MissingQuote, self.at, self.at + 1);
                return Some(1);
            }
            // The next key: this one has no value.
            Class::Byte(b'"') if ahead::quoted_key(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? => {
                self.missing_value(b":null");
            }
            _ if self.foreign(rest, last)? => self.cut(rest),
            _ => {
                self.note(Mend::MissingColon, self.at);
                self.out.push(b':');
                self.state = State::Value;
            }
        }
        Some(0)
    }

    pub(super) fn after_value(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let (class, len) = ahead::class(rest, last)?;
        if self.prose(class, rest, last)? {
            self.lost = true;
            self.finish();
            return Some(0);
        }
        match class {
            Class::Byte(byte @ (b' ' | b'\n' | b'\r' | b'\t')) => self.out.push(byte),
            Class::Byte(b',') => self.comma(),
            Class::Byte(b'{') if self.stack.in_object() && self.next_stands(rest, last)? => return Some(0),
            Class::Byte(b']') if self.next_stands(rest, last)? => return Some(0),
            // Nothing that stands behind it could stand behind the object around the array.
            Class::Byte(b'}')
                if self.stack.in_array()
                    && self.stack.object_around(1)
                    && (self.stack.len == 2 || self.stack.object_around(2))
                    && ahead::element_behind(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? =>
            {
                self.note_to(Mend::ExtraCloser, self.at, self.at + 1);
            }
            // A closer too early, where nothing waits for the end.
            Class::Byte(b'}')
                if self.whole
                    && self.stack.len == 1
                    && self.stack.in_object()
                    && ahead::key_behind(rest.get(1..).unwrap_or_default(), last, &mut self.looks)? =>
            {
                self.note_to(Mend::ExtraCloser, self.at, self.at + 1);
            }
            Class::Byte(b'}') => self.closes(true),
            Class::Byte(b']') => self.closes(false),
            Class::Byte(b';') | Class::Wide(b',') => {
                self.note_to(Mend::MissingComma, self.at, self.at + len);
                self.comma();
            }
            Class::Wide(_) => return Some(self.stray(len)),
            Class::Byte(b':' | b')' | b'=' | b'>' | b'+' | b'|') | Class::Nothing => return Some(self.stray(len)),
            _ => {
                if let Some(taken) = self.comment(class, rest, last, true)? {
                    return Some(taken);
                }
                if matches!(class, Class::Byte(b'.') | Class::Ellipsis) {
                    let dots = ahead::ellipsis(rest, last)?.unwrap_or(len);
                    self.note_to(Mend::Ellipsis, self.at, self.at + dots);
                    return Some(dots);
                }
                if self.foreign(rest, last)? {
                    self.cut(rest);
                    return Some(0);
                }
                if class == Class::Byte(b'\\') && rest.get(1) != Some(&b'"') {
                    return if rest.len() < 2 && !last { None } else { Some(self.stray(1)) };
                }
                if self.stack.in_object() && matches!(class, Class::Byte(b'{' | b'[')) {
                    return Some(self.stray(len));
                }
                if class == Class::Byte(b'"')
                    && ahead::ends_behind(
                        rest.get(1..).unwrap_or_default(),
                        self.stack.in_array(),
                        last,
                        &mut self.looks,
                    )?
                {
                    return Some(self.stray(1));
                }
                self.note(Mend::MissingComma, self.at);
                self.comma();
                return Some(0);
            }
        }
        Some(len)
    }
}
