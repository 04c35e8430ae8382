//! Names of tools and ids of calls as providers take them.
//!
//! A history keeps what a model wrote, and models write names that no provider takes back: `functions.weather`, none at
//! all, eighty letters. What goes out in their place depends on the name or id alone, so that a use and its result
//! agree and the prefix of a prompt stays as it is; two that differ stay two, by a hash of what was written.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use loopwright_extract::{MARK, last_name};

/// Characters that every provider takes in a name.
const LONGEST_NAME: usize = 64;

/// The name of a tool, in `[a-zA-Z0-9_-]{1,64}`.
pub(super) fn legal_name(name: &str) -> Cow<'_, str> {
    legal(name, last_name(name), LONGEST_NAME)
}

/// The name of a function on the Gemini API, which takes dots and colons too and wants a letter or `_` first.
pub(super) fn function_name(name: &str) -> Cow<'_, str> {
    let begins = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if begins(name) && name.len() <= LONGEST_NAME && name.chars().all(legal) {
        return Cow::Borrowed(name);
    }
    match legal_name(name) {
        made if begins(&made) => made,
        made => Cow::Owned(format!("_{}", legal_id(&made, LONGEST_NAME - 1))),
    }
}

/// The id of a call, in `[a-zA-Z0-9_-]` and of at most `longest` characters.
pub(super) fn legal_id(id: &str, longest: usize) -> Cow<'_, str> {
    legal(id, id, longest)
}

/// `text` if it is legal; else what is legal of `stem`, and the mark of `text`.
fn legal<'a>(text: &'a str, stem: &str, longest: usize) -> Cow<'a, str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.len() <= longest && text.chars().all(legal) {
        return Cow::Borrowed(text);
    }
    // An id may be of any length where its wire sets none; what had to be made need not.
    let most = longest.min(LONGEST_NAME) - MARK - 1;
    let mut made: String = stem.chars().take(most).map(|c| if legal(c) { c } else { '_' }).collect();
    if made.is_empty() {
        made.push('_');
    }
    Cow::Owned(format!("{made}-{:016x}", xxh3_64(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn w2_made_up_names_become_legal_and_stay_distinct() {
        let long = "a".repeat(80);
        let longer = "a".repeat(81);
        let names = [
            "functions.weather",
            "tools/weather",
            "weather ",
            " weather",
            "",
            " ",
            "weather<|channel|>commentary",
            "wetter\u{fc}",
            "天气",
            "a.b",
            "a/b",
            "a_b",
            "weather",
            &long,
            &longer,
            "\"weather\"",
            "\0",
        ];
        let legal: Vec<String> = names.iter().map(|name| legal_name(name).into_owned()).collect();
        for (name, legal) in names.iter().zip(&legal) {
            assert!((1..=64).contains(&legal.len()), "{name:?}: {legal}");
            assert!(legal.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name:?}: {legal}");
            assert_eq!(legal_name(legal), legal.as_str(), "a legal name stays");
        }
        assert_eq!(legal.iter().collect::<HashSet<_>>().len(), names.len(), "{legal:?}");
        assert!(legal[0].starts_with("weather-") && legal[6].starts_with("weather-"), "{legal:?}");
        assert_eq!(legal_name("weather"), "weather");
    }

    #[test]
    fn w2_ids_become_legal_in_the_length_of_their_wire() {
        for longest in [40, 64, usize::MAX] {
            for id in ["call_1", "functions.f:0", "", "é", &"x".repeat(500), "a b"] {
                let legal = legal_id(id, longest);
                assert!(legal.len() <= longest && !legal.is_empty(), "{id}: {legal}");
                assert!(legal.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{id}: {legal}");
            }
        }
        assert_ne!(legal_id("a.", 40), legal_id("a_2e", 40));
    }
}
