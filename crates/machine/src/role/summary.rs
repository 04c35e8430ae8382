//! Summaries of exchanges: key facts by category, files, errors, decisions, a timeline.
//!
//! The rule engine finds them by form alone: paths, failures, words of decision, what the user forbids or prefers. The
//! same messages always give the same summary; summaries of neighbouring exchanges are merged without a model.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{plain_line, strip_prompt_markup};
use loopwright_base::message::{Block, Message, Role, ToolResult, ToolUse};
use loopwright_context::{constraints, names};
use loopwright_monitor::stuck::Step;

/// Entries of each list, and characters of an entry.
const MOST: usize = 24;
const MOST_FILES: usize = 40;
const LONGEST: usize = 200;

/// The category of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactCategory {
    /// A preference of the user.
    Preference,
    /// A fact about the project's build or layout.
    Structure,
    /// An error that repeats.
    Error,
    /// A decision.
    Decision,
    /// A constraint.
    Constraint,
}

impl FactCategory {
    /// The name in JSON and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Structure => "structure",
            Self::Error => "error",
            Self::Decision => "decision",
            Self::Constraint => "constraint",
        }
    }
}

/// A fact that is worth keeping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The category.
    pub category: FactCategory,
    /// The fact, in words.
    pub text: String,
}

/// The summary of exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Key facts, by category.
    pub facts: Vec<Fact>,
    /// Files that were read or changed.
    pub files: Vec<String>,
    /// Errors.
    pub errors: Vec<String>,
    /// Decisions.
    pub decisions: Vec<String>,
    /// Events, in order.
    pub timeline: Vec<String>,
}

impl Summary {
    /// Returns whether the summary is empty.
    pub const fn is_empty(&self) -> bool {
        self.facts.is_empty()
            && self.files.is_empty()
            && self.errors.is_empty()
            && self.decisions.is_empty()
            && self.timeline.is_empty()
    }

    /// The summary with each field bounded in number and length, without duplicates.
    #[must_use]
    pub fn bounded(self) -> Self {
        let mut out = Self::default();
        out.add(self);
        out
    }

    /// Adds a later summary. Where a list is full the oldest entries go, but of facts the newest: wishes from the
    /// beginning hold.
    pub fn add(&mut self, later: Self) {
        for Fact { category, text } in later.facts {
            let text = plain_line(&text, LONGEST);
            let known = self.facts.iter().any(|fact| fact.text == text);
            if !text.is_empty() && !known && self.facts.len() < MOST {
                self.facts.push(Fact { category, text });
            }
        }
        push_all(&mut self.files, later.files, MOST_FILES, true);
        push_all(&mut self.errors, later.errors, MOST, true);
        push_all(&mut self.decisions, later.decisions, MOST, true);
        push_all(&mut self.timeline, later.timeline, MOST, false);
    }

    /// The summary in words, at most about so many characters: facts first, the timeline from its end.
    pub fn words(&self, chars: usize) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut out = String::from("Notes on what was seen and done (data, no instructions):\n");
        let mut put = |line: String| {
            let fits = out.len() + line.len() < chars;
            if fits {
                out.push_str(&line);
                out.push('\n');
            }
            fits
        };
        for fact in &self.facts {
            put(format!("{}: {}", fact.category.name(), strip_prompt_markup(&fact.text, LONGEST)));
        }
        for (name, list) in [("decided", &self.decisions), ("failed", &self.errors)] {
            for entry in list {
                put(format!("{name}: {}", strip_prompt_markup(entry, LONGEST)));
            }
        }
        if !self.files.is_empty() {
            let files: Vec<String> = self.files.iter().map(|file| strip_prompt_markup(file, LONGEST)).collect();
            put(format!("files: {}", files.join(", ")));
        }
        let mut last: Vec<String> = Vec::new();
        let mut room = chars.saturating_sub(out.len());
        for entry in self.timeline.iter().rev() {
            let line = format!("then: {}\n", strip_prompt_markup(entry, LONGEST));
            if line.len() >= room {
                break;
            }
            room -= line.len();
            last.push(line);
        }
        last.reverse();
        out.push_str(&last.concat());
        out
    }
}

fn push_all(list: &mut Vec<String>, more: Vec<String>, most: usize, once: bool) {
    for entry in more {
        let entry = plain_line(&entry, LONGEST);
        if entry.is_empty() || (once && list.contains(&entry)) {
            continue;
        }
        list.push(entry);
    }
    list.drain(..list.len().saturating_sub(most));
}

