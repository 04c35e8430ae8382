//! The rules of records, held against the words of a command.
//!
//! A pattern reads like the command it is for. `push --force|-f !--dry-run|-n` are the words that must stand in this
//! order, an option of which one must be given, and one of which none may. `*` is any word, `**` any number of them,
//! `^+` a word that begins so. Letters of options written together count (`-fdx` has `-x`).

use std::{collections::HashMap, sync::OnceLock};

use super::{
    RiskLevel,
    records::{records, valued},
    shell::{Options, Word},
};

/// What makes a call more than reading.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The rule's id, such as `git.push.force`.
    pub(super) id: String,
    /// What it makes of a call.
    pub(super) level: RiskLevel,
    /// The words that it is for, behind the program.
    pub(super) pattern: String,
    /// What they do, to go on after "this command".
    pub(super) why: String,
}

type Index = HashMap<&'static str, Vec<(&'static Rule, Vec<&'static str>)>>;

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index::new();
        for record in records().all.iter().filter(|record| !record.rules.is_empty()) {
            let rules = record.rules.iter().map(|rule| (rule, rule.pattern.split(' ').filter(|item| !item.is_empty())));
            let rules: Vec<_> = rules.map(|(rule, items)| (rule, items.collect::<Vec<_>>())).collect();
            for name in &record.names {
                index.insert(name, rules.clone());
            }
        }
        index
    })
}

/// The strictest rule that the command falls under.
pub(super) fn matching(program: &str, words: &[Word]) -> Option<&'static Rule> {
    let lines = index().get(program)?;
    let valued = valued(program);
    let options = Options::read(words, valued);
    let split = !valued.contains('@');
    let mut worst: Option<&'static Rule> = None;
    for (rule, items) in lines {
        if worst.is_none_or(|worst| worst.level < rule.level) && fits(items, &options, split) {
            worst = Some(rule);
        }
    }
    worst
}

fn given(alternatives: &str, options: &Options<'_>, split: bool) -> bool {
    alternatives.split('|').any(|name| {
        let letter = name.strip_prefix('-').filter(|name| name.len() == 1).and_then(|name| name.chars().next());
        match (letter, name.split_once('=')) {
            (Some(letter), _) => options.word(name) || split && options.has(letter, ""),
            (None, Some((name, value))) => options.value(name) == Some(value),
            (None, None) => {
                options.word(name)
                    || options.has('\0', name)
                    || options.flags.iter().any(|flag| {
                        name.starts_with('-')
                            && flag.eq_ignore_ascii_case(name)
                            && !name.starts_with("--")
                            && name.len() > 2
                    })
            }
        }
    })
}

fn fits(items: &[&str], options: &Options<'_>, split: bool) -> bool {
    let mut at = 0;
    let mut anywhere = false;
    for item in items {
        if let Some(none) = item.strip_prefix('!') {
            let slashed = |word: &&Word| none.split('|').any(|none| word.text.eq_ignore_ascii_case(none));
            if given(none, options, split) || none.contains('/') && options.rest.iter().any(slashed) {
                return false;
            }
        } else if item.starts_with(['-', '/']) {
            // Windows has slashes for options, which read as words.
            let slashed = |word: &&Word| item.split('|').any(|item| word.text.eq_ignore_ascii_case(item));
            let is_given = given(item, options, split) || item.starts_with('/') && options.rest.iter().any(slashed);
            if !is_given {
                return false;
            }
        } else if *item == "**" {
            anywhere = true;
        } else if *item == "$" {
            if at != options.rest.len() {
                return false;
            }
        } else {
            let fits = |word: &&Word| {
                item.split('|').any(|item| match item.strip_prefix('^') {
                    Some(start) => word.text.starts_with(start) && word.text.len() > start.len(),
                    None => item == "*" || word.text == item,
                })
            };
            let rest = options.rest.get(at..).unwrap_or_default();
            let found = if anywhere || item.starts_with('^') {
                rest.iter().position(fits)
            } else {
                rest.first().filter(|word| fits(word)).map(|_| 0)
            };
            match found {
                Some(found) => at += found + 1,
                None => return false,
            }
            anywhere = false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An item with both would only ever look among the options.
    #[test]
    fn no_item_mixes_options_and_words() {
        for rule in records().all.iter().flat_map(|record| &record.rules) {
            for item in rule.pattern.split(' ').filter(|item| !item.starts_with('!') && !rule.pattern.is_empty()) {
                let mut options = item.split('|').map(|one| one.starts_with(['-', '/']));
                let first = options.next();
                assert!(!item.is_empty(), "{}", rule.pattern);
                assert!(options.all(|other| Some(other) == first), "{}", rule.pattern);
            }
        }
    }
}
