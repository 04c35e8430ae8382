//! What isn't written as it must be never passes for whole: every call with one byte of its markup left out, doubled or
//! put in is either what a strict reader makes of the text, or said to be mended; where nothing may be mended, it
//! doesn't run.

use loopwright_base::json::Raw;
use loopwright_extract::{Call, Dialect, Grammar, ProblemKind, dialects, render_call};
use serde_json::{Value, json};

use crate::{
    quoted_values::raw,
    reading::{Owner, Reading, Setup, each, pieces},
};

fn arguments() -> Value {
    json!({"a": "x y", "list": ["p", 1], "o": {"k": true}, "z": "end"})
}

fn setup(dialect: &'static Dialect) -> Setup {
    let setup = Setup::names(&["f"]).only(&[dialect.name]);
    if dialect.bare { setup.bare() } else { setup }
}

/// The text without its markers and without what became prose.
fn inside(text: &str, reading: &Reading, dialect: &Dialect) -> String {
    let mut rest = String::new();
    for (owner, start, end) in &reading.owned {
        if *owner != Owner::Text {
            rest.push_str(&text[*start..*end]);
        }
    }
    let section = dialect.section.unwrap_or_default();
    let mut rest = dialect.title.iter().find_map(|end| rest.split_once(end)).map_or(&*rest, |(_, rest)| rest).trim();
    for opener in section.0.iter().chain(dialect.open).filter(|opener| !opener.is_empty()) {
        rest = rest.strip_prefix(opener).unwrap_or(rest).trim();
    }
    let message = [dialect.message_end];
    for closer in message.iter().chain(section.1).chain(dialect.close).filter(|closer| !closer.is_empty()) {
        // What the end of the text cuts short is missing, which is no fault of the call.
        let cut = (2..=closer.len()).rev().filter_map(|end| closer.get(..end));
        let left = cut.filter(|_| rest.len() > 1).find_map(|part| rest.strip_suffix(part));
        rest = left.unwrap_or(rest).trim();
    }
    rest.to_owned()
}

/// What a strict reader makes of JSON between markers.
fn strict(text: &str, dialect: &Dialect) -> Option<Value> {
    match dialect.grammar {
        Grammar::Object { name, arguments, .. } => {
            let value: Value = serde_json::from_str(text).ok()?;
            let call = if let [one] = value.as_array().map_or(&[][..], Vec::as_slice) { one.clone() } else { value };
            assert!(name.iter().any(|name| call.get(name).is_some()));
            Some(arguments.iter().find_map(|key| call.get(key)).cloned().unwrap_or_else(|| json!({})))
        }
        Grammar::Keyed => {
            let value: Value = serde_json::from_str(text).ok()?;
            let call = if let [one] = value.as_array().map_or(&[][..], Vec::as_slice) { one.clone() } else { value };
            call.get("f").cloned()
        }
        _ => {
            let at = text.find('{')?;
            let (head, json) = text.split_at(at);
            let json = if head.contains("```json\n") { json.trim().strip_suffix("```")? } else { json };
            serde_json::from_str(json).ok()
        }
    }
}

/// Whether the call is what stands there.
fn is_so(call: &Call, text: &str, reading: &Reading, dialect: &'static Dialect) -> bool {
    let made: Value = serde_json::from_str(&call.arguments).unwrap();
    // Attributes may stand in quotes of either kind or none; Python's lists may end with a comma.
    let plain = |text: &str| {
        let text: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
        let text = [",]", ",}", ",)"].iter().fold(text, |text, odd| text.replace(odd, &odd[1..]));
        // What says which of several calls it is means nothing here.
        match text.split_once("index=").map(|(head, rest)| (head, rest.split_once("<|sep|>"))) {
            Some((head, Some((_, rest)))) => format!("{head}<|sep|>{rest}"),
            _ => text,
        }
    };
    // Another name is another name.
    let is_json =
        matches!(dialect.grammar, Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. } | Grammar::Harmony);
    if dialect.grammar == Grammar::Keyed && reading.has(ProblemKind::UnknownTool) {
        // Each key is a call, and the others are none.
        return true;
    }
    if is_json {
        return strict(&inside(text, reading, dialect), dialect) == Some(made);
    }
    if !made.as_object().unwrap().keys().all(|key| key.chars().all(|c| c.is_ascii_alphabetic())) {
        return true;
    }
    let is_read = |again: &str| plain(&inside(again, &whole(again), dialect)) == plain(&inside(text, reading, dialect));
    render_call(&call.name, &Raw::of(&made), None, dialect).is_ok_and(|again| is_read(&again))
        || raw(dialect) && is_read(&written(&call.name, &made, dialect))
}

/// The call with each string as it stands, as who escapes nothing writes it.
fn written(name: &str, made: &Value, dialect: &Dialect) -> String {
    let strings = || made.as_object().unwrap().iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let mut blank = made.clone();
    for (key, _) in strings() {
        blank[key] = format!("STRING-{key}-").into();
    }
    let text = render_call(name, &Raw::of(&blank), None, dialect).unwrap();
    strings().fold(text, |text, (key, string)| text.replace(&format!("STRING-{key}-"), string))
}

fn whole(text: &str) -> Reading {
    Reading { owned: vec![(Owner::Markup, 0, text.len())], ..Reading::default() }
}

#[test]
fn d08_no_byte_is_mended_in_silence() {
    let brackets = |row: &&Dialect| matches!(row.grammar, Grammar::Python { brackets: true });
    each(dialects().iter().filter(|row| !brackets(row)), |dialect| {
        let text = render_call("f", &Raw::of(&arguments()), None, dialect).unwrap();
        let mut wrong = Vec::new();
        let mut check = |mutated: String| {
            for repair in [true, false] {
                let reading = pieces([mutated.as_bytes()], &setup(dialect).with(|policy| policy.repair = repair));
                for call in &reading.calls {
                    // Read as another form of the dialect it is no mended one of this.
                    let own = call.dialect == dialect.name;
                    if own && call.complete && (!call.repaired || !repair) && !is_so(call, &mutated, &reading, dialect)
                    {
                        wrong.push(format!(
                            "{repair}: {mutated:?} gave {} with prose {:?}",
                            call.arguments, reading.prose
                        ));
                    }
                }
            }
        };
        for (at, c) in text.char_indices().filter(|(_, c)| c.is_ascii_punctuation()) {
            check(format!("{}{}", &text[..at], &text[at + 1..]));
            check(format!("{}{c}{}", &text[..at], &text[at..]));
            for put in "{}[],:\"'<>/=()|`".chars() {
                check(format!("{}{put}{}", &text[..at], &text[at..]));
            }
        }
        assert!(
            wrong.is_empty(),
            "{}: {} of them\n{}",
            dialect.name,
            wrong.len(),
            wrong[..wrong.len().min(40)].join("\n")
        );
    });
}