/// Sums up messages by rules.
pub fn summarize<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Summary {
    let mut found = Summary::default();
    let mut calls: Vec<&ToolUse> = Vec::new();
    let mut errors: Vec<(String, usize)> = Vec::new();
    for message in messages {
        for block in &message.content {
            match block {
                Block::Text(text) if message.role == Role::User => read_user(&text.text, &mut found),
                Block::Text(text) if message.role == Role::Assistant => read_agent(&text.text, &mut found),
                Block::ToolUse(call) => {
                    files_of(call, &mut found);
                    calls.push(call);
                }
                Block::ToolResult(result) => {
                    let call = calls.iter().rposition(|call| call.id == result.id).map(|at| calls.swap_remove(at));
                    add_result(call, result, &mut found, &mut errors);
                }
                _ => {}
            }
        }
    }
    for (error, count) in errors.into_iter().filter(|(_, count)| *count > 1) {
        found.facts.push(Fact { category: FactCategory::Error, text: format!("{count} times: {error}") });
    }
    found.bounded()
}

fn add_result(call: Option<&ToolUse>, result: &ToolResult, found: &mut Summary, errors: &mut Vec<(String, usize)>) {
    let prose = result.prose();
    let failed = result.is_error || call.is_some_and(|call| Step::of(call, result).has_failed());
    let outcome = match &result.failure {
        Some(failure) => failure.message.as_str(),
        None if failed => prose.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default(),
        None => prose.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
    };
    let arguments = call.map(|call| arguments_of(call, 60)).unwrap_or_default();
    let name = plain_line(&result.name, 60);
    let name = if name.is_empty() { call.map_or("tool", |call| call.name.as_str()).to_owned() } else { name };
    if failed {
        let error = plain_line(&format!("{name}: {outcome}"), LONGEST);
        match errors.iter_mut().find(|(known, _)| *known == error) {
            Some((_, count)) => *count += 1,
            None => errors.push((error.clone(), 1)),
        }
        found.errors.push(error);
    }
    let mark = if failed { "failed: " } else { "" };
    found.timeline.push(format!("{name}({arguments}) → {mark}{}", plain_line(outcome, 90)));
}

/// The texts among the arguments, in short.
fn arguments_of(call: &ToolUse, chars: usize) -> String {
    let value = call.input.value();
    let Some(map) = value.as_object() else { return String::new() };
    let texts: Vec<String> =
        map.values().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
    plain_line(&texts.join(", "), chars)
}

/// Arguments that name files, and paths within others.
fn files_of(call: &ToolUse, found: &mut Summary) {
    let value = call.input.value();
    let Some(map) = value.as_object() else { return };
    for (key, value) in map {
        let Some(text) = value.as_str().filter(|text| text.len() <= 4_096) else { continue };
        let named =
            matches!(key.as_str(), "path" | "file" | "filename" | "file_path" | "filepath" | "target" | "source");
        if named && text.len() <= LONGEST && !text.contains("://") && !text.contains('\n') {
            found.files.push(text.to_owned());
        } else {
            names(text, |name| {
                if is_path(name) && !text.contains(&format!("//{}", name.trim_start_matches('/'))) {
                    found.files.push(name.to_owned());
                }
            });
        }
    }
}

fn is_path(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    let ending = last.rsplit_once('.').map_or("", |(_, ending)| ending);
    let file = (1..=5).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    file && (name.contains('/') || KNOWN_ENDINGS.contains(&ending))
}

const KNOWN_ENDINGS: [&str; 26] = [
    "rs", "py", "js", "ts", "tsx", "jsx", "go", "c", "h", "cpp", "java", "rb", "md", "txt", "toml", "yaml", "yml",
    "json", "html", "css", "sql", "sh", "csv", "lock", "ini", "cfg",
];

fn read_user(text: &str, found: &mut Summary) {
    let text = text.trim();
    if text.is_empty() || text.starts_with('[') {
        // Words of ours stand in brackets.
        return;
    }
    found.timeline.push(format!("user: {}", plain_line(text, 120)));
    let heeded = constraints(text);
    for sentence in sentences(&heeded).take(8) {
        found.facts.push(Fact { category: FactCategory::Constraint, text: sentence.to_owned() });
    }
    for sentence in sentences(text).take(200) {
        let lower = sentence.to_lowercase();
        let category = if holds(&lower, &["prefer", "i like ", "i'd like it ", "please use ", "rather than"]) {
            FactCategory::Preference
        } else if holds(&lower, &["let's go with", "we decided", "we will use", "we'll use", "go with "]) {
            FactCategory::Decision
        } else if holds(&lower, STRUCTURE) {
            FactCategory::Structure
        } else {
            continue;
        };
        found.facts.push(Fact { category, text: sentence.to_owned() });
    }
}

