use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    super::{
        signature::Signatures,
        value::testing::{Recorder, Told, drive, every_way},
    },
    *,
};

const P: &str = "]<]minimax[>[";

fn body() -> NestedBody {
    NestedBody::within(P, ["]<]minimax[>[</tool_call>"].into_iter())
}

fn signatures() -> Signatures {
    let mut signatures = Signatures::default();
    signatures.add(
        "f",
        &json!({"type": "object", "properties": {
            "a": {"type": "string"},
            "n": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}}},
            "where": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}},
        }}),
    );
    signatures
}

/// `~` stands for the prefix.
fn told(input: &str) -> Told {
    every_way(&|| Box::new(body()), input.replace('~', P).as_bytes(), &signatures())
}

fn call(inside: &str) -> Told {
    let told = told(&format!("\n~<invoke name=\"f\">{inside}~</invoke>\n~</tool_call>"));
    assert_eq!(told.step, Step::Done, "{told:?}");
    assert_eq!(told.calls[0].complete, Some(true), "{told:?}");
    told
}

fn made(inside: &str) -> Json {
    serde_json::from_str(call(inside).json()).unwrap()
}

#[test]
fn members_by_their_declared_types() {
    assert_eq!(call("~<a>12~</a>\n~<n>12~</n>~<x>true~</x>").json(), r#"{"a":"12","n":12,"x":true}"#);
    assert_eq!(call("").json(), "{}");
    assert_eq!(call("\n{\"a\": \"~</a>\"}\n").json(), "{\"a\": \"]<]minimax[>[</a>\"}");
    assert_eq!(made("~<a>\n x~</a> ; </a>~</a>")["a"], format!("\n x{P}</a> ; </a>"));
    assert_eq!(made("~<a>~</a>~<b/>~<tags/>~<where>\n~</where>"), json!({"a": "", "b": "", "tags": [], "where": {}}));
}

#[test]
fn objects_and_arrays() {
    let inside =
        "~<where>\n~<city>1~</city>~<zip>0150~</zip>\n~</where>\n~<tags>~<item>1~</item>~<item>b~</item>~</tags>";
    assert_eq!(made(inside), json!({"where": {"city": "1", "zip": "0150"}, "tags": ["1", "b"]}));
    assert_eq!(made("~<tags>1~</tags>~<tags>2~</tags>~<n>3~</n>"), json!({"tags": ["1", "2"], "n": 3}));
    assert_eq!(made("~<tags>[\"x\"]~</tags>"), json!({"tags": ["x"]}));
    assert_eq!(made("~<where>{\"city\": \"x\"}~</where>"), json!({"where": {"city": "x"}}));
    let edit = |old: &str| format!("~<old>{old}~</old>~<new>1~</new>");
    let all = json!({"edits": [{"old": "a", "new": "1"}, {"old": "b", "new": "1"}]});
    let items = format!("~<edits>~<item>{}~</item>~<item>{}~</item>~</edits>", edit("a"), edit("b"));
    assert_eq!(made(&items), all);
    assert_eq!(made(&format!("~<edits>{}~</edits>~<edits>{}~</edits>", edit("a"), edit("b"))), all);
    let free = "~<x>~<item>1~</item>~<item>~<y>~<z>null~</z>~</y>~</item>~</x>";
    assert_eq!(made(free), json!({"x": [1, {"y": {"z": null}}]}));
}

#[test]
fn what_is_wrong_is_said() {
    let told_ = call("~<a>1~</a>~<a>~<b>2~</b>~</a>~<n>3~</n>");
    assert_eq!((told_.json(), told_.calls[0].repaired.len()), (r#"{"a":"1","n":3}"#, 1));
    let told_ = call("~<where>~<city>x~</city>");
    assert_eq!((told_.json(), told_.calls[0].repaired.len()), (r#"{"where":{"city":"x"}}"#, 1));
    let told_ = call("~<n>~<x>1~</x>~</n>");
    assert_eq!((told_.json(), told_.calls[0].wrong.len()), (r#"{"n":{"x":1}}"#, 1));
    let open = told("~<invoke name=\"f\">~<a>x~</a>~</tool_call>");
    assert_eq!((open.json(), open.calls[0].complete, open.calls[0].repaired.len()), (r#"{"a":"x"}"#, Some(true), 1));
    for inside in ["x", "~</a>", "~<>", "~<a/>x"] {
        let input = format!("~<invoke name=\"f\">{inside}~</invoke>");
        let broken = told(&input);
        assert_eq!((broken.step, broken.calls[0].complete), (Step::Done, Some(false)), "{inside}");
    }
    for input in ["", "x", "~<invoke>", "~<a>", "~<invoke name=\"\">"] {
        let told = told(input);
        assert!(matches!(told.step, Step::Failed(_)) && told.calls.is_empty(), "{input}");
    }
}

#[test]
fn several_calls_in_a_region() {
    let told = told("~<invoke name=\"f\">~<a>1~</a>~</invoke>\n~<invoke name=\"g\"/>\n~</tool_call>");
    assert_eq!(told.calls.iter().map(|call| &*call.json).collect::<Vec<_>>(), [r#"{"a":"1"}"#, "{}"]);
}

#[test]
fn text_that_ends_early_keeps_a_true_beginning() {
    let input =
        "~<invoke name=\"f\">~<tags>1~</tags>~<tags>2~</tags>~<where>~<city>x~</city>~</where>~<n>12~</n>~</invoke>";
    let input = input.replace('~', P);
    let whole = told(&input).json().to_owned();
    for end in 0..input.len() {
        let told = told(&input[..end]);
        match told.calls.first() {
            None => assert!(matches!(told.step, Step::Failed(_))),
            Some(call) => assert!(call.complete == Some(false) && whole.starts_with(&call.json), "{call:?}"),
        }
    }
}

#[test]
fn depth_is_bounded() {
    let input = "~<invoke name=\"f\">".replace('~', P) + &format!("{P}<x>").repeat(100_000);
    let told = drive(&mut body(), input.as_bytes(), (1..input.len()).step_by(4), &mut Recorder::new(signatures()));
    assert!(matches!(told.step, Step::Failed(_)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_split_says_the_same(pieces in prop::collection::vec(prop::sample::select(vec![
        "~<a>", "~</a>", "~<where>", "~</where>", "~<tags>", "~</tags>", "~<edits>", "~</edits>", "~<old>", "~</old>", "~<item>", "~</item>",
        "~<city>", "~</city>", "~<n>", "~</n>", "~</invoke>", "~</tool_call>", "~<invoke name=\"f\">", "12", "x", " ", "[", "]", "{}", "é", "~", "]<]", "~<q/>",
    ]), 0..24), head in any::<bool>()) {
        told(&(if head { "~<invoke name=\"f\">" } else { "" }.to_owned() + &pieces.concat()));
    }
}
