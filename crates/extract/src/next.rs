//! What opens and closes the calls of a dialect, as arguments written as JSON see it: where a key, a comma or a value
//! is awaited, such a marker says that their end is missing.

use super::{
    dialect::{Dialect, in_name},
    json::{Looks, first_key, rest_of_key},
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

/// How far behind a call it is looked for what shows that it stands in a string.
const FURTHEST: usize = 96;
/// The most blanks between a call's closer and what follows it on its line.
const MOST_BLANK: usize = 16;

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
        match rest.get(1) {
            None if !last => return None,
            Some(b'"' | b'\'' | b' ' | b'\n' | b'\r' | b'\t') => {}
            _ => return Some(false),
        }
        let Some((key, behind)) = first_key(rest.get(1..).unwrap_or_default(), last, looks)? else {
            return Some(false);
        };
        Some(self.begins_with(key, behind))
    }

    fn openers(self) -> impl Iterator<Item = &'static str> {
        let sections = |dialect: &'static Dialect| dialect.section.iter().flat_map(|section| section.0);
        self.dialect
            .into_iter()
            .flat_map(move |dialect| dialect.open.iter().chain(sections(dialect)))
            .copied()
            .filter(|marker| !marker.is_empty())
    }

    pub(super) fn closers(self) -> impl Iterator<Item = &'static str> {
        let sections = |dialect: &'static Dialect| dialect.section.iter().flat_map(|section| section.1);
        self.dialect
            .into_iter()
            .flat_map(move |dialect| dialect.close.iter().chain(sections(dialect)))
            .copied()
            .filter(|marker| !marker.is_empty())
    }

    /// Whether a marker stands here that opens a call. One with a quote behind it is talked about. `None`: more is
    /// needed.
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

    /// Whether calls may end without a closer: prose may follow them directly.
    pub(super) fn endless(self) -> bool {
        self.dialect.is_some_and(|dialect| dialect.close.iter().any(|close| close.is_empty()))
    }

    /// Whether the key of which the opening quote stands before `inside` is the first of a call of the list.
    pub(super) fn is_key(self, inside: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
        let Some((key, behind)) = rest_of_key(inside, last, looks)? else { return Some(false) };
        Some(self.begins_with(key, behind))
    }

    fn begins_with(self, key: &[u8], behind: &[u8]) -> bool {
        match self.siblings {
            Siblings::None => false,
            Siblings::Names => behind.first() == Some(&b'{'),
            Siblings::Keys(names, arguments) => {
                names.iter().chain(arguments).chain(&BESIDE).any(|known| known.as_bytes() == key)
            }
        }
    }

    /// Whether `text` ends with the closing brackets of a call whose innermost value stands in so many of its
    /// arguments', what parts it from the next call, and that one's brace; and how many bytes were looked at to tell.
    pub(super) fn resumes(self, text: &[u8], open: usize) -> (bool, usize) {
        let mut rest = text.trim_ascii_end();
        let Some(before) = rest.strip_suffix(b"{") else { return (false, text.len() - rest.len() + 1) };
        rest = before.trim_ascii_end();
        let mut parted = before.get(rest.len()..).is_some_and(|space| space.contains(&b'\n'));
        let mut cut = false;
        while let Some(before) = rest.strip_suffix(b"[") {
            rest = before.trim_ascii_end();
            parted = false;
        }
        if let Some(before) = rest.strip_suffix(b",").or_else(|| rest.strip_suffix(b";")) {
            (rest, parted) = (before.trim_ascii_end(), true);
        } else {
            // The next one's title, with its opener before it.
            for title in self.dialect.iter().flat_map(|dialect| dialect.title) {
                let Some(before) = rest.strip_suffix(title.as_bytes()) else { continue };
                let name = before.iter().rev().take_while(|byte| in_name(**byte)).count();
                let before = before.get(..before.len() - name).unwrap_or_default();
                if name > 0 && self.openers().any(|marker| before.ends_with(marker.as_bytes())) {
                    rest = before;
                    break;
                }
            }
            while let Some(marker) =
                self.openers().chain(self.closers()).find(|marker| rest.ends_with(marker.as_bytes()))
            {
                let before = rest.get(..rest.len() - marker.len()).unwrap_or_default();
                rest = before.trim_ascii_end();
                // On a line of its own it shows by itself that the call before broke off.
                cut = before.get(rest.len()..).is_some_and(|space| space.contains(&b'\n'));
                parted = true;
            }
        }
        let mut closers = 0;
        if parted {
            // In a list that is over, its bracket stands behind the call's brace.
            while let Some((b'}' | b']', before)) = rest.split_last() {
                closers += 1;
                rest = before.trim_ascii_end();
            }
        }
        (cut || (closers > open && closers <= open + 3), text.len() - rest.len() + 1)
    }

    /// Whether `text`, which ends with a brace, has a marker in it that opens a call; and how many bytes were looked at
    /// to tell.
    pub(super) fn is_opened(self, text: &[u8]) -> (bool, usize) {
        let opens = self.openers().any(|marker| memchr::memmem::find(text, marker.as_bytes()).is_some());
        (opens, text.len())
    }

    /// Whether a quotation mark stands here, or behind the closers that do.
    pub(super) fn quoted_behind(self, rest: &[u8], last: bool) -> Option<bool> {
        let mut here = rest;
        loop {
            here = here.trim_ascii_start();
            if here.is_empty() && !last {
                return if rest.len() > FURTHEST { Some(false) } else { None };
            }
            let closer = self.closers().filter(|closer| here.starts_with(closer.as_bytes())).max_by_key(|c| c.len());
            match closer {
                Some(closer) => here = here.get(closer.len()..).unwrap_or_default(),
                None if !last && self.closers().any(|closer| closer.as_bytes().starts_with(here)) => return None,
                None => return Some(here.first() == Some(&b'"')),
            }
        }
    }

    /// Whether there are markers.
    pub(super) fn has_markers(self) -> bool {
        self.dialect.is_some()
    }

    /// Whether the call is closed here for sure: behind its closer the line ends, or the text, or the next call begins.
    /// In a string words follow it, or the string's end. `None`: more is needed.
    pub(super) fn ends(self, rest: &[u8], last: bool) -> Option<bool> {
        let (mut at, mut closed) = (0, false);
        loop {
            let here = rest.get(at..).unwrap_or_default();
            if let Some(closer) =
                self.closers().filter(|closer| here.starts_with(closer.as_bytes())).max_by_key(|c| c.len())
            {
                at += closer.len();
                closed = true;
                continue;
            }
            let unsure = !last && self.closers().any(|closer| closer.as_bytes().starts_with(here));
            if !closed {
                return if unsure { None } else { Some(false) };
            }
            let blank = here.iter().take(MOST_BLANK).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
            match here.get(blank) {
                None if last => return Some(true),
                None => return None,
                Some(b'\n') => return Some(true),
                Some(_) if blank > 0 && blank < MOST_BLANK => {
                    at += blank;
                    if self
                        .closers()
                        .any(|closer| rest.get(at..).is_some_and(|rest| rest.starts_with(closer.as_bytes())))
                    {
                        continue;
                    }
                    return self.opens(rest.get(at..).unwrap_or_default(), last);
                }
                Some(_) if unsure => return None,
                Some(_) => return self.opens(here, last),
            }
        }
    }

    /// Whether what stands here may be a marker, and not the beginning of an array.
    pub(super) fn brackets(self, rest: &[u8]) -> bool {
        self.bracket && self.stands(rest, false) != Some(false)
    }
}
