//! What opens and closes the calls of a dialect, as arguments written as JSON see it: where a key, a comma or a value is awaited,
//! such a marker says that their end is missing.

use super::{
    dialect::Dialect,
    json::{Looks, first_key},
};

/// How the calls of a list begin, as an object that stands in one shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Siblings {
    /// There are none.
    #[default]
    None,
    /// With one of these keys: of names, of arguments.
    Keys(&'static [&'static str], &'static [&'static str]),
    /// With any key, the tool's name, and an object.
    Names,
}

/// Other keys that calls have.
pub(super) const BESIDE: [&str; 6] = ["id", "call_id", "tool_call_id", "function_call", "tool_call", "type"];

/// The markers of one dialect, or none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Next {
    dialect: Option<&'static Dialect>,
    /// Whether one of them begins as an array does.
    bracket: bool,
    siblings: Siblings,
    /// Whether the call stands in an array.
    list: bool,
}

impl Next {
    pub(super) fn of(dialect: &'static Dialect) -> Self {
        // Where the markers are ordinary words, words are what they are.
        let dialect = (!dialect.bare).then_some(dialect);
        let mut next = Self { dialect, ..Self::default() };
        next.bracket = next.openers().chain(next.closers()).any(|marker| marker.starts_with('['));
        next
    }

    /// In a list of such calls, which is an array or not.
    pub(super) fn among(self, siblings: Siblings, list: bool) -> Self {
        Self { siblings, list, ..self }
    }

    /// Whether the call stands in an array.
    pub(super) fn listed(self) -> bool {
        self.list
    }

    /// Whether other objects that are calls may follow on this one.
    pub(super) fn has_siblings(self) -> bool {
        self.siblings != Siblings::None
    }

    /// Whether a call begins with the brace that stands at the front. `None`: more is needed.
    pub(super) fn sibling(self, rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
        if !self.has_siblings() || rest.first() != Some(&b'{') {
            return Some(false);
        }
        let Some((key, behind)) = first_key(rest.get(1..).unwrap_or_default(), last, looks)? else {
            return Some(false);
        };
        Some(match self.siblings {
            Siblings::None => false,
            Siblings::Names => behind.first() == Some(&b'{'),
            Siblings::Keys(names, arguments) => {
                names.iter().chain(arguments).chain(&BESIDE).any(|known| known.as_bytes() == key)
            }
        })
    }

    fn openers(self) -> impl Iterator<Item = &'static str> {
        let sections = |dialect: &'static Dialect| dialect.section.iter().flat_map(|section| section.0);
        self.dialect
            .into_iter()
            .flat_map(move |dialect| dialect.open.iter().chain(sections(dialect)))
            .copied()
            .filter(|marker| !marker.is_empty())
    }

    fn closers(self) -> impl Iterator<Item = &'static str> {
        let sections = |dialect: &'static Dialect| dialect.section.iter().flat_map(|section| section.1);
        self.dialect
            .into_iter()
            .flat_map(move |dialect| dialect.close.iter().chain(sections(dialect)))
            .copied()
            .filter(|marker| !marker.is_empty())
    }

    /// Whether a marker stands here that opens a call. One with a quote behind it is talked about. `None`: more is needed.
    pub(super) fn opens(self, rest: &[u8], last: bool) -> Option<bool> {
        let mut unsure = false;
        for marker in self.openers() {
            match rest.strip_prefix(marker.as_bytes()) {
                Some([]) if !last => unsure = true,
                Some([b'"' | b'\'' | b'`' | b'\\', ..]) => {}
                Some(_) => return Some(true),
                None => unsure |= marker.as_bytes().starts_with(rest),
            }
        }
        if unsure && !last { None } else { Some(false) }
    }

    /// The same for any marker.
    pub(super) fn stands(self, rest: &[u8], last: bool) -> Option<bool> {
        let opens = self.opens(rest, last);
        if opens == Some(true) || self.closers().any(|marker| rest.starts_with(marker.as_bytes())) {
            return Some(true);
        }
        let unsure = self.closers().any(|marker| marker.as_bytes().starts_with(rest));
        if unsure && !last { None } else { opens }
    }

    /// Whether what stands here may be a marker, and not the beginning of an array.
    pub(super) fn brackets(self, rest: &[u8]) -> bool {
        self.bracket && self.stands(rest, false) != Some(false)
    }
}
