//! Here documents, found in a text before the grammar reads it: some of what may stand in one (a parenthesis behind
//! `\$`, a line that begins like the last one, `1 << 2`) and behind the start of one (`;`) is more than it can read.
//! What is only data is covered with letters; the grammar has to agree on where it stands.

use std::ops::Range;

use tree_sitter::Tree;

/// What the place in the text is part of.
enum Within {
    Commands,
    Quotes,
    /// A sum, with so many open parentheses.
    Sum(usize),
}

/// A here document that has begun: its last line, whether nothing in it is put in, and whether tabs are taken off.
struct Begun {
    last: Vec<u8>,
    literal: bool,
    stripped: bool,
}

/// The text with the data of its here documents covered, and where that stands; nothing if one of them has no end.
pub(super) fn covered(bytes: &[u8]) -> Option<(Vec<u8>, Vec<Range<usize>>)> {
    let mut out = bytes.to_vec();
    let (mut bodies, mut begun) = (Vec::new(), Vec::new());
    let mut within = vec![Within::Commands];
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match (within.last_mut()?, rest) {
            (_, [b'\\', _, ..]) => at += 2,
            (_, [b'`', tail @ ..]) => at += 1 + until(tail, b'`', true)?,
            (_, [b'$', b'(', b'(', ..]) => {
                within.push(Within::Sum(2));
                at += 3;
            }
            (_, [b'$', b'(', ..]) => {
                within.push(Within::Commands);
                at += 2;
            }
            (Within::Sum(open), [sign @ (b'(' | b')'), ..]) => {
                *open = if *sign == b'(' { *open + 1 } else { *open - 1 };
                if *open == 0 {
                    within.pop();
                }
                at += 1;
            }
            (Within::Quotes, [b'"', ..]) => {
                within.pop();
                at += 1;
            }
            (Within::Commands, [b'"', ..]) => {
                within.push(Within::Quotes);
                at += 1;
            }
            (Within::Commands, [b'$', b'\'', tail @ ..]) => at += 2 + until(tail, b'\'', true)?,
            (Within::Commands, [b'\'', tail @ ..]) => at += 1 + until(tail, b'\'', false)?,
            (Within::Commands, [b'(', b'(', ..]) => {
                within.push(Within::Sum(2));
                at += 2;
            }
            (Within::Commands, [b'(', ..]) => {
                within.push(Within::Commands);
                at += 1;
            }
            (Within::Commands, [b')', ..]) => {
                if within.len() > 1 {
                    within.pop();
                }
                at += 1;
            }
            (Within::Commands, [b'#', ..]) if at == 0 || b" \t\n;&|(".contains(&bytes[at - 1]) => {
                at += rest.iter().take_while(|byte| **byte != b'\n').count();
            }
            (Within::Commands, [b'<', b'<', b'<', ..]) => at += 3,
            (Within::Commands, [b'<', b'<', ..]) => {
                let (document, length) = start(rest)?;
                begun.push(document);
                at += length;
            }
            // The grammar knows no `;` behind the start of one, but `&&`.
            (Within::Commands, [b';', next, ..]) if !begun.is_empty() && matches!(next, b' ' | b'\t' | b'\n') => {
                let blanks = rest[1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let ends = rest.get(1 + blanks).is_none_or(|byte| *byte == b'\n');
                out[at..at + 1 + usize::from(!ends)].fill(if ends { b' ' } else { b'&' });
                at += 1 + blanks;
            }
            (Within::Commands, [b'\n', ..]) => {
                at += 1;
                for document in begun.drain(..) {
                    let length = body(&bytes[at..], &document)?;
                    let fill = if document.last.starts_with(b"z") { b'y' } else { b'z' };
                    cover(&mut out[at..at + length], document.literal, fill)?;
                    bodies.push(at..at + length);
                    at += length;
                    at += bytes[at..].iter().take_while(|byte| **byte != b'\n').count();
                    at += usize::from(at < bytes.len());
                }
            }
            _ => at += 1,
        }
    }
    (begun.is_empty() && !bodies.is_empty()).then_some((out, bodies))
}

