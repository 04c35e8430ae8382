//! JSON that must not change on its way through.
//!
//! [`Raw`] is JSON text kept as it was written; [`Fields`] is an object taken apart in order, so that a decoder can
//! take what it knows and keep the rest. Both promise that what is not understood survives byte for byte.

use std::{collections::HashSet, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::value::RawValue;

/// JSON text kept exactly as it was written; cloning is a reference count.
#[derive(Clone)]
pub struct Raw(Arc<RawValue>);

impl Raw {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(|raw| Self(Arc::from(raw)))
    }

    /// The JSON text of any serialisable value.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        // Our own types serialise without failing; a map with keys that are no strings would give null.
        serde_json::value::to_raw_value(value).map_or_else(|_| Self::null(), |raw| Self(Arc::from(raw)))
    }

    /// The same where that may fail: the error says why.
    pub fn written<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(|raw| Self(Arc::from(raw)))
    }

    /// JSON that was read already, in a place of its own.
    pub fn copied(raw: &RawValue) -> Self {
        Self(Arc::from(raw.to_owned()))
    }

    /// The text `null`.
    pub fn null() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }

    /// The text `{}`.
    pub fn empty_object() -> Self {
        Self::of(&serde_json::Map::new())
    }

    /// The JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Parses the text into `T`.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }

    /// The value as a tree; numbers beyond 64 bits become floats here, never in [`Raw::text`].
    pub fn value(&self) -> serde_json::Value {
        self.to().unwrap_or(serde_json::Value::Null)
    }

    /// The string, if the value is one.
    pub fn string(&self) -> Option<String> {
        let inner = self.text().strip_prefix('"')?.strip_suffix('"')?;
        // Without escapes, what stands there is the string.
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() { Some(inner.to_owned()) } else { self.to().ok() }
    }

    /// Whether the text is `null`.
    pub fn is_null(&self) -> bool {
        self.text() == "null"
    }

    /// Whether the text is an object.
    pub fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }

    /// An array without elements stands in the text.
    pub fn is_empty_array(&self) -> bool {
        self.to::<Vec<de::IgnoredAny>>().is_ok_and(|elements| elements.is_empty())
    }

    /// Whether the text is an array.
    pub fn is_array(&self) -> bool {
        self.text().starts_with('[')
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}
impl Eq for Raw {}

impl Default for Raw {
    fn default() -> Self {
        Self::null()
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(Arc::from(raw)))
    }
}

/// The value is its type's default: for `skip_serializing_if` of a field that may be left out.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Appends `text` as a JSON string.
pub fn quote(out: &mut String, text: &str) {
    // Most texts need no escape and are copied.
    #[allow(clippy::needless_bitwise_bool, reason = "without stopping early, the compiler looks at many bytes at once")]
    let escaped = |any, byte| any | (byte < b' ') | (byte == b'"') | (byte == b'\\');
    if text.bytes().fold(false, escaped) {
        // A text is always written without failing.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    } else {
        out.reserve(text.len() + 2);
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

/// What is nested deeper is no tree of values any more: [`Raw::value`] may give `null` for it, and who judges that sees
/// nothing.
pub const DEEPEST_TREE: usize = 100;

/// The digits that a whole number may have: with more, Python reads none.
const MOST_DIGITS: usize = 4_300;
/// A number that is written longer than this may be out of a float's range without an exponent.
const LONG_NUMBER: usize = 300;

/// What of a well-formed JSON text can't be handed to a program as it stands: a number that has too many digits or is
/// out of range, or half of a character.
pub fn unfit(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => match string_end(bytes, at + 1)? {
                Ok(end) => at = end,
                Err(what) => return Some(what),
            },
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
                let number = text.get(at..at + length).unwrap_or_default();
                let whole = !number.contains(['.', 'e', 'E']);
                if whole && number.trim_start_matches('-').len() > MOST_DIGITS {
                    return Some("hold a whole number of more than 4,300 digits");
                }
                let far = number.contains(['e', 'E']) || number.len() > LONG_NUMBER;
                if !whole && far && number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    return Some("hold a number that is out of range");
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

/// Behind the end of a string whose content begins at `at`, or that it holds half of a character; nothing where it has
/// no end.
fn string_end(bytes: &[u8], mut at: usize) -> Option<Result<usize, &'static str>> {
    const HALF: &str = "hold half of a character (a lone surrogate)";
    // Of an escape `\uXXXX` at that place, the unit.
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(Ok(at + 1));
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => return Some(Err(HALF)),
            _ => at += 2,
        }
    }
}

/// Whether arrays and objects of a JSON text stand deeper than `most` in each other. Readers that call themselves, as
/// most do, end there at the latest; the text may be of any depth.
pub fn nested_deeper(text: &str, most: usize) -> bool {
    let bytes = text.as_bytes();
    // What opens too seldom can't be deep.
    if memchr::memchr2_iter(b'[', b'{', bytes).take(most + 1).count() <= most {
        return false;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            // Up to the quote that ends the string.
            b'"' => loop {
                let Some(next) = memchr::memchr2(b'"', b'\\', &bytes[at + 1..]) else { return false };
                at += 1 + next;
                if bytes[at] == b'"' {
                    break;
                }
                at += 1;
                if at >= bytes.len() {
                    return false;
                }
            },
            _ => {}
        }
        if depth > most {
            return true;
        }
        at += 1;
    }
    false
}

/// So many members are sooner compared than hashed.
const FEW: usize = 16;

/// The members of a JSON object, in order, each value as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Raw)>);

