//! The commands that delete, move, overwrite and change files, judged by where the files are.

mod again;
mod change;
mod transfer;

use super::{
    RiskLevel,
    command::Verdict,
    paths::{Place, RiskContext, place_of},
    shell::{Options, SimpleCommand, Via, Word},
};
pub(super) use again::is_made_again;

#[allow(clippy::match_same_arms)] // tried in order
/// What deleting at a place makes of a call.
pub(super) fn delete(place: Place, recursive: bool, many: bool) -> RiskLevel {
    match place {
        Place::Nowhere | Place::Temporary => RiskLevel::Cautious,
        Place::Workspace if recursive || many => RiskLevel::Confirm,
        Place::Workspace => RiskLevel::Cautious,
        Place::WholeWorkspace | Place::Elsewhere | Place::Unknown | Place::Home => RiskLevel::Confirm,
        Place::Private if !recursive => RiskLevel::Confirm,
        Place::System if !recursive && !many => RiskLevel::Confirm,
        Place::Private | Place::WholeHome | Place::System | Place::Root | Place::Device => RiskLevel::Dangerous,
    }
}

/// What writing at a place makes of a call.
pub(super) fn write(place: Place) -> RiskLevel {
    match place {
        Place::Device => RiskLevel::Dangerous,
        Place::Private | Place::System | Place::Root => RiskLevel::Confirm,
        _ => RiskLevel::Cautious,
    }
}

fn everything(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or("");
    word.pattern && matches!(name, "*" | "**" | "*.*" | ".*" | "?*" | "{}" | ".[!.]*" | ".??*")
}

#[allow(clippy::match_same_arms)] // tried in order
/// The judgement of one command on files; `None` if it is none.
pub(super) fn judge(program: &str, command: &SimpleCommand, context: &RiskContext) -> Option<Verdict> {
    let words = command.words.get(1..).unwrap_or_default();
    let judge = Judge { command, context, words, program };
    match program {
        "rm" | "unlink" | "srm" | "wipe" | "shred" | "trash" | "trash-put" | "rimraf" | "del-cli" | "grm"
        | "rmtrash" | "gio" => judge.remove(),
        "mv" | "gmv" => judge.r#move(),
        "cp" | "gcp" | "ln" | "install" | "scp" => judge.copy(),
        "dd" | "gdd" => judge.dd(),
        "tee" => judge.tee(),
        "truncate" => judge.truncate(),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chflags" | "chattr" | "xattr" | "icacls" | "takeown" => judge.mode(),
        "rsync" => judge.rsync(),
        "find" | "gfind" | "bfs" => judge.find(),
        "sed" | "gsed" | "perl" | "ruby" => judge.in_place(),
        "tar" | "bsdtar" | "gtar" | "zip" | "gzip" | "7z" => judge.archive(),
        "curl" | "wget" => judge.download(),
        "del" | "erase" | "remove-item" | "ri" => judge.remove_by_pattern(),
        "set-content" | "add-content" | "out-file" | "tee-object" | "export-csv" | "export-clixml" | "new-item" => {
            judge.write_by_cmdlet()
        }
        "rmdir" => judge.remove_empty(),
        "touch" | "mkdir" => judge.make(),
        _ => None,
    }
}

/// Whether a program is one that deletes, moves or writes files by its name.
pub(super) fn known(program: &str) -> bool {
    matches!(program, "unlink" | "srm" | "shred" | "trash" | "trash-put" | "rimraf" | "del-cli" | "truncate" | "gio")
}

struct Judge<'c> {
    command: &'c SimpleCommand,
    context: &'c RiskContext,
    words: &'c [Word],
    program: &'c str,
}

