//! What stands between a call's markers, for each grammar.
//!
//! Grammars of raw values escape nothing: where a key or value would end early in one, or its own
//! markers don't balance, the arguments are written as one
//! JSON object in place of the elements or pairs, which every reader of ours takes.

use std::fmt::Write as _;

use super::{
    super::{
        attributes::AttributesBody,
        dialect::{Dialect, First, Grammar, Tags, in_name},
        pairs::PairsBody,
        strays::even,
        tags::TagsBody,
    },
    Unwritable, json,
};
use loopwright_base::{
    json::{Fields, Raw},
    message::ToolUse,
};

/// The longest name that is written.
const LONGEST_NAME: usize = 200;

/// The inside of one call's region.
pub(super) fn body(call: &ToolUse, fields: &Fields, index: usize, dialect: &Dialect) -> Result<String, Unwritable> {
    no_halves(fields)?;
    let arguments = |fenced| json::without_markers(call.input.text(), fenced);
    if let Grammar::Object { .. } | Grammar::Keyed = dialect.grammar {
        let name = if dialect.title.is_empty() { quotable_name(call)? } else { bare_name(call, dialect)? };
        let name = json::string(name, false);
        let Grammar::Object { name: names, arguments: keys, .. } = dialect.grammar else {
            return Ok(format!("{{{name}: {}}}", arguments(false)));
        };
        let (name_key, key) = (names.first().unwrap_or(&"name"), keys.first().unwrap_or(&"arguments"));
        return Ok(format!("{{\"{name_key}\": {name}, \"{key}\": {}}}", arguments(false)));
    }
    let name = bare_name(call, dialect)?;
    Ok(match dialect.grammar {
        Grammar::Object { .. } | Grammar::Keyed => String::new(), // written above
        Grammar::Named { before, between, fenced, indexed, id } => {
            let mut text = header(call, index, (before, indexed, id))?;
            text.push_str(between.first().copied().unwrap_or_default());
            if fenced {
                let _ = write!(text, "```json\n{}\n```", arguments(true));
            } else {
                text.push_str(&arguments(false));
            }
            text
        }
        Grammar::Harmony => format!("to=functions.{name} <|constrain|>json<|message|>{}", arguments(false)),
        Grammar::Tags(tags) => {
            let inside = elements(fields, &tags, dialect).unwrap_or_else(|| format!("{}\n", arguments(false)));
            format!("{}{name}{}\n{inside}{}", tags.call.0, tags.call.1, tags.call_end)
        }
        Grammar::Pairs { after_name, key, value, gap } => {
            let inside = pairs(fields, after_name, (key, value, gap), dialect).unwrap_or_else(|| arguments(false));
            let line = if after_name.is_empty() && inside.starts_with('{') { "\n" } else { "" };
            format!("{name}{after_name}{line}{inside}")
        }
        Grammar::Python { .. } => {
            let mut text = format!("{name}(");
            for (at, (parameter, argument)) in fields.iter().enumerate() {
                if !is_identifier(parameter) {
                    return Err(Unwritable::Parameter(parameter.to_owned()));
                }
                let comma = if at > 0 { ", " } else { "" };
                let _ = write!(text, "{comma}{parameter}={}", python(argument));
            }
            text.push(')');
            text
        }
        Grammar::Loose { quote } => format!("call:{name}{}", loose(call.input.text(), quote)),
        Grammar::Nested { prefix } => {
            let inside = nested(fields, prefix).unwrap_or_else(|| arguments(false));
            format!("{prefix}<invoke name=\"{name}\">{inside}{prefix}</invoke>")
        }
        Grammar::Attributes => {
            let object = || format!("<|open|>json type=\"object\"<|sep|>{}<|close|>json<|sep|>", arguments(false));
            let inside = attributes(fields, dialect).unwrap_or_else(object);
            format!(" tool=\"{name}\" index=\"{}\"<|sep|>{inside}", index + 1)
        }
    })
}

/// No string in the arguments is half a surrogate pair: JSON may spell one, no text can hold it.
fn no_halves(fields: &Fields) -> Result<(), Unwritable> {
    let half = |string: &str| string.contains("\\u") && serde_json::from_str::<String>(string).is_err();
    for (parameter, value) in fields.iter() {
        if tokens(value.text()).iter().any(|token| matches!(token, Token::String(string, _) if half(string))) {
            let why = "it holds half a surrogate pair, which no text can hold";
            return Err(Unwritable::Value { parameter: parameter.to_owned(), why });
        }
    }
    Ok(())
}

