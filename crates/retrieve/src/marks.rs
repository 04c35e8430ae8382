//! Quotes without the marks of Markdown, HTML and comments around their words.
//!
//! Words are never changed, added or reordered; what is taken away is only marking. The cost is that of the text's
//! length.

use loopwright_base::text::clip;
use loopwright_lexicon::sentences::{Kind, comment_mark, mark_of};

/// A longer unit (a line of data, say) is cut after this many characters.
const MAX_QUOTE: usize = 1_000;

/// A unit as it is quoted: on one line, without the marks of lists, quotes, comments, links and stress.
pub fn clean(raw: &str, kind: Kind, plain: bool) -> String {
    let mut text = String::with_capacity(raw.len());
    for (at, line) in raw.lines().enumerate() {
        let mut line = line.trim();
        if at > 0 {
            line = line.get(mark_of(line)..).unwrap_or(line);
            line = comment_mark(line).and_then(|mark| line.get(mark..)).unwrap_or(line);
            text.push(' ');
        }
        text.push_str(line);
    }
    let text = clip(text.trim(), MAX_QUOTE);
    match kind {
        Kind::Code => text,
        Kind::Heading | Kind::Term => unmarked(text.trim_matches('#').trim(), plain),
        Kind::Row | Kind::Columns => unmarked(text.trim_matches('|').trim(), plain),
        Kind::Prose => {
            let text = text.trim_end_matches("*/").trim_end_matches("-->").trim_end();
            let text = text.strip_suffix("::").map_or(text.to_owned(), |before| format!("{before}:"));
            unmarked(&version(&text).unwrap_or(text), plain)
        }
    }
}

/// What a directive says of a version, without the marks of the directive.
fn version(text: &str) -> Option<String> {
    let name = ["versionadded", "versionchanged", "versionremoved", "deprecated"]
        .iter()
        .find(|name| text.starts_with(**name))?;
    let rest = text.get(name.len()..)?;
    let rest = rest.strip_prefix('}').or_else(|| rest.strip_prefix("::"))?;
    let (version, said) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let colon = if said.is_empty() { "" } else { ":" };
    Some(format!("{name} {version}{colon} {said}").trim().to_owned())
}

/// Links give their text, stress its words. Inline code stays as it is unless all marks must go.
fn unmarked(text: &str, plain: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Searches that failed once are not made again, so hostile text costs no more than its length.
    let (mut no_code, mut no_link) = (false, false);
    while let Some(at) = rest.find(['`', '[', '!', '*', '_', '<']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let skip = if let Some((name, length)) = role(&mut out, from) {
            out.push('`');
            out.push_str(name);
            out.push('`');
            length
        } else if from.starts_with("``") && !from.starts_with("```") {
            // Code of reStructuredText is code of Markdown.
            let end = from.get(2..).and_then(|inner| inner.find("``")).filter(|end| *end > 0);
            match end.and_then(|end| from.get(2..2 + end).map(|inner| (end, inner))) {
                Some((end, inner)) if !inner.contains('`') => {
                    let tick = if plain { "" } else { "`" };
                    for piece in [tick, inner, tick] {
                        out.push_str(piece);
                    }
                    end + 4
                }
                _ => 0,
            }
        } else if from.starts_with('`') {
            let end = if no_code { None } else { from.get(1..).and_then(|inner| inner.find('`')) };
            no_code |= end.is_none();
            match end {
                Some(end) if plain => {
                    out.push_str(from.get(1..=end).unwrap_or_default());
                    end + 2
                }
                Some(end) => {
                    out.push_str(from.get(..end + 2).unwrap_or_default());
                    end + 2
                }
                None => 0,
            }
        } else if from.starts_with("![") {
            1
        } else if from.starts_with("[^") {
            // What a note says stands elsewhere.
            from.bytes().take(40).position(|b| b == b']').map_or(0, |end| end + 1)
        } else if from.starts_with('[') && !no_link {
            if let Some((name, length)) = link(from) {
                out.push_str(name);
                length
            } else {
                no_link |= !from.contains(']');
                0
            }
        } else if from.starts_with('<') {
            tag(from)
        } else if from.starts_with("**") || (from.starts_with("__") && !is_inside(&out, from)) {
            2
        } else {
            0
        };
        let skip = if skip == 0 {
            let length = from.chars().next().map_or(1, char::len_utf8);
            out.push_str(from.get(..length).unwrap_or_default());
            length
        } else {
            skip
        };
        rest = from.get(skip..).unwrap_or_default();
    }
    out.push_str(rest);
    let trimmed = out.trim();
    if trimmed.len() == out.len() { out } else { trimmed.to_owned() }
}

