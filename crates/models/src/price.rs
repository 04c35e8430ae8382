//! Prices of models, from which the cost of a run is computed. A price that is not known gives no cost, never a guess.
//!
//! The table is data: `crates/models/src/prices.toml`, over which tables of the caller's may be laid.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use loopwright_base::{
    error::{Error, Result},
    message::Usage,
};

/// The price of a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of the prompt, not cached.
    pub input: f64,
    /// The price of the answer.
    pub output: f64,
    /// The price of the prompt, read from the cache.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// The price of the prompt, written to the cache.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// The price of a token that is kept for an hour, in those of the input, where writing has a price of its own
/// (platform.claude.com/docs/en/build-with-claude/prompt-caching, "Pricing").
const HOUR_WRITE: f64 = 2.0;

impl Price {
    /// The price of the same tokens times `factor`.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self {
            input: self.input * factor,
            output: self.output * factor,
            cache_read: self.cache_read.map(|price| price * factor),
            cache_write: self.cache_write.map(|price| price * factor),
        }
    }

    /// The price of local models.
    pub const FREE: Self = Self { input: 0.0, output: 0.0, cache_read: None, cache_write: None };

    /// The cost of `usage`.
    pub fn of(&self, usage: &Usage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let million = 1e-6;
        (plain as f64 * self.input
            + usage.cache_read as f64 * self.cache_read.unwrap_or(self.input)
            + usage.cache_write.saturating_sub(usage.cache_write_hour) as f64 * self.cache_write.unwrap_or(self.input)
            + usage.cache_write_hour as f64 * self.cache_write.map_or(self.input, |_| self.input * HOUR_WRITE)
            + usage.output as f64 * self.output)
            * million
    }
}

/// The table that comes with the engine.
const BUILT_IN: &str = include_str!("prices.toml");
/// Bytes of a table at most.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The key of a table's date.
const AS_OF: &str = "as_of";
/// The section of what batches cost, by provider, as a part of the usual price.
const BATCH: &str = "batch";
/// Money for a million tokens at most.
const MAX_PRICE: f64 = 1e9;

/// Prices by provider and model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    providers: BTreeMap<String, BTreeMap<String, Price>>,
    as_of: Option<String>,
    batch: BTreeMap<String, f64>,
}

impl Prices {
    /// The table that comes with the engine.
    pub fn built_in() -> Self {
        // A test reads it; were it broken, no price would be known.
        Self::parse(BUILT_IN).unwrap_or_default()
    }

