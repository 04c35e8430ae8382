//! Tools that are not in requests until the model has found them.
//!
//! One tool of the turn's own searches their names and descriptions by words; what it gives, and whatever else of them
//! is called, is offered from the next request on. It stands behind all that was offered before, so that the bytes of
//! the earlier tools stay as they are.

use loopwright_base::{
    json::{Fields, Raw},
    message::{Message, ToolFailure, ToolResult, ToolUse},
    request::{FunctionTool, Request, Tool, ToolChoice},
    text::clip,
};
use loopwright_guard::{Judgement, RiskLevel, policy::Verdict};
use loopwright_retrieve::index::{Index, Ways};

use super::{ToolConfig, TurnConfig, TurnMachine, emit, window::tools_tokens};
use crate::{Command, Notice};

const NAME: &str = "find_tools";
const DESCRIPTION: &str = "Finds further tools that are not listed here, by words of what they do or by their names. \
Those that fit best are described in the result, and can be called from then on.";
const SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":
"What is to be done, or the names of tools."}},"required":["query"],"additionalProperties":false}"#;
/// So many tools are given at once.
const FEW: usize = 5;
/// Characters of a query that are read.
const ASKED: usize = 1_000;
/// Bytes of descriptions and schemas that a result holds.
const SHOWN: usize = 16_000;
/// Characters of names that are told where nothing was found.
const NAMES: usize = 2_000;

impl ToolConfig {
    /// The tool as requests hold it.
    pub(super) fn offered(&self) -> Tool {
        Tool::Function(FunctionTool {
            name: self.name.clone(),
            description: self.description.clone(),
            schema: self.schema.clone(),
            strict: None,
            extra: None,
        })
    }
}

/// The name of the tool that finds others; a tool of the caller's goes first. `None` where there is nothing to find.
pub(crate) fn finder_name(config: &TurnConfig) -> Option<String> {
    config.tools.iter().any(|tool| tool.found).then(|| {
        let mut name = NAME.to_owned();
        let mut number = 1_usize;
        while config.tool(&name).is_some() {
            number += 1;
            name = format!("{NAME}_{number}");
        }
        name
    })
}

/// Puts the tool that finds others among the tools of a turn, where there are such; gives its name.
pub(super) fn offer_finder(config: &mut TurnConfig) -> Option<String> {
    let name = finder_name(config)?;
    config.tools.push(ToolConfig {
        name: name.clone(),
        description: Some(DESCRIPTION.to_owned()),
        schema: Raw::parse(SCHEMA.to_owned()).unwrap_or_else(|_| Raw::empty_object()),
        risk: RiskLevel::Safe,
        read_only: true,
        timeout: None,
        max_output: None,
        volatile: Vec::new(),
        flow: None,
        answer: None,
        found: false,
        asks: false,
        deferred: false,
    });
    Some(name)
}

impl TurnMachine {
    /// Whether a tool is the one that finds others.
    pub(super) fn is_finder(&self, name: &str) -> bool {
        self.tools.finder.as_deref() == Some(name)
    }

    fn waits(&self, tool: &ToolConfig) -> bool {
        tool.found && !self.tools.loaded.contains(&tool.name)
    }

    /// The tools that requests hold.
    pub(super) fn shown_tools(&self) -> impl Iterator<Item = &ToolConfig> {
        self.config.tools.iter().filter(|tool| !self.waits(tool))
    }

    /// The request without its history, and without what came since the turn began: that stands behind it.
    pub(super) fn first_request(&self) -> Request {
        let mut request = self.config.request();
        let came = |tool: &Tool| matches!(tool, Tool::Function(tool) if self.tools.asked.contains_key(&tool.name));
        if request.tools.iter().any(came) {
            request.tools = request.tools.iter().filter(|tool| !came(tool)).cloned().collect();
        }
        request
    }

    /// The tools that came since the turn began, found or asked for, in the order in which they did.
    pub(super) fn loaded_tools(&self) -> impl Iterator<Item = Tool> {
        self.tools.loaded.iter().filter_map(|name| self.config.tool(name)).map(ToolConfig::offered)
    }

    /// The tools that calls in text are read by: those of the request, and those that wait.
    pub(super) fn readable_tools(&mut self) -> std::sync::Arc<[Tool]> {
        let shown = self.template().tools.clone();
        let mut waiting = self.config.tools.iter().filter(|tool| self.waits(tool)).map(ToolConfig::offered).peekable();
        if waiting.peek().is_none() { shown } else { shown.iter().cloned().chain(waiting).collect() }
    }

