//! Hidden text of a page: by attributes, by styles of an element, by the rules of the page's own sheets.
//!
//! Text that no reader sees is no evidence, and no word to a model. Of all that is declared for an element the last and
//! strongest of each property holds, as in browsers. Scripts and outer sheets are not read: they neither hide a text
//! nor bring it to light.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    rc::Rc,
};

use html5ever::Attribute;

use super::{
    css::{self, Length},
    element::{attribute, is_hidden},
    sheet::{Declaration, Node, Sheet, hiding_declarations},
};

/// The difference in each part up to which two colours look the same.
const SAME: u8 = 12;
/// References between values that are followed at most, and the length of a value with them, in bytes.
const MOST_STEPS: usize = 8;
const LONGEST: usize = 4_096;
/// Declarations of one element that are kept at most.
const MOST_HELD: usize = 256;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Color {
    /// Red, green, blue and opacity, each from 0 to 255.
    Parts([u8; 4]),
    /// A hash of a colour's name, for names that are only compared.
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

/// The background of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Background {
    /// No background that is known here.
    #[default]
    Unknown,
    Color(Color),
    /// A picture or a gradient.
    Picture,
}

/// The colours of a text and of its background, as far as elements say it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Paint {
    ink: Option<Color>,
    ground: Background,
}

impl Paint {
    /// Applies a declaration of a background.
    fn apply_background(&mut self, value: &str) {
        if value.contains("url(") || value.contains("gradient(") || value.contains("image") {
            self.ground = Background::Picture;
            return;
        }
        // `no-repeat #fff`: a color among other words, of which each could be a name. Only what covers something
        // counts.
        let function =
            ["rgb", "hsl"].iter().find_map(|name| value.get(value.find(name)?..)?.split_inclusive(')').next());
        let parts = |color: &Color| matches!(color, Color::Parts(_));
        let words = || value.split(' ').filter_map(Color::of);
        let found = function.and_then(Color::of).or_else(|| words().find(parts)).or_else(|| words().next());
        self.ground = found.filter(|color| !color.is_clear()).map_or(self.ground, Background::Color);
    }

    fn hides(self) -> bool {
        match (self.ink, self.ground) {
            (Some(ink), Background::Color(ground)) => ink.looks_like(ground),
            // Most pages are white.
            (Some(ink), Background::Unknown) => ink.looks_like(WHITE),
            _ => false,
        }
    }
}

/// Properties that are set to one length.
const LENGTHS: [&str; 21] = [
    "opacity",
    "zoom",
    "scale",
    "font-size",
    "left",
    "right",
    "bottom",
    "top",
    "inset",
    "translate",
    "text-indent",
    "margin",
    "margin-left",
    "margin-top",
    "height",
    "width",
    "max-height",
    "max-width",
    "block-size",
    "inline-size",
    "font",
];
/// Properties whose values are words, or functions.
const OTHERS: [&str; 17] = [
    "display",
    "visibility",
    "content-visibility",
    "transform",
    "-webkit-transform",
    "filter",
    "clip",
    "clip-path",
    "-webkit-clip-path",
    "overflow",
    "overflow-x",
    "overflow-y",
    "color",
    "-webkit-text-fill-color",
    "background-image",
    "background-clip",
    "-webkit-background-clip",
];

/// Returns whether a property is read here, or is one that others refer to.
pub(super) fn is_read(name: &str) -> bool {
    LENGTHS.contains(&name)
        || OTHERS.contains(&name)
        || matches!(name, "all" | "background" | "background-color")
        || name.starts_with("--")
}

/// Returns whether a browser takes a value, so that it replaces the one before. Words that are not known here are taken
/// for mistakes: they do not bring hidden text to light.
fn is_valid(name: &str, value: &str) -> bool {
    let word = value.split(['(', ' ']).next().unwrap_or_default();
    let wide = matches!(word, "initial" | "inherit" | "unset" | "revert" | "revert-layer" | "auto" | "none" | "normal");
    if wide || value.contains("var(") || name.starts_with("--") || name.starts_with("background") {
        return true;
    }
    match name {
        "all" => false,
        "display" => {
            ["block", "inline", "flex", "grid", "table", "contents", "list-item", "flow", "ruby", "run-in", "-"]
                .iter()
                .any(|kind| word.starts_with(kind))
        }
        "visibility" | "content-visibility" | "overflow" | "overflow-x" | "overflow-y" => {
            matches!(word, "visible" | "hidden" | "collapse" | "clip" | "scroll" | "overlay")
        }
        "color" | "-webkit-text-fill-color" => word == "currentcolor" || Color::of(value).is_some(),
        "-webkit-background-clip" => true,
        name if LENGTHS.contains(&name) => {
            css::lengths(value).next().is_some()
                || matches!(
                    word,
                    "min-content" | "max-content" | "fit-content" | "medium" | "large" | "larger" | "small" | "smaller"
                )
        }
        _ => [
            "translate",
            "scale",
            "rotate",
            "skew",
            "matrix",
            "perspective",
            "opacity",
            "blur",
            "drop-shadow",
            "rect",
            "inset",
            "circle",
            "ellipse",
            "polygon",
            "path",
            "xywh",
            "shape",
            "url",
        ]
        .iter()
        .any(|function| word.starts_with(function)),
    }
}

