//! What lies inside of a command: shell text, and the acts of a piece of code. Looked into only so deep; what lies
//! deeper is asked about.

use super::{Ground, Verdict, judge, listing};
use crate::{
    RiskLevel,
    code::Act,
    files::{self, keep},
    flow,
    paths::{Place, place},
    shell::{self, SimpleCommand, Word},
    sql,
};

/// Shell text inside of a command.
pub(super) fn nested(
    text: &str,
    word: &Word,
    command: &SimpleCommand,
    ground: &Ground<'_>,
    worst: &mut Option<Verdict>,
) {
    let Some(ground) = ground.deeper() else {
        listing::unread(ground);
        return keep(
            worst,
            Verdict::new(RiskLevel::Confirm, "shell.unparsed", "hides too deep to be read", word.span.clone()),
        );
    };
    if text.len() > shell::MAX_TEXT {
        listing::unread(&ground);
        return keep(
            worst,
            Verdict::new(RiskLevel::Confirm, "shell.unparsed", "holds more than can be read", word.span.clone()),
        );
    }
    let script = shell::parse(text);
    if let Some(mut verdict) = flow::judge(&script, text) {
        verdict.span = word.span.clone();
        keep(worst, verdict);
    }
    for mut inner in script.commands {
        inner.elevated |= command.elevated;
        inner.remote |= command.remote;
        listing::inside(&inner, &ground);
        let mut verdict = judge(&inner, &ground);
        verdict.span = word.span.clone();
        keep(worst, verdict);
    }
    if script.unparsed.is_some() {
        listing::unread(&ground);
        keep(worst, Verdict::new(RiskLevel::Confirm, "shell.unparsed", "holds what cannot be read", word.span.clone()));
    }
}

pub(super) fn nested_acts(acts: &[Act], word: &Word, command: &SimpleCommand, ground: &Ground<'_>) -> Option<Verdict> {
    let mut worst = None;
    for act in acts {
        if let Some(verdict) = act_verdict(act, word, command, ground) {
            keep(&mut worst, verdict);
        }
    }
    worst
}

/// The judgement of what a piece of code does.
pub(crate) fn act_verdict(act: &Act, word: &Word, command: &SimpleCommand, ground: &Ground<'_>) -> Option<Verdict> {
    let span = word.span.clone();
    match act {
        Act::Delete { path: path_text, recursive } => {
            let target = path_text.as_deref().map_or(Place::Unknown, |path| place(path, true, ground.context));
            let level = files::delete(target, *recursive, path_text.as_deref().is_some_and(|path| path.contains('*')));
            let again = path_text.as_deref().is_some_and(files::is_made_again) || target == Place::Temporary;
            let rule = match (*recursive, again) {
                (true, _) => "code.delete.tree",
                (false, true) => "code.delete.again",
                (false, false) => "code.delete",
            };
            Some(Verdict::new(level, rule, format!("deletes in {}", target.words()), span))
        }
        Act::Write { path } => {
            let target = place(path, true, ground.context);
            Some(Verdict::new(files::write(target), "code.write", format!("writes in {}", target.words()), span))
        }
        Act::Empty { path } => {
            let target = place(path, true, ground.context);
            let level = files::write(target);
            let level =
                if matches!(target, Place::Temporary | Place::Nowhere) { level } else { level.max(RiskLevel::Confirm) };
            Some(Verdict::new(level, "code.truncate", format!("empties a file in {}", target.words()), span))
        }
        Act::Shell { text } => {
            let mut worst = None;
            nested(text, word, command, ground, &mut worst);
            worst
        }
        Act::Run { words } => {
            let mut worst = None;
            let Some(ground) = ground.deeper() else {
                listing::unread(ground);
                return Some(Verdict::new(RiskLevel::Confirm, "shell.unparsed", "hides too deep to be read", span));
            };
            for mut inner in shell::parse_words(words).commands {
                inner.elevated |= command.elevated;
                listing::inside(&inner, &ground);
                let mut verdict = judge(&inner, &ground);
                verdict.span = span.clone();
                keep(&mut worst, verdict);
            }
            worst
        }
        Act::Unknown { what } => {
            Some(Verdict::new(RiskLevel::Confirm, "code.unknown", format!("runs {what}, which cannot be told"), span))
        }
        Act::Sql { text } => sql::judge(text).map(|found| Verdict::new(found.level, found.rule, found.why, span)),
        Act::Named { level, what } => Some(Verdict::new(*level, "code.destroy", what.clone(), span)),
    }
}
