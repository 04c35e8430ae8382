//! What a name says of its value: a password, a secret, a key of some sort, or nothing. The words are lists of
//! `guard.toml`. A word that exempts (`page_token`) exempts the noun right behind it, and nothing else in the name.

use super::{super::names, shape};

/// What the value behind a name would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A password: people choose it.
    Password,
    /// A secret, a token, a key that opens something: a machine made it, mostly.
    Secret,
    /// A key of any sort: only what chance wrote counts.
    Key,
}

pub(super) fn password(word: &str) -> bool {
    names::has("secrets.passwords", word)
        || (word.len() > 4 && ["password", "passwd", "pwd", "passphrase"].iter().any(|end| word.ends_with(end)))
        || (word.starts_with("password") && word.len() < 12)
}

pub(super) fn secret(word: &str) -> bool {
    names::has("secrets.nouns", word)
        || (word.ends_with("secret") && word.len() < 24)
        || (word.ends_with("token") && word.len() < 20 && !names::has("secrets.no_tokens", word))
}

pub(super) fn credential(word: &str) -> bool {
    names::has("secrets.credentials", word)
}

/// `storagekey`, `functionkey`, `hapikey`: written as one word.
pub(super) fn opens(word: &str) -> bool {
    names::has("secrets.opening_words", word)
        || word.strip_suffix("key").is_some_and(|what| what == "s" || names::has("secrets.opens", what))
}

pub(super) fn key(word: &str) -> bool {
    matches!(word, "key" | "keys" | "mykey" | "keystring" | "nkey")
        || opens(word)
        // `loggedinkey`: of any such word only what chance wrote counts.
        || (word.len() > 5 && word.ends_with("key") && !names::has("secrets.no_keys", word))
}

/// Whether one of the words before a `key` makes it one that opens something.
pub(super) fn opened_by(before: &[String]) -> bool {
    before.iter().any(|word| names::has("secrets.opens", word) || secret(word))
}

/// Whether a key or a token is one that everybody may see: `NEXT_PUBLIC_SITE_KEY`, not `PUBLIC_BUCKET_SECRET_KEY`.
pub(super) fn is_public(words: &[String], noun: usize) -> bool {
    let Some(word) = words.get(noun) else { return false };
    let before = words.get(..noun).unwrap_or_default();
    let Some(public) = before.iter().rposition(|word| names::has("secrets.public", word)) else { return false };
    let opens = |word: &String| matches!(word.as_str(), "secret" | "private" | "priv");
    ["key", "keys", "token", "tokens"].iter().any(|end| word.ends_with(end)) && !before[public..].iter().any(opens)
}

/// Whether the word right before a noun says that its value may be known.
pub(super) fn is_known(words: &[String], noun: usize) -> bool {
    let (Some(word), Some(before)) = (words.get(noun), noun.checked_sub(1).and_then(|at| words.get(at))) else {
        return false;
    };
    let says = |list| names::has(list, before);
    let known = if password(word) {
        says("secrets.known_passwords")
    } else if word.contains("token") {
        says("secrets.known_tokens")
    } else {
        !secret(word) && says("secrets.known_keys")
    };
    known || says("secrets.messages") || is_public(words, noun)
}

/// What the name says; that of a function is stricter: it must take the secret, not work on it.
pub(super) fn kind_of(name: &[u8], function: bool) -> Option<Kind> {
    let mut words = shape::words(name, 16);
    // `PASSword`
    if words.iter().any(|word| word == "sword") {
        words = shape::words(&name.to_ascii_lowercase(), 16);
    }
    if function
        && (words.iter().any(|word| names::has("secrets.asks", word))
            || words.last().is_some_and(|word| word == "pass"))
    {
        return None;
    }
    // What Java's directories call a password.
    if name.ends_with(b"SECURITY_CREDENTIALS") {
        return Some(Kind::Password);
    }
    let mut kind = None;
    let mut noun = 0;
    let mut only_chance = false;
    let mut exempted: Option<usize> = None;
    for (at, word) in words.iter().enumerate() {
        let word = word.as_str();
        if names::has("secrets.pages", word) || names::has("secrets.messages", word) {
            only_chance = true;
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(String::as_str);
        // `wifi_psk`; in longer names it is a word of protocols.
        let found = if password(word) || word == "psk" && at + 1 == words.len() && at < 2 {
            // `pass` alone also is what tests do; it is a noun of names such as `DB_PASS`, `smtp.pass`.
            Some(Kind::Password)
        } else if secret(word) {
            Some(Kind::Secret)
        } else if key(word) {
            Some(if opens(word) || opened_by(&words[..at]) { Kind::Secret } else { Kind::Key })
        } else if words.len() > 1 && names::has("secrets.nouns_of_two", word) {
            Some(Kind::Key)
        } else if names::has("secrets.by_chance", word) && !is_known(&words, at) {
            // Chance made it, and with it what hangs on it can be guessed.
            kind = Some(Kind::Key);
            noun = at;
            continue;
        } else if credential(word) {
            Some(if matches!(word, "auth" | "oauth") || before == Some("with") { Kind::Key } else { Kind::Secret })
        } else {
            None
        };
        // `public_key_token`: a key or a token that is exempt is no name of another.
        let noun_of_two = |word: &str| matches!(word, "key" | "token");
        let goes_on = noun_of_two(word) && before.is_some_and(noun_of_two) && exempted == at.checked_sub(1);
        if let Some(found) = found {
            if goes_on || is_known(&words, at) {
                exempted = Some(at);
                continue;
            }
            kind = Some(match (kind, found) {
                (Some(Kind::Password), _) => Kind::Password,
                (Some(Kind::Secret), Kind::Key) => Kind::Secret,
                (_, found) => found,
            });
            noun = at;
        }
    }
    let kind = kind?;
    let mut behind = &words[noun + 1..];
    // `password_for_mail`: what it is for, not what is said of it.
    if let Some(end) = behind.iter().position(|word| names::has("secrets.purposes", word))
        && end == 0
    {
        behind = &behind[..0];
    }
    // `passWord`
    if words[noun] == "pass" && behind.first().is_some_and(|word| word == "word") {
        behind = &behind[1..];
    }
    let about = |word: &str| names::has("secrets.about", word) || names::has("secrets.about_in_texts", word);
    if behind.iter().any(|word| about(word) || (function && !names::has("secrets.takes", word))) {
        return None;
    }
    // `LABEL_STUDIO_API_KEY` may hold one, `label_password` holds a word.
    Some(if only_chance { Kind::Key } else { kind })
}
