//! Files that one command lists and another one is handed to show: `find . -name .env | xargs cat`, `cat $(ls -a)`,
//! `for f in .e*; do cat "$f"; done`. A listing that may hold a file of secrets counts like one that names it.

use std::collections::HashSet;

use regex::RegexBuilder;

use super::{
    command::{Verdict, finds_secrets, operands, searches_all, seeks_secrets},
    files::keep,
    flow::Weight,
    names,
    shell::{RedirectKind, Script, SimpleCommand, Via, Word},
    shown::{Found, fits, is_home, shows, verdict, weighed},
};

/// So many listings, and commands that take what is listed, are held against each other.
const MOST: usize = 64;

/// So many commands of loops are held against the files that the loops go through.
const MOST_LOOPS: usize = 8;

/// Longer patterns, and more tests of a `find`, may let anything through.
const LONGEST: usize = 128;

/// A file that any listing of all files may hold.
const ANY: &str = ".env";

/// Looks through a script for what is listed and shown.
pub(super) fn judge(script: &Script) -> Option<Verdict> {
    let commands = &script.commands;
    let listings = commands.iter().enumerate().filter(|(_, command)| lists(command)).take(MOST);
    let listings: Vec<_> = listings.map(|(at, command)| (at, command, Listed::of(command))).collect();
    let mut worst = None;
    if listings.is_empty() && script.looped.is_empty() {
        return worst;
    }
    let read = commands.iter().any(|command| command.program().is_some_and(|name| names::has("programs.taking", name)));
    // What `wc` counts at the end of a pipeline is not seen.
    let summed = |at: usize| {
        let (command, next) = (&commands[at], commands.get(at + 1));
        let within = |other: &SimpleCommand| other.pipeline > 0 && other.pipeline == command.pipeline;
        let counted = next.is_some_and(|next| within(next) && next.via == Via::Direct && next.program() == Some("wc"));
        counted && command.redirects.is_empty() && !commands.get(at + 2).is_some_and(within)
    };
    let looped: HashSet<&str> = script.looped.iter().map(|word| word.text.as_str()).collect();
    let takers = commands.iter().enumerate().filter(|(_, command)| takes(command, &looped));
    let mut takers = takers.peekable();
    // More of them than are held against each other may hold anything.
    let many = commands.iter().filter(|command| lists(command)).nth(MOST).is_some();
    if let (true, Some((_, command))) = (many, takers.peek()) {
        keep(&mut worst, verdict((Weight::Settings, command.span.clone())));
    }
    let (mut loops, mut taken) = (0, 0);
    for (at, command) in takers.filter(|(at, _)| !summed(*at)) {
        if !command.program().is_some_and(shows) && !opens_unknown(command, &looped) {
            continue;
        }
        taken += 1;
        if taken > MOST {
            keep(&mut worst, verdict((Weight::Settings, command.span.clone())));
            break;
        }
        // A search shows the lines that it is made for, from whatever it is handed.
        let all =
            !is_search(command) || listings.iter().any(|(.., listed)| listed.hidden.is_some()) && finds_in_all(command);
        for (before, listing, listed) in listings.iter().filter(|(before, ..)| *before != at) {
            let given = match command.via {
                Via::Xargs => *before < at && listing.pipeline == command.pipeline,
                Via::FindExec => *before < at && listing.hands_on,
                _ if is_setting(listing) => operand(command, |word| word.pattern),
                _ if opens_objects(command) && *before < at && listing.pipeline > 0 => {
                    listing.pipeline == command.pipeline
                }
                _ => {
                    let unknown = operand(command, is_unknown) || opens_unknown(command, &HashSet::new());
                    unknown && (hands(listing) || read && listing.pipeline > 0)
                }
            };
            let found = listed.named.as_ref().or(listed.hidden.as_ref().filter(|_| all));
            if let Some(found) = found.filter(|_| given) {
                keep(&mut worst, verdict(found.clone()));
            }
        }
        let goes_through = |word: &Word| is_unknown(word) || looped.contains(word.text.as_str());
        if !looped.is_empty() && (operand(command, goes_through) || opens_unknown(command, &looped)) {
            loops += 1;
            // Where they run is all that tells several of them apart.
            let place = if loops > MOST_LOOPS { SimpleCommand::nothing(0..0) } else { command.clone() };
            if loops <= MOST_LOOPS + 1 {
                let found = script.looped.iter().filter_map(|word| weighed(word, &place));
                found.for_each(|found| keep(&mut worst, verdict(found)));
            }
        }
    }
    worst
}

/// Whether what a command lists becomes a part of another one: in a substitution, or as the words of a shell's text.
fn hands(listing: &SimpleCommand) -> bool {
    listing.via == Via::Substitution || listing.hands_on
}

