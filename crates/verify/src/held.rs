//! What a source says statement by statement, each with what stands above it: headings, the columns of its table, the
//! line that leads to its list.

use std::collections::{HashMap, HashSet};

use super::{
    lexicon::alike,
    quantity::{Around, Quantity, implicit, quantities},
};
use loopwright_lexicon::{
    lines::Format,
    meanings::Terms,
    sentences::{Kind, Sentence, leans, sentences},
    words,
};

/// Statements that hold a word or a number beyond these are not told apart by it.
const MOST: usize = 512;
/// An item with more words is a sentence.
const MOST_OF_ITEM: usize = 8;

/// A statement of a source.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// The words that it holds itself.
    pub own: Terms,
    /// They and those above it.
    pub around: Around,
    /// The numbers in it, with what they count.
    pub quantities: Vec<Quantity>,
    /// As it is written.
    pub said: String,
    /// The table that it is a row of.
    pub table: Option<usize>,
    /// The list that it is an item of, one that says something of what it names: `Ann: search`.
    pub item: Option<usize>,
    /// As it is compared to the letter.
    pub plain: String,
    /// What stands above it.
    pub(super) above: String,
    /// Its first line and its last.
    lines: (usize, usize),
}

/// The statements of a text.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// In their order.
    pub all: Vec<Statement>,
    by_term: HashMap<String, Vec<usize>>,
    /// The statements with quantities, by the values of these.
    by_value: HashMap<String, Vec<usize>>,
}

impl Held {
    /// Reads a text that stands under `heading` and begins with the line of that number.
    pub(super) fn read(text: &str, heading: &str, format: Format, line: usize) -> Self {
        let mut held = Self::default();
        let mut seen: HashSet<String> = HashSet::new();
        let (mut title, mut term, mut columns, mut lead, mut before) =
            (String::new(), String::new(), String::new(), String::new(), String::new());
        let (mut block, mut lists) = (usize::MAX, 0);
        for unit in units(text, sentences(text, format)) {
            let said = text.get(unit.bytes.clone()).unwrap_or_default();
            let is_row = matches!(unit.kind, Kind::Row | Kind::Columns);
            if !is_row {
                columns.clear();
            }
            lists += usize::from(!is_item(text, unit.bytes.start));
            if unit.kind == Kind::Heading {
                said.clone_into(&mut title);
                (lead, before, term) = (String::new(), String::new(), String::new());
            }
            let mut above = format!("{heading}\n{title}\n{term}\n{lead}\n{columns}");
            if unit.kind == Kind::Term {
                said.clone_into(&mut term);
            }
            if leans(said) && unit.block == block {
                above.push('\n');
                above.push_str(&before);
            }
            if unit.kind == Kind::Columns || (is_row && columns.is_empty()) {
                said.clone_into(&mut columns);
            }
            if said.trim_end().ends_with(':') {
                said.clone_into(&mut lead);
            } else if unit.block != block && unit.kind == Kind::Prose && !is_item(text, unit.bytes.start) {
                lead.clear();
            }
            said.clone_into(&mut before);
            block = unit.block;
            if seen.insert(format!("{said}\n{above}")) {
                held.add(said, &above, (line + unit.line - 1, line + unit.end_line - 1));
                if let Some(last) = held.all.last_mut().filter(|_| unit.kind == Kind::Row) {
                    last.table = Some(unit.block);
                }
                let named = [": ", " – ", " — ", " - "].iter().any(|joint| said.contains(joint));
                if let Some(last) = held.all.last_mut().filter(|one| named && one.own.len() <= MOST_OF_ITEM)
                    && is_item(text, unit.bytes.start)
                {
                    last.item = Some(lists);
                }
            }
        }
        if !heading.is_empty() {
            held.add(heading, "", (0, usize::MAX));
        }
        held
    }

    /// The statements that stand on some of the lines.
    pub(super) fn of_lines(&self, from: usize, to: usize) -> Self {
        let mut held = Self::default();
        for one in self.all.iter().filter(|one| one.lines.0 <= to && one.lines.1 >= from) {
            held.put(one.clone());
        }
        held
    }

