//! The rules that machines decide by, numbered: a journal's first line names the version that decided it.
//!
//! Whoever changes what a machine decides from the same events adds a version here and says what changed, in words for
//! whoever reads that an old journal diverges.

/// The changes of each version after the first, oldest first.
const CHANGES: [&str; 1] = [
    // 2
    "a value that is new in its place is news to the stuck detector, whatever it looks like; \
     a call quoted from what the model was shown stays text, and so does one in a value that nothing closes; \
     an evident slip in a tool's name is understood; \
     a number or text that no program can hold is refused; \
     arguments that are null are none, and of the calls of an answer so many run (`calls_per_round`); \
     a schema that the provider can't be held to is warned about; \
     options, variables and secrets in shell lines are judged with more care, and a task's words authorise less; \
     every statement of a grounded answer is held against its sources, quantities whole, and a draft that fails is void; \
     a compaction leaves the last exchanges whole while anything else can go; \
     calls that are written as bare JSON are read, those of unknown tools answered, and no answer is a call that was written as text; \
     arguments of native calls that are no object are mended as those of calls in text; \
     a search that fails again and again is left alone; \
     a request that waits for a host that is left alone has lost no attempt; \
     a research judges all passages that it has read in each cycle, and its latent topics repeat no topic; \
     a slip in a tool's name that was understood is warned about, and so is a history that was mended",
];

/// The version of the rules. Journals that name none were decided by the first.
pub const RULES: u32 = 1 + CHANGES.len() as u32;

pub(super) const fn first_rules() -> u32 {
    1
}

/// The reason why this version may decide otherwise than the one that wrote a journal under the version `rules`.
pub(super) fn reason(rules: u32) -> String {
    if rules > RULES {
        return format!("a newer version, with the rules {rules}, decided it; this one has the rules {RULES}");
    }
    let since: Vec<&str> = CHANGES.into_iter().skip(rules.saturating_sub(1) as usize).collect();
    if since.is_empty() {
        return format!("the rules are the same ({RULES}): the journal or its configuration was changed by hand");
    }
    format!("the rules {rules} decided it, and these are the rules {RULES}; changed since: {}", since.join("; "))
}
