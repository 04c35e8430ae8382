//! Texts that make parsers quadratic.

/// Whole texts, each with a name.
pub(crate) fn shapes(size: usize) -> Vec<(String, String)> {
    let fill = |piece: &str| piece.repeat(size / piece.len());
    let mut all: Vec<(String, String)> = [
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
        "<tool_call>f<arg_key>a<arg_value>b",
        "<function=f>x",
        "<function=f>x</parameter>",
        "<tool_call><function=f>x<",
        "<function_calls><invoke name=\"f\">x<invoke ",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">x]<]minimax[>[</",
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
        "<|im_end|>",
        "<|im_end|>\n",
        "<|im_end|> \n<|endoftext|> x",
        "<function=f></function>",
        "<function=f></function><parameter=a>",
        "<tool_call>f</tool_call>",
        "<tool_call>f</tool_call><arg_key>a",
        "<tool_call>f<arg_key>a</arg_key><arg_value>b</tool_call><tool_call> c ",
        "<|tool_call_begin|>functions.f:0<|tool_call_end|><|tool_call_argument_begin|>",
        "to=f<|message|>",
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
    .map(|piece| ((*piece).to_owned(), fill(piece)))
    .collect();
    all.push((
        "one argument".to_owned(),
        format!("<tool_call>{{\"name\":\"f\",\"arguments\":{{\"a\":\"{}\"}}}}", fill("ab c\\n\\u00e9")),
    ));
    all.push((
        "late name".to_owned(),
        format!("<tool_call>{{\"arguments\":{{\"a\":\"{}\"}},\"name\":\"f\"}}", fill("ab c")),
    ));
    all.push(("no name".to_owned(), format!("<tool_call>{{\"arguments\":{{\"a\":\"{}\"}}}}", fill("<tool_call>{"))));
    all.push((
        "one element".to_owned(),
        format!("<function=f><parameter=a>{}</parameter></function>", fill("a < b </parameter> ")),
    ));
    // Runs of backticks that nothing closes, of ever other lengths, on one line and on many.
    for end in [" ", "\n"] {
        let calls = (1..120).map(|run| {
            format!("{} <tool_call>{{\"name\":\"f\",\"arguments\":{{}}}}</tool_call>{end}", "`".repeat(run % 40 + 1))
        });
        all.push((format!("backticks{end:?}"), calls.collect::<String>().repeat(size / 12_000 + 1)));
    }
    all.push(("nested".to_owned(), format!("<tool_call>{{\"name\":\"f\",\"arguments\":{}1", fill("{\"a\":"))));
    all.push(("prose, then openers".to_owned(), fill("word ") + &fill("<tool_call>{")));
    all
}

/// Where a call of each grammar, or something near one, may go on.
const HEADS: &[&str] = &[
    "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":",
    "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"",
    "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":[",
    "<tool_call>{\"name\":\"f\",\"arguments\":\"{",
    "<tool_call>{\"arguments\":{\"a\":\"",
    "<tool_call>{\"x\":",
    "<tool_call>{\"name\":\"f\" ",
    "[TOOL_CALLS]f{\"a\":\"",
    "[TOOL_CALLS]f[CALL_ID]",
    "<function=f><parameter=a>",
    "<function=f><parameter=o>{",
    "<function=f>",
    "<function=f>{",
    "<tool_call>f<arg_key>a</arg_key><arg_value>",
    "<tool_call>f<arg_key>",
    "<tool_call>f",
    "<|tool_call>call:f{a:",
    "<|tool_call>call:f{a:<|\"|>",
    "<|tool_call_start|>[f(a=",
    "<|tool_call_start|>[f(a=\"",
    "<|tool_call_start|>[f(a=[{",
    "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">",
    "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>",
    "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"object\"<|sep|>",
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":\"",
    "<|channel|>commentary to=python<|message|>",
    "<|channel|>commentary",
    "<|start|>assistant to=f<|message|><atem:function_calls>",
    "\n{\"name\":\"f\",\"arguments\":{\"a\":\"",
    "\n{",
    "\n[f(a=\"",
    "a ` <tool_call>",
    "",
];

/// What a grammar must look ahead for, or look at twice.
const PIECES: &[&str] = &[
    "\\",
    "\"",
    "\\\"",
    "\" x",
    "\" y: ",
    "\", x",
    "\" \"",
    "{",
    "[",
    "}",
    "]",
    "{\"a\":",
    "[1, ",
    " ",
    "\n",
    "1",
    "1 ",
    "a b ",
    "a{",
    "1{",
    "1/",
    "'",
    "'a': 'b', ",
    "a: 1, ",
    "True, ",
    "007, ",
    "// x\n",
    "/*",
    "...",
    "<",
    "</",
    "<|",
    "<tool_call>",
    "</tool_call>",
    "<tool_cal",
    "<|\"|>",
    "</parameter>",
    "</parameter>\n",
    "<parameter=b>",
    "\n<parameter=b>",
    "</arg_value>",
    "<arg_key>",
    "]<]minimax[>[</",
    "]<]minimax[>[<a>",
    "]<]minimax[>[",
    "<|close|>argument",
    "<|close|>argument<|sep|>",
    "f(",
    "(",
    ")",
    "f(a=",
    "a=1, ",
    "\"x\", ",
    "\"\"\"",
    "\\u00e9",
    "\\ud83d",
    "\u{e9}",
    "call:f{",
    "a:",
    "to=functions.f",
    "\u{201c}",
    "\u{ff1a}",
    ",",
    ":",
    "`",
    "```",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" ",
];

/// Each head with each piece over and over behind it, and both over and over.
pub(crate) fn crossed(size: usize) -> impl Iterator<Item = (String, String)> {
    HEADS.iter().flat_map(move |head| {
        PIECES.iter().flat_map(move |piece| {
            let long = format!("{head}{}", piece.repeat(size / piece.len()));
            let short = format!("{head}{}", piece.repeat(1 + 60 / piece.len()));
            [
                (format!("{head}({piece})*"), long),
                (format!("({head}({piece})*)*"), short.repeat(1 + size / short.len())),
            ]
        })
    })
}
