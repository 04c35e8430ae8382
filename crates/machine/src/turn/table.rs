//! The transitions of the turn, in one table, and the diagram that is drawn from it.
//!
//! Tests hold the table and the machine to each other: every transition that the machine makes stands here, and every
//! line here is made by some run.

/// From where, at which event, to where. Events that a state drops or refuses change nothing and are not listed;
/// `done` is the end.
pub const TRANSITIONS: &[(&str, &str, &str)] = &[
    // A prompt goes to the model, unless configuration, prompt or budget forbid it.
    ("idle", "start", "asking"),
    ("idle", "start", "done"),
    ("idle", "interrupt", "done"),
    // An answer: calls that run, a call that needs a person, calls that are all broken (or a nudge, or a provider that
    // pauses), the end.
    ("asking", "delta", "asking"),
    ("asking", "generated", "tools"),
    ("asking", "generated", "deciding"),
    ("asking", "generated", "asking"),
    ("asking", "generated", "done"),
    // A failure: again later, again at once without tools, the end.
    ("asking", "failed", "waiting"),
    ("asking", "failed", "asking"),
    ("asking", "failed", "done"),
    ("asking", "fired", "done"),
    // After the round means after this answer.
    ("asking", "interrupt", "asking"),
    ("asking", "interrupt", "done"),
    ("waiting", "fired", "asking"),
    ("waiting", "fired", "done"),
    ("waiting", "interrupt", "done"),
    // A result: others are under way, the next call, a question, the next request, the end.
    ("tools", "executed", "tools"),
    ("tools", "executed", "deciding"),
    ("tools", "executed", "asking"),
    ("tools", "executed", "done"),
    ("tools", "fired", "done"),
    // After the round means after the calls that run.
    ("tools", "interrupt", "tools"),
    ("tools", "interrupt", "done"),
    // A decision, or the time for it is over.
    ("deciding", "decided", "tools"),
    ("deciding", "decided", "deciding"),
    ("deciding", "decided", "asking"),
    ("deciding", "decided", "done"),
    ("deciding", "fired", "tools"),
    ("deciding", "fired", "deciding"),
    ("deciding", "fired", "asking"),
    ("deciding", "fired", "done"),
    ("deciding", "interrupt", "done"),
    // A role in the background says something, fails or takes too long: nothing waits for it.
    ("asking", "fired", "asking"),
    ("waiting", "generated", "waiting"),
    ("waiting", "failed", "waiting"),
    ("waiting", "fired", "waiting"),
    ("tools", "generated", "tools"),
    ("tools", "failed", "tools"),
    ("tools", "fired", "tools"),
    ("deciding", "generated", "deciding"),
    ("deciding", "failed", "deciding"),
    // Results that are private: the supervisor says something, or a person decides.
    ("tools", "executed", "supervising"),
    ("deciding", "decided", "supervising"),
    ("deciding", "fired", "supervising"),
    ("supervising", "generated", "supervising"),
    ("supervising", "generated", "asking"),
    ("supervising", "failed", "supervising"),
    ("supervising", "failed", "asking"),
    ("supervising", "fired", "supervising"),
    ("supervising", "fired", "asking"),
    ("supervising", "fired", "done"),
    ("supervising", "decided", "supervising"),
    ("supervising", "decided", "asking"),
    ("supervising", "decided", "done"),
    ("supervising", "generated", "done"),
    ("supervising", "failed", "done"),
    ("supervising", "interrupt", "done"),
    // An opinion on sanity is waited for.
    ("tools", "executed", "checking"),
    ("deciding", "decided", "checking"),
    ("deciding", "fired", "checking"),
    ("asking", "generated", "checking"),
    ("checking", "generated", "checking"),
    // Where one model of the role fails, the next one is asked.
    ("checking", "failed", "checking"),
    ("checking", "generated", "asking"),
    ("checking", "generated", "done"),
    ("checking", "failed", "asking"),
    ("checking", "failed", "done"),
    ("checking", "fired", "asking"),
    ("checking", "fired", "done"),
    ("checking", "interrupt", "done"),
    ("idle", "start", "checking"),
    ("held", "hooked", "checking"),
    ("held", "chosen", "checking"),
    // All of it while the turn holds, and where it goes on to hooks.
    ("held", "generated", "held"),
    ("held", "failed", "held"),
    ("held", "fired", "held"),
    ("supervising", "generated", "held"),
    ("supervising", "failed", "held"),
    ("supervising", "fired", "held"),
    ("checking", "generated", "held"),
    ("checking", "failed", "held"),
    ("checking", "fired", "held"),
    ("checking", "interrupt", "held"),
    ("supervising", "decided", "held"),
    ("supervising", "interrupt", "held"),
    ("supervising", "generated", "checking"),
    ("supervising", "failed", "checking"),
    ("supervising", "fired", "checking"),
    ("supervising", "decided", "checking"),
    ("tools", "hooked", "supervising"),
    ("tools", "hooked", "checking"),
    // Hooks (and whoever chooses the model) are asked: before the first request, around a request, about an answer,
    // about a decision, about the end. Where there are none, none of these is made.
    ("idle", "start", "held"),
    ("asking", "generated", "held"),
    ("asking", "failed", "held"),
    ("waiting", "fired", "held"),
    ("waiting", "interrupt", "held"),
    ("tools", "executed", "held"),
    ("deciding", "decided", "held"),
    ("deciding", "fired", "held"),
    ("deciding", "interrupt", "held"),
    ("held", "chosen", "asking"),
    ("held", "chosen", "held"),
    ("held", "chosen", "done"),
    ("held", "hooked", "asking"),
    ("held", "hooked", "tools"),
    ("held", "hooked", "deciding"),
    ("held", "hooked", "held"),
    ("held", "hooked", "done"),
    ("held", "fired", "done"),
    ("held", "interrupt", "held"),
    ("held", "interrupt", "done"),
    // The hooks of a call, before it runs or after.
    ("tools", "hooked", "tools"),
    ("tools", "hooked", "deciding"),
    ("tools", "hooked", "asking"),
    ("tools", "hooked", "held"),
    ("tools", "hooked", "done"),
    // Memory is asked first, where there is one: it answers, fails, or takes too long.
    ("idle", "start", "recalling"),
    ("recalling", "recalled", "asking"),
    ("recalling", "recalled", "done"),
    ("recalling", "fired", "asking"),
    ("recalling", "fired", "done"),
    ("recalling", "interrupt", "done"),
    ("held", "hooked", "recalling"),
    ("recalling", "recalled", "held"),
    ("recalling", "fired", "held"),
];

/// The transitions of the turn: from where, at which event, to where.
pub const fn transitions() -> &'static [(&'static str, &'static str, &'static str)] {
    TRANSITIONS
}

/// The table as a Mermaid state diagram.
pub fn diagram() -> String {
    crate::diagram::draw(TRANSITIONS)
}
