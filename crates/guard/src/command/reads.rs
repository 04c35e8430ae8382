//! Whether a program does nothing but read: told by the options that it is given, of which each must be known to read.
//! An option that writes or runs something makes a call what it does; one that is not known makes it no reading.

use std::collections::BTreeMap;

use regex::RegexBuilder;

use super::{
    Ground, Told, Verdict,
    nested::nested,
    script::{self, Effect},
};
use crate::{
    RiskLevel,
    files::{self, keep},
    flow::secret_file,
    names,
    paths::place_of,
    policy::{hosts_in, is_here},
    records::{self, Records},
    shell::{self, SimpleCommand, Word},
    shown::is_home,
    sql,
};

/// What stands behind an option.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    None,
    /// Joined to it, or the next word.
    Needed,
    /// Joined to it, or left out.
    Joined,
}

/// What an option does with its value beside reading.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    None,
    Writes,
    Runs,
    /// It is a setting of Git or of a shell.
    Sets,
    /// It is a statement, which has to read.
    Asks,
}

type Known = (Value, Act);

/// A line of the table.
#[derive(Debug, Default)]
struct Line {
    words: Vec<Vec<&'static str>>,
    letters: BTreeMap<char, Known>,
    names: BTreeMap<&'static str, Known>,
    signs: Vec<&'static str>,
    whole_words: bool,
    most: Option<usize>,
    needed: Vec<&'static str>,
    last: Vec<&'static str>,
    without: Option<&'static str>,
    /// How many operands stand before those that are statements.
    statements: Option<usize>,
}

impl Line {
    fn has(&self, sign: &str) -> bool {
        self.signs.contains(&sign)
    }

    fn add(&mut self, token: &'static str) {
        if let Some(needed) = token.strip_prefix('^') {
            self.needed = needed.split('|').collect();
        } else if let Some(last) = token.strip_prefix('$') {
            self.last = last.split('|').collect();
        } else if let Some(without) = token.strip_prefix('!') {
            self.without = Some(without);
        } else if let Some(before) = token.strip_prefix(';') {
            self.statements = before.parse().ok();
        } else if token.starts_with(|c: char| c.is_ascii_digit()) {
            self.most = token.trim_end_matches('>').parse().ok();
            if token.ends_with('>') {
                self.signs.push(">");
            }
        } else if token.starts_with("--") || self.whole_words && token.starts_with('-') {
            let end = token.find(['=', '?']).unwrap_or(token.len());
            self.names.entry(&token[..end]).or_insert(meaning(&token[end..]).0);
        } else if token != "-#"
            && let Some(mut rest) = token.strip_prefix('-')
        {
            while let Some(letter) = rest.chars().next() {
                let (known, more) = meaning(&rest[letter.len_utf8()..]);
                self.letters.entry(letter).or_insert(known);
                rest = more;
            }
        } else {
            self.whole_words |= token == "@";
            self.signs.push(token);
        }
    }
}

/// What the signs behind an option say, and what stands behind them.
fn meaning(text: &'static str) -> (Known, &'static str) {
    let (value, rest) = match text.as_bytes().first() {
        Some(b':' | b'=') => (Value::Needed, &text[1..]),
        Some(b'?') => (Value::Joined, &text[1..]),
        _ => return ((Value::None, Act::None), text),
    };
    match rest.as_bytes().first() {
        Some(b'>') => ((value, Act::Writes), &rest[1..]),
        Some(b'!') => ((value, Act::Runs), &rest[1..]),
        Some(b'@') => ((value, Act::Sets), &rest[1..]),
        Some(b';') => ((value, Act::Asks), &rest[1..]),
        _ => ((value, Act::None), rest),
    }
}

/// The lines of records, by program.
#[derive(Debug)]
pub(crate) struct Index(BTreeMap<&'static str, Vec<Line>>);

impl Index {
    pub(crate) fn of(records: &'static Records) -> Self {
        let mut index: BTreeMap<&'static str, Vec<Line>> = BTreeMap::new();
        for record in &records.all {
            for (words, options) in &record.reads {
                let words = words.split(' ').filter(|word| !word.is_empty()).map(|word| word.split('|').collect());
                let words: Vec<Vec<&str>> = words.collect();
                for program in &record.names {
                    let mut line = Line { words: words.clone(), ..Line::default() };
                    for token in options.split_whitespace() {
                        match token.strip_prefix('%') {
                            Some(set) => records.set(set).split_whitespace().for_each(|token| line.add(token)),
                            None => line.add(token),
                        }
                    }
                    index.entry(program).or_default().push(line);
                }
            }
        }
        Self(index)
    }
}

fn lines(program: &str) -> Option<&'static Vec<Line>> {
    records::records_of(program).index().0.get(program)
}

