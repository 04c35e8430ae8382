//! Dialects that write elements, with raw values in them.

use super::{
    super::{Dialect, First, Grammar, Tags},
    ROW,
};

/// `<invoke name="N"><parameter name="K">V</parameter></invoke>`.
const INVOKE: Tags = Tags {
    call: ("<invoke name=\"", "\">"),
    call_end: "</invoke>",
    parameter: ("<parameter name=\"", "\">"),
    parameter_end: "</parameter>",
    newlines: false,
    string_attribute: false,
    cdata: false,
    prefixes: &[],
};

/// `<function=N><parameter=K>V</parameter></function>`.
const FUNCTION: Tags = Tags {
    call: ("<function=", ">"),
    call_end: "</function>",
    parameter: ("<parameter=", ">"),
    parameter_end: "</parameter>",
    newlines: true,
    string_attribute: false,
    cdata: false,
    prefixes: &[],
};

/// The elements of `DeepSeek`, whose parameters say whether their value is text or JSON.
pub(super) const DSML: Tags = Tags {
    call: ("<｜DSML｜invoke name=\"", "\">"),
    call_end: "</｜DSML｜invoke>",
    parameter: ("<｜DSML｜parameter name=\"", "\">"),
    parameter_end: "</｜DSML｜parameter>",
    string_attribute: true,
    ..INVOKE
};

pub(super) const QWEN3_CODER: Dialect = Dialect {
    name: "qwen3-coder",
    models: "Qwen3-Coder, Qwen 3.5 and later, MiMo, Step 3.5, Nemotron 3",
    patterns: &[
        "qwen3-coder",
        "qwen3.5",
        "qwen3.6",
        "mimo",
        "step-3.5",
        "nemotron-3",
        "nemotron-nano-3",
        "intellect-3",
    ],
    open: &["<tool_call>", ""],
    close: &["</tool_call>", ""],
    first: First::OneOf(&["<function="]),
    grammar: Grammar::Tags(FUNCTION),
    padding: "\n",
    ..ROW
};

pub(super) const SEED: Dialect = Dialect {
    name: "seed",
    models: "Seed-OSS",
    patterns: &["seed-oss", "seed-1", "seed-2"],
    open: &["<seed:tool_call>"],
    close: &["</seed:tool_call>"],
    first: First::OneOf(&["<function="]),
    grammar: Grammar::Tags(Tags { newlines: false, ..FUNCTION }),
    padding: "\n",
    ..ROW
};

pub(super) const ANTHROPIC: Dialect = Dialect {
    name: "anthropic",
    models: "Claude in text",
    patterns: &["claude"],
    open: &["<function_calls>", "<antml:function_calls>", ""],
    close: &["</function_calls>", "</antml:function_calls>", ""],
    first: First::OneOf(&["<invoke name=", "<antml:invoke name="]),
    grammar: Grammar::Tags(Tags { prefixes: &["antml:"], ..INVOKE }),
    padding: "\n",
    ..ROW
};

pub(super) const MINIMAX_M2: Dialect = Dialect {
    name: "minimax-m2",
    models: "MiniMax M2",
    patterns: &["minimax-m2", "minimax"],
    open: &["<minimax:tool_call>"],
    close: &["</minimax:tool_call>"],
    first: First::OneOf(&["<invoke name="]),
    grammar: Grammar::Tags(INVOKE),
    padding: "\n",
    ..ROW
};

pub(super) const DOTS: Dialect = Dialect {
    name: "dots",
    models: "dots",
    patterns: &["dots.", "dots1", "dots2", "dots-"],
    open: &["<dots_function_call>"],
    close: &["</dots_function_call>"],
    first: First::OneOf(&["<invoke name="]),
    grammar: Grammar::Tags(INVOKE),
    padding: "\n",
    ..ROW
};

/// `<atem:invoke name="N"><atem:parameter name="K">V</atem:parameter></atem:invoke>`.
const ATEM: Tags = Tags {
    call: ("<atem:invoke name=\"", "\">"),
    call_end: "</atem:invoke>",
    parameter: ("<atem:parameter name=\"", "\">"),
    parameter_end: "</atem:parameter>",
    ..INVOKE
};

pub(super) const MUSE_ROUTED: Dialect = Dialect {
    name: "muse-routed",
    models: "Muse, with the message's header",
    form_of: "muse",
    open: &["<|start|>assistant to=", "to="],
    close: &["</atem:function_calls><|eom|>", "</atem:function_calls>"],
    message_end: "<|eom|>",
    first: First::NameThen(&["<|message|><atem:function_calls>", "<|message|><atem:invoke name="]),
    title: &["<|message|><atem:function_calls>", "<|message|>"],
    grammar: Grammar::Tags(ATEM),
    padding: "\n",
    ..ROW
};

