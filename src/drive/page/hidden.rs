//! What of a page nobody sees: by attributes, by styles of an element, by simple rules of the page's own sheets.
//!
//! Text that no reader sees is no evidence, and no word to a model. Scripts, outer sheets and selectors of several
//! elements (`.menu .note`) are not read.

use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};

use super::{
    css::{self, Length},
    element::{attribute, is_hidden, raw},
    tokens,
};

/// Two colours that differ by no more than this in each part look the same.
const SAME: u8 = 12;
/// An element of more classes than this is not held against selectors of two classes.
const MOST_PAIRED: usize = 16;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Color {
    /// Red, green, blue, and how much of what is behind is covered, each from 0 to 255.
    Parts([u8; 4]),
    /// A name, of which only is known whether it is the same.
    Named(u64),
}

const WHITE: Color = Color::Parts([255; 4]);

impl Color {
    fn of(value: &str) -> Option<Self> {
        let parts = |parts: [f64; 4]| Self::Parts(parts.map(|part| part.clamp(0.0, 255.0) as u8));
        if let Some(digits) = value.strip_prefix('#') {
            // Each digit alone stands for two.
            let wide = if matches!(digits.len(), 3 | 4) { 1 } else { 2 };
            let mut found = [255; 4];
            for (at, part) in found.iter_mut().enumerate().take(digits.len() / wide) {
                let number = u8::from_str_radix(digits.get(at * wide..(at + 1) * wide)?, 16).ok()?;
                *part = if wide == 1 { number * 17 } else { number };
            }
            return matches!(digits.len(), 3 | 4 | 6 | 8).then_some(Self::Parts(found));
        }
        if let Some((function, arguments)) = value.split_once('(') {
            let numbers: Vec<Length<'_>> = css::lengths(arguments).take(4).collect();
            let share = |length: &Length<'_>, whole: f64| {
                if length.unit == "%" { length.number / 100.0 * 255.0 } else { length.number * whole }
            };
            let alpha = numbers.get(3).map_or(255.0, |length| share(length, 255.0));
            return match (function, numbers.as_slice()) {
                ("rgb" | "rgba", [r, g, b, ..]) => Some(parts([share(r, 1.0), share(g, 1.0), share(b, 1.0), alpha])),
                ("hsl" | "hsla", [_, _, light, ..]) if light.number >= 100.0 => {
                    Some(parts([255.0, 255.0, 255.0, alpha]))
                }
                ("hsl" | "hsla", [_, _, light, ..]) if light.number <= 0.0 => Some(parts([0.0, 0.0, 0.0, alpha])),
                // Of others it counts whether they cover anything.
                _ if alpha == 0.0 => Some(Self::Parts([0; 4])),
                _ => Some(Self::named(value)),
            };
        }
        match value {
            "transparent" => Some(Self::Parts([0; 4])),
            "white" | "snow" => Some(WHITE),
            "black" => Some(Self::Parts([0, 0, 0, 255])),
            "" | "none" | "inherit" | "initial" | "unset" | "revert" | "currentcolor" | "auto" => None,
            name if name.chars().all(|c| c.is_ascii_alphabetic()) => Some(Self::named(name)),
            _ => None,
        }
    }

    fn named(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self::Named(hasher.finish())
    }

    fn is_clear(self) -> bool {
        matches!(self, Self::Parts([.., alpha]) if alpha <= 12)
    }

    fn looks_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Parts(one), Self::Parts(other)) => {
                one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= SAME)
            }
            (one, other) => one == other,
        }
    }
}

/// What is behind a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Ground {
    /// Nothing that is known here.
    #[default]
    Unknown,
    Color(Color),
    /// A picture, a gradient.
    Picture,
}

/// The colours of a text and of what is behind it, as far as elements say it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Paint {
    ink: Option<Color>,
    ground: Ground,
}

impl Paint {
    /// What a declaration of a background makes of it.
    fn lay(&mut self, value: &str) {
        if value.contains("url(") || value.contains("gradient(") || value.contains("image") {
            self.ground = Ground::Picture;
            return;
        }
        // `no-repeat #fff`: a color among other words, of which each could be a name. Only what covers something counts.
        let function =
            ["rgb", "hsl"].iter().find_map(|name| value.get(value.find(name)?..)?.split_inclusive(')').next());
        let parts = |color: &Color| matches!(color, Color::Parts(_));
        let words = || value.split(' ').filter_map(Color::of);
        let found = function.and_then(Color::of).or_else(|| words().find(parts)).or_else(|| words().next());
        self.ground = found.filter(|color| !color.is_clear()).map_or(self.ground, Ground::Color);
    }

