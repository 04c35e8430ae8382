//! Looks at bytes under limits of every size: calls that are whole, broken, and of tools that nobody declared, one
//! after the other.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Events, Policy, dialects, render_calls};
use serde_json::json;

use crate::reading::Setup;

fn looks(text: &[u8], size: usize, setup: &Setup) -> u64 {
    let mut parser = setup.parser();
    let mut events = Events::new();
    for piece in text.chunks(size) {
        events.clear();
        parser.feed(piece, &mut events);
    }
    parser.finish(&mut events);
    parser.touched()
}

/// Shapes that made bodies look far ahead, over and over.
fn shapes() -> Vec<String> {
    let mut shapes: Vec<String> = [
        "<function=f>(\" \")",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\" y\" z\"}}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\"  ",
        "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"x\\\" y\\\"}\"}</tool_call>",
        "<tool_call>{\"name\":\"f\" \"arguments\":{a: b c d e f, 'x': \"y\" + \"z\"}}",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\", and so on it goes, said he\"}}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x}}</tool_call>\n<tool_call>{\"name\":\"",
        "[TOOL_CALLS]f[ARGS]{\"a\":\"b\" : \"c\" d}",
        "<|python_tag|>{\"name\":\"f\",\"parameters\":{\"a\":[\"b\" c\", \"d\"\"e\"]}};",
        "<|tool_call_start|>[f(a=\"x\" b)]<|tool_call_end|>",
        "<function=f>\n<parameter=a>\nx\n</parameter> y\n<parameter=b>\n</function>\n",
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x\n</tool_call> </arg_value> z",
        "<|tool_call>call:f{a:<|\"|>x}<tool_call|>",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"x\" \"b\"",
    ]
    .map(str::to_owned)
    .to_vec();
    for dialect in dialects() {
        let call = ToolUse::from_text("", "f", json!({"a": "x \"y\", z", "b": [1, "two"]}).to_string());
        let text = render_calls(&[call], dialect).unwrap();
        shapes.push(text.clone());
        for at in [text.len() / 2, text.len() * 2 / 3] {
            let at = (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
            shapes.push(text[..at].to_owned());
            shapes.push(format!("{}\"{}", &text[..at], &text[at..]));
        }
    }
    shapes
}

#[test]
fn d17_four_looks_a_byte_under_every_limit() {
    let mut worst = Vec::new();
    for shape in shapes() {
        let text = shape.repeat(6_000 / shape.len() + 1);
        for tools in [Setup::auto(), Setup::names(&["f"]), Setup::names(&["g"])] {
            for most in [1, 50, 150, 1 << 20] {
                for size in [1, usize::MAX] {
                    let setup = tools.clone().with(|policy| {
                        *policy = Policy {
                            max_argument_bytes: most,
                            max_calls: 1000,
                            bare_json: tools.tools.is_some(),
                            ..Policy::default()
                        };
                    });
                    let looks = looks(text.as_bytes(), size.min(text.len()), &setup);
                    let ratio = looks as f64 / text.len() as f64;
                    if looks > 4 * text.len() as u64 {
                        worst.push((ratio, most, size, tools.tools.is_some(), shape.clone()));
                    }
                }
            }
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen = std::collections::BTreeSet::new();
    let shown: Vec<String> =
        worst.iter().filter(|worst| seen.insert(&worst.4)).take(60).map(|worst| format!("{worst:?}")).collect();
    assert!(worst.is_empty(), "{} of them\n{}", worst.len(), shown.join("\n"));
}

#[test]
fn d17_an_open_quotation_mark_ends_with_the_text() {
    let shape = "<|tool_call>call:f{a:<|\"|>x \"y\", z<|\"\"|>,b:[1,<|\"|>two<|\"|>]}<tool_call|>";
    for length in [5_000, 20_000, 24_000, 60_000] {
        let text = shape.repeat(length / shape.len() + 1);
        for most in [20, 100] {
            let setup = Setup::auto().with(|policy| {
                policy.max_argument_bytes = most;
                policy.max_calls = 1000;
            });
            assert!(looks(text.as_bytes(), 1, &setup) > 0);
        }
    }
}