/// Whether a here document ends before the grammar thinks so, in a line that goes on in the next one.
pub(super) fn ends_joined(raw: &str, last: &str) -> bool {
    raw.contains("\\\n") && raw.replace("\\\n", "").lines().any(|line| line.trim_start_matches('\t') == last)
}

/// Whether the grammar, too, takes all of these for here documents, and could read everything.
pub(super) fn agrees(tree: &Tree, bytes: &[u8], bodies: &[Range<usize>]) -> bool {
    let root = tree.root_node();
    !root.has_error()
        && bodies.iter().filter(|body| !body.is_empty()).all(|body| {
            let mut node = root.descendant_for_byte_range(body.start, body.start + 1);
            while let Some(found) = node {
                if found.kind() == "heredoc_body" {
                    let end = found.end_byte();
                    // What is between the two ends, if anything, are ends of lines and the tabs before the last one.
                    let rest = bytes.get(end.min(body.end)..end.max(body.end)).unwrap_or_default();
                    return rest.iter().all(|byte| matches!(byte, b'\n' | b'\t'));
                }
                node = found.parent();
            }
            false
        })
}

/// The length up to and with a sign.
fn until(bytes: &[u8], sign: u8, escapes: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'\\' if escapes => at += 2,
            byte if *byte == sign => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// What `<<` begins, and how long the beginning is.
fn start(bytes: &[u8]) -> Option<(Begun, usize)> {
    let stripped = bytes.get(2) == Some(&b'-');
    let mut at = 2 + usize::from(stripped);
    at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let (mut last, mut literal) = (Vec::new(), false);
    loop {
        match bytes.get(at) {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => break,
            Some(quote @ (b'\'' | b'"')) => {
                let length = until(&bytes[at + 1..], *quote, false)?;
                last.extend_from_slice(&bytes[at + 1..at + length]);
                literal = true;
                at += 1 + length;
            }
            Some(b'\\') => {
                last.push(*bytes.get(at + 1)?);
                literal = true;
                at += 2;
            }
            Some(byte) => {
                last.push(*byte);
                at += 1;
            }
        }
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'!');
    (!last.is_empty() && last.iter().all(plain)).then_some((Begun { last, literal, stripped }, at))
}

/// The length of a here document up to its last line.
fn body(bytes: &[u8], document: &Begun) -> Option<usize> {
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let tabs = text.iter().take_while(|byte| document.stripped && **byte == b'\t').count();
        if text[tabs..] == document.last {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Puts letters in place of all that is not run. Lines that go on in the next one (and so may end it there) are left
/// alone.
fn cover(body: &mut [u8], literal: bool, fill: u8) -> Option<()> {
    let mut at = 0;
    while at < body.len() {
        let length = match &body[at..] {
            _ if literal => 1,
            [b'\\', b'\n', ..] => return None,
            [b'\\', _, ..] => 2,
            [b'$', b'(', b'(', tail @ ..] if let Some(length) = sum(tail) => 3 + length,
            [b'$', b'(', tail @ ..] => {
                at += 2 + closing(tail, b'(', b')')?;
                continue;
            }
            [b'$', b'{', tail @ ..] => {
                at += 2 + closing(tail, b'{', b'}')?;
                continue;
            }
            [b'`', tail @ ..] => {
                at += 1 + until(tail, b'`', true)?;
                continue;
            }
            _ => 1,
        };
        body[at..at + length].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = fill);
        at += length;
    }
    Some(())
}

/// The length of a sum behind `$((`, if nothing is run in it.
fn sum(bytes: &[u8]) -> Option<usize> {
    let counts = |byte: &u8| byte.is_ascii_alphanumeric() || b" \t_$+-*/%<>=!&|^~?:,()".contains(byte);
    let length = closing(bytes, b'(', b')')?;
    let inner = &bytes[..length];
    let plain = inner.iter().all(counts) && !inner.windows(2).any(|pair| pair == b"$(");
    (plain && bytes.get(length) == Some(&b')')).then_some(length + 1)
}

/// The length up to and with the sign that closes what has been opened.
fn closing(bytes: &[u8], open: u8, close: u8) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}
