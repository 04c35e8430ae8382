//! What a model's name decides of its requests, and who serves it: words of names in `models.toml`.

use std::sync::LazyLock;

use loopwright_base::lists::{Lists, lists};

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("models.toml")));

fn any(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    LISTS.get(list).is_some_and(|words| words.iter().any(|word| fits(word)))
}

/// Whether the wire of OpenAI's chat takes the limit of the model's answers as `max_completion_tokens` only.
pub fn takes_completion_limit(model: &str) -> bool {
    fits("takes.completion_limit", model).is_some()
}

/// Whether a model takes instructions inside a history of Anthropic's.
pub fn takes_instructions_inside(model: &str) -> bool {
    any("takes.instructions_inside", |part| model.contains(part))
}

/// Whether a model of Gemini is told how long to think by a number of tokens, not by a level.
pub fn thinks_by_budget(model: &str) -> bool {
    any("takes.thinking_budget", |beginning| own_name(model).starts_with(beginning))
}

/// Whether a model of Gemini takes either tools or a schema of the answer, not both.
pub fn takes_tools_or_schema(model: &str) -> bool {
    any("takes.tools_or_schema", |beginning| own_name(model).starts_with(beginning))
}

/// Whether a model of Gemini takes either tools of the provider or those of a request, not both.
pub fn takes_tools_or_search(model: &str) -> bool {
    any("takes.tools_or_search", |beginning| own_name(model).starts_with(beginning))
}

/// Whether a model of Gemini refuses a call in a history without a signature.
pub fn wants_signatures(model: &str) -> bool {
    let name = own_name(model);
    name.starts_with("gemini") && !any("takes.unsigned_calls", |beginning| name.starts_with(beginning))
}

/// Whether a model of Bedrock takes marks of the cache.
pub fn takes_cache_points(model: &str) -> bool {
    any("takes.cache_points", |part| model.contains(part))
}

/// Models of Bedrock that take marks of the cache which last an hour.
pub fn keeps_for_an_hour(model: &str) -> bool {
    any("takes.hour_points", |part| model.contains(part))
}

/// A model's own name, without what a gateway writes before it.
fn own_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// Whether a model takes parameters of sampling: `temperature`, `top_p`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Always.
    #[default]
    Taken,
    /// Only where no effort of reasoning is asked for.
    WithoutEffort,
    /// One of both alone.
    One,
    /// Never.
    Refused,
}

/// Whether a model takes parameters of sampling.
pub fn sampling(model: &str) -> Sampling {
    let rows = [
        ("takes.sampling.never", Sampling::Refused),
        ("takes.sampling.without_effort", Sampling::WithoutEffort),
        ("takes.sampling.one", Sampling::One),
        ("takes.sampling.always", Sampling::Taken),
    ];
    let found = rows.into_iter().filter_map(|(list, sampling)| Some((fits(list, model)?, sampling)));
    found.max_by_key(|(length, _)| *length).map_or(Sampling::Taken, |(_, sampling)| sampling)
}

/// The names of parameters that a model refuses at every host.
pub(super) fn refused(model: &str) -> impl Iterator<Item = &'static str> {
    let parameters = LISTS.keys().filter_map(|list| list.strip_prefix("takes.refused."));
    parameters.filter(move |parameter| {
        fits(&format!("takes.refused.{parameter}"), model) > fits(&format!("takes.taken.{parameter}"), model)
    })
}

/// The length of the longest beginning in a list that a model's name has.
fn fits(list: &str, model: &str) -> Option<usize> {
    longest_beginning(model, LISTS.get(list).into_iter().flatten().map(String::as_str)).map(str::len)
}

/// The longest of `beginnings` with which a model's name begins, with or without what stands before it.
pub(super) fn longest_beginning<'b>(model: &str, beginnings: impl Iterator<Item = &'b str>) -> Option<&'b str> {
    let model = model.to_ascii_lowercase();
    let starts: Vec<&str> = starts(&model).collect();
    beginnings.filter(|beginning| starts.iter().any(|name| name.starts_with(beginning))).max_by_key(|found| found.len())
}

