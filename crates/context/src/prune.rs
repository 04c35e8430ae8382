//! JSON made short that is still JSON: long texts and lists are cut at their ends, and say so.
//!
//! What will surely not be shown is passed over while the text is read, so that an enormous output costs one pass and
//! no memory to speak of.

use std::{collections::BTreeMap, fmt};

use loopwright_base::text::{head, tail};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// What is nested deeper is but counted.
const DEPTH: usize = 32;
/// The most items of a list that are ever shown.
const ITEMS: usize = 64;
/// A text that is only this much longer is not cut.
const SLACK: usize = 24;

/// JSON that is still JSON: long strings and lists are cut at their ends, and say so. `None` for what is no JSON, or
/// can't be made short that way.
pub(super) fn shorten_json(text: &str, limit: usize) -> Option<String> {
    let trimmed = text.trim();
    if !(trimmed.starts_with('{') || trimmed.starts_with('[')) {
        return None;
    }
    let (mut items, mut length) = (ITEMS, limit.max(64));
    let value = read(trimmed, length)?;
    for _ in 0..12 {
        let out = prune(&value, items, length).to_string();
        if out.len() <= limit {
            return (out.len() < text.len()).then_some(out);
        }
        if items <= 1 && length <= 16 {
            break;
        }
        items = (items / 2).max(1);
        length = (length / 2).max(16);
    }
    None
}

/// So many members of an object are shown where so many items of a list are.
const fn members(items: usize) -> usize {
    if items < 2 { 8 } else { items * 4 }
}

/// What of a value may be shown.
enum Part {
    /// A number and the like, or a note on what is nested too deep.
    Plain(Value),
    /// A text that is not cut yet.
    Text(String),
    /// A longer one: its ends, and its bytes in all.
    Ends(String, String, usize),
    /// The first items of a list, and how many there are.
    List(Vec<Self>, usize),
    /// The first members of an object, and how many there are.
    Object(BTreeMap<String, Self>, usize),
}

/// `length`: the most that is ever shown of a text.
fn read(text: &str, length: usize) -> Option<Part> {
    let mut json = serde_json::Deserializer::from_str(text);
    let part = Reading { depth: 0, length }.deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(part)
}

#[derive(Clone, Copy)]
struct Reading {
    depth: usize,
    length: usize,
}

