//! The rules that an answer must pass, as one pure function.
//!
//! Only errors fail an answer; warnings are told. What can be checked without a model is checked: that there is an
//! answer, that what it cites exists, that numbers and names stand in what is cited, that it keeps to the format.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::{self, Write as _},
    ops::Range,
};

use serde::Serialize;

use super::config::{Lengths, Profile};
use loopwright_base::{
    sources::{Source, SourceKind},
    text::clip,
};
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, Sentence, of_whole},
    words,
};
use loopwright_verify::polarity::Statements;
use loopwright_verify::{
    citation::{self, Brackets, Place},
    facts::Facts,
    form::{self, Exact},
    held,
};

/// Issues of one kind beyond this many are only counted.
const MOST_OF_A_KIND: usize = 8;
/// Lines around a cited one that count for it: sentences of a file run over line breaks.
const NEAR_LINES: usize = 2;
/// Spans beyond this many are read as the whole of their source.
const MOST_SPANS: usize = 64;
/// Claims beyond this many are checked, but not listed.
pub(super) const MOST_CLAIMS: usize = 500;
/// Sources are named to the caller up to this many.
const MOST_CITED: usize = 64;
/// Brackets beyond this many are not looked up in the texts of the sources.
const MOST_LOOKUPS: usize = 64;

/// The severity of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The answer fails.
    Error,
    /// The answer passes; the issue is reported to the caller.
    Warning,
}

/// An issue of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// The severity.
    pub severity: Severity,
    /// A stable name.
    pub code: &'static str,
    /// The issue, on one line.
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// The evidence that an answer is checked against.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The question.
    pub question: &'a str,
    /// The sources of the prompt, by number.
    pub sources: &'a [Source],
    /// Results of tools; they have names, no numbers.
    pub tools: &'a [Source],
    /// The provider ran tools whose results only the model saw: then what is not found may still be so.
    pub unseen: bool,
}

/// The result of verification.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The issues, errors first.
    pub issues: Vec<Issue>,
    /// The whole answer says that the sources do not hold it.
    pub abstains: bool,
    /// The sources that the answer cites, each with the lines that it names.
    pub cited: Vec<Source>,
    /// The sentences that claim something, in order: those with a number or a name.
    pub claims: Vec<Claim>,
}

/// A sentence with a number or a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The sentence, without its citations.
    pub sentence: String,
    /// The numbers of the sources that it leans on, from 1; those of tools stand behind all others.
    pub sources: Vec<usize>,
    /// The sources hold its numbers, and share a word with it.
    pub supported: bool,
}

impl Verification {
    /// Returns whether the answer passes: there may be warnings, no errors.
    pub fn passed(&self) -> bool {
        self.errors() == 0
    }

    /// The number of errors.
    pub fn errors(&self) -> usize {
        self.issues.iter().filter(|issue| issue.severity == Severity::Error).count()
    }

    /// The feedback to the model, on one line.
    pub fn feedback(&self) -> String {
        let issues: Vec<String> = self.issues.iter().map(Issue::to_string).collect();
        format!("Please fix: {}", issues.join("; "))
    }
}

/// Checks `answer` against the evidence.
pub fn verify(answer: &str, evidence: &Evidence<'_>, profile: Profile, lengths: &Lengths) -> Verification {
    let mut reader = Reader::new(answer, evidence);
    reader.read_citations();
    if !reader.masked.chars().any(char::is_alphanumeric) {
        reader.error("EMPTY", "the answer holds no words");
        return reader.finish(false);
    }
    let units = reader.split_at_citations(held::units(&reader.masked, of_whole(&reader.masked)));
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
pub(super) struct Resolved {
    pub(super) at: usize,
    pub(super) sources: BTreeSet<usize>,
}

pub(super) struct Reader<'a> {
    pub(super) answer: &'a str,
    /// The answer with spaces in the place of citations and lists of sources.
    pub(super) masked: String,
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) brackets: Brackets,
    pub(super) resolved: Vec<Resolved>,
    /// The ends of emoji.
    signs: Vec<usize>,
    /// The facts of each source, by its place among all; behind them those of cited spans.
    pub(super) facts: Vec<Facts>,
    /// The source of each cited span, in the order of their facts: those of its lines, and with the lines near them.
    pub(super) span_of: Vec<usize>,
    /// The statements of cited text, read when they are asked for.
    pub(super) statements: HashMap<usize, Statements>,
    issues: Vec<Issue>,
    counts: HashMap<&'static str, usize>,
    pub(super) cited: Vec<Source>,
    pub(super) claimed: Vec<Claim>,
    pub(super) unknown: bool,
    /// Texts that must stand in a source to the letter, and stand in none.
    pub(super) unmatched: Vec<(Exact, Range<usize>)>,
}

