//! Whether passages hold an answer: one rule, for an index, for what was gathered and for a list of sources.
//!
//! Support is the share of the question, each word weighted by its rarity among all passages, that one of the best
//! passages holds; less where that are fewer than three words with a meaning of their own. Names weigh more, and words
//! that only shape a question less. The constants and [`ANSWERABLE`] were measured, see
//! `docs/measurements/retrieval.md`.

use std::collections::HashSet;

use super::{bm25::idf, passages::passages, question::Question};
use loopwright_base::sources::{Source, SourceKind};
use loopwright_lexicon::{lines::Format, words};

/// From this support on passages are taken to hold an answer.
pub const ANSWERABLE: f64 = 0.36;
/// How many of the best passages are looked at.
pub const SUPPORTING: usize = 5;
/// So many words of a longer question must stand together.
const ENOUGH_WORDS: usize = 3;
/// What a word weighs that only shapes a question, and what a name weighs.
const SOFT_WEIGHT: f64 = 0.5;
const NAME_WEIGHT: f64 = 2.0;
/// A few passages say little about how rare a word is: as if there were so many more.
const MORE_PASSAGES: usize = 20;
/// What the parts of an identifier count together.
const PARTS: f64 = 0.9;
/// Among fewer passages than these nothing is known of what is usual.
const MANY_PASSAGES: usize = 20;
/// In more than this part of all passages a word is usual.
const USUAL: f64 = 0.3;
/// What support is worth more where words meet only as they are written.
const UNSTEMMED: f64 = 1.2;
/// Sentences in a passage of a source.
const SENTENCES: usize = 6;

/// Words that say which of several is asked for, and not what.
const PLACES: [&str; 5] = ["first", "second", "third", "last", "next"];

/// A word that is asked for.
struct Need {
    whole: usize,
    parts: Vec<usize>,
    weight: f64,
    /// Whether it only shapes the question.
    soft: bool,
}

/// The words of a question.
pub struct Asked {
    terms: Vec<String>,
    needs: Vec<Need>,
    /// Whether words meet only as they are written, and so less often.
    unstemmed: bool,
}

impl Asked {
    /// Reads a question.
    pub fn read(question: &str) -> Self {
        let mut asked = Self { terms: Vec::new(), needs: Vec::new(), unstemmed: false };
        let question = Question::read(question);
        asked.unstemmed = question.unstemmed;
        for need in question.needs {
            let whole = asked.term(&need.word.whole);
            let parts = need.word.parts.iter().map(|part| asked.term(part)).collect();
            let soft = !need.nameable || PLACES.contains(&need.word.surface.to_lowercase().as_str());
            let weight = if soft {
                SOFT_WEIGHT
            } else if need.word.is_name() {
                NAME_WEIGHT
            } else {
                1.0
            };
            asked.needs.push(Need { whole, parts, weight, soft });
        }
        asked
    }

    fn term(&mut self, term: &str) -> usize {
        self.terms.iter().position(|known| known == term).unwrap_or_else(|| {
            self.terms.push(term.to_owned());
            self.terms.len() - 1
        })
    }

    /// All terms, in the order in which passages are described.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The support that `best` passages give, each told as which terms it holds; of `all` passages `holding` hold each.
    pub fn support(&self, all: usize, holding: &[usize], best: impl IntoIterator<Item = Vec<bool>>) -> f64 {
        let holders = |at: usize| holding.get(at).copied().unwrap_or(0);
        let weight = |need: &Need| {
            // A word that stands nowhere is rarer than one that stands once, but not without end.
            let rarity = match holders(need.whole) {
                0 => f64::midpoint(idf(all + MORE_PASSAGES, 0), idf(all + MORE_PASSAGES, 1)),
                holding => idf(all + MORE_PASSAGES, holding),
            };
            need.weight * rarity
        };
        let weights: Vec<f64> = self.needs.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            return 0.0;
        }
        // What stands in so many passages has no meaning of its own, whatever language it is of.
        let usual = |need: &Need| all >= MANY_PASSAGES && holders(need.whole) as f64 > USUAL * all as f64;
        let soft: Vec<bool> = self.needs.iter().map(|need| need.soft || usual(need)).collect();
        let enough = soft.iter().filter(|soft| !**soft).count().clamp(1, ENOUGH_WORDS);
        let (mut most, mut words) = (0.0_f64, 0_usize);
        for passage in best {
            let has = |at: &usize| passage.get(*at).copied().unwrap_or(false);
            let (mut covered, mut met) = (0.0, 0);
            for ((need, weight), soft) in self.needs.iter().zip(&weights).zip(&soft) {
                let share = if has(&need.whole) {
                    1.0
                } else if need.parts.is_empty() {
                    0.0
                } else {
                    PARTS * need.parts.iter().filter(|part| has(part)).count() as f64 / need.parts.len() as f64
                };
                covered += share * weight;
                met += usize::from(share > 0.0 && !soft);
            }
            most = most.max(covered / total);
            words = words.max(met);
        }
        let support = most * (words as f64 / enough as f64).min(1.0);
        if self.unstemmed { (support * UNSTEMMED).min(1.0) } else { support }
    }
}

