//! Command lines without rules of their own, judged by their verbs: `tool things delete x`, `apps:destroy`,
//! `batch-delete-image`, `--purge`.

use std::ops::Range;

use super::{
    Verdict,
    flags::{SMALL, destroying},
    known::{READERS, TAME},
    program::is_mild_cmdlet,
    tells::asks_about_a_verb,
    undo::{begins_anew, is_held, is_store, undoes},
};
use crate::{RiskLevel, shell::Word, sql};

/// Verbs that destroy.
#[rustfmt::skip] // words, not code
const VERBS: &[&str] = &[
    "delete", "destroy", "purge", "remove", "rm", "terminate", "drop", "wipe", "erase", "nuke", "del", "uninstall",
    "truncate", "decommission", "deregister", "revoke", "obliterate", "teardown", "undeploy", "deprovision", "flush",
    "rmi", "unregister", "expunge", "unpublish", "undefine", "unsubscribe", "deleteall", "unjoin", "forget",
    "cleanse", "reimage", "rmdir", "shred", "discard", "dismantle", "demolish", "eradicate", "annihilate",
    "unprovision", "deallocate", "destruct", "implode", "flushall", "flushdb", "rmr", "rmtree", "deltree",
    "disband", "unrecord", "nullify", "unenroll", "disenroll", "deauthorize", "depublish", "exterminate",
    "vaporize", "zap-all", "killperson",
];

