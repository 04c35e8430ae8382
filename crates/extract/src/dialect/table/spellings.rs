//! Other spellings of some dialects' markers: bars of other widths, words joined otherwise, an opener that is missing.
//! Read under the dialect's name, and written by nobody on purpose.

use super::{
    super::{Dialect, First, Grammar, Tags},
    elements, headers, objects, pairs,
};

/// The elements of `DeepSeek` between bars of another kind.
macro_rules! dsml {
    ($bar:literal) => {
        [
            dsml!(elements::DEEPSEEK_V3_2, $bar, "", "function_calls"),
            dsml!(elements::DEEPSEEK_V4, $bar, "", "tool_calls"),
            dsml!(elements::DEEPSEEK_V4_1, $bar, " ", "calls"),
        ]
    };
    ($base:expr, $bar:literal, $space:literal, $wrapper:literal) => {
        Dialect {
            open: &[concat!("<", $bar, "DSML", $bar, $space, $wrapper, ">"), ""],
            close: &[concat!("</", $bar, "DSML", $bar, $space, $wrapper, ">"), ""],
            first: First::OneOf(&[concat!("<", $bar, "DSML", $bar, $space, "invoke name=")]),
            grammar: Grammar::Tags(Tags {
                call: (concat!("<", $bar, "DSML", $bar, $space, "invoke name=\""), "\">"),
                call_end: concat!("</", $bar, "DSML", $bar, $space, "invoke>"),
                parameter: (concat!("<", $bar, "DSML", $bar, $space, "parameter name=\""), "\">"),
                parameter_end: concat!("</", $bar, "DSML", $bar, $space, "parameter>"),
                ..elements::DSML
            }),
            ..$base
        }
    };
}

/// The headers of `DeepSeek` with other bars, and other signs between words.
macro_rules! headers {
    ($bar:literal, $join:literal) => {
        [
            Dialect {
                section: headers!(section $bar, $join),
                open: &[concat!("<", $bar, "tool", $join, "call", $join, "begin", $bar, ">")],
                close: &[concat!("<", $bar, "tool", $join, "call", $join, "end", $bar, ">")],
                first: First::OneOf(&[concat!("function<", $bar, "tool", $join, "sep", $bar, ">")]),
                grammar: Grammar::Named {
                    before: concat!("function<", $bar, "tool", $join, "sep", $bar, ">"),
                    between: &["\n"],
                    fenced: true,
                    indexed: false,
                    id: "",
                },
                ..headers::DEEPSEEK_V3
            },
            Dialect {
                section: headers!(section $bar, $join),
                open: &[concat!("<", $bar, "tool", $join, "call", $join, "begin", $bar, ">")],
                close: &[concat!("<", $bar, "tool", $join, "call", $join, "end", $bar, ">")],
                first: First::NameThen(&[concat!("<", $bar, "tool", $join, "sep", $bar, ">")]),
                grammar: Grammar::Named {
                    before: "",
                    between: &[concat!("<", $bar, "tool", $join, "sep", $bar, ">")],
                    fenced: false,
                    indexed: false,
                    id: "",
                },
                ..headers::DEEPSEEK_V3_1
            },
        ]
    };
    (section $bar:literal, $join:literal) => {
        Some((
            &[concat!("<", $bar, "tool", $join, "calls", $join, "begin", $bar, ">")],
            &[concat!("<", $bar, "tool", $join, "calls", $join, "end", $bar, ">")],
        ))
    };
}

const ASCII: [Dialect; 2] = headers!("|", "▁");
const ASCII_JOINED: [Dialect; 2] = headers!("|", "_");

/// Kimi's calls without their opener.
const KIMI_UNOPENED: Dialect = Dialect {
    open: &[""],
    first: First::NamedThen(&["functions."], &["<|tool_call_argument_begin|>"]),
    ..headers::KIMI_K2
};

/// JSON between Gemma's markers.
const GEMMA_JSON: Dialect =
    Dialect { first: objects::HERMES.first, grammar: objects::HERMES.grammar, ..pairs::GEMMA_4 };

/// Python's calls between the markers of one that writes JSON.
const GRANITE_20B_PYTHON: Dialect =
    Dialect { first: First::NameThen(&["("]), grammar: Grammar::Python { brackets: false }, ..objects::GRANITE_20B };

/// A list between the markers of one that writes one call after the other.
const HERMES_LIST: Dialect =
    Dialect { first: objects::GRANITE.first, grammar: objects::GRANITE.grammar, ..objects::HERMES };

/// `DeepSeek`'s elements between bars of other kinds and widths.
pub(super) const BARS: &[[Dialect; 3]] = &[
    dsml!("｜｜"),
    dsml!("|"),
    dsml!("||"),
    dsml!("‖"),
    dsml!("￨"),
    dsml!("∥"),
    dsml!("│"),
    dsml!("∣"),
    dsml!("ǀ"),
    dsml!("❘"),
];

pub(super) const SPELLINGS: &[Dialect] =
    &[ASCII[0], ASCII[1], ASCII_JOINED[0], ASCII_JOINED[1], KIMI_UNOPENED, GEMMA_JSON, GRANITE_20B_PYTHON];

/// Spellings that another dialect writes on purpose, which comes first where both are read.
pub(super) const SHARED: &[Dialect] = &[HERMES_LIST];
