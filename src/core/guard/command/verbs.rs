//! Command lines without rules of their own, judged by their verbs: `tool things delete x`, `apps:destroy`,
//! `batch-delete-image`, `--purge`.

use std::ops::Range;

use super::{
    Verdict,
    known::{READERS, TAME},
    program::cmdlet_that_reads,
};
use crate::core::guard::{RiskLevel, shell::Word, sql};

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
        "rmdir",
        "shred",
        "discard",
        "dismantle",
        "demolish",
        "eradicate",
        "annihilate",
        "unprovision",
        "deallocate",
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
        Some((end, _))
            if first.starts_with(|c: char| c.is_ascii_uppercase())
                && first.contains(|c: char| c.is_ascii_lowercase()) =>
        {
            &first[..end]
        }
        _ => first,
    };
    let find = |part: &str| VERBS.iter().copied().find(|verb| part.eq_ignore_ascii_case(verb));
    if let Some(verb) = find(first) {
        return Some(verb);
    }
    // `dropCollection`, `clearRange`
    if let Some((end, _)) = first.char_indices().skip(1).find(|(_, c)| c.is_ascii_uppercase())
        && first.starts_with(|c: char| c.is_ascii_lowercase())
        && let Some(verb) = find(&first[..end])
        && end > 2
    {
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

/// Whether it is told to show what it would do, and to do nothing.
pub(super) fn dry(words: &[Word]) -> bool {
    words.iter().take_while(|word| word.text != "--").any(|word| {
        matches!(
            word.text.as_str(),
            "--dry-run"
                | "--dryrun"
                | "--dry_run"
                | "--dry-run=true"
                | "--dry_run=true"
                | "--dry-run=client"
                | "--dry-run=server"
                | "--whatif"
                | "-WhatIf"
                | "--what-if"
                | "--check"
                | "--noop"
                | "--simulate"
                | "--preview"
                | "--preview-only"
                | "--pretend"
        )
    })
}

/// A verb that destroys among the first words of a program without rules of its own, or as an option.
pub(super) fn verbs(name: &str, words: &[Word], span: &Range<usize>) -> Option<Verdict> {
    if READERS.contains(&name) || TAME.contains(&name) || cmdlet_that_reads(name) {
        return None;
    }
    if dry(words) {
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
    // Who says that it is not for trial says that it does something.
    if let Some(word) = words.iter().find(|word| {
        word.text.split_once('=').is_some_and(|(option, value)| {
            matches!(value, "false" | "0" | "no")
                && option.trim_start_matches('-').replace('_', "-").eq_ignore_ascii_case("dry-run")
        })
    }) {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "is told to do it, not to try", word.span.clone()));
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
    if let Some(word) = insists(words).or_else(|| administers(name, words)).or_else(|| insistent_program(name, words)) {
        return Some(Verdict::new(
            RiskLevel::Confirm,
            "verb",
            "is told to undo something, all of it or without asking",
            word.span.clone(),
        ));
    }
    if !matches!(name, "pwsh" | "powershell" | "cmd")
        && let Some(word) = statement(words)
    {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "is given a statement that deletes", word.span.clone()));
    }
    words
        .iter()
        .find(|word| {
            // `--delete`, `--purge-all`, `--delete-vm`; not `--delete=false`.
            let Some(option) = word.text.strip_prefix("--") else { return false };
            let (option, value) = option.split_once('=').unwrap_or((option, ""));
            let mut parts = option.split(['-', '_']);
            let first = parts.next().unwrap_or_default();
            let destroys =
                matches!(first, "delete" | "purge" | "destroy" | "drop" | "wipe" | "erase" | "deleteall" | "prune");
            let removes = matches!(
                option,
                "remove"
                    | "overwrite-data-of-peer"
                    | "no-dry-run"
                    | "remove-all"
                    | "remove-and-delete"
                    | "remove-data"
                    | "remove-volumes"
                    | "force-delete"
                    | "force-remove"
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

/// Verbs that undo one thing or another: whether that loses something they alone don't say.
#[rustfmt::skip] // words, not code
const UNDOING: &[&str] = &[
    "reset", "clear", "clean", "cleanup", "gc", "prune", "rollback", "revert", "restore", "drain", "evict", "expire",
    "unload", "abandon", "empty", "zap", "kill", "stop", "down", "disable", "deactivate", "suspend", "shutdown",
    "detach", "disconnect", "downgrade", "demote", "reinit", "reinitialize", "recreate", "overwrite", "format",
    "unlink", "abort", "evacuate", "rewind", "shred", "zero", "zeroize", "leave", "close",
    "cancel", "kick", "ban", "yank", "replace", "unmonitor", "terminate", "remove", "delete",
];

/// `ambari-server reset`, `service kill-all`: what administers something else is told to undo, or to undo all.
fn administers<'w>(name: &str, words: &'w [Word]) -> Option<&'w Word> {
    let plain = words.iter().filter(|word| !word.text.starts_with('-')).take(3);
    let server = ["-server", "-admin", "adm", "admin", "ctl"].iter().any(|end| name.ends_with(end));
    plain.enumerate().find_map(|(at, word)| {
        let whole = server && at == 0 && matches!(word.text.as_str(), "reset" | "wipe" | "clear" | "format");
        let all = word.text.strip_suffix("-all").is_some_and(|verb| UNDOING.contains(&verb) && verb != "close");
        (whole || all).then_some(word)
    })
}

/// `clean --expunge`, `session reset --hard`, `gc --all`, `rollback --force`: verbs that undo one thing or another, told
/// to do it to all or without asking. By themselves they may be harmless (`screen clear`); so is what is only a cache.
fn insists(words: &[Word]) -> Option<&Word> {
    let undoing = |verb: &str| UNDOING.contains(&verb);
    let last = words.last().is_some_and(|word| matches!(word.text.as_str(), "force" | "all") && words.len() > 2);
    if !last && !words.iter().any(|word| earnest(&word.text)) {
        return None;
    }
    let plain: Vec<&Word> = words.iter().filter(|word| !word.text.starts_with('-')).take(3).collect();
    // `run clean` is a task, `cache clean` loses nothing.
    if plain.iter().any(|word| word.text == "run" || word.text.contains("cache")) {
        return None;
    }
    plain.into_iter().find(|word| undoing(word.text.split(['-', ':', '_']).next().unwrap_or_default()))
}

/// `jhipster-cleanup --force`: the verb is in the name of the program.
fn insistent_program<'w>(name: &str, words: &'w [Word]) -> Option<&'w Word> {
    let told = words.iter().find(|word| earnest(&word.text))?;
    let verb = name.split('-').skip(1).any(|part| UNDOING.contains(&part));
    (verb && !name.contains("cache")).then_some(told)
}

