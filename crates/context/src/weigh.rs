//! What a history says about its own parts: names in use, errors, decisions, files.
//!
//! One pass from the newest message to the oldest that `attention` reaches; older ones are judged by age alone. The
//! weight of a name grows with every use by the model or the user, the more the later.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

use super::{
    aside::Ages,
    facts::Facts,
    pace::Hand,
    pairs::Placed,
    policy::Policy,
    salience::{Category, Features},
    shorten::ends,
    terms::{self, Map, Set},
    units::{Kind, Unit},
};
use loopwright_base::{
    message::{Block, ToolUse},
    text::head,
};

/// What is known about a name.
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    pub(super) weight: f32,
    /// The unit that was looked at last.
    unit: u32,
    /// How many units of the model or the user hold it.
    used: u32,
}

/// What was found.
pub(super) struct Weighed<'a> {
    pub(super) names: Map<Name<'a>>,
    /// The files that were changed, those that were changed last first.
    pub(super) changed: Vec<Cow<'a, str>>,
    /// The salience of every unit.
    pub(super) salience: Vec<f64>,
}

/// Of a longer text, names are looked for in so many bytes of its beginning and of its end: no window holds more.
const ENDS: usize = 2 << 20;
/// How fast uses fade, in units.
const FADE: f32 = 0.03;
/// In older units a mention in a tool's output weighs next to nothing, and is not looked at.
const OUTPUTS: usize = 600;
/// What the name of a file that was changed weighs more.
const CHANGED: f32 = 2.0;
/// What a mention in a tool's output weighs, beside one by the model.
const MENTION: f32 = 0.15;

/// Weights by the key of a name.
pub(super) trait Weights {
    fn weight(&self, key: u64) -> Option<f32>;
}

impl Weights for Map<Name<'_>> {
    fn weight(&self, key: u64) -> Option<f32> {
        self.get(&key).map(|name| name.weight)
    }
}

#[cfg(test)]
impl Weights for Map<f32> {
    fn weight(&self, key: u64) -> Option<f32> {
        self.get(&key).copied()
    }
}

pub(super) async fn weigh<'a>(
    messages: &'a [Placed],
    facts: &[Facts],
    units: &[Unit],
    ages: &Ages<'_>,
    policy: &Policy,
    hand: &mut impl Hand,
) -> Weighed<'a> {
    let oldest = messages.len().saturating_sub(policy.attention);
    let mut names: Map<Name<'a>> = Map::default();
    let mut changed = Changed::default();
    let mut salience = vec![0.0; units.len()];
    let asked = keywords(messages, units);
    for (at, unit) in units.iter().enumerate().rev() {
        let age = ages.of(at, unit);
        let mut features = by_age(unit.kind, age);
        let mut work = 40;
        if unit.messages.start >= oldest {
            work += look(messages, unit, at, age, &asked, &mut names, &mut changed, &mut features) * 4;
            let own = messages.get(unit.messages.clone()).into_iter().flatten();
            let noted = facts.get(unit.messages.clone()).into_iter().flatten();
            features.error = unit.has_results() && own.zip(noted).any(|(placed, it)| it.fails(&placed.message));
        }
        if let Some(slot) = salience.get_mut(at) {
            *slot = features.salience(&policy.weights);
        }
        hand.pause(work).await;
    }
    Weighed { names, changed: changed.files, salience }
}

/// What is known of a unit that is not looked at.
pub(super) const fn by_age(kind: Kind, age: usize) -> Features {
    Features { category: category(kind), age, keyword: 0.0, references: 0, error: false, decision: false, file: false }
}

const fn category(kind: Kind) -> Category {
    match kind {
        Kind::System => Category::System,
        Kind::Goal => Category::Intent,
        Kind::User => Category::User,
        Kind::Assistant => Category::Assistant,
        Kind::Exchange => Category::ToolResult,
        Kind::Summary => Category::Summary,
    }
}

/// The names of the goal and of what the user said last.
fn keywords(messages: &[Placed], units: &[Unit]) -> Set {
    let mut asked = Set::default();
    let goal = units.iter().find(|unit| unit.kind == Kind::Goal);
    let last = units.iter().rev().find(|unit| unit.kind == Kind::User);
    for unit in goal.into_iter().chain(last) {
        for placed in messages.get(unit.messages.clone()).into_iter().flatten() {
            for block in &placed.message.content {
                if let Block::Text(text) = block {
                    terms::names(head(&text.text, 32_768), |name| {
                        asked.insert(terms::key(name));
                    });
                }
            }
        }
    }
    asked
}

