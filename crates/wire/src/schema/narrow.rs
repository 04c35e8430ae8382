//! A schema as a provider's subset can say it.
//!
//! What comes out asks for nothing that the schema given does not allow, but for bounds that stand in descriptions. It
//! is the schema given, to the byte, if that is in the subset already. Order stays: models write in it.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::subset::{MANY_VALUES, Room, SILENT, Subset, WORDS};
use loopwright_base::{
    json::{Fields, Raw},
    text::clip,
};

/// Schemas nested deeper are nobody's; this walk calls itself.
const DEEPEST: usize = 64;
/// Characters of a value in a description.
const LONGEST_WORDS: usize = 300;

/// The schema in the subset, or what of it the subset can't say and where. Takes from `room` what the schema needs.
pub(super) fn narrowed(subset: &Subset, room: &mut Room, schema: &Raw) -> Result<Raw, String> {
    let mut left = *room;
    let mut found = Walk::new(subset, &mut left, subset.all_required).root(schema);
    if found.as_ref().is_err_and(|wrong| wrong == TOO_MANY_OPTIONAL) {
        // To require more is to allow less, which is sound.
        left = *room;
        found = Walk::new(subset, &mut left, true).root(schema);
    }
    let found = found?;
    *room = left;
    Ok(if found == *schema { schema.clone() } else { found })
}

const TOO_MANY_OPTIONAL: &str = "it has more optional properties than the provider takes";

