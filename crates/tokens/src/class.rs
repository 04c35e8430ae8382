//! Character classes of code points, as the patterns of the encodings see them.
//!
//! The patterns name general categories and white space, nothing else; eight classes say it all. The table is made
//! once from the Unicode tables of `regex-syntax`, the same that the reference implementation matches with.

use std::sync::OnceLock;

use regex_syntax::hir::{Class as HirClass, HirKind};

/// The class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// Punctuation, symbols, controls, unassigned: everything else.
    Other = 0,
    /// `\p{Lu}`, `\p{Lt}`.
    Upper = 1,
    /// `\p{Ll}`.
    Lower = 2,
    /// `\p{Lm}`, `\p{Lo}`: letters without case, which stand for both.
    Letter = 3,
    /// `\p{M}`.
    Mark = 4,
    /// `\p{N}`.
    Number = 5,
    /// White space but for line ends.
    Space = 6,
    /// `\r`, `\n`.
    Newline = 7,
}

impl Class {
    const fn of(code: u8) -> Self {
        match code {
            1 => Self::Upper,
            2 => Self::Lower,
            3 => Self::Letter,
            4 => Self::Mark,
            5 => Self::Number,
            6 => Self::Space,
            7 => Self::Newline,
            _ => Self::Other,
        }
    }

    /// A letter, with case or without.
    pub(super) const fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Letter)
    }

    /// White space of any kind.
    pub(super) const fn is_white(self) -> bool {
        matches!(self, Self::Space | Self::Newline)
    }
}

/// The code points that have a place in the table; above it there are only marks, a few, and nothing.
const TABLE: usize = 0x4_0000;

/// The classes of all code points.
#[derive(Debug)]
pub(super) struct Classes {
    table: Box<[u8]>,
    beyond: Vec<(u32, u32, u8)>,
}

/// The table; made when first used, in about a millisecond.
pub(super) fn classes() -> &'static Classes {
    static CLASSES: OnceLock<Classes> = OnceLock::new();
    CLASSES.get_or_init(Classes::new)
}

impl Classes {
    fn new() -> Self {
        let mut made = Self { table: vec![0; TABLE].into_boxed_slice(), beyond: Vec::new() };
        for (pattern, class) in [
            (r"[\p{Lu}\p{Lt}]", Class::Upper),
            (r"\p{Ll}", Class::Lower),
            (r"[\p{Lm}\p{Lo}]", Class::Letter),
            (r"\p{M}", Class::Mark),
            (r"\p{N}", Class::Number),
            (r"\s", Class::Space),
            (r"[\r\n]", Class::Newline),
        ] {
            made.add(pattern, class as u8);
        }
        made
    }

    fn add(&mut self, pattern: &str, class: u8) {
        // The patterns are the seven above; a test parses them.
        let Ok(hir) = regex_syntax::parse(pattern) else { return };
        let HirKind::Class(HirClass::Unicode(ranges)) = hir.kind() else { return };
        for range in ranges.ranges() {
            let (start, end) = (range.start() as usize, range.end() as usize);
            if let Some(part) = self.table.get_mut(start..TABLE.min(end + 1).max(start)) {
                part.fill(class);
            }
            if end >= TABLE {
                self.beyond.push((start.max(TABLE) as u32, end as u32, class));
            }
        }
    }

    /// The class of a code point.
    #[inline]
    pub(super) fn get(&self, code: u32) -> Class {
        match self.table.get(code as usize) {
            Some(&class) => Class::of(class),
            None => self.far(code),
        }
    }

    #[cold]
    fn far(&self, code: u32) -> Class {
        let found = self.beyond.iter().find(|(start, end, _)| (*start..=*end).contains(&code));
        Class::of(found.map_or(0, |range| range.2))
    }

    /// The class of the character that starts at `at`, and its length; `None` at the end. `bytes` is valid UTF-8 and
    /// `at` the start of a character; otherwise the class means nothing, and no harm comes of it.
    #[inline]
    pub(super) fn at(&self, bytes: &[u8], at: usize) -> Option<(Class, usize)> {
        let first = *bytes.get(at)?;
        if first < 0x80 {
            return Some((self.get(u32::from(first)), 1));
        }
        let next = |n: usize| u32::from(bytes.get(at + n).copied().unwrap_or(0) & 0x3f);
        let first = u32::from(first);
        Some(match first {
            0xf0.. => (self.get((first & 7) << 18 | next(1) << 12 | next(2) << 6 | next(3)), 4),
            0xe0.. => (self.get((first & 15) << 12 | next(1) << 6 | next(2)), 3),
            _ => (self.get((first & 31) << 6 | next(1)), 2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_counts() {
        let classes = classes();
        for (char, class) in [
            ('A', Class::Upper),
            ('ǅ', Class::Upper),
            ('z', Class::Lower),
            ('ʰ', Class::Letter),
            ('中', Class::Letter),
            ('\u{301}', Class::Mark),
            ('\u{e0100}', Class::Mark),
            ('٣', Class::Number),
            ('²', Class::Number),
            (' ', Class::Space),
            ('\u{a0}', Class::Space),
            ('\u{3000}', Class::Space),
            ('\n', Class::Newline),
            ('\r', Class::Newline),
            ('!', Class::Other),
            ('🦀', Class::Other),
            ('\u{10ffff}', Class::Other),
            ('\0', Class::Other),
        ] {
            assert_eq!(classes.get(char as u32), class, "{char:?}");
            let text = char.to_string();
            assert_eq!(classes.at(text.as_bytes(), 0), Some((class, text.len())), "{char:?}");
        }
    }

    #[test]
    fn agrees_with_the_standard_library_where_both_speak_of_the_same_thing() {
        let classes = classes();
        for char in (0..=0x10_ffff).filter_map(char::from_u32) {
            let class = classes.get(char as u32);
            assert_eq!(char.is_whitespace(), class.is_white(), "{char:?}");
        }
    }
}