/// The style of an element: of each property the last valid declaration, in their order, and whether a sheet said so.
#[derive(Default)]
struct Style {
    held: Vec<(Declaration, bool)>,
}

impl Style {
    /// Adds a declaration that is stronger than those before.
    fn take(&mut self, declaration: Declaration, by_sheet: bool) {
        if !is_valid(&declaration.name, &declaration.value) || self.held.len() >= MOST_HELD {
            return;
        }
        if declaration.name == "all" {
            return self.held.retain(|(held, _)| held.name.starts_with("--"));
        }
        let is_part =
            |name: &str| name.strip_prefix(declaration.name.as_str()).is_some_and(|rest| rest.starts_with('-'));
        let within = |name: &str| declaration.name == "inset" && matches!(name, "left" | "right" | "top" | "bottom");
        // Of a font its size alone is read.
        let is_whole = |name: &str| declaration.name == "font-size" && name == "font";
        self.held.retain(|(held, _)| {
            held.name != declaration.name && !is_whole(&held.name) && !is_part(&held.name) && !within(&held.name)
        });
        self.held.push((declaration, by_sheet));
    }

    /// A value with its references replaced by the values of the element, or of the page.
    fn resolved<'a>(&self, value: &'a str, page: &HashMap<String, String>) -> Cow<'a, str> {
        let mut value = Cow::Borrowed(value);
        for _ in 0..MOST_STEPS {
            let Some((before, rest)) = value.split_once("var(") else { break };
            let Some(end) = css::closing(rest) else { break };
            let (inside, after) = rest.split_at(end);
            let (name, instead) = inside.split_once(',').unwrap_or((inside, ""));
            let own = self.held.iter().find(|(held, _)| held.name == name.trim()).map(|(held, _)| &held.value);
            let found = own.or_else(|| page.get(name.trim())).map_or(instead.trim(), String::as_str);
            if before.len() + found.len() + after.len() > LONGEST {
                break;
            }
            value = Cow::Owned(format!("{before}{found}{}", after.strip_prefix(')').unwrap_or(after)));
        }
        value
    }

    /// The visibility of the element. `paint` are the colours around.
    fn hides(&self, paint: Paint, page: &HashMap<String, String>) -> Visibility {
        let resolved: Vec<(&str, Cow<'_, str>, bool)> = self
            .held
            .iter()
            .map(|(held, by_sheet)| (held.name.as_str(), self.resolved(&held.value, page), *by_sheet))
            .collect();
        hides_by(resolved.iter().map(|(name, value, by_sheet)| (*name, value.as_ref(), *by_sheet)), paint)
    }
}

/// The visibility of an element.
struct Visibility {
    /// Neither the element nor its content is shown.
    not_shown: bool,
    /// The element is hidden as long as nothing in it says otherwise; `None` if its style says nothing about it.
    hidden_by_default: Option<bool>,
    paint: Paint,
}

/// The visibility of an element, from declarations of one property each. `paint` are the colours around.
fn hides_by<'a>(all: impl Iterator<Item = (&'a str, &'a str, bool)>, mut paint: Paint) -> Visibility {
    let mut veiled = None;
    let (mut hidden, mut aside, mut flat, mut cut, mut clear) = (false, false, false, false, false);
    let (mut painted, mut shown_through, mut indented, mut by_sheet) = (false, false, false, false);
    for (name, value, of_sheet) in all {
        let length = Length::of(value);
        let none = |least: f64| length.is_some_and(|length| length.number <= least);
        let pixels = length.map(Length::pixels);
        match name {
            "display" => hidden |= value == "none",
            "visibility" => {
                let inherits = matches!(value, "inherit" | "unset" | "revert" | "revert-layer");
                veiled = (!inherits).then_some(matches!(value, "hidden" | "collapse"));
            }
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
                aside |= css::lengths(value).take(if all { 4 } else { 1 }).any(|length| is_off_screen(name, length));
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
                    by_sheet = of_sheet;
                    paint.ink = Some(color).filter(|color| !color.is_clear()).or(paint.ink);
                }
            }
            "background" | "background-color" | "background-image" => {
                painted = true;
                paint.apply_background(value);
                shown_through |= value.contains("text");
            }
            // The letters are holes, through which a picture is seen.
            "background-clip" | "-webkit-background-clip" => shown_through |= value.contains("text"),
            _ => {}
        }
    }
    // White on something that another rule may say is seen.
    let assumed = by_sheet && paint.ground == Background::Unknown;
    let gone = hidden
        || aside
        || cut && (flat || indented)
        || clear && !shown_through
        || painted && !clear && !shown_through && !assumed && paint.hides();
    Visibility { not_shown: gone, hidden_by_default: veiled, paint }
}