/// A verb that destroys, in the name of a subcommand: `delete`, `batch-delete-image`, `apps:destroy`.
pub(super) fn destructive_verb(word: &str) -> Option<&'static str> {
    // `vm.destroy`, `datastore.rm`: some name their things first.
    let word = match word.split_once('.') {
        Some((thing, verb)) if !thing.is_empty() && !verb.contains('.') && VERBS.contains(&verb) => verb,
        _ => word,
    };
    if word.len() > 64 || word.contains(['/', '.', '=', ' ', '@']) {
        return None;
    }
    if matches!(word, "tear-down" | "un-deploy" | "de-provision" | "un-install") {
        return Some("destroy");
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
    // `drop-zone`, `drop-rate`: things.
    if first == "drop" && word.split(['-', '_']).nth(1).is_some_and(|what| SMALL.contains(&what)) {
        return None;
    }
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
    // `removedb`, `deleteIndex`, `dropunused`; not `removed`, `deletes`, `dropbox`.
    if let Some(verb) = ["remove", "delete", "destroy", "purge", "wipe", "erase", "drop"].into_iter().find(|verb| {
        first.strip_prefix(verb).is_some_and(|what| {
            what.len() > 1
                && what.chars().all(|c| c.is_ascii_alphabetic())
                && !matches!(what, "er" | "ers" | "rs" | "ing" | "able")
                && (*verb != "drop" || is_store(what) || matches!(what, "unused" | "all" | "user" | "role" | "view"))
        })
    }) {
        return Some(verb);
    }
    if joined(first) {
        return Some("delete");
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

/// Verb and thing run together: `userdel`, `rrdelete`, `delnode`, `rmvdisk`.
fn joined(word: &str) -> bool {
    if word.len() > 24 || !word.chars().all(|c| c.is_ascii_lowercase()) {
        return false;
    }
    // `rmdir` and `rmlint` are other words; so is `undelete`.
    let held = |what: &str| is_held(what) || DEVICES.contains(&what);
    let behind = ["delete", "destroy", "purge", "erase"].iter().any(|verb| {
        word.strip_suffix(verb)
            .is_some_and(|what| what.len() > 1 && !matches!(what, "un" | "no" | "on" | "is" | "can" | "soft" | "pre"))
    });
    let thing = ["del", "rm"].iter().any(|verb| word.strip_suffix(verb).or(word.strip_prefix(verb)).is_some_and(held));
    behind || thing
}

/// Things that short verbs are run together with.
#[rustfmt::skip] // words, not code
const DEVICES: &[&str] = &[
    "disk", "disks", "vdisk", "mdisk", "mdiskgrp", "vol", "lun", "lv", "vg", "pv", "fs", "filesystem", "pool", "array",
    "raid", "ldev", "snap", "snapshot", "share", "export", "group", "site", "channel", "peer", "domain", "vm", "zone",
    "record", "role", "acl", "policy", "repo", "branch", "project", "realm", "principal", "server", "pod",
];

/// Verbs that only read.
const READING_VERBS: &[&str] = &[
    "list", "ls", "get", "describe", "show", "view", "read", "status", "logs", "log", "search", "find", "inspect",
    "info", "help", "query", "explain", "diff", "plan", "preview", "validate", "lint", "test", "add", "create", "new",
    "init", "open", "edit", "tail", "watch", "wait", "enable", "start", "fetch", "download", "outdated",
];

/// Verbs that only read and are names of things as well: `list remove dev`.
const READ_THINGS: &[&str] = &["list", "view", "log", "logs", "plan", "test", "watch"];

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
            | "revert"
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
    if READERS.contains(&name) || TAME.contains(&name) || is_mild_cmdlet(name) {
        return None;
    }
    if dry(words) || asks_about_a_verb(words) {
        return None;
    }
    if let Some(word) = given(words).map(|(_, _, word)| word).find(|word| sql_that_loses(&word.text)) {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "is given a statement that deletes", word.span.clone()));
    }
    if let Some(word) = begins_anew(name, words) {
        let why = "is told to begin anew, whatever is there";
        return Some(Verdict::new(RiskLevel::Confirm, "verb", why, word.span.clone()));
    }
    // `az --subscription delete vm list`
    let value = |at: usize| {
        CLOUDS.contains(&name)
            && at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|option| {
                matches!(
                    option.text.as_str(),
                    "--subscription" | "--query" | "-o" | "--output" | "--project" | "--format"
                )
            })
    };
    let plain = words.iter().enumerate().filter(|(at, word)| !word.text.starts_with('-') && !value(*at));
    let plain: Vec<&Word> = plain.map(|(_, word)| word).take(5).collect();
    for (at, word) in plain.iter().enumerate() {
        // What follows a verb that reads is what to read: `list x`, `describe-stacks`. The first word of a cloud's
        // client is a service, whatever its name: `aws logs delete-log-group`.
        let reads = READING_VERBS.contains(&word.text.as_str())
            || ["list-", "get-", "describe-", "show-"].iter().any(|verb| word.text.starts_with(verb));
        // `list remove dev`, `az appservice plan delete`
        let verb = plain.get(at + 1).is_some_and(|verb| VERBS.contains(&verb.text.as_str()));
        let thing = READ_THINGS.contains(&word.text.as_str())
            && verb
            && (at == 0 && plain.len() > 2 || at > 0 && word.text != "list" && CLOUDS.contains(&name));
        if reads && !thing && !(at == 0 && CLOUDS.contains(&name)) {
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
        && let Some(word) = plain.iter().copied().find(|word| undoes_in_cloud(&word.text))
    {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "takes away what runs or lies there", word.span.clone()));
    }
    if let Some((word, why)) = undoes(name, words) {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", why, word.span.clone()));
    }
    if !matches!(name, "pwsh" | "powershell" | "cmd")
        && let Some(word) = statement(words)
    {
        return Some(Verdict::new(RiskLevel::Confirm, "verb", "is given a statement that deletes", word.span.clone()));
    }
    destroying(words)
        .map(|word| Verdict::new(RiskLevel::Confirm, "verb", "is told to delete something", word.span.clone()))
        .or_else(|| {
            (cmdlet_that_undoes(name)
                || name.starts_with("uninstall")
                || name.split(['-', '_', '.']).any(|part| {
                    matches!(part, "remove" | "delete" | "purge" | "destroy" | "wipe" | "erase" | "uninstall")
                })
                || name.ends_with("-rm")
                || name.ends_with("_rm")
                || name.split(['-', '_', '.']).any(|part| part.strip_prefix("drop").is_some_and(is_held))
                || ["delete", "destroy"].iter().any(|verb| name.contains(verb)) && !name.contains("undelete")
                || matches!(name, "ipcrm" | "rmvirtualenv"))
            .then(|| Verdict::new(RiskLevel::Confirm, "verb", "is a program that removes something", span.clone()))
        })
}

