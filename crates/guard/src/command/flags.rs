//! Options that destroy, whatever the program: `--purge`, `--delete-vm`, `--removenode`, and those that say that
//! something is meant: `--force`, `--all`, `--yes`.

use super::undo::is_held;
use crate::shell::Word;

/// What is dropped or pruned of what is put out, or only called so: `--drop-last`, `drop-zone`.
#[rustfmt::skip] // words, not code
pub(super) const SMALL: &[&str] = &[
    "last", "first", "dev", "empty", "caps", "shadow", "column", "columns", "field", "fields", "duplicates", "na",
    "header", "headers", "label", "labels", "privileges", "frames", "rate", "depth", "tree", "null", "nulls", "zone",
    "down", "in", "off", "box", "cap", "rates", "shadows",
];

/// `--name=value` and, as programs in Go write it, `-name`: the name and the value.
pub(super) fn long_option(text: &str) -> Option<(&str, &str)> {
    let name = match text.strip_prefix("--") {
        Some(name) => name,
        None => text
            .strip_prefix('-')
            .filter(|name| name.len() > 3 && name.starts_with(|c: char| c.is_ascii_alphabetic()))?,
    };
    Some(name.split_once('=').unwrap_or((name, "")))
}

/// Whether the value of an option says that it is not meant.
pub(super) fn off(value: &str) -> bool {
    matches!(value, "false" | "0" | "no" | "never" | "none" | "off")
}

/// Whether an option says: all of it, whatever it is, without asking.
pub(super) fn earnest(text: &str) -> bool {
    #[rustfmt::skip] // words, not code
    const SAID: &[&str] = &[
        "force", "hard", "all", "yes", "assume-yes", "auto-approve", "no-confirm", "noconfirm", "confirm",
        "skip-confirm", "skip-confirmation", "no-prompt", "expunge", "recursive", "everything", "no-interaction",
        "non-interactive", "auto-agree", "auto_agree",
    ];
    if text == "-y" {
        return true;
    }
    // `-all` and `-force` are written by programs in Go; `-all` is shorter than what else is taken for a word.
    let given = if text == "-all" { Some(("all", "")) } else { long_option(text) };
    given.is_some_and(|(option, value)| {
        !off(value)
            && (SAID.contains(&option)
                || option.starts_with("all-")
                || option.starts_with("yes-i-")
                || option.starts_with("i-"))
    })
}

/// The option that is told to delete something.
pub(super) fn destroying(words: &[Word]) -> Option<&Word> {
    #[rustfmt::skip] // words, not code
    const REMOVES: &[&str] = &[
        "remove", "rm", "overwrite-data-of-peer", "no-dry-run", "remove-and-delete", "remove-data", "remove-volumes",
        "reset-all", "factory-reset", "clear-all", "uninstall", "unregister", "force-delete", "force-remove",
    ];
    // `mokutil --reset`: nothing else is said.
    let alone = words.len() == 1;
    words.iter().find(|word| {
        // As options are written on Windows: `cmdkey /delete target`.
        if let Some(option) = word.text.strip_prefix('/') {
            let verb = option.split_once('-').filter(|_| !option.contains('/')).map_or(option, |(verb, _)| verb);
            return ["delete", "remove", "erase", "purge", "wipe"].iter().any(|name| verb.eq_ignore_ascii_case(name));
        }
        // `--delete`, `--purge-all`, `-delete-vm`; not `--delete=false`, `--drop-last`.
        let Some((option, value)) = long_option(&word.text) else { return false };
        // `--allow-destroy`: what may be destroyed then will be.
        let mut parts = option.strip_prefix("allow-").unwrap_or(option).split(['-', '_']);
        let first = parts.next().unwrap_or_default();
        let small = parts.next().is_some_and(|what| SMALL.contains(&what));
        let destroys = matches!(
            first,
            "delete" | "purge" | "destroy" | "destructive" | "wipe" | "erase" | "eraseall" | "deleteall" | "revoke"
        ) || matches!(first, "drop" | "prune") && !small;
        // `--removenode`, `-CfgLdDel`
        let compound = ["remove", "delete", "destroy", "erase", "drop"].iter().any(|verb| {
            first.strip_prefix(verb).is_some_and(|what| matches!(what, "all" | "duplicates") || is_held(what))
        });
        // `--deleteProperty`
        let joined = ["delete", "destroy", "erase", "purge", "wipe"].iter().any(|verb| {
            first.strip_prefix(verb).is_some_and(|what| what.starts_with(|c: char| c.is_ascii_uppercase()))
        });
        let camel = !word.text.starts_with("--")
            && ["Del", "Delete", "Clr", "Clear", "Erase"].iter().any(|verb| {
                option.strip_suffix(verb).is_some_and(|what| what.ends_with(|c: char| c.is_ascii_lowercase()))
            });
        let removes = REMOVES.contains(&option)
            || option.starts_with("remove-all") && !option.contains("unused")
            || alone && option == "reset";
        (destroys || compound || joined || camel || removes) && !off(value) && !option.ends_with("-delimiter")
    })
}
