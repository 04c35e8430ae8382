//! What passages claim, as far as it can be told without a model: numbers with what they count, and names; and where two
//! sources put different numbers into what is else the same sentence.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::state::Chunk;
use crate::core::retrieve::{
    chunks::Format,
    sentences::{Kind, sentences},
    words,
};

/// Sentences that are compared with each other.
const COMPARED: usize = 400;
/// Contradictions that are told.
const TOLD: usize = 10;
/// Of the words of both sentences this part must be common.
const ALIKE: f64 = 0.6;
/// So many words at least.
const LEAST: usize = 3;

/// Something that a source says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The sentence.
    pub text: String,
    /// The number of the source, from 0.
    pub source: usize,
}

/// Two sources that put different numbers into the same statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// What one says.
    pub one: Said,
    /// What the other says.
    pub other: Said,
}

/// Numbers and names of a text, each in one form: what counts as new, and what is not.
pub(super) fn claims(text: &str) -> BTreeSet<String> {
    let mut all: BTreeSet<String> =
        counted(text).into_iter().map(|(number, unit)| format!("{number} {unit}")).collect();
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

/// The numbers of a text, each with the word behind it.
fn counted(text: &str) -> Vec<(String, String)> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let mut all = Vec::new();
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
        let unit = if rest.is_empty() {
            let next = tokens.get(at + 1).copied().unwrap_or_default();
            let bare = next.trim_matches(|c: char| !c.is_alphanumeric() && c != '%').to_lowercase();
            words::terms(next).into_iter().next().unwrap_or(bare)
        } else {
            rest.to_lowercase()
        };
        all.push((number.to_owned(), unit));
    }
    all
}

struct Sentence {
    text: String,
    source: usize,
    numbers: Vec<(String, String)>,
    terms: HashSet<String>,
}

/// Where sources contradict each other in numbers.
pub(super) fn contradictions(chunks: &[Chunk]) -> Vec<Contradiction> {
    let mut all: Vec<Sentence> = Vec::new();
    for chunk in chunks {
        for unit in sentences(&chunk.text, Format::Markdown) {
            let text = chunk.text.get(unit.bytes).unwrap_or_default();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let numbers = counted(&text);
            if numbers.is_empty() || !matches!(unit.kind, Kind::Prose | Kind::Row) || all.len() >= COMPARED {
                continue;
            }
            let terms = words::terms(&text).into_iter().filter(|term| !term.starts_with(|c: char| c.is_ascii_digit()));
            all.push(Sentence { terms: terms.collect(), text, source: chunk.source, numbers });
        }
    }
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for other in all.iter().skip(at + 1).filter(|other| other.source != one.source) {
            let common = one.terms.intersection(&other.terms).count();
            let together = one.terms.union(&other.terms).count();
            if common < LEAST || (common as f64) < ALIKE * together as f64 {
                continue;
            }
            let differs = one.numbers.iter().any(|(number, unit)| {
                let same_unit = || other.numbers.iter().filter(|(_, theirs)| theirs == unit);
                same_unit().next().is_some() && same_unit().all(|(theirs, _)| theirs != number)
            });
            if differs {
                let said = |one: &Sentence| Said { text: one.text.clone(), source: one.source };
                found.push(Contradiction { one: said(one), other: said(other) });
                if found.len() == TOLD {
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
    fn x23_claims_are_numbers_with_units_and_names() {
        let found = claims("The bridge of Arnhem is 1,500 m long. It has 4.50 lanes; Rotterdam paid 3% of it.");
        let expected = ["1500 m", "3 %", "4.5 lane", "arnhem", "rotterdam"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }
}
