//! JSON text in which no marker stands: each marker's first character becomes a `\u` escape, so that not even a reader
//! that searches for markers can be fooled by a string.

use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _, sync::LazyLock};

use aho_corasick::AhoCorasick;

use super::super::dialect::{Dialect, First, Grammar, frames, inert_regions, reasoning_markups, rows};

/// What stands around JSON where a dialect fences it.
const FENCE: &str = "```";

/// All markers of all dialects, as they'd stand in JSON text.
static MARKERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut markers = BTreeSet::from([FENCE, "<|sep|>", "<|message|>", "<|constrain|>"]);
    for dialect in rows() {
        markers.extend(of_dialect(dialect));
    }
    markers.extend(reasoning_markups().iter().flat_map(|row| row.open.iter().chain(row.close)));
    markers.extend(inert_regions().iter().flat_map(|row| row.open.iter().chain(row.close)));
    markers.extend(frames().iter().flat_map(|row| row.open.iter().chain(row.close)));
    // A quote or a line end inside a marker has an escape before it in JSON: what comes before them is enough.
    let markers = markers.iter().filter_map(|marker| marker.split(['"', '\n']).next());
    AhoCorasick::new(markers.filter(|marker| marker.len() > 2)).ok()
});

/// The markers of one dialect, those inside its regions included.
fn of_dialect(dialect: &Dialect) -> Vec<&'static str> {
    let mut markers = Vec::new();
    if let Some((open, close)) = dialect.section {
        markers.extend(open.iter().chain(close));
    }
    markers.extend(dialect.open.iter().chain(dialect.close).chain(dialect.title));
    if let (true, First::OneOf(strings)) = (dialect.open.contains(&"") && !dialect.bare, dialect.first) {
        markers.extend(strings);
    }
    match dialect.grammar {
        Grammar::Tags(tags) => {
            markers.extend([tags.call.0, tags.call_end, tags.parameter.0, tags.parameter_end]);
        }
        Grammar::Pairs { after_name, key, value, .. } => {
            markers.extend([after_name, key.0, key.1, value.0, value.1]);
        }
        Grammar::Named { before, between, id, .. } => {
            markers.extend(between);
            markers.extend([before, id]);
        }
        Grammar::Loose { quote } => markers.push(quote),
        Grammar::Nested { prefix } => markers.push(prefix),
        _ => {}
    }
    // Plain words are no markers: they stand in every text.
    markers.retain(|marker| marker.contains(['<', '[', '>', '◁']) || marker.contains('='));
    markers
}

/// JSON text with the same value in which no marker stands; nor a fence, if it stands in one.
pub(super) fn without_markers(json: &str, fenced: bool) -> String {
    let Some(markers) = MARKERS.as_ref() else { return json.to_owned() };
    let mut places: Vec<usize> = markers
        .find_overlapping_iter(json)
        .map(|found| found.start())
        .filter(|at| fenced || !json.get(*at..).is_some_and(|rest| rest.starts_with(FENCE)))
        // The character of an escape (`\f` before `unctools`) is none of a marker's.
        .filter(|at| json.as_bytes().iter().take(*at).rev().take_while(|byte| **byte == b'\\').count() % 2 == 0)
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut text = String::with_capacity(json.len() + 5 * places.len());
    let mut written = 0;
    for at in places {
        let Some(first) = json.get(at..).and_then(|rest| rest.chars().next()) else { continue };
        text.push_str(json.get(written..at).unwrap_or_default());
        let mut units = [0; 2];
        for unit in first.encode_utf16(&mut units) {
            // Writing to a string can't fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
        written = at + first.len_utf8();
    }
    text.push_str(json.get(written..).unwrap_or_default());
    text
}

/// JSON text whose slashes have no backslash before them: of JSON's escapes the one that Python doesn't have.
pub(super) fn bare_slashes(json: &str) -> Cow<'_, str> {
    if !json.contains("\\/") {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let mut characters = json.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some('/')) => {}
            ('\\', Some(escaped)) => {
                text.extend([character, escaped]);
                characters.next();
            }
            _ => text.push(character),
        }
    }
    Cow::Owned(text)
}

/// A string as JSON without markers.
pub(super) fn string(text: &str, fenced: bool) -> String {
    without_markers(&serde_json::Value::from(text).to_string(), fenced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_marker_stands_in_rendered_json() {
        let all: Vec<&str> = rows().flat_map(of_dialect).collect();
        assert!(all.len() > 100);
        let value = serde_json::Value::from(all.concat());
        let json = without_markers(&value.to_string(), true);
        for marker in all {
            assert!(!json.contains(marker), "{marker} stands in the JSON");
        }
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }

    #[test]
    fn escapes_are_no_part_of_markers() {
        for text in [r#""\functools[""#, r#""\\<think>""#, r#""\\\\<tool_call>\"""#, r#""\n<think>``` </think>""#] {
            let json = without_markers(text, true);
            assert!(!json.contains('<') && !json.contains("```"), "{json}");
            let (was, is): (String, String) =
                (serde_json::from_str(text).unwrap(), serde_json::from_str(&json).unwrap());
            assert_eq!(was, is);
        }
        assert_eq!(without_markers(r#"{"a < b":"a[0] <= 3 ```"}"#, false), r#"{"a < b":"a[0] <= 3 ```"}"#);
    }
}
