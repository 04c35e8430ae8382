//! The one JSON value in an answer, for planners and judges: alone, in a code fence, or within prose, and if nothing
//! there is valid, mended. With a schema the first candidate that fits is taken, and where none does it is said what is
//! wrong. What stands in reasoning comes after all that stands outside.
//!
//! The whole text is tried before fences: a string of JSON may hold a fence, a fence that is all of the answer is found
//! anyway. Time is linear: bytes that begin many values and end none are looked at again only while that stays in
//! proportion.

mod reasoned;

use std::fmt;

use loopwright_base::text::{ceil_boundary, floor_boundary};
use memchr::memchr2;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    event::Span,
    fits::{Misfit, misfits},
    json::Mend,
    repair::{Repair, repair_json},
};

/// How many fences are tried, and mended.
const MOST_FENCES: usize = 64;
const MOST_MENDED: usize = 8;
/// How often the text may be looked at in vain, next to a free sum.
const AGAIN: usize = 4;
const FREE: usize = 64 * 1024;

/// Where the JSON stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// It was the whole text.
    Whole,
    /// In a code fence.
    Fenced,
    /// Within prose.
    Embedded,
}

/// The JSON of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundJson {
    /// Valid JSON; as it was written, if nothing was repaired.
    pub json: String,
    /// The bytes of the text it came from.
    pub span: Span,
    /// Where it stood.
    pub place: Place,
    /// What was put right, with the bytes of the text it was done to.
    pub repairs: Vec<Repair>,
    /// Whether it had come to its end. If not the text was cut off.
    pub complete: bool,
}

/// There was no JSON, or none that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoJson {
    /// What is wrong with the candidate that came first.
    pub problems: Vec<Misfit>,
    /// Where that stands; `None` if the text holds no JSON at all.
    pub span: Option<Span>,
}

impl fmt::Display for NoJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.span.is_some() { "no JSON that fits" } else { "no JSON" })?;
        for (at, problem) in self.problems.iter().enumerate() {
            write!(f, "{} {} {}", if at == 0 { ":" } else { ";" }, problem.at, problem.what)?;
        }
        Ok(())
    }
}

impl std::error::Error for NoJson {}

/// Finds the JSON in an answer.
pub fn extract_json(text: &str, schema: Option<&Value>) -> Result<FoundJson, NoJson> {
    let found = search(text, schema)?;
    Ok(reasoned::outside(text, schema, &found).unwrap_or(found))
}

/// Finds JSON wherever it stands.
fn search(text: &str, schema: Option<&Value>) -> Result<FoundJson, NoJson> {
    let mut search = Search { text, schema, none: None };
    let whole = trimmed(text, 0, text.len());
    if is_json(slice(text, whole)) {
        // Nothing else in it is meant: what it holds are its own strings.
        return search.fits(whole, Place::Whole).ok_or_else(|| search.none());
    }
    let fences = fences(text);
    // What is labelled as JSON comes before what isn't; a number in some listing is no answer.
    let (labelled, others): (Vec<_>, Vec<_>) = fences.iter().partition(|fence| fence.json);
    for fence in labelled.into_iter().chain(others) {
        let inside = slice(text, fence.span);
        if (fence.json || inside.starts_with(['{', '[']))
            && is_json(inside)
            && let Some(found) = search.fits(fence.span, Place::Fenced)
        {
            return Ok(found);
        }
    }
    // A fence that says it is JSON, and nearly is, is meant; what is valid inside it is only a part.
    for fence in fences.iter().filter(|fence| fence.json).take(MOST_MENDED) {
        if slice(text, fence.span).starts_with(['{', '['])
            && let Some(found) = search.mend(fence.span, Place::Fenced)
        {
            return Ok(found);
        }
    }
    if let Some(found) = search.embedded() {
        return Ok(found);
    }
    search.mended(&fences).ok_or_else(|| search.none())
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}

