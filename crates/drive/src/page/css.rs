//! Style sheets as far as hiding needs them: rules with their selectors, declarations with their values.
//!
//! Each text is gone over once. Errors that a browser would drop are read as well as they can be.

/// The width and height of the screen that media queries are evaluated for, in CSS pixels.
const SCREEN: (f64, f64) = (1280.0, 800.0);

/// A style sheet or a style attribute in plain form: small letters, comments and strings gone, escapes undone, white
/// space as single blanks.
pub(super) fn plain(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut chars = css.chars().peekable();
    let mut bracket = false;
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let mut star = false;
                for c in chars.by_ref() {
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
                blank(&mut out);
            }
            '"' | '\'' => {
                while let Some(inner) = chars.next() {
                    match inner {
                        '\\' => drop(chars.next()),
                        // A string that is not ended ends with its line.
                        '\n' => break,
                        inner if inner == c => break,
                        // The value of an attribute is compared.
                        inner if bracket => out.push(letter(inner)),
                        _ => {}
                    }
                }
                if !bracket {
                    out.push('"');
                }
            }
            '\\' => {
                let mut code = 0;
                let mut digits = 0;
                while digits < 6
                    && let Some(digit) = chars.peek().and_then(|c| c.to_digit(16))
                {
                    code = code * 16 + digit;
                    digits += 1;
                    chars.next();
                }
                let escaped = if digits > 0 {
                    chars.next_if(|c| c.is_whitespace());
                    char::from_u32(code).unwrap_or('\u{fffd}')
                } else {
                    chars.next().unwrap_or('\u{fffd}')
                };
                // What is escaped is a letter, whatever it looks like.
                out.push(letter(escaped));
            }
            c if c.is_whitespace() => blank(&mut out),
            // A sheet may stand in what once kept old browsers from showing it.
            '<' if follows(&mut chars, "!--") => blank(&mut out),
            '-' if follows(&mut chars, "->") => blank(&mut out),
            c => {
                bracket = if matches!(c, '{' | '}' | ';') { false } else { c == '[' || bracket && c != ']' };
                out.push(c.to_ascii_lowercase());
            }
        }
    }
    out
}

/// Consumes `text` if it comes next, and returns whether it did.
fn follows(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, text: &str) -> bool {
    let mut ahead = chars.clone();
    let is_next = text.chars().all(|c| ahead.next() == Some(c));
    if is_next {
        *chars = ahead;
    }
    is_next
}

/// A character of a name or value as it stands in plain form: a small letter, and no mark.
pub(super) fn letter(c: char) -> char {
    let is_mark = c.is_whitespace() || "{}[]:;,.#()@\"'>+~*".contains(c);
    if is_mark { '\u{fffd}' } else { c.to_ascii_lowercase() }
}

fn blank(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

/// The declarations of a block in plain form: names, values without `!important`, and whether that was said.
pub(super) fn declarations(block: &str) -> impl Iterator<Item = (&str, &str, bool)> {
    block.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let (value, priority) = value.split_once('!').unwrap_or((value, ""));
        Some((name.trim(), value.trim(), priority.trim() == "important"))
    })
}

/// An open block: the selectors of a rule, or a condition.
struct RuleBlock<'a> {
    selectors: Option<&'a str>,
    applies: bool,
    /// The place where the declarations begin that have not been emitted.
    begin: usize,
}

