//! What a model's name decides of its requests, and who serves it: words of names in `models.toml`.

use std::sync::LazyLock;

use loopwright_base::lists::{Lists, lists};

static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("models.toml")));

fn any(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    LISTS.get(list).is_some_and(|words| words.iter().any(|word| fits(word)))
}

/// Whether the wire of OpenAI's chat takes the limit of the model's answers as `max_completion_tokens` only.
pub fn takes_completion_limit(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    any("takes.completion_limit", |beginning| name.starts_with(beginning))
}

/// Whether a model takes instructions inside a history of Anthropic's.
pub fn takes_instructions_inside(model: &str) -> bool {
    any("takes.instructions_inside", |part| model.contains(part))
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
