//! The words by which the check tells what a sentence does: the table `crates/verify/src/answers.toml`.

use loopwright_base::lists::{self, Lists};
use std::{collections::HashSet, sync::LazyLock};

use loopwright_lexicon::{meanings::Terms, words};

const TABLE: &str = include_str!("answers.toml");

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists::lists(TABLE));

/// The list of that name.
pub fn list(name: &str) -> &'static HashSet<String> {
    lists::list(&LISTS, name)
}

/// The longest phrase of a list that `text` begins with, as whole words; empty if it begins with none.
pub fn longest(text: &str, name: &str) -> &'static str {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric());
    let begins = |phrase: &&String| text.strip_prefix(phrase.as_str()).is_some_and(|rest| !goes_on(rest));
    list(name).iter().filter(begins).max_by_key(|phrase| phrase.len()).map_or("", String::as_str)
}

/// Whether a term is of no account in itself.
pub fn is_light(term: &str) -> bool {
    static LIGHT: LazyLock<HashSet<String>> =
        LazyLock::new(|| list("light").iter().flat_map(|word| words::terms(word)).collect());
    LIGHT.contains(term)
}

/// Whether a term means the same as one of `terms`, or is of no account in itself.
pub fn alike(term: &str, terms: &Terms) -> bool {
    is_light(term) || terms.say(term)
}
