use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        recorder::{Fed, Recorder, everywhere, feed},
        signature::Signatures,
    },
    *,
};

fn signatures() -> Signatures {
    let mut signatures = Signatures::default();
    let one = |name: &str, kind: Kind| Signature {
        parameters: [(name.to_owned(), kind)].into_iter().collect(),
        ..Signature::default()
    };
    signatures.insert("one", one("only", Kind::String));
    signatures.insert("nest", one("only", Kind::Object(Signature::default())));
    signatures
}

fn read(text: &str) -> Fed {
    read_bytes(text.as_bytes())
}

fn read_bytes(text: &[u8]) -> Fed {
    everywhere(&|| Box::new(Python::new(&["<|tool_call_end|>"])), &|| Recorder::new(signatures()), text)
}

/// The calls of `text`, which must be nothing but calls without a fault.
fn calls(text: &str) -> Vec<(String, Value)> {
    let fed = read(text);
    assert_eq!(fed.step, Step::Done, "{text}");
    assert_eq!(fed.told.bytes, text.len(), "{text}");
    let told = fed.told.calls.iter();
    told.map(|call| {
        assert_eq!((call.complete, &call.repaired), (Some(true), &vec![]), "{text}");
        (call.name.clone(), call.value())
    })
    .collect()
}

fn argument(literal: &str) -> Value {
    let all = calls(&format!("[f(a={literal})]"));
    all[0].1["a"].clone()
}