/// The words of a command, as a line of the table reads them.
#[derive(Default)]
struct Given<'w> {
    operands: Vec<&'w Word>,
    options: Vec<&'w str>,
    acts: Vec<(Act, Word)>,
    /// Which word names each of the acts: the option, or the operand.
    named: Vec<usize>,
    /// Where these words begin among those of the command.
    from: usize,
    /// An option that the line does not know.
    unknown: bool,
    /// A word that may turn out to be an option.
    open: bool,
    /// How many words were read.
    used: usize,
}

impl<'w> Given<'w> {
    fn read(line: &Line, words: &'w [Word]) -> Self {
        let mut given = Self::default();
        let mut plain = false;
        while let Some(word) = words.get(given.used) {
            let text = word.text.as_str();
            // `tar tf x`: letters without a dash.
            let bare = line.has("~") && given.used == 0 && !text.starts_with('-');
            let option = !plain && (bare || text.len() > 1 && text.starts_with('-'));
            // What `find` is told stands behind `--` as well, and of several operands one may be written.
            let loose = !option && word.opens || word.splits;
            given.open |= loose && (!plain || line.whole_words) || line.has(">") && (word.splits || word.pattern);
            if !option && (line.has("+") || line.has("/")) {
                given.operands.extend(&words[given.used..]);
                break;
            }
            given.used += 1;
            if !option {
                given.operands.push(word);
            } else if text == "--" {
                plain = true;
            } else if line.has("*") || line.has("-#") && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
                given.options.push(text);
            } else if text.starts_with("--") || line.whole_words {
                given.name(line, word, words);
            } else {
                given.letters(line, word, words, bare);
            }
        }
        given
    }

    fn name(&mut self, line: &Line, word: &'w Word, words: &'w [Word]) {
        let (name, joined) = word.text.split_once('=').map_or((word.text.as_str(), None), |(n, v)| (n, Some(v)));
        self.options.push(name);
        if matches!(name, "--help" | "--version") && joined.is_none() {
            return;
        }
        // A name may be cut short where that leaves one that is known, and none that does more than read.
        let mut fits = line.names.iter().filter(|(known, _)| known.starts_with(name));
        let found = line.names.get(name).copied().or_else(|| {
            let (_, first) = fits.next().filter(|_| name.len() > 2 && !line.whole_words)?;
            fits.all(|(_, other)| other == first).then_some(*first)
        });
        let negated = || {
            let positive = format!("--{}", name.strip_prefix("--no-")?);
            line.names.get(positive.as_str()).map(|_| (Value::None, Act::None))
        };
        let Some((value, act)) = found.or_else(negated) else {
            self.unknown = true;
            return;
        };
        match (value, joined) {
            (Value::None, _) | (Value::Joined, None) if act == Act::None => {}
            (_, Some(text)) => self.act(act, Word { text: text.to_owned(), ..word.clone() }),
            (Value::Needed, None) => self.next(act, words),
            _ => {}
        }
    }

    /// Letters behind a dash, or `bare`: then the values of all of them are the words that follow.
    fn letters(&mut self, line: &Line, word: &'w Word, words: &'w [Word], bare: bool) {
        for (at, letter) in word.text.char_indices().skip(usize::from(!bare)) {
            let end = at + letter.len_utf8();
            self.options.push(&word.text[at..end]);
            let rest = &word.text[end..];
            match line.letters.get(&letter) {
                Some((Value::None, _)) => {}
                Some((Value::Needed, act)) if bare => self.next(*act, words),
                Some((_, act)) if !rest.is_empty() => {
                    return self.act(*act, Word { text: rest.to_owned(), ..word.clone() });
                }
                Some((Value::Needed, act)) => return self.next(*act, words),
                Some((Value::Joined, _)) => return,
                None if letter.is_ascii_digit() && line.has("-#") => {}
                None => {
                    self.unknown = true;
                    return;
                }
            }
        }
    }

    /// The next word is the value.
    fn next(&mut self, act: Act, words: &'w [Word]) {
        if let Some(value) = words.get(self.used) {
            self.open |= value.splits;
            self.act(act, value.clone());
            self.used += 1;
        }
    }

    /// What the option that was read last does with this value.
    fn act(&mut self, act: Act, value: Word) {
        self.acts.push((act, value));
        self.named.push(self.used.saturating_sub(1));
    }

    fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| {
            let bare = name.strip_prefix('-').filter(|bare| bare.len() == 1);
            self.options.iter().any(|given| given == name || bare == Some(given))
        })
    }
}