impl<'a> Reader<'a> {
    fn new(answer: &'a str, evidence: &'a Evidence<'a>) -> Self {
        Self {
            answer,
            masked: answer.to_owned(),
            evidence,
            brackets: Brackets::default(),
            resolved: Vec::new(),
            signs: Vec::new(),
            facts: evidence.sources.iter().chain(evidence.tools).map(Facts::of_source).collect(),
            span_of: Vec::new(),
            statements: HashMap::new(),
            issues: Vec::new(),
            counts: HashMap::new(),
            cited: Vec::new(),
            claimed: Vec::new(),
            unknown: false,
            unmatched: Vec::new(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Source> + use<'a> {
        self.evidence.sources.iter().chain(self.evidence.tools)
    }

    fn source(&self, at: usize) -> Option<&'a Source> {
        let numbered = self.evidence.sources.len();
        self.evidence.sources.get(at).or_else(|| self.evidence.tools.get(at.checked_sub(numbered)?))
    }

    pub(super) fn issue(&mut self, severity: Severity, code: &'static str, message: &str) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= MOST_OF_A_KIND {
            // One line, whatever the answer holds: feedback ends at a line's end.
            let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
            self.issues.push(Issue { severity, code, message });
        }
    }

    pub(super) fn error(&mut self, code: &'static str, message: &str) {
        self.issue(Severity::Error, code, message);
    }

    pub(super) fn warning(&mut self, code: &'static str, message: &str) {
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
        Verification { issues: self.issues, abstains, cited: self.cited, claims: self.claimed }
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
        let mut spans: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
        for one in &citations {
            let mut sources = BTreeSet::new();
            let mut cited = Vec::new();
            let known =
                one.places.iter().all(|place| self.resolve(place, &by_name, &mut sources, &mut cited, &mut spans));
            let text = self.answer.get(one.bytes.clone()).unwrap_or_default();
            if !known && (one.doubtful || self.is_quoted(text, &mut lookups)) {
                continue;
            }
            masks.push(one.bytes.clone());
            if !known {
                self.unknown = true;
                if named.insert(text) {
                    let message = format!("{} is none of the sources", clip(text, 120));
                    self.error("CITATION_UNKNOWN", &message);
                }
            }
            for source in cited {
                if self.cited.len() < MOST_CITED && !self.cited.contains(&source) {
                    self.cited.push(source);
                }
            }
            self.resolved.push(Resolved { at: one.bytes.start, sources });
        }
        self.brackets.citations = citations;
        let mut by_number: Vec<_> = spans.into_iter().collect();
        by_number.sort_by_key(|(_, number)| *number);
        for ((at, from, to), _) in by_number {
            let Some(whole) = self.facts.get(at) else { continue };
            let (own, near) = (
                whole.of_lines(from, to),
                whole.of_lines(from.saturating_sub(NEAR_LINES), to.saturating_add(NEAR_LINES)),
            );
            self.facts.extend([own, near]);
            self.span_of.extend([at, at]);
        }
        let form = form::read(self.answer, &self.brackets);
        self.read_exact(&form.exact);
        self.signs = form.signs;
        let mut masks: Vec<(Range<usize>, bool)> = masks.into_iter().map(|range| (range, false)).collect();
        masks.extend(form.marks);
        masks.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        self.resolved.sort_by_key(|one| one.at);
        self.mask_all(&masks);
        self.mask_names(&by_name);
    }