/// Whether an option says: all of it, whatever it is, without asking.
fn earnest(text: &str) -> bool {
    #[rustfmt::skip] // words, not code
    const SAID: &[&str] = &[
        "--force", "--hard", "--all", "--yes", "-y", "--assume-yes", "--auto-approve", "--no-confirm", "--noconfirm",
        "--skip-confirm", "--skip-confirmation", "--no-prompt", "--expunge", "--recursive", "--everything",
    ];
    let (option, value) = text.split_once('=').unwrap_or((text, ""));
    !matches!(value, "false" | "0" | "no")
        && (SAID.contains(&option) || option.starts_with("--yes-i-") || option.starts_with("--i-"))
}

/// `--exec 'clearrange …'`, `-e 'REMOVE TABLE person'`: a line for the program itself that begins with such a verb.
fn statement(words: &[Word]) -> Option<&Word> {
    const TAKES: &[&str] = &[
        "--exec",
        "--execute",
        "--command",
        "--eval",
        "--run",
        "--query",
        "--sql",
        "--statement",
        "-e",
        "-c",
        "-q",
        "-s",
    ];
    let said = words.iter().enumerate().filter_map(|(at, word)| match word.text.split_once('=') {
        Some((option, value)) if option.starts_with("--") && TAKES.contains(&option) => Some((option, value, word)),
        _ => {
            let option = at.checked_sub(1).and_then(|at| words.get(at))?.text.as_str();
            let runs = TAKES.contains(&option) || option == "eval";
            runs.then_some((option, word.text.as_str(), word))
        }
    });
    said.filter(|(option, text, _)| {
        let text = text.trim_start();
        let mut parts = text.split_whitespace();
        let first = parts.next().unwrap_or_default();
        let what = parts.next().unwrap_or_default();
        // `-s 'Delete this'` is the subject of a letter: there, only what is a statement counts.
        let runs = option.starts_with("--e") || matches!(*option, "--command" | "--run" | "-e" | "-c");
        let verb = destructive_verb(first).is_some() || first.to_ascii_lowercase().starts_with("clear");
        // `box.space.users:drop()`
        let method = ["drop(", "delete(", "deleteMany(", "truncate(", "remove(", "delete_all", "destroy_all"]
            .iter()
            .any(|call| text.find(call).is_some_and(|at| text[..at].ends_with(['.', ':'])));
        if method && (option.starts_with("--e") || matches!(*option, "eval" | "-e")) {
            return true;
        }
        let shouted = first.len() > 2 && first.chars().all(|c| c.is_ascii_uppercase());
        sql::looks_like(text) && sql::judge(text).is_some_and(|found| found.level >= RiskLevel::Confirm)
            || verb && !what.is_empty() && (runs || shouted)
    })
    .map(|(_, _, word)| word)
    .next()
}

