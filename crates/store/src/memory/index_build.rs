//! Term counts of many texts at once: most of the time of opening a large memory, so several threads do it.

use std::{collections::HashMap, thread};

use super::index::Index;
use loopwright_lexicon::words;

/// The number of texts below which the calling thread counts alone.
const PARALLEL_FROM: usize = 4_096;
/// Threads at most: more help little, as one of them joins the results.
const MAX_THREADS: usize = 4;

/// The terms of some texts, each with its frequency, by their numbers in an index.
pub(super) struct TermCounts {
    /// The end of each text's terms.
    ends: Vec<usize>,
    terms: Vec<(u32, f32)>,
}

impl TermCounts {
    /// The terms of the text at this place.
    pub(super) fn terms_of(&self, at: usize) -> &[(u32, f32)] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.terms.get(start..end).unwrap_or_default()
    }
}

/// The result of one thread: terms under numbers of its own.
#[derive(Default)]
struct PartialCounts {
    known: HashMap<Box<str>, u32>,
    ends: Vec<usize>,
    terms: Vec<(u32, f32)>,
}

impl PartialCounts {
    fn of(texts: &[String]) -> Self {
        let mut part = Self::default();
        for text in texts {
            let start = part.terms.len();
            let Self { known, terms, .. } = &mut part;
            words::each_term(text, |term| {
                let number = if let Some(&number) = known.get(term) {
                    number
                } else {
                    let number = known.len() as u32;
                    known.insert(term.into(), number);
                    number
                };
                terms.push((number, 1.0));
            });
            // Each term once, with how often it stands there.
            let own = part.terms.get_mut(start..).unwrap_or_default();
            own.sort_unstable_by_key(|(number, _)| *number);
            let mut kept = start;
            for at in start..part.terms.len() {
                let Some(&(number, count)) = part.terms.get(at) else { break };
                match kept.checked_sub(1).filter(|&last| last >= start).and_then(|last| part.terms.get_mut(last)) {
                    Some(last) if last.0 == number => last.1 += count,
                    _ => {
                        if let Some(place) = part.terms.get_mut(kept) {
                            *place = (number, count);
                        }
                        kept += 1;
                    }
                }
            }
            part.terms.truncate(kept);
            part.ends.push(kept);
        }
        part
    }
}

/// Counts the terms of texts; they get numbers in `index`.
pub(super) fn count_terms(index: &mut Index, texts: &[String]) -> TermCounts {
    let threads = if texts.len() < PARALLEL_FROM {
        1
    } else {
        thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
    };
    let parts: Vec<PartialCounts> = if threads < 2 {
        vec![PartialCounts::of(texts)]
    } else {
        thread::scope(|scope| {
            let started: Vec<_> = texts
                .chunks(texts.len().div_ceil(threads))
                .map(|chunk| (chunk, thread::Builder::new().spawn_scoped(scope, || PartialCounts::of(chunk))))
                .collect();
            // Where no thread can be had, this one does it.
            let finish =
                |(chunk, started): (&[String], std::io::Result<thread::ScopedJoinHandle<'_, PartialCounts>>)| {
                    started.ok().and_then(|handle| handle.join().ok()).unwrap_or_else(|| PartialCounts::of(chunk))
                };
            started.into_iter().map(finish).collect()
        })
    };
    let mut all = TermCounts { ends: Vec::with_capacity(texts.len()), terms: Vec::new() };
    for part in parts {
        let mut named: Vec<(&str, u32)> = part.known.iter().map(|(term, &number)| (&**term, number)).collect();
        // In the order they were met: the same texts give the same index.
        named.sort_unstable_by_key(|(_, number)| *number);
        let numbers = index.numbers(named.into_iter().map(|(term, _)| term));
        let start = all.terms.len();
        all.terms.extend(
            part.terms.iter().map(|&(own, count)| (numbers.get(own as usize).copied().unwrap_or(u32::MAX), count)),
        );
        all.ends.extend(part.ends.iter().map(|end| start + end));
    }
    all
}
