//! Code cut into names, strings and signs, whatever the language: enough to tell calls from comments and strings.
//! The text is read once, from front to back; what cannot be told stays a sign.

use loopwright_base::text::ceil_boundary;

use std::ops::Range;

use super::Language;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Text { value: String, exact: bool },
    Sign(char),
}

pub(super) struct Lexed<'t> {
    pub(super) tokens: Vec<(Token<'t>, Range<usize>)>,
}

pub(super) fn string_at(text: &str, quote: &str, raw: bool) -> (String, usize) {
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

pub(super) fn lex(text: &str, language: Language) -> Lexed<'_> {
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
        at = ceil_boundary(text, at + length.max(1));
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
