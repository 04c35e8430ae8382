//! What a call is called by: the targets that it touches, and the verbs of its tool or its line with all that mean the
//! same. Verbs are compared by their stems.

use std::{collections::HashSet, sync::LazyLock};

use crate::{
    command::is_known,
    policy::{
        Subject,
        subject::{Part, base_name, words_of},
    },
};

/// The list of programs whose names people write without meaning them.
const COMMON: &str = "said.common";

/// Words that mean the same wish, by group.
const GROUPS: [&[&str]; 11] = [
    &[
        "write",
        "create",
        "save",
        "add",
        "make",
        "generate",
        "draft",
        "produce",
        "store",
        "record",
        "put",
        "append",
        "compose",
        "implement",
        "scaffold",
        "document",
        "touch",
        "mkdir",
    ],
    &[
        "edit",
        "change",
        "modify",
        "update",
        "fix",
        "replace",
        "rename",
        "refactor",
        "correct",
        "rewrite",
        "improve",
        "adjust",
        "patch",
        "convert",
        "format",
        "set",
        "insert",
        "implement",
        "add",
        "repair",
    ],
    &[
        "fetch", "get", "download", "open", "read", "visit", "browse", "look", "search", "find", "check", "research",
        "retrieve", "load", "crawl", "curl", "wget",
    ],
    &["send", "mail", "email", "post", "notify", "message", "reply", "forward", "publish", "share", "submit", "tell"],
    &["run", "execute", "start", "launch", "test", "build", "compile", "pytest"],
    &["copy", "duplicate", "backup", "cp"],
    &["move", "rename", "relocate", "mv"],
    &["delete", "remove", "erase", "drop", "purge", "clear", "rm"],
    &["install", "add", "upgrade", "setup"],
    &["commit", "stage", "checkpoint"],
    &["format", "lint", "tidy"],
];

/// The words that people have for what programs do, of the lists of `[means]`.
static MEANT: LazyLock<HashSet<&str>> =
    LazyLock::new(|| crate::names::lists_of(MEANS).flat_map(str::split_whitespace).collect());

/// The section of those lists, each named by its words.
const MEANS: &str = "means.";

/// The words that people have for what a program, or a program with its subcommand, does.
fn words_for(name: &str) -> Vec<&'static str> {
    let lists = crate::names::holders(name).iter().filter_map(|list| list.strip_prefix(MEANS));
    let mut words: Vec<&str> = lists.flat_map(str::split_whitespace).collect();
    words.sort_unstable();
    words
}

/// Whether a word is a verb of those groups.
pub(super) fn is_verb(word: &str) -> bool {
    GROUPS.iter().any(|group| group.contains(&word))
}

/// Whether a word is the name of a program or subcommand that people have words for.
pub(super) fn is_program(word: &str) -> bool {
    MEANT.contains(word) || !words_for(word).is_empty()
}

/// The words that mean a command: the names of its program and subcommand and what people call what these do. A name
/// that is a common word means nothing by itself (`find`, `make`, `add`), and neither do the words of a program that is
/// not known here.
pub(super) fn meant_by(part: &Part) -> Vec<String> {
    let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '+'));
    let program = part.words.first().map(|word| base_name(&word.text).to_lowercase());
    let known = program.as_deref().is_some_and(is_known);
    let operands = part
        .words
        .iter()
        .filter(|_| known)
        .skip(1)
        .filter(|word| word.exact && !word.text.starts_with('-') && plain(&word.text))
        // A word between a program and what it is to do.
        .filter(|word| !crate::names::has("said.between", &word.text));
    let names: Vec<String> = program.into_iter().chain(operands.map(|word| word.text.to_lowercase()).take(2)).collect();
    let common = |name: &str| crate::names::has(COMMON, name) || GROUPS.iter().any(|group| group.contains(&name));
    let mut words: Vec<String> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if !common(name) || at > 0 && crate::names::has("said.subcommands", name) {
            words.push(name.clone());
        }
        words.extend(words_for(name).into_iter().map(str::to_owned));
    }
    if let [program, sub, ..] = names.as_slice() {
        words.extend(words_for(&format!("{program} {sub}")).into_iter().map(str::to_owned));
    }
    // `git add` stages what a commit takes.
    if let [git, add, ..] = names.as_slice()
        && git == "git"
        && add == "add"
    {
        words.extend(["stage", "commit"].map(str::to_owned));
    }
    words.retain(|word| word.chars().count() > 1);
    words
}

