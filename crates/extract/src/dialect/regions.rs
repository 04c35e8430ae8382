//! Regions that are no calls: reasoning, echoed tool results, and the frames around visible text; and what ends a turn.
//! What stands in a result is never text and never a call; a frame's markers go and what stands in it stays.

use std::sync::OnceLock;

/// One markup of reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasoning {
    /// Its name here.
    pub name: &'static str,
    /// Who writes it.
    pub models: &'static str,
    /// Spellings of its opener, the written one first.
    pub open: &'static [&'static str],
    /// Its closers, the written one first.
    pub close: &'static [&'static str],
}

/// One markup of a tool's result. A model that writes one has made it up, or echoes what it read: it runs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inert {
    /// Its name here.
    pub name: &'static str,
    /// Who writes it.
    pub models: &'static str,
    /// Spellings of its opener, the written one first.
    pub open: &'static [&'static str],
    /// Its closers, the written one first. The region ends with the first of them that closes none that was opened
    /// within, or with the text.
    pub close: &'static [&'static str],
}

impl Inert {
    /// Whether this opener, within such a region, awaits a closer of its own: one is written like it. Where a result
    /// ends with the turn, the next one's opener doesn't.
    pub(crate) fn nests(&self, opener: &[u8]) -> bool {
        const PARTNERS: [(&str, &str); 6] =
            [("<", "</"), ("<|", "<|/"), ("[", "[/"), ("begin", "end"), ("start", "end"), ("START", "END")];
        let Ok(opener) = std::str::from_utf8(opener) else { return false };
        let whole = opener.strip_suffix(' ').map_or_else(|| opener.to_owned(), |head| format!("{head}>"));
        PARTNERS.iter().any(|(begins, ends)| self.close.contains(&whole.replacen(begins, ends, 1).as_str()))
    }
}

/// Markers around text that people shall see: they are markup, what stands between is prose (and may hold calls).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its name here.
    pub name: &'static str,
    /// Who writes it.
    pub models: &'static str,
    /// Spellings of its opener.
    pub open: &'static [&'static str],
    /// Its closers; markup only while the frame is open.
    pub close: &'static [&'static str],
}

/// Every reasoning markup.
pub const fn reasoning_markups() -> &'static [Reasoning] {
    const fn row(
        name: &'static str,
        models: &'static str,
        open: &'static [&'static str],
        close: &'static [&'static str],
    ) -> Reasoning {
        Reasoning { name, models, open, close }
    }
    const {
        &[
            row("think", "DeepSeek R1, Qwen 3, GLM, Kimi K2, MiniMax M2 and many more", &["<think>"], &["</think>"]),
            row(
                "thinking",
                "Claude in text, Nova",
                &["<thinking>", "<antml:thinking>"],
                &["</thinking>", "</antml:thinking>"],
            ),
            row("thought", "EXAONE Deep", &["<thought>"], &["</thought>"]),
            row("mistral", "Magistral, Ministral 3", &["[THINK]"], &["[/THINK]"]),
            row("seed", "Seed-OSS", &["<seed:think>"], &["</seed:think>"]),
            row("minimax-m3", "MiniMax M3", &["<mm:think>"], &["</mm:think>"]),
            row("longcat", "LongCat", &["<longcat_think>"], &["</longcat_think>"]),
            row("gemma-4", "Gemma 4", &["<|channel>thought\n", "<|channel>thought", "<|channel>"], &["<channel|>"]),
            row(
                "harmony",
                "gpt-oss",
                &["<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>analysis<|message|>"],
                &["<|end|>", "<|return|>", "<|call|>"],
            ),
            row("kimi-k3", "Kimi K3", &["<|open|>think<|sep|>"], &["<|close|>think<|sep|>"]),
            row("kimi-vl", "Kimi-VL", &["◁think▷"], &["◁/think▷"]),
            row("cohere", "Command A, Command R7B", &["<|START_THINKING|>"], &["<|END_THINKING|>"]),
            row(
                "inkling",
                "Inkling",
                &["<|message_model|><|content_thinking|>", "<|content_thinking|>"],
                &["<|end_message|>", "<|end_message|><|content_model_end_sampling|>"],
            ),
            row("k2-horizon", "K2-Horizon", &["<ifm|think>"], &["</ifm|think>"]),
            row("k2-horizon-fast", "K2-Horizon at lower effort", &["<ifm|think_fast>"], &["</ifm|think_fast>"]),
            row("k2-horizon-faster", "K2-Horizon at low effort", &["<ifm|think_faster>"], &["</ifm|think_faster>"]),
            row("reasoning", "Reka Flash 3", &["<reasoning>"], &["</reasoning>"]),
            row(
                "begin-of-thought",
                "OpenThinker, Sky-T1, Bespoke-Stratos",
                &["<|begin_of_thought|>"],
                &["<|end_of_thought|>"],
            ),
            row(
                "seed-budget",
                "Seed-OSS, told how much it may think",
                &["<seed:cot_budget_reflect>"],
                &["</seed:cot_budget_reflect>"],
            ),
            row("apertus", "Apertus", &["<|inner_prefix|>"], &["<|inner_suffix|>"]),
            // The prompt ends with `<|start|>assistant`, so a reply's first header begins behind it.
            row(
                "muse",
                "Muse",
                &["<|start|>assistant to=self<|message|>", "to=self<|message|>"],
                &["<|eom|>", "<|eot|>"],
            ),
        ]
    }
}

