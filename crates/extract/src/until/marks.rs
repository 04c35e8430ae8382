//! The strings that mean something to a grammar of raw values, and the look for one of them at a place, in steps.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Class, MAX_SPACE, is_space};

#[derive(Debug, Clone, Copy)]
struct Mark {
    start: usize,
    end: usize,
    class: Class,
    bound: Bound,
}

/// What must follow a mark: after `<parameter` white space or `=`, so that it isn't `<parameters>`. It isn't part of
/// the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Nothing,
    Space,
    Equals,
}

impl Bound {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Nothing => true,
            Self::Space => is_space(byte),
            Self::Equals => byte == b'=',
        }
    }
}

/// The strings that mean something in one grammar. The first 64 count.
#[derive(Debug, Default, Clone)]
pub(crate) struct Marks {
    text: Vec<u8>,
    list: Vec<Mark>,
    pub(super) longest: usize,
    looks: Looks,
}

/// How many bytes were looked at more than once. Counted by whoever looks, taken by the grammar.
#[derive(Debug, Default)]
struct Looks(AtomicUsize);

impl Clone for Looks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Marks {
    /// Adds the concatenation of `parts`.
    pub(crate) fn add(&mut self, class: Class, bound: Bound, parts: &[&str]) {
        let start = self.text.len();
        for part in parts {
            self.text.extend_from_slice(part.as_bytes());
        }
        let end = self.text.len();
        if end > start && self.list.len() < 64 {
            self.longest = self.longest.max(end - start);
            self.list.push(Mark { start, end, class, bound });
        }
    }

    /// Whether any of these stands here, what must follow it aside. `rest` is longer than each of them.
    pub(super) fn start(&self, classes: Class, rest: &[u8]) -> bool {
        // Most bytes that begin like a mark go on otherwise at once.
        let (second, third) = (rest.get(1), rest.get(2));
        self.list.iter().any(|mark| {
            mark.class & classes != 0
                && self.text.get(mark.start + 1) == second
                && (self.text.get(mark.start + 2) == third || mark.end - mark.start < 3)
                && self.text.get(mark.start..mark.end).is_some_and(|text| rest.starts_with(text))
        })
    }

    /// The first string of a class.
    pub(crate) fn first(&self, class: Class) -> Option<&str> {
        let mark = self.list.iter().find(|mark| mark.class == class)?;
        std::str::from_utf8(self.text.get(mark.start..mark.end)?).ok()
    }

    /// Whether any of them begins with these bytes, if there are some.
    pub(crate) fn begin(&self, bytes: &[u8]) -> bool {
        self.touch(bytes.len().min(self.longest));
        !bytes.is_empty()
            && self
                .list
                .iter()
                .any(|mark| self.text.get(mark.start..mark.end).is_some_and(|text| text.starts_with(bytes)))
    }

    fn of(&self, classes: Class) -> u64 {
        let marks = self.list.iter().enumerate();
        marks.fold(0, |set, (index, mark)| if mark.class & classes == 0 { set } else { set | 1 << index })
    }

    pub(crate) fn touch(&self, bytes: usize) {
        // One grammar at a time counts here: no need to do it at once.
        self.looks.0.store(self.looks.0.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// How many bytes were looked at more than once since this was asked last.
    pub(crate) fn looked(&self) -> usize {
        let looks = self.looks.0.load(Ordering::Relaxed);
        self.looks.0.store(0, Ordering::Relaxed);
        looks
    }
}

/// What stands at a place, white space aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A mark of this class, from `start` to before `end`.
    Mark { class: Class, start: usize, end: usize },
    /// Something else, from here.
    Other(usize),
    /// More white space than there may be.
    Space,
    /// Nothing but white space so far.
    Nothing,
    /// What may become a mark, from here.
    Part(usize),
}

/// Looks for a mark at a place, in steps: it never looks twice at a byte of an input that grew at its end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// Where it began.
    begin: usize,
    /// Where it goes on.
    at: usize,
    /// Where the mark may begin; nothing yet while `alive` is 0.
    start: usize,
    alive: u64,
}

impl Look {
    pub(crate) fn at(at: usize) -> Self {
        Self { begin: at, at, start: at, alive: 0 }
    }

    /// Up to where it looked.
    pub(crate) const fn reached(&self) -> usize {
        self.at
    }

    /// The first `bytes` of the input were taken.
    pub(crate) fn shift(&mut self, bytes: usize) {
        self.begin = self.begin.saturating_sub(bytes);
        self.at = self.at.saturating_sub(bytes);
        self.start = self.start.saturating_sub(bytes);
    }

    /// Whether one of the marks stands here, behind white space at most; `None` where more bytes decide.
    pub(crate) fn stands(&mut self, marks: &Marks, wanted: Class, input: &[u8], last: bool) -> Option<bool> {
        match self.step(marks, wanted, input) {
            Seen::Nothing | Seen::Part(_) if !last => None,
            seen => Some(matches!(seen, Seen::Mark { .. })),
        }
    }

    pub(crate) fn step(&mut self, marks: &Marks, wanted: Class, input: &[u8]) -> Seen {
        if self.alive == 0 {
            while input.get(self.at).is_some_and(|byte| is_space(*byte)) {
                self.at += 1;
                if self.at - self.begin > MAX_SPACE {
                    return Seen::Space;
                }
            }
            if self.at >= input.len() {
                return Seen::Nothing;
            }
            self.start = self.at;
            self.alive = marks.of(wanted);
        }
        while let Some(byte) = input.get(self.at) {
            let matched = self.at - self.start;
            let mut set = self.alive;
            while set != 0 {
                let index = set.trailing_zeros();
                let bit = 1 << index;
                set &= set - 1;
                let Some(mark) = marks.list.get(index as usize) else { continue };
                let length = mark.end - mark.start;
                if matched == length {
                    // Only a bounded mark stays alive beyond its end.
                    if mark.bound.holds(*byte) {
                        return Seen::Mark { class: mark.class, start: self.start, end: self.at };
                    }
                    self.alive &= !bit;
                } else if marks.text.get(mark.start + matched) != Some(byte) {
                    self.alive &= !bit;
                } else if matched + 1 == length && mark.bound == Bound::Nothing {
                    return Seen::Mark { class: mark.class, start: self.start, end: self.at + 1 };
                }
            }
            if self.alive == 0 {
                return Seen::Other(self.start);
            }
            self.at += 1;
        }
        Seen::Part(self.start)
    }
}
