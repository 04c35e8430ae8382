//! Shell text taken apart: every simple command that a script would run, wherever it hides.
//!
//! [`parse`] finds the commands of pipes, lists, substitutions, functions, `bash -c`, `xargs`, `find -exec`, `env`,
//! `sudo`, here documents fed to a shell and the like, with quotes removed and known variables put in. It never
//! runs anything, takes bounded time and depth whatever the text, and says what it could not read.

use std::ops::Range;

use super::names;

mod powershell;
#[cfg(test)]
mod tests;
mod walk;
mod word;
mod wrap;

pub(crate) use wrap::{
    Options, basename, encoded, harmless_setting, hidden, is_shell, names_program, only_tells_a_path,
};

/// Longer text is not read to its end: what follows counts as not understood.
pub const MAX_TEXT: usize = 64 * 1024;
/// How deep commands within commands (`bash -c` in `bash -c` …) are followed.
pub const MAX_NESTING: usize = 8;
/// More commands than this are not listed: the rest counts as not understood.
pub const MAX_COMMANDS: usize = 4096;

/// What a shell text would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands, in the order they are written; one that runs another stands before it.
    pub commands: Vec<SimpleCommand>,
    /// The first part that could not be understood. A careful caller asks a person then.
    pub unparsed: Option<Range<usize>>,
    /// A function that starts itself over and over until the machine stands still.
    pub fork_bomb: Option<Range<usize>>,
    /// The words of `for` that stand for files whose names are not known: `for f in .e*`.
    pub looped: Vec<Word>,
}

/// One program, builtin or function with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The name and the arguments; empty for a redirection that stands alone or belongs to a group.
    pub words: Vec<Word>,
    /// What its input and output are sent to.
    pub redirects: Vec<Redirect>,
    /// What it reads, as far as the text tells.
    pub input: Input,
    /// Where it stands in the text given to [`parse`]; a command inside of a string has the string's span.
    pub span: Range<usize>,
    /// How it is reached.
    pub via: Via,
    /// It runs as another user: `sudo`, `doas`, `su`.
    pub elevated: bool,
    /// It runs elsewhere: `ssh`, `docker exec`, `kubectl exec`.
    pub remote: bool,
    /// Where it runs, after a `cd` in the text; `None` is where the text starts.
    pub cwd: Option<Word>,
    /// The pipeline that it is a part of, by number; none is 0.
    pub pipeline: usize,
    /// The variables that it is started with, each as `NAME=value`.
    pub settings: Vec<Word>,
    /// It runs other commands, which are listed behind it.
    pub hands_on: bool,
    /// It has no words because its redirections are those of a group of commands, which stand beside it.
    pub grouped: bool,
}

impl SimpleCommand {
    /// A command of no words, to stand for what is no shell text.
    pub(crate) fn nothing(span: Range<usize>) -> Self {
        Self {
            words: Vec::new(),
            redirects: Vec::new(),
            input: Input::None,
            span,
            via: Via::Direct,
            elevated: false,
            remote: false,
            cwd: None,
            pipeline: 0,
            settings: Vec::new(),
            hands_on: false,
            grouped: false,
        }
    }

    /// The program's name without its folder, where it is known. `/bin/rm` and `rm` are one.
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(program_of)
    }

    /// The program's name, where it is sure to be the program that is known by it.
    pub(crate) fn known_program(&self) -> Option<&str> {
        self.program().filter(|_| self.words.first().is_some_and(|first| is_of_system(&first.text)))
    }
}

/// Whether a program is the one that is known by its name: it is called by that alone, or in a folder where systems
/// keep their programs. What any other path names may be anything.
pub(crate) fn is_of_system(program: &str) -> bool {
    let Some((folder, _)) = program.rsplit_once(['/', '\\']) else { return true };
    names::has("programs.folders", folder)
        || folder.contains('\\') && names::has("programs.folders", &folder.replace('\\', "/").to_ascii_lowercase())
}

fn program_of(word: &Word) -> Option<&str> {
    // `${X:-rm -rf a/b}`: a value that falls apart, whose last part is no name.
    if !word.exact && word.text.contains(char::is_whitespace) && !word.text.starts_with('$') {
        return None;
    }
    let name = basename(&word.text);
    let known = word.exact || word.text.len() > name.len() && !name.contains(['$', '`', ')', '}']);
    (known && !word.pattern && !name.is_empty()).then_some(name)
}

/// One word after all expansions that can be known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text, quotes removed, escapes resolved, known variables put in. What is not known stands as it was
    /// written; a plain variable always as `$NAME`.
    pub text: String,
    /// Whether the shell would make exactly this of it.
    pub exact: bool,
    /// It holds an unquoted `*`, `?` or `[`: it may stand for many files.
    pub pattern: bool,
    /// It begins with what is not known, so it may turn out to be an option.
    pub opens: bool,
    /// Something in it is not known and not quoted, so it may turn out to be several words.
    pub splits: bool,
    /// Where it stands in the text given to [`parse`].
    pub span: Range<usize>,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The file, the number of a descriptor, or the text of a here document.
    pub target: Word,
    /// Where it stands in the text given to [`parse`].
    pub span: Range<usize>,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`: what was in the file is gone.
    Write,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `2>&1`, `>&-`
    Duplicate,
    /// `<<`, `<<-`, `<<<`
    HereText,
}

/// What a command reads from its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Nothing that the text tells of.
    #[default]
    None,
    /// This very text.
    Known(Word),
    /// What this program prints (its name, where known).
    Piped(String),
}

/// How a command is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// It stands in the text.
    Direct,
    /// `$( )`, backquotes or `<( )`.
    Substitution,
    /// The body of a function.
    Function,
    /// A program that runs its arguments: `sudo`, `env`, `timeout`, `nohup`, …
    Wrapper,
    /// The text argument of a shell: `bash -c`, `su -c`, `watch`, …
    ShellText,
    /// `eval`, `trap`, `alias`.
    Eval,
    /// A shell reads it: a here document or a pipe.
    Stdin,
    /// `xargs` or `parallel`: more arguments come from its input.
    Xargs,
    /// `find -exec` and its kin: names of files come in place of `{}`.
    FindExec,
    /// `ssh`, `docker exec`, `kubectl exec`: another machine or container.
    Remote,
}

/// Takes shell text apart. Never fails: what could not be read is in [`Script::unparsed`].
pub fn parse(text: &str) -> Script {
    walk::script(text)
}

/// Takes the words of a command that is already split (`["bash", "-c", "ls"]`) apart, as [`parse`] does with text.
pub fn parse_words(words: &[String]) -> Script {
    walk::argv(words)
}
