//! What stands between the calls of a list and is none, and what of a call stands where it shouldn't: passed over, told
//! of, and never taken for more than it shows. The calls beside it are read.

use super::{
    super::{
        arguments::BROKEN,
        body::{Sink, Step},
        json::{Mend, first_key, patience},
        next::{BESIDE, Siblings},
    },
    Cursor, Keys, LONGEST_GAP, NO_CALL, Object, PART, Place, Role,
};

/// The most bytes between two calls of a list that are passed over.
const MOST_JUNK: usize = 1024;
/// The most bytes before the first call of a list that are no object.
pub(super) const MOST_BEFORE: usize = 128;

/// Whether a value that is no call begins so.
pub(super) fn is_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'[' | b'-' | b'0'..=b'9')
}

/// How many lines end in the white space right before.
pub(super) fn lines_behind(cursor: &Cursor<'_>, sink: &mut dyn Sink) -> usize {
    let behind = cursor.input.get(cursor.from..cursor.at).unwrap_or_default();
    let blank = behind.iter().rev().take_while(|byte| byte.is_ascii_whitespace());
    let (looked, lines) = blank.fold((0, 0), |(looked, lines), byte| (looked + 1, lines + usize::from(*byte == b'\n')));
    sink.looked(looked);
    lines
}

impl Object {
    pub(super) fn siblings(&self) -> Siblings {
        match self.keys {
            Keys::Known { name, arguments } => Siblings::Keys(name, arguments),
            Keys::Names => Siblings::Names,
        }
    }

    /// Mends something of the call at hand; where nothing may be mended it must not run.
    pub(super) fn mended(&mut self, what: Mend, sink: &mut dyn Sink) -> Result<(), Step> {
        if sink.repairs() || (self.shaped && (!self.array || self.call.started)) {
            return self.call.mended(what, sink);
        }
        self.call.spoilt = self.call.spoilt.or(Some(BROKEN));
        Ok(())
    }

    /// What was read is no call. It goes alone; the calls beside it are read.
    pub(super) fn no_call(
        &mut self,
        cursor: &mut Cursor<'_>,
        why: &'static str,
        sink: &mut dyn Sink,
    ) -> Result<(), Step> {
        let bytes = cursor.at - cursor.from;
        self.dropped = self.dropped.saturating_add(bytes);
        if self.shaped && (!self.array || self.dropped > LONGEST_GAP) {
            return Err(Step::Failed(why));
        }
        sink.dropped(cursor.speak(), why);
        self.afresh();
        Ok(())
    }

    /// What stands in the list shows that more than a member of it is wrong: the call beside it is in doubt.
    pub(super) fn odd_list(&mut self, sink: &mut dyn Sink) {
        if self.calls > 0 {
            sink.repaired_behind(Mend::Stray.describe());
        } else {
            self.odd_list = true;
        }
    }

