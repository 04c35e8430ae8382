//! Programs that run others by a grammar of their own: shells, `env -S`, `xargs`, `find -exec`, `su -c`, `tmux`, `git`.
//! Each function reads the words behind its program and adds the commands that it finds there.

use super::{
    super::{Input, Via, Word, program_of},
    Options, Outer, behind_options, is_assignment, is_shell, join,
    settings::run_by_variable,
};
use crate::names;

pub(super) fn shell(outer: &mut Outer<'_>, words: &[Word]) {
    let mut at = 0;
    let mut text = false;
    while let Some(word) = words.get(at) {
        let option = word.text.as_str();
        if !option.starts_with(['-', '+']) || option == "-" {
            break;
        }
        if option == "--" {
            at += 1;
            break;
        }
        // As fish has them, also with the text joined.
        if let Some(body) = option.strip_prefix("--command=").or_else(|| option.strip_prefix("--init-command=")) {
            outer.text(&Word { text: body.to_owned(), ..word.clone() }, Via::ShellText);
        }
        if option == "-C" && outer.command.program() == Some("fish") || option == "--init-command" {
            if let Some(body) = words.get(at + 1) {
                outer.text(body, Via::ShellText);
            }
            at += 1;
        } else if option == "--command" || !option.starts_with("--") && option.contains('c') {
            text = true;
        }
        at += 1;
        if matches!(option, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file")
            || !option.starts_with("--") && option.len() > 2 && option.ends_with('o')
        {
            at += 1;
        }
    }
    if text {
        if let Some(word) = words.get(at) {
            // `find -exec sh -c 'rm {}'`: a name of a file comes in its place.
            let named = matches!(outer.command.via, Via::Xargs | Via::FindExec) && word.text.contains("{}");
            if named {
                let text = word.text.replace("{}", "$item");
                outer.text(&Word { text, exact: false, ..word.clone() }, Via::ShellText);
            } else {
                outer.text(word, Via::ShellText);
            }
            // `bash -c '"$@"' _ rm -rf /`: what follows the text is run by it.
            if runs_arguments(&word.text)
                && let Some(rest) = words.get(at + 1..).filter(|rest| !rest.is_empty())
            {
                let skip = usize::from(!word.text.contains("$0") && rest.len() > 1);
                outer.words(&rest[skip..], Via::ShellText);
            }
        }
    } else if (words.get(at).is_none_or(|word| matches!(word.text.as_str(), "-" | "/dev/stdin" | "-s"))
        || words.iter().take(at).any(|word| word.text == "-s"))
        && let Input::Known(text) = &outer.command.input
    {
        let text = text.clone();
        outer.add(Vec::new(), Some(text), Via::Stdin);
        if let Some(last) = outer.found.last_mut() {
            last.input = Input::None;
        }
    }
}

/// Whether shell text has its arguments where a program stands: `"$@"`, `exec "$0"`, `eval "$1"`.
fn runs_arguments(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches('{');
        if !rest.starts_with(['@', '*', '0', '1']) {
            return false;
        }
        let before = text[..at].trim_end_matches(['"', '\'']);
        let word = before.trim_end();
        let last = word.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        word.is_empty()
            || before.ends_with('\n')
            || word.ends_with([';', '|', '&', '(', '{', '!', '`']) && !word.ends_with("${")
            || before.len() > word.len()
                && matches!(
                    last,
                    "exec" | "eval" | "env" | "sudo" | "nohup" | "then" | "do" | "else" | "time" | "command" | "xargs"
                )
    })
}

pub(super) fn env(outer: &mut Outer<'_>, words: &[Word]) {
    const VALUED: &str = "-u --unset -C --chdir -P -a --argv0";
    let mut at = 0;
    loop {
        let step = words.get(at..).unwrap_or_default();
        let Some(word) = step.first() else { return };
        let text = word.text.as_str();
        if let Some(split) =
            text.strip_prefix("--split-string=").or_else(|| text.strip_prefix("-S").filter(|rest| !rest.is_empty()))
        {
            return outer
                .text(&Word { text: format!("{split} {}", join(&step[1..]).text), ..word.clone() }, Via::ShellText);
        }
        if matches!(text, "-S" | "--split-string" | "-vS" | "-iS") {
            return outer.text(&join(&step[1..]), Via::ShellText);
        }
        if is_assignment(text) {
            if let Some(run) = text.split_once('=').and_then(|(name, value)| run_by_variable(name, value)) {
                outer.text(&Word { text: run, ..word.clone() }, Via::ShellText);
            }
            at += 1;
        } else if matches!(text, "--help" | "--version") {
            return;
        } else if text.starts_with('-') {
            let used = if text == "--" || text == "-" {
                1
            } else {
                1 + usize::from(VALUED.split(' ').any(|valued| valued == text))
            };
            at += used;
        } else {
            return outer.words(step, Via::Wrapper);
        }
    }
}