/// What is left of a span without white space and a byte order mark.
fn trimmed(text: &str, start: usize, end: usize) -> Span {
    let blank = |character: char| character.is_ascii_whitespace() || character == '\u{feff}';
    let inside = text.get(start..end).unwrap_or_default();
    let front = inside.trim_start_matches(blank);
    let start = end - front.len();
    Span { start, end: start + front.trim_end_matches(blank).len() }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

struct Search<'a> {
    text: &'a str,
    schema: Option<&'a Value>,
    none: Option<NoJson>,
}

impl Search<'_> {
    fn none(&mut self) -> NoJson {
        self.none.take().unwrap_or_else(|| {
            let what = if self.text.trim().is_empty() { "must be JSON, but is empty" } else { "must be JSON" };
            NoJson { problems: vec![Misfit { at: "answer".to_owned(), what: what.to_owned() }], span: None }
        })
    }

    /// Whether this JSON is what is asked for; if not, the first such is remembered.
    fn suits(&mut self, json: &str, span: Span) -> bool {
        let Some(schema) = self.schema else { return true };
        let problems = match serde_json::from_str(json) {
            Ok(value) => misfits(&value, schema),
            Err(error) => vec![Misfit { at: "answer".to_owned(), what: format!("can't be read: {error}") }],
        };
        let fits = problems.is_empty();
        if !fits {
            self.none.get_or_insert(NoJson { problems, span: Some(span) });
        }
        fits
    }

    fn fits(&mut self, span: Span, place: Place) -> Option<FoundJson> {
        let json = slice(self.text, span);
        self.suits(json, span).then(|| FoundJson {
            json: json.to_owned(),
            span,
            place,
            repairs: Vec::new(),
            complete: true,
        })
    }

    /// Valid objects and arrays within the text. Without a schema the first object that isn't empty is taken, or the
    /// first array: prose has brackets of its own.
    fn embedded(&mut self) -> Option<FoundJson> {
        let mut best: Option<(u8, Span)> = None;
        let mut mended = false;
        let mut left = self.text.len().saturating_mul(AGAIN).saturating_add(FREE);
        let mut at = 0;
        while let Some(next) = memchr2(b'{', b'[', self.text.as_bytes().get(at..).unwrap_or_default()) {
            let start = at + next;
            let rest = self.text.get(start..).unwrap_or_default();
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            match values.next() {
                Some(Ok(_)) => {
                    let span = Span { start, end: start + values.byte_offset() };
                    at = span.end;
                    if self.schema.is_some() {
                        if let Some(found) = self.fits(span, Place::Embedded) {
                            return Some(found);
                        }
                        continue;
                    }
                    let rank = rank(slice(self.text, span));
                    if rank == 0 {
                        return self.fits(span, Place::Embedded);
                    }
                    if best.is_none_or(|(least, _)| rank < least) {
                        best = Some((rank, span));
                    }
                }
                Some(Err(error)) => {
                    if self.schema.is_none() && !mended && begins_an_object(rest) {
                        // An object that nearly is one: what is valid inside it is only a part.
                        mended = true;
                        let found = self.mend(Span { start, end: self.text.len() }, Place::Embedded);
                        if let Some(found) = found
                            .filter(|found| found.complete && found.json.starts_with('{') && !guessed(&found.repairs))
                        {
                            let alone = self.text.get(..start).is_some_and(|before| before.trim().is_empty());
                            let place = if alone { found.place } else { Place::Embedded };
                            return Some(FoundJson { place, ..found });
                        }
                    }
                    let read = offset(rest, error.line(), error.column()).max(1);
                    at = start + if left >= read { 1 } else { read };
                    left = left.saturating_sub(read);
                    at = ceil_boundary(self.text, at);
                }
                None => break,
            }
        }
        best.and_then(|(_, span)| self.fits(span, Place::Embedded))
    }

    /// Broken JSON, put right: in fences, then in the whole text.
    fn mended(&mut self, fences: &[Fence]) -> Option<FoundJson> {
        for fence in fences.iter().take(MOST_MENDED) {
            if let Some(found) = self.mend(fence.span, Place::Fenced) {
                return Some(found);
            }
        }
        self.mend(Span { start: 0, end: self.text.len() }, Place::Embedded)
    }

    fn mend(&mut self, span: Span, place: Place) -> Option<FoundJson> {
        let inside = slice(self.text, span);
        // Without a bracket there is only text, of which a string would be made.
        memchr2(b'{', b'[', inside.as_bytes())?;
        let mut repaired = repair_json(inside);
        if !repaired.json.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let around = |repair: &Repair| matches!(repair.what, Mend::Around | Mend::Fence);
        let blank = |from: usize, to: usize| inside.get(from..to).is_some_and(|gap| gap.trim().is_empty());
        let (mut start, mut end) = (0, inside.len());
        for repair in repaired.repairs.iter().filter(|repair| around(repair)) {
            if blank(start, repair.span.start) {
                start = repair.span.end;
            }
        }
        for repair in repaired.repairs.iter().rev().filter(|repair| around(repair)) {
            if repair.span.start >= start && blank(repair.span.end, end) {
                end = repair.span.start;
            }
        }
        let found = trimmed(self.text, span.start + start, span.start + end);
        for repair in &mut repaired.repairs {
            // Whole characters, so that each can be shown.
            let end = ceil_boundary(self.text, span.start + repair.span.end);
            repair.span = Span { start: floor_boundary(self.text, span.start + repair.span.start), end };
        }
        let fenced = repaired.repairs.iter().any(|repair| repair.what == Mend::Fence);
        let place = match place {
            Place::Embedded if fenced => Place::Fenced,
            Place::Embedded if !repaired.repairs.iter().any(around) => Place::Whole,
            place => place,
        };
        self.suits(&repaired.json, found).then_some(FoundJson {
            json: repaired.json,
            span: found,
            place,
            repairs: repaired.repairs,
            complete: repaired.complete,
        })
    }
}

