//! Members of the wire and how they are kept.
//!
//! Keys that begin with `@` are notes of ours inside [`Extra`](loopwright_base::message::Extra) and never reach the
//! wire; a server's own key of that kind gets a second `@` on its way in and loses it on its way out.

use std::borrow::Cow;

use loopwright_base::json::{Fields, Raw, quote};

use super::{super::object::Object, parse::Rest};

/// Note: the JSON that something was decoded from, written again while it still says the same.
pub(super) const ORIGINAL: &str = "@original";
/// Note at reasoning: the name of the field it came in.
pub(super) const FIELD: &str = "@field";
/// Note at text: it came in the field `refusal`.
pub(super) const REFUSAL: &str = "@refusal";

/// The key under which a member of the wire is kept.
pub(super) fn kept_key(key: &str) -> Cow<'_, str> {
    if key.starts_with('@') { format!("@{key}").into() } else { key.into() }
}

/// The key on the wire of a member that is kept; `None` for our notes.
pub(super) fn wire_key(key: &str) -> Option<&str> {
    match key.strip_prefix('@') {
        None => Some(key),
        Some(rest) => rest.starts_with('@').then_some(rest),
    }
}

/// Members of the wire as they are kept.
pub(super) fn kept(fields: &Fields) -> Fields {
    fields.iter().map(|(key, value)| (kept_key(key).into_owned(), value.clone())).collect()
}

/// Whether two texts are the same JSON.
pub(super) fn same_json(a: &str, b: &str) -> bool {
    use serde_json::Value;
    a == b || matches!((serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

/// Adds members of the wire to an object that is kept.
pub(super) fn keep(object: &mut Object, rest: &Rest<'_>) {
    for (key, value) in rest {
        object.member(&kept_key(key), value.get());
    }
}

/// The kept object under `key`, taken apart.
pub(super) fn inner(fields: Option<&Fields>, key: &str) -> Option<Fields> {
    fields.and_then(|fields| fields.get(key)).and_then(|raw: &Raw| Fields::parse(raw.text()).ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_json() {
        let text: String = (0..0x250).filter_map(char::from_u32).chain("🦀\u{2028}\"\\".chars()).collect();
        assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
    }

    #[test]
    fn keys_of_ours_never_collide() {
        for key in ["a", "@a", "@@a", ""] {
            assert_eq!(wire_key(&kept_key(key)), Some(key));
        }
        assert_eq!(wire_key(ORIGINAL), None);
    }
}
