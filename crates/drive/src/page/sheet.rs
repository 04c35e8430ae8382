//! The sheets of a page as a small cascade: the declarations that hold for an element, in order.
//!
//! Selectors of an element and of those around it are read: names, identifiers, classes, attributes, `:is()`,
//! `:where()` and `:not()`, with blanks and `>` between. Others are not, nor are outer sheets: they neither hide a text
//! nor bring it to light.

use std::{cell::Cell, collections::HashMap, rc::Rc};

use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};

use super::{
    css,
    element::{attribute, raw},
    hidden::is_read,
    tokens::{self, Syntax},
};

/// The longest selector that is read, in bytes, and the deepest nesting of selectors.
const LONGEST: usize = 400;
const DEEPEST: usize = 4;
/// Comparisons of rules with elements of a page, all in all.
const MOST_WORK: usize = 10_000_000;
/// Comparisons of rules with elements around; beyond that none match.
const MOST_STEPS: usize = 4_000_000;
/// Elements around that a selector may ask for.
const MOST_AROUND: usize = 8;

/// The conditions of a selector on one element.
#[derive(Debug, Default)]
struct CompoundSelector {
    name: Option<String>,
    ids: Vec<String>,
    classes: Vec<String>,
    /// Conditions on attributes: name, operator and value.
    attributes: Vec<(String, char, String)>,
    /// Alternatives, of each of which one has to match.
    any: Vec<Vec<CompoundSelector>>,
    none: Vec<CompoundSelector>,
}

/// An element, in small letters and with the attributes that selectors ask for, and its parent.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    id: String,
    classes: Vec<String>,
    attributes: Vec<Attribute>,
    parent: Option<Rc<Node>>,
}

/// A condition on the elements around.
#[derive(Debug)]
pub(super) struct Ancestor {
    /// The condition is on the parent itself.
    next: bool,
    one: CompoundSelector,
}

/// Parses a selector in plain form: the condition on the element, those on the elements around, the nearest first, and
/// the specificity.
fn selector(text: &str) -> Option<(CompoundSelector, Vec<Ancestor>, u32)> {
    let mut depth = 0_usize;
    let mut compounds: Vec<(&str, bool)> = Vec::new();
    let mut start = 0;
    let mut next = false;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ' ' | '>' if depth == 0 => {
                let compound = text.get(start..at)?;
                if !compound.is_empty() {
                    compounds.push((compound, std::mem::take(&mut next)));
                }
                next |= c == '>';
                start = at + 1;
            }
            '+' | '~' if depth == 0 => return None,
            _ => {}
        }
    }
    if next || depth > 0 || compounds.len() > MOST_AROUND {
        return None;
    }
    // Each says how it stands to the one before it, which is the one around.
    let (last, mut next) = compounds.pop()?;
    let (element, mut weight) = CompoundSelector::of(last, 0)?;
    let mut around = Vec::new();
    for (compound, its_next) in compounds.into_iter().rev() {
        let (one, more) = CompoundSelector::of(compound, 0)?;
        around.push(Ancestor { next: std::mem::replace(&mut next, its_next), one });
        weight += more;
    }
    (!next).then_some((element, around, weight))
}

impl CompoundSelector {
    /// Parses a selector of one element in plain form, with its specificity.
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
                    found.attributes.push(attribute_condition(inside)?);
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

    fn matches(&self, element: &Node) -> bool {
        self.name.as_ref().is_none_or(|name| *name == element.name)
            && self.ids.iter().all(|id| *id == element.id)
            && self.classes.iter().all(|class| element.classes.contains(class))
            && self.attributes.iter().all(|asked| has(&element.attributes, asked))
            && self.any.iter().all(|any| any.iter().any(|one| one.matches(element)))
            && !self.none.iter().any(|one| one.matches(element))
    }

    /// The key that rules are looked up by: the rarest that an element has to have.
    fn key(&self) -> String {
        let class = || self.classes.first().map(|class| format!(".{class}"));
        let id = self.ids.first().map(|id| format!("#{id}"));
        id.or_else(class).or_else(|| self.name.clone()).unwrap_or_default()
    }
}

/// A name at the beginning of a text, and the rest.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '\u{fffd}'))).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The condition on an attribute in brackets: `type=hidden`, `data-x`.
fn attribute_condition(inside: &str) -> Option<(String, char, String)> {
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

/// A selector without the page itself around everything.
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

/// The declarations of a block in plain form that can hide an element.
pub(super) fn hiding_declarations(block: &str) -> impl Iterator<Item = Declaration> {
    css::declarations(block).filter(|(name, ..)| is_read(name)).map(|(name, value, important)| Declaration {
        name: name.to_owned(),
        value: value.to_owned(),
        important,
    })
}

#[derive(Debug)]
struct Rule {
    selector: CompoundSelector,
    around: Vec<Ancestor>,
    weight: u32,
    block: Vec<Declaration>,
}

/// The rules of a page's sheets.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// Rules by the key that they are looked up by.
    places: HashMap<String, Vec<usize>>,
    /// Variables of the page itself, by name.
    page: HashMap<String, String>,
    /// Some rule has conditions on elements around.
    asks_around: bool,
    /// Comparisons of rules made so far, with elements and with elements around.
    work: Cell<usize>,
    steps: Cell<usize>,
}