/// What is known of a call by its options.
pub(super) enum Reading {
    /// It only reads.
    Reads,
    /// It is not known to do no more than read.
    Unknown,
    /// An option makes it do this.
    Acts(Verdict),
}

/// The line for a command, its words behind the program and subcommands, and what stands before them.
fn line_of<'w>(name: &str, words: &'w [Word]) -> Option<(&'static Line, &'w [Word], Vec<Given<'w>>)> {
    let lines = lines(name)?;
    let (mut depth, mut rest, mut before) = (0, words, Vec::new());
    let mut line = lines.iter().find(|line| line.words.is_empty())?;
    while line.has("/") {
        let given = Given { from: words.len() - rest.len(), ..Given::read(line, rest) };
        let from = given.used;
        if given.operands.is_empty() {
            break;
        }
        let next = &rest[from..];
        before.push(given);
        let fits = |other: &&Line| {
            other.words.len() > depth
                && other.words[..depth] == line.words[..depth]
                && next.len() >= other.words.len() - depth
                && other.words[depth..].iter().zip(next).all(|(any, word)| any.contains(&word.text.as_str()))
        };
        line = lines.iter().filter(fits).max_by_key(|line| line.words.len())?;
        rest = &next[line.words.len() - depth..];
        depth = line.words.len();
    }
    // Several lines may be for one program: the first that knows what is given holds.
    let mut others = lines.iter().filter(|other| other.words == line.words);
    let known = |other: &&Line| {
        let given = Given::read(other, rest);
        !given.unknown && fits(other, &given)
    };
    let line = others.find(known).unwrap_or(line);
    Some((line, rest, before))
}

