//! A call as rules see it: its arguments, and its parts with their words, paths and hosts.
//!
//! A shell line has one part for each simple command, wherever it stands; every other call is one part. Rules that
//! permit must cover all parts; for the others one is enough.

use std::ops::Range;

use serde_json::Value;

use super::{
    host::{MOST_HOSTS, host_of_word, hosts_in},
    place::{Place, Surroundings},
};
use crate::{
    RiskContext, RiskLevel,
    code::Language,
    command::{Started, Told, Verdict as RiskVerdict, is_known, started, started_by_code, told},
    files, lines,
    links::Links,
    names,
    records::enter,
    risk::{Nature, code_of, is_command, nature},
    shell::{self, RedirectKind, SimpleCommand, Via, Word as ShellWord},
};

/// Strings of a call that are looked at. A call that holds more is not understood: a person is asked.
const MOST_STRINGS: usize = 2_048;
/// Pairs of a command and a path beside it that are compared for what permits.
const MOST_PAIRS: usize = 200_000;

/// A call, taken apart.
pub(crate) struct Subject {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The arguments that hold shell lines, as JSON pointers.
    pub(crate) lines: Vec<String>,
    pub(crate) parts: Vec<Part>,
    /// The commands that code in a call starts, and what is another program by its name: what forbids or asks meets
    /// them like any other.
    pub(crate) inside: Vec<Part>,
    /// What stands beside shell lines: a folder to run in, for one.
    pub(crate) beside: Option<Part>,
    /// What of a shell line nobody understands.
    pub(crate) unparsed: Option<Range<usize>>,
    /// The links that its paths follow.
    pub(crate) links: Links,
}

/// A simple command of a shell line, or the whole call.
#[derive(Default)]
pub(crate) struct Part {
    /// As it stands in the line; the tool's name where there is no line.
    pub(crate) text: String,
    /// Bytes of the line.
    pub(crate) span: Option<Range<usize>>,
    pub(crate) words: Vec<Word>,
    pub(crate) writes: Vec<Place>,
    pub(crate) paths: Vec<Place>,
    pub(crate) hosts: Vec<String>,
    /// What risk says of it, where it is a command of a line.
    pub(crate) level: RiskLevel,
    /// The word or file that this is about, where it is about one alone.
    pub(crate) about: Option<String>,
    /// Only who names that very thing means this: a setting, a secret, a file that is written on the way.
    pub(crate) by_the_way: bool,
    /// It runs other commands, which are parts of their own, and does nothing beside.
    pub(crate) hands_on: bool,
    /// It only reads something that is asked about: a secret, an address.
    pub(crate) reads: bool,
    /// It runs the checks of the workspace, as who asks about them wants: its tests, a linter, a compiler.
    pub(crate) checks: bool,
    /// It changes files by itself, as `touch` and `sed -i` do, and runs nothing.
    pub(crate) writes_files: bool,
    /// The variables that it is started with, each as `NAME=value`.
    pub(crate) settings: Vec<Word>,
    /// The words by which it is told to write or to run something.
    pub(crate) told: Vec<Told>,
    /// It is a part that was seen before, under another name: what permits need not cover it twice.
    pub(crate) again: bool,
}

/// A word of a command; `exact` if nothing in it depends on variables, substitutions or files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) exact: bool,
}

impl Subject {
    pub(crate) fn new(tool: &str, input: &Value, around: &Surroundings) -> Self {
        let _records = enter(around.commands);
        let nature = nature(tool);
        let mut strings = Strings::default();
        strings.walk("", "", input, &nature, around);
        let (mut parts, mut inside, mut unparsed, mut lines) = (Vec::new(), Vec::new(), None, Vec::new());
        let context = RiskContext::of(around);
        for (pointer, line) in std::mem::take(&mut strings.lines) {
            let (text, script) = match &line {
                Line::Text(text) => (text.clone(), shell::parse(text)),
                Line::Words(words) => (words.join(" "), shell::parse_words(words)),
            };
            lines.push(pointer);
            unparsed = unparsed.or(script.unparsed);
            if parts.len() + script.commands.len() > 2 * shell::MAX_COMMANDS {
                unparsed = unparsed.or(Some(0..text.len()));
                break;
            }
            let words = matches!(line, Line::Words(_));
            for simple in &script.commands {
                let mut part = command(simple, &text, words, around);
                if part.paths.len() > MOST_STRINGS || part.hosts.len() > MOST_HOSTS {
                    unparsed = unparsed.or(Some(simple.span.clone()));
                }
                let found = started(simple, &context);
                if let Some(verdict) = &found.verdict {
                    assess(&mut part, simple, verdict);
                }
                parts.push(part);
                if found.unread {
                    unparsed = unparsed.or(Some(simple.span.clone()));
                }
                list(&found, &mut inside, around);
            }
        }
        for (text, language) in std::mem::take(&mut strings.code) {
            let found = started_by_code(&text, language, &context);
            if found.unread {
                unparsed = unparsed.or(Some(0..text.len()));
            }
            list(&found, &mut inside, around);
        }
        if inside.len() > 2 * shell::MAX_COMMANDS {
            unparsed = unparsed.or(Some(0..0));
        }
        let Strings { paths, hosts, seen, .. } = strings;
        if seen > MOST_STRINGS || hosts.len() > MOST_HOSTS || parts.len() * (paths.len() + hosts.len()) > MOST_PAIRS {
            unparsed = unparsed.or(Some(0..0));
        }
        let whole = Part { text: tool.to_owned(), paths, hosts, ..Part::default() };
        let mut beside = None;
        if lines.is_empty() {
            parts.push(whole);
        } else if !(whole.paths.is_empty() && whole.hosts.is_empty()) {
            beside = Some(whole);
        }
        let (tool, input) = (tool.to_owned(), input.clone());
        Self { tool, input, lines, parts, inside, beside, unparsed, links: Links::new() }
    }