/// Gives the bytes that were read.
#[allow(clippy::too_many_arguments)] // what is known of the whole, and what is noted of the unit
fn look<'a>(
    messages: &'a [Placed],
    unit: &Unit,
    at: usize,
    age: usize,
    asked: &Set,
    names: &mut Map<Name<'a>>,
    changed: &mut Changed<'a>,
    features: &mut Features,
) -> usize {
    let (mut bytes, mut parsed) = (0, 0);
    let fresh = 1.0 / (1.0 + FADE * age as f32);
    let mut hits = 0_usize;
    let mut references = 0_u32;
    let mut silent = true;
    let mut use_text = |text: &'a str, weight: f32, by_model: bool, refers: bool, names: &mut Map<Name<'a>>| {
        let (head, tail) = ends(text, ENDS);
        bytes += head.len() + tail.len();
        let mut found = |name: &'a str| {
            let key = terms::key(name);
            let entry = names.entry(key).or_insert(Name { text: name, weight: 0.0, unit: u32::MAX, used: 0 });
            if refers {
                references = references.max(entry.used.saturating_sub(u32::from(entry.unit == at as u32)));
            }
            let again = entry.unit == at as u32;
            if !again || by_model {
                entry.weight += if again { weight * 0.1 } else { weight };
            }
            if !again {
                hits += usize::from(asked.contains(&key));
                entry.unit = at as u32;
                entry.used += u32::from(by_model);
            }
        };
        terms::names(head, &mut found);
        terms::names(tail, &mut found);
    };
    for placed in messages.get(unit.messages.clone()).into_iter().flatten() {
        for block in placed.message.content.iter().filter(|block| unit.owns(block)) {
            match block {
                Block::Text(text) => {
                    use_text(&text.text, fresh, true, false, names);
                    features.decision |= decides(head(&text.text, 2_048));
                }
                Block::ToolUse(call) => {
                    use_text(call.arguments_text(), fresh, true, true, names);
                    if changes_files(&call.name, call.arguments_text()) {
                        features.file = true;
                        changed.add(call);
                        parsed += call.arguments_text().len();
                        terms::names(head(call.arguments_text(), 600), |name| {
                            if name.contains(['/', '.'])
                                && let Some(known) = names.get_mut(&terms::key(name))
                            {
                                known.weight += CHANGED;
                            }
                        });
                    }
                }
                Block::ToolResult(result) => {
                    for part in &result.content {
                        if let Block::Text(text) = part {
                            silent &= text.text.len() < 16;
                            if age <= OUTPUTS {
                                use_text(&text.text, fresh * MENTION, false, false, names);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    features.references = references as usize;
    features.keyword = (hits as f64 / 4.0).min(1.0);
    if unit.kind == Kind::Exchange && silent {
        features.category = Category::ToolCall;
    }
    bytes + parsed
}

/// The files that were changed.
#[derive(Default)]
struct Changed<'a> {
    files: Vec<Cow<'a, str>>,
    known: Set,
}

/// A longer text is no path.
const PATH: usize = 200;

impl<'a> Changed<'a> {
    /// Those that this use changes.
    fn add(&mut self, call: &'a ToolUse) {
        let mut note = |file: Cow<'a, str>| {
            if self.known.insert(terms::key(&file)) {
                self.files.push(file);
            }
        };
        // What stands under the keys is long at times, and not copied.
        let fields: BTreeMap<Cow<'_, str>, &RawValue> = match call.invalid {
            None => serde_json::from_str(call.input.text()).unwrap_or_default(),
            Some(_) => BTreeMap::new(),
        };
        let mut found = false;
        for (key, value) in fields {
            let key = key.to_ascii_lowercase();
            if ["path", "file", "target", "dest"].iter().any(|word| key.contains(word)) && value.get().len() <= PATH {
                let Ok(path) = serde_json::from_str::<String>(value.get()) else { continue };
                if !path.trim().is_empty() && !path.contains(['\n', '\r']) {
                    found = true;
                    note(Cow::Owned(path.trim().to_owned()));
                }
            }
        }
        if !found {
            // A command, a patch, or what nobody can read.
            terms::names(head(call.arguments_text(), 600), |name| {
                if name.contains(['/', '.']) {
                    note(Cow::Borrowed(name));
                }
            });
        }
    }
}

fn decides(text: &str) -> bool {
    const WORDS: [&str; 8] =
        ["instead", "decided", "I'll use", "root cause", "the problem is", "the issue is", "because", "must not"];
    WORDS.iter().any(|word| text.contains(word))
}

fn changes_files(name: &str, arguments: &str) -> bool {
    const NAMES: [&str; 6] = ["write", "edit", "create", "replace", "patch", "save"];
    const COMMANDS: [&str; 6] = ["str_replace", "sed -i", "cat >", "cat <<", "apply_patch", "tee "];
    let head = head(arguments, 400);
    let lower = name.to_ascii_lowercase();
    NAMES.iter().any(|word| lower.contains(word)) || COMMANDS.iter().any(|word| head.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(calls: &[(&str, &str)]) -> Vec<String> {
        let calls: Vec<ToolUse> =
            calls.iter().map(|(name, text)| ToolUse::from_text("a", *name, (*text).to_owned())).collect();
        let mut changed = Changed::default();
        for call in &calls {
            changed.add(call);
        }
        changed.files.into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn c26_the_files_that_a_use_changes_are_those_that_it_names_as_such() {
        let path = r#"{"path":" src/a b.rs ","content":"see other.rs and src/c.rs"}"#;
        let again = r#"{"content":"x","file_path":"src/a b.rs"}"#;
        assert_eq!(changed(&[("write", path), ("edit", again)]), ["src/a b.rs"]);
        assert_eq!(changed(&[("write", r#"{"filename":"\u00e9t\u00e9.md"}"#)]), ["été.md"]);
        assert_eq!(changed(&[("bash", r#"{"command":"sed -i s/a/b/ src/c.rs"}"#)]), ["s/a/b", "src/c.rs"]);
        assert_eq!(changed(&[("write", "{\"path\": \"src/d.rs")]), ["src/d.rs"]);
        // What is no path is none.
        let long = format!(r#"{{"path":"{}","file":3,"target":"a\nb","dest":""}}"#, "x/".repeat(200));
        assert_eq!(changed(&[("write", &long)]).len(), 0);
    }
}
