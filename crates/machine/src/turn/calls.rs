//! Calls and histories made fit for a provider: ids that differ, arguments that are objects, one result for each call.
//!
//! What comes from a model or from a stored history is hostile: results without calls, calls without results, the
//! same id twice. Whatever comes in, what goes out is legal; what was legal goes out unchanged. All in linear time.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use loopwright_base::{
    json::{DEEPEST_TREE, Raw, nested_deeper, unfit},
    message::{Block, Message, Role, StopReason, ToolFailure, ToolResult, ToolUse, is_empty_arguments},
    request::History,
    text::clip,
};
use loopwright_wire::freed;

/// The ids of all calls of a run, so that no two are the same: providers refuse a history that repeats one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CallIds {
    taken: BTreeSet<String>,
    renamed: u64,
}

impl CallIds {
    /// Gives the call another id if it has none, or one that was seen before.
    fn claim(&mut self, call: &mut ToolUse) {
        if !call.id.is_empty() && self.taken.insert(call.id.clone()) {
            return;
        }
        let stem = if call.id.is_empty() { "call" } else { call.id.as_str() };
        // One counter for all stems: no number is tried twice, so ten thousand equal ids take ten thousand tries.
        let fresh = loop {
            self.renamed += 1;
            let id = format!("{stem}_{}", self.renamed + 1);
            if self.taken.insert(id.clone()) {
                break id;
            }
        };
        call.id = fresh;
    }
}

/// A reply as it goes into the history, its calls, and for each call the failure that its arguments already are.
pub(super) struct Tidy {
    pub(super) message: Message,
    pub(super) calls: Vec<ToolUse>,
    pub(super) broken: Vec<Option<ToolFailure>>,
}

/// Makes a reply fit for a history. `most` of its calls run.
pub(super) fn tidy_reply(mut message: Message, stop: &StopReason, most: u32, ids: &mut CallIds) -> Tidy {
    message.role = Role::Assistant;
    message.content.retain(|block| match block {
        // Providers refuse blank text when it comes back, even where they wrote it themselves.
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::ToolResult(_) => false,
        _ => true,
    });
    // Reasoning with nothing behind it is refused, too: an answer that was cut while the model thought.
    while matches!(message.content.last(), Some(Block::Thinking(_))) {
        message.content.pop();
    }
    let mut calls = Vec::new();
    let mut broken = Vec::new();
    for block in &mut message.content {
        let Block::ToolUse(call) = block else { continue };
        ids.claim(call);
        broken.push(fit_arguments(call));
        calls.push(call.clone());
    }
    let many = calls.len();
    for broken in broken.iter_mut().skip(most as usize) {
        *broken = Some(ToolFailure {
            kind: "not_run".into(),
            message: format!("the first {most} calls of an answer run, and this is one of {many}"),
            hint: Some("make the calls that are left in further answers".into()),
        });
    }
    if matches!(stop, StopReason::MaxTokens | StopReason::ContentFilter | StopReason::ContextWindow)
        && let Some(last) = broken.last_mut()
    {
        // The cut may have hit the last call; half a call must not run, even if what is there happens to parse.
        let cut = if *stop == StopReason::MaxTokens { "at the output limit" } else { "by the provider" };
        *last = Some(ToolFailure {
            kind: "invalid_arguments".into(),
            message: format!("the answer was cut {cut} inside this call"),
            hint: Some("call the tool again with shorter arguments".into()),
        });
    }
    Tidy { message, calls, broken }
}

/// Arguments that are no JSON object, or one that no tool can be given, become `{}`; gives the failure that they are.
fn fit_arguments(call: &mut ToolUse) -> Option<ToolFailure> {
    if is_empty_arguments(call.arguments_text()) {
        (call.input, call.invalid) = (Raw::empty_object(), None);
        return None;
    }
    let (what, text, hint) = if let Some(text) = call.invalid.take() {
        let (what, hint) = if Raw::parse(text.as_str()).is_ok() {
            ("it is not clear where this call ends", "write the call again, whole and alone")
        } else {
            ("the arguments are no JSON", "call the tool again with a JSON object")
        };
        (what, clip(&text, 300), hint)
    } else if let Some(what) = unfit(call.input.text()) {
        let message = format!("the arguments {what}: {}", clip(call.input.text(), 300));
        call.input = Raw::empty_object();
        return Some(ToolFailure {
            kind: "invalid_arguments".into(),
            message,
            hint: Some("call the tool again with values that can be read".to_owned()),
        });
    } else if nested_deeper(call.input.text(), DEEPEST_TREE) {
        let text = clip(call.input.text(), 300);
        ("the arguments are nested deeper than 100", text, "call the tool again with flatter arguments")
    } else if call.input.is_object() {
        return None;
    } else {
        let text = clip(call.input.text(), 300);
        ("the arguments are no JSON object", text, "call the tool again with an object")
    };
    call.input = Raw::empty_object();
    Some(ToolFailure {
        kind: "invalid_arguments".into(),
        message: format!("{what}: {text}"),
        hint: Some(hint.to_owned()),
    })
}

