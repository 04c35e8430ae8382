//! Notes among extra fields: how something was written where our own shape has no place for that.

use loopwright_base::json::Fields;

/// The key of a note. It is never sent.
pub(crate) const NOTE: &str = "loopwright:written";

/// What was noted about how something was written.
pub(crate) fn note(fields: Option<&Fields>) -> Fields {
    fields.and_then(|fields| fields.get(NOTE)).and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default()
}

/// The name on the wire of a member that is kept; `None` for our note.
pub(crate) fn wire_key(key: &str) -> Option<&str> {
    (key != NOTE).then_some(key)
}
