//! The words by which the check tells what a sentence does: the table `src/core/data/answers.toml`.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

pub(super) use crate::core::lists::{Lists, lists};
use crate::core::retrieve::words;

const TABLE: &str = include_str!("../../data/answers.toml");

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(TABLE));

/// The list of that name.
pub(in crate::core::machine) fn list(name: &str) -> &'static HashSet<String> {
    static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
    LISTS.get(name).unwrap_or(&NONE)
}

/// The longest phrase of a list that `text` begins with, as whole words; empty if it begins with none.
pub(super) fn longest(text: &str, name: &str) -> &'static str {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric());
    let begins = |phrase: &&String| text.strip_prefix(phrase.as_str()).is_some_and(|rest| !goes_on(rest));
    list(name).iter().filter(begins).max_by_key(|phrase| phrase.len()).map_or("", String::as_str)
}

/// Words that mean the same, by their terms: the numbers of the groups that each belongs to.
static GROUPS: LazyLock<HashMap<String, Vec<usize>>> = LazyLock::new(|| {
    let mut all: HashMap<String, Vec<usize>> = HashMap::new();
    let groups = LISTS.get("alike").into_iter().flatten();
    for (at, group) in groups.enumerate() {
        for term in group.split_whitespace().flat_map(words::terms) {
            all.entry(term).or_default().push(at);
        }
    }
    all
});

/// Whether a term means the same as one of `terms`, or is of no account in itself.
pub(super) fn alike(term: &str, terms: &HashSet<String>) -> bool {
    static LIGHT: LazyLock<HashSet<String>> =
        LazyLock::new(|| list("light").iter().flat_map(|word| words::terms(word)).collect());
    if LIGHT.contains(term) || terms.contains(term) {
        return true;
    }
    // "Pay" and "payment".
    let derived = |ending: &String| {
        term.strip_suffix(ending.as_str()).is_some_and(|bare| bare.len() >= 3 && terms.contains(bare))
            || (term.len() >= 3 && terms.contains(&format!("{term}{ending}")))
    };
    if list("endings").iter().any(derived) {
        return true;
    }
    let Some(groups) = GROUPS.get(term) else { return false };
    terms.iter().any(|other| GROUPS.get(other).is_some_and(|others| others.iter().any(|one| groups.contains(one))))
}
