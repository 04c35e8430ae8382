//! The sheets that stand in a page, as a small cascade: which declarations hold for an element, and in which order.
//!
//! Selectors of one element are read: names, identifiers, classes, attributes, `:is()`, `:where()` and `:not()`. Others
//! are not, nor are outer sheets: what they say neither hides a text nor brings it to light.

use std::{cell::Cell, collections::HashMap};

use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};

use super::{
    css,
    element::{attribute, raw},
    hidden::is_read,
    tokens,
};

/// No selector is longer, in bytes, and none stands deeper in others.
const LONGEST: usize = 400;
const DEEPEST: usize = 4;
/// So many rules are held against the elements of a page, all in all.
const MOST_WORK: usize = 10_000_000;

/// What one element has to be.
#[derive(Debug, Default)]
struct Compound {
    name: Option<String>,
    ids: Vec<String>,
    classes: Vec<String>,
    /// Name, operator and value.
    attributes: Vec<(String, char, String)>,
    /// Of each of these, one.
    any: Vec<Vec<Compound>>,
    none: Vec<Compound>,
}

/// An element, in small letters and with the marks that selectors have.
struct Element<'a> {
    name: &'a str,
    id: String,
    classes: Vec<String>,
    attributes: &'a [Attribute],
}

impl Compound {
    /// Reads a selector of one element in plain form; gives with it how specific it is.
    fn of(text: &str, depth: usize) -> Option<(Self, u32)> {
        if text.is_empty() || text.len() > LONGEST || depth > DEEPEST {
            return None;
        }
        let mut found = Self::default();
        let mut weight = 0;
        let mut rest = text;
        while let Some(mark) = rest.chars().next() {
            let after = rest.get(mark.len_utf8()..)?;
            match mark {
                '*' => rest = after,
                '.' | '#' => {
                    let (name, left) = word(after)?;
                    let (list, more) =
                        if mark == '.' { (&mut found.classes, 1 << 8) } else { (&mut found.ids, 1 << 16) };
                    list.push(name.to_owned());
                    weight += more;
                    rest = left;
                }
                '[' => {
                    let (inside, left) = after.split_once(']')?;
                    found.attributes.push(asked(inside)?);
                    weight += 1 << 8;
                    rest = left;
                }
                ':' => {
                    let (name, left) = after.split_once('(').unwrap_or((after, ""));
                    if name == "root" {
                        // It is the element around all others.
                        found.name = Some("html".to_owned());
                        return Some((found, weight + (1 << 8)));
                    }
                    let end = css::closing(left)?;
                    let (inside, left) = (left.get(..end)?, left.get(end + 1..)?);
                    let all: Option<Vec<(Self, u32)>> =
                        parts(inside).map(|part| Self::of(part.trim(), depth + 1)).collect();
                    let (all, weights): (Vec<Self>, Vec<u32>) = all?.into_iter().unzip();
                    match name {
                        "is" | "where" | "matches" | "-webkit-any" | "-moz-any" => found.any.push(all),
                        "not" => found.none.extend(all),
                        _ => return None,
                    }
                    weight += if name == "where" { 0 } else { weights.into_iter().max().unwrap_or_default() };
                    rest = left;
                }
                _ => {
                    let (name, left) = word(rest).filter(|_| rest.len() == text.len())?;
                    found.name = Some(name.to_owned());
                    weight += 1;
                    rest = left;
                }
            }
        }
        Some((found, weight))
    }

    fn fits(&self, element: &Element<'_>) -> bool {
        self.name.as_ref().is_none_or(|name| name == element.name)
            && self.ids.iter().all(|id| *id == element.id)
            && self.classes.iter().all(|class| element.classes.contains(class))
            && self.attributes.iter().all(|asked| has(element.attributes, asked))
            && self.any.iter().all(|any| any.iter().any(|one| one.fits(element)))
            && !self.none.iter().any(|one| one.fits(element))
    }

    /// What rules are looked up by: the rarest that an element has to have.
    fn key(&self) -> String {
        let class = || self.classes.first().map(|class| format!(".{class}"));
        let id = self.ids.first().map(|id| format!("#{id}"));
        id.or_else(class).or_else(|| self.name.clone()).unwrap_or_default()
    }
}

/// A name at the beginning of a text, and what follows.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '\u{fffd}'))).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// What stands in brackets: `type=hidden`, `data-x`.
fn asked(inside: &str) -> Option<(String, char, String)> {
    let Some((name, value)) = inside.split_once('=') else {
        return Some((inside.trim().to_owned(), ' ', String::new()));
    };
    let kind = name.chars().next_back().filter(|c| "~|^$*".contains(*c));
    let value = value.trim();
    let value = value.strip_suffix(" i").or_else(|| value.strip_suffix(" s")).unwrap_or(value);
    let name = name.strip_suffix(|c| Some(c) == kind).unwrap_or(name).trim();
    (!name.is_empty()).then(|| (name.to_owned(), kind.unwrap_or('='), value.trim().to_owned()))
}

