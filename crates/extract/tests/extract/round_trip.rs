//! What is rendered is read back: every dialect, every JSON value, values that hold every marker of every dialect.

use loopwright_base::{
    json::{Fields, Raw},
    message::ToolUse,
};
use loopwright_extract::{
    Dialect, First, Grammar, Signatures, Unwritable, dialect_named, dialects, frames, inert_regions, reasoning_markups,
    render_call, render_calls,
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use crate::reading::{Reading, Setup, each, pieces, read};

/// All that any dialect gives a meaning.
fn markers() -> Vec<&'static str> {
    let mut all = vec![
        "```",
        "```json\n",
        "\n```",
        "`",
        "> ",
        "<|sep|>",
        "<|message|>",
        "<|constrain|>",
        "<|open|>argument key=\"a\"",
        "<|close|>argument<|sep|>",
        "<![CDATA[",
        "]]>",
        "functions.",
        "call:",
        "</",
        "<",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        "\\",
        "\\\"",
        "\\u003c",
        "\\n",
        "&lt;",
        "(",
        ")",
        "a=1",
        ",",
        ":",
        "true",
        "null",
        "None",
        "12",
        "{\"name\": \"f\"}",
        "string=\"true\"",
        "item",
    ];
    for dialect in dialects() {
        all.extend(dialect.open.iter().chain(dialect.close));
        if let Some((open, close)) = dialect.section {
            all.extend(open.iter().chain(close));
        }
        if let First::OneOf(strings) | First::NameThen(strings) = dialect.first {
            all.extend(strings);
        }
        match dialect.grammar {
            Grammar::Tags(tags) => {
                all.extend([
                    tags.call.0,
                    tags.call.1,
                    tags.call_end,
                    tags.parameter.0,
                    tags.parameter.1,
                    tags.parameter_end,
                ]);
            }
            Grammar::Pairs { after_name, key, value, gap } => {
                all.extend([after_name, key.0, key.1, value.0, value.1, gap]);
            }
            Grammar::Named { before, between, id, .. } => {
                all.extend(between);
                all.extend([before, id]);
            }
            Grammar::Loose { quote } => all.push(quote),
            Grammar::Nested { prefix } => all.push(prefix),
            _ => {}
        }
    }
    all.extend(reasoning_markups().iter().flat_map(|row| row.open.iter().chain(row.close)));
    all.extend(inert_regions().iter().flat_map(|row| row.open.iter().chain(row.close)));
    all.extend(frames().iter().flat_map(|row| row.open.iter().chain(row.close)));
    all.retain(|marker| !marker.is_empty());
    all.sort_unstable();
    all.dedup();
    all
}

fn any_dialect() -> impl Strategy<Value = &'static Dialect> {
    select(dialects().iter().collect::<Vec<_>>())
}

/// Strings made of markers, of what quotes and escapes, of all scripts, of whole calls.
fn string() -> impl Strategy<Value = String> {
    let odd = vec![
        "\u{0}",
        "\u{1}",
        "\u{7f}",
        "\n",
        "\r\n",
        "\t",
        " ",
        "\u{202e}שלום",
        "مرحبا",
        "🚀",
        "e\u{301}",
        "\u{feff}",
        "\u{2028}",
        "｜",
        "▁",
        "日本語",
        "\u{fffd}",
        "\u{10ffff}",
        "ä",
    ];
    let calls: Vec<String> = dialects().iter().map(Dialect::example).collect();
    let piece = prop_oneof![
        4 => select(markers()).prop_map(str::to_owned),
        2 => select(odd).prop_map(str::to_owned),
        3 => "[a-z0-9 .,;=/_-]{0,8}",
        1 => select(calls),
        1 => any::<char>().prop_map(String::from),
    ];
    prop_oneof![
        4 => prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat()),
        1 => select(vec!["123", "-0.5", "true", "null", "{\"a\": 1}", "[1, 2]", "\"x\"", "1e9", ""]).prop_map(str::to_owned),
    ]
}

