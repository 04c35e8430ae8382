//! What the provider said that requests were: counts go on from there.
//!
//! A report anchors the messages that it was about. A request that begins with them counts as what was reported, and
//! what is new is counted; what the two reports of a growing history differ by is learned from.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::{Count, TokenCounter, count::Sum};

/// How many reports are kept; the oldest goes.
const KEPT: usize = 1_024;

/// Reports, by a hash over what they were about.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    reported: HashMap<u128, usize>,
    order: VecDeque<u128>,
}

impl Anchors {
    fn put(&mut self, hash: u128, tokens: usize) {
        if self.reported.insert(hash, tokens).is_some() {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.reported.remove(&oldest);
        }
    }

    /// The last report about a beginning of a request of which `hashes` says how far it is the same: the number of
    /// messages, and the tokens.
    fn last(&self, hashes: &[u128]) -> Option<(usize, usize)> {
        let found = |(at, hash): (usize, &u128)| self.reported.get(hash).map(|tokens| (at, *tokens));
        hashes.iter().enumerate().rev().find_map(found)
    }
}

/// The messages of a request or of a list, and a hash for each number of them from none on.
fn beginnings(value: &Value) -> Option<(&[Value], Vec<u128>)> {
    let (messages, head) = match value {
        Value::Array(messages) => (messages, None),
        Value::Object(request) => {
            let messages = request.get("messages").or_else(|| request.get("input"))?.as_array()?;
            (messages, Some(request))
        }
        _ => return None,
    };
    let mut hash = 0_u128;
    let mut add = |text: &str| {
        hash = xxh3_128_with_seed(text.as_bytes(), (hash ^ hash >> 64) as u64) ^ hash.rotate_left(1);
        hash
    };
    for (key, value) in head.into_iter().flatten() {
        // What is counted of a request, and nothing of what only says how to answer.
        if matches!(key.as_str(), "system" | "instructions" | "tools" | "functions" | "model") {
            add(key);
            add(&value.to_string());
        }
    }
    let mut hashes = Vec::with_capacity(messages.len() + 1);
    hashes.push(add("messages"));
    hashes.extend(messages.iter().map(|message| add(&unmarked(message).to_string())));
    Some((messages, hashes))
}

/// A message without marks for a cache, which move on from request to request.
fn unmarked(message: &Value) -> std::borrow::Cow<'_, Value> {
    let marked = |part: &Value| part.get("cache_control").is_some();
    let parts = message.get("content").and_then(Value::as_array);
    if !marked(message) && !parts.is_some_and(|parts| parts.iter().any(marked)) {
        return std::borrow::Cow::Borrowed(message);
    }
    let mut plain = message.clone();
    if let Some(fields) = plain.as_object_mut() {
        fields.remove("cache_control");
        for part in fields.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(fields) = part.as_object_mut() {
                fields.remove("cache_control");
            }
        }
    }
    std::borrow::Cow::Owned(plain)
}

impl TokenCounter {
    /// Messages or a request as [`Self::json`] takes them. What begins with something that the provider reported on
    /// counts as that, and only what is new is counted here.
    pub fn anchored(&mut self, value: &Value) -> Count {
        if self.tokenizer().is_exact() || self.anchors.order.is_empty() {
            return self.json(value);
        }
        let found = beginnings(value).and_then(|(messages, hashes)| {
            let (known, tokens) = self.anchors.last(&hashes)?;
            Some((messages.get(known..)?, tokens))
        });
        match found {
            Some((new, reported)) => self.after(reported, new),
            None => self.json(value),
        }
    }

    /// The provider reported so many tokens for messages or a request. From now on what begins with them goes by
    /// that; and the ratios learn from it, where there was a report before, from what was new.
    pub fn reported(&mut self, value: &Value, tokens: usize) {
        if self.tokenizer().is_exact() || tokens == 0 {
            return;
        }
        let Some((messages, hashes)) = beginnings(value) else {
            let counted = self.json(value);
            self.learn(counted, tokens);
            return;
        };
        match self.anchors.last(&hashes) {
            Some((known, before)) if known < messages.len() && before < tokens => {
                let counted = self.after(0, messages.get(known..).unwrap_or_default());
                self.learn(counted, tokens - before);
            }
            Some((known, _)) if known == messages.len() => {}
            // A list of messages does not show what instructions and tools there were.
            _ if value.is_array() => {}
            _ => {
                let counted = self.json(value);
                self.learn(counted, tokens);
            }
        }
        if let Some(hash) = hashes.last() {
            self.anchors.put(*hash, tokens);
        }
    }

