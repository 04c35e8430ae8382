//! JSON text of our own types, byte for byte as `serde_json` writes it, with less work for each member.
//!
//! A journal's line is names of members for the most part. They stand in the source, so that none of them needs an
//! escape, and most strings that are written beside them need none either: both go to the text in one piece each.
//! Whatever is rare (floats, strings with escapes, keys that are no strings) is left to `serde_json` itself.

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

type Error = serde_json::Error;
type Result<T = ()> = std::result::Result<T, Error>;

/// The name under which `serde_json` writes a value that is JSON text already.
const RAW: &str = "$serde_json::private::RawValue";

/// Appends the JSON of `value`.
pub fn push_json<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) -> Result {
    let mut writer = Writer { bytes: std::mem::take(bytes), raw: false };
    let written = value.serialize(&mut writer);
    *bytes = writer.bytes;
    written
}

/// Whether a text can't stand between quotes as it is.
pub fn needs_escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().any(|&byte| byte < b' ' || byte == b'"' || byte == b'\\');
    };
    // Eight bytes at once. What is left over is looked at together with bytes that were looked at before.
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().chain([last]).fold(0, |any, word| any | escaped(u64::from_ne_bytes(*word))) != 0
}

/// Not zero if one of the eight bytes is below a space, a quotation mark or a backslash.
const fn escaped(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH << 7;
    let quote = word ^ (EACH * b'"' as u64);
    let backslash = word ^ (EACH * b'\\' as u64);
    let below = word.wrapping_sub(EACH * b' ' as u64) & !word;
    let quote = quote.wrapping_sub(EACH) & !quote;
    let backslash = backslash.wrapping_sub(EACH) & !backslash;
    (below | quote | backslash) & HIGH
}

struct Writer {
    bytes: Vec<u8>,
    /// The string that comes next is JSON already.
    raw: bool,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// As `serde_json` writes it.
    fn rare<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        serde_json::to_writer(&mut self.bytes, value)
    }

    fn string(&mut self, text: &str) -> Result {
        if std::mem::take(&mut self.raw) {
            self.text(text);
            return Ok(());
        }
        if needs_escapes(text) {
            return self.rare(text);
        }
        self.quoted(text);
        Ok(())
    }

    /// The name of a member, after the one before it.
    fn name(&mut self, first: bool, name: &'static str) {
        debug_assert!(!needs_escapes(name), "{name}");
        self.bytes.reserve(name.len() + 4);
        if !first {
            self.bytes.push(b',');
        }
        self.quoted(name);
        self.bytes.push(b':');
    }

    fn quoted(&mut self, text: &str) {
        self.bytes.reserve(text.len() + 2);
        // One byte is sooner pushed than copied.
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'"');
    }

    fn natural(&mut self, number: u64) -> Result {
        match u8::try_from(number) {
            Ok(digit @ 0..10) => self.bytes.push(b'0' + digit),
            _ => return self.rare(&number),
        }
        Ok(())
    }

    /// Begins an object that is the only member of one, under the name of a variant.
    fn variant(&mut self, variant: &'static str, open: &str) {
        self.bytes.push(b'{');
        self.name(true, variant);
        self.text(open);
    }

    fn list(&mut self, close: &'static str) -> List<'_> {
        List { writer: self, first: true, close, raw: false }
    }

    /// The key of a map: a string, or what `serde_json` puts between quotes.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let start = self.bytes.len();
        key.serialize(&mut *self)?;
        match self.bytes.get(start) {
            Some(b'"') => Ok(()),
            Some(b'0'..=b'9' | b'-' | b't' | b'f') => {
                self.bytes.insert(start, b'"');
                self.bytes.push(b'"');
                Ok(())
            }
            _ => Err(Error::custom("key must be a string")),
        }
    }
}

/// Elements or members, one after the other.
struct List<'a> {
    writer: &'a mut Writer,
    first: bool,
    /// What ends it.
    close: &'static str,
    /// Its only member is JSON text.
    raw: bool,
}

