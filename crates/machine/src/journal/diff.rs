//! Where two runs part.

use serde::Serialize;
use serde_json::Value;

use super::read::{Journal, Line};
use loopwright_base::json::Raw;

/// The first event at which two journals differ, in what happened or in what was decided. Times do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parting {
    /// The event's number; 0 if the machines are made of other things.
    pub seq: u64,
    /// What differs: `machine`, `event`, `commands`, or `end` where one journal has no further events.
    pub what: &'static str,
    /// The one, as JSON.
    pub left: Option<String>,
    /// The other, as JSON.
    pub right: Option<String>,
}

/// The first difference of two journals.
pub fn compare(left: &Journal, right: &Journal) -> Option<Parting> {
    let pairs = left.lines.iter().zip(&right.lines).zip(1..);
    let parting = pairs.clone().find_map(|((left, right), seq)| {
        if left.event.kind != right.event.kind {
            return Some((seq, "event", Some(happened(left)), Some(happened(right))));
        }
        let differs = |(left, right): &(&Raw, &Raw)| left.text() != right.text() && timeless(left) != timeless(right);
        let other = left.commands.iter().zip(&right.commands).find(differs);
        let other = other.map(|(left, right)| (Some(left.text().to_owned()), Some(right.text().to_owned())));
        let shared = left.commands.len().min(right.commands.len());
        let longer = |line: &Line| line.commands.get(shared).map(|raw| raw.text().to_owned());
        let other = other.or_else(|| {
            let more = (longer(left), longer(right));
            (more.0.is_some() || more.1.is_some()).then_some(more)
        });
        other.map(|(left, right)| (seq, "commands", left, right))
    });
    let parting = parting.or_else(|| {
        let shared = left.lines.len().min(right.lines.len());
        let next = |journal: &Journal| journal.lines.get(shared).map(happened);
        (left.lines.len() != right.lines.len()).then(|| (shared as u64 + 1, "end", next(left), next(right)))
    });
    let parting = parting.or_else(|| {
        let made = |journal: &Journal| Some(Raw::of(&journal.machine).text().to_owned());
        (left.machine != right.machine).then(|| (0, "machine", made(left), made(right)))
    });
    parting.map(|(seq, what, left, right)| Parting { seq, what, left, right })
}

/// A command without its times.
fn timeless(command: &Raw) -> Value {
    let mut value = command.value();
    let mut open = vec![&mut value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for name in ["at", "duration", "expires"] {
                    members.remove(name);
                }
                open.extend(members.values_mut());
            }
            _ => {}
        }
    }
    value
}

fn happened(line: &Line) -> String {
    Raw::of(&line.event.kind).text().to_owned()
}
