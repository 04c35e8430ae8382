//! Dialects that write a header, then the arguments as JSON.

use super::{
    super::{Dialect, First, Grammar},
    ROW,
};

const DEEPSEEK: Option<(&[&str], &[&str])> = Some((&["<｜tool▁calls▁begin｜>"], &["<｜tool▁calls▁end｜>"]));

pub(super) const MISTRAL: Dialect = Dialect {
    name: "mistral",
    models: "Mistral from tokenizer 11: Small 3.2, Medium 3, Large 3, Ministral 3, Magistral, Devstral",
    patterns: &[
        "mistral",
        "magistral",
        "devstral",
        "ministral",
        "ministral-3b-25",
        "ministral-3b-latest",
        "ministral-8b-25",
        "ministral-8b-latest",
        "mistral-large-25",
    ],
    open: &["[TOOL_CALLS]"],
    first: First::NameThen(&["[ARGS]", "[CALL_ID]", "{"]),
    grammar: Grammar::Named { before: "", between: &["[ARGS]", ""], fenced: false, indexed: false, id: "[CALL_ID]" },
    ..ROW
};

pub(super) const DEEPSEEK_V3: Dialect = Dialect {
    name: "deepseek-v3",
    models: "DeepSeek V3 and R1",
    patterns: &["deepseek-v3", "deepseek-chat-v3", "deepseek-r1", "deepseek.r1", "mai-ds-r1"],
    section: DEEPSEEK,
    open: &["<｜tool▁call▁begin｜>"],
    close: &["<｜tool▁call▁end｜>"],
    first: First::OneOf(&["function<｜tool▁sep｜>"]),
    grammar: Grammar::Named {
        before: "function<｜tool▁sep｜>",
        between: &["\n"],
        fenced: true,
        indexed: false,
        id: "",
    },
    ..ROW
};

pub(super) const DEEPSEEK_V3_1: Dialect = Dialect {
    name: "deepseek-v3.1",
    models: "DeepSeek V3.1",
    patterns: &["deepseek-v3.1", "deepseek-v3p1", "deepseek-chat-v3.1", "deepseek.v3", "deepseek-terminus"],
    section: DEEPSEEK,
    open: &["<｜tool▁call▁begin｜>"],
    close: &["<｜tool▁call▁end｜>"],
    first: First::NameThen(&["<｜tool▁sep｜>"]),
    grammar: Grammar::Named { before: "", between: &["<｜tool▁sep｜>"], fenced: false, indexed: false, id: "" },
    ..ROW
};

pub(super) const KIMI_K2: Dialect = Dialect {
    name: "kimi-k2",
    models: "Kimi K2 and K2.5",
    patterns: &["kimi-k2", "kimi"],
    section: Some((
        &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
        &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
    )),
    open: &["<|tool_call_begin|>"],
    close: &["<|tool_call_end|>"],
    first: First::Any,
    grammar: Grammar::Named {
        before: "functions.",
        between: &["<|tool_call_argument_begin|>"],
        fenced: false,
        indexed: true,
        id: "",
    },
    ..ROW
};

pub(super) const HARMONY: Dialect = Dialect {
    name: "harmony",
    models: "gpt-oss",
    patterns: &["gpt-oss"],
    open: &[
        "<|start|>assistant<|channel|>commentary",
        "<|channel|>commentary",
        "<|start|>assistant",
        "<|start|>assistant<|channel|>analysis",
        "<|channel|>analysis",
    ],
    close: &["<|call|>", "<|end|>", "<|return|>"],
    first: First::OneOf(&["to="]),
    grammar: Grammar::Harmony,
    padding: " ",
    ..ROW
};

pub(super) const HARMONY_RECIPIENT: Dialect = Dialect {
    name: "harmony-recipient",
    models: "gpt-oss, prompted up to the role",
    form_of: "harmony",
    open: &[""],
    close: &["<|call|>", "<|end|>", "<|return|>"],
    first: First::OneOf(&["to=functions."]),
    grammar: Grammar::Harmony,
    ..ROW
};
