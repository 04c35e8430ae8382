//! Claims, sentence by sentence: they must stand in the sources that the sentence cites.
//!
//! Numbers and proper names make a claim. Their sentence must share a word with the sources it cites, and its numbers
//! must stand there; a claim that cites nothing must at least be found in some source.

use std::collections::BTreeSet;

use super::{
    placed, silence,
    verify::{Claim, MOST_CLAIMS, Reader, Severity},
};
use loopwright_base::{
    sources::{Source, SourceKind},
    text::clip,
};
use loopwright_lexicon::{
    sentences::{Kind, Sentence},
    words,
};
use loopwright_verify::polarity::{self, Statements};
use loopwright_verify::{
    citation,
    facts::{self, Claimed, Facts},
    held::Statement,
};

/// Words of a claim that a line must hold beyond those of the one cited beside it.
const MARGIN: usize = 2;

/// Counts of the checked sentences of an answer.
#[derive(Default)]
struct SentenceCounts {
    abstentions: usize,
    others: usize,
    claims: usize,
}

impl Reader<'_> {
    /// Checks every sentence; returns whether the answer is that the sources do not hold it.
    pub(super) fn claims(&mut self, units: &[Sentence]) -> bool {
        let of_unit = self.citations_of(units);
        let question = Facts::of_text(self.evidence.question);
        let fences = citation::fenced(&self.masked);
        let mut tally = SentenceCounts::default();
        for (unit, own) in units.iter().zip(of_unit) {
            let text = self.masked.get(unit.bytes.clone()).unwrap_or_default().to_owned();
            // An indent alone makes no code of a claim.
            let kind = match unit.kind {
                Kind::Code if !citation::holds(&fences, unit.bytes.start) => Kind::Prose,
                Kind::Prose if is_label(&text) => Kind::Heading,
                kind => kind,
            };
            if !text.chars().any(char::is_alphanumeric) {
                continue;
            }
            if matches!(kind, Kind::Heading | Kind::Columns | Kind::Code) {
                tally.others += 1;
                if kind == Kind::Heading {
                    self.claim(&text, kind, own.as_ref(), &question);
                }
                continue;
            }
            let parts =
                if silence::is_abstention(&text, own.is_some()) { silence::parts(&text) } else { vec![text.as_str()] };
            for part in parts.into_iter().filter(|part| part.chars().any(char::is_alphanumeric)) {
                if silence::is_abstention(part, own.is_some()) {
                    tally.abstentions += 1;
                    self.abstention(part, &question);
                } else {
                    tally.others += 1;
                    self.statement(part, kind, own.as_ref(), &question, &mut tally);
                }
            }
        }
        // An answer that says nothing but that the sources are silent, whatever it cites for that.
        let abstains = tally.abstentions > 0 && tally.claims == 0 && !self.unknown;
        if tally.others == 0 || abstains || self.unknown {
            return abstains;
        }
        let severity = if self.evidence.unseen { Severity::Warning } else { Severity::Error };
        if self.evidence.sources.is_empty() && self.evidence.tools.is_empty() {
            self.issue(severity, "NO_SOURCES", "nothing was found that the answer could rest on");
        } else if self.cited.is_empty() && !self.evidence.sources.is_empty() {
            let message = "no source is cited; name the source of each statement as [path:line] or [n]";
            self.issue(severity, "UNCITED", message);
        }
        false
    }

    /// Checks the claim of a sentence, if it makes one.
    fn statement(
        &mut self,
        text: &str,
        kind: Kind,
        own: Option<&BTreeSet<usize>>,
        question: &Facts,
        tally: &mut SentenceCounts,
    ) {
        let asked = |word: &str| words::terms(word).iter().all(|term| question.terms.contains(term));
        let is_known = |word: &str| {
            words::terms(word).iter().any(|term| self.facts.iter().any(|facts| facts.terms.contains(term)))
        };
        if own.is_none() && silence::is_courtesy(text, asked, is_known) {
            return;
        }
        tally.claims += 1;
        let own = own.map(|own| self.held_against(text, own));
        let own = own.as_ref();
        let supported = match (self.claim(text, kind, own, question), own) {
            (Some(supported), _) => supported,
            (None, Some(own)) => !own.is_empty(),
            (None, None) => false,
        };
        if own.is_none() && !self.cited.is_empty() {
            let severity = if self.evidence.unseen { Severity::Warning } else { Severity::Error };
            let sentence = text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.issue(severity, "UNCITED_CLAIM", &format!("{:?} names no source", clip(&sentence, 120)));
        }
        if self.claimed.len() < MOST_CLAIMS {
            let sentence = clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), 400);
            let mut sources: Vec<usize> = own.into_iter().flatten().map(|at| self.source_of(*at) + 1).collect();
            sources.sort_unstable();
            sources.dedup();
            self.claimed.push(Claim { sentence, sources, supported });
        }
    }

    /// The sources that each unit cites; `None` if it cites none. A unit without citations of its own leans on the next
    /// ones of its paragraph.
    fn citations_of(&self, units: &[Sentence]) -> Vec<Option<BTreeSet<usize>>> {
        // Each line's start, and its first letter or digit.
        let mut lines: Vec<(usize, usize)> = Vec::new();
        let mut start = 0;
        for line in self.masked.split_inclusive('\n') {
            let first = line.find(char::is_alphanumeric).unwrap_or(line.len());
            lines.push((start, start + first));
            start += line.len();
        }
        let mut own: Vec<Option<BTreeSet<usize>>> = vec![None; units.len()];
        for one in &self.resolved {
            let line = lines.partition_point(|(start, _)| *start <= one.at);
            let leads = line.checked_sub(1).and_then(|at| lines.get(at)).is_some_and(|(_, first)| *first > one.at);
            let line_end = lines.get(line).map_or(self.masked.len(), |(start, _)| *start);
            // Citations stand behind their sentence, but at the head of a line before it.
            let behind = units.partition_point(|unit| unit.bytes.start <= one.at);
            let is_next = leads && units.get(behind).is_some_and(|unit| unit.bytes.start < line_end);
            let at = if is_next { behind } else { behind.saturating_sub(1) };
            if let Some(slot) = own.get_mut(at) {
                slot.get_or_insert_with(BTreeSet::new).extend(&one.sources);
            }
        }
        let alone = |at: usize| {
            let line = lines.partition_point(|(start, _)| *start <= at).saturating_sub(1);
            let (start, first) = lines.get(line).copied().unwrap_or_default();
            let end = lines.get(line + 1).map_or(self.masked.len(), |(start, _)| *start);
            (first >= end).then_some(start)
        };
        self.inherit_citations(
            units,
            &mut own,
            &self.resolved.iter().filter_map(|one| alone(one.at)).collect::<Vec<_>>(),
        );
        own
    }

    /// Adds citations to units that cite nothing themselves: the next citation of their paragraph or table; one that
    /// stands alone on the line behind their list; for an item those of what leads to its list, and for what leads to
    /// one those of its items.
    fn inherit_citations(&self, units: &[Sentence], own: &mut [Option<BTreeSet<usize>>], alone: &[usize]) {
        let text = |unit: &Sentence| self.masked.get(unit.bytes.clone()).unwrap_or_default().trim_end();
        let is_item = |unit: &Sentence| {
            let before = self.masked.get(..unit.bytes.start).unwrap_or_default();
            let line = before.rfind('\n').map_or(0, |end| end + 1);
            unit.kind == Kind::Row || before.get(line..).is_some_and(|mark| !mark.trim_matches([' ', ',']).is_empty())
        };
        let mut last: Option<(usize, BTreeSet<usize>)> = None;
        let mut all: Option<BTreeSet<usize>> = None;
        for at in (0..units.len()).rev() {
            let (Some(unit), Some(slot)) = (units.get(at), own.get(at)) else { continue };
            let ends = units.get(at + 1).map_or(self.masked.len(), |next| next.bytes.start);
            let closes = alone.iter().any(|start| (unit.bytes.end..ends).contains(start));
            if closes {
                all.clone_from(slot);
            } else if unit.kind == Kind::Heading || (slot.is_some() && !is_item(unit)) {
                all = None;
            }
            let leans = match slot {
                Some(sources) => {
                    last = Some((unit.block, sources.clone()));
                    continue;
                }
                None if unit.kind == Kind::Heading => continue,
                None => last.as_ref().filter(|(block, _)| *block == unit.block).map(|(_, sources)| sources),
            };
            let heads = text(unit).ends_with(':');
            let behind = if heads { own.get(at + 1).and_then(Option::as_ref) } else { None };
            let found = leans.or(all.as_ref()).or(behind).cloned();
            if let (Some(slot), Some(found)) = (own.get_mut(at), found) {
                *slot = Some(found);
            }
        }
        // From above: the citation of the line that leads to a list.
        let mut lead: Option<BTreeSet<usize>> = None;
        for (unit, slot) in units.iter().zip(own) {
            match slot {
                Some(sources) if text(unit).ends_with(':') || (unit.kind == Kind::Columns) => {
                    lead = Some(sources.clone());
                }
                None if is_item(unit) && unit.kind != Kind::Heading => slot.clone_from(&lead),
                None if unit.kind == Kind::Columns => {}
                _ if is_item(unit) => {}
                _ => lead = None,
            }
        }
    }

    /// The source of a place among the facts.
    pub(super) fn source_of(&self, at: usize) -> usize {
        let all = self.evidence.sources.len() + self.evidence.tools.len();
        at.checked_sub(all).and_then(|span| self.span_of.get(span)).copied().unwrap_or(at)
    }

    /// The facts that a claim is compared with: the lines that it cites, unless those near them hold clearly more of
    /// it.
    fn held_against(&self, text: &str, own: &BTreeSet<usize>) -> BTreeSet<usize> {
        let all = self.evidence.sources.len() + self.evidence.tools.len();
        let terms = words::terms(text);
        let most = |at: usize| {
            let facts = self.facts.get(at)?;
            let met = |one: &Statement| terms.iter().filter(|term| one.own.say(term)).count();
            facts.held.all.iter().map(met).max()
        };
        own.iter()
            .map(|at| if *at >= all && most(at + 1) >= most(*at).map(|most| most + MARGIN) { at + 1 } else { *at })
            .collect()
    }

    /// Returns whether one of the sources satisfies `holds`: of `own`, without it of all.
    fn any_source(&self, own: Option<&BTreeSet<usize>>, holds: impl Fn(&Facts) -> bool) -> bool {
        match own {
            Some(own) => own.iter().filter_map(|at| self.facts.get(*at)).any(holds),
            None => self.facts.iter().any(holds),
        }
    }

    /// Checks a sentence of abstention: it needs no source, but numbers have no business there.
    fn abstention(&mut self, text: &str, question: &Facts) {
        // "in 12 sources" counts what was searched.
        let searched = self.evidence.sources.len().to_string();
        let strange = facts::claimed(text).into_iter().find(|one| {
            one.shown(text) != searched
                && !one.stands_in(question)
                && !self.any_source(None, |facts| one.stands_in(facts))
        });
        if let Some(number) = strange {
            self.unsupported(text, &format!("no source holds the number {}", number.shown(text)));
        }
    }

    /// Checks a sentence that makes a claim; returns whether the claim is supported.
    fn claim(&mut self, text: &str, kind: Kind, own: Option<&BTreeSet<usize>>, question: &Facts) -> Option<bool> {
        let text = if kind == Kind::Heading { without_number(text) } else { text };
        let numbers = facts::claimed(text);
        let names = if kind == Kind::Prose { facts::names(text) } else { Vec::new() };
        let mut new_names = names.iter().filter(|(_, term)| !question.terms.contains(term)).peekable();
        let cited: Vec<&Facts> = own.into_iter().flatten().filter_map(|at| self.facts.get(*at)).collect();
        if kind == Kind::Prose && facts::is_strange(text, &cited) {
            self.unsupported(text, "it shares few words with what it cites");
            return Some(false);
        }
        if kind == Kind::Prose
            && let Some(said) = self.reversed_sentence(text, own)
        {
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            self.unsupported(text, &format!("what it cites says the opposite: {:?}", clip(&said, 120)));
            return Some(false);
        }
        if kind != Kind::Heading
            && let Some(own) = own.filter(|own| !own.is_empty())
            && let Some(why) = self.misplaced(text, own, &numbers, question)
        {
            self.unsupported(text, &why);
            return Some(false);
        }
        if numbers.is_empty() && (names.is_empty() || (own.is_none() && new_names.peek().is_none())) {
            return None;
        }
        // Nothing was resolved: that the citation is unknown has been said.
        if own.is_some_and(BTreeSet::is_empty) {
            return Some(false);
        }
        let missing: Vec<&Claimed> =
            numbers.iter().filter(|one| !self.any_source(own, |facts| one.stands_in(facts))).collect();
        // "No, not 500 but 300", "At 11 hours, yes": a number that was asked about is the asker's.
        let is_counted = |one: &Claimed| {
            let thread = |(source, facts): (&Source, &Facts)| source.kind == SourceKind::Thread && one.stands_in(facts);
            // Of two versions one is told of, not both.
            let is_version = matches!(one, Claimed::Quantity(one) if one.is_version());
            !is_version && one.stands_in(question) || self.evidence.sources.iter().zip(&self.facts).any(thread)
        };
        let excused = missing.iter().all(|one| is_counted(one) || self.is_count(one, own));
        let terms = words::terms(text);
        let shares = terms.is_empty()
            || (missing.is_empty() && !numbers.is_empty())
            || self.any_source(own, |facts| terms.iter().any(|term| facts.terms.contains(term)));
        let supported = shares && own.is_some() && (missing.is_empty() || excused);
        let first = missing.first().filter(|_| !excused).map(|one| one.shown(text));
        match (first, own) {
            (Some(number), Some(_)) => {
                self.unsupported(text, &format!("what it cites does not hold the number {number}"));
            }
            (Some(number), None) => {
                self.unsupported(text, &format!("it cites nothing, and no source holds the number {number}"));
            }
            (None, Some(_)) if !shares => self.unsupported(text, "it shares no word with what it cites"),
            (None, None) if !shares => self.unsupported(text, "it cites nothing, and no source speaks of it"),
            (None, _) => {}
        }
        // A name must stand in a source that is cited, anywhere in it. Abbreviations are as often the writer's own.
        let whole: Option<BTreeSet<usize>> = own.map(|own| own.iter().map(|at| self.source_of(*at)).collect());
        let strange = new_names.find(|(_, term)| !self.any_source(whole.as_ref(), |facts| facts.terms.say(term)));
        let Some((name, term)) = strange else { return Some(supported) };
        let nowhere = !self.any_source(None, |facts| facts.terms.contains(term));
        let is_short = name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase);
        if own.is_some() && !is_short {
            let place = if nowhere { "no source holds" } else { "what it cites does not hold" };
            self.unsupported(text, &format!("{place} the name {name}"));
            return Some(false);
        }
        if nowhere {
            let message = format!("the name {name:?} in {:?} stands in no source", clip(text.trim(), 120));
            self.warning("NAME_NOT_IN_SOURCES", &message);
        }
        Some(supported)
    }

    /// Returns whether a number in words only counts what is cited, "two shifts", where nothing there is counted
    /// otherwise.
    fn is_count(&self, one: &Claimed, own: Option<&BTreeSet<usize>>) -> bool {
        let Claimed::Quantity(claimed) = one else { return false };
        let cited: Vec<&Facts> = own.into_iter().flatten().filter_map(|at| self.facts.get(*at)).collect();
        let said = |term: &String| cited.iter().any(|facts| facts.terms.say(term));
        let rival = |facts: &&Facts| {
            facts.held.all.iter().flat_map(|one| &one.quantities).any(|other| other.counts_as(claimed))
        };
        claimed.is_small_count() && claimed.counted.iter().any(said) && !cited.iter().any(rival)
    }

    /// The sentence of the cited text that a claim reverses.
    fn reversed_sentence(&mut self, text: &str, own: Option<&BTreeSet<usize>>) -> Option<String> {
        let own = own.filter(|own| !own.is_empty())?;
        for at in own {
            self.read_statements(*at);
        }
        let texts: Vec<&Statements> = own.iter().filter_map(|at| self.statements.get(at)).collect();
        let cited: Vec<&Facts> = own.iter().filter_map(|at| self.facts.get(*at)).collect();
        polarity::denied(text, &texts).filter(|_| !placed::denies_too(text, &cited)).map(str::to_owned)
    }

    fn unsupported(&mut self, text: &str, why: &str) {
        let severity = if self.evidence.unseen { Severity::Warning } else { Severity::Error };
        let sentence = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.issue(severity, "UNSUPPORTED", &format!("{:?}: {why}", clip(&sentence, 160)));
    }
}

/// A heading without its own number: "2.1 Retries", "III. Limits".
fn without_number(heading: &str) -> &str {
    let bare = heading.trim_start_matches(['#', ' ', '\t', '*', '_']);
    let number = bare.split_whitespace().next().unwrap_or_default();
    let counts = number.len() <= 8
        && number.starts_with(|c: char| c.is_ascii_digit())
        && (number.ends_with(['.', ')', ':'])
            || number.contains('.') && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        && number.bytes().all(|byte| byte.is_ascii_digit() || b".):".contains(&byte));
    if counts { bare.get(number.len()..).unwrap_or_default() } else { bare }
}

/// Returns whether a line is a title: one stressed phrase and nothing else.
fn is_label(text: &str) -> bool {
    let bare = text.trim().trim_end_matches(':').trim_end();
    let mark = bare.chars().take_while(|c| matches!(c, '*' | '_')).count();
    let inner = bare.trim_matches(['*', '_']);
    mark > 0
        && bare.ends_with(['*', '_'])
        && !inner.contains(['*', '.', '!', '?'])
        && inner.split_whitespace().count() <= 8
}
