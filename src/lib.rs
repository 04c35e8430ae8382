//! The only place that names Python: thin classes over the rooms below, and the bridge between threads.
//!
//! Rules live in Rust; nothing here decides anything. Code that runs on tokio's threads never takes the interpreter:
//! it pushes plain data into a queue which the thread of the event loop drains.

// The only room that takes the interpreter; its run has a clock and a journal file.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod analysis;
mod bridge;
mod build;
mod context;
mod convert;
mod draft;
mod drop_later;
mod environment;
mod errors;
mod extract;
mod find;
mod guard_policy;
mod guard_risk;
mod guard_sensitivity;
mod history;
mod machine;
mod memory;
mod messages;
mod options;
mod outcome;
mod prices;
mod read_history;
mod read_messages;
mod read_response;
mod research;
mod retrieve;
mod roles;
mod run;
mod runtime;
mod search;
mod senses_intent;
mod senses_stuck;
mod testing;
mod tokens;
mod web;
mod wire;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// What a run takes on one thread it gives back on another, and there is little of it at a time: the system's own
/// allocator keeps twice as much as is in use then.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The compiled part of Loopwright. Import from `loopwright`, not from here.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    convert::prepare(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<build::BuildInfo>()?;
    module.add_function(wrap_pyfunction!(build::build_info, module)?)?;
    module.add_class::<bridge::Hub>()?;
    module.add_class::<bridge::ModelCall>()?;
    module.add_class::<bridge::Endpoint>()?;
    module.add_class::<bridge::TextDelta>()?;
    module.add_class::<bridge::ReasoningDelta>()?;
    module.add_class::<bridge::ToolUseDelta>()?;
    module.add_class::<bridge::ArgumentsDelta>()?;
    module.add_class::<bridge::ProviderDelta>()?;
    module.add("ExtractedText", module.py().get_type::<extract::TextDelta>())?;
    module.add("ExtractedReasoning", module.py().get_type::<extract::ReasoningDelta>())?;
    module.add("ExtractedArguments", module.py().get_type::<extract::ArgumentsDelta>())?;
    module.add_class::<extract::CallStarted>()?;
    module.add_class::<extract::CallFinished>()?;
    module.add_class::<extract::Markup>()?;
    module.add_class::<extract::Problem>()?;
    module.add_class::<extract::ExtractedCall>()?;
    module.add_class::<extract::Region>()?;
    module.add_class::<extract::Extraction>()?;
    module.add_class::<extract::ToolCallParser>()?;
    module.add_class::<extract::Repair>()?;
    module.add_class::<extract::Repaired>()?;
    module.add_class::<extract::FoundJson>()?;
    module.add_class::<history::History>()?;
    module.add_class::<wire::StreamDecoder>()?;
    module.add_class::<machine::Event>()?;
    module.add_class::<outcome::Ended>()?;
    module.add_class::<machine::Command>()?;
    module.add_class::<machine::Call>()?;
    module.add_class::<machine::Request>()?;
    module.add_class::<machine::MachineConfig>()?;
    module.add_class::<machine::TurnMachine>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<testing::WireServer>()?;
    module.add_class::<find::FolderWalk>()?;
    module.add_class::<find::LinePattern>()?;
    module.add_function(wrap_pyfunction!(run::replay, module)?)?;
    module.add_function(wrap_pyfunction!(run::compare_journals, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_head, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::shutdown, module)?)?;
    module.add_function(wrap_pyfunction!(messages::canonical_message, module)?)?;
    module.add_function(wrap_pyfunction!(messages::canonical_block, module)?)?;
    module.add_function(wrap_pyfunction!(messages::json_members, module)?)?;
    module.add_function(wrap_pyfunction!(messages::json_elements, module)?)?;
    module.add_function(wrap_pyfunction!(messages::check_json, module)?)?;
    module.add_function(wrap_pyfunction!(wire::canonical_request, module)?)?;
    module.add_function(wrap_pyfunction!(wire::canonical_response, module)?)?;
    module.add_function(wrap_pyfunction!(wire::encode_stream, module)?)?;
    module.add_function(wrap_pyfunction!(wire::decode_failure, module)?)?;
    module.add_function(wrap_pyfunction!(wire::encode_request, module)?)?;
    module.add_function(wrap_pyfunction!(wire::decode_request, module)?)?;
    module.add_function(wrap_pyfunction!(wire::encode_response, module)?)?;
    module.add_function(wrap_pyfunction!(wire::decode_response, module)?)?;
    module.add_function(wrap_pyfunction!(wire::encode_message, module)?)?;
    module.add_function(wrap_pyfunction!(wire::decode_stream, module)?)?;
    module.add_function(wrap_pyfunction!(wire::limit_output, module)?)?;
    module.add_function(wrap_pyfunction!(wire::search_is_down, module)?)?;
    module.add_function(wrap_pyfunction!(extract::repair_json, module)?)?;
    module.add_function(wrap_pyfunction!(extract::find_json, module)?)?;
    module.add_function(wrap_pyfunction!(extract::schema_fault, module)?)?;
    module.add_function(wrap_pyfunction!(extract::render_calls, module)?)?;
    module.add_function(wrap_pyfunction!(extract::render_results, module)?)?;
    module.add_function(wrap_pyfunction!(extract::dialect_for, module)?)?;
    module.add_function(wrap_pyfunction!(extract::dialects, module)?)?;
    module.add_class::<tokens::TokenCount>()?;
    module.add_class::<tokens::TokenCounter>()?;
    module.add_function(wrap_pyfunction!(tokens::count_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(tokens::estimate_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(tokens::encode_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(tokens::decode_tokens, module)?)?;
    module.add_class::<context::ContextArchive>()?;
    module.add_class::<context::ContextReport>()?;
    module.add_class::<context::Window>()?;
    module.add_function(wrap_pyfunction!(context::compress_context, module)?)?;
    module.add_function(wrap_pyfunction!(context::count_context, module)?)?;
    module.add_function(wrap_pyfunction!(context::count_tools, module)?)?;
    module.add_class::<guard_policy::Policy>()?;
    module.add_class::<guard_policy::ApprovalDesk>()?;
    module.add_function(wrap_pyfunction!(context::assemble_context, module)?)?;
    module.add_function(wrap_pyfunction!(context::window_of, module)?)?;
    module.add_function(wrap_pyfunction!(guard_sensitivity::classify_sensitivity, module)?)?;
    module.add_function(wrap_pyfunction!(guard_sensitivity::redact, module)?)?;
    module.add_function(wrap_pyfunction!(guard_sensitivity::redact_with_hits, module)?)?;
    module.add_function(wrap_pyfunction!(guard_sensitivity::redact_json, module)?)?;
    module.add_function(wrap_pyfunction!(guard_sensitivity::sensitivity_detectors, module)?)?;
    module.add_function(wrap_pyfunction!(guard_sensitivity::is_secret_variable, module)?)?;
    module.add_class::<senses_stuck::StuckDetector>()?;
    module.add_class::<senses_stuck::Momentum>()?;
    module.add_function(wrap_pyfunction!(senses_stuck::breakpoint_of, module)?)?;
    module.add_function(wrap_pyfunction!(senses_stuck::is_limit, module)?)?;
    module.add_function(wrap_pyfunction!(senses_stuck::continuation, module)?)?;
    module.add_function(wrap_pyfunction!(roles::check_sanity, module)?)?;
    module.add_function(wrap_pyfunction!(roles::summarize, module)?)?;
    module.add_function(wrap_pyfunction!(roles::summary_words, module)?)?;
    module.add_class::<guard_risk::AssessedRisk>()?;
    module.add_class::<guard_risk::RiskGround>()?;
    module.add_function(wrap_pyfunction!(guard_risk::assess_shell, module)?)?;
    module.add_function(wrap_pyfunction!(guard_risk::assess_arguments, module)?)?;
    module.add_class::<senses_intent::GoalDrift>()?;
    module.add_function(wrap_pyfunction!(senses_intent::find_next_step, module)?)?;
    module.add_function(wrap_pyfunction!(senses_intent::reply_signals, module)?)?;
    module.add_function(wrap_pyfunction!(senses_intent::assess_intent, module)?)?;
    module.add_class::<memory::MemoryStore>()?;
    module.add_class::<prices::PriceTable>()?;
    module.add_function(wrap_pyfunction!(prices::judge_complexity, module)?)?;
    module.add_function(wrap_pyfunction!(prices::judge_claim, module)?)?;
    module.add_function(wrap_pyfunction!(prices::complexities, module)?)?;
    module.add_function(wrap_pyfunction!(options::check_options, module)?)?;
    module.add_function(wrap_pyfunction!(research::render_report, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_runs, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_find, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_text, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_delete, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_delete_file, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_told, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_import, module)?)?;
    module.add_function(wrap_pyfunction!(run::journal_close, module)?)?;
    module.add_class::<bridge::WebTask>()?;
    module.add_class::<search::Breaker>()?;
    module.add_class::<search::LocalIndex>()?;
    module.add_function(wrap_pyfunction!(web::fetch_text, module)?)?;
    module.add_function(wrap_pyfunction!(web::read_text, module)?)?;
    module.add_function(wrap_pyfunction!(web::web_request, module)?)?;
    module.add_class::<analysis::Background>()?;
    module.add_function(wrap_pyfunction!(analysis::analysis_select, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_coverage, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_gain, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_trend, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_enough, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_latent, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_nearest, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_usable, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::analysis_cut, module)?)?;
    module.add_class::<retrieve::RetrieveIndex>()?;
    module.add_function(wrap_pyfunction!(retrieve::retrieve_fuse, module)?)?;
    module.add_function(wrap_pyfunction!(retrieve::check_citations, module)?)?;
    module.add_function(wrap_pyfunction!(retrieve::quote_sources, module)?)?;
    module.add_function(wrap_pyfunction!(retrieve::retrieve_topics, module)?)?;
    Ok(())
}
