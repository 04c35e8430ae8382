//! One simple command judged: its redirections, the rules for its program, the code or SQL that it is given.
//! The strictest of what is found holds; being forced or run as another user makes it stricter still.

mod container;
mod environment;
mod git;
mod interpreter;
mod lines;
mod listing;
mod nested;
mod program;
mod reads;
mod redirect;
mod runner;
mod script;
mod special;
mod tells;
mod told;
mod unknown;

use std::{cell::RefCell, ops::Range};

use super::{
    RiskLevel,
    files::keep,
    paths::RiskContext,
    shell::{SimpleCommand, Via},
    shown::shown,
};

pub(super) use environment::{is_harmless_setting, lasts};
pub(super) use listing::{Started, started, started_by_code};
pub(super) use nested::act_verdict;
pub(super) use reads::{Index, finds_secrets, operands, reads, searches_all, seeks_secrets};
pub(super) use tells::without_asking;
pub(super) use told::{Told, told};
pub(super) use unknown::known as is_known;

/// What was found of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) level: RiskLevel,
    pub(super) rule: &'static str,
    /// What it does, to go on after "this command".
    pub(super) why: String,
    pub(super) span: Range<usize>,
}

impl Verdict {
    fn new(level: RiskLevel, rule: &'static str, why: impl Into<String>, span: Range<usize>) -> Self {
        Self { level, rule, why: why.into(), span }
    }

    /// Whether something is gone for good by it, though it is no more than one file: a person is asked all the same.
    pub(super) fn loses(&self) -> bool {
        self.level == RiskLevel::Cautious && LOSES.contains(&self.rule)
    }

    /// What verdicts are compared by: of two at one level the one that loses something is the stricter.
    pub(super) fn rank(&self) -> (RiskLevel, bool) {
        (self.level, self.loses())
    }
}

/// Rules about one file that is gone for good.
pub(super) const LOSES: [&str; 2] = ["shell.rm", "code.delete"];

/// What a command is judged on.
#[derive(Clone, Copy)]
pub(super) struct Ground<'c> {
    pub(super) context: &'c RiskContext,
    /// How deep the command lies in code in commands in code.
    pub(super) depth: usize,
    /// Where the commands that are found inside are listed, for whoever wants to know them.
    pub(super) found: Option<&'c RefCell<Started>>,
}

impl<'c> Ground<'c> {
    /// The ground that a call itself stands on.
    pub(super) fn new(context: &'c RiskContext) -> Self {
        Self { context, depth: 0, found: None }
    }

    fn deeper(&self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..*self })
    }
}

/// Deeper than this is not looked into.
const MAX_DEPTH: usize = 6;

/// All that is wrong with a command, the strictest alone.
pub(super) fn judge(command: &SimpleCommand, ground: &Ground<'_>) -> Verdict {
    let mut worst = environment::environment(command);
    if let Some(secret) = shown(command) {
        keep(&mut worst, secret);
    }
    if !command.redirects.is_empty() {
        let given = redirect::Beside::of(command);
        let found = command.redirects.iter().filter_map(|one| redirect::redirection(one, command, &given, ground));
        found.for_each(|verdict| keep(&mut worst, verdict));
    }
    keep(&mut worst, program::program(command, ground));
    let mut verdict =
        worst.unwrap_or_else(|| Verdict::new(RiskLevel::Safe, "shell.empty", "runs nothing", command.span.clone()));
    // `pip freeze | xargs pip uninstall`: whatever comes in.
    let everything = || command.words.iter().any(|word| matches!(word.text.as_str(), "--all" | "*" | "all"));
    if verdict.rule == "packages.uninstall" && (command.via == Via::Xargs || everything()) {
        verdict.level = verdict.level.max(RiskLevel::Confirm);
    }
    if verdict.level == RiskLevel::Confirm && forced(command) {
        verdict.level = RiskLevel::Dangerous;
        verdict.why.push_str(", by force");
    }
    if command.elevated {
        match verdict.level {
            // Reading as another user may show what is not this user's.
            RiskLevel::Safe => verdict.level = RiskLevel::Cautious,
            RiskLevel::Cautious => {
                verdict.level = RiskLevel::Confirm;
                verdict.rule = "shell.elevated";
                verdict.why.push_str(", as another user");
            }
            RiskLevel::Confirm => {
                verdict.level = RiskLevel::Dangerous;
                verdict.why.push_str(", as another user");
            }
            RiskLevel::Dangerous => {}
        }
    }
    verdict
}

/// Whether the command is told, in so many letters, to do it against what would hold it back.
fn forced(command: &SimpleCommand) -> bool {
    command.words.iter().skip(1).any(|word| matches!(word.text.as_str(), "--force" | "--force=true" | "-Force"))
}
