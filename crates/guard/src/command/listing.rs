//! The commands that a command starts by way of code, of a client's own commands or of another program's name: what
//! rules about commands must meet wherever it hides. They are listed while the command is judged, so that both see the
//! same.

use std::cell::RefCell;

use super::{Ground, Verdict, act_verdict, judge};
use crate::{
    code::{self, Language},
    paths::RiskContext,
    shell::{self, SimpleCommand, Word},
};

/// What was found inside of a command.
#[derive(Debug, Default)]
pub(crate) struct Started {
    /// The commands that it starts.
    pub(crate) inside: Vec<SimpleCommand>,
    /// The command itself, by the name of the program that is meant: `alembic` for `python -m alembic`.
    pub(crate) renamed: Vec<SimpleCommand>,
    /// What is said of the command itself.
    pub(crate) verdict: Option<Verdict>,
    /// Something inside could not be read, or is more than is listed.
    pub(crate) unread: bool,
}

/// What a command starts.
pub(crate) fn started(command: &SimpleCommand, context: &RiskContext) -> Started {
    let found = RefCell::default();
    let verdict = judge(command, &Ground { found: Some(&found), ..Ground::new(context) });
    Started { verdict: Some(verdict), ..of_place(found.into_inner(), command) }
}

/// What a piece of code starts.
pub(crate) fn started_by_code(text: &str, language: Language, context: &RiskContext) -> Started {
    let found = RefCell::default();
    let ground = Ground { found: Some(&found), ..Ground::new(context) };
    let span = 0..text.len();
    let command = SimpleCommand::nothing(span.clone());
    let word = Word { text: String::new(), exact: true, span, ..Word::default() };
    for act in code::acts(text, language) {
        act_verdict(&act, &word, &command, &ground);
    }
    of_place(found.into_inner(), &command)
}

/// What is found inside stands where the command stands, and runs there unless it goes elsewhere.
fn of_place(mut found: Started, command: &SimpleCommand) -> Started {
    for inner in found.inside.iter_mut().chain(&mut found.renamed) {
        inner.span = command.span.clone();
        if inner.cwd.is_none() {
            inner.cwd.clone_from(&command.cwd);
        }
    }
    found
}

pub(super) fn inside(command: &SimpleCommand, ground: &Ground<'_>) {
    list(ground, |found| &mut found.inside, command);
}

pub(super) fn renamed(command: &SimpleCommand, ground: &Ground<'_>) {
    list(ground, |found| &mut found.renamed, command);
}

pub(super) fn unread(ground: &Ground<'_>) {
    if let Some(found) = ground.found {
        found.borrow_mut().unread = true;
    }
}

fn list(ground: &Ground<'_>, into: impl Fn(&mut Started) -> &mut Vec<SimpleCommand>, command: &SimpleCommand) {
    let Some(found) = ground.found else { return };
    let mut found = found.borrow_mut();
    if found.inside.len() + found.renamed.len() < shell::MAX_COMMANDS {
        into(&mut found).push(command.clone());
    } else {
        found.unread = true;
    }
}
