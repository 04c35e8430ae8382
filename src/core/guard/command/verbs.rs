//! Command lines without rules of their own, judged by their verbs: `tool things delete x`, `apps:destroy`,
//! `batch-delete-image`, `--purge`.

use std::ops::Range;

use super::{
    Verdict,
    known::{READERS, TAME},
};
use crate::core::guard::{RiskLevel, shell::Word};

/// A verb that destroys, in the name of a subcommand: `delete`, `batch-delete-image`, `apps:destroy`.
fn destructive_verb(word: &str) -> Option<&'static str> {
    const VERBS: &[&str] = &[
        "delete",
        "destroy",
        "purge",
        "remove",
        "rm",
        "terminate",
        "drop",
        "wipe",
        "erase",
        "nuke",
        "del",
        "uninstall",
        "truncate",
        "decommission",
        "deregister",
        "revoke",
        "obliterate",
        "teardown",
        "undeploy",
        "deprovision",
        "flush",
        "rmi",
        "unregister",
        "expunge",
    ];
    if word.len() > 64 || word.contains(['/', '.', '=', ' ', '@']) {
        return None;
    }
    let mut parts = word.split(['-', ':', '_']);
    let first = parts.next().unwrap_or_default();
    let find = |part: &str| VERBS.iter().copied().find(|verb| part.eq_ignore_ascii_case(verb));
    if let Some(verb) = find(first) {
        return Some(verb);
    }
    // `force-delete`, `batch-delete-image`, `schedule-key-deletion`
    let mut last = "";
    for (at, part) in parts.enumerate() {
        if at == 0
            && matches!(first, "batch" | "force" | "bulk" | "hard" | "mass")
            && let Some(verb) = find(part)
        {
            return Some(verb);
        }
        last = part;
    }
    if word.contains(':')
        && let Some(verb) = find(last)
    {
        return Some(verb);
    }
    (last == "deletion").then_some("delete")
}

/// Verbs that only read.
const READING_VERBS: &[&str] = &[
    "list", "ls", "get", "describe", "show", "view", "read", "status", "logs", "log", "search", "find", "inspect",
    "info", "help", "query", "explain", "diff", "plan", "preview", "validate", "lint", "test", "add", "create", "new",
    "init", "open", "edit",
];

/// A verb that destroys among the first words of a program without rules of its own, or as an option.
pub(super) fn verbs(name: &str, words: &[Word], span: &Range<usize>) -> Option<Verdict> {
    if READERS.contains(&name) || TAME.contains(&name) {
        return None;
    }
    let dry = words.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "--dry-run"
                | "--dryrun"
                | "--dry-run=client"
                | "--dry-run=server"
                | "--whatif"
                | "-WhatIf"
                | "--what-if"
                | "--check"
                | "--noop"
                | "--simulate"
                | "--preview"
        )
    });
    if dry {
        return None;
    }
    let plain = words.iter().filter(|word| !word.text.starts_with('-')).take(5);
    for word in plain {
        // What follows a verb that reads is what to read.
        if READING_VERBS.contains(&word.text.as_str()) {
            return None;
        }
        if let Some(verb) = destructive_verb(&word.text) {
            return Some(Verdict::new(
                RiskLevel::Confirm,
                "verb",
                format!("is told to {verb} something"),
                word.span.clone(),
            ));
        }
    }
    words
        .iter()
        .find(|word| {
            matches!(
                word.text.as_str(),
                "--delete"
                    | "--purge"
                    | "--destroy"
                    | "--drop"
                    | "--wipe"
                    | "--erase"
                    | "--delete-all"
                    | "--remove-all"
                    | "--purge-all"
                    | "--force-delete"
            )
        })
        .map(|word| Verdict::new(RiskLevel::Confirm, "verb", "is told to delete something", word.span.clone()))
        .or_else(|| {
            (name.starts_with("uninstall") || name.starts_with("delete-") || name.ends_with("-uninstall"))
                .then(|| Verdict::new(RiskLevel::Confirm, "verb", "is a program that removes something", span.clone()))
        })
}
