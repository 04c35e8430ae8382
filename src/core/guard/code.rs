//! Code given to an interpreter: `python -c`, `node -e`, `ruby -e`, `perl -e`, and the arguments of code tools.
//!
//! The text is cut into names, strings and signs, whatever the language, so that comments and strings are not taken
//! for calls. Then calls that delete are judged by the path they are given, and calls that start a shell by the text.

use std::{collections::BTreeMap, ops::Range};

use super::{RiskLevel, flow};

/// The languages, as far as they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Ruby,
    Perl,
    Other,
}

/// What a piece of code does that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Deletes; the path where it is written out; with all that is in it.
    Delete { path: Option<String>, recursive: bool },
    /// Writes a file.
    Write { path: String },
    /// Runs this as shell text.
    Shell { text: String },
    /// Runs this program.
    Run { words: Vec<String> },
    /// Runs what cannot be told.
    Unknown { what: String },
    /// A statement of SQL.
    Sql { text: String },
    /// Something that is bad by its name alone.
    Named { level: RiskLevel, what: String },
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'t> {
    Name(&'t str),
    Text { value: String, exact: bool },
    Sign(char),
}

struct Lexed<'t> {
    tokens: Vec<(Token<'t>, Range<usize>)>,
}

fn string_at(text: &str, quote: &str, raw: bool) -> (String, usize) {
    let mut value = String::new();
    let mut at = quote.len();
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with(quote) {
            return (value, at + quote.len());
        }
        at += c.len_utf8();
        if c != '\\' || raw {
            value.push(c);
            continue;
        }
        let Some(escaped) = text[at..].chars().next() else { break };
        at += escaped.len_utf8();
        match escaped {
            'n' => value.push('\n'),
            't' => value.push('\t'),
            '\n' => {}
            'x' => {
                let digits = text.get(at..at + 2).unwrap_or_default();
                if let Ok(byte) = u8::from_str_radix(digits, 16) {
                    value.push(char::from(byte));
                    at += 2;
                }
            }
            'u' => {
                let digits = text.get(at..at + 4).unwrap_or_default();
                if let Some(c) = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
                    value.push(c);
                    at += 4;
                }
            }
            other => value.push(other),
        }
    }
    (value, text.len())
}

fn lex(text: &str, language: Language) -> Lexed<'_> {
    let mut tokens: Vec<(Token<'_>, Range<usize>)> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let line = || rest.find('\n').unwrap_or(rest.len());
        let slashes = matches!(language, Language::JavaScript | Language::Other);
        let length = if c.is_whitespace() {
            c.len_utf8()
        } else if c == '#'
            && language != Language::JavaScript
            && !(language == Language::Perl && tokens.last().is_some_and(|(last, _)| *last == Token::Sign('$')))
            || slashes && rest.starts_with("//")
            || language == Language::Other && rest.starts_with("--")
        {
            line()
        } else if slashes && rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' || c == '\'' || c == '`' {
            let three = language == Language::Python && (rest.starts_with("\"\"\"") || rest.starts_with("'''"));
            let quote = if three { &rest[..3] } else { &rest[..1] };
            let prefix = match tokens.last() {
                Some((Token::Name(name), span))
                    if language == Language::Python && span.end == at && name.len() <= 2 =>
                {
                    Some(name.to_ascii_lowercase()).filter(|name| name.chars().all(|c| "rbfut".contains(c)))
                }
                _ => None,
            };
            let raw = prefix.as_deref().is_some_and(|prefix| prefix.contains('r'))
                || c == '\'' && matches!(language, Language::Ruby | Language::Perl) && !rest.contains("\\'");
            let (mut value, length) = string_at(rest, quote, raw);
            let start = if prefix.is_some() { tokens.pop().map_or(at, |(_, span)| span.start) } else { at };
            let open = match language {
                Language::Python if prefix.as_deref().is_some_and(|prefix| prefix.contains('f')) => "{",
                Language::JavaScript if c == '`' => "${",
                Language::Ruby if c != '\'' => "#{",
                Language::Perl if c != '\'' => "$",
                _ => "",
            };
            let exact = open.is_empty() || !value.contains(open);
            if !exact && open != "$" {
                value = holes(&value, open);
            }
            if c == '`' && matches!(language, Language::Ruby | Language::Perl | Language::Other) {
                // Backquotes run a command there.
                tokens.push((Token::Name("`"), start..start + 1));
                tokens.push((Token::Sign('('), start..start + 1));
                tokens.push((Token::Text { value, exact }, start..at + length));
                tokens.push((Token::Sign(')'), at + length..at + length));
            } else {
                tokens.push((Token::Text { value, exact }, start..at + length));
            }
            length
        } else if matches!(language, Language::Ruby | Language::Perl) && quoted_with_word(rest).is_some() {
            let (kind, value, length) = quoted_with_word(rest).unwrap_or(("q", "", 1));
            if matches!(kind, "x" | "qx") {
                tokens.push((Token::Name("`"), at..at + 1));
                tokens.push((Token::Sign('('), at..at + 1));
            }
            tokens.push((Token::Text { value: value.to_owned(), exact: !value.contains(['#', '$']) }, at..at + length));
            if matches!(kind, "x" | "qx") {
                tokens.push((Token::Sign(')'), at + length..at + length));
            }
            length
        } else if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            // Ruby's and Rust's `name!`, `name?` are names.
            tokens.push((Token::Name(&rest[..end]), at..at + end));
            end
        } else {
            tokens.push((Token::Sign(c), at..at + c.len_utf8()));
            c.len_utf8()
        };
        at += length.max(1);
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    Lexed { tokens }
}