    /// Parses a table in TOML: a section for each provider, in which names stand for prices. `as_of` may state the
    /// date.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::usage("invalid_prices", format!("the price table can't be read: {what}")).hint(
                "write [provider] sections with \"model\" = { input = 1.0, output = 2.0 } in dollars for a million tokens",
            )
        };
        if text.len() > MAX_BYTES {
            return Err(wrong(format!("it has more than {MAX_BYTES} bytes")));
        }
        let table = DeTable::parse(text).map_err(|error| wrong(error.message().to_owned()))?;
        let mut prices = Self::default();
        for (provider, section) in table.get_ref() {
            let provider: &str = provider.get_ref();
            if let (AS_OF, Some(day)) = (provider, section.get_ref().as_str()) {
                prices.as_of = Some(day.to_owned());
                continue;
            }
            let Some(models) = section.get_ref().as_table() else {
                return Err(wrong(format!("{provider:?} is no section")));
            };
            if provider == BATCH {
                for (provider, factor) in models {
                    let factor = number_of(factor.get_ref()).filter(|factor| (0.0..=1.0).contains(factor));
                    let factor = factor.ok_or_else(|| {
                        wrong(format!("batch.{} is no part of a price, from 0 to 1", provider.get_ref()))
                    })?;
                    prices.batch.insert(price_provider(provider.get_ref()).to_owned(), factor);
                }
                continue;
            }
            for (model, price) in models {
                let price = price_of(price.get_ref()).map_err(|what| wrong(format!("{:?} {what}", model.get_ref())))?;
                prices
                    .providers
                    .entry(price_provider(provider).to_owned())
                    .or_default()
                    .insert(model.get_ref().to_string(), price);
            }
        }
        Ok(prices)
    }

    /// Overlays another table.
    pub fn overlay(&mut self, other: Self) {
        for (provider, models) in other.providers {
            self.providers.entry(provider).or_default().extend(models);
        }
        self.batch.extend(other.batch);
        if other.as_of.is_some() {
            self.as_of = other.as_of;
        }
    }

    /// The day of the prices.
    pub fn as_of(&self) -> Option<&str> {
        self.as_of.as_deref()
    }

    /// The names of all models that have a price: `provider:model`.
    pub fn names(&self) -> Vec<String> {
        let names = |(provider, models): (&String, &BTreeMap<String, Price>)| {
            models.keys().map(|model| format!("{provider}:{model}")).collect::<Vec<_>>()
        };
        self.providers.iter().flat_map(names).collect()
    }

    /// The price of `provider:model`, or of a model whose provider follows from its name. Dates at the end of names
    /// need not be in the table.
    pub fn of(&self, name: &str) -> Option<Price> {
        let name = name.trim();
        let Some((provider, model)) = name.split_once(':') else {
            return ["anthropic", "openai"].iter().find_map(|provider| self.at(provider, name));
        };
        let provider = price_provider(provider);
        if let Some(price) = self.at(provider, model) {
            return Some(price);
        }
        match provider {
            "openrouter" => self.openrouter_price(model),
            name => super::provider::provider(name).filter(|known| known.free).map(|_| Price::FREE),
        }
    }

    /// The price of `provider:model` in a batch; `None` where the model's or that of batches is not known.
    pub fn of_batch(&self, name: &str) -> Option<Price> {
        let (provider, _) = name.trim().split_once(':')?;
        Some(self.of(name)?.times(*self.batch.get(price_provider(provider))?))
    }

    /// The price of a model at OpenRouter, by its price at its own provider.
    fn openrouter_price(&self, model: &str) -> Option<Price> {
        let (model, way) = model.split_once(':').map_or((model, ""), |(model, way)| (model, way));
        match way {
            "free" => return Some(Price::FREE),
            "" | "thinking" => {}
            // Another way may have another price.
            _ => return None,
        }
        if let Some(price) = self.at("openrouter", model) {
            return Some(price);
        }
        let (vendor, model) = model.split_once('/')?;
        match vendor {
            "anthropic" => self.at("anthropic", &model.replace('.', "-")),
            "openai" => self.at("openai", model),
            _ => None,
        }
    }

    fn at(&self, provider: &str, model: &str) -> Option<Price> {
        let models = self.providers.get(provider)?;
        let exact = models.get(model);
        exact.or_else(|| models.get(without_date(model)?)).copied()
    }
}

/// A price, from a table of its parts.
fn price_of(value: &DeValue<'_>) -> std::result::Result<Price, String> {
    let Some(parts) = value.as_table() else { return Err("has no table of prices".to_owned()) };
    let mut found = BTreeMap::new();
    for (name, value) in parts {
        let name: &str = name.get_ref();
        let number = number_of(value.get_ref()).ok_or_else(|| format!("has a {name} that is no number"))?;
        if !(0.0..=MAX_PRICE).contains(&number) {
            return Err(format!("has a {name} that is no amount of money"));
        }
        if !matches!(name, "input" | "output" | "cache_read" | "cache_write") {
            return Err(format!("has a price for {name:?}, which nobody asks"));
        }
        found.insert(name, number);
    }
    let part = |name: &str| found.get(name).copied();
    let (Some(input), Some(output)) = (part("input"), part("output")) else {
        return Err("needs input and output".to_owned());
    };
    Ok(Price { input, output, cache_read: part("cache_read"), cache_write: part("cache_write") })
}

fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        _ => None,
    }
}

/// The provider whose prices apply.
fn price_provider(provider: &str) -> &str {
    super::provider::provider(provider).map_or(provider, |known| known.price_provider())
}