struct Walk<'a> {
    subset: &'a Subset,
    room: &'a mut Room,
    all_required: bool,
    /// The definitions as they were given, and under which keyword.
    given: Vec<(&'static str, Fields)>,
    /// Definitions that were spoken of, in that order, and each one's place there.
    wanted: Vec<(&'static str, String)>,
    known: HashMap<(&'static str, String), usize>,
    /// Which definition speaks of which; the top is number 0.
    edges: Vec<Vec<usize>>,
    at: usize,
}

/// A part of a schema in the subset, and what is to be told of it where it can't be told itself.
struct Part {
    fields: Fields,
    note: Option<String>,
}

impl<'a> Walk<'a> {
    fn new(subset: &'a Subset, room: &'a mut Room, all_required: bool) -> Self {
        Self {
            subset,
            room,
            all_required,
            given: Vec::new(),
            wanted: Vec::new(),
            known: HashMap::new(),
            edges: vec![Vec::new()],
            at: 0,
        }
    }

    fn root(mut self, schema: &Raw) -> Result<Raw, String> {
        let mut top = Fields::parse(schema.text()).map_err(|_| "it is no object".to_owned())?;
        for keyword in ["$defs", "definitions"] {
            if let Some(given) = top.get(keyword).and_then(|raw| Fields::parse(raw.text()).ok()) {
                self.given.push((keyword, given));
            }
        }
        // A reference at the top is refused by most.
        let mut hops = 0;
        while let Some(reference) = top.get_str("$ref").filter(|reference| reference != "#") {
            let (keyword, name) = self.target(&reference)?;
            let target = self.definition(keyword, &name).and_then(|raw| Fields::parse(raw.text()).ok());
            let target = target.ok_or_else(|| format!("{reference} is no schema"))?;
            top.take("$ref");
            top.add_missing(&target);
            hops += 1;
            if hops > DEEPEST {
                return Err(format!("{reference} speaks of itself"));
            }
        }
        let is_object = kind_of(&top).as_deref() == Some("object");
        if !is_object && !self.subset.any_root {
            return Err("its top is no object".to_owned());
        }
        let mut fields = self.part(top, "the answer", 0, 0)?.fields;
        let mut done: HashMap<(&'static str, String), Raw> = HashMap::new();
        let mut next = 0;
        while let Some((keyword, name)) = self.wanted.get(next).cloned() {
            next += 1;
            self.at = next;
            self.edges.push(Vec::new());
            self.letters(&name)?;
            let raw = self.definition(keyword, &name).cloned().ok_or_else(|| format!("there is no {name:?}"))?;
            let given = Fields::parse(raw.text()).map_err(|_| format!("{name:?} takes any value"))?;
            let part = self.part(given, &name, 0, 0)?;
            done.insert((keyword, name), part.fields.to_raw());
        }
        if !self.subset.recursion && has_circle(&self.edges) {
            return Err("it speaks of itself (recursion)".to_owned());
        }
        for (keyword, given) in &self.given {
            let kept = given
                .iter()
                .filter_map(|(name, _)| Some((name.to_owned(), done.get(&(*keyword, name.to_owned()))?.clone())));
            let kept: Fields = kept.collect();
            if !kept.is_empty() {
                fields.set(keyword, kept.to_raw());
            }
        }
        Ok(in_order(&fields, schema))
    }

    fn definition(&self, keyword: &str, name: &str) -> Option<&Raw> {
        self.given.iter().find(|(known, _)| *known == keyword)?.1.get(name)
    }

    /// The definition that a reference names.
    fn target(&self, reference: &str) -> Result<(&'static str, String), String> {
        let found = self.given.iter().find_map(|(keyword, given)| {
            let name = reference.strip_prefix("#/")?.strip_prefix(*keyword)?.strip_prefix('/')?;
            let name = name.replace("~1", "/").replace("~0", "~");
            given.get(&name).map(|_| (*keyword, name))
        });
        found.ok_or_else(|| format!("{reference:?} is no reference to a definition of its own"))
    }

    fn letters(&mut self, text: &str) -> Result<(), String> {
        let length = text.chars().count();
        self.room.letters = self.room.letters.checked_sub(length).ok_or("its names and values are too long")?;
        Ok(())
    }

    fn union(&mut self) -> Result<(), String> {
        self.room.unions = self.room.unions.checked_sub(1).ok_or("it has too many places with several types")?;
        Ok(())
    }

    /// The part of a schema that `raw` is.
    fn inner(&mut self, raw: &Raw, at: &str, deep: usize, objects: usize) -> Result<Part, String> {
        let fields = Fields::parse(raw.text()).map_err(|_| format!("{at} takes any value"))?;
        self.part(fields, at, deep + 1, objects)
    }

    fn part(&mut self, mut given: Fields, at: &str, deep: usize, objects: usize) -> Result<Part, String> {
        if deep > DEEPEST {
            return Err(format!("{at} is nested too deeply"));
        }
        if let Some(all) = given.get("allOf") {
            // One of one is what some generators write around a reference.
            let mut all: Vec<Raw> = all.to().unwrap_or_default();
            let (Some(only), true) = (all.pop(), all.is_empty()) else {
                return Err(format!("{at} must be several things at once (allOf)"));
            };
            given.take("allOf");
            let only = Fields::parse(only.text()).map_err(|_| format!("{at} takes any value"))?;
            given.add_missing(&only);
        }
        if let Some(reference) = given.get_str("$ref") {
            return self.reference(&reference, &given);
        }
        let kind = match given.get("type") {
            Some(raw) if raw.is_array() => {
                let kinds: Vec<String> = raw.to().map_err(|_| format!("the type of {at} is no type"))?;
                match several(&kinds) {
                    Several::One(kind) => {
                        given.put("type", &kind);
                        Some(kind)
                    }
                    Several::OrNull(kind) => {
                        self.union()?;
                        Some(kind)
                    }
                    Several::More => return self.alternatives(&split(&given, &kinds), &given, at, deep, objects),
                }
            }
            _ => kind_of(&given),
        };
        let Some(kind) = kind else {
            for keyword in ["anyOf", "oneOf"] {
                if let Some(branches) = given.get(keyword).and_then(|raw| raw.to::<Vec<Raw>>().ok())
                    && !branches.is_empty()
                {
                    return self.alternatives(&branches, &given, at, deep, objects);
                }
            }
            if given.get("enum").is_some() || given.get("const").is_some() {
                return self.plain(&given, at, &[]);
            }
            return Err(format!("{at} takes any value"));
        };
        match kind.as_str() {
            "object" => self.object(&given, at, deep, objects),
            "array" => self.array(&given, at, deep, objects),
            "string" => self.plain(&given, at, self.subset.string),
            "integer" | "number" => self.plain(&given, at, self.subset.number),
            "boolean" | "null" => self.plain(&given, at, &[]),
            other => Err(format!("{at} is of the type {other:?}, which is none")),
        }
    }

    /// Nothing may stand beside a reference; what it is told of is told around it.
    fn reference(&mut self, reference: &str, given: &Fields) -> Result<Part, String> {
        let number = if reference == "#" {
            0
        } else {
            let target = self.target(reference)?;
            let wanted = &mut self.wanted;
            *self.known.entry(target).or_insert_with_key(|target| {
                wanted.push(target.clone());
                wanted.len()
            })
        };
        if let Some(edges) = self.edges.get_mut(self.at) {
            edges.push(number);
        }
        let mut fields = Fields::new();
        fields.put("$ref", reference);
        Ok(Part { fields, note: given.get_str("description") })
    }

    /// One of several; what stands beside them that is no description is told in words.
    fn alternatives(
        &mut self,
        branches: &[Raw],
        given: &Fields,
        at: &str,
        deep: usize,
        objects: usize,
    ) -> Result<Part, String> {
        self.union()?;
        let (mut parts, mut notes) = (Vec::new(), Vec::new());
        for branch in branches {
            let part = self.inner(branch, at, deep, objects)?;
            notes.extend(part.note);
            parts.push(part.fields.to_raw());
        }
        let mut fields = Fields::new();
        for (key, value) in given.iter() {
            match key {
                "anyOf" | "oneOf" | "type" => fields.put("anyOf", &parts),
                key if self.subset.any.contains(&key) => fields.set(key, value.clone()),
                // With several types, each has its own.
                _ if given.get("type").is_some() => {}
                key => notes.extend(words(key, value)),
            }
        }
        Ok(described(fields, notes))
    }

    /// A value without parts.
    fn plain(&mut self, given: &Fields, at: &str, keywords: &[&str]) -> Result<Part, String> {
        let (mut fields, mut notes) = (Fields::new(), Vec::new());
        for (key, value) in given.iter() {
            let fits = match key {
                "type" => true,
                "enum" | "const" => {
                    self.values(key, value, at)?;
                    true
                }
                "format" => {
                    keywords.contains(&key)
                        && value.string().is_some_and(|format| self.subset.formats.contains(&format.as_str()))
                }
                "pattern" => keywords.contains(&key) && value.string().is_some_and(|pattern| is_simple(&pattern)),
                key => keywords.contains(&key) || self.subset.any.contains(&key),
            };
            if fits {
                fields.set(key, value.clone());
            } else {
                notes.extend(words(key, value));
            }
        }
        Ok(described(fields, notes))
    }

    /// Values of an enum, or a constant: no provider takes lists or objects there.
    fn values(&mut self, key: &str, value: &Raw, at: &str) -> Result<(), String> {
        let values: Vec<Raw> = if key == "enum" { value.to().unwrap_or_default() } else { vec![value.clone()] };
        if values.is_empty() || values.iter().any(|value| value.is_object() || value.is_array()) {
            return Err(format!("{at} is one of values that are no plain ones"));
        }
        if key == "enum" {
            self.room.values = self.room.values.checked_sub(values.len()).ok_or("its enums have too many values")?;
        }
        let texts: Vec<String> = values.iter().filter_map(Raw::string).collect();
        let letters: usize = texts.iter().map(|text| text.chars().count()).sum();
        if texts.len() > MANY_VALUES && letters > self.room.enum_letters {
            return Err(format!("the values of {at} are too long"));
        }
        texts.iter().try_for_each(|text| self.letters(text))
    }

    fn array(&mut self, given: &Fields, at: &str, deep: usize, objects: usize) -> Result<Part, String> {
        let (mut fields, mut notes) = (Fields::new(), Vec::new());
        let tuple: Option<Vec<Raw>> = ["prefixItems", "items"]
            .into_iter()
            .find_map(|key| given.get(key).filter(|raw| raw.is_array())?.to::<Vec<Raw>>().ok());
        let below = format!("an item of {at}");
        let items = if let Some(mut tuple) = tuple {
            let kinds = tuple.iter().map(|item| clip(item.text(), LONGEST_WORDS)).collect::<Vec<_>>().join(", ");
            notes.push(format!("its items are, in this order: {kinds}"));
            // What follows the tuple, if anything may.
            let rest = given.get("items").or_else(|| given.get("additionalItems")).filter(|raw| raw.is_object());
            tuple.extend(rest.cloned());
            let mut seen = HashSet::new();
            tuple.retain(|item| seen.insert(item.text().to_owned()));
            match tuple.as_slice() {
                [] => return Err(format!("{at} is a list of any values")),
                [only] => self.inner(only, &below, deep, objects)?,
                several => self.alternatives(several, &one_of(), &below, deep, objects)?,
            }
        } else {
            let items = given.get("items").ok_or_else(|| format!("{at} is a list of any values"))?;
            self.inner(items, &below, deep, objects)?
        };
        notes.extend(items.note);
        let items = items.fields.to_raw();
        for (key, value) in given.iter() {
            let fits = match key {
                "type" => true,
                "items" | "prefixItems" | "additionalItems" => {
                    fields.set("items", items.clone());
                    continue;
                }
                "minItems" => {
                    let most = self.subset.min_items.unwrap_or(u64::MAX);
                    self.subset.array.contains(&key) && value.to::<u64>().is_ok_and(|count| count <= most)
                }
                key => self.subset.array.contains(&key) || self.subset.any.contains(&key),
            };
            if fits {
                fields.set(key, value.clone());
            } else {
                notes.extend(words(key, value));
            }
        }
        Ok(described(fields, notes))
    }

    fn object(&mut self, given: &Fields, at: &str, deep: usize, objects: usize) -> Result<Part, String> {
        if objects >= self.room.depth {
            return Err(format!("{at} is nested too deeply"));
        }
        let members = given.get("properties").and_then(|raw| Fields::parse(raw.text()).ok());
        let closed = given.get("additionalProperties").is_some_and(|raw| raw.text() == "false");
        let open = given.get("additionalProperties").is_some() && !closed;
        if open || given.get("patternProperties").is_some() || (members.is_none() && !closed) {
            return Err(format!("{at} is an object with any members"));
        }
        let members = members.unwrap_or_default();
        let required: Vec<String> = given.get("required").and_then(|raw| raw.to().ok()).unwrap_or_default();
        if let Some(missing) = required.iter().find(|name| members.get(name).is_none()) {
            return Err(format!("{at} must have {missing:?}, of which nothing is said"));
        }
        self.room.properties = self.room.properties.checked_sub(members.len()).ok_or("it has too many properties")?;
        let (mut properties, mut notes) = (Vec::with_capacity(members.len()), Vec::new());
        for (name, value) in members.iter() {
            self.letters(name)?;
            if !self.all_required && !required.iter().any(|required| required == name) {
                self.room.optional = self.room.optional.checked_sub(1).ok_or(TOO_MANY_OPTIONAL)?;
            }
            let below = if deep == 0 && at == "the answer" { format!("`{name}`") } else { format!("`{name}` of {at}") };
            let part = self.inner(value, &below, deep, objects + 1)?;
            notes.extend(part.note.map(|note| format!("{name}: {note}")));
            properties.push((name.to_owned(), part.fields.to_raw()));
        }
        let properties: Fields = properties.into_iter().collect();
        let mut fields = Fields::new();
        for (key, value) in given.iter() {
            match key {
                "properties" => fields.set(key, properties.to_raw()),
                "required" if !self.all_required => fields.set(key, value.clone()),
                "type" | "additionalProperties" => fields.set(key, value.clone()),
                "required" | "$defs" | "definitions" => {}
                key if self.subset.any.contains(&key) => fields.set(key, value.clone()),
                key => notes.extend(words(key, value)),
            }
        }
        if fields.get("type").is_none() {
            fields.put("type", "object");
        }
        if fields.get("properties").is_none() {
            fields.put("properties", &json!({}));
        }
        if self.all_required {
            let names: Vec<&str> = members.iter().map(|(name, _)| name).collect();
            let same = names.len() == required.len() && names.iter().all(|name| required.iter().any(|one| one == name));
            let kept = given.get("required").filter(|_| same).cloned();
            fields.set("required", kept.unwrap_or_else(|| Raw::of(&names)));
        }
        fields.put("additionalProperties", &false);
        Ok(described(fields, notes))
    }
}

/// The type of a schema, said or meant.
fn kind_of(given: &Fields) -> Option<String> {
    if let Some(kind) = given.get_str("type") {
        return Some(kind);
    }
    let has = |keys: &[&str]| keys.iter().any(|key| given.get(key).is_some());
    if has(&["properties"]) {
        Some("object".to_owned())
    } else if has(&["items", "prefixItems"]) {
        Some("array".to_owned())
    } else {
        None
    }
}

/// What a list of types comes to.
enum Several {
    One(String),
    /// One that has no parts, or nothing.
    OrNull(String),
    More,
}

fn several(kinds: &[String]) -> Several {
    match kinds {
        [only] => Several::One(only.clone()),
        [one, other] if [one, other].into_iter().any(|kind| kind == "null") => {
            let kind = if one == "null" { other } else { one };
            if matches!(kind.as_str(), "object" | "array") { Several::More } else { Several::OrNull(kind.clone()) }
        }
        _ => Several::More,
    }
}

/// A schema of several types as one of each.
fn split(given: &Fields, kinds: &[String]) -> Vec<Raw> {
    let of = |kind: &String| {
        let mut one = given.clone();
        for key in ["description", "title", "default"] {
            one.take(key);
        }
        let others: &[&str] = match kind.as_str() {
            "object" => &["items", "prefixItems"],
            "array" => &["properties", "required", "additionalProperties"],
            _ => &["items", "prefixItems", "properties", "required", "additionalProperties"],
        };
        for key in others {
            one.take(key);
        }
        one.put("type", kind);
        if kind == "null" { Raw::of(&json!({"type": "null"})) } else { one.to_raw() }
    };
    kinds.iter().map(of).collect()
}

/// A schema of alternatives that nothing is said of.
fn one_of() -> Fields {
    let mut fields = Fields::new();
    fields.put("anyOf", &Value::Null);
    fields
}

/// The part with what could not be said otherwise in its description; of a reference it is told where that stands.
fn described(mut fields: Fields, mut notes: Vec<String>) -> Part {
    if !notes.is_empty() {
        let notes = {
            let mut seen = HashSet::new();
            notes.retain(|note| seen.insert(note.clone()));
            notes.join("; ")
        };
        let text = match fields.get_str("description").filter(|text| !text.trim().is_empty()) {
            Some(text) => format!("{text} ({notes})"),
            None => notes,
        };
        fields.put("description", &text);
    }
    Part { fields, note: None }
}

/// A keyword in words; `None` for what says nothing to a model.
fn words(key: &str, value: &Raw) -> Option<String> {
    if SILENT.contains(&key) || matches!(key, "$defs" | "definitions") {
        return None;
    }
    let shown = clip(&value.string().unwrap_or_else(|| value.text().to_owned()), LONGEST_WORDS);
    match WORDS.iter().find(|(name, _)| *name == key) {
        Some((_, phrase)) => Some(phrase.replacen("{}", &shown, 1)),
        None => Some(format!("{key}: {shown}")),
    }
}

/// Whether a pattern holds nothing but characters, classes, groups, alternatives and the plain quantifiers: no looking
/// around, no references back, no borders of words, no counts. Providers compile their own kind of expressions.
fn is_simple(pattern: &str) -> bool {
    let mut letters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(next) if next.is_ascii_alphanumeric() && !"dswDSWnrt".contains(next) => return false,
                Some(_) => {}
                None => return false,
            },
            '[' => in_class = true,
            ']' => in_class = false,
            '{' if !in_class => return false,
            '(' if !in_class && letters.peek() == Some(&'?') => return false,
            _ => {}
        }
    }
    true
}

