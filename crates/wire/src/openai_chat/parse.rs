//! Reading answers and chunks in one pass, without copies: known members are read as they come, the rest is kept.
//!
//! Whole answers and chunks of streams share their inner shapes; a shape that is not as the protocol says is an error
//! of serde, never a panic.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess},
};
use serde_json::value::RawValue;

use loopwright_base::{
    json::{Fields, Raw},
    message::Usage,
};

use super::{
    super::counts::{Counts, Str},
    object::kept_key,
};

/// Members that were not understood.
pub(super) type Rest<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// The members as they are kept.
pub(super) fn kept(rest: &Rest<'_>) -> Fields {
    rest.iter().map(|(key, value)| (kept_key(key).into_owned(), Raw::copied(value))).collect()
}

/// The string that `raw` is.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    // Raw JSON has been read once: without escapes, what stands there is the string.
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(inner.into());
    }
    serde_json::from_str(raw.get()).ok().map(|Str(text)| text)
}

/// Takes the members of an object one by one.
pub(super) trait Members<'de>: Default {
    fn member<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error>;
}

/// An object read through [`Members`].
pub(super) struct Obj<T>(pub(super) T);

impl<'de, T: Members<'de>> Deserialize<'de> for Obj<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Members<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Obj<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Obj<T>, A::Error> {
                let mut value = T::default();
                while let Some(Str(key)) = map.next_key()? {
                    value.member(key, &mut map)?;
                }
                Ok(Obj(value))
            }
        }
        deserializer.deserialize_map(Visitor(PhantomData))
    }
}

/// A whole answer, or a chunk of a stream: what differs is called `message` in one and `delta` in the other.
#[derive(Default)]
pub(super) struct Body<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) model: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) choices: Option<Choices<'a>>,
    pub(super) rest: Rest<'a>,
}

impl<'de> Members<'de> for Body<'de> {
    fn member<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match key.as_ref() {
            "id" => self.id = Some(map.next_value()?),
            "model" => self.model = Some(map.next_value()?),
            "usage" => self.usage = Some(map.next_value()?),
            "error" => self.error = Some(map.next_value()?),
            "choices" => self.choices = map.next_value()?,
            _ => self.rest.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

/// The choices: the first one read, the others kept.
#[derive(Default)]
pub(super) struct Choices<'a> {
    pub(super) first: Option<Choice<'a>>,
    pub(super) others: Vec<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Choices<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Choices<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Choices<'de>, A::Error> {
                let first = seq.next_element::<Obj<Choice<'de>>>()?.map(|Obj(choice)| choice);
                let mut others = Vec::new();
                while let Some(other) = seq.next_element()? {
                    others.push(other);
                }
                Ok(Choices { first, others })
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}

/// One choice.
#[derive(Default)]
pub(super) struct Choice<'a> {
    pub(super) finish: Option<&'a RawValue>,
    /// `message` or `delta`; servers are known to send both.
    pub(super) message: Option<Answer<'a>>,
    pub(super) delta: Option<Answer<'a>>,
    pub(super) rest: Rest<'a>,
}

impl<'de> Members<'de> for Choice<'de> {
    fn member<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match key.as_ref() {
            "finish_reason" => self.finish = Some(map.next_value()?),
            "message" => self.message = map.next_value::<Option<Obj<_>>>()?.map(|Obj(answer)| answer),
            "delta" => self.delta = map.next_value::<Option<Obj<_>>>()?.map(|Obj(answer)| answer),
            _ => self.rest.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

/// The message of a choice, or a piece of it.
#[derive(Default)]
pub(super) struct Answer<'a> {
    pub(super) role: Option<&'a RawValue>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) refusal: Option<&'a RawValue>,
    /// The first of the two fields that holds any, with its name.
    pub(super) reasoning: Option<(&'static str, &'a RawValue)>,
    pub(super) calls: Vec<Call<'a>>,
    /// `tool_calls` was there but held none.
    pub(super) no_calls: Option<&'static str>,
    pub(super) function_call: Option<Function<'a>>,
    pub(super) rest: Rest<'a>,
}

