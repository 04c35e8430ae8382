//! Messages between models and people, made of blocks.
//!
//! One shape for all providers. Fields and blocks that a codec does not know are kept as they were written, together
//! with the name of the wire they came from, and go back to that wire alone: nothing is lost and nothing leaks.

use std::{borrow::Cow, fmt, sync::LazyLock};

use serde::{
    Deserialize, Serialize,
    de::{self, Error as _, value::MapAccessDeserializer},
};

use super::{
    json::{Fields, Raw},
    lists::{Lists, list, lists},
};

/// The wire protocols that the codecs speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and all who speak it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Google's Gemini API (`generateContent`).
    Gemini,
    /// Amazon Bedrock's Converse.
    Bedrock,
    /// The built-in extractive model: no network.
    Offline,
}

impl Wire {
    /// The name used in configuration and journals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
            Self::Offline => "offline",
        }
    }

    /// The wire of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::Anthropic),
            "openai_chat" => Some(Self::OpenaiChat),
            "openai_responses" => Some(Self::OpenaiResponses),
            "gemini" => Some(Self::Gemini),
            "bedrock" => Some(Self::Bedrock),
            "offline" => Some(Self::Offline),
            _ => None,
        }
    }
}

/// Fields of one wire that have no place in the common shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// The wire that the fields came from, and the only one they go back to.
    pub wire: Wire,
    /// The fields.
    pub fields: Fields,
}

impl Extra {
    /// The fields as an `extra` of a block or message; `None` if there are none.
    pub fn of(wire: Wire, fields: Fields) -> Option<Box<Self>> {
        (!fields.is_empty()).then(|| Box::new(Self { wire, fields }))
    }

    /// The fields that belong to `wire`.
    pub fn for_wire(extra: Option<&Self>, wire: Wire) -> Option<&Fields> {
        extra.filter(|extra| extra.wire == wire).map(|extra| &extra.fields)
    }
}

/// The role of a message's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions, as newer OpenAI models name them.
    Developer,
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name on every wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "system" => Some(Self::System),
            "developer" => Some(Self::Developer),
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            _ => None,
        }
    }
}

/// The form of the content, where a wire allows a bare string and a list of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The codec's default.
    #[default]
    Auto,
    /// A bare string.
    Text,
    /// A list of parts.
    Parts,
}

/// A message: its author's role, and its blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The role of the author.
    pub role: Role,
    /// The blocks, in order.
    pub content: Vec<Block>,
    /// The form of the content.
    #[serde(default, skip_serializing_if = "super::json::is_default")]
    pub form: Form,
    /// Fields of one wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
    /// The host that gave the answer, where something in it is for that host alone; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<str>>,
}

impl Message {
    /// A message of `blocks`.
    pub const fn new(role: Role, content: Vec<Block>) -> Self {
        Self { role, content, form: Form::Auto, extra: None, host: None }
    }

    /// The message with other blocks.
    #[must_use]
    pub fn with_content(&self, content: Vec<Block>) -> Self {
        Self { form: self.form, extra: self.extra.clone(), host: self.host.clone(), ..Self::new(self.role, content) }
    }

    /// Returns whether something in the message means something to the host alone that wrote it: reasoning and its
    /// proof, items and fields of its own.
    pub fn is_bound(&self) -> bool {
        self.extra.is_some() || self.content.iter().any(Block::is_bound)
    }

    /// The message without what is bound to its host, as a model of another one is given it.
    #[must_use]
    pub fn unbound(&self) -> Self {
        let kept = self.content.iter().filter_map(Block::unbound);
        Self { form: self.form, ..Self::new(self.role, kept.collect()) }
    }

    /// A message of one text block.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Block::text(text)])
    }

    /// A user's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::text(Role::User, text)
    }

    /// A model's message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text(Role::Assistant, text)
    }

    /// All text blocks joined, without reasoning, calls and results.
    pub fn prose(&self) -> String {
        prose(&self.content)
    }

    /// The client-side tool uses, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// A block of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A text block.
    Text(Text),
    /// A picture.
    Image(Media),
    /// A document: PDF, text and the like.
    Document(Media),
    /// Reasoning, with the signature that lets the provider accept it back.
    Thinking(Thinking),
    /// A call of a client-side tool.
    ToolUse(ToolUse),
    /// The result of a client-side tool.
    ToolResult(ToolResult),
    /// A block that only its provider understands: provider-side tools, and types that are not known yet.
    Provider(ProviderBlock),
}