impl Sheet {
    /// The sheets of a page, wherever they stand: one behind an element holds for it, too.
    pub(super) fn of(syntax: Syntax, html: &str) -> Self {
        let has_some = html.as_bytes().windows(6).any(|piece| piece.eq_ignore_ascii_case(b"<style"));
        if !has_some {
            return Self::default();
        }
        let mut reader = tokens::read(syntax, html, SheetReader::default());
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
            let block: Vec<Declaration> = hiding_declarations(block).collect();
            if block.is_empty() {
                return;
            }
            for selector in parts(selectors) {
                let Some((selector, around, weight)) = self::selector(inner(selector.trim())) else { continue };
                let is_page = matches!(selector.name.as_deref(), Some("html" | "body")) || selector.key().is_empty();
                if is_page && around.is_empty() {
                    let named = block.iter().filter(|one| one.name.starts_with("--"));
                    self.page.extend(named.map(|one| (one.name.clone(), one.value.clone())));
                }
                self.places.entry(selector.key()).or_default().push(self.rules.len());
                self.asks_around |= !around.is_empty();
                self.rules.push(Rule { selector, around, weight, block: block.clone() });
            }
        });
    }

    /// The variables of the page itself.
    pub(super) const fn page(&self) -> &HashMap<String, String> {
        &self.page
    }

    /// Returns whether any rule has conditions on elements around.
    pub(super) const fn asks_around(&self) -> bool {
        self.asks_around
    }

    /// An element as selectors know it; `None` where there are no rules.
    pub(super) fn node(&self, name: &str, attributes: &[Attribute], parent: Option<&Rc<Node>>) -> Option<Rc<Node>> {
        if self.rules.is_empty() {
            return None;
        }
        let plain = |text: &str| -> String { text.chars().map(css::letter).collect() };
        let classes = attribute(attributes, "class").unwrap_or_default();
        let classes: Vec<String> = classes.split_whitespace().map(plain).collect();
        let id = plain(attribute(attributes, "id").unwrap_or_default().trim());
        let attributes = attributes.to_vec();
        Some(Rc::new(Node { name: name.to_owned(), id, classes, attributes, parent: parent.cloned() }))
    }

    /// Returns whether the conditions on elements around match. As long as nothing has to be next to another, the
    /// nearest that matches is as good as any.
    fn ancestors_match(&self, around: &[Ancestor], node: &Node) -> bool {
        let Some((wanted, rest)) = around.split_first() else { return true };
        let decides = rest.iter().all(|wanted| !wanted.next);
        let mut at = node.parent.as_deref();
        while let Some(here) = at {
            if self.steps.replace(self.steps.get().saturating_add(1)) > MOST_STEPS {
                return false;
            }
            if wanted.one.matches(here) {
                let stands = self.ancestors_match(rest, here);
                if stands || decides {
                    return stands;
                }
            }
            if wanted.next {
                return false;
            }
            at = here.parent.as_deref();
        }
        false
    }

    /// The declarations that hold for an element, weakest first; those that are important come last. `None` where a
    /// page has so many of both that it wants to take long: its declarations are not known.
    pub(super) fn declarations(&self, element: &Node) -> Option<Vec<&Declaration>> {
        let mut keys: Vec<String> = element.classes.iter().map(|class| format!(".{class}")).collect();
        keys.extend([String::new(), element.name.clone(), format!("#{}", element.id)]);
        keys.sort_unstable();
        keys.dedup();
        let mut found: Vec<(u32, usize, &Rule)> = Vec::new();
        for at in keys.iter().filter_map(|key| self.places.get(key)).flatten() {
            if self.work.replace(self.work.get().saturating_add(1)) > MOST_WORK {
                return None;
            }
            let fits = |rule: &&Rule| rule.selector.matches(element) && self.ancestors_match(&rule.around, element);
            if let Some(rule) = self.rules.get(*at).filter(fits) {
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

/// A reader of a page's sheets alone.
#[derive(Default)]
struct SheetReader {
    sheet: Sheet,
    /// The sheet that is being read.
    text: Option<String>,
    /// The element whose sheets do not hold: `noscript`, `template`.
    inert: Option<LocalName>,
    /// The depth of that element in others of its name.
    depth: usize,
    in_picture: bool,
}

impl tokens::TokenHandler for SheetReader {
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