    /// What the messages given have called, and what must be called, is there from the first request on.
    pub(super) fn load_first(&mut self, out: &mut Vec<Command>) {
        if self.tools.finder.is_none() {
            return;
        }
        let mut names: Vec<String> =
            self.history.iter().flat_map(Message::tool_uses).map(|call| call.name.clone()).collect();
        if let Some(ToolChoice::Tool(name)) = &self.config.tool_choice {
            names.push(name.clone());
        }
        self.load(names, None, out);
    }

    /// The answers to those calls of a reply that the turn answers itself. Tools that are found, or called, are offered
    /// from the next request on.
    pub(super) fn answer_calls(
        &mut self,
        calls: &[ToolUse],
        broken: &[Option<ToolFailure>],
        judged: &[Judgement],
        out: &mut Vec<Command>,
    ) -> Vec<Option<ToolResult>> {
        let mut given = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            let runs = broken.get(at).is_none_or(Option::is_none);
            let allowed = judged.get(at).is_none_or(|judged| judged.verdict != Verdict::Forbid);
            if allowed && self.is_finder(&call.name) {
                given.push(runs.then(|| self.find(call, out)));
                continue;
            }
            if allowed {
                self.load(vec![call.name.clone()], None, out);
            }
            given.push(self.recalled(call, calls));
        }
        given
    }

    /// Offers those of the tools that wait.
    fn load(&mut self, names: Vec<String>, query: Option<&str>, out: &mut Vec<Command>) {
        let mut new: Vec<String> = Vec::new();
        for name in names {
            if !new.contains(&name) && self.config.tool(&name).is_some_and(|tool| self.waits(tool)) {
                new.push(name);
            }
        }
        if new.is_empty() {
            return;
        }
        self.tools.loaded.extend(new.iter().cloned());
        let tools: Vec<Tool> = new.iter().filter_map(|name| self.config.tool(name)).map(ToolConfig::offered).collect();
        self.prepared.template = None;
        self.tools_weigh(|counter| (tools_tokens(&tools, counter), 0));
        emit(out, Notice::ToolsLoaded { round: self.round(), names: new, query: query.map(|query| clip(query, 200)) });
    }

    fn find(&mut self, call: &ToolUse, out: &mut Vec<Command>) -> ToolResult {
        let query = Fields::parse(call.input.text()).unwrap_or_default().get_str("query").unwrap_or_default();
        let query: String = query.trim().chars().take(ASKED).collect();
        if query.is_empty() {
            let failure = ToolFailure {
                kind: "invalid_arguments".into(),
                message: "there is no query".into(),
                hint: Some("say in a few words what the tool is to do".into()),
            };
            return ToolResult::failed(&call.id, &call.name, failure);
        }
        let found = self.ranked(&query);
        if found.is_empty() {
            let names: Vec<&str> = self.config.tools.iter().filter(|tool| tool.found).map(|tool| &*tool.name).collect();
            let (many, names) = (names.len(), clip(&names.join(", "), NAMES));
            let said = format!("No tool fits {:?}. There are {many}: {names}", clip(&query, 100));
            return ToolResult::text(&call.id, &call.name, said);
        }
        let mut said = "These tools can be called from now on:".to_owned();
        for tool in found.iter().filter_map(|name| self.config.tool(name)) {
            let whole = serde_json::json!({
                "name": tool.name, "description": tool.description, "parameters": tool.schema.value(),
            });
            let whole = whole.to_string();
            said.push('\n');
            if said.len() + whole.len() <= SHOWN {
                said.push_str(&whole);
            } else {
                said.push_str(&serde_json::json!({ "name": tool.name }).to_string());
            }
        }
        self.load(found, Some(&query), out);
        ToolResult::text(&call.id, &call.name, said)
    }

    /// The names of the tools that fit best: those that the query names, those that fit by words, and those whose
    /// names hold it.
    fn ranked(&self, query: &str) -> Vec<String> {
        let tools: Vec<&ToolConfig> = self.config.tools.iter().filter(|tool| tool.found).collect();
        let mut index = Index::default();
        for tool in &tools {
            let text = format!("{} {}", tool.name, tool.description.as_deref().unwrap_or_default());
            if index.add(&text, None).is_err() {
                break;
            }
        }
        let named = |tool: &&&ToolConfig| {
            let apart = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
            query.split(apart).any(|word| word == tool.name)
        };
        let ways = Ways { feedback: false, lsa: false };
        let by_words = index.search(query, None, ways, FEW).unwrap_or_default();
        let by_words = by_words.iter().filter_map(|found| tools.get(found.passage));
        let whole = query.to_lowercase();
        let holds = |tool: &&&ToolConfig| tool.name.to_lowercase().contains(&whole);
        let mut found: Vec<String> = Vec::new();
        for tool in tools.iter().filter(named).chain(by_words).chain(tools.iter().filter(holds)) {
            if found.len() < FEW && !found.contains(&tool.name) {
                found.push(tool.name.clone());
            }
        }
        found
    }
}
