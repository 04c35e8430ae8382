//! Names that the guard knows: the lists of `crates/guard/src/guard.toml`.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use loopwright_base::{
    lists::{self, Lists},
    word_hash::Hashed,
};

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists::lists(include_str!("guard.toml")));

/// The list of that name; one that is in no table is empty.
pub(super) fn list(name: &str) -> &'static HashSet<String> {
    lists::list(&LISTS, name)
}

/// The lists that hold a name: most names are in none, and are looked up once.
static HOLDERS: LazyLock<HashMap<&str, Vec<&str>, Hashed>> = LazyLock::new(|| {
    let mut holders: HashMap<&str, Vec<&str>, Hashed> = HashMap::default();
    for (list, names) in &*LISTS {
        for name in names {
            holders.entry(name).or_default().push(list);
        }
    }
    holders
});

/// The lists that hold a name.
pub(super) fn holders(name: &str) -> &'static [&'static str] {
    HOLDERS.get(name).map_or(&[], Vec::as_slice)
}

/// Whether a list holds this name.
pub(super) fn has(list: &str, name: &str) -> bool {
    holders(name).contains(&list)
}

/// Whether a name is what a pattern with `*` stands for.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    false
}

/// Whether the last folders and the name of a path are what an entry of a list says.
pub(super) fn ends_as(list: &str, parts: &[&str]) -> bool {
    let ends = |entry: &str| {
        let mut wanted = entry.trim_start_matches('/').rsplit('/');
        let mut given = parts.iter().rev();
        wanted.all(|pattern| given.next().is_some_and(|part| fits(pattern, part)))
    };
    self::list(list).iter().any(|entry| ends(entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_that_is_asked_for_is_there() {
        for name in [
            "files.copies",
            "files.harmless_sections",
            "programs.hooks",
            "programs.passed_on",
            "programs.installed",
            "programs.going_out",
            "programs.fetching",
            "programs.taking_files",
            "programs.no_host",
            "tools.python",
            "tools.javascript",
            "tools.ruby",
            "tools.shell",
            "tools.sql",
            "tools.deleting",
            "tools.writing",
            "tools.lines",
            "tools.lines_of_shell",
            "tools.paths",
            "tools.path_words",
            "said.negations",
            "programs.block_takers",
            "programs.cmdlets",
            "programs.dry",
            "programs.folders",
            "programs.without_environment",
            "programs.inspecting",
            "programs.listing",
            "programs.listing_by_all",
            "programs.listing_objects",
            "programs.listing_by_pattern",
            "programs.listing_by_tests",
            "programs.no_act",
            "programs.not_showing",
            "programs.searches",
            "programs.shells",
            "programs.searches_folders",
            "programs.showing",
            "programs.reading_names_from",
            "programs.running_options",
            "programs.opening_objects",
            "programs.telling",
            "personal.files",
            "personal.nobody",
            "personal.phone_words",
            "personal.iban_lengths",
            "personal.tops_apart",
            "personal.domains_apart",
            "secret_values.shown_users",
            "secret_values.stand_ins",
            "secret_values.naming",
            "secret_values.public_beginnings",
            "secret_values.defaults",
            "secret_values.algorithms",
            "secret_values.of_sentences",
            "secret_values.wrappers",
            "secret_values.looking_up",
            "secret_values.no_passwords",
            "secret_values.of_vocabularies",
            "secrets.about",
            "secrets.about_in_texts",
            "secrets.asks",
            "secrets.by_chance",
            "secrets.nouns_of_two",
            "secrets.purposes",
            "secrets.credentials",
            "secrets.known_keys",
            "secrets.known_passwords",
            "secrets.known_tokens",
            "secrets.messages",
            "secrets.no_keys",
            "secrets.no_tokens",
            "secrets.nouns",
            "secrets.opening_words",
            "secrets.opens",
            "secrets.pages",
            "secrets.passwords",
            "secrets.public",
            "secrets.takes",
            "variables.chance_last",
            "variables.harmless",
            "variables.public",
            "variables.secret",
            "variables.secret_last",
            "variables.stores",
        ] {
            assert!(!list(name).is_empty(), "{name}");
        }
        for name in ["files.keys", "files.key_folders", "files.settings", "files.open"] {
            assert!(!list(name).is_empty(), "{name}");
        }
        for name in ["said.reporting", "said.speakers"] {
            assert!(!list(name).is_empty(), "{name}");
        }
        for name in ["said.reading", "said.telling", "said.fillers", "said.run", "said.change"] {
            assert!(!list(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn patterns_of_names() {
        for (pattern, name, wanted) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*a", "ba", true),
            ("a*c", "abc", true),
            ("a*c", "ab", false),
            ("a*b*c", "axbyc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
