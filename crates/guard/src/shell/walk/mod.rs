//! From the syntax tree to simple commands, in the order of the text, with what variables and folders are known.

mod arithmetic;
mod assign;
mod backquote;
mod documents;
mod effect;
mod reader;
mod redirect;
mod tree;
mod written;

use loopwright_base::text::floor_boundary;

use std::{collections::BTreeMap, ops::Range};

use self::{
    arithmetic::Flows,
    effect::{Folder, folder_after, output_of},
    reader::Reader,
    tree::tree_of,
    written::Written,
};
use super::{
    Input, MAX_COMMANDS, MAX_NESTING, MAX_TEXT, Redirect, RedirectKind, Script, SimpleCommand, Via, Word, powershell,
    word::Variables,
    wrap::{self, Inner},
};

/// All texts of one call, those inside of others included, are no longer than this together.
const MAX_TOTAL: usize = 4 * MAX_TEXT;

/// Where a command is found.
#[derive(Clone)]
struct Place {
    via: Via,
    elevated: bool,
    remote: bool,
    input: Input,
    nesting: usize,
    /// In the text of another command: the span of the word that holds the text.
    within: Option<Range<usize>>,
    /// The function whose body this is.
    function: Option<String>,
    pipeline: usize,
    grouped: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            via: Via::Direct,
            elevated: false,
            remote: false,
            input: Input::None,
            nesting: 0,
            within: None,
            function: None,
            pipeline: 0,
            grouped: false,
        }
    }
}

struct Walk {
    script: Script,
    variables: Variables,
    cwd: Option<Word>,
    budget: usize,
    looks: usize,
    pipelines: usize,
    /// How often the body of a loop was read for one of its values.
    turns: usize,
    /// The variables that are set for the next command alone.
    settings: Vec<Word>,
    /// Files that the text writes, with what is known of it.
    written: Written,
    /// Where the values of variables come from and are evaluated.
    flows: Flows,
}

impl Walk {
    fn new() -> Self {
        Self {
            script: Script::default(),
            variables: BTreeMap::new(),
            cwd: None,
            budget: MAX_TOTAL,
            looks: 0,
            pipelines: 0,
            turns: 0,
            settings: Vec::new(),
            written: Written::default(),
            flows: Flows::default(),
        }
    }
}

pub(super) fn script(text: &str) -> Script {
    let mut walk = Walk::new();
    let end = floor_boundary(text, MAX_TEXT);
    walk.text(&text[..end], &Place::default());
    if end < text.len() {
        walk.unparsed(end..text.len());
    }
    walk.evaluate();
    walk.script
}

pub(super) fn argv(words: &[String]) -> Script {
    let mut walk = Walk::new();
    let mut at = 0;
    let words = words.iter().map(|text| {
        let span = at..at + text.len();
        at = span.end + 1;
        Word { text: text.clone(), exact: true, span, ..Word::default() }
    });
    let words: Vec<Word> = words.collect();
    let span = 0..at.saturating_sub(1);
    walk.emit(words, Vec::new(), span, &Place::default());
    walk.evaluate();
    walk.script
}

impl Walk {
    fn unparsed(&mut self, span: Range<usize>) {
        if self.script.unparsed.is_none() {
            self.script.unparsed = Some(span);
        }
    }

    /// Reads a whole text: the one given, or one found inside.
    fn text(&mut self, text: &str, place: &Place) {
        let whole = place.within.clone().unwrap_or(0..text.len());
        if place.nesting > MAX_NESTING || text.len() > self.budget {
            return self.unparsed(whole);
        }
        self.budget -= text.len();
        if text.contains('\0') {
            self.unparsed(whole.clone());
        }
        let (before, listed) = (self.script.unparsed.clone(), self.script.commands.len());
        match tree_of(text) {
            Ok(tree) => {
                let mut reader = Reader { walk: self, text };
                reader.flows(tree.root_node(), place);
                reader.node(tree.root_node(), place, 0)
            }
            Err(reached) => {
                self.unparsed(whole.clone());
                // What stands before the place that was too hard still counts.
                let end = floor_boundary(text, reached);
                if end > 0
                    && let Ok(tree) = tree_of(&text[..end])
                {
                    Reader { walk: self, text: &text[..end] }.node(tree.root_node(), place, 0)
                } else {
                    Input::Piped(String::new())
                }
            }
        };
        // What is no shell's text may be that of PowerShell; what was found in it all the same still counts.
        let nameless = |command: &SimpleCommand| !command.words.is_empty() && command.program().is_none();
        let known = |name: &str| self.variables.contains_key(name);
        let value = |command: &SimpleCommand| {
            nameless(command) && command.words.first().is_some_and(|word| powershell::is_value(text, word, known))
        };
        let blocks = self.script.commands[listed..].iter().any(|command| has_block(text, command, place));
        if !(self.script.unparsed != before || blocks || self.script.commands[listed..].iter().any(nameless)) {
            return;
        }
        if let Some(calls) = powershell::calls(text, place.within.as_ref()) {
            self.script.unparsed = before;
            let found = self.script.commands.split_off(listed);
            let found: Vec<_> = found.into_iter().filter(|command| !value(command)).collect();
            self.script.commands.extend(found);
            for call in calls {
                let words = call.words.first().zip(call.words.last());
                let span = words.map_or(whole.clone(), |(first, last)| first.span.start..last.span.end);
                self.emit(call.words, call.redirects, span, place);
            }
        } else if blocks {
            self.unparsed(whole);
        }
    }

