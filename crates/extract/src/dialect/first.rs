//! What stands first in a region: the bytes that tell dialects with the same opening marker from each other. Decides on
//! as few bytes as it can and says when it needs more; never looks past a name and the longest string after it.

use std::cmp::Ordering;

/// What tells a region of one dialect from another's with the same marker: the first bytes after it that aren't white
/// space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// Nothing needs to be told.
    Any,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A name, then one of these strings (white space may stand between).
    NameThen(&'static [&'static str]),
    /// `[`, a name, then one of these strings (white space may stand between).
    ListThen(&'static [&'static str]),
    /// One of the first strings, then a name, then one of the others (white space may stand between).
    NamedThen(&'static [&'static str], &'static [&'static str]),
    /// What one of these says.
    Either(&'static [First]),
    /// Calls as Python writes them, in a list or not, though the first may be damaged: its name, or a bracket or two.
    Calls,
}

/// What the bytes after a marker say of a [`First`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Yes,
    /// It doesn't, whatever follows.
    No,
    /// More bytes decide.
    More,
}

/// The longest name of a tool that a header may hold.
const LONGEST_NAME: usize = 256;
/// The most white space that may stand where some may stand.
const MOST_SPACE: usize = 256;

impl First {
    /// Whether `input`, what follows the marker, begins as it must. `last` says that nothing follows.
    pub fn holds(&self, input: &[u8], last: bool) -> Verdict {
        self.holds_at(0, input, last, &mut Glances::default())
    }

    /// The same for an `input` that stands at `at`, which others may have glanced at before.
    pub(crate) fn holds_at(&self, at: usize, input: &[u8], last: bool, glances: &mut Glances) -> Verdict {
        let verdict = match self {
            Self::Any => Verdict::Yes,
            Self::OneOf(strings) => {
                after_space(at, input, glances, |at, rest, glances| one_of(at, rest, strings, glances))
            }
            Self::NameThen(strings) => {
                after_space(at, input, glances, |at, rest, glances| name_then(at, rest, strings, glances))
            }
            Self::ListThen(strings) => after_space(at, input, glances, |at, rest, glances| match rest.split_first() {
                Some((b'[', rest)) => {
                    after_space(at + 1, rest, glances, |at, rest, glances| name_then(at, rest, strings, glances))
                }
                Some(_) => Verdict::No,
                None => Verdict::More,
            }),
            Self::Calls => after_space(at, input, glances, calls),
            Self::NamedThen(strings, others) => {
                after_space(at, input, glances, |at, rest, glances| match one_of(at, rest, strings, glances) {
                    Verdict::Yes => {
                        let begins = |string: &&&str| rest.starts_with(string.as_bytes());
                        let length = strings.iter().filter(begins).map(|string| string.len()).max().unwrap_or_default();
                        match rest.get(length..) {
                            Some(rest) if !rest.is_empty() => name_then(at + length, rest, others, glances),
                            _ => Verdict::More,
                        }
                    }
                    verdict => verdict,
                })
            }
            Self::Either(all) => {
                let verdicts = all.iter().map(|first| first.holds_at(at, input, last, glances));
                verdicts.fold(Verdict::No, |found, verdict| match (found, verdict) {
                    (Verdict::Yes, _) | (_, Verdict::Yes) => Verdict::Yes,
                    (Verdict::More, _) | (_, Verdict::More) => Verdict::More,
                    _ => Verdict::No,
                })
            }
        };
        if last && verdict == Verdict::More { Verdict::No } else { verdict }
    }
}

/// What was looked for at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Space,
    Name,
    /// One string, known by where it is kept.
    Text(usize),
}

/// How much of something stands at a place, as far as it was seen.
#[derive(Debug, Clone, Copy)]
struct Glance {
    at: usize,
    sort: Sort,
    length: usize,
    /// Something else stands behind it.
    over: bool,
}

/// Glances at places behind markers, kept for the next dialect that asks and the next bytes that come.
#[derive(Debug, Default)]
pub(crate) struct Glances {
    /// A ring of at most `MOST_GLANCES`.
    recent: Vec<Glance>,
    /// Where the newest of them is kept.
    newest: usize,
    /// The last place that was glanced at, and how many glances are no older than the first at it.
    latest: usize,
    fresh: usize,
    /// How many bytes were looked at.
    pub(crate) looked: u64,
}

/// A power of two.
const MOST_GLANCES: usize = 32;

