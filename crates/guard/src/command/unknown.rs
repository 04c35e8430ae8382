//! A program that is not known here: its words tell nothing of what it does, only what it is given to work on. That is
//! asked about where it lies outside of the workspace or on another machine.

use super::{Ground, Verdict, nested::nested};
use crate::{
    RiskContext, RiskLevel,
    files::{self, keep},
    names,
    paths::{Place, place_of},
    policy::{hosts_in, is_here},
    records,
    shell::{SimpleCommand, Word},
};

/// Whether something is known here of the program.
pub(crate) fn known(name: &str) -> bool {
    !records::is_own(name) && (records::known(name) || files::known(name) || names::has("programs.cmdlets", name))
}

/// What an unknown program is given that makes it worse than a program that may change files.
pub(super) fn given(command: &SimpleCommand, words: &[Word], context: &RiskContext) -> Option<Verdict> {
    words.iter().find_map(|word| {
        let text = value(&word.text);
        let span = word.span.clone();
        if text.contains("://") {
            let mut hosts = Vec::new();
            hosts_in(text, &mut hosts);
            let host = hosts.into_iter().find(|host| !is_here(host))?;
            let why = format!("is not known here, and is given an address of {host:.80}");
            return Some(Verdict::new(RiskLevel::Confirm, "shell.run.address", why, span));
        }
        if command.remote || !text.contains(['/', '~']) && text != ".." {
            return None;
        }
        let path = Word { text: text.to_owned(), ..word.clone() };
        let place = place_of(&path, command.cwd.as_ref(), context);
        let outside = match place {
            Place::Nowhere | Place::Temporary | Place::Workspace | Place::WholeWorkspace | Place::Unknown => false,
            Place::Elsewhere => context.workspace.is_some(),
            Place::Home | Place::Private | Place::WholeHome | Place::System | Place::Root | Place::Device => true,
        };
        outside.then(|| {
            let why = format!("is not known here, and is given {}", place.words());
            Verdict::new(RiskLevel::Confirm, "shell.run.outside", why, span)
        })
    })
}

/// What an unknown program is told to run by an option that is called after that, where it can be read as a command.
pub(super) fn run_by_option(command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Option<Verdict> {
    let mut worst = None;
    for (at, word) in words.iter().enumerate() {
        let (option, joined) = word.text.split_once('=').map_or((word.text.as_str(), None), |(n, v)| (n, Some(v)));
        let called = |name: &String| option.starts_with('-') && option.ends_with(name.as_str());
        if !names::list("programs.running_options").iter().any(called) {
            continue;
        }
        let Some(program) = joined.or_else(|| words.get(at + 1).map(|word| word.text.as_str())) else { continue };
        let mut inner = None;
        nested(program, word, command, ground, &mut inner);
        // What is no command was a filter of another kind.
        let reads = |verdict: &Verdict| !matches!(verdict.rule, "shell.unparsed" | "shell.program.unknown");
        if let Some(verdict) = inner.filter(|verdict| verdict.level >= RiskLevel::Confirm && reads(verdict)) {
            keep(&mut worst, verdict);
        }
    }
    worst
}

/// The value of an option that holds one: `--file=/x`, `-f/x`, `@/x`.
fn value(text: &str) -> &str {
    let text = if text.starts_with('-') {
        let joined = || text.find(['/', '~']).map(|at| &text[at..]);
        text.split_once('=').map(|(_, value)| value).or_else(joined).unwrap_or_default()
    } else {
        text
    };
    text.trim_start_matches('@')
}
