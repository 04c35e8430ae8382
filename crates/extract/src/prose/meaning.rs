//! What a marker means where it stands: a call, a section, reasoning, an echoed result, a frame of visible text, or
//! nothing. Each meaning is proposed by the table and judged by what stands around it.

use std::sync::Arc;

use super::{
    super::{
        call::Source,
        code::{Code, Opened},
        dialect::{Dialect, Verdict, frames, reasoning_markups, turn_ends},
        harmony::{Head, Header},
        line::Around,
        markers::{Role, Walk},
        parser::{FREE, Parser, Thinking, VAIN},
        policy::Quoted,
        walker::Walker,
    },
    Begins, Candidate, Found, MOST_SPACE, Meaning, Proposal, Then, Twice, begins,
};

/// No more white space may follow what ends a turn.
const MOST_BEHIND: usize = 16;

impl Parser {
    /// What the marker means that `input` begins with, if it is one and means anything here. `skip` meanings are ruled
    /// out.
    pub(super) fn decide(&mut self, input: &[u8], last: bool, mut walk: Walk, skip: usize, bare: bool) -> Found {
        let markers = Arc::clone(&self.markers);
        if walk.length() == 0 && self.sought.0 == self.front {
            // It was followed before, by whoever looked for the remains of a call.
            walk = self.sought.1;
        }
        let seen = walk.length();
        let longer = markers.walk(&mut walk, input);
        self.touched += walk.length().saturating_sub(seen) as u64;
        if longer && !last {
            return Found::Wait(walk, skip);
        }
        self.met = walk;
        let around = self.around();
        let quoted = around == Around::Quoted;
        if self.passed.unread == Some(self.front) {
            // It was decided on, and told of.
            let (length, roles) = markers.longest(&walk, usize::MAX).unwrap_or_default();
            self.pass_marker(roles);
            return Found::Text(length.max(self.dead.saturating_sub(self.front)));
        }
        if self.behind.is_some()
            && let Some((length, roles)) = markers.longest(&walk, usize::MAX)
        {
            match self.closes_behind(around, length, roles, input, last) {
                Proposal::No => self.behind = None,
                Proposal::More => return Found::Wait(walk, skip),
                Proposal::Yes(meaning) => {
                    self.behind = None;
                    self.line.no_fence();
                    return Found::Meaning(meaning);
                }
            }
        }
        let mut ordinal = 0;
        let mut below = usize::MAX;
        'markers: while let Some((length, roles)) = markers.longest(&walk, below) {
            below = length;
            if quoted && self.policy.quoted_calls == Quoted::Ignore && matches!(self.thinking, Thinking::Not) {
                continue;
            }
            for role in roles {
                ordinal += 1;
                if ordinal <= skip {
                    continue;
                }
                match self.propose(*role, length, ordinal - 1, input, last) {
                    // Nor is a shorter marker meant that it begins with.
                    Proposal::No if matches!(role, Role::ReasonOpen(open) if self.line.talks_of(open.name)) => {
                        break 'markers;
                    }
                    Proposal::No => {}
                    Proposal::More => return Found::Wait(walk, ordinal - 1),
                    Proposal::Yes(meaning) => {
                        if let Some(meaning) = self.judge(meaning, around, length, ordinal - 1) {
                            return Found::Meaning(meaning);
                        }
                    }
                }
            }
        }
        if bare && matches!(input.first(), Some(b'{' | b'[')) && self.line.at_start() {
            let allowed = around == Around::Plain || (quoted && self.policy.quoted_calls == Quoted::Run);
            // Inside an object that is no call only what was begun here goes on.
            if allowed && (self.walker.is_none() || skip > ordinal) {
                for dialect in &markers.bare {
                    ordinal += 1;
                    if ordinal <= skip || self.in_value(dialect) {
                        continue;
                    }
                    match dialect.first.holds_at(self.front, input, last, &mut self.glances) {
                        Verdict::No => {}
                        Verdict::More => return Found::Wait(walk, ordinal - 1),
                        Verdict::Yes => {
                            let candidate = Candidate {
                                dialect,
                                section: None,
                                call: 0,
                                opener: 0,
                                marker: 1,
                                ordinal: ordinal - 1,
                            };
                            return Found::Meaning(Meaning::Call(candidate, Source::Bare));
                        }
                    }
                }
                // An object that is no call: nothing in it is looked at as one.
                self.walker = Some(Walker::default());
                self.walked = self.front;
            }
        }
        let (length, roles) = markers.longest(&walk, usize::MAX).unwrap_or_default();
        self.passed.talks |= roles.iter().any(|role| role.opens().is_some());
        if around == Around::Plain && self.is_unread(roles) {
            return Found::Unread(length);
        }
        if !quoted {
            self.pass_marker(roles);
            if roles.iter().any(|role| matches!(role, Role::FrameClose | Role::TurnEnd)) {
                self.passed.message_end = Some(self.front + length);
            }
        }
        let dead = self.dead.saturating_sub(self.front);
        Found::Text(if below == usize::MAX { 1 } else { below }.max(dead))
    }

    /// The first marker behind a call is its closer: what opens between the two, a stray mark of the model's, quotes
    /// nothing.
    fn closes_behind(&mut self, around: Around, length: usize, roles: &[Role], input: &[u8], last: bool) -> Proposal {
        let Some(behind) = self.behind else { return Proposal::No };
        let dialect = behind.dialect;
        if self.policy.quoted_calls != Quoted::Ignore || !self.minds_quotes() {
            return Proposal::No;
        }
        let closer = roles.iter().find(|role| match role {
            Role::CallClose(other) => other.close == dialect.close,
            Role::SectionClose(other) => other.section == dialect.section,
            _ => false,
        });
        let Some(closer) = closer else { return Proposal::No };
        if around == Around::Plain && self.line.quotation().is_none() {
            return Proposal::No;
        }
        let (parted, looked) = behind.parted();
        self.touched += looked as u64;
        if parted {
            return Proposal::No;
        }
        match input.get(length) {
            None if !last => return Proposal::More,
            // Directly between two marks it is talked about.
            Some(b'"' | b'\'' | b'`' | 0xc2 | 0xe2 | 0xe3) => return Proposal::No,
            _ => {}
        }
        self.propose(*closer, length, 0, input, last)
    }

    /// So many bytes from the candidate on were looked at, and came to nothing. Where that goes out of proportion they
    /// are text.
    fn vain(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent > self.front / VAIN + FREE {
            self.dead = self.dead.max(self.front + bytes);
        }
    }

    /// What becomes of a meaning where code or a quote stands around it.
    fn judge(&mut self, meaning: Meaning, around: Around, marker: usize, ordinal: usize) -> Option<Meaning> {
        if !matches!(self.thinking, Thinking::Not) && !matches!(meaning, Meaning::Call(..)) {
            // Quoting hides calls in reasoning, and nothing that ends it.
            return Some(meaning);
        }
        match (around, self.policy.quoted_calls) {
            (Around::Plain, Quoted::Ignore) if self.minds_quotes() => Some(match self.line.quotation() {
                Some(open) => Meaning::Code(Code::new(Opened::Marks(open), false, marker, ordinal, &meaning)),
                None => meaning,
            }),
            (Around::Plain, _) => Some(meaning),
            (Around::Backticks(length, fence), Quoted::Ignore) => {
                Some(Meaning::Code(Code::new(Opened::Backticks(length), fence, marker, ordinal, &meaning)))
            }
            (Around::Quoted, Quoted::Ignore) => None,
            (_, Quoted::Run) => match meaning {
                Meaning::Call(candidate, _) => Some(Meaning::Call(candidate, Source::Fenced)),
                // Where calls in code run, those in a result must not.
                Meaning::Inert(..) => Some(meaning),
                _ => None,
            },
        }
    }

    fn propose(&mut self, role: Role, length: usize, ordinal: usize, input: &[u8], last: bool) -> Proposal {
        let thinks = !matches!(self.thinking, Thinking::Not);
        let calls = !thinks || self.policy.reasoning_calls;
        if role.opens().is_some_and(|dialect| self.in_value(dialect)) && !matches!(role, Role::Message(_)) {
            return Proposal::No;
        }
        let rest = input.get(length..).unwrap_or_default();
        let call = |dialect: &'static Dialect, opener: usize, verdict: Verdict| match verdict {
            Verdict::No => Proposal::No,
            Verdict::More => Proposal::More,
            Verdict::Yes => Proposal::Yes(Meaning::Call(
                Candidate { dialect, section: None, call: 0, opener, marker: length, ordinal },
                Source::Tagged,
            )),
        };
        match role {
            Role::Call(dialect) if calls => {
                let open = self.section.is_some_and(|section| section.dialect.section == dialect.section);
                if dialect.section.is_none() || dialect.section_optional || open {
                    let place = self.front + length;
                    match dialect.first.holds_at(place, rest, last, &mut self.glances) {
                        Verdict::No => {}
                        verdict => return call(dialect, length, verdict),
                    }
                    match self.twice(place, length, input, last) {
                        // A wrapper may be missing around the call: then it may stand around more than the call.
                        Twice::No if dialect.open.contains(&"") => {
                            match self.words_before_call(dialect, &[""], (length, ordinal), rest, last) {
                                None => Proposal::More,
                                Some(false) => Proposal::No,
                                Some(true) => Proposal::Yes(Meaning::Markup(length, Then::Nothing)),
                            }
                        }
                        Twice::No => Proposal::No,
                        Twice::More(_) => Proposal::More,
                        Twice::Yes(opener) => {
                            let inside = input.get(opener..).unwrap_or_default();
                            let place = self.front + opener;
                            call(dialect, opener, dialect.first.holds_at(place, inside, last, &mut self.glances))
                        }
                    }
                } else {
                    Proposal::No
                }
            }
            Role::Bodied(dialect) if calls => {
                call(dialect, 0, dialect.first.holds_at(self.front, input, last, &mut self.glances))
            }
            Role::Section(dialect) if calls => {
                let (marker, behind) = (length, rest);
                let mut begun = begins(dialect, self.front + length, rest, last, &mut self.glances);
                let mut length = length;
                if matches!(begun, Begins::No) {
                    match self.twice(self.front + length, length, input, last) {
                        Twice::No => {}
                        Twice::More(_) => return Proposal::More,
                        Twice::Yes(opener) => {
                            let inside = input.get(opener..).unwrap_or_default();
                            begun = begins(dialect, self.front + opener, inside, last, &mut self.glances);
                            length = opener;
                        }
                    }
                }
                match begun {
                    Begins::No => {
                        match self.words_before_call(dialect, dialect.open, (marker, ordinal), behind, last) {
                            None => Proposal::More,
                            Some(false) => Proposal::No,
                            Some(true) => Proposal::Yes(Meaning::Markup(marker, Then::Section(dialect))),
                        }
                    }
                    Begins::More => Proposal::More,
                    Begins::Over(end) => Proposal::Yes(Meaning::Markup(length + end, Then::Nothing)),
                    Begins::Call { space, opener } => Proposal::Yes(Meaning::Call(
                        Candidate {
                            dialect,
                            section: Some(dialect),
                            call: length + space,
                            opener: length + space + opener,
                            marker: length,
                            ordinal,
                        },
                        Source::Tagged,
                    )),
                }
            }
            Role::CallClose(dialect) if calls && self.owed.iter().any(|owed| owed.close == dialect.close) => {
                match self.may_be_quoted(dialect, input, last) {
                    None => Proposal::More,
                    Some(true) => Proposal::Yes(Meaning::Markup(length, Then::Nothing)),
                    Some(false) => Proposal::Yes(Meaning::Markup(length, Then::Closed(dialect))),
                }
            }
            Role::SectionClose(dialect) => match self.section {
                Some(section) if section.dialect.section == dialect.section && self.calls.consumed > section.before => {
                    Proposal::Yes(Meaning::Markup(length, Then::SectionOver))
                }
                _ if !thinks => self.stray_closer(input, length, last),
                _ => Proposal::No,
            },
            Role::CallClose(_) if !thinks => self.stray_closer(input, length, last),
            Role::ReasonOpen(reasoning) => match self.thinking {
                Thinking::Not if self.begins_line() => Proposal::Yes(Meaning::Markup(length, Then::Think(reasoning))),
                // In the middle of a line the text talks of it.
                Thinking::Not => {
                    self.line.talk_of(reasoning.name);
                    Proposal::No
                }
                // The prompt ended with the opener, and the model wrote it once more.
                Thinking::Prompted if self.front == 0 => Proposal::Yes(Meaning::Markup(length, Then::Think(reasoning))),
                _ => Proposal::No,
            },
            Role::ReasonClose(reasoning) => match self.thinking {
                Thinking::In(open) if open.name != reasoning.name => Proposal::No,
                // A closer without an opener is markup still: the opener stood in the prompt. Not so what closes other
                // things too.
                Thinking::Not if closes_frames(input.get(..length).unwrap_or_default()) => Proposal::No,
                // Nor what closes an opener that the line talks of.
                Thinking::Not if self.line.talks_of(reasoning.name) => Proposal::No,
                Thinking::Not => Proposal::Yes(Meaning::Markup(length, Then::Nothing)),
                _ => Proposal::Yes(Meaning::Markup(length, Then::Speak)),
            },
            Role::Inert(inert) if calls => Proposal::Yes(Meaning::Inert(length, inert)),
            Role::FrameOpen(frame) => match self.thinking {
                Thinking::In(open) if open.name != frame.name => Proposal::No,
                _ => Proposal::Yes(Meaning::Markup(length, Then::Frame(true))),
            },
            Role::Message(dialect) => {
                if matches!(self.thinking, Thinking::In(open) if open.name != "harmony") {
                    return Proposal::No;
                }
                let seen = self.message.seen();
                let head = self.message.read(input, last);
                self.touched += self.message.seen().saturating_sub(seen) as u64;
                if head == Head::No {
                    self.vain(self.message.seen());
                }
                if head != Head::More {
                    self.message = Header::default();
                }
                match (head, dialect) {
                    (Head::More, _) => Proposal::More,
                    (Head::Text(end), _) => Proposal::Yes(Meaning::Markup(end, Then::Frame(true))),
                    (Head::Reasoning(_), _) if !thinks && !self.begins_line() => Proposal::No,
                    (Head::Reasoning(end), _) => match reasoning_markups().iter().find(|one| one.name == "harmony") {
                        Some(reasoning) => Proposal::Yes(Meaning::Markup(end, Then::Think(reasoning))),
                        None => Proposal::No,
                    },
                    (Head::Call { .. } | Head::Cut { .. }, Some(dialect)) if calls && !self.in_value(dialect) => {
                        call(dialect, 0, Verdict::Yes)
                    }
                    _ => Proposal::No,
                }
            }
            Role::TurnEnd => match self.ends_turn(length, rest, last) {
                None => Proposal::More,
                Some(true) => Proposal::Yes(Meaning::Markup(length, Then::Nothing)),
                Some(false) => Proposal::No,
            },
            Role::FrameClose if self.framed && !thinks => Proposal::Yes(Meaning::Markup(length, Then::Frame(false))),
            _ => Proposal::No,
        }
    }

    /// Whether a marker with these roles, which came to nothing, opens calls where a line begins, or stands in none but
    /// them.
    fn is_unread(&mut self, roles: &[Role]) -> bool {
        let opens = |role: &Role| matches!(role, Role::Section(_) | Role::Call(_) | Role::Bodied(_));
        let within = |role: &Role| matches!(role, Role::Within);
        matches!(self.thinking, Thinking::Not)
            && !self.passed.said_cut
            && (roles.iter().any(within) || (self.line.begins() && roles.iter().any(opens)))
            && self.line.quotation_free()
    }

    /// Whether the closer of calls at the front, which nothing opened, is markup that a model left there: in a text in
    /// which no call stands and none is talked of, right behind a word or a sentence.
    fn stray_closer(&mut self, input: &[u8], length: usize, last: bool) -> Proposal {
        let marker = input.get(..length).unwrap_or_default();
        if self.calls.consumed > 0 || self.passed.talks || turn_ends().iter().any(|end| end.as_bytes() == marker) {
            return Proposal::No;
        }
        let next = input.get(length);
        if next.is_none() && !last {
            return Proposal::More;
        }
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"'\"`*_-)]}".contains(byte) || *byte >= 0x80;
        if self.line.glued() && !next.is_some_and(part) {
            Proposal::Yes(Meaning::Markup(length, Then::Nothing))
        } else {
            Proposal::No
        }
    }

    /// Whether reasoning may open here: where a line begins, or right behind markup or what ends a message.
    fn begins_line(&self) -> bool {
        self.line.begins() || self.passed.message_end == Some(self.front)
    }

    /// Whether nothing follows the marker of this length but what may: white space, and what ends a turn once more.
    /// `None`: more bytes decide.
    fn ends_turn(&mut self, length: usize, rest: &[u8], last: bool) -> Option<bool> {
        let place = self.front + length;
        let space = self.glances.space(place, rest, MOST_BEHIND);
        let here = rest.get(space..).unwrap_or_default();
        if space > MOST_BEHIND {
            return Some(false);
        }
        if here.is_empty() {
            return last.then_some(true);
        }
        let (walk, longer) = self.walk(place + space - self.at, here);
        if longer && !last {
            return None;
        }
        let markers = Arc::clone(&self.markers);
        let ends = |role: &Role| matches!(role, Role::TurnEnd);
        let Some((length, _)) = markers.longest(&walk, usize::MAX).filter(|(_, roles)| roles.iter().any(ends)) else {
            // What a cut left of another one is no text either.
            let begun = longer && turn_ends().iter().any(|end| end.as_bytes().starts_with(here));
            return Some(begun);
        };
        let behind = here.get(length..).unwrap_or_default();
        let space_behind = self.glances.space(place + space + length, behind, MOST_BEHIND);
        if behind.len() > space_behind { Some(false) } else { last.then_some(true) }
    }

    /// Whether the marker of this length at the front stands there once more, behind white space at most: models write
    /// it twice now and then. Looked at once for all dialects.
    fn twice(&mut self, place: usize, length: usize, input: &[u8], last: bool) -> Twice {
        let from = match self.doubled {
            (known, Twice::More(seen)) if known == place => seen,
            (known, twice) if known == place => return twice,
            _ => 0,
        };
        if from == 0 && self.spent > self.front / VAIN + FREE {
            return Twice::No;
        }
        let rest = input.get(length..).unwrap_or_default();
        let space = self.glances.space(place, rest, MOST_SPACE);
        let marker = input.get(..length).unwrap_or_default();
        let again = rest.get(space..).filter(|_| space <= MOST_SPACE).unwrap_or_default();
        let on = again.iter().zip(marker).skip(from);
        let same = from + on.take_while(|(one, other)| one == other).count();
        self.touched += (same - from) as u64;
        // If a call begins there it wasn't in vain, but so it is counted the same however it is cut.
        if same == length {
            self.spent = self.spent.saturating_add(length);
            self.doubled = (place, Twice::Yes(length + space + length));
        } else if same > 0 && same == again.len() && !last {
            self.doubled = (place, Twice::More(same));
        } else {
            self.doubled = (place, Twice::No);
        }
        self.doubled.1
    }
}

fn closes_frames(marker: &[u8]) -> bool {
    frames().iter().any(|frame| frame.close.iter().any(|close| close.as_bytes() == marker))
}