/// `data clear`, `db reset`, `state reset`: what these words are told to do is done to all of it.
fn empties_store(words: &[Word]) -> Option<&Word> {
    #[rustfmt::skip] // words, not code
    const STORES: &[&str] = &[
        "data", "db", "database", "databases", "storage", "queue", "queues", "state", "cluster", "bucket", "volume",
        "volumes", "repository", "journal", "workspace", "tenant", "table", "tables", "index", "indices",
        "collection", "collections", "namespace", "topic", "topics", "stream", "backlog", "device", "trash", "vault",
        "ledger", "dataset", "datastore", "store", "stores", "keyspace", "messages", "events", "records", "inbox", "mailbox", "snapshots",
        "backups",
    ];
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
    if let Some(word) = plain.iter().find(|word| word.text == "factory-reset") {
        return Some(word);
    }
    let ends = |word: &Word| matches!(word.text.as_str(), "clear" | "reset" | "empty" | "prune" | "format");
    plain
        .windows(2)
        .find_map(|pair| {
            let [one, other] = pair else { return None };
            let store = |word: &Word| STORES.contains(&word.text.as_str());
            if ends(other) && store(one) { Some(*other) } else { (ends(one) && store(other)).then_some(*one) }
        })
        .or_else(|| match plain.as_slice() {
            // `qctl empty orders`
            [verb, _, ..] if verb.text == "empty" => Some(*verb),
            _ => None,
        })
}

/// The commands of PowerShell say by their first word what they do: `Disable-NetFirewallRule`.
fn cmdlet_that_undoes(name: &str) -> bool {
    const VERBS: &[&str] = &["clear", "disable", "uninstall", "unregister", "revoke", "reset", "dismount", "remove"];
    const TAME: &[&str] = &["clear-host", "clear-variable", "clear-history", "disable-psbreakpoint"];
    let Some((verb, noun)) = name.split_once('-') else { return false };
    VERBS.contains(&verb) && noun.len() > 2 && noun.chars().all(|c| c.is_ascii_alphanumeric()) && !TAME.contains(&name)
}
