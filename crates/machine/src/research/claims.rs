//! Claims of passages, without a model: numbers with what they count, and names; and contradictions, where two sources
//! put different numbers into what is else the same sentence, or say the opposite of each other.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::state::Chunk;
use loopwright_lexicon::{
    contrast::{Stance, disagree},
    lines::Format,
    sentences::{Kind, leans, sentences},
    words,
};
use loopwright_verify::lexicon::list;

/// Sentences that are compared with each other.
const MAX_COMPARED: usize = 400;
/// Sentences that are compared with each other's opposites, and pairs of them that are compared.
const MAX_OPPOSED: usize = 4_000;
const PAIRS: usize = 200_000;
/// Contradictions that are reported at most.
const MAX_REPORTED: usize = 10;
/// The share of both sentences' words that must be common.
const MIN_COMMON_SHARE: f64 = 0.6;
/// Common words at least.
const MIN_COMMON: usize = 3;

/// A sentence of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcedSentence {
    /// The sentence.
    pub text: String,
    /// The number of the source, from 0.
    pub source: usize,
}

/// Two sources that put different numbers into the same statement, or say the opposite of each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The first sentence.
    pub one: SourcedSentence,
    /// The other sentence.
    pub other: SourcedSentence,
}

/// Numbers and names of a text, each in one form: what counts as new, and what is not.
pub(super) fn claims(text: &str) -> BTreeSet<String> {
    let mut all: BTreeSet<String> =
        numbers(text).0.into_iter().map(|(number, unit)| format!("{number} {unit}")).collect();
    let mut first = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = bare.chars().next().is_some_and(char::is_uppercase) && bare.chars().count() > 1;
        if is_name && !first && !words::is_stop_word(&bare.to_lowercase()) {
            all.insert(bare.to_lowercase());
        }
        first = word.ends_with(['.', '!', '?', ':']);
    }
    all
}

/// A number with the word that it counts, or with the word that it tells one of many of.
type Counted = (String, String);

/// The numbers of a text, each with the word behind it, and those that tell one of many, with the word before:
/// `section 3`.
fn numbers(text: &str) -> (Vec<Counted>, Vec<Counted>) {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let (mut all, mut labels) = (Vec::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let bare = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
        if !bare.starts_with(|c: char| c.is_ascii_digit()) || bare.len() > 40 {
            continue;
        }
        let digits = bare.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_')).unwrap_or(bare.len());
        let (number, rest) = bare.split_at(digits);
        let number: String = number.chars().filter(|c| !matches!(c, ',' | '_')).collect();
        let number = number.trim_end_matches('.');
        let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).copied().unwrap_or_default();
        let before = before.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let label =
            [before.as_str(), before.trim_end_matches('s')].into_iter().find(|word| list("labels").contains(*word));
        if let (Some(label), true) = (label, rest.is_empty()) {
            labels.push((number.to_owned(), label.to_owned()));
            continue;
        }
        let unit = if rest.is_empty() {
            let next = tokens.get(at + 1).copied().unwrap_or_default();
            let bare = next.trim_matches(|c: char| !c.is_alphanumeric() && c != '%').to_lowercase();
            words::terms(next).into_iter().next().unwrap_or(bare)
        } else {
            rest.to_lowercase()
        };
        all.push((number.to_owned(), unit));
    }
    (all, labels)
}

/// Returns whether two lists have a word in common of which no number is the same.
fn differ(one: &[Counted], other: &[Counted]) -> bool {
    one.iter().any(|(number, word)| {
        let same = || other.iter().filter(|(_, theirs)| theirs == word);
        same().next().is_some() && same().all(|(theirs, _)| theirs != number)
    })
}

struct NumberedSentence {
    text: String,
    source: usize,
    numbers: Vec<Counted>,
    labels: Vec<Counted>,
    terms: HashSet<String>,
}

