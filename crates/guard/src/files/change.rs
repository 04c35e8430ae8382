//! Commands that change files where they lie: written over, cut, changed in place, opened to others, made.

use super::{Judge, keep, write};
use crate::{
    RiskLevel,
    command::Verdict,
    paths::Place,
    shell::{Options, Redirect, RedirectKind, Via, Word},
};

impl Judge<'_> {
    pub(super) fn dd(&self) -> Option<Verdict> {
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

    pub(super) fn tee(&self) -> Option<Verdict> {
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

    pub(super) fn truncate(&self) -> Option<Verdict> {
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

    pub(super) fn mode(&self) -> Option<Verdict> {
        let options = Options::read(self.words, "--reference --from -m -M -x -X");
        let recursive = options.has('R', "--recursive")
            || options.word("/t")
            || self
                .words
                .iter()
                .any(|word| word.text.eq_ignore_ascii_case("/r") || word.text.eq_ignore_ascii_case("/t"));
        if self.program == "icacls" {
            return self.access_list();
        }
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

    /// `icacls C:\data /grant Everyone:F`: the file stands first, and what it is told behind it.
    fn access_list(&self) -> Option<Verdict> {
        let (file, told) = self.words.split_first()?;
        let has =
            |names: &[&str]| told.iter().any(|word| names.iter().any(|name| word.text.eq_ignore_ascii_case(name)));
        let changes = has(&["/save", "/restore", "/grant", "/deny", "/remove", "/reset", "/setowner", "/substitute"])
            || told.iter().any(|word| word.text.contains(':') && word.text.starts_with('/'));
        if told.is_empty() || has(&["/findsid", "/verify"]) && !changes {
            return Some(self.whole(RiskLevel::Safe, "shell.read", "only shows who may use a file"));
        }
        let everybody = told.iter().any(|word| {
            let whom = word.text.trim_start_matches(['*', '"']).to_ascii_lowercase();
            ["everyone:", "s-1-1-0:", "users:", "builtin\\users:"].iter().any(|start| whom.starts_with(start))
        });
        let place = self.place(file);
        let system = matches!(place, Place::System | Place::Root | Place::Device | Place::WholeHome);
        let many = has(&["/t", "/reset", "/deny", "/remove", "/setowner"]);
        let level = if system || everybody || many { RiskLevel::Confirm } else { RiskLevel::Cautious };
        let why = format!("changes who may use {}", place.words());
        Some(Self::verdict(level, "shell.permissions", file, why))
    }

    pub(super) fn in_place(&self) -> Option<Verdict> {
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

    pub(super) fn make(&self) -> Option<Verdict> {
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
