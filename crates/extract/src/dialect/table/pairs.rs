//! Dialects that write keys and values between markers of their own.

use super::{
    super::{Dialect, First, Grammar},
    ROW,
};

const fn pairs(after_name: &'static str, gap: &'static str) -> Grammar {
    Grammar::Pairs { after_name, key: ("<arg_key>", "</arg_key>"), value: ("<arg_value>", "</arg_value>"), gap }
}

/// `call:` and a name, or the name alone.
const LOOSE: First = First::Either(&[First::OneOf(&["call:"]), First::NameThen(&["{", "("])]);

pub(super) const HUNYUAN_V3: Dialect = Dialect {
    name: "hunyuan-v3",
    models: "Hunyuan v3",
    patterns: &["hunyuan-v3", "hunyuan-3", "hy3"],
    section: Some((&["<tool_calls>"], &["</tool_calls>"])),
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    first: First::NameThen(&["<tool_sep>"]),
    grammar: pairs("<tool_sep>", ""),
    ..ROW
};

pub(super) const HUNYUAN_V4: Dialect = Dialect {
    name: "hunyuan-v4",
    models: "Hunyuan v4",
    patterns: &["hunyuan-v4", "hunyuan-4", "hy4", "hy-v4"],
    section: Some((&["<tool_calls>"], &["</tool_calls>"])),
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    first: First::NameThen(&["<arg_key>", "</tool_call>", "{"]),
    grammar: pairs("", ""),
    ..ROW
};

pub(super) const GLM_4_5: Dialect = Dialect {
    name: "glm-4.5",
    models: "GLM 4.5 and 4.6",
    patterns: &["glm-4.5", "glm-4.6", "glm-4p5", "glm-4p6", "autoglm"],
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    first: First::NameThen(&["<arg_key>", "</tool_call>", "{"]),
    grammar: pairs("\n", "\n"),
    ..ROW
};

pub(super) const GLM_4_7: Dialect = Dialect {
    name: "glm-4.7",
    models: "GLM 4.7 and 5, Poolside, Spark 2.5",
    patterns: &["glm-4.7", "glm-4p7", "glm-5", "poolside", "laguna", "spark-2.5"],
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    first: First::NameThen(&["<arg_key>", "</tool_call>", "{"]),
    grammar: pairs("", ""),
    ..ROW
};

pub(super) const K2_HORIZON: Dialect = Dialect {
    name: "k2-horizon",
    models: "K2-Horizon",
    patterns: &["k2-horizon"],
    section: Some((&["<ifm|tool_calls>"], &["</ifm|tool_calls>"])),
    open: &["<ifm|tool_call>"],
    close: &["</ifm|tool_call>"],
    first: First::NameThen(&["<ifm|arg_key>", "</ifm|tool_call>", "{"]),
    grammar: Grammar::Pairs {
        after_name: "\n",
        key: ("<ifm|arg_key>", "</ifm|arg_key>"),
        value: ("<ifm|arg_value>", "</ifm|arg_value>"),
        gap: "\n",
    },
    ..ROW
};

pub(super) const GEMMA_4: Dialect = Dialect {
    name: "gemma-4",
    models: "Gemma 4",
    patterns: &["gemma-4"],
    open: &["<|tool_call>"],
    close: &["<tool_call|>"],
    first: LOOSE,
    grammar: Grammar::Loose { quote: "<|\"|>" },
    ..ROW
};

pub(super) const FUNCTIONGEMMA: Dialect = Dialect {
    name: "functiongemma",
    models: "FunctionGemma",
    patterns: &["functiongemma"],
    open: &["<start_function_call>"],
    close: &["<end_function_call>"],
    first: LOOSE,
    grammar: Grammar::Loose { quote: "<escape>" },
    ..ROW
};

pub(super) const LONGCAT_2: Dialect = Dialect {
    name: "longcat-2",
    models: "LongCat from 2.0",
    patterns: &["longcat-2", "longcat-flash-lite", "longcat-flash-thinking-2601"],
    open: &["<longcat_tool_call>"],
    close: &["</longcat_tool_call>"],
    first: First::NameThen(&["<longcat_arg_key>", "</longcat_tool_call>", "{"]),
    grammar: Grammar::Pairs {
        after_name: "\n",
        key: ("<longcat_arg_key>", "</longcat_arg_key>"),
        value: ("<longcat_arg_value>", "</longcat_arg_value>"),
        gap: "\n",
    },
    ..ROW
};
