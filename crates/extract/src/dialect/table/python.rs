//! Dialects that write calls as Python does.

use super::{
    super::{Dialect, First, Grammar},
    ROW,
};

pub(super) const OLMO_3: Dialect = Dialect {
    name: "olmo-3",
    models: "OLMo 3",
    patterns: &["olmo-3"],
    open: &["<function_calls>"],
    close: &["</function_calls>"],
    first: First::Calls,
    grammar: Grammar::Python { brackets: false },
    padding: "\n",
    ..ROW
};

pub(super) const LFM2: Dialect = Dialect {
    name: "lfm2",
    models: "LFM2",
    patterns: &["lfm2"],
    open: &["<|tool_call_start|>"],
    close: &["<|tool_call_end|>"],
    first: First::Calls,
    grammar: Grammar::Python { brackets: true },
    ..ROW
};

pub(super) const LLAMA_4: Dialect = Dialect {
    name: "llama-4",
    models: "Llama 4",
    patterns: &["llama-4"],
    open: &["<|python_start|>"],
    close: &["<|python_end|>"],
    first: First::Calls,
    grammar: Grammar::Python { brackets: true },
    ..ROW
};

pub(super) const PYTHONIC: Dialect = Dialect {
    name: "pythonic",
    models: "ToolACE, Llama 3.2 and 4, Gemma 3",
    patterns: &[
        "toolace",
        "llama-3.2-1b",
        "llama-3.2-3b",
        "llama-3.2:1b",
        "llama-3.2:3b",
        "llama-3.2:latest",
        "llama-3-2-1b",
        "llama-3-2-3b",
        "llama-v3p2-1b",
        "llama-v3p2-3b",
        "gemma-3",
        "watt-tool",
    ],
    open: &[""],
    first: First::ListThen(&["("]),
    grammar: Grammar::Python { brackets: true },
    bare: true,
    ..ROW
};

pub(super) const TOOL_CODE: Dialect = Dialect {
    name: "tool-code",
    models: "Gemma 3 and Gemini in text",
    open: &["<tool_code>"],
    close: &["</tool_code>"],
    first: First::Calls,
    grammar: Grammar::Python { brackets: false },
    padding: "\n",
    ..ROW
};
