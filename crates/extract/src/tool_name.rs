//! What models put around the name of a tool: the namespace of their training (`functions.`, `default_api:`, `tools/`),
//! a marker of a channel behind it (`weather<|channel|>commentary`), quotes, white space, brackets, the number of the
//! call (`functions.weather:0`).

use loopwright_base::text::is_hidden;

/// A name that is longer is no slip of the pen.
const LONGEST: usize = 256;

/// What separates a namespace from a name.
const SEPARATORS: [char; 3] = ['.', ':', '/'];

/// The name without what stands around it; a namespace stays. Empty if it is too long for a name.
pub(super) fn stripped(name: &str) -> &str {
    if name.len() > LONGEST {
        return "";
    }
    let mut name = name.split('<').next().unwrap_or_default();
    loop {
        let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
        let mut less = name.trim_matches(around);
        less = less.strip_suffix("()").unwrap_or(less);
        if let Some((before, number)) = less.rsplit_once(':')
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            less = before;
        }
        if less == name {
            return name;
        }
        name = less;
    }
}

/// The name, and what is left of it without one namespace after the other.
pub(super) fn without_namespaces(name: &str) -> impl Iterator<Item = &str> {
    let behind = name.match_indices(SEPARATORS).filter_map(|(at, separator)| name.get(at + separator.len()..));
    std::iter::once(name).chain(behind).filter(|name| !name.is_empty())
}

/// The last part of a name, for whoever has to make one of it.
pub fn last_name(name: &str) -> &str {
    without_namespaces(stripped(name)).last().unwrap_or_default()
}

/// A name without what is easily mistaken in it: capitals, what joins its words, and what nobody sees.
pub(super) fn folded(name: &str) -> String {
    let joins = |c: char| matches!(c, '-' | '_') || c.is_whitespace() || c.is_control() || is_hidden(c);
    name.chars().filter(|c| !joins(*c)).flat_map(char::to_lowercase).collect()
}

/// A name without the mark of one that was made fit for a provider, which a model may have read in its history.
pub(super) fn unmarked(name: &str) -> Option<&str> {
    let (name, mark) = name.rsplit_once('-')?;
    let is_mark = mark.len() == MARK && mark.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_mark && !name.is_empty()).then_some(name)
}

/// Characters of that mark.
pub const MARK: usize = 16;
