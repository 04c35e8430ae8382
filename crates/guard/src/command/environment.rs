//! The variables that a command is started with. Of few of them it is known that they load no code and choose no
//! program, so only those change nothing; what a variable names as a program is read as a command of its own.

use super::Verdict;
use crate::{
    RiskLevel, names,
    shell::{self, SimpleCommand, Word},
};

/// Whether a variable says how something is shown or told, and nothing of what runs.
fn harmless(name: &str) -> bool {
    names::has("variables.harmless", name)
}

/// Whether a setting, `NAME=value`, says no more than how something is shown or told.
pub(crate) fn is_harmless_setting(setting: &str) -> bool {
    setting.split_once('=').is_some_and(|(name, _)| harmless(variable(name)))
}

/// Whether a variable that is set for itself, not before a command, decides about the commands that follow.
pub(crate) fn lasts(name: &str) -> bool {
    let starts = || names::list("variables.lasting_starts").iter().any(|start| name.starts_with(start.as_str()));
    (names::has("variables.lasting", name) || starts()) && !harmless(name)
}

/// The variables that a program of the shell is told to set: `printf -v PATH %s ./bin`, `read PATH`.
fn set_by_program(command: &SimpleCommand) -> impl Iterator<Item = (&Word, &str)> {
    let words = command.words.get(1..).unwrap_or_default();
    let words = match command.program() {
        Some("printf") if words.first().is_some_and(|word| word.text == "-v") => words.get(1..2).unwrap_or_default(),
        Some("printf") if words.first().is_some_and(|word| word.text.starts_with("-v")) => &words[..1],
        Some("read") => words,
        _ => &[],
    };
    words.iter().map(|word| {
        let text = word.text.as_str();
        // `-vPATH`, `-raPATH`
        let joined = text.strip_prefix('-').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_lowercase()));
        (word, joined.unwrap_or(text))
    })
}

/// Whether a command only sets variables for all that follows that say how something is shown: `export LANG=C`.
pub(super) fn sets_harmless(name: &str, words: &[Word]) -> bool {
    let set = |word: &Word| word.text.split_once('=').is_some_and(|(name, _)| harmless(name)) && !word.splits;
    name == "export" && !words.is_empty() && words.iter().all(set)
}

/// The variable that a subscript belongs to.
fn variable(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

/// The variables that a command is started with, if one of them may make it another.
pub(super) fn environment(command: &SimpleCommand) -> Option<Verdict> {
    let own =
        command.program().filter(|name| names::has("programs.setters", name)).map_or(&[][..], |_| &command.words[1..]);
    // What stands behind an option may be its value.
    let open = |at: usize| at == 0 || own[at - 1].text.starts_with('-') || own[at - 1].text.contains('=');
    let own =
        own.iter().enumerate().take_while(|(at, word)| word.text.contains('=') || open(*at)).map(|(_, word)| word);
    let own = own.filter(|word| !word.text.starts_with('-'));
    let any = |word: &Word| !word.exact && command.program() == Some("printf");
    let set = set_by_program(command).find(|(word, name)| lasts(variable(name)) || any(word));
    if let Some((word, name)) = set {
        let why = format!("sets {name:.40}, which may change what runs");
        return Some(Verdict::new(RiskLevel::Cautious, "shell.environment", why, word.span.clone()));
    }
    let mut worst: Option<&Word> = None;
    for word in command.settings.iter().chain(own) {
        let Some((name, value)) = word.text.split_once('=') else { continue };
        let name = variable(name.trim_end_matches('+'));
        if names::has("variables.injecting", name) && !value.is_empty() {
            let why = format!("is started with {name}, which runs code in it");
            return Some(Verdict::new(RiskLevel::Confirm, "shell.environment", why, word.span.clone()));
        }
        if !harmless(name) && !shell::names_program(name, value) {
            worst = worst.or(Some(word));
        }
    }
    let word = worst?;
    let name = word.text.split_once('=').map_or("", |(name, _)| name);
    let why = format!("is started with {name:.40}, which may change what runs");
    Some(Verdict::new(RiskLevel::Cautious, "shell.environment", why, word.span.clone()))
}

/// `printenv` without a name, or with one that is not known to be harmless, shows what is kept there for others.
pub(super) fn printed(name: &str, words: &[Word]) -> bool {
    let names: Vec<&str> = words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    name == "printenv"
        && (names.is_empty() || !names.iter().all(|name| names::has("variables.printable", name) || harmless(name)))
}
