//! Counting of texts, and of messages with all that a provider adds to them.
//!
//! A [`TokenCounter`] remembers the counts of texts by the hash of their content, so a growing history costs its new
//! messages. Where a model's tokenizer is not public, a count is an estimate that says how far it may be off; what the
//! provider reports makes the next one better.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::{
    anchors::Anchors,
    json::Json,
    kinds::{KINDS, Kind, Mix, Shares},
    learned::{LearnedRatios, Rates},
    model::Tokenizer,
    picture, request,
};
use loopwright_base::{
    json::Fields,
    message::{Block, Media, MediaSource, Message},
};

/// The length from which texts are cached; shorter ones are counted faster than they are looked up.
const REMEMBERED_FROM: usize = 192;
/// Texts that are cached before the oldest half is dropped.
const REMEMBERED: usize = 1 << 15;
/// Tokens before the answer.
const PRIMING: f64 = 3.0;
/// Tokens of a picture of unknown size: one of 1024 by 1024 or a little more.
const PICTURE: f64 = 1_100.0;
/// Tokens of a document of which only the bytes are known, for each kilobyte of base64.
const DOCUMENT_PER_KB: f64 = 24.0;
/// Tokens of a page of a document, as text and picture.
const PAGE: f64 = 2_000.0;
/// Tokens by which a small count may vary.
const MIN_MARGIN: f64 = 8.0;

/// Counts by the hash of a text.
type TextCache = HashMap<u128, CountedText, BuildHasherDefault<IdentityHasher>>;

/// The tokens of a text, and their kinds where those matter.
#[derive(Clone, Copy, Debug)]
struct CountedText {
    tokens: u32,
    shares: Shares,
}

/// A hasher of keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }
}

/// A count, and its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// The count, or the best estimate of it.
    pub tokens: usize,
    /// The tokens that it may be off either way, nineteen times of twenty; 0 if it is exact.
    pub margin: usize,
    /// The upper bound, exceeded one time in a hundred.
    pub upper_bound: usize,
    /// The encoding's tokens by kind, and those of messages' frames, from which a report is learned.
    pub mix: Mix,
    /// Tokens that are guessed: pictures and documents of unknown size, texts that a provider writes into requests.
    pub guessed: f64,
}

/// A sum of counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Tokens of the encoding by kind; of no text, tokens of the provider that are known from how requests are made.
    mix: Mix,
    /// Tokens of the provider that are guessed: pictures and documents.
    pub(super) guessed: f64,
    /// Tokens that cited sources add once.
    cited: f64,
    /// Tokens of tools and schemas as they are given, less those of how they are written into a request.
    fewer: f64,
    /// The margin of those tokens.
    spare: f64,
}

impl Sum {
    pub(super) fn fixed(&mut self, tokens: f64) {
        self.mix.add(Kind::Frame, tokens);
    }

    /// Definitions that take `given` tokens as they are given and `written` in the provider's form, which may be off by
    /// a `share`, the more the less alike the two are.
    pub(super) fn written_as(&mut self, given: f64, written: f64, share: f64) {
        self.fewer += given - written;
        self.unsure(4.0 + share * written + 0.25 * (given - written).abs());
    }

    /// Tokens that may be counted too many.
    pub(super) const fn unsure(&mut self, tokens: f64) {
        self.spare += tokens;
    }
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.mix += other.mix;
        self.guessed += other.guessed;
        self.cited = self.cited.max(other.cited);
        self.fewer += other.fewer;
        self.spare += other.spare;
    }
}

/// Counts tokens for a model and remembers what it counted.
#[derive(Clone, Debug)]
pub struct TokenCounter {
    tokenizer: Tokenizer,
    /// The rates before anything is reported.
    prior: Rates,
    /// The ratios that were learned, once something was reported.
    learned: Option<LearnedRatios>,
    rates: Rates,
    pub(super) anchors: Anchors,
    memory: HalvedCache,
    /// The cache from before siblings of this counter began, which share it.
    shared: Option<Arc<HalvedCache>>,
    /// Siblings that count beside this one, while they do.
    parts: Vec<Self>,
}

/// Counts of texts, in two halves by age.
#[derive(Clone, Debug, Default)]
struct HalvedCache {
    young: TextCache,
    old: TextCache,
}