impl Glances {
    /// Which glance this is, if it was seen, and how much of it.
    fn known(&self, at: usize, sort: Sort) -> (Option<usize>, usize, bool) {
        // Places come in order but for a few: nothing is known of most, and little else was seen since of the others.
        let count = match at.cmp(&self.latest) {
            Ordering::Greater => 0,
            Ordering::Equal => self.fresh,
            Ordering::Less => self.recent.len(),
        };
        for back in 0..count {
            let slot = self.newest.wrapping_sub(back) % MOST_GLANCES;
            if let Some(glance) = self.recent.get(slot)
                && glance.at == at
                && glance.sort == sort
            {
                return (Some(slot), glance.length, glance.over);
            }
        }
        (None, 0, false)
    }

    fn remember(&mut self, slot: Option<usize>, at: usize, sort: Sort, length: usize, over: bool) {
        let glance = Glance { at, sort, length, over };
        if let Some(known) = slot.and_then(|slot| self.recent.get_mut(slot)) {
            *known = glance;
            return;
        }
        if at > self.latest {
            self.latest = at;
            self.fresh = 0;
        }
        self.fresh = (self.fresh + 1).min(MOST_GLANCES);
        if self.recent.len() < MOST_GLANCES {
            if self.recent.is_empty() {
                self.recent.reserve_exact(MOST_GLANCES);
            }
            self.newest = self.recent.len();
            self.recent.push(glance);
        } else {
            self.newest = (self.newest + 1) % MOST_GLANCES;
            if let Some(oldest) = self.recent.get_mut(self.newest) {
                *oldest = glance;
            }
        }
    }

    /// How many bytes of white space, or of a name, stand at the front of `input`, which stands at `at`; no more than
    /// `most` and one.
    fn run(&mut self, at: usize, sort: Sort, input: &[u8], most: usize) -> usize {
        let (slot, from, over) = self.known(at, sort);
        if over {
            return from;
        }
        let on = input.get(from.min(most + 1)..input.len().min(most + 1)).unwrap_or_default();
        let same = |byte: &&u8| if sort == Sort::Name { in_name(**byte) } else { byte.is_ascii_whitespace() };
        let more = on.iter().take_while(same).count();
        self.looked += on.len().min(more + 1) as u64;
        self.remember(slot, at, sort, from + more, more < on.len());
        from + more
    }

    /// Whether `input`, which stands at `at`, begins with `text`. `looked` becomes the most bytes that were compared:
    /// of several strings at one place each byte counts once.
    fn compare(&mut self, at: usize, input: &[u8], text: &'static str, looked: &mut usize) -> Verdict {
        let sort = Sort::Text(text.as_ptr() as usize);
        let (slot, from, over) = self.known(at, sort);
        if over {
            return Verdict::No;
        }
        let text = text.as_bytes();
        let on = input.iter().zip(text).skip(from);
        let same = from + on.take_while(|(one, other)| one == other).count();
        *looked = (*looked).max(input.len().min(same + 1).saturating_sub(from));
        if same == text.len() {
            Verdict::Yes
        } else if same == input.len() {
            self.remember(slot, at, sort, same, false);
            Verdict::More
        } else {
            self.remember(slot, at, sort, same, true);
            Verdict::No
        }
    }

    /// Which of `texts` `input`, which stands at `at`, begins with, and which it may come to begin with. Each byte
    /// counts once.
    pub(crate) fn which<'a, T>(
        &mut self,
        at: usize,
        input: &'a [u8],
        texts: impl Iterator<Item = (T, &'static str)> + 'a,
    ) -> Vec<(T, &'static str, Verdict)> {
        let mut looked = 0;
        let found = texts
            .map(|(what, text)| (what, text, self.compare(at, input, text, &mut looked)))
            .filter(|(.., verdict)| *verdict != Verdict::No)
            .collect();
        self.looked += looked as u64;
        found
    }

    /// How many bytes of `text` are known to stand at `at`, if it doesn't stand there whole.
    pub(crate) fn begun(&self, at: usize, text: &'static str) -> usize {
        self.known(at, Sort::Text(text.as_ptr() as usize)).1
    }

    /// How much white space stands at the front of `input`, which stands at `at`; no more than `most` and one.
    pub(crate) fn space(&mut self, at: usize, input: &[u8], most: usize) -> usize {
        self.run(at, Sort::Space, input, most).min(most + 1)
    }
}

/// Whether a byte may be part of a tool's name in a header.
pub(crate) const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b'$' | b'@')
}

fn after_space(
    at: usize,
    input: &[u8],
    glances: &mut Glances,
    then: impl FnOnce(usize, &[u8], &mut Glances) -> Verdict,
) -> Verdict {
    let space = glances.space(at, input, MOST_SPACE);
    if space > MOST_SPACE {
        return Verdict::No;
    }
    match input.get(space..) {
        Some(rest) if !rest.is_empty() => then(at + space, rest, glances),
        _ => Verdict::More,
    }
}

