//! How well each topic is covered, and how much a cycle changed that.
//!
//! Gain compares only what both cycles know: a topic that came or went is no news about the others. The history starts
//! anew only where a topic came.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Checked, Rows};
use loopwright_base::error::Result;

/// The largest cosine of each topic with any chunk; 0 where there are no chunks. `topics` holds one vector for each.
pub fn coverage<T: Rows + ?Sized, C: Rows + ?Sized>(topics: &T, chunks: &C) -> Result<Vec<f32>> {
    let mut width = None;
    let topics = Checked::new("topics", topics, &mut width)?;
    let chunks = Checked::new("chunks", chunks, &mut width)?;
    Ok((0..topics.count()).map(|at| chunks.nearest(topics.row(at)).map_or(0.0, |(_, cosine)| cosine)).collect())
}

/// One topic's coverage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topic {
    /// What names it, the same in all cycles.
    pub name: String,
    /// Its coverage.
    pub covered: f32,
}

/// The coverage vector of a cycle, with the names of its topics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coverage {
    /// One for each topic.
    pub topics: Vec<Topic>,
}

impl Coverage {
    /// Names and numbers side by side; what is left over of the longer is dropped.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>, covered: impl IntoIterator<Item = f32>) -> Self {
        let one = |(name, covered): (_, f32)| Topic { name: Into::<String>::into(name), covered };
        Self { topics: names.into_iter().zip(covered).map(one).collect() }
    }

    /// By name; the last of equal names.
    fn by_name(&self) -> BTreeMap<&str, f32> {
        self.topics.iter().map(|topic| (topic.name.as_str(), topic.covered)).collect()
    }
}

/// The length of the change over the topics that both have; `None` where they share none.
pub fn gain(prev: &Coverage, now: &Coverage) -> Option<f32> {
    let (prev, now) = (prev.by_name(), now.by_name());
    let mut shared = now.iter().filter_map(|(name, covered)| Some((covered, prev.get(name)?))).peekable();
    shared.peek()?;
    let squares = shared.map(|(now, prev)| (f64::from(*now) - f64::from(*prev)).powi(2));
    Some(squares.sum::<f64>().sqrt() as f32)
}

/// The gains of a research, cycle by cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gains {
    /// One for each cycle since the history started.
    pub history: Vec<f32>,
    /// The coverage that the next one is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Coverage>,
}

impl Gains {
    /// Takes the coverage of a cycle and says what it gained; `None` for the first, and where a new topic came, which
    /// starts the history anew at `[1.0]`.
    pub fn record(&mut self, now: Coverage) -> Option<f32> {
        let prev = self.last.replace(now)?;
        let now = self.last.as_ref()?;
        let known = prev.by_name();
        if now.topics.iter().any(|topic| !known.contains_key(topic.name.as_str())) {
            self.history = vec![1.0];
            return None;
        }
        let gained = gain(&prev, now)?;
        self.history.push(gained);
        Some(gained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b21_coverage_is_the_best_chunk_for_each_topic() {
        let topics = [vec![1.0, 0.0], vec![0.0, 2.0]];
        let covered = coverage(&topics, &[vec![0.6, 0.8], vec![3.0, 0.0]]).unwrap();
        assert!((covered[0] - 1.0).abs() < 1e-6 && (covered[1] - 0.8).abs() < 1e-6, "{covered:?}");
        let none: [Vec<f32>; 0] = [];
        assert_eq!(coverage(&topics, &none).unwrap(), [0.0, 0.0]);
        assert!(coverage(&none, &topics).unwrap().is_empty());
        assert_eq!(coverage(&topics, &[vec![1.0]]).unwrap_err().code, "ragged");
    }

    #[test]
    fn b22_gain_is_the_length_of_the_change() {
        let prev = Coverage::new(["a", "b"], [0.1, 0.2]);
        let now = Coverage::new(["a", "b"], [0.4, 0.6]);
        assert!((gain(&prev, &now).unwrap() - 0.5).abs() < 1e-6);
        assert_eq!(gain(&prev, &prev), Some(0.0));
    }

    #[test]
    fn x23_only_shared_topics_are_compared() {
        let prev = Coverage::new(["a", "gone"], [0.1, 0.9]);
        let now = Coverage::new(["new", "a"], [0.8, 0.4]);
        assert!((gain(&prev, &now).unwrap() - 0.3).abs() < 1e-6, "order and other topics do not matter");
        assert_eq!(gain(&prev, &Coverage::new(["x"], [0.5])), None);
        assert_eq!(gain(&Coverage::default(), &Coverage::default()), None);
    }

    #[test]
    fn x23_history_starts_anew_only_where_a_topic_came() {
        let mut gains = Gains::default();
        assert_eq!(gains.record(Coverage::new(["a", "b"], [0.1, 0.1])), None);
        assert!(gains.record(Coverage::new(["a", "b"], [0.2, 0.1])).is_some());
        assert!(gains.record(Coverage::new(["b"], [0.3])).is_some(), "a topic that went is no reason");
        assert_eq!(gains.history.len(), 2);
        assert_eq!(gains.record(Coverage::new(["b", "c"], [0.3, 0.4])), None);
        assert_eq!(gains.history, [1.0]);
        assert_eq!(gains.record(Coverage::new(["b", "c"], [0.3, 0.4])), Some(0.0));
        let text = serde_json::to_string(&gains).unwrap();
        assert_eq!(serde_json::from_str::<Gains>(&text).unwrap(), gains);
    }
}
