//! What a page's styles hide: text that no reader sees is no evidence.
//!
//! Styles of an element and simple rules of the page's own sheets (`.note { display: none }`) are read; scripts, outer
//! sheets and selectors of several parts are not.

use std::collections::HashSet;

use html5ever::Attribute;

use super::element::attribute;

/// Bytes of styles that are read.
const MOST: usize = 200_000;
/// Selectors that are kept.
const MOST_SELECTORS: usize = 2_000;

/// Whether an element of this style is not shown.
pub(super) fn style_hides(style: &str) -> bool {
    let plain: String =
        style.chars().take(2_000).filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
    let (mut color, mut ground, mut aside, mut clipped, mut flat) = ("", "", false, false, false);
    for rule in plain.split(';') {
        let Some((name, value)) = rule.split_once(':') else { continue };
        let value = value.strip_suffix("!important").unwrap_or(value);
        let zero = || amount(value).is_some_and(|amount| amount == 0.0);
        match name {
            "display" if value == "none" => return true,
            "visibility" if matches!(value, "hidden" | "collapse") => return true,
            "content-visibility" if value == "hidden" => return true,
            "opacity" if amount(value).is_some_and(|amount| amount <= 0.05) => return true,
            "font-size"
                if amount(value).is_some_and(|amount| amount == 0.0 || (amount <= 1.0 && value.ends_with("px"))) =>
            {
                return true;
            }
            "font" if value.starts_with("0/") || value.starts_with("0px") => return true,
            "text-indent" | "left" | "top" | "right" | "bottom" | "margin-left" | "margin-top" => {
                aside |= amount(value).is_some_and(|amount| amount.abs() >= 500.0 && (name != "top" || amount < 0.0));
            }
            "transform" if matches!(value, "scale(0)" | "scale(0,0)") => return true,
            "clip" => clipped |= value.starts_with("rect(0") || value.starts_with("rect(1px,1px"),
            "clip-path" => clipped |= value.starts_with("inset(50%") || value.starts_with("inset(100%"),
            "height" | "width" | "max-height" | "max-width" => flat |= zero(),
            "overflow" | "overflow-x" | "overflow-y" => clipped |= false,
            "color" => color = value,
            "background" | "background-color" => ground = value,
            _ => {}
        }
    }
    let same = !color.is_empty() && (color == ground || (is_white(color) && (ground.is_empty() || is_white(ground))));
    aside || clipped || (flat && plain.contains("overflow:hidden")) || same || color == "transparent"
}

fn amount(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

fn is_white(color: &str) -> bool {
    matches!(
        color,
        "white"
            | "#fff"
            | "#ffffff"
            | "#fefefe"
            | "#ffff"
            | "#ffffffff"
            | "rgb(255,255,255)"
            | "rgba(255,255,255,1)"
            | "snow"
    )
}

/// Which names, classes and identifiers a page's sheets hide.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    selectors: HashSet<String>,
    read: usize,
}

impl Sheet {
    /// Reads the text of a style element.
    pub(super) fn read(&mut self, text: &str) {
        self.read = self.read.saturating_add(text.len());
        if self.read > MOST {
            return;
        }
        for rule in text.split('}') {
            let Some((selectors, style)) = rule.rsplit_once('{') else { continue };
            // What holds for print or small screens only does not hide.
            if selectors.contains('@') || rule.matches('{').count() > 1 || !style_hides(style) {
                continue;
            }
            let bare = selectors.rsplit("*/").next().unwrap_or(selectors);
            for selector in bare.split(',').map(str::trim) {
                let simple = !selector.is_empty()
                    && selector.len() <= 80
                    && selector.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '#' | '-' | '_'));
                if simple && self.selectors.len() < MOST_SELECTORS {
                    self.selectors.insert(selector.to_owned());
                }
            }
        }
    }

    /// Whether an element is hidden by them.
    pub(super) fn hides(&self, name: &str, attributes: &[Attribute]) -> bool {
        if self.selectors.is_empty() {
            return false;
        }
        let has = |selector: String| self.selectors.contains(&selector);
        let id = attribute(attributes, "id").is_some_and(|id| has(format!("#{id}")) || has(format!("{name}#{id}")));
        let class = attribute(attributes, "class").unwrap_or_default();
        let mut classes = class.split_ascii_whitespace().take(64);
        id || self.selectors.contains(name)
            || classes.any(|class| has(format!(".{class}")) || has(format!("{name}.{class}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn x15_sheets_that_hide() {
        let mut sheet = Sheet::default();
        sheet.read(
            "/* x */ .a, p.b { display:none } #c{visibility:hidden} @media print { .d { display:none } } .e{color:red}",
        );
        let has = |selector: &str| sheet.selectors.contains(selector);
        assert!(has(".a") && has("p.b") && has("#c") && !has(".d") && !has(".e"));
        sheet.read(&"{".repeat(100_000));
        sheet.read(&"}".repeat(100_000));
    }
}