fn one_of(at: usize, input: &[u8], strings: &'static [&'static str], glances: &mut Glances) -> Verdict {
    let mut verdict = Verdict::No;
    let mut looked = 0;
    for string in strings {
        match glances.compare(at, input, string, &mut looked) {
            Verdict::Yes => {
                verdict = Verdict::Yes;
                break;
            }
            Verdict::More => verdict = Verdict::More,
            Verdict::No => {}
        }
    }
    glances.looked += looked as u64;
    verdict
}

fn name_then(at: usize, input: &[u8], strings: &'static [&'static str], glances: &mut Glances) -> Verdict {
    let end = glances.run(at, Sort::Name, input, LONGEST_NAME);
    if end == 0 || end > LONGEST_NAME {
        return Verdict::No;
    }
    if end == input.len() {
        return Verdict::More;
    }
    after_space(at + end, input.get(end..).unwrap_or_default(), glances, |at, rest, glances| {
        one_of(at, rest, strings, glances)
    })
}

/// What may follow a name where a call was to stand.
const BEHIND_NAME: &[&str] = &["(", "[", "=", ")"];

fn calls(at: usize, input: &[u8], glances: &mut Glances) -> Verdict {
    match input.first() {
        Some(b'[') => {
            after_space(at + 1, input.get(1..).unwrap_or_default(), glances, |_, rest, _| match rest.first() {
                Some(b'{' | b']') => Verdict::No,
                _ => Verdict::Yes,
            })
        }
        Some(b'(' | b')' | b',' | b'=' | b'.' | b'"' | b'\'') => Verdict::Yes,
        _ => match name_then(at, input, BEHIND_NAME, glances) {
            // A name twice.
            Verdict::No => {
                let end = glances.run(at, Sort::Name, input, LONGEST_NAME);
                let rest = input.get(end..).unwrap_or_default();
                if end == 0 || end > LONGEST_NAME {
                    return Verdict::No;
                }
                after_space(at + end, rest, glances, |at, rest, glances| name_then(at, rest, &["("], glances))
            }
            verdict => verdict,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{First, Verdict};

    /// The verdict over a whole text, and that every prefix says the same or asks for more.
    fn decide(first: First, text: &str) -> Verdict {
        let whole = first.holds(text.as_bytes(), true);
        for end in 0..text.len() {
            let part = first.holds(&text.as_bytes()[..end], false);
            assert!(
                part == whole || part == Verdict::More,
                "{first:?} on {:?}: {part:?}, then {whole:?}",
                &text[..end]
            );
        }
        whole
    }

    #[test]
    fn a_region_is_told_by_its_first_bytes() {
        assert_eq!(decide(First::OneOf(&["{", "[{"]), " \n{\"a\":1}"), Verdict::Yes);
        assert_eq!(decide(First::OneOf(&["{", "[{"]), "[1]"), Verdict::No);
        assert_eq!(decide(First::OneOf(&["<function="]), "\n<function=f>"), Verdict::Yes);
        assert_eq!(decide(First::OneOf(&["<function="]), "\n<func"), Verdict::No);
        assert_eq!(decide(First::NameThen(&["<arg_key>", "</tool_call>"]), "get_time\n<arg_key>"), Verdict::Yes);
        assert_eq!(decide(First::NameThen(&["<arg_key>", "</tool_call>"]), "get_time</tool_call>"), Verdict::Yes);
        assert_eq!(decide(First::NameThen(&["<arg_key>"]), "get time<arg_key>"), Verdict::No);
        assert_eq!(decide(First::NameThen(&["(", "{"]), "(x)"), Verdict::No);
        assert_eq!(decide(First::ListThen(&["("]), "[ f (a=1)]"), Verdict::Yes);
        assert_eq!(decide(First::ListThen(&["("]), "[{\"f\":1}]"), Verdict::No);
        for text in ["[f(a=1)", " [[f", "f (a", "fa=1)", "f[(a", "(f(", "\"f\"(", "f f(a", "[ .f", "[, f"] {
            assert_eq!(decide(First::Calls, text), Verdict::Yes, "{text}");
        }
        for text in ["", "[", "[ {", "[]", "{", "is what", "f", "f f f(", "<invoke"] {
            assert_eq!(decide(First::Calls, text), Verdict::No, "{text}");
        }
    }

    #[test]
    fn a_header_without_end_is_given_up() {
        assert_eq!(First::NameThen(&["("]).holds(&[b'a'; 10_000], false), Verdict::No);
        assert_eq!(First::OneOf(&["{"]).holds(&[b' '; 10_000], false), Verdict::No);
    }
}