/// A word in whose place something comes from elsewhere.
fn unknown(shown: &str, like: &Word) -> Word {
    Word { text: shown.to_owned(), pattern: true, span: like.span.clone(), ..Word::default() }
}

pub(super) fn xargs(outer: &mut Outer<'_>, words: &[Word]) {
    let at = behind_options(
        words,
        "-I -J -E -L -n -P -s -d -a --replace-with --max-args --max-procs --max-lines --max-chars --delimiter --arg-file -R -S",
    );
    let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) else { return };
    let mut inner = rest.to_vec();
    let last = &rest[rest.len() - 1];
    // `-I % … %`: a name of a file, or whatever comes in, stands there.
    let options = Options::read(words.get(..at).unwrap_or_default(), "-I -J");
    let placed = options.value("-I").or_else(|| options.value("-J")).filter(|mark| !mark.is_empty());
    let placed = placed.or_else(|| options.letters.contains('i').then_some("{}"));
    if let Some(mark) = placed.filter(|mark| rest.iter().any(|word| word.text.contains(mark))) {
        for word in inner.iter_mut().filter(|word| word.text.contains(mark)) {
            let opens = word.text.starts_with(mark);
            *word = Word { opens, ..unknown(&word.text.replace(mark, "{}"), word) };
        }
        outer.words(&inner, Via::Xargs);
        return;
    }
    match &outer.command.input {
        Input::Known(text) if text.exact && text.text.len() < 4096 => {
            inner.extend(text.text.split_whitespace().take(64).map(|item| Word {
                text: item.to_owned(),
                exact: true,
                span: last.span.clone(),
                ..Word::default()
            }));
        }
        _ => inner.push(Word { opens: true, splits: true, ..unknown("{}", last) }),
    }
    outer.words(&inner, Via::Xargs);
}

/// So many arguments of `parallel` are looked at, each by itself.
const MAX_ITEMS: usize = 32;

pub(super) fn parallel(outer: &mut Outer<'_>, words: &[Word]) {
    let at = behind_options(
        words,
        "-j --jobs -N -n -S --sshlogin --colsep -C --delay --timeout --joblog --results -I -a --arg-file --halt",
    );
    let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) else { return };
    let split = rest.iter().position(|word| word.text.starts_with(":::")).unwrap_or(rest.len());
    let (command, items) = rest.split_at(split);
    if command.is_empty() {
        for item in items.iter().skip(1) {
            outer.text(item, Via::Xargs);
        }
        return;
    }
    // The words are joined for a shell; a shell among them may as well be meant as it is written.
    if command.first().and_then(program_of).is_some_and(is_shell) {
        outer.words(command, Via::Xargs);
    }
    let text = join(command);
    let items = items.iter().filter(|word| !word.text.starts_with(":::")).map(|word| word.text.as_str());
    let mut items: Vec<&str> = items.take(MAX_ITEMS + 1).collect();
    // What else comes is not known, and neither is what is read from elsewhere.
    if items.is_empty() || items.len() > MAX_ITEMS {
        items.truncate(MAX_ITEMS);
        items.push("$arguments");
    }
    for item in items {
        let placed = text.text.contains("{}");
        let line = if placed { text.text.replace("{}", item) } else { format!("{} {item}", text.text) };
        outer.text(&Word { text: line, ..text.clone() }, Via::Xargs);
    }
}

pub(super) fn find(outer: &mut Outer<'_>, name: &str, words: &[Word]) {
    // To `fd` they are what runs, to the `find` of BSD that it stays on one disk.
    let letters = matches!(name, "fd" | "fdfind");
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let runs = matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "--exec" | "--exec-batch");
        let runs = runs || letters && matches!(word.text.as_str(), "-x" | "-X");
        if !runs {
            continue;
        }
        let rest = words.get(at..).unwrap_or_default();
        let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(rest.len());
        let mut inner: Vec<Word> = rest[..end]
            .iter()
            .map(|word| {
                let mut word = word.clone();
                if word.text.contains("{}") {
                    (word.exact, word.pattern) = (false, true);
                }
                word
            })
            .collect();
        let placed = rest[..end].iter().any(|word| word.text.contains('{'));
        if let Some(last) = inner.last().filter(|_| letters && !placed).cloned() {
            inner.push(unknown("{}", &last));
        }
        outer.words(&inner, Via::FindExec);
        at += end;
    }
}

