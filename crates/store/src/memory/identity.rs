//! The identity of facts: when two texts state the same fact.
//!
//! Two texts are one where they are equal letter by letter, in Unicode's composed form (NFC) and with each run of white
//! space as one space. Nothing else is overlooked: case (`Use c.` and `Use C.`), signs (`-200 EUR`), operators (`x <=
//! 5`), order and negation all change what is said. The scope of a fact is its kind, its user, its category and its
//! speaker. Whoever has to know whether something is known, merges or counts asks here.

use std::borrow::Cow;

use rusqlite::{Connection, TransactionBehavior};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    kinds::{Kind, Note, Trust},
    names, supersede,
    write::admit,
};

/// The text by which a fact is compared: composed, with single spaces.
pub(super) fn identity(text: &str) -> Cow<'_, str> {
    let plain = text.trim();
    let single = |text: &str| {
        let mut before = 'a';
        text.chars().all(|c| {
            let fine = !c.is_whitespace() || (c == ' ' && before != ' ');
            before = c;
            fine
        })
    };
    let composed: Cow<'_, str> = match is_nfc_quick(plain.chars()) {
        IsNormalized::Yes => Cow::Borrowed(plain),
        _ => Cow::Owned(plain.nfc().collect()),
    };
    if single(&composed) {
        return composed;
    }
    Cow::Owned(composed.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns whether two texts state the same.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || identity(one) == identity(other)
}

/// The number under which a text's identity is looked up. Zero, which no text has, marks rows of an older version.
///
/// Texts that were made to share a number are possible: whoever finds a row by it compares the texts too.
pub(super) fn fingerprint(text: &str) -> i64 {
    xxh3_64(identity(text).as_bytes()).max(1).cast_signed()
}

/// The live memory of the fact that a note states, if it is known: one of its scope that is trusted at least as far. A
/// note that is trusted less adds nothing to a fact but its source, and one that is trusted further is stored by
/// itself, so that no word of the former is lent the trust of the latter.
pub(super) fn known_fact(
    connection: &Connection,
    (note, text): (&Note, &str),
    trust: Trust,
    time: f64,
) -> rusqlite::Result<Option<(i64, Trust)>> {
    if note.kind == Kind::Episodic {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT id, trust, text FROM memories WHERE fingerprint = ?1 AND kind = ?2 AND state = 0 \
         AND category IS ?3 AND user IS ?4 AND speaker IS ?5 AND trust >= ?6 AND superseded_by IS NULL \
         AND (expires_at IS NULL OR expires_at > ?7) ORDER BY trust, id",
    )?;
    let category = note.category.as_deref().map(admit);
    let speaker = speaker(note, text).map(admit);
    let mut rows = statement.query((
        fingerprint(text),
        note.kind as i64,
        category.as_deref(),
        &note.user,
        speaker.as_deref(),
        trust as i64,
        time,
    ))?;
    while let Some(row) = rows.next()? {
        if is_same(row.get_ref(2)?.as_str()?, text) {
            let trust = Trust::ALL.get(row.get::<_, usize>(1)?).copied().unwrap_or(Trust::Untrusted);
            return Ok(Some((row.get(0)?, trust)));
        }
    }
    Ok(None)
}

/// The speaker of a note: the one it names, or the name that its text begins with.
pub(super) fn speaker<'a>(note: &'a Note, text: &'a str) -> Option<&'a str> {
    note.speaker.as_deref().or_else(|| names::speaker(text))
}

/// The memories beside `id` of the same text and user: those that are trusted no further, or, with `all`, all of them.
pub(super) fn duplicates(connection: &Connection, id: i64, all: bool) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT other.id, other.text, own.text FROM memories AS own JOIN memories AS other \
         ON other.fingerprint = own.fingerprint AND other.kind = own.kind AND other.user IS own.user \
         WHERE own.id = ?1 AND own.kind <> 0 AND own.fingerprint <> 0 AND other.id <> own.id AND other.state = 0 \
         AND (?2 OR other.trust <= own.trust)",
    )?;
    let mut rows = statement.query((id, all))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if is_same(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Recomputes the fingerprints of rows of an older version, which overlooked case, signs and order, and files them
/// under what they are about. Done by the process
/// that opens the file for writing, before it writes anything else.
pub(super) fn recompute_fingerprints(connection: &mut Connection) -> rusqlite::Result<()> {
    let wanted = "SELECT id, text FROM memories WHERE fingerprint = 0 AND state = 0 LIMIT 4096";
    if !connection.prepare(wanted)?.exists([])? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    loop {
        let rows: Vec<(i64, String)> = transaction
            .prepare_cached(wanted)?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        if rows.is_empty() {
            break;
        }
        for (id, text) in rows {
            transaction
                .prepare_cached("UPDATE memories SET fingerprint = ?2 WHERE id = ?1")?
                .execute((id, fingerprint(&text)))?;
            supersede::file(&transaction, id)?;
        }
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3_only_composition_and_white_space_are_overlooked() {
        for (one, other) in [
            ("Zoe\u{308} lives in Oslo.", "Zo\u{eb} lives in Oslo."),
            ("a  b\tc\n", " a b\u{a0}c"),
            ("", "  \n"),
            ("\u{212b}", "\u{c5}"),
        ] {
            assert!(is_same(one, other), "{one:?} {other:?}");
            assert_eq!(fingerprint(one), fingerprint(other));
        }
        for (one, other) in [
            ("Use C.", "Use C++."),
            ("Use C.", "Use c."),
            ("-200 EUR", "200 EUR"),
            ("x <= 5", "x >= 5"),
            ("Sam owes Ann", "Ann owes Sam"),
            ("The valve is open.", "The valve is not open."),
            ("a -> b", "a <- b"),
            ("p < 0.05", "p > 0.05"),
            ("ﬁle", "file"),
            ("10^2", "10²"),
            ("Straße", "Strasse"),
            ("n!", "n"),
            ("a\u{200b}b", "ab"),
        ] {
            assert!(!is_same(one, other), "{one:?} {other:?}");
            assert_ne!(fingerprint(one), fingerprint(other));
        }
    }
}
