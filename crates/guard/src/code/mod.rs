//! Code given to an interpreter: `python -c`, `node -e`, `ruby -e`, `perl -e`, and the arguments of code tools.
//!
//! The text is cut into names, strings and signs, whatever the language, so that comments and strings are not taken
//! for calls. Then calls that delete are judged by the path they are given, and calls that start a shell by the text.

mod lex;
mod path;
mod words;

use std::{collections::BTreeMap, ops::Range};

use self::{
    lex::{Token, lex, string_at},
    path::{aliases, arguments, assigned, names, path_from, text_before, texts},
    words::partly_known,
};
use super::{RiskLevel, flow};

/// Calls that delete a folder with all that is in it.
const DELETE_ALL: &str = "code.deleting_all";
/// Calls that delete one file.
const DELETE: &str = "code.deleting";
/// Calls that run a program.
const RUN: &str = "code.running";
/// Calls that run a text as code.
const EVALUATE: &str = "code.evaluating";
/// Calls whose text is SQL.
const SQL: &str = "code.sql";
/// Calls that empty what they are called on.
const EMPTIES: &str = "code.emptying";
/// Calls that move a file over another.
const MOVE: &str = "code.moving";
/// Functions that call the one whose name they are given.
const CALL_BACKS: &str = "code.calling_back";
/// Calls that make a text out of what hides it.
const DECODE: &str = "code.decoding";
/// What begins the calls that ask a server.
const CLIENTS: &str = "code.clients";

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
    /// Leaves a file with nothing in it.
    Empty { path: String },
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

