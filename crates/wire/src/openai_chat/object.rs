//! Writing JSON objects member by member, straight into one string.
//!
//! Keys that begin with `@` are notes of ours inside [`Extra`](loopwright_base::message::Extra) and never reach the wire;
//! a server's own key of that kind gets a second `@` on its way in and loses it on its way out.

use std::borrow::Cow;

use loopwright_base::{
    json::{Fields, Raw},
    write_json::needs_escapes,
};

use super::parse::Rest;

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

/// Appends `text` as a JSON string.
pub(super) fn quote(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    if !needs_escapes(text) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut clean = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        // Only ASCII is escaped, so both cuts lie between characters.
        out.push_str(text.get(clean..at).unwrap_or_default());
        clean = at + 1;
        if escape.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(text.get(clean..).unwrap_or_default());
    out.push('"');
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

/// An object that is being written.
pub(super) struct Object {
    out: String,
    keys: Vec<&'static str>,
    empty: bool,
}

impl Object {
    pub(super) fn new() -> Self {
        Self::with_capacity(128)
    }

    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut out = String::with_capacity(bytes);
        out.push('{');
        Self { out, keys: Vec::with_capacity(8), empty: true }
    }

    fn key(&mut self, key: &str) {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        quote(&mut self.out, key);
        self.out.push(':');
    }

    /// Begins a member; its value is to be appended to the string that this gives.
    pub(super) fn open(&mut self, key: &'static str) -> &mut String {
        self.key(key);
        self.keys.push(key);
        &mut self.out
    }

    /// A member that is JSON already.
    pub(super) fn raw(&mut self, key: &'static str, json: &str) {
        self.open(key).push_str(json);
    }

    /// A member that is a string.
    pub(super) fn text(&mut self, key: &'static str, text: &str) {
        quote(self.open(key), text);
    }

    /// The kept members that belong on the wire and were not written yet, without those in `skip`.
    pub(super) fn rest(&mut self, fields: Option<&Fields>, skip: &[&str]) {
        for (key, value) in fields.into_iter().flat_map(Fields::iter) {
            if let Some(key) = wire_key(key)
                && !skip.contains(&key)
                && !self.keys.contains(&key)
            {
                self.key(key);
                self.out.push_str(value.text());
            }
        }
    }

    /// Members of the wire, to be kept.
    pub(super) fn keep(&mut self, rest: &Rest<'_>) {
        for (key, value) in rest {
            self.key(&kept_key(key));
            self.out.push_str(value.get());
        }
    }

    /// Whether nothing was written.
    pub(super) const fn is_empty(&self) -> bool {
        self.empty
    }

    pub(super) fn end(mut self) -> String {
        self.out.push('}');
        self.out
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
