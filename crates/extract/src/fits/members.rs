//! What a schema says of the members of objects and arrays: which there must be, which there may be, and what each must
//! be.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Check, same::plain};

impl<'a> Check<'a> {
    pub(super) fn object(&mut self, value: &Value, schema: &'a Map<String, Value>, depth: usize) {
        let Value::Object(fields) = value else { return };
        if let Some(Value::Array(required)) = schema.get("required") {
            self.required(fields, required, None);
        }
        for key in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(Value::Object(dependent)) = schema.get(key) else { continue };
            for (name, what) in dependent.iter().filter(|(name, _)| fields.contains_key(*name)) {
                match what {
                    Value::Array(required) if key != "dependentSchemas" => self.required(fields, required, Some(name)),
                    Value::Object(_) | Value::Bool(_) if key != "dependentRequired" => {
                        self.value(value, what, depth + 1);
                    }
                    _ => {}
                }
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (name, value) in fields {
            if let Some(names) = schema.get("propertyNames") {
                // A name is text, whose own place is that of the object.
                let before = self.bad;
                self.quiet += 1;
                self.value(&Value::String(name.clone()), names, depth + 1);
                self.quiet -= 1;
                if self.bad > before {
                    self.bad = before;
                    self.say(|| format!("must not hold {name:?}: no such name is allowed"));
                }
            }
            let mut known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                known = true;
                self.part(|path| path.extend([".", name]), value, schema, depth + 1);
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                let matches = self.matches(pattern, name);
                // What can't be judged forbids nothing.
                known |= matches != Some(false);
                if matches == Some(true) {
                    self.part(|path| path.extend([".", name]), value, schema, depth + 1);
                }
            }
            match others {
                Some(Value::Bool(false)) if !known => self.say(|| format!("must not hold {name:?}")),
                Some(schema @ Value::Object(_)) if !known => {
                    self.part(|path| path.extend([".", name]), value, schema, depth + 1);
                }
                _ => {}
            }
        }
        self.bounds(fields.len() as u64, schema, ["minProperties", "maxProperties"], "keys");
    }

    fn required(&mut self, fields: &Map<String, Value>, required: &[Value], with: Option<&str>) {
        for name in required.iter().filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
            self.say(|| match with {
                Some(with) => format!("lacks {name:?}, which goes with {with:?}"),
                None => format!("lacks {name:?}"),
            });
        }
    }

    pub(super) fn array(&mut self, items: &[Value], schema: &'a Map<String, Value>, depth: usize) {
        // Up to 2019-09 a list under `items` said what `prefixItems` says now.
        let (first, others) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(first)), others) => (first.as_slice(), others),
            (_, Some(Value::Array(first))) => (first.as_slice(), schema.get("additionalItems")),
            (_, others) => (&[][..], others),
        };
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or(others) {
                let name = |path: &mut String| path.extend(["[", &at.to_string(), "]"]);
                self.part(name, item, schema, depth + 1);
            }
        }
        self.bounds(items.len() as u64, schema, ["minItems", "maxItems"], "items");
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = BTreeSet::new();
            if !items.iter().all(|item| seen.insert(plain(item))) {
                self.say(|| "must hold nothing twice".to_owned());
            }
        }
        if let Some(wanted) = schema.get("contains") {
            let mut found = 0u64;
            for item in items {
                match self.tried(item, wanted, depth + 1) {
                    Some(0) => found += 1,
                    Some(_) => {}
                    None => return,
                }
            }
            let bound = |key| schema.get(key).and_then(Value::as_u64);
            let (least, most) = (bound("minContains").unwrap_or(1), bound("maxContains").unwrap_or(u64::MAX));
            if found < least || found > most {
                self.say(|| format!("holds {found} of the items that its schema asks for"));
            }
        }
    }
}