impl Judge<'_> {
    fn place(&self, word: &Word) -> Place {
        let place = place_of(word, self.command.cwd.as_ref(), self.context);
        if self.command.remote && matches!(place, Place::Workspace | Place::WholeWorkspace) {
            Place::Elsewhere
        } else {
            place
        }
    }

    fn verdict(level: RiskLevel, rule: &'static str, word: &Word, why: String) -> Verdict {
        Verdict { level, rule, why, span: word.span.clone() }
    }

    fn whole(&self, level: RiskLevel, rule: &'static str, why: impl Into<String>) -> Verdict {
        Verdict { level, rule, why: why.into(), span: self.command.span.clone() }
    }

    fn remove(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "-n --iterations -s --size --random-source");
        let rest = match self.program {
            "gio" => {
                if !options.rest.first().is_some_and(|word| matches!(word.text.as_str(), "trash" | "remove")) {
                    return None;
                }
                if options.rest[0].text == "trash" && !options.word("--empty") {
                    return Some(self.whole(RiskLevel::Cautious, "shell.trash", "moves files to the trash"));
                }
                &options.rest[1..]
            }
            _ => &options.rest[..],
        };
        let rimraf = matches!(self.program, "rimraf" | "del-cli");
        let recursive = rimraf || options.has('r', "--recursive") || options.has('R', "");
        let rule = match (self.program, recursive) {
            ("shred", _) => "shell.shred",
            (_, true) => "shell.rm.recursive",
            _ => "shell.rm",
        };
        // What is made again, and what lies in a temporary folder, is no loss.
        let rule_for = |word: &Word, place: Place| match rule {
            "shell.rm" if place == Place::Temporary || is_made_again(&word.text) => "shell.rm.again",
            rule => rule,
        };
        if rest.is_empty() {
            // Its names come from elsewhere, or it is cut off.
            return Some(if recursive {
                self.whole(RiskLevel::Confirm, rule, "deletes folders, but which cannot be told")
            } else {
                self.whole(RiskLevel::Confirm, rule, "deletes files, but which cannot be told")
            });
        }
        let mut worst: Option<Verdict> = None;
        for word in rest {
            let place = self.place(word);
            let handed = matches!(self.command.via, Via::Xargs | Via::FindExec) && !word.exact;
            let place = if handed && place < Place::Unknown { Place::Unknown } else { place };
            // Nothing brings back what was overwritten first.
            let shreds = matches!(self.program, "shred" | "srm" | "wipe");
            // A pattern takes what nobody counted, unless it names what is made again.
            let many = shreds || everything(word) || word.pattern && !is_made_again(&word.text);
            let level = delete(place, recursive, many);
            let what = if recursive { "a folder with all that is in it" } else { "a file" };
            let why = format!("deletes {what} in {}", place.words());
            keep(&mut worst, Self::verdict(level, rule_for(word, place), word, why));
        }
        worst
    }

    /// `del src\*.ext`: as many files as fit, unless they are made again or lie in a temporary folder.
    fn remove_by_pattern(&self) -> Option<Verdict> {
        if self.words.iter().any(|word| word.text.eq_ignore_ascii_case("-whatif")) {
            return None;
        }
        let word = self.words.iter().find(|word| {
            let path = word.text.replace('\\', "/").to_ascii_lowercase();
            let temporary = ["%temp%", "%tmp%", "$env:temp", "$env:tmp"].iter().any(|start| path.starts_with(start));
            path.contains('*')
                && !path.starts_with(['-', '/'])
                && !temporary
                && !is_made_again(&path)
                && !matches!(self.place(word), Place::Temporary | Place::Nowhere)
        })?;
        let why = "deletes every file that fits".to_owned();
        Some(Self::verdict(RiskLevel::Confirm, "windows.delete", word, why))
    }

    /// `Set-Content -Path ~/.bashrc -Value …`: only what it writes to decides, so what it empties is told elsewhere.
    fn write_by_cmdlet(&self) -> Option<Verdict> {
        let mut words = self.words.iter();
        let mut files = Vec::new();
        while let Some(word) = words.next() {
            match word.text.to_ascii_lowercase().as_str() {
                "-value" | "-inputobject" | "-encoding" | "-itemtype" | "-name" | "-delimiter" => {
                    words.next();
                }
                option if option.starts_with('-') => {}
                _ => files.push(word),
            }
        }
        self.writes(&files, "file.write", "writes").filter(|verdict| verdict.level >= RiskLevel::Confirm)
    }

    /// Folders with nothing in them: of the system they are there for something.
    fn remove_empty(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "");
        let word = options.rest.iter().find(|word| matches!(self.place(word), Place::System | Place::Root))?;
        let why = "deletes a folder of the system's files".to_owned();
        Some(Self::verdict(RiskLevel::Confirm, "shell.rm", word, why))
    }

    fn writes(&self, files: &[&Word], rule: &'static str, verb: &str) -> Option<Verdict> {
        let mut worst = None;
        let kept = files.iter().map(|word| (*word, self.place(word))).filter(|(_, place)| *place != Place::Nowhere);
        for (word, place) in kept {
            keep(&mut worst, Self::verdict(write(place), rule, word, format!("{verb} a file in {}", place.words())));
        }
        worst
    }

    fn find(&self) -> Option<Verdict> {
        let delete_word = deleting(self.words)?;
        let mut worst = None;
        let starts: Vec<&Word> = self.words.iter().take_while(|word| !word.text.starts_with(['-', '(', '!'])).collect();
        for start in &starts {
            let place = self.place(start);
            let level = match place {
                Place::Temporary => RiskLevel::Cautious,
                // A temporary folder as a whole, through what it was asked to find.
                Place::WholeHome if start.text.trim_end_matches('/').ends_with("/tmp") => RiskLevel::Cautious,
                Place::System | Place::Root | Place::WholeHome | Place::Device => RiskLevel::Dangerous,
                _ => RiskLevel::Confirm,
            };
            keep(
                &mut worst,
                Self::verdict(
                    level,
                    "shell.find.delete",
                    delete_word,
                    format!("deletes all that it finds in {}", place.words()),
                ),
            );
        }
        worst.or_else(|| {
            Some(Self::verdict(
                RiskLevel::Confirm,
                "shell.find.delete",
                delete_word,
                "deletes all that it finds here".to_owned(),
            ))
        })
    }

    fn option_file(&self, names: &[&str], valued: &str) -> Option<Verdict> {
        let options = Options::read(self.words, valued);
        let name = names.iter().find_map(|name| options.value(name))?;
        let word = Word { text: name.to_owned(), exact: true, span: self.command.span.clone(), ..Word::default() };
        self.writes(&[&word], "file.write", "writes")
    }
}

/// Keeps the stricter of two verdicts, the first of two that are alike.
pub(super) fn keep(worst: &mut Option<Verdict>, verdict: Verdict) {
    if worst.as_ref().is_none_or(|worst| worst.rank() < verdict.rank()) {
        *worst = Some(verdict);
    }
}

/// The `-delete` of a `find`, where it is an action: not a name that is sought, nor a word of what `-exec` runs.
fn deleting(words: &[Word]) -> Option<&Word> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-delete" => return Some(word),
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex" | "-lname" => {
                words.next();
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = words.as_slice();
                // Without its end the words that follow may be anything.
                if let Some(end) = rest.iter().position(|word| word.text == ";") {
                    words = rest[end + 1..].iter();
                }
            }
            _ => {}
        }
    }
    None
}
