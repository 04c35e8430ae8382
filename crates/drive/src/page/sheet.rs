//! The sheets that stand in a page, as a small cascade: which declarations hold for an element, and in which order.
//!
//! Selectors of an element and of those around it are read: names, identifiers, classes, attributes, `:is()`, `:where()`
//! and `:not()`, with blanks and `>` between. Others are not, nor are outer sheets: what they say neither hides a text
//! nor brings it to light.

use std::{cell::Cell, collections::HashMap, rc::Rc};

use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};

use super::{
    css,
    element::{attribute, raw},
    hidden::is_read,
    tokens::{self, Syntax},
};

/// No selector is longer, in bytes, and none stands deeper in others.
const LONGEST: usize = 400;
const DEEPEST: usize = 4;
/// So many rules are held against the elements of a page, all in all.
const MOST_WORK: usize = 10_000_000;
/// So often they are held against elements around; what goes beyond that fits none.
const MOST_STEPS: usize = 4_000_000;
/// No selector asks for more elements.
const MOST_AROUND: usize = 8;

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

/// An element, in small letters and with the marks that selectors have, and the one around it.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    id: String,
    classes: Vec<String>,
    attributes: Vec<Attribute>,
    parent: Option<Rc<Node>>,
}

/// What has to be around an element.
#[derive(Debug)]
pub(super) struct Around {
    /// It is the next one.
    next: bool,
    one: Compound,
}

/// Reads a selector in plain form: what the element has to be, what has to be around it, the nearest first, and how
/// specific that is.
fn selector(text: &str) -> Option<(Compound, Vec<Around>, u32)> {
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
    let (element, mut weight) = Compound::of(last, 0)?;
    let mut around = Vec::new();
    for (compound, its_next) in compounds.into_iter().rev() {
        let (one, more) = Compound::of(compound, 0)?;
        around.push(Around { next: std::mem::replace(&mut next, its_next), one });
        weight += more;
    }
    (!next).then_some((element, around, weight))
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

    fn fits(&self, element: &Node) -> bool {
        self.name.as_ref().is_none_or(|name| *name == element.name)
            && self.ids.iter().all(|id| *id == element.id)
            && self.classes.iter().all(|class| element.classes.contains(class))
            && self.attributes.iter().all(|asked| has(&element.attributes, asked))
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
    around: Vec<Around>,
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
    /// Whether any rule asks for elements around.
    asks_around: bool,
    /// Rules that were held against elements, and against elements around.
    work: Cell<usize>,
    steps: Cell<usize>,
}

impl Sheet {
    /// The sheets that stand in a page, wherever: what stands behind an element holds for it, too.
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
            let block: Vec<Declaration> = declared(block).collect();
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

    /// What rules for the page itself say that others refer to.
    pub(super) const fn page(&self) -> &HashMap<String, String> {
        &self.page
    }

    /// Whether any rule asks for elements around.
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

    /// Whether what a rule wants is around an element. As long as nothing has to be next to another, the nearest that
    /// fits is as good as any.
    fn stands_in(&self, around: &[Around], node: &Node) -> bool {
        let Some((wanted, rest)) = around.split_first() else { return true };
        let decides = rest.iter().all(|wanted| !wanted.next);
        let mut at = node.parent.as_deref();
        while let Some(here) = at {
            if self.steps.replace(self.steps.get().saturating_add(1)) > MOST_STEPS {
                return false;
            }
            if wanted.one.fits(here) {
                let stands = self.stands_in(rest, here);
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
    /// page has so many of both that it wants to take long: what it says there is not known.
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
            let fits = |rule: &&Rule| rule.selector.fits(element) && self.stands_in(&rule.around, element);
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