/// `%x{…}`, `%q(…)`, `qx{…}`, `q/…/`: the kind, what is in it, the length of all.
fn quoted_with_word(rest: &str) -> Option<(&'static str, &str, usize)> {
    let kinds: [(&str, &'static str); 8] =
        [("%x", "x"), ("%q", "q"), ("%Q", "q"), ("%w", "q"), ("qx", "qx"), ("qq", "q"), ("qw", "q"), ("q", "q")];
    for (start, kind) in kinds {
        let Some(tail) = rest.strip_prefix(start) else { continue };
        let open = tail.chars().next()?;
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            '/' | '|' | '!' => open,
            _ => continue,
        };
        let end = tail[1..].find(close)?;
        return Some((kind, &tail[1..=end], start.len() + end + 2));
    }
    None
}

/// Puts `$x` where code stands in a string.
fn holes(value: &str, open: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some(start) = rest.find(open) {
        out.push_str(&rest[..start]);
        out.push_str("$x");
        let tail = &rest[start + open.len()..];
        rest = tail.find('}').map_or("", |end| &tail[end + 1..]);
    }
    out.push_str(rest);
    out
}

/// Calls that delete one file, by the last names of their path.
const DELETE: &[&str] = &[
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    "path.unlink",
    "path.rmdir",
    "send2trash",
    "fs.unlink",
    "fs.unlinkSync",
    "unlinkSync",
    "fs.rmdirSync",
    "rmdirSync",
    "fs.rmdir",
    "promises.unlink",
    "promises.rmdir",
    "fsPromises.unlink",
    "File.delete",
    "File.unlink",
    "FileUtils.rm",
    "FileUtils.rm_f",
    "FileUtils.remove",
    "FileUtils.remove_file",
    "Dir.delete",
    "Dir.rmdir",
    "Dir.unlink",
    "unlink",
    "Deno.removeSync",
    "Deno.remove",
    "fs.remove_file",
    "file.remove",
    "File.Delete",
    "safe_unlink",
    "rmdir",
    "os.Remove",
    "fs::remove_file",
    "removeSync",
    "fse.remove",
];
/// Calls that delete a folder with all that is in it.
const DELETE_ALL: &[&str] = &[
    "shutil.rmtree",
    "rmtree",
    "rm_rf",
    "FileUtils.rm_rf",
    "FileUtils.rm_r",
    "FileUtils.rmtree",
    "FileUtils.remove_dir",
    "FileUtils.remove_entry",
    "FileUtils.remove_entry_secure",
    "rmSync",
    "fs.rm",
    "fs.rmSync",
    "promises.rm",
    "fsPromises.rm",
    "rimraf",
    "rimrafSync",
    "rimraf.sync",
    "remove_tree",
    "os.RemoveAll",
    "os.removedirs",
    "Directory.Delete",
    "fs.remove_dir_all",
    "deleteDirectory",
    "emptyDirSync",
    "emptyDir",
    "delTree",
    "del.sync",
    "deleteSync",
];
/// Calls that run shell text or a program.
const RUN: &[&str] = &[
    "os.system",
    "os.popen",
    "os.execute",
    "os.execl",
    "os.execle",
    "os.execlp",
    "os.execlpe",
    "os.execv",
    "os.execve",
    "os.execvp",
    "os.execvpe",
    "os.spawnl",
    "os.spawnle",
    "os.spawnlp",
    "os.spawnv",
    "os.spawnve",
    "os.spawnvp",
    "os.posix_spawn",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "commands.getoutput",
    "pty.spawn",
    "asyncio.create_subprocess_shell",
    "asyncio.create_subprocess_exec",
    "execSync",
    "spawnSync",
    "execFileSync",
    "execFile",
    "child_process.exec",
    "child_process.spawn",
    "spawn",
    "exec",
    "execa",
    "execaSync",
    "shell_exec",
    "passthru",
    "proc_open",
    "pcntl_exec",
    "system",
    "popen",
    "io.popen",
    "Open3.capture2",
    "Open3.capture3",
    "Open3.popen3",
    "Open3.capture2e",
    "IO.popen",
    "Kernel.system",
    "Kernel.exec",
    "Process.spawn",
    "`",
    "Deno.run",
    "Deno.Command",
    "Bun.spawn",
    "Bun.spawnSync",
    "sh",
    "system2",
    "get_ipython.system",
    "run_line_magic",
    "shelljs.exec",
    "sh.exec",
    "script",
];
/// Calls that run their text as code.
const EVALUATE: &[&str] =
    &["eval", "exec", "compile", "Function", "instance_eval", "class_eval", "runInThisContext", "runInNewContext"];
/// Calls whose text is SQL.
const SQL: &[&str] = &[
    "execute",
    "executemany",
    "executescript",
    "raw",
    "query",
    "exec_driver_sql",
    "read_sql",
    "text",
    "run_sql",
    "unsafe",
    "exec_query",
];

/// All that the code does that deserves a look.
pub(super) fn acts(text: &str, language: Language) -> Vec<Act> {
    acts_at(text, language, 0)
}

/// A file of keys is named, and something goes to another machine.
fn sends_secret(tokens: &[(Token<'_>, Range<usize>)]) -> Option<Act> {
    let secret = |token: &Token<'_>| matches!(token, Token::Text { value, .. } if value.len() < 256 && value.contains(['.', '_', '/']) && flow::is_secret(value));
    let sends = |token: &Token<'_>| {
        matches!(
            token,
            Token::Name(
                "requests"
                    | "urlopen"
                    | "urllib"
                    | "httpx"
                    | "aiohttp"
                    | "socket"
                    | "smtplib"
                    | "ftplib"
                    | "paramiko"
                    | "fetch"
                    | "axios"
                    | "XMLHttpRequest"
                    | "http"
                    | "https"
                    | "net"
                    | "HTTP"
                    | "Faraday"
                    | "LWP"
                    | "boto3"
            )
        )
    };
    let any = |wanted: &dyn Fn(&Token<'_>) -> bool| tokens.iter().any(|(token, _)| wanted(token));
    (any(&secret) && any(&sends)).then(|| Act::Named {
        level: RiskLevel::Confirm,
        what: "may send what is secret to another machine".to_owned(),
    })
}

/// `fork while 1`, `while True: os.fork()`: processes without an end.
fn forks(tokens: &[(Token<'_>, Range<usize>)]) -> Option<Act> {
    let at = |wanted: &[&str]| {
        tokens.iter().position(|(token, _)| matches!(token, Token::Name(name) if wanted.contains(name)))
    };
    let (fork, again) = (at(&["fork"])?, at(&["while", "loop", "until", "forever"])?);
    (fork.abs_diff(again) < 12).then(|| Act::Named {
        level: RiskLevel::Dangerous,
        what: "starts itself until the machine stands still".to_owned(),
    })
}

fn acts_at(text: &str, language: Language, depth: usize) -> Vec<Act> {
    const MOST: usize = 256;
    let mut found = Vec::new();
    if depth > 3 {
        return vec![Act::Unknown { what: "code in code in code".to_owned() }];
    }
    let lexed = lex(text, language);
    let aliases = aliases(&lexed);
    let strings = assigned(&lexed);
    let tokens = &lexed.tokens;
    found.extend(sends_secret(tokens));
    found.extend(forks(tokens));
    let mut at = 0;
    while at < tokens.len() && found.len() < MOST {
        let here = at;
        at += 1;
        // A notebook's `!rm -rf x` runs in a shell.
        if language == Language::Python && tokens[here].0 == Token::Sign('!') {
            let start = tokens[here].1.end;
            let line_start = text[..tokens[here].1.start].rfind('\n').map_or(0, |at| at + 1);
            if text[line_start..start - 1].trim().is_empty() && !text[start..].starts_with('=') {
                let line = text[start..].lines().next().unwrap_or_default();
                found.push(Act::Shell { text: line.to_owned() });
            }
            continue;
        }
        let Token::Name(first) = tokens[here].0 else { continue };
        if here > 0
            && matches!(tokens[here - 1].0, Token::Sign('.'))
            && !matches!(
                first,
                "unlink"
                    | "rmdir"
                    | "rmtree"
                    | "delete"
                    | "system"
                    | "rm"
                    | "remove"
                    | "execute"
                    | "executescript"
                    | "query"
                    | "drop"
                    | "raw"
                    | "execSync"
                    | "spawnSync"
                    | "execFileSync"
                    | "rmSync"
                    | "unlinkSync"
                    | "rmdirSync"
                    | "write_text"
                    | "write_bytes"
                    | "popen"
                    | "Popen"
                    | "unlinkFileSync"
            )
        {
            continue;
        }
        let (path, next) = path_from(tokens, here, &aliases);
        // A path is read once.
        at = at.max(next);
        let last = path.rsplit('.').next().unwrap_or_default();
        if matches!(last, "def" | "function" | "class" | "fn" | "sub")
            || here > 0 && matches!(tokens[here - 1].0, Token::Name("def" | "function" | "class" | "sub" | "fn"))
        {
            continue;
        }
        let Some(arguments) = arguments(tokens, next, language) else { continue };
        let is = |list: &[&str]| {
            list.iter().any(|name| {
                path == *name
                    || last == *name && !name.contains('.')
                    || path.ends_with(name) && path[..path.len() - name.len()].ends_with('.')
            })
        };
        let values = texts(tokens, arguments.clone(), &strings);
        let literal = values.iter().find(|(_, exact)| *exact).map(|(value, _)| value.clone());
        let anything = !arguments.is_empty();
        // `Path('x').unlink()`: the path is before the call.
        let method_of_path = matches!(last, "unlink" | "rmdir" | "write_text" | "write_bytes")
            && here > 0
            && tokens[here - 1].0 == Token::Sign('.');
        if language == Language::Python && method_of_path && !path.contains('.') {
            let before = text_before(tokens, here);
            if last.starts_with("write") {
                if let Some(path) = before {
                    found.push(Act::Write { path });
                }
            } else {
                found.push(Act::Delete { path: before, recursive: false });
            }
        } else if is(DELETE_ALL) {
            let globs = !anything;
            let recursive = !matches!(last, "rm") || !values.is_empty();
            if !globs {
                found.push(Act::Delete { path: literal, recursive });
            }
        } else if is(DELETE) && names(tokens, arguments.clone(), "recursive") {
            found.push(Act::Delete { path: literal, recursive: true });
        } else if is(DELETE)
            && (anything || language != Language::Python || path.contains('.') && matches!(last, "unlink" | "rmdir"))
        {
            // A list's or a set's `remove` is something else: only names of modules count.
            let listed = language == Language::Python && last == "rmdir" && !path.contains('.');
            if !listed {
                found.push(Act::Delete { path: literal, recursive: false });
            }
        } else if last == "open"
            && matches!(path.as_str(), "open" | "io.open" | "codecs.open" | "builtins.open" | "File.open")
        {
            if let [(file, true), (mode, _), ..] = values.as_slice()
                && mode.len() <= 3
                && mode.contains(['w', 'a', 'x', '+'])
            {
                found.push(Act::Write { path: file.clone() });
            }
        } else if matches!(last, "writeFileSync" | "appendFileSync" | "writeFile" | "truncateSync") {
            if let Some(path) = literal {
                found.push(Act::Write { path });
            }
        } else if language != Language::Python
            && matches!(last, "exec" | "spawn")
            && path.contains('.')
            && !["child_process.", "cp.", "shell", "Process.", "Kernel.", "Bun.", "sh."]
                .iter()
                .any(|start| path.starts_with(start))
        {
            // `/x/.exec(text)` is a regular expression.
        } else if EVALUATE.contains(&last)
            && (last != "exec" || language == Language::Python || language == Language::Perl)
            && !path.contains('.')
            && path != "re.compile"
        {
            match values.as_slice() {
                [(code, true), ..] if arguments.len() <= 8 => found.extend(acts_at(code, language, depth + 1)),
                _ if anything && last != "compile" => {
                    found.push(Act::Unknown { what: format!("the code that {last}() is given") });
                }
                _ => {}
            }
        } else if is(RUN)
            && !(last == "script" || last == "sh" && language != Language::Ruby && language != Language::JavaScript)
        {
            let words: Vec<String> = values.into_iter().map(|(value, _)| value).collect();
            match words.as_slice() {
                [] if anything => found.push(Act::Unknown { what: format!("what {last}() is given") }),
                [] => {}
                [text] => found.push(Act::Shell { text: text.clone() }),
                words => {
                    found.push(Act::Run { words: words.to_vec() });
                    if words.first().is_some_and(|first| first.contains(' ')) {
                        found.extend(
                            words
                                .iter()
                                .filter(|word| word.contains(' '))
                                .map(|word| Act::Shell { text: word.clone() }),
                        );
                    }
                }
            }
            // The call is one: its strings are not looked at again.
            at = at.max(arguments.end);
        } else if SQL.contains(&last) {
            found
                .extend(values.into_iter().filter(|(value, _)| value.contains(' ')).map(|(text, _)| Act::Sql { text }));
        } else if matches!(path.as_str(), "db.dropDatabase" | "dropDatabase") {
            found.push(Act::Named { level: RiskLevel::Dangerous, what: "drops a whole database".to_owned() });
        }
    }
    if language == Language::Other {
        // AppleScript has words for it.
        let mut rest = text;
        while let Some(at) = rest.find("do shell script") {
            rest = &rest[at + 15..];
            if let Some(start) = rest.find('"') {
                found.push(Act::Shell { text: string_at(&rest[start..], "\"", false).0 });
            }
        }
    }
    found
}

/// `import shutil as s`, `from shutil import rmtree as r`, `const { execSync: e } = require('child_process')`.
fn aliases<'t>(lexed: &Lexed<'t>) -> BTreeMap<&'t str, String> {
    let mut aliases = BTreeMap::new();
    let names: Vec<&Token<'t>> = lexed.tokens.iter().map(|(token, _)| token).collect();
    for (at, token) in names.iter().enumerate() {
        let Token::Name(word) = token else { continue };
        match *word {
            "as" => {
                if let (Some(Token::Name(new)), Some(at)) = (names.get(at + 1), at.checked_sub(1)) {
                    let (mut start, mut path) = (at, String::new());
                    if let Token::Name(name) = names[at] {
                        (*name).clone_into(&mut path);
                    }
                    while start >= 2 && matches!(names[start - 1], Token::Sign('.')) {
                        start -= 2;
                        if let Token::Name(name) = names[start] {
                            path = format!("{name}.{path}");
                        }
                    }
                    // The module that `from` names, if this is its line.
                    let mut back = start;
                    while back > 0 && start - back < 40 {
                        back -= 1;
                        if let (Token::Name("from"), Some(Token::Name(module))) = (names[back], names.get(back + 1)) {
                            path = format!("{module}.{path}");
                            break;
                        }
                        if matches!(names[back], Token::Sign(';')) {
                            break;
                        }
                    }
                    aliases.insert(*new, path);
                }
            }
            "from" => {
                if let (Some(Token::Name(module)), Some(Token::Name("import"))) = (names.get(at + 1), names.get(at + 2))
                {
                    for token in names.iter().skip(at + 3).take(40) {
                        match token {
                            Token::Name("as") | Token::Sign(',' | '(' | ')') => {}
                            Token::Name(name) if *name != "import" && *name != "from" => {
                                aliases.entry(*name).or_insert_with(|| format!("{module}.{name}"));
                            }
                            _ => break,
                        }
                    }
                }
            }
            _ => {
                // `name = os.system`, `name = __import__('os')`, `name = require('fs')`
                if let (Some(Token::Sign('=')), Some(Token::Name(module))) = (names.get(at + 1), names.get(at + 2))
                    && !matches!(names.get(at + 2), Some(Token::Sign('=')))
                {
                    match (*module, names.get(at + 3), names.get(at + 4)) {
                        ("__import__" | "require", Some(Token::Sign('(')), Some(Token::Text { value, .. })) => {
                            aliases.insert(*word, value.trim_start_matches("node:").to_owned());
                        }
                        (module, Some(Token::Sign('.')), Some(Token::Name(function)))
                            if !matches!(names.get(at + 5), Some(Token::Sign('('))) =>
                        {
                            aliases.insert(*word, format!("{module}.{function}"));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    aliases
}

/// Names that a string is assigned to, once.
fn assigned<'t>(lexed: &Lexed<'t>) -> BTreeMap<&'t str, String> {
    let mut strings: BTreeMap<&'t str, String> = BTreeMap::new();
    let mut twice = Vec::new();
    for three in lexed.tokens.windows(3) {
        if let [(Token::Name(name), _), (Token::Sign('='), _), (value, _)] = three {
            let before = match value {
                Token::Text { value, exact: true } => strings.insert(*name, value.clone()),
                _ => strings.remove(name).or(Some(String::new())),
            };
            if before.is_some() {
                twice.push(*name);
            }
        }
    }
    for name in twice {
        strings.remove(name);
    }
    strings
}

/// The dotted path that begins at a token, and where it ends. `__import__('os').system` and `require('fs').rmSync`
/// and `getattr(os, 'remove')` read as paths too.
fn path_from(tokens: &[(Token<'_>, Range<usize>)], start: usize, aliases: &BTreeMap<&str, String>) -> (String, usize) {
    let mut path = String::new();
    let mut at = start;
    if let Some((Token::Name(first), _)) = tokens.get(at) {
        at += 1;
        let imported = match (tokens.get(at), tokens.get(at + 1), tokens.get(at + 2)) {
            (Some((Token::Sign('('), _)), Some((Token::Text { value, .. }, _)), Some((Token::Sign(')'), _)))
                if matches!(*first, "__import__" | "require" | "import_module") =>
            {
                Some(value.trim_start_matches("node:").to_owned())
            }
            _ => None,
        };
        if let Some(module) = imported {
            path = module;
            at += 3;
        } else if *first == "getattr" {
            if let (
                Some((Token::Sign('('), _)),
                Some((Token::Name(of), _)),
                Some((Token::Sign(','), _)),
                Some((Token::Text { value, .. }, _)),
                Some((Token::Sign(')'), _)),
            ) = (tokens.get(at), tokens.get(at + 1), tokens.get(at + 2), tokens.get(at + 3), tokens.get(at + 4))
            {
                path = format!("{}.{value}", aliases.get(of).map_or(*of, String::as_str));
                at += 5;
            } else {
                path.push_str(first);
            }
        } else {
            path = aliases.get(first).cloned().unwrap_or_else(|| (*first).to_owned());
        }
    }
    let mut parts = 0;
    loop {
        match (tokens.get(at), tokens.get(at + 1), tokens.get(at + 2)) {
            (Some((Token::Sign('.'), _)), Some((Token::Name(name), _)), _) if parts < 8 => {
                path.push('.');
                path.push_str(name);
                at += 2;
                parts += 1;
            }
            (Some((Token::Sign('?' | '!'), _)), Some((Token::Sign('.' | '('), _)), _) => at += 1,
            (Some((Token::Sign(':'), _)), Some((Token::Sign(':'), _)), Some((Token::Name(name), _))) if parts < 8 => {
                path.push('.');
                path.push_str(name);
                at += 3;
                parts += 1;
            }
            _ => break,
        }
    }
    (path, at)
}

/// The tokens between the brackets of a call; in Ruby and Perl the brackets may be left out.
fn arguments(tokens: &[(Token<'_>, Range<usize>)], at: usize, language: Language) -> Option<Range<usize>> {
    match tokens.get(at) {
        Some((Token::Sign('('), _)) => {
            let mut depth = 0_usize;
            for (end, (token, _)) in tokens.iter().enumerate().skip(at).take(1024) {
                match token {
                    Token::Sign('(') => depth += 1,
                    Token::Sign(')') => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1..end);
                        }
                    }
                    _ => {}
                }
            }
            Some(at + 1..tokens.len())
        }
        Some((token, _)) if matches!(language, Language::Ruby | Language::Perl | Language::Other) => {
            let starts = matches!(token, Token::Text { .. } | Token::Name(_) | Token::Sign('$' | '@' | '<'));
            if !starts {
                return None;
            }
            let ends = |token: &Token<'_>| matches!(token, Token::Sign(';' | '}' | '|'));
            let end = tokens
                .iter()
                .skip(at)
                .take(256)
                .position(|(token, _)| ends(token))
                .map_or(tokens.len(), |end| at + end);
            Some(at..end)
        }
        _ => None,
    }
}

/// The strings among some tokens, with names that hold one put in.
fn texts(
    tokens: &[(Token<'_>, Range<usize>)],
    range: Range<usize>,
    strings: &BTreeMap<&str, String>,
) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    let mut joins = false;
    for at in range.clone() {
        let (value, exact) = match &tokens[at].0 {
            Token::Text { value, exact } => (value.clone(), *exact),
            Token::Name(name) => match strings.get(name) {
                Some(value) if !matches!(tokens.get(at + 1), Some((Token::Sign('='), _))) => (value.clone(), true),
                _ => continue,
            },
            Token::Sign('+') => {
                joins = true;
                continue;
            }
            Token::Sign(',') => {
                joins = false;
                continue;
            }
            Token::Sign(_) => continue,
        };
        match found.last_mut() {
            Some((last, all)) if joins => {
                last.push_str(&value);
                *all &= exact;
            }
            _ => found.push((value, exact)),
        }
        joins = false;
    }
    // `"rm " + name` is not known to its end.
    let sums = range.clone().any(|at| matches!(tokens[at].0, Token::Sign('+')));
    let names = range.into_iter().any(|at| matches!(&tokens[at].0, Token::Name(name) if !strings.contains_key(name)));
    if sums && names {
        for (text, exact) in &mut found {
            text.push_str(" $x");
            *exact = false;
        }
    }
    found
}

/// Whether a name is among some tokens.
fn names(tokens: &[(Token<'_>, Range<usize>)], range: Range<usize>, wanted: &str) -> bool {
    tokens[range].iter().any(|(token, _)| matches!(token, Token::Name(name) if *name == wanted))
}

/// The string in the call before a method: `Path('x').unlink`.
fn text_before(tokens: &[(Token<'_>, Range<usize>)], method: usize) -> Option<String> {
    match (tokens.get(method.checked_sub(2)?), tokens.get(method.checked_sub(3)?), tokens.get(method.checked_sub(5)?)) {
        (
            Some((Token::Sign(')'), _)),
            Some((Token::Text { value, exact: true }, _)),
            Some((Token::Name("Path" | "PosixPath" | "WindowsPath"), _)),
        ) => Some(value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deletes(code: &str) -> Vec<(Option<String>, bool)> {
        acts(code, Language::Python)
            .into_iter()
            .filter_map(|act| if let Act::Delete { path, recursive } = act { Some((path, recursive)) } else { None })
            .collect()
    }

    #[test]
    fn python_that_deletes_is_found_under_any_name() {
        let tree = vec![(Some("/x".to_owned()), true)];
        for code in [
            "import shutil; shutil.rmtree('/x')",
            "import shutil as s\ns.rmtree('/x')",
            "from shutil import rmtree\nrmtree('/x')",
            "from shutil import rmtree as r; r('/x')",
            "__import__('shutil').rmtree('/x')",
            "getattr(shutil, 'rmtree')('/x')",
            "d = '/x'\nshutil.rmtree(d)",
            "exec(\"import shutil; shutil.rmtree('/x')\")",
            "shutil . rmtree ( '/x' )",
            "shutil.rmtree(r'/x', ignore_errors=True)",
            "f = shutil.rmtree\nf('/x')",
        ] {
            assert_eq!(deletes(code), tree, "{code}");
        }
        assert_eq!(deletes("from pathlib import Path; Path('a').unlink()"), [(Some("a".to_owned()), false)]);
        assert_eq!(deletes("for p in Path('.').iterdir(): p.unlink()"), [(None, false)]);
        assert_eq!(deletes("os.remove(name)"), [(None, false)]);
    }

    #[test]
    fn python_that_does_not_is_let_pass() {
        for code in [
            "print('shutil.rmtree(x)')",
            "# os.remove('x')",
            "\"\"\"os.remove('x')\"\"\"",
            "items.remove('x')",
            "def rmtree(path): pass",
            "import os; print(os.listdir('.'))",
            "re.compile('x')",
            "x = eval_model(y)",
            "os.path.exists('x')",
        ] {
            assert_eq!(acts(code, Language::Python), [], "{code}");
        }
    }

    #[test]
    fn shells_in_code_are_found() {
        let shell = |code: &str, language| {
            acts(code, language).into_iter().any(|act| match act {
                Act::Shell { text } => text.starts_with("rm -rf"),
                Act::Run { words } => words.first().is_some_and(|word| word == "rm"),
                _ => false,
            })
        };
        assert!(shell("os.system('rm -rf /')", Language::Python));
        assert!(shell("subprocess.run(['rm', '-rf', '/'])", Language::Python));
        assert!(shell("subprocess.run(f'rm -rf {x}', shell=True)", Language::Python));
        assert!(shell("os.system('rm -rf ' + x)", Language::Python));
        assert!(shell("!rm -rf /", Language::Python));
        assert!(shell("require('child_process').execSync('rm -rf /')", Language::JavaScript));
        assert!(shell("const {execSync} = require('child_process'); execSync(`rm -rf ${x}`)", Language::JavaScript));
        assert!(shell("`rm -rf /`", Language::Ruby));
        assert!(shell("system 'rm -rf /'", Language::Ruby));
        assert!(shell("%x{rm -rf /}", Language::Ruby));
        assert!(shell("system(\"rm -rf /\")", Language::Perl));
        assert!(shell("qx(rm -rf /)", Language::Perl));
        assert!(!shell("console.log('rm -rf /')", Language::JavaScript));
        assert!(!shell("/x/.exec('rm -rf /')", Language::JavaScript));
    }
}
