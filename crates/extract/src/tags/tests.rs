use proptest::prelude::*;

use super::{
    super::{
        signature::{Kind, Signatures},
        value::testing::{Recorder, Told, declared, drive, every_way},
    },
    *,
};

const QWEN: Tags = Tags {
    call: ("<function=", ">"),
    call_end: "</function>",
    parameter: ("<parameter=", ">"),
    parameter_end: "</parameter>",
    newlines: true,
    string_attribute: false,
    cdata: false,
    prefixes: &[],
};
const INVOKE: Tags = Tags {
    call: ("<invoke name=\"", "\">"),
    call_end: "</invoke>",
    parameter: ("<parameter name=\"", "\">"),
    parameter_end: "</parameter>",
    newlines: false,
    string_attribute: false,
    cdata: false,
    prefixes: &["antml:", "x:"],
};
const CDATA_TAGS: Tags = Tags {
    call: ("<function name=\"", "\">"),
    call_end: "</function>",
    parameter: ("<param name=\"", "\">"),
    parameter_end: "</param>",
    newlines: false,
    string_attribute: false,
    cdata: true,
    prefixes: &[],
};
const DSML: Tags = Tags {
    call: ("<｜DSML｜ invoke name=\"", "\">"),
    call_end: "</｜DSML｜ invoke>",
    parameter: ("<｜DSML｜ parameter name=\"", "\">"),
    parameter_end: "</｜DSML｜ parameter>",
    newlines: false,
    string_attribute: true,
    cdata: false,
    prefixes: &[],
};

fn body(tags: Tags) -> TagsBody {
    TagsBody::within(tags, ["</tool_call>", "</function_calls>"].into_iter())
}

fn told(tags: Tags, input: &str, signatures: &Signatures) -> Told {
    every_way(&|| Box::new(body(tags)), input.as_bytes(), signatures)
}

/// The arguments of the one complete call in `input`.
fn arguments(tags: Tags, input: &str, signatures: &Signatures) -> String {
    let told = told(tags, input, signatures);
    assert_eq!(told.calls.len(), 1, "{told:?}");
    assert_eq!(told.calls[0].complete, Some(true), "{told:?}");
    told.calls[0].json.clone()
}

fn text() -> Signatures {
    declared([("a", Kind::String), ("b", Kind::String)])
}

