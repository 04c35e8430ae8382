//! Reports of the provider on the size of requests, from which counts go on.
//!
//! A report anchors the messages that it was about. A request that begins with them counts as what was reported, and
//! what is new is counted; what the two reports of a growing history differ by is learned from.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
};

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::{
    Count, TokenCounter,
    count::Sum,
    json::{Json, Members},
};

/// Reports that are kept; the oldest is dropped.
const MAX_REPORTS: usize = 1_024;

/// Reports, by a hash of the messages they are about.
#[derive(Clone, Debug, Default)]
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
        if self.order.len() > MAX_REPORTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.reported.remove(&oldest);
        }
    }

    /// The last report about a prefix of a request with these hashes: the number of messages, and the tokens.
    fn last(&self, hashes: &[u128]) -> Option<(usize, usize)> {
        let found = |(at, hash): (usize, &u128)| self.reported.get(hash).map(|tokens| (at, *tokens));
        hashes.iter().enumerate().rev().find_map(found)
    }
}

/// The messages of a request or of a list, and a hash for each number of them from none on.
fn prefixes(value: &Json) -> Option<(&[Json], Vec<u128>)> {
    let (messages, head) = match value {
        Json::List(messages) => (messages.as_slice(), None),
        Json::Object(request) => {
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
    for (key, value) in head.into_iter().flat_map(Members::iter) {
        // What is counted of a request, and nothing of what only says how to answer.
        if matches!(key, "system" | "instructions" | "tools" | "functions" | "model") {
            add(key);
            add(&value.sorted());
        }
    }
    let mut hashes = Vec::with_capacity(messages.len() + 1);
    hashes.push(add("messages"));
    hashes.extend(messages.iter().map(|message| add(&without_cache_markers(message).sorted())));
    Some((messages, hashes))
}

/// A message without cache markers, which move on from request to request.
fn without_cache_markers(message: &Json) -> Cow<'_, Json> {
    const MARK: &str = "cache_control";
    let marked = |part: &Json| part.get(MARK).is_some();
    let parts = message.get("content").and_then(Json::as_array);
    if !marked(message) && !parts.is_some_and(|parts| parts.iter().any(marked)) {
        return Cow::Borrowed(message);
    }
    let plain = |part: &Json| match part {
        Json::Object(members) => Json::Object(members.without(MARK)),
        other => other.clone(),
    };
    let content = |content: &Json| match content {
        Json::List(parts) => Json::List(parts.iter().map(plain).collect()),
        other => other.clone(),
    };
    Cow::Owned(match message {
        Json::Object(members) => Json::Object(members.without(MARK).with("content", content)),
        other => other.clone(),
    })
}

impl TokenCounter {
    /// Counts messages or a request, as [`Self::json`] does. A prefix that the provider reported on counts as reported,
    /// and only the rest is counted here.
    pub fn anchored(&mut self, value: &Json) -> Count {
        if self.tokenizer().is_exact() || self.anchors.order.is_empty() {
            return self.json(value);
        }
        let found = prefixes(value).and_then(|(messages, hashes)| {
            let (known, tokens) = self.anchors.last(&hashes)?;
            Some((messages.get(known..)?, tokens))
        });
        match found {
            Some((new, reported)) => self.after(reported, new),
            None => self.json(value),
        }
    }

    /// Records the tokens that the provider reported for messages or a request. From now on requests that begin with
    /// them count from there; and the ratios learn from it, where there was a report before, from the new messages.
    pub fn reported(&mut self, value: &Json, tokens: usize) {
        if self.tokenizer().is_exact() || tokens == 0 {
            return;
        }
        let Some((messages, hashes)) = prefixes(value) else {
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
            _ if value.as_array().is_some() => {}
            _ => {
                let counted = self.json(value);
                self.learn(counted, tokens);
            }
        }
        if let Some(hash) = hashes.last() {
            self.anchors.put(*hash, tokens);
        }
    }

    fn after(&mut self, reported: usize, new: &[Json]) -> Count {
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
    use serde_json::{Value, json};

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
        let mut truth = |messages: &[Value]| 900 + plain.json(&Json::from(&json!(messages))).tokens * 6 / 5;
        let mut errors = Vec::new();
        for rounds in 1..30 {
            let messages = history(rounds);
            let found = counter.anchored(&Json::from(&json!(messages)));
            let real = truth(&messages);
            errors.push(found.tokens.abs_diff(real));
            if rounds > 1 {
                assert!(found.upper_bound >= real, "{rounds}: {found:?} {real}");
                assert!(found.margin * 20 < found.tokens * 3 + 600, "only what is new is unsure: {found:?}");
            }
            counter.reported(&Json::from(&json!(messages)), real);
            assert_eq!(counter.anchored(&Json::from(&json!(messages))).tokens, real);
            assert_eq!(counter.anchored(&Json::from(&json!(messages))).margin, 0);
        }
        assert!(errors[0] > 500 && errors[20..].iter().all(|error| *error < 40), "{errors:?}");
        // Another conversation knows nothing of it but the ratios.
        let other = counter.anchored(&Json::from(&json!([{"role": "user", "content": "Something else."}])));
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
        counter.reported(&Json::from(&request(&marked, 10)), 4_321);
        assert_eq!(counter.anchored(&Json::from(&request(&part, 99))).tokens, 4_321);
        assert!(
            counter.anchored(&Json::from(&json!({"messages": [{"role": "user", "content": [part]}]}))).tokens < 100
        );
    }

    #[test]
    fn memory_is_bounded_and_hostile_reports_are_survived() {
        let mut counter = TokenCounter::for_model("claude-sonnet-4-5");
        for n in 0..3 * MAX_REPORTS {
            let value = json!([{"role": "user", "content": format!("message {n}")}]);
            counter.reported(&Json::from(&value), if n % 3 == 0 { usize::MAX } else { n });
        }
        assert!(counter.anchors.order.len() <= MAX_REPORTS && counter.anchors.reported.len() <= MAX_REPORTS);
        for value in [json!(null), json!([]), json!({}), json!({"messages": 3}), json!("text"), json!([[[]], 7])] {
            counter.reported(&Json::from(&value), 10);
            assert!(counter.anchored(&Json::from(&value)).tokens < 1_000, "{value}");
        }
        let mut exact = TokenCounter::for_model("gpt-4o");
        let value = Json::from(&json!([{"role": "user", "content": "Hello"}]));
        let count = exact.anchored(&value);
        exact.reported(&value, 5_000);
        assert_eq!(exact.anchored(&value), count);
    }
}