/// A text block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Fields of one wire: citations, cache markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

/// The place of an image's or document's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// Inline, base64.
    Base64 {
        /// The MIME type.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// Inline plain text.
    Text {
        /// The MIME type.
        media_type: String,
        /// The text.
        data: String,
    },
    /// An address which the provider fetches.
    Url(String),
    /// The id of a file that was uploaded to the provider before.
    File(String),
}

/// An image or a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The place of the bytes.
    pub source: MediaSource,
    /// The file's name, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields of one wire: detail, context, citations, cache markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

/// Reasoning. It goes back only to the wire it came from, and only with its signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// The readable text; empty when redacted.
    pub text: String,
    /// The provider's proof: Anthropic's signature, OpenAI's encrypted content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Reasoning that the provider encrypted whole (Anthropic `redacted_thinking`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
    /// Fields of one wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

/// A call of a client-side tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The provider's id, which the result repeats.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as the model wrote them. Not always an object, and not always JSON: see [`ToolUse::invalid`].
    pub input: Raw,
    /// The text that the model wrote instead of JSON; `input` is `{}` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Fields of one wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

impl ToolUse {
    /// A tool use whose arguments are `text`: kept as JSON where they are, as [`ToolUse::invalid`] where not; `{}`
    /// where they [say nothing](is_empty_arguments).
    pub fn from_text(id: impl Into<String>, name: impl Into<String>, text: String) -> Self {
        let (input, invalid) = if is_empty_arguments(&text) {
            (Raw::empty_object(), None)
        } else {
            match Raw::parse(text.trim()) {
                Ok(raw) => (raw, None),
                Err(_) => (Raw::empty_object(), Some(text)),
            }
        };
        Self { id: id.into(), name: name.into(), input, invalid, extra: None }
    }

    /// The arguments as the wire carries them in a string.
    pub fn arguments_text(&self) -> &str {
        self.invalid.as_deref().unwrap_or_else(|| self.input.text())
    }
}

/// Returns whether the text of a call's arguments is what models write for a tool without parameters: blank, or `null`.
pub fn is_empty_arguments(arguments: &str) -> bool {
    matches!(arguments.trim(), "" | "null")
}

/// The failure of a tool, in a form that a model can act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFailure {
    /// The kind of failure: `invalid_arguments`, `unknown_tool`, `denied`, `timeout`, `cancelled`, `exception`,
    /// `unavailable`, `not_serialisable`, `not_run`.
    pub kind: String,
    /// The description.
    pub message: String,
    /// The hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The result of a client-side tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the tool use.
    pub id: String,
    /// The tool's name; some wires want it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The result: text, images, documents; never another result.
    #[serde(deserialize_with = "blocks_of_result")]
    pub content: Vec<Block>,
    /// The form of the content.
    #[serde(default, skip_serializing_if = "super::json::is_default")]
    pub form: Form,
    /// The provider is told that the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The failure, where it is known; `content` holds the same for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ToolFailure>,
    /// Fields of one wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

impl ToolResult {
    /// A result of plain text.
    pub fn text(id: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            content: vec![Block::text(text)],
            form: Form::Auto,
            is_error: false,
            failure: None,
            extra: None,
        }
    }

    /// A failure; the model reads it as `{"error": {"kind", "message", "hint"}}`.
    pub fn failed(id: impl Into<String>, name: impl Into<String>, failure: ToolFailure) -> Self {
        #[derive(Serialize)]
        struct FailureJson<'a> {
            error: &'a ToolFailure,
        }
        let text = Raw::of(&FailureJson { error: &failure }).text().to_owned();
        Self { is_error: true, failure: Some(failure), ..Self::text(id, name, text) }
    }

    /// All text of the result.
    pub fn prose(&self) -> String {
        let mut prose = String::new();
        for block in &self.content {
            let Block::Text(text) = block else { continue };
            // Blocks are apart: what one ends with and the next begins with is not one word.
            let joined = prose.ends_with(char::is_whitespace) || text.text.starts_with(char::is_whitespace);
            if !prose.is_empty() && !text.text.is_empty() && !joined {
                prose.push('\n');
            }
            prose.push_str(&text.text);
        }
        prose
    }
}

