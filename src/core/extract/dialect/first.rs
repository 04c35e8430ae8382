//! What stands first in a region: the bytes that tell dialects with the same opening marker from each other.
//! Decides on as few bytes as it can and says when it needs more; never looks past a name and the longest string after it.

/// What tells a region of one dialect from another's with the same marker: the first bytes after it that aren't white space.
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
        let verdict = match self {
            Self::Any => Verdict::Yes,
            Self::OneOf(strings) => after_space(input, |rest| one_of(rest, strings)),
            Self::NameThen(strings) => after_space(input, |rest| name_then(rest, strings)),
            Self::ListThen(strings) => after_space(input, |rest| match rest.split_first() {
                Some((b'[', rest)) => after_space(rest, |rest| name_then(rest, strings)),
                Some(_) => Verdict::No,
                None => Verdict::More,
            }),
        };
        if last && verdict == Verdict::More { Verdict::No } else { verdict }
    }
}

/// Whether a byte may be part of a tool's name in a header.
pub(in crate::core::extract) const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b'$' | b'@')
}

fn after_space(input: &[u8], then: impl FnOnce(&[u8]) -> Verdict) -> Verdict {
    match input.iter().position(|byte| !byte.is_ascii_whitespace()) {
        Some(at) if at <= MOST_SPACE => input.get(at..).map_or(Verdict::No, then),
        None if input.len() <= MOST_SPACE => Verdict::More,
        _ => Verdict::No,
    }
}

fn one_of(input: &[u8], strings: &[&str]) -> Verdict {
    let mut verdict = Verdict::No;
    for string in strings {
        if input.starts_with(string.as_bytes()) {
            return Verdict::Yes;
        }
        if string.as_bytes().starts_with(input) {
            verdict = Verdict::More;
        }
    }
    verdict
}

fn name_then(input: &[u8], strings: &[&str]) -> Verdict {
    let end = input.iter().take(LONGEST_NAME + 1).position(|byte| !in_name(*byte));
    match end {
        Some(0) => Verdict::No,
        Some(end) => after_space(input.get(end..).unwrap_or_default(), |rest| one_of(rest, strings)),
        None if input.len() <= LONGEST_NAME => Verdict::More,
        None => Verdict::No,
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
    }

    #[test]
    fn a_header_without_end_is_given_up() {
        assert_eq!(First::NameThen(&["("]).holds(&[b'a'; 10_000], false), Verdict::No);
        assert_eq!(First::OneOf(&["{"]).holds(&[b' '; 10_000], false), Verdict::No);
    }
}
