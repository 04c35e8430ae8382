//! The members of an object: what their keys lead to, and how keys, names, arguments and all other values are read.

use super::{
    super::{
        arguments::{Arguments, Leave, NO_OBJECT, TOO_DEEP, TOO_LARGE, Verdict, is_escape, unescape},
        body::{Sink, Step},
        json::{Json, Mend},
    },
    Cursor, Keys, LONGEST_TOKEN, NAME_TWICE, NO_CALL, Object, Place, Role,
};

impl Object {
    pub(super) fn role(&self, key: &str) -> Role {
        match self.keys {
            Keys::Names => Role::Arguments,
            Keys::Known { name, .. } if name.contains(&key) => Role::Name,
            Keys::Known { arguments, .. } if arguments.contains(&key) => Role::Arguments,
            Keys::Known { .. } => match key {
                "id" | "call_id" | "tool_call_id" => Role::Id,
                "function_call" | "tool_call" => Role::Wrapper,
                _ => Role::Other,
            },
        }
    }

    /// A key or a string is at its end.
    pub(super) fn token_ends(&mut self, value: bool, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) {
        let token = decode(&self.token);
        self.token.clear();
        if !value {
            self.role = self.role(&token);
            if self.keys != Keys::Names && token.contains('{') {
                self.call.braced = true;
            }
            let near = |start: &str| token.get(..start.len()).is_some_and(|token| token.eq_ignore_ascii_case(start));
            if self.shaped {
                self.call.guarded |= token == "parameters" && !self.call.started;
                self.call.described |= token == "description";
            }
            self.near = self.role == Role::Other && ["arg", "param", "input"].into_iter().any(near);
            self.beside =
                self.role == Role::Other && !["type", "index", "description", "strict"].contains(&token.as_str());
            if self.keys == Keys::Names {
                self.call.name = Some(token);
            }
            self.place = Place::Colon;
            return;
        }
        match self.role {
            Role::Name if self.call.name.is_none() && !token.trim().is_empty() => {
                self.call.name = Some(token.trim().to_owned());
            }
            Role::Name if self.call.name.as_deref().is_some_and(|name| name != token.trim()) => {
                self.call.doubled(NAME_TWICE, sink);
            }
            Role::Id if self.call.id.is_none() && !self.call.started => self.call.id = Some(token),
            _ => {}
        }
        if self.call.arguments.is_some() || self.call.whole {
            self.begins(sink);
            let bytes = cursor.at - cursor.from;
            if self.call.start(bytes, sink) {
                cursor.from = cursor.at;
            }
        }
        self.place = Place::AfterMember;
    }