/// A result for a call that did not run.
pub(super) fn not_run(call: &ToolUse, why: &str) -> ToolResult {
    let failure = ToolFailure { kind: "not_run".into(), message: why.into(), hint: None };
    ToolResult::failed(&call.id, &call.name, failure)
}

/// What was done to a history so that a provider accepts it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mended {
    /// Results and calls that stood where they answer or ask nothing.
    left_out: usize,
    /// Calls without a result.
    closed: usize,
    /// Calls whose id was missing or taken.
    renamed: usize,
    /// Calls whose arguments were no object that a tool can be given.
    emptied: usize,
}

impl Mended {
    /// What was done, in words; `None` where it was nothing.
    pub(super) fn words(self) -> Option<String> {
        let told = [
            (self.left_out, "left out, since no call stands before them (results) or no model asked for them (calls)"),
            (self.closed, "given a result that says that they did not run (calls without one)"),
            (self.renamed, "given an id of their own (calls)"),
            (self.emptied, "given empty arguments, since theirs could not be read (calls)"),
        ];
        let told = told.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let told: Vec<String> = told.collect();
        (!told.is_empty())
            .then(|| format!("the messages given were changed so that a provider takes them: {}", told.join("; ")))
    }
}

/// A history that a provider accepts. Results stand first in the message after their calls, in call order, wherever
/// before the next reply they stood; calls that were left open, by a crash or a cancel elsewhere, get a result that
/// says so; results of no call, second results and messages that hold nothing are left out.
pub(super) fn legal_history(messages: Vec<Message>, ids: &mut CallIds) -> (History, Mended) {
    let mut history = History::new();
    let mut mended = Mended::default();
    // A codec keeps what it reads as it came; what a provider would refuse so is freed of that.
    let mut messages = messages.into_iter().map(|message| freed(&message).unwrap_or(message)).peekable();
    while let Some(mut message) = messages.next() {
        if message.role != Role::Assistant {
            mended.left_out += take_results(&mut message, |_| 1);
            push(&mut history, message);
            continue;
        }
        let before = message.content.len();
        message.content.retain(|block| !matches!(block, Block::ToolResult(_)));
        mended.left_out += before - message.content.len();
        let mut open = Vec::new();
        for block in &mut message.content {
            let Block::ToolUse(call) = block else { continue };
            let id = call.id.clone();
            ids.claim(call);
            mended.renamed += usize::from(call.id != id);
            mended.emptied += usize::from(fit_arguments(call).is_some());
            open.push((id, call.clone()));
        }
        push(&mut history, message);
        if open.is_empty() {
            continue;
        }
        let mut given: HashMap<String, VecDeque<ToolResult>> = HashMap::new();
        let mut between = Vec::new();
        while let Some(mut next) = messages.next_if(|next| next.role != Role::Assistant) {
            mended.left_out += take_results(&mut next, |result| {
                given.entry(result.id.clone()).or_default().push_back(result);
                0
            });
            between.push(next);
        }
        let results: Vec<Block> = open
            .into_iter()
            .map(|(id, call)| {
                let found = given.get_mut(&id).and_then(VecDeque::pop_front);
                mended.closed += usize::from(found.is_none());
                let mut result = found.unwrap_or_else(|| not_run(&call, "the run ended before this call"));
                result.id = call.id;
                Block::ToolResult(result)
            })
            .collect();
        mended.left_out += given.values().map(VecDeque::len).sum::<usize>();
        let mut between = between.into_iter().peekable();
        let mut first = between
            .next_if(|message| message.role == Role::User)
            .unwrap_or_else(|| Message::new(Role::User, Vec::new()));
        first.content.splice(0..0, results);
        history.push(first);
        between.for_each(|message| push(&mut history, message));
    }
    (history, mended)
}