    fn hides(self) -> bool {
        match (self.ink, self.ground) {
            (Some(ink), Ground::Color(ground)) => ink.looks_like(ground),
            // Most pages are white.
            (Some(ink), Ground::Unknown) => ink.looks_like(WHITE),
            _ => false,
        }
    }
}

/// Whether a block of declarations in plain form hides what it is for, and the colours there. `paint` are those around.
fn block_hides(block: &str, mut paint: Paint) -> (bool, Paint) {
    let (mut hidden, mut aside, mut flat, mut cut, mut clear) = (false, false, false, false, false);
    let (mut painted, mut shown_through, mut indented) = (false, false, false);
    for (name, value) in css::declarations(block) {
        let length = Length::of(value);
        let none = |least: f64| length.is_some_and(|length| length.number <= least);
        let pixels = length.map(Length::pixels);
        match name {
            "display" => hidden |= value == "none",
            "visibility" => hidden |= matches!(value, "hidden" | "collapse"),
            "content-visibility" => hidden |= value == "hidden",
            "opacity" => hidden |= none(if value.ends_with('%') { 5.0 } else { 0.05 }),
            "zoom" => hidden |= none(0.05),
            "scale" => hidden |= css::lengths(value).take(3).any(|length| length.number.abs() <= 0.05),
            "font-size" => hidden |= length.is_some_and(is_too_small),
            // The size of a font is the first length among its words.
            "font" => hidden |= css::lengths(value).find(|length| !is_weight(*length)).is_some_and(is_too_small),
            "left" | "right" | "bottom" | "top" | "inset" | "translate" | "text-indent" | "margin" | "margin-left"
            | "margin-top" => {
                let all = matches!(name, "inset" | "translate" | "margin");
                aside |= css::lengths(value).take(if all { 4 } else { 1 }).any(|length| is_aside(name, length));
                indented |=
                    name == "text-indent" && length.is_some_and(|length| length.unit == "%" && length.number >= 100.0);
            }
            "transform" | "-webkit-transform" => {
                let (is_hidden, is_aside) = transform_hides(value);
                hidden |= is_hidden;
                aside |= is_aside;
            }
            "filter" => {
                hidden |=
                    value.strip_prefix("opacity(").and_then(Length::of).is_some_and(|length| length.number <= 0.0);
            }
            "clip" => hidden |= clip_hides(value),
            "clip-path" | "-webkit-clip-path" => hidden |= clip_path_hides(value),
            "height" | "width" | "max-height" | "max-width" | "block-size" | "inline-size" => {
                flat |= pixels.is_some_and(|pixels| pixels <= 1.0);
            }
            "overflow" | "overflow-x" | "overflow-y" => cut |= value.contains("hidden") || value.contains("clip"),
            "color" | "-webkit-text-fill-color" => {
                if let Some(color) = Color::of(value) {
                    painted = true;
                    clear = color.is_clear();
                    paint.ink = Some(color).filter(|color| !color.is_clear()).or(paint.ink);
                }
            }
            "background" | "background-color" | "background-image" => {
                painted = true;
                paint.lay(value);
                shown_through |= value.contains("text");
            }
            // The letters are holes, through which a picture is seen.
            "background-clip" | "-webkit-background-clip" => shown_through |= value.contains("text"),
            _ => {}
        }
    }
    let hidden = hidden
        || aside
        || cut && (flat || indented)
        || clear && !shown_through
        || painted && !clear && !shown_through && paint.hides();
    (hidden, paint)
}

fn is_too_small(size: Length<'_>) -> bool {
    match size.unit {
        "px" | "pt" | "" => size.number <= 1.0,
        "%" => size.number <= 10.0,
        _ => size.number <= 0.1,
    }
}

/// `700` of `bold 700 0/0 a`.
fn is_weight(length: Length<'_>) -> bool {
    length.unit.is_empty() && length.number >= 100.0
}

/// Whether it is put where no screen is.
fn is_aside(name: &str, length: Length<'_>) -> bool {
    let of_margins = name.starts_with("margin");
    if length.is_relative() {
        // Margins of `-50vw` and `-100%`, and moves by one's own size, are ways to lay pages out.
        let by_own_size = name == "translate" && length.unit == "%";
        return !of_margins && !by_own_size && length.number <= -100.0;
    }
    let pixels = length.pixels();
    pixels <= -500.0 || pixels >= 5_000.0 && !matches!(name, "top" | "margin-top" | "inset" | "margin")
}

