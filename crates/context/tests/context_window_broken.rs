//! Windows of histories that no provider would take: random nonsense, compacted at any time.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::{collections::BTreeSet, sync::Arc};

use loopwright_base::message::{Block, Message, Role, ToolResult, ToolUse, Wire};
use loopwright_context::{BytesPerFour, ContextWindow, Policy, is_legal};
use proptest::prelude::*;

type History = Vec<Arc<Message>>;

const WIRES: [Option<Wire>; 3] = [None, Some(Wire::Anthropic), Some(Wire::OpenaiChat)];

/// Uses of few ids, results of any of them, words of any role: paired or not.
fn message() -> impl Strategy<Value = Arc<Message>> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d", "a_2"]);
    let call = id().prop_map(|id| Block::ToolUse(ToolUse::from_text(id, "f", "{}".into())));
    let out = prop::sample::select(vec!["out", "a longer output of some words ".repeat(6).leak() as &str]);
    let result = (id(), out).prop_map(|(id, out)| Block::ToolResult(ToolResult::text(id, "f", out)));
    let words =
        prop::sample::select(vec!["", " ", "words", "many words that take some room ".repeat(8).leak() as &str])
            .prop_map(Block::text);
    let asked = prop::collection::vec(prop_oneof![2 => call, 1 => words.clone()], 0..4)
        .prop_map(|content| Message::new(Role::Assistant, content));
    let answered = prop::collection::vec(result, 1..3).prop_map(|content| Message::new(Role::User, content));
    let said = prop::collection::vec(words.clone(), 1..2).prop_map(|content| Message::new(Role::User, content));
    let both = (answered.clone(), said.clone()).prop_map(|(mut both, said)| {
        both.content.extend(said.content);
        both
    });
    let told = words.prop_map(|words| Message::new(Role::System, vec![words]));
    prop_oneof![5 => asked, 6 => answered, 3 => said, 1 => both, 1 => told].prop_map(Arc::new)
}

/// What is wrong with a view that a model is asked to go on with, or that waits for results.
fn refused(view: &[Arc<Message>], wire: Option<Wire>) -> Option<String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in view.iter().enumerate() {
        for result in message.tool_results() {
            if !open.remove(result.id.as_str()) {
                return Some(format!("message {at}: a result of {} without a use", result.id));
            }
        }
        let answers = message.content.iter().all(|block| matches!(block, Block::ToolResult(_)));
        if !(open.is_empty() || answers) {
            return Some(format!("message {at} speaks while {open:?} wait"));
        }
        for call in message.tool_uses() {
            open.insert(&call.id);
        }
    }
    let waits = !open.is_empty() && view.last().is_some_and(|last| last.role == Role::User);
    (!waits && !is_legal(view, wire)).then(|| "something else".into())
}

/// Appends all of it, compacting as `when` says; each view is one that a provider takes, whoever made it.
fn walk(all: &[Arc<Message>], when: &[bool], wire: Option<Wire>, budget: usize) -> std::result::Result<(), String> {
    let policy = Policy { wire, ..Policy::default() };
    let mut window = ContextWindow::new(budget, policy.clone());
    let mut seen: History = Vec::new();
    for (at, (message, compact)) in all.iter().zip(when).enumerate() {
        window.append(message.clone(), &mut BytesPerFour);
        if let Some(what) = refused(window.view(), wire) {
            return Err(format!("{wire:?}: at {at}, {what}: {:#?}", window.view()));
        }
        if window.view().get(..seen.len()) != Some(&seen[..]) {
            return Err(format!("{wire:?}: at {at} what stood has changed: {seen:#?} {:#?}", window.view()));
        }
        let done = if *compact { window.compact(&mut BytesPerFour) } else { window.settles(&mut BytesPerFour) };
        // A nonsense of instructions may not fit; the view is what it was.
        let _too_small = done.is_err();
        if let Some(what) = refused(window.view(), wire) {
            return Err(format!("{wire:?}: compacted at {at}, {what}: {:#?}", window.view()));
        }
        seen = window.view().to_vec();
        if at % 3 > 0 && !*compact {
            continue;
        }
        let again: ContextWindow = serde_json::from_str(&serde_json::to_string(&window).unwrap()).unwrap();
        if (again.view(), again.repairs()) != (window.view(), window.repairs()) {
            return Err(format!("{wire:?}: loaded at {at} it is another"));
        }
        // It goes on as what was loaded would.
        window = again;
    }
    let mut restored = ContextWindow::new(budget, policy);
    match restored.restore(window.marks().clone(), all.iter().cloned(), &mut BytesPerFour) {
        Ok(()) if restored.view() != window.view() => {
            Err(format!("{wire:?}: restored it is another: {:#?} {:#?}", restored.view(), window.view()))
        }
        _ => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn c26_each_view_of_a_nonsense_history_is_one_that_a_provider_takes(
        all in prop::collection::vec(message(), 1..24),
        when in prop::collection::vec(prop::bool::weighted(0.2), 24),
        budget in 60_usize..600,
    ) {
        for wire in WIRES {
            walk(&all, &when, wire, budget).map_err(TestCaseError::fail)?;
        }
    }
}
