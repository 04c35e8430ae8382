//! What sort of value a literal is, and whether a declared type allows it.

use super::signature::Kind;

/// The sort of a value that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    String,
    Integer,
    Number,
    Boolean,
    Null,
    Array,
    Object,
}

impl Sort {
    /// Whether a value of this sort may stand where `kind` is declared.
    pub(super) fn fits(self, kind: &Kind) -> bool {
        match kind {
            Kind::Any => true,
            Kind::String => self == Self::String,
            Kind::Integer => self == Self::Integer,
            Kind::Number => matches!(self, Self::Integer | Self::Number),
            Kind::Boolean => self == Self::Boolean,
            Kind::Null => self == Self::Null,
            Kind::Array(_) => self == Self::Array,
            Kind::Object(_) => self == Self::Object,
            Kind::OneOf(kinds) => kinds.iter().any(|kind| self.fits(kind)),
        }
    }
}