/// The contradictions of sources: in numbers, or in words alone.
pub(super) fn contradictions(chunks: &[Chunk]) -> Vec<Contradiction> {
    let mut found = different_numbers(chunks);
    for one in opposite_statements(chunks) {
        if found.len() >= MAX_REPORTED {
            break;
        }
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// The contradictions in words alone.
fn opposite_statements(chunks: &[Chunk]) -> Vec<Contradiction> {
    struct StancedSentence {
        said: SourcedSentence,
        stance: Stance,
        terms: BTreeSet<String>,
    }
    let mut all: Vec<StancedSentence> = Vec::new();
    for chunk in chunks {
        for unit in sentences(&chunk.text, Format::Markdown).into_iter().filter(|unit| unit.kind == Kind::Prose) {
            let text = chunk.text.get(unit.bytes).unwrap_or_default();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if all.len() < MAX_OPPOSED
                && let Some(stance) = Stance::read(&text)
            {
                let terms = words::terms(&text).into_iter().collect();
                all.push(StancedSentence { said: SourcedSentence { text, source: chunk.source }, stance, terms });
            }
        }
    }
    let mut holding: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        for term in &one.terms {
            holding.entry(term).or_default().push(at);
        }
    }
    let mut found: Vec<Contradiction> = Vec::new();
    let mut pairs = 0;
    for (at, one) in all.iter().enumerate().filter(|(_, one)| one.stance.is_turned()) {
        // Two of its words at least are the other's: those that share its second rarest word are all there are.
        let mut rare: Vec<&Vec<usize>> = one.terms.iter().filter_map(|term| holding.get(term.as_str())).collect();
        rare.sort_by_key(|holders| holders.len());
        let near: BTreeSet<usize> = rare.into_iter().take(2).flatten().copied().collect();
        for other in near.into_iter().filter(|other| *other != at).filter_map(|other| all.get(other)) {
            pairs += 1;
            if pairs > PAIRS || found.len() >= MAX_REPORTED {
                return found;
            }
            let known = |pair: &Contradiction| pair.one == other.said && pair.other == one.said;
            if other.said.source != one.said.source && disagree(&one.stance, &other.stance) && !found.iter().any(known)
            {
                found.push(Contradiction { one: one.said.clone(), other: other.said.clone() });
            }
        }
    }
    found
}

fn different_numbers(chunks: &[Chunk]) -> Vec<Contradiction> {
    let mut all: Vec<NumberedSentence> = Vec::new();
    for chunk in chunks {
        // The block and the text of the sentence before.
        let mut last: Option<(usize, String)> = None;
        for unit in sentences(&chunk.text, Format::Markdown) {
            let text = chunk.text.get(unit.bytes).unwrap_or_default();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (numbers, labels) = numbers(&text);
            let prose = unit.kind == Kind::Prose;
            let before = last.replace((unit.block, text.clone())).filter(|(block, _)| *block == unit.block && prose);
            // "It takes 90 minutes." says nothing without what takes so long.
            let text = match before {
                Some((_, before)) if leans(&text) => format!("{before} {text}"),
                _ => text,
            };
            if numbers.is_empty() || !matches!(unit.kind, Kind::Prose | Kind::Row) || all.len() >= MAX_COMPARED {
                continue;
            }
            let terms = words::terms(&text).into_iter().filter(|term| !term.starts_with(|c: char| c.is_ascii_digit()));
            all.push(NumberedSentence { terms: terms.collect(), text, source: chunk.source, numbers, labels });
        }
    }
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for other in all.iter().skip(at + 1).filter(|other| other.source != one.source) {
            let common = one.terms.intersection(&other.terms).count();
            let together = one.terms.union(&other.terms).count();
            if common < MIN_COMMON || (common as f64) < MIN_COMMON_SHARE * together as f64 {
                continue;
            }
            if differ(&one.numbers, &other.numbers) && !differ(&one.labels, &other.labels) {
                let said = |one: &NumberedSentence| SourcedSentence { text: one.text.clone(), source: one.source };
                found.push(Contradiction { one: said(one), other: said(other) });
                if found.len() == MAX_REPORTED {
                    return found;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_testing::growth::grows_in_line;

    fn chunk(source: usize, text: &str) -> Chunk {
        Chunk { source, text: text.into(), ..Chunk::default() }
    }

    #[test]
    fn conflicting_numbers_are_found_and_equal_ones_are_not() {
        let found = contradictions(&[
            chunk(0, "The bridge was opened in 1931. The bridge is 420 metres long in total."),
            chunk(1, "In total, the bridge is 450 metres long. It was opened by the king."),
            chunk(2, "The bridge is 420 metres long in total."),
            chunk(3, "The tunnel took 450 workers."),
        ]);
        let pairs: Vec<(usize, usize)> = found.iter().map(|one| (one.one.source, one.other.source)).collect();
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }

    #[test]
    fn s16_numbers_that_tell_one_of_many_contradict_nothing() {
        let found = contradictions(&[
            chunk(
                0,
                "Section 0 of the handbook is about the safe use of ladders. On floor 2 the fire drill takes 10 minutes.",
            ),
            chunk(
                1,
                "Section 3 of the handbook is about the safe use of ladders. On floor 3 the fire drill takes 15 minutes.",
            ),
            chunk(2, "On floor 3 the fire drill takes 20 minutes."),
        ]);
        let pairs: Vec<(usize, usize)> = found.iter().map(|one| (one.one.source, one.other.source)).collect();
        assert_eq!(pairs, [(1, 2)], "{found:?}");
    }

    #[test]
    fn b30_a_sentence_that_leans_on_another_contradicts_for_it() {
        let found = contradictions(&[
            chunk(0, "The ferry to Husum takes 75 minutes."),
            chunk(1, "The ferry to Husum leaves at noon. It takes 90 minutes."),
            chunk(2, "The bus to Kiel is green. It takes 60 minutes."),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].other.text, "The ferry to Husum leaves at noon. It takes 90 minutes.");
    }

    #[test]
    fn b30_opposites_in_words_alone_are_found_between_sources() {
        let found = contradictions(&[
            chunk(0, "The cache is enabled by default. The cache is not disabled by default."),
            chunk(1, "By default the cache is disabled. Streaming is supported by the API."),
            chunk(2, "The API does not support streaming. The cache is cleared before each run."),
            chunk(3, "The cache is cleared after each run, unless nothing changed."),
        ]);
        let pairs: Vec<(usize, usize)> = found.iter().map(|one| (one.one.source, one.other.source)).collect();
        assert_eq!(pairs, [(0, 1), (0, 1), (2, 1)]);
    }

    #[test]
    fn many_sentences_that_are_alike_take_linear_time() {
        grows_in_line("nodes", 750, |many| {
            let on = |at| if at % 2 == 0 { "enabled" } else { "disabled" };
            let chunks: Vec<Chunk> =
                (0..many).map(|at| chunk(at, &format!("The cache of node{at} is {}.", on(at)))).collect();
            contradictions(&chunks);
        });
        grows_in_line("opposites", 750, |many| {
            contradictions(&[
                chunk(0, &"The cache is not on. ".repeat(many)),
                chunk(1, &"The cache is on. ".repeat(many)),
            ]);
        });
    }

    #[test]
    fn x23_claims_are_numbers_with_units_and_names() {
        let found = claims("The bridge of Arnhem is 1,500 m long. It has 4.50 lanes; Rotterdam paid 3% of it.");
        let expected = ["1500 m", "3 %", "4.5 lane", "arnhem", "rotterdam"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }
}
