//! The shape of a call: what a person who says yes for an hour says yes to.
//!
//! Of a shell line it is each program with its subcommand and flags and the kinds of places and the hosts it touches;
//! programs that run what they are given are taken whole. Of another call it is the tool with its arguments, where
//! paths count by their kind and long text counts as text. What depends on variables or can't be read has no shape.

use crate::names;
use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    disguise::{disguise, host_in_words},
    links::Links,
    policy::{
        PathClass, Place, Subject, Surroundings,
        subject::{Part, base_name},
    },
};

/// Characters of one argument that count as they are; longer ones count as text.
const LITERAL: usize = 80;

/// Programs with subcommands, and how many of their words are such.
const SUBCOMMANDS: [(&str, usize); 24] = [
    ("git", 1),
    ("cargo", 1),
    ("go", 1),
    ("pip", 1),
    ("pip3", 1),
    ("apt", 1),
    ("apt-get", 1),
    ("brew", 1),
    ("dnf", 1),
    ("systemctl", 1),
    ("service", 2),
    ("docker", 2),
    ("podman", 2),
    ("kubectl", 2),
    ("helm", 1),
    ("terraform", 1),
    ("gh", 2),
    ("aws", 2),
    ("gcloud", 4),
    ("az", 3),
    ("conda", 1),
    ("poetry", 1),
    ("gem", 1),
    ("rustup", 1),
];

/// A shape, as a key and in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) key: String,
    pub(crate) words: String,
}

/// The shape of a call, if it has one. What a person can't see in it, nobody has agreed to for the next time.
pub(crate) fn shape_of(subject: &Subject, around: &Surroundings) -> Option<Shape> {
    if subject.unparsed.is_some() || subject.parts.is_empty() || disguise(subject).is_some() {
        return None;
    }
    let (mut keys, mut words) = (BTreeSet::new(), Vec::new());
    if subject.runs_lines() {
        for part in &subject.parts {
            let shape = of_command(part)?;
            if keys.insert(shape.key) {
                words.push(shape.words);
            }
        }
    }
    let beside = arguments(subject, around);
    let key = serde_json::to_string(&(&subject.tool, &keys, &beside)).ok()?;
    let told: Vec<String> = beside.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let words = match (words.is_empty(), told.is_empty()) {
        (true, true) => format!("{} without arguments", subject.tool),
        (true, false) => format!("{} with {}", subject.tool, told.join(", ")),
        (false, true) => format!("{} in {}", words.join("; and "), subject.tool),
        (false, false) => format!("{} in {} (with {})", words.join("; and "), subject.tool, told.join(", ")),
    };
    Some(Shape { key, words })
}

