//! Requests to models and their answers, in one shape for all providers.
//!
//! A history is a list of shared messages that each remember their own wire form, so that the cost of a request is the
//! cost of what is new plus one copy of bytes.

use std::{
    borrow::Cow,
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    json::{Fields, Raw},
    message::{Block, Extra, Message, Role, StopReason, Usage, Wire},
};

/// A message in a history, with its wire form once it has been written.
#[derive(Debug, Default)]
pub struct Entry {
    message: OnceLock<Arc<Message>>,
    /// The JSON of a message that comes from a snapshot.
    saved: Option<SavedText>,
    written: OnceLock<(Wire, Box<str>)>,
    /// The message as a model of a dialect is given it, once it was needed.
    spoken: OnceLock<(&'static str, Arc<Entry>)>,
}

/// A part of a text that several share.
#[derive(Clone)]
struct SavedText {
    all: Arc<String>,
    range: Range<usize>,
}

impl fmt::Debug for SavedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl SavedText {
    fn text(&self) -> &str {
        self.all.get(self.range.clone()).unwrap_or_default()
    }
}

impl Entry {
    fn new(message: impl Into<Arc<Message>>) -> Self {
        let entry = Self::default();
        let _ = entry.message.set(message.into());
        entry
    }

    /// The message; one from a snapshot is parsed when it is first needed.
    pub fn message(&self) -> &Arc<Message> {
        self.message.get_or_init(|| {
            let text = self.saved.as_ref().map(SavedText::text).unwrap_or_default();
            // Whoever saves it has read it back before.
            Arc::new(serde_json::from_str(text).unwrap_or_else(|_| Message::new(Role::User, Vec::new())))
        })
    }

    /// The message's form on `wire`, written by `write` the first time and kept.
    pub fn written(&self, wire: Wire, write: impl FnOnce(&Message) -> String) -> Cow<'_, str> {
        if let Some((kept, text)) = self.written.get() {
            return if *kept == wire { text.as_ref().into() } else { write(self.message()).into() };
        }
        let (kept, text) = self.written.get_or_init(|| (wire, write(self.message()).into()));
        debug_assert_eq!(*kept, wire);
        text.as_ref().into()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.message() == other.message()
    }
}

/// Messages in order; cloning copies pointers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The entries, shared by all who have the same history: a copy costs nothing until one of them goes on.
    entries: Arc<Vec<Arc<Entry>>>,
    /// Running hash over the messages' JSON, so that a journal can name a history without holding it.
    digest: u64,
    /// Bytes of the messages' JSON.
    bytes: usize,
}