/// Calls `emit` with each rule of a sheet in plain form that holds on a screen: selectors, and declarations.
pub(super) fn rules<'a>(sheet: &'a str, mut emit: impl FnMut(&'a str, &'a str)) {
    let mut open: Vec<RuleBlock<'a>> = Vec::new();
    let mut start = 0;
    for (at, byte) in sheet.bytes().enumerate() {
        let text = |from: usize| sheet.get(from..at).unwrap_or_default();
        match byte {
            b';' => start = at + 1,
            b'{' => {
                let prelude = text(start).trim();
                let applies = open.last().is_none_or(|block| block.applies);
                let around = open.last().and_then(|block| block.selectors);
                if let Some(RuleBlock { selectors: Some(selectors), applies: true, begin }) = open.last() {
                    emit(selectors, sheet.get(*begin..start).unwrap_or_default());
                }
                let (selectors, applies) = match prelude.strip_prefix('@') {
                    Some(condition) => (around, applies && holds(condition)),
                    None if prelude == "&" => (around, applies),
                    // A rule within a rule stands for what is within its elements.
                    None => (Some(if around.is_some() { "" } else { prelude }), applies),
                };
                open.push(RuleBlock { selectors, applies, begin: at + 1 });
                start = at + 1;
            }
            b'}' => {
                if let Some(RuleBlock { selectors: Some(selectors), applies: true, begin }) = open.pop() {
                    emit(selectors, text(begin));
                }
                start = at + 1;
                if let Some(block) = open.last_mut() {
                    block.begin = start;
                }
            }
            _ => {}
        }
    }
    // A sheet may end in the middle of a rule.
    if let Some(RuleBlock { selectors: Some(selectors), applies: true, begin }) = open.last() {
        emit(selectors, sheet.get(*begin..).unwrap_or_default());
    }
}

/// Returns whether rules in a block hold: `media screen`, `supports …`, `layer x`.
fn holds(condition: &str) -> bool {
    let (name, query) = condition
        .split_once([' ', '('])
        .map_or((condition, ""), |(name, _)| (name, condition.get(name.len()..).unwrap_or_default()));
    match name {
        "media" => shows(query),
        "supports" | "layer" | "container" | "scope" | "starting-style" => true,
        // Steps of animations, fonts, pages of paper.
        _ => false,
    }
}

/// Returns whether a media query holds for a screen. Queries that are not understood hold: they may hide.
pub(super) fn shows(query: &str) -> bool {
    let query = query.trim();
    query.is_empty() || query.split(',').take(64).any(alternative_shows)
}

fn alternative_shows(query: &str) -> bool {
    let query = query.trim();
    let negated = query.strip_prefix("not ");
    let all = negated.unwrap_or(query).split(" and ").all(|part| {
        let part = part.trim().trim_start_matches("only ").trim_matches(['(', ')', ' ']);
        let Some((feature, value)) = part.split_once(':') else {
            return !matches!(part, "print" | "speech" | "tty" | "tv" | "projection" | "handheld" | "braille");
        };
        // What a page is to people who asked for nothing else.
        match feature.trim() {
            "prefers-color-scheme" => return value.trim() == "light",
            "prefers-contrast" | "prefers-reduced-motion" | "forced-colors" | "inverted-colors" => {
                return matches!(value.trim(), "no-preference" | "none");
            }
            _ => {}
        }
        let Some(limit) = Length::of(value.trim()).map(Length::pixels) else { return true };
        match feature.trim() {
            "min-width" | "min-device-width" => SCREEN.0 >= limit,
            "max-width" | "max-device-width" => SCREEN.0 <= limit,
            "min-height" => SCREEN.1 >= limit,
            "max-height" => SCREEN.1 <= limit,
            _ => true,
        }
    });
    all != negated.is_some()
}

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length<'a> {
    pub(super) number: f64,
    pub(super) unit: &'a str,
}

impl<'a> Length<'a> {
    /// The number that a value begins with.
    pub(super) fn of(value: &'a str) -> Option<Self> {
        let value = value.strip_prefix("calc(").unwrap_or(value).trim_start();
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e');
        let end = value.find(|c: char| !is_number(c)).unwrap_or(value.len());
        // `1em` is no number in the scientific form; `1e-9` is.
        let ends = [Some(end), value.get(..end)?.find('e')];
        ends.into_iter().flatten().find_map(|end| {
            let number: f64 = value.get(..end)?.parse().ok().filter(|number: &f64| number.is_finite())?;
            let unit = value.get(end..)?;
            let unit =
                unit.find(|c: char| !c.is_ascii_alphabetic() && c != '%').map_or(Some(unit), |end| unit.get(..end))?;
            Some(Self { number, unit })
        })
    }

    /// The length in pixels, roughly; nothing is known of the font.
    pub(super) fn pixels(self) -> f64 {
        self.number
            * match self.unit {
                "em" | "rem" | "ch" | "ex" | "lh" | "rlh" | "ic" | "cap" | "pc" => 16.0,
                "pt" => 4.0 / 3.0,
                "in" => 96.0,
                "cm" => 37.8,
                "mm" => 3.78,
                "%" | "vw" | "vi" | "svw" | "lvw" | "dvw" | "vmax" => SCREEN.0 / 100.0,
                "vh" | "vb" | "svh" | "lvh" | "dvh" | "vmin" => SCREEN.1 / 100.0,
                _ => 1.0,
            }
    }

