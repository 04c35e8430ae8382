//! The rules of records, held against the words of a command.
//!
//! A pattern reads like the command it is for. `push --force|-f !--dry-run|-n` are the words that must stand in this
//! order, an option of which one must be given, and one of which none may. `*` is any word, `**` any number of them,
//! `^+` a word that begins so, `=^+` one at this very place, `~a|b` any other word. Letters of options written together
//! count (`-fdx` has `-x`).

use super::{
    RiskLevel,
    records::record,
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
    pub(super) pattern: Vec<String>,
    /// What they do, to go on after "this command".
    pub(super) why: String,
}

/// The strictest rule that the command falls under.
pub(super) fn matching(program: &str, words: &[Word]) -> Option<&'static Rule> {
    let record = record(program).filter(|record| !record.rules.is_empty())?;
    let valued = record.values.as_str();
    let options = Options::read(words, valued);
    let split = !valued.contains('@');
    let mut worst: Option<&'static Rule> = None;
    for rule in &record.rules {
        if worst.is_none_or(|worst| worst.level < rule.level) && fits(&rule.pattern, &options, split) {
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

fn fits(items: &[String], options: &Options<'_>, split: bool) -> bool {
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
        } else if item == "**" {
            anywhere = true;
        } else if item == "$" {
            if at != options.rest.len() {
                return false;
            }
        } else {
            // `=` is the very next word, `~` one that is none of these.
            let other = item.strip_prefix('~');
            let next = other.or_else(|| item.strip_prefix('='));
            let (item, next) = (next.unwrap_or(item), next.is_some());
            let fits = |word: &&Word| {
                item.split('|').any(|item| match item.strip_prefix('^') {
                    Some(start) => word.text.starts_with(start) && word.text.len() > start.len(),
                    None => item == "*" || word.text == item,
                })
            };
            let fits = |word: &&Word| fits(word) != other.is_some();
            let rest = options.rest.get(at..).unwrap_or_default();
            let found = if !next && (anywhere || item.starts_with('^')) {
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
    use crate::records::records;

    /// An item with both would only ever look among the options.
    #[test]
    fn no_item_mixes_options_and_words() {
        for rule in records().all.iter().flat_map(|record| &record.rules) {
            for item in rule.pattern.iter().filter(|item| !item.starts_with('!')) {
                let mut options = item.split('|').map(|one| one.starts_with(['-', '/']));
                let first = options.next();
                assert!(options.all(|other| Some(other) == first), "{rule:?}");
            }
        }
    }
}
