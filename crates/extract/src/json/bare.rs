//! What stands without quotes: numbers, literals, and text that a model forgot to quote.

use super::{
    Json, Mate, State,
    ahead::{self, Class},
    word::{self, Mend},
};

impl Json {
    pub(super) fn word(&mut self, rest: &[u8], last: bool) -> Option<usize> {
        let mut taken = 0;
        loop {
            let Some(here) = rest.get(taken..).filter(|here| !here.is_empty()) else { return Some(taken) };
            let byte = here.first().copied().unwrap_or_default();
            if byte.is_ascii_alphanumeric() && !self.spaced() {
                self.out.push(byte);
                taken += 1;
                continue;
            }
            let spaced = self.spaced();
            let escaped = self.out.len() > self.mark && self.out.last() == Some(&b'\\');
            let verdict = self.word_goes_on(byte, here, self.at + taken, last);
            match verdict {
                // What was read counts even if the next byte can't be judged yet.
                None if taken > 0 => return Some(taken),
                None => return None,
                Some(Some(bytes)) => {
                    self.out.extend_from_slice(here.get(..bytes).unwrap_or_default());
                    // No number and no literal holds other characters, or white space.
                    let blank = matches!(byte, b' ' | b'\t');
                    self.one &= blank
                        || (!spaced && (byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-' | b'.')));
                    self.odd ^= byte == b'"' && !escaped;
                    taken += bytes;
                }
                Some(None) => {
                    self.at += taken;
                    let swallow = self.word_quote(here);
                    self.word_ends();
                    self.at -= taken;
                    return Some(taken + swallow);
                }
            }
        }
    }

    /// Whether white space follows the word read so far.
    pub(super) fn spaced(&self) -> bool {
        matches!(self.out.last(), Some(b' ' | b'\t')) && self.out.len() > self.mark
    }

    /// `None`: more is needed. `Some(None)`: the word ends here.
    fn word_goes_on(&mut self, byte: u8, here: &[u8], place: usize, last: bool) -> Option<Option<usize>> {
        let begun = self.out.len() > self.mark;
        let goes_on = match byte {
            // In a string no bracket is one.
            b',' | b'}' | b']' if self.odd && !self.key && self.markers => self.mated(here, place, last)?.0,
            // The quotation mark that ends the text is there: the one that should have begun it is missing.
            b',' | b'}' | b']' if !self.key && begun && !self.known() => self.mated(here, place, last)? == (true, true),
            b',' | b'}' | b']' | b'\n' | b'\r' => false,
            b':' | b'=' if self.key => false,
            b':' if begun && self.known() => {
                !ahead::then(here.get(1..).unwrap_or_default(), last, b",}]\n", &mut self.looks)?
            }
            b';' if begun && self.known() => {
                !ahead::then_sibling(here.get(1..).unwrap_or_default(), last, self.next, &mut self.looks)?
            }
            // Within quotation marks an escaped one closes nothing.
            b'"' if self.odd && begun && self.out.last() == Some(&b'\\') => true,
            b'"' => {
                let after = here.get(1..).unwrap_or_default();
                if self.key {
                    // Twice now and then.
                    let after = after.strip_prefix(b"\"").unwrap_or(after);
                    !begun || !ahead::then(after, last, b":", &mut self.looks)?
                } else if self.spaced() && self.known() {
                    false
                } else {
                    !begun || !ahead::then(after, last, b",}]\n", &mut self.looks)?
                }
            }
            b'/' if self.spaced() || self.known() => !matches!(ahead::second(here, last)?, b'/' | b'*'),
            b'\\' if begun && !self.key && self.known() => {
                !ahead::then(here.get(1..).unwrap_or_default(), last, b",}]\n", &mut self.looks)?
            }
            b'#' => !self.spaced(),
            0xc2 | 0xe2 | 0xe3 | 0xef if begun && self.known() => match ahead::class(here, last)? {
                (Class::Wide(_), _) => false,
                // White space that JSON doesn't know, before what ends a value.
                (Class::Nothing, length) => {
                    let behind = here.get(length..).unwrap_or_default();
                    !ahead::then(behind, last, b",}]\n", &mut self.looks)?
                }
                _ => true,
            },
            // In a string no marker is one.
            b'<' if self.next.has_markers() && !self.doubt => self.odd || !self.next.stands(here, last)?,
            b'<' | b'`' => self.odd || !self.foreign(here, last)?,
            b' ' | b'\t' => begun,
            b'[' if self.next.brackets(here) && !self.odd && self.foreign(here, last)? => false,
            b'{' | b'[' => !(begun && self.known()),
            0..0x20 => false,
            b'0'..=b'9' | b'-' if self.spaced() && self.stack.in_array() => !self.known(),
            b't' | b'f' | b'n' | b'T' | b'F' | b'N' if self.spaced() && self.stack.in_array() && self.known() => {
                !ahead::literal(here, last)?
            }
            _ => true,
        };
        // A word takes its first byte whatever it is, so that each byte is used up.
        if goes_on || !begun { Some(Some(1)) } else { Some(None) }
    }

    /// Whether the quotation mark that stands in the word is closed behind this place, on the same line: the next one
    /// doesn't open another string. And whether what ends a value stands behind that.
    fn mated(&mut self, here: &[u8], place: usize, last: bool) -> Option<(bool, bool)> {
        let Mate { at, seen, closes, ends } = self.mate;
        let known = at <= place && place <= seen;
        if let Some(closes) = closes.filter(|_| known && place < seen) {
            return Some((closes, ends));
        }
        let reach = here.get(..ahead::FAR).unwrap_or(here);
        let from = if known { seen - place } else { 0 };
        let news = reach.get(from.min(reach.len())..).unwrap_or_default();
        let before = |at: usize| (from + at).checked_sub(1).and_then(|at| reach.get(at));
        let found = news.iter().enumerate().position(|(at, byte)| match byte {
            b'"' => before(at) != Some(&b'\\'),
            byte => *byte == b'\n',
        });
        self.looks.count += found.map_or(news.len(), |at| at + 1);
        let Some(found) = found.map(|at| from + at) else {
            self.mate = Mate { at: place, seen: place + reach.len().max(from), closes: None, ends: false };
            return if last || here.len() >= ahead::FAR { Some((false, false)) } else { None };
        };
        if here.len() == found + 1 && !last {
            self.mate = Mate { at: place, seen: place + found, closes: None, ends: false };
            return None;
        }
        let opens = |byte: &u8| matches!(byte, b' ' | b'\t' | b',' | b'{' | b'[' | b'(' | b':');
        let closes =
            reach.get(found) == Some(&b'"') && !found.checked_sub(1).and_then(|at| reach.get(at)).is_some_and(opens);
        let ends = matches!(here.get(found + 1), Some(b',' | b'}' | b']'));
        self.mate = Mate { at: place, seen: place + found, closes: Some(closes), ends };
        Some((closes, ends))
    }

    /// The bytes of a quote that closes a word nobody opened.
    pub(super) fn word_quote(&mut self, here: &[u8]) -> usize {
        let swallow = here.first() == Some(&b'"') && !(self.spaced() && self.known() && !self.key);
        if swallow {
            self.ended = self.at + 1;
            self.note_to(Mend::MissingQuote, self.at, self.at + 1);
        }
        usize::from(swallow)
    }

    pub(super) fn token(&self) -> &[u8] {
        self.out.get(self.mark..).unwrap_or_default().trim_ascii_end()
    }

    /// Whether the word so far is a number or a literal.
    pub(super) fn known(&mut self) -> bool {
        let length = self.out.len() - self.mark.min(self.out.len());
        if !self.one || length > word::LONG {
            return false;
        }
        if (self.judged.0, self.judged.1) != (self.mark, length) {
            self.looks.count += length;
            self.judged = (self.mark, length, word::is_scalar(self.token()));
        }
        self.judged.2
    }

    pub(super) fn word_ends(&mut self) {
        let length = self.token().len();
        let end = self.mark + length;
        let (start, stop) = (self.start, self.start + length);
        self.looks.count += length * (1 + usize::from(self.one));
        let read = if self.key { word::Word::Text } else { word::read(self.token()) };
        let replacement = match read {
            word::Word::Json => None,
            word::Word::Literal(text) => Some((Mend::Literal, text.as_bytes().to_vec())),
            word::Word::Number(text) => Some((Mend::Number, text.into_bytes())),
            word::Word::Text if !self.token().iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) => {
                self.note_to(if self.key { Mend::UnquotedKey } else { Mend::UnquotedText }, start, stop);
                self.out.insert(end, b'"');
                self.out.insert(self.mark, b'"');
                None
            }
            word::Word::Text => {
                let mut text = vec![b'"'];
                let mut bytes = self.token().iter().copied().peekable();
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' if bytes.peek() == Some(&b'"') => {}
                        b'"' => text.extend_from_slice(b"\\\""),
                        b'\\' => text.extend_from_slice(b"\\\\"),
                        0..0x20 => word::escape_byte(byte, &mut text),
                        _ => text.push(byte),
                    }
                }
                text.push(b'"');
                Some((if self.key { Mend::UnquotedKey } else { Mend::UnquotedText }, text))
            }
        };
        if let Some((what, text)) = replacement {
            self.note_to(what, start, stop);
            let tail = self.out.split_off(end.min(self.out.len()));
            self.out.truncate(self.mark);
            self.out.extend_from_slice(&text);
            self.out.extend_from_slice(&tail);
        }
        if self.key {
            self.state = State::AfterKey;
        } else {
            self.value_ends();
        }
    }
}