    /// Returns whether the length is relative to something else: to a window, to the element around.
    pub(super) fn is_relative(self) -> bool {
        self.unit == "%" || self.unit.len() >= 2 && self.unit.contains('v')
    }
}

/// The place of the parenthesis that closes the text.
pub(super) fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|byte| match byte {
        b'(' => {
            depth += 1;
            false
        }
        b')' if depth == 0 => true,
        b')' => {
            depth -= 1;
            false
        }
        _ => false,
    })
}

/// All numbers in a value, in order.
pub(super) fn lengths(value: &str) -> impl Iterator<Item = Length<'_>> {
    value.split([' ', ',', '(', ')', '/']).filter_map(Length::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sheet: &str) -> Vec<(String, String)> {
        let sheet = plain(sheet);
        let mut found = Vec::new();
        rules(&sheet, |selectors, block| found.push((selectors.to_owned(), block.trim().to_owned())));
        found
    }

    #[test]
    fn escapes_comments_and_strings_are_read_as_browsers_read_them() {
        assert_eq!(plain(r"D\69splay:/* x; */NON\45 "), "display: none");
        assert_eq!(plain(r"dis\70lay:\6eone"), "display:none");
        assert_eq!(plain("content:'a;b\\'c}';x:y"), "content:\";x:y");
        assert_eq!(plain(r"a\3b display"), "a\u{fffd}display");
        assert_eq!(plain("a  \n b"), "a b");
        assert_eq!(plain("<!-- .a{--b:-1} -->"), " .a{--b:-1} ");
        assert_eq!(plain("/* never ended"), " ");
        assert_eq!(plain("\\"), "\u{fffd}");
    }

    #[test]
    fn rules_come_with_their_selectors() {
        let one = |selectors: &str, block: &str| (selectors.to_owned(), block.to_owned());
        assert_eq!(found("@import 'x'; .a, b{x:y;z:1} .c{}"), [one(".a, b", "x:y;z:1"), one(".c", "")]);
        assert_eq!(
            found("@media print{.a{x:y} .b{x:y}} @media screen{.c{x:y}} .d{x:y}"),
            [one(".c", "x:y"), one(".d", "x:y")]
        );
        assert_eq!(found(".a{x:y; .b{z:1} w:2}"), [one(".a", "x:y;"), one("", "z:1"), one(".a", "w:2")]);
        assert_eq!(found(".a{@media all{x:y}}"), [one(".a", ""), one(".a", "x:y"), one(".a", "")]);
        assert_eq!(found("@keyframes f{from{opacity:0}} .a{x:y"), [one(".a", "x:y")]);
        assert_eq!(found("@media screen{@media print{.a{x:y}}.b{x:y}}"), [one(".b", "x:y")]);
        assert!(found("}}}{{{").iter().all(|(_, block)| block.is_empty()));
    }

    #[test]
    fn media_are_those_of_a_screen() {
        for query in [
            "",
            "all",
            "screen",
            "only screen and (min-width: 600px)",
            "print, screen",
            "not print",
            "(max-width: 9999px)",
        ] {
            assert!(shows(query), "{query}");
        }
        for query in ["print", "speech", "(max-width: 600px)", "screen and (max-width: 40em)", "not all", "not screen"]
        {
            assert!(!shows(query), "{query}");
        }
    }

    #[test]
    fn lengths_are_read_with_their_units() {
        let of = |value: &'static str| Length::of(value).map(|length| (length.number, length.unit));
        assert_eq!(of("1em"), Some((1.0, "em")));
        assert_eq!(of("-.5px"), Some((-0.5, "px")));
        assert_eq!(of("1e-9"), Some((1e-9, "")));
        assert_eq!(of("calc(-9999px + 1px)"), Some((-9999.0, "px")));
        assert_eq!(of("auto"), None);
        assert_eq!(of("1e999"), Some((1.0, "e")));
    }
}
