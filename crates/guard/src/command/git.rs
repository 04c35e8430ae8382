//! What of Git depends on more than its words in order: files thrown away by `checkout`, programs that the
//! configuration makes it run.

use super::Verdict;
use crate::{
    RiskLevel,
    shell::{Options, SimpleCommand, Word},
};

pub(super) fn git(command: &SimpleCommand, words: &[Word]) -> Option<Verdict> {
    let options = Options::read(
        words,
        "-C -c --config-env --git-dir --work-tree --namespace --exec-path -b -B --orphan -s --source --conflict --unified --inter-hunk-context",
    );
    let first = options.rest.first()?;
    let span = command.span.clone();
    if first.text == "update-ref" && options.rest.len() > 2 {
        let why = "puts a branch elsewhere, whatever it holds";
        return Some(Verdict::new(RiskLevel::Confirm, "git.ref", why, span));
    }
    if first.text == "checkout" {
        let dashes = words.iter().position(|word| word.text == "--");
        let files = dashes.is_some_and(|at| at + 1 < words.len());
        let paths = options.rest.iter().skip(1).any(|word| {
            word.text == "."
                || word.text.starts_with("./")
                || word.text.starts_with(":/")
                || word.text.ends_with('/')
                || word.pattern
        });
        let creates = options.word("-b")
            || options.word("-B")
            || options.word("--orphan")
            || options.word("-p")
            || options.word("--patch");
        // A commit and then names: `git checkout HEAD~1 file.txt`.
        let named = options.rest.len() > 2;
        // `git checkout src/main.rs`: a branch is hardly ever named like a file.
        let file = matches!(options.rest.as_slice(), [_, name] if name.text.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty() && (1..=5).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_lowercase())
        }));
        let listed = words.iter().any(|word| word.text.starts_with("--pathspec-from-file"));
        if (files || paths || named || file || listed) && !creates {
            return Some(Verdict::new(
                RiskLevel::Confirm,
                "git.checkout.files",
                "throws away uncommitted changes of files",
                span,
            ));
        }
    }
    if first.text == "config" {
        let name =
            options.rest.iter().skip(1).map(|word| word.text.to_ascii_lowercase()).find(|name| name.contains('.'))?;
        let runs = matches!(
            name.as_str(),
            "core.hookspath"
                | "core.sshcommand"
                | "core.fsmonitor"
                | "core.pager"
                | "core.editor"
                | "credential.helper"
        ) && options.rest.len() > 2;
        if runs && name != "credential.helper" && name != "core.editor" && name != "core.pager" {
            return Some(Verdict::new(
                RiskLevel::Confirm,
                "git.config.run",
                "makes Git run a program from now on",
                span,
            ));
        }
    }
    None
}
