//! The transitions of the grounded answer, in one table, and the diagram that is drawn from it. Tests hold
//! the table and the machine to each other.

/// The transitions: state, event, next state. Events that a state drops or refuses change nothing and are not listed;
/// `done` is the end.
pub const TRANSITIONS: &[(&str, &str, &str)] = &[
    // A question is searched for, unless configuration or question forbid it.
    ("idle", "start", "gathering"),
    ("idle", "start", "done"),
    ("idle", "interrupt", "done"),
    // Sources go to a child that writes the answer; an error ends the run.
    ("gathering", "found", "acting"),
    ("gathering", "found", "done"),
    ("gathering", "fired", "done"),
    ("gathering", "interrupt", "done"),
    // A draft that fails is written again; one that passes, a used-up budget, or a child that stops is the end.
    ("acting", "child", "acting"),
    ("acting", "child", "done"),
    // After the round is the child's affair; else the child is cancelled, and its end awaited: what it used counts.
    ("acting", "interrupt", "acting"),
    ("acting", "interrupt", "ending"),
    ("acting", "fired", "ending"),
    ("ending", "child", "done"),
    // With a judge, a draft that passed the rules comes before it; it may ask for another, and is asked twice itself.
    ("acting", "child", "judging"),
    ("judging", "child", "judging"),
    ("judging", "child", "acting"),
    ("judging", "child", "done"),
    ("judging", "interrupt", "ending"),
    ("judging", "fired", "ending"),
];

/// The transitions: from where, at which event, to where.
pub const fn transitions() -> &'static [(&'static str, &'static str, &'static str)] {
    TRANSITIONS
}

/// The table as a Mermaid state diagram.
pub fn diagram() -> String {
    crate::diagram::draw(TRANSITIONS)
}
