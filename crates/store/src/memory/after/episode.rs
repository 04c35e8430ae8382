//! The summary of a turn: the question, the actions and the answer, in a few lines.

use std::{collections::HashMap, fmt::Write as _};

use loopwright_base::text::{clip, head};
use serde::Serialize;

use super::{Turn, language::Sentence};
use crate::memory::inject::is_blank;
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, sentences},
    words,
};

/// The stored summary of a turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Episode {
    /// The number of the memory.
    pub id: i64,
    /// The session.
    pub session: String,
    /// The run.
    pub run: String,
    /// The user of the turn.
    pub user: Option<String>,
    /// The question, the actions and the answer.
    pub summary: String,
    /// The topics of the turn.
    pub topics: Vec<String>,
    /// The people of the turn.
    pub entities: Vec<String>,
    /// The time at which it began, in seconds since 1970.
    pub started_at: f64,
    /// The time at which it ended.
    pub ended_at: f64,
    /// The number of prompts that the conversation had by then.
    pub turn_count: usize,
    /// The importance, 0 to 1.
    pub importance: f64,
    /// The number of runs that were given it.
    pub access_count: u32,
    /// Consolidation has looked at it.
    pub consolidated: bool,
    /// The time at which it stops being recalled.
    pub expires: Option<f64>,
    /// `normal` or `sensitive`.
    pub sensitivity: String,
    /// An embedder has made a vector of it.
    pub embedded: bool,
}

/// Characters of a question in the summary, and of an answer.
const ASKED: usize = 240;
const ANSWERED: usize = 360;

/// The summary: the question, the tools, the end and the answer.
pub(super) fn summary(turn: &Turn, sentences: &[Sentence]) -> String {
    let mut text = String::new();
    // What was stated is kept by itself; the summary says what was wanted.
    let wanted = sentences.iter().filter(|one| !one.states && !one.prefers).map(|one| one.text.as_str());
    let wanted = wanted.collect::<Vec<_>>().join(" ");
    if !is_blank(&wanted) {
        let _ = write!(text, "The user asked: {}", clip(wanted.trim(), ASKED));
    }
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for call in &turn.calls {
        match tools.iter_mut().find(|(name, _)| *name == call.name) {
            Some((_, count)) => *count += 1,
            None => tools.push((&call.name, 1)),
        }
    }
    if !tools.is_empty() {
        let names: Vec<String> = tools
            .iter()
            .take(8)
            .map(|(name, count)| if *count > 1 { format!("{name} ×{count}") } else { (*name).to_owned() })
            .collect();
        let _ = write!(text, "{}Tools that ran: {}.", gap(&text), names.join(", "));
    }
    let failed = turn.calls.iter().filter(|call| call.failure.is_some()).count();
    if failed > 0 {
        let _ = write!(text, " {failed} of {} calls failed.", turn.calls.len());
    }
    if !turn.success {
        let _ = write!(text, "{}It ended with {}.", gap(&text), turn.stop);
    }
    let answered = first_sentences(&turn.answer);
    if !answered.is_empty() {
        let _ = write!(text, "{}It was answered: {answered}", gap(&text));
    }
    text
}

const fn gap(text: &str) -> &'static str {
    if text.is_empty() { "" } else { "\n" }
}

/// The first sentences of an answer.
fn first_sentences(answer: &str) -> String {
    let mut text = String::new();
    for unit in sentences(answer, Format::Markdown) {
        if matches!(unit.kind, Kind::Code | Kind::Heading) {
            continue;
        }
        let sentence = answer.get(unit.bytes).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let length = text.chars().count() + sentence.chars().count();
        if !text.is_empty() && length > ANSWERED {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&sentence);
    }
    clip(&text, ANSWERED)
}

/// The topics of a turn: the words that come most often, first those that came first.
pub(super) fn topics(turn: &Turn) -> Vec<String> {
    let mut counts: HashMap<String, (usize, usize, String)> = HashMap::new();
    let mut place = 0;
    for (text, weight) in [(&turn.prompt, 2), (&turn.answer, 1)] {
        let text = head(text, 4_000);
        for word in words::words(text) {
            if word.surface.chars().count() < 3 || words::is_stop_word(&word.surface.to_lowercase()) {
                continue;
            }
            place += 1;
            let entry = counts.entry(word.whole).or_insert_with(|| (0, place, word.surface.to_lowercase()));
            entry.0 += weight;
        }
    }
    let mut all: Vec<(usize, usize, String)> = counts.into_values().collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(5).map(|(_, _, word)| word).collect()
}

/// The importance of a turn: higher where something was done, failed, or was said about the user.
pub(super) fn importance(turn: &Turn, sentences: &[Sentence]) -> f64 {
    let mut importance: f64 = 0.4;
    importance += if turn.calls.is_empty() { 0.0 } else { 0.1 };
    importance += if turn.calls.iter().any(|call| call.failure.is_some()) || !turn.success { 0.1 } else { 0.0 };
    importance += if sentences.iter().any(|one| one.states || one.prefers) { 0.2 } else { 0.0 };
    if turn.prompt.split_whitespace().count() < 3 && turn.calls.is_empty() {
        importance -= 0.2;
    }
    importance.clamp(0.0, 1.0)
}
