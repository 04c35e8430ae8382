//! JSON for counting: members in the order in which they were written, and numbers as they stand there.
//!
//! A tree that sorts members and makes floats of long numbers would count what no provider is sent. Lists and objects
//! that are nested deeper than any provider's own are kept as text.

use std::fmt;

use loopwright_base::json::quote;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// The depth from which values are kept as text.
pub const DEPTH: usize = 16;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// A number, `true`, `false` or `null`, or what is nested too deep: as it was written.
    Plain(Box<str>),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Object(Members),
}

/// The members of an object, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members(Vec<(String, Json)>);

impl FromIterator<(String, Json)> for Members {
    fn from_iter<T: IntoIterator<Item = (String, Json)>>(members: T) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Members {
    /// The member of this name; the last, where there are several.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().rfind(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns whether there is a member of this name.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All members.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The members without one.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        Self(self.0.iter().filter(|(name, _)| name != key).cloned().collect())
    }

    /// The members with one replaced.
    #[must_use]
    pub fn with(&self, key: &str, make: impl Fn(&Json) -> Json) -> Self {
        let other =
            |(name, value): &(String, Json)| (name.clone(), if name == key { make(value) } else { value.clone() });
        Self(self.0.iter().map(other).collect())
    }
}

impl Json {
    /// Reads JSON text.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Self::read(raw, 0)
    }

    fn read(raw: &RawValue, depth: usize) -> Result<Self, serde_json::Error> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Self::Text),
            Some(b'[') if depth < DEPTH => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                let items: Result<Vec<Self>, _> = items.into_iter().map(|item| Self::read(item, depth + 1)).collect();
                items.map(Self::List)
            }
            Some(b'{') if depth < DEPTH => {
                let RawMembers(members) = serde_json::from_str(text)?;
                let read = |(key, value)| Ok((key, Self::read(value, depth + 1)?));
                let members: Result<Vec<(String, Self)>, _> = members.into_iter().map(read).collect();
                members.map(|members| Self::Object(Members(members)))
            }
            _ => Ok(Self::Plain(text.into())),
        }
    }

    /// The member of this name, if the value is an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// The member at the end of a path of names, each behind a slash.
    pub fn pointer(&self, path: &str) -> Option<&Self> {
        path.split('/').skip(1).try_fold(self, |value, key| value.get(key))
    }

    /// The text, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The items, if the value is a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The members, if the value is an object.
    pub const fn as_object(&self) -> Option<&Members> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// Returns whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.is("null")
    }

    /// Returns whether the value is `true`.
    pub fn is_true(&self) -> bool {
        self.is("true")
    }

    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Plain(text) if &**text == word)
    }

    /// The JSON text with the members of each object sorted: the same for equal values.
    pub fn sorted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        out
    }

    fn write(&self, out: &mut String, sorted: bool) {
        match self {
            Self::Plain(text) => out.push_str(text),
            Self::Text(text) => quote(out, text),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out, sorted);
                }
                out.push(']');
            }
            Self::Object(Members(members)) => {
                let mut members: Vec<&(String, Self)> = members.iter().collect();
                if sorted {
                    members.sort_by(|a, b| a.0.cmp(&b.0));
                }
                out.push('{');
                for (at, (key, value)) in members.into_iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    quote(out, key);
                    out.push(':');
                    value.write(out, sorted);
                }
                out.push('}');
            }
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out, false);
        f.write_str(&out)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(Members(members.iter().map(|(key, value)| (key.clone(), value.into())).collect()))
            }
            plain => Self::Plain(plain.to_string().into()),
        }
    }
}

/// The members of an object as they are written.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawMembersVisitor;

        impl<'de> Visitor<'de> for RawMembersVisitor {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }

        deserializer.deserialize_map(RawMembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c30_what_is_written_is_what_was_read() {
        let long = "7".repeat(400);
        for text in [
            format!(r#"{{"z":{long},"a":[1.0,-0.0,1e22,1E5,18446744073709551616],"é":"\n","m":{{}}}}"#),
            "null".into(),
            format!("{}1{}", "[".repeat(40), "]".repeat(40)),
            format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000)),
        ] {
            assert_eq!(Json::parse(&text).unwrap().to_string(), text);
        }
        let value = Json::parse(r#"{"b":{"c":true},"a":null}"#).unwrap();
        assert!(value.pointer("/b/c").is_some_and(Json::is_true) && value.get("a").is_some_and(Json::is_null));
        assert_eq!(value.sorted(), r#"{"a":null,"b":{"c":true}}"#);
        assert!(Json::parse("{").is_err() && Json::parse("[1,]").is_err());
    }
}
