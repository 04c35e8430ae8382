//! The types of memory: kinds, trust, notes, queries and hits.

use serde::{Deserialize, Serialize};

use loopwright_guard::sensitivity::Level;

/// The kind of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An event or a statement at its place in a session. Fades with a half-life of 14 days.
    #[default]
    Episodic,
    /// A fact. Fades with a half-life of 30 days.
    Semantic,
    /// A procedure. Does not fade.
    Procedural,
    /// A lesson of a reflection. Fades with a half-life of 14 days.
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

    /// Days after which half of the part that can fade has faded.
    pub const fn half_life(self) -> Option<f64> {
        match self {
            Self::Episodic | Self::Reflection => Some(14.0),
            Self::Semantic => Some(30.0),
            Self::Procedural => None,
        }
    }
}

/// The trust in a memory, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Text from outside: pages, tool output, other agents.
    Untrusted,
    /// Text that nobody stands for.
    #[default]
    Unverified,
    /// A statement of the user.
    User,
    /// A statement that was checked, or set by the operator.
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

/// A memory to store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The text.
    pub text: String,
    /// The kind.
    #[serde(default)]
    pub kind: Kind,
    /// The session it belongs to; without one, the memory's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The speaker; without one, the name that the text begins with, as in `Ann: …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// A word to sort by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// More words to sort by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The people and things it is about; without any, the names in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<Vec<String>>,
    /// The source: a file, a page, a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The trust; that of the memories it is derived from may lower it.
    #[serde(default)]
    pub trust: Trust,
    /// The importance, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// The time at which it happened, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// The time at which it stops being recalled, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<f64>,
    /// The memories it was made from.
    #[serde(default)]
    pub derived_from: Vec<i64>,
    /// The owner: a user or a team; without one everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl Note {
    /// A note of `text` and nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A query, with filters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// A question, or words.
    pub text: String,
    /// Hits at most.
    #[serde(default = "default_limit")]
    pub limit: usize,
    /// Memories of these kinds; of all, if empty.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Memories of this session alone.
    #[serde(default)]
    pub session: Option<String>,
    /// Memories of this category alone.
    #[serde(default)]
    pub category: Option<String>,
    /// Memories with all of these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Memories about this entity.
    #[serde(default)]
    pub entity: Option<String>,
    /// Memories of this speaker alone.
    #[serde(default)]
    pub speaker: Option<String>,
    /// The least trust.
    #[serde(default)]
    pub trust: Option<Trust>,
    /// The earliest time, in seconds since 1970.
    #[serde(default)]
    pub since: Option<f64>,
    /// The latest time.
    #[serde(default)]
    pub until: Option<f64>,
    /// The time that ages are counted from; without one, now.
    #[serde(default)]
    pub now: Option<f64>,
    /// The embedder's vector of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    /// The embedder's name: only vectors of the same one are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// Memories of this user and of nobody; an empty name: of nobody alone. Without one, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Facts that others took the place of are recalled, too.
    #[serde(default, skip_serializing_if = "loopwright_base::json::is_default")]
    pub outdated: bool,
}

const fn default_limit() -> usize {
    5
}

impl Query {
    /// The five best for `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            limit: default_limit(),
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
            outdated: false,
        }
    }
}

/// A stored memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The number.
    pub id: i64,
    /// The text.
    pub text: String,
    /// The kind.
    pub kind: Kind,
    /// The session it belongs to.
    pub session: String,
    /// The speaker.
    pub speaker: Option<String>,
    /// A word to sort by.
    pub category: Option<String>,
    /// More words to sort by.
    pub tags: Vec<String>,
    /// The people and things it is about.
    pub entities: Vec<String>,
    /// The first source.
    pub source: Option<String>,
    /// The trust.
    pub trust: Trust,
    /// The importance, 0 to 1.
    pub importance: f64,
    /// The time at which it happened, in seconds since 1970, where that is known.
    pub at: Option<f64>,
    /// The time at which it was stored.
    pub stored_at: f64,
    /// The time at which it stops being recalled.
    pub expires: Option<f64>,
    /// The number of times it was said.
    pub seen: u32,
    /// The owner.
    pub user: Option<String>,
    /// The sensitivity of its personal data.
    pub sensitivity: Level,
    /// The number of runs that were given it.
    pub used: u32,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The memory.
    #[serde(flatten)]
    pub record: Record,
    /// The score, compared with those of the other hits.
    pub score: f64,
    /// Seconds since it happened, or since it was stored.
    pub age: f64,
    /// The words or ways by which it was found.
    pub found_by: Vec<String>,
    /// The memory that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<i64>,
}