#[test]
fn a_call_as_qwen_writes_it() {
    let input = "\n<function=f>\n<parameter=a>\nls -la\n\n</parameter>\n<parameter=b>\n\"é\"\n</parameter>\n</function>\n</tool_call>";
    let told = told(QWEN, input, &text());
    assert_eq!(told.json(), r#"{"a":"ls -la\n","b":"\"é\""}"#);
    assert_eq!(told.step, Step::Done);
    assert_eq!(&input[told.used..], "\n</tool_call>");
    assert_eq!(told.calls[0].repaired, Vec::<&str>::new());
}

#[test]
fn elements_as_they_vary() {
    let call = r#"<invoke
        id='1' name = 'f' ><x:parameter type="x>y" name=a>1</parameter><parameter name="b"/></invoke>"#;
    assert_eq!(arguments(INVOKE, call, &text()), r#"{"a":"1","b":""}"#);
    assert_eq!(arguments(QWEN, "<function=\"f\"></function>", &text()), "{}");
    assert_eq!(arguments(INVOKE, "<invoke name=\"f\"/>", &text()), "{}");
    assert_eq!(arguments(INVOKE, "<invoke name=\"f\"> \n </invoke>", &text()), "{}");
}

#[test]
fn several_calls_in_a_region() {
    let one = "<invoke name=\"f\"><parameter name=\"a\">1</parameter></invoke>";
    let input = format!("{one}\n{one}\n<invoke name='g'/>\n</function_calls>");
    let told = told(INVOKE, &input, &text());
    let calls: Vec<_> = told.calls.iter().map(|call| (&*call.name, &*call.json)).collect();
    assert_eq!(calls, [("f", r#"{"a":"1"}"#), ("f", r#"{"a":"1"}"#), ("g", "{}")]);
    assert_eq!(&input[told.used..], "\n</function_calls>");
}

#[test]
fn closing_elements_inside_values_are_data() {
    let value = "x = \"</parameter>\"; y </function> <parameter=z> </tool_call>\n</parameter>\n</parameter>";
    let input = format!("<function=f><parameter=a>\n{value}\n</parameter></function>");
    let made: serde_json::Value = serde_json::from_str(&arguments(QWEN, &input, &text())).unwrap();
    assert_eq!(made["a"], value);
}

#[test]
fn only_one_newline_goes() {
    assert_eq!(arguments(QWEN, "<function=f><parameter=a>\n\n</parameter></function>", &text()), r#"{"a":""}"#);
    assert_eq!(arguments(QWEN, "<function=f><parameter=a></parameter></function>", &text()), r#"{"a":""}"#);
    assert_eq!(arguments(QWEN, "<function=f><parameter=a>\n</parameter></function>", &text()), r#"{"a":""}"#);
    assert_eq!(arguments(QWEN, "<function=f><parameter=a>\n\n\n\n</parameter></function>", &text()), r#"{"a":"\n\n"}"#);
    let invoke = "<invoke name=\"f\"><parameter name=\"a\">\n</parameter></invoke>";
    assert_eq!(arguments(INVOKE, invoke, &text()), r#"{"a":"\n"}"#);
}

#[test]
fn one_windows_newline_goes() {
    let made = |value: &str| {
        arguments(QWEN, &format!("<function=f>\r\n<parameter=a>{value}</parameter>\r\n</function>"), &text())
    };
    assert_eq!(made("\r\nOslo\r\n"), r#"{"a":"Oslo"}"#);
    assert_eq!(made("\r\n\r\nOslo\r\n\r\n"), r#"{"a":"\r\nOslo\r\n"}"#);
    assert_eq!(made("\rOslo\r"), r#"{"a":"\rOslo\r"}"#);
    assert_eq!(made("\nOslo\r\r\n"), r#"{"a":"Oslo\r"}"#);
    assert_eq!(made("\r\n"), r#"{"a":""}"#);
    let input = "<function=f><parameter=a>\r\nls\r\n<parameter=b>\r\nx\r\n</parameter></function>";
    assert_eq!(arguments(QWEN, input, &text()), r#"{"a":"ls","b":"x"}"#);
    // Written with a plain newline, such a value would lose its end.
    assert!(!TagsBody::holds(QWEN, "Oslo\r") && TagsBody::holds(INVOKE, "Oslo\r"));
}

#[test]
fn missing_closing_elements() {
    let told_ = told(QWEN, "<function=f><parameter=a>\nls\n</function>\n</tool_call>", &text());
    assert_eq!((told_.json(), told_.calls[0].complete), (r#"{"a":"ls"}"#, Some(true)));
    assert_eq!(told_.calls[0].repaired.len(), 1);
    let told_ = told(QWEN, "<function=f><parameter=a>\nls\n<parameter=b>\nx\n</parameter></function>", &text());
    assert_eq!((told_.json(), told_.calls[0].complete), (r#"{"a":"ls","b":"x"}"#, Some(true)));
    assert_eq!(told_.calls[0].repaired.len(), 1);
    // What wasn't declared or was given already is data.
    let input = "<function=f><parameter=a>\nls <parameter=b>\n<parameter=c>\n<parameter=a>\n</parameter></function>";
    let told_ = told(QWEN, input, &text());
    assert_eq!(told_.json(), r#"{"a":"ls <parameter=b>\n<parameter=c>\n<parameter=a>"}"#);
    assert_eq!(told_.calls[0].repaired.len(), 0);
    let told_ = told(QWEN, "<function=f><parameter=a>\nls\n</parameter>\n</tool_call>", &text());
    assert_eq!((told_.json(), told_.calls[0].complete), (r#"{"a":"ls"}"#, Some(true)));
    assert_eq!(told_.calls[0].repaired.len(), 1);
}

#[test]
fn what_can_stand_as_it_is() {
    for (value, holds) in [
        ("x = \"</parameter>\"; y", true),
        ("</function>", true),
        ("</parameter></parameter>", true),
        ("a <parameter=b>", true),
        ("</parameter>\n</function>", false),
        ("</parameter><parameter=b>", false),
        ("\n<parameter=b>", false),
        ("</parameter></parameter", true),
    ] {
        assert_eq!(TagsBody::holds(QWEN, value), holds, "{value}");
    }
    assert!(!TagsBody::holds(CDATA_TAGS, " <![CDATA["));
    // An element whose name goes on is another one.
    assert!(TagsBody::holds(INVOKE, "</parameter><parameters></parameter><parameter=a>"));
}

#[test]
fn text_that_ends_early_keeps_a_true_beginning() {
    let input = "<function=f>\n<parameter=a>\nls\n</parameter>\n<parameter=b>\n12\n</parameter>\n</function>";
    let signatures = declared([("a", Kind::String), ("b", Kind::Integer)]);
    let whole = told(QWEN, input, &signatures).json().to_owned();
    assert_eq!(whole, r#"{"a":"ls","b":12}"#);
    for end in 0..input.len() {
        let told = told(QWEN, &input[..end], &signatures);
        if told.calls.is_empty() {
            assert!(matches!(told.step, Step::Failed(_)));
            continue;
        }
        assert_eq!(told.calls[0].complete, Some(false), "cut at {end}");
        assert!(whole.starts_with(told.json()), "{} of {whole}", told.json());
        assert_eq!(told.used, end);
    }
}

#[test]
fn a_parameter_given_twice_keeps_its_first_value() {
    let input = "<function=f><parameter=a>1</parameter><parameter=a>2</parameter><parameter=b>3</parameter></function>";
    let told = told(QWEN, input, &text());
    assert_eq!(told.json(), r#"{"a":"1","b":"3"}"#);
    assert_eq!(told.calls[0].repaired.len(), 1);
}

#[test]
fn cdata() {
    let made = |value: &str| {
        let input = format!("<function name=\"f\"><param name=\"a\">{value}</param></function>");
        let made: serde_json::Value = serde_json::from_str(&arguments(CDATA_TAGS, &input, &text())).unwrap();
        made["a"].as_str().unwrap().to_owned()
    };
    assert_eq!(made("plain"), "plain");
    assert_eq!(made("<![CDATA[a </param></function> b]]>"), "a </param></function> b");
    assert_eq!(made("\n<![CDATA[if [[ a ]]> b]]>\n"), "if [[ a ]]> b");
    assert_eq!(made("<![CDATA[x]]]]><![CDATA[></param></function>]]>"), "x]]></param></function>");
    assert_eq!(made("<![CDAT["), "<![CDAT[");
}

#[test]
fn the_markup_may_say_the_type() {
    let signatures = declared([("a", Kind::Integer)]);
    let call = |string: &str, value: &str| {
        format!(
            "<｜DSML｜ invoke name=\"f\"><｜DSML｜ parameter name=\"a\" string=\"{string}\">{value}</｜DSML｜ parameter></｜DSML｜ invoke>"
        )
    };
    assert_eq!(arguments(DSML, &call("true", "5"), &signatures), r#"{"a":"5"}"#);
    assert_eq!(arguments(DSML, &call("false", " {\"x\": [1]} "), &signatures), r#"{"a":{"x": [1]}}"#);
    assert_eq!(arguments(DSML, &call("false", "\"\\u003c\""), &signatures), r#"{"a":"\u003c"}"#);
    let object = "<｜DSML｜ invoke name=\"f\">\n{\"a\": \"}</｜DSML｜ invoke>\", \"b\": {}}\n</｜DSML｜ invoke>";
    assert_eq!(arguments(DSML, object, &signatures), r#"{"a": "}</｜DSML｜ invoke>", "b": {}}"#);
    let qwen = "<function=f><parameter=a string=\"false\">\"</\\u0070arameter>\"</parameter></function>";
    assert_eq!(arguments(QWEN, qwen, &signatures), r#"{"a":"</\u0070arameter>"}"#);
}

#[test]
fn names_are_escaped() {
    let input = "<function=f><parameter=a\"\\\n>1</parameter></function>";
    assert_eq!(arguments(QWEN, input, &Signatures::default()), r#"{"a\"\\":1}"#);
}

#[test]
fn what_is_no_call_fails() {
    for input in ["", "  \n", "<function", "<function=f", "hello", "<functions=f>", "<function=>", "</function>"] {
        let told = told(QWEN, input, &text());
        assert!(matches!(told.step, Step::Failed(_)) && told.calls.is_empty(), "{input}: {told:?}");
        assert_eq!(told.used, 0);
    }
    for input in ["<function=f>hello", "<function=f></parameter>", "<function=f>{]"] {
        let told = told(QWEN, input, &text());
        assert!(matches!(told.step, Step::Failed(_)) && told.calls[0].complete != Some(true), "{input}: {told:?}");
    }
}

#[test]
fn time_is_linear() {
    let n = 4_000;
    for (piece, tags) in [
        ("</parameter>", QWEN),
        ("</parameter> ", QWEN),
        ("</parameter><", QWEN),
        ("</parameter></functio", QWEN),
        ("</parameter>\n\n\n\n\n\n\n\n", QWEN),
        ("</function>\n", QWEN),
        ("<", QWEN),
        ("<parameter=", QWEN),
        ("\n<parameter=a>", QWEN),
        ("é</", INVOKE),
        ("\n", QWEN),
        ("x", QWEN),
        ("</x:paramete", INVOKE),
    ] {
        for step in [1, 4, 997, usize::MAX] {
            let input = if tags.newlines {
                format!("<function=f><parameter=a>{}", piece.repeat(n))
            } else {
                format!("<invoke name=\"f\"><parameter name=\"a\">{}", piece.repeat(n))
            };
            let mut body = body(tags);
            let cuts = (0..input.len()).skip(1).step_by(step);
            let cuts: Vec<_> = if step == usize::MAX { vec![] } else { cuts.collect() };
            let mut recorder = Recorder::new(text());
            drive(&mut body, input.as_bytes(), cuts.iter().copied(), &mut recorder);
            // Publishing looks once more.
            let touched = recorder.looked + input.len();
            assert!(
                touched <= 4 * input.len() + 4 * cuts.len() + 100,
                "{piece:?} by {step}: {touched} for {}",
                input.len()
            );
        }
    }
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "<function=f>",
        "</function>",
        "<parameter=a>",
        "<parameter=b>",
        "</parameter>",
        "\n",
        "\r\n",
        "\r",
        " ",
        "</tool_call>",
        "x",
        "{",
        "}",
        "\"",
        "12",
        "true",
        "<",
        "</",
        ">",
        "é",
        "<invoke name=\"f\">",
        "</invoke>",
        "<parameter name=\"b\">",
        "<invoke name='g'>",
        "<![CDATA[",
        "]]>",
        "<param name=\"a\">",
        "</param>",
        "<function name=\"f\">",
        "\u{1f600}",
        "null",
        "[1,",
        "]",
        "\\",
        "string=\"false\"",
    ]);
    let pieces = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes());
    (pieces, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)).prop_map(|(mut bytes, flips)| {
        for (at, byte) in flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_split_says_the_same(bytes in mutated(), opening in 0..4_usize) {
        let tags = [QWEN, INVOKE, CDATA_TAGS, DSML][opening];
        let signatures = declared([("a", Kind::String), ("b", Kind::OneOf(vec![Kind::Integer, Kind::Array(Box::new(Kind::Any))]))]);
        let front = ["<function=f><parameter=a>", "<invoke name=\"f\"><parameter name=\"b\">", "<function name=\"f\"><param name=\"a\">", ""][opening];
        let input = [front.as_bytes(), &bytes].concat();
        every_way(&|| Box::new(body(tags)), &input, &signatures);
    }

    #[test]
    fn a_declared_string_comes_back(value in "(</?(parameter|function|tool_call)=?>?|\n|<|.){0,12}") {
        // What ends a value by rule is the one thing that raw text can't say.
        let held = format!("{value}\n</parameter>\n</function>");
        // The opening of another call ends a value too.
        let next = regex::Regex::new(r#"<function=\s*["']*[^\s<>{}"'=]+["']*(\s[^>]*)?>"#).unwrap();
        prop_assume!(!next.is_match(&held));
        let ends = regex::Regex::new(r"</parameter>[ \t\r\n]*(<parameter[\s=]|</function>|</tool_call>)|</function>[ \t\r\n]*</tool_call>").unwrap();
        prop_assume!(!value.ends_with('\r'));
        // So does a closer that stands there twice.
        prop_assume!(!value.trim_end().ends_with("</parameter>"));
        prop_assume!(ends.find(&held).unwrap().start() == value.len() + 1);
        let input = format!("<function=f>\n<parameter=a>\n{held}\n</tool_call>");
        let made: serde_json::Value = serde_json::from_str(&arguments(QWEN, &input, &text())).unwrap();
        prop_assert_eq!(&made["a"], &value);
    }
}