fn of_command(part: &Part) -> Option<Shape> {
    let program = part.words.first()?;
    // A wildcard names many files of one kind; a variable may be anything.
    let certain = |text: &str| !text.contains(['$', '`']);
    if !program.exact || part.words.iter().any(|word| !word.exact && !certain(&word.text)) {
        return None;
    }
    let text = |at: usize| part.words.get(at).map(|word| word.text.as_str());
    let name = base_name(&program.text).to_lowercase();
    let operands: Vec<&str> =
        part.words.iter().skip(1).map(|word| word.text.as_str()).filter(|word| !word.starts_with('-')).collect();
    let depth = SUBCOMMANDS.iter().find(|(known, _)| *known == name).map_or(0, |(_, depth)| *depth);
    let subcommands: Vec<&str> = operands.iter().copied().take(depth).collect();
    let assigns = !part.settings.is_empty();
    if part.settings.iter().any(|setting| !setting.exact) {
        return None;
    }
    let whole = assigns
        || names::has("programs.runners", name.as_str())
        || name.starts_with("python")
        || text(0).is_some_and(|text| text.contains('/'))
        || subcommands.iter().any(|word| names::has("programs.running_subcommands", word));
    if whole {
        let line = joined(part);
        return Some(Shape { key: format!("whole {line}"), words: format!("exactly `{line}`") });
    }
    let mut flags: BTreeSet<String> = BTreeSet::new();
    for word in part.words.iter().skip(1).filter(|word| word.text.starts_with('-') && word.text.len() > 1) {
        let letters = word.text.trim_start_matches('-');
        if !word.text.starts_with("--") && letters.len() <= 5 && letters.chars().all(char::is_alphabetic) {
            flags.extend(letters.chars().map(|letter| format!("-{letter}")));
        } else {
            flags.insert(word.text.clone());
        }
    }
    let looks = |place: &&Place| {
        let raw = place.raw.as_str();
        !subcommands.contains(&raw) && (raw.contains(['/', '.', '~', '*', '?']) || depth == 0)
    };
    let places: BTreeSet<(PathClass, bool)> =
        part.paths.iter().filter(looks).map(|place| (place.class(), place.raw.contains(['*', '?', '[']))).collect();
    let writes: BTreeSet<PathClass> = part.writes.iter().map(Place::class).collect();
    let hosts: BTreeSet<&String> = part.hosts.iter().collect();
    let key = serde_json::to_string(&(&program.text, &subcommands, &flags, &places, &writes, &hosts)).ok()?;
    let mut words = format!("`{}`", [&[program.text.as_str()][..], &subcommands].concat().join(" "));
    if flags.is_empty() {
        words.push_str(" without flags");
    } else {
        words = format!("{words} with {}", flags.iter().cloned().collect::<Vec<_>>().join(" "));
    }
    // What is told is what is kept: of words that name no files, that there are such.
    let files = super::lines::takes_files(&name);
    let shown: BTreeSet<(PathClass, bool)> = part
        .paths
        .iter()
        .filter(looks)
        .filter(|place| files || place.raw.contains(['/', '.', '~', '*', '?']))
        .map(|place| (place.class(), place.raw.contains(['*', '?', '['])))
        .collect();
    let mut told: Vec<String> = shown
        .iter()
        .map(|(class, many)| format!("{}{}", if *many { "on many files " } else { "on files " }, class.words()))
        .collect();
    if shown.len() < places.len() {
        told.push("with other words".to_owned());
    }
    if !told.is_empty() {
        words = format!("{words} {}", told.join(" and "));
    }
    if !writes.is_empty() {
        let told: Vec<&str> = writes.iter().map(|class| class.words()).collect();
        words = format!("{words}, writing to files {}", told.join(" and "));
    }
    if !hosts.is_empty() {
        let told: Vec<String> = hosts.iter().map(|host| host_in_words(host)).collect();
        words = format!("{words}, reaching {}", told.join(" and "));
    }
    Some(Shape { key, words })
}

fn joined(part: &Part) -> String {
    part.settings.iter().chain(&part.words).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// The arguments beside the shell line, by name, each as what of it counts.
fn arguments(subject: &Subject, around: &Surroundings) -> Vec<(String, String)> {
    let Some(members) = subject.input.as_object() else { return Vec::new() };
    // How long a command may run is no part of what it does.
    let of_shape =
        |name: &str| !subject.is_shell(name) && !matches!(name, "timeout" | "timeout_seconds" | "description");
    let mut found: Vec<(String, String)> = members
        .iter()
        .filter(|(name, value)| of_shape(name) && !value.is_null())
        .map(|(name, value)| (name.clone(), of_value(value, &subject.links, around)))
        .collect();
    found.sort();
    found
}

fn of_value(value: &Value, links: &Links, around: &Surroundings) -> String {
    match value {
        Value::String(text) => {
            let mut hosts = Vec::new();
            super::policy::hosts_in(text, &mut hosts);
            let blank = text.contains(char::is_whitespace);
            if !blank && !hosts.is_empty() {
                format!("at {}", hosts.join(" and "))
            } else if !blank
                && (text.contains(['/', '\\']) || text.starts_with('~') || has_suffix(text))
                && !text.contains('@')
            {
                let mut place = Place::new(text, false, around);
                place.follow(links, around);
                format!("a path {}", place.class().words())
            } else if text.chars().count() > LITERAL || text.contains('\n') {
                "some text".to_owned()
            } else {
                format!("{text:?}")
            }
        }
        Value::Array(items) => {
            let kinds: BTreeSet<String> = items.iter().take(100).map(|item| of_value(item, links, around)).collect();
            if items.len() > 20 {
                return value.to_string();
            }
            format!("[{}]", kinds.into_iter().collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let kinds: BTreeSet<String> =
                members.iter().map(|(name, member)| format!("{name}: {}", of_value(member, links, around))).collect();
            format!("{{{}}}", kinds.into_iter().collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// `name.ext`
fn has_suffix(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(stem, suffix)| {
        !stem.is_empty()
            && (1..=5).contains(&suffix.len())
            && suffix.chars().all(|c| c.is_ascii_alphanumeric())
            && suffix.chars().any(|c| c.is_ascii_alphabetic())
    })
}