    /// Has paths lead where their links do.
    pub(crate) fn follow(&mut self, links: &Links, around: &Surroundings) {
        let parts = self.parts.iter_mut().chain(&mut self.inside).chain(&mut self.beside);
        for place in parts.flat_map(|part| part.paths.iter_mut().chain(&mut part.writes)) {
            place.follow(links, around);
        }
        self.links.clone_from(links);
    }

    /// The value that a rule names: by a JSON pointer, or by its key.
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        if name.starts_with('/') { self.input.pointer(name) } else { self.input.get(name) }
    }

    /// Whether a rule that names this argument names a shell line, or what holds one.
    pub(crate) fn is_shell(&self, name: &str) -> bool {
        let name = name.strip_prefix('/').unwrap_or(name);
        self.lines.iter().any(|line| {
            line.strip_prefix('/')
                .and_then(|line| line.strip_prefix(name))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The parts that the call itself names, and what stands beside them.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain(&self.beside)
    }

    /// All parts, those inside of code too.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain(&self.inside).chain(&self.beside)
    }

    /// Whether it runs shell lines.
    pub(crate) fn runs_lines(&self) -> bool {
        !self.lines.is_empty()
    }
}

/// A shell line, or the words of one command.
enum Line {
    Text(String),
    Words(Vec<String>),
}

fn command(simple: &SimpleCommand, line: &str, given: bool, around: &Surroundings) -> Part {
    let own = !given && matches!(simple.via, Via::Direct | Via::Substitution | Via::Function);
    let written = own.then(|| line.get(simple.span.clone())).flatten();
    // One that stands in a string of another has no text of its own.
    let joined = || simple.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let text = written.map_or_else(joined, str::to_owned);
    let folder = simple.cwd.as_ref().map(|word| if word.exact { word.text.clone() } else { "$CWD".to_owned() });
    let place =
        |word: &ShellWord, path: &str| Place::within(path, word.pattern || !word.exact, folder.as_deref(), around);
    let mut paths = Vec::new();
    let mut hosts = Vec::new();
    let program = simple.program().unwrap_or_default();
    for (at, word) in simple.words.iter().enumerate() {
        hosts_in(&word.text, &mut hosts);
        if at == 0 {
            if word.text.contains('/') {
                paths.push(place(word, &word.text));
            }
            continue;
        }
        let before = simple.words.get(at.wrapping_sub(1)).map(|word| word.text.as_str());
        if lines::goes_out(program) && !before.is_some_and(lines::takes_no_host) {
            host_of_word(&word.text, &mut hosts);
        }
        // `--file=/etc/x`, `if=/dev/sda`, `-f/etc/x`: what may be a path in a word.
        let value = word.text.split_once('=').map(|(_, value)| value);
        let joined = word.text.strip_prefix('-').and_then(|flag| flag.find(['/', '~']).map(|at| &flag[at..]));
        let whole = (!word.text.starts_with('-') && !word.text.contains("://")).then_some(word.text.as_str());
        // `-d @file`, `-F name=@file`.
        let paths_of = [whole, value, joined].into_iter().flatten().map(|path| path.trim_start_matches(['@', '<']));
        for path in paths_of.filter(|path| !path.is_empty()) {
            if paths.len() <= MOST_STRINGS {
                paths.push(place(word, path));
            }
        }
    }
    let mut writes = Vec::new();
    for redirect in &simple.redirects {
        let file = match redirect.kind {
            RedirectKind::Duplicate | RedirectKind::HereText => continue,
            RedirectKind::Read => false,
            RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => true,
        };
        let to = place(&redirect.target, &redirect.target.text);
        if file {
            writes.push(to.clone());
        }
        paths.push(to);
    }
    let told = told(simple);
    for word in told.iter().filter_map(|told| told.file.as_ref()) {
        let file = place(word, &word.text);
        if paths.len() <= MOST_STRINGS && !paths.contains(&file) {
            paths.push(file);
        }
    }
    let plain = |word: &ShellWord| Word { text: word.text.clone(), exact: word.exact && !word.pattern };
    let (words, settings) = (simple.words.iter().map(plain).collect(), simple.settings.iter().map(plain).collect());
    let span = Some(simple.span.clone());
    Part { text, span, words, writes, paths, hosts, settings, told, ..Part::default() }
}

