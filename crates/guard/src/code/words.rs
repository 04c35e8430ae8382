//! The words of a command that code starts, where some of them are only known when it runs:
//! `subprocess.run(["git", verb])`. They are written as a shell would have them, with a variable for each of these.

use std::{collections::BTreeMap, ops::Range};

use super::{lex::Token, path::texts};

type Tokens<'s, 't> = &'s [(Token<'t>, Range<usize>)];

/// The command as shell text, if its program is known and a word behind it is not.
pub(super) fn partly_known(
    tokens: Tokens<'_, '_>,
    range: Range<usize>,
    strings: &BTreeMap<&str, String>,
) -> Option<String> {
    let mut words: Vec<Option<String>> = Vec::new();
    for argument in parted(tokens, range) {
        match tokens.get(argument.start)? {
            (Token::Sign('['), _) if matches!(tokens.get(argument.end - 1), Some((Token::Sign(']'), _))) => {
                for element in parted(tokens, argument.start + 1..argument.end - 1) {
                    words.push(word(tokens, element, strings));
                }
            }
            _ if is_setting(tokens, argument.clone()) => {}
            _ => words.push(word(tokens, argument, strings)),
        }
    }
    let program = words.first()?.as_ref()?;
    // A whole line as the program is read as a line.
    if program.is_empty() || program.contains(char::is_whitespace) || words.iter().skip(1).all(Option::is_some) {
        return None;
    }
    let shown = |word: &Option<String>| {
        word.as_ref().map_or("\"$x\"".to_owned(), |text| format!("'{}'", text.replace('\'', "'\\''")))
    };
    Some(words.iter().map(shown).collect::<Vec<_>>().join(" "))
}

/// What commas part, brackets left whole.
fn parted(tokens: Tokens<'_, '_>, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut depth, mut start, mut parts) = (0_usize, range.start, Vec::new());
    for at in range.clone() {
        match tokens.get(at).map(|(token, _)| token) {
            Some(Token::Sign('(' | '[' | '{')) => depth += 1,
            Some(Token::Sign(')' | ']' | '}')) => depth = depth.saturating_sub(1),
            Some(Token::Sign(',')) if depth == 0 => {
                parts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(start..range.end);
    parts.retain(|part| part.start < part.end);
    parts
}

/// `shell=True`, `{ stdio: 'inherit' }`, `(error) => …`: says how, not what.
fn is_setting(tokens: Tokens<'_, '_>, part: Range<usize>) -> bool {
    let sign = |at: usize, sign: char| matches!(tokens.get(at), Some((Token::Sign(c), _)) if *c == sign);
    let named = matches!(tokens.get(part.start), Some((Token::Name(_), _)))
        && (sign(part.start + 1, '=') && !sign(part.start + 2, '=') || sign(part.start + 1, ':'));
    named
        || sign(part.start, '{')
        || part.clone().any(|at| {
            sign(at, '=') && sign(at + 1, '>')
                || matches!(tokens.get(at), Some((Token::Name("function" | "lambda"), _)))
        })
}

/// One word, if it is known.
fn word(tokens: Tokens<'_, '_>, part: Range<usize>, strings: &BTreeMap<&str, String>) -> Option<String> {
    let found = texts(tokens, part.clone(), strings);
    match (found.as_slice(), tokens.get(part)?) {
        ([(text, true)], [_]) => Some(text.clone()),
        ([(text, true)], all) if all.iter().all(|(token, _)| !matches!(token, Token::Sign('(' | '['))) => {
            Some(text.clone())
        }
        ([], [(Token::Name("sys"), _), (Token::Sign('.'), _), (Token::Name("executable"), _)]) => {
            Some("python3".to_owned())
        }
        ([], [(Token::Name("process"), _), (Token::Sign('.'), _), (Token::Name("execPath"), _)]) => {
            Some("node".to_owned())
        }
        ([], [(Token::Sign(_), _)]) => Some(String::new()),
        _ => None,
    }
}