fn transform_hides(value: &str) -> (bool, bool) {
    let (mut hidden, mut aside) = (false, false);
    for function in value.split(')').take(32) {
        let Some((name, arguments)) = function.split_once('(') else { continue };
        let mut numbers = css::lengths(arguments);
        match name.trim() {
            "scale" | "scale3d" => hidden |= numbers.take(2).any(|length| length.number.abs() <= 0.05),
            "scalex" | "scaley" | "matrix" => {
                hidden |= numbers.next().is_some_and(|length| length.number.abs() <= 0.05);
            }
            "rotatex" | "rotatey" => {
                hidden |= numbers
                    .next()
                    .is_some_and(|length| length.unit == "deg" && (length.number.abs() - 90.0).abs() < 0.5);
            }
            "translate" | "translatex" | "translatey" | "translate3d" => {
                aside |= numbers.take(2).any(|length| is_aside("translate", length));
            }
            _ => {}
        }
    }
    (hidden, aside)
}

/// `rect(top, right, bottom, left)` with nothing between.
fn clip_hides(value: &str) -> bool {
    let Some(inner) = value.strip_prefix("rect(") else { return false };
    let edges: Vec<f64> = css::lengths(inner).take(4).map(Length::pixels).collect();
    matches!(*edges.as_slice(), [top, right, bottom, left] if bottom - top <= 1.0 || right - left <= 1.0)
}

fn clip_path_hides(value: &str) -> bool {
    let Some((form, inner)) = value.split_once('(') else { return false };
    let numbers: Vec<Length<'_>> = css::lengths(inner).take(16).collect();
    let share = |at: usize| numbers.get(at).filter(|length| length.unit == "%").map_or(0.0, |length| length.number);
    match (form, numbers.len()) {
        ("inset", 1) => share(0) >= 50.0,
        ("inset", 2) => share(0) >= 50.0 || share(1) >= 50.0,
        ("inset", 3) => share(0) + share(2) >= 100.0 || share(1) >= 50.0,
        ("inset", _) => share(0) + share(2) >= 100.0 || share(1) + share(3) >= 100.0,
        ("circle" | "ellipse", _) => numbers.first().is_some_and(|length| length.number <= 0.0),
        ("polygon", 4..) => numbers
            .windows(2)
            .all(|pair| pair.first().zip(pair.get(1)).is_some_and(|(a, b)| (a.number - b.number).abs() < 0.01)),
        _ => false,
    }
}

/// Which names, classes and identifiers a page's sheets hide.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    selectors: HashSet<String>,
    /// Whether some of them ask for two classes.
    paired: bool,
}

impl Sheet {
    /// The sheets that stand in a page, wherever: what stands behind an element holds for it, too.
    pub(super) fn of(html: &str) -> Self {
        let has_some = html.as_bytes().windows(6).any(|piece| piece.eq_ignore_ascii_case(b"<style"));
        if !has_some {
            return Self::default();
        }
        let mut reader = tokens::read(html, SheetReader::default());
        // A sheet may be the end of its page.
        if let Some(text) = reader.text.take() {
            reader.sheet.read(&text);
        }
        reader.sheet
    }

    /// Reads the text of a style element.
    fn read(&mut self, text: &str) {
        let plain = css::plain(text);
        css::rules(&plain, |selectors, block| {
            let (hidden, paint) = block_hides(block, Paint::default());
            // White on something that another rule may say is seen.
            let by_color_alone = hidden && paint.ground == Ground::Unknown && paint.ink == Some(WHITE);
            if !hidden || by_color_alone && !block_hides(&without_ink(block), Paint::default()).0 {
                return;
            }
            for selector in selectors.split(',') {
                if let Some(selector) = simple(selector.trim()) {
                    self.paired |= selector.matches('.').count() == 2;
                    self.selectors.insert(selector);
                }
            }
        });
    }

    /// Whether an element is hidden by them.
    fn hides(&self, name: &str, attributes: &[Attribute]) -> bool {
        if self.selectors.is_empty() {
            return false;
        }
        let has = |what: &str| self.selectors.contains(what) || self.selectors.contains(&format!("{name}{what}"));
        if self.selectors.contains(name)
            || attribute(attributes, "id").is_some_and(|id| has(&format!("#{}", id.trim().to_ascii_lowercase())))
        {
            return true;
        }
        let classes = attribute(attributes, "class").unwrap_or_default().to_ascii_lowercase();
        if classes.split_ascii_whitespace().any(|class| has(&format!(".{class}"))) {
            return true;
        }
        self.paired && {
            let mut classes: Vec<&str> = classes.split_ascii_whitespace().take(MOST_PAIRED).collect();
            classes.sort_unstable();
            classes
                .iter()
                .enumerate()
                .any(|(at, one)| classes.iter().skip(at + 1).any(|other| has(&format!(".{one}.{other}"))))
        }
    }
}

