//! From place to place in what holds calls, as far as the input reaches: what may stand next, and where that leads.

use super::{
    super::{
        body::{Sink, Step},
        json::{Mend, colon_in},
    },
    Cursor, FENCE, LONGEST_GAP, NO_CALL, Object, PART, Place,
    around::{MOST_BEFORE, is_value},
};

impl Object {
    pub(super) fn go(&mut self, cursor: &mut Cursor<'_>, last: bool, sink: &mut dyn Sink) -> Result<Step, Step> {
        loop {
            match self.place {
                Place::Token { value, quote } => {
                    if !self.token(cursor, last, quote, sink)? {
                        return Ok(self.wait(cursor, last, sink));
                    }
                    if quote == Some(b'"') && self.swallows(sink) {
                        self.breaks_in_token(cursor, sink)?;
                        continue;
                    }
                    self.before_colon = true;
                    self.token_ends(value, cursor, sink);
                    continue;
                }
                Place::Arguments => {
                    if !self.arguments(cursor, last, sink)? {
                        if self.place == Place::Skip {
                            continue;
                        }
                        return Ok(self.wait(cursor, last, sink));
                    }
                    if self.place == Place::Arguments {
                        self.place = Place::AfterMember;
                    }
                    continue;
                }
                Place::Stray => {
                    let ended = self.stray(cursor, last, sink);
                    if cursor.at - cursor.from > if self.calls > 0 { LONGEST_GAP } else { MOST_BEFORE } {
                        // Rather prose.
                        cursor.at = cursor.from;
                        return Ok(self.over(sink));
                    }
                    if !ended {
                        return Ok(self.wait(cursor, last, sink));
                    }
                    self.place = Place::AfterStray;
                    continue;
                }
                Place::Junk { text, brackets } => match self.junk(cursor, (text, brackets), last, sink) {
                    Some(true) => continue,
                    Some(false) => return Ok(self.over(sink)),
                    None => return Ok(self.wait(cursor, last, sink)),
                },
                Place::Wreck(from, text) => match self.wreck(from, text, cursor, last, sink) {
                    Some(true) => continue,
                    Some(false) => return Ok(self.wrecked(cursor, last, sink)),
                    None => return Ok(self.wait(cursor, last, sink)),
                },
                Place::Skip => {
                    if !self.skip(cursor, last, sink)? {
                        return Ok(self.wait(cursor, last, sink));
                    }
                    self.place = Place::AfterMember;
                    continue;
                }
                _ => {}
            }
            let Some(&byte) = cursor.rest().first() else { return Ok(self.wait(cursor, last, sink)) };
            if byte.is_ascii_whitespace() {
                cursor.at += 1;
                if cursor.at - cursor.from > LONGEST_GAP {
                    if self.place == Place::Closed {
                        self.closes(cursor, sink)?;
                    } else if self.call.started {
                        sink.arguments("", cursor.speak());
                    } else if self.place == Place::AfterCall {
                        return Ok(self.over(sink));
                    }
                }
                continue;
            }
            if matches!(self.place, Place::Key | Place::AfterMember) {
                let opens = match byte {
                    _ if self.call.doubt => Some(false),
                    // No value stands here that a bracket could begin: it is a closer's.
                    b'[' => self.next.stands(cursor.rest(), last),
                    _ => self.next.opens(cursor.rest(), last),
                };
                match opens {
                    None => return Ok(self.wait(cursor, last, sink)),
                    Some(true) if self.call.whole && sink.repairs() => {
                        self.mended(Mend::MissingCloser, sink)?;
                        self.call_ends(cursor, true, sink)?;
                        continue;
                    }
                    Some(true) => return Ok(self.broken_off(cursor, NO_CALL, sink)),
                    Some(false) => {}
                }
            }
            match self.place {
                Place::Start => match byte {
                    b'[' if !self.array => {
                        self.array = true;
                        cursor.at += 1;
                    }
                    b'[' | b'"' if !self.shaped && (self.array || byte == b'"') => {
                        if !self.in_list(byte, cursor, last, sink)? {
                            return Ok(self.wait(cursor, last, sink));
                        }
                        if !self.array && self.place == Place::Start {
                            return Err(Step::Failed(NO_CALL));
                        }
                    }
                    _ if self.array && !self.shaped && !matches!(byte, b'{' | b']') => {
                        self.place =
                            if is_value(byte) { Place::Stray } else { Place::Junk { text: false, brackets: 0 } };
                    }
                    b'{' => {
                        self.place = Place::Key;
                        cursor.at += 1;
                    }
                    b',' | b';' if self.calls > 0 => cursor.at += 1,
                    b'`' if !self.fenced => {
                        let rest = cursor.rest();
                        // The word behind the fence goes with it.
                        let word =
                            rest.iter().skip(FENCE.len()).take(16).take_while(|byte| byte.is_ascii_alphanumeric());
                        let length = FENCE.len() + word.count();
                        if rest.starts_with(FENCE) && rest.len() > length {
                            self.fenced = true;
                            cursor.at += length;
                        } else if rest.starts_with(FENCE) || FENCE.starts_with(rest) {
                            return Ok(self.wait(cursor, last, sink));
                        } else {
                            return Err(Step::Failed(NO_CALL));
                        }
                    }
                    b']' if self.array => {
                        // An empty array: no call at all.
                        cursor.at += 1;
                        sink.markup(cursor.speak());
                        return Ok(Step::Done);
                    }
                    _ => return Err(Step::Failed(NO_CALL)),
                },
                Place::Key => match byte {
                    b'"' | b'\'' => {
                        if byte == b'\'' {
                            self.mended(Mend::Quotes, sink)?;
                        }
                        self.next_call_of_names(cursor, sink)?;
                        self.comma = false;
                        self.place = Place::Token { value: false, quote: Some(byte) };
                        cursor.at += 1;
                    }
                    b'}' => {
                        if std::mem::take(&mut self.comma) {
                            self.mended(Mend::TrailingComma, sink)?;
                        }
                        cursor.at += 1;
                        self.object_ends(cursor, sink)?;
                    }
                    b',' => {
                        self.mended(Mend::ExtraComma, sink)?;
                        cursor.at += 1;
                    }
                    b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                        self.mended(Mend::UnquotedKey, sink)?;
                        self.next_call_of_names(cursor, sink)?;
                        self.comma = false;
                        self.place = Place::Token { value: false, quote: None };
                    }
                    _ => {
                        if let Some(step) = self.end_or_break(cursor, byte, last, sink)? {
                            return Ok(step);
                        }
                    }
                },
                Place::Colon => {
                    if byte == b':' {
                        cursor.at += 1;
                        self.place = Place::Value;
                    } else if byte == b']' && self.array {
                        self.place = Place::AfterMember;
                    } else if matches!(byte, b',' | b'}') {
                        self.mended(Mend::MissingValue, sink)?;
                        self.place = Place::AfterMember;
                    } else if byte == b'"' && self.before_colon {
                        let rest = cursor.rest();
                        self.looks.again(rest);
                        let colon = colon_in(rest.get(1..).unwrap_or_default(), last, &mut self.looks);
                        self.looked(rest, colon.is_some(), sink);
                        self.before_colon = colon.is_none();
                        match colon {
                            None => return Ok(self.wait(cursor, last, sink)),
                            Some(true) => {
                                self.mended(Mend::MissingQuote, sink)?;
                                cursor.at += 1;
                            }
                            Some(false) => {}
                        }
                    } else {
                        self.mended(Mend::MissingColon, sink)?;
                        cursor.at += usize::from(byte == b'=');
                        self.place = Place::Value;
                    }
                }
                Place::Value => self.value(byte, cursor, sink)?,
                Place::AfterMember => match byte {
                    b',' => {
                        cursor.at += 1;
                        self.comma = true;
                        self.place = Place::Key;
                    }
                    b'}' => {
                        cursor.at += 1;
                        self.object_ends(cursor, sink)?;
                    }
                    _ => {
                        if let Some(step) = self.end_or_break(cursor, byte, last, sink)? {
                            return Ok(step);
                        }
                    }
                },
                Place::Closed => match self.goes_on(byte, cursor, last, sink)? {
                    Some(()) => {}
                    None => return Ok(self.wait(cursor, last, sink)),
                },
                Place::AfterStray if matches!(byte, b',' | b']') => {
                    self.comma = false;
                    self.no_call(cursor, NO_CALL, sink)?;
                }
                Place::AfterStray => self.place = Place::Junk { text: false, brackets: 0 },
                Place::AfterCall => match byte {
                    _ if self.resumed => match self.next.quoted_behind(cursor.rest(), last) {
                        None => return Ok(self.wait(cursor, last, sink)),
                        Some(quoted) => {
                            if quoted {
                                // The string that it began in does have an end.
                                sink.spoiled_behind(PART);
                            }
                            self.resumed = false;
                        }
                    },
                    b'{' => {
                        self.comma = false;
                        self.place = Place::Key;
                        cursor.at += 1;
                    }
                    b',' | b';' => {
                        self.comma = true;
                        cursor.at += 1;
                    }
                    b']' if self.array => {
                        if std::mem::take(&mut self.comma) {
                            sink.repaired_behind(Mend::TrailingComma.describe());
                        }
                        self.array = self.lists > 0;
                        self.lists = self.lists.saturating_sub(1);
                        cursor.at += 1;
                        sink.markup(cursor.speak());
                    }
                    b'`' if self.fenced => {
                        let rest = cursor.rest();
                        if rest.starts_with(FENCE) {
                            self.fenced = false;
                            cursor.at += FENCE.len();
                            sink.markup(cursor.speak());
                        } else if FENCE.starts_with(rest) {
                            return Ok(self.wait(cursor, last, sink));
                        } else {
                            return Ok(self.over(sink));
                        }
                    }
                    b'"' | b'[' if self.comma && !self.shaped => {
                        if !self.in_list(byte, cursor, last, sink)? {
                            return Ok(self.wait(cursor, last, sink));
                        }
                        if self.place == Place::AfterCall {
                            return Ok(self.over(sink));
                        }
                    }
                    b'"' | b'[' | b'-' | b'0'..=b'9' if self.array && self.comma => {
                        self.place = Place::Stray;
                    }
                    // One too many; further off it is prose.
                    b'}' | b']' if cursor.at == cursor.from => {
                        sink.repaired_behind(Mend::ExtraCloser.describe());
                        if self.besides && byte == b'}' {
                            // Its members go on behind the brace of its arguments.
                            sink.spoiled_behind(PART);
                        }
                        cursor.at += 1;
                        sink.markup(cursor.speak());
                    }
                    _ if self.array && !self.shaped => self.place = Place::Junk { text: false, brackets: 0 },
                    _ => return Ok(self.over(sink)),
                },
                Place::Wreck(..)
                | Place::Junk { .. }
                | Place::Token { .. }
                | Place::Arguments
                | Place::Skip
                | Place::Stray => {}
            }
        }
    }
}
