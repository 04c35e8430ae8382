//! How many steps a request has, and whether they need each other.

use super::{
    signals::{Found, Reader, is_content, marked},
    words::{Act, Mark, among},
};
use loopwright_lexicon::reading::{Sentence, Token};

impl Reader<'_> {
    /// How many steps there are, and whether they need each other.
    pub(super) fn shape(&mut self) {
        let tokens = &self.reading.tokens;
        let steps = self.acts.iter().filter(|found| !self.is_idle(found)).count();
        let ordered = marked(tokens, Mark::Ordered);
        let items: Vec<&Sentence> = self.reading.sentences.iter().filter(|s| s.item).collect();
        let numbered = items
            .iter()
            .filter(|s| {
                let line =
                    self.message.get(..s.bytes.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
                line.trim().starts_with(|c: char| c.is_ascii_digit())
            })
            .count();
        let acting_items =
            items.iter().filter(|s| self.acts.iter().any(|found| s.tokens.contains(&found.own.start))).count();
        let refers_back = self.acts.iter().skip(1).any(|found| {
            let object = self.object(found);
            object.iter().take(2).any(|t| among("it|them|that|those|result|results|these|this", t))
                || object
                    .windows(2)
                    .any(|two| two[0].word == "the" && among("result|results|output|findings|answer|summary", &two[1]))
        });
        let strong = tokens
            .iter()
            .enumerate()
            .find(|(_, t)| among("simultaneously|independently|separately|concurrently|meanwhile", t))
            .map(|(at, _)| at..at + 1)
            .or_else(|| {
                (0..tokens.len())
                    .find(|&at| {
                        let word = |at: usize| tokens.get(at).map_or("", |t| t.word.as_str());
                        (word(at) == "in" && word(at + 1) == "parallel")
                            || (word(at) == "at"
                                && word(at + 1) == "the"
                                && word(at + 2) == "same"
                                && word(at + 3) == "time")
                    })
                    .map(|at| at..at + 2)
            });
        let beside = marked(tokens, Mark::Independent);
        let counted =
            tokens.iter().any(|t| among("first|firstly", t)) && tokens.iter().any(|t| among("second|secondly", t));
        let then =
            ordered.is_some_and(|(at, _)| tokens.get(at).is_some_and(|t| !among("finally|lastly", t)) && (at > 0));
        let research_parts = self.acts.iter().any(|found| found.act == Act::Research && parts(self.object(found)) >= 2);
        let bullets = acting_items >= 2 && numbered == 0;
        let mut independent = None;
        if let Some(own) =
            strong.filter(|_| steps >= 2 || research_parts || !self.acts.is_empty() && self.seen.words > 5)
        {
            self.seen.says_parallel = true;
            independent = Some(own);
        } else if !then && !refers_back {
            let firm = |at: usize, length: usize| {
                length > 1 && tokens.get(at + length - 1).is_some_and(|t| among("also|as|addition", t))
            };
            if let Some((at, length)) =
                beside.filter(|(at, length)| steps >= 2 || (steps == 1 && *at > 1 && firm(*at, *length)))
            {
                independent = Some(at..at + length);
            } else if counted && steps >= 2 {
                independent = tokens.iter().position(|t| among("second|secondly", t)).map(|at| at..at + 1);
            } else if research_parts {
                independent =
                    self.acts.iter().find(|found| found.act == Act::Research).map(|found| found.own.start..found.end);
            } else if bullets && steps >= 2 {
                independent = items.first().map(|s| s.tokens.clone());
            }
        }
        let split = independent.is_some();
        if let Some(own) = independent {
            self.seen.signals.has_independent_parts = true;
            self.note_tokens("independent_parts", own);
        }
        let multi = (steps >= 2 && !split)
            || numbered >= 2 && !self.acts.is_empty()
            || (then && steps >= 1 && self.seen.words > 6);
        if multi {
            self.seen.signals.is_multi_step = true;
            match ordered {
                Some((at, length)) => self.note_tokens("multi_step", at..at + length),
                None => {
                    if let Some(own) = self.acts.get(1).map(|found| found.own.clone()) {
                        self.note_tokens("multi_step", own);
                    }
                }
            }
        }
        let wide = marked(tokens, Mark::Wide);
        self.seen.wide = wide.is_some();
        let long = self.seen.words > 20;
        if !self.acts.is_empty() && (multi || long || wide.is_some() || steps >= 3) {
            self.seen.signals.is_complex = true;
            if let Some((at, length)) = wide {
                self.note_tokens("complex", at..at + length);
            } else if long {
                self.note_tokens("complex", 0..tokens.len());
            }
        }
    }

    /// "Help me", "go ahead": opens a request, and is no step of it.
    pub(super) fn is_idle(&self, found: &Found) -> bool {
        let first = self.reading.tokens.get(found.own.start);
        first.is_some_and(|t| {
            among("help|try|make|let|keep|use|do|proceed|continue|wait|say|ensure|confirm|pretend|act|imagine", t)
        }) && self.acts.len() > 1
            && self.object(found).iter().filter(|t| is_content(t)).count() < 2
            || first.is_some_and(|t| {
                among(
                    "ensure|make|keep|use|wait|allow|prevent|let|report|reply|say|answer|confirm|handle|support|try",
                    t,
                )
            }) && self.acts.first().is_some_and(|one| one.own != found.own)
    }
}

/// How many things an object lists.
fn parts(object: &[Token]) -> usize {
    let idiom = object
        .windows(3)
        .any(|three| three[1].word == "and" && among("pros|trial|supply|research|black|terms", &three[0]));
    let joints = object
        .iter()
        .enumerate()
        .filter(|(at, token)| {
            *at > 0
                && (among("and|vs|versus|against|with|or", token)
                    || (token.after_mark && is_content(token) && at + 1 < object.len()))
        })
        .count();
    if idiom { 1 } else { 1 + joints }
}
