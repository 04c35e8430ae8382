//! What a call is and what it is given: aliases and assigned strings put in, the dotted path it goes by, the strings
//! among its arguments.

use std::{collections::BTreeMap, ops::Range};

use super::{
    Language,
    lex::{Lexed, Token},
};

/// `import shutil as s`, `from shutil import rmtree as r`, `const { execSync: e } = require('child_process')`.
pub(super) fn aliases<'t>(lexed: &Lexed<'t>) -> BTreeMap<&'t str, String> {
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
            // `import { rm as r } from 'fs/promises'`, `const { rm: r } = require('fs')`
            "import" | "const" | "let" | "var" if matches!(names.get(at + 1), Some(Token::Sign('{'))) => {
                let inside: Vec<&Token<'t>> = names.iter().copied().skip(at + 2).take(80).collect();
                let Some(end) = inside.iter().position(|token| matches!(token, Token::Sign('}'))) else { continue };
                let module = inside.iter().skip(end + 1).take(5).find_map(|token| match token {
                    Token::Text { value, .. } => Some(value.trim_start_matches("node:")),
                    _ => None,
                });
                let Some(module) = module.and_then(|module| module.rsplit('/').next()) else { continue };
                for one in inside[..end].split(|token| matches!(token, Token::Sign(','))) {
                    let mut words = one.iter().filter_map(|token| match token {
                        Token::Name(name) if *name != "as" => Some(*name),
                        _ => None,
                    });
                    if let Some(name) = words.next() {
                        aliases.entry(words.next().unwrap_or(name)).or_insert_with(|| format!("{module}.{name}"));
                    }
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
pub(super) fn assigned<'t>(lexed: &Lexed<'t>) -> BTreeMap<&'t str, String> {
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
pub(super) fn path_from(
    tokens: &[(Token<'_>, Range<usize>)],
    start: usize,
    aliases: &BTreeMap<&str, String>,
) -> (String, usize) {
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
pub(super) fn arguments(tokens: &[(Token<'_>, Range<usize>)], at: usize, language: Language) -> Option<Range<usize>> {
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
            let starts = matches!(token, Token::Text { .. } | Token::Name(_) | Token::Sign('$' | '@' | '<'))
                || language == Language::Ruby && matches!(token, Token::Sign('*' | '['));
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
pub(super) fn texts(
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
pub(super) fn names(tokens: &[(Token<'_>, Range<usize>)], range: Range<usize>, wanted: &str) -> bool {
    tokens[range].iter().any(|(token, _)| matches!(token, Token::Name(name) if *name == wanted))
}

/// The string in the call before a method: `Path('x').unlink`.
pub(super) fn text_before(tokens: &[(Token<'_>, Range<usize>)], method: usize) -> Option<String> {
    match (tokens.get(method.checked_sub(2)?), tokens.get(method.checked_sub(3)?), tokens.get(method.checked_sub(5)?)) {
        (
            Some((Token::Sign(')'), _)),
            Some((Token::Text { value, exact: true }, _)),
            Some((Token::Name("Path" | "PosixPath" | "WindowsPath"), _)),
        ) => Some(value.clone()),
        _ => None,
    }
}
