//! The first difference of two journals.

use serde::Serialize;
use serde_json::Value;

use super::read::{Journal, JournalLine};
use loopwright_base::json::Raw;

/// The first event at which two journals differ, in the event or in the commands. Times do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The event's number; 0 if the configurations differ.
    pub seq: u64,
    /// The part that differs: `machine`, `event`, `commands`, or `end` where one journal has no further events.
    pub what: &'static str,
    /// The left value, as JSON.
    pub left: Option<String>,
    /// The right value, as JSON.
    pub right: Option<String>,
}

/// The first difference of two journals.
pub fn compare(left: &Journal, right: &Journal) -> Option<Difference> {
    let pairs = left.lines.iter().zip(&right.lines).zip(1..);
    let parting = pairs.clone().find_map(|((left, right), seq)| {
        if left.event.kind != right.event.kind {
            return Some((seq, "event", Some(event_of(left)), Some(event_of(right))));
        }
        let differs =
            |(left, right): &(&Raw, &Raw)| left.text() != right.text() && without_times(left) != without_times(right);
        let other = left.commands.iter().zip(&right.commands).find(differs);
        let other = other.map(|(left, right)| (Some(left.text().to_owned()), Some(right.text().to_owned())));
        let shared = left.commands.len().min(right.commands.len());
        let longer = |line: &JournalLine| line.commands.get(shared).map(|raw| raw.text().to_owned());
        let other = other.or_else(|| {
            let more = (longer(left), longer(right));
            (more.0.is_some() || more.1.is_some()).then_some(more)
        });
        other.map(|(left, right)| (seq, "commands", left, right))
    });
    let parting = parting.or_else(|| {
        let shared = left.lines.len().min(right.lines.len());
        let next = |journal: &Journal| journal.lines.get(shared).map(event_of);
        (left.lines.len() != right.lines.len()).then(|| (shared as u64 + 1, "end", next(left), next(right)))
    });
    let parting = parting.or_else(|| {
        let made = |journal: &Journal| Some(Raw::of(&journal.machine).text().to_owned());
        (left.machine != right.machine).then(|| (0, "machine", made(left), made(right)))
    });
    parting.map(|(seq, what, left, right)| Difference { seq, what, left, right })
}

/// A command without its times.
fn without_times(command: &Raw) -> Value {
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

fn event_of(line: &JournalLine) -> String {
    Raw::of(&line.event.kind).text().to_owned()
}