/// Takes down what risk says of a command, and what of it that is about.
fn assess(part: &mut Part, simple: &SimpleCommand, verdict: &RiskVerdict) {
    part.level = verdict.level;
    let words = simple.words.iter().skip(1).chain(simple.redirects.iter().map(|redirect| &redirect.target));
    let words = words.chain(&simple.settings);
    let within = |word: &&ShellWord| verdict.span.start <= word.span.start && word.span.end <= verdict.span.end;
    let mut about = words.filter(within);
    // The one word of a program that is not known here may be what it is to do.
    let told = verdict.rule != "shell.run" || simple.program().is_some_and(is_known);
    part.about = about.next().filter(|_| told && about.next().is_none()).map(|word| word.text.clone());
    let rule = verdict.rule;
    let made_again = || part.about.as_deref().is_some_and(files::is_made_again);
    part.by_the_way = matches!(rule, "shell.environment" | "secret.read" | "shell.option" | "file.option")
        || rule == "file.redirect" && !made_again();
    part.hands_on = simple.hands_on && rule == "shell.run";
    part.reads = verdict.level == RiskLevel::Safe
        || rule == "secret.read"
        || rule == "shell.run" && (lines::fetches(simple) || part.hands_on);
    part.checks = rule == "shell.run" && lines::checks(simple);
    part.writes_files = ["file.", "code.write"].iter().any(|start| rule.starts_with(start));
}

/// Lists what was found inside of a command or of code.
fn list(found: &Started, parts: &mut Vec<Part>, around: &Surroundings) {
    let again = found.renamed.iter().map(|simple| Part { again: true, ..command(simple, "", true, around) });
    parts.extend(found.inside.iter().map(|simple| command(simple, "", true, around)).chain(again));
}

/// The name of a program, without its folders.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

/// The strings of a call's arguments: shell lines, and what else names paths and hosts.
#[derive(Default)]
struct Strings {
    paths: Vec<Place>,
    hosts: Vec<String>,
    lines: Vec<(String, Line)>,
    code: Vec<(String, Language)>,
    seen: usize,
}

impl Strings {
    fn walk(&mut self, pointer: &str, key: &str, value: &Value, nature: &Nature, around: &Surroundings) {
        // Depth is bounded by the parser of the arguments.
        match value {
            Value::String(text) => {
                self.seen += 1;
                if self.seen > MOST_STRINGS {
                    return;
                }
                if is_command(&key.to_ascii_lowercase(), nature) {
                    self.lines.push((pointer.to_owned(), Line::Text(text.clone())));
                    return;
                }
                if let Some(language) = code_of(&key.to_ascii_lowercase(), nature) {
                    self.code.push((text.clone(), language));
                }
                hosts_in(text, &mut self.hosts);
                if names_a_host(key) {
                    host_of_word(text, &mut self.hosts);
                }
                if (names_a_path(key) || looks_like_a_path(text)) && !text.contains("://") {
                    self.paths.push(Place::new(text, false, around));
                }
            }
            Value::Array(items) => {
                let lower = key.to_ascii_lowercase();
                // `commands` are lines, `command` and `argv` are the words of one.
                let words: Option<Vec<String>> = (is_command(&lower, nature)
                    && !matches!(lower.as_str(), "commands" | "cmds"))
                .then(|| items.iter().map(|item| item.as_str().map(str::to_owned)).collect())
                .flatten();
                match words {
                    Some(words) if words.len() > 1 => self.lines.push((pointer.to_owned(), Line::Words(words))),
                    _ => {
                        for (at, item) in items.iter().enumerate() {
                            self.walk(&format!("{pointer}/{at}"), key, item, nature, around);
                        }
                    }
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.walk(&format!("{pointer}/{name}"), name, member, nature, around);
                }
            }
            _ => {}
        }
    }
}

/// Keys whose words say that a path stands there.
pub(crate) fn names_a_path(key: &str) -> bool {
    words_of(key).any(|word| names::has("tools.path_words", &word))
}

pub(crate) fn names_a_host(key: &str) -> bool {
    const WORDS: [&str; 8] = ["url", "uri", "host", "hostname", "domain", "site", "endpoint", "server"];
    words_of(key).any(|word| WORDS.contains(&word.as_str()))
}

pub(crate) fn looks_like_a_path(text: &str) -> bool {
    text.len() < 4_096
        && !text.contains('\n')
        && (text.starts_with('/')
            || text.starts_with("~/")
            || text.starts_with("./")
            || text.starts_with("../")
            || text == "~"
            || (text.contains('/') && !text.contains(char::is_whitespace)))
}

/// The words of a name: `filePath`, `file_path` and `file-path` have two.
pub(crate) fn words_of(name: &str) -> impl Iterator<Item = String> + '_ {
    let mut words: Vec<String> = Vec::new();
    let mut lower = false;
    for c in name.chars().take(256) {
        if !c.is_alphanumeric() {
            lower = false;
            words.push(String::new());
            continue;
        }
        if words.is_empty() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.into_iter().filter(|word| !word.is_empty())
}
