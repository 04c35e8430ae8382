//! Shapes that make parsers quadratic. Bytes are counted, not seconds: at most four looks at each byte, however it is
//! cut, bare calls included.

use loopwright_extract::{Policy, Quoted, UnknownTool};

use crate::{
    shapes::{crossed, shapes},
    support::{parse, sound, tools},
};

const SIZE: usize = 40 * 1024;

/// What may be looked at in vain before that has to stay in proportion, and the little that a text of any length costs.
const FREE: u64 = 1024;

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
        let (which, size) = [(0, input.len()), (0, 1), (1, 5), (2, 97), (1, 1)][at % 5];
        let (_, touched) = parse(input.chunks(size), Some(&known), &policies()[which]);
        if touched > 4 * input.len() as u64 + FREE {
            worst.push((name, which, size, touched as f64 / input.len() as f64));
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}

#[test]
fn a_limit_on_arguments_makes_nobody_look_again() {
    let known = tools(&["f"]);
    let mut worst = Vec::new();
    for (at, (name, text)) in crossed(16 * 1024).enumerate().filter(|(at, _)| at % 11 == 0) {
        let input = text.as_bytes();
        let (most, size) = [(1000, 5), (4000, 5), (1000, input.len()), (4000, 1)][at / 11 % 4];
        let policy = Policy { max_argument_bytes: most, ..Policy::default() };
        let (_, touched) = parse(input.chunks(size), Some(&known), &policy);
        if touched > 4 * input.len() as u64 + FREE {
            worst.push((name, most, size, touched as f64 / input.len() as f64));
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}

/// Where closers are missing, all that follows is held until the ends of values are known.
#[test]
fn calls_without_their_closers_cost_no_more_while_what_follows_is_weighed() {
    let mut worst = Vec::new();
    for unit in [
        "<function=f><parameter=a></tool_call></tool_call></tool_call></tool_call></tool_call></tool_call>",
        "<function=f><parameter=o>{</tool_call></tool_call></tool_call></tool_call></tool_call></tool_call>",
        "<function=f><parameter=a>x</tool_call>",
        "<function=f><parameter=a>x</parameter>\n",
        "<tool_call><function=f><parameter=a>x</parameter>\n",
        "<tool_call><function=f><parameter=a>x</tool_call>\n",
        "<invoke name=\"f\"><parameter name=\"a\"></function_calls>",
        "<function_calls><invoke name=\"f\"><parameter name=\"a\">x</invoke></function_calls>",
        "<tool_call>f<arg_key>a</arg_key><arg_value>x</tool_call>",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>x]<]minimax[>[</tool_call>",
        concat!(
            "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>",
            "<|open|>argument key=\"a\" type=\"string\"<|sep|>x<|close|>tools<|sep|>",
        ),
    ] {
        let text = unit.repeat(SIZE / unit.len());
        for (which, policy) in policies().iter().enumerate() {
            for size in [text.len(), 97, 5, 1] {
                let (_, touched) = parse(text.as_bytes().chunks(size), Some(&tools(&["f"])), policy);
                if touched > 4 * text.len() as u64 + FREE {
                    worst.push((unit, which, size, touched as f64 / text.len() as f64));
                }
            }
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}

#[test]
fn broken_calls_cost_no_more_behind_the_last_one_allowed() {
    let mut worst = Vec::new();
    for unit in [
        "<tool_call>f<arg_key>a<arg_value>b",
        "<tool_call>f<arg_key>",
        "<tool_call>f<arg_key>\" \"",
        "<tool_call>f<arg_key>a</arg_key>\n",
    ] {
        let text = unit.repeat(200 * 1024 / unit.len());
        for (most, known, size) in [(16, "f", 97), (0, "f", text.len()), (16, "g", 97)] {
            let policy = Policy { max_calls: most, ..Policy::default() };
            let (_, touched) = parse(text.as_bytes().chunks(size), Some(&tools(&[known])), &policy);
            if touched > 4 * text.len() as u64 + FREE {
                worst.push((unit, most, known, touched as f64 / text.len() as f64));
            }
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
    // One to find markers, one to follow the line, one for braces, which is shared with the first at the beginning of a
    // piece.
    assert!(looks(&prose, false) >= 2 * prose.len() as u64);
    assert!(looks(&prose, true) >= 3 * prose.len() as u64 - 64);
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
