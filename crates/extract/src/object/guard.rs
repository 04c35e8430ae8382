//! Whether the `parameters` of an object without markers are a call's or the schema of an echoed definition. Their
//! first member tells nearly always, so that calls stream; each byte is looked at once.

/// What a schema of parameters is made of, and what the first byte of each member's value may be.
const SCHEMA: [(&str, &[u8]); 12] = [
    ("type", b"\"["),
    ("properties", b"{"),
    ("required", b"["),
    ("additionalProperties", b"tf{"),
    ("description", b"\""),
    ("title", b"\""),
    ("$schema", b"\""),
    ("$defs", b"{"),
    ("definitions", b"{"),
    ("anyOf", b"["),
    ("oneOf", b"["),
    ("allOf", b"["),
];

/// The longest of these words.
const LONGEST_WORD: usize = 20;
/// A title or description of this length is a call's argument, if the tool has one of that name.
const LONG_TEXT: usize = 1024;
/// The one type that parameters have, in quotes.
const TYPE: &[u8] = b"\"object\"";

/// Whether a schema has members of this name.
pub(super) fn is_word(key: &str) -> bool {
    SCHEMA.iter().any(|(word, _)| *word == key)
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first key.
    #[default]
    Before,
    Key,
    /// Before the value.
    Colon,
    /// In a string of which it matters what it says, or how long it is.
    Text,
    /// In an object; its first key tells.
    Inner,
    InnerKey,
    /// The end tells.
    Held,
    Call,
}

/// Follows the arguments of one object as far as it must.
#[derive(Debug, Default, Clone)]
pub(super) struct Guard {
    place: Place,
    seen: usize,
    key: Vec<u8>,
    text: usize,
}

impl Guard {
    /// Looks at what it hasn't seen of `held`. Whether this is surely a call. `declared`: whether the tool has such a
    /// parameter.
    pub(super) fn is_call(&mut self, held: &str, declared: impl Fn(&str) -> bool, looked: &mut usize) -> bool {
        let news = held.as_bytes().get(self.seen..).unwrap_or_default();
        for byte in news {
            if matches!(self.place, Place::Held | Place::Call) {
                break;
            }
            self.seen += 1;
            *looked += 1;
            self.read(*byte, &declared);
        }
        self.place == Place::Call
    }

    fn read(&mut self, byte: u8, declared: &impl Fn(&str) -> bool) {
        self.place = match (self.place, byte) {
            (Place::Before, b'"') => Place::Key,
            // No member at all, or nothing that could be one.
            (Place::Before, b'}') => Place::Held,
            (Place::Inner, b'"') => {
                self.key.clear();
                Place::InnerKey
            }
            (Place::Inner, b'}') => Place::Call,
            (Place::Key, b'"') => Place::Colon,
            (Place::InnerKey, b'"') => {
                if std::str::from_utf8(&self.key).is_ok_and(is_word) {
                    Place::Held
                } else {
                    Place::Call
                }
            }
            (Place::Key | Place::InnerKey, _) => {
                if self.key.len() <= LONGEST_WORD {
                    self.key.push(byte);
                }
                self.place
            }
            (Place::Colon, byte) if byte == b':' || byte.is_ascii_whitespace() => Place::Colon,
            (Place::Colon, byte) => self.value(byte),
            (Place::Text, byte) => self.text(byte, declared),
            (place, _) => place,
        };
    }

    /// The first byte of the first member's value.
    fn value(&mut self, byte: u8) -> Place {
        let key = std::str::from_utf8(&self.key).unwrap_or_default();
        match SCHEMA.iter().find(|(word, _)| *word == key) {
            Some((_, first)) if first.contains(&byte) && byte == b'"' => {
                self.text = 1;
                Place::Text
            }
            Some((_, first)) if first.contains(&byte) => Place::Held,
            // Parameters are written without a schema around them now and then: what each is stands in an object.
            _ if byte == b'{' => Place::Inner,
            _ => Place::Call,
        }
    }

    fn text(&mut self, byte: u8, declared: &impl Fn(&str) -> bool) -> Place {
        let at = self.text;
        self.text += 1;
        if self.key == b"type" {
            return match TYPE.get(at) {
                Some(other) if *other != byte => Place::Call,
                Some(b'"') | None => Place::Held,
                Some(_) => Place::Text,
            };
        }
        match byte {
            b'"' => Place::Held,
            _ if self.text > LONG_TEXT => {
                if std::str::from_utf8(&self.key).is_ok_and(declared) {
                    Place::Call
                } else {
                    Place::Held
                }
            }
            _ => Place::Text,
        }
    }
}
