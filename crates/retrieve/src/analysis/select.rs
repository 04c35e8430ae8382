//! Which chunks of a cycle enter the knowledge base: relevant to a topic, and not what is there already.
//!
//! Redundancy is measured against what is kept and against what this very batch has chosen before, so fifteen copies of
//! one page can't all enter.

use serde::{Deserialize, Serialize};

use super::{Background, Checked, Cut, Rows};
use loopwright_base::error::{Error, Result};

/// How chunks are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectPolicy {
    /// Weight of relevance; novelty has the rest.
    pub relevance: f32,
    /// Chunks chosen at most.
    pub top: usize,
    /// Chunks that are nearer than this to their best topic count as relevant; others are left out. The originals have
    /// no such threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<Cut>,
    /// Chunks that are at least this near to what is kept are copies and left out, however relevant.
    pub copy: Option<Cut>,
    /// What cuts in standard deviations are measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
}

impl Default for SelectPolicy {
    fn default() -> Self {
        Self { relevance: 0.65, top: 15, least: None, copy: Some(Cut::Cosine(0.995)), background: None }
    }
}

/// A chunk that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// Which chunk.
    pub chunk: usize,
    /// The topic that it is most relevant to.
    pub topic: usize,
    /// Relevance minus redundancy, as it was when the chunk was chosen.
    pub score: f32,
    /// Its cosine with the topic.
    pub relevance: f32,
    /// How far it is from all that was kept before it: 1 minus the largest cosine, 1 where nothing was kept.
    pub novelty: f32,
}

/// The best chunks, best first: `0.65 · cos(hyde(topic), chunk) − 0.35 · max cos(kept, chunk)`, chosen greedily, where
/// what was chosen counts as kept. `hyde` holds one vector for each topic.
pub fn select<H: Rows + ?Sized, C: Rows + ?Sized, K: Rows + ?Sized>(
    hyde: &H,
    chunks: &C,
    kept: &K,
    policy: &SelectPolicy,
) -> Result<Vec<Selected>> {
    let weight = policy.relevance;
    if !(0.0..=1.0).contains(&weight) {
        return Err(Error::usage("invalid_value", format!("a relevance of {weight}")).hint("give a number from 0 to 1"));
    }
    let background = policy.background.as_ref();
    let least = policy.least.map(|cut| cut.at(background)).transpose()?;
    let copy = policy.copy.map(|cut| cut.at(background)).transpose()?;
    let mut width = None;
    let topics = Checked::new("hyde", hyde, &mut width)?;
    let chunks = Checked::new("chunks", chunks, &mut width)?;
    let kept = Checked::new("kept", kept, &mut width)?;
    if topics.count() == 0 && chunks.count() > 0 {
        return Err(Error::usage("empty", "hyde holds no topic").hint("give one vector for each topic"));
    }
    let candidate = |chunk: usize| {
        let (topic, relevance) = topics.nearest(chunks.row(chunk))?;
        if least.is_some_and(|least| relevance < least) {
            return None;
        }
        let kept = kept.nearest(chunks.row(chunk)).map(|(_, cosine)| cosine);
        Some(Candidate { chunk, topic, relevance, kept })
    };
    let mut left: Vec<Candidate> = (0..chunks.count()).filter_map(candidate).collect();
    let mut chosen: Vec<Selected> = Vec::new();
    while chosen.len() < policy.top {
        left.retain(|candidate| !copy.is_some_and(|copy| candidate.kept.is_some_and(|cosine| cosine >= copy)));
        let mut best: Option<(usize, f32)> = None;
        for (at, candidate) in left.iter().enumerate() {
            let score = candidate.score(weight);
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((at, score));
            }
        }
        let Some((at, score)) = best else { break };
        let taken = left.remove(at);
        for other in &mut left {
            let cosine = chunks.cosine(taken.chunk, &chunks, other.chunk);
            other.kept = Some(other.kept.map_or(cosine, |kept| kept.max(cosine)));
        }
        let novelty = 1.0 - taken.kept.unwrap_or(0.0);
        let Candidate { chunk, topic, relevance, .. } = taken;
        chosen.push(Selected { chunk, topic, score, relevance, novelty });
    }
    Ok(chosen)
}

/// A chunk that may be chosen.
struct Candidate {
    chunk: usize,
    topic: usize,
    relevance: f32,
    /// The largest cosine with what is kept, if anything is.
    kept: Option<f32>,
}

impl Candidate {
    fn score(&self, weight: f32) -> f32 {
        weight * self.relevance - (1.0 - weight) * self.kept.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::rows, *};

    const NONE: [Vec<f32>; 0] = [];

