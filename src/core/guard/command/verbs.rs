//! Command lines without rules of their own, judged by their verbs: `tool things delete x`, `apps:destroy`,
//! `batch-delete-image`, `--purge`.

use std::ops::Range;

use super::{
    Verdict,
    known::{READERS, TAME},
    program::cmdlet_that_reads,
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
        "unpublish",
        "undefine",
        "unsubscribe",
        "deleteall",
        "unjoin",
        "forget",
        "cleanse",
        "reimage",
    ];
    // `vm.destroy`, `datastore.rm`: some name their things first.
    let word = match word.split_once('.') {
        Some((thing, verb)) if !thing.is_empty() && !verb.contains('.') && VERBS.contains(&verb) => verb,
        _ => word,
    };
    if word.len() > 64 || word.contains(['/', '.', '=', ' ', '@']) {
        return None;
    }
    let mut parts = word.split(['-', ':', '_']);
    let first = parts.next().unwrap_or_default();
    // `DeleteInstance`, as calls of clouds are named.
    let first = match first.char_indices().skip(1).find(|(_, c)| c.is_ascii_uppercase()) {
        Some((end, _)) if first.starts_with(|c: char| c.is_ascii_uppercase()) => &first[..end],
        _ => first,
    };
    let find = |part: &str| VERBS.iter().copied().find(|verb| part.eq_ignore_ascii_case(verb));
    if let Some(verb) = find(first) {
        return Some(verb);
    }
    // `removedb`, `deleteIndex`; not `removed`, `deletes`.
    if let Some(verb) = ["remove", "delete", "destroy"].into_iter().find(|verb| {
        first.strip_prefix(verb).is_some_and(|what| {
            what.len() > 1
                && what.chars().all(|c| c.is_ascii_alphabetic())
                && !matches!(what, "er" | "ers" | "rs" | "ing" | "able")
        })
    }) {
        return Some(verb);
    }
    // `force-delete`, `batch-delete-image`, `admin-delete-user`, `records-delete`, `schedule-key-deletion`
    if matches!(
        first,
        "no" | "not"
            | "dont"
            | "keep"
            | "skip"
            | "un"
            | "undo"
            | "on"
            | "after"
            | "before"
            | "pre"
            | "post"
            | "can"
            | "is"
    ) || READING_VERBS.contains(&first)
    {
        return None;
    }
    let mut last = "";
    for part in parts {
        // `rm` and `del` in the middle are other words: `npm-rm-cache`, `delta`.
        if let Some(verb) = find(part)
            && (part.len() > 3 || word.contains(':'))
        {
            return Some(verb);
        }
        last = part;
    }
    // `schedule-key-deletion`, `lr-del`, `volume-rm`
    matches!(last, "deletion" | "del" | "rm").then_some("delete")
}

/// Verbs that only read.
const READING_VERBS: &[&str] = &[
    "list", "ls", "get", "describe", "show", "view", "read", "status", "logs", "log", "search", "find", "inspect",
    "info", "help", "query", "explain", "diff", "plan", "preview", "validate", "lint", "test", "add", "create", "new",
    "init", "open", "edit", "tail", "watch", "wait",
];

/// Clients whose first word names a service.
const CLOUDS: &[&str] = &[
    "aws",
    "gcloud",
    "az",
    "oci",
    "ibmcloud",
    "aliyun",
    "tccli",
    "yc",
    "doctl",
    "scw",
    "exo",
    "hcloud",
    "linode-cli",
    "vultr-cli",
    "civo",
    "upctl",
    "upcloud",
    "openstack",
    "fly",
    "flyctl",
    "heroku",
    "hetzner",
    "ionosctl",
    "ovhcloud",
    "katapult",
    "equinix",
    "metal",
];

/// What is done to a machine or a store of a cloud so that what ran or lay there is gone or out of reach.
fn undoes_in_cloud(word: &str) -> bool {
    matches!(
        word.split(['-', ':', '_']).next().unwrap_or_default(),
        "rebuild"
            | "reinstall"
            | "detach"
            | "deactivate"
            | "suspend"
            | "poweroff"
            | "restore"
            | "failover"
            | "rollback"
    )
}

/// `--status Inactive`, `Status=Suspended`: something of a cloud is switched off.
fn switches_off(words: &[Word]) -> Option<&Word> {
    let off =
        |text: &str| matches!(text, "Inactive" | "Suspended" | "Disabled" | "INACTIVE" | "SUSPENDED" | "DISABLED");
    words.iter().enumerate().find_map(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map_or("", |word| word.text.as_str());
        let said = word.text.split(',').any(|part| {
            part.split_once('=')
                .is_some_and(|(name, value)| matches!(name, "Status" | "--status" | "State" | "--state") && off(value))
        });
        (said || matches!(before, "--status" | "--state") && off(&word.text)).then_some(word)
    })
}

