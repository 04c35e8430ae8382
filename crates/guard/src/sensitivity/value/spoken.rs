//! What the words of a value say: that it is none, what it is made with, that it makes a sentence or a name.

use super::super::{super::names, shape};

/// Whether it says of itself that it is none.
pub(super) fn fake(value: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[b"fake", b"dummy", b"sample", b"notreal", b"notareal"];
    let lower = value.to_ascii_lowercase();
    WORDS.iter().any(|word| memchr::memmem::find(&lower, word).is_some())
}

/// `sha256-hashed`, `utf-8`: what is said of a password.
pub(in crate::sensitivity) fn spoken(value: &[u8]) -> bool {
    let words = shape::words(value, 8);
    let of = |word: &String| names::has("secret_values.algorithms", word) && word.len() > 1;
    words.iter().any(of)
        || words.last().is_some_and(|word| {
            matches!(
                word.as_str(),
                "encoded" | "hashed" | "encrypted" | "protected" | "based" | "bit" | "bits" | "compatible"
            )
        })
}

/// `correct horse battery staple`: words that make no sentence, none of which says what stands there.
pub(super) fn words_alone(value: &[u8]) -> bool {
    let parts = value.split(|byte| *byte == b' ').count();
    let words = shape::words(value, 16);
    (3..=12).contains(&parts)
        && value.is_ascii()
        && !value[0].is_ascii_uppercase()
        && !value.iter().any(|byte| matches!(byte, b'.' | b':' | b'?' | b',' | b'(' | b'{' | b'<' | b'%' | b'$'))
        && words.len() + 1 >= parts
        && words.iter().all(|word| word.len() > 2 && !names::has("secret_values.of_sentences", word))
        && words.iter().filter(|word| shape::names(word.as_bytes())).count() * 2 < words.len()
}

/// Whether its last word names what stands there: `base64_password`.
pub(super) fn ends_with_noun(value: &[u8]) -> bool {
    value.contains(&b'_')
        && shape::words(value, 8).last().is_some_and(|word| word.len() > 4 && shape::names(word.as_bytes()))
}
