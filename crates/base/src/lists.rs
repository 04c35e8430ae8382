//! Word lists in tables of TOML, in which machines and rules look words up.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use toml::de::{DeTable, DeValue};

/// Word lists by their names, those of a section as `section.name`.
pub type Lists = HashMap<String, HashSet<String>>;

/// Parses word lists. A test holds that the tables can be parsed; a broken one is empty.
pub fn lists(table: &str) -> Lists {
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

/// The list of that name; one that is in no table is empty.
pub fn list(lists: &'static Lists, name: &str) -> &'static HashSet<String> {
    static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
    lists.get(name).unwrap_or(&NONE)
}