    fn after(&mut self, reported: usize, new: &[Value]) -> Count {
        if new.is_empty() {
            return Count { tokens: reported, upper_bound: reported, ..Count::default() };
        }
        let mut sum = Sum::default();
        for message in new {
            self.add_json_message(&mut sum, message);
        }
        let count = self.count(&sum);
        Count { tokens: reported + count.tokens, upper_bound: reported + count.upper_bound, ..count }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn history(rounds: usize) -> Vec<Value> {
        let mut messages = vec![json!({"role": "user", "content": "Read all the files."})];
        for n in 0..rounds {
            let code = format!("fn step_{n}(input: &str) -> usize {{ input.len() * {n} }}\n").repeat(20 + n % 7);
            messages.push(json!({"role": "assistant", "content": format!("Let me look at file {n}.")}));
            messages.push(json!({"role": "user", "content": code}));
        }
        messages
    }

    #[test]
    fn a_growing_history_counts_from_what_was_reported() {
        let mut counter = TokenCounter::for_model("claude-sonnet-4-5");
        // A provider that makes a fifth more of it than we thought, and adds instructions of its own.
        let mut plain = TokenCounter::for_model("claude-sonnet-4-5");
        let mut truth = |messages: &[Value]| 900 + plain.json(&json!(messages)).tokens * 6 / 5;
        let mut errors = Vec::new();
        for rounds in 1..30 {
            let messages = history(rounds);
            let found = counter.anchored(&json!(messages));
            let real = truth(&messages);
            errors.push(found.tokens.abs_diff(real));
            if rounds > 1 {
                assert!(found.upper_bound >= real, "{rounds}: {found:?} {real}");
                assert!(found.margin * 20 < found.tokens * 3 + 600, "only what is new is unsure: {found:?}");
            }
            counter.reported(&json!(messages), real);
            assert_eq!(counter.anchored(&json!(messages)).tokens, real);
            assert_eq!(counter.anchored(&json!(messages)).margin, 0);
        }
        assert!(errors[0] > 500 && errors[20..].iter().all(|error| *error < 40), "{errors:?}");
        // Another conversation knows nothing of it but the ratios.
        let other = counter.anchored(&json!([{"role": "user", "content": "Something else."}]));
        assert!(other.tokens < 40);
    }

    #[test]
    fn marks_for_a_cache_and_options_change_nothing() {
        let mut counter = TokenCounter::for_model("claude-sonnet-4-5");
        let part = json!({"type": "text", "text": "Read it."});
        let marked = json!({"type": "text", "text": "Read it.", "cache_control": {"type": "ephemeral"}});
        let request = |part: &Value, max: u32| {
            json!({"model": "claude-sonnet-4-5", "max_tokens": max, "system": "Be brief.",
                "messages": [{"role": "user", "content": [part]}]})
        };
        counter.reported(&request(&marked, 10), 4_321);
        assert_eq!(counter.anchored(&request(&part, 99)).tokens, 4_321);
        assert!(counter.anchored(&json!({"messages": [{"role": "user", "content": [part]}]})).tokens < 100);
    }

    #[test]
    fn memory_is_bounded_and_hostile_reports_are_survived() {
        let mut counter = TokenCounter::for_model("claude-sonnet-4-5");
        for n in 0..3 * KEPT {
            let value = json!([{"role": "user", "content": format!("message {n}")}]);
            counter.reported(&value, if n % 3 == 0 { usize::MAX } else { n });
        }
        assert!(counter.anchors.order.len() <= KEPT && counter.anchors.reported.len() <= KEPT);
        for value in [json!(null), json!([]), json!({}), json!({"messages": 3}), json!("text"), json!([[[]], 7])] {
            counter.reported(&value, 10);
            assert!(counter.anchored(&value).tokens < 1_000, "{value}");
        }
        let mut exact = TokenCounter::for_model("gpt-4o");
        let value = json!([{"role": "user", "content": "Hello"}]);
        let count = exact.anchored(&value);
        exact.reported(&value, 5_000);
        assert_eq!(exact.anchored(&value), count);
    }
}
