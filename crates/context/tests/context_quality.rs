//! What survives on real agent runs: facts that the rest of a run uses again.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use loopwright_base::message::{Block, Message, Role, ToolResult, ToolUse};
use loopwright_context::{Archive, BytesPerFour, Count, Policy, compress, is_legal, shown};
use regex::Regex;
use serde_json::Value;

fn runs() -> Vec<(String, Vec<Arc<Message>>)> {
    let Some(folder) = loopwright_testing::data::shared("trajectories") else { return Vec::new() };
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut runs = Vec::new();
    for path in paths {
        let run: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let Some(messages) = run["messages"].as_array() else { continue };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        runs.push((name, messages.iter().map(|message| Arc::new(read(message))).collect()));
    }
    runs
}

fn read(message: &Value) -> Message {
    let text = message["content"].as_str().unwrap_or_default();
    let words = || if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
    match message["role"].as_str().unwrap() {
        "tool" => {
            let mut result = ToolResult::text(message["tool_call_id"].as_str().unwrap_or_default(), "", text);
            result.is_error = message["is_error"].as_bool().unwrap_or_default();
            Message::new(Role::User, vec![Block::ToolResult(result)])
        }
        "assistant" => {
            let mut content = words();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let (id, name) = (call["id"].as_str().unwrap(), call["name"].as_str().unwrap());
                content.push(Block::ToolUse(ToolUse::from_text(id, name, call["arguments"].to_string())));
            }
            Message::new(Role::Assistant, content)
        }
        role => Message::new(Role::named(role).unwrap(), words()),
    }
}

struct Facts {
    kinds: [Regex; 4],
}

impl Facts {
    fn new() -> Self {
        let kind = |pattern: &str| Regex::new(pattern).unwrap();
        Self {
            kinds: [
                kind(r"(?:[\w.~-]+)?(?:/[\w.-]+)+"),
                kind(r"\b[A-Za-z_][A-Za-z0-9_]*(?:_[A-Za-z0-9]+|[a-z][A-Z][A-Za-z0-9]*|[A-Za-z][0-9]+)[A-Za-z0-9_]*\b"),
                kind(r"\b[0-9]{3,}(?:\.[0-9]+)?\b"),
                kind(r"\b\w*(?:Error|Exception): [^\n]{8,80}"),
            ],
        }
    }

    fn of(&self, text: &str) -> BTreeSet<String> {
        self.kinds
            .iter()
            .flat_map(|kind| kind.find_iter(text))
            .map(|found| found.as_str().trim_end_matches(['.', '-']).to_owned())
            .filter(|fact| fact.len() >= 3 && fact.len() <= 120)
            .collect()
    }
}

fn stands(text: &str, fact: &str) -> bool {
    let word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    text.match_indices(fact).any(|(at, _)| {
        let bytes = text.as_bytes();
        let before = at > 0 && word(bytes.get(at - 1)) && word(bytes.get(at));
        !before && !word(bytes.get(at + fact.len()))
    })
}

fn text_of<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> String {
    // Arguments as the tool sees them: what is escaped inside JSON strings stands for itself.
    let unquoted = |text: String| text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    messages.into_iter().map(|message| unquoted(shown(message)) + "\n").collect()
}

fn tokens(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(|message| BytesPerFour.message(message)).sum()
}

/// The newest messages that fit, with the system prompt and the first words: what most loops do.
fn drop_oldest(messages: &[Arc<Message>], budget: usize) -> Vec<Arc<Message>> {
    let head = messages.iter().position(|message| message.role == Role::Assistant).unwrap_or(0);
    let mut used = tokens(&messages[..head]);
    let mut from = messages.len();
    while from > head && used + BytesPerFour.message(&messages[from - 1]) <= budget {
        from -= 1;
        used += BytesPerFour.message(&messages[from]);
    }
    messages[..head].iter().chain(&messages[from..]).cloned().collect()
}

#[test]
fn c26_facts_of_real_runs_survive() {
    let facts = Facts::new();
    let verbose = std::env::var_os("QUALITY").is_some();
    let policy: Policy =
        std::env::var("POLICY").map_or_else(|_| Policy::default(), |text| serde_json::from_str(&text).unwrap());
    for share in [0.75, 0.5, 0.25] {
        let (mut ours, mut theirs, mut count) = (0.0, 0.0, 0.0);
        for (name, messages) in runs() {
            // One cut is enough for a test; whoever asks for figures gets both.
            for part in [0.5, 0.75].into_iter().take(if verbose { 2 } else { 1 }) {
                let mut cut = (messages.len() as f64 * part) as usize;
                while cut < messages.len() && messages[cut].role != Role::Assistant {
                    cut += 1;
                }
                let (past, rest) = messages.split_at(cut);
                let rest = text_of(rest.iter().filter(|message| message.role == Role::Assistant));
                let before = text_of(past);
                let needed: Vec<String> = facts.of(&before).intersection(&facts.of(&rest)).cloned().collect();
                let budget = (tokens(past) as f64 * share) as usize;
                let mut archive = Archive::new();
                if needed.is_empty() || tokens(past) < 2_000 {
                    continue;
                }
                let done = match compress(past, None, budget, &policy, &mut BytesPerFour, &mut archive) {
                    Ok(done) => done,
                    Err(error) => {
                        if verbose {
                            println!("{name} {part} {share}: {error}");
                        }
                        continue;
                    }
                };
                let out: Vec<Arc<Message>> = done.messages.iter().map(|placed| placed.message.clone()).collect();
                assert!(is_legal(&out, None) && tokens(&out) <= budget);
                let now = text_of(&out);
                let old = text_of(&drop_oldest(past, budget));
                let all = text_of(archive.iter().map(|(_, message)| message)) + &now;
                assert!(needed.iter().all(|fact| stands(&all, fact)), "{name}: a fact is neither kept nor retrievable");
                let share_of =
                    |text: &str| needed.iter().filter(|fact| stands(text, fact)).count() as f64 / needed.len() as f64;
                let (a, b) = (share_of(&now), share_of(&old));
                if verbose {
                    println!(
                        "{share} {part} {a:.3} {b:.3} {:4} used {:.2} {name}",
                        needed.len(),
                        tokens(&out) as f64 / budget as f64
                    );
                }
                ours += a;
                theirs += b;
                count += 1.0;
            }
        }
        if count > 0.0 {
            println!("at {share}: {:.4}, dropping the oldest {:.4} ({count} histories)", ours / count, theirs / count);
            assert!(ours > theirs);
        }
    }
}