    /// Reads one arguments value.
    pub(super) fn arguments(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Result<bool, Step> {
        let leave = Leave { room: sink.room(), repairs: sink.repairs() };
        let Some(arguments) = &mut self.call.arguments else { return Ok(true) };
        let (input, base) = (cursor.rest(), cursor.at);
        let (started, held, from) = (self.call.started, &mut self.call.held, &mut cursor.from);
        let held_to = &mut self.call.held_to;
        let (bytes, verdict) = arguments.step(input, last, leave, &mut |json, upto| {
            if started {
                sink.arguments(json, base + upto - *from);
                *from = base + upto;
            } else {
                held.push_str(json);
                *held_to = base + upto - *from;
            }
        });
        cursor.at += bytes;
        if started && !sink.hears() {
            arguments.forget();
        }
        sink.looked(arguments.looks());
        let mends = &mut self.call.mends;
        arguments.tell(leave.repairs, |how| {
            if !mends.contains(&how) {
                mends.push(how);
                if started {
                    sink.repaired(how);
                }
            }
        });
        cursor.from += self.call.let_go(sink);
        let started = self.call.started;
        match verdict {
            // Whatever it is, it ends, and the calls beside this one are read. Nothing of it was spoken for.
            Verdict::Failed(NO_OBJECT) if started || !self.shaped => {
                let from = if started { cursor.from } else { cursor.from + self.call.before };
                sink.looked(cursor.at - from);
                cursor.at = from;
                self.call.arguments = None;
                self.call.whole = true;
                self.call.spoilt = Some(NO_OBJECT);
                self.place = Place::Skip;
                Ok(false)
            }
            Verdict::Failed(why) => {
                if started && cursor.at > cursor.from {
                    sink.arguments("", cursor.speak());
                }
                Err(Step::Failed(why))
            }
            _ if self.call.held.len() > leave.room => Err(Step::Failed(TOO_LARGE)),
            Verdict::More => Ok(false),
            Verdict::Done => {
                let arguments = self.call.arguments.take();
                let resumed = arguments.as_ref().is_some_and(Arguments::resumed);
                let spoilt = arguments.and_then(|arguments| arguments.spoilt());
                self.call.spoilt = self.call.spoilt.or(spoilt);
                self.call.whole = true;
                if resumed {
                    self.next_key(cursor, sink)?;
                }
                Ok(true)
            }
        }
    }

    /// The first key of the next call begins behind the quote that was read last.
    fn next_key(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        self.call_ends(cursor, true, sink)?;
        self.call.resumed = true;
        self.place = Place::Token { value: false, quote: Some(b'"') };
        Ok(())
    }

    /// Whether the key or the string that was read swallowed the end of its call and the brace of the next one: the
    /// mark that seemed to end it opens that one's first key.
    pub(super) fn swallows(&self, sink: &mut dyn Sink) -> bool {
        if !self.token.ends_with(b"{") || !self.token.contains(&b'\n') && !self.array {
            return false;
        }
        let (opens, looked) = self.next.among(self.siblings(), self.array).resumes(&self.token, 0);
        sink.looked(looked);
        opens
    }

    /// The call breaks off within a key or a string, and the next one's first key begins.
    pub(super) fn breaks_in_token(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Step> {
        self.token.clear();
        if self.call.started || self.call.name.is_some() {
            self.call_ends(cursor, false, sink)?;
        } else {
            self.no_call(cursor, NO_CALL, sink)?;
        }
        self.call.resumed = true;
        self.place = Place::Token { value: false, quote: Some(b'"') };
        Ok(())
    }

    /// A value where a call should stand. Gives whether it ended.
    pub(super) fn stray(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> bool {
        let next = self.next.among(self.siblings(), self.array);
        let json = self.skipped.get_or_insert_with(|| Json::new(sink.max_depth(), &[]).before(next));
        cursor.at += json.run(cursor.rest(), last);
        sink.looked(json.looks());
        json.take(false, |_| {});
        json.forget();
        // A word is at its end where it can't go on.
        let ended = json.ended();
        if ended {
            self.skipped = None;
        }
        ended
    }

    /// A value that is neither name nor arguments.
    pub(super) fn skip(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Result<bool, Step> {
        let next = self.next.among(self.siblings(), self.array);
        let json = self.skipped.get_or_insert_with(|| Json::new(sink.max_depth(), &[]).before(next));
        cursor.at += json.run(cursor.rest(), last);
        sink.looked(json.looks());
        json.take(false, |_| {});
        if json.too_deep() {
            self.call.spoilt = Some(TOO_DEEP);
        }
        json.forget();
        let (ended, kinds) = (json.ended(), json.kinds());
        for mend in Mend::ALL.into_iter().filter(|mend| kinds & mend.bit() != 0) {
            self.mended(mend, sink)?;
        }
        if ended {
            self.skipped = None;
        }
        Ok(ended)
    }

    /// Reads on in a key or a string. Gives whether it ended.
    pub(super) fn token(
        &mut self,
        cursor: &mut Cursor<'_>,
        last: bool,
        quote: Option<u8>,
        sink: &mut dyn Sink,
    ) -> Result<bool, Step> {
        loop {
            let rest = cursor.rest();
            let Some(quote) = quote else {
                let ends =
                    |byte: u8| matches!(byte, b':' | b'=' | b',' | b'}' | b']' | b'"' | b'{' | b'<') || byte <= b' ';
                let length = rest.iter().position(|&byte| ends(byte)).unwrap_or(rest.len());
                self.token.extend_from_slice(rest.get(..length).unwrap_or_default());
                cursor.at += length;
                if self.token.len() > LONGEST_TOKEN {
                    return Err(Step::Failed(TOO_LARGE));
                }
                return Ok(length < rest.len() || last);
            };
            let plain = memchr::memchr2(quote, b'\\', rest).unwrap_or(rest.len());
            let text = rest.get(..plain).unwrap_or_default();
            if text.iter().any(|byte| *byte < 0x20) {
                self.mended(Mend::Control, sink)?;
            }
            self.token.extend_from_slice(text);
            cursor.at += plain;
            if self.token.len() > LONGEST_TOKEN {
                return Err(Step::Failed(TOO_LARGE));
            }
            let rest = cursor.rest();
            match rest.first() {
                None => return Ok(false),
                Some(b'\\') => match unescape(rest, last, &mut self.token) {
                    Some((bytes, lone)) => {
                        if lone {
                            self.mended(Mend::Surrogate, sink)?;
                        } else if !is_escape(rest.get(..bytes).unwrap_or_default()) {
                            self.mended(Mend::Escape, sink)?;
                        }
                        cursor.at += bytes;
                    }
                    None => return Ok(false),
                },
                Some(_) => {
                    cursor.at += 1;
                    return Ok(true);
                }
            }
        }
    }
}

/// A key or a name, of which escapes are already decoded.
fn decode(token: &[u8]) -> String {
    String::from_utf8_lossy(token).into_owned()
}
