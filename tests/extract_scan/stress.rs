//! Shapes that make parsers quadratic. Bytes are counted, not seconds: at most four looks at each byte, however it is cut; a few
//! more where bare calls are looked for at each line's start.

use loopwright::core::extract::{Policy, Quoted, UnknownTool};

use crate::support::{parse, sound, tools};

const SIZE: usize = 40 * 1024;

fn shapes() -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(SIZE / piece.len());
    let mut all: Vec<(&'static str, String)> = [
        "<",
        "`",
        "{",
        "[",
        "```",
        "~~~\n",
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>[",
        "<tool_call>{\"a\":",
        "</tool_call>",
        "<tool_call>{\"arguments\": {\"a\": \"",
        "<tool_cal",
        "<tool_call>\n",
        "<think>",
        "</think>",
        "<think></think>",
        "<tool_response>",
        "<tool_response></tool_response>",
        "<function=",
        "<function=f>",
        "<function=f><parameter=a>",
        "<invoke name=\"f\"><parameter name=\"a\">",
        "</parameter>",
        "<tool_call>f<arg_key>a",
        "[TOOL_CALLS]",
        "[TOOL_CALLS]f",
        "[TOOL_CALLS]f{",
        "[TOOL_CALLS] [{\"name\":\"f\",\"arguments\":{}}]",
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>f",
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}",
        "<|channel|>commentary to=functions.f <|message|>{",
        "<|start|>assistant",
        "<|channel|>",
        "to=functions.f",
        "<|tool_call>call:f{a:",
        "<start_function_call>call:f{",
        "<|open|>call tool=\"f\" index=\"1\"<|sep|>",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">",
        "<|tool_call_start|>[f(a=",
        "<function_calls>f(a=[",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
        "<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>\n",
        "<tool_call>{\"name\":\"f\",\"arguments\":{]</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":[[[[[[[[[[",
        "` <tool_call>{\"name\":\"f\",\"arguments\":{}} ",
        "``` <tool_call>{\"name\":\"f\",\"arguments\":{}}\n```\n",
        "> <tool_call>{\"name\":\"f\"\n",
        "\n{\"a\": 1",
        "\n{\"name\": \"rm\", ",
        "\n[f(",
        "\n[rm(a=1)]",
        "\n[[[[",
        " ",
        "\n",
        "a",
        "\u{ff5c}",
        "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}>",
    ]
    .iter()
    .map(|piece| (*piece, fill(piece)))
    .collect();
    all.push((
        "one argument",
        format!("<tool_call>{{\"name\":\"f\",\"arguments\":{{\"a\":\"{}\"}}}}", fill("ab c\\n\\u00e9")),
    ));
    all.push(("late name", format!("<tool_call>{{\"arguments\":{{\"a\":\"{}\"}},\"name\":\"f\"}}", fill("ab c"))));
    all.push(("no name", format!("<tool_call>{{\"arguments\":{{\"a\":\"{}\"}}}}", fill("<tool_call>{"))));
    all.push((
        "one element",
        format!("<function=f><parameter=a>{}</parameter></function>", fill("a < b </parameter> ")),
    ));
    all.push(("nested", format!("<tool_call>{{\"name\":\"f\",\"arguments\":{}1", fill("{\"a\":"))));
    all.push(("prose, then openers", fill("word ") + &fill("<tool_call>{")));
    all
}

#[test]
fn each_byte_is_looked_at_four_times_at_most() {
    let known = tools(&["f"]);
    let policies = [
        Policy::default(),
        Policy { bare_json: true, unknown_tools: UnknownTool::Call, repair: false, ..Policy::default() },
        Policy { quoted_calls: Quoted::Run, bare_json: true, reasoning_calls: true, ..Policy::default() },
    ];
    let mut worst = Vec::new();
    for (name, text) in shapes() {
        let input = text.as_bytes();
        for (which, policy) in policies.iter().enumerate() {
            for pieces in [input.len(), 97, 5].into_iter().take(if which == 0 { 3 } else { 1 }) {
                let (parsed, touched) = parse(input.chunks(pieces), Some(&known), policy);
                if pieces > 97 {
                    sound(input, &parsed);
                }
                // The few kilobytes are what may be looked at in vain before that has to stay in proportion.
                let most = if policy.bare_json { 7 } else { 4 };
                if touched > most * input.len() as u64 + 4096 {
                    worst.push((name, which, pieces, touched as f64 / input.len() as f64));
                }
            }
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}