/// Whether what a command is given may come from a listing: it stands for names that are not known.
fn takes(command: &SimpleCommand, looped: &HashSet<&str>) -> bool {
    matches!(command.via, Via::Xargs | Via::FindExec)
        || opens_unknown(command, looped)
        || opens_objects(command)
        || operand(command, |word| word.pattern || is_unknown(word) || looped.contains(word.text.as_str()))
}

/// Whether the last part of a word is not known: a name of a file may stand there.
fn is_unknown(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    !word.exact && (name.contains(['$', '`']) || word.text.ends_with(')'))
}

/// Whether a command reads from a file that is not known: `< "$f"`.
fn opens_unknown(command: &SimpleCommand, looped: &HashSet<&str>) -> bool {
    let is = |word: &Word| is_unknown(word) || looped.contains(word.text.as_str());
    command.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read && is(&redirect.target))
}

/// Whether a command of PowerShell opens the files that a pipe hands it.
fn opens_objects(command: &SimpleCommand) -> bool {
    command.program().is_some_and(|name| names::has("programs.opening_objects", &name.to_ascii_lowercase()))
}

/// Whether one of the words behind a program is so.
fn operand(command: &SimpleCommand, is: impl Fn(&Word) -> bool) -> bool {
    command.words.iter().skip(1).any(is)
}

/// What a command that lists files is told to list: `find . -name '.e*'` takes patterns in quotes. All that lies in a
/// home folder may be secret.
pub(super) fn named_to(command: &SimpleCommand) -> impl Iterator<Item = Found> {
    let words = command.words.get(1..).unwrap_or_default();
    let sorted = words.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-iregex" | "-e" | "--extension"
        )
    });
    let whole = words.iter().filter(move |word| !sorted && is_home(&word.text));
    let whole = whole.map(|word| (Weight::Settings, word.span.clone()));
    // `! -name '.*'` is left out, not listed.
    let negates = |at: usize| at.checked_sub(2).is_some_and(|at| matches!(words[at].text.as_str(), "!" | "-not"));
    let named = words.iter().enumerate().filter(move |(at, _)| !negates(*at));
    let named = named.map(|(_, word)| Word { pattern: true, ..word.clone() });
    whole.chain(named.filter_map(move |word| weighed(&word, command)))
}

/// Whether a command searches folders.
fn is_search(command: &SimpleCommand) -> bool {
    command.program().is_some_and(|name| names::has("programs.searches", name))
}

/// Whether a command makes patterns of the shell stand for hidden files.
fn is_setting(command: &SimpleCommand) -> bool {
    matches!(command.program(), Some("shopt" | "setopt"))
}

/// Whether a command lists files, or may name those in which it finds something.
fn lists(command: &SimpleCommand) -> bool {
    let listed = |name: &str| names::has("programs.listing", name) || lists_objects(name);
    is_search(command) || command.program().is_some_and(listed)
}

/// What is secret among the files that a command lists.
struct Listed {
    /// Files that it names, or that lie in a home folder.
    named: Option<Found>,
    /// Hidden files of any name.
    hidden: Option<Found>,
}

impl Listed {
    fn of(command: &SimpleCommand) -> Self {
        let whole = || (Weight::Settings, command.span.clone());
        let hidden = lists_hidden(command).then(whole);
        if !is_search(command) {
            return Self { named: named_to(command).max_by_key(|(weight, _)| *weight), hidden };
        }
        // The names of files in which a search found something.
        let words = command.words.get(1..).unwrap_or_default();
        let roots = command.program().map(|name| operands(name, words)).unwrap_or_default();
        Self { named: roots.iter().any(|word| is_home(&word.text)).then(whole), hidden }
    }
}

/// Whether a search finds lines of settings in the files that it is handed.
fn finds_in_all(command: &SimpleCommand) -> bool {
    let name = command.program().unwrap_or_default();
    let hidden = if names::has("programs.searches_folders", name) { "--hidden" } else { "-r" };
    let handed = command.words.iter().skip(1).filter(|word| word.text != "{}" && !is_unknown(word)).cloned();
    let words: Vec<_> = handed.chain([Word { text: hidden.to_owned(), exact: true, ..Word::default() }]).collect();
    searches_all(name, &words)
}

