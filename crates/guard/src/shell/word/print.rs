//! What a command prints, where that can be told from its words: `echo`, `printf`, `which`, `mktemp`.
//! Nothing is run; what cannot be told for certain is not guessed.

use super::{ansi_c, closing, until};

/// What a command prints, where that can be told from its words.
pub(in crate::shell) fn printed(words: &[&str]) -> Option<String> {
    match words {
        ["echo", rest @ ..] => {
            let plain = rest.iter().take_while(|word| matches!(**word, "-n" | "-e" | "-E" | "-ne" | "-en")).count();
            let escapes = rest[..plain].iter().any(|word| word.contains('e'));
            let text = rest[plain..].join(" ");
            Some(if escapes { unescaped(&text) } else { text })
        }
        ["printf", "--", format, rest @ ..] | ["printf", format, rest @ ..] => {
            let mut out = String::new();
            let mut rest = rest.iter();
            let mut parts = format.split('%');
            out.push_str(parts.next().unwrap_or(""));
            let mut whole = false;
            for part in parts {
                if whole {
                    out.push_str(part);
                    whole = false;
                } else if part.is_empty() {
                    out.push('%');
                    whole = true;
                } else {
                    let tail = part.strip_prefix(['s', 'b', 'd', 'q'])?;
                    out.push_str(rest.next().unwrap_or(&""));
                    out.push_str(tail);
                }
            }
            rest.for_each(|more| {
                out.push(' ');
                out.push_str(more);
            });
            Some(unescaped(&out))
        }
        // A new name in a temporary folder; which one does not matter.
        ["mktemp", rest @ ..] if rest.iter().all(|word| word.starts_with('-') && !word.contains(['p', '/'])) => {
            Some("$TMPDIR/made".to_owned())
        }
        ["which" | "type", name] | ["command", "-v", name] | ["type", "-P" | "-p", name] | ["which", "-a", name] => {
            Some((*name).to_owned())
        }
        _ => None,
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    ansi_c(&text.replace("\\0", "\\").replace('\'', "\\'"), &mut out);
    out
}

/// The raw words of one plain command; `None` if it is more than that.
pub(super) fn split(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        match c {
            ' ' | '\t' => {
                if let Some(start) = start.take() {
                    words.push(&text[start..at]);
                }
                at = next;
                continue;
            }
            ';' | '|' | '&' | '<' | '>' | '\n' | '(' | ')' => return None,
            _ => {}
        }
        start.get_or_insert(at);
        at = match c {
            '\\' => next + text[next..].chars().next().map_or(0, char::len_utf8),
            '\'' => next + text[next..].find('\'')? + 1,
            '"' => next + until(&text[next..], '"'),
            '`' => next + until(&text[next..], '`'),
            '$' if text[next..].starts_with('(') => next + 1 + closing(&text[next + 1..], '(', ')'),
            '$' if text[next..].starts_with('{') => next + 1 + closing(&text[next + 1..], '{', '}'),
            _ => next,
        };
    }
    if let Some(start) = start {
        words.push(&text[start..]);
    }
    Some(words)
}