pub(super) const MUSE: Dialect = Dialect {
    name: "muse",
    models: "Muse",
    patterns: &["muse"],
    open: &["<atem:function_calls>", ""],
    close: &["</atem:function_calls>", "</atem:function_calls><|eom|>", ""],
    message_end: "<|eom|>",
    first: First::OneOf(&["<atem:invoke name="]),
    grammar: Grammar::Tags(ATEM),
    padding: "\n",
    ..ROW
};

pub(super) const MINICPM_5: Dialect = Dialect {
    name: "minicpm-5",
    models: "MiniCPM 5",
    patterns: &["minicpm-5"],
    open: &[""],
    first: First::OneOf(&["<function name="]),
    grammar: Grammar::Tags(Tags {
        call: ("<function name=\"", "\">"),
        call_end: "</function>",
        parameter: ("<param name=\"", "\">"),
        parameter_end: "</param>",
        cdata: true,
        ..INVOKE
    }),
    ..ROW
};

pub(super) const DEEPSEEK_V3_2: Dialect = Dialect {
    name: "deepseek-v3.2",
    models: "DeepSeek V3.2",
    patterns: &["deepseek-v3.2", "deepseek-v3p2", "deepseek.v3.2", "deepseek-chat", "deepseek-reasoner"],
    open: &["<｜DSML｜function_calls>", ""],
    close: &["</｜DSML｜function_calls>", ""],
    first: First::OneOf(&["<｜DSML｜invoke name="]),
    grammar: Grammar::Tags(DSML),
    padding: "\n",
    ..ROW
};

pub(super) const DEEPSEEK_V4: Dialect = Dialect {
    name: "deepseek-v4",
    models: "DeepSeek V4",
    patterns: &["deepseek-v4"],
    open: &["<｜DSML｜tool_calls>", ""],
    close: &["</｜DSML｜tool_calls>", ""],
    first: First::OneOf(&["<｜DSML｜invoke name="]),
    grammar: Grammar::Tags(DSML),
    padding: "\n",
    ..ROW
};

pub(super) const DEEPSEEK_V4_1: Dialect = Dialect {
    name: "deepseek-v4.1",
    models: "DeepSeek V4.1",
    patterns: &["deepseek-v4.1", "deepseek-v4p1"],
    open: &["<｜DSML｜ calls>", ""],
    close: &["</｜DSML｜ calls>", ""],
    first: First::OneOf(&["<｜DSML｜ invoke name="]),
    grammar: Grammar::Tags(Tags {
        call: ("<｜DSML｜ invoke name=\"", "\">"),
        call_end: "</｜DSML｜ invoke>",
        parameter: ("<｜DSML｜ parameter name=\"", "\">"),
        parameter_end: "</｜DSML｜ parameter>",
        ..DSML
    }),
    padding: "\n",
    ..ROW
};

pub(super) const STEP_3: Dialect = Dialect {
    name: "step-3",
    models: "Step 3",
    patterns: &["step-3"],
    section: Some((&["<｜tool_calls_begin｜>"], &["<｜tool_calls_end｜>"])),
    // Some replies have the separator between two calls too.
    open: &[
        "<｜tool_call_begin｜>function<｜tool_sep｜>",
        "<｜tool_call_begin｜>",
        "<｜tool_sep｜><｜tool_call_begin｜>function<｜tool_sep｜>",
        "<｜tool_sep｜><｜tool_call_begin｜>",
    ],
    close: &["<｜tool_call_end｜>"],
    first: First::OneOf(&["<steptml:invoke name="]),
    grammar: Grammar::Tags(Tags {
        call: ("<steptml:invoke name=\"", "\">"),
        call_end: "</steptml:invoke>",
        parameter: ("<steptml:parameter name=\"", "\">"),
        parameter_end: "</steptml:parameter>",
        ..INVOKE
    }),
    ..ROW
};

pub(super) const MINIMAX_M3: Dialect = Dialect {
    name: "minimax-m3",
    models: "MiniMax M3",
    patterns: &["minimax-m3"],
    open: &["]<]minimax[>[<tool_call>", ""],
    close: &["]<]minimax[>[</tool_call>", ""],
    first: First::OneOf(&["]<]minimax[>[<invoke name="]),
    grammar: Grammar::Nested { prefix: "]<]minimax[>[" },
    padding: "\n",
    ..ROW
};

pub(super) const KIMI_K3: Dialect = Dialect {
    name: "kimi-k3",
    models: "Kimi K3",
    patterns: &["kimi-k3"],
    // Each as it is written, then with a token twice.
    section: Some((
        &["<|open|>tools<|sep|>", "<|open|>tools<|sep|><|sep|>"],
        &["<|close|>tools<|sep|>", "<|close|>tools<|sep|><|sep|>"],
    )),
    open: &["<|open|>call", "<|open|><|open|>call"],
    close: &["<|close|>call<|sep|>", "<|close|>call<|sep|><|sep|>"],
    first: First::OneOf(&["tool="]),
    grammar: Grammar::Attributes,
    ..ROW
};