/// Whether hidden files of any name, or of those that settings with secrets have, are among what a command lists.
fn lists_hidden(command: &SimpleCommand) -> bool {
    let words = command.words.get(1..).unwrap_or_default();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.text.as_str()));
    let letter = |letters: &[char]| {
        words.iter().any(|word| {
            word.text.strip_prefix('-').is_some_and(|text| !text.starts_with('-') && text.contains(letters))
        })
    };
    let name = command.program().unwrap_or_default();
    match name {
        _ if names::has("programs.listing_by_all", name) => {
            let folders = |word: &&Word| !word.text.starts_with('-') && !word.pattern;
            let any = words.iter().all(|word| word.text.starts_with('-')) || words.iter().any(|word| folders(&word));
            any && (has(&["--all", "--almost-all"]) || letter(&['a', 'A', 'f']))
        }
        _ if names::has("programs.listing_by_tests", name) => finds_hidden(words),
        _ if names::has("programs.listing_by_pattern", name) => {
            let sorted = has(&["-e", "--extension", "-g", "--glob"]);
            let sought = operands(name, words).first().map_or("", |word| word.text.as_str());
            (has(&["--hidden", "--unrestricted"]) || letter(&['H', 'u'])) && !sorted && may_match(sought, ANY)
        }
        "git" => has(&["--ignored"]) || has(&["ls-files"]) && (has(&["--others"]) || letter(&['o'])) || has(&["clean"]),
        _ if lists_objects(name) => words.iter().any(|word| {
            let text = word.text.to_ascii_lowercase();
            text.starts_with("-fo") || text.starts_with("-h") || text.starts_with("-att")
        }),
        "shopt" | "setopt" if !letter(&['u']) => {
            words.iter().any(|word| word.text.to_ascii_lowercase().replace('_', "").contains("dot"))
        }
        "rg" if has(&["--files"]) => {
            let kept = |pair: &[Word]| {
                matches!(pair[0].text.as_str(), "-g" | "--glob" | "-t" | "--type") && !pair[1].text.starts_with('!')
            };
            let sorted = words.windows(2).any(kept) && !seeks_secrets(words);
            let twice = words.iter().filter(|word| matches!(word.text.as_str(), "-u" | "--unrestricted")).count() > 1;
            !sorted && (seeks_secrets(words) || twice || has(&["-.", "--hidden", "-uu", "-uuu"]))
        }
        _ => finds_secrets(name, words),
    }
}

/// Whether a command lists files as PowerShell does, hidden ones with `-Force`.
fn lists_objects(name: &str) -> bool {
    names::has("programs.listing_objects", &name.to_ascii_lowercase())
}

/// Whether `find` finds a file of settings: in one of the branches that `-o` parts each test of a name lets it through.
fn finds_hidden(words: &[Word]) -> bool {
    let mut texts = words.iter().map(|word| word.text.as_str()).peekable();
    let (mut passes, mut negated) = (true, false);
    if words.len() > LONGEST {
        return true;
    }
    while let Some(text) = texts.next() {
        let within = format!("./{ANY}");
        let test = match text {
            "!" | "-not" => {
                // What a group leaves out is not looked at: it may let anything through.
                if texts.peek() == Some(&"(") {
                    return true;
                }
                negated = true;
                continue;
            }
            "-o" | "-or" | "," => {
                if passes {
                    return true;
                }
                (passes, negated) = (true, false);
                continue;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                texts.by_ref().find(|text| matches!(*text, ";" | "+"));
                continue;
            }
            "-type" => texts.next().is_none_or(|kind| kind.contains('f')),
            "-name" | "-iname" => texts.next().is_none_or(|pattern| {
                let pattern = pattern.to_ascii_lowercase();
                fits(&pattern, ANY, true) || !negated && names_secrets(&pattern)
            }),
            "-path" | "-ipath" | "-wholename" | "-iwholename" => {
                let pattern = texts.next().unwrap_or("*");
                let last = if negated { pattern } else { pattern.rsplit('/').next().unwrap_or(pattern) };
                let name = if negated { within.as_str() } else { ANY };
                fits(last, name, true)
            }
            "-regex" | "-iregex" => {
                let pattern = texts.next().unwrap_or_default();
                let plain = ["(", ")", "|"]
                    .iter()
                    .fold(pattern.to_owned(), |text, sign| text.replace(&format!("\\{sign}"), sign));
                may_match(&format!("^(?:{plain})$"), &within)
            }
            _ => continue,
        };
        passes &= test != negated;
        negated = false;
    }
    passes
}

/// `*secret*`, `*token*`: a pattern that means nothing but secrets.
fn names_secrets(pattern: &str) -> bool {
    let word = pattern.trim_matches(['*', '?', '.', '_', '-']);
    names::has("files.opening", word) || names::has("files.opening", word.trim_end_matches('s'))
}

fn may_match(pattern: &str, name: &str) -> bool {
    let mut read = RegexBuilder::new(pattern);
    let read = read.case_insensitive(true).size_limit(1 << 16);
    pattern.len() > LONGEST || read.build().map_or(true, |read| read.is_match(name))
}
