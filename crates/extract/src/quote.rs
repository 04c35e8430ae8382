//! Quotation marks of people around a marker: in `write "<tool_call>..</tool_call>" to call it` the call is talked
//! about. Only what opens on the marker's own line, shortly before it, and closes behind the call on the line that this
//! ends on, quotes it; an apostrophe, a quoted word or a quote left open quotes nothing. Looks at each byte once.

use memchr::{memchr, memchr3, memrchr};

/// How far before a marker a quotation may have begun.
const REACH: usize = 512;
/// How much text is kept for that.
const KEPT: usize = REACH + 8;

/// What a mark before a marker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quotation {
    mark: Mark,
    /// It quotes only what stands directly between its marks.
    near: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// `"`
    Straight,
    /// `'` and the single ones of typographers.
    Single,
    /// “ and „
    Curly,
    /// «
    Angle,
    /// 「 and 『
    Corner,
}

const FAMILIES: usize = 4;

impl Mark {
    fn family(self) -> usize {
        match self {
            Self::Straight => 0,
            Self::Curly => 1,
            Self::Angle => 2,
            Self::Corner | Self::Single => 3,
        }
    }

    fn closers(self) -> &'static [&'static str] {
        match self {
            Self::Straight => &["\""],
            Self::Single => &["'", "\u{2019}", "\u{2018}"],
            Self::Curly => &["\u{201d}", "\u{201c}"],
            Self::Angle => &["\u{bb}", "\u{203a}"],
            Self::Corner => &["\u{300d}", "\u{300f}"],
        }
    }
}

/// The last mark of a family on a line: whether it opens, and how many bytes stand behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    mark: Mark,
    opens: bool,
    behind: usize,
}

/// The quotation marks of the line that is being read.
#[derive(Debug, Clone, Default)]
pub(super) struct Quotes {
    /// What wasn't looked at yet, and whether something before it was left out.
    text: Vec<u8>,
    trimmed: bool,
    last: [Option<Last>; FAMILIES],
    /// The line's last bytes, and how many of them there are.
    back: [u8; 4],
    length: usize,
    /// A mark on this line had no partner: none counts any more, so that its end isn't looked for again and again.
    stray: bool,
    /// What stood open when too much had been looked at in vain: it stays open for the rest of the line.
    stuck: Option<Quotation>,
}

/// What may stand before a mark that opens.
fn before_opening(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| {
        byte <= b' '
            || matches!(byte, b'(' | b'[' | b'{' | b'<' | b'>' | b':' | b',' | b'=' | b'*' | b'_' | b'-' | b'/' | b'|')
    })
}

impl Quotes {
    /// More of the text, in which a line may end. It is looked at when that is asked for, and never where it can't
    /// matter.
    #[inline]
    pub(super) fn follow(&mut self, bytes: &[u8], newline: bool) {
        if (self.stray || self.stuck.is_some()) && !newline && self.text.is_empty() {
            return;
        }
        let near = bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or_default();
        if near.len() == KEPT {
            self.text.clear();
            self.trimmed = true;
        } else if self.text.len() > KEPT {
            self.text.drain(..self.text.len() - KEPT);
            self.trimmed = true;
        }
        self.text.extend_from_slice(near);
    }

    /// Looks at what it hasn't seen. Gives how many bytes that were.
    fn catch_up(&mut self) -> usize {
        if self.text.is_empty() {
            return 0;
        }
        let text = std::mem::take(&mut self.text);
        let newline = memrchr(b'\n', &text);
        if newline.is_some() || std::mem::take(&mut self.trimmed) {
            // What was left out stands too far away to matter.
            self.last = [None; FAMILIES];
            self.length = 0;
            self.stray &= newline.is_none();
            self.stuck = self.stuck.filter(|_| newline.is_none());
        }
        let line = text.get(newline.map_or(0, |at| at + 1)..).unwrap_or_default();
        for last in self.last.iter_mut().flatten() {
            last.behind = last.behind.saturating_add(line.len());
        }
        self.join(line);
        self.seek(line);
        self.remember(line);
        let looked = text.len();
        self.text = text;
        self.text.clear();
        self.trimmed = false;
        looked
    }

    /// Nothing before this place counts; with `line` a line began since.
    pub(super) fn clear(&mut self, line: bool) {
        if line || memchr(b'\n', &self.text).is_some() {
            self.stray = false;
            self.stuck = None;
        }
        self.text.clear();
        self.last = [None; FAMILIES];
        self.length = 0;
        // It isn't the line's start: what stands here doesn't open by that alone.
        self.remember(b">");
    }