pub(super) fn su(outer: &mut Outer<'_>, words: &[Word]) {
    let options = Options::read(words, "-c --command -s --shell -g -G -u --user -w");
    for (name, text) in &options.values {
        if name.ends_with('c') || *name == "--command" {
            outer.text(text, Via::ShellText);
        }
    }
    for (name, text) in &options.equals {
        if *name == "--command" || name.ends_with('c') && !name.starts_with("--") {
            outer.text(&Word { text: (*text).to_owned(), exact: true, ..words[0].clone() }, Via::ShellText);
        }
    }
    if let Some(at) = words.iter().position(|word| word.text == "--") {
        let rest = &words[at + 1..];
        // `runuser -u name -- program`
        outer.words(rest, Via::Wrapper);
    }
    for inner in &mut outer.found {
        inner.elevated = true;
    }
}

/// Programs where an option holds the text, and those whose first word is not part of it.
pub(super) fn option_text(name: &str, outer: &mut Outer<'_>, words: &[Word]) {
    let options = Options::read(words, "-c --command --run --call -C -e -s --shell -w -E -o -n --timeout -a --app");
    let via = if matches!(name, "vagrant" | "fly" | "flyctl" | "gcloud") { Via::Remote } else { Via::ShellText };
    for (option, text) in &options.values {
        if matches!(*option, "--command" | "--run" | "--call" | "-C" | "-e")
            || !option.starts_with("--") && option.ends_with('c')
        {
            outer.text(text, via);
        }
    }
    for (option, text) in &options.equals {
        if matches!(*option, "--command" | "--run" | "--call") {
            outer.text(&Word { text: (*text).to_owned(), exact: true, ..words[0].clone() }, via);
        }
    }
    if name == "flock" && outer.found.is_empty() {
        let at = behind_options(words, "-w --timeout -E");
        outer.words(words.get(at + 1..).unwrap_or_default(), Via::Wrapper);
    }
    if name == "entr" {
        let at = behind_options(words, "");
        outer.words(words.get(at..).unwrap_or_default(), Via::Wrapper);
    }
}

pub(super) fn terminal(outer: &mut Outer<'_>, words: &[Word]) {
    let options = Options::read(words, "-t -s -c -n -S -L -f -x -y -X -p -F");
    let typed =
        options.rest.first().is_some_and(|word| matches!(word.text.as_str(), "send-keys" | "send" | "respawn-pane"));
    let starts = options.rest.first().is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "new-session" | "new" | "new-window" | "neww" | "split-window" | "splitw" | "run-shell" | "run" | "popup"
        )
    });
    if typed || starts {
        let texts = options.rest.iter().skip(1).filter(|word| !matches!(word.text.as_str(), "Enter" | "C-m"));
        for text in texts.copied() {
            outer.text(text, Via::ShellText);
        }
    }
    if let Some((_, stuffed)) = options.values.iter().find(|(name, _)| *name == "-X")
        && stuffed.text == "stuff"
    {
        for text in &options.rest {
            outer.text(text, Via::ShellText);
        }
    } else if outer.command.program() == Some("screen") && !options.rest.is_empty() {
        // `screen -dmS name program -c …`: the program's options are its own.
        let mut at = 0;
        while let Some(option) = words.get(at).map(|word| word.text.as_str()).filter(|text| text.starts_with('-')) {
            at += 1 + usize::from(option.ends_with(['S', 't', 'c', 's', 'T', 'h', 'e', 'p', 'r', 'x', 'R']));
        }
        outer.words(words.get(at..).unwrap_or_default(), Via::Wrapper);
    }
}

const KUBECTL: &str = "-n --namespace --context --cluster --kubeconfig -c --container";