/// Whether a node can be reached from itself.
fn has_circle(edges: &[Vec<usize>]) -> bool {
    let mut waits: Vec<usize> = vec![0; edges.len()];
    for to in edges.iter().flatten() {
        if let Some(count) = waits.get_mut(*to) {
            *count += 1;
        }
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|node| waits.get(*node) == Some(&0)).collect();
    let mut seen = 0;
    while let Some(node) = free.pop() {
        seen += 1;
        for to in edges.get(node).into_iter().flatten() {
            if let Some(count) = waits.get_mut(*to) {
                *count -= 1;
                if *count == 0 {
                    free.push(*to);
                }
            }
        }
    }
    seen < edges.len()
}

/// The members in the order of the schema given, what is new behind.
fn in_order(fields: &Fields, given: &Raw) -> Raw {
    let order: Vec<String> = Fields::parse(given.text())
        .map(|given| given.iter().map(|(key, _)| key.to_owned()).collect())
        .unwrap_or_default();
    let first = order.iter().filter_map(|key| Some((key.clone(), fields.get(key)?.clone())));
    let rest = fields.iter().filter(|(key, _)| !order.iter().any(|known| known == key));
    first.chain(rest.map(|(key, value)| (key.to_owned(), value.clone()))).collect::<Fields>().to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::Wire;

    fn on(wire: Wire, schema: &Value) -> Result<Value, String> {
        let subset = Subset::of(wire, "m").unwrap();
        narrowed(subset, &mut subset.room.clone(), &Raw::of(schema)).map(|raw| raw.value())
    }

    #[test]
    fn w1_what_is_in_the_subset_stays_to_the_byte() {
        let text = r##"{ "type":"object","properties":{"b":{"type":"string","format":"date"},"a":{"$ref":"#/$defs/A"}},"required":["b","a"],"additionalProperties":false,"$defs":{"A":{"type":"array","items":{"type":["integer","null"]},"minItems":1}}}"##;
        for wire in [Wire::Anthropic, Wire::OpenaiChat, Wire::OpenaiResponses] {
            let subset = Subset::of(wire, "m").unwrap();
            let given = Raw::parse(text.replace("{ ", "{")).unwrap();
            let found = narrowed(subset, &mut subset.room.clone(), &given).unwrap();
            assert_eq!(found.text(), given.text(), "{wire:?}");
        }
    }

    #[test]
    fn w1_bounds_become_words_where_the_value_stands() {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "integer", "minimum": 0, "exclusiveMaximum": 9, "description": "A count."},
            "l": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 2, "maxItems": 4},
            "t": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
            "r": {"$ref": "#/$defs/R", "description": "Who."},
            "o": {"oneOf": [{"type": "string"}, {"type": "null"}], "default": null},
            "m": {"type": ["string", "object"], "properties": {"x": {"type": "boolean"}}, "minLength": 1},
        }, "required": ["n"], "$defs": {"R": {"type": "object", "properties": {}, "title": "R"}, "Unused": {}}});
        let found = on(Wire::Anthropic, &schema).unwrap();
        let of = |name: &str| found["properties"][name].clone();
        assert_eq!(of("n"), json!({"type": "integer", "description": "A count. (less than 9; minimum 0)"}));
        assert_eq!(of("l")["items"], json!({"type": "string", "description": "at most 3 characters"}));
        assert_eq!(of("l")["description"], "at most 4 items; at least 2 items");
        assert_eq!(of("t")["items"], json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}));
        assert_eq!(of("r"), json!({"$ref": "#/$defs/R"}));
        assert_eq!(found["description"], "r: Who.");
        assert_eq!(of("o"), json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}));
        assert_eq!(of("m")["anyOf"][0], json!({"type": "string", "description": "at least 1 characters"}));
        assert_eq!(of("m")["anyOf"][1]["additionalProperties"], false);
        assert_eq!(found["required"], json!(["n"]));
        assert_eq!(
            found["$defs"],
            json!({"R": {"type": "object", "properties": {}, "title": "R", "additionalProperties": false}})
        );
        let strict = on(Wire::OpenaiChat, &schema).unwrap();
        assert_eq!(strict["properties"]["n"]["minimum"], 0);
        assert_eq!(strict["required"].as_array().unwrap().len(), 6);
        assert_eq!(strict["properties"]["o"].get("default"), None);
    }

    #[test]
    fn w1_what_the_subset_cannot_say_is_named() {
        let object = |inner: Value| json!({"type": "object", "properties": {"x": inner}, "required": ["x"]});
        for (inner, says) in [
            (
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                "`x` is an object with any members",
            ),
            (json!({"type": "object"}), "`x` is an object with any members"),
            (json!({"type": "object", "properties": {}, "additionalProperties": true}), "any members"),
            (json!({"type": "object", "properties": {}, "patternProperties": {"a": {}}}), "any members"),
            (json!({}), "`x` takes any value"),
            (json!(true), "`x` takes any value"),
            (json!({"type": "array"}), "a list of any values"),
            (json!({"type": "array", "items": {}}), "an item of `x` takes any value"),
            (json!({"enum": [{"a": 1}]}), "no plain ones"),
            (json!({"$ref": "https://x.org/s.json"}), "no reference to a definition"),
            (json!({"$ref": "#/properties/x"}), "no reference to a definition"),
            (json!({"allOf": [{"type": "string"}, {"minLength": 1}]}), "several things at once"),
            (json!({"type": "object", "properties": {}, "required": ["y"]}), "of which nothing is said"),
            (json!({"type": "fish"}), "which is none"),
        ] {
            for wire in [Wire::Anthropic, Wire::OpenaiResponses] {
                let wrong = on(wire, &object(inner.clone())).unwrap_err();
                assert!(wrong.contains(says), "{inner}: {wrong}");
            }
        }
        let tree = json!({"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {
            "below": {"type": "array", "items": {"$ref": "#/$defs/T"}}}, "required": ["below"]}}});
        assert!(on(Wire::Anthropic, &tree).unwrap_err().contains("recursion"));
        assert_eq!(on(Wire::OpenaiChat, &tree).unwrap()["type"], "object");
        let own = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]});
        assert!(on(Wire::Anthropic, &own).is_err() && on(Wire::OpenaiChat, &own).is_ok());
    }

    #[test]
    fn w1_hostile_schemas_end() {
        let mut deep = json!({"type": "string"});
        for _ in 0..90 {
            deep = json!({"type": "array", "items": deep});
        }
        let object = |inner: &Value| json!({"type": "object", "properties": {"x": inner}, "required": ["x"]});
        assert!(on(Wire::Anthropic, &object(&deep)).unwrap_err().contains("too deeply"));
        let circle = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}});
        assert!(on(Wire::OpenaiChat, &circle).is_err());
        // Each definition speaks twice of the next: as a tree, that would be of no end.
        let definitions: serde_json::Map<String, Value> = (0..60)
            .map(|n| {
                let next =
                    if n == 59 { json!({"type": "null"}) } else { json!({"$ref": format!("#/$defs/D{}", n + 1)}) };
                let members = json!({"a": next, "b": next});
                (format!("D{n}"), json!({"type": "object", "properties": members, "required": ["a", "b"]}))
            })
            .collect();
        let ladder = json!({"$ref": "#/$defs/D0", "$defs": definitions});
        assert_eq!(on(Wire::Anthropic, &ladder).unwrap()["$defs"].as_object().unwrap().len(), 59);
        for text in ["[]", "null", "1", r#""x""#, "true", "{}"] {
            for wire in [Wire::Anthropic, Wire::OpenaiChat] {
                assert!(on(wire, &serde_json::from_str(text).unwrap()).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn w1_limits_of_a_request_hold() {
        let many = |count: usize, inner: &Value| {
            let members: serde_json::Map<String, Value> =
                (0..count).map(|n| (format!("f{n:02}"), inner.clone())).collect();
            json!({"type": "object", "properties": members})
        };
        let optional = on(Wire::Anthropic, &many(25, &json!({"type": "integer"}))).unwrap();
        assert_eq!(optional["required"].as_array().unwrap().len(), 25);
        assert_eq!(on(Wire::Anthropic, &many(24, &json!({"type": "integer"}))).unwrap().get("required"), None);
        let union = json!({"type": ["integer", "null"]});
        assert!(on(Wire::Anthropic, &many(16, &union)).is_ok());
        assert!(on(Wire::Anthropic, &many(17, &union)).unwrap_err().contains("several types"));
        assert!(on(Wire::OpenaiChat, &many(5_001, &json!({"type": "integer"}))).unwrap_err().contains("too many"));
        let values: Vec<String> = (0..300).map(|n| format!("{n:060}")).collect();
        let long = many(1, &json!({"type": "string", "enum": values}));
        assert!(on(Wire::OpenaiChat, &long).unwrap_err().contains("too long") && on(Wire::Anthropic, &long).is_ok());
    }
}