/// Numbers as text: those that no machine type holds, too.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        "-?[1-9][0-9]{18,60}",
        "-?(0|[1-9][0-9]{0,3})\\.[0-9]{1,30}",
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,3}",
        Just("-0".to_owned()),
    ]
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// A string with escapes that JSON has and that nobody must write.
fn spelled() -> impl Strategy<Value = String> {
    let pieces = [
        "\\/",
        "<\\/tool_call>",
        "\\\\",
        "\\\"",
        "\\u0041",
        "\\u003c",
        "\\ud83d\\ude80",
        "\\u000b",
        "\\b\\f",
        "/",
        "a ",
    ];
    prop::collection::vec(select(pieces.to_vec()), 1..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// JSON text of any shape.
fn value(key: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        5 => string().prop_map(|text| quote(&text)),
        1 => spelled(),
        2 => number(),
        1 => select(vec!["true", "false", "null"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(object),
        ]
    })
}

/// Members as an object; of those with one key the last.
fn object(members: impl IntoIterator<Item = (String, String)>) -> String {
    let members = members.into_iter().map(|(key, value)| (key, Raw::parse(value).unwrap()));
    let mut fields = Fields::new();
    for (key, value) in members {
        fields.set(&key, value);
    }
    fields.to_raw().text().to_owned()
}

fn key() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        8 => "[a-z][a-z_0-9]{0,6}",
        1 => select(vec!["path", "content", "type", "name", "arguments", "class", "item", "id"]).prop_map(str::to_owned),
    ]
}

fn any_key() -> impl Strategy<Value = String> + Clone {
    prop_oneof![3 => key().boxed(), 1 => string().boxed()]
}

fn arguments(key: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    prop::collection::vec((key.clone(), value(key)), 0..5).prop_map(object)
}

/// The value's own schema.
fn schema(value: &Raw) -> Value {
    let text = value.text();
    match text.bytes().next() {
        Some(b'"') => json!({"type": "string"}),
        Some(b't' | b'f') => json!({"type": "boolean"}),
        Some(b'n') => json!({"type": "null"}),
        Some(b'[') => {
            let items: Vec<Raw> = value.to().unwrap();
            let mut kinds: Vec<Value> = items.iter().map(schema).collect();
            kinds.dedup();
            match kinds.len() {
                0 => json!({"type": "array"}),
                1 => json!({"type": "array", "items": kinds[0]}),
                _ => json!({"type": "array", "items": {"anyOf": kinds}}),
            }
        }
        Some(b'{') => {
            let fields = Fields::parse(text).unwrap();
            let properties: serde_json::Map<_, _> =
                fields.iter().map(|(key, value)| (key.to_owned(), schema(value))).collect();
            json!({"type": "object", "properties": properties})
        }
        _ if text.contains(['.', 'e', 'E']) => json!({"type": "number"}),
        _ => json!({"type": "integer"}),
    }
}