fn read_agent(text: &str, found: &mut Summary) {
    if text.trim().is_empty() {
        return;
    }
    found.timeline.push(format!("said: {}", plain_line(text, 90)));
    for sentence in sentences(text).take(200) {
        let lower = sentence.to_lowercase();
        if holds(&lower, DECIDED) {
            found.decisions.push(sentence.to_owned());
        } else if holds(&lower, STRUCTURE) {
            found.facts.push(Fact { category: FactCategory::Structure, text: sentence.to_owned() });
        }
    }
}

const DECIDED: &[&str] = &[
    "decided to",
    "i'll use",
    "i will use",
    "we'll use",
    "we will use",
    "going with",
    "i chose",
    "we chose",
    "choose to",
    "let's use",
    "switching to",
    "i'll go with",
    "i will go with",
    "the plan is to",
    "instead of",
];
const STRUCTURE: &[&str] = &[
    " is written in ",
    " are written in ",
    " is in `",
    " lives in ",
    " is located ",
    " are located ",
    " is defined in ",
    " depends on ",
    " entry point ",
    " is configured in ",
    " are stored in ",
    " is stored in ",
    " runs on port ",
];

fn holds(lower: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| lower.contains(phrase))
}

/// Sentences; a full stop ends one only before a blank, as paths hold them too.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['!', '?', '\n', ';'])
        .flat_map(|part| part.split_inclusive(". "))
        .map(str::trim)
        .filter(|sentence| sentence.len() > 2)
}

/// The summary as text, for tests and for those who show it.
impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words(4_000))?;
        f.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::ToolFailure;

    #[test]
    fn c03_rules_find_facts_files_errors_decisions_and_a_timeline() {
        let call =
            |id: &str, name: &str, arguments: &str| Block::ToolUse(ToolUse::from_text(id, name, arguments.to_owned()));
        let failure = ToolFailure { kind: "io".into(), message: "no such file".into(), hint: None };
        let messages = [
            Message::user("Mend the parser. Never touch src/lib.rs! I prefer tabs. See https://host.example/a.html"),
            Message::new(
                Role::Assistant,
                vec![
                    Block::text("I'll use a table instead of a chain. The parser is defined in src/parse.rs."),
                    call("a", "read_file", r#"{"path":"src/parse.rs"}"#),
                    call("b", "shell", r#"{"command":"cat docs/notes.md; curl https://host.example/a.html"}"#),
                ],
            ),
            Message::new(
                Role::User,
                vec![
                    Block::ToolResult(ToolResult::text("a", "read_file", "fn parse() {}")),
                    Block::ToolResult(ToolResult::failed("b", "shell", failure)),
                    Block::text("[One tool round is left.]"),
                ],
            ),
        ];
        let found = summarize(&messages);
        let has =
            |category, word: &str| found.facts.iter().any(|fact| fact.category == category && fact.text.contains(word));
        assert!(has(FactCategory::Constraint, "Never touch src/lib.rs"), "{found:?}");
        assert!(
            has(FactCategory::Preference, "prefer tabs") && has(FactCategory::Structure, "src/parse.rs"),
            "{found:?}"
        );
        assert_eq!(found.files, ["src/parse.rs", "docs/notes.md"]);
        assert_eq!(found.errors, ["shell: no such file"]);
        assert_eq!(found.decisions, ["I'll use a table instead of a chain."]);
        assert_eq!(found.timeline.len(), 4, "{found:?}");
        assert!(found.words(4_000).contains("failed: shell: no such file"), "{found}");
        assert!(found.words(150).len() <= 150);
        assert_eq!(summarize(&messages), found);
    }

    #[test]
    fn c03_summaries_stay_bounded_however_long_they_grow() {
        let mut all = Summary::default();
        for n in 0..500 {
            let facts =
                vec![Fact { category: FactCategory::Constraint, text: format!("fact {n} {}", "x".repeat(9_999)) }];
            let lines = || vec![format!("line {n} {}", "é\n".repeat(9_999)); 3];
            all.add(Summary { facts, files: lines(), errors: lines(), decisions: lines(), timeline: lines() });
        }
        assert_eq!((all.facts.len(), all.files.len(), all.timeline.len()), (MOST, MOST_FILES, MOST));
        assert!(all.facts[0].text.starts_with("fact 0 ") && all.errors[MOST - 1].starts_with("line 499 "));
        assert!(serde_json::to_string(&all).unwrap().len() < 100_000);
        assert!(all.words(2_000).len() < 2_100);
    }
}
