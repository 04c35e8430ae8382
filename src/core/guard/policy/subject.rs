//! A call as rules see it: its arguments, and its parts with their words, paths and hosts.
//!
//! A shell line has one part for each simple command, wherever it stands; every other call is one part. Rules that
//! permit must cover all parts; for the others one is enough.

use std::ops::Range;

use serde_json::Value;

use super::{
    host::{host_of_word, hosts_in},
    place::{Place, Surroundings},
};
use crate::core::guard::{
    lines,
    shell::{self, RedirectKind, SimpleCommand, Via, Word as ShellWord},
};

/// Strings of a call that are looked at.
const MOST_STRINGS: usize = 10_000;

/// A call, taken apart.
pub(crate) struct Subject {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The argument that holds the shell line.
    pub(crate) shell: Option<String>,
    pub(crate) parts: Vec<Part>,
    /// What of the shell line nobody understands.
    pub(crate) unparsed: Option<Range<usize>>,
}

/// A simple command of a shell line, or the whole call.
pub(crate) struct Part {
    /// As it stands in the line; the tool's name where there is no line.
    pub(crate) text: String,
    /// Bytes of the line.
    pub(crate) span: Option<Range<usize>>,
    pub(crate) words: Vec<Word>,
    pub(crate) writes: Vec<Place>,
    pub(crate) paths: Vec<Place>,
    pub(crate) hosts: Vec<String>,
}

/// A word of a command; `exact` if nothing in it depends on variables, substitutions or files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) exact: bool,
}

impl Subject {
    pub(crate) fn new(tool: &str, input: &Value, around: &Surroundings) -> Self {
        let shell = lines::shell_line(tool, input);
        let mut beside = Strings::default();
        beside.walk(None, input, shell.as_ref().map(|(name, _)| name.as_str()), around);
        let (parts, unparsed, shell) = match shell {
            None => {
                let Strings { paths, hosts, .. } = beside;
                let whole =
                    Part { text: tool.to_owned(), span: None, words: Vec::new(), writes: Vec::new(), paths, hosts };
                (vec![whole], None, None)
            }
            Some((name, line)) => {
                let script = shell::parse(&line);
                let parts = script.commands.iter().map(|simple| command(simple, &line, &beside, around)).collect();
                (parts, script.unparsed, Some(name))
            }
        };
        Self { tool: tool.to_owned(), input: input.clone(), shell, parts, unparsed }
    }

    /// The value that a rule names: by a JSON pointer, or by its key.
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        if name.starts_with('/') { self.input.pointer(name) } else { self.input.get(name) }
    }

    /// Whether a rule that names this argument names the shell line.
    pub(crate) fn is_shell(&self, name: &str) -> bool {
        self.shell.as_deref().is_some_and(|shell| name == shell || name.strip_prefix('/') == Some(shell))
    }
}

fn command(simple: &SimpleCommand, line: &str, beside: &Strings, around: &Surroundings) -> Part {
    let own = matches!(simple.via, Via::Direct | Via::Substitution | Via::Function);
    let written = own.then(|| line.get(simple.span.clone())).flatten();
    // One that stands in a string of another has no text of its own.
    let joined = || simple.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let text = written.map_or_else(joined, str::to_owned);
    let folder = simple.cwd.as_ref().map(|word| if word.exact { word.text.clone() } else { "$CWD".to_owned() });
    let place =
        |word: &ShellWord, path: &str| Place::within(path, word.pattern || !word.exact, folder.as_deref(), around);
    let mut paths = beside.paths.clone();
    let mut hosts = beside.hosts.clone();
    let program = simple.program().unwrap_or_default();
    for (at, word) in simple.words.iter().enumerate() {
        hosts_in(&word.text, &mut hosts);
        if at == 0 {
            if word.text.contains('/') {
                paths.push(place(word, &word.text));
            }
            continue;
        }
        if lines::goes_out(program) {
            host_of_word(&word.text, &mut hosts);
        }
        // `--file=/etc/x`, `if=/dev/sda`, `-f/etc/x`: what may be a path in a word.
        let value = word.text.split_once('=').map(|(_, value)| value);
        let joined = word.text.strip_prefix('-').and_then(|flag| flag.find(['/', '~']).map(|at| &flag[at..]));
        let whole = (!word.text.starts_with('-') && !word.text.contains("://")).then_some(word.text.as_str());
        for path in [whole, value, joined].into_iter().flatten().filter(|path| !path.is_empty()) {
            if paths.len() < MOST_STRINGS {
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
    let words = simple.words.iter().map(|word| Word { text: word.text.clone(), exact: word.exact && !word.pattern });
    Part { text, span: Some(simple.span.clone()), words: words.collect(), writes, paths, hosts }
}

/// The name of a program, without its folders.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

/// The strings of a call's arguments, as paths and hosts.
#[derive(Default)]
struct Strings {
    paths: Vec<Place>,
    hosts: Vec<String>,
    seen: usize,
}

impl Strings {
    fn walk(&mut self, key: Option<&str>, value: &Value, but: Option<&str>, around: &Surroundings) {
        match value {
            Value::String(text) if self.seen < MOST_STRINGS => {
                self.seen += 1;
                hosts_in(text, &mut self.hosts);
                let key = key.unwrap_or_default();
                if names_a_host(key) {
                    host_of_word(text, &mut self.hosts);
                }
                if (names_a_path(key) || looks_like_a_path(text)) && !text.contains("://") {
                    self.paths.push(Place::new(text, false, around));
                }
            }
            // Depth is bounded by the parser of the arguments.
            Value::Array(items) => items.iter().for_each(|item| self.walk(key, item, None, around)),
            Value::Object(members) => {
                for (name, member) in members.iter().filter(|(name, _)| Some(name.as_str()) != but) {
                    self.walk(Some(name), member, None, around);
                }
            }
            _ => {}
        }
    }
}

/// Keys whose words say that a path stands there.
fn names_a_path(key: &str) -> bool {
    const WORDS: [&str; 22] = [
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "filepath",
        "dir",
        "directory",
        "folder",
        "root",
        "cwd",
        "workdir",
        "source",
        "src",
        "destination",
        "dest",
        "dst",
        "target",
        "output",
        "input",
        "workspace",
        "location",
    ];
    words_of(key).any(|word| WORDS.contains(&word.as_str()))
}

fn names_a_host(key: &str) -> bool {
    const WORDS: [&str; 8] = ["url", "uri", "host", "hostname", "domain", "site", "endpoint", "server"];
    words_of(key).any(|word| WORDS.contains(&word.as_str()))
}

fn looks_like_a_path(text: &str) -> bool {
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