    #[test]
    fn b20_score_is_relevance_minus_redundancy() {
        let topic = [vec![1.0, 0.0, 0.0]];
        let chunks = [vec![0.8, 0.6, 0.0], vec![0.6, 0.0, 0.8]];
        let kept = [vec![0.0, 1.0, 0.0]];
        let chosen = select(&topic, &chunks, &kept, &SelectPolicy::default()).unwrap();
        assert_eq!(chosen.iter().map(|one| one.chunk).collect::<Vec<_>>(), [1, 0]);
        assert!((chosen[0].score - 0.65 * 0.6).abs() < 1e-6, "{chosen:?}");
        // The second pays for the first of the same batch too, but what was kept before is nearer: 0.6.
        assert!((chosen[1].score - (0.65 * 0.8 - 0.35 * 0.6)).abs() < 1e-6, "{chosen:?}");
        assert!((chosen[1].novelty - 0.4).abs() < 1e-6);
    }

    #[test]
    fn b20_near_copies_of_one_page_do_not_fill_the_batch() {
        let topic = [vec![1.0, 0.0, 0.0, 0.0]];
        let mut chunks: Vec<Vec<f32>> = (0..15).map(|at| vec![0.9, 0.43, 0.002 * at as f32, 0.0]).collect();
        chunks.push(vec![0.7, 0.0, 0.7, 0.0]);
        chunks.push(vec![0.7, 0.0, 0.0, 0.7]);
        let policy = SelectPolicy { top: 3, ..SelectPolicy::default() };
        let mut chosen: Vec<usize> =
            select(&topic, &chunks, &NONE, &policy).unwrap().iter().map(|one| one.chunk.max(14)).collect();
        chosen.sort_unstable();
        assert_eq!(chosen, [14, 15, 16], "one of the copies, and both others");
        // Copies stay out though there is room.
        assert_eq!(select(&topic, &chunks, &NONE, &SelectPolicy::default()).unwrap().len(), 3);
    }

    #[test]
    fn b20_fifteen_at_most_and_each_for_its_topic() {
        let topics = rows(1, 4, 24);
        let chunks = rows(2, 300, 24);
        let chosen = select(&topics, &chunks, &rows(3, 20, 24), &SelectPolicy::default()).unwrap();
        assert_eq!(chosen.len(), 15);
        for one in &chosen {
            let cosine = |topic: &Vec<f32>| super::super::cosine(topic, &chunks[one.chunk]).unwrap();
            let best = topics.iter().map(cosine).fold(f32::MIN, f32::max);
            assert!((cosine(&topics[one.topic]) - best).abs() < 1e-6);
        }
        assert!(chosen.windows(2).all(|two| two[0].score >= two[1].score), "redundancy only grows");
        assert_eq!(chosen, select(&topics, &chunks, &rows(3, 20, 24), &SelectPolicy::default()).unwrap());
    }

    #[test]
    fn a_threshold_keeps_chunks_out_that_fit_no_topic() {
        let policy = SelectPolicy { least: Some(Cut::Cosine(0.5)), ..SelectPolicy::default() };
        let chosen = select(&[vec![1.0, 0.0]], &[vec![0.0, 1.0], vec![1.0, 0.2]], &NONE, &policy).unwrap();
        assert_eq!(chosen.len(), 1);
        assert_eq!(chosen[0].chunk, 1);
    }

    #[test]
    fn a_policy_without_thresholds_comes_back_as_it_was() {
        let policy = SelectPolicy { copy: None, ..SelectPolicy::default() };
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<SelectPolicy>(&text).unwrap(), policy);
    }

    #[test]
    fn hostile_batches_are_typed_errors() {
        let policy = SelectPolicy::default();
        let code = |hyde: &[Vec<f32>], chunks: &[Vec<f32>]| select(hyde, chunks, &NONE, &policy).unwrap_err().code;
        assert_eq!(code(&[], &[vec![1.0]]), "empty");
        assert_eq!(code(&[vec![1.0, 2.0]], &[vec![1.0]]), "ragged");
        assert_eq!(code(&[vec![1.0, 2.0]], &[vec![1.0, f32::NAN]]), "not_finite");
        assert_eq!(code(&[vec![1.0, 2.0]], &[vec![0.0, 0.0]]), "zero_vector");
        assert!(select(&NONE, &NONE, &NONE, &policy).unwrap().is_empty());
        let wrong = SelectPolicy { relevance: f32::NAN, ..policy };
        assert_eq!(select(&NONE, &NONE, &NONE, &wrong).unwrap_err().code, "invalid_value");
    }
}