/// `bcachefs format /dev/sdb`: whatever the program, a device is named behind a verb that empties it.
fn formats_device(words: &[Word]) -> Option<&Word> {
    let plain: Vec<&Word> = words.iter().filter(|word| !word.text.starts_with('-')).collect();
    let (verb, rest) = plain.split_first()?;
    let device = |word: &&&Word| {
        word.text.starts_with("/dev/") && !matches!(word.text.as_str(), "/dev/null" | "/dev/stdin" | "/dev/stdout")
    };
    matches!(verb.text.as_str(), "format" | "mkfs" | "wipe" | "erase" | "zero" | "init")
        .then(|| rest.iter().find(device).copied())
        .flatten()
}

/// A verb that destroys among the first words of a program without rules of its own, or as an option.
pub(super) fn verbs(name: &str, words: &[Word], span: &Range<usize>) -> Option<Verdict> {
    if READERS.contains(&name) || TAME.contains(&name) || cmdlet_that_reads(name) {
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
    for (at, word) in plain.enumerate() {
        // What follows a verb that reads is what to read: `list x`, `describe-stacks`. The first word of a cloud's
        // client is a service, whatever its name: `aws logs delete-log-group`.
        let reads = READING_VERBS.contains(&word.text.as_str())
            || ["list-", "get-", "describe-", "show-"].iter().any(|verb| word.text.starts_with(verb));
        if reads && !(at == 0 && CLOUDS.contains(&name)) {
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
    if let Some(word) = formats_device(words) {
        return Some(Verdict::new(RiskLevel::Dangerous, "disk.format", "formats a disk", word.span.clone()));
    }
    if CLOUDS.contains(&name)
        && let Some(word) = switches_off(words)
    {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "is told to switch something off", word.span.clone()));
    }
    // Amazon's own rules name its words, of which some sound alike and only make something new.
    if CLOUDS.contains(&name)
        && name != "aws"
        && let Some(word) =
            words.iter().filter(|word| !word.text.starts_with('-')).take(4).find(|word| undoes_in_cloud(&word.text))
    {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "takes away what runs or lies there", word.span.clone()));
    }
    if let Some(word) = empties_store(words) {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "is told to empty a store", word.span.clone()));
    }
    words
        .iter()
        .find(|word| {
            // `--delete`, `--purge-all`, `--delete-vm`; not `--delete=false`.
            let Some(option) = word.text.strip_prefix("--") else { return false };
            let (option, value) = option.split_once('=').unwrap_or((option, ""));
            let mut parts = option.split(['-', '_']);
            let first = parts.next().unwrap_or_default();
            let destroys = matches!(first, "delete" | "purge" | "destroy" | "drop" | "wipe" | "erase" | "deleteall");
            let removes = matches!(
                option,
                "remove-all" | "remove-and-delete" | "remove-data" | "remove-volumes" | "force-delete" | "force-remove"
            );
            (destroys || removes) && !matches!(value, "false" | "0" | "no" | "never") && !option.ends_with("-delimiter")
        })
        .map(|word| Verdict::new(RiskLevel::Confirm, "verb", "is told to delete something", word.span.clone()))
        .or_else(|| {
            (cmdlet_that_undoes(name)
                || name.starts_with("uninstall")
                || name.split(['-', '_', '.']).any(|part| {
                    matches!(part, "remove" | "delete" | "purge" | "destroy" | "wipe" | "erase" | "uninstall")
                })
                || name.ends_with("-rm")
                || matches!(name, "ipcrm" | "rmvirtualenv"))
            .then(|| Verdict::new(RiskLevel::Confirm, "verb", "is a program that removes something", span.clone()))
        })
}

/// `data clear`, `db reset`, `state reset`: what these words are told to do is done to all of it.
fn empties_store(words: &[Word]) -> Option<&Word> {
    const STORES: &[&str] =
        &["data", "db", "database", "storage", "queue", "queues", "state", "cluster", "bucket", "volume", "volumes"];
    let plain: Vec<&Word> = words.iter().filter(|word| !word.text.starts_with('-')).take(4).collect();
    // `clear-backlog`, `reset-state`
    if let Some(word) = plain.iter().find(|word| {
        let mut parts = word.text.split('-');
        matches!(parts.next(), Some("clear" | "reset" | "empty"))
            && parts
                .next()
                .is_some_and(|part| STORES.contains(&part) || matches!(part, "backlog" | "messages" | "history"))
    }) {
        return Some(word);
    }
    plain.windows(2).find_map(|pair| {
        let [store, verb] = pair else { return None };
        let ends = matches!(verb.text.as_str(), "clear" | "reset" | "empty" | "prune");
        (ends && STORES.contains(&store.text.as_str())).then_some(*verb)
    })
}

/// The commands of PowerShell say by their first word what they do: `Disable-NetFirewallRule`.
fn cmdlet_that_undoes(name: &str) -> bool {
    const VERBS: &[&str] = &["clear", "disable", "uninstall", "unregister", "revoke", "reset", "dismount", "remove"];
    const TAME: &[&str] = &["clear-host", "clear-variable", "clear-history", "disable-psbreakpoint"];
    let Some((verb, noun)) = name.split_once('-') else { return false };
    VERBS.contains(&verb) && noun.len() > 2 && noun.chars().all(|c| c.is_ascii_alphanumeric()) && !TAME.contains(&name)
}
