//! Dialects whose calls are JSON objects with a name and arguments in them.

use super::{
    super::{Dialect, First, Grammar},
    NAME, ROW,
};

/// An object, in a code fence or not.
const FENCED: First = First::OneOf(&[
    "{",
    "```json\n{",
    "```\n{",
    "```json\r\n{",
    "```json {",
    "```json{",
    "```JSON\n{",
    "```tool_call\n{",
    super::KEY,
]);

const PARAMETERS: &[&str] = &["parameters", "arguments", "args", "input"];

/// Objects inside an array.
const ARRAY: Grammar = Grammar::Object { name: NAME, arguments: super::ARGUMENTS, array: true };

/// Objects whose arguments are called `args`.
const ARGS: Grammar =
    Grammar::Object { name: NAME, arguments: &["args", "arguments", "parameters", "input"], array: false };

pub(super) const HERMES: Dialect = Dialect {
    name: "hermes",
    models: "Hermes, Qwen 2.5 and 3, Ernie 4.5, Granite 4, QwQ",
    patterns: &[
        "hermes",
        "hermes-2-pro-mistral",
        "hermes-2-pro-llama",
        "qwen",
        "qwq",
        "ernie-4.5",
        "granite-4",
        "deepseek-r1-distill-qwen",
        "deepseek-r1:1.5b",
        "deepseek-r1:7b",
        "deepseek-r1:14b",
        "deepseek-r1:32b",
        "deephermes",
        "smollm3",
        "jan-v1",
        "jan-nano",
        "exaone-4",
        "kimi-dev",
        "rnj-1",
        "tongyi-deepresearch",
        "trinity-mini",
    ],
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    first: FENCED,
    padding: "\n",
    ..ROW
};

pub(super) const GRANITE: Dialect = Dialect {
    name: "granite",
    models: "Granite 3.1 to 3.3",
    patterns: &["granite-3.1", "granite-3.2", "granite-3.3", "granite"],
    open: &["<tool_call>"],
    close: &["", "</tool_call>"],
    first: First::OneOf(&["["]),
    grammar: ARRAY,
    padding: " ",
    ..ROW
};

pub(super) const LONGCAT: Dialect = Dialect {
    name: "longcat",
    models: "LongCat",
    patterns: &["longcat"],
    open: &["<longcat_tool_call>"],
    close: &["</longcat_tool_call>"],
    first: FENCED,
    padding: "\n",
    ..ROW
};

pub(super) const IQUEST: Dialect = Dialect {
    name: "iquest",
    models: "iQuest",
    patterns: &["iquest"],
    open: &["<iquest_tool_call>"],
    close: &["</iquest_tool_call>"],
    first: FENCED,
    padding: "\n",
    ..ROW
};

pub(super) const JAMBA: Dialect = Dialect {
    name: "jamba",
    models: "Jamba, Hunyuan-A13B",
    patterns: &["jamba", "hunyuan"],
    open: &["<tool_calls>"],
    close: &["</tool_calls>"],
    first: First::OneOf(&["["]),
    grammar: ARRAY,
    ..ROW
};

pub(super) const MINIMAX_M1: Dialect = Dialect {
    name: "minimax-m1",
    models: "MiniMax M1",
    patterns: &["minimax-m1"],
    open: &["<tool_calls>"],
    close: &["</tool_calls>"],
    padding: "\n",
    ..ROW
};

pub(super) const GRANITE_3_0: Dialect = Dialect {
    name: "granite-3.0",
    models: "Granite 3.0, Phi-4-mini",
    patterns: &["granite-3.0", "granite3-dense", "granite3-moe"],
    open: &["<|tool_call|>"],
    close: &["", "<|/tool_call|>"],
    first: First::OneOf(&["[", "{"]),
    grammar: ARRAY,
    padding: " ",
    ..ROW
};

pub(super) const GRANITE_20B: Dialect = Dialect {
    name: "granite-20b",
    models: "Granite 20B function calling",
    patterns: &["granite-20b"],
    open: &["<function_call>"],
    close: &["", "</function_call>"],
    first: First::OneOf(&["{", "[", super::KEY]),
    padding: " ",
    ..ROW
};

pub(super) const NEMOTRON: Dialect = Dialect {
    name: "nemotron",
    models: "Nemotron Nano 2, Llama-Nemotron Super and Ultra",
    patterns: &["nemotron"],
    open: &["<TOOLCALL>"],
    close: &["</TOOLCALL>"],
    first: First::OneOf(&["[", "{"]),
    grammar: ARRAY,
    ..ROW
};

pub(super) const INTERNLM: Dialect = Dialect {
    name: "internlm",
    models: "InternLM 2 and later",
    patterns: &["internlm", "intern-s1"],
    open: &[
        "<|action_start|><|plugin|>",
        "<|action_start|> <|plugin|>",
        "<|action_start|>\n<|plugin|>",
        "<|action_start|> <|plugin|>\n",
    ],
    close: &["<|action_end|>"],
    grammar: Grammar::Object { name: NAME, arguments: PARAMETERS, array: false },
    padding: "\n",
    ..ROW
};

pub(super) const PHI_4_MINI: Dialect = Dialect {
    name: "phi-4-mini",
    models: "Phi-4-mini",
    patterns: &["phi-4-mini", "phi-4-multimodal"],
    open: &["functools"],
    first: First::OneOf(&["[", "{"]),
    grammar: ARRAY,
    bare: true,
    ..ROW
};

