//! Shapes that make parsers quadratic. Bytes are counted, not seconds: at most four looks at each byte, however it is cut, bare
//! calls included.

use loopwright::core::extract::{Policy, Quoted, UnknownTool};

use crate::{
    shapes::{crossed, shapes},
    support::{parse, sound, tools},
};

const SIZE: usize = 40 * 1024;

/// The few kilobytes are what may be looked at in vain before that has to stay in proportion.
const FREE: u64 = 8192;

fn policies() -> [Policy; 3] {
    [
        Policy::default(),
        Policy { bare_json: true, unknown_tools: UnknownTool::Call, repair: false, ..Policy::default() },
        Policy { quoted_calls: Quoted::Run, bare_json: true, reasoning_calls: true, ..Policy::default() },
    ]
}

#[test]
fn each_byte_is_looked_at_four_times_at_most() {
    let known = tools(&["f"]);
    let mut worst = Vec::new();
    for (name, text) in shapes(SIZE) {
        let input = text.as_bytes();
        for (which, policy) in policies().iter().enumerate() {
            for size in [input.len(), 97, 5] {
                let (parsed, touched) = parse(input.chunks(size), Some(&known), policy);
                if size > 97 {
                    sound(input, &parsed);
                }
                if touched > 4 * input.len() as u64 + FREE {
                    worst.push((name.clone(), which, size, touched as f64 / input.len() as f64));
                }
            }
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}

#[test]
fn no_grammar_looks_more_often_whatever_it_is_fed() {
    let known = tools(&["f"]);
    let mut worst = Vec::new();
    for (at, (name, text)) in crossed(8 * 1024).enumerate() {
        let input = text.as_bytes();
        // In pieces of a few bytes a marker's beginning is looked at again with each; where braces count too, that is one look more.
        let (which, size, most) = [(0, input.len(), 4), (0, 1, 4), (1, 5, 5), (2, 97, 4), (1, 1, 5)][at % 5];
        let (_, touched) = parse(input.chunks(size), Some(&known), &policies()[which]);
        if touched > most * input.len() as u64 + FREE {
            worst.push((name, which, size, touched as f64 / input.len() as f64));
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}

#[test]
fn looks_are_counted_where_they_happen() {
    let looks = |text: &str, bare_json: bool| {
        let policy = Policy { bare_json, ..Policy::default() };
        parse([text.as_bytes()], Some(&tools(&["f"])), &policy).1
    };
    let prose = "a word, and more of them. ".repeat(400);
    // One to find markers, one to follow the line, one for braces.
    assert!(looks(&prose, false) >= 2 * prose.len() as u64);
    assert!(looks(&prose, true) >= 3 * prose.len() as u64);
    // What a grammar looks at again is told by it.
    for (often, once) in
        [("{\"a\": \"x \"y\" z\"}", "{\"a\": \"x  y  z\"}"), ("{\"a\": aaaaaaaaaa}", "{\"a\": \"aaaaaaaa\"}")]
    {
        let call = |arguments: &str| {
            format!("<tool_call>{{\"name\":\"f\",\"arguments\":{arguments}}}</tool_call>\n").repeat(100)
        };
        assert_eq!(call(often).len(), call(once).len());
        assert!(looks(&call(often), false) > looks(&call(once), false), "{often}");
    }
}
