//! The syntax tree of a shell text, in bounded time whatever the text: what would take the parser longer is refused
//! before, and what takes it too many steps is given up.

use std::{cell::Cell, ops::ControlFlow};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::documents::{agrees, covered};

/// So many pipes in one text, or in one line, take the parser more than linear time.
const MAX_PIPES: usize = 1500;
const MAX_PIPES_A_LINE: usize = 250;
/// More here documents than these in one text are not read: the scanner's memory of them is small.
const MAX_HERE_DOCUMENTS: usize = 200;
/// The text is read in pieces of so many bytes, and all of it no more often than this.
const PIECE: usize = 256;
const MOST_READINGS: usize = 12;
/// How often the parser may report that it goes on (once per hundred steps or so): in all, and after an error.
const MAX_PROGRESS: usize = 20_000;
const MAX_PROGRESS_IN_ERROR: usize = 60;

pub(super) fn tree_of(text: &str) -> Result<Tree, usize> {
    let pipes = text.bytes().filter(|byte| *byte == b'|').count();
    if pipes > MAX_PIPES_A_LINE
        && (pipes > MAX_PIPES
            || text.lines().any(|line| line.bytes().filter(|byte| *byte == b'|').count() > MAX_PIPES_A_LINE))
    {
        return Err(0);
    }
    // The grammar's scanner, written in C, looks every character up in tables meant for bytes. It gets ASCII alone:
    // a byte for each byte, so that what it finds holds for the text as it is.
    let bytes = legible(text);
    let documents = bytes.windows(2).filter(|pair| *pair == b"<<").count();
    if documents > MAX_HERE_DOCUMENTS {
        return Err(0);
    }
    let tree = parsed(&bytes);
    let failed = tree.as_ref().map_or(true, |tree| tree.root_node().has_error());
    if documents > 0
        && failed
        && let Some((bytes, bodies)) = covered(&bytes)
        && let Ok(tree) = parsed(&bytes)
        && agrees(&tree, &bytes, &bodies)
    {
        return Ok(tree);
    }
    tree
}

fn parsed(bytes: &[u8]) -> Result<Tree, usize> {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Err(0);
    }
    let (mut steps, mut in_error, mut reached) = (0, 0, 0);
    // Some texts make the scanner look to the end at every step: it is handed pieces, and no more of them than a text
    // that can be read would need.
    let mut pieces = 64 + MOST_READINGS * bytes.len() / PIECE;
    let gave_up = Cell::new(false);
    let mut progress = |state: &ParseState| {
        steps += 1;
        if state.has_error() {
            in_error += 1;
        } else {
            reached = state.current_byte_offset();
        }
        if gave_up.get() || steps > MAX_PROGRESS || in_error > MAX_PROGRESS_IN_ERROR {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| {
        if pieces == 0 {
            gave_up.set(true);
            return &[] as &[u8];
        }
        pieces -= 1;
        bytes.get(at..bytes.len().min(at.saturating_add(PIECE))).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    if gave_up.get() {
        return Err(0);
    }
    tree.ok_or(reached)
}

/// What the grammar takes for a keyword even where a quote goes on with the word.
const KEYWORDS: [&str; 7] = ["if", "for", "select", "case", "while", "until", "function"];

/// Words behind which a command begins.
const BEFORE_COMMANDS: [&[u8]; 9] = [b"if", b"then", b"elif", b"else", b"while", b"until", b"do", b"time", b"coproc"];

/// The text as the grammar gets it: ASCII, and letters in place of what it would misread: the braces of words that
/// begin with one (`{a,b}`), which are no group, the first letter of words that only begin like a keyword (`for''mat`),
/// and what [`respelled`] says.
fn legible(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() && byte != 0 { byte } else { b'z' }).collect();
    // A line that goes on to nowhere ends.
    if bytes.ends_with(b"\\\n") && bytes.iter().rev().skip(1).take_while(|byte| **byte == b'\\').count() % 2 == 1 {
        let end = bytes.len() - 2;
        bytes[end..].fill(b' ');
    }
    respelled(&mut bytes);
    for run in bytes.split_mut(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')')) {
        let quoted = |rest: &[u8]| matches!(rest, [b'\'' | b'"', ..] | [b'\\', _, ..]);
        if KEYWORDS.iter().any(|keyword| run.strip_prefix(keyword.as_bytes()).is_some_and(quoted)) {
            run[0] = b'z';
        }
        if let [b'{', next, ..] = run
            && *next != b'}'
            && !run.contains(&b'$')
        {
            run.iter_mut().filter(|byte| matches!(byte, b'{' | b'}')).for_each(|byte| *byte = b'z');
        }
    }
    bytes
}