pub(super) const COHERE: Dialect = Dialect {
    name: "cohere",
    models: "Command A, Command R7B",
    patterns: &["command-a", "command-r7b"],
    open: &["<|START_ACTION|>"],
    close: &["<|END_ACTION|>"],
    first: First::OneOf(&["[", "{"]),
    grammar: Grammar::Object { name: &["tool_name", "name", "function", "tool"], arguments: PARAMETERS, array: true },
    ..ROW
};

pub(super) const APERTUS: Dialect = Dialect {
    name: "apertus",
    models: "Apertus",
    patterns: &["apertus"],
    open: &["<|tools_prefix|>"],
    close: &["<|tools_suffix|>"],
    first: First::OneOf(&["[", "{"]),
    grammar: Grammar::Keyed,
    ..ROW
};

pub(super) const GIGACHAT_3: Dialect = Dialect {
    name: "gigachat-3",
    models: "GigaChat 3",
    patterns: &["gigachat"],
    // Words before a call are a message of their own, whose end stands before the call's.
    open: &[
        "function call<|role_sep|>",
        "<|message_sep|>\n\nfunction call<|role_sep|>",
        "<|message_sep|>function call<|role_sep|>",
        "<|function_call|>",
    ],
    close: &["", "<|message_sep|>"],
    padding: "\n",
    ..ROW
};

pub(super) const INKLING: Dialect = Dialect {
    name: "inkling",
    models: "Inkling",
    patterns: &["inkling"],
    open: &["<|message_model|>"],
    close: &["<|end_message|>", "<|end_message|><|content_model_end_sampling|>"],
    first: First::NameThen(&["<|content_invoke_tool_json|>"]),
    title: &["<|content_invoke_tool_json|>"],
    grammar: ARGS,
    ..ROW
};

pub(super) const INKLING_UNTITLED: Dialect = Dialect {
    name: "inkling-untitled",
    models: "Inkling, without the name in front",
    form_of: "inkling",
    open: &["<|message_model|><|content_invoke_tool_json|>", "<|content_invoke_tool_json|>"],
    close: &["<|end_message|>", "<|end_message|><|content_model_end_sampling|>"],
    grammar: ARGS,
    ..ROW
};

pub(super) const LLAMA_3: Dialect = Dialect {
    name: "llama-3",
    models: "Llama 3.1 to 3.3",
    patterns: &["llama-3", "llama-v3", "deepseek-r1-distill-llama", "deepseek-r1:70b", "nemotron-70b", "nemotron:70b"],
    open: &["<|python_tag|>"],
    close: &["", "<|eom_id|>", "<|eot_id|>"],
    grammar: Grammar::Object { name: NAME, arguments: PARAMETERS, array: false },
    ..ROW
};

pub(super) const MISTRAL_V7: Dialect = Dialect {
    name: "mistral-v7",
    models: "Mistral up to tokenizer 7, xLAM 2",
    patterns: &[
        "mistral-7b",
        "mistral-nemo",
        "mistral-large-2",
        "mistral-large:",
        "mistral-large-instruct-24",
        "mistral-small-24",
        "mistral-small-2402",
        "mistral-small-2409",
        "mistral-small-2501",
        "mistral-small-2503",
        "mistral-small-3.0",
        "mistral-small-3.1",
        "mixtral",
        "codestral",
        "pixtral",
        "open-mistral",
        "ministral-3b",
        "ministral-8b",
        "mistral-small:",
        "mistral:",
    ],
    open: &["[TOOL_CALLS]"],
    close: &["", "[/TOOL_CALLS]"],
    first: First::OneOf(&["[", "{"]),
    grammar: ARRAY,
    padding: " ",
    ..ROW
};

pub(super) const K2_HORIZON_JSON: Dialect = Dialect {
    name: "k2-horizon-json",
    models: "K2-Horizon, asked for JSON",
    form_of: "k2-horizon",
    section: Some((&["<ifm|tool_calls>"], &["</ifm|tool_calls>"])),
    open: &["<ifm|tool_call>"],
    close: &["</ifm|tool_call>"],
    padding: "\n",
    ..ROW
};

pub(super) const LFM2_JSON: Dialect = Dialect {
    name: "lfm2-json",
    models: "LFM2, asked for JSON",
    form_of: "lfm2",
    open: &["<|tool_call_start|>"],
    close: &["<|tool_call_end|>"],
    first: First::OneOf(&["[", "{"]),
    grammar: ARRAY,
    ..ROW
};

pub(super) const JSON: Dialect = Dialect {
    name: "json",
    models: "any model told to answer with a call as JSON",
    open: &[""],
    first: First::OneOf(&["{"]),
    bare: true,
    ..ROW
};

pub(super) const JSON_ARRAY: Dialect = Dialect {
    name: "json-array",
    models: "xLAM, any model told to answer with a list of calls as JSON",
    patterns: &["xlam"],
    open: &[""],
    first: First::OneOf(&["["]),
    grammar: ARRAY,
    bare: true,
    ..ROW
};

pub(super) const LM_STUDIO: Dialect = Dialect {
    name: "lm-studio",
    models: "any model that LM Studio tells of tools",
    open: &["[TOOL_REQUEST]", "[TOOL_CALL]"],
    close: &["[END_TOOL_REQUEST]", "[/TOOL_REQUEST]", "[/TOOL_CALL]", "[END_TOOL_CALL]"],
    first: FENCED,
    ..ROW
};

pub(super) const TOOL_USE: Dialect = Dialect {
    name: "tool-use",
    models: "any model told of tools by a prompt of its host",
    open: &["<tool_use>", "<TOOL_CALL>", "<toolcall>", "<function_call_request>"],
    close: &["</tool_use>", "</TOOL_CALL>", "</toolcall>", "</function_call_request>"],
    first: FENCED,
    padding: "\n",
    ..ROW
};