/// JSON text with one spelling of each value: no white space, strings escaped one way, numbers as they are.
fn plain(json: &str) -> String {
    let mut text = String::new();
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let length = if c == '"' {
            let mut escaped = false;
            let end = rest.bytes().skip(1).position(|byte| {
                let end = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                end
            });
            let length = end.unwrap() + 2;
            // Halves of surrogate pairs are kept as they are.
            let string = serde_json::from_str::<String>(&rest[..length]);
            text.push_str(&string.map_or_else(|_| rest[..length].to_owned(), |string| quote(&string)));
            length
        } else {
            // An exponent is the same by either letter.
            if !c.is_ascii_whitespace() {
                text.push(if c == 'E' { 'e' } else { c });
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    text
}

fn setup(tools: &[(&str, &Raw)], dialect: &Dialect) -> Setup {
    let mut signatures = Signatures::default();
    for (name, arguments) in tools {
        signatures.add(name, &schema(arguments));
    }
    let setup = Setup { tools: Some(signatures), ..Setup::default() };
    if dialect.bare { setup.bare() } else { setup }
}

fn check(reading: &Reading, expected: &[(&str, &str)], text: &str, dialect: &Dialect) {
    let called: Vec<_> = reading.calls.iter().map(|call| (call.name.clone(), plain(&call.arguments))).collect();
    let expected: Vec<_> = expected.iter().map(|(name, json)| ((*name).to_owned(), plain(json))).collect();
    assert_eq!(called, expected, "{}: {text:?}", dialect.name);
    assert!(
        reading.calls.iter().all(|call| call.complete && !call.repaired),
        "{}: {text:?}\n{reading:?}",
        dialect.name
    );
    assert!(reading.problems.is_empty(), "{}: {text:?}\n{reading:?}", dialect.name);
}

/// Where what follows a call without closing marker could still be taken for more of it.
fn is_open(dialect: &Dialect) -> bool {
    dialect.close[0].is_empty()
}

/// Without a marker that closes it, a list ends with its bracket, whatever follows.
#[test]
fn d21_a_bare_list_ends_with_its_bracket() {
    for behind in [",", ", and so on", ", g(b=1)]", "], x", " and more"] {
        for before in ["", "Well:\n"] {
            let text = format!("{before}[f(a=1)]{behind}");
            let reading = read(&text, &Setup::names(&["f"]).only(&["pythonic"]).bare());
            assert_eq!(reading.calls.len(), 1, "{text}: {reading:?}");
            assert_eq!(
                (reading.calls[0].arguments.as_str(), reading.calls[0].complete),
                (r#"{"a":1}"#, true),
                "{text}"
            );
            assert_eq!(reading.prose, format!("{before}{behind}"), "{text}: {reading:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_rendered_call_is_read_back(
        dialect in any_dialect(),
        name in "[a-z][a-z_0-9]{0,12}",
        arguments in arguments(key()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let raw = Raw::parse(arguments.clone()).unwrap();
        let text = match render_call(&name, &raw, None, dialect) {
            Ok(text) => text,
            // Nothing but half a surrogate pair may be refused, and none is here.
            Err(error) => panic!("{}: {error}: {arguments}", dialect.name),
        };
        let setup = setup(&[(&name, &raw)], dialect);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let cut = pieces(cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]), &setup);
        check(&cut, &[(&name, &arguments)], &text, dialect);
        prop_assert_eq!(&cut.prose, "", "{}: {:?}", dialect.name, text);
        prop_assert_eq!(&cut, &pieces([text.as_bytes()], &setup));
        prop_assert_eq!(&cut, &pieces(text.as_bytes().chunks(1), &setup));
        // Read by its own row alone it is that row's.
        let own = pieces([text.as_bytes()], &setup.only(&[dialect.name]));
        check(&own, &[(&name, &arguments)], &text, dialect);
        prop_assert_eq!(own.calls[0].dialect, dialect.name);
    }

    #[test]
    fn rendered_calls_are_read_back_with_the_prose_around(
        dialect in any_dialect(),
        calls in prop::collection::vec(("[a-z][a-z_0-9]{0,6}", arguments(key())), 1..4),
        before in "[A-Za-z ,.\n]{0,12}",
        after in "[A-Za-z ,.\n]{0,12}",
    ) {
        let uses: Vec<ToolUse> =
            calls.iter().map(|(name, arguments)| ToolUse::from_text("", name, arguments.clone())).collect();
        let rendered = render_calls(&uses, dialect).unwrap();
        // Bare calls stand at the start of a line.
        let before = if dialect.bare { format!("{before}\n") } else { before };
        let text = format!("{before}{rendered}{after}");
        // Calls by one name have one signature: anything goes.
        let raws: Vec<_> = uses.iter().map(|call| (call.name.as_str(), &call.input)).collect();
        let names: std::collections::BTreeSet<_> = raws.iter().map(|(name, _)| name).collect();
        if names.len() < raws.len() {
            return Ok(());
        }
        let reading = pieces([text.as_bytes()], &setup(&raws, dialect));
        let expected: Vec<_> = calls.iter().map(|(name, arguments)| (name.as_str(), arguments.as_str())).collect();
        check(&reading, &expected, &text, dialect);
        prop_assert_eq!(&reading, &pieces(text.as_bytes().chunks(1), &setup(&raws, dialect)));
        let prose: String = reading.prose.split_whitespace().collect();
        let words: String = format!("{before}{after}").split_whitespace().collect();
        prop_assert_eq!(prose, words, "{}: {:?}", dialect.name, &text);
        if !rendered.contains('\n') && !is_open(dialect) {
            prop_assert_eq!(&reading.prose, &format!("{before}{after}"), "{}: {:?}", dialect.name, &text);
        }
    }

    #[test]
    fn json_dialects_write_every_name_and_key(
        dialect in select(dialects().iter().filter(|row| row.title.is_empty() && matches!(row.grammar, Grammar::Object { .. } | Grammar::Keyed)).collect::<Vec<_>>()),
        name in string(),
        arguments in arguments(any_key()),
    ) {
        let name = if name.is_empty() || name.trim() != name || name.len() > 200 { format!("f{}", name.len()) } else { name };
        let raw = Raw::parse(arguments.clone()).unwrap();
        let text = render_call(&name, &raw, None, dialect).unwrap();
        let reading = pieces([text.as_bytes()], &setup(&[(&name, &raw)], dialect));
        check(&reading, &[(&name, &arguments)], &text, dialect);
    }

    #[test]
    fn every_key_is_written_or_refused(dialect in any_dialect(), arguments in arguments(any_key())) {
        let raw = Raw::parse(arguments.clone()).unwrap();
        let Ok(text) = render_call("f", &raw, None, dialect) else { return Ok(()) };
        let reading = pieces([text.as_bytes()], &setup(&[("f", &raw)], dialect));
        check(&reading, &[("f", &arguments)], &text, dialect);
    }

    #[test]
    fn every_name_is_written_or_refused(dialect in any_dialect(), name in string()) {
        let raw = Raw::parse("{\"a\": 1}").unwrap();
        let Ok(text) = render_call(&name, &raw, None, dialect) else { return Ok(()) };
        let reading = pieces([text.as_bytes()], &setup(&[(&name, &raw)], dialect));
        check(&reading, &[(&name, "{\"a\": 1}")], &text, dialect);
    }
}

#[test]
fn each_marker_in_each_dialect_is_read_back() {
    each(dialects(), |dialect| {
        for marker in markers() {
            let (twice, lines) = (format!("{marker}{marker}"), format!("\n{marker}\n"));
            let value =
                json!({"a": marker, "b": format!("a {marker} b"), "c": twice, "d": lines, "e": [marker], "n": 1});
            let raw = Raw::of(&value);
            let text = render_call("f", &raw, None, dialect).unwrap();
            let setup = setup(&[("f", &raw)], dialect);
            check(&pieces([text.as_bytes()], &setup), &[("f", raw.text())], &text, dialect);
            check(&pieces(text.as_bytes().chunks(1), &setup), &[("f", raw.text())], &text, dialect);
        }
    });
}

#[test]
fn strings_that_read_as_other_values_come_back_without_a_schema() {
    let strings = [
        "true",
        "null",
        "12",
        "-0.5",
        "1e3",
        " 7 ",
        "\n[1, 2]\n",
        "{\"a\": 1}",
        "[]",
        "\"quoted\"",
        "007",
        "True",
        "None",
        "",
        " ",
        "NaN",
        "{a: 1}",
    ];
    each(dialects(), |dialect| {
        for string in strings {
            let raw = Raw::of(&json!({"a": string, "b": [string], "c": true, "d": null, "e": 12, "f": {"g": string}}));
            let text = render_call("f", &raw, None, dialect).unwrap();
            let setup = if dialect.bare { Setup::names(&["f"]).bare() } else { Setup::auto() };
            check(&pieces([text.as_bytes()], &setup), &[("f", raw.text())], &text, dialect);
            // No other way is taken than has to be.
            let raw = Raw::of(&json!({"a": string}));
            let text = render_call("f", &raw, None, dialect).unwrap();
            check(&pieces([text.as_bytes()], &setup), &[("f", raw.text())], &text, dialect);
        }
    });
}

#[test]
fn d08_escapes_that_only_json_has_come_back() {
    each(dialects(), |dialect| {
        let json = r#"{"a":"\/ <\/tool_call> \\/ \u0041\ud83d\ude80","b":["\/",{"c":"x\/y"}]}"#;
        let raw = Raw::parse(json).unwrap();
        let text = render_call("f", &raw, None, dialect).unwrap();
        let setup = setup(&[("f", &raw)], dialect);
        check(&pieces([text.as_bytes()], &setup), &[("f", json)], &text, dialect);
        check(&pieces(text.as_bytes().chunks(1), &setup), &[("f", json)], &text, dialect);
    });
}

#[test]
fn ids_are_written_where_the_dialect_has_them() {
    let arguments = Raw::parse("{\"a\": 1}").unwrap();
    let call = |dialect: &str, id: &str| {
        let text = render_call("f", &arguments, Some(id), dialect_named(dialect).unwrap()).unwrap();
        read(&text, &Setup::auto()).calls[0].id.clone()
    };
    assert_eq!(call("kimi-k2", "functions.f:7").as_deref(), Some("functions.f:7"));
    assert_eq!(call("kimi-k2", "toolu_1").as_deref(), Some("functions.f:0"));
    assert_eq!(call("mistral", "abcdefghi").as_deref(), Some("abcdefghi"));
    assert_eq!(call("hermes", "x"), None);
}

#[test]
fn what_is_no_object_is_refused() {
    for json in ["[1]", "1", "\"x\"", "null"] {
        let raw = Raw::parse(json).unwrap();
        assert_eq!(render_call("f", &raw, None, &dialects()[0]), Err(Unwritable::Arguments));
    }
    assert_eq!(render_calls(&[], &dialects()[0]).as_deref(), Ok(""));
    let broken = ToolUse::from_text("", "f", "{".into());
    assert_eq!(render_calls(&[broken], &dialects()[0]), Err(Unwritable::Arguments));
}

#[test]
fn half_a_surrogate_pair_is_json_and_no_text() {
    let raw = Raw::parse("{\"a\": \"\\ud83d\"}").unwrap();
    each(dialects(), |dialect| {
        let refused = render_call("f", &raw, None, dialect);
        assert!(matches!(refused, Err(Unwritable::Value { .. })), "{refused:?}");
    });
    let whole = Raw::parse("{\"a\": \"\\ud83d\\ude80\", \"b\": \"\\\\ud83d\"}").unwrap();
    each(dialects(), |dialect| {
        let text = render_call("f", &whole, None, dialect).unwrap();
        check(&pieces([text.as_bytes()], &setup(&[("f", &whole)], dialect)), &[("f", whole.text())], &text, dialect);
    });
}