/// The name without the date at its end, if it has one: `-20250929`, `-2024-11-20`, `-0613`, `-latest`.
fn without_date(name: &str) -> Option<&str> {
    if let Some(stem) = name.strip_suffix("-latest") {
        return Some(stem);
    }
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let (stem, last) = name.rsplit_once('-')?;
    if (digits(last, 8) && last.starts_with("20")) || digits(last, 4) {
        return Some(stem);
    }
    let (stem, month) = stem.rsplit_once('-')?;
    let (stem, year) = stem.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4) && year.starts_with("20")).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d49_cost_counts_cached_tokens_apart() {
        let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        let usage = Usage { input: 1_000_000, output: 100_000, cache_read: 400_000, ..Usage::default() };
        assert!((price.of(&usage) - (0.6 * 3.0 + 0.4 * 0.3 + 1.5)).abs() < 1e-12);
        let usage = Usage { input: 500_000, cache_write: 300_000, cache_write_hour: 100_000, ..Usage::default() };
        assert!(
            (price.of(&usage) - (0.2 * 3.0 + 0.2 * 3.75 + 0.1 * 6.0)).abs() < 1e-12,
            "an hour costs twice the input"
        );
    }

    #[test]
    fn x01_d49_prices_are_found_by_name() {
        let prices = Prices::parse(BUILT_IN).unwrap();
        assert!(prices.as_of().is_some_and(|day| day.len() == 10));
        let sonnet = prices.of("anthropic:claude-sonnet-4-5").unwrap();
        for name in [
            "anthropic:claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5",
            "anthropic:claude-3-7-sonnet-latest",
            "anthropic:claude-sonnet-4-20250514",
            "openrouter:anthropic/claude-sonnet-4.5",
            "openrouter:anthropic/claude-3.7-sonnet:thinking",
        ] {
            assert_eq!(prices.of(name), Some(sonnet), "{name}");
        }
        let large = prices.of("openai:gpt-4o").unwrap();
        for name in ["openai-chat:gpt-4o", "openai-responses:gpt-4o-2024-11-20", "openrouter:openai/gpt-4o"] {
            assert_eq!(prices.of(name), Some(large), "{name}");
        }
        assert_ne!(prices.of("openai:gpt-4o-2024-05-13"), Some(large), "a price of its own");
        for name in
            ["ollama:qwen3:8b", "vllm:m", "llamacpp:m", "offline:extractive", "openrouter:deepseek/deepseek-r1:free"]
        {
            assert_eq!(prices.of(name), Some(Price::FREE), "{name}");
        }
        for name in [
            "anthropic:claude-sonnet-4-5-turbo",
            "anthropic:test",
            "openai:gpt-4o-",
            "openai:",
            ":",
            "",
            "openrouter:openai/gpt-4o:nitro",
            "openrouter:nobody/knows",
            "anthropic:gpt-4o",
            "claude",
        ] {
            assert_eq!(prices.of(name), None, "{name}");
        }
    }

    #[test]
    fn x01_tables_are_laid_over_each_other() {
        let mut prices = Prices::built_in();
        prices.overlay(
            Prices::parse("[openai-chat]\n\"gpt-4o\" = {input=1, output=2}\n[own]\nm = {input=0.5, output=1.5}")
                .unwrap(),
        );
        assert_eq!(prices.of("openai:gpt-4o-2024-11-20").map(|price| price.output), Some(2.0));
        assert_eq!(prices.of("own:m").map(|price| price.input), Some(0.5));
        assert_eq!(prices.of_batch("openai-chat:gpt-4o").map(|price| (price.input, price.output)), Some((0.5, 1.0)));
        assert_eq!((prices.of_batch("own:m"), prices.of_batch("openai:none")), (None, None));
        prices.overlay(Prices::parse("[batch]\nown = 1").unwrap());
        assert_eq!(prices.of_batch("own:m"), prices.of("own:m"));
        assert!(prices.of("openai:gpt-5").is_some());
        for broken in [
            "[openai]\nm = {input = 1}",
            "[openai]\nm = {input = -1, output = 1}",
            "[openai]\nm = {input = nan, output = 1}",
            "[openai]\nm = {input = 1, output = 1, other = 1}",
            "openai = 1",
            "[batch]\nopenai = 1.5",
            "[batch]\nopenai = {input = 1, output = 1}",
            "[openai",
        ] {
            assert_eq!(Prices::parse(broken).unwrap_err().code, "invalid_prices", "{broken}");
        }
    }
}
