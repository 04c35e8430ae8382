//! Objects of numbers in answers, read without copies: what servers say of tokens, in many shapes. What can't be read
//! counts as nothing, and takes nothing else with it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess},
};
use serde_json::value::RawValue;

/// A string, borrowed where it holds no escapes.
pub(crate) struct Str<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Str<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl<'de> de::Visitor<'de> for StrVisitor {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(text.into()))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(StrVisitor)
    }
}

/// The members of an object of numbers.
#[derive(Default)]
pub(crate) struct Counts<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Counts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountsVisitor;
        impl<'de> de::Visitor<'de> for CountsVisitor {
            type Value = Counts<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counts<'de>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Str(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Counts(members))
            }
        }
        deserializer.deserialize_map(CountsVisitor)
    }
}

impl<'a> Counts<'a> {
    /// The members of the object that a text is; none of anything else.
    pub(crate) fn read(raw: &'a str) -> Self {
        serde_json::from_str(raw).unwrap_or_default()
    }

    /// The value under `key`; of several the last one counts.
    fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The members of the object under `key`.
    pub(crate) fn inner(&self, key: &str) -> Self {
        self.get(key).map_or_else(Self::default, |raw| Self::read(raw.get()))
    }

    /// A number of tokens; some servers write it with a full stop.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        let raw = self.get(key)?.get();
        let real = || raw.parse::<f64>().ok().filter(|number| *number >= 0.0).map(|number| number as u64);
        raw.parse().ok().or_else(real)
    }
}