/// What stands before the JSON of a named call: name, index, id.
fn header(call: &ToolUse, index: usize, (before, indexed, mark): (&str, bool, &str)) -> Result<String, Unwritable> {
    let mut text = format!("{before}{}", call.name);
    if indexed {
        let tail = call.id.strip_prefix(&text).and_then(|tail| tail.strip_prefix(':'));
        match tail.filter(|tail| !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(given) => text = format!("{text}:{given}"),
            None => text = format!("{text}:{index}"),
        }
    } else if !mark.is_empty() && !call.id.is_empty() {
        if !call.id.bytes().all(in_name) {
            return Err(Unwritable::Id(call.id.clone()));
        }
        text = format!("{text}{mark}{}", call.id);
    }
    Ok(text)
}

/// The name, if it can stand in quotes.
fn quotable_name(call: &ToolUse) -> Result<&str, Unwritable> {
    let name = call.name.as_str();
    let fits = !name.is_empty() && name.trim() == name && name.len() <= LONGEST_NAME;
    if fits { Ok(name) } else { Err(Unwritable::Name(name.to_owned())) }
}

/// The name, if it can stand without quotes in this dialect.
fn bare_name<'a>(call: &'a ToolUse, dialect: &Dialect) -> Result<&'a str, Unwritable> {
    let name = call.name.as_str();
    let begins = |c: char| c.is_alphabetic() || c == '_';
    let fits = match dialect.grammar {
        Grammar::Python { .. } => {
            name.starts_with(begins) && name.bytes().all(|byte| !matches!(byte, b':' | b'/' | b'$' | b'@'))
        }
        // What the older header begins with.
        Grammar::Named { before: "", .. } if matches!(dialect.first, First::NameThen(_)) => name != "function",
        _ => true,
    };
    let fits = fits
        && !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(|c| c.is_alphanumeric() || "_-.:/$@".contains(c));
    if fits { Ok(name) } else { Err(Unwritable::Name(name.to_owned())) }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether a parameter's name can stand in markup without quotes or escapes.