/// Every markup of tool results.
pub const fn inert_regions() -> &'static [Inert] {
    const fn row(
        name: &'static str,
        models: &'static str,
        open: &'static [&'static str],
        close: &'static [&'static str],
    ) -> Inert {
        Inert { name, models, open, close }
    }
    const {
        &[
            row("tool-result", "Loopwright, DeepSeek V4", &["<tool_result>", "<tool_result "], &["</tool_result>"]),
            row(
                "tool-response",
                "Hermes, Qwen, GLM, MiMo, Nemotron 3",
                &["<tool_response>", "<tool_response "],
                &["</tool_response>"],
            ),
            row("tool-responses", "Hunyuan", &["<tool_responses>", "<tool_responses "], &["</tool_responses>"]),
            row(
                "element",
                "any model that was shown results so, iQuest",
                &[
                    "<tool_results>",
                    "<tool_results ",
                    "<tool_output>",
                    "<tool_output ",
                    "<tool_outputs>",
                    "<tool_outputs ",
                    "<tool_call_result>",
                    "<tool_call_result ",
                    "<tool_call_response>",
                    "<tool_call_response ",
                    "<tool_call_output>",
                    "<tool_call_output ",
                    "<function_result>",
                    "<function_result ",
                    "<function_response>",
                    "<function_response ",
                    "<function_responses>",
                    "<function_responses ",
                    "<function_output>",
                    "<function_output ",
                    "<function_outputs>",
                    "<function_outputs ",
                    "<function_call_result>",
                    "<function_call_result ",
                    "<function_call_output>",
                    "<function_call_output ",
                    "<iquest_tool_response>",
                    "<iquest_tool_response ",
                ],
                &[
                    "</tool_results>",
                    "</tool_output>",
                    "</tool_outputs>",
                    "</tool_call_result>",
                    "</tool_call_response>",
                    "</tool_call_output>",
                    "</function_result>",
                    "</function_response>",
                    "</function_responses>",
                    "</function_output>",
                    "</function_outputs>",
                    "</function_call_result>",
                    "</function_call_output>",
                    "</iquest_tool_response>",
                ],
            ),
            row(
                "special",
                "any model that was shown results so",
                &[
                    "<|tool_response|>",
                    "<|tool_responses|>",
                    "<|tool_result|>",
                    "<|tool_results|>",
                    "<|tool_output|>",
                    "<|tool_outputs|>",
                ],
                &[
                    "<|/tool_response|>",
                    "<|/tool_responses|>",
                    "<|end_tool_response|>",
                    "<|tool_response_end|>",
                    "<|/tool_result|>",
                    "<|/tool_results|>",
                    "<|end_tool_result|>",
                    "<|tool_result_end|>",
                    "<|/tool_output|>",
                    "<|/tool_outputs|>",
                    "<|end_tool_output|>",
                    "<|tool_output_end|>",
                ],
            ),
            row("longcat", "LongCat", &["<longcat_tool_response>"], &["</longcat_tool_response>"]),
            row("nemotron", "Nemotron Nano, Super and Ultra", &["<TOOL_RESPONSE>"], &["</TOOL_RESPONSE>"]),
            row(
                "function-results",
                "Claude in text, DeepSeek V3.2",
                &["<function_results>", "<function_results ", "<antml:function_results>", "<antml:function_results "],
                &["</function_results>", "</antml:function_results>"],
            ),
            row("atem", "Muse", &["<atem:function_results>"], &["</atem:function_results>"]),
            row(
                "deepseek",
                "DeepSeek V3 and V3.1",
                &["<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>"],
                &["<｜tool▁outputs▁end｜>", "<｜tool▁output▁end｜>"],
            ),
            row(
                "step-3",
                "Step 3",
                &["<｜tool_outputs_begin｜>", "<｜tool_output_begin｜>"],
                &["<｜tool_outputs_end｜>", "<｜tool_output_end｜>"],
            ),
            row("kimi-k2", "Kimi K2", &["<|im_system|>tool<|im_middle|>"], &["<|im_end|>"]),
            row("glm", "GLM 4.5 to 5", &["<|observation|>"], &["<|assistant|>", "<|user|>"]),
            row("mistral", "Mistral", &["[TOOL_RESULTS]"], &["[/TOOL_RESULTS]"]),
            row(
                "llama-3",
                "Llama 3 and 4",
                &["<|start_header_id|>ipython<|end_header_id|>", "<|header_start|>ipython<|header_end|>"],
                &["<|eot_id|>", "<|eom_id|>", "<|eot|>"],
            ),
            row("granite", "Granite", &["<|start_of_role|>tool_response<|end_of_role|>"], &["<|end_of_text|>"]),
            row("chatml", "ChatML with a tool role", &["<|im_start|>tool\n"], &["<|im_end|>"]),
            row("internlm", "InternLM 2", &["<|im_start|>environment name=<|plugin|>"], &["<|im_end|>"]),
            row("cohere", "Command A, Command R7B", &["<|START_TOOL_RESULT|>"], &["<|END_TOOL_RESULT|>"]),
            row("gemma-4", "Gemma 4", &["<|tool_response>"], &["<tool_response|>"]),
            row("functiongemma", "FunctionGemma", &["<start_function_response>"], &["<end_function_response>"]),
            row("lfm2", "LFM2", &["<|tool_response_start|>"], &["<|tool_response_end|>"]),
            row("harmony", "gpt-oss", &["<|start|>functions."], &["<|end|>"]),
            row("gigachat", "GigaChat 3", &["function result<|role_sep|>"], &["<|message_sep|>"]),
        ]
    }
}