    /// Adds a statement that stands under what `above` says.
    pub(super) fn add(&mut self, said: &str, above: &str, lines: (usize, usize)) {
        let mut around = Around::default();
        around.add(said);
        let own = around.terms.clone();
        around.add(above);
        let mut quantities = quantities(said);
        quantities.extend(implicit(said, true));
        self.put(Statement {
            own,
            around,
            quantities,
            said: said.to_owned(),
            table: None,
            item: None,
            plain: super::form::plain(said),
            above: above.to_owned(),
            lines,
        });
    }

    fn put(&mut self, one: Statement) {
        let at = self.all.len();
        for term in one.own.iter() {
            let holders = self.by_term.entry(term.clone()).or_default();
            if holders.len() < MOST {
                holders.push(at);
            }
        }
        for value in one.quantities.iter().flat_map(Quantity::keys) {
            let holders = self.by_value.entry(value).or_default();
            if holders.len() < MOST && holders.last() != Some(&at) {
                holders.push(at);
            }
        }
        self.all.push(one);
    }

    /// The statements that hold a word.
    pub fn holding(&self, term: &str) -> &[usize] {
        self.by_term.get(term).map(Vec::as_slice).unwrap_or_default()
    }

    /// The statements in which a quantity of a claim stands.
    pub fn with<'a>(&'a self, claimed: &'a Quantity) -> impl Iterator<Item = usize> + 'a {
        let keys: HashSet<String> = claimed.keys().collect();
        let near: std::collections::BTreeSet<usize> =
            keys.iter().filter_map(|key| self.by_value.get(key)).flatten().copied().collect();
        near.into_iter().filter(move |at| {
            self.all.get(*at).is_some_and(|one| {
                let alike = |word: &str| alike(word, &one.around.terms);
                one.quantities.iter().any(|said| claimed.is(said, &one.around, alike))
            })
        })
    }
}

/// Lines of a text that is broken at a width are so much of the longest.
const WRAPPED: f64 = 0.8;

/// Whether the lines of a text are broken where they are full: nearly all that go on are about as long.
fn is_wrapped(text: &str) -> bool {
    let lines: Vec<usize> = text.lines().map(|line| line.trim().chars().count()).collect();
    let most = lines.iter().copied().max().unwrap_or(0) as f64;
    let goes_on = || lines.windows(2).filter(|pair| pair.iter().all(|length| *length > 0)).map(|pair| pair[0]);
    let full = goes_on().filter(|length| *length as f64 >= WRAPPED * most).count();
    2 * full > goes_on().count()
}

/// The units of a text; what begins a new line though nothing on the last one leads to it is one of its own, but where
/// the text is wrapped.
pub fn units(text: &str, all: Vec<Sentence>) -> Vec<Sentence> {
    if is_wrapped(text) { all } else { all.into_iter().flat_map(|unit| by_lines(text, unit)).collect() }
}

fn by_lines(text: &str, unit: Sentence) -> Vec<Sentence> {
    let said = text.get(unit.bytes.clone()).unwrap_or_default();
    if unit.kind != Kind::Prose || !said.contains('\n') {
        return vec![unit];
    }
    let mut all = vec![Sentence { bytes: unit.bytes.start..unit.bytes.start, end_line: unit.line, ..unit.clone() }];
    let (mut at, mut before, mut number) = (unit.bytes.start, "", unit.line);
    for line in said.split_inclusive('\n') {
        let bare = line.trim_start();
        let first = bare.trim_start_matches(|c: char| !c.is_alphanumeric()).chars().next();
        let leads = before.rsplit(' ').next().is_some_and(|last| last.ends_with(',') || words::is_stop_word(last));
        if !before.is_empty() && first.is_some_and(|first| !first.is_lowercase()) && !leads {
            all.push(Sentence { bytes: at + line.len() - bare.len()..at, line: number, ..unit.clone() });
        }
        at += line.len();
        if let Some(last) = all.last_mut() {
            (last.bytes.end, last.end_line) = (at, number);
        }
        (before, number) = (line.trim(), number + 1);
    }
    all
}

/// Whether what begins at a place is an item of a list.
fn is_item(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    before.get(line..).is_some_and(|mark| !mark.trim().is_empty())
}

/// The words of a text, each once, in order.
pub fn terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    words::terms(text).into_iter().filter(|term| seen.insert(term.clone())).collect()
}
