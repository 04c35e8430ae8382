//! Where the values of calls come from: the history is read as what its messages are, and calls that reach outside with
//! what only others say are asked about.
//!
//! Nothing is read before a call that acts follows a text of others; from then on each message is read once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::TurnConfig;
use loopwright_base::{
    message::{Block, MediaSource, Message, Role, ToolResult, ToolUse},
    request::History,
};
use loopwright_guard::{
    Authority, DecidedBy, Judgement,
    origin::{Agreed, Call, Finding, Origin, Shown, Trust, quotes_others, trace},
    policy::Verdict,
};

/// Whose words the run goes by, and what was agreed to of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Origins {
    /// What the person has asked for in the messages that the run began with.
    #[serde(default)]
    pub(super) authority: Authority,
    /// The messages that the run began with: what stands in those of the user later is not the user's.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub(super) began: usize,
    /// What a person said yes to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agreed: Vec<Agreed>,
    #[serde(skip)]
    seen: Seen,
}

/// What was read of the history so far. It can be read again at any time, so copies begin anew.
#[derive(Debug, Default)]
struct Seen {
    shown: Shown,
    /// Messages that were read.
    read: usize,
    /// Messages that were looked through for texts of others, and whether there were any.
    looked: usize,
    untrusted: bool,
    /// Answers of the model among those that were read.
    round: usize,
    /// Calls whose results may follow.
    calls: HashMap<String, ToolUse>,
}

impl Clone for Seen {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Seen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    /// Has a judgement ask where values of the call come from others. What a rule of a policy allows is allowed.
    pub(super) fn trace_call(
        &mut self,
        config: &TurnConfig,
        history: &History,
        call: &ToolUse,
        judged: &mut Judgement,
    ) {
        let allowed = judged.verdict == Verdict::Allow && judged.by == DecidedBy::Policy;
        if allowed || judged.verdict == Verdict::Forbid {
            return;
        }
        if let Some(found) = self.traced(config, history, call) {
            found.raise(judged);
        }
    }

    /// A person said yes to a call, and with it to where its values come from.
    pub(super) fn agree(&mut self, config: &TurnConfig, history: &History, call: &ToolUse) {
        if let Some(found) = self.traced(config, history, call) {
            self.agreed.extend(found.agreed);
        }
    }

    fn traced(&mut self, config: &TurnConfig, history: &History, call: &ToolUse) -> Option<Finding> {
        config.guard.as_ref()?;
        let flow = config.tool(&call.name)?.flow.clone()?;
        // What only reads is asked about for the address that it reads.
        if !flow.acts() && !call.input.text().contains(['.', '/']) || !self.has_untrusted(config, history) {
            return None;
        }
        self.read_shown(config, history);
        let beside = config.tools.iter().filter_map(|tool| Some((tool.name.as_str(), tool.flow.as_ref()?)));
        let beside: Vec<_> = beside.collect();
        let input = call.input.value();
        let call = Call { tool: &call.name, flow: &flow, input: &input, beside: &beside };
        trace(&self.seen.shown, &self.authority, &call, &self.agreed)
    }

    /// Whether a text of others stands in the history.
    fn has_untrusted(&mut self, config: &TurnConfig, history: &History) -> bool {
        let seen = &self.seen;
        if seen.untrusted {
            return true;
        }
        let looked = seen.looked;
        let began = self.began;
        let found = history.iter().enumerate().skip(looked).any(|(at, message)| {
            self.is_childs_task(config, at)
                || message.content.iter().any(|block| is_of_others(config, block, at < began))
        });
        self.seen.untrusted = found;
        self.seen.looked = history.iter().count();
        found
    }

    /// Whether a message is what another model wrote for this one.
    const fn is_childs_task(&self, config: &TurnConfig, at: usize) -> bool {
        config.agent.is_some() && at < self.began
    }

    /// Reads the messages that were not read yet.
    fn read_shown(&mut self, config: &TurnConfig, history: &History) {
        let mut seen = std::mem::take(&mut self.seen);
        if seen.read == 0 {
            seen.shown.trusted(config.system.as_deref().unwrap_or_default());
            if let Some(asked) = config.asked.as_deref().filter(|_| config.agent.is_some()) {
                seen.shown.user(asked);
            }
        }
        for (at, message) in history.iter().enumerate().skip(seen.read) {
            seen.round += usize::from(message.role == Role::Assistant);
            for block in &message.content {
                self.read_block(config, &mut seen, at, message, block);
            }
            seen.read = at + 1;
        }
        self.seen = seen;
    }

    fn read_block(&self, config: &TurnConfig, seen: &mut Seen, at: usize, message: &Message, block: &Block) {
        match block {
            Block::Text(text) if self.is_childs_task(config, at) => {
                let source = Origin { about: "task that another model gave".to_owned(), ..Origin::default() };
                seen.shown.untrusted(&text.text, source);
            }
            Block::Text(text) if message.role == Role::User && at < self.began => seen.shown.user(&text.text),
            Block::Text(text) if message.role == Role::System => seen.shown.trusted(&text.text),
            Block::Document(media) if message.role == Role::User => {
                let name = media.name.as_deref().unwrap_or("you attached");
                let source = Origin { about: format!("document {name}"), ..Origin::default() };
                let text = if let MediaSource::Text { data, .. } = &media.source { data.as_str() } else { "" };
                seen.shown.untrusted(text, source);
            }
            Block::ToolUse(call) => {
                seen.calls.insert(call.id.clone(), call.clone());
            }
            Block::Provider(block) if !block.is_tool_use() => {
                let source = Origin { about: "page that the provider read".to_owned(), ..Origin::default() };
                seen.shown.untrusted(block.raw.text(), source);
            }
            Block::ToolResult(result) => {
                let input = seen.calls.remove(&result.id).map(|call| call.input.value()).unwrap_or_default();
                let text = result.prose();
                if trust_of(config, result) == Trust::Untrusted {
                    let source = Origin::of_call(&result.name, &result.id, seen.round, &input);
                    seen.shown.untrusted(&text, source);
                } else {
                    seen.shown.trusted_result(&text, &input);
                }
            }
            _ => {}
        }
    }
}

fn is_of_others(config: &TurnConfig, block: &Block, began: bool) -> bool {
    match block {
        Block::ToolResult(result) => trust_of(config, result) == Trust::Untrusted,
        Block::Provider(block) => !block.is_tool_use(),
        Block::Document(_) => began,
        Block::Text(text) => began && quotes_others(&text.text),
        _ => false,
    }
}

/// Who can have written a result. What a tool gave that is not there any more may be anybody's.
fn trust_of(config: &TurnConfig, result: &ToolResult) -> Trust {
    match config.tool(&result.name) {
        Some(tool) => tool.flow.as_ref().map_or(Trust::Trusted, |flow| flow.trust),
        None if result.failure.is_some() => Trust::Trusted,
        None => Trust::Untrusted,
    }
}