/// What the grammar does not know, written so that it does: `for f do` (over all arguments), a blank between two
/// substitutions by backquotes, a `$` that nothing follows but the backquote that ends one, and variables that say
/// which characters of a value are meant.
fn respelled(bytes: &mut [u8]) {
    for at in 0..bytes.len() {
        match bytes[at] {
            b'$' if bytes.get(at + 1) == Some(&b'`') => bytes[at] = b'z',
            b' ' | b'\t' if at > 0 && bytes[at - 1] == b'`' && bytes.get(at + 1) == Some(&b'`') => bytes[at] = b'z',
            b'$' if bytes.get(at + 1) == Some(&b'{') => places_in_value(&mut bytes[at + 2..]),
            b'!' | b'@' | b'+' | b'?' | b'*' if bytes.get(at + 1) == Some(&b'(') => extended_glob(bytes, at),
            b'f' => {
                if let Some(blank) = loop_over_arguments(bytes, at) {
                    bytes[blank] = b';';
                }
            }
            _ => {}
        }
    }
}

/// `${name:$from:$length}`: variables that count characters, which the grammar knows as numbers alone.
fn places_in_value(bytes: &mut [u8]) {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'[' | b']' | b'@' | b'*');
    let name = bytes.iter().take_while(|byte| part(byte)).count();
    if name == 0 || bytes.get(name) != Some(&b':') || matches!(bytes.get(name + 1), Some(b'-' | b'=' | b'+' | b'?')) {
        return;
    }
    let rest = &mut bytes[name + 1..];
    let counts = |byte: &u8| part(byte) || matches!(byte, b'$' | b':' | b' ' | b'+' | b'-' | b'#');
    let end = rest.iter().take_while(|byte| counts(byte)).count();
    if rest.get(end) == Some(&b'}') {
        rest[..end].iter_mut().filter(|byte| **byte == b'$').for_each(|byte| *byte = b'z');
    }
}

/// `!(a|b)`, `*.@(c|h)`: patterns that the grammar reads in some places alone. What `!` negates (`if !(make)`) is none.
fn extended_glob(bytes: &mut [u8], at: usize) {
    let within = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'*' | b'?' | b'|' | b'[' | b']' | b',')
    };
    let length = bytes[at + 2..].iter().take_while(|byte| within(byte)).count();
    if length == 0 || bytes.get(at + 2 + length) != Some(&b')') {
        return;
    }
    if bytes[at] == b'!' && begins_command(&bytes[..at]) {
        return;
    }
    bytes[at..at + length + 3].fill(b'z');
}

/// Whether what follows `before` is the beginning of a command.
fn begins_command(before: &[u8]) -> bool {
    let text = before.trim_ascii_end();
    let gap = &before[text.len()..];
    // One letter more than the longest of those words will do to tell.
    let letters = text.iter().rev().take(7).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = &text[text.len() - letters..];
    gap.contains(&b'\n')
        || !gap.is_empty() && BEFORE_COMMANDS.contains(&word)
        || text.last().is_none_or(|byte| matches!(byte, b';' | b'&' | b'|' | b'(' | b')' | b'{' | b'!' | b'`' | b'$'))
}

/// Where a `;` may stand in `for f do`, if a command begins with it there.
fn loop_over_arguments(bytes: &[u8], at: usize) -> Option<usize> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n');
    let before = bytes[..at].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
    if !before.is_none_or(|byte| matches!(byte, b';' | b'\n' | b'&' | b'|' | b'(' | b'{')) {
        return None;
    }
    let rest = bytes[at..].strip_prefix(b"for")?;
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let name = rest[blanks..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let gap = rest[blanks + name..].iter().take_while(|byte| blank(byte)).count();
    let after = rest[blanks + name + gap..].strip_prefix(b"do")?;
    let whole = blanks > 0 && name > 0 && gap > 0 && after.first().is_some_and(blank);
    whole.then_some(at + 3 + blanks + name)
}
