//! Scripts that a text writes and then runs: `echo 'rm -rf x' > a.sh; sh a.sh`. What goes into the file is known, so
//! it is read where it is run; how many files are kept, and how much of them, is bounded.

use std::collections::BTreeMap;

use super::super::{Input, RedirectKind, SimpleCommand, Word, wrap::SHELLS};

/// Files that are kept, and bytes of one.
const MOST: usize = 32;
const LONGEST: usize = 16 * 1024;

/// What was written where.
#[derive(Default)]
pub(super) struct Written(BTreeMap<String, Word>);

impl Written {
    /// Takes down what a command writes, if its text is known.
    pub(super) fn note(&mut self, command: &SimpleCommand, output: &Input) {
        let tees = command.program() == Some("tee");
        let text = match (output, &command.input) {
            (_, Input::Known(text)) if tees => text,
            (Input::Known(text), _) => text,
            _ => return,
        };
        let redirected = command
            .redirects
            .iter()
            .filter(|redirect| matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append))
            .map(|redirect| (&redirect.target, redirect.kind == RedirectKind::Append));
        let arguments = command.words.iter().skip(1).filter(|word| tees && !word.text.starts_with('-'));
        for (file, more) in redirected.chain(arguments.map(|word| (word, false))).take(8) {
            if !file.exact || text.text.len() > LONGEST || self.0.len() >= MOST {
                continue;
            }
            let kept = self.0.entry(plain(&file.text).to_owned()).or_insert_with(|| text.clone());
            if more && kept.text.len() + text.text.len() < LONGEST && kept.text != text.text {
                kept.text.push('\n');
                kept.text.push_str(&text.text);
            } else {
                *kept = text.clone();
            }
        }
    }

    /// The text that a command runs from one of the files.
    pub(super) fn run_by(&self, command: &SimpleCommand) -> Option<Word> {
        if self.0.is_empty() {
            return None;
        }
        let program = command.program()?;
        let (first, rest) = command.words.split_first()?;
        let file = if SHELLS.contains(&program) || matches!(program, "source" | ".") {
            rest.iter().find(|word| !word.text.starts_with(['-', '+']))?
        } else {
            first
        };
        let text = self.0.get(plain(&file.text))?;
        Some(Word { span: command.span.clone(), ..text.clone() })
    }
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}