/// Reads the blocks of a result, without results in it: results do not nest, no provider takes them nested, and a deep
/// nest would be read by a recursion as deep.
fn blocks_of_result<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    #[derive(Deserialize)]
    struct Tag {
        r#type: String,
    }
    let raws = Vec::<Raw>::deserialize(deserializer)?;
    let mut blocks = Vec::with_capacity(raws.len());
    for raw in raws {
        let tag: Tag = raw.to().map_err(D::Error::custom)?;
        if tag.r#type != "tool_result" {
            blocks.push(raw.to().map_err(D::Error::custom)?);
        }
    }
    Ok(blocks)
}

/// A block kept as its wire wrote it, and sent back to that wire alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderBlock {
    /// The wire that the block came from.
    pub wire: Wire,
    /// The block.
    pub raw: Raw,
}

impl ProviderBlock {
    /// The block's own `type`.
    pub fn kind(&self) -> String {
        self.field("type").unwrap_or_default()
    }

    /// A string field of the block.
    pub fn field(&self, key: &str) -> Option<String> {
        Fields::parse(self.raw.text()).ok().and_then(|fields| fields.get_str(key))
    }

    /// Returns whether the provider runs a tool in this block: a search, a fetch, code, an MCP call.
    pub fn is_tool_use(&self) -> bool {
        Self::runs_tool(&self.kind())
    }

    /// Returns whether the provider runs a tool in blocks of this type.
    pub fn runs_tool(kind: &str) -> bool {
        kind.ends_with("_tool_use") || kind.ends_with("_call")
    }
}

impl Block {
    /// The block is an image or a document.
    pub const fn is_media(&self) -> bool {
        matches!(self, Self::Image(_) | Self::Document(_))
    }

    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), extra: None })
    }

    /// Returns whether something in the block means something to its host alone.
    const fn is_bound(&self) -> bool {
        match self {
            Self::Thinking(_) | Self::Provider(_) => true,
            Self::Text(block) => block.extra.is_some(),
            Self::Image(block) | Self::Document(block) => block.extra.is_some(),
            Self::ToolUse(block) => block.extra.is_some(),
            Self::ToolResult(block) => block.extra.is_some(),
        }
    }

    /// The block without what is bound to its host; `None` if nothing is left.
    fn unbound(&self) -> Option<Self> {
        let mut block = self.clone();
        match &mut block {
            Self::Thinking(_) | Self::Provider(_) => return None,
            Self::Text(block) => block.extra = None,
            Self::Image(block) | Self::Document(block) => block.extra = None,
            Self::ToolUse(block) => block.extra = None,
            Self::ToolResult(block) => block.extra = None,
        }
        Some(block)
    }

    /// The `type` of the block in our own form.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Document(_) => "document",
            Self::Thinking(_) => "thinking",
            Self::ToolUse(_) => "tool_use",
            Self::ToolResult(_) => "tool_result",
            Self::Provider(_) => "provider",
        }
    }
}