fn is_plain(parameter: &str) -> bool {
    !parameter.is_empty()
        && parameter.len() <= LONGEST_NAME
        && parameter.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

/// A value as text without quotes: a string as it is, anything else as JSON.
fn raw_value(value: &Raw) -> Option<String> {
    if value.text().starts_with('"') { value.string() } else { Some(json::without_markers(value.text(), false)) }
}

/// The same where nothing says which it is: none for a string that reads as another value unless a schema says
/// otherwise.
fn untyped_value(value: &Raw) -> Option<String> {
    let written = raw_value(value)?;
    let is_string = value.text().starts_with('"');
    let misread = is_string
        && !written.trim_start().starts_with('"')
        && serde_json::from_str::<serde::de::IgnoredAny>(&written).is_ok();
    (!misread).then_some(written)
}

/// Elements, if every key and value can stand in one.
fn elements(fields: &Fields, tags: &Tags, dialect: &Dialect) -> Option<String> {
    let mut text = String::new();
    let line = if tags.newlines { "\n" } else { "" };
    let (open, after) = tags.parameter;
    for (parameter, argument) in fields.iter() {
        if !is_plain(parameter) {
            return None;
        }
        let mut written = if tags.string_attribute { raw_value(argument)? } else { untyped_value(argument)? };
        let mut is_raw = argument.text().starts_with('"');
        let is_cdata = tags.cdata && written.trim_start().starts_with("<![CDATA[");
        if is_cdata || !TagsBody::holds(*tags, &written) || !even(dialect, &written) {
            if !tags.string_attribute {
                return None;
            }
            (written, is_raw) = (json::without_markers(argument.text(), false), false);
        }
        if tags.string_attribute {
            let after = after.strip_suffix('>').unwrap_or(after);
            let _ = write!(text, "{open}{parameter}{after} string=\"{is_raw}\">");
        } else {
            let _ = write!(text, "{open}{parameter}{after}");
        }
        let _ = writeln!(text, "{line}{written}{line}{}", tags.parameter_end);
    }
    Some(text)
}

/// An opener and a closer.
type Ends = (&'static str, &'static str);

/// Keys and values, if each can stand between its markers.
fn pairs(
    fields: &Fields,
    after_name: &'static str,
    (key, value, gap): (Ends, Ends, &'static str),
    dialect: &Dialect,
) -> Option<String> {
    let mut text = String::new();
    let body = PairsBody::new(after_name, key, value, gap);
    for (parameter, argument) in fields.iter() {
        let written = untyped_value(argument)?;
        if !is_plain(parameter) || !body.holds(&written) || !even(dialect, &written) {
            return None;
        }
        let _ = write!(text, "{}{parameter}{}{gap}{}{written}{}{gap}", key.0, key.1, value.0, value.1);
    }
    Some(text)
}

/// Elements named by the keys, if no value holds what stands before each tag.
fn nested(fields: &Fields, prefix: &str) -> Option<String> {
    let mut text = String::new();
    for (parameter, argument) in fields.iter() {
        let written = untyped_value(argument)?;
        if !is_plain(parameter) || written.contains(prefix) {
            return None;
        }
        let _ = write!(text, "{prefix}<{parameter}>{written}{prefix}</{parameter}>");
    }
    Some(text)
}

/// Arguments between special tokens, if no value holds the ones that would end it.
fn attributes(fields: &Fields, dialect: &Dialect) -> Option<String> {
    const END: &str = "<|close|>argument<|sep|>";
    let mut text = String::new();
    let body = AttributesBody::new();
    for (parameter, argument) in fields.iter() {
        let kind = match argument.text().bytes().next() {
            Some(b'"') => "string",
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        };
        let written = raw_value(argument)?;
        if !is_plain(parameter) || !body.holds(&written) || !even(dialect, &written) {
            return None;
        }
        let _ = write!(text, "<|open|>argument key=\"{parameter}\" type=\"{kind}\"<|sep|>{written}{END}");
    }
    Some(text)
}

/// A piece of JSON text.
enum Token<'a> {
    /// A string with its quotes; whether it is a key.
    String(&'a str, bool),
    /// Anything else that isn't white space: a bracket, a comma, a colon, a number, a word.
    Other(&'a str),
}

/// The tokens of valid JSON text, white space left out.
fn tokens(json: &str) -> Vec<Token<'_>> {
    let bytes = json.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                let mut escaped = false;
                while let Some(&byte) = bytes.get(at) {
                    at += 1;
                    match byte {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = true,
                        b'"' => break,
                        _ => {}
                    }
                }
                let after = bytes.iter().skip(at).find(|byte| !byte.is_ascii_whitespace());
                tokens.push(Token::String(json.get(start..at).unwrap_or_default(), after == Some(&b':')));
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                tokens.push(Token::Other(json.get(start..at).unwrap_or_default()));
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => {
                let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                at += bytes.iter().skip(at).take_while(|byte| word(byte)).count();
                tokens.push(Token::Other(json.get(start..at).unwrap_or_default()));
            }
        }
    }
    tokens
}

/// A value as a Python literal.
fn python(value: &Raw) -> String {
    let json = json::without_markers(&json::bare_slashes(value.text()), false);
    let mut text = String::with_capacity(json.len());
    for token in tokens(&json) {
        text.push_str(match token {
            Token::String(string, _) => string,
            Token::Other("true") => "True",
            Token::Other("false") => "False",
            Token::Other("null") => "None",
            Token::Other(":") => ": ",
            Token::Other(",") => ", ",
            Token::Other(other) => other,
        });
    }
    text
}

/// An object with bare keys and strings between quotes of its own kind; what can't stand so is a string as in JSON.
fn loose(json: &str, quote: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for token in tokens(json) {
        match token {
            Token::Other(other) => text.push_str(other),
            Token::String(string, key) => match serde_json::from_str::<String>(string) {
                Ok(plain) if key && is_plain(&plain) => text.push_str(&plain),
                Ok(plain) if !key && !plain.contains(quote) => {
                    let _ = write!(text, "{quote}{plain}{quote}");
                }
                _ => text.push_str(&json::without_markers(string, false)),
            },
        }
    }
    text
}
