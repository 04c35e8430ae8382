//! The scripts of `sed` and `awk`: whether they do more than change what is printed. Read once, from left to right.

use crate::{flow, shell::Word};

/// What a script does beside printing.
pub(super) enum Effect {
    /// It writes this file.
    Writes(Word),
    /// It runs this line.
    Runs(Word),
    /// It runs what it has read.
    RunsInput(Word),
    /// It holds what is not known here.
    Unknown,
}

/// What a script of `sed` does.
pub(super) fn sed(script: &Word) -> Vec<Effect> {
    let mut effects = Vec::new();
    if !script.exact {
        effects.push(Effect::Unknown);
    }
    let word = |text: &str| Word { text: text.trim().to_owned(), ..script.clone() };
    let mut rest = script.text.as_str();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '}'));
        rest = behind_addresses(rest).trim_start_matches([' ', '\t', '!']);
        let Some(verb) = rest.chars().next() else { break };
        rest = &rest[verb.len_utf8()..];
        match verb {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'F' | 'z' => {}
            'l' | 'q' | 'Q' | 'L' => rest = rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()),
            'b' | 't' | 'T' | ':' | 'v' => rest = cut(rest, &[';', '\n', '}']).1,
            '#' => rest = cut(rest, &['\n']).1,
            'a' | 'i' | 'c' => rest = behind_text(rest),
            'r' | 'R' => {
                let (file, more) = cut(rest, &['\n']);
                if flow::is_secret(file.trim()) {
                    effects.push(Effect::Unknown);
                }
                rest = more;
            }
            'w' | 'W' => {
                let (file, more) = cut(rest, &['\n']);
                effects.push(Effect::Writes(word(file)));
                rest = more;
            }
            'e' => {
                let (line, more) = cut(rest, &['\n']);
                let run = word(line);
                let empty = run.text.trim_matches(['}', ';', ' ']).is_empty();
                effects.push(if empty { Effect::RunsInput(run) } else { Effect::Runs(run) });
                rest = more;
            }
            's' | 'y' => {
                let Some((replacement, more)) = delimited(rest) else {
                    effects.push(Effect::Unknown);
                    break;
                };
                rest = more;
                let flags = rest.find(|c: char| !matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | 'e' | '0'..='9'));
                let (flags, more) = rest.split_at(flags.unwrap_or(rest.len()));
                rest = more;
                if verb == 's' && flags.contains('e') {
                    effects.push(Effect::Runs(word(replacement)));
                    effects.push(Effect::RunsInput(word(replacement)));
                }
                if verb == 's'
                    && let Some(more) = rest.strip_prefix('w')
                {
                    let (file, more) = cut(more, &['\n']);
                    effects.push(Effect::Writes(word(file)));
                    rest = more;
                }
                if !rest.trim_start_matches([' ', '\t']).starts_with(['\n', ';', '}', '#']) && !rest.trim().is_empty() {
                    effects.push(Effect::Unknown);
                    break;
                }
            }
            _ => {
                effects.push(Effect::Unknown);
                break;
            }
        }
    }
    effects
}

/// A text up to one of these signs, and what stands behind the sign.
fn cut<'t>(text: &'t str, signs: &[char]) -> (&'t str, &'t str) {
    text.find(signs).map_or((text, ""), |at| (&text[..at], &text[at + 1..]))
}

/// The lines that `a`, `i` and `c` put in: to the end of a line that no backslash continues.
fn behind_text(text: &str) -> &str {
    let mut at = 0;
    while let Some(found) = text[at..].find('\n') {
        let end = at + found;
        if !text[..end].ends_with('\\') {
            return &text[end + 1..];
        }
        at = end + 1;
    }
    ""
}

