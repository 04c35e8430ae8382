//! Tokenizers of models: the encoding, and the ratios where it is not the model's own.

use super::{
    exact::{Encoding, cl100k_base, o200k_base},
    kinds::KINDS,
    learned::LearnedRatios,
};

/// The tokenizer of a model.
#[derive(Clone, Copy, Debug)]
pub struct Tokenizer {
    /// The encoding: the model's own, or the one to start from.
    pub encoding: &'static Encoding,
    /// Tokens of the model for each token of the encoding, by [`Kind`](super::Kind); 1 where it is the model's own.
    pub ratios: [f64; KINDS],
    /// The share by which a count may be off either way, nineteen times of twenty, by kind; 0 where it is exact.
    pub margins: [f64; KINDS],
    /// Tokens that a call of a tool costs beside its name and arguments.
    pub per_call: f64,
    /// Tokens that a tool result costs beside its content.
    pub per_result: f64,
    /// Tokens that a message costs beside its content.
    pub per_message: f64,
    /// Tokens that the provider writes into a request with tools, and into one in which a tool has to be used.
    pub(super) instructions: [f64; 2],
    /// Tokens at the beginning of every request, about.
    pub(super) opening: f64,
    /// The rule of pictures.
    pub(super) pictures: PictureRule,
    /// Requests cost the tokens that Anthropic adds.
    pub(super) anthropic: bool,
}

/// The rule by which pictures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureRule {
    /// Tiles of 512 pixels.
    Tiles,
    /// Pixels by 750.
    Area,
}

impl Tokenizer {
    /// Counts with an encoding and nothing else.
    pub const fn of(encoding: &'static Encoding) -> Self {
        Self {
            encoding,
            ratios: [1.0; KINDS],
            margins: [0.0; KINDS],
            per_call: 7.0,
            per_result: 0.0,
            per_message: 4.0,
            instructions: [0.0; 2],
            opening: 0.0,
            pictures: PictureRule::Tiles,
            anthropic: false,
        }
    }

    /// Returns whether a count of text is exact.
    pub fn is_exact(&self) -> bool {
        self.margins.iter().all(|margin| *margin == 0.0)
    }

    /// The ratios before anything is reported.
    pub(super) fn prior(&self) -> LearnedRatios {
        LearnedRatios::new(self.ratios, self.margins)
    }

    /// The ratio of an upper bound of a text to its count, about.
    pub fn slack(&self) -> f64 {
        if self.is_exact() { 1.0 } else { self.prior().slack() }
    }

    /// The share of an upper bound of a text that its tokens are at least, nineteen times of twenty.
    pub fn least(&self) -> f64 {
        if self.is_exact() { 1.0 } else { self.prior().least() }
    }

    /// The tokenizer of an encoding's name.
    pub fn named(encoding: &str) -> Option<Self> {
        match encoding {
            "o200k_base" | "o200k_harmony" => Some(Self::of(o200k_base())),
            "cl100k_base" => Some(Self::of(cl100k_base())),
            _ => None,
        }
    }