impl HalvedCache {
    fn get(&self, hash: u128) -> Option<CountedText> {
        self.young.get(&hash).or_else(|| self.old.get(&hash)).copied()
    }

    fn put(&mut self, hash: u128, text: CountedText) {
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash, text);
    }
}

impl TokenCounter {
    /// A counter with `tokenizer`.
    pub fn new(tokenizer: Tokenizer) -> Self {
        let prior = tokenizer.prior().rates();
        Self {
            tokenizer,
            prior,
            learned: None,
            rates: prior,
            anchors: Anchors::default(),
            memory: HalvedCache::default(),
            shared: None,
            parts: Vec::new(),
        }
    }

    /// A counter for a model.
    pub fn for_model(model: &str) -> Self {
        Self::new(Tokenizer::for_model(model))
    }

    /// The tokenizer, before anything is reported.
    pub const fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The number of cached texts.
    pub fn remembered(&self) -> usize {
        let own = |memory: &HalvedCache| memory.young.len() + memory.old.len();
        own(&self.memory) + self.shared.as_deref().map_or(0, own)
    }

    /// Sets the tokenizer. The cache stays, unless the encoding is another.
    pub fn set_tokenizer(&mut self, tokenizer: Tokenizer) {
        let same = tokenizer.encoding.name() == self.tokenizer.encoding.name();
        // Of a text that was counted exactly nobody asked what kinds it is of.
        if !same || tokenizer.is_exact() != self.tokenizer.is_exact() {
            (self.memory, self.shared) = (HalvedCache::default(), None);
        }
        self.tokenizer = tokenizer;
        self.anchors = Anchors::default();
        self.prior = tokenizer.prior().rates();
        self.set_learned(None);
    }

    /// The ratios that were learned from reports, if there are any.
    pub const fn learned(&self) -> Option<&LearnedRatios> {
        self.learned.as_ref()
    }

    /// Sets the ratios that were learned before.
    pub fn set_learned(&mut self, learned: Option<LearnedRatios>) {
        self.rates = learned.as_ref().map_or(self.prior, LearnedRatios::rates);
        self.learned = learned;
    }

    /// Tokens of the model for each token of the encoding, by kind; 1 where the encoding is the model's own.
    pub const fn ratios(&self) -> [f64; KINDS] {
        self.rates.tokens
    }

    /// Counts a text alone.
    pub fn text(&mut self, text: &str) -> Count {
        let mut sum = Sum::default();
        self.add_text(&mut sum, text);
        self.count(&sum)
    }

    /// Counts a message, with its frame.
    pub fn message(&mut self, message: &Message) -> Count {
        let mut sum = Sum::default();
        self.add_message(&mut sum, message);
        self.count(&sum)
    }

