//! The parsers of others, each the way its own documentation uses it. Those that weren't built in are simply not here.
#![allow(unused_imports, unused_mut, clippy::vec_init_then_push)]

use crate::Job;

type Jobs = Vec<(&'static str, Job)>;

#[cfg(any(feature = "tool-parser", feature = "dynamo-v2"))]
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    // All of these texts are ASCII.
    (0..text.len())
        .step_by(loopwright_extract_bench::CHUNK)
        .filter_map(|at| text.get(at..(at + loopwright_extract_bench::CHUNK).min(text.len())))
}

#[cfg(feature = "tool-parser")]
mod tool_parser_crate {
    use openai_protocol::common::Tool;
    use pollster::block_on;
    use tool_parser::{ToolParser, parsers};

    use super::{Job, chunks};

    fn tools() -> Vec<Tool> {
        let function = serde_json::json!({"name": "write", "parameters": loopwright_extract_bench::tool()});
        let tool = serde_json::json!({"type": "function", "function": function});
        serde_json::from_value(tool).into_iter().collect()
    }

    pub(super) fn streamed<P: ToolParser + 'static>(new: fn() -> P, calls: usize) -> Job {
        let tools = tools();
        Box::new(move |text| {
            let mut parser = new();
            let (mut names, mut bytes) = (0, 0);
            for chunk in chunks(text) {
                let Ok(result) = block_on(parser.parse_incremental(chunk, &tools)) else { return false };
                bytes += result.normal_text.len();
                for call in result.calls {
                    names += usize::from(call.name.is_some());
                    bytes += call.parameters.len();
                }
            }
            names == calls && bytes > text.len() / 4
        })
    }

    pub(super) fn whole<P: ToolParser + 'static>(new: fn() -> P, calls: usize) -> Job {
        // Made once: making one compiles a pattern, and reading a whole text leaves it as it was.
        let parser = new();
        Box::new(move |text| block_on(parser.parse_complete(text)).is_ok_and(|(_, found)| found.len() == calls))
    }
}

#[cfg(feature = "dynamo-v2")]
mod dynamo_v2 {
    use dynamo_parsers_v2::{
        Tool, UnifiedParserInit, UnifiedParserOutput, create_tool_parser_for_family, create_unified_parser_for_family,
    };

    use super::{Job, chunks};

    fn tools() -> Vec<Tool> {
        let parameters = loopwright_extract_bench::tool();
        vec![Tool { name: "write".to_owned(), description: None, parameters, strict: None }]
    }

    pub(super) fn streamed(family: &'static str, calls: usize) -> Job {
        let tools = tools();
        Box::new(move |text| {
            let Ok(mut parser) = create_tool_parser_for_family(family, &tools) else { return false };
            let (mut names, mut bytes) = (0, 0);
            for chunk in chunks(text) {
                let Ok(result) = parser.push(chunk) else { return false };
                bytes += result.normal_text.len();
                for call in result.calls {
                    names += usize::from(call.name.is_some());
                    bytes += call.arguments.len();
                }
            }
            let Ok(result) = parser.finish() else { return false };
            bytes += result.normal_text.len() + result.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
            names += result.calls.iter().filter(|call| call.name.is_some()).count();
            names == calls && bytes > text.len() / 4
        })
    }

    pub(super) fn whole(family: &'static str, calls: usize) -> Job {
        let tools = tools();
        Box::new(move |text| {
            let Ok(mut parser) = create_tool_parser_for_family(family, &tools) else { return false };
            let Ok(mut result) = parser.push(text) else { return false };
            let Ok(rest) = parser.finish() else { return false };
            result.append(rest);
            result.coalesce_calls().calls.len() == calls
        })
    }

    /// One parser for text, reasoning and calls, as servers use it.
    pub(super) fn unified(family: &'static str, calls: usize, in_chunks: bool) -> Job {
        let tools = tools();
        Box::new(move |text| {
            let Ok(mut parser) = create_unified_parser_for_family(family, &tools) else { return false };
            if parser.initialize_request(UnifiedParserInit::default()).is_err() {
                return false;
            }
            let mut output = UnifiedParserOutput::default();
            if in_chunks {
                let mut events = 0;
                for chunk in chunks(text) {
                    let mut committed = UnifiedParserOutput::default();
                    if parser.parse_into(chunk, &mut committed).is_err() {
                        return false;
                    }
                    events += committed.events.len();
                }
                parser.finish().is_ok() && events > calls
            } else {
                parser.parse_into(text, &mut output).is_ok() && parser.finish().is_ok() && !output.events.is_empty()
            }
        })
    }
}

