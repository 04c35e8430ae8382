//! Whether two calls became one: what stood between them is missing, and what had to be mended made a single call of
//! both. Such a call must not run. Looks at arguments that were mended only, and at each byte a fixed number of times.

use loopwright_base::text::{head, tail};

use super::{
    dialect::{Dialect, First, Grammar},
    json::Mend,
    signature::{Signatures, resolved},
};

/// So near behind the end of a call the name of the next one ends, if two became one.
const NEAR_NAME: usize = 160;

/// What is said where quotation marks in a string, or around it, had to be mended.
pub(super) const QUOTES: [&str; 2] = [Mend::InnerQuote.describe(), Mend::MissingQuote.describe()];

/// Whether the arguments of a call that had to be mended hold the beginning of another. `quotes`: quotation marks were
/// mended.
pub(super) fn two_calls(arguments: &str, quotes: bool, dialect: &'static Dialect, tools: Option<&Signatures>) -> bool {
    match dialect.grammar {
        Grammar::Python { .. } => {
            joined(arguments, tools) || marked(arguments, dialect) || (quotes && left_open(arguments))
        }
        _ => swallowed(arguments, dialect) || (quotes && listed(arguments, dialect, tools)),
    }
}

/// Whether they hold what opens a region of the dialect.
fn marked(arguments: &str, dialect: &Dialect) -> bool {
    dialect.open.iter().any(|open| !open.is_empty() && arguments.contains(open))
}

/// Whether the arguments of a call that had to be mended hold the end of it and the beginning of the next: a string's
/// end is missing then, and two calls became one.
fn swallowed(arguments: &str, dialect: &'static Dialect) -> bool {
    let openers = || dialect.open.iter().chain(dialect.section.iter().flat_map(|section| section.0));
    let first = match dialect.first {
        First::OneOf(strings) if dialect.open.contains(&"") => strings,
        _ => &[],
    };
    let opens = |rest: &str| openers().chain(first).any(|open| !open.is_empty() && rest.starts_with(open));
    if !matches!(dialect.grammar, Grammar::Object { .. } | Grammar::Keyed | Grammar::Named { .. } | Grammar::Harmony) {
        let call = match dialect.grammar {
            Grammar::Tags(tags) => tags.call.0,
            Grammar::Nested { .. } => "<invoke name=",
            _ => "",
        };
        // Up to a quotation mark, which stands escaped in a string.
        let own = |open: &'static str| open.split('"').next().unwrap_or_default();
        return openers().copied().chain([call]).map(own).any(|open| open.len() > 3 && arguments.contains(open));
    }
    let behind = |closer: &str| {
        arguments.match_indices(closer).any(|(at, _)| {
            let mut rest = arguments.get(at + closer.len()..).unwrap_or_default();
            // White space, as it stands in a string of JSON; and the section's closer.
            loop {
                let next = [" ", "\\n", "\\r", "\\t"].iter().find_map(|space| rest.strip_prefix(space));
                let closers = dialect.section.iter().flat_map(|section| section.1);
                let Some(next) = next.or_else(|| closers.copied().find_map(|closer| rest.strip_prefix(closer))) else {
                    break;
                };
                rest = next;
            }
            opens(rest)
        })
    };
    if dialect.grammar == Grammar::Harmony
        && ["to=functions.", "<|message|>"].iter().any(|mark| arguments.contains(mark))
    {
        return true;
    }
    let mut closers = dialect.close.iter().filter(|closer| !closer.is_empty()).peekable();
    if closers.peek().is_none() || dialect.close.contains(&"") {
        return openers().any(|open| !open.is_empty() && arguments.contains(open));
    }
    closers.any(|closer| behind(closer))
}

/// The same of a call in a list, where a quote in a string had to be escaped: no marker stands before the next call,
/// but a brace and then its first key does.
fn listed(arguments: &str, dialect: &Dialect, tools: Option<&Signatures>) -> bool {
    arguments.match_indices('{').any(|(at, _)| {
        let rest = arguments.get(at + 1..).unwrap_or_default().trim_start();
        let Some(key) = rest.strip_prefix("\\\"") else { return false };
        match dialect.grammar {
            Grammar::Object { name, .. } => {
                name.iter().any(|name| key.strip_prefix(name).is_some_and(|rest| rest.starts_with(['"', '\\'])))
            }
            Grammar::Keyed => {
                let name = key.split(['"', '\\']).next().unwrap_or_default();
                !name.is_empty() && tools.is_none_or(|tools| tools.get(resolved(Some(tools), name)).is_some())
            }
            _ => false,
        }
    })
}

/// Whether a parenthesis opens the arguments of a call: it is closed again, or a keyword stands in it.
fn heads_call(text: &str) -> bool {
    let inside = text.strip_prefix('(').unwrap_or(text).trim_start();
    let key = inside.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inside.len());
    let behind = inside.get(key..).unwrap_or_default().trim_start();
    if key == 0 { behind.starts_with(')') } else { behind.starts_with('=') && !behind.starts_with("==") }
}

/// Whether they hold the head of a call whose parenthesis nothing closes: what closed it was taken for the end of the
/// first, as where a quotation mark that is missing let two calls become one.
fn left_open(arguments: &str) -> bool {
    let bytes = arguments.as_bytes();
    let mut open = Vec::new();
    for at in memchr::memchr2_iter(b'(', b')', bytes) {
        if bytes.get(at) == Some(&b')') {
            open.pop();
        } else if open.len() < NEAR_NAME {
            open.push(at);
        }
    }
    open.into_iter().any(|at| {
        let (before, behind) = arguments.split_at(at);
        before.ends_with(|c: char| c.is_alphanumeric() || c == '_') && heads_call(behind)
    })
}

/// The same of a call written as Python: its arguments hold the head of a call of a declared tool, or the end of one
/// and a name behind it.
fn joined(arguments: &str, tools: Option<&Signatures>) -> bool {
    let heads = || memchr::memchr_iter(b'(', arguments.as_bytes());
    let named = |at: usize, tools: &Signatures| {
        let (before, behind) = arguments.split_at(at);
        let before = tail(before, NEAR_NAME);
        // A value that was cut may stand right before the name.
        before.char_indices().any(|(from, _)| {
            let (value, name) = before.split_at(from);
            let apart = value.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            // Short ones end other words too: those are no calls, by what stands behind them.
            (apart || name.len() > 3 || heads_call(behind)) && tools.get(name).is_some()
        })
    };
    if tools.is_some_and(|tools| heads().any(|at| named(at, tools))) {
        return true;
    }
    memchr::memchr_iter(b')', arguments.as_bytes()).any(|at| {
        let behind = head(arguments.get(at + 1..).unwrap_or_default(), NEAR_NAME);
        let call = behind.replacen("\\n", "\n", 2);
        let name = call.trim_start_matches([',', ' ', '\n', '\t']);
        let parted = name.len() < call.len();
        let end = name.find(|c: char| !c.is_alphanumeric() && !"_.-/:".contains(c)).unwrap_or(name.len());
        let called = name.get(end..).is_some_and(|rest| rest.starts_with('(')) && end > 0;
        let name = name.get(..end).unwrap_or_default();
        parted && called && tools.is_none_or(|tools| tools.get(resolved(Some(tools), name)).is_some())
    })
}