// Written by hand: a derived internally tagged enum buffers its content, and buffered content can't hold raw JSON.
impl Serialize for Block {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            r#type: &'static str,
            #[serde(flatten)]
            body: &'a T,
        }
        let r#type = self.kind();
        match self {
            Self::Text(body) => Tagged { r#type, body }.serialize(serializer),
            Self::Image(body) | Self::Document(body) => Tagged { r#type, body }.serialize(serializer),
            Self::Thinking(body) => Tagged { r#type, body }.serialize(serializer),
            Self::ToolUse(body) => Tagged { r#type, body }.serialize(serializer),
            Self::ToolResult(body) => Tagged { r#type, body }.serialize(serializer),
            Self::Provider(body) => Tagged { r#type, body }.serialize(serializer),
        }
    }
}

/// A short text, borrowed where that can be.
struct ShortText<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for ShortText<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor;

        impl<'de> de::Visitor<'de> for WordVisitor {
            type Value = ShortText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<ShortText<'de>, E> {
                Ok(ShortText(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ShortText<'de>, E> {
                Ok(ShortText(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(WordVisitor)
    }
}

fn prose(content: &[Block]) -> String {
    let mut prose = String::new();
    for block in content {
        if let Block::Text(text) = block {
            prose.push_str(&text.text);
        }
    }
    prose
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BlockVisitor;

        impl<'de> de::Visitor<'de> for BlockVisitor {
            type Value = Block;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a block")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Block, A::Error> {
                let Some(first) = map.next_key::<ShortText<'de>>()? else {
                    return Err(A::Error::missing_field("type"));
                };
                if first.0 == "type" {
                    // As we write it: what follows is read where it stands.
                    let tag: ShortText<'de> = map.next_value()?;
                    return body(&tag.0, MapAccessDeserializer::new(map));
                }
                let mut members = vec![(first.0.into_owned(), map.next_value::<Raw>()?)];
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                let fields: Fields = members.into_iter().collect();
                let tag = fields.get("type").ok_or_else(|| A::Error::missing_field("type"))?;
                let tag: String = tag.to().map_err(A::Error::custom)?;
                let raw = fields.to_raw();
                body(&tag, &mut serde_json::Deserializer::from_str(raw.text())).map_err(A::Error::custom)
            }
        }

        /// The rest of a block, whose type is known.
        fn body<'de, D: serde::Deserializer<'de>>(tag: &str, rest: D) -> Result<Block, D::Error> {
            match tag {
                "text" => Deserialize::deserialize(rest).map(Block::Text),
                "image" => Deserialize::deserialize(rest).map(Block::Image),
                "document" => Deserialize::deserialize(rest).map(Block::Document),
                "thinking" => Deserialize::deserialize(rest).map(Block::Thinking),
                "tool_use" => Deserialize::deserialize(rest).map(Block::ToolUse),
                "tool_result" => Deserialize::deserialize(rest).map(Block::ToolResult),
                "provider" => Deserialize::deserialize(rest).map(Block::Provider),
                other => Err(D::Error::custom(format!("unknown block type {other:?}"))),
            }
        }

        deserializer.deserialize_map(BlockVisitor)
    }
}

/// The reason why the model stopped, in one vocabulary for all providers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model ended its turn.
    EndTurn,
    /// The model waits for tools.
    ToolUse,
    /// The output limit was reached.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// The provider paused a long turn of its own tools; the same history, sent again, goes on.
    PauseTurn,
    /// The model refused.
    Refusal,
    /// A filter of the provider cut the answer.
    ContentFilter,
    /// The context window was full.
    ContextWindow,
    /// A reason that is not known, as the provider wrote it.
    Other(String),
}

impl StopReason {
    /// The reason that a word of another server stands for. A codec keeps the word as it came.
    #[must_use]
    pub fn understood(self) -> Self {
        let Self::Other(word) = &self else { return self };
        let word = word.to_ascii_lowercase();
        let means = |name: &str| list(&STOPS, name).contains(&word);
        match () {
            () if means("max_tokens") => Self::MaxTokens,
            () if means("content_filter") => Self::ContentFilter,
            () if means("refusal") => Self::Refusal,
            () if means("context_window") => Self::ContextWindow,
            () => self,
        }
    }
}

static STOPS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("stops.toml")));

/// Tokens used. `input` holds all tokens of the prompt, those read from and written to the cache included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input: u64,
    /// Tokens written by the model, reasoning included.
    pub output: u64,
    /// Tokens of `input` that were read from the provider's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Tokens of `input` that were written to the provider's cache.
    #[serde(default)]
    pub cache_write: u64,
    /// Tokens of `cache_write` that are kept for an hour.
    #[serde(default, skip_serializing_if = "crate::json::is_default")]
    pub cache_write_hour: u64,
    /// Tokens of `output` that are reasoning.
    #[serde(default)]
    pub reasoning: u64,
    /// Searches and other tools that the provider ran.
    #[serde(default)]
    pub provider_tool_uses: u64,
}

