//! What stands in a call where nothing of it can: passed over to where the call goes on or ends. It must not run. What
//! stands between quotation marks is data; where they don't pair off, no marker counts that may stand in a string.

use super::{
    super::{
        body::{Sink, Step},
        json::first_key,
    },
    Cursor, NO_CALL, Object, Place, Role,
    around::lines_behind,
};

const JUNK: &str = "what stands in it is no JSON";
/// The most of a call that may stand where it can't.
pub(super) const MOST_WRECK: usize = 256;
/// The longest string in it.
const MOST_TEXT: usize = 1024;

impl Object {
    /// Behind a member, a quotation mark that opens no key: alone it means nothing, else it opens a string. `false`:
    /// more is needed.
    pub(super) fn stray_quote(
        &mut self,
        cursor: &mut Cursor<'_>,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Result<bool, Step> {
        let behind = cursor.rest().get(1..).unwrap_or_default();
        let blank = behind.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match behind.get(blank) {
            None if !last => return Ok(false),
            None | Some(b',' | b'}' | b']' | b':') => {
                self.mended(super::Mend::Stray, sink)?;
                self.call.doubt = true;
                cursor.at += 1;
            }
            Some(_) => self.place = Place::Wreck(cursor.at - cursor.from, None),
        }
        Ok(true)
    }

    /// Looks for where the call goes on or ends behind what can't stand in it; it must not run. `Some(false)`: it
    /// doesn't near by. `text`: where the string began that the next byte stands in.
    pub(super) fn wreck(
        &mut self,
        from: usize,
        mut text: Option<usize>,
        cursor: &mut Cursor<'_>,
        last: bool,
        sink: &mut dyn Sink,
    ) -> Option<bool> {
        while let Some(&byte) = cursor.rest().first() {
            self.place = Place::Wreck(from, text);
            let read = cursor.at - cursor.from - from;
            if let Some(begun) = text {
                match byte {
                    b'\\' if cursor.rest().len() < 2 && !last => return None,
                    b'\\' => cursor.at += 1,
                    b'"' => text = None,
                    _ if read > begun - from + MOST_TEXT => {
                        // No string, it seems; yet what stands behind its mark may stand in one.
                        sink.looked(read - (begun - from));
                        cursor.at = cursor.from + begun;
                        self.call.doubt = true;
                        text = None;
                    }
                    _ => {}
                }
                cursor.at = (cursor.at + 1).min(cursor.input.len());
                continue;
            }
            let mut another = false;
            let over = match byte {
                b'\n' => (lines_behind(cursor, sink) > 0).then_some(false),
                // Marks of code belong to prose.
                b'`' => Some(false),
                _ if self.passed + read > MOST_WRECK => Some(false),
                b'}' => Some(true),
                b']' if self.array => Some(true),
                b'"' => self.key(cursor, last, sink)?.then_some(true),
                b'{' => {
                    another = self.sibling(cursor, last, sink)?;
                    Some(true)
                }
                _ => None,
            };
            let stands = match over {
                None if self.call.doubt => self.next.ends(cursor.rest(), last)?,
                None => self.next.stands(cursor.rest(), last)?,
                Some(_) => false,
            };
            match if stands { Some(false) } else { over } {
                None => {
                    if byte == b'"' && !self.call.doubt {
                        text = Some(cursor.at - cursor.from);
                    }
                    cursor.at += 1;
                }
                Some(false) => {
                    cursor.at = cursor.from + from;
                    return Some(false);
                }
                Some(true) => {
                    self.passed += read + 1;
                    self.call.spoilt = self.call.spoilt.or(Some(JUNK));
                    self.place = Place::AfterMember;
                    if byte == b'{' && !another {
                        self.role = Role::Other;
                        self.place = Place::Skip;
                    } else if byte == b'"' {
                        self.place = Place::Key;
                    }
                    return Some(true);
                }
            }
        }
        self.place = Place::Wreck(from, text);
        None
    }

    /// Nothing near by shows how the call goes on.
    pub(super) fn wrecked(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Step {
        if self.next.stands(cursor.rest(), last) != Some(true) {
            if !self.call.started && self.call.name.is_some() {
                self.begins(sink);
                let bytes = cursor.speak();
                self.call.start(bytes, sink);
            }
            if self.call.started {
                return Step::Failed(JUNK);
            }
        }
        self.broken_off(cursor, NO_CALL, sink)
    }

    /// Whether a key in quotes stands here.
    fn key(&mut self, cursor: &Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Option<bool> {
        let rest = cursor.rest();
        match rest.get(1) {
            None if !last => return None,
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80..) => {}
            _ => return Some(false),
        }
        self.looks.again(rest);
        let key = first_key(rest, last, &mut self.looks);
        self.looked(rest, key.is_some(), sink);
        Some(key?.is_some())
    }
}
