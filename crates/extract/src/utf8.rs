//! Whether bytes that come cut anywhere are UTF-8, and where they may be cut. Looks at each byte once, and says
//! the same however they were cut.

use std::str::Utf8Error;

/// Follows bytes from piece to piece.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utf8 {
    /// The character that the last piece cut.
    cut: [u8; 4],
    length: usize,
    broken: bool,
}

impl Utf8 {
    /// Reads on.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while self.length > 0
            && !self.broken
            && let Some((byte, rest)) = bytes.split_first()
        {
            if let Some(place) = self.cut.get_mut(self.length) {
                *place = *byte;
            }
            self.length += 1;
            bytes = rest;
            match std::str::from_utf8(self.cut.get(..self.length).unwrap_or_default()) {
                Ok(_) => self.length = 0,
                Err(error) => self.broken = error.error_len().is_some() || self.length >= self.cut.len(),
            }
        }
        if self.broken {
            return;
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            let rest = bytes.get(error.valid_up_to()..).unwrap_or_default();
            self.broken = error.error_len().is_some();
            self.length = rest.len().min(self.cut.len());
            for (place, byte) in self.cut.iter_mut().zip(rest) {
                *place = *byte;
            }
        }
    }

    /// These bytes are known to be UTF-8; what was cut before them was cut for good.
    #[inline]
    pub(super) fn sound(&mut self) {
        self.broken |= self.length > 0;
    }

    /// Whether all that was read is UTF-8. With `whole` nothing may be cut at its end. Begins anew.
    pub(super) fn end(&mut self, whole: bool) -> bool {
        let said = std::mem::take(self);
        !said.broken && (!whole || said.length == 0)
    }
}

/// The same as `str::from_utf8`, with a short way for short pieces of ASCII: what a model writes comes as such, and
/// going through them byte by byte was a tenth of what a piece of an argument costs.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Result<&str, Utf8Error> {
    const HIGH: u32 = 0x8080_8080;
    if let (4..=8, Some(first), Some(last)) = (bytes.len(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>())
        && (u32::from_le_bytes(*first) | u32::from_le_bytes(*last)) & HIGH == 0
    {
        // SAFETY: the two words are all of the bytes (they overlap where there are fewer than eight), and no byte in
        // them is above 0x7f: this is ASCII, and so UTF-8.
        #[allow(unsafe_code)]
        return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    std::str::from_utf8(bytes)
}

/// How many of the first `end` bytes are whole characters: all, but one at their end that is cut and may go on.
pub(super) fn whole_characters(input: &[u8], end: usize) -> usize {
    let shown = input.get(..end).unwrap_or(input);
    for back in 1..=shown.len().min(3) {
        let start = shown.len() - back;
        match shown.get(start..) {
            Some([0xc2..=0xf4, ..]) => {}
            Some([0x80..=0xbf, ..]) => continue,
            _ => break,
        }
        let cut = std::str::from_utf8(shown.get(start..).unwrap_or_default());
        return if cut.is_err_and(|error| error.error_len().is_none()) { start } else { end };
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_change_nothing() {
        let texts: [&[u8]; 9] = [
            b"plain",
            "\u{e9}\u{1f600}\u{20ac}".as_bytes(),
            b"\xff",
            b"a\xe2\x82",
            b"\xe2\x82\xac\xe2a",
            b"\xf0\x9f\x98",
            b"\xf0\x9f\x98\xc0",
            b"\xed\xa0\x80",
            b"\x80",
        ];
        for text in texts {
            for step in 1..=text.len() {
                let mut follows = Utf8::default();
                text.chunks(step).for_each(|piece| follows.read(piece));
                assert_eq!(follows.end(true), std::str::from_utf8(text).is_ok(), "{text:?} by {step}");
            }
        }
    }

    #[test]
    fn short_pieces_are_read_as_long_ones() {
        for length in 0..12 {
            for place in 0..length {
                for byte in 0..=255 {
                    let mut piece = vec![b'a'; length];
                    piece[place] = byte;
                    assert_eq!(text(&piece), std::str::from_utf8(&piece), "{piece:?}");
                }
            }
        }
        assert_eq!(text("a\u{20ac}".as_bytes()), Ok("a\u{20ac}"));
        assert_eq!(text("\u{1f600}b\u{e9}".as_bytes()), Ok("\u{1f600}b\u{e9}"));
    }

    #[test]
    fn a_limit_cuts_no_character() {
        let text = "ab\u{ff5c}c".as_bytes();
        let ends: Vec<usize> = (0..=text.len()).map(|end| whole_characters(text, end)).collect();
        assert_eq!(ends, [0, 1, 2, 2, 2, 5, 6]);
        assert_eq!(whole_characters(b"ab\xff\xffc", 4), 4);
        assert_eq!(whole_characters(b"ab\x80\x80\x80\x80", 6), 6);
        assert_eq!(whole_characters(b"ab\xe2a", 4), 4);
    }
}
