//! What a detector is: a row of a table. It names itself, the keywords that wake it, and the form its find must have.

use super::Level;

/// One row of the table of detectors.
#[derive(Clone, Copy, Debug)]
pub struct Detector {
    /// A stable name, as `github-token`.
    pub id: &'static str,
    /// What a hit is, for people.
    pub why: &'static str,
    /// How much a hit weighs.
    pub level: Level,
    /// Any of these, in any case of letters, wakes the detector.
    pub keywords: &'static [&'static str],
    pub(super) find: Find,
    pub(super) check: Check,
}

/// Where a detector looks once a keyword woke it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Find {
    /// The keyword begins the find: the expression is held against the text from there. Group 1, if the expression has
    /// one, is the find.
    Here(&'static str),
    /// The keyword stands in the find or before it: the expression is sought in a window around.
    Near { back: usize, ahead: usize, form: &'static str },
    /// A label with a value behind it, read by `label`.
    Label,
    /// Text in base64, read by `encoded` and then like any text.
    Encoded,
    /// Code of its own.
    Mail,
    /// Found by its digits, not by keywords.
    Digits,
}

/// What is asked of a find beyond its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing.
    None,
    /// It must not be cut off by whoever shows it: `MIIEpQIBAAKC...`.
    Whole,
    /// It must not be a placeholder.
    Real,
    /// Not a placeholder, and letters or digits as chance gives them: at least so many tenths of bits a byte.
    Entropy(u32),
    /// The first part decodes to the header of a token.
    Jwt,
    /// Decodes to `user:password`.
    Basic,
    /// Looks like a password and not like a name.
    Password,
    /// As `Password`, in an address: neither it nor its user and host may be words that only say what stands there.
    Address,
    /// A header of a private key, with a body or at the end of a line.
    PrivateKey,
    /// Not a placeholder, and random by its shape.
    Random,
    /// As `Real`, and with a digit or a mark: where a plain word would more likely be something else.
    Chosen,
}

/// A secret that begins with one of its keywords.
pub(super) const fn token(
    id: &'static str,
    why: &'static str,
    keywords: &'static [&'static str],
    form: &'static str,
) -> Detector {
    Detector { id, why, level: Level::Secret, keywords, find: Find::Here(form), check: Check::Entropy(28) }
}

/// A secret around or behind one of its keywords.
pub(super) const fn near(
    id: &'static str,
    why: &'static str,
    keywords: &'static [&'static str],
    (back, ahead): (usize, usize),
    form: &'static str,
) -> Detector {
    Detector {
        id,
        why,
        level: Level::Secret,
        keywords,
        find: Find::Near { back, ahead, form },
        check: Check::Entropy(28),
    }
}

impl Detector {
    /// The same with another check.
    pub(super) const fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }
}