/// How little like an answer this object or array is: prose has brackets of its own.
fn rank(json: &str) -> u8 {
    let inside = json.trim().strip_prefix(['{', '[']).unwrap_or_default();
    let empty = inside.trim_end_matches(['}', ']']).trim().is_empty();
    u8::from(empty) * 2 + u8::from(json.trim_start().starts_with('['))
}

/// Whether prose may have become a value: words without quotes were taken for one.
fn guessed(repairs: &[Repair]) -> bool {
    repairs.iter().any(|repair| repair.what == Mend::UnquotedText)
}

/// Whether this is a brace and then a key in quotes.
fn begins_an_object(text: &str) -> bool {
    let inside = text.strip_prefix('{').unwrap_or_default().trim_start();
    inside.starts_with(['"', '\''])
}

/// Where a line and a column are, both counted from 1, in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map_or(text.len(), |at| at + 1),
    };
    (start + column).min(text.len())
}

/// What stands in a code fence.
#[derive(Debug)]
struct Fence {
    span: Span,
    /// Whether it says that it is JSON, or nothing.
    json: bool,
}

/// The fenced blocks of a text, by lines: a fence inside a string of JSON on one line is none. One that isn't closed
/// goes to the end.
fn fences(text: &str) -> Vec<Fence> {
    let mut all = Vec::new();
    let mut open: Option<(u8, usize, usize, bool)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if all.len() >= MOST_FENCES {
            break;
        }
        let content = line.trim();
        let Some(mark) = content.bytes().next().filter(|byte| matches!(byte, b'`' | b'~')) else { continue };
        let count = content.bytes().take_while(|byte| *byte == mark).count();
        if count < 3 {
            continue;
        }
        let info = content.get(count..).unwrap_or_default();
        match open {
            Some((opened, least, from, json)) => {
                if opened == mark && count >= least && info.trim().is_empty() {
                    all.push(Fence { span: trimmed(text, from, start), json });
                    open = None;
                }
            }
            None => {
                // Opened and closed on one line.
                if let Some(inside) = info.strip_suffix(content.get(..count).unwrap_or_default()) {
                    let word = inside.bytes().take_while(u8::is_ascii_alphanumeric).count();
                    let json = is_label(inside.get(..word).unwrap_or_default());
                    let from = start + (line.len() - line.trim_start().len()) + count + if json { word } else { 0 };
                    let to = from + inside.len() - if json { word } else { 0 };
                    all.push(Fence { span: trimmed(text, from, to), json });
                } else {
                    open = Some((mark, count, at, is_label(info.split_whitespace().next().unwrap_or_default())));
                }
            }
        }
    }
    if let Some((_, _, from, json)) = open {
        all.push(Fence { span: trimmed(text, from, text.len()), json });
    }
    all
}