    /// Checks addresses, code and quotations against all sources; the address of a source cites it.
    fn read_exact(&mut self, exact: &[(Exact, Range<usize>)]) {
        if exact.is_empty() {
            return;
        }
        let plain: Vec<String> = self.all().map(|source| form::plain(&source.text)).collect();
        let places: Vec<String> = self.all().map(|source| form::place(&source.reference)).collect();
        let question = form::plain(self.evidence.question);
        for (at, (kind, range)) in exact.iter().enumerate() {
            let said = self.answer.get(range.clone()).unwrap_or_default();
            if *kind == Exact::Address {
                let place = form::place(said);
                if let Some(source) = places.iter().position(|known| *known == place) {
                    self.resolved.push(Resolved { at: range.start, sources: BTreeSet::from([source]) });
                    self.cited.extend(self.source(source).filter(|_| self.cited.len() < MOST_CITED).cloned());
                    continue;
                }
            }
            // An address is compared without what all of them begin with; a prompt of a shell is no command.
            let said = if *kind == Exact::Address { form::place(said) } else { form::plain(said) };
            let said = said.strip_prefix("$ ").unwrap_or(&said).trim_end_matches(['.', ',', '!', '?', ';']);
            let mut pieces = said.split("...").flat_map(|piece| piece.split('…')).map(str::trim);
            let stands = at < MOST_LOOKUPS
                && pieces.all(|piece| question.contains(piece) || plain.iter().any(|text| text.contains(piece)));
            if !stands {
                self.unmatched.push((*kind, range.clone()));
            }
        }
        for (kind, range) in self.unmatched.clone() {
            let said = self.answer.get(range).unwrap_or_default().to_owned();
            let what = match kind {
                Exact::Address => "the address",
                Exact::Code => "the code",
                Exact::Quote => "the quotation",
            };
            let severity = if self.evidence.unseen { Severity::Warning } else { Severity::Error };
            self.issue(severity, "UNSUPPORTED", &format!("{what} {:?} stands in no source", clip(said.trim(), 160)));
        }
    }

    /// A citation behind a full stop ends a sentence, also where the stop could be that of an abbreviation; so does an
    /// emoji before a capital.
    fn split_at_citations(&self, units: Vec<Sentence>) -> Vec<Sentence> {
        let mut all = Vec::with_capacity(units.len());
        let mut cuts: Vec<(usize, bool)> = self.resolved.iter().map(|one| (one.at, false)).collect();
        cuts.extend(self.signs.iter().map(|at| (*at, true)));
        cuts.sort_unstable();
        let mut cuts = cuts.into_iter().peekable();
        for mut unit in units {
            while cuts.next_if(|(cut, _)| *cut <= unit.bytes.start).is_some() {}
            while let Some((cut, sign)) = cuts.next_if(|(cut, _)| *cut < unit.bytes.end) {
                let before = self.masked.get(unit.bytes.start..cut).unwrap_or_default();
                let after = self.masked.get(cut..unit.bytes.end).unwrap_or_default();
                let goes_on = after.chars().find(|c| c.is_alphanumeric());
                let starts = goes_on.is_some_and(|c| !c.is_lowercase());
                // The citation itself stays with what it ends.
                let gap = after.len() - after.trim_start().len();
                let breaks = after.get(..gap).is_some_and(|gap| gap.contains('\n'));
                let ends = sign || breaks || before.trim_end().ends_with(['.', '!', '?']);
                if unit.kind != Kind::Prose || !starts || gap == 0 || !ends {
                    continue;
                }
                let next = cut + gap;
                all.push(Sentence { bytes: unit.bytes.start..next, ..unit.clone() });
                unit.bytes.start = next;
            }
            all.push(unit);
        }
        all
    }

