//! What models do wrong is put right, and what is right stays; the result always parses and needs no repair.

use proptest::prelude::*;

use super::*;

fn valid(text: &str) -> bool {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => true,
        // Lexically right, too large for a float.
        Err(error) => error.to_string().contains("out of range"),
    }
}

#[track_caller]
fn becomes(text: &str, json: &str) {
    let repaired = repair_json(text);
    assert_eq!(repaired.json, json, "{text}\n{:?}", repaired.repairs);
    assert!(valid(json));
    assert_eq!(repaired.repairs.is_empty(), text == json, "{text}");
    for repair in &repaired.repairs {
        assert!(text.get(repair.span.start..repair.span.end).is_some(), "{text}: {repair:?}");
    }
}

#[test]
fn e10_words_behind_a_string_swallow_no_structure() {
    for (broken, whole) in [
        (r#"{"bad":["a","b" BOGUS],"good":["c"]}"#, r#"{"bad":["a","b" ],"good":["c"]}"#),
        (r#"[{"a":"x" y},{"a":"z"}]"#, r#"[{"a":"x" },{"a":"z"}]"#),
        (r#"{"bad":{"k":"v" not so},"good":1}"#, r#"{"bad":{"k":"v" },"good":1}"#),
        (r#"[["a" b],["c"]]"#, r#"[["a" ],["c"]]"#),
        (r#"{"a":"x" y, "b":"z"}"#, r#"{"a":"x" , "b":"z"}"#),
        (r#"{"a":["x" y, "z"],"b":[1]}"#, r#"{"a":["x" , "z"],"b":[1]}"#),
        (r#"[{"a":"x" y}]"#, r#"[{"a":"x" }]"#),
        (r#"{"a":{"b":"x" y},"c":[1]}"#, r#"{"a":{"b":"x" },"c":[1]}"#),
        (r#"[{"a":"x", y},{"a":"z"}]"#, r#"[{"a":"x", "y":null},{"a":"z"}]"#),
        (r#"{"a":[{"k":"v" EXTRA words}],"b":{"c":["d"]}}"#, r#"{"a":[{"k":"v" }],"b":{"c":["d"]}}"#),
    ] {
        let repaired = repair_json(broken);
        assert_eq!((&*repaired.json, repaired.complete), (whole, true), "{broken}: {:?}", repaired.repairs);
    }
    // A string that quotes words keeps them.
    for (broken, whole) in [
        (r#"{"a":"say "hi" now, ok"}"#, r#"{"a":"say \"hi\" now, ok"}"#),
        (r#"["say "hi" now", "ok"]"#, r#"["say \"hi\" now", "ok"]"#),
    ] {
        assert_eq!(repair_json(broken).json, whole, "{broken}");
    }
}

#[test]
fn no_mend_is_told_of_half_a_character_or_of_each_byte_in_a_row() {
    for text in ["{'\\\u{feff}", "{'a\\é': 1}", "{\"a\": \"\\🌍\"}", "[\\🌍]"] {
        for repair in &repair_json(text).repairs {
            assert!(text.get(repair.span.start..repair.span.end).is_some(), "{text}: {repair:?}");
        }
    }
    let text = format!("[1{}]", ",".repeat(1000));
    assert!(repair_json(&text).repairs.len() <= 2, "{:?}", repair_json(&text).repairs.len());
    let text = format!("{{\"a\": 1{}", "]".repeat(1000));
    assert!(repair_json(&text).repairs.len() <= 2, "{:?}", repair_json(&text).repairs.len());
}

#[test]
fn what_models_do_wrong_is_put_right() {
    for (text, json) in [
        ("```json\n{\"a\": 1}\n```", "{\"a\": 1}"),
        ("Here it is:\n```json\n{\"a\": \"```\"}\n```\nDone.", "{\"a\": \"```\"}"),
        ("Sure! {\"a\": 1} Hope that helps {x}", "{\"a\": 1}"),
        ("As in [note], {\"a\": [1, 2", "{\"a\": [1, 2]}"),
        ("{'a': 'it''s', 'b': 'don't'}", r#"{"a": "it''s", "b": "don't"}"#),
        ("{a: 1, b_c: two words, $d: x}", r#"{"a": 1, "b_c": "two words", "$d": "x"}"#),
        ("{“a”: ‘b’, \"c\": „d“}", r#"{"a": "b", "c": "d"}"#),
        (
            "{\"a\": True, \"b\": None, \"c\": NaN, \"d\": -Infinity, \"e\": undefined}",
            r#"{"a": true, "b": null, "c": null, "d": null, "e": null}"#,
        ),
        ("{\"a\": 1, // one\n /* two */ \"b\": 2 # three\n}", "{\"a\": 1, \n  \"b\": 2 \n}"),
        ("[1, 2, 3,]", "[1, 2, 3]"),
        ("[1 2, \"a\" \"b\", {\"a\": 1} {\"b\": 2}]", r#"[1 ,2, "a" ,"b", {"a": 1} ,{"b": 2}]"#),
        ("[1,,2,]", "[1,2]"),
        ("{\"a\" 1, \"b\" \"x\", \"c\": }", r#"{"a" :1, "b" :"x", "c": null}"#),
        ("{\"a\": {\"b\": [1, 2}", r#"{"a": {"b": [1, 2]}}"#),
        ("{\"a\": 1}}]", r#"{"a": 1}"#),
        (r#"{"a": "say "hi", "b": "ok"}"#, r#"{"a": "say \"hi", "b": "ok"}"#),
        (
            r#"{"a": "say "hi" now", "b": "he said: "no", and left"}"#,
            r#"{"a": "say \"hi\" now", "b": "he said: \"no\", and left"}"#,
        ),
        ("{\"a\": \"two\nlines\ttab\"}", r#"{"a": "two\nlines\ttab"}"#),
        ("{\"a\": \"x\u{0}y\"}", r#"{"a": "x\u0000y"}"#),
        (
            r#"{"a": "\u12", "b": "\x41", "c": "\d+\.", "d": "\ud83d"}"#,
            r#"{"a": "\\u12", "b": "\\x41", "c": "\\d+\\.", "d": "\ufffd"}"#,
        ),
        (
            "{\"a\": 0x1F, \"b\": +5, \"c\": 007, \"d\": 1., \"e\": .5, \"f\": 1_000, \"g\": 1e}",
            r#"{"a": 31, "b": 5, "c": 7, "d": 1, "e": 0.5, "f": 1000, "g": 1}"#,
        ),
        ("[1, 2, ...]", "[1, 2 ]"),
        ("{\"a\": [\"x\", ...], ...}", r#"{"a": ["x" ] }"#),
        ("{\"a\": \"x\" + \"y\" +\n \"z\"}", r#"{"a": "xyz"}"#),
        ("\u{feff}{\"a\": 1}", r#"{"a": 1}"#),
        ("{\"a\": \"hello, \"b\": 2}", r#"{"a": "hello","b": 2}"#),
        ("{\"a\": \"hello\n  \"b\": 2}", r#"{"a": "hello","b": 2}"#),
        ("[\"a, \"b\"]", r#"["a","b"]"#),
        ("{\"a\": hello\", \"b\": 2}", r#"{"a": "hello", "b": 2}"#),
        ("\"a\": 1, \"b\": 2", r#"{"a": 1, "b": 2}"#),
        ("{\"a\": 1}\n{\"a\": 2}\n", "[{\"a\": 1},{\"a\": 2}]\n"),
        (r#"{\"a\": \"b\", \"c\": [1]}"#, r#"{"a": "b", "c": [1]}"#),
        ("{\"a\"：1，\"b\": 2}", r#"{"a":1,"b": 2}"#),
        ("{\"u\": http://x.y/z?a=b, \"d\": 2024-01-02}", r#"{"u": "http://x.y/z?a=b", "d": "2024-01-02"}"#),
        ("{{\"a\": 1}}", r#"{"a": 1}"#),
        ("True", "true"),
        ("hello", "\"hello\""),
        ("", "null"),
        ("{", "{}"),
        ("[{\"a\": \"x", "[{\"a\": \"x\"}]"),
    ] {
        becomes(text, json);
    }
}

#[test]
fn valid_json_stays_and_says_nothing() {
    for text in [
        "{}",
        " [1 , 2 ]\n",
        "\"a\"",
        "1e999",
        "-0",
        "null",
        "{\"a\":{\"a\":[]},\"a\":\"\\ud83d\\ude80 </x>\"}",
        "[\"//\", \"#\", \"...\"]",
    ] {
        becomes(text, text);
        assert!(repair_json(text).complete);
    }
}

#[test]
fn it_says_where_and_whether_it_was_cut() {
    let text = "{\"a\": 'x', /* c */ \"b\": 1,}";
    let repaired = repair_json(text);
    let said: Vec<_> =
        repaired.repairs.iter().map(|repair| (repair.what, &text[repair.span.start..repair.span.end])).collect();
    assert_eq!(said[0].0, Mend::Quotes);
    assert_eq!(said[1], (Mend::Comment, "/* c */"));
    assert_eq!(said[2].0, Mend::TrailingComma);
    assert!(repaired.complete);
    let whole = r#"{"a": [1, {"b": "x\u00e9\ud83d\ude80"}], "c": null}"#;
    for cut in 1..whole.len() {
        let repaired = repair_json(&whole[..cut]);
        assert!(valid(&repaired.json), "{}", repaired.json);
        assert!(!repaired.complete, "{}", &whole[..cut]);
    }
}

#[test]
fn depth_is_bounded() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let repaired = repair_json(&open.repeat(1_000_000));
        assert!(valid(&repaired.json));
        assert!(!repaired.complete);
    }
    let deep = format!("[{}1{}, 2]", "[".repeat(200), "]".repeat(200));
    let repaired = repair_json(&deep);
    assert!(valid(&repaired.json) && repaired.json.ends_with(", 2]"));
    assert!(repaired.repairs.iter().any(|repair| repair.what == Mend::TooDeep));
}

fn settled(text: &str) {
    let repaired = repair_json(text);
    assert!(valid(&repaired.json), "{text}\n{}", repaired.json);
    let again = repair_json(&repaired.json);
    assert_eq!(again.json, repaired.json, "{text}");
    assert!(again.repairs.is_empty(), "{text}\n{:?}", again.repairs);
    let lost = repaired.repairs.iter().any(|repair| repair.what == Mend::TooDeep);
    let deep = nesting(repaired.json.as_bytes());
    assert!(deep <= DEEPEST, "{text}");
    assert!(!lost || deep >= DEEPEST - 1, "{text}: given up at {deep}");
}

#[test]
fn what_is_repaired_at_the_limit_of_nesting_needs_no_repair() {
    let openers = ["[", "{\"a\":", "[{\"a\":", "{'a' [", "[[],{\"b\":{},\"a\":"];
    let leaves =
        ["", "1", "[", "{", "{\"a\"", "{\"a\":", "[]", "{}", "\"x", "'", "[[]]", "1 [", "{},[", "{\"]\":[", "//", "tr"];
    let ends = ["", "]", "}", "]}", "}]", ",", "\n[]", "\n{}", "][", "}{", "}\n{a:[{", "]\n[[[", " x", "```"];
    for opener in openers {
        for deep in 126..=128 {
            let levels = nesting_of(opener);
            let opened = opener.repeat(deep / levels) + &"[".repeat(deep % levels);
            for leaf in leaves {
                for end in ends {
                    for closers in [0, deep - 1, deep] {
                        let closing: String =
                            opened.bytes().rev().filter_map(closer).take(closers).map(char::from).collect();
                        settled(&format!("{opened}{leaf}{closing}{end}"));
                    }
                }
            }
        }
    }
}

#[test]
fn values_in_a_row_are_one_level_deeper_than_each() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (first, second) in [(1, 126), (126, 1), (126, 126), (127, 1), (1, 127), (127, 127), (128, 200), (200, 1)] {
        let text = format!("{}\n{}", deep(first), deep(second));
        settled(&text);
        let repaired = repair_json(&text);
        let lost = repaired.repairs.iter().filter(|repair| repair.what == Mend::TooDeep).count();
        assert_eq!(lost, usize::from(first > 126) + usize::from(second > 126), "{first} {second}");
        assert!(repaired.complete && repaired.repairs.iter().any(|repair| repair.what == Mend::Several));
    }
    // One alone has every level for itself.
    let alone = deep(127);
    becomes(&alone, &alone);
    assert_eq!(repair_json(&format!("{alone} and so on")).json, alone);
}

#[test]
fn what_broke_off_too_deep_is_told() {
    let repaired = repair_json(&"[".repeat(130));
    let told = repaired.repairs.iter().find(|repair| repair.what == Mend::TooDeep).map(|repair| repair.span);
    assert_eq!(told, Some(Span { start: 127, end: 130 }));
}

/// How many containers a text opens and leaves open.
fn nesting_of(text: &str) -> usize {
    text.bytes().filter(|byte| b"[{".contains(byte)).count() - text.bytes().filter(|byte| b"]}".contains(byte)).count()
}

fn closer(byte: u8) -> Option<u8> {
    match byte {
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        _ => None,
    }
}

fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "'",
            "\\",
            "\n",
            " ",
            "\"a\": ",
            "\"f\"",
            "1",
            "-",
            "007",
            "true",
            "null",
            "None",
            "NaN",
            "abc",
            "x y",
            "//",
            "/*",
            "*/",
            "#",
            "...",
            "…",
            "“",
            "”",
            "’",
            "`",
            "```",
            "```json",
            "\\u",
            "\\ud83d",
            "\\ude80",
            "\\n",
            "\\\"",
            "🚀",
            "é",
            "\u{0}",
            "\u{feff}",
            "\u{a0}",
            "：",
            "，",
            ";",
            "+",
            "(",
            ")",
            "=",
            "=>",
            "{\"a\": 1}",
            "0x",
            "1e",
            "+ \"",
            "\",",
            "\":",
        ])
        .prop_map(str::to_owned),
        "\\PC{1,4}",
        "[ -~]{1,8}",
    ];
    (prop::sample::select(vec!["", "{", "[", "{\"a\": \"", "x {\"a\": "]), prop::collection::vec(scrap, 0..24))
        .prop_map(|(head, scraps)| head.to_owned() + &scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_result_is_valid_and_repairs_to_itself(text in scraps()) {
        let repaired = repair_json(&text);
        prop_assert!(valid(&repaired.json), "{} -> {}", text, repaired.json);
        let again = repair_json(&repaired.json);
        prop_assert_eq!(&again.json, &repaired.json);
        prop_assert!(again.repairs.is_empty());
        if valid(&text) {
            prop_assert_eq!(&repaired.json, &text);
        } else {
            prop_assert!(!repaired.repairs.is_empty());
        }
        for repair in &repaired.repairs {
            prop_assert!(repair.span.start <= repair.span.end && repair.span.end <= text.len());
        }
    }

    #[test]
    fn any_text_becomes_valid(text in any::<String>()) {
        prop_assert!(valid(&repair_json(&text).json));
    }
}
