//! What is still said of what left: one line for each exchange, then names, paths and numbers.
//!
//! The lines and names are ranked once for the whole history, so a larger budget keeps all that a smaller one does. The
//! summary is one message of the user, placed behind the goal.

use std::{fmt::Write as _, sync::Arc};

use super::{
    pace::Hand,
    pairs::Placed,
    terms::{self, Map, Set},
    units::{Kind, SUMMARY_HEAD, Unit},
    weigh::{Name, Weighed, Weights},
};
use loopwright_base::{
    message::{Block, Message, Role},
    text::head,
};

/// The longest line about an exchange.
const LINE: usize = 220;

/// What a summary is made from.
pub(super) struct Source<'a> {
    pub(super) messages: &'a [Placed],
    pub(super) units: &'a [Unit],
    pub(super) weighed: &'a Weighed<'a>,
    /// The handle of each message that left.
    pub(super) handles: &'a [Option<Arc<str>>],
}

/// A summary, and the units that it speaks of.
pub(super) struct Summary {
    pub(super) message: Arc<Message>,
    pub(super) tokens: usize,
    pub(super) units: Vec<usize>,
}

/// Room for a summary, in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) all: usize,
    pub(super) memory: usize,
    /// What the names of files that were changed may take beyond that.
    pub(super) most: usize,
}

/// Lines about units that left.
struct Lines<'a> {
    source: &'a Source<'a>,
    gone: &'a [usize],
    /// How many of `gone` were spoken of, or looked at.
    at: usize,
    all: usize,
    memory: usize,
    used: usize,
    said: Vec<(usize, String)>,
}

impl Lines<'_> {
    /// As many as `limit` tokens of lines, and all the room, allow for.
    async fn take(&mut self, limit: usize, hand: &mut impl Hand) {
        while let Some(&unit) = self.gone.get(self.at) {
            hand.pause(6_000).await;
            if let Some(line) = line_of(self.source, unit) {
                let tokens = hand.text(&line).await + 1;
                if self.memory.saturating_add(tokens) > limit || self.used + tokens > self.all {
                    break;
                }
                self.memory += tokens;
                self.used += tokens;
                self.said.push((unit, line));
            }
            self.at += 1;
        }
    }
}

/// Files that were changed and do not stand in what is `kept`: as many as `room` tokens surely take, those tokens, and
/// the next ones.
async fn changed<'a>(
    weighed: &'a Weighed<'_>,
    kept: &Set,
    room: usize,
    hand: &mut impl Hand,
) -> (Vec<&'a str>, usize, Vec<&'a str>) {
    let (mut files, mut used, mut next) = (Vec::new(), 0, Vec::new());
    for file in &weighed.changed {
        // What is no name by itself is not known to stand anywhere.
        let mut names = 0;
        let mut stands = true;
        terms::names(file, |name| {
            names += 1;
            stands &= name.len() == file.len() && kept.contains(&terms::key(name));
        });
        if names > 0 && stands {
            continue;
        }
        let tokens = hand.text(file).await + 1;
        if !next.is_empty() || used + tokens > room {
            next.push(&**file);
            if next.len() == NEXT {
                break;
            }
            continue;
        }
        used += tokens;
        files.push(&**file);
    }
    (files, used, next)
}

/// So many names of files are tried where it is not sure that they fit.
const NEXT: usize = 8;

/// How a list of names begins.
const NAMES: &str = "Names: ";

