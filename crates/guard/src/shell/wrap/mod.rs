//! Commands that run other commands: which of their words are the inner one, or hold its text.
//!
//! Most have a line of `runs` in their record: the options that take a value, how many words stand before the inner
//! command, and whether that is words or text. The few with a grammar of their own (`find`, `xargs`, `env -S`) have a
//! function.

use super::{Input, SimpleCommand, Via, Word};
use crate::{
    names,
    records::{self, Runs},
};

mod machines;
mod options;
mod settings;
mod special;

use machines::machines;
pub(crate) use options::Options;
pub(super) use settings::run_by_variable;
use settings::{git, ssh_options};
pub(crate) use settings::{harmless_setting, names_program, only_tells_a_path};
pub(crate) use special::{encoded, hidden};
use special::{env, find, kubectl, option_text, parallel, shell, su, terminal, windows, xargs};

/// The options of `ssh` that take a value.
const SSH: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B";

/// Whether a program is a shell whose `-c` takes text.
pub(crate) fn is_shell(name: &str) -> bool {
    names::has("programs.shells", name)
}

/// A command found inside of another.
pub(super) struct Inner {
    pub(super) words: Vec<Word>,
    /// The command is this text instead of words.
    pub(super) text: Option<Word>,
    pub(super) via: Via,
    pub(super) elevated: bool,
    pub(super) remote: bool,
    pub(super) input: Input,
}

/// The name of a program without its folder and, on Windows, its ending.
pub(crate) fn basename(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name)
}

struct Outer<'c> {
    command: &'c SimpleCommand,
    found: Vec<Inner>,
}

impl Outer<'_> {
    fn add(&mut self, words: Vec<Word>, text: Option<Word>, via: Via) {
        let input = self.command.input.clone();
        self.found.push(Inner { words, text, via, elevated: false, remote: via == Via::Remote, input });
    }

    fn words(&mut self, words: &[Word], via: Via) {
        if !words.is_empty() {
            self.add(words.to_vec(), None, via);
        }
    }

    fn text(&mut self, word: &Word, via: Via) {
        self.add(Vec::new(), Some(word.clone()), via);
    }
}

