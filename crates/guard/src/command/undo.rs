//! Verbs that undo, given to a program without rules of its own: `reset`, `rollback`, `disable`, `gc`, `stop`. By
//! itself such a word says little; where it stands, what it is told to do it to, and how earnestly say the rest.

use super::flags::{earnest, long_option, off};
use crate::shell::Word;

/// Lose what was there wherever they are a subcommand: `repo gc`, `migrate down`, `kv reset`.
#[rustfmt::skip] // words, not code
const LOUD: &[&str] = &[
    "reset", "rollback", "revert", "downgrade", "backwards", "overwrite", "evict", "prune", "gc", "zap", "abandon",
    "recreate", "reinit", "reinitialize", "expire", "abort", "evacuate", "zeroize", "empty", "drain", "invalidate",
];

/// The same, where it is said what they are done to: `secrets disable kv`, `kill shop`; not `deactivate`.
const AIMED: &[&str] = &["kill", "disable", "deactivate", "kick", "ban", "zero", "demote"];

/// The same, between a kind of thing and its name: `zone clear example.org`; not `screen clear`, `clear all`.
const TO_A_THING: &[&str] = &["clear", "unlink", "yank", "suspend", "shutdown", "reject"];

/// Undo one thing or another, and lose it where they are told to do it to all or without asking.
#[rustfmt::skip] // words, not code
const MILD: &[&str] = &[
    "clear", "clean", "cleanup", "restore", "detach", "unload", "stop", "down", "suspend", "shutdown", "disconnect", "format",
    "unlink", "shred", "rewind", "leave", "close", "cancel", "yank", "replace", "unmonitor", "terminate", "remove",
    "delete", "trash", "dismiss", "release", "reject", "unmount",
];

/// What is gone for good, or no longer runs, once it is cancelled.
#[rustfmt::skip] // words, not code
const CONTRACTS: &[&str] = &[
    "vs", "vm", "instance", "server", "subscription", "order", "hardware", "volume", "device", "reservation",
    "account", "contract", "machine", "host",
];

/// What a screen or a program keeps for itself: undone, it comes back as it was.
#[rustfmt::skip] // words, not code
const OWN: &[&str] = &[
    "cache", "caches", "telemetry", "analytics", "color", "colors", "screen", "terminal", "view", "zoom", "window",
    "layout", "timer", "timers", "clock", "cursor", "theme", "filter", "filters", "selection", "prompt", "counter",
    "counters", "stats", "statistics", "metrics", "highlight", "notification", "notifications", "completion",
    "autostart", "sound", "audio", "brightness", "keyboard", "display", "font", "breakpoint", "breakpoints", "style",
    "password", "autocomplete", "autoupdate", "animation", "animations", "reminder", "reminders", "extension",
    "extensions", "plugin", "plugins", "addon", "addons", "gamma", "temperature",
];

/// Programs that set a screen and its keys.
const SCREENS: &[&str] = &["tput", "stty", "xset", "setterm", "xrandr", "tset", "bindkey"];

#[rustfmt::skip] // words, not code
const STORES: &[&str] = &[
    "data", "db", "database", "databases", "storage", "queue", "queues", "state", "cluster", "bucket", "volume",
    "volumes", "repository", "journal", "workspace", "tenant", "table", "tables", "index", "indices",
    "collection", "collections", "namespace", "topic", "topics", "stream", "backlog", "device", "trash", "vault",
    "ledger", "dataset", "datastore", "store", "stores", "keyspace", "messages", "events", "records", "inbox", "mailbox",
    "snapshots", "backups", "schema", "history",
];

/// What else is not made again: who may do what.
#[rustfmt::skip] // words, not code
const RIGHTS: &[&str] = &[
    "ca", "cert", "certs", "certificate", "certificates", "keys", "node", "nodes", "user", "users", "account",
    "accounts", "host", "hosts", "policies", "rules", "secrets", "tokens",
];

/// Whether a word names what data lies in.
pub(super) fn is_store(word: &str) -> bool {
    STORES.contains(&word)
}

/// Whether a word names what is not made again: what data lies in, and who may do what.
pub(super) fn is_held(word: &str) -> bool {
    is_store(word) || RIGHTS.contains(&word)
}

/// The word that undoes something, and what it is told.
pub(super) fn undoes<'w>(name: &str, words: &'w [Word]) -> Option<(&'w Word, &'static str)> {
    let plain: Vec<&Word> = words.iter().filter(|word| !word.text.starts_with('-')).take(4).collect();
    let line = Line { name, words, plain };
    line.empties_store()
        .map(|word| (word, "is told to empty a store"))
        .or_else(|| line.insists().map(|word| (word, "is told to undo something, all of it or without asking")))
        .or_else(|| line.says_so().map(|word| (word, "is told to undo something")))
        .or_else(|| line.cancels().map(|word| (word, "is told to give something up")))
        .or_else(|| line.leaves_nothing().map(|word| (word, "is told to leave nothing, or nothing of before")))
        .or_else(|| line.writes_over().map(|word| (word, "is told to write over what is there")))
}

