//! The rows: one per dialect, the most specific first where an opening marker is shared.

mod elements;
mod headers;
mod objects;
mod pairs;
mod python;
mod spellings;

use super::{Dialect, First, Grammar};

const NAME: &[&str] = &["name", "tool_name", "function", "tool"];
const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "input"];

/// What stands first where a brace is missing.
const KEY: &str = "\"name\"";

/// One object, or several one after the other.
const OBJECT: Grammar = Grammar::Object { name: NAME, arguments: ARGUMENTS, array: false };

/// What a row has unless it says otherwise.
const ROW: Dialect = Dialect {
    name: "",
    models: "",
    patterns: &[],
    form_of: "",
    section: None,
    section_optional: true,
    open: &[],
    close: &[""],
    message_end: "",
    first: First::OneOf(&["{", KEY]),
    title: &[],
    grammar: OBJECT,
    padding: "",
    bare: false,
};

/// Every row that is read: other spellings of a dialect under its name, which nobody writes on purpose; every dialect;
/// and spellings that another dialect writes, for who names theirs.
pub(crate) fn rows() -> impl Iterator<Item = &'static Dialect> {
    spellings::BARS.iter().flatten().chain(spellings::SPELLINGS).chain(dialects()).chain(spellings::SHARED)
}

/// Every dialect; of those that share an opener the first whose [`First`] holds is read.
pub const fn dialects() -> &'static [Dialect] {
    const ROWS: &[Dialect] = &[
        // `<tool_call>` and its namesakes.
        objects::HERMES,
        elements::QWEN3_CODER,
        objects::GRANITE,
        pairs::HUNYUAN_V3,
        pairs::GLM_4_5,
        pairs::GLM_4_7,
        pairs::HUNYUAN_V4,
        objects::LONGCAT,
        pairs::LONGCAT_2,
        objects::IQUEST,
        elements::SEED,
        // `<tool_calls>` and other lists of JSON.
        objects::JAMBA,
        objects::MINIMAX_M1,
        objects::GRANITE_3_0,
        objects::GRANITE_20B,
        objects::NEMOTRON,
        objects::INTERNLM,
        objects::PHI_4_MINI,
        objects::COHERE,
        objects::APERTUS,
        objects::GIGACHAT_3,
        objects::INKLING,
        objects::INKLING_UNTITLED,
        objects::LLAMA_3,
        objects::LM_STUDIO,
        objects::TOOL_USE,
        // A name, then JSON.
        objects::MISTRAL_V7,
        headers::MISTRAL,
        headers::DEEPSEEK_V3,
        headers::DEEPSEEK_V3_1,
        headers::KIMI_K2,
        headers::HARMONY,
        // The same where `<|start|>assistant` stood in the prompt and the recipient comes first.
        headers::HARMONY_RECIPIENT,
        // Elements.
        elements::ANTHROPIC,
        elements::MINIMAX_M2,
        elements::DOTS,
        elements::MUSE_ROUTED,
        elements::MUSE,
        elements::MINICPM_5,
        elements::DEEPSEEK_V3_2,
        elements::DEEPSEEK_V4,
        elements::DEEPSEEK_V4_1,
        elements::STEP_3,
        elements::MINIMAX_M3,
        // Keys and values.
        pairs::K2_HORIZON,
        objects::K2_HORIZON_JSON,
        pairs::GEMMA_4,
        pairs::FUNCTIONGEMMA,
        elements::KIMI_K3,
        // Calls as Python writes them.
        python::OLMO_3,
        python::LFM2,
        objects::LFM2_JSON,
        python::LLAMA_4,
        python::TOOL_CODE,
        // No markers: read only where asked.
        python::PYTHONIC,
        objects::JSON,
        objects::JSON_ARRAY,
    ];
    ROWS
}