impl<'de> DeserializeSeed<'de> for Reading {
    type Value = Part;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Part, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Part, E> {
        Ok(Part::Plain(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Part, E> {
        Ok(Part::Plain(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Part, E> {
        Ok(Part::Plain(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Part, E> {
        Ok(Part::Plain(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Part, E> {
        Ok(Part::Plain(value.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Part, E> {
        if text.len() <= self.length + SLACK {
            return Ok(Part::Text(text.to_owned()));
        }
        Ok(Part::Ends(head(text, self.length).to_owned(), tail(text, self.length).to_owned(), text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Part, A::Error> {
        let (mut items, mut count) = (Vec::new(), 0);
        let inner = Self { depth: self.depth + 1, ..self };
        if self.depth < DEPTH {
            while items.len() < ITEMS {
                let Some(item) = list.next_element_seed(inner)? else { break };
                items.push(item);
            }
            count = items.len();
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(if self.depth < DEPTH {
            Part::List(items, count)
        } else {
            Part::Plain(format!("[…{count} items]").into())
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Part, A::Error> {
        let (mut kept, mut count) = (BTreeMap::new(), 0);
        let inner = Self { depth: self.depth + 1, ..self };
        let most = if self.depth < DEPTH { members(ITEMS) } else { 0 };
        while let Some(key) = object.next_key::<String>()? {
            count += 1;
            let full = kept.len() >= most && kept.last_key_value().is_none_or(|(last, _)| key > *last);
            if full {
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            // The same member again stands for the one before.
            count -= usize::from(kept.insert(key, object.next_value_seed(inner)?).is_some());
            if kept.len() > most {
                kept.pop_last();
            }
        }
        Ok(if self.depth < DEPTH {
            Part::Object(kept, count)
        } else {
            Part::Plain(format!("[…{count} members]").into())
        })
    }
}

fn prune(part: &Part, items: usize, length: usize) -> Value {
    let ends = |start: &str, end: &str, bytes: usize| {
        let head = head(start, length * 2 / 3);
        let tail = tail(end, length / 3);
        Value::String(format!("{head}[…{} bytes…]{tail}", bytes - head.len() - tail.len()))
    };
    match part {
        Part::Plain(value) => value.clone(),
        Part::Text(text) if text.len() > length + SLACK => ends(text, text, text.len()),
        Part::Text(text) => Value::String(text.clone()),
        Part::Ends(start, end, bytes) => ends(start, end, *bytes),
        Part::List(list, count) => {
            let mut out: Vec<Value> = list.iter().take(items).map(|item| prune(item, items, length)).collect();
            if *count > items {
                out.push(Value::String(format!("[…{} more items]", count - items)));
            }
            Value::Array(out)
        }
        Part::Object(object, count) => {
            let keep = members(items);
            let shown = object.iter().take(keep).map(|(key, value)| (key.clone(), prune(value, items, length)));
            let mut out: serde_json::Map<String, Value> = shown.collect();
            if *count > keep {
                out.insert("…".into(), Value::String(format!("[…{} more members]", count - keep)));
            }
            Value::Object(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What it was before: of the whole value.
    fn plainly(value: &Value, items: usize, length: usize, depth: usize) -> Value {
        match value {
            Value::String(text) if text.len() > length + SLACK => {
                let head = head(text, length * 2 / 3);
                let tail = tail(text, length / 3);
                Value::String(format!("{head}[…{} bytes…]{tail}", text.len() - head.len() - tail.len()))
            }
            Value::Array(list) if depth >= DEPTH => Value::String(format!("[…{} items]", list.len())),
            Value::Object(map) if depth >= DEPTH => Value::String(format!("[…{} members]", map.len())),
            Value::Array(list) => {
                let mut out: Vec<Value> =
                    list.iter().take(items).map(|item| plainly(item, items, length, depth + 1)).collect();
                if list.len() > items {
                    out.push(Value::String(format!("[…{} more items]", list.len() - items)));
                }
                Value::Array(out)
            }
            Value::Object(map) => {
                let keep = (items * 4).max(8);
                let mut out: serde_json::Map<String, Value> = map
                    .iter()
                    .take(keep)
                    .map(|(key, value)| (key.clone(), plainly(value, items, length, depth + 1)))
                    .collect();
                if map.len() > keep {
                    out.insert("…".into(), Value::String(format!("[…{} more members]", map.len() - keep)));
                }
                Value::Object(out)
            }
            other => other.clone(),
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "(\\PC|é|世|\"|\n){0,120}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 600, 90, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..90).prop_map(Value::from),
                prop::collection::btree_map("[a-zé]{0,4}", inner, 0..20).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_passed_over_would_not_have_been_shown(value in value(), length in 16_usize..90, fewer in 0_u32..7) {
            let text = serde_json::to_string_pretty(&value).unwrap();
            let part = read(&text, length).unwrap();
            let (items, less) = (ITEMS >> fewer, (length >> fewer).max(16));
            prop_assert_eq!(prune(&part, items, less), plainly(&value, items, less, 0));
        }
    }

    #[test]
    fn many_members_and_deep_ones_are_counted() {
        let wide: serde_json::Map<String, Value> = (0..900).rev().map(|n| (format!("k{n:04}"), n.into())).collect();
        let deep =
            (0..60).fold(
                Value::Null,
                |inner, n| if n % 2 == 0 { vec![inner].into() } else { serde_json::json!({"a": inner}) },
            );
        for value in [Value::Object(wide), deep] {
            for (items, length) in [(64, 200), (8, 50), (1, 16)] {
                let part = read(&value.to_string(), 200).unwrap();
                assert_eq!(prune(&part, items, length), plainly(&value, items, length, 0));
            }
        }
        let twice = read(r#"{"a": 1, "b": 2, "a": 3}"#, 200).unwrap();
        assert_eq!(prune(&twice, 64, 200).to_string(), r#"{"a":3,"b":2}"#);
        for wrong in ["{", "[1,]", "[1] 2", r#"{"a"}"#, "[1e999]"] {
            assert!(read(wrong, 200).is_none(), "{wrong}");
        }
    }
}
