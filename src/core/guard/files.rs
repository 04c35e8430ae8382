//! The commands that delete, move, overwrite and change files, judged by where the files are.

use super::{
    RiskLevel,
    command::Verdict,
    paths::{Place, RiskContext, place_of},
    shell::{Options, Redirect, RedirectKind, SimpleCommand, Via, Word},
};

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

/// Whether a path, by its name or a folder in it, is what builds, tests and editors make and make again.
pub(super) fn is_made_again(path: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "build",
        "dist",
        "out",
        "target",
        "bin",
        "obj",
        "tmp",
        "temp",
        "node_modules",
        "__pycache__",
        "coverage",
        "htmlcov",
        ".cache",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".nox",
        ".next",
        ".nuxt",
        ".turbo",
        ".parcel-cache",
        ".gradle",
        ".svelte-kit",
        "logs",
        "_build",
        "cmake-build-debug",
        "cmake-build-release",
    ];
    const ENDINGS: &[&str] = &[
        "o",
        "obj",
        "a",
        "so",
        "pyc",
        "pyo",
        "class",
        "tmp",
        "temp",
        "log",
        "swp",
        "swo",
        "pid",
        "gcda",
        "gcno",
        "gcov",
        "tsbuildinfo",
        "cache",
        "tgz",
        "whl",
        "aux",
        "toc",
        "dvi",
        "synctex",
        "d",
        "rlib",
        "map",
        "orig",
        "rej",
    ];
    const NAMES: &[&str] = &[
        ".coverage",
        "coverage.xml",
        "coverage.json",
        "lcov.info",
        "junit.xml",
        "a.out",
        "core",
        "nohup.out",
        ".DS_Store",
        "Thumbs.db",
        ".eslintcache",
        ".stylelintcache",
        "index.lock",
        "CMakeCache.txt",
    ];
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty() && *part != ".");
    let Some(name) = parts.next() else { return false };
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    NAMES.contains(&name)
        || FOLDERS.contains(&name)
        || matches!(stem, "tmp" | "temp" | "scratch")
        || ["tmp_", "tmp-", "temp_", "temp-"].iter().any(|start| name.starts_with(start))
        || ending.is_some_and(|ending| ENDINGS.contains(&ending))
        || parts.any(|part| FOLDERS.contains(&part))
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
        "sort" => judge.option_file(&["-o", "--output"], "-o --output -k -t -S -T"),
        "touch" | "mkdir" => judge.make(),
        _ => None,
    }
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
            keep(&mut worst, Self::verdict(level, rule, word, why));
        }
        worst
    }

    fn r#move(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "-t --target-directory -S --suffix");
        let to = options.value("-t").or_else(|| options.value("--target-directory"));
        let target =
            to.map(|text| Word { text: text.to_owned(), exact: true, pattern: false, span: self.command.span.clone() });
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

    fn copy(&self) -> Option<Verdict> {
        let options =
            Options::read(self.words, "-t --target-directory -S --suffix -m --mode -o --owner -g --group -P -i -F -c");
        let to = options.value("-t").or_else(|| options.value("--target-directory"));
        let target =
            to.map(|text| Word { text: text.to_owned(), exact: true, pattern: false, span: self.command.span.clone() });
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

    fn dd(&self) -> Option<Verdict> {
        let target = self.words.iter().find_map(|word| Some((word, word.text.strip_prefix("of=")?)))?;
        let word = Word { text: target.1.to_owned(), ..target.0.clone() };
        let place = self.place(&word);
        let level = match place {
            Place::Nowhere | Place::Temporary => RiskLevel::Cautious,
            Place::Device => RiskLevel::Dangerous,
            _ => RiskLevel::Confirm,
        };
        Some(Self::verdict(level, "shell.dd", &word, format!("overwrites {}", place.words())))
    }

    fn tee(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "");
        let empty =
            |redirect: &Redirect| redirect.kind == RedirectKind::Read && self.place(&redirect.target) == Place::Nowhere;
        let target = options.rest.first().filter(|_| !options.has('a', "--append"));
        if let Some(target) = target.filter(|target| self.place(target) != Place::Temporary)
            && self.command.redirects.iter().any(empty)
        {
            let level = write(self.place(target)).max(RiskLevel::Confirm);
            return Some(Self::verdict(level, "file.truncate", target, "empties a file".to_owned()));
        }
        self.writes(&options.rest, "file.write", "writes")
    }

    fn writes(&self, files: &[&Word], rule: &'static str, verb: &str) -> Option<Verdict> {
        let mut worst = None;
        for word in files {
            let place = self.place(word);
            keep(&mut worst, Self::verdict(write(place), rule, word, format!("{verb} a file in {}", place.words())));
        }
        worst
    }

    fn truncate(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "-s --size -r --reference");
        let size = options.value("-s").or_else(|| options.value("--size")).unwrap_or("");
        let shrinks = size.starts_with(['-', '<', '/', '%'])
            || size.trim_start_matches('0').trim_matches(|c: char| c.is_alphabetic()).is_empty();
        let mut worst = None;
        for word in &options.rest {
            let place = self.place(word);
            let level = if shrinks && !matches!(place, Place::Temporary | Place::Nowhere) {
                RiskLevel::Confirm
            } else {
                RiskLevel::Cautious
            };
            keep(
                &mut worst,
                Self::verdict(
                    level.max(write(place)),
                    "file.truncate",
                    word,
                    format!("cuts a file in {}", place.words()),
                ),
            );
        }
        worst
    }

    fn mode(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "--reference --from -m -M -x -X");
        let recursive = options.has('R', "--recursive")
            || options.word("/t")
            || self
                .words
                .iter()
                .any(|word| word.text.eq_ignore_ascii_case("/r") || word.text.eq_ignore_ascii_case("/t"));
        let (mode, files) = options.rest.split_first()?;
        let opens = matches!(
            mode.text.trim_start_matches('0'),
            "777" | "666" | "" | "a+rwx" | "ugo+rwx" | "o+w" | "a+w" | "a-rwx" | "ugo-rwx" | "-rwx" | "a=" | "a-r"
        ) || self.program == "chmod" && mode.text == "000";
        let mut worst = None;
        for word in files {
            let place = self.place(word);
            let handed = matches!(self.command.via, Via::Xargs | Via::FindExec) && !word.exact;
            let level = match place {
                _ if handed && opens => RiskLevel::Confirm,
                Place::System | Place::Root | Place::WholeHome | Place::Device if recursive => RiskLevel::Dangerous,
                Place::System | Place::Root | Place::Device => RiskLevel::Confirm,
                Place::WholeHome | Place::Private if opens => RiskLevel::Confirm,
                Place::Home | Place::Private | Place::WholeHome | Place::Elsewhere | Place::Unknown
                    if recursive && opens =>
                {
                    RiskLevel::Confirm
                }
                Place::Workspace | Place::WholeWorkspace if recursive && opens => RiskLevel::Confirm,
                _ => RiskLevel::Cautious,
            };
            keep(
                &mut worst,
                Self::verdict(level, "shell.permissions", word, format!("changes who may use {}", place.words())),
            );
        }
        worst
    }

    fn rsync(&self) -> Option<Verdict> {
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

    fn find(&self) -> Option<Verdict> {
        let deletes = deleting(self.words);
        let Some(delete_word) = deletes else {
            let file = self.words.windows(2).find(|pair| pair[0].text.starts_with("-fprint") || pair[0].text == "-fls");
            if let Some([_, file]) = file {
                return self.writes(&[file], "file.write", "writes");
            }
            if !self.words.iter().any(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")) {
                return Some(self.whole(RiskLevel::Safe, "shell.read", "only reads"));
            }
            return None;
        };
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

    fn in_place(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "-e --expression -f --file -E -l");
        let in_place = options.has('i', "--in-place") || options.flags.iter().any(|flag| flag.starts_with("-i"));
        if !in_place || matches!(self.program, "perl" | "ruby") && !options.has('p', "") && !options.has('n', "") {
            return None;
        }
        // `perl -n -i -e ''`: what is not printed is gone.
        if matches!(self.program, "perl" | "ruby") && options.has('n', "") && !options.has('p', "") {
            let code = options.value("-e").or_else(|| options.value("-E")).unwrap_or_default();
            let prints = ["print", "say", "write", "syswrite", "puts"].iter().any(|verb| code.contains(verb));
            if !prints && let Some(file) = options.rest.last() {
                return Some(Self::verdict(RiskLevel::Confirm, "file.truncate", file, "empties a file".to_owned()));
            }
        }
        let scripts = usize::from(!options.word("-e") && !options.word("--expression") && !options.word("-f"));
        let files = options.rest.get(scripts..).unwrap_or_default();
        // `sed -i d` leaves nothing.
        let script = options
            .rest
            .first()
            .filter(|_| scripts == 1)
            .map(|word| word.text.as_str())
            .or_else(|| options.value("-e"));
        if matches!(
            script,
            Some(
                "d" | "1,$d"
                    | "Q"
                    | "/./d"
                    | "//d"
                    | "/.*/d"
                    | "s/.*//"
                    | "s/.*//g"
                    | "/^/d"
                    | "/$/d"
                    | "1,$ d"
                    | "1d;$!d"
                    | "0,$d"
            )
        ) && let Some(file) = files.first()
        {
            return Some(Self::verdict(RiskLevel::Confirm, "file.truncate", file, "empties a file".to_owned()));
        }
        self.writes(files, "file.write", "changes")
    }

    fn archive(&self) -> Option<Verdict> {
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

    fn download(&self) -> Option<Verdict> {
        if self.program == "curl" {
            self.option_file(&["-o", "--output"], "-o --output -H -d -X -u -A -F -e -b")
        } else {
            self.option_file(
                &["-O", "--output-document", "-P", "--directory-prefix"],
                "-O --output-document -P --directory-prefix -o -U --header",
            )
        }
    }

    fn option_file(&self, names: &[&str], valued: &str) -> Option<Verdict> {
        let options = Options::read(self.words, valued);
        let name = names.iter().find_map(|name| options.value(name))?;
        let word = Word { text: name.to_owned(), exact: true, pattern: false, span: self.command.span.clone() };
        self.writes(&[&word], "file.write", "writes")
    }

    fn make(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "-m --mode -d --date -t -r --reference");
        let mut worst = None;
        for word in options.rest {
            let level = if write(self.place(word)) >= RiskLevel::Confirm && self.place(word) != Place::Private {
                RiskLevel::Confirm
            } else {
                RiskLevel::Cautious
            };
            keep(
                &mut worst,
                Self::verdict(level, "file.write", word, format!("makes something in {}", self.place(word).words())),
            );
        }
        worst
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

/// Keeps the stricter of two verdicts, the first of two that are alike.
pub(super) fn keep(worst: &mut Option<Verdict>, verdict: Verdict) {
    if worst.as_ref().is_none_or(|worst| worst.level < verdict.level) {
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