impl List<'_> {
    fn next(&mut self) -> bool {
        std::mem::replace(&mut self.first, false)
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        if !self.next() {
            self.writer.bytes.push(b',');
        }
        value.serialize(&mut *self.writer)
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result {
        if self.raw {
            self.writer.raw = true;
            return value.serialize(&mut *self.writer);
        }
        let first = self.next();
        self.writer.name(first, name);
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.text(self.close);
    }
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = List<'a>;
    type SerializeStruct = List<'a>;
    type SerializeStructVariant = List<'a>;

    fn serialize_bool(self, value: bool) -> Result {
        self.text(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result {
        self.rare(&value)
    }

    fn serialize_i16(self, value: i16) -> Result {
        self.rare(&value)
    }

    fn serialize_i32(self, value: i32) -> Result {
        self.rare(&value)
    }

    fn serialize_i64(self, value: i64) -> Result {
        self.rare(&value)
    }

    fn serialize_i128(self, value: i128) -> Result {
        self.rare(&value)
    }

    fn serialize_u8(self, value: u8) -> Result {
        self.natural(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result {
        self.natural(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result {
        self.natural(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result {
        self.natural(value)
    }

    fn serialize_u128(self, value: u128) -> Result {
        self.rare(&value)
    }

    fn serialize_f32(self, value: f32) -> Result {
        self.rare(&value)
    }

    fn serialize_f64(self, value: f64) -> Result {
        self.rare(&value)
    }

    fn serialize_char(self, value: char) -> Result {
        self.rare(&value)
    }

    fn serialize_str(self, value: &str) -> Result {
        self.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result {
        let mut list = self.serialize_seq(None)?;
        for byte in value {
            list.element(byte)?;
        }
        list.close();
        Ok(())
    }

    fn serialize_none(self) -> Result {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.text("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        self.variant(variant, "");
        value.serialize(&mut *self)?;
        self.bytes.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>> {
        self.bytes.push(b'[');
        Ok(self.list("]"))
    }

    fn serialize_tuple(self, len: usize) -> Result<List<'a>> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<List<'a>> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<List<'a>> {
        self.variant(variant, "[");
        Ok(self.list("]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<List<'a>> {
        self.bytes.push(b'{');
        Ok(self.list("}"))
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<List<'a>> {
        if name == RAW {
            return Ok(List { raw: true, ..self.list("") });
        }
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<List<'a>> {
        self.variant(variant, "{");
        Ok(self.list("}}"))
    }
}

impl SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.element(value)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

impl SerializeTuple for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.element(value)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

impl SerializeTupleStruct for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.element(value)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

impl SerializeTupleVariant for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.element(value)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

impl SerializeMap for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        if !self.next() {
            self.writer.bytes.push(b',');
        }
        self.writer.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.writer.bytes.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

impl SerializeStruct for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result {
        self.member(name, value)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

impl SerializeStructVariant for List<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result {
        self.member(name, value)
    }

    fn end(self) -> Result {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    fn same<T: Serialize + ?Sized>(value: &T) {
        let mut ours = b"before".to_vec();
        let written = push_json(&mut ours, value);
        match serde_json::to_string(value) {
            Ok(theirs) => {
                written.unwrap();
                assert_eq!(String::from_utf8(ours).unwrap(), format!("before{theirs}"));
            }
            Err(_) => assert!(written.is_err()),
        }
    }

    #[derive(Serialize)]
    enum Every<'a> {
        Unit,
        #[serde(rename = "an other name")]
        New(&'a str),
        Pair(u8, Option<f32>),
        #[serde(rename_all = "camelCase")]
        Members {
            a_name: i64,
            #[serde(skip_serializing_if = "Option::is_none")]
            left_out: Option<u8>,
        },
        Nothing {},
    }

    #[derive(Serialize)]
    struct Empty {}

    #[derive(Serialize)]
    struct Nil;

    #[derive(Serialize)]
    struct Wrapped(f64);

    #[derive(Serialize)]
    struct Two(char, bool);

    #[derive(Serialize)]
    struct Whole<'a> {
        raw: Box<RawValue>,
        text: &'a str,
        every: Vec<Every<'a>>,
        #[serde(flatten)]
        more: BTreeMap<String, serde_json::Value>,
    }

    #[test]
    fn all_shapes_are_written_as_serde_json_writes_them() {
        let every = || {
            vec![
                Every::Unit,
                Every::New("x"),
                Every::Pair(255, None),
                Every::Pair(0, Some(0.1)),
                Every::Members { a_name: -3, left_out: None },
                Every::Members { a_name: i64::MIN, left_out: Some(9) },
                Every::Nothing {},
            ]
        };
        same(&every());
        same(&(Empty {}, Nil, Wrapped(f64::NAN), Two('"', true), (), [0_u8; 0], b"ab"));
        same(&[f64::INFINITY, 1e300, 1.0, -0.0, 5e-324]);
        same(&(u64::MAX, i128::MIN, u128::MAX, 10_u16, 9_u16, 100_u32));
        let raw = RawValue::from_string("{\"a\": [1, \"\\u00e9\"] }".to_owned()).unwrap();
        let more = [("k".to_owned(), serde_json::json!({"z": null, "a": [1.5, "\n"]}))].into();
        same(&Whole { raw, text: "a \"word\" \u{7f}\u{1f}", every: every(), more });
        same(&Some(Some("deep")));
    }

    #[test]
    fn every_byte_is_seen_wherever_it_stands() {
        for length in 1..40 {
            for at in 0..length {
                for byte in 0..=127_u8 {
                    let mut bytes = vec![b'~'; length];
                    bytes[at] = byte;
                    let text = String::from_utf8(bytes).unwrap();
                    let wanted = byte < b' ' || byte == b'"' || byte == b'\\';
                    assert_eq!(needs_escapes(&text), wanted, "{text:?}");
                }
            }
        }
        for length in 0..20 {
            let text = "\u{e9}\u{4e2d}\u{1f600}\u{80}\u{a2}\u{dc}".repeat(length);
            assert!(!needs_escapes(&text));
            assert!(needs_escapes(&(text.clone() + "\"")) && needs_escapes(&format!("\\{text}")));
        }
    }

    #[test]
    fn keys_of_maps_are_written_as_serde_json_writes_them() {
        same(&BTreeMap::from([(1_u8, false), (20, true)]));
        same(&BTreeMap::from([(-1_i64, "a\tb")]));
        same(&BTreeMap::from([(true, 1), (false, 2)]));
        same(&BTreeMap::from([('"', 1), ('x', 2)]));
        same(&BTreeMap::from([("a\"b", 1), ("", 2)]));
        same(&BTreeMap::from([(Some("x"), 1)]));
        same(&BTreeMap::from([(None::<&str>, 1)]));
        same(&BTreeMap::from([((1, 2), 1)]));
        same(&BTreeMap::from([((), 1)]));
        same(&BTreeMap::<String, u8>::new());
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[ -~]{0,40}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_serde_json_writes_it(value in value()) {
            same(&value);
        }

        #[test]
        fn any_number_is_written_as_serde_json_writes_it(a: f32, b: u64, c: i16, d: u128, e: char) {
            same(&(a, b, c, d, e));
        }
    }
}