#[test]
fn lists_and_lines_of_calls() {
    let two = vec![("f".to_owned(), json!({"a": 1, "b": "x", "c": [1, {"k": null}]})), ("g".to_owned(), json!({}))];
    assert_eq!(calls(r#"[f(a=1, b="x", c=[1, {'k': None}]), g()]"#), two);
    assert_eq!(calls("\n[ f( a = 1 , b = 'x',\n c=(1, {'k': null},),), # and\n]").len(), 1);
    assert_eq!(calls("f(a=1, b=\"x\", c=[1, {\"k\": null}])\ng()"), two);
    assert_eq!(calls("[a.b.c(x=true), get-it(y=False),]")[0].0, "a.b.c");
    assert_eq!(calls("f(\n    # why\n    a=1, # one)\n)"), [("f".to_owned(), json!({"a": 1}))]);
    assert_eq!(calls("f(a=1); g(b=2)").len(), 2);
    assert_eq!(calls("[f(), f()]").len(), 2);
}

#[test]
fn string_literals() {
    for (literal, text) in [
        (r#""x""#, "x"),
        (r"''", ""),
        (r#""""""""#, ""),
        (r#""""a "quoted" ""b"""  "#, "a \"quoted\" \"\"b"),
        ("'''line\nline'''", "line\nline"),
        (r"'\x41\u00e9\U0001F680\101\0\n\t\\\'\a'", "Aé🚀A\0\n\t\\'\u{7}"),
        (r"'\ud83d\ude80'", "🚀"),
        (r"'\d+\.\w'", r"\d+\.\w"),
        (r"r'\d\'\n'", r"\d\'\n"),
        (r#"R"\\""#, r"\\"),
        (r#"b"raw\x20bytes""#, "raw bytes"),
        (r"f'{{braces}} \n'", "{braces} \n"),
        (r"rf'{{\n'", r"{\n"),
        (r#"u'x' "y" '''z'''"#, "xyz"),
        (
            r#"("long "
            "string")"#,
            "long string",
        ),
        (r"'a'r'\b'", r"a\b"),
        ("'a' \\\n 'b'", "ab"),
        ("'a\\\nb'", "ab"),
        ("'a\\\r\nb'", "ab"),
        ("'</tool_call> [f(x=1)] , ) \"q\"'", "</tool_call> [f(x=1)] , ) \"q\""),
        ("'é — 漢 🚀'", "é — 漢 🚀"),
        (r"'\1234'", "S4"),
    ] {
        assert_eq!(argument(literal), json!(text), "{literal}");
    }
}

#[test]
fn values_of_every_kind() {
    for (literal, value) in [
        ("None", json!(null)),
        ("-5", json!(-5)),
        ("+5", json!(5)),
        ("1_000", json!(1000)),
        ("-.5e3", json!(-500.0)),
        ("(1)", json!(1)),
        ("((1))", json!(1)),
        ("(1,)", json!([1])),
        ("()", json!([])),
        ("((1, 2), 3)", json!([[1, 2], 3])),
        ("{}", json!({})),
        ("{1, 2}", json!([1, 2])),
        ("{'a'}", json!(["a"])),
        ("{None}", json!([null])),
        ("{1: 'a', 2.5: 'b', None: 'c', True: 0}", json!({"1": "a", "2.5": "b", "null": "c", "true": 0})),
        ("{'a': {'b': {'c': (1,)}}, 'd': {},}", json!({"a": {"b": {"c": [1]}}, "d": {}})),
        ("[{'a': [1]}, {'b': {3}}, [[]]]", json!([{"a": [1]}, {"b": [3]}, [[]]])),
        ("([{'k': ('x' 'y')}], {'a': (1)})", json!([[{"k": "xy"}], {"a": 1}])),
        ("{'a' 'b': 1}", json!({"ab": 1})),
        ("0xff", json!(255)),
    ] {
        assert_eq!(argument(literal), value, "{literal}");
    }
    let big = "123456789012345678901234567890";
    let fed = read(&format!("[f(a={big}, b=0x{:x}, c=1e400)]", u128::MAX));
    assert_eq!(fed.told.calls[0].json, format!("{{\"a\":{big},\"b\":{},\"c\":1e400}}", u128::MAX));
}

#[test]
fn what_is_no_call_is_given_back_whole() {
    for text in [
        "",
        "[]",
        "[1, 2]",
        "[see below]",
        "[text](url)",
        "[text](https://example.org/a_(b)?c=d)",
        "[f (a=1)]",
        "[f(x)]",
        "[f(a==1)]",
        "[f(a, b)]",
        "f",
        "f(a",
        "[x for x in f(a=1)]",
        "see f(a=1)",
        "[[f(a=1)]]",
        "(f(a=1))",
        "]",
        "[\u{1F680}",
        "[\"f(a=1)\"]",
    ] {
        let fed = read(text);
        assert!(matches!(fed.step, Step::Failed(_)), "{text}: {:?}", fed.step);
        assert_eq!((fed.told.bytes, fed.told.calls.len()), (0, 0), "{text}");
    }
    let long = format!("[{}(a=1)]", "f".repeat(5000));
    let fed = feed(&mut Python::new(&[]), Recorder::new(signatures()), long.as_bytes().chunks(7));
    assert!(matches!(fed.step, Step::Failed(_)) && fed.held < 1100 && fed.told.bytes == 0);
    let fed = feed(&mut Python::new(&[]), Recorder::new(signatures()), [" ".repeat(5000).as_bytes()]);
    assert!(matches!(fed.step, Step::Failed(_)) && fed.told.bytes == 0);
}

#[test]
fn prose_after_the_calls_is_not_taken() {
    for (text, rest) in [
        ("f(a=1)\n\nSome prose (with more).", "\n\nSome prose (with more)."),
        ("f(a=1) and g", " and g"),
        ("[f(a=1)] and", " and"),
        ("[f(a=1)<|tool_call_end|>", "<|tool_call_end|>"),
        ("[f(a=1)\n<|tool_call_end|>", "\n<|tool_call_end|>"),
        ("f()\n[text](url)", "\n[text](url)"),
    ] {
        let fed = read(text);
        assert_eq!((fed.step, fed.told.bytes), (Step::Done, text.len() - rest.len()), "{text}");
        assert_eq!(fed.told.calls[0].complete, Some(true));
    }
}

#[test]
fn broken_calls_end_with_their_brackets() {
    for text in [
        "[f(a=1 + 2)]",
        "[f(a=g(x=1))]",
        "[f(a=1, 2)]",
        "[f(a=f'{x}')]",
        "[f(a=b'\\xff')]",
        "[f(a={[1]: 2})]",
        "[f(a={1: 2, 3})]",
        "[f(a={1, 2: 3})]",
        "[f(a=[1)]",
        "[f(a=[1 2])]",
        "[f(a=[1,,2])]",
        "[f(a=)]",
        "[f(a='x' % 3)]",
        "[f(a='x'.upper())]",
        "[f(a=\"\"\"x\"\"\"y)]",
        "[f(a=1j)]",
        "[f(a=[x for x in y])]",
        "[f('positional')]",
        "[f(1, 2)]",
        "[f(a=*b)]",
    ] {
        let fed = read(text);
        // It breaks off, and the brackets are its own.
        assert_eq!((fed.step, fed.told.bytes), (Step::Done, text.len()), "{text}: {:?}", fed.told);
        assert!(fed.told.calls.iter().all(|call| call.complete == Some(false)), "{text}");
    }
    let fed = read("[f(a=1 + 2\n\nWell.)]");
    assert!(matches!(fed.step, Step::Failed(_)) && fed.told.calls[0].complete.is_none(), "not near");
    let fed = read("[f(a=1), 2]");
    assert_eq!((fed.step, fed.told.bytes), (Step::Done, 11));
    assert_eq!(fed.told.calls[0].complete, Some(true));
    assert!(matches!(read("[f(a=1), 2").step, Step::Failed(_)));
}

#[test]
fn what_can_be_mended_is_and_says_so() {
    for (text, json) in [
        ("[f(a='it's fine', b=1)]", json!({"a": "it's fine", "b": 1})),
        ("[f(a='rock'n'roll')]", json!({"a": "rock'n'roll"})),
        ("[f(a='two\nlines')]", json!({"a": "two\nlines"})),
        ("[f(city=Paris)]", json!({"city": "Paris"})),
        ("[f(a={key: Color.RED})]", json!({"a": {"key": "Color.RED"}})),
        ("[f(zip=02134)]", json!({"zip": "02134"})),
        (r"[f(a='\xzz \uD83D. \N{DASH}')]", json!({"a": "\\xzz \u{FFFD}. \\N{DASH}"})),
        (r"[f(a='\U00110000')]", json!({"a": "\u{FFFD}"})),
        (r"[f(a='\ude80\ud83d')]", json!({"a": "\u{FFFD}\u{FFFD}"})),
        ("[f({'a': 1, 'b': {'c': 2}})]", json!({"a": 1, "b": {"c": 2}})),
        ("[one('x')]", json!({"only": "x"})),
        ("[one({'only': 'x'},)]", json!({"only": "x"})),
        ("[nest({'a': 'x'})]", json!({"only": {"a": "x"}})),
    ] {
        let fed = read(text);
        assert_eq!((fed.step, fed.told.calls[0].value()), (Step::Done, json), "{text}");
        assert!(!fed.told.calls[0].repaired.is_empty(), "{text}");
        let strict = || Recorder { repairs: false, ..Recorder::new(signatures()) };
        let fed = everywhere(&|| Box::new(Python::new(&[])), &strict, text.as_bytes());
        // A half of a pair has no other form in JSON text.
        let surrogates = text.contains("ude80");
        if !surrogates {
            assert_eq!((&fed.step, fed.told.calls[0].complete), (&Step::Done, Some(false)), "{text}");
        }
    }
}

#[test]
fn a_type_that_does_not_fit_is_told_and_kept() {
    let fed = read("[one(only=5)]");
    assert_eq!(fed.told.calls[0].wrong, ["only"]);
    assert_eq!(fed.told.calls[0].value(), json!({"only": 5}));
    assert!(read("[one(only=('5'))]").told.calls[0].wrong.is_empty());
    assert!(read("[nest(only={'a': 1})]").told.calls[0].wrong.is_empty());
}

#[test]
fn an_open_call_ends_incomplete() {
    for text in ["[f(a= ", "[f(a='x", "[f(a='x\\u00", "[f(a={'x'", "[f(a=[1, 2", "f(a=1", "f(a=1 # x"] {
        let fed = read(text);
        assert_eq!((fed.step, fed.told.bytes), (Step::Done, text.len()), "{text}");
        assert_eq!(fed.told.calls[0].complete, Some(false), "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let fed = read_bytes(b"[f(a='\xff\xe2\x82', b\xff=1)]");
    assert_eq!(fed.told.calls[0].value(), json!({"a": "\u{FFFD}\u{FFFD}", "b\u{FFFD}": 1}));
}

#[test]
fn strings_flow_while_they_are_open() {
    let text = format!("[write(path='a.txt', text=\"\"\"{}", "line of text\n".repeat(10_000));
    let fed = feed(&mut Python::new(&[]), Recorder::new(Signatures::default()), text.as_bytes().chunks(4));
    assert!(fed.held < 32, "{}", fed.held);
    assert!(fed.told.deltas > 30_000);
    assert!(fed.told.calls[0].json.len() > text.len());
}

#[test]
fn depth_is_limited_and_nothing_recurses() {
    for (open, close) in [("[", "]"), ("(", ",)"), ("{1: ", "}")] {
        let deep = |depth: usize| format!("[f(a={}1{})]", open.repeat(depth), close.repeat(depth));
        let fed = feed(&mut Python::new(&[]), Recorder::new(Signatures::default()), [deep(127).as_bytes()]);
        assert_eq!(fed.step, Step::Done);
        let fed = feed(&mut Python::new(&[]), Recorder::new(Signatures::default()), [deep(128).as_bytes()]);
        assert_eq!((fed.step, fed.told.calls[0].complete), (Step::Done, Some(false)));
        let fed = feed(&mut Python::new(&[]), Recorder::new(Signatures::default()), [deep(100_000).as_bytes()]);
        assert_eq!(fed.step, Step::Failed("nested too deep"));
    }
}

/// A value as Python writes it, in one of several ways, and as JSON.
fn literal() -> impl Strategy<Value = (String, Value)> {
    let text = prop_oneof![any::<String>(), "[a-z'\"\\\\\\n()\\[\\]{}<>/|=, ]{0,12}"];
    let string = (text, 0..5u8).prop_map(|(text, how)| {
        let quote = if how % 2 == 0 { "'" } else { "\"" };
        let mut inside = String::new();
        for character in text.chars() {
            match (how, character) {
                (_, '\\') => inside.push_str("\\\\"),
                (_, '\'' | '"') if quote.starts_with(character) => {
                    inside.push('\\');
                    inside.push(character);
                }
                (0 | 1, '\n' | '\r') => inside.push_str(if character == '\n' { "\\n" } else { "\\r" }),
                (2, other) if !other.is_ascii_alphanumeric() => write!(inside, "\\U{:08x}", other as u32).unwrap(),
                (1, other) if (other as u32) < 256 && other < ' ' => {
                    write!(inside, "\\x{:02x}", other as u32).unwrap();
                }
                (4, other) if (other as u32) < 32 => write!(inside, "\\{:03o}", other as u32).unwrap(),
                (_, '\n' | '\r') => inside.push_str(if character == '\n' { "\\n" } else { "\\x0d" }),
                (_, other) => inside.push(other),
            }
        }
        let quotes = if how == 3 { quote.repeat(3) } else { quote.to_owned() };
        (format!("{quotes}{inside}{quotes}"), Value::String(text))
    });
    let leaf = prop_oneof![
        Just(("None".to_owned(), Value::Null)),
        any::<bool>().prop_map(|yes| (if yes { "True" } else { "False" }.to_owned(), json!(yes))),
        any::<i64>().prop_map(|number| (number.to_string(), json!(number))),
        any::<u32>().prop_map(|number| (format!("{number:#x}"), json!(number))),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| (format!("{number:?}"), json!(number))),
        string,
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..4);
        let pairs = prop::collection::vec(("[a-z]{1,4}", inner), 0..4);
        prop_oneof![
            (items, any::<bool>()).prop_map(|(items, tuple)| {
                let (texts, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                let text = texts.join(", ");
                let text = match (tuple, texts.len()) {
                    (false, _) => format!("[{text}]"),
                    (true, 1) => format!("({text},)"),
                    (true, _) => format!("({text})"),
                };
                (text, Value::Array(values))
            }),
            pairs.prop_map(|pairs| {
                let text: Vec<_> = pairs.iter().map(|(key, (text, _))| format!("'{key}': {text}")).collect();
                let value = pairs.into_iter().map(|(key, (_, value))| (key, value)).collect();
                (format!("{{{}}}", text.join(",\n ")), Value::Object(value))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_comes_through((text, value) in literal()) {
        let text = format!("[f(a={text}, b=1)]");
        let fed = read(&text);
        prop_assert_eq!(fed.step, Step::Done);
        prop_assert_eq!(fed.told.calls[0].repaired.len(), 0);
        prop_assert_eq!(fed.told.calls[0].value(), json!({"a": value, "b": 1}));
    }

    #[test]
    fn any_text_is_survived_and_told_alike_however_cut(text in "(\\[)?f\\(a=[a-f0-9'\"\\\\rnbuxN,:.=_#\\-+eE()\\[\\]{} \\n\u{e9}]{0,24}") {
        let fed = read(&text);
        for call in fed.told.calls.iter().filter(|call| call.complete == Some(true)) {
            prop_assert!(call.value().is_object());
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..48), start in 0..3usize) {
        let text = [[&b""[..], b"[f(a='", b"f(a="][start], &bytes].concat();
        read_bytes(&text);
    }
}

#[test]
fn a_long_string_is_read_in_pieces_alike() {
    let inside = "é漢🚀 \\n it\\'s ".repeat(9_000);
    let text = format!("[f(a='{inside}')]");
    let whole = feed(&mut Python::new(&[]), Recorder::new(Signatures::default()), [text.as_bytes()]);
    assert!(whole.told.deltas > 5);
    for size in [1, 4, 16_384, 16_385, 50_000] {
        let fed = feed(&mut Python::new(&[]), Recorder::new(Signatures::default()), text.as_bytes().chunks(size));
        assert_eq!((&fed.told.calls, &fed.step), (&whole.told.calls, &whole.step));
    }
    assert_eq!(whole.told.calls[0].value()["a"], inside.replace("\\n", "\n").replace("\\'", "'"));
}