/// A command line, and its first words that are no options.
struct Line<'n, 'w> {
    name: &'n str,
    words: &'w [Word],
    plain: Vec<&'w Word>,
}

impl<'w> Line<'_, 'w> {
    /// `data clear`, `db reset`, `clear-backlog`: what these words are told to do is done to all of it.
    fn empties_store(&self) -> Option<&'w Word> {
        let ends = |word: &Word| {
            matches!(
                word.text.as_str(),
                "clear" | "reset" | "empty" | "prune" | "format" | "drain" | "clean" | "cleanup"
            )
        };
        let compound = self.plain.iter().find(|word| {
            let mut parts = word.text.split('-');
            word.text == "factory-reset"
                || matches!(parts.next(), Some("clear" | "reset" | "empty")) && parts.next().is_some_and(is_store)
        });
        compound.copied().or_else(|| {
            self.plain.windows(2).find_map(|pair| {
                let [one, other] = pair else { return None };
                let format = one.text == "format" || other.text == "format";
                let store = |word: &Word| is_store(&word.text) || !format && RIGHTS.contains(&word.text.as_str());
                if ends(other) && store(one) { Some(*other) } else { (ends(one) && store(other)).then_some(*one) }
            })
        })
    }

    /// `clean --expunge`, `session stop --all`, `service kill-all`, `foo-cleanup --force`, `ambari-server reset`.
    fn insists(&self) -> Option<&'w Word> {
        let server = ["-server", "-admin", "adm", "admin", "ctl"].iter().any(|end| self.name.ends_with(end));
        // `container force-stop db1`
        let by_force = |word: &&&Word| word.text.strip_prefix("force-").is_some_and(undoing);
        if let Some(word) = self.plain.iter().take(3).find(by_force) {
            return Some(word);
        }
        let first = self
            .plain
            .first()
            .copied()
            .filter(|word| server && matches!(word.text.as_str(), "reset" | "wipe" | "clear" | "format"));
        let whole = || {
            let all =
                |word: &&&Word| word.text.strip_suffix("-all").is_some_and(|verb| undoing(verb) && verb != "close");
            self.plain.iter().take(3).find(all).copied()
        };
        if let Some(word) = first.or_else(whole) {
            return Some(word);
        }
        // `run clean` is a task, `cache clean` loses nothing.
        let subcommands = self.plain.get(..3).unwrap_or(&self.plain);
        if subcommands.iter().any(|word| word.text == "run" || word.text.contains("cache")) {
            return None;
        }
        let told = self.words.iter().find(|word| earnest(&word.text));
        let last = self.words.last().filter(|word| {
            self.words.len() > 1 && matches!(word.text.as_str(), "force" | "all") || matches!(word.text.as_str(), "-f")
        });
        told.or(last)?;
        let verb = subcommands.iter().find(|word| {
            undoing(first_part(&word.text)) || word.text.split_once(':').is_some_and(|(_, verb)| undoing(verb))
        });
        // The verb may be in the name of the program.
        let named = self.name.split('-').skip(1).any(undoing) && !self.name.contains("cache");
        verb.copied().or_else(|| told.filter(|_| named))
    }

    /// `repo gc`, `secrets disable kv`, `migrate … down`.
    fn says_so(&self) -> Option<&'w Word> {
        if SCREENS.contains(&self.name)
            || self.name.split('-').any(|part| OWN.contains(&part))
            || self
                .plain
                .iter()
                .any(|word| word.text == "run" || word.text.split(['-', '_', ':']).any(|part| OWN.contains(&part)))
        {
            return None;
        }
        let said = self.plain.iter().take(3).enumerate().find(|(at, word)| {
            let text = word.text.as_str();
            let told = self.plain.len() > at + 1;
            // `kill-backends`, `disable-user`; not `kill-server`, which a client starts again.
            let compound = *at < 2
                && text.split_once('-').is_some_and(|(verb, what)| {
                    (LOUD.contains(&verb) || AIMED.contains(&verb)) && !matches!(what, "server" | "on-error")
                });
            LOUD.contains(&text.split([':', '_']).next_back().unwrap_or_default())
                || AIMED.contains(&text) && told
                || TO_A_THING.contains(&text) && told && *at > 0
                // `failed clear`, `nvme clear`: all of it.
                || text == "clear" && !told && *at > 0
                || compound
        });
        if let Some((_, word)) = said {
            return Some(word);
        }
        // Migrations that go back lose what was stored in between.
        let migrates =
            self.plain.iter().any(|word| matches!(first_part(&word.text), "migrate" | "migration" | "migrations"));
        migrates
            .then(|| {
                self.words.iter().find(|word| {
                    matches!(word.text.as_str(), "down" | "undo" | "fresh" | "refresh" | "redo")
                        || long_option(&word.text).is_some_and(|(option, value)| option == "down" && !off(value))
                })
            })
            .flatten()
    }

    /// `vs cancel 123`, `cancel instance 7`; not `run cancel`, `cancel-build`.
    fn cancels(&self) -> Option<&'w Word> {
        self.plain.windows(2).find_map(|pair| {
            let [one, other] = pair else { return None };
            let thing = |word: &Word| {
                let text = word.text.as_str();
                CONTRACTS.contains(&text) || text.strip_suffix('s').is_some_and(|one| CONTRACTS.contains(&one))
            };
            match (one.text.as_str(), other.text.as_str()) {
                ("cancel", _) if thing(other) => Some(*one),
                (_, "cancel") if thing(one) => Some(*other),
                _ => None,
            }
        })
    }

    /// `cleanup --keep 0`, `scale web=0`, `--older-than 0s`: nothing is left.
    fn leaves_nothing(&self) -> Option<&'w Word> {
        let verb = self.plain.iter().take(3).any(|word| {
            let verb = first_part(&word.text);
            undoing(verb)
                || matches!(
                    verb,
                    "trim" | "compact" | "rotate" | "retain" | "scale" | "resize" | "retention" | "migrate"
                )
        });
        let nothing = |value: &str| matches!(value, "0" | "0s" | "0m" | "0h" | "0d" | "0GB" | "0B" | "0%");
        verb.then(|| {
            self.words.iter().enumerate().find_map(|(at, word)| {
                let (_, value) = word.text.split_once('=').unwrap_or_default();
                let option = at.checked_sub(1).and_then(|at| self.words.get(at)).is_some_and(|before| {
                    long_option(&before.text).is_some_and(|(name, _)| {
                        !matches!(name, "timeout" | "wait" | "delay" | "verbosity" | "retries" | "grace-period")
                    })
                });
                (nothing(value) && !word.text.starts_with("--timeout") || option && nothing(&word.text)).then_some(word)
            })
        })
        .flatten()
    }

    /// `--overwrite`, `--discard-existing`, `--no-preserve-root`; `load --replace dump`, `import --clean`.
    fn writes_over(&self) -> Option<&'w Word> {
        let fills = self.plain.iter().take(3).any(|word| {
            matches!(
                first_part(&word.text),
                "load"
                    | "import"
                    | "restore"
                    | "ingest"
                    | "sync"
                    | "push"
                    | "apply"
                    | "migrate"
                    | "seed"
                    | "mirror"
                    | "deploy"
                    | "publish"
            )
        });
        self.words.iter().find(|word| {
            let Some((option, value)) = long_option(&word.text) else { return false };
            let mut parts = option.split(['-', '_']);
            let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let over = match first {
                "force" if second == "overwrite" => true,
                "overwrite" | "discard" => {
                    matches!(
                        second,
                        "" | "existing" | "changes" | "all" | "local" | "old" | "original" | "output" | "files"
                    ) || is_store(second)
                }
                "no" => matches!(second, "preserve" | "dry"),
                "replace" => fills || second == "input",
                "clean" | "truncate" | "recreate" | "reset" => fills,
                "doit" => true,
                _ => false,
            };
            over && !off(value)
        })
    }
}

fn first_part(word: &str) -> &str {
    word.split(['-', ':', '_']).next().unwrap_or_default()
}

/// Whether a word is a verb that undoes something or other.
pub(super) fn undoing(verb: &str) -> bool {
    [LOUD, AIMED, MILD].iter().any(|verbs| verbs.contains(&verb))
}

/// `stolonctl init -y`, `appctl init --force`: a cluster or its data, set up again whatever is there.
pub(super) fn begins_anew<'w>(name: &str, words: &'w [Word]) -> Option<&'w Word> {
    let administers = name.ends_with("ctl") || name.ends_with("adm") || name.ends_with("admin");
    let word = words
        .iter()
        .find(|word| !word.text.starts_with('-'))
        .filter(|word| matches!(word.text.as_str(), "init" | "initialize" | "bootstrap" | "new" | "scaffold"))?;
    let told = words.iter().any(|word| {
        matches!(word.text.as_str(), "--force" | "--overwrite" | "--clobber")
            || administers && matches!(word.text.as_str(), "-y" | "--yes" | "-f")
    });
    told.then_some(word)
}
