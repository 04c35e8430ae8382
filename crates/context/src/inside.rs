//! Instructions inside a history of Anthropic's, which its older models refuse and its newer ones take in some places.
//!
//! Where they are refused they are the user's words, which every model takes. Plans go by what they are, so that they
//! stay as instructions do; it is what a plan gives that is put right. Instructions that stand first are let be: they
//! go beside the messages.

use std::sync::Arc;

use super::{
    pairs::{Placed, Repair},
    policy::Policy,
};
use loopwright_base::message::{Block, Message, Role, Wire};
use loopwright_wire::anthropic;

/// Whether the message would be sent as instructions inside the history, and who says where these may stand.
pub(super) fn asks(message: &Message, policy: &Policy) -> Option<bool> {
    let takes = policy.instructions_inside.filter(|_| policy.wire == Some(Wire::Anthropic))?;
    anthropic::is_inside(message).then_some(takes)
}

/// Whether instructions may stand between messages of these roles.
pub(super) fn may_stand(message: &Message, takes: bool, before: Option<Role>, after: Option<Role>) -> bool {
    takes
        && message.role == Role::System
        && before == Some(Role::User)
        && matches!(after, None | Some(Role::Assistant))
        && message.content.iter().all(|block| matches!(block, Block::Text(_)))
}

/// The same words as the user's.
pub(super) fn as_the_users(message: &Message) -> Arc<Message> {
    Arc::new(Message { role: Role::User, ..message.clone() })
}

/// What is said of it.
pub(super) fn said(message: usize) -> Repair {
    let what = "the provider would refuse instructions where it stands; it is the user's now";
    Repair { message, what: what.into() }
}

/// Makes the user's what may not stand as instructions; gives the places of what changed.
pub(super) fn put_right(messages: &mut [Placed], policy: &Policy) -> Vec<usize> {
    let mut changed = Vec::new();
    let mut before = None;
    for at in 0..messages.len() {
        let after = messages.get(at + 1).map(|next| next.message.role);
        let Some(placed) = messages.get_mut(at) else { break };
        if before.is_some()
            && let Some(takes) = asks(&placed.message, policy)
            && !may_stand(&placed.message, takes, before, after)
        {
            placed.message = as_the_users(&placed.message);
            placed.changed = true;
            changed.push(at);
        }
        let role = placed.message.role;
        if before.is_some() || matches!(role, Role::User | Role::Assistant) {
            before = Some(role);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::json::Raw;

    fn roles(wanted: &str, takes: bool) -> String {
        let named = |letter| match letter {
            'u' => "user",
            'a' => "assistant",
            'd' => "developer",
            _ => "system",
        };
        let messages = wanted.chars().map(|letter| {
            let raw = Raw::parse(format!(r#"{{"role":"{}","content":"x"}}"#, named(letter))).unwrap();
            let message = Arc::new(anthropic::decode_message(&raw).unwrap());
            Placed { message, origin: Some(0), changed: false }
        });
        let mut messages: Vec<Placed> = messages.collect();
        let policy = Policy { wire: Some(Wire::Anthropic), instructions_inside: Some(takes), ..Policy::default() };
        put_right(&mut messages, &policy);
        messages.iter().filter_map(|placed| placed.message.role.name().chars().next()).collect()
    }

    #[test]
    fn c26_instructions_stand_where_the_model_takes_them() {
        for (given, takes, want) in [
            ("suas", true, "suau"),
            ("uas", false, "uau"),
            ("us", true, "us"),
            ("us", false, "uu"),
            ("ussa", true, "uusa"),
            ("usu", true, "uuu"),
            ("uda", true, "uua"),
            ("sdua", false, "sdua"),
            ("ausa", true, "ausa"),
        ] {
            assert_eq!(roles(given, takes), want, "{given} {takes}");
        }
    }
}