/// A connection and a shell in one piece of code: whoever is at the other end types into it.
fn held_by_another(tokens: &[(Token<'_>, Range<usize>)]) -> Option<Act> {
    let connects = |token: &Token<'_>| {
        matches!(
            token,
            Token::Name(
                "socket" | "Socket" | "TCPSocket" | "fsockopen" | "stream_socket_client" | "TcpClient" | "TCPClient"
            )
        ) || matches!(token, Token::Text { value, .. } if matches!(value.as_str(), "net" | "node:net"))
    };
    let shell = |token: &Token<'_>| match token {
        Token::Name(name) => matches!(*name, "dup2" | "pty"),
        Token::Text { value, .. } => {
            let first = value.split_whitespace().next().unwrap_or_default();
            ["/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash"].contains(&first)
                || matches!(first, "sh" | "bash" | "cmd.exe" | "powershell.exe") && value.len() <= first.len() + 3
        }
        Token::Sign(_) => false,
    };
    let any = |wanted: &dyn Fn(&Token<'_>) -> bool| tokens.iter().any(|(token, _)| wanted(token));
    (any(&connects) && any(&shell))
        .then(|| Act::Named { level: RiskLevel::Confirm, what: "lets another machine run commands".to_owned() })
}

/// Whether the first argument is text alone: no call and no name makes something else of it.
fn says_all(tokens: &[(Token<'_>, Range<usize>)], range: Range<usize>, strings: &BTreeMap<&str, String>) -> bool {
    for (token, _) in &tokens[range] {
        match token {
            Token::Text { .. } | Token::Sign('+') => {}
            Token::Name(name) if strings.contains_key(name) => {}
            // `exec(code, globals)`, `eval "use Foo" or die`
            Token::Sign(',') | Token::Name("or" | "and" | "if" | "unless") => return true,
            Token::Sign(_) | Token::Name(_) => return false,
        }
    }
    true
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
    found.extend(held_by_another(tokens));
    let (mut at, mut long) = (0, 0);
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
        // `User.objects.all().delete()`, `User::truncate()`, `DB::table('x')->delete()`: all that a query finds.
        let of_query = matches!(first, "delete" | "truncate" | "forceDelete")
            && here > 1
            && matches!(tokens[here - 1].0, Token::Sign('.' | ':' | '>'))
            && matches!(tokens.get(here + 1..here + 3), Some([(Token::Sign('('), _), (Token::Sign(')'), _)]))
            && tokens[here.saturating_sub(24)..here].iter().any(|(token, _)| match token {
                Token::Name(name) => {
                    matches!(*name, "objects" | "query" | "table" | "Models") || name.ends_with(".objects")
                }
                _ => false,
            });
        if of_query {
            found.push(Act::Named { level: RiskLevel::Confirm, what: "deletes all that a query finds".to_owned() });
            continue;
        }
        // `fetch(url).then(r => r.text()).then(eval)`: code that comes from elsewhere.
        if matches!(first, "eval" | "Function")
            && language == Language::JavaScript
            && here > 1
            && matches!(tokens[here - 1].0, Token::Sign('('))
            && matches!(tokens[here - 2].0, Token::Name(_))
            && matches!(tokens.get(here + 1), Some((Token::Sign(')'), _)))
        {
            found.push(Act::Unknown { what: format!("the code that {first}() is given") });
            continue;
        }
        // A method of something that is not read as a path: `Model.all.destroy_all`, `client().deleteIndex(…)`.
        if here > 0 && matches!(tokens[here - 1].0, Token::Sign('.')) && crate::names::has(EMPTIES, first) {
            found.push(Act::Named {
                level: RiskLevel::Confirm,
                what: format!("deletes all that {first} is called for"),
            });
            continue;
        }
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
        if crate::names::has(EMPTIES, last) && path.contains('.') {
            found
                .push(Act::Named { level: RiskLevel::Confirm, what: format!("deletes all that {last} is called for") });
            continue;
        }
        let Some(arguments) = arguments(tokens, next, language) else { continue };
        // `User::truncate()`: a class that stands for a table.
        if language == Language::Other
            && last == "truncate"
            && arguments.is_empty()
            && path.rsplit('.').nth(1).is_some_and(|owner| owner.starts_with(|c: char| c.is_ascii_uppercase()))
        {
            found.push(Act::Named { level: RiskLevel::Confirm, what: "empties a table".to_owned() });
            continue;
        }
        // Calls without an end would each be read to the end of the text.
        if arguments.len() >= 1000 {
            long += 1;
            if long > 8 {
                found.push(Act::Unknown { what: "more calls without an end than are read".to_owned() });
                break;
            }
        }
        // A name with dots is the end of a path, one without stands for itself.
        let is = |list: &str| {
            let ends = || path.match_indices('.').any(|(at, _)| crate::names::has(list, &path[at + 1..]));
            crate::names::has(list, &path) || crate::names::has(list, last) || ends()
        };
        let values = texts(tokens, arguments.clone(), &strings);
        // `requests.delete(url)`, `axios.request({method: 'DELETE'})`, `fetch(url, {method: 'DELETE'})`
        let client = path.split('.').next().is_some_and(|owner| crate::names::has(CLIENTS, owner));
        let asked = values.iter().any(|(value, _)| value.eq_ignore_ascii_case("delete"));
        if client && (last == "delete" && !arguments.is_empty() || asked) {
            found.push(Act::Named { level: RiskLevel::Confirm, what: "asks a server to delete something".to_owned() });
            continue;
        }
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
        } else if crate::names::has(CALL_BACKS, last)
            && values.first().is_some_and(|(value, _)| {
                crate::names::has(DELETE, value.as_str()) || crate::names::has(RUN, value.as_str())
            })
        {
            found.push(Act::Delete { path: None, recursive: false });
        } else if is(DELETE_ALL) {
            let globs = !anything;
            let recursive = !matches!(last, "rm") || !values.is_empty();
            if !globs {
                found.push(Act::Delete { path: literal, recursive });
            }
        } else if (is(DELETE) || last == "rm" && language == Language::Other)
            && names(tokens, arguments.clone(), "recursive")
        {
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
                // `open(x, 'w').close()`: opened to be emptied.
                let closed = mode.starts_with('w')
                    && matches!(
                        tokens.get(arguments.end + 1..arguments.end + 3),
                        Some([(Token::Sign('.'), _), (Token::Name("close" | "truncate"), _)])
                    );
                let path = file.clone();
                found.push(if closed { Act::Empty { path } } else { Act::Write { path } });
            }
        } else if matches!(last, "writeFileSync" | "appendFileSync" | "writeFile" | "truncateSync") {
            if let Some(path) = literal {
                let nothing = match values.as_slice() {
                    [_, (text, true), ..] => text.is_empty() && last.starts_with("write"),
                    [_] => last == "truncateSync",
                    _ => false,
                };
                found.push(if nothing { Act::Empty { path } } else { Act::Write { path } });
            }
        } else if language != Language::Python
            && matches!(last, "exec" | "spawn")
            && path.contains('.')
            && !["child_process.", "cp.", "shell", "Process.", "Kernel.", "Bun.", "sh."]
                .iter()
                .any(|start| path.starts_with(start))
        {
            // `/x/.exec(text)` is a regular expression.
        } else if crate::names::has(EVALUATE, last)
            && (last != "exec" || language == Language::Python)
            && !path.contains('.')
            && path != "re.compile"
        {
            match values.as_slice() {
                // Written out, and not only a part of what another call makes of it.
                [(code, true), ..] if arguments.len() <= 8 && says_all(tokens, arguments.clone(), &strings) => {
                    found.extend(acts_at(code, language, depth + 1));
                }
                _ if anything && last != "compile" => {
                    found.push(Act::Unknown { what: format!("the code that {last}() is given") });
                }
                _ => {}
            }
        } else if is(RUN)
            && !(last == "script" || last == "sh" && language != Language::Ruby && language != Language::JavaScript)
        {
            // What only joins words says nothing: `" ".join(["git", "push"])`.
            let mut words: Vec<String> =
                values.into_iter().map(|(value, _)| value).filter(|value| !value.trim().is_empty()).collect();
            // `os.execvp("git", ["git", "push"])`: the program, then all its words from its name on.
            if path.starts_with("os.")
                && matches!(words.as_slice(), [file, name, ..] if file.rsplit('/').next() == name.rsplit('/').next())
            {
                words.remove(0);
            }
            // The text is put together from another alphabet: what it says is hidden.
            if crate::names::list(DECODE).iter().any(|name| names(tokens, arguments.clone(), name)) {
                found.push(Act::Unknown { what: format!("the hidden text that {last}() is given") });
                continue;
            }
            if let Some(text) = partly_known(tokens, arguments.clone(), &strings) {
                found.push(Act::Shell { text });
                at = at.max(arguments.end);
                continue;
            }
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
        } else if is(MOVE) && values.len() == 2 {
            let words = values.into_iter().map(|(value, _)| value);
            found.push(Act::Run { words: std::iter::once("mv".to_owned()).chain(words).collect() });
        } else if matches!(path.as_str(), "os.truncate" | "File.truncate" | "fs.truncate") {
            if let Some(path) = literal {
                found.push(Act::Empty { path });
            }
        } else if matches!(path.as_str(), "os.kill" | "os.killpg" | "process.kill" | "Process.kill")
            && tokens.get(arguments.start).is_some_and(|(_, span)| {
                let given: String =
                    text.get(span.start..).unwrap_or_default().chars().filter(|c| *c != ' ').take(4).collect();
                given.strip_prefix("-1").is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
            })
        {
            found.push(Act::Named { level: RiskLevel::Dangerous, what: "kills every process".to_owned() });
        } else if crate::names::has(SQL, last) {
            found
                .extend(values.into_iter().filter(|(value, _)| value.contains(' ')).map(|(text, _)| Act::Sql { text }));
        } else if matches!(path.as_str(), "db.dropDatabase" | "dropDatabase") {
            found.push(Act::Named { level: RiskLevel::Dangerous, what: "drops a whole database".to_owned() });
        }
    }
    if language == Language::JavaScript {
        // What stands in a template behind a dollar is for a shell.
        for (at, _) in text.match_indices("$`").take(MOST) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '`' | '\'' | '"' | '\\')) {
                let line = text[at + 2..].split('`').next().unwrap_or_default();
                found.push(Act::Shell { text: line.to_owned() });
            }
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