/// The name in a role of reStructuredText or `MyST` (`:class:`, `{func}`) whose backtick `from` begins with, without
/// what it refers to, and the length of it; the name of the role, which is the end of `before`, is taken away.
fn role<'a>(before: &mut String, from: &'a str) -> Option<(&'a str, usize)> {
    let inner = from.strip_prefix('`').filter(|inner| !inner.starts_with('`'))?;
    let start = match before.chars().next_back()? {
        ':' => before.trim_end_matches(|c: char| c.is_ascii_lowercase() || c == ':' || c == '-').len(),
        '}' => before.rfind('{')?,
        _ => return None,
    };
    let name = before.get(start..)?.trim_matches([':', '{', '}']);
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':');
    let opens = before.get(start..)?.starts_with([':', '{']) && before.get(start..)?.len() > 2;
    if !opens || name.is_empty() || !name.bytes().all(legal) {
        return None;
    }
    let length = inner.find('`').filter(|length| *length > 0)?;
    let shown = inner.get(..length)?;
    // "../a" is a path.
    let shown = if shown.starts_with("..") { shown } else { shown.trim_start_matches(['~', '.', '!']) };
    let shown = shown.split_once(" <").map_or(shown, |(shown, _)| shown).trim();
    before.truncate(start);
    (!shown.is_empty()).then_some((shown, length + 2))
}

/// Whether the two underscores at the start of `from` stand inside a name.
fn is_inside(before: &str, from: &str) -> bool {
    before.ends_with(char::is_alphanumeric)
        && from.get(2..).is_some_and(|after| after.starts_with(char::is_alphanumeric))
}

/// The length of an HTML tag at the start, where it is one that documents use; 0 if it is none.
pub fn tag(from: &str) -> usize {
    const TAGS: [&str; 16] = [
        "a", "b", "i", "br", "p", "em", "strong", "span", "div", "sub", "sup", "kbd", "img", "code", "summary",
        "details",
    ];
    let inner = from.get(1..).unwrap_or_default().trim_start_matches('/');
    let name = inner.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if !TAGS.contains(&name) {
        return 0;
    }
    from.bytes().take(400).position(|b| b == b'>').map_or(0, |end| end + 1)
}

/// The text of a link `[text](address)` at the start, and the length of it all.
fn link(from: &str) -> Option<(&str, usize)> {
    let inner = from.get(1..)?;
    let close = inner.bytes().take(400).position(|b| b == b']')?;
    let name = inner.get(..close)?;
    let after = inner.get(close + 1..)?;
    if let Some(label) = after.strip_prefix('[') {
        let end = label.bytes().take(200).position(|b| b == b']')?;
        return (!name.is_empty()).then_some((name, close + 3 + end + 1));
    }
    if name.starts_with('`') && name.ends_with('`') && !after.starts_with('(') {
        return Some((name, close + 2));
    }
    let address = after.strip_prefix('(')?;
    let end = address.bytes().take(2_000).position(|b| b == b')')?;
    (!name.contains('[') && !name.is_empty()).then_some((name, 1 + close + 1 + 1 + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_words_stay() {
        for (raw, expected) in [
            ("See [the *guide*](a/b.md) and **all** of `x_y`.", "See the *guide* and all of `x_y`."),
            ("[`tool`] is [here][1], ![a picture](p.png) too.", "`tool` is here, a picture too."),
            ("<a id=\"x\"></a> Wrapped\n  > over\n  lines<br>.", "Wrapped over lines."),
            ("snake__case and __strong__ and a[0] < b", "snake__case and strong and a[0] < b"),
            ("stray ` and [ and ](", "stray ` and [ and ]("),
        ] {
            assert_eq!(clean(raw, Kind::Prose, false), expected);
        }
        assert_eq!(clean("Set `x` to **1**.", Kind::Prose, true), "Set x to 1.");
        assert_eq!(clean("a = b[**c]", Kind::Code, false), "a = b[**c]");
        assert_eq!(clean("## Use it ##", Kind::Heading, false), "Use it");
        assert_eq!(clean("| `a` | 1 |", Kind::Row, false), "`a` | 1");
        assert_eq!(clean(&"é".repeat(2_000), Kind::Code, false).chars().count(), MAX_QUOTE + 1);
    }
}
