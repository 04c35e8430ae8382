//! What the value of a member is read as, and what stands between members where nothing of a call should: the next
//! call, the end of the list, a marker, a mark of quotation, or rubbish.

use super::{
    super::{
        arguments::Arguments,
        body::{Sink, Step},
        json::{Mend, key_in, patience},
    },
    ARGUMENTS_TWICE, Cursor, Keys, NAME_TWICE, NO_CALL, Object, Place, Role,
    wreck::MOST_WRECK,
};

impl Object {
    /// In `{"A": {..}, "B": {..}}` each key after the first begins another call.
    pub(super) fn next_call_of_names(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        if self.keys == Keys::Names && self.call.whole && self.call.spoilt.is_none() {
            self.call_ends(cursor, true, sink)?;
        }
        Ok(())
    }

    pub(super) fn value(&mut self, byte: u8, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        match self.role {
            Role::Arguments if self.call.whole => self.call.doubled(ARGUMENTS_TWICE, sink),
            Role::Name | Role::Wrapper if byte == b'{' && self.call.name.is_some() => {
                self.call.doubled(NAME_TWICE, sink);
            }
            _ => {}
        }
        match (self.role, byte) {
            (Role::Name | Role::Id, b'"' | b'\'') => {
                if byte == b'\'' {
                    self.mended(Mend::Quotes, sink)?;
                }
                self.place = Place::Token { value: true, quote: Some(byte) };
                cursor.at += 1;
            }
            (Role::Name | Role::Wrapper, b'{') if self.wrapped == 0 && !self.call.whole && self.call.name.is_none() => {
                self.wrapped += 1;
                self.place = Place::Key;
                cursor.at += 1;
            }
            (Role::Arguments, _) if !self.call.whole => {
                self.begins(sink);
                let bytes = cursor.at - cursor.from;
                self.call.before = bytes;
                if self.call.start(bytes, sink) {
                    cursor.from = cursor.at;
                }
                let closers: &[&str] = if self.fenced { &["```"] } else { &[] };
                let next = self.next.among(self.siblings(), self.array);
                self.call.arguments = Some(Arguments::new(sink.max_depth(), closers, next));
                self.place = Place::Arguments;
            }
            (_, b':') if !self.shaped => {
                self.mended(Mend::Stray, sink)?;
                cursor.at += 1;
            }
            (_, b',' | b'}' | b']') => {
                self.mended(Mend::MissingValue, sink)?;
                self.place = Place::AfterMember;
            }
            _ => {
                // An object under a key that is nearly that of the arguments.
                self.call.odd |= self.near && byte == b'{';
                self.call.beside |= self.beside;
                self.place = Place::Skip;
            }
        }
        Ok(())
    }

    /// What can't stand here: a marker or the end of the array where braces are missing, or rubbish. `None`: read on.
    pub(super) fn end_or_break(
        &mut self,
        cursor: &mut Cursor<'_>,
        byte: u8,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<Option<Step>, Step> {
        if self.place == Place::AfterMember && matches!(byte, b'"' | b'\'') {
            // A comma is missing; a quote alone is rubbish.
            let rest = cursor.rest();
            self.looks.again(rest);
            let key = key_in(rest.get(1..).unwrap_or_default(), byte, last, &mut self.looks);
            sink.looked(std::mem::take(&mut self.looks.count));
            let Some(key) = key else {
                // Looked at again when there is half as much again.
                self.patience = patience(rest.len());
                return Ok(Some(self.wait(cursor, last, sink)));
            };
            self.looks.settle();
            if key {
                self.mended(Mend::MissingComma, sink)?;
                self.place = Place::Key;
            } else if byte == b'"' && !self.shaped {
                return Ok(if self.stray_quote(cursor, last, sink)? {
                    None
                } else {
                    Some(self.wait(cursor, last, sink))
                });
            } else {
                self.mended(Mend::Stray, sink)?;
                cursor.at += 1;
            }
            return Ok(None);
        }
        if byte == b'{' && self.place == Place::Key && !self.shaped && !self.comma && !self.call.is_begun() {
            // Twice.
            self.call.doubled(Mend::Stray.describe(), sink);
            cursor.at += 1;
            return Ok(None);
        }
        let another = match byte {
            b'{' if self.shaped => self.place == Place::AfterMember || self.comma,
            b'{' => match self.sibling(cursor, last, sink) {
                Some(sibling) => sibling,
                None => return Ok(Some(self.wait(cursor, last, sink))),
            },
            b';' => self.place == Place::AfterMember,
            _ => false,
        };
        let read = self.call.whole && self.call.name.is_some();
        if another && (read || (byte == b'{' && !self.shaped)) {
            // The brace behind this call was forgotten: another one begins.
            let mends = sink.repairs() && read;
            if mends {
                self.mended(Mend::MissingCloser, sink)?;
            }
            self.call_ends(cursor, mends, sink)?;
            return Ok(None);
        }
        let marker = byte == b'<' || (byte == b']' && self.array) || (byte == b'`' && self.fenced);
        let marker = marker
            && (byte == b']'
                || !self.call.doubt
                || match self.next.ends(cursor.rest(), last) {
                    Some(ends) => ends,
                    None => return Ok(Some(self.wait(cursor, last, sink))),
                });
        if marker && self.call.whole && sink.repairs() {
            self.mended(Mend::MissingCloser, sink)?;
            self.call_ends(cursor, true, sink)?;
            return Ok(None);
        }
        if byte == b']' && self.array && !self.shaped {
            if self.call.name.is_none() {
                self.odd_list(sink);
            }
            self.call_ends(cursor, false, sink)?;
            return Ok(None);
        }
        if !marker && byte != b'`' && !self.shaped && self.passed < MOST_WRECK {
            self.place = Place::Wreck(cursor.at - cursor.from, None);
            return Ok(None);
        }
        if byte == b'`' && !self.shaped {
            return Ok(Some(self.wrecked(cursor, last, sink)));
        }
        Ok(Some(self.broken_off(cursor, NO_CALL, sink)))
    }
}
