//! Commands that take files from one place to another: moved, copied, synchronized, packed, fetched.

use super::{Judge, delete, is_made_again, keep, write};
use crate::{
    RiskLevel,
    command::Verdict,
    paths::Place,
    shell::{Options, Word},
};

impl Judge<'_> {
    pub(super) fn r#move(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "-t --target-directory -S --suffix");
        let to = options.value("-t").or_else(|| options.value("--target-directory"));
        let target = to.map(|text| Word {
            text: text.to_owned(),
            exact: true,
            span: self.command.span.clone(),
            ..Word::default()
        });
        let (target, sources) = match (&target, options.rest.split_last()) {
            (Some(target), _) => (target, &options.rest[..]),
            (None, Some((target, sources))) => (*target, sources),
            (None, None) => return None,
        };
        let mut worst = None;
        let place = self.place(target);
        if place == Place::Nowhere {
            keep(
                &mut worst,
                Self::verdict(RiskLevel::Confirm, "shell.mv", target, "moves files to where they are gone".to_owned()),
            );
        } else {
            let spares = place == Place::Temporary || is_made_again(&target.text);
            let forced = options.has('f', "--force") && !options.has('n', "--no-clobber");
            let level = if forced && !spares { write(place).max(RiskLevel::Confirm) } else { write(place) };
            keep(
                &mut worst,
                Self::verdict(level, "shell.mv", target, format!("moves files over those in {}", place.words())),
            );
        }
        for source in sources {
            let from = self.place(source);
            let level = match from {
                Place::System | Place::Root | Place::WholeHome | Place::Device => RiskLevel::Dangerous,
                Place::Private | Place::WholeWorkspace => RiskLevel::Confirm,
                Place::Home if place == Place::Temporary => RiskLevel::Confirm,
                // A folder (its name has no ending) leaves the place where it is looked for.
                _ if leaves(source, target, from, place) => RiskLevel::Confirm,
                _ => RiskLevel::Cautious,
            };
            keep(
                &mut worst,
                Self::verdict(level, "shell.mv", source, format!("moves files away from {}", from.words())),
            );
        }
        worst
    }

    pub(super) fn copy(&self) -> Option<Verdict> {
        let options =
            Options::read(self.words, "-t --target-directory -S --suffix -m --mode -o --owner -g --group -P -i -F -c");
        let to = options.value("-t").or_else(|| options.value("--target-directory"));
        let target = to.map(|text| Word {
            text: text.to_owned(),
            exact: true,
            span: self.command.span.clone(),
            ..Word::default()
        });
        let (target, sources) = match (&target, options.rest.split_last()) {
            (Some(target), _) => (target, &options.rest[..]),
            (None, Some((target, sources))) => (*target, sources),
            (None, None) => return None,
        };
        if self.program == "scp" && target.text.contains(':') && !target.text.starts_with('/') {
            let path = target.text.split_once(':').map_or("", |(_, path)| path);
            let there = Word { text: path.to_owned(), ..(*target).clone() };
            let over =
                path.starts_with('/') && matches!(self.place(&there), Place::System | Place::Root | Place::Device);
            if over || sources.iter().any(|source| self.place(source) == Place::Nowhere) {
                return Some(self.whole(RiskLevel::Confirm, "shell.copy", "writes over the system of another machine"));
            }
            return Some(self.whole(RiskLevel::Cautious, "shell.copy", "copies files to another machine"));
        }
        let place = self.place(target);
        let empties = sources.iter().any(|source| self.place(source) == Place::Nowhere);
        if empties && !matches!(place, Place::Temporary | Place::Nowhere) && !matches!(place, Place::Device) {
            let level = write(place).max(RiskLevel::Confirm);
            return Some(Self::verdict(level, "file.truncate", target, format!("empties a file in {}", place.words())));
        }
        Some(Self::verdict(write(place), "shell.copy", target, format!("writes files in {}", place.words())))
    }

    pub(super) fn rsync(&self) -> Option<Verdict> {
        let options = Options::read(
            self.words,
            "-e --rsh --exclude --include --exclude-from --filter -f --rsync-path --log-file --bwlimit --backup-dir --partial-dir",
        );
        let dry = options.has('n', "--dry-run");
        let deletes = options.flags.iter().any(|flag| {
            flag.starts_with("--del")
                || matches!(*flag, "--remove-source-files" | "--remove-sent-files" | "--ignore-existing-delete")
        });
        let target = options.rest.last()?;
        let place = self.place(target);
        if dry {
            // What it reaches the other machine by is a program, which starts all the same.
            let known = |word: &&str| matches!(word.split_whitespace().next(), Some("ssh" | "rsh" | "rsync"));
            let mut shells = ["-e", "--rsh", "--rsync-path"].into_iter().filter_map(|name| options.value(name));
            if let Some(shell) = shells.find(|shell| !known(shell)) {
                return Some(self.whole(RiskLevel::Cautious, "shell.rsync", format!("starts {shell}")));
            }
            return Some(self.whole(RiskLevel::Safe, "shell.rsync", "only shows what it would copy"));
        }
        if deletes && place != Place::Temporary {
            let level = delete(place, true, true).max(RiskLevel::Confirm);
            return Some(Self::verdict(
                level,
                "shell.rsync.delete",
                target,
                format!("deletes what the source has not in {}", place.words()),
            ));
        }
        if target.text.contains(':') {
            return Some(self.whole(RiskLevel::Cautious, "shell.rsync", "copies files to another machine"));
        }
        Some(Self::verdict(write(place), "shell.rsync", target, format!("writes files in {}", place.words())))
    }

    pub(super) fn archive(&self) -> Option<Verdict> {
        if matches!(self.program, "zip") {
            let moves = Options::read(self.words, "").has('m', "--move");
            return moves
                .then(|| self.whole(RiskLevel::Confirm, "shell.archive.move", "deletes the files that it packs"));
        }
        if self.program == "7z" {
            // `7z d archive …` takes files out of an archive, of which there may be no other copy.
            let deletes = self.words.first().is_some_and(|word| word.text == "d");
            return deletes.then(|| self.whole(RiskLevel::Confirm, "shell.archive.delete", "deletes from an archive"));
        }
        if self.program == "gzip" {
            let options = Options::read(self.words, "-S --suffix");
            let overwrites =
                options.has('f', "--force") && !options.has('c', "--stdout") && !options.has('t', "--test");
            let files: Vec<&Word> = options.rest;
            return (overwrites && !files.is_empty()).then(|| self.writes(&files, "file.write", "packs")).flatten();
        }
        let options = Options::read(self.words, "-C --directory -f --file -T --exclude");
        if options.word("--remove-files") {
            return Some(self.whole(RiskLevel::Confirm, "shell.archive.move", "deletes the files that it packs"));
        }
        let acts = options.value("--checkpoint-action").is_some_and(|action| action.starts_with("exec"));
        if acts
            || options.flags.iter().any(|flag| flag.starts_with("--to-command") || *flag == "--use-compress-program")
        {
            return Some(self.whole(RiskLevel::Confirm, "shell.archive.run", "runs other programs on the way"));
        }
        let folder =
            options.values.iter().find(|(name, _)| matches!(*name, "-C" | "C" | "--directory")).map(|(_, word)| *word);
        let creates = options.has('c', "--create")
            || options.has('t', "--list")
            || options.rest.first().is_some_and(|word| word.text.starts_with(['c', 't']));
        folder.filter(|_| !creates).and_then(|folder| self.writes(&[folder], "file.write", "unpacks into"))
    }

    pub(super) fn download(&self) -> Option<Verdict> {
        let verdict = self.downloaded()?;
        // `curl -o /usr/local/bin/tool …`: whoever calls it next runs what was fetched.
        let runs = self
            .words
            .iter()
            .any(|word| word.text.starts_with("/usr/local/bin/") || word.text.starts_with("/opt/bin/"));
        Some(if runs && verdict.level < RiskLevel::Confirm {
            Verdict { level: RiskLevel::Confirm, ..verdict }
        } else {
            verdict
        })
    }

    fn downloaded(&self) -> Option<Verdict> {
        if self.program == "curl" {
            self.option_file(&["-o", "--output"], "-o --output -H -d -X -u -A -F -e -b")
        } else {
            self.option_file(
                &["-O", "--output-document", "-P", "--directory-prefix"],
                "-O --output-document -P --directory-prefix -o -U --header",
            )
        }
    }
}

/// `mv src ..`, `mv .git /tmp/x`: a folder of the work goes out of it.
fn leaves(source: &Word, target: &Word, from: Place, to: Place) -> bool {
    let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let folder = !name.is_empty() && !source.pattern && !name.trim_start_matches('.').contains('.');
    let up = target.text == ".." || target.text.starts_with("../");
    let inside = !source.text.starts_with(['/', '~', '$']) && !source.text.starts_with("..");
    folder
        && inside
        && !is_made_again(&source.text)
        && (up || matches!(to, Place::Elsewhere | Place::Temporary | Place::Home) && from != to)
        && (up || target.text.starts_with(['/', '~']))
}