fn is_too_small(size: Length<'_>) -> bool {
    match size.unit {
        "px" | "pt" | "" => size.number <= 1.0,
        "%" => size.number <= 10.0,
        _ => size.number <= 0.1,
    }
}

/// Returns whether a number is a weight, such as `700` of `bold 700 0/0 a`.
fn is_weight(length: Length<'_>) -> bool {
    length.unit.is_empty() && length.number >= 100.0
}

/// Returns whether a property puts an element outside of the screen.
fn is_off_screen(name: &str, length: Length<'_>) -> bool {
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
                aside |= numbers.take(2).any(|length| is_off_screen("translate", length));
            }
            _ => {}
        }
    }
    (hidden, aside)
}

/// Returns whether a clip hides all: `rect(top, right, bottom, left)` with nothing between.
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

/// The look of an element, and of its content unless that says otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    paint: Paint,
    /// The element is hidden, and its content may be seen.
    pub(super) veiled: bool,
    /// The element among those around it, where selectors ask for them.
    node: Option<Rc<Node>>,
}

/// Returns whether nothing of an element is shown, by itself or by the page's sheets; and its look. `around` is the
/// look of the element around.
pub(super) fn hides(name: &str, attributes: &[Attribute], sheet: &Sheet, around: &Look) -> (bool, Look) {
    let node = sheet.node(name, attributes, around.node.as_ref());
    let mut style = Style::default();
    let hints =
        [("bgcolor", "background-color", true), ("color", "color", name == "font"), ("text", "color", name == "body")];
    for (attribute_name, property, applies) in hints {
        if let Some(value) = attribute(attributes, attribute_name).filter(|_| applies) {
            let bare = value.len() == 6 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
            let value = css::plain(&if bare { format!("#{value}") } else { value.trim().to_owned() });
            style.take(Declaration { name: property.to_owned(), value, important: false }, false);
        }
    }
    let own = css::plain(attribute(attributes, "style").unwrap_or_default());
    let Some(said) = node.as_ref().map_or_else(|| Some(Vec::new()), |node| sheet.declarations(node)) else {
        return (true, around.clone());
    };
    for important in [false, true] {
        for one in said.iter().filter(|one| one.important == important) {
            style.take((*one).clone(), true);
        }
        for one in hiding_declarations(&own).filter(|one| one.important == important) {
            style.take(one, false);
        }
    }
    let Visibility { not_shown: gone, hidden_by_default: veiled, paint } = style.hides(around.paint, sheet.page());
    // Sheets hide a whole page until a script has come, which is not run here.
    let by_sheet_alone = matches!(name, "html" | "body") && !own_hides(&own, around.paint);
    let veiled = veiled.filter(|_| !by_sheet_alone).unwrap_or(around.veiled);
    let node = node.filter(|_| sheet.asks_around());
    (is_hidden(attributes) || gone && !by_sheet_alone, Look { paint, veiled, node })
}

/// Returns whether the declarations of a style attribute in plain form hide their element.
fn own_hides(block: &str, around: Paint) -> bool {
    let mut style = Style::default();
    let (last, first): (Vec<_>, Vec<_>) = hiding_declarations(block).partition(|one| one.important);
    first.into_iter().chain(last).for_each(|one| style.take(one, false));
    let seen = style.hides(around, &HashMap::new());
    seen.not_shown || seen.hidden_by_default == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style_hides(style: &str) -> bool {
        own_hides(&css::plain(style), Paint::default())
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
    fn p13_hostile_sheets_take_linear_time() {
        for piece in [
            "{",
            "}",
            ".a{",
            ".a{display:none}",
            "/*",
            "\\",
            "'",
            "@media{",
            ".a.b.c,",
            "x:y;",
            "&{",
            "left:calc(",
            ":is(",
            "[a=",
            "a:not(.b),",
            "--a:b;",
            "x:var(--",
            ":root{--a:b}",
        ] {
            loopwright_testing::growth::grows_in_line(piece, 30_000, |size| {
                let text = piece.repeat(size / piece.len());
                Sheet::default().read(&text);
                style_hides(&text);
            });
        }
    }
}
