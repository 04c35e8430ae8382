//! Records of calls and requests in a snapshot: each name once, no keys, times as bits.
//!
//! It grows with a run and is most of what is saved, so going on reads it in a fraction of the time that the outcome's
//! own form would take. What comes out is bit for bit what went in.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{CallRecord, IterationRecord};
use loopwright_base::json::Raw;

/// A call: its id, its tool, its arguments, the iteration, time and duration, and its failure.
type CallRow<S, R> = (S, u32, R, u32, u64, u64, Option<u32>);
/// A request: its number, its duration, and the attempts.
type IterationRow = (u32, u64, u32);

/// The records to write.
#[derive(Debug, Serialize)]
pub(super) struct WrittenRecords<'a> {
    names: Vec<&'a str>,
    calls: Vec<CallRow<&'a str, &'a Raw>>,
    iterations: Vec<IterationRow>,
}

/// The records that were read.
#[derive(Debug, Deserialize)]
pub(super) struct ReadRecords {
    names: Vec<String>,
    calls: Vec<CallRow<String, Raw>>,
    iterations: Vec<IterationRow>,
}

impl<'a> WrittenRecords<'a> {
    pub(super) fn of(calls: &'a [CallRecord], iterations: &[IterationRecord]) -> Self {
        let (mut names, mut known) = (Vec::new(), HashMap::new());
        let mut place = |name: &'a str| {
            *known.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            })
        };
        let calls = calls.iter().map(|call| {
            let name = place(&call.name);
            let failure = call.failure.as_deref().map(&mut place);
            let times = (call.at.to_bits(), call.duration.to_bits());
            (call.id.as_str(), name, &call.input, call.iteration, times.0, times.1, failure)
        });
        let calls = calls.collect();
        let iterations = iterations.iter().map(|one| (one.iteration, one.duration.to_bits(), one.attempts)).collect();
        Self { names, calls, iterations }
    }
}

impl ReadRecords {
    /// The records; `None` if they name something that is not there.
    pub(super) fn records(self) -> Option<(Vec<CallRecord>, Vec<IterationRecord>)> {
        let name = |at: u32| self.names.get(at as usize).cloned();
        let calls = self.calls.into_iter().map(|(id, tool, input, iteration, at, duration, failure)| {
            let failure = match failure {
                Some(at) => Some(name(at)?),
                None => None,
            };
            let (at, duration) = (f64::from_bits(at), f64::from_bits(duration));
            Some(CallRecord { id, name: name(tool)?, input, iteration, at, duration, failure })
        });
        let iterations = self.iterations.into_iter().map(|(iteration, duration, attempts)| IterationRecord {
            iteration,
            duration: f64::from_bits(duration),
            attempts,
        });
        Some((calls.collect::<Option<_>>()?, iterations.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str, failure: Option<&str>) -> CallRecord {
        let input = Raw::parse("{\"n\": 1.50, \"x\":\"\\u00fc\"}").unwrap();
        let failure = failure.map(str::to_owned);
        CallRecord { id: id.into(), name: name.into(), input, iteration: 3, at: 0.1 + 0.2, duration: 2.4e-5, failure }
    }

    #[test]
    fn d46_records_are_read_as_they_were() {
        let calls =
            vec![call("a", "look", None), call("b\"\n", "look", Some("timeout")), call("", "timeout", Some("look"))];
        let iterations = vec![IterationRecord { iteration: 1, duration: f64::MIN_POSITIVE, attempts: 2 }];
        let text = serde_json::to_string(&WrittenRecords::of(&calls, &iterations)).unwrap();
        assert_eq!(text.matches("look").count(), 1, "{text}");
        let read: ReadRecords = serde_json::from_str(&text).unwrap();
        assert_eq!(read.records().unwrap(), (calls, iterations));
        let wrong: ReadRecords = serde_json::from_str(&text.replace("[\"look\",\"timeout\"]", "[\"look\"]")).unwrap();
        assert!(wrong.records().is_none());
    }
}