#[cfg(feature = "dynamo")]
fn dynamo(parser: &'static str, calls: usize) -> Job {
    Box::new(move |text| {
        pollster::block_on(dynamo_parsers::detect_and_parse_tool_call(text, Some(parser), None))
            .is_ok_and(|(found, _)| found.len() == calls)
    })
}

#[cfg(feature = "zeroclaw")]
fn zeroclaw(calls: usize) -> Job {
    Box::new(move |text| zeroclaw_tool_call_parser::parse_tool_calls(text).1.len() == calls)
}

pub(crate) fn json_chunks() -> Jobs {
    json_chunks_of(1)
}

pub(crate) fn json_chunks_of(calls: usize) -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::streamed(tool_parser::parsers::QwenParser::new, calls)));
    let _ = calls;
    jobs
}

pub(crate) fn kimi_chunks() -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::streamed(tool_parser::parsers::KimiK2Parser::new, 1)));
    #[cfg(feature = "dynamo-v2")]
    jobs.push(("dynamo-parsers-v2", dynamo_v2::streamed("kimi_k2", 1)));
    jobs
}

pub(crate) fn xml_chunks() -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::streamed(tool_parser::parsers::QwenXmlParser::new, 1)));
    #[cfg(feature = "dynamo-v2")]
    jobs.push(("dynamo-parsers-v2", dynamo_v2::streamed("qwen3_coder", 1)));
    jobs
}

pub(crate) fn json_whole(calls: usize) -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::whole(tool_parser::parsers::QwenParser::new, calls)));
    #[cfg(feature = "dynamo")]
    jobs.push(("dynamo-parsers", dynamo("hermes", calls)));
    #[cfg(feature = "zeroclaw")]
    jobs.push(("zeroclaw-tool-call-parser", zeroclaw(calls)));
    let _ = calls;
    jobs
}

pub(crate) fn xml_whole(calls: usize) -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::whole(tool_parser::parsers::QwenXmlParser::new, calls)));
    #[cfg(feature = "dynamo-v2")]
    jobs.push(("dynamo-parsers-v2", dynamo_v2::whole("qwen3_coder", calls)));
    #[cfg(feature = "dynamo")]
    jobs.push(("dynamo-parsers", dynamo("qwen3_coder", calls)));
    let _ = calls;
    jobs
}

pub(crate) fn text() -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::whole(tool_parser::parsers::QwenParser::new, 0)));
    #[cfg(feature = "dynamo-v2")]
    jobs.push(("dynamo-parsers-v2", dynamo_v2::whole("qwen3_coder", 0)));
    #[cfg(feature = "dynamo")]
    jobs.push(("dynamo-parsers", dynamo("hermes", 0)));
    #[cfg(feature = "zeroclaw")]
    jobs.push(("zeroclaw-tool-call-parser", zeroclaw(0)));
    jobs
}

pub(crate) fn text_chunks() -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "tool-parser")]
    jobs.push(("tool-parser", tool_parser_crate::streamed(tool_parser::parsers::QwenParser::new, 0)));
    #[cfg(feature = "dynamo-v2")]
    {
        jobs.push(("dynamo-parsers-v2", dynamo_v2::streamed("qwen3_coder", 0)));
        jobs.push(("dynamo-parsers-v2, unified", dynamo_v2::unified("qwen3", 0, true)));
    }
    jobs
}

pub(crate) fn repair() -> Jobs {
    let mut jobs = Jobs::new();
    #[cfg(feature = "jsonrepair")]
    jobs.push((
        "jsonrepair",
        Box::new(|text| {
            jsonrepair::repair_to_string(text, &jsonrepair::Options::default())
                .is_ok_and(|json| serde_json::from_str::<&serde_json::value::RawValue>(&json).is_ok())
        }),
    ));
    jobs
}