impl History {
    /// No messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        self.push_entry(Arc::new(Entry::new(message)));
    }

    /// Adds an entry of another history at the end, with the wire form that it has.
    pub fn push_entry(&mut self, entry: Arc<Entry>) {
        if let Some(saved) = &entry.saved {
            self.hash_in(saved.text().as_bytes());
        } else {
            // Writing our own types into memory does not fail.
            self.hash_in(&serde_json::to_vec(entry.message()).unwrap_or_default());
        }
        Arc::make_mut(&mut self.entries).push(entry);
    }

    fn hash_in(&mut self, json: &[u8]) {
        self.digest = xxh3_64_with_seed(json, self.digest);
        self.bytes += json.len();
    }

    /// Adds messages whose JSON, as [`History::json_of`] gave it, stands at these places of a text. They are parsed
    /// when they are first needed.
    pub fn push_saved(&mut self, all: &Arc<String>, places: impl IntoIterator<Item = Range<usize>>) {
        let mut entries = std::mem::take(&mut self.entries);
        let list = Arc::make_mut(&mut entries);
        for range in places {
            let saved = SavedText { all: Arc::clone(all), range };
            self.hash_in(saved.text().as_bytes());
            list.push(Arc::new(Entry { saved: Some(saved), ..Entry::default() }));
        }
        self.entries = entries;
    }

    /// The JSON of a message, as it counts for the digest.
    pub fn json_of(&self, at: usize) -> Option<Cow<'_, str>> {
        let entry = self.entries.get(at)?;
        Some(match &entry.saved {
            Some(saved) => Cow::Borrowed(saved.text()),
            None => Cow::Owned(serde_json::to_string(entry.message()).unwrap_or_default()),
        })
    }

    /// The history as a model of `dialect` is given it; each message is rewritten by `speak` the first time and kept.
    /// It is made to be sent: it has no digest.
    #[must_use]
    pub fn in_dialect(&self, dialect: &'static str, speak: impl Fn(&Message) -> Message) -> Self {
        let entries = self.entries.iter().map(|entry| {
            let (kept, spoken) = entry.spoken.get_or_init(|| (dialect, Arc::new(Entry::new(speak(entry.message())))));
            if *kept == dialect { Arc::clone(spoken) } else { Arc::new(Entry::new(speak(entry.message()))) }
        });
        Self { entries: Arc::new(entries.collect()), digest: 0, bytes: self.bytes }
    }

    /// The history with what `rewrite` gives for some of its messages, at their places; `None` if it gives nothing. It
    /// is made to be sent: it has no digest.
    #[must_use]
    pub fn rewritten(&self, rewrite: impl Fn(usize, &Message) -> Option<Message>) -> Option<Self> {
        let mut entries: Option<Vec<Arc<Entry>>> = None;
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(message) = rewrite(at, entry.message())
                && let Some(slot) = entries.get_or_insert_with(|| self.entries.to_vec()).get_mut(at)
            {
                *slot = Arc::new(Entry::new(message));
            }
        }
        entries.map(|entries| Self { entries: Arc::new(entries), digest: 0, bytes: self.bytes })
    }

    /// Bytes of all messages in our own JSON form.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// A hash of all messages and their order.
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The messages.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        self.entries.iter().map(|entry| &**entry.message())
    }

    /// The messages but for the first `count`, which are not looked at.
    pub fn behind(&self, count: usize) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        self.entries.get(count..).unwrap_or_default().iter().map(|entry| &**entry.message())
    }

    /// The entries, for codecs.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The last message.
    pub fn last(&self) -> Option<&Message> {
        self.entries.last().map(|entry| &**entry.message())
    }
}

impl FromIterator<Message> for History {
    fn from_iter<I: IntoIterator<Item = Message>>(iter: I) -> Self {
        let mut history = Self::new();
        iter.into_iter().for_each(|message| history.push(message));
        history
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for History {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Message>::deserialize(deserializer).map(|messages| messages.into_iter().collect())
    }
}

/// A tool that a model may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// A client-side tool.
    Function(FunctionTool),
    /// Web search run by the provider, in the provider's own form.
    WebSearch(WebSearch),
    /// A tool of the provider, as its wire writes it.
    Provider {
        /// The wire that knows the tool.
        wire: Wire,
        /// The tool.
        raw: Raw,
    },
}

/// A client-side tool, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionTool {
    /// The name.
    pub name: String,
    /// The description, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON schema of the arguments.
    pub schema: Raw,
    /// The provider must hold the model to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Fields of one wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

/// Web search run by the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebSearch {
    /// Searches in one request at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u32>,
    /// Only these domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Not these domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
}

/// The choice among the tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model chooses.
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Any,
    /// This tool.
    Tool(String),
}

/// The effort of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Little effort.
    Low,
    /// The usual effort.
    Medium,
    /// The highest effort.
    High,
}

impl Effort {
    /// The name on the wires.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The schema of an answer in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// The schema's name.
    pub name: String,
    /// JSON schema.
    pub schema: Raw,
    /// The provider must hold the model to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The description, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A request to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The model's name, as the provider knows it.
    pub model: String,
    /// Instructions that stand before the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<Message>>,
    /// The history.
    pub messages: History,
    /// The tools on offer.
    #[serde(skip_serializing_if = "<[Tool]>::is_empty")]
    pub tools: Arc<[Tool]>,
    /// The dialect in which the model writes calls of our tools as text; `None` for the wire's own tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_format: Option<String>,
    /// Calls that stand in the text as markup are read as calls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_markup: bool,
    /// The choice among the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Several tools may be used in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Tokens of output at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Stop sequences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The effort of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSchema>,
    /// The time for which the provider may cache the prompt's prefix, where that must be asked for.
    #[serde(skip_serializing_if = "Caching::is_off")]
    pub cache: Caching,
    /// The answer is streamed; `None` leaves the field out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Fields of one wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

/// The time for which a provider may cache a prompt's prefix. Written as `false`, `true` and `"1h"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CachingForm", into = "CachingForm")]
pub enum Caching {
    /// It may not.
    #[default]
    Off,
    /// The provider's usual time, mostly five minutes.
    Usual,
    /// An hour, where the provider offers that; else its usual time.
    Hour,
}

impl Caching {
    /// Nothing may be cached.
    pub const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CachingForm {
    Switch(bool),
    Time(String),
}

impl TryFrom<CachingForm> for Caching {
    type Error = String;

