//! What follows a value's closing element where another call opens right behind it: either a call that lacks its
//! closers ended there, or the value quotes a call. A later closing element of a value that nothing opened shows the
//! second. Each byte is looked at once.

use memchr::memchr;

use super::until::{CALL_END, Class, END, Look, Marks, Seen};

/// A look for the next closing element of a value that nothing opened, in one dialect. Places count from the text's
/// beginning.
#[derive(Debug)]
pub(super) struct Balance {
    pub(super) dialect: &'static str,
    at: usize,
    /// A mark may begin there.
    look: Option<Look>,
    /// A value is open.
    open: bool,
    stray: Option<usize>,
}

impl Balance {
    pub(super) fn new(dialect: &'static str) -> Self {
        Self { dialect, at: 0, look: None, open: false, stray: None }
    }

    /// Up to where it looked.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Whether all values are opened that are closed behind `from`, where one was closed; `None` where more bytes
    /// decide. Marks of the class `opens` open one. `whole` stands at `base`; what reaches further than `most` bytes
    /// counts as not balanced.
    pub(super) fn step(
        &mut self,
        (marks, opens): (&Marks, Class),
        (whole, base): (&[u8], usize),
        from: usize,
        most: usize,
        last: bool,
    ) -> Option<bool> {
        if self.stray.is_some_and(|stray| stray < from) || self.at < from {
            *self = Self { at: self.at.max(from), ..Self::new(self.dialect) };
        }
        let first = marks.first(END).and_then(|mark| mark.bytes().next()).unwrap_or_default();
        loop {
            if self.stray.is_some() || self.at - from > most {
                return Some(false);
            }
            let rest = whole.get(self.at.saturating_sub(base)..).unwrap_or_default();
            let Some(look) = &mut self.look else {
                let Some(at) = memchr(first, rest) else {
                    self.at += rest.len();
                    return if last { Some(true) } else { None };
                };
                self.at += at;
                self.look = Some(Look::at(0));
                continue;
            };
            let bytes = match look.step(marks, END | CALL_END | opens, rest) {
                Seen::Nothing | Seen::Part(_) if !last => return None,
                Seen::Mark { class, end, .. } => {
                    if class == END && !self.open {
                        self.stray = Some(self.at);
                    }
                    self.open = class != END && class != CALL_END;
                    end
                }
                _ => {
                    marks.touch(look.reached());
                    1
                }
            };
            self.look = None;
            self.at += bytes;
        }
    }
}
