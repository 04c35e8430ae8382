//! Tasks that a project gives names to: `make db-reset`, `npm run nuke`, `rake db:drop`, scripts of SQL. What they do
//! is not known here; one that is called after destroying something is asked about.

use super::{Verdict, special::RUINS};
use crate::{
    RiskLevel, records,
    shell::{Options, Word, basename},
};

/// A task that its name says destroys something.
pub(super) fn task(name: &str, words: &[Word]) -> Option<Verdict> {
    let options = Options::read(words, records::valued(name));
    let mut rest = options.rest.iter().copied();
    let first = options.rest.first().map_or("", |word| word.text.as_str());
    // Taskwarrior has this name, too: there, it is what a list of things to do says.
    if name == "task" && matches!(first, "add" | "log" | "annotate" | "append" | "prepend") {
        return None;
    }
    let tasks: Vec<&Word> = match name {
        "make" | "gmake" | "just" | "task" | "mage" | "rake" | "invoke" | "inv" | "nox" | "tox" | "ant" | "gulp"
        | "grunt" | "phing" | "mask" | "fab" => rest.collect(),
        "npm" | "pnpm" | "bun" | "composer" | "deno" | "hatch" | "pdm" | "mise" | "moon" | "turbo"
            if matches!(first, "run" | "run-script" | "task") =>
        {
            rest.skip(1).take(1).collect()
        }
        "yarn" | "pnpm" | "bun" => rest.find(|word| word.text != "run").into_iter().collect(),
        "nx" if first == "run" => rest.skip(1).take(1).collect(),
        _ => return None,
    };
    let dry = options.has('n', "--dry-run") && matches!(name, "make" | "gmake" | "just" | "task" | "rake");
    let shows = ["--just-print", "--show", "--list", "--summary"].iter().any(|option| options.word(option))
        || options.has('\0', "--show");
    if dry || shows {
        return None;
    }
    let made = matches!(name, "make" | "gmake" | "just" | "task" | "mage");
    let task = tasks.into_iter().find(|word| ruinous_task(&word.text) || made && drops_first(&word.text))?;
    Some(Verdict::new(RiskLevel::Confirm, "verb", "is told to destroy something", task.span.clone()))
}

/// `destroy`, `nuke-all`, `db:drop`, `clean-db`, `reset-prod`; not `clean`, `dist-clean`, `test:delete`.
fn ruinous_task(task: &str) -> bool {
    const ALWAYS: &[&str] = &["nuke", "purge", "destroy", "wipe", "teardown", "obliterate", "dropdb", "undeploy"];
    const WITH: &[&str] =
        &["drop", "delete", "remove", "rm", "reset", "clean", "clear", "truncate", "flush", "erase", "prune"];
    const WHAT: &[&str] = &[
        "db",
        "database",
        "databases",
        "data",
        "prod",
        "production",
        "staging",
        "cluster",
        "infra",
        "infrastructure",
        "state",
        "volumes",
        "volume",
        "tables",
        "schema",
        "prisma",
        "migrations",
        "everything",
        "bucket",
        "buckets",
        "env",
        "environment",
        "stack",
        "storage",
        "backups",
        "users",
        "tenant",
        "namespace",
        "secrets",
        "vm",
        "vms",
    ];
    const READS: &[&str] = &[
        "test",
        "tests",
        "check",
        "lint",
        "list",
        "show",
        "plan",
        "docs",
        "help",
        "build",
        "dry",
        "spec",
        "typecheck",
    ];
    if task.len() > 64 || task.contains(['/', '=', ' ']) {
        return false;
    }
    let task = task.to_ascii_lowercase();
    let parts: Vec<&str> = task.split(['-', ':', '_', '.']).collect();
    let any = |list: &[&str]| parts.iter().any(|part| list.contains(part));
    if any(READS) {
        return false;
    }
    any(ALWAYS) || any(WITH) && any(WHAT)
}

/// `drop-x`, `delete-x`.
fn drops_first(task: &str) -> bool {
    ["drop-", "delete-"].iter().any(|start| task.starts_with(start))
}

/// `drop_all.sql`, `teardown.sql`, `01-reset.sql`.
pub(super) fn ruinous_script(path: &str) -> bool {
    let name = basename(path.trim_start_matches('@'));
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    matches!(ending, "sql" | "cql" | "cypher" | "hql" | "psql" | "ddl")
        && stem.to_ascii_lowercase().split(['-', '_', '.']).any(|part| {
            RUINS.contains(&part)
                || matches!(
                    part,
                    "drop" | "restore" | "reset" | "truncate" | "cleanup" | "dropall" | "rollback" | "down"
                )
        })
}
