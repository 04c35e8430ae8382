//! Tools of the user: in each cycle a child turn may call them, and their results are read like pages.
//!
//! Statements rest on the results, never on what the model makes of them; each result is a source of its own, named
//! after its tool. Calls go the way of every turn: gates, approvals, budgets and journal are those of the run.

use std::fmt::Write as _;

use super::{
    Action, Hit, ModelQuestion, PageText, ResearchMachine, StageWork,
    act::{PendingPage, TOOL},
    plan, prompts,
};
use crate::{Command, Outcome};
use loopwright_base::{message::Message, request::History, text::clip};

/// Rounds of calls in a cycle.
pub(super) const ROUNDS: u32 = 4;
/// Results of a cycle that are read.
const MAX_RESULTS: usize = 40;
/// Characters of arguments that are shown.
const SHOWN: usize = 120;
/// Earlier calls that the model is told.
const MAX_SHOWN_CALLS: usize = 40;

impl ResearchMachine {
    /// Lets a model call tools for the actions of the plan.
    pub(super) fn call_tools(&mut self, actions: &[Action], out: &mut Vec<Command>) {
        if self.config.turn.tools.is_empty() || self.config.without_model {
            return;
        }
        let mut prompt = format!("Question: {}\n", plan::one_line(&self.state.query, 2_000));
        let topics: Vec<String> = self.state.outline.iter().map(super::Topic::line).collect();
        // Writing to a string does not fail.
        if !topics.is_empty() {
            let _ = write!(prompt, "\nThe report will cover:\n- {}\n", topics.join("\n- "));
        }
        let wanted: Vec<&str> = actions
            .iter()
            .filter_map(|action| match action {
                Action::Search { query, .. } => Some(query.as_str()),
                Action::AddToOutline { .. } => None,
            })
            .collect();
        if !wanted.is_empty() {
            let _ = write!(prompt, "\nThis cycle looks for:\n- {}\n", wanted.join("\n- "));
        }
        let before: Vec<&str> =
            self.state.results.iter().filter(|one| one.url.starts_with(TOOL)).map(|one| one.title.as_str()).collect();
        if !before.is_empty() {
            let skipped = before.len().saturating_sub(MAX_SHOWN_CALLS);
            let before: Vec<&str> = before.into_iter().skip(skipped).collect();
            let _ = write!(prompt, "\nCalled before, with results that are kept:\n- {}\n", before.join("\n- "));
        }
        let ask = ModelQuestion {
            work: StageWork::Tools,
            system: prompts::TOOLS.to_owned(),
            prompt,
            temperature: 0.2,
            max_tokens: 1_024,
            output: None,
        };
        self.ask(ask, out);
    }

    /// Reads the results of a child's tools, each like a page.
    pub(super) fn tools_called(&mut self, child: &Outcome, messages: &History, out: &mut Vec<Command>) {
        let known = self.state.results.iter().filter(|one| one.url.starts_with(TOOL)).count();
        for result in messages.iter().flat_map(Message::tool_results).take(MAX_RESULTS) {
            let call = child.tool_calls.iter().find(|call| call.id == result.id);
            let arguments = call.map(|call| call.input.text().to_owned()).unwrap_or_default();
            let title = plan::one_line(&format!("{}({})", result.name, clip(&arguments, SHOWN)), 200);
            let text = result.prose();
            if result.is_error {
                self.problem(format!("the tool {title} failed: {}", plan::one_line(&text, 200)), out);
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            let number = known + self.called.len() + 1;
            let url = format!("{TOOL}{}#{number}", plan::one_line(&result.name, 100));
            let page = Some(PageText { text, title: title.clone(), ..PageText::default() });
            self.called.push(PendingPage { hit: Hit { title, url, ..Hit::default() }, page, ..PendingPage::default() });
        }
    }
}
