//! The rules that an answer must pass, as one pure function.
//!
//! Only errors fail an answer; warnings are told. What can be checked without a model is checked: that there is an
//! answer, that what it cites exists, that numbers and names stand in what is cited, that it keeps to the format.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::{self, Write as _},
    ops::Range,
};

use serde::Serialize;

use super::{
    citation::{self, Brackets, Place},
    config::{Lengths, Profile},
    facts::{self, Facts},
};
use crate::core::{
    machine::command::shorten,
    retrieve::{
        chunks::Format,
        sentences::{Kind, Sentence, sentences},
        sources::Source,
        words,
    },
};

/// Issues of one kind beyond this many are only counted.
const MOST_OF_A_KIND: usize = 8;
/// Brackets beyond this many are not looked up in the texts of the sources.
const MOST_LOOKUPS: usize = 64;

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The answer fails.
    Error,
    /// The answer passes; the caller is told.
    Warning,
}

/// Something that is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name.
    pub code: &'static str,
    /// What is wrong, on one line.
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// What an answer is held against.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The question.
    pub question: &'a str,
    /// The sources of the prompt, by number.
    pub sources: &'a [Source],
    /// Results of tools; they have names, no numbers.
    pub tools: &'a [Source],
    /// Whether the provider ran tools whose results only the model saw: then what is not found may still be so.
    pub unseen: bool,
}

/// What verification gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// What is wrong, errors first.
    pub issues: Vec<Issue>,
    /// Whether the whole answer says that the sources do not hold it.
    pub abstains: bool,
    /// What the answer cites, each with the lines that it names.
    pub cited: Vec<Source>,
}

impl Verification {
    /// Whether the answer passes: there may be warnings, no errors.
    pub fn passed(&self) -> bool {
        self.errors() == 0
    }

    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.issues.iter().filter(|issue| issue.severity == Severity::Error).count()
    }

    /// What the model is told: one line.
    pub fn feedback(&self) -> String {
        let issues: Vec<String> = self.issues.iter().map(Issue::to_string).collect();
        format!("Please fix: {}", issues.join("; "))
    }
}

/// Holds `answer` against the evidence.
pub fn verify(answer: &str, evidence: &Evidence<'_>, profile: Profile, lengths: &Lengths) -> Verification {
    let mut reader = Reader::new(answer, evidence);
    reader.read_citations();
    if !reader.masked.chars().any(char::is_alphanumeric) {
        reader.error("EMPTY", "the answer holds no words");
        return reader.finish(false);
    }
    let units = sentences(&reader.masked, Format::Markdown);
    let abstains = reader.claims(&units);
    if !abstains {
        reader.whole_answer(lengths);
    }
    if profile == Profile::Slack {
        reader.slack();
    }
    reader.finish(abstains)
}

/// A citation whose places are known.
struct Resolved {
    at: usize,
    sources: BTreeSet<usize>,
}

struct Reader<'a> {
    answer: &'a str,
    /// The answer with spaces in the place of citations and lists of sources.
    masked: String,
    evidence: &'a Evidence<'a>,
    brackets: Brackets,
    resolved: Vec<Resolved>,
    facts: HashMap<usize, Facts>,
    issues: Vec<Issue>,
    counts: HashMap<&'static str, usize>,
    cited: Vec<Source>,
    unknown: bool,
}

impl<'a> Reader<'a> {
    fn new(answer: &'a str, evidence: &'a Evidence<'a>) -> Self {
        Self {
            answer,
            masked: answer.to_owned(),
            evidence,
            brackets: Brackets::default(),
            resolved: Vec::new(),
            facts: HashMap::new(),
            issues: Vec::new(),
            counts: HashMap::new(),
            cited: Vec::new(),
            unknown: false,
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Source> + use<'a> {
        self.evidence.sources.iter().chain(self.evidence.tools)
    }

    fn source(&self, at: usize) -> Option<&'a Source> {
        let numbered = self.evidence.sources.len();
        self.evidence.sources.get(at).or_else(|| self.evidence.tools.get(at.checked_sub(numbered)?))
    }

