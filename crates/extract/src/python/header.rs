//! What stands before a call's arguments: `[`, separators, the name, the parenthesis, and enough behind it to know that
//! this is a call and not prose or a link. Nothing is taken until that is known, so that whatever isn't a call stays
//! text.

/// The most bytes looked at before a call is known.
const LONGEST: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before the name.
    Front,
    /// In a comment before the name.
    Comment,
    Name,
    /// After the parenthesis.
    Inside,
    Key,
    /// After the key.
    Gap,
    /// After `=`.
    Equals,
}

/// What a header turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    More,
    /// A call: its name starts and ends here, the parenthesis follows.
    Call(usize, usize),
    /// The list ends before this place.
    End(usize),
    /// No call.
    No,
}

/// A header being read; it remembers how much of the held bytes it has seen.
#[derive(Debug, Clone)]
pub(super) struct Header {
    phase: Phase,
    at: usize,
    name: (usize, usize),
    /// Whether a call came before it.
    next: bool,
    /// Whether it is in a list.
    pub(super) list: bool,
    /// Whether a separator was seen.
    pub(super) separated: bool,
    /// Whether brackets too many may stand before the first name, and whether some did.
    lenient: bool,
    pub(super) odd: bool,
}

pub(super) fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

pub(super) fn in_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
}

impl Header {
    pub(super) fn first() -> Self {
        Self {
            phase: Phase::Front,
            at: 0,
            name: (0, 0),
            next: false,
            list: false,
            separated: false,
            lenient: false,
            odd: false,
        }
    }

    /// The same, with brackets too many before the name or without.
    pub(super) fn lenient(lenient: bool) -> Self {
        Self { lenient, ..Self::first() }
    }

    pub(super) fn next(list: bool) -> Self {
        Self { next: true, list, ..Self::first() }
    }

    /// How many bytes it looked at.
    pub(super) fn seen(&self) -> usize {
        self.at
    }

    /// Looks at what it hasn't seen of `input`, whose front is where it was before.
    pub(super) fn read(&mut self, input: &[u8]) -> Found {
        while let Some(&byte) = input.get(self.at) {
            if self.at >= LONGEST {
                return Found::No;
            }
            match self.phase {
                Phase::Front => match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    b'[' if !self.next && !self.list => self.list = true,
                    b'[' | b'(' | b')' | b',' if self.lenient => self.odd = true,
                    b',' | b';' if self.next && !self.separated => self.separated = true,
                    b'#' if self.next && self.list => self.phase = Phase::Comment,
                    b']' if self.next && self.list => return Found::End(self.at + 1),
                    _ if begins_name(byte) => {
                        self.name.0 = self.at;
                        self.phase = Phase::Name;
                    }
                    _ => return Found::No,
                },
                Phase::Comment if byte == b'\n' => self.phase = Phase::Front,
                Phase::Comment => {}
                Phase::Name => {
                    if byte == b'(' {
                        self.name.1 = self.at;
                        self.phase = Phase::Inside;
                    } else if !in_name(byte) && byte != b'/' && byte != b':' {
                        return Found::No;
                    }
                }
                Phase::Inside => match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    // What is no keyword is judged once it is known what the tool declares.
                    b')' | b'#' | b'{' | b'[' | b'"' | b'\'' | b'-' | b'+' | b'.' | b'0'..=b'9' => return self.call(),
                    _ if begins_name(byte) => self.phase = Phase::Key,
                    _ => return Found::No,
                },
                Phase::Key | Phase::Gap => match byte {
                    b'=' => self.phase = Phase::Equals,
                    b' ' | b'\t' | b'\n' | b'\r' => self.phase = Phase::Gap,
                    _ if self.phase == Phase::Key && in_name(byte) => {}
                    _ => return Found::No,
                },
                Phase::Equals => return if byte == b'=' { Found::No } else { self.call() },
            }
            self.at += 1;
        }
        Found::More
    }

    fn call(&self) -> Found {
        Found::Call(self.name.0, self.name.1)
    }
}