impl Usage {
    /// The number of all tokens.
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_hour = self.cache_write_hour.saturating_add(other.cache_write_hour);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.provider_tool_uses = self.provider_tool_uses.saturating_add(other.provider_tool_uses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_whatever_the_order_of_their_members() {
        for text in [
            r#"{"type":"tool_use","id":"a","name":"n","input":{"x":1.50}}"#,
            r#"{"id":"a","input":{"x":1.50},"type":"tool_use","name":"n"}"#,
            r#" { "t\u0079pe" : "tool_\u0075se", "id":"a","name":"n","input":{"x":1.50} } "#,
        ] {
            let Ok(Block::ToolUse(call)) = serde_json::from_str(text) else { panic!("{text}") };
            assert_eq!((&*call.id, &*call.name, call.input.text()), ("a", "n", r#"{"x":1.50}"#));
        }
        for wrong in [
            "{}",
            "[]",
            "3",
            r#"{"id":"a"}"#,
            r#"{"type":"odd"}"#,
            r#"{"type":3}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"text""#,
        ] {
            serde_json::from_str::<Block>(wrong).unwrap_err();
        }
        let value: serde_json::Value = serde_json::from_str(r#"{"type":"text","text":"a"}"#).unwrap();
        assert_eq!(serde_json::from_value::<Block>(value).unwrap(), Block::text("a"));
    }

    #[test]
    fn own_form_is_lossless() {
        let mut call = ToolUse::from_text("c1", "add", r#"{"a": 12345678901234567890123, "b":1.0}"#.into());
        call.extra = Extra::of(Wire::Anthropic, Fields::parse(r#"{"caller":{"type":"direct"}}"#).unwrap());
        let message = Message::new(
            Role::Assistant,
            vec![
                Block::text("hi"),
                Block::ToolUse(call),
                Block::Provider(ProviderBlock {
                    wire: Wire::Anthropic,
                    raw: Raw::parse(r#"{"type":"future","x": [1.50]}"#).unwrap(),
                }),
                Block::Image(Media {
                    source: MediaSource::Url("https://example.org/a.png".into()),
                    name: None,
                    extra: None,
                }),
                Block::ToolResult(ToolResult::failed(
                    "c0",
                    "rm",
                    ToolFailure { kind: "denied".into(), message: "no".into(), hint: None },
                )),
            ],
        );
        let text = serde_json::to_string(&message).unwrap();
        let back: Message = serde_json::from_str(&text).unwrap();
        assert_eq!(back, message);
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }

    #[test]
    fn results_do_not_nest() {
        let depth = 100_000;
        let open = r#"{"type":"tool_result","id":"a","content":["#.repeat(depth);
        let text = format!("{open}{}", "]}".repeat(depth));
        let Block::ToolResult(result) = serde_json::from_str(&text).unwrap() else { panic!("not a result") };
        assert!(result.content.is_empty());
        let flat = r#"{"type":"tool_result","id":"a","content":[{"type":"text","text":"x"}]}"#;
        assert!(serde_json::from_str::<Block>(flat).is_ok());
    }

    #[test]
    fn arguments_that_are_not_json_are_kept() {
        let call = ToolUse::from_text("c", "f", "{\"a\": ".into());
        assert_eq!(call.invalid.as_deref(), Some("{\"a\": "));
        assert_eq!(call.arguments_text(), "{\"a\": ");
        for nothing in ["", " \n", "null", " null\t"] {
            let call = ToolUse::from_text("c", "f", nothing.to_owned());
            assert_eq!((call.input.text(), &call.invalid), ("{}", &None), "{nothing:?}");
        }
        assert_eq!(ToolUse::from_text("c", "f", "\"\"".to_owned()).input.text(), "\"\"");
    }
}