    fn issue(&mut self, severity: Severity, code: &'static str, message: &str) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= MOST_OF_A_KIND {
            // One line, whatever the answer holds: feedback ends at a line's end.
            let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
            self.issues.push(Issue { severity, code, message });
        }
    }

    fn error(&mut self, code: &'static str, message: &str) {
        self.issue(Severity::Error, code, message);
    }

    fn warning(&mut self, code: &'static str, message: &str) {
        self.issue(Severity::Warning, code, message);
    }

    fn finish(mut self, abstains: bool) -> Verification {
        for (code, count) in self.counts {
            if let Some(more) = count.checked_sub(MOST_OF_A_KIND).filter(|more| *more > 0)
                && let Some(last) = self.issues.iter_mut().rfind(|issue| issue.code == code)
            {
                // Writing to a string does not fail.
                let _ = write!(last.message, " (and {more} more)");
            }
        }
        self.issues.sort_by_key(|issue| issue.severity);
        Verification { issues: self.issues, abstains, cited: self.cited }
    }

    fn read_citations(&mut self) {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, source) in self.all().enumerate() {
            // The name as the prompt shows it.
            let shown = source.citation(0);
            let shown = shown.strip_suffix(":0").unwrap_or(&shown).to_owned();
            by_name.entry(shown).or_default().push(at);
        }
        self.brackets = citation::citations(self.answer, |name| by_name.contains_key(name));
        let citations = std::mem::take(&mut self.brackets.citations);
        let mut masks = Vec::new();
        let mut lookups = 0;
        let mut named = HashSet::new();
        for one in &citations {
            let mut sources = BTreeSet::new();
            let mut cited = Vec::new();
            let known = one.places.iter().all(|place| self.resolve(place, &by_name, &mut sources, &mut cited));
            let text = self.answer.get(one.bytes.clone()).unwrap_or_default();
            if !known && (one.doubtful || self.is_quoted(text, &mut lookups)) {
                continue;
            }
            masks.push(one.bytes.clone());
            if !known {
                self.unknown = true;
                if named.insert(text) {
                    let message = format!("{} is none of the sources", shorten(text, 120));
                    self.error("CITATION_UNKNOWN", &message);
                }
            }
            for source in cited {
                if !self.cited.contains(&source) {
                    self.cited.push(source);
                }
            }
            self.resolved.push(Resolved { at: one.bytes.start, sources });
        }
        self.brackets.citations = citations;
        self.mask_all(masks);
        self.mask_names(&by_name);
    }

    /// One copy for all masks: an answer may hold very many citations.
    fn mask_all(&mut self, masks: Vec<Range<usize>>) {
        let mut masked = String::with_capacity(self.masked.len());
        let mut at = 0;
        for range in masks {
            let (Some(before), true) = (self.masked.get(at..range.start), range.start >= at) else { continue };
            masked.push_str(before);
            let line = masked.rfind('\n').map_or(0, |at| at + 1);
            // An indent would make code of the line.
            let first = masked.get(line..).is_some_and(|line| line.trim().is_empty()) && !range.is_empty();
            masked.push_str(if first { "," } else { "" });
            masked.extend(std::iter::repeat_n(' ', range.len() - usize::from(first)));
            at = range.end;
        }
        masked.push_str(self.masked.get(at..).unwrap_or_default());
        self.masked = masked;
    }

    /// Whether the brackets stand in a source: then they are part of a quote.
    fn is_quoted(&self, text: &str, lookups: &mut usize) -> bool {
        *lookups += 1;
        *lookups <= MOST_LOOKUPS && self.all().any(|source| source.text.contains(text))
    }

    fn resolve(
        &self,
        place: &Place,
        by_name: &HashMap<String, Vec<usize>>,
        sources: &mut BTreeSet<usize>,
        cited: &mut Vec<Source>,
    ) -> bool {
        let of_name = |name: &str| by_name.get(name).into_iter().flatten().copied();
        let mut take = |at: usize, source: Source| {
            sources.insert(at);
            cited.push(source);
        };
        match place {
            Place::Number(number) => {
                let Some(source) = self.evidence.sources.get(number - 1) else { return false };
                take(number - 1, source.clone());
                true
            }
            Place::Whole(name) => {
                let mut found = false;
                for at in of_name(name) {
                    if let Some(source) = self.source(at) {
                        take(at, source.clone());
                        found = true;
                    }
                }
                found
            }
            Place::Lines { reference, from, to } => {
                let holds = |line: usize| {
                    of_name(reference)
                        .any(|at| self.source(at).is_some_and(|one| (one.line..=one.end_line).contains(&line)))
                };
                if !holds(*from) || !holds(*to) {
                    return false;
                }
                for at in of_name(reference) {
                    if let Some(source) = self.source(at)
                        && let Some(lines) = slice(source, *from, *to)
                    {
                        take(at, lines);
                    }
                }
                true
            }
        }
    }

    /// Places that are named without brackets, and lists of sources at the end: no claims.
    fn mask_names(&mut self, by_name: &HashMap<String, Vec<usize>>) {
        let mut masks = Vec::new();
        for name in by_name.keys().filter(|name| name.contains(['.', '/', '#'])) {
            for (at, _) in self.masked.match_indices(name.as_str()) {
                let rest = self.masked.get(at + name.len()..).unwrap_or_default();
                let lines = rest.strip_prefix(':').map_or(0, |rest| {
                    let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
                    if length > 0 { length + 1 } else { 0 }
                });
                masks.push(at..at + name.len() + lines);
            }
        }
        let (mut start, mut listing) = (0, false);
        for line in self.masked.split_inclusive('\n') {
            let bare = line.trim().trim_start_matches(['#', '*', '_', ' ']).trim_end_matches(['*', '_']);
            let head = bare.split_once(':').map_or(bare, |(head, _)| head).trim_end_matches(['*', '_', ' ']);
            if head.eq_ignore_ascii_case("sources") || head.eq_ignore_ascii_case("source") {
                masks.push(start..start + line.trim_end_matches('\n').len());
                listing = true;
            } else if listing
                && line.trim_start().starts_with(['-', '*', '•', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            {
                masks.push(start..start + line.trim_end_matches('\n').len());
            } else if !line.trim().is_empty() {
                listing = false;
            }
            start += line.len();
        }
        masks.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        self.mask_all(masks);
    }

    /// Checks every sentence; true if all of them say that something was not found.
    fn claims(&mut self, units: &[Sentence]) -> bool {
        let of_unit = self.citations_of(units);
        let question = Facts::of_text(self.evidence.question);
        let union = self.union();
        let mut abstains = true;
        for (unit, own) in units.iter().zip(of_unit) {
            let text = self.masked.get(unit.bytes.clone()).unwrap_or_default().to_owned();
            if is_abstention(&text) {
                // What was not found has no source, but numbers have no business there.
                let strange = facts::numbers(&text)
                    .into_iter()
                    .find(|number| !question.numbers.contains(number) && !union.numbers.contains(number));
                // "in 12 sources" counts what was searched.
                if let Some(number) = strange.filter(|number| *number != self.evidence.sources.len().to_string()) {
                    self.unsupported(&text, &format!("no source holds the number {number}"));
                }
                continue;
            }
            if !text.chars().any(char::is_alphanumeric) {
                continue;
            }
            abstains = false;
            if matches!(unit.kind, Kind::Prose | Kind::Row) {
                self.claim(&text, unit.kind, own.as_ref(), &question, &union);
            }
        }
        if abstains {
            return !self.unknown;
        }
        if self.cited.is_empty() && !self.unknown {
            if !self.evidence.sources.is_empty() {
                let message = "no source is cited; name the source of each statement as [path:line] or [n]";
                let severity = if self.evidence.unseen { Severity::Warning } else { Severity::Error };
                self.issue(severity, "UNCITED", message);
            } else if self.evidence.tools.is_empty() && !self.evidence.unseen {
                self.warning("NO_SOURCES", "nothing was found that the answer could rest on");
            }
        }
        false
    }

    /// For each unit the sources it cites; `None` if it cites none. A unit without citations of its own leans on the
    /// next ones of its paragraph.
    fn citations_of(&self, units: &[Sentence]) -> Vec<Option<BTreeSet<usize>>> {
        let mut own: Vec<Option<BTreeSet<usize>>> = vec![None; units.len()];
        for one in &self.resolved {
            let behind = units.partition_point(|unit| unit.bytes.start <= one.at);
            let line = self.masked.get(..one.at).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
            let first_on_line = !self.masked.get(line..one.at).unwrap_or_default().chars().any(char::is_alphanumeric);
            let next = units.get(behind).filter(|unit| {
                first_on_line && !self.masked.get(one.at..unit.bytes.start).unwrap_or_default().contains('\n')
            });
            let at = if next.is_some() { behind } else { behind.saturating_sub(1) };
            if let Some(slot) = own.get_mut(at) {
                slot.get_or_insert_with(BTreeSet::new).extend(&one.sources);
            }
        }
        let mut last: Option<(usize, BTreeSet<usize>)> = None;
        for (slot, unit) in own.iter_mut().zip(units).rev() {
            match slot {
                Some(sources) => last = Some((unit.block, sources.clone())),
                None => {
                    *slot = last.as_ref().filter(|(block, _)| *block == unit.block).map(|(_, sources)| sources.clone());
                }
            }
        }
        own
    }

    fn facts(&mut self, at: usize) -> Facts {
        if let Some(facts) = self.facts.get(&at) {
            return facts.clone();
        }
        let facts = self.source(at).map(Facts::of_source).unwrap_or_default();
        self.facts.insert(at, facts.clone());
        facts
    }

    fn union(&self) -> Facts {
        let mut union = Facts::default();
        for source in self.all() {
            let facts = Facts::of_source(source);
            union.numbers.extend(facts.numbers);
            union.terms.extend(facts.terms);
        }
        union
    }

    fn claim(&mut self, text: &str, kind: Kind, own: Option<&BTreeSet<usize>>, question: &Facts, union: &Facts) {
        let numbers = facts::numbers(text);
        let names = if kind == Kind::Prose { facts::names(text) } else { Vec::new() };
        let mut new_names = names.iter().filter(|(_, term)| !question.terms.contains(term)).peekable();
        if numbers.is_empty() && (names.is_empty() || (own.is_none() && new_names.peek().is_none())) {
            return;
        }
        let terms = words::terms(text);
        let shares = |facts: &Facts| terms.is_empty() || terms.iter().any(|term| facts.terms.contains(term));
        if let Some(own) = own {
            // Nothing was resolved: that the citation is unknown has been said.
            if own.is_empty() {
                return;
            }
            let mut cited = Facts::default();
            for at in own {
                let facts = self.facts(*at);
                cited.numbers.extend(facts.numbers);
                cited.terms.extend(facts.terms);
            }
            let missing: Vec<&String> = numbers.iter().filter(|number| !cited.numbers.contains(*number)).collect();
            // "No, not 500 but 300": a number of the question may stand beside one of the source.
            let denied =
                missing.len() < numbers.len() && missing.iter().all(|number| question.numbers.contains(*number));
            if let Some(number) = missing.first().filter(|_| !denied) {
                self.unsupported(text, &format!("what it cites does not hold the number {number}"));
            } else if !shares(&cited) {
                self.unsupported(text, "it shares no word with what it cites");
            }
        } else {
            let known = |number: &&String| union.numbers.contains(*number) || question.numbers.contains(*number);
            if let Some(number) = numbers.iter().find(|number| !known(number)) {
                self.unsupported(text, &format!("it cites nothing, and no source holds the number {number}"));
            } else if !shares(union) {
                self.unsupported(text, "it cites nothing, and no source speaks of it");
            } else {
                self.warning("UNCITED_CLAIM", &format!("{:?} names no source", shorten(text.trim(), 120)));
            }
        }
        if let Some((name, _)) = new_names.find(|(_, term)| !union.terms.contains(term)) {
            let message = format!("the name {name:?} in {:?} stands in no source", shorten(text.trim(), 120));
            self.warning("NAME_NOT_IN_SOURCES", &message);
        }
    }

    fn unsupported(&mut self, text: &str, why: &str) {
        let severity = if self.evidence.unseen { Severity::Warning } else { Severity::Error };
        let sentence = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.issue(severity, "UNSUPPORTED", &format!("{:?}: {why}", shorten(&sentence, 160)));
    }

    fn whole_answer(&mut self, lengths: &Lengths) {
        let length = self.answer.trim().chars().count();
        let least = lengths.least(self.evidence.question);
        if length < least {
            let message = format!("the answer is short: {length} characters, {least} are usual for this question");
            self.warning("MINIMUM_LENGTH", &message);
        }
        let asked = words::terms(self.evidence.question);
        let said: HashSet<String> = words::terms(&self.masked).into_iter().collect();
        if !asked.is_empty() && !asked.iter().any(|term| said.contains(term)) {
            self.warning("ADDRESSES_QUESTION", "the answer shares no keyword with the question");
        }
    }

    fn slack(&mut self) {
        let code = citation::code(self.answer);
        let in_code = |at: usize| {
            let before = code.partition_point(|range| range.start <= at);
            before.checked_sub(1).and_then(|last| code.get(last)).is_some_and(|range| range.contains(&at))
        };
        let mut found: Vec<(&'static str, &str)> = Vec::new();
        let links = self.brackets.links.iter().find(|link| !in_code(link.start));
        if let Some(link) = links.and_then(|link| self.answer.get(link.clone())) {
            found.push(("MARKDOWN_LINK", link));
        }
        let (mut start, mut bold, mut quote) = (0, false, false);
        for line in self.answer.split_inclusive('\n') {
            if !quote && line.trim_start().starts_with('>') && !in_code(start) {
                quote = true;
                found.push(("BLOCKQUOTE", line));
            }
            let marks: Vec<usize> =
                line.match_indices("**").map(|(at, _)| at).filter(|at| !in_code(start + at)).collect();
            let is_bold = |pair: &[usize]| match pair {
                [open, close] => line.get(open + 2..*close).is_some_and(|inside| !inside.trim().is_empty()),
                _ => false,
            };
            if !bold && marks.windows(2).any(is_bold) {
                bold = true;
                found.push(("MARKDOWN_BOLD", line));
            }
            start += line.len();
        }
        for (code, text) in found {
            let advice = match code {
                "MARKDOWN_LINK" => "write links as <address|text>",
                "BLOCKQUOTE" => "write no lines that begin with >",
                _ => "write bold with single asterisks",
            };
            self.error(code, &format!("{advice}; found {:?}", shorten(text.trim(), 80)));
        }
    }
}

/// The lines `from` to `to` of a source, as a source of their own; `None` if it holds none of them.
fn slice(source: &Source, from: usize, to: usize) -> Option<Source> {
    let (first, last) = (from.max(source.line), to.min(source.end_line));
    if first > last {
        return None;
    }
    let lines: Vec<&str> = source.text.split('\n').skip(first - source.line).take(last - first + 1).collect();
    Some(Source { line: first, end_line: last, text: lines.join("\n"), ..source.clone() })
}

/// Whether a sentence says that something was not found.
fn is_abstention(sentence: &str) -> bool {
    const FORMS: [&str; 3] = ["not found in the sources", "i found nothing", "not in these lines"];
    let bare = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start: String = bare.chars().take(40).collect::<String>().to_lowercase();
    FORMS.iter().any(|form| start.starts_with(form))
}