/// A model's name with and without what may stand before it (`openai:`, `openrouter/anthropic/`, `us.anthropic.`,
/// `ft:`).
pub(super) fn starts(model: &str) -> impl Iterator<Item = &str> {
    // Names begin behind these marks, too; a version's full stop is followed by a digit.
    let marks = model.bytes().enumerate().filter(|(_, byte)| matches!(byte, b':' | b'/' | b'.'));
    std::iter::once(model).chain(marks.filter_map(|(at, _)| model.get(at + 1..)))
}

/// The provider that probably serves a model of this name.
pub fn served_by(model: &str) -> Option<&'static str> {
    let model = model.to_ascii_lowercase();
    let serves = |list: &str| any(list, |beginning| model.starts_with(beginning));
    LISTS.keys().filter_map(|list| list.strip_prefix("served_by.")).find(|name| serves(&format!("served_by.{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_gemini_decide() {
        for (model, budget, either, signed) in [
            ("gemini-2.5-flash", true, true, false),
            ("models/gemini-2.0-flash", true, true, false),
            ("gemini-1.5-pro", false, true, false),
            ("gemini-3-pro-preview", false, false, true),
            ("gemini-flash-latest", false, false, true),
            ("gemma-3-27b-it", false, false, false),
            ("", false, false, false),
        ] {
            let found = (thinks_by_budget(model), takes_tools_or_schema(model), wants_signatures(model));
            assert_eq!(found, (budget, either, signed), "{model}");
        }
        assert_eq!(served_by("gemini-2.5-flash"), Some("gemini"));
    }

    #[test]
    fn w11_models_that_reason_take_no_sampling() {
        for (model, taken) in [
            ("gpt-5-mini", Sampling::Refused),
            ("openai/gpt-5", Sampling::Refused),
            ("o3-mini-2025-01-31", Sampling::Refused),
            ("gpt-5-chat-latest", Sampling::Taken),
            ("gpt-5.1", Sampling::WithoutEffort),
            ("gpt-5.1-codex-max", Sampling::Refused),
            ("gpt-5.6", Sampling::Refused),
            ("gpt-4o", Sampling::Taken),
            ("anthropic/claude-opus-4.8", Sampling::Refused),
            ("us.anthropic.claude-opus-4-7-v1:0", Sampling::Refused),
            ("claude-opus-4-6", Sampling::One),
            ("claude-opus-4-0", Sampling::Taken),
            ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", Sampling::One),
            ("olmo1", Sampling::Taken),
            ("", Sampling::Taken),
        ] {
            assert_eq!(sampling(model), taken, "{model}");
        }
    }

    #[test]
    fn w11_models_refuse_parameters_by_their_names() {
        for (model, stop, effort) in [
            ("gpt-5-mini", true, false),
            ("gpt-5-chat-latest", false, true),
            ("openai/gpt-4.1", false, true),
            ("o3", true, false),
            ("x-ai/grok-4-fast", true, false),
            ("us.amazon.nova-pro-v1:0", false, true),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", false, true),
            ("claude-sonnet-4-20250514", false, true),
            ("claude-sonnet-4-6", false, false),
            ("claude-opus-4-5", false, false),
            ("openai.gpt-oss-120b-1:0", false, false),
            ("my-own", false, false),
        ] {
            let found: Vec<&str> = refused(model).collect();
            assert_eq!((found.contains(&"stop"), found.contains(&"reasoning_effort")), (stop, effort), "{model}");
        }
    }

    #[test]
    fn names_decide() {
        for (model, completion, inside, provider) in [
            ("o3-mini", true, false, Some("openai")),
            ("openai/gpt-5.1", true, false, None),
            ("gpt-4o", false, false, Some("openai")),
            ("anthropic:claude-opus-4-8-20260528", false, true, None),
            ("claude-opus-4-7", false, false, Some("anthropic")),
            ("claude-sonnet-4-5", false, false, Some("anthropic")),
            ("Qwen3:8b", false, false, Some("ollama")),
            ("my-own", false, false, None),
        ] {
            let found = (takes_completion_limit(model), takes_instructions_inside(model), served_by(model));
            assert_eq!(found, (completion, inside, provider), "{model}");
        }
    }
}
