//! Tools that are asked for before each request: what is on offer changes in the middle of a turn.
//!
//! What stays the same stays in its place, and what is new stands behind it. A tool that is not on offer any more is
//! known by its name, so that whoever calls it is told so.

use loopwright_base::{
    error::{Error, Result},
    message::ToolFailure,
    request::Tool,
};

use super::{ToolConfig, TurnMachine, found::offer_finder, window::tools_tokens};

impl TurnMachine {
    /// These are the tools that are asked for before each request, from now on.
    pub(super) fn offer(&mut self, tools: Vec<ToolConfig>) -> Result<()> {
        let old = self.config.tools.clone();
        let before: Vec<Tool> = self.shown_tools().map(ToolConfig::offered).collect();
        let is_asked = |name: &str| self.tools.asked.contains_key(name);
        if let Some(taken) = tools.iter().find(|tool| self.config.tool(&tool.name).is_some() && !is_asked(&tool.name)) {
            let message = format!("a tool that is asked for is named {:?}, as another one is", taken.name);
            return Err(Error::usage("duplicate_tool", message).hint("give one of them another name"));
        }
        self.config.tools.retain(|tool| !self.tools.asked.contains_key(&tool.name) || tools.contains(tool));
        self.tools.asked.values_mut().for_each(|offered| *offered = false);
        for tool in tools {
            self.tools.asked.insert(tool.name.clone(), true);
            if !self.config.tools.contains(&tool) {
                self.config.tools.push(tool);
            }
        }
        if self.tools.finder.is_none() {
            self.tools.finder = offer_finder(&mut self.config);
        }
        let config = &self.config;
        self.tools.loaded.retain(|name| config.tool(name).is_some());
        for tool in config.tools.iter().filter(|tool| !tool.found && self.tools.asked.contains_key(&tool.name)) {
            if !self.tools.loaded.contains(&tool.name) {
                self.tools.loaded.push(tool.name.clone());
            }
        }
        if let Err(error) = self.config.check() {
            self.config.tools = old;
            return Err(error);
        }
        self.tools.off = self.no_calls();
        self.prepared.template = None;
        self.prepared.signatures = None;
        let now: Vec<Tool> = self.shown_tools().map(ToolConfig::offered).collect();
        self.tools_weigh(|counter| (tools_tokens(&now, counter), tools_tokens(&before, counter)));
        Ok(())
    }

    /// What is said to a call of a tool that was on offer.
    pub(super) fn not_offered(&self, name: &str) -> Option<ToolFailure> {
        (self.tools.asked.get(name) == Some(&false)).then(|| ToolFailure {
            kind: "tool_withdrawn".into(),
            message: format!("the tool {name:?} is not on offer any more"),
            hint: Some("go on with the tools that are".to_owned()),
        })
    }
}
