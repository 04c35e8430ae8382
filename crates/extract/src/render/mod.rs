//! Calls and results written as a dialect writes them: for the history of a model without native tool calls, and for
//! prompts. What is written is read back as the same calls, whatever their values hold; a name, key or value that the
//! dialect has no way to write is a typed error, never a text that says something else.

mod body;
mod json;
mod results;

use std::fmt;

pub use results::{render_result, render_results};

use super::dialect::{Dialect, Grammar};
use loopwright_base::{
    json::{Fields, Raw},
    message::ToolUse,
};

/// Why a call can't be written in a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritable {
    /// The dialect writes names bare, and this one would end early or say something else.
    Name(String),
    /// A parameter's name that the dialect can't write.
    Parameter(String),
    /// A value that the dialect can't write.
    Value {
        /// The parameter that has it.
        parameter: String,
        /// What about it.
        why: &'static str,
    },
    /// Arguments that are no JSON object.
    Arguments,
    /// An id that the dialect writes bare and that would end early.
    Id(String),
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "the tool name {name:?} can't be written in this dialect"),
            Self::Parameter(name) => write!(f, "the parameter name {name:?} can't be written in this dialect"),
            Self::Value { parameter, why } => {
                write!(f, "the value of {parameter:?} can't be written in this dialect: {why}")
            }
            Self::Arguments => f.write_str("the arguments are no JSON object"),
            Self::Id(id) => write!(f, "the call id {id:?} can't be written in this dialect"),
        }
    }
}

impl std::error::Error for Unwritable {}

/// One call as `dialect` writes it, section and markers included.
pub fn render_call(name: &str, arguments: &Raw, id: Option<&str>, dialect: &Dialect) -> Result<String, Unwritable> {
    let call = ToolUse {
        id: id.unwrap_or_default().to_owned(),
        name: name.to_owned(),
        input: arguments.clone(),
        invalid: None,
        extra: None,
    };
    render_calls(std::slice::from_ref(&call), dialect)
}

/// Calls of one reply as `dialect` writes them together: in one section, one array, or one after the other. An empty id
/// is none. Nothing for no calls.
pub fn render_calls(calls: &[ToolUse], dialect: &Dialect) -> Result<String, Unwritable> {
    if calls.is_empty() {
        return Ok(String::new());
    }
    let mut bodies = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        if call.invalid.is_some() || !call.input.is_object() {
            return Err(Unwritable::Arguments);
        }
        let fields = Fields::parse(call.input.text()).map_err(|_| Unwritable::Arguments)?;
        bodies.push(body::body(call, &fields, index, dialect)?);
    }
    let first = |spellings: &[&'static str]| spellings.first().copied().unwrap_or_default();
    let (open, close) = (first(dialect.open), first(dialect.close));
    let before = if open.is_empty() { "" } else { dialect.padding };
    let after = if close.is_empty() || dialect.grammar == Grammar::Harmony { "" } else { dialect.padding };
    let region = |body: &str| format!("{open}{before}{body}{after}{close}");
    let title = |call: &ToolUse| dialect.title.first().map_or_else(String::new, |end| format!("{}{end}", call.name));
    let text = if let Some((start, joint, end)) = together(dialect) {
        region(&format!("{start}{}{end}", bodies.join(joint)))
    } else {
        let gap = if dialect.padding == "\n" { "\n" } else { "" };
        let regions = calls.iter().zip(&bodies).map(|(call, body)| match title(call) {
            title if title.is_empty() => region(body),
            title => format!("{open}{title}{before}{body}{after}{close}"),
        });
        regions.collect::<Vec<_>>().join(gap)
    };
    Ok(match dialect.section {
        Some((open, close)) => format!("{}{text}{}", first(open), first(close)),
        None => text,
    })
}

/// What stands around and between calls that share one region; `None` where each call has its own.
fn together(dialect: &Dialect) -> Option<(&'static str, &'static str, &'static str)> {
    if !dialect.title.is_empty() {
        return None;
    }
    let closed = dialect.close.first().is_some_and(|close| !close.is_empty());
    match dialect.grammar {
        Grammar::Object { array: true, .. } | Grammar::Keyed | Grammar::Python { brackets: true } => {
            Some(("[", ", ", "]"))
        }
        Grammar::Object { .. } if dialect.bare => Some(("", "\n", "")),
        Grammar::Object { .. } if !closed => Some(("", "; ", "")),
        Grammar::Python { brackets: false } => Some(("", "\n", "")),
        Grammar::Tags(tags) if dialect.section.is_none() && !tags.call.0.ends_with('=') => Some(("", "\n", "")),
        Grammar::Nested { .. } => Some(("", "", "")),
        _ => None,
    }
}

impl Dialect {
    /// A call as this dialect writes it.
    pub fn example(&self) -> String {
        let mut arguments = Fields::new();
        arguments.put("city", "Oslo");
        arguments.put("days", &3);
        render_call("get_weather", &arguments.to_raw(), None, self).unwrap_or_default()
    }
}