    /// Masks ranges of the answer in one copy: an answer may hold very many citations.
    fn mask_all(&mut self, masks: &[(Range<usize>, bool)]) {
        let mut masked = String::with_capacity(self.masked.len());
        let (mut at, mut line_is_blank) = (0, true);
        for (range, begins) in masks {
            let (Some(before), true) = (self.masked.get(at..range.start), range.start < range.end) else { continue };
            masked.push_str(before);
            line_is_blank = match before.rfind('\n') {
                Some(end) => before.get(end..).unwrap_or_default().trim().is_empty(),
                None => line_is_blank && before.trim().is_empty(),
            };
            // An indent would make code of the line; a sign at its head begins an item.
            masked.push(match (line_is_blank, *begins && range.len() > 1) {
                (true, true) => '-',
                (true, false) => ',',
                (false, _) => ' ',
            });
            masked.extend(std::iter::repeat_n(' ', range.len() - 1));
            line_is_blank = false;
            at = range.end;
        }
        masked.push_str(self.masked.get(at..).unwrap_or_default());
        self.masked = masked;
    }

    /// Returns whether the brackets stand in a source: then they are part of a quote.
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
        spans: &mut BTreeMap<(usize, usize, usize), usize>,
    ) -> bool {
        let of_name = |name: &str| by_name.get(name).into_iter().flatten().copied();
        // Beyond what is named to the caller no text is copied.
        let full = self.cited.len() >= MOST_CITED;
        let mut take = |at: usize, source: &dyn Fn() -> Source| {
            sources.insert(at);
            if !full {
                cited.push(source());
            }
        };
        match place {
            Place::Number(number) => {
                let Some(source) = self.evidence.sources.get(number - 1) else { return false };
                take(number - 1, &|| source.clone());
                true
            }
            Place::Whole(name) => {
                let mut found = false;
                for at in of_name(name) {
                    if let Some(source) = self.source(at) {
                        take(at, &|| source.clone());
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
                let all = self.evidence.sources.len() + self.evidence.tools.len();
                for at in of_name(reference) {
                    if let Some(source) = self.source(at).filter(|one| one.line <= *to && one.end_line >= *from) {
                        let next = all + 2 * spans.len();
                        let place =
                            if spans.len() < MOST_SPANS { *spans.entry((at, *from, *to)).or_insert(next) } else { at };
                        take(place, &|| slice(source, *from, *to));
                    }
                }
                true
            }
        }
    }

    /// Reads the statements around a place among the facts.
    pub(super) fn read_statements(&mut self, at: usize) {
        if self.statements.contains_key(&at) {
            return;
        }
        let all = self.evidence.sources.len() + self.evidence.tools.len();
        let span = at.checked_sub(all);
        let whole = span.map_or(Some(at), |span| self.span_of.get(span).copied());
        let Some(source) = whole.and_then(|at| self.source(at)) else { return };
        let format = match source.kind {
            SourceKind::File => Format::of_path(&source.reference),
            SourceKind::Thread | SourceKind::Web | SourceKind::Tool | SourceKind::Memory => Format::Markdown,
        };
        let read = match span.and(self.facts.get(at)) {
            Some(facts) => {
                let said: Vec<&str> = facts.held.all.iter().map(|one| one.said.as_str()).collect();
                Statements::of_text(&said.join("\n\n"), format)
            }
            None => Statements::of_text(&source.text, format),
        };
        self.statements.insert(at, read);
    }

    /// Masks places that are named without brackets, and lists of sources at the end: no claims.
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
        // `[3](address)` is a footnote that leads somewhere: its number says nothing.
        masks.extend(
            self.brackets
                .links
                .iter()
                .filter(|link| {
                    let inside = self.answer.get(link.start + 1..link.end.saturating_sub(1)).unwrap_or_default();
                    !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b'^')
                })
                .cloned(),
        );
        let (mut start, mut listing) = (0, false);
        let mut invented = Vec::new();
        for line in self.masked.split_inclusive('\n') {
            let bare = line.trim().trim_start_matches(['#', '*', '_', ' ']).trim_end_matches(['*', '_']);
            let head = bare.split_once(':').map_or(bare, |(head, _)| head).trim_end_matches(['*', '_', ' ']);
            let here = start..start + line.trim_end_matches('\n').len();
            let names = self.resolved.iter().any(|one| here.contains(&one.at))
                || masks.iter().any(|range| here.contains(&range.start));
            let title = ["sources", "source", "references"].iter().any(|title| head.eq_ignore_ascii_case(title));
            let rest = bare.get(head.len()..).unwrap_or_default();
            let item = line.trim_start().starts_with(['-', '*', '•', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            if title && (names || !rest.chars().any(char::is_alphanumeric)) {
                masks.push(here);
                listing = true;
            } else if listing && item && names {
                masks.push(here);
            } else if title || (listing && item) {
                // What is listed as a source and is none is invented.
                invented.extend(line.chars().any(char::is_alphanumeric).then(|| clip(line.trim(), 120)));
            } else if !line.trim().is_empty() {
                listing = false;
            }
            start += line.len();
        }
        for line in invented {
            self.unknown = true;
            self.error("CITATION_UNKNOWN", &format!("{line} is none of the sources"));
        }
        masks.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let masks: Vec<(Range<usize>, bool)> = masks.into_iter().map(|range| (range, false)).collect();
        self.mask_all(&masks);
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
}

/// The lines `from` to `to` of a source that holds some of them, as a source of their own.
fn slice(source: &Source, from: usize, to: usize) -> Source {
    let (first, last) = (from.max(source.line), to.min(source.end_line));
    let skipped = first.saturating_sub(source.line);
    let lines: Vec<&str> = source.text.split('\n').skip(skipped).take(last.saturating_sub(first) + 1).collect();
    Source { line: first, end_line: last, text: lines.join("\n"), ..source.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_testing::growth::grows_in_line;

    fn source(reference: &str, line: usize, text: &str) -> Source {
        let end_line = line + text.matches('\n').count();
        Source { reference: reference.into(), line, end_line, text: text.into(), ..Source::default() }
    }

    fn check(answer: &str, sources: &[Source], profile: Profile) -> Verification {
        let evidence = Evidence { question: "How many pages does the cache hold?", sources, tools: &[], unseen: false };
        verify(answer, &evidence, profile, &Lengths::default())
    }

    fn codes(verification: &Verification) -> Vec<&'static str> {
        verification.issues.iter().map(|issue| issue.code).collect()
    }

    #[test]
    fn x16_a_citation_at_the_head_of_a_line_belongs_to_what_follows() {
        let sources = [source("a.md", 1, "The cache holds ten pages."), source("b.md", 4, "Pages have 4096 bytes.")];
        let fine = "The cache holds 10 pages. [1]\n\n[b.md:4] Its pages have 4,096 bytes.";
        assert!(check(fine, &sources, Profile::Plain).passed());
        let crossed = "The cache holds 10 pages. [2]\n\n[a.md:1] Its pages have 4,096 bytes.";
        assert_eq!(check(crossed, &sources, Profile::Plain).errors(), 2);
        let code = "    [a.md:1] The cache holds 11 pages.";
        let found = check(code, &sources, Profile::Plain);
        assert_eq!(codes(&found)[0], "UNSUPPORTED", "{found:?}");
    }

    #[test]
    fn x16_a_sentence_that_turns_its_span_around_is_unsupported() {
        let sources = [source("a.md", 1, "The bridge opened in 1932.\n\n\n\n\n\nThe tunnel did not open in 1932.")];
        for (answer, passes) in [
            ("The bridge did not open in 1932 [1].", false),
            ("The tunnel opened in 1932 [a.md:7].", false),
            ("The bridge was never opened [1].", false),
            ("The bridge opened in 1932 [1]. The tunnel did not open in 1932 [a.md:7].", true),
            // The cited lines count, not what stands elsewhere.
            ("It opened in 1932 [a.md:1].", true),
            ("It did not open in 1932 [a.md:7].", true),
            ("It did not open in 1932 [a.md:1].", false),
        ] {
            let found = check(answer, &sources, Profile::Plain);
            assert_eq!(found.passed(), passes, "{answer}: {found:?}");
            assert_eq!(found.claims.iter().all(|claim| claim.supported), passes, "{answer}");
        }
    }

    #[test]
    fn x16_where_a_source_stands_supports_no_number() {
        for (reference, cited) in
            [("source 3", "[1]"), ("m.pdf#page=3", "[m.pdf#page=3:1]"), ("memory#3", "[1]"), ("a.ipynb#cell=3", "[1]")]
        {
            let sources = [source(reference, 1, "The tower is 330 m high.")];
            let found = check(&format!("The tower is 3 m high {cited}."), &sources, Profile::Plain);
            assert_eq!(codes(&found)[0], "UNSUPPORTED", "{reference}: {found:?}");
            assert!(
                check(&format!("The tower is 330 m high {cited}."), &sources, Profile::Plain).passed(),
                "{reference}"
            );
        }
        // Nor does the number of a footnote that is a link claim anything.
        let sources = [source("http://a.example", 1, "The tower is 330 m high.")];
        let linked = "The tower is 330 m high [3](http://a.example) [1].";
        assert!(check(linked, &sources, Profile::Plain).passed(), "{:?}", check(linked, &sources, Profile::Plain));
        // The name of a file says what it is about.
        let sources = [source("release-7.md", 1, "The tower was added.")];
        assert!(check("Release 7 added the tower [1].", &sources, Profile::Plain).passed());
    }

    #[test]
    fn x16_words_around_an_abstention_claim_nothing() {
        let sources = [source("a.md", 1, "The cache holds ten pages.")];
        let told = "Not found in the sources: the price. It is not spoken of there.";
        let verification = check(told, &sources, Profile::Plain);
        assert!(verification.passed() && verification.abstains);
        assert!(verification.issues.is_empty(), "{verification:?}");
        let told = "Not found in the sources: the price. It is 9 dollars.";
        assert!(!check(told, &sources, Profile::Plain).passed());
    }

    #[test]
    fn e18_feedback_is_one_line_with_errors_first() {
        let verification = check("**a**\n> b \u{2028} 77\n", &[source("a.md", 1, "x")], Profile::Slack);
        let feedback = verification.feedback();
        assert!(feedback.starts_with("Please fix: ") && feedback.lines().count() == 1, "{feedback}");
        assert!(verification.issues.is_sorted_by_key(|issue| issue.severity));
        let many = "It is 5. ".repeat(1_000);
        let verification = check(&many, &[], Profile::Plain);
        assert!(verification.issues.len() < 20 && verification.feedback().contains("(and 992 more)"));
    }

    #[test]
    fn hostile_answers_take_linear_time() {
        let text = "The cache holds 10 pages, [x] and 3.\n".repeat(600);
        let sources: Vec<Source> = (0..12).map(|at| source(&format!("d/{at}.md"), 1, &text)).collect();
        for piece in [
            "[1] ",
            "[1]\n",
            "[d/1.md:3] 5 ",
            "[d/1.md:3-400] It is 5. ",
            "[1-40] ",
            "[x.md] ",
            "It is 5 in Husum. ",
            "> ",
            "**",
            "| 5 [1] ",
            "Sources:\n- 1\n",
            "d/1.md:",
            "Not found in the sources: 7. ",
            "5. ",
            "(5) ",
        ] {
            for profile in [Profile::Plain, Profile::Slack] {
                grows_in_line(piece, 2_000, |size| drop(check(&piece.repeat(size / piece.len()), &sources, profile)));
            }
        }
        grows_in_line("spans", 1_000, |many| {
            let lines: Vec<String> = (1..many).map(|at| format!("[d/1.md:{}-601]", at % 600 + 1)).collect();
            check(&lines.join(" "), &sources, Profile::Plain);
        });
    }

    proptest::proptest! {
        #[test]
        fn any_answer_can_be_verified(
            answer in "([a-zA-Z]{1,4} ?|[0-9.,]{1,3} ?|\\[1\\]|\\[a\\.md:[0-9]\\]|[\\[\\]`*>|#é\u{2028}-]|\n|Not found in the sources: ){0,40}",
            text in "([a-z]{1,4} |[0-9]|\n){0,20}",
        ) {
            let sources = [source("a.md", 1, &text)];
            let verification = check(&answer, &sources, Profile::Slack);
            proptest::prop_assert_eq!(verification.passed(), verification.issues.iter().all(|one| one.severity == Severity::Warning));
            proptest::prop_assert!(verification.cited.iter().all(|one| one.end_line <= sources[0].end_line));
            proptest::prop_assert_eq!(&verification, &check(&answer, &sources, Profile::Slack));
            proptest::prop_assert!(!verification.feedback().contains('\n'));
        }
    }
}