/// The names of what a word of a command touches: a file, a setting with its value.
pub(super) fn targets_in(word: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let value = word.split_once('=');
    let joined = word.strip_prefix('-').and_then(|rest| rest.get(1..));
    for text in [Some(word), value.map(|(name, _)| name), value.map(|(_, value)| value), joined].into_iter().flatten() {
        let text = text.trim_end_matches('/').to_lowercase();
        for name in [text.as_str(), text.trim_start_matches("./"), base_name(&text)] {
            if name.chars().count() > 1 && name != ".." && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// The names of what a call touches.
pub(super) fn targets_of(subject: &Subject) -> Vec<String> {
    let mut found = Vec::new();
    let mut push = |name: &str| {
        let name = name.trim_end_matches('/').to_lowercase();
        if name.chars().count() > 1 && name != ".." && !found.contains(&name) && found.len() < 64 {
            found.push(name);
        }
    };
    for part in subject.named() {
        names_of_part(part, subject.runs_lines(), &mut push);
    }
    if let Some(members) = subject.input.as_object() {
        for (name, value) in members.iter().filter(|(name, _)| !subject.is_shell(name)) {
            // A word of the language names nothing: a name has a sign or a digit in it.
            let text = value.as_str().filter(|text| text.len() < 200 && !text.contains(char::is_whitespace));
            if let Some(text) = text.filter(|text| text.contains(|c: char| !c.is_alphabetic())) {
                push(text);
            }
            let _ = name;
        }
    }
    found
}

/// The names of what a command of a line touches.
pub(super) fn targets_of_part(part: &Part) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    names_of_part(part, true, &mut |name| {
        let name = name.trim_end_matches('/').to_lowercase();
        if name.chars().count() > 1 && name != ".." && !found.contains(&name) && found.len() < 64 {
            found.push(name);
        }
    });
    found
}

fn names_of_part(part: &Part, of_line: bool, push: &mut impl FnMut(&str)) {
    for path in &part.paths {
        // Words of a line that only may be paths count where they look like names of files.
        let sure = !of_line || path.raw.contains(['/', '.', '~']);
        if sure && !path.raw.starts_with('-') {
            push(&path.raw);
            push(path.raw.trim_start_matches("./"));
            push(base_name(path.raw.trim_end_matches('/')));
        }
    }
    for host in &part.hosts {
        push(host);
        push(host.trim_start_matches("www."));
    }
}

/// The verbs that a call itself has: of its tool's name, or of the programs of its line.
pub(super) fn own_verbs_of(subject: &Subject) -> Vec<String> {
    let mut own: Vec<String> = Vec::new();
    if subject.runs_lines() {
        for part in &subject.parts {
            let program = part.words.first().map(|word| base_name(&word.text).to_lowercase());
            own.extend(program);
            let next = part.words.iter().skip(1).find(|word| !word.text.starts_with('-'));
            own.extend(
                next.filter(|word| word.text.chars().all(char::is_alphabetic)).map(|word| word.text.to_lowercase()),
            );
        }
    } else {
        own.extend(words_of(&subject.tool));
    }
    own
}

/// The verbs of a call, with all that mean the same.
pub(super) fn verbs_of(subject: &Subject) -> Vec<String> {
    let mut own = own_verbs_of(subject);
    let mut verbs = Vec::new();
    for word in &own {
        for group in GROUPS.iter().filter(|group| group.contains(&word.as_str())) {
            verbs.extend(group.iter().map(|verb| (*verb).to_owned()));
        }
    }
    if verbs.is_empty() {
        // A verb that no group knows stands for itself.
        own.retain(|word| {
            word.len() > 2 && !matches!(word.as_str(), "file" | "files" | "tool" | "the" | "data" | "item")
        });
        return own;
    }
    verbs
}

/// The stem of a word, crude and the same for all its forms.
pub(super) fn stem(word: &str) -> String {
    let word = match word {
        "wrote" | "written" => "write",
        "ran" => "run",
        "sent" => "send",
        "made" => "make",
        "built" => "build",
        other => other,
    };
    let chars = word.chars().count();
    let strip = |suffix: &str, least: usize| word.strip_suffix(suffix).filter(|_| chars >= suffix.len() + least);
    let base = strip("ing", 3)
        .or_else(|| strip("ies", 2))
        .or_else(|| strip("ied", 2))
        .or_else(|| strip("es", 3))
        .or_else(|| strip("ed", 3))
        .or_else(|| strip("s", 3))
        .unwrap_or(word);
    let mut base: Vec<char> = base.trim_end_matches('e').chars().collect();
    if let [.., before, last] = base.as_slice()
        && before == last
        && base.len() > 3
        && !matches!(last, 'l' | 's' | 'e' | 'o')
    {
        base.pop();
    }
    if matches!(base.last(), Some('y' | 'i')) && base.len() > 2 {
        base.pop();
    }
    base.into_iter().collect()
}