    /// Counts messages of a request, with the tokens before the answer.
    pub fn messages<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) -> Count {
        let mut sum = self.empty_request();
        for message in messages {
            self.add_message(&mut sum, message);
        }
        self.count(&sum)
    }

    /// Counts messages as JSON, in the shape of this crate, of Anthropic or of `OpenAI` (Chat Completions and
    /// Responses); or a whole request body, with its instructions and tools.
    pub fn json(&mut self, value: &Json) -> Count {
        let mut sum = Sum::default();
        match value {
            Json::Text(text) => self.add_text(&mut sum, text),
            Json::List(messages) => {
                sum = self.empty_request();
                for message in messages {
                    self.add_json_message(&mut sum, message);
                }
            }
            Json::Object(request) if request.contains_key("messages") || request.contains_key("input") => {
                sum = self.empty_request();
                for (key, value) in request.iter() {
                    match (key, value) {
                        ("messages" | "input", Json::List(messages)) => {
                            for message in messages {
                                self.add_json_message(&mut sum, message);
                            }
                        }
                        ("system" | "instructions" | "input", content) => {
                            sum.fixed(self.tokenizer.per_message);
                            self.add_content(&mut sum, content);
                        }
                        ("tools" | "functions", Json::List(tools)) => {
                            self.add_tools(&mut sum, tools, request);
                        }
                        (key, value) => {
                            sum.guessed += request::option_tokens(&self.tokenizer, key, value);
                            if let Some(schema) = request::schema(key, value) {
                                self.add_schema(&mut sum, schema);
                            }
                        }
                    }
                }
            }
            message => self.add_json_message(&mut sum, message),
        }
        self.count(&sum)
    }

    /// Counts the next request: the tokens that the provider reported for the last one, and the new messages.
    pub fn since<'a>(&mut self, reported: usize, new: impl IntoIterator<Item = &'a Message>) -> Count {
        let mut sum = Sum::default();
        for message in new {
            self.add_message(&mut sum, message);
        }
        let count = self.count(&sum);
        Count { tokens: reported + count.tokens, upper_bound: reported + count.upper_bound, ..count }
    }

    /// Learns from the tokens that the provider reported for something that was counted here as `counted`: for each
    /// kind of text as much as there is of it. Exact counts learn nothing.
    pub fn learn(&mut self, counted: Count, reported: usize) {
        if self.tokenizer.is_exact() || counted.tokens == 0 || reported == 0 {
            return;
        }
        let mut learned = self.learned.take().unwrap_or_else(|| self.tokenizer.prior());
        learned.learn(&counted.mix, reported as f64 - counted.guessed, counted.guessed);
        self.set_learned(Some(learned));
    }

    /// The upper bound of a text, as a part of something larger, whatever was learned.
    pub fn text_at_most(&mut self, text: &str) -> usize {
        let mut sum = Sum::default();
        self.add_text(&mut sum, text);
        Self::at_most(&sum, &self.prior)
    }

    /// The upper bound of a message, as one of several, whatever was learned: the sum over all of them and the result
    /// of [`Self::messages`] for none is never below the upper bound of the whole.
    pub fn message_at_most(&mut self, message: &Message) -> usize {
        let sum = self.sum_at_most(message);
        Self::at_most(&sum, &self.prior)
    }

    /// The upper bound of a message, as one of several, by what was learned.
    pub fn message_at_most_by_now(&mut self, message: &Message) -> usize {
        let sum = self.sum_at_most(message);
        Self::at_most(&sum, &self.rates)
    }

    /// The upper bound of [`Self::json`], whatever was learned.
    pub fn json_at_most(&mut self, value: &Json) -> usize {
        let rates = std::mem::replace(&mut self.rates, self.prior);
        let count = self.json(value);
        self.rates = rates;
        count.upper_bound
    }

    /// The upper bound of the tokens before the answer, whatever was learned.
    pub fn base_at_most(&self) -> usize {
        self.bounded(&self.empty_request(), &self.prior).upper_bound
    }

    /// The sum of a request without messages.
    fn empty_request(&self) -> Sum {
        let mut sum = Sum { guessed: self.tokenizer.opening, ..Sum::default() };
        sum.fixed(PRIMING);
        sum
    }

    fn sum_at_most(&mut self, message: &Message) -> Sum {
        let mut sum = Sum::default();
        self.add_message(&mut sum, message);
        // A provider's own block may be a call: whichever way of counting it gives more.
        for block in &message.content {
            if let Block::Provider(block) = block
                && let Ok(value) = Json::parse(block.raw.text())
            {
                let (mut part, mut text) = (Sum::default(), Sum::default());
                self.add_part(&mut part, &value, 0);
                self.add_text(&mut text, block.raw.text());
                for (own, (part, text)) in sum.mix.0.iter_mut().zip(part.mix.0.into_iter().zip(text.mix.0)) {
                    *own += (part - text).max(0.0);
                }
                sum.guessed += part.guessed;
                sum.cited = sum.cited.max(part.cited);
            }
        }
        // On some wires each result is a message of its own.
        let results = message.tool_results().count();
        let words = usize::from(results < message.content.len());
        sum.fixed(self.tokenizer.per_message * (results + words).saturating_sub(1) as f64);
        if let Some(name) = message.extra.as_ref().and_then(|extra| extra.fields.get("name")) {
            sum.fixed(1.0);
            let name = name.string();
            self.add_text(&mut sum, name.as_deref().unwrap_or_default());
        }
        sum
    }

    fn at_most(sum: &Sum, rates: &Rates) -> usize {
        // An error of rounding must not add a token.
        let guessed = (sum.guessed + sum.cited) * 2.0;
        (sum.mix.sum(|at, tokens| tokens * rates.most[at]) + guessed - 1e-6).max(0.0).ceil() as usize
    }

    pub(super) fn count(&self, sum: &Sum) -> Count {
        self.bounded(sum, &self.rates)
    }

    fn bounded(&self, sum: &Sum, rates: &Rates) -> Count {
        let Sum { mix, guessed, cited, fewer, spare } = *sum;
        let guessed = guessed + cited;
        let most = mix.sum(|at, tokens| tokens * rates.most[at]) + guessed * 2.0;
        let tokens = mix.sum(|at, tokens| tokens * rates.tokens[at]) + guessed;
        let (tokens, margin, most) = if self.tokenizer.is_exact() {
            ((tokens - fewer).max(0.0), guessed * 0.5 + spare, most)
        } else {
            let margin = mix.sum(|at, tokens| tokens * rates.margin[at]) + guessed * 0.5 + MIN_MARGIN;
            (tokens, margin, most + 2.0 * MIN_MARGIN)
        };
        let (tokens, margin) = (tokens.round() as usize, margin.ceil() as usize);
        Count { tokens, margin, upper_bound: (most.ceil() as usize).max(tokens + margin), mix, guessed }
    }

    /// Adds a tool or a schema as it is given; returns the tokens it added, and its bytes.
    pub(super) fn add_given(&mut self, sum: &mut Sum, value: &Json) -> (f64, usize) {
        let (before, text) = (sum.mix.sum(|_, tokens| tokens), as_text(value));
        self.add_text(sum, &text);
        (sum.mix.sum(|_, tokens| tokens) - before, text.len())
    }

    pub(super) fn add_text(&mut self, sum: &mut Sum, text: &str) {
        let CountedText { tokens, shares } = self.count_cached(text);
        if self.tokenizer.is_exact() {
            sum.mix.add(Kind::Code, f64::from(tokens));
        } else {
            sum.mix += shares.mix(tokens as usize);
        }
    }

    /// The encoding's tokens of a text, from the cache if it is there.
    pub fn tokens(&mut self, text: &str) -> usize {
        self.count_cached(text).tokens as usize
    }

    fn count_uncached(&self, text: &str) -> CountedText {
        let tokens = u32::try_from(self.tokenizer.encoding.count(text)).unwrap_or(u32::MAX);
        let shares = if self.tokenizer.is_exact() { Shares::default() } else { Shares::of(text) };
        CountedText { tokens, shares }
    }

    fn count_cached(&mut self, text: &str) -> CountedText {
        if text.len() < REMEMBERED_FROM {
            return self.count_uncached(text);
        }
        let hash = xxh3_128(text.as_bytes());
        if let Some(found) = self.memory.young.get(&hash) {
            return *found;
        }
        let known = self.shared.as_ref().and_then(|shared| shared.get(hash)).or_else(|| self.memory.get(hash));
        let found = known.unwrap_or_else(|| self.count_uncached(text));
        self.memory.put(hash, found);
        found
    }

    /// Counters that share this one's cache, for as many threads; their own caches go back with [`Self::absorb`].
    pub fn siblings(&mut self, many: usize) -> Vec<Self> {
        let memory = &mut self.memory;
        let shared = self.shared.get_or_insert_with(|| Arc::new(std::mem::take(memory)));
        let sibling = || Self {
            tokenizer: self.tokenizer,
            prior: self.prior,
            learned: self.learned.clone(),
            rates: self.rates,
            anchors: Anchors::default(),
            memory: HalvedCache::default(),
            shared: Some(shared.clone()),
            parts: Vec::new(),
        };
        (0..many).map(|_| sibling()).collect()
    }

    /// Adds the caches of siblings.
    pub fn absorb(&mut self, siblings: Vec<Self>) {
        let mut new: Vec<HalvedCache> = siblings.into_iter().map(|sibling| sibling.memory).collect();
        if let Some(shared) = self.shared.take() {
            new.push(std::mem::replace(&mut self.memory, Arc::unwrap_or_clone(shared)));
        }
        self.memory.young.reserve(new.iter().map(|new| new.young.len()).sum::<usize>().min(REMEMBERED));
        for (hash, text) in new.into_iter().flat_map(|new| new.old.into_iter().chain(new.young)) {
            self.memory.put(hash, text);
        }
    }

    /// Siblings that are kept here until [`Self::join`].
    pub fn parts(&mut self, many: usize) -> &mut [Self] {
        self.join();
        self.parts = self.siblings(many);
        &mut self.parts
    }

    /// Adds the caches of the parts.
    pub fn join(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        if !parts.is_empty() {
            self.absorb(parts);
        }
    }

    fn add_message(&mut self, sum: &mut Sum, message: &Message) {
        sum.fixed(self.tokenizer.per_message);
        for block in &message.content {
            self.add_block(sum, block);
        }
    }

    fn add_block(&mut self, sum: &mut Sum, block: &Block) {
        match block {
            Block::Text(text) => self.add_text(sum, &text.text),
            Block::Thinking(thinking) => {
                self.add_text(sum, &thinking.text);
                if let Some(redacted) = &thinking.redacted {
                    sum.guessed += redacted.len() as f64 / 5.0;
                }
            }
            Block::ToolUse(call) => {
                sum.fixed(self.tokenizer.per_call);
                self.add_text(sum, &call.name);
                self.add_text(sum, call.arguments_text());
            }
            Block::ToolResult(result) => {
                sum.fixed(self.tokenizer.per_result);
                // Results hold texts and pictures, never results.
                for part in &result.content {
                    match part {
                        Block::Text(text) => self.add_text(sum, &text.text),
                        Block::Image(media) => self.add_media(sum, media, true),
                        Block::Document(media) => self.add_media(sum, media, false),
                        Block::Provider(block) => self.add_text(sum, block.raw.text()),
                        _ => {}
                    }
                }
            }
            Block::Image(media) => self.add_media(sum, media, true),
            Block::Document(media) => self.add_media(sum, media, false),
            Block::Provider(block) => self.add_text(sum, block.raw.text()),
        }
    }

    fn add_media(&mut self, sum: &mut Sum, media: &Media, image: bool) {
        if let Some(citations) = media.extra.as_ref().and_then(|extra| extra.fields.get("citations")) {
            let cited = Json::parse(citations.text()).map_or(0.0, |it| request::citation_tokens(&self.tokenizer, &it));
            sum.cited = sum.cited.max(cited);
        }
        match &media.source {
            MediaSource::Text { data, .. } => {
                self.add_text(sum, data);
                sum.guessed += request::document(&self.tokenizer);
            }
            MediaSource::Base64 { data, .. } if image => {
                let low = media.extra.as_ref().is_some_and(|extra| is_small(&extra.fields));
                self.add_picture(sum, data, low);
            }
            MediaSource::Base64 { data, .. } => sum.guessed += document(data),
            MediaSource::Url(_) | MediaSource::File(_) => sum.guessed += PICTURE,
        }
    }

    fn add_picture(&self, sum: &mut Sum, base64: &str, low: bool) {
        match picture::size(base64) {
            Some((width, height)) => sum.fixed(picture::tokens(self.tokenizer.pictures, width, height, low)),
            None => sum.guessed += PICTURE,
        }
    }

    pub(super) fn add_json_message(&mut self, sum: &mut Sum, message: &Json) {
        let Some(fields) = message.as_object() else {
            self.add_value(sum, message);
            return;
        };
        // Items of Responses are blocks that stand for themselves.
        if !fields.contains_key("role") && fields.get("type").and_then(Json::as_str).is_some() {
            sum.fixed(self.tokenizer.per_message);
            self.add_part(sum, message, 0);
            return;
        }
        sum.fixed(self.tokenizer.per_message);
        for (key, value) in fields.iter() {
            match key {
                "content" | "reasoning_content" | "refusal" => self.add_content(sum, value),
                "name" => {
                    sum.fixed(1.0);
                    self.add_value(sum, value);
                }
                "tool_calls" => {
                    for call in value.as_array().into_iter().flatten() {
                        self.add_part(sum, call, 0);
                    }
                }
                "function_call" => self.add_part(sum, value, 0),
                _ => {}
            }
        }
        if fields.contains_key("tool_call_id") {
            sum.fixed(self.tokenizer.per_result);
        }
    }

    /// Adds text, or a list of parts.
    fn add_content(&mut self, sum: &mut Sum, content: &Json) {
        self.add_parts(sum, content, 0);
    }

    fn add_parts(&mut self, sum: &mut Sum, content: &Json, depth: usize) {
        match content {
            value if value.is_null() => {}
            Json::Text(text) => self.add_text(sum, text),
            // Parts of parts of a result are as deep as any provider goes; deeper is text.
            Json::List(parts) if depth < 4 => parts.iter().for_each(|part| self.add_part(sum, part, depth + 1)),
            other => self.add_value(sum, other),
        }
    }

    fn add_part(&mut self, sum: &mut Sum, part: &Json, depth: usize) {
        let Some(fields) = part.as_object() else {
            self.add_value(sum, part);
            return;
        };
        let text = |key: &str| fields.get(key).and_then(Json::as_str);
        let kind = text("type").unwrap_or_default();
        sum.cited = sum.cited.max(request::citations(&self.tokenizer, part));
        match kind {
            "text" | "input_text" | "output_text" | "refusal" => {
                self.add_text(sum, text("text").or_else(|| text("refusal")).unwrap_or_default());
            }
            "thinking" => self.add_text(sum, text("thinking").or_else(|| text("text")).unwrap_or_default()),
            "redacted_thinking" => sum.guessed += text("data").map_or(0, str::len) as f64 / 5.0,
            "reasoning" => {
                if let Some(summary) = fields.get("summary") {
                    self.add_parts(sum, summary, depth);
                }
            }
            "summary_text" => self.add_text(sum, text("text").unwrap_or_default()),
            "image" | "image_url" | "input_image" => {
                let low = ["/detail", "/image_url/detail", "/extra/fields/detail", "/extra/fields/image_url/detail"];
                let low = low.iter().any(|path| part.pointer(path).and_then(Json::as_str) == Some("low"));
                match base64_in(part) {
                    Some(base64) => self.add_picture(sum, base64, low),
                    None => sum.guessed += PICTURE,
                }
            }
            "document" | "file" | "input_file" => match base64_in(part) {
                Some(base64) => sum.guessed += document(base64),
                None => {
                    match ["/source/data", "/source/text/data"].iter().find_map(|path| part.pointer(path)?.as_str()) {
                        Some(text) => {
                            self.add_text(sum, text);
                            sum.guessed += request::document(&self.tokenizer);
                        }
                        None => sum.guessed += PICTURE,
                    }
                }
            },
            "tool_result" | "function_call_output" => {
                sum.fixed(self.tokenizer.per_result);
                for key in ["content", "output"] {
                    if let Some(content) = fields.get(key) {
                        self.add_parts(sum, content, depth);
                    }
                }
            }
            "provider" if fields.contains_key("raw") => {
                if let Some(raw) = fields.get("raw") {
                    self.add_value(sum, raw);
                }
            }
            "message" => {
                if let Some(content) = fields.get("content") {
                    self.add_parts(sum, content, depth);
                }
            }
            _ => match fields.get("function").and_then(Json::as_object).or_else(|| {
                (fields.contains_key("name") && (fields.contains_key("input") || fields.contains_key("arguments")))
                    .then_some(fields)
            }) {
                // A call of a tool, in any shape.
                Some(call) => {
                    sum.fixed(self.tokenizer.per_call);
                    let input = if call.contains_key("invalid") { "invalid" } else { "input" };
                    for key in ["name", "arguments", input] {
                        match call.get(key) {
                            // No arguments are sent as an object of none.
                            Some(Json::Text(text)) if key == "arguments" && text.trim().is_empty() => {
                                self.add_text(sum, "{}");
                            }
                            Some(value) => self.add_value(sum, value),
                            None => {}
                        }
                    }
                }
                None => self.add_value(sum, part),
            },
        }
    }

    /// Adds text as it is, anything else as JSON.
    pub(super) fn add_value(&mut self, sum: &mut Sum, value: &Json) {
        self.add_text(sum, &as_text(value));
    }
}