/// Every frame around visible text.
pub const fn frames() -> &'static [Frame] {
    const {
        &[
            Frame {
                name: "harmony",
                models: "gpt-oss",
                open: &[
                    "<|channel|>final<|message|>",
                    "<|channel|>commentary<|message|>",
                    "<|start|>assistant<|channel|>final<|message|>",
                    "<|start|>assistant<|channel|>commentary<|message|>",
                ],
                close: &["<|end|>", "<|return|>", "<|call|>"],
            },
            Frame {
                name: "begin-of-solution",
                models: "OpenThinker, Sky-T1, Bespoke-Stratos",
                open: &["<|begin_of_solution|>"],
                close: &["<|end_of_solution|>"],
            },
            Frame {
                name: "cohere",
                models: "Command A, Command R7B",
                open: &["<|START_RESPONSE|>", "<|START_TEXT|>"],
                close: &["<|END_RESPONSE|>", "<|END_TEXT|>"],
            },
            Frame {
                name: "inkling",
                models: "Inkling",
                open: &["<|message_model|><|content_text|>", "<|content_text|>"],
                close: &["<|end_message|>", "<|end_message|><|content_model_end_sampling|>"],
            },
            Frame {
                name: "kimi-k3",
                models: "Kimi K3",
                open: &["<|open|>response<|sep|>"],
                close: &["<|close|>response<|sep|>"],
            },
            Frame {
                name: "muse",
                models: "Muse",
                open: &[
                    "<|start|>assistant to=user<|message|>",
                    "to=user<|message|>",
                    "<|start|>assistant to=commentary<|message|>",
                    "to=commentary<|message|>",
                    "<|start|>assistant<|message|>",
                ],
                close: &["<|eom|>", "<|eot|>"],
            },
        ]
    }
}

/// What stands between a call's name and its arguments, and in no other place.
pub(crate) const fn call_separators() -> &'static [&'static str] {
    &["<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool▁sep|>"]
}

/// What ends a turn in the models' templates, and comes with a reply whose server leaves it there: markup where nothing
/// follows.
pub fn turn_ends() -> &'static [&'static str] {
    static ENDS: OnceLock<Vec<&str>> = OnceLock::new();
    ENDS.get_or_init(|| include_str!("turn_ends.txt").lines().filter(|line| !line.is_empty()).collect())
}