impl<'de> Members<'de> for Answer<'de> {
    fn member<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match key.as_ref() {
            "role" => self.role = Some(map.next_value()?),
            "content" => self.content = Some(map.next_value()?),
            "refusal" => self.refusal = Some(map.next_value()?),
            "reasoning" | "reasoning_content" => {
                let value: &RawValue = map.next_value()?;
                let field = if key == "reasoning" { "reasoning" } else { "reasoning_content" };
                // Some servers write both, with the same words.
                let has_words = value.get().starts_with('"') && value.get().len() > 2;
                if has_words && self.reasoning.is_none() {
                    self.reasoning = Some((field, value));
                } else {
                    self.rest.push((key, value));
                }
            }
            "tool_calls" => match map.next_value::<Option<Vec<Obj<Call<'de>>>>>()? {
                None => self.no_calls = Some("null"),
                Some(calls) if calls.is_empty() => self.no_calls = Some("[]"),
                Some(calls) => self.calls = calls.into_iter().map(|Obj(call)| call).collect(),
            },
            "function_call" => {
                let value: &RawValue = map.next_value()?;
                if value.get() == "null" {
                    self.rest.push((key, value));
                } else {
                    let Obj(function) = serde_json::from_str(value.get()).map_err(de::Error::custom)?;
                    self.function_call = Some(function);
                }
            }
            _ => self.rest.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

/// A tool call, or a piece of one.
#[derive(Default)]
pub(super) struct Call<'a> {
    pub(super) index: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
    pub(super) kind: Option<&'a RawValue>,
    pub(super) function: Option<Function<'a>>,
    pub(super) rest: Rest<'a>,
}

impl<'de> Members<'de> for Call<'de> {
    fn member<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match key.as_ref() {
            "index" => self.index = Some(map.next_value()?),
            "id" => self.id = Some(map.next_value()?),
            "type" => self.kind = Some(map.next_value()?),
            "function" => self.function = map.next_value::<Option<Obj<_>>>()?.map(|Obj(function)| function),
            _ => self.rest.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

/// The function of a tool call.
#[derive(Default)]
pub(super) struct Function<'a> {
    pub(super) name: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

impl<'de> Members<'de> for Function<'de> {
    fn member<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match key.as_ref() {
            "name" => self.name = Some(map.next_value()?),
            "arguments" => self.arguments = Some(map.next_value()?),
            _ => self.rest.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

/// The arguments as text: a string's content, an object as it stands, nothing for `null`.
pub(super) fn arguments(raw: Option<&RawValue>) -> Cow<'_, str> {
    match raw {
        None => "".into(),
        Some(raw) if raw.get() == "null" => "".into(),
        Some(raw) => string(raw).unwrap_or_else(|| raw.get().into()),
    }
}

/// The name, where reasoning stands among the parts of the content.
pub(super) const CONTENT: &str = "content";

/// A part of content that a model wrote.
pub(super) enum Part {
    Text(String),
    Thinking(String),
}

/// Content that is a list of texts and reasoning; `None` if it holds anything else.
pub(super) fn parts(content: &RawValue) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for part in serde_json::from_str::<Vec<Fields>>(content.get()).ok()? {
        match part.get_str("type")?.as_str() {
            "text" => parts.push(Part::Text(part.get_str("text")?)),
            "thinking" => {
                for part in part.get("thinking")?.to::<Vec<Fields>>().ok()? {
                    parts.push(Part::Thinking(part.get_str("text")?));
                }
            }
            _ => return None,
        }
    }
    Some(parts)
}

/// What `usage` says, in all the dialects; what can't be read counts as nothing, and takes nothing else with it.
pub(super) fn usage(raw: &str) -> Usage {
    let counts = Counts::read(raw);
    let (prompt, completion) = (counts.inner("prompt_tokens_details"), counts.inner("completion_tokens_details"));
    // The names of `DeepSeek` and of Moonshot.
    let beside = || counts.count("prompt_cache_hit_tokens").or_else(|| counts.count("cached_tokens"));
    Usage {
        input: counts.count("prompt_tokens").unwrap_or(0),
        output: counts.count("completion_tokens").unwrap_or(0),
        cache_read: prompt.count("cached_tokens").or_else(beside).unwrap_or(0),
        cache_write: prompt.count("cache_write_tokens").unwrap_or(0),
        cache_write_hour: 0,
        reasoning: completion.count("reasoning_tokens").unwrap_or(0),
        // Of `OpenRouter`.
        provider_tool_uses: counts.inner("server_tool_use").count("web_search_requests").unwrap_or(0),
    }
}

/// The usage that stands elsewhere than servers usually put it: inside the choice, or in a member of Groq's.
pub(super) fn usage_elsewhere<'a>(choice: Option<&Choice<'a>>, rest: &Rest<'a>) -> Option<Raw> {
    let member = |rest: &Rest<'a>, name: &str| {
        let (_, value) = rest.iter().find(|(key, value)| key == name && value.get().starts_with('{'))?;
        Some(Raw::copied(value))
    };
    choice.and_then(|choice| member(&choice.rest, "usage")).or_else(|| {
        let groq = Fields::parse(member(rest, "x_groq")?.text()).ok()?;
        groq.get("usage").filter(|usage| usage.is_object()).cloned()
    })
}