fn without_ink(block: &str) -> String {
    let kept: Vec<String> = css::declarations(block)
        .filter(|(name, _)| *name != "color")
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    kept.join(";")
}

/// A selector of one element in the form that it is looked up by: a name, an identifier, up to two classes in order.
fn simple(selector: &str) -> Option<String> {
    // The page itself is around everything.
    let selector = ["html", "body", ":root"].iter().fold(selector, |rest, root| {
        rest.strip_prefix(root).and_then(|rest| rest.strip_prefix([' ', '>'])).map_or(rest, str::trim_start)
    });
    let selector = selector.strip_prefix("> ").unwrap_or(selector).trim_start_matches('*');
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '#' | '\u{fffd}');
    if selector.is_empty() || selector.len() > 200 || !selector.chars().all(fits) {
        return None;
    }
    let begin = selector.find(['.', '#']).unwrap_or(selector.len());
    let (name, rest) = selector.split_at(begin);
    if let Some(id) = rest.strip_prefix('#') {
        return (!id.contains(['.', '#'])).then(|| selector.to_owned());
    }
    let mut classes: Vec<&str> = rest.split('.').skip(1).collect();
    classes.sort_unstable();
    let known = classes.len() <= 2 && !rest.contains('#') && classes.iter().all(|class| !class.is_empty());
    known.then(|| classes.iter().fold(name.to_owned(), |all, class| format!("{all}.{class}")))
}

/// Reads the sheets of a page, and nothing else.
#[derive(Default)]
struct SheetReader {
    sheet: Sheet,
    /// The sheet that is being read.
    text: Option<String>,
    /// The element whose sheets do not hold: `noscript`, `template`.
    inert: Option<LocalName>,
    /// How deep that stands in others of its name.
    depth: usize,
    in_picture: bool,
}

impl tokens::Reader for SheetReader {
    fn start(&mut self, name: LocalName, attributes: &[Attribute], _self_closing: bool) -> TokenSinkResult<()> {
        match &*name {
            "style" if self.inert.is_none() => {
                let media = attribute(attributes, "media").unwrap_or_default();
                self.text = css::shows(&css::plain(media)).then(String::new);
            }
            "svg" => self.in_picture = true,
            "noscript" | "template" if self.inert.as_ref().is_none_or(|inert| *inert == name) => {
                self.inert = Some(name.clone());
                self.depth += 1;
            }
            _ => {}
        }
        let around = self.in_picture.then_some("svg");
        raw(&name, around.into_iter()).unwrap_or(TokenSinkResult::Continue)
    }