    fn try_from(form: CachingForm) -> std::result::Result<Self, String> {
        match form {
            CachingForm::Switch(false) => Ok(Self::Off),
            CachingForm::Switch(true) => Ok(Self::Usual),
            CachingForm::Time(time) if time == HOUR => Ok(Self::Hour),
            CachingForm::Time(time) => Err(format!("cache is true, false or \"1h\", not {time:?}")),
        }
    }
}

impl From<Caching> for CachingForm {
    fn from(caching: Caching) -> Self {
        match caching {
            Caching::Off => Self::Switch(false),
            Caching::Usual => Self::Switch(true),
            Caching::Hour => Self::Time(HOUR.into()),
        }
    }
}

const HOUR: &str = "1h";

/// The wire over which nothing is sent: extra fields of its own go to whichever wire a request takes.
const ANY_WIRE: Wire = Wire::Offline;

impl Request {
    /// Members of the body that are merged over everything else, whichever wire the request takes.
    pub fn passed(&self) -> Option<&Fields> {
        Extra::for_wire(self.extra.as_deref(), ANY_WIRE)
    }

    /// Sets the members of the body that are merged over everything else.
    pub fn pass(&mut self, members: Fields) {
        self.extra = Extra::of(ANY_WIRE, members);
    }

    /// Adds a paragraph to the instructions.
    pub fn instruct(&mut self, text: &str) {
        let mut system = self.system.as_deref().cloned().unwrap_or_else(|| Message::new(Role::System, Vec::new()));
        let gap = if system.content.is_empty() { "" } else { "\n\n" };
        system.content.push(Block::text(format!("{gap}{text}")));
        self.system = Some(Arc::new(system));
    }
}

/// The answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The model that answered, as the provider names it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The message.
    pub message: Message,
    /// The reason why it stopped.
    pub stop: StopReason,
    /// Tokens used.
    pub usage: Usage,
    /// All other fields of the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
    /// Changes of the request that the host made necessary, in words: parameters that were left out, a schema that was
    /// asked for otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapted: Vec<String>,
}

/// A piece of an answer while it streams. `block` is the place of the block in the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// Prose.
    Text {
        /// The block's place.
        block: usize,
        /// The new text.
        text: String,
    },
    /// Reasoning.
    Reasoning {
        /// The block's place.
        block: usize,
        /// The new text.
        text: String,
    },
    /// A tool use begins.
    ToolUse {
        /// The block's place.
        block: usize,
        /// The provider's id of the use.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// Arguments of a tool use, as written.
    Arguments {
        /// The block's place.
        block: usize,
        /// The new text.
        text: String,
    },
    /// The provider runs a tool of its own, or shows its result.
    Provider {
        /// The block's place.
        block: usize,
        /// The block's type on its wire.
        kind: String,
        /// The tool's name, where the wire gives one.
        name: String,
    },
    /// A search of the provider's has begun, or ended.
    Search(ProviderSearch),
    /// The request went into a batch. Of no block, and shown to nobody: a run that breaks off finds it there again.
    Batch {
        /// The provider's id of the batch.
        id: String,
    },
}

/// A search of the provider in an answer: its beginning, its result, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSearch {
    /// The provider's id of the search.
    pub id: String,
    /// The query, empty where it is not known; `None` where only the result is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The end of the search, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<SearchEnd>,
}

/// The end of a provider's search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchEnd {
    /// The number of results, where the provider states it.
    pub results: Option<u64>,
    /// The provider's word for the error.
    pub error: Option<String>,
}