/// What the options of a command say of it.
pub(super) fn reading(name: &str, command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Reading {
    let kept;
    let words = if matches!(name, "find" | "gfind" | "bfs" | "fd" | "fdfind") && command.hands_on {
        kept = without_run(words, name.starts_with("fd"));
        kept.as_slice()
    } else {
        words
    };
    let Some((line, rest, before)) = line_of(name, words) else { return Reading::Unknown };
    let given = Given::read(line, rest);
    let mut known = !given.unknown && before.iter().all(|given| !given.unknown) && fits(line, &given);
    known &= !line.has("&") || command.hands_on;
    // What `>` stands for in a line is one operand more: two words where one was meant.
    let open = given.open || before.iter().any(|given| given.open);
    known &= !open || names::has("programs.no_act", name);
    let mut worst = None;
    let mut acts: Vec<(Act, Word)> = before.into_iter().flat_map(|given| given.acts).collect();
    acts.extend(given.acts.iter().cloned());
    if let (Some(most), true) = (line.most, line.has(">")) {
        acts.extend(given.operands.get(most).map(|word| (Act::Writes, (*word).clone())));
    }
    for (act, word) in &acts {
        match act {
            Act::None => {}
            Act::Sets => known &= shell::harmless_setting(&word.text),
            Act::Asks => known &= word.exact && sql::reads(&word.text),
            Act::Writes => writes(word, command, ground, &mut worst),
            Act::Runs => runs(&word.text, word, command, ground, &mut worst),
        }
    }
    if let Some(effects) = script_of(name, &given) {
        for effect in effects {
            match effect {
                Effect::Writes(word) => writes(&word, command, ground, &mut worst),
                Effect::Runs(word) => nested(&word.text, &word, command, ground, &mut worst),
                Effect::RunsInput(word) => {
                    let why = "runs what stands in a text";
                    keep(&mut worst, Verdict::new(RiskLevel::Confirm, "shell.pipe.unknown", why, word.span));
                }
                Effect::Unknown => known = false,
            }
        }
    }
    match worst {
        Some(verdict) if verdict.level > RiskLevel::Safe => Reading::Acts(verdict),
        _ if known => Reading::Reads,
        _ => Reading::Unknown,
    }
}

/// The words by which a program is told to write or to run something, each with what it writes, as far as its options
/// are known. `at` counts from the words that are given.
pub(super) fn acting(name: &str, words: &[Word]) -> Vec<Told> {
    let Some((line, rest, before)) = line_of(name, words) else { return Vec::new() };
    let last = Given { from: words.len() - rest.len(), ..Given::read(line, rest) };
    let mut found = Vec::new();
    for given in before.iter().chain([&last]) {
        for ((act, word), at) in given.acts.iter().zip(&given.named) {
            let at = given.from + at;
            match act {
                Act::None | Act::Asks => {}
                Act::Sets if shell::harmless_setting(&word.text) => {}
                Act::Writes => found.push(Told { at, runs: false, file: Some(word.clone()) }),
                Act::Runs | Act::Sets => found.push(Told { at, runs: true, file: None }),
            }
        }
    }
    // One operand more than are read is written; where it stands is told by what it is.
    if let (Some(most), true) = (line.most, line.has(">"))
        && let Some(word) = last.operands.get(most)
    {
        let at = words.iter().rposition(|other| other == *word).unwrap_or(usize::MAX);
        found.push(Told { at, runs: false, file: Some((*word).clone()) });
    }
    for effect in script_of(name, &last).into_iter().flatten() {
        match effect {
            // A script is one word of many: who permits it permits that very word.
            Effect::Writes(word) => found.push(Told { at: script_at(words, &word), runs: false, file: Some(word) }),
            Effect::Runs(word) | Effect::RunsInput(word) => {
                found.push(Told { at: script_at(words, &word), runs: true, file: None });
            }
            // Nobody knows what it does: a rule that permits the program has not permitted that.
            Effect::Unknown => found.push(Told { at: usize::MAX, runs: true, file: None }),
        }
    }
    found
}

/// Which word a part of a script stands in.
fn script_at(words: &[Word], part: &Word) -> usize {
    words.iter().rposition(|word| word.span == part.span).unwrap_or(usize::MAX)
}

/// The words of a `find` or `fd` without the commands that it runs for each file (`-exec …`), which are judged by
/// themselves. With `letters` the options of `fd` begin one, too: `-x`, `-X`.
fn without_run(words: &[Word], letters: bool) -> Vec<Word> {
    let mut kept = Vec::new();
    let mut runs = false;
    for word in words {
        if runs {
            runs = !matches!(word.text.as_str(), ";" | "+");
        } else if matches!(word.text.as_str(), "-exec" | "-execdir")
            || letters && matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch")
        {
            runs = true;
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// Whether a program is one that reads.
pub(crate) fn reads(name: &str) -> bool {
    lines(name).is_some()
}

/// The operands of a command: its words without options and their values. Of a program that no line is for, every word
/// that is no option.
pub(crate) fn operands<'w>(name: &str, words: &'w [Word]) -> Vec<&'w Word> {
    let Some((line, rest, _)) = line_of(name, words) else {
        return words.iter().filter(|word| !word.text.starts_with('-')).collect();
    };
    let given = Given::read(line, rest);
    // What is looked for is no file.
    let pattern = names::has("programs.pattern_first", name)
        && !given.has(&["-e", "-f", "--regexp", "--file", "--expression", "--files", "--match"]);
    given.operands.into_iter().skip(usize::from(pattern)).collect()
}

/// Whether a program needs no option to search whole folders.
fn searches_folders(name: &str) -> bool {
    names::has("programs.searches_folders", name)
}

/// Searches of a whole folder, hidden files with it, that print lines such as `API_KEY=…`.
pub(crate) fn searches_all(name: &str, words: &[Word]) -> bool {
    // Names and counts show nothing.
    let silent = [
        "-l",
        "-L",
        "-c",
        "-q",
        "--files-with-matches",
        "--files-without-match",
        "--count",
        "--quiet",
        "--files",
        "--brief",
    ];
    let Some((line, rest, _)) = line_of(name, words) else { return false };
    !Given::read(line, rest).has(&silent) && finds_secrets(name, words)
}

/// The options with which a search that reads single files goes through folders.
const RECURSIVE: &[&str] = &["-r", "-R", "--recursive", "--dereference-recursive"];

/// Searches of a whole folder, hidden files with it, that find lines such as `API_KEY=…`, printed or not.
pub(crate) fn finds_secrets(name: &str, words: &[Word]) -> bool {
    const LINE: &str = "API_KEY=Q7 SECRET=Q7 PASSWORD=Q7 TOKEN=Q7";
    let folders = searches_folders(name);
    let git = name == "git" && words.iter().any(|word| word.text == "--no-index");
    let compares = names::has("programs.comparing", name);
    let hidden: &[&str] = match name {
        "rg" => &["-.", "--hidden"],
        "ag" => &["-u", "--unrestricted", "--hidden"],
        _ if folders => &[],
        _ if git => &["--no-index"],
        _ if compares || names::has("programs.searches", name) => RECURSIVE,
        _ => return false,
    };
    let Some((line, rest, _)) = line_of(name, words) else { return false };
    let given = Given::read(line, rest);
    if compares || git && line.words.iter().flatten().any(|word| *word == "diff") {
        // All that differs is shown.
        return given.has(hidden) && given.operands.iter().any(|word| is_whole(&word.text) || is_beyond(&word.text));
    }
    if git && given.has(&["--exclude-standard"]) {
        return false;
    }
    if seeks_secrets(words) {
        return true;
    }
    let unrestricted = given.options.iter().filter(|option| matches!(**option, "u" | "--unrestricted")).count() > 1;
    // Files of one sort are not those with settings.
    let sort = |(_, value): &(Act, Word)| value.text.starts_with("*.") && !value.text.ends_with(['*', '?', ']', 'v']);
    if given.acts.iter().any(sort) {
        return false;
    }
    let named = given.has(&["-e", "-f", "--regexp", "--file"]);
    let mut operands = given.operands.iter().map(|word| word.text.as_str());
    let first = if named { None } else { operands.next() };
    let all = given.has(hidden) || name == "rg" && unrestricted;
    if (all || folders) && operands.clone().any(is_home) {
        return true;
    }
    if !all {
        return false;
    }
    let mut roots = operands.peekable();
    if roots.peek().is_some() && !roots.any(is_whole) {
        return false;
    }
    let values = given.acts.iter().map(|(_, word)| word.text.as_str()).filter(|_| named);
    let extended = given.has(&["-E", "-P"]) || !matches!(name, "grep" | "ggrep");
    let literal = given.has(&["-F", "--fixed-strings"]) || name == "fgrep";
    first.into_iter().chain(values).any(|sought| {
        let text = if literal { regex::escape(sought) } else { sought.to_owned() };
        // In basic expressions a sign means something behind a backslash alone.
        let basic = || {
            ["|", "(", ")", "{", "}", "+", "?"].iter().fold(text.clone(), |text, sign| {
                text.replace(&format!("\\{sign}"), "\0").replace(sign, &format!("\\{sign}")).replace('\0', sign)
            })
        };
        let text = if extended || literal { text.clone() } else { basic() };
        let ignores = given.has(&["-i", "--ignore-case", "-y"]) || name == "ag";
        let found = RegexBuilder::new(&text).case_insensitive(ignores).size_limit(1 << 20).build();
        given.has(&["-v", "--invert-match", "-f", "--file"])
            || found.map_or(true, |found| LINE.split(' ').any(|line| found.is_match(line)))
    })
}

/// Whether a folder is all that one works in, or more.
fn is_whole(root: &str) -> bool {
    matches!(root.trim_end_matches(['/', '*']), "" | "." | ".." | "~" | "$HOME" | "$PWD")
}

/// Whether a folder lies where others than those of the work do.
fn is_beyond(root: &str) -> bool {
    root.starts_with(['/', '~', '$']) && !root.starts_with("/tmp/") || root.starts_with("../")
}

/// Whether a search is told to look into files of secrets, by what their names are: `rg -g '.e*'`.
pub(crate) fn seeks_secrets(words: &[Word]) -> bool {
    let options = names::list("programs.naming_files");
    let secret = |pattern: &str| {
        // What is left out is not looked into.
        if pattern.starts_with('!') {
            return false;
        }
        let pattern = pattern.trim_matches('"').replace('\\', "").to_ascii_lowercase();
        let name = pattern.rsplit('/').next().unwrap_or_default();
        secret_file(name).is_some() || name.starts_with('.') && names::fits(name, ".env")
    };
    words.iter().enumerate().any(|(at, word)| {
        let text = word.text.as_str();
        let value = if options.contains(text) {
            words.get(at + 1).map(|word| word.text.as_str())
        } else {
            options.iter().find_map(|option| {
                let joined = text.strip_prefix(option.as_str())?;
                if option.starts_with("--") { joined.strip_prefix('=') } else { Some(joined) }
            })
        };
        value.is_some_and(secret)
    })
}

fn fits(line: &Line, given: &Given<'_>) -> bool {
    let most = line.most.is_none_or(|most| given.operands.len() <= most + usize::from(line.has(">")));
    let needed = line.needed.is_empty() || given.has(&line.needed);
    let last =
        line.last.is_empty() || given.operands.last().is_some_and(|word| line.last.contains(&word.text.as_str()));
    let plus = !line.has("=+") || given.operands.iter().all(|word| word.text.starts_with('+'));
    let without = line.without.is_none_or(|sign| {
        let anywhere = sign.strip_prefix('*');
        let has = |word: &Word| anywhere.map_or_else(|| word.text.starts_with(sign), |sign| word.text.contains(sign));
        !given.operands.iter().copied().chain(given.acts.iter().map(|(_, word)| word)).any(has)
    });
    let here =
        !line.has("here") || !given.operands.is_empty() && given.operands.iter().all(|word| is_address_here(word));
    let asks = line.statements.is_none_or(|before| {
        let statements = given.operands.get(before..).unwrap_or_default();
        !statements.is_empty() && statements.iter().all(|word| word.exact && sql::reads(&word.text))
    });
    most && needed && last && plus && without && here && asks
}

/// Whether a word is the address of a server on this machine (`localhost:8080/health`), without a variable or pattern.
fn is_address_here(word: &Word) -> bool {
    let mut hosts = Vec::new();
    let whole = if word.text.contains("://") { word.text.clone() } else { format!("http://{}", word.text) };
    hosts_in(&whole, &mut hosts);
    let signs = |c: char| c.is_ascii_alphanumeric() || "-_./:?=&%,+".contains(c);
    word.exact && whole.starts_with("http") && word.text.chars().all(signs) && hosts.len() == 1 && is_here(&hosts[0])
}

/// What the script of a stream editor does, if the program is one.
fn script_of(name: &str, given: &Given<'_>) -> Option<Vec<Effect>> {
    match name {
        "sed" | "gsed" => {
            let mut scripts: Vec<&Word> = Vec::new();
            let named = given.has(&["-e", "--expression"]);
            if named {
                scripts.extend(given.acts.iter().map(|(_, word)| word));
            } else {
                // `sed -i '' …`: the ending of a copy that is kept, as BSD has it.
                scripts.extend(given.operands.iter().copied().find(|word| !word.text.is_empty()));
            }
            Some(scripts.into_iter().flat_map(script::sed).collect())
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            Some(given.operands.first().map(|word| script::awk(word)).unwrap_or_default())
        }
        _ => None,
    }
}

fn writes(word: &Word, command: &SimpleCommand, ground: &Ground<'_>, worst: &mut Option<Verdict>) {
    let place = place_of(word, command.cwd.as_ref(), ground.context);
    let why = format!("writes a file in {}", place.words());
    keep(worst, Verdict::new(files::write(place), "file.option", why, word.span.clone()));
}

/// A program that is run, with files that the command finds.
fn runs(program: &str, word: &Word, command: &SimpleCommand, ground: &Ground<'_>, worst: &mut Option<Verdict>) {
    let mut inner = None;
    nested(&format!("{program} {{}}"), word, command, ground, &mut inner);
    if let Some(mut verdict) = inner {
        if verdict.level == RiskLevel::Cautious && !verdict.loses() {
            verdict.rule = "shell.option";
            verdict.why = format!("runs {program:.40} by an option, which {}", verdict.why);
        }
        keep(worst, verdict);
    }
}
