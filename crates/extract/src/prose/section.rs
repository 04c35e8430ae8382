//! How a section of calls goes on: with its closer, with a call, with words and then a call, or not at all.

use super::{
    super::{
        dialect::{Dialect, Glances, Verdict},
        parser::{FREE, Parser, VAIN},
        policy::UnknownTool,
        signature::resolved,
    },
    MOST_SPACE,
};

/// The most bytes of words between a section's opener and its first call.
const MOST_WORDS: usize = 160;
/// So near behind a call's opener its name stands.
const MOST_NAME: usize = 96;

/// Words behind a marker that may lead to a call: what is known of them is not looked at again.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Words {
    /// Where they begin, and behind which meaning of the marker.
    place: usize,
    ordinal: usize,
    /// How many bytes of them were seen, and how many of the call behind them name no tool.
    seen: usize,
    unnamed: usize,
    /// Whether one of them named one. It may be asked for twice: where a mark before the marker quotes nothing after
    /// all.
    named: bool,
}

/// How a section goes on.
pub(in super::super) enum Begins {
    No,
    More,
    /// With its closer, which ends here.
    Over(usize),
    /// With a call, behind white space.
    Call {
        space: usize,
        opener: usize,
    },
}

/// What stands in a section, behind its opener or a call.
pub(in super::super) fn begins(
    dialect: &'static Dialect,
    at: usize,
    input: &[u8],
    last: bool,
    glances: &mut Glances,
) -> Begins {
    let space = glances.space(at, input, MOST_SPACE);
    if space > MOST_SPACE {
        return Begins::No;
    }
    let rest = input.get(space..).unwrap_or_default();
    let mut more = rest.is_empty();
    let closers = dialect.section.map_or(&[][..], |section| section.1).iter().map(|close| (true, *close));
    let openers = dialect.open.iter().filter(|open| !open.is_empty()).map(|open| (false, *open));
    for (closes, text, verdict) in glances.which(at + space, rest, closers.chain(openers)) {
        if verdict == Verdict::More {
            more = true;
        } else if closes {
            return Begins::Over(space + text.len());
        } else {
            let inside = rest.get(text.len()..).unwrap_or_default();
            match dialect.first.holds_at(at + space + text.len(), inside, last, glances) {
                Verdict::Yes => return Begins::Call { space, opener: text.len() },
                Verdict::More => more = true,
                // Models open a call twice now and then.
                Verdict::No => {
                    let between = glances.space(at + space + text.len(), inside, MOST_SPACE);
                    let again = inside.get(between..).filter(|_| between <= MOST_SPACE).unwrap_or_default();
                    let place = at + space + text.len() + between;
                    match glances.which(place, again, std::iter::once(((), text))).first() {
                        Some(((), _, Verdict::Yes)) => {
                            let opener = 2 * text.len() + between;
                            let inside = again.get(text.len()..).unwrap_or_default();
                            match dialect.first.holds_at(place + text.len(), inside, last, glances) {
                                Verdict::Yes => return Begins::Call { space, opener },
                                Verdict::More => more = true,
                                Verdict::No => {}
                            }
                        }
                        Some(_) => more = true,
                        None => {}
                    }
                }
            }
        }
    }
    if dialect.open.is_empty() || dialect.open.contains(&"") {
        match dialect.first.holds_at(at + space, rest, last, glances) {
            Verdict::Yes => return Begins::Call { space, opener: 0 },
            Verdict::More => more = true,
            Verdict::No => {}
        }
    }
    if more && !last { Begins::More } else { Begins::No }
}

impl Parser {
    /// Whether words, and then a call that one of `opens` begins and that will be read, stand behind the opener of a
    /// section or wrapper, which is `marker` bytes long: then that is markup all the same, and the words are prose.
    /// Words that quote, or that hold another marker, talk about it. `None`: more is needed.
    pub(super) fn words_before_call(
        &mut self,
        dialect: &'static Dialect,
        opens: &[&'static str],
        (marker, ordinal): (usize, usize),
        rest: &[u8],
        last: bool,
    ) -> Option<bool> {
        let place = self.front + marker;
        if (self.words.place, self.words.ordinal) != (place, ordinal) {
            self.words = Words { place, ordinal, ..Words::default() };
        }
        let seen = self.words.seen;
        if seen == 0 && self.spent > self.front / VAIN + FREE {
            return Some(false);
        }
        let reach = rest.get(..MOST_WORDS).unwrap_or(rest);
        let found = reach.iter().skip(seen).position(|byte| b"<[{\"`".contains(byte)).map(|at| seen + at);
        self.touched += (found.map_or(reach.len(), |at| at + 1) - seen) as u64;
        self.words.seen = found.unwrap_or(reach.len());
        let begins = match found {
            None if last || rest.len() >= MOST_WORDS => Some(false),
            None => None,
            Some(at) => self.call_at(dialect, opens, place + at, rest.get(at..).unwrap_or_default(), last),
        };
        if begins == Some(false) {
            self.spent = self.spent.saturating_add(found.unwrap_or(reach.len()));
        }
        begins
    }

    /// Whether a call of the dialect begins here whose tool is known, where tools are.
    fn call_at(
        &mut self,
        dialect: &'static Dialect,
        opens: &[&'static str],
        place: usize,
        here: &[u8],
        last: bool,
    ) -> Option<bool> {
        let mut more = false;
        for open in opens {
            let Some(inside) = here.strip_prefix(open.as_bytes()) else {
                more |= !last && open.as_bytes().starts_with(here);
                continue;
            };
            match dialect.first.holds_at(place + open.len(), inside, last, &mut self.glances) {
                Verdict::Yes => return self.names_tool(inside, last),
                Verdict::More => more = true,
                Verdict::No => {}
            }
        }
        if more { None } else { Some(false) }
    }

    fn names_tool(&mut self, inside: &[u8], last: bool) -> Option<bool> {
        let Some(tools) = self.tools.as_ref().filter(|_| self.policy.unknown_tools == UnknownTool::Text) else {
            return Some(true);
        };
        if self.words.named {
            return Some(true);
        }
        let reach = inside.get(..MOST_NAME).unwrap_or(inside);
        let whole = last || inside.len() >= MOST_NAME;
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || *byte >= 0x80;
        let from = self.words.unnamed.min(reach.len());
        // The last word may go on.
        let ended = reach.iter().skip(from).rposition(|byte| !part(byte)).map_or(from, |at| from + at + 1);
        let end = if whole { reach.len() } else { ended };
        self.touched += (end - from + 1) as u64;
        self.words.unnamed = end;
        let words = reach.get(from..end).unwrap_or_default().split(|byte| !part(byte));
        let mut names = words.filter_map(|word| std::str::from_utf8(word).ok());
        self.words.named = names.any(|name| tools.get(resolved(Some(tools), name)).is_some());
        if self.words.named {
            return Some(true);
        }
        if whole { Some(false) } else { None }
    }
}