fn is_label(word: &str) -> bool {
    ["", "json", "jsonc", "json5", "jsonl"].iter().any(|label| word.eq_ignore_ascii_case(label))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn b13_a_part_of_what_is_nearly_json_is_not_taken_for_all_of_it() {
        for text in [
            "The plan:\n```json\n{\"steps\": [1, 2],}\n```",
            "The plan: {\"steps\": [1, 2],} and so on.",
            "The plan: {'steps': [1, 2]}",
            "{\"steps\": [1, 2],}",
        ] {
            let found = extract_json(text, None).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&found.json).unwrap(), json!({"steps": [1, 2]}), "{text}");
            assert!(!found.repairs.is_empty());
        }
        let schema = json!({"type": "array"});
        let found = extract_json("{\"steps\": [1, 2],}", Some(&schema)).unwrap();
        assert_eq!(found.json, "[1, 2]");
    }

    #[track_caller]
    fn finds(text: &str, json: &str, place: Place) {
        let found = extract_json(text, None).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!((found.json.as_str(), found.place), (json, place), "{text}");
        if found.repairs.is_empty() {
            assert_eq!(&text[found.span.start..found.span.end], json, "{text}");
            assert!(found.complete);
        }
    }

    #[test]
    fn b13_whole_then_fenced_then_embedded() {
        finds("{\"a\": 1}", "{\"a\": 1}", Place::Whole);
        finds("\u{feff} [1]\n", "[1]", Place::Whole);
        finds("Sure:\n```json\n{\"a\": 1}\n```\nDone {\"b\": 2}.", "{\"a\": 1}", Place::Fenced);
        finds("```\n{\"a\": 1}\n```", "{\"a\": 1}", Place::Fenced);
        finds("```json {\"a\": 1} ```", "{\"a\": 1}", Place::Fenced);
        finds("~~~JSON\n[1]\n~~~", "[1]", Place::Fenced);
        finds("```json\n{\"a\": 1}", "{\"a\": 1}", Place::Fenced);
        finds("```python\nx = 1\n```\n```json\n{\"a\": \"```\"}\n```", "{\"a\": \"```\"}", Place::Fenced);
        finds("```python\n[1]\n```\n```json\n{\"a\": 1}\n```", "{\"a\": 1}", Place::Fenced);
        finds("As in [1] and {}: {\"a\": [\"}\"]} or {\"b\": 2}", "{\"a\": [\"}\"]}", Place::Embedded);
        finds("use [see below] then {not this} then [1, 2]", "[1, 2]", Place::Embedded);
        finds("{\"note\": oops {\"a\": 1}", "{\"a\": 1}", Place::Embedded);
    }

    #[test]
    fn a20_a_fence_in_a_string_of_the_whole_answer_is_data() {
        let text = "{\"answer\": \"```json\\n{\\\"a\\\": 1}\\n```\"}";
        finds(text, text, Place::Whole);
        let text = "\"```json\\n{}\\n```\"";
        finds(text, text, Place::Whole);
    }

    #[test]
    fn the_first_that_fits_is_taken() {
        let schema = json!({"type": "object", "required": ["score"], "properties": {"score": {"type": "integer"}}});
        let find = |text: &str| extract_json(text, Some(&schema));
        let text = "Example {\"score\": \"high\"}.\n```json\n{\"plan\": 1}\n```\nSo {\"score\": 7}, not {\"score\": 8}";
        let found = find(text).unwrap();
        assert_eq!((found.json.as_str(), found.place), ("{\"score\": 7}", Place::Embedded));
        let error = find("{\"score\": \"high\", \"x\": {\"score\": 1}}").unwrap_err();
        assert_eq!(error.to_string(), "no JSON that fits: answer.score must be an integer, not a string");
        assert_eq!(error.span, Some(Span { start: 0, end: 36 }));
        let error = find("```json\n{}\n``` and {\"a\": 1}").unwrap_err();
        assert_eq!(error.problems[0].what, "lacks \"score\"");
        assert_eq!(error.span, Some(Span { start: 8, end: 10 }));
        assert_eq!(find("I can't.").unwrap_err().to_string(), "no JSON: answer must be JSON");
        assert!(find("").unwrap_err().span.is_none());
        let found = find("{\"a\": 1} and so {'score': 3,}").map(|found| found.json);
        assert!(found.is_err() || found == Ok("{\"score\": 3}".to_owned()));
    }

    #[test]
    fn what_is_broken_is_mended_and_says_so() {
        for (text, json, place) in [
            ("{'a': 1,}", "{\"a\": 1}", Place::Whole),
            ("```json\n{'a': 1,}\n```\n", "{\"a\": 1}", Place::Fenced),
            ("Well:\n```json\n{\"a\": 1, // one\n \"b\": [2,]}\n``` ok", "{\"a\": 1, \n \"b\": [2]}", Place::Fenced),
            ("The plan is {a: 1} I think", "{\"a\": 1}", Place::Embedded),
            ("{\"a\": [1, {\"b\": \"x", "{\"a\": [1, {\"b\": \"x\"}]}", Place::Whole),
        ] {
            let found = extract_json(text, None).unwrap();
            assert_eq!((found.json.as_str(), found.place), (json, place), "{text}");
            assert!(!found.repairs.is_empty());
            assert_eq!(found.complete, !text.ends_with('x'));
            assert!(text[found.span.start..].starts_with('{'), "{text}: {:?}", found.span);
            assert!(place == Place::Whole || text[..found.span.end].ends_with('}'), "{text}: {:?}", found.span);
        }
        for text in ["hello", "'quoted'", "2 + 2", ""] {
            assert!(extract_json(text, None).is_err(), "{text}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time_and_no_stack() {
        for piece in
            ["[", "{\"a\":", "[{", "{\"a\":\"", "[1,", "```\n[\n", "```json\n{\n```\n", "\"{", "[\n\n", "{\"\\"]
        {
            let text = piece.repeat(200_000 / piece.len());
            let _ = extract_json(&text, None);
            let _ = extract_json(&text, Some(&json!({"type": "object"})));
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(extract_json(&deep, Some(&json!({"type": "array"}))).is_err());
    }

    proptest! {
        #[test]
        fn a_value_is_found_wherever_it_stands(
            keys in prop::collection::btree_map("[a-z]{1,3}", any::<String>(), 1..4),
            before in "[A-Za-z ,.()!]{0,20}", after in "[A-Za-z ,.()!]{0,20}", how in 0..3u8,
        ) {
            let json = serde_json::to_string(&keys).unwrap();
            let text = match how {
                0 => json.clone(),
                1 => format!("{before}\n```json\n{json}\n```\n{after}"),
                _ => format!("{before}{json}{after}"),
            };
            let found = extract_json(&text, Some(&json!({"type": "object"}))).unwrap();
            prop_assert_eq!(&found.json, &json);
            prop_assert_eq!(&text[found.span.start..found.span.end], json);
        }

        #[test]
        fn any_text_is_survived(text in "[`~a1{}\\[\\]\",:'\\\\ \n\u{feff}é-]{0,60}") {
            if let Ok(found) = extract_json(&text, None) {
                prop_assert!(is_json(&found.json));
                prop_assert!(text.get(found.span.start..found.span.end).is_some());
                for repair in &found.repairs {
                    prop_assert!(text.get(repair.span.start..repair.span.end).is_some());
                }
            }
        }
    }
}
