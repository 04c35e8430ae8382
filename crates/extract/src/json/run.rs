//! The automaton at work: one state after the other as far as the input reaches, what is closed where it ends, and what
//! is remembered of it.

use super::{Json, Mend, Note, SHORT, State, patience};

impl Json {
    /// Reads on and gives how many bytes were read. The rest has to come again with more behind it, unless the value
    /// ended.
    pub(crate) fn run(&mut self, input: &[u8], last: bool) -> usize {
        let mut i = 0;
        if !last && input.len() < self.patience {
            return 0;
        }
        self.patience = 0;
        while i < input.len() {
            if matches!(self.state, State::Key | State::Value | State::AfterValue) && input.len() - i >= SHORT {
                let rest = input.get(i..).unwrap_or_default();
                let found = self.valid(rest);
                self.comma = found.comma.map(|comma| self.out.len() + comma).or(self.comma.filter(|_| found.waits));
                self.state = found.state;
                self.out.extend_from_slice(rest.get(..found.length).unwrap_or_default());
                i += found.length;
                self.at += found.length;
                if found.length > 0 {
                    // Other bytes stand at the front.
                    self.looks.settle();
                }
                self.passes(rest.get(..found.length).unwrap_or_default());
            }
            let rest = input.get(i..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let safe = if self.strict { self.safe() } else { 0 };
            self.looks.again(rest);
            let step = match self.state {
                State::Text => self.text(rest, last),
                State::Escape => Some(self.escape(rest)),
                State::Hex(count, value) => Some(self.hex(rest, count, value)),
                State::AfterText => self.after_text(rest, last),
                State::AfterTextComma => self.after_text_comma(rest, last),
                State::Word => self.word(rest, last),
                State::Value => self.value(rest, last),
                State::Key => self.key(rest, last),
                State::AfterKey => self.after_key(rest, last),
                State::AfterValue => self.after_value(rest, last),
                State::LineComment => Some(self.line_comment(rest)),
                State::BlockComment(star) => Some(self.block_comment(rest, star)),
                State::Skip => Some(self.skip(rest)),
                State::End => break,
            };
            if self.strict && self.mended() {
                self.breaks(safe);
            }
            let Some(taken) = step else {
                // Looked at again when there is half as much again, so that all looks stay in proportion.
                self.patience = patience(rest.len());
                break;
            };
            self.looks.settle();
            i += taken;
            self.at += taken;
            self.passes(rest.get(..taken).unwrap_or_default());
        }
        i
    }

    /// Says that nothing follows: what is open is closed.
    pub(crate) fn finish(&mut self) {
        if self.strict && self.state != State::End && self.deep.is_none() {
            self.mute();
        }
        match self.state {
            State::End => return,
            State::Escape | State::Hex(..) => {
                self.out.truncate(self.mark);
                self.note(Mend::Escape, self.at);
                self.cut_text();
            }
            State::Text => self.cut_text(),
            State::AfterText | State::AfterTextComma => self.text_ends(),
            State::Word => self.word_ends(),
            State::LineComment | State::BlockComment(_) => {
                self.note(Mend::Comment, self.start);
                self.state = self.back;
            }
            State::Skip => {
                self.note(Mend::TooDeep, self.start);
                self.state = State::AfterValue;
            }
            State::Value | State::Key | State::AfterKey | State::AfterValue => {}
        }
        if self.state == State::AfterKey {
            self.missing_value(b":null");
        }
        if self.state == State::Value && (self.stack.in_object() || self.stack.len == 0) {
            self.missing_value(b"null");
        }
        self.drop_comma();
        if self.stack.len > 0 {
            self.note(Mend::MissingCloser, self.at);
        }
        while self.stack.len > 0 {
            self.close_top();
        }
        self.state = State::End;
    }

    /// The text ended inside a string.
    pub(super) fn cut_text(&mut self) {
        self.lone_surrogate();
        if self.whole && !self.key {
            self.trim_closers();
        }
        self.note(Mend::MissingQuote, self.at);
        self.marks.unbalanced |= !self.key;
        self.out.push(b'"');
        self.text_ends();
    }

    pub(super) fn note(&mut self, what: Mend, start: usize) {
        self.note_to(what, start, self.at);
    }

    pub(super) fn note_to(&mut self, what: Mend, start: usize, end: usize) {
        if self.deep.is_some() {
            return;
        }
        self.kinds |= what.bit();
        if !self.whole {
            return;
        }
        match self.notes.last_mut() {
            // One thing, done to each of several bytes in a row.
            Some(last) if last.what == what && last.start < last.end && last.end == start => last.end = end.max(start),
            _ => self.notes.push(Note { what, start, end: end.max(start) }),
        }
    }

    /// These bytes were read.
    pub(super) fn passes(&mut self, bytes: &[u8]) {
        if !self.endless || bytes.is_empty() {
            return;
        }
        let blank = bytes.iter().rev().take_while(|byte| byte.is_ascii_whitespace());
        let (blank, lines) =
            blank.fold((0, 0), |(blank, lines), byte| (blank + 1, lines + usize::from(*byte == b'\n')));
        self.looks.count += blank;
        self.lines = if blank == bytes.len() { self.lines + lines } else { lines };
    }

    #[inline]
    pub(super) fn remember(&mut self, text: &[u8]) {
        let Some(&byte) = text.last() else { return };
        self.blank = matches!(byte, b' ' | b'\t');
        if self.siblings {
            self.tail.push(text);
        }
        let solid = if self.blank { text.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t')) } else { Some(&byte) };
        if let Some(&byte) = solid {
            self.last_byte = byte;
            self.newline = false;
        }
    }
}
