//! The transitions of a research, in one table, and the diagram that is drawn from it. Tests hold the table and the
//! machine to each other.

/// The transitions: stage, cause, next stage. The stages are the machine's own: each issues all of its work and goes on
/// when that is answered. `done` is the end.
pub const TRANSITIONS: &[(&str, &str, &str)] = &[
    // Set-up: the question is embedded, asked more broadly, searched for, and an outline is drawn of what came.
    ("idle", "start", "embedding"),
    ("idle", "refused", "done"),
    ("idle", "interrupt", "done"),
    ("embedding", "embedded", "scouting"),
    ("embedding", "known", "planning"),
    ("embedding", "failed", "ending"),
    ("scouting", "queries", "searching"),
    ("scouting", "failed", "ending"),
    // Act: all searches at once, then all pages that nobody has read yet.
    ("searching", "hits", "fetching"),
    ("fetching", "pages", "imagining"),
    // Analyse: a document imagined for each new topic, vectors, scores, coverage, gain.
    ("imagining", "topics", "measuring"),
    ("measuring", "first results", "outlining"),
    ("outlining", "outline", "imagining"),
    ("measuring", "go on", "planning"),
    ("measuring", "enough", "writing"),
    // Plan and critique; what was asked before is refused.
    ("planning", "plan", "vetting"),
    ("planning", "invalid", "planning"),
    ("planning", "finished", "writing"),
    ("planning", "limit", "writing"),
    ("vetting", "actions", "searching"),
    ("vetting", "all refused", "planning"),
    ("vetting", "nothing left", "writing"),
    // Report: sections, reviews, then what stands before them.
    ("writing", "sections", "fronting"),
    ("fronting", "report", "ending"),
    // A limit of time or somebody ends it: children are told, their ends awaited.
    ("embedding", "interrupt", "ending"),
    ("scouting", "interrupt", "ending"),
    ("searching", "interrupt", "ending"),
    ("fetching", "interrupt", "ending"),
    ("imagining", "interrupt", "ending"),
    ("measuring", "interrupt", "ending"),
    ("outlining", "interrupt", "ending"),
    ("planning", "interrupt", "ending"),
    ("vetting", "interrupt", "ending"),
    ("writing", "interrupt", "ending"),
    ("fronting", "interrupt", "ending"),
    ("ending", "finish", "done"),
];

/// The transitions: from where, why, to where.
pub const fn transitions() -> &'static [(&'static str, &'static str, &'static str)] {
    TRANSITIONS
}

/// The table as a Mermaid state diagram.
pub fn diagram() -> String {
    crate::diagram::draw(TRANSITIONS)
}