    /// The tokenizer of a model, by its name with or without a prefix (`openai:`, `openrouter/anthropic/`). Every name
    /// has an answer; of a model that nothing is known about, the margin is wide.
    pub fn for_model(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        // Tuned models carry the name of what they were made from.
        let model = model.strip_prefix("ft:").unwrap_or(&model);
        let model = model.rsplit('/').next().unwrap_or(model);
        let starts = |names: &[&str]| {
            names.iter().any(|name| {
                model.starts_with(name) || model.split(':').nth(1).is_some_and(|rest| rest.starts_with(name))
            })
        };
        if starts(&["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-6", "gpt-oss", "chatgpt", "codex", "o1", "o3", "o4"])
        {
            // Its instructions of its own (who it is, the date, its channels) stand in every request.
            let opening = if starts(&["gpt-oss"]) {
                60.0
            } else if starts(&["o1-mini", "o1-preview"]) {
                8.0
            } else {
                0.0
            };
            return Self { opening, ..Self::of(o200k_base()) };
        }
        if starts(&["gpt-4", "gpt-3.5", "gpt-35", "text-embedding", "davinci-002", "babbage-002"]) {
            return Self::of(cl100k_base());
        }
        let near = Self::of(o200k_base());
        if model.contains("claude") {
            // See docs/tokens.md for where these are from. The tokenizer of Opus 4.7 and later makes more of Latin
            // text.
            let newer = ["opus-4-7", "opus-4.7", "opus-4-8", "opus-4.8", "fable", "mythos"];
            let is_newer = newer.iter().any(|name| model.contains(name)) || generation(model).is_some_and(|n| n >= 5);
            let (ratios, margins) = if is_newer {
                ([1.46, 1.36, 1.3, 1.5, 1.6, 1.0], [0.25, 0.25, 0.3, 0.3, 0.3, 0.3])
            } else {
                ([1.13, 1.17, 1.08, 1.5, 1.6, 1.0], [0.22, 0.15, 0.25, 0.3, 0.3, 0.3])
            };
            let has = |names: &[&str]| names.iter().any(|name| model.contains(name));
            let instructions = if is_newer {
                [380.0, 480.0]
            } else if has(&["3-5-haiku", "3.5-haiku", "haiku-3-5", "haiku-3.5"]) {
                [262.0, 374.0]
            } else if has(&["-3-", "-3.", "-2.", "-4-0", "-4-1", "-4.1", "-4-2025", "-instant"]) || has(&["-4@2025"]) {
                [325.0, 325.0]
            } else {
                [495.0, 600.0]
            };
            return Self {
                ratios,
                margins,
                per_call: 28.0,
                per_result: 26.0,
                instructions,
                pictures: PictureRule::Area,
                anthropic: true,
                ..near
            };
        }
        // A template says how tools are called: 60 to 250 tokens among those whose templates are known.
        let instructions = [120.0; 2];
        Self {
            ratios: [1.1, 1.1, 1.15, 1.35, 1.4, 1.0],
            margins: [0.3, 0.3, 0.35, 0.5, 0.45, 0.3],
            instructions,
            ..near
        }
    }
}

/// The generation in a Claude's name: its first number.
fn generation(model: &str) -> Option<u8> {
    let (_, rest) = model.split_once("claude")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).find(|part| !part.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models() {
        for (model, encoding, exact) in [
            ("gpt-4o-mini", "o200k_base", true),
            ("openai:gpt-5.1", "o200k_base", true),
            ("openrouter/openai/o3-mini", "o200k_base", true),
            ("ft:gpt-4o-2024-08-06:mine", "o200k_base", true),
            ("gpt-4-turbo", "cl100k_base", true),
            ("text-embedding-3-small", "cl100k_base", true),
            ("anthropic:claude-sonnet-4-5", "o200k_base", false),
            ("gemini-2.5-pro", "o200k_base", false),
            ("", "o200k_base", false),
        ] {
            let found = Tokenizer::for_model(model);
            assert_eq!((found.encoding.name(), found.is_exact()), (encoding, exact), "{model}");
        }
        let (old, new) = (Tokenizer::for_model("claude-opus-4-5"), Tokenizer::for_model("claude-opus-4-7"));
        assert!(old.ratios[0] < new.ratios[0] && old.margins[0] < new.margins[0]);
        for model in ["claude-opus-5-5", "claude-mythos-5", "claude-haiku-5-20260901", "claude-next-6"] {
            assert_eq!(format!("{:?}", Tokenizer::for_model(model).ratios), format!("{:?}", new.ratios), "{model}");
        }
        for model in ["claude-3-5-haiku-20241022", "claude-opus-4-20250514", "us.anthropic.claude-haiku-4-5-v1:0"] {
            assert_eq!(format!("{:?}", Tokenizer::for_model(model).ratios), format!("{:?}", old.ratios), "{model}");
        }
        assert!(Tokenizer::named("p50k_base").is_none());
    }
}
