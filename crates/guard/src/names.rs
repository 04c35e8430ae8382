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

/// What the lists of a section are called there.
pub(super) fn lists_of(section: &str) -> impl Iterator<Item = &'static str> {
    LISTS.keys().filter_map(move |list| list.strip_prefix(section))
}

/// Whether a list holds this name.
pub(super) fn has(list: &str, name: &str) -> bool {
    holders(name).contains(&list)
}

/// Whether a pattern stands for a name: `*` is anything, `?` any sign. What a class holds is not looked at: any sign.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut place) = (0, 0);
    // Where the last star stands, and what it has taken.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        let sign = pattern.get(at).copied();
        let class = || pattern[at..].iter().position(|byte| *byte == b']');
        if sign == Some(b'*') {
            star = Some((at, place));
            at += 1;
        } else if let (Some(b'['), Some(length)) = (sign, class()) {
            (at, place) = (at + length + 1, place + 1);
        } else if sign == Some(b'?') || sign == Some(name[place]) {
            (at, place) = (at + 1, place + 1);
        } else if let Some((before, taken)) = star {
            (at, place) = (before + 1, taken + 1);
            star = Some((before, taken + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}

/// The entries of a list of paths, each from its name on up to its folders: those whose name stands for itself by that.
#[derive(Default)]
struct Ends {
    named: HashMap<&'static str, Vec<Vec<&'static str>>>,
    patterns: Vec<Vec<&'static str>>,
}

static ENDS: LazyLock<HashMap<&str, Ends>> = LazyLock::new(|| {
    let mut all: HashMap<&str, Ends> = HashMap::new();
    for (list, entries) in &*LISTS {
        let ends = all.entry(list).or_default();
        for entry in entries {
            let parts: Vec<&str> = entry.trim_start_matches('/').rsplit('/').collect();
            match parts.first() {
                Some(name) if !name.contains(['*', '?', '[']) => ends.named.entry(name).or_default().push(parts),
                _ => ends.patterns.push(parts),
            }
        }
    }
    all
});

/// Whether the last folders and the name of a path are what an entry of a list says.
pub(super) fn ends_as(list: &str, parts: &[&str]) -> bool {
    let (Some(ends), Some(name)) = (ENDS.get(list), parts.last()) else { return false };
    let fit = |wanted: &Vec<&str>| {
        let mut given = parts.iter().rev();
        wanted.iter().all(|pattern| given.next().is_some_and(|part| may_fit(pattern, part) && fits(pattern, part)))
    };
    ends.named.get(name).is_some_and(|named| named.iter().any(fit)) || ends.patterns.iter().any(fit)
}

/// Whether the first and the last sign of a pattern let a name through.
fn may_fit(pattern: &str, name: &str) -> bool {
    let open = |sign: &u8| matches!(sign, b'*' | b'?' | b'[' | b']');
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    pattern.first().is_none_or(|sign| open(sign) || Some(sign) == name.first())
        && pattern.last().is_none_or(|sign| open(sign) || Some(sign) == name.last())
}

/// Whether a path leads through one of the folders of a list.
pub(super) fn goes_through(list: &str, parts: &[&str]) -> bool {
    let Some(ends) = ENDS.get(list) else { return false };
    parts.iter().enumerate().any(|(at, name)| {
        ends.named.get(name).is_some_and(|named| {
            named.iter().any(|wanted| parts[..=at].iter().rev().take(wanted.len()).eq(wanted.iter()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_that_is_asked_for_is_there() {
        for name in [
            "programs.windows",
            "programs.handing_on",
            "programs.setters",
            "programs.pattern_first",
            "programs.sql_clients",
            "programs.deleting_verbs",
            "programs.git_not_showing",
            "programs.sought_first",
            "programs.to_last",
            "programs.awks",
            "programs.runners",
            "programs.running_subcommands",
            "programs.shell_options",
            "variables.injecting",
            "variables.printable",
            "variables.programs",
            "powershell.keywords",
            "powershell.automatic",
            "powershell.operators",
            "powershell.tame",
            "powershell.valued",
            "made.folders",
            "made.names",
            "made.endings",
            "files.system",
            "files.private",
            "tools.sending",
            "said.common",
            "code.clients",
            "code.deleting",
            "code.deleting_all",
            "code.running",
            "code.evaluating",
            "code.sql",
            "code.emptying",
            "code.moving",
            "code.calling_back",
            "code.decoding",
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
            "programs.clusters_open",
            "programs.comparing",
            "programs.naming_files",
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
        for name in [
            "said.reporting",
            "said.speakers",
            "rules.own_rooms",
            "rules.lowering_keys",
            "variables.lasting",
            "variables.lasting_starts",
        ] {
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
            ("", "", true),
            ("", "a", false),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("a[xy]c", "abc", true),
            ("a[", "a[", true),
            ("*a*a", "aab", false),
            ("*ab", "aab", true),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