    fn end(&mut self, name: &str) {
        match name {
            "style" => {
                if let Some(text) = self.text.take() {
                    self.sheet.read(&text);
                }
            }
            "svg" => self.in_picture = false,
            name if self.inert.as_ref().is_some_and(|inert| &**inert == name) => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.inert = None;
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(sheet) = &mut self.text {
            sheet.push_str(text);
        }
    }
}

/// Whether an element is not shown, by itself or by the page's sheets; and the colours in it. `around` are those of the
/// element around.
pub(super) fn hides(name: &str, attributes: &[Attribute], sheet: &Sheet, around: Paint) -> (bool, Paint) {
    let mut paint = around;
    if let Some(ground) = attribute(attributes, "bgcolor") {
        paint.lay(&css::plain(ground));
    }
    let mut hidden = is_hidden(attributes) || sheet.hides(name, attributes);
    if let Some(style) = attribute(attributes, "style") {
        let (by_style, painted) = block_hides(&css::plain(style), paint);
        hidden |= by_style;
        paint = painted;
    }
    (hidden, paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style_hides(style: &str) -> bool {
        block_hides(&css::plain(style), Paint::default()).0
    }

    #[test]
    fn x15_styles_that_hide() {
        for style in [
            "display: none",
            "color:red; DISPLAY : NONE !important",
            "visibility:hidden",
            "opacity: 0.0",
            "font-size:0",
            "font-size: 0.0em",
            "font-size:1px",
            "position:absolute; left:-9999px",
            "text-indent: -10000px",
            "position: fixed; top: -1000px",
            "color:#fff;background:#fff",
            "color: white",
            "color:#123456;background-color:#123456",
            "height:0; overflow:hidden",
            "clip: rect(0, 0, 0, 0)",
            "color:transparent",
        ] {
            assert!(style_hides(style), "{style}");
        }
        for style in [
            "",
            "color:red",
            "color:#fff;background:#000",
            "font-size:10px",
            "left:10px",
            "opacity:0.5",
            "height:0",
            "width:100%",
            "margin-top:2em",
        ] {
            assert!(!style_hides(style), "{style}");
        }
    }

    #[test]
    fn p13_styles_that_hide_in_disguise() {
        for style in [
            "color:rgba(0,0,0,0)",
            "color: rgb(0 0 0 / 0)",
            "color:#0000",
            "color:#12345600",
            "color:hsla(120, 50%, 50%, 0%)",
            "-webkit-text-fill-color: transparent",
            r"d\69splay:n\6f ne",
            "display:/* block */none",
            "/* x */ display/**/: none",
            "content:'display:block;';display:none",
            "font: 0/0 a",
            "font: bold 0px serif",
            "font-size:.05em",
            "font-size: 1e-3px",
            "opacity:0%",
            "opacity: 1e-9",
            "filter: opacity(0)",
            "transform: rotate(4deg) scale(0)",
            "transform: translateX(-9999px)",
            "transform:scale(0, 0)",
            "scale: 0",
            "left: calc(-9999px + 1em)",
            "left:-100vw",
            "right: 9999px",
            "inset: 0 0 0 -99em; position: fixed",
            "clip-path: inset(0 100% 0 0)",
            "clip-path: circle(0)",
            "height: 1px; width: 1px; overflow: clip",
            "max-height:0px;overflow-y:hidden",
            "text-indent: 100%; overflow: hidden",
            "background: url-less #ffffff no-repeat; color: rgb(255, 255, 255)",
            "color: #fefefe; background: white",
            "background: teal; color: teal",
            "background: fixed rgb(0 0 0) center; color: #000",
            "background: repeat #fff; color: #fff",
        ] {
            assert!(style_hides(style), "{style}");
        }
        for style in [
            "left: 600px; position: absolute; top: 9000px",
            "margin-left: -50vw; left: 50%",
            "margin-left: -100%",
            "background: linear-gradient(red, blue); -webkit-background-clip: text; color: transparent",
            "background: url(dark.png); color: white",
            "background: #000; color: rgb(255 255 255 / 90%)",
            "background: rgba(0,0,0,0); color: #333",
            "clip: rect(0, 200px, 100px, 0)",
            "clip-path: inset(10%)",
            "transform: translate(-50%, -100%)",
            "background: fixed rgb(0 0 0 / 80%) center; color: #fff",
            "font: 700 1em/1.5 serif",
            "transform: scale(1.5) translate(-50%, -50%)",
            "content: 'display:none;'",
            "overflow:hidden; height: 20px",
            "background-color: navy; color: teal",
        ] {
            assert!(!style_hides(style), "{style}");
        }
    }

    #[test]
    fn x15_sheets_that_hide() {
        let mut sheet = Sheet::default();
        sheet.read(
            "/* x */ .a, p.b { display:none } #c{visibility:hidden} @media print { .d {display:none} } .e{color:red}",
        );
        let has = |selector: &str| sheet.selectors.contains(selector);
        assert!(has(".a") && has("p.b") && has("#c") && !has(".d") && !has(".e"));
        sheet.read(&"{".repeat(100_000));
        sheet.read(&"}".repeat(100_000));
    }

    #[test]
    fn p13_sheets_that_hide_in_disguise() {
        let mut sheet = Sheet::default();
        sheet.read(
            r"@media print { .p1 {x:y} .p2 {display:none} } @media screen { .s {dis\70lay:none} }
            .h\69 dden-one { display: none } .two.one { display:none } body > .top { opacity: 0 } *.any{display:none}
            .nested { .inner {display:none} & {color: rgba(0,0,0,0)} } .button { color: #fff } .wrap .deep {display:none}
            a:hover { display: none } .on { color:#fff; background: #fff }",
        );
        let has = |selector: &str| sheet.selectors.contains(selector);
        for selector in [".s", ".hidden-one", ".one.two", ".top", ".any", ".nested", ".on"] {
            assert!(has(selector), "{selector} {sheet:?}");
        }
        for selector in [".p1", ".p2", ".inner", ".button", ".deep", "a", ".wrap"] {
            assert!(!has(selector), "{selector}");
        }
    }

    #[test]
    fn p13_hostile_sheets_take_linear_time() {
        for piece in
            ["{", "}", ".a{", ".a{display:none}", "/*", "\\", "'", "@media{", ".a.b.c,", "x:y;", "&{", "left:calc("]
        {
            crate::core::growth::grows_in_line(piece, 30_000, |size| {
                let text = piece.repeat(size / piece.len());
                Sheet::default().read(&text);
                style_hides(&text);
            });
        }
    }
}
