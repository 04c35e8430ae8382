//! Writing JSON objects and lists straight into text: one pass, no trees.

use loopwright_base::json::Fields;

/// Appends `text` as a JSON string.
pub(super) fn quote(out: &mut String, text: &str) {
    // A string always has a JSON form.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// An object being written.
pub(super) struct Object {
    out: String,
}

impl Object {
    pub(super) fn new() -> Self {
        Self { out: String::from("{") }
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        quote(&mut self.out, key);
        self.out.push(':');
    }

    /// A member whose value is JSON text.
    pub(super) fn raw(&mut self, key: &str, json: &str) {
        self.key(key);
        self.out.push_str(json);
    }

    /// A member that is a string.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        quote(&mut self.out, text);
    }

    /// A member that is a list of JSON texts.
    pub(super) fn list(&mut self, key: &str, items: &[String]) {
        self.key(key);
        self.out.push('[');
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                self.out.push(',');
            }
            self.out.push_str(item);
        }
        self.out.push(']');
    }

    /// A member whose JSON text is written in place.
    pub(super) fn with(&mut self, key: &str, write: impl FnOnce(&mut String)) {
        self.key(key);
        write(&mut self.out);
    }

    /// The members of `fields`, without our marks and those in `but`.
    pub(super) fn rest(&mut self, fields: Option<&Fields>, but: &[&str]) {
        for (key, value) in fields.into_iter().flat_map(Fields::iter) {
            if !super::is_mark(key) && !but.contains(&key) {
                self.raw(key, value.text());
            }
        }
    }

    /// The object's text.
    pub(super) fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }
}