fn has(attributes: &[Attribute], (name, kind, value): &(String, char, String)) -> bool {
    let Some(held) = attribute(attributes, name) else { return false };
    let held: String = held.chars().map(css::letter).collect();
    let some = !value.is_empty();
    match kind {
        '=' => held == *value,
        '~' => {
            some && attribute(attributes, name)
                .unwrap_or_default()
                .split_whitespace()
                .any(|word| word.chars().map(css::letter).eq(value.chars()))
        }
        '|' => held == *value || held.strip_prefix(value.as_str()).is_some_and(|rest| rest.starts_with('-')),
        '^' => some && held.starts_with(value.as_str()),
        '$' => some && held.ends_with(value.as_str()),
        '*' => some && held.contains(value.as_str()),
        _ => true,
    }
}

/// The parts of a list, without those of lists within.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    list.split(move |c: char| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        c == ',' && depth <= 0
    })
}

/// A selector without what is around everything: the page itself.
fn inner(selector: &str) -> &str {
    let selector = ["html", "body", ":root"].iter().fold(selector, |rest, root| {
        rest.strip_prefix(root).and_then(|rest| rest.strip_prefix([' ', '>'])).map_or(rest, str::trim_start)
    });
    selector.strip_prefix("> ").unwrap_or(selector)
}

/// A declaration that holds for an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) important: bool,
}

/// The declarations of a block in plain form that say whether something is seen.
pub(super) fn declared(block: &str) -> impl Iterator<Item = Declaration> {
    css::declarations(block).filter(|(name, ..)| is_read(name)).map(|(name, value, important)| Declaration {
        name: name.to_owned(),
        value: value.to_owned(),
        important,
    })
}

#[derive(Debug)]
struct Rule {
    selector: Compound,
    weight: u32,
    block: Vec<Declaration>,
}

/// The rules of a page's sheets.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// Rules by what they are looked up by.
    places: HashMap<String, Vec<usize>>,
    /// What rules for the page itself say that others refer to, by name.
    page: HashMap<String, String>,
    /// Rules that were held against elements.
    work: Cell<usize>,
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
    pub(super) fn read(&mut self, text: &str) {
        let plain = css::plain(text);
        css::rules(&plain, |selectors, block| {
            let block: Vec<Declaration> = declared(block).collect();
            if block.is_empty() {
                return;
            }
            for selector in parts(selectors) {
                let Some((selector, weight)) = Compound::of(inner(selector.trim()), 0) else { continue };
                if matches!(selector.name.as_deref(), Some("html" | "body")) || selector.key().is_empty() {
                    let named = block.iter().filter(|one| one.name.starts_with("--"));
                    self.page.extend(named.map(|one| (one.name.clone(), one.value.clone())));
                }
                self.places.entry(selector.key()).or_default().push(self.rules.len());
                self.rules.push(Rule { selector, weight, block: block.clone() });
            }
        });
    }

    /// What rules for the page itself say that others refer to.
    pub(super) const fn page(&self) -> &HashMap<String, String> {
        &self.page
    }

    /// The declarations that hold for an element, weakest first; those that are important come last. `None` where a
    /// page has so many of both that it wants to take long: what it says there is not known.
    pub(super) fn declarations(&self, name: &str, attributes: &[Attribute]) -> Option<Vec<&Declaration>> {
        if self.rules.is_empty() {
            return Some(Vec::new());
        }
        let plain = |text: &str| -> String { text.chars().map(css::letter).collect() };
        let classes = attribute(attributes, "class").unwrap_or_default();
        let classes: Vec<String> = classes.split_whitespace().map(plain).collect();
        let id = plain(attribute(attributes, "id").unwrap_or_default().trim());
        let mut keys: Vec<String> = classes.iter().map(|class| format!(".{class}")).collect();
        keys.extend([String::new(), name.to_owned(), format!("#{id}")]);
        keys.sort_unstable();
        keys.dedup();
        let element = Element { name, id, classes, attributes };
        let mut found: Vec<(u32, usize, &Rule)> = Vec::new();
        for at in keys.iter().filter_map(|key| self.places.get(key)).flatten() {
            if self.work.replace(self.work.get().saturating_add(1)) > MOST_WORK {
                return None;
            }
            if let Some(rule) = self.rules.get(*at).filter(|rule| rule.selector.fits(&element)) {
                found.push((rule.weight, *at, rule));
            }
        }
        found.sort_unstable_by_key(|(weight, at, _)| (*weight, *at));
        let all = || found.iter().flat_map(|(.., rule)| &rule.block);
        let (mut all, last): (Vec<_>, Vec<_>) = all().partition(|one| !one.important);
        all.extend(last);
        Some(all)
    }
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
