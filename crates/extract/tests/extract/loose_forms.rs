//! The forms in which Gemma writes calls beside its template's (row E3 of the faults): other quotes, other brackets, an
//! equals sign, a name without `call:`.

use serde_json::{Value, json};

use crate::reading::{Setup, read};

const MARKERS: [(&str, &str, &str); 2] =
    [("<|tool_call>", "<tool_call|>", "<|\"|>"), ("<start_function_call>", "<end_function_call>", "<escape>")];

fn setups() -> [Setup; 3] {
    let schema = json!({"type": "object", "properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}, "tags": {"type": "array"}, "on": {"type": "boolean"},
    }});
    [Setup::tools(&[("look", schema)]), Setup::names(&["look"]), Setup::auto()]
}

#[track_caller]
fn check(body: &str, arguments: &Value, repaired: bool) {
    for (open, close, quote) in MARKERS {
        let text = format!("Hi. {open}{}{close} bye", body.replace("QQ", quote));
        for setup in setups() {
            let reading = read(&text, &setup);
            assert_eq!(reading.called(), [("look", arguments.clone())], "{text}: {reading:?}");
            assert!(reading.calls[0].complete, "{text}: {reading:?}");
            assert_eq!(reading.calls[0].repaired, repaired, "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.  bye", "{text}: {reading:?}");
        }
        if repaired {
            let strict = setups()[0].clone().with(|policy| policy.repair = false);
            assert!(read(&text, &strict).calls.iter().all(|call| !call.complete), "{text}");
        }
    }
}

#[test]
fn e3_strings_and_keys_may_stand_in_other_quotes() {
    let both = json!({"q": "x y", "n": 2});
    check("call:look{q:QQx yQQ,n:2}", &both, false);
    check("call:look{q:\"x y\",n:2}", &both, false);
    check("call:look{\"q\":\"x y\",\"n\":2}", &both, false);
    check("call:look{q:'x y',n:2}", &both, true);
    check("call:look{'q':'x y','n':2}", &both, true);
    check("call:look{q:`x y`,n:2}", &both, true);
    check("call:look{'q': QQx yQQ, 'n': 2}", &both, true);
    check("call:look{q: QQx yQQ, n: 2}", &both, false);
    check("call:look{tags:['a','b, }c'],q:''}", &json!({"tags": ["a", "b, }c"], "q": ""}), true);
    check("call:look{q:'it\\'s'}", &json!({"q": "it's"}), true);
    check("call:look{q:'say \"hi\"'}", &json!({"q": "say \"hi\""}), true);
}

#[test]
fn e3_parentheses_equals_signs_and_a_missing_word_are_read() {
    let both = json!({"q": "x y", "n": 2});
    check("call:look(q=\"x y\", n=2)", &both, true);
    check("call:look(q='x y', n=2)", &both, true);
    check("call:look(q=QQx yQQ,n=2)", &both, true);
    check("call:look({\"q\": \"x y\", \"n\": 2})", &both, true);
    check("call:look{q=\"x y\",n=2}", &both, true);
    check("look{q:QQx yQQ,n:2}", &both, false);
    check("look(q=\"x y\", n=2)", &both, true);
    check("call: look{q:QQx yQQ,n:2}", &both, false);
    check("call:look\n{q:QQx yQQ,n:2}", &both, false);
    check("call:look()", &json!({}), true);
    check("look{}", &json!({}), false);
    check("call:look(on=True, tags=[1, {a: 2}])", &json!({"on": true, "tags": [1, {"a": 2}]}), true);
}

#[test]
fn e3_quotes_that_do_not_pair_off_complete_nothing() {
    for body in
        ["call:look{q:'it's'}", "call:look{q:'x}", "call:look{q:'say 'hi' now'}", "call:look(q='x'", "call:look{'q:1}"]
    {
        for (open, close, _) in MARKERS {
            let reading = read(&format!("{open}{body}{close} bye"), &setups()[0]);
            assert!(reading.calls.iter().all(|call| !call.complete), "{body}: {reading:?}");
        }
    }
}

#[test]
fn e3_the_forms_quote_what_they_hold() {
    let quoted = "<|tool_call>call:drop{t:<|\"|>u<|\"|>}<tool_call|>";
    for body in
        [format!("call:look{{q:'{quoted}'}}"), format!("look(q='{quoted}', n=1)"), format!("call:look{{q:`{quoted}`}}")]
    {
        let reading = read(&format!("<|tool_call>{body}<tool_call|>"), &Setup::names(&["look", "drop"]));
        // It had to be mended and holds what opens a call: in doubt it doesn't run either.
        let [call] = reading.calls.as_slice() else { panic!("{body}: {reading:?}") };
        assert!(call.name == "look" && call.arguments.contains("drop"), "{body}: {reading:?}");
    }
}