pub(super) fn kubectl(outer: &mut Outer<'_>, words: &[Word]) {
    let sub = Options::read(words, KUBECTL);
    if !sub.rest.iter().take(2).any(|word| matches!(word.text.as_str(), "exec" | "run" | "debug" | "rsh")) {
        return;
    }
    if let Some(at) = words.iter().position(|word| word.text == "--") {
        outer.words(&words[at + 1..], Via::Remote);
    } else if let Some(at) = words.iter().position(|word| matches!(word.text.as_str(), "exec" | "rsh")) {
        let rest = words.get(at + 1..).unwrap_or_default();
        let pod = behind_options(rest, KUBECTL);
        let rest = rest.get(pod + 1..).unwrap_or_default();
        outer.words(rest.get(behind_options(rest, KUBECTL)..).unwrap_or_default(), Via::Remote);
    }
}

pub(super) fn windows(name: &str, outer: &mut Outer<'_>, words: &[Word]) {
    let power = name != "cmd";
    if power && let Some(word) = hidden(words) {
        if let Some(text) = encoded(word) {
            outer.text(&Word { text, ..word.clone() }, Via::ShellText);
        }
        return;
    }
    let at = words.iter().position(|word| {
        let option = word.text.to_ascii_lowercase();
        matches!(option.as_str(), "/c" | "/k" | "-c" | "/command")
            || power && option.len() > 2 && "-command".starts_with(option.as_str())
            || option == "-commandwithargs"
            || option == "-cwa"
    });
    let mut rest = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
    if power && at.is_none() {
        // `powershell Remove-Item x`: what is no option is the command.
        let file = words.iter().any(|word| matches!(word.text.to_ascii_lowercase().as_str(), "-file" | "-f"));
        let mut from = 0;
        while let Some(word) = words.get(from).filter(|word| word.text.starts_with('-')) {
            from += 1 + usize::from(names::has("powershell.valued", word.text.to_ascii_lowercase().as_str()));
        }
        let plain = words.get(from).is_some_and(|word| !word.text.to_ascii_lowercase().ends_with(".ps1"));
        if !file && plain {
            rest = words.get(from..).unwrap_or_default();
        }
    }
    // `powershell -Command -`, `… | pwsh`: what it is fed.
    if power
        && (rest.is_empty() && words.iter().all(|word| word.text.starts_with('-'))
            || matches!(rest, [only] if only.text == "-"))
        && let Input::Known(text) = &outer.command.input
    {
        let text = text.clone();
        outer.add(Vec::new(), Some(block(&text)), Via::Stdin);
        if let Some(last) = outer.found.last_mut() {
            last.input = Input::None;
        }
        return;
    }
    let text = block(&join(rest));
    // `$PSVersionTable.PSVersion` alone is printed.
    let value = text.text.trim().strip_prefix('$').is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':'))
    });
    let only_shows = power && value;
    if !only_shows && !rest.is_empty() {
        outer.text(&text, Via::ShellText);
    }
}

/// `& { … }`: a block of PowerShell, called at once, is what stands in it.
fn block(text: &Word) -> Word {
    let inside = text.text.trim().strip_prefix('&').map(str::trim_start);
    let inside = inside.and_then(|inside| inside.strip_prefix('{')?.strip_suffix('}'));
    inside.map_or_else(|| text.clone(), |inside| Word { text: inside.to_owned(), ..text.clone() })
}

/// The commands that PowerShell is given in base64.
pub(crate) fn hidden(words: &[Word]) -> Option<&Word> {
    words
        .windows(2)
        .find(|pair| {
            let option = pair[0].text.trim_start_matches(['-', '/']).to_ascii_lowercase();
            pair[0].text.starts_with(['-', '/'])
                && (option == "ec"
                    || !option.is_empty() && !option.starts_with("ex") && "encodedcommand".starts_with(option.as_str()))
        })
        .map(|pair| &pair[1])
}

/// What the base64 of a text in UTF-16 says; nothing where it is none.
pub(crate) fn encoded(word: &Word) -> Option<String> {
    if !word.exact || word.text.len() > super::super::MAX_TEXT {
        return None;
    }
    let bytes = base64(&word.text)?;
    let (pairs, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() || pairs.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    text.chars().all(|c| !c.is_control() || c.is_whitespace()).then_some(text)
}

/// Decodes base64; nothing where a sign is in no alphabet.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in text.trim().trim_end_matches('=').bytes() {
        if matches!(byte, b'\n' | b'\r' | b' ') {
            continue;
        }
        let value = loopwright_base::base64::six_bits(byte)?;
        held = (held << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(out)
}
