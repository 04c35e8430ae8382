//! Backquotes that the tree does not show: those of here documents, of `${x:-…}`, and the escaped ones within others.
//! What stands between them runs, so it is read as a text of its own.

use std::ops::Range;

use super::{
    super::{Input, Via, word},
    Place,
    reader::Reader,
};

impl Reader<'_, '_> {
    /// Reads what stands between the backquotes of `raw`, a text in which a shell looks for them.
    pub(super) fn backquoted(&mut self, raw: &str, span: &Range<usize>, place: &Place) {
        let mut rest = raw;
        while let Some(at) = rest.find(['`', '\\']) {
            let escape = rest.as_bytes()[at] == b'\\';
            rest = &rest[at + 1..];
            if escape {
                let next = rest.chars().next().map_or(0, char::len_utf8);
                rest = &rest[next..];
                continue;
            }
            let end = word::until(rest, '`');
            let inner = rest[..end].strip_suffix('`').unwrap_or(&rest[..end]);
            self.substituted(&unescaped(inner), span, place);
            rest = &rest[end..];
        }
    }

    /// The same for backquotes that are known to be such: what is escaped in them may hold others.
    pub(super) fn escaped_within(&mut self, raw: &str, span: &Range<usize>, place: &Place) {
        let inner = raw.strip_prefix('`').and_then(|raw| raw.strip_suffix('`'));
        if let Some(inner) = inner.filter(|inner| inner.contains("\\`")) {
            self.substituted(&unescaped(inner), span, place);
        }
    }

    fn substituted(&mut self, text: &str, span: &Range<usize>, place: &Place) {
        let inside = Place {
            via: Via::Substitution,
            input: Input::None,
            nesting: place.nesting + 1,
            within: Some(span.clone()),
            pipeline: 0,
            ..place.clone()
        };
        self.walk.text_apart(text, &inside);
    }
}

/// Within backquotes a backslash stands before `` ` ``, `\` and `$` only to say that they are meant as they are.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(&next @ ('`' | '\\' | '$')) if c == '\\' => {
                out.push(next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}
