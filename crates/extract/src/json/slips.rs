//! Slips of one token, put right where they show: a quotation mark or a bracket too many, or one that is missing.

use super::{Json, Quote, State, ahead, word::Mend};

impl Json {
    /// Takes the quotation mark back that stands right behind the one that began the string, if it was one too many.
    pub(super) fn doubled(&mut self, rest: &[u8], last: bool) -> Option<bool> {
        if self.quote != Quote::Double
            || self.start + 2 != self.at
            || matches!(rest.first(), Some(b'"' | b':' | 0..=b' '))
        {
            return Some(false);
        }
        let doubled = ahead::doubled(rest, self.key, self.stack.in_array(), last, &mut self.looks)?;
        if doubled {
            self.note(Mend::MissingQuote, self.at - 1);
            self.out.truncate(self.mark);
            self.state = State::Text;
        }
        Some(doubled)
    }

    /// Cuts what closes all that is open from the end of a string whose quote is missing.
    pub(super) fn trim_closers(&mut self) {
        let mut end = self.out.len();
        for level in 0..self.stack.len {
            let text = self.out.get(..end).unwrap_or_default();
            let space = text.iter().rev().take_while(|byte| **byte == b' ').count();
            let text = text.get(..end - space).unwrap_or_default();
            let line = text.len() - text.strip_suffix(b"\\n").map_or(text.len(), <[u8]>::len);
            end = text.len() - line;
            let closer = if self.stack.object_around(level) { b'}' } else { b']' };
            if end == 0 || self.out.get(end - 1) != Some(&closer) {
                return;
            }
            end -= 1;
        }
        self.out.truncate(end);
        if self.out.ends_with(b"\\n") && self.newline {
            self.out.truncate(end - 2);
        }
    }

    /// Cuts the ends of lines that were escaped last.
    pub(super) fn trim_lines(&mut self) {
        while self.out.ends_with(b"\\n") || self.out.ends_with(b"\\r") {
            self.out.truncate(self.out.len() - 2);
        }
        self.newline = false;
    }

    /// Cuts the comma and the white space that came before a missing quote.
    pub(super) fn trim_text(&mut self) {
        let mut comma = false;
        loop {
            if self.out.ends_with(b"\\n") || self.out.ends_with(b"\\r") || self.out.ends_with(b"\\t") {
                self.out.truncate(self.out.len() - 2);
            } else if matches!(self.out.last(), Some(b' ' | b'\t')) {
                self.out.pop();
            } else if !comma && self.out.last() == Some(&b',') {
                self.out.pop();
                comma = true;
            } else {
                break;
            }
        }
    }

    /// A member of an object stands where an element of an array should: the array's end is missing, or the object's
    /// beginning.
    pub(super) fn member_in_array(&mut self) {
        if self.comma.is_none() || !self.stack.object_around(1) {
            self.note(Mend::MissingOpener, self.at);
            self.opens(true);
            return;
        }
        if let Some(comma) = self.comma.take().filter(|comma| *comma < self.out.len()) {
            self.out.remove(comma);
        }
        self.note(Mend::MissingCloser, self.at);
        self.close_top();
        self.comma();
    }
}