/// Lines about the units `gone` (the most important first), then names in use that `kept` does not hold, before all of
/// them those of files that were changed. Beside it, whether there was more in `gone` than there was room for.
pub(super) async fn summarise(
    source: &Source<'_>,
    gone: &[usize],
    kept: &Set,
    words: Option<&str>,
    room: Room,
    hand: &mut impl Hand,
) -> (Option<Summary>, bool) {
    let mut used = hand.message(&Arc::new(Message::user(SUMMARY_HEAD))).await;
    if used >= room.most {
        return (None, true);
    }
    let heading = hand.text(NAMES).await + 8;
    let (mut files, own, next) = changed(source.weighed, kept, room.most.saturating_sub(used + heading), hand).await;
    let own = if files.is_empty() { 0 } else { own + heading };
    if files.is_empty() && next.is_empty() && used >= room.all {
        return (None, true);
    }
    // Whatever else is said has the room that they leave.
    let all = room.all.min(room.most - own);
    let mut said = String::new();
    if let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) {
        let tokens = hand.text(words).await + 1;
        if used + tokens <= all {
            said = format!("{words}\n");
            used += tokens;
        }
    }
    let mut lines = Lines { source, gone, at: 0, all, memory: 0, used, said: Vec::new() };
    lines.take(room.memory, hand).await;
    let mut here = Set::default();
    let mut told = said.clone();
    for (_, line) in &lines.said {
        told.push_str(line);
        told.push('\n');
    }
    files.retain(|file| !told.contains(file));
    terms::names(&told, |name| {
        here.insert(terms::key(name));
    });
    for file in &files {
        here.insert(terms::key(file));
    }
    let left = room.all.saturating_sub(lines.used + own);
    let names = names(source.weighed, |key| kept.contains(key) || here.contains(key), left, hand).await;
    let mut listed = own.max(8);
    for name in &names {
        listed += hand.text(name).await + 1;
    }
    lines.used += listed;
    files.extend(names);
    let mut names = files;
    // Where there are no more names, there is room for more lines.
    lines.all = room.all;
    lines.take(usize::MAX, hand).await;
    let most = room.all.max(lines.used).min(room.most);
    let more = lines.at < gone.len();
    let mut lines = lines.said;
    lines.sort_by_key(|(unit, _)| *unit);
    let mut text = SUMMARY_HEAD.to_owned();
    text.push_str(&said);
    for (_, line) in &lines {
        text.push_str(line);
        text.push('\n');
    }
    if !names.is_empty() {
        let _ = write!(text, "{NAMES}{}", names.join(" "));
    }
    let mut says = !(lines.is_empty() && names.is_empty() && said.is_empty());
    let mut message = Arc::new(Message::user(text));
    let mut tokens = hand.message(&message).await;
    // Tokens at the seams may differ from the sum of the parts.
    while tokens > most {
        let Some(Block::Text(text)) = Arc::make_mut(&mut message).content.first_mut() else { return (None, more) };
        let over = tokens - most;
        let shorter = head(&text.text, text.text.len().saturating_sub(over * 2 + 8)).len();
        if shorter <= SUMMARY_HEAD.len() {
            return (None, more);
        }
        text.text.truncate(shorter);
        tokens = hand.message(&message).await;
    }
    // What the parts cost together may leave room for one more file.
    for file in next {
        let [Block::Text(text)] = message.content.as_slice() else { break };
        if text.text.contains(file) {
            continue;
        }
        let longer = format!("{}{}{file}", text.text, if names.is_empty() { NAMES } else { " " });
        let longer = Arc::new(Message::user(longer));
        let own = hand.message(&longer).await;
        if own > room.most {
            break;
        }
        (message, tokens, says) = (longer, own, true);
        names.push(file);
    }
    if !says {
        return (None, more);
    }
    (Some(Summary { message, tokens, units: lines.into_iter().map(|(unit, _)| unit).collect() }), more)
}

/// So many names are put in order at a time.
const RANKED: usize = 512;

/// The names that weigh most and do not stand in what is kept, as many as fit.
async fn names<'a>(
    weighed: &Weighed<'a>,
    known: impl Fn(&u64) -> bool,
    room: usize,
    hand: &mut impl Hand,
) -> Vec<&'a str> {
    if room < 16 {
        return Vec::new();
    }
    let mut found: Vec<(f32, &'a str)> = Vec::new();
    for (at, (key, name)) in weighed.names.iter().enumerate() {
        if !known(key) {
            found.push((name.weight / (name.text.len() as f32 + 8.0), name.text));
        }
        if at % RANKED == 0 {
            hand.pause(RANKED * 30).await;
        }
    }
    let order = |a: &(f32, &str), b: &(f32, &str)| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1));
    let mut used = hand.text(NAMES).await;
    let mut names = Vec::new();
    let mut rest = found.as_mut_slice();
    while !rest.is_empty() {
        // Only as many are put in order as are looked at.
        hand.pause(RANKED * 80 + rest.len() * 5).await;
        if rest.len() > RANKED {
            rest.select_nth_unstable_by(RANKED - 1, order);
        }
        let all = std::mem::take(&mut rest);
        let (first, more) = all.split_at_mut(RANKED.min(all.len()));
        first.sort_unstable_by(order);
        for (_, name) in first.iter() {
            let tokens = hand.text(name).await + 1;
            if used + tokens > room {
                return names;
            }
            used += tokens;
            names.push(*name);
            hand.pause(200).await;
        }
        rest = more;
    }
    names
}

