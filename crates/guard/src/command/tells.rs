//! Whether a program is asked about itself and nothing else: `--help`, `--version`. A word that asks pardons no other:
//! what stands beside it may be done all the same (`rm -rf x /?`, `docker exec c rm x --help`, and `rm` of BSD and
//! busybox).

use crate::{
    files, names, records,
    shell::{self, Input, RedirectKind, SimpleCommand, Word},
};

/// Whether a call only asks a program about itself.
pub(super) fn only_tells(name: &str, command: &SimpleCommand) -> bool {
    let Some((first, words)) = command.words.split_first() else { return false };
    if !shell::is_of_system(&first.text) {
        return false;
    }
    if let [only] = words
        && windows(name, &only.text)
    {
        return true;
    }
    // What is fed to a program may be run by it all the same.
    let fed = !matches!(command.input, Input::None)
        || command.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read);
    if fed && !records::reader(name) || [".sh", ".bash", ".py"].iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    if words.iter().any(|word| !word.exact || word.pattern) {
        return false;
    }
    if name == "git" && shell::only_tells_a_path(words) {
        return true;
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let [before @ .., last] = texts.as_slice() else { return false };
    let record = records::record(name);
    let groups = record.and_then(|record| record.help.as_deref());
    if before.is_empty() {
        let known = record.is_some() || files::known(name);
        let letter = || record.is_some_and(|record| record.about.split(' ').any(|letter| letter == *last));
        // Words in a place where others read files or recipes: only who has subcommands has these.
        let word = matches!(*last, "help" | "version") && groups.is_some();
        return known && (matches!(*last, "--help" | "--version") || word) || letter();
    }
    let Some(groups) = groups else { return false };
    let plain = |text: &&str| {
        text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') && !text.starts_with('-')
    };
    let asked = match (before, *last) {
        (["help"], sub) => return plain(&sub),
        (_, "--help") => true,
        (_, "help") => name == "aws",
        _ => false,
    };
    let subcommand = match before {
        [_] => true,
        [group, _] => groups.split(' ').any(|known| known == *group),
        _ => false,
    };
    asked
        && subcommand
        && before.iter().all(plain)
        && !before.iter().any(|word| names::has("programs.handing_on", word))
}

/// The command without the words that ask, where some stand among others: what is wrong with it then is wrong with it.
pub(crate) fn without_asking(command: &SimpleCommand) -> Option<SimpleCommand> {
    let asks = |word: &Word| {
        matches!(word.text.as_str(), "--help" | "-help" | "-h" | "-?" | "/?" | "--version" | "-V" | "help" | "version")
    };
    let (_, words) = command.words.split_first()?;
    if asks_about_a_verb(words) || !words.iter().any(asks) {
        return None;
    }
    let mut rest = command.clone();
    let mut first = true;
    rest.words.retain(|word| std::mem::take(&mut first) || !asks(word));
    Some(rest)
}

/// Whether a program that nobody knows here is asked about one of its subcommands: it may do it all the same, and
/// hardly any does.
pub(super) fn asks_about_a_verb(words: &[Word]) -> bool {
    matches!(words, [verb, help] if help.text == "--help" && help.exact
        && verb.text.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !verb.text.starts_with('-'))
}

/// `format /?`: to a shell of Unix that is a pattern of files, so only programs count that are found nowhere else.
fn windows(name: &str, word: &str) -> bool {
    word == "/?" && names::has("programs.windows", name)
}