    /// Whether the next call of the list begins with the brace that stands here. `None`: more is needed.
    pub(super) fn sibling(&mut self, cursor: &Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Option<bool> {
        let rest = cursor.rest();
        self.looks.again(rest);
        let next = self.next.among(self.siblings(), self.array);
        let sibling = next.sibling(rest, last, &mut self.looks);
        self.looked(rest, sibling.is_some(), sink);
        sibling
    }

    /// A look ahead is over, or needs half as much again.
    pub(super) fn looked(&mut self, rest: &[u8], known: bool, sink: &mut dyn Sink) {
        sink.looked(std::mem::take(&mut self.looks.count));
        if known {
            self.looks.settle();
        } else {
            self.patience = patience(rest.len());
        }
    }

    /// A string or a bracket where a call of the list should stand: one without its brace, a list in the list, or a
    /// value. `false`: more is needed.
    pub(super) fn in_list(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<bool, Step> {
        let rest = cursor.rest();
        self.looks.again(rest);
        if byte == b'[' {
            let next = self.next.among(self.siblings(), self.array);
            let calls =
                super::super::json::then_sibling(rest.get(1..).unwrap_or_default(), last, next, &mut self.looks);
            self.looked(rest, calls.is_some(), sink);
            match calls {
                None => return Ok(false),
                Some(true) if self.calls == 0 => {
                    self.odd_list(sink);
                    self.lists += 1;
                    cursor.at += 1;
                }
                Some(_) if self.array => self.place = Place::Stray,
                Some(_) => {}
            }
            return Ok(true);
        }
        let key = first_key(rest, last, &mut self.looks);
        self.looked(rest, key.is_some(), sink);
        match key {
            None => return Ok(false),
            Some(Some((key, _))) => {
                let beside = BESIDE.iter().any(|known| known.as_bytes() == key);
                let key = std::str::from_utf8(key).unwrap_or_default();
                if !beside && self.role(key) == Role::Other {
                    if self.calls == 0 && !self.array {
                        return Ok(true);
                    }
                    sink.spoiled_behind(PART);
                }
                self.mended(Mend::MissingOpener, sink)?;
                self.comma = false;
                self.place = Place::Key;
            }
            Some(None) if self.array => self.place = Place::Stray,
            Some(None) if self.named(rest) => {
                self.mended(Mend::MissingOpener, sink)?;
                self.comma = false;
                self.place = Place::Key;
            }
            Some(None) => {}
        }
        Ok(true)
    }

    /// Whether the key of a name stands here in quotes, whatever follows it.
    fn named(&self, rest: &[u8]) -> bool {
        let Keys::Known { name, .. } = self.keys else { return false };
        let inside = rest.get(1..).unwrap_or_default();
        name.iter().any(|name| inside.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"')))
    }

    /// Behind an object that lacks its name or its arguments. `None`: more is needed.
    pub(super) fn goes_on(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, Step> {
        if !matches!(byte, b',' | b'"') {
            self.closes(cursor, sink)?;
            return Ok(Some(()));
        }
        let rest = cursor.rest();
        self.looks.again(rest);
        let key = first_key(rest.get(usize::from(byte == b',')..).unwrap_or_default(), last, &mut self.looks);
        self.looked(rest, key.is_some(), sink);
        let Some(key) = key else { return Ok(None) };
        let lacking = if self.call.whole { Role::Name } else { Role::Arguments };
        let key = key.and_then(|(key, _)| std::str::from_utf8(key).ok());
        if key.is_some_and(|key| self.role(key) == lacking) {
            self.mended(Mend::ExtraCloser, sink)?;
            self.place = Place::AfterMember;
        } else {
            self.closes(cursor, sink)?;
        }
        Ok(Some(()))
    }

    /// The object ended where it seemed to.
    pub(super) fn closes(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        let at = cursor.at;
        cursor.at = cursor.from + self.closed;
        self.call_ends(cursor, true, sink)?;
        cursor.at = at;
        Ok(())
    }

    /// Looks for the next call of the list or the list's end. `Some(false)`: it has neither near by, what stands here
    /// is prose.
    pub(super) fn junk(
        &mut self,
        cursor: &mut Cursor<'_>,
        (mut text, mut brackets): (bool, usize),
        last: bool,
        sink: &mut dyn Sink,
    ) -> Option<bool> {
        while let Some(&byte) = cursor.rest().first() {
            self.place = Place::Junk { text, brackets };
            let most = if self.calls > 0 { MOST_JUNK } else { MOST_BEFORE };
            if (byte == b'\n' && lines_behind(cursor, sink) > 0) || cursor.at - cursor.from > most {
                cursor.at = cursor.from;
                return Some(false);
            }
            if text {
                match byte {
                    b'\\' if cursor.rest().len() < 2 && !last => return None,
                    b'\\' => cursor.at += 1,
                    b'"' | b'\n' => text = false,
                    _ => {}
                }
                cursor.at = (cursor.at + 1).min(cursor.input.len());
                continue;
            }
            let over = match byte {
                b'{' => self.sibling(cursor, last, sink)?,
                b']' => brackets == 0,
                _ => false,
            };
            if over {
                self.comma = false;
                self.odd_list(sink);
                return Some(self.no_call(cursor, NO_CALL, sink).is_ok());
            }
            if self.next.stands(cursor.rest(), last)? {
                cursor.at = cursor.from;
                return Some(false);
            }
            match byte {
                b'"' => text = true,
                b'[' => brackets += 1,
                b']' => brackets -= 1,
                _ => {}
            }
            cursor.at += 1;
        }
        self.place = Place::Junk { text, brackets };
        None
    }
}