/// A result is text and media; calls and results inside it would make a history that nobody accepts.
pub(super) fn flatten_result(result: &mut ToolResult) {
    result.content.retain(|block| !matches!(block, Block::ToolUse(_) | Block::ToolResult(_)));
}

/// Takes the results out of a message that is no reply, and calls, which only a reply may hold. Gives how many blocks
/// are lost: the calls, and what `take` says of each result.
fn take_results(message: &mut Message, mut take: impl FnMut(ToolResult) -> usize) -> usize {
    if !message.content.iter().any(|block| matches!(block, Block::ToolResult(_) | Block::ToolUse(_))) {
        return 0;
    }
    let mut lost = 0;
    for block in std::mem::take(&mut message.content) {
        match block {
            Block::ToolResult(mut result) => {
                flatten_result(&mut result);
                lost += take(result);
            }
            Block::ToolUse(_) => lost += 1,
            other => message.content.push(other),
        }
    }
    lost
}

fn push(history: &mut History, message: Message) {
    if !message.content.is_empty() {
        history.push(message);
    }
}

/// Whether there is something that a model can answer: somebody spoke, and the last message is not blank.
pub(super) fn holds_a_prompt(history: &History) -> bool {
    let blank = |message: &Message| {
        message.content.iter().all(|block| matches!(block, Block::Text(text) if text.text.trim().is_empty()))
    };
    history.last().is_some_and(|last| !blank(last))
        && history.iter().any(|message| matches!(message.role, Role::User | Role::Assistant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::Thinking;

    fn call(id: &str) -> Block {
        Block::ToolUse(ToolUse::from_text(id, "look", "{}".into()))
    }
    fn result(id: &str, text: &str) -> Block {
        Block::ToolResult(ToolResult::text(id, "look", text))
    }
    fn reply(blocks: Vec<Block>) -> Message {
        Message::new(Role::Assistant, blocks)
    }
    fn user(blocks: Vec<Block>) -> Message {
        Message::new(Role::User, blocks)
    }
    fn legal(messages: Vec<Message>) -> Vec<Message> {
        legal_history(messages, &mut CallIds::default()).0.iter().cloned().collect()
    }

    #[test]
    fn a07_a_legal_history_stays_as_it_is() {
        let messages = vec![
            Message::text(Role::System, "be good"),
            Message::user("go"),
            reply(vec![Block::text("I look"), call("a"), call("b")]),
            user(vec![result("a", "1"), result("b", "2"), Block::text("and hurry")]),
            Message::assistant("done"),
            Message::user("more"),
        ];
        assert_eq!(legal(messages.clone()), messages);
    }

    #[test]
    fn a07_results_are_put_first_and_in_call_order() {
        let messages = vec![
            Message::user("go"),
            reply(vec![call("a"), call("b"), call("c")]),
            user(vec![Block::text("note"), result("c", "3"), result("c", "again"), result("x", "of no call")]),
            Message::text(Role::System, "s"),
            user(vec![result("a", "1")]),
        ];
        let legal = legal(messages);
        assert_eq!(legal.len(), 4);
        let ids: Vec<&str> = legal[2].tool_results().map(|result| result.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
        assert_eq!(legal[2].content.len(), 4, "the note stays, behind the results");
        assert!(legal[2].tool_results().nth(1).unwrap().failure.is_some(), "b was left open");
        assert_eq!(legal[2].tool_results().nth(2).unwrap().prose(), "3");
        assert_eq!(legal[3].role, Role::System);
    }

    #[test]
    fn a07_orphans_go_and_open_ends_are_closed() {
        assert_eq!(legal(vec![user(vec![result("a", "1")]), Message::user("go")]), [Message::user("go")]);
        let closed = legal(vec![Message::user("go"), reply(vec![call("a")])]);
        assert_eq!(closed[2].tool_results().count(), 1);
        let closed =
            legal(vec![reply(vec![call("a")]), reply(vec![call("a"), result("a", "0")]), user(vec![result("a", "1")])]);
        let ids: Vec<Vec<&str>> =
            closed.iter().map(|message| message.tool_results().map(|result| result.id.as_str()).collect()).collect();
        assert_eq!(ids, [vec![], vec!["a"], vec![], vec!["a_2"]]);
        assert_eq!(closed[3].tool_results().next().unwrap().prose(), "1");
        assert!(!holds_a_prompt(&legal_history(vec![Message::text(Role::System, "s")], &mut CallIds::default()).0));
        assert!(!holds_a_prompt(&legal_history(vec![Message::user(" \n")], &mut CallIds::default()).0));
    }

    #[test]
    fn equal_ids_get_their_results_in_order() {
        let closed = legal(vec![
            reply(vec![call("a"), call("a"), call("")]),
            user(vec![result("a", "1"), result("", "3"), result("a", "2")]),
        ]);
        let calls: Vec<&str> = closed[0].tool_uses().map(|call| call.id.as_str()).collect();
        let results: Vec<(&str, String)> =
            closed[1].tool_results().map(|result| (result.id.as_str(), result.prose())).collect();
        assert_eq!(calls, ["a", "a_2", "call_3"]);
        assert_eq!(results, [("a", "1".into()), ("a_2", "2".into()), ("call_3", "3".into())]);
    }

    #[test]
    fn a_cut_reply_does_not_run_its_last_call() {
        for stop in [StopReason::MaxTokens, StopReason::ContentFilter, StopReason::ContextWindow] {
            let reply = reply(vec![Block::text("  "), call("a"), call("b")]);
            let tidy = tidy_reply(reply, &stop, 9, &mut CallIds::default());
            assert!(tidy.broken[0].is_none() && tidy.broken[1].is_some());
            assert_eq!(tidy.message.content.len(), 2, "blank text is left out");
        }
    }

    #[test]
    fn w31_all_calls_are_answered_and_so_many_run() {
        for (most, many) in [(1, 3), (128, 131), (9, 9)] {
            let reply = reply((0..many).map(|n| call(&n.to_string())).collect());
            let tidy = tidy_reply(reply, &StopReason::ToolUse, most, &mut CallIds::default());
            assert_eq!((tidy.calls.len(), tidy.message.content.len()), (many, many));
            let (run, left) = tidy.broken.split_at(most as usize);
            assert!(run.iter().all(Option::is_none));
            for failure in left.iter().map(|broken| broken.as_ref().unwrap()) {
                assert_eq!(failure.kind, "not_run");
                assert!(failure.message.contains(&format!("first {most} calls")), "{}", failure.message);
                assert!(failure.message.contains(&format!("one of {many}")), "{}", failure.message);
            }
        }
    }

    #[test]
    fn arguments_that_say_nothing_are_an_empty_object() {
        let given = |input: &str, invalid: Option<&str>| {
            let mut call = ToolUse::from_text("a", "look", "{}".into());
            (call.input, call.invalid) = (Raw::parse(input).unwrap(), invalid.map(str::to_owned));
            call
        };
        for call in [given("null", None), given("{}", Some(" \n")), given("{}", Some("null"))] {
            let tidy = tidy_reply(reply(vec![Block::ToolUse(call)]), &StopReason::ToolUse, 9, &mut CallIds::default());
            assert!(tidy.broken[0].is_none());
            assert_eq!((tidy.calls[0].input.text(), &tidy.calls[0].invalid), ("{}", &None));
        }
        let call = Block::ToolUse(given("\"\"", None));
        assert!(tidy_reply(reply(vec![call]), &StopReason::ToolUse, 9, &mut CallIds::default()).broken[0].is_some());
    }

    #[test]
    fn reasoning_that_leads_nowhere_does_not_stay() {
        let thinking = || {
            let text = "hm".to_owned();
            Block::Thinking(Thinking { text, signature: Some("s".to_owned()), redacted: None, extra: None })
        };
        let tidy =
            |blocks| tidy_reply(reply(blocks), &StopReason::MaxTokens, 9, &mut CallIds::default()).message.content;
        assert_eq!(tidy(vec![thinking(), Block::text("So."), thinking(), Block::text(" ")]).len(), 2);
        assert_eq!(tidy(vec![thinking(), thinking()]), []);
        assert_eq!(tidy(vec![thinking(), call("a")]).len(), 2);
    }
}
