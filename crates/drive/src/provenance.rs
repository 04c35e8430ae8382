//! Provenance: of an answer, reasoning with its proof and items of the provider's own are for the host alone that gave
//! it. The record keeps everything; a request holds what its host may be given.

use std::borrow::Cow;

use super::endpoint::Endpoint;
use loopwright_base::{
    message::{Block, Message, Role, Thinking, Wire},
    request::{Request, Response},
};
use loopwright_models::profile::{Profile, ReasoningBack, ReasoningRules};
use loopwright_wire::{anthropic::unsigned, openai_chat::thinking};

/// The reasoning of a message that has none, for hosts that refuse it so.
const NOT_KEPT: &str = "(The reasoning was not kept.)";

/// Records on an answer which host gave it, where something in it is for that host alone.
pub(super) fn sign(endpoint: &Endpoint, model: &str, answer: &mut Response) {
    if answer.message.is_bound() {
        answer.message.host = Some(endpoint.origin(model).into());
    }
}

/// The request with the history that the endpoint may be given; `None` if that is the whole of it.
pub(super) fn adapt_provenance(endpoint: &Endpoint, profile: &Profile, request: &Request) -> Option<Request> {
    let mut view = HostView {
        origin: endpoint.origin(&request.model),
        wire: endpoint.wire,
        rules: &profile.reasoning,
        fills: false,
    };
    view.fills = view.rules.back == ReasoningBack::Required
        && (!view.rules.models.is_empty() || request.messages.iter().any(|message| view.reasoned(message)));
    let messages = request.messages.rewritten(|_, message| view.of(message))?;
    Some(Request { messages, ..request.clone() })
}

/// What a host is given of messages.
struct HostView<'a> {
    origin: String,
    wire: Wire,
    rules: &'a ReasoningRules,
    /// A message with calls gets some reasoning where it has none.
    fills: bool,
}

impl HostView<'_> {
    /// Whether the message is the host's own, with reasoning.
    fn reasoned(&self, message: &Message) -> bool {
        message.host.as_deref() == Some(&*self.origin)
            && message.content.iter().any(|block| matches!(block, Block::Thinking(_)))
    }

    /// The message as the host is given it; `None` if that is as it is.
    fn of(&self, message: &Message) -> Option<Message> {
        if message.role != Role::Assistant {
            return None;
        }
        let is_own = message.host.as_deref().map(|host| host == self.origin);
        let view = if is_own == Some(false) {
            Cow::Owned(message.unbound())
        } else {
            let calls = message.tool_uses().next().is_some();
            let taken = match self.rules.back {
                ReasoningBack::Never => false,
                ReasoningBack::WithCalls => calls,
                ReasoningBack::Always | ReasoningBack::Required => true,
            };
            // A host that gave reasoning without a signature takes it so.
            let unsigned = is_own == Some(true) || self.rules.back == ReasoningBack::Required;
            self.with_reasoning(message, taken, unsigned)
        };
        let lacks = |view: &Message| {
            view.tool_uses().next().is_some()
                && !view.content.iter().any(|block| matches!(block, Block::Thinking(own) if self.is_taken(own)))
        };
        if self.fills && lacks(&view) {
            let mut view = view.into_owned();
            view.content.insert(0, Block::Thinking(self.reasoning(NOT_KEPT.to_owned())));
            return Some(view);
        }
        match view {
            Cow::Borrowed(_) => None,
            Cow::Owned(view) => Some(view),
        }
    }

    /// The message with its reasoning in the form in which it goes back, or without it.
    fn with_reasoning<'m>(&self, message: &'m Message, taken: bool, takes_unsigned: bool) -> Cow<'m, Message> {
        let mut view = Cow::Borrowed(message);
        for (at, block) in message.content.iter().enumerate().rev() {
            let Block::Thinking(own) = block else { continue };
            if !taken {
                view.to_mut().content.remove(at);
            } else if let Some(other) = self.in_form(own, takes_unsigned)
                && let Some(slot) = view.to_mut().content.get_mut(at)
            {
                *slot = Block::Thinking(other);
            }
        }
        view
    }

    /// Reasoning in the form of the host; `None` if it is in that form, or of another wire.
    fn in_form(&self, own: &Thinking, takes_unsigned: bool) -> Option<Thinking> {
        match self.wire {
            Wire::Anthropic if takes_unsigned => unsigned(own),
            Wire::OpenaiChat if self.is_taken(own) => {
                let other = thinking(own.text.clone(), self.rules.member.as_deref()?);
                (other != *own).then_some(other)
            }
            _ => None,
        }
    }

    /// Whether the reasoning is of the host's wire.
    fn is_taken(&self, own: &Thinking) -> bool {
        own.extra.as_ref().is_some_and(|extra| extra.wire == self.wire)
    }

    /// Reasoning as the host is given it.
    fn reasoning(&self, text: String) -> Thinking {
        if self.wire == Wire::OpenaiChat {
            return thinking(text, self.rules.member.as_deref().unwrap_or("reasoning_content"));
        }
        let bare = Thinking { text, ..Thinking::default() };
        unsigned(&bare).unwrap_or(bare)
    }
}