    /// The mark that stands open has no partner.
    pub(super) fn stray(&mut self) {
        self.stuck = None;
        self.stray = true;
    }

    /// The mark that stands open is taken to stay open on this line: nobody looks for its partner.
    pub(super) fn stuck(&mut self, open: Quotation) {
        self.stuck = Some(open);
    }

    /// What stands open before the next byte, and how many bytes were looked at to tell.
    pub(super) fn open(&mut self) -> (Option<Quotation>, usize) {
        let looked = self.catch_up();
        (self.stuck.or_else(|| self.opened().filter(|_| !self.stray)), looked)
    }

    fn opened(&self) -> Option<Quotation> {
        let back = self.back.get(..self.length).unwrap_or_default();
        let single =
            back.ends_with(b"'") || back.ends_with("\u{2018}".as_bytes()) || back.ends_with("\u{201a}".as_bytes());
        if single && !back.iter().rev().nth(1).is_some_and(u8::is_ascii_alphanumeric) {
            return Some(Quotation { mark: Mark::Single, near: true });
        }
        let open = self.last.iter().flatten().filter(|last| last.opens && last.behind <= REACH);
        let nearest = open.min_by_key(|last| last.behind)?;
        Some(Quotation { mark: nearest.mark, near: false })
    }

    fn remember(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().skip(bytes.len().saturating_sub(self.back.len())) {
            if self.length == self.back.len() {
                self.back.rotate_left(1);
                self.length -= 1;
            }
            if let Some(place) = self.back.get_mut(self.length) {
                *place = *byte;
            }
            self.length += 1;
        }
    }

    /// Marks that the last piece cut.
    fn join(&mut self, window: &[u8]) {
        let mut joint = [0; 8];
        let back = self.back.get(..self.length).unwrap_or_default();
        let front = window.get(..window.len().min(2)).unwrap_or_default();
        for (place, byte) in joint.iter_mut().zip(back.iter().chain(front)) {
            *place = *byte;
        }
        let (length, whole) = (back.len(), back.len() + front.len());
        let joint = joint.get(..whole).unwrap_or_default();
        for at in length.saturating_sub(2)..length {
            let rest = joint.get(at..).unwrap_or_default();
            if let Some((mark, size, opens)) = read(rest).filter(|(_, size, _)| at + size > length) {
                let before = at.checked_sub(1).and_then(|at| joint.get(at)).copied();
                self.put(mark, opens.unwrap_or_else(|| before_opening(before)), window.len() - (at + size - length));
            }
        }
    }

    fn seek(&mut self, window: &[u8]) {
        let mut at = 0;
        while let Some(next) = memchr3(b'"', 0xc2, 0xe2, window.get(at..).unwrap_or_default()) {
            at = self.meet(window, at + next);
        }
        let mut at = 0;
        while let Some(next) = memchr(0xe3, window.get(at..).unwrap_or_default()) {
            at = self.meet(window, at + next);
        }
    }

    /// What may be a mark stands at a place; gives where to go on.
    fn meet(&mut self, window: &[u8], at: usize) -> usize {
        let Some((mark, size, opens)) = read(window.get(at..).unwrap_or_default()) else { return at + 1 };
        let before = match at.checked_sub(1) {
            Some(at) => window.get(at).copied(),
            None => self.length.checked_sub(1).and_then(|at| self.back.get(at)).copied(),
        };
        self.put(mark, opens.unwrap_or_else(|| before_opening(before)), window.len() - at - size);
        at + size
    }

    fn put(&mut self, mark: Mark, opens: bool, behind: usize) {
        if let Some(place) = self.last.get_mut(mark.family()) {
            *place = Some(Last { mark, opens, behind });
        }
    }
}

/// The mark at the front: how long it is, and whether it opens, where it alone says so.
fn read(rest: &[u8]) -> Option<(Mark, usize, Option<bool>)> {
    match rest {
        [b'"', ..] => Some((Mark::Straight, 1, None)),
        [0xc2, 0xab, ..] => Some((Mark::Angle, 2, Some(true))),
        [0xc2, 0xbb, ..] => Some((Mark::Angle, 2, Some(false))),
        [0xe2, 0x80, 0x9c, ..] => Some((Mark::Curly, 3, None)),
        [0xe2, 0x80, 0x9d, ..] => Some((Mark::Curly, 3, Some(false))),
        [0xe2, 0x80, 0x9e, ..] => Some((Mark::Curly, 3, Some(true))),
        [0xe2, 0x80, 0xb9, ..] => Some((Mark::Angle, 3, Some(true))),
        [0xe2, 0x80, 0xba, ..] => Some((Mark::Angle, 3, Some(false))),
        [0xe3, 0x80, 0x8c | 0x8e, ..] => Some((Mark::Corner, 3, Some(true))),
        [0xe3, 0x80, 0x8d | 0x8f, ..] => Some((Mark::Corner, 3, Some(false))),
        _ => None,
    }
}