/// The support that a list of sources gives: they are all there is. What stands in two of them counts once.
pub fn of_sources(question: &str, sources: &[Source]) -> f64 {
    let asked = Asked::read(question);
    let (mut all, mut holding) = (0, vec![0; asked.terms.len()]);
    let mut best: Vec<(f64, Vec<bool>)> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for source in sources {
        let format = match source.kind {
            SourceKind::File => Format::of_path(&source.reference),
            SourceKind::Thread | SourceKind::Web | SourceKind::Tool | SourceKind::Memory => Format::Markdown,
        };
        let name = if source.kind == SourceKind::File { source.reference.as_str() } else { "" };
        let around = format!("{name} {}", source.heading);
        if !seen.insert(source.text.trim()) || (source.kind == SourceKind::Thread && source.text.trim().ends_with('?'))
        {
            continue;
        }
        for passage in passages(&source.text, format, SENTENCES) {
            let text = passage.text(&source.text);
            let mut held = vec![false; asked.terms.len()];
            for part in [text, passage.heading.as_str(), around.as_str()] {
                words::each_term(part, |term| {
                    if let Some(slot) =
                        asked.terms.iter().position(|known| known == term).and_then(|at| held.get_mut(at))
                    {
                        *slot = true;
                    }
                });
            }
            all += 1;
            for (count, held) in holding.iter_mut().zip(&held) {
                *count += usize::from(*held);
            }
            best.push((0.0, held));
        }
    }
    let rarity: Vec<f64> = holding.iter().map(|holding| idf(all + MORE_PASSAGES, *holding)).collect();
    for (score, held) in &mut best {
        *score = held.iter().zip(&rarity).filter(|(held, _)| **held).map(|(_, rarity)| rarity).sum();
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    asked.support(all, &holding, best.into_iter().take(SUPPORTING).map(|(_, held)| held))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> Vec<Source> {
        let source = |(at, text): (usize, &&str)| Source {
            reference: format!("{at}.md"),
            line: 1,
            end_line: 1,
            text: (*text).to_owned(),
            ..Source::default()
        };
        texts.iter().enumerate().map(source).collect()
    }

    #[test]
    fn x15_what_stands_there_supports_and_what_does_not_does_not() {
        let all = sources(&[
            "A failed request is tried again up to 3 times.",
            "The cache holds ten pages and forgets the oldest.",
            "The ferry to Husum leaves at noon.",
        ]);
        assert!(of_sources("How often is a failed request tried?", &all) >= ANSWERABLE);
        assert!(of_sources("When does the ferry leave?", &all) >= ANSWERABLE);
        assert!(of_sources("Who is the king of Spain?", &all) < ANSWERABLE);
        assert!(of_sources("How many pages has the longest novel by Tolstoy?", &all) < ANSWERABLE);
        assert!(of_sources("", &all) <= 0.0 && of_sources("x", &[]) <= 0.0);
    }

    #[test]
    fn x15_which_of_several_is_not_what_is_asked_for() {
        let all = sources(&[
            "The model is asked for the capital of Norway first.",
            "The first page is read, then the last one.",
            "A king may move one square in any direction.",
        ]);
        assert!(of_sources("Who was the first king of Norway?", &all[..2]) < ANSWERABLE);
        assert!(of_sources("Which page is read first?", &all) >= ANSWERABLE);
    }

    #[test]
    fn x15_a_text_that_is_there_three_times_counts_once() {
        let text = "The timeout of a request is 30 seconds.";
        let (once, thrice) = (sources(&[text, "Other."]), sources(&[text, text, text, "Other."]));
        let question = "What is the timeout of a request?";
        assert!((of_sources(question, &once) - of_sources(question, &thrice)).abs() < 1e-9);
    }
}