impl Fields {
    /// No members.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes a JSON object apart.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Raw)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The string under `key`, if it is one.
    pub fn get_str(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Raw::string)
    }

    /// Removes and gives the value under `key`.
    pub fn take(&mut self, key: &str) -> Option<Raw> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Removes the value under `key` if it is a string, and gives that; anything else stays.
    pub fn take_str(&mut self, key: &str) -> Option<String> {
        let text = self.get_str(key)?;
        self.take(key);
        Some(text)
    }

    /// Removes the value under `key` if it parses as `T`, and gives that; anything else stays.
    pub fn take_as<T: de::DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.get(key)?.to().ok()?;
        self.take(key);
        Some(value)
    }

    /// Removes and gives the value under `key` if it is exactly what `value` would be written as.
    pub fn take_if(&mut self, key: &str, value: &serde_json::Value) -> bool {
        let same = self.get(key).is_some_and(|raw| raw.value() == *value);
        if same {
            self.take(key);
        }
        same
    }

    /// Sets `key`, replacing a value that is there.
    pub fn set(&mut self, key: &str, value: Raw) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Sets `key` to any serialisable value.
    pub fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.set(key, Raw::of(value));
    }

    /// Adds the members of `other` whose keys are not there yet.
    pub fn add_missing(&mut self, other: &Self) {
        for (key, value) in other.iter() {
            if self.get(key).is_none() {
                self.0.push((key.to_owned(), value.clone()));
            }
        }
    }

    /// The object as JSON text.
    pub fn to_raw(&self) -> Raw {
        Raw::of(self)
    }
}

impl FromIterator<(String, Raw)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, Raw)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut members: Vec<(String, Raw)> = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                // A repeated key: the last one wins, as in every JSON reader of the field.
                let known = |at: usize, key: &str| members.iter().take(at).any(|(earlier, _)| earlier == key);
                if members.len() <= FEW && !members.iter().enumerate().any(|(at, (key, _))| known(at, key)) {
                    return Ok(Fields(members));
                }
                let mut seen = HashSet::with_capacity(members.len());
                let mut kept = members.iter().rev().map(|(key, _)| seen.insert(key.as_str())).collect::<Vec<_>>();
                if kept.iter().any(|keep| !keep) {
                    members.retain(|_| kept.pop().unwrap_or(true));
                }
                Ok(Fields(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w31_values_that_no_program_can_be_given_are_found() {
        let long = |digits: usize| "9".repeat(digits);
        for (text, what) in [
            (format!(r#"{{"n":{}}}"#, long(4_301)), "whole number"),
            (format!(r#"{{"a":[1,{{"b":-{}}}]}}"#, long(5_000)), "whole number"),
            (r#"{"n":1e999}"#.to_owned(), "out of range"),
            ("[-1.5E+400]".to_owned(), "out of range"),
            (format!("[{}.5]", long(400)), "out of range"),
            (r#""\ud800""#.to_owned(), "half"),
            (r#"{"\udc00x":1}"#.to_owned(), "half"),
            (r#"["\ud800\n\udc00"]"#.to_owned(), "half"),
            (r#"["\\\ud83d"]"#.to_owned(), "half"),
        ] {
            assert!(unfit(&text).is_some_and(|found| found.contains(what)), "{text:.80}");
        }
        for text in [
            format!(r#"{{"n":{}}}"#, long(4_300)),
            format!(r#"{{"n":"{}"}}"#, long(5_000)),
            format!(r#"{{"n":0.{}}}"#, long(5_000)),
            format!(r#"{{"n":"\"{}"}}"#, long(5_000)),
            r#"{"n":1e-999,"m":1e308}"#.to_owned(),
            r#"["\ud83d\ude00","\\ud800","a\\\\ud800"]"#.to_owned(),
            "{}".to_owned(),
            "\"open".to_owned(),
            "\"open\\".to_owned(),
            "\"open\\ud8".to_owned(),
        ] {
            assert_eq!(unfit(&text), None, "{text:.80}");
        }
    }

    #[test]
    fn raw_keeps_the_text() {
        let text = r#"{"b":1.50,"a":[123456789012345678901234567890, "\u00e9"]}"#;
        let raw = Raw::parse(text).unwrap();
        assert_eq!(raw.text(), text);
        assert_eq!(serde_json::to_string(&raw).unwrap(), text);
        assert!(Raw::parse("{").is_err());
    }

    #[test]
    fn how_deep_a_text_is_nested() {
        let nest = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!nested_deeper(&nest(100), 100));
        assert!(nested_deeper(&nest(101), 100));
        assert!(nested_deeper(&nest(1_000_000), 100));
        assert!(nested_deeper(&"{\"a\":".repeat(101), 100));
        let wide = format!("[{}]", vec![nest(99); 50].join(","));
        assert!(!nested_deeper(&wide, 100));
        let quoted = format!(r#"["{0}\"{0}\\",{1}]"#, "[".repeat(500), nest(99));
        assert!(!nested_deeper(&quoted, 100));
        assert!(nested_deeper(&quoted, 99));
        for cut in 0..quoted.len() {
            assert!(!nested_deeper(&quoted[..cut], 100));
        }
    }

    #[test]
    fn fields_keep_what_is_not_taken() {
        let mut fields = Fields::parse(r#"{"type":"text","text":"hi","new": {"x":1e2}}"#).unwrap();
        assert_eq!(fields.take_str("text").as_deref(), Some("hi"));
        assert_eq!(fields.take_str("new"), None);
        assert_eq!(fields.to_raw().text(), r#"{"type":"text","new":{"x":1e2}}"#);
    }

    #[test]
    fn many_members_and_repeated_ones() {
        let members: Vec<String> = (0..2_000).map(|n| format!("\"k{n}\":{n}")).collect();
        let fields = Fields::parse(&format!("{{{}}}", members.join(","))).unwrap();
        assert_eq!(fields.len(), 2_000);
        assert_eq!(Fields::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap().to_raw().text(), r#"{"b":2,"a":3}"#);
    }
}
