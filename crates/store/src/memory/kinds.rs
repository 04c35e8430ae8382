//! The words that memory is spoken of in: kinds, trust, what is given to be remembered, what comes back.

use serde::{Deserialize, Serialize};

use loopwright_guard::sensitivity::Level;

/// What a memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What happened or was said, once, at its place in a session. Fades with a half-life of 14 days.
    #[default]
    Episodic,
    /// What is so. Fades with a half-life of 30 days.
    Semantic,
    /// How something is done. Does not fade.
    Procedural,
    /// What was learned from looking back. Fades with a half-life of 14 days.
    Reflection,
}

impl Kind {
    /// All kinds, in the order of the numbers they are stored under.
    pub const ALL: [Self; 4] = [Self::Episodic, Self::Semantic, Self::Procedural, Self::Reflection];

    /// A stable name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Episodic => "episodic",
            Self::Semantic => "semantic",
            Self::Procedural => "procedural",
            Self::Reflection => "reflection",
        }
    }

    /// Days after which half of what can fade has faded.
    pub const fn half_life(self) -> Option<f64> {
        match self {
            Self::Episodic | Self::Reflection => Some(14.0),
            Self::Semantic => Some(30.0),
            Self::Procedural => None,
        }
    }
}

/// How far a memory can be relied on, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// From outside: pages, tool output, other agents.
    Untrusted,
    /// Nobody said.
    #[default]
    Unverified,
    /// The user said so.
    User,
    /// Checked, or set by who runs the program.
    Verified,
}

impl Trust {
    /// All levels, in the order of the numbers they are stored under.
    pub const ALL: [Self; 4] = [Self::Untrusted, Self::Unverified, Self::User, Self::Verified];

    /// A stable name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Unverified => "unverified",
            Self::User => "user",
            Self::Verified => "verified",
        }
    }
}

/// Something to remember.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The text.
    pub text: String,
    /// What it is.
    #[serde(default)]
    pub kind: Kind,
    /// The session it belongs to; without one, the memory's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Who said it; without one, the name that the text begins with, as in `Ann: …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// A word to sort by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// More words to sort by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whom and what it is about; without any, the names in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<Vec<String>>,
    /// Where it comes from: a file, a page, a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How far it can be relied on; what it is derived from may lower that.
    #[serde(default)]
    pub trust: Trust,
    /// How much it matters, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// When it happened, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// When it stops being recalled, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<f64>,
    /// The memories it was made from.
    #[serde(default)]
    pub derived_from: Vec<i64>,
    /// Whose it is: a user or a team; without one it is everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl Note {
    /// A note of `text` and nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// What to look for, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// A question, or words.
    pub text: String,
    /// At most this many hits.
    #[serde(default = "five")]
    pub limit: usize,
    /// Of these kinds; of all, if empty.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Of this session alone.
    #[serde(default)]
    pub session: Option<String>,
    /// Of this category alone.
    #[serde(default)]
    pub category: Option<String>,
    /// With all of these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// About this.
    #[serde(default)]
    pub entity: Option<String>,
    /// Of this speaker alone.
    #[serde(default)]
    pub speaker: Option<String>,
    /// Trusted at least as much.
    #[serde(default)]
    pub trust: Option<Trust>,
    /// Not from before then, in seconds since 1970.
    #[serde(default)]
    pub since: Option<f64>,
    /// Not from after then.
    #[serde(default)]
    pub until: Option<f64>,
    /// The time that ages are counted from; without one, now.
    #[serde(default)]
    pub now: Option<f64>,
    /// What the embedder makes of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    /// The embedder's name: only what the same one made is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// What belongs to this user and what belongs to nobody; an empty name: to nobody alone. Without one, everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

const fn five() -> usize {
    5
}

impl Query {
    /// The five best for `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            limit: five(),
            kinds: Vec::new(),
            session: None,
            category: None,
            tags: Vec::new(),
            entity: None,
            speaker: None,
            trust: None,
            since: None,
            until: None,
            now: None,
            vector: None,
            embedder: None,
            user: None,
        }
    }
}

/// A memory as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Its number.
    pub id: i64,
    /// The text.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// The session it belongs to.
    pub session: String,
    /// Who said it.
    pub speaker: Option<String>,
    /// A word to sort by.
    pub category: Option<String>,
    /// More of them.
    pub tags: Vec<String>,
    /// Whom and what it is about.
    pub entities: Vec<String>,
    /// Where it comes from: the first source.
    pub source: Option<String>,
    /// How far it can be relied on.
    pub trust: Trust,
    /// How much it matters, 0 to 1.
    pub importance: f64,
    /// When it happened, in seconds since 1970, where that is known.
    pub at: Option<f64>,
    /// When it was stored.
    pub stored_at: f64,
    /// When it stops being recalled.
    pub expires: Option<f64>,
    /// How often it was said.
    pub seen: u32,
    /// Whose it is.
    pub user: Option<String>,
    /// Whether it holds what belongs to persons.
    pub sensitivity: Level,
    /// How often a run was given it.
    pub used: u32,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The memory.
    #[serde(flatten)]
    pub record: Record,
    /// How well it fits, compared with the other hits.
    pub score: f64,
    /// Seconds since it happened, or since it was stored.
    pub age: f64,
    /// Why it was found.
    pub found_by: Vec<String>,
}
