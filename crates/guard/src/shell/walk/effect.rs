//! What a command leaves to those after it: the folder that they run in, and what it prints, where its words tell.

use super::super::{Input, SimpleCommand, Via, Word, word};

/// Where the commands after this one run.
pub(super) enum Folder {
    Stays,
    Is(Word),
    Unknown,
}

pub(super) fn folder_after(command: &SimpleCommand) -> Folder {
    // A shell's own, which no path names.
    match command.words.first().filter(|word| word.exact).map(|word| word.text.as_str()) {
        Some("cd" | "pushd")
            if matches!(
                command.via,
                Via::Direct | Via::Function | Via::Substitution | Via::ShellText | Via::Eval | Via::Stdin | Via::Remote
            ) =>
        {
            let target = command.words.iter().skip(1).find(|word| !word.text.starts_with('-') || word.text == "-");
            match target {
                None => Folder::Is(Word { text: "~".to_owned(), exact: true, ..Word::default() }),
                Some(word) if word.text == "-" || word.pattern => Folder::Unknown,
                Some(word) if word.text.starts_with(['/', '~', '$']) => Folder::Is(word.clone()),
                Some(word) => match &command.cwd {
                    Some(before) if !before.exact && !before.text.starts_with(['$', '~']) => Folder::Unknown,
                    Some(before) => Folder::Is(Word {
                        text: format!("{}/{}", before.text, word.text),
                        exact: word.exact && before.exact,
                        ..word.clone()
                    }),
                    None => Folder::Is(word.clone()),
                },
            }
        }
        Some("popd") => Folder::Unknown,
        _ => Folder::Stays,
    }
}

pub(super) fn output_of(command: &SimpleCommand) -> Input {
    let name = command.known_program().unwrap_or_default();
    let exact = command.words.iter().all(|word| word.exact && !word.pattern);
    // `cat /dev/tcp/host/80`: what comes from there is no file's.
    if command.words.iter().any(|word| word.text.starts_with("/dev/tcp/") || word.text.starts_with("/dev/udp/")) {
        return Input::Piped("nc".to_owned());
    }
    if name == "cat"
        && command.words.iter().skip(1).all(|word| word.text == "-")
        && let Input::Known(text) = &command.input
    {
        return Input::Known(text.clone());
    }
    if matches!(name, "echo" | "printf") && exact {
        let words: Vec<&str> =
            std::iter::once(name).chain(command.words.iter().skip(1).map(|word| word.text.as_str())).collect();
        if let Some(text) = word::printed(&words) {
            return Input::Known(Word { text, exact: true, span: command.span.clone(), ..Word::default() });
        }
    }
    Input::Piped(name.to_owned())
}