/// One line about a unit that left.
fn line_of(source: &Source<'_>, at: usize) -> Option<String> {
    let unit = source.units.get(at)?;
    let handle = source.handles.get(unit.messages.start).and_then(Option::as_deref).unwrap_or("");
    let messages = source.messages.get(unit.messages.clone())?;
    let mut line = String::with_capacity(LINE + 40);
    line.push_str(handle);
    if unit.kind == Kind::Exchange {
        let first = &messages.first()?.message;
        let calls = first.tool_uses().count().max(1);
        for call in first.tool_uses().take(4) {
            line.push(' ');
            line.push_str(&call.name);
            line.push('(');
            line.push_str(&one_line(&plain_arguments(call.arguments_text()), 110 / calls.min(2)));
            line.push(')');
        }
        let said = telling(messages, &source.weighed.names);
        if !said.is_empty() {
            line.push_str(" → ");
            line.push_str(&said);
        }
        let prose = first.prose();
        if !prose.trim().is_empty() {
            line.push_str("; said: ");
            line.push_str(&one_line(&prose, 70));
        }
    } else {
        let message = &messages.first()?.message;
        line.push_str(if message.role == Role::Assistant { " said: " } else { " user: " });
        let prose = message.prose();
        let prose = prose.strip_prefix(SUMMARY_HEAD).unwrap_or(&prose);
        let limit = if unit.kind == Kind::Summary { LINE * 2 } else { LINE - 40 };
        // What the user asked to heed comes before how it began.
        let heeded = if unit.kind == Kind::User { constraints(prose) } else { String::new() };
        line.push_str(&one_line(if heeded.is_empty() { prose } else { &heeded }, limit));
    }
    Some(line)
}

/// The sentences that state a constraint.
pub fn constraints(prose: &str) -> String {
    const WORDS: [&str; 12] = [
        "must",
        "never",
        "always",
        "only",
        "don't",
        "do not",
        "not ",
        "without",
        "should",
        "avoid",
        "make sure",
        "instead",
    ];
    let mut found = String::new();
    // A full stop ends a sentence only before a space: paths hold them too.
    for sentence in head(prose, 8_192).split(['!', '\n', ';']).flat_map(|part| part.split_inclusive(". ")) {
        let lower = sentence.to_ascii_lowercase();
        if WORDS.iter().any(|word| lower.contains(word)) {
            found.push_str(sentence);
            found.push(' ');
        }
    }
    found
}

/// Arguments without the braces and quotes of JSON where there is but one text.
fn plain_arguments(text: &str) -> String {
    let value: serde_json::Value = match serde_json::from_str(head(text, 4_096)) {
        Ok(value) => value,
        Err(_) => return head(text, 400).to_owned(),
    };
    let Some(map) = value.as_object() else { return head(text, 400).to_owned() };
    let texts: Vec<String> =
        map.values().map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)).collect();
    texts.join(", ")
}

/// The line of the results that tells most: an error, or else the names that weigh most.
fn telling(messages: &[Placed], weights: &Map<Name<'_>>) -> String {
    let mut best: (f32, &str) = (0.0, "");
    for placed in messages {
        for result in placed.message.tool_results() {
            let Some(text) = super::chunks::only_text(result) else { continue };
            for line in head(text, 8_192).lines() {
                let body = line.trim();
                if body.is_empty() {
                    continue;
                }
                let mut score = 0.01;
                terms::names(head(body, 200), |name| {
                    score += weights.weight(terms::key(name)).unwrap_or(0.02).min(2.0);
                });
                if terms::tells_of_error(body) {
                    score += 4.0;
                }
                if score > best.0 {
                    best = (score, body);
                }
            }
        }
    }
    one_line(best.1, 100)
}

fn one_line(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    for word in text.split_ascii_whitespace() {
        if out.len() + word.len() + 1 > bytes {
            if out.is_empty() {
                out.push_str(head(word, bytes));
            }
            out.push('…');
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c26_constraints_are_told_apart() {
        let prose = "Thanks, that is nice. Please never touch src/lib.rs! And the weather is fine.\nUse tabs only.";
        let found = constraints(prose);
        assert!(found.contains("never touch src/lib.rs") && found.contains("tabs only"), "{found}");
        assert!(!found.contains("weather"), "{found}");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("a b\nc  d", 100), "a b c d");
        assert_eq!(one_line("some words here", 11), "some words…");
        assert_eq!(one_line("日本語日本語", 7), "日本…");
    }
}
