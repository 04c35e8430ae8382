//! Where a `$ref` of a JSON schema points: a JSON pointer or an anchor within the same document, in any draft's
//! spelling, or somewhere else, of which nothing is known. Each look takes time in the length of the reference, however
//! large the document is.

use std::{cell::OnceCell, collections::HashMap};

use serde_json::{Map, Value};

/// Where a reference points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target<'a> {
    /// At this schema.
    Here(&'a Value),
    /// Outside of the document: it stands for anything.
    Elsewhere,
    /// At nothing.
    Nowhere,
}

/// A schema with all that it holds.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) root: &'a Value,
    /// Schemas by their own names: anchors without `#`, whole addresses.
    named: OnceCell<HashMap<&'a str, &'a Value>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, named: OnceCell::new() }
    }

    /// What `reference` points at that stands in `base`, the nearest schema around it with an address of its own.
    pub(super) fn resolve(&self, base: &'a Value, reference: &str) -> Target<'a> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let Some(fragment) = decoded(fragment) else { return Target::Nowhere };
        let within = |document: &'a Value| {
            if fragment.is_empty() || fragment.starts_with('/') {
                document.pointer(&fragment)
            } else {
                self.named().get(fragment.as_str()).copied()
            }
        };
        if address.is_empty() {
            // Older drafts know no addresses inside: what isn't found from there may be meant from the top.
            return within(base).or_else(|| within(self.root)).map_or(Target::Nowhere, Target::Here);
        }
        let document = self.named().get(address).copied();
        document.and_then(within).map_or(Target::Elsewhere, Target::Here)
    }

    fn named(&self) -> &HashMap<&'a str, &'a Value> {
        self.named.get_or_init(|| {
            let (mut named, mut rest) = (HashMap::new(), vec![self.root]);
            while let Some(value) = rest.pop() {
                match value {
                    Value::Object(schema) => {
                        for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                            if let Some(Value::String(name)) = schema.get(key) {
                                let name = name.strip_prefix('#').or_else(|| name.strip_suffix('#')).unwrap_or(name);
                                named.entry(name).or_insert(value);
                            }
                        }
                        rest.extend(schema.values());
                    }
                    Value::Array(items) => rest.extend(items),
                    _ => {}
                }
            }
            named
        })
    }
}

/// Whether a schema has an address of its own, from which the references in it count.
pub(super) fn has_address(schema: &Map<String, Value>) -> bool {
    let address = |key| matches!(schema.get(key), Some(Value::String(id)) if !id.starts_with('#'));
    address("$id") || address("id")
}

/// A fragment without its percent signs.
fn decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let byte = if *byte == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            rest = after;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
        } else {
            *byte
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_of_all_drafts_are_followed() {
        let schema = json!({
            "$id": "https://example.org/tool",
            "$defs": {
                "a/b": {"type": "string"}, "c d%": {"type": "null"},
                "named": {"$anchor": "n", "type": "integer"}, "old": {"id": "#o", "type": "number"},
                "apart": {"$id": "apart.json", "$defs": {"x": {"type": "boolean"}}},
            },
        });
        let document = Document::new(&schema);
        let at = |reference: &str| match document.resolve(&schema, reference) {
            Target::Here(schema) => schema.get("type").and_then(Value::as_str).unwrap_or("here"),
            Target::Elsewhere => "elsewhere",
            Target::Nowhere => "nowhere",
        };
        for (reference, expected) in [
            ("#", "here"),
            ("", "here"),
            ("#/$defs/a~1b", "string"),
            ("#/%24defs/c%20d%25", "null"),
            ("#n", "integer"),
            ("#o", "number"),
            ("apart.json#/$defs/x", "boolean"),
            ("https://example.org/tool#/$defs/named", "integer"),
            ("https://example.org/other#/x", "elsewhere"),
            ("other.json", "elsewhere"),
            ("#/$defs/none", "nowhere"),
            ("#none", "nowhere"),
            ("#/%zz", "nowhere"),
        ] {
            assert_eq!(at(reference), expected, "{reference}");
        }
        let apart = schema.pointer("/$defs/apart").unwrap();
        assert_eq!(document.resolve(apart, "#/$defs/x"), Target::Here(&json!({"type": "boolean"})));
        assert!(matches!(document.resolve(apart, "#/$defs/named"), Target::Here(_)), "from the top");
    }
}
