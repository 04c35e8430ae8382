//! The words by which the check tells what a sentence does: the table `src/core/data/answers.toml`.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use toml::de::{DeTable, DeValue};

use super::meanings::Terms;
use crate::core::retrieve::words;

const TABLE: &str = include_str!("../../data/answers.toml");

/// Lists of words by their names, those of a section as `section.name`.
pub(super) type Lists = HashMap<String, HashSet<String>>;

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(TABLE));

/// Reads lists of words. A test holds that the tables can be read; of a broken one nothing would be known.
pub(super) fn lists(table: &str) -> Lists {
    let mut all = Lists::new();
    let Ok(table) = DeTable::parse(table) else { return all };
    let mut waiting: Vec<(String, &DeValue<'_>)> =
        table.get_ref().iter().map(|(name, value)| (name.get_ref().to_string(), value.get_ref())).collect();
    while let Some((name, value)) = waiting.pop() {
        match value {
            DeValue::Table(section) => waiting
                .extend(section.iter().map(|(inner, value)| (format!("{name}.{}", inner.get_ref()), value.get_ref()))),
            DeValue::Array(items) => {
                let items = items.iter().filter_map(|item| item.get_ref().as_str()).map(str::to_owned);
                all.entry(name).or_default().extend(items);
            }
            _ => {}
        }
    }
    all
}

/// The list of that name.
pub(super) fn list(name: &str) -> &'static HashSet<String> {
    static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
    LISTS.get(name).unwrap_or(&NONE)
}

/// The longest phrase of a list that `text` begins with, as whole words; empty if it begins with none.
pub(super) fn longest(text: &str, name: &str) -> &'static str {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric());
    let begins = |phrase: &&String| text.strip_prefix(phrase.as_str()).is_some_and(|rest| !goes_on(rest));
    list(name).iter().filter(begins).max_by_key(|phrase| phrase.len()).map_or("", String::as_str)
}

/// Whether a term is of no account in itself.
pub(super) fn is_light(term: &str) -> bool {
    static LIGHT: LazyLock<HashSet<String>> =
        LazyLock::new(|| list("light").iter().flat_map(|word| words::terms(word)).collect());
    LIGHT.contains(term)
}

/// Whether a term means the same as one of `terms`, or is of no account in itself.
pub(super) fn alike(term: &str, terms: &Terms) -> bool {
    is_light(term) || terms.say(term)
}