    /// Reads a text that runs in a shell of its own: what it does to variables and folders stays in there.
    fn text_apart(&mut self, text: &str, place: &Place) {
        let outer = (self.variables.clone(), self.cwd.clone());
        self.text(text, place);
        (self.variables, self.cwd) = outer;
    }

    /// Takes down one simple command, and those that it runs.
    fn emit(&mut self, mut words: Vec<Word>, redirects: Vec<Redirect>, span: Range<usize>, place: &Place) -> Input {
        if self.script.commands.len() >= MAX_COMMANDS {
            self.unparsed(span);
            return Input::Piped(String::new());
        }
        // `A=1\⏎ B=2\⏎ rm x`: the grammar takes what stands behind a continued line for the command.
        let assigned = words.iter().take_while(|word| assignment(&word.text)).count();
        let mut settings = std::mem::take(&mut self.settings);
        settings.extend(words.drain(..assigned));
        let here = redirects.iter().rfind(|redirect| redirect.kind == RedirectKind::HereText);
        let input = match here {
            Some(here) => Input::Known(here.target.clone()),
            None if redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read) => Input::None,
            None => place.input.clone(),
        };
        let mut command = SimpleCommand {
            words,
            redirects,
            input,
            span: span.clone(),
            via: place.via,
            elevated: place.elevated,
            remote: place.remote,
            cwd: self.cwd.clone(),
            pipeline: place.pipeline,
            settings,
            hands_on: false,
            grouped: place.grouped,
        };
        let output = output_of(&command);
        let mut inner = wrap::inner(&command);
        if let Some(text) = self.written.run_by(&command) {
            inner.push(Inner {
                words: Vec::new(),
                text: Some(text),
                via: Via::ShellText,
                elevated: false,
                remote: false,
                input: Input::None,
            });
        }
        command.hands_on = !inner.is_empty();
        let fed = self.written.read_by(&command);
        self.written.note(&command, &output);
        let read: Vec<Redirect> = if inner.is_empty() {
            Vec::new()
        } else {
            command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read).cloned().collect()
        };
        let folder = folder_after(&command);
        self.script.commands.push(command);
        if let Some(fed) = fed {
            inner.extend(wrap::inner(&fed));
            self.script.commands.push(fed);
        }
        if place.nesting >= MAX_NESTING {
            if !inner.is_empty() {
                self.unparsed(span);
            }
            return output;
        }
        for Inner { words, text, via, elevated, remote, input } in inner {
            let mut place = Place {
                via,
                elevated: place.elevated || elevated,
                remote: place.remote || remote,
                input,
                nesting: place.nesting + 1,
                within: Some(span.clone()),
                function: place.function.clone(),
                pipeline: place.pipeline,
                grouped: false,
            };
            if let Some(text) = text {
                place.within = Some(text.span.clone());
                self.text_apart(&text.text, &place);
            } else {
                // What a wrapper reads, the wrapped program reads.
                let passed = matches!(via, Via::Wrapper | Via::Remote).then(|| read.clone()).unwrap_or_default();
                self.emit(words, passed, span.clone(), &place);
            }
        }
        match folder {
            Folder::Stays => {}
            Folder::Is(word) => self.cwd = Some(word),
            Folder::Unknown => self.cwd = Some(Word { text: "?".to_owned(), span, ..Word::default() }),
        }
        output
    }
}

/// Whether a block of PowerShell is among the arguments of one of its commands: `Where-Object { $_.CPU -gt 1 }`,
/// `Measure-Command {rm a}`, `@{n='a';e={…}}`. A shell of Unix sees words there.
fn has_block(text: &str, command: &SimpleCommand, place: &Place) -> bool {
    let name = command.program().unwrap_or_default();
    let listed = |list: &str| crate::names::has(list, &name.to_ascii_lowercase());
    let of_powershell = powershell::cmdlet(name) || listed("programs.cmdlets") || listed("programs.block_takers");
    of_powershell
        && command.words.iter().skip(1).any(|word| {
            // Of a text within another one it is not known what stood in quotes.
            let written = if place.within.is_some() { Some(word.text.as_str()) } else { text.get(word.span.clone()) };
            written.is_some_and(|written| !written.starts_with(['"', '\'']) && written.contains('{'))
        })
}

/// Whether a word in the place of a command is an assignment.
fn assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
