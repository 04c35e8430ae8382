//! A program that is not known here: its words tell nothing of what it does, only what it is given to work on. That is
//! asked about where it lies outside of the workspace or on another machine.

use super::Verdict;
use crate::{
    RiskContext, RiskLevel, files, names,
    paths::{Place, place_of},
    policy::{hosts_in, is_here},
    records,
    shell::{SimpleCommand, Word},
};

/// Whether something is known here of the program.
pub(crate) fn known(name: &str) -> bool {
    records::known(name) || files::known(name) || names::has("programs.cmdlets", name)
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