/// The commands that this one runs.
pub(super) fn inner(command: &SimpleCommand) -> Vec<Inner> {
    let Some((first, words)) = command.words.split_first() else { return Vec::new() };
    let Some(name) = super::program_of(first) else { return Vec::new() };
    let mut outer = Outer { command, found: Vec::new() };
    if is_shell(name) {
        shell(&mut outer, words);
    }
    match name {
        "env" => env(&mut outer, words),
        "xargs" => xargs(&mut outer, words),
        "parallel" => parallel(&mut outer, words),
        "find" | "gfind" | "fd" | "fdfind" | "bfs" => find(&mut outer, name, words),
        "eval" if !words.is_empty() => {
            outer.text(&join(&words[usize::from(words[0].text == "--")..]), Via::Eval);
        }
        "trap" => {
            if let [word, _, ..] = words
                && !word.text.is_empty()
                && !word.text.starts_with('-')
            {
                outer.text(word, Via::Eval);
            }
        }
        "alias" => {
            for word in words {
                if let Some((_, body)) = word.text.split_once('=') {
                    outer.text(&Word { text: body.to_owned(), ..word.clone() }, Via::Eval);
                }
            }
        }
        "su" | "runuser" => su(&mut outer, words),
        "script" | "flock" | "nix-shell" | "nix" | "sg" | "vagrant" | "npx" | "fly" | "flyctl" | "gcloud"
        | "expect" | "sshfs" | "entr" | "gnome-terminal" | "xterm" | "wsl" => option_text(name, &mut outer, words),
        "tmux" | "screen" => terminal(&mut outer, words),
        "kubectl" | "oc" | "k" | "k3s" | "microk8s.kubectl" => kubectl(&mut outer, words),
        "git" => git(&mut outer, words),
        "ssh" | "scp" | "sftp" => ssh_options(&mut outer, words),
        "cmd" | "powershell" | "pwsh" => windows(name, &mut outer, words),
        "ansible" => {
            let options = Options::read(words, "-a --args -m --module-name -i --inventory");
            let module = options.value("-m").or_else(|| options.value("--module-name")).unwrap_or("command");
            if matches!(module, "command" | "shell" | "raw" | "ansible.builtin.shell" | "ansible.builtin.command")
                && let Some((_, text)) = options.values.iter().find(|(name, _)| matches!(*name, "-a" | "--args"))
            {
                outer.text(text, Via::Remote);
            }
        }
        "at" | "batch" => {
            if let Input::Known(text) = &command.input {
                outer.text(text, Via::Stdin);
            }
        }
        "source" | "." => {
            let reads = words
                .first()
                .is_some_and(|word| matches!(word.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"));
            if let (true, Input::Known(text)) = (reads, &command.input) {
                outer.text(text, Via::Stdin);
            }
        }
        "salt" | "salt-ssh" | "salt-call" => {
            let runs =
                |word: &Word| matches!(word.text.as_str(), "cmd.run" | "cmd.shell" | "cmd.run_all" | "cmd.exec_code");
            if let Some(at) = words.iter().position(runs) {
                words.iter().skip(at + 1).take(8).for_each(|word| outer.text(word, Via::Remote));
            }
        }
        "aws" | "az" | "knife" | "bolt" => machines(name, &mut outer, words),
        "fab" | "dsh-run" => {
            if let Some(at) = words.iter().position(|word| word.text == "--") {
                outer.text(&join(words.get(at + 1..).unwrap_or_default()), Via::Remote);
            }
        }
        _ => {}
    }
    // A login without a command is a shell that reads its input.
    if matches!(name, "ssh" | "autossh")
        && let Input::Known(text) = &command.input
        && Options::read(words, SSH).rest.len() == 1
    {
        outer.text(text, Via::Remote);
    }
    for runs in records::record(name).map_or(&[][..], |record| &record.runs) {
        wrapped(runs, name, &mut outer, words);
    }
    outer.found
}

/// Where the words behind the options begin.
fn behind_options(words: &[Word], valued: &str) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            return at + 1;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        let takes = |name: &str| valued.split(' ').any(|valued| valued == name);
        // `-u root`, `-nu root`; `-uroot` and `--user=root` hold their value.
        let valued = takes(text)
            || !text.starts_with("--")
                && text
                    .char_indices()
                    .skip(1)
                    .find(|(_, c)| takes(&format!("-{c}")))
                    .is_some_and(|(i, c)| i + c.len_utf8() == text.len());
        at += 1 + usize::from(valued);
    }
    at
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn wrapped(wrapper: &Runs, name: &str, outer: &mut Outer<'_>, words: &[Word]) {
    let mut at = 0;
    let via = if wrapper.remote { Via::Remote } else { Via::Wrapper };
    for sub in &wrapper.words {
        // Options of the program itself may stand before its subcommand.
        at += behind_options(
            words.get(at..).unwrap_or_default(),
            "-H --host -f --file -p --project-name --context --profile --env-file -C -c",
        );
        let Some(word) = words.get(at) else { return };
        if !sub.split('|').any(|sub| sub == word.text) {
            return;
        }
        at += 1;
    }
    at -= usize::from(wrapper.from && at > 0);
    let mut skip = wrapper.skip;
    loop {
        at += behind_options(words.get(at..).unwrap_or_default(), &wrapper.values);
        let assigned = words.get(at..).unwrap_or_default().iter().take_while(|word| is_assignment(&word.text)).count();
        if matches!(name, "sudo" | "doas" | "dotenv" | "time") {
            at += assigned;
        }
        if skip == 0 {
            break;
        }
        skip -= 1;
        at += 1;
    }
    let options = words.get(..at.min(words.len())).unwrap_or_default();
    // `command -v rm` and `sudo -l rm` only tell.
    let tells = match name {
        "command" => options.iter().any(|word| matches!(word.text.as_str(), "-v" | "-V" | "-pv")),
        "sudo" => {
            options.iter().any(|word| matches!(word.text.as_str(), "-l" | "--list" | "-e" | "-v" | "-K" | "--help"))
        }
        "git" => options.get(1).is_none_or(|word| word.text != "run"),
        _ => false,
    };
    // The entry point of a container is a program too; `docker run image` without words runs what is in the image.
    let Some(mut rest) = words.get(at..).filter(|rest| !rest.is_empty() && !tells) else { return };
    if wrapper.remote && rest.first().is_some_and(|word| word.text == "--") {
        rest = &rest[1..];
    }
    let before = outer.found.len();
    let text_via = if wrapper.remote { via } else { Via::ShellText };
    if !wrapper.text {
        outer.words(rest, via);
    } else if matches!(name, "hyperfine" | "concurrently" | "conc") {
        // Each argument is a command of its own there.
        for word in rest {
            outer.text(word, Via::ShellText);
        }
    } else {
        // A host that is a list of hosts shifts what follows: a word that is a whole command is read by itself too.
        for word in rest.iter().filter(|word| rest.len() > 1 && word.text.contains(' ')) {
            outer.text(word, text_via);
        }
        outer.text(&join(rest), text_via);
    }
    for inner in outer.found.iter_mut().skip(before) {
        inner.elevated |= wrapper.elevated;
    }
}

/// Words joined as `eval` and `ssh` do.
fn join(words: &[Word]) -> Word {
    let mut joined = Word { exact: true, ..Word::default() };
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            joined.text.push(' ');
        }
        joined.text.push_str(&word.text);
        joined.exact &= word.exact;
    }
    if let (Some(first), Some(last)) = (words.first(), words.last()) {
        joined.span = first.span.start.min(last.span.start)..last.span.end.max(first.span.end);
    }
    joined
}