/// `--exec 'clearrange …'`, `-e 'REMOVE TABLE person'`: a line for the program itself that begins with such a verb.
fn statement(words: &[Word]) -> Option<&Word> {
    given(words)
        .filter(|(option, text, _)| {
            let text = text.trim_start();
            let mut parts = text.split_whitespace();
            let first = parts.next().unwrap_or_default();
            let what = parts.next().unwrap_or_default();
            // `-s 'Delete this'` is the subject of a letter: there, only what is a statement counts.
            let runs = option.starts_with("--e") || matches!(*option, "--command" | "--run" | "-e" | "-c");
            // `manage truncate ns prod`, `destroy region --name=/orders`: an exact verb may stand behind what it is
            // for.
            let behind = option.starts_with("--e") || *option == "-e";
            let verb = destructive_verb(first).is_some()
                || first.to_ascii_lowercase().starts_with("clear")
                || behind && first.chars().all(|c| c.is_ascii_lowercase()) && VERBS.contains(&what);
            // `box.space.users:drop()`
            let method = ["drop(", "delete(", "deleteMany(", "truncate(", "remove(", "delete_all", "destroy_all"]
                .iter()
                .any(|call| text.find(call).is_some_and(|at| text[..at].ends_with(['.', ':'])));
            if method && (option.starts_with("--e") || matches!(*option, "eval" | "-e")) {
                return true;
            }
            let shouted = first.len() > 2 && first.chars().all(|c| c.is_ascii_uppercase());
            sql_that_loses(text) || verb && !what.is_empty() && (runs || shouted)
        })
        .map(|(_, _, word)| word)
        .next()
}

/// The commands of PowerShell say by their first word what they do: `Disable-NetFirewallRule`.
fn cmdlet_that_undoes(name: &str) -> bool {
    const VERBS: &[&str] = &["clear", "disable", "uninstall", "unregister", "revoke", "reset", "dismount", "remove"];
    const TAME: &[&str] = &["clear-host", "clear-variable", "clear-history", "disable-psbreakpoint"];
    let Some((verb, noun)) = name.split_once('-') else { return false };
    VERBS.contains(&verb) && noun.len() > 2 && noun.chars().all(|c| c.is_ascii_alphanumeric()) && !TAME.contains(&name)
}

/// The options that hold statements, and what they hold.
fn given(words: &[Word]) -> impl Iterator<Item = (&str, &str, &Word)> {
    const TAKES: &[&str] = &[
        "--exec",
        "--execute",
        "--command",
        "--eval",
        "--run",
        "--query",
        "--sql",
        "--statement",
        "--query-string",
        "--sql-query",
        "-Q",
        "-e",
        "-c",
        "-q",
        "-s",
    ];
    words.iter().enumerate().filter_map(|(at, word)| match word.text.split_once('=') {
        Some((option, value)) if option.starts_with("--") && TAKES.contains(&option) => Some((option, value, word)),
        _ => {
            let option = at.checked_sub(1).and_then(|at| words.get(at))?.text.as_str();
            let runs = TAKES.contains(&option) || option == "eval";
            runs.then_some((option, word.text.as_str(), word))
        }
    })
}

/// Whether a text is SQL, in any of its statements, and one of them loses something.
fn sql_that_loses(text: &str) -> bool {
    let with = text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("with "));
    let deletes = || text.to_ascii_lowercase().contains("delete from");
    (text.split(';').any(sql::looks_like) || with && deletes())
        && sql::judge(text).is_some_and(|found| found.level >= RiskLevel::Confirm)
}
