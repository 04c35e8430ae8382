//! JSON objects and lists written member by member, straight into one text.

use loopwright_base::json::{Fields, Raw, quote};

/// An object that is being written.
pub(crate) struct Object {
    out: String,
    keys: Vec<&'static str>,
    empty: bool,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self::with_capacity(128)
    }

    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self::onto(&mut String::with_capacity(bytes))
    }

    /// At the end of a text, which [`Object::end`] gives back with it.
    pub(crate) fn onto(out: &mut String) -> Self {
        out.push('{');
        Self { out: std::mem::take(out), keys: Vec::with_capacity(8), empty: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        quote(&mut self.out, key);
        self.out.push(':');
    }

    /// A member of any name that is JSON already.
    pub(crate) fn member(&mut self, key: &str, json: &str) {
        self.key(key);
        self.out.push_str(json);
    }

    /// Begins a member; its value is to be appended to the text that this gives.
    pub(crate) fn open(&mut self, key: &'static str) -> &mut String {
        self.key(key);
        self.keys.push(key);
        &mut self.out
    }

    /// Goes on behind an object that was begun at the end of this one's text.
    pub(crate) fn close(&mut self, inner: Self) {
        self.out = inner.end();
    }

    /// A member that is JSON already.
    pub(crate) fn raw(&mut self, key: &'static str, json: &str) {
        self.open(key).push_str(json);
    }

    /// A member that is a string.
    pub(crate) fn text(&mut self, key: &'static str, text: &str) {
        quote(self.open(key), text);
    }

    /// A member that is a list of JSON texts.
    pub(crate) fn list(&mut self, key: &'static str, items: impl IntoIterator<Item: AsRef<str>>) {
        push_list(self.open(key), items);
    }

    /// Kept members that were not written yet, under the names that `name` gives them; it has none for notes of ours
    /// and what is left out.
    pub(crate) fn rest<'k>(&mut self, fields: Option<&'k Fields>, name: impl Fn(&'k str) -> Option<&'k str>) {
        for (key, value) in fields.into_iter().flat_map(Fields::iter) {
            if let Some(key) = name(key).filter(|key| !self.keys.contains(key)) {
                self.member(key, value.text());
            }
        }
    }

    /// Whether nothing was written.
    pub(crate) const fn is_empty(&self) -> bool {
        self.empty
    }

    pub(crate) fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

/// The key under which arguments that are no JSON object go back inside the object that a wire insists on, as
/// Anthropic's documentation asks.
const INVALID: &str = "INVALID_JSON";

/// Appends arguments that are no object, in the object that a wire insists on.
pub(crate) fn write_invalid(out: &mut String, text: &str) {
    let mut object = Object::onto(out);
    object.text(INVALID, text);
    *out = object.end();
}

/// Appends a list of JSON texts; an empty text is no item.
pub(crate) fn push_list(out: &mut String, items: impl IntoIterator<Item: AsRef<str>>) {
    out.push('[');
    let start = out.len();
    for item in items {
        if !item.as_ref().is_empty() {
            if out.len() > start {
                out.push(',');
            }
            out.push_str(item.as_ref());
        }
    }
    out.push(']');
}

/// The members of an object under `key`; none where there is none.
pub(crate) fn members_of(fields: Option<&Fields>, key: &str) -> Fields {
    fields.and_then(|fields| fields.get(key)).and_then(parsed).unwrap_or_default()
}

/// The members of an object; `None` for another value.
pub(crate) fn parsed(raw: &Raw) -> Option<Fields> {
    Fields::parse(raw.text()).ok()
}