/// What stands behind the lines that a command is for: `1,20`, `/from/,/to/`, `$`, `2~3`.
fn behind_addresses(text: &str) -> &str {
    let mut rest = text;
    for _ in 0..2 {
        let before = rest;
        if let Some(more) = rest.strip_prefix('/') {
            rest = pattern(more, '/').trim_start_matches(['I', 'M']);
        } else if let Some(sign) = rest.strip_prefix('\\').and_then(|more| more.chars().next()) {
            rest = pattern(&rest[1 + sign.len_utf8()..], sign).trim_start_matches(['I', 'M']);
        } else {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | '~' | '+'));
        }
        let Some(more) = rest.trim_start_matches(' ').strip_prefix(',').filter(|_| rest.len() < before.len()) else {
            break;
        };
        rest = more.trim_start_matches(' ');
    }
    rest
}

/// What stands behind a pattern that the sign closes.
fn pattern(text: &str, close: char) -> &str {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            c if c == close && !class => return &text[at + c.len_utf8()..],
            _ => {}
        }
    }
    ""
}

/// The second of the two parts behind `s`, and what follows.
fn delimited(text: &str) -> Option<(&str, &str)> {
    let sign = text.chars().next().filter(|sign| !matches!(sign, '\\' | '\n'))?;
    let second = pattern(&text[sign.len_utf8()..], sign);
    let mut escaped = false;
    for (at, c) in second.char_indices() {
        if c == sign && !escaped {
            return Some((&second[..at], &second[at + c.len_utf8()..]));
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// What a program of `awk` does: one that calls, writes or loads something is not known to read.
pub(super) fn awk(program: &Word) -> Vec<Effect> {
    if program.exact && awk_reads(&program.text).is_some() { Vec::new() } else { vec![Effect::Unknown] }
}

/// Whether a program of `awk` only reads and prints; nothing if it does more, or if its signs can't be told apart: a
/// slash that may divide or begin a pattern, a `>` that may compare or write.
fn awk_reads(text: &str) -> Option<()> {
    let mut rest = text;
    // What stands before a sign: the last one, and the last word.
    let (mut sign, mut word) = (' ', "");
    let (mut prints, mut depth) = (false, 0_usize);
    while let Some(c) = rest.chars().next() {
        let next = rest[c.len_utf8()..].chars().next();
        let more = &rest[c.len_utf8()..];
        rest = match c {
            '"' => closed(more, '"')?,
            '#' => more.find('\n').map_or("", |end| &more[end..]),
            '/' => {
                let value = sign.is_alphanumeric() && !matches!(word, "print" | "printf" | "return" | "case")
                    || matches!(sign, '_' | ')' | ']' | '"' | '$' | '+' | '-' | '/');
                let line = more.lines().next().unwrap_or_default();
                // A division: were it a pattern, it would hide what stands in it.
                if value && line.contains('/') {
                    return None;
                }
                if value { more } else { closed(more, '/')? }
            }
            '|' if next == Some('|') => &more[1..],
            '|' | '@' | '\\' => return None,
            '>' if next == Some('=') => &more[1..],
            '>' if next == Some('>') || prints && depth == 0 => return None,
            '(' | '[' => {
                depth += 1;
                more
            }
            ')' | ']' => {
                depth = depth.saturating_sub(1);
                more
            }
            ';' | '\n' | '{' | '}' => {
                (prints, depth) = (false, 0);
                more
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                word = &rest[..end];
                if word == "system" {
                    return None;
                }
                prints |= matches!(word, "print" | "printf");
                &rest[end..]
            }
            _ => more,
        };
        if !c.is_whitespace() || c == '\n' {
            sign = c;
            // A word counts while it is the last thing that stands there.
            word = if c.is_alphabetic() || c == '_' { word } else { "" };
        }
    }
    Some(())
}

/// What stands behind the sign that closes a text or a pattern, on the same line. A class of a pattern that holds the
/// sign is read in two ways.
fn closed(text: &str, close: char) -> Option<&str> {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            '\n' if !escaped => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if close == '/' => class = true,
            ']' => class = false,
            c if c == close => return (!class).then(|| &text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}
