//! What a model's name decides of its requests, and who serves it: words of names in `models.toml`.

use std::sync::LazyLock;

use loopwright_base::lists::{Lists, lists};

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("models.toml")));

fn any(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    LISTS.get(list).is_some_and(|words| words.iter().any(|word| fits(word)))
}

/// Whether the wire of OpenAI's chat takes the limit of the model's answers as `max_completion_tokens` only.
pub fn takes_completion_limit(model: &str) -> bool {
    any("takes.completion_limit", |beginning| own_name(model).starts_with(beginning))
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

/// Whether a model of Gemini refuses a call in a history without a signature.
pub fn wants_signatures(model: &str) -> bool {
    let name = own_name(model);
    name.starts_with("gemini") && !any("takes.unsigned_calls", |beginning| name.starts_with(beginning))
}

/// A model's own name, without what a gateway writes before it.
fn own_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
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