/// The text of a value; empty for `null`.
fn as_text(value: &Json) -> Cow<'_, str> {
    match value {
        value if value.is_null() => Cow::Borrowed(""),
        Json::Text(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Returns whether a picture is requested in low detail, on either wire of `OpenAI`.
fn is_small(extra: &Fields) -> bool {
    let inner = || extra.get("image_url").and_then(|image| Fields::parse(image.text()).ok())?.get_str("detail");
    extra.get_str("detail").or_else(inner).is_some_and(|detail| detail == "low")
}

/// The inline bytes of a picture or document in any of the shapes.
fn base64_in(part: &Json) -> Option<&str> {
    let text = |path: &str| part.pointer(path).and_then(Json::as_str);
    let plain = text("/source/type") == Some("text");
    text("/source/data").filter(|_| !plain).or_else(|| text("/source/base64/data")).or_else(|| {
        ["/image_url/url", "/image_url", "/file/file_data", "/file_data"]
            .iter()
            .find_map(|path| text(path)?.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data))
    })
}

fn document(base64: &str) -> f64 {
    match picture::pages(base64) {
        Some(pages) => pages as f64 * PAGE,
        None => (base64.len() as f64 / 1024.0 * DOCUMENT_PER_KB).max(PAGE),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::o200k_base;
    use loopwright_base::{
        json::Raw,
        message::{Role, ToolResult, ToolUse, Wire},
    };
    use loopwright_wire as wire;

    fn history() -> Vec<Message> {
        let call = ToolUse::from_text("c", "weather", r#"{"city":"Oslo"}"#.to_owned());
        let result = ToolResult::text("c", "weather", "Sunny, 21 degrees, and a light wind from the west");
        let picture = Media { source: MediaSource::Url("https://example.org/a.png".into()), name: None, extra: None };
        vec![
            Message::text(Role::System, "You are terse."),
            Message::new(Role::User, vec![Block::text("What is this, and the weather?"), Block::Image(picture)]),
            Message::new(Role::Assistant, vec![Block::text("A moment."), Block::ToolUse(call)]),
            Message::new(Role::User, vec![Block::ToolResult(result)]),
        ]
    }

    #[test]
    fn messages_cost_the_same_as_values_and_as_json() {
        for model in ["gpt-4o", "claude-sonnet-4-5", "unheard-of"] {
            let mut counter = TokenCounter::for_model(model);
            let history = history();
            let value = serde_json::to_value(&history).unwrap();
            assert_eq!(counter.messages(&history), counter.json(&Json::from(&value)), "{model}");
            for message in &history {
                let value = serde_json::to_value(message).unwrap();
                assert_eq!(counter.message(message), counter.json(&Json::from(&value)), "{model} {message:?}");
            }
        }
    }

    #[test]
    fn c30_what_stands_in_every_request_of_a_model_counts() {
        // As their providers reported them: one line to gpt-oss-120b, and a request with tools to qwen-3-coder-480b.
        let line = Json::from(&json!([{"role": "user", "content": "What is the capital of France?"}]));
        let total = |model: &str, value: &Json| TokenCounter::for_model(model).json(value);
        let (plain, found) = (total("gpt-4o", &line), total("gpt-oss-120b", &line));
        assert_eq!((plain.margin, found.tokens - plain.tokens), (0, 60));
        assert!(found.margin > 0 && found.upper_bound >= found.tokens + found.margin);
        let request = |tools: Value| Json::from(&json!({"messages": [], "tools": tools}));
        let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
        let added =
            |model: &str| total(model, &request(tool.clone())).tokens - total(model, &request(json!([]))).tokens;
        assert!(added("qwen-3-coder-480b") > added("gpt-4o") + 100);
        // The parts of a history count for as much.
        let mut counter = TokenCounter::for_model("gpt-oss-120b");
        let message = Message::user("What is the capital of France?");
        let parts = counter.base_at_most() + counter.message_at_most(&message);
        assert_eq!(parts, counter.messages([&message]).upper_bound);
    }

    #[test]
    fn c30_a_message_of_a_wire_costs_what_it_is_read_as() {
        const PICTURE: &str =
            "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC";
        let url = format!("data:image/png;base64,{PICTURE}");
        let call = |arguments: &str| {
            json!({"role": "assistant", "content": null, "tool_calls":
                [{"id": "a", "type": "function", "function": {"name": "read", "arguments": arguments}}]})
        };
        let picture = |detail: &str| json!({"type": "image_url", "image_url": {"url": &url, "detail": detail}});
        for written in [
            call(""),
            call("{}"),
            call(&format!(r#"{{"z":{},"a":1}}"#, "7".repeat(400))),
            json!({"role": "user", "content": [picture("low")]}),
            json!({"role": "user", "content": [picture("high"), picture("low")]}),
        ] {
            let text = written.to_string();
            let message = wire::decode_message(Wire::OpenaiChat, &Raw::parse(text.as_str()).unwrap()).unwrap();
            for model in ["gpt-4o", "claude-sonnet-4-5"] {
                let mut counter = TokenCounter::for_model(model);
                let found = counter.message(&message);
                assert_eq!(counter.json(&Json::parse(&text).unwrap()), found, "{text}");
                let ours = serde_json::to_string(&message).unwrap();
                assert_eq!(counter.json(&Json::parse(&ours).unwrap()), found, "{ours}");
            }
        }
    }

    #[test]
    fn only_what_is_known_exactly_has_no_margin() {
        let mut exact = TokenCounter::for_model("gpt-4o");
        let found = exact.text("Hello, world!");
        assert_eq!((found.tokens, found.margin, found.upper_bound), (4, 0, 4));
        assert!(exact.messages(&history()).margin > 0, "the size of a picture at an address is not known");
        let tool = json!({"type": "function", "function": {"name": "get_current_weather", "parameters": {
            "type": "object", "properties": {"location": {"type": "string", "description": "The city and state"}}}}});
        let found = exact.json(&Json::from(&json!({"messages": [], "tools": [tool]})));
        assert!(
            found.margin > 0 && found.upper_bound >= found.tokens + found.margin,
            "a provider writes tools as it likes: {found:?}"
        );
        let mut near = TokenCounter::for_model("claude-sonnet-4-5");
        let found = near.text("Hello, world!");
        assert!(found.margin > 0 && found.upper_bound >= found.tokens + found.margin);
    }

    #[test]
    fn memory_is_bounded_and_long_texts_are_remembered() {
        let mut counter = TokenCounter::new(Tokenizer::of(o200k_base()));
        for n in 0..3 * REMEMBERED {
            counter.tokens(&format!("{n:0>200}"));
        }
        assert!(counter.remembered() <= 2 * REMEMBERED);
        let text = "a text worth remembering ".repeat(40);
        assert_eq!(counter.tokens(&text), o200k_base().count(&text));
        let remembered = counter.remembered();
        assert_eq!(counter.tokens(&text), o200k_base().count(&text));
        assert_eq!(counter.remembered(), remembered);
    }

    #[test]
    fn learning_goes_towards_what_is_reported_and_not_further() {
        let mut counter = TokenCounter::for_model("claude-opus-4-5");
        let text = "some words of a document, again and again; ".repeat(400);
        let exact = o200k_base().count(&text);
        for _ in 0..100 {
            let found = counter.text(&text);
            counter.learn(found, exact * 2);
        }
        let ratio = counter.text(&text).tokens as f64 / exact as f64;
        assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
        counter.learn(Count::default(), 100);
        counter.learn(Count { tokens: 1, ..Count::default() }, usize::MAX);
        let once = counter.text("a");
        counter.learn(once, usize::MAX);
        assert!(counter.ratios().iter().all(|ratio| *ratio <= 4.0));
        let found = counter.text(&text);
        assert_eq!(counter.since(1_000, &[]).tokens, 1_000);
        assert!(counter.since(1_000, &[Message::user(text)]).tokens > 1_000 + found.tokens);
    }

    #[test]
    fn hostile_json_is_counted_somehow() {
        let mut counter = TokenCounter::for_model("gpt-4o");
        let mut deep = json!("x");
        for _ in 0..100 {
            deep = json!({"type": "tool_result", "content": [deep]});
        }
        for value in
            [json!(null), json!(3), json!([[[]]]), json!({"role": 1, "content": {"a": 1}}), json!([{"type": 5}]), deep]
        {
            assert!(counter.json(&Json::from(&value)).tokens < 3_000, "{value}");
        }
    }
}