impl Quotation {
    /// Where the quotation ends in what is left of a line behind the call.
    pub(super) fn closes(self, rest: &[u8]) -> Option<usize> {
        let found = |at: usize| {
            let rest = rest.get(at..).unwrap_or_default();
            self.mark
                .closers()
                .iter()
                .find(|closer| rest.starts_with(closer.as_bytes()))
                .map(|closer| at + closer.len())
        };
        let (at, end) =
            if self.near { (0, found(0)?) } else { (0..rest.len()).find_map(|at| Some((at, found(at)?)))? };
        let before = at.checked_sub(1).and_then(|at| rest.get(at));
        let after = rest.get(end);
        let one_way = end - at > 1 && rest.get(at..end) != Some("\u{201c}".as_bytes());
        // Else another quotation begins there.
        let closes = one_way
            || (before.is_none_or(|byte| *byte > b' ') && after.is_none_or(|byte| !byte.is_ascii_alphanumeric()));
        closes.then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands open behind the text, the same however it is cut.
    fn open(text: &str) -> Option<Mark> {
        let said = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut quotes = Quotes::default();
            pieces.for_each(|piece| quotes.follow(piece, piece.contains(&b'\n')));
            quotes.open().0
        };
        let whole = said(&mut std::iter::once(text.as_bytes()));
        for cut in 1..text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            assert_eq!(said(&mut [a, b].into_iter()), whole, "{text:?} at {cut}");
        }
        assert_eq!(said(&mut text.as_bytes().chunks(1)), whole, "{text:?} byte by byte");
        let mut asked = Quotes::default();
        text.as_bytes().chunks(1).for_each(|piece| {
            asked.follow(piece, piece.contains(&b'\n'));
            asked.open();
        });
        assert_eq!(asked.open().0, whole, "{text:?}, asked at each byte");
        whole.map(|quotation| quotation.mark)
    }

    #[test]
    fn what_opens() {
        assert_eq!(open("You can write \""), Some(Mark::Straight));
        assert_eq!(open("You can write \"like this: "), Some(Mark::Straight));
        assert_eq!(open("\""), Some(Mark::Straight));
        assert_eq!(open("(\""), Some(Mark::Straight));
        assert_eq!(open("Man schreibt „"), Some(Mark::Curly));
        assert_eq!(open("One writes “"), Some(Mark::Curly));
        assert_eq!(open("On écrit « "), Some(Mark::Angle));
        assert_eq!(open("「"), Some(Mark::Corner));
        assert_eq!(open("as in '"), Some(Mark::Single));
        assert_eq!(open("\"He said “yes” and "), Some(Mark::Straight));
    }

    #[test]
    fn what_does_not() {
        for text in [
            "",
            "plain ",
            "the word \"rust\" ",
            "5\" ",
            "don't ",
            "the users' ",
            "„so“ ",
            "“so” ",
            "« so » ",
            "「x」",
            "\"\n",
        ] {
            assert_eq!(open(text), None, "{text:?}");
        }
        let far = format!("\"{} ", "far ".repeat(200));
        assert_eq!(open(&far), None);
        let long = format!("{} \"", "far ".repeat(200));
        assert_eq!(open(&long), Some(Mark::Straight));
    }

    #[test]
    fn what_closes() {
        let straight = Quotation { mark: Mark::Straight, near: false };
        assert_eq!(straight.closes(b"\" to call it"), Some(1));
        assert_eq!(straight.closes(b" and so on.\" Then"), Some(12));
        assert_eq!(straight.closes(b" then \"more\""), None);
        assert_eq!(straight.closes(b"\"more\""), None);
        assert_eq!(straight.closes(b" no more"), None);
        let single = Quotation { mark: Mark::Single, near: true };
        assert_eq!((single.closes(b"' it"), single.closes(b" it's")), (Some(1), None));
        let curly = Quotation { mark: Mark::Curly, near: false };
        assert_eq!(curly.closes("“.".as_bytes()), Some(3));
    }
}
